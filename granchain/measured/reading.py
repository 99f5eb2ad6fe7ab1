"""First pulses of the sensors of a measured trace, and their errors from one Monte Carlo.

The pulse of each sensor is measured by `analysis.first_pulse`, as a computed one, but smoothed.
Each draw then adds to the smoothed pulse what disturbs it, and measures it again: the noise before
the pulse, an autoregression of resampled blocks that all sensors share; and what rings on after the
pulse, a damped line with a random phase. The pulse is sampled at a random phase and rounded as the
instrument does, and the baseline is fitted again. The spread of the draws and the bias that they
show are the errors. Gains and clocks are not in the draws.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from granchain.analysis.pulse import (
    PULSE_BEGINS,
    ForceJumps,
    crossings,
    first_pulse,
    pulses,
    smoothed,
)
from granchain.measured.noise import (
    LEAST_QUIET,
    MEMORY_SAMPLES,
    NO_BASELINE,
    Baseline,
    Noise,
    baseline_of,
    noise_in,
    rapid,
    step_of,
)

NAMES = ("peak", "arrival", "width", "impulse")
# Number of draws, so that a standard deviation is known to 6 %; and their seed (our choice).
DRAWS, SEED = 128, 52
# A number is not reported if more than this fraction of its draws give none, or another pulse.
LOST = 0.2
# Weight of the bias of the draws in the error: the smoothed pulse shows less of it than the pulse.
BIAS = 1.5
# Error of an arrival between two samples, of whose shape nothing is known, as a fraction of their
# interval.
PLACE = 0.04
# A smaller smoothing, by this factor, shows the bias that the draws do not, if its numbers differ
# by this many standard deviations of the difference in the draws.
LESS, NO_NOISE_OF_DRAWS = 5.0, 2.5
# The window of a pulse begins before it, and the pulse at this fraction of the peak, above what a
# spline adds before a jump.
STARTS = 0.05
# Crossings that are this many times as far apart as those of the smoothed pulse are of two flanks.
TWO_FLANKS = 2.5
# A fourth difference is that of a jump, not of the top, if errors grow by less than this.
FEW_JUMPS = math.sqrt(2.0)
# A pulse rises above the noise of the smoothed force by this many standard deviations.
CLEAR = 8.0
# The smoothing grows until the noise is the first fraction of the peak, but its Gaussian has at
# most the second fraction of the width as its standard deviation.
CALM, SMOOTHEST = 5e-4, 0.09
# A zero-phase filter makes ripples before and after a jump of the force. For orders 1 to 8, they
# stay below this fraction of the jump.
RIPPLES = 0.1
# A first pulse below this fraction of a later one may be a disturbance, such as crosstalk of the
# trigger; if it is also shorter or longer than the later one by this factor, it is no wave.
DISTURBANCE = 1.0 / 3.0
# Two tops closer than this fraction of a width count as simultaneous, because a wave takes this
# time from bead to bead.
SIMULTANEOUS = 0.25
# A later pulse that ends the ringing is above this fraction of the first.
LATER = 0.1
# Ringing: widths behind the pulse that are searched, and their smallest number of samples; periods
# in a width and decays over a width; decays of the tail of a pulse over a width; the fraction of
# the squares there that it must explain, and the multiple of what noise explains.
RING_WIDTHS, RING_SAMPLES = 3.0, 16
RING_PERIODS, RING_DECAYS = np.geomspace(1.7, 8.0, 40), np.array([0.0, 0.2, 0.6, 1.2])
RING_TAILS, RING_SHARE, RING_CLEAR = np.array([0.5, 1.0, 2.0, 4.0]), 0.3, 12.0
# Smallest amplitude as a fraction of the peak, below which the motion of the bead may look like it,
# and largest exponent of its growth back to the pulse.
RING_LEAST, RING_GROWTH = 1.5e-3, 2.0
# With any law, a pulse is above 1 - e of its peak for at most 1.7 sqrt(e) of its width (51 laws, 5
# beads, e from 0.003 to 0.2; a parabola with the same half height: 1.4). A top that is flat for
# longer is clipped. The inspected values of e must be this many standard deviations of the noise.
FLAT_TOP, FLAT_FALLS, FLAT_NOISE = 1.8, (0.03, 0.06, 0.12, 0.2), 2.5
# Distance of the peak from the middle of the stretch above 0.4 to 0.95 of its height, as a fraction
# of the length of that stretch: root mean square over 25 laws and 5 beads each.
OFF_MIDDLE = 0.07
# A slope of the baseline counts as drift if it exceeds this many standard deviations.
DRIFTS = 4.0
# A message reports a width of fewer samples than the second number, and errors grow, because the
# shape between the samples is not known. With fewer than the first, one sample may contain the
# complete top, and the width has no meaning.
FEWEST_SAMPLES, FEW_SAMPLES = 3.0, 8.0


class Number(NamedTuple):
    """Measured value and its standard uncertainty, both nan if not reported."""

    value: float
    error: float


WITHHELD, NO_NOISE = Number(math.nan, math.nan), Noise(0.0)


@dataclass(frozen=True, eq=False)
class SensorReading:
    """First pulse of one sensor.

    Attributes
    ----------
    peak, arrival, width, impulse : Number
        Peak force [N], arrival on the clock of the trace [s], width [s], and impulse [N s].
    top, before, after : float
        Time of the peak, and duration of the pulse before and after it [s]. They are nan if there
        is no pulse, or if it does not end.
    baseline, noise : Baseline, Noise
    sound : bool
        Whether the shape of the pulse was recorded. It is False if the pulse is clipped, truncated,
        or cannot be distinguished from another.
    merged : bool
        See `FirstPulse`.
    deviations : array (4, draws)
        Deviations of peak, arrival, width, and impulse in the draws, which all sensors share. They
        are nan in draws without a number, and for numbers that are not reported.
    messages : tuple of str
        Problems of the trace, one message each.
    """

    peak: Number = WITHHELD
    arrival: Number = WITHHELD
    width: Number = WITHHELD
    impulse: Number = WITHHELD
    top: float = math.nan
    before: float = math.nan
    after: float = math.nan
    baseline: Baseline = NO_BASELINE
    noise: Noise = NO_NOISE
    sound: bool = False
    merged: bool = False
    deviations: np.ndarray = field(default_factory=lambda: np.full((len(NAMES), DRAWS), math.nan))
    messages: tuple[str, ...] = ()


class Located(NamedTuple):
    """First pulse of a sensor, located in its smoothed force.

    Attributes
    ----------
    force : array (n,)
        Force without isolated samples [N].
    baseline, noise : Baseline, Noise
    scale, calm : float
        Standard deviation of the smoothing [samples], and noise of a smoothed sample [N].
    step : float
        Step of the converter, 0 if none shows [N].
    start : int
        First sample of the pulse, at which the baseline ends.
    hidden : float
        Error of the baseline, because the pulse may begin in its few samples [N].
    pulses : tuple of FirstPulse
        The pulse and those after it.
    """

    force: np.ndarray
    baseline: Baseline
    noise: Noise
    scale: float
    calm: float
    step: float
    start: int
    hidden: float
    pulses: tuple[Any, ...]


class Ring(NamedTuple):
    """Damped oscillation behind a pulse: its amplitude at sample `start` [N], and its decay and
    phase advance per sample."""

    start: int
    size: float
    decay: float
    turn: float


def readings_of(
    time: np.ndarray,
    force: np.ndarray,
    noise: float | None = None,
    *,
    arrival: str = "peak",
    filtered: bool = False,
    high_pass: bool = False,
) -> list[SensorReading]:
    """Measure the first pulse of each sensor, with errors.

    A first pulse before a larger one that several sensors record at the same time is crosstalk. A
    small one at a single sensor may be crosstalk or a wave.

    Parameters
    ----------
    time : array (n,)
        Evenly spaced times [s].
    force : array (n, sensors)
        Forces, filtered if requested [N].
    noise : float, optional
        Standard deviation of a sample, if it is known [N].
    arrival : {"peak", "half", "rise"}
        Definition of the arrival.
    filtered : bool
        Whether a filter may have made ripples.
    high_pass : bool
        Whether a high-pass filter of the instrument is specified. A pulse then ends below the
        baseline.
    """
    interval = float(time[-1] - time[0]) / (len(time) - 1)
    notes: list[list[str]] = [[] for _ in force.T]
    columns = [
        _without_lone_samples(time, column, note)
        for column, note in zip(force.T, notes, strict=True)
    ]
    sensors = [_located(time, column, noise, filtered) for column in columns]
    ignored: list[Any] = [None] * len(sensors)
    smalls = [_small_pulse(sensor) for sensor in sensors]
    for k, (sensor, small) in enumerate(zip(sensors, smalls, strict=True)):
        if sensor is None or small is None:
            continue
        larger = max(sensor.pulses, key=lambda pulse: pulse.peak)
        share, ratio = small.peak / larger.peak, small.width / larger.width
        near = max(small.width, 2.0 * interval)
        near = near if share < DISTURBANCE else max(SIMULTANEOUS * near, 2.0 * interval)
        common = (
            sum(other is not None and abs(other.top - small.top) < near for other in smalls) > 1
        )
        size = f"{small.peak:.3g} N at {1e6 * small.top:.4g} us"
        if common or (share < DISTURBANCE and not DISTURBANCE < ratio < 1.0 / DISTURBANCE):
            ignored[k] = small
            after = small.top + 0.5 * np.nan_to_num(small.width)
            sensors[k] = _located(time, columns[k], noise, filtered, float(after))
            length = "shorter" if ratio < 1.0 else "longer"
            why = ", which also appears at other sensors, is not a wave and"
            why = why if common else f", much {length} than the pulse,"
            notes[k].append(f"a disturbance of {size}{why} was ignored")
        elif share < DISTURBANCE:
            sensors[k] = None
            notes[k].append(
                f"a pulse of {size} before a much larger one may be crosstalk. No result is "
                "reported"
            )
    white = _shared_blocks(sensors, len(time))
    return [
        _measured(time, sensor, drawn, arrival, (filtered, high_pass), small, note)
        if sensor is not None
        else SensorReading(messages=(*note, NOTHING), noise=_noise_alone(column))
        for sensor, column, drawn, small, note in zip(
            sensors, columns, white, ignored, notes, strict=True
        )
    ]


NOTHING = "no complete pulse rises above the noise of the measured trace"


def _without_lone_samples(time: np.ndarray, force: np.ndarray, notes: list[str]) -> np.ndarray:
    """Replace isolated samples by the cubic through their four neighbours.

    The cubic is (-f_-2 + 4 f_-1 + 4 f_1 - f_2)/6. An isolated sample differs from it by more than
    the range of the neighbours.
    """
    around = np.stack([force[:-4], force[1:-3], force[3:-1], force[4:]])
    between = (-around[0] + 4.0 * around[1] + 4.0 * around[2] - around[3]) / 6.0
    # For white noise, the difference is sqrt(1 + 34/36) times as large as the noise.
    least = CLEAR * math.sqrt(70.0 / 36.0) * max(rapid(force), step_of(force))
    least = max(least, PULSE_BEGINS**2 * float(np.ptp(force)))
    lone = np.flatnonzero(np.abs(force[2:-2] - between) > np.maximum(least, np.ptp(around, axis=0)))
    lone += 2
    if not len(lone) or len(lone) > max(3, len(force) // 100):
        return force
    corrected = force.copy()
    corrected[lone] = between[lone - 2]
    places = ", ".join(f"{1e6 * time[i]:.4g}" for i in lone[:3])
    notes.append(
        f"{len(lone)} isolated samples, at {places} us, were treated as disturbances and removed"
    )
    return corrected


def _noise_alone(force: np.ndarray) -> Noise:
    """Return the noise of a force without a baseline: its rapid changes, or its rounding."""
    return Noise(max(rapid(force), step_of(force) / math.sqrt(12.0)))


def _small_pulse(sensor: Located | None) -> Any:
    """Return the first pulse of a sensor if a larger one follows."""
    if sensor is None:
        return None
    first = sensor.pulses[0]
    larger = max(pulse.peak for pulse in sensor.pulses) > first.peak + 0.5 * CLEAR * sensor.calm
    return first if larger else None


def _smoothing_of(above: np.ndarray, noise: Noise) -> tuple[float, float, np.ndarray]:
    """Return the smoothing of a force [samples], the noise of a smoothed sample [N], and the
    smoothed force."""
    scale, calm, smooth = 0.0, noise.sample, above
    while calm > CALM * smooth.max() > 0.0:
        coarser = max(0.5, math.sqrt(2.0) * scale)
        top = int(np.argmax(smooth))
        low = np.flatnonzero(smooth < 0.5 * smooth[top])
        sides = [*(top - low[low < top][-1:]), *(low[low > top][:1] - top)]
        if not sides or not coarser <= SMOOTHEST * 2.0 * float(np.mean(sides)):
            break
        scale, smooth = coarser, smoothed(above[np.newaxis], coarser)[0]
        reach = math.ceil(6.0 * scale)
        calm = noise.of_sum(smoothed(np.eye(1, 2 * reach + 1, reach), scale)[0])
    return scale, calm, smooth


def _located(
    time: np.ndarray,
    force: np.ndarray,
    stated: float | None,
    filtered: bool,
    begin: float = -math.inf,
) -> Located | None:
    """Find the first pulse after a time, with the baseline and the noise before it."""
    n = len(force)
    interval = float(time[-1] - time[0]) / (n - 1)
    step = step_of(force)
    least = step / math.sqrt(12.0)
    start = float(np.median(force[: max(n // 100, LEAST_QUIET)]))
    noise, baseline = _noise_alone(force), NO_BASELINE._replace(value=start)
    away = np.abs(force - start) > max(0.1 * float(np.ptp(force)), 6.0 * noise.size)
    quiet = int(np.argmax(away)) // 2
    earliest = max(math.ceil((begin - time[0]) / interval), 0) if begin > time[0] else 0
    located, hidden = None, 0.0
    # The baseline is estimated before the pulse, and the pulse is found above the baseline.
    for turn in range(4):
        line = baseline_of(force[:quiet], max(noise.sample, least))
        # at first, the trace may drift between the baseline and the pulse
        baseline = line if turn else baseline
        used = line.weights[0] != 0.0
        if used.sum() >= 2 * LEAST_QUIET:
            first = int(np.argmax(used))
            off = np.where(used, force[:quiet] - line.at(np.arange(quiet)), 0.0)[first:]
            noise = noise_in(off / math.sqrt(max(used[first:].mean(), 0.5)), least)
        if stated is not None and noise.size > 0.0:
            noise = noise._replace(size=noise.size * stated / noise.sample)
        if turn == 3 and located is not None:
            return located._replace(baseline=baseline, noise=noise, hidden=hidden)
        scale, calm, smooth = _smoothing_of(force - baseline.at(np.arange(n)), noise)
        largest = float(smooth.max())
        share = max(
            RIPPLES if filtered else PULSE_BEGINS, CLEAR * calm / max(largest, least, 1e-99)
        )
        if not (largest > 0.0 and share < 1.0):
            return None
        every = [
            pulse for pulse in pulses(time, smooth, share=share, noise=calm) if pulse.top > begin
        ]
        if not every:
            return None
        height, top = float(every[0].peak), round((every[0].top - time[0]) / interval)
        if top < 1:
            return None
        low = smooth[:top] <= max(PULSE_BEGINS * height, 2.0 * calm)
        foot = top - int(np.argmax(low[::-1])) if low.any() else 0
        # or the force hardly rises over half the time from half the peak to it, as a drift does
        half = top - int(np.argmax(smooth[:top][::-1] < 0.5 * height))
        reach = max((top - half) // 2, 1)
        rises = smooth[reach:half] - smooth[: max(half - reach, 0)]
        slow = rises < max(PULSE_BEGINS * height, 3.0 * calm)
        # a dip between two tops of one pulse is no foot
        slow = np.flatnonzero(slow & (smooth[reach:half] < DISTURBANCE * height))
        late = int(slow[-1]) + 1 if len(slow) else 0
        # nor is a dip behind an earlier bump
        if late > foot and smooth[:late].max() < 1.5 * smooth[late] + CLEAR * calm:
            foot = late
        if earliest and earliest < top:
            # the pulse begins on the end of a disturbance
            foot = max(foot, earliest + int(np.argmin(smooth[earliest:top])))
        quiet = max(foot - round(0.5 * (top - foot)), earliest, 0)
        if quiet < LEAST_QUIET and foot:
            quiet = min(foot, LEAST_QUIET - 1)
            # A foot that rises exponentially, by `rise` over these samples, has a height at its
            # start that follows from the time to half the peak.
            rise = max(float(smooth[quiet] - smooth[0]), calm, 1e-12 * height)
            growth = math.log(max(0.5 * height / rise, 2.0)) / max(half - quiet, 1)
            hidden = math.hypot(0.5 * rise, rise / math.expm1(min(quiet * growth, 50.0)))
        else:
            hidden = 0.0
        located = Located(force, baseline, noise, scale, calm, step, quiet, hidden, tuple(every))
    return located


def _shared_blocks(sensors: Sequence[Located | None], n: int) -> list[np.ndarray]:
    """Return white noise of each sensor, (draw, sample), resampled at shared instants.

    The white noise is that of the autoregression before the pulses. Without enough samples, it is
    Gaussian and independent of the other sensors.
    """
    from scipy.signal import lfilter

    draw = np.random.default_rng(SEED)
    index = draw.random((DRAWS, MEMORY_SAMPLES + n))
    innovations, begin, end = {}, 0, n
    for k, sensor in enumerate(sensors):
        if sensor is None or sensor.noise.size == 0.0:
            continue
        baseline, order = sensor.baseline, len(sensor.noise.coefficients) - 1
        used = baseline.weights[0] != 0.0
        if used.sum() - order < 4 * LEAST_QUIET:
            continue
        off = sensor.force[: baseline.samples] - baseline.at(np.arange(baseline.samples))
        innovations[k] = lfilter(sensor.noise.coefficients, [1.0], np.where(used, off, 0.0)), used
        begin, end = max(begin, int(np.argmax(used)) + order), min(end, baseline.samples)
    blocks = []
    for k in range(len(sensors)):
        stretch = np.empty(0)
        if k in innovations:
            every, used = (values[begin:end] for values in innovations[k])
            stretch = np.where(used, every - every[used].mean(), 0.0) if used.any() else stretch
        size = float(np.sqrt(np.mean(stretch**2))) if len(stretch) >= 4 * LEAST_QUIET else 0.0
        gaussian = size == 0.0
        blocks.append(
            draw.standard_normal(index.shape)
            if gaussian
            else stretch[(index * len(stretch)).astype(int)] / size
        )
    return blocks


def _ring_behind(above: np.ndarray, start: int, width: float, noise: Noise) -> Ring | None:
    """Return the damped oscillation that stands out of the noise behind a pulse, or None.

    Parameters
    ----------
    above : array (n,)
        Force above the baseline, up to the next pulse [N].
    start : int
        Sample at which the pulse has ended.
    width : float
        Width of the pulse [samples].
    noise : Noise
    """
    after = above[start : start + math.ceil(RING_WIDTHS * width)]
    if len(after) < RING_SAMPLES:
        return None
    t = np.arange(len(after))
    # the pulse ends as exponentials, and the trace drifts
    tails = np.exp(-np.outer(t, RING_TAILS / width))
    tail = np.linalg.qr(np.column_stack([np.vander(t / len(after), 3), tails]))[0]
    after = after - tail @ (tail.T @ after)
    turns = 2.0 * math.pi * RING_PERIODS / width
    turns = turns[turns < 0.8 * math.pi]
    most, best = 0.0, None
    for decay in RING_DECAYS / width:
        waves = np.exp((1j * turns[:, np.newaxis] - decay) * t)
        pairs = np.stack([waves.real, waves.imag], axis=2)
        pairs = pairs - tail @ (tail.T @ pairs)
        products = pairs.transpose(0, 2, 1) @ after
        gram = pairs.transpose(0, 2, 1) @ pairs
        sizes = np.linalg.solve(gram, products[..., np.newaxis])[..., 0]
        explained = (sizes * products).sum(axis=1)
        i = int(np.argmax(explained)) if len(turns) else -1
        if i >= 0 and explained[i] > most:
            most, ring = (
                float(explained[i]),
                Ring(start, float(np.hypot(*sizes[i])), decay, turns[i]),
            )
            best = ring, pairs[i]
    if best is None:
        return None
    by_noise = sum(noise.of_sum(wave / np.linalg.norm(wave)) ** 2 for wave in best[1].T)
    return best[0] if most > max(RING_CLEAR * by_noise, RING_SHARE * float(after @ after)) else None


def _flat_top(force: np.ndarray, smooth: np.ndarray, pulse: Any, sensor: Located) -> slice | None:
    """Return the samples of a clipped top, or None for a round one.

    Equal samples in a trace with noise, or more than a round top has, are at the limit of the
    instrument. So is a top of the smoothed force that is flatter than that of any law.

    Parameters
    ----------
    force, smooth : array (n,)
        Force as recorded, and smoothed above the baseline [N].
    pulse : FirstPulse
        The pulse, in numbers.
    sensor : Located
    """
    width = float(np.sum(smooth[pulse.start : pulse.stop] > 0.5 * pulse.peak)) + 1.0
    highest = pulse.start + int(np.argmax(force[pulse.start : pulse.stop]))
    equal = _stretch_about(force, highest, 0.5 * sensor.step)
    count = equal.stop - equal.start
    round_top = FLAT_TOP * math.sqrt(sensor.step / pulse.peak)
    if count > (1 if sensor.step == 0.0 < sensor.noise.sample else 2) and (
        count - 1 > round_top * width
    ):
        return equal
    as_recorded = force, highest, sensor.noise.sample
    for fall, (values, top, noise) in itertools.product(
        FLAT_FALLS, (as_recorded, (smooth, pulse.sample, sensor.calm))
    ):
        near = _stretch_about(values, top, fall * pulse.peak)
        count = near.stop - near.start
        if (
            count > 2
            and fall * pulse.peak > max(FLAT_NOISE * noise, sensor.step)
            and count - 1 > FLAT_TOP * math.sqrt(fall + noise / pulse.peak) * width
        ):
            return near
    return None


def _stretch_about(values: np.ndarray, i: int, depth: float) -> slice:
    """Return the samples around sample i that are at most `depth` below it."""
    low = np.flatnonzero(values < values[i] - depth)
    before, after = low[low < i], low[low > i]
    return slice(
        int(before[-1]) + 1 if len(before) else 0, int(after[0]) if len(after) else len(values)
    )


def _measured(
    time: np.ndarray,
    sensor: Located,
    white: np.ndarray,
    arrival: str,
    filters: tuple[bool, bool],
    ignored: Any,
    notes: list[str],
) -> SensorReading:
    """Measure the pulse of a sensor, and again in each draw.

    The ripples of a low-pass filter do not count as ringing, and a trace may fall below its
    baseline behind a low-pass or a high-pass filter; `filters` states them.
    """
    n, baseline, noise, first = len(time), sensor.baseline, sensor.noise, sensor.start
    interval = float(time[-1] - time[0]) / (n - 1)
    above, height = sensor.force - baseline.at(np.arange(n)), float(sensor.pulses[0].peak)
    smoothing = sensor.scale * interval
    smooth = smoothed(above[np.newaxis, first:], sensor.scale)[0] if smoothing else above[first:]
    options: dict[str, Any] = {
        "arrival": arrival,
        # above the noise, and above the end of a disturbance
        "level": max(STARTS * height, 0.75 * CLEAR * sensor.calm, 2.0 * float(smooth[0])),
        "noise": sensor.calm,
        "rise": max(PULSE_BEGINS, 0.5 * CLEAR * sensor.calm / height),
    }
    rough = first_pulse(time[first:], smooth, **options).record(0)
    flat = _flat_top(sensor.force[first:], smooth, rough, sensor) if rough.complete else None
    end = max(rough.end, rough.stop) if rough.end > 0 else n - first
    ring = None
    if flat is None and not filters[0] and math.isfinite(rough.width) and rough.end > 0:
        later = [
            pulse
            for pulse in sensor.pulses[1:]
            if pulse.peak > LATER * height and pulse.width > 0.0
        ]
        until = min(
            [n, *(round((pulse.top - pulse.width - time[0]) / interval) for pulse in later)]
        )
        behind = first + min(end, rough.stop + round(0.5 * rough.width / interval))
        ring = _ring_behind(above[:until], behind, rough.width / interval, noise)
        ring = ring if ring is not None and ring.size > RING_LEAST * height else None
    if ring is not None:
        grown = ring.size * math.exp(min(ring.decay * (ring.start - first), RING_GROWTH))
        options["level"] = min(max(options["level"], 3.0 * grown), 0.4 * height)
        options["rise"] = min(max(options["rise"], 3.0 * grown / height), 0.4)
        notes.append(
            f"the trace rings on by {ring.size:.2g} N after the pulse. The results are less certain"
        )
    last = min(n, first + end + max(end - rough.sample, 10))
    t, shape = time[first:last], smooth[: last - first]
    value = first_pulse(t, shape, **options).record(0)
    reading = SensorReading(baseline=baseline, noise=noise)
    problem = _why_no_numbers(value)
    if problem:
        notes.append(problem)
        return _with_notes(reading, notes)
    fall = 0.0
    if not any(filters) and ring is None and baseline.samples:
        lowest = int(np.argmin(smooth))
        fall = max(-float(smooth[lowest]), 0.0) if lowest >= value.stop else 0.0
        weights = baseline.weights[0] + (first + lowest - baseline.middle) * baseline.weights[1]
        by_noise = CLEAR * sensor.calm + DRIFTS * noise.of_sum(weights)
        fall = fall if fall > max(by_noise, 1e-3 * height) else 0.0
        if fall:
            notes.append(
                f"after the pulse, the trace falls {fall:.3g} N below its baseline. The trace "
                "drifts, or the instrument has a high-pass filter that is not specified in "
                "sensor.high_pass. The results are less certain"
            )
    draw = np.random.default_rng([SEED, 1])
    total, phase = _drawn(sensor, shape, white, ring, draw)
    if fall:
        slope = fall / (first + lowest - baseline.middle) * draw.standard_normal((DRAWS, 1))
        total += slope * (np.arange(first, last) - baseline.middle)
    again = first_pulse(t, total.T, smoothing=smoothing, **options)
    # a smaller smoothing shows what this one hides: corners, dips, and a second top
    less, reach = smoothing / LESS, math.ceil(6.0 * sensor.scale / LESS)
    calm = noise.of_sum(smoothed(np.eye(1, 2 * reach + 1, reach), sensor.scale / LESS)[0])
    options |= {"rise": max(PULSE_BEGINS, 0.5 * CLEAR * calm / height), "noise": calm}
    fine = smoothed(above[np.newaxis, first:last], sensor.scale / LESS)[0] if less else shape
    if _fell_before(fine[: value.sample + 1], 0.5 * CLEAR * calm, height):
        notes.append(
            "because of noise, the first pulse may be one pulse or two. No result is reported"
        )
        return _with_notes(reading, notes)
    sharp = first_pulse(t, fine, **options).record(0)
    flanks = _flanks_of(t, fine, shape, value, 0.5 * CLEAR * calm)
    sharper = first_pulse(t, total.T, smoothing=less, **options)
    wide = value.width if math.isfinite(value.width) else 2.0 * (value.top - t[value.start])
    shift = phase * interval
    same = np.abs(again.top + shift - value.top) < (0.5 if flat is None else 1.0) * wide
    few = math.hypot(1.0, FEW_SAMPLES * interval / wide)
    # a jump is anywhere between two samples, and a fourth difference of three times its size
    jump = interval * float(np.abs(np.diff(shape, 4)).max(initial=0.0)) / (3.0 * math.sqrt(12.0))
    jump = jump if few < FEW_JUMPS else 0.0
    further = {"arrival": PLACE * interval, "width": flanks, "impulse": jump}
    numbers, deviations, hidden = {}, np.full((len(NAMES), DRAWS), math.nan), []
    for k, name in enumerate(NAMES):
        number, moved = getattr(value, name), shift if name == "arrival" else 0.0
        off = getattr(again, name) + moved - number
        good = np.isfinite(off) & same & again.complete
        if math.isfinite(number) and good.mean() < 1.0 - LOST:
            hidden.append(name)
            number = math.nan
        if not math.isfinite(number):
            numbers[name] = WITHHELD
            continue
        bias = float(off[good].mean())
        deviations[k] = np.where(good, off - bias, math.nan)
        error = few * math.hypot(float(off[good].std()), BIAS * bias)
        differences = (getattr(sharper, name) - getattr(again, name))[good]
        differences = differences[np.isfinite(differences)]
        beyond = abs(
            getattr(sharp, name) - number - (differences.mean() if len(differences) else 0.0)
        )
        clear = beyond > (NO_NOISE_OF_DRAWS * differences.std() if len(differences) else math.inf)
        # a ring may end the impulse
        unseen = beyond if clear or (ring is not None and name == "impulse") else 0.0
        unseen = unseen if math.isfinite(unseen) else 0.0
        if name == "impulse" and len(differences):
            # dips that the smoothing fills end it in some draws
            unseen = max(unseen, float(differences.std()))
        numbers[name] = Number(number - bias, math.hypot(error, unseen, further.get(name, 0.0)))
    if hidden:
        notes.append(
            f"no {', '.join(hidden)} is reported, because with such noise more than "
            f"{LOST:.0%} of the draws give none, or another pulse"
        )
    samples = value.width / interval
    withheld = _words_of(sensor, flat, t, above[first:last], samples, value, notes)
    if flat is not None:
        long = flat.stop - 1 - flat.start
        middle = float(t[flat.start] + 0.5 * long * interval)
        sure = math.hypot(OFF_MIDDLE * long * interval, interval / math.sqrt(12.0))
        numbers["arrival"] = Number(middle, sure) if arrival == "peak" else WITHHELD
    for k, name in enumerate(NAMES):
        if withheld and (name != "arrival" or arrival != "peak"):
            numbers[name], deviations[k] = WITHHELD, math.nan
    if ignored is not None and math.isfinite(ignored.width):
        # what a disturbance, a Gaussian, adds to a pulse that begins on its end
        scale = 0.5 * ignored.width / math.sqrt(math.log(2.0))
        area = math.erfc((float(t[0]) - ignored.top) / scale)
        area *= 0.5 * math.sqrt(math.pi) * ignored.peak * scale
        impulse, error = numbers["impulse"]
        numbers["impulse"] = Number(impulse, math.hypot(error, area))
    return SensorReading(
        **numbers,
        top=value.top,
        before=value.top - float(t[0]),
        after=float(t[value.end - 1 if value.end > 0 else -1]) - value.top,
        baseline=baseline,
        noise=noise,
        sound=flat is None and not withheld,
        merged=value.merged,
        deviations=deviations,
        messages=tuple(notes),
    )


def _fell_before(rise: np.ndarray, margin: float, height: float) -> bool:
    """Return whether an earlier pulse may have ended on the rise to the top, within a margin."""
    highest = np.maximum.accumulate(rise)
    ended = (rise < 0.5 * highest + margin) & (highest - rise > 1.5 * margin)
    return bool((ended & (highest > LATER * height)).any())


def _flanks_of(
    time: np.ndarray, fine: np.ndarray, smooth: np.ndarray, pulse: Any, margin: float
) -> float:
    """Return the error of a width [s] whose half height may be crossed twice, within a margin.

    The crossings a margin above and below half the peak are then farther apart than those of the
    smoothed pulse.
    """
    error, levels = 0.0, 0.5 * pulse.peak + margin * np.array([1.0, -1.0])
    samples, pair = np.full(2, pulse.sample), np.zeros((2, 1))
    for side in (0, 1):
        spread, round_ = (
            abs(float(np.diff(crossings(time, values + pair, samples, levels, side))[0]))
            for values in (fine, smooth)
        )
        if spread > TWO_FLANKS * round_ + 2.0 * float(time[1] - time[0]):
            error = math.hypot(error, 0.5 * spread)
    return error


def _with_notes(reading: SensorReading, notes: Sequence[str]) -> SensorReading:
    """Return a reading with messages."""
    return SensorReading(baseline=reading.baseline, noise=reading.noise, messages=tuple(notes))


def _why_no_numbers(pulse: Any) -> str:
    """Return why a pulse has no numbers, or an empty text."""
    if pulse.start == pulse.stop or pulse.sample == 0:
        return "the trace contains too little of the pulse. No result is reported"
    if not pulse.complete:
        return (
            "the trace ends before the pulse has fallen to half its height. The peak may come "
            "later, so no result is reported"
        )
    return ""


def _words_of(
    sensor: Located,
    flat: slice | None,
    time: np.ndarray,
    above: np.ndarray,
    samples: float,
    pulse: Any,
    notes: list[str],
) -> bool:
    """Add the messages about a pulse, and return whether its peak, width, and impulse are not
    reported."""
    baseline = sensor.baseline
    largest = max(sensor.pulses, key=lambda pulse: pulse.peak)
    if largest.peak > sensor.pulses[0].peak + 0.5 * CLEAR * sensor.calm:
        notes.append(
            f"a pulse {largest.peak / sensor.pulses[0].peak:.2g} times as large follows "
            f"{1e6 * (largest.top - sensor.pulses[0].top):.3g} us after the first. The results "
            "are for the first pulse"
        )
    if not baseline.samples:
        notes.append(
            "the trace starts on the rise of the pulse, so there is no baseline. Peak, width, "
            "and impulse are not reported"
        )
    elif baseline.samples < LEAST_QUIET:
        notes.append(
            f"the baseline is estimated from only {baseline.samples} samples before the pulse"
        )
    if _drifts(sensor):
        notes.append(
            f"the baseline drifts by {baseline.slope * (len(sensor.force) - 1):+.2g} N over the "
            "trace. A straight line was subtracted"
        )
    if flat is not None:
        notes.append(
            f"the pulse is constant at {float(above[flat].max()):.4g} N for "
            f"{1e6 * (time[flat.stop - 1] - time[flat.start]):.3g} us, as if the instrument "
            "clipped it. Peak, width, and impulse are not reported"
        )
    elif samples < FEWEST_SAMPLES:
        notes.append(
            f"the pulse has only {samples:.2g} samples in its width. Peak, width, and impulse "
            "are not reported"
        )
    elif samples < FEW_SAMPLES:
        notes.append(f"the pulse has only {samples:.2g} samples in its width")
    if math.isnan(pulse.impulse):
        notes.append("the trace ends before the pulse does. The impulse is not reported")
    return flat is not None or not baseline.samples or samples < FEWEST_SAMPLES


def _drifts(sensor: Located) -> bool:
    """Return whether the baseline has a slope that noise does not explain."""
    by_noise = sensor.noise.of_sum(sensor.baseline.weights[1])
    return bool(abs(sensor.baseline.slope) > DRIFTS * by_noise > 0.0)


def _drawn(
    sensor: Located,
    shape: np.ndarray,
    white: np.ndarray,
    ring: Ring | None,
    draw: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return forces above their baselines in the window of a pulse, (draw, sample), and the
    position of their samples, (draw,) [samples].

    Parameters
    ----------
    sensor : Located
    shape : array (n,)
        Smoothed pulse, from the sample `sensor.start` on [N].
    white : array (draw, sample)
        White noise.
    ring : Ring or None
    draw : Generator
    """
    from scipy.interpolate import CubicSpline

    baseline, noise, first = sensor.baseline, sensor.noise, sensor.start
    used = baseline.weights[0] != 0.0
    begin = int(np.argmax(used)) if used.any() else first
    instants = np.arange(begin, first + len(shape))
    # the autoregression begins before the first sample
    ahead = MEMORY_SAMPLES - len(noise.response)
    total = noise.draws(white[:, ahead + begin : MEMORY_SAMPLES + first + len(shape)])
    total = total[:, -len(instants) :]
    if used.any():
        order = len(noise.coefficients) - 1
        degrees = max(used.sum() / (noise.statistical_inefficiency + 2.0 * order), 2.0)
        total *= np.sqrt(degrees / draw.chisquare(degrees, (DRAWS, 1)))
    phase = draw.uniform(-0.5, 0.5, DRAWS)
    sample = np.arange(len(shape))
    at = np.clip(sample + phase[:, np.newaxis], 0.0, len(shape) - 1.0)
    total[:, first - begin :] += CubicSpline(sample, shape)(at)
    if ring is not None:
        growth = np.exp(np.minimum(ring.decay * (ring.start - instants), RING_GROWTH))
        angle = ring.turn * (instants - ring.start) + draw.uniform(0.0, 2.0 * math.pi, (DRAWS, 1))
        total += ring.size * growth * np.where(instants >= first, np.cos(angle), 0.0)
    if sensor.step > 0.0:
        offset = baseline.at(instants) + sensor.step * draw.uniform(-0.5, 0.5, (DRAWS, 1))
        total = sensor.step * np.round((total + offset) / sensor.step) - offset
    if used.any():
        errors = total[:, : baseline.samples - begin] @ baseline.weights[:, begin:].T
        total -= errors[:, :1] + errors[:, 1:] * (instants - baseline.middle)
    # the pulse may begin in the few samples before it, and a drift does not stay straight
    total += sensor.hidden * draw.standard_normal((DRAWS, 1))
    if _drifts(sensor):
        beyond = np.maximum(instants - baseline.samples, 0.0)
        total += baseline.slope * beyond * draw.standard_normal((DRAWS, 1))
    return total[:, first - begin :], phase


