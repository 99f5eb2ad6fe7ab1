"""Many chains in one compiled loop: every table has a leading axis with one position per chain.

The loop that advances a single chain is called for one chain after another inside compiled code.
The results are bit-identical, and no time is spent in Python for each chain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from granchain.engine.energy import RUNNING
from granchain.engine.fields import BodyRows, ElementRows, Followed, Tables, member_of
from granchain.engine.recording import Records
from granchain.engine.state import Memory, State
from granchain.jit.compile import compiled

# Minimum number of members for a compiled loop over them, which takes a second or two to compile.
# Below it, Python calls the loop of each member.
COMPILED = 16
# Body-steps that a thread computes at a time: 0.1 s at ten nanoseconds each, which is the delay of
# an interruption.
AT_ONCE = 1e7
tables_of, followed_of, records_of = member_of(Tables), member_of(Followed), member_of(Records)


class Stack:
    """States that share a loop and table shapes, and that are advanced one after another.

    Parameters
    ----------
    states : sequence of State
        States of one `shape`, before their first step. From then on they use the memory of the
        stack.

    Attributes
    ----------
    status : (n_members,) integer array
        Status of each member.
    """

    def __init__(self, states: Sequence[State]):
        self.states, n = tuple(states), len(states)
        self._memory = Memory(states)
        self._memory.begin(states)
        self.status = np.full(n, RUNNING)
        self._run = stack_of(self.states[0].loop) if n >= COMPILED else None
        self._final = self.states[0].recording.final

    def advance(self, first: int, last: int, steps: int) -> None:
        """Advance the unfinished members first..last - 1, and inspect each.

        Parameters
        ----------
        first, last : int
            Range of members.
        steps : int
            Number of steps. The block of a member ends earlier after its last step, or before that
            step if its state is stored then.
        """
        if self._run is not None:
            self._run(
                first,
                last,
                steps,
                self._memory.tables,
                self._memory.clocks,
                self._memory.followed,
                self._memory.records,
                self.status,
                self._final,
            )
            if not self._final:
                return
            members, clocks = slice(first, last), self._memory.clocks[first:last]
            before_last = clocks["step"] == clocks["n_steps"]
            for m in np.flatnonzero(before_last & (self.status[members] == RUNNING)).tolist():
                self.states[first + m].keep()
            return
        for m in range(first, last):
            if self.status[m] == RUNNING:
                self.status[m] = self.states[m].advance(steps)


class Copies:
    """Run one case from many initial states, each to its end, with copies of its set-up.

    Parameters
    ----------
    state : State
        State before its first step; it does not change.
    displacement, velocity : (n_copies, n_bodies + n_attached) array
        Initial values of each copy [m], [m/s], for the bodies, then the attached
        masses.
    history : (n_history, n_contacts) array, optional
        Initial history of the contacts of each copy. Default: the history of the state.
    stopped : callable, optional
        Function called from time to time; if it returns true, the copies stop.

    Attributes
    ----------
    displacement, velocity : (n_copies, n_bodies + n_attached) array
        Values at the end.
    status : (n_copies,) integer array
        Final status of each copy.
    memory : Memory
        Memory of the tables and records.
    """

    def __init__(
        self,
        state: State,
        displacement: np.ndarray,
        velocity: np.ndarray,
        history: np.ndarray | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ):
        count, n = len(displacement), state.chain.n_bodies
        self.memory, self.status = Memory([state] * count), np.full(count, RUNNING)
        mine = *self.memory.tables, *self.memory.followed
        for copied, source in zip(mine, (*state.tables, *state.followed), strict=True):
            copied[:] = source
        for name in state.plan:
            getattr(self.memory.records, name)[:] = getattr(state.records, name)
        self.memory.clocks[:] = state.clock
        memory = self.memory
        if history is not None:
            memory.tables.h[:, :, : n + 1] = history
        beads = [memory.tables.bodies[:, BodyRows._fields.index(name), 1 : n + 1] for name in "uv"]
        attached = [
            np.s_[:, ElementRows._fields.index(name), state.chain.attached] for name in "uv"
        ]
        for bodies, where, initial in zip(beads, attached, (displacement, velocity), strict=True):
            bodies[:], memory.tables.elements[where] = initial[:, :n], initial[:, n:]
        steps = min(state.time_step.n_steps + 1, max(1, int(AT_ONCE / (count * n))))
        while (self.status == RUNNING).any() and not stopped():
            stack_of(state.loop)(
                0, count, steps, memory.tables, memory.clocks, memory.followed, memory.records,
                self.status, False,
            )  # fmt: skip
        self.displacement, self.velocity = (
            np.hstack([bodies, memory.tables.elements[where]])
            for bodies, where in zip(beads, attached, strict=True)
        )


@cache
def stack_of(loop: Callable) -> Callable:
    """Return a compiled loop over members that calls the compiled loop of one member."""

    def stack(first, last, steps, tables, clocks, followed, records, status, final):
        for m in range(first, last):
            if status[m] == RUNNING:
                clock = clocks[m]
                end = clock.n_steps + int(not final or clock.step == clock.n_steps)
                stop = min(clock.step + steps, end)
                status[m] = loop(
                    stop,
                    not final or stop != clock.n_steps,
                    tables_of(tables, m),
                    clock,
                    followed_of(followed, m),
                    records_of(records, m),
                )

    return compiled(stack)
