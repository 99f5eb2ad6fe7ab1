"""Cost per bead and step in precompressed chains of 10^4 to 10^6 beads, compared with 1,000 beads.

Every bead moves from the start and every contact is compressed, so that no bead is ahead of a
front. The chains of 1,000 beads take the same steps as the long chain, because an elastoplastic law
costs less with each step: its contacts dissipate the motion, until no contact exceeds its largest
overlap. Each block includes a check of the state, as in a run. One and two threads are measured.
The wall time with two threads is compared, in the same rounds, with a busy loop on two threads,
which shows how much a second thread can gain on this machine.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numba
import numpy as np
from racing import (
    command,
    small,
    spread,
    taken_on,
)
from steel_chain import BARE, Run, run_of, steel_chain

from granchain.chain import WALL, Chain, End
from granchain.engine.state import State
from granchain.engine.tiles import TileStepper
from granchain.material import MATERIALS

LAWS = ("hertz", "flores", "ma-liu")
# Length of the base, and the other lengths [beads].
BASE, LENGTHS = 1_000, (10_000, 100_000, 1_000_000)
SMALL_LENGTHS = (100, 5_000)
# Bead-steps per block: at 1 ns each, 20 ms for one chain after the other. The longest chains run
# 256 steps, as in a run.
WORK, STEPS = 1e5 if small() else 2e7, 256
# Largest number of chains of the base that take turns: a block of them then takes 10 ms.
MOST_COPIES = 40
ROUNDS, SMALL_ROUNDS = 9, 2
# Speed like that behind a Hertz pulse of 1.77 m/s [m/s], and load [N]. The static overlap under
# 60 N is a few micrometres, so no contact opens.
SPEED, LOAD = 0.02, 60.0


def pressed_row(n_bodies: int, seed: int = 1) -> Chain:
    """Return steel beads pressed against a wall, with individual small velocities."""
    speeds = np.random.default_rng(seed).uniform(-SPEED, SPEED, n_bodies)
    wall = End(WALL, MATERIALS["steel-316"])
    return replace(
        steel_chain(n_bodies), velocity=speeds, precompression=LOAD, right=wall, has_striker=False
    )


def block_of(n_bodies: int) -> int:
    """Return the number of steps per block."""
    return max(STEPS, int(WORK / n_bodies))


def advancing(runs: list[Run], steps: int, threads: int) -> Callable[[], tuple[float, float]]:
    """Return a function that runs a block of each chain and returns wall and thread time [s]."""
    steppers = [
        TileStepper(State(run.contacts, run.chain, run.step, BARE), threads) for run in runs
    ]

    def timed() -> tuple[float, float]:
        begin, own = time.perf_counter(), time.thread_time()
        for stepper in steppers:
            stepper.advance(steps)
        return time.perf_counter() - begin, time.thread_time() - own

    # Compile the loop, and pass the first complete step.
    for stepper in steppers:
        stepper.advance(40)
    return timed


@numba.njit(nogil=True, error_model="numpy")
def spin(turns):  # type: ignore[no-untyped-def]
    """Compute without memory access."""
    x = 0.0
    for i in range(turns):
        x = np.sqrt(x + i)
    return x


def spun(threads: int, turns: int = 10_000_000) -> float:
    """Return the wall time [s] of a fixed number of turns, divided among threads."""
    workers = [threading.Thread(target=spin, args=(turns // threads,)) for _ in range(threads)]
    begin = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return time.perf_counter() - begin


def race_of_law(law: str, lengths: tuple[int, ...], rounds: int) -> dict[str, Any]:
    """Return the cost per bead-step relative to the base in the same round.

    Also return the gain of two threads, and that of a busy loop.
    """
    found: dict[str, Any] = {}
    for n in lengths:
        steps, copies = block_of(n), min(-(-n // BASE), MOST_COPIES)

        def prepared(n_bodies: int, seed: int, steps: int = steps) -> Run:
            run = run_of(law, pressed_row(n_bodies, seed))
            return replace(run, step=replace(run.step, n_steps=steps * (rounds + 2) + 100))

        many, one = [prepared(BASE, seed) for seed in range(copies)], [prepared(n, 1)]
        base, alone, both = (
            advancing(many, steps, 1), advancing(one, steps, 1), advancing(one, steps, 2),
        )  # fmt: skip
        shorter, longer = copies * BASE * steps, n * steps
        costs, ratios, gains, spins = [], [], [], []
        spun(2)
        for _ in range(rounds):
            (_, first), (wall, own), (together, _) = base(), alone(), both()
            costs.append(own / longer * 1e9)
            ratios.append(own / longer / (first / shorter))
            gains.append(wall / together)
            spins.append(spun(1) / spun(2))
        found[str(n)] = {
            "ns": spread(costs),
            "over base": spread(ratios),
            "two threads": spread(gains),
            "spin": spread(spins),
            "threads": TileStepper(
                State(one[0].contacts, one[0].chain, one[0].step, BARE), 2
            ).threads,
        }
        print(
            f"{law:8s} {n:8d} beads: {statistics.median(costs):7.3f} ns, "
            f"{statistics.median(ratios):5.2f} of {BASE} beads; two threads "
            f"{statistics.median(gains):5.2f}, spin {statistics.median(spins):5.2f}",
            flush=True,
        )
    return found


def measure(rounds: int) -> dict[str, Any]:
    """Measure every law for all lengths."""
    lengths = SMALL_LENGTHS if small() else LENGTHS
    return {"base": BASE, "laws": {law: race_of_law(law, lengths, rounds) for law in LAWS}}


def report(result: dict[str, Any]) -> None:
    """Print the machine; the results are already printed."""
    print(f"\n{taken_on(result['machine'])}")


if __name__ == "__main__":
    command("long_chains", __doc__, measure, report, (ROUNDS, SMALL_ROUNDS))
