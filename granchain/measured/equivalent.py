"""Equivalence: the inputs with which one contact law best approximates another in a chain, and the
remaining difference.

The chain with the reference law is run once. For each other law, all points of a grid of its free
inputs are run together. From every lowest point of the grid, a descent minimizes the root mean
square of the differences over the sensors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from granchain.case import Case
from granchain.case.document import of_contact
from granchain.errors import CaseError, RunError
from granchain.keys import Problems, brief
from granchain.measured.ranking import (
    Ranking,
    check_has_key,
    check_measure,
    free_in_each,
    is_law,
    key_labels,
    number_inputs,
    ranked,
    ranking_of,
    start_case,
)
from granchain.simulation import law_provenance, warns_of_fast_drives
from granchain.store import Answer, Label
from granchain.studies.evaluate import Evaluation, evaluated
from granchain.studies.interruption import scipy_stats, uninterrupted
from granchain.studies.measures import FORCES_ALONE, Missing
from granchain.studies.members import check_members
from granchain.studies.plan import is_number
from granchain.studies.search import Lowest, descend, indistinguishable_groups

COMPARED_BY = {"peaks": "peak", "arrivals": "arrival", "traces": "force"}
FREE_RESTITUTION: Mapping[str, tuple[float, float]] = {"restitution": (0.05, 0.99)}
# Grid points of one free input. No law has two minima whose distance is below a tenth of the range
# of the restitution.
GRID_POINTS = 25
# Ratio of the ends of a range above which it is searched in logarithms. Our choice.
MANY_TIMES = 100.0
# Number of evenly spread points for several free inputs (Sobol), and number of descents that start
# from the best points.
STARTING_POINTS, WAYS = 64, 4
# Fractions of a free input's range: the largest distance from an end that counts as at the end, and
# the largest distance between two minima that count as one.
AT_END, SAME = 1e-3, 2e-2
# Largest relative difference of residuals that count as equal: the time step and the samples of a
# run cause about 1e-4 of a residual of 5 %.
TIE = 1e-3


# Further variables of each free input: ending of the name, axes, and meaning.
OF_AN_INPUT = {
    "_low": ((), "lower end of the range"),
    "_high": ((), "upper end of the range"),
    "_grid": (("point",), "value at each point of the grid"),
    "_minimum": (("minimum",), "value at each minimum"),
}
_SENSOR = ("sensor_bead",)


class Equivalent(Answer):
    """Approximation of one contact law by another, with the best inputs.

    `equivalent["contact.restitution"]` is the value of a free input, nan if every run failed. The
    variables with the endings `_low` and `_high` are its range. The variables with the endings
    `_grid` (n_points,) and `_minimum` (n_minima,) are its values at the grid points and at the
    minima. `case` is the case with the law and its inputs, None if every run failed.

    Attributes
    ----------
    to : str
        Name of the law that is approximated.
    measure : str
        Quantity that was compared.
    residual : float
        Root mean square of `per_bead` [1]. nan if every run failed.
    key : (n_free,) array
        Keys of the free inputs.
    at_bound : (n_free,) array
        Whether the value is at a limit of its range. There may be a better value beyond it.
    per_bead : (n_sensors,) array
        Difference at each sensor [1]: for peaks and arrivals, the signed difference relative to the
        value with the other law; for traces, the norm of the difference divided by the norm of the
        force.
    minimum_residual : (n_minima,) array
        Residual of each minimum, best first [1].
    grid_residual : (n_points,) array
        Residual of each point of the grid, which was computed first, with the time step "fast". nan
        if a run failed.

    Examples
    --------
    >>> import granchain as gc
    >>> case = gc.load_case("steel-chain").replace({"contact": {"law": "hertz"}})
    >>> case = case.replace({"chain.beads": 6, "sensors.beads": [4], "time.end": 8e-5})
    >>> free = {"restitution": (0.8, 0.99)}
    >>> (best,) = gc.equivalent(case, to="hertz", laws=["flores"], free=free)
    >>> best.law, best.to, best.at_bound.tolist()
    ('flores', 'hertz', [True])
    """

    labels: ClassVar = {
        "to": Label((), "", "law that is approximated"),
        "measure": Label((), "", "quantity that was compared"),
        "residual": Label((), "1", "root mean square of the differences over the sensors"),
        "key": Label(("key",), "", "free input of the law"),
        "at_bound": Label(("key",), "1", "whether the value is at a limit of its range"),
        "sensor_bead": Label(_SENSOR, "1", "label of the sensor bead"),
        "per_bead": Label(_SENSOR, "1", "difference relative to the other law"),
        "minimum": Label(("minimum",), "1", "number of a minimum, from 1"),
        "minimum_residual": Label(("minimum",), "1", "residual of the minimum"),
        "point": Label(("point",), "1", "number of a point of the grid"),
        "grid_residual": Label(("point",), "1", "residual at the point of the grid"),
    }

    def _by_name(self, ending: str = "") -> dict[str, Any]:
        """Return the variable KEY + `ending` of each free input, by the name of the input."""
        return {key.removeprefix("contact."): self[f"{key}{ending}"] for key in self.key.tolist()}

    @property
    def inputs(self) -> dict[str, float]:
        """Value of each free input at the smallest residual; empty if every run failed."""
        return self._by_name() if math.isfinite(self.residual) else {}

    @property
    def free(self) -> dict[str, tuple[float, float]]:
        """Range of each free input."""
        high = self._by_name("_high")
        return {name: (low, high[name]) for name, low in self._by_name("_low").items()}


@warns_of_fast_drives
def equivalent(
    case: Case,
    to: str = "ma-liu",
    laws: Sequence[str | Mapping[str, Any]] = (),
    free: Mapping[str, Any] | None = None,
    measure: str = "peaks",
    *,
    threads: int | None = None,
) -> Ranking[Equivalent]:
    """Find the inputs with which laws best approximate another law in a chain.

    Parameters
    ----------
    case : Case
        Case with sensors. If its law is not `to`, the law is changed.
    to : str
        Reference law to approximate.
    laws : sequence of str or mapping
        Laws. A mapping such as {"law": "flores", "damping": "identified"} sets inputs that are not
        free.
    free : mapping of str to (low, high), or of str to such a mapping, optional
        Ranges of the inputs that are searched, for all laws that have them, or for each law, such
        as {"flores": {"restitution": (0.05, 0.99)}}. For the law of a segment or a wall, use its
        key, such as "ends.right_contact.restitution". Default: restitution from 0.05 to 0.99.
    measure : {"peaks", "arrivals", "traces"}
        Quantity that is compared: peaks of the first pulse (default), their times, or complete
        traces.
    threads : int, optional
        Number of threads. Default: the number of processors available to this process.

    Returns
    -------
    Ranking of Equivalent
        The best law is first. Laws for which every run failed are last.

    Raises
    ------
    CaseError
        If an argument is invalid, or if a pulse does not reach a sensor. The message lists every
        error.

    Examples
    --------
    >>> import granchain as gc
    >>> case = gc.load_case("steel-chain").replace({"contact": {"law": "hertz"}})
    >>> case = case.replace({"chain.beads": 6, "sensors.beads": [4], "time.end": 8e-5})
    >>> free = {"restitution": (0.8, 0.99)}
    >>> ranking = gc.equivalent(case, to="hertz", laws=["flores"], free=free)
    >>> ranking[0].inputs
    {'restitution': 0.99}
    """
    threads = check_members([case], threads)
    free = FREE_RESTITUTION if free is None else free
    reference, candidates = checked_search(case, to, laws, free, measure)
    target = Target(reference, measure)
    if target.reference.status[0].failed:
        raise RunError(f"{to}: {target.reference.message[0]}")
    if target.missing:
        raise CaseError(
            f"sensors.beads: no complete pulse passes {', '.join(map(str, target.missing))} "
            f"before time.end, {reference.time.end:g} s. A pulse must pass every sensor. "
            "Increase time.end, or remove these beads."
        )
    return _ranked_results(case, reference, _search(target, candidates, threads))


# --------------------------------------------------------------------------------------------------
# The request


class Candidate(NamedTuple):
    """Law with its fixed inputs, and its free inputs with their ranges.

    A point contains the logarithms of inputs whose range spans decades.
    """

    law: str
    inputs: dict[str, Any]
    names: tuple[str, ...]
    low: np.ndarray
    high: np.ndarray
    decades: np.ndarray

    def changes_at(self, point: np.ndarray) -> dict[str, Any]:
        """Return the changes that apply the law and its inputs to a case."""
        inputs = self.inputs | self.inputs_at(point)
        return {"contact.law": self.law} | {key_of(name): value for name, value in inputs.items()}

    def inputs_at(self, point: np.ndarray) -> dict[str, float]:
        """Return the free inputs at a point, by name."""
        return dict(zip(self.names, self.values(point).tolist(), strict=True))

    def values(self, points: np.ndarray) -> np.ndarray:
        """Return the free inputs at points (..., input)."""
        return np.where(self.decades, np.exp(np.where(self.decades, points, 0.0)), points)

    def inputs_at_limits(self, point: np.ndarray) -> tuple[str, ...]:
        """Return the free inputs at an end of their range."""
        near = np.minimum(point - self.low, self.high - point) < AT_END * (self.high - self.low)
        return tuple(name for name, at in zip(self.names, near, strict=True) if at)


def key_of(name: str) -> str:
    """Return the key of an input; that of the law of a segment or a wall is complete already."""
    return name if "." in name else f"contact.{name}"


def checked_search(
    case: Case, to: Any, laws: Any, free: Any, measure: Any
) -> tuple[Case, list[Candidate]]:
    """Check all arguments, and return the case with the reference law, and the candidates."""
    problems = Problems()
    check_measure(measure, COMPARED_BY, problems)
    problems.check(
        bool(case.sensors.beads),
        "sensors.beads",
        "missing",
        "At least one sensor is required",
        "List the beads at which laws are compared",
    )
    reference = case
    if is_law("to", to, problems):
        switched = {} if case.contact.law == to else {"contact.law": to}
        try:
            reference = case.replace(**FORCES_ALONE, **switched)
        except CaseError as error:
            problems.repeat(error.problems)
    requested: list[tuple[str, dict[str, Any]]] = []
    entries = list(laws) if isinstance(laws, (list, tuple)) else [laws] if laws else []
    problems.check(bool(entries), "laws", "missing", "At least one law is required")
    for i, entry in enumerate(entries):
        inputs = dict(entry) if isinstance(entry, Mapping) else {"law": entry}
        law = inputs.pop("law", None)
        if is_law(f"laws.{i}", law, problems):
            problems.check(
                (law, inputs) not in requested,
                f"laws.{i}",
                f"{law} is listed twice",
                "List each law once",
                "Remove it",
            )
            requested.append((law, inputs))
    shared, individual = _ranges(free, problems)
    by_law = free_in_each([law for law, _ in requested], shared, individual, problems)
    candidates = [
        _candidate(law, inputs, ranges, problems)
        for (law, inputs), ranges in zip(requested, by_law, strict=True)
    ]
    for candidate in candidates if not problems.sentences else ():
        for point in (0.5 * (candidate.low + candidate.high), candidate.low, candidate.high):
            try:
                reference.replace(**candidate.changes_at(point))
            except CaseError as error:
                problems.repeat(f"{candidate.law}: {sentence}" for sentence in error.problems)
                break
    problems.close()
    return reference, candidates


def _candidate(
    law: str, inputs: dict[str, Any], free: Mapping[str, tuple[float, float]], problems: Problems
) -> Candidate:
    """Return a law with the ranges of its free inputs."""
    ranges = {key.removeprefix("contact."): ends for key, ends in free.items()}
    numbers = number_inputs(law)
    for name, ends in ranges.items():
        if "." not in name and check_has_key(f"{law}.{name}", law, f"contact.{name}", problems):
            problems.check(
                name in numbers
                and name not in inputs
                and not any(numbers[name].problem(end) for end in ends),
                f"{law}.{name}",
                "both a value and a range are given"
                if name in inputs
                else f"the range {ends[0]:g} to {ends[1]:g} is not valid",
                f"It must be {numbers[name].range}"
                if name in numbers
                else f"The inputs are {', '.join(numbers)}",
                "Give either a value or a range" if name in inputs else "Narrow the range",
            )
    low, high = (np.array([ends[i] for ends in ranges.values()], dtype=float) for i in (0, 1))
    # evenly spaced points would omit the lower decades
    decades = (low > 0.0) & (high > MANY_TIMES * low)
    box = np.array([low, high])
    first, last = np.where(decades, np.log(np.where(decades, box, 1.0)), box)
    return Candidate(law, inputs, tuple(ranges), first, last, decades)


def _ranges(
    free: Any, problems: Problems
) -> tuple[dict[str, tuple[float, float]], dict[str, dict[str, tuple[float, float]]]]:
    """Return the ranges of free inputs by key: those that all laws share, and those of each law.

    A key is one such as contact.restitution, or that of the law of a segment or a wall.
    """
    shared: dict[str, tuple[float, float]] = {}
    individual: dict[str, dict[str, tuple[float, float]]] = {}
    valid = problems.check(
        isinstance(free, Mapping) and bool(free),
        "free",
        f"{brief(free)} is not valid" if free else "missing",
        "A range for at least one input is required",
        'Write {"restitution": (0.05, 0.99)}',
    )
    for word, entry in free.items() if valid else ():
        of_law = isinstance(entry, Mapping)
        ranges = individual.setdefault(str(word), {}) if of_law else shared
        for key, ends in (entry if of_law else {word: entry}).items():
            pair = isinstance(ends, (tuple, list)) and len(ends) == 2
            if problems.check(
                pair and all(map(is_number, ends)) and ends[0] < ends[1],
                f"free.{word}.{key}" if of_law else f"free.{key}",
                f"{f'{ends[0]!r} to {ends[1]!r}' if pair else brief(ends)} is not a range",
                "It must be two finite numbers, the lower one first",
            ):
                name = str(key).removeprefix("contact.")
                key = name if of_contact(name) else f"contact.{name}"
                ranges[key] = (float(ends[0]), float(ends[1]))
    return shared, individual


# --------------------------------------------------------------------------------------------------
# The comparison


class Target:
    """Results of the reference law in a chain, and differences of other laws from them.

    Parameters
    ----------
    case : Case
    quantity : {"peaks", "arrivals", "traces"}

    Attributes
    ----------
    reference : Evaluation
    missing : list of int
        Sensors at which the first pulse is not complete.
    """

    def __init__(self, case: Case, quantity: str):
        self.case, self.quantity, self.traces = case, quantity, quantity == "traces"
        self.measures = ["pulse", "traces"] if self.traces else ["pulse"]
        self.reference = reference = self.evaluated([case], 1)
        # an incomplete pulse has no width
        self.missing = np.array(reference.sensor_bead)[~np.isfinite(reference["width"][0])].tolist()
        if self.traces and not self.missing:
            from scipy.interpolate import CubicSpline

            time, force = reference.traces[0]
            self._spline = CubicSpline(time, force, axis=0)
            # root mean square of each force over the complete run
            self._size = np.sqrt(np.mean(force**2, axis=0))

    def evaluated(self, cases: Sequence[Case], threads: int) -> Evaluation:
        """Return the pulses of cases at the sensors, and their traces if these are compared."""
        return evaluated(cases, self.measures, threads=threads, interruptible=False)

    def differences(self, evaluation: Evaluation) -> np.ndarray:
        """Return the differences of runs from the reference, (run, sensor) [1].

        They are nan if a run failed, or if a pulse does not pass a sensor.
        """
        if not self.traces:
            name = COMPARED_BY[self.quantity]
            relative = evaluation[name] / self.reference[name][0] - 1.0
            return np.where(np.isfinite(evaluation["width"]), relative, math.nan)
        rows = np.full(evaluation["peak"].shape, math.nan)
        for row, (time, force) in zip(rows, evaluation.traces, strict=True):
            if len(time):
                covered = time <= self.reference.traces[0][0][-1]
                difference = force[covered] - self._spline(time[covered])
                row[:] = np.sqrt(np.mean(difference**2, axis=0)) / self._size
        return rows

    def lowest(self, candidate: Candidate, start: np.ndarray, threads: int) -> Lowest | None:
        """Return the result of a descent from a point."""

        def residuals(points: np.ndarray) -> np.ndarray:
            cases = [self.case.replace(**candidate.changes_at(point)) for point in points]
            return self.differences(self.evaluated(cases, threads))

        low, high = candidate.low, candidate.high
        return descend(residuals, start, low, high, high - low, "dogbox")


def rms(rows: np.ndarray) -> np.ndarray:
    """Return the root mean square over the sensors."""
    return np.asarray(np.sqrt(np.mean(rows**2, axis=-1)))


# --------------------------------------------------------------------------------------------------
# The search


def _search(target: Target, candidates: Sequence[Candidate], threads: int) -> list[Equivalent]:
    """Return the result for each law."""
    case = target.case
    fast = case.replace(**{"time.step": "fast"}) if case.time.step == "auto" else case
    points = [grid_of(candidate.low, candidate.high) for candidate in candidates]
    cases = [
        fast.replace(**candidate.changes_at(point))
        for candidate, grid in zip(candidates, points, strict=True)
        for point in grid
    ]
    ran = target.evaluated(cases, threads)
    residuals, first = rms(target.differences(ran)), 0
    answers = []
    for candidate, grid in zip(candidates, points, strict=True):
        rows = slice(first, first + len(grid))
        first, residual = rows.stop, residuals[rows]
        starts = starting_points(grid, residual, candidate.high - candidate.low)
        ends = [target.lowest(candidate, grid[k], threads) for k in starts]
        lows = sorted(filter(None, ends), key=lambda end: float(rms(end.residual)))
        answers.append(_answer(target, candidate, lows, grid, residual, ran.message[rows]))
    return answers


def grid_of(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return points over a box, (point, input).

    For one input, they are evenly spaced and include both ends. For several, they are from a Sobol
    sequence.
    """
    if len(low) == 1:
        return np.asarray(np.linspace(low[0], high[0], GRID_POINTS)[:, None])
    with uninterrupted():
        # see `plan.quasi_random`
        parts = scipy_stats().qmc.Sobol(len(low), seed=0).random(STARTING_POINTS)
    return np.asarray(low + (high - low) * parts)


