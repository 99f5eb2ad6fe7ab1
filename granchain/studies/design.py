"""Design of a chain: derivatives of a result with respect to parameters of the case, and the
parameters that minimize it.

All runs of a gradient or an optimization use the same time step.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, ClassVar, NamedTuple

import numpy as np

from granchain.analysis.differentiable import (
    BETWEEN_SNAPSHOTS,
    largest_contact_force,
    largest_sensor_force,
    smooth_top,
    transmitted_momentum,
)
from granchain.case import Case, check_case
from granchain.case.case import CheckedCase
from granchain.case.document import NO_PHYSICS, entry_at, quantity_of, value_at
from granchain.contact import law_named
from granchain.errors import CaseError, GranchainError, RunError
from granchain.keys import Problems, brief, check_integer
from granchain.plain_data import canonical
from granchain.progress import progress_of
from granchain.simulation import law_provenance, prepare, warns_of_fast_drives
from granchain.status import Status
from granchain.store import Answer, Label, Result
from granchain.studies.evaluate import evaluated
from granchain.studies.measures import FORCES_ALONE, obstacle_to_transmission
from granchain.studies.plan import is_number
from granchain.studies.search import residuals_and_slopes, scipy_optimize
from granchain.verification import UNCONFIRMED

# Half the width of a difference, relative to the number or its scale. Rounding of the runs, about
# 1e-14, causes an error of 1e-8 of the derivative. If contacts open, the error of the difference is
# linear in this distance.
RELATIVE_STEP = 1e-6
# Error from the time step above which a message is issued, relative to the largest derivative.
REPORTED_SHARE = 0.01

# Designs of a generation per number.
DESIGNS = 10
# Number of populations that search the box independently, because one may collapse far from the
# optimum. Our choice.
POPULATIONS = 2
# Standard deviation of a population's values, relative to their mean, at which it has converged.
CONVERGED_SPREAD = 1e-3
# Maximum number of steps of a local search, each with its derivatives. Our choice.
MOST_SEARCH_STEPS = 60
# Spans of the differences of a local search, relative to the width of the box. Values have errors
# of about 1e-5, which jump when the time of a contact onset passes a step. Our choice.
SPANS = (4e-3, 1e-3)
# Relative gain nearby that the slopes and their errors may still allow in a design that has
# converged, half of 0.1 %. Our choice.
CONVERGED = 5e-4
# Relative gains above which a first, second, and third round of local searches starts. A round uses
# every span, and then no derivatives. Our choice.
GAINS_OF_ROUNDS = (2e-5, CONVERGED, CONVERGED)
# Relative change of the value at which a search with derivatives ends.
FLAT_SEARCH = 2e-6
# Designs per number in a search without derivatives.
WITHOUT_SLOPES = 40
# Result of a failed design in a search with derivatives, relative to that of the initial case.
FAILED_VALUE = 1e3
# Distance from a limit or bound within which the limit or bound affects the slope, relative to the
# width.
ACTS = 0.02
# Relative tolerance of a constraint, because rounding prevents an exact equality.
CONSTRAINT_TOLERANCE = 1e-6


class ListOfCase(NamedTuple):
    """List of a case with one number for each bead or gap."""

    default: float
    unit: str
    axis: str


LISTS = {
    "chain.radius_factor": ListOfCase(1.0, "1", "bead"),
    "chain.mass_factor": ListOfCase(1.0, "1", "bead"),
    "chain.modulus_factor": ListOfCase(1.0, "1", "bead"),
    "chain.gap_added": ListOfCase(0.0, "m", "gap"),
    "initial.velocity": ListOfCase(0.0, "m/s", "bead"),
    "initial.displacement": ListOfCase(0.0, "m", "bead"),
}
# Labels of the axes of these lists.
AXES_OF_LISTS = {
    "bead": Label(("bead",), "1", "label of the bead"),
    "gap": Label(("gap",), "1", "label of the gap; gap k is between beads k and k+1"),
}

# Result of a run: "peak", ("peak", bead), "wall_force", "transmitted_momentum", or a function of a
# Result.
Of = str | tuple[str, int] | Callable[[Result], float]


# --------------------------------------------------------------------------------------------------
# Gradient


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
        """Return the variable KEY + `ending` of each key."""
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
        Result and returns a number. For a mechanism: "largest_contact_force" [N],
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
    numbers, summary = DesignNumbers(case, keys, "keys"), summary_of(case, of, "of")
    sizes, step = sizes_of(numbers, {} if scale is None else scale), step_of_case(case)
    single = [index.start for index in numbers.keys.values() if index.stop - index.start == 1]
    near, cases_near = numbers.neighbours(RELATIVE_STEP * sizes)
    cases = [(numbers.case_at(numbers.start), step), *((each, step) for each in cases_near)]
    if error:
        far, cases_far = numbers.neighbours(2.0 * RELATIVE_STEP * sizes)
        cases += [(each, step) for each in cases_far]
        cases += [(each, 0.5 * step) for each in cases_near]
        cases += [
            (cases_near[sign * sizes.size + i], 0.25 * step) for sign in (0, 1) for i in single
        ]
    results, failures = results_of([summary.recorded(*each) for each in cases], summary, threads)
    for failure in failures.values():
        raise failure
    ends = iter(results[1:].tolist())

    def slopes(points: np.ndarray) -> np.ndarray:
        above, below = np.array([next(ends) for _ in range(points.size)]).reshape(2, -1)
        return np.asarray((above - below) / (points[0] - points[1]))

    slope = slopes(near)
    messages = [
        f"{key}: the case is not valid on the other side of the value, so a one-sided difference "
        "was used"
        for key, at_start in numbers.slices((near == numbers.start).any(axis=0))
        if at_start.any()
    ]
    of_differences = of_step = np.full(sizes.size, math.nan)
    if error:
        of_differences = np.abs(slopes(far) - slope)
        # halving the step removes this fraction of an error of this order; two steps cannot confirm
        # the order
        removed = 0.5 ** law_named(case.contact.law).order
        of_step = UNCONFIRMED * np.abs(slopes(near) - slope) / (1.0 - removed)
        # an error may be small by chance, because it may cross 0: for a list, use at least the root
        # mean square of its errors; for one number, also use the error from a quarter of the step
        for _, errors in numbers.slices(of_step):
            np.maximum(errors, math.sqrt(np.mean(errors**2)), out=errors)
        quarter = np.abs(slopes(near[:, single]) - slope[single]) / (1.0 - removed**2)
        of_step[single] = np.maximum(of_step[single], UNCONFIRMED * quarter)
        share = float((of_step * sizes).max() / max((np.abs(slope) * sizes).max(), 1e-300))
        if share > REPORTED_SHARE:
            messages.append(
                f"the time step, {step:.4g} s, causes an error of {100.0 * share:.2g} % of the "
                "largest derivative, for example because the law has a kink. Reduce time.step"
            )
    columns = {
        "": (slope, "derivative with respect to {}"),
        "_error": (of_differences + of_step, "error of the derivative with respect to {}"),
        "_error_of_differences": (of_differences, "error of {} from finite differences"),
        "_error_of_step": (of_step, "error of {} from the time step"),
    }
    data, labels = numbers.labelled(columns, lambda unit: derivative_unit(summary.unit, unit))
    return Gradient(
        data | {"of": summary.name, "value": float(results[0]), "time_step": step},
        case=case,
        messages=messages,
        labels=labels | {"value": Gradient.labels["value"]._replace(unit=summary.unit)},
        provenance=law_provenance(case),
    )


def derivative_unit(unit: str, by: str) -> str:
    """Return the unit of a derivative of a result with respect to a parameter."""
    return unit if by == "1" else f"{unit}/{by}" if by.isalpha() else f"{unit}/({by})"


def sizes_of(numbers: DesignNumbers, scale: Mapping[str, float]) -> np.ndarray:
    """Return the size of a unit step of each number."""
    problems, sizes = Problems(), np.abs(numbers.start)
    if not isinstance(scale, Mapping):
        raise CaseError(
            f"scale: {brief(scale)} is not valid. It must be a size for each key. Write for "
            f'example scale={{"{next(iter(numbers.keys))}": 1e-6}}.'
        )
    for key, size in scale.items():
        if problems.check(
            key in numbers.keys and is_number(size) and size > 0.0,
            f"scale.{key}",
            f"{brief(size)} is not valid",
            f"It must be a number above 0, for one of {', '.join(numbers.keys)}",
            "Give the size of a typical change",
        ):
            sizes[numbers.keys[key]] = size
    for key, of_key in numbers.slices(sizes):
        problems.check(
            bool((of_key > 0.0).all()),
            key,
            "the value is 0, so the size of a change is unknown",
            "A size is required",
            f'Give it, for example scale={{"{key}": 1e-6}}',
        )
    problems.close()
    return sizes


# --------------------------------------------------------------------------------------------------
# Optimization


class Optimum(Answer):
    """Best design of an optimization; `optimum[key]` returns one best value.

    The variables of a key such as "striker.speed" are "striker.speed" and the bounds,
    "striker.speed_low" and "striker.speed_high".

    Attributes
    ----------
    case : Case
        Case with the best values. The initial case is in the provenance, as `start_case_json`.
    minimize : str
        Name of the minimized result, such as "peak:5" for the peak of bead 5.
    value, start : float
        Minimized result for the best design and for the initial case.
    values : dict of str to float or array
        Best values by key, in SI units.
    subject_to : (n_constraints,) array of str
        Names of the constrained results.
    limited, limited_low, limited_high : (n_constraints,) array
        Constrained results of the best design, and their bounds, in the unit of `limited_unit`.
    designs, history : (n,) array
        Number of designs computed when a better one was found, and its result.
    time_step : float
        Time step of all runs [s].
    converged : bool
        Whether both searches of the box ended at the same value within 0.05 % and the final slopes
        and their errors allow an improvement of at most 0.05 % nearby. With `generations=0` there
        are no such searches, and it is false. This is not a proof: a lower optimum may exist
        elsewhere in the box.
    gain : float
        Largest decrease of the value that the final slopes and their errors allow nearby. Infinite
        if there are no slopes. At most 0.05 % of the value at a local optimum.
    messages : tuple of str
        Messages of the searches of SciPy, and notes.

    Examples
    --------
    >>> import granchain as gc
    >>> case = gc.load_case("steel-chain").replace({"contact": {"law": "hertz"}})
    >>> case = case.replace({"chain.beads": 4, "sensors.beads": [3], "time.end": 8e-5})
    >>> over = {"striker.speed": (1.0, 2.0)}
    >>> optimum = gc.optimize(case, "peak", over, generations=0, progress=False)
    >>> optimum.value < optimum.start
    True
    """

    labels: ClassVar = {
        "minimize": Label((), "", "name of the minimized result"),
        "value": Label((), "1", "minimized result of the best design"),
        "start": Label((), "1", "minimized result of the initial case"),
        "gain": Label((), "1", "largest decrease that may be possible nearby"),
        "converged": Label((), "1", "whether the search has converged"),
        "time_step": Label((), "s", "time step of all runs"),
        **AXES_OF_LISTS,
        "constraint": Label(("constraint",), "1", "index of the constraint in subject_to"),
        "subject_to": Label(("constraint",), "", "name of the constrained result"),
        "limited": Label(("constraint",), "1", "constrained result of the best design"),
        "limited_low": Label(("constraint",), "1", "lower bound of the constrained result"),
        "limited_high": Label(("constraint",), "1", "upper bound of the constrained result"),
        "limited_unit": Label(("constraint",), "", "unit of the constrained result"),
        "designs": Label(("designs",), "1", "number of designs computed until a better one"),
        "history": Label(("designs",), "1", "minimized result of the better design"),
    }

    @property
    def values(self) -> dict[str, Any]:
        """Best value by key."""
        keys = [name for name in self.variables if f"{name}_low" in self.variables]
        return {key: self[key] for key in keys if key not in self.labels}


@warns_of_fast_drives
def optimize(
    case: Case,
    minimize: Of,
    over: Mapping[str, tuple[Any, Any]],
    subject_to: Sequence[tuple[Of, float, float]] | None = None,
    *,
    generations: int = 100,
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[int, int], Any] | bool | None = None,
) -> Optimum:
    """Minimize a scalar result over bounded case parameters.

    Two populations of differential evolution search the complete box (Storn & Price 1997,
    doi:10.1023/A:1008202821328); the first includes the initial case. From the best design of each,
    SLSQP continues with derivatives (Kraft 1994, doi:10.1145/192115.192124). All runs use one time
    step: the smallest step that the case and the corners of the box require.

    The slopes at the end are compared with their errors. If they allow an improvement of more than
    0.002 % nearby, the search continues without derivatives: COBYQA (Ragonneau 2022,
    https://theses.lib.polyu.edu.hk/handle/200/12294). If they still allow more than 0.05 %,
    `converged` is false and a message reports it. `converged` is also false after a local search
    only.

    Parameters
    ----------
    case : Case
        Initial case.
    minimize : str, tuple or function
        Result to minimize, as for `granchain.gradient`: "peak", ("peak", bead), "wall_force",
        "transmitted_momentum", or a function of a Result; for a mechanism "largest_contact_force",
        "largest_acceleration", or a function. To maximize a result, use a function that returns it
        with a minus sign.
    over : mapping of str to (low, high)
        Bounds for keys with dots of a number, or of a list with one number for each bead or gap,
        such as "chain.radius_factor". The bounds are numbers, or lists of the same length.
    subject_to : sequence of (result, low, high), optional
        Constraints. Each result, as for `minimize`, must be between low and high, which may be
        infinite.
    generations : int
        Maximum number of generations of the search of the box. 0 runs only a local search from the
        initial case.
    seed : int
        Seed of the search.
    threads : int, optional
        Number of threads. Default: the number of processors available to this process.
    progress : callable or bool, optional
        Function that is called with the number of finished steps and the maximum number of steps.

    Returns
    -------
    Optimum

    Raises
    ------
    CaseError
        If an argument is invalid, if the run of a design ends before the wave has passed, or if no
        design satisfies `subject_to`.
    RunError
        If the run of the initial case fails.

    Examples
    --------
    >>> import granchain as gc
    >>> case = gc.load_case("steel-chain").replace({"contact": {"law": "hertz"}})
    >>> case = case.replace({"chain.beads": 4, "sensors.beads": [3], "time.end": 8e-5})
    >>> over = {"striker.speed": (1.0, 2.0)}
    >>> optimum = gc.optimize(case, "peak", over, generations=0, progress=False)
    >>> round(optimum.values["striker.speed"], 3)
    1.0
    """
    numbers = DesignNumbers(case, list(over) if isinstance(over, Mapping) else [], "over")
    bounds = bounds_of(over, numbers)
    limits, problems = limits_of(subject_to), Problems()
    check_integer("generations", generations, problems, "give for example 100", least=0)
    check_integer("seed", seed, problems, "give for example seed=0", least=0)
    problems.close()
    summaries = [summary_of(case, minimize, "minimize")]
    summaries += [
        summary_of(case, of, f"subject_to[{i}]") for i, (of, *_) in enumerate(subject_to or ())
    ]
    report, batches = progress_of(progress, "optimize"), count(1)
    most = POPULATIONS * (generations + MOST_SEARCH_STEPS)
    designs = Designs(
        numbers, bounds, summaries, limits, threads, lambda: report(min(next(batches), most), most)
    )
    start, messages = designs.results_of_best()[0], designs.messages
    populations = [
        designs.explore(generations, [seed, i]) for i in range(POPULATIONS if generations else 0)
    ]
    lowest = [
        designs.lowest(np.array([point, designs.descend(point, SPANS[0])]))
        for point in [population.x for population in populations] or [designs.best]
    ]
    gain = designs.gain()
    for aim in GAINS_OF_ROUNDS:
        if designs.history and gain <= aim * abs(designs.value):
            break
        for span in SPANS:
            designs.descend(designs.best, span)
        designs.search_without_slopes()
        gain = designs.gain()
    report(most, most)
    if not designs.history:
        raise CaseError(
            f"subject_to: none of {len(designs.computed)} designs satisfies the constraints. "
            "Constraints that some design satisfies are required. Widen them, widen the bounds, "
            "or use more generations."
        )
    tolerance = CONVERGED * abs(designs.value)
    explored = bool(populations) and all(population.success for population in populations)
    agree = explored and max(lowest) - min(lowest) <= tolerance
    if not populations:
        messages.append(
            "local search only: generations=0 omits the search of the range. A lower value may "
            "exist elsewhere in it"
        )
    elif not explored:
        messages.append(
            f"the search of the range has not converged: its {generations} generations ended "
            "while its designs still differed. Use more generations"
        )
    elif not agree:
        messages.append(
            "two searches of the range from different random designs ended at "
            f"{lowest[0]:.6g} and {lowest[1]:.6g}. A lower value may exist. Repeat with another "
            "seed, or continue from this case"
        )
    if not gain <= tolerance:
        allowed = f"the value {designs.value:.6g} may be improved by {gain:.2g} nearby"
        if not math.isfinite(gain):
            allowed = "the possible improvement is unknown, because designs nearby fail"
        messages.append(
            "the search has not converged: by the slopes at its end and their errors, "
            f"{allowed}. Reduce time.step, use more generations, or continue from this case"
        )
    excluded = [f"{n} designs were excluded: {why}" for why, n in designs.failures.items()]
    data = {"start": start, "gain": gain, "converged": agree and gain <= tolerance}
    return optimum_of(designs, case, [*excluded, *messages], data)


def optimum_of(
    designs: Designs, start: Case, messages: Sequence[str], data: Mapping[str, Any]
) -> Optimum:
    """Return the answer for the best design, with its labels."""
    best, (minimized, *limited) = designs.low + designs.width * designs.best, designs.summaries
    columns = {
        "": (best, "case parameter {}"),
        "_low": (designs.low, "lower bound of {}"),
        "_high": (designs.low + designs.width, "upper bound of {}"),
    }
    of_keys, labels = designs.numbers.labelled(columns)
    units = [summary.unit for summary in limited]
    for names, unit in (
        (("value", "start", "gain", "history"), minimized.unit),
        (("limited", "limited_low", "limited_high"), units[0] if len(set(units)) == 1 else "1"),
    ):
        labels |= {name: Optimum.labels[name]._replace(unit=unit) for name in names}
    low, high = designs.limits.T
    results = {
        "minimize": minimized.name,
        "value": designs.value,
        "time_step": designs.step,
        "constraint": np.arange(len(limited)),
        "subject_to": np.array([summary.name for summary in limited], dtype=object),
        "limited": designs.results_of_best()[1:],
        "limited_low": low,
        "limited_high": high,
        "limited_unit": np.array(units, dtype=object),
        "designs": np.array([n for n, _ in designs.history]),
        "history": np.array([value for _, value in designs.history]),
    }
    case = designs.numbers.case_at(best)
    return Optimum(
        {**of_keys, **results, **data},
        case=case,
        messages=messages,
        labels=labels,
        provenance={
            "start_case_json": canonical(start.as_given(), ordered=True),
            **law_provenance(case),
        },
    )


def bounds_of(over: Mapping[str, Any], numbers: DesignNumbers) -> np.ndarray:
    """Return the lower and the upper bounds of numbers, (2, numbers)."""
    problems, bounds = Problems(), np.full((2, numbers.start.size), math.nan)
    for key, start in numbers.slices(numbers.start):
        text, bounds_of_key = brief(str(over[key])), bounds[:, numbers.keys[key]]
        try:
            for bound, value in zip(bounds_of_key, over[key], strict=True):
                bound[:] = value
        except (TypeError, ValueError):
            bounds_of_key[:] = math.nan
        low, high = bounds_of_key
        problems.check(
            bool(np.isfinite(bounds_of_key).all() and (low < high).all()),
            f"over.{key}",
            f"{text} is not valid",
            f"It must be (low, high) with low below high, both numbers or lists of {start.size}",
        ) and problems.check(
            bool(((low <= start) & (start <= high)).all()),
            f"over.{key}",
            f"the value of the case, {brief(str(start.tolist()))}, is outside the bounds {text}",
            "It must be within the bounds",
            "Widen the bounds, or change the case",
        )
    problems.close()
    return bounds


def limits_of(subject_to: Any) -> np.ndarray:
    """Return the lower and the upper bounds of the constrained results, (constraints, 2)."""
    problems, limits = Problems(), []
    conditions = () if subject_to is None else subject_to
    for i, condition in enumerate(
        conditions if isinstance(conditions, (list, tuple)) else [conditions]
    ):
        limit = (
            condition[1:] if isinstance(condition, (tuple, list)) and len(condition) == 3 else ()
        )
        if problems.check(
            len(limit) == 2
            and all(isinstance(x, (int, float)) for x in limit)
            and limit[0] <= limit[1],
            f"subject_to[{i}]",
            f"{brief(str(condition))} is not valid",
            "It must be (function of a Result, low, high)",
            'Write for example (("peak", 5), 0.0, 40.0)',
        ):
            limits.append(limit)
    problems.close()
    return np.array(limits, dtype=float).reshape(-1, 2)


class Designs:
    """Designs of a case and the results of their runs. A design is a point in the unit cube.

    Attributes
    ----------
    step : float
        Time step of all runs [s].
    computed : dict of bytes to array
        Results by point: the minimized one, then the constrained ones; infinite if the run failed.
    failures : Counter of str
        Number of designs without results by reason.
    messages : list of str
        Messages of the searches of SciPy.
    best : array (numbers,)
        Best design that satisfies the constraints; first the initial case.
    history : list of (int, float)
        Number of designs computed when a better one was found, and its result.
    """

    def __init__(
        self,
        numbers: DesignNumbers,
        bounds: np.ndarray,
        summaries: Sequence[RunSummary],
        limits: np.ndarray,
        threads: int | None,
        report: Callable[[], Any],
    ):
        self.numbers, self.summaries, self.limits = numbers, summaries, limits
        self.threads, self.report = threads, report
        self.low, self.width = bounds[0], bounds[1] - bounds[0]
        self.step = min(step_of_case(numbers.case_at(at)) for at in (*bounds, numbers.start))
        # changes of the recording are applied once for all designs
        self.recorded = [summary.recorded(numbers.case, self.step) for summary in summaries]
        self.best = (numbers.start - self.low) / self.width
        self.computed: dict[bytes, np.ndarray] = {}
        self.failures: Counter[str] = Counter()
        self.messages: list[str] = []
        self.history: list[tuple[int, float]] = []
        self.size = abs(self.at(self.best[np.newaxis])[0, 0]) or 1.0

    @property
    def value(self) -> float:
        """Result of the best design."""
        return self.history[-1][1] if self.history else math.inf

    def results_of_best(self) -> np.ndarray:
        """Return the results of the best design."""
        return self.computed[self.best.tobytes()]

    def at(self, points: np.ndarray) -> np.ndarray:
        """Return the results of some points, (n, 1 + constraints); each point is run once."""
        points = np.ascontiguousarray(np.clip(points, 0.0, 1.0))
        new = {name: point for point in points if (name := point.tobytes()) not in self.computed}
        if new:
            results = self._run(list(new.values()))
            for (name, point), values in zip(new.items(), results, strict=True):
                self.computed[name] = values
                if self.satisfies(values) and values[0] < self.value:
                    self.best = point
                    self.history.append((len(self.computed), float(values[0])))
            self.report()
        results = np.array([self.computed[point.tobytes()] for point in points])
        return results.reshape(len(points), len(self.summaries))

    def _run(self, points: Sequence[np.ndarray]) -> np.ndarray:
        """Run some points, and return their results, which are infinite for failed runs."""
        results = np.full((len(points), len(self.summaries)), math.inf)
        failures: dict[int, GranchainError] = {}
        for column, (summary, base) in enumerate(zip(self.summaries, self.recorded, strict=True)):
            cases: dict[int, Case] = {}
            for i, point in enumerate(points):
                try:
                    if i not in failures:
                        design = self.low + self.width * point
                        cases[i] = self.numbers.case_at(design, base)
                except CaseError as error:
                    failures[i] = error
            places = list(cases)
            if places:
                values, errors = results_of(list(cases.values()), summary, self.threads)
                results[places, column] = values
                failures |= {places[k]: failure for k, failure in errors.items()}
        for i, failure in failures.items():
            if not self.computed:
                raise failure
            results[i] = math.inf
            self.failures[str(failure).partition("\n")[0]] += 1
        return results

    def satisfies(self, values: np.ndarray) -> bool:
        """Return whether the results of a design satisfy the constraints."""
        low, high = self.limits.T
        finite = np.where(np.isfinite(self.limits), self.limits, 0.0)
        margin = CONSTRAINT_TOLERANCE * np.abs(finite).max(axis=1)
        inside = (low - margin <= values[1:]) & (values[1:] <= high + margin)
        return bool(np.isfinite(values).all() and inside.all())

    def lowest(self, points: np.ndarray) -> float:
        """Return the lowest result of some points that satisfy the constraints."""
        return min(
            (float(row[0]) for row in self.at(points) if self.satisfies(row)), default=math.inf
        )

    def _constraints(self, results: Callable[..., Any], **more: Any) -> Any:
        """Return the constraint on the results for SciPy, or none without limits."""
        constraint = scipy_optimize().NonlinearConstraint
        return (constraint(results, *self.limits.T, **more),) if len(self.limits) else ()

    def explore(self, generations: int, seed: Sequence[int]) -> Any:
        """Run differential evolution. Only population 0 starts with the initial case."""

        def constrained(x: np.ndarray) -> np.ndarray:
            # large finite numbers for failed designs, because SciPy subtracts them
            results = np.nan_to_num(self.at(np.atleast_2d(x.T))[:, 1:].T, posinf=1e300)
            return results if x.ndim > 1 else results[:, 0]

        search = scipy_optimize().differential_evolution(
            lambda x: self.at(np.atleast_2d(x.T))[:, 0],
            [(0.0, 1.0)] * len(self.best),
            maxiter=generations,
            popsize=DESIGNS,
            tol=CONVERGED_SPREAD,
            seed=np.random.default_rng(seed),
            x0=None if seed[1] else self.best,
            polish=False,
            updating="deferred",
            vectorized=True,
            constraints=self._constraints(constrained),
        )
        self.messages.append(f"differential evolution: {search.message}")
        return search

    def descend(self, start: np.ndarray, span: float) -> np.ndarray:
        """Run SLSQP with differences over a span of the box, and return its last design."""
        zero, unit = np.zeros_like(start), np.ones_like(start)

        def finite(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            here, slope = residuals_and_slopes(
                self.at, np.clip(x, 0.0, 1.0), zero, unit, unit, span
            )
            # a failed design is much worse, and has no slopes
            slope = np.nan_to_num(slope, posinf=0.0, neginf=0.0)
            return np.nan_to_num(here, posinf=FAILED_VALUE * self.size), slope

        def value(x: np.ndarray) -> tuple[float, np.ndarray]:
            here, slope = finite(x)
            return here[0] / self.size, slope[0] / self.size

        search = scipy_optimize().minimize(
            value,
            start,
            jac=True,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * len(start),
            constraints=self._constraints(
                lambda x: finite(x)[0][1:], jac=lambda x: finite(x)[1][1:]
            ),
            options={"maxiter": MOST_SEARCH_STEPS, "ftol": FLAT_SEARCH},
        )
        self.messages.append(f"SLSQP, with differences of {span:g} of the box: {search.message}")
        return np.asarray(search.x)

    def search_without_slopes(self) -> None:
        """Run COBYQA from the best design."""
        search = scipy_optimize().minimize(
            lambda x: self.at(x[np.newaxis])[0, 0] / self.size,
            self.best,
            method="COBYQA",
            bounds=[(0.0, 1.0)] * len(self.best),
            constraints=self._constraints(lambda x: self.at(x[np.newaxis])[0, 1:]),
            options={
                "maxfev": WITHOUT_SLOPES * len(self.best),
                "initial_tr_radius": ACTS,
                "final_tr_radius": 1e-5,
            },
        )
        self.messages.append(f"COBYQA: {search.message}")

    def gain(self) -> float:
        """Return the largest decrease near the best design that slopes and their errors allow.

        At a kink, where two peaks are equal, slopes over smaller distances allow less.
        """
        return min(self._gain_over(span) for span in SPANS)

    def _gain_over(self, span: float) -> float:
        """Return the gain by slopes over a distance.

        A parabola through five designs along each number gives slope and curvature. The error of a
        slope is the root mean square difference from the slopes over the inner three designs. The
        part of the slope that bounds and limits block is subtracted; its Lagrange multipliers
        follow from non-negative least squares. The gains of multipliers up to their bounds, and of
        slopes up to the minimum of their parabolas, are added.
        """
        n, x = len(self.best), self.best
        # at a bound, the five designs are on one side
        middle, along = np.clip(x, 2.0 * span, 1.0 - 2.0 * span), span * np.arange(-2.0, 3.0)
        points = np.tile(x, (5, n, 1))
        points[:, range(n), range(n)] = middle + along[:, np.newaxis]
        values = self.at(points.reshape(-1, n))
        if not np.isfinite(values).all():
            return math.inf
        here = self.results_of_best()
        fit = np.polynomial.polynomial.polyfit(along, values.reshape(5, -1), 2)
        _, slope, curvature = fit.reshape(3, n, -1)
        ends = values.reshape(5, n, -1)
        off = np.abs((ends[3] - ends[1])[:, 0] / (2.0 * span) - slope[:, 0])
        errors = np.maximum(off, math.sqrt(np.mean(off**2)))
        slope = slope + 2.0 * curvature * (x - middle)[:, np.newaxis]
        bend = 2.0 * np.maximum(curvature[:, 0], 0.0)
        # outward normals of bounds and limits, and their distances
        normals = np.vstack([-np.eye(n), np.eye(n), -slope[:, 1:].T, slope[:, 1:].T])
        distances = np.concatenate(
            [x, 1.0 - x, here[1:] - self.limits[:, 0], self.limits[:, 1] - here[1:]]
        )
        distances = np.maximum(distances, 0.0)
        acting = distances <= ACTS * np.linalg.norm(normals, axis=1)
        multipliers = np.zeros(len(normals))
        if acting.any():
            multipliers[acting], _ = scipy_optimize().nnls(normals[acting].T, -slope[:, 0])
        free = np.abs(slope[:, 0] + normals.T @ multipliers)
        # an error smaller than the multiplier of a bound cannot move a number away from this bound
        steepest = np.maximum(free + errors - multipliers[: 2 * n].reshape(2, n).sum(axis=0), 0.0)
        way = np.minimum(np.maximum(x, 1.0 - x), steepest / np.maximum(bend, 1e-300))
        gains = steepest * way - 0.5 * bend * way**2
        return float(gains.sum() + multipliers[acting] @ distances[acting])


# --------------------------------------------------------------------------------------------------
# Parameters


class DesignNumbers:
    """Numbers of a case under some keys, as one vector.

    Parameters
    ----------
    case : Case
    keys : sequence of str, or str
    where : str
        Name of the argument in messages.

    Attributes
    ----------
    case : Case
        Case that contains all lists.
    keys : dict of str to slice
        Indices of the numbers of each key.
    start : array (numbers,)
        Numbers of the case.
    """

    def __init__(self, case: Case, keys: Any, where: str):
        check_case(case, CheckedCase)
        listed = isinstance(keys, Iterable) and not isinstance(keys, str)
        keys, problems = list(keys) if listed else [keys], Problems()
        names: set[str] = set()
        problems.check(bool(keys), where, "missing", "At least one key of the case is required")
        tables = dict(case)
        absent = {
            name: [LISTS[name].default] * (case.beads - (LISTS[name].axis == "gap"))
            for name in map(list_name, keys)
            if name and not case.measured and entry_at(tables, name)[0] is None
        }
        self.case = case.replace(absent) if absent else case
        self.keys: dict[str, slice] = {}
        start: list[float] = []
        for key in keys:
            try:
                values = numbers_at(self.case, key, where)
            except CaseError as error:
                problems.repeat(error.problems)
                continue
            names_of_key = {f"{key}.{i}" for i in range(len(values))} if key in LISTS else {key}
            problems.check(
                names.isdisjoint(names_of_key),
                where,
                f"{key} is listed twice",
                "List each number once",
                "Remove one",
            )
            names |= names_of_key
            self.keys[key] = slice(len(start), len(start) + len(values))
            start += values
        problems.close()
        self.start = np.array(start)

    def slices(self, vector: np.ndarray) -> list[tuple[str, np.ndarray]]:
        """Return each key with its numbers in a vector."""
        return [(key, vector[index]) for key, index in self.keys.items()]

    def labelled(
        self,
        columns: Mapping[str, tuple[np.ndarray, str]],
        unit_of: Callable[[str], str] = lambda unit: unit,
    ) -> tuple[dict[str, Any], dict[str, Label]]:
        """Return the variables of an answer and their labels.

        Parameters
        ----------
        columns : mapping of str to (array, str)
            Vector of numbers and its meaning by the ending of the variables.
        unit_of : function
            Function that returns the unit of a variable from the unit of its key.
        """
        data: dict[str, Any] = {}
        labels = {}
        for key, index in self.keys.items():
            name = list_name(key)
            unit = LISTS[name].unit if name else quantity_of(self.case, key).unit or "1"
            axes = (LISTS[key].axis,) if key in LISTS else ()
            for axis in axes:
                data[axis] = np.arange(1, index.stop - index.start + 1)
            for ending, (vector, meaning) in columns.items():
                data[key + ending] = vector[index] if axes else float(vector[index.start])
                labels[key + ending] = Label(axes, unit_of(unit), meaning.format(key))
        return data, labels

    def neighbours(self, distance: np.ndarray) -> tuple[np.ndarray, list[Case]]:
        """Return each number plus and minus a distance, (2, numbers), and the cases there.

        The cases with added distances are first. If only one of the two is valid, the case itself
        replaces the other.
        """
        ends, cases = self.start + np.outer([1.0, -1.0], distance), []
        for sign, index in np.ndindex(*ends.shape):
            point = self.start.copy()
            point[index] = ends[sign, index]
            try:
                cases.append(self.case_at(point))
            except CaseError:
                if sign and ends[0, index] == self.start[index]:
                    raise
                ends[sign, index] = self.start[index]
                cases.append(self.case)
        return ends, cases

    def case_at(self, point: np.ndarray, base: Case | None = None) -> Case:
        """Return the case, or a base case with the same lists, with other numbers."""
        return (base or self.case).replace(
            {
                key: values.tolist() if key in LISTS else float(values[0])
                for key, values in self.slices(point)
            }
        )


def list_name(key: Any) -> str | None:
    """Return the list of a case to which a key, or the key of an entry, belongs, if any."""
    return next((name for name in LISTS if f"{key}.".startswith(f"{name}.")), None)


def numbers_at(case: Case, key: Any, where: str) -> list[float]:
    """Return the numbers of a case under a key."""
    if not isinstance(key, str) or key.partition(".")[0] in NO_PHYSICS:
        raise CaseError(
            f"{where}: {brief(key)} is not valid. It must be a key of chain, striker, initial, "
            "ends, drive, or contact. Write for example striker.speed."
        )
    name = list_name(key)
    if name is None or case.measured:
        return [value_at(case, key)]
    value, _, places = entry_at(dict(case), key)
    if value is None:
        index = key.removeprefix(f"{name}.")
        raise CaseError(f"{key}: index {index} is out of range. It must be 0 to {places[-1]}.")
    return list(value) if key == name else [value]


# --------------------------------------------------------------------------------------------------
# Results of runs


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
        # after a change by a millionth, a specified step may exceed the stability limit
        keys: dict[str, Any] = {"time.step": step, "time.force_step": True, where: every * step}
        if self.number is transmitted_momentum:
            keys["snapshots"] = {"interval": BETWEEN_SNAPSHOTS * step}
        return case.replace(self.changes | keys)


def summary_of(case: Case, of: Any, where: str) -> RunSummary:
    """Check which result is requested, and return how it is read."""
    if callable(of):
        name = str(getattr(of, "__name__", type(of).__name__))
        return RunSummary(where, {}, False, of, name, "1")
    if case.measured:
        return summary_of_mechanism(case, of, where)
    number, unit = largest_sensor_force, "N"
    if of == "peak":
        changes: dict[str, Any] = {"sensors.beads": list(case.sensors.beads)}
        if not case.sensors.beads:
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
                f'or attached masses. To fix this, {fix}, or choose another result, such as "peak".'
            )
        changes, number, unit = {"sensors.beads": [case.beads]}, transmitted_momentum, "1"
    elif of == "wall_force":
        if not case.ends.has_wall("right"):
            raise CaseError(
                f'{where}: "wall_force" needs a wall at the right end, and the case has none. '
                'Set ends.right = "wall".'
            )
        changes = {"sensors.beads": [], "sensors.contacts": [case.beads]}
        number = largest_contact_force
    elif isinstance(of, tuple) and len(of) == 2 and of[0] == "peak":
        whole = isinstance(of[1], (int, np.integer)) and not isinstance(of[1], bool)
        if not (whole and 1 <= of[1] <= case.beads):
            raise CaseError(
                f"{where}: bead {brief(of[1])} is out of range. It must be 1 to {case.beads}."
            )
        changes = {"sensors.beads": [int(of[1])]}
    else:
        raise CaseError(
            f'{where}: {brief(of)} is not valid. It must be "peak", ("peak", bead), '
            '"wall_force", "transmitted_momentum", or a function of a Result.'
        )
    name = of if isinstance(of, str) else f"peak:{of[1]}"
    return RunSummary(where, FORCES_ALONE | changes, True, number, name, unit)


def summary_of_mechanism(case: Any, of: Any, where: str) -> RunSummary:
    """Return how a measure of a mechanism is read, at every step."""
    if of not in case.peaks:
        names = ", ".join(f'"{name}"' for name in case.peaks)
        raise CaseError(
            f"{where}: {brief(of)} is not valid. It must be {names}, or a function of a Result."
        )

    def number(result: Result) -> float:
        values = np.abs(getattr(result, case.peaks[of]))
        return smooth_top(values, int(np.argmax(values)))

    return RunSummary(where, {}, True, number, of, case.measured[of].unit)


def step_of_case(case: Any) -> float:
    """Return the time step of a case [s]."""
    return float(case.time_step() if case.measured else prepare(case)[2].value)


def results_of(
    cases: Sequence[Case], summary: RunSummary, threads: int | None
) -> tuple[np.ndarray, dict[int, GranchainError]]:
    """Return the number of each case, and the errors of cases without a number by index.

    Raises
    ------
    CaseError
        If the wave has not passed in a run.
    """

    def read(result: Result) -> dict[str, float]:
        return {"number": summary.number(result)}

    runs = evaluated(cases, [read], threads=threads, interruptible=False)
    ends = zip(runs.status, runs.message, runs.rows("numbers"), strict=True)
    results = np.full(len(cases), math.nan)
    errors: dict[int, GranchainError] = {}
    for i, (status, message, numbers) in enumerate(ends):
        results[i] = (numbers or {}).get("number", math.nan)
        if math.isfinite(results[i]):
            continue
        if status.failed:
            errors[i] = (CaseError if status is Status.NOT_SET_UP else RunError)(message)
        elif summary.at_steps and not cases[i].measured:
            beads = ", ".join(map(str, cases[i].sensors.beads))
            beads = f"bead {beads}" if beads else "the last contact"
            raise CaseError(
                f"time.end: by {cases[i].time.end:.6g} s, the wave has not passed {beads}. It must "
                "be later. Increase time.end."
            )
        else:
            reason = message.removeprefix("summary: ").removeprefix("number: ")
            reason = reason.partition(" It must ")[0] or "nan is not a finite number."
            errors[i] = CaseError(
                f"{summary.where}: {reason} The function must return a finite number."
            )
    return results, errors
