"""Figures of uncertainty bands and of sensitivity indices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from granchain.errors import GranchainError
from granchain.figures.frame import (
    MOST_LINES,
    Axes,
    Figure,
    Sheet,
    body_name,
    evenly_spaced,
    largest,
    late_pulses,
    name_sensor,
    palette,
    panel_each,
    scaled,
    set_panel,
    styled,
    time_unit,
)

# Width of the plot on each side of a pulse's peak, in widths at half height.
BAND_WIDTHS = 1.8


@styled
def band_traces(bands: Any, ax: Sequence[Axes] | None = None) -> tuple[Figure, np.ndarray]:
    """Plot the first pulse at each sensor with its uncertainty bands.

    Each sensor has a panel. The line is the nominal case, and the bands are quantiles of the
    ensemble members.

    Parameters
    ----------
    bands : xarray.Dataset
        Result of `granchain.bands`.
    ax : sequence of Axes, optional
        Matplotlib axes to draw into, one for each panel. The heading is then set on their figure.

    Returns
    -------
    Figure, array of Axes (n_panels,)
    """
    need_bands(bands, "force")
    beads = bands.sensor_bead.values
    sheet, places, columns, note = panel_each(ax, beads, 1.1, [1.0], head=0.12)
    by_force, newton = scaled(largest(bands.force.values), "N")
    by_time, second = time_unit(float(bands.time[-1]))
    percent = 100.0 * bands["quantile"].values
    # Pairs of quantiles, the widest first.
    edges = [(i, len(percent) - 1 - i) for i in range(len(percent) // 2)]
    colour = palette()[0]
    for i, (axes, k) in enumerate(zip(sheet.panels, places, strict=True)):
        span = shown_span(bands, k)
        time, force = by_time * bands.time.values[span], by_force * bands.force.values[:, span, k]
        for low, high in edges:
            axes.fill_between(time, force[low], force[high], color=colour, alpha=0.22, lw=0.0)
        nominal = by_force * bands.nominal_force.values[span, k]
        axes.plot(time, nominal, color=colour, linewidth=1.0)
        words = f"peak {by_force * float(bands.nominal_peak[k]):.4g}, "
        low, high = by_force * bands.peak.values[[0, -1], k]
        words += f"{low:.4g} to {high:.4g} {newton}"
        name_sensor(axes, body_name(int(beads[k])), words)
        set_panel(axes, ticks="x", most=3, xmargin=0.02)
        set_panel(axes, ticks="y", most=5, ylim=(min(0.0, float(axes.dataLim.y0)), None))
        if i % columns == 0:
            axes.set_ylabel(f"force [{newton}]")
        if sheet.on_callers_axes:
            axes.set_xlabel(f"time [{second}]")
    if not sheet.on_callers_axes:
        sheet.figure.supxlabel(f"time [{second}]", fontsize="medium")
    held = ", ".join(f"{percent[low]:g} to {percent[high]:g} %" for low, high in edges)
    words = f"bands: {held} of the members" if edges else ""
    return write_bands_heading(bands, sheet, words, note)


def need_bands(bands: Any, name: str) -> None:
    """Raise an error if this is not a result of `granchain.bands` with a given variable."""
    if name not in getattr(bands, "variables", {}) or "key" not in getattr(bands, "dims", {}):
        how = "..., sensitivity=True" if "order" in name else "..."
        raise GranchainError(
            f"figure: {type(bands).__name__} has no variable {name}. It must be a result of "
            f"granchain.bands. Create it with granchain.bands({how})."
        )


def write_bands_heading(bands: Any, sheet: Sheet, *notes: str) -> tuple[Figure, Any]:
    """Write the heading with the law, the members, and the standard deviations of the keys."""
    parts = 100.0 * bands.relative_deviation.values
    keys = [f"{key} {part:.3g} %" for key, part in zip(bands["key"].values, parts, strict=True)]
    more = [f"and {len(keys) - MOST_LINES} more"] if len(keys) > MOST_LINES else []
    deviations = f"standard deviations: {keys[0]}", *keys[1:MOST_LINES], *more
    of = "simulated", f"contact law {bands.attrs['law']}", f"members: {bands.attrs['status']}"
    return sheet.write(str(bands.attrs["title"]), *of, *deviations, *notes, late_pulses(bands))


def shown_span(bands: Any, k: int) -> slice:
    """Return the samples around the pulse at a sensor, or all samples if it has no pulse."""
    time, force = bands.time.values, bands.nominal_force.values[:, k]
    at, peak = float(bands.nominal_arrival[k]), float(bands.nominal_peak[k])
    if not math.isfinite(at) or not peak > 0.0:
        return slice(0, len(time))
    i = min(int(np.searchsorted(time, at)), len(time) - 1)
    half = time[force - force[0] < 0.5 * peak]
    begin = half[half < time[i]].max(initial=time[0])
    end = half[half >= time[i]].min(initial=time[-1])
    low, high = np.nanmin(bands.arrival[:, k]), np.nanmax(bands.arrival[:, k])
    wide = BAND_WIDTHS * (end - begin)
    return slice(*np.searchsorted(time, [low - wide, high + wide]).tolist())


@styled
def sensitivities(bands: Any, name: str = "peak", ax: Axes | None = None) -> tuple[Figure, Axes]:
    """Plot sensitivity indices of each key at the sensors.

    First-order and total indices are plotted with their confidence limits.

    Parameters
    ----------
    bands : xarray.Dataset
        Result of `granchain.bands(..., sensitivity=True)`.
    name : {"peak", "arrival"}
    ax : Axes, optional
        Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, Axes
    """
    if name not in ("peak", "arrival"):
        raise GranchainError(
            f'sensitivities: {name!r} is not valid. It must be "peak" or "arrival".'
        )
    prefix = "" if name == "peak" else f"{name}_"
    need_bands(bands, f"{prefix}first_order")
    sheet = Sheet(ax, 8.0, 4.2)
    axes, keys, beads = sheet.top, bands["key"].values.tolist(), bands.sensor_bead.values
    _, note = evenly_spaced(len(keys), len(palette()), "parameters")
    means = np.nan_to_num(bands[f"{prefix}total_order"].values).mean(axis=1)
    order = np.argsort(-means, kind="stable")[: len(palette())].tolist()
    # Shift the two markers of a bead sideways, so that their error bars do not overlap.
    apart = 0.008 * max(float(np.ptp(beads)), 1.0)
    for place, (k, colour) in enumerate(zip(order, palette(), strict=False)):
        at = beads + apart * (place - 0.5 * (len(order) - 1))
        line: dict[str, Any] = {"color": colour, "linewidth": 1.2}
        (first, low, high), (total, least, most) = (
            [bands[f"{prefix}{kind}_order{side}"].values[k] for side in ("", "_low", "_high")]
            for kind in ("first", "total")
        )
        axes.plot(at, first, marker=".", label=keys[k], **line)
        axes.vlines(at, low, high, **line)
        axes.plot(at, total, "--", **line)
        axes.fill_between(at, least, most, color=colour, alpha=0.15, linewidth=0.0)
    set_panel(axes, zero=True, xlabel="bead", ylabel=f"fraction of the variance of the {name}")
    low, high = axes.get_ylim()
    limits = (0.0, 1.04 * float(beads.max())), (min(-0.02, low), max(1.02, high))
    set_panel(axes, integer="x", xlim=limits[0], ylim=limits[1])
    sheet.legend(axes, beside=True)
    lines = "solid: first order, with 95 % confidence bars", "dashed: total, with bands"
    most = note + ", those with the largest effect" if note else ""
    return write_bands_heading(bands, sheet, *lines, most)
