"""Names of Numba outside its stable interface, and the effect if a version of Numba lacks one.

Without them, loops are still compiled, but more slowly or again by each process. A warning lists
what is missing (`LACKS`). Results are bit-identical: nothing in this folder affects them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

Made = TypeVar("Made")
# Missing parts of this Numba, each with the effect.
LACKS: list[str] = []


def private(module: str, *names: str) -> Any:
    """Return attributes of a Numba module: one value, or a tuple."""
    found = import_module(module)
    values = tuple(getattr(found, name) for name in names)
    return values if len(values) > 1 else values[0]


def where_available(make: Callable[[], Made], lost: str) -> Made | None:
    """Return the result of `make`, which uses private parts of Numba.

    If one is missing, return None and note the effect.
    """
    try:
        return make()
    except (ImportError, AttributeError) as error:
        LACKS.append(f"{lost} ({error})")
        return None
