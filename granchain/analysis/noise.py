"""Where the pulses of a measured trace are, by a smoothed copy of it: noise on a flank is no pulse.

The definition is that of `first_pulse`, from 1 % of the largest force until below half the running
maximum. On a noisy trace both are asked beyond doubt: a pulse begins where it stands out of the
noise, and has ended where the force is below half by more than noise. The numbers of the pulse are
taken from the samples themselves, not from the copy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from granchain.analysis.definition import PULSE_BEGINS, PULSE_ENDS, crossings, first_pulse

# Standard deviations of the smoothed trace that count as doubt: of ten thousand samples of Gaussian
# noise, none is above 4 but by chance. A pulse stands out where it is twice that high: its height
# and the ground before it may each be off by the doubt.
DOUBT = 4.0
# A zero-phase filter makes ripples before and after a jump of force; of orders 1 to 8, they stay
# below this part of it.
RIPPLES = 0.1
# A trace is smoothed until its largest force is this many standard deviations, or with a Gaussian
# of an eighth of the pulse's width: that takes 4 % off a Gaussian pulse, 1/sqrt(1 + 8 ln 2/64).
CLEAR, SMOOTHEST = 300.0, 0.125
# A dip between two tops of a pulse can be a tenth of its width wide, 0.04 as the standard deviation
# of a Gaussian (measured: Gharib and Hurmuzlu's law): with a Gaussian of this part of the width it
# keeps nine tenths of its depth, 1/sqrt(1 + (1/2)^2).
DIP_SCALE = 0.02
# With fewer samples in the width, a dip may be lower between two samples than at either by more
# than noise.
DIP_SAMPLES = 60.0
# Below this part of the height, a part of the rise is no top of its own.
SMALLEST_TOP = 0.1
# Of an autoregression: samples for each coefficient at least, ours; and samples after which what is
# left of one is nothing, in parts of the first.
LEAST_OF_ORDER, MEMORY_SAMPLES, FORGOTTEN = 6, 4096, 1e-4
# The largest correlation of two samples next to each other: ours.
MOST_ALIKE = 0.99
# From this part of the variance of noise about a straight line on a sine is looked for: ours; at so
# many times as many frequencies as there are samples.
SINE_SHARE, STEPS_OF_SINE = 0.5, 4
# Of two descriptions, one whose criterion is so much higher has no support (Burnham & Anderson
# 2002, Model selection and multimodel inference, sec. 2.6, doi:10.1007/b97636).
NO_SUPPORT = 10.0
# Below so many products sums are quicker than transforms: measured, up to a hundred times.
FEW_PRODUCTS = 100_000
# Pulses of a trace that are looked at.
MOST_PULSES = 50


@dataclass(frozen=True, eq=False)
class Noise:
    """White noise of a size [N], and the response of what it went through: what colours it, and a
    filter.

    The response to one sample of it; empty: the noise is white.
    """

    size: float
    response: np.ndarray

    @property
    def sample(self) -> float:
        """Standard deviation of one sample [N]."""
        return self.size * float(np.linalg.norm(self.response)) if len(self.response) else self.size

    @property
    def statistical_inefficiency(self) -> float:
        """Samples for each degree of freedom of a variance found from them."""
        from scipy.signal import fftconvolve

        if not len(self.response):
            return 1.0
        row = fftconvolve(self.response, self.response[::-1])[len(self.response) - 1 :]
        return statistical_inefficiency(row)

    def of_sum(self, weights: np.ndarray) -> float:
        """Standard deviation of a weighted sum of consecutive samples [N]."""
        if len(self.response) and self.size > 0.0:
            from scipy.signal import fftconvolve

            few = len(weights) * len(self.response) < FEW_PRODUCTS
            weights = (np.convolve if few else fftconvolve)(weights, self.response)
        return self.size * float(np.linalg.norm(weights))

    def through(self, response: np.ndarray) -> Noise:
        """The same noise behind a filter of this response; empty: none."""
        if not len(response) or not len(self.response):
            return Noise(self.size, response if len(response) else self.response)
        return Noise(self.size, np.convolve(self.response, response))

    def smoothed(self, scale: float) -> float:
        """Standard deviation of a sample after a Gaussian of this standard deviation [samples].

        The squares of the weights of a Gaussian sum to 1/(2 sqrt(pi) scale).
        """
        if not scale > 0.0:
            return self.sample
        if not len(self.response):
            return min(self.size, self.size / math.sqrt(2.0 * math.sqrt(math.pi) * scale))
        reach = math.ceil(4.0 * scale)
        weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / scale) ** 2)
        return self.of_sum(weights / weights.sum())


def statistical_inefficiency(covariance: np.ndarray) -> float:
    """Samples for each degree of freedom of a variance found from them, by their autocovariance
    (Bayley & Hammersley 1946, doi:10.2307/2983560)."""
    return 2.0 * float(np.sum((covariance / covariance[0]) ** 2)) - 1.0


class Autoregression(NamedTuple):
    """Noise of one or several stretches as each sample by those before it.

    Attributes
    ----------
    coefficients : array (order + 1,)
        Of a sample and those before it, the first 1: their sum is white.
    variances : list of float
        Of that, by stretch [N^2].
    criterion : float
        Of Akaike, over all samples; of two descriptions of them, the lower is the better.
    """

    coefficients: np.ndarray
    variances: list[float]
    criterion: float

    def autocovariance(self, stretch: int, count: int) -> np.ndarray:
        """Covariance of two samples of a stretch, by how many samples they are apart [N^2]."""
        from scipy.signal import fftconvolve

        response = self.response(MEMORY_SAMPLES + count)
        both = fftconvolve(response, response[::-1])
        return np.asarray(self.variances[stretch] * both[len(response) - 1 :][:count])

    def response(self, count: int) -> np.ndarray:
        """What it makes of one sample, over so many."""
        from scipy.signal import lfilter

        one = np.zeros(count)
        one[0] = 1.0
        return np.asarray(lfilter([1.0], self.coefficients, one))


def autoregression(stretches: Sequence[np.ndarray], doubt: float = 0.0) -> Autoregression:
    """The autoregression that Burg's recursion finds in stretches of noise, each of its own size.

    Burg 1975, Maximum entropy spectral analysis, thesis, Stanford; Kay & Marple 1981,
    doi:10.1109/PROC.1981.12184; of the order that has the least criterion of Akaike.

    Parameters
    ----------
    stretches : sequence of array (n,)
        Samples without a force, about their baseline [N].
    doubt : float
        By how much its criterion has to be below that of white noise.
    """
    from scipy.signal import lfilter

    counts = [len(one) for one in stretches]
    n, several = sum(counts), len(counts) > 1
    # of stretches together, none outweighs the others
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
            # of the next sample, by coefficients that are found from the same ones (Akaike 1969,
            # doi:10.1007/BF02532251)
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
        # what is about its own mean seems less correlated, by (1 + 3 phi)/n of each stretch
        # (Orcutt & Winokur 1969, doi:10.2307/1909199)
        a = np.array([1.0, max((n * a[1] - len(counts)) / (n - 3.0 * len(counts)), -MOST_ALIKE)])
    # each stretch has its own size, of what the others do not foretell
    left = [
        np.concatenate([lfilter(a, [1.0], one)[order:], lfilter(a, [1.0], one[::-1])[order:]])
        for one in stretches
    ]
    variances = [float(np.mean(one**2)) for one in left]
    sizes = sum(count * math.log(one) for count, one in zip(counts, variances, strict=True) if one)
    room = n * (n + order) / (n - order - 2)
    return Autoregression(a, [one * (n + order) / (n - order) for one in variances], sizes + room)


class Sine(NamedTuple):
    """A sine in samples without a force.

    Attributes
    ----------
    samples, rest : array (n,)
        Its own, zeros where there is none, and what is left without it and the straight line that
        it is beside [N].
    turn, turn_error : float
        Of its phase from sample to sample, and one standard deviation of that [rad].
    """

    samples: np.ndarray
    rest: np.ndarray
    turn: float = 0.0
    turn_error: float = 0.0

    def autocovariance(self, count: int) -> np.ndarray:
        """Covariance of two of its samples, its phase not being known, by how many samples they are
        apart [N^2].

        That of a cosine of half the amplitude squared, over the normal distribution of its turn.
        """
        apart = np.arange(count)
        known = np.exp(-0.5 * (self.turn_error * apart) ** 2)
        return np.asarray(np.mean(self.samples**2) * np.cos(self.turn * apart) * known)


def sine_of(quiet: np.ndarray, turn: float) -> Sine:
    """The sine of a turn that lies nearest to samples beside a straight line, by least squares; the
    error of the turn is that of Gauss and Newton, beside all the others."""
    n = len(quiet)
    x = np.arange(n) - 0.5 * (n - 1)
    ahead, behind = np.cos(turn * x), np.sin(turn * x)
    columns = np.column_stack([np.ones(n), x, ahead, behind])
    inverse = np.linalg.pinv(columns)
    found = inverse @ quiet
    rest = quiet - columns @ found
    by_turn = x * (found[3] * ahead - found[2] * behind)
    alone = by_turn - columns @ (inverse @ by_turn)
    # of a line, two amplitudes and the turn
    variance = float(rest @ rest) / max(n - 5, 1)
    error = math.sqrt(variance / float(alone @ alone)) if alone.any() else math.inf
    return Sine(columns[:, 2:] @ found[2:], rest, turn, error)


def sine_in(quiet: np.ndarray) -> Sine:
    """The sine that samples without a force show beside a straight line, of one period in them at
    least; none where an autoregression alone describes them nearly as well.

    That is judged by the corrected criterion of Akaike, to which the search over frequencies adds
    that of the largest of their number.

    Parameters
    ----------
    quiet : array (n,)
        [N].
    """
    from scipy.optimize import minimize_scalar
    from scipy.signal import detrend

    n = len(quiet)
    off, none = detrend(quiet), Sine(np.zeros(n), quiet)
    power_at = np.abs(np.fft.rfft(off, STEPS_OF_SINE * n)) ** 2
    power_at[:STEPS_OF_SINE] = 0.0
    highest = int(np.argmax(power_at))
    # a sine of amplitude a has a^2 n/2 in all, and (a n/2)^2 at its frequency
    if not 2.0 * power_at[highest] / n > SINE_SHARE * float(off @ off):
        return none
    # a line is two steps of the transform of n samples wide
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
    # two amplitudes and a frequency
    rooms = [(n + k) / (n - k - 2) for k in (order, order + 3)]
    more = n * (rooms[1] - rooms[0]) + 2.0 * math.log(0.5 * n)
    return sine if beside.criterion + more + NO_SUPPORT < alone.criterion else none


def sines_of_common_source(stretches: Sequence[np.ndarray]) -> list[Sine]:
    """The sines of several sensors, each with the turn that the others show.

    That is their weighted mean, as sure as all agree (Birge 1932, doi:10.1103/PhysRev.40.207): it
    includes what its own samples show. Of a sine alone, the turn is its own, known half as
    well.
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


