"""Peak, peak time, and level crossings from noisy samples, by local least-squares fits.

Near its top, a pulse is nearly the exponential of a polynomial. The shapes of solitary waves,
sech^2 and cos^6, are the exponential of a polynomial of degree two to within a hundredth
(Nesterenko 1983, doi:10.1007/BF00905892). A steep front with a long tail needs the odd terms.
The samples determine the length of the fitted stretch, as in Lepski's method (Goldenshluger &
Nemirovski 1997, Math. Methods Statist. 6, 135). Short stretches suffer from noise, and long ones
from the shape of the pulse. The uncertainty of each estimate has these two parts, and the estimate
with the smallest uncertainty is used:

* noise: parameters that are a linear map G of the samples have the covariance G C G^T (JCGM
  100:2008, sec. 5.2, doi:10.59161/JCGM100-2008E). If the curve misses the samples by more than
  noise, the excess counts as noise (Birge 1932, doi:10.1103/PhysRev.40.207);
* shape: an error of order l^p in the length l of the stretch makes the results of lengths l and r l
  differ by (r^p - 1) times the error of the shorter (Richardson 1911, doi:10.1098/rsta.1911.0009),
  if p is known. If the shape of a long stretch is correct, its result differs from those of all
  shorter stretches by no more than noise (Lepski).

The uncertainties are tested with synthetic sensors and pulses of every law, see
docs/reliability.md, N12.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.polynomial import polynomial

from granchain.analysis.pulse import vertex
from granchain.measured.noise import Noise

# Half lengths of the stretches as fractions of the time from the top to the nearer half height.
# Each is 1/sqrt(2) of the previous one.
FITTED_LENGTHS = tuple(2.0 ** (0.5 - 0.5 * i) for i in range(11))
# Degree of the polynomial in the exponent, and of the polynomial through a flank. They are the
# lowest degrees with an odd term beyond the first, and with a curvature.
TOP_DEGREE, FLANK_DEGREE = 3, 2
# Order of the error of the shape. For a smooth pulse it is 4 by Taylor's series, because the first
# missing term of the curves is two orders above their degree, or even. For skew pulses it is 1.5 if
# a stretch is longer than this multiple of the distance to the half height, and 3 to 5 otherwise
# (measured: hertz, flores, ma-liu).
LONG_ORDER, LONG = 1.5, 1.2
SHAPE_ORDER = 3.0
# Error of the peak, as a fraction of it, if the stretch reaches to the half heights (measured: root
# mean square of 26 laws and 5 beads is 0.009). For shorter stretches it decreases with the order.
SHAPE_OF_LAWS = 0.01
# Stretches are compared if the longer one is 1.25 to 3 times as long.
LENGTH_RATIOS = (1.25, 3.0)
# Largest difference of two estimates in standard deviations. If a longer stretch differs from a
# shorter one by more, it does not have the shape of the pulse. For pulses with a kink before their
# top (jankowski), 1 % of the positions are wrong by more than 5 standard errors with this rule, and
# 30 % without it.
NO_NOISE = 1.5
# One difference of two estimates may be small by chance. The uncertainty therefore covers the
# differences of all estimates that are up to this many times less certain.
ALIKE_UNCERTAIN = 1.75
# If the top is a kink between two samples, the samples do not show its position, so the smallest
# error of the position is this fraction of an interval.
LEAST_PLACE = 0.01
# A curve that misses the samples by this multiple of the noise does not have the shape of the
# pulse. The top may then be a kink anywhere in the stretch in which the force is below its peak by
# less than the misfit. The second number is the fraction of this stretch that counts as one
# standard deviation; six standard deviations cover the stretch.
MISFIT, HIDDEN_KINK = 2.0, 0.17
# The misfit of a curve at a corner is of order 1 in the length of its stretch. For a smooth pulse
# it is of order 4 by Taylor's series, and for the pulses of hertz and flores of order 2.0 to 3.9,
# with the lower values over long stretches (measured). Below this order there is a corner, if the
# excess is this many standard deviations of a mean square (one in a thousand by chance). Stretches
# up to this many times as long as the selected one are inspected, which includes the next longer
# one.
CORNER_ORDER, CORNER_SURE, NEXT_LONGER = 2.0, 3.0, 2.25
# A corner in the middle rises above the curve by this multiple of the root-mean-square misfit. The
# difference of |x| from -1 to 1 and its least-squares parabola, 3/16 + 15/16 x^2, is 3/16 at 0, and
# its mean square is 1/192.
CORNER_HEIGHT = math.sqrt(27.0 / 4.0)
# Error between samples. A Gaussian pulse has the fourth difference 3 s^2/F at its peak F, where s
# is the second difference. A parabola through three samples is wrong by 1/128 of the fourth
# difference half way between two samples (Newton's remainder t^2 (t^2 - 1)/24 at t = 1/2), which is
# 0.023 s^2/F. Skew pulses have larger errors, which four times this value covers.
BETWEEN_SAMPLES = 0.1
# Number of Gauss-Newton steps. After these, parameters that start from logarithms of the samples no
# longer change by a noticeable fraction of their uncertainty.
GAUSS_NEWTON_STEPS = 4


class Number(NamedTuple):
    """Measured value and its standard uncertainty, both nan if not reported."""

    value: float
    error: float


NOT_REPORTED = Number(math.nan, math.nan)


class Weights(NamedTuple):
    """Weights of consecutive samples in an estimate, from sample `start` on."""

    start: int
    row: np.ndarray

    def added_to(self, total: np.ndarray, factor: float) -> None:
        """Add these weights, times a factor, to the weights of all samples."""
        total[self.start : self.start + len(self.row)] += factor * self.row


class _LocalFit(NamedTuple):
    """Estimate from one stretch.

    `length` is the half length of the stretch [samples]. `values` are the position and the value
    read there (peak or slope), and `noise` their standard deviations from noise. `start` is the
    first sample of the stretch, and `rows` are the weights of its samples in position and peak.
    `curve` contains the fitted values of a curved fit.
    """

    length: float
    values: tuple[float, float]
    noise: tuple[float, float]
    start: int
    rows: tuple[np.ndarray, ...]
    curve: np.ndarray = np.empty(0)


def _fits_of_shorter_stretches(
    fitted: Callable[[slice, float], _LocalFit | None],
    position: float,
    reach: float,
    shares: Sequence[float],
    count: int,
) -> list[_LocalFit]:
    """Fit curves to stretches of decreasing length.

    Each stretch is centred at the position that the previous stretch gave.
    """
    fits: list[_LocalFit] = []
    for share in shares:
        near = _samples_near(count, position, share * reach)
        if fits and near.stop - near.start >= round(2.0 * fits[-1].length):
            continue
        fit = fitted(near, position)
        if fit is not None:
            fits.append(fit)
            position = fit.values[0]
    return fits


def _most_certain(fits: Sequence[_LocalFit], which: int, noise: Noise, reach: float) -> Number:
    """Return the estimate with the smallest uncertainty.

    The estimates are from stretches of decreasing length. The uncertainty covers the other
    estimates that are nearly as certain.
    """
    # The noise of an estimate grows if samples are left out (Gauss and Markov). If a short stretch
    # seems more certain, a bump of the noise was fitted instead of the pulse.
    by_rows = [noise.of_sum(fit.rows[which]) for fit in fits]
    by_noise = np.fmax([fit.noise[which] for fit in fits], np.fmax.accumulate(by_rows))
    shape, compared = [0.0] * len(fits), [False] * len(fits)
    for k, fit in enumerate(fits):
        for i, longer in enumerate(fits[:k]):
            ratio = longer.length / fit.length
            if LENGTH_RATIOS[0] <= ratio <= LENGTH_RATIOS[1]:
                difference, deviation = _difference(longer, fit, which, noise)
                order = LONG_ORDER if longer.length > LONG * reach else SHAPE_ORDER
                shape_error = _beyond_noise(difference, deviation) / (ratio**order - 1.0)
                shape[k], compared[k] = max(shape[k], shape_error), True
                if math.isfinite(fit.noise[which]):
                    shape[i] = max(shape[i], _beyond_noise(difference, NO_NOISE * deviation))
    # The longest stretches cannot be compared with longer ones. For two and three samples, the
    # error is the remainder of the interpolation.
    estimates = [
        Number(fit.values[which], math.hypot(by_noise[k], shape[k] if fit.length > 1.0 else 0.0))
        for k, fit in enumerate(fits)
        if compared[k] or fit.length <= 1.0
    ]
    if not estimates:
        return NOT_REPORTED
    best = min(estimates, key=lambda estimate: estimate.error)
    if not math.isfinite(best.error):
        return NOT_REPORTED
    # An estimate that is q times less certain may differ by q times as much.
    spread = [
        abs(estimate.value - best.value) * best.error / estimate.error
        for estimate in estimates
        if 0.0 < estimate.error <= ALIKE_UNCERTAIN * best.error
    ]
    return Number(best.value, max([best.error, *spread]))


def _difference(longer: _LocalFit, fit: _LocalFit, which: int, noise: Noise) -> tuple[float, float]:
    """Return the difference of two estimates and its standard deviation from noise."""
    first = min(longer.start, fit.start)
    weights = np.zeros(max(each.start + len(each.rows[which]) for each in (longer, fit)) - first)
    for each, sign in ((longer, 1.0), (fit, -1.0)):
        Weights(each.start - first, each.rows[which]).added_to(weights, sign)
    return abs(longer.values[which] - fit.values[which]), noise.of_sum(weights)


def _beyond_noise(difference: float, by_noise: float) -> float:
    """Return the part of a difference that noise does not explain.

    The mean square of the difference is the sum of both squares.
    """
    return math.sqrt(max(difference**2 - by_noise**2, 0.0))


def fitted_peak(
    force: np.ndarray, top: float, reach: float, noise: Noise
) -> tuple[Number, Number, Weights, Weights]:
    """Return the peak of a pulse [N], its position [samples], and the weights of both.

    Parameters
    ----------
    force : array (n,)
        Forces [N].
    top : float
        Position near the peak [samples].
    reach : float
        Distance from there to the nearer half height [samples].
    noise : Noise
    """
    fits = _fits_of_shorter_stretches(
        lambda near, position: _exponential(force, near, position, noise),
        top,
        reach,
        FITTED_LENGTHS,
        len(force),
    )
    near = _samples_near(len(force), fits[-1].values[0] if fits else top, max(0.25 * reach, 1.0))
    i = near.start + int(np.argmax(force[near]))
    second = 0.0
    if 0 < i < len(force) - 1:
        fits.append(_through_three(force, i, noise))
        second = abs(float(force[i - 1] - 2.0 * force[i] + force[i + 1]))
    if noise.ring[0]:
        # A long stretch averages over the ring, but short ones do not. They are too uncertain to
        # show the error of its shape, up to the size of the ring.
        for k, fit in enumerate(fits):
            shape_error = SHAPE_OF_LAWS * (fit.length / reach) ** SHAPE_ORDER * fit.values[1]
            by_noise = math.hypot(fit.noise[1], min(shape_error, noise.sample))
            fits[k] = fit._replace(noise=(fit.noise[0], by_noise))
    position, peak = (_most_certain(fits, which, noise, reach) for which in (0, 1))
    if second:
        between = BETWEEN_SAMPLES * second**2 / max(float(force[i]), second)
        peak = Number(peak.value, math.hypot(peak.error, between))
    # a small kink may be the top; above half height, the force is roughly a parabola
    hidden = 0.0
    for fit in fits:
        if fit.values[0] == position.value and len(fit.curve):
            missed = _misfit(fit, force)
            corner = CORNER_HEIGHT * _corner(fits, fit.length, force, noise)
            below = max(missed if missed > MISFIT * noise.sample else 0.0, corner)
            if below:
                hidden = reach * math.sqrt(2.0 * below / max(peak.value, below))
    alone = math.hypot(position.error, LEAST_PLACE)
    at = Number(position.value, max(alone, HIDDEN_KINK * hidden))
    return peak, at, _weights(fits, peak.value, 1), _weights(fits, position.value, 0)


def _misfit(fit: _LocalFit, force: np.ndarray) -> float:
    """Return the root-mean-square misfit of a curve [N]."""
    off = force[fit.start : fit.start + len(fit.curve)] - fit.curve
    return float(np.linalg.norm(off)) / math.sqrt(len(off) - TOP_DEGREE - 1)


def _corner(fits: Sequence[_LocalFit], length: float, force: np.ndarray, noise: Noise) -> float:
    """Return the misfit due to a corner that noise hides [N].

    Stretches about as long as the selected one are compared. The misfit is 0 if it decreases from a
    longer to a shorter stretch as for a smooth pulse.
    """
    variance, most = noise.sample**2, 0.0
    curved = [fit for fit in fits if len(fit.curve)] if variance else []
    excess = [max(_misfit(fit, force) ** 2 - variance, 0.0) for fit in curved]
    for k, fit in enumerate(curved):
        if fit.length > NEXT_LONGER * length:
            continue
        free = (len(fit.curve) - TOP_DEGREE - 1) / noise.statistical_inefficiency
        for longer, of_longer in zip(curved[:k], excess[:k], strict=True):
            ratio = longer.length / fit.length
            if LENGTH_RATIOS[0] <= ratio <= LENGTH_RATIOS[1]:
                smooth = of_longer / ratio ** (2.0 * CORNER_ORDER)
                spread = CORNER_SURE * math.sqrt(2.0 / free) * (variance + smooth)
                if excess[k] - smooth > spread:
                    most = max(most, math.sqrt(excess[k]))
    return most


def _weights(fits: Sequence[_LocalFit], value: float, which: int) -> Weights:
    """Return the weights of the selected estimate."""
    for fit in fits:
        if fit.values[which] == value:
            return Weights(fit.start, fit.rows[which])
    return Weights(0, np.empty(0))


def fitted_crossing(
    force: np.ndarray, level: float, position: float, reach: float, noise: Noise
) -> tuple[Number, float, Weights]:
    """Return where a flank crosses a level [samples], its slope, and the weights.

    The slope [N per sample] is that at the crossing. The weights are those of the position.

    Parameters
    ----------
    force : array (n,)
        Forces [N].
    level : float
        Level [N].
    position : float
        Position near the crossing [samples].
    reach : float
        Distance from the crossing to the top [samples].
    noise : Noise
    """
    fits = _fits_of_shorter_stretches(
        lambda near, position: _flank(force, level, near, position, noise),
        position,
        reach,
        FITTED_LENGTHS[3:],
        len(force),
    )
    i = math.floor(fits[-1].values[0] if fits else position)
    if 0 <= i < len(force) - 1 and force[i] != force[i + 1]:
        fits.append(_through_two(force, level, i, noise))
    crossing = _most_certain(fits, 0, noise, reach)
    slopes = [fit.values[1] for fit in fits if fit.values[0] == crossing.value] or [math.nan]
    return crossing, slopes[-1], _weights(fits, crossing.value, 0)


def _samples_near(count: int, position: float, half: float) -> slice:
    """Return the samples within a distance of a position."""
    return slice(max(0, math.ceil(position - half)), min(count, math.floor(position + half) + 1))


def _scaled(near: slice, centre: float, degree: int) -> tuple[float, np.ndarray]:
    """Return the half length of a stretch and the powers of its scaled positions."""
    scale = 0.5 * (near.stop - near.start)
    x = (np.arange(near.start, near.stop) - centre) / scale
    return scale, np.vander(x, degree + 1, increasing=True)


def _real_roots(p: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the real zeros of a polynomial within a stretch."""
    roots = polynomial.polyroots(p) if p[-1] else np.empty(0)
    real = roots[np.abs(roots.imag) < 1e-9].real
    return real[(real >= x[0]) & (real <= x[-1])]


