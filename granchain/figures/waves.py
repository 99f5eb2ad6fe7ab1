"""Figures of waves: transmission with coherence, frequency versus wavenumber, dispersion of small
waves, and modes of a finite chain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from granchain.errors import GranchainError
from granchain.figures.frame import (
    ON_CURVES,
    Axes,
    Figure,
    Sheet,
    colour_map,
    figure_title,
    named_laws,
    need_found,
    palette,
    scaled,
    set_panel,
    styled,
)
from granchain.theory.lattice import Dispersion as Lattice
from granchain.waves.dispersion import Dispersion
from granchain.waves.modes import Modes
from granchain.waves.spectra import INCOHERENT, Spectrum

# Range of the map below the largest power, in powers of ten.
DECADES_SHOWN = 6.0
# Highest plotted frequency relative to the highest band edge.
FREQUENCY_MARGIN = 1.25
# Spectral lines over which the median coherence is taken, because a single line may be coherent by
# chance; our choice.
LINES = 9
# Height for the legend above a curve relative to the curve.
LEGEND = 0.3
# Points of a curve from the centre of the Brillouin zone to its edge.
CURVE_POINTS = 201


@styled
def spectrum(found: Spectrum, ax: Sequence[Axes] | None = None) -> tuple[Figure, np.ndarray]:
    """Plot the transmission, the coherence, and the map of a spectrum.

    The map is power versus wavenumber and frequency, with the dispersion relation of the case.

    Parameters
    ----------
    found : Spectrum
        Result of `granchain.spectrum`.
    ax : sequence of Axes, optional
        Two Matplotlib axes, or three with a map, to draw into. The heading is then set on their
        figure.

    Returns
    -------
    Figure, array of Axes (2,) or (3,)
        Transmission, coherence, and the map if there is one.
    """
    need_found(found, Spectrum, "spectrum(result)")
    mapped = found.power.size > 0
    ratios = [2.0, 0.7, 2.6] if mapped else [2.0, 0.7]
    sheet = Sheet(ax, 7.0, 7.6 if mapped else 4.6, ratios)
    transmitted, coherent, *maps = sheet.panels
    transmission(found, ax=transmitted)
    _, kilo, unit = extent(found)
    transmitted.set_xlabel("")
    transmitted.tick_params(labelbottom=False)
    coherent.plot(kilo * found.frequency, found.coherence, color=palette()[1], linewidth=0.8)
    coherent.set(
        xlim=transmitted.get_xlim(),
        ylim=(-0.05, 1.05),
        xlabel=f"frequency [{unit}]",
        ylabel="coherence",
    )
    for axes in maps:
        wave_map(found, axes)
    return write_spectrum_heading(sheet, found)


@styled
def transmission(
    *found: Spectrum, ax: Axes | None = None, labels: Sequence[str] | None = None
) -> tuple[Figure, Axes]:
    """Plot the transmission from a source to a sensor versus frequency.

    Transmission is the amplitude at the sensor divided by that at the source. The passbands of the
    case and the measured band edges are also plotted. Several spectra, for example of both
    directions, are plotted as lines with a common unit and without edges.

    Parameters
    ----------
    *found : Spectrum
    ax : Axes, optional
        Matplotlib axes to draw into. The heading is then set on their figure.
    labels : sequence of str, optional
        A label for each of several spectra. By default the source and the sensor.

    Returns
    -------
    Figure, Axes
    """
    for spectrum in found or (None,):
        need_found(spectrum, Spectrum, "spectrum(result)")
    if len({spectrum.unit for spectrum in found}) > 1 or len(found) > len(palette()):
        got = ", ".join(
            f"{spectrum.source} to {spectrum.sensor} [{spectrum.unit}]" for spectrum in found
        )
        raise GranchainError(
            f"transmission: {got} is not valid. At most {len(palette())} spectra with the "
            "same unit are supported. Compute spectra from bead to bead with "
            "granchain.spectrum(result, source, sensor)."
        )
    sheet = Sheet(ax, 7.0, 3.6)
    axes, first = sheet.top, found[0]
    top, kilo, unit = extent(*found)
    words = [*(labels or [f"{spectrum.source} to {spectrum.sensor}" for spectrum in found])]
    if len(words) != len(found):
        raise GranchainError(
            f"labels: {len(words)} labels for {len(found)} spectra. One label per spectrum is "
            "required."
        )
    words = words if len(found) > 1 else ["transmission"]
    pale = f"coherence below {INCOHERENT:g}"
    for i, (spectrum, word) in enumerate(zip(found, words, strict=True)):
        shown = (
            (spectrum.frequency > 0.0) & (spectrum.frequency <= top) & (spectrum.transmission > 0.0)
        )
        frequency, line = kilo * spectrum.frequency[shown], spectrum.transmission[shown]
        coherent = np.where(spectrum.coherence[shown] >= INCOHERENT, line, math.nan)
        colour, label = palette()[i], "_pale" if i else pale
        axes.plot(frequency, line, color=colour, alpha=0.3, linewidth=0.8, label=label)
        axes.plot(frequency, coherent, color=colour, linewidth=1.0, label=word)
    axes.set(yscale="log", xlim=(0.0, kilo * top))
    bands: Any = [] if first.dispersion is None else first.dispersion.band_edges
    for i, (low, high) in enumerate(bands):
        axes.axvspan(
            kilo * low,
            kilo * min(high, top),
            label="predicted passbands" if i == 0 else "_band",
            color="#000000",
            alpha=0.07,
            linewidth=0.0,
            zorder=0,
        )
    if len(found) == 1:
        draw_edges(axes, first, kilo)
    label = "transmission" + (f" [{first.unit}]" if first.unit != "1" else "")
    axes.set(xlabel=f"frequency [{unit}]", ylabel=label)
    # Keep the curve below the legend.
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** LEGEND)
    axes.legend(loc="upper center", ncols=2, handlelength=1.4, columnspacing=1.0, **ON_CURVES)
    return write_spectrum_heading(sheet, *found)


def draw_edges(axes: Axes, found: Spectrum, kilo: float) -> None:
    """Plot the measured band edges with their errors."""
    red = palette()[2]
    edges = zip(found.band_edges.ravel(), found.band_edge_errors.ravel(), strict=True)
    for i, (edge, error) in enumerate((edge, error) for edge, error in edges if edge > 0.0):
        axes.axvline(
            kilo * edge,
            color=red,
            linewidth=0.9,
            linestyle="--",
            label="measured edges, with errors" if i == 0 else "_edge",
        )
        ends = kilo * (edge - error), kilo * (edge + error)
        axes.axvspan(*ends, color=red, alpha=0.25, linewidth=0.0)


@styled
def wave_map(found: Spectrum, ax: Axes | None = None) -> tuple[Figure, Axes]:
    """Plot the power versus wavenumber and frequency, with the dispersion relation.

    The dispersion relation is that of the case.

    Parameters
    ----------
    found : Spectrum
        Spectrum with a map.
    ax : Axes, optional
        Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, Axes
    """
    need_found(found, Spectrum, "spectrum(result)")
    if not found.power.size:
        why = "; ".join(found.messages) or "no data recorded"
        raise GranchainError(
            f"wave_map: the spectrum has no map ({why}). A map is required. Set `interval` "
            "under [snapshots]."
        )
    sheet = Sheet(ax, 7.0, 4.6)
    axes = sheet.top
    top, kilo, unit = extent(found)
    top = min(top, float(found.cell_frequency[-1]))
    rows = found.cell_frequency <= top
    with np.errstate(divide="ignore"):
        level = np.maximum(10.0 * np.log10(found.power[rows]), -10.0 * DECADES_SHOWN)
    places = found.wavenumber / math.pi, kilo * found.cell_frequency[rows]
    power = f"power of {found.measured.replace('_', ' ')} [dB]"
    colour_map(sheet, *places, level, power, {"cmap": "magma_r"}, pad=0.02, aspect=24)
    each = "bead"
    if found.dispersion is not None:
        each, q = "cell", np.linspace(-math.pi, math.pi, 401)
        branches = kilo * found.dispersion.frequency(q)
        labels = ["dispersion", *["_branch"] * (branches.shape[1] - 1)]
        axes.plot(q / math.pi, branches, "--", color="#2a78c2", linewidth=1.0, label=labels)
        axes.legend(loc="upper right", **ON_CURVES)
    axes.set(
        xlim=(-1.0, 1.0),
        xticks=[-1.0, -0.5, 0.0, 0.5, 1.0],
        xlabel=f"wavenumber [\N{GREEK SMALL LETTER PI} rad per {each}]",
        ylim=(0.0, kilo * top),
        ylabel=f"frequency [{unit}]",
    )
    return write_spectrum_heading(sheet, found)


def extent(*found: Spectrum) -> tuple[float, float, str]:
    """Return the highest plotted frequency [Hz], and the factor and name of its unit.

    In a chain without passbands, it is the frequency up to which the source moves the sensor.
    """
    first = found[0]
    top = float(first.frequency[-1])
    if first.dispersion is None:
        # A single line may be coherent by chance.
        there = [np.flatnonzero(running_median(each.coherence) >= INCOHERENT) for each in found]
        seen = [each.frequency[at[-1]] for each, at in zip(found, there, strict=True) if at.size]
        top = min(top, 2.0 * FREQUENCY_MARGIN * float(max(seen, default=top)))
    else:
        top = min(top, FREQUENCY_MARGIN * float(first.dispersion.band_edges[-1, 1]))
    return top, *scaled(top, "Hz")


def running_median(values: np.ndarray) -> np.ndarray:
    """Return the running median over `LINES` values."""
    padded = np.pad(values, LINES // 2, mode="edge")
    return np.asarray(np.median(np.lib.stride_tricks.sliding_window_view(padded, LINES), axis=-1))


def write_spectrum_heading(sheet: Sheet, *found: Spectrum) -> tuple[Figure, Any]:
    """Write the heading with titles, laws, sources and sensors, and resolution, each once."""
    ways = [f"{one.source} to {one.sensor}" for one in found]
    laws = named_laws(one.law for one in found)
    resolved = f"resolution {max(one.resolution for one in found):.3g} Hz"
    title = figure_title(found) or "untitled case"
    return sheet.write(title, "simulated", laws, *dict.fromkeys(ways), resolved)


@styled
def dispersion_curves(found: Dispersion | Lattice, ax: Axes | None = None) -> tuple[Figure, Axes]:
    """Plot the frequency of small waves versus the wavenumber, with the band gaps.

    Parameters
    ----------
    found : Dispersion
        Result of `granchain.dispersion` or `granchain.theory.dispersion`.
    ax : Axes, optional
        Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, Axes
    """
    if not isinstance(found, Lattice):
        need_found(found, Dispersion, "dispersion(case)")
    sheet = Sheet(ax, 6.0, 4.6)
    axes, top = sheet.top, float(found.band_edges[-1, 1])
    per, unit = scaled(top, "Hz")
    for i, (low, high) in enumerate(per * found.gaps):
        axes.axhspan(
            low, high, color="#000000", alpha=0.08, linewidth=0.0, label="_gap" if i else "band gap"
        )
    q = np.linspace(0.0, math.pi, CURVE_POINTS)
    axes.plot(q / math.pi, per * found.frequency(q), color=palette()[0])
    set_panel(
        axes,
        xlim=(0.0, 1.0),
        ylim=(0.0, 1.04 * per * top),
        xlabel="wavenumber [\N{GREEK SMALL LETTER PI} rad per cell]",
        ylabel=f"frequency [{unit}]",
    )
    if len(found.gaps):
        sheet.legend(axes)
    count, length = found.masses.size, found.length
    return sheet.write(
        "Small waves in a periodic chain",
        "computed at rest",
        f"unit cell of {count} bead{'s' * (count > 1)}",
        "" if length is None else f"long-wave speed {length * found.long_wave_speed:.5g} m/s",
    )


@styled
def mode_shapes(found: Modes, ax: Sequence[Axes] | None = None) -> tuple[Figure, np.ndarray]:
    """Plot the participation of the modes versus frequency, and their shapes.

    Parameters
    ----------
    found : Modes
        Result of `granchain.modes`.
    ax : sequence of Axes, optional
        Two Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, array of Axes (2,)
        Participation versus frequency, and shapes.
    """
    need_found(found, Modes, "modes(case)")
    sheet = Sheet(ax, 7.0, 6.4, [1.0, 2.2])
    participations, shapes = sheet.panels
    gap = np.zeros(found.frequencies.size, bool) if found.in_gap is None else found.in_gap
    top = float(found.frequencies.max())
    per, unit = scaled(top, "Hz")
    for those, mark, size, colour, words in (
        (~gap, "o", 4, palette()[0], "in passbands"),
        (gap, "D", 5, palette()[1], "outside passbands"),
    ):
        at = per * found.frequencies[those], found.participation[those]
        participations.plot(*at, mark, color=colour, markersize=size, label=words)
    if gap.any():
        participations.legend(loc="best")
    participations.set(
        xlim=(0.0, 1.04 * per * top),
        ylim=(0.0, 1.08 * found.participation.max()),
        ylabel="participating beads",
        xlabel=f"frequency [{unit}]",
    )
    count = np.arange(1, found.frequencies.size + 1)
    # Attached masses follow the beads.
    edges = found.bead[0] - 0.5 + np.arange(found.shapes.shape[1] + 1)
    mesh = shapes.pcolormesh(
        edges, np.append(count - 0.5, count[-1] + 0.5), found.shapes, cmap="RdBu_r", vmin=-1, vmax=1
    )
    set_panel(shapes, integer="xy", xlabel="bead", ylabel="mode")
    if found.attached_bead.size:
        shapes.axvline(found.bead[-1] + 0.5, color="black", linewidth=0.9)
        shapes.set(xlabel="bead, and attached masses beyond the line")
    shapes.figure.colorbar(mesh, ax=shapes, label="normalized displacement", aspect=30)
    title = f"Modes: {found.title or 'untitled case'}"
    return sheet.write(title, "computed at rest", f"contact law {found.law}")
