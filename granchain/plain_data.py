"""Plain data that JSON can represent, and its canonical text in one line."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any


def plain_data(value: Any) -> Any:
    """Return tables, sequences, and arrays as dicts and lists, with None for nonfinite numbers."""
    if hasattr(value, "tolist"):
        # NumPy objects, detected without loading NumPy
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(name): plain_data(entry) for name, entry in value.items()}
    if hasattr(value, "_asdict"):
        return plain_data(value._asdict())
    if isinstance(value, (list, tuple)):
        return [plain_data(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Numbers:
    """Base of a frozen dataclass, declared with eq=False, in which nan equals nan.

    With the comparison of Python 3.13 and later, nan differs from itself.
    """

    def _compared(self) -> tuple[Any, ...]:
        values = [getattr(self, name) for name in self.__dataclass_fields__]  # type: ignore[attr-defined]
        return tuple("nan" if value != value else value for value in values)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())


def canonical(value: Any, ordered: bool = False) -> str:
    """Return data as one line of JSON that is the same for equal data.

    With `ordered`, the keys are not sorted.
    """
    return json.dumps(value, sort_keys=not ordered, separators=(",", ":"), allow_nan=False)


def sha256_of(value: Any) -> str:
    """Return the SHA-256 hash of the canonical text."""
    return hashlib.sha256(canonical(value).encode("ascii")).hexdigest()
