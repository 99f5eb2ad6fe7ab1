"""Figures of the explanation: small computations that are plotted when the documentation is built,
and the figures that the code of its pages plots."""

from __future__ import annotations

import contextlib
import io
import math
import os
import re
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from gallery import PAIR, palette, save, to_draw
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

import granchain as gc
from granchain.contact.examples import example_inputs
from granchain.contact.onset import onset_weight
from granchain.figures.style import styled
from granchain.two_body import contact_of_two, two_bodies

STEPS = np.unique(np.round(np.geomspace(11, 1100, 19)).astype(int))


# Distance before the onset of the force: irrational, so that the onset is anywhere in a step.
GAP, END = 1.0 / math.sqrt(23.0), 1.0


def onset_run(power: float, n_steps: int, weighted: bool) -> float:
    """Return the final speed after n steps of kick and drift.

    A unit mass starts with unit speed in the field F = d^1.5 + d^a rate.
    """
    dt, polynomial = END / n_steps, onset_weight(power)
    d, half, acceleration, closed = -GAP, 1.0, 0.0, False
    for _ in range(n_steps):
        d += dt * half
        rate, weight = half + 0.5 * dt * acceleration, 1.0
        if d > 0.0:
            if not closed and weighted:
                theta = min(1.0, d / (dt * half))
                weight = float(np.polyval(polynomial, theta)) / theta**power
            closed = True
            acceleration = -(d**1.5) - d**power * rate
            half += dt * (-(d**1.5) - weight * d**power * rate)
    return half - 0.5 * dt * acceleration


@styled
def onset_weights() -> Figure:
    """Plot the onset weight versus theta, and the speed error with and without it."""
    figure = Figure(figsize=(7.4, 3.1), layout="constrained")
    left, right = figure.subplots(1, 2)
    theta = np.linspace(0.01, 1.0, 200)
    for power, label, colour in zip(
        (0.0, 0.25, 0.5, 0.65), ("0", "1/4", "1/2", "0.65"), palette(), strict=False
    ):
        left.plot(
            theta,
            np.polyval(onset_weight(power), theta) / theta**power,
            color=colour,
            label=f"a = {label}",
        )
    left.axhline(1.0, color="#888888", linewidth=0.5)
    left.set(
        xlabel="fraction \N{GREEK SMALL LETTER THETA} of the step after the onset",
        ylabel="weight of the damping force",
        ylim=(0.4, 1.6),
        xlim=(0.0, 1.0),
    )
    left.legend(loc="lower right")
    exact = onset_run(0.25, 65521, True)
    for weighted, label, colour in (
        (False, "weight 1", palette()[2]),
        (True, "with the weight", palette()[0]),
    ):
        errors = [abs(onset_run(0.25, int(n), weighted) - exact) for n in STEPS]
        right.loglog(
            END / STEPS, errors, "o-", color=colour, markersize=3, linewidth=0.8, label=label
        )
    slopes(right, END / STEPS, {2.0: 0.01, 1.25: 0.3})
    right.set(xlabel="time step", ylabel="error of the speed / impact speed")
    right.xaxis.set_minor_formatter(NullFormatter())
    right.legend(loc="lower right")
    return figure


def slopes(axes: Axes, steps: np.ndarray, through: dict[float, float]) -> None:
    """Plot grey lines of these orders.

    Each line passes through a factor times the step to the power of the order.
    """
    for order, factor in through.items():
        axes.loglog(steps, factor * steps**order, color="#b4b4b4", linewidth=0.8, zorder=0)
        place = (steps[-1], factor * steps[-1] ** order)
        axes.annotate(
            f"order {order:g}",
            place,
            (4, 8),
            textcoords="offset points",
            color="#777777",
            fontsize=8,
        )


# A unit mass with unit speed; the force is F = d below the jump and d + J above it.
JUMP_AT, JUMP = 0.3, 0.8


def jump_exact(time: float) -> tuple[float, float]:
    """Return the exact overlap and rate: sin t up to the jump, then a cosine about -J."""
    crossing = math.asin(JUMP_AT)
    if time <= crossing:
        return math.sin(time), math.cos(time)
    s, rate = time - crossing, math.cos(crossing)
    return (JUMP_AT + JUMP) * math.cos(s) + rate * math.sin(s) - JUMP, rate * math.cos(s) - (
        JUMP_AT + JUMP
    ) * math.sin(s)


