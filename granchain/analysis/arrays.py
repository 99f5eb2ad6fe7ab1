"""First pulses of many runs at once: peak, arrival, width, wave speed.

The results equal those of `definition` and `transport`. Simple traces are computed together as
arrays, and all others by the functions of these modules.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from granchain.analysis.definition import (
    MERGED_FALL,
    OF_REST,
    PULSE_BEGINS,
    PULSE_ENDS,
    ForceJumps,
    parabola,
    pulse,
    pulse_stop,
    static_force,
)
from granchain.analysis.transport import out_of_order, wave_speed

# Longest rise of a pulse that is searched in arrays [samples], and longest fall to half height in
# multiples of the rise. A trace that exceeds them is not simple.
MOST_RISE, MOST_FALL = 1024, 2
# Number of traces whose pulse starts are searched together. They belong to one sensor, so their
# pulses arrive at about the same time.
NEIGHBOURS = 32


class Instants(NamedTuple):
    """Sample times of many runs: k * stride * step, with k from 0 to count - 1.

    The fields are arrays (run,): the number of samples, the number of steps between two samples,
    and the time step [s].
    """

    counts: np.ndarray
    stride: np.ndarray
    step: np.ndarray

    def at(self, run: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Return the times of samples from the indices of their runs and samples [s]."""
        return np.asarray(place * self.stride[run] * self.step[run])

    def of(self, run: int) -> np.ndarray:
        """Return the sample times of a run, an array (sample,) [s]."""
        return np.asarray(np.arange(self.counts[run]) * self.stride[run] * self.step[run])


class FirstPulses(NamedTuple):
    """First pulses at the sensors of many runs, arrays (run, sensor). See `Pulse`."""

    peak: np.ndarray
    arrival: np.ndarray
    width: np.ndarray
    complete: np.ndarray
    merged: np.ndarray

    @property
    def of_front(self) -> np.ndarray:
        """True for each pulse that determines the wave speed: complete and not merged."""
        return np.asarray(self.complete & ~self.merged)


def in_one_piece(force: Sequence[np.ndarray]) -> np.ndarray:
    """Return the traces of many runs as one contiguous array (sensor, run, sample).

    The input is one array (sample, sensor) per run. Values after the end of a trace are -inf.
    """
    traces = np.empty((force[0].shape[1], len(force), max(map(len, force))))
    for run, columns in enumerate(force):
        traces[:, run, : len(columns)], traces[:, run, len(columns) :] = columns.T, -np.inf
    return traces


def first_pulses(
    samples: Instants, traces: np.ndarray, beside: Sequence[ForceJumps] | None = None
) -> FirstPulses:
    """Return the first pulses of many runs with the same number of sensors.

    Parameters
    ----------
    samples : Instants
    traces : (sensor, run, sample) array
        Forces from `in_one_piece` [N].
    beside : sequence of ForceJumps, optional
        Jumps of each run as arrays (sample, sensor), for a law whose force jumps.
    """
    shape = len(samples.counts), len(traces)
    found = FirstPulses(
        *(np.full(shape, start) for start in (0.0, math.nan, math.nan, False, False))
    )
    plain = np.zeros(shape, dtype=bool)
    if beside is None:
        plain = _plain_pulses(samples, traces, found)
    for run, sensor in zip(*np.nonzero(~plain), strict=True):
        jumps = None if beside is None else ForceJumps(*(side[:, sensor] for side in beside[run]))
        trace = traces[sensor, run, : samples.counts[run]]
        one = pulse(samples.of(run), trace, static_force(trace), jumps=jumps, smooth=beside is None)
        for name in FirstPulses._fields:
            getattr(found, name)[run, sensor] = getattr(one, name)
    return found


def pulse_stops(above: np.ndarray, counts: np.ndarray) -> list[int | None]:
    """Return `pulse_stop` of many traces.

    Each row of `above` is the force of a trace above its baseline [N], and -inf after its end.
    `counts` contains the number of samples of each trace.
    """
    start, top, largest, plain, _ = _rises_of(above, np.zeros(len(above)))
    at = top[:, None] + np.arange(MOST_FALL * int((top - start)[plain].max(initial=0)) + 2)
    fall = np.take_along_axis(above, np.minimum(at, above.shape[1] - 1), axis=1)
    with np.errstate(invalid="ignore"):
        ended = (fall[:, :-1] <= PULSE_BEGINS * largest[:, None]) | (np.diff(fall) > 0.0)
    ended &= at[:, 1:] < counts[:, None]
    stops, known = top + np.argmax(ended, axis=1) + 1, np.asarray(ended.any(axis=1))
    found = [int(stop) if here else None for stop, here in zip(stops, known, strict=True)]
    # the pulse continues beyond the searched samples, or the trace is not simple
    rest = ~plain | (~known & (at[:, -1] < counts))
    for run in np.flatnonzero(rest).tolist():
        found[run] = pulse_stop(above[run, : counts[run]])
    return found


