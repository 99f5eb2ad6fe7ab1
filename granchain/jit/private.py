"""Names of Numba's that are outside its stable interface, and what is lost where a Numba lacks one.

Without them the loops are compiled all the same: slower, or by each process again, and a warning
lists it (`LACKS`). The numbers are the same, bit for bit: nothing in this folder changes what is
computed.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

Made = TypeVar("Made")
# What this Numba does not have, each with what is lost.
LACKS: list[str] = []


def private(module: str, *names: str) -> Any:
    """Names of one of Numba's modules: a tuple, or the one."""
    found = import_module(module)
    values = tuple(getattr(found, name) for name in names)
    return values if len(values) > 1 else values[0]


def where_available(make: Callable[[], Made], lost: str) -> Made | None:
    """Result of `make`, which uses Numba's private parts; None, with a note of what is lost, where
    one is missing."""
    try:
        return make()
    except (ImportError, AttributeError) as error:
        LACKS.append(f"{lost} ({error})")
        return None
