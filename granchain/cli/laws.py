"""`granchain laws`: the contact laws, what they declare, and what is measured."""

from __future__ import annotations

import json
import os
import signal
import sys
import textwrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from granchain.cli.options import (
    MISSED,
    JsonOption,
    LawModuleOption,
    app,
    blamed,
    law_words,
    load_laws,
    the_one,
)
from granchain.cli.text import (
    blocks_as_text,
    line_width,
    notify,
    print_json,
    print_text,
    text_table,
)
from granchain.errors import CaseError, LawError, clean

if TYPE_CHECKING:
    from granchain.certificates import Certificate
    from granchain.contact.law import ContactLaw


@app.command()
def laws(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Measure this law and print its certificate.",
            autocompletion=law_words,
        ),
    ] = None,
    law_module: LawModuleOption = None,
    as_json: JsonOption = False,
    as_markdown: Annotated[
        bool,
        typer.Option(
            "--markdown", help="Print Markdown; without NAME the reference of all laws, measured."
        ),
    ] = False,
    long: Annotated[
        bool,
        typer.Option("--long", help="List every law with its inputs, units, limits and source."),
    ] = False,
) -> None:
    """List the contact laws, or print the certificate of one: inputs, units, limits, source, and
    what it delivers.

    Exit code 5 where a law's certificate names a problem.
    """
    if as_json and as_markdown:
        raise CaseError("laws: got --json and --markdown, allowed one of the two; leave one out")
    if long and (name is not None or as_json or as_markdown):
        other = "--json" if as_json else "--markdown" if as_markdown else f"the law {name}"
        raise CaseError(
            f"laws: got --long and {other}, allowed --long alone, for all laws in a table; leave "
            "one out"
        )
    load_laws(law_module)
    from granchain.contact import laws

    known = laws()
    if name is None and not as_markdown:
        if as_json:
            print_json({"command": "laws", "laws": [law_facts(law) for law in known.values()]})
        elif long:
            print_text(text_table(map(law_row, known.values()), columns=LAW_COLUMNS))
        else:
            print_text(short_list())
        return
    chosen = (
        list(known.values())
        if name is None
        else [known[the_one(name, known, "contact law", LawError)]]
    )
    certificates = measured_certificate(chosen, law_module)
    if as_json:
        print_json(
            {
                "command": "laws",
                "laws": [{**law_facts(one.law), **one.to_dict()} for one in certificates],
            }
        )
    else:
        from granchain.pages.blocks import markdown
        from granchain.pages.law import law_page, reference_page

        blocks = reference_page(certificates) if name is None else law_page(certificates[0])
        print_text(markdown(blocks).rstrip("\n") if as_markdown else blocks_as_text(blocks))
    problems = [problem for one in certificates for problem in one.problems]
    if problems:
        notify("\n".join(problems))
        raise typer.Exit(MISSED)


def measured_certificate(
    chosen: list[type[ContactLaw]], law_module: str | None
) -> list[Certificate]:
    """Certificates, in the order of the laws; many laws are shared out to the processors, those
    with one compiled loop to one of them."""
    groups: dict[tuple[Any, ...], list[str]] = {}
    for law in chosen:
        groups.setdefault(law.functions(), []).append(law.name)
    workers = min(
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1, len(groups)
    )
    if workers < 2:
        return certificates_of([law.name for law in chosen])
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # the process that clears away behind those that a signal ends would say so
    sys.warnoptions.append("ignore:resource_tracker")
    with ProcessPoolExecutor(workers, get_context("spawn"), begin_worker, (law_module,)) as pool:
        found = {
            one.law.name: one
            for several in pool.map(certificates_of, groups.values())
            for one in several
        }
    return [found[law.name] for law in chosen]


def begin_worker(law_module: str | None) -> None:
    """A process that measures laws: it knows the user's, and leaves an interruption to the one
    that began it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    load_laws(law_module)


def certificates_of(names: list[str]) -> list[Certificate]:
    """Certificates, one after the other."""
    from granchain.certificates import certificate
    from granchain.contact import laws

    found = []
    for name in names:
        with blamed(laws()[name]):
            found.append(certificate(name))
    return found


def short_list() -> str:
    """Names and what they are in a line each, family by family."""
    from granchain.contact import families

    width = min(line_width(), LIST_WIDTH)
    lines = []
    for family in families():
        lines += [family.title]
        column = max(len(law.name) for law in family.laws)
        lines += [
            text_table(
                [
                    (f"  {law.name}", beginning(law.summary(), width - column - 4))
                    for law in family.laws
                ],
                "<<",
            ),
            "",
        ]
    return "\n".join([*lines, LIST_END])


def beginning(text: str, width: int) -> str:
    """A text if it fits; else up to a sign that ends a part of it; else up to a word."""
    text = clean(text).removesuffix(".")
    if len(text) <= width:
        return text
    # before a colon stands a name, before a comma there may be one word
    ends = [
        at
        for sign, least in ((": ", 1), ("; ", LIST_PART), (", ", LIST_PART))
        if (at := text.rfind(sign, 0, width + 1)) >= least
    ]
    return text[: max(ends)] if ends else textwrap.shorten(text, max(width, 4), placeholder="...")


# Characters in a line of the list, which is for a glance; and in the shortest part of a sentence
# that says something.
LIST_WIDTH, LIST_PART = 80, 20
LIST_END = """granchain laws NAME    one law, and what was measured of it
granchain laws --long  all with inputs, limits and sources"""

LAW_COLUMNS = ("law", "what it is", "inputs", "source")


def law_row(law: type[ContactLaw]) -> tuple[str, ...]:
    """Cells of a law for `LAW_COLUMNS`."""
    lines = []
    for quantity in law.inputs:
        unit = f" [{quantity.unit}]" if quantity.unit else ""
        default = (
            ""
            if quantity.required or quantity.default is None
            else f", default {json.dumps(quantity.default)}"
        )
        lines.append(f"{quantity.name}{unit}: {quantity.range}{default}")
    return law.name, law.summary(), "\n".join(lines) or "none", str(law.source)


def law_facts(law: type[ContactLaw]) -> dict[str, Any]:
    """What a law declares, for JSON."""
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
