"""SIGINT and SIGTERM. Those that come together are one: a batch system sends SIGTERM to the group,
a terminal SIGINT, and a user presses twice. No handler of the command line's own process raises:
what calls back into Python may forget the exception (SciPy's Sobol sequence,
a compiler) or make another one of it (an import, the writer of an animation)."""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from typing import NoReturn

# A signal that comes sooner after another than this is an echo of it [s].
TOGETHER_SECONDS = 0.5
# A process that a signal has ended: 128 and the signal's number (POSIX shell, 2.8.2).
SIGNALLED = 128


class Heard:
    """When the last signal was heard that was no echo [s of time.monotonic()]."""

    at = -math.inf


def is_echo() -> bool:
    """Whether the signal that is being handled came together with one that was heard; where it
    did not, it is heard now."""
    now = time.monotonic()
    if now - Heard.at < TOGETHER_SECONDS:
        return True
    Heard.at = now
    return False


def end_at_signal() -> None:
    """Take away what is half written, and the processes that compute for this one; it is about
    to end."""
    # perhaps in the middle of their imports, or without them
    getattr(sys.modules.get("granchain.store.files"), "give_up", int)()
    for child in getattr(sys.modules.get("multiprocessing"), "active_children", list)():
        child.kill()


def end(number: int, sentence: str = "interrupted") -> NoReturn:
    """End this process at a signal: nothing half written is left, and nothing whole is taken
    away."""
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, signal.SIG_IGN)
    end_at_signal()
    os.write(2, f"granchain: {sentence}\n".encode())
    os._exit(SIGNALLED + number)
