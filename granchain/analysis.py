"""What a run gives: peaks, arrivals, wave speed, width, impulse, momentum, energy, and the order of its error.

Functions of plain arrays first; `summary` applies them to a Result. A trace without a pulse has peak 0 and arrival nan, without a
warning; `Summary.as_dict` writes nan as None. SI units.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from granchain.errors import CaseError, GranchainError, LawError

if TYPE_CHECKING:
    from granchain.output import Result

# The first pulse of a trace begins at this part of the trace's largest force and ends where the force first falls below this part of
# its running maximum: our definition, the same for computed and measured traces.
PULSE_BEGINS = 0.01
PULSE_ENDS = 0.5
# A maximum before the peak is one of its own where the force falls behind it by more than this part of it, and by more than so many
# standard deviations of its noise. Computed traces rise to their peak to rounding, or fall by 3e-3 and more on the way (measured: five
# laws, .15 to 20 m/s, 22 beads each); of a million differences of two readings of Gaussian noise one is above 5 sqrt(2).
MERGED_FALL, MERGED_NOISE = 1e-3, 6.0 * math.sqrt(2.0)


def first_pulse(force: ArrayLike, baseline: float = 0.0) -> slice:
    """Samples of a trace's first pulse.

    From the first sample of at least 1 % of the trace's largest force until the first that is below half the running maximum, or to
    the end of the trace. Samples from the first nan on are left out.

    Parameters
    ----------
    force : array (n,)
        [N].
    baseline : float
        Static force that was there before the pulse, taken off first [N].

    Returns
    -------
    slice
        Empty where the trace has no force above the baseline.
    """
    above = _finite(force) - baseline
    largest = above.max(initial=0.0)
    if not largest > 0.0:
        return slice(0, 0)
    start = int(np.argmax(above >= PULSE_BEGINS * largest))
    after = above[start:]
    fallen = np.flatnonzero(after < PULSE_ENDS * np.maximum.accumulate(after))
    return slice(start, start + int(fallen[0]) if len(fallen) else len(above))


def _finite(values: ArrayLike) -> np.ndarray:
    """The samples before the first that is not a finite number."""
    array = np.asarray(values, dtype=float)
    bad = np.flatnonzero(~np.isfinite(array))
    return array[: bad[0]] if len(bad) else array


class Peak(NamedTuple):
    """Peak of a pulse.

    Attributes
    ----------
    force, time : float
        [N], [s].
    complete : bool
        Whether the trace goes on beyond it: else the peak is still to come.
    jump : bool
        Whether it is the force on one side of a jump, or at a kink.
    sampled : bool
        Whether it comes from samples between which the force may have jumped: it may be low by what lies between two of them.
    merged : bool
        Whether it is the peak of another, larger pulse, that has passed the first before the force had fallen to half: `has_merged`.
    """

    force: float
    time: float
    complete: bool
    jump: bool = False
    sampled: bool = False
    merged: bool = False


NO_PEAK = Peak(0.0, math.nan, False)


def has_merged(force: ArrayLike, baseline: float = 0.0, noise: float = 0.0) -> bool:
    """Whether the peak of a trace's first pulse is that of a second one, which has passed the first before it had fallen to half.

    So it is where the force, before its largest value in the pulse, has a maximum of its own: it falls from there by more than 1e-3 of that
    maximum (above the baseline) and by more than 8.5 standard deviations of its noise, less than to half, and then rises above it.

    Parameters
    ----------
    force : array (n,)
        [N].
    baseline : float
        Static force [N].
    noise : float
        Standard deviation of the noise of a measured force [N]; 0 for a computed one.
    """
    above = _finite(force) - baseline
    pulse = above[first_pulse(above)]
    rise = pulse[: int(np.argmax(pulse)) + 1] if len(pulse) else pulse
    so_far = np.maximum.accumulate(rise)
    return bool((so_far - rise > np.maximum(MERGED_FALL * so_far, MERGED_NOISE * noise)).any())


class Jumps(NamedTuple):
    """Jumps and kinks of a sampled force: `force` [N], the largest beside one since the sample before, and its `time` [s]; nan for none."""

    force: np.ndarray
    time: np.ndarray

    def every(self, count: int, phase: int = 0) -> Jumps:
        """Of every so many of the samples, beginning with one of the first."""
        rows = -(-max(len(self.force) - phase, 0) // count)
        force, time = np.full(rows, math.nan), np.full(rows, math.nan)
        for i in np.flatnonzero(np.isfinite(self.force)):
            row = max(int(-(-(i - phase) // count)), 0)
            if row < rows and not self.force[i] <= force[row]:
                force[row], time[row] = self.force[i], self.time[i]
        return Jumps(force, time)


def peak(
    time: ArrayLike, force: ArrayLike, baseline: float = 0.0, *, noise: float = 0.0, jumps: Jumps | None = None, smooth: bool = True
) -> Peak:
    """Peak force and arrival time of a trace's first pulse, by a parabola through three samples, or beside a jump of the force.

    The samples may be unevenly spaced in time. Of the elastic wave in the chain of 70 steel beads, samples 2e-7 s apart lose up to
    1.1e-4 of the peak, the parabola through them 1e-7. No parabola is laid across a jump: samples 0, F, F - eps would give 9/8 F.

    Parameters
    ----------
    time : array (n,)
        Increasing [s].
    force : array (n,)
        [N].
    baseline : float
        Static force, which decides where the pulse begins and is part of the peak [N].
    noise : float
        Standard deviation of the noise of a measured force, which decides what is a maximum before the peak [N].
    jumps : Jumps, optional
        Where the force jumps between the samples.
    smooth : bool
        Where the jumps are not known: whether there are none. If not, the peak is the largest sample.

    Returns
    -------
    Peak
        `NO_PEAK` where there is no pulse. Where the largest sample of the pulse is the first or last of the trace, that sample; where
        three or more in a row are equally large, their middle.
    """
    samples = _finite(force)
    times = np.asarray(time, dtype=float)
    window = first_pulse(samples, baseline)
    if window.start == window.stop:
        return NO_PEAK
    i = window.start + int(np.argmax(samples[window]))
    merged = has_merged(samples, baseline, noise)
    complete = 0 < i < len(samples) - 1
    beyond = np.flatnonzero(samples[i:] != samples[i])
    flat = int(beyond[0]) if len(beyond) else len(samples) - i
    if complete and flat > 2:
        # A sensor at its limit: no parabola through a corner.
        return Peak(float(samples[i]), 0.5 * float(times[i] + times[i + flat - 1]), True, merged=merged)
    if jumps is None and not smooth:
        return Peak(float(samples[i]), float(times[i]), complete, sampled=True, merged=merged)
    top = summit(times, samples, jumps, window)
    return Peak(top.height, top.time, complete or top.jump, top.jump, merged=merged)


class Summit(NamedTuple):
    """Largest value of a trace, its time [s], and whether it lies beside a jump."""

    height: float
    time: float
    jump: bool


def summit(time: np.ndarray, values: np.ndarray, jumps: Jumps | None = None, within: slice = slice(0, None)) -> Summit:
    """Largest value of a trace: of the parabola through samples between two jumps, or beside a jump.

    Parameters
    ----------
    time, values : array (n,)
        Samples.
    jumps : Jumps, optional
        Between the samples.
    within : slice
        Samples of which the largest is sought; a jump may end the last of them, before the next sample.
    """
    i = within.start + int(np.argmax(values[within]))
    height, at = _between_jumps(time, values, i, jumps)
    if jumps is not None:
        beside = jumps.force[within.start : None if within.stop is None else within.stop + 1]
        if np.isfinite(beside).any():
            j = within.start + int(np.nanargmax(beside))
            if jumps.force[j] >= height:
                return Summit(float(jumps.force[j]), float(jumps.time[j]), True)
    return Summit(height, at, False)


def largest_jump(force: np.ndarray, beside: np.ndarray, at: np.ndarray) -> tuple[float, float]:
    """Largest force beside a jump in a sensor's first pulse, and its time; nan where the pulse has none.

    Parameters
    ----------
    force, beside : array (n,)
        Samples, and the largest force beside a jump since the sample before [N].
    at : array (n,)
        Time of that jump [s].
    """
    window = first_pulse(force, static(force))
    there = beside[window.start : window.stop + 1]
    if not np.isfinite(there).any():
        return math.nan, math.nan
    j = window.start + int(np.nanargmax(there))
    return float(beside[j]), float(at[j])


def _between_jumps(time: np.ndarray, values: np.ndarray, i: int, jumps: Jumps | None) -> tuple[float, float]:
    """Height and place of the parabola about sample i, the largest, from samples between the same two jumps; else of that sample."""
    n = len(values)
    if 0 < i < n - 1:
        # slot i is for what lies between samples i - 1 and i
        if jumps is None or not np.isfinite(jumps.force[i : i + 2]).any():
            return vertex(time[i - 1 : i + 2], values[i - 1 : i + 2])
        left, right = np.isnan(jumps.force[i : i + 2])
        for free, first, low, high in ((right, i, jumps.time[i], time[i + 1]), (left, i - 2, time[i - 1], jumps.time[i + 1])):
            if free and 0 <= first < n - 2 and not np.isfinite(jumps.force[first + 1 : first + 3]).any():
                height, at = vertex(time[first : first + 3], values[first : first + 3])
                if height > values[i] and low < at < high:
                    return height, at
    return float(values[i]), float(time[i])


def vertex(t: np.ndarray, f: np.ndarray) -> tuple[float, float]:
    """Height and place of the parabola through three samples; of the middle one where it has no largest value."""
    slope, curvature = parabola(t, f)
    if not curvature < 0.0:
        return float(f[1]), float(t[1])
    shift = -0.5 * slope / curvature
    return float(f[1] + 0.5 * slope * shift), float(t[1] + shift)


def parabola(t: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slope in the middle, and curvature, of the parabola through three samples; or of many, samples along the first axis."""
    left, right = t[0] - t[1], t[2] - t[1]
    # Newton's divided differences about the middle sample.
    slope_left, slope_right = (f[0] - f[1]) / left, (f[2] - f[1]) / right
    curvature = (slope_right - slope_left) / (right - left)
    return slope_left - curvature * left, curvature


