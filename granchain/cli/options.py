"""The program, its exit codes, and what its commands share: arguments, and laws of the user's
own."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from granchain import __version__
from granchain.cli.text import print_text
from granchain.cli.waiting import Waiting
from granchain.errors import CaseError, GranchainError, LawError, nearest

if TYPE_CHECKING:
    from granchain.contact.law import ContactLaw

DONE, BUG, WRONG_INPUT, RUN_FAILED, FILE_OR_DISK, MISSED = 0, 1, 2, 3, 4, 5

# Dots an inch of a PNG for paper; for a screen it has those of the style.
PRINTED_DPI = 300.0

# rich would make the help prettier and take as long again as everything else.
app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Discrete-element simulation of one-dimensional chains of beads.",
    epilog=(
        "Exit codes: 0 done, 1 a defect of granchain, please report it with what `granchain info "
        "--system` prints, 2 wrong input, 3 the "
        "run failed, 4 file or disk, 5 a stated tolerance missed, 130 or 143 interrupted."
    ),
)


def words(incomplete: str, names: Iterable[str], ending: str = "") -> list[str]:
    """What completes a word that a shell asks about: names, and files here with this ending."""
    # a line of a shell is one word: a name with a line's end in it is none
    files = (
        sorted(
            path.name
            for path in Path().glob(f"*{ending}")
            if path.is_file() and path.name.isprintable()
        )
        if ending
        else []
    )
    return [name for name in [*names, *files] if name.startswith(incomplete)]


def case_words(incomplete: str) -> list[str]:
    """Built-in cases, and case files here."""
    from granchain.case.document import case_names

    return words(incomplete, case_names(), ".toml")


def built_in_words(incomplete: str) -> list[str]:
    """Built-in cases and mechanisms."""
    from granchain.case import case_names, mechanism_names

    return words(incomplete, [*case_names(), *mechanism_names()])


def law_words(incomplete: str) -> list[str]:
    """Contact laws; not those of a user's file, whose code is not run for this."""
    from granchain.contact import laws

    return words(incomplete, laws())


def material_words(incomplete: str) -> list[str]:
    """Named materials."""
    from granchain.material import MATERIALS

    return words(incomplete, MATERIALS)


CaseArgument = Annotated[
    str,
    typer.Argument(
        metavar="CASE",
        help="Path of a case file, or name of a built-in case.",
        show_default=True,
        autocompletion=case_words,
    ),
]
FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="Output file of a run.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a key of the case: contact.psi=2.9. May be repeated.",
    ),
]
LawModuleOption = Annotated[
    str | None,
    typer.Option(
        "--law-module",
        metavar="FILE",
        help="Python file with contact laws of your own. The code in it is run.",
    ),
]
WidthOption = Annotated[
    str | None,
    typer.Option(
        "--width", metavar="WIDTH", help="For a journal: single, 86 mm, or double, 178 mm."
    ),
]
OverwriteOption = Annotated[
    bool, typer.Option("--overwrite", help="Replace figures that are there.")
]
UnsealedOption = Annotated[
    bool,
    typer.Option(
        "--unsealed",
        help="Read a file that was edited, without its seal, all the same; at your own risk.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def _print_version(asked: bool) -> None:
    if asked:
        print_text(f"granchain {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """The program without a command."""
    if context.invoked_subcommand is None:
        print_text(context.get_help())


def the_one(name: str, names: Iterable[str], what: str, error: type[GranchainError]) -> str:
    """The name, if it is one of these."""
    known = list(names)
    if name not in known:
        near = nearest(name, known)
        advice = f'did you mean "{near}"?' if near else f"take one of: {', '.join(known)}"
        raise error(f'{what}: got "{name[:60]}", allowed a known name; {advice}')
    return name


def check_width(width: str | None) -> None:
    """Refuse a width that figures do not have."""
    from granchain.figures import page

    try:
        with page(width):
            pass
    except GranchainError as error:
        raise CaseError(f"--{error}") from None


def load_laws(law_module: str | None) -> None:
    """Load a user's contact laws; what their file prints is no result of ours."""
    if law_module is not None:
        from granchain.contact.user import load_law_module

        with contextlib.redirect_stdout(sys.stderr), Waiting(f"the code of law file {law_module}"):
            load_law_module(law_module)


@contextlib.contextmanager
def blamed(law: type[ContactLaw]) -> Iterator[Waiting | None]:
    """Where a user's law fails, or does not end, the message names the law."""
    from granchain.contact.user import blame, file_of, from_outside

    file = file_of(law)
    if file is None:
        yield None
        return
    named = f'contact law "{law.name}" of {file}'
    try:
        with Waiting(f"what compiles and runs the functions of {named}") as waiting:
            yield waiting
    except (GranchainError, MemoryError, OSError):
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and from_outside(error):
            raise
        raise LawError(f"{named}: {blame(error, file)}; mend it there") from error
