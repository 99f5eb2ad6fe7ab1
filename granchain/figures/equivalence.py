"""Which law stands in for another one, and what is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from granchain.errors import GranchainError
from granchain.figures.frame import (
    LETTER,
    figure_of,
    given_panels,
    palette,
    row_under_heading,
    small_type,
    styled,
    write_heading,
)
from granchain.figures.studies import make_log

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from granchain.studies.equivalent import Equivalent

# What is compared, in words.
COMPARED_QUANTITIES = {
    "peaks": "peaks of the first pulse",
    "arrivals": "arrivals of the first pulse",
    "traces": "whole traces",
}


@styled
def equivalence(
    found: Sequence[Equivalent], ax: Sequence[Axes] | None = None
) -> tuple[Figure, np.ndarray]:
    """The ranking of laws that stand in for another one, how the residual goes with the free input,
    and what is left bead by bead.

    Parameters
    ----------
    found : sequence of Equivalent
        As `granchain.equivalent` gives them; of those that have an answer as many are drawn as
        there are colours.
    ax : sequence of Axes, optional
        Of matplotlib, one a panel, to draw into: the heading is then left to their figure.

    Returns
    -------
    Figure, array of Axes
        Ranking; residual over the free input, where it is one; bead by bead.
    """
    drawn = [one for one in found if one.inputs][: len(palette())]
    if not drawn:
        raise GranchainError(
            "figure: got no law with an answer, allowed one at least; see the messages of each"
        )
    first = drawn[0]
    one_free = len(first.free) == 1
    count = 3 if one_free else 2
    if ax is None:
        figure, top, panels = row_under_heading(
            10.2 if one_free else 7.6, max(3.4, 2.0 + 0.28 * len(drawn)), [1.0] * count
        )
    else:
        panels = given_panels(ax, count)
        figure = figure_of(panels[0])
    ranking, beads = panels[0], panels[-1]
    places = np.arange(len(drawn))[::-1]
    colours = palette()[: len(drawn)]
    ranking.barh(places, [100.0 * one.residual for one in drawn], color=colours, height=0.6)
    ranking.set_yticks(places, [f"{one.rank}. {one.law}" for one in drawn])
    for place, one in zip(places, drawn, strict=True):
        values = ", ".join(f"{value:.3g}" for value in one.inputs.values()) + (
            " (at an end)" if one.at_bound else ""
        )
        ranking.annotate(
            values,
            (100.0 * one.residual, place),
            (3.0, 0.0),
            textcoords="offset points",
            va="center",
            fontsize=7,
        )
    ranking.set_xlim(0.0, 1.35 * max(100.0 * one.residual for one in drawn))
    ranking.set_xlabel(f"residual (%), with {', '.join(first.free)}")
    if one_free:
        over = panels[1]
        for one, colour in zip(drawn, colours, strict=True):
            over.plot(
                one.grid[:, 0],
                100.0 * one.grid_residual,
                color=colour,
                linewidth=1.1,
                label=one.law,
            )
            over.plot(
                list(one.inputs.values()),
                [100.0 * one.residual],
                "|",
                color=colour,
                markersize=10,
                markeredgewidth=1.5,
            )
        make_log(over, "y", 100.0 * np.concatenate([one.grid_residual for one in drawn]))
        over.set_xlabel(next(iter(first.free)))
        over.set_ylabel("residual (%)")
    beads.axhline(0.0, color="#b0b0b0", linewidth=0.5, zorder=0)
    # The later the thinner: laws that tie lie on each other, and none shall hide another.
    for one, colour, width in zip(drawn, colours, np.linspace(2.2, 1.0, len(drawn)), strict=True):
        beads.plot(
            one.sensor_bead, 100.0 * one.per_bead, color=colour, linewidth=width, label=one.law
        )
    beads.set_xlabel("bead")
    beads.set_ylabel(
        "norm of the difference (%)" if first.measure == "traces" else "difference (%)"
    )
    beads.legend(loc="best", fontsize=7)
    parts = [
        "simulated",
        f"by the {COMPARED_QUANTITIES[first.measure]} at {len(first.sensor_bead)} sensors",
    ]
    if len(drawn) < len(found):
        parts.append(f"{len(drawn)} of {len(found)} laws shown")
    if ax is None:
        # names of laws push the axes to the right
        longest = max(len(one.law) for one in drawn) + 3
        write_heading(
            top,
            f"What stands in for {first.to}",
            parts,
            indent=16.0 + LETTER * small_type() * longest,
        )
    return figure, panels
