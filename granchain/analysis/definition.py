"""First pulse of a trace: start, end, peak, and width; and the pulses after it.

A trace without a pulse has peak 0 and arrival nan, without a warning. SI units.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from granchain.errors import GranchainError

# The first pulse starts at this fraction of the trace's largest force. It ends when the force first
# falls below this fraction of its running maximum. The definition is our choice and is the same for
# computed and measured traces.
PULSE_BEGINS = 0.01
PULSE_ENDS = 0.5
# Ahead of the wave, forces of a loaded chain fluctuate by rounding, by 1e-16 to 1e-14 of their
# values (measured: 36 chains of different beads). A pulse exceeds this fraction of the static force
# (our choice).
OF_REST = 1e-9
# A maximum before the peak belongs to another pulse if the force falls after it by more than this
# fraction of the maximum, and by more than this many standard deviations of its noise. A single
# pulse has two humps if the law has a kink, and at a first bead between two damped contacts: the
# force falls by up to 0.027 between them (measured: 50 laws, restitution 0.65, 0.15 to 15 m/s).
# Between two equal Gaussian pulses, it falls by 0.03 if they are 2.22 standard deviations apart,
# and not at all if they are less than 2 apart. Of a million differences of two samples of Gaussian
# noise, one is above 5 sqrt(2).
MERGED_FALL, MERGED_NOISE = 0.03, 6.0 * math.sqrt(2.0)


def first_pulse(
    force: ArrayLike, baseline: float = 0.0, *, level: float | None = None, doubt: float = 0.0
) -> slice:
    """Return the samples of the first pulse of a trace.

    The pulse starts at the first sample of at least 1 % of the largest force and ends at the first
    sample below half of the running maximum, or at the end of the trace. Samples after the first
    nan are ignored.

    Parameters
    ----------
    force : array (n,)
        Forces [N].
    baseline : float
        Static force before the pulse, which is subtracted [N].
    level : float, optional
        Force above the baseline at which the pulse starts, instead of 1 % of the largest force [N].
    doubt : float
        Margin by which the force must be below half to end the pulse [N].

    Returns
    -------
    slice
        Empty if the trace has no force above the baseline except rounding errors.
    """
    above = until_nan(force) - baseline
    largest = above.max(initial=0.0)
    level = PULSE_BEGINS * largest if level is None else level
    if not (largest > OF_REST * abs(baseline) and largest >= level):
        return slice(0, 0)
    start = int(np.argmax(above >= level))
    after = above[start:]
    fallen = after < PULSE_ENDS * np.maximum.accumulate(after) - doubt
    return slice(start, start + int(np.argmax(fallen)) if fallen.any() else len(above))


def until_nan(values: ArrayLike) -> np.ndarray:
    """Return the samples before the first nonfinite one, contiguous in memory."""
    array = np.ascontiguousarray(values, dtype=float)
    finite = np.isfinite(array)
    return array if finite.all() else array[: np.argmin(finite)]


class Peak(NamedTuple):
    """Peak of a pulse.

    Attributes
    ----------
    force, time : float
        Peak force [N] and its time [s].
    complete : bool
        Whether the trace contains the end of the pulse. If not, a larger force may follow.
    jump : bool
        Whether the peak is the force at one side of a jump, or at a kink.
    sampled : bool
        Whether the force may have jumped between samples. The peak may then be too low by the
        difference of two samples.
    merged : bool
        Whether this is the peak of a second, larger pulse that arrived before the force had
        decreased to half (see `has_merged`).
    sample : int
        Index of the largest sample of the pulse.
    """

    force: float
    time: float
    complete: bool
    jump: bool = False
    sampled: bool = False
    merged: bool = False
    sample: int = 0


NO_PEAK = Peak(0.0, math.nan, False)


def has_merged(force: ArrayLike, baseline: float = 0.0, noise: float = 0.0) -> bool:
    """Return whether a second, larger pulse has merged with the first.

    The peak then belongs to the second pulse. This is the case if the force has another maximum
    before its largest value in the pulse: it decreases from there by more than 3 % of that maximum
    (above the baseline) and by more than 8.5 standard deviations of its noise, but not to half, and
    then rises above it.

    Parameters
    ----------
    force : array (n,)
        Forces [N].
    baseline : float
        Static force [N].
    noise : float
        Standard deviation of the noise of a measured force [N]. It is 0 for a computed force.
    """
    samples = until_nan(force)
    return _is_passed(samples[first_pulse(samples, baseline)] - baseline, noise)


def _is_passed(pulse: np.ndarray, noise: float) -> bool:
    """Return whether a pulse falls and rises again before its peak. See `has_merged`."""
    rise = pulse[: np.argmax(pulse) + 1] if len(pulse) else pulse
    so_far = np.maximum.accumulate(rise)
    return bool((so_far - rise > np.maximum(MERGED_FALL * so_far, MERGED_NOISE * noise)).any())


class ForceJumps(NamedTuple):
    """Jumps and kinks of a sampled force.

    `force` [N] is the largest force next to a jump since the previous sample, and `time` [s] its
    time. They are nan if there is no jump.
    """

    force: np.ndarray
    time: np.ndarray

    def every(self, count: int, phase: int = 0) -> ForceJumps:
        """Return the jumps for every `count`-th sample, starting with sample `phase`."""
        rows = -(-max(len(self.force) - phase, 0) // count)
        force, time = np.full(rows, math.nan), np.full(rows, math.nan)
        for i in np.flatnonzero(np.isfinite(self.force)):
            row = max(int(-(-(i - phase) // count)), 0)
            if row < rows and not self.force[i] <= force[row]:
                force[row], time[row] = self.force[i], self.time[i]
        return ForceJumps(force, time)

    def since(self, sample: int) -> ForceJumps:
        """Return the jumps from a sample on."""
        return ForceJumps(self.force[sample:], self.time[sample:])


def peak(
    time: ArrayLike,
    force: ArrayLike,
    baseline: float = 0.0,
    *,
    noise: float = 0.0,
    jumps: ForceJumps | None = None,
    smooth: bool = True,
) -> Peak:
    """Return the peak force and the arrival time of the first pulse of a trace.

    The peak is the maximum of a parabola through three samples, or a sample next to a jump of the
    force. For the elastic wave in the chain of 70 steel beads, samples at intervals of 2e-7 s
    underestimate the peak by up to 1.1e-4, and the parabola by 1e-7. A parabola never crosses a
    jump, because the samples 0, F, F - eps would give 9/8 F.

    Parameters
    ----------
    time : array (n,)
        Increasing times [s].
    force : array (n,)
        Forces [N].
    baseline : float
        Static force, which determines the start of the pulse and is part of the peak [N].
    noise : float
        Standard deviation of the noise of a measured force, which determines what is a maximum
        before the peak [N].
    jumps : ForceJumps, optional
        Jumps of the force between the samples.
    smooth : bool
        Whether the force is smooth, if the jumps are unknown. If it is not, the peak is the largest
        sample.

    Returns
    -------
    Peak
        The peak, or `NO_PEAK` if there is no pulse. If the largest sample of the pulse is the first
        or the last sample of the trace, the peak is that sample. If three or more consecutive
        samples are equally large, it is their middle.
    """
    samples, times = until_nan(force), np.asarray(time, dtype=float)
    window = first_pulse(samples, baseline)
    if window.start == window.stop:
        return NO_PEAK
    i = window.start + int(np.argmax(samples[window]))
    merged = _is_passed(samples[window] - baseline, noise)
    ended = window.stop < len(samples)
    complete = i > 0 and ended
    other = samples[i:] != samples[i]
    flat = int(np.argmax(other)) if other.any() else len(other)
    if complete and flat > 2:
        # A clipped sensor has a corner, which no parabola fits.
        at = 0.5 * float(times[i] + times[i + flat - 1])
        return Peak(float(samples[i]), at, complete, merged=merged, sample=i)
    if jumps is None and not smooth:
        return Peak(float(samples[i]), float(times[i]), complete, False, True, merged, i)
    height, at, jump = summit(times, samples, jumps, window)
    return Peak(height, at, complete or (jump and ended), jump, False, merged, i)


def summit(
    time: np.ndarray,
    values: np.ndarray,
    jumps: ForceJumps | None = None,
    window: slice = slice(0, None),
) -> tuple[float, float, bool]:
    """Return the largest value of a trace, its time [s], and whether it is at a jump.

    The value is the maximum of the parabola through samples between two jumps, or the value next to
    a jump.

    Parameters
    ----------
    time, values : array (n,)
        Times and values of the samples.
    jumps : ForceJumps, optional
        Jumps between the samples.
    window : slice
        Samples to search. A jump between the last of them and the next sample is included.
    """
    i = window.start + int(np.argmax(values[window]))
    height, at = _between_jumps(time, values, i, jumps)
    if jumps is not None:
        beside, when = largest_jump(jumps, window)
        if beside >= height:
            return beside, when, True
    return height, at, False


def largest_jump(jumps: ForceJumps, window: slice) -> tuple[float, float]:
    """Return the largest force next to a jump in a pulse [N] and its time [s].

    Both are nan without a jump.

    Parameters
    ----------
    jumps : ForceJumps
        Jumps between the samples.
    window : slice
        Samples of the pulse. A jump between the last of them and the next sample is included.
    """
    beside = jumps.force[window.start : None if window.stop is None else window.stop + 1]
    if not np.isfinite(beside).any():
        return math.nan, math.nan
    j = window.start + int(np.nanargmax(beside))
    return float(jumps.force[j]), float(jumps.time[j])


def static_force(force: np.ndarray) -> float:
    """Return the force of a sensor before the pulse, which is its first sample [N]."""
    return float(force[0]) if len(force) and math.isfinite(force[0]) else 0.0


def _between_jumps(
    time: np.ndarray, values: np.ndarray, i: int, jumps: ForceJumps | None
) -> tuple[float, float]:
    """Return the maximum of the parabola about the largest sample, i.

    The parabola uses samples between the same two jumps.

    If there are no such samples, return sample i.
    """
    n = len(values)
    if 0 < i < n - 1:
        # slot i contains the jump between samples i - 1 and i
        if jumps is None or not np.isfinite(jumps.force[i : i + 2]).any():
            return vertex(time[i - 1 : i + 2], values[i - 1 : i + 2])
        left, right = np.isnan(jumps.force[i : i + 2])
        before, after = (time[i - 1], jumps.time[i + 1]), (jumps.time[i], time[i + 1])
        for free, first, (low, high) in ((right, i, after), (left, i - 2, before)):
            clear = 0 <= first < n - 2 and not np.isfinite(jumps.force[first + 1 : first + 3]).any()
            if free and clear:
                height, at = vertex(time[first : first + 3], values[first : first + 3])
                if height > values[i] and low < at < high:
                    return height, at
    return float(values[i]), float(time[i])


def vertex(t: np.ndarray, f: np.ndarray) -> tuple[float, float]:
    """Return height and position of the vertex of a parabola through three samples.

    If the parabola has no maximum, return the middle sample.
    """
    slope, curvature = parabola(t, f)
    if not curvature < 0.0:
        return float(f[1]), float(t[1])
    shift = -0.5 * slope / curvature
    return float(f[1] + 0.5 * slope * shift), float(t[1] + shift)


def parabola(t: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the slope in the middle and the curvature of a parabola.

    The parabola passes through three samples. Many parabolas have their samples along the first
    axis.
    """
    left, right = t[0] - t[1], t[2] - t[1]
    # Newton's divided differences about the middle sample.
    slope_left, slope_right = (f[0] - f[1]) / left, (f[2] - f[1]) / right
    curvature = (slope_right - slope_left) / (right - left)
    return slope_left - curvature * left, curvature