def _exponential(force: np.ndarray, near: slice, centre: float, noise: Noise) -> _LocalFit | None:
    """Fit the exponential of a polynomial; return its largest value and position."""
    y, n, degree = force[near], near.stop - near.start, TOP_DEGREE
    if n < degree + 2 or not y.max() > 0.0:
        return None
    scale, powers = _scaled(near, centre, degree)
    # Initial values from the logarithms, weighted with the force: an error of the force is the
    # error of its logarithm times the force.
    above = np.maximum(y, 0.05 * y.max())
    p = _least_squares_map(powers * above[:, np.newaxis]) @ (np.log(above) * above)
    for _ in range(GAUSS_NEWTON_STEPS):
        # A curve that is e^30 times the largest force is not a pulse.
        curve = np.exp(np.clip(powers @ p, -700.0, math.log(y.max()) + 30.0))
        p = p + _least_squares_map(powers * curve[:, np.newaxis]) @ (y - curve)
    exponent = powers @ p
    second = polynomial.polyder(p, 2)
    turns = _real_roots(polynomial.polyder(p), powers[:, 1])
    tops = [at for at in turns if polynomial.polyval(at, second) < 0.0]
    if not tops:
        return None
    at = float(max(tops, key=lambda at: polynomial.polyval(at, p)))
    # A fit whose curve reaches e times the largest sample has not converged.
    if not max(exponent.max(), polynomial.polyval(at, p)) < math.log(y.max()) + 1.0:
        return None
    curve = np.exp(exponent)
    by_sample = _least_squares_map(powers * curve[:, np.newaxis])
    k = np.arange(degree + 1)
    height = math.exp(polynomial.polyval(at, p))
    # d(height) = height sum at^k dp_k; d(position) = -(sum k at^(k-1) dp_k)/(second derivative of
    # the exponent)
    height_weights = height * at**k @ by_sample
    position_weights = (
        -scale * (k[1:] * at ** k[:-1]) @ by_sample[1:] / polynomial.polyval(at, second)
    )
    deviations = [
        _deviation_of_sum(row, y - curve, n - degree - 1, noise)
        for row in (position_weights, height_weights)
    ]
    return _LocalFit(
        scale,
        (centre + at * scale, height),
        (deviations[0], deviations[1]),
        near.start,
        (position_weights, height_weights),
        curve,
    )


