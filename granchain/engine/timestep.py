"""Choice of the time step, and its reason.

Let omega^2 be the maximum over all bodies of the sum over its contacts of (2 k with a body, k with
a wall)/m, with k = dF/d(overlap), and let gamma be the same with c = dF/d(rate). The scheme is then
stable up to the step 2/(gamma + sqrt(gamma^2 + omega^2)). This combines Gershgorin's bound on the
eigenfrequencies and the exact limit of kick-drift-kick with the predicted rate. Dashpots of
elements do not change the limit: see granchain.engine.elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from granchain.chain import BEAD_STEPS, End, Masses
from granchain.contact.model import Model
from granchain.engine.contact_step import NUDGE
from granchain.engine.setup import (
    Contacts,
    alike,
    at_rest,
    halfway,
    over_kinds,
    settled,
)
from granchain.errors import CaseError
from granchain.jit.accessors import gatherer

# Default step: the largest residual of the energy balance is then near 1e-5 of the energy supplied.
AUTO_OMEGA, AUTO_GAMMA = 0.01, 0.05
# Factor of the fast step for studies: five times as long; peaks change by at most 0.1 %.
FAST = 5.0
# Maximum ratio of the step of a state to the automatic step at which a run from this state uses its
# step (our choice). The automatic step is a hundredth of the limit, and the limit changes slightly
# with the length of a drive.
STATE_STEP_RATIO = 1.1
# Number of overlaps at which stiffness is evaluated, and decades that they span below the largest.
STEP_POINTS, STEP_DECADES = 96, 4.0


@dataclass(frozen=True)
class TimeStep:
    """Time step with its reason.

    Parameters
    ----------
    value : float
        Time step [s].
    n_steps : int
        Number of steps to the end of the run.
    limit : float
        Stability limit [s] for the largest overlaps that the contacts can reach.
    reason : str
        Reason for this step, as text for the user.
    """

    value: float
    n_steps: int
    limit: float
    reason: str

    def stride(self, interval: float) -> int:
        """Return the number of steps between samples that is nearest to an interval [s].

        It is at least one. It is beyond the end of the run if the interval is.
        """
        return max(1, round(min(interval / self.value, self.n_steps + 1)))


class Planned(NamedTuple):
    """Contacts of a chain of masses, and the step that the case requests.

    Parameters
    ----------
    contacts : Contacts
    masses : Masses
        Chain of bodies.
    step : "auto", "fast" or float
        Step as given in the case [s].
    end : float
        End of the run [s].
    force_step : bool
        Whether a step above the stability limit is accepted.
    state_step : float
        Longest step that is allowed by the state from which the run continues [s].
    """

    contacts: Contacts
    masses: Masses
    step: str | float
    end: float
    force_step: bool = False
    state_step: float = math.inf


def time_step_of(
    contacts: Contacts, chain: Masses, step: str | float, end: float, force_step: bool = False
) -> TimeStep:
    """Return the time step of a run; see `Planned`.

    Raises
    ------
    CaseError
        If the step is above the limit.
    """
    (time_step,) = time_steps_together([Planned(contacts, chain, step, end, force_step)])
    return time_step


def time_steps_together(planned: Sequence[Planned]) -> list[TimeStep]:
    """Return the time steps of many runs, each the same as if it were set up alone.

    Raises
    ------
    CaseError
        For the first run with a step above the limit.
    """
    steps: dict[int, TimeStep] = {}
    for members in alike([id(run.contacts.model) for run in planned]):
        of = [planned[m] for m in members]
        slopes = slopes_together(of)
        for same in alike([run.masses.n_bodies for run in of]):
            bounds = bounds_on([of[m].masses for m in same], np.array([slopes[m] for m in same]))
            for m, bound in zip(same, bounds, strict=True):
                steps[members[m]] = choose_step(of[m], bound)
    return [steps[m] for m in range(len(planned))]


def slopes_together(planned: Sequence[Planned]) -> list[np.ndarray]:
    """Return the (3, n_contacts) slopes of each run with one model; see `bounds_on`."""
    of = [run.contacts for run in planned]
    sizes = [contacts.limits.size for contacts in of]
    taken = np.array([energy_and_force(run) for run in planned]).T
    demand = np.vstack(
        [
            np.repeat(taken, sizes, axis=1),
            np.concatenate([contacts.overlaps for contacts in of]),
            np.concatenate([contacts.limits for contacts in of]),
        ]
    )
    inputs = np.hstack([contacts.c for contacts in of]), demand
    slopes = over_kinds(_stiffness_scan, of[0].model, inputs, 3)
    return np.split(slopes, np.cumsum(sizes)[:-1], axis=1)


def bounds_on(rows: Sequence[Masses], slopes: np.ndarray) -> list[tuple]:
    """Return the bounds on the steps of chains with equal numbers of bodies.

    The bounds of a chain are: omega and gamma [1/s], the largest rate of the dashpots of elements
    [1/s], the index of the body that requires the smallest step, and the maximum overlap at which
    its contacts were evaluated [m].

    `slopes` are (n_rows, 3, n_contacts): largest stiffness [N/m] and damping [N s/m] of each
    contact, and the maximum overlap [m] at which they were evaluated.
    """
    weight = np.full((len(rows), 1, slopes.shape[2]), 2.0)
    # A wall with mass counts like another body.
    for side, ends in ((0, [row.left for row in rows]), (-1, [row.right for row in rows])):
        weight[:, 0, side] = [2.0 if end.modes is not None else end.has_wall for end in ends]
    weighted, mass = weight * slopes[:, :2], np.array([row.mass for row in rows])
    element_rates = np.array([row.rates_of_elements for row in rows])
    omega2, gammas = ((weighted[:, :, :-1] + weighted[:, :, 1:]) / mass[:, None]).swapaxes(0, 1)
    omega2 += element_rates[:, 0]
    rates = element_rates[:, 1]
    for m, row in enumerate(rows):
        for side, end in ((0, row.left), (-1, row.right)):
            if end.is_compliant:
                # the wall counts for the body next to the end
                bounds = bounds_of_end(end, *slopes[m, :2, side])
                for column, bound in zip((omega2, gammas, rates), bounds, strict=True):
                    column[m, side] = max(column[m, side], bound)
    where = np.argmax(np.maximum(np.sqrt(omega2) / (2.0 * AUTO_OMEGA), gammas / AUTO_GAMMA), axis=1)
    largest_overlap = slopes[np.arange(len(rows)), 2, [where, where + 1]].max(axis=0)
    columns = (
        np.sqrt(omega2.max(axis=1)), gammas.max(axis=1), rates.max(axis=1), where, largest_overlap,
    )  # fmt: skip
    return list(zip(*(column.tolist() for column in columns), strict=True))


def bounds_of_end(end: End, stiffness: float, damping: float) -> tuple[float, float, float]:
    """Return the bounds on omega^2 [1/s2] and gamma [1/s] of a compliant end, and its rate [1/s].

    The rate is resolved, but does not change the limit: it is that of the dashpots of modes, or of
    the contact with a wall without mass, whose motion is implicit. Arguments are the stiffness
    [N/m] and damping [kg/s] of the contact.
    """
    if end.modes is None:
        return 0.0, 0.0, stiffness / end.impedance
    mass, spring, dashpot = end.modes.T
    light = 2.0 * float((1.0 / mass).sum())
    return light * stiffness + (spring / mass).max(), light * damping, (dashpot / mass).max()


def choose_step(run: Planned, bounds: tuple) -> TimeStep:
    """Return the time step of a run; see `bounds_on`."""
    chain, step, end = run.masses, run.step, run.end
    omega, gamma, elements, body, overlap = bounds
    label = chain.first_label + body
    if not math.isfinite(omega * omega + gamma * gamma):
        raise CaseError(
            f"time.step: the stiffness or damping of the contacts of body {label} is not finite. "
            "Values must be of the order of real bodies. Check radius, mass, modulus, yield "
            "stress, the inputs of the law, and their units."
        )
    limit = 2.0 / (gamma + math.sqrt(gamma * gamma + omega * omega)) if omega > 0.0 else math.inf
    basis = (
        f"omega = {omega:.4g} 1/s, gamma = {gamma:.4g} 1/s at body {label}, overlap up to "
        f"{overlap:.4g} m"
    )
    if isinstance(step, str):
        factor = FAST if step == "fast" else 1.0
        by_omega = AUTO_OMEGA * 2.0 / omega if omega > 0.0 else math.inf
        # The dashpots of elements do not change the limit, but must be resolved.
        fastest = max(gamma, elements)
        by_gamma = AUTO_GAMMA / fastest if fastest > 0.0 else math.inf
        value = factor * min(by_omega, by_gamma)
        rule = (
            f"{AUTO_OMEGA:g} of 2/omega"
            if by_omega <= by_gamma
            else f"{AUTO_GAMMA:g}/{'gamma' if fastest == gamma else 'rate of dashpots'}"
        )
        if math.isfinite(run.state_step) and run.state_step <= STATE_STEP_RATIO * value:
            n_steps = step_count(end, run.state_step)
            return TimeStep(run.state_step, n_steps, limit, f"{step}: step of the state; {basis}")
        if not math.isfinite(value):
            value, rule, basis = end / 1000.0, "end/1000", "nothing moves"
        if not value * BEAD_STEPS > end * chain.n_bodies:
            raise CaseError(
                f'time.step: "{step}" gives {value:.4g} s here ({rule}; {basis}), which is too '
                f"short. The limit is {BEAD_STEPS:g} bead-steps. Check radius, mass, modulus, and "
                "their units, or choose an earlier time.end."
            )
        n_steps = step_count(end, value)
        return TimeStep(
            end / n_steps,
            n_steps,
            limit,
            f"{step}: {f'{FAST:g} x ' if step == 'fast' else ''}{rule}; {basis}",
        )
    largest = end if run.force_step else min(end, limit)
    if step > largest:
        reason = "the end of the run" if largest == end else f"the stability limit ({basis})"
        raise CaseError(
            f"time.step: {step:.6g} s is too long. It must be at most {largest:.6g} s, {reason}. "
            'Use step = "auto"'
            + (", or set force_step = true." if step <= end and not run.force_step else ".")
        )
    n_steps = step_count(end, step)
    return TimeStep(
        float(step), n_steps, limit, f"given: {step / limit:.3g} of the stability limit; {basis}"
    )


def step_count(end: float, step: float) -> int:
    """Return the number of steps to the end.

    A step that divides the end up to rounding adds no extra step.
    """
    return max(1, math.ceil(end / step * (1.0 - 1e-12)))


def energy_and_force(run: Planned) -> tuple[float, float]:
    """Return the energy [J] and force [N] that a contact may take.

    They are in addition to the static load. They include all motion at the start, the energy stored
    by displaced bodies, and the effect of the driven ends.
    """
    chain, contacts = run.masses, run.contacts
    energy = 0.5 * float((chain.mass * chain.velocity * chain.velocity).sum())
    stored = force = 0.0
    if chain.is_displaced:
        # work from the static overlap of each contact to its initial overlap, minus the work of the
        # static force
        begin = chain.first_overlaps(contacts.overlaps)
        to = np.vstack([contacts.overlaps, np.maximum(begin, 0.0), begin])
        stored = float(over_kinds(_work_scan, contacts.model, (contacts.c, to), 1).sum())
    elements = chain.elements
    stretch = chain.displacement[elements.body] - elements.u
    stored += float(
        0.5
        * (elements.stiffness * stretch * stretch + elements.mass * elements.v * elements.v).sum()
    )
    for driven_body, _, end in chain.drives:
        assert end.time is not None and end.value is not None
        if end.kind == "displacement":
            speed = float(np.abs(np.diff(end.value) / np.diff(end.time)).max())
            # the bodies next to the driven one
            neighbours = [
                body for body in (driven_body - 2, driven_body) if 0 <= body < chain.n_bodies
            ]
            energy += 0.5 * float(chain.mass[neighbours].sum()) * (2.0 * speed) ** 2
        else:
            force += 2.0 * float(np.abs(end.value).max())
    return energy + stored, force


def _work_scan(model: Model) -> Callable:
    """Return a scan for the work of each contact, less that of its static force."""
    force, work = at_rest(model)
    gather = gatherer(len(model.coefficients))

    def scan(c, overlaps, out):
        for k in range(c.shape[1]):
            ck = gather(c, k)
            static, closed, moved = overlaps[0, k], overlaps[1, k], overlaps[2, k]
            static_work = force(static, ck) * (moved - static)
            out[0, k] = max(0.0, work(closed, ck) - work(static, ck) - static_work)

    return scan


def _stiffness_scan(model: Model) -> Callable:
    """Return a scan for the largest dF/d(overlap) and dF/d(rate).

    It covers loading and unloading at the overlaps that a contact can reach.
    """
    force, settle = model.functions.force, settled(model)
    (force_at_rest, work), overlap_limit = at_rest(model), model.functions.overlap_limit
    RATE = model.uses_rate
    gather = gatherer(len(model.coefficients))

    def reached(ck, extra, push, d0, limit):
        """Return the overlap at which a contact has taken an energy and a force.

        Both are in addition to the static load.
        """
        f0, w0 = force_at_rest(d0, ck), work(d0, ck)
        low, high = d0, limit
        if work(high, ck) - w0 - f0 * (high - d0) <= extra and force_at_rest(high, ck) - f0 <= push:
            return high
        for _ in range(200):
            middle = halfway(low, high)
            if high - low <= 1e-6 * high:
                break
            if (
                work(middle, ck) - w0 - f0 * (middle - d0) <= extra
                or force_at_rest(middle, ck) - f0 <= push
            ):
                low = middle
            else:
                high = middle
        return high

    def scan(c, demand, out):
        for k in range(c.shape[1]):
            ck = gather(c, k)
            extra, push, d0 = demand[0, k], demand[1, k], demand[2, k]
            limit = min(demand[3, k], overlap_limit(ck))
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
                stiffness = max(stiffness, (force_at_rest(d + nudge, ck) - f) / nudge)
                if RATE:
                    damping = max(damping, (force(d, 1.0, ck, h) - f))
            out[0, k], out[1, k], out[2, k] = stiffness, damping, d_max

    return scan
