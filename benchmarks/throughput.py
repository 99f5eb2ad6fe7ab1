"""Nanoseconds per bead and step of the 70-bead steel chain: engine, naive Numba, NumPy, plain
Python, and square roots alone.

All contenders run in one process, in turn, in rounds. Before timing, all contenders must give the
same displacements and velocities.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import naive
import numba
import numpy as np
import plain_numpy
import plain_python
import table
from racing import (
    ROUNDS,
    SMALL_ROUNDS,
    Answer,
    Contender,
    assert_same,
    machine,
    measured,
    race,
    ratios,
    save,
    small,
    spread,
    taken_on,
)
from steel_chain import (
    BARE,
    N_BODIES,
    SENSORS,
    Run,
    granchain,
    loop_of,
    racing_run,
    run_of,
    steel_chain,
)

from granchain.certificates import example_inputs
from granchain.contact import laws
from granchain.engine.recording import Recording
from granchain.engine.state import State
from granchain.jit.compile import VECTOR

# Hertz, Ma-Liu, and dashpots: those in the form of the naive loops, the one that Wang, Liu & Liu
# 2022 use instead of Ma-Liu, doi:10.1016/j.ijmecsci.2022.107214, and two with an onset weight.
LAWS = (
    "hertz",
    "ma-liu",
    "hunt-crossley",
    "lankarani-nikravesh",
    "flores",
    "wang-liu-hysteretic",
    "wang-liu-viscous",
    "tsuji",
)
SMALL_LAWS = ("hertz", "ma-liu", "flores")
# Largest number of steps if the pulse does not reach bead 63, or takes long.
MOST_STEPS = 12_000


@numba.njit(error_model="numpy")
def take_roots(x, passes):  # type: ignore[no-untyped-def]
    """Compute one square root per contact and step; the sum keeps the operands away from 1."""
    for _ in range(passes):
        for i in range(x.size):
            x[i] = np.sqrt(x[i] + 0.5)


def square_roots(run: Run) -> Contender:
    """Return the lower bound: vectorized square roots, one per contact and step.

    Contacts are padded to complete vectors.
    """

    def prepare() -> Callable[[], Answer]:
        x = np.linspace(0.5, 2.0, -(-(run.chain.n_bodies + 1) // VECTOR) * VECTOR)

        def timed() -> Answer:
            take_roots(x, run.step.n_steps + 1)
            return x, x

        return timed

    return Contender(prepare, computes=False)


def contenders(run: Run) -> dict[str, Contender]:
    """Return all contenders of a run."""
    dt = run.step.value
    found: dict[str, Contender | None] = {
        "granchain": granchain(run),
        "granchain, all beads": granchain(run, all_beads=True),
        "granchain, 8 sensors": granchain(run, Recording(SENSORS, (), dt, None, ledger=False)),
        "granchain, ledger": granchain(run, Recording(ledger=True)),
        "naive Numba": loop_of(run, naive, turns=2),
        "plain NumPy": loop_of(run, plain_numpy, turns=1),
        "plain Python": loop_of(run, plain_python, turns=1),
        "square roots": square_roots(run),
    }
    return {name: contender for name, contender in found.items() if contender is not None}


def race_of_law(law: str, rounds: int) -> dict[str, Any]:
    """Return the times of one law, and their ratios to the engine's in the same round."""
    run = racing_run(law)
    racing = contenders(run)
    return {
        "steps": run.step.n_steps,
        "time_step": run.step.value,
        "away": assert_same(racing),
        **measured(race(racing, rounds), ("granchain", "granchain, all beads"), run.bead_steps),
    }


def loops() -> dict[str, Run]:
    """Return one law for each compiled loop, by name, on the steel chain."""
    seen: set[Callable[..., Any]] = set()
    found = {}
    for name in ["hertz", *laws()]:
        run = run_of(name, steel_chain(), example_inputs(laws()[name]))
        loop = State(run.contacts, run.chain, run.step, BARE).loop
        if loop not in seen:
            seen.add(loop)
            found[name] = run
    return found


def race_of_runs(runs: dict[str, Run], rounds: int) -> dict[str, list[float]]:
    """Return seconds per bead and step of runs, for active beads only and for all beads."""
    racing = {}
    for name, run in runs.items():
        pair = {name: granchain(run), f"{name}, all beads": granchain(run, all_beads=True)}
        assert_same(pair)
        racing.update(pair)
        print(f"{name}: {run.step.n_steps} steps", flush=True)
    return {
        name: [t / runs[name.split(",")[0]].bead_steps for t in values]
        for name, values in race(racing, rounds).items()
    }


