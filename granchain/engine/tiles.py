"""Simulation of a long chain on several threads, bit-identical to a single thread.

A band is a block of time steps of the whole chain, computed tile by tile (see chain_sweep.py).
Bands follow each other along the chain like waves: the next band may start before the previous one
has ended. Each piece (a group of tiles) waits until the previous band is two pieces ahead, because
a tile shares contacts with the tiles before and after it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache

import numpy as np

from granchain.contact.model import Functions
from granchain.engine.chain_sweep import behind_front, sweeps_of
from granchain.engine.contact_step import Features, contact_step
from granchain.engine.fields import beads_of
from granchain.engine.loop import next_stops
from granchain.engine.state import State
from granchain.jit.accessors import by_address
from granchain.jit.compile import VECTOR, compiled
from granchain.status import Status

# Groups of tiles per band. With this number, each of two threads waits for a few per cent of a
# block.
TILE_GROUPS = 24
# Minimum number of tiles per thread, so that a thread has work while others are two tiles ahead.
TILES_APART = 4


@cache
def tiles_stepper(law: Functions, features: Features) -> Callable:
    """Return a compiled function that advances tiles, starting with contact `ahead`.

    Its arguments are (start_step, steps, ahead, tiles, n, sample, pending, tables, clock, records).
    It returns the number of contact-steps in which the clamp acted, and does not change the clock.
    """
    _, advance_tile = sweeps_of(contact_step(law, features))

    def step_tiles(start_step, steps, ahead, tiles, n, sample, pending, tables, clock, records):
        row, records, total = beads_of(tables), by_address(records), 0
        for tile in range(tiles):
            _, _, _, _, clamped, _ = advance_tile(
                row, clock, records, start_step, steps, ahead + tile * clock.tile, n, 0, sample,
                pending,
            )  # fmt: skip
            total += clamped
        return total

    return compiled(step_tiles)


class TileStepper:
    """Time stepper that uses several threads, or one if the chain is too short.

    Parameters
    ----------
    state : State
    threads : int
        Maximum number of threads.
    """

    def __init__(self, state: State, threads: int):
        self._state = state
        tiles = state.chain.n_bodies // int(state.clock.tile)
        self.threads = max(1, min(threads, tiles // TILES_APART)) if state.features.tiled else 1

    def advance(self, steps: int, looks: bool = True) -> Status:
        """Advance like `State.advance`, and raise an interruption only after the block.

        The state is therefore always that of a full step.
        """
        if self.threads == 1:
            return self._state.advance(steps, looks)
        ended: list[Status | BaseException] = []

        def advance() -> None:
            try:
                ended.append(self._advance(steps, looks))
            except BaseException as error:  # the waiting thread raises the error again
                ended.append(error)

        # Only the main thread receives signals, and it only waits.
        interrupted = threads_joined([threading.Thread(target=advance, name="granchain")])
        (status,) = ended
        if isinstance(status, BaseException):
            raise status
        if interrupted is not None:
            raise interrupted
        return status

    def _advance(self, steps: int, looks: bool) -> Status:
        """Advance in tiles, and step by step where the step takes a snapshot or an entry."""
        state = self._state
        stop, status = min(state.step + steps, state.time_step.n_steps + 1), Status.RUNNING
        while state.step < stop and status is Status.RUNNING:
            _, snapshot_at, energy_at = next_stops(state.clock, state.records)
            full_at = 0 if state.step == 0 else min(snapshot_at, energy_at, state.time_step.n_steps)
            until = min(stop, full_at)
            if until - state.step > 1:
                self._proceed(until)
            else:
                status = state.advance(min(until + 1, stop) - state.step, False)
        return state.advance(0, looks) if status is Status.RUNNING else status

    def _proceed(self, until: int) -> None:
        """Advance to a step.

        None of the steps before it may need more than forces, kick, and drift.
        """
        state, clock = self._state, self._state.clock
        begun, steps, tile = state.step, until - state.step, int(clock.tile)
        step_tiles = tiles_stepper(state.functions, state.features)
        # Each tile builds its list of contacts with an event.
        state.events.listed[state.events.active[: int(clock.n_active)]] = 0
        clock.n_active = 0
        n = int(behind_front(state.bodies, state.contacts, clock, steps))
        # Tiles two apart share no contact because a tile moves back by VECTOR contacts per step.
        band = max(1, min(int(clock.band), tile // VECTOR - 2, -(-steps // (2 * self.threads))))
        starts = range(begun, until, band)
        tiles = -(-(n + VECTOR * (band - 1)) // tile)
        each = max(1, tiles // TILE_GROUPS)
        pending = [
            float(clock.pending),
            float(clock.dt) if state.features.rate else float(clock.pending),
        ]
        clamped = np.zeros(len(starts), dtype=np.int64)

        def do(b: int, j: int) -> None:
            start = starts[b]
            clamped[b] += step_tiles(
                start,
                min(band, until - start),
                j * each * tile,
                min(each, tiles - j * each),
                n,
                samples_before(state, start),
                pending[b > 0],
                state.tables,
                clock,
                state.records,
            )

        in_wavefront(len(starts), -(-tiles // each), self.threads, do)
        clock.clamped += int(clamped.sum())
        clock.sample, clock.pending, clock.step = samples_before(state, until), pending[1], until


def in_wavefront(bands: int, groups: int, threads: int, do: Callable[[int, int], None]) -> None:
    """Call `do(band, group)` for all groups of tiles of all bands.

    Thread k processes the bands k, k + threads, and so on. It starts a group when the previous band
    is two groups ahead.

    Raises
    ------
    BaseException
        First exception that `do` raises.
    """
    done, turn, failed = [0] * bands, threading.Condition(), list[BaseException]()

    def follow(k: int) -> None:
        for b in range(k, bands, threads):
            for j in range(groups):
                if b > 0:
                    with turn:
                        while done[b - 1] < min(j + 2, groups) and not failed:
                            turn.wait()
                if failed:
                    return
                try:
                    do(b, j)
                except BaseException as error:  # without this, the other threads would wait forever
                    failed.append(error)
                with turn:
                    done[b] += 1
                    turn.notify_all()

    threads_joined(
        [
            threading.Thread(target=follow, args=(k,), name=f"granchain {k}")
            for k in range(min(threads, bands))
        ]
    )
    if failed:
        raise failed[0]


def threads_joined(threads: list[threading.Thread]) -> KeyboardInterrupt | None:
    """Start threads, wait for all, and return an interruption that occurred."""
    interrupted = None
    begun: list[threading.Thread] = []
    while True:
        try:
            for thread in threads[len(begun) :]:
                begun.append(thread)
                thread.start()
            for thread in threads:
                thread.join()
            return interrupted
        except KeyboardInterrupt as stop:
            interrupted = stop


def samples_before(state: State, step: int) -> int:
    """Return the number of samples taken before a step."""
    return min(-(-step // int(state.clock.stride)), len(state.records.sensor_force))