def _least_squares_map(columns: np.ndarray) -> np.ndarray:
    """Return the linear map from samples to least-squares parameters."""
    q, r = np.linalg.qr(columns)
    return (
        np.asarray(np.linalg.solve(r, q.T))
        if np.abs(np.diag(r)).min() > 1e-12 * np.abs(r).max()
        else np.linalg.pinv(columns)
    )


def _flank(
    force: np.ndarray, level: float, near: slice, centre: float, noise: Noise
) -> _LocalFit | None:
    """Fit a polynomial; return its crossing of a level nearest to the middle.

    Also return its slope there.
    """
    y, n, degree = force[near] - level, near.stop - near.start, FLANK_DEGREE
    if n < degree + 2:
        return None
    scale, powers = _scaled(near, centre, degree)
    by_sample = _least_squares_map(powers)
    p = by_sample @ y
    places = _real_roots(p, powers[:, 1])
    if not len(places):
        return None
    at = float(min(places, key=abs))
    slope = float(polynomial.polyval(at, polynomial.polyder(p)))
    position_weights = (
        -scale / slope * (at ** np.arange(degree + 1) @ by_sample)
        if slope
        else np.full(n, math.inf)
    )
    deviation = _deviation_of_sum(position_weights, y - powers @ p, n - degree - 1, noise)
    values = (centre + at * scale, slope / scale)
    return _LocalFit(scale, values, (deviation, math.nan), near.start, (position_weights,))


