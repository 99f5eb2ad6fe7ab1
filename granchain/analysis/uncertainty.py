"""Peak, time of the peak and crossings of a level from noisy samples: curves fitted to a stretch
around the place, by least squares.

Around its top a pulse is nearly the exponential of a polynomial: sech^2 and cos^6, the shapes of
solitary waves, are one of degree two but for a hundredth (Nesterenko 1983, doi:10.1007/BF00905892);
a steep front with a long tail needs the odd terms. How long a stretch is fitted is left to the
samples, as in Lepski's method (Goldenshluger & Nemirovski 1997, Math. Methods Statist. 6, 135):
short ones feel noise, long ones the shape of the pulse. The uncertainty of each has these two
parts, and that with the smallest is taken:

* noise: parameters that are a linear map G of the samples have the covariance G C G^T (JCGM
100:2008, sec. 5.2,
  doi:10.59161/JCGM100-2008E). Where the curve misses the samples by more than noise, the excess
  counts as noise (Birge 1932, doi:10.1103/PhysRev.40.207);
* shape: an error of order l^p in the length l of the stretch makes the results of lengths l and r l
  differ by (r^p - 1) times the error of the shorter (Richardson 1911, doi:10.1098/rsta.1911.0009),
  where p is known; and by no more than noise those of a long stretch, where its shape is right, and
  of all shorter ones (Lepski).

What the numbers here are worth is measured on synthetic sensors with pulses of every law, see
docs/reliability.md, N12.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.polynomial import polynomial

from granchain.analysis.definition import vertex
from granchain.analysis.noise import Noise

# Half lengths of the stretches, in parts of the time from the top to the nearer half height: each
# 1/sqrt(2) of the one before.
FITTED_LENGTHS = tuple(2.0 ** (0.5 - 0.5 * i) for i in range(11))
# Degree of the polynomial in the exponent, and of that through a flank: the lowest with an odd term
# beyond the first, and with a curvature.
TOP_DEGREE, FLANK_DEGREE = 3, 2
# Order of the error of the shape: of a smooth pulse 4 by Taylor's series, the first term that the
# curves have not being two beyond their degree or even. Of skew pulses it is 1.5 where a stretch is
# longer than so many times the way to the half height, and 3 to 5 below (measured: hertz, flores,
# ma-liu).
LONG_ORDER, LONG = 1.5, 1.2
SHAPE_ORDER = 3.0
# Stretches are compared where the longer one is from 1.25 to 3 times as long.
LENGTH_RATIOS = (1.25, 3.0)
# Standard deviations of what two estimates differ by: a longer stretch that differs from a shorter
# one by more has not the shape of the pulse. Of pulses with a kink before their top (jankowski),
# 1 % of the places are then off by more than 5 standard errors, and 30 % without.
NO_NOISE = 1.5
# One difference of two estimates may be small by chance: what all estimates differ by that are up
# to so many times less sure is covered.
ALIKE_UNCERTAIN = 1.75
# No kink of a top between two samples is seen: its place is known to this part of an interval at
# best.
LEAST_PLACE = 0.01
# A curve that misses the samples by so many times the noise has not the shape of the pulse: where
# the force is below its peak by less than that, a kink may be the top. Part of that stretch which
# counts as a standard deviation: six of them reach its ends.
MISFIT, HIDDEN_KINK = 2.0, 0.17
# What a curve misses a corner by is of order 1 in the length of its stretch, and of order 4 for a
# smooth pulse, by Taylor's series; of the pulses of hertz and flores of order 2.0 to 3.9, of the
# lower ones over long stretches (measured). Below this order there is a corner, where that is so
# many standard deviations of a mean square sure, one in a thousand by chance; it is looked for in
# stretches up to so many times as long as the one that is taken: the next longer one.
CORNER_ORDER, CORNER_SURE, NEXT_LONGER = 2.0, 3.0, 2.25
# A corner in the middle stands out of the curve by this part of what that misses the samples by:
# |x| from -1 to 1 less its parabola by least squares, 3/16 + 15/16 x^2, is 3/16 at 0, and its mean
# square 1/192.
CORNER_HEIGHT = math.sqrt(27.0 / 4.0)
# A sample, or the mean of two, that is so many standard deviations above the curve belongs to
# another top: of Gaussian noise, one of two thousand is. No curve is better than the last number,
# in parts of the peak.
UNEXPLAINED, EXACT = 3.3, 1e-4
# What no sample shows: a Gaussian pulse has the fourth difference 3 s^2/F at its peak F, s the
# second, and a parabola through three samples is off by 1/128 of the fourth difference half way
# between two (Newton's remainder t^2 (t^2 - 1)/24 at t = 1/2): 0.023 s^2/F. Skew pulses are off by
# more: four times as much covers.
BETWEEN_SAMPLES = 0.1
# Steps of Gauss and Newton, after which parameters found from logarithms of the samples move by no
# part of their uncertainty.
GAUSS_NEWTON_STEPS = 4


class Number(NamedTuple):
    """A measured number and its uncertainty, one standard deviation; nan where it is withheld."""

    value: float
    uncertainty: float


WITHHELD = Number(math.nan, math.nan)


class Weights(NamedTuple):
    """How a number depends on the samples: by so much on each, from the first of them on."""

    start: int
    row: np.ndarray

    def added_to(self, total: np.ndarray, factor: float) -> None:
        """Add so many times these to those of all samples."""
        total[self.start : self.start + len(self.row)] += factor * self.row


class _LocalFit(NamedTuple):
    """One estimate: half length of its stretch [samples]; the place and what is read there, the
    peak or the slope, and what noise makes of each; the first sample of the stretch, how place and
    peak depend on its samples, and the curve of a curved one."""

    length: float
    values: tuple[float, float]
    noise: tuple[float, float]
    start: int
    rows: tuple[np.ndarray, ...]
    curve: np.ndarray = np.empty(0)


def _fits_about(
    fitted: Callable[[slice, float], _LocalFit | None],
    place: float,
    reach: float,
    shares: Sequence[float],
    count: int,
) -> list[_LocalFit]:
    """Curves through ever shorter stretches of so many samples, each about the place of the last
    one."""
    fits: list[_LocalFit] = []
    for share in shares:
        near = _samples_near(count, place, share * reach)
        if fits and near.stop - near.start >= round(2.0 * fits[-1].length):
            continue
        fit = fitted(near, place)
        if fit is not None:
            fits.append(fit)
            place = fit.values[0]
    return fits


def _surest(fits: Sequence[_LocalFit], which: int, noise: Noise, reach: float) -> Number:
    """Of estimates over ever shorter stretches, the one with the smallest uncertainty, which
    covers the others of nearly the same."""
    # What noise makes of an estimate grows where samples are left out (Gauss and Markov): a short
    # stretch that seems surer takes a bump of the noise for the pulse.
    by_rows = [noise.of_sum(fit.rows[which]) for fit in fits]
    by_noise = np.fmax([fit.noise[which] for fit in fits], np.fmax.accumulate(by_rows))
    shape, compared = [0.0] * len(fits), [False] * len(fits)
    for k, fit in enumerate(fits):
        for i, longer in enumerate(fits[:k]):
            ratio = longer.length / fit.length
            if LENGTH_RATIOS[0] <= ratio <= LENGTH_RATIOS[1]:
                apart, of_both = _apart(longer, fit, which, noise)
                order = LONG_ORDER if longer.length > LONG * reach else SHAPE_ORDER
                own = _beyond(apart, of_both) / (ratio**order - 1.0)
                shape[k], compared[k] = max(shape[k], own), True
                if math.isfinite(fit.noise[which]):
                    shape[i] = max(shape[i], _beyond(apart, NO_NOISE * of_both))
    # The longest stretches have none to be compared with; two and three samples have the remainder
    # of their interpolation.
    found = [
        Number(fit.values[which], math.hypot(by_noise[k], shape[k] if fit.length > 1.0 else 0.0))
        for k, fit in enumerate(fits)
        if compared[k] or fit.length <= 1.0
    ]
    if not found:
        return WITHHELD
    best = min(found, key=lambda one: one.uncertainty)
    if not math.isfinite(best.uncertainty):
        return WITHHELD
    # An estimate that is q times less sure may differ by q times as much.
    apart_by = [
        abs(one.value - best.value) * best.uncertainty / one.uncertainty
        for one in found
        if 0.0 < one.uncertainty <= ALIKE_UNCERTAIN * best.uncertainty
    ]
    return Number(best.value, max([best.uncertainty, *apart_by]))


def _apart(longer: _LocalFit, fit: _LocalFit, which: int, noise: Noise) -> tuple[float, float]:
    """What two estimates differ by, and the noise of that."""
    first = min(longer.start, fit.start)
    weights = np.zeros(max(one.start + len(one.rows[which]) for one in (longer, fit)) - first)
    for one, sign in ((longer, 1.0), (fit, -1.0)):
        Weights(one.start - first, one.rows[which]).added_to(weights, sign)
    return abs(longer.values[which] - fit.values[which]), noise.of_sum(weights)


def _beyond(difference: float, by_noise: float) -> float:
    """Of a difference, what is not noise: its square has the sum of both squares as its mean."""
    return math.sqrt(max(difference**2 - by_noise**2, 0.0))


def top_of(
    force: np.ndarray, top: float, reach: float, noise: Noise
) -> tuple[Number, Number, Weights]:
    """Peak of a pulse [N], its place [samples], and what the peak depends on.

    Parameters
    ----------
    force : array (n,)
        [N].
    top : float
        Place near the peak [samples].
    reach : float
        From there to the nearer half height [samples].
    noise : Noise
    """
    fits = _fits_about(
        lambda near, place: _exponential(force, near, place, noise),
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
    place, peak = (_surest(fits, which, noise, reach) for which in (0, 1))
    if second:
        between = BETWEEN_SAMPLES * second**2 / max(float(force[i]), second)
        peak = Number(peak.value, math.hypot(peak.uncertainty, between))
    # a small kink may be the top; from the half height on the force rises as a parabola, about
    away, hidden = 0.0, 0.0
    for fit in fits:
        if fit.values[0] == place.value and len(fit.curve):
            size = max(noise.sample, EXACT * peak.value)
            of_top = force[fit.start : fit.start + len(fit.curve)]
            off = of_top - fit.curve
            # samples as high as the peak, which the curve does not explain
            pairs = np.convolve(off, [math.sqrt(0.5)] * 2)
            strange = np.maximum.reduce([off, pairs[:-1], pairs[1:]]) > UNEXPLAINED * size
            high = strange & (of_top > peak.value - 2.0 * math.hypot(size, peak.uncertainty))
            away = float(np.abs(fit.start + np.flatnonzero(high) - place.value).max(initial=0.0))
            missed = _misfit(fit, force)
            corner = CORNER_HEIGHT * _corner(fits, fit.length, force, noise)
            below = max(missed if missed > MISFIT * noise.sample else 0.0, corner)
            if below:
                hidden = reach * math.sqrt(2.0 * below / max(peak.value, below))
    alone = math.hypot(place.uncertainty, LEAST_PLACE)
    at = Number(place.value, max(alone, HIDDEN_KINK * hidden, away / 3.0))
    return peak, at, _weights(fits, peak.value, 1)


def _misfit(fit: _LocalFit, force: np.ndarray) -> float:
    """What a curve misses its samples by, root mean square [N]."""
    off = force[fit.start : fit.start + len(fit.curve)] - fit.curve
    return float(np.linalg.norm(off)) / math.sqrt(len(off) - TOP_DEGREE - 1)


def _corner(fits: Sequence[_LocalFit], length: float, force: np.ndarray, noise: Noise) -> float:
    """What a corner that noise hides makes curves miss the samples by, over stretches about as long
    as this one [N]; 0 where the shorter of two misses as much less as it does of a smooth pulse."""
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
                sure = CORNER_SURE * math.sqrt(2.0 / free) * (variance + smooth)
                if excess[k] - smooth > sure:
                    most = max(most, math.sqrt(excess[k]))
    return most


def _weights(fits: Sequence[_LocalFit], value: float, which: int) -> Weights:
    """Of the estimate that was taken."""
    for fit in fits:
        if fit.values[which] == value:
            return Weights(fit.start, fit.rows[which])
    return Weights(0, np.empty(0))


def crossing_of(
    force: np.ndarray, level: float, place: float, reach: float, noise: Noise
) -> tuple[Number, float, Weights]:
    """Where a flank passes a level [samples], its slope there [N a sample], and what the place
    depends on.

    Parameters
    ----------
    force : array (n,)
        [N].
    level : float
        [N].
    place : float
        Near the crossing [samples].
    reach : float
        From the crossing to the top [samples].
    noise : Noise
    """
    fits = _fits_about(
        lambda near, place: _flank(force, level, near, place, noise),
        place,
        reach,
        FITTED_LENGTHS[3:],
        len(force),
    )
    i = math.floor(fits[-1].values[0] if fits else place)
    if 0 <= i < len(force) - 1 and force[i] != force[i + 1]:
        fits.append(_through_two(force, level, i, noise))
    found = _surest(fits, 0, noise, reach)
    slopes = [fit.values[1] for fit in fits if fit.values[0] == found.value] or [math.nan]
    return found, slopes[-1], _weights(fits, found.value, 0)


def _samples_near(count: int, place: float, half: float) -> slice:
    """Samples up to a distance from a place."""
    return slice(max(0, math.ceil(place - half)), min(count, math.floor(place + half) + 1))


def _scaled(near: slice, centre: float, degree: int) -> tuple[float, np.ndarray]:
    """Half length of a stretch, and the powers of the places in it in that unit."""
    scale = 0.5 * (near.stop - near.start)
    x = (np.arange(near.start, near.stop) - centre) / scale
    return scale, np.vander(x, degree + 1, increasing=True)


def _real_roots(p: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Where a polynomial is 0 within a stretch."""
    roots = polynomial.polyroots(p) if p[-1] else np.empty(0)
    real = roots[np.abs(roots.imag) < 1e-9].real
    return real[(real >= x[0]) & (real <= x[-1])]


