"""Figures of fits to a measured trace."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from granchain.figures.frame import (
    BLACK,
    Axes,
    Figure,
    Sheet,
    evenly_spaced,
    largest,
    palette,
    set_panel,
    styled,
    time_unit,
)
from granchain.figures.laws import indent_of, ranked_bars
from granchain.figures.measured import BAR, MEASURED, MOST_SAMPLES_DRAWN, write_trace_heading
from granchain.figures.studies import key_words

if TYPE_CHECKING:
    from granchain.measured.fitted import Fit
    from granchain.measured.ranking import Ranking

FORCES = ("time", "measured", "computed")
# Largest number of plotted pulses; with more, single samples would not be visible.
MOST_PULSES = 8
# Letters per line of a key next to the correlation matrix.
MOST_LETTERS = 14


@styled
def fit(found: Fit, ax: Sequence[Axes] | None = None) -> tuple[Figure, np.ndarray]:
    """Plot a fit: pulses, residuals, peaks, and correlations of the keys.

    The panels show the measured and fitted pulses, the residual of each sample, the peaks at every
    sensor with their residuals, and the correlation matrix of the keys.

    Fitted pulses use the clock of the trace and the fitted calibration.

    Parameters
    ----------
    found : Fit
    ax : sequence of Axes, optional
        Five Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, array of Axes
        Pulses, fitted minus measured, peaks (or arrivals, if only these were fitted), residuals,
        and correlation of the keys.
    """
    sheet = Sheet(ax, 9.6, 7.4, [2.2, 1.0, 2.6], [1.3, 1.1, 0.9], head=0.02, wide=2)
    force, rest, values, left, matrix = sheet.panels
    note = _pulses_and_residuals(force, rest, found.samples)
    sheet.legend(force, inside={"ncols": 2})
    beads, by_time = found.sensor_bead, found.measure == "arrivals"
    quantity = "arrival" if by_time else "peak"
    measured, computed, error = (
        found[f"{quantity}_{name}"] for name in ("measured", "computed", "error")
    )
    factor, unit = time_unit(largest(measured)) if by_time else (1.0, "N")
    ring = MEASURED | BAR | {"ms": 4.0, "mew": 0.8}
    deviations = 2.0 * factor * error
    values.errorbar(
        beads,
        factor * measured,
        deviations,
        label="measured, \N{PLUS-MINUS SIGN} two deviations",
        **ring,
    )
    values.plot(beads, factor * computed, color=palette()[0], label="fitted")
    values.set_ylabel(f"{quantity} of the first pulse [{unit}]")
    values.legend(loc="best", fontsize=7)
    left.axhspan(-2.0, 2.0, color="#e4e4e4", linewidth=0.0, zorder=0)
    left.plot(beads, found.residuals, "o", color=palette()[0], markersize=4.0)
    most = 1.15 * max(3.0, largest(found.residuals))
    set_panel(left, zero=True, ylabel="normalized residual", ylim=(-most, most))
    for axes in (values, left):
        set_panel(axes, integer="x", xlabel="bead", xmargin=0.05)
    keys = list(found.values)
    names = [textwrap.fill(key_words(key), MOST_LETTERS) for key in keys]
    matrix.imshow(np.nan_to_num(found.correlation), cmap="RdBu", vmin=-1.5, vmax=1.5)
    for (i, j), value in np.ndenumerate(found.correlation):
        words = f"{value:+.2f}" if math.isfinite(value) else "not determined"
        colour = "white" if abs(value) > 0.9 else BLACK
        matrix.annotate(words, (j, i), ha="center", va="center", fontsize=7, color=colour)
    matrix.set_yticks(range(len(keys)), names)
    slanted = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if len(keys) > 1 else {}
    matrix.set_xticks(range(len(keys)), names, **slanted)
    matrix.set_title("correlation", fontsize="medium")
    numbers = (
        f"{key} {number:.4g} \N{PLUS-MINUS SIGN} {found.errors[key]:.2g}"
        if math.isfinite(found.errors[key])
        else f"{key} {number:.4g}, not determined"
        for key, number in found.values.items()
    )
    return write_trace_heading(sheet, found, f"fitted to {found.measure}", note, *numbers)


@styled
def fits(found: Ranking[Fit], ax: Sequence[Axes] | None = None) -> tuple[Figure, np.ndarray]:
    """Plot the ranking of laws that were fitted to one trace.

    Laws are ranked by Akaike's information criterion. The second panel shows their residuals at
    every sensor.

    Parameters
    ----------
    found : Ranking of Fit
        Result of `granchain.fit` for several laws. As many are plotted as there are colours.
    ax : sequence of Axes, optional
        Two Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, array of Axes
        Ranking, and residual at each bead.
    """
    count = min(len(found), len(palette()))
    laws, aic = found["law"][:count].tolist(), found.aic[:count]
    first = int(np.argmin(np.nan_to_num(aic, nan=math.inf)))
    sheet = Sheet(ax, 9.0, max(3.4, 2.0 + 0.28 * count), columns=[1.2, 1.0], head=0.02)
    ranking, beads = sheet.panels
    # A law with as many fitted keys as measured values has no finite AIC.
    more = np.where(np.isfinite(aic), np.maximum(aic - aic[first], 0.0), 0.0)
    scatters = 2.0 * found.aic_scatter[:count, first]
    distinct = found.distinguishable[:count, first]
    notes = ["" if yes or i == first else "not distinguishable" for i, yes in enumerate(distinct)]
    ends = more + np.nan_to_num(scatters)
    places = ranked_bars(ranking, laws, found.rank, ends.tolist(), notes)
    for bar, value in zip(ranking.patches, more, strict=True):
        bar.set_width(value)
    ranking.errorbar(
        more, places, xerr=scatters, fmt="none", ecolor=BLACK, elinewidth=0.8, capsize=2
    )
    words = f"AIC difference from {laws[first]}, \N{PLUS-MINUS SIGN} two standard deviations"
    ranking.set(xlim=(0.0, 1.3 * max(*ends, 1.0)), xlabel=words)
    widths = np.linspace(2.2, 1.0, count).tolist()
    for law, residuals, colour, width in zip(
        laws, found.residuals, palette(), widths, strict=False
    ):
        look: dict[str, Any] = {"color": colour, "linewidth": width, "ms": 3.0 + width}
        beads.plot(found.sensor_bead, residuals, "o-", label=law, **look)
    words = "normalized residual"
    set_panel(beads, zero=True, integer="x", xlabel="bead", ylabel=words, xmargin=0.05)
    beads.legend(loc="best", fontsize=7)
    return write_trace_heading(
        sheet,
        found[0],
        f"fitted to {found.measure}",
        f"{count} of {len(found)} laws shown" if count < len(found) else "",
        indent=indent_of(laws),
    )


def _pulses_and_residuals(force: Axes, rest: Axes, samples: Sequence[Mapping[str, Any]]) -> str:
    """Plot the measured and fitted pulses of the sensors, and the differences below.

    Noise has no shape, but a missing feature of the case has. Return a note if some pulses are not
    plotted.
    """
    from matplotlib.ticker import MultipleLocator

    places, note = evenly_spaced(len(samples), MOST_PULSES, "pulses")
    sensor_samples = [
        {key: np.asarray(samples[i][key], dtype=float) for key in FORCES} for i in places
    ]
    if not sensor_samples:
        force.annotate("no complete pulse", (0.5, 0.5), xycoords="axes fraction", ha="center")
    times = [one["time"] - 0.5 * (one["time"][0] + one["time"][-1]) for one in sensor_samples]
    factor, unit = time_unit(largest(*times))
    wide = factor * max((float(np.ptp(time)) for time in times), default=1.0)
    every = max(1, math.ceil(max(map(len, times), default=1) / MOST_SAMPLES_DRAWN))
    ring = MEASURED | {"ms": 2.4, "mew": 0.6, "markevery": every, "zorder": 2}
    fitted: dict[str, Any] = {"color": palette()[0], "zorder": 3}
    middles = []
    for k, (time, one) in enumerate(zip(times, sensor_samples, strict=True)):
        middles.append(1.15 * k * wide)
        at = factor * time + middles[-1]
        force.plot(at, one["measured"], **ring, label="_" * (k > 0) + "measured")
        force.plot(at, one["computed"], **fitted, label="_" * (k > 0) + "fitted")
        rest.plot(at, one["computed"] - one["measured"], **fitted, linewidth=0.7)
    set_panel(force, zero=True, ylabel="force [N]", xticks=middles, xmargin=0.02)
    set_panel(
        rest, zero=True, ylabel="difference [N]", xticks=middles, xmargin=0.02, ticks="y", most=4
    )
    rest.set_xticklabels([f"bead {samples[i]['bead']}" for i in places])
    step = 10.0 ** math.floor(math.log10(0.5 * wide))
    for axes in (force, rest):
        axes.xaxis.set_minor_locator(MultipleLocator(step))
    rest.set_xlabel(f"time (tick interval {step:g} {unit})")
    force.tick_params(axis="x", labelbottom=False)
    return note
