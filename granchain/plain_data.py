"""Plain data: numbers, words, lists and tables as JSON has them, and their one line of text."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any


def plain_data(value: Any) -> Any:
    """Tables, sequences and arrays as dicts and lists; None for a number that is not finite,
    which JSON has not."""
    if hasattr(value, "tolist"):
        # of NumPy, which is not loaded for this
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(name): plain_data(entry) for name, entry in value.items()}
    if hasattr(value, "_asdict"):
        return plain_data(value._asdict())
    if isinstance(value, (list, tuple)):
        return [plain_data(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Numbers:
    """Base of a frozen dataclass, made with eq=False, in which a number that there is not, nan, is
    equal to itself; that of Python is not since 3.13."""

    def _compared(self) -> tuple[Any, ...]:
        values = [getattr(self, name) for name in self.__dataclass_fields__]  # type: ignore[attr-defined]
        return tuple("nan" if value != value else value for value in values)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())


def canonical(value: Any, ordered: bool = False) -> str:
    """One line of JSON, the same for the same data; `ordered`: with keys in the order they
    have, in which a case's title names changes."""
    return json.dumps(value, sort_keys=not ordered, separators=(",", ":"), allow_nan=False)


def sha256_of(value: Any) -> str:
    """SHA-256 of that line."""
    return hashlib.sha256(canonical(value).encode("ascii")).hexdigest()
