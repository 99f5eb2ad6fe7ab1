"""Signals of drives: harmonic, chirp, noise and pulse, as tables of times, values and
slopes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

# A cubic through values and slopes at knots h apart errs by f x^2 (h - x)^2/24: at most h^4 f/384,
# in the middle, and in the slope h^3 f sqrt(3)/216, at h (1/2 - sqrt(1/12)). With f = (2 pi F)^4
# and h = 1/(128 F) that is 1.5e-8 of the amplitude and 9.5e-7 of the largest speed: a tenth of what
# the step "auto" leaves in the ledger, 1e-5.
KNOTS_PER_PERIOD = 128
# Ours: times, values, slopes and cubics of so many knots take .25 GiB, of the 8 that a run may
# take.
MOST_KNOTS = 2**22
# A gaussian pulse is six standard deviations long on either side: exp(-18) = 1.5e-8 of its height
# is cut off, and taken from all of it.
GAUSSIAN_WIDTHS = 12.0

# Keys that each signal needs, and that it may have.
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
    """What a drive follows: times [s], displacements [m] or forces [N], and their slopes
    where they are known."""

    time: np.ndarray
    value: np.ndarray
    slope: np.ndarray | None = None


def highest(end: Any) -> float:
    """A frequency F [Hz] such that no fourth derivative of the signal exceeds (2 pi F)^4 times
    its amplitude."""
    if end.signal == "pulse":
        # half a period; and of a gaussian 3^(1/4)/(2 pi) = .2095 of one over its standard deviation
        return (
            0.5 / end.duration
            if end.shape == "half-sine"
            else 0.2095 * GAUSSIAN_WIDTHS / end.duration
        )
    if end.signal == "harmonic" and end.ramp_from:
        # each derivative of the ramp, the k-th, is below (840^(1/4)/ramp)^k, so that those of the
        # angle add less than 1.5 of it, and the amplitude's one (see `_with_ramps`)
        return float(max(end.frequency, end.ramp_from[1]) + 2.5 * 0.857 / end.ramp)
    if end.signal == "harmonic":
        top = end.frequency
    elif end.signal == "noise":
        top = end.band[1]
    else:
        # of sin(p), with p'' = c: p'^4 + 6 c p'^2 + 3 c^2 < (p' + (3 c^2)^(1/4))^4, and (3 (2
        # pi)^2)^(1/4)/(2 pi) = .5251
        rate = abs(end.to - getattr(end, "from")) / end.duration
        top = max(getattr(end, "from"), end.to) + 0.5251 * math.sqrt(rate)
    # of a product with the ramp: its k-th derivative stays below (840^(1/4)/ramp)^k, 840^(1/4)/(2
    # pi) = .857 (see `_with_ramps`)
    return float(top + (0.857 / end.ramp if end.ramp else 0.0))


def knots(end: Any, run: float) -> float:
    """How many knots a signal's table takes, in a run of that length [s]."""
    return KNOTS_PER_PERIOD * (length(end, run) * highest(end) + 2.0)


def length(end: Any, run: float) -> float:
    """How long a signal lasts [s]: the whole run where it has no duration."""
    return run if end.duration is None else float(end.duration)


def signal_table(end: Any, run: float, period: float | None = None) -> Drive:
    """The table of a signal in a run of that length [s]; `period` is that of noise without a
    duration, else the run [s].

    One without a duration goes on two periods beyond the run, whose last step may end behind its
    end.
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
    """A signal about its constant part, which rises and falls with it."""
    time, value, slope = drive
    if not end.dc:
        return drive
    part, change = _with_ramps(end, time, np.full(time.size, end.dc), np.zeros(time.size))
    return Drive(time, value + part, slope + change)


def _with_ramps(
    end: Any, time: np.ndarray, value: np.ndarray, slope: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A signal times a factor that rises from 0 to 1 over the ramp and falls so before the end.

    35 x^4 - 84 x^5 + 70 x^6 - 20 x^7: the lowest polynomial with three derivatives of zero at both
    ends. Its derivatives reach 2.19, 7.51, 52.5 and 840, each below 840^(k/4).
    """
    if not end.ramp:
        return value, slope
    whole = math.inf if end.duration is None else end.duration
    (rise, up), (fall, down) = (_rise(t / end.ramp) for t in (time, whole - time))
    if end.ramp_from:
        # the constant part goes on
        rise, up = np.ones_like(rise), np.zeros_like(up)
    factor, steepness = rise * fall, (up * fall - rise * down) / end.ramp
    return value * factor, slope * factor + value * steepness


def _rise(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The factor of a ramp, and its slope."""
    x = np.clip(x, 0.0, 1.0)
    rise = x * x * x * x * (35.0 + x * (-84.0 + x * (70.0 - 20.0 * x)))
    return rise, 140.0 * (x * (1.0 - x)) ** 3


def _ramped_from(end: Any, time: np.ndarray) -> Drive:
    """A harmonic whose amplitude and frequency go over the ramp from those of another."""
    amplitude, frequency = end.ramp_from
    rise, up = _rise(time / end.ramp)
    size = amplitude + (end.amplitude - amplitude) * rise
    growth = (end.amplitude - amplitude) * up / end.ramp
    angle = phase_at(end, time)
    sine, cosine = np.sin(angle), np.cos(angle)
    turning = 2.0 * math.pi * (frequency + (end.frequency - frequency) * rise)
    return Drive(time, size * sine, growth * sine + size * turning * cosine)


def phase_at(end: Any, time: Any) -> Any:
    """Phase of a harmonic at a time [rad]."""
    periods = end.frequency * time
    if end.ramp_from:
        x = np.clip(time / end.ramp, 0.0, 1.0)
        # the integral of the factor, which is a half over the ramp
        risen = x * x * x * x * x * (7.0 + x * (-14.0 + x * (10.0 - 2.5 * x)))
        before, past = end.ramp_from[1] - end.frequency, np.maximum(time - end.ramp, 0.0)
        periods = periods + before * (time - end.ramp * risen - past)
    return 2.0 * math.pi * periods + (end.phase or 0.0)


def lines(end: Any, run: float) -> tuple[int, int]:
    """First and last of the whole numbers of periods that noise is made of."""
    whole = length(end, run)
    return math.ceil(end.band[0] * whole), math.floor(end.band[1] * whole)


def _noise(end: Any, run: float, period: float) -> Drive:
    """Lines of equal amplitude and random phase at all whole numbers of periods in the band:
    their mean square is exact over the whole."""
    duration, (first, last) = length(end, period), lines(end, period)
    n = math.ceil(KNOTS_PER_PERIOD * highest(end) * duration)
    # the raw stream of a bit generator stays the same in all versions of NumPy (NEP 19), that of
    # random() need not
    raw = np.random.PCG64(end.seed).random_raw(last - first + 1)
    phases = np.exp(2j * math.pi * ((raw >> np.uint64(11)) * 2.0**-53))
    spectrum = np.zeros(n // 2 + 1, dtype=complex)
    spectrum[first : last + 1] = 0.5 * n * end.rms * math.sqrt(2.0 / (last - first + 1)) * phases
    value = np.fft.irfft(spectrum, n)
    slope = np.fft.irfft(spectrum * (2j * math.pi / duration) * np.arange(spectrum.size), n)
    # the next period begins as this one did
    many = n + 1
    if end.duration is None:
        many = (n if run == duration else math.ceil(run * n / duration)) + 2 * KNOTS_PER_PERIOD
    place = np.arange(many)
    time = place * (duration / n)
    value, slope = _with_ramps(end, time, value[place % n], slope[place % n])
    return _with_constant(end, Drive(time, value, slope))
