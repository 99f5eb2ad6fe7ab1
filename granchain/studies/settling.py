"""A driven chain whose contacts remember what was: run period after period until that stands still,
then Newton's method with it as it is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from granchain.studies.shooting import Period

# Periods in a row in which nothing changes that contacts remember, at least; and those after which
# it is settled though the chain does not come again. Ours.
QUIET, RESTLESS = 10, 500
# Periods that are waited for. Ours: a chain that loses a thousandth a period has come to rounding.
MOST_PERIODS = 40_000
# A dent that grows in a period by less than this part of itself is no larger: rounding.
SETTLED_GROWTH = 1e-12
# Part of what a contact remembers by which an orbit may differ, which is found to 1e-8.
MEETS = 1e-7
# How nearly the chain comes again when it has settled, as a part of its state; from one try to the
# next, and how many there are.
COMES, NEARER, MOST_TRIES = 1e-4, 1e-3, 5


class Settled(NamedTuple):
    """A chain and what its contacts remember, at the drive's phase 0.

    Parameters
    ----------
    state : (2 n,) array
        Scaled.
    history : (n_history, n_contacts) array
    periods : int
        After which the history has stood still.
    passed : int
        All periods that it was run.
    grows : float
        Part of itself by which the history still changes in a period; 0 where it has settled.
    """

    state: np.ndarray
    history: np.ndarray
    periods: int = 0
    passed: int = 0
    grows: float = 0.0


def growth(before: np.ndarray, after: np.ndarray) -> float:
    """Largest change of numbers, as a part of them; of one that was 0, infinite."""
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = np.abs(after - before) / np.abs(before)
    return float(parts[before != after].max(initial=0.0))


def settle(period: Period, begun: Settled, comes: float) -> Settled:
    """Run period after period until what contacts remember, but of their onset, stands still.

    Parameters
    ----------
    period : Period
    begun : Settled
        From where.
    comes : float
        Part of the state by which it may still differ from one period to the next.

    Raises
    ------
    RunError
        Where a run fails.
    """
    state, history, periods, passed, _ = begun
    if not (rows := period.lasting):
        return begun._replace(history=period.passed(state, history)[1])
    grows, quiet = 0.0, 0
    for _ in range(MOST_PERIODS):
        image, after = period.passed(state, history)
        grows, passed = growth(history[rows], after[rows]), passed + 1
        quiet = quiet + 1 if grows <= SETTLED_GROWTH else 0
        periods = periods if quiet else passed
        again = np.abs(image - state).max() <= comes * np.abs(image).max()
        state, history = image, after
        if quiet >= RESTLESS or (again and quiet >= QUIET):
            return Settled(state, history, periods, passed)
    return Settled(state, history, periods, passed, max(grows, SETTLED_GROWTH))
