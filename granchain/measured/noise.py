"""Noise and baseline of an instrument, from the samples before the pulse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

# Smallest number of samples before the pulse with which noise and baseline are distinguishable.
LEAST_QUIET = 8
# Largest number of samples before the pulse that are used, those next to it (our choice).
MOST_QUIET = 800
# Samples farther from the line than this many standard deviations are disturbances.
OUTLYING = 4.5
# Median absolute value of a Gaussian number in standard deviations.
MEDIAN_SIZE = 0.6744897501960817
# Largest fraction of a variance that a fitted line removes (our choice).
LINE_SHARE = 0.5
# Autoregression: smallest number of samples per coefficient (our choice), number of samples in a
# response, and fraction of its first value at which the response is truncated.
LEAST_OF_ORDER, MEMORY_SAMPLES, FORGOTTEN = 6, 2048, 1e-3
# Largest correlation of neighbouring samples (our choice).
MOST_ALIKE = 0.99
# A sine is searched if it accounts for this fraction of the variance about a straight line (our
# choice). The search uses this many times as many frequencies as there are samples.
SINE_SHARE, STEPS_OF_SINE = 0.5, 4
# A model whose criterion is this much higher than that of another has no support (Burnham &
# Anderson 2002, Model selection and multimodel inference, sec. 2.6, doi:10.1007/b97636).
NO_SUPPORT = 10.0


class Noise(NamedTuple):
    """Noise of an instrument: white noise through an autoregression.

    Attributes
    ----------
    size : float
        Standard deviation of the white noise [N].
    coefficients : array (order + 1,)
        Coefficients of a sample and of the samples before it. The first is 1. The weighted sum is
        the white noise.
    response : array (n,)
        Response to one sample of white noise.
    """

    size: float
    coefficients: np.ndarray = np.ones(1)
    response: np.ndarray = np.ones(1)

    @property
    def sample(self) -> float:
        """Standard deviation of one sample [N]."""
        return self.size * float(np.linalg.norm(self.response))

    @property
    def statistical_inefficiency(self) -> float:
        """Number of samples per degree of freedom of a variance estimated from them."""
        from scipy.signal import fftconvolve

        row = fftconvolve(self.response, self.response[::-1])[len(self.response) - 1 :]
        return statistical_inefficiency(row)

    def of_sum(self, weights: np.ndarray) -> float:
        """Return the standard deviation of a weighted sum of consecutive samples [N]."""
        from scipy.signal import fftconvolve

        return self.size * float(np.linalg.norm(fftconvolve(weights, self.response)))

    def draws(self, white: np.ndarray) -> np.ndarray:
        """Return noise [N] from white noise of size 1, both (draw, sample)."""
        from scipy.signal import lfilter

        return np.asarray(self.size * lfilter([1.0], self.coefficients, white, axis=1))


def statistical_inefficiency(covariance: np.ndarray) -> float:
    """Return the number of samples per degree of freedom of a variance.

    It follows from the autocovariance (Bayley & Hammersley 1946, doi:10.2307/2983560).
    """
    return 2.0 * float(np.sum((covariance / covariance[0]) ** 2)) - 1.0


class Autoregression(NamedTuple):
    """Autoregressive model of the noise in one or several stretches.

    Attributes
    ----------
    coefficients : array (order + 1,)
        Coefficients of a sample and the samples before it. The first is 1. The weighted sum is
        white noise.
    variances : list of float
        Variance of this white noise in each stretch [N^2].
    criterion : float
        Akaike criterion over all samples. Of two models, the one with the lower value is better.
    """

    coefficients: np.ndarray
    variances: list[float]
    criterion: float

    def autocovariance(self, stretch: int, count: int) -> np.ndarray:
        """Return the covariance of two samples of a stretch versus their distance [N^2]."""
        from scipy.signal import fftconvolve

        response = self.response(MEMORY_SAMPLES + count)
        both = fftconvolve(response, response[::-1])
        return np.asarray(self.variances[stretch] * both[len(response) - 1 :][:count])

    def response(self, count: int) -> np.ndarray:
        """Return the response of the model to one sample, over `count` samples."""
        from scipy.signal import lfilter

        one = np.zeros(count)
        one[0] = 1.0
        return np.asarray(lfilter([1.0], self.coefficients, one))


def autoregression(stretches: Sequence[np.ndarray], doubt: float = 0.0) -> Autoregression:
    """Fit an autoregression to stretches of noise by Burg's recursion.

    The stretches may differ in size.

    The order is the one with the lowest Akaike criterion. Burg 1975, Maximum entropy spectral
    analysis, thesis, Stanford; Kay & Marple 1981, doi:10.1109/PROC.1981.12184.

    Parameters
    ----------
    stretches : sequence of array (n,)
        Samples without a force, relative to their baseline [N].
    doubt : float
        Amount by which the criterion must be below that of white noise.
    """
    from scipy.signal import lfilter

    counts = [len(one) for one in stretches]
    n, several = sum(counts), len(counts) > 1
    # scale several stretches so that none outweighs the others
    parts = [one / (float(np.std(one)) or 1.0) if several else one for one in stretches]
    variance = sum(float(one @ one) for one in parts) / n if n else 0.0
    best, least = (np.ones(1), variance), math.inf if variance else -math.inf
    a, both = np.ones(1), [(one[1:], one[:-1]) for one in parts]
    for order in range(min(counts, default=0) // LEAST_OF_ORDER + 1):
        # corrected for few samples, Hurvich & Tsai 1989, doi:10.1093/biomet/76.2.297
        room = (n + order) / (n - order - 2)
        criterion = n * (math.log(variance) + room) if variance > 0.0 else math.inf
        criterion += doubt if order else 0.0
        if criterion < least:
            # variance of the prediction error with coefficients fitted to the same samples (Akaike
            # 1969, doi:10.1007/BF02532251)
            least, best = criterion, (a, variance * (n + order) / (n - order))
        power = sum(float(ahead @ ahead + back @ back) for ahead, back in both)
        if not power > 0.0 or not variance > 0.0:
            break
        reflection = -2.0 * sum(float(ahead @ back) for ahead, back in both) / power
        a = np.append(a, 0.0) + reflection * np.append(0.0, a[::-1])
        variance *= 1.0 - reflection**2
        both = [
            ((ahead + reflection * back)[1:], (back + reflection * ahead)[:-1])
            for ahead, back in both
        ]
    a, variance = best
    if not several:
        return Autoregression(a, [variance], least)
    order = len(a) - 1
    if order == 1:
        # samples relative to their mean seem less correlated, by (1 + 3 phi)/n of each stretch
        # (Orcutt & Winokur 1969, doi:10.2307/1909199)
        a = np.array([1.0, max((n * a[1] - len(counts)) / (n - 3.0 * len(counts)), -MOST_ALIKE)])
    # prediction errors of each stretch, which give its variance
    left = [
        np.concatenate([lfilter(a, [1.0], one)[order:], lfilter(a, [1.0], one[::-1])[order:]])
        for one in stretches
    ]
    variances = [float(np.mean(one**2)) for one in left]
    sizes = sum(count * math.log(one) for count, one in zip(counts, variances, strict=True) if one)
    room = n * (n + order) / (n - order - 2)
    return Autoregression(a, [one * (n + order) / (n - order) for one in variances], sizes + room)


class Sine(NamedTuple):
    """Sine in samples without a force.

    Attributes
    ----------
    samples, rest : array (n,)
        Values of the sine, or zeros if there is none, and residuals without the sine and the
        straight line [N].
    turn, turn_error : float
        Phase advance per sample and its standard deviation [rad].
    """

    samples: np.ndarray
    rest: np.ndarray
    turn: float = 0.0
    turn_error: float = 0.0

    def autocovariance(self, count: int) -> np.ndarray:
        """Return the covariance of two samples of the sine versus their distance [N^2].

        The phase is unknown. The result is a cosine with half the squared amplitude, averaged over
        the normal distribution of the phase advance.
        """
        apart = np.arange(count)
        known = np.exp(-0.5 * (self.turn_error * apart) ** 2)
        return np.asarray(np.mean(self.samples**2) * np.cos(self.turn * apart) * known)


def sine_of(quiet: np.ndarray, turn: float) -> Sine:
    """Fit a sine with a given phase advance and a straight line by least squares.

    The error of the phase advance is that of Gauss and Newton, with all other parameters free.
    """
    n = len(quiet)
    x = np.arange(n) - 0.5 * (n - 1)
    ahead, behind = np.cos(turn * x), np.sin(turn * x)
    columns = np.column_stack([np.ones(n), x, ahead, behind])
    inverse = np.linalg.pinv(columns)
    found = inverse @ quiet
    rest = quiet - columns @ found
    by_turn = x * (found[3] * ahead - found[2] * behind)
    alone = by_turn - columns @ (inverse @ by_turn)
    # five parameters: a line, two amplitudes, and the phase advance
    variance = float(rest @ rest) / max(n - 5, 1)
    error = math.sqrt(variance / float(alone @ alone)) if alone.any() else math.inf
    return Sine(columns[:, 2:] @ found[2:], rest, turn, error)


def sine_in(quiet: np.ndarray) -> Sine:
    """Return the sine in samples without a force, with at least one period in them.

    The sine is fitted together with a straight line. It is zero if an autoregression alone
    describes the samples nearly as well.

    The corrected Akaike criterion decides. For the search over frequencies, it includes the
    expected maximum over their number.

    Parameters
    ----------
    quiet : array (n,)
        Samples without a force [N].
    """
    from scipy.optimize import minimize_scalar
    from scipy.signal import detrend

    n = len(quiet)
    off, none = detrend(quiet), Sine(np.zeros(n), quiet)
    power_at = np.abs(np.fft.rfft(off, STEPS_OF_SINE * n)) ** 2
    power_at[:STEPS_OF_SINE] = 0.0
    highest = int(np.argmax(power_at))
    # a sine of amplitude a has the sum of squares a^2 n/2, and the power (a n/2)^2 at its frequency
    if not 2.0 * power_at[highest] / n > SINE_SHARE * float(off @ off):
        return none
    # a spectral line is two frequency steps of n samples wide
    step = 2.0 * math.pi / n
    near = highest / STEPS_OF_SINE * step
    turn = minimize_scalar(
        lambda turn: float(np.sum(sine_of(quiet, turn).rest ** 2)),
        bounds=(max(near - 0.5 * step, step), near + 0.5 * step),
        method="bounded",
    )
    sine = sine_of(quiet, float(turn.x))
    alone, beside = autoregression([off]), autoregression([sine.rest])
    order = len(beside.coefficients) - 1
    # three more parameters: two amplitudes and a frequency
    rooms = [(n + k) / (n - k - 2) for k in (order, order + 3)]
    more = n * (rooms[1] - rooms[0]) + 2.0 * math.log(0.5 * n)
    return sine if beside.criterion + more + NO_SUPPORT < alone.criterion else none


def sines_of_common_source(stretches: Sequence[np.ndarray]) -> list[Sine]:
    """Return the sines of several sensors with the phase advance of the others.

    The phase advance is the weighted mean of the other sensors. Its error follows from the
    agreement of all sensors (Birge 1932, doi:10.1103/PhysRev.40.207), so it covers the estimate of
    the sensor itself. If only one sensor has a sine, its estimate is used with twice the error.
    """
    sines = [sine_in(one) for one in stretches]
    weight = np.array([1.0 / one.turn_error**2 if one.turn else 0.0 for one in sines])
    turns = np.array([one.turn for one in sines])
    if np.count_nonzero(turns) < 2:
        return [one._replace(turn_error=2.0 * one.turn_error) for one in sines]
    others = weight.sum() - weight
    turn = (turns @ weight - turns * weight) / others
    off = turns - turns @ weight / weight.sum()
    ratio = max(float(off**2 @ weight) / (np.count_nonzero(turns) - 1), 1.0)
    return [
        sine_of(quiet, float(t))._replace(turn_error=math.sqrt(ratio / w)) if one.turn else one
        for quiet, one, t, w in zip(stretches, sines, turn, others, strict=True)
    ]


def noise_in(quiet: np.ndarray, least: float = 0.0) -> Noise:
    """Return the noise in samples relative to their baseline.

    Parameters
    ----------
    quiet : array (n,)
        Samples relative to their baseline [N].
    least : float
        Smallest standard deviation of one sample [N].
    """
    if len(quiet) < 2 * LEAST_QUIET:
        return Noise(max(least, float(np.linalg.norm(quiet)) / math.sqrt(max(len(quiet) - 2, 1))))
    model = autoregression([quiet])
    variance, response = model.variances[0], model.response(MEMORY_SAMPLES)
    response = response[: int(np.flatnonzero(np.abs(response) > FORGOTTEN)[-1]) + 1]
    # the line has removed a part of the slow noise: correlated samples count as one
    times = float(response.sum() / np.linalg.norm(response)) ** 2
    variance /= 1.0 - min(2.0 * max(times, 1.0) / len(quiet), LINE_SHARE)
    size = max(math.sqrt(variance), least / float(np.linalg.norm(response)))
    return Noise(size, model.coefficients, response)


class Baseline(NamedTuple):
    """Baseline of a sensor, a straight line through the samples before the pulse.

    Attributes
    ----------
    value, slope, middle : float
        Value at the sample `middle` [N], slope [N per sample], and that sample.
    samples : int
        Number of samples before the pulse.
    weights : array (2, samples)
        Weights of the samples, from sample 0 on, in value and slope; 0 for disturbances.
    """

    value: float
    slope: float
    middle: float
    samples: int
    weights: np.ndarray

    def at(self, sample: np.ndarray | float) -> np.ndarray:
        """Return the baseline at samples [N]."""
        return np.asarray(self.value + self.slope * (np.asarray(sample, dtype=float) - self.middle))


NO_BASELINE = Baseline(0.0, 0.0, 0.0, 0, np.zeros((2, 0)))


def baseline_of(quiet: np.ndarray, noise: float) -> Baseline:
    """Fit a line to the samples before the pulse, without disturbances.

    Parameters
    ----------
    quiet : array (n,)
        Forces before the pulse [N].
    noise : float
        Smallest standard deviation of a sample [N].
    """
    n = len(quiet)
    if not n:
        return NO_BASELINE
    x = np.arange(n) - 0.5 * (n - 1)
    used = np.arange(n) >= n - MOST_QUIET
    weights = np.zeros((2, n))
    for _ in range(3):
        columns = np.vander(x[used] - x[used].mean(), 2 if used.sum() >= LEAST_QUIET else 1)[
            :, ::-1
        ]
        weights = np.zeros((2, n))
        weights[: columns.shape[1], used] = np.linalg.pinv(columns)
        middle = float(np.arange(n)[used].mean())
        value, slope = weights @ quiet
        off = np.abs(quiet - value - slope * (np.arange(n) - middle))
        near = off <= OUTLYING * max(noise, float(np.median(off[used])) / MEDIAN_SIZE)
        # the flanks of a disturbance, half as many samples on each side
        ends = np.flatnonzero(np.diff(np.r_[True, near, True].astype(int)))
        for first, last in zip(ends[::2], ends[1::2], strict=True):
            near[max(first - (last - first) // 2, 0) : last + (last - first) // 2] = False
        near &= np.arange(n) >= n - MOST_QUIET
        if near.sum() < LEAST_QUIET or (near == used).all():
            break
        used = near
    return Baseline(float(value), float(slope), middle, n, weights)


def rapid(force: np.ndarray) -> float:
    """Return the size of white noise from the median of third differences [N].

    Third differences almost remove a smooth signal and multiply white noise by sqrt(20).
    """
    return float(np.median(np.abs(np.diff(force, 3)))) / (MEDIAN_SIZE * math.sqrt(20.0))


def step_of(force: np.ndarray) -> float:
    """Return the step of the analogue-to-digital converter [N].

    It is the smallest difference of two samples if values repeat, and 0 otherwise.
    """
    levels = np.unique(force)
    return float(np.diff(levels).min()) if 1 < len(levels) < len(force) // 4 else 0.0
