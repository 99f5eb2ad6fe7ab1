"""A period of a chain from many states at once: the map of which a periodic orbit is a fixed
point, and its Jacobian."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from granchain.case import Case
from granchain.chain import Start
from granchain.chain_end import residual_overlaps
from granchain.engine.fields import CONTACT
from granchain.engine.stack import AT_ONCE, Copies
from granchain.engine.state import Recording, State
from granchain.errors import RunError
from granchain.portable import usable_processors
from granchain.simulation import prepare
from granchain.status import Status
from granchain.studies.members import as_they_end

# Part of the smallest static overlap by which a state is moved for a column of the Jacobian: with
# smaller ones rounding takes digits, with larger ones the curvature of the law.
MOVED = 1e-4
# Instants at which the trajectory is looked at.
INSTANTS = 200
# What a contact remembers of its onset alone: at another step it says nothing.
OF_ONSET = ("onset_weight", "closed", "floored")
# How far a contact has been loaded: up to there its dent stays as it is.
LIMIT = "elastic_limit"
# An overlap to which none comes [m].
BEYOND_DENT = 1.0
# Periods in a row in which nothing changes that contacts remember, at least; and those after which
# it is settled though the chain does not come again. Ours.
QUIET, RESTLESS = 10, 500
# Periods that are waited for. Ours: a chain that loses a thousandth a period is down to rounding.
MOST_PERIODS = 40_000
# A dent that grows in a period by less than this part of itself is no larger: rounding.
SETTLED_GROWTH = 1e-12
# Part of what a contact remembers by which an orbit may differ, which is found to 1e-8.
MEETS = 1e-7
# How nearly the chain comes again when it has settled, as a part of its state; from one try to the
# next, and how many there are.
COMES, NEARER, MOST_TRIES = 1e-4, 1e-3, 5


@dataclass
class Course:
    """A period as it was passed through.

    Parameters
    ----------
    excursion : (n,) array
        Largest displacement of each bead, then of each resonator [m].
    lowest, highest : (contacts,) array
        Smallest overlap of each contact over the residual one of its dent [m], below 0 where it
        opens; and the largest, without that.
    changed : (contacts,) bool array
        Whether what the contact remembers, but of its onset, is another one in between.
    """

    excursion: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    changed: np.ndarray


class Runners:
    """Threads that run periods, and report how many runs are done.

    Parameters
    ----------
    threads : int, optional
        As many as there are processors for this process, unless given.
    told : callable, optional
        Called with how many runs are done, and how many are expected.
    """

    def __init__(self, threads: int | None = None, report: Callable[[int, int], Any] | None = None):
        self.threads, self._report = threads or usable_processors(), report
        self._done = self._count = 0
        self.stopped = threading.Event()

    def expect(self, runs: int) -> None:
        """Say how many runs there will be."""
        self._count = runs

    def run(
        self, run: Callable[[np.ndarray], np.ndarray], states: np.ndarray, work: float
    ) -> list[np.ndarray]:
        """What a run leaves of states, which are so many body-steps, in pieces."""
        self.stopped.clear()
        # the last of an unknown number of runs is not known to be it
        self._count = max(self._count, self._done + 2 * len(states))
        least = self.threads if work > AT_ONCE else 1
        batches = np.array_split(states, min(len(states), max(least, math.ceil(work / AT_ONCE))))
        if least == 1:
            return [self._ended(run(batch)) for batch in batches]
        ends: dict[int, np.ndarray] = {}

        def collect(future: Future, place: int) -> tuple[()]:
            ends[place] = self._ended(future.result())
            return ()

        with ThreadPoolExecutor(least, "granchain") as pool:
            try:
                as_they_end(
                    lambda at: pool.submit(run, batches[at]), range(len(batches)), collect, {}
                )
            except BaseException:
                self.stopped.set()
                pool.shutdown(cancel_futures=True)
                raise
        return [ends[place] for place in range(len(batches))]

    def _ended(self, ends: np.ndarray) -> np.ndarray:
        self._done += len(ends)
        if self._report is not None:
            self._report(self._done, self._count)
        return ends

    def alone(self, copies: Copies) -> Copies:
        """A run that nobody has expected."""
        self._count += 1
        self._ended(copies.displacement)
        return copies

    def close(self) -> None:
        """Say that there are no more."""
        if self._report is not None:
            self._report(self._done, self._done)


class Period:
    """A period of a case, from any states; these are scaled, displacements before velocities, of
    beads before resonators.

    Parameters
    ----------
    case : Case
        The period, in equal steps.
    scale : (2 n,) array
        [m], [m/s].
    runners : Runners
    history : (n_history, n_contacts) array, optional
        What contacts remember at the start, with dents that stay as they are; without, what they
        do at rest.
    """

    def __init__(
        self,
        case: Case,
        scale: np.ndarray,
        runners: Runners,
        history: np.ndarray | None = None,
    ):
        self.chain, self.contacts, step = prepare(case)
        self.scale, self.step, self.bodies = scale, step, len(scale) // 2
        self.runners, self._history = runners, history
        self.contact_labels = self.chain.contact_labels[self.chain.contacts]
        names = [quantity.name for quantity in self.contacts.model.history]
        self.lasting = [place for place, name in enumerate(names) if name not in OF_ONSET]
        self.limit = names.index(LIMIT) if LIMIT in names else None
        if history is not None and self.limit is not None:
            self._history = history.copy()
            self._history[self.limit] = BEYOND_DENT
        length = step.n_steps * step.value
        bare = Recording(interval=length, energy_interval=length)
        self._bare = State(self.contacts, self.chain, step, bare)

    @cached_property
    def _seen(self) -> State:
        """The period with what a course is read from."""
        step = self.step
        every = step.value * max(1, step.n_steps // INSTANTS)
        seen = Recording(
            (),
            tuple(self.contact_labels.tolist()),
            every,
            every,
            energy_interval=self._bare.recording.interval,
            snapshot_history=bool(self.lasting),
        )
        return State(self.contacts, self.chain, step, seen)

    def images(self, states: np.ndarray) -> np.ndarray:
        """(m, 2 n) What becomes of (m, 2 n) states in a period.

        Raises
        ------
        RunError
            Where one of the runs fails.
        """
        work = len(states) * self.step.n_steps * self.bodies
        return np.vstack(self.runners.run(self._ends, states * self.scale, work)) / self.scale

    def _ends(self, states: np.ndarray) -> np.ndarray:
        copies = self._run(self._bare, states, self._history)
        return np.hstack([copies.displacement, copies.velocity])

    def _run(self, state: State, states: np.ndarray, history: np.ndarray | None) -> Copies:
        copies = Copies(
            state, states[:, : self.bodies], states[:, self.bodies :], history,
            self.runners.stopped.is_set,
        )  # fmt: skip
        for status in copies.status.tolist():
            if status != Status.COMPLETE:
                raise RunError(Status(status).sentence)
        return copies

    def with_jacobian(
        self, state: np.ndarray, moved: float = MOVED
    ) -> tuple[np.ndarray, np.ndarray]:
        """Image of a state, and the Jacobian there by central differences."""
        sides = moved * np.eye(state.size)
        ends = self.images(np.vstack([state[None], state + sides, state - sides]))
        above, below = ends[1 : 1 + state.size], ends[1 + state.size :]
        return ends[0], (above - below).T / (2.0 * moved)

    def course(self, state: np.ndarray) -> Course:
        """How the period is passed through from a state."""
        memory = self._run(self._seen, (state * self.scale)[None], self._history).memory
        records, there = memory.records, self.chain.contacts
        moves = np.hstack([records.displacement[0], records.resonator_displacement[0]])
        highest = memory.tables.contacts[0, [field.name for field in CONTACT].index("reach"), there]
        # of a law that remembers nothing else there are no rows
        rows = records.snapshot_history[0][:, self.lasting, there]
        held = self.contacts.history if self._history is None else self._history
        residual = residual_overlaps(self.contacts.model, held[:, there])
        return Course(
            np.abs(moves).max(axis=0),
            least_overlaps(records.contact_overlap[0]) - residual,
            highest.copy(),
            (rows != rows[:1]).any(axis=(0, 1)),
        )

    def passed(self, state: np.ndarray, history: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What becomes of a state, and of what contacts remember, in a period in which dents
        grow."""
        copies = self.runners.alone(self._run(self._bare, (state * self.scale)[None], history))
        image = np.hstack([copies.displacement, copies.velocity])[0] / self.scale
        return image, copies.memory.tables.h[0, :, : history.shape[1]].copy()

    def left_by(self, state: np.ndarray, history: np.ndarray) -> Start:
        """What a run leaves that has begun with a state a period before."""
        (u, v), n = (state * self.scale).reshape(2, -1), self.chain.n_bodies
        rows, contacts = np.stack([u, 0.0 * u, 0.0 * u, v]), np.zeros((6, n + 1))
        contacts[-1] = -math.inf
        start = Start(
            rows[:, :n], np.zeros(n + 1), contacts, history, np.zeros(0, np.int64),
            np.zeros((4, 0)), np.zeros(1), 0, rows[:, n:],
        )  # fmt: skip
        recording = replace(self._bare.recording, final=True)
        run = State(self.contacts, replace(self.chain, start=start), self.step, recording)
        status = run.advance(self.step.n_steps + 1)
        if run.final is None:
            raise RunError(status.sentence)
        return run.final