def jump_run(n_steps: int, end: float, corrected: bool) -> np.ndarray:
    """Return time, overlap, and rate at each step."""
    dt, d, half, acceleration, found = end / n_steps, 0.0, 1.0, 0.0, [(0.0, 0.0, 1.0)]
    for step in range(1, n_steps + 1):
        before, d = d, d + dt * half
        rate, extra = half + 0.5 * dt * acceleration, 0.0
        if corrected and before < JUMP_AT <= d:
            # s = theta dt is the time since the jump, on the parabola of the step: d - s rate + s^2
            # A/2 is the overlap at the jump.
            s = (
                2.0
                * (d - JUMP_AT)
                / (rate + math.sqrt(rate * rate - 2.0 * acceleration * (d - JUMP_AT)))
            )
            theta = s / dt
            d -= 0.5 * s * s * JUMP
            rate -= s * JUMP
            extra = -(theta - 0.5) * dt * JUMP
        acceleration = -d - (JUMP if d >= JUMP_AT else 0.0)
        half += dt * acceleration + extra
        found.append((step * dt, d, rate))
    return np.array(found)


@styled
def force_jump() -> Figure:
    """Plot a rate near a jump of the force, and the error of an overlap versus the step.

    Both are plotted with and without the correction.
    """
    figure = Figure(figsize=(7.4, 3.1), layout="constrained")
    left, right = figure.subplots(1, 2)
    times = np.linspace(0.0, 0.8, 400)
    left.plot(
        times,
        [jump_exact(float(time))[1] for time in times],
        color="#b4b4b4",
        linewidth=3.0,
        label="exact",
    )
    for corrected, label, colour, mark in (
        (False, "across the jump", palette()[2], "s"),
        (True, "corrected", palette()[0], "o"),
    ):
        run = jump_run(10, 1.0, corrected)
        left.plot(run[:, 0], run[:, 2], mark, color=colour, markersize=4.5, label=label)
        errors = [
            abs(jump_run(int(n), 1.0, corrected)[-1, 1] / jump_exact(1.0)[0] - 1.0) for n in STEPS
        ]
        right.loglog(
            1.0 / STEPS, errors, f"{mark}-", color=colour, markersize=3, linewidth=0.8, label=label
        )
    left.axvline(math.asin(JUMP_AT), color="#888888", linewidth=0.5)
    left.set(xlabel="time", ylabel="rate", xlim=(0.0, 0.8), ylim=(0.1, 1.05))
    left.legend(loc="lower left")
    slopes(right, 1.0 / STEPS, {2.0: 0.02, 1.0: 1.2})
    right.set(xlabel="time step", ylabel="relative error of the overlap")
    right.legend(loc="lower right")
    return figure


@styled
def energy_guard() -> Figure:
    """Plot the loss of Stronge's law versus the largest overlap, and its unloading curves.

    Both are plotted as published and corrected.
    """
    law = gc.laws()["stronge"]
    contacts = contact_of_two(law, two_bodies(PAIR, 1.77), PAIR, example_inputs(law))
    c, guarded = tuple(map(float, contacts.c[:, 1])), contacts.model
    printed = law.model(example_inputs(law, as_printed=True))
    d_y = law.elastic_limit(c)
    work_y = law.loading_work(d_y, c)

    def after(model: Any, d_max: float) -> tuple:
        return model.functions.update((d_max, 0.0, 0.0, 1.0), c, model.functions.history_of(c))

    figure = Figure(figsize=(7.4, 3.1), layout="constrained")
    left, right = figure.subplots(1, 2)
    overlaps = np.linspace(1.001, 4.5, 300)
    for model, label, colour, style in (
        (printed, "as published", palette()[2], "--"),
        (guarded, "corrected", palette()[0], "-"),
    ):
        lost = [model.functions.plastic(c, after(model, w * d_y)) / work_y for w in overlaps]
        left.plot(overlaps, lost, style, color=colour, label=label)
        h = after(model, 2.0 * d_y)
        d = np.linspace(max(h[1], 0.0), 2.0 * d_y, 200)
        right.plot(
            d / d_y,
            [model.functions.force(float(x), 0.0, c, h) for x in d],
            style,
            color=colour,
            label=f"unloading, {label}",
        )
    loading = np.linspace(0.0, 2.3, 200)
    right.plot(
        loading,
        [law.loading(float(w * d_y), c) for w in loading],
        color="#888888",
        linewidth=1.0,
        label="loading",
        zorder=0,
    )
    left.axhline(0.0, color="#888888", linewidth=0.5)
    left.set(xlabel="largest overlap / $d_y$", ylabel="loss / work up to $d_y$", xlim=(1.0, 4.5))
    left.legend(loc="upper left")
    right.set(xlabel="overlap / $d_y$", ylabel="force [N]", xlim=(0.0, 2.3), ylim=(0.0, None))
    right.legend(loc="upper left")
    return figure


