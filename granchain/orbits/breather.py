"""Periodic orbits of a conservative chain (breathers). Their period is free, and they form families
that depend on energy, amplitude, or period, or on a parameter of the case."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np

from granchain.analysis.convergence import SAFETY
from granchain.case import Case
from granchain.chain import Chain
from granchain.engine.setup import Contacts
from granchain.errors import CaseError, RunError
from granchain.keys import shown
from granchain.orbits.continuation import (
    CLOSED,
    FAMILIES,
    TURNS,
    Node,
    Path,
    Point,
    Test,
    sign_changes,
)
from granchain.orbits.newton import Shot, newton
from granchain.orbits.orbit import (
    CORRECTED,
    MOST_CORRECTIONS,
    Orbit,
    PeriodGrid,
    Shooting,
    Stability,
    StepError,
    error_not_known,
    expected_runs,
    one_period_of,
    orbit_found,
    period_grid,
    rounding_of,
    scaled_to_largest,
    state_of_guess,
    swing_error,
)
from granchain.orbits.shooting import INSTANTS, MOVED, Runners
from granchain.simulation import prepare, run_to_end
from granchain.store import Result
from granchain.waves.dispersion import at_rest
from granchain.waves.modes import modes

HOLDS = ("energy", "amplitude")
# Length of the run that finds the first turns of a guess, in periods.
SEEN_PERIODS = 2.6
# Largest deviation of the next turn from a guess's period, as a fraction of the period.
NEAR_RETURN = 0.3


@dataclass
class Energy:
    """Energy of a chain relative to its static state, in closed form.

    Parameters
    ----------
    chain : Chain
    contacts : Contacts
        Contacts with a law without damping.
    """

    chain: Chain
    contacts: Contacts

    def __post_init__(self) -> None:
        present, n = self.chain.contacts, self.chain.n_bodies
        start = self.contacts.overlaps.copy()
        start[1:n] -= self.chain.gap
        self._start, self._present = start[present], present
        self._laws = [
            (tuple(c.tolist()), tuple(h.tolist()))
            for c, h in zip(
                self.contacts.c.T[present], self.contacts.history.T[present], strict=False
            )
        ]
        self._site, riding = self.chain.on_site_stiffness, self.chain.resonators
        self.mass = np.concatenate([self.chain.mass, riding.mass])
        self._body, self._springs = riding.body, riding.stiffness
        self._rest = 0.0
        self._rest = self.of(*np.zeros((2, self.mass.size)))

    def _split(self, displacement: np.ndarray) -> tuple[np.ndarray, list[float], np.ndarray]:
        """Return displacements of bodies, contact overlaps, and extensions of resonator springs."""
        u, w = np.split(displacement, [self.chain.n_bodies])
        overlaps = self._start - np.diff(u, prepend=0.0, append=0.0)[self._present]
        return u, overlaps.tolist(), u[self._body] - w

    def of(self, displacement: np.ndarray, velocity: np.ndarray) -> float:
        """Return the energy of a state [J]."""
        u, overlaps, apart = self._split(displacement)
        energy = self.contacts.model.functions.energy
        fixed = [energy(d, c, h) for d, (c, h) in zip(overlaps, self._laws, strict=True)]
        moving = self.mass @ velocity**2 + self._site @ u**2 + self._springs @ apart**2
        return float(0.5 * moving + math.fsum(fixed) - self.chain.loads @ u) - self._rest

    def forces(self, displacement: np.ndarray) -> np.ndarray:
        """Return the force on each body, then on each resonator, (n,) [N]."""
        law, found = self.contacts.model.functions.force, np.zeros(self.chain.n_bodies + 1)
        u, overlaps, apart = self._split(displacement)
        found[self._present] = [
            law(d, 0.0, c, h) for d, (c, h) in zip(overlaps, self._laws, strict=True)
        ]
        pull = self._springs * apart
        push = found[:-1] - found[1:] + self.chain.loads - self._site * u
        return np.concatenate([push - np.bincount(self._body, pull, u.size), pull])


@dataclass
class Turn:
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


class BreatherFamily:
    """Orbits of a chain with one quantity fixed: the residual of a state and a period, and its
    derivative. All variables are scaled."""

    def __init__(
        self,
        case: Case,
        turn: Turn,
        hold: str,
        runners: Runners,
        grid: PeriodGrid | None = None,
    ):
        at_rest_case = one_period_of(case, turn.period)
        chain, contacts, _ = prepare(at_rest_case)
        self.case, self.turn, self.hold, self.runners = at_rest_case, turn, hold, runners
        self.energy = Energy(chain, contacts)
        grid = grid or period_grid(case, at_rest_case)
        self.grid, scale, mass = grid, grid.scale, self.energy.mass
        free = not (chain.left.has_wall or chain.right.has_wall or chain.has_on_site)
        ones, zeros = np.ones(mass.size), np.zeros(mass.size)
        # translation of a free chain, and its momentum
        self.moves = [np.concatenate([ones, zeros]) / scale] if free else []
        self.kept = [np.concatenate([zeros, mass]) * scale] if free else []
        centre = [np.concatenate([mass, zeros]) * scale] if free else []
        self.resting = [own / np.abs(own).max() for own in (*self.kept, *centre)]
        y = turn.state / scale
        # scale of the energy in its equation
        self.size = float(np.abs(self.slope(y)).max()) if hold == "energy" else 1.0
        self.fixed_value = self._fixed(y)

    def _fixed(self, y: np.ndarray) -> float:
        n = len(y) // 2
        own = y * self.grid.scale
        return (
            self.energy.of(own[:n], own[n:]) if self.hold == "energy" else float(y[self.turn.bead])
        )

    def slope(self, y: np.ndarray) -> np.ndarray:
        """Return the derivative of the energy with respect to the state."""
        n, own = len(y) // 2, y * self.grid.scale
        return (
            np.concatenate([-self.energy.forces(own[:n]), self.energy.mass * own[n:]])
            * self.grid.scale
        )

    def flow(self, y: np.ndarray) -> np.ndarray:
        """Return the rate of change of a state [1/s]."""
        n, own = len(y) // 2, y * self.grid.scale
        change = np.concatenate([own[n:], self.energy.forces(own[:n]) / self.energy.mass])
        return np.asarray(change / self.grid.scale)

    def shooting(self, period: float, steps: int = 0) -> Shooting:
        """Return the shooting over one period, for any state."""
        grid = self.grid._replace(steps=steps or self.grid.steps)
        spans = {"time.end": period, "time.step": period / grid.steps}
        return Shooting(self.case.replace(**spans), grid, self.runners)

    def equations(self, y: np.ndarray, image: np.ndarray) -> np.ndarray:
        """Return the residuals, which are 0 for an orbit: it closes, its bead has zero velocity,
        the fixed quantity has its value, and a free chain does not drift.

        There are more equations than unknowns, because the energy is conserved.
        """
        at, fixed = len(y) // 2 + self.turn.bead, []
        if self.hold != "period":
            fixed = [(self._fixed(y) - self.fixed_value) / self.size]
        return np.concatenate([image - y, y[at : at + 1], fixed, [own @ y for own in self.resting]])

    def derivative(
        self, y: np.ndarray, image: np.ndarray, jacobian: np.ndarray, period: float
    ) -> np.ndarray:
        """Return the derivative of the equations by the state and the logarithm of the period."""
        n, at = len(y) // 2, self.turn.bead
        still, fixed = np.zeros((2, 2 * n))
        still[n + at] = 1.0
        rows = [jacobian - np.eye(2 * n), still]
        if self.hold == "energy":
            rows.append(self.slope(y) / self.size)
        elif self.hold == "amplitude":
            fixed[at] = 1.0
            rows.append(fixed)
        inner = np.vstack([*rows, *self.resting])
        by_period = np.append(period * self.flow(image), np.zeros(len(inner) - 2 * n))
        return np.hstack([inner, by_period[:, None]])

    def step(
        self, y: np.ndarray, image: np.ndarray, jacobian: np.ndarray, period: float
    ) -> np.ndarray:
        """Return Newton's step of (state, fraction of the period)."""
        matrix = self.derivative(y, image, jacobian, period)
        if self.hold == "period":
            matrix[:, -1] = 0.0
        return solved(matrix, self.equations(y, image))

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

        out = np.array([self.flow(y), self.slope(y), *self.moves, *self.kept]).T
        inner = np.linalg.qr(out, mode="complete")[0][:, out.shape[1] :]
        matrix = inner.T @ jacobian @ inner
        values, left, right = eig(matrix, left=True, right=True)
        overlap = np.abs(np.sum(left.conj() * right, axis=0))
        return values, (inner @ right).T, 1.0 / np.maximum(overlap, 1e-12), matrix


