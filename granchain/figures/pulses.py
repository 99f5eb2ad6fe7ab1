"""Figures of a pulse along a chain: force at each sensor, and peak, arrival, width, and speed of
the first pulse with fitted power laws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from granchain.analysis import (
    driven_without_pulse,
    front_of,
    power_law,
    sensor_pulses,
    speed_in_words,
    speeds_between,
)
from granchain.analysis.pulse import PULSE_BEGINS
from granchain.analysis.results import SensorPulse, measured_pulses
from granchain.case.document import first_few
from granchain.figures.frame import (
    GREY,
    MOST_LEGEND_ROWS,
    Axes,
    Figure,
    Sheet,
    body_name,
    chosen_labels,
    full_height,
    labels_of,
    largest,
    look,
    make_log,
    mark_values,
    number_words,
    round_end,
    set_panel,
    small_type,
    time_unit,
)
from granchain.figures.registry import of_results
from granchain.store import Result

# Fraction of the largest force. If the force before the wave is a larger fraction, it is
# subtracted, because the wave would take up less than half of the panel. Our choice.
AT_REST = 0.5
# Largest relative deviation of a bead from a fitted power law that is plotted; our choice.
MOST_MISFIT = 0.1
# Smallest relative change of a fitted power law from the first to the last bead that counts as
# decay: our choice, about ten times the error of a peak with the step `fast`.
NO_CHANGE = 0.01
# Smallest number of sensors for a power-law fit, our choice: two leave no residual, and three only
# one degree of freedom for two fitted values.
LEAST_FITTED_BEADS = 4
# Letters of the longest label that is written in front of an exponent.
LONGEST_AXIS = 10
# Largest number of beads, and of notes, in a heading.
MOST_NAMED_BEADS, MOST_NOTES = 6, 5


@of_results("sensor_force", "sensor_bead", "time")
def force_traces(
    *results: Result,
    sensors: Sequence[int] | None = None,
    labels: Sequence[str] | None = None,
    ax: Sequence[Axes] | None = None,
) -> tuple[Figure, np.ndarray]:
    """Plot force versus time at every sensor, one row each, with common axes.

    Parameters
    ----------
    *results : Result
        One or more results. The rows are the sensors of the first result; a result without such a
        sensor is not in that row.
    sensors : sequence of int, optional
        Labels of the beads, from top to bottom. By default the sensors of the first result; at most
        12, evenly spaced.
    labels : sequence of str, optional
        A label for each result. By default its law, or its title if the laws are the same.
    ax : sequence of Axes, optional
        Matplotlib axes to draw into, one for each row. The heading is then set on their figure.

    Returns
    -------
    Figure, array of Axes (n_rows,)
    """
    places, note = chosen_labels(sensors, results[0].sensor_bead, MOST_LEGEND_ROWS, "sensors")
    beads = [int(results[0].sensor_bead[place]) for place in places]
    factor, unit = time_unit(max(float(result.time[-1]) for result in results))
    height = 1.5 + 0.62 * len(beads)
    sheet = Sheet(ax, 7.0, height, [1.0] * len(beads), sharex=True, sharey=True)
    if not sheet.on_callers_axes:
        sheet.figure.get_layout_engine().set(hspace=0.0, h_pad=0.02)  # type: ignore[union-attr,call-arg]
    words = labels_of(results, labels)
    # A force before the wave may take up most of the panels.
    rest = largest(*(result.sensor_force[0] for result in results))
    beyond = rest > AT_REST * largest(*(result.sensor_force for result in results))
    handles: dict[str, Any] = {}
    pulses = measured_pulses(results[0])
    for axes, bead in zip(sheet.panels, beads, strict=True):
        text = body_name(bead)
        for i, (result, label) in enumerate(zip(results, words, strict=True)):
            for column in np.flatnonzero(result.sensor_bead == bead)[:1].tolist():
                force = result.sensor_force[:, column]
                at_rest = float(force[0]) if beyond else 0.0
                force = force - at_rest
                (handles[label],) = axes.plot(factor * result.time, force, **look(i), label=label)
                if len(results) == 1 and beyond:
                    text += f"\nabove\n{at_rest:.3g} N"
                elif len(results) == 1:
                    # Numbers of the first pulse, on separate lines.
                    pulse = pulses.record(column)
                    missing = why_missing(pulse.peak, largest(result.sensor_force))
                    text += f"\n{pulse.peak:.3g} N" if pulse.complete else f"\n{missing}"
                    text += "\nmerged" if pulse.merged else ""
        axes.text(
            1.012,
            0.5,
            text,
            fontsize=small_type(),
            transform=axes.transAxes,
            va="center",
            linespacing=1.15,
        )
        last = axes is sheet.panels[-1]
        axes.spines["bottom"].set_visible(last)
        axes.tick_params(axis="x", length=3.0 if last else 0.0)
        set_panel(axes, zero=True, ticks="y", most=3)
    _share_limits(sheet.panels)
    name = "sensor force minus static force [N]" if beyond else "sensor force [N]"
    sheet.panels[-1].set_xlabel(f"time [{unit}]")
    if sheet.on_callers_axes:
        sheet.panels[len(beads) // 2].set_ylabel(name)
    else:
        sheet.figure.supylabel(name, fontsize="medium")
    if len(results) > 1:
        sheet.legend(sheet.top, handles=[handles[word] for word in words if word in handles])
    return sheet.head(results, note)


def _share_limits(rows: np.ndarray) -> None:
    """Set common time and force axes.

    The force axis begins just below 0, so that adjacent rows do not touch.
    """
    low = min(0.0, *(axes.dataLim.y0 for axes in rows))
    high = max(0.0, *(axes.dataLim.y1 for axes in rows))
    ends = min(axes.dataLim.x0 for axes in rows), max(axes.dataLim.x1 for axes in rows)
    size = (high - low) or 1.0
    for axes in rows:
        axes.set(ylim=(low - 0.06 * size, high + 0.12 * size), xlim=ends)
        round_end(axes)


def why_missing(force: float, most: float) -> str:
    """Return why a pulse with this largest force so far has no peak.

    A small signal ahead of a wave, compared with the largest peak of the chain, is not a pulse.
    """
    return "no pulse" if force <= PULSE_BEGINS**2 * most else "still rising"


def first_pulses(result: Result) -> tuple[list[SensorPulse], list[str]]:
    """Return the complete and unmerged first pulses of a result, in the order of the beads.

    Also return notes on the omitted sensors and the reasons.
    """
    contacts = set(np.asarray(result.contact).tolist())
    seen, pulses = [], sorted(sensor_pulses(result), key=lambda pulse: pulse.bead)
    most = max((pulse.peak for pulse in pulses), default=0.0)
    left_out: dict[str, list[str]] = {}
    for pulse in pulses:
        # The force of a sensor is the mean of its two contacts.
        why = "" if {pulse.bead - 1, pulse.bead} <= contacts else "only one contact"
        if pulse.merged:
            why = "merged"
        elif not pulse.complete:
            why = why_missing(pulse.peak, most)
        if why:
            left_out.setdefault(why, []).append(str(pulse.bead))
        else:
            seen.append(pulse)
    return seen, [
        f"omitted ({why}): bead {first_few(beads, MOST_NAMED_BEADS)}"
        for why, beads in left_out.items()
    ]


def decay_of(bead: np.ndarray, values: np.ndarray) -> tuple[str, np.ndarray, np.ndarray]:
    """Fit a power law of the bead number to values.

    Return it as text with its error and largest deviation, and the beads and values of the fitted
    curve, which are empty if there is no fit.
    """
    good = np.isfinite(values) & (bead > 0.0) & (values > 0.0)
    bead, values, none = bead[good], values[good], np.zeros(0)
    if len(np.unique(bead)) < LEAST_FITTED_BEADS:
        return f"{len(bead)} values, too few for a fit", none, none
    fit = power_law(bead, values)
    line = fit.factor * bead**fit.value
    off = float(np.abs(values / line - 1.0).max())
    percent = f"{100.0 * off:.2g} %" if off < 0.995 else f"{100.0 * off:.0f} %"
    # As many digits as the error justifies, at least two.
    places = 2 if not fit.error > 0.0 else min(max(2, -math.floor(math.log10(fit.error))), 6)
    number = f"{round(fit.value, places) + 0.0:.{places}f}".replace("-", "\N{MINUS SIGN}")
    error = f"{fit.error:.{places}f}"
    error = error if float(error) else number_words(float(f"{fit.error:.1g}"))
    words = f"exponent {number} \N{PLUS-MINUS SIGN} {error}"
    if abs(line[-1] / line[0] - 1.0) < NO_CHANGE:
        trend = "no decay" if off < NO_CHANGE else f"no trend, scatter {percent}"
        return f"{words}: {trend}", bead, line
    if off > MOST_MISFIT:
        return f"no power law, best fit deviates by {percent}", none, none
    if not abs(fit.value) > 2.0 * fit.error:
        return f"{words}: no power law", none, none
    return f"{words}, deviation {percent}", bead, line


def without_course(result: Result) -> str:
    """Return why the first pulse of a result cannot be followed along the chain."""
    if len(result.sensor_bead) < 2:
        return (
            "peaks: only one sensor. At least two sensors are required. Add beads under "
            "[sensors] in the case."
        )
    driven = driven_without_pulse(result)
    seen, left_out = ([], []) if driven else first_pulses(result)
    if not driven and len(seen) < 2:
        return (
            f"peaks: only {len(seen)} sensors have a complete, separate first pulse "
            f"({'; '.join(left_out)}). At least two are required. Plot force-traces, or "
            "record other beads."
        )
    return (
        f"peaks: a run driven with {driven} has no first pulse. A pulse is required. Use "
        "granchain spectrum."
        if driven
        else ""
    )


@of_results("sensor_force", "sensor_bead", "time", "contact", unless=without_course)
def peaks(
    *results: Result, labels: Sequence[str] | None = None, ax: Sequence[Axes] | None = None
) -> tuple[Figure, np.ndarray]:
    """Plot numbers of the first pulse versus the sensor bead, with power laws.

    The numbers are the peak force, the arrival, the width, and the local speed.

    The power law of the bead number is fitted to the logarithms by least squares. The figure shows
    the standard error of its exponent and the largest deviation of a bead. It also reports if the
    line changes by less than 1 % along the chain, or if the exponent is closer to 0 than two
    errors. Sensors whose pulse has not ended or has merged with another pulse are omitted.

    Parameters
    ----------
    *results : Result
        One or more results with at least two sensors each.
    labels : sequence of str, optional
        A label for each result. By default its law, or what differs between the cases.
    ax : sequence of Axes, optional
        Four Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, array of Axes (4,)
        Peak, arrival, width, and speed.
    """
    sheet = Sheet(ax, 7.0, 5.2, [1.0, 1.0], [1.0, 1.0], head=0.02)
    courses = [first_pulses(result) for result in results]
    factor, unit = time_unit(largest([pulse.arrival for seen, _ in courses for pulse in seen]))
    by_width, short = time_unit(largest([pulse.width for seen, _ in courses for pulse in seen]))
    words = labels_of(results, labels)
    # Long labels appear only in the legend, with a number.
    numbered = max(map(len, words)) > LONGEST_AXIS
    texts: list[list[str]] = [[], [], [], []]
    notes = ["speed from peaks of force"]
    powers = "dotted: power-law fit versus bead number"
    for i, ((seen, left_out), word) in enumerate(zip(courses, words, strict=True)):
        tag = f"{i + 1}" if numbered else word
        before = f"{tag}: " if len(results) > 1 else ""
        label = f"{tag}: {word}" if numbered else word
        notes += [f"{word}: {note}" if len(results) > 1 else note for note in left_out]
        bead, position, peak, arrival, width = (
            np.array([getattr(pulse, name) for pulse in seen], dtype=float)
            for name in ("bead", "position", "peak", "arrival", "width")
        )
        speeds = 0.5 * (bead[:-1] + bead[1:]), speeds_between(position, arrival)
        quantities = (bead, peak), (bead, factor * arrival), (bead, by_width * width), speeds
        for axes, (x, values), found in zip(sheet.panels, quantities, texts, strict=True):
            mark_values(axes, x, values, **look(i), label=label)
            if axes is sheet.panels[1]:
                of_peaks = "no fit"
                if math.isfinite(front_of(seen)[0]):
                    of_peaks = speed_in_words(position, arrival)
                found.append(before + of_peaks)
                continue
            decay, *fitted = decay_of(x, values)
            if len(fitted[0]):
                notes = [powers, *(note for note in notes if note != powers)]
                axes.plot(*fitted, ":", color=GREY, linewidth=0.9, label="_fit", zorder=3)
            found.append(before + decay)
    times = f"arrival [{unit}]", f"width at half height [{short}]"
    names = ("peak force [N]", *times, "speed to the next [m/s]")
    for axes, lines, name in zip(sheet.panels, texts, names, strict=True):
        drawn = [line for line in axes.get_lines() if line.get_label() != "_fit"]
        x, values = (
            np.concatenate([np.asarray(one, dtype=float) for one in side])
            for side in zip(*(line.get_data() for line in drawn), strict=True)
        )
        set_panel(axes, xlabel="bead", ylabel=name)
        if len(drawn) < len(axes.get_lines()):
            make_log(axes, "x", x)
            make_log(axes, "y", values)
            axes.margins(x=0.05, y=0.08)
        else:
            axes.set_ylim(full_height(values))
            set_panel(axes, integer="x", xlim=(0.0, 1.04 * largest(x) or 1.0))
            if axes is sheet.panels[1]:
                axes.set_ylim(0.0, None)
        axes.set_title("\n".join(lines), fontsize=small_type(), color=GREY, pad=4.0)
    if len(results) > 1:
        sheet.legend(sheet.panels[0])
    return sheet.head(results, *notes[:MOST_NOTES])
