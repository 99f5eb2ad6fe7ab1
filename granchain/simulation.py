"""Run a case: case, chain, contacts, time step, loop, result."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

import numpy as np

from granchain.analysis.definition import ForceJumps, first_pulse, largest_jump, static_force
from granchain.case import Case, check_case
from granchain.chain import FREE, RIGID, WALL, Chain, End, check_loads
from granchain.contact import law_named
from granchain.contact.law import ContactLaw
from granchain.contact.law_record import LawRecord
from granchain.contact.pair import Pair
from granchain.engine import fields
from granchain.engine.bands import Bands
from granchain.engine.law_hash import record_of
from granchain.engine.outcome import contact_radii, losses_for_good
from granchain.engine.scans import alike
from granchain.engine.setup import Contacts, RowInputs, contacts_together
from granchain.engine.state import Recording, State
from granchain.engine.timestep import Planned, TimeStep, time_steps_together
from granchain.errors import CaseError, FileError, LawError, RunError
from granchain.keys import Problems, check_whole
from granchain.run_end import (
    Certificates,
    about_allowed_step,
    about_step,
    balanced,
    open_ledger,
    relative_residual,
    stopped,
)
from granchain.status import Message, Status
from granchain.store import Checkpoint, Result
from granchain.store.checkpoint import Saved

# Wall time that a block of steps may take [s]: how soon an interruption is heard.
BLOCK_SECONDS = 0.02
# Of a long chain [s], for several bands of steps: an interruption is still heard within half a
# second, on a machine with other work too.
TILED_SECONDS = 0.2
# Steps from a look at the state to the next, where a block has less.
INSPECTED = 256
# Threads, ours: more than any machine has processors.
MOST_THREADS = 4096
# Overlap over the smaller radius above which a run warns, ours. Hertz's theory is of contacts small
# beside the bodies; with its contact radius a, a^2 = R overlap (Johnson 1985, Contact Mechanics,
# eq. (4.23), doi:10.1017/CBO9781139171731), a is .16 of the radius of two equal spheres there.
DEEP = 0.05
# Rows of the ledger: what is lost in dents; and work from outside, with its parts behind it.
_PLASTIC, _EXTERNAL = (fields.Energies._fields.index(name) for name in ("plastic", "external"))
# Body-steps of the first block, before the wall time of a step is known: some milliseconds at tens
# of nanoseconds each.
FIRST_BLOCK = 100_000


class Watch(Protocol):
    """What looks on while a run advances."""

    def advance(self, fraction: float) -> None:
        """The part of the run that is done, 0 to 1; raising KeyboardInterrupt ends the run."""

    def resume(self, fraction: float) -> None:
        """The part that was done when the checkpoint was written from which a run goes on."""


def run(
    case: Case,
    *,
    watch: Watch | None = None,
    checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    resume: bool = False,
    threads: int = 1,
) -> Result:
    """Advance a chain to its end time.

    Parameters
    ----------
    case : Case
        What to run (granchain.load_case).
    watch : object with advance(fraction), optional
        Called between blocks of steps with the part that is done; where the run resumes,
        resume(fraction) with the part done before; and, where it has it, begin(size) before the
        first step with what will be recorded [bytes].
    checkpoint : Checkpoint or path, optional
        File that is written every 30 s, and when the run is interrupted, from which another process
        can go on; it stays when the run has ended.
    resume : bool
        Go on from the checkpoint, to the same bits as a run without a break.
    threads : int
        Threads that advance a chain of some ten thousand beads and more, to the same bits; a
        shorter one takes one.

    Returns
    -------
    Result
        In memory; nothing but checkpoints is written.

    Raises
    ------
    CaseError, LawError
        Where the case cannot be run: see the message.
    RunError
        Where the run failed: unstable, not finite, outside the law, energy not closed; `.result`
        holds what was computed.
    FileError
        Where there is no checkpoint to go on from, or one of another run.
    """
    started, clock = datetime.now(UTC), time.perf_counter()
    check_case(case)
    check_threads(threads)
    chain, contacts, time_step = prepare(case)
    state = State(contacts, chain, time_step, recording_of(case))
    if watch is not None and hasattr(watch, "begin"):
        watch.begin(state.size)
    journal = Journal(case, state, started.isoformat(timespec="seconds"), clock, checkpoint)
    if resume:
        journal.go_on(watch)
    status = Status.RUNNING
    try:
        status = march(state, watch, journal, threads)
        wall_time = journal.wall_time
    except KeyboardInterrupt:
        wall_time = journal.wall_time
        # an interruption that comes with the last step stops nothing
        status = Status.INTERRUPTED if state.step <= time_step.n_steps else Status.COMPLETE
        journal.save()
    ((result, problem),) = ended([Ended(case, chain, state, status)], journal.started, wall_time)
    if problem:
        raise RunError(problem, result)
    return result


def check_threads(threads: int) -> None:
    """Refuse what is no number of threads."""
    problems = Problems()
    if not check_whole("threads", threads, problems, "leave it out", most=MOST_THREADS):
        raise CaseError(problems.sentences)


class Ended(NamedTuple):
    """A run that has stopped: what it was, how far it came, and how it ended."""

    case: Case
    chain: Chain
    state: State
    status: Status


def ended(runs: Sequence[Ended], started: str, wall_time: float) -> Iterator[tuple[Result, str]]:
    """What runs give back, each with why it failed; nothing where it did not."""
    found = outcomes_of(runs)
    certificates = Certificates()
    for run, outcome in zip(runs, found, strict=True):
        messages = messages_of_chain(run.state, run.case, certificates)
        result = result_of(run, outcome, messages, started, wall_time)
        if not result.status.failed:
            yield result, ""
        elif run.status.failed:
            yield result, "\n".join([failure(run.state, run.status), *map(str, messages)])
        else:
            residual = relative_residual(
                {name: variable.data for name, variable in result.variables.items()}
            )
            yield result, open_ledger(residual, run.case.energy.bound)


def outcomes_of(runs: Sequence[Ended]) -> list[dict[str, np.ndarray]]:
    """What each contact of some runs has come to, by name; of a run that failed, nothing."""
    found: list[dict[str, np.ndarray]] = [{} for _ in runs]
    for places in alike([run.state.model for run in runs]):
        whole = [place for place in places if not runs[place].status.failed]
        states = [runs[place].state for place in whole]
        if whole and states[0].model.law.has_contact_radius():
            radii = [
                runs[place].chain.effective_radii()[runs[place].chain.contacts] for place in whole
            ]
            for place, values in zip(whole, contact_radii(states, radii), strict=True):
                found[place]["contact_radius"] = values
        kept = [place for place in whole if runs[place].state.recording.ledger]
        if kept:
            for place, plastic in zip(
                kept, losses_for_good([runs[place].state for place in kept]), strict=True
            ):
                found[place] |= losses_of(runs[place].state, plastic)
    return found


class Journal:
    """When a run began, what it has taken, and its checkpoint.

    Parameters
    ----------
    case : Case
    state : State
    started : str
        UTC, ISO 8601.
    clock : float
        time.perf_counter() at the start [s].
    checkpoint : Checkpoint or path, optional
    """

    def __init__(
        self,
        case: Case,
        state: State,
        started: str,
        clock: float,
        checkpoint: Checkpoint | str | os.PathLike[str] | None,
    ):
        self.started = started
        self._case, self._state, self._clock = case, state, clock
        self._checkpoint = (
            checkpoint
            if checkpoint is None or isinstance(checkpoint, Checkpoint)
            else Checkpoint(checkpoint)
        )

    @property
    def wall_time(self) -> float:
        """Wall time of the run [s], over all processes that had a part in it."""
        return time.perf_counter() - self._clock

    def save(self) -> None:
        """Write the checkpoint."""
        if self._checkpoint is not None:
            saved = Saved(self._state.arrays(), self.started, self.wall_time, self._state.settled)
            self._checkpoint.save(
                saved,
                case_sha256=self._case.sha256,
                law=self._state.law_record().text,
                set_up=self._state.set_up,
            )

    def save_if_due(self) -> None:
        """Write the checkpoint where it is time."""
        if self._checkpoint is not None and self._checkpoint.due:
            self.save()

    def go_on(self, watch: Watch | None) -> None:
        """Take the state, and the time it took, from the checkpoint."""
        if self._checkpoint is None:
            raise FileError("resume: got no checkpoint, allowed the path of one; give checkpoint=")
        saved = self._checkpoint.load(
            case_sha256=self._case.sha256,
            law=self._state.law_record().text,
            set_up=self._state.set_up,
        )
        try:
            self._state.take(saved.arrays)
        except ValueError as error:
            raise FileError(f"{self._checkpoint.path}: {error}; begin anew") from None
        self.started, self._clock = saved.started, self._clock - saved.wall_time
        if watch is not None:
            watch.resume(min(1.0, self._state.step / self._state.time_step.n_steps))


def prepare(case: Case) -> tuple[Chain, Contacts, TimeStep]:
    """Chain, contacts and time step of a case."""
    (made,) = prepare_together([case])
    return made


def prepare_together(cases: Sequence[Case]) -> list[tuple[Chain, Contacts, TimeStep]]:
    """Chain, contacts and time step of many cases; what is the same in several of them is made
    once.

    Raises
    ------
    CaseError, LawError
        For the first case that cannot be set up.
    """
    made = contacts_of_cases(cases)
    with np.errstate(all="ignore"):
        planned = [
            Planned(contacts, chain, case.time.step, case.time.end, case.time.force_step)
            for (chain, contacts), case in zip(made, cases, strict=True)
        ]
        return [
            (*both, step) for both, step in zip(made, time_steps_together(planned), strict=True)
        ]


def law_records(cases: Sequence[Case]) -> list[LawRecord | None]:
    """What the law of each case is now; None for one that cannot be set up."""
    try:
        return [
            record_of(contacts.model, contacts.c[:, chain.contacts])
            for chain, contacts in contacts_of_cases(cases)
        ]
    except (CaseError, LawError):
        half = len(cases) // 2
        return [None] if not half else law_records(cases[:half]) + law_records(cases[half:])


def contacts_of_cases(cases: Sequence[Case]) -> list[tuple[Chain, Contacts]]:
    """Chain and contacts of many cases; see `prepare_together`."""
    # overflow is reported later as a non-finite result
    with np.errstate(all="ignore"):
        made: dict[tuple, tuple[Chain, Pair, np.ndarray]] = {}
        rows: dict[type[ContactLaw], list[tuple[int, RowInputs]]] = {}
        chains = []
        for place, case in enumerate(cases):
            key = all_but_the_speed(case)
            if key not in made:
                chain = chain_of(case)
                check_loads(chain)
                made[key] = chain, chain.pair(), chain.overlap_limits()
            chain, pair, limits = made[key]
            if case.striker is not None and chain.velocity[0] != case.striker.speed:
                velocity = chain.velocity.copy()
                velocity[0] = case.striker.speed
                chain = replace(chain, velocity=velocity)
            chains.append(chain)
            others = tuple(
                (chain.between(*materials), inputs) for materials, inputs in case.pair_inputs()
            )
            row = RowInputs(chain, pair, limits, case.law_inputs(), others)
            rows.setdefault(law_named(case.contact.law), []).append((place, row))
        contacts: dict[int, Contacts] = {}
        for law, of_law in rows.items():
            try:
                found = contacts_together(law, [row for _, row in of_law])
            except LawError as error:
                raise CaseError(str(error)) from None
            contacts |= zip((place for place, _ in of_law), found, strict=True)
        return [(chain, contacts[place]) for place, chain in enumerate(chains)]


def all_but_the_speed(case: Case) -> tuple:
    """What cases have in common whose chains differ in the striker's speed at most: a change of
    a case has the tables not changed."""
    if case.has_drives:
        return (id(case),)
    striker = case.striker and repr(
        {name: value for name, value in case.striker if name != "speed"}
    )
    return id(case.chain), id(case.ends), id(case.initial), striker


def chain_of(case: Case) -> Chain:
    """The row of bodies that a case describes."""
    bodies = case.bodies()
    # the beads of a segment share one material: a chain has few to compare
    met = {id(material): material for material in bodies["material"]}
    materials = list(dict.fromkeys(met.values()))
    index = {material: i for i, material in enumerate(materials)}
    place = {known: index[material] for known, material in met.items()}
    return Chain(
        radius=bodies["radius"],
        mass=bodies["mass"],
        velocity=bodies["speed"],
        displacement=bodies["displacement"] if bodies["displacement"].any() else None,
        drag=bodies["drag"] if bodies["drag"].any() else None,
        material=tuple(materials),
        material_index=np.array([place[id(material)] for material in bodies["material"]]),
        gap=bodies["gap"],
        left=end_of(case, "left"),
        right=end_of(case, "right"),
        has_striker=case.striker is not None,
        precompression=case.chain.precompression,
        gravity=case.chain.gravity,
    )


def end_of(case: Case, side: str) -> End:
    """One end of the chain."""
    kind, material = getattr(case.ends, side), getattr(case.ends, f"{side}_material")
    if kind == "free":
        return End(FREE)
    if kind in ("wall", "rigid"):
        return End(WALL, RIGID if kind == "rigid" else material)
    return End(kind.drive, material, *case.drive(side))


def recording_of(case: Case) -> Recording:
    """What the case asks to record."""
    return Recording(
        sensor_beads=tuple(case.sensors.beads),
        sensor_contacts=tuple(case.sensors.contacts),
        interval=case.sensors.interval,
        snapshot_interval=case.snapshots.interval if case.snapshots else None,
        ledger=case.energy.ledger,
        energy_interval=case.energy.interval,
    )


def march(state: State, watch: Watch | None, journal: Journal, threads: int = 1) -> Status:
    """Blocks of steps until the end; each block short enough that an interruption is heard at
    once."""
    bands, seconds = Bands(state, threads), TILED_SECONDS if state.features.tiled else BLOCK_SECONDS
    block, status, looked = max(1, FIRST_BLOCK // state.chain.n_bodies), Status.RUNNING, 0
    while status is Status.RUNNING:
        clock = time.perf_counter()
        # a look at the state costs as much as some steps
        looks = state.step + block >= looked + INSPECTED
        status = bands.advance(block, looks)
        looked = state.step if looks else looked
        each = (time.perf_counter() - clock) / block
        block = max(1, min(4 * block, int(seconds / max(each, 1e-9)), state.time_step.n_steps))
        if watch is not None:
            watch.advance(min(1.0, state.step / state.time_step.n_steps))
        if status is Status.RUNNING:
            journal.save_if_due()
    return status


def result_of(
    run: Ended,
    outcome: dict[str, np.ndarray],
    messages: list[Message],
    started: str,
    wall_time: float,
) -> Result:
    """The state of a run as variables with names."""
    case, chain, state, status = run
    n = chain.n_bodies
    dt, records = state.time_step.value, state.records
    exists = chain.contacts
    samples, snapshots, entries = (
        int(state.clock.sample),
        int(state.clock.snapshot),
        int(state.clock.entry),
    )
    data: dict[str, np.ndarray] = {
        "bead": chain.body_labels,
        "radius": chain.radius,
        "mass": chain.mass,
        "position": chain.positions(),
        "final_displacement": state.bodies.u[1 : n + 1].copy(),
        "final_velocity": state.bodies.v[1 : n + 1].copy(),
        "contact": chain.contact_labels[exists],
        "contact_peak_force": state.contacts.peak[exists].copy(),
    }
    if state.recording.sensor_beads or state.recording.sensor_contacts:
        data["time"] = state.sample_step[:samples] * dt
    if state.recording.sensor_beads:
        data["sensor_bead"] = np.array(state.recording.sensor_beads, dtype=np.int64)
        data["sensor_force"] = records.sensor_force[:samples]
        if state.model.law.has_jumps():
            beside = records.jump_force[:samples], records.jump_time[:samples]
            data["sensor_beside_force"], data["sensor_beside_time"] = beside
            jumps = map(ForceJumps, *(side.T for side in beside))
            traces = zip(data["sensor_force"].T, jumps, strict=True)
            largest = [
                largest_jump(jump, first_pulse(force, static_force(force)))
                for force, jump in traces
            ]
            data["sensor_jump_force"], data["sensor_jump_time"] = np.array(largest).T
    if state.recording.sensor_contacts:
        data["sensor_contact"] = np.array(state.recording.sensor_contacts, dtype=np.int64)
        data["contact_force"], data["contact_overlap"] = (
            records.contact_force[:samples],
            records.contact_overlap[:samples],
        )
    if records.snapshot_at.size:
        data["snapshot_time"] = records.snapshot_at[:snapshots] * dt
        data["displacement"], data["velocity"] = (
            records.displacement[:snapshots],
            records.velocity[:snapshots],
        )
    if "contact_radius" in outcome:
        data["contact_radius"] = outcome["contact_radius"]
    history, record = (
        tuple(quantity for quantity in state.model.history if quantity.output),
        state.law_record(),
    )
    for quantity, row in zip(state.model.history, state.h, strict=True):
        if quantity.output:
            data[quantity.name] = row[exists].copy()
    if records.energy_at.size and entries:
        data |= ledger_of(state, entries)
        data |= outcome
        status, more = balanced(status, data, case.energy.bound)
        messages = [*messages, *more]
    return Result(
        data,
        case=case,
        law=state.model.name,
        status=status,
        time_step=dt,
        history=history,
        messages=messages,
        provenance={
            "started": started,
            "wall_time": wall_time,
            "law_sha256": record.sha256,
            "law_json": record.text,
        },
    )


def ledger_of(state: State, entries: int) -> dict[str, np.ndarray]:
    """The energy ledger: where the energy put in is, at each instant [J]."""
    # a row for each energy
    table = np.array(state.records.energies[:entries].T, order="C")
    energies = fields.Energies(*table)
    # what the static start had already lost to yield is no loss of the run
    table[_PLASTIC] -= energies.plastic[0]
    parts = ("gravity", "precompression", "drives")
    data = {
        f"energy_{name}": values
        for name, values in energies._asdict().items()
        if name not in parts or values.any()
    }
    data["energy_time"] = state.records.energy_at[:entries] * state.time_step.value
    with np.errstate(invalid="ignore"):  # of a run that failed
        held = np.ascontiguousarray(table[:_EXTERNAL].T).sum(axis=1)
        if state.features.drag:
            data["energy_drag"] = state.records.drag[:entries].copy()
            held += data["energy_drag"]
        data["energy_residual"] = held - energies.external - held[0]
    return data


def losses_of(state: State, plastic: np.ndarray) -> dict[str, np.ndarray]:
    """Where in the chain the energy went: what each contact has lost, over the run [J]."""
    exists, contacts = state.chain.contacts, state.contacts
    viscous = (
        contacts.viscous_total[exists]
        + contacts.viscous_rest[exists]
        + contacts.viscous_work[exists]
    )
    clamp = contacts.clamp_total[exists] + contacts.clamp_rest[exists] + contacts.clamp_work[exists]
    return {"contact_plastic": plastic, "contact_viscous": viscous, "contact_clamp": clamp}


def messages_of_chain(state: State, case: Case, certificates: Certificates) -> list[Message]:
    """What the user should know of the run."""
    notes = [*impact_speeds(case), *ended_drives(state, case), *opened_contacts(state)]
    messages = [
        about_step(state.time_step),
        *certificates.about(case.laws),
        *map(Message, notes),
        *deep(state),
    ]
    if state.step:
        messages += about_allowed_step(state.clock.allowed_step, state.time_step, "chain")
    if state.model.coefficient("lowest_force") >= 0 and state.recording.ledger:
        clamped = int(state.clock.clamped)
        steps = max(1, state.step) * int(state.chain.contact_exists.sum())
        part = 100.0 * clamped / steps
        messages.append(
            Message(
                f"the clamp at zero force acted in {clamped} of {steps} contact-steps ({part:.3g} "
                "%)"
            )
        )
    floors = state.model.remembered("floored")
    if floors >= 0:
        floored = int(state.h[floors].sum())
        own = state.c[state.model.coefficient("impact_speed_floor"), state.chain.contacts]
        floor = " to ".join(f"{value:.4g}" for value in sorted({own.min(), own.max()}))
        messages.append(
            Message(
                f"the floor of the impact speed, {floor} m/s, decided {floored} onsets of contact"
            )
        )
    if state.model.as_printed and state.recording.ledger and state.records.energy_at.size:
        created = max(
            0.0, float(-np.minimum(state.energies.plastic[: int(state.clock.entry)], 0.0).min())
        )
        sentence = (
            f"as printed, without the energy guard: the contacts had created up to {created:.4g} "
            "J at an instant"
        )
        messages.append(Message(sentence))
    return messages


def impact_speeds(case: Case) -> list[str]:
    """Messages about the impact speed that the law takes, where it is one number for all onsets."""
    named = [
        ("", case.law_inputs()),
        *((f" between {one} and {other}", inputs) for (one, other), inputs in case.pair_inputs()),
    ]
    speeds = [(words, getattr(inputs, "impact_speed", None)) for words, inputs in named]
    return [
        f"impact_speed{words}: {speed:.6g} m/s"
        for words, speed in speeds
        if isinstance(speed, (int, float))
    ]


def ended_drives(state: State, case: Case) -> list[str]:
    """Messages about drives that have ended before the run."""
    said = []
    for side, end in (("left", state.chain.left), ("right", state.chain.right)):
        if end.time is not None and end.value is not None and end.time[-1] < case.time.end:
            unit = "m" if end.has_wall else "N"
            said.append(
                f"the drive of the {side} end ends at {end.time[-1]:.6g} s, and holds its last "
                f"value, {end.value[-1]:.6g} {unit}"
            )
    return said


def opened_contacts(state: State) -> list[str]:
    """A message where contacts that are pressed together at rest are seen open in what was
    recorded."""
    chain, records, plan = state.chain, state.records, state.recording
    pressed = chain.static_forces() > 0.0
    if not pressed.any():
        return []
    samples, snapshots, dt = (
        int(state.clock.sample),
        int(state.clock.snapshot),
        state.time_step.value,
    )
    seen: list[tuple[float, str]] = []
    # a bead feels none where both its contacts are open
    of_beads = pressed[records.sensor_left] | pressed[records.sensor_right]
    of_contacts = pressed[records.recorded]
    for name, labels, values, counted in (
        ("bead", plan.sensor_beads, records.sensor_force, of_beads),
        ("contact", plan.sensor_contacts, records.contact_overlap, of_contacts),
    ):
        # a study records more behind what is asked for
        places = np.flatnonzero(counted[: len(labels)])
        none = values[:samples, places] <= 0.0 if places.size else np.zeros((0, 0), dtype=bool)
        if none.any():
            row = int(np.argmax(none.any(axis=1)))
            seen.append(
                (
                    float(state.sample_step[row]) * dt,
                    f"{name} {labels[places[int(np.argmax(none[row]))]]}",
                )
            )
    # those at ends that are driven move in a way that snapshots do not show
    within = np.flatnonzero(pressed[1:-1]) + 1
    start = state.contacts.start[within]
    for row in range(snapshots if within.size else 0):
        u = records.displacement[row]
        apart = start + u[within - 1] - u[within] <= 0.0
        if apart.any():
            seen.append(
                (
                    float(records.snapshot_at[row]) * dt,
                    f"contact {chain.contact_labels[within[int(np.argmax(apart))]]}",
                )
            )
            break
    if not seen:
        return []
    when, where = min(seen)
    return [
        f"contacts that are pressed together at rest have opened, first seen at {where} at "
        f"{when:.4g} s: waves in this run are not small beside the static load"
    ]


def deep(state: State) -> list[Message]:
    """A warning where the overlap of a contact is no longer small beside the bodies."""
    chain = state.chain
    if not isinstance(chain, Chain):
        return []
    overlap, limits = state.contacts.reach[: chain.n_bodies + 1], chain.overlap_limits()
    with np.errstate(invalid="ignore"):
        part = np.where(chain.contact_exists, overlap / limits, 0.0)
    k = int(np.argmax(part))
    if not DEEP < part[k] < np.inf:
        return []
    radius = math.sqrt(float(chain.effective_radii()[k] * overlap[k]))
    sentence = (
        f"contact {int(chain.contact_labels[k])} had an overlap of {overlap[k]:.3g} m, "
        f"{100.0 * part[k]:.2g} % of the smaller radius: by Hertz's theory, whose contacts are "
        f"small beside the bodies, a contact radius of {radius:.3g} m, {radius / limits[k]:.2g} of "
        f"it; allowed without this warning: an overlap to {100.0 * DEEP:.0f} %; load it less, or "
        "take a stiffer material"
    )
    return [Message(sentence, warning=True)]


def failure(state: State, status: Status) -> str:
    """The sentence of a run that the engine has stopped."""
    where, first = int(state.clock.where), int(state.chain.body_labels[0])
    place = (
        f"contact {where - 1 + first}"
        if status in (Status.BEYOND_RADIUS, Status.OUTSIDE_LAW)
        else f"bead {max(where - 1, 0) + first}"
    )
    return stopped(status, state.step, state.time_step, place)
