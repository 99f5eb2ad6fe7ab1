"""What an instrument adds to a force: its baseline and its noise, as the trace itself shows
them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from granchain.analysis.noise import Noise, coloured, sine_in

if TYPE_CHECKING:
    from granchain.traces import Trace

# Median of the size of a Gaussian number, in standard deviations: the quantile 3/4 of the normal
# distribution.
_MEDIAN_SIZE = 0.6744897501960817
# Samples before the pulse that separate noise and drift.
LEAST_QUIET = 8
# A slope counts as drift from so many standard deviations: noise alone makes one of 15,000 so
# large.
DRIFTS = 4.0
# What is further from the line than this many standard deviations is no noise but a disturbance,
# and left out.
_OUTLYING = 4.0
# Sections of the quiet stretch whose means show whether the baseline wanders.
_SECTIONS = 6


class Baseline(NamedTuple):
    """What the instrument reads without a force: a value [N] in the middle of the quiet samples and
    a slope [N a sample].

    Attributes
    ----------
    value, slope, middle : float
        The line; a slope of 0 where there is none beyond noise.
    value_error, slope_error : float
        One standard deviation each; the slope's also where no slope is taken off.
    samples : int
        Number of quiet samples.
    """

    value: float
    slope: float
    middle: float
    value_error: float
    slope_error: float
    samples: int

    @property
    def drifts(self) -> bool:
        """Whether a slope is taken off."""
        return self.slope != 0.0

    def at(self, sample: np.ndarray | float) -> np.ndarray:
        """The line at samples [N]."""
        return np.asarray(self.value + self.slope * (np.asarray(sample, dtype=float) - self.middle))

    def uncertainty(self, sample: float) -> float:
        """Of the line at a sample [N].

        Where a drift is seen, what it adds beyond the quiet samples too: a drift is not straight
        for ever.
        """
        away = abs(sample - self.middle)
        beyond = max(0.0, away - 0.5 * self.samples)
        return math.hypot(self.value_error, self.slope_error * away, self.slope * beyond)


NO_BASELINE = Baseline(0.0, 0.0, 0.0, math.inf, 0.0, 0)


def baseline_of(force: np.ndarray, noise: Noise) -> Baseline:
    """Line through the quiet samples of a sensor, from the first on, by least squares; disturbances
    are left out.

    Parameters
    ----------
    force : array (n,)
        Of the quiet samples alone [N].
    noise : Noise
    """
    n = len(force)
    middle = 0.5 * (n - 1)
    if n < LEAST_QUIET:
        # Too few for a slope.
        return (
            Baseline(float(force.mean()), 0.0, middle, noise.of_sum(np.full(n, 1.0 / n)), 0.0, n)
            if n
            else NO_BASELINE
        )
    sine = sine_in(force)
    if sine.turn:
        # which is no wander of the line
        force = force - sine.samples
        noise = noise_by(force, 0.0)
    x = np.arange(n) - middle
    slope, value, used = _line_beside_disturbances(force, noise.sample)
    off, m = (force - value - slope * x)[used], int(used.sum())
    # Noise of long periods moves the means of parts of the stretch by more than white noise would.
    means = np.array([part.mean() for part in np.array_split(off, _SECTIONS)])
    wander = float(np.linalg.norm(means)) / math.sqrt(_SECTIONS - 2) * math.sqrt(m / _SECTIONS)
    spread = float(np.linalg.norm(x[used] - x[used].mean()))
    value_error = max(wander / math.sqrt(m), noise.of_sum(np.full(m, 1.0 / m)))
    slope_error = max(wander, noise.of_sum(x / float(np.linalg.norm(x)))) / spread
    if abs(slope) > DRIFTS * slope_error:
        return Baseline(float(value), float(slope), middle, value_error, slope_error, n)
    # A slope that is not taken off may be none. By the criterion of Schwarz (1978,
    # doi:10.1214/aos/1176344136) the odds of one are exp(z^2/2) to the root of how many samples
    # there are that count as one each (Kass & Raftery 1995, doi:10.1080/01621459.1995.10476572);
    # where there is one, the mean of its square is 1 + z^2.
    square = (slope / slope_error) ** 2 if slope_error else 0.0
    count = min(max((noise.sample / value_error) ** 2, 1.0), m) if value_error else m
    odds = math.exp(0.5 * square) / math.sqrt(count)
    slope_error *= math.sqrt((1.0 + square) * odds / (1.0 + odds))
    return Baseline(float(force[used].mean()), 0.0, middle, value_error, slope_error, n)


def _line_beside_disturbances(force: np.ndarray, sample: float) -> tuple[float, float, np.ndarray]:
    """Slope [N a sample] and middle [N] of the line through samples that have noise of this size
    [N] and disturbances, and which samples are none."""
    n = len(force)
    x = np.arange(n) - 0.5 * (n - 1)
    used = np.ones(n, dtype=bool)
    slope, value = 0.0, 0.0
    for _ in range(3):
        slope, value = map(float, np.polyfit(x[used], force[used], 1))
        off = force - value - slope * x
        off -= np.median(off)
        near = np.abs(off) <= _OUTLYING * max(sample, float(np.median(np.abs(off))) / _MEDIAN_SIZE)
        if near.sum() < LEAST_QUIET:
            break
        used = _without_flanks(near)
        used = used if used.sum() >= LEAST_QUIET else near
    return slope, value, used


def _without_flanks(near: np.ndarray) -> np.ndarray:
    """Samples without disturbances, and without the flanks of these: half as many again as stand
    out, on each side. Of a Gaussian of 8 standard deviations of the noise that is down to 0.4."""
    used = near.copy()
    ends = np.flatnonzero(np.diff(np.r_[True, near, True].astype(int)))
    for first, last in zip(ends[::2], ends[1::2], strict=True):
        more = (last - first) // 2
        used[max(first - more, 0) : last + more] = False
    return used


def rapid(force: np.ndarray) -> float:
    """Size of white noise by the median size of third differences [N].

    A smooth signal is as good as gone in them, and white noise sqrt(20) times as large as it was (1
    + 9 + 9 + 1).
    """
    return float(np.median(np.abs(np.diff(force, 3)))) / (_MEDIAN_SIZE * math.sqrt(20.0))


def step_of(force: np.ndarray) -> float:
    """Step of the analogue-to-digital converter [N]: the least difference of two samples, where
    values come again; else 0."""
    levels = np.unique(force)
    return float(np.diff(levels).min()) if 1 < len(levels) < len(force) // 4 else 0.0


def quiet_samples(force: np.ndarray) -> int:
    """The first half of the samples before a force leaves its start by a tenth of its range, or by
    what noise alone does not reach."""
    start = float(np.median(force[: max(len(force) // 100, LEAST_QUIET)]))
    left = np.abs(force - start) > max(0.1 * float(np.ptp(force)), 6.0 * rapid(force))
    return int(np.argmax(left)) // 2 if left.any() else 0


def noise_by(quiet: np.ndarray, sample: float, stated: float | None = None) -> Noise:
    """Noise with the autocovariance of the quiet samples about their line.

    Parameters
    ----------
    quiet : array (n,)
        [N].
    sample : float
        Standard deviation that one sample has at least [N].
    stated : float, optional
        That which it has, as the trace states [N].
    """
    if len(quiet) < 2 * LEAST_QUIET:
        return Noise(sample, np.empty(0))
    # disturbances are no noise, and move no line
    slope, value, used = _line_beside_disturbances(quiet, sample)
    off = quiet - value - slope * (np.arange(len(quiet)) - 0.5 * (len(quiet) - 1))
    found = coloured(np.where(used, off, 0.0) / math.sqrt(max(used.mean(), 0.5)), sample)
    return found if stated is None else Noise(found.size * stated / found.sample, found.response)


def noise_of(trace: Trace, column: int) -> float:
    """Standard deviation of the noise of one sample of a sensor [N]: as in about.toml, or
    estimated.

    The estimate is the largest of three: the spread of the samples before the pulse about a line,
    the median of parts of them; what is rapid in the whole trace; and what rounding to the steps of
    an analogue-to-digital converter leaves, a step over sqrt(12).

    Parameters
    ----------
    trace : Trace
    column : int
        Which sensor, in the order of the trace.
    """
    stated = trace.about.uncertainty.noise
    if stated is not None:
        return float(stated)
    force = trace.sensor_force[:, column]
    quiet = force[: quiet_samples(force)]
    spread = 0.0
    if len(quiet) >= LEAST_QUIET:
        # About the line through each of some parts, so that a disturbance in one of them does not
        # count as noise.
        spreads = []
        for part in np.array_split(quiet, max(1, min(_SECTIONS, len(quiet) // LEAST_QUIET))):
            x = np.arange(len(part))
            off = part - np.polyval(np.polyfit(x, part, 1), x)
            spreads.append(float(np.linalg.norm(off)) / math.sqrt(len(part) - 2))
        spread = float(np.median(spreads))
    return max(spread, rapid(force), step_of(force) / math.sqrt(12.0))
