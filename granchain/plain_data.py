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


def canonical(value: Any, ordered: bool = False) -> str:
    """Return data as one line of JSON that is the same for equal data.

    With `ordered`, the keys are not sorted.
    """
    return json.dumps(value, sort_keys=not ordered, separators=(",", ":"), allow_nan=False)


def sha256_of(value: Any) -> str:
    """Return the SHA-256 hash of the canonical text."""
    return hashlib.sha256(canonical(value).encode("ascii")).hexdigest()
