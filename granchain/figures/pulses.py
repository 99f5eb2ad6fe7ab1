"""What becomes of a pulse along a chain: peak force, arrival, width and speed at the sensor
beads, and the power laws that they follow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from granchain.analysis import front_of, power_law, sensor_pulses, speeds_between
from granchain.errors import GranchainError
from granchain.figures.frame import (
    figure_of,
    given_panels,
    labels_of,
    legend_below,
    look,
    narrow,
    need,
    new_figure,
    put_heading,
    small_type,
    styled,
    time_unit,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from granchain.store import Result

# A number that a fitted power law changes by less than this part from the first bead to the last
# does not decay: ours, some ten times what the step `fast` leaves of a peak.
NO_CHANGE = 0.01
# Sensors that a power law is fitted to at least, ours: two leave nothing over, three one number to
# judge two by.
LEAST_FITTED_BEADS = 4
# Letters of a name that stands before an exponent.
LONGEST_AXIS = 10
# Sentences in a heading.
MOST_NOTES = 4
# Colour of a fitted line.
FITTED = "#555555"


class Course(NamedTuple):
    """The first pulses of one result, sensor by sensor, in the order of the beads.

    Parameters
    ----------
    bead : array (n,)
        Those whose pulse has its peak in the trace and has not merged with another.
    peak, arrival, width : array (n,)
        [N], [s], [s].
    between, speed : array (n - 1,)
        Middle between two sensors [beads], and the speed of the wave there [m/s].
    wave_speed : float
        Of the line through the arrivals [m/s].
    left_out : list of str
        The other sensors, and why.
    """

    bead: np.ndarray
    peak: np.ndarray
    arrival: np.ndarray
    width: np.ndarray
    between: np.ndarray
    speed: np.ndarray
    wave_speed: float
    left_out: list[str]


def course_of(result: Result) -> Course:
    """The first pulses of a result."""
    pulses = sorted(sensor_pulses(result), key=lambda pulse: pulse.bead)
    # the force of a sensor is the mean of its two contacts
    ends = {
        pulse.bead
        for pulse in pulses
        if not {pulse.bead - 1, pulse.bead} <= set(np.asarray(result.contact).tolist())
    }
    seen = [
        pulse for pulse in pulses if pulse.complete and not pulse.merged and pulse.bead not in ends
    ]
    left_out = []
    for why, beads in (
        ("with one contact", sorted(ends)),
        ("merged", [pulse.bead for pulse in pulses if pulse.merged]),
        ("no pulse", [pulse.bead for pulse in pulses if not pulse.complete and pulse.peak == 0.0]),
        (
            "still rising",
            [
                pulse.bead
                for pulse in pulses
                if not pulse.complete and pulse.peak != 0.0 and not pulse.merged
            ],
        ),
    ):
        if beads:
            more = f" and {len(beads) - 6} more" if len(beads) > 6 else ""
            left_out.append(f"left out, {why}: bead {', '.join(map(str, beads[:6]))}{more}")
    bead, position, peak, arrival, width = (
        np.array([getattr(pulse, name) for pulse in seen], dtype=float)
        for name in ("bead", "position", "peak", "arrival", "width")
    )
    between, speed = 0.5 * (bead[:-1] + bead[1:]), speeds_between(position, arrival)
    return Course(bead, peak, arrival, width, between, speed, front_of(seen)[0], left_out)


class Decay(NamedTuple):
    """A power law along the beads, in words, and its values; none where there are too few of
    them."""

    words: str
    bead: np.ndarray
    value: np.ndarray


def decay_of(bead: np.ndarray, values: np.ndarray) -> Decay:
    """The power law of the bead's number that values follow, with its error, and how far off it
    is; or that there is none."""
    good = np.isfinite(values) & (bead > 0.0) & (values > 0.0)
    bead, values = bead[good], values[good]
    if len(np.unique(bead)) < LEAST_FITTED_BEADS:
        return Decay(f"{len(bead)} sensors: no fit", bead[:0], values[:0])
    fit = power_law(bead, values)
    line = fit.factor * bead**fit.value
    change, off = line[-1] / line[0] - 1.0, float(np.abs(values / line - 1.0).max())
    # as many places as the error has, two at least
    places = 2 if not fit.error > 0.0 else min(max(2, -math.floor(math.log10(fit.error))), 6)
    words = f"exponent {fit.value:.{places}f} \N{PLUS-MINUS SIGN} {fit.error:.1g}"
    if abs(change) < NO_CHANGE:
        return Decay(
            f"{words}: {'no decay' if off < NO_CHANGE else f'no trend, scatter {percent(off)}'}",
            bead,
            line,
        )
    if not abs(fit.value) > 2.0 * fit.error:
        return Decay(f"{words}: no power law", bead[:0], values[:0])
    return Decay(f"{words}, off by {percent(off)}", bead, line)


def percent(part: float) -> str:
    """A part in percent, with two digits."""
    return f"{100.0 * part:.2g} %" if part < 0.995 else f"{100.0 * part:.0f} %"


@styled
def peaks(
    *results: Result, labels: Sequence[str] | None = None, ax: Sequence[Axes] | None = None
) -> tuple[Figure, np.ndarray]:
    """Peak force, arrival, width and local speed of the first pulse against the sensor bead, with
    the power laws that they follow.

    A power law of the bead's number is fitted to logarithms by least squares, with the standard
    error of its exponent from the scatter, and the largest deviation of a bead from it; where the
    line changes by less than 1 % from the first bead to the last, or its exponent by less than two
    errors from 0, the figure says so. Sensors whose pulse has not ended or has merged with another
    are left out.

    Parameters
    ----------
    *results : Result
        One or more, with two sensors each.
    labels : sequence of str, optional
        A word for each result; default: its law, or what differs between the cases.
    ax : sequence of Axes, optional
        Of matplotlib, four of them, to draw into: the heading is then left to their figure.

    Returns
    -------
    Figure, array of Axes (4,)
        Peak, arrival, width, speed.
    """
    if not results:
        raise GranchainError("peaks: got no result, allowed: one or more")
    for result in results:
        need_sensors(result)
    if ax is None:
        columns = 1 if narrow() else 2
        rows = 4 // columns
        figure = new_figure(7.0, 10.5 if narrow() else 5.2)
        grid = figure.add_gridspec(rows + 1, columns, height_ratios=[0.02, *[1.0] * rows])
        top = figure.add_subplot(grid[0, :])
        top.set_axis_off()
        panels = np.array(
            [figure.add_subplot(grid[1 + i // columns, i % columns]) for i in range(4)]
        )
    else:
        panels = given_panels(ax, 4)
        figure = figure_of(panels[0])
        top = panels[0]
    courses = [course_of(result) for result in results]
    ends = [float(course.arrival[-1]) for course in courses if len(course.arrival)]
    factor, unit = time_unit(max(ends, default=0.0))
    words = labels_of(results, labels)
    # long words stand in the legend alone, with a number
    numbered = max(map(len, words)) > LONGEST_AXIS
    said: list[list[str]] = [[] for _ in panels]
    for i, (course, word) in enumerate(zip(courses, words, strict=True)):
        tag = f"{i + 1}" if numbered else word
        before = f"{tag}: " if len(results) > 1 else ""
        for k, (axes, bead, values) in enumerate(
            zip(
                panels,
                (course.bead, course.bead, course.bead, course.between),
                (course.peak, factor * course.arrival, factor * course.width, course.speed),
                strict=True,
            )
        ):
            axes.plot(bead, values, **look(i), label=f"{tag}: {word}" if numbered else word)
            if k == 1:
                known = math.isfinite(course.wave_speed)
                said[k].append(
                    f"{before}line: {course.wave_speed:.4g} m/s" if known else f"{before}no line"
                )
                continue
            decay = decay_of(bead, values)
            if len(decay.bead):
                axes.plot(
                    decay.bead,
                    decay.value,
                    ":",
                    color=FITTED,
                    linewidth=0.9,
                    label="_fit",
                    zorder=3,
                )
            said[k].append(before + decay.words)
    names = (
        "peak force (N)",
        f"arrival ({unit})",
        f"width at half height ({unit})",
        "speed to the next (m/s)",
    )
    if narrow():
        names = ("peak force (N)", f"arrival ({unit})", f"width ({unit})", "speed (m/s)")
    for axes, lines, name in zip(panels, said, names, strict=True):
        axes.set_xlabel("bead")
        axes.set_ylabel(name)
        axes.margins(x=0.03)
        axes.set_ylim(
            0.0,
            max(1.12 * float(axes.dataLim.y1), 0.0)
            if np.isfinite(axes.dataLim.y1) and axes.dataLim.y1 > 0.0
            else 1.0,
        )
        axes.locator_params(axis="x", integer=True)
        axes.set_title("\n".join(lines), fontsize=small_type(), color=FITTED, pad=4.0)
    if len(results) > 1:
        legend_below(panels[0], given=ax is not None)
    notes = ["dotted: power law of the bead's number"]
    for course, word in zip(courses, words, strict=True):
        notes += [f"{word}: {note}" if len(results) > 1 else note for note in course.left_out]
    if ax is None:
        figure.align_ylabels()
    put_heading(top, results, *notes[:MOST_NOTES], given=ax is not None)
    return figure, panels


def need_sensors(result: Result) -> None:
    """Refuse a result with fewer than two sensors."""
    need(result, "sensor_force", "sensor_bead", "time")
    if len(result.sensor_bead) < 2:
        raise GranchainError(
            "peaks: got one sensor, allowed two and more: one has no course; record more under "
            "[sensors] in the case"
        )
