"""Evaluation of a converged fit: errors, indistinguishable keys, and whether the case describes the
measurement."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from granchain.errors import GranchainError
from granchain.measured.about import about_entry
from granchain.measured.against import CALIBRATION, CLOCK_SHIFT, Against, Nuisance
from granchain.measured.fitted import OF_A_KEY, SAMPLES, Fit, data_of_keys
from granchain.measured.ranking import key_labels, start_case
from granchain.simulation import law_provenance
from granchain.studies.interruption import scipy_stats
from granchain.studies.search import (
    NEARLY_ALIKE,
    WIDE,
    Lowest,
    indistinguishable_groups,
    with_slopes,
)

# If two keys have this correlation, their errors are three times as large as if the other key were
# known: 1/sqrt(1 - r^2).
CLOSE_CORRELATION = 0.95
# Distance of a value from a limit, relative to the size of the key, below which it is at the limit.
AT_LIMIT = 1e-3
# Degrees of freedom up to which there is no scatter. Our choice.
LEAST_DEGREES = 0.5
# Probability that a correct case is reported not to describe the measurement.
ACCUSED = 0.01
# Kind of a number that is known beforehand from another source. Peaks are 0 and arrivals are 1.
STATED = 2
# Chance that the largest deviation of all gains and clocks of a correct case is suspicious.
SUSPICIOUS = 0.01


class Rest(NamedTuple):
    """Residuals of the measured numbers and of prior values, whose deviation is 1.

    Attributes
    ----------
    residual, free : array (number,)
        Residuals in standard deviations, and degrees of freedom, which are 1 minus the leverage.
    slope : array (number, parameter)
        Derivatives by a unit step of each parameter.
    inverse : array (parameter, number)
        Pseudoinverse of the slope, because the solution is a linear map of the numbers.
    own : array (number,)
        Whether the number counts in the misfit. Prior values that all sensors share do not count,
        because their error is not an error of any sensor.
    """

    residual: np.ndarray
    free: np.ndarray
    slope: np.ndarray
    inverse: np.ndarray
    own: np.ndarray

    def scatter(self, those: np.ndarray) -> tuple[float, float]:
        """Return the root mean square of some numbers per degree of freedom, and these degrees.

        Without degrees of freedom, it is nan.
        """
        degrees = float(self.free[those].sum())
        if degrees <= LEAST_DEGREES:
            return math.nan, 0.0
        return math.sqrt(float(self.residual[those] @ self.residual[those]) / degrees), degrees


def concluded(
    against: Against,
    found: Lowest,
    start: dict[str, float],
    low: np.ndarray,
    high: np.ndarray,
    size: np.ndarray,
) -> Fit:
    """Return the fit with its values, errors, and messages."""
    keys, count = list(against.keys), len(against.keys)
    values = dict(zip(keys, map(float, found.point), strict=False))
    slope = found.slope * size
    inverse = np.linalg.pinv(slope)
    rest = Rest(
        found.residual,
        1.0 - np.einsum("ij,ji->i", slope, inverse),
        slope,
        inverse,
        np.array([True] * against.count + [one.sensor is not None for one in against.known]),
    )
    scatter, degrees = rest.scatter(rest.own)
    shared, names = _shared_derivatives(against, found.slope)
    if indistinguishable_groups(shared, names, size[: len(names)], NEARLY_ALIKE):
        _, wide = with_slopes(against.residuals, found.point, low, high, size, WIDE)
        shared, names = _shared_derivatives(against, wide)
    groups = indistinguishable_groups(shared, names, size[: len(names)])
    terms, of_all_parameters = _variances(against, rest, size)
    covariance = of_all_parameters[:count, :count]
    clock_error = math.sqrt(of_all_parameters[count, count]) if against.times else math.nan
    if any(CLOCK_SHIFT in group for group in groups):
        clock_error = math.inf
    untold = [i for i, key in enumerate(keys) if any(key in group for group in groups)]
    for i in untold:
        covariance[i, :] = covariance[:, i] = math.nan
        covariance[i, i] = math.inf
    errors = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore"):
        correlation = covariance / np.outer(errors, errors)
    correlation[np.diag_indices(count)] = 1.0
    at_limits = [
        key
        for i, key in enumerate(keys)
        if min(values[key] - low[i], high[i] - values[key]) < AT_LIMIT * size[i]
    ]
    chance, left = _chance_of_rest(against, rest)
    describes = not degrees or chance >= ACCUSED
    misfit = against.misfit(found.point)
    beside = against.beside(found.point)
    of_all = {one.kind: value for one, value in beside.items() if one.sensor is None}
    limit = largest_by_chance(len(against.known))
    beyond = [
        _beyond(against, one, beside[one])
        for one in against.known
        if abs(beside[one]) > limit * one.error
    ]
    remarks = {
        "the search did not converge. The values are the best that it reached": not found.settled,
        f"The case does not describe the measurement: {left} what the "
        f"uncertainties of the trace explain, {100.0 * misfit:.2g} % of the peaks. The model is "
        "incomplete, and the errors treat this as noise": not describes,
        "the number of measured quantities equals the number of fitted values. No residual "
        "remains to show whether the case describes them": not degrees,
        f"{'; '.join(beyond)}. This is a sign that the model is incomplete, or that the trace "
        "specifies too small an uncertainty": bool(beyond),
    }
    (final,) = against._computed([found.point])
    if final is None:
        raise GranchainError(
            "fit: the case has no pulses at the fitted values. A pulse is required at each "
            "sensor. Start from other values."
        )
    messages = (
        *against.messages,
        *_words_of_keys(values, groups, correlation, at_limits),
        *(sentence for sentence, true in remarks.items() if true),
        *against.messages_of_runs,
    )
    shift, gain = against.of_measurement(found.point)
    time_shift = of_all.get(CLOCK_SHIFT, 0.0)
    clock = shift if against.times else shift + against.mean_shift(final)
    numbers, more = contributions(against, rest.residual)
    # a group of keys that are not distinguishable counts as one key less
    known_keys = count - sum(any(key in keys for key in group) for group in groups)
    groups_of = {key: ", ".join(group) for group in groups for key in group}
    samples = against.samples(final, clock, gain)
    lengths = [len(pulse["time"]) for pulse in samples]
    case = against.base.replace(**values)
    data = {
        **data_of_keys(values, errors, start, *terms),
        "measure": against.measure,
        "scatter": scatter,
        "degrees_of_freedom": degrees,
        "describes": bool(describes),
        "misfit": misfit,
        "time_shift": time_shift if against.times else math.nan,
        "time_shift_error": clock_error,
        "common_gain": 1.0 + of_all.get(CALIBRATION, 0.0),
        "aic": more + float(numbers.sum()) + 2.0 * (known_keys + int(against.times)),
        "not_told_apart": [groups_of.get(key, "") for key in keys],
        "correlation": correlation,
        "sensor_bead": against.beads,
        "peak_measured": against.peak,
        "peak_error": against.peak_error,
        # with the calibration of the trace
        "peak_computed": gain * final.peaks + against.peak_read,
        "arrival_measured": against.arrival,
        "arrival_error": against.arrival_error,
        "arrival_computed": final.arrivals + clock + against.arrival_read,
        "residuals": against.of_sensors(rest.residual[: against.count]),
        "gain": gain,
        "shift": shift - time_shift,
        "sample": np.arange(sum(lengths)),
        "sample_bead": np.repeat(
            np.array([pulse["bead"] for pulse in samples], dtype=int), lengths
        ),
        **{
            f"sample_{name}": np.concatenate([np.empty(0), *(pulse[name] for pulse in samples)])
            for name in SAMPLES
        },
    }
    return Fit(
        data,
        case=case,
        title=against.trace.about.title or case.title,
        messages=tuple(dict.fromkeys(messages)),
        labels=key_labels(case, keys, OF_A_KEY),
        provenance={
            **start_case(against.base),
            **about_entry(against.trace.about),
            **law_provenance(case),
        },
    )


def _variances(
    against: Against, rest: Rest, size: np.ndarray
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Return the terms of the variances, and the covariance of all parameters.

    The terms are the contribution of each kind of number to the variances of the keys, (kind, key),
    and the degrees of freedom of its scale, (kind,).
    """
    count, linear = len(against.keys), rest.inverse * size[:, None]
    # a prior value of one sensor belongs to its peaks, 0, or its arrivals, 1
    of_known = [
        STATED
        if one.sensor is None or against.measure == "traces"
        else int(one.kind == CLOCK_SHIFT)
        for one in against.known
    ]
    kinds = np.array([*against.kinds, *of_known])
    share = np.append(against.noise_share, np.ones(len(of_known)))
    variances, freedom, covariance = [], [], np.zeros((len(linear), len(linear)))
    for kind in np.unique(kinds):
        those = kinds == kind
        scale, known = rest.scatter(those)
        quiet, rows = float(against.quiet_degrees.sum()), linear[:, those]
        if kind == STATED or not known:
            scale, known = 1.0, 0.0
        # the noise of complete traces is known from many samples, so larger scatter is a model
        # error
        elif against.measure == "traces":
            scale, known = max(scale, 1.0), quiet
        # The errors of peaks and arrivals are those of their noise, which many samples tell, as
        # long as noise explains the residuals. The parts from the shape of a pulse are upper bounds
        # and alike at all sensors, so beyond noise the scatter determines their size.
        elif _explained(rest.residual[those] / share[those], known):
            scale, known, rows = 1.0, quiet, rows * share[those]
        rows = scale * rows
        variances.append(np.sum(rows[:count] ** 2, axis=1))
        freedom.append(known or math.inf)
        covariance = covariance + rows @ rows.T
    return (np.array(variances), np.array(freedom)), covariance