class ComputedPulse(NamedTuple):
    """Results for a computed pulse: peak [N], arrival [s], width [s], impulse [N s].

    `top` is the time of the peak, and `before` and `after` are the durations of the pulse before
    and after it [s]. `merged` is True if the results belong to another pulse that has merged with
    the first.
    """

    peak: float = math.nan
    arrival: float = math.nan
    width: float = math.nan
    impulse: float = math.nan
    top: float = math.nan
    before: float = math.nan
    after: float = math.nan
    merged: bool = False


def computed_pulse(
    time: np.ndarray,
    force: np.ndarray,
    filtered: bool,
    jumps: ForceJumps | None = None,
    smooth: bool = True,
    arrival: str = "peak",
) -> ComputedPulse:
    """Return the first pulse of a computed trace.

    Its impulse ends as that of a measured pulse.

    Samples before the force first exceeds the ripples of a filter are ignored.
    """
    level = (RIPPLES if filtered else PULSE_BEGINS) * float(force.max(initial=0.0))
    pulse = first_pulse(
        time, force, arrival=arrival, jumps=jumps, smooth=smooth, level=level, rise=PULSE_BEGINS
    ).record(0)
    if not pulse.complete:
        return ComputedPulse()
    before = pulse.top - float(time[np.argmax(force >= PULSE_BEGINS**2 * pulse.peak)])
    # without an end, the last sample
    after = float(time[pulse.end - 1 if pulse.end > 0 else -1]) - pulse.top
    return ComputedPulse(
        pulse.peak, pulse.arrival, pulse.width, pulse.impulse, pulse.top, before, after,
        pulse.merged,
    )  # fmt: skip
