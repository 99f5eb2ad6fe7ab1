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


def canonical(value: Any, ordered: bool = False) -> str:
    """One line of JSON, the same for the same data; `ordered`: with keys in the order they
    have, in which a case's title names changes."""
    return json.dumps(value, sort_keys=not ordered, separators=(",", ":"), allow_nan=False)


def sha256_of(value: Any) -> str:
    """SHA-256 of that line."""
    return hashlib.sha256(canonical(value).encode("ascii")).hexdigest()
