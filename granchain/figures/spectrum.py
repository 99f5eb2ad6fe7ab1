"""Waves measured in a run: transmission with its coherence, and frequency over wavenumber."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from granchain.errors import GranchainError
from granchain.figures.frame import ON_CURVES, Sheet, colour_map, narrow, palette, styled
from granchain.waves.spectra import INCOHERENT, Spectrum

if TYPE_CHECKING:
    from granchain.figures.frame import Axes, Figure

# How far below the largest power a map goes, in powers of ten.
DECADES_SHOWN = 6.0
# The highest frequency that is shown, over the highest edge of a band.
FREQUENCY_MARGIN = 1.25
# Room for the legend over a curve, over the height of the curve, on a screen and one column wide.
LEGEND = 0.3, 0.5


@styled
def spectrum(found: Spectrum, ax: Sequence[Axes] | None = None) -> tuple[Figure, np.ndarray]:
    """Transmission, coherence, and the map of frequency over wavenumber with the dispersion of the
    case.

    Parameters
    ----------
    found : Spectrum
        As `granchain.spectrum` gives it.
    ax : sequence of Axes, optional
        Of matplotlib, two or, with a map, three, to draw into: the heading is then left to their
        figure.

    Returns
    -------
    Figure, array of Axes (2,) or (3,)
        Transmission, coherence and, where there is one, the map.
    """
    need_spectrum(found)
    mapped = found.power.size > 0
    ratios = [2.0, 0.7, 2.6] if mapped else [2.0, 0.7]
    sheet = Sheet(ax, 7.0, 7.6 if mapped else 4.6, ratios)
    transmitted, coherent, *maps = sheet.panels
    transmission(found, transmitted)
    _, kilo, unit = extent(found)
    transmitted.set_xlabel("")
    transmitted.tick_params(labelbottom=False)
    coherent.plot(kilo * found.frequency, found.coherence, color=palette()[1], linewidth=0.8)
    coherent.set(xlim=transmitted.get_xlim(), ylim=(-0.05, 1.05))
    coherent.set(xlabel=f"frequency [{unit}]", ylabel="coherence")
    for axes in maps:
        wave_map(found, axes)
    return put_spectrum_heading(sheet, found)


@styled
def transmission(found: Spectrum, ax: Axes | None = None) -> tuple[Figure, Axes]:
    """Amplitude at the sensor over that at the source against frequency, with the bands of the case
    and the edges that were measured.

    Parameters
    ----------
    found : Spectrum
    ax : Axes, optional
        Of matplotlib, to draw into: the heading is then left to their figure.

    Returns
    -------
    Figure, Axes
    """
    need_spectrum(found)
    sheet = Sheet(ax, 7.0, 3.6)
    axes = sheet.top
    top, kilo, unit = extent(found)
    shown = (found.frequency > 0.0) & (found.frequency <= top) & (found.transmission > 0.0)
    frequency, line = kilo * found.frequency[shown], found.transmission[shown]
    coherent = np.where(found.coherence[shown] >= INCOHERENT, line, math.nan)
    blue, red = palette()[0], palette()[2]
    pale = f"coherence below {INCOHERENT:g}"
    axes.plot(frequency, line, color=blue, alpha=0.3, linewidth=0.8, label=pale)
    axes.plot(frequency, coherent, color=blue, linewidth=1.0, label="transmission")
    axes.set(yscale="log", xlim=(0.0, kilo * top))
    bands: Any = [] if found.dispersion is None else found.dispersion.band_edges
    for i, (low, high) in enumerate(bands):
        axes.axvspan(
            kilo * low,
            kilo * min(high, top),
            label="bands by dispersion" if i == 0 else "_band",
            color="#000000",
            alpha=0.07,
            linewidth=0.0,
            zorder=0,
        )
    measured = "edges measured" + ("" if narrow() else ", with their errors")
    edges = zip(found.band_edges.ravel(), found.band_edge_errors.ravel(), strict=True)
    for i, (edge, error) in enumerate((edge, error) for edge, error in edges if edge > 0.0):
        axes.axvline(
            kilo * edge,
            color=red,
            linewidth=0.9,
            linestyle="--",
            label=measured if i == 0 else "_edge",
        )
        ends = kilo * (edge - error), kilo * (edge + error)
        axes.axvspan(*ends, color=red, alpha=0.25, linewidth=0.0)
    label = "transmission" + (f" ({found.unit})" if found.unit != "1" else "")
    axes.set(xlabel=f"frequency [{unit}]", ylabel=label)
    # the curve stays below the legend
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** LEGEND[narrow()])
    axes.legend(loc="upper center", ncols=2, handlelength=1.4, columnspacing=1.0, **ON_CURVES)
    return put_spectrum_heading(sheet, found)


@styled
def wave_map(found: Spectrum, ax: Axes | None = None) -> tuple[Figure, Axes]:
    """Power over wavenumber and frequency, and the dispersion of the case over it.

    Parameters
    ----------
    found : Spectrum
        With a map.
    ax : Axes, optional
        Of matplotlib, to draw into: the heading is then left to their figure.

    Returns
    -------
    Figure, Axes
    """
    need_spectrum(found)
    if not found.power.size:
        why = "; ".join(found.messages) or "nothing was recorded"
        raise GranchainError(
            f"wave_map: got a spectrum without map ({why}), allowed one with it; set an interval "
            "under [snapshots]"
        )
    sheet = Sheet(ax, 7.0, 4.6)
    axes = sheet.top
    top, kilo, unit = extent(found)
    top = min(top, float(found.cell_frequency[-1]))
    rows = found.cell_frequency <= top
    with np.errstate(divide="ignore"):
        level = np.maximum(10.0 * np.log10(found.power[rows]), -10.0 * DECADES_SHOWN)
    places = found.wavenumber / math.pi, kilo * found.cell_frequency[rows]
    # one column wide, a scale beside the map would narrow every panel
    bar: dict[str, Any] = (
        {"location": "bottom", "aspect": 36} if narrow() else {"pad": 0.02, "aspect": 24}
    )
    power = f"power of {found.measured.replace('_', ' ')} [dB]"
    colour_map(sheet, *places, level, power, {"cmap": "magma_r"}, **bar)
    each = "bead"
    if found.dispersion is not None:
        each, q = "cell", np.linspace(-math.pi, math.pi, 401)
        branches = kilo * found.dispersion.frequency(q)
        labels = ["dispersion", *["_branch"] * (branches.shape[1] - 1)]
        axes.plot(q / math.pi, branches, "--", color="#2a78c2", linewidth=1.0, label=labels)
        axes.legend(loc="upper right", **ON_CURVES)
    name = f"wavenumber [\N{GREEK SMALL LETTER PI} rad per {each}]"
    axes.set(xlim=(-1.0, 1.0), xticks=[-1.0, -0.5, 0.0, 0.5, 1.0], xlabel=name)
    axes.set(ylim=(0.0, kilo * top), ylabel=f"frequency [{unit}]")
    return put_spectrum_heading(sheet, found)


def need_spectrum(found: Any) -> None:
    """Refuse what is no spectrum, such as a result."""
    if not isinstance(found, Spectrum):
        got = f"a {type(found).__name__}"
        raise GranchainError(
            f"spectrum: got {got}, allowed a Spectrum; make it with granchain.spectrum(result)"
        )


def extent(found: Spectrum) -> tuple[float, float, str]:
    """The highest frequency that is shown [Hz], and its unit."""
    top = float(found.frequency[-1])
    if found.dispersion is not None:
        top = min(top, FREQUENCY_MARGIN * float(found.dispersion.band_edges[-1, 1]))
    return (top, 1e-3, "kHz") if top >= 1e3 else (top, 1.0, "Hz")


def put_spectrum_heading(sheet: Sheet, found: Spectrum) -> tuple[Figure, Any]:
    """Title, from where to where, and the resolution."""
    way = f"{found.source} to {found.sensor}"
    resolved = f"resolved to {found.resolution:.3g} Hz"
    title = found.title or "untitled case"
    return sheet.write(title, "simulated", f"contact law {found.law}", way, resolved)
