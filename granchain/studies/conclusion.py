"""What is concluded where a fit's way down has ended: errors, what the measurement distinguishes,
and whether the case describes it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from granchain.comparison.agreement import Agreement
from granchain.errors import GranchainError
from granchain.studies.against import CALIBRATION, CLOCK_SHIFT, Against, Nuisance
from granchain.studies.fitted import Fit, SensorFit, VarianceTerm
from granchain.studies.interruption import scipy_stats
from granchain.studies.search import (
    NEARLY_ALIKE,
    WIDE,
    Lowest,
    indistinguishable_groups,
    with_slopes,
)

# Two keys of such a correlation have errors that are three times those that each would have if the
# other were known: 1/sqrt(1 - r^2).
CLOSE_CORRELATION = 0.95
# A part of a key's value: closer to a limit is at it.
AT_LIMIT = 1e-3
# Degrees of freedom up to which there is none; ours.
LEAST_DEGREES = 0.5
# In one of a hundred fits a right case is reported to miss the measurement.
ACCUSED = 0.01
# Of the kinds of numbers, beside peaks 0 and arrivals 1: what is known beforehand from elsewhere.
STATED = 2
# Stated standard deviations beyond which a gain or a clock is the case's fault.
BEYOND = 2.0


class Rest(NamedTuple):
    """What is left of the measured numbers, and of what is known beforehand, whose deviation is 1.

    Attributes
    ----------
    residual, free : array (number,)
        In standard deviations, and degrees of freedom: what is left of each beside its leverage.
    slope : array (number, parameter)
        Derivatives by a step of 1 of each parameter.
    inverse : array (parameter, number)
        Of these: the answer is a linear map of the numbers.
    own : array (number,)
        Whether it counts as misfit: what all sensors share is known from elsewhere, and that it is
        off is none of theirs.
    """

    residual: np.ndarray
    free: np.ndarray
    slope: np.ndarray
    inverse: np.ndarray
    own: np.ndarray

    def scatter(self, those: np.ndarray) -> tuple[float, float]:
        """Root mean square of some numbers over their degrees of freedom, nan without any; and
        these."""
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
    """Values, errors and messages."""
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
    terms, covariance = _variances(against, rest, size)
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
    beyond = [
        _beyond(against, one, value)
        for one, value in beside.items()
        if abs(value) > BEYOND * one.error
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
    off = against.of_sensors(rest.residual[: against.count])
    # computed forces as the calibration of the trace reads them
    peaks, arrivals = (
        [Agreement(*one) for one in np.transpose(columns).tolist()]
        for columns in (
            (against.peak, against.peak_error, gain * final.peaks + against.peak_read),
            (against.arrival, against.arrival_error, final.arrivals + clock + against.arrival_read),
        )
    )
    numbers, more = contributions(against, rest.residual)
    # a group of keys that cannot be distinguished counts as one number less
    known_keys = count - sum(any(key in keys for key in group) for group in groups)
    return Fit(
        values=values,
        errors=dict(zip(keys, errors.tolist(), strict=True)),
        covariance=covariance,
        correlation=correlation,
        residuals=off,
        sensors=tuple(map(SensorFit, against.beads, peaks, arrivals, off.tolist())),
        scatter=scatter,
        degrees_of_freedom=degrees,
        describes=describes,
        misfit=misfit,
        not_told_apart=tuple(groups),
        time_shift=time_shift if against.times else math.nan,
        common_gain=1.0 + of_all.get(CALIBRATION, 0.0),
        gain=gain,
        shift=shift - time_shift,
        samples=tuple(against.samples(final, clock, gain)),
        case=against.base.replace(**values),
        start=start,
        measure=against.measure,
        trace=against.trace,
        variance_terms=tuple(terms),
        aic=more + float(numbers.sum()) + 2.0 * (known_keys + int(against.times)),
        messages=tuple(dict.fromkeys(messages)),
    )


def _variances(
    against: Against, rest: Rest, size: np.ndarray
) -> tuple[list[VarianceTerm], np.ndarray]:
    """What each kind of measured numbers adds to the variances of the keys, and their
    covariance."""
    count = len(against.keys)
    linear = (rest.inverse * size[:, None])[:count]
    # what is known beforehand of one sensor goes with its peaks, 0, or its arrivals, 1
    of_known = [
        STATED
        if one.sensor is None or against.measure == "traces"
        else int(one.kind == CLOCK_SHIFT)
        for one in against.known
    ]
    kinds = np.array([*against.kinds, *of_known])
    terms, covariance = [], np.zeros((count, count))
    for kind in np.unique(kinds):
        scale, known = rest.scatter(kinds == kind)
        if kind == STATED or not known:
            scale, known = 1.0, 0.0
        # the noise of whole traces is known from many samples, and more scatter than that is the
        # case's; the uncertainties of a few peaks or arrivals, bounds where they are of the shape
        # of a pulse, are not known so well: the scatter says how large they are
        if kind != STATED and against.measure == "traces":
            scale, known = max(scale, 1.0), float(against.quiet_degrees.sum())
        rows = scale * linear[:, kinds == kind]
        terms.append(VarianceTerm(np.sum(rows**2, axis=1), known or math.inf))
        covariance = covariance + rows @ rows.T
    return terms, covariance


def _words_of_keys(
    values: Mapping[str, float],
    groups: Sequence[tuple[str, ...]],
    correlation: np.ndarray,
    at_limits: Sequence[str],
) -> list[str]:
    """Which keys the measurement does not tell, or hardly, and which lie at a limit."""
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
    """Chance that a right case leaves so much, of all numbers or of their slow parts; and which of
    the two is how large."""
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
    # of two that are looked at, the smaller (Bonferroni)
    return 2.0 * min(chance, of_slow), left


def _chance(residual: np.ndarray, free: np.ndarray, labels: np.ndarray, known: np.ndarray) -> float:
    """Chance that a right case leaves so much.

    The noise of each sensor is known from its quiet samples alone: what is left there, over its
    degrees of freedom, is distributed as F, of which the chi squared of the same chance is added.

    Parameters
    ----------
    residual, free, labels : array (number,)
        Standard deviations, with the degrees of freedom and the sensor of each; -1: of none, known
        beforehand.
    known : array (sensor,)
        Degrees of freedom that the size of its noise is known with; 0: known.
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
    """(number,) What each measured number adds to -2 ln L, and what is added beside them, by what
    is known of noise, gains and clocks beforehand.

    The size s of the noise of each sensor is the most likely one, of what is left of its n numbers
    and of its quiet stretch, n ln s^2 + S/s^2 and the like with as many degrees of freedom; without
    a quiet stretch it is the stated one. To minimise the sum of squares over gains and
    clocks that are known beforehand is to integrate them out.
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
    """Derivatives by the keys and by what all sensors share, without what each sensor's own gain
    and clock explain of them, and the names of those."""
    # they come first
    names = [*against.keys, *(one.kind for one in against.nuisances if one.sensor is None)]
    count = len(names)
    if count < slope.shape[1]:
        basis, _ = np.linalg.qr(slope[:, count:])
        slope = slope - basis @ (basis.T @ slope)
    return slope[:, :count], names


def _beyond(against: Against, term: Nuisance, value: float) -> str:
    """That a gain or a clock is found further off than is stated."""
    whose = "all sensors" if term.sensor is None else f"bead {against.beads[term.sensor]}"
    if term.kind == CALIBRATION:
        off, stated = f"{100.0 * value:+.2g} %", f"{100.0 * term.error:.2g} %"
    else:
        off, stated = f"{1e6 * value:+.2g} us", f"{1e6 * term.error:.2g} us"
    return (
        f"{term.kind}, {whose}, is off by {off}, which is {abs(value) / term.error:.2g} times "
        f"its specified uncertainty of {stated}"
    )