def solved(matrix: np.ndarray, off: np.ndarray) -> np.ndarray:
    """Return the least-squares step that solves more equations than unknowns, if they agree."""
    return np.linalg.lstsq(matrix, -off, rcond=1e-10)[0]


def breather(
    case: Case,
    period: float | None,
    guess: Orbit | Result | None,
    tolerance: float,
    hold: str | None,
    runners: Runners,
) -> Orbit:
    """Find a periodic orbit of a chain without a drive; see `granchain.orbit`."""
    check_conservative(case)
    stated = period is not None
    if hold is not None and (stated or hold not in HOLDS):
        problem = "both hold and period are given" if stated else f"{shown(hold)} is not valid"
        raise CaseError(
            f"hold: {problem}. It must be {' or '.join(HOLDS)}, and only without a period, "
            "because a given period is fixed. Leave one out."
        )
    if stated and not (isinstance(period, (int, float)) and 0.0 < period < math.inf):
        raise CaseError(
            f"period: {shown(period)} is not valid. It must be a time above 0 [s]. The default "
            "is the period of the guess."
        )
    turn, begun = _turn_of(case, period, guess)
    family = BreatherFamily(case, turn, "period" if stated else hold or "energy", runners)
    runners.expect(expected_runs(family.shooting(turn.period)))

    def shoot(place: np.ndarray) -> Shot:
        # a period near 0 closes every state; `newton` halves a step that leads there
        if not 0.5 < place[-1] < 2.0:
            raise RunError("period")
        return family.shooting(turn.period * float(place[-1])).shoot(place[:-1])

    def step(place: np.ndarray, shot: Shot) -> np.ndarray:
        span = turn.period * float(place[-1])
        move = family.step(shot.state, shot.image, shot.jacobian, span)
        return np.append(move[:-1], place[-1] * move[-1])

    # the last step satisfies the equation of the fixed quantity
    start = np.append(turn.state / family.grid.scale, 1.0)
    found = newton(start, begun, shoot, step, tolerance, 1e3 * tolerance)
    shooting = family.shooting(turn.period * float(found.place[-1]))
    advice = "the orbit at a smaller amplitude or another period"
    return orbit_found(
        case, shooting, found, begun, tolerance, advice,
        lambda shot: spectrum_of(family, shooting, shot),
        lambda shot: breather_error(family, shooting, shot),
    )  # fmt: skip


