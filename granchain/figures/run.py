"""Figures of a run: forces, pulses, velocities, loops, energy, and overlaps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib import rcParams
from matplotlib.colors import AsinhNorm, PowerNorm
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from granchain.analysis import (
    ENERGIES_OF_ELEMENTS,
    LEDGER_ENERGIES,
    OF_ROUNDING,
    between_snapshots,
    driven_without_pulse,
    first_pulse,
    front_of,
    kinetic_and_stored,
    ledger_in,
    moving_energy,
    out_of_order,
    power_law,
    residual_share,
    sensor_pulses,
    speed_in_words,
    speeds_between,
    supplied_energy,
)
from granchain.analysis.pulse import PULSE_BEGINS
from granchain.analysis.results import SensorPulse, measured_pulses
from granchain.case.document import first_few
from granchain.case.signals import bounding_frequency
from granchain.figures.laws import draw_loop, loop_styles
from granchain.figures.style import (
    MOST_CURVES,
    SHEET,
    Lines,
    Panels,
    add_bar,
    body_name,
    label_axis,
    labels_of,
    largest,
    log_axis,
    mark_values,
    of_runs,
    padded_limits,
    panel_title,
    quantity,
    selected,
    share_limits,
    text_look,
    title_of,
    whole_ticks,
    write_label,
    zero_line,
)
from granchain.store import Result
from granchain.store.answer import case_of

# Smallest height of a row of force traces [inch]: two lines of text.
ROW = 0.4
# Fraction of the largest force. If the force before the wave is a larger fraction, it is
# subtracted, because the wave would take up less than half of the panel. Our choice.
LARGE_STATIC_FORCE = 0.5
# Largest relative deviation of a bead from a fitted power law that is plotted; our choice.
MOST_MISFIT = 0.1
# Smallest relative change of a fitted power law from the first to the last bead that counts as
# decay: our choice, about ten times the error of a peak with the step `fast`.
NO_CHANGE = 0.01
# Smallest number of sensors for a power-law fit (our choice): with two sensors there is no
# residual, and with three only one degree of freedom.
LEAST_FITTED_BEADS = 4
# Largest number of beads in a note.
MOST_NAMED_BEADS = 6
# Fraction of the largest velocity of a chain below which motion is not visible: one of 256 colours
# on a square-root scale, 1/256^2.
SEEN = 1.5e-5
# Linear part of the colours of velocities of both signs, as a fraction of the largest; our choice.
LINEAR = 0.01
# Points of a plotted curve: about four per dot of a printed figure two columns wide.
COURSE = 4000
# Labels of the energy losses, and of the energies of elements.
ENERGY_NAMES = {
    "clamp": "no-tension cutoff",
    "elements": "springs of elements",
    "elements_viscous": "dashpots of elements",
}
CONTACT_LABEL = "contact (k joins bodies k and k + 1)"


@of_runs("sensor_force", "sensor_bead", "time")
def force_traces(
    *results: Result,
    sensors: Sequence[int] | int | None = None,
    labels: Sequence[str] | None = None,
    ax: Any = None,
    style: Any = SHEET,
) -> Figure:
    """Plot force versus time at every sensor, one row each, with common axes.

    Parameters
    ----------
    *results : Result
        One or more results. The rows are the sensors of the first result; a result without such a
        sensor is not in that row.
    sensors : sequence of int, or int, optional
        Labels of the beads, from top to bottom, or the number of evenly spaced sensors. By default
        as many as fit, or one for each of the axes `ax`.
    labels : sequence of str, optional
        A label for each result. By default its law, or what differs between the cases.
    ax : sequence of Axes, optional
        Matplotlib axes to draw into, one for each row.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    Figure
    """
    width, height = rcParams["figure.figsize"]
    most = int(min(1.4 * height, width) / ROW) if ax is None else np.size(ax)
    places = selected(results[0].sensor_bead, sensors, most)
    beads = results[0].sensor_bead[places].tolist()
    panels = Panels(ax, len(beads), tall=0.4 + 0.13 * len(beads), sharex=True, sharey=True)
    static = largest(*(result.sensor_force[0] for result in results))
    beyond = static > LARGE_STATIC_FORCE * largest(*(result.sensor_force for result in results))
    lines, names = Lines([result.law for result in results]), labels_of(results, labels)
    pulses = measured_pulses(results[0])
    for axes, bead, index in zip(panels.axes, beads, places, strict=True):
        zero_line(axes)
        for i, (result, label) in enumerate(zip(results, names, strict=True)):
            for column in np.flatnonzero(result.sensor_bead == bead)[:1].tolist():
                force = result.sensor_force[:, column]
                force = force - force[0] if beyond else force
                lines.plot(axes, i, result.time, force, label=label)
        text = body_name(bead)
        if len(results) == 1 and not beyond:
            pulse = pulses.record(index)
            missing = missing_reason(pulse.peak, largest(results[0].sensor_force))
            text += f"\n{pulse.peak:.3g} N" if pulse.complete else f"\n{missing}"
            text += ", merged" if pulse.merged else ""
        axes.annotate(
            text,
            (1.0, 0.5),
            xytext=(3.0, 0.0),
            xycoords="axes fraction",
            textcoords="offset points",
            va="center",
            **text_look(axes),
        )
    share_limits(panels.axes, "y", 0.06, 0.12)
    share_limits(panels.axes, "x")
    name = "sensor force minus static force" if beyond else "sensor force"
    for i, axes in enumerate(panels.axes):
        axes.locator_params(axis="y", nbins=3)
        label_axis(axes.yaxis, name if i == len(beads) // 2 else "", "N")
        # The label is next to all rows.
        axes.set_ylabel(axes.get_ylabel().replace("\n", " "))
    panels.label_columns("time", "s")
    if len(results) > 1:
        panels.legend()
    return panels.finish(title_of(results), results=results)


def missing_reason(force: float, most: float) -> str:
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
    omitted: dict[str, list[str]] = {}
    for pulse in pulses:
        # The force of a sensor bead is the mean of its two contact forces.
        why = "" if {pulse.bead - 1, pulse.bead} <= contacts else "only one contact"
        if pulse.merged:
            why = "merged"
        elif not pulse.complete:
            why = missing_reason(pulse.peak, most)
        if why:
            omitted.setdefault(why, []).append(str(pulse.bead))
        else:
            seen.append(pulse)
    return seen, [
        f"omitted ({why}): bead {first_few(beads, MOST_NAMED_BEADS)}"
        for why, beads in omitted.items()
    ]


def reason_without_course(result: Result) -> str:
    """Return why the first pulse of a result cannot be followed along the chain."""
    if len(result.sensor_bead) < 2:
        return (
            "peaks: only one sensor. At least two sensors are required. Add beads under "
            "[sensors] in the case."
        )
    if driven := driven_without_pulse(result):
        return (
            f"peaks: a run driven with {driven} has no first pulse. A pulse is required. Use "
            "granchain spectrum."
        )
    seen, omitted = first_pulses(result)
    if len(seen) < 2:
        return (
            f"peaks: only {len(seen)} sensors have a complete, separate first pulse "
            f"({'; '.join(omitted)}). At least two are required. Plot force-traces, or "
            "record other beads."
        )
    return ""


def power_law_decay(bead: np.ndarray, values: np.ndarray) -> tuple[str, np.ndarray, np.ndarray]:
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
    error = error if float(error) else f"{fit.error:.0e}"
    text = f"exponent {number} \N{PLUS-MINUS SIGN} {error}".replace(" ", "\N{NO-BREAK SPACE}")
    if abs(line[-1] / line[0] - 1.0) < NO_CHANGE:
        trend = "no decay" if off < NO_CHANGE else f"no trend, scatter {percent}"
        return f"{text}: {trend}", bead, line
    if off > MOST_MISFIT:
        return f"no power law, best fit deviates by {percent}", none, none
    if not abs(fit.value) > 2.0 * fit.error:
        return f"{text}: no power law", none, none
    return f"{text}, deviation {percent}", bead, line


@of_runs("sensor_force", "sensor_bead", "time", "contact", unless=reason_without_course)
def peaks(
    *results: Result, labels: Sequence[str] | None = None, ax: Any = None, style: Any = SHEET
) -> Figure:
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
        Four Matplotlib axes to draw into: peak, arrival, width, and speed.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    Figure
    """
    panels = Panels(ax, 2, 2, tall=1.3, sharex=True)
    lines, names = Lines([result.law for result in results]), labels_of(results, labels)
    alone = len(results) == 1
    notes, fitted = list[str](), False
    for i, (result, name) in enumerate(zip(results, names, strict=True)):
        seen, omitted = first_pulses(result)
        notes += [note if alone else f"{name}: {note}" for note in omitted]
        bead, position, peak, arrival, width = (
            np.array([getattr(pulse, field) for pulse in seen], dtype=float)
            for field in ("bead", "position", "peak", "arrival", "width")
        )
        speeds = 0.5 * (bead[:-1] + bead[1:]), speeds_between(position, arrival)
        courses = (bead, peak), (bead, arrival), (bead, width), speeds
        for axes, (x, values) in zip(panels.axes, courses, strict=True):
            line = lines.plot(axes, i, x, values, label=name)
            mark_values(line)
            if axes is panels.axes[1]:
                front = math.isfinite(front_of(seen)[0])
                text = speed_in_words(position, arrival) if front else "no fit"
            else:
                text, *curve = power_law_decay(x, values)
                fitted = fitted or len(curve[0]) > 0
                axes.plot(*curve, ":", color=line.get_color(), label="_fit")
            if alone:
                panel_title(axes, text)
            elif axes is panels.first:
                line.set_label(f"{name}: peak {text.partition(',')[0]}")
    quantities = ("peak force", "N"), ("arrival", "s"), ("width at half height", "s")
    for axes, (name, unit) in zip(
        panels.axes, (*quantities, ("speed to the next", "m/s")), strict=True
    ):
        values = np.concatenate([line.get_ydata() for line in axes.get_lines()])
        axes.set_ylim(padded_limits(np.asarray(values)))
        if axes.get_ylim()[0] > 0.0:
            log_axis(axes.yaxis)
        label_axis(axes.yaxis, name, unit)
    for axes in panels.axes if ax is not None else panels.axes[:1]:
        axes.set_xlim(0.9 * axes.dataLim.x0, 1.1 * axes.dataLim.x1)
        log_axis(axes.xaxis, integer=True)
    panels.label_columns("bead")
    if not alone:
        panels.legend(panels.first.get_legend_handles_labels()[0])
    notes = ["dotted: power law" * fitted, *notes]
    return panels.finish(title_of(results), *notes, results=results)