def _exponential(force: np.ndarray, near: slice, centre: float, noise: Noise) -> _LocalFit | None:
    """Place of the largest value of the exponential of a polynomial through samples, and that."""
    y, n, degree = force[near], near.stop - near.start, TOP_DEGREE
    if n < degree + 2 or not y.max() > 0.0:
        return None
    scale, powers = _scaled(near, centre, degree)
    # To begin with, the logarithms, weighted with the force: an error of the force is one of its
    # logarithm times the force.
    above = np.maximum(y, 0.05 * y.max())
    p = _by_sample(powers * above[:, np.newaxis]) @ (np.log(above) * above)
    for _ in range(GAUSS_NEWTON_STEPS):
        # e^30 of the largest force is no pulse any more.
        curve = np.exp(np.clip(powers @ p, -700.0, math.log(y.max()) + 30.0))
        p = p + _by_sample(powers * curve[:, np.newaxis]) @ (y - curve)
    exponent = powers @ p
    second = polynomial.polyder(p, 2)
    turns = _real_roots(polynomial.polyder(p), powers[:, 1])
    tops = [at for at in turns if polynomial.polyval(at, second) < 0.0]
    if not tops:
        return None
    at = float(max(tops, key=lambda at: polynomial.polyval(at, p)))
    # A curve that is e times the largest sample, at a sample or between, has not converged.
    if not max(exponent.max(), polynomial.polyval(at, p)) < math.log(y.max()) + 1.0:
        return None
    curve = np.exp(exponent)
    by_sample = _by_sample(powers * curve[:, np.newaxis])
    k = np.arange(degree + 1)
    height = math.exp(polynomial.polyval(at, p))
    # d(height) = height sum at^k dp_k; d(place) = -(sum k at^(k-1) dp_k)/(second derivative of the
    # exponent)
    of_height = height * at**k @ by_sample
    of_place = -scale * (k[1:] * at ** k[:-1]) @ by_sample[1:] / polynomial.polyval(at, second)
    deviations = [
        _deviation(row, y - curve, n - degree - 1, noise) for row in (of_place, of_height)
    ]
    return _LocalFit(
        scale,
        (centre + at * scale, height),
        (deviations[0], deviations[1]),
        near.start,
        (of_place, of_height),
        curve,
    )


