"""Measured numbers of many cases, without a result for each: cases are advanced together on
threads, and each thread measures the members that it has advanced."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import IntFlag
from typing import Any

import numpy as np

from granchain.analysis import spreading
from granchain.analysis.arrays import (
    Instants,
    first_pulses,
    in_one_piece,
    pulse_stops,
    wave_speeds,
)
from granchain.analysis.definition import ForceJumps, passed_on
from granchain.analysis.record import bead_spectrum
from granchain.case import Case
from granchain.chain_end import Ended, ended
from granchain.engine.kinds import alike
from granchain.engine.law_hash import functions_sha256
from granchain.engine.state import Recording, State
from granchain.errors import GranchainError
from granchain.simulation import recording_of
from granchain.status import STATUS_OF_LABEL, Status
from granchain.store import Result
from granchain.store.schema import Label
from granchain.studies.members import LOT, Ready, advance, check_members, lots, memory_of

# Members that are set up and advanced together: few, so that all threads have work to the end.
MEASURED_TOGETHER = 128
# Members that are measured together: as many as have traces that fit into a processor's cache.
GROUP = 32

# Changes that omit all records of a case except the forces of its beads.
FORCES_ALONE: dict[str, Any] = {
    "snapshots": None,
    "sensors.contacts": [],
    "energy.ledger": False,
}

SummaryFunction = Callable[[Result], Mapping[str, float]]


class Missing(IntFlag):
    """Flags of `missing`: why the numbers of a pulse are not reported, or their restrictions."""

    NOT_ARRIVED = 1
    CUT = 2
    MERGED = 4
    WALL = 8


def missing_note(late: np.ndarray, beads: Sequence[int]) -> str:
    """Return advice for pulses that have not arrived or ended; empty if all have.

    Parameters
    ----------
    late : array (run, sensor) of bool
    beads : sequence of int
        Labels of the sensors.
    """
    if not late.any():
        return ""
    where = ", ".join(str(beads[k]) for k in np.flatnonzero(late.any(axis=0)).tolist())
    return (
        f"{late.sum()} of {late.size} first pulses had not arrived, or not ended, by time.end, "
        f"at beads {where}. Their results are not reported. Increase time.end"
    )


# Numbers of each member.
NUMBERS = {
    "peak": Label(("sensor_bead",), "N", "peak force of the first pulse"),
    "contact_peak": Label(("sensor_bead",), "N", "maximum force in the two contacts of the bead"),
    "arrival": Label(("sensor_bead",), "s", "time of that peak"),
    "width": Label(("sensor_bead",), "s", "width of the first pulse at half height"),
    "missing": Label(
        ("sensor_bead",),
        "1",
        "reason why values are not reported: the pulse had not arrived, or not ended, by the end "
        "of the run; merged: a second, larger pulse passed the first before it had fallen to half, "
        "so peak and arrival belong to the second; wall: none is transmitted",
    ),
    "wave_speed": Label(
        (),
        "m/s",
        "wave speed: linear fit to the arrivals at sensors with a complete, unmerged pulse",
    ),
    "wave_speed_sensors": Label((), "1", "number of sensors used for the wave speed"),
    "transmitted_momentum": Label(
        (), "1", "momentum of the last bead after its first pulse, divided by that of the striker"
    ),
    "transmitted_energy": Label(
        (),
        "1",
        "kinetic energy of the last bead after its first pulse, divided by that of the striker",
    ),
    "time_step": Label((), "s", "time step"),
}
# Optional measures by name, and the variables of each.
_SHOTS = {"snapshot_time": Label(("snapshot",), "s", "time of the snapshots")}
FURTHER: dict[str, dict[str, Label]] = {
    "bead_energy": _SHOTS
    | {
        "bead_energy": Label(
            ("snapshot", "body"), "J", "energy of each body above the static state"
        )
    },
    "contact_energy": _SHOTS
    | {
        "contact_energy": Label(
            ("snapshot", "joint"), "J", "energy of each contact above the static state"
        )
    },
    "second_moment": _SHOTS
    | {
        "second_moment": Label(
            ("snapshot",), "1", "second moment of the energy along the chain, in beads squared"
        )
    },
    "participation": _SHOTS
    | {"participation": Label(("snapshot",), "1", "number of bodies that share the energy")},
    "bead_spectrum": {
        "frequency": Label(("line",), "Hz", "frequency of the spectrum"),
        "bead_spectrum": Label(
            ("line", "sensor_bead"), "N^2/Hz", "power spectral density of the sensor's force"
        ),
    },
}
# Numbers of the sensor forces in the steady part of a chained study; see
# `granchain.studies.chained`.
SETTLED = {
    "force_amplitude": Label(
        ("sensor_bead",), "N", "half of the range of the sensor force, steady"
    ),
    "force_amplitude_error": Label(
        ("sensor_bead",),
        "N",
        "discretization error of that amplitude, from the same value in steps of half the length",
    ),
    "force_mean": Label(("sensor_bead",), "N", "mean of the sensor force, steady"),
    "force_change": Label(
        ("sensor_bead",),
        "1",
        "increase of that amplitude in the second half of the steady part, relative to all of it",
    ),
    "drive_phase": Label((), "rad", "final phase of the drive that is varied"),
}
ARRAYS = {name: one for entries in (*FURTHER.values(), SETTLED) for name, one in entries.items()}
# Variables of traces, if they are stored.
TRACES = {
    "n_samples": Label((), "1", "number of samples"),
    "time": Label(("sample",), "s", "time of the samples"),
    "sensor_force": Label(("sample", "sensor_bead"), "N", "force of the sensor bead"),
}


@dataclass
class Measures:
    """Measured numbers of each case, in the order of the cases.

    Numbers of a case that failed or was not computed are nan.

    Attributes
    ----------
    sensor_bead : tuple of int
        Labels of the sensors. All cases have the same number of sensors.
    status : list of Status
    message : list of str
        Reason why a case failed or was not computed; empty if it is complete.
    law : list of str
        Text of the `LawRecord` of the case; empty if it was not set up.
    peak, arrival, width : array (run, sensor)
        Peak force [N], time [s], and width at half height [s] of the first pulse.
    contact_peak : array (run, sensor)
        Larger of the largest forces of the bead's two contacts during the run [N].
    missing : array (run, sensor)
        Reason why numbers are not reported, or are of a merged pulse: a sum of `Missing`.
    wave_speed : array (run,)
        Wave speed [m/s].
    wave_speed_sensors : array (run,)
        Number of sensors that determine the wave speed; 0 without one.
    transmitted_momentum, transmitted_energy : array (run,)
        Momentum and kinetic energy of the last bead after its first pulse, relative to those of the
        striker [1].
    time_step : array (run,)
        Time step [s].
    time : list of array (sample,), force : list of array (sample, sensor)
        Times [s] and forces [N], if traces are requested; empty arrays for a case that was not
        computed.
    summaries : list of dict
        Results of the summary, if requested; empty for a case that failed.
    arrays : list of dict
        Requested variables of `ARRAYS`.
    state : list of str
        Final state, in the format of a case, if the next member starts from it.
    """

    sensor_bead: tuple[int, ...]
    status: list[Status]
    message: list[str]
    law: list[str]
    peak: np.ndarray
    contact_peak: np.ndarray
    arrival: np.ndarray
    width: np.ndarray
    missing: np.ndarray
    wave_speed: np.ndarray
    wave_speed_sensors: np.ndarray
    transmitted_momentum: np.ndarray
    transmitted_energy: np.ndarray
    time_step: np.ndarray
    time: list[np.ndarray] = field(default_factory=list)
    force: list[np.ndarray] = field(default_factory=list)
    summaries: list[dict[str, float]] = field(default_factory=list)
    arrays: list[dict[str, np.ndarray]] = field(default_factory=list)
    state: list[str] = field(default_factory=list)

    @classmethod
    def empty(cls, cases: Sequence[Case]) -> Measures:
        """Return an object in which nothing is computed yet."""
        n, sensors = len(cases), len(cases[0].sensors.beads)
        numbers: Any = {
            name: np.full((n, sensors) if one.dims else n, math.nan)
            for name, one in NUMBERS.items()
        }
        numbers["missing"] = np.zeros((n, sensors), dtype=np.int64)
        return cls(
            sensor_bead=tuple(cases[0].sensors.beads),
            status=[Status.INTERRUPTED] * n,
            message=["the study was interrupted before this member started"] * n,
            law=[""] * n,
            time=[np.zeros(0)] * n,
            force=[np.zeros((0, sensors))] * n,
            summaries=[{} for _ in range(n)],
            arrays=[{} for _ in range(n)],
            state=[""] * n,
            **numbers,
        )

    @property
    def to_compute(self) -> list[int]:
        """Indices of the members that are not computed."""
        return [place for place, status in enumerate(self.status) if status is Status.INTERRUPTED]

    def columns(self, places: Sequence[int], traces: bool) -> dict[str, Any]:
        """Return the data of some members as lists and arrays with one entry per member.

        Traces are as long as the longest one, and nan beyond `n_samples`.
        """
        found: dict[str, Any] = {name: getattr(self, name)[list(places)] for name in NUMBERS}
        found["status"] = [self.status[place].label for place in places]
        for name in ("message", "law", "summaries"):
            found[name] = [getattr(self, name)[place] for place in places]
        found |= {
            name: padded_rows([self.arrays[place].get(name) for place in places], len(entry.dims))
            for name, entry in ARRAYS.items()
            if any(name in self.arrays[place] for place in places)
        }
        if any(self.state[place] for place in places):
            found["state"] = [self.state[place] for place in places]
        if traces:
            found["n_samples"] = np.array([len(self.time[place]) for place in places])
            found["time"] = padded_rows([self.time[place] for place in places], 1)
            found["sensor_force"] = padded_rows([self.force[place] for place in places], 2)
        return found

    def set_member(self, place: int, columns: Mapping[str, Any], row: int) -> None:
        """Store the data of a row of `columns` as the member with an index."""
        for name in (*NUMBERS, "message", "law", "summaries", "state"):
            if name in columns:
                getattr(self, name)[place] = columns[name][row]
        self.arrays[place] = {name: columns[name][row] for name in ARRAYS if name in columns}
        if "n_samples" in columns:
            count = columns["n_samples"][row]
            self.time[place] = columns["time"][row, :count]
            self.force[place] = columns["sensor_force"][row, :count]
        # last, so that an incomplete member does not count as computed
        self.status[place] = STATUS_OF_LABEL[columns["status"][row]]


def padded_rows(arrays: Sequence[np.ndarray | None], dims: int) -> np.ndarray:
    """Stack arrays of `dims` dimensions, padded with nan to the longest; None gives nan."""
    known = [np.zeros((0,) * dims) if array is None else array for array in arrays]
    found = np.full(
        (len(known), *np.max([array.shape for array in known], axis=0).astype(int)), np.nan
    )
    for row, array in enumerate(known):
        within: Any = (row, *map(slice, array.shape))
        found[within] = array
    return found


def measure(
    cases: Sequence[Case],
    threads: int | None = None,
    *,
    traces: bool = False,
    summary: SummaryFunction | None = None,
    further: Sequence[str] = (),
    done: Callable[[Sequence[int]], Any] = lambda places: None,
    found: Measures | None = None,
    places: Sequence[int] | None = None,
) -> Measures:
    """Run cases and measure their first pulses.

    The numbers equal those of `granchain.run` and `granchain.analysis.summary`. In addition to the
    sensors of a case, the contacts of the last bead are recorded. The energy balance, snapshots,
    and recorded contacts of the cases are omitted, unless a summary may read them.

    Parameters
    ----------
    cases : sequence of Case
        Cases with equal numbers of sensors.
    threads : int, optional
        Number of threads. Default: the number of processors available to this process.
    traces : bool
        Whether to store the force of every sensor.
    summary : function, optional
        Function that takes the Result of a case and returns a dict of numbers.
    further : sequence of str
        Names of `FURTHER`.
    done : function, optional
        Function that is called with the indices of measured members.
    found : Measures, optional
        Destination of the numbers.
    places : sequence of int, optional
        Indices of the cases to measure. Default: all.

    Raises
    ------
    CaseError
        If there are no cases, or if an object is not a case.
    KeyboardInterrupt
        After the completed members are stored in `found`.
    """
    threads = check_members(cases, threads)
    numbers = Measures.empty(cases) if found is None else found
    looks = summary is not None or bool(further)
    wanted = range(len(cases)) if places is None else places
    started = datetime.now(UTC).isoformat(timespec="seconds")
    recordings: dict[tuple, Recording] = {}

    def recording(case: Case) -> Recording:
        # cases that share their tables share a recording
        tables = (
            case.chain, case.sensors, case.ends, case.initial, case.snapshots, case.energy,
            case.time,
        )  # fmt: skip
        like = (*map(id, tables), case.striker is None)
        if like not in recordings:
            beads, interval = tuple(case.sensors.beads), case.sensors.interval
            bare = Recording(sensor_beads=beads, interval=interval, ledger=False)
            # a summary may read everything that the case records
            recordings[like] = watched(case, recording_of(case) if looks else bare)
        return recordings[like]

    def refuse(place: int, sentence: str) -> None:
        numbers.status[place] = Status.NOT_SET_UP
        numbers.message[place] = sentence.removeprefix(f"member {place}: ")

    def receive(stopped: Sequence[tuple[Ready, Status]], wall_time: float) -> None:
        """Measure members; each index is written by one thread."""
        stopped_members = [
            (member, status) for member, status in stopped if status is not Status.RUNNING
        ]
        examined, runs = [], []
        for member, status in stopped_members:
            if status.failed or looks:
                examined.append(member)
                runs.append(Ended(member.case, member.chain, without_watched(member), status))
        for member, (result, problem) in zip(examined, ended(runs, started, 0.0), strict=True):
            if result.status.failed:
                numbers.status[member.place] = result.status
            elif looks:
                try:
                    numbers.arrays[member.place] = further_arrays(result, further)
                except GranchainError as error:
                    problem = str(error)
                try:
                    given = {} if summary is None else summary(result)
                    numbers.summaries[member.place] = summary_numbers(given)
                except Exception as error:
                    problem = (
                        f"summary: {error}"
                        if isinstance(error, GranchainError)
                        else f"summary: the function raised {type(error).__name__}: {error}. It "
                        "must return a dict of numbers for every member."
                    )
            numbers.message[member.place] = problem
        # members that are advanced together have the same law functions
        functions = functions_sha256(stopped[0][0].state.model)
        laws: dict[int, str] = {}
        for member, _ in stopped_members:
            # chains that share their contacts share a record
            if id(member.state.prepared) not in laws:
                laws[id(member.state.prepared)] = member.state.law_record(functions).text
            numbers.law[member.place] = laws[id(member.state.prepared)]
        ready = [member for member, _ in stopped_members if not numbers.status[member.place].failed]
        for at in range(0, len(ready), GROUP):
            set_numbers(numbers, ready[at : at + GROUP], traces)
        for member in ready:
            numbers.message[member.place] = numbers.message[member.place] if looks else ""
            numbers.status[member.place] = Status.COMPLETE

    # each thread holds one group
    memory = memory_of(cases[place] for place in wanted)
    together = lots(wanted, memory, LOT / 2, MEASURED_TOGETHER)
    advance(cases, together, threads, receive, refuse, done, recording)
    return numbers


def watched(case: Case, recording: Recording) -> Recording:
    """Return a recording with an additional last sensor that records the last bead."""
    last, beads = case.beads, recording.sensor_beads
    if not can_transmit(case) or last in beads:
        return recording
    return replace(recording, sensor_beads=(*beads, last))


def can_transmit(case: Case) -> bool:
    """Return whether the transmitted momentum of a case is defined.

    It requires a striker and a free bead at the far end. At a wall, the pulse is reflected while it
    still arrives, and the difference of the two forces is mostly noise. On-site springs and
    resonators take momentum from the bead.
    """
    return not obstacle_to_transmission(case)


def obstacle_to_transmission(case: Case) -> tuple[str, str] | tuple[()]:
    """Return why the transmitted momentum is not defined, and a fix; empty if it is defined."""
    if case.striker is None:
        return "the case has no striker", "add a [striker]"
    if not case.begins_with_striker:
        return "beads move or are displaced at the start", "remove [initial]"
    if case.ends.right != "free":
        return "the right end is not free", 'set ends.right = "free"'
    if case.chain.holds_or_carries():
        return "the chain has on-site springs or resonators", "remove them"
    return ()


def set_numbers(found: Measures, ready: Sequence[Ready], traces: bool) -> None:
    """Store the numbers of complete members, all from the same stack."""
    places, sensors = [member.place for member in ready], len(found.sensor_bead)
    found.time_step[places] = steps = [member.state.time_step.value for member in ready]
    clocks = ready[0].state.memory.clocks[[member.state.place for member in ready]]
    samples = Instants(clocks["sample"], clocks["stride"], np.array(steps))
    counts, records = samples.counts.tolist(), ready[0].state.memory.records
    force = [
        records.sensor_force[member.state.place, :count]
        for member, count in zip(ready, counts, strict=True)
    ]
    pieces = in_one_piece(force)
    moved = transmitted(ready, pieces, samples)
    found.transmitted_momentum[places], found.transmitted_energy[places] = moved
    if not sensors:
        return
    beside = None
    if ready[0].state.model.law.has_jumps():
        jumps = records.jump_force, records.jump_time
        beside = [
            ForceJumps(*(side[member.state.place, :count, :sensors] for side in jumps))
            for member, count in zip(ready, counts, strict=True)
        ]
    found.contact_peak[places] = [contact_peaks(member) for member in ready]
    pulses = first_pulses(samples, pieces[:sensors], beside)
    come = pulses.peak > 0.0
    missing = np.select([~come, ~pulses.complete], [Missing.NOT_ARRIVED, Missing.CUT], 0)
    for name in ("peak", "arrival", "width"):
        getattr(found, name)[places] = np.where(missing, math.nan, getattr(pulses, name))
    missing = np.where(pulses.merged & (missing == 0), Missing.MERGED, missing)
    walls = np.array([member.case.ends.has_wall("right") for member in ready])
    found.missing[places] = missing + Missing.WALL * walls[:, np.newaxis]
    # chains that share their radii share their positions
    known: dict[tuple, np.ndarray] = {}
    positions = []
    for member in ready:
        like = id(member.chain.radius), *member.case.sensors.beads
        if like not in known:
            bodies = np.array(like[1:]) - int(member.chain.body_labels[0])
            known[like] = member.chain.positions()[bodies]
        positions.append(known[like])
    speeds = wave_speeds(np.array(positions), pulses)
    found.wave_speed[places] = speeds
    found.wave_speed_sensors[places] = np.where(np.isfinite(speeds), pulses.of_front.sum(axis=1), 0)
    if traces:
        for run, (place, trace) in enumerate(zip(places, force, strict=True)):
            found.time[place], found.force[place] = samples.of(run), trace[:, :sensors].copy()


def contact_peaks(member: Ready) -> np.ndarray:
    """Return the larger of the largest forces of each sensor bead's two contacts [N]."""
    chain, peaks = member.chain, member.state.contacts.peak
    body = np.array(member.case.sensors.beads) - int(chain.body_labels[0])
    largest = np.where(chain.contact_exists, peaks[: chain.n_bodies + 1], 0.0)
    return np.asarray(np.maximum(largest[body], largest[body + 1]))


