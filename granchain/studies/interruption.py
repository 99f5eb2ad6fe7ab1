"""Ctrl-C during a study. The first one ends the study, but not during a write, and not inside code
that would ignore the exception."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any


class Interruptions:
    """Handler of SIGINT for a `with` block: it accepts the first signal and ignores others.

    A signal during a write is handled when the write is complete. In a thread that receives no
    signals, it does nothing.
    """

    def __init__(self) -> None:
        self._before: Any = None
        self._heard = self._raised = self._writing = False
        self._pending: tuple[int, FrameType | None] | None = None

    def __enter__(self) -> Interruptions:
        # do not replace a handler that ignores signals (background job), or that Python did not set
        if threading.current_thread() is threading.main_thread() and callable(
            signal.getsignal(signal.SIGINT)
        ):
            self._before = signal.signal(signal.SIGINT, self._hear)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal, after a write that has started."""
        if self._writing:
            self._pending = self._pending or (number, frame)
        elif not self._heard:
            self._heard = True
            try:
                self._before(number, frame)
            except KeyboardInterrupt:
                self._raised = True
                raise

    def raise_forgotten(self) -> None:
        """Raise an interruption again that Python ignored, as in a callback of a weak reference."""
        if self._raised and sys.exc_info()[0] is None:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def deferred(self) -> Iterator[None]:
        """Defer interruptions until the end of the block."""
        self._writing = True
        try:
            yield
        finally:
            self._writing = False
            pending, self._pending = self._pending, None
            if pending is not None:
                self._hear(*pending)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Defer SIGINT until the end of the block, for code that ignores or replaces exceptions."""
    with Interruptions() as interruptions, interruptions.deferred():
        yield


def scipy_stats() -> Any:
    """Return scipy.stats; an interruption of its import would raise an ImportError."""
    with uninterrupted():
        from scipy import stats
    return stats
