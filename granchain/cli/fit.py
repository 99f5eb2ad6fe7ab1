"""`granchain fit`: numbers of a case found from a measured trace."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from granchain.cli.compare import off_words
from granchain.cli.equivalent import FigureOption, OneThreadsOption, OutOption
from granchain.cli.options import (
    CaseArgument,
    JsonOption,
    LawModuleOption,
    OverwriteOption,
    SetOption,
    app,
    load_laws,
)
from granchain.cli.text import notify, number_text, paragraph, print_json, print_text, text_table

if TYPE_CHECKING:
    from granchain.comparison import Agreement
    from granchain.studies.fit import Fit


@app.command()
def fit(
    case: CaseArgument,
    trace: Annotated[
        str,
        typer.Option(
            "--trace",
            metavar="DIR",
            help="Folder of the trace, as `granchain traces import` makes it.",
        ),
    ],
    free: Annotated[
        list[str],
        typer.Option(
            "--free", metavar="KEY", help="A key of the case to be found: contact.psi. Repeat it."
        ),
    ],
    measure: Annotated[
        str,
        typer.Option(
            metavar="WHAT", help="What is fitted: peaks, arrivals, features (both), or traces."
        ),
    ] = "peaks",
    cutoff: Annotated[
        float | None,
        typer.Option(
            metavar="HZ",
            help="Frequency that the zero-phase filter halves, in both; 0: none. Default: as the "
            "trace says.",
        ),
    ] = None,
    changes: SetOption = None,
    threads: OneThreadsOption = None,
    law_module: LawModuleOption = None,
    figure: FigureOption = None,
    out: OutOption = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find numbers of a case from a measured trace, with errors, correlations and what is left
    at each sensor."""
    load_laws(law_module)
    from granchain.case import load_case
    from granchain.store.conclusion import claim_conclusion, save_conclusion
    from granchain.studies.fit import fit as fitted

    asked = load_case(case, changes or [])
    with claim_conclusion(out, overwrite):
        found = fitted(asked, trace, free, measure, cutoff=cutoff, threads=threads)
        if out is not None:
            save_conclusion(out, "fit", found.case, found.as_dict(), overwrite)
    if figure is not None:
        from granchain import figures

        drawn, _ = figures.fit(found)
        figures.save(drawn, figure, overwrite)
    if as_json:
        print_json(
            {
                "command": "fit",
                "case": case,
                "folder": trace,
                **found.as_dict(),
                "figure": figure,
                "out": out,
            }
        )
        return
    print_text("\n\n".join(print_fit(found)))
    for name in (figure, out):
        if name is not None:
            print_text(name)
    for message in found.messages:
        notify(message)


def print_fit(found: Fit) -> list[str]:
    """The values with their errors, their correlations, and every sensor."""
    about = found.trace.about
    parts = [paragraph(f"{about.title}: {found.trace.words}; fitted to {found.measure}.")]
    inner, outer = found.interval(0.9), found.interval(0.95)
    rows: list[tuple[str, ...]] = [
        ("key", "value", "+-", "90 % interval", "95 % interval", "began with")
    ]
    for key, value in found.values.items():
        error = f"{found.errors[key]:.2g}" if math.isfinite(found.errors[key]) else "not told"
        rows.append(
            (
                key,
                number_text(value),
                error,
                between(inner[key]),
                between(outer[key]),
                number_text(found.start[key]),
            )
        )
    parts.append(text_table(rows, "<>>>>>"))
    keys = list(found.values)
    if len(keys) > 1:
        rows = [("correlation", *keys)]
        for key, row in zip(keys, found.correlation, strict=True):
            rows.append((key, *(f"{one:+.3f}" if math.isfinite(one) else "-" for one in row)))
        parts.append(text_table(rows, "<" + ">" * len(keys)))
    rows = [
        (
            "bead",
            "peak [N]",
            "+-",
            "fitted",
            "off [%]",
            "arrival [us]",
            "+-",
            "fitted",
            "off [us]",
            "left [+-]",
        )
    ]
    for one in found.sensors:
        left = f"{one.residual:+.2g}" if math.isfinite(one.residual) else "-"
        rows.append(
            (
                str(one.bead),
                *fit_cells("peak", 1.0, one.peak),
                *fit_cells("arrival", 1e6, one.arrival),
                left,
            )
        )
    parts.append(text_table(rows, ">" * 10))
    if found.gain != 1.0:
        words = (
            "Calibration: the forces of the trace are taken to be "
            f"{100.0 * (found.gain - 1.0):+.2g} % off, within the uncertainty that"
        )
        parts.append(
            paragraph(f"{words} it states. The fitted forces above are shown as it reads them.")
        )
    if found.degrees_of_freedom:
        words = f"What is left scatters by {found.scatter:.2g} of its standard deviations"
        parts.append(paragraph(f"{words}, with {found.degrees_of_freedom:.3g} degrees of freedom."))
    return parts


def fit_cells(name: str, factor: float, side: Agreement) -> tuple[str, ...]:
    """A number as it was measured, as the fitted case has it, and their difference."""
    error = f"{factor * side.uncertainty:.2g}" if math.isfinite(side.uncertainty) else "-"
    return (
        number_text(factor * side.measured),
        error,
        number_text(factor * side.computed),
        off_words(name, factor, side),
    )


def between(ends: tuple[float, float]) -> str:
    """An interval in a table."""
    return f"{ends[0]:.5g} to {ends[1]:.5g}" if all(map(math.isfinite, ends)) else "-"
