"""The process: from its arguments to its exit code; no input ends in a traceback."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn, TextIO

from typer.exceptions import TyperException

from granchain.cli.options import BUG, DONE, FILE_OR_DISK, RUN_FAILED, WRONG_INPUT, app
from granchain.cli.run import InterruptedRun
from granchain.cli.signals import SIGNALLED, end, is_echo
from granchain.cli.text import notify, print_json
from granchain.cli.usage import wrong_use
from granchain.cli.waiting import Waiting
from granchain.errors import (
    CaseError,
    FileError,
    GranchainError,
    GranchainWarning,
    RunError,
    TraceError,
    text_of,
)


def main() -> None:
    """Execute the command line, and end the process."""
    # Closed by the caller (2>&-): messages are dropped.
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    warnings.showwarning = _show_warning
    Waiting.own_process = True
    # Until now a signal has ended the process at once (granchain.__main__); from here on there may
    # be something to clear away.
    for kind in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(kind) is not signal.SIG_IGN:
            signal.signal(kind, _interrupt)
    code = obey(sys.argv[1:], own_process=True)
    # what there was to do is done, and the process ends
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, signal.SIG_IGN)
    leave(code)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Any command but a run or a study has nothing to lose."""
    if not is_echo():
        end(number)


def _nowhere() -> TextIO:
    return open(os.devnull, "w")


def leave(code: int) -> NoReturn:
    """End the process at once: the files are in place, and taking a compiler apart takes a
    fifth of a second."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code)


def obey(arguments: Sequence[str], own_process: bool = False) -> int:
    """Execute a command line.

    Parameters
    ----------
    arguments : sequence of str
        Without the name of the program.
    own_process : bool
        Whether the process ends with the command, so that nothing need be left to others.

    Returns
    -------
    int
        Exit code; every error has one, and its message is printed.
    """
    try:
        return int(
            app(list(arguments), prog_name="granchain", standalone_mode=False, obj=own_process)
            or DONE
        )
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else BUG
    except KeyboardInterrupt:
        return SIGNALLED + signal.SIGINT
    except InterruptedRun as error:
        return _reported(error, error.exit_code, str(error), arguments)
    except TyperException as error:
        return _reported(error, WRONG_INPUT, wrong_use(error, arguments), arguments)
    except FileError as error:
        return _reported(error, FILE_OR_DISK, str(error), arguments)
    except RunError as error:
        return _reported(error, RUN_FAILED, str(error), arguments)
    except GranchainError as error:
        return _reported(error, WRONG_INPUT, str(error), arguments)
    except MemoryError as error:
        return _reported(
            error,
            RUN_FAILED,
            "there is not enough memory; take fewer beads, or record less",
            arguments,
        )
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        sentence = (
            f"file or disk: got {place}{error.strerror or text_of(error) or type(error).__name__}, "
            "allowed a place that can be used"
        )
        return _reported(
            error,
            FILE_OR_DISK,
            f"{sentence}; look at the name, the permissions and the room that is left",
            arguments,
        )
    except BaseException as error:
        sentence = (
            "this is a defect of granchain, not of what you asked for; please report it with this "
            "line, the command, what `granchain info --system` prints, and what GRANCHAIN_DEBUG=1 "
            f"adds to it: {type(error).__name__}: {text_of(error)}"
        )
        return _reported(error, BUG, sentence, arguments)


def _reported(error: BaseException, code: int, sentence: str, arguments: Sequence[str]) -> int:
    """Report an error on standard error and, where JSON was asked for, as the one object;
    return the exit code."""
    if os.environ.get("GRANCHAIN_DEBUG") == "1":
        import traceback

        notify("".join(traceback.format_exception(error)))
    notify(sentence)
    if "--json" in arguments:
        problems = error.problems if isinstance(error, CaseError | TraceError) else [sentence]
        with contextlib.suppress(OSError):
            print_json(
                {"error": {"kind": type(error).__name__, "problems": problems}, "exit_code": code}
            )
    return code


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    kind = "" if issubclass(category, GranchainWarning) else f"{category.__name__}: "
    notify(f"warning: {kind}{message}")
