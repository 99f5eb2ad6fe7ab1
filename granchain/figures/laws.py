"""Figures that compare contact laws: impacts of two bodies, and surrogate laws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from granchain import theory
from granchain.errors import GranchainError
from granchain.figures.frame import (
    BLACK,
    LETTER,
    LOG_SPAN,
    Axes,
    Figure,
    Loop,
    Sheet,
    draw_loops,
    largest,
    look,
    make_log,
    named_laws,
    over_time,
    palette,
    refuse_empty,
    scaled,
    set_panel,
    small_type,
    styled,
    time_unit,
)
from granchain.store import Answer

if TYPE_CHECKING:
    from granchain.measured.equivalent import Equivalent
    from granchain.measured.ranking import Ranking
    from granchain.two_body import ImpactResult

# Largest number of impacts whose legend fits between the loops.
FEW = 3
# Height of a legend line at the side of a figure [inch].
LEGEND_ROW = 0.19


@styled
def impact_loops(
    results: ImpactResult | Sequence[ImpactResult], ax: Axes | None = None
) -> tuple[Figure, Axes]:
    """Plot force versus overlap of impacts.

    Lines are solid for the approach and dashed for the recovery, with a mark at the residual
    overlap.

    Parameters
    ----------
    results : ImpactResult or sequence of ImpactResult
        At least one impact.
    ax : Axes, optional
        Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, Axes
    """
    results = in_sequence(results)
    loops = [
        Loop(label, one.overlap, one.force, one.residual_overlap)
        for label, one in zip(impact_labels(results), results, strict=True)
    ]
    sheet = Sheet(ax, 6.4 if len(results) <= FEW else 8.0, legend_height(results))
    handles = draw_loops(sheet.top, loops, "approach", "recovery")
    room = {"loc": "best"} if len(results) <= FEW else None
    sheet.legend(sheet.top, beside=True, inside=room, handles=handles)
    return impact_heading(sheet, results, "Impact of two bodies")


def in_sequence(results: ImpactResult | Sequence[ImpactResult]) -> Sequence[ImpactResult]:
    """Return impacts as a sequence, also if there is only one."""
    return [results] if isinstance(results, Answer) else results


def impact_labels(results: Sequence[ImpactResult]) -> list[str]:
    """Return labels with the law or speed and the restitution of each impact."""
    laws, speeds = {one.law for one in results}, {one.speed for one in results}
    labels = []
    for one in results:
        words = [one.law] if len(laws) > 1 else []
        words += [f"{one.speed:g} m/s"] if len(speeds) > 1 or not words else []
        labels.append(f"{', '.join(words)}: e = {one.restitution:.3f}")
    return labels


def legend_height(results: Sequence[ImpactResult]) -> float:
    """Return the height of a figure with a legend of all impacts at its side [inch]."""
    return max(4.4, 1.6 + LEGEND_ROW * len(results))


def impact_heading(sheet: Sheet, results: Sequence[ImpactResult], title: str) -> tuple[Figure, Any]:
    """Write the heading of a figure of impacts."""
    speeds = {one.speed for one in results}
    title += f" at {min(speeds):g} m/s" if len(speeds) == 1 else ""
    return sheet.write(title, "simulated", named_laws(one.law for one in results))


# Quantities that `impact_history` plots versus time: attribute, label, unit.
HISTORIES = (
    ("overlap", "overlap", "m"),
    ("rate", "rate", "m/s"),
    ("acceleration", "acceleration", "km/s\N{SUPERSCRIPT TWO}"),
    ("force", "contact force", "N"),
    ("elastic_force", "elastic part", "N"),
    ("damping_force", "damping part", "N"),
)


@styled
def impact_history(
    results: ImpactResult | Sequence[ImpactResult], ax: Sequence[Axes] | None = None
) -> tuple[Figure, np.ndarray]:
    """Plot overlap, rate, acceleration, and forces of impacts versus time.

    The forces are the contact force and its elastic and damping parts.

    Parameters
    ----------
    results : ImpactResult or sequence of ImpactResult
        At least one impact.
    ax : sequence of Axes, optional
        Six Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, array of Axes
    """
    results = in_sequence(results)
    refuse_empty(results, "impact")
    rows, columns = [1.0] * (len(HISTORIES) // 3), [1.0] * 3
    height = 5.6 + LEGEND_ROW * (len(results) // 4)
    sheet = Sheet(ax, 9.6, height, rows, columns, head=0.02)
    factor, unit = time_unit(largest(*(one.time for one in results)))
    for axes, (name, words, own) in zip(sheet.panels, HISTORIES, strict=True):
        series = [getattr(one, name) for one in results]
        scale, shown = 1e-3 if own.startswith("k") else 1.0, own
        if own in ("m", "N"):
            # The parts of the force have the unit of the force.
            size = largest(*(one.overlap if own == "m" else one.force for one in results))
            scale, shown = scaled(size, own)
        for label, one, values, line in zip(
            impact_labels(results), results, series, impact_looks(results), strict=True
        ):
            axes.plot(factor * one.time, scale * values, label=label, **line)
        over_time(axes, unit, zero=True, ylabel=f"{words} [{shown}]")
    # One scale for the forces, because the parts add up.
    low, high = np.array([axes.get_ylim() for axes in sheet.panels[3:]]).T
    for axes in sheet.panels[3:]:
        axes.set_ylim(low.min(), high.max())
    lines = [line for line in sheet.panels[0].get_lines() if not line.get_label().startswith("_")]
    sheet.legend(sheet.panels[0], handles=lines)
    return impact_heading(sheet, results, "Impact of two bodies versus time")


@styled
def phase_curve(
    results: ImpactResult | Sequence[ImpactResult], ax: Axes | None = None
) -> tuple[Figure, Axes]:
    """Plot the rate versus the overlap of impacts.

    Curves go from the approach speed to the separation speed.

    Parameters
    ----------
    results : ImpactResult or sequence of ImpactResult
        At least one impact.
    ax : Axes, optional
        Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, Axes
    """
    results = in_sequence(results)
    refuse_empty(results, "impact")
    sheet = Sheet(ax, 6.4 if len(results) <= FEW else 8.0, legend_height(results))
    factor, unit = scaled(largest(*(one.overlap for one in results)), "m")
    for label, one, line in zip(
        impact_labels(results), results, impact_looks(results), strict=True
    ):
        sheet.top.plot(factor * one.overlap, one.rate, label=label, **line)
    set_panel(sheet.top, zero=True, xmargin=0.03, xlabel=f"overlap [{unit}]", ylabel="rate [m/s]")
    sheet.legend(sheet.top, beside=True)
    return impact_heading(sheet, results, "Phase curve of two bodies")


def impact_looks(results: Sequence[ImpactResult]) -> list[dict[str, Any]]:
    """Return colour, dashes, and width of the line of each impact."""
    # Later lines are thinner: the curves of several laws may coincide, and all must be visible.
    widths = np.linspace(1.9 if len(results) > 1 else 1.3, 1.0, len(results))
    return [look(i) | {"linewidth": width} for i, width in enumerate(widths)]


@styled
def restitution_against_speed(
    curves: Mapping[str, Sequence[tuple[float, float]]], ax: Axes | None = None
) -> tuple[Figure, Axes]:
    """Plot the restitution of two bodies versus their approach speed.

    Each law has a line.

    Parameters
    ----------
    curves : mapping of name to (speed, restitution) pairs
        At least two speeds for each law [m/s].
    ax : Axes, optional
        Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, Axes
    """
    sheet = _restitutions(curves, ax)
    speeds = [speed for curve in curves.values() for speed, _ in curve]
    if max(speeds) > LOG_SPAN * min(speeds):
        sheet.top.set_xscale("log")
        sheet.top.xaxis.set_major_formatter("{x:g}")
    limits = min(speeds), max(speeds)
    sheet.top.set(xlim=limits, xlabel="approach speed [m/s]", ylabel="restitution")
    title = "Restitution of two bodies versus speed"
    return sheet.write(title, "simulated", named_laws(curves))


@styled
def restitution_delivered(
    curves: Mapping[str, Sequence[tuple[float, float]]], speed: float, ax: Axes | None = None
) -> tuple[Figure, Axes]:
    """Plot the effective versus the nominal restitution of two bodies.

    Each law has a line, and both are equal on the diagonal.

    Parameters
    ----------
    curves : mapping of name to (nominal, effective) pairs
        At least two pairs for each law.
    speed : float
        Speed of the impacts [m/s].
    ax : Axes, optional
        Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, Axes
    """
    sheet = _restitutions(curves, ax, "effective = nominal")
    sheet.top.set_aspect("equal", anchor="W")
    sheet.top.set(xlim=(0.0, 1.0), xlabel="nominal restitution", ylabel="effective restitution")
    title = f"Effective restitution at {speed:g} m/s"
    return sheet.write(title, "simulated", named_laws(curves))


def _restitutions(
    curves: Mapping[str, Sequence[tuple[float, float]]], ax: Axes | None, diagonal: str = ""
) -> Sheet:
    """Plot a line for each name on axes from 0 to 1, optionally with a diagonal."""
    if not curves or min(len(curve) for curve in curves.values()) < 2:
        raise GranchainError(
            "figure: too few values. At least two values are required. Use more speeds or "
            "nominal restitutions."
        )
    sheet = Sheet(ax, 6.4, 4.4)
    # Later lines are thinner: several laws may give the same curve, and all must be visible.
    widths = np.linspace(1.9 if len(curves) > 1 else 1.3, 1.1, len(curves))
    for i, ((name, curve), width) in enumerate(zip(curves.items(), widths, strict=True)):
        sheet.top.plot(*np.array(sorted(curve)).T, **look(i), linewidth=width, label=name)
    if diagonal:
        line = [0.0, 1.0], [0.0, 1.0], ":"
        sheet.top.plot(*line, color=BLACK, linewidth=0.9, zorder=0, label=diagonal)
    sheet.top.set_ylim(0.0, 1.02)
    sheet.legend(sheet.top, beside=True)
    return sheet


# Usual values of q in Lee and Wang's transition: Autiero et al. 2022, sec. 3.4,
# doi:10.3390/machines10110966.
USUAL_Q = (2.0, 3.0, 4.0)
# Points of an analytic curve: an odd number, so that one is in the middle.
POINTS = 601


@styled
def damping_transition(q: Sequence[float] = USUAL_Q, ax: Axes | None = None) -> tuple[Figure, Axes]:
    """Plot the transition of the dashpot in Lee and Wang's second law.

    The active fraction of the dashpot is plotted versus the overlap for several q (figure 3 of
    Autiero et al. 2022).

    Parameters
    ----------
    q : sequence of float
        Steepness of the rise of the damping [1].
    ax : Axes, optional
        Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, Axes
    """
    refuse_empty(q, "q", "Common values are 2, 3, and 4")
    sheet = Sheet(ax, 6.4, 4.4)
    # Twice the width of the transition, so that its end, a kink, is in the middle.
    overlap = np.linspace(0.0, 2.0, POINTS)[1:]
    for i, one in enumerate(q):
        part = theory.lee_wang_transition(overlap, one, 1.0)
        sheet.top.plot(overlap, part, **look(i), label=f"q = {one:g}")
    sheet.top.set(
        xlim=(0.0, 2.0), ylim=(0.0, 1.05), xlabel="overlap / \N{GREEK SMALL LETTER EPSILON}",
        ylabel="active fraction of the dashpot",
    )  # fmt: skip
    sheet.legend(sheet.top, beside=True)
    sources = "Lee & Wang 1983", "Autiero et al. 2022, eq. (41)"
    return sheet.write("Onset of the damping of lee-wang-transition", "closed form", *sources)


# Phrases for the compared quantities.
COMPARED_QUANTITIES = {
    "peaks": "peaks of the first pulse",
    "arrivals": "arrivals of the first pulse",
    "traces": "complete traces",
}


@styled
def equivalence(
    found: Ranking[Equivalent], ax: Sequence[Axes] | None = None
) -> tuple[Figure, np.ndarray]:
    """Plot the ranking of surrogate laws and their residuals.

    The residual is plotted versus the free input and at each bead.

    Parameters
    ----------
    found : Ranking of Equivalent
        Result of `granchain.equivalent`. Laws without a solution are omitted, and at most as many
        are plotted as there are colours.
    ax : sequence of Axes, optional
        Matplotlib axes to draw into, one for each panel. The heading is then set on their figure.

    Returns
    -------
    Figure, array of Axes
        Ranking, residual versus the free input if there is exactly one, and residual at each bead.
    """
    drawn = [answer for answer in found if answer.inputs][: len(palette())]
    refuse_empty(drawn, "law with an answer", "See the message of each law")
    # laws without a solution are last
    laws = found["law"][: len(drawn)].tolist()
    free = list(dict.fromkeys(name for answer in drawn for name in answer.inputs))
    one_free = len(free) == 1
    height = max(3.4, 2.0 + 0.28 * len(drawn))
    widths = [1.0] * (3 if one_free else 2)
    sheet = Sheet(ax, 10.2 if one_free else 7.6, height, columns=widths, head=0.02)
    ranking, *over, beads = sheet.panels
    residuals = [100.0 * answer.residual for answer in drawn]
    alike = all(list(answer.inputs) == free for answer in drawn)
    notes = [
        ", ".join(
            f"{value:.3g}" if alike else f"{name} {value:.3g}"
            for name, value in answer.inputs.items()
        )
        + (" (at limit)" if answer.at_bound.any() else "")
        for answer in drawn
    ]
    ranked_bars(ranking, laws, found.rank, residuals, notes)
    # Later lines are thinner: the curves of equal laws coincide, and all must be visible.
    widths = np.linspace(2.2, 1.0, len(drawn)).tolist()
    for law, answer, percent, colour, width in zip(
        laws, drawn, residuals, palette(), widths, strict=False
    ):
        differences = 100.0 * answer.per_bead
        beads.plot(found.sensor_bead, differences, color=colour, linewidth=width, label=law)
        for axes in over:
            curve = answer.grid[:, 0], 100.0 * answer.grid_residual
            axes.plot(*curve, color=colour, linewidth=1.1, label=law)
            mark = list(answer.inputs.values()), [percent]
            axes.plot(*mark, "|", color=colour, markersize=10, markeredgewidth=1.5)
    label = f"residual [%], with {', '.join(free)}" if alike else "residual [%]"
    longest = max(map(len, notes))
    ranking.set(xlim=(0.0, (1.35 if longest < 22 else 2.2) * max(residuals)), xlabel=label)
    for axes in over:
        make_log(axes, "y", 100.0 * np.concatenate([answer.grid_residual for answer in drawn]))
        axes.set(xlabel=free[0], ylabel="residual [%]")
    of_traces = "norm of the difference [%]" if found.measure == "traces" else "difference [%]"
    set_panel(beads, zero=True, integer="x", xlabel="bead", ylabel=of_traces)
    beads.legend(loc="best", fontsize=7)
    by = f"by the {COMPARED_QUANTITIES[found.measure]} at {len(found.sensor_bead)} sensors"
    more = f"{len(drawn)} of {len(found)} laws shown" if len(drawn) < len(found) else ""
    indent = indent_of(laws)
    return sheet.write(f"Surrogate laws for {found.to}", "simulated", by, more, indent=indent)


def ranked_bars(
    axes: Axes,
    laws: Sequence[str],
    ranks: Sequence[int] | np.ndarray,
    values: Sequence[float],
    notes: Sequence[str],
) -> np.ndarray:
    """Plot a bar with rank and note for each law, and return the bar positions."""
    places = np.arange(len(laws))[::-1]
    axes.barh(places, values, color=palette()[: len(laws)], height=0.6)
    axes.set_yticks(places, [f"{rank}. {law}" for rank, law in zip(ranks, laws, strict=False)])
    for place, value, words in zip(places.tolist(), values, notes, strict=True):
        end: dict[str, Any] = {"xytext": (3.0, 0.0), "textcoords": "offset points", "va": "center"}
        axes.annotate(words, (value, place), fontsize=7, **end)
    return places


def indent_of(laws: Sequence[str]) -> float:
    """Return the left edge of axes whose labels are names of laws [points]."""
    return 16.0 + LETTER * small_type() * (max(map(len, laws)) + 3)