def pulse_width(
    time: ArrayLike, force: ArrayLike, level: float = 0.5, baseline: float = 0.0, *, jumps: Jumps | None = None, smooth: bool = True
) -> float:
    """Width of a trace's first pulse at a part of its height, by linear interpolation.

    Parameters
    ----------
    time, force : array (n,)
        [s], [N].
    level : float
        Part of the height above the baseline, between 0 and 1.
    baseline : float
        Static force [N].
    jumps, smooth : Jumps, bool
        See `peak`.

    Returns
    -------
    float
        [s]; nan where the trace does not cross the level on both sides of the peak.
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level: got {level!r}, allowed: between 0 and 1")
    samples, times = _finite(force), np.asarray(time, dtype=float)
    window = first_pulse(samples, baseline)
    top = peak(times, samples, baseline, jumps=jumps, smooth=smooth)
    if not top.complete:
        return math.nan
    i = window.start + int(np.argmax(samples[window]))
    height = baseline + level * (top.force - baseline)
    before, after = np.flatnonzero(samples[:i] < height), np.flatnonzero(samples[i:] < height)
    if not len(before) or not len(after):
        return math.nan
    return _crossing(times, samples, height, i + int(after[0]) - 1) - _crossing(times, samples, height, int(before[-1]))


class Pulse(NamedTuple):
    """One of the pulses of a trace.

    Attributes
    ----------
    peak, arrival : float
        Peak force [N], and its time [s].
    width : float
        At half height [s]; nan where the trace is not below it on both sides, as beside another pulse.
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


