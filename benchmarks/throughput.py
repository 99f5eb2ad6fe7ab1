"""Nanoseconds per bead and step of the 70-bead steel chain: the engine, naive Numba, plain NumPy and the square-root floor.

All in one process, in turn, in rounds: times drift with the machine, so ratios are taken within a round, and their median and quartiles
are shown. The time is the thread's own, without that of other programs. Before anything is timed, all contenders must give the same
displacements and velocities.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import naive
import numba
import numpy as np
import plain_numpy

from granchain.chain import Chain
from granchain.contact import laws
from granchain.engine import layout
from granchain.engine.state import Contacts, Recording, State, contacts_of, time_step_of
from granchain.engine.timestep import TimeStep
from granchain.material import MATERIALS

RESULTS = Path(__file__).with_name("results") / "throughput.json"

# Wang, Liu & Liu 2022, table 8 and section 5.2, doi:10.1016/j.ijmecsci.2022.107214: 70 beads and the striker, and where the sensors are.
N_BODIES = 71
RADIUS, MASS, SPEED = 2.38e-3, 0.45e-3, 1.77
SENSORS = (9, 16, 24, 31, 40, 50, 56, 63)
# Its inputs; an input that is not named here has the law's default.
INPUTS = {"psi": 2.84, "xi": 13.0, "restitution": 0.65, "impact_speed": SPEED}
# Long enough for the pulse to pass bead 63: 0.30 m at the 734 m/s of Hertz is 0.41 ms, and every dissipative law is slower.
END = 0.8e-3

# Rounds of a race, and runs of a fast contender in each of its turns, of which the quickest counts.
ROUNDS, TURNS = 25, 5

# Final displacements and velocities of two contenders, over the largest: rounding of a few thousand steps.
SAME = 1e-9


@dataclass(frozen=True)
class Run:
    """The chain under one law, up to the step at which the sensor in bead 63 has its largest force."""

    law: str
    chain: Chain
    contacts: Contacts
    step: TimeStep


@dataclass(frozen=True)
class Contender:
    """`prepare` makes a fresh start, untimed, and returns what is timed; that returns final displacements and velocities of the bodies."""

    prepare: Callable[[], Callable[[], tuple[np.ndarray, np.ndarray]]]
    turns: int = TURNS


def steel_chain() -> Chain:
    """70 touching steel beads and a striker."""
    return Chain(
        radius=np.full(N_BODIES, RADIUS),
        mass=np.full(N_BODIES, MASS),
        velocity=np.r_[SPEED, np.zeros(N_BODIES - 1)],
        material=(MATERIALS["steel-316"],),
        material_index=np.zeros(N_BODIES, dtype=int),
        gap=np.zeros(N_BODIES - 1),
        has_striker=True,
    )


def run_to_bead_63(law: str) -> Run:
    """The law's run: steps counted up to the peak at the last sensor."""
    chain = steel_chain()
    inputs = SimpleNamespace(**{quantity.name: INPUTS.get(quantity.name, quantity.default) for quantity in laws()[law].inputs})
    contacts = contacts_of(laws()[law], chain, inputs)
    step = time_step_of(contacts, chain, "auto", END)
    state = State(contacts, chain, step, Recording((SENSORS[-1],), (), step.value, None, ledger=False))
    state.advance(step.n_steps + 1)
    return Run(law, chain, contacts, replace(step, n_steps=int(np.argmax(state.sensor_force[:, 0]))))


def granchain(run: Run, recording: Recording, all_beads: bool = False) -> Contender:
    """The engine; with all beads, those ahead of the front are swept too."""

    def prepare() -> Callable[[], tuple[np.ndarray, np.ndarray]]:
        state = State(run.contacts, run.chain, run.step, recording)
        if all_beads:
            state.counts[layout.FRONT] = N_BODIES

        def timed() -> tuple[np.ndarray, np.ndarray]:
            state.advance(run.step.n_steps + 1)
            return state.bodies[layout.U, 1 : N_BODIES + 1], state.bodies[layout.V, 1 : N_BODIES + 1]

        return timed

    return Contender(prepare)


