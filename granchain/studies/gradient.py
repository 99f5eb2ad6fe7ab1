"""Derivatives of results with respect to parameters of the case, by central differences between
runs with the same time step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from granchain.analysis.definition import (
    OF_REST,
    PULSE_BEGINS,
    PULSE_ENDS,
    passed_on,
    pulse_stop,
    static_force,
    summit,
    vertex,
)
from granchain.analysis.results import jumps_at
from granchain.case import Case, check_case
from granchain.case.base import CheckedCase
from granchain.case.checks import FACTORS
from granchain.case.document import entry_at
from granchain.case.listing import NO_PHYSICS, quantity_of, value_at
from granchain.contact import law_named
from granchain.errors import CaseError, RunError
from granchain.keys import Problems, shown
from granchain.simulation import law_provenance, prepare, warns_of_fast_drives
from granchain.status import Status
from granchain.store import Answer, Label, Result
from granchain.studies.alone import run_each
from granchain.studies.measures import FORCES_ALONE, measure, obstacle_to_transmission
from granchain.studies.members import check_members
from granchain.studies.plan import is_number
from granchain.verification import UNCONFIRMED

# Half the distance of a difference, relative to a number or its scale. Rounding of the runs, about
# 1e-14, causes an error of 1e-8 of the derivative. If contacts open, the error of the difference is
# linear in this distance.
RELATIVE_STEP = 1e-6
# Error from the time step above which a message is issued, relative to the largest derivative.
REPORTED_SHARE = 0.01
# Lists with a number for each bead or gap, and the default value of their numbers.
UNCHANGED = {f"chain.{name}": 1.0 for name in FACTORS} | {
    "chain.gap_added": 0.0,
    "initial.velocity": 0.0,
    "initial.displacement": 0.0,
}
# Units of these lists, if their numbers have a unit.
UNITS_OF_LISTS = {
    "chain.gap_added": "m",
    "initial.velocity": "m/s",
    "initial.displacement": "m",
}
# Labels of the axes of these lists.
AXES_OF_LISTS = {
    "bead": Label(("bead",), "1", "label of the bead"),
    "gap": Label(("gap",), "1", "label of the gap; gap k is between beads k and k+1"),
}

# Result that is differentiated: "peak", ("peak", bead), "wall_force", "transmitted_momentum", or a
# function of a Result.
Of = str | tuple[str, int] | Callable[[Result], float]


class Gradient(Answer):
    """Gradient of a scalar result; `gradient[key]` returns one derivative.

    The variables of a key such as "striker.speed" are "striker.speed", "striker.speed_error",
    "striker.speed_error_of_differences", and "striker.speed_error_of_step".

    Attributes
    ----------
    of : str
        Name of the differentiated result, such as "peak:5" for the peak of bead 5.
    value : float
        Differentiated result.
    values : dict of str to float or array
        Derivative by key, in SI units. An array for a list of the case.
    errors : dict of str to float or array
        Upper limits on the errors from finite differences and from the time step. nan if errors
        were not requested.
    of_differences, of_step : dict of str to float or array
        The two contributions to the errors.
    time_step : float
        Time step of all runs [s].
    messages : tuple of str
        Notes on the derivatives.

    Examples
    --------
    >>> import granchain as gc
    >>> case = gc.load_case("steel-chain").replace({"contact": {"law": "hertz"}})
    >>> case = case.replace({"chain.beads": 6, "sensors.beads": [4], "time.end": 8e-5})
    >>> gradient = gc.gradient(case, "peak", "striker.speed", error=False)
    >>> gradient["striker.speed"] > 0.0
    True
    """

    labels: ClassVar = {
        "of": Label((), "", "name of the differentiated result"),
        "value": Label((), "1", "differentiated result"),
        "time_step": Label((), "s", "time step of all runs"),
        **AXES_OF_LISTS,
    }

    @property
    def values(self) -> dict[str, Any]:
        """Derivative by key."""
        return self._by_key("")

    @property
    def errors(self) -> dict[str, Any]:
        """Upper limit on the error by key."""
        return self._by_key("_error")

    @property
    def of_differences(self) -> dict[str, Any]:
        """Error from finite differences by key."""
        return self._by_key("_error_of_differences")

    @property
    def of_step(self) -> dict[str, Any]:
        """Error from the time step by key."""
        return self._by_key("_error_of_step")

    def _by_key(self, ending: str) -> dict[str, Any]:
        keys = [name for name in self.variables if f"{name}_error" in self.variables]
        return {key: self[f"{key}{ending}"] for key in keys}


@warns_of_fast_drives
def gradient(
    case: Case,
    of: Of,
    keys: Sequence[str] | str,
    error: bool = True,
    *,
    scale: Mapping[str, float] | None = None,
    threads: int | None = None,
) -> Gradient:
    """Compute the gradient of a scalar result with respect to case parameters.

    The derivatives are central differences over 1e-6 of each number to either side. All runs use
    the time step, the samples, and the end of the case. A peak is the maximum of a cubic through
    the forces of the sensor and their time derivatives at the steps, because the maximum of the
    samples would depend on their times.

    Parameters
    ----------
    case : Case
        Case at which the gradient is computed.
    of : str, tuple or function
        "peak", the largest force of the sensor beads [N]; ("peak", bead), that of any bead [N];
        "wall_force", the largest force on a wall at the right end [N]; "transmitted_momentum", the
        momentum of the last bead divided by that of the striker [1]; or a function that takes a
        Result and returns a number. Of a mechanism, "largest_contact_force" [N],
        "largest_acceleration" of the slider [m/s^2], or a function.
    keys : sequence of str
        Keys with dots of a number, or of a list with one number for each bead or gap, such as
        "chain.radius_factor", even if the case does not set it. "chain.radius_factor.3" is one
        number of the list.
    error : bool
        Whether to estimate the errors, from differences twice as wide and from half the time step,
        and for single numbers also from a quarter of it. This takes four or eight times as long.
    scale : mapping of str to float, optional
        Size of each key, of which the differences are 1e-6. Default: the value of the key. Required
        for values that are 0.
    threads : int, optional
        Number of threads. Default: the number of processors available to this process.

    Returns
    -------
    Gradient

    Raises
    ------
    CaseError
        If an argument is invalid, if a change is not allowed by the case, or if a run ends before
        the wave has passed.
    RunError
        If a run fails.

    Examples
    --------
    >>> import granchain as gc
    >>> case = gc.load_case("steel-chain").replace({"contact": {"law": "hertz"}})
    >>> case = case.replace({"chain.beads": 6, "sensors.beads": [4], "time.end": 8e-5})
    >>> gradient = gc.gradient(case, ("peak", 4), ["striker.speed"], error=False)
    >>> sorted(gradient.values)
    ['striker.speed']
    """
    numbers, summary = Numbers(case, keys, "keys"), summary_of(case, of, "of")
    scale = {} if scale is None else scale
    step, sizes, rows = step_of(case), sizes_of(numbers, scale), numbers.start.size
    (near, beside), (far, further) = (
        numbers.beside(part * RELATIVE_STEP * sizes) for part in (1.0, 2.0)
    )
    here = [numbers.case_at(numbers.start), *beside, *(further if error else [])]
    cases = [summary.recorded(one, step) for one in here]
    alone = [place.start for place in numbers.keys.values() if place.stop - place.start == 1]
    if error:
        cases += [summary.recorded(one, 0.5 * step) for one in beside]
        cases += [summary.recorded(beside[k], 0.25 * step) for k in alone]
        cases += [summary.recorded(beside[rows + k], 0.25 * step) for k in alone]
    value, *ends = found_in(cases, summary, threads)

    def slopes(first: int, apart: np.ndarray) -> np.ndarray:
        count = apart.shape[1]
        above, below = (np.array(ends[first + k * count :][:count]) for k in (0, 1))
        return np.asarray((above - below) / (apart[0] - apart[1]))

    slope = slopes(0, near)
    messages = [
        f"{key}: the case is not valid on the other side of the value, so a one-sided difference "
        "was used"
        for key, part in numbers.slices((near == numbers.start).any(axis=0))
        if part.any()
    ]
    of_differences = of_step = np.full(rows, math.nan)
    if error:
        of_differences = np.abs(slopes(2 * rows, far) - slope)
        # halving the step removes this part of an error of this order; two steps do not confirm the
        # order
        part = 0.5 ** law_named(case.contact.law).order
        of_step = UNCONFIRMED * np.abs(slopes(4 * rows, near) - slope) / (1.0 - part)
        # an error may be small by chance, where it crosses 0: for a list, use at least the root
        # mean square of its errors; for one number, also the error from a quarter of the step
        for _, own in numbers.slices(of_step):
            np.maximum(own, math.sqrt(np.mean(own**2)), out=own)
        quarter = np.abs(slopes(6 * rows, near[:, alone]) - slope[alone]) / (1.0 - part**2)
        of_step[alone] = np.maximum(of_step[alone], UNCONFIRMED * quarter)
        share = float((of_step * sizes).max() / max((np.abs(slope) * sizes).max(), 1e-300))
        if share > REPORTED_SHARE:
            messages.append(
                f"the time step, {step:.4g} s, causes an error of {100.0 * share:.2g} % of the "
                "largest derivative, for example because the law has a kink. Reduce time.step"
            )
    data: dict[str, Any] = {"of": summary.name, "value": value, "time_step": step}
    labels = {"value": Gradient.labels["value"]._replace(unit=summary.unit)}
    for ending, vector, about in (
        ("", slope, "derivative with respect to {}"),
        ("_error", of_differences + of_step, "error of the derivative with respect to {}"),
        ("_error_of_differences", of_differences, "error of {} from finite differences"),
        ("_error_of_step", of_step, "error of {} from the time step"),
    ):
        for key, derivative in numbers.by_key(vector).items():
            unit = derivative_unit(summary.unit, numbers.unit(key))
            data[key + ending] = derivative
            labels[key + ending] = Label(numbers.axes(key), unit, about.format(key))
    return Gradient(
        data | numbers.coordinates(),
        case=case,
        messages=messages,
        labels=labels,
        provenance={} if case.measured else law_provenance(case),
    )


def derivative_unit(unit: str, by: str) -> str:
    """Return the unit of a derivative of a result with respect to a parameter."""
    return unit if by == "1" else f"{unit}/{by}" if by.isalpha() else f"{unit}/({by})"


def sizes_of(numbers: Numbers, scale: Mapping[str, float]) -> np.ndarray:
    """Return the size of a unit step of each number."""
    problems = Problems()
    if not isinstance(scale, Mapping):
        raise CaseError(
            f"scale: {shown(scale)} is not valid. It must be a size for each key. Write for "
            f'example scale={{"{next(iter(numbers.keys))}": 1e-6}}.'
        )
    for key, size in scale.items():
        problems.check(
            key in numbers.keys and is_number(size) and size > 0.0,
            f"scale.{key}",
            f"{shown(size)} is not valid",
            f"It must be a number above 0, for one of {', '.join(numbers.keys)}",
            "Give the size of a typical change",
        )
    problems.close()
    own = [
        np.full(part.size, float(scale[key])) if key in scale else np.abs(part)
        for key, part in numbers.slices(numbers.start)
    ]
    for (key, _), sizes in zip(numbers.slices(numbers.start), own, strict=True):
        problems.check(
            bool((sizes > 0.0).all()),
            key,
            "the value is 0, so the size of a change is unknown",
            "A size is required",
            f'Give it, for example scale={{"{key}": 1e-6}}',
        )
    problems.close()
    return np.concatenate(own)


class Numbers:
    """Numbers of a case under some keys, as one vector.

    Parameters
    ----------
    case : Case
    keys : sequence of str, or str
    where : str
        Name of the argument in messages.

    Attributes
    ----------
    keys : dict of str to slice
        Indices of the numbers of each key.
    start : array (numbers,)
        Numbers of the case.
    """

    def __init__(self, case: Case, keys: Sequence[str] | str, where: str):
        check_case(case, CheckedCase)
        self.case, problems = case, Problems()
        self.keys: dict[str, slice] = {}
        self._values: dict[str, Any] = {}
        tables = case.resolved()
        given: list[Any] = list(keys) if isinstance(keys, (list, tuple)) else [keys]
        problems.check(bool(given), where, "missing", "At least one key of the case is required")
        starts: list[np.ndarray] = []
        named: set[tuple[str, int]] = set()
        for key in given:
            try:
                self._values[key] = value = number_or_list(case, tables, key, where)
            except CaseError as error:
                problems.repeat(error.problems)
                continue
            whole, place = list_and_place(case, key)
            own = {(whole, i) for i in (range(np.size(value)) if place is None else [place])}
            problems.check(
                not named & own,
                where,
                f"{key} is listed twice",
                "List each number once",
                "Remove one",
            )
            named |= own
            at = sum(part.size for part in starts)
            starts.append(np.atleast_1d(value))
            self.keys[key] = slice(at, at + starts[-1].size)
        problems.close()
        self.start = np.concatenate(starts)

    def slices(self, vector: np.ndarray) -> list[tuple[str, np.ndarray]]:
        """Return each key with its part of a vector."""
        return [(key, vector[place]) for key, place in self.keys.items()]

    def by_key(self, vector: np.ndarray) -> dict[str, Any]:
        """Return a vector as numbers and arrays, by key."""
        return {
            key: part.copy() if np.ndim(self._values[key]) else float(part[0])
            for key, part in self.slices(vector)
        }

    def unit(self, key: str) -> str:
        """Return the unit of the numbers of a key."""
        name, _ = list_and_place(self.case, key)
        if name in UNCHANGED:
            return UNITS_OF_LISTS.get(name, "1")
        return quantity_of(self.case, key).unit or "1"

    def axes(self, key: str) -> tuple[str, ...]:
        """Return the axes of the numbers of a key."""
        return (axis_of_list(key),) if np.ndim(self._values[key]) else ()

    def coordinates(self) -> dict[str, np.ndarray]:
        """Return the labels of the axes of all keys."""
        lists = {
            axes[0]: np.size(self._values[key]) for key in self.keys if (axes := self.axes(key))
        }
        return {axis: np.arange(1, count + 1) for axis, count in lists.items()}

    def beside(self, apart: np.ndarray) -> tuple[np.ndarray, list[Case]]:
        """Return each number plus and minus a distance, (2, numbers), and the cases there.

        The cases with added distances are first. If only one of the two is valid, the case itself
        replaces the other.
        """
        ends, cases = self.start + np.outer([1.0, -1.0], apart), []
        for sign, place in np.ndindex(*ends.shape):
            point = self.start.copy()
            point[place] = ends[sign, place]
            try:
                cases.append(self.case_at(point))
            except CaseError:
                if sign and ends[0, place] == self.start[place]:
                    raise
                ends[sign, place] = self.start[place]
                cases.append(self.case)
        return ends, cases

    def case_at(self, point: np.ndarray) -> Case:
        """Return the case with other numbers."""
        changes: dict[str, Any] = {}
        for key, value in self.by_key(point).items():
            name, place = list_and_place(self.case, key)
            if place is None:
                changes[key] = value.tolist() if np.ndim(value) else value
                continue
            numbers = changes.get(name, list_at(self.case, self.case.resolved(), name))
            changes[name] = [*numbers[:place], value, *numbers[place + 1 :]]
        return self.case.replace(**changes)


def number_or_list(case: Case, tables: Mapping[str, Any], key: str, where: str) -> Any:
    """Return the number, or the array, of a case under a key."""
    if not isinstance(key, str) or key.partition(".")[0] in NO_PHYSICS:
        raise CaseError(
            f"{where}: {shown(key)} is not valid. It must be a key of chain, striker, initial, "
            "ends, drive, or contact. Write for example striker.speed."
        )
    whole, place = list_and_place(case, key)
    if whole not in UNCHANGED or case.measured:
        return value_at(case, key)
    numbers = np.array(list_at(case, tables, whole))
    if place is None:
        return numbers
    if place >= numbers.size:
        raise CaseError(
            f"{key}: index {place} is out of range. It must be 0 to {numbers.size - 1}."
        )
    return float(numbers[place])


def list_and_place(case: Case, key: str) -> tuple[str, int | None]:
    """Return the list that a key refers to, and the index in it, if any."""
    name, _, place = key.rpartition(".")
    return (name, int(place)) if name in UNCHANGED and place.isdecimal() else (key, None)


def axis_of_list(name: str) -> str:
    """Return the axis of a list of the case."""
    return "gap" if name == "chain.gap_added" else "bead"


def list_at(case: Case, tables: Mapping[str, Any], key: str) -> list[float]:
    """Return the numbers of a list for beads or gaps, or its default."""
    given, *_ = entry_at(tables, key)
    count = case.beads - (axis_of_list(key) == "gap")
    return [UNCHANGED[key]] * count if given is None else list(given)


# --------------------------------------------------------------------------------------------------
# The result that is differentiated


class RunSummary(NamedTuple):
    """Scalar result of a run: what is recorded for it, and how it is read.

    The number is nan if a run ends before the wave has passed. `changes` are changes of the case,
    `at_steps` is true if every step is recorded, `where` is a name for messages, and `name` and
    `unit` describe the number.
    """

    where: str
    changes: dict[str, Any]
    at_steps: bool
    number: Callable[[Result], float]
    name: str
    unit: str

    def recorded(self, case: Case, step: float) -> Case:
        """Return a case with a time step [s] that records what `number` reads."""
        where = "record.interval" if case.measured else "sensors.interval"
        interval, *_ = entry_at(dict(case), where)
        every = 1 if self.at_steps else max(1, round(interval / step))
        # a change by a millionth may exceed the limit of a specified step
        keys: dict[str, Any] = {
            "time.step": step,
            "time.force_step": True,
            where: every * step,
        }
        if self.number is passed_momentum:
            keys["snapshots"] = {"interval": BETWEEN_SNAPSHOTS * step}
        return case.replace(**(self.changes | keys))


# Steps between two recorded velocities of the last bead: about ten records per pulse at the
# automatic step. Our choice.
BETWEEN_SNAPSHOTS = 32


def summary_of(case: Case, of: Any, where: str) -> RunSummary:
    """Check which result is requested, and return how it is read."""
    if callable(of):
        name = str(getattr(of, "__name__", type(of).__name__))
        return RunSummary(where, {}, False, of, name, "1")
    if case.measured:
        return summary_alone(case, of, where)
    beads: list[int] = []
    if of == "peak":
        beads = list(case.sensors.beads)
        if not beads:
            raise CaseError(
                f'{where}: "peak" needs a sensor, and the case has none. Set sensors.beads, or '
                'write ("peak", bead).'
            )
    elif of == "transmitted_momentum":
        if obstacle := obstacle_to_transmission(case):
            problem, fix = obstacle
            raise CaseError(
                f'{where}: "transmitted_momentum" is not defined because {problem}. It requires '
                "a case with a striker, beads at rest, a free right end, and no on-site springs "
                f'or resonators. To fix this, {fix}, or choose another result, such as "peak".'
            )
        changes = FORCES_ALONE | {"sensors.beads": [case.beads]}
        return RunSummary(where, changes, True, passed_momentum, of, "1")
    elif of == "wall_force":
        if not case.ends.has_wall("right"):
            raise CaseError(
                f'{where}: "wall_force" needs a wall at the right end, and the case has none. '
                'Set ends.right = "wall".'
            )
        own = {"sensors.beads": [], "sensors.contacts": [case.beads]}
        return RunSummary(where, FORCES_ALONE | own, True, force_on_wall, of, "N")
    elif isinstance(of, tuple) and len(of) == 2 and of[0] == "peak":
        whole = isinstance(of[1], (int, np.integer)) and not isinstance(of[1], bool)
        if not (whole and 1 <= of[1] <= case.beads):
            raise CaseError(
                f"{where}: bead {shown(of[1])} is out of range. It must be 1 to {case.beads}."
            )
        beads = [int(of[1])]
    else:
        raise CaseError(
            f'{where}: {shown(of)} is not valid. It must be "peak", ("peak", bead), '
            '"wall_force", "transmitted_momentum", or a function of a Result.'
        )
    name = of if isinstance(of, str) else f"peak:{beads[0]}"
    return RunSummary(where, FORCES_ALONE | {"sensors.beads": beads}, True, largest_peak, name, "N")


def summary_alone(case: Any, of: Any, where: str) -> RunSummary:
    """Return how a measure of a case that runs alone is read, at every step."""
    if of not in case.peaks:
        names = ", ".join(f'"{name}"' for name in case.peaks)
        raise CaseError(
            f"{where}: {shown(of)} is not valid. It must be {names}, or a function of a Result."
        )

    def number(result: Result) -> float:
        values = np.abs(getattr(result, case.peaks[of]))
        return smooth_top(values, int(np.argmax(values)))

    return RunSummary(where, {}, True, number, of, case.measured[of].unit)


def step_of(case: Any) -> float:
    """Return the time step of a case [s]."""
    return float(case.time_step() if case.measured else prepare(case)[2].value)


def found_in(
    cases: Sequence[Case],
    summary: RunSummary,
    threads: int | None,
    failed: Callable[[int, CaseError | RunError], Any] | None = None,
) -> list[float]:
    """Return the number of each case.

    If `failed` is given, it is called with the index and the error of a case without a number, and
    that number is infinite.

    Raises
    ------
    CaseError
        If the function fails, or if a case cannot be set up. If the wave has not passed, also with
        `failed`.
    RunError
        If a run fails.
    """

    def read(result: Result) -> dict[str, float]:
        return {"number": summary.number(result)}

    ends: Iterable[tuple[Status, str, Any]]
    if cases and cases[0].measured:
        ends = run_each(cases, read)
    else:
        check_members(cases, threads)
        measured = measure(cases, threads, summary=read)
        ends = zip(measured.status, measured.message, measured.summaries, strict=True)
    found = []
    for place, (status, message, numbers) in enumerate(ends):
        number = float(numbers.get("number", math.nan))
        if math.isfinite(number):
            found.append(number)
            continue
        error = (
            RunError(message)
            if status.failed and status is not Status.NOT_SET_UP
            else CaseError(message if status.failed else no_number(cases[place], summary, message))
        )
        if failed is None or (summary.at_steps and not status.failed):
            raise error
        failed(place, error)
        found.append(math.inf)
    return found


def no_number(case: Case, summary: RunSummary, message: str) -> str:
    """Return the reason why a complete run has no number."""
    if summary.at_steps and not case.measured:
        beads = ", ".join(map(str, case.sensors.beads))
        beads = f"bead {beads}" if beads else "the last contact"
        return (
            f"time.end: by {case.time.end:.6g} s, the wave has not passed {beads}. It must be "
            "later. Increase time.end."
        )
    problem = message.removeprefix("summary: ").removeprefix("number: ").partition(" It must ")[0]
    return (
        f"{summary.where}: {problem or 'nan is not a finite number.'} The function must return a "
        "finite number."
    )


def largest_peak(result: Result) -> float:
    """Return the largest force of the sensors, recorded at every step [N].

    It is nan if a force has not fallen to half of its maximum by the end.
    """
    tops = []
    for sensor in range(len(result.sensor_bead)):
        top = passed_top(result.sensor_force[:, sensor])
        if top is None:
            return math.nan
        tops.append(height_of(result, sensor, top))
    return max(tops)


def passed_top(force: np.ndarray) -> int | None:
    """Return the index of the maximum of a force; None if no pulse has passed by the end."""
    rest = static_force(force)
    above = force - rest
    top = int(np.argmax(above))
    passed = (above[top:] < PULSE_ENDS * above[top]).any()
    return top if above[top] > OF_REST * abs(rest) and passed else None


def force_on_wall(result: Result) -> float:
    """Return the largest force of the recorded contact, recorded at every step [N].

    It is nan if the force has not fallen to half of its maximum by the end.
    """
    force = result.contact_force[:, 0]
    top = passed_top(force)
    return math.nan if top is None else smooth_top(force, top)


def height_of(result: Result, sensor: int, top: int) -> float:
    """Return the maximum of the sensor's force near its largest value at a step [N]."""
    force, jumps = result.sensor_force[:, sensor], jumps_at(result, sensor)
    near = np.s_[top - 3 : top + 4]
    if jumps is not None:
        height, _, at_jump = summit(result.time, force, jumps)
        if at_jump or np.isfinite(jumps.force[near]).any():
            return height
    return smooth_top(force, top)


