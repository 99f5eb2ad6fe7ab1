"""`granchain report`: one page of HTML about the files of a computation."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from granchain.cli.options import LawModuleOption, UnsealedOption, app, load_laws
from granchain.cli.text import print_text
from granchain.errors import FileError


@app.command()
def report(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help="Output files, and what --out FILE.json of a command wrote."
        ),
    ],
    out: Annotated[str, typer.Option(metavar="PAGE.html", help="The page.")] = "report.html",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a report of that name.")
    ] = False,
    law_module: LawModuleOption = None,
    unsealed: UnsealedOption = False,
) -> None:
    """Write a page of HTML about output files: it needs no network and no script to be read."""
    from granchain.store import write_whole

    if not out.lower().endswith((".html", ".htm")):
        raise FileError(f"{out}: got another ending, allowed .html; name the page accordingly")
    if os.path.lexists(out) and not overwrite:
        raise FileError(
            f"{out}: got a file that exists and is kept, allowed a new one; name another with "
            "--out, or give --overwrite"
        )
    load_laws(law_module)
    from granchain.pages.blocks import PAGE_MARK
    from granchain.pages.report import report as page_of

    write_whole(out, page_of(files, unsealed), overwrite, marks=(PAGE_MARK,))
    print_text(out)
