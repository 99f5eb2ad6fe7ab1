"""Modes of a finite chain: shapes over frequency, and how many beads take part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from granchain.figures.frame import Sheet, palette, styled
from granchain.waves.modes import Modes

if TYPE_CHECKING:
    from granchain.figures.frame import Axes, Figure


@styled
def mode_shapes(found: Modes, ax: Sequence[Axes] | None = None) -> tuple[Figure, np.ndarray]:
    """Shapes of the modes over frequency, beside how many beads take part in each.

    Parameters
    ----------
    found : Modes
        As `granchain.modes` gives it.
    ax : sequence of Axes, optional
        Of matplotlib, two, to draw into: the heading is then left to their figure.

    Returns
    -------
    Figure, array of Axes (2,)
        Participation over frequency, and the shapes.
    """
    sheet = Sheet(ax, 7.0, 6.4, [1.0, 2.2])
    parts, shapes = sheet.panels
    gap = np.zeros(found.frequencies.size, bool) if found.in_gap is None else found.in_gap
    kilo = 1e-3 * found.frequencies
    parts.plot(kilo[~gap], found.participation[~gap], "o", color=palette()[0], markersize=4)
    if gap.any():
        parts.plot(
            kilo[gap], found.participation[gap], "D", color=palette()[1], markersize=5,
            label="outside the bands",
        )  # fmt: skip
        parts.legend(loc="best")
    parts.set(
        xlim=(0.0, 1.04 * kilo.max()),
        ylim=(0.0, None),
        ylabel="beads that take part",
        xlabel="frequency [kHz]",
    )
    count = np.arange(1, found.frequencies.size + 1)
    # resonators behind the beads
    edges = found.bead[0] - 0.5 + np.arange(found.shapes.shape[1] + 1)
    mesh = shapes.pcolormesh(
        edges, np.append(count - 0.5, count[-1] + 0.5), found.shapes, cmap="RdBu_r", vmin=-1, vmax=1
    )
    shapes.set(xlabel="bead", ylabel="mode")
    if found.resonator_bead.size:
        shapes.axvline(found.bead[-1] + 0.5, color="black", linewidth=0.9)
        shapes.set(xlabel="bead, and behind the line the resonators")
    shapes.figure.colorbar(mesh, ax=shapes, label="displacement, largest 1", aspect=30)
    title = f"Modes: {found.title or 'untitled case'}"
    return sheet.write(title, "computed at rest", f"contact law {found.law}")
