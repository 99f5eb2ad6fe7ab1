"""Refusals of values outside a formula's range."""

from __future__ import annotations

import math

from granchain.errors import CaseError


def require(where: str, got: float, holds: bool, allowed: str) -> None:
    """Refuse a value outside a formula's range."""
    if not holds:
        raise CaseError(f"{where}: got {got:.6g}, allowed: {allowed}")


def require_positive(where: str, **values: float) -> None:
    """Refuse values that are not finite numbers above 0."""
    for name, value in values.items():
        require(f"{where}: {name}", value, 0.0 < value < math.inf, "a finite number above 0")
