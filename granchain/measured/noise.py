"""Pulses of a measured trace, found in a smoothed copy with less noise.

The definition is that of `first_pulse`, from 1 % of the largest force until below half of the
running maximum. In a noisy trace, both conditions must be exceeded by more than the noise: a pulse
starts when the force rises above the noise, and ends when the force is below half by more than the
noise. The results for the pulse are computed from the samples, not from the copy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from granchain.analysis.pulse import PULSE_BEGINS, PULSE_ENDS

# Uncertainty margin in standard deviations of the smoothed trace. In ten thousand samples of
# Gaussian noise, none is above 4 except by chance. A pulse must be twice as high as this margin,
# because its height and the level before it may each be wrong by the margin.
DOUBT = 4.0
# A zero-phase filter makes ripples before and after a jump of the force. For orders 1 to 8, they
# stay below this fraction of the jump.
RIPPLES = 0.1
# A trace is smoothed until its largest force is this many standard deviations, or with a Gaussian
# of an eighth of the pulse width. The latter reduces a Gaussian pulse by 4 %: 1/sqrt(1 + 8 ln
# 2/64).
CLEAR, SMOOTHEST = 300.0, 0.125
# A dip between two tops of a pulse can be as narrow as a tenth of the pulse width. The standard
# deviation of a Gaussian of this width is 0.04 of the pulse width (measured: law of Gharib and
# Hurmuzlu). Smoothing with a Gaussian of this fraction of the width preserves nine tenths of its
# depth, 1/sqrt(1 + (1/2)^2).
DIP_SCALE = 0.02
# With fewer samples in the width, a dip between two samples may be deeper than both samples by more
# than noise.
DIP_SAMPLES = 60.0
# Below this fraction of the height, a bump on the rise is not a separate top.
SMALLEST_TOP = 0.1
# Autoregression: smallest number of samples per coefficient (our choice), number of samples in a
# response, and fraction of its first value at which the response is truncated.
LEAST_OF_ORDER, MEMORY_SAMPLES, FORGOTTEN = 6, 4096, 1e-4
# Largest correlation of neighbouring samples (our choice).
MOST_ALIKE = 0.99
# A sine is searched if it accounts for this fraction of the variance about a straight line (our
# choice). The search uses this many times as many frequencies as there are samples.
SINE_SHARE, STEPS_OF_SINE = 0.5, 4
# A model whose criterion is this much higher than that of another has no support (Burnham &
# Anderson 2002, Model selection and multimodel inference, sec. 2.6, doi:10.1007/b97636).
NO_SUPPORT = 10.0
# Below this number of products, sums are faster than transforms, up to a hundred times (measured).
FEW_PRODUCTS = 100_000
# Largest number of pulses found in a trace.
MOST_PULSES = 50
# The search for a ring covers this many pulse widths after a pulse, if they have enough samples. It
# tries these numbers of periods and decays per width, together with a parabola and tails of the
# pulse that have these numbers of decays per width. A ring must explain this fraction of the sum of
# squares without noise, and this multiple of the sum that noise explains (our choice). Of 180
# sensors without a ring, 16 have a motion that explains 0.3 of the sum of squares, and none
# explains 0.6. Of 60 visible rings, 59 explain 0.6 (tests/support/noise_kinds.py).
RING_WIDTHS, RING_SAMPLES = 3.0, 16
RING_PERIODS, RING_DECAYS = np.geomspace(1.7, 8.0, 40), np.array([0.0, 0.2, 0.6, 1.2])
RING_TAILS, RING_SHARE, RING_CLEAR = np.array([0.5, 1.0, 2.0, 4.0]), 0.6, 12.0
# A ring that begins in the pulse is not a sharp spectral line, so its power is averaged over these
# fractions of its phase advance. They are chosen so that the errors cover the true values, see
# docs/reliability.md, N12.
RING_LINES = np.array([0.7, 0.85, 1.0, 1.15, 1.3])
# Largest exponent of the growth of a ring back to the top of the pulse and limits of its amplitude
# there as a fraction of the peak (our choice). A smaller motion may be that of the bead. A larger
# one is a wave, because a ring of this size would bend the rise of the pulse.
RING_GROWTH, RING_LEAST, RING_MOST = 2.0, 1.5e-3, 0.05
# A later pulse that exceeds this fraction of the first pulse ends the ring.
LATER = 0.1


@dataclass(frozen=True, eq=False)
class Noise:
    """Noise of an instrument: white noise of a given size [N] with a linear response.

    `response` is the response to one sample of white noise. It includes filters. If it is empty,
    the noise is white. `ring` is an oscillation of unknown phase that the instrument adds to a
    pulse: its amplitude [N] and its phase advance per sample [rad].
    """

    size: float
    response: np.ndarray
    ring: tuple[float, float] = (0.0, 0.0)

    @property
    def sample(self) -> float:
        """Standard deviation of one sample [N]."""
        return self.of_sum(np.ones(1))

    @property
    def statistical_inefficiency(self) -> float:
        """Number of samples per degree of freedom of a variance estimated from them."""
        from scipy.signal import fftconvolve

        if not len(self.response):
            return 1.0
        row = fftconvolve(self.response, self.response[::-1])[len(self.response) - 1 :]
        return statistical_inefficiency(row)

    def of_sum(self, weights: np.ndarray) -> float:
        """Return the standard deviation of a weighted sum of consecutive samples [N]."""
        # there are no weights if there is no peak or arrival
        if len(weights) and len(self.response) and self.size > 0.0:
            from scipy.signal import fftconvolve

            few = len(weights) * len(self.response) < FEW_PRODUCTS
            by_white = (np.convolve if few else fftconvolve)(weights, self.response)
        else:
            by_white = weights
        of_ring = self._ringing(weights) if self.ring[0] else 0.0
        return math.hypot(self.size * float(np.linalg.norm(by_white)), of_ring)

    def _ringing(self, weights: np.ndarray) -> float:
        """Return the standard deviation that the ring causes in a sum of samples [N]."""
        amplitude, turn = self.ring
        waves = np.exp(1j * np.outer(turn * RING_LINES, np.arange(len(weights))))
        # the mean square of a sine of unknown phase is half of its squared amplitude
        return amplitude * math.sqrt(0.5 * float(np.mean(np.abs(waves @ weights) ** 2)))

    def through(self, response: np.ndarray) -> Noise:
        """Return the noise after a filter with a given response. Empty means no filter."""
        if not len(response):
            return self
        both = np.convolve(self.response, response) if len(self.response) else response
        return Noise(self.size, both, (math.sqrt(2.0) * self._ringing(response), self.ring[1]))

    def smoothed(self, scale: float) -> float:
        """Return the standard deviation of a sample after Gaussian smoothing [N].

        `scale` is the standard deviation of the Gaussian [samples].

        The squares of the weights of a Gaussian sum to 1/(2 sqrt(pi) scale).
        """
        if not scale > 0.0:
            return self.sample
        if not len(self.response):
            white = min(self.size, self.size / math.sqrt(2.0 * math.sqrt(math.pi) * scale))
            damped = math.exp(-0.5 * (self.ring[1] * scale) ** 2)
            return math.hypot(white, damped * self._ringing(np.ones(1)))
        reach = math.ceil(4.0 * scale)
        weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / scale) ** 2)
        return self.of_sum(weights / weights.sum())


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
        Akaike criterion over all samples. The lower the value, the better the model.
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

        impulse = np.zeros(count)
        impulse[0] = 1.0
        return np.asarray(lfilter([1.0], self.coefficients, impulse))


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

    counts = [len(stretch) for stretch in stretches]
    n, several = sum(counts), len(counts) > 1
    # scale several stretches so that none outweighs the others
    scaled = [
        stretch / (float(np.std(stretch)) or 1.0) if several else stretch for stretch in stretches
    ]
    variance = sum(float(stretch @ stretch) for stretch in scaled) / n if n else 0.0
    best, least = (np.ones(1), variance), math.inf if variance else -math.inf
    a, both = np.ones(1), [(stretch[1:], stretch[:-1]) for stretch in scaled]
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
    prediction_errors = [
        np.concatenate(
            [lfilter(a, [1.0], stretch)[order:], lfilter(a, [1.0], stretch[::-1])[order:]]
        )
        for stretch in stretches
    ]
    variances = [float(np.mean(errors**2)) for errors in prediction_errors]
    sizes = sum(
        count * math.log(stretch_variance)
        for count, stretch_variance in zip(counts, variances, strict=True)
        if stretch_variance
    )
    room = n * (n + order) / (n - order - 2)
    return Autoregression(
        a,
        [stretch_variance * (n + order) / (n - order) for stretch_variance in variances],
        sizes + room,
    )


class Sine(NamedTuple):
    """Sine in samples without a force.

    Attributes
    ----------
    samples, residual : array (n,)
        Values of the sine, or zeros if there is none, and residuals without the sine and the
        straight line [N].
    turn, turn_error : float
        Phase advance per sample and its standard deviation [rad].
    """

    samples: np.ndarray
    residual: np.ndarray
    turn: float = 0.0
    turn_error: float = 0.0

    def autocovariance(self, count: int) -> np.ndarray:
        """Return the covariance of two samples of the sine versus their distance [N^2].

        The phase is unknown. The result is a cosine with half the squared amplitude, averaged over
        the normal distribution of the phase advance.
        """
        lags = np.arange(count)
        coherence = np.exp(-0.5 * (self.turn_error * lags) ** 2)
        return np.asarray(np.mean(self.samples**2) * np.cos(self.turn * lags) * coherence)


def sine_of(quiet: np.ndarray, turn: float) -> Sine:
    """Fit a sine with a given phase advance and a straight line by least squares.

    The error of the phase advance is that of Gauss and Newton, with all other parameters free.
    """
    n = len(quiet)
    x = np.arange(n) - 0.5 * (n - 1)
    ahead, behind = np.cos(turn * x), np.sin(turn * x)
    columns = np.column_stack([np.ones(n), x, ahead, behind])
    inverse = np.linalg.pinv(columns)
    coefficients = inverse @ quiet
    residual = quiet - columns @ coefficients
    by_turn = x * (coefficients[3] * ahead - coefficients[2] * behind)
    alone = by_turn - columns @ (inverse @ by_turn)
    # five parameters: a line, two amplitudes, and the phase advance
    variance = float(residual @ residual) / max(n - 5, 1)
    error = math.sqrt(variance / float(alone @ alone)) if alone.any() else math.inf
    return Sine(columns[:, 2:] @ coefficients[2:], residual, turn, error)


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
    # the width of a spectral line is two frequency steps of n samples
    step = 2.0 * math.pi / n
    near = highest / STEPS_OF_SINE * step
    turn = minimize_scalar(
        lambda turn: float(np.sum(sine_of(quiet, turn).residual ** 2)),
        bounds=(max(near - 0.5 * step, step), near + 0.5 * step),
        method="bounded",
    )
    sine = sine_of(quiet, float(turn.x))
    without_sine, with_sine = autoregression([off]), autoregression([sine.residual])
    order = len(with_sine.coefficients) - 1
    # three more parameters: two amplitudes and a frequency
    rooms = [(n + k) / (n - k - 2) for k in (order, order + 3)]
    more = n * (rooms[1] - rooms[0]) + 2.0 * math.log(0.5 * n)
    return sine if with_sine.criterion + more + NO_SUPPORT < without_sine.criterion else none


def sines_of_common_source(stretches: Sequence[np.ndarray]) -> list[Sine]:
    """Return the sines of several sensors with the phase advance of the others.

    The phase advance is the weighted mean of the other sensors. Its error follows from the
    agreement of all sensors (Birge 1932, doi:10.1103/PhysRev.40.207), so it covers the estimate of
    the sensor itself. If only one sensor has a sine, its estimate is used with twice the error.
    """
    sines = [sine_in(quiet) for quiet in stretches]
    weight = np.array([1.0 / sine.turn_error**2 if sine.turn else 0.0 for sine in sines])
    turns = np.array([sine.turn for sine in sines])
    if np.count_nonzero(turns) < 2:
        return [sine._replace(turn_error=2.0 * sine.turn_error) for sine in sines]
    others = weight.sum() - weight
    turn = (turns @ weight - turns * weight) / others
    off = turns - turns @ weight / weight.sum()
    ratio = max(float(off**2 @ weight) / (np.count_nonzero(turns) - 1), 1.0)
    return [
        sine_of(quiet, float(t))._replace(turn_error=math.sqrt(ratio / w)) if sine.turn else sine
        for quiet, sine, t, w in zip(stretches, sines, turn, others, strict=True)
    ]


def noise_from_samples(quiet: np.ndarray, least: float) -> Noise:
    """Return the noise in samples without a force.

    Parameters
    ----------
    quiet : array (n,)
        Samples relative to their baseline [N].
    least : float
        Smallest standard deviation of one sample [N].
    """
    model = autoregression([quiet])
    size = math.sqrt(model.variances[0])
    if len(model.coefficients) == 1:
        return Noise(max(size, least), np.empty(0))
    response = model.response(MEMORY_SAMPLES)
    remembered = np.flatnonzero(np.abs(response) > FORGOTTEN)
    response = response[: int(remembered[-1]) + 1]
    return Noise(max(size, least / float(np.linalg.norm(response))), response)


def ring_in(after: np.ndarray, width: float, back: float, noise: Noise) -> tuple[float, float]:
    """Return the amplitude [N] and the phase advance of the ring behind a pulse; zeros if none.

    The ring is the damped oscillation that explains most of the samples, if it exceeds the noise.

    Parameters
    ----------
    after : array (n,)
        Force behind the pulse, above the baseline [N].
    width : float
        Width of the pulse [samples].
    back : float
        Number of samples from the top of the pulse to the first of these. The amplitude is that at
        the top.
    noise : Noise
    """
    after = after[: math.ceil(RING_WIDTHS * width)]
    turns = 2.0 * math.pi * RING_PERIODS / width
    turns = turns[turns < 0.8 * math.pi]
    if len(after) < RING_SAMPLES or not len(turns):
        return 0.0, 0.0
    t = np.arange(len(after))
    # exponentials for the end of the pulse, and a parabola for the drift of the trace
    tails = np.column_stack([np.vander(t / len(t), 3), np.exp(-np.outer(t, RING_TAILS / width))])
    tails = np.linalg.qr(tails)[0]
    after = after - tails @ (tails.T @ after)
    without_noise = float(after @ after) - len(after) * noise.sample**2
    most, ring = RING_SHARE * without_noise, (0.0, 0.0)
    for decay in RING_DECAYS / width:
        waves = np.exp((1j * turns[:, np.newaxis] - decay) * t)
        pairs = np.stack([waves.real, waves.imag], axis=2)
        pairs = pairs - tails @ (tails.T @ pairs)
        products = pairs.transpose(0, 2, 1) @ after
        sizes = np.linalg.solve(pairs.transpose(0, 2, 1) @ pairs, products[..., np.newaxis])[..., 0]
        explained = (sizes * products).sum(axis=1)
        i = int(np.argmax(explained))
        by_noise = sum(noise.of_sum(wave / np.linalg.norm(wave)) ** 2 for wave in pairs[i].T)
        if explained[i] > max(most, RING_CLEAR * by_noise):
            growth = math.exp(min(float(decay) * back, RING_GROWTH))
            most, ring = float(explained[i]), (growth * float(np.hypot(*sizes[i])), float(turns[i]))
    return ring


class NoisyPulse(NamedTuple):
    """Indices of the start, top, and end of a pulse, and its largest force [N]."""

    start: int
    top: int
    stop: int
    height: float


class Smoothed(NamedTuple):
    """Smoothed trace and all its pulses, in order.

    Attributes
    ----------
    pulses : tuple of NoisyPulse
    smooth : array (n,)
        Smoothed trace [N].
    doubt : float
        Uncertainty margin of a sample of `smooth` [N].
    sharp : array (n,)
        Trace with so little smoothing that no dip between two tops is filled. With few samples, the
        lowest possible force about each sample [N].
    sharp_doubt : float
        Uncertainty margin of a sample of `sharp` [N].
    """

    pulses: tuple[NoisyPulse, ...]
    smooth: np.ndarray
    doubt: float
    sharp: np.ndarray
    sharp_doubt: float


def first_window(force: np.ndarray, level: float, doubt: float) -> slice:
    """Return the samples of the first pulse that starts at a level and ends below half by more than
    a margin [N]."""
    if not force.max(initial=0.0) >= level:
        return slice(0, 0)
    start = int(np.argmax(force >= level))
    after = force[start:]
    fallen = after < PULSE_ENDS * np.maximum.accumulate(after) - doubt
    return slice(start, start + int(np.argmax(fallen)) if fallen.any() else len(force))


def crossing_positions(force: np.ndarray, top: int, height: float) -> tuple[float, float]:
    """Return the positions before and after the top at which a force crosses a height [samples].

    A position is nan if the trace ends before it.
    """
    if force[top] < height:
        return float(top), float(top)
    before, after = np.flatnonzero(force[:top] < height), np.flatnonzero(force[top:] < height)
    positions = []
    for indices, last in ((before, -1), (after + top - 1, 0)):
        i = int(indices[last]) if len(indices) else 0
        share = (height - force[i]) / (force[i + 1] - force[i]) if len(indices) else math.nan
        positions.append(float(i + share))
    return positions[0], positions[1]


def half_height(force: np.ndarray, top: int) -> tuple[float, float]:
    """Return the positions of half height before and after the top. See `crossings`."""
    return crossing_positions(force, top, PULSE_ENDS * float(force[top]))


def pulses_in(force: np.ndarray, noise: Noise, filtered: bool = False) -> Smoothed:
    """Return the pulses of a trace that rise above its noise.

    Parameters
    ----------
    force : array (n,)
        Force above the baseline [N].
    noise : Noise
    filtered : bool
        Whether a filter may have made ripples.
    """
    from scipy.ndimage import gaussian_filter1d

    scale, smooth = 0.0, force
    while smooth.max(initial=0.0) < CLEAR * noise.smoothed(scale):
        left, right = half_height(smooth, int(np.argmax(smooth)))
        coarser = max(0.5, 1.5 * scale)
        if not coarser <= SMOOTHEST * (right - left):
            break
        scale, smooth = coarser, gaussian_filter1d(force, coarser, mode="nearest")
    doubt = DOUBT * noise.smoothed(scale)
    level = max(
        (RIPPLES if filtered else PULSE_BEGINS) * float(smooth.max(initial=0.0)), 2.0 * doubt
    )
    left, right = half_height(smooth, int(np.argmax(smooth)))
    width = right - left if right - left > 0.0 else 0.0
    sharper = min(scale, DIP_SCALE * width)
    sharp = gaussian_filter1d(force, sharper, mode="nearest") if sharper > 0.0 else force
    if sharper == 0.0 or width < DIP_SAMPLES:
        sharp = lowest_near(sharp)
    pulses: list[NoisyPulse] = []
    begin = 0
    while level > 0.0 and len(pulses) < MOST_PULSES:
        window = first_window(smooth[begin:], level, doubt)
        if window.start == window.stop:
            break
        start, stop = begin + window.start, begin + window.stop
        top = start + int(np.argmax(smooth[start:stop]))
        pulses.append(NoisyPulse(start, top, stop, float(smooth[top])))
        # The next pulse starts where the force exceeds twice its minimum so far by more than the
        # margin.
        later = smooth[stop:]
        lowest = np.maximum(np.minimum.accumulate(later), 0.0)
        risen = np.flatnonzero(later > lowest / PULSE_ENDS + doubt)
        if not len(risen):
            break
        begin = stop + int(risen[0])
    return Smoothed(tuple(pulses), smooth, doubt, sharp, DOUBT * noise.smoothed(sharper))


def lowest_near(force: np.ndarray) -> np.ndarray:
    """Return the lowest possible force within one sample of each sample.

    It may lie in a dip between two samples.

    A dip is convex, so it lies above the lines through the two samples before and the two after.
    """
    low = force.copy()
    if len(force) < 4:
        return low
    # Between samples i and i + 1, the line from before falls by `down` per sample, and the line
    # from behind rises by `up`. They meet at t.
    down, up = np.diff(force)[:-2], np.diff(force)[2:]
    here, ahead = force[1:-2], force[2:-1]
    dips = (down < 0.0) & (up > 0.0)
    t = np.divide(ahead - up - here, down - up, out=np.zeros(len(here)), where=dips)
    least = np.where(dips & (t > 0.0) & (t < 1.0), here + down * t, math.inf)
    low[1:-2] = np.minimum(low[1:-2], least)
    low[2:-1] = np.minimum(low[2:-1], least)
    return low


def foot_of(smoothed: Smoothed, pulse: NoisyPulse, half_position: float) -> int:
    """Return the number of samples before the rise of a pulse.

    The search goes back from half height until the force is flat.

    The force is flat if it changes by less than 1 % of the peak over half the time from half height
    to peak.
    """
    reach = max(1, round(0.5 * (pulse.top - half_position)))
    flat = max(PULSE_BEGINS * pulse.height, 0.75 * smoothed.doubt)
    positions = np.arange(reach, int(half_position) + 1)
    level = np.flatnonzero(smoothed.smooth[positions] - smoothed.smooth[positions - reach] < flat)
    if len(level):
        return int(positions[level[-1]]) - reach + 1
    # If the stretch is too short, use the samples that are not higher than the first.
    rise = (
        np.maximum.accumulate(smoothed.smooth[: int(half_position) + 1] - smoothed.smooth[0])
        >= flat
    )
    return int(np.argmax(rise)) if rise.any() else 0


def fell_before(smoothed: Smoothed, pulse: NoisyPulse) -> bool:
    """Return whether an earlier pulse may have ended on the rise to the top.

    It may have if the force falls below half within the margin.
    """
    rise, doubt = smoothed.sharp[pulse.start : pulse.top + 1], smoothed.sharp_doubt
    highest = np.maximum.accumulate(rise)
    ended = (rise < PULSE_ENDS * highest + doubt) & (highest - rise > 1.5 * doubt)
    return bool((ended & (highest > SMALLEST_TOP * pulse.height)).any())