def least_overlaps(values: np.ndarray) -> np.ndarray:
    """Smallest of each column of samples, on the parabola through the three lowest."""
    at = np.clip(values.argmin(axis=0), 1, len(values) - 2)
    before, here, after = (values[at + k, np.arange(values.shape[1])] for k in (-1, 0, 1))
    bend, slope = before - 2.0 * here + after, 0.5 * (after - before)
    shift = np.divide(-slope, bend, out=np.zeros_like(bend), where=bend > 0.0)
    shift = np.clip(shift, -1.0, 1.0)
    found: np.ndarray = here + shift * (slope + 0.5 * bend * shift)
    return np.minimum(found, values.min(axis=0))


# --------------------------------------------------------------------------------------------------
# What contacts remember, period after period, until it stands still


class Settled(NamedTuple):
    """A chain and what its contacts remember, at the drive's phase 0.

    Parameters
    ----------
    state : (2 n,) array
        Scaled.
    history : (n_history, n_contacts) array
    periods : int
        After which the history has stood still.
    passed : int
        All periods that it was run.
    grows : float
        Part of itself by which the history still changes in a period; 0 where it has settled.
    """

    state: np.ndarray
    history: np.ndarray
    periods: int = 0
    passed: int = 0
    grows: float = 0.0


def growth(before: np.ndarray, after: np.ndarray) -> float:
    """Largest change of numbers, as a part of them; of one that was 0, infinite."""
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = np.abs(after - before) / np.abs(before)
    return float(parts[before != after].max(initial=0.0))


def settle(period: Period, begun: Settled, comes: float) -> Settled:
    """Run period after period until what contacts remember, but of their onset, stands still.

    Parameters
    ----------
    period : Period
    begun : Settled
        From where.
    comes : float
        Part of the state by which it may still differ from one period to the next.

    Raises
    ------
    RunError
        Where a run fails.
    """
    state, history, periods, passed, _ = begun
    if not (rows := period.lasting):
        return begun._replace(history=period.passed(state, history)[1])
    grows, quiet = 0.0, 0
    for _ in range(MOST_PERIODS):
        image, after = period.passed(state, history)
        grows, passed = growth(history[rows], after[rows]), passed + 1
        quiet = quiet + 1 if grows <= SETTLED_GROWTH else 0
        periods = periods if quiet else passed
        again = np.abs(image - state).max() <= comes * np.abs(image).max()
        state, history = image, after
        if quiet >= RESTLESS or (again and quiet >= QUIET):
            return Settled(state, history, periods, passed)
    return Settled(state, history, periods, passed, max(grows, SETTLED_GROWTH))
