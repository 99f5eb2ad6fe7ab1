"""Measured against computed."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from granchain.comparison.agreement import IN_BAND
from granchain.figures.frame import (
    LETTER,
    MOST_LEGEND_ROWS,
    body_name,
    chosen_labels,
    columns_in_legend,
    figure_of,
    given_panels,
    label_size,
    legend_below,
    look,
    narrow,
    new_figure,
    palette,
    scaled,
    styled,
    time_unit,
    write_heading,
)
from granchain.figures.shading import shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from granchain.comparison import Comparison
    from granchain.comparison.impacts import ImpactComparison
    from granchain.comparison.printed import MeasuredImpact


class Sides(NamedTuple):
    """Peak [N] and arrival [s] of a first pulse, each with its uncertainty; nan for none."""

    peak: float
    peak_uncertainty: float
    arrival: float
    arrival_uncertainty: float


NO_SIDES = Sides(math.nan, math.nan, math.nan, math.nan)
# Dots of a measured trace in one panel.
MOST_SAMPLES_DRAWN = 60
# Colour of what was measured, which no computed line has.
_MEASURED_TRACE = "#222222"


@styled
def comparison(
    found: Comparison, ax: Sequence[Axes] | np.ndarray | None = None
) -> tuple[Figure, np.ndarray]:
    """A measured trace with the computed ones over it, a panel a sensor, and under each panel what
    is left: computed minus measured.

    Time counts from the measured peak of each sensor, and the computed time has its one common
    shift: a computed peak that stands beside the measured one came at another time. What was
    measured has markers, what was computed lines; the grey band is twice the noise of the filtered
    trace on each side. A coloured band is where tolerances put 95 % of the computed forces.

    Parameters
    ----------
    found : Comparison
    ax : array of Axes (n_panels, 2), optional
        Of matplotlib, to draw into: the heading is then left to their figure.

    Returns
    -------
    Figure, array of Axes (n_panels, 2)
        Forces and what is left, in the order of the sensors.
    """
    from matplotlib.lines import Line2D

    sensors = found.results[0].sensors
    places, note = chosen_labels(
        None, np.array([sensor.bead for sensor in sensors]), MOST_LEGEND_ROWS, "sensors"
    )
    columns = columns_in_legend(len(places))
    rows = math.ceil(len(places) / columns)
    factor, unit = time_unit(
        max(float(sensor.time[-1]) if len(sensor.time) else 0.0 for sensor in sensors) / 10.0
    )
    panels = np.empty((len(places), 2), dtype=object)
    if ax is None:
        figure = new_figure(max(5.4, 2.3 * columns), 1.3 + (3.6 if narrow() else 2.8) * rows)
        # An empty row at the top holds the heading and the legend over the whole width.
        grid = figure.add_gridspec(2 * rows + 1, columns, height_ratios=[0.25, *[3.0, 1.3] * rows])
        top = figure.add_subplot(grid[0, :])
        top.set_axis_off()
        for i in range(len(places)):
            row, column = 1 + 2 * (i // columns), i % columns
            rest = figure.add_subplot(grid[row + 1, column])
            panels[i] = figure.add_subplot(grid[row, column], sharex=rest), rest
    else:
        panels[:] = given_panels(ax, 2 * len(places)).reshape(-1, 2)
        figure = figure_of(panels[0, 0])
    for i, k in enumerate(places):
        force, rest = panels[i]
        _forces_over_each_other(force, rest, found, k, factor)
        if i % columns == 0 or ax is not None:
            force.set_ylabel("force (N)")
            rest.set_ylabel("difference (N)")
    if narrow() or ax is not None:
        for _, rest in panels[-columns:] if ax is None else panels:
            rest.set_xlabel(f"time from peak ({unit})")
    if ax is None:
        figure.align_ylabels()
    if ax is None and not narrow():
        figure.supxlabel(f"time from the measured peak ({unit})", fontsize=label_size())
    handles = [
        Line2D(
            [],
            [],
            color=_MEASURED_TRACE,
            marker="o",
            ms=3.0,
            mfc="none",
            mew=0.6,
            ls="",
            label=_measured_caption(found),
        )
    ]
    handles += [Line2D([], [], **look(i), label=one.label) for i, one in enumerate(found.results)]
    if ax is not None:
        panels[0, 0].legend(handles=handles, loc="best")
        return figure, panels
    if narrow():
        legend_below(panels[0, 0], handles=handles)
    else:
        top.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(0.0, 0.0),
            ncols=min(5, len(handles)),
            borderaxespad=0.0,
        )
    about = found.trace.about
    parts = ["SYNTHETIC TRACE, no experiment" if found.trace.synthetic else found.trace.words]
    parts += [part for part in (about.who, about.figure, about.doi) if part]
    if found.sensor.cutoff is not None:
        parts.append(f"both sides filtered, {1e-3 * found.sensor.cutoff:.4g} kHz halved")
    parts += [f"time of {one.label} {factor * one.shift:+.4g} {unit}" for one in found.results]
    parts += [
        f"band of {one.label}: {100.0 * IN_BAND:g} % of {one.members} members with tolerances"
        for one in found.results
        if one.members
    ]
    write_heading(top, about.title, parts + ([note] if note else []), failed=found.trace.synthetic)
    return figure, panels


@styled
def pulse_numbers(
    title: str,
    measured: Mapping[int, Sides],
    computed: Mapping[str, Mapping[int, Sides]],
    ax: Sequence[Axes] | None = None,
) -> tuple[Figure, np.ndarray]:
    """Peaks of first pulses against the bead, measured and computed, and under them how much later
    the computed ones come.

    Bars are one standard deviation of what was measured.

    Parameters
    ----------
    title : str
    measured : mapping of int to Sides
        Of each sensor bead: peak [N], its uncertainty [N], arrival [s], its uncertainty [s]; nan
        for none.
    computed : mapping of str to mapping of int to Sides
        The same of each result, by its label; uncertainties are not looked at.
    ax : sequence of Axes, optional
        Of matplotlib, two of them, to draw into: the heading is then left to their figure.

    Returns
    -------
    Figure, array of Axes (2,)
    """
    if ax is None:
        figure = new_figure(7.0, 6.4 if narrow() else 4.6)
        panels = figure.subplots(2, 1, sharex=True, height_ratios=[3.0, 2.0])
    else:
        panels = given_panels(ax, 2)
        figure = figure_of(panels[0])
    peaks, arrivals = panels
    beads = np.array(sorted(measured))
    columns = np.array([measured[bead] for bead in beads])
    factor, unit = time_unit(float(np.nanmax(columns[:, 2], initial=0.0)) / 10.0)
    own = {
        "color": _MEASURED_TRACE,
        "marker": "o",
        "ms": 4.0,
        "mfc": "none",
        "ls": "",
        "elinewidth": 0.8,
        "capsize": 2.0,
        "zorder": 3,
    }
    peaks.errorbar(beads, columns[:, 0], columns[:, 1], label="measured", **own)
    arrivals.errorbar(beads, 0.0 * beads, factor * columns[:, 3], **own)
    for i, (label, numbers) in enumerate(computed.items()):
        found = np.array([numbers.get(bead, NO_SIDES) for bead in beads])
        peaks.plot(beads, found[:, 0], **look(i), label=label)
        arrivals.plot(beads, factor * (found[:, 2] - columns[:, 2]), **look(i))
    peaks.set_ylim(0.0, None)
    peaks.set_ylabel("peak force (N)")
    arrivals.set_ylabel(f"later than measured ({unit})")
    arrivals.set_xlabel("sensor bead")
    edge = 0.03 * max(float(beads[-1] - beads[0]), 1.0)
    arrivals.set_xlim(beads[0] - edge, beads[-1] + edge)
    if narrow():
        legend_below(peaks, given=ax is not None)
    else:
        peaks.legend(ncols=2)
    if ax is None:
        figure.align_ylabels()
        write_heading(
            peaks, title, ["measured: markers with one standard deviation", "simulated: lines"]
        )
    return figure, panels


def _measured_caption(found: Comparison) -> str:
    return found.trace.words + (
        " (band: twice the noise)"
        if any(sensor.noise > 0.0 for sensor in found.results[0].sensors)
        else ""
    )


def _forces_over_each_other(
    force: Axes, rest: Axes, found: Comparison, k: int, factor: float
) -> None:
    """One sensor: the measured force and the computed ones, and what is left of each."""
    sensor = found.results[0].sensors[k]
    force.axhline(0.0, color="#b0b0b0", linewidth=0.5, zorder=0)
    rest.axhline(0.0, color="#b0b0b0", linewidth=0.5, zorder=0)
    if sensor.noise > 0.0:
        rest.axhspan(
            -2.0 * sensor.noise, 2.0 * sensor.noise, color="#d8d8d8", linewidth=0.0, zorder=0
        )
    # Where no pulse was measured, time counts from the first computed one.
    arrivals = [
        sensor.arrival.measured,
        *(one.sensors[k].arrival.computed for one in found.results),
        0.0,
    ]
    origin = next(at for at in arrivals if math.isfinite(at))
    longest = max((one.sensors[k] for one in found.results), key=lambda one: len(one.time))
    # Below the lines, and few enough to see them.
    every = max(1, math.ceil(len(longest.time) / MOST_SAMPLES_DRAWN))
    dots: dict[str, Any] = {
        "markersize": 2.4,
        "markerfacecolor": "none",
        "markeredgewidth": 0.6,
        "markevery": every,
        "zorder": 2,
    }
    force.plot(
        factor * (longest.time - origin),
        longest.measured,
        "o",
        color=_MEASURED_TRACE,
        label="measured",
        **dots,
    )
    nearest = found.nearest.get(sensor.bead, ())
    for i, one in enumerate(found.results):
        ours = one.sensors[k]
        # Nearest on top.
        line: dict[str, Any] = {
            **look(i),
            "label": one.label,
            "zorder": 4 if one.label in nearest else 3,
        }
        since = factor * (ours.time - origin)
        force.plot(since, ours.computed, linewidth=1.5 if one.label in nearest else 1.0, **line)
        rest.plot(since, ours.computed - ours.measured, linewidth=0.9, **line)
        if ours.force_band is not None:
            band: dict[str, Any] = {"color": line["color"], "alpha": 0.22, "zorder": 1}
            shade(force, since, ours.force_band.low, ours.force_band.high, **band)
            shade(
                rest,
                since,
                ours.force_band.low - ours.measured,
                ours.force_band.high - ours.measured,
                **band,
            )
    smallest = min((one.sensors[k].residual.computed for one in found.results), default=math.nan)
    if nearest:
        words = f"residual {100.0 * smallest:.2g} %"
        words = f"{' or '.join(nearest)}: {words}" if len(found.results) > 1 else words
    else:
        words = (
            "not recorded whole" if math.isfinite(sensor.arrival.measured) else "no pulse measured"
        )
    # Two lines: beside each other they would not fit.
    merged = any(one.sensors[k].merged for one in found.results)
    force.set_title(
        body_name(sensor.bead) + (", merged" if merged else ""),
        fontsize=label_size(),
        pad=20.0 if narrow() else 12.0,
    )
    below: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
    words = textwrap.shorten(words, 44)
    force.annotate(
        textwrap.fill(words, 26) if narrow() else words,
        (0.0, 1.0),
        (0.0, 3.0),
        fontsize=7,
        color="#555555",
        **below,
    )
    force.tick_params(axis="x", labelbottom=False)
    for axes in (force, rest):
        axes.locator_params(axis="y", nbins=4)
        axes.margins(x=0.02)
    rest.locator_params(axis="x", nbins=4)


# Laws in a figure of measured impacts: more marks beside one measured number are not told apart.
MOST_LAWS = 6


@styled
def impact_comparison(
    found: ImpactComparison, ax: Sequence[Axes] | None = None
) -> tuple[Figure, np.ndarray]:
    """Measured impacts with the computed ones beside them: a panel a quantity, a line a case.

    What was measured is a circle, with a bar where its uncertainty is stated; what was computed a
    tick, each law a little lower than the one before, the nearest first. Rows that laws are ranked
    by are in bold.

    Parameters
    ----------
    found : ImpactComparison
    ax : sequence of Axes, optional
        Of matplotlib, one a quantity, to draw into: the heading is then left to their figure.

    Returns
    -------
    Figure, array of Axes (n_quantities,)
    """
    from matplotlib.lines import Line2D

    shown = [
        one for one in found.laws.values() if any(row.computed is not None for row in one.rows)
    ]
    hidden, shown = len(shown[MOST_LAWS:]), shown[:MOST_LAWS]
    quantities = list(dict.fromkeys(row.quantity for row in found.data.rows))
    groups = [
        [k for k, row in enumerate(found.data.rows) if row.quantity == quantity]
        for quantity in quantities
    ]
    if ax is None:
        # Names such as jankowski-both-phases leave room for three.
        lines = 0 if narrow() else math.ceil((len(shown) + 1) / 3)
        height = 1.2 + 0.25 * lines + 0.5 * len(groups) + 0.26 * len(found.data.rows)
        figure = new_figure(7.2, height * (1.5 if narrow() else 1.0))
        # An empty row at the top holds the heading and the legend.
        grid = figure.add_gridspec(
            len(groups) + 1,
            1,
            height_ratios=[0.3 + 0.8 * lines, *(len(group) + 1.0 for group in groups)],
        )
        top = figure.add_subplot(grid[0])
        top.set_axis_off()
        panels = np.array(
            [figure.add_subplot(grid[i + 1]) for i in range(len(groups))], dtype=object
        )
    else:
        panels = given_panels(ax, len(groups))
        figure = figure_of(panels[0])
    colours = palette()
    for i, (quantity, group) in enumerate(zip(quantities, groups, strict=True)):
        axes = panels[i]
        factor, unit = _impact_unit(quantity, [found.data.rows[k] for k in group])
        for line, k in enumerate(group):
            row = found.data.rows[k]
            for j, one in enumerate(shown):
                value = one.rows[k].computed
                if value is not None:
                    at = line - 0.3 + 0.6 * (j + 0.5) / len(shown)
                    axes.plot(
                        [factor * value],
                        [at],
                        "|",
                        color=colours[j],
                        markersize=5.0,
                        markeredgewidth=1.8,
                        label=one.law,
                        zorder=2,
                    )
            spread = None if row.uncertainty is None else factor * row.uncertainty
            ring: dict[str, Any] = {
                "markersize": 5.0,
                "markerfacecolor": "none",
                "markeredgewidth": 0.9,
                "elinewidth": 0.9,
                "capsize": 2.5,
            }
            axes.errorbar(
                [factor * row.measured],
                [line],
                xerr=spread,
                fmt="o",
                color=_MEASURED_TRACE,
                label="measured",
                zorder=3,
                **ring,
            )
        cases = [found.data.rows[k].case for k in group]
        axes.set_yticks(
            range(len(group)),
            [textwrap.fill(case, 24) if narrow() else case for case in cases],
            fontsize=7,
            parse_math=False,
        )
        for label, k in zip(axes.get_yticklabels(), group, strict=True):
            label.set_fontweight("bold" if found.data.rows[k].use != "show" else "normal")
        axes.set_ylim(len(group) - 0.4, -0.6)
        for line in range(len(group) - 1):
            axes.axhline(line + 0.5, color="#e4e4e4", linewidth=0.5, zorder=0)
        axes.set_xlabel(quantity.replace("_", " ") + (f" ({unit})" if unit else ""))
        axes.margins(x=0.04)
    handles = [
        Line2D(
            [],
            [],
            color=_MEASURED_TRACE,
            marker="o",
            ms=5.0,
            mfc="none",
            mew=0.9,
            ls="",
            label=found.data.about.kind,
        )
    ]
    for one, colour in zip(shown, colours, strict=False):
        words = one.law + ("" if one.rms is None else f": {one.rms:.3g}")
        handles.append(
            Line2D([], [], color=colour, marker="|", ms=8.0, mew=1.8, ls="", label=words)
        )
    if ax is not None:
        panels[0].legend(handles=handles, loc="best")
        return figure, panels
    if narrow():
        legend_below(panels[-1], handles=handles)
    else:
        top.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(0.0, 0.0),
            ncols=min(3, len(handles)),
            borderaxespad=0.0,
        )
    fit = {
        "yield_stress_ratio": "hardness over yield stress fitted",
        "damping": "one damping constant fitted",
    }.get(found.fit or "", "nothing fitted")
    parts = [found.data.about.who, fit, "behind each law: rms over the cases in bold"]
    # names of cases, in type of 7 points, push the axes to the right
    longest = max(
        len(line)
        for axes in panels
        for label in axes.get_yticklabels()
        for line in label.get_text().split("\n")
    )
    parts += [f"not drawn: {hidden} more"] if hidden else []
    write_heading(top, found.data.about.title, parts, indent=16.0 + LETTER * 7.0 * longest)
    return figure, panels


def _impact_unit(quantity: str, rows: list[MeasuredImpact]) -> tuple[float, str]:
    """Factor and name of the unit in which a compared quantity is drawn."""
    unit = {"restitution": "", "duration": "s", "contact_diameter": "m"}[quantity]
    return scaled(max(row.measured for row in rows), unit) if unit else (1.0, "")
