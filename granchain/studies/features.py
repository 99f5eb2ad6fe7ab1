"""Numbers of the first pulse in many runs at once: peak, arrival, width, wave speed, and what is transmitted to the last bead.

They are those of `granchain.analysis`, computed for whole arrays where a trace is plain, and by its functions where it is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from granchain.analysis import (
    MERGED_FALL,
    PULSE_BEGINS,
    PULSE_ENDS,
    Jumps,
    out_of_order,
    parabola,
    peak,
    pulse_stop,
    pulse_width,
    static,
    wave_speed,
)

# Runs of a group: their traces stay in a processor's cache while they are worked on.
GROUP = 16
# Samples from a pulse's begin to its peak that are looked at in arrays, and how many times as many from there to where it is half as
# high; a trace of which more are needed is left to `granchain.analysis`.
RISE, FALL = 1024, 2


class Pulses(NamedTuple):
    """First pulses at the sensors of many runs, (run, sensor) arrays, as `granchain.analysis.peak` and `pulse_width` give them.

    Attributes
    ----------
    peak : float
        [N]; 0 without a pulse.
    arrival : float
        [s]; nan without a pulse.
    width : float
        At half height [s]; nan where the trace does not hold it whole.
    complete, merged : bool
        As of `granchain.analysis.Peak`.
    """

    peak: np.ndarray
    arrival: np.ndarray
    width: np.ndarray
    complete: np.ndarray
    merged: np.ndarray

    @property
    def of_front(self) -> np.ndarray:
        """Which a wave speed is taken from: those whose pulse is complete and has not merged with another."""
        return np.asarray(self.complete & ~self.merged)


def first_pulses(
    time: Sequence[np.ndarray], force: Sequence[np.ndarray], beside: Sequence[Jumps] | None = None, *, smooth: bool = True
) -> Pulses:
    """First pulses of many runs, all with as many sensors.

    Parameters
    ----------
    time : sequence of array (sample,)
        Of each run [s].
    force : sequence of array (sample, sensor)
        Of each run [N].
    beside : sequence of Jumps, optional
        Of each run, its arrays (sample, sensor).
    smooth : bool
        Where the jumps are not known: whether there are none.

    Returns
    -------
    Pulses
    """
    shape = len(force), force[0].shape[1] if len(force) else 0
    found = Pulses(*(np.full(shape, start) for start in (0.0, math.nan, math.nan, False, False)))
    plain = np.zeros(shape, dtype=bool)
    if beside is None and smooth:
        # memory for the traces of a group, used again by the next one: a worker of dask gives back what is freed, and it comes slowly
        room = np.empty(min(GROUP, len(force)) * shape[1] * max((len(one) for one in force), default=0))
        for at in range(0, len(force), GROUP):
            part = slice(at, at + GROUP)
            plain[part] = _plain(time[part], force[part], Pulses(*(values[part] for values in found)), room)
    for run, sensor in zip(*np.nonzero(~plain), strict=True):
        jumps = None if beside is None else Jumps(*(side[:, sensor] for side in beside[run]))
        trace = force[run][:, sensor]
        baseline = static(trace)
        top = peak(time[run], trace, baseline, jumps=jumps, smooth=smooth)
        width = pulse_width(time[run], trace, baseline=baseline, jumps=jumps, smooth=smooth)
        for values, value in zip(found, (top.force, top.time, width, top.complete, top.merged), strict=True):
            values[run, sensor] = value
    return found


def _plain(time: Sequence[np.ndarray], force: Sequence[np.ndarray], found: Pulses, room: np.ndarray) -> np.ndarray:
    """Put the pulses of plain traces where they belong; says which traces are plain. `room` is memory for all their samples.

    Plain is one whose largest force is that of the first pulse, inside the trace and smooth, and of whose samples all are finite.
    """
    counts = np.array([len(one) for one in force])
    samples = int(counts.max())
    if not samples:
        return np.zeros(found.peak.shape, dtype=bool)
    # each trace in one piece
    traces: np.ndarray = room[: found.peak.size * samples].reshape(*found.peak.shape, samples)
    times = np.empty((len(force), samples))
    for run, (instants, columns, n) in enumerate(zip(time, force, counts, strict=True)):
        traces[run, :, :n], traces[run, :, n:] = columns.T, -np.inf
        times[run, :n] = instants
    base = traces[:, :, 0]
    above = traces - base[:, :, None] if base.any() else traces
    top = np.argmax(traces, axis=2)
    largest = np.take_along_axis(above, top[:, :, None], axis=2)[:, :, 0]
    with np.errstate(invalid="ignore"):
        silent = (largest <= 0.0) & np.isfinite(base)
        start = np.argmax(above >= (PULSE_BEGINS * largest)[:, :, None], axis=2)
        plain = np.isfinite(base) & (largest > 0.0) & np.isfinite(largest)
    plain &= (top > 0) & (top < counts[:, None] - 2) & (top - start < RISE)
    runs, sensors = np.nonzero(plain)
    if not len(runs):
        return silent
    i, first = top[runs, sensors], start[runs, sensors]
    longest = int((i - first).max()) + 2
    # places in the flat arrays: of a trace's first sample, and of its run's first instant
    of_trace, of_run = (runs * traces.shape[1] + sensors) * samples, runs * samples
    flat, instants = traces.reshape(-1), times.reshape(-1)
    # the rise, beyond which the last sample is repeated: it falls nowhere
    rise = above.reshape(-1)[of_trace[:, None] + np.minimum(first[:, None] + np.arange(longest), i[:, None])]
    so_far = np.maximum.accumulate(rise, axis=1)
    fall = so_far - rise
    kept = ~(rise < PULSE_ENDS * so_far).any(axis=1)
    merged = (fall > MERGED_FALL * so_far).any(axis=1)
    near = i + np.arange(-1, 3)[:, None]
    f, t = flat[of_trace + near], instants[of_run + near[:3]]
    kept &= (f[2] != f[1]) | (f[3] != f[1])
    slope, curvature = parabola(t, f)
    kept &= curvature < 0.0
    with np.errstate(all="ignore"):
        shift = -0.5 * slope / curvature
        height, at = f[1] + 0.5 * slope * shift, t[1] + shift
    own = base[runs, sensors]
    level = own + 0.5 * (height - own)
    # the last sample below it before the peak, which is at the latest the one before the rise, and the first after
    back, on = np.arange(1, longest + 1), np.arange(FALL * longest)
    before = flat[of_trace[:, None] + np.maximum(i[:, None] - back, 0)] < level[:, None]
    after = flat[of_trace[:, None] + np.minimum(i[:, None] + on, counts[runs, None] - 1)] < level[:, None]
    kept &= before.any(axis=1) & after.any(axis=1)
    up, down = i - back[np.argmax(before, axis=1)], i + on[np.argmax(after, axis=1)] - 1
    with np.errstate(all="ignore"):
        width = _crossings(instants, flat, level, of_run, of_trace, down) - _crossings(instants, flat, level, of_run, of_trace, up)
    runs, sensors = runs[kept], sensors[kept]
    for values, value in zip(found, (height, at, width, np.ones(len(at), dtype=bool), merged), strict=True):
        values[runs, sensors] = value[kept]
    done = silent
    done[runs, sensors] = True
    return done


def _crossings(
    time: np.ndarray, force: np.ndarray, level: np.ndarray, of_run: np.ndarray, of_trace: np.ndarray, i: np.ndarray
) -> np.ndarray:
    """Times at which the lines from samples i to the next pass a level."""
    low, high, begin, end = force[of_trace + i], force[of_trace + i + 1], time[of_run + i], time[of_run + i + 1]
    return begin + (level - low) / (high - low) * (end - begin)


def wave_speeds(position: np.ndarray, pulses: Pulses) -> np.ndarray:
    """Wave speed of each run, from the sensors whose pulse is complete and has not merged with another, as `analysis.front_speed`.

    Parameters
    ----------
    position : array (run, sensor)
        [m].
    pulses : Pulses

    Returns
    -------
    array (run,)
        [m/s].
    """
    arrival = np.where(pulses.of_front, pulses.arrival, math.nan)
    # most come one after the other: no pair of them has to be looked for
    in_turn = ~(np.diff(arrival) < 0.0).any(axis=1) & (np.diff(position) >= 0.0).all(axis=1)
    one_wave = np.asarray(in_turn & np.isfinite(arrival).all(axis=1))
    for run in np.flatnonzero(~one_wave):
        one_wave[run] = out_of_order(position[run], arrival[run], pulses.width[run]) is None
    found = np.full(len(arrival), math.nan)
    for run in np.flatnonzero(one_wave):
        found[run] = wave_speed(position[run], arrival[run])
    return found


def passed_on(interval: Sequence[float], left: Sequence[np.ndarray], net: Sequence[np.ndarray]) -> np.ndarray:
    """Momentum that bodies at rest have when their first pulse has passed, one in each run.

    It has passed where, after its peak, the force of the left contact above the static one is down to 1 % of the peak, or begins to rise
    again: `granchain.analysis.pulse_stop`.

    Parameters
    ----------
    interval : sequence of float
        Between two samples [s].
    left, net : sequence of array (sample,)
        Force of the left contact; of all that acts on the body, positive towards higher numbers, up to a constant [N].

    Returns
    -------
    array (run,)
        [N s]; 0 where there is no pulse; nan where the trace ends before the pulse does.
    """
    found = np.full(len(left), math.nan)
    for run, plain in enumerate(plain_stops(left).tolist()):
        stop = plain or pulse_stop(left[run], static(left[run]))
        if stop is not None and stop >= 0:
            force = net[run][:stop] - net[run][0] if stop else np.zeros(1)
            # the trapezoidal rule
            found[run] = interval[run] * (force.sum() - 0.5 * (force[0] + force[-1]))
    return found


def plain_stops(force: Sequence[np.ndarray]) -> np.ndarray:
    """`granchain.analysis.pulse_stop` of traces whose largest force is of the first pulse: -1 where they end before it; 0 for others."""
    counts = np.array([len(one) for one in force])
    if not counts.all():
        return np.zeros(len(force), dtype=int)
    above = np.full((len(force), int(counts.max(initial=0))), -np.inf)
    for run, one in enumerate(force):
        above[run, : counts[run]] = one
    still = above[:, :1].copy()
    if still.any():
        with np.errstate(invalid="ignore"):
            above -= still
    top = np.argmax(above, axis=1)
    largest = np.take_along_axis(above, top[:, None], axis=1)
    begins = PULSE_BEGINS * largest
    start = np.argmax(above >= begins, axis=1)
    plain = (largest[:, 0] > 0.0) & (largest[:, 0] < math.inf) & (top - start < RISE)
    if not plain.any():
        return np.zeros(len(force), dtype=int)
    # the rise, beyond which the last sample is repeated: it falls nowhere
    longest = int((top - start)[plain].max()) + 1
    rise = np.take_along_axis(above, np.minimum(start[:, None] + np.arange(longest), top[:, None]), axis=1)
    plain &= ~(rise < PULSE_ENDS * np.maximum.accumulate(rise, axis=1)).any(axis=1)
    beyond = counts - top
    at = top[:, None] + np.arange(min(RISE, int(beyond.max())))
    after = np.take_along_axis(above, np.minimum(at, counts[:, None] - 1), axis=1)
    ended = ((after[:, :-1] <= begins) | (after[:, 1:] > after[:, :-1])) & (at[:, 1:] < counts[:, None])
    there = ended.any(axis=1)
    stop = np.where(there, top + 1, -1)
    if ended.shape[1]:
        stop += np.where(there, np.argmax(ended, axis=1), 0)
    return np.asarray(np.where(plain & (there | (beyond <= RISE)), stop, 0))
