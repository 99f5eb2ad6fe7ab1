"""Signals of drives (harmonic, chirp, noise, pulse) as tables of times, values, and slopes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

# A cubic through values and slopes at knots h apart has the error f x^2 (h - x)^2/24: at most
# h^4 f/384, in the middle, and in the slope h^3 f sqrt(3)/216, at h (1/2 - sqrt(1/12)). With
# f = (2 pi F)^4 and h = 1/(128 F), this is 1.5e-8 of the amplitude and 9.5e-7 of the largest speed:
# a tenth of the energy-balance error of the step "auto", 1e-5.
KNOTS_PER_PERIOD = 128
# Maximum number of knots (our choice): their times, values, slopes, and cubics take 0.25 GiB of the
# 8 GiB that a run may use.
MOST_KNOTS = 2**22
# A gaussian pulse has six standard deviations on each side. It is cut off at exp(-18) = 1.5e-8 of
# its height, and this value is subtracted.
GAUSSIAN_WIDTHS = 12.0

# Required and optional keys of each signal.
KEYS_NEEDED = {
    "harmonic": ("amplitude", "frequency"),
    "chirp": ("amplitude", "from", "to", "duration"),
    "noise": ("band", "rms", "seed"),
    "pulse": ("shape", "amplitude", "duration"),
}
KEYS_ALLOWED = {
    "harmonic": ("dc", "phase", "ramp", "ramp_from", "duration"),
    "chirp": ("dc", "phase", "ramp"),
    "noise": ("dc", "ramp", "duration"),
    "pulse": (),
}
SHAPES = ("half-sine", "gaussian")


class Drive(NamedTuple):
    """Table of a drive: times [s], displacements [m] or forces [N], and their slopes if known."""

    time: np.ndarray
    value: np.ndarray
    slope: np.ndarray | None = None


def highest(end: Any) -> float:
    """Return a frequency F [Hz] that bounds the fourth derivative of a signal.

    The derivative is at most (2 pi F)^4 times the amplitude.
    """
    if end.signal == "pulse":
        # Half a period; for a gaussian 3^(1/4)/(2 pi) = 0.2095 of the inverse standard deviation.
        return (
            0.5 / end.duration
            if end.shape == "half-sine"
            else 0.2095 * GAUSSIAN_WIDTHS / end.duration
        )
    if end.signal == "harmonic" and end.ramp_from:
        # The k-th derivative of the ramp is below (840^(1/4)/ramp)^k. The derivatives of the angle
        # thus add less than 1.5 times this frequency, and those of the amplitude add it once (see
        # `_with_ramps`).
        return float(max(end.frequency, end.ramp_from[1]) + 2.5 * 0.857 / end.ramp)
    if end.signal == "harmonic":
        top = end.frequency
    elif end.signal == "noise":
        top = end.band[1]
    else:
        # For sin(p) with p'' = c: p'^4 + 6 c p'^2 + 3 c^2 < (p' + (3 c^2)^(1/4))^4, and
        # (3 (2 pi)^2)^(1/4)/(2 pi) = 0.5251.
        rate = abs(end.to - getattr(end, "from")) / end.duration
        top = max(getattr(end, "from"), end.to) + 0.5251 * math.sqrt(rate)
    # The k-th derivative of the ramp factor is below (840^(1/4)/ramp)^k, and
    # 840^(1/4)/(2 pi) = 0.857 (see `_with_ramps`).
    return float(top + (0.857 / end.ramp if end.ramp else 0.0))


def knots(end: Any, run: float) -> float:
    """Return the number of knots of the table of a signal, for a run of this length [s]."""
    return KNOTS_PER_PERIOD * (length(end, run) * highest(end) + 2.0)


def length(end: Any, run: float) -> float:
    """Return the duration of a signal [s]; by default the complete run."""
    return run if end.duration is None else float(end.duration)


def signal_table(end: Any, run: float, period: float | None = None) -> Drive:
    """Return the table of a signal for a run of this length [s].

    A signal without a duration continues for two periods after the run, because the last step may
    end after it. `period` is the period of noise without a duration [s]; by default the run.
    """
    if end.signal == "noise":
        return _noise(end, run, period or run)
    duration, each = length(end, run), 1.0 / (KNOTS_PER_PERIOD * highest(end))
    n = math.ceil(duration / each)
    time = (
        np.linspace(0.0, duration, n + 1)
        if end.duration is not None
        else each * np.arange(n + 2 * KNOTS_PER_PERIOD)
    )
    if end.signal == "pulse" and end.shape == "half-sine":
        angle = math.pi * time / duration
        value, slope = np.sin(angle), math.pi / duration * np.cos(angle)
        value[-1] = 0.0
    elif end.signal == "pulse":
        deviation = duration / GAUSSIAN_WIDTHS
        x = (time - 0.5 * duration) / deviation
        foot = math.exp(-0.125 * GAUSSIAN_WIDTHS * GAUSSIAN_WIDTHS)
        bell = np.exp(-0.5 * x * x)
        value, slope = (bell - foot) / (1.0 - foot), -x * bell / (deviation * (1.0 - foot))
        value[[0, -1]] = 0.0
    elif end.ramp_from:
        return _with_constant(end, _ramped_from(end, time))
    else:
        first, rate = end.frequency, 0.0
        if end.signal == "chirp":
            first, rate = getattr(end, "from"), (end.to - getattr(end, "from")) / end.duration
        periods, frequency = (first + 0.5 * rate * time) * time, first + rate * time
        angle = 2.0 * math.pi * periods + (end.phase or 0.0)
        slope = 2.0 * math.pi * frequency * np.cos(angle)
        value, slope = _with_ramps(end, time, np.sin(angle), slope)
    return _with_constant(end, Drive(time, end.amplitude * value, end.amplitude * slope))


def _with_constant(end: Any, drive: Drive) -> Drive:
    """Add the constant part to a signal, multiplied by the ramps."""
    time, value, slope = drive
    if not end.dc:
        return drive
    part, change = _with_ramps(end, time, np.full(time.size, end.dc), np.zeros(time.size))
    return Drive(time, value + part, slope + change)


def _with_ramps(
    end: Any, time: np.ndarray, value: np.ndarray, slope: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Multiply a signal by a factor that rises from 0 to 1 and falls back before the end.

    35 x^4 - 84 x^5 + 70 x^6 - 20 x^7: the lowest polynomial with three derivatives of zero at both
    ends. Its derivatives reach 2.19, 7.51, 52.5 and 840, each below 840^(k/4).
    """
    if not end.ramp:
        return value, slope
    whole = math.inf if end.duration is None else end.duration
    (rise, up), (fall, down) = (_rise(t / end.ramp) for t in (time, whole - time))
    if end.ramp_from:
        # The constant part does not start from 0.
        rise, up = np.ones_like(rise), np.zeros_like(up)
    factor, steepness = rise * fall, (up * fall - rise * down) / end.ramp
    return value * factor, slope * factor + value * steepness


