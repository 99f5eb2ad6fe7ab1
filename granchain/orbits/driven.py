"""Periodic orbits of a driven chain: equations, multipliers, and the search with contact histories
that become steady."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from granchain.case import Case
from granchain.case.start import FIXED, comparable_digests, state_in, text_of_state
from granchain.case.tables import own_contacts_in
from granchain.contact import law_named
from granchain.contact.law import ContactLaw
from granchain.errors import CaseError, RunError
from granchain.keys import Problems
from granchain.orbits.shooting import (
    MOVED,
    USUAL_SHOTS,
    Guess,
    Nearest,
    PeriodGrid,
    Shooting,
    Shot,
    Stability,
    krylov_step,
    largest_multipliers,
    newton,
    newton_step,
    one_period_of,
    period_grid,
    rounding_of,
    scaled_to_largest,
    step_error_failure,
)
from granchain.studies.images import Images, Runners

# Minimum number of consecutive periods with constant contact histories, and the number after which
# the histories count as steady even if the motion is not periodic. Our choice.
QUIET, RESTLESS = 10, 500
# Maximum number of periods. Our choice: at a loss of 0.1 % per period, it is enough to reach
# rounding.
MOST_PERIODS = 40_000
# Relative growth per period below which a residual indentation is constant except for rounding.
SETTLED_GROWTH = 1e-12
# Relative tolerance of the contact histories of an orbit, which is accurate to 1e-8.
MEETS = 1e-7
# Relative tolerance of a steady state, its reduction factor from one attempt to the next, and the
# maximum number of attempts.
COMES, NEARER, MOST_TRIES = 1e-4, 1e-3, 5
# Relative tolerance of the drive period.
SAME_PERIOD = 1e-9
# Largest distance of a guess's end from zero drive phase, as a fraction of the period.
SAME_PHASE = 0.01


@dataclass
class Driven:
    """Orbits of a driven case, whose period is a multiple of the period of the drive.

    The unknowns are the scaled state.

    Parameters
    ----------
    case : Case
    multiple : int
        Number of drive periods in a period.
    runners : Runners
    grid : PeriodGrid
    history : (n_history, n_contacts + ends) array, optional
        Contact histories with constant residual indentation. Default: histories at rest.
    errors : bool
        Whether to compute the errors of the multipliers.
    """

    case: Case
    multiple: int
    runners: Runners
    grid: PeriodGrid
    history: np.ndarray | None = None
    errors: bool = True

    # number of unknowns after the state
    unknowns = 0
    # absolute tolerance of the orbit with half the step
    closes = 0.0
    # energy of all orbits of a branch
    constant_energy = math.nan
    advice = "the orbit at a weaker drive or another frequency, or a run that has become steady"

    @property
    def period(self) -> float:
        """Period [s]."""
        return self.multiple / frequency_of(self.case)

    @cached_property
    def _shooting(self) -> Shooting:
        """Run over one period."""
        one_period = one_period_of(self.case, self.period)
        return Shooting(one_period, self.period, self.grid, self.runners, self.history)

    def shooting(self, period: float | None = None) -> Shooting:
        """Return the run over a period, which the drive sets."""
        return self._shooting

    @property
    def chain(self) -> Images:
        """Chain of the case."""
        return self.shooting().chain

    @property
    def depends_on_history(self) -> bool:
        """True if the force at a drive phase depends on the history.

        The weight of a dashpot at contact onset has no effect without damping.
        """
        chain = self.chain
        return bool(chain.quantities and (chain.lasting or chain.losses["contacts"]))

    def at(self, case: Case, value: float | None) -> Driven:
        """Return the same problem for a case with another value of a parameter."""
        return replace(self, case=case)

    def finer(self) -> Driven:
        """Return the same problem in half the time step, without errors of multipliers."""
        return replace(self, grid=self.grid.finer(2), errors=False)

    def longer(self, factor: int) -> Driven:
        """Return the same problem for a multiple of the period."""
        return replace(self, grid=self.grid.finer(factor), multiple=factor * self.multiple)

    def coordinates(self, period: float) -> list[float]:
        """Return the unknowns after the state at a period."""
        return []

    def equations(self, y: np.ndarray, image: np.ndarray, stretch: float = 0.0) -> np.ndarray:
        """Return the residuals, which are 0 for an orbit."""
        return image - y

    def derivative(
        self, y: np.ndarray, image: np.ndarray, jacobian: np.ndarray, period: float
    ) -> np.ndarray:
        """Return the derivative of the equations by the unknowns."""
        return jacobian - np.eye(len(y))

    def correction(
        self, shooting: Shooting, y: np.ndarray, image: np.ndarray, jacobian: Any
    ) -> np.ndarray | None:
        """Return Newton's step of the unknowns; without a Jacobian, by products with it."""
        if jacobian is None:
            return krylov_step(shooting, y, image)
        return newton_step(y, image, jacobian)

    def nearest(self, state: np.ndarray, origin: str, tolerance: float) -> Nearest:
        """Run Newton's method from a state."""
        shooting = self.shooting()

        def step(_: np.ndarray, shot: Shot) -> np.ndarray | None:
            if shooting.long:
                moved = krylov_step(shooting, shot.state, shot.image)
                if moved is not None:
                    return moved
                shooting.long = False
            return newton_step(shot.state, shot.image, shot.jacobian)

        return newton(state, origin, shooting.shoot, step, tolerance)

    def energy_error(self, shot: Shot, finer: np.ndarray) -> float:
        """Return no error, because the energy of a driven orbit is not constant."""
        return math.nan

    def rising(self, y: np.ndarray, tangent: np.ndarray) -> float:
        """Return no change of the energy along a branch, for the same reason."""
        return 0.0

    def multipliers(self, shot: Shot) -> tuple[np.ndarray, np.ndarray]:
        """Return all multipliers, and their vectors as rows."""
        values, vectors = np.linalg.eig(shot.jacobian)
        return values, vectors.T

    def stability(self, shot: Shot) -> Stability:
        """Return the multipliers; for a long chain without a Jacobian, the largest ones."""
        if not self.errors:
            return Stability(*self.multipliers(shot))
        # if all motion decays at one rate, the multipliers form pairs with equal products. For a
        # stable orbit, all moduli are then equal, and Arnoldi's method does not separate the
        # multipliers.
        few = not shot.dense and not shot.shooting.chain.decays_evenly
        values, vectors = (
            largest_multipliers(shot.shooting, shot.state) if few else self.multipliers(shot)
        )
        order = np.argsort(-np.abs(values), kind="stable")
        values = values[order].astype(complex)
        vectors = scaled_to_largest(vectors[order] * self.grid.scale)
        coarse = _coarse_multipliers(shot, few and len(values) < shot.state.size)
        # order 2 in the step and in the differences: a third of the change from doubling both, and
        # half of the change of a modulus, which may differ from 1 by its error; the complete change
        # if contacts open between two steps. Add the rounding of a difference, which accumulates as
        # a random walk, and the curvature of d^1.5 over it.
        rounding, third, half = rounding_of(self.grid.steps), 3.0, 2.0
        if shot.dense and shot.course.lowest.min() <= MOVED * self.grid.overlap:
            rounding += MOVED**1.5 * float(np.abs(shot.jacobian).max())
            third = half = 1.0
        off = float(np.abs(coarse - values[0]).min()) / third + rounding
        modulus = abs(float(np.abs(coarse).max()) - abs(values[0])) / half + rounding
        return Stability(values, vectors, off, modulus, bool(abs(values[0]) <= 1.0 + modulus))

    def special_point_tests(self, node: Any, after: Any) -> dict[str, Callable[[Any], float]]:
        """Return functions that change sign at special points of a branch."""
        # excludes points at which this branch turns back
        return {
            "branch point": lambda node: float(
                node.side * np.abs(node.stability.values - 1.0).min()
            )
        }

    def multiplier_pair_tests(
        self, node: Any, after: Any, crossings: int
    ) -> list[tuple[Callable[[Any], float], str]]:
        """Return the function that changes sign where a pair of multipliers leaves the circle.

        Each of the `crossings`, other special points in the step, moves one multiplier across the
        circle, and a pair moves two more.
        """
        counts = [_outside(node), _outside(after)]
        if abs(counts[1] - counts[0]) <= crossings:
            return []

        def pair(node: Any) -> float:
            turning = node.stability.values[node.stability.values.imag != 0.0]
            near = np.abs(np.abs(turning) - 1.0).min(initial=1.0)
            return float(near if _outside(node) > min(counts) else -near)

        return [(pair, "Neimark-Sacker")]


