"""Clipped tops of pulses, which are flatter than those of any contact law."""

from __future__ import annotations

import itertools
import math

import numpy as np

from granchain.analysis.pulse import PULSE_ENDS
from granchain.measured.baseline import digitizer_step
from granchain.measured.noise import (
    DOUBT,
    SMOOTHEST,
    Noise,
    Smoothed,
    crossing_positions,
    half_height,
)

# With any law except gharib-hurmuzlu-plastic, whose top may be a plateau, a pulse is above 1 - e of
# its peak for at most 2.3 sqrt(e) of its width at this fraction of its height (27 laws, 5 beads, e
# from 0.003 to 0.2; a parabola: 2.0). A top that is flat for longer is clipped. The width at half
# height may contain a tail or a second top.
NEAR_TOP, ROUND_TOP = 0.75, 2.4
# Inspected stretches: the force is below its largest value by less than these multiples of its
# uncertainty margin.
TOP_MARGINS = (1.5, 1.0, 0.75)
# Smallest number of samples in the width. With fewer samples, one or two clipped samples look like
# a top, because a Gaussian pulse falls by a tenth over 0.2 of its width.
FEW_IN_WIDTH = 5.0
# Number of standard deviations from a clipped top to the intersection of the flanks. Numbers of
# standard deviations by which a top must be flatter than a round one: it is then certainly or
# possibly clipped.
TO_FLANKS = 3.5
SURELY, PERHAPS = 2.0, 1.5
# The tangents at half height of a Gaussian pulse that is clipped at the fraction c of its peak meet
# at 1/2 + ln(2/c) times the clipped height: 1.2 for c = 1. If they meet higher than 1 plus this
# fraction, c is below 2/e = 0.74, so a top that is possibly clipped may have lost a quarter.
MOST_ABOVE = 0.5
# With fewer samples in its width, a pulse may be clipped between two of them, and a message reports
# the number (our choice).
FEW_SAMPLES = 8.0


def clipping(
    force: np.ndarray, smoothed: Smoothed, noise: Noise, top: int, peak: float
) -> tuple[slice | None, float]:
    """Return the samples of a top that may be clipped, and how far above the peak it may reach [N].

    The top may reach up to the force at which the flanks would meet. The second value is inf if the
    top is certainly clipped, or if the pulse may be much higher than the peak.
    """
    left, right = half_height(smoothed.smooth, top)
    samples, deviations = flattest_top(force, smoothed, noise, top)
    if deviations > SURELY:
        return samples, math.inf
    flat = deviations > PERHAPS
    if not flat:
        # a parabola with this width near its top, which excludes a tail or a second top
        ends = crossing_positions(smoothed.smooth, top, NEAR_TOP * float(smoothed.smooth[top]))
        width = math.sqrt(2.0) * (ends[1] - ends[0])
        samples = few_at_top(force, noise, top, width) if width < FEW_SAMPLES else None
    if samples is None or not math.isfinite(right - left):
        return None, 0.0
    above = max(meeting_of_flanks(force, samples, left, right) - peak, 0.0)
    return samples, math.inf if flat and above > MOST_ABOVE * peak else above


