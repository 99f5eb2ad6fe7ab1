"""The command line: text, tables and exit codes; no physics.

Standard output carries the result and nothing else, standard error what is said on the way. No input ends in a traceback. What is slow to
load is imported by the command that uses it: `granchain --help` takes a tenth of a second.
"""

from __future__ import annotations

import contextlib
import gc
import json
import math
import os
import signal
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TextIO

import typer
from typer.exceptions import TyperException

from granchain import __version__
from granchain.errors import CaseError, FileError, GranchainError, GranchainWarning, LawError, RunError

if TYPE_CHECKING:
    from granchain.analysis import Summary
    from granchain.case import Case
    from granchain.contact.law import ContactLaw, Quantity
    from granchain.output import Result

DONE, BUG, WRONG_INPUT, RUN_FAILED, FILE_OR_DISK = 0, 1, 2, 3, 4
# A process that a signal has ended: 128 and the signal's number (POSIX shell, 2.8.2).
SIGNALLED = 128

# Version of the objects that --json prints.
SCHEMA = 1

# A run shorter than this ends before anyone has read a progress bar [s]; it is drawn anew this often [s].
BAR_AFTER = 1.0
BAR_EVERY = 0.1

# Characters in a line of a table that is not read on a terminal.
PIPE_WIDTH = 140

# rich would make the help prettier and take as long again as everything else.
app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_show_locals=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Discrete-element simulation of one-dimensional chains of beads.",
    epilog="Exit codes: 0 done, 2 wrong input, 3 the run failed, 4 file or disk, 5 a stated tolerance missed, 130 or 143 interrupted.",
)

