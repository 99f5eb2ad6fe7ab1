"""The process, from its arguments to its exit code; no input causes a traceback."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any, NoReturn, TextIO

from typer.exceptions import TyperException
from typer.main import get_command

from granchain.cli.interrupts import (
    SIGNALLED,
    InterruptedRun,
    handle,
    interrupt,
    print_error,
)
from granchain.cli.options import BUG, DONE, FILE_OR_DISK, RUN_FAILED, WRONG_INPUT, app
from granchain.cli.text import notify
from granchain.errors import (
    CaseError,
    FileError,
    GranchainError,
    GranchainWarning,
    RunError,
    TraceError,
    printable,
)

# Largest length of a message of typer, which may quote the command line [characters].
MOST_OF_A_REASON = 300


def main() -> None:
    """Execute the command line, and end the process."""
    # If the caller has closed a stream (2>&-), its messages are dropped.
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    warnings.showwarning = _show_warning
    # Before this line, a signal ends the process at once (granchain.__main__). After it, files may
    # have to be removed.
    handle(interrupt)
    code = obey(sys.argv[1:], own_process=True)
    # The work is complete, so later signals have no effect.
    handle(signal.SIG_IGN)
    exit_now(code)


def _nowhere() -> TextIO:
    """Return a stream that discards its text."""
    return open(os.devnull, "w")


def exit_now(code: int) -> NoReturn:
    """End the process at once.

    All files are written, and freeing the memory of the compiler takes a fifth of a second.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code)


@cache
def program() -> Any:
    """Build the commands with their options, once, in a tenth of a second."""
    return get_command(app)


def obey(arguments: Sequence[str], own_process: bool = False) -> int:
    """Execute a command line.

    Parameters
    ----------
    arguments : sequence of str
        Command line without the name of the program.
    own_process : bool
        Whether the process ends with the command, so that nothing must be cleaned up.

    Returns
    -------
    int
        Exit code. The message of an error is printed.
    """
    try:
        ended = program()(
            list(arguments), prog_name="granchain", standalone_mode=False, obj=own_process
        )
        return int(ended or DONE)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else BUG
    except KeyboardInterrupt:
        return SIGNALLED + signal.SIGINT
    except BaseException as caught:
        error = caught
    code, sentence = exit_code_and_message(error)
    if os.environ.get("GRANCHAIN_DEBUG") == "1":
        import traceback

        notify("".join(traceback.format_exception(error)))
    notify(sentence)
    if "--json" in arguments:
        problems = error.problems if isinstance(error, CaseError | TraceError) else [sentence]
        with contextlib.suppress(OSError):
            print_error(type(error).__name__, problems, code)
    return code


def exit_code_and_message(error: BaseException) -> tuple[int, str]:
    """Return exit code and message of an error."""
    if isinstance(error, InterruptedRun):
        return error.exit_code, str(error)
    if isinstance(error, TyperException):
        return WRONG_INPUT, wrong_use(error)
    for kind, code in (
        (FileError, FILE_OR_DISK),
        (RunError, RUN_FAILED),
        (GranchainError, WRONG_INPUT),
    ):
        if isinstance(error, kind):
            return code, str(error)
    if isinstance(error, MemoryError):
        return RUN_FAILED, "There is not enough memory. Use fewer beads, or record less."
    if isinstance(error, OSError):
        path = f"{error.filename}: " if error.filename else ""
        reason = error.strerror or str(error) or type(error).__name__
        return FILE_OR_DISK, (
            f"Cannot access {path}{reason}. Check the path, permissions, and free disk space."
        )
    return BUG, (
        "This is a bug in granchain. Please report it with this line, the command, the output of "
        "`granchain info --system`, and the output with GRANCHAIN_DEBUG=1: "
        f"{type(error).__name__}: {error}"
    )


def _show_warning(
    message: Warning | str, category: type[Warning], *where: Any, **more: Any
) -> None:
    """Print a warning as a message of the command."""
    kind = "" if issubclass(category, GranchainWarning) else f"{category.__name__}: "
    notify(f"warning: {kind}{message}")


def wrong_use(error: TyperException) -> str:
    """Return the message for an invalid command line.

    It contains typer's reason, in the form of all errors.
    """
    context = getattr(error, "ctx", None)
    path = "granchain" if context is None else context.command_path
    usage = f"{path} COMMAND ..." if context is None else context.get_usage().partition(": ")[2]
    if parameter := getattr(error, "param", None):
        usage = f"{parameter.metavar} ({parameter.help.rstrip('.')})"
    reason = printable(error.format_message()[:MOST_OF_A_REASON]).rstrip(".")
    return (
        f"{path.partition(' ')[2] or 'command'}: {reason}. Usage: {' '.join(usage.split())}. "
        f"See {path} --help."
    )
