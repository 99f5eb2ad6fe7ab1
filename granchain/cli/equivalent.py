"""`granchain equivalent`: with which inputs laws stand in for another one in a chain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from granchain.cli.options import (
    CaseArgument,
    JsonOption,
    LawModuleOption,
    OverwriteOption,
    SetOption,
    app,
    law_words,
    load_laws,
)
from granchain.cli.text import notify, number_text, paragraph, print_json, print_text, text_table
from granchain.errors import CaseError

if TYPE_CHECKING:
    from granchain.case import Case
    from granchain.studies.equivalent import Equivalent, Moved

OutOption = Annotated[
    str | None, typer.Option("--out", metavar="FILE.json", help="Keep what was found in this file.")
]
FigureOption = Annotated[
    str | None,
    typer.Option("--figure", metavar="FILE", help="Figure, ending in .png, .pdf or .svg."),
]
OneThreadsOption = Annotated[
    int | None,
    typer.Option("--threads", metavar="N", help="Threads; as many as processors, unless given."),
]


@app.command()
def equivalent(
    case: CaseArgument,
    law: Annotated[
        list[str],
        typer.Option(
            "--law",
            metavar="LAW",
            help='A law to try; with inputs: \'{ law = "flores", damping = "identified" }\'. '
            "Repeat it.",
        ),
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="LAW",
            help="The law that is to be stood in for.",
            autocompletion=law_words,
        ),
    ] = "ma-liu",
    free: Annotated[
        list[str] | None,
        typer.Option(
            "--free",
            metavar="KEY=LOW:HIGH",
            help="An input to search, with its range. Default: restitution=0.05:0.99.",
        ),
    ] = None,
    measure: Annotated[
        str, typer.Option(metavar="WHAT", help="What is compared: peaks, arrivals or traces.")
    ] = "peaks",
    moves: Annotated[
        bool, typer.Option(help="Find the answer again at other striker speeds and chain lengths.")
    ] = True,
    changes: SetOption = None,
    threads: OneThreadsOption = None,
    law_module: LawModuleOption = None,
    figure: FigureOption = None,
    out: OutOption = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find the inputs, such as the restitution, with which laws come nearest to what another
    law does in a chain."""
    load_laws(law_module)
    from granchain.case import load_case
    from granchain.case.document import toml_value
    from granchain.store.conclusion import claim_conclusion, save_conclusion
    from granchain.studies.equivalent import FREE_RESTITUTION
    from granchain.studies.equivalent import equivalent as searched

    asked = load_case(case, changes or [])
    ranges = read_ranges(free) if free else dict(FREE_RESTITUTION)
    with claim_conclusion(out, overwrite):
        laws = [toml_value(one) if one.lstrip().startswith("{") else one for one in law]
        found = searched(
            asked, to=to, laws=laws, free=ranges, measure=measure, moves=moves, threads=threads
        )
        first = found[0]
        facts = {
            "to": first.to,
            "measure": first.measure,
            "free": {name: list(ends) for name, ends in first.free.items()},
            "sensor_bead": list(first.sensor_bead),
            "laws": [one.as_dict() for one in found],
        }
        if out is not None:
            save_conclusion(out, "equivalence", asked, facts, overwrite)
    if figure is not None:
        from granchain import figures

        drawn, _ = figures.equivalence(found)
        figures.save(drawn, figure, overwrite)
    if as_json:
        print_json({"command": "equivalent", "case": case, **facts, "figure": figure, "out": out})
        return
    print_text("\n\n".join(print_equivalence(asked, found)))
    for name in (figure, out):
        if name is not None:
            print_text(name)
    for one in found:
        for message in one.messages:
            notify(message)


def read_ranges(items: Sequence[str]) -> dict[str, tuple[float, float]]:
    """KEY=LOW:HIGH as numbers."""
    found, problems = {}, []
    for item in items:
        key, _, ends = item.partition("=")
        low, _, high = ends.partition(":")
        try:
            found[key.strip()] = (float(low), float(high))
        except ValueError:
            problems.append(
                f'--free: got "{item[:60]}", allowed KEY=LOW:HIGH; write for example --free '
                "restitution=0.05:0.99"
            )
    if problems:
        raise CaseError(problems)
    return found


def print_equivalence(case: Case, found: Sequence[Equivalent]) -> list[str]:
    """The ranking, what remains bead by bead, and how the answers move."""
    first = found[0]
    what = {
        "peaks": "peaks of the first pulse",
        "arrivals": "arrivals of the first pulse",
        "traces": "whole traces",
    }[first.measure]
    parts = [
        paragraph(
            f"{case.title}: which law does what {first.to} does, by the {what} at "
            f"{len(first.sensor_bead)} sensors?"
        )
    ]
    rows = [("rank", "law", *first.free, "residual [%]", "largest [%]")]
    for one in found:
        values = [number_text(one.inputs.get(name, math.nan)) for name in first.free]
        rows.append(
            (
                str(one.rank),
                one.law,
                *values,
                number_text(100.0 * one.residual),
                number_text(100.0 * abs(one.per_bead).max()),
            )
        )
    parts.append(text_table(rows, "><" + ">" * (len(rows[0]) - 2)))
    for rank in sorted({one.rank for one in found}):
        tied = [one.law for one in found if one.rank == rank]
        if len(tied) > 1:
            parts.append(
                paragraph(
                    f"{', '.join(tied)} reach the same residual: at these inputs they do the same "
                    "in this chain."
                )
            )
    heads = ("bead", *(one.law for one in found))
    rows = [heads]
    for k, bead in enumerate(first.sensor_bead):
        left = [100.0 * one.per_bead[k] for one in found]
        rows.append(
            (str(bead), *(f"{value:+.3g}" if math.isfinite(value) else "-" for value in left))
        )
    sign = (
        "norm of the difference" if first.measure == "traces" else f"more or less than {first.to}"
    )
    parts.append(f"what remains unexplained, {sign} [%]\n" + text_table(rows, ">" * len(heads)))
    if any(one.moves for one in found):
        parts.append(table_of_moves(found))
    return parts


def table_of_moves(found: Sequence[Equivalent]) -> str:
    """The answers for other striker speeds and chain lengths, a column a law."""
    moves: dict[tuple[str, float], dict[str, Moved]] = {}
    for one in found:
        for move in one.moves:
            moves.setdefault((move.key, move.value), {})[one.law] = move
    heads = ("", "", *(one.law for one in found))
    rows = [
        heads,
        (
            "",
            "as it is",
            *(equivalent_cell(one.inputs, one.residual, one.at_bound) for one in found),
        ),
    ]
    for (key, value), of_laws in moves.items():
        there = [of_laws.get(one.law) for one in found]
        cells = [
            "-" if move is None else equivalent_cell(move.inputs, move.residual, move.at_bound)
            for move in there
        ]
        rows.append((key, f"{value:g}", *cells))
    names = ", ".join(found[0].free)
    return (
        f"how the answer moves: {names}, and residual [%]; * at an end of its range\n"
        + text_table(rows, "<" + ">" * (len(heads) - 1))
    )


def equivalent_cell(inputs: dict[str, float], residual: float, at_bound: Sequence[str]) -> str:
    """An answer in a table."""
    values = ", ".join(
        f"{value:.3g}{'*' if name in at_bound else ''}" for name, value in inputs.items()
    )
    return f"{values} ({100.0 * residual:.2g})" if inputs else "-"
