"""Figures of impacts of two bodies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from granchain.errors import GranchainError
from granchain.figures.frame import (
    branches,
    framed_loops,
    legend_beside,
    look,
    narrow,
    one_panel,
    palette,
    scaled,
    styled,
    write_heading,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from granchain.two_body import ImpactResult


@styled
def impact_loops(results: Sequence[ImpactResult], ax: Axes | None = None) -> tuple[Figure, Axes]:
    """Force against overlap of impacts, on top of each other: approach full, recovery dashed, the
    residual overlap marked.

    Parameters
    ----------
    results : sequence of ImpactResult
        One to nine.
    ax : Axes, optional
        Of matplotlib, to draw into: the heading is then left to its figure.

    Returns
    -------
    Figure, Axes
    """
    if not 0 < len(results) <= len(palette()):
        raise GranchainError(
            f"impact_loops: got {len(results)} impacts, allowed: 1 to {len(palette())}, which is "
            "as many as there are colours"
        )
    laws, speeds = (
        list(dict.fromkeys(one.law for one in results)),
        sorted({one.speed for one in results}),
    )
    factor, unit = scaled(max(float(one.overlap.max()) for one in results), "m")
    figure, axes = one_panel(ax, 6.4 if len(results) <= 3 else 8.0, 4.4)
    # The later the thinner: a law may load as another does, and none shall hide another.
    widths = np.linspace(2.2 if len(results) > 1 else 1.3, 1.0, len(results))
    for one, colour, width in zip(results, palette(), widths, strict=False):
        words = [one.law] if len(laws) > 1 else []
        words += [f"{one.speed:g} m/s"] if len(speeds) > 1 or not words else []
        approach, recovery = branches(one.overlap, one.force)
        axes.plot(
            factor * one.overlap,
            approach,
            color=colour,
            linewidth=width,
            label=f"{', '.join(words)}: e = {one.restitution:.3f}",
        )
        axes.plot(
            factor * one.overlap, recovery, "--", color=colour, linewidth=1.0, label="_recovery"
        )
        if one.residual_overlap != 0.0:
            mark = [factor * one.residual_overlap], [0.0]
            axes.plot(
                *mark,
                "|",
                color=colour,
                markersize=11,
                markeredgewidth=1.6,
                clip_on=False,
                label="_residual",
            )
    handles = framed_loops(
        axes, unit, "approach", "recovery", any(one.residual_overlap != 0.0 for one in results)
    )
    # A few names find room between the loops.
    if len(results) <= 3 and not narrow():
        axes.legend(handles=handles, loc="best")
    else:
        legend_beside(axes, given=ax is not None, handles=handles)
    if ax is None:
        title = "Impact of two bodies" + (f" at {speeds[0]:g} m/s" if len(speeds) == 1 else "")
        write_heading(axes, title, ["simulated", _laws_of_impacts(laws)])
    return figure, axes


@styled
def restitution_against_speed(
    curves: Mapping[str, Sequence[tuple[float, float]]], ax: Axes | None = None
) -> tuple[Figure, Axes]:
    """Restitution of two bodies over their approach speed, a line a law.

    Parameters
    ----------
    curves : mapping of name to (speed, restitution) pairs
        Two or more speeds each [m/s].
    ax : Axes, optional
        Of matplotlib, to draw into: the heading is then left to its figure.

    Returns
    -------
    Figure, Axes
    """
    figure, axes = _restitutions(curves, ax)
    speeds = [speed for curve in curves.values() for speed, _ in curve]
    if max(speeds) > 5.0 * min(speeds):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlim(min(speeds), max(speeds))
    axes.set_xlabel("approach speed (m/s)")
    axes.set_ylabel("restitution")
    legend_beside(axes, given=ax is not None)
    if ax is None:
        write_heading(
            axes,
            "Restitution of two bodies over their speed",
            ["simulated", _laws_of_impacts(curves)],
        )
    return figure, axes


@styled
def restitution_delivered(
    curves: Mapping[str, Sequence[tuple[float, float]]], speed: float, ax: Axes | None = None
) -> tuple[Figure, Axes]:
    """Delivered restitution of two bodies over the asked one, a line a law, with the diagonal on
    which the two are equal.

    Parameters
    ----------
    curves : mapping of name to (asked, delivered) pairs
        Two or more each.
    speed : float
        Of the impacts [m/s].
    ax : Axes, optional
        Of matplotlib, to draw into: the heading is then left to its figure.

    Returns
    -------
    Figure, Axes
    """
    figure, axes = _restitutions(curves, ax)
    axes.plot(
        [0.0, 1.0], [0.0, 1.0], ":", color="#222222", linewidth=0.9, zorder=0, label="as asked"
    )
    axes.set_xlim(0.0, 1.0)
    axes.set_aspect("equal", anchor="W")
    axes.set_xlabel("asked restitution")
    axes.set_ylabel("delivered restitution")
    legend_beside(axes, given=ax is not None)
    if ax is None:
        write_heading(
            axes, f"Delivered restitution at {speed:g} m/s", ["simulated", _laws_of_impacts(curves)]
        )
    return figure, axes


def _restitutions(
    curves: Mapping[str, Sequence[tuple[float, float]]], ax: Axes | None
) -> tuple[Figure, Axes]:
    """Lines by name over one axis, from 0 to 1."""
    if not curves or min(len(curve) for curve in curves.values()) < 2:
        raise GranchainError(
            "figure: got fewer than two values, allowed two values at least; give more speeds or "
            "restitutions"
        )
    figure, axes = one_panel(ax, 6.4, 5.4 if narrow() else 4.4)
    # The later the thinner: several laws deliver the same, and none shall hide another.
    widths = np.linspace(1.9 if len(curves) > 1 else 1.3, 1.1, len(curves))
    for i, ((name, curve), width) in enumerate(zip(curves.items(), widths, strict=True)):
        x, y = np.array(sorted(curve)).T
        axes.plot(x, y, **look(i), linewidth=width, label=name)
    axes.set_ylim(0.0, 1.02)
    return figure, axes


def _laws_of_impacts(names: Iterable[str]) -> str:
    known = list(names)
    if len(known) > 4:
        return f"{len(known)} contact laws"
    return ("contact law " if len(known) == 1 else "contact laws ") + ", ".join(known)
