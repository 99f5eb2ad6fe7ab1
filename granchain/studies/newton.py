"""Newton's method towards a periodic orbit: whole steps, halved where they lead away.

One run of many members gives a period's end and its Jacobian, and nearness is how nearly it closes;
scipy.optimize.root asks for the Jacobian at each trial or by itself, and ends by the size of steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from granchain.errors import RunError
from granchain.studies.shooting import MOVED, Course, Period

# Ours: the first step from the static state is the linear answer, and an orbit takes 2 to 6.
MOST_SHOTS = 24
# A step of Newton's is halved so many times before it is given up.
MOST_HALVINGS = 6
# Above so many beads the columns of the Jacobian cost more than the directions that are needed.
MOST_DENSE = 60
# Ours: how nearly a step solves its equations, and a multiplier its own: Newton's method comes
# nearer by the first in each step, and the time step leaves more open than the second.
SOLVED, ARNOLDI_TOLERANCE = 1e-3, 1e-7
# Multipliers that are computed, and the directions from which they are.
LARGEST_MULTIPLIERS, DIRECTIONS = 6, 40


@dataclass
class Shot:
    """A period from a state, and what becomes of small changes; numbers are scaled.

    Parameters
    ----------
    period : Period
    state, image : (2 n,) array
        At its start and its end.
    course : Course
    residual : float
        Largest difference of the two, as a part of the largest excursion.
    """

    period: Period
    state: np.ndarray
    image: np.ndarray
    course: Course
    residual: float

    @cached_property
    def jacobian(self) -> np.ndarray:
        """(2 n, 2 n) Of the image by the state."""
        return self.period.with_jacobian(self.state)[1]


@dataclass
class Nearest:
    """How near Newton's method has come.

    Parameters
    ----------
    shot : Shot
        The nearest.
    place : array
        Where it was made.
    shots : int
        How many were made in all.
    why : str, optional
        Why none was near enough.
    """

    shot: Shot
    place: np.ndarray
    shots: int
    why: str | None = "it had not converged"

    @property
    def sentence(self) -> str:
        """What was tried."""
        return (
            f"Newton's method stopped after {self.shots} iterations because {self.why}, and its "
            f"best state has a closing error of {self.shot.residual:.3g} of its largest excursion"
        )


def newton(
    place: np.ndarray,
    begun: str,
    shoot: Callable[[np.ndarray], Shot],
    step: Callable[[np.ndarray, Shot], np.ndarray | None],
    tolerance: float,
    last: float = math.inf,
) -> Nearest:
    """Newton's method from a place, with steps that are halved while they lead away from closing.

    Parameters
    ----------
    place : array
    begun : str
        What it begins from.
    shoot : callable
        The period from a place.
    step : callable
        From a place and its shot to where the next one is made; None where there is no such step.
    tolerance : float
        Residual that is near enough.
    last : float
        How small the step from there has to be as well.

    Raises
    ------
    RunError
        Where the first period cannot be computed.
    """
    best, shot, halved, move = None, None, 0, np.zeros_like(place)
    for shots in range(1, MOST_SHOTS + 1):
        try:
            shot = shoot(place)
        except RunError as error:
            if best is None:
                raise RunError(
                    f"guess: no period can be computed from {begun}: {error} A state near an "
                    "orbit is required. Start from a smaller amplitude."
                ) from None
            shot = best.shot
        if best is None or shot.residual < best.shot.residual:
            best, halved, near = Nearest(shot, place, shots), 0, shot.residual <= tolerance
            if near and last == math.inf:
                return replace(best, why=None)
            moved = step(place, shot)
            if moved is None:
                singular = (
                    "its Jacobian is singular, as it is if a drive excites an undamped resonance"
                )
                return replace(best, why=singular)
            if near and np.abs(moved).max() <= last:
                return replace(best, why=None)
            move = moved
        elif halved == MOST_HALVINGS:
            return replace(best, shots=shots, why="a step had been halved six times")
        else:
            halved += 1
        place = best.place + move * 0.5**halved
    assert best is not None
    return replace(best, shots=MOST_SHOTS)


def newton_step(state: np.ndarray, image: np.ndarray, jacobian: np.ndarray) -> np.ndarray | None:
    """Newton's step towards a fixed point; None where there is none."""
    try:
        step: np.ndarray = np.linalg.solve(np.eye(state.size) - jacobian, image - state)
    except np.linalg.LinAlgError:
        return None
    return step if np.isfinite(step).all() else None


# --------------------------------------------------------------------------------------------------
# Long chains: directions of the Jacobian in place of its columns, which are not computed


def along(period: Period, state: np.ndarray, moved: float = MOVED) -> Any:
    """The Jacobian at a state, a direction at a time: the central difference of two runs."""
    from scipy.sparse.linalg import LinearOperator

    def product(direction: np.ndarray) -> np.ndarray:
        way = np.ravel(direction)
        size = moved / float(np.abs(way).max())
        above, below = period.images(state + size * np.array([way, -way]))
        return np.asarray((above - below) / (2.0 * size))

    return LinearOperator((state.size, state.size), matvec=product, dtype=float)


def krylov_step(
    period: Period, state: np.ndarray, image: np.ndarray, moved: float = MOVED
) -> np.ndarray | None:
    """Newton's step towards a fixed point by GMRES (Saad & Schultz 1986, doi:10.1137/0907058); None
    where it would cost more than a quarter of the Jacobian."""
    from scipy.sparse.linalg import LinearOperator, gmres

    jacobian, n = along(period, state, moved), state.size

    def product(direction: np.ndarray) -> np.ndarray:
        return np.asarray(direction - jacobian.matvec(direction))

    apart = LinearOperator((n, n), matvec=product, dtype=float)
    step, left = gmres(apart, image - state, rtol=SOLVED, atol=0.0, restart=n // 4, maxiter=1)
    return None if left else np.asarray(step)


def largest_multipliers(
    period: Period, state: np.ndarray, moved: float = MOVED
) -> tuple[np.ndarray, np.ndarray]:
    """The largest eigenvalues of the Jacobian at a state and their vectors, as columns, by
    Arnoldi's method (Lehoucq, Sorensen & Yang 1998, doi:10.1137/1.9780898719628); all where they
    lie too close to a circle for it, and are computed from the columns."""
    from scipy.sparse.linalg import ArpackNoConvergence, eigs

    n = state.size
    again = max(1, (n // 2 - DIRECTIONS) // (DIRECTIONS - LARGEST_MULTIPLIERS))
    begin = np.cos(np.arange(n))
    try:
        found: tuple[np.ndarray, np.ndarray] = eigs(
            along(period, state, moved),
            LARGEST_MULTIPLIERS,
            v0=begin,
            ncv=DIRECTIONS,
            maxiter=again,
            tol=ARNOLDI_TOLERANCE,
        )
    except ArpackNoConvergence:
        found = np.linalg.eig(period.with_jacobian(state, moved)[1])
    return found
