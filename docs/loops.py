"""Plot the loop of every contact law: force versus overlap in one impact of two steel beads.

The figures are plotted when the documentation is built. This module integrates the functions of a
law in plain Python, because `gc.impact` compiles a loop for each set of functions. A long test
compares the two.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from gallery import palette
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from granchain.contact import laws
from granchain.contact.examples import example_inputs, example_pair
from granchain.contact.law import OPEN, ContactLaw
from granchain.errors import CaseError
from granchain.figures.style import styled
from granchain.two_body import contact_of_two, two_bodies

# Speed of the striker of the steel chain [m/s]: Wang, Liu & Liu 2022, sec. 5.2,
# doi:10.1016/j.ijmecsci.2022.107214.
SPEED = 1.77
# Number of steps in a Hertz impact of this pair and speed, and its upper limit: enough for a figure.
STEPS, MOST = 600, 20000


class Loop(NamedTuple):
    """Overlap [m], rate [m/s], and force [N] at every step of a contact."""

    overlap: np.ndarray
    rate: np.ndarray
    force: np.ndarray

    @property
    def restitution(self) -> float:
        """Final speed divided by initial speed."""
        return float(-self.rate[-1] / self.rate[0])


def loop_of(
    law: type[ContactLaw], speed: float = SPEED, steps: int = STEPS, **changes: object
) -> Loop:
    """Compute an impact of the example pair with a law, from onset to the end of the force.

    Parameters
    ----------
    law : type of ContactLaw
    speed : float
        Approach speed [m/s].
    steps : int
        Number of steps in a Hertz impact.
    **changes
        Inputs that differ from the example inputs.
    """
    pair = example_pair()
    known = (
        {"impact_speed": speed}
        if any(quantity.name == "impact_speed" for quantity in law.inputs)
        else {}
    )
    contacts = contact_of_two(
        law, two_bodies(pair, speed), pair, example_inputs(law, **known, **changes)
    )
    functions, uses_rate = contacts.model.functions, contacts.model.uses_rate
    c, h = (tuple(map(float, table[:, 1])) for table in (contacts.c, contacts.history))
    mass = float(pair.effective_mass)
    # Hertz: 2.943 d_max/v, d_max = (5 m v^2/(4 K))^(2/5); Johnson 1985, Contact Mechanics, sec.
    # 11.4, doi:10.1017/CBO9781139171731
    dt = 2.943 * (1.25 * mass * speed * speed / pair.hertz_stiffness) ** 0.4 / speed / steps
    d, v, acceleration = 0.0, speed, 0.0
    found = [(d, v, 0.0)]
    while len(found) < MOST:
        half = v + 0.5 * dt * acceleration
        d += dt * half
        rate = half + 0.5 * dt * acceleration
        # The second update resets the onset weight, which the figure neglects.
        for _ in range(2):
            if functions.needs_update(d, rate, c, h):
                h = functions.update((d, rate, rate, min(1.0, abs(d / (dt * half)))), c, h)
        force = functions.force(d, rate, c, h)
        acceleration = -force / mass
        v = half + 0.5 * dt * acceleration
        found.append((d, v, force))
        if d <= OPEN or (force == 0.0 and v < 0.0 and not uses_rate):
            break
    return Loop(*map(np.array, zip(*found, strict=True)))


def loops_of(law: type[ContactLaw]) -> dict[str, Loop]:
    """Return the loop of a law.

    Also return the loops with a tensile contact, or without the energy correction, if they differ.
    """
    found = {"": loop_of(law)}
    for word, changes in (
        ("may pull", {"separation": "tensile"}),
        ("as published", {"as_printed": True}),
    ):
        try:
            other = loop_of(law, **changes)
        except CaseError:  # The law has no such input.
            continue
        if (
            other.force.size != found[""].force.size
            or np.abs(other.force - found[""].force).max() > 1e-3 * other.force.max()
        ):
            found[word] = other
    return found


@cache
def reference(cylinders: bool) -> tuple[str, Loop]:
    """Return the name and the loop of the law for comparison: Hertz, or Johnson for cylinders."""
    name = "johnson" if cylinders else "hertz"
    return name, loop_of(laws()[name])


@styled
def picture(law: type[ContactLaw], cylinders: bool) -> Figure:
    """Plot the loop of a law on the grey loop of Hertz, or of Johnson for cylinders."""
    # All labels have the same size, so no layout is computed.
    figure = Figure(figsize=(4.2, 2.9))
    axes = figure.add_axes((0.125, 0.155, 0.855, 0.825))
    grey, colour = "#b4b4b4", palette()[0]
    name, other = reference(cylinders)
    if name != law.name:
        axes.plot(1e6 * other.overlap, other.force, color=grey, linewidth=1.2, label=name, zorder=1)
    loops = loops_of(law)
    for (word, loop), style, width in zip(
        loops.items(), ("-", "--", ":"), (1.8, 1.1, 1.1), strict=False
    ):
        label = f"{law.name}{', ' if word else ''}{word}: e = {loop.restitution:.3f}"
        axes.plot(
            1e6 * loop.overlap,
            loop.force,
            style,
            color=colour,
            linewidth=width,
            label=label,
            zorder=3,
        )
    drawn = list(loops.values())
    if drawn[0].restitution < 0.999:
        for approach in (True, False):
            arrow(axes, drawn[0], approach, colour)
    lowest, highest = (
        min(loop.force.min() for loop in drawn),
        max(loop.force.max() for loop in drawn),
    )
    axes.set_xlim(0.0, 1.06e6 * max(loop.overlap.max() for loop in drawn))
    axes.set_ylim(1.08 * min(lowest, 0.0), 1.3 * highest)
    if lowest < 0.0:
        axes.axhline(0.0, color="#888888", linewidth=0.5, zorder=2)
    axes.set_xlabel("overlap [\N{MICRO SIGN}m]")
    axes.set_ylabel("force [N]")
    axes.legend(
        loc="upper left",
        borderaxespad=0.1,
        frameon=True,
        edgecolor="none",
        facecolor="white",
        framealpha=0.85,
    )
    return figure


def arrow(axes: Axes, loop: Loop, approach: bool, colour: str) -> None:
    """Draw an arrow along a branch, near its middle."""
    top = int(np.argmax(loop.overlap))
    branch = slice(0, top + 1) if approach else slice(top, None)
    overlap, force = 1e6 * loop.overlap[branch], loop.force[branch]
    acts = np.flatnonzero(force > 0.02 * loop.force.max())
    middle = 0.5 * (overlap[acts].min() + overlap[acts].max())
    at = min(max(int(acts[np.argmin(np.abs(overlap[acts] - middle))]), 4), overlap.size - 5)
    style = {"arrowstyle": "-|>", "color": colour, "mutation_scale": 14, "shrinkA": 0, "shrinkB": 0}
    axes.annotate(
        "",
        (overlap[at + 4], force[at + 4]),
        (overlap[at - 4], force[at - 4]),
        arrowprops=style,
        zorder=4,
    )