@of_runs("velocity", "snapshot_time", "bead")
def bead_velocities(
    result: Result,
    beads: Sequence[int] | int | None = None,
    *,
    ax: Any = None,
    style: Any = SHEET,
) -> Figure:
    """Plot the velocity of beads versus time.

    Velocities are interpolated between snapshots with their velocities and displacements. If the
    snapshots are too far apart to resolve the motion, they are joined by straight lines, and the
    figure reports this.

    Parameters
    ----------
    result : Result
        Result with snapshots.
    beads : sequence of int, or int, optional
        Labels of the beads, or the number of evenly spaced beads. By default, the figure shows ten
        bodies of the striker and the sensors, or of all beads if there are no sensors.
    ax : Axes, optional
        Matplotlib axes to draw into.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    Figure
    """
    bodies = result.bead
    if isinstance(beads, int | None) and "sensor_bead" in result.variables:
        recorded = bodies[(bodies == 0) | np.isin(bodies, result.sensor_bead)]
        bodies = recorded if len(result.sensor_bead) else bodies
    labels = bodies[selected(bodies, beads, MOST_CURVES)]
    panels = Panels(ax)
    places = np.searchsorted(result.bead, labels)
    time, velocity, how = _interpolated_velocities(result, places)
    zero_line(panels.first)
    colours = panels.shades(labels, "bead (0 is the striker)" if labels[0] == 0 else "bead")
    for bead, course, colour in zip(labels, velocity.T, colours, strict=True):
        panels.first.plot(time, course, color=colour, label=body_name(int(bead)))
    label_axis(panels.first.yaxis, "velocity", "m/s")
    panels.label_columns("time", "s")
    return panels.finish(title_of([result]), how, results=[result])


