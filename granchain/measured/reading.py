"""First pulse of one sensor: baseline, results with uncertainties, and problems.

A result that the trace does not determine is not reported, and a message gives the reason. Examples
are the peak of a clipped pulse and the width of a truncated pulse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from granchain.analysis.pulse import (
    MERGED_NOISE,
    PULSE_BEGINS,
    PULSE_ENDS,
    ForceJumps,
    first_pulse,
)
from granchain.case.tables import ARRIVALS, DEFAULT_ARRIVAL
from granchain.measured.baseline import LEAST_QUIET, NO_BASELINE, Baseline, baseline_of
from granchain.measured.clipped_top import (
    FEW_IN_WIDTH,
    FEW_SAMPLES,
    TO_FLANKS,
    clipping,
)
from granchain.measured.noise import (
    DOUBT,
    RIPPLES,
    Noise,
    NoisyPulse,
    Smoothed,
    crossing_positions,
    fell_before,
    foot_of,
    half_height,
    pulses_in,
)
from granchain.measured.uncertainty import (
    NOT_REPORTED,
    Number,
    Weights,
    fitted_crossing,
    fitted_peak,
)

# An isolated sample differs from the cubic through its four neighbours by more than this multiple
# of their range.
ISOLATED_SAMPLE_RATIO = 1.0
# A first pulse below this fraction of a later one may be a disturbance, such as crosstalk of the
# trigger.
DISTURBANCE = 1.0 / 3.0
# Two tops closer than this fraction of a width count as simultaneous, because a wave takes this
# time from bead to bead.
SIMULTANEOUS = 0.25
# A disturbance that is shorter or longer than the pulse by this factor is not a wave.
SHORTEST = 1.0 / 3.0
# Distance of the peak from the middle of the stretch above 0.4 to 0.95 of its height, as a fraction
# of the length of that stretch: root mean square over 25 laws and 5 beads each (measured; 19 of 20
# are below 0.16).
OFF_MIDDLE = 0.07
# If the crossings at both ends of the margin are this many times as far apart as the slope implies,
# they belong to two flanks.
TWO_FLANKS_RATIO = 2.5
# Above this ratio, the flank is so flat that its slope alone is not sufficient.
CURVED = 1.25
# With fewer samples, one sample may contain the complete top, and the width has no meaning.
FEWEST_SAMPLES = 3.0
# With fewer samples, a dip that ends the pulse may lie between two samples. The narrowest dips have
# a standard deviation of 0.04 of the width (law of Gharib and Hurmuzlu), so their complete width,
# twice that at half depth, is 2 * 2.355 * 0.04 = 0.19 of the width.
FEWEST_OF_DIP = 5.3


@dataclass(frozen=True, eq=False)
class SensorReading:
    """First pulse of one sensor.

    Attributes
    ----------
    peak, arrival, width, impulse : Number
        Peak force [N], arrival on the clock of the trace [s], width [s], and impulse [N s].
    top, before, after : float
        Time of the peak, and duration of the pulse before and after it [s]. They are nan if there
        is no pulse, or if the pulse does not end.
    by_noise : tuple of float
        Errors of peak [N] and arrival [s] from noise alone. The shape of the pulse may change
        their errors, too.
    baseline : Baseline
    sound : bool
        Whether the shape of the pulse was recorded. It is False if the pulse is clipped, truncated,
        or cannot be distinguished from another.
    small : float
        Time of a pulse before a larger one [s]. It may not be a wave. nan means that there is none.
    small_height, small_width, small_share : float
        Height of that pulse [N], its width [s], and its height divided by that of the larger pulse
        [1].
    disturbed : float
        Time of a disturbance that was ignored [s]. nan means that there is none.
    messages : tuple of str
        Problems of the trace, one message each.
    """

    peak: Number = NOT_REPORTED
    arrival: Number = NOT_REPORTED
    width: Number = NOT_REPORTED
    impulse: Number = NOT_REPORTED
    top: float = math.nan
    before: float = math.nan
    after: float = math.nan
    by_noise: tuple[float, float] = (math.nan, math.nan)
    baseline: Baseline = NO_BASELINE
    sound: bool = False
    small: float = math.nan
    small_height: float = 0.0
    small_width: float = 0.0
    small_share: float = 0.0
    disturbed: float = math.nan
    messages: tuple[str, ...] = ()


def reading_of(
    time: np.ndarray,
    recorded: np.ndarray,
    noise: Noise,
    filtered: bool = False,
    begin: float = -math.inf,
    high_pass: bool = False,
    arrival: str = DEFAULT_ARRIVAL,
) -> SensorReading:
    """Analyse the first pulse of a sensor.

    Parameters
    ----------
    time : array (n,)
        Evenly spaced times [s].
    recorded : array (n,)
        Force, filtered if requested [N].
    noise : Noise
    filtered : bool
        Whether a filter may have made ripples.
    begin : float
        Pulses before this time are disturbances [s].
    high_pass : bool
        Whether a high-pass filter of the instrument is specified. A pulse then ends below the
        baseline.
    arrival : {"peak", "half", "rise"}
        Definition of the arrival.
    """
    messages: list[str] = []
    interval = float(time[-1] - time[0]) / (len(time) - 1)
    original, recorded = recorded, _without_lone_samples(time, recorded, noise, messages)
    lone = np.flatnonzero(recorded != original)
    start = float(np.median(recorded[: max(len(recorded) // 100, LEAST_QUIET)]))
    baseline = NO_BASELINE._replace(value=start, value_error=0.0, samples=LEAST_QUIET)
    small: tuple[NoisyPulse, float, float] | None = None
    fitted_samples = 0
    # Two passes, because the baseline is estimated from the samples before the pulse, and the pulse
    # is found relative to the baseline.
    for turn in range(2):
        force = recorded - baseline.at(np.arange(len(recorded)))
        smoothed = pulses_in(force, noise, filtered)
        pulses = [pulse for pulse in smoothed.pulses if time[pulse.top] >= begin]
        if not pulses:
            return SensorReading(
                baseline=baseline,
                messages=(
                    *messages,
                    "no complete pulse rises above the noise of the measured trace",
                ),
            )
        first = pulses[0]
        left, right = half_height(smoothed.smooth, first.top)
        foot = foot_of(smoothed, first, left) if math.isfinite(left) else 0
        if smoothed.smooth[foot] > DISTURBANCE * first.height:
            # The foot is between two tops of one pulse.
            foot = min(foot, first.start)
        largest = max(pulses, key=lambda pulse: pulse.height)
        # Above the second baseline, another pulse may be the first.
        if first.height < largest.height - smoothed.doubt:
            # twice one side if the trace starts on the other side
            wide = 2.0 * interval * float(np.nanmean([first.top - left, right - first.top]))
            small = first, wide, first.height / largest.height
        if turn == 0 and small is not None and small[2] < DISTURBANCE:
            ratio = (right - left) / float(np.diff(half_height(smoothed.smooth, largest.top))[0])
            if not SHORTEST < ratio < 1.0 / SHORTEST:
                length = "shorter" if ratio < 1.0 else "longer"
                size = f"{first.height:.3g} N at {1e6 * time[first.top]:.4g} us"
                note = f"a disturbance of {size}, much {length} than the pulse, was ignored"
                begin = float(time[first.stop])
                later = reading_of(time, recorded, noise, filtered, begin, high_pass, arrival)
                later = replace(later, messages=(*messages, note, *later.messages))
                return _with_disturbance(later, float(time[first.top]), first.height, small[1])
        quiet = foot - round(0.5 * (first.top - foot))
        if quiet >= max(LEAST_QUIET, left - foot):
            # the baseline of the same samples is already known
            baseline = baseline if quiet == fitted_samples else baseline_of(recorded[:quiet], noise)
            fitted_samples = quiet
        else:
            fitted_samples = 0
            baseline = _short_baseline(recorded, smoothed, foot, left, noise, first.height)
    fallen = _with_fall(baseline, smoothed, first)
    if not high_pass and baseline.samples and fallen is not baseline:
        fall = -float(smoothed.smooth[first.stop :].min())
        messages.append(
            f"after the pulse, the trace falls {fall:.3g} N below its baseline. The trace "
            "drifts, or the instrument has a high-pass filter that is not specified in "
            "sensor.high_pass. The results are less certain"
        )
    baseline = baseline if high_pass else fallen
    force = recorded - baseline.at(np.arange(len(recorded)))
    smoothed = pulses_in(force, noise, filtered) if baseline.samples else smoothed
    if smoothed.smooth[first.top] < PULSE_ENDS * first.height:
        # The samples before the pulse belong to another pulse.
        baseline = NO_BASELINE
    if largest is not first and largest.height > first.height + smoothed.doubt:
        messages.append(
            f"a pulse {largest.height / first.height:.2g} times as large follows "
            f"{1e6 * (time[largest.top] - time[first.top]):.3g} us after the first. The results "
            "are for the first pulse"
        )
    if (
        not right - left >= 2.0 * FEW_SAMPLES
        and ((lone > foot) & (lone < first.stop + first.top - foot)).any()
    ):
        messages.append(
            "one of these samples is in the pulse, which has too few samples to distinguish a "
            "disturbance from a dip or a peak. No result is reported"
        )
        return SensorReading(baseline=baseline, messages=tuple(messages))
    reading = _numbers_of_pulse(
        time, force, noise, smoothed, first, foot, baseline, arrival, messages
    )
    reading = replace(reading, messages=tuple(messages))
    if small is None:
        return reading
    return replace(
        reading,
        small=float(time[small[0].top]),
        small_height=small[0].height,
        small_width=small[1],
        small_share=small[2],
    )


def _with_disturbance(
    reading: SensorReading, at: float, height: float, width: float
) -> SensorReading:
    """Add the area of an earlier disturbance to the uncertainty of the impulse.

    Parameters
    ----------
    at, height, width : float
        Time [s], height [N], and width at half height [s] of the disturbance, a Gaussian.
    """
    impulse, scale = reading.impulse, 0.5 * width / math.sqrt(math.log(2.0))
    if math.isfinite(impulse.value):
        begin = reading.top - reading.before
        area = 0.5 * math.sqrt(math.pi) * height * scale * math.erfc((begin - at) / scale)
        impulse = Number(impulse.value, math.hypot(impulse.error, area))
    return replace(reading, impulse=impulse, disturbed=at)


def _numbers_of_pulse(
    time: np.ndarray,
    force: np.ndarray,
    noise: Noise,
    smoothed: Smoothed,
    pulse: NoisyPulse,
    foot: int,
    baseline: Baseline,
    definition: str,
    messages: list[str],
) -> SensorReading:
    """Return the results for a pulse. `messages` receives the reason for each missing one."""
    interval = float(time[-1] - time[0]) / (len(time) - 1)
    top = pulse.top
    left, right = half_height(smoothed.smooth, top)
    halves = [side for side in (top - left, right - top) if math.isfinite(side)]
    lacks = {
        "the trace ends before the pulse has fallen to half its height. The peak may come "
        "later, so "
        "no result is reported": pulse.stop >= len(force),
        "because of noise, the first pulse may be one pulse or two. No result is reported": (
            fell_before(smoothed, pulse)
        ),
        "the trace contains too little of the pulse. No result is reported": not halves or top < 1,
    }
    if any(lacks.values()):
        messages.append(next(sentence for sentence, holds in lacks.items() if holds))
        return SensorReading(baseline=baseline)
    peak, position, peak_weights, position_weights = fitted_peak(
        force, top, max(min(halves), 1.0), noise
    )
    position = _rival_tops(smoothed, pulse, position)
    has_baseline = baseline.samples > 0
    clipped, above = clipping(force, smoothed, noise, top, peak.value)
    flat = clipped if math.isinf(above) else None
    if not has_baseline:
        messages.append(
            "the trace starts on the rise of the pulse, so there is no baseline. Peak, width, "
            "and impulse are not reported"
        )
    elif baseline.samples < LEAST_QUIET:
        messages.append(
            f"the baseline is estimated from only {baseline.samples} samples before the pulse"
        )
    if baseline.drifts:
        messages.append(
            f"the baseline drifts by {baseline.slope * (len(force) - 1):+.2g} N over the trace. "
            "A straight line was subtracted"
        )
    if flat is not None:
        messages.append(
            f"the pulse is constant at {float(force[flat].max()):.4g} N for "
            f"{1e6 * interval * (flat.stop - 1 - flat.start):.3g} us, as if the instrument "
            "clipped it. Peak, width, and impulse are not reported"
        )
        # A round top may also have a few equal samples.
        long = flat.stop - flat.start
        position_error = position.error if math.isfinite(position.error) else long
        position = Number(
            0.5 * (flat.start + flat.stop - 1), max(OFF_MIDDLE * long, position_error)
        )
    # A slope of the baseline shifts the peak. The shift is larger for a flat top (a parabola with
    # this half height).
    tilt = (
        math.hypot(baseline.slope, baseline.slope_error)
        * min(halves) ** 2
        / max(pulse.height, smoothed.doubt)
    )
    arrival = Number(
        float(time[0]) + interval * position.value, interval * math.hypot(position.error, tilt)
    )
    by_noise = (
        math.hypot(noise.of_sum(peak_weights.row), baseline.uncertainty(top)),
        interval * math.hypot(noise.of_sum(position_weights.row), tilt),
    )
    of_top, fraction = arrival.value, ARRIVALS[definition]
    if fraction is not None:
        arrival = NOT_REPORTED
    if not has_baseline or flat is not None or not math.isfinite(peak.value):
        return SensorReading(arrival=arrival, top=of_top, baseline=baseline)
    lost = above / TO_FLANKS
    if clipped is not None and right - left >= FEW_IN_WIDTH:
        messages.append(
            "the peak may be clipped, which the noise hides. The uncertainty of the peak "
            "extends to the force at which the flanks would meet"
        )
    peak = Number(peak.value, math.hypot(max(peak.error, lost), baseline.uncertainty(top)))
    width = _between_flanks(force, noise, smoothed, top, peak, peak_weights, interval)
    if math.isnan(width.value):
        messages.append("the measured trace is too noisy or too short for a width at half height")
    elif width.value < FEWEST_SAMPLES * interval:
        messages.append(
            f"the pulse has only {width.value / interval:.2g} samples in its width. Peak, width, "
            "and impulse are not reported"
        )
        return SensorReading(arrival=arrival, top=of_top, baseline=baseline)
    elif width.value < FEW_SAMPLES * interval:
        messages.append(f"the pulse has only {width.value / interval:.2g} samples in its width")
    if fraction is not None:
        # An error of the baseline moves the crossing by 1 - fraction of it, and an error of the
        # peak by the fraction.
        height_error = math.hypot(peak.error, (1.0 / fraction - 1.0) * baseline.uncertainty(top))
        arrival = _between_flanks(
            force,
            noise,
            smoothed,
            top,
            Number(peak.value, height_error),
            peak_weights,
            interval,
            fraction,
            (1.0,),
        )
        arrival = Number(float(time[0]) + arrival.value, arrival.error)
    begin = max(0, foot - round(0.5 * (top - foot)))
    area, end = _impulse_of(
        force, noise, smoothed, pulse, begin, baseline, right - left < FEW_SAMPLES
    )
    if clipped is not None:
        # Area above the top of a parabola with the flanks as tangents: two thirds of half the
        # height of the triangle.
        lost_area = lost * (clipped.stop - clipped.start) / 3.0
        area = Number(area.value, math.hypot(area.error, lost_area))
    if math.isnan(area.value):
        messages.append("the trace ends before the pulse does. The impulse is not reported")
    elif width.value < FEWEST_OF_DIP * interval:
        messages.append(
            "a dip that ends the pulse may lie between two samples. The impulse is not reported"
        )
        area = NOT_REPORTED
    return SensorReading(
        peak,
        arrival,
        width,
        Number(interval * area.value, interval * area.error),
        top=of_top,
        before=interval * (position.value - begin),
        after=interval * (end - position.value),
        by_noise=by_noise if fraction is None else (by_noise[0], arrival.error),
        baseline=baseline,
        sound=True,
    )


def _short_baseline(
    recorded: np.ndarray,
    smoothed: Smoothed,
    n: int,
    half_position: float,
    noise: Noise,
    height: float,
) -> Baseline:
    """Estimate the baseline from few samples that may include the foot of a pulse.

    A foot that rises as e^(i/t), by `rise` over the n samples, has the height rise/(e^(n/t) - 1) at
    its start. t is its mean from the end of the samples to the half height.
    """
    if n == 0:
        return NO_BASELINE
    rise = max(
        float(smoothed.smooth[n] - smoothed.smooth[0]), smoothed.doubt / DOUBT, 1e-12 * height
    )
    growth = math.log(max(PULSE_ENDS * height / rise, 2.0)) / max(half_position - n, 1.0)
    hidden = rise / math.expm1(min(n * growth, 50.0))
    error = math.hypot(noise.of_sum(np.full(n, 1.0 / n)), 0.5 * rise, hidden)
    return Baseline(
        float(recorded[:n].mean()), 0.0, 0.5 * (n - 1), error, 0.0, min(n, LEAST_QUIET - 1)
    )


def _with_fall(baseline: Baseline, smoothed: Smoothed, pulse: NoisyPulse) -> Baseline:
    """Increase the uncertainty of the baseline if the trace later falls below it.

    Beads do not pull, so the baseline has drifted. The drift is assumed to be even.
    """
    after = smoothed.smooth[pulse.stop :]
    if not len(after) or after.min() > -2.0 * smoothed.doubt:
        return baseline
    lowest = pulse.stop + int(np.argmin(after))
    return baseline._replace(
        slope_error=math.hypot(
            baseline.slope_error, float(after.min()) / (lowest - baseline.middle)
        )
    )


def _without_lone_samples(
    time: np.ndarray, force: np.ndarray, noise: Noise, messages: list[str]
) -> np.ndarray:
    """Replace isolated samples by the cubic through their four neighbours.

    The cubic is (-f_-2 + 4 f_-1 + 4 f_1 - f_2)/6.
    """
    around = np.stack([force[:-4], force[1:-3], force[3:-1], force[4:]])
    between = (-around[0] + 4.0 * around[1] + 4.0 * around[2] - around[3]) / 6.0
    # For white noise, the difference is sqrt(1 + 34/36) times as large as the noise.
    beyond = np.maximum(
        2.0 * DOUBT * math.sqrt(70.0 / 36.0) * noise.sample,
        ISOLATED_SAMPLE_RATIO * np.ptp(around, axis=0),
    )
    lone = np.flatnonzero(np.abs(force[2:-2] - between) > beyond) + 2
    if not len(lone) or len(lone) > max(3, len(force) // 100):
        return force
    corrected = force.copy()
    corrected[lone] = between[lone - 2]
    places = ", ".join(f"{1e6 * time[i]:.4g}" for i in lone[:3])
    messages.append(
        f"{len(lone)} isolated samples, at {places} us, were treated as disturbances and removed"
    )
    return corrected


def _rival_tops(smoothed: Smoothed, pulse: NoisyPulse, position: Number) -> Number:
    """Increase the uncertainty of the peak position if another top may be as high.

    This is the case if the pulse is as high elsewhere, within the margin, with a dip between.
    """
    high = (
        smoothed.smooth[pulse.start : pulse.stop]
        > smoothed.smooth[pulse.top] - math.sqrt(2.0) * smoothed.doubt
    )
    edges = np.flatnonzero(np.diff(np.concatenate([[0], high.astype(int), [0]])))
    if len(edges) <= 2:
        return position
    distance = max(
        pulse.top - (pulse.start + int(edges[0])), pulse.start + int(edges[-1]) - 1 - pulse.top
    )
    return Number(position.value, math.hypot(position.error, distance / 3.0))


def _between_flanks(
    force: np.ndarray,
    noise: Noise,
    smoothed: Smoothed,
    top: int,
    peak: Number,
    peak_weights: Weights,
    interval: float,
    fraction: float = PULSE_ENDS,
    signs: Sequence[float] = (-1.0, 1.0),
) -> Number:
    """Return the sum of the times at which the flanks cross a fraction of the peak, with signs [s].

    By default, this is the width. With one sign, it is the time of the rise.
    """
    level = fraction * peak.value
    positions = crossing_positions(smoothed.smooth, top, level)[: len(signs)]
    if not all(map(math.isfinite, positions)):
        return NOT_REPORTED
    total, by_shape, by_height = 0.0, [], 0.0
    # Noise moves the peak and the crossings together.
    weights = np.zeros(len(force))
    for flank, (position, sign) in enumerate(zip(positions, signs, strict=True)):
        at, slope, position_weights = fitted_crossing(
            force, level, position, max(abs(position - top), 1.0), noise
        )
        if not math.isfinite(at.value) or not slope:
            return NOT_REPORTED
        # If the flank is nearly flat, its crossing may be anywhere within the margin.
        high, low = (
            crossing_positions(smoothed.smooth, top, level + margin)[flank]
            for margin in (smoothed.doubt, -smoothed.doubt)
        )
        # These are eight standard deviations apart. If the distance is more than the slope
        # explains, there are two possible crossings.
        between = abs(high - low) if math.isfinite(high - low) else math.inf
        slack = smoothed.sharp_doubt + DOUBT * fraction * peak.error
        above, below = (
            crossing_positions(smoothed.sharp, top, level + margin)[flank]
            for margin in (slack, -slack)
        )
        wide = max(abs(above - below), between, abs(above - at.value), abs(below - at.value))
        jumps = wide > 1.0 + 2.0 * TWO_FLANKS_RATIO * slack / abs(slope)
        curved = between > CURVED * 2.0 * smoothed.doubt / abs(slope)
        total += sign * at.value
        by_noise = noise.of_sum(position_weights.row)
        flank_error = 0.5 * wide if jumps else between / (2.0 * DOUBT) if curved else 0.0
        by_shape.append(math.sqrt(max(max(at.error, flank_error) ** 2 - by_noise**2, 0.0)))
        position_weights.added_to(weights, sign)
        peak_weights.added_to(weights, sign * fraction / slope)
        by_height += fraction / abs(slope)
    of_samples = noise.of_sum(peak_weights.row)
    height_doubt = math.sqrt(max(peak.error**2 - of_samples**2, 0.0))
    error = math.hypot(*by_shape, by_height * height_doubt, noise.of_sum(weights))
    return Number(interval * total, interval * error) if math.isfinite(error) else NOT_REPORTED


def _impulse_of(
    force: np.ndarray,
    noise: Noise,
    smoothed: Smoothed,
    pulse: NoisyPulse,
    begin: int,
    baseline: Baseline,
    few: bool,
) -> tuple[Number, float]:
    """Return the sum over a pulse [N samples] and the position of its end [samples].

    With noise, the pulse ends between an earliest and a latest position. The result is the mean of
    both sums.
    """
    after, by = smoothed.smooth[pulse.top :], max(smoothed.doubt, 1e-9 * pulse.height)
    early, late = pulse_end(after, pulse.height, by), pulse_end(after, pulse.height, -by)
    # A short dip is visible only without smoothing.
    sharp = pulse_end(
        smoothed.sharp[pulse.top :], pulse.height, max(smoothed.sharp_doubt, by), seen=1.0
    )
    early = sharp if early is None else early if sharp is None else min(early, sharp)
    if early is None:
        return NOT_REPORTED, math.nan
    if late is None:
        if after.min() > PULSE_BEGINS * pulse.height + by:
            return NOT_REPORTED, math.nan
        late = int(np.argmin(after))
    late = max(early, late)
    sums = [float(np.trapezoid(force[begin : pulse.top + end + 1])) for end in (early, late)]
    stretch = force[begin : pulse.top + late + 1]
    # The rule has four times the error with every other sample. The two halves of the samples
    # differ by twice that.
    sampling = abs(float(stretch[::2].sum() - stretch[1::2].sum())) / 3.0
    # A jump can be anywhere between two samples, and it causes a fourth difference of three times
    # its size. The top of a pulse with few samples causes one as well.
    by_jump = (
        0.0 if few else float(np.abs(np.diff(stretch, 4)).max(initial=0.0)) / 3.0 / math.sqrt(12.0)
    )
    # Both sums have the same weight.
    end = pulse.top + 0.5 * (early + late)
    count = round(end) - begin + 1
    by_noise = noise.of_sum(np.ones(count))
    by_baseline = baseline.uncertainty(0.5 * (begin + end)) * count
    # Uniform distributions: the end lies between the earliest and the latest position, and within
    # its interval.
    by_end = max(abs(float(force[pulse.top + early])), PULSE_BEGINS * pulse.height) / math.sqrt(
        12.0
    )
    error = math.hypot(
        (sums[1] - sums[0]) / math.sqrt(12.0), by_noise, by_baseline, sampling, by_jump, by_end
    )
    return Number(0.5 * (sums[0] + sums[1]), error), end


def pulse_end(
    after: np.ndarray, height: float, doubt: float = 0.0, seen: float = 0.5
) -> int | None:
    """Return the number of samples from the peak to the end of a pulse.

    The pulse ends where the force is down to 1 % of the peak, or at its minimum before it rises
    again by 1 % of the peak.

    Parameters
    ----------
    after : array (n,)
        Force from the peak on [N].
    height : float
        Peak force [N].
    doubt : float
        Margin within which the pulse may have ended unnoticed [N]. A positive margin gives the
        earliest possible end, and a negative margin the latest.
    seen : float
        Fraction of the margin that a rise must reach if the margin is more than 1 %. It is larger
        for less smoothed traces, in which noise rises more.

    Returns
    -------
    int or None
        None if the trace ends before the pulse.
    """
    enough = PULSE_BEGINS * height
    down = after <= enough + 0.5 * doubt
    # A rise of nearly 1 % may be larger or smaller between the samples.
    rise = enough * (0.5 if doubt > 0.0 else 2.0 if doubt < 0.0 else 1.0) - doubt
    lowest = np.minimum.accumulate(after)
    risen = after - lowest > (rise if rise > 0.0 else seen * doubt)
    if doubt > 0.0:
        risen |= _shoulder(after, height, doubt)
    ended = down | risen
    if not ended.any():
        return None
    end = int(np.argmax(ended))
    return end if down[end] else int(np.argmin(after[: end + 1]))


def _shoulder(after: np.ndarray, height: float, doubt: float) -> np.ndarray:
    """Return where a force may rise between samples or within its margin, (n,) bool.

    This is the case if the force falls little over a quarter of the time to half height: by less
    than half of the margin, or by less than half of its fall before and after. A pulse with a
    single top always falls by more.
    """
    reach = max(1, int(np.argmax(after < PULSE_ENDS * height)) // 4)
    falls = np.append(after[:-reach] - after[reach:], np.full(reach, math.inf))
    finite_falls = np.where(np.isfinite(falls), falls, -math.inf)
    before, later = np.full(len(after), -math.inf), np.full(len(after), -math.inf)
    for shift in (reach, 2 * reach):
        before[shift:] = np.maximum(before[shift:], finite_falls[:-shift])
        later[:-shift] = np.maximum(later[:-shift], finite_falls[shift:])
    steps = (falls < 0.5 * np.minimum(before, later)) & (np.minimum(before, later) > doubt)
    return np.asarray(((falls < 0.5 * doubt) & (after < height - 2.0 * doubt)) | steps)


def merged_from(time: np.ndarray, force: np.ndarray, reading: SensorReading, noise: float) -> bool:
    """Return whether a larger pulse has merged with the analysed one.

    `force` is the force above the baseline [N], and `noise` the standard deviation of its noise
    [N].
    """
    if not math.isfinite(reading.before):
        return False
    later = slice(int(np.searchsorted(time, reading.top - reading.before)), None)
    # start above the noise, because a pulse that starts in the noise would end in it
    pulse = first_pulse(time[later], force[later], level=MERGED_NOISE * noise, noise=noise)
    return bool(pulse.merged[0])


def readings_of(
    time: np.ndarray,
    force: np.ndarray,
    noises: Sequence[Noise],
    filtered: bool,
    high_pass: bool = False,
    arrival: str = DEFAULT_ARRIVAL,
) -> list[SensorReading]:
    """Analyse the first pulse of each sensor.

    A first pulse before a larger one that several sensors record at the same time is crosstalk. A
    small one at a single sensor may be crosstalk or a wave.
    """
    readings = [
        reading_of(time, column, noise, filtered, high_pass=high_pass, arrival=arrival)
        for column, noise in zip(force.T, noises, strict=True)
    ]
    interval = float(time[-1] - time[0]) / (len(time) - 1)
    doubtful = {
        k: reading.small for k, reading in enumerate(readings) if math.isfinite(reading.small)
    }
    disturbance_times = [
        at for reading in readings for at in (reading.small, reading.disturbed) if math.isfinite(at)
    ]
    for k, at in doubtful.items():
        reading, notes = readings[k], []
        half_distance = max(reading.small_width, 2.0 * interval)
        # a wave reaches two beads at different times, less than a width apart if they touch
        tolerance = (
            half_distance
            if reading.small_share < DISTURBANCE
            else max(SIMULTANEOUS * half_distance, 2.0 * interval)
        )
        # the pulse of this sensor is one of these simultaneous pulses
        if sum(abs(at - other) < tolerance for other in disturbance_times) > 1:
            size = f"{reading.small_height:.3g} N at {1e6 * at:.4g} us"
            notes.append(
                f"a disturbance of {size}, which also appears at other sensors, is not a wave "
                "and was ignored"
            )
            height, wide = reading.small_height, reading.small_width
            reading = reading_of(
                time, force[:, k], noises[k], filtered, at + half_distance, high_pass, arrival
            )
            reading = _with_disturbance(reading, at, height, wide)
        if math.isfinite(reading.small) and reading.small_share < DISTURBANCE:
            size = f"{reading.small_height:.3g} N at {1e6 * reading.small:.4g} us"
            notes.append(
                f"a pulse of {size} before a much larger one may be crosstalk. No result is "
                "reported"
            )
            reading = SensorReading(baseline=reading.baseline, messages=reading.messages)
        readings[k] = replace(reading, messages=(*notes, *reading.messages))
    return readings


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
    arrival: str = DEFAULT_ARRIVAL,
) -> ComputedPulse:
    """Return the first pulse of a computed trace.

    Its impulse ends like the impulse of a measured pulse. Samples before the force first exceeds
    the ripples of a filter are ignored.
    """
    level = (RIPPLES if filtered else PULSE_BEGINS) * float(force.max(initial=0.0))
    pulse = first_pulse(
        time, force, arrival=arrival, jumps=jumps, smooth=smooth, level=level, rise=PULSE_BEGINS
    ).record(0)
    if not pulse.complete:
        return ComputedPulse()
    before = pulse.top - float(time[np.argmax(force >= PULSE_BEGINS**2 * pulse.peak)])
    # if the pulse does not end, the last sample
    after = float(time[pulse.end - 1 if pulse.end > 0 else -1]) - pulse.top
    return ComputedPulse(
        pulse.peak, pulse.arrival, pulse.width, pulse.impulse, pulse.top, before, after,
        pulse.merged,
    )  # fmt: skip