def starting_points(points: np.ndarray, residual: np.ndarray, size: np.ndarray) -> list[int]:
    """Return the points from which descents start.

    For one input, these are all local minima of the grid. For several, they are the best points
    that are not close to each other.
    """
    filled = np.where(np.isfinite(residual), residual, math.inf)
    if points.shape[1] == 1:
        around = np.concatenate([[math.inf], filled, [math.inf]])
        low = (filled <= around[:-2]) & (filled < around[2:]) & np.isfinite(filled)
        return [int(k) for k in np.flatnonzero(low)]
    chosen: list[int] = []
    for k in np.argsort(filled).tolist():
        distant = all((np.abs(points[k] - points[j]) / size).max() > 0.2 for j in chosen)
        if math.isfinite(filled[k]) and distant and len(chosen) < WAYS:
            chosen.append(k)
    return chosen


def _answer(
    target: Target,
    candidate: Candidate,
    lows: Sequence[Lowest],
    points: np.ndarray,
    row: np.ndarray,
    notes: Sequence[str],
) -> Equivalent:
    """Return the result of a law: the best of its minima, with messages."""
    case, size = target.case, candidate.high - candidate.low
    best = lows[0].point if lows else np.full(len(candidate.names), math.nan)
    off = lows[0].residual if lows else np.full(len(case.sensors.beads), math.nan)
    inputs, at_limits = candidate.inputs_at(best), candidate.inputs_at_limits(best)
    alike = indistinguishable_groups(lows[0].slope, candidate.names, size) if lows else []
    distinct: list[Lowest] = []
    for low in () if alike else lows[1:]:
        others = (lows[0], *distinct)
        distances = [np.abs(low.point - other.point) / size for other in others]
        flat = any(_is_flat_between(points, row, low, other) for other in others)
        if np.max(distances, axis=1).min() > SAME and not flat:
            distinct.append(low)
    failed = [note for note in notes if note]
    merged = np.flatnonzero(target.reference["missing"][0] & Missing.MERGED)
    beads = ", ".join(str(case.sensors.beads[k]) for k in merged)
    line = (
        "are not distinguishable: the residual is the same along a line of their values, and "
        "this result is one point of that line"
    )
    listed = "; ".join(
        ", ".join(f"{name} {value:.4g}" for name, value in candidate.inputs_at(low.point).items())
        + f" with {float(rms(low.residual)):.3e}"
        for low in distinct
    )
    remarks = {
        f"{len(failed)} of {len(points)} runs of the grid failed, for example with: "
        f"{min(failed, default='')}": bool(failed),
        "no run has a pulse at every sensor, so this range has no result": not lows,
        f"at bead {beads} a second, larger pulse of {case.contact.law} has merged with the "
        "first, so the second pulse was compared there. Use beads that the second pulse does not "
        "reach": len(merged) > 0,
        **{
            f"{name} is at the limit of its range, {inputs[name]:.4g}. There may be a better value "
            "beyond it. Widen the range": True
            for name in at_limits
        },
        "the search did not converge. The minimum residual may be slightly lower": bool(lows)
        and not lows[0].settled,
        **{
            f"{' and '.join(names)} {'has no effect' if len(names) == 1 else line}": True
            for names in alike
        },
        f"there are {len(distinct) + 1} minima. The others: {listed}": bool(distinct),
    }
    keys = list(map(key_of, candidate.names))
    at_minima = candidate.values(np.array([best, *(low.point for low in distinct)]))
    columns = {
        "": candidate.values(best),
        "_low": candidate.values(candidate.low),
        "_high": candidate.values(candidate.high),
        "_grid": candidate.values(points).T,
        "_minimum": at_minima.T,
    }
    data = {
        "to": case.contact.law,
        "measure": target.quantity,
        "residual": float(rms(off)),
        "key": keys,
        "at_bound": [name in at_limits for name in candidate.names],
        "sensor_bead": case.sensors.beads,
        "per_bead": off,
        "minimum": np.arange(1, len(at_minima) + 1),
        "minimum_residual": [float(rms(off)), *(float(rms(low.residual)) for low in distinct)],
        "point": np.arange(len(points)),
        "grid_residual": row,
        **{
            f"{key}{ending}": values[i]
            for ending, values in columns.items()
            for i, key in enumerate(keys)
        },
    }
    # every run failed, so the case at the lower ends of the ranges provides only labels
    changed = case.replace(**candidate.changes_at(best if lows else candidate.low))
    return Equivalent(
        data,
        case=changed if lows else None,
        law=changed.law,
        title=changed.title,
        messages=tuple(f"{candidate.law}: {remark}" for remark, true in remarks.items() if true),
        labels=key_labels(changed, keys, OF_AN_INPUT),
        provenance={**start_case(case), **law_provenance(changed)},
    )


