"""Root of a function of one number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """Root of a function that changes its sign between low and high, to the last digits."""
    from scipy.optimize import brentq

    # 4 eps is the smallest relative tolerance that brentq takes; no absolute one: the roots here
    # may be tiny.
    return float(
        brentq(function, low, high, xtol=1e-300, rtol=4.0 * np.finfo(float).eps, maxiter=500)
    )
