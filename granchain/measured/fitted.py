"""Result of a fit: values with their errors and intervals, indistinguishable keys, and whether the
case describes the measurement."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from granchain.errors import CaseError, GranchainError
from granchain.keys import brief
from granchain.measured.about import AboutTable, about_entry, about_in
from granchain.measured.fit_problem import CALIBRATION, CLOCK_SHIFT, FitProblem, Nuisance
from granchain.measured.ranking import key_labels, start_case
from granchain.simulation import law_provenance
from granchain.store import Answer, Label
from granchain.studies.interruption import scipy_stats
from granchain.studies.plan import is_number
from granchain.studies.search import (
    NEARLY_ALIKE,
    WIDE,
    Lowest,
    indistinguishable_groups,
    residuals_and_slopes,
)

# Confidence levels of the intervals in the file.
LEVELS = (0.68, 0.9, 0.95)
# Further variables of each key: ending of the name, axes, and meaning.
OF_A_KEY = {
    "_error": ((), "standard error"),
    "_start": ((), "initial value"),
    "_low": (("level",), "lower end of the confidence interval"),
    "_high": (("level",), "upper end of the confidence interval"),
}
SAMPLE_VARIABLES = ("time", "measured", "computed")

_KEY, _SENSOR_DIMENSION, _SAMPLE = ("key",), ("sensor_bead",), ("sample",)
# If two keys have this correlation, their errors are three times as large as if the other key were
# known: 1/sqrt(1 - r^2).
CLOSE_CORRELATION = 0.95
# Distance of a value from a limit, relative to the size of the key, below which it is at the limit.
AT_LIMIT = 1e-3
# Largest number of degrees of freedom with which no scatter is computed (our choice).
LEAST_DEGREES = 0.5
# Probability that a correct case is reported not to describe the measurement.
ACCUSED = 0.01
# Kind of a prior value, which is known from another source. The kind of peaks is 0, and of arrivals
# 1.
STATED_KIND = 2
# Chance that the largest deviation of all gains and clocks of a correct case is suspicious.
SUSPICIOUS = 0.01


class Fit(Answer):
    """Best fit of case parameters to a measurement.

    `fit["striker.speed"]` is the value of a key. The variables with the endings `_error`, `_start`,
    `_low`, and `_high` are its standard error, its initial value, and the ends of its intervals
    (n_levels,). `case` is the case with the fitted values.

    Attributes
    ----------
    measure : str
        Quantity that was fitted.
    scatter : float
        Root mean square of the residuals, corrected for the degrees of freedom [1]. About 1 if the
        case describes the measurement.
    degrees_of_freedom : float
        Number of measured values minus number of fitted values. A calibration with a known
        uncertainty counts as a fraction.
    describes : bool
        Whether the scatter is within the range that the uncertainties of the trace cause in 99 of
        100 fits of a correct case.
    misfit : float
        Root mean square difference, as a fraction of the peak, including noise [1]: of samples if
        these are fitted, otherwise of the peaks.
    time_shift, time_shift_error : float
        Shift to add to the computed time, and its standard error [s]. nan if no times are compared.
    common_gain : float
        Measured force divided by true force, common to all sensors, as estimated by the fit [1]. 1
        if the trace does not specify an uncertainty of the common gain.
    aic : float
        Akaike information criterion (1974, doi:10.1109/TAC.1974.1100705) [1]: -2 ln L at the most
        likely noise, plus 2 for each fitted value. It compares laws that are fitted to the same
        data.
    key : (n_free,) array
        Fitted keys.
    interval_degrees : (n_free,) array
        Degrees of freedom of the error of each key.
    not_told_apart : (n_free,) array
        For each key, the keys that are not distinguishable from it, and itself, separated by
        commas: the measurement determines only one combination of them. A single key has no effect
        on the measurement. Empty for the other keys.
    correlation : (n_free, n_free) array
        Correlation of the errors. nan for keys that are not determined.
    level : (n_levels,) array
        Confidence levels of the intervals.
    peak_measured, peak_error, peak_computed : (n_sensors,) array
        Peak with its standard uncertainty, and fitted peak, with the calibration of the trace [N].
        `arrival` has such variables too, on the clock of the trace [s]. Computed values are read
        from samples in the same way as measured values.
    residuals : (n_sensors,) array
        Computed minus measured value, in standard deviations of the measurement [1]. If several
        values of a sensor are fitted, it is the root mean square of peak and arrival, or of all
        samples. nan if the sensor has no value to compare.
    gain : (n_sensors,) array
        Gain of each sensor, including the common gain [1].
    shift : (n_sensors,) array
        Delay of the clock of each sensor relative to `time_shift` [s]. 0 if the trace does not
        specify an uncertainty of the clock.
    sample_bead, sample_time, sample_measured, sample_computed : (n_samples,) array
        Samples of the complete first pulses of all sensors: the bead, the time [s], and the forces,
        measured (above the fitted baseline) and computed (as read by the sensor) [N].

    Examples
    --------
    >>> import granchain as gc
    >>> from granchain.measured.about import AboutTable
    >>> case = gc.load_case("steel-chain").replace({"contact": {"law": "hertz"}})
    >>> case = case.replace({"chain.beads": 8, "sensors.beads": [3, 6], "time.end": 2e-4})
    >>> run = gc.run(case)
    >>> about = AboutTable(title="A computed trace", kind="synthetic")
    >>> trace = gc.Trace(
    ...     time=run.time, force=run.sensor_force, beads=run.sensor_bead, about=about
    ... )
    >>> fit = gc.fit(case.replace({"striker.speed": 1.7}), trace, ["striker.speed"])
    >>> round(fit.degrees_of_freedom, 6), round(fit["striker.speed"], 2)
    (1.0, 1.77)
    """

    labels: ClassVar = {
        "measure": Label((), "", "quantity that was fitted"),
        "scatter": Label((), "1", "root mean square of the residuals per degree of freedom"),
        "degrees_of_freedom": Label((), "1", "measured minus fitted values"),
        "describes": Label((), "1", "whether the case describes the measurement"),
        "misfit": Label((), "1", "root mean square difference, as a fraction of the peak"),
        "time_shift": Label((), "s", "shift to add to the computed time"),
        "time_shift_error": Label((), "s", "standard error of the time shift"),
        "common_gain": Label((), "1", "measured force divided by true force, for all sensors"),
        "aic": Label((), "1", "Akaike information criterion"),
        "key": Label(_KEY, "", "fitted key of the case"),
        "interval_degrees": Label(_KEY, "1", "degrees of freedom of the error of the key"),
        "not_told_apart": Label(_KEY, "", "keys that are not distinguishable from it, and itself"),
        "other_key": Label(("other_key",), "", "fitted key of the case"),
        "correlation": Label(("key", "other_key"), "1", "correlation of the errors of two keys"),
        "level": Label(("level",), "1", "confidence level of the intervals"),
        "sensor_bead": Label(_SENSOR_DIMENSION, "1", "label of the sensor bead"),
        "peak_measured": Label(_SENSOR_DIMENSION, "N", "measured peak force of the first pulse"),
        "peak_error": Label(_SENSOR_DIMENSION, "N", "standard uncertainty of the measured peak"),
        "peak_computed": Label(
            _SENSOR_DIMENSION, "N", "fitted peak, with the calibration of the trace"
        ),
        "arrival_measured": Label(_SENSOR_DIMENSION, "s", "measured arrival"),
        "arrival_error": Label(
            _SENSOR_DIMENSION, "s", "standard uncertainty of the measured arrival"
        ),
        "arrival_computed": Label(
            _SENSOR_DIMENSION, "s", "fitted arrival, on the clock of the trace"
        ),
        "residuals": Label(
            _SENSOR_DIMENSION, "1", "computed minus measured value, in standard deviations"
        ),
        "gain": Label(_SENSOR_DIMENSION, "1", "measured force divided by true force"),
        "shift": Label(
            _SENSOR_DIMENSION, "s", "delay of the clock of the sensor, without the time shift"
        ),
        "sample": Label(_SAMPLE, "1", "number of a sample of the first pulses"),
        "sample_bead": Label(_SAMPLE, "1", "label of the sensor bead of the sample"),
        "sample_time": Label(_SAMPLE, "s", "time of the sample, on the clock of the trace"),
        "sample_measured": Label(_SAMPLE, "N", "measured force above the fitted baseline"),
        "sample_computed": Label(_SAMPLE, "N", "computed force, as the sensor reads it"),
    }

    def _by_key(self, ending: str = "") -> dict[str, float]:
        """Return the variable KEY + `ending` of each fitted key, by key."""
        return {key: self[f"{key}{ending}"] for key in self.key.tolist()}

    @property
    def values(self) -> dict[str, float]:
        """Value of each key, in SI units."""
        return self._by_key()

    @property
    def errors(self) -> dict[str, float]:
        """Standard error of each key; infinite if the measurement does not determine it."""
        return self._by_key("_error")

    @property
    def start(self) -> dict[str, float]:
        """Initial value of each key."""
        return self._by_key("_start")

    @property
    def conclusion(self) -> str:
        """Answer in one sentence: whether the law describes the measurement, and its values."""
        verb = "describes" if self.degrees_of_freedom else "reproduces"
        verb = verb if self.describes else "does not describe"
        values = (
            f"{key.rpartition('.')[2].replace('_', ' ')} "
            + with_error(value, self.errors[key], self.variables[key].unit)
            for key, value in self.values.items()
        )
        return f"{self.law.partition(', ')[0]} {verb} the measurement: {', '.join(values)}."

    @property
    def covariance(self) -> np.ndarray:
        """Covariance in the order of the keys; infinite or nan if a key is not determined."""
        errors = np.array(list(self.errors.values()))
        return np.asarray(self.correlation * np.outer(errors, errors))

    @property
    def samples(self) -> tuple[dict[str, Any], ...]:
        """Bead, times, and measured and computed forces of each complete first pulse."""
        return tuple(
            {
                "bead": bead,
                **{
                    name: self[f"sample_{name}"][self.sample_bead == bead]
                    for name in SAMPLE_VARIABLES
                },
            }
            for bead in dict.fromkeys(self.sample_bead.tolist())
        )

    @property
    def about(self) -> AboutTable:
        """Description and source of the measured trace."""
        return about_in(self.provenance)

    def interval(self, level: float = 0.9) -> dict[str, tuple[float, float]]:
        """Return the confidence interval of each key at a given level.

        The intervals use Student's distribution, because the scatter of peaks and of arrivals is
        estimated from the residuals. The contribution of the calibration is normal. The degrees of
        freedom of the sum follow Welch and Satterthwaite (JCGM 100:2008, G.4.1,
        doi:10.59161/JCGM100-2008E).

        Parameters
        ----------
        level : float
            Confidence level, above 0 and below 1.

        Raises
        ------
        CaseError
            If the level is out of range.
        """
        if not (is_number(level) and 0.0 < level < 1.0):
            raise CaseError(
                f"level: {brief(level)} is out of range. It must be a number above 0 and below "
                "1. Give 0.9 for 90 %."
            )
        errors = np.array(list(self.errors.values()))
        halves = half_widths(errors, self.interval_degrees, level).tolist()
        return {
            key: (value - half, value + half)
            for (key, value), half in zip(self.values.items(), halves, strict=True)
        }


def with_error(value: float, error: float, unit: str) -> str:
    """Return a value with its error, both rounded to the first digit of the error, and the unit."""
    unit = "" if unit == "1" else f" {unit}"
    if not (0.0 < error < math.inf and math.isfinite(value)):
        return f"{value:.6g}{unit}" + (" (not determined)" if error else "")
    exponent = int(f"{error:.0e}".partition("e")[2])
    digits = max(math.floor(math.log10(max(abs(value), error))) - exponent, 0) + 1
    text = f"{value:#.{digits}g}".replace(".e", "e").rstrip(".")
    return f"{text} +- {error:.1g}{unit}"


def half_widths(errors: np.ndarray, degrees: np.ndarray, level: ArrayLike) -> np.ndarray:
    """Return half the widths of confidence intervals, by Student's distribution."""
    return np.asarray(scipy_stats().t.ppf(0.5 + 0.5 * np.asarray(level), degrees) * errors)


