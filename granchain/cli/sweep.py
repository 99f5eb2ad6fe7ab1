"""`granchain sweep`: a study as a file describes it."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from granchain.cli.options import RUN_FAILED, JsonOption, LawModuleOption, app, blamed, load_laws
from granchain.cli.run import InterruptedRun, Interruption, Progress
from granchain.cli.text import notify, print_json, print_text, text_table
from granchain.errors import CaseError

if TYPE_CHECKING:
    from granchain.studies.sweep import Description

# Messages of members that are printed.
MOST_WARNINGS = 10


@app.command()
def sweep(
    context: typer.Context,
    file: Annotated[
        str,
        typer.Argument(
            metavar="SWEEP.toml",
            help="File that describes the study: its case, and what its keys take.",
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Output file. Default: name of the sweep file, here."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the output file if it exists.")
    ] = False,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Compute what the output file, whole or unfinished, does not hold."
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say how many members there are, and what they will take."),
    ] = False,
    threads: Annotated[
        int | None, typer.Option(metavar="N", help="Threads. Default: as many as processors.")
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Let the workers of this dask scheduler compute, tcp://HOST:8786.",
        ),
    ] = None,
    law_module: LawModuleOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a case over values of its keys, and over what is drawn of them."""
    if resume and overwrite:
        raise CaseError(
            "--resume, --overwrite: got both, allowed one: --resume goes on with a study, "
            "--overwrite begins it anew"
        )
    target = Path(f"{Path(file).stem}.h5" if out is None else out)
    with Interruption(bool(context.obj), as_json) as interruption:
        # what is done is in FILE.part: there is nothing that an interruption could lose
        interruption.in_vain = partial(interrupted, target)
        try:
            load_laws(law_module)
            from granchain.contact import laws
            from granchain.studies.elsewhere import dask_at
            from granchain.studies.sweep import estimate, load_sweep, swept

            asked = load_sweep(file)
            if dry_run:
                report_estimate(asked, estimate(asked.plan, asked.traces, threads), as_json)
                return
            progress = Progress(interruption, shown=sys.stderr.isatty())
            progress.title = asked.plan.case.title

            def advance(done: int, count: int) -> None:
                progress.show(done / count)

            with (
                progress,
                blamed(laws()[asked.plan.case.contact.law]),
                dask_at(dask) if dask else nullcontext() as executor,
            ):
                study = swept(
                    asked.plan, target, resume, overwrite, traces=asked.traces, executor=executor,
                    threads=threads, progress=advance,
                )  # fmt: skip
                # the file is there, and a signal changes nothing any more
                interruption.something_to_lose = True
        except KeyboardInterrupt:
            raise InterruptedRun(interruption.in_vain(), interruption.exit_code) from None
        ends = study.status.values.ravel().tolist()
        print_sweep(asked, study, target, as_json)
        if "interrupted" in ends:
            raise typer.Exit(interruption.exit_code)
        if "complete" not in ends:
            raise typer.Exit(RUN_FAILED)


def interrupted(target: Path) -> str:
    """What is printed of a study that was interrupted."""
    # in the middle of what may be its import
    part = getattr(sys.modules.get("granchain.store.study"), "part_beside", lambda path: None)(
        target
    )
    return f"interrupted; {target} was not written" + (
        f": go on from {part} with --resume" if part is not None else ""
    )


def report_estimate(asked: Description, found: Any, as_json: bool) -> None:
    """What a study will take."""
    if as_json:
        print_json(
            {
                "command": "sweep",
                **found,
                "dimensions": dict(zip(asked.plan.dims, asked.plan.shape, strict=True)),
            }
        )
        return
    print_text(
        text_table(
            [
                ("members", spanned(asked)),
                ("time", f"about {found['seconds']:.2g} s"),
                ("memory", f"at most {found['memory'] / 1e6:.2g} MB"),
                ("file", f"at most {found['file_size'] / 1e6:.2g} MB"),
            ],
            "<<",
        )
    )


def spanned(asked: Description) -> str:
    """How many members there are along each dimension."""
    dimensions = zip(asked.plan.dims, asked.plan.shape, strict=True)
    return f"{asked.plan.members}" + (
        f" ({', '.join(f'{n} {name}' for name, n in dimensions)})" if asked.plan.dims else ""
    )


def print_sweep(asked: Description, study: Any, target: Path, as_json: bool) -> None:
    """How the members ended, and where the file is."""
    ends, messages = study.status.values.ravel().tolist(), study.message.values.ravel().tolist()
    told = list(dict.fromkeys(message for message in messages if message))
    note = study.attrs.get("wave_speed_note", "")
    if as_json:
        print_json(
            {
                "command": "sweep",
                "file": str(target),
                "title": study.attrs["title"],
                "members": asked.plan.members,
                "dimensions": dict(zip(asked.plan.dims, asked.plan.shape, strict=True)),
                "status": {label: ends.count(label) for label in dict.fromkeys(ends)},
                "messages": told,
                "wave_speed_note": note,
            }
        )
        return
    for message in told[:MOST_WARNINGS]:
        notify(f"warning: {message}")
    if len(told) > MOST_WARNINGS:
        notify(f"warning: and {len(told) - MOST_WARNINGS} more messages, in the variable message")
    if note:
        notify(f"wave_speed: {note}")
    print_text(f"members {spanned(asked)}: {study.attrs['status']}")
    if "interrupted" not in ends:
        print_text(f"complete: {target}")
