"""The map of a state over one period of a chain, its Jacobian, and Newton's method for its fixed
points, which are periodic orbits.

Newton's method takes full steps, and halves those that do not converge. One run of many members
gives the end of a period and its Jacobian, and the closing error measures convergence.
scipy.optimize.root is not used, because it requests the Jacobian separately or at each trial, and
its convergence criterion is the size of the steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from granchain.analysis.convergence import SAFETY
from granchain.case import Case
from granchain.case.start import MOTION_COLUMNS
from granchain.errors import CaseError, RunError
from granchain.store import Result
from granchain.studies.images import Course, Images, Runners
from granchain.waves.modes import modes

# Displacement of a state for a column of the Jacobian, relative to the smallest static overlap.
# Smaller displacements lose digits to rounding, and larger displacements add errors from the
# curvature of the law.
MOVED = 1e-4
# Minimum number of steps per period. Our choice: with fewer, an oscillation is not resolved.
FEWEST_STEPS = 20
# Typical number of iterations from the static state (2 to 6), and of those for the errors, for the
# progress report.
USUAL_SHOTS = 4 + 2
# Maximum number of iterations. An orbit takes 2 to 6, because the first step from the static state
# is the linear solution. Our choice.
MOST_SHOTS = 24
# Number of times that a Newton step is halved before the iteration stops.
MOST_HALVINGS = 6
# Number of beads above which the columns of the Jacobian cost more than the required directions.
MOST_DENSE = 60
# Relative tolerances of a linear solution and of a multiplier. Our choice: each Newton step reduces
# the residual by the first, and the discretization error of a multiplier exceeds the second.
SOLVED, ARNOLDI_TOLERANCE = 1e-3, 1e-7
# Number of computed multipliers, and of the directions for them.
LARGEST_MULTIPLIERS, DIRECTIONS = 6, 40
# Maximum number of corrections of an orbit with half the step, and the fraction of the change at
# which they end.
MOST_CORRECTIONS, CORRECTED = 20, 1e-2


class PeriodGrid(NamedTuple):
    """Number of steps of a period (even), smallest static overlap [m], and scale of displacements
    [m] and velocities [m/s], (2 n_bodies,)."""

    steps: int
    overlap: float
    scale: np.ndarray

    def finer(self, factor: int) -> PeriodGrid:
        """Return the grid with more steps."""
        return self._replace(steps=factor * self.steps)


class Guess(NamedTuple):
    """Initial state of a search.

    Parameters
    ----------
    state : (2 n_bodies,) array
        Displacements [m], then velocities [m/s].
    origin : str
        Description of the state.
    result : Result, optional
        Run that ends there, or trajectory of the orbit.
    period : float, optional
        Period of the orbit [s]; None if the state is not that of an orbit.
    """

    state: np.ndarray
    origin: str
    result: Result | None = None
    period: float | None = None


def period_grid(case: Case, one_period: Case, runners: Runners) -> PeriodGrid:
    """Return the steps and the scale of a period."""
    period = one_period.time.end
    # this raises errors for contacts without a static force, and for chains that are too long
    omega = 2.0 * math.pi * float(modes(case).frequencies[-1])
    chain = Images(one_period, runners)
    planned = chain.time_step
    if planned.n_steps < FEWEST_STEPS:
        raise CaseError(
            f"period: {period:.6g} s is only {planned.n_steps} time steps of {planned.value:.3g} "
            f"s. At least {FEWEST_STEPS} are required. Reduce time.step, for example to "
            f"{period / 100.0:.3g} s{', or use a lower drive frequency' * bool(case.drives)}."
        )
    # an even number of steps, which are so short that steps of twice the length are stable
    steps = max(planned.n_steps, math.ceil(2.0 * period / planned.limit))
    overlap = float(chain.overlaps.min())
    scale = np.repeat([overlap, omega * overlap], chain.bodies)
    return PeriodGrid(steps + steps % 2, overlap, scale)


def one_period_of(case: Case, period: float) -> Case:
    """Return the case for one drive period from phase 0, at rest."""
    changes: dict[str, Any] = {"time.end": period, "initial": None, "tolerance": None}
    changes |= {
        f"{table}.{name}": None
        for table, _ in case.chain.keyed_segments()
        for name in MOTION_COLUMNS
    }
    first = next((end.phase for end in case.drives.values()), None) or 0.0
    for where, end in case.drives.items():
        phase = math.remainder((end.phase or 0.0) - first, 2.0 * math.pi) or None
        changes |= {f"{where}.ramp": None, f"{where}.duration": None, f"{where}.phase": phase}
    return case.replace(**changes)


class Shooting:
    """Run over one period of a case, from any state.

    States are scaled: displacements by the smallest static overlap, velocities by that times the
    highest frequency of the chain.

    Parameters
    ----------
    one_period : Case
        One period from rest.
    period : float
        Period [s].
    grid : PeriodGrid
    runners : Runners
    history : (n_history, n_contacts + ends) array, optional
        Contact histories with constant residual indentation. Default: histories at rest.
    """

    def __init__(
        self,
        one_period: Case,
        period: float,
        grid: PeriodGrid,
        runners: Runners,
        history: np.ndarray | None = None,
    ):
        self.period, self.grid = period, grid
        self.case = one_period.replace(**{"time.end": period, "time.step": period / grid.steps})
        self.chain = Images(self.case, runners, history)
        # runs of a shot with its Jacobian, and whether to use directions instead of columns
        self.runs = 4 * self.chain.bodies + 1
        self.long = self.chain.bodies > MOST_DENSE

    def changed(self, period: float, steps: int) -> Shooting:
        """Return the same run over another time, in another number of steps."""
        grid, chain = self.grid._replace(steps=steps), self.chain
        return Shooting(self.case, period, grid, chain.runners, chain.history)

    def images(self, states: np.ndarray) -> np.ndarray:
        """Return the images of states after a period, (m, 2 n)."""
        return self.chain.after(states * self.grid.scale) / self.grid.scale

    def image_and_history(
        self, state: np.ndarray, history: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the image of a state and the contact histories, whose indentation can grow."""
        image, after = self.chain.after_with_history(state * self.grid.scale, history)
        return image / self.grid.scale, after

    def with_jacobian(
        self, state: np.ndarray, moved: float = MOVED
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the image of a state, and the Jacobian there by central differences."""
        sides = moved * np.eye(state.size)
        ends = self.images(np.vstack([state[None], state + sides, state - sides]))
        above, below = ends[1 : 1 + state.size], ends[1 + state.size :]
        return ends[0], (above - below).T / (2.0 * moved)

    def shoot(self, state: np.ndarray) -> Shot:
        """Run a period from a state with its Jacobian, which long chains compute on request.

        Raises
        ------
        RunError
            If a run fails.
        """
        jacobian = None
        if self.long:
            image = self.images(state[None])[0]
        else:
            image, jacobian = self.with_jacobian(state)
        course = self.chain.course(state * self.grid.scale)
        # for a chain at rest, a millionth of its static overlap
        excursion = max(float(course.excursion.max()) / self.grid.overlap, 1e-6)
        residual = float(np.abs(image - state).max()) / excursion
        shot = Shot(self, state, image, course, residual)
        if jacobian is not None:
            shot.jacobian = jacobian
        return shot

    def run(self, state: np.ndarray) -> Result:
        """Run the period from a state, with records."""
        return self.chain.trajectory(state * self.grid.scale)

    def run_until_failure(self, state: np.ndarray) -> Result | None:
        """Run the period from a state that is not an orbit, as far as possible."""
        try:
            return self.run(state)
        except (CaseError, RunError) as error:
            return getattr(error, "result", None)

    @property
    def limits(self) -> np.ndarray:
        """Overlaps at which residual indentations start to grow, (contacts,) [m]; infinite if there
        are none."""
        chain = self.chain
        if chain.history is None or chain.limit is None:
            return np.full(chain.contact.size, math.inf)
        return np.asarray(chain.history[chain.limit][chain.contacts])


@dataclass
class Shot:
    """Run over a period from a state, and its Jacobian. All variables are scaled.

    Parameters
    ----------
    shooting : Shooting
    state, image : (2 n,) array
        States at the start and at the end of the period.
    course : Course
    residual : float
        Largest difference between them, as a fraction of the largest excursion.
    """

    shooting: Shooting
    state: np.ndarray
    image: np.ndarray
    course: Course
    residual: float

    @cached_property
    def jacobian(self) -> np.ndarray:
        """Jacobian of the image with respect to the state, (2 n, 2 n)."""
        return self.shooting.with_jacobian(self.state)[1]

    @property
    def dense(self) -> bool:
        """True if the Jacobian was computed."""
        return "jacobian" in vars(self)


@dataclass
class Stability:
    """Multipliers of an orbit, the largest modulus first; for a breather the nontrivial ones.

    Parameters
    ----------
    values : (m,) complex array
    vectors : (m, 2 n) complex array
        Eigenvectors as rows.
    off, modulus : float
        Errors of the first value and of its modulus.
    stable : bool
    moduli : (m,) array
        Error of each modulus, for a breather.
    matrix : (m, m) array, optional
        Jacobian on the space across conserved quantities, for a breather.
    energy : float
        Energy of a breather [J].
    period_error : float
        Error of the period of a breather [s].
    """

    values: np.ndarray
    vectors: np.ndarray
    off: float = math.nan
    modulus: float = math.nan
    stable: bool = False
    moduli: np.ndarray = field(default_factory=lambda: np.zeros(0))
    matrix: np.ndarray | None = None
    energy: float = math.nan
    period_error: float = 0.0


def step_error(problem: Any, shot: Shot) -> tuple[np.ndarray, float]:
    """Return the discretization errors of an orbit, from the orbit with half the step.

    They are the error of the displacement of each body at any phase, (n_bodies,) [m], and of the
    energy of a breather [J].

    Newton's method uses the Jacobian of the orbit itself, so each correction costs one run.
    """
    finer, state, period, n = problem.finer(), shot.state, shot.shooting.period, shot.state.size
    jacobian = shot.jacobian if shot.dense else None
    try:
        for _ in range(MOST_CORRECTIONS):
            halved = finer.shooting(period)
            move = finer.correction(halved, state, halved.images(state[None])[0], jacobian)
            if move is None:
                break
            state, period = state + move[:n], period * (1.0 + float(move[n:].sum()))
            change = state - shot.state
            if np.abs(move[:n]).max() <= max(CORRECTED * np.abs(change).max(), problem.closes):
                return swing_error(change, shot.shooting), problem.energy_error(shot, state)
    except (CaseError, RunError):
        pass
    return np.full(n // 2, math.nan), math.nan


def swing_error(change: np.ndarray, shooting: Shooting) -> np.ndarray:
    """Return the error of each displacement from the change with half the step, (n,) [m].

    Order 2: half steps leave a quarter of the error, so the change is three quarters of it. The
    error is the amplitude of an oscillation with the period of the orbit that has this change of
    state, so it applies at any phase.
    """
    u, v = (change * shooting.grid.scale).reshape(2, -1)
    omega = 2.0 * math.pi / shooting.period
    return np.asarray(SAFETY * 4.0 / 3.0 * np.hypot(u, v / omega))


def scaled_to_largest(vectors: np.ndarray) -> np.ndarray:
    """Scale rows of displacements and velocities to a largest displacement of 1."""
    largest = np.abs(vectors[:, : vectors.shape[1] // 2]).argmax(axis=1)[:, None]
    return np.asarray(vectors / np.take_along_axis(vectors, largest, axis=1))


def rounding_of(steps: int) -> float:
    """Return the rounding error of a central difference over a period, as a random walk."""
    return float(np.finfo(float).eps / MOVED * math.sqrt(2.0 * steps))


def step_error_failure(shot: Shot, error: RunError) -> RunError:
    """Return the error for an orbit that cannot be followed with longer steps."""
    return RunError(
        "orbit: the error of the orbit cannot be estimated, because with time steps of twice "
        f"the length {error} Reduce time.step.",
        shot.shooting.run_until_failure(shot.state),
    )


# --------------------------------------------------------------------------------------------------
# Newton's method


@dataclass
class Nearest:
    """Best iteration of Newton's method.

    Parameters
    ----------
    shot : Shot
        Shot with the smallest residual.
    unknowns : array
        Unknowns of this shot.
    shots : int
        Total number of shots.
    why : str, optional
        Reason why the method has not converged; None if it has.
    """

    shot: Shot
    unknowns: np.ndarray
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
    unknowns: np.ndarray,
    origin: str,
    shoot: Callable[[np.ndarray], Shot],
    step: Callable[[np.ndarray, Shot], np.ndarray | None],
    tolerance: float,
    last: float = math.inf,
) -> Nearest:
    """Run Newton's method, and halve steps that increase the closing error.

    Parameters
    ----------
    unknowns : array
        Initial unknowns.
    origin : str
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
    best, shot, halved, move = None, None, 0, np.zeros_like(unknowns)
    for shots in range(1, MOST_SHOTS + 1):
        try:
            shot = shoot(unknowns)
        except RunError as error:
            if best is None:
                raise RunError(
                    f"guess: no period can be computed from {origin}: {error} A state near an "
                    "orbit is required. Start from a smaller amplitude."
                ) from None
            shot = best.shot
        if best is None or shot.residual < best.shot.residual:
            best, halved, near = Nearest(shot, unknowns, shots), 0, shot.residual <= tolerance
            if near and last == math.inf:
                return replace(best, why=None)
            moved = step(unknowns, shot)
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
        unknowns = best.unknowns + move * 0.5**halved
    assert best is not None
    return replace(best, shots=MOST_SHOTS)


def newton_correction(matrix: np.ndarray, residuals: np.ndarray) -> np.ndarray:
    """Return the step that solves equations, or more equations than unknowns, if they agree.

    Raises
    ------
    RunError
        If as many equations as unknowns are singular.
    """
    if len(matrix) > matrix.shape[1]:
        return np.linalg.lstsq(matrix, -residuals, rcond=1e-10)[0]
    try:
        return -np.linalg.solve(matrix, residuals)
    except np.linalg.LinAlgError:
        raise RunError(
            "a step did not converge to an orbit because its equations are singular."
        ) from None


def newton_step(state: np.ndarray, image: np.ndarray, jacobian: np.ndarray) -> np.ndarray | None:
    """Return Newton's step towards a fixed point; None if the Jacobian is singular."""
    try:
        step: np.ndarray = np.linalg.solve(np.eye(state.size) - jacobian, image - state)
    except np.linalg.LinAlgError:
        return None
    return step if np.isfinite(step).all() else None


# --------------------------------------------------------------------------------------------------
# Long chains: products of the Jacobian with directions, instead of its columns


def jacobian_operator(shooting: Shooting, state: np.ndarray, moved: float = MOVED) -> Any:
    """Return the Jacobian at a state as an operator: each product is a difference of two runs."""
    from scipy.sparse.linalg import LinearOperator

    def product(direction: np.ndarray) -> np.ndarray:
        unit_direction = np.ravel(direction)
        size = moved / float(np.abs(unit_direction).max())
        above, below = shooting.images(state + size * np.array([unit_direction, -unit_direction]))
        return np.asarray((above - below) / (2.0 * size))

    return LinearOperator((state.size, state.size), matvec=product, dtype=float)


def krylov_step(
    shooting: Shooting, state: np.ndarray, image: np.ndarray, moved: float = MOVED
) -> np.ndarray | None:
    """Return Newton's step by GMRES (Saad & Schultz 1986, doi:10.1137/0907058).

    It is None if it would cost more than a quarter of the Jacobian.
    """
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import aslinearoperator, gmres

    n = state.size
    operator = aslinearoperator(eye_array(n)) - jacobian_operator(shooting, state, moved)
    step, failed = gmres(operator, image - state, rtol=SOLVED, atol=0.0, restart=n // 4, maxiter=1)
    return None if failed else np.asarray(step)


def largest_multipliers(
    shooting: Shooting, state: np.ndarray, moved: float = MOVED
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest eigenvalues of the Jacobian at a state, and their vectors as rows.

    The method is Arnoldi's (Lehoucq, Sorensen & Yang 1998, doi:10.1137/1.9780898719628). If the
    eigenvalues are too close to a circle for it, all are computed from the columns.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, eigs

    n = state.size
    again = max(1, (n // 2 - DIRECTIONS) // (DIRECTIONS - LARGEST_MULTIPLIERS))
    begin = np.cos(np.arange(n))
    try:
        values, vectors = eigs(
            jacobian_operator(shooting, state, moved),
            LARGEST_MULTIPLIERS,
            v0=begin,
            ncv=DIRECTIONS,
            maxiter=again,
            tol=ARNOLDI_TOLERANCE,
        )
    except ArpackNoConvergence:
        values, vectors = np.linalg.eig(shooting.with_jacobian(state, moved)[1])
    return values, vectors.T
