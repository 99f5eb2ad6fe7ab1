"""Commands `granchain laws` and `granchain materials`."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from typing import Annotated, Any

import typer

import granchain as gc
from granchain.cli.options import (
    MISSED,
    AnswerOption,
    JsonOption,
    LawModuleOption,
    OverwriteOption,
    app,
    chosen_laws,
    known_name,
    load_laws,
    naming_the_law,
    wanted_files,
)
from granchain.cli.text import (
    blocks_as_text,
    notify,
    print_json,
    print_result,
    print_text,
    text_width,
)
from granchain.errors import CaseError, clean
from granchain.markup import text_table

# Line width of the list of laws [characters].
LIST_WIDTH = 80


@app.command(epilog="In Python: `gc.laws()`, `gc.certificate(LAW)`.")
def laws(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Measure this law and print its verification report."),
    ] = None,
    law_module: LawModuleOption = None,
    as_json: JsonOption = False,
    out: AnswerOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """List the contact laws, or print the verification report of one law.

    It contains inputs, units, limits, source, and measured properties. If it reports a problem,
    the exit code is 5.
    """
    if out is not None and name is None:
        raise CaseError("laws: --out requires NAME. A file contains the report of one law.")
    load_laws(law_module)
    if name is None:
        facts = {"laws": [law_facts(law) for law in gc.laws().values()]}
        print_result("laws", facts, as_json, short_list)
        return
    (law,) = chosen_laws([name])
    with wanted_files(out, overwrite), naming_the_law(law):
        certificate = gc.certificate(law)
        if out is not None:
            certificate.save(out, overwrite)
    if as_json:
        report = {**law_facts(law), **certificate.as_dict()}
        print_json({"command": "laws", "laws": [report], "out": out})
    else:
        from granchain.show.law import law_page

        print_text(blocks_as_text(law_page(certificate)))
        print_text(out or "")
    if certificate.problems:
        notify("\n".join(certificate.problems))
        raise typer.Exit(MISSED)


def short_list() -> str:
    """Return a list of the laws by family, with one line per law."""
    from granchain.contact import families

    lines = []
    for family in families():
        available = text_width(LIST_WIDTH) - max(len(law.name) for law in family.laws) - 4
        rows = []
        for law in family.laws:
            summary = clean(law.summary()).removesuffix(".")
            if len(summary) > available:
                summary = textwrap.shorten(summary, max(available, 4), placeholder="...")
            rows.append((f"  {law.name}", summary))
        lines += [family.title, text_table(rows, "<<"), ""]
    return "\n".join([*lines, "granchain laws NAME    one law and its measured properties"])


def law_facts(law: type[gc.ContactLaw]) -> dict[str, Any]:
    """Return the declarations of a law for JSON."""
    return {
        "name": law.name,
        "summary": law.summary(),
        "inputs": [
            {
                "name": quantity.name,
                "unit": quantity.unit,
                "meaning": quantity.meaning,
                "allowed": quantity.range,
                "required": quantity.required,
                "default": None if quantity.required else quantity.default,
            }
            for quantity in law.inputs
        ],
        "source": {"text": law.source.text, "equation": law.source.equation, "doi": law.source.doi},
        "validity": law.validity,
        "status": law.status,
    }


@app.command(epilog="In Python: `gc.materials()`.")
def materials(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Material to print. Default: all."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the named materials, or print the constants of one and their sources."""
    from granchain.material import CONSTANTS, MATERIALS

    chosen = MATERIALS
    if name is not None:
        chosen = {name: MATERIALS[known_name(name, MATERIALS, "material", CaseError)]}
    heads = ("material", *(f"{called} [{unit}]" for called, unit in CONSTANTS.values()))
    rows = [
        (
            called,
            *(
                "-" if value is None else f"{value:g}"
                for value in (getattr(material, k) for k in CONSTANTS)
            ),
        )
        for called, material in chosen.items()
    ]
    facts = {"materials": {called: asdict(material) for called, material in chosen.items()}}
    lines = [
        text_table([heads, *rows], "<>>>>>"),
        *(f"{called}: {material.source}" for called, material in chosen.items()),
    ]
    print_result("materials", facts, as_json, lambda: "\n".join(lines))