def ma_liu_over(names: list[str], rounds: int) -> dict[str, Any]:
    """Return Ma-Liu's time divided by that of each dashpot in the same round."""
    times = race_of_runs({name: racing_run(name) for name in names if name != "hertz"}, rounds)
    return {
        name: {
            words: spread(ratios(times["ma-liu" + end], times[name + end]))
            for words, end in (("behind the front", ""), ("all beads", ", all beads"))
        }
        for name in names
        if name not in ("hertz", "ma-liu")
    }


def race_of_loops(rounds: int) -> dict[str, Any]:
    """Return the time of every loop relative to Hertz with all beads in the same round."""
    runs = {
        name: replace(run, step=replace(run.step, n_steps=steps_of(run)))
        for name, run in loops().items()
    }
    times = race_of_runs(runs, rounds)
    base = times["hertz, all beads"]
    return {
        name: {
            "behind the front": spread(ratios(times[name], base)),
            "all beads": spread(ratios(times[f"{name}, all beads"], base)),
            "nanoseconds": spread(t * 1e9 for t in times[name]),
        }
        for name in runs
    }


def steps_of(run: Run) -> int:
    """Return the number of steps up to the largest force at the last sensor, if reached."""
    step = replace(run.step, n_steps=min(run.step.n_steps, MOST_STEPS))
    state = State(
        run.contacts, run.chain, step, Recording((SENSORS[-1],), (), step.value, None, ledger=False)
    )
    state.advance(step.n_steps + 1)
    return int(np.argmax(state.records.sensor_force[:, 0])) or step.n_steps


def report(result: dict[str, Any]) -> None:
    """Print the table."""
    print(
        f"{N_BODIES} bodies, up to the peak at bead {SENSORS[-1]}; ns per bead and step; ratios "
        "within a round [quartiles]"
    )
    for law, found in result["laws"].items():
        print(
            f"\n{law}: {found['steps']} steps of {found['time_step']:.4g} s; answers within "
            f"{max(found['away'].values()):.1g}"
        )
        for name, ns in found["times"].items():
            text = f"  {name:22s} {ns['median']:9.3f} ns   best {ns['best']:9.3f}"
            for base, label in (
                ("granchain", "x granchain"),
                ("granchain, all beads", "x all beads"),
            ):
                if name in found["ratios"][base]:
                    ratio = found["ratios"][base][name]
                    text += (
                        f"   {ratio['median']:7.3f} [{ratio['low']:.3f} {ratio['high']:.3f}] "
                        f"{label}"
                    )
            print(text)
    print("\n" + table.over_dashpots(result["over"]))
    print(f"\n{taken_on(result['machine'])}")


def report_loops(found: dict[str, Any]) -> None:
    """Print the loops, the slowest first."""
    print(
        "\ntime per bead and step over that of Hertz over all beads: behind the front "
        "[quartiles], all beads"
    )
    for name, ratio in sorted(
        found.items(), key=lambda item: -item[1]["behind the front"]["median"]
    ):
        front = ratio["behind the front"]
        print(
            f"  {name:32s} {front['median']:6.2f} [{front['low']:.2f} {front['high']:.2f}]   "
            f"{ratio['all beads']['median']:6.2f}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument(
        "--all-laws",
        action="store_true",
        help="every loop of the library against Hertz; compiles all of them, minutes",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=SMALL_ROUNDS if small() else ROUNDS,
        help="rounds of each race, two or more",
    )
    parser.add_argument(
        "--save",
        action="store_true",
        help="write results/throughput.json, or results/all_laws.json",
    )
    options = parser.parse_args()
    if options.all_laws:
        every = race_of_loops(options.rounds)
        report_loops(every)
        if options.save:
            save("all_laws", {"machine": machine(), "rounds": options.rounds, "laws": every})
    else:
        names = [law for law in (SMALL_LAWS if small() else LAWS) if law in laws()]
        result = {
            "machine": machine(), "bodies": N_BODIES, "rounds": options.rounds,
            "laws": {law: race_of_law(law, options.rounds) for law in names},
            "over": {
                "machine": machine(), "rounds": options.rounds,
                "laws": ma_liu_over(names, options.rounds),
            },
        }  # fmt: skip
        report(result)
        if options.save:
            save("throughput", result)