def crossings(time: np.ndarray, force: np.ndarray, top: int, height: float) -> tuple[float, float]:
    """Return the times at which a trace crosses a height around sample `top`.

    One time is before the sample, and one after it. The samples are joined by lines.

    A time is nan if the trace does not go below the height on that side.
    """
    before, after = np.flatnonzero(force[:top] < height), np.flatnonzero(force[top:] < height)
    found = []
    for places, last in ((before, -1), (after + top - 1, 0)):
        i = int(places[last]) if len(places) else 0
        part = (height - force[i]) / (force[i + 1] - force[i]) if len(places) else math.nan
        found.append(float(time[i] + part * (time[i + 1] - time[i])))
    return found[0], found[1]


def pulse_width(
    time: ArrayLike,
    force: ArrayLike,
    level: float = 0.5,
    baseline: float = 0.0,
) -> float:
    """Return the width of the first pulse of a trace at a fraction of its height.

    The crossings are interpolated linearly.

    Parameters
    ----------
    time, force : array (n,)
        Times [s] and forces [N].
    level : float
        Fraction of the height above the baseline, between 0 and 1.
    baseline : float
        Static force [N].

    Returns
    -------
    float
        Width [s]. It is nan if the trace does not cross the level on both sides of the peak.
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level: {level!r} is out of range. It must be between 0 and 1.")
    return width_at(time, force, peak(time, force, baseline), baseline, level)


def width_at(
    time: ArrayLike, force: ArrayLike, top: Peak, baseline: float = 0.0, level: float = 0.5
) -> float:
    """Return the width of the pulse with a given peak. See `pulse_width`."""
    height = baseline + level * (top.force - baseline)
    left, right = (
        crossings(np.asarray(time, dtype=float), until_nan(force), top.sample, height)
        if top.complete
        else (math.nan, math.nan)
    )
    return right - left


class Pulse(NamedTuple):
    """One of the pulses of a trace.

    Attributes
    ----------
    peak, arrival : float
        Peak force [N], and its time [s].
    width : float
        Width at half height [s]. It is nan if the trace is not below half height on both sides, for
        example next to another pulse.
    complete, jump, sampled, merged : bool
        See `Peak`.
    """

    peak: float
    arrival: float
    width: float
    complete: bool
    jump: bool = False
    sampled: bool = False
    merged: bool = False


def pulse(
    time: ArrayLike,
    force: ArrayLike,
    baseline: float = 0.0,
    *,
    noise: float = 0.0,
    jumps: ForceJumps | None = None,
    smooth: bool = True,
) -> Pulse:
    """Return the first pulse of a trace, from `peak` and `pulse_width`."""
    top = peak(time, force, baseline, noise=noise, jumps=jumps, smooth=smooth)
    return Pulse(
        top.force,
        top.time,
        width_at(time, force, top, baseline),
        top.complete,
        top.jump,
        top.sampled,
        top.merged,
    )


def pulses(
    time: ArrayLike,
    force: ArrayLike,
    baseline: float = 0.0,
    share: float = 0.1,
    *,
    noise: float = 0.0,
    jumps: ForceJumps | None = None,
    smooth: bool = True,
) -> tuple[Pulse, ...]:
    """Return all distinct pulses of a trace.

    Later pulses are for example echoes and second waves.

    Each pulse is the result of `pulse` from the start of its rise. A later pulse starts at the
    minimum between it and the previous pulse, whose force had decreased to half.

    Parameters
    ----------
    time : array (n,)
        Increasing times [s].
    force : array (n,)
        Forces [N].
    baseline : float
        Static force [N].
    share : float
        Smallest rise of a pulse, from zero or from the minimum before it, divided by the largest
        force above the baseline. It must be above 0 and at most 1. Choose it larger than the noise
        of a measured force.
    noise : float
        Standard deviation of the noise of a measured force [N].
    jumps, smooth : ForceJumps, bool
        See `peak`.

    Returns
    -------
    tuple of Pulse
        The pulses. It is empty for a trace without a pulse.

    Raises
    ------
    GranchainError
        If the share is not above 0 and at most 1.
    """
    if not (isinstance(share, (int, float)) and 0.0 < share <= 1.0):
        raise GranchainError(
            f"pulses: share: {share!r} is out of range. It must be a number above 0 and at most "
            "1. Give for example share=0.1."
        )
    samples = until_nan(force)
    times, above = np.asarray(time, dtype=float)[: len(samples)], samples - baseline
    needed = share * above.max(initial=0.0)
    found: list[Pulse] = []
    begin = 0
    while length := first_pulse(samples[begin:], baseline).stop:
        later = None if jumps is None else jumps.since(begin)
        one = pulse(
            times[begin:], samples[begin:], baseline, noise=noise, jumps=later, smooth=smooth
        )
        if one.peak - baseline - (above[begin] if begin else 0.0) >= needed:
            found.append(one)
        # lowest sample after the end of the pulse and before the next sufficient rise
        after = above[begin + length :]
        risen = np.flatnonzero(after - np.minimum.accumulate(after) >= needed)
        if not len(risen):
            break
        begin += length + int(np.argmin(after[: risen[0]]))
    return tuple(found)


def pulse_stop(force: ArrayLike, baseline: float = 0.0) -> int | None:
    """Return the number of samples up to the end of the first pulse of a trace.

    The pulse ends at the sample after the peak where the force above the baseline is at most 1 % of
    the peak or starts to rise again. The number is 0 without a pulse, and None if the trace ends
    before the pulse.
    """
    samples = until_nan(force)
    above, window = samples - baseline, first_pulse(samples, baseline)
    if window.start == window.stop:
        return 0
    i = window.start + int(np.argmax(above[window]))
    after = above[i:]
    ended = (after[:-1] <= PULSE_BEGINS * above[i]) | (np.diff(after) > 0.0)
    return i + int(np.argmax(ended)) + 1 if ended.any() else None


def passed_on(above: np.ndarray, end: float) -> float:
    """Return the trapezoidal sum of a trace up to a position between samples [N].

    The sum times the sampling interval is the momentum of a body that was at rest and on which only
    this force acts.

    Parameters
    ----------
    above : array (n,)
        Force above the baseline [N].
    end : float
        Position in samples, at most that of the last sample.
    """
    whole = int(end)
    found = above[: whole + 1].sum() - 0.5 * (above[0] + above[whole])
    if part := end - whole:
        found += part * (above[whole] + 0.5 * part * (above[whole + 1] - above[whole]))
    return float(found)


def pulse_impulse(time: ArrayLike, force: ArrayLike, baseline: float = 0.0) -> float:
    """Return the impulse of the first pulse of a trace [N s].

    It is the integral from the start to `pulse_stop`.

    Parameters
    ----------
    time, force : array (n,)
        Times [s] and forces [N].
    baseline : float
        Static force, which is subtracted [N].

    Returns
    -------
    float
        Impulse. It is 0 if there is no pulse, and nan if the trace ends before the pulse.
    """
    stop = pulse_stop(force, baseline)
    if stop is None:
        return math.nan
    above = np.asarray(force, dtype=float)[:stop] - baseline
    return float(np.trapezoid(above, np.asarray(time, dtype=float)[:stop])) if stop else 0.0
