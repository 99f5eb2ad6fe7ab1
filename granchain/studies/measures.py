"""Numbers of many cases, without a result for each: advanced in stacks on threads, each
measured by the thread that has advanced it."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from granchain.analysis.arrays import first_pulses, passed_on, wave_speeds
from granchain.analysis.definition import ForceJumps
from granchain.case import Case
from granchain.engine.law_hash import functions_sha256
from granchain.engine.state import Recording, State
from granchain.errors import GranchainError, GranchainWarning, text_of
from granchain.simulation import Ended, ended, recording_of
from granchain.status import Status
from granchain.store import Result
from granchain.store.study import numbers_of_text, packed
from granchain.studies.many import LOT
from granchain.studies.members import Batch, Members, Ready, check_members, lots, memory_of

# Members that are set up and advanced together: few, so that all threads have work to the end.
MEASURED_TOGETHER = 128

SummaryFunction = Callable[[Result], Mapping[str, float]]


# Numbers of each sensor, of each member.
OF_SENSOR = ("peak", "arrival", "width", "merged")
OF_MEMBER = (
    "wave_speed",
    "wave_speed_sensors",
    "transmitted_momentum",
    "transmitted_energy",
    "time_step",
)


@dataclass
class Measures:
    """What became of each case, in their order.

    Numbers of a case that failed, or was not computed, are nan.

    Attributes
    ----------
    sensor_bead : tuple of int
        Labels of the sensors; all cases have as many.
    status : list of Status
    message : list of str
        Why it failed, or was not computed; empty where it is complete.
    law : list of str
        What its law was: the text of a `LawRecord`; empty for one that was not set up.
    peak, arrival, width : array (run, sensor)
        Of the first pulse: peak force [N], its time [s], width at half height [s].
    merged : array (run, sensor)
        1 where a second, larger pulse has passed the first before it had fallen to half, see
        `granchain.analysis.has_merged`; else 0.
    wave_speed : array (run,)
        [m/s].
    wave_speed_sensors : array (run,)
        How many sensors the wave speed is from; 0 without one.
    transmitted_momentum, transmitted_energy : array (run,)
        Momentum and kinetic energy of the last bead when its first pulse has passed, over the
        striker's [1].
    time_step : array (run,)
        [s].
    time : list of array (sample,), force : list of array (sample, sensor)
        Where traces are asked for: [s], [N]; empty arrays for a case that was not computed.
    summaries : list of dict
        Where a summary is asked for; empty for a case that failed.
    interrupted : bool
        Whether an interruption was heard, which may have come with the last case.
    """

    sensor_bead: tuple[int, ...]
    status: list[Status]
    message: list[str]
    law: list[str]
    peak: np.ndarray
    arrival: np.ndarray
    width: np.ndarray
    merged: np.ndarray
    wave_speed: np.ndarray
    wave_speed_sensors: np.ndarray
    transmitted_momentum: np.ndarray
    transmitted_energy: np.ndarray
    time_step: np.ndarray
    time: list[np.ndarray] = field(default_factory=list)
    force: list[np.ndarray] = field(default_factory=list)
    summaries: list[dict[str, float]] = field(default_factory=list)
    interrupted: bool = False

    @classmethod
    def empty(cls, cases: Sequence[Case]) -> Measures:
        """Nothing computed yet."""
        n, sensors = len(cases), len(cases[0].sensors.beads)
        pulses: Any = {name: np.full((n, sensors), math.nan) for name in OF_SENSOR}
        of_run: Any = {name: np.full(n, math.nan) for name in OF_MEMBER}
        return cls(
            sensor_bead=tuple(cases[0].sensors.beads),
            status=[Status.INTERRUPTED] * n,
            message=["the study was interrupted before this member had begun"] * n,
            law=[""] * n,
            time=[np.zeros(0)] * n,
            force=[np.zeros((0, sensors))] * n,
            summaries=[{} for _ in range(n)],
            **pulses,
            **of_run,
        )

    @property
    def missing(self) -> list[int]:
        """Places of the members that are not computed."""
        return [place for place, status in enumerate(self.status) if status is Status.INTERRUPTED]

    def record(self, place: int, traces: bool) -> dict[str, Any]:
        """What became of a member, as plain data of JSON."""
        found: dict[str, Any] = {
            "status": self.status[place].label,
            "message": self.message[place],
            "law": self.law[place],
        }
        found |= {
            name: [_or_none(value) for value in getattr(self, name)[place].tolist()]
            for name in OF_SENSOR
        }
        found |= {name: _or_none(float(getattr(self, name)[place])) for name in OF_MEMBER}
        if self.summaries[place]:
            found["summary"] = {
                name: _or_none(value) for name, value in self.summaries[place].items()
            }
        if traces:
            found |= {"time": packed(self.time[place]), "force": packed(self.force[place])}
        return found

    def take(self, place: int, record: Mapping[str, Any]) -> None:
        """Put what `record` gave at a place."""
        for name in OF_SENSOR:
            getattr(self, name)[place] = [_or_nan(value) for value in record[name]]
        for name in OF_MEMBER:
            getattr(self, name)[place] = _or_nan(record[name])
        self.summaries[place] = {
            name: _or_nan(value) for name, value in record.get("summary", {}).items()
        }
        if "force" in record:
            self.time[place], self.force[place] = (
                numbers_of_text(record["time"]),
                numbers_of_text(record["force"], len(self.sensor_bead)),
            )
        self.message[place], self.law[place] = record["message"], record["law"]
        # last: what is no whole record has not been taken
        self.status[place] = next(status for status in Status if status.label == record["status"])


def _or_none(value: float) -> float | str | None:
    """A number as JSON has it, which has none that are not finite."""
    return value if math.isfinite(value) else None if math.isnan(value) else repr(value)


def _or_nan(value: float | str | None) -> float:
    return math.nan if value is None else float(value)


def measure(
    cases: Sequence[Case],
    threads: int | None = None,
    *,
    traces: bool = False,
    summary: SummaryFunction | None = None,
    done: Callable[[Sequence[int], Measures], Any] | None = None,
) -> Measures:
    """Advance cases and measure their first pulses; the numbers are those of `granchain.run` and
    `granchain.analysis.summary`.

    Beside the case's own sensors, the last bead's contacts are recorded. Ledger, snapshots and
    recorded contacts of the cases are left out, unless a summary may look at them.

    Parameters
    ----------
    cases : sequence of Case
        All with as many sensors.
    threads : int, optional
        As many as there are processors for this process, unless given.
    traces : bool
        Keep the force of every sensor.
    summary : function, optional
        Takes the Result of a case, gives a dict of numbers.
    done : function, optional
        Called with the places of members that are measured, and what there is so far.

    Raises
    ------
    CaseError
        Where there is nothing to run, or something that is no case.
    """
    threads = check_members(cases, threads)
    found = Measures.empty(cases)
    work = Gathering(found, traces, summary)
    members = Members(cases, threads, work.take, work.refuse, work.recording)

    def report(places: Sequence[int]) -> None:
        if done is not None and places:
            done(places, found)

    # each thread holds a lot
    members.advance(lots(memory_of(cases), LOT / 2, MEASURED_TOGETHER), report)
    if members.interrupted:
        found.interrupted = True
        count = len(cases) - len(found.missing)
        warnings.warn(
            f"interrupted: {count} of {len(cases)} members are done", GranchainWarning, stacklevel=2
        )
    return found


def measure_all(cases: Sequence[Case], threads: int | None = None, **options: Any) -> Measures:
    """As `measure`; an interruption ends the call, where a part of the members is of no use."""
    found = measure(cases, threads, **options)
    if found.interrupted or found.missing:
        raise KeyboardInterrupt
    return found


def watched(case: Case, recording: Recording) -> Recording:
    """A recording with what says how the last bead is struck, behind all else: its sensor, or
    its contacts where it touches a wall."""
    last = case.beads
    if not can_transmit(case):
        return recording
    if not case.ends.has_wall("right"):
        if last in recording.sensor_beads:
            return recording
        return replace(recording, sensor_beads=(*recording.sensor_beads, last))
    more = tuple(
        contact for contact in (last - 1, last) if contact not in recording.sensor_contacts
    )
    return replace(recording, sensor_contacts=(*recording.sensor_contacts, *more))


def can_transmit(case: Case) -> bool:
    """Whether there is a striker whose momentum can be passed on, and no force of its own on
    the last bead."""
    return case.begins_with_striker and not (
        case.has_drives and not isinstance(case.ends.right, str) and not case.ends.has_wall("right")
    )


class Gathering:
    """Measures members; each place is written to by one thread.

    Parameters
    ----------
    found : Measures
        Where the numbers go.
    traces, summary
        As of `measure`.
    """

    def __init__(self, found: Measures, traces: bool, summary: SummaryFunction | None):
        self._found, self._traces, self._summary = found, traces, summary
        self._started = datetime.now(UTC).isoformat(timespec="seconds")
        self._recordings: dict[tuple, Recording] = {}

    def recording(self, case: Case) -> Recording:
        """What is recorded of a case; cases that share their tables share it."""
        striker, snapshots = case.striker is None, id(case.snapshots)
        like = (
            id(case.chain),
            id(case.sensors),
            id(case.ends),
            striker,
            snapshots,
            id(case.energy),
            id(case.time),
        )
        if like not in self._recordings:
            numbers = Recording(
                sensor_beads=tuple(case.sensors.beads), interval=case.sensors.interval, ledger=False
            )
            # a summary may look at all that the case records
            self._recordings[like] = watched(
                case, numbers if self._summary is None else recording_of(case)
            )
        return self._recordings[like]

    def refuse(self, place: int, sentence: str) -> None:
        """Take the reason of a member that cannot be set up."""
        self._found.status[place], self._found.message[place] = (
            Status.NOT_SET_UP,
            sentence.removeprefix(f"member {place}: "),
        )

    def take(self, batch: Batch) -> None:
        """Measure the members of a batch that are done."""
        found = self._found
        done = [(one, status) for one, status in batch.stopped if status is not Status.RUNNING]
        if done:
            # a batch is of one model
            functions = functions_sha256(done[0][0].state.model)
            for one, _ in done:
                found.law[one.place] = one.state.law_record(functions).text
        examined = [
            (one, status) for one, status in done if status.failed or self._summary is not None
        ]
        runs = [
            Ended(one.case, one.chain, without_watched(one), status) for one, status in examined
        ]
        for (one, _), (result, problem) in zip(
            examined, ended(runs, self._started, 0.0), strict=True
        ):
            if result.status.failed:
                found.status[one.place] = result.status
            elif self._summary is not None:
                try:
                    found.summaries[one.place] = summary_numbers(self._summary(result))
                except Exception as error:
                    problem = f"summary: got {type(error).__name__}: {text_of(error)}"
            found.message[one.place] = problem
        ready = [one for one, _ in done if not found.status[one.place].failed]
        if ready and found.sensor_bead:
            self._measure(ready)
        places = [one.place for one in ready]
        found.transmitted_momentum[places], found.transmitted_energy[places] = transmitted(ready)
        for one in ready:
            found.time_step[one.place] = one.state.time_step.value
            if self._summary is None:
                found.message[one.place] = ""
            found.status[one.place] = Status.COMPLETE

    def _measure(self, ready: list[Ready]) -> None:
        """Numbers of some members that are complete."""
        found, sensors = self._found, len(self._found.sensor_bead)
        times, force = [], []
        for one in ready:
            records, count = one.state.records, int(one.state.clock.sample)
            times.append(one.state.sample_step[:count] * one.state.time_step.value)
            force.append(records.sensor_force[:count, :sensors])
        beside = None
        smooth = not ready[0].state.model.law.has_jumps()
        if not smooth:
            beside = [
                ForceJumps(
                    one.state.records.jump_force[: len(time), :sensors],
                    one.state.records.jump_time[: len(time), :sensors],
                )
                for one, time in zip(ready, times, strict=True)
            ]
        pulses = first_pulses(times, force, beside, smooth=smooth)
        places = [one.place for one in ready]
        found.peak[places], found.arrival[places], found.width[places] = (
            pulses.peak,
            pulses.arrival,
            pulses.width,
        )
        found.merged[places] = pulses.merged
        # chains that share their radii share their positions
        known: dict[tuple, np.ndarray] = {}
        for one in ready:
            like = id(one.chain.radius), *one.case.sensors.beads
            if like not in known:
                known[like] = one.chain.positions()[
                    np.array(like[1:]) - int(one.chain.body_labels[0])
                ]
        positions = np.array(
            [known[id(one.chain.radius), *one.case.sensors.beads] for one in ready]
        )
        found.wave_speed[places] = wave_speeds(positions, pulses)
        found.wave_speed_sensors[places] = np.where(
            np.isfinite(found.wave_speed[places]), pulses.of_front.sum(axis=1), 0
        )
        if self._traces:
            for place, time, trace in zip(places, times, force, strict=True):
                found.time[place], found.force[place] = time, trace.copy()


def without_watched(one: Ready) -> State:
    """A state whose records are those that the case asks for: what `watched` has put behind
    them is left out."""
    state, asked = copy.copy(one.state), recording_of(one.case)
    beads, contacts = len(asked.sensor_beads), len(asked.sensor_contacts)
    records = state.records
    names = {
        "sensor_force": beads,
        "jump_force": beads,
        "jump_time": beads,
        "contact_force": contacts,
        "contact_overlap": contacts,
    }
    state.records = records._replace(
        **{name: getattr(records, name)[:, :length] for name, length in names.items()}
    )
    state.recording = replace(
        state.recording, sensor_beads=asked.sensor_beads, sensor_contacts=asked.sensor_contacts
    )
    return state


def summary_numbers(given: Any) -> dict[str, float]:
    """What a summary gives, as numbers.

    Raises
    ------
    GranchainError
        Where it gives anything else.
    """
    if not isinstance(given, Mapping):
        raise GranchainError(
            f"got {type(given).__name__}, allowed a dict of numbers; return for example {{'last': "
            f"1.0}}"
        )
    found = {}
    for name, value in given.items():
        if (
            not isinstance(name, str)
            or np.ndim(value)
            or not isinstance(value, (int, float, np.integer, np.floating, np.bool_))
        ):
            raise GranchainError(
                f"{name}: got {type(value).__name__}, allowed a name and a number; return one "
                "number for each name"
            )
        found[name] = float(value)
    return found


def transmitted(ready: Sequence[Ready]) -> tuple[np.ndarray, np.ndarray]:
    """(run,) Momentum and kinetic energy of the last bead when its first pulse has passed, over
    the striker's; nan without a striker."""
    found = np.full((2, len(ready)), math.nan)
    passing = [run for run, one in enumerate(ready) if can_transmit(one.case)]
    intervals, lefts, nets = [], [], []
    for run in passing:
        case, state, last = ready[run].case, ready[run].state, ready[run].case.beads
        count, records, recorded = int(state.clock.sample), state.records, state.recording
        intervals.append(int(state.clock.stride) * state.time_step.value)
        if case.ends.has_wall("right"):
            left, right = (
                records.contact_force[:count, recorded.sensor_contacts.index(label)]
                for label in (last - 1, last)
            )
            net = left - right
        else:
            # the mean of its two contacts' forces, of which it has the left one alone
            net = left = 2.0 * records.sensor_force[:count, recorded.sensor_beads.index(last)]
        lefts.append(left)
        nets.append(net)
    for at in range(0, len(passing), MEASURED_TOGETHER):
        part = slice(at, at + MEASURED_TOGETHER)
        momenta = passed_on(intervals[part], lefts[part], nets[part])
        for run, momentum in zip(passing[part], momenta.tolist(), strict=True):
            mass, speed = ready[run].chain.mass, float(ready[run].chain.velocity[0])
            found[:, run] = (
                momentum / (mass[0] * speed),
                momentum**2 / mass[-1] / (mass[0] * speed**2),
            )
    return found[0], found[1]
