"""Figures that compare measurements with simulations."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from granchain.figures.frame import (
    BLACK,
    LETTER,
    Axes,
    Figure,
    Sheet,
    body_name,
    largest,
    look,
    name_sensor,
    palette,
    panel_each,
    scaled,
    set_panel,
    styled,
    time_unit,
)

if TYPE_CHECKING:
    from matplotlib.lines import Line2D

    from granchain.measured import Comparison, Trace
    from granchain.measured.fitted import Fit
    from granchain.measured.impacts import ImpactComparison


# Style of computed values next to a measured impact.
TICK: dict[str, Any] = {"marker": "|", "ls": "", "mew": 1.8}
# Largest number of plotted samples of a measured trace in one panel.
MOST_SAMPLES_DRAWN = 60
# Largest number of laws in a figure of measured impacts; more marks next to one measured value
# are not distinguishable.
MOST_LAWS = 6
# Style of measured values, and of the bars of their uncertainty.
MEASURED: dict[str, Any] = {"color": BLACK, "marker": "o", "ls": "", "mfc": "none"}
BAR: dict[str, Any] = {"elinewidth": 0.8, "capsize": 2.0, "zorder": 3}


@styled
def comparison(
    found: Comparison, ax: Sequence[Axes] | np.ndarray | None = None
) -> tuple[Figure, np.ndarray]:
    """Plot measured and computed forces at each sensor, with residuals below.

    The residual is the computed minus the measured force.

    Time starts at the measured peak of each sensor, and the computed time includes the common
    shift, so that a computed peak next to the measured one arrived earlier or later. Markers are
    measured and lines are computed values. The grey band is twice the noise of the filtered trace
    on each side. A coloured band contains 95 % of the computed forces within the tolerances.

    Parameters
    ----------
    found : Comparison
    ax : array of Axes (n_panels, 2), optional
        Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, array of Axes (n_panels, 2)
        Forces and residuals, in the order of the sensors.
    """
    from matplotlib.lines import Line2D

    sensors = found.results[0].sensors
    beads = np.array([sensor.bead for sensor in sensors])
    sheet, places, columns, note = panel_each(ax, beads, 1.3, [3.0, 1.3], head=0.25)
    factor, unit = time_unit(largest(*(sensor.time for sensor in sensors)) / 10.0)
    panels = sheet.panels.reshape(-1, 2)
    for i, (k, (force, rest)) in enumerate(zip(places, panels, strict=True)):
        if not sheet.on_callers_axes:
            force.sharex(rest)
        _forces_and_residuals(force, rest, found, k, factor)
        if i % columns == 0 or sheet.on_callers_axes:
            force.set_ylabel("force [N]")
            rest.set_ylabel("difference [N]")
        if sheet.on_callers_axes:
            rest.set_xlabel(f"time from peak [{unit}]")
    noisy = any(sensor.noise > 0.0 for sensor in sensors)
    caption = found.trace.words + (" (band: twice the noise)" if noisy else "")
    handles = [
        Line2D([], [], **MEASURED, ms=3.0, mew=0.6, label=caption),
        *(Line2D([], [], **look(i), label=one.label) for i, one in enumerate(found.results)),
    ]
    if not sheet.on_callers_axes:
        sheet.figure.supxlabel(f"time from the measured peak [{unit}]", fontsize="medium")
    add_legend(sheet, handles, 5)
    about, sensor = found.trace.about, found.sensor
    cutoff = sensor.cutoff
    figure, _ = write_trace_heading(
        sheet,
        found.trace,
        about.who,
        about.figure,
        about.doi,
        "" if cutoff is None else f"low-pass filtered (half amplitude at {1e-3 * cutoff:.4g} kHz)",
        f"simulation with instrument filter, {sensor.band}" if sensor.band else "",
        *(
            f"time shift of {one.label}: {factor * one.time_shift:+.4g} {unit}"
            for one in found.results
        ),
        *(
            f"band of {one.label}: {100.0 * found.in_band:g} % of {one.members} members with "
            "tolerances"
            for one in found.results
            if one.members
        ),
        note,
    )
    return figure, panels


def write_trace_heading(
    sheet: Sheet, trace: Trace | Fit, *phrases: str, indent: float = 46.0
) -> tuple[Figure, Any]:
    """Write the heading for a trace; a synthetic trace is labelled as such, in red."""
    about = trace.about
    title, synthetic = about.title or "untitled trace", about.kind == "synthetic"
    return sheet.write(title, about.kind_text, *phrases, failed=synthetic, indent=indent)


def add_legend(sheet: Sheet, handles: list[Line2D], most: int) -> None:
    """Add a legend under the heading, or at the best position of the caller's axes."""
    corner = {"loc": "lower left", "bbox_to_anchor": (0.0, 0.0), "borderaxespad": 0.0}
    under = None if sheet.on_callers_axes else {**corner, "ncols": min(most, len(handles))}
    sheet.legend(sheet.top, handles=handles, inside=under)