def _by_sample(columns: np.ndarray) -> np.ndarray:
    """The linear map from samples to least-squares parameters."""
    q, r = np.linalg.qr(columns)
    return (
        np.asarray(np.linalg.solve(r, q.T))
        if np.abs(np.diag(r)).min() > 1e-12 * np.abs(r).max()
        else np.linalg.pinv(columns)
    )


def _flank(
    force: np.ndarray, level: float, near: slice, centre: float, noise: Noise
) -> _LocalFit | None:
    """Where a polynomial through samples passes a level, nearest to their middle, and its slope
    there."""
    y, n, degree = force[near] - level, near.stop - near.start, FLANK_DEGREE
    if n < degree + 2:
        return None
    scale, powers = _scaled(near, centre, degree)
    by_sample = _by_sample(powers)
    p = by_sample @ y
    places = _real_roots(p, powers[:, 1])
    if not len(places):
        return None
    at = float(min(places, key=abs))
    slope = float(polynomial.polyval(at, polynomial.polyder(p)))
    of_place = (
        -scale / slope * (at ** np.arange(degree + 1) @ by_sample)
        if slope
        else np.full(n, math.inf)
    )
    deviation = _deviation(of_place, y - powers @ p, n - degree - 1, noise)
    values = (centre + at * scale, slope / scale)
    return _LocalFit(scale, values, (deviation, math.nan), near.start, (of_place,))