def _deviation_of_sum(row: np.ndarray, missed: np.ndarray, free: int, noise: Noise) -> float:
    """Return the standard deviation of a weighted sum of samples.

    It follows from the noise, or from the misfit of a curve if that is larger.
    """
    scatter = float(np.linalg.norm(missed)) / math.sqrt(free)
    return max(noise.of_sum(row), scatter * float(np.linalg.norm(row)))


def _through_three(force: np.ndarray, i: int, noise: Noise) -> _LocalFit:
    """Return the parabola of `analysis.first_pulse` about a largest sample.

    Newton's remainder of an interpolation at -1, 0, 1 is (t^3 - t)/6 times the third difference.
    Within half a sample, it is at most 1/16 of that difference, and its derivative at most 1/6. The
    position is the slope divided by the second difference.
    """
    height, position = map(float, vertex(np.arange(i - 1.0, i + 2.0), force[i - 1 : i + 2]))
    second = abs(float(force[i - 1] - 2.0 * force[i] + force[i + 1]))
    third = float(np.abs(np.diff(force[max(i - 2, 0) : i + 3], 3)).max(initial=0.0))
    certain_second = second - 3.0 * noise.of_sum(np.array([1.0, -2.0, 1.0]))
    slope = noise.of_sum(np.array([-0.5, 0.0, 0.5]))
    off = math.hypot(slope, third / 6.0) / certain_second if certain_second > 0.0 else math.inf
    height_weights = np.array([0.0, 1.0, 0.0])
    position_weights = np.array([-0.5, 0.0, 0.5]) / second if second > 0.0 else np.zeros(3)
    sizes = (off, math.hypot(noise.sample, third / 16.0))
    return _LocalFit(1.0, (position, height), sizes, i - 1, (position_weights, height_weights))


def _through_two(force: np.ndarray, level: float, i: int, noise: Noise) -> _LocalFit:
    """Return the line between two samples, as in `analysis.first_pulse`.

    Its remainder is at most 1/8 of the second difference.
    """
    slope = float(force[i + 1] - force[i])
    second = float(np.abs(np.diff(force[max(i - 1, 0) : i + 3], 2)).max(initial=0.0))
    position = i + (level - float(force[i])) / slope
    position_weights = np.array([position - i - 1.0, i - position]) / slope
    sizes = (math.hypot(noise.sample, second / 8.0) / abs(slope), math.nan)
    return _LocalFit(1.0, (position, slope), sizes, i, (position_weights,))
