"""Areas under courses and between them, of as many points as a reader can tell apart.

Matplotlib leaves out of a line what no dot shows, but of an area it writes every sample: of a page
with the forces of a run that was nine tenths of the bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Columns of dots across a picture: a page is at most 7 inches wide, a printer's dot 1/300 inch.
COLUMNS = 2100
# How far from a course the straight lines may run that are drawn in its place, over its height: a
# picture is at most 7 inches high, so it is less than half a dot of a printer everywhere.
STRAIGHT = 1.0 / 5000.0


def shade(
    axes: Axes, x: np.ndarray, low: np.ndarray | float, high: np.ndarray, **look: Any
) -> None:
    """Fill between two courses, or a course and a value; see `Axes.fill_between` of matplotlib.

    Parameters
    ----------
    axes : Axes
    x : array (n,)
        Increasing.
    low : array (n,) or float
    high : array (n,)
    **look
        Of matplotlib.
    """
    x, high = np.asarray(x, dtype=float), np.asarray(high, dtype=float)
    low = np.broadcast_to(np.asarray(low, dtype=float), high.shape)
    kept = pixels_needed(x, low, high)
    axes.fill_between(x[kept], low[kept], high[kept], linewidth=0.0, **look)


def pixels_needed(x: np.ndarray, *courses: np.ndarray) -> np.ndarray:
    """Places of the samples that are needed to draw some courses.

    Of more samples than four a column of dots, those of each column that come first and last and
    are smallest and largest. Of these, those whose absence would move a course by more than
    `STRAIGHT` (Ramer 1972, doi:10.1016/S0146-664X(72)80017-0, measured along the ordinate); the
    smallest and the largest of all stay.

    Parameters
    ----------
    x : array (n,)
    *courses : array (n,)

    Returns
    -------
    array (m,)
        All, where x does not increase or anything is not finite.
    """
    n = len(x)
    if (
        n < 3
        or not (np.diff(x) > 0.0).all()
        or not all(np.isfinite(course).all() for course in courses)
    ):
        return np.arange(n)
    places = column_extremes(x, courses) if n > 4 * COLUMNS else np.arange(n)
    x, courses = x[places], tuple(course[places] for course in courses)
    heights = [float(np.ptp(course)) or 1.0 for course in courses]
    kept = np.unique(
        [
            0,
            len(x) - 1,
            *(int(find(course)) for course in courses for find in (np.argmin, np.argmax)),
        ]
    )
    while True:
        off = np.max(
            [
                np.abs(y - np.interp(x, x[kept], y[kept])) / h
                for y, h in zip(courses, heights, strict=True)
            ],
            axis=0,
        )
        # the sample of each stretch that is farthest from its line
        stretch = np.repeat(np.arange(len(kept)), np.diff(kept, append=len(x)))
        farthest = np.maximum.reduceat(off, kept)[stretch]
        more = np.flatnonzero((off == farthest) & (off > STRAIGHT))
        if not len(more):
            return places[kept]
        kept = np.union1d(kept, more[np.unique(stretch[more], return_index=True)[1]])


def column_extremes(x: np.ndarray, courses: tuple[np.ndarray, ...]) -> np.ndarray:
    """Places of the first and last sample of each column of dots, and of the smallest and
    largest of each course."""
    column = np.minimum(((x - x[0]) / (x[-1] - x[0]) * COLUMNS).astype(int), COLUMNS - 1)
    first = np.flatnonzero(np.diff(column, prepend=-1))
    found = [first, np.append(first[1:], len(x)) - 1]
    for course in courses:
        order = np.lexsort((course, column))
        found += [order[first], order[found[1]]]
    return np.unique(np.concatenate(found))
