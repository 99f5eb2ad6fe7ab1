"""Figures of a mechanism: motion of the slider with and without clearance, force, orbit, and impact
in the joint, and energy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from granchain.analysis import residual_share, supplied_energy
from granchain.errors import GranchainError
from granchain.figures.frame import (
    BLACK,
    Axes,
    Figure,
    Loop,
    Sheet,
    draw_loops,
    labels_of,
    largest,
    look,
    palette,
    round_end,
    scaled,
    set_panel,
)
from granchain.figures.registry import of_results
from granchain.figures.run import draw_residual
from granchain.store import Result
from granchain.store.answer import case_of

# Factor between the largest accelerations with and without clearance that adds a second panel.
FAR = 4.0
# Style of the motion without clearance.
WITHOUT: dict[str, Any] = {"color": BLACK, "linestyle": "--", "linewidth": 1.0}
# Axis labels of variables versus the crank angle; the unit of a penetration depends on its size.
OVER_THE_TURN = {
    "slider_position": "position [mm]",
    "slider_velocity": "velocity [m/s]",
    "slider_acceleration": "acceleration [m/s\N{SUPERSCRIPT TWO}]",
    "contact_force": "contact force [N]",
}


class Window(NamedTuple):
    """Samples between two crank angles.

    Parameters
    ----------
    chosen : (n_samples,) array
        Mask of the samples.
    turned : array
        Crank angles of the samples [deg], from the start of the window for a revolution.
    ends : (from, to)
        Angles at the ends of the axis [deg].
    """

    chosen: np.ndarray
    turned: np.ndarray
    ends: tuple[float, float]


def window_of_time(result: Result, between: Sequence[float] | None) -> Window:
    """Return the samples between two crank angles since the start [deg].

    The default is the last complete revolution.
    """
    turned, begin = np.degrees(result.crank_angle), 0.0
    if between is None:
        whole = math.floor(turned[-1] / 360.0 + 1e-9)
        begin = 360.0 * max(whole - 1, 0)
        between = (0.0, 360.0 if whole else float(turned[-1]) or 360.0)
    low, high = between
    chosen = (turned - begin >= low - 1e-9) & (turned - begin <= high + 1e-9)
    if not chosen.any():
        raise GranchainError(
            f"between: no samples from {low:g} to {high:g} degrees. It must be two angles "
            f"from 0 to {turned[-1]:.6g}. Choose other angles, or run longer."
        )
    return Window(chosen, turned[chosen] - begin, (low, high))


def mechanism_case_of(result: Result) -> Any:
    """Return the case of a mechanism's result; None if this version cannot read it."""
    case = case_of(result)
    return case if hasattr(case, "mechanism") else None


