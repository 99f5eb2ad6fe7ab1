"""Cost per bead and step in precompressed chains of 10^2 to 10^6 beads, compared with 70 beads.

Every bead moves from the start and every contact is compressed, so that no bead is ahead of a
front. Each block includes a check of the state, as in a run. One and two threads are measured. The
wall time with two threads is compared, in the same rounds, with a busy loop on two threads, which
shows how much a second thread can gain on this machine.
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
BASE, LENGTHS = 70, (100, 1_000, 10_000, 100_000, 1_000_000)
SMALL_LENGTHS = (100, 5_000)
# Bead-steps per block: at 1 ns each, 20 ms for one chain after the other. The longest chains run
# 256 steps, as in a run.
WORK, STEPS = 1e5 if small() else 2e7, 256
ROUNDS, SMALL_ROUNDS = 9, 2
# Speed like that behind a Hertz pulse of 1.77 m/s [m/s], and load [N]. The static overlap under
# 60 N is a few micrometres, so no contact opens.
SPEED, LOAD = 0.02, 60.0


def pressed_row(n_bodies: int) -> Chain:
    """Return steel beads pressed against a wall, with individual small velocities."""
    speeds = np.random.default_rng(1).uniform(-SPEED, SPEED, n_bodies)
    wall = End(WALL, MATERIALS["steel-316"])
    return replace(
        steel_chain(n_bodies), velocity=speeds, precompression=LOAD, right=wall, has_striker=False
    )


def block_of(n_bodies: int) -> int:
    """Return the number of steps per block."""
    return max(STEPS, int(WORK / n_bodies))


def advancing(run: Run, threads: int) -> Callable[[], tuple[float, float]]:
    """Return a function that runs a block and returns its wall time and thread time [s]."""
    state = State(run.contacts, run.chain, run.step, BARE)
    bands, steps = TileStepper(state, threads), block_of(run.chain.n_bodies)

    def timed() -> tuple[float, float]:
        begin, own = time.perf_counter(), time.thread_time()
        bands.advance(steps)
        return time.perf_counter() - begin, time.thread_time() - own

    # Compile the loop, and pass the first complete step.
    bands.advance(40)
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
        runs = []
        for n_bodies in (BASE, n):
            run = run_of(law, pressed_row(n_bodies))
            runs.append(
                replace(
                    run, step=replace(run.step, n_steps=block_of(n_bodies) * (rounds + 2) + 100)
                )
            )
        base, alone, both = advancing(runs[0], 1), advancing(runs[1], 1), advancing(runs[1], 2)
        shorter, longer = (block_of(run.chain.n_bodies) * run.chain.n_bodies for run in runs)
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
                State(runs[1].contacts, runs[1].chain, runs[1].step, BARE), 2
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
