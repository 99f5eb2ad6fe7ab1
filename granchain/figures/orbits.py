"""Figures of periodic orbits: trajectory with Floquet multipliers, and branches with the points at
which they lose stability."""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rcParams
from matplotlib.figure import Figure

from granchain.errors import CaseError
from granchain.figures.style import (
    SHEET,
    Panels,
    label_axis,
    named_laws,
    quantity,
    styled,
    write_label,
)

if TYPE_CHECKING:
    from granchain.orbits.continuation import Branch
    from granchain.orbits.orbit import Orbit

# Periods of a Poincaré section that is computed from a multiplier.
SECTION = 40
# Largest modulus of a multiplier that is drawn; matplotlib cannot scale axes to larger ones.
LARGEST_MODULUS = 1e300
# Markers of the special points of a branch.
MARKS = {
    "fold": "s", "period doubling": "D", "Neimark-Sacker": "o", "pitchfork": "^",
    "branch point": "v", "grazing": "|", "growing dent": "x",
    "energy extremum": "P", "Krein collision": "*",
}  # fmt: skip


@styled
def orbit(orbit: Orbit, *, ax: Any = None, style: Any = SHEET) -> Figure:
    """Plot an orbit, a Poincaré section, and the Floquet multipliers.

    The orbit is velocity versus displacement, with a dot at zero drive phase. The section is of the
    bead that moves most: it shows how a small perturbation along the vector of the first multiplier
    changes in each period. The multipliers are plotted with the unit circle of stability.

    Parameters
    ----------
    orbit : Orbit
        Result of `granchain.orbit`.
    ax : sequence of Axes, optional
        Three Matplotlib axes to draw into: velocity versus displacement of three beads, the
        section, and the multipliers.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    Figure
    """
    panels = Panels(ax, 2, 2, count=3, tall=1.4)
    plane, section, circle = panels.axes
    n = orbit.bead.size
    places = sorted({0, n // 2, n - 1})
    u, v = orbit.result.displacement, orbit.result.velocity
    for index, dashes in zip(places, ("-", "--", ":"), strict=False):
        (line,) = plane.plot(u[:, index], v[:, index], label=f"bead {orbit.bead[index]}")
        line.set(linestyle=dashes, color=plane.get_lines()[0].get_color())
        plane.plot(u[:1, index], v[:1, index], "o", color=line.get_color(), label="_phase")
    label_axis(plane.xaxis, "displacement", "m")
    label_axis(plane.yaxis, "velocity", "m/s")
    _section(orbit, section)
    angle = np.linspace(0.0, 2.0 * np.pi, 361)
    frame = circle.spines["bottom"].get_edgecolor()
    circle.plot(np.cos(angle), np.sin(angle), color=frame, label="_unit circle")
    modulus = np.abs(orbit.multipliers)
    inside = modulus <= 1.0 + orbit.modulus_error
    outside = ~inside & (modulus < LARGEST_MODULUS)
    colour, size = None, 0.7 * rcParams["lines.markersize"]
    for which, mark, label in ((inside, "o", "_inside"), (outside, "D", "modulus above 1")):
        if which.any():
            z = orbit.multipliers[which]
            (line,) = circle.plot(z.real, z.imag, mark, color=colour, markersize=size, label=label)
            colour = line.get_color()
    write_label(circle.xaxis, "real part of multiplier")
    write_label(circle.yaxis, "imaginary part of multiplier")
    circle.set_aspect("equal", adjustable="datalim")
    panels.legend()
    state = "stable" if orbit.stable else "unstable"
    return panels.finish(
        f"Orbit: {orbit.title or 'untitled case'}",
        named_laws([orbit.law]),
        f"period {quantity(orbit.period, 's')}",
        f"{state}, largest modulus {abs(orbit.largest_multiplier):.4g}",
    )


def _section(orbit: Orbit, axes: Any) -> None:
    """Plot the states after each period of the bead that moves most."""
    excursion = np.abs(orbit.result.displacement).max(axis=0)
    at, n = int(excursion.argmax()), orbit.displacement.size
    start = np.array([orbit.displacement[at], orbit.velocity[at]])
    points = start[np.newaxis]
    if orbit.multipliers.size:
        first, vector = orbit.multipliers[0], orbit.vectors[0][[at, n + at]]
        around = (first ** np.arange(SECTION))[:, None] * vector
        size = 0.1 * excursion[at] / np.abs(around[:, 0]).max()
        points = start + size * around.real
    width = 0.5 * rcParams["lines.linewidth"]
    (line,) = axes.plot(*points.T, ".-", linewidth=width, label="perturbation in each period")
    axes.plot(
        *start, "s", color=line.get_color(), markerfacecolor="none", label=f"bead {orbit.bead[at]}"
    )
    axes.margins(0.1)
    label_axis(axes.xaxis, "displacement", "m")
    label_axis(axes.yaxis, "velocity", "m/s")


@styled
def bifurcation(
    branch: Branch, bead: int | None = None, *, ax: Any = None, style: Any = SHEET
) -> Figure:
    """Plot a branch of periodic orbits versus the varied parameter.

    Lines are solid for stable and dashed for unstable orbits. Special points have error bars of the
    discretization error.

    Parameters
    ----------
    branch : Branch
        Result of `granchain.continuation`.
    bead : int, optional
        Bead whose largest displacement is plotted. By default the largest of all beads is used, and
        for a family of breathers the frequency.
    ax : Axes, optional
        Matplotlib axes to draw into.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    Figure
    """
    points, labels = branch.points, branch.bead.tolist()
    if bead is not None and bead not in labels:
        raise CaseError(
            f"bead: {bead} is out of range. It must be {labels[0]} to {labels[-1]}. Omit it "
            "for the largest displacement."
        )
    panels = Panels(ax)
    axes = panels.first
    excursion = np.array([point.excursion[: len(labels)] for point in points])
    y = excursion.max(axis=1) if bead is None else excursion[:, labels.index(bead)]
    x = np.array([point.parameter for point in points])
    upward, unit = f"largest displacement of {'any bead' if bead is None else f'bead {bead}'}", "m"
    if bead is None and not branch.case.drives and branch.along != "period":
        y, upward, unit = 1.0 / np.array([point.period for point in points]), "frequency", "Hz"
    # A special point lies between two orbits, and has the line style of its neighbour.
    stabilities = [(b if b.kind == "orbit" else a).stable for a, b in pairwise(points)]
    colour = None
    for stable, group in groupby(range(len(stabilities)), stabilities.__getitem__):
        places = list(group)
        at = slice(places[0], places[-1] + 2)
        (line,) = axes.plot(x[at], y[at], color=colour, linestyle="-" if stable else "--")
        colour = line.get_color()
    for kind, mark in MARKS.items():
        named = [i for i, point in enumerate(points) if point.kind == kind]
        if named:
            error = [points[i].parameter_error for i in named]
            axes.errorbar(x[named], y[named], xerr=error, fmt=mark, color=colour, label=kind)
    axes.margins(0.05)
    label_axis(axes.xaxis, branch.along, branch.unit)
    label_axis(axes.yaxis, upward, unit)
    panels.legend()
    return panels.finish(
        f"Periodic orbits: {branch.title or 'untitled case'}",
        named_laws([branch.law]),
        "solid: stable, dashed: unstable",
    )