def largest_stable(ratio: float) -> float:
    """Return the largest omega dt at which the scheme is stable, for a given gamma/omega.

    All roots must be within the unit circle; the limit is found by bisection.
    """
    low, high = 0.0, 4.0
    for _ in range(40):
        step = 0.5 * (low + high)
        square, damping = step * step, ratio * step
        # z^3 - 2 z^2 + z + (omega dt)^2 z^2 + gamma dt (3 z^2 - 4 z + 1)/2 = 0
        roots = np.roots([1.0, -2.0 + square + 1.5 * damping, 1.0 - 2.0 * damping, 0.5 * damping])
        low, high = (step, high) if np.abs(roots).max() <= 1.0 + 1e-9 else (low, step)
    return low


@styled
def time_steps() -> Figure:
    """Plot the stability limit with the time steps used, and impact errors versus the step."""
    figure = Figure(figsize=(7.4, 3.1), layout="constrained")
    left, right = figure.subplots(1, 2)
    ratio = np.geomspace(1e-2, 1e2, 200)
    left.loglog(ratio, 2.0 / (ratio + np.sqrt(ratio**2 + 1.0)), color=palette()[2], label="limit")
    dots = np.geomspace(1e-2, 1e2, 17)
    left.loglog(
        dots,
        [largest_stable(float(r)) for r in dots],
        "o",
        color=palette()[2],
        markersize=3.5,
        label="limit, from the roots",
    )
    auto = np.minimum(0.02, 0.05 / ratio)
    left.loglog(ratio, 5.0 * auto, "--", color=palette()[0], label='"fast"')
    left.loglog(ratio, auto, color=palette()[0], label='"auto"')
    left.set(
        xlabel="\N{GREEK SMALL LETTER GAMMA} / \N{GREEK SMALL LETTER OMEGA}",
        ylabel="\N{GREEK SMALL LETTER OMEGA} dt",
    )
    left.legend(loc="lower left")
    laws: dict[str, dict[str, float]] = {
        "hertz": {},
        "ma-liu": {"psi": 2.84, "xi": 13.0},
        "tsuji": {"restitution": 0.65},
    }
    refinements = np.array([0.2, 0.35, 0.6, 1.0, 2.0, 4.0, 8.0])
    for (law, inputs), colour in zip(laws.items(), palette(), strict=False):
        peak = gc.impact(law=law, pair=PAIR, speed=1.77, refine=64.0, **inputs).max_force
        errors = [
            abs(
                gc.impact(law=law, pair=PAIR, speed=1.77, refine=float(r), **inputs).max_force
                / peak
                - 1.0
            )
            for r in refinements
        ]
        right.loglog(
            1.0 / refinements, errors, "o-", color=colour, markersize=3, linewidth=0.8, label=law
        )
    for at, word in ((1.0, '"auto"'), (5.0, '"fast"')):
        right.axvline(at, color="#b4b4b4", linewidth=0.8, zorder=0)
        right.annotate(
            word,
            (at, 0.03),
            xycoords=("data", "axes fraction"),
            ha="right",
            color="#777777",
            fontsize=8,
            rotation=90,
        )
    right.set(xlabel="time step / automatic step", ylabel="relative error of the largest force")
    right.set_xticks([0.2, 0.5, 1.0, 2.0, 5.0], ["0.2", "0.5", "1", "2", "5"])
    right.xaxis.set_minor_formatter(NullFormatter())
    right.legend(loc="upper left")
    return figure


FIGURES: tuple[Callable[[], Figure], ...] = (onset_weights, force_jump, energy_guard, time_steps)


def drawn_by_pages() -> dict[Path, list[str]]:
    """Return the explanation pages whose code saves figures, with the names of the figures."""
    pages = sorted((Path(__file__).resolve().parent / "explanation").glob("*.md"))
    saved = r'^figure\.savefig\("([\w-]+\.png)", dpi=150\)$'
    found = {page: re.findall(saved, page.read_text(), re.MULTILINE) for page in pages}
    return {page: names for page, names in found.items() if names}


def run_page(page: Path, folder: Path) -> None:
    """Run the Python code of a page in the folder of the figures, where it saves them."""
    os.chdir(folder)
    namespace: dict[str, object] = {}
    bodies = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    with contextlib.redirect_stdout(io.StringIO()):
        for body in bodies:
            exec(body, namespace)


def write(folder: Path) -> None:
    """Plot the figures that are missing or older than the package."""
    folder.mkdir(exist_ok=True)
    draws = {folder / f"{draw.__name__.replace('_', '-')}.png": draw for draw in FIGURES}
    for target in to_draw(draws, __file__):
        save(draws[target](), target)
    for page, names in drawn_by_pages().items():
        if to_draw([folder / name for name in names], str(page)):
            # The process changes its working directory.
            with ProcessPoolExecutor(1) as pool:
                pool.submit(run_page, page, folder).result()