def same_curve(first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> bool:
    """Return whether two curves (angle, value) agree within 0.001 of the largest value.

    Such a difference is not visible in a figure.
    """
    values = np.interp(first[0], second[0], second[1])
    return bool(np.max(np.abs(values - first[1])) <= 1e-3 * np.max(np.abs(first[1])))


def _over_the_turn(
    sheet: Sheet,
    names: Sequence[str],
    results: Sequence[Result],
    between: Sequence[float] | None,
    labels: Sequence[str] | None,
    without: Sequence[np.ndarray] = (),
    panels: int = 1,
    **named: Any,
) -> tuple[Figure, Any]:
    """Plot variables of results versus the crank angle, one panel each.

    `without` has the values without clearance for each result; they are plotted in the lowest
    `panels` panels. `named` are arguments of `Axes.set` for the last panel. Also write labels,
    legend, and heading.
    """
    from matplotlib.ticker import MaxNLocator

    window = window_of_time(results[0], between)
    alone = "with clearance" if len(without) else "_alone"
    words = labels_of(results, labels) if len(results) > 1 or labels else [alone]
    for axes, name in zip(sheet.panels, names, strict=True):
        factor, label = (1e3 if name == "slider_position" else 1.0), OVER_THE_TURN.get(name)
        if label is None:
            factor, unit = scaled(largest(*(getattr(one, name) for one in results)), "m")
            label = f"{name} [{unit}]"
        for i, (result, word) in enumerate(zip(results, words, strict=True)):
            part = window_of_time(result, between)
            values = factor * getattr(result, name)[part.chosen]
            axes.plot(part.turned, values, **look(i), linewidth=0.8, label=word)
        axes.set_ylabel(label)
    ideals = []
    for result, ideal in zip(results, without, strict=len(without) > 0):
        turned, values = window_of_time(result, between)[1::-1]
        ideals.append((turned, ideal[values]))
    same = all(same_curve(ideals[0], curve) for curve in ideals)
    for axes in sheet.panels[::-1][:panels]:
        for i, (curve, word) in enumerate(zip(ideals[:1] if same else ideals, words, strict=False)):
            how = WITHOUT if same else WITHOUT | {"color": look(i)["color"]}
            label = "without clearance" if same else f"{word}, without clearance"
            axes.plot(*curve, **how, label=label)
    last = sheet.panels[-1]
    since = "revolution" if between is None else "run"
    whole = f"crank angle from the start of the {since} [deg]"
    last.set(xlim=window.ends, xlabel=whole, **named)
    last.xaxis.set_major_locator(MaxNLocator(nbins=9, steps=[1, 2, 3, 6, 10]))
    if last.get_legend_handles_labels()[0]:
        sheet.legend(last, most=3)
    return sheet.head(results)


@of_results("slider_acceleration", "ideal_acceleration", "crank_angle")
def slider_acceleration(
    *results: Result,
    between: Sequence[float] | None = None,
    labels: Sequence[str] | None = None,
    ax: Sequence[Axes] | None = None,
) -> tuple[Figure, np.ndarray]:
    """Plot the acceleration of the slider versus the crank angle.

    The acceleration with and without clearance is plotted. If the former is much larger, a second
    panel has the scale of the latter.

    Parameters
    ----------
    *results : Result
        One or more results of a mechanism.
    between : (from, to), optional
        Crank angles since the start [deg]. By default the last complete revolution.
    labels : sequence of str, optional
        A label for each result. By default its law, or its title if the laws are the same.
    ax : sequence of Axes, optional
        Matplotlib axes to draw into, one for each row. The heading is then set on their figure.

    Returns
    -------
    Figure, array of Axes (1,) or (2,)
    """
    ideal = largest(*(result.ideal_acceleration for result in results))
    reach = largest(
        *(one.slider_acceleration[window_of_time(one, between).chosen] for one in results)
    )
    rows = [1.6, 1.0] if reach > FAR * ideal else [1.0]
    height = 2.2 + 2.0 * sum(rows) / max(rows) * 0.92
    sheet = Sheet(ax, 7.0, height, rows, sharex=True)
    names, without = (
        ["slider_acceleration"] * len(rows),
        [one.ideal_acceleration for one in results],
    )
    drawn = _over_the_turn(sheet, names, results, between, labels, without, len(rows))
    if len(rows) > 1:
        sheet.panels[1].set_ylim(-2.2 * ideal, 2.2 * ideal)
    return drawn


@of_results("slider_position", "slider_velocity", "slider_acceleration", "crank_angle")
def slider_kinematics(
    *results: Result,
    between: Sequence[float] | None = None,
    labels: Sequence[str] | None = None,
    ax: Sequence[Axes] | None = None,
) -> tuple[Figure, np.ndarray]:
    """Plot position, velocity, and acceleration of the slider versus the crank angle.

    Parameters
    ----------
    *results, between, labels, ax
        See `slider_acceleration`.

    Returns
    -------
    Figure, array of Axes (3,)
    """
    sheet = Sheet(ax, 7.0, 6.0, [1.0] * 3, sharex=True)
    names = ("slider_position", "slider_velocity", "slider_acceleration")
    without = [one.ideal_acceleration for one in results]
    return _over_the_turn(sheet, names, results, between, labels, without)


@of_results("contact_force", "crank_angle")
def joint_force(
    *results: Result,
    between: Sequence[float] | None = None,
    labels: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> tuple[Figure, Axes]:
    """Plot the contact force in the joint versus the crank angle.

    For a scotch yoke, also plot the force without clearance.

    Parameters
    ----------
    *results, between, labels, ax
        See `slider_acceleration`.

    Returns
    -------
    Figure, Axes
    """
    without = []
    cases = [case for case in map(mechanism_case_of, results) if case is not None]
    if len(cases) == len(results) and all(case.mechanism == "scotch-yoke" for case in cases):
        without = [
            case.force_without_clearance(result.crank_angle + case.crank.start)
            for case, result in zip(cases, results, strict=True)
        ]
    sheet = Sheet(ax, 7.0, 4.2)
    return _over_the_turn(
        sheet, ["contact_force"], results, between, labels, without, ylim=(0.0, None)
    )


@of_results("penetration", "crank_angle")
def joint_penetration(
    *results: Result,
    between: Sequence[float] | None = None,
    labels: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> tuple[Figure, Axes]:
    """Plot the penetration in the joint versus the crank angle.

    Parameters
    ----------
    *results, between, labels, ax
        See `slider_acceleration`.

    Returns
    -------
    Figure, Axes
    """
    sheet = Sheet(ax, 7.0, 4.2)
    return _over_the_turn(sheet, ["penetration"], results, between, labels, ylim=(0.0, None))


@of_results("joint_x", "joint_y", "contact_force", "crank_angle")
def joint_orbit(
    result: Result, between: Sequence[float] | None = None, ax: Axes | None = None
) -> tuple[Figure, Axes]:
    """Plot the path of the journal or pin in its clearance.

    The path is that of the journal centre in its bearing, or of the pin around the centre line of
    the slot. The circle of contact is also plotted.

    Parameters
    ----------
    result : Result
        Result of a mechanism.
    between : (from, to), optional
        See `slider_acceleration`.
    ax : Axes, optional
        Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, Axes
    """
    case = mechanism_case_of(result)
    chosen = window_of_time(result, between).chosen
    x, y = 1e3 * result.joint_x[chosen], 1e3 * result.joint_y[chosen]
    closed = np.where(result.contact_force[chosen] > 0.0, 1.0, math.nan)
    sheet = Sheet(ax, 6.0, 6.0)
    axes = sheet.top
    if case is not None:
        turn, radius = np.linspace(0.0, 2.0 * math.pi, 400), 1e3 * case.clearance
        circle = radius * np.cos(turn), radius * np.sin(turn)
        axes.plot(*circle, color="#9a9a9a", linewidth=1.0, label="clearance")
    axes.plot(x, y, color=palette()[0], linewidth=0.6, label="free")
    axes.plot(closed * x, closed * y, color=palette()[2], linewidth=1.8, label="in contact")
    axes.margins(0.06)
    axes.set(
        aspect="equal",
        xlabel="position along the slider line [mm]",
        ylabel="position across the slider line [mm]",
    )
    sheet.legend(axes, most=3)
    return sheet.head([result])


def impact_of(force: np.ndarray) -> slice:
    """Return the samples of one impact, with one sample on either side.

    It is the largest impact whose force rises once from zero and falls back to zero. If there is
    none, it is the largest that begins and ends at zero.
    """
    closed = np.concatenate([[False], force > 0.0, [False]])
    edges = np.flatnonzero(closed[1:] != closed[:-1]).reshape(-1, 2).tolist()
    complete = [slice(a - 1, b + 1) for a, b in edges if a > 0 and b < force.size]
    if not complete:
        raise GranchainError(
            "impact: no complete impact in the samples. At least one impact, from open to "
            "open, is required. Run longer, or choose other crank angles."
        )

    def rises_once_and_far(span: slice) -> tuple[bool, float]:
        turns = np.diff(np.sign(np.diff(force[span]))) < 0.0
        return np.count_nonzero(turns) == 1, float(force[span].max())

    return max(complete, key=rises_once_and_far)


@of_results("contact_force", "penetration", "crank_angle")
def joint_impact(
    *results: Result,
    between: Sequence[float] | None = None,
    labels: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> tuple[Figure, Axes]:
    """Plot force versus penetration of one impact.

    The line is solid for the approach and dashed for the recovery.

    Parameters
    ----------
    *results, between, labels, ax
        See `slider_acceleration`. The figure shows the largest impact with a single rise of the
        force.

    Returns
    -------
    Figure, Axes
    """
    loops = []
    for result, label in zip(results, labels_of(results, labels), strict=True):
        chosen, turned, _ = window_of_time(result, between)
        part = impact_of(result.contact_force[chosen])
        depth, force = result.penetration[chosen][part], result.contact_force[chosen][part]
        loops.append(Loop(f"{label}, at {turned[part.start + 1]:.3g} deg", depth, force))
    sheet = Sheet(ax, 6.4, 4.4)
    handles = draw_loops(sheet.top, loops, "approach", "recovery", "penetration")
    sheet.legend(sheet.top, handles=handles, most=3)
    return sheet.head(results)


@of_results("energy_time", "energy_friction", "time", "crank_angle")
def crank_energy(result: Result, ax: Sequence[Axes] | None = None) -> tuple[Figure, np.ndarray]:
    """Plot the parts of the energy balance versus the crank angle.

    They are the work of the crank, the kinetic energy, the losses, and the balance error.

    Parameters
    ----------
    result : Result
        Result of a mechanism.
    ax : sequence of Axes, optional
        Three Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, array of Axes (3,)
    """
    turned = np.degrees(np.interp(result.energy_time, result.time, result.crank_angle))
    work, moving = result.energy_external, result.energy_kinetic - result.energy_kinetic[0]
    sheet = Sheet(ax, 7.0, 5.6, [2.0, 1.3, 1.0], sharex=True)
    ledger, lost, rest = sheet.panels
    scale, joule = scaled(largest(moving, work), "J")
    ledger.plot(
        turned, scale * moving, color=palette()[0], label="kinetic energy, relative to start"
    )
    ledger.plot(turned, scale * work, **WITHOUT, label="work of the crank")
    set_panel(ledger, zero=True, ylabel=f"energy [{joule}]")
    losses = {"viscous": "damping", "friction": "friction", "plastic": "residual indentation"}
    scale, joule = scaled(largest(*(getattr(result, f"energy_{name}") for name in losses)), "J")
    for (name, word), colour in zip(losses.items(), palette()[1:], strict=False):
        values = getattr(result, f"energy_{name}")
        if np.any(values != 0.0):
            lost.plot(turned, scale * values, color=colour, label=word)
    lost.set_ylabel(f"energy lost [{joule}]")
    supplied = supplied_energy(result.energy_kinetic, work)
    draw_residual(rest, turned, residual_share(result.energy_residual, supplied))
    rest.set_xlabel("crank angle since the start of the run [deg]")
    round_end(rest)
    sheet.legends(ledger, lost)
    return sheet.head([result])
