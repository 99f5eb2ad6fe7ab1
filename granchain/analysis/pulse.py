"""First pulse of force records: peak, arrival, width, and impulse.

All records of a stack are measured at once, and a single record is a stack of one. A record without
a pulse has peak 0 and arrival nan, without a warning. SI units.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from granchain.case.tables import ARRIVALS, DEFAULT_ARRIVAL
from granchain.errors import GranchainError

# The first pulse starts at this fraction of the record's largest force. It ends when the force
# first falls below this fraction of its running maximum. The definition is our choice and is the
# same for computed and measured records.
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
# and not at all if they are less than 2 apart. One of a million differences of two samples of
# Gaussian noise is above 5 sqrt(2).
MERGED_FALL, MERGED_NOISE = 0.03, 6.0 * math.sqrt(2.0)


class FirstPulse(NamedTuple):
    """First pulses of a stack of records, arrays (records,).

    Attributes
    ----------
    peak : array (records,)
        Peak force, with the baseline [N]. It is 0 without a pulse.
    arrival : array (records,)
        Arrival by the chosen definition [s]. It is nan without a pulse.
    width : array (records,)
        Width at half height [s]. It is nan if the record is not below half height on both sides.
    impulse : array (records,)
        Time integral of the force above the baseline, from the first sample to the end of the pulse
        [N s]. It is nan if the record ends before the pulse.
    top : array (records,)
        Time of the peak [s].
    complete : array (records,)
        Whether the record contains the end of the pulse. If not, a larger force may follow.
    merged : array (records,)
        Whether a second, larger pulse arrived before the force had fallen to half: the force has
        another maximum before its largest value, falls from there by more than 3 %, but not to
        half, and then rises above it. The values belong to the second pulse.
    jump : array (records,)
        Whether the peak is the force at one side of a jump, or at a kink.
    sampled : array (records,)
        Whether the force may have jumped between samples. The peak may then be too low by the
        difference of two samples.
    start, sample, stop : array (records,)
        Samples of the pulse: its first one, its largest one, and the first one below half of the
        running maximum. `start` and `stop` are equal without a pulse.
    end : array (records,)
        Number of samples up to the end of the pulse, where the force is at most 1 % of the peak or
        starts to rise again: 0 without a pulse, -1 if the record ends before.
    """

    peak: np.ndarray
    arrival: np.ndarray
    width: np.ndarray
    impulse: np.ndarray
    top: np.ndarray
    complete: np.ndarray
    merged: np.ndarray
    jump: np.ndarray
    sampled: np.ndarray
    start: np.ndarray
    sample: np.ndarray
    stop: np.ndarray
    end: np.ndarray

    def record(self, k: int) -> Any:
        """Return the values of one record, a FirstPulse of numbers."""
        return FirstPulse(*(values[k].item() for values in self))


class ForceJumps(NamedTuple):
    """Jumps and kinks of sampled forces, arrays (n,) or (n, records).

    `force` [N] is the largest force next to a jump since the previous sample, and `time` [s] its
    time. They are nan if there is no jump.
    """

    force: np.ndarray
    time: np.ndarray

    def every(self, count: int, phase: int = 0) -> ForceJumps:
        """Return the jumps of one record for every `count`-th sample, from sample `phase` on."""
        rows = -(-max(len(self.force) - phase, 0) // count)
        force, time = np.full(rows, math.nan), np.full(rows, math.nan)
        for i in np.flatnonzero(np.isfinite(self.force)):
            row = max(int(-(-(i - phase) // count)), 0)
            if row < rows and not self.force[i] <= force[row]:
                force[row], time[row] = self.force[i], self.time[i]
        return ForceJumps(force, time)


def first_pulse(
    time: ArrayLike,
    force: ArrayLike,
    *,
    smoothing: float = 0.0,
    arrival: str = DEFAULT_ARRIVAL,
    baseline: ArrayLike = 0.0,
    jumps: ForceJumps | None = None,
    smooth: bool = True,
    level: float = 0.0,
    noise: float = 0.0,
    rise: float = 0.0,
) -> FirstPulse:
    """Measure the first pulse of each record of a stack.

    The pulse starts at the first sample of at least 1 % of the largest force, and ends at the first
    sample below half of the running maximum, or at the end of the record. Samples from the first
    nonfinite one on are ignored. The peak is the maximum of a parabola through three samples, or a
    sample next to a jump of the force: for the elastic wave in a chain of 70 steel beads, samples
    at intervals of 2e-7 s underestimate the peak by up to 1.1e-4, and the parabola by 1e-7. If
    three or more samples are equally large, for example at a clipped sensor, the peak is at their
    middle.

    Parameters
    ----------
    time : array (n,) or (n, records)
        Increasing times [s].
    force : array (n,) or (n, records)
        Forces [N]. A single record is a stack of one.
    smoothing : float
        Standard deviation of a Gaussian that smooths the records first, twice as strongly for the
        residuals, so that parabolas do not change [s]. The times must be evenly spaced.
    arrival : {"peak", "half", "rise"}
        Definition of the arrival: the time of the peak, or the last time before it at which the
        force rises through 50 % ("half") or 10 % ("rise") of the peak above the baseline.
    baseline : float or array (records,)
        Static force [N]. Only the peak includes it.
    jumps : ForceJumps, optional
        Jumps of the force between the samples. No parabola crosses them.
    smooth : bool
        Whether the force is smooth, if the jumps are unknown. If it is not, the peak is the largest
        sample.
    level : float
        Smallest force above the baseline at which the pulse starts [N].
    noise : float
        Standard deviation of the noise of a sample, after smoothing [N]. It limits `merged`.
    rise : float
        Rise that ends the pulse behind its peak, as a fraction of the peak. By default, any rise.

    Returns
    -------
    FirstPulse

    Raises
    ------
    GranchainError
        If the definition of the arrival is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> time = np.linspace(0.0, 1.0, 101)
    >>> pulse = first_pulse(time, np.maximum(7.0 - 50.0 * (time - 0.4) ** 2, 0.0))
    >>> round(float(pulse.peak[0]), 6), round(float(pulse.arrival[0]), 6)
    (7.0, 0.4)
    """
    if arrival not in ARRIVALS:
        raise GranchainError(
            f"first_pulse: arrival: {arrival!r} is unknown. It must be one of "
            f"{', '.join(ARRIVALS)}."
        )
    times, samples = np.asarray(time, dtype=float), np.asarray(force, dtype=float)
    rows = np.ascontiguousarray(samples[np.newaxis] if samples.ndim == 1 else samples.T)
    if smoothing > 0.0:
        rows = smoothed(rows, smoothing * (len(times) - 1) / float(np.ptp(times)))
    records, n = rows.shape
    base = np.broadcast_to(np.asarray(baseline, dtype=float), records)
    if not n:
        return _no_pulses(records)
    finite = np.isfinite(rows)
    counts = np.where(finite.all(axis=1), n, np.argmin(finite, axis=1))
    if counts.min(initial=n) < n:
        rows = np.where(np.arange(n) < counts[:, np.newaxis], rows, -np.inf)
    above = rows - base[:, np.newaxis] if base.any() else rows
    largest = above.max(axis=1)
    levels = np.maximum(PULSE_BEGINS * largest, level)
    exists = np.flatnonzero((largest > OF_REST * np.abs(base)) & (largest >= levels))
    stack = _RecordStack(times, rows, above, base, counts, levels)
    if len(exists) < records:
        measured = _no_pulses(records)
        if len(exists):
            stack = stack.some(exists)
            if jumps is not None and jumps.force.ndim > 1:
                jumps = ForceJumps(*(values[:, exists] for values in jumps))
            of_pulses = _measure_stack(stack, ARRIVALS[arrival], jumps, smooth, noise, rise)
            for values, value in zip(measured, of_pulses, strict=True):
                values[exists] = value
        return measured
    return _measure_stack(stack, ARRIVALS[arrival], jumps, smooth, noise, rise)


class _RecordStack(NamedTuple):
    """Records that are measured together.

    `times` (n,) or (n, records) [s]; `rows` and `above` (records, n), the forces with and without
    the baseline, -inf after the end [N]; of each record its baseline, number of samples, and the
    level at which its pulse starts.
    """

    times: np.ndarray
    rows: np.ndarray
    above: np.ndarray
    base: np.ndarray
    counts: np.ndarray
    levels: np.ndarray

    def some(self, records: np.ndarray) -> _RecordStack:
        """Return some of the records."""
        times = self.times if self.times.ndim == 1 else self.times[:, records]
        return _RecordStack(times, *(values[records] for values in self[1:]))


def _no_pulses(records: int) -> FirstPulse:
    """Return the values of records without a pulse."""
    unknown = [np.full(records, value) for value in (0.0, math.nan, math.nan, 0.0, math.nan)]
    flags = [np.zeros(records, dtype=bool) for _ in range(4)]
    return FirstPulse(*unknown, *flags, *(np.zeros(records, dtype=int) for _ in range(4)))


def smoothed(rows: np.ndarray, scale: float) -> np.ndarray:
    """Return records (records, n) smoothed with a Gaussian of a standard deviation [samples].

    The residuals of the first smoothing are smoothed and added (twicing, Tukey 1977, Exploratory
    data analysis, p. 526), so that the bias is of fourth order. The first and the last sample are
    repeated beyond the ends.
    """
    from scipy.fft import irfft, next_fast_len, rfft, rfftfreq

    n, beyond = rows.shape[1], math.ceil(6.0 * scale)
    padded = np.pad(rows, ((0, 0), (beyond, beyond)), mode="edge")
    count = next_fast_len(padded.shape[1] + beyond, real=True)
    share = np.exp(-2.0 * (math.pi * scale * rfftfreq(count)) ** 2)
    whole = irfft(rfft(padded, count, axis=1) * share * (2.0 - share), count, axis=1)
    return np.ascontiguousarray(whole[:, beyond : beyond + n])


def _measure_stack(
    stack: _RecordStack,
    fraction: float | None,
    jumps: ForceJumps | None,
    smooth: bool,
    noise: float,
    rise: float,
) -> FirstPulse:
    """Measure records that all have a pulse. See `first_pulse`."""
    times, rows, above, base, counts, levels = stack
    record = np.arange(len(rows))
    start = np.argmax(above >= levels[:, np.newaxis], axis=1)
    first = int(start.min())
    with np.errstate(invalid="ignore"):
        tail, at = above[:, first:], np.arange(first, rows.shape[1])
        highest = np.maximum.accumulate(tail, axis=1)
        fallen = (tail < PULSE_ENDS * highest) & (at >= start[:, np.newaxis])
        stop = np.where(fallen.any(axis=1), first + np.argmax(fallen, axis=1), counts)
        near = slice(0, int(stop.max()) - first)
        tail, highest, at = tail[:, near], highest[:, near], at[near]
        inside = (at >= start[:, np.newaxis]) & (at < stop[:, np.newaxis])
        sample = first + np.argmax(
            np.where(inside, rows[:, first : first + len(at)], -np.inf), axis=1
        )
        inside &= at <= sample[:, np.newaxis]
        dips = highest - tail > np.maximum(MERGED_FALL * highest, MERGED_NOISE * noise)
        merged = (dips & inside).any(axis=1)
    complete = (sample > 0) & (stop < counts)
    jump, sampled = np.zeros((2, len(rows)), dtype=bool)
    peak, top = rows[record, sample], _at(times, sample, record)
    if jumps is None and not smooth:
        sampled[:] = True
    else:
        interior = np.flatnonzero((sample > 0) & (sample < counts - 1))
        neighbours = sample[interior] + np.arange(-1, 2)[:, np.newaxis]
        peak[interior], top[interior] = vertex(
            _at(times, neighbours, interior), rows[interior, neighbours]
        )
    flat = np.zeros(len(rows), dtype=int)
    most = rows[record, sample]
    beyond = [rows[record, np.minimum(sample + k, rows.shape[1] - 1)] == most for k in (1, 2)]
    for k in np.flatnonzero(complete & beyond[0] & beyond[1]).tolist():
        # A clipped sensor has a corner, which no parabola fits.
        flat[k] = np.argmax(rows[k, sample[k] :] != most[k]) or counts[k] - sample[k]
        ends = _at(times, sample[k] + np.array([0, flat[k] - 1]), k)
        peak[k], top[k], sampled[k] = most[k], 0.5 * float(ends.sum()), False
    if jumps is not None:
        for k in np.flatnonzero(~(flat > 2)).tolist():
            of_record = jumps if jumps.force.ndim == 1 else ForceJumps(*(s[:, k] for s in jumps))
            instants = times if times.ndim == 1 else times[:, k]
            window = slice(int(start[k]), int(stop[k]))
            peak[k], top[k], jump[k] = summit(instants, rows[k, : counts[k]], of_record, window)
            complete[k] |= jump[k] and stop[k] < counts[k]
    height = peak - base
    left, right = (crossings(times, rows, sample, base + 0.5 * height, side) for side in (0, 1))
    width = np.where(complete, right - left, math.nan)
    arrival = top.copy()
    if fraction is not None:
        arrival = crossings(times, rows, sample, base + fraction * height, 0)
    impulse, end = np.full(len(rows), math.nan), np.zeros(len(rows), dtype=int)
    for k, count in enumerate(counts.tolist()):
        end[k] = stops = _pulse_end(above[k, :count], int(sample[k]), float(height[k]), rise)
        if stops > 0:
            instants = times[:stops] if times.ndim == 1 else times[:stops, k]
            impulse[k] = np.trapezoid(above[k, :stops], instants)
    return FirstPulse(
        peak, arrival, width, impulse, top, complete, merged, jump, sampled, start, sample, stop,
        end,
    )  # fmt: skip


def _at(times: np.ndarray, sample: Any, record: Any) -> np.ndarray:
    """Return the times of samples of records [s]."""
    return np.asarray(times[sample] if times.ndim == 1 else times[sample, record])


def _pulse_end(above: np.ndarray, sample: int, height: float, rise: float) -> int:
    """Return the number of samples up to the end of the pulse, -1 if the record ends before."""
    after = above[sample:]
    if rise == 0.0:
        ended = (after[:-1] <= PULSE_BEGINS * after[0]) | (np.diff(after) > 0.0)
        return sample + int(np.argmax(ended)) + 1 if ended.any() else -1
    down = after <= PULSE_BEGINS * height
    ended = down | (after - np.minimum.accumulate(after) > rise * height)
    if not ended.any():
        return -1
    last = int(np.argmax(ended))
    return sample + 1 + (last if down[last] else int(np.argmin(after[: last + 1])))


def crossings(
    times: np.ndarray, rows: np.ndarray, sample: np.ndarray, height: np.ndarray, side: int
) -> np.ndarray:
    """Return the times at which records cross a height next to a sample [s].

    The crossing is the last one before the sample (side 0), or the first one after it (side 1). The
    samples are joined by lines. The time is nan without a crossing.
    """
    record = np.arange(len(rows))
    if side:
        first = int(sample.min())
        low = rows[:, first:] < height[:, np.newaxis]
        low &= np.arange(first, rows.shape[1]) >= sample[:, np.newaxis]
        i = first + np.argmax(low, axis=1) - 1
    else:
        last = max(int(sample.max()), 1)
        low = rows[:, :last] < height[:, np.newaxis]
        low &= np.arange(last) < sample[:, np.newaxis]
        i = last - 1 - np.argmax(low[:, ::-1], axis=1)
    crossed = low.any(axis=1)
    i = np.where(crossed, i, 0)
    with np.errstate(all="ignore"):
        before, after = rows[record, i], rows[record, np.minimum(i + 1, rows.shape[1] - 1)]
        share = np.where(crossed & np.isfinite(after), (height - before) / (after - before), np.nan)
        begin = _at(times, i, record)
        return begin + share * (_at(times, np.minimum(i + 1, len(times) - 1), record) - begin)


def summit(
    time: np.ndarray,
    values: np.ndarray,
    jumps: ForceJumps | None = None,
    window: slice = slice(0, None),
) -> tuple[float, float, bool]:
    """Return the largest value of a record, its time [s], and whether it is at a jump.

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
        next_to_jump, when = largest_jump(jumps, window)
        if next_to_jump >= height:
            return next_to_jump, when, True
    return height, at, False


