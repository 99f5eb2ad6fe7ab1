"""Uncertainty bands of computed forces, peaks, and arrivals, and sensitivities to the keys."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from granchain.case import Case, check_case
from granchain.case.checks import MEMORY, Tolerance, check_tolerances, tolerances_of
from granchain.case.document import about_key, entry_at
from granchain.errors import CaseError, GranchainWarning, RunError
from granchain.keys import Problems, brief, check_integer
from granchain.plain_data import canonical
from granchain.progress import no_report, progress_of
from granchain.simulation import warns_of_fast_drives
from granchain.status import text_of_statuses
from granchain.store.answer import study_attributes
from granchain.store.dataset import dataset_of
from granchain.store.schema import Variable, texts
from granchain.studies.evaluate import Evaluation, evaluated
from granchain.studies.interruption import scipy_stats
from granchain.studies.measures import missing_note
from granchain.studies.plan import (
    MEMBER_BYTES,
    MOST_DRAWN,
    Plan,
    normal,
    quasi_random,
    uniform,
)

if TYPE_CHECKING:
    import xarray

# Default number of members.
MEMBERS = 1024
# The middle 95 % of the members, their middle half, and their median.
QUANTILES = (0.025, 0.25, 0.5, 0.75, 0.975)
# Confidence level of the limits of the indices.
CONFIDENCE = 0.95
# Number of resamples of their bootstrap: the default of SciPy.
RESAMPLES = 999
# Number of samples that determine a cubic.
CUBIC_NODES = 4
# Number of complete traces that are interpolated at once, or the same number of samples of all
# traces: about 50 MB for 70 beads with 8 sensors.
SAMPLES_AT_ONCE = 256


@warns_of_fast_drives
def bands(
    case: Case,
    tolerance: Mapping[str, Any] | None = None,
    n: int = MEMBERS,
    seed: int = 0,
    sensitivity: bool = False,
    *,
    quantiles: Sequence[float] = QUANTILES,
    threads: int | None = None,
    progress: Callable[[int, int], Any] | bool | None = None,
) -> xarray.Dataset:
    """Propagate parameter uncertainties to sensor forces, peaks, and arrival times.

    Parameters
    ----------
    case : Case
        Nominal case, with at least one sensor.
    tolerance : mapping, optional
        For each key with dots, one standard deviation as a fraction of its value, such as
        `{"striker.speed": 0.02}`, or half of the width of a uniform distribution, such as
        `{"striker.speed": {"uniform": 0.02}}`. Default: the tolerances of the case.
    n : int
        Number of members, which are points of a scrambled Sobol sequence. With a power of 2, the
        points are distributed evenly.
    seed : int
        Seed of the sequence.
    sensitivity : bool
        Whether to compute first-order and total-order indices of peak and arrival for each key.
        This takes n (d + 2) runs with d keys, instead of n; n must then be a power of 2.
    quantiles : sequence of float
        Quantiles of the members, 0 to 1.
    threads : int, optional
        Number of threads. Default: the number of processors available to this process.
    progress : callable or bool, optional
        Function that is called with the number of finished runs and the number of all runs. See
        `sweep`.

    Returns
    -------
    xarray.Dataset
        force (quantile, time, sensor_bead) [N] at the sample times of the nominal case; peak [N]
        and arrival [s] (quantile, sensor_bead); nominal_force, nominal_peak, and nominal_arrival of
        the nominal case; interpolation_error [N], the largest error of the common sample times;
        relative_deviation (key), the standard deviation divided by the value; and for each key its
        value and its standard deviation, such as `striker.speed` and `striker.speed_deviation`.
        With sensitivity, also first_order, total_order, arrival_first_order, and
        arrival_total_order (key, sensor_bead) [1], each with _low and _high.

    Raises
    ------
    CaseError
        If an argument is invalid. The message lists every error, before anything runs.
    RunError
        If the nominal case or every member fails.

    Examples
    --------
    >>> import granchain as gc
    >>> case = gc.load_case("steel-chain").replace({"contact": {"law": "hertz"}})
    >>> case = case.replace({"chain.beads": 8, "sensors.beads": [5], "time.end": 1e-4})
    >>> study = gc.bands(case, {"striker.speed": 0.02}, n=4, quantiles=[0.25, 0.75])
    >>> study["peak"].shape
    (2, 1)
    """
    uncertain_case = uncertain(case, tolerance, n, seed, sensitivity)
    try:
        levels = np.sort(np.asarray(quantiles, dtype=float), axis=None)
    except (TypeError, ValueError):
        levels = np.zeros(0)
    if (
        not len(levels)
        or not ((levels >= 0.0) & (levels <= 1.0)).all()
        or not np.diff(levels).all()
    ):
        raise CaseError(
            f"quantiles: {brief(quantiles)} is not valid. Give different numbers, 0 to 1, for "
            "example [0.05, 0.5, 0.95]."
        )
    first, second = uncertain_case.samples
    keys = np.arange(len(uncertain_case.drawn))
    # for the sensitivity: the second sample, and for each key the first sample with one column of
    # the second sample, the column of this key
    mixed = np.repeat(first[None], len(keys), axis=0)
    mixed[keys, :, keys] = second.T
    further = uncertain_case.changed(np.concatenate([second, *mixed])) if sensitivity else []
    runs = 1 + n + len(further)
    report = progress_of(progress, "bands")
    evaluation = nominal_and_members(uncertain_case, threads, report_from(report, 0, runs))
    attributes = study_attributes(
        "bands",
        uncertain_case.case.title or "untitled case",
        uncertain_case.case.law.split(", "),
        notes_of_bands(evaluation),
        uncertain_case.case,
        status=text_of_statuses(evaluation.status[1:]),
        n=n,
        seed=seed,
        runs=runs,
        tolerance_json=canonical(dict(uncertain_case.tolerance)),
    )
    variables = band_variables(uncertain_case, evaluation, levels)
    if sensitivity:
        count = report_from(report, 1 + n, runs)
        more = evaluated(further, threads=threads, progress=count, interruptible=False)
        variables |= indices(
            uncertain_case,
            np.concatenate([evaluation["peak"][1:], more["peak"]]),
            np.concatenate([evaluation["arrival"][1:], more["arrival"]]),
        )
    return dataset_of(variables, attributes)


def report_from(
    report: Callable[[int, int], Any], begun: int, runs: int
) -> Callable[[int, int], Any]:
    """Return the function for the progress of an evaluation that follows others."""
    return lambda done, _: report(begun + done, runs)


@dataclass(frozen=True)
class Uncertain:
    """A case with the distributions of its uncertain parameters.

    Parameters
    ----------
    case : Case
    tolerance : mapping
        Tolerance of each key.
    n, seed : int
    """

    case: Case
    tolerance: Mapping[str, Tolerance]
    n: int
    seed: int

    @cached_property
    def drawn(self) -> dict[str, Any]:
        """Distribution of each key."""
        distributions = {}
        for key, tolerance in self.tolerance.items():
            value = entry_at(dict(self.case), key)[0]
            if isinstance(tolerance, dict):
                width = abs(value) * tolerance["uniform"]
                distributions[key] = uniform(value - width, value + width)
            else:
                distributions[key] = normal(value, abs(value) * tolerance)
        return distributions

    @cached_property
    def samples(self) -> np.ndarray:
        """(2, n, keys) Two independent samples. The bands use the first; indices use both."""
        parts = quasi_random(self.n, 2 * len(self.drawn), self.seed)
        both = zip([*self.drawn.values()] * 2, parts.T, strict=True)
        columns = np.array([distribution.ppf(column) for distribution, column in both])
        return columns.reshape(2, len(self.drawn), self.n).transpose(0, 2, 1)

    def changed(self, sample: np.ndarray) -> list[Case]:
        """Return the case with each row of a sample.

        Raises
        ------
        CaseError
            If a case is invalid. The message lists each error once.
        """
        listed: dict[str, Any] = dict(zip(self.drawn, sample.T.tolist(), strict=True))
        return [*Plan(self.case, listed, "zip", 1, self.seed)]


def uncertain(case: Any, tolerance: Any, n: Any, seed: Any, sensitivity: bool = False) -> Uncertain:
    """Check all arguments and return the case with its tolerances.

    Raises
    ------
    CaseError
        If an argument is invalid. The message lists every error.
    """
    check_case(case)
    problems = Problems()
    advice = "Give the number of members. With a power of 2, the points are distributed evenly"
    if check_integer("n", n, problems, advice, least=2):
        problems.check(
            not (sensitivity and (n & (n - 1) or n < 4)),
            "n",
            f"{n} members are not valid with sensitivity",
            "It must be a power of 2, 4 or more",
            f"Use {max(4, 2 ** (n - 1).bit_length())}",
        )
    check_integer("seed", seed, problems, "give for example seed=0", least=0)
    problems.check(
        bool(case.sensors.beads),
        "sensors.beads",
        "missing",
        "At least one sensor bead is required",
    )
    stated = case.tolerance if tolerance is None else tolerance
    if problems.check(
        stated is not None and not (isinstance(stated, Mapping) and not stated),
        "tolerance",
        "missing",
        "Give keys of the case with their tolerances",
        'Write for example {"striker.speed": 0.02}, or a table [tolerance] in the case',
    ):
        stated = tolerances_of(stated, "tolerance", problems)
        check_tolerances(dict(case), stated, "tolerance", problems)
        good = {
            key: key_tolerance
            for key, key_tolerance in stated.items()
            if problems.clear(f"tolerance.{key}")
        }
        if good and problems.clear("n", "seed"):
            uncertain_case = Uncertain(case, good, n, seed)
            check_amount(uncertain_case, sensitivity, problems)
            if problems.clear("n"):
                check_ranges(uncertain_case, problems)
    problems.close()
    return uncertain_case


def check_amount(uncertain_case: Uncertain, sensitivity: bool, problems: Problems) -> None:
    """Check that the members fit into memory and that the sequence has enough dimensions."""
    keys, case = len(uncertain_case.tolerance), uncertain_case.case
    samples = case.time.end / case.sensors.interval + 1.0
    # each trace at its sample times, and on the common grid
    size = 2.0 * 8.0 * samples * (1 + len(case.sensors.beads)) * uncertain_case.n
    size += MEMBER_BYTES * uncertain_case.n * (keys + 2 if sensitivity else 1)
    problems.check(
        size <= MEMORY and 2 * keys <= MOST_DRAWN,
        "n",
        f"{uncertain_case.n} members of {keys} keys need {size / 2**30:.3g} GiB",
        f"At most {MEMORY // 2**30} GiB and {MOST_DRAWN // 2} keys are allowed",
        "Use fewer members or sensors, or increase sensors.interval",
    )


def check_ranges(uncertain_case: Uncertain, problems: Problems) -> None:
    """Check that each key alone accepts its smallest and its largest sampled value."""
    both = np.concatenate(uncertain_case.samples)
    ends = zip(both.min(axis=0).tolist(), both.max(axis=0).tolist(), strict=True)
    for key, (low, high) in zip(uncertain_case.tolerance, ends, strict=True):
        try:
            for end in (low, high):
                uncertain_case.case.replace(**{key: end})
        except CaseError as error:
            wrong = error.problems[0]
            problems.add(
                f"tolerance.{key}",
                f"the values from {low:.6g} to {high:.6g} are not all valid",
                f"All values must be valid, but the case reports: {wrong}",
                "Reduce the tolerance, or write { uniform = ... }, which has limits"
                if isinstance(uncertain_case.tolerance[key], float)
                else "Reduce the tolerance",
            )


def nominal_and_members(
    uncertain_case: Uncertain,
    threads: int | None = None,
    progress: Callable[[int, int], Any] = no_report,
) -> Evaluation:
    """Run the nominal case, then the members, and return them with their traces.

    Raises
    ------
    RunError
        If the nominal case or every member fails.
    """
    cases = [uncertain_case.case, *uncertain_case.changed(uncertain_case.samples[0])]
    evaluation = evaluated(
        cases, ("pulse", "traces"), threads=threads, progress=progress, interruptible=False
    )
    if evaluation.status[0].failed:
        raise RunError(
            evaluation.message[0] or f"the nominal case failed: {evaluation.status[0].label}"
        )
    if len(evaluation.complete) == 1:
        raise RunError(f"every member failed, the first one with: {evaluation.message[1]}")
    for note in notes_of_bands(evaluation):
        warnings.warn(f"bands: {note}", GranchainWarning, stacklevel=3)
    least = min(len(evaluation.traces[run][0]) for run in evaluation.complete)
    if least < CUBIC_NODES:
        raise CaseError(
            f"sensors.interval: {least} samples per run are too few. At least {CUBIC_NODES} are "
            "required. Reduce the interval."
        )
    return evaluation


def notes_of_bands(evaluation: Evaluation) -> list[str]:
    """Return notes about pulses that are missing, and about members that failed."""
    late = np.isnan(evaluation["peak"][evaluation.complete])
    note = missing_note(late, evaluation.sensor_bead)
    notes, failed = [note] if note else [], [end.failed for end in evaluation.status]
    if any(failed):
        notes.append(
            f"{sum(failed)} of {len(failed) - 1} members failed and are excluded, the first one "
            f"with: {evaluation.message[failed.index(True)]}"
        )
    return notes


# --------------------------------------------------------------------------------------------------
# On one grid


def on_grid(time: np.ndarray, force: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Interpolate forces at other times by cubics through the nearest four samples.

    Before the first sample the result is the first force, after the last sample it is nan.

    Parameters
    ----------
    time : array (sample,)
        Increasing times [s].
    force : array (sample, ...)
    at : array (n,)
        Times of the result [s].

    Returns
    -------
    array (n, ...)
    """
    last = time[-1]
    inside = np.clip(at, time[0], last)
    first = np.clip(np.searchsorted(time, inside) - CUBIC_NODES // 2, 0, len(time) - CUBIC_NODES)
    places = first[:, None] + np.arange(CUBIC_NODES)
    nodes = time[places]
    interpolated = np.zeros((len(at), *force.shape[1:]))
    for i in range(CUBIC_NODES):
        weight = np.ones(len(at))
        for j in range(CUBIC_NODES):
            if j != i:
                weight *= (inside - nodes[:, j]) / (nodes[:, i] - nodes[:, j])
        interpolated += weight.reshape(-1, *[1] * (force.ndim - 1)) * force[places[:, i]]
    # times after the last sample by more than rounding
    interpolated[at > last + 1e-9 * (last - time[0])] = math.nan
    return interpolated


def grid_error(time: np.ndarray, force: np.ndarray) -> float:
    """Return the largest error [N] of a trace that is rebuilt from every second sample.

    It exceeds the error of a member that is interpolated at the times of the nominal case.
    """
    if len(time) < 2 * CUBIC_NODES:
        return math.nan
    few, within = time[::2], time <= time[::2][-1]
    return float(np.abs(on_grid(few, force[::2], time[within]) - force[within]).max())


def common_times(evaluation: Evaluation) -> np.ndarray:
    """Return the sample times of the nominal case for which every member has samples."""
    end = min(float(evaluation.traces[run][0][-1]) for run in evaluation.complete)
    times = evaluation.traces[0][0]
    return times[times <= end * (1.0 + 1e-9)]


def band_variables(
    uncertain_case: Uncertain, evaluation: Evaluation, quantiles: np.ndarray
) -> dict[str, Variable]:
    """Return the variables of the bands."""
    times, members = common_times(evaluation), evaluation.complete[1:]
    force = np.empty((len(quantiles), len(times), len(evaluation.sensor_bead)))
    # a few times at once, with the forces of all members at these times
    stretch = max(1, SAMPLES_AT_ONCE * len(times) // len(members))
    for at in range(0, len(times), stretch):
        batch = slice(at, at + stretch)
        side = np.stack([on_grid(*evaluation.traces[run], times[batch]) for run in members])
        force[:, batch] = np.quantile(side, quantiles, axis=0)
    keys = list(uncertain_case.drawn)
    values = [float(entry_at(dict(uncertain_case.case), key)[0]) for key in keys]
    # standard deviation of a uniform distribution: half the width over the root of 3
    deviations = [
        tolerance["uniform"] / math.sqrt(3.0) if isinstance(tolerance, dict) else tolerance
        for tolerance in uncertain_case.tolerance.values()
    ]
    sensors, quantile, of_key = ("sensor_bead",), ("quantile",), ("key",)
    table = {
        "quantile": (quantile, quantiles, "1", "fraction of the members below"),
        "time": (("time",), times, "s", "sample times of the nominal case"),
        "sensor_bead": (
            sensors, np.array(evaluation.sensor_bead, dtype=np.int64), "1",
            "label of the sensor bead",
        ),
        "key": (of_key, texts(keys), "", "key with a tolerance"),
        "force": ((*quantile, "time", *sensors), force, "N", "force of the sensor bead"),
        "peak": (
            (*quantile, *sensors), quantiles_over(evaluation["peak"][members], quantiles), "N",
            "peak force of the first pulse",
        ),
        "arrival": (
            (*quantile, *sensors), quantiles_over(evaluation["arrival"][members], quantiles), "s",
            "arrival of the first pulse",
        ),
        "nominal_force": (
            ("time", *sensors), evaluation.traces[0][1][: len(times)], "N",
            "force of the nominal case",
        ),
        "nominal_peak": (sensors, evaluation["peak"][0], "N", "peak force of the nominal case"),
        "nominal_arrival": (sensors, evaluation["arrival"][0], "s", "arrival of the first pulse"),
        "interpolation_error": (
            (), np.array(grid_error(evaluation.traces[0][0], evaluation.traces[0][1])), "N",
            "largest error of forces that are interpolated at the common times",
        ),
        "relative_deviation": (
            of_key, np.array(deviations), "1", "standard deviation divided by the nominal value"
        ),
    }  # fmt: skip
    variables = {name: Variable(*about) for name, about in table.items()}
    for key, value, deviation in zip(keys, values, deviations, strict=True):
        unit = about_key(uncertain_case.case, key)[0] or "1"
        variables[key] = Variable((), np.array(value), unit, f"case parameter {key}")
        variables[f"{key}_deviation"] = Variable(
            (), np.array(abs(value) * deviation), unit, f"standard deviation of {key}"
        )
    return variables


def quantiles_over(values: np.ndarray, quantiles: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return quantiles over the first axis without nan values; nan if there are no others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nanquantile(values, quantiles, axis=0)


# --------------------------------------------------------------------------------------------------
# Sensitivity of each sensor to each key


def indices(
    uncertain_case: Uncertain, peak: np.ndarray, arrival: np.ndarray
) -> dict[str, Variable]:
    """Return first-order and total indices of peak and arrival at every sensor, with limits.

    The indices of a sensor are nan if one of the runs has no such number. Their limits are those of
    a bootstrap over the members. It treats the members as independent, so the limits are too wide:
    the points of a Sobol sequence are distributed more evenly.

    Parameters
    ----------
    uncertain_case : Uncertain
    peak, arrival : array (n (keys + 2), sensor)
        Values for the first sample, for the second sample, and for each key for the first sample
        with the column of this key from the second sample.
    """
    keys, stats = len(uncertain_case.drawn), scipy_stats()
    columns = np.concatenate([peak, arrival], axis=1)
    complete = np.isfinite(columns).all(axis=0)
    # constant values, so that SciPy's indices of an incomplete column are 0
    values = (
        np.where(complete, columns, 0.0).reshape(keys + 2, uncertain_case.n, -1).transpose(0, 2, 1)
    )

    def estimate(members: np.ndarray) -> np.ndarray:
        """Return both indices of some members, (2, 2 sensors, keys)."""
        f_a, f_b, *f_ab = values[..., members]
        functions = {"f_A": f_a, "f_B": f_b, "f_AB": np.array(f_ab)}
        both = stats.sobol_indices(func=functions, n=uncertain_case.n)
        return np.array([both.first_order, both.total_order]).reshape(2, -1, keys)

    # SciPy's own bootstrap of the indices has no seed
    random = np.random.default_rng(uncertain_case.seed)
    draws = [
        estimate(random.integers(uncertain_case.n, size=uncertain_case.n)) for _ in range(RESAMPLES)
    ]
    low, high = np.quantile(draws, [0.5 - 0.5 * CONFIDENCE, 0.5 + 0.5 * CONFIDENCE], axis=0)
    causes = {
        "first_order": "that the key causes alone",
        "total_order": "that the key contributes to",
    }
    level = f"limit of {100.0 * CONFIDENCE:g} % confidence"
    estimates = {
        "": (estimate(np.arange(uncertain_case.n)), ""),
        "_low": (low, f", lower {level}"),
        "_high": (high, f", upper {level}"),
    }
    return {
        f"{prefix}{order}{bound}": Variable(
            ("key", "sensor_bead"),
            np.where(complete, index_values[i].T, math.nan)[:, where],
            "1",
            f"fraction of the variance of the {name} {cause}{text}",
        )
        for name, prefix, where in (
            ("peak", "", slice(None, peak.shape[1])),
            ("arrival", "arrival_", slice(peak.shape[1], None)),
        )
        for i, (order, cause) in enumerate(causes.items())
        for bound, (index_values, text) in estimates.items()
    }
