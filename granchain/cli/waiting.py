"""What a command waits for: printed after ten seconds without a sign of life from a user's
contact law, which may never end."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from types import TracebackType

from granchain.cli.signals import end_at_signal
from granchain.cli.text import notify

# Seconds without a sign of life before the message, and those that a signal then has to be heard by
# Python, which code compiled from a law does not let it do until that ends.
AFTER, HEARD = 10.0, 1.0


class Waiting:
    """Prints what is waited for; from then on a signal that Python does not hear ends the process
    all the same.

    Parameters
    ----------
    what : str
        What has not ended: a clause.
    """

    # Whether the process ends with the command, so that a signal may end it here: set by
    # `granchain.cli.process.main`.
    own_process = False

    def __init__(self, what: str):
        self.what = what
        self._own_process = (
            self.own_process and threading.current_thread() is threading.main_thread()
        )
        self._beats, self._ended = 0, False
        self._read, self._write, self._before = -1, -1, -1

    def __enter__(self) -> Waiting:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        if self._own_process:
            # written to by the handler in C, whatever the main thread does
            self._before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._own_process:
            signal.set_wakeup_fd(self._before)
        self._ended = True
        # the thread hears it and closes the other end
        os.close(self._write)

    def beat(self, what: str) -> None:
        """A sign of life; what is waited for from now on."""
        self._beats += 1
        self.what = what

    def _watch(self) -> None:
        notified, beats, since, signalled, heard_until = (
            False,
            self._beats,
            time.monotonic(),
            0,
            0.0,
        )
        while not self._ended:
            readable, _, _ = select.select([self._read], [], [], min(AFTER, HEARD) / 4.0)
            if readable:
                received = os.read(self._read, 100)
                if not received:
                    break
                if notified and not signalled:
                    signalled, heard_until = received[-1], time.monotonic() + HEARD
            if beats != self._beats:
                notified, beats, since, signalled = False, self._beats, time.monotonic(), 0
            elif not notified and time.monotonic() - since > AFTER:
                notified = True
                notify(
                    f"waiting: for {AFTER:g} s {self.what} has not ended; if it never does, "
                    "Ctrl-C ends the command"
                )
            elif signalled and time.monotonic() > heard_until:
                self._end_process(signalled)
        with contextlib.suppress(OSError):
            os.close(self._read)

    def _end_process(self, number: int) -> None:
        end_at_signal()
        notify(f"interrupted: {self.what} had not ended; nothing more was saved")
        os._exit(128 + number)
