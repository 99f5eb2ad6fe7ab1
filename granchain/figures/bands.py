"""Bands around computed traces, and which uncertain number matters where."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from granchain.errors import GranchainError
from granchain.figures.frame import (
    MOST_LEGEND_ROWS,
    MOST_LINES,
    body_name,
    chosen_labels,
    columns_in_legend,
    figure_of,
    given_panels,
    label_size,
    legend_beside,
    narrow,
    new_figure,
    one_panel,
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

# Widths at half height that are shown on each side of a pulse's peak.
BAND_WIDTHS = 1.8


@styled
def band_traces(bands: Any, ax: Sequence[Axes] | None = None) -> tuple[Figure, np.ndarray]:
    """The first pulse at each sensor, a panel a sensor: the case as it stands as a line, and the
    bands of its members.

    Parameters
    ----------
    bands : xarray.Dataset
        As `granchain.bands` gives it.
    ax : sequence of Axes, optional
        Of matplotlib, one a panel, to draw into: the heading is then left to their figure.

    Returns
    -------
    Figure, array of Axes (n_panels,)
    """
    need_bands(bands, "force")
    places, note = chosen_labels(None, bands.sensor_bead.values, MOST_LEGEND_ROWS, "sensors")
    columns = columns_in_legend(len(places))
    rows = math.ceil(len(places) / columns)
    largest = float(np.nanmax(bands.force.values, initial=0.0))
    (by_force, newton), (by_time, second) = scaled(largest, "N"), time_unit(float(bands.time[-1]))
    if ax is None:
        figure = new_figure(max(5.4, 2.3 * columns), 1.1 + 2.1 * rows)
        grid = figure.add_gridspec(rows + 1, columns, height_ratios=[0.12, *[1.0] * rows])
        top = figure.add_subplot(grid[0, :])
        top.set_axis_off()
        panels = np.array(
            [figure.add_subplot(grid[1 + i // columns, i % columns]) for i in range(len(places))],
            dtype=object,
        )
    else:
        panels = given_panels(ax, len(places))
        figure = figure_of(panels[0])
    colour = palette()[0]
    edges = pairs(bands["quantile"].values)
    for i, k in enumerate(places):
        axes = panels[i]
        piece = shown_piece(bands, k)
        time = by_time * bands.time.values[piece]
        for low, high in edges:
            force = by_force * bands.force.values[:, piece, k]
            shade(axes, time, force[low], force[high], color=colour, alpha=0.22)
        axes.plot(
            time, by_force * bands.nominal_force.values[piece, k], color=colour, linewidth=1.0
        )
        axes.set_title(
            body_name(int(bands.sensor_bead[k])),
            fontsize=label_size(),
            pad=22.0 if narrow() else 12.0,
        )
        peak, ends = by_force * bands.peak.values[:, k], edges[0] if edges else (0, 0)
        words = f"peak {by_force * float(bands.nominal_peak[k]):.4g}," + ("\n" if narrow() else " ")
        words += f"{peak[ends[0]]:.4g} to {peak[ends[1]]:.4g} {newton}"
        below: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
        axes.annotate(words, (0.0, 1.0), (0.0, 3.0), fontsize=7, color="#555555", **below)
        axes.locator_params(axis="x", nbins=3)
        axes.locator_params(axis="y", nbins=5)
        axes.margins(x=0.02)
        axes.set_ylim(min(0.0, float(axes.dataLim.y0)), None)
        if i % columns == 0:
            axes.set_ylabel(f"force ({newton})")
    if ax is None:
        figure.supxlabel(f"time ({second})", fontsize=label_size())
        figure.align_ylabels()
        write_heading(
            top,
            str(bands.attrs["title"]),
            [*about(bands), *band_words(bands, edges), *([note] if note else [])],
        )
    else:
        for axes in panels:
            axes.set_xlabel(f"time ({second})")
    return figure, panels


def need_bands(bands: Any, name: str) -> None:
    """Refuse what `granchain.bands` has not made, or has made without sensitivity."""
    if name not in getattr(bands, "variables", {}) or "key" not in getattr(bands, "dims", {}):
        advice = (
            "make it with granchain.bands(..., sensitivity=True)"
            if "order" in name
            else "make it with granchain.bands"
        )
        raise GranchainError(
            f"figure: got a {type(bands).__name__} without the variable {name} of bands, allowed "
            f"one with it; {advice}"
        )


def about(bands: Any) -> list[str]:
    """What the figure is of."""
    return [
        "simulated",
        f"contact law {bands.attrs['law']}",
        f"members: {bands.attrs['status']}",
        *tolerances(bands),
    ]


def tolerances(bands: Any) -> list[str]:
    """The keys with their standard deviations, those that are equal together."""
    parts = np.abs(bands.standard_deviation.values / bands["value"].values)
    words = [f"{100.0 * part:.3g} %" for part in parts]
    found = []
    for word in list(dict.fromkeys(words))[:MOST_LINES]:
        keys = [
            key
            for key, other in zip(bands["key"].values.tolist(), words, strict=True)
            if other == word
        ]
        found += [f"standard deviation {word}: {keys[0]}", *keys[1:MOST_LINES]]
        found += [f"and {len(keys) - MOST_LINES} more"] if len(keys) > MOST_LINES else []
    return found


def pairs(quantiles: np.ndarray) -> list[tuple[int, int]]:
    """Places of the quantiles that a band lies between, the widest first."""
    return [(i, len(quantiles) - 1 - i) for i in range(len(quantiles) // 2)]


def band_words(bands: Any, edges: list[tuple[int, int]]) -> list[str]:
    """What the bands hold."""
    parts = 100.0 * bands["quantile"].values
    return (
        [
            "bands: "
            + ", ".join(f"{parts[low]:g} to {parts[high]:g} %" for low, high in edges)
            + " of the members"
        ]
        if edges
        else []
    )


def shown_piece(bands: Any, k: int) -> slice:
    """Samples around the pulse at a sensor; all of them where there is none."""
    time, force = bands.time.values, bands.nominal_force.values[:, k]
    at, peak = float(bands.nominal_arrival[k]), float(bands.nominal_peak[k])
    if not math.isfinite(at) or not peak > 0.0:
        return slice(0, len(time))
    i = min(int(np.searchsorted(time, at)), len(time) - 1)
    half = force - force[0] < 0.5 * peak
    before, after = np.flatnonzero(half[:i]), np.flatnonzero(half[i:])
    begin = float(time[before[-1]]) if len(before) else float(time[0])
    end = float(time[i + after[0]]) if len(after) else float(time[-1])
    low, high = float(np.nanmin(bands.arrival[:, k])), float(np.nanmax(bands.arrival[:, k]))
    wide = BAND_WIDTHS * (end - begin)
    return slice(int(np.searchsorted(time, low - wide)), int(np.searchsorted(time, high + wide)))


@styled
def sensitivities(bands: Any, name: str = "peak", ax: Axes | None = None) -> tuple[Figure, Axes]:
    """Which uncertain number matters where: first-order and total indices of each key over the
    sensors, with their limits.

    Parameters
    ----------
    bands : xarray.Dataset
        As `granchain.bands(..., sensitivity=True)` gives it.
    name : {"peak", "arrival"}
    ax : Axes, optional
        Of matplotlib, to draw into: the heading is then left to its figure.

    Returns
    -------
    Figure, Axes
    """
    if name not in ("peak", "arrival"):
        raise GranchainError(
            f'sensitivities: got {name!r}, allowed "peak" or "arrival"; name one of them'
        )
    prefix = "" if name == "peak" else f"{name}_"
    need_bands(bands, f"{prefix}first_order")
    first, total = f"{prefix}first_order", f"{prefix}total_order"
    figure, axes = one_panel(ax, 8.0, 7.0 if narrow() else 4.2)
    keys = bands["key"].values.tolist()
    order = np.argsort(-np.nan_to_num(bands[total].values).mean(axis=1), kind="stable")[
        : len(palette())
    ]
    beads = bands.sensor_bead.values
    # beside each other, where limits would lie over each other
    apart = 0.008 * max(float(np.ptp(beads)), 1.0)
    for place, (k, colour) in enumerate(zip(order.tolist(), palette(), strict=False)):
        at = beads + apart * (place - 0.5 * (len(order) - 1))
        for variable in (first, total):
            line: dict[str, Any] = {"ls": "-", "marker": "."} if variable == first else {"ls": "--"}
            value, low, high = (
                bands[f"{variable}{side}"].values[k] for side in ("", "_low", "_high")
            )
            axes.plot(
                at,
                value,
                color=colour,
                linewidth=1.2,
                label=keys[k] if variable == first else None,
                **line,
            )
            if variable == first:
                axes.vlines(at, low, high, color=colour, linewidth=1.2)
            else:
                axes.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0.0)
    axes.axhline(0.0, color="#b0b0b0", linewidth=0.5, zorder=0)
    axes.set_ylim(min(-0.02, axes.get_ylim()[0]), max(1.02, axes.get_ylim()[1]))
    axes.margins(x=0.03)
    axes.autoscale_view(scaley=False)
    axes.set_xlabel("bead")
    axes.set_ylabel(f"part of the variance of the {name}")
    legend_beside(axes, given=ax is not None)
    notes = ["lines: first order, with bars of 95 % confidence", "dashed: total, with bands"]
    if len(keys) > len(order):
        notes.append(f"{len(order)} of {len(keys)} keys shown, those that matter most")
    if ax is None:
        write_heading(axes, str(bands.attrs["title"]), [*about(bands), *notes])
    return figure, axes