def _rises_of(
    above: np.ndarray, least: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the starts of the first pulses of traces (trace, sample).

    Also return the top sample, the force there, whether the trace is simple, and whether the pulse
    is merged.

    In a simple trace, the force at the top is finite, is the largest of the trace, and follows soon
    after the start.
    """
    with np.errstate(invalid="ignore"):
        top = np.argmax(above, axis=1)
        largest = np.take_along_axis(above, top[:, None], axis=1)[:, 0]
        level, start = (PULSE_BEGINS * largest)[:, None], np.zeros_like(top)
        for first in range(0, len(above), NEIGHBOURS):
            those = slice(first, first + NEIGHBOURS)
            # a pulse starts no later than its top
            until_top = above[those, : top[those].max() + 1]
            start[those] = np.argmax(until_top >= level[those], axis=1)
        plain = (largest > least) & (largest < math.inf) & (top - start < MOST_RISE)
        # the rise; its last sample is repeated, so the padding never falls
        longest = int((top - start)[plain].max(initial=0)) + 1
        at = np.minimum(start[:, None] + np.arange(longest), top[:, None])
        rise = np.take_along_axis(above, at, axis=1)
        so_far = np.maximum.accumulate(rise, axis=1)
        plain &= ~(rise < PULSE_ENDS * so_far).any(axis=1)
        merged = (so_far - rise > MERGED_FALL * so_far).any(axis=1)
    return start, top, largest, plain, merged


def _plain_pulses(samples: Instants, traces: np.ndarray, found: FirstPulses) -> np.ndarray:
    """Store the pulses of simple traces in `found`, and return which traces are done."""
    sensors, n, longest_trace = traces.shape
    if not longest_trace:
        return np.zeros((n, sensors), dtype=bool)
    counts, rows = samples.counts, traces.reshape(-1, longest_trace)
    flat, base = rows.reshape(-1), rows[:, 0]
    of_sensor = np.arange(base.size)
    runs = of_sensor % n
    with np.errstate(invalid="ignore"):
        least = OF_REST * np.abs(base)
        above = rows - base[:, None] if base.any() else rows
        start, top, largest, plain, merged = _rises_of(above, least)
        done = (largest <= least) & np.isfinite(base)
    plain &= np.isfinite(base) & (top > 0) & (top < counts[runs] - 2)
    if not plain.any():
        return done.reshape(sensors, n).T
    of_sensor, runs, own = of_sensor[plain], runs[plain], base[plain]
    i, longest = top[plain], int((top - start)[plain].max()) + 2
    # index of a trace's first sample in the flat array
    of_trace = of_sensor * longest_trace
    near = i + np.arange(-1, 3)[:, None]
    f, t = flat[of_trace + near], samples.at(runs, near[:3])
    kept = (f[2] != f[1]) | (f[3] != f[1])
    slope, curvature = parabola(t, f)
    kept &= curvature < 0.0
    with np.errstate(all="ignore"):
        shift = -0.5 * slope / curvature
        height, at = f[1] + 0.5 * slope * shift, t[1] + shift
    level = own + 0.5 * (height - own)
    # last sample below half height before the peak (at the latest the one before the rise), and
    # first one after it
    back, on = np.arange(1, longest + 1), np.arange(MOST_FALL * longest)
    before = flat[of_trace[:, None] + np.maximum(i[:, None] - back, 0)] < level[:, None]
    after = (
        flat[of_trace[:, None] + np.minimum(i[:, None] + on, counts[runs, None] - 1)]
        < level[:, None]
    )
    kept &= before.any(axis=1) & after.any(axis=1)
    crossed = []
    with np.errstate(all="ignore"):
        for k in (i - back[np.argmax(before, axis=1)], i + on[np.argmax(after, axis=1)] - 1):
            low, high = flat[of_trace + k], flat[of_trace + k + 1]
            begin, end = samples.at(runs, k), samples.at(runs, k + 1)
            crossed.append(begin + (level - low) / (high - low) * (end - begin))
        width = crossed[1] - crossed[0]
    place = np.divmod(of_sensor[kept], n)[::-1]
    for values, value in zip(
        found, (height, at, width, np.ones(len(at), dtype=bool), merged[plain]), strict=True
    ):
        values[place] = value[kept]
    done[of_sensor[kept]] = True
    return done.reshape(sensors, n).T


def wave_speeds(position: np.ndarray, pulses: FirstPulses) -> np.ndarray:
    """Return the wave speed of each run [m/s], an array (run,). See `front_of`.

    Parameters
    ----------
    position : array (run, sensor)
        Positions of the sensors [m].
    pulses : FirstPulses
    """
    arrival = np.where(pulses.of_front, pulses.arrival, math.nan)
    # most arrivals are in order, so no search for a pair out of order is needed
    in_turn = ~(np.diff(arrival) < 0.0).any(axis=1) & (np.diff(position) >= 0.0).all(axis=1)
    one_wave = np.asarray(in_turn & np.isfinite(arrival).all(axis=1))
    x, t = (one - one.mean(axis=1, keepdims=True) for one in (position, arrival))
    spread, slope = np.vecdot(x, x), np.vecdot(x, t)
    with np.errstate(all="ignore"):
        # as in `wave_speed`, with all sensors
        steep = np.abs(slope) > 1e-12 * np.sqrt(spread * np.vecdot(t, t))
        found = np.where(one_wave & steep, spread / slope, math.nan)
    for run in np.flatnonzero(~one_wave).tolist():
        if out_of_order(position[run], arrival[run], pulses.width[run]) is None:
            found[run] = wave_speed(position[run], arrival[run])
    return found
