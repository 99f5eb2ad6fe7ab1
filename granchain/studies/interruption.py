"""Ctrl-C during a study: the first one ends it, and none comes between the halves of a write,
or into what would swallow it."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any


class Interruptions:
    """SIGINT until the end of a `with`: the first is heard, where nothing is being written, or as
    soon as that is done; others are not.

    In a thread that hears no signals it does nothing.
    """

    def __init__(self) -> None:
        self._before: Any = None
        self._heard = self._writing = False
        self._pending: tuple[int, FrameType | None] | None = None

    def __enter__(self) -> Interruptions:
        # ignored in a background job, or a handler that Python did not set: stay so
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
        if self._writing:
            self._pending = self._pending or (number, frame)
        elif not self._heard:
            self._heard = True
            self._before(number, frame)

    @contextlib.contextmanager
    def deferred(self) -> Iterator[None]:
        """While this lasts nothing is interrupted."""
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
    """While this lasts SIGINT is noted; it is heard at the end. For what forgets an exception,
    or makes another one of it."""
    with Interruptions() as interruptions, interruptions.deferred():
        yield


def scipy_stats() -> Any:
    """The package scipy.stats: an interruption of its import would be an ImportError."""
    with uninterrupted():
        from scipy import stats
    return stats