def largest_jump(jumps: ForceJumps, window: slice) -> tuple[float, float]:
    """Return the largest force next to a jump in a pulse [N] and its time [s].

    Both are nan without a jump.

    Parameters
    ----------
    jumps : ForceJumps
        Jumps between the samples of one record.
    window : slice
        Samples of the pulse. A jump between the last of them and the next sample is included.
    """
    forces = jumps.force[window.start : None if window.stop is None else window.stop + 1]
    if not np.isfinite(forces).any():
        return math.nan, math.nan
    j = window.start + int(np.nanargmax(forces))
    return float(jumps.force[j]), float(jumps.time[j])


def static_force(force: np.ndarray) -> float:
    """Return the force of a sensor before the pulse, which is its first sample [N]."""
    return float(force[0]) if len(force) and math.isfinite(force[0]) else 0.0


def _between_jumps(
    time: np.ndarray, values: np.ndarray, i: int, jumps: ForceJumps | None
) -> tuple[float, float]:
    """Return the maximum of the parabola about the largest sample, i.

    The parabola uses samples between the same two jumps. Without such samples, return sample i.
    """
    n = len(values)
    if 0 < i < n - 1:
        # slot i contains the jump between samples i - 1 and i
        if jumps is None or not np.isfinite(jumps.force[i : i + 2]).any():
            height, at = vertex(time[i - 1 : i + 2], values[i - 1 : i + 2])
            return float(height), float(at)
        left, right = np.isnan(jumps.force[i : i + 2])
        before, after = (time[i - 1], jumps.time[i + 1]), (jumps.time[i], time[i + 1])
        for free, first, (low, high) in ((right, i, after), (left, i - 2, before)):
            clear = 0 <= first < n - 2 and not np.isfinite(jumps.force[first + 1 : first + 3]).any()
            if free and clear:
                height, at = vertex(time[first : first + 3], values[first : first + 3])
                if height > values[i] and low < at < high:
                    return float(height), float(at)
    return float(values[i]), float(time[i])


def vertex(t: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return height and position of the vertex of a parabola through three samples.

    Many parabolas have their samples along the first axis. If a parabola has no maximum, return its
    middle sample.
    """
    left, right = t[0] - t[1], t[2] - t[1]
    # Newton's divided differences about the middle sample.
    slope_left, slope_right = (f[0] - f[1]) / left, (f[2] - f[1]) / right
    curvature = (slope_right - slope_left) / (right - left)
    slope = slope_left - curvature * left
    with np.errstate(all="ignore"):
        shift = np.where(curvature < 0.0, -0.5 * slope / curvature, 0.0)
        return f[1] + np.where(curvature < 0.0, 0.5 * slope * shift, 0.0), t[1] + shift


def momentum_passed(above: np.ndarray, end: float) -> float:
    """Return the trapezoidal sum of a record up to a position between samples [N].

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
    total = above[: whole + 1].sum() - 0.5 * (above[0] + above[whole])
    if share := end - whole:
        total += share * (above[whole] + 0.5 * share * (above[whole + 1] - above[whole]))
    return float(total)