CaseArgument = Annotated[str, typer.Argument(metavar="CASE", help="Path of a case file, or name of a built-in case.", show_default=True)]
FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="Output file of a run.")]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the case: contact.psi=2.9. May be repeated.")
]
LawModuleOption = Annotated[
    str | None,
    typer.Option("--law-module", metavar="FILE", help="Python file with contact laws of your own. The code in it is run."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


# ---------------------------------------------------------------------------------------------------------------------
# Commands


def _print_version(asked: bool) -> None:
    if asked:
        tell(f"granchain {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """The program without a command."""
    if context.invoked_subcommand is None:
        tell(context.get_help())


@app.command()
def run(
    context: typer.Context,
    case: CaseArgument = "steel-chain",
    changes: SetOption = None,
    out: Annotated[str | None, typer.Option(metavar="FILE", help="Output file. Default: name of the case, here.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output file if it exists.")] = False,
    law_module: LawModuleOption = None,
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
) -> None:
    """Run a case: its output file, and the numbers of the run."""
    target = Path(f"{Path(case).stem}.h5" if out is None else out)
    with no_collection(), Interruption() as interruption:
        try:
            load_laws(law_module)
            progress = Progress(interruption, shown=not quiet and sys.stderr.isatty())
            result = computed(case, changes or [], target, overwrite, progress, bool(context.obj))
            report_run(result, target, as_json)
        except KeyboardInterrupt:
            raise InterruptedRun(f"interrupted before the run began; {target} was not written", interruption.exit_code) from None
        if result.status.label == "interrupted":
            say(f"interrupted; {target} holds what was computed until then")
            raise typer.Exit(interruption.exit_code)


@app.command()
def cases(name: Annotated[str | None, typer.Argument(metavar="NAME", help="Print this case's file.")] = None) -> None:
    """List the built-in cases, or print one."""
    from granchain.case import case_names, load_case

    names = case_names()
    if name is None:
        tell(aligned([(known, load_case(known).title) for known in names], "<<"))
    else:
        tell(load_case(the_one(name, names, "built-in case", CaseError)).toml.rstrip("\n"))


@app.command()
def laws(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Say all about this law.")] = None,
    law_module: LawModuleOption = None,
    as_json: JsonOption = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")] = False,
) -> None:
    """List the contact laws: what they are, their inputs with units and limits, their sources."""
    load_laws(law_module)
    from granchain.contact import laws

    known = laws()
    chosen = known if name is None else {name: known[the_one(name, known, "contact law", LawError)]}
    if as_json:
        tell_json({"command": "laws", "laws": [law_facts(law) for law in chosen.values()]})
    elif as_markdown:
        tell(markdown(LAW_COLUMNS, map(law_row, chosen.values())))
    elif name is None:
        tell(table(LAW_COLUMNS, map(law_row, chosen.values())))
    else:
        tell(law_page(known[name]))


@app.command()
def info(
    file: FileArgument,
    verify: Annotated[bool, typer.Option("--verify", help="Read every value and compare it with the hash in the file.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Say what an output file holds."""
    from granchain.analysis import summary
    from granchain.output import open_result
    from granchain.output import verify as verified

    result = open_result(file)
    data_sha256 = verified(file) if verify else None
    numbers = summary(result)
    if as_json:
        facts = {"command": "info", "file": file, "data_verified": data_sha256, **numbers.as_dict(), "messages": result.messages}
        tell_json({**facts, "variables": variable_facts(result), "provenance": result.provenance})
        return
    tell(aligned(heading(result), "<<"))
    rows = [(v["name"], f"({', '.join(v['dims'])})", v["shape"], v["unit"], v["long_name"]) for v in variable_facts(result)]
    tell(aligned(rows, "<<><<"))
    tell(numbers_of(numbers))
    tell("\n".join(result.messages))
    if data_sha256:
        tell(f"every value agrees with the hash in the file, {data_sha256}")


@app.command()
def plot(
    file: FileArgument,
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder for the figures; made if it is not there.")] = ".",
) -> None:
    """Draw an output file: force traces, energy, velocities, hysteresis."""
    from granchain.figures import all_figures, lacking, save
    from granchain.output import open_result

    result = open_result(file)
    folder = Path(out)
    try:
        folder.mkdir(exist_ok=True)
    except (OSError, ValueError) as error:
        raise FileError(f"{out}: no folder can be made there ({getattr(error, 'strerror', None) or error}); name another") from None
    for name, draw in all_figures(result).items():
        target = folder / f"{Path(file).stem}-{name.replace('_', '-')}.png"
        figure, _ = draw()
        save(figure, target)
        tell(str(target))
    for name, advice in lacking(result).items():
        say(f"no {name}: {advice}")


# ---------------------------------------------------------------------------------------------------------------------
# A run


def load_laws(law_module: str | None) -> None:
    """Load a user's contact laws; what their file prints is no result of ours."""
    if law_module is not None:
        from granchain.contact.user import load_law_module

        with contextlib.redirect_stdout(sys.stderr):
            load_law_module(law_module)


def computed(name: str, changes: Sequence[str], target: Path, overwrite: bool, progress: Progress, own_process: bool) -> Result:
    """Run a case and write its file; the right to write it is taken before anything is computed."""
    from granchain.case import load_case
    from granchain.output import claim

    case = load_case(name, changes)
    progress.title = case.title
    with claim(target, overwrite):
        if own_process:
            from granchain.engine.startup import load_without_blas

            load_without_blas()
        with progress:
            result = simulated(case, target, progress)
        result.save(target, overwrite)
    return result


def simulated(case: Case, target: Path, progress: Progress) -> Result:
    """The run itself; where a user's law fails, it is the law that is told of."""
    from granchain import simulation
    from granchain.contact import laws
    from granchain.contact.user import blame, file_of

    try:
        return simulation.run(case, watch=progress)
    except RunError as error:
        raise RunError(f"{error}\nNothing was saved: {target} was not written.", error.result) from None
    except (GranchainError, MemoryError, OSError):
        raise
    except Exception as error:
        law = laws()[case.contact.law]
        file = file_of(law)
        if file is None:
            raise
        raise LawError(f'contact law "{law.name}" of {file}: {blame(error, file)}; mend it there') from error


class InterruptedRun(Exception):  # noqa: N818
    """A run that a signal ended before it had anything to save."""

    def __init__(self, message: str, exit_code: int):
        super().__init__(message)
        self.exit_code = exit_code


class Interruption:
    """SIGINT and SIGTERM during a run.

    Before the first step there is nothing to lose, and it is raised at once; from then on it is noted and heard between two blocks of
    steps, and the file is written. A second one ends the process as soon as what is open is closed, a third one without.
    """

    def __init__(self) -> None:
        self.number = 0
        self.something_to_lose = False
        self._count = 0
        self._before: dict[signal.Signals, Any] = {}

    @property
    def exit_code(self) -> int:
        """What the process says of the signal that ended it."""
        return SIGNALLED + self.number

    def __enter__(self) -> Interruption:
        for number in (signal.SIGINT, signal.SIGTERM):
            # Ignored in a background job, or under nohup: stay so.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.number = number
        self._count += 1
        if self._count > 2:
            os._exit(self.exit_code)
        if self._count == 2:
            os.write(2, b"granchain: aborted\n")
            raise SystemExit(self.exit_code)
        if not self.something_to_lose:
            raise KeyboardInterrupt


class Progress:
    """What looks on while a run advances: hears an interruption, and draws a bar where the run lasts.

    Parameters
    ----------
    interruption : Interruption
    shown : bool
        Whether there is someone to see the bar.
    """

    def __init__(self, interruption: Interruption, shown: bool):
        self.title = ""
        self._interruption, self._shown = interruption, shown
        self._started = self._drawn = time.monotonic()
        self._bar: Any = None
        self._lasts = False

    def __enter__(self) -> Progress:
        self._started = time.monotonic()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, fraction: float) -> None:
        """Told between blocks of steps which part of the run is done."""
        self._interruption.something_to_lose = True
        if self._interruption.number:
            raise KeyboardInterrupt
        now = time.monotonic()
        if now - self._started > BAR_AFTER and not self._lasts:
            self._lasts = True
            # From here on garbage counts; what was loaded until now is none.
            gc.freeze()
            gc.enable()
            # What the end of the run needs: an interruption then need not wait for it.
            for name in ("granchain.analysis", "h5py"):
                import_module(name)
            self._bar = self._new_bar() if self._shown else None
        if self._bar is not None and now - self._drawn > BAR_EVERY:
            self._drawn = now
            self._bar.update(self._bar.task_ids[0], completed=fraction, refresh=True)

    def _new_bar(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        bar = Bar(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
        bar.add_task(clean(self.title)[:60], total=1.0)
        bar.start()
        return bar


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Without garbage collection: loading makes a million objects that all stay, and each look through them takes its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


# ---------------------------------------------------------------------------------------------------------------------
# What is said of a run


def report_run(result: Result, target: Path, as_json: bool) -> None:
    """Numbers of a run, what it had to say, and where its file is."""
    from granchain.analysis import summary

    for message in result.messages:
        if message.startswith("warning:"):
            say(message)
    numbers = summary(result)
    if as_json:
        tell_json({"command": "run", "file": str(target), **numbers.as_dict(), "messages": result.messages})
        return
    tell(numbers_of(numbers))
    tell("\n".join(message for message in result.messages if not message.startswith("warning:")))
    tell(f"{result.status.label}: {target}")


def numbers_of(summary: Summary) -> str:
    """Peaks and arrivals, speed of the wave, energy balance."""
    from granchain.analysis import LEDGER

    parts = []
    if summary.sensors:
        rows = [(str(p.bead), number(p.peak), number(p.arrival * 1e6) if p.complete else "not yet") for p in summary.sensors]
        parts.append(aligned([("sensor bead", "peak [N]", "arrival [us]"), *rows], ">>>"))
    if math.isfinite(summary.wave_speed):
        parts.append(f"wave speed {summary.wave_speed:.6g} m/s")
    if summary.energy is not None:
        balance = summary.energy
        share = 100.0 / balance.put_in if balance.put_in > 0.0 else math.nan
        values = [(name, getattr(balance, name)) for name in LEDGER]
        rows = [(name, number(value), number(share * value)) for name, value in values]
        parts.append(aligned([("energy at the end", "[J]", "[% of put in]"), *rows], "<>>"))
        parts.append(f"largest residual of the ledger {balance.largest_residual:.1e} of {balance.put_in:.6g} J put in")
    return "\n".join(parts)


def number(value: float) -> str:
    """A number for a table; a dash where there is none."""
    if not math.isfinite(value):
        return "-"
    return f"{value:#.6g}" if value else "0"


def heading(result: Result) -> list[tuple[str, str]]:
    """What a file says of itself."""
    told = [("title", result.title), ("law", result.law), ("status", result.status.label), ("time step", f"{result.time_step:.6g} s")]
    provenance = result.provenance
    for name in ("started", "granchain_version", "versions", "platform", "case_sha256", "data_sha256"):
        if provenance.get(name):
            told.append((name, str(provenance[name])))
    if "wall_time" in provenance:
        told.append(("wall_time", f"{provenance['wall_time']:.3g} s"))
    return told


def variable_facts(result: Result) -> list[dict[str, Any]]:
    """The variables of a result."""
    return [
        {"name": name, "dims": list(v.dims), "shape": list(v.data.shape), "unit": v.unit, "long_name": v.long_name}
        for name, v in result.variables.items()
    ]


# ---------------------------------------------------------------------------------------------------------------------
# What is said of a law

LAW_COLUMNS = ("law", "what it is", "inputs", "source")


def law_row(law: type[ContactLaw]) -> tuple[str, ...]:
    """Cells of a law for `LAW_COLUMNS`."""
    return law.name, law.summary(), "\n".join(map(input_line, law.inputs)) or "none", str(law.source)


def input_line(quantity: Quantity) -> str:
    """An input with its unit, its limits and what it is where the case does not say."""
    unit = f" [{quantity.unit}]" if quantity.unit else ""
    default = default_of(quantity)
    return f"{quantity.name}{unit}: {quantity.range}" + ("" if default is None else f", default {default}")


def default_of(quantity: Quantity) -> str | None:
    """The default in the words of a case file; None where there is none."""
    if quantity.required or quantity.default is None:
        return None
    return json.dumps(quantity.default)


def law_facts(law: type[ContactLaw]) -> dict[str, Any]:
    """A law for JSON."""
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


def law_page(law: type[ContactLaw]) -> str:
    """All that a law says of itself."""
    from inspect import cleandoc

    parts = [f"{law.name}: {cleandoc(law.__doc__ or '')}", f"Source: {law.source}"]
    if law.validity:
        parts.append(f"Valid: {law.validity}")
    parts.append(f"Status: {law.status}")
    for title, quantities in (("Inputs", law.inputs), ("Coefficients", law.coefficients), ("History", law.history)):
        if quantities:
            rows = [(input_line(q) if title == "Inputs" else f"{q.name} [{q.unit}]", q.meaning) for q in quantities]
            parts.append(f"{title}:\n{aligned(rows, '<<')}")
    return "\n\n".join(parts)


def the_one(name: str, names: Iterable[str], what: str, error: type[GranchainError]) -> str:
    """The name, if it is one of these."""
    from difflib import get_close_matches

    known = list(names)
    if name not in known:
        near = get_close_matches(name[:60], known, 1)
        advice = f'did you mean "{near[0]}"?' if near else f"take one of: {', '.join(known)}"
        raise error(f'{what}: got "{name[:60]}", allowed a known name; {advice}')
    return name


# ---------------------------------------------------------------------------------------------------------------------
# Text


def clean(text: str) -> str:
    """Text without control characters, safe to show on a terminal whoever wrote it; lines stay lines."""
    return "".join(sign if sign.isprintable() or sign == "\n" else " " for sign in text)


def tell(text: str) -> None:
    """Print a part of the result."""
    if text:
        _print(text, sys.stdout)


def tell_json(facts: Mapping[str, Any]) -> None:
    """Print the result as one JSON object."""
    tell(json.dumps({"schema": SCHEMA, **facts}, allow_nan=False))


def say(text: str) -> None:
    """Say something that is no part of the result."""
    _print(f"granchain: {text}", sys.stderr)


def _print(text: str, stream: TextIO) -> None:
    try:
        print(clean(text), file=stream, flush=True)
    except BrokenPipeError:
        # Whoever read has seen enough, as in `granchain laws | head`; the command goes on.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def aligned(rows: Iterable[Sequence[object]], sides: str) -> str:
    """Rows as columns; `sides` has < or > for each: to the left or to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows as a table with wrapped cells, as wide as the terminal."""
    from io import StringIO

    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    console = Console(file=StringIO(), width=width, color_system=None, markup=False, highlight=False, emoji=False)
    grid = Table(box=SIMPLE, show_lines=True, pad_edge=False)
    for i, column in enumerate(columns):
        grid.add_column(column, no_wrap=i == 0)
    for row in rows:
        grid.add_row(*(Text(clean(cell)) for cell in row))
    with console.capture() as captured:
        console.print(grid)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows as a table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|").replace("\n", "<br>") for cell in line) + " |" for line in lines)


# ---------------------------------------------------------------------------------------------------------------------
# The process


def main() -> None:
    """Do what the command line says, and leave the process."""
    # Closed by the caller (2>&-): what is said goes nowhere.
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    warnings.showwarning = _show_warning
    leave(obey(sys.argv[1:], own_process=True))


def _nowhere() -> TextIO:
    return open(os.devnull, "w")


def leave(code: int) -> NoReturn:
    """End the process at once: the files are in place, and taking a compiler apart takes a fifth of a second."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code)


def obey(arguments: Sequence[str], own_process: bool = False) -> int:
    """Do what a command line says.

    Parameters
    ----------
    arguments : sequence of str
        Without the name of the program.
    own_process : bool
        Whether the process ends with the command, so that nothing need be left to others.

    Returns
    -------
    int
        Exit code; whatever goes wrong is one of them, and has been told.
    """
    try:
        return int(app(list(arguments), prog_name="granchain", standalone_mode=False, obj=own_process) or DONE)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else BUG
    except KeyboardInterrupt:
        return SIGNALLED + signal.SIGINT
    except InterruptedRun as error:
        return _told(error, error.exit_code, str(error), arguments)
    except TyperException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "granchain"
        return _told(error, WRONG_INPUT, f"{error.format_message()} Try '{command} --help'.", arguments)
    except FileError as error:
        return _told(error, FILE_OR_DISK, str(error), arguments)
    except RunError as error:
        return _told(error, RUN_FAILED, str(error), arguments)
    except GranchainError as error:
        return _told(error, WRONG_INPUT, str(error), arguments)
    except MemoryError as error:
        return _told(error, RUN_FAILED, "there is not enough memory; take fewer beads, or record less", arguments)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _told(error, FILE_OR_DISK, f"file or disk: {place}{error.strerror or error}", arguments)
    except Exception as error:
        sentence = (
            "this is a mistake in granchain, not in what you asked for; please report it, with what you did and what "
            f"GRANCHAIN_DEBUG=1 adds to it: {type(error).__name__}: {error}"
        )
        return _told(error, BUG, sentence, arguments)


def _told(error: Exception, code: int, sentence: str, arguments: Sequence[str]) -> int:
    """Tell of an error, on standard error and, where JSON was asked for, as the one object; gives back the exit code."""
    if os.environ.get("GRANCHAIN_DEBUG") == "1":
        import traceback

        say("".join(traceback.format_exception(error)))
    say(sentence)
    if "--json" in arguments:
        problems = error.problems if isinstance(error, CaseError) else [sentence]
        with contextlib.suppress(OSError):
            tell_json({"error": {"kind": type(error).__name__, "problems": problems}, "exit_code": code})
    return code


def _show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, file: TextIO | None = None, line: str | None = None
) -> None:
    kind = "" if issubclass(category, GranchainWarning) else f"{category.__name__}: "
    say(f"warning: {kind}{message}")
