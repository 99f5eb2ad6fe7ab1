"""Checks of the ranges of formulas, and roots."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from granchain.errors import CaseError


def require(where: str, got: float, holds: bool, allowed: str) -> None:
    """Raise CaseError if a value is outside the range of a formula."""
    if not holds:
        raise CaseError(f"{where}: {got:.6g} is out of range. It must be {allowed}.")


def require_positive(where: str, **values: float) -> None:
    """Raise CaseError if a value is not a finite number above 0."""
    for name, value in values.items():
        require(f"{where}: {name}", value, 0.0 < value < math.inf, "a finite number above 0")


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of a function that changes its sign between low and high.

    The root is accurate to the last digits.
    """
    from scipy.optimize import brentq

    # 4 eps is the smallest relative tolerance of brentq. The absolute tolerance is negligible,
    # because the roots may be tiny.
    return float(
        brentq(function, low, high, xtol=1e-300, rtol=4.0 * np.finfo(float).eps, maxiter=500)
    )