def loop_of(run: Run, module: Any, turns: int) -> Contender | None:
    """The same chain in naive Numba or NumPy, where the law has been written there."""
    pair, law = run.chain.pair(), run.contacts.law
    named = {quantity.name: float(row[1]) for quantity, row in zip(law.coefficients, run.contacts.c, strict=True)}
    if run.law == "hertz":
        loop, parameters = module.hertz, (named["stiffness"],)
    elif run.law == "ma-liu":
        names = ("yield_overlap", "plastic_overlap", "c1", "c2", "c3", "plastic_force", "plastic_stiffness")
        sphere = (float(pair.effective_radius[1]), float(pair.effective_modulus[1]))
        loop, parameters = module.ma_liu, (*sphere, *(named[name] for name in names))
    elif tuple(named) == ("stiffness", "damping", "lowest_force") and not law.history:
        loop, parameters = module.hysteresis, (named["stiffness"], named["damping"])
    else:
        return None

    def prepare() -> Callable[[], tuple[np.ndarray, np.ndarray]]:
        u, v = np.zeros(N_BODIES), run.chain.velocity.copy()

        def timed() -> tuple[np.ndarray, np.ndarray]:
            loop(run.step.n_steps, run.step.value, run.chain.mass, *parameters, u, v)
            return u, v

        return timed

    return Contender(prepare, turns)


@numba.njit(error_model="numpy")
def take_roots(x, passes):  # type: ignore[no-untyped-def]
    """One square root a contact and step, and nothing else; the sum keeps the operands from settling at 1."""
    for _ in range(passes):
        for i in range(x.size):
            x[i] = np.sqrt(x[i] + 0.5)


