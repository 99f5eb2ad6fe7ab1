"""Simulation of a case, from the chain and its contacts to the result."""

from __future__ import annotations

import functools
import math
import os
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np

from granchain.case import Case, check_case
from granchain.case.start import begun, differences_of, new_walls, same_of
from granchain.chain import Chain, End, Start
from granchain.chain_end import Ended, ended
from granchain.contact.law_record import LawRecord
from granchain.engine.drives import drive_at
from granchain.engine.setup import Contacts, record_of
from granchain.engine.state import Recording, State, drive_of
from granchain.engine.tiles import Bands
from granchain.engine.timestep import FAST, Planned, TimeStep, time_steps_together
from granchain.errors import CaseError, FileError, GranchainWarning, LawError, RunError
from granchain.jit.cache import compiling
from granchain.keys import Problems, check_integer
from granchain.set_up import contacts_of_cases
from granchain.status import Status
from granchain.store import Checkpoint, Result
from granchain.store.checkpoint import Saved

# Maximum wall time of a block of steps [s]: the delay of an interruption.
BLOCK_SECONDS = 0.02
# The same for a long chain [s], for several bands of steps. An interruption still takes effect
# within half a second, even on a busy machine.
TILED_SECONDS = 0.2
# Minimum number of steps between two inspections of the state.
INSPECTED = 256
# Upper limit on threads (our choice): more than any machine has processors.
MOST_THREADS = 4096
# Body-steps of the first block, before the wall time of a step is known: a few milliseconds at tens
# of nanoseconds each.
FIRST_BLOCK = 100_000
FAST_DRIVE = (
    'time.step: "fast" is inaccurate for a harmonic drive near a resonance. The step raises each '
    "resonance frequency by the fraction (omega dt)^2/24, which changes amplitudes near a "
    'resonance by up to a fifth. Use "auto"'
)

# Upper limit on usual radii [m]: our choice; beads in laboratories have millimetres to centimetres.
LARGE_RADIUS = 0.5

P = ParamSpec("P")
R = TypeVar("R")


# Whether the current call has already reported a harmonic drive with the step "fast".
_FAST_REPORTED: ContextVar[bool] = ContextVar("fast drive reported", default=False)


def warn_of_fast_drives(cases: Iterable[Any], stacklevel: int = 2) -> None:
    """Warn once if a case has a harmonic drive and the time step "fast".

    Parameters
    ----------
    cases : iterable of Case
        Cases; other objects are ignored.
    stacklevel : int
        Argument of `warnings.warn`, counted from the caller.
    """
    if not _FAST_REPORTED.get() and any(
        isinstance(case, Case)
        and case.time.step == "fast"
        and any(end.signal == "harmonic" for end in case.drives.values())
        for case in cases
    ):
        warnings.warn(FAST_DRIVE, GranchainWarning, stacklevel=stacklevel + 1)


def warn_of_large_radii(case: Case, stacklevel: int = 2) -> None:
    """Warn if a body has a radius above `LARGE_RADIUS`.

    The radius is then probably in millimetres.
    """
    largest = float(np.max(case.bodies()["radius"], initial=0.0))
    if largest > LARGE_RADIUS:
        warnings.warn(
            f"radius: the largest radius is {largest:.4g} m, above {LARGE_RADIUS:g} m. Lengths are "
            "in metres, so forces, times, and speeds are wrong if the radius is in millimetres. "
            "Check the radii of the beads and the striker",
            GranchainWarning,
            stacklevel=stacklevel + 1,
        )


