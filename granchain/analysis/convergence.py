"""Orders of errors and exponents of power laws: straight lines between logarithms."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from granchain.errors import GranchainError

# Safety factor of the error that two steps give by the order 2. Our choice: it covers terms of the
# next order that cause up to a third of the error.
SAFETY = 1.5


def observed_order(steps: ArrayLike, errors: ArrayLike) -> float:
    """Return the observed order of an error.

    It is the slope of log(error) versus log(step).

    Parameters
    ----------
    steps : array (n,)
        Positive step sizes, at least two of them different.
    errors : array (n,)
        Errors of one quantity at each step, in any unit. The sign does not matter, and no error may
        be 0.
    """
    h, e = np.asarray(steps, dtype=float), np.abs(np.asarray(errors, dtype=float))
    if h.shape != e.shape or h.ndim != 1 or len(np.unique(h)) < 2:
        raise ValueError(
            f"observed_order: {h.shape} steps and {e.shape} errors do not match. Give one error "
            "for each step, and at least two steps."
        )
    if not (np.isfinite(h) & (h > 0.0)).all() or not (np.isfinite(e) & (e > 0.0)).all():
        raise ValueError(
            "observed_order: a step or an error is 0 or not finite. All must be finite and not "
            "0. Leave out errors that are 0, because they have no order."
        )
    x, y = np.log(h), np.log(e)
    x -= x.mean()
    return float(x @ y / (x @ x))


class Extrapolation(NamedTuple):
    """Value at step 0, and the `error` of the finer result: fine minus extrapolated."""

    value: float
    error: float


def richardson(coarse: float, fine: float, ratio: float = 2.0, order: float = 2.0) -> Extrapolation:
    """Extrapolate a value to step 0 from the values at two steps.

    fine + (fine - coarse)/(ratio^order - 1): Richardson 1911, doi:10.1098/rsta.1911.0009.

    Parameters
    ----------
    coarse, fine : float
        The quantity at the larger and at the smaller step.
    ratio : float
        Larger step divided by the smaller step [1], above 1.
    order : float
        Order of the error in the step [1].
    """
    correction = (fine - coarse) / (ratio**order - 1.0)
    return Extrapolation(fine + correction, -correction)


class Exponent(NamedTuple):
    """Fitted power law: exponent, its standard error, and the value at x = 1."""

    value: float
    error: float
    factor: float


def power_law(x: np.ndarray, y: np.ndarray) -> Exponent:
    """Fit a power law.

    The exponent is the slope of the least-squares line of log y versus log x. Its error follows
    from the scatter.

    Parameters
    ----------
    x, y : array (n,)
        Values above 0, with at least three different x.
    """
    good = np.isfinite(x) & np.isfinite(y)
    x, y = x[good], y[good]
    if len(np.unique(x)) < 3 or not ((x > 0.0).all() and (y > 0.0).all()):
        raise GranchainError(
            f"power_law: {len(x)} values at {len(np.unique(x))} different positions are not "
            "enough. Values above 0 at three or more positions are required. Add points to the "
            "sweep."
        )
    u, v = np.log(x), np.log(y)
    centred = u - u.mean()
    slope = float(centred @ v / (centred @ centred))
    residual = v - v.mean() - slope * centred
    error = math.sqrt(float(residual @ residual) / (len(u) - 2) / float(centred @ centred))
    return Exponent(slope, error, math.exp(float(v.mean() - slope * u.mean())))
