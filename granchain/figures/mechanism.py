"""Figures of a mechanism: its slider beside the motion without play, the forces in its joint,
the joint's orbit, one impact, the energy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from granchain.analysis import energy_put_in, residual_share
from granchain.case import MechanismCase
from granchain.errors import CaseError, GranchainError
from granchain.figures.frame import (
    branches,
    figure_of,
    framed_loops,
    given_panels,
    labels_of,
    legend_below,
    legend_beside,
    look,
    narrow,
    need,
    need_few,
    new_figure,
    one_panel,
    palette,
    plain_powers,
    put_heading,
    round_end,
    scaled,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from granchain.store import Result

# Colour of the motion without play.
WITHOUT = "#222222"
# Accelerations of so many times the largest without play hide that one.
FAR = 4.0


class Window(NamedTuple):
    """Samples between two crank angles.

    Parameters
    ----------
    chosen : (n_samples,) array
        Which samples.
    turned : array
        Their crank angles [deg], from the first one on where these are a revolution.
    ends : (from, to)
        [deg].
    """

    chosen: np.ndarray
    turned: np.ndarray
    ends: tuple[float, float]


def window_of_time(result: Result, between: Sequence[float] | None) -> Window:
    """The samples between two crank angles since the start [deg]; default: the last whole
    revolution."""
    turned, begin = np.degrees(result.crank_angle), 0.0
    if between is None:
        whole = math.floor(turned[-1] / 360.0 + 1e-9)
        begin = 360.0 * max(whole - 1, 0)
        between = (0.0, 360.0 if whole else float(turned[-1]) or 360.0)
    low, high = between
    chosen = (turned - begin >= low - 1e-9) & (turned - begin <= high + 1e-9)
    if not chosen.any():
        raise GranchainError(
            f"between: got {low:g} to {high:g} degrees, where the result has no sample, allowed: "
            f"two angles within 0 to {turned[-1]:.6g}; name others, or run longer"
        )
    return Window(chosen, turned[chosen] - begin, (low, high))


def mechanism_case_of(result: Result) -> MechanismCase | None:
    """The case of a mechanism's result; None where this version cannot read it."""
    try:
        case = result.case
    except CaseError:
        return None
    return case if isinstance(case, MechanismCase) else None


def results_with(results: Sequence[Result], name: str) -> Sequence[Result]:
    """The results, each with this variable."""
    if not results:
        raise GranchainError(
            f"figure of {name}: got no result, allowed: one or more of a mechanism"
        )
    for result in results:
        need(result, "crank_angle", name)
    return results


def label_turn(axes: Axes, part: Window, between: Sequence[float] | None) -> None:
    """Label, limits and ticks of the axis of crank angles."""
    from matplotlib.ticker import MaxNLocator

    since = "revolution" if between is None else "run"
    axes.set_xlabel(
        "crank angle (deg)" if narrow() else f"crank angle since the start of the {since} (deg)"
    )
    axes.set_xlim(*part.ends)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=9, steps=[1, 2, 3, 6, 10]))


@styled
def slider_acceleration(
    *results: Result,
    between: Sequence[float] | None = None,
    labels: Sequence[str] | None = None,
    ax: Sequence[Axes] | None = None,
) -> tuple[Figure, np.ndarray]:
    """Acceleration of the slider against the crank angle, with that without play; where it goes far
    beyond, below on the scale of that.

    Parameters
    ----------
    *results : Result
        One or more of a mechanism.
    between : (from, to), optional
        Crank angles since the start [deg]; default: the last whole revolution.
    labels : sequence of str, optional
        A word for each result; default: its law, or its title where laws are the same.
    ax : sequence of Axes, optional
        Of matplotlib, one a row, to draw into: the heading is then left to their figure.

    Returns
    -------
    Figure, array of Axes (1,) or (2,)
    """
    results_with(results, "slider_acceleration")
    largest = max(float(np.abs(result.ideal_acceleration).max()) for result in results)
    reach = max(
        float(np.abs(result.slider_acceleration[window_of_time(result, between).chosen]).max())
        for result in results
    )
    twice = reach > FAR * largest
    figure, rows = _rows(ax, 5.2 if twice else 4.2, [1.6, 1.0] if twice else [1.0])
    for i, (result, label) in enumerate(zip(results, labels_of(results, labels), strict=True)):
        part = window_of_time(result, between)
        for axes in rows:
            name = label if len(results) > 1 else "with play"
            axes.plot(
                part.turned,
                result.slider_acceleration[part.chosen],
                **look(i),
                linewidth=0.8,
                label=name,
            )
    part = window_of_time(results[0], between)
    for axes in rows:
        axes.plot(
            part.turned,
            results[0].ideal_acceleration[part.chosen],
            "--",
            color=WITHOUT,
            linewidth=1.1,
            label="without play",
        )
        axes.set_ylabel("slider acceleration\n(m/s\N{SUPERSCRIPT TWO})")
    if twice:
        rows[1].set_ylim(-2.2 * largest, 2.2 * largest)
    label_turn(rows[-1], part, between)
    _finish(figure, rows, results, ax)
    return figure, rows


