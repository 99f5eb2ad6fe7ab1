"""Waves measured in a run: transmission with its coherence, and frequency over wavenumber."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from granchain.errors import GranchainError
from granchain.figures.frame import (
    figure_of,
    given_panels,
    narrow,
    new_figure,
    one_panel,
    palette,
    styled,
    write_heading,
)
from granchain.waves.spectra import INCOHERENT, Spectrum

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    count = 3 if mapped else 2
    if ax is None:
        figure = new_figure(7.0, 7.6 if mapped else 4.6)
        rows = figure.subplots(count, 1, height_ratios=[2.0, 0.7, 2.6][:count])
    else:
        rows = given_panels(ax, count)
        figure = figure_of(rows[0])
    transmission(found, rows[0])
    _, kilo, unit = extent(found)
    rows[0].set_xlabel("")
    rows[0].tick_params(labelbottom=False)
    rows[1].plot(kilo * found.frequency, found.coherence, color=palette()[1], linewidth=0.8)
    rows[1].set_xlim(rows[0].get_xlim())
    rows[1].set_ylim(-0.05, 1.05)
    rows[1].set_ylabel("coherence")
    rows[1].set_xlabel(f"frequency ({unit})")
    if mapped:
        wave_map(found, rows[2])
    if ax is None:
        spectrum_heading(rows[0], found)
        figure.align_ylabels(rows)
    return figure, rows


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
    figure, axes = one_panel(ax, 7.0, 3.6)
    top, kilo, unit = extent(found)
    shown = (found.frequency > 0.0) & (found.frequency <= top) & (found.transmission > 0.0)
    line, coherent = found.transmission[shown], found.coherence[shown] >= INCOHERENT
    axes.plot(
        kilo * found.frequency[shown],
        line,
        color=palette()[0],
        alpha=0.3,
        linewidth=0.8,
        label=f"coherence below {INCOHERENT:g}",
    )
    axes.plot(
        kilo * found.frequency[shown],
        np.where(coherent, line, math.nan),
        color=palette()[0],
        linewidth=1.0,
        label="transmission",
    )
    axes.set_yscale("log")
    axes.set_xlim(0.0, kilo * top)
    if found.dispersion is not None:
        for i, (low, high) in enumerate(found.dispersion.band_edges):
            label = "bands by dispersion" if i == 0 else "_band"
            axes.axvspan(
                kilo * low,
                min(kilo * high, kilo * top),
                color="#000000",
                alpha=0.07,
                linewidth=0.0,
                label=label,
                zorder=0,
            )
    edges, errors = found.band_edges.ravel(), found.band_edge_errors.ravel()
    for i, (edge, error) in enumerate(
        (e, r) for e, r in zip(edges, errors, strict=True) if e > 0.0
    ):
        label = (
            "edges measured" + ("" if narrow() else ", with their errors") if i == 0 else "_edge"
        )
        axes.axvline(kilo * edge, color=palette()[2], linewidth=0.9, linestyle="--", label=label)
        axes.axvspan(
            kilo * (edge - error),
            kilo * (edge + error),
            color=palette()[2],
            alpha=0.25,
            linewidth=0.0,
        )
    axes.set_ylabel("transmission" + (f" ({found.unit})" if found.unit != "1" else ""))
    axes.set_xlabel(f"frequency ({unit})")
    # the curve stays below the legend
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** LEGEND[narrow()])
    look: dict[str, Any] = {"handlelength": 1.4, "columnspacing": 1.0} if narrow() else {}
    axes.legend(
        loc="upper center",
        ncols=2,
        frameon=True,
        framealpha=0.85,
        edgecolor="none",
        fontsize=7,
        **look,
    )
    if ax is None:
        spectrum_heading(axes, found)
    return figure, axes


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
    figure, axes = one_panel(ax, 7.0, 4.6)
    top, kilo, unit = extent(found)
    top = min(top, float(found.cell_frequency[-1]))
    rows = found.cell_frequency <= top
    with np.errstate(divide="ignore"):
        level = np.maximum(10.0 * np.log10(found.power[rows]), -10.0 * DECADES_SHOWN)
    mesh = axes.pcolormesh(
        found.wavenumber / math.pi,
        kilo * found.cell_frequency[rows],
        level,
        shading="nearest",
        rasterized=True,
        cmap="magma_r",
    )
    name = {"velocity": "velocity", "sensor_force": "sensor force"}[found.measured]
    # one column wide, a scale beside the map would narrow every panel
    how: dict[str, Any] = (
        {"location": "bottom", "aspect": 36} if narrow() else {"pad": 0.02, "aspect": 24}
    )
    figure.colorbar(mesh, ax=axes, label=f"power of {name} (dB)", **how)
    if found.dispersion is not None:
        q = np.linspace(-math.pi, math.pi, 401)
        for i, branch in enumerate(found.dispersion.frequency(q).T):
            axes.plot(
                q / math.pi,
                kilo * branch,
                color="#2a78c2",
                linewidth=1.0,
                linestyle="--",
                label="dispersion" if i == 0 else "_branch",
            )
        axes.legend(loc="upper right", frameon=True, framealpha=0.85, edgecolor="none", fontsize=7)
    axes.set_xlim(-1.0, 1.0)
    axes.set_xticks([-1.0, -0.5, 0.0, 0.5, 1.0])
    axes.set_ylim(0.0, kilo * top)
    each = "cell" if found.dispersion is not None else "bead"
    axes.set_xlabel(f"wavenumber (\N{GREEK SMALL LETTER PI} rad per {each})")
    axes.set_ylabel(f"frequency ({unit})")
    if ax is None:
        spectrum_heading(axes, found)
    return figure, axes


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


def spectrum_heading(axes: Axes, found: Spectrum) -> None:
    """Title, from where to where, and the resolution."""
    parts = [
        "simulated",
        f"contact law {found.law}",
        f"{found.source} to {found.sensor}",
        f"resolved to {found.resolution:.3g} Hz",
    ]
    write_heading(axes, found.title or "untitled case", parts)
