"""Periodic orbits: a trajectory and its Floquet multipliers, and a branch of orbits with where they
lose stability."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

import numpy as np

from granchain.errors import CaseError
from granchain.figures.frame import Sheet, look, palette, scaled, styled
from granchain.studies.continuation import Branch
from granchain.studies.orbit import Orbit

if TYPE_CHECKING:
    from granchain.figures.frame import Axes, Figure


@styled
def orbit(found: Orbit, ax: Sequence[Axes] | None = None) -> tuple[Figure, np.ndarray]:
    """An orbit in the plane of displacement and velocity, a dot at the drive's phase 0, and its
    multipliers beside the circle within which it is stable.

    Parameters
    ----------
    found : Orbit
        As `granchain.orbit` gives it.
    ax : sequence of Axes, optional
        Of matplotlib, two, to draw into: the heading is then left to their figure.

    Returns
    -------
    Figure, array of Axes (2,)
        Velocity over displacement of three beads, and the multipliers.
    """
    sheet = Sheet(ax, 9.0, 4.4, columns=[1.2, 1.0], rows=[1.0])
    plane, circle = sheet.panels
    n = found.bead.size
    places = sorted({0, n // 2, n - 1})
    u, v = found.result.displacement, found.result.velocity
    by, length = scaled(float(np.abs(u[:, places]).max()), "m")
    times, speed = scaled(float(np.abs(v[:, places]).max()), "m/s")
    for i, place in enumerate(places):
        plane.plot(
            by * u[:, place], times * v[:, place], label=f"bead {found.bead[place]}", **look(i)
        )
        plane.plot(by * u[0, place], times * v[0, place], "o", color=look(i)["color"], markersize=4)
    plane.set(xlabel=f"displacement ({length})", ylabel=f"velocity ({speed})")
    plane.margins(0.05)
    plane.legend(loc="best")
    angle = np.linspace(0.0, 2.0 * np.pi, 361)
    circle.plot(np.cos(angle), np.sin(angle), color="0.5", linewidth=0.8)
    inside = np.abs(found.multipliers) <= 1.0 + found.modulus_error
    for which, mark, colour, words in (
        (inside, "o", palette()[0], "within 1"),
        (~inside, "D", palette()[1], "beyond 1"),
    ):
        if which.any():
            z = found.multipliers[which]
            circle.plot(z.real, z.imag, mark, color=colour, markersize=4, label=words)
    circle.margins(0.05)
    circle.set(xlabel="multiplier, real part", ylabel="imaginary part", aspect="equal")
    if not inside.all():
        circle.legend(loc="center")
    state = "stable" if found.stable else "unstable"
    period, unit = scaled(found.period, "s")
    return sheet.write(
        f"Orbit: {found.title or 'untitled case'}",
        "simulated",
        f"contact law {found.law}",
        f"period {found.period * period:.4g} {unit}",
        f"{state}, largest modulus {abs(found.multipliers[0]):.4g}",
    )


# How the points of a branch are marked that have a name.
MARKS = {
    "fold": "s", "period doubling": "D", "Neimark-Sacker": "o", "pitchfork": "^",
    "branch point": "v", "grazing": "|", "growing dent": "x",
}  # fmt: skip


@styled
def bifurcation(
    branch: Branch, bead: int | None = None, ax: Axes | None = None
) -> tuple[Figure, Axes]:
    """A branch of orbits over what was varied: stable ones solid, unstable ones dashed, and the
    points that have a name.

    Parameters
    ----------
    branch : Branch
        As `granchain.continuation` gives it.
    bead : int, optional
        Whose largest displacement is drawn; without, the largest of all beads.
    ax : Axes, optional
        Of matplotlib, to draw into: the heading is then left to its figure.

    Returns
    -------
    Figure, Axes
    """
    points, labels = branch.points, branch.points[0].orbit.bead.tolist()
    if bead is not None and bead not in labels:
        raise CaseError(
            f"bead: got {bead}, allowed {labels[0]} to {labels[-1]}; leave it out for the largest"
        )
    sheet = Sheet(ax, 6.4, 4.4)
    excursion = np.array([one.excursion[: len(labels)] for one in points])
    y = excursion.max(axis=1) if bead is None else excursion[:, labels.index(bead)]
    x = np.array([one.parameter for one in points])
    (across, unit), (up, length) = scaled(np.abs(x).max(), branch.unit), scaled(y.max(), "m")
    if np.abs(x).max() > 1e3:
        across, unit = 1e-3, f"k{branch.unit}"
    x, y = across * x, up * y
    # what has a name lies between two orbits, and takes its line from the one beside it
    kinds = [(b if b.kind == "orbit" else a).stable for a, b in pairwise(points)]
    for stable, places in groupby(range(len(kinds)), kinds.__getitem__):
        those = list(places)
        at = slice(those[0], those[-1] + 2)
        line = "-" if stable else (0, (4, 2))
        sheet.top.plot(x[at], y[at], color=palette()[0], linestyle=line)
    for kind, mark in MARKS.items():
        named = [i for i, one in enumerate(points) if one.kind == kind]
        if named:
            colour = palette()[(1 + list(MARKS).index(kind)) % len(palette())]
            sheet.top.plot(x[named], y[named], mark, color=colour, markersize=6, label=kind)
    if branch.special:
        sheet.top.legend(loc="best")
    whose = "a bead" if bead is None else f"bead {bead}"
    sheet.top.set(
        xlabel=f"{branch.along} ({unit})", ylabel=f"largest displacement of {whose} ({length})"
    )
    sheet.top.margins(0.05)
    return sheet.write(
        f"Orbits: {branch.case.title or 'untitled case'}",
        "simulated",
        f"contact law {branch.case.contact.law}",
        "stable solid, unstable dashed",
    )