def flattest_top(
    force: np.ndarray, smoothed: Smoothed, noise: Noise, top: int
) -> tuple[slice | None, float]:
    """Return the flattest samples about a top, and by how much they are flatter than a round one.

    The second value is in standard deviations of the noise.

    Over a stretch of length l, a round top falls by at least (l/(ROUND_TOP width))^2 of its height.
    This is compared with the fall of a parabola through the samples. The stretches are found in
    copies with increasing smoothing, because noise interrupts a long stretch.
    """
    from scipy.ndimage import gaussian_filter1d

    step, height = digitizer_step(force), float(smoothed.smooth[top])
    first = max(top - 2, 0)
    highest = first + int(np.argmax(force[first : top + 3]))
    near = _stretch_about(smoothed.smooth, top, (1.0 - NEAR_TOP) * height)
    # Equal samples in a trace with noise and without rounding steps are at the limit of the
    # instrument. No sample is above it.
    stretch = _stretch_about(force, highest, step)
    n = stretch.stop - stretch.start
    if (
        n >= (2 if noise.sample > 0.0 and step == 0.0 else 3)
        and force[stretch].max() <= force[highest] + step
        and n - 1 > ROUND_TOP * math.sqrt(step / float(force[highest])) * (near.stop - near.start)
    ):
        return stretch, math.inf
    copies, scale = [(force, highest, DOUBT * noise.sample)], 1.0
    while scale < SMOOTHEST * (near.stop - near.start):
        copy = gaussian_filter1d(force, scale, mode="nearest")
        at = near.start + int(np.argmax(copy[near]))
        copies.append((copy, at, DOUBT * noise.smoothed(scale)))
        scale *= 2.0
    flattest, deviations = None, 0.0
    for fraction, (copy, highest, doubt) in itertools.product(TOP_MARGINS, copies):
        within = max(fraction * doubt, step)
        stretch = _stretch_about(copy, highest, within)
        n = stretch.stop - stretch.start
        left, right = crossing_positions(copy, highest, NEAR_TOP * float(copy[highest]))
        if n < 3 or within > (1.0 - PULSE_ENDS) * height or not right > left:
            continue
        _, slope, by_sample = np.linalg.pinv(
            np.vander(np.linspace(-1.0, 1.0, n), 3, increasing=True)
        )
        least = height * ((n - 1) / (ROUND_TOP * (right - left))) ** 2
        less = least - step - max(-float(by_sample @ force[stretch]), 0.0)
        # the limit of an instrument does not fall from one side of the top to the other
        falls = abs(float(slope @ force[stretch])) > DOUBT * noise.of_sum(slope) + step
        if less > deviations * noise.of_sum(by_sample) and not falls:
            flattest, deviations = stretch, less / max(noise.of_sum(by_sample), 1e-12 * height)
    return flattest, deviations


def few_at_top(force: np.ndarray, noise: Noise, top: int, width: float) -> slice | None:
    """Return the samples about a top that may all be clipped.

    They are two or more samples whose differences are not larger than noise, or any samples if the
    width contains few samples.
    """
    first = max(top - 2, 0)
    highest = first + int(np.argmax(force[first : top + 3]))
    stretch = _stretch_about(force, highest, SURELY * math.sqrt(2.0) * noise.sample)
    return stretch if stretch.stop - stretch.start >= 2 or width < FEW_IN_WIDTH else None


def meeting_of_flanks(force: np.ndarray, top: slice, left: float, right: float) -> float:
    """Return the force at which lines along both flanks would meet [N].

    A top is concave, so it lies below the lines from its ends.

    If two or more samples may be clipped, lines through the half heights are also used, because
    noise makes the lines through the ends uncertain.
    """
    count = max(2, (top.stop - top.start) // 3)
    pairs = [(slice(max(top.start - count, 0), top.start), slice(top.stop, top.stop + count))]
    if top.stop - top.start >= 2:
        wide = max(1, round(0.1 * (right - left)))
        middles = (math.floor(left) + 1, math.floor(right) + 1)
        pairs.append(
            (
                slice(max(middles[0] - wide, 0), middles[0] + wide),
                slice(middles[1] - wide, middles[1] + wide),
            )
        )
    highest = float(force[top].max())
    for before, after in pairs:
        if min(len(force[before]), len(force[after])) >= 2:
            (up, rise_offset), (down, fall_offset) = (
                np.polyfit(np.arange(len(force))[near], force[near], 1) for near in (before, after)
            )
            if up > 0.0 > down:
                highest = max(
                    highest, float(rise_offset + up * (fall_offset - rise_offset) / (up - down))
                )
    return highest


def _stretch_about(trace: np.ndarray, i: int, depth: float) -> slice:
    """Return the samples around sample i that are at most `depth` below it."""
    low = trace < trace[i] - depth
    before, after = np.flatnonzero(low[:i]), np.flatnonzero(low[i:])
    return slice(
        int(before[-1]) + 1 if len(before) else 0, i + int(after[0]) if len(after) else len(low)
    )
