"""Control of Python's garbage collection, which scans all existing objects repeatedly while many
are created."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def no_collection(to_the_end: bool = False) -> Iterator[None]:
    """Disable garbage collection temporarily.

    Use it for code that creates many objects that persist or have no reference cycles.

    Parameters
    ----------
    to_the_end : bool
        Whether the process ends after this block. Collection then stays disabled.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled and not to_the_end:
            gc.enable()
