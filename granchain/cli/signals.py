"""Signals that end a process. Those that come together are one: a batch system sends SIGTERM to
the group, a terminal SIGINT, and a user presses twice. No handler of the command line's own process
raises: what calls back into Python may forget the exception (SciPy's Sobol sequence, a compiler) or
make another one of it (an import, the writer of an animation)."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

from granchain.cli.text import notify, print_json
from granchain.errors import clean
from granchain.portable import ENDING, send_again

# A signal that comes sooner after another than this is an echo of it [s].
TOGETHER_SECONDS = 0.5
# A process that a signal has ended: 128 and the signal's number (POSIX shell, 2.8.2).
SIGNALLED = 128
# Seconds without a sign of life of a user's law before the message, and those that a signal then
# has to be heard by Python, which code compiled from a law does not let it do until that ends.
AFTER, HEARD = 10.0, 1.0


class Process:
    """What is known of the process: whether it ends with the command, so that a signal may end it
    here, and when the last signal was heard that was no echo [s of time.monotonic()]."""

    own = False
    heard = -math.inf


def handle(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> dict[int, Any]:
    """Set the handler of these signals; gives those there were. A signal that is ignored in a
    background job, or under nohup, stays so."""
    before: dict[int, Any] = {}
    for kind in ENDING:
        if signal.getsignal(kind) is not signal.SIG_IGN:
            before[kind] = signal.signal(kind, handler)
    return before


def is_echo() -> bool:
    """Whether the signal that is being handled came together with one that was heard; where it
    did not, it is heard now."""
    now = time.monotonic()
    if now - Process.heard < TOGETHER_SECONDS:
        return True
    Process.heard = now
    return False


def interrupt(number: int, frame: FrameType | None) -> None:
    """End the process: any command but a run or a study has nothing to lose."""
    if not is_echo():
        end(number)


def end(number: int, sentence: str = "interrupted") -> NoReturn:
    """End this process at a signal: nothing half written is left, nor a process that computes for
    this one; and nothing whole is taken away."""
    with contextlib.suppress(ValueError):
        # from the thread that watches a law no handler can be set
        handle(signal.SIG_IGN)
    # perhaps in the middle of their imports, or without them
    getattr(sys.modules.get("granchain.store.files"), "give_up", int)()
    for child in getattr(sys.modules.get("multiprocessing"), "active_children", list)():
        child.kill()
    os.write(2, f"granchain: {clean(sentence)}\n".encode())
    os._exit(SIGNALLED + number)


class InterruptedRun(Exception):  # noqa: N818
    """A run that a signal ended before it had anything to save."""

    def __init__(self, message: str, exit_code: int):
        super().__init__(message)
        self.exit_code = exit_code


class Interruption:
    """Signals that end a process during a run, or a study.

    Where there is nothing to lose the first ends the process at once, or, where that is not the
    command's own, is raised, and leaves as `InterruptedRun`; where there is something it is noted,
    and heard between two blocks of steps, and the file is written. Those that come together are
    one. A second one ends the process with what is on the disk, a third one whatever it is doing.

    Parameters
    ----------
    own_process : bool
        Whether the process ends with the command.
    as_json : bool
        Whether JSON was asked for.

    Attributes
    ----------
    something_to_lose : bool
        Whether a signal is noted.
    in_vain : function
        Gives what is printed where one ends the process at once.
    aborted : str
        What is printed where a second one does.
    """

    def __init__(self, own_process: bool = False, as_json: bool = False):
        self.number = self._count = 0
        self.something_to_lose = False
        self.in_vain: Callable[[], str] = lambda: "interrupted"
        self.aborted = "aborted"
        self._own_process, self._as_json = own_process, as_json
        self._before: dict[int, Any] = {}

    @property
    def exit_code(self) -> int:
        """Of a process that the signal has ended."""
        return SIGNALLED + self.number

    def __enter__(self) -> Interruption:
        Process.heard = -math.inf
        self._before = handle(self._note)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if isinstance(error, KeyboardInterrupt):
            raise InterruptedRun(self.in_vain(), self.exit_code) from None

    def _note(self, number: int, frame: FrameType | None) -> None:
        if is_echo():
            return
        self.number = number
        self._count += 1
        if self._count > 2:
            os._exit(self.exit_code)
        if self._count == 2:
            if self._own_process:
                end(number, self.aborted)
            os.write(2, f"granchain: {clean(self.aborted)}\n".encode())
            raise SystemExit(self.exit_code)
        if not self.something_to_lose:
            if self._own_process:
                sentence = self.in_vain()
                if self._as_json:
                    print_error(InterruptedRun.__name__, [sentence], self.exit_code)
                end(number, sentence)
            raise KeyboardInterrupt


def print_error(kind: str, problems: list[str], exit_code: int) -> None:
    """Print what went wrong as the one JSON object."""
    print_json({"error": {"kind": kind, "problems": problems}, "exit_code": exit_code})


class Waiting:
    """Prints what is waited for, a user's contact law which may never end, after ten seconds
    without a sign of life; from then on a signal that Python does not hear ends the process all
    the same. One that came just before the main thread went to sleep is sent again, and wakes it.

    Parameters
    ----------
    what : str
        What has not ended: a clause.
    """

    def __init__(self, what: str):
        from socket import socketpair

        self._alone = Process.own and threading.current_thread() is threading.main_thread()
        self._read, self._write = socketpair()
        self._read.settimeout(min(AFTER, HEARD) / 4.0)
        self._write.setblocking(False)
        self._before = -1
        self.beat(what)

    def __enter__(self) -> Waiting:
        if self._alone:
            # written to by the handler in C, whatever the main thread does
            self._before = signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._alone:
            signal.set_wakeup_fd(self._before)
        # the thread hears it and closes the other end
        self._write.close()

    def beat(self, what: str) -> None:
        """A sign of life; what is waited for from now on."""
        self.what, self._since, self._notified = what, time.monotonic(), False

    def _watch(self) -> None:
        number, came = 0, -math.inf
        with self._read:
            while True:
                try:
                    received = self._read.recv(100)
                    if not received:
                        return
                    if (ending := set(ENDING).intersection(received)) and not number:
                        number, came = ending.pop(), time.monotonic()
                    continue
                except TimeoutError:
                    now = time.monotonic()
                if now - self._since > AFTER and not self._notified:
                    self._notified = True
                    notify(
                        f"waiting for {AFTER:g} s: {self.what} has not ended. To stop it, "
                        "press Ctrl-C"
                    )
                if came < max(self._since, Process.heard + TOGETHER_SECONDS):
                    number = 0
                elif now < came + HEARD:
                    send_again(number)
                elif self._notified:
                    end(
                        number,
                        f"interrupted: {self.what} had not ended, and no more results were saved",
                    )
