"""Images of states: the states of a chain after a time, from many initial states at once.

All images are bit-identical to individual runs. States contain displacements [m], then velocities
[m/s], of beads before attached
masses.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from granchain.case import Case
from granchain.case.start import state_of_run, text_of_state
from granchain.chain import Start
from granchain.engine.batch import AT_ONCE, Copies
from granchain.engine.fields import CONTACT
from granchain.engine.recording import Recording
from granchain.engine.state import State
from granchain.errors import RunError
from granchain.keys import Problems, check_integer
from granchain.portable import usable_processors
from granchain.progress import no_report
from granchain.simulation import MOST_THREADS, prepare, residual_overlaps, run_to_end
from granchain.status import Status
from granchain.store import Result
from granchain.waves.dispersion import static_slopes

# Number of recorded instants of a run.
INSTANTS = 200
# History variables of contact onset only. They are not used at other steps.
OF_ONSET = ("onset_weight", "closed", "floored")
# History variable with the largest overlap, up to which the residual indentation is constant.
LARGEST_OVERLAP_NAME = "elastic_limit"
# Overlap that no contact reaches [m].
BEYOND_DENT = 1.0


class Runners:
    """Threads that run batches of states and report the number of completed runs.

    Parameters
    ----------
    threads : int, optional
        Number of threads. Default: the number of processors available to this process.
    report : callable, optional
        Function that is called with the number of completed runs and of expected runs.

    Raises
    ------
    CaseError
        If the number of threads is not valid.

    Examples
    --------
    >>> Runners(2).threads
    2
    """

    def __init__(self, threads: int | None = None, report: Callable[[int, int], Any] = no_report):
        if threads is not None:
            problems = Problems()
            check_integer("threads", threads, problems, "leave it out", most=MOST_THREADS)
            problems.close()
        self.threads, self._report = threads or usable_processors(), report
        self._done = self._count = 0
        self.stopped = threading.Event()

    def expect(self, runs: int) -> None:
        """Set the expected number of runs."""
        self._count = runs

    def run(
        self, run: Callable[[np.ndarray], np.ndarray], states: np.ndarray, work: float
    ) -> np.ndarray:
        """Run states in batches, and return their results; `work` is in body-steps."""
        self.stopped.clear()
        # the total is unknown, so never report that this is the last run
        self._count = max(self._count, self._done + 2 * len(states))
        threads = self.threads if work > AT_ONCE else 1
        batches = np.array_split(states, min(len(states), max(threads, math.ceil(work / AT_ONCE))))
        if threads == 1:
            return np.vstack([self.ended(run(batch)) for batch in batches])
        with ThreadPoolExecutor(threads, "granchain") as pool:
            try:
                return np.vstack([self.ended(ends) for ends in pool.map(run, batches)])
            except BaseException:
                self.stopped.set()
                pool.shutdown(cancel_futures=True)
                raise

    def ended(self, ends: np.ndarray, unexpected: int = 0) -> np.ndarray:
        """Count completed runs, including unexpected ones, and return their results."""
        self._done, self._count = self._done + len(ends), self._count + unexpected
        self._report(self._done, self._count)
        return ends

    def close(self) -> None:
        """Report that all runs are completed."""
        self._report(self._done, self._done)


class Course(NamedTuple):
    """Record of a run.

    Parameters
    ----------
    excursion : (n_bodies,) array
        Largest displacement of each body [m].
    lowest, highest : (n_contacts,) array
        Smallest overlap of each contact minus its residual indentation [m], negative if it opens,
        and largest overlap [m].
    changed : (n_contacts,) bool array
        Whether the contact history changes during the run, except for onset variables.
    """

    excursion: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    changed: np.ndarray


class Images:
    """Chain of a case after its time, from any initial states.

    Parameters
    ----------
    case : Case
        Case of the run. Its initial conditions are replaced.
    runners : Runners
    history : (n_history, n_contacts + ends) array, optional
        Initial contact histories, with constant residual indentation. Default: histories at rest.

    Attributes
    ----------
    time_step : TimeStep
        Length [s], number, and upper limit of the time steps.
    bodies : int
        Number of beads and attached masses.
    bead, contact : (n_beads,) and (n_contacts,) array
        Labels of the beads and of the contacts.
    contacts : slice
        Positions of the contacts in a history.
    mass : (n_bodies,) array
        Masses [kg].
    overlaps : (n_contacts,) array
        Static overlaps [m].
    quantities : tuple of Quantity
        History variables of the law.
    lasting : list of int
        Indices of the history variables that are used after contact onset.
    limit : int or None
        Index of the history variable up to which the residual indentation is constant.
    history_at_rest : (n_history, n_contacts + ends) array
        Contact histories at rest.

    Raises
    ------
    CaseError, LawError
        If the case cannot be run.

    Examples
    --------
    >>> import granchain as gc
    >>> chain = {"beads": 1, "radius": 2.38e-3, "material": "steel-316", "precompression": 20.0}
    >>> ends = {"left": "wall", "right": "wall"}
    >>> case = gc.Case(chain=chain, contact={"law": "hertz"}, ends=ends, time={"end": 1e-5})
    >>> Images(case, Runners(1)).after(np.zeros((3, 2))).shape
    (3, 2)
    """

    def __init__(self, case: Case, runners: Runners, history: np.ndarray | None = None):
        self.case, self.runners, self.history = case, runners, history
        self._chain, self._contacts, self.time_step = prepare(case)
        chain, self.quantities = self._chain, self._contacts.model.history
        elements, rows = chain.elements, chain.stretches()
        self.mass = np.concatenate([chain.mass, elements.mass[chain.attached]])
        self._stiffness, self._damping = (
            rows.T @ (each[:, None] * rows) for each in (elements.stiffness, elements.damping)
        )
        self.bodies, self.contacts = self.mass.size, chain.contacts
        self.bead, self.contact = chain.body_labels, chain.contact_labels[chain.contacts]
        self.overlaps = self._contacts.overlaps[self.contacts]
        names = [quantity.name for quantity in self.quantities]
        self.lasting = [index for index, name in enumerate(names) if name not in OF_ONSET]
        self.limit = names.index(LARGEST_OVERLAP_NAME) if LARGEST_OVERLAP_NAME in names else None
        self.history_at_rest = self._contacts.history[:, :-1]
        self._constant = history
        if history is not None and self.limit is not None:
            self._constant = history.copy()
            self._constant[self.limit] = BEYOND_DENT

    @cached_property
    def _bare(self) -> State:
        """State that records nothing."""
        length = self.time_step.n_steps * self.time_step.value
        recording = Recording(interval=length, energy_interval=length)
        return State(self._contacts, self._chain, self.time_step, recording)

    @cached_property
    def _seen(self) -> State:
        """State that records what a course requires."""
        every = self.time_step.value * max(1, self.time_step.n_steps // INSTANTS)
        seen = Recording(
            (),
            tuple(self.contact.tolist()),
            every,
            every,
            energy_interval=self._bare.recording.interval,
            snapshot_history=bool(self.lasting),
        )
        return State(self._contacts, self._chain, self.time_step, seen)

    def _run(self, state: State, states: np.ndarray, history: np.ndarray | None) -> Copies:
        """Run copies of the chain from states, or raise the error of the first failure."""
        copies = Copies(
            state, states[:, : self.bodies], states[:, self.bodies :], history,
            self.runners.stopped.is_set,
        )  # fmt: skip
        for status in copies.status.tolist():
            if status != Status.COMPLETE:
                raise RunError(Status(status).sentence)
        return copies

    def after(self, states: np.ndarray) -> np.ndarray:
        """Return the images of states, computed in batches on threads.

        Parameters
        ----------
        states : (m, 2 n_bodies) array
            Displacements [m], then velocities [m/s].

        Returns
        -------
        (m, 2 n_bodies) array
            Displacements [m], then velocities [m/s], after the time of the case.

        Raises
        ------
        RunError
            If a run fails.
        """

        def ends(batch: np.ndarray) -> np.ndarray:
            copies = self._run(self._bare, batch, self._constant)
            return np.hstack([copies.displacement, copies.velocity])

        work = len(states) * self.time_step.n_steps * self.bodies
        return self.runners.run(ends, states, work)

    def after_with_history(
        self, state: np.ndarray, history: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the image of a state, and its contact histories, whose indentation can grow.

        Parameters
        ----------
        state : (2 n_bodies,) array
            Displacements [m], then velocities [m/s].
        history : (n_history, n_contacts + ends) array
            Initial contact histories.

        Raises
        ------
        RunError
            If the run fails.
        """
        copies = self._run(self._bare, state[None], history)
        self.runners.ended(copies.displacement, unexpected=1)
        image = np.hstack([copies.displacement, copies.velocity])[0]
        return image, copies.memory.tables.h[0, :, : history.shape[1]].copy()

    def course(self, state: np.ndarray) -> Course:
        """Run from a state and return the record.

        Raises
        ------
        RunError
            If the run fails.
        """
        memory = self._run(self._seen, state[None], self._constant).memory
        records, contacts = memory.records, self.contacts
        moves = np.hstack([records.displacement[0], records.attached_displacement[0]])
        largest = [field.name for field in CONTACT].index("largest_overlap")
        # empty for a law without lasting history variables
        rows = records.snapshot_history[0][:, self.lasting, contacts]
        history = self._contacts.history if self._constant is None else self._constant
        residual = residual_overlaps(self._contacts.model, history[:, contacts])
        return Course(
            np.abs(moves).max(axis=0),
            least_overlaps(records.contact_overlap[0]) - residual,
            memory.tables.contacts[0, largest, contacts].copy(),
            (rows != rows[:1]).any(axis=(0, 1)),
        )

    def trajectory(self, state: np.ndarray) -> Result:
        """Run from a state and return the result, with all records.

        With attached masses or contact histories, the case is run once before, and the run with
        records starts from the complete final state.

        Raises
        ------
        CaseError, RunError
            If the run is not possible, or fails.
        """
        end, steps, values = self.case.time.end, self.time_step.n_steps, state.tolist()
        every = end * max(1, steps // INSTANTS) / steps
        initial: dict[str, Any] = {
            "displacement": values[: self.bodies], "velocity": values[self.bodies :]
        }  # fmt: skip
        if self.history is not None or self._chain.n_attached:
            final = state_of_run(self.case, self._final(state), self.time_step.value)
            initial = {"state": text_of_state(final)}
        recorded = {
            "initial": initial,
            "snapshots": {"interval": every},
            "sensors": {"beads": "all", "contacts": "all", "interval": every},
            "energy": dict(self.case.energy) | {"ledger": True, "interval": every},
        }
        return run_to_end(self.case.replace(**recorded))

    def _final(self, state: np.ndarray) -> Start:
        """Return the complete final state of a run from a state."""
        (u, v), n = state.reshape(2, -1), self._chain.n_bodies
        rows, contacts = np.stack([u, 0.0 * u, 0.0 * u, v]), np.zeros((6, n + 1))
        contacts[-1] = -math.inf
        history = self.history_at_rest if self.history is None else self.history
        start = Start(
            rows[:, :n], np.zeros(n + 1), contacts, history, np.zeros(0, np.int64),
            np.zeros((4, 0)), np.zeros(1), 0, rows[:, n:],
        )  # fmt: skip
        chain, recording = replace(self._chain, start=start), self._bare.recording
        run = State(self._contacts, chain, self.time_step, replace(recording, final=True))
        status = run.advance(self.time_step.n_steps + 1)
        if run.final is None:
            raise RunError(status.sentence)
        return run.final

    # ---------------------------------------------------------------------------------------------
    # Properties of the chain at rest

    @property
    def initial(self) -> np.ndarray:
        """State in which the case starts, (2 n_bodies,) [m], [m/s]."""
        chain, elements, attached = self._chain, self._chain.elements, self._chain.attached
        return np.concatenate(
            [chain.displacement, elements.u[attached], chain.velocity, elements.v[attached]]
        )

    @cached_property
    def losses(self) -> dict[str, bool]:
        """True if small oscillations lose energy in dashpots or contacts.

        Raises
        ------
        CaseError
            If a contact is open at rest.
        """
        chain, contacts = self._chain, range(self.contacts.start, self.contacts.stop)
        damping = static_slopes(self._contacts, contacts, float(chain.mass.min()))[1]
        return {"damping of the beads": bool(self._damping.any()), "contacts": bool(damping.any())}

    @property
    def decays_evenly(self) -> bool:
        """True if all small oscillations decay at one rate: damping is proportional to mass."""
        rates = self._damping / self.mass
        uniform = np.allclose(rates, rates[0, 0] * np.eye(self.bodies), rtol=1e-9, atol=0.0)
        return uniform and not self.losses["contacts"]

    @property
    def translates(self) -> bool:
        """True if nothing keeps the chain in place."""
        chain = self._chain
        return not (chain.left.has_wall or chain.right.has_wall or chain.on_site_stiffness.any())

    @property
    def mirrored(self) -> np.ndarray:
        """Index of the body at the mirror image of each body, (n_bodies,)."""
        riding = np.argsort(-self._chain.elements.body[self._chain.attached], kind="stable")
        beads = np.arange(self._chain.n_bodies)
        return np.append(beads[::-1], beads.size + riding)

    # ---------------------------------------------------------------------------------------------
    # Energy of a conservative chain, in closed form

    @cached_property
    def _laws(self) -> list[tuple[tuple, tuple]]:
        """Coefficients and history of each contact."""
        rows = self._contacts.c, self._contacts.history
        columns = (map(tuple, values.T[self.contacts].tolist()) for values in rows)
        return list(zip(*columns, strict=True))

    def _overlaps(self, displacement: np.ndarray) -> list[float]:
        """Return the overlaps of the contacts [m]."""
        start, n = self._contacts.overlaps.copy(), self._chain.n_bodies
        start[1:n] -= self._chain.gap
        stretch = np.diff(displacement[:n], prepend=0.0, append=0.0)
        overlaps: list[float] = (start[: n + 1] - stretch)[self.contacts].tolist()
        return overlaps

    @cached_property
    def _loads(self) -> np.ndarray:
        """(n_bodies,) Constant force on each body [N]."""
        return np.pad(self._chain.loads, (0, self._chain.n_attached))

    def _energy(self, state: np.ndarray) -> float:
        """Return the energy of motion, elements, and contacts minus the work of the loads [J]."""
        energy, (u, v) = self._contacts.model.functions.energy, state.reshape(2, -1)
        overlaps = self._overlaps(u)
        contacts = [energy(d, c, h) for d, (c, h) in zip(overlaps, self._laws, strict=True)]
        moving = self.mass @ v**2 + u @ self._stiffness @ u
        return float(0.5 * moving + math.fsum(contacts) - self._loads @ u)

    @cached_property
    def _energy_at_rest(self) -> float:
        """Energy of the static state [J]."""
        return self._energy(np.zeros(2 * self.bodies))

    def energy(self, state: np.ndarray) -> float:
        """Return the energy of a state above the static state [J]."""
        return self._energy(state) - self._energy_at_rest

    def forces(self, displacement: np.ndarray) -> np.ndarray:
        """Return the force on each body at rest at given displacements, (n_bodies,) [N]."""
        law, n = self._contacts.model.functions.force, self._chain.n_bodies
        contact = np.zeros(n + 1)
        contact[self.contacts] = [
            law(d, 0.0, c, h)
            for d, (c, h) in zip(self._overlaps(displacement), self._laws, strict=True)
        ]
        force: np.ndarray = self._loads - self._stiffness @ displacement
        force[:n] += contact[:-1] - contact[1:]
        return force


def least_overlaps(values: np.ndarray) -> np.ndarray:
    """Return the minimum of each column of samples, on the parabola through the three lowest."""
    at = np.clip(values.argmin(axis=0), 1, len(values) - 2)
    before, here, after = (values[at + k, np.arange(values.shape[1])] for k in (-1, 0, 1))
    bend, slope = before - 2.0 * here + after, 0.5 * (after - before)
    shift = np.divide(-slope, bend, out=np.zeros_like(bend), where=bend > 0.0)
    shift = np.clip(shift, -1.0, 1.0)
    lowest: np.ndarray = here + shift * (slope + 0.5 * bend * shift)
    return np.minimum(lowest, values.min(axis=0))
