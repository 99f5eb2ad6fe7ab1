"""Measures of the members of a study: labels, and the functions that compute them.

Members that have been advanced together are measured together, without a result for each. Results
are created only for functions of a result, and for measures that need one.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from enum import IntFlag
from typing import Any, NamedTuple

import numpy as np

from granchain.analysis import spreading
from granchain.analysis.pulse import ForceJumps, first_pulse, momentum_passed
from granchain.analysis.record import bead_spectrum
from granchain.analysis.transport import wave_speeds
from granchain.case import Case
from granchain.engine.fields import CONTACT
from granchain.engine.recording import Recording
from granchain.engine.setup import alike, functions_sha256
from granchain.engine.state import State
from granchain.errors import GranchainError, RunError
from granchain.keys import Problems, brief
from granchain.simulation import Ended, ended, recording_of
from granchain.status import Status
from granchain.store import Result
from granchain.store.dataset import padded_rows
from granchain.store.schema import Label
from granchain.studies.members import LOT, Ready, advance, member_groups, sizes_of_cases

# Number of members that are set up and advanced together. It is small, so that all threads have
# work until the end.
TOGETHER = 128
# Number of members that are measured together: their traces fit into the cache of a processor.
GROUP = 32

# Changes that omit all records of a case except the forces of its beads.
FORCES_ALONE: dict[str, Any] = {
    "snapshots": None,
    "sensors.contacts": [],
    "energy.ledger": False,
}

# Row of the largest forces in the table of the contacts.
PEAK = [field.name for field in CONTACT].index("peak")

SummaryFunction = Callable[[Result], Mapping[str, float]]
# Function of the indices of members, and of their columns.
Store = Callable[[Sequence[int], Mapping[str, Any]], Any]


class Missing(IntFlag):
    """Flags of `missing`: why the numbers of a pulse are not reported, or their restrictions."""

    NOT_ARRIVED = 1
    CUT = 2
    MERGED = 4
    WALL = 8


def missing_note(late: np.ndarray, beads: Any) -> str:
    """Return advice for pulses that have not arrived or ended; empty if all have.

    Parameters
    ----------
    late : array (run, sensor) of bool
    beads : array (sensor,) or (run, sensor)
        Labels of the sensors, nan where a run has fewer.
    """
    if not late.any():
        return ""
    beads = np.broadcast_to(beads, late.shape)
    where = ", ".join(f"{bead:.0f}" for bead in np.unique(beads[late]))
    return (
        f"{late.sum()} of {np.isfinite(beads).sum()} first pulses had not arrived, or not ended, "
        f"by time.end, at beads {where}. Their results are not reported. Increase time.end"
    )


# Time step of each member, whatever is measured.
TIME_STEP = Label((), "s", "time step")
# Numbers of the first pulse.
PULSE = {
    "peak": Label(("sensor_bead",), "N", "peak force of the first pulse"),
    "contact_peak": Label(("sensor_bead",), "N", "maximum force in the two contacts of the bead"),
    "arrival": Label(("sensor_bead",), "s", "arrival of the first pulse"),
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
}


class MeasureOfResult(NamedTuple):
    """Measure that is computed from the complete result of a member.

    Parameters
    ----------
    variables : function of a Result
        Function that returns the variables of the measure by name.
    labels : mapping of str to Label
        Labels of these variables.
    """

    variables: Callable[[Result], dict[str, np.ndarray]]
    labels: Mapping[str, Label]


def over_snapshots(
    function: Callable[[Result], np.ndarray], unit: str, long_name: str, *dims: str
) -> MeasureOfResult:
    """Return the measure of a function of the snapshots, which has the name of the function."""
    name, time = function.__name__, "snapshot_time"
    labels = {
        time: Label(("snapshot",), "s", "time of the snapshots"),
        name: Label(("snapshot", *dims), unit, long_name),
    }
    return MeasureOfResult(
        lambda result: {name: function(result), time: np.asarray(result[time], dtype=float)}, labels
    )


def spectra_of_sensors(result: Result) -> dict[str, np.ndarray]:
    """Return the frequencies [Hz], and the spectrum of the force of each sensor bead."""
    spectra = [bead_spectrum(result, bead) for bead in result.sensor_bead.tolist()]
    density = np.stack([spectrum.density for spectrum in spectra], axis=-1)
    return {"frequency": spectra[0].frequency, "bead_spectrum": density}


MEASURES_OF_RESULTS = {
    "bead_energy": over_snapshots(
        spreading.bead_energy, "J", "energy of each body above the static state", "body"
    ),
    "contact_energy": over_snapshots(
        spreading.contact_energy, "J", "energy of each contact above the static state", "joint"
    ),
    "second_moment": over_snapshots(
        spreading.second_moment,
        "1",
        "second moment of the energy along the chain, in beads squared",
    ),
    "participation": over_snapshots(
        spreading.participation, "1", "number of bodies that share the energy"
    ),
    "bead_spectrum": MeasureOfResult(
        spectra_of_sensors,
        {
            "frequency": Label(("line",), "Hz", "frequency of the spectrum"),
            "bead_spectrum": Label(
                ("line", "sensor_bead"), "N^2/Hz", "power spectral density of the sensor's force"
            ),
        },
    ),
}
_LABELS_OF_RESULTS = {name: each.labels for name, each in MEASURES_OF_RESULTS.items()}
# Numbers of the sensor forces in the steady part of a chained study; see
# `granchain.studies.chained`.
SETTLED_LABELS = {
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
# Variables that a study omits if no member has them.
OPTIONAL_ARRAYS = {
    name: label
    for entries in (*_LABELS_OF_RESULTS.values(), SETTLED_LABELS)
    for name, label in entries.items()
}
# Traces of the sensors.
TRACES = {
    "n_samples": Label((), "1", "number of samples"),
    "time": Label(("sample",), "s", "time of the samples"),
    "sensor_force": Label(("sample", "sensor_bead"), "N", "force of the sensor bead"),
}
# All measures by name, and the variables of each.
MEASURES: dict[str, Mapping[str, Label]] = {
    "pulse": PULSE, "traces": TRACES, **_LABELS_OF_RESULTS, "result": {}
}  # fmt: skip
_ARRAY_LABELS = {"time_step": TIME_STEP} | PULSE | TRACES | OPTIONAL_ARRAYS
# Names of variables and dimensions of a study, which keys and summaries cannot use. The last three
# are those of `granchain.mode_study`.
RESERVED_NAMES = frozenset(
    {*_ARRAY_LABELS, *(dim for label in _ARRAY_LABELS.values() for dim in label.dims)}
    | {"draw", "run", "status", "message", "law", "law_sha256", "point", "state"}
    | {"mode", "frequencies", "damping"}
)


class Measures(NamedTuple):
    """Requested measures of each member.

    Parameters
    ----------
    names : tuple of str
        Names of `available`, in its order.
    functions : tuple of functions
        Functions that take the Result of a member and return a dict of numbers.
    available : mapping of str to mapping
        Labels of the variables of each measure. Default: those of a chain.
    """

    names: tuple[str, ...]
    functions: tuple[SummaryFunction, ...] = ()
    available: Mapping[str, Mapping[str, Label]] = MEASURES

    @property
    def needs_results(self) -> bool:
        """True if a result is created for each member."""
        return bool(self.functions or "result" in self.names or self.of_results)

    @property
    def of_results(self) -> tuple[str, ...]:
        """Names of the measures that are computed from a result."""
        return tuple(name for name in MEASURES_OF_RESULTS if name in self.names)

    @property
    def labels(self) -> dict[str, Label]:
        """Label of each variable, without those of the functions."""
        return {"time_step": TIME_STEP} | {
            name: label for of in self.names for name, label in self.available[of].items()
        }

    def recording(self, case: Case) -> Recording:
        """Return what is recorded of a case.

        Without results, the energy balance, snapshots, and contacts are omitted.
        """
        recording = recording_of(case)
        beads = recording.sensor_beads
        if not self.needs_results:
            recording = Recording(sensor_beads=beads, interval=recording.interval, ledger=False)
        if "pulse" not in self.names or obstacle_to_transmission(case) or case.beads in beads:
            return recording
        # for the transmitted momentum; the last sensor, so that `recorded_for_user` can omit it
        return replace(recording, sensor_beads=(*beads, case.beads))


def measures_of(measures: Any, case: Any) -> Measures:
    """Return the requested measures of a case, each once and in the standard order.

    A mechanism has other measures than a chain, and "pulse" means all of them.

    Raises
    ------
    CaseError
        If a name is unknown, or if a measure is neither a name nor a function.
    """
    listed = list(measures) if isinstance(measures, (list, tuple)) else [measures]
    names = {name for name in listed if isinstance(name, str)}
    available: Mapping[str, Mapping[str, Label]] = MEASURES
    if case.measured:
        each = {name: {name: label} for name, label in case.measured.items()}
        available = {**each, "pulse": case.measured, "result": {}}
    problems = Problems()
    for measure in listed:
        problems.check(
            measure in available if isinstance(measure, str) else callable(measure),
            "measures",
            f"{brief(measure)} is unknown",
            f"It must be a function of a Result, or one of {', '.join(available)}",
        )
    problems.check(
        "result" not in names or len(listed) == 1,
        "measures",
        "result cannot be combined with other measures",
        "Complete results contain everything that the others measure",
        "Compute the others from the results, or leave out result",
    )
    problems.close()
    functions = tuple(measure for measure in listed if not isinstance(measure, str))
    return Measures(tuple(name for name in available if name in names), functions, available)


def columns_of_members(
    members: Sequence[tuple[Ready, Status]],
    measures: Measures,
    started: str,
    wall_time: float,
) -> dict[str, Any]:
    """Return the measured columns of members that were advanced together.

    Each column is a list or an array with one entry per member. Numbers of a member that failed are
    nan.

    Parameters
    ----------
    members : sequence of (Ready, Status)
        Members of one stack that have ended.
    measures : Measures
    started : str
        Start time of the study, for results.
    wall_time : float
        Wall time of a member [s], for results.
    """
    count = len(members)
    columns: dict[str, Any] = {
        "status": [status.label for _, status in members],
        "message": [""] * count,
        "law": laws_of_members([ready for ready, _ in members]),
    }
    complete = [row for row, (_, status) in enumerate(members) if not status.failed]
    examined = range(count) if measures.needs_results else sorted({*range(count)} - {*complete})
    runs = [
        Ended(ready.case, ready.chain, recorded_for_user(ready), status)
        for ready, status in (members[row] for row in examined)
    ]
    columns |= {"result": [None] * count} if "result" in measures.names else {}
    numbers: list[dict[str, float]] = [{} for _ in members]
    arrays: list[dict[str, np.ndarray]] = [{} for _ in members]
    for row, (result, problem) in zip(examined, ended(runs, started, wall_time), strict=True):
        if result.status.failed:
            columns["status"][row] = result.status.label
        if "result" in measures.names:
            columns["result"][row] = result
        elif not result.status.failed:
            arrays[row], numbers[row], problem = measured(result, problem, measures)
        columns["message"][row] = problem
    if "result" in measures.names:
        return columns
    complete = [row for row in complete if columns["status"][row] == members[row][1].label]
    if measures.functions:
        columns["numbers"] = numbers
    for name in dict.fromkeys(name for each in arrays for name in each):
        columns[name] = padded_rows(
            [each.get(name) for each in arrays], len(measures.labels[name].dims)
        )
    columns["time_step"] = np.full(count, math.nan)
    columns["time_step"][complete] = [members[row][0].state.time_step.value for row in complete]
    if "pulse" in measures.names:
        sensors = len(members[0][0].case.sensors.beads)
        columns |= {
            name: np.full((count, sensors) if label.dims else count, math.nan)
            for name, label in PULSE.items()
        }
        columns["missing"] = np.zeros((count, sensors), dtype=np.int64)
        for at in range(0, len(complete), GROUP):
            rows = complete[at : at + GROUP]
            set_pulse_numbers(columns, rows, [members[row][0] for row in rows])
    if "traces" in measures.names:
        traces = [
            trace_of_member(ready) if row in complete else (None, None)
            for row, (ready, _) in enumerate(members)
        ]
        columns["n_samples"] = np.array([0 if time is None else len(time) for time, _ in traces])
        columns["time"] = padded_rows([time for time, _ in traces], 1)
        columns["sensor_force"] = padded_rows([force for _, force in traces], 2)
    return columns


def laws_of_members(ready: Sequence[Ready]) -> list[str]:
    """Return the text of the law record of each member, all with the same law functions."""
    functions = functions_sha256(ready[0].state.model)
    # chains with shared contacts have one record
    states = {id(member.state.prepared): member.state for member in ready}
    laws = {like: state.law_record(functions).text for like, state in states.items()}
    return [laws[id(member.state.prepared)] for member in ready]


def columns_of_refused(sentence: str, measures: Measures) -> dict[str, Any]:
    """Return the columns of a member that cannot be set up."""
    result = {"result": [None]} if "result" in measures.names else {}
    return {"status": [Status.NOT_SET_UP.label], "message": [sentence], "law": [""], **result}


def measured(
    result: Result, problem: str, measures: Measures
) -> tuple[dict[str, np.ndarray], dict[str, float], str]:
    """Return the arrays and the numbers that are computed from a result, and the last problem."""
    arrays: dict[str, np.ndarray] = {}
    numbers: dict[str, float] = {}
    try:
        of_results = [MEASURES_OF_RESULTS[name].variables for name in measures.of_results]
        arrays = {name: array for of in of_results for name, array in of(result).items()}
    except GranchainError as error:
        problem = str(error)
    for function in measures.functions:
        try:
            numbers |= numbers_of_function(function, result)
        except GranchainError as error:
            problem = f"summary: {error}"
    return arrays, numbers, problem


def numbers_of_function(function: SummaryFunction, result: Result) -> dict[str, float]:
    """Return the numbers that a user's function returns for a result.

    Raises
    ------
    GranchainError
        If the function fails, or returns something else than a dict of numbers.
    """
    try:
        numbers: Any = function(result)
    except GranchainError:
        raise
    except Exception as error:
        raise GranchainError(
            f"the function raised {type(error).__name__}: {error}. It must return a dict of "
            "numbers for every member."
        ) from error
    if not isinstance(numbers, Mapping):
        raise GranchainError(
            f"the function returned {type(numbers).__name__}. It must return a dict of numbers, "
            "for example {'last': 1.0}."
        )
    for name, value in numbers.items():
        if not isinstance(name, str) or not isinstance(
            value, (int, float, np.integer, np.floating, np.bool_)
        ):
            raise GranchainError(
                f"{name}: {type(value).__name__} is not a number. It must return one number for "
                "each name."
            )
    return {name: float(value) for name, value in numbers.items()}


def trace_of_member(member: Ready) -> tuple[np.ndarray, np.ndarray]:
    """Return the sample times [s] and the forces of the sensors [N] of a member."""
    state, sensors = member.state, len(member.case.sensors.beads)
    clock = state.memory.clocks[state.position]
    count = int(clock["sample"])
    time = np.arange(count) * clock["stride"] * state.time_step.value
    return time, state.memory.records.sensor_force[state.position, :count, :sensors].copy()


def obstacle_to_transmission(case: Case) -> tuple[str, str] | tuple[()]:
    """Return why the transmitted momentum is not defined, and a fix; empty if it is defined.

    It requires a striker and a free bead at the far end. At a wall, the pulse is reflected while it
    still arrives, and the difference of the two forces is mostly noise. On-site springs and
    attached masses take momentum from the bead.
    """
    if case.striker is None:
        return "the case has no striker", "add a [striker]"
    if not case.begins_with_striker:
        return "beads move or are displaced at the start", "remove [initial]"
    if case.ends.right != "free":
        return "the right end is not free", 'set ends.right = "free"'
    if case.chain.has_springs_or_resonators():
        return "the chain has on-site springs or attached masses", "remove them"
    return ()


def set_pulse_numbers(columns: dict[str, Any], rows: Sequence[int], ready: Sequence[Ready]) -> None:
    """Store the numbers of the pulses of complete members, all from the same stack, in rows of the
    columns."""
    steps = columns["time_step"][rows]
    sensors = len(ready[0].case.sensors.beads)
    clocks = ready[0].state.memory.clocks[[member.state.position for member in ready]]
    counts, records = clocks["sample"].tolist(), ready[0].state.memory.records
    # (sensor, run, sample); samples after the end of a run are not finite
    traces = np.full((records.sensor_force.shape[2], len(ready), max(counts)), np.nan)
    for run, (member, count) in enumerate(zip(ready, counts, strict=True)):
        traces[:, run, :count] = records.sensor_force[member.state.position, :count].T
    time = np.arange(max(counts)) * clocks["stride"][:, np.newaxis] * steps[:, np.newaxis]
    columns["transmitted_momentum"][rows], columns["transmitted_energy"][rows] = transmitted(
        ready, traces, time, (clocks["stride"] * steps).tolist()
    )
    if not sensors:
        return
    jumps = None
    if ready[0].state.model.law.has_jumps():
        places = [member.state.position for member in ready]
        # (sample, record), the runs of one sensor after those of another
        sides = (
            side[places, : max(counts), :sensors].transpose(1, 2, 0).reshape(max(counts), -1)
            for side in (records.jump_force, records.jump_time)
        )
        jumps = ForceJumps(*sides)
    columns["contact_peak"][rows] = contact_peaks(ready)
    force = traces[:sensors].reshape(sensors * len(ready), -1)
    pulses = first_pulse(
        np.tile(time, (sensors, 1)).T,
        force.T,
        arrival=ready[0].case.sensors.arrival,
        baseline=np.where(np.isfinite(force[:, 0]), force[:, 0], 0.0),
        jumps=jumps,
        smooth=jumps is None,
    )
    peak, arrival, width, complete, merged = (
        getattr(pulses, name).reshape(sensors, -1).T
        for name in ("peak", "arrival", "width", "complete", "merged")
    )
    missing = np.select([~(peak > 0.0), ~complete], [Missing.NOT_ARRIVED, Missing.CUT], 0)
    for name, values in (("peak", peak), ("arrival", arrival), ("width", width)):
        columns[name][rows] = np.where(missing, math.nan, values)
    missing = np.where(merged & (missing == 0), Missing.MERGED, missing)
    walls = np.array([member.case.ends.has_wall("right") for member in ready])
    columns["missing"][rows] = missing + Missing.WALL * walls[:, np.newaxis]
    # chains that share their radii share their positions
    positions = {id(member.chain.radius): member.chain for member in ready}
    positions_of = {like: chain.positions() for like, chain in positions.items()}
    at = np.array(
        [
            positions_of[id(member.chain.radius)][bodies]
            for member, bodies in zip(ready, bodies_of_sensors(ready), strict=True)
        ]
    )
    # only complete pulses that are not merged determine the wave speed
    of_front = complete & ~merged
    speeds = wave_speeds(at, np.where(of_front, arrival, math.nan), width)
    columns["wave_speed"][rows] = speeds
    columns["wave_speed_sensors"][rows] = np.where(np.isfinite(speeds), of_front.sum(axis=1), 0)


def contact_peaks(ready: Sequence[Ready]) -> np.ndarray:
    """Return the larger of the largest forces of each sensor bead's two contacts [N].

    An absent contact has no force, so it counts as 0.
    """
    places = np.array([member.state.position for member in ready])[:, np.newaxis]
    peaks = ready[0].state.memory.tables.contacts[:, PEAK]
    body = bodies_of_sensors(ready)
    present = np.array([member.chain.contact_exists for member in ready])
    rows = np.arange(len(ready))[:, np.newaxis]
    left, right = (
        np.where(present[rows, contact], peaks[places, contact], 0.0)
        for contact in (body, body + 1)
    )
    return np.asarray(np.maximum(left, right))


def bodies_of_sensors(ready: Sequence[Ready]) -> np.ndarray:
    """Return the index of the body of each sensor, (run, sensor)."""
    beads = np.array([member.case.sensors.beads for member in ready], dtype=int)
    return beads - np.array([member.chain.first_label for member in ready])[:, np.newaxis]


def recorded_for_user(ready: Ready) -> State:
    """Return a state whose records omit the sensor that `Measures.recording` has added."""
    beads = tuple(ready.case.sensors.beads)
    if ready.state.recording.sensor_beads == beads:
        return ready.state
    state = copy.copy(ready.state)
    requested = {
        name: getattr(state.records, name)[:, : len(beads)]
        for name in ("sensor_force", "jump_force", "jump_time")
    }
    state.records = state.records._replace(**requested)
    state.recording = replace(state.recording, sensor_beads=beads)
    return state


def transmitted(
    ready: Sequence[Ready], traces: np.ndarray, time: np.ndarray, interval: Sequence[float]
) -> np.ndarray:
    """Return momentum and kinetic energy of the last bead after its first pulse, (2, run).

    They are relative to those of the striker, and nan without a striker.

    Parameters
    ----------
    ready : sequence of Ready
    traces : (sensor, run, sample) array
        Recorded forces of the members [N].
    time : (run, sample) array
        Times of the samples [s].
    interval : sequence of float
        Time between the samples of each member [s].
    """
    transmission, cases = np.full((2, len(ready)), math.nan), [member.case for member in ready]
    # compare the sensors too, because the author of the case chooses their order
    recorded_beads = (member.state.recording.sensor_beads for member in ready)
    for runs in alike(
        (*map(id, (case.chain, case.ends, case.initial)), case.striker is None, beads)
        for case, beads in zip(cases, recorded_beads, strict=True)
    ):
        member = ready[runs[0]]
        if obstacle_to_transmission(member.case):
            continue
        sensor = member.state.recording.sensor_beads.index(member.case.beads)
        # the bead has only a left contact, so the sensor force is half of its force
        force = traces[sensor, runs]
        above = force - force[:, :1] if force[:, 0].any() else force
        stops = first_pulse(time[runs].T, above.T).end.tolist()
        for run, pulse_force, stop in zip(runs, above, stops, strict=True):
            mass, velocity = ready[run].chain.mass, ready[run].chain.velocity
            passed = momentum_passed(pulse_force, stop - 1) if stop > 0 else math.nan
            momentum = 2.0 * interval[run] * passed
            energy = momentum**2 / mass[-1] / (mass[0] * float(velocity[0]) ** 2)
            transmission[:, run] = momentum / (mass[0] * float(velocity[0])), energy
    return transmission


# --------------------------------------------------------------------------------------------------
# Members on threads of this process


def compute_here(
    cases: Sequence[Case],
    places: Sequence[int],
    measures: Measures,
    threads: int,
    store: Store,
    most: float = LOT,
) -> None:
    """Advance and measure members on threads of this process.

    Parameters
    ----------
    cases : sequence of Case
    places : sequence of int
        Indices of the members to compute.
    measures : Measures
    threads : int
    store : function of places and columns
        Function that is called in this thread with the columns of each batch that has ended.
    most : float
        Memory of the members that are set up together [bytes]; each thread has such a group.
    """
    if cases[0].measured:
        compute_alone(cases, places, measures, store)
        return
    started = datetime.now(UTC).isoformat(timespec="seconds")
    recordings: dict[tuple, Recording] = {}

    def recording(case: Case) -> Recording:
        # cases with shared tables have one recording
        tables = (
            case.chain, case.sensors, case.ends, case.initial, case.snapshots, case.energy,
            case.time,
        )  # fmt: skip
        like = (*map(id, tables), case.striker is None)
        if like not in recordings:
            recordings[like] = measures.recording(case)
        return recordings[like]

    groups = member_groups(
        places, sizes_of_cases(cases[member] for member in places), 0.5 * most, TOGETHER
    )
    advance(
        cases,
        groups,
        threads,
        lambda members, wall_time: columns_of_members(members, measures, started, wall_time),
        lambda sentence: columns_of_refused(sentence, measures),
        store,
        recording,
    )


def compute_alone(
    cases: Sequence[Any], places: Sequence[int], measures: Measures, store: Store
) -> None:
    """Run members that cannot be advanced together, such as mechanisms, one after another.

    Parameters
    ----------
    cases, places, measures, store
        See `compute_here`.

    Raises
    ------
    KeyboardInterrupt
        If a run is interrupted. The member is not stored.
    """
    for member in places:
        case, problem = cases[member], ""
        try:
            result = case.run_alone()
        except RunError as error:
            result, problem = error.result, str(error)
        except GranchainError as error:
            store([member], columns_of_refused(str(error), measures))
            continue
        columns: dict[str, Any] = {}
        if "result" in measures.names:
            columns["result"] = [result]
        elif not result.status.failed:
            _, numbers, problem = measured(result, problem, measures)
            values = case.measure(result) | {"time_step": result.time_step}
            columns = {name: np.array([values[name]]) for name in measures.labels}
            columns["numbers"] = [numbers]
        ends = {"status": [result.status.label], "law": [result.provenance["law_json"]]}
        store([member], columns | ends | {"message": [problem]})


def computed(case: Case, measures: Measures) -> dict[str, Any]:
    """Return the columns of a single case."""
    stored: list[Mapping[str, Any]] = []
    compute_here([case], [0], measures, 1, lambda _, columns: stored.append(columns))
    return dict(stored[0])