@styled
def pulse_numbers(found: Comparison, ax: Sequence[Axes] | None = None) -> tuple[Figure, np.ndarray]:
    """Plot measured and computed peaks of first pulses versus the bead.

    The differences of their arrivals are plotted below.

    Bars are one standard deviation of the measured values.

    Parameters
    ----------
    found : Comparison
    ax : sequence of Axes, optional
        Two Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, array of Axes (2,)
    """
    sheet = Sheet(ax, 7.0, 4.6, [3.0, 2.0], sharex=True)
    peaks, arrivals = sheet.panels
    sensors = sorted(found.results[0].sensors, key=lambda one: one.bead)
    beads, peak, peak_error, arrival, arrival_error = np.array([
        [one.bead, one.peak.measured, one.peak.error,
         one.arrival.measured, one.arrival.error]
        for one in sensors
    ]).T  # fmt: skip
    factor, unit = time_unit(largest(arrival) / 10.0)
    peaks.errorbar(beads, peak, peak_error, label="measured", ms=4.0, **MEASURED, **BAR)
    arrivals.errorbar(beads, 0.0 * beads, factor * arrival_error, ms=4.0, **MEASURED, **BAR)
    for i, result in enumerate(found.results):
        ours = sorted(result.sensors, key=lambda one: one.bead)
        peaks.plot(beads, [one.peak.computed for one in ours], **look(i), label=result.label)
        times = np.array([one.arrival.computed for one in ours])
        arrivals.plot(beads, factor * (times - arrival), **look(i))
    peaks.set(ylim=(0.0, None), ylabel="peak force [N]")
    set_panel(
        arrivals,
        integer="x",
        ylabel=f"delay relative to measurement [{unit}]",
        xlabel="sensor bead",
    )
    for panel in (peaks, arrivals):
        panel.margins(x=0.03)
    sheet.legend(peaks, inside={"ncols": 2})
    return write_trace_heading(sheet, found.trace, "bars: one standard deviation")


def _forces_and_residuals(
    force: Axes, rest: Axes, found: Comparison, k: int, factor: float
) -> None:
    """Plot the measured and computed forces at one sensor, and the residuals below."""
    sensor = found.results[0].sensors[k]
    ours = [agreement.sensors[k] for agreement in found.results]
    noise = 2.0 * max(sensor.noise, 0.0)
    rest.axhspan(-noise, noise, color="#d8d8d8", linewidth=0.0, zorder=0)
    # If no pulse was measured, time starts at the first computed one.
    arrivals = [sensor.arrival.measured, *(agreement.arrival.computed for agreement in ours), 0.0]
    origin = next(at for at in arrivals if math.isfinite(at))
    longest = max(ours, key=lambda agreement: len(agreement.time))
    # Measured samples are below the lines, and few enough to see the lines.
    every = max(1, math.ceil(len(longest.time) / MOST_SAMPLES_DRAWN))
    force.plot(
        factor * (longest.time - origin),
        longest.measured,
        label="measured",
        **MEASURED,
        ms=2.4,
        mew=0.6,
        markevery=every,
        zorder=2,
    )
    nearest = found.nearest.get(sensor.bead, ())
    for i, (agreement, result) in enumerate(zip(ours, found.results, strict=True)):
        # The nearest law is on top.
        near = result.label in nearest
        line: dict[str, Any] = look(i) | {"label": result.label, "zorder": 4 if near else 3}
        since, left = factor * (agreement.time - origin), agreement.computed - agreement.measured
        force.plot(since, agreement.computed, linewidth=1.5 if near else 1.0, **line)
        rest.plot(since, left, linewidth=0.9, **line)
        if agreement.force_band is not None:
            low, high = agreement.force_band.low, agreement.force_band.high
            for axes, zero in ((force, 0.0), (rest, agreement.measured)):
                area = {"color": line["color"], "alpha": 0.22, "zorder": 1, "linewidth": 0.0}
                axes.fill_between(since, low - zero, high - zero, **area)
    if nearest:
        smallest = np.nanmin([agreement.residual.computed for agreement in ours])
        before = f"{' or '.join(nearest)}: " if len(ours) > 1 else ""
        words = f"{before}residual {100.0 * smallest:.2g} %"
    else:
        missing = [agreement for agreement in ours if math.isnan(agreement.arrival.computed)]
        words = "no simulated pulse" if len(missing) == len(ours) else "incomplete pulse"
        words = words if math.isfinite(sensor.arrival.measured) else "no measured pulse"
    # The two texts do not fit on one line.
    merged = ", merged" if any(agreement.merged for agreement in ours) else ""
    words = textwrap.shorten(words, 44)
    name_sensor(force, body_name(sensor.bead) + merged, words)
    force.tick_params(axis="x", labelbottom=False)
    set_panel(force, zero=True, xmargin=0.02, ticks="y", most=4)
    set_panel(rest, zero=True, xmargin=0.02, ticks="xy", most=4)