def pulses(
    time: ArrayLike,
    force: ArrayLike,
    baseline: float = 0.0,
    share: float = 0.1,
    *,
    noise: float = 0.0,
    jumps: Jumps | None = None,
    smooth: bool = True,
) -> tuple[Pulse, ...]:
    """All pulses of a trace that stand out, one after the other: the first, and those that come later, as echoes and second waves.

    Each is what `first_pulse`, `peak` and `pulse_width` find from where it begins to rise, so that the first is theirs. A later one begins
    at the lowest force between it and the pulse before, which has ended: its force had fallen to half.

    Parameters
    ----------
    time : array (n,)
        Increasing [s].
    force : array (n,)
        [N].
    baseline : float
        Static force [N].
    share : float
        Part of the trace's largest force above the baseline by which a pulse rises, from zero or from the lowest force before it, above 0
        and at most 1. Take it larger than the noise of a measured force: what rises by less is no pulse.
    noise : float
        Standard deviation of the noise of a measured force [N].
    jumps, smooth : Jumps, bool
        See `peak`.

    Returns
    -------
    tuple of Pulse
        In their order; empty where the trace has no force above the baseline.

    Raises
    ------
    GranchainError
        For a share that is none.
    """
    if not (isinstance(share, (int, float)) and 0.0 < share <= 1.0):
        raise GranchainError(f"pulses: share: got {share!r}, allowed a number above 0, at most 1; give for example share=0.1")
    samples = _finite(force)
    times, above = np.asarray(time, dtype=float)[: len(samples)], samples - baseline
    needed = share * above.max(initial=0.0)
    found: list[Pulse] = []
    begin: int | None = 0
    while begin is not None:
        rest, beside = slice(begin, None), None if jumps is None else Jumps(jumps.force[begin:], jumps.time[begin:])
        top = peak(times[rest], samples[rest], baseline, noise=noise, jumps=beside, smooth=smooth)
        if top is not NO_PEAK and top.force - baseline - (above[begin] if begin else 0.0) >= needed:
            width = pulse_width(times[rest], samples[rest], baseline=baseline, jumps=beside, smooth=smooth)
            found.append(Pulse(top.force, top.time, width, top.complete, top.jump, top.sampled, top.merged))
        length = first_pulse(above[rest]).stop
        begin = _next_rise(above, begin + length, needed) if length else None
    return tuple(found)


def _next_rise(above: np.ndarray, end: int, needed: float) -> int | None:
    """The lowest sample after a pulse's end, before the force rises by what is needed; None where it does not."""
    after = above[end:]
    risen = np.flatnonzero(after - np.minimum.accumulate(after) >= needed)
    return end + int(np.argmin(after[: risen[0]])) if len(risen) else None


def _crossing(t: np.ndarray, f: np.ndarray, height: float, i: int) -> float:
    """Time at which the line from sample i to the next passes a height."""
    return float(t[i] + (height - f[i]) / (f[i + 1] - f[i]) * (t[i + 1] - t[i]))


def impulse(time: ArrayLike, force: ArrayLike) -> float:
    """Impulse of a force: its integral over time by the trapezoidal rule [N s].

    Parameters
    ----------
    time, force : array (n,)
        [s], [N].
    """
    return float(np.trapezoid(np.asarray(force, dtype=float), np.asarray(time, dtype=float)))


def pulse_impulse(time: ArrayLike, force: ArrayLike, baseline: float = 0.0) -> float:
    """Impulse of a trace's first pulse alone [N s].

    From the start of the trace to where, after the peak, the force above the baseline is down to 1 % of the peak or begins to rise
    again.

    Parameters
    ----------
    time, force : array (n,)
        [s], [N].
    baseline : float
        Static force, taken off [N].

    Returns
    -------
    float
        0 where there is no pulse; nan where the trace ends before the pulse does.
    """
    above = _finite(force) - baseline
    stop = pulse_stop(above)
    if stop is None:
        return math.nan
    return impulse(np.asarray(time, dtype=float)[:stop], above[:stop]) if stop else 0.0