def coloured(quiet: np.ndarray, least: float) -> Noise:
    """Noise as samples without a force show it.

    Parameters
    ----------
    quiet : array (n,)
        About their baseline [N].
    least : float
        Standard deviation that one sample has at least [N].
    """
    found = autoregression([quiet])
    size = math.sqrt(found.variances[0])
    if len(found.coefficients) == 1:
        return Noise(max(size, least), np.empty(0))
    response = found.response(MEMORY_SAMPLES)
    kept = np.flatnonzero(np.abs(response) > FORGOTTEN)
    response = response[: int(kept[-1]) + 1]
    return Noise(max(size, least / float(np.linalg.norm(response))), response)


class NoisyPulse(NamedTuple):
    """Samples where a pulse begins, has its largest force, and has ended, and that force [N]."""

    start: int
    top: int
    stop: int
    height: float


class Smoothed(NamedTuple):
    """A trace and all its pulses, in order.

    Attributes
    ----------
    pulses : tuple of NoisyPulse
    smooth : array (n,)
        The smoothed trace [N].
    doubt : float
        By which a sample of it may be off [N].
    sharp : array (n,)
        The trace smoothed so little that no dip between two tops is filled; with few samples, the
        least that the force may be about a sample [N].
    sharp_doubt : float
        By which a sample of that may be off [N].
    """

    pulses: tuple[NoisyPulse, ...]
    smooth: np.ndarray
    doubt: float
    sharp: np.ndarray
    sharp_doubt: float


