"""Figures of periodic orbits: trajectory with Floquet multipliers, and branches with the points at
which they lose stability."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

import numpy as np

from granchain.errors import CaseError
from granchain.figures.frame import (
    Axes,
    Figure,
    Sheet,
    largest,
    look,
    palette,
    reading_unit,
    scaled,
    styled,
)
from granchain.store import Result

if TYPE_CHECKING:
    from granchain.orbits.continuation import Branch
    from granchain.orbits.orbit import Orbit

# Periods of a Poincaré section that is computed from a multiplier.
SECTION = 40


@styled
def orbit(
    found: Orbit, passed: Result | None = None, ax: Sequence[Axes] | None = None
) -> tuple[Figure, np.ndarray]:
    """Plot an orbit, a Poincaré section, and the Floquet multipliers.

    The orbit is velocity versus displacement, with a dot at zero drive phase. The section is of the
    bead that moves most. The multipliers are plotted with the unit circle of stability.

    Parameters
    ----------
    found : Orbit
        Result of `granchain.orbit`.
    passed : Result, optional
        A run that starts at phase 0 of the drive, for example near the orbit. The section shows its
        states after each period. By default the section shows a small perturbation along the vector
        of the first multiplier, which that multiplier changes in each period.
    ax : sequence of Axes, optional
        Three Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, array of Axes (3,)
        Velocity versus displacement of three beads, the section, and the multipliers.
    """
    sheet = Sheet(ax, 12.0, 4.4, columns=[1.2, 1.0, 1.0], rows=[1.0])
    plane, section, circle = sheet.panels
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
    plane.set(xlabel=f"displacement [{length}]", ylabel=f"velocity [{speed}]")
    plane.margins(0.05)
    plane.legend(loc="best")
    _section(found, passed, section)
    angle = np.linspace(0.0, 2.0 * np.pi, 361)
    circle.plot(np.cos(angle), np.sin(angle), color="0.5", linewidth=0.8)
    inside = np.abs(found.multipliers) <= 1.0 + found.modulus_error
    for which, mark, colour, words in (
        (inside, "o", palette()[0], "modulus up to 1"),
        (~inside, "D", palette()[1], "modulus above 1"),
    ):
        if which.any():
            z = found.multipliers[which]
            circle.plot(z.real, z.imag, mark, color=colour, markersize=4, label=words)
    circle.margins(0.05)
    circle.set(
        xlabel="real part of multiplier", ylabel="imaginary part of multiplier", aspect="equal"
    )
    if not inside.all():
        circle.legend(loc="center")
    state = "stable" if found.stable else "unstable"
    period, unit = scaled(found.period, "s")
    return sheet.write(
        f"Orbit: {found.title or 'untitled case'}",
        "simulated",
        f"contact law {found.law}",
        f"period {found.period * period:.4g} {unit}",
        f"{state}, largest modulus {abs(found.largest_multiplier):.4g}",
    )


def _section(found: Orbit, passed: Result | None, ax: Axes) -> None:
    """Plot the states after each period of the bead that moves most."""
    own = found.result
    at, n = int(np.abs(own.displacement).max(axis=0).argmax()), found.displacement.size
    start = np.array([found.displacement[at], found.velocity[at]])
    if passed is None and not found.multipliers.size:
        points, words = start[np.newaxis], "small perturbation"
    elif passed is None:
        first, vector = found.multipliers[0], found.vectors[0][[at, n + at]]
        around = (first ** np.arange(SECTION))[:, None] * vector
        size = 0.1 * np.abs(own.displacement[:, at]).max() / np.abs(around[:, 0]).max()
        points, words = start + size * around.real, "small perturbation"
    else:
        instants = np.arange(0.0, float(passed.snapshot_time[-1]), found.period)
        points = np.column_stack([
            np.interp(instants, passed.snapshot_time, one[:, at])
            for one in (passed.displacement, passed.velocity)
        ])  # fmt: skip
        words = "run"
    by, length = scaled(float(np.abs([*points[:, 0], start[0]]).max()), "m")
    times, speed = scaled(float(np.abs([*points[:, 1], start[1]]).max()), "m/s")
    ax.plot(by * points[:, 0], times * points[:, 1], ".-", color=palette()[2], linewidth=0.5,
            markersize=5, label=words)  # fmt: skip
    ax.plot(by * start[0], times * start[1], "o", color=palette()[1], label="orbit")
    ax.set(xlabel=f"displacement of bead {found.bead[at]} [{length}]", ylabel=f"velocity [{speed}]")
    ax.ticklabel_format(useOffset=False)
    ax.margins(0.1)
    ax.legend(loc="best")


# Markers of the special points of a branch.
MARKS = {
    "fold": "s", "period doubling": "D", "Neimark-Sacker": "o", "pitchfork": "^",
    "branch point": "v", "grazing": "|", "growing dent": "x",
    "energy extremum": "P", "Krein collision": "*",
}  # fmt: skip


@styled
def bifurcation(
    branch: Branch, bead: int | None = None, ax: Axes | None = None
) -> tuple[Figure, Axes]:
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
        Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, Axes
    """
    points, labels = branch.points, branch.bead.tolist()
    if bead is not None and bead not in labels:
        raise CaseError(
            f"bead: {bead} is out of range. It must be {labels[0]} to {labels[-1]}. Omit it "
            "for the largest displacement."
        )
    sheet = Sheet(ax, 6.4, 4.4)
    excursion = np.array([one.excursion[: len(labels)] for one in points])
    y = excursion.max(axis=1) if bead is None else excursion[:, labels.index(bead)]
    x = np.array([one.parameter for one in points])
    whose = "any bead" if bead is None else f"bead {bead}"
    upward, measure = f"largest displacement of {whose}", "m"
    if bead is None and not branch.case.drives and branch.along != "period":
        y, upward, measure = 1.0 / np.array([one.period for one in points]), "frequency", "Hz"
    (across, unit), (up, length) = reading_unit(largest(x), branch.unit), scaled(y.max(), measure)
    x, y = across * x, up * y
    # A special point lies between two orbits, and has the line style of its neighbour.
    kinds = [(b if b.kind == "orbit" else a).stable for a, b in pairwise(points)]
    for stable, places in groupby(range(len(kinds)), kinds.__getitem__):
        those = list(places)
        at = slice(those[0], those[-1] + 2)
        line = "-" if stable else (0, (4, 2))
        sheet.top.plot(x[at], y[at], color=palette()[0], linestyle=line)
    for kind, mark in MARKS.items():
        named = [i for i, one in enumerate(points) if one.kind == kind]
        if named:
            colour = palette()[1 + list(MARKS).index(kind) % (len(palette()) - 1)]
            sheet.top.plot(x[named], y[named], mark, color=colour, markersize=6, label=kind)
            error = across * np.array([points[i].parameter_error for i in named])
            sheet.top.errorbar(x[named], y[named], xerr=error, fmt="none", ecolor=colour)
    if branch.special:
        sheet.top.legend(loc="best")
    xlabel = branch.along + (f" [{unit}]" if unit else "")
    sheet.top.set(xlabel=xlabel, ylabel=f"{upward} [{length}]")
    sheet.top.margins(0.05)
    return sheet.write(
        f"Periodic orbits: {branch.title or 'untitled case'}",
        "simulated",
        f"contact law {branch.law}",
        "solid: stable, dashed: unstable",
    )
