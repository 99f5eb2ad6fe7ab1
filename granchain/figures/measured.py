"""Figures that compare measurements with simulations: traces, fits, and impacts."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rcParams
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from granchain.figures.studies import sensor_panels
from granchain.figures.style import (
    SHEET,
    Lines,
    Panels,
    body_name,
    escape_mathtext,
    evenly_spaced,
    label_axis,
    largest,
    named_laws,
    panel_title,
    quantity,
    share_limits,
    styled,
    text_look,
    whole_ticks,
    write_label,
    zero_line,
)

if TYPE_CHECKING:
    from granchain.measured import Comparison
    from granchain.measured.equivalent import Equivalent
    from granchain.measured.fitted import Fit
    from granchain.measured.impacts import ImpactComparison
    from granchain.measured.ranking import Ranking

# Largest number of plotted samples of a measured trace in one panel.
MOST_SAMPLES = 60
# Largest number of laws in a figure of measured impacts, and of fits: more marks next to a measured
# value are not distinguishable.
MOST_LAWS, MOST_FITS = 6, 3
# Largest number of fitted pulses; with more, single samples would not be visible.
MOST_PULSES_DRAWN = 8
# Height of the row of a case, with its share of axes, legend, and heading [inch]; our choice.
CASE_ROW = 0.25


def measured_look(axes: Any, size: float = 0.7) -> dict[str, Any]:
    """Return the style of measured values: open rings in the colour of the text."""
    marker = {"marker": "o", "markerfacecolor": "none", "linestyle": ""}
    size *= rcParams["lines.markersize"]
    return {**marker, "color": axes.title.get_color(), "markersize": size}


@styled
def comparison(comparison: Comparison, *, ax: Any = None, style: Any = SHEET) -> Figure:
    """Plot measured and computed forces at each sensor, with residuals below.

    The residual is the computed minus the measured force.

    Time starts at the measured peak of each sensor, and the computed time includes the common
    shift, so that a computed peak next to the measured one arrived earlier or later. Markers are
    measured and lines are computed values. Dotted lines are twice the noise of the filtered trace
    on each side. A coloured band contains 95 % of the computed forces within the tolerances.

    Parameters
    ----------
    comparison : Comparison
    ax : array of Axes (n_panels, 2), optional
        Matplotlib axes to draw into: forces and residuals of as many sensors.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    Figure
    """
    sensors = comparison.results[0].sensors
    panels, places = sensor_panels(ax, len(sensors), each=2)
    pairs = panels.in_pairs()
    lines = Lines([result.label for result in comparison.results])
    for k, (force, residual) in zip(places, pairs, strict=True):
        _forces_and_residuals(force, residual, comparison, k, lines)
    forces, residuals = zip(*pairs, strict=True)
    share_limits(forces, "y", 0.04, 0.06)
    share_limits(residuals, "y", 0.06, 0.06)
    share_limits(panels.axes, "x", 0.02, 0.02)
    for force, residual in pairs[:: panels.columns] if panels.new else pairs:
        label_axis(force.yaxis, "force", "N")
        label_axis(residual.yaxis, "difference", "N")
    panels.label_columns("time from peak", "s")
    noisy = any(sensor.noise > 0.0 for sensor in sensors)
    caption = comparison.trace.about.kind_text + (" (dotted: twice the noise)" if noisy else "")
    measured = Line2D([], [], **measured_look(panels.first, 0.4), label=caption)
    named = panels.first.get_legend_handles_labels()[0]
    panels.legend([measured, *(line for line in named if line.get_label() != "measured")])
    about, cutoff = comparison.trace.about, comparison.sensor.cutoff
    band = comparison.sensor.band
    return panels.finish(
        about.title or "untitled trace",
        about.who,
        about.figure,
        about.doi,
        "" if cutoff is None else f"low-pass filtered (half amplitude at {quantity(cutoff, 'Hz')})",
        f"simulation with instrument filter, {band}" if band else "",
        *(
            f"time shift of {each.label}: {quantity(each.time_shift, 's')}"
            for each in comparison.results
        ),
        *(
            f"band of {each.label}: {100.0 * comparison.in_band:g} % of {each.members} members "
            "with tolerances"
            for each in comparison.results
            if each.members
        ),
        f"{len(places)} of {len(sensors)} sensors" if len(places) < len(sensors) else "",
        kind=about.kind_text,
    )


def _forces_and_residuals(
    force: Any, residual: Any, comparison: Comparison, k: int, lines: Lines
) -> None:
    """Plot the measured and computed forces at one sensor, and the residuals below."""
    sensor = comparison.results[0].sensors[k]
    computed = [agreement.sensors[k] for agreement in comparison.results]
    zero_line(residual)
    for level in (-2.0 * sensor.noise, 2.0 * sensor.noise) if sensor.noise > 0.0 else ():
        residual.axhline(level, linestyle=":", color=residual.title.get_color())
    # If no pulse was measured, time starts at the first computed pulse.
    arrivals = [sensor.arrival.measured, *(each.arrival.computed for each in computed), 0.0]
    origin = next(at for at in arrivals if math.isfinite(at))
    longest = max(computed, key=lambda agreement: len(agreement.time))
    # Measured samples are drawn below the lines, and only so many that the lines are visible.
    every = max(1, math.ceil(len(longest.time) / MOST_SAMPLES))
    force.plot(
        longest.time - origin,
        longest.measured,
        **measured_look(force, 0.4),
        label="measured",
        markevery=every,
        zorder=1.9,
    )
    for i, (agreement, result) in enumerate(zip(computed, comparison.results, strict=True)):
        time, difference = agreement.time - origin, agreement.computed - agreement.measured
        line = lines.plot(force, i, time, agreement.computed, label=result.label)
        lines.plot(residual, i, time, difference, label=result.label)
        if agreement.force_band is not None:
            low, high = agreement.force_band.low, agreement.force_band.high
            for axes, zero in ((force, 0.0), (residual, agreement.measured)):
                area = {"color": line.get_color(), "alpha": 0.22, "linewidth": 0.0}
                axes.fill_between(time, low - zero, high - zero, **area)
    nearest = comparison.nearest.get(sensor.bead, ())
    if nearest:
        smallest = np.nanmin([agreement.residual.computed for agreement in computed])
        before = f"{' or '.join(nearest)}: " if len(computed) > 1 else ""
        text = f"{before}residual {100.0 * smallest:.2g} %"
    else:
        missing = [each for each in computed if math.isnan(each.arrival.computed)]
        text = "no simulated pulse" if len(missing) == len(computed) else "incomplete pulse"
        text = text if math.isfinite(sensor.arrival.measured) else "no measured pulse"
    merged = ", merged" if any(agreement.merged for agreement in computed) else ""
    panel_title(force, body_name(sensor.bead) + merged, textwrap.shorten(text, 44))


@styled
def fit(fit: Fit | Ranking[Any] | Equivalent, *, ax: Any = None, style: Any = SHEET) -> Figure:
    """Plot a fit, or the best three laws of a ranking.

    The panels show the measured and fitted pulses, the peaks at every sensor, and the residuals of
    both below. Fitted pulses use the clock of the trace and the fitted calibration. For laws that
    approximate another law, the figure shows the differences at every sensor.

    Parameters
    ----------
    fit : Fit, Equivalent, or Ranking
    ax : Axes or sequence of Axes, optional
        Four Matplotlib axes to draw into: pulses, peaks (or arrivals, if only these were fitted),
        residual of each sample, and residual at each sensor. For an equivalent, one.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    Figure
    """
    answers: list[Any] = [fit] if "key" in fit.variables else list(fit)
    if "per_bead" in answers[0].variables:
        return _plot_differences(answers, ax)
    answers = answers[:MOST_FITS]
    first = answers[0]
    panels = Panels(ax, 2, 2, tall=1.3, sharex="col", height_ratios=[2.0, 1.0])
    force, values, difference, residual = panels.axes
    lines = Lines([answer.law for answer in answers])
    note = _pulses_and_residuals(force, difference, answers, lines)
    by_time = first.measure == "arrivals"
    quantity_name = "arrival" if by_time else "peak"
    measured, error = (first[f"{quantity_name}_{name}"] for name in ("measured", "error"))
    ring = measured_look(values) | {"label": "measured"}
    values.errorbar(first.sensor_bead, measured, 2.0 * error, **ring)
    zero_line(residual)
    for level in (-2.0, 2.0):
        residual.axhline(level, linestyle=":", color=residual.title.get_color())
    for i, answer in enumerate(answers):
        computed = answer[f"{quantity_name}_computed"]
        lines.plot(values, i, answer.sensor_bead, computed, label=answer.law)
        look = {"linestyle": "", "marker": "o", "markersize": 0.7 * rcParams["lines.markersize"]}
        lines.plot(residual, i, answer.sensor_bead, answer.residuals, label=answer.law, **look)
    label_axis(values.yaxis, quantity_name, "s" if by_time else "N")
    most = 1.15 * max(3.0, largest(*(answer.residuals for answer in answers)))
    residual.set(ylim=(-most, most), xlabel="bead")
    write_label(residual.yaxis, "normalized residual")
    whole_ticks(residual.xaxis)
    panels.legend(values.get_legend_handles_labels()[0])
    of_keys = [
        f"{key} {number:.4g} \N{PLUS-MINUS SIGN} {answer.errors[key]:.2g}"
        if math.isfinite(answer.errors[key])
        else f"{key} {number:.4g}, not determined"
        for answer in answers
        for key, number in answer.values.items()
    ]
    return panels.finish(
        first.about.title or "untitled trace",
        named_laws([answer.law for answer in answers]),
        f"fitted to {first.measure}, bars: two deviations",
        note,
        *of_keys,
        kind=first.about.kind_text,
    )


def _pulses_and_residuals(force: Any, difference: Any, fits: Sequence[Fit], lines: Lines) -> str:
    """Plot the measured and fitted pulses of the sensors, and the differences below.

    The pulses are side by side. Return a note if some pulses are not plotted.
    """
    samples = fits[0].samples
    places = evenly_spaced(len(samples), MOST_PULSES_DRAWN)
    zero_line(difference)
    if not places:
        middle = {"xycoords": "axes fraction", "ha": "center", **text_look(force)}
        force.annotate("no complete pulse", (0.5, 0.5), **middle)
    spans = [float(np.ptp(samples[k]["time"])) for k in places]
    step, centres = 1.15 * max(spans, default=1.0), []
    every = max(
        1, math.ceil(max((len(samples[k]["time"]) for k in places), default=1) / MOST_SAMPLES)
    )
    for n, k in enumerate(places):
        centres.append(n * step)
        time = np.asarray(samples[k]["time"], dtype=float)
        time = time - 0.5 * (time[0] + time[-1]) + centres[-1]
        look = measured_look(force, 0.4) | {"markevery": every, "zorder": 1.9}
        force.plot(time, samples[k]["measured"], **look, label="_measured")
        for i, fit in enumerate(fits):
            computed = np.asarray(fit.samples[k]["computed"], dtype=float)
            line = lines.plot(force, i, time, computed, label="_fit")
            lines.plot(difference, i, time, computed - samples[k]["measured"], label="_fit")
            line.set_zorder(2.0)
    label_axis(force.yaxis, "force", "N")
    label_axis(difference.yaxis, "difference", "N")
    names = [f"{samples[k]['bead']}" for k in places]
    difference.set_xticks(centres, names)
    duration = f", {quantity(step, 's')} each" if places else ""
    write_label(difference.xaxis, f"pulse at bead{duration}")
    return f"{len(places)} of {len(samples)} pulses" if len(places) < len(samples) else ""


def _plot_differences(answers: Sequence[Equivalent], ax: Any) -> Figure:
    """Plot the differences of laws from the law that they approximate, at every sensor."""
    answers = [answer for answer in answers if answer.inputs][:MOST_LAWS]
    panels = Panels(ax)
    axes, lines = panels.first, Lines([answer.law for answer in answers])
    zero_line(axes)
    for i, answer in enumerate(answers):
        inputs = ", ".join(f"{name} {value:.3g}" for name, value in answer.inputs.items())
        label = f"{answer.law}: {100.0 * answer.residual:.2g} % with {inputs}"
        lines.plot(axes, i, answer.sensor_bead, 100.0 * answer.per_bead, label=label)
    axes.set(xlabel="bead", ylabel=f"difference in the {answers[0].measure} [%]" if answers else "")
    whole_ticks(axes.xaxis)
    panels.legend()
    to, laws = answers[0].to if answers else "a law", named_laws([each.law for each in answers])
    return panels.finish(f"Laws that approximate {to}", laws)


@styled
def impact_comparison(
    comparison: ImpactComparison, *, ax: Any = None, style: Any = SHEET
) -> Figure:
    """Plot measured and computed impacts, with a panel for each quantity.

    Each case has a row. Measured values are circles, with a bar if the uncertainty is known.
    Computed values are ticks, one below the other, with the best law first. Rows that determine the
    ranking are in bold.

    Parameters
    ----------
    comparison : ImpactComparison
    ax : sequence of Axes, optional
        Matplotlib axes to draw into, one for each quantity.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    Figure
    """
    laws = [
        law for law in comparison.laws.values() if any(row.computed is not None for row in law.rows)
    ]
    plotted = laws[:MOST_LAWS]
    # Rows that determine the ranking are first if not all fit.
    width, height = rcParams["figure.figsize"]
    most = len(comparison.rows) if ax is not None else int(min(1.4 * height, width) / CASE_ROW)
    order = sorted(range(len(comparison.rows)), key=lambda k: comparison.rows[k].use == "show")
    groups: dict[str, list[int]] = {}
    for k in sorted(order[:most]):
        groups.setdefault(comparison.rows[k].quantity, []).append(k)
    cases = sum(map(len, groups.values()))
    fewer = f"{cases} of {len(order)} cases" if cases < len(order) else ""
    tall = 0.8 + 0.05 * cases
    ratios = [len(group) + 1.0 for group in groups.values()]
    panels = Panels(ax, len(groups), tall=tall, height_ratios=ratios)
    lines = Lines([law.law for law in plotted])
    handles: list[Any] = []
    for axes, (name, group) in zip(panels.axes, groups.items(), strict=True):
        rows = [comparison.rows[k] for k in group]
        handles = []
        for j, law in enumerate(plotted):
            at = np.arange(len(group)) - 0.3 + 0.6 * (j + 0.5) / len(plotted)
            values = np.array([law.rows[k].computed for k in group], dtype=float)
            label = law.law + ("" if law.rms is None else f": {law.rms:.3g}")
            tick = {"marker": "|", "linestyle": "", "markeredgewidth": 1.8, "label": label}
            handles.append(lines.plot(axes, j, values, at, **tick))
        measured, spread = (
            np.array([getattr(row, field) for row in rows], dtype=float)
            for field in ("measured", "uncertainty")
        )
        ring = measured_look(axes) | {"label": comparison.kind}
        handles.insert(0, axes.errorbar(measured, range(len(group)), xerr=spread, **ring))
        axes.set_yticks(range(len(group)), [escape_mathtext(row.case) for row in rows])
        for label, row in zip(axes.get_yticklabels(), rows, strict=True):
            label.set_fontweight("bold" if row.use != "show" else "normal")
        axes.set_ylim(len(group) - 0.4, -0.6)
        unit = comparison.variables[f"{name}_measured"].unit
        label_axis(axes.xaxis, name.replace("_", " "), unit)
    panels.legend(handles)
    fitted = {
        "yield_stress_ratio": "fitted ratio of hardness to yield stress",
        "damping": "one fitted damping constant",
    }.get(comparison.fit, "no fitted parameter")
    hidden = f"{len(laws) - len(plotted)} more laws" if len(laws) > len(plotted) else ""
    units = {
        comparison.variables[f"{row.quantity}_measured"].unit
        for row in comparison.rows
        if row.use != "show"
    }
    of_rms = "".join(f" [{unit}]" for unit in units - {"1"})
    ranking = f"after each law: rms error{of_rms} over the cases in bold"
    return panels.finish(comparison.title, fitted, ranking, hidden, fewer, kind=comparison.who)
