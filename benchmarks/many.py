"""Time of 1,024 chains: compiled code of the engine, and hand-written C with eight per vector.

Each chain has an individual speed and time step, and its pulse passes all beads. Times are per bead
and step of the complete chain, in one process, measured in turn. All forms must be bit-identical,
which is asserted first. Then two threads are compared with one, next to a busy loop in the same
rounds.
"""

from __future__ import annotations

import ctypes
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
from kernels import DOUBLES, WIDTHS, compiled, compiler, version
from racing import (
    Answer,
    Contender,
    assert_same,
    command,
    machine,
    measured,
    race,
    ratios,
    small,
    spread,
    taken_on,
)
from steel_chain import BARE, INPUTS, N_BODIES, SPEED, Run, run_of, steel_chain

from granchain.contact import laws
from granchain.engine.batch import Stack
from granchain.engine.fields import page_aligned
from granchain.engine.state import State
from granchain.jit.compile import VECTOR

LAWS = ("hertz", "flores", "tsuji", "ma-liu")
IN_C = {"hertz": "hertz_across", "ma-liu": "ma_liu_across"}
MEMBERS, STEPS = 1024, 1041
SMALL_MEMBERS, SMALL_STEPS = 16, 100
# Time step of 0.4 us: the pulse reaches bead 63 after 1,041 steps.
STEP = 4e-7
COLUMNS = (
    "u",
    "v",
    "row",
    "peak",
    "largest_overlap",
    "limit",
    "residual",
    "unloading",
    "start",
    "kicks",
    "stiffnesses",
    "dts",
)


class Side(ctypes.Structure):
    """`struct side` of kernels.c."""

    _fields_ = [
        *(
            (name, ctypes.c_long)
            for name in ("groups", "columns", "n_steps", "front", "last_contact", "width")
        ),
        *((name, DOUBLES) for name in (*COLUMNS, "ma_liu")),
    ]


def states_of(run: Run, members: int) -> list[State]:
    """Return a state for each chain, with an individual speed and time step."""
    made = []
    for part in np.linspace(0.5, 1.0, members):
        velocity = run.chain.velocity.copy()
        velocity[0] = part * SPEED
        step = replace(run.step, value=run.step.value * (1.0 - 1e-3 * part))
        made.append(State(run.contacts, replace(run.chain, velocity=velocity), step, BARE))
    return made


def inside(states: list[State]) -> Answer:
    """Return the displacements and velocities of all bodies."""
    n = states[0].chain.n_bodies
    return np.array([state.bodies.u[1 : n + 1] for state in states]), np.array(
        [state.bodies.v[1 : n + 1] for state in states]
    )


def granchain(run: Run, members: int, all_beads: bool) -> Contender:
    """Return the engine's stack of chains."""

    def prepare() -> Callable[[], Answer]:
        states = states_of(run, members)
        stack = Stack(states)
        if all_beads:
            for state in states:
                state.clock.front = run.chain.n_bodies

        def timed() -> Answer:
            stack.advance(0, members, run.step.n_steps + 1)
            return inside(states)

        return timed

    return Contender(prepare, turns=1, same=0.0)


def across(library: ctypes.CDLL, run: Run, members: int, all_beads: bool) -> Contender:
    """Return the C code across chains."""
    function = getattr(library, IN_C[run.law])

    def prepare() -> Callable[[], Answer]:
        states = states_of(run, members)
        one, groups = states[0], members // VECTOR
        width = one.contacts.force.size
        # An odd number of cache lines per row, and one more than there are contacts, so that no two
        # rows begin at the same offset in a page.
        columns = ((width + 1) | 1) * VECTOR
        rows = dict(zip(COLUMNS, page_aligned(((groups, columns),) * len(COLUMNS)), strict=True))
        names = [quantity.name for quantity in run.contacts.model.coefficients]
        stiffness = names.index("hertz_stiffness" if run.law == "ma-liu" else "stiffness")
        rows["start"][:], rows["limit"][:] = -np.inf, np.inf
        for m, state in enumerate(states):
            group, place = divmod(m, VECTOR)
            taken = {
                "u": state.bodies.u,
                "v": state.bodies.v,
                "kicks": state.bodies.dt_over_m,
                "start": state.contacts.start,
                "largest_overlap": state.contacts.largest_overlap,
                "stiffnesses": state.c[stiffness],
                "dts": np.full(width, state.time_step.value),
            }
            if run.law == "ma-liu":
                taken |= dict(zip(("limit", "residual", "unloading"), state.h, strict=False))
            for name, values in taken.items():
                rows[name][group].reshape(-1, VECTOR)[:width, place] = values[:width]
        # A ctypes structure does not keep its arrays alive; `timed` does, through `rows`.
        rows["ma_liu"] = np.ascontiguousarray(run.contacts.c[:, 1])
        n = run.chain.n_bodies
        arguments = Side(
            groups,
            columns,
            run.step.n_steps,
            n if all_beads else int(one.clock.front),
            n,
            width,
            *(rows[name].ctypes.data_as(DOUBLES) for name in (*COLUMNS, "ma_liu")),
        )

        def timed() -> Answer:
            function(ctypes.byref(arguments))
            u, v = (
                rows[name]
                .reshape(groups, -1, VECTOR)[:, 1 : n + 1]
                .transpose(0, 2, 1)
                .reshape(members, n)
                for name in "uv"
            )
            return u, v

        return timed

    return Contender(prepare, turns=1, same=0.0)


