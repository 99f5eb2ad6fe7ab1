"""Newton's method for a periodic orbit, with full steps that are halved if they do not converge.

One run of many members gives the end of a period and its Jacobian, and the closing error measures
convergence. scipy.optimize.root would request the Jacobian at each trial or separately, and would
end by the size of steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from granchain.errors import RunError
from granchain.orbits.shooting import MOVED, Course, Period

# Maximum number of iterations. An orbit takes 2 to 6, because the first step from the static state
# is the linear solution. Our choice.
MOST_SHOTS = 24
# Number of times that a Newton step is halved before the iteration stops.
MOST_HALVINGS = 6
# Number of beads above which the columns of the Jacobian cost more than the required directions.
MOST_DENSE = 60
# Relative tolerances of a linear solution and of a multiplier. Our choice: each Newton step reduces
# the residual to the first, and the discretization error exceeds the second.
SOLVED, ARNOLDI_TOLERANCE = 1e-3, 1e-7
# Number of computed multipliers, and of the directions for them.
LARGEST_MULTIPLIERS, DIRECTIONS = 6, 40


@dataclass
class Shot:
    """Run over a period from a state, and its Jacobian. All variables are scaled.

    Parameters
    ----------
    period : Period
    state, image : (2 n,) array
        States at the start and at the end of the period.
    course : Course
    residual : float
        Largest difference between them, as a fraction of the largest excursion.
    """

    period: Period
    state: np.ndarray
    image: np.ndarray
    course: Course
    residual: float

    @cached_property
    def jacobian(self) -> np.ndarray:
        """Jacobian of the image with respect to the state, (2 n, 2 n)."""
        return self.period.with_jacobian(self.state)[1]


@dataclass
class Nearest:
    """Best iteration of Newton's method.

    Parameters
    ----------
    shot : Shot
        Shot with the smallest residual.
    place : array
        Unknowns of this shot.
    shots : int
        Total number of shots.
    why : str, optional
        Reason why the method has not converged; None if it has.
    """

    shot: Shot
    place: np.ndarray
    shots: int
    why: str | None = "it had not converged"

    @property
    def sentence(self) -> str:
        """Description of the attempt, for messages."""
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
    """Run Newton's method, and halve steps that increase the closing error.

    Parameters
    ----------
    place : array
        Initial unknowns.
    begun : str
        Description of the initial state.
    shoot : callable
        Function that computes the period from given unknowns.
    step : callable
        Function of unknowns and their shot that returns the step; None if there is none.
    tolerance : float
        Maximum residual.
    last : float
        Maximum size of the step at convergence.

    Raises
    ------
    RunError
        If the first period cannot be computed.
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
    """Return Newton's step towards a fixed point; None if the Jacobian is singular."""
    try:
        step: np.ndarray = np.linalg.solve(np.eye(state.size) - jacobian, image - state)
    except np.linalg.LinAlgError:
        return None
    return step if np.isfinite(step).all() else None


# --------------------------------------------------------------------------------------------------
# Long chains: products of the Jacobian with directions, instead of its columns


def along(period: Period, state: np.ndarray, moved: float = MOVED) -> Any:
    """Return the Jacobian at a state as an operator: each product is a difference of two runs."""
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
    """Return Newton's step by GMRES (Saad & Schultz 1986, doi:10.1137/0907058).

    It is None if it would cost more than a quarter of the Jacobian.
    """
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
    """Return the largest eigenvalues of the Jacobian at a state, and their vectors as columns.

    The method is Arnoldi's (Lehoucq, Sorensen & Yang 1998, doi:10.1137/1.9780898719628). If the
    eigenvalues are too close to a circle for it, all are computed from the columns.
    """
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