def _is_flat_between(points: np.ndarray, row: np.ndarray, low: Lowest, lower: Lowest) -> bool:
    """Return whether the residual does not rise between two minima.

    A range with a flat end has no minimum there. This applies to one free input only, because
    several inputs have no grid points in between.
    """
    first, last = sorted([float(low.point[0]), float(lower.point[0])])
    residuals_between = row[(points[:, 0] > first) & (points[:, 0] < last)]
    rises = ~(residuals_between <= (1.0 + TIE) * float(rms(low.residual)))
    return points.shape[1] == 1 and not rises.any()


# --------------------------------------------------------------------------------------------------
# The ranking


def _ranked_results(
    start: Case, reference: Case, answers: Sequence[Equivalent]
) -> Ranking[Equivalent]:
    """Return the results best first, with ranks; equal residuals within run errors share a rank."""
    residuals = [answer.residual for answer in answers]
    places = ranked(residuals, lambda i, j: abs(residuals[j] - residuals[i]) <= TIE * residuals[i])
    return ranking_of(
        answers,
        places,
        ("residual", "per_bead", *{key for answer in answers for key in answer.key.tolist()}),
        ("to", "measure", "sensor_bead"),
        {},
        reference=reference.law,
        title=start.title,
        messages=tuple(
            dict.fromkeys(message for k, _ in places for message in answers[k].messages)
        ),
        provenance=start_case(start),
    )
