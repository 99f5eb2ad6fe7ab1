"""Figures of a mechanism: motion of the slider, and force and orbit in the joint."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from granchain.errors import GranchainError
from granchain.figures.style import (
    SHEET,
    Lines,
    Panels,
    label_axis,
    labels_of,
    of_runs,
    title_of,
)
from granchain.store import Result
from granchain.store.answer import case_of

# Unit of an acceleration.
ACCELERATION = "m/s\N{SUPERSCRIPT TWO}"


class Window(NamedTuple):
    """Samples between two crank angles.

    Parameters
    ----------
    chosen : (n_samples,) array
        Mask of the samples.
    angle : array
        Crank angles of the samples [deg], from the start of the window for a revolution.
    ends : (from, to)
        Angles at the ends of the axis [deg].
    """

    chosen: np.ndarray
    angle: np.ndarray
    ends: tuple[float, float]


def window_of(result: Result, between: Sequence[float] | None) -> Window:
    """Return the samples between two crank angles since the start [deg].

    The default is the last complete revolution.
    """
    angle, begin = np.degrees(result.crank_angle), 0.0
    if between is None:
        revolutions = math.floor(angle[-1] / 360.0 + 1e-9)
        begin = 360.0 * max(revolutions - 1, 0)
        between = (0.0, 360.0 if revolutions else float(angle[-1]) or 360.0)
    low, high = between
    chosen = (angle - begin >= low - 1e-9) & (angle - begin <= high + 1e-9)
    if not chosen.any():
        raise GranchainError(
            f"between: no samples from {low:g} to {high:g} degrees. It must be two angles "
            f"from 0 to {angle[-1]:.6g}. Choose other angles, or run longer."
        )
    return Window(chosen, angle[chosen] - begin, (low, high))


def same_curve(first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> bool:
    """Return whether two curves (angle, value) agree within 0.001 of the largest value.

    Such a difference is not visible in a figure.
    """
    values = np.interp(first[0], second[0], second[1])
    return bool(np.max(np.abs(values - first[1])) <= 1e-3 * np.max(np.abs(first[1])))


def plot_versus_crank_angle(
    panels: Panels,
    quantities: Sequence[tuple[str, str, str]],
    results: Sequence[Result],
    between: Sequence[float] | None,
    labels: Sequence[str] | None,
    without: Sequence[np.ndarray],
) -> Figure:
    """Plot variables (name, label, unit) of results versus the crank angle, one panel each.

    `without` has the values without clearance for each result, for the last panel. They are one
    dashed line if they are equal.
    """
    windows = [window_of(result, between) for result in results]
    lines = Lines([result.law for result in results])
    alone = "with clearance" if len(without) else "_alone"
    names = labels_of(results, labels) if len(results) > 1 or labels else [alone]
    for axes, (variable, label, unit) in zip(panels.axes, quantities, strict=True):
        for i, (result, window, name) in enumerate(zip(results, windows, names, strict=True)):
            values = getattr(result, variable)[window.chosen]
            lines.plot(axes, i, window.angle, values, label=name)
        label_axis(axes.yaxis, label, unit)
    last, pairs = panels.axes[-1], zip(windows, without, strict=len(without) > 0)
    curves = [(window.angle, ideal[window.chosen]) for window, ideal in pairs]
    if curves and all(same_curve(curves[0], curve) for curve in curves):
        colour = last.title.get_color()
        last.plot(*curves[0], "--", color=colour, label="without clearance")
    else:
        for i, (curve, name) in enumerate(zip(curves, names, strict=bool(curves))):
            label = f"{name}, without clearance"
            lines.plot(last, i, *curve, linestyle="--", label=label)
    for axes in panels.axes:
        axes.set_xlim(windows[0].ends)
        axes.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 3, 6, 10]))
    since = "revolution" if between is None else "run"
    panels.label_columns(f"crank angle from the start of the {since}", "deg")
    panels.legend()
    return panels.finish(title_of(results), results=results)


@of_runs(
    "slider_position", "slider_velocity", "slider_acceleration", "ideal_acceleration", "crank_angle"
)
def slider_kinematics(
    *results: Result,
    between: Sequence[float] | None = None,
    labels: Sequence[str] | None = None,
    ax: Any = None,
    style: Any = SHEET,
) -> Figure:
    """Plot position, velocity, and acceleration of the slider versus the crank angle.

    The acceleration without clearance is dashed.

    Parameters
    ----------
    *results : Result
        One or more results of a mechanism.
    between : (from, to), optional
        Crank angles since the start [deg]. By default the last complete revolution.
    labels : sequence of str, optional
        A label for each result. By default its law, or what differs between the cases.
    ax : sequence of Axes, optional
        Three Matplotlib axes to draw into.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    Figure
    """
    quantities = [
        ("slider_position", "position", "m"),
        ("slider_velocity", "velocity", "m/s"),
        ("slider_acceleration", "acceleration", ACCELERATION),
    ]
    without = [result.ideal_acceleration for result in results]
    panels = Panels(ax, 3, tall=1.4, sharex=True)
    return plot_versus_crank_angle(panels, quantities, results, between, labels, without)


@of_runs("contact_force", "crank_angle")
def joint_force(
    *results: Result,
    between: Sequence[float] | None = None,
    labels: Sequence[str] | None = None,
    ax: Any = None,
    style: Any = SHEET,
) -> Figure:
    """Plot the contact force in the joint versus the crank angle.

    For a scotch yoke, also plot the force without clearance.

    Parameters
    ----------
    *results, between, labels
        See `slider_kinematics`.
    ax : Axes, optional
        Matplotlib axes to draw into.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    Figure
    """
    without, cases = [], [case_of(result) for result in results]
    if all(case is not None and case.mechanism == "scotch-yoke" for case in cases):
        without = [
            case.force_without_clearance(result.crank_angle + case.crank.start)
            for case, result in zip(cases, results, strict=True)
        ]
    quantities = [("contact_force", "contact force", "N")]
    return plot_versus_crank_angle(Panels(ax), quantities, results, between, labels, without)


@of_runs("joint_x", "joint_y", "contact_force", "crank_angle")
def joint_orbit(
    result: Result,
    between: Sequence[float] | None = None,
    *,
    ax: Any = None,
    style: Any = SHEET,
) -> Figure:
    """Plot the path of the journal or pin in its clearance.

    The path is that of the journal centre in its bearing, or of the pin around the centre line of
    the slot. The circle of contact is also plotted.

    Parameters
    ----------
    result : Result
        Result of a mechanism.
    between : (from, to), optional
        See `slider_kinematics`.
    ax : Axes, optional
        Matplotlib axes to draw into.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    Figure
    """
    case, chosen = case_of(result), window_of(result, between).chosen
    x, y = result.joint_x[chosen], result.joint_y[chosen]
    closed = np.where(result.contact_force[chosen] > 0.0, 1.0, math.nan)
    panels = Panels(ax)
    axes = panels.first
    if case is not None:
        angle = np.linspace(0.0, 2.0 * math.pi, 400)
        circle = case.clearance * np.cos(angle), case.clearance * np.sin(angle)
        axes.plot(*circle, linestyle="--", color=axes.title.get_color(), label="clearance")
    (free,) = axes.plot(x, y, linestyle=":", label="free")
    (closed_line,) = axes.plot(closed * x, closed * y, color=free.get_color(), label="in contact")
    closed_line.set(linestyle="-", linewidth=2.0 * free.get_linewidth())
    axes.margins(0.06)
    axes.set_aspect("equal", adjustable="datalim")
    label_axis(axes.xaxis, "along the slider line", "m")
    label_axis(axes.yaxis, "across the slider line", "m")
    panels.legend()
    return panels.finish(title_of([result]), results=[result])
