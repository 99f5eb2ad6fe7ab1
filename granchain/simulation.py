"""Simulation of a case, from the chain and its contacts to the result."""

from __future__ import annotations

import functools
import math
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

import numpy as np

from granchain.analysis import kinetic_and_stored, residual_share, sensor_pulses, supplied_energy
from granchain.analysis.pulse import ForceJumps, first_pulse, largest_jump, static_force
from granchain.case import Case, check_case
from granchain.case.start import (
    comparable_digests,
    differences_of,
    drive_clock,
    new_walls,
    state_of_run,
)
from granchain.chain import Chain, End, Start
from granchain.contact import law_named
from granchain.contact.certified import about_certificate
from granchain.contact.law import OPEN, PHASES
from granchain.contact.law_record import LawRecord
from granchain.contact.model import Model
from granchain.engine.drives import drive_at
from granchain.engine.fields import CONTACT
from granchain.engine.mixture import models_of
from granchain.engine.recording import Energies, Recording
from granchain.engine.setup import (
    Contacts,
    alike,
    kinds_of_columns,
    over_contacts,
    record_of,
    start_histories,
)
from granchain.engine.state import State, drive_of
from granchain.engine.tiles import TileStepper
from granchain.engine.timestep import FAST, Planned, TimeStep, time_steps_together
from granchain.errors import (
    CaseError,
    FileError,
    GranchainError,
    GranchainWarning,
    LawError,
    RunError,
)
from granchain.jit.compile import compiling
from granchain.keys import Problems, check_integer
from granchain.set_up import contacts_of_cases
from granchain.status import Message, Status
from granchain.store import Checkpoint, Result
from granchain.store.journal import Saved
from granchain.store.schema import ATTACHED, LOSSES

# Maximum wall time of a block of steps [s]: the delay of an interruption.
BLOCK_SECONDS = 0.02
# Maximum wall time of a block for a long chain [s], for several bands of steps. An interruption
# still takes effect within half a second, even on a busy machine.
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

# Upper limit on usual radii [m]: our choice; beads in laboratories have radii of millimetres to
# centimetres.
LARGE_RADIUS = 0.5
LARGE_BODY = (
    "radius: the largest radius is {:.4g} m, above {:g} m. Lengths are in metres, so forces, "
    "times, and speeds are wrong if the radius is in millimetres. Check the radii of the beads and "
    "the striker"
)

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