def _rise(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the factor of a ramp, and its slope."""
    x = np.clip(x, 0.0, 1.0)
    rise = x * x * x * x * (35.0 + x * (-84.0 + x * (70.0 - 20.0 * x)))
    return rise, 140.0 * (x * (1.0 - x)) ** 3


def _ramped_from(end: Any, time: np.ndarray) -> Drive:
    """Return a harmonic that changes from the amplitude and frequency of `ramp_from`."""
    amplitude, frequency = end.ramp_from
    rise, up = _rise(time / end.ramp)
    size = amplitude + (end.amplitude - amplitude) * rise
    growth = (end.amplitude - amplitude) * up / end.ramp
    angle = phase_at(end, time)
    sine, cosine = np.sin(angle), np.cos(angle)
    turning = 2.0 * math.pi * (frequency + (end.frequency - frequency) * rise)
    return Drive(time, size * sine, growth * sine + size * turning * cosine)


def phase_at(end: Any, time: Any) -> Any:
    """Return the phase of a harmonic at a time [rad]."""
    periods = end.frequency * time
    if end.ramp_from:
        x = np.clip(time / end.ramp, 0.0, 1.0)
        # Integral of the ramp factor; it is 1/2 over the complete ramp.
        risen = x * x * x * x * x * (7.0 + x * (-14.0 + x * (10.0 - 2.5 * x)))
        before, past = end.ramp_from[1] - end.frequency, np.maximum(time - end.ramp, 0.0)
        periods = periods + before * (time - end.ramp * risen - past)
    return 2.0 * math.pi * periods + (end.phase or 0.0)


def lines(end: Any, run: float) -> tuple[int, int]:
    """Return the first and last number of periods of the spectral lines of noise."""
    whole = length(end, run)
    return math.ceil(end.band[0] * whole), math.floor(end.band[1] * whole)


def _noise(end: Any, run: float, period: float) -> Drive:
    """Return noise from spectral lines of equal amplitude and random phase in the band.

    The lines are at all whole numbers of periods, so that the mean square of one period is exact.
    """
    duration, (first, last) = length(end, period), lines(end, period)
    n = math.ceil(KNOTS_PER_PERIOD * highest(end) * duration)
    # The raw stream of a bit generator is the same in all versions of NumPy (NEP 19); random() need
    # not be.
    raw = np.random.PCG64(end.seed).random_raw(last - first + 1)
    phases = np.exp(2j * math.pi * ((raw >> np.uint64(11)) * 2.0**-53))
    spectrum = np.zeros(n // 2 + 1, dtype=complex)
    spectrum[first : last + 1] = 0.5 * n * end.rms * math.sqrt(2.0 / (last - first + 1)) * phases
    value = np.fft.irfft(spectrum, n)
    slope = np.fft.irfft(spectrum * (2j * math.pi / duration) * np.arange(spectrum.size), n)
    # The noise is periodic.
    many = n + 1
    if end.duration is None:
        many = (n if run == duration else math.ceil(run * n / duration)) + 2 * KNOTS_PER_PERIOD
    place = np.arange(many)
    time = place * (duration / n)
    value, slope = _with_ramps(end, time, value[place % n], slope[place % n])
    return _with_constant(end, Drive(time, value, slope))