def data_of_keys(
    values: dict[str, float],
    errors: np.ndarray,
    start: dict[str, float],
    variances: np.ndarray,
    freedom: np.ndarray,
) -> dict[str, Any]:
    """Return the variables of the keys of a fit.

    Parameters
    ----------
    values, start : dict of str to float
        Fitted and initial values by key.
    errors : array (key,)
        Standard errors.
    variances : array (kind, key)
        Contribution of each kind of measured number to the variances.
    freedom : array (kind,)
        Degrees of freedom of the scale of each kind.
    """
    with np.errstate(all="ignore"):
        inverse = np.sum(variances**2 / freedom[:, None], axis=0)
        degrees = np.where((inverse > 0.0) & np.isfinite(errors), errors**4 / inverse, math.inf)
    data: dict[str, Any] = {
        "key": list(values),
        "other_key": list(values),
        "interval_degrees": degrees,
        "level": LEVELS,
    }
    halves = half_widths(errors[:, np.newaxis], degrees[:, np.newaxis], LEVELS)
    for (key, value), error, half in zip(values.items(), errors.tolist(), halves, strict=True):
        data |= {key: value, f"{key}_error": error, f"{key}_start": start[key]}
        data |= {f"{key}_low": value - half, f"{key}_high": value + half}
    return data