def _interpolated_velocities(
    result: Result, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray, str]:
    """Return times, velocities of bodies, and how they were interpolated between snapshots."""
    time, velocity = np.asarray(result.snapshot_time), np.asarray(result.velocity)[:, places]
    if "displacement" not in result.variables or len(time) < 3 or not np.isfinite(velocity).all():
        return time, velocity, ""
    between = between_snapshots(
        time, np.asarray(result.displacement)[:, places], velocity, max(1, COURSE // len(time))
    )
    if between is None:
        return time, velocity, "straight lines between snapshots, whose interval is long"
    return *between, ""


@of_runs(
    "velocity",
    "snapshot_time",
    "bead",
    unless=lambda result: (
        ""
        if min(len(result.snapshot_time), len(result.bead)) > 1
        else "space_time: too few snapshots or beads. At least two of each are required. "
        "Increase the end time, or record more."
    ),
)
def space_time(result: Result, *, ax: Any = None, style: Any = SHEET) -> Figure:
    """Plot the bead velocity versus time and position in the chain.

    A line shows the wave front: the arrival of the first pulse at each bead if that pulse has
    ended. Its speed is that of the least-squares line through all arrivals.

    Parameters
    ----------
    result : Result
        Result with snapshots.
    ax : Axes, optional
        Matplotlib axes to draw into.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    Figure
    """
    time, beads, values = result.snapshot_time, result.bead, result.velocity
    panels = Panels(ax)
    axes, top = panels.first, largest(values) or 1.0
    # On a square-root or asinh scale, a decaying wave stays visible.
    norm: Any = PowerNorm(0.5, 0.0, top, clip=False)
    scale = "square-root colours"
    colours, extend = rcParams["image.cmap"], "min" if np.nanmin(values) < 0.0 else "neither"
    if np.nanmin(values) < -0.1 * top:
        # Velocities have both signs, and rest is white.
        norm = AsinhNorm(LINEAR * top, -top, top)
        colours, extend, scale = "RdBu_r", "neither", "asinh colours"
    mesh = axes.pcolormesh(
        time, beads, values.T, shading="nearest", rasterized=True, norm=norm, cmap=colours
    )
    add_bar(axes, mesh, "velocity", "m/s", extend=extend)
    driven, seen = driven_without_pulse(result), top * SEEN
    arrivals = np.array(
        [math.nan if driven else _arrival(time, column, seen) for column in values.T]
    )
    passed = beads[np.isfinite(arrivals)]
    # Approximate width at half height.
    high = values > 0.5 * np.nanmax(values, axis=0, initial=0.0)
    note = f"no wave front: driven with {driven}" if driven else ""
    if len(passed) > 1:
        if out_of_order(beads, arrivals, np.median(np.diff(time)) * high.sum(axis=0)) is not None:
            note = "no wave front: the pulses have several"
        else:
            # A black line with a white outline is visible on every colour of the map.
            width = rcParams["lines.linewidth"]
            outline = [withStroke(linewidth=2.5 * width, foreground="white")]
            axes.plot(arrivals, beads, "--", color="black", path_effects=outline, label="front")
            speed = speed_in_words(result.position, arrivals)
            note = f"dashed: front of velocity peaks, {speed}"
    axes.set(xlim=(time[0], time[-1]), ylim=(beads[0] - 0.5, beads[-1] + 0.5))
    whole_ticks(axes.yaxis)
    axes.set_ylabel("bead (0 is the striker)" if beads[0] == 0 else "bead")
    panels.label_columns("time", "s")
    return panels.finish(title_of([result]), scale, note, results=[result])


def _arrival(time: np.ndarray, values: np.ndarray, seen: float) -> float:
    """Return the arrival of a first pulse that is complete [s].

    It is nan for the striker, which moves from the start, for a bead that flies off or whose motion
    is not visible, and if another pulse has merged with the first.
    """
    if np.nanmax(values, initial=0.0) < seen:
        return math.nan
    pulse = first_pulse(time, values).record(0)
    return pulse.top if pulse.complete and not pulse.merged else math.nan


@of_runs("contact_force", "contact_overlap", "sensor_contact")
def hysteresis(
    *results: Result,
    contacts: Sequence[int] | int | None = None,
    labels: Sequence[str] | None = None,
    ax: Any = None,
    style: Any = SHEET,
) -> Figure:
    """Plot force versus overlap of contacts.

    Lines are solid for loading and dashed for unloading, with a mark at the residual overlap. The
    contacts of a single result have the colours of a sequential map. With several results, each law
    has a colour, which is paler for each further contact.

    Parameters
    ----------
    *results : Result
        One or more results with contacts.
    contacts : sequence of int, or int, optional
        Labels of the contacts, or the number of evenly spaced contacts. By default, the figure
        shows at most ten, or at most three of each of several results.
    labels : sequence of str, optional
        A label for each result. By default its law, or what differs between the cases.
    ax : Axes, optional
        Matplotlib axes to draw into.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    Figure
    """
    panels = Panels(ax)
    axes, alone = panels.first, len(results) == 1
    lines, names = Lines([result.law for result in results]), labels_of(results, labels)
    handles, residuals = [], []
    zero_line(axes)
    for i, (result, name) in enumerate(zip(results, names, strict=True)):
        places = selected(result.sensor_contact, contacts, MOST_CURVES if alone else 3)
        chosen = result.sensor_contact[places]
        shades = panels.shades(chosen, "contact") if alone else [None] * len(places)
        for k, (index, contact, shade) in enumerate(zip(places, chosen, shades, strict=True)):
            overlap, force = result.contact_overlap[:, index], result.contact_force[:, index]
            residuals.append(_residual(result, int(contact)))
            look = {"color": shade} if alone else {"alpha": 1.0 - 0.6 * k / len(places)}
            line = draw_loop(lines, axes, i, overlap, force, residuals[-1], **look)
            line.set_label(f"contact {contact}" if alone else name)
            handles += [] if alone or k else [line]
    panels.legend(handles + loop_styles(axes, "loading", "unloading", any(residuals)))
    label_axis(axes.xaxis, "overlap", "m")
    label_axis(axes.yaxis, "contact force", "N")
    return panels.finish(title_of(results), results=results)


def _residual(result: Result, contact: int) -> float:
    """Return the residual overlap of a contact [m]; 0 for a law without residual indentation."""
    # If there are many contacts, the variable is not read for figures.
    if not {"residual_overlap", "contact"} <= result.variables.keys():
        return 0.0
    return max(0.0, float(result.residual_overlap[result.contact == contact].sum()))


@of_runs("energy_time")
def energy(result: Result, *, ax: Any = None, style: Any = SHEET) -> Figure:
    """Plot the parts of the energy balance versus time as a stack.

    The balance error is plotted below on a logarithmic axis.

    Parameters
    ----------
    result : Result
        Result with an energy balance.
    ax : sequence of Axes, optional
        Two Matplotlib axes to draw into: the balance and its error.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    Figure
    """
    names = [
        name
        for name in (*LEDGER_ENERGIES, *ENERGIES_OF_ELEMENTS)
        if f"energy_{name}" in result.variables
    ]
    energies = {name: getattr(result, f"energy_{name}") for name in names}
    kinetic, stored = kinetic_and_stored(ledger_in(result))
    supplied = supplied_energy(kinetic, result.energy_external, stored)
    static = supplied == 0.0 and bool(np.any(energies["recoverable"] > 0.0))
    moving = moving_energy(result)
    energies["recoverable"], total = moving.recoverable, moving.total
    static_work = largest(moving.static_work)
    notes = []
    if moving.resting > OF_ROUNDING * energies["kinetic"].max():
        notes.append(
            f"relative to the state at rest, with {quantity(moving.resting, 'J')} in the contacts"
        )
    if static_work > 0.0:
        notes.append(f"without static work of up to {quantity(static_work, 'J')}")
    count, undersampled = _entries_of_a_mean(result)
    if count > 1:
        energies = {name: moving_mean(values, count) for name, values in energies.items()}
        total = moving_mean(total, count)
    panels = Panels(ax, 2, tall=1.2, sharex=True, height_ratios=[3.0, 1.3])
    ledger, error = panels.axes
    time, parts = result.energy_time, [name for name in names if np.any(energies[name] != 0.0)]
    # Shades of the sequential map, because other colours represent laws. Each part has the same
    # shade in all runs.
    shades = dict(
        zip(
            names,
            matplotlib.colormaps[rcParams["image.cmap"]](np.linspace(0.1, 0.9, len(names))),
            strict=True,
        )
    )
    ledger.stackplot(
        time,
        *(energies[name] for name in parts),
        labels=[ENERGY_NAMES.get(name, name) for name in parts],
        colors=[shades[name] for name in parts],
    )
    ledger.plot(time, total, "--", color=ledger.title.get_color(), label="energy supplied")
    if all(energies[name].min() >= 0.0 for name in names):
        ledger.set_ylim(0.0, None)
    label_axis(ledger.yaxis, "energy", "J")
    size = residual_share(result.energy_residual, supplied, stored)
    error.plot(time, np.where(size > 0.0, size, math.nan), label="balance error")
    error.set_yscale("log")
    write_label(error.yaxis, "relative error")
    if not np.any(size > 0.0):
        error.set_ylim(1e-18, 1.0)
        middle = {"transform": error.transAxes, "ha": "center", "va": "center"}
        error.text(0.5, 0.5, "exactly 0 at all times", **middle, **text_look(error))
    if (case := case_of(result)) is not None and supplied > 0.0:
        error.axhline(
            case.energy.bound,
            linestyle=":",
            color=error.title.get_color(),
            label="bound of the run",
        )
    if not supplied > 0.0:
        # The quotients of `residual_share` without supplied energy.
        error.set_ylabel(f"error / {OF_ROUNDING:g}\nof stored" if static else "error [J]")
    panels.label_columns("time", "s")
    panels.legend()
    return panels.finish(title_of([result]), *notes, undersampled, results=[result])


def _entries_of_a_mean(result: Result) -> tuple[int, str]:
    """Return the number of entries over which the energies are averaged, and a note.

    They are averaged if an end is driven at a frequency that the entries do not resolve, because
    lines through the entries would show a false frequency.
    """
    every = float(np.median(np.diff(result.energy_time))) if len(result.energy_time) > 1 else 0.0
    case = case_of(result) if "energy_drives" in result.variables else None
    signals = [drive for drive in (case.drives.values() if case else ()) if drive.signal]
    # Energies vary at twice the frequency of the drive, and a period needs four entries.
    limit = 1.0 / (8.0 * max(map(bounding_frequency, signals))) if signals else math.inf
    if every <= limit * (1.0 + 1e-3):
        return 1, ""
    entries = len(result.energy_time)
    count = min(max(8, entries // 25), entries)
    # Phase change of a squared sine per entry, in fractions of a turn. If the entries of a mean
    # cover less than one turn, the mean depends on the phase and is useless.
    turns = every / (4.0 * limit)
    advice = f"to resolve the cycle, set energy.interval to {quantity(limit, 's')}"
    if count * abs(turns - round(turns)) < 1.0:
        return 1, f"the samples are in phase with the drive; {advice}"
    return count, f"means over {quantity(count * every, 's')}; {advice}"


def moving_mean(values: np.ndarray, count: int) -> np.ndarray:
    """Return the mean over `count` entries around every entry, or fewer at the ends."""
    window = np.ones(count)
    counts = np.convolve(np.ones(len(values)), window, "same")
    return np.asarray(np.convolve(values, window, "same") / counts)


@of_runs(
    "largest_overlap",
    "residual_overlap",
    "contact",
    unless=lambda result: (
        ""
        if np.any(result.largest_overlap > 0.0)
        else "overlaps: no contact closed. At least one closed contact is required. Run longer."
    ),
)
def overlaps(result: Result, *, ax: Any = None, style: Any = SHEET) -> Figure:
    """Plot the largest overlap and the residual overlap of each contact along the chain.

    Parameters
    ----------
    result : Result
    ax : Axes, optional
        Matplotlib axes to draw into.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    Figure
    """
    panels = Panels(ax)
    axes, residual = panels.first, result.residual_overlap
    edges = np.append(result.contact, result.contact[-1] + 1) - 0.5
    outline = axes.stairs(result.largest_overlap, edges, baseline=None, label="largest overlap")
    if np.any(residual != 0.0):
        colour = outline.get_edgecolor()
        axes.stairs(residual, edges, fill=True, color=colour, alpha=0.4, label="residual overlap")
        panels.legend()
    axes.set(xlim=(edges[0], edges[-1]), ylim=(min(0.0, 1.05 * float(residual.min())), None))
    whole_ticks(axes.xaxis)
    axes.set_xlabel(CONTACT_LABEL)
    label_axis(axes.yaxis, "overlap", "m")
    note = "" if np.any(residual != 0.0) else "no residual indentation"
    return panels.finish(title_of([result]), note, results=[result])
