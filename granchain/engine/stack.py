"""Many rows of beads under one compiled loop: every table with a leading axis, one place for each row.

The loop is the one that advances a single row, called for one row after the other inside compiled code: the same bits, and no time in
Python for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from granchain.engine.fields import LANES
from granchain.engine.lanes import drives_of, lanes_of, records_of, side_of, tables_of
from granchain.engine.specialise import compiled, jitable
from granchain.engine.state import INSTANTS, Memory, State
from granchain.status import Status

RUNNING = int(Status.RUNNING)
# Members from which a loop over them is compiled, which takes a second or two; below, Python calls the loop of one.
COMPILED = 16
# Laws under which members march side by side in less time than one after the other; benchmarks/results/many.json has the ratios, behind the
# front. Any other law, a user's too, is one after the other. The numbers are the same.
SIDE_BY_SIDE = ("flores", "hertz", "ma-liu", "tsuji")
# Body-steps from which members march side by side: what that gains in a second pays for loading its loop, .1 s, at half a nanosecond each.
WORTH = 1e9
# Longest rows that do: eight of twice as many bodies are more than a level 1 cache holds, and there the gain is lost.
LONGEST = 80
# Steps for each one that a member does by itself, from which they do: giving a row back and taking it costs what 100 steps gain.
RARE = 100


class Stack:
    """States that share a loop and the shapes of their tables, advanced side by side.

    Parameters
    ----------
    states : sequence of State
        All of one `shape_of`, and before their first step. From then on they live in the memory of the stack.

    Attributes
    ----------
    status : (n_members,) integer array
        How far each is.
    together : int
        How many members march side by side.
    """

    def __init__(self, states: Sequence[State]):
        self.states, n = tuple(states), len(states)
        memory = Memory(states)
        self._tables, self._drives, self._clocks, self._records = memory.tables, memory.drives, memory.clocks, memory.records
        for m, state in enumerate(states):
            state.live_in(memory, m)
        self.status = np.full(n, RUNNING)
        one = self.states[0]
        self.together = LANES if in_lanes(self.states) else 1
        self._run = stack_of(one.loop) if self.together == 1 and n >= COMPILED else None
        if self.together > 1:
            self._lanes = lanes_of(one.loop, one.functions, one.features)
            # no members: compiled, or loaded, here
            self._march(0, 0, 0)

    def _march(self, first: int, last: int, steps: int) -> None:
        self._lanes(first, last, steps, side_of(self._tables), self._tables, self._clocks, self._drives, self._records, self.status)

    def advance(self, first: int, last: int, steps: int) -> None:
        """Do a block of steps of the members first..last - 1 that are not done, and look at each.

        Parameters
        ----------
        first, last : int
            Places of members.
        steps : int
            Number of steps; a member's last step ends its block earlier.
        """
        if self.together > 1:
            self._march(first, last, steps)
            return
        if self._run is not None:
            self._run(first, last, steps, self._tables, self._clocks, self._drives, self._records, self.status)
            return
        for m in range(first, last):
            if self.status[m] == RUNNING:
                self.status[m] = self.states[m].advance(steps)


def in_lanes(states: Sequence[State]) -> bool:
    """Whether these march side by side, LANES of them in a vector: where that was measured to gain something.

    A chain that is loaded or driven from the start does not: nothing of it lies ahead of a front. Nor does one with drag, whose steps are
    all whole ones, or one under a user's law.
    """
    one, law = states[0], states[0].model.law
    measured = law.name in SIDE_BY_SIDE and law.__module__.startswith("granchain.")
    if not measured or len(states) < LANES or one.features.driven or one.features.drag or one.chain.n_bodies > LONGEST:
        return False
    steps = np.array([state.time_step.n_steps for state in states])
    by_themselves = np.array([own_steps(state) for state in states])
    ahead = all(state.clock.front < state.clock.n_bodies for state in states)
    return ahead and bool(steps.sum() * one.chain.n_bodies >= WORTH and steps.sum() >= RARE * by_themselves.sum())


def own_steps(state: State) -> int:
    """How many steps of a run are more than forces, kick, drift and samples of sensors."""
    records = state.records
    return len(records.energy_at) + len(records.snapshot_at) + len(records.contact_force) * (records.recorded.size > 0)


def shape_of(state: State) -> tuple:
    """What states of one stack share: the loop, and the shapes of all but the length of what is recorded."""
    drives = tuple(values.shape for values in state.drive_tables)
    records = tuple(shape[1:] or shape[0] * (name not in INSTANTS) for name, shape in state.record_shapes.items())
    return state.loop, state.table_shapes, drives, records


@cache
def stack_of(loop: Callable) -> Callable:
    """A compiled loop over members, around the compiled loop of one."""
    for function in (tables_of, drives_of, records_of):
        jitable(function)

    def stack(first, last, steps, tables, clocks, drives, records, status):  # type: ignore[no-untyped-def]
        for m in range(first, last):
            if status[m] == RUNNING:
                clock = clocks[m]
                stop = min(clock.step + steps, clock.n_steps + 1)
                status[m] = loop(stop, True, tables_of(tables, m), clock, drives_of(drives, m), records_of(records, m))

    return compiled(stack)