@styled
def impact_comparison(
    found: ImpactComparison, ax: Sequence[Axes] | None = None
) -> tuple[Figure, np.ndarray]:
    """Plot measured and computed impacts, with a panel for each quantity.

    Each case has a line.

    Measured values are circles, with a bar if the uncertainty is known. Computed values are ticks,
    one below the other, with the best law first. Rows that determine the ranking are in bold.

    Parameters
    ----------
    found : ImpactComparison
    ax : sequence of Axes, optional
        Matplotlib axes to draw into, one for each quantity. The heading is then set on their
        figure.

    Returns
    -------
    Figure, array of Axes (n_quantities,)
    """
    from matplotlib.lines import Line2D

    laws = [one for one in found.laws.values() if any(row.computed is not None for row in one.rows)]
    shown = laws[:MOST_LAWS]
    groups: dict[str, list[int]] = {}
    for k, row in enumerate(found.rows):
        groups.setdefault(row.quantity, []).append(k)
    # Long names such as jankowski-both-phases leave space for three columns.
    lines = math.ceil((len(shown) + 1) / 3)
    height = 1.2 + 0.25 * lines + 0.5 * len(groups) + 0.26 * len(found.rows)
    ratios = [len(group) + 1.0 for group in groups.values()]
    sheet = Sheet(ax, 7.2, height, ratios, head=0.3 + 0.8 * lines)
    letters = 0
    for axes, (quantity, group) in zip(sheet.panels, groups.items(), strict=True):
        rows = [found.rows[k] for k in group]
        si = found.variables[f"{quantity}_measured"].unit.removeprefix("1")
        factor, unit = scaled(max(row.measured for row in rows), si) if si else (1.0, "")
        for j, (one, colour) in enumerate(zip(shown, palette(), strict=False)):
            at = np.arange(len(group)) - 0.3 + 0.6 * (j + 0.5) / len(shown)
            values = np.array([one.rows[k].computed for k in group], dtype=float)
            axes.plot(factor * values, at, ms=5.0, color=colour, label=one.law, zorder=2, **TICK)
        measured, spread = (
            factor * np.array([getattr(row, name) for row in rows], dtype=float)
            for name in ("measured", "uncertainty")
        )
        ring = MEASURED | BAR | {"ms": 5.0, "mew": 0.9, "label": "measured"}
        axes.errorbar(measured, range(len(group)), xerr=spread, **ring)
        cases = [row.case for row in rows]
        axes.set_yticks(range(len(group)), cases, fontsize=7, parse_math=False)
        letters = max(letters, *map(len, cases))
        for label, row in zip(axes.get_yticklabels(), rows, strict=True):
            label.set_fontweight("bold" if row.use != "show" else "normal")
        for line in range(len(group) - 1):
            axes.axhline(line + 0.5, color="#e4e4e4", linewidth=0.5, zorder=0)
        label = quantity.replace("_", " ") + (f" [{unit}]" if unit else "")
        axes.set(ylim=(len(group) - 0.4, -0.6), xlabel=label, xmargin=0.04)
    words = [one.law + ("" if one.rms is None else f": {one.rms:.3g}") for one in shown]
    handles = [
        Line2D([], [], **MEASURED, ms=5.0, mew=0.9, label=found.kind),
        *(
            Line2D([], [], color=colour, ms=8.0, label=word, **TICK)
            for word, colour in zip(words, palette(), strict=False)
        ),
    ]
    add_legend(sheet, handles, 3)
    fit = {
        "yield_stress_ratio": "fitted ratio of hardness to yield stress",
        "damping": "one fitted damping constant",
    }.get(found.fit, "no fitted parameter")
    hidden = f"{len(laws) - len(shown)} more laws not shown" if len(laws) > len(shown) else ""
    ranked = {
        found.variables[f"{row.quantity}_measured"].unit for row in found.rows if row.use != "show"
    }
    of_rms = "".join(f" [{unit}]" for unit in ranked - {"1"})
    parts = found.who, fit, f"after each law: rms error{of_rms} over the cases in bold", hidden
    # The names of cases, in 7-point type, move the axes to the right.
    return sheet.write(found.title, *parts, indent=16.0 + LETTER * 7.0 * letters)
