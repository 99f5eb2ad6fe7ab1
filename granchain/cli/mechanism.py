"""`granchain mechanism`: a slider-crank or a scotch yoke from its case to its output file, and
its table of checks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from granchain.cli.options import JsonOption, LawModuleOption, SetOption, app, blamed, load_laws
from granchain.cli.text import notify, number_text, print_json, print_text, text_table
from granchain.engine.garbage import no_collection
from granchain.errors import GranchainError, RunError
from granchain.plain_data import plain_data

if TYPE_CHECKING:
    from granchain.mechanism.checks import Check
    from granchain.store import Result


@app.command()
def mechanism(
    case: Annotated[
        str,
        typer.Argument(
            metavar="NAME|CASE",
            help="Built-in mechanism, slider-crank or scotch-yoke, or path of a case.",
        ),
    ],
    changes: SetOption = None,
    out: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Output file. Default: name of the case, here."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the output file if it exists.")
    ] = False,
    law_module: LawModuleOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a mechanism with play in a joint: its output file, and its table of checks."""
    target = Path(f"{Path(case).stem}.h5" if out is None else out)
    with no_collection():
        load_laws(law_module)
        result = computed_mechanism(case, changes or [], target, overwrite)
    print_mechanism(result, {"command": "mechanism", "file": str(target)}, as_json)
    if not as_json:
        print_text(f"{result.status.label}: {target}")


def computed_mechanism(name: str, changes: list[str], target: Path, overwrite: bool) -> Result:
    """Run a mechanism and write its file; the right to write it is taken before anything is
    computed."""
    from granchain.case import load_mechanism
    from granchain.contact import law_named
    from granchain.mechanism.runs import run_mechanism
    from granchain.store import claim

    case = load_mechanism(name, changes)
    with claim(target, overwrite):
        with blamed(law_named(case.contact.law)):
            try:
                result = run_mechanism(case)
            except RunError as error:
                raise RunError(
                    f"{error}\nNothing was saved: {target} was not written.", error.result
                ) from None
        result.save(target, overwrite)
    return result


def print_mechanism(result: Result, facts: dict[str, Any], as_json: bool) -> None:
    """The table of checks of a mechanism, and its messages."""
    for message in result.messages:
        if message.warning:
            notify(str(message))
    if as_json:
        print_json({**facts, **in_json(result)})
        return
    print_text(as_table(result))
    print_text("\n".join(message.text for message in result.messages if not message.warning))


def checks_or_notice(result: Result) -> list[Check]:
    """The checks of a mechanism's result; none, with a message, where its case cannot be read:
    its law is not installed, say."""
    from granchain.mechanism.checks import checks_of

    try:
        return checks_of(result)
    except GranchainError as error:
        notify(f"no table of checks: {error}")
        return []


def in_json(result: Result) -> dict[str, Any]:
    """Status and checks of a mechanism's result, ready for JSON; None for what is not there."""
    return {
        "title": result.title,
        "law": result.law,
        "status": result.status.label,
        "time_step": result.time_step,
        "end": float(result.time[-1]) if result.time.size else None,
        "checks": plain_data(checks_or_notice(result)),
        "messages": [message._asdict() for message in result.messages],
    }


def as_table(result: Result) -> str:
    """The checks in columns."""
    rows = [
        (
            check.what,
            number_text(check.value),
            "" if check.unit == "1" else check.unit,
            "" if check.printed is None else f"{check.printed:.5g}",
        )
        for check in checks_or_notice(result)
    ]
    return text_table([("check", "value", "", "printed"), *rows], "<><>") if rows else ""
