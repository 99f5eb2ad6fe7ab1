"""Progress of a long computation in one line of plain text, in a terminal or in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

# Minimum time between two updates [s].
LEAST_INTERVAL = 0.2


def in_notebook() -> bool:
    """Return whether this process runs a notebook."""
    return "ipykernel" in sys.modules


def no_report(done: int, count: int) -> None:
    """Ignore the progress of a study."""


def progress_of(
    progress: Callable[[int, int], Any] | bool | None, title: str
) -> Callable[[int, int], Any]:
    """Return the function to which a study reports its progress.

    It is the given function, or a progress line. Without a choice, the line appears only in a
    terminal or a notebook; with False, nothing is reported.
    """
    if callable(progress):
        return progress
    seen = in_notebook() or (sys.stderr is not None and sys.stderr.isatty())
    return ProgressLine(title) if progress or (progress is None and seen) else no_report


class ProgressLine:
    """Progress display in one line of text.

    Use it as `run_many(progress=)`, `sweep(progress=)`, or `run(watch=)`.

    Parameters
    ----------
    title : str
        Text before the progress.
    stream : text stream, optional
        Output stream. Default: standard error; in a notebook, standard output.
    every : float
        Minimum time between two updates [s].

    Examples
    --------
    >>> import io
    >>> import granchain as gc
    >>> stream = io.StringIO()
    >>> line = gc.ProgressLine("runs", stream, every=0.0)
    >>> line(1, 4)
    >>> stream.getvalue().partition(",")[0].strip()
    'runs: 1 of 4'
    """

    def __init__(
        self, title: str = "", stream: TextIO | None = None, every: float = LEAST_INTERVAL
    ):
        self.title, self._stream, self._every = title, stream, every
        self._started, self._written, self._width = time.monotonic(), -every, 0

    def __call__(self, done: int, count: int) -> None:
        """Report the number of completed members of a study."""
        self._write(f"{done} of {count}", done / count if count else 1.0)

    def advance(self, fraction: float) -> None:
        """Report the completed fraction of a run, 0 to 1."""
        self._write(f"{100.0 * fraction:.0f} %", fraction)

    def resume(self, fraction: float) -> None:
        """Report the completed fraction of a run that resumes from a checkpoint."""
        self._write(f"{100.0 * fraction:.0f} %, resumed", fraction)

    def _write(self, text: str, fraction: float) -> None:
        now = time.monotonic() - self._started
        last = fraction >= 1.0
        if now - self._written < self._every and not last:
            return
        self._written = now
        remaining = (
            f", {now / fraction * (1.0 - fraction):.0f} s remaining"
            if 0.0 < fraction < 1.0 and now > 1.0
            else f", {now:.1f} s"
        )
        line = f"{self.title + ': ' if self.title else ''}{text}{remaining}"
        stream = self._stream or (sys.stdout if in_notebook() else sys.stderr)
        # Spaces overwrite the previous text because a notebook cannot clear a line in another way.
        stream.write("\r" + line.ljust(self._width) + ("\n" if last else ""))
        stream.flush()
        self._width = len(line)
