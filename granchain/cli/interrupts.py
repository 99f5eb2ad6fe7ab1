"""Signals that end a process.

Signals that arrive together count as one: a batch system sends SIGTERM to the process group, a
terminal sends SIGINT, and a user presses Ctrl-C twice. In the process of the command line, no
handler raises an exception, because code that calls back into Python may ignore it (SciPy's Sobol
sequence, a compiler) or replace it (an import, the writer of an animation).
"""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

from granchain.cli.text import print_json
from granchain.errors import clean
from granchain.portable import ENDING

# A signal that arrives sooner than this after another one is an echo of it [s].
TOGETHER_SECONDS = 0.5
# Exit code of a process that a signal has ended: 128 plus the signal number (POSIX shell, 2.8.2).
SIGNALLED = 128


class Process:
    """State of the process.

    `heard` is the time of the last signal that was not an echo [s of time.monotonic()].
    """

    heard = -math.inf


def handle(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> dict[int, Any]:
    """Set the handler of the ending signals, and return the previous handlers.

    A signal that is ignored, in a background job or with nohup, stays ignored.
    """
    before: dict[int, Any] = {}
    for kind in ENDING:
        if signal.getsignal(kind) is not signal.SIG_IGN:
            before[kind] = signal.signal(kind, handler)
    return before


def is_echo() -> bool:
    """Return whether the current signal arrived with an earlier one; otherwise record it."""
    now = time.monotonic()
    if now - Process.heard < TOGETHER_SECONDS:
        return True
    Process.heard = now
    return False


def interrupt(number: int, frame: FrameType | None) -> None:
    """End the process: only a run or a study has results to lose."""
    if not is_echo():
        end(number)


def end(number: int, sentence: str = "interrupted") -> NoReturn:
    """End this process at a signal, with its child processes.

    Incomplete files are removed, and complete files stay.
    """
    handle(signal.SIG_IGN)
    # The import of these modules may be incomplete; `int()` and `list()` then do nothing.
    getattr(sys.modules.get("granchain.store.files"), "give_up", int)()
    for child in getattr(sys.modules.get("multiprocessing"), "active_children", list)():
        child.kill()
    os.write(2, f"granchain: {clean(sentence)}\n".encode())
    os._exit(SIGNALLED + number)


class InterruptedRun(Exception):  # noqa: N818
    """A run that ended by a signal before it had results to save."""

    def __init__(self, message: str, exit_code: int):
        super().__init__(message)
        self.exit_code = exit_code


class Interruption:
    """Handler for signals that end a process during a run or a study.

    If there are no results to lose, the first signal ends the process at once, or raises
    `InterruptedRun` if the process is not the command's. Otherwise the signal is noted, and the run
    stops between two blocks of steps and writes its file. Signals that arrive together count as
    one. A second signal ends the process with the files on the disk, and a third one ends it at any
    point.

    Parameters
    ----------
    own_process : bool
        Whether the process ends with the command.
    as_json : bool
        Whether the output is JSON.

    Attributes
    ----------
    note_only : bool
        Whether the first signal is only noted, because there are results to lose, or because the
        work is complete.
    end_message : function
        Return the message for a signal that ends the process at once.
    abort_message : str
        Message for a second signal.
    """

    def __init__(self, own_process: bool = False, as_json: bool = False):
        self.number = self._count = 0
        self.note_only = False
        self.end_message: Callable[[], str] = lambda: "interrupted"
        self.abort_message = "aborted"
        self._own_process, self._as_json = own_process, as_json
        self._before: dict[int, Any] = {}

    @property
    def exit_code(self) -> int:
        """Return the exit code of a process that the signal has ended."""
        return SIGNALLED + self.number

    def __enter__(self) -> Interruption:
        Process.heard = -math.inf
        self._before = handle(self._note)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if isinstance(error, KeyboardInterrupt):
            raise InterruptedRun(self.end_message(), self.exit_code) from None

    def _note(self, number: int, frame: FrameType | None) -> None:
        """Store a signal. A second one ends the command, and a third one the process."""
        if is_echo():
            return
        self.number = number
        self._count += 1
        if self._count > 2:
            os._exit(self.exit_code)
        if self._count == 2:
            if self._own_process:
                end(number, self.abort_message)
            os.write(2, f"granchain: {clean(self.abort_message)}\n".encode())
            raise SystemExit(self.exit_code)
        if not self.note_only:
            if self._own_process:
                sentence = self.end_message()
                if self._as_json:
                    print_error(InterruptedRun.__name__, [sentence], self.exit_code)
                end(number, sentence)
            raise KeyboardInterrupt


def print_error(kind: str, problems: list[str], exit_code: int) -> None:
    """Print the problems as the only JSON object."""
    print_json({"error": {"kind": kind, "problems": problems}, "exit_code": exit_code})