def warns_of_fast_drives(call: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function so that it warns once of harmonic drives with a "fast" step.

    The first argument of the function is `case`. Functions that it calls do not warn again.
    """

    @functools.wraps(call)
    def warning(*args: P.args, **kwargs: P.kwargs) -> R:
        warn_of_fast_drives([args[0] if args else kwargs.get("case")])
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
        fraction. Optional methods are `begin(size)`, called before the first step with the number
        of recorded bytes, and `resume(fraction)`, called when a run resumes.
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
        the law, or exceeds the bound of the energy balance. `result` contains the data up to the
        failure.
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
    if threads is True or threads != 1:
        problems = Problems()
        check_integer("threads", threads, problems, "leave it out", most=MOST_THREADS)
        problems.close()
    ((chain, contacts, time_step),) = prepare_together([case])
    largest = float(chain.radius.max())
    if largest > LARGE_RADIUS:
        # the caller of the wrapped function
        warnings.warn(LARGE_BODY.format(largest, LARGE_RADIUS), GranchainWarning, stacklevel=3)
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
        status = run_blocks(state, watch, journal, threads)
    except KeyboardInterrupt:
        # An interruption during the last step has no effect on the run.
        status = Status.INTERRUPTED if state.step <= time_step.n_steps else Status.COMPLETE
        journal.save()
    return result_of(Ended(case, chain, state, status), journal)


def run_to_end(case: Case) -> Result:
    """Run a case for another function of the package, and return its complete result.

    Unlike `run`, it doesn't catch an interruption: the caller must not continue with an incomplete
    result, and must not lose a Ctrl-C that arrives during the last step.

    Raises
    ------
    CaseError, LawError, RunError
        As `run`.
    KeyboardInterrupt
        If the run is interrupted.
    """
    started, clock = datetime.now(UTC), time.perf_counter() - compiling.seconds
    check_case(case)
    ((chain, contacts, time_step),) = prepare_together([case])
    state = State(contacts, chain, time_step, recording_of(case))
    journal = Journal(case, state, started.isoformat(timespec="seconds"), clock, None)
    return result_of(Ended(case, chain, state, run_blocks(state, None, journal)), journal)


def result_of(run: Ended, journal: Journal) -> Result:
    """Return the result of a run, or raise the reason of its failure."""
    ((result, problem),) = ended([run], journal.started, journal.wall_time)
    if problem:
        raise RunError(problem, result)
    return result


def run_blocks(state: State, watch: Watch | None, journal: Journal, threads: int = 1) -> Status:
    """Advance in blocks of steps until the end.

    Each block is so short that an interruption takes effect immediately.
    """
    tiled = state.features.tiled
    advance = TileStepper(state, threads).advance if tiled else state.advance
    seconds = TILED_SECONDS if tiled else BLOCK_SECONDS
    block, status, looked = max(1, FIRST_BLOCK // state.chain.n_bodies), Status.RUNNING, 0
    while status is Status.RUNNING:
        clock = time.perf_counter()
        # An inspection of the state takes as long as a few steps.
        looks = state.step + block >= looked + INSPECTED
        status = advance(block, looks)
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
    def _identity(self) -> dict[str, str]:
        """Facts that must be equal when the run resumes from a checkpoint."""
        return {
            "case_sha256": self.case.sha256,
            "law": self.state.law_record().text,
            "set_up": self.state.set_up,
        }

    def save(self) -> None:
        """Write the checkpoint."""
        if self.checkpoint is not None:
            state = self.state
            saved = Saved(state.arrays(), self.started, self.wall_time)
            self.checkpoint.save(saved, **self._identity)

    def go_on(self) -> None:
        """Restore the state and its wall time from the checkpoint."""
        if self.checkpoint is None:
            raise FileError("resume: no checkpoint. Give the path of a checkpoint as checkpoint=.")
        saved = self.checkpoint.load(**self._identity)
        self.state.restore(saved.arrays)
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
    planned = []
    for (chain, contacts), case in zip(made, cases, strict=True):
        settings, stored, automatic_step = case.time, case.stored_state, math.inf
        if stored is not None:
            # the automatic step of the state from which the case continues
            automatic_step = stored.time_step * FAST ** (
                (settings.step == "fast") - (stored.step_setting == "fast")
            )
        planned.append(
            Planned(
                contacts, chain, settings.step, settings.end, settings.force_step, automatic_step
            )
        )
    with np.errstate(all="ignore"):
        steps = time_steps_together(planned)
        return [
            (
                chain if case.stored_state is None else going_on(case, chain, contacts, step),
                contacts,
                step,
            )
            for case, (chain, contacts), step in zip(cases, made, steps, strict=True)
        ]


def going_on(case: Case, chain: Chain, contacts: Contacts, step: TimeStep) -> Chain:
    """Return the chain with the state from which its case continues.

    If the run has the step, drives, and loads of the state, the state is used unchanged. Otherwise
    the run starts with a first step, and only overlaps, velocities, and histories continue.

    Raises
    ------
    CaseError
        If the law has changed.
    """
    stored = case.stored_state
    assert stored is not None
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
        first, before, _ = drive_clock(case, where)
        return replace(end, time=end.time - (first if going else before))

    ends: dict[str, Any] = {
        side: moved(f"ends.{side}", getattr(chain, side))
        for side in ("left", "right")
        if f"ends.{side}" in case.drives
    }
    driven = []
    for i, (body, end) in enumerate(chain.driven):
        moved_end = moved(f"drive.{i}", end)
        if not going and moved_end.has_wall:
            # The displacement is relative to the current position of the bead.
            x, _ = drive_at(*drive_of(moved_end)[1], 0.0)
            moved_end = replace(moved_end, value=moved_end.value + (start.bodies[0][body] - x))
        driven.append((body, moved_end))
    return replace(chain, start=start, driven=tuple(driven), **ends)


def ends_of(case: Case, chain: Chain, start: Start) -> np.ndarray:
    """Return the state of the compliant ends of a chain; an end that has changed is at rest."""
    stored, body, same = case.stored_state, chain.end_elements.body, comparable_digests(case)
    assert stored is not None
    ends = np.zeros((4, body.size))
    for side, at_side in (("left", body < 0), ("right", body > 0)):
        n = int(at_side.sum())
        if n and stored.same[side] == same[side]:
            ends[:, at_side] = start.ends[:, :n] if side == "left" else start.ends[:, -n:]
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
    differences = (
        now.difference(LawRecord.of_text(text))
        for now, text in zip(law_records(cases) if cases else (), records, strict=True)
        if now is not None
    )
    return next(filter(None, differences), "")


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


# --------------------------------------------------------------------------------------------------
# Result: named variables, energy balance, and the reason of a failure.

# Maximum ratio of overlap to smaller radius without a warning (our choice). Hertz's theory requires
# contacts that are small compared with the bodies. Its contact radius a satisfies a^2 = R overlap
# (Johnson 1985, Contact Mechanics, eq. (4.23), doi:10.1017/CBO9781139171731), so that a is 0.16 of
# the radius of two equal spheres at this ratio.
DEEP_OVERLAP = 0.05
# Rows of the energies: losses by yielding, and external work, which is followed by its parts.
_PLASTIC, _EXTERNAL = (Energies._fields.index(name) for name in ("plastic", "external"))


class Ended(NamedTuple):
    """Run that has stopped: its case, chain, final state, and status."""

    case: Case
    chain: Chain
    state: State
    status: Status


def ended(runs: Sequence[Ended], started: str, wall_time: float) -> Iterator[tuple[Result, str]]:
    """Yield the result of each run and the reason of its failure.

    The reason is empty on success.
    """
    certificates = cache(about_laws)
    complete = [run for run in runs if not run.status.failed]
    outcomes = dict(zip(map(id, complete), outcomes_of(complete), strict=True))
    for run in runs:
        state, law = run.state, run.state.law_record()
        final, where, first = state.final, int(state.clock.where), int(run.chain.body_labels[0])
        location = f"bead {max(where - 1, 0) + first}"
        if run.status in (Status.BEYOND_RADIUS, Status.OUTSIDE_LAW):
            location = f"contact {where - 1 + first}"
        yield result_and_problem(
            run.status,
            variables_of_chain(run, outcomes.get(id(run), {})),
            case=run.case,
            law=state.model.name,
            step=state.time_step,
            done=state.step,
            location=location,
            messages=messages_of_chain(run, certificates(tuple(run.case.laws))),
            history=tuple(quantity for quantity in state.model.history if quantity.output),
            provenance={
                "started": started,
                "wall_time": wall_time,
                "law_sha256": law.sha256,
                "law_json": law.text,
            },
            state=final and partial(state_of_run, run.case, final, state.time_step.value),
        )


def variables_of_chain(run: Ended, outcome: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the state of a run, with the variable names of the output file."""
    chain, state = run.chain, run.state
    n, exists, records, plan = chain.n_bodies, chain.contacts, state.records, state.recording
    largest = state.contacts.largest_overlap[exists]
    dt, samples, snapshots = state.time_step.value, int(state.clock.sample), state.clock.snapshot
    data: dict[str, np.ndarray] = {
        "bead": chain.body_labels,
        "radius": chain.radius,
        "mass": chain.mass,
        "position": chain.positions(),
        "final_displacement": state.bodies.u[1 : n + 1].copy(),
        "final_velocity": state.bodies.v[1 : n + 1].copy(),
        "contact": chain.contact_labels[exists],
        **{
            field.variable: getattr(state.contacts, field.name)[exists].copy()
            for field in CONTACT
            if field.variable
        },
        "largest_overlap": np.where(largest > OPEN, largest, 0.0),
        "residual_overlap": residual_overlaps(state.model, state.h[:, exists]).copy(),
    }
    if plan.sensor_beads or plan.sensor_contacts:
        data["time"] = state.sample_step[:samples] * dt
    if plan.sensor_beads:
        data["sensor_bead"] = np.array(plan.sensor_beads, dtype=np.int64)
        data["sensor_force"] = records.sensor_force[:samples]
        if state.model.onset_jump or state.model.jumps_inside:
            data["sensor_beside_force"] = records.jump_force[:samples]
            data["sensor_beside_time"] = records.jump_time[:samples]
            sides = data["sensor_beside_force"].T, data["sensor_beside_time"].T
            static = [static_force(force) for force in data["sensor_force"].T]
            pulse = first_pulse(data["time"], data["sensor_force"], baseline=static)
            largest = [
                largest_jump(ForceJumps(*of_sensor), slice(start, stop))
                for *of_sensor, start, stop in zip(*sides, pulse.start, pulse.stop, strict=True)
            ]
            data["sensor_jump_force"], data["sensor_jump_time"] = np.array(largest).T
    if plan.sensor_contacts:
        data["sensor_contact"] = np.array(plan.sensor_contacts, dtype=np.int64)
        data["contact_force"] = records.contact_force[:samples]
        data["contact_overlap"] = records.contact_overlap[:samples]
    if records.snapshot_at.size:
        data["snapshot_time"] = records.snapshot_at[:snapshots] * dt
        data["displacement"] = records.displacement[:snapshots]
        data["velocity"] = records.velocity[:snapshots]
    places = np.flatnonzero(state.elements.mass)
    if places.size:
        data |= {
            ATTACHED: np.arange(1, places.size + 1),
            f"{ATTACHED}_bead": state.elements.body[places].astype(np.int64)
            - 1
            + chain.first_label,
            f"{ATTACHED}_mass": state.elements.mass[places],
            f"{ATTACHED}_stiffness": state.elements.stiffness[places],
            f"final_{ATTACHED}_displacement": state.elements.u[places],
            f"final_{ATTACHED}_velocity": state.elements.v[places],
        }
        if records.snapshot_at.size:
            data[f"{ATTACHED}_displacement"] = records.attached_displacement[:snapshots]
            data[f"{ATTACHED}_velocity"] = records.attached_velocity[:snapshots]
    if records.snapshot_largest_overlap.size:
        data |= histories_of(run)
    models = models_of(state.model)
    which = state.c[0, exists].astype(np.int64) if len(models) > 1 else np.zeros(1, np.int64)
    if len(models) > 1:
        data["contact_law"] = which
    for quantity, row in zip(state.model.history, state.h, strict=True):
        if quantity.output and quantity.name not in data:
            without = np.array([model.remembered(quantity.name) < 0 for model in models])[which]
            data[quantity.name] = np.where(without, np.nan, row[exists])
    has_balance = records.energy_at.size and state.clock.entry
    if has_balance:
        data |= ledger_of(state)
    return data | {
        name: values for name, values in outcome.items() if has_balance or name not in LOSSES
    }


def residual_overlaps(model: Model, h: np.ndarray) -> np.ndarray:
    """Return the (..., n_contacts) overlaps [m] at which unloaded contacts open.

    `h` contains histories (..., n_history, n_contacts). The result is 0 if the law has no residual
    indentation.
    """
    row = model.remembered("residual_overlap")
    return np.asarray(h[..., row, :] if row >= 0 else np.zeros((*h.shape[:-2], h.shape[-1])))


def histories_of(run: Ended) -> dict[str, np.ndarray]:
    """Return the history of each contact in each snapshot.

    If the run failed, the result does not include the contact states.
    """
    state, exists = run.state, run.chain.contacts
    shots, records = slice(int(state.clock.snapshot)), state.records
    h = records.snapshot_history[shots][..., exists]
    overlap, rate = records.snapshot_overlap[shots, exists], records.snapshot_rate[shots, exists]
    largest = records.snapshot_largest_overlap[shots, exists]
    histories = {
        "snapshot_largest_overlap": np.where(largest > OPEN, largest, 0.0),
        "snapshot_residual_overlap": residual_overlaps(state.model, h),
    }
    if not run.status.failed:
        histories["snapshot_phase"] = phases(state.model, state.c[:, exists], h, overlap, rate)
    return histories


def ledger_of(state: State) -> dict[str, np.ndarray]:
    """Return the energy balance: the parts of the energy at each recorded time [J]."""
    entries = int(state.clock.entry)
    # one row for each energy
    table = np.array(state.records.energies[:entries].T, order="C")
    energies = Energies(*table)
    # Yielding before the static start is not a loss of the run.
    table[_PLASTIC] -= energies.plastic[0]
    started = state.chain.start is not None or state.chain.is_displaced
    if started:
        # Work before the state, or before the beads' initial positions, is not part of the run
        # either.
        table[_EXTERNAL:] -= table[_EXTERNAL:, :1]
    some = ("elements", "elements_viscous", "gravity", "precompression", "drives")
    absent = {name for name in some if not getattr(energies, name).any()}
    absent |= set() if state.features.ends else {"radiated"}
    data = {
        f"energy_{name}": values
        for name, values in energies._asdict().items()
        if name not in absent
    }
    data["energy_time"] = state.records.energy_at[:entries] * state.time_step.value
    with np.errstate(invalid="ignore"):  # values of a failed run
        total = np.ascontiguousarray(table[:_EXTERNAL].T).sum(axis=1)
        if len(state.chain.drives) > 1:
            work = state.records.drive_work[:entries]
            bodies = np.array([body for body, _, _ in state.chain.drives])
            data["drive"] = np.arange(1, bodies.size + 1)
            data["drive_bead"] = bodies - 1 + state.chain.first_label
            data["drive_work"] = work - work[0] if started else work.copy()
        data["energy_residual"] = total - energies.external - total[0]
    return data


# --------------------------------------------------------------------------------------------------
# Messages


def messages_of_chain(run: Ended, certificates: Sequence[Message]) -> list[Message]:
    """Return the messages for the user about the run."""
    case, chain, state = run.case, run.chain, run.state
    model, ledger = state.model, state.recording.ledger
    step = state.time_step
    opened = opened_contacts(state) if chain.precompression or chain.gravity else []
    notes = [
        *(goes_on(case, state) if case.stored_state else []),
        *(impact_speeds(case) if model.uses_rate else []),
        *(ended_drives(chain, case, step.value) if chain.drives else []),
        *opened,
    ]
    messages = [
        Message(f"time step {step.value:.6g} s ({step.reason})"),
        *certificates,
        *map(Message, notes),
        *deep(chain, state),
    ]
    if state.step:
        messages += about_allowed_step(state.clock.allowed_step, step, "chain")
    # 0 if the law of a contact has no exponent
    power = model.coefficient("exponent")
    softens = (state.c[power, chain.contacts] < 1.0) & (state.c[power, chain.contacts] > 0.0)
    if power >= 0 and softens.any():
        loose = not (chain.static_forces()[chain.contacts] > 0.0).all()
        if loose or opened:
            messages.append(
                Message(
                    "contacts with an exponent below 1 were open. Their stiffness has no upper "
                    "limit when they close, so results are less accurate there. Use a "
                    "precompression, or a smaller wave."
                )
            )
        elif len(state.recording.sensor_contacts) < chain.contact_exists.sum():
            messages.append(
                Message(
                    "contacts with an exponent below 1 must stay closed, and some contacts were "
                    "not recorded. To detect contacts that open, use "
                    'sensors.contacts = "all".'
                )
            )
    if model.coefficient("lowest_force") >= 0 and ledger:
        clamped = int(state.clock.clamped)
        steps = max(1, state.step) * int(chain.contact_exists.sum())
        messages.append(
            Message(
                f"the no-tension cutoff was active in {clamped} of {steps} contact-steps "
                f"({100.0 * clamped / steps:.3g} %)"
            )
        )
    floors = model.remembered("floored")
    if floors >= 0:
        floored = int(state.h[floors].sum())
        floor_speeds = state.c[model.coefficient("impact_speed_floor"), chain.contacts]
        floor_speeds = floor_speeds[floor_speeds > 0.0]
        floor = " to ".join(
            f"{value:.4g}" for value in sorted({floor_speeds.min(), floor_speeds.max()})
        )
        messages.append(
            Message(f"the minimum impact speed, {floor} m/s, applied to {floored} contact onsets")
        )
    if model.as_printed and ledger and state.records.energy_at.size:
        least = np.minimum(state.energies.plastic[: int(state.clock.entry)], 0.0).min()
        messages.append(
            Message(
                "the law is as published, without the energy correction. The contacts created up "
                f"to {max(0.0, float(-least)):.4g} J"
            )
        )
    return messages


def goes_on(case: Case, state: State) -> list[str]:
    """Return a message about the state from which the run continues."""
    assert case.stored_state is not None
    text = f"resumed from the state of a run at {case.stored_state.time:.6g} s"
    other = differences_of(case, state.time_step.value)
    if not other:
        return [f"{text}; results are bit-identical to one uninterrupted run"]
    note = (
        f"{text}; overlaps, velocities, and contact histories continue to within 1e-12, but "
        "results are not bit-identical to one uninterrupted run, because these differ: "
        f"{', '.join(other)}"
    )
    before, start, last = case.stored_state.start, state.chain.start, state.chain.n_bodies
    if start is None or any(new_walls(case)) or not state.chain.contact_exists[[0, last]].all():
        return [note]
    # overlap at the right wall; the other overlaps do not change
    was = before.bodies[0, -1] + before.zero[last]
    deeper = start.bodies[0, -1] + state.contacts.start[last] - was
    if abs(deeper) > 1e-9 * state.contacts.start[last]:
        note += (
            f". The right wall moves by {deeper:.4g} m towards the beads at the start, because the "
            "length between two walls depends on the load"
        )
    return [note]


def impact_speeds(case: Case) -> list[str]:
    """Return messages about the impact speed of each law.

    Only laws with one number for all onsets have a message.
    """
    named = [
        ("", case.law_inputs()),
        *(
            (f" between {material} and {neighbour}", inputs)
            for (material, neighbour), inputs in case.pair_inputs()
        ),
        *((f" of {law}", inputs) for _, law, inputs in case.own_contacts()),
    ]
    return [
        f"impact_speed{contacts}: {inputs.impact_speed:.6g} m/s"
        for contacts, inputs in named
        if isinstance(getattr(inputs, "impact_speed", None), (int, float))
    ]


def ended_drives(chain: Chain, case: Case, step: float) -> list[str]:
    """Return messages about drives that end before the end of the run."""
    # The time of a continued drive is counted from its start.
    counted = 0.0 if case.stored_state is None or chain.start is None else chain.start.steps * step
    named = [
        f"bead {bead}" if (bead := getattr(drive, "bead", 0)) else f"{where[5:]} end"
        for where, drive in case.drives.items()
    ]
    return [
        f"the drive of the {name} ends at {end.time[-1]:.6g} s. It then keeps its last value, "
        f"{end.value[-1]:.6g} {'m' if end.has_wall else 'N'}"
        for name, (*_, end) in zip(named, chain.drives, strict=True)
        if end.time is not None and end.value is not None and end.time[-1] < case.time.end + counted
    ]


def opened_contacts(state: State) -> list[str]:
    """Return a message if contacts with a static load were recorded open."""
    chain, records, plan = state.chain, state.records, state.recording
    pressed, dt, samples = (
        chain.static_forces() > 0.0,
        state.time_step.value,
        int(state.clock.sample),
    )
    if not pressed.any():
        return []
    seen: list[tuple[float, str]] = []
    # The sensor of a bead reads no force if both its contacts are open.
    of_beads = pressed[records.sensor_left] | pressed[records.sensor_right]
    for name, labels, values, counted in (
        ("bead", plan.sensor_beads, records.sensor_force, of_beads),
        ("contact", plan.sensor_contacts, records.contact_overlap, pressed[records.recorded]),
    ):
        # A study records additional sensors after the requested ones.
        some = len(labels)
        rows, places = np.nonzero((values[:samples, :some] <= 0.0) & counted[:some])
        if rows.size:
            seen.append((float(state.sample_step[rows[0]]) * dt, f"{name} {labels[places[0]]}"))
    # Snapshots do not show the motion of contacts at driven ends.
    within = np.flatnonzero(pressed[1:-1]) + 1
    start = state.contacts.start[within]
    shots = int(state.clock.snapshot) if within.size else 0
    for when, u in zip(records.snapshot_at[:shots], records.displacement[:shots], strict=True):
        separated = np.flatnonzero(start + u[within - 1] - u[within] <= 0.0)
        if separated.size:
            seen.append((float(when) * dt, f"contact {chain.contact_labels[within[separated[0]]]}"))
            break
    return [
        f"contacts with a static load opened, first at {where} at {when:.4g} s, so the waves in "
        "this run are not small compared with the static load"
        for when, where in sorted(seen)[:1]
    ]


def deep(chain: Chain, state: State) -> list[Message]:
    """Return a warning if the largest relative overlap of a contact is too large."""
    overlap, limits = state.contacts.largest_overlap[: chain.n_bodies + 1], chain.overlap_limits()
    with np.errstate(invalid="ignore"):
        share = np.where(chain.contact_exists, overlap / limits, 0.0)
    k = int(np.argmax(share))
    if not DEEP_OVERLAP < share[k] < np.inf:
        return []
    radius = math.sqrt(float(chain.effective_radii()[k] * overlap[k]))
    sentence = (
        f"contact {int(chain.contact_labels[k])} had an overlap of {overlap[k]:.3g} m, "
        f"{100.0 * share[k]:.2g} % of the smaller radius. According to Hertz's theory, the contact "
        f"radius was {radius:.3g} m, {radius / limits[k]:.2g} of the smaller radius, but the "
        "theory requires small contacts, so forces may be inaccurate. Keep the overlap below "
        f"{100.0 * DEEP_OVERLAP:.0f} %: reduce the load, or choose a stiffer material."
    )
    return [Message(sentence, warning=True)]


# --------------------------------------------------------------------------------------------------
# State of the contacts at the end: dissipated energy, largest contact radius, and phase.


def outcomes_of(runs: Sequence[Ended]) -> list[dict[str, np.ndarray]]:
    """Return the final state of each contact of runs that have not failed, by name."""
    outcomes: list[dict[str, np.ndarray]] = [{} for _ in runs]
    for places in alike(id(run.state.model) for run in runs):
        chains, states = [runs[m].chain for m in places], [runs[m].state for m in places]
        model, present = states[0].model, [chain.contacts for chain in chains]
        here = list(zip(states, present, strict=True))
        c = np.hstack([state.c[:, contacts] for state, contacts in here])
        h = np.hstack([state.h[:, contacts] for state, contacts in here])
        motions = []
        for state, chain, contacts in zip(states, chains, present, strict=True):
            n = chain.n_bodies
            u, v = state.bodies.u[: n + 2], state.bodies.v[: n + 2]
            overlap = u[:-1] - u[1:] + state.contacts.start[: n + 1]
            motions.append(np.array([overlap, v[:-1] - v[1:]])[:, contacts])
        columns = {"phase": phases(model, c, h, *np.hstack(motions))}
        if model.law.has_contact_radius():
            columns["contact_radius"] = contact_radii(chains, states, c, h)
        if any(state.recording.ledger for state in states):
            # distribution of the energy losses along the chain, over the run [J]
            columns["contact_plastic"] = losses_for_good(states, c, h)
            for cause in ("viscous", "clamp"):
                names = [f"{cause}_{term}" for term in ("total", "rest", "work")]
                sums = [
                    [getattr(state.contacts, name)[contacts] for name in names]
                    for state, contacts in here
                ]
                total, remainder, work = np.hstack(sums)
                columns[f"contact_{cause}"] = total + remainder + work
        ends = np.cumsum([chain.contact_exists.sum() for chain in chains])[:-1]
        for name, values in columns.items():
            for index, own_values in zip(places, np.split(values, ends), strict=True):
                outcomes[index][name] = own_values
    return outcomes


def losses_for_good(states: Sequence[State], c: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Return the permanent losses of each contact over the run [J].

    The runs use one model. `c` and `h` are the coefficients and histories of all their contacts.
    """
    model = states[0].model
    lost = np.concatenate([state.contacts.lost[state.chain.contacts] for state in states])
    if not model.loses:
        return lost
    lost = over_contacts(model.functions.plastic, model, (), c, h) + lost
    first = 0
    for state in states:
        present = state.chain.contacts
        columns = slice(first, first := first + present.stop - present.start)
        if (
            state.contacts.start[present].max() > 0.0
            or state.chain.is_displaced
            or state.chain.start is not None
        ):
            # Yielding before the start is not a loss of the run.
            start = state.chain.start
            before = state.prepared.history[:, :-1] if start is None else start.history
            before = before[:, present]
            lost[columns] -= over_contacts(
                model.functions.plastic, model, (), c[:, columns], before
            )
    return lost


def contact_radii(
    chains: Sequence[Chain], states: Sequence[State], c: np.ndarray, h: np.ndarray
) -> np.ndarray:
    """Return the largest contact radius of each contact [m].

    The radius is 0 if the two bodies never touched. The runs use one model. `c` and `h` are the
    coefficients and histories of all their contacts.
    """
    model = states[0].model
    largest = [state.contacts.largest_overlap[state.chain.contacts] for state in states]
    radii = np.concatenate([chain.effective_radii()[chain.contacts] for chain in chains])
    deepest = np.maximum(np.concatenate(largest), 0.0)
    # history after one approach to this overlap, if the law forgets its residual indentation
    h = start_histories(model, c, deepest, deepest) if model.forgets else h
    contact_radius = np.zeros(deepest.size)
    met = np.flatnonzero(deepest > OPEN)
    sizes = deepest[met], radii[met]
    contact_radius[met] = over_contacts(
        model.law.contact_radius, model, sizes, c[:, met], h[:, met]
    )
    return contact_radius


def phases(
    model: Model, c: np.ndarray, h: np.ndarray, overlap: np.ndarray, rate: np.ndarray
) -> np.ndarray:
    """Return the (..., n_contacts) contact states, as indices in `PHASES`.

    A contact with residual indentation is on the loading curve while its overlap is the largest so
    far. At smaller overlaps it unloads or reloads, and it is open below its residual overlap.

    Parameters
    ----------
    model : Model
    c : (n_coefficients, n_contacts) array
    h : (..., n_history, n_contacts) array
        Histories as used for the force at these overlaps.
    overlap, rate : (..., n_contacts) array
        Overlap [m] and overlap rate [m/s].
    """
    limit, residual = (model.remembered(name) for name in ("elastic_limit", "residual_overlap"))
    is_open, elastic, elastoplastic, plastic, unloading, reloading = range(len(PHASES))
    dent = h[..., residual, :] if residual >= 0 else 0.0
    states = np.where(overlap - dent > OPEN, elastic, is_open)
    if min(limit, residual) < 0:
        return states
    first, which = kinds_of_columns((c,))
    kinds = [tuple(column) for column in c[:, first].T.tolist()]
    fresh = np.array([model.functions.history_of(kind)[limit] for kind in kinds])[which]
    full = np.array([model.law.plastic_overlap(kind) for kind in kinds])[which]
    deepest = np.maximum(h[..., limit, :], overlap)
    loading = np.where(deepest >= full, plastic, elastoplastic)
    back = np.where(rate > 0.0, reloading, unloading)
    dented = np.where(overlap >= deepest, loading, back)
    return np.where((states != is_open) & (deepest > fresh), dented, states)


# --------------------------------------------------------------------------------------------------
# Time at which the first pulse has passed a sensor of a case whose run was too short for it.

# Bead-steps of all the runs that look for the pulse, our choice: about a second.
MOST_BEAD_STEPS = 1e9
# Samples of each of these runs, our choice: a pulse at the end of a run then has ten and more.
SAMPLES_PER_RUN = 2000


def no_pulse_yet(result: Result) -> bool:
    """Return whether a complete run has sensors and none of them has a complete pulse."""
    pulses = sensor_pulses(result)
    return (
        result.status is Status.COMPLETE
        and bool(pulses)
        and not any(pulse.complete for pulse in pulses)
    )


def time_needed(case: Case) -> tuple[float, int] | None:
    """Estimate the end time [s] at which the first sensor has a complete pulse, and its bead.

    The case runs again with coarser samples and twice the end time, until a sensor has a pulse.
    The time is that of the peak and half the width of the pulse behind it, from the run with the
    step of the case.

    Returns
    -------
    tuple of float and int, or None
        None if no pulse arrives within a fixed number of bead-steps, or the case allows no later
        end, for example because the table of a drive ends.
    """
    end, spent = case.time.end, 0.0
    _, contacts, step = prepare(case)
    bodies = contacts.c.shape[1]
    while True:
        end *= 2.0
        spent += bodies * end / step.value
        if not spent < MOST_BEAD_STEPS:
            return None
        changes = {
            "time.end": end,
            "sensors.interval": end / SAMPLES_PER_RUN,
            "sensors.contacts": [],
            "sensors.arrival": "peak",
            "snapshots": None,
            "energy.interval": end / 200.0,
        }
        try:
            pulses = sensor_pulses(run_to_end(case.replace(changes)))
        except GranchainError:
            return None
        ends = [
            (pulse.arrival + pulse.width, pulse.bead)
            for pulse in pulses
            if pulse.complete and math.isfinite(pulse.arrival + pulse.width)
        ]
        if ends:
            return min(ends)


# --------------------------------------------------------------------------------------------------
# End of a run of a chain or a mechanism.

# Fraction of the bound on the energy balance error above which a run warns.
WARNED = 0.1


def about_laws(laws: Iterable[tuple[str, bool]]) -> list[Message]:
    """Return messages about the verification of laws.

    Each law is given by its name and by whether it is used as published.
    """
    messages = [about_certificate(law_named(name), as_printed) for name, as_printed in laws]
    return [message for message in messages if message is not None]


def about_allowed_step(allowed: float, step: TimeStep, what: str) -> list[Message]:
    """Return a warning if the stability limit is below two time steps.

    `allowed` is the smallest stability limit during the run [s].
    """
    if allowed >= 2.0 * step.value:
        return []
    sentence = (
        f"the stability limit decreased to {allowed:.4g} s during the run, less than twice the "
        f"time step. The motion of the {what} may be inaccurate. Choose a smaller step."
    )
    return [Message(sentence, warning=True)]


def relative_residual(ledger: Mapping[str, np.ndarray]) -> float:
    """Return the maximum energy balance error relative to the energy supplied.

    `ledger` has the variable names of the output file. The result is 0 if it has no entry.
    """
    residual = ledger["energy_residual"]
    if not residual.size:
        return 0.0
    kinetic, stored = kinetic_and_stored(ledger)
    supplied = supplied_energy(kinetic, ledger["energy_external"], stored)
    return float(residual_share(residual, supplied, stored).max())


def result_and_problem(
    status: Status,
    data: Mapping[str, np.ndarray],
    *,
    case: Any,
    step: TimeStep,
    done: int,
    location: str,
    messages: Sequence[Message],
    **more: Any,
) -> tuple[Result, str]:
    """Return the result of a run and the reason of its failure.

    The reason is empty on success.

    Parameters
    ----------
    status : Status
        Status from the engine. If the energy balance error exceeds the bound of the case, the
        status becomes LEDGER_OPEN.
    data : mapping of str to array
        Variables under the names of the output file.
    done : int
        Number of steps done.
    location : str
        Contact or body at which a failed run stopped.
    case, messages, more
        See `Result`.
    """
    bound, problem = case.energy.bound, ""
    residual = relative_residual(data) if "energy_residual" in data else 0.0
    if status.failed:
        done = min(done, step.n_steps)
        stopped = (
            f"the run stopped at t = {done * step.value:.6g} s (step {done} of {step.n_steps}) at "
            f"{location}: {status.sentence} The time step was {step.value:.4g} s. The stability "
            f"limit at the start was {step.limit:.4g} s."
        )
        problem = "\n".join([stopped, *map(str, messages)])
    elif not residual <= bound:  # nan is not below the bound either
        status = Status.LEDGER_OPEN
        problem = (
            f"energy: the balance error is {residual:.3g} of the energy supplied. The bound is "
            f"{bound:.3g} ([energy] bound). {status.sentence}"
        )
    if status is not Status.LEDGER_OPEN and not residual <= WARNED * bound:
        sentence = (
            f"the energy balance error is {residual:.3g} of the energy supplied, so results may "
            "be inaccurate. Choose a smaller step."
        )
        messages = [*messages, Message(sentence, warning=True)]
    result = Result(data, case=case, status=status, time_step=step.value, messages=messages, **more)
    return result, problem