def pulse_stop(force: ArrayLike, baseline: float = 0.0) -> int | None:
    """How many samples of a trace there are to the end of its first pulse.

    It ends with the sample where, after the peak, the force above the baseline is down to 1 % of the peak or begins to rise again; 0
    without a pulse, None where the trace ends before.
    """
    above = _finite(force) - baseline
    window = first_pulse(above)
    if window.start == window.stop:
        return 0
    i = window.start + int(np.argmax(above[window]))
    after = above[i:]
    ended = (after[:-1] <= PULSE_BEGINS * above[i]) | (np.diff(after) > 0.0)
    return i + int(np.argmax(ended)) + 1 if ended.any() else None


def momentum(mass: ArrayLike, velocity: ArrayLike) -> np.ndarray:
    """Momentum of a row of bodies [kg m/s].

    Parameters
    ----------
    mass : array (n_bodies,)
        [kg].
    velocity : array (..., n_bodies)
        [m/s].

    Returns
    -------
    array (...)
    """
    return np.asarray(np.asarray(velocity, dtype=float) @ np.asarray(mass, dtype=float))


def positions(radius: ArrayLike, gap: ArrayLike = 0.0) -> np.ndarray:
    """Centres of a row of bodies, the first at 0 [m].

    Parameters
    ----------
    radius : array (n_bodies,)
        [m].
    gap : float or array (n_bodies - 1,)
        Between each body and the next [m].

    Returns
    -------
    array (n_bodies,)
    """
    r = np.asarray(radius, dtype=float)
    return np.concatenate([[0.0], np.cumsum(r[:-1] + r[1:] + gap)])


def wave_speed(position: ArrayLike, arrival: ArrayLike) -> float:
    """Speed of a wave from its arrivals: inverse slope of the least-squares line of arrival against position.

    Parameters
    ----------
    position : array (n,)
        Of the sensors [m].
    arrival : array (n,)
        [s]; nan where there is none.

    Returns
    -------
    float
        [m/s], negative where the wave runs towards smaller positions; nan with fewer than two places, and where arrivals do not go with
        the position, as those of two waves that meet.
    """
    x, t = np.asarray(position, dtype=float), np.asarray(arrival, dtype=float)
    known = np.isfinite(x) & np.isfinite(t)
    x, t = x[known], t[known]
    if len(x) < 2:
        return math.nan
    x, t = x - x.mean(), t - t.mean()
    spread, slope = float(x @ x), float(x @ t)
    # the rounding of a sum that is zero
    return spread / slope if abs(slope) > 1e-12 * math.sqrt(spread * float(t @ t)) else math.nan


def out_of_order(position: ArrayLike, arrival: ArrayLike, width: ArrayLike = 0.0) -> tuple[int, int] | None:
    """Two sensors whose arrivals show that they are of more than one wave; None where they may be of one.

    Along the row the arrivals of one wave do not turn back: each comes, up to the width of its pulse, after all before it, or before them
    all where the wave runs towards smaller positions.

    Parameters
    ----------
    position : array (n,)
        Of the sensors [m].
    arrival : array (n,)
        [s]; nan where there is none.
    width : float or array (n,)
        Of the pulses [s]; nan for 0.

    Returns
    -------
    tuple or None
        Indices of the sensor that was passed last and of the one that most turns back, along the direction in which less do.
    """
    x, t = np.asarray(position, dtype=float), np.asarray(arrival, dtype=float)
    known = np.flatnonzero(np.isfinite(x) & np.isfinite(t))
    if len(known) < 3:
        return None
    order = known[np.argsort(x[known], kind="stable")]
    t, spared = t[order], np.nan_to_num(np.broadcast_to(np.asarray(width, dtype=float), x.shape))[order]
    # towards larger positions, and towards smaller ones
    backward = [np.maximum.accumulate(t) - t - spared, np.maximum.accumulate(t[::-1])[::-1] - t - spared]
    if min(float(back.max()) for back in backward) <= 0.0:
        return None
    way = int(np.argmin([np.count_nonzero(back > 0.0) for back in backward]))
    i = int(np.argmax(backward[way]))
    before = slice(0, i) if way == 0 else slice(i + 1, None)
    return int(order[before][np.argmax(t[before])]), int(order[i])


def speeds_between(position: ArrayLike, arrival: ArrayLike) -> np.ndarray:
    """Speed of a wave between each sensor and the next.

    Parameters
    ----------
    position, arrival : array (n,)
        [m], [s]; nan where there is no arrival.

    Returns
    -------
    array (n - 1,)
        [m/s]; nan where one of the two has no arrival or both have the same.
    """
    distance, delay = np.diff(np.asarray(position, dtype=float)), np.diff(np.asarray(arrival, dtype=float))
    speeds = np.full(len(delay), math.nan)
    known = delay != 0.0
    speeds[known] = distance[known] / delay[known]
    return speeds


# Where displacements between snapshots differ from the course of the velocities by more than this part of the largest velocity over an
# interval, the snapshots do not hold the motion. Of a solitary wave (Hertz), five snapshots over the half-width of the pulse leave 2.2e-4
# and give courses within 2e-5 of its height, where straight lines are 0.027 off; 1.5 of them leave 0.039, and 0.005 (measured, phases of
# the snapshots in fifths of an interval).
COARSE = 0.04