def without_watched(ready: Ready) -> State:
    """Return a state whose records omit the sensor that `watched` has added."""
    state, beads = copy.copy(ready.state), recording_of(ready.case).sensor_beads
    left = {
        name: getattr(state.records, name)[:, : len(beads)]
        for name in ("sensor_force", "jump_force", "jump_time")
    }
    state.records = state.records._replace(**left)
    state.recording = replace(state.recording, sensor_beads=beads)
    return state


def further_arrays(result: Result, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the arrays of a result for the given names of `FURTHER`."""
    found: dict[str, np.ndarray] = {}
    for name in names:
        if name == "bead_spectrum":
            of_beads = [bead_spectrum(result, bead) for bead in result.sensor_bead.tolist()]
            found["frequency"] = of_beads[0].frequency
            found[name] = np.stack([one.density for one in of_beads], axis=-1)
        else:
            found[name] = getattr(spreading, name)(result)
            found["snapshot_time"] = np.asarray(result.snapshot_time, dtype=float)
    return found


def summary_numbers(result: Any) -> dict[str, float]:
    """Return the result of a summary as numbers.

    Raises
    ------
    GranchainError
        If the result is not a dict of numbers.
    """
    if not isinstance(result, Mapping):
        raise GranchainError(
            f"the function returned {type(result).__name__}. It must return a dict of numbers, "
            "for example {'last': 1.0}."
        )
    for name, value in result.items():
        if not isinstance(name, str) or not isinstance(
            value, (int, float, np.integer, np.floating, np.bool_)
        ):
            raise GranchainError(
                f"{name}: {type(value).__name__} is not a number. It must return one number for "
                "each name."
            )
    return {name: float(value) for name, value in result.items()}


def transmitted(ready: Sequence[Ready], traces: np.ndarray, samples: Instants) -> np.ndarray:
    """Return momentum and kinetic energy of the last bead after its first pulse, (2, run).

    They are relative to those of the striker, and nan without a striker.

    Parameters
    ----------
    ready : sequence of Ready
    traces : (sensor, run, sample) array
        Recorded forces of the members, from `in_one_piece` [N].
    samples : Instants
    """
    interval = (samples.stride * samples.step).tolist()
    found, cases = np.full((2, len(ready)), math.nan), [member.case for member in ready]
    for runs in alike(
        (*map(id, (case.chain, case.ends, case.initial)), case.striker is None) for case in cases
    ):
        member = ready[runs[0]]
        if not can_transmit(member.case):
            continue
        sensor = member.state.recording.sensor_beads.index(member.case.beads)
        # the sensor force is half of the force of the left contact, the only one
        force = traces[sensor, runs]
        above = force - force[:, :1] if force[:, 0].any() else force
        stops = pulse_stops(above, samples.counts[runs])
        for run, one, stop in zip(runs, above, stops, strict=True):
            mass, velocity = ready[run].chain.mass, ready[run].chain.velocity
            momentum = 2.0 * interval[run] * passed_on(one, stop - 1) if stop else math.nan
            energy = momentum**2 / mass[-1] / (mass[0] * float(velocity[0]) ** 2)
            found[:, run] = momentum / (mass[0] * float(velocity[0])), energy
    return found
