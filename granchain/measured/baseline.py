"""Baseline and noise of an instrument, estimated from its trace."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from granchain.measured.noise import Noise, noise_from_samples, sine_in

if TYPE_CHECKING:
    from granchain.measured.trace import Trace

# Median absolute value of a Gaussian number in standard deviations: the quantile 3/4 of the normal
# distribution.
_MEDIAN_SIZE = 0.6744897501960817
# Smallest number of samples before the pulse with which noise and drift are distinguishable.
LEAST_QUIET = 8
# A slope counts as drift if it exceeds this many standard deviations. Noise alone does so once in
# 15,000 cases.
DRIFT_DEVIATIONS = 4.0
# Samples farther from the line than this many standard deviations are disturbances and are left
# out.
_DISTURBANCE_OF_LINE = 4.0
# Number of sections of the quiet samples. Their means show whether the baseline wanders.
_SECTIONS = 6


class Baseline(NamedTuple):
    """Baseline of a sensor, a straight line through the samples without a force.

    Attributes
    ----------
    value, slope, middle : float
        Value in the middle of the quiet samples [N], slope [N per sample], and index of the middle.
        The slope is 0 if it does not exceed noise.
    value_error, slope_error : float
        Standard deviations of value and slope. The slope has one even if it is not subtracted.
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
        """True if a slope is subtracted."""
        return self.slope != 0.0

    def at(self, sample: np.ndarray | float) -> np.ndarray:
        """Return the baseline at samples [N]."""
        return np.asarray(self.value + self.slope * (np.asarray(sample, dtype=float) - self.middle))

    def uncertainty(self, sample: float) -> float:
        """Return the standard deviation of the baseline at a sample [N].

        If the baseline drifts, this includes the drift beyond the quiet samples, because a drift
        does not stay straight.
        """
        distance = abs(sample - self.middle)
        beyond = max(0.0, distance - 0.5 * self.samples)
        return math.hypot(self.value_error, self.slope_error * distance, self.slope * beyond)


NO_BASELINE = Baseline(0.0, 0.0, 0.0, math.inf, 0.0, 0)


def baseline_of(force: np.ndarray, noise: Noise) -> Baseline:
    """Fit a line through the quiet samples at the start of a trace.

    It is a least-squares line. Disturbances are left out.

    Parameters
    ----------
    force : array (n,)
        Force of the quiet samples [N].
    noise : Noise
    """
    n = len(force)
    middle = 0.5 * (n - 1)
    if n < LEAST_QUIET:
        # There are too few samples for a slope.
        return (
            Baseline(float(force.mean()), 0.0, middle, noise.of_sum(np.full(n, 1.0 / n)), 0.0, n)
            if n
            else NO_BASELINE
        )
    sine = sine_in(force)
    if sine.turn:
        # a sine does not count as a wandering baseline
        force = force - sine.samples
        noise = noise_of_baseline(force, 0.0)
    x = np.arange(n) - middle
    slope, value, used = _line_without_disturbances(force, noise.sample)
    off, m = (force - value - slope * x)[used], int(used.sum())
    # Slow noise changes the means of the sections more than white noise.
    means = np.array([section.mean() for section in np.array_split(off, _SECTIONS)])
    wander = float(np.linalg.norm(means)) / math.sqrt(_SECTIONS - 2) * math.sqrt(m / _SECTIONS)
    spread = float(np.linalg.norm(x[used] - x[used].mean()))
    value_error = max(wander / math.sqrt(m), noise.of_sum(np.full(m, 1.0 / m)))
    slope_error = max(wander, noise.of_sum(x / float(np.linalg.norm(x)))) / spread
    if abs(slope) > DRIFT_DEVIATIONS * slope_error:
        return Baseline(float(value), float(slope), middle, value_error, slope_error, n)
    # A slope that is not subtracted may still exist. According to Schwarz (1978,
    # doi:10.1214/aos/1176344136), the odds of its existence are exp(z^2/2) divided by the square
    # root of the number of independent samples (Kass & Raftery 1995,
    # doi:10.1080/01621459.1995.10476572). If it exists, the mean of its square is 1 + z^2.
    square = (slope / slope_error) ** 2 if slope_error else 0.0
    count = min(max((noise.sample / value_error) ** 2, 1.0), m) if value_error else m
    odds = math.exp(0.5 * square) / math.sqrt(count)
    slope_error *= math.sqrt((1.0 + square) * odds / (1.0 + odds))
    return Baseline(float(force[used].mean()), 0.0, middle, value_error, slope_error, n)