def _deviation(row: np.ndarray, missed: np.ndarray, free: int, noise: Noise) -> float:
    """Standard deviation of a sum of samples with these weights: by the noise, or by what a
    curve misses them by where that is more."""
    scatter = float(np.linalg.norm(missed)) / math.sqrt(free)
    return max(noise.of_sum(row), scatter * float(np.linalg.norm(row)))


def _through_three(force: np.ndarray, i: int, noise: Noise) -> _LocalFit:
    """The parabola of `analysis.peak` about a largest sample.

    Newton's remainder of an interpolation at -1, 0, 1 is (t^3 - t)/6 times the third difference:
    within half a sample at most 1/16 of it, its derivative at most 1/6 of it. The place is the
    slope over the second difference.
    """
    height, place = vertex(np.arange(i - 1.0, i + 2.0), force[i - 1 : i + 2])
    second = abs(float(force[i - 1] - 2.0 * force[i] + force[i + 1]))
    third = float(np.abs(np.diff(force[max(i - 2, 0) : i + 3], 3)).max(initial=0.0))
    sure = second - 3.0 * noise.of_sum(np.array([1.0, -2.0, 1.0]))
    slope = noise.of_sum(np.array([-0.5, 0.0, 0.5]))
    off = math.hypot(slope, third / 6.0) / sure if sure > 0.0 else math.inf
    of_height = np.array([0.0, 1.0, 0.0])
    of_place = np.array([-0.5, 0.0, 0.5]) / second if second > 0.0 else np.zeros(3)
    sizes = (off, math.hypot(noise.sample, third / 16.0))
    return _LocalFit(1.0, (place, height), sizes, i - 1, (of_place, of_height))


def _through_two(force: np.ndarray, level: float, i: int, noise: Noise) -> _LocalFit:
    """The line between two samples, as `analysis.pulse_width`; its remainder is at most 1/8 of
    the second difference."""
    slope = float(force[i + 1] - force[i])
    second = float(np.abs(np.diff(force[max(i - 1, 0) : i + 3], 2)).max(initial=0.0))
    place = i + (level - float(force[i])) / slope
    of_place = np.array([place - i - 1.0, i - place]) / slope
    sizes = (math.hypot(noise.sample, second / 8.0) / abs(slope), math.nan)
    return _LocalFit(1.0, (place, slope), sizes, i, (of_place,))
