"""The time step, and why.

With omega^2 = max over bodies of the sum over its contacts of (2 k with a body, k with a wall)/m,
and gamma likewise with c, k = dF/d(overlap) and c = dF/d(rate), the scheme is stable up to 2/(gamma
+ sqrt(gamma^2 + omega^2)): Gershgorin's bound on the eigenfrequencies, and the exact limit of
kick-drift-kick with the predicted rate. Drag leaves it where it is: see granchain.engine.drag.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from granchain.chain import BEAD_STEPS, Masses
from granchain.contact.model import Model
from granchain.engine.contact_step import NUDGE
from granchain.engine.scans import alike, in_parts, over_kinds, settled
from granchain.engine.setup import Contacts, contact_limits, first_overlaps
from granchain.errors import CaseError
from granchain.jit.accessors import gatherer

# The step of a result one trusts: the largest residual of the energy ledger is then near 1e-5 of
# the input.
AUTO_OMEGA, AUTO_GAMMA = 0.01, 0.05
# The step of a study: five times as long; peaks within 0.1 %.
FAST = 5.0
# Overlaps looked at, from the largest down by this many decades.
STEP_POINTS, STEP_DECADES = 96, 4.0


@dataclass(frozen=True)
class TimeStep:
    """A time step with its reason.

    Parameters
    ----------
    value : float
        [s].
    n_steps : int
        Steps to the end of the run.
    limit : float
        Stability limit [s] for the largest overlaps that the contacts can reach.
    reason : str
        Why this step, for a human.
    """

    value: float
    n_steps: int
    limit: float
    reason: str

    def stride(self, interval: float) -> int:
        """Steps from one sample to the next, nearest to an interval [s]: one at least, and
        beyond the end where the interval is."""
        return max(1, round(min(interval / self.value, self.n_steps + 1)))


class Stiffest(NamedTuple):
    """The body that limits the step.

    Parameters
    ----------
    omega, gamma : float
        Largest of all bodies [1/s].
    where : int
        Index of the body for which the step has to be smallest.
    overlap : float
        The one that was allowed for at its contacts [m].
    """

    omega: float
    gamma: float
    where: int
    overlap: float


def choose_step(
    chain: Masses, stiff: Stiffest, step: str | float, end: float, force_step: bool = False
) -> TimeStep:
    """The time step of a run.

    Parameters
    ----------
    chain : Masses
        The row of bodies.
    stiff : Stiffest
        Of `stiffest`.
    step : "auto", "fast" or float
        As the case gives it [s].
    end : float
        End of the run [s].
    force_step : bool
        Accept a step above the stability limit.

    Raises
    ------
    CaseError
        For a step above the limit.
    """
    omega, gamma, where, overlap = stiff
    label = int(chain.body_labels[where])
    if not math.isfinite(omega * omega + gamma * gamma):
        raise CaseError(
            f"time.step: got a stiffness or damping of the contacts of body {label} that is no "
            "finite number, allowed: of the order of real bodies; check radius, mass, modulus, "
            "yield stress and the law's inputs, and their units"
        )
    limit = 2.0 / (gamma + math.sqrt(gamma * gamma + omega * omega)) if omega > 0.0 else math.inf
    shown = (
        f"omega = {omega:.4g} 1/s, gamma = {gamma:.4g} 1/s at body {label}, overlap up to "
        f"{overlap:.4g} m"
    )
    if isinstance(step, str):
        factor = FAST if step == "fast" else 1.0
        by_omega = AUTO_OMEGA * 2.0 / omega if omega > 0.0 else math.inf
        # drag does not move the limit, but is to be followed
        fastest = max(gamma, float(chain.drag.max()) if chain.drag is not None else 0.0)
        by_gamma = AUTO_GAMMA / fastest if fastest > 0.0 else math.inf
        value = factor * min(by_omega, by_gamma)
        rule = (
            f"{AUTO_OMEGA:g} of 2/omega"
            if by_omega <= by_gamma
            else f"{AUTO_GAMMA:g}/{'gamma' if fastest == gamma else 'drag'}"
        )
        if not math.isfinite(value):
            value, rule, shown = end / 1000.0, "end/1000", "nothing moves"
        if not value * BEAD_STEPS > end * chain.n_bodies:
            raise CaseError(
                f'time.step: got "{step}", which is {value:.4g} s here ({rule}; {shown}), allowed '
                f"{BEAD_STEPS:g} bead-steps; check "
                "radius, mass, modulus and their units, or take an earlier time.end"
            )
        n_steps = whole_steps(end, value)
        return TimeStep(
            end / n_steps,
            n_steps,
            limit,
            f"{step}: {f'{FAST:g} x ' if step == 'fast' else ''}{rule}; {shown}",
        )
    if step > limit and not force_step:
        raise CaseError(
            f"time.step: got {step:.6g} s, allowed: at most {limit:.6g} s, the stability limit "
            f"({shown}); "
            'take step = "auto", or set force_step = true'
        )
    n_steps = whole_steps(end, step)
    return TimeStep(
        float(step), n_steps, limit, f"given: {step / limit:.3g} of the stability limit; {shown}"
    )


def whole_steps(end: float, step: float) -> int:
    """Steps to the end; a step that divides it up to rounding does not gain one more."""
    return max(1, math.ceil(end / step * (1.0 - 1e-12)))


def demand_of(
    chains: Sequence[Masses], overlaps: np.ndarray, limits: np.ndarray, stored: Sequence[float]
) -> np.ndarray:
    """(4, n_contacts) What each contact of some rows may have to take: energy [J], force [N]; its
    static overlap, its largest one [m].

    The energy is all that moves in its row at the start, and what displaced bodies of that have
    `stored` [J].
    """
    taken = np.array([energy_and_force(chain) for chain in chains]) + np.array(
        [[more, 0.0] for more in stored]
    )
    return np.vstack(
        [*np.repeat(taken, [chain.n_bodies + 1 for chain in chains], axis=0).T, overlaps, limits]
    )


def stiffest(chains: Sequence[Masses], slopes: Sequence[np.ndarray]) -> list[Stiffest]:
    """What limits the step of each of some rows of as many bodies.

    `slopes` are (3, n_contacts): largest stiffness [N/m] and damping [N s/m] of each contact, and
    the overlap [m] up to which they were looked for.
    """
    stiffness, damping, reach = np.array(slopes).transpose(1, 0, 2)
    mass, weight = np.array([chain.mass for chain in chains]), np.full(stiffness.shape, 2.0)
    weight[:, 0], weight[:, -1] = np.array(
        [(chain.left.has_wall, chain.right.has_wall) for chain in chains], dtype=float
    ).T
    k, g = weight * stiffness, weight * damping
    omega2 = (k[:, :-1] + k[:, 1:]) / mass
    gamma = (g[:, :-1] + g[:, 1:]) / mass
    need = np.maximum(np.sqrt(omega2) / (2.0 * AUTO_OMEGA), gamma / AUTO_GAMMA)
    where, rows = np.argmax(need, axis=1), np.arange(len(chains))
    left, right = reach[rows, where], reach[rows, where + 1]
    found = (
        np.sqrt(omega2.max(axis=1)),
        gamma.max(axis=1),
        where,
        np.where(right > left, right, left),
    )
    return [Stiffest(*row) for row in zip(*(values.tolist() for values in found), strict=True)]


def energy_and_force(chain: Masses) -> tuple[float, float]:
    """Energy [J] and force [N] that a contact of this chain may have to take on top of its
    static load."""
    energy = float(0.5 * (chain.mass * chain.velocity * chain.velocity).sum())
    force = 0.0
    for end, body in ((chain.left, 0), (chain.right, -1)):
        if end.time is None or end.value is None:
            continue
        if end.kind == "displacement":
            speed = float(np.abs(np.diff(end.value) / np.diff(end.time)).max())
            energy += 0.5 * float(chain.mass[body]) * (2.0 * speed) ** 2
        else:
            force += 2.0 * float(np.abs(end.value).max())
    return energy, force


def _work_scan(model: Model) -> Callable:
    force, energy, plastic, settle = (
        model.functions.force,
        model.functions.energy,
        model.functions.plastic,
        settled(model),
    )
    gather = gatherer(len(model.coefficients))

    def work(d, c):
        h = settle(d, c)
        return energy(d, c, h) + plastic(c, h)

    def scan(c, overlaps, out):
        for k in range(c.shape[1]):
            ck = gather(c, k)
            static, closed, moved = overlaps[0, k], overlaps[1, k], overlaps[2, k]
            rest = force(static, 0.0, ck, settle(static, ck))
            out[0, k] = max(0.0, work(closed, ck) - work(static, ck) - rest * (moved - static))

    return scan


def _stiffness_scan(model: Model) -> Callable:
    """Largest dF/d(overlap) and dF/d(rate), loading and unloading, over the overlaps that a
    contact can reach."""
    force, energy, plastic, settle = (
        model.functions.force,
        model.functions.energy,
        model.functions.plastic,
        settled(model),
    )
    RATE = model.uses_rate
    gather = gatherer(len(model.coefficients))

    def work(d, c):
        h = settle(d, c)
        return energy(d, c, h) + plastic(c, h)

    def reached(ck, extra, push, d0, limit):
        """Overlap at which the loading work on top of the static overlap is the energy, and the
        force what pushes."""
        f0 = force(d0, 0.0, ck, settle(d0, ck))
        w0 = work(d0, ck)
        low, high = d0, limit
        if (
            work(high, ck) - w0 - f0 * (high - d0) <= extra
            and force(high, 0.0, ck, settle(high, ck)) - f0 <= push
        ):
            return high
        for _ in range(200):
            middle = (
                0.5 * (low + high)
                if low > 0.0 and high < 4.0 * low
                else math.sqrt(max(low, 1e-30) * high)
            )
            if high - low <= 1e-6 * high:
                break
            if (
                work(middle, ck) - w0 - f0 * (middle - d0) <= extra
                or force(middle, 0.0, ck, settle(middle, ck)) - f0 <= push
            ):
                low = middle
            else:
                high = middle
        return high

    def scan(c, demand, out):
        for k in range(c.shape[1]):
            ck = gather(c, k)
            extra, push, d0, limit = demand[0, k], demand[1, k], demand[2, k], demand[3, k]
            if extra <= 0.0 and push <= 0.0 and d0 <= 0.0:
                continue
            d_max = reached(ck, extra, push, d0, limit)
            stiffness = damping = 0.0
            for i in range(STEP_POINTS):
                d = d_max * math.pow(10.0, -STEP_DECADES * i / STEP_POINTS)
                h = settle(d, ck)
                nudge = NUDGE * d
                f = force(d, 0.0, ck, h)
                stiffness = max(stiffness, (f - force(d - nudge, 0.0, ck, h)) / nudge)
                stiffness = max(
                    stiffness, (force(d + nudge, 0.0, ck, settle(d + nudge, ck)) - f) / nudge
                )
                if RATE:
                    damping = max(damping, (force(d, 1.0, ck, h) - f))
            out[0, k], out[1, k], out[2, k] = stiffness, damping, d_max

    return scan


class Planned(NamedTuple):
    """Contacts of a row of masses, and the step that their case asks for: see `choose_step`."""

    contacts: Contacts
    masses: Masses
    step: str | float
    end: float
    force_step: bool = False


def time_step_of(
    contacts: Contacts, chain: Masses, step: str | float, end: float, force_step: bool = False
) -> TimeStep:
    """The time step of a run; see `choose_step`."""
    (time_step,) = time_steps_together([Planned(contacts, chain, step, end, force_step)])
    return time_step


def time_steps_together(planned: Sequence[Planned]) -> list[TimeStep]:
    """The time steps of many runs, each as if it were set up alone.

    Raises
    ------
    CaseError
        For the first run with a step above the limit.
    """
    steps: list[TimeStep | None] = [None] * len(planned)
    for members in alike([run.contacts.model for run in planned]):
        of = [planned[m] for m in members]
        model, limits = of[0].contacts.model, [run.contacts.limits for run in of]
        masses, c, overlaps = (
            [run.masses for run in of],
            np.hstack([run.contacts.c for run in of]),
            [run.contacts.overlaps for run in of],
        )
        within = contact_limits(model, c, np.concatenate(limits))
        displaced = [run.masses.displacement is not None for run in of]
        stored = [0.0] * len(of)
        if any(displaced):
            begin = [first_overlaps(run.masses, run.contacts.overlaps)[:-1] for run in of]
            # the work that took each contact from its static overlap to the one that it begins
            # with, less that of the static force
            to = np.vstack(
                [np.hstack(overlaps), np.maximum(np.hstack(begin), 0.0), np.hstack(begin)]
            )
            works = in_parts(over_kinds(_work_scan, model, (c, to), 1)[0], limits)
            stored = [
                float(work.sum()) if moved else 0.0
                for work, moved in zip(works, displaced, strict=True)
            ]
        slopes = in_parts(
            over_kinds(
                _stiffness_scan,
                model,
                (c, demand_of(masses, np.hstack(overlaps), within, stored)),
                3,
            ),
            limits,
        )
        by_length: dict[int, list[int]] = {}
        for place, row in enumerate(masses):
            by_length.setdefault(row.n_bodies, []).append(place)
        stiff: dict[int, Stiffest] = {}
        for places in by_length.values():
            stiff |= zip(
                places,
                stiffest([masses[place] for place in places], [slopes[place] for place in places]),
                strict=True,
            )
        for place, (m, run) in enumerate(zip(members, of, strict=True)):
            steps[m] = choose_step(run.masses, stiff[place], run.step, run.end, run.force_step)
    return [step for step in steps if step is not None]