# --------------------------------------------------------------------------------------------------
# Errors and conclusion of a converged fit


class Residuals(NamedTuple):
    """Residuals of the measured numbers and of prior values, whose deviation is 1.

    Attributes
    ----------
    residual, free : array (number,)
        Residuals in standard deviations, and degrees of freedom, which are 1 minus the leverage.
    slope : array (number, parameter)
        Derivatives by a unit step of each parameter.
    inverse : array (parameter, number)
        Pseudoinverse of the slope, because the solution is a linear map of the numbers.
    counted : array (number,)
        Whether the number counts in the misfit. Prior values that all sensors share do not count,
        because their error is not an error of any sensor.
    """

    residual: np.ndarray
    free: np.ndarray
    slope: np.ndarray
    inverse: np.ndarray
    counted: np.ndarray

    def scatter(self, chosen: np.ndarray) -> tuple[float, float]:
        """Return the root mean square of some numbers per degree of freedom, and these degrees.

        Without degrees of freedom, it is nan.
        """
        degrees = float(self.free[chosen].sum())
        if degrees <= LEAST_DEGREES:
            return math.nan, 0.0
        return math.sqrt(float(self.residual[chosen] @ self.residual[chosen]) / degrees), degrees


def fit_result(
    problem: FitProblem,
    lowest: Lowest,
    start: dict[str, float],
    low: np.ndarray,
    high: np.ndarray,
    size: np.ndarray,
) -> Fit:
    """Return the fit with its values, errors, and messages."""
    keys, count = list(problem.keys), len(problem.keys)
    values = dict(zip(keys, map(float, lowest.point), strict=False))
    slope = lowest.slope * size
    inverse = np.linalg.pinv(slope)
    residuals = Residuals(
        lowest.residual,
        1.0 - np.einsum("ij,ji->i", slope, inverse),
        slope,
        inverse,
        np.array(
            [True] * problem.count + [nuisance.sensor is not None for nuisance in problem.priors]
        ),
    )
    scatter, degrees = residuals.scatter(residuals.counted)
    shared, names = _shared_derivatives(problem, lowest.slope)
    if indistinguishable_groups(shared, names, size[: len(names)], NEARLY_ALIKE):
        _, wide = residuals_and_slopes(problem.residuals, lowest.point, low, high, size, WIDE)
        shared, names = _shared_derivatives(problem, wide)
    groups = indistinguishable_groups(shared, names, size[: len(names)])
    groups_of = {name: ", ".join(group) for group in groups for name in group}
    terms, covariance = _variances(problem, residuals, size)
    untold = [i for i, name in enumerate(names) if name in groups_of]
    covariance[untold, :] = covariance[:, untold] = math.nan
    covariance[untold, untold] = math.inf
    all_errors = np.sqrt(np.diag(covariance))
    errors = all_errors[:count]
    with np.errstate(invalid="ignore"):
        correlation = covariance[:count, :count] / np.outer(errors, errors)
    correlation[np.diag_indices(count)] = 1.0
    at_limits = [
        key
        for i, key in enumerate(keys)
        if min(values[key] - low[i], high[i] - values[key]) < AT_LIMIT * size[i]
    ]
    chance, description = _chance_of_residuals(problem, residuals)
    describes = not degrees or chance >= ACCUSED
    (final,) = problem._computed([lowest.point])
    if final is None:
        raise GranchainError(
            "fit: the case has no pulses at the fitted values. A pulse is required at each "
            "sensor. Start from other values."
        )
    shift, gain = problem.shifts_and_gains(lowest.point)
    misfit = problem.misfit(final, shift, gain)
    nuisance_values = problem.nuisance_values(lowest.point)
    of_all = {
        nuisance.kind: value
        for nuisance, value in nuisance_values.items()
        if nuisance.sensor is None
    }
    limit = largest_by_chance(len(problem.priors))
    beyond = [
        _beyond(problem, nuisance, nuisance_values[nuisance])
        for nuisance in problem.priors
        if abs(nuisance_values[nuisance]) > limit * nuisance.error
    ]
    remarks = {
        "the search did not converge. The values are the best that it reached": not lowest.settled,
        f"The case does not describe the measurement: {description} what the "
        f"uncertainties of the trace explain, {100.0 * misfit:.2g} % of the peaks. The model is "
        "incomplete, and the errors treat this as noise": not describes,
        "the number of measured quantities equals the number of fitted values. No residual "
        "remains to show whether the case describes them": not degrees,
        f"{'; '.join(beyond)}. This is a sign that the model is incomplete, or that the trace "
        "specifies too small an uncertainty": bool(beyond),
    }
    messages = (
        *problem.messages,
        *_key_messages(values, groups, correlation, at_limits),
        *(sentence for sentence, true in remarks.items() if true),
        *problem.messages_of_runs,
    )
    time_shift = of_all.get(CLOCK_SHIFT, 0.0)
    clock = shift if problem.times else shift + problem.mean_shift(final)
    numbers, more = contributions(problem, residuals.residual)
    # a group of keys that are not distinguishable counts as one key less
    known_keys = count - sum(any(key in keys for key in group) for group in groups)
    samples = problem.samples(final, clock, gain)
    lengths = [len(pulse["time"]) for pulse in samples]
    case = problem.base.replace(**values)
    data = {
        **data_of_keys(values, errors, start, *terms),
        "measure": problem.measure,
        "scatter": scatter,
        "degrees_of_freedom": degrees,
        "describes": bool(describes),
        "misfit": misfit,
        "time_shift": time_shift if problem.times else math.nan,
        # the clock follows the keys
        "time_shift_error": all_errors[count] if problem.times else math.nan,
        "common_gain": 1.0 + of_all.get(CALIBRATION, 0.0),
        "aic": more + float(numbers.sum()) + 2.0 * (known_keys + int(problem.times)),
        "not_told_apart": [groups_of.get(key, "") for key in keys],
        "correlation": correlation,
        "sensor_bead": problem.beads,
        "peak_measured": problem.peak,
        "peak_error": problem.peak_error,
        # includes the calibration of the trace
        "peak_computed": gain * final.peaks + problem.peak_read,
        "arrival_measured": problem.arrival,
        "arrival_error": problem.arrival_error,
        "arrival_computed": final.arrivals + clock + problem.arrival_read,
        "residuals": problem.rms_by_sensor(residuals.residual[: problem.count]),
        "gain": gain,
        "shift": shift - time_shift,
        "sample": np.arange(sum(lengths)),
        "sample_bead": np.repeat(
            np.array([pulse["bead"] for pulse in samples], dtype=int), lengths
        ),
        **{
            f"sample_{name}": np.concatenate([np.empty(0), *(pulse[name] for pulse in samples)])
            for name in SAMPLE_VARIABLES
        },
    }
    return Fit(
        data,
        case=case,
        title=problem.trace.about.title or case.title,
        messages=tuple(dict.fromkeys(messages)),
        labels=key_labels(case, keys, OF_A_KEY),
        provenance={
            **start_case(problem.base),
            **about_entry(problem.trace.about),
            **law_provenance(case),
        },
    )


