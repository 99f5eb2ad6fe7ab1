"""Small waves in a row of equal cells: frequency over wavenumber; modes of a finite chain: shapes
over frequency, and how many beads take part."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from granchain.figures.frame import (
    Axes,
    Figure,
    Sheet,
    need_found,
    palette,
    set_panel,
    styled,
)
from granchain.theory.lattice import Dispersion
from granchain.waves.modes import Modes

# Points of a curve from the middle of the zone to its edge.
CURVE_POINTS = 201


@styled
def dispersion_curves(found: Dispersion, ax: Axes | None = None) -> tuple[Figure, Axes]:
    """Frequency over the wavenumber of small waves, and the gaps between their bands.

    Parameters
    ----------
    found : Dispersion
        As `granchain.dispersion` gives it.
    ax : Axes, optional
        Of matplotlib, to draw into: the heading is then left to its figure.

    Returns
    -------
    Figure, Axes
    """
    need_found(found, Dispersion, "dispersion(case)")
    sheet = Sheet(ax, 6.0, 4.6)
    axes, top = sheet.top, float(found.band_edges[-1, 1])
    per, unit = (1e-3, "kHz") if top >= 1e3 else (1.0, "Hz")
    for i, (low, high) in enumerate(per * found.gaps):
        axes.axhspan(
            low, high, color="#000000", alpha=0.08, linewidth=0.0, label="_gap" if i else "gap"
        )
    q = np.linspace(0.0, math.pi, CURVE_POINTS)
    axes.plot(q / math.pi, per * found.frequency(q), color=palette()[0])
    set_panel(
        axes,
        xlim=(0.0, 1.0),
        ylim=(0.0, 1.04 * per * top),
        xlabel="wavenumber [\N{GREEK SMALL LETTER PI} rad per cell]",
        ylabel=f"frequency [{unit}]",
    )
    if len(found.gaps):
        sheet.legend(axes)
    count, length = found.masses.size, found.length
    return sheet.write(
        "Small waves in a row of equal cells",
        "computed at rest",
        f"a cell of {count} bead{'s' * (count > 1)}",
        "" if length is None else f"long waves {length * found.long_wave_speed:.5g} m/s",
    )


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
    need_found(found, Modes, "modes(case)")
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
        ylim=(0.0, 1.08 * found.participation.max()),
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
