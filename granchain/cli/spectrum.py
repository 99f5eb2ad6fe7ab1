"""`granchain spectrum`: transmission from one place of a run to another, and the bands of its
chain."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from granchain.cli.equivalent import FigureOption
from granchain.cli.options import (
    PRINTED_DPI,
    FileArgument,
    JsonOption,
    LawModuleOption,
    OverwriteOption,
    UnsealedOption,
    WidthOption,
    app,
    check_width,
    load_laws,
)
from granchain.cli.text import notify, print_json, print_text, text_table
from granchain.errors import GranchainError

if TYPE_CHECKING:
    from granchain.waves.spectra import Spectrum


@app.command()
def spectrum(
    file: FileArgument,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="BEAD|END",
            help="Bead with a sensor, or left, right: a driven end. Default: that end.",
        ),
    ] = None,
    sensor: Annotated[
        str | None,
        typer.Option("--to", metavar="BEAD", help="Bead with a sensor. Default: the last one."),
    ] = None,
    segments: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Pieces that are averaged; fewer resolve frequencies better. Default: 8.",
        ),
    ] = None,
    law_module: LawModuleOption = None,
    figure: FigureOption = None,
    width: WidthOption = None,
    overwrite: OverwriteOption = False,
    unsealed: UnsealedOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say what a chain lets through: transmission between two places, band edges with their
    errors, frequency over wavenumber."""
    load_laws(law_module)
    check_width(width)
    from granchain.store import open_result
    from granchain.waves.spectra import SEGMENTS
    from granchain.waves.spectra import spectrum as found_in

    start = (
        source
        if source in (None, "left", "right")
        else whole_option("--from", str(source), "a bead, left or right")
    )
    end = None if sensor is None else whole_option("--to", sensor, "a bead")
    pieces = (
        SEGMENTS if segments is None else whole_option("--segments", segments, "a whole number")
    )
    found = found_in(open_result(file, unsealed=unsealed), start, end, segments=pieces)
    if figure is not None:
        from granchain import figures

        with figures.page(width):
            drawn, _ = figures.spectrum(found)
        figures.save(drawn, figure, overwrite, dpi=None if width is None else PRINTED_DPI)
    if as_json:
        print_json({"command": "spectrum", "file": file, **found.as_dict(), "figure": figure})
        return
    print_text(print_spectrum(found))
    if figure is not None:
        print_text(figure)
    for message in found.messages:
        notify(message)


def whole_option(option: str, text: str, allowed: str) -> int:
    """A whole number of the command line."""
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise GranchainError(
            f'{option}: got "{text[:60]}", allowed {allowed}; write for example {option} 8'
        )
    return int(text)


def print_spectrum(found: Spectrum) -> str:
    """From where to where, and every edge that was measured beside that of the dispersion."""
    top = float(found.frequency[-1])
    lines = [
        f"{found.source} to {found.sensor}: {len(found.frequency)} frequencies to {top:.6g} Hz, "
        f"{found.resolution:.4g} Hz apart"
    ]
    rows = [("band", "edge", "measured [Hz]", "+- [Hz]", "dispersion [Hz]", "off [%]")]
    for i, (edges, errors) in enumerate(
        zip(found.band_edges.tolist(), found.band_edge_errors.tolist(), strict=True)
    ):
        for j, name in enumerate(("begins", "ends")):
            there = (
                math.nan if found.dispersion is None else float(found.dispersion.band_edges[i, j])
            )
            off = (
                f"{100.0 * (edges[j] / there - 1.0):+.2f}"
                if there > 0.0 and math.isfinite(edges[j])
                else "-"
            )
            rows.append(
                (
                    str(i + 1),
                    name,
                    band_cell(edges[j], ".6g"),
                    band_cell(errors[j], ".2g"),
                    band_cell(there, ".6g"),
                    off,
                )
            )
    return "\n".join([*lines, *([text_table(rows, "><>>>>")] if len(rows) > 1 else [])])


def band_cell(value: float, form: str) -> str:
    """A number of the table; a dash where there is none."""
    return f"{value:{form}}" if math.isfinite(value) else "-"
