"""Newton's method towards a periodic orbit: whole steps, halved where they lead away."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from granchain.errors import RunError
from granchain.studies.shooting import Course, Period

# Ours: the first step from the static state is the linear answer, and an orbit takes 2 to 6.
MOST_SHOTS = 24
# A step of Newton's is halved so many times before it is given up.
MOST_HALVINGS = 6


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
    why: str | None = "it had not come to an end"

    @property
    def sentence(self) -> str:
        """What was tried."""
        return (
            f"after {self.shots} shots of Newton's method {self.why}, and the nearest state is "
            f"{self.shot.residual:.3g} of its largest excursion from closing"
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
                    f"guess: got {begun}, from which a period cannot be computed: {error}; allowed "
                    "a state near an orbit; begin with a smaller amplitude"
                ) from None
            shot = best.shot
        if best is None or shot.residual < best.shot.residual:
            best, halved, near = Nearest(shot, place, shots), 0, shot.residual <= tolerance
            if near and last == math.inf:
                return replace(best, why=None)
            moved = step(place, shot)
            if moved is None:
                singular = "its Jacobian is singular, as where a drive meets an undamped resonance"
                return replace(best, why=singular)
            if near and np.abs(moved).max() <= last:
                return replace(best, why=None)
            move = moved
        elif halved == MOST_HALVINGS:
            return replace(best, shots=shots, why="each step of Newton's was halved six times")
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
