"""What was fitted to a measurement, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from granchain.figures.frame import BLACK, largest, palette, side_by_side, styled, time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from granchain.studies.fit import Fit

FORCES = ("time", "measured", "computed")


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
    sheet = side_by_side(ax, 9.6, 4.1, [1.3, 1.1, 0.9])
    values, left, matrix = sheet.panels
    beads = [one.bead for one in found.sensors]
    by_time = found.measure == "arrivals"
    pairs = [one.arrival if by_time else one.peak for one in found.sensors]
    measured, computed, error = (
        np.array([getattr(pair, name) for pair in pairs])
        for name in ("measured", "computed", "uncertainty")
    )
    factor, unit = time_unit(largest(measured)) if by_time else (1.0, "N")
    ring: dict[str, Any] = {"fmt": "o", "markerfacecolor": "none", "markersize": 4.0}
    ring |= {"markeredgewidth": 0.8, "elinewidth": 0.8, "capsize": 2.0, "color": BLACK}
    deviations = 2.0 * factor * error
    values.errorbar(
        beads, factor * measured, deviations, label="measured, +- two deviations", **ring
    )
    values.plot(beads, factor * computed, color=palette()[0], label="fitted")
    quantity = "arrival" if by_time else "peak"
    values.set(xlabel="bead", ylabel=f"{quantity} of the first pulse ({unit})")
    values.legend(loc="best", fontsize=7)
    if found.samples:
        _samples_left(left, found.samples)
    else:
        left.axhspan(-2.0, 2.0, color="#e4e4e4", linewidth=0.0, zorder=0)
        left.axhline(0.0, color="#b0b0b0", linewidth=0.5, zorder=1)
        left.plot(beads, found.residuals, "o", color=palette()[0], markersize=4.0)
        left.set(xlabel="bead", ylabel="what is left (standard deviations)")
        most = 1.15 * max(3.0, largest(found.residuals))
        left.set_ylim(-most, most)
    for axes in (values,) if found.samples else (values, left):
        axes.margins(x=0.05)
        axes.locator_params(axis="x", integer=True)
    keys = list(found.values)
    matrix.imshow(np.abs(np.nan_to_num(found.correlation)), cmap="Blues", vmin=0.0, vmax=1.0)
    for (i, j), value in np.ndenumerate(found.correlation):
        words = f"{value:+.2f}" if math.isfinite(value) else "not told"
        colour = "white" if abs(value) > 0.6 else BLACK
        matrix.annotate(words, (j, i), ha="center", va="center", fontsize=7, color=colour)
    matrix.set_xticks(range(len(keys)), [key.rpartition(".")[2] for key in keys])
    matrix.set_yticks(range(len(keys)), keys)
    matrix.set_title("correlation", fontsize="medium")
    synthetic = found.trace.synthetic
    parts = ["SYNTHETIC TRACE, no experiment" if synthetic else found.trace.words]
    parts.append(f"fitted to {found.measure}")
    for key, number in found.values.items():
        sure = f"{number:.4g} +- {found.errors[key]:.2g}"
        known = math.isfinite(found.errors[key])
        parts.append(f"{key} {sure if known else f'{number:.4g}, not told'}")
    sheet.write(found.trace.about.title or "untitled trace", *parts, failed=synthetic)
    return sheet.figure, sheet.panels


def _samples_left(axes: Axes, samples: Sequence[Mapping[str, Any]]) -> None:
    """Measured less fitted samples of every sensor, one above the other, over the time about the
    fitted peak: noise has no shape, and what the case lacks has."""
    parts = [{key: np.asarray(one[key], dtype=float) for key in FORCES} for one in samples]
    left = [100.0 * (one["measured"] - one["computed"]) / one["computed"].max() for one in parts]
    times = [one["time"] - one["time"][np.argmax(one["computed"])] for one in parts]
    factor, unit = time_unit(max(largest(one) for one in times))
    apart = 2.2 * max(largest(one) for one in left)
    for k, (time, off) in enumerate(zip(times, left, strict=True)):
        axes.axhline(-k * apart, color="#b0b0b0", linewidth=0.5, zorder=1)
        axes.plot(factor * time, off - k * apart, color=palette()[0], linewidth=0.7)
    axes.set_yticks([-k * apart for k in range(len(left))], [f"{one['bead']}" for one in samples])
    axes.set(xlabel=f"time from the fitted peak ({unit})", ylabel="bead")
    axes.set_ylim(-(len(left) - 0.4) * apart, 0.6 * apart)
    axes.set_title(f"measured less fitted, beads {apart:.2g} % of the peak apart", fontsize="small")
