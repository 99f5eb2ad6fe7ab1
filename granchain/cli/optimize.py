"""The command that searches the best design: `granchain optimize`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from granchain.cli.options import (
    CaseArgument,
    JsonOption,
    LawModuleOption,
    LawPackageOption,
    OverwriteOption,
    ResumeOption,
    SetOption,
    ThreadsOption,
    app,
    blamed,
    load_laws,
    named_values,
)
from granchain.cli.run import Progress, check_resume
from granchain.cli.signals import Interruption
from granchain.cli.text import print_result, text_table

if TYPE_CHECKING:
    from granchain.studies.optimize import Optimum


@app.command()
def optimize(
    context: typer.Context,
    case: CaseArgument,
    over: Annotated[
        list[str],
        typer.Option(
            metavar="KEY=LOW:HIGH",
            help="A number of the case, or a list with one for each bead or gap, and its bounds. "
            "Repeat it.",
        ),
    ],
    minimize: Annotated[
        str,
        typer.Option(
            metavar="WHAT",
            help="What is to be small: peak, of the sensor beads; peak:BEAD; wall_force, on a wall "
            "at the right end; transmitted_momentum.",
        ),
    ] = "peak",
    subject_to: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT=LOW:HIGH", help="What has to lie between two bounds. May be repeated."
        ),
    ] = None,
    changes: SetOption = None,
    generations: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Most of the search over the box; 0: none."),
    ] = 100,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the search.")] = 0,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FILE.toml", help="Case file of the best design so far."),
    ] = None,
    overwrite: OverwriteOption = False,
    resume: ResumeOption = False,
    threads: ThreadsOption = None,
    law_module: LawModuleOption = None,
    law_package: LawPackageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the numbers of a case, within bounds, that make a number of its run smallest: a search
    over the whole box, then down from the best."""
    check_resume(resume, overwrite)
    with Interruption(bool(context.obj), as_json) as interruption:
        # what is computed is in FILE.part: there is nothing that an interruption could lose
        kept = "nothing was kept; name a file with --out"
        kept = kept if out is None else f"see {out}, go on from {out}.part with --resume"
        interruption.in_vain = lambda: f"interrupted; {kept}"
        load_laws(law_module, law_package)
        from granchain.case import load_case
        from granchain.contact import law_named
        from granchain.studies.optimize import optimize as optimized

        asked = load_case(case, changes or ())
        limits = named_values("--subject-to", subject_to or (), "peak:5=0:40", parts=2)
        progress = Progress(interruption, Path(out or case), sys.stderr.isatty(), asked.title)
        with progress, blamed(law_named(asked.contact.law)):
            found = optimized(
                asked, named(minimize),
                named_values("--over", over, "chain.radius_factor=0.7:1.3", parts=2),
                [(named(what), *bounds) for what, bounds in limits.items()],
                generations=generations, seed=seed, out=out, resume=resume,
                overwrite=overwrite, threads=threads,
                progress=lambda done, most: progress.show(done / most),
            )  # fmt: skip
    facts = {"case": case, "minimize": minimize, **found.as_dict(), "out": out}
    print_result(
        "optimize", facts, as_json, partial(words, found, list(limits), out), found.messages
    )


def named(what: str) -> Any:
    """What is differentiated by its name: "peak:5" is that of bead 5."""
    name, _, bead = what.partition(":")
    return (name, int(bead)) if bead.isdecimal() else what


def words(found: Optimum, limited: list[str], out: str | None) -> str:
    """The best design, number by number."""
    rows = [
        ("smallest", f"{found.value:.6g}"),
        ("of the case", f"{found.start:.6g}"),
        *((one, f"{value:.6g}") for one, value in zip(limited, found.limited, strict=True)),
        *found.rows(),
    ]
    return text_table(rows, "<>") + (f"\ncase: {out}" if out else "")
