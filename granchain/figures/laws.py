"""Figures of contact laws: loops of force versus overlap, and restitution versus speed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from granchain.errors import GranchainError
from granchain.figures.studies import study_curves
from granchain.figures.style import (
    SHEET,
    Lines,
    Panels,
    label_axis,
    named_laws,
    styled,
    zero_line,
)

if TYPE_CHECKING:
    from granchain.two_body import ImpactResult

# Style of the mark at the residual overlap.
MARK: dict[str, Any] = {"linestyle": "", "marker": "|", "markersize": 9, "markeredgewidth": 1.6}


def draw_loop(
    lines: Lines,
    axes: Any,
    i: int,
    overlap: np.ndarray,
    force: np.ndarray,
    residual: float,
    **look: Any,
) -> Line2D:
    """Plot the loop of one contact of result i, and return the line of its loading.

    Lines are solid while the overlap grows and dashed otherwise, with a mark at the residual
    overlap. The two share the samples where one changes into the other. Samples of an open contact
    are included only next to a nonzero force.
    """
    grows, closed = np.diff(overlap) > 0.0, force != 0.0
    near = closed | np.append(closed[1:], False) | np.insert(closed[:-1], 0, False)
    loading = near & (np.append(grows, False) | np.insert(grows, 0, False))
    unloading = near & (np.append(~grows, False) | np.insert(~grows, 0, False))
    line = lines.plot(axes, i, overlap, np.where(loading, force, math.nan), **look)
    look["color"] = line.get_color()
    back = {"linestyle": "--", "linewidth": 0.7 * line.get_linewidth(), "label": "_back"}
    axes.plot(overlap, np.where(unloading, force, math.nan), **look, **back)
    if residual != 0.0:
        axes.plot([residual], [0.0], **MARK, **look, clip_on=False, label="_residual")
    return line


def loop_styles(axes: Any, loading: str, unloading: str, residual: bool) -> list[Line2D]:
    """Return the entries of a legend that explain the lines and marks of loops."""
    look = {"color": axes.title.get_color()}
    marks = [Line2D([], [], **look, **MARK, label="residual overlap")] if residual else []
    return [
        Line2D([], [], **look, linestyle="-", label=loading),
        Line2D([], [], **look, linestyle="--", label=unloading),
        *marks,
    ]


@styled
def impact_loops(*impacts: ImpactResult, ax: Any = None, style: Any = SHEET) -> Figure:
    """Plot force versus overlap of impacts.

    Lines are solid for the approach and dashed for the recovery, with a mark at the residual
    overlap. Each law has a colour.

    Parameters
    ----------
    *impacts : ImpactResult
        At least one impact.
    ax : Axes, optional
        Matplotlib axes to draw into.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    Figure
    """
    if not impacts:
        raise GranchainError("impact_loops: no impact. At least one impact is required.")
    panels = Panels(ax)
    axes, lines = panels.first, Lines([impact.law for impact in impacts])
    zero_line(axes)
    handles = []
    for i, (label, impact) in enumerate(zip(impact_labels(impacts), impacts, strict=True)):
        residual = impact.residual_overlap
        handles.append(draw_loop(lines, axes, i, impact.overlap, impact.force, residual))
        handles[-1].set_label(label)
    dented = any(impact.residual_overlap != 0.0 for impact in impacts)
    panels.legend(handles + loop_styles(axes, "approach", "recovery", dented))
    label_axis(axes.xaxis, "overlap", "m")
    label_axis(axes.yaxis, "contact force", "N")
    speeds = {impact.speed for impact in impacts}
    title = "Impact of two bodies" + (f" at {min(speeds):g} m/s" if len(speeds) == 1 else "")
    return panels.finish(title, named_laws(impact.law for impact in impacts))


def impact_labels(impacts: Sequence[ImpactResult]) -> list[str]:
    """Return labels with the law or speed and the restitution of each impact."""
    laws, speeds = {each.law for each in impacts}, {each.speed for each in impacts}
    labels = []
    for each in impacts:
        names = [each.law] if len(laws) > 1 else []
        names += [f"{each.speed:g} m/s"] if len(speeds) > 1 or not names else []
        labels.append(f"{', '.join(names)}: e = {each.restitution:.3f}")
    return labels


@styled
def restitution_against_speed(impacts: Any, *, ax: Any = None, style: Any = SHEET) -> Figure:
    """Plot the restitution of two bodies versus their approach speed, with a line for each law.

    Parameters
    ----------
    impacts : xarray.Dataset
        Result of `granchain.impacts` with at least two speeds.
    ax : Axes, optional
        Matplotlib axes to draw into.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    Figure
    """
    figure = study_curves(
        impacts, "delivered_restitution", "speed", lines="law", ax=ax, style=style
    )
    axes: Any = figure.axes[0] if ax is None else np.ravel(ax)[0]
    axes.set(ylim=(0.0, 1.02), xlabel="approach speed [m/s]", ylabel="restitution")
    return figure