def _outside(node: Any) -> int:
    """Return the number of multipliers outside the unit circle."""
    return int((np.abs(node.stability.values) > 1.0).sum())


def _coarse_multipliers(shot: Shot, few: bool) -> np.ndarray:
    """Return the multipliers of the orbit with twice the step and twice the differences."""
    shooting, state, twice = shot.shooting, shot.state, 2.0 * MOVED
    coarse = shooting.changed(shooting.period, shooting.grid.steps // 2)
    try:
        if shooting.long:
            move = krylov_step(coarse, state, coarse.images(state[None])[0], twice)
        else:
            image, jacobian = coarse.with_jacobian(state, twice)
            move = newton_step(state, image, jacobian)
        near = state if move is None else state + move
        if few:
            return largest_multipliers(coarse, near, twice)[0]
        if shooting.long or move is not None:
            _, jacobian = coarse.with_jacobian(near, twice)
    except RunError as error:
        raise step_error_failure(shot, error) from None
    return np.asarray(np.linalg.eigvals(jacobian))


# --------------------------------------------------------------------------------------------------
# Search for an orbit


def driven_problem(case: Case, multiple: int, runners: Runners) -> Driven:
    """Return the problem of a case with some drive periods in a period."""
    _check_covered(case)
    one_period = one_period_of(case, multiple / frequency_of(case))
    return Driven(case, multiple, runners, period_grid(case, one_period, runners))


def driven_search(
    case: Case, period: float | None, guess: Guess, tolerance: float, runners: Runners
) -> tuple[Driven, Nearest, str, int]:
    """Find a periodic orbit of a driven chain; see `granchain.orbit`."""
    problem = driven_problem(case, multiple_of(case, period), runners)
    state = guess.state / problem.grid.scale
    runners.expect(USUAL_SHOTS * problem.shooting().runs)
    if problem.depends_on_history:
        return _search_with_history(problem, guess, state, tolerance)
    return problem, problem.nearest(state, guess.origin, tolerance), guess.origin, 0


def _search_with_history(
    problem: Driven, guess: Guess, state: np.ndarray, tolerance: float
) -> tuple[Driven, Nearest, str, int]:
    """Run Newton's method with constant contact histories, once these are steady.

    For a guess that is an orbit, its histories are used, unless a residual indentation would grow.
    """
    history, note = history_of_guess(guess, problem.shooting())
    settled, comes, origin = Settled(state, history), COMES, guess.origin + note
    if guess.period is None or note:
        settled, comes = settle(problem, settled, comes, origin), comes * NEARER
    for _ in range(MOST_TRIES):
        description = origin
        if settled.periods:
            count = f"{settled.periods} period{'s' * (settled.periods > 1)}"
            description += f", run for {count} until its contact histories were steady"
        problem = replace(problem, history=settled.history)
        nearest = problem.nearest(settled.state, description, tolerance)
        if nearest.why is not None:
            break
        check_constant_history(nearest.shot)
        _, after = problem.shooting().image_and_history(nearest.shot.state, settled.history)
        lasting = problem.shooting().chain.lasting
        grows = growth(settled.history[lasting], after[lasting])
        if grows > MEETS:
            settled, comes = settle(problem, settled, comes, origin), comes * NEARER
        elif (after == settled.history).all() or grows:
            break
        else:
            # contacts that were open at zero phase are closed, or closed ones are open
            settled = settled._replace(state=nearest.shot.state, history=after)
    else:
        raise RunError(
            f"orbit: the chain does not reach the orbit of period {problem.period:.6g} s from "
            f"{description}, because the residual indentation would grow by a fraction of "
            f"{grows:.2g} in it. It may grow by at most {MEETS:g}. Give as guess= a run at a "
            "stronger drive, which leaves deeper indentation, that ends at zero drive phase, or as "
            "period= a multiple of the period.",
            nearest.shot.shooting.run_until_failure(nearest.shot.state),
        )
    return problem, nearest, description, settled.periods


class Settled(NamedTuple):
    """State and contact histories of a chain at zero drive phase.

    Parameters
    ----------
    state : (2 n,) array
        Scaled state.
    history : (n_history, n_contacts + ends) array
    periods : int
        Number of periods after which the history was constant.
    passed : int
        Total number of periods.
    """

    state: np.ndarray
    history: np.ndarray
    periods: int = 0
    passed: int = 0


def settle(problem: Driven, start: Settled, comes: float, origin: str) -> Settled:
    """Run periods until contact histories, except for onset variables, are constant.

    Parameters
    ----------
    problem : Driven
    start : Settled
        Initial state and histories.
    comes : float
        Largest relative change of the state between periods.
    origin : str
        Description of the initial state.

    Raises
    ------
    RunError
        If a run fails, or if the histories do not become constant.
    """
    shooting, (state, history, periods, passed) = problem.shooting(), start
    rows, grows, quiet = shooting.chain.lasting, 0.0, 0
    try:
        if not rows:
            return start._replace(history=shooting.image_and_history(state, history)[1])
        for _ in range(MOST_PERIODS):
            image, after = shooting.image_and_history(state, history)
            grows, passed = growth(history[rows], after[rows]), passed + 1
            quiet = quiet + 1 if grows <= SETTLED_GROWTH else 0
            periods = periods if quiet else passed
            again = np.abs(image - state).max() <= comes * np.abs(image).max()
            state, history = image, after
            if quiet >= RESTLESS or (again and quiet >= QUIET):
                return Settled(state, history, periods, passed)
    except RunError as error:
        raise RunError(
            f"guess: {origin} cannot be run until its contacts are steady: {error} A drive that "
            "the contacts can bear is required. Start from a smaller amplitude."
        ) from None
    raise RunError(
        f"orbit: after {passed} periods from {origin}, the contacts still change, by a fraction of "
        f"{max(grows, SETTLED_GROWTH):.2g} of their histories in the last period. It must be at "
        f"most {SETTLED_GROWTH:g}. Give as guess= a run at a stronger drive, which leaves deeper "
        "indentation, that ends at zero drive phase.",
        replace(problem, history=history).shooting().run_until_failure(state),
    )


def growth(before: np.ndarray, after: np.ndarray) -> float:
    """Return the largest relative change of numbers; infinite if a number was 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        change = np.abs(after - before) / np.abs(before)
    return float(change[before != after].max(initial=0.0))


def history_of_guess(guess: Guess, shooting: Shooting) -> tuple[np.ndarray, str]:
    """Return the contact histories of a guess, and a note if they are those of the static state."""
    if guess.result is None:
        return shooting.chain.history_at_rest, ""
    if guess.result.state is not None:
        stored, same = (
            state_in(text_of_state(guess.result.state)),
            comparable_digests(shooting.case),
        )
        if all(stored.same[name] == same[name] for name in FIXED):
            return stored.start.history.copy(), ""
    return shooting.chain.history_at_rest, ", with the contacts of the static state"


def check_constant_history(shot: Shot) -> None:
    """Raise an error if contact histories change during an orbit.

    The state of an orbit consists of displacements and velocities only.

    Raises
    ------
    RunError
        With the trajectory of the orbit.
    """
    if not (changed := shot.course.changed).any():
        return
    chain = shot.shooting.chain
    which = ", ".join(map(str, chain.contact[changed].tolist()))
    names = ", ".join(chain.quantities[index].name for index in chain.lasting)
    raise RunError(
        f'contact.law: with "{chain.case.contact.law}", contacts {which} change their {names} '
        "during the orbit. It must be constant during an orbit. Use a weaker drive or a larger "
        "chain.precompression, so that the contacts stay closed. A run of many periods "
        "(granchain.run) finds a stable orbit with any law.",
        shot.shooting.run_until_failure(shot.state),
    )


# --------------------------------------------------------------------------------------------------
# Drives


def frequency_of(case: Case) -> float:
    """Return the frequency of the first drive [Hz]."""
    return next(iter(case.drives.values())).frequency or 0.0


def _check_covered(case: Case) -> None:
    """Raise an error for chains whose orbits are not supported."""
    problems, drives = Problems(), case.drives
    problems.check(
        case.striker is None,
        "striker",
        "an orbit cannot have a striker",
        "A striker does not return",
        "Remove the table",
    )
    for where, contact in [("contact", case.contact), *own_contacts_in(dict(case))]:
        problems.check(
            law_named(contact.law).evolve is ContactLaw.evolve,
            f"{where}.law",
            f"the contact history of {contact.law} changes in every step",
            "It must be constant during an orbit, whose state is displacements and velocities",
            "Use a law without memory, or run many periods (granchain.run)",
        )
    first = next(iter(drives.values()))
    for where, end in drives.items():
        behind = math.remainder((end.phase or 0.0) - (first.phase or 0.0), 2.0 * math.pi)
        placed = end.drive == "displacement"
        problems.check(
            not (placed and where.startswith("drive.")),
            where,
            "the displacement of a bead is prescribed",
            'Orbits require driven ends, or beads with drive = "force"',
            "Drive the bead with a force, or end the chain there",
        )
        problems.check(
            not (placed and end.dc),
            f"{where}.dc",
            f"{end.dc} is not valid",
            "It must be absent if a displacement is driven",
            "Compress the chain with chain.precompression",
        )
        problems.check(
            not (placed and abs(behind) > SAME_PHASE * SAME_PERIOD),
            f"{where}.phase",
            f"the phases of two drives differ by {behind:.6g} rad",
            "They must be equal if a displacement is driven",
            "For drives in antiphase, use a negative amplitude",
        )
    walls = [case.ends.has_wall(side) for side in ("left", "right")]
    problems.check(
        any(walls) or bool(case.chain.of_each("on_site_stiffness").any()),
        "ends",
        "the chain is not held in place and drifts",
        "A wall, a driven displacement, or beads on on-site springs are required",
        "Set the end that is not driven to a wall",
    )
    problems.close()


def multiple_of(case: Case, period: float | None) -> int:
    """Return the number of periods of the first drive in the period of the orbit.

    The period [s] must be a whole multiple of the period of each drive.
    """
    drives = case.drives
    for where, end in drives.items():
        if end.signal != "harmonic":
            signal = "a table" if end.signal is None else f'signal = "{end.signal}"'
            raise CaseError(
                f'{where}: {signal} is not valid. It must have signal = "harmonic", because an '
                "orbit needs a periodic drive."
            )
    frequencies = [float(end.frequency or 0.0) for end in drives.values()]
    stated = 1.0 / min(frequencies) if period is None else period
    good = type(stated) is not bool and isinstance(stated, (int, float)) and 0.0 < stated < math.inf
    counts = [stated * frequency for frequency in frequencies] if good else []
    if not good or any(
        round(count) < 1 or abs(count - round(count)) > SAME_PERIOD * count for count in counts
    ):
        periods = " and ".join(
            f"{1.0 / frequency:.9g} s" for frequency in dict.fromkeys(frequencies)
        )
        problem = f"{stated:.9g} s" if good else repr(stated)
        raise CaseError(
            f"period: {problem} is not valid. It must be a whole multiple of the period of each "
            f"drive, {periods}. "
            + ("Leave it out." if len(set(frequencies)) == 1 else "Give a multiple of both.")
        )
    return round(counts[0])