@styled
def slider_kinematics(
    *results: Result,
    between: Sequence[float] | None = None,
    labels: Sequence[str] | None = None,
    ax: Sequence[Axes] | None = None,
) -> tuple[Figure, np.ndarray]:
    """Position, velocity and acceleration of the slider against the crank angle.

    Parameters
    ----------
    *results, between, labels, ax
        As of `slider_acceleration`.

    Returns
    -------
    Figure, array of Axes (3,)
    """
    results_with(results, "slider_position")
    figure, rows = _rows(ax, 6.0, [1.0, 1.0, 1.0])
    names = (("slider_position", 1e3, "position (mm)"), ("slider_velocity", 1.0, "velocity (m/s)"),
             ("slider_acceleration", 1.0, "acceleration (m/s\N{SUPERSCRIPT TWO})"))  # fmt: skip
    for i, (result, label) in enumerate(zip(results, labels_of(results, labels), strict=True)):
        part = window_of_time(result, between)
        for axes, (name, factor, _) in zip(rows, names, strict=True):
            axes.plot(
                part.turned,
                factor * getattr(result, name)[part.chosen],
                **look(i),
                linewidth=0.8,
                label=label,
            )
    for axes, (_, _, text) in zip(rows, names, strict=True):
        axes.set_ylabel(text)
    part = window_of_time(results[0], between)
    rows[2].plot(
        part.turned,
        results[0].ideal_acceleration[part.chosen],
        "--",
        color=WITHOUT,
        linewidth=1.0,
        label="without play",
    )
    label_turn(rows[2], part, between)
    _finish(figure, rows, results, ax, legend_of=rows[2])
    return figure, rows


def _rows(
    ax: Sequence[Axes] | None, height: float, ratios: Sequence[float]
) -> tuple[Figure, np.ndarray]:
    """Rows of axes on one axis of angles, or those that are given."""
    if ax is not None:
        rows = given_panels(ax, len(ratios))
        return figure_of(rows[0]), rows
    figure = new_figure(7.0, height * (1.25 if narrow() else 1.0))
    return figure, figure.subplots(
        len(ratios), 1, sharex=True, squeeze=False, height_ratios=list(ratios)
    )[:, 0]


def _finish(
    figure: Figure,
    rows: np.ndarray,
    results: Sequence[Result],
    ax: Any,
    legend_of: Axes | None = None,
) -> None:
    """Legend below, labels in line, heading."""
    legend_below(rows[0] if legend_of is None else legend_of, given=ax is not None)
    if ax is None:
        figure.align_ylabels()
    put_heading(rows[0], results, given=ax is not None)