@numba.njit(nogil=True)
def spin(times):  # type: ignore[no-untyped-def]
    """Compute without memory access."""
    x = np.uint64(1)
    for _ in range(times):
        x = x * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    return x


def wall(work: Callable[[int, int], Any], parts: int, threads: int) -> float:
    """Return the wall time of some parts of work, divided among threads."""
    each = parts // threads
    pool = [threading.Thread(target=work, args=(each * t, each * (t + 1))) for t in range(threads)]
    begin = time.perf_counter()
    for thread in pool:
        thread.start()
    for thread in pool:
        thread.join()
    return time.perf_counter() - begin


def race_of_threads(run: Run, members: int, rounds: int) -> dict[str, Any]:
    """Return the gain of a second thread, for chains and for a busy loop in the same rounds."""
    stack = Stack(states_of(run, members))
    live = (*stack._tables, stack._clocks, *stack._records, stack.status)
    tables = [table.copy() for table in live]
    # At least 0.1 s per task, because shorter ones gain nothing from a second thread.
    turns = 1 if small() else 4

    def chains(first: int, last: int) -> None:
        for _ in range(turns):
            for table, start in zip(live, tables, strict=True):
                table[first:last] = start[first:last]
            stack.advance(first, last, run.step.n_steps + 1)

    def count(first: int, last: int) -> None:
        spin((last - first) * (1000 if small() else 300_000))

    count(0, 1)
    gains: dict[str, list[float]] = {"chains": [], "spin": []}
    for _ in range(rounds):
        for name, work in (("chains", chains), ("spin", count)):
            one = wall(work, members, 1)
            gains[name].append(one / wall(work, members, 2))
    share = ratios(gains["chains"], gains["spin"])
    return {name: spread(values) for name, values in gains.items()} | {
        "chains over spin": spread(share)
    }


def race_of_law(
    library: ctypes.CDLL | None, law: str, members: int, steps: int, all_beads: bool, rounds: int
) -> dict[str, Any]:
    """Measure one law, for active beads or all beads: the stack, and the stack versus C."""
    inputs = SimpleNamespace(**{q.name: INPUTS.get(q.name, q.default) for q in laws()[law].inputs})
    run = run_of(law, steel_chain(), inputs, end=steps * STEP, step=STEP)
    racing = {"stack": granchain(run, members, all_beads)}
    if library is not None and law in IN_C and hasattr(library, IN_C[law]):
        racing["C"] = across(library, run, members, all_beads)
    assert_same(racing)
    bases = tuple(name for name in racing if name != "stack")
    found = measured(race(racing, rounds), bases, members * run.bead_steps)
    return {
        "times": found["times"],
        "ratios": {base: found["ratios"][base]["stack"] for base in bases},
    }


def spread_of(found: dict[str, float]) -> str:
    """Return a median with its quartiles as text."""
    return f"{found['median']:.3f} [{found['low']:.3f} {found['high']:.3f}]"


def report(result: dict[str, Any]) -> None:
    """Print the table."""
    print(
        f"{result['members']} chains of {N_BODIES} bodies, {result['steps']} steps; ns per bead "
        "and step; same bits in all"
    )
    for name, found in result["cases"].items():
        times = ", ".join(
            f"{form} {ns['median']:.3f} (best {ns['best']:.3f})"
            for form, ns in found["times"].items()
        )
        over = ", ".join(
            f"stack {spread_of(ratio)} x {base}" for base, ratio in found["ratios"].items()
        )
        print(f"  {name:26s} {times}; {over}")
    print(
        "\nsecond thread: "
        + ", ".join(f"{name} {spread_of(gain)}" for name, gain in result["threads"].items())
    )
    print(f"\n{taken_on(result['machine'])}")


def measure(rounds: int) -> dict[str, Any]:
    """Measure stacks versus C, if there is a compiler, and with two threads."""
    members, steps = (SMALL_MEMBERS, SMALL_STEPS) if small() else (MEMBERS, STEPS)
    library, versions = None, {}
    if compiler() is None:
        print("no C compiler here (gcc, or what $CC names): nothing is compared with C")
    else:
        versions = {"gcc": version()}
        with tempfile.TemporaryDirectory() as folder:
            library = compiled(Path(folder), WIDTHS[-1:])[WIDTHS[-1]]
    inputs = SimpleNamespace(stiffness=None)
    hertz = run_of("hertz", steel_chain(), inputs, end=steps * STEP, step=STEP)
    return {
        "machine": machine(**versions),
        "bodies": N_BODIES,
        "members": members,
        "steps": steps,
        "cases": {
            f"{law}, {where}": race_of_law(
                library, law, members, steps, where == "all beads", rounds
            )
            for law in (LAWS[:1] if small() else LAWS)
            for where in ("behind the front", "all beads")
        },
        "threads": race_of_threads(hertz, members, rounds),
    }


if __name__ == "__main__":
    command("many", __doc__, measure, report)
