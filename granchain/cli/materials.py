"""`granchain materials`: the named materials, with their sources."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from granchain.cli.options import JsonOption, app, material_words, the_one
from granchain.cli.text import print_json, print_text, text_table
from granchain.errors import CaseError


@app.command()
def materials(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="Material to show. Default: all.", autocompletion=material_words
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the named materials, or show one: its constants, and where they come from."""
    from granchain.material import MATERIALS

    known = (
        MATERIALS
        if name is None
        else {name: MATERIALS[the_one(name, MATERIALS, "material", CaseError)]}
    )
    if as_json:
        print_json(
            {
                "command": "materials",
                "materials": {each: asdict(material) for each, material in known.items()},
            }
        )
        return
    heads = (
        "material",
        "Young's modulus [Pa]",
        "Poisson's ratio [1]",
        "density [kg/m^3]",
        "yield stress [Pa]",
        "hardness [Pa]",
    )
    rows = []
    for each, it in known.items():
        values = (it.youngs_modulus, it.poissons_ratio, it.density, it.yield_stress, it.hardness)
        rows.append((each, *("-" if value is None else f"{value:g}" for value in values)))
    print_text(text_table([heads, *rows], "<>>>>>"))
    print_text("\n".join(f"{each}: {it.source}" for each, it in known.items()))
