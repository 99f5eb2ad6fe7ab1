"""Tops that an instrument at its limit makes: flatter than that of any pulse."""

from __future__ import annotations

import itertools
import math

import numpy as np

from granchain.analysis.baseline import step_of
from granchain.analysis.definition import PULSE_ENDS
from granchain.analysis.noise import DOUBT, Noise, Smoothed

# The top of a pulse of any law is above 1 - e of its peak for at most 1.7 sqrt(e) of its width
# (Hertz 1.6, wang-liu-hysteretic 1.7 over 51 laws, 5 beads, e from .003 to .2; a parabola of that
# half height: 1.4). What is flat for longer is at a limit of the instrument.
FLAT_TOP = 1.8
# The stretches that are looked at: where the force is below its largest by less than these parts of
# its doubt.
FLAT_DOUBTS = (1.5, 1.0, 0.75)
# With fewer samples in the width, one or two at a limit of the instrument look like a top: a
# Gaussian pulse falls by a tenth over .2 of its width.
FEW_IN_WIDTH = 5.0
# Standard deviations from a top at a limit up to where the flanks would meet, and those that make a
# flat top no round one.
TO_FLANKS = 3.5
SURELY, PERHAPS = 2.0, 1.5


def flat_top(
    force: np.ndarray, found: Smoothed, noise: Noise, top: int, width: float, deviations: float
) -> slice | None:
    """The samples of a top that is flatter than that of any pulse; None for a round one.

    Over a stretch of length l a top sags by (l/FLAT_TOP width)^2 of its height at least: that is
    compared with what a parabola through the samples sags by, and with so many standard deviations
    of that.
    """
    step = step_of(force)
    first = max(top - 2, 0)
    highest = first + int(np.argmax(force[first : top + 3]))
    # Equal readings of a trace that has noise, and no steps to round to, are the limit itself; none
    # is above it.
    near = _stretch_about(force, highest, step)
    n = near.stop - near.start
    if (
        n >= (2 if noise.sample > 0.0 and step == 0.0 else 3)
        and force[near].max() <= force[highest] + step
        and n - 1 > FLAT_TOP * math.sqrt(step / float(force[highest])) * width
    ):
        return near
    traces = ((force, highest, DOUBT * noise.sample), (found.smooth, top, found.doubt))
    for part, (trace, start, doubt) in itertools.product(FLAT_DOUBTS, traces):
        within = max(part * doubt, step)
        if within > (1.0 - PULSE_ENDS) * float(trace[start]):
            continue
        near = _stretch_about(trace, start, within)
        n = near.stop - near.start
        if n < 3:
            continue
        by_sample = np.linalg.pinv(np.vander(np.linspace(-1.0, 1.0, n), 3, increasing=True))[2]
        least = float(found.smooth[top]) * ((n - 1) / (FLAT_TOP * width)) ** 2
        if (
            max(-float(by_sample @ force[near]), 0.0) + deviations * noise.of_sum(by_sample) + step
            < least
        ):
            return near
    return None


def few_at_top(force: np.ndarray, noise: Noise, top: int, width: float) -> slice | None:
    """The samples about a top that may all be at a limit: two that noise does not distinguish,
    or any of fewest samples."""
    first = max(top - 2, 0)
    highest = first + int(np.argmax(force[first : top + 3]))
    near = _stretch_about(force, highest, SURELY * math.sqrt(2.0) * noise.sample)
    return near if near.stop - near.start >= 2 or width < FEW_IN_WIDTH else None


def meeting_of_flanks(force: np.ndarray, top: slice, left: float, right: float) -> float:
    """Where lines along both flanks would meet [N]: a top is concave, and lies below those from its
    ends.

    Where two samples or more look like a limit, the lines through the half heights count too: noise
    makes the ends uncertain.
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
            (up, here), (down, there) = (
                np.polyfit(np.arange(len(force))[near], force[near], 1) for near in (before, after)
            )
            if up > 0.0 > down:
                highest = max(highest, float(here + up * (there - here) / (up - down)))
    return highest


def _stretch_about(trace: np.ndarray, i: int, depth: float) -> slice:
    """Samples around one that are no more than this below it."""
    low = trace < trace[i] - depth
    before, after = np.flatnonzero(low[:i]), np.flatnonzero(low[i:])
    return slice(
        int(before[-1]) + 1 if len(before) else 0, i + int(after[0]) if len(after) else len(low)
    )