def smooth_top(force: np.ndarray, top: int) -> float:
    """Return the maximum of a force near its largest value at a step [N].

    The maximum is that of cubics through the values and their time derivatives.
    """
    values = force[top - 3 : top + 4] if top >= 3 else force[:0]
    if values.size < 7:
        return float(force[top])
    # derivatives by five values, of the fourth order: Abramowitz and Stegun 1964, table 25.2
    slope = (values[:-4] - 8.0 * values[1:-3] + 8.0 * values[3:-1] - values[4:]) / 12.0
    here = [float(force[top])]
    for a, b, sa, sb in zip(values[2:4], values[3:5], slope, slope[1:], strict=False):
        # a + sa x + q x^2 + c x^3 on 0 to 1
        q, c = 3.0 * (b - a) - 2.0 * sa - sb, 2.0 * (a - b) + sa + sb
        for x in np.roots([3.0 * c, 2.0 * q, sa]):
            if np.isreal(x) and 0.0 <= x.real <= 1.0:
                here.append(float(a + x.real * (sa + x.real * (q + x.real * c))))
    return max(here)


def passed_momentum(result: Result) -> float:
    """Return the momentum of the last bead after its first pulse, relative to the striker's.

    It is nan if the pulse has not passed. The pulse ends between two steps, close to the step of
    `pulse_stop`: where a line through the force falls to 1 % of the peak, or at the minimum of a
    parabola. Up to the snapshot before, the impulse is the bead's momentum plus its loss to drag.
    A sum over the steps would have an error with d^(1/4) where a damped contact begins between two
    steps, and its derivative an error of 2 % (measured: tsuji, gaps of 1 um).
    """
    # the sensor force is the mean of two contact forces, of which the bead has only the left one
    force = 2.0 * result.sensor_force[:, 0]
    above = force - static_force(force)
    stop = pulse_stop(above)
    if not stop:
        return math.nan
    last = stop - 1
    top = int(np.argmax(above[:stop]))
    level = PULSE_BEGINS * (2.0 * height_of(result, 0, top) - static_force(force))
    if above[last] <= PULSE_BEGINS * above[top]:
        fall = above[last - 1] - above[last]
        end = last - min(1.0, max(0.0, (level - above[last]) / fall))
    else:
        _, end = vertex(np.arange(last - 1.0, last + 2.0), -above[last - 1 : last + 2])
    # a drive may act on this bead, and its force is not part of the contact force
    shot = 0 if result.case.drives else int(end) // BETWEEN_SNAPSHOTS
    first = shot * BETWEEN_SNAPSHOTS
    speed, way = (
        float(values[shot, -1] - values[0, -1]) for values in (result.velocity, result.displacement)
    )
    drag = float(result.case.bodies()["drag"][-1])
    momentum = result.mass[-1] * (speed + drag * way)
    momentum += result.time_step * passed_on(above[first:], end - first)
    return float(momentum / (result.mass[0] * result.case.striker.speed))