def warns_of_fast_drives(call: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function so that it warns once of harmonic drives with a "fast" step.

    The first argument of the function is a case or a list of cases. Functions that it calls do not
    warn again.
    """

    @functools.wraps(call)
    def warning(*args: P.args, **kwargs: P.kwargs) -> R:
        first = args[0] if args else None
        for name in ("case", "cases"):
            first = kwargs.get(name, first)
        cases = first if isinstance(first, (list, tuple)) else [first]
        warn_of_fast_drives(cases)
        token = _FAST_REPORTED.set(True)
        try:
            return call(*args, **kwargs)
        finally:
            _FAST_REPORTED.reset(token)

    return warning


class Watch(Protocol):
    """Observer of a run."""

    def advance(self, fraction: float) -> None:
        """Receive the completed fraction of the run, 0 to 1.

        If this method raises KeyboardInterrupt, the run ends.
        """

    def resume(self, fraction: float) -> None:
        """Receive the completed fraction at the checkpoint from which the run resumes."""


@warns_of_fast_drives
def run(
    case: Case,
    *,
    watch: Watch | None = None,
    checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    resume: bool = False,
    threads: int = 1,
) -> Result:
    """Run a case and return its result.

    Parameters
    ----------
    case : Case
        The case, for example from `load_case`.
    watch : object, optional
        Object whose method `advance(fraction)` is called between blocks of steps with the completed
        fraction. The optional methods `begin(size)`, called before the first step with the number
        of recorded bytes, and `resume(fraction)`, called when a run resumes, are also used.
    checkpoint : Checkpoint or path, optional
        Checkpoint file, written every 30 s and when the run is interrupted. It is not removed at
        the end of the run.
    resume : bool
        Resume the run from the checkpoint. The result is bit-identical to an uninterrupted run.
    threads : int
        Number of threads for a chain of more than about 10,000 beads. Does not affect the result.

    Returns
    -------
    Result
        Result in memory. Only checkpoints are written to disk.

    Raises
    ------
    CaseError, LawError
        If the case cannot be run.
    RunError
        If the run fails because it is unstable, has values that are not finite, leaves the range of
        the law, or exceeds the bound of the energy balance. `result` contains the data until then.
    FileError
        If the checkpoint is missing or belongs to a different run.

    Examples
    --------
    >>> import granchain as gc
    >>> result = gc.run(gc.load_case("steel-chain-hertz").replace(**{"time.end": 2e-5}))
    >>> result.status.label
    'complete'
    """
    started, clock = datetime.now(UTC), time.perf_counter() - compiling.seconds
    check_case(case)
    problems = Problems()
    if not check_integer("threads", threads, problems, "leave it out", most=MOST_THREADS):
        raise CaseError(problems.sentences)
    warn_of_large_radii(case, 3)
    return _advanced(case, started, clock, watch, checkpoint, resume, threads)


def run_to_end(case: Case) -> Result:
    """Run a case for another function of the package, and return its complete result.

    Unlike `run`, it doesn't catch an interruption: the caller must not continue with a result
    that was stopped, or lose a Ctrl-C that arrived with the last step.

    Raises
    ------
    CaseError, LawError, RunError
        As `run`.
    KeyboardInterrupt
        If the run is interrupted.
    """
    started, clock = datetime.now(UTC), time.perf_counter() - compiling.seconds
    check_case(case)
    return _advanced(case, started, clock, interruptible=False)


def _advanced(
    case: Case,
    started: datetime,
    clock: float,
    watch: Watch | None = None,
    checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    resume: bool = False,
    threads: int = 1,
    interruptible: bool = True,
) -> Result:
    """Advance a chain to its end and return the result.

    An interruption ends the run with a result, or is raised again.
    """
    chain, contacts, time_step = prepare(case)
    state = State(contacts, chain, time_step, recording_of(case))
    if watch is not None and hasattr(watch, "begin"):
        watch.begin(state.size)
    if checkpoint is not None and not isinstance(checkpoint, Checkpoint):
        checkpoint = Checkpoint(checkpoint)
    journal = Journal(case, state, started.isoformat(timespec="seconds"), clock, checkpoint)
    if resume:
        journal.go_on()
        if watch is not None:
            watch.resume(fraction_of(state))
    try:
        status = march(state, watch, journal, threads)
        wall_time = journal.wall_time
    except KeyboardInterrupt:
        if not interruptible:
            raise
        wall_time = journal.wall_time
        # An interruption during the last step stops nothing.
        status = Status.INTERRUPTED if state.step <= time_step.n_steps else Status.COMPLETE
        journal.save()
    ((result, problem),) = ended([Ended(case, chain, state, status)], journal.started, wall_time)
    if problem:
        raise RunError(problem, result)
    return result


def march(state: State, watch: Watch | None, journal: Journal, threads: int = 1) -> Status:
    """Advance in blocks of steps until the end.

    Each block is so short that an interruption takes effect immediately.
    """
    bands, seconds = Bands(state, threads), TILED_SECONDS if state.features.tiled else BLOCK_SECONDS
    block, status, looked = max(1, FIRST_BLOCK // state.chain.n_bodies), Status.RUNNING, 0
    while status is Status.RUNNING:
        clock = time.perf_counter()
        # An inspection of the state takes as long as a few steps.
        looks = state.step + block >= looked + INSPECTED
        status = bands.advance(block, looks)
        looked = state.step if looks else looked
        each = (time.perf_counter() - clock) / block
        block = max(1, min(4 * block, int(seconds / max(each, 1e-9)), state.time_step.n_steps))
        if watch is not None:
            watch.advance(fraction_of(state))
        if status is Status.RUNNING and journal.checkpoint is not None and journal.checkpoint.due:
            journal.save()
    return status


def fraction_of(state: State) -> float:
    """Return the completed fraction of the run."""
    return min(1.0, state.step / state.time_step.n_steps)


@dataclass
class Journal:
    """Start time, wall time, and checkpoint of a run.

    Parameters
    ----------
    case : Case
        Case of the run.
    state : State
        State of the run.
    started : str
        Start time, UTC, ISO 8601.
    clock : float
        time.perf_counter() at the start, less the previous loading and compiling time [s].
    checkpoint : Checkpoint, optional
        Checkpoint of the run.
    """

    case: Case
    state: State
    started: str
    clock: float
    checkpoint: Checkpoint | None

    @property
    def wall_time(self) -> float:
        """Wall time of the run [s], including earlier processes if it was resumed.

        The time for compiling its loop is not included.
        """
        return time.perf_counter() - compiling.seconds - self.clock

    @property
    def _whose(self) -> dict[str, str]:
        return {
            "case_sha256": self.case.sha256,
            "law": self.state.law_record().text,
            "set_up": self.state.set_up,
        }

    def save(self) -> None:
        """Write the checkpoint."""
        if self.checkpoint is not None:
            state = self.state
            saved = Saved(state.arrays(), self.started, self.wall_time, state.settled)
            self.checkpoint.save(saved, **self._whose)

    def go_on(self) -> None:
        """Restore the state and its wall time from the checkpoint."""
        if self.checkpoint is None:
            raise FileError("resume: no checkpoint. Give the path of a checkpoint as checkpoint=.")
        saved = self.checkpoint.load(**self._whose)
        try:
            self.state.restore(saved.arrays)
        except ValueError as error:
            raise FileError(
                f"{self.checkpoint.path}: the checkpoint cannot be used ({error}). Start the run "
                "again."
            ) from None
        self.started, self.clock = saved.started, self.clock - saved.wall_time


def prepare(case: Case) -> tuple[Chain, Contacts, TimeStep]:
    """Return the chain, contacts, and time step of a case."""
    (made,) = prepare_together([case])
    return made


def prepare_together(cases: Sequence[Case]) -> list[tuple[Chain, Contacts, TimeStep]]:
    """Return the chain, contacts, and time step of many cases.

    Parts that several cases share are made once.

    Raises
    ------
    CaseError, LawError
        For the first case that cannot be set up.
    """
    made = contacts_of_cases(cases)
    with np.errstate(all="ignore"):
        planned = [
            Planned(
                contacts,
                chain,
                case.time.step,
                case.time.end,
                case.time.force_step,
                step_of_state(case),
            )
            for (chain, contacts), case in zip(made, cases, strict=True)
        ]
        return [
            (going_on(case, *both, step), both[1], step)
            for case, both, step in zip(cases, made, time_steps_together(planned), strict=True)
        ]


def step_of_state(case: Case) -> float:
    """Return the automatic step of the state from which the case continues [s].

    It is infinite if the case does not continue from a state.
    """
    stored = case.stored_state
    if stored is None:
        return math.inf
    return stored.time_step * FAST ** ((case.time.step == "fast") - (stored.asked == "fast"))


def going_on(case: Case, chain: Chain, contacts: Contacts, step: TimeStep) -> Chain:
    """Return the chain with the state from which its case continues.

    If the run has the step, drives, and loads of the state, the state is used unchanged. Else the
    run starts with a first step, and the overlaps continue.

    Raises
    ------
    CaseError
        If the law has changed.
    """
    stored = case.stored_state
    if stored is None:
        return chain
    start, n = stored.start, chain.n_bodies
    if len(start.history) != len(contacts.model.history):
        raise CaseError(
            f"initial: the state has {len(start.history)} history variables per contact. The law "
            f"{contacts.model.name} now has {len(contacts.model.history)}. Start the run again."
        )
    going = not differences_of(case, step.value)
    if not going:
        # overlaps at zero displacement; a new wall has the overlap of this chain
        zero = contacts.overlaps.copy()
        zero[1:n] -= chain.gap
        rows, history, u = start.contacts.copy(), start.history.copy(), start.bodies[0].copy()
        exists = chain.contact_exists & np.isfinite(start.zero)
        for k, new in zip((0, n), new_walls(case), strict=True):
            if new:
                exists[k] = False
                rows[:, k], rows[-1, k] = 0.0, -np.inf
                history[:, k] = contacts.history[:, k]
        # Changes of static overlaps are summed, starting at a wall or at the first body.
        more = np.where(exists, zero - np.where(exists, start.zero, 0.0), 0.0)
        shift = np.concatenate([[0.0], np.cumsum(more[1:n])])
        if exists[0]:
            shift += more[0]
        elif exists[n]:
            shift -= shift[-1] + more[n]
        u += shift
        start = start._replace(
            bodies=np.vstack([u, start.bodies[1:]]), contacts=rows, history=history, steps=0,
            ends=ends_of(case, chain, start),
        )  # fmt: skip

    def moved(where: str, end: End) -> End:
        assert end.time is not None
        first, before, _ = begun(case, where)
        return replace(end, time=end.time - (first if going else before))

    ends: dict[str, Any] = {
        side: moved(f"ends.{side}", getattr(chain, side))
        for side in ("left", "right")
        if f"ends.{side}" in case.drives
    }
    driven = []
    for i, (body, end) in enumerate(chain.driven):
        own = moved(f"drive.{i}", end)
        if not going and own.has_wall:
            # The displacement is relative to the current position of the bead.
            x, _ = drive_at(*drive_of(own)[1], 0.0)
            own = replace(own, value=own.value + (start.bodies[0][body] - x))
        driven.append((body, own))
    return replace(chain, start=start, driven=tuple(driven), **ends)


def ends_of(case: Case, chain: Chain, start: Start) -> np.ndarray:
    """Return the state of the compliant ends of a chain; an end that has changed is at rest."""
    stored, body, same = case.stored_state, chain.end_elements.body, same_of(case)
    assert stored is not None
    ends = np.zeros((4, body.size))
    for side, there in (("left", body < 0), ("right", body > 0)):
        n = int(there.sum())
        if n and stored.same[side] == same[side]:
            ends[:, there] = start.ends[:, :n] if side == "left" else start.ends[:, -n:]
    return ends


def law_records(cases: Sequence[Any]) -> list[LawRecord | None]:
    """Return the current law record of each case; None for one that cannot be set up."""
    try:
        if cases and cases[0].measured:
            return [case.law_record() for case in cases]
        return [
            record_of(contacts.model, contacts.c[:, chain.contacts])
            for chain, contacts in contacts_of_cases(cases)
        ]
    except (CaseError, LawError):
        half = len(cases) // 2
        return [None] if not half else law_records(cases[:half]) + law_records(cases[half:])


def changed_law(cases: Sequence[Case], records: Sequence[str]) -> str:
    """Return how the law of a case has changed since it was computed; empty if none has.

    Parameters
    ----------
    cases : sequence of Case
    records : sequence of str
        Text of the `LawRecord` with which each case was computed.
    """
    for now, text in zip(law_records(cases) if cases else (), records, strict=True):
        difference = "" if now is None else now.difference(LawRecord.of_text(text))
        if difference:
            return difference
    return ""


def law_provenance(case: Case) -> dict[str, str]:
    """Return the entries of the provenance about the laws of a case."""
    (law,) = law_records([case])
    return {} if law is None else {"law_sha256": law.sha256, "law_json": law.text}


def recording_of(case: Case) -> Recording:
    """Return the recording that the case requests."""
    return Recording(
        sensor_beads=tuple(case.sensors.beads),
        sensor_contacts=tuple(case.sensors.contacts),
        interval=case.sensors.interval,
        snapshot_interval=case.snapshots.interval if case.snapshots else None,
        ledger=case.energy.ledger,
        energy_interval=case.energy.interval,
        snapshot_history=case.snapshots is not None and case.snapshots.history,
        final=True,
    )
