"""A periodic orbit: its trajectory, and its Floquet multipliers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from granchain.figures.frame import Sheet, look, palette, scaled, styled
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
