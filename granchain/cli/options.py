"""The program, its exit codes, and shared parts of its commands: arguments, and loading the user's
contact laws."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from traceback import walk_tb
from typing import Annotated, Any

import typer

import granchain as gc
from granchain.cli.text import answer_as_text, print_result, print_text
from granchain.errors import CaseError, GranchainError, LawError, suggestion

DONE, BUG, WRONG_INPUT, RUN_FAILED, FILE_OR_DISK, MISSED = 0, 1, 2, 3, 4, 5

# Help formatted with rich would double the start-up time.
app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Simulate one-dimensional chains of beads with the discrete element method.",
    epilog=(
        "Exit codes: 0 success, 1 bug in granchain, 2 invalid input, 3 failed run, 4 file or disk "
        "error, 5 tolerance missed, 129, 130, or 143 interrupted."
    ),
)


def above_zero(text: str) -> float:
    """Return a finite number above 0."""
    value = float(text)
    if not 0.0 < value < math.inf:
        raise ValueError(f"{text} is not a finite number greater than 0")
    return value


CaseArgument = Annotated[
    str,
    typer.Argument(
        metavar="CASE",
        help="Built-in case, or path of a case file.",
        show_default=True,
    ),
]
FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="Result file of a run.")]
FilesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Output files of granchain, all of one kind.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a key of the case, for example contact.psi=2.9. Repeatable.",
    ),
]
LawModuleOption = Annotated[
    str | None,
    typer.Option(
        "--law-module",
        metavar="FILE",
        help="Load contact laws from this Python file. Its code is run.",
    ),
]
OutOption = Annotated[
    str | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help="Output file. Default: the name of the input with .h5, in the current directory.",
    ),
]
AnswerOption = Annotated[
    str | None,
    typer.Option(
        "--out",
        metavar="FILE.h5",
        help="Write the answer to this file, for `granchain report` and gc.open.",
    ),
]
FigureOption = Annotated[
    str | None,
    typer.Option(
        "--figure",
        metavar="FILE",
        help="Write a figure to this file, with the ending .png, .pdf, or .svg.",
    ),
]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Overwrite existing files.")]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Resume an interrupted or killed computation.")
]
ThreadsOption = Annotated[
    int | None,
    typer.Option(
        "--threads",
        metavar="N",
        min=1,
        max=4096,
        help="Number of threads, 1 to 4096. Does not affect the results. Default: the number of "
        "processors.",
    ),
]
ChainThreadsOption = Annotated[
    int,
    typer.Option(
        "--threads",
        metavar="N",
        min=1,
        max=4096,
        help="Number of threads for a chain of more than about 10,000 beads, 1 to 4096. Does not "
        "affect the results.",
    ),
]
TraceOption = Annotated[
    str,
    typer.Option(
        "--trace", metavar="DIR", help="Folder of the trace, written by `granchain traces import`."
    ),
]
CutoffOption = Annotated[
    float | None,
    typer.Option(
        "--cutoff",
        metavar="HZ",
        min=0.0,
        max=1e300,
        help="Cutoff frequency [Hz] of the zero-phase filter for both sides (half amplitude); 0 "
        "for no filter. Default: the value in the trace.",
    ),
]
TitleOption = Annotated[
    bool,
    typer.Option(
        "--no-title",
        help="Leave out title and heading. State in your caption that the data is simulated.",
    ),
]
NoVerifyOption = Annotated[
    bool,
    typer.Option(
        "--no-verify",
        help="Read the file even if its checksum is missing or invalid. Use at your own risk: "
        "HDF5 may crash or hang.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def _print_version(requested: bool) -> None:
    """Print the version and end the command, if requested."""
    if requested:
        print_text(f"granchain {gc.__version__}")
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
    """Print the help if there is no command."""
    if context.invoked_subcommand is None:
        print_text(context.get_help())


def known_name(name: str, names: Iterable[str], what: str, error: type[GranchainError]) -> str:
    """Return the name if it is known."""
    choices = list(names)
    if name not in choices:
        advice = suggestion(name, choices, f"It must be one of {', '.join(choices)}.")
        raise error(f'{what}: unknown name "{name[:60]}". {advice}')
    return name


def chosen_laws(names: Iterable[str]) -> list[type[gc.ContactLaw]]:
    """Return the contact laws of these names, each once."""
    from granchain.contact import law_named

    return [law_named(name) for name in dict.fromkeys(names)]


def named_values(option: str, items: Iterable[str], example: str, count: int = 1) -> dict[str, Any]:
    """Return NAME=VALUE items as numbers, or NAME=LOW:HIGH items as pairs; names are not checked.

    Parameters
    ----------
    option : str
    items : iterable of str
    example : str
        Valid item for the error message.
    count : int
        Number of numbers in a value.
    """
    values_by_name: dict[str, Any] = {}
    for item in items:
        name, _, text = item.partition("=")
        try:
            values = tuple(map(float, text.split(":")))
        except ValueError:
            values = ()
        if len(values) != count:
            form = "NAME=VALUE" if count == 1 else "KEY=LOW:HIGH"
            raise CaseError(
                f'{option}: "{item[:60]}" is not valid. It must have the form {form}, for '
                f"example {option} {example}."
            )
        values_by_name[name.strip()] = values[0] if count == 1 else values
    return values_by_name


@contextlib.contextmanager
def wanted_files(out: str | None, overwrite: bool, figure: str | None = None) -> Iterator[None]:
    """Check, before anything is computed, that an answer and a figure can be written.

    The file of the answer is locked in this context. Its name must end in .h5.
    """
    from granchain.store import claim
    from granchain.store.files import check_new, file_ending

    if figure is not None:
        from granchain.figures.style import FORMATS

        check_new(figure, FORMATS, overwrite)
    if out is not None:
        file_ending(out, (".h5",))
    with contextlib.nullcontext() if out is None else claim(out, overwrite):
        yield


def computed(
    compute: Callable[[], Any],
    laws: Iterable[Any],
    out: str | None,
    overwrite: bool,
    draw: Callable[..., Any] | None = None,
    figure: str | None = None,
    title: bool = True,
) -> Any:
    """Compute an answer, and write its file and its figure, if they are requested.

    If the code of a user's contact law fails, the message names it. An entry of `laws` is a name,
    or a table with a law and its inputs.
    """
    names = (str(entry.get("law") if isinstance(entry, dict) else entry) for entry in laws)
    with wanted_files(out, overwrite, figure):
        with naming_the_law(*names):
            answer = compute()
        if out is not None:
            gc.save(answer, out, overwrite=overwrite)
        if draw is not None:
            save_figure(draw, figure, overwrite, answer, title=title)
    return answer


def compute_and_print(
    command: str,
    subject: dict[str, str],
    compute: Callable[[], Any],
    draw: Callable[..., Any],
    figure: str | None,
    out: str | None,
    overwrite: bool,
    as_json: bool,
    laws: Iterable[Any] = (),
    title: bool = True,
) -> None:
    """Compute an answer, write its files as in `computed`, and print it.

    `subject` contains the case or the file for JSON.
    """
    from granchain.store.answer import plain_answer

    answer = computed(compute, laws, out, overwrite, draw, figure, title)
    facts = {**subject, **plain_answer(answer), "figure": figure, "out": out}
    print_result(command, facts, as_json, partial(answer_as_text, answer), facts["messages"])


def save_figure(
    draw: Callable[..., Any], target: str | None, overwrite: bool, *drawn: Any, title: bool = True
) -> None:
    """Draw a figure and save it, if a file is given."""
    if target is None:
        return
    from granchain.figures.style import FORMATS, SHEET, context_of, image_of
    from granchain.store.files import file_ending, write_atomically

    ending = file_ending(target, FORMATS)
    with context_of(SHEET):
        figure = draw(*drawn)
        if not title:
            figure.suptitle("")
        write_atomically(target, image_of(figure, ending), overwrite, (FORMATS[ending],))


def load_laws(law_module: str | None) -> None:
    """Load the contact laws of a user's file, if there is one.

    Text that its code prints goes to standard error.
    """
    if law_module is None:
        return
    from granchain.contact.user import load_law_module

    with contextlib.redirect_stdout(sys.stderr):
        load_law_module(law_module)


def loaded_case(case: str, changes: list[str] | None, law_module: str | None) -> gc.Case:
    """Load a case after the contact laws that it may use."""
    load_laws(law_module)
    return gc.load_case(case, changes or ())


@contextlib.contextmanager
def naming_the_law(*laws: str | type[gc.ContactLaw]) -> Iterator[None]:
    """Name the user's contact law in the message if its code fails.

    A text may list several laws, as `case.law` does. If a user defined several of them, the message
    names the first one in the traceback, or else the first one.
    """
    from granchain.contact import law_named
    from granchain.contact.user import blame, file_of, from_outside

    names = [name for law in laws for name in (law.split(", ") if isinstance(law, str) else [law])]
    try:
        yield
    except (GranchainError, MemoryError, OSError):
        raise
    except BaseException as error:
        classes = [
            law_named(name) for name in names if not isinstance(name, str) or name in gc.laws()
        ]
        files = {law: file for law in classes if (file := file_of(law)) is not None}
        if not files or from_outside(error):
            raise
        called = [frame.f_code.co_qualname for frame, _ in walk_tb(error.__traceback__)]
        in_traceback = (
            law for law in files if any(name.startswith(f"{law.__qualname__}.") for name in called)
        )
        law = next(in_traceback, next(iter(files)))
        named = f'contact law "{law.name}" of {files[law]}'
        raise LawError(f"{named}: {blame(error, files[law])}. Fix it in that file.") from error