def _line_without_disturbances(force: np.ndarray, sample: float) -> tuple[float, float, np.ndarray]:
    """Fit a line to samples with noise and disturbances.

    Return its slope [N per sample], its value in the middle [N], and which samples are free of
    disturbances. `sample` is the standard deviation of the noise [N].
    """
    n = len(force)
    x = np.arange(n) - 0.5 * (n - 1)
    used = np.ones(n, dtype=bool)
    slope, value = 0.0, 0.0
    for _ in range(3):
        slope, value = map(float, np.polyfit(x[used], force[used], 1))
        off = force - value - slope * x
        off -= np.median(off)
        close = np.abs(off) <= _DISTURBANCE_OF_LINE * max(
            sample, float(np.median(np.abs(off))) / _MEDIAN_SIZE
        )
        if close.sum() < LEAST_QUIET:
            break
        used = _without_flanks(close)
        used = used if used.sum() >= LEAST_QUIET else close
    return slope, value, used


def _without_flanks(close: np.ndarray) -> np.ndarray:
    """Exclude the flanks of disturbances from the usable samples.

    On each side, half as many samples are excluded as the disturbance has. For a Gaussian of 8
    standard deviations of the noise, this reaches down to 0.4 standard deviations.
    """
    used = close.copy()
    ends = np.flatnonzero(np.diff(np.r_[True, close, True].astype(int)))
    for first, last in zip(ends[::2], ends[1::2], strict=True):
        more = (last - first) // 2
        used[max(first - more, 0) : last + more] = False
    return used


def white_noise_size(force: np.ndarray) -> float:
    """Return the size of white noise from the median of third differences [N].

    Third differences almost remove a smooth signal and multiply white noise by sqrt(20), because 1
    + 9 + 9 + 1 = 20.
    """
    return float(np.median(np.abs(np.diff(force, 3)))) / (_MEDIAN_SIZE * math.sqrt(20.0))


def digitizer_step(force: np.ndarray) -> float:
    """Return the step of the analogue-to-digital converter [N].

    It is the smallest difference of two samples if values repeat, and 0 otherwise.
    """
    levels = np.unique(force)
    return float(np.diff(levels).min()) if 1 < len(levels) < len(force) // 4 else 0.0


def quiet_samples(force: np.ndarray) -> int:
    """Return the number of quiet samples at the start of a trace.

    They are the first half of the samples before the force leaves its initial value by a tenth of
    its range, or by more than noise can cause.
    """
    start = float(np.median(force[: max(len(force) // 100, LEAST_QUIET)]))
    departed = np.abs(force - start) > max(
        0.1 * float(np.ptp(force)), 6.0 * white_noise_size(force)
    )
    return int(np.argmax(departed)) // 2 if departed.any() else 0


def noise_of_baseline(quiet: np.ndarray, sample: float, stated: float | None = None) -> Noise:
    """Return noise with the autocovariance of the quiet samples about their line.

    Parameters
    ----------
    quiet : array (n,)
        Quiet samples [N].
    sample : float
        Smallest standard deviation of one sample [N].
    stated : float, optional
        Standard deviation of one sample as specified with the trace [N].
    """
    if len(quiet) < 2 * LEAST_QUIET:
        return Noise(sample, np.empty(0))
    # disturbances are not noise and must not move the line
    slope, value, used = _line_without_disturbances(quiet, sample)
    off = quiet - value - slope * (np.arange(len(quiet)) - 0.5 * (len(quiet) - 1))
    noise = noise_from_samples(np.where(used, off, 0.0) / math.sqrt(max(used.mean(), 0.5)), sample)
    return noise if stated is None else Noise(noise.size * stated / noise.sample, noise.response)


def sample_noise(trace: Trace, column: int) -> float:
    """Return the standard deviation of the noise of one sample of a sensor [N].

    It is the value in about.toml, or an estimate.

    The estimate is the largest of three values: the spread of the samples before the pulse about a
    line (median over sections), the rapid changes in the complete trace, and the rounding error of
    an analogue-to-digital converter, which is its step divided by sqrt(12).

    Parameters
    ----------
    trace : Trace
    column : int
        Index of the sensor in the order of the trace.
    """
    stated = trace.about.uncertainty.noise
    if stated is not None:
        return float(stated)
    force = trace.sensor_force[:, column]
    quiet = force[: quiet_samples(force)]
    spread = 0.0
    if len(quiet) >= LEAST_QUIET:
        # One line per section, so that a disturbance in one section does not count as noise.
        spreads = []
        for section in np.array_split(quiet, max(1, min(_SECTIONS, len(quiet) // LEAST_QUIET))):
            x = np.arange(len(section))
            off = section - np.polyval(np.polyfit(x, section, 1), x)
            spreads.append(float(np.linalg.norm(off)) / math.sqrt(len(section) - 2))
        spread = float(np.median(spreads))
    return max(spread, white_noise_size(force), digitizer_step(force) / math.sqrt(12.0))