@styled
def joint_force(
    *results: Result,
    between: Sequence[float] | None = None,
    labels: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> tuple[Figure, Axes]:
    """Contact force in the joint against the crank angle; of a scotch yoke beside that without
    play.

    Parameters
    ----------
    *results, between, labels, ax
        As of `slider_acceleration`.

    Returns
    -------
    Figure, Axes
    """
    results_with(results, "contact_force")
    figure, axes = one_panel(ax, 7.0, 5.6 if narrow() else 4.2)
    for i, (result, label) in enumerate(zip(results, labels_of(results, labels), strict=True)):
        part = window_of_time(result, between)
        axes.plot(
            part.turned, result.contact_force[part.chosen], **look(i), linewidth=0.8, label=label
        )
    case = mechanism_case_of(results[0])
    if case is not None and case.mechanism == "scotch-yoke":
        # with the laws and the engine, which take half a second to load
        from granchain.mechanism.checks import carried

        part = window_of_time(results[0], between)
        angle = results[0].crank_angle[part.chosen] + case.crank.start
        axes.plot(
            part.turned,
            carried(case, angle),
            "--",
            color=WITHOUT,
            linewidth=1.0,
            label="without play",
        )
    axes.set_ylim(0.0, None)
    axes.set_ylabel("contact force (N)")
    label_turn(axes, part, between)
    legend_below(axes, given=ax is not None, most=3)
    put_heading(axes, results, given=ax is not None)
    return figure, axes


@styled
def joint_penetration(
    *results: Result,
    between: Sequence[float] | None = None,
    labels: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> tuple[Figure, Axes]:
    """Penetration in the joint against the crank angle.

    Parameters
    ----------
    *results, between, labels, ax
        As of `slider_acceleration`.

    Returns
    -------
    Figure, Axes
    """
    results_with(results, "penetration")
    factor, unit = scaled(max(float(result.penetration.max()) for result in results), "m")
    figure, axes = one_panel(ax, 7.0, 5.6 if narrow() else 4.2)
    for i, (result, label) in enumerate(zip(results, labels_of(results, labels), strict=True)):
        part = window_of_time(result, between)
        axes.plot(
            part.turned,
            factor * result.penetration[part.chosen],
            **look(i),
            linewidth=0.8,
            label=label,
        )
    axes.set_ylim(0.0, None)
    axes.set_ylabel(f"penetration ({unit})")
    label_turn(axes, part, between)
    if len(results) > 1:
        legend_below(axes, given=ax is not None, most=3)
    put_heading(axes, results, given=ax is not None)
    return figure, axes


@styled
def joint_orbit(
    result: Result, between: Sequence[float] | None = None, ax: Axes | None = None
) -> tuple[Figure, Axes]:
    """Way of the journal's centre in its bearing, or of the pin about the slot's centre line, and
    the circle where they touch.

    Parameters
    ----------
    result : Result
        Of a mechanism.
    between : (from, to), optional
        As of `slider_acceleration`.
    ax : Axes, optional
        Of matplotlib, to draw into: the heading is then left to its figure.

    Returns
    -------
    Figure, Axes
    """
    need(result, "joint_x", "joint_y", "contact_force")
    case = mechanism_case_of(result)
    chosen = window_of_time(result, between).chosen
    x, y, closed = (
        1e3 * result.joint_x[chosen],
        1e3 * result.joint_y[chosen],
        result.contact_force[chosen] > 0.0,
    )
    figure, axes = one_panel(ax, 6.0, 6.6 if narrow() else 6.0)
    turn = np.linspace(0.0, 2.0 * math.pi, 400)
    if case is not None:
        radius = 1e3 * case.clearance
        axes.plot(
            radius * np.cos(turn),
            radius * np.sin(turn),
            color="#9a9a9a",
            linewidth=1.0,
            label="clearance",
        )
    axes.plot(x, y, color=palette()[0], linewidth=0.6, label="free")
    axes.plot(
        np.where(closed, x, math.nan),
        np.where(closed, y, math.nan),
        color=palette()[2],
        linewidth=1.8,
        label="in contact",
    )
    axes.set_aspect("equal")
    axes.margins(0.06)
    axes.set_xlabel("along the slider's line (mm)")
    axes.set_ylabel("across it (mm)")
    legend_below(axes, given=ax is not None, most=3)
    put_heading(axes, [result], given=ax is not None)
    return figure, axes


def impact_of(force: np.ndarray) -> slice:
    """Samples of one impact, with one on either side: of those in which the force rises once from
    zero and falls to it, the largest.

    Where there is none such, the largest of those that begin and end at zero.
    """
    closed = np.concatenate([[False], force > 0.0, [False]])
    edges = np.flatnonzero(closed[1:] != closed[:-1]).reshape(-1, 2)
    whole = [
        force[first - 1 : last + 1]
        for first, last in edges.tolist()
        if first > 0 and last < force.size
    ]
    starts = [first - 1 for first, last in edges.tolist() if first > 0 and last < force.size]
    if not whole:
        raise GranchainError(
            "impact: got samples without an impact from opening to opening, allowed: one at "
            "least; take a longer run, or other crank angles"
        )
    once = [np.count_nonzero(np.diff(np.sign(np.diff(part))) < 0.0) == 1 for part in whole]
    best = max(range(len(whole)), key=lambda i: (once[i], float(whole[i].max())))
    return slice(starts[best], starts[best] + whole[best].size)


@styled
def joint_impact(
    *results: Result,
    between: Sequence[float] | None = None,
    labels: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> tuple[Figure, Axes]:
    """Force against penetration in one impact: approach full, recovery dashed.

    Parameters
    ----------
    *results, between, labels, ax
        As of `slider_acceleration`; the impact is the largest in which the force rises once.

    Returns
    -------
    Figure, Axes
    """
    results_with(results, "contact_force")
    need_few(len(results), "joint_impact")
    figure, axes = one_panel(ax, 6.4, 5.4 if narrow() else 4.4)
    factor, unit = scaled(max(float(result.penetration.max()) for result in results), "m")
    for i, (result, label) in enumerate(zip(results, labels_of(results, labels), strict=True)):
        chosen, turned, _ = window_of_time(result, between)
        part = impact_of(result.contact_force[chosen])
        depth, force = result.penetration[chosen][part], result.contact_force[chosen][part]
        loading, unloading = branches(depth, force)
        colour = palette()[i]
        axes.plot(
            factor * depth,
            loading,
            color=colour,
            label=f"{label}, at {turned[part.start + 1]:.3g} deg",
        )
        axes.plot(factor * depth, unloading, "--", color=colour, linewidth=1.0, label="_recovery")
    handles = framed_loops(axes, unit, "approach", "recovery", False)
    axes.set_xlabel(f"penetration ({unit})")
    legend_below(axes, given=ax is not None, handles=handles, most=3)
    put_heading(axes, results, given=ax is not None)
    return figure, axes


@styled
def crank_energy(result: Result, ax: Sequence[Axes] | None = None) -> tuple[Figure, np.ndarray]:
    """Work of the crank and kinetic energy over the crank angle; what is lost; and, on a
    logarithmic axis, what the ledger leaves over.

    Parameters
    ----------
    result : Result
        Of a mechanism.
    ax : sequence of Axes, optional
        Of matplotlib, three of them, to draw into: the heading is then left to their figure.

    Returns
    -------
    Figure, array of Axes (3,)
    """
    need(result, "energy_time", "energy_friction", "time", "crank_angle")
    turned = np.degrees(np.interp(result.energy_time, result.time, result.crank_angle))
    moving = result.energy_kinetic - result.energy_kinetic[0]
    lost = {
        "damping": result.energy_viscous,
        "friction": result.energy_friction,
        "dents": result.energy_plastic,
    }
    figure, axes = _rows(ax, 5.6, [2.0, 1.3, 1.0])
    ledger, losses, rest = axes
    scale, joule = scaled(
        float(max(np.abs(moving).max(), np.abs(result.energy_external).max())), "J"
    )
    ledger.plot(turned, scale * moving, color=palette()[0], label="kinetic, since the start")
    ledger.plot(
        turned,
        scale * result.energy_external,
        "--",
        color=WITHOUT,
        linewidth=1.0,
        label="work of the crank",
    )
    ledger.axhline(0.0, color="#b0b0b0", linewidth=0.5, zorder=0)
    ledger.set_ylabel(f"energy ({joule})")
    scale, joule = scaled(max(float(np.abs(values).max()) for values in lost.values()), "J")
    for (name, values), colour in zip(lost.items(), palette()[1:], strict=False):
        if np.any(values != 0.0):
            losses.plot(turned, scale * values, color=colour, label=name)
    losses.set_ylabel(f"lost ({joule})")
    size = residual_share(
        result.energy_residual, energy_put_in(result.energy_kinetic, result.energy_external)
    )
    rest.set_yscale("log")
    rest.plot(turned, np.where(size > 0.0, size, math.nan), color="#555555", linewidth=1.0)
    rest.set_ylabel("residual\n/ put in")
    rest.set_xlabel("crank angle since the start of the run (deg)")
    rest.grid(axis="y")
    plain_powers(rest)
    round_end(rest)
    if narrow() and ax is None:
        legend_below(
            ledger,
            handles=[
                handle
                for part in (ledger, losses)
                for handle in part.get_legend_handles_labels()[0]
            ],
            most=2,
        )
    else:
        for part in (ledger, losses):
            if part.get_lines():
                legend_beside(part, given=ax is not None)
    if ax is None:
        figure.align_ylabels()
    put_heading(ledger, [result], given=ax is not None)
    return figure, axes


# The figures of a mechanism, with the variables that each needs.
MECHANISM_FIGURES: dict[str, tuple[Callable[..., tuple[Any, Any]], tuple[str, ...]]] = {
    "slider_acceleration": (
        slider_acceleration,
        ("slider_acceleration", "ideal_acceleration", "crank_angle"),
    ),
    "slider_kinematics": (
        slider_kinematics,
        ("slider_position", "slider_velocity", "slider_acceleration", "crank_angle"),
    ),
    "joint_force": (joint_force, ("contact_force", "crank_angle")),
    "joint_penetration": (joint_penetration, ("penetration", "crank_angle")),
    "joint_orbit": (joint_orbit, ("joint_x", "joint_y", "contact_force", "crank_angle")),
    "joint_impact": (joint_impact, ("contact_force", "penetration", "crank_angle")),
    "crank_energy": (crank_energy, ("energy_time", "energy_friction", "time", "crank_angle")),
}
