"""A period of a chain from many states at once: the map whose fixed points are periodic orbits, and
its Jacobian."""

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

# Displacement of a state for a column of the Jacobian, relative to the smallest static overlap.
# Smaller ones lose digits to rounding, larger ones add errors from the curvature of the law.
MOVED = 1e-4
# Number of recorded instants per period.
INSTANTS = 200
# History variables of contact onset only. They are not used at other steps.
OF_ONSET = ("onset_weight", "closed", "floored")
# History variable with the largest overlap, up to which the residual indentation is constant.
LIMIT = "elastic_limit"
# Overlap that no contact reaches [m].
BEYOND_DENT = 1.0
# Minimum number of consecutive periods with constant contact histories, and the number after which
# they are steady even if the chain is not periodic. Our choice.
QUIET, RESTLESS = 10, 500
# Maximum number of periods. Our choice: at a loss of 0.1 % per period, it is enough to reach
# rounding.
MOST_PERIODS = 40_000
# Relative growth per period below which a residual indentation is constant except for rounding.
SETTLED_GROWTH = 1e-12
# Relative tolerance of the contact histories of an orbit, which is accurate to 1e-8.
MEETS = 1e-7
# Relative tolerance of a steady state, its reduction from one attempt to the next, and the maximum
# number of attempts.
COMES, NEARER, MOST_TRIES = 1e-4, 1e-3, 5


@dataclass
class Course:
    """Record of a period.

    Parameters
    ----------
    excursion : (n,) array
        Largest displacement of each bead, then of each resonator [m].
    lowest, highest : (contacts,) array
        Smallest overlap of each contact minus its residual indentation [m], negative if it opens,
        and largest overlap [m].
    changed : (contacts,) bool array
        Whether the contact history changes during the period, except for onset variables.
    """

    excursion: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    changed: np.ndarray


class Runners:
    """Threads that run periods and report the number of completed runs.

    Parameters
    ----------
    threads : int, optional
        Number of threads. Default: the number of processors available to this process.
    report : callable, optional
        Function that is called with the number of completed runs and of expected runs.
    """

    def __init__(self, threads: int | None = None, report: Callable[[int, int], Any] | None = None):
        self.threads, self._report = threads or usable_processors(), report
        self._done = self._count = 0
        self.stopped = threading.Event()

    def expect(self, runs: int) -> None:
        """Set the expected number of runs."""
        self._count = runs

    def run(
        self, run: Callable[[np.ndarray], np.ndarray], states: np.ndarray, work: float
    ) -> list[np.ndarray]:
        """Run states in batches, and return their results; `work` is in body-steps."""
        self.stopped.clear()
        # the total is unknown, so never report that this is the last run
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
        """Count a run that was not expected."""
        self._count += 1
        self._ended(copies.displacement)
        return copies

    def close(self) -> None:
        """Report that all runs are completed."""
        if self._report is not None:
            self._report(self._done, self._done)


class Period:
    """Period of a case, from any states.

    States are scaled. They contain displacements, then velocities, of beads before resonators.

    Parameters
    ----------
    case : Case
        One period, in equal steps.
    scale : (2 n,) array
        Scales of displacements [m] and velocities [m/s].
    runners : Runners
    history : (n_history, n_contacts) array, optional
        Initial contact histories, with constant residual indentation. Default: histories at rest.
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
        """State that records what a course requires."""
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
        """Return the images of states after a period, (m, 2 n).

        Raises
        ------
        RunError
            If a run fails.
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
        """Return the image of a state, and the Jacobian there by central differences."""
        sides = moved * np.eye(state.size)
        ends = self.images(np.vstack([state[None], state + sides, state - sides]))
        above, below = ends[1 : 1 + state.size], ends[1 + state.size :]
        return ends[0], (above - below).T / (2.0 * moved)

    def course(self, state: np.ndarray) -> Course:
        """Run the period from a state and return its record."""
        memory = self._run(self._seen, (state * self.scale)[None], self._history).memory
        records, there = memory.records, self.chain.contacts
        moves = np.hstack([records.displacement[0], records.resonator_displacement[0]])
        highest = memory.tables.contacts[0, [field.name for field in CONTACT].index("reach"), there]
        # empty for a law without lasting history variables
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
        """Return the state and the contact histories after a period in which indentation can
        grow."""
        copies = self.runners.alone(self._run(self._bare, (state * self.scale)[None], history))
        image = np.hstack([copies.displacement, copies.velocity])[0] / self.scale
        return image, copies.memory.tables.h[0, :, : history.shape[1]].copy()

    def left_by(self, state: np.ndarray, history: np.ndarray) -> Start:
        """Return the complete final state of a run over one period from a state."""
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
    """Return the minimum of each column of samples, on the parabola through the three lowest."""
    at = np.clip(values.argmin(axis=0), 1, len(values) - 2)
    before, here, after = (values[at + k, np.arange(values.shape[1])] for k in (-1, 0, 1))
    bend, slope = before - 2.0 * here + after, 0.5 * (after - before)
    shift = np.divide(-slope, bend, out=np.zeros_like(bend), where=bend > 0.0)
    shift = np.clip(shift, -1.0, 1.0)
    found: np.ndarray = here + shift * (slope + 0.5 * bend * shift)
    return np.minimum(found, values.min(axis=0))


# --------------------------------------------------------------------------------------------------
# Contact histories, period after period, until they are steady


class Settled(NamedTuple):
    """State and contact histories of a chain at zero drive phase.

    Parameters
    ----------
    state : (2 n,) array
        Scaled state.
    history : (n_history, n_contacts) array
    periods : int
        Number of periods after which the history was constant.
    passed : int
        Total number of periods.
    grows : float
        Relative change of the history in the last period; 0 if it is steady.
    """

    state: np.ndarray
    history: np.ndarray
    periods: int = 0
    passed: int = 0
    grows: float = 0.0


def growth(before: np.ndarray, after: np.ndarray) -> float:
    """Return the largest relative change of numbers; infinite if a number was 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = np.abs(after - before) / np.abs(before)
    return float(parts[before != after].max(initial=0.0))


def settle(period: Period, begun: Settled, comes: float) -> Settled:
    """Run periods until contact histories, except for onset variables, are constant.

    Parameters
    ----------
    period : Period
    begun : Settled
        Initial state and histories.
    comes : float
        Largest relative change of the state between periods.

    Raises
    ------
    RunError
        If a run fails.
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
