"""Which law stands in for another one, and what is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from granchain.errors import GranchainError
from granchain.figures.frame import (
    LETTER,
    make_log,
    palette,
    set_panel,
    side_by_side,
    small_type,
    styled,
)

if TYPE_CHECKING:
    from granchain.figures.frame import Axes, Figure
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
    height = max(3.4, 2.0 + 0.28 * len(drawn))
    widths = [1.0] * (3 if one_free else 2)
    sheet = side_by_side(ax, 10.2 if one_free else 7.6, height, widths)
    ranking, *over, beads = sheet.panels
    places, residuals = np.arange(len(drawn))[::-1], [100.0 * one.residual for one in drawn]
    ranking.barh(places, residuals, color=palette()[: len(drawn)], height=0.6)
    ranking.set_yticks(places, [f"{one.rank}. {one.law}" for one in drawn])
    # The later the thinner: laws that tie lie on each other, and none shall hide another.
    widths = np.linspace(2.2, 1.0, len(drawn)).tolist()
    for one, place, colour, width in zip(drawn, places, palette(), widths, strict=False):
        percent = 100.0 * one.residual
        values = ", ".join(f"{value:.3g}" for value in one.inputs.values())
        words = values + (" (at an end)" if one.at_bound else "")
        end = {"xytext": (3.0, 0.0), "textcoords": "offset points", "va": "center"}
        ranking.annotate(words, (percent, place), fontsize=7, **end)
        beads.plot(
            one.sensor_bead, 100.0 * one.per_bead, color=colour, linewidth=width, label=one.law
        )
        for axes in over:
            curve = one.grid[:, 0], 100.0 * one.grid_residual
            axes.plot(*curve, color=colour, linewidth=1.1, label=one.law)
            mark = list(one.inputs.values()), [percent]
            axes.plot(*mark, "|", color=colour, markersize=10, markeredgewidth=1.5)
    label = f"residual (%), with {', '.join(first.free)}"
    ranking.set(xlim=(0.0, 1.35 * max(residuals)), xlabel=label)
    for axes in over:
        make_log(axes, "y", 100.0 * np.concatenate([one.grid_residual for one in drawn]))
        axes.set(xlabel=next(iter(first.free)), ylabel="residual (%)")
    of_traces = "norm of the difference (%)" if first.measure == "traces" else "difference (%)"
    set_panel(beads, zero=True, xlabel="bead", ylabel=of_traces)
    beads.legend(loc="best", fontsize=7)
    by = f"by the {COMPARED_QUANTITIES[first.measure]} at {len(first.sensor_bead)} sensors"
    hidden = len(drawn) < len(found)
    more = f"{len(drawn)} of {len(found)} laws shown" if hidden else ""
    # names of laws push the axes to the right
    indent = 16.0 + LETTER * small_type() * (max(len(one.law) for one in drawn) + 3)
    return sheet.write(f"What stands in for {first.to}", "simulated", by, more, indent=indent)