def between_snapshots(time: ArrayLike, displacement: ArrayLike, velocity: ArrayLike, parts: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Velocities between snapshots, from the displacements and velocities in them: nothing is smoothed, every snapshot is kept.

    The polynomial of the fifth degree that has displacement u and velocity v of a snapshot and its two neighbours (Hermite 1878,
    doi:10.1515/crll.1878.84.70) gives the acceleration a there. Between two snapshots the velocity is the polynomial of the fourth degree
    that has v and a at both and as its integral the difference of u: slope and value go on smoothly.

    Parameters
    ----------
    time : array (n,)
        Of the snapshots, increasing [s].
    displacement, velocity : array (n, n_bodies)
        [m], [m/s].
    parts : int
        Into how many parts an interval is divided.

    Returns
    -------
    tuple or None
        Times (parts (n - 1) + 1,) [s] and velocities (the same, n_bodies) [m/s]; None for fewer than three snapshots, and for those so far
        apart that their displacements do not agree with their velocities, see `COARSE`.
    """
    t, u, v = (np.asarray(values, dtype=float) for values in (time, displacement, velocity))
    if len(t) < 3:
        return None
    h = np.diff(t)[:, None]
    a = _accelerations(h, u, v)
    # what the cubic with these values and slopes leaves of the difference of the displacements, as a velocity
    left = np.diff(u, axis=0) / h - 0.5 * (v[:-1] + v[1:]) - h / 12.0 * (a[:-1] - a[1:])
    if not np.abs(left).max(initial=0.0) <= COARSE * np.abs(v).max(initial=0.0):
        return None
    s = (np.arange(parts) / parts)[None, :, None]
    v0, v1, a0, a1 = (values[:, None, :] for values in (v[:-1], v[1:], h * a[:-1], h * a[1:]))
    r = 1.0 - s
    course = v0 * (1.0 + 2.0 * s) * r * r + v1 * (3.0 - 2.0 * s) * s * s + (a0 * r - a1 * s) * s * r
    # 30 s^2 (1 - s)^2 has the integral 1
    course += left[:, None, :] * 30.0 * (s * r) ** 2
    times = t[:-1, None] + h * s[:, :, 0]
    return np.append(times.ravel(), t[-1]), np.concatenate([course.reshape(-1, v.shape[1]), v[-1:]])


def _accelerations(h: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Second derivative, at each of n >= 3 instants, of the fifth-degree polynomial through u and v there and at its neighbours."""
    before, after = h[:-1], h[1:]
    # of u(x) = u + v x + c2 x^2 + ... + c5 x^5 about the middle: conditions on u and v at -before and at after, x in units of the larger
    unit = np.maximum(before, after)
    rows = []
    for x in (-before / unit, after / unit):
        powers = [x**k for k in range(6)]
        rows += [np.concatenate(powers[2:], axis=1), np.concatenate([k * powers[k - 1] for k in range(2, 6)], axis=1)]
    sides = []
    for other, x in ((slice(None, -2), -before), (slice(2, None), after)):
        sides += [u[other] - u[1:-1] - v[1:-1] * x, (v[other] - v[1:-1]) * unit]
    c = np.linalg.solve(np.stack(rows, axis=1), np.stack(sides, axis=1)) / unit[:, :, None] ** 2
    first, last = -before[0] / unit[0], after[-1] / unit[-1]
    # (c2 x^2 + ... + c5 x^5)'' = 2 c2 + 6 c3 x + 12 c4 x^2 + 20 c5 x^3
    ends = [2.0 * c[i, 0] + 6.0 * c[i, 1] * x + 12.0 * c[i, 2] * x**2 + 20.0 * c[i, 3] * x**3 for i, x in ((0, first), (-1, last))]
    return np.concatenate([ends[:1], 2.0 * c[:, 0], ends[1:]])


# --------------------------------------------------------------------------------------------------------------------
# Order of the error in the time step


def observed_order(steps: ArrayLike, errors: ArrayLike) -> float:
    """Order of an error in the step: slope of the least-squares line of its logarithm against the logarithm of the step.

    Parameters
    ----------
    steps : array (n,)
        Positive, at least two different ones.
    errors : array (n,)
        Of one quantity at each step, in any unit; the sign does not matter, none may be 0.
    """
    h, e = np.asarray(steps, dtype=float), np.abs(np.asarray(errors, dtype=float))
    if h.shape != e.shape or h.ndim != 1 or len(np.unique(h)) < 2:
        raise ValueError(f"observed_order: got {h.shape} steps and {e.shape} errors, allowed: one error for each of two or more steps")
    if not (np.isfinite(h) & (h > 0.0)).all() or not (np.isfinite(e) & (e > 0.0)).all():
        raise ValueError("observed_order: steps and errors must be finite and not 0; an error of 0 has no order: leave it out")
    x, y = np.log(h), np.log(e)
    x -= x.mean()
    return float(x @ y / (x @ x))


def order_of_three(coarse: float, medium: float, fine: float, ratio: float = 2.0) -> float:
    """Order of convergence from one value at three steps, each smaller than the one before by the same ratio.

    p = ln|(coarse - medium)/(medium - fine)|/ln(ratio): Roache 1997, doi:10.1146/annurev.fluid.29.1.123.

    Parameters
    ----------
    coarse, medium, fine : float
        The quantity at the three steps.
    ratio : float
        Of a step to the next [1], above 1.

    Returns
    -------
    float
        nan where two of the values agree.
    """
    first, second = abs(coarse - medium), abs(medium - fine)
    if not (first > 0.0 and second > 0.0):
        return math.nan
    return math.log(first / second) / math.log(ratio)


class Extrapolation(NamedTuple):
    """Value at step 0 and the `error` that the finer of the two results has by it, fine minus extrapolated."""

    value: float
    error: float


def richardson(coarse: float, fine: float, ratio: float = 2.0, order: float = 2.0) -> Extrapolation:
    """Value at step 0 from the values at two steps.

    fine + (fine - coarse)/(ratio^order - 1): Richardson 1911, doi:10.1098/rsta.1911.0009.

    Parameters
    ----------
    coarse, fine : float
        The quantity at the larger and at the smaller step.
    ratio : float
        Of the larger step to the smaller [1], above 1.
    order : float
        Of the error in the step [1].
    """
    correction = (fine - coarse) / (ratio**order - 1.0)
    return Extrapolation(fine + correction, -correction)


# --------------------------------------------------------------------------------------------------------------------
# Power laws


class Exponent(NamedTuple):
    """A fitted power law: its exponent, the standard error of it, and the value where the key is 1."""

    value: float
    error: float
    factor: float


def power_law(x: np.ndarray, y: np.ndarray) -> Exponent:
    """Least-squares line of log y against log x: slope, and its standard error from the scatter about the line.

    Parameters
    ----------
    x, y : array (n,)
        Above 0; three or more different x.
    """
    good = np.isfinite(x) & np.isfinite(y)
    x, y = x[good], y[good]
    if len(np.unique(x)) < 3 or not ((x > 0.0).all() and (y > 0.0).all()):
        raise GranchainError(
            f"power_law: got {len(x)} values at {len(np.unique(x))} places, allowed: values above 0 at three or more places; sweep more"
        )
    u, v = np.log(x), np.log(y)
    away = u - u.mean()
    slope = float(away @ v / (away @ away))
    rest = v - v.mean() - slope * away
    error = math.sqrt(float(rest @ rest) / (len(u) - 2) / float(away @ away))
    return Exponent(slope, error, math.exp(float(v.mean() - slope * u.mean())))


# --------------------------------------------------------------------------------------------------------------------
# Of a Result


@dataclass(frozen=True)
class SensorPulse:
    """First pulse at one sensor.

    Attributes
    ----------
    bead : int
        Label of the bead.
    position : float
        Of its centre, the first body's at 0 [m].
    peak : float
        [N]; 0 without a pulse.
    arrival : float
        Time of the peak [s]; nan without a pulse.
    width : float
        At half height [s]; nan where the trace does not hold it whole.
    impulse : float
        [N s]; nan where the trace does not hold it whole.
    complete : bool
        Whether the trace goes on beyond the peak; else a larger force may be still to come.
    jump, sampled : bool
        See `Peak`.
    merged : bool
        Whether a second, larger pulse has passed the first before it had fallen to half, see `has_merged`: the numbers are then those of
        both, peak and arrival the second's.
    """

    bead: int
    position: float
    peak: float
    arrival: float
    width: float
    impulse: float
    complete: bool
    jump: bool = False
    sampled: bool = False
    merged: bool = False


# The ledger: kinetic + recoverable + plastic + viscous + clamp (+ drag) - external - (kinetic + recoverable at the start) = residual.
HELD = ("kinetic", "recoverable", "plastic", "viscous", "clamp")
LEDGER = (*HELD, "external", "residual")
# And held too, where the chain has some.
DRAG = "drag"


@dataclass(frozen=True)
class EnergyBalance:
    """Ledger of a run at its end [J], and its largest residual.

    Attributes
    ----------
    put_in : float
        See `energy_put_in`.
    recoverable_at_start : float
        What a static start had stored in the contacts.
    kinetic, recoverable, plastic, viscous, clamp, external, residual : float
        At the end.
    largest_residual : float
        Largest size of the residual over the run, relative to what was put in [1]; nan where nothing was.
    drag : float
        Lost to drag at the end; 0 in a chain without.
    """

    put_in: float
    recoverable_at_start: float
    kinetic: float
    recoverable: float
    plastic: float
    viscous: float
    clamp: float
    external: float
    residual: float
    largest_residual: float
    drag: float = 0.0

    @property
    def parts(self) -> dict[str, float]:
        """The ledger at the end by name, drag only where there is some [J]."""
        return {name: getattr(self, name) for name in (*HELD, *((DRAG,) if self.drag else ()), *LEDGER[len(HELD) :])}

    @property
    def line(self) -> str:
        """The balance in one line, in parts of what was put in; parts below 1e-9 of it are left out."""
        if not self.put_in > 0.0:
            return "energy: none was put in"
        stored = "recoverable" if self.recoverable_at_start == 0.0 else "recoverable, change since the start"
        values = {
            "kinetic": self.kinetic,
            stored: self.recoverable - self.recoverable_at_start,
            "plastic": self.plastic,
            "viscous": self.viscous,
            "clamp": self.clamp,
            "drag": self.drag,
        }
        parts = [f"{name} {100.0 * value / self.put_in:.3g} %" for name, value in values.items() if abs(value) > 1e-9 * self.put_in]
        return (
            f"energy: {self.put_in:.6g} J put in; at the end {'; '.join(parts) or 'nothing'}; "
            f"largest ledger residual {self.largest_residual:.1e} of it"
        )


@dataclass(frozen=True)
class Summary:
    """The results of a run in numbers; `as_dict` is ready for JSON.

    Attributes
    ----------
    title, law, status : str
        Of the case and the run.
    time_step : float
        [s].
    end : float
        Last time in the result [s]; nan where it holds none.
    sensors : tuple of SensorPulse
        In the order of the file.
    wave_speed : float
        By least squares of arrival against position [m/s]; nan with fewer than two sensors.
    energy : EnergyBalance or None
        None where the case asks for no ledger.
    wave_speed_beads : tuple of int
        The sensor beads that the wave speed is from: those whose first pulse has its peak in the trace and has not merged with another.
    out_of_order : tuple of int
        Two sensor beads whose arrivals show that there is more than one wave, so that there is no wave speed; empty where there is one.
    driven : str
        "harmonic", "chirp" or "noise" where such a signal drives the row: there is no first pulse then, and `sensors` is empty.
    """

    title: str
    law: str
    status: str
    time_step: float
    end: float
    sensors: tuple[SensorPulse, ...]
    wave_speed: float
    energy: EnergyBalance | None
    wave_speed_beads: tuple[int, ...] = ()
    out_of_order: tuple[int, ...] = ()
    driven: str = ""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Why there are no first pulses, or no wave speed."""
        said = []
        if self.driven:
            said.append(f"driven with {self.driven}: no first pulse; see granchain spectrum")
        if self.out_of_order:
            one, other = self.out_of_order
            said.append(f"no wave speed: the arrivals at beads {one} and {other} are out of order: there is more than one wave")
        return tuple(said)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, words, lists and dicts; a number that is not finite is None."""
        plain: dict[str, Any] = _plain(dataclasses.asdict(self))
        return plain


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def body_positions(result: Result) -> np.ndarray:
    """Centres of a result's bodies, the first at 0 [m], in the order of `result.bead`; nan where nothing states them.

    A file of a version before 0.2.0 has them through its case alone.
    """
    if "position" in result.variables:
        return np.asarray(result.position)
    try:
        return positions(result.radius, result.case.bodies()["gap"])
    except CaseError:
        # A file of a law that is not installed: the gaps are in the case alone.
        return np.full(len(result.radius), math.nan)


def sensor_pulses(result: Result) -> tuple[SensorPulse, ...]:
    """First pulse at every sensor of a result.

    The force at the start of a trace is the static one, of precompression or gravity: it is the baseline of the pulse.
    """
    if "sensor_force" not in result.variables:
        return ()
    time, labels = np.asarray(result.time), np.asarray(result.bead)
    centres, smooth = body_positions(result), is_smooth(result)
    pulses = []
    for i, (bead, force) in enumerate(zip(np.asarray(result.sensor_bead).tolist(), np.asarray(result.sensor_force).T, strict=True)):
        baseline = static(force)
        jumps = jumps_of(result, i)
        top = peak(time, force, baseline, jumps=jumps, smooth=smooth)
        pulses.append(
            SensorPulse(
                bead=int(bead),
                position=float(centres[np.flatnonzero(labels == bead)[0]]),
                peak=top.force,
                arrival=top.time,
                width=pulse_width(time, force, baseline=baseline, jumps=jumps, smooth=smooth),
                impulse=pulse_impulse(time, force, baseline),
                complete=top.complete,
                jump=top.jump,
                sampled=top.sampled,
                merged=top.merged,
            )
        )
    return tuple(pulses)


def pulses_at(result: Result, bead: int, share: float = 0.1) -> tuple[Pulse, ...]:
    """All pulses at a sensor of a result that stand out, see `pulses`; the force at the start of the trace is the baseline.

    Parameters
    ----------
    result : Result
    bead : int
        Label of the sensor bead.
    share : float
        See `pulses`.

    Raises
    ------
    GranchainError
        For a bead without a sensor.
    """
    beads = [int(label) for label in result.sensor_bead] if "sensor_bead" in result.variables else []
    if bead not in beads:
        there = ", ".join(map(str, beads)) or "none: this result has no sensors"
        raise GranchainError(f"pulses_at: bead: got {bead!r}, allowed {there}; name a sensor bead of the result")
    i = beads.index(bead)
    force = np.asarray(result.sensor_force[:, i])
    return pulses(result.time, force, static(force), share, jumps=jumps_of(result, i), smooth=is_smooth(result))


def static(force: np.ndarray) -> float:
    """Force of a sensor before the pulse [N]."""
    return float(force[0]) if len(force) and math.isfinite(force[0]) else 0.0


def jumps_of(result: Result, sensor: int) -> Jumps | None:
    """Jumps of the force at a sensor of a result; None where the result holds none."""
    if "sensor_beside_force" not in result.variables:
        return None
    return Jumps(result.sensor_beside_force[:, sensor], result.sensor_beside_time[:, sensor])


def is_smooth(result: Result) -> bool:
    """Whether the forces of a result's law have no jumps; a law that is not installed is taken to have none."""
    from granchain.contact import laws

    law = laws().get(result.law)
    return law is None or not law.has_jumps()


def sensor_peak(result: Result, sensor: int, every: int = 1, phase: int = 0) -> Peak:
    """Peak of a sensor's first pulse.

    Parameters
    ----------
    result : Result
    sensor : int
        Its place in `sensor_bead`.
    every, phase : int
        Take every so many of the samples, beginning with one of the first.
    """
    force, jumps = np.asarray(result.sensor_force[:, sensor]), jumps_of(result, sensor)
    thinned = jumps.every(every, phase) if jumps is not None else None
    return peak(result.time[phase::every], force[phase::every], static(force), jumps=thinned, smooth=is_smooth(result))


def front_speed(pulses: tuple[SensorPulse, ...]) -> float:
    """Wave speed from the sensors whose first pulse has its peak in the trace and has not merged with another, see `wave_speed` [m/s].

    nan where the arrivals are not of one wave, see `out_of_order`.
    """
    seen = _of_front(pulses)
    if turned_back(pulses):
        return math.nan
    return wave_speed([pulse.position for pulse in seen], [pulse.arrival for pulse in seen])


def turned_back(pulses: tuple[SensorPulse, ...]) -> tuple[int, ...]:
    """The two beads that `out_of_order` finds among first pulses; empty without any."""
    seen = _of_front(pulses)
    found = out_of_order([pulse.position for pulse in seen], [pulse.arrival for pulse in seen], [pulse.width for pulse in seen])
    return () if found is None else tuple(seen[place].bead for place in found)


def _of_front(pulses: tuple[SensorPulse, ...]) -> list[SensorPulse]:
    return [pulse for pulse in pulses if pulse.complete and not pulse.merged]


# Part of the energy that contacts hold below which it is rounding that moves, ours: in chains of 20 to 2,000 beads at rest under a load or
# their weight it is at most 1e-15, and the residual of their ledger 3 times the spacing of doubles, 2e-16.
OF_ROUNDING = 1e-12


def energy_put_in(kinetic: ArrayLike, external: ArrayLike, recoverable: ArrayLike = 0.0) -> float:
    """Energy that a run is given, what its ledger is measured against: kinetic at the start, and the largest work from outside.

    Where more than that work is set free, as by beads that are displaced at the start, it is what the contacts set free at most, with the
    work. A chain at rest under load sets nothing free: its energy is as low as can be, and what is below `OF_ROUNDING` of it is none.

    Parameters
    ----------
    kinetic, external, recoverable : array (n,)
        Of the ledger, over time [J].

    Returns
    -------
    float
        [J].
    """
    work, stored = np.asarray(external, dtype=float), np.atleast_1d(np.asarray(recoverable, dtype=float))
    put_in = float(np.asarray(kinetic, dtype=float)[0] + max(np.abs(work).max(), (stored[0] - stored + work).max()))
    return 0.0 if put_in < OF_ROUNDING * stored.max() else put_in


def residual_share(residual: ArrayLike, put_in: float, recoverable: ArrayLike = 0.0) -> np.ndarray:
    """Size of the ledger's residual over the energy put in.

    Where nothing is put in, as in a loaded chain at rest, it is over `OF_ROUNDING` of what the contacts hold, which is rounding; and the
    size itself, in J, where they hold nothing either.

    Parameters
    ----------
    residual : array (n,)
        Of the ledger, over time [J].
    put_in : float
        See `energy_put_in` [J].
    recoverable : array (n,)
        Of the ledger, over time [J].

    Returns
    -------
    array (n,)
    """
    size, scale = np.abs(np.asarray(residual, dtype=float)), max(put_in, OF_ROUNDING * float(np.max(recoverable)))
    with np.errstate(over="ignore"):
        return size / scale if scale > 0.0 else size


def energy_balance(result: Result) -> EnergyBalance | None:
    """Energy ledger of a result at its end; None where the case asks for none."""
    if "energy_time" not in result.variables or not len(result.energy_time):
        return None
    ledger = {name: np.asarray(getattr(result, f"energy_{name}"), dtype=float) for name in LEDGER}
    put_in = energy_put_in(ledger["kinetic"], ledger["external"], ledger["recoverable"])
    return EnergyBalance(
        put_in=put_in,
        recoverable_at_start=float(ledger["recoverable"][0]),
        largest_residual=float(residual_share(ledger["residual"], put_in, ledger["recoverable"]).max()) if put_in > 0.0 else math.nan,
        **{name: float(values[-1]) for name, values in ledger.items()},
        drag=float(result.energy_drag[-1]) if "energy_drag" in result.variables else 0.0,
    )


# The variables that `summary` looks into.
SUMMARISED = (
    *("time", "sensor_bead", "sensor_force", "bead", "radius", "position", "snapshot_time", "energy_time"),
    *(f"energy_{name}" for name in LEDGER),
)


def summary(result: Result) -> Summary:
    """The numbers of a run.

    Parameters
    ----------
    result : Result

    Returns
    -------
    Summary
    """
    driven = driven_without_pulse(result)
    pulses = () if driven else sensor_pulses(result)
    turned = turned_back(pulses)
    ends = [float(result.variables[name].data[-1]) for name in ("time", "energy_time", "snapshot_time") if _has_samples(result, name)]
    return Summary(
        title=result.title,
        law=result.law,
        status=result.status.label,
        time_step=result.time_step,
        end=max(ends, default=math.nan),
        sensors=pulses,
        wave_speed=front_speed(pulses),
        energy=energy_balance(result),
        wave_speed_beads=() if turned else tuple(pulse.bead for pulse in _of_front(pulses)),
        out_of_order=turned,
        driven=driven,
    )


def driven_without_pulse(result: Result) -> str:
    """The signal that drives a result's row without a first pulse, see `granchain.case.Case`; "" without, or without a readable case."""
    try:
        return str(getattr(result.case, "driven_without_pulse", ""))
    except (CaseError, LawError):
        return ""


def _has_samples(result: Result, name: str) -> bool:
    return name in result.variables and len(result.variables[name].data) > 0
