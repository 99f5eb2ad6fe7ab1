"""Clipped tops of pulses, which are flatter than those of any contact law."""

from __future__ import annotations

import itertools
import math

import numpy as np

from granchain.analysis.pulse import PULSE_ENDS
from granchain.measured.baseline import digitizer_step
from granchain.measured.noise import DOUBT, Noise, Smoothed

# With any law, a pulse is above 1 - e of its peak for at most 1.7 sqrt(e) of its width (Hertz 1.6,
# wang-liu-hysteretic 1.7 over 51 laws, 5 beads, e from 0.003 to 0.2; a parabola with the same half
# height: 1.4). A top that is flat for longer is clipped.
ROUND_TOP = 1.8
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


def clipped_top(
    force: np.ndarray, smoothed: Smoothed, noise: Noise, top: int, width: float, deviations: float
) -> slice | None:
    """Return the samples of a clipped top, or None for a round one.

    Over a stretch of length l, a round top falls by at least (l/(ROUND_TOP width))^2 of its height.
    This is compared with the fall of a parabola through the samples plus `deviations` standard
    deviations of that fall.
    """
    step = digitizer_step(force)
    first = max(top - 2, 0)
    highest = first + int(np.argmax(force[first : top + 3]))
    # Equal samples in a trace with noise and without rounding steps are at the limit of the
    # instrument. No sample is above it.
    stretch = _stretch_about(force, highest, step)
    n = stretch.stop - stretch.start
    if (
        n >= (2 if noise.sample > 0.0 and step == 0.0 else 3)
        and force[stretch].max() <= force[highest] + step
        and n - 1 > ROUND_TOP * math.sqrt(step / float(force[highest])) * width
    ):
        return stretch
    traces = ((force, highest, DOUBT * noise.sample), (smoothed.smooth, top, smoothed.doubt))
    for fraction, (trace, start, doubt) in itertools.product(TOP_MARGINS, traces):
        within = max(fraction * doubt, step)
        if within > (1.0 - PULSE_ENDS) * float(trace[start]):
            continue
        stretch = _stretch_about(trace, start, within)
        n = stretch.stop - stretch.start
        if n < 3:
            continue
        by_sample = np.linalg.pinv(np.vander(np.linspace(-1.0, 1.0, n), 3, increasing=True))[2]
        least = float(smoothed.smooth[top]) * ((n - 1) / (ROUND_TOP * width)) ** 2
        if (
            max(-float(by_sample @ force[stretch]), 0.0)
            + deviations * noise.of_sum(by_sample)
            + step
            < least
        ):
            return stretch
    return None


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
