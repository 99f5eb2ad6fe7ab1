"""Figures of waves: spectra, dispersion of small waves, and modes. Shaded frequencies are gaps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from granchain.errors import GranchainError
from granchain.figures.style import (
    SHEET,
    Panels,
    add_bar,
    label_axis,
    named_laws,
    quantity,
    styled,
    whole_ticks,
    write_label,
)
from granchain.theory.lattice import Dispersion as Lattice
from granchain.waves.dispersion import Dispersion
from granchain.waves.modes import Modes
from granchain.waves.spectra import INCOHERENT, Spectrum

# Range of the map below the largest power [dB].
DECIBELS_OF_MAP = 60.0
# Highest plotted frequency relative to the highest band edge.
FREQUENCY_MARGIN = 1.25
# Spectral lines over which the median coherence is taken, because a single line may be coherent by
# chance; our choice.
LINES = 9
# Points of a curve from the centre of the Brillouin zone to its edge.
CURVE_POINTS = 201
# Opacity of shaded gaps, and of a line where it is not coherent.
GAP, PALE = 0.12, 0.3
WAVENUMBER = "wavenumber [\N{GREEK SMALL LETTER PI} rad per "


def check_answer(answer: Any, kind: type, maker: str) -> None:
    """Raise an error if this is not the result of a given granchain function."""
    if not isinstance(answer, kind):
        raise GranchainError(
            f"figure: {type(answer).__name__} is not supported. It must be a {kind.__name__}. "
            f"Create it with granchain.{maker}."
        )


def shade_gaps(axes: Any, span: Any, band_edges: np.ndarray, top: float) -> None:
    """Shade the frequencies outside the passbands up to the top, with `axhspan` or `axvspan`."""
    edges = np.concatenate([[0.0], np.ravel(band_edges), [max(top, float(np.max(band_edges)))]])
    colour = axes.title.get_color()
    gaps = [(low, high) for low, high in edges.reshape(-1, 2) if high > low]
    for i, (low, high) in enumerate(gaps):
        label = "_gap" if i else "band gap"
        span(low, high, color=colour, alpha=GAP, linewidth=0.0, zorder=0, label=label)


@styled
def spectrum(*spectra: Spectrum, ax: Any = None, style: Any = SHEET) -> Figure:
    """Plot the transmission, the coherence, and the map of spectra.

    Transmission is the amplitude at the sensor divided by that at the source. It is pale where the
    coherence is low. Band gaps of the case are shaded, and the measured band edges are dashed, with
    their errors. The map is power versus wavenumber and frequency, with the dispersion relation of
    the case. Several spectra, for example of both directions, have neither edges nor a map.

    Parameters
    ----------
    *spectra : Spectrum
        At least one result of `granchain.spectrum`. Several spectra must have the same unit.
    ax : sequence of Axes, optional
        Matplotlib axes to draw into: transmission, coherence, and the map if there is one.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    Figure
    """
    for each in spectra or (None,):
        check_answer(each, Spectrum, "spectrum(result)")
    first, alone = spectra[0], len(spectra) == 1
    if len({each.unit for each in spectra}) > 1:
        listed = ", ".join(f"{each.source} to {each.sensor} [{each.unit}]" for each in spectra)
        raise GranchainError(
            f"spectrum: {listed} is not valid. The spectra must have the same unit. Compute "
            "spectra from bead to bead with granchain.spectrum(result, source, sensor)."
        )
    mapped = alone and first.power.size > 0
    rows = 3 if mapped else 2
    panels = Panels(ax, rows, tall=0.5 + 0.4 * rows, height_ratios=[3.0, 0.7, 1.8][:rows])
    transmitted, coherent, *maps = panels.axes
    top = highest_frequency(*spectra)
    for each in spectra:
        plotted = (each.frequency > 0.0) & (each.frequency <= top) & (each.transmission > 0.0)
        frequency, values = each.frequency[plotted], each.transmission[plotted]
        strong = np.where(each.coherence[plotted] >= INCOHERENT, values, math.nan)
        label = "_transmission" if alone else f"{each.source} to {each.sensor}"
        (line,) = transmitted.plot(frequency, strong, label=label)
        look = {"color": line.get_color(), "linewidth": 0.7 * line.get_linewidth()}
        transmitted.plot(frequency, values, **look, alpha=PALE, label="_pale")
        coherent.plot(each.frequency, each.coherence, **look)
    transmitted.set(yscale="log", xlim=(0.0, top))
    coherent.set(xlim=(0.0, top), ylim=(-0.05, 1.05))
    coherent.set_title("coherence")
    transmitted.set_ylabel("transmission" + (f" [{first.unit}]" if first.unit != "1" else ""))
    if first.dispersion is not None:
        for axes in (transmitted, coherent):
            shade_gaps(axes, axes.axvspan, first.dispersion.band_edges, top)
    if alone:
        draw_edges(transmitted, first)
    for axes in (transmitted, coherent):
        label_axis(axes.xaxis, "frequency", "Hz")
    if panels.new:
        transmitted.tick_params(labelbottom=False)
        transmitted.set_xlabel("")
    for axes in maps:
        draw_map(axes, first, top)
    pale = Line2D([], [], color=transmitted.title.get_color(), alpha=PALE, label="incoherent")
    panels.legend([*transmitted.get_legend_handles_labels()[0], pale])
    paths = dict.fromkeys(f"{each.source} to {each.sensor}" for each in spectra)
    title = "; ".join(dict.fromkeys(each.title for each in spectra if each.title))
    resolution = f"resolution {quantity(max(each.resolution for each in spectra), 'Hz')}"
    laws = named_laws(each.law for each in spectra)
    return panels.finish(title, laws, *paths, resolution)


def draw_edges(axes: Any, spectrum: Spectrum) -> None:
    """Plot the measured band edges with their errors."""
    edges = zip(spectrum.band_edges.ravel(), spectrum.band_edge_errors.ravel(), strict=True)
    measured = np.array([(edge, error) for edge, error in edges if edge > 0.0]).reshape(-1, 2)
    middle = math.sqrt(math.prod(axes.get_ylim()))
    for i, (edge, error) in enumerate(measured):
        line = axes.axvline(edge, color=axes.title.get_color(), linestyle="--")
        line.set_label("_edge" if i else "measured edge")
        axes.errorbar(
            [edge], [middle], xerr=[error], color=line.get_color(), capsize=2.0, label="_error"
        )


def draw_map(axes: Any, spectrum: Spectrum, top: float) -> None:
    """Plot the power versus wavenumber and frequency, with the dispersion relation of the case."""
    top = min(top, float(spectrum.cell_frequency[-1]))
    rows = spectrum.cell_frequency <= top
    with np.errstate(divide="ignore"):
        level = np.maximum(10.0 * np.log10(spectrum.power[rows]), -DECIBELS_OF_MAP)
    mesh = axes.pcolormesh(
        spectrum.wavenumber / math.pi, spectrum.cell_frequency[rows], level, shading="nearest",
        rasterized=True,
    )  # fmt: skip
    add_bar(axes, mesh, "power [dB]")
    each = "bead"
    if spectrum.dispersion is not None:
        each, q = "cell", np.linspace(-math.pi, math.pi, 2 * CURVE_POINTS - 1)
        branches = spectrum.dispersion.frequency(q)
        labels = ["dispersion of the case", *["_branch"] * (branches.shape[1] - 1)]
        width = 0.8 * rcParams["lines.linewidth"]
        lines = axes.plot(q / math.pi, branches, "--", linewidth=width, label=labels)
        for line in lines:
            line.set_color(lines[0].get_color())
        axes.legend(loc="upper right")
    axes.set(xlim=(-1.0, 1.0), ylim=(0.0, top), xlabel=f"{WAVENUMBER}{each}]")
    label_axis(axes.yaxis, "frequency", "Hz")


def highest_frequency(*spectra: Spectrum) -> float:
    """Return the highest plotted frequency [Hz].

    In a chain without passbands, it is the frequency up to which the source moves the sensor.
    """
    first = spectra[0]
    top = float(first.frequency[-1])
    if first.dispersion is not None:
        return min(top, FREQUENCY_MARGIN * float(first.dispersion.band_edges[-1, 1]))
    # A single line may be coherent by chance.
    coherent = [np.flatnonzero(running_median(each.coherence) >= INCOHERENT) for each in spectra]
    seen = [each.frequency[at[-1]] for each, at in zip(spectra, coherent, strict=True) if at.size]
    return min(top, 2.0 * FREQUENCY_MARGIN * float(max(seen, default=top)))


def running_median(values: np.ndarray) -> np.ndarray:
    """Return the running median over `LINES` values."""
    padded = np.pad(values, LINES // 2, mode="edge")
    return np.asarray(np.median(np.lib.stride_tricks.sliding_window_view(padded, LINES), axis=-1))


@styled
def dispersion_curves(
    dispersion: Dispersion | Lattice, *, ax: Any = None, style: Any = SHEET
) -> Figure:
    """Plot the frequency of small waves versus the wavenumber, with the band gaps shaded.

    Parameters
    ----------
    dispersion : Dispersion
        Result of `granchain.dispersion` or `granchain.theory.dispersion`.
    ax : Axes, optional
        Matplotlib axes to draw into.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    Figure
    """
    if not isinstance(dispersion, Lattice):
        check_answer(dispersion, Dispersion, "dispersion(case)")
    panels, top = Panels(ax), 1.05 * float(dispersion.band_edges[-1, 1])
    axes, q = panels.first, np.linspace(0.0, math.pi, CURVE_POINTS)
    shade_gaps(axes, axes.axhspan, dispersion.band_edges, top)
    lines = axes.plot(q / math.pi, dispersion.frequency(q))
    for line in lines:
        line.set_color(lines[0].get_color())
    axes.set(xlim=(0.0, 1.0), ylim=(0.0, top), xlabel=f"{WAVENUMBER}cell]")
    label_axis(axes.yaxis, "frequency", "Hz")
    panels.legend(axes.get_legend_handles_labels()[0][:1] if len(dispersion.gaps) else [])
    count, length = dispersion.masses.size, dispersion.length
    return panels.finish(
        "Small waves in a periodic chain",
        f"unit cell of {count} bead{'s' * (count > 1)}",
        "" if length is None else f"long-wave speed {length * dispersion.long_wave_speed:.5g} m/s",
        kind="computed at rest",
    )


@styled
def mode_shapes(modes: Modes, *, ax: Any = None, style: Any = SHEET) -> Figure:
    """Plot the participation of the modes versus frequency, and their shapes.

    Modes in a band gap are diamonds.

    Parameters
    ----------
    modes : Modes
        Result of `granchain.modes`.
    ax : sequence of Axes, optional
        Two Matplotlib axes to draw into: participation versus frequency, and shapes.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    Figure
    """
    check_answer(modes, Modes, "modes(case)")
    panels = Panels(ax, 2, tall=1.5, height_ratios=[1.0, 2.2])
    participations, shapes = panels.axes
    gap = np.zeros(modes.frequencies.size, bool) if modes.in_gap is None else modes.in_gap
    colour = None
    for those, mark, label in ((~gap, "o", "in passbands"), (gap, "D", "in band gaps")):
        at = modes.frequencies[those], modes.participation[those]
        size = 0.7 * rcParams["lines.markersize"]
        (line,) = participations.plot(*at, mark, color=colour, markersize=size, label=label)
        colour = line.get_color()
    participations.set(
        xlim=(0.0, 1.04 * float(modes.frequencies.max())),
        ylim=(0.0, 1.08 * float(modes.participation.max())),
    )
    label_axis(participations.xaxis, "frequency", "Hz")
    write_label(participations.yaxis, "participating beads")
    count = np.arange(1, modes.frequencies.size + 1)
    # Attached masses follow the beads.
    edges = modes.bead[0] - 0.5 + np.arange(modes.shapes.shape[1] + 1)
    rows = np.append(count - 0.5, count[-1] + 0.5)
    mesh = shapes.pcolormesh(edges, rows, modes.shapes, cmap="RdBu_r", vmin=-1, vmax=1)
    shapes.set(xlabel="bead", ylabel="mode")
    whole_ticks(shapes.xaxis, shapes.yaxis)
    if modes.attached_bead.size:
        shapes.axvline(modes.bead[-1] + 0.5, color="black")
        shapes.set_xlabel("bead, and attached masses beyond the line")
    add_bar(shapes, mesh, "normalized displacement")
    if gap.any():
        participations.legend()
    title, laws = f"Modes: {modes.title or 'untitled case'}", named_laws([modes.law])
    return panels.finish(title, laws, kind="computed at rest")
