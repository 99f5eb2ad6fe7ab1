"""Periodic orbits of a conservative chain (breathers). No drive determines their period. They form
families that depend on energy, amplitude, or period, or on a parameter of the case."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from granchain.analysis.convergence import SAFETY
from granchain.case import Case
from granchain.errors import CaseError, RunError
from granchain.keys import brief
from granchain.orbits.shooting import (
    MOVED,
    USUAL_SHOTS,
    Guess,
    Nearest,
    PeriodGrid,
    Shooting,
    Shot,
    Stability,
    newton,
    newton_correction,
    one_period_of,
    period_grid,
    rounding_of,
    scaled_to_largest,
    step_error_failure,
)
from granchain.simulation import run_to_end
from granchain.store.schema import ATTACHED
from granchain.studies.images import INSTANTS, Images, Runners
from granchain.waves.modes import modes

HOLDS = ("energy", "amplitude")
# Length of the run that finds the first turning points of a guess, in periods.
SEEN_PERIODS = 2.6
# Largest deviation of the next turn from a guess's period, as a fraction of the period.
NEAR_RETURN = 0.3
# Smallest relative tolerance of a breather with half the step.
CLOSED = 1e-8


class TurningPoint(NamedTuple):
    """Initial state of a breather: the bead with the largest displacement has zero velocity.

    Parameters
    ----------
    state : (2 n,) array
        Displacements [m], then velocities [m/s].
    period : float
        Period [s].
    bead : int
        Index of this bead.
    """

    state: np.ndarray
    period: float
    bead: int


@dataclass
class Breathers:
    """Breathers with one quantity fixed.

    The unknowns are the scaled state and the logarithm of the period.

    Parameters
    ----------
    chain : Images
        Chain at rest.
    turn : TurningPoint
        Breather nearby.
    hold : {"energy", "amplitude", "period"}
        Fixed quantity.
    grid : PeriodGrid
    fixed_value : float
        Value of the fixed quantity [J], scaled, or [s].
    size : float
        Scale of the energy in its equation.
    multiple : int
        Number of periods of the first breather of a branch in a period.
    varied : bool
        Whether the fixed quantity varies along a branch.
    """

    chain: Images
    turn: TurningPoint
    hold: str
    grid: PeriodGrid
    fixed_value: float = math.nan
    size: float = 1.0
    multiple: int = 1
    varied: bool = False

    # number of unknowns after the state
    unknowns = 1
    # absolute tolerance of the breather with half the step
    closes = CLOSED
    # no contact histories, because the contacts of a conservative chain have none
    history = None
    advice = "the orbit at a smaller amplitude or another period"

    @property
    def period(self) -> float:
        """Period of the breather nearby [s]."""
        return self.turn.period

    @property
    def constant_energy(self) -> float:
        """Energy of all breathers of a branch [J]; nan if it varies."""
        return math.nan if self.varied else self.fixed_value

    def shooting(self, period: float | None = None) -> Shooting:
        """Return the run over a period, by default that of the breather nearby."""
        chain = self.chain
        return Shooting(chain.case, period or self.period, self.grid, chain.runners)

    def at(self, case: Case, value: float | None) -> Breathers:
        """Return the same problem for another case, or for another value of the fixed quantity."""
        if value is None:
            one_period = one_period_of(case, self.period)
            return replace(self, chain=Images(one_period, self.chain.runners))
        if self.hold == "amplitude":
            bead = self.turn.bead
            value /= np.sign(self.turn.state[bead]) * self.grid.scale[bead]
        return replace(self, fixed_value=value * (self.multiple if self.hold == "period" else 1))

    def finer(self) -> Breathers:
        """Return the same problem in half the time step."""
        return replace(self, grid=self.grid.finer(2))

    def longer(self, factor: int) -> Breathers:
        """Return the same problem for a multiple of the period."""
        turn = self.turn._replace(period=factor * self.period)
        multiple = factor * self.multiple
        return replace(self, turn=turn, grid=self.grid.finer(factor), multiple=multiple)

    def coordinates(self, period: float) -> list[float]:
        """Return the unknowns after the state at a period."""
        return [math.log(period / self.period)]

    # ---------------------------------------------------------------------------------------------

    @cached_property
    def translation(self) -> list[np.ndarray]:
        """Translation of a free chain, and its momentum; empty for other chains."""
        mass, scale, zeros = self.chain.mass, self.grid.scale, np.zeros(self.chain.bodies)
        move = np.concatenate([zeros + 1.0, zeros]) / scale
        return [move, np.concatenate([zeros, mass]) * scale] if self.chain.translates else []

    @cached_property
    def resting(self) -> list[np.ndarray]:
        """Momentum and centre of mass of a free chain, which does not drift."""
        if not self.translation:
            return []
        mass = self.chain.mass
        centre = np.concatenate([mass, np.zeros(mass.size)]) * self.grid.scale
        return [row / np.abs(row).max() for row in (self.translation[1], centre)]

    def value_to_fix(self, y: np.ndarray) -> float:
        """Return the value that a state has of the fixed quantity: the energy [J], or the scaled
        displacement of the bead of the turning point.

        A fixed period is no quantity of the state; see `equations`.
        """
        if self.hold == "energy":
            return self.chain.energy(y * self.grid.scale)
        return float(y[self.turn.bead])

    def slope(self, y: np.ndarray) -> np.ndarray:
        """Return the derivative of the energy with respect to the state."""
        u, v = (y * self.grid.scale).reshape(2, -1)
        return np.concatenate([-self.chain.forces(u), self.chain.mass * v]) * self.grid.scale

    def flow(self, y: np.ndarray) -> np.ndarray:
        """Return the rate of change of a state [1/s]."""
        u, v = (y * self.grid.scale).reshape(2, -1)
        return np.concatenate([v, self.chain.forces(u) / self.chain.mass]) / self.grid.scale

    def equations(self, y: np.ndarray, image: np.ndarray, stretch: float = 0.0) -> np.ndarray:
        """Return the residuals, which are 0 for an orbit: it closes, its bead has zero velocity,
        the fixed quantity has its value, and a free chain does not drift.

        There are more equations than unknowns, because the energy is conserved.
        """
        at, still = len(y) // 2 + self.turn.bead, [row @ y for row in self.resting]
        if self.hold == "period":
            last = [*still, stretch - math.log(self.fixed_value / self.period)]
        else:
            last = [(self.value_to_fix(y) - self.fixed_value) / self.size, *still]
        return np.concatenate([image - y, y[at : at + 1], last])

    def derivative(
        self, y: np.ndarray, image: np.ndarray, jacobian: np.ndarray, period: float
    ) -> np.ndarray:
        """Return the derivative of the equations by the unknowns, in the order of `equations`."""
        n, unit = len(y), np.eye(len(y) + 1)
        # one row per equation: closure, velocity of the bead, fixed quantity, no drift
        rows = [jacobian - unit[:n, :n], unit[n // 2 + self.turn.bead, :n], *self.resting]
        if self.hold == "energy":
            rows.insert(2, self.slope(y) / self.size)
        elif self.hold == "amplitude":
            rows.insert(2, unit[self.turn.bead, :n])
        inner = np.vstack(rows)
        by_period = np.append(period * self.flow(image), np.zeros(len(inner) - n))
        matrix = np.hstack([inner, by_period[:, None]])
        return np.vstack([matrix, unit[n:]]) if self.hold == "period" else matrix

    def correction(
        self, shooting: Shooting, y: np.ndarray, image: np.ndarray, jacobian: Any
    ) -> np.ndarray:
        """Return Newton's step of (state, fraction of the period)."""
        matrix = self.derivative(y, image, jacobian, shooting.period)
        residuals = self.equations(y, image)
        # the run already has a fixed period: leave out its equation, the last one, and its unknown
        if self.hold == "period":
            return np.append(newton_correction(matrix[:-1, :-1], residuals[:-1]), 0.0)
        return newton_correction(matrix, residuals)

    # ---------------------------------------------------------------------------------------------

    def energy_error(self, shot: Shot, finer: np.ndarray) -> float:
        """Return the discretization error of the energy [J], from the state in half steps."""
        energy, finer_energy = (self.chain.energy(y * self.grid.scale) for y in (shot.state, finer))
        # the energy depends on the square of the state, whose closing error is the residual
        closed = 2.0 * max(shot.residual, CLOSED) * abs(energy)
        return SAFETY * 4.0 / 3.0 * abs(finer_energy - energy) + closed

    def rising(self, y: np.ndarray, tangent: np.ndarray) -> float:
        """Return the change of the energy along the tangent of a branch."""
        return float(self.slope(y) @ tangent)

    def nontrivial_multipliers(
        self, y: np.ndarray, jacobian: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the nontrivial multipliers, their vectors, how strongly an error of the Jacobian
        affects each, and the matrix that has them as eigenvalues.

        Shifts in time, along the family, and in space have trivial multipliers. The derivative of
        the energy is a left eigenvector with multiplier 1, and the flow is a right one. The matrix
        is the Jacobian on the space that is orthogonal to both, which keeps the other multipliers.
        """
        from scipy.linalg import eig

        out = np.array([self.flow(y), self.slope(y), *self.translation]).T
        inner = np.linalg.qr(out, mode="complete")[0][:, out.shape[1] :]
        matrix = inner.T @ jacobian @ inner
        values, left, right = eig(matrix, left=True, right=True)
        overlap = np.abs(np.sum(left.conj() * right, axis=0))
        return values, (inner @ right).T, 1.0 / np.maximum(overlap, 1e-12), matrix

    def multipliers(self, shot: Shot) -> tuple[np.ndarray, np.ndarray]:
        """Return the nontrivial multipliers, and their vectors as rows."""
        return self.nontrivial_multipliers(shot.state, shot.jacobian)[:2]

    def stability(self, shot: Shot) -> Stability:
        """Return the multipliers, and their changes if the step and the differences are doubled."""
        from scipy.optimize import linear_sum_assignment

        y, span, steps = shot.state, shot.shooting.period, self.grid.steps
        values, vectors, weight, matrix = self.nontrivial_multipliers(y, shot.jacobian)
        order = np.argsort(-np.abs(values), kind="stable")
        values, weight = values[order].astype(complex), weight[order]
        vectors = scaled_to_largest(vectors[order] * self.grid.scale).astype(complex)
        coarse = replace(self, grid=self.grid._replace(steps=steps // 2))
        try:
            image, jacobian = coarse.shooting(span).with_jacobian(y, 2.0 * MOVED)
            move = self.correction(shot.shooting, y, image, jacobian)
            changed = span * (1.0 + float(move[-1]))
            y = y + move[:-1]
            _, jacobian = coarse.shooting(changed).with_jacobian(y, 2.0 * MOVED)
        except RunError as error:
            raise step_error_failure(shot, error) from None
        others = self.nontrivial_multipliers(y, jacobian)[0]
        matched, other_indices = linear_sum_assignment(np.abs(values[:, None] - others))
        # a third of the change from doubling step and differences. For a modulus, half of it,
        # because a modulus of a stable orbit differs from 1 by its error. Add the errors from
        # rounding and from the curvature of the law over a difference, which are larger if a
        # contact opens with d^1.5. If two multipliers meet, the square root of these errors counts.
        power = 1.5 if shot.course.lowest.min() <= MOVED * self.grid.overlap else 2.0
        curved = rounding_of(steps) + MOVED**power * np.abs(shot.jacobian).max()
        entered = np.minimum(weight * curved, math.sqrt(curved))
        off = np.abs(values[matched] - others[other_indices]) / 3.0 + entered
        modulus = np.abs(np.abs(values[matched]) - np.abs(others[other_indices])) / 2.0 + entered
        return Stability(
            values,
            vectors,
            # a single bead has only the two trivial multipliers
            float(off[0]) if off.size else 0.0,
            float(modulus[0]) if modulus.size else 0.0,
            bool((np.abs(np.abs(values) - 1.0) <= modulus).all()),
            modulus,
            matrix,
            self.chain.energy(shot.state * self.grid.scale),
            abs(changed - span) / 3.0,
        )

    def special_point_tests(self, node: Any, after: Any) -> dict[str, Callable[[Any], float]]:
        """Return functions that change sign at special points of a branch."""
        # along a family, a multiplier also passes 1 where the energy is extreme: no branch crosses
        if not self.varied or node.rising * after.rising >= 0.0:
            return {"branch point": lambda node: node.multiplier_test(1.0)}
        return {} if self.hold == "energy" else {"energy extremum": lambda node: node.rising}

    def multiplier_pair_tests(
        self, node: Any, after: Any, crossings: int
    ) -> list[tuple[Callable[[Any], float], str]]:
        """Return the function that changes sign where two pairs of multipliers meet on the circle
        and leave it."""
        counts = [count_collided_multipliers(node), count_collided_multipliers(after)]
        if counts[0] == counts[1]:
            return []
        few = min(counts)
        return [
            (
                lambda node: 1.0 if count_collided_multipliers(node) > few else -1.0,
                "Krein collision",
            )
        ]


def count_collided_multipliers(node: Any) -> int:
    """Count the complex multipliers that left the unit circle in a collision of two.

    They are outside by more than their errors. The other multiplier of such a pair is the mirror
    image in the circle, 1 / conj(z); a multiplier without one is outside because of its error.
    The image may be off by half the distance of z from the circle: it is inside the circle then.
    """
    values, moduli = node.stability.values, node.stability.moduli
    outside = np.abs(values) - 1.0 > moduli
    complex_values = values[outside & (np.abs(values.imag) > moduli)]
    distance = np.abs(values - 1.0 / complex_values.conj()[:, None]).min(axis=1, initial=math.inf)
    return int((distance <= 0.5 * (np.abs(complex_values) - 1.0)).sum())


def breathers_near(case: Case, turn: TurningPoint, hold: str, runners: Runners) -> Breathers:
    """Return the problem of breathers of a case with the fixed quantity of a state."""
    one_period = one_period_of(case, turn.period)
    grid = period_grid(case, one_period, runners)
    problem, y = Breathers(Images(one_period, runners), turn, hold, grid), turn.state / grid.scale
    if hold == "period":
        return replace(problem, fixed_value=turn.period)
    size = float(np.abs(problem.slope(y)).max()) if hold == "energy" else 1.0
    return replace(problem, fixed_value=problem.value_to_fix(y), size=size)


# --------------------------------------------------------------------------------------------------
# Search for a breather


def breather_search(
    case: Case,
    period: float | None,
    guess: Guess,
    tolerance: float,
    hold: str | None,
    runners: Runners,
) -> tuple[Breathers, Nearest]:
    """Find a periodic orbit of a chain without a drive; see `granchain.orbit`."""
    chain = check_conservative(case, runners)
    stated = period is not None
    if hold is not None and (stated or hold not in HOLDS):
        problem = "both hold and period are given" if stated else f"{brief(hold)} is not valid"
        raise CaseError(
            f"hold: {problem}. It must be {' or '.join(HOLDS)}, and only without a period, "
            "because a given period is fixed. Leave one out."
        )
    if stated and not (isinstance(period, (int, float)) and 0.0 < period < math.inf):
        raise CaseError(
            f"period: {brief(period)} is not valid. It must be a time above 0 [s]. The default "
            "is the period of the guess."
        )
    turn = _starting_point(case, period, guess, chain)
    family = breathers_near(case, turn, "period" if stated else hold or "energy", runners)
    runners.expect(USUAL_SHOTS * family.shooting().runs)

    def shoot(unknowns: np.ndarray) -> Shot:
        # with a period near 0, every state returns to itself; `newton` halves a step towards such a
        # period
        if not 0.5 < unknowns[-1] < 2.0:
            raise RunError("period")
        return family.shooting(turn.period * float(unknowns[-1])).shoot(unknowns[:-1])

    def step(unknowns: np.ndarray, shot: Shot) -> np.ndarray:
        move = family.correction(shot.shooting, shot.state, shot.image, shot.jacobian)
        return np.append(move[:-1], unknowns[-1] * move[-1])

    # the last step satisfies the equation of the fixed quantity
    start = np.append(turn.state / family.grid.scale, 1.0)
    return family, newton(start, guess.origin, shoot, step, tolerance, 1e3 * tolerance)


def check_conservative(case: Case, runners: Runners) -> Images:
    """Return a chain; raise an error if it loses energy, has a striker, or has no static load."""
    chain = Images(case, runners)
    if case.striker is not None:
        raise CaseError(
            "striker: a breather cannot have a striker, because a striker does not return. "
            "Remove the table."
        )
    losses = chain.losses | {"contacts": chain.losses["contacts"] or bool(chain.quantities)}
    for name in (name for name, damped in losses.items() if damped):
        sink = f"the contacts with {case.law}" if name == "contacts" else name
        raise CaseError(
            f"ends: the chain has no drive and loses energy to {sink}. An orbit requires a "
            "harmonic drive at an end, or a conservative chain, whose orbits are breathers. Set "
            'ends.left = { drive = "displacement", signal = "harmonic", amplitude = ..., '
            "frequency = ... }, or use hertz without damping."
        )
    return chain


def _starting_point(case: Case, period: float | None, guess: Guess, chain: Images) -> TurningPoint:
    """Return the state from which Newton's method starts."""
    state = chain.initial if guess.result is None else guess.state
    if not state.any():
        raise CaseError(
            "guess: the chain has no drive and is at rest. A breather is found from a nearby "
            "state that moves. Set initial.displacement, for example the shape of a mode times "
            "an amplitude (gc.modes(case).shapes), or give a run or an orbit."
        )
    if guess.period is not None:
        return TurningPoint(
            state, period or guess.period, int(np.abs(state[: chain.bodies]).argmax())
        )
    return _first_turning_point(
        case, state, period or _period_of_main_mode(case, chain.mass, state)
    )


def _period_of_main_mode(case: Case, mass: np.ndarray, state: np.ndarray) -> float:
    """Return the period of the mode that contains most of a state's energy [s]."""
    small = modes(case)
    (u, v), omega = state.reshape(2, -1), 2.0 * math.pi * small.frequencies
    weighted = small.shapes * mass
    size = (weighted * small.shapes).sum(axis=1)
    energy = ((omega * (weighted @ u)) ** 2 + (weighted @ v) ** 2) / size
    energy[omega == 0.0] = 0.0
    return float(2.0 * math.pi / omega[energy.argmax()])


def _first_turning_point(case: Case, state: np.ndarray, span: float) -> TurningPoint:
    """Return the first state in which the bead with the largest displacement has zero velocity,
    with the time until it returns."""
    n, rows = len(state) // 2, state.reshape(2, -1)
    kinds = {"": slice(case.beads)} | (
        {f"{ATTACHED}_": slice(case.beads, n)} if n > case.beads else {}
    )
    names = ("displacement", "velocity")
    initial = {
        kind + name: row[which].tolist()
        for kind, which in kinds.items()
        for name, row in zip(names, rows, strict=True)
    }
    recorded = {
        "initial": initial,
        "snapshots": {"interval": span / INSTANTS},
        "sensors": {"beads": [1], "interval": span},
    }
    run = run_to_end(one_period_of(case, SEEN_PERIODS * span).replace(**recorded))
    u, v = (np.hstack([getattr(run, kind + name) for kind in kinds]) for name in names)
    time = run.snapshot_time
    # without the rounding of recorded velocities: an initial state at rest is a turning point
    v[0] = state[n:]
    moves = v[0].any()
    bead = int((np.abs(u).max(axis=0) if moves else np.abs(u[0])).argmax())
    sign = np.sign(u[np.abs(u[:, bead]).argmax() if moves else 0, bead])
    speed = sign * v[:, bead]
    turning = (speed[:-1] > 0.0) & (speed[1:] <= 0.0)
    turning[0] |= speed[0] == 0.0
    turns = np.flatnonzero(turning & (sign * u[:-1, bead] > 0.0))
    if not turns.size:
        return TurningPoint(state, span, bead)
    weight = speed[turns] / (speed[turns] - speed[turns + 1])
    times = time[turns] + weight * (time[turns + 1] - time[turns])
    x, weight = np.hstack([u, v]), weight[:, None]
    states = (1.0 - weight) * x[turns] + weight * x[turns + 1]
    states[:, n + bead] = 0.0
    back = np.flatnonzero(np.abs(times - times[0] - span) <= NEAR_RETURN * span)
    if not back.size:
        return TurningPoint(states[0], span, bead)
    distance = np.abs(states[back, :n] - states[0, :n]).max(axis=1)
    return TurningPoint(states[0], float(times[back[distance.argmin()]] - times[0]), bead)
