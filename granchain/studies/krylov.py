"""Long chains: Newton's step and the largest multipliers from directions of the Jacobian, whose
columns are not computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from granchain.studies.shooting import MOVED, Period

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

# Above so many beads the columns of the Jacobian cost more than the directions that are needed.
MOST_DENSE = 60
# Ours: how nearly a step solves its equations, and a multiplier its own: Newton's method comes
# nearer by the first in each step, and the time step leaves more open than the second.
SOLVED, ARNOLDI_TOLERANCE = 1e-3, 1e-7
# Multipliers that are computed, and the directions from which they are.
LARGEST_MULTIPLIERS, DIRECTIONS = 6, 40


def along(period: Period, state: np.ndarray, moved: float = MOVED) -> LinearOperator:
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
