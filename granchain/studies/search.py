"""Least squares over cases: residuals of a comparison at many points at once, and the descent
from a point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

# Half the distance of a central difference, relative to a parameter's size. Runs have an error of
# about 1e-6 (samples, number of steps), which is divided by this distance. The truncation error
# grows with its square.
DIFFERENCE_STEP = 1e-3
# Relative changes of the sum of squares, and of the point, below which a descent has converged.
FLAT, CLOSE = 1e-7, 1e-6
# Maximum number of points of a descent, each with its central differences.
MOST_STEPS = 40
# Two parameters have the same effect if their derivatives, scaled to norm 1, differ by less than
# the first number. The second is the smallest effect of a parameter, relative to the largest
# effect, and the third is the smallest share of a parameter in a combination.
SAME_DIRECTION, NO_EFFECT, SHARE = 3e-3, 1e-6, 0.1
# With laws that have a kink, peaks jump by 1e-5 between runs with nearly equal parameters, because
# the kink falls between steps. The error of a derivative is then a few per cent. Over ten times the
# distance, it is a tenth of this, but the truncation error, which grows with the square of the
# distance, is larger. Derivatives that differ by less than NEARLY_ALIKE are computed over the
# distance WIDE.
NEARLY_ALIKE, WIDE = 0.1, 1e-2

# Function from points (n, parameters) to residuals (n, residuals), which are nan if a case fails.
ResidualFunction = Callable[[np.ndarray], np.ndarray]


def scipy_optimize() -> Any:
    """Return scipy.optimize, which is imported when it is first used."""
    import scipy.optimize

    return scipy.optimize


class Lowest(NamedTuple):
    """End of a descent: the point, its residuals, their derivatives (residual, parameter), and
    whether it converged."""

    point: np.ndarray
    residual: np.ndarray
    slope: np.ndarray
    settled: bool


def descend(
    residuals: ResidualFunction,
    start: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    size: np.ndarray,
    method: Literal["trf", "dogbox"] = "trf",
) -> Lowest | None:
    """Return the lowest sum of squares that a descent from a point reaches.

    Parameters
    ----------
    residuals : function
        Function that is called with a point and all points of its differences at once.
    start, low, high : array (parameter,)
        Initial point, and the box around it.
    size : array (parameter,)
        Size of a unit step of each parameter.
    method : {"trf", "dogbox"}
        Method of `scipy.optimize.least_squares`.

    Returns
    -------
    Lowest, or None if the start, or every point around it, fails.
    """
    evaluated: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

    def at(point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        key = point.tobytes()
        if key not in evaluated:
            evaluated[key] = residuals_and_slopes(residuals, point, low, high, size)
        return evaluated[key]

    first, slope = at(start)
    if not (np.isfinite(first).all() and np.isfinite(slope).all()):
        return None

    try:
        solution = scipy_optimize().least_squares(
            lambda point: at(point)[0],
            start,
            jac=lambda point: at(point)[1],
            bounds=(low, high),
            method=method,
            x_scale=size,
            ftol=FLAT,
            xtol=CLOSE,
            gtol=None,
            max_nfev=MOST_STEPS,
        )
    except (ValueError, np.linalg.LinAlgError):
        # all points near the current point of the descent fail, so that the derivatives there are
        # nan
        good = [
            (x, r, s)
            for x, (r, s) in evaluated.items()
            if np.isfinite(r).all() and np.isfinite(s).all()
        ]
        key, residual, slope = min(good, key=lambda entry: float(entry[1] @ entry[1]))
        return Lowest(np.frombuffer(key), residual, slope, False)
    return Lowest(solution.x, *at(solution.x), settled=solution.status > 0)


def residuals_and_slopes(
    residuals: ResidualFunction,
    point: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    size: np.ndarray,
    step: float = DIFFERENCE_STEP,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the residuals at a point, and their derivatives by central differences.

    A difference is one-sided if one of its two ends fails. `step` is half the distance, relative to
    each size.
    """
    steps = np.diag(step * size)
    above, below = np.minimum(point + steps, high), np.maximum(point - steps, low)
    centre, *rows = residuals(np.vstack([point, above, below]))
    slope = np.empty((len(centre), len(point)))
    for i in range(len(point)):
        end, begin, up, down = above[i, i], below[i, i], rows[i], rows[len(point) + i]
        if not np.isfinite(up).all():
            end, up = point[i], centre
        if not np.isfinite(down).all():
            begin, down = point[i], centre
        with np.errstate(all="ignore"):
            slope[:, i] = (up - down) / (end - begin)
    return centre, slope


def indistinguishable_groups(
    slope: np.ndarray, names: Sequence[str], size: np.ndarray, across: float = SAME_DIRECTION
) -> list[tuple[str, ...]]:
    """Return groups of parameters of which only a combination affects the residuals.

    A parameter without effect is a group of one.

    Parameters
    ----------
    slope : array (residual, parameter)
    names : sequence of str
        Names of the parameters.
    size : array (parameter,)
        Size of a unit step of each parameter.
    across : float
        Difference of normalized derivatives below which they count as equal.
    """
    columns = slope * size
    norms = np.linalg.norm(columns, axis=0)
    acting = norms > NO_EFFECT * norms.max(initial=0.0)
    groups: list[tuple[str, ...]] = [(names[k],) for k in np.flatnonzero(~acting).tolist()]
    if acting.sum() > 1:
        indices, unit = np.flatnonzero(acting), columns[:, acting] / norms[acting]
        values, directions = np.linalg.eigh(unit.T @ unit)
        for direction in directions.T[values < across**2]:
            groups.append(tuple(names[k] for k in indices[np.abs(direction) > SHARE].tolist()))
    return groups
