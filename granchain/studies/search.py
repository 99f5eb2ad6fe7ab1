"""Least squares over cases: what is left of a comparison at many points at once, and the way
down from one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

# Half the distance of a central difference, as a part of a parameter's size: runs have an error of
# some 1e-6 (samples, number of steps), and the cube of the size stands against the square of this.
DIFFERENCE_STEP = 1e-3
# Relative changes of the sum of squares, and of the point, below which a descent has converged.
FLAT, CLOSE = 1e-7, 1e-6
# Points that a way down looks at, each with the central differences about it.
MOST_STEPS = 40
# Two parameters act alike where the derivatives by them, each of norm 1, leave less than this part
# across: a central difference is off by 1e-6/APART of its size. A parameter acts where it does by
# more than this part of the one that acts most, and in a combination by a share.
SAME_DIRECTION, NO_EFFECT, SHARE = 3e-3, 1e-6, 0.1
# Peaks of laws with a kink jump by 1e-5 between runs whose parameters are nearly the same, as a
# kink falls between steps: that is some hundredths of a derivative, and a tenth of it of one taken
# ten times as far apart, whose own error is the square of its distance. Derivatives that leave less
# than NEARLY_ALIKE across are taken WIDE apart.
NEARLY_ALIKE, WIDE = 0.1, 1e-2

# (n, parameters) points to (n, residuals), nan where a case fails.
Residuals = Callable[[np.ndarray], np.ndarray]


class Lowest(NamedTuple):
    """Where a way down has ended: the point, what is left there, its derivatives (residual,
    parameter), what was left at the start, and
    whether it came to an end."""

    point: np.ndarray
    residual: np.ndarray
    slope: np.ndarray
    first: np.ndarray
    settled: bool


def descend(
    residuals: Residuals,
    start: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    size: np.ndarray,
    method: Literal["trf", "dogbox"] = "trf",
    flat: float = FLAT,
) -> Lowest | None:
    """The lowest sum of squares that the way down from a point leads to.

    Parameters
    ----------
    residuals : function
        Is given a point with all those that its derivatives need at once.
    start, low, high : array (parameter,)
        The point and the box around it.
    size : array (parameter,)
        What counts as a step of 1 of each parameter.
    method : {"trf", "dogbox"}
        Of `scipy.optimize.least_squares`.
    flat : float
        It has ended where the sum of squares changes by less than this part of it.

    Returns
    -------
    Lowest, or None where the start, or all around it, fails.
    """
    from scipy.optimize import least_squares

    known: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

    def at(point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        key = point.tobytes()
        if key not in known:
            known[key] = with_slopes(residuals, point, low, high, size)
        return known[key]

    first, slope = at(start)
    if not (np.isfinite(first).all() and np.isfinite(slope).all()):
        return None

    def left(point: np.ndarray) -> np.ndarray:
        return at(point)[0]

    def slopes(point: np.ndarray) -> np.ndarray:
        return at(point)[1]

    try:
        found = least_squares(
            left,
            start,
            jac=slopes,
            bounds=(low, high),
            method=method,
            x_scale=size,
            ftol=flat,
            xtol=CLOSE,
            gtol=None,
            max_nfev=MOST_STEPS,
        )
    except (ValueError, np.linalg.LinAlgError):
        # all about a point on the way fails: its derivatives are no numbers
        good = [
            (x, r, s)
            for x, (r, s) in known.items()
            if np.isfinite(r).all() and np.isfinite(s).all()
        ]
        key, residual, slope = min(good, key=lambda entry: float(entry[1] @ entry[1]))
        return Lowest(np.frombuffer(key), residual, slope, first, False)
    return Lowest(found.x, *at(found.x), first=first, settled=found.status > 0)


def with_slopes(
    residuals: Residuals,
    point: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    size: np.ndarray,
    step: float = DIFFERENCE_STEP,
) -> tuple[np.ndarray, np.ndarray]:
    """Residuals at a point, and their derivatives by central differences, one-sided where one
    of the two fails; `step` is half their distance, in parts of each size."""
    apart = np.diag(step * size)
    above, below = np.minimum(point + apart, high), np.maximum(point - apart, low)
    here, *rows = residuals(np.vstack([point, above, below]))
    slope = np.empty((len(here), len(point)))
    for i in range(len(point)):
        end, begin, up, down = above[i, i], below[i, i], rows[i], rows[len(point) + i]
        if not np.isfinite(up).all():
            end, up = point[i], here
        if not np.isfinite(down).all():
            begin, down = point[i], here
        with np.errstate(all="ignore"):
            slope[:, i] = (up - down) / (end - begin)
    return here, slope


def indistinguishable_groups(
    slope: np.ndarray, names: Sequence[str], size: np.ndarray, across: float = SAME_DIRECTION
) -> list[tuple[str, ...]]:
    """Groups of parameters of which only a combination acts on what is compared; one that does not
    act is alone.

    Parameters
    ----------
    slope : array (residual, parameter)
    names : sequence of str
        Of the parameters.
    size : array (parameter,)
        What counts as a step of 1 of each parameter.
    across : float
        The part of derivatives that is left across a common direction, below which they are alike.
    """
    columns = slope * size
    norms = np.linalg.norm(columns, axis=0)
    acting = norms > NO_EFFECT * norms.max(initial=0.0)
    found: list[tuple[str, ...]] = [(names[k],) for k in np.flatnonzero(~acting).tolist()]
    if acting.sum() > 1:
        there, unit = np.flatnonzero(acting), columns[:, acting] / norms[acting]
        values, directions = np.linalg.eigh(unit.T @ unit)
        for direction in directions.T[values < across**2]:
            found.append(tuple(names[k] for k in there[np.abs(direction) > SHARE].tolist()))
    return found
