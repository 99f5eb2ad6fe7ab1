"""Python's collection of garbage: it looks through all objects that there are, again and again
while many are made."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def no_collection(to_the_end: bool = False) -> Iterator[None]:
    """Without garbage collection: for what makes many objects that stay, or that go without it.

    Parameters
    ----------
    to_the_end : bool
        Whether the process ends with it, so that there is nothing to look through afterwards
        either.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled and not to_the_end:
            gc.enable()