def _variances(
    problem: FitProblem, residuals: Residuals, size: np.ndarray
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Return the terms of the variances, and the covariance of all parameters.

    The terms are the contribution of each kind of number to the variances of the keys, (kind, key),
    and the degrees of freedom of its scale, (kind,).
    """
    count, linear = len(problem.keys), residuals.inverse * size[:, None]
    # a prior value of one sensor belongs to its peaks, 0, or its arrivals, 1
    kinds_of_priors = [
        STATED_KIND
        if nuisance.sensor is None or problem.measure == "traces"
        else int(nuisance.kind == CLOCK_SHIFT)
        for nuisance in problem.priors
    ]
    kinds = np.array([*problem.kinds, *kinds_of_priors])
    share = np.append(problem.noise_share, np.ones(len(kinds_of_priors)))
    variances, freedom, covariance = [], [], np.zeros((len(linear), len(linear)))
    for kind in np.unique(kinds):
        of_kind = kinds == kind
        scale, degrees = residuals.scatter(of_kind)
        quiet_degrees, rows = float(problem.quiet_degrees.sum()), linear[:, of_kind]
        by_noise = residuals.residual[of_kind] / share[of_kind]
        if kind == STATED_KIND or not degrees:
            scale, degrees = 1.0, 0.0
        # many samples determine the noise of complete traces, so larger scatter is a model error
        elif problem.measure == "traces":
            scale, degrees = max(scale, 1.0), quiet_degrees
        # If noise explains the residuals, the errors of peaks and arrivals follow from the noise,
        # which many samples determine. The errors from the shape of a pulse are upper bounds and
        # similar at all sensors. If they matter, the scatter determines their size.
        elif scipy_stats().chi2.sf(float(by_noise @ by_noise), degrees) >= ACCUSED:
            scale, degrees, rows = 1.0, quiet_degrees, rows * share[of_kind]
        rows = scale * rows
        variances.append(np.sum(rows[:count] ** 2, axis=1))
        freedom.append(degrees or math.inf)
        covariance = covariance + rows @ rows.T
    return (np.array(variances), np.array(freedom)), covariance


def _key_messages(
    values: Mapping[str, float],
    groups: Sequence[tuple[str, ...]],
    correlation: np.ndarray,
    at_limits: Sequence[str],
) -> list[str]:
    """Describe keys that are indistinguishable, hardly distinguishable, or at a limit."""
    keys = list(values)
    alike = [
        f"{', '.join(others)} and {last} are not distinguishable: the measurement determines only "
        "one combination of them, and these values are one of many solutions. Fix the value of "
        "one of them in the case, or measure a quantity that distinguishes them"
        if others
        else f"{last} has no effect on the measured quantities. Its initial value is reported"
        for *others, last in groups
    ]
    close = [
        f"{keys[i]} and {keys[j]} are hard to distinguish: their correlation is "
        f"{correlation[i, j]:+.4f}, and each error is "
        f"{1.0 / math.sqrt(max(1.0 - correlation[i, j] ** 2, 1e-12)):.2g} times as large as for "
        "a known value of the other"
        for i in range(len(keys))
        for j in range(i)
        if abs(correlation[i, j]) > CLOSE_CORRELATION
    ]
    limits = [
        f"{key}: {values[key]:.6g} is at the limit of its range. Its error is meaningless"
        for key in at_limits
    ]
    return [*alike, *close, *limits]


def _chance_of_residuals(problem: FitProblem, residuals: Residuals) -> tuple[float, str]:
    """Return the probability of such residuals for a correct case, and a description.

    The probability uses all numbers or only their slow parts, whichever is less likely.
    """
    labels = np.append(problem.labels, np.full(len(problem.priors), -1))[residuals.counted]
    chance = _chance(
        residuals.residual[residuals.counted],
        residuals.free[residuals.counted],
        labels,
        problem.quiet_degrees,
    )
    description = f"the residual is {residuals.scatter(residuals.counted)[0]:.3g} times"
    rows, labels = problem.shapes()
    if not len(rows):
        return chance, description
    slow = rows @ residuals.residual[: problem.count]
    by, back = (
        rows @ residuals.slope[: problem.count],
        residuals.inverse[:, : problem.count] @ rows.T,
    )
    free = 1.0 - np.einsum("ij,ji->i", by, back)
    of_slow = _chance(slow, free, labels, problem.slow_degrees)
    if of_slow < chance:
        ratio = math.sqrt(float(slow @ slow) / float(free.sum()))
        description = f"the slow part of the residual is {ratio:.3g} times"
    # two tests are made, so the smaller probability is doubled (Bonferroni)
    return 2.0 * min(chance, of_slow), description


def _chance(
    residual: np.ndarray, free: np.ndarray, labels: np.ndarray, noise_degrees: np.ndarray
) -> float:
    """Return the probability that a correct case leaves residuals as large as these.

    The noise of each sensor is known only from its baseline samples. Therefore the residuals per
    degree of freedom have an F distribution. The sum uses the chi-squared value with the same
    probability.

    Parameters
    ----------
    residual, free, labels : array (number,)
        Residuals in standard deviations, degrees of freedom, and sensor of each; -1 for prior
        values without a sensor.
    noise_degrees : array (sensor,)
        Degrees of freedom of the noise estimate of each sensor; 0 if the noise is known.
    """
    stats = scipy_stats()
    total = 0.0
    for k in np.unique(labels):
        square, degrees = (float(values[labels == k].sum()) for values in (residual**2, free))
        if k >= 0 and noise_degrees[k] and degrees > 0.0:
            square = stats.chi2.isf(
                stats.f.sf(square / degrees, degrees, noise_degrees[k]), degrees
            )
        total += float(square)
    return float(stats.chi2.sf(total, free.sum()))


def contributions(problem: FitProblem, residual: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the contribution of each measured number to -2 ln L, (number,), and of prior values.

    Prior values are those of noise, gains, and clocks. The noise size s of each sensor is its most
    likely value, given the residuals of its n numbers and its pre-trigger baseline. The residuals
    contribute n ln s^2 + S/s^2, and the baseline contributes a similar term with its degrees of
    freedom. Without a baseline, s is the specified value. Minimizing the sum of squares over gains
    and clocks with prior values is equivalent to integrating over them.
    """
    square, quiet_degrees = residual[: problem.count] ** 2, problem.quiet_degrees
    count = len(problem.beads)
    numbers, square_sums = (
        np.bincount(problem.labels, weights, minlength=count) for weights in (None, square)
    )
    by_quiet = quiet_degrees > 0.0
    size = np.where(
        by_quiet,
        (quiet_degrees + square_sums) / np.where(by_quiet, quiet_degrees + numbers, 1.0),
        1.0,
    )
    size_of_number = size[problem.labels]
    by_baseline = quiet_degrees @ (np.log(size) + 1.0 / size - 1.0)
    return np.log(size_of_number) + square / size_of_number, float(
        by_baseline + np.sum(residual[problem.count :] ** 2)
    )


def _shared_derivatives(problem: FitProblem, slope: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return derivatives by the keys and by shared parameters, and the names of both.

    The part that the individual gains and clocks of the sensors explain is removed.
    """
    # keys and shared parameters are first
    names = [
        *problem.keys,
        *(nuisance.kind for nuisance in problem.nuisances if nuisance.sensor is None),
    ]
    count = len(names)
    if count < slope.shape[1]:
        basis, _ = np.linalg.qr(slope[:, count:])
        slope = slope - basis @ (basis.T @ slope)
    return slope[:, :count], names


def largest_by_chance(count: int) -> float:
    """Return what the largest of several normal deviations exceeds with a chance of 1 %.

    Parameters
    ----------
    count : int
        Number of deviations, whose standard deviation is 1.
    """
    probability = 1.0 - (1.0 - SUSPICIOUS) ** (1.0 / max(count, 1))
    return float(scipy_stats().norm.isf(0.5 * probability))


def _beyond(problem: FitProblem, term: Nuisance, value: float) -> str:
    """Describe a gain or a clock that deviates by more than its specified uncertainty."""
    owner = "all sensors" if term.sensor is None else f"bead {problem.beads[term.sensor]}"
    if term.kind == CALIBRATION:
        off, stated = f"{100.0 * value:+.2g} %", f"{100.0 * term.error:.2g} %"
    else:
        off, stated = f"{1e6 * value:+.2g} us", f"{1e6 * term.error:.2g} us"
    return (
        f"{term.kind}, {owner}, is off by {off}, which is {abs(value) / term.error:.2g} times "
        f"its specified uncertainty of {stated}"
    )