def square_roots(run: Run) -> Contender:
    """The floor: as many vectorised square roots as the run has contacts, padded to whole vectors, and steps."""

    def prepare() -> Callable[[], tuple[np.ndarray, np.ndarray]]:
        x = np.linspace(0.5, 2.0, -(-(N_BODIES + 1) // layout.LANES) * layout.LANES)

        def timed() -> tuple[np.ndarray, np.ndarray]:
            take_roots(x, run.step.n_steps + 1)
            return x, x

        return timed

    return Contender(prepare)


def contenders(run: Run) -> dict[str, Contender]:
    """All that race on one run."""
    bare = Recording(ledger=False)
    found: dict[str, Contender | None] = {
        "granchain": granchain(run, bare),
        "granchain, all beads": granchain(run, bare, all_beads=True),
        "granchain, 8 sensors": granchain(run, Recording(SENSORS, ledger=False)),
        "granchain, ledger": granchain(run, Recording(ledger=True)),
        "naive Numba": loop_of(run, naive, turns=2),
        "plain NumPy": loop_of(run, plain_numpy, turns=1),
        "square roots": square_roots(run),
    }
    return {name: contender for name, contender in found.items() if contender is not None}


def assert_same(all_contenders: dict[str, Contender]) -> None:
    """Every contender that computes the chain ends in the same state; compiles all of them besides."""
    u, v = all_contenders["granchain"].prepare()()
    for name, contender in all_contenders.items():
        other_u, other_v = contender.prepare()()
        if name == "square roots":
            continue
        for mine, other in ((u, other_u), (v, other_v)):
            off = float(np.abs(mine - other).max() / np.abs(mine).max())
            assert off <= SAME, f"{name} ends {off:.1e} away from granchain"


def race(all_contenders: dict[str, Contender], rounds: int, bead_steps: int) -> dict[str, list[float]]:
    """Nanoseconds per bead and step of each contender in each round; who begins moves on by one each round."""
    times: dict[str, list[float]] = {name: [] for name in all_contenders}
    names = list(all_contenders)
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            times[name].append(min(seconds(all_contenders[name]) for _ in range(all_contenders[name].turns)) / bead_steps * 1e9)
    return times


def seconds(contender: Contender) -> float:
    """One run, without its preparation."""
    timed = contender.prepare()
    begin = time.thread_time()
    timed()
    return time.thread_time() - begin


def ratios(times: list[float], base: list[float]) -> list[float]:
    """One contender's times over another's, round by round."""
    return [mine / its for mine, its in zip(times, base, strict=True)]


def spread(values: list[float]) -> dict[str, float]:
    """Median and quartiles."""
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": median, "low": low, "high": high}


def measure(law: str, rounds: int) -> dict[str, Any]:
    """One law: times, and each contender's time over the engine's in the same round."""
    run = run_to_bead_63(law)
    racing = contenders(run)
    assert_same(racing)
    times = race(racing, rounds, N_BODIES * run.step.n_steps)
    return {
        "steps": run.step.n_steps,
        "time_step": run.step.value,
        "nanoseconds": {name: {**spread(values), "best": min(values)} for name, values in times.items()},
        "ratios": {
            base: {name: spread(ratios(values, times[base])) for name, values in times.items() if name != base}
            for base in ("granchain", "granchain, all beads")
        },
    }


def raced_laws() -> list[str]:
    """Hertz, Ma-Liu, and dashpots: those of the naive loops' form, and two that carry an onset weight."""
    wanted = ("hertz", "ma-liu", "hunt-crossley", "lankarani-nikravesh", "flores", "wang-liu-viscous", "tsuji")
    return [law for law in wanted if law in laws()]


def machine() -> dict[str, Any]:
    """What the numbers were taken on."""
    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        model = next((line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")), model)
    return {
        "cpu": model, "cores": os.cpu_count(), "python": platform.python_version(), "numba": numba.__version__, "numpy": np.__version__,
        "date": date.today().isoformat(),
    }  # fmt: skip


def report(result: dict[str, Any]) -> None:
    """The table for a terminal."""
    print(", ".join(f"{key} {value}" for key, value in result["machine"].items()))
    print(f"{N_BODIES} bodies, up to the peak at bead {SENSORS[-1]}; ns per bead and step; ratios within a round [quartiles]")
    for law, measured in result["laws"].items():
        print(f"\n{law}: {measured['steps']} steps of {measured['time_step']:.4g} s")
        for name, ns in measured["nanoseconds"].items():
            text = f"  {name:22s} {ns['median']:9.3f} ns   best {ns['best']:9.3f}"
            for base, label in (("granchain", "x granchain"), ("granchain, all beads", "x all beads")):
                if name in measured["ratios"][base]:
                    ratio = measured["ratios"][base][name]
                    text += f"   {ratio['median']:7.3f} [{ratio['low']:.3f} {ratio['high']:.3f}] {label}"
            print(text)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    small = os.environ.get("BENCH_SMALL", "") not in ("", "0")
    parser.add_argument("--small", action="store_true", default=small, help="few rounds, three laws; BENCH_SMALL=1 does the same")
    parser.add_argument("--rounds", type=int, help="rounds of each race")
    parser.add_argument("--save", action="store_true", help=f"write results/{RESULTS.name}")
    options = parser.parse_args(arguments)
    # quartiles take two rounds
    rounds = max(2, options.rounds or (3 if options.small else ROUNDS))
    names = ["hertz", "ma-liu", "flores"] if options.small else raced_laws()
    result = {"machine": machine(), "bodies": N_BODIES, "rounds": rounds, "laws": {law: measure(law, rounds) for law in names}}
    report(result)
    if options.save:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(result, indent=1) + "\n")
        print(f"\nwritten: {RESULTS.relative_to(Path.cwd()) if RESULTS.is_relative_to(Path.cwd()) else RESULTS}")


if __name__ == "__main__":
    main(sys.argv[1:])