def _explained(residual: np.ndarray, degrees: float) -> bool:
    """Return whether chance explains residuals [standard deviations]."""
    return bool(scipy_stats().chi2.sf(float(residual @ residual), degrees) >= ACCUSED)


def _words_of_keys(
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
        "one "
        "of them in the case, or measure a quantity that distinguishes them"
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


def _chance_of_rest(against: Against, rest: Rest) -> tuple[float, str]:
    """Return the probability of such residuals for a correct case, and a description.

    The probability uses all numbers or only their slow parts, whichever is less likely.
    """
    labels = np.append(against.labels, np.full(len(against.known), -1))[rest.own]
    chance = _chance(rest.residual[rest.own], rest.free[rest.own], labels, against.quiet_degrees)
    left = f"the residual is {rest.scatter(rest.own)[0]:.3g} times"
    rows, labels = against.shapes()
    if not len(rows):
        return chance, left
    slow = rows @ rest.residual[: against.count]
    by, back = rows @ rest.slope[: against.count], rest.inverse[:, : against.count] @ rows.T
    free = 1.0 - np.einsum("ij,ji->i", by, back)
    of_slow = _chance(slow, free, labels, against.slow_degrees)
    if of_slow < chance:
        ratio = math.sqrt(float(slow @ slow) / float(free.sum()))
        left = f"the slow part of the residual is {ratio:.3g} times"
    # two tests are made, so the smaller probability is doubled (Bonferroni)
    return 2.0 * min(chance, of_slow), left


def _chance(residual: np.ndarray, free: np.ndarray, labels: np.ndarray, known: np.ndarray) -> float:
    """Return the probability that a correct case leaves residuals as large as these.

    The noise of each sensor is known only from its baseline samples. Therefore the residuals per
    degree of freedom have an F distribution. The sum uses the chi-squared value with the same
    probability.

    Parameters
    ----------
    residual, free, labels : array (number,)
        Residuals in standard deviations, degrees of freedom, and sensor of each; -1 for prior
        values without a sensor.
    known : array (sensor,)
        Degrees of freedom of the noise estimate of each sensor; 0 if the noise is known.
    """
    stats = scipy_stats()
    total = 0.0
    for k in np.unique(labels):
        square, degrees = (float(one[labels == k].sum()) for one in (residual**2, free))
        if k >= 0 and known[k] and degrees > 0.0:
            square = stats.chi2.isf(stats.f.sf(square / degrees, degrees, known[k]), degrees)
        total += float(square)
    return float(stats.chi2.sf(total, free.sum()))


def contributions(against: Against, residual: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the contribution of each measured number to -2 ln L, (number,), and of prior values.

    Prior values are those of noise, gains, and clocks. The noise size s of each sensor is its most
    likely value, given the residuals of its n numbers and its pre-trigger baseline. The residuals
    contribute n ln s^2 + S/s^2, and the baseline contributes a similar term with its degrees of
    freedom. Without a baseline, s is the specified value. Minimizing the sum of squares over gains
    and clocks with prior values is equivalent to integrating over them.
    """
    square, known = residual[: against.count] ** 2, against.quiet_degrees
    count = len(against.beads)
    numbers, left = (
        np.bincount(against.labels, weights, minlength=count) for weights in (None, square)
    )
    by_quiet = known > 0.0
    size = np.where(by_quiet, (known + left) / np.where(by_quiet, known + numbers, 1.0), 1.0)
    own = size[against.labels]
    beside = known @ (np.log(size) + 1.0 / size - 1.0)
    return np.log(own) + square / own, float(beside + np.sum(residual[against.count :] ** 2))


def _shared_derivatives(against: Against, slope: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return derivatives by the keys and by shared parameters, and the names of both.

    The part that the individual gains and clocks of the sensors explain is removed.
    """
    # keys and shared parameters come first
    names = [*against.keys, *(one.kind for one in against.nuisances if one.sensor is None)]
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
    each = 1.0 - (1.0 - SUSPICIOUS) ** (1.0 / max(count, 1))
    return float(scipy_stats().norm.isf(0.5 * each))


def _beyond(against: Against, term: Nuisance, value: float) -> str:
    """Describe a gain or a clock that deviates by more than its specified uncertainty."""
    whose = "all sensors" if term.sensor is None else f"bead {against.beads[term.sensor]}"
    if term.kind == CALIBRATION:
        off, stated = f"{100.0 * value:+.2g} %", f"{100.0 * term.error:.2g} %"
    else:
        off, stated = f"{1e6 * value:+.2g} us", f"{1e6 * term.error:.2g} us"
    return (
        f"{term.kind}, {whose}, is off by {off}, which is {abs(value) / term.error:.2g} times "
        f"its specified uncertainty of {stated}"
    )
