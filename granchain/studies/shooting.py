"""A period of a chain from many states at once: the map of which a periodic orbit is a fixed
point, and its Jacobian."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from granchain.case import Case
from granchain.engine.stack import Copies
from granchain.engine.state import Recording, State
from granchain.errors import RunError
from granchain.portable import usable_processors
from granchain.simulation import prepare
from granchain.status import Status

# Part of the smallest static overlap by which a state is moved for a column of the Jacobian: with
# smaller ones rounding takes digits, with larger ones the curvature of the law.
MOVED = 1e-4
# Body-steps that a thread does at a time: .1 s at ten nanoseconds each, an interruption's delay.
AT_ONCE = 1e7
# Instants at which the trajectory is looked at.
INSTANTS = 200


@dataclass
class Course:
    """A period as it was passed through.

    Parameters
    ----------
    excursion : (n,) array
        Largest displacement of each bead [m].
    lowest : (contacts,) array
        Smallest overlap of each contact [m], below 0 where it opens.
    """

    excursion: np.ndarray
    lowest: np.ndarray


class Period:
    """A period of a case, from any states; these are scaled, displacements before velocities.

    Parameters
    ----------
    case : Case
        The period, in equal steps.
    scale : (2 n,) array
        [m], [m/s].
    threads : int, optional
        As many as there are processors for this process, unless given.
    """

    def __init__(self, case: Case, scale: np.ndarray, threads: int | None = None):
        self.chain, self.contacts, step = prepare(case)
        self.scale, self.step, self.beads = scale, step, self.chain.n_bodies
        self.threads = threads or usable_processors()
        length = step.n_steps * step.value
        bare = Recording(interval=length, energy_interval=length)
        self._bare = State(self.contacts, self.chain, step, bare)

    @cached_property
    def _seen(self) -> State:
        """The period with what a course is read from."""
        step = self.step
        labels = self.chain.contact_labels[self.chain.contacts].tolist()
        every = step.value * max(1, step.n_steps // INSTANTS)
        seen = Recording(
            (), tuple(labels), every, every, energy_interval=self._bare.recording.interval
        )
        return State(self.contacts, self.chain, step, seen)

    def images(self, states: np.ndarray) -> np.ndarray:
        """(m, 2 n) What becomes of (m, 2 n) states in a period.

        Raises
        ------
        RunError
            Where one of the runs fails.
        """
        work = len(states) * self.step.n_steps * self.beads
        least = self.threads if work > AT_ONCE else 1
        pieces = min(len(states), max(least, math.ceil(work / AT_ONCE)))
        parts = np.array_split(states * self.scale, pieces)
        if least == 1:
            ends = [self._ends(part) for part in parts]
        else:
            with ThreadPoolExecutor(least, "granchain") as pool:
                futures = [pool.submit(self._ends, part) for part in parts]
                try:
                    ends = [future.result() for future in futures]
                except BaseException:
                    pool.shutdown(cancel_futures=True)
                    raise
        return np.vstack(ends) / self.scale

    def _ends(self, states: np.ndarray) -> np.ndarray:
        copies = self._run(self._bare, states)
        return np.hstack([copies.displacement, copies.velocity])

    def _run(self, state: State, states: np.ndarray) -> Copies:
        copies = Copies(state, states[:, : self.beads], states[:, self.beads :])
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
        records = self._run(self._seen, (state * self.scale)[None]).memory.records
        excursion = np.abs(records.displacement[0]).max(axis=0)
        return Course(excursion, least_overlaps(records.contact_overlap[0]))


def least_overlaps(values: np.ndarray) -> np.ndarray:
    """Smallest of each column of samples, on the parabola through the three lowest."""
    at = np.clip(values.argmin(axis=0), 1, len(values) - 2)
    before, here, after = (values[at + k, np.arange(values.shape[1])] for k in (-1, 0, 1))
    bend, slope = before - 2.0 * here + after, 0.5 * (after - before)
    shift = np.divide(-slope, bend, out=np.zeros_like(bend), where=bend > 0.0)
    shift = np.clip(shift, -1.0, 1.0)
    found: np.ndarray = here + shift * (slope + 0.5 * bend * shift)
    return np.minimum(found, values.min(axis=0))