def half_height(force: np.ndarray, top: int, height: float | None = None) -> tuple[float, float]:
    """Places where the force is half of that at the top, before and after it [samples].

    nan where the trace ends before.
    """
    half = PULSE_ENDS * (float(force[top]) if height is None else height)
    if force[top] < half:
        return float(top), float(top)
    return crossings(np.arange(float(len(force))), force, top, half)


def pulses_in(force: np.ndarray, noise: Noise, filtered: bool = False) -> Smoothed:
    """Pulses of a trace that stand out of its noise.

    Parameters
    ----------
    force : array (n,)
        Above the baseline [N].
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
        sharp = lowest_about(sharp)
    found: list[NoisyPulse] = []
    begin = 0
    while level > 0.0 and len(found) < MOST_PULSES:
        window = first_pulse(smooth[begin:], level=level, doubt=doubt)
        if window.start == window.stop:
            break
        start, stop = begin + window.start, begin + window.stop
        top = start + int(np.argmax(smooth[start:stop]))
        found.append(NoisyPulse(start, top, stop, float(smooth[top])))
        # The next begins where the force is twice what it had fallen to, beyond doubt.
        rest = smooth[stop:]
        lowest = np.maximum(np.minimum.accumulate(rest), 0.0)
        risen = np.flatnonzero(rest > lowest / PULSE_ENDS + doubt)
        if not len(risen):
            break
        begin = stop + int(risen[0])
    return Smoothed(tuple(found), smooth, doubt, sharp, DOUBT * noise.smoothed(sharper))


def lowest_about(force: np.ndarray) -> np.ndarray:
    """The least that a force may be up to a sample away from each, in a dip between samples.

    A dip is convex: it lies above the lines through the two samples before and the two after.
    """
    low = force.copy()
    if len(force) < 4:
        return low
    # Between samples i and i + 1, the line from before falls by `down` a sample, that from behind
    # rises by `up`: they meet at t.
    down, up = np.diff(force)[:-2], np.diff(force)[2:]
    here, ahead = force[1:-2], force[2:-1]
    dips = (down < 0.0) & (up > 0.0)
    t = np.divide(ahead - up - here, down - up, out=np.zeros(len(here)), where=dips)
    least = np.where(dips & (t > 0.0) & (t < 1.0), here + down * t, math.inf)
    low[1:-2] = np.minimum(low[1:-2], least)
    low[2:-1] = np.minimum(low[2:-1], least)
    return low


def foot_of(found: Smoothed, pulse: NoisyPulse, left: float) -> int:
    """Samples before the rise of a pulse: back from the half height until the force is flat.

    Flat: it changes by less than 1 % of the peak over half the time from half height to peak.
    """
    reach = max(1, round(0.5 * (pulse.top - left)))
    flat = max(PULSE_BEGINS * pulse.height, 0.75 * found.doubt)
    places = np.arange(reach, int(left) + 1)
    level = np.flatnonzero(found.smooth[places] - found.smooth[places - reach] < flat)
    if len(level):
        return int(places[level[-1]]) - reach + 1
    # A stretch too short for that: samples that are no higher than the first.
    rise = np.maximum.accumulate(found.smooth[: int(left) + 1] - found.smooth[0]) >= flat
    return int(np.argmax(rise)) if rise.any() else 0


def fell_before(found: Smoothed, pulse: NoisyPulse) -> bool:
    """Whether, within the doubt, an earlier pulse had ended already on the way up to the top."""
    rise, doubt = found.sharp[pulse.start : pulse.top + 1], found.sharp_doubt
    highest = np.maximum.accumulate(rise)
    ended = (rise < PULSE_ENDS * highest + doubt) & (highest - rise > 1.5 * doubt)
    return bool((ended & (highest > SMALLEST_TOP * pulse.height)).any())