def breather_error(family: BreatherFamily, shooting: Shooting, shot: Shot) -> StepError:
    """Estimate the discretization error of a breather with steps of half the length.

    The same quantity is fixed. The Jacobian is that of the breather itself.
    """
    state, span, n = shot.state, shooting.period, shooting.bodies
    try:
        for _ in range(MOST_CORRECTIONS):
            halved = family.shooting(span, 2 * shooting.steps).fine
            move = family.step(state, halved.images(state[None])[0], shot.jacobian, span)
            state, span = state + move[:-1], span * (1.0 + float(move[-1]))
            change = state - shot.state
            if np.abs(move[:-1]).max() <= max(CORRECTED * np.abs(change).max(), CLOSED):
                own, finer = (y * shooting.scale for y in (shot.state, state))
                energies = [family.energy.of(y[:n], y[n:]) for y in (own, finer)]
                # the energy depends on the square of the state, which closes to its residual
                closed = 2.0 * max(shot.residual, CLOSED) * abs(energies[0])
                gained = SAFETY * 4.0 / 3.0 * abs(energies[1] - energies[0])
                return StepError(swing_error(change, shooting), gained + closed)
    except (CaseError, RunError):
        pass
    return StepError(np.full(n, math.nan))


def spectrum_of(family: BreatherFamily, shooting: Shooting, shot: Shot) -> Stability:
    """Return the multipliers, and their changes if the step and the differences are doubled."""
    from scipy.optimize import linear_sum_assignment

    n, span, scale = shooting.bodies, shooting.period, family.grid.scale
    own_state = shot.state * scale
    values, vectors, weight, matrix = family.nontrivial_multipliers(shot.state, shot.jacobian)
    order = np.argsort(-np.abs(values), kind="stable")
    values, vectors, weight = (
        values[order],
        scaled_to_largest(vectors[order] * scale),
        weight[order],
    )
    coarse = family.shooting(span, shooting.steps // 2)
    try:
        image, jacobian = coarse.fine.with_jacobian(shot.state, 2.0 * MOVED)
        move = family.step(shot.state, image, jacobian, span)
        changed = family.shooting(span * (1.0 + float(move[-1])), shooting.steps // 2)
        y = shot.state + move[:-1]
        _, jacobian = changed.fine.with_jacobian(y, 2.0 * MOVED)
    except RunError as error:
        raise error_not_known(shooting, shot.state, error) from None
    nontrivial = family.nontrivial_multipliers(y, jacobian)[0]
    matched, theirs = linear_sum_assignment(np.abs(values[:, None] - nontrivial))
    # a third of the change from doubling step and differences. For a modulus, half of it, because
    # a modulus of a stable orbit differs from 1 by its error. Add the errors from rounding and
    # from the curvature of the law over a difference, which are larger if a contact opens with
    # d^1.5. If two multipliers meet, these errors enter as a root.
    power = 1.5 if shot.course.lowest.min() <= MOVED * family.grid.overlap else 2.0
    left = rounding_of(shooting.steps) + MOVED**power * np.abs(shot.jacobian).max()
    own = np.minimum(weight * left, math.sqrt(left))
    off = np.abs(values[matched] - nontrivial[theirs]) / 3.0 + own
    modulus = np.abs(np.abs(values[matched]) - np.abs(nontrivial[theirs])) / 2.0 + own
    return Stability(
        values.astype(complex),
        vectors.astype(complex),
        # a single bead has only the two trivial multipliers
        float(off[0]) if off.size else 0.0,
        float(modulus[0]) if modulus.size else 0.0,
        bool((np.abs(np.abs(values) - 1.0) <= modulus).all()),
        modulus,
        matrix,
        family.energy.of(own_state[:n], own_state[n:]),
        abs(changed.period - span) / 3.0,
    )


def check_conservative(case: Case) -> None:
    """Raise an error if a chain loses energy, has a striker, or has no static load."""
    chain, contacts, _ = prepare(case)
    if case.striker is not None:
        raise CaseError(
            "striker: a breather cannot have a striker, because a striker does not return. "
            "Remove the table."
        )
    present = range(chain.contacts.start, chain.contacts.stop)
    damping = at_rest(contacts, present, float(chain.mass.min()))[1]
    losses = {
        "drag": chain.has_drag,
        "on-site damping": chain.on_site_damping.any(),
        "dashpots of resonators": chain.resonators.damping.any(),
        f"the contacts with {case.contact.law}": damping.any() or contacts.model.history,
    }
    for what in (name for name, there in losses.items() if there):
        raise CaseError(
            f"ends: the chain has no drive and loses energy to {what}. An orbit requires a "
            "harmonic drive at an end, or a conservative chain, whose orbits are breathers. Set "
            'ends.left = { drive = "displacement", signal = "harmonic", amplitude = ..., '
            "frequency = ... }, or use hertz without drag."
        )


def _turn_of(case: Case, period: float | None, guess: Orbit | Result | None) -> tuple[Turn, str]:
    """Return the state from which Newton's method starts, and its description."""
    chain, _, _ = prepare(case)
    n, start = chain.n_bodies + chain.n_resonators, "the initial state of the beads"
    if guess is None:
        own, begun = chain.resonators, start
        state = np.concatenate([chain.displacement, own.u, chain.velocity, own.v])
    else:
        state, begun = state_of_guess(guess, n, start)
    if not state.any():
        raise CaseError(
            "guess: the chain has no drive and is at rest. A breather is found from a nearby "
            "state that moves. Set initial.displacement, for example the shape of a mode times "
            "an amplitude (gc.modes(case).shapes), or give a run or an orbit."
        )
    if isinstance(guess, Orbit):
        return Turn(state, period or guess.period, int(np.abs(state[:n]).argmax())), begun
    return _first_turn(case, state, period or _span_of(case, chain, state)), begun


def _span_of(case: Case, chain: Chain, state: np.ndarray) -> float:
    """Return the period of the mode that contains most of a state's energy [s]."""
    found, mass = modes(case), np.concatenate([chain.mass, chain.resonators.mass])
    n, omega, weighted = mass.size, 2.0 * math.pi * found.frequencies, found.shapes * mass
    size = (weighted * found.shapes).sum(axis=1)
    energy = ((omega * (weighted @ state[:n])) ** 2 + (weighted @ state[n:]) ** 2) / size
    energy[omega == 0.0] = 0.0
    return float(2.0 * math.pi / omega[energy.argmax()])


def _first_turn(case: Case, state: np.ndarray, span: float) -> Turn:
    """Return the first state in which the bead with the largest displacement has zero velocity,
    with the time until it returns."""
    n, every = len(state) // 2, span / INSTANTS
    bare, own = one_period_of(case, SEEN_PERIODS * span), state.reshape(2, -1)
    kinds = {"": slice(case.beads)}
    if n > case.beads:
        kinds["resonator_"] = slice(case.beads, n)
    names = ("displacement", "velocity")
    initial = {
        before + name: one[which].tolist()
        for before, which in kinds.items()
        for name, one in zip(names, own, strict=True)
    }
    seen = run_to_end(
        bare.replace(
            **{
                "initial": initial,
                "snapshots": {"interval": every},
                "sensors": {"beads": [1], "interval": span},
            }
        )
    )
    u, v = (np.hstack([getattr(seen, before + name) for before in kinds]) for name in names)
    time = seen.snapshot_time
    v[0] = state[n:]
    # an initial state at rest is a turn
    bead = int((np.abs(u).max(axis=0) if v[0].any() else np.abs(u[0])).argmax())
    side = np.sign(u[np.abs(u[:, bead]).argmax() if v[0].any() else 0, bead])
    speed = side * v[:, bead]
    turns = [0] if speed[0] == 0.0 and side * u[0, bead] > 0.0 else []
    turns += np.flatnonzero(
        (speed[:-1] > 0.0) & (speed[1:] <= 0.0) & (side * u[:-1, bead] > 0.0)
    ).tolist()
    places = []
    for i in turns:
        part = 0.0 if i == 0 and speed[0] == 0.0 else speed[i] / (speed[i] - speed[i + 1])
        at = np.concatenate([(1.0 - part) * x[i] + part * x[i + 1] for x in (u, v)])
        at[n + bead] = 0.0
        places.append((float(time[i] + part * (time[i + 1] - time[i])), at))
    first = places[0] if places else (0.0, state)
    back = [one for one in places[1:] if abs(one[0] - first[0] - span) <= NEAR_RETURN * span]
    if not back:
        return Turn(first[1], span, bead)
    nearest = min(back, key=lambda one: float(np.abs(one[1][:n] - first[1][:n]).max()))
    return Turn(first[1], nearest[0] - first[0], bead)


# --------------------------------------------------------------------------------------------------
# Families of breathers


def growing(node: Node) -> int:
    """Count complex multipliers outside the unit circle by more than their errors that have a
    mirror image inside it."""
    values, moduli = node.found.values, node.found.moduli
    beyond = np.abs(values) - 1.0 > moduli
    found = values[beyond & (np.abs(values.imag) > moduli)]
    apart = np.abs(values - 1.0 / found.conj()[:, None]).min(axis=1, initial=math.inf)
    return int((apart <= 0.5 * (np.abs(found) - 1.0)).sum())


class BreatherPath(Path):
    """Breathers versus a parameter. A point is z = (y/w, ln T/T0, s), with the scaled state y, the
    period T, and the fraction s of the path.

    Parameters
    ----------
    case : Case
    first : Orbit or Point
        Breather with the period T0.
    energy : float
        Energy of all breathers, if a parameter of the case varies [J].
    along : str
    start, stop : float
    runners : Runners
    steps : int
        Number of time steps in a period. Default: the number that the breather has.
    """

    beside = 2

    def __init__(
        self,
        case: Case,
        first: Orbit | Point,
        energy: float,
        along: str,
        start: float,
        stop: float,
        runners: Runners,
        steps: int = 0,
    ):
        self.case, self.along, self.start, self.stop = case, along, start, stop
        self.multiple, self.runners, self.period = 1, runners, first.period
        bead = int(np.abs(first.displacement).argmax())
        self._sign = float(np.sign(first.displacement[bead]))
        turn = Turn(np.concatenate([first.displacement, first.velocity]), first.period, bead)
        hold = along if along in FAMILIES else "energy"
        cases = [self.case_at(value) for value in (start, stop)]
        for one in cases:
            check_conservative(one)
        grid = period_grid(cases[0], one_period_of(cases[0], turn.period))
        self.grid = grid._replace(steps=steps or grid.steps)
        self._first = BreatherFamily(cases[0], turn, hold, runners, self.grid)
        if along not in FAMILIES:
            self._first.fixed_value = self.constant_energy = energy
        self.weight = np.ones(self.grid.scale.size + 2)
        self.family = lru_cache(maxsize=5)(self._family)
        self.shooting = lru_cache(maxsize=5)(self._shooting)

    def case_at(self, value: float) -> Case:
        """Return the case at a value of the parameter."""
        return self.case if self.along in FAMILIES else self.case.replace(**{self.along: value})

    def _family(self, fraction: float) -> BreatherFamily:
        """Return the family at a fraction of the path, with its fixed quantity."""
        first, value = self._first, self.value_of(fraction)
        if self.along not in FAMILIES:
            found = BreatherFamily(
                self.case_at(value), first.turn, first.hold, self.runners, self.grid
            )
            found.size, found.fixed_value = first.size, first.fixed_value
            return found
        found = copy.copy(first)
        scale = self._sign * self.grid.scale[first.turn.bead]
        found.fixed_value = value / scale if self.along == "amplitude" else value
        return found

    def _shooting(self, fraction: float) -> Shooting:
        """Return the shooting over the first breather's period at a fraction of the path."""
        return self.family(fraction).shooting(self.period)

    def at(self, z: np.ndarray) -> Shooting:
        """Return the shooting over the period of a point."""
        return self.family(float(z[-1])).shooting(self.period * math.exp(z[-2]))

    def room(self, node: Node) -> np.ndarray:
        """Return no limit, because there are no residual indentations that could grow."""
        return np.ones(1)

    def equations(self, z: np.ndarray, image: np.ndarray | None = None) -> np.ndarray:
        """Return the residuals, which are 0 for an orbit."""
        y = self.state(z)
        if image is None:
            image = self.at(z).fine.images(y[None])[0]
        off = self.family(float(z[-1])).equations(y, image)
        if self.along != "period":
            return off
        given = self.multiple * self.value_of(float(z[-1]))
        return np.append(off, z[-2] - math.log(given / self.period))

    def bordered(
        self, z: np.ndarray, shot: Shot, by_parameter: np.ndarray, normal: np.ndarray
    ) -> np.ndarray:
        """Return the derivative of the equations and of normal z."""
        family, period = self.family(float(z[-1])), self.period * math.exp(z[-2])
        inner = family.derivative(shot.state, shot.image, shot.jacobian, period)
        if self.along == "period":
            inner = np.vstack([inner, np.append(np.zeros(shot.state.size), 1.0)])
        return np.vstack([np.hstack([inner, by_parameter[:, None]]) * self.weight, normal])

    def solved(self, matrix: np.ndarray, off: np.ndarray) -> np.ndarray:
        """Return the step that solves the equations with this derivative."""
        return solved(matrix, off)

    def stability(self, z: np.ndarray, shot: Shot) -> Stability:
        """Return the multipliers of the breather at z."""
        return spectrum_of(self.family(float(z[-1])), self.at(z), shot)

    def step_error(self, z: np.ndarray, shot: Shot) -> StepError:
        """Return the discretization error of the breather at z."""
        return breather_error(self.family(float(z[-1])), self.at(z), shot)

    def node(self, z: np.ndarray, before: np.ndarray) -> Node:
        """Return the breather at z; its tangent continues in the given direction."""
        found = super().node(z, before)
        slope = self.family(float(z[-1])).slope(found.shot.state)
        found.rising = float(slope @ self.state(found.tangent))
        return found

    def tests(self, node: Node, after: Node) -> list[tuple[Test, str]]:
        """Return functions that are zero within a step, with the kind of point of each."""
        own: dict[str, Test] = {"branch point": lambda one: one.signed(1.0)}
        if node.rising * after.rising < 0.0 and self.along in FAMILIES:
            own = {"energy extremum": lambda one: one.rising} if self.along != "energy" else {}
        tests = sign_changes(node, after, TURNS | own)
        few = min(growing(node), growing(after))
        if growing(node) != growing(after):
            tests.append((lambda one: 1.0 if growing(one) > few else -1.0, "Krein collision"))
        return tests

    def place(self, point: Point) -> np.ndarray:
        """Return the coordinates z of a point."""
        return np.insert(super().place(point), -1, math.log(point.period / self.period))

    def longer(self, factor: int) -> Self:
        """Return the same path with a multiple of the period."""
        found = super().longer(factor)
        found.period = factor * self.period
        return found

    def in_steps(self, factor: int) -> Self:
        """Return the same path with more steps per period."""
        found, first = super().in_steps(factor), copy.copy(self._first)
        first.grid, found._first = found.grid, first
        found.family = lru_cache(maxsize=5)(found._family)
        return found

    def multipliers(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the nontrivial multipliers of a point, and their vectors as rows."""
        shot = self.at(z).shoot(self.state(z))
        return self.family(float(z[-1])).nontrivial_multipliers(shot.state, shot.jacobian)[:2]
