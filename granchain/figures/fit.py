"""What was fitted to a measurement, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from granchain.figures.frame import (
    figure_of,
    given_panels,
    label_size,
    palette,
    row_under_heading,
    styled,
    time_unit,
    write_heading,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from granchain.studies.fit import Fit

# Colour of what was measured, which no computed line has.
_MEASURED_STYLE = "#222222"


@styled
def fit(found: Fit, ax: Sequence[Axes] | None = None) -> tuple[Figure, np.ndarray]:
    """Measured numbers and those of the fitted case at every sensor, what is left, and how the
    errors of the keys hang together.

    Parameters
    ----------
    found : Fit
    ax : sequence of Axes, optional
        Of matplotlib, three of them, to draw into: the heading is then left to their figure.

    Returns
    -------
    Figure, array of Axes
        Peaks, or arrivals where they alone were fitted; residuals; correlation of the keys.
    """
    if ax is None:
        figure, top, panels = row_under_heading(9.6, 4.1, [1.3, 1.1, 0.9])
    else:
        panels = given_panels(ax, 3)
        figure = figure_of(panels[0])
    values, left, matrix = panels
    beads = [one.bead for one in found.sensors]
    by_time = found.measure == "arrivals"
    pairs = [one.arrival if by_time else one.peak for one in found.sensors]
    factor, unit = time_unit(max(abs(pair.measured) for pair in pairs)) if by_time else (1.0, "N")
    measured, computed, error = (
        factor * np.array([getattr(pair, name) for pair in pairs])
        for name in ("measured", "computed", "uncertainty")
    )
    look = {
        "color": _MEASURED_STYLE,
        "markerfacecolor": "none",
        "markersize": 4.0,
        "markeredgewidth": 0.8,
        "elinewidth": 0.8,
        "capsize": 2.0,
    }
    values.errorbar(
        beads, measured, 2.0 * error, fmt="o", label="measured, +- two deviations", **look
    )
    values.plot(beads, computed, color=palette()[0], label="fitted")
    values.set_ylabel(
        f"arrival of the first pulse ({unit})" if by_time else "peak of the first pulse (N)"
    )
    values.set_xlabel("bead")
    values.legend(loc="best", fontsize=7)
    left.axhspan(-2.0, 2.0, color="#e4e4e4", linewidth=0.0, zorder=0)
    left.axhline(0.0, color="#b0b0b0", linewidth=0.5, zorder=1)
    left.plot(beads, found.residuals, "o", color=palette()[0], markersize=4.0)
    left.set_xlabel("bead")
    left.set_ylabel("what is left (standard deviations)")
    most = 1.15 * max(3.0, float(np.nanmax(np.abs(found.residuals), initial=0.0)))
    left.set_ylim(-most, most)
    for axes in (values, left):
        axes.margins(x=0.05)
        axes.locator_params(axis="x", integer=True)
    _correlations(matrix, found)
    if ax is not None:
        return figure, panels
    parts = [
        "SYNTHETIC TRACE, no experiment" if found.trace.synthetic else found.trace.words,
        f"fitted to {found.measure}",
    ]
    for key, value in found.values.items():
        error_of_key = found.errors[key]
        parts.append(
            f"{key} {value:.4g} +- {error_of_key:.2g}"
            if math.isfinite(error_of_key)
            else f"{key} {value:.4g}, not told"
        )
    write_heading(
        top, found.trace.about.title or "untitled trace", parts, failed=found.trace.synthetic
    )
    return figure, panels


def _correlations(axes: Axes, found: Fit) -> None:
    """The correlation of the keys as a square of numbers."""
    keys = list(found.values)
    axes.imshow(np.abs(np.nan_to_num(found.correlation)), cmap="Blues", vmin=0.0, vmax=1.0)
    for i in range(len(keys)):
        for j in range(len(keys)):
            value = found.correlation[i, j]
            words = f"{value:+.2f}" if math.isfinite(value) else "not told"
            axes.annotate(
                words,
                (j, i),
                ha="center",
                va="center",
                fontsize=7,
                color="white" if abs(value) > 0.6 else "#222222",
            )
    places = range(len(keys))
    axes.set_xticks(places, [key.rpartition(".")[2] for key in keys])
    axes.set_yticks(places, keys)
    axes.set_title("correlation", fontsize=label_size())
