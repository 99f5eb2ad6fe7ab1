"""One time step of one contact, as plain functions of scalars and of the law's tuples.

This module makes the scheme second order for every form of force. It contains the rate predicted to
the full step, the approach speed interpolated to the onset, the onset weight, the end of a contact
that pulls, and the kick at a jump of the force. The code that loops over contacts (a chain, or two
bodies) calls these functions and adds no physics. Derivations: docs/explanation/contact-step.md.

A contact has two forces. The recorded force is that of the law at this step: sensors, peaks, and
the energy balance read it. The other force kicks the bodies. They are equal, with two exceptions:
in the step after an onset or after the end of a contact that pulls, the kick has a weight, and next
to a jump of the force, only the recorded force is corrected. Such contacts are listed in
`events.changed`, with both forces in `contacts.kicked` and `contacts.recorded`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from granchain.chain import Masses
from granchain.contact.guard import ASIDE
from granchain.contact.law import OPEN
from granchain.contact.model import Functions, Model
from granchain.jit.accessors import gatherer, replaced
from granchain.jit.compile import hot

if TYPE_CHECKING:
    from granchain.engine.recording import Recording

# Relative step of the numerical derivatives of a force: the square root of the rounding error of a
# double, 2^-26, balances truncation and rounding.
NUDGE = 2.0**-26


@dataclass(frozen=True)
class Features:
    """Features of a compiled loop.

    Each combination is compiled separately, so unused features cost nothing.

    Parameters
    ----------
    rate, history : bool
        Whether the force depends on the rate; whether the law has history.
    ledger : bool
        Whether viscous and clamp work are summed.
    loaded, driven : bool
        Whether constant forces act on the bodies; whether an end is driven.
    forgets : bool
        Whether an opening contact loses its history.
    jumps : bool
        Whether the force has a jump or a kink inside a contact.
    kinks : bool
        Whether the force has only kinks, and no jumps, at these overlaps.
    leaps : bool
        Whether the force jumps inside a contact or at the onset. Records are then corrected at a
        jump, and the one-sided forces are recorded.
    weight, lowest : int
        Position of `onset_weight` in the history and of `lowest_force` in the coefficients, or -1.
    n_coefficients, n_history : int
        Lengths of the tuples of coefficients and history.
    tiled : bool
        Whether the chain is swept tile by tile, several steps at a time.
    evolves : bool
        Whether the history changes in every step.
    elements : bool
        Whether there are elements. Every step is then a full step.
    ends : bool
        Whether some of them are compliant ends.
    laws : tuple of bool
        Whether the force of each law depends on the rate, if there are several laws; else empty.
    """

    rate: bool
    history: bool
    ledger: bool
    loaded: bool
    driven: bool
    forgets: bool
    jumps: bool
    kinks: bool
    leaps: bool
    weight: int
    lowest: int
    n_coefficients: int
    n_history: int
    tiled: bool = False
    evolves: bool = False
    elements: bool = False
    ends: bool = False
    laws: tuple[bool, ...] = ()


# Number of contacts above which a chain is swept tile by tile.
TILED_ABOVE = 4096


def features_of(model: Model, recording: Recording, chain: Masses | None = None) -> Features:
    """Return the features of the loop for a law, a recording, and a chain.

    Without a chain, they are those of contacts in a mechanism.
    """
    driven = chain is not None and bool(chain.drives)
    ends = chain is not None and chain.end_elements.body.size > 0
    elements = ends or (chain is not None and chain.elements.body.size > 0)
    leaps = model.onset_jump or model.jumps_inside
    long = chain is not None and chain.n_bodies + 1 > TILED_ABOVE
    return Features(
        rate=model.uses_rate,
        history=bool(model.history),
        ledger=recording.ledger and (model.uses_rate or model.evolves),
        loaded=driven or (chain is not None and bool(chain.loads.any())),
        driven=driven,
        forgets=model.forgets,
        jumps=model.jumps_inside,
        kinks=model.kinks,
        leaps=leaps,
        weight=model.remembered("onset_weight"),
        lowest=model.coefficient("lowest_force") if model.uses_rate else -1,
        n_coefficients=len(model.coefficients),
        n_history=len(model.history),
        # The loop stops at each jump of a force, and with a drive or elements every step is full.
        tiled=long and not (leaps or driven or elements),
        evolves=model.evolves,
        elements=elements,
        ends=ends,
        laws=tuple(component.uses_rate for component in getattr(model.law, "models", ())),
    )


# Fraction of a step over which the growth of a force near a jump is measured. The growth enters
# with dt^2, so a relative error of a thousandth has an effect of third order. The rounding of the
# forces, 2^-53, becomes 2^-43 of the kick.
PROBE_FRACTION = 2.0**-10

# Jump of the force in a step: whether there is one, the fraction of the step after the jump, the
# force before the jump and after it, whether the jump moves the bodies, and the jump of the time
# derivative of the force [N/s].
NO_LEAP = (False, 0.0, 0.0, 0.0, 0.0, 0.0)


class ContactStep(NamedTuple):
    """Functions of the time step of one contact.

    Parameters
    ----------
    law, features : Functions, Features
        Law and features for which the functions are made.
    coefficients_at, history_at : callable
        (table, k) -> tuple of contact k.
    happened : callable
        (overlap, before, rate, c, h) -> whether an event has happened since the previous step, when
        the overlap was `before`.
    event : callable
        (overlap, half, rate, past, dt, last, viscous, c, h) -> history, force of the kick, recorded
        force, loss of a forgotten residual indentation, and work transferred from the clamp to the
        dashpot.
    recorded : callable
        (overlap, half, rate, dt, c, h) -> recorded force, with the history after an event.
    force_terms : callable
        (overlap, rate, c, h) -> force, its elastic part, force added by the clamp.
    onset, end : callable
        Jump of the force in this step, at the onset of a contact or at the end of one that pulls,
        as a tuple like NO_LEAP.
    inside : callable
        Jump or kink at an overlap inside the contact, the reverse jump if the contact rebounds in
        the same step, viscous work, and clamp work.
    read_as : callable
        (h, renewed) -> history used to read the forces of this step: with an onset weight of 1, or
        the history before the event if the law has no weight.
    read : callable
        (overlap, rate, c, h) -> force as a sensor reads it, with an onset weight of 1.
    slopes : callable
        (overlap, rate, c, h) -> dF/d(overlap), dF/d(rate).
    """

    law: Functions
    features: Features
    coefficients_at: Callable
    history_at: Callable
    happened: Callable
    event: Callable
    recorded: Callable
    force_terms: Callable
    onset: Callable
    end: Callable
    inside: Callable
    read_as: Callable
    read: Callable
    slopes: Callable


@hot
def overlap_of(u, u_next, start):
    """Return the overlap of a contact from the displacements of its two bodies."""
    return u - u_next + start


@hot
def predicted(half, da, half_dt):
    """Return the predicted rate at the step.

    The arguments are the half-step rate before it and the relative acceleration of the previous
    step.
    """
    return half + half_dt * da


@hot
def past_rate(half, da, half_dt):
    """Return the rate at the previous step.

    It is the mean of the two half-step rates around this step.
    """
    return half - half_dt * da


def moved_by_jump(theta, dt, force, growth):
    """Return the effect of a jump inside a contact on a body, times its mass.

    The results are the changes of displacement and half-step velocity. The step to t_n uses the
    acceleration A before the jump at t_n - theta dt. The jump adds the acceleration J, with the
    growth J'. The exact values are

        u_n = u + (theta dt)^2 J/2,  v_n = v + theta dt J,

    where u and v = v_{n-1/2} + dt A/2 are the values that the step has computed. If the kick uses
    the force after the jump, the sum of the steps differs from the integral by (theta - 1/2) dt J +
    (theta^2/2 - theta/2 + 1/12) dt^2 J' (Euler and Maclaurin, on each side of the jump). This is
    added to the half-step velocity. The predicted rate v_{n-1/2} + dt A/2 then equals v_n, with A +
    J in place of A.
    """
    since = theta * dt
    return 0.5 * since * since * force, dt * (
        (theta - 0.5) * force + (0.5 * theta * (theta - 1.0) + 1.0 / 12.0) * dt * growth
    )


@hot
def dissipated(time, rate, force, elastic, clamp):
    """Return the work of the viscous part of a force over a time."""
    return time * rate * (force - elastic - clamp)


@hot
def net(left, right, load, loaded):
    """Return the force on a body between two contacts."""
    return left - right + load if loaded else left - right


@hot
def kicked(v, scale, dt, dt_over_m, acceleration, force, rate):
    """Return the velocity of a body after a kick."""
    return v + scale * (dt * acceleration) if rate else v + scale * (dt_over_m * force)


def crossed(overlap, d, before):
    """Return whether a contact has passed an overlap since the previous step."""
    return (before < overlap) != (d < overlap)


def onset_fraction(d, half, dt):
    """Return the fraction of the step after the onset.

    It is 1 if the contact was already closed.
    """
    return d / (dt * half) if 0.0 < d < dt * half else 1.0


def onset_rate(r, half, theta):
    """Return the rate at the onset of a contact that has closed in this step."""
    return r - 2.0 * theta * (r - half)


def opened_in_step(d, half, dt):
    """Return whether a contact has opened within this step."""
    return dt * half < d < 0.0


def contact_step(law: Functions, features: Features) -> ContactStep:
    """Return the time step of a contact with a law."""
    force, RATE, LEDGER = law.force, features.rate, features.ledger
    # `closed` follows `onset_weight` in the history of a law with a weight
    ONSET, CLOSED, LOWEST = features.weight, features.weight + 1, features.lowest
    weight_set = replaced(features.n_history, (ONSET,))
    lowest_set = replaced(features.n_coefficients, (LOWEST,))

    @hot
    def force_terms(d, r, c, h):
        f = force(d, r, c, h)
        elastic = clamp = 0.0
        if LEDGER:
            elastic = force(d, 0.0, c, h)
            if LOWEST >= 0:
                raw = force(d, r, lowest_set(c, (-math.inf,)), h)
                clamp = c[LOWEST] - raw if raw < c[LOWEST] else 0.0
        return f, elastic, clamp

    def onset(d, half, r, dt, c, h, renewed):
        if not (d > OPEN and h[CLOSED] == 0.0):
            return NO_LEAP
        theta = onset_fraction(d, half, dt)
        after = force(2.0 * OPEN, onset_rate(r, half, theta), c, weight_set(renewed, (1.0,)))
        return True, theta, 0.0, after, 0.0, 0.0

    def end(d, half, dt, last, c):
        if not (opened_in_step(d, half, dt) and c[LOWEST] < 0.0):
            return NO_LEAP
        return True, d / (dt * half), last, 0.0, 0.0, 0.0

    def read_as(h, renewed):
        return weight_set(renewed, (1.0,)) if ONSET >= 0 else h

    def read(d, r, c, h):
        return force(d, r, c, weight_set(h, (1.0,)))

    def slopes(d, r, c, h):
        stiffness = damping = 0.0
        if d > OPEN:
            nudge = NUDGE * d
            stiffness = (force(d, 0.0, c, h) - force(d - nudge, 0.0, c, h)) / nudge
            if RATE:
                nudge = NUDGE * (abs(r) + 1.0)
                damping = (force(d, r + nudge, c, h) - force(d, r, c, h)) / nudge
        return stiffness, damping

    coefficients_at, history_at = gatherer(features.n_coefficients), gatherer(features.n_history)
    return ContactStep(
        law, features, coefficients_at, history_at, *events_of(law, features), force_terms, onset,
        end, jumps_inside(law, features), read_as, read, slopes,
    )  # fmt: skip


def events_of(law: Functions, features: Features) -> tuple[Callable, Callable, Callable]:
    """Return the functions `happened`, `event`, and `recorded` of `ContactStep`."""
    force, needs_update, update = law.force, law.needs_update, law.update
    plastic, jumps, evolve = law.plastic, law.jumps, law.evolve
    RATE, LEDGER, FORGETS, JUMPS = features.rate, features.ledger, features.forgets, features.jumps
    ONSET, LOWEST, EVOLVES = features.weight, features.lowest, features.evolves
    weight_set = replaced(features.n_history, (ONSET,))

    @hot
    def happened(d, before, r, c, h):
        has_event = needs_update(d, r if RATE else 0.0, c, h)
        if JUMPS:
            for jump_overlap in jumps(c):
                has_event |= crossed(jump_overlap, d, before)
        return has_event

    def event(d, half, r, past, dt, last, viscous, c, h):
        renewed, lost, work, kick, record = h, 0.0, 0.0, 0.0, 0.0
        if needs_update(d, r if RATE else 0.0, c, h):
            theta = onset_fraction(d, half, dt)
            renewed = update((d, r, onset_rate(r, half, theta), theta), c, h)
            if FORGETS and d <= OPEN:
                lost = plastic(c, h) - plastic(c, renewed)
        if ONSET >= 0:
            kick = record = force(d, r, c, renewed)
            if d > OPEN:
                record = force(d, r, c, weight_set(renewed, (1.0,)))
            elif opened_in_step(d, half, dt):
                # Reversed in time, the end of a contact is an onset. The last step had the weight 1
                # instead of the onset weight, and the difference is added now.
                end_weight = update((-d, r, r, 1.0 - d / (dt * half)), c, renewed)[ONSET] - 1.0
                if c[LOWEST] < 0.0:
                    kick = end_weight * last
                elif LEDGER:
                    # With the clamp, the force is zero at the end, but the dashpot still takes up
                    # work, which the clamp supplies.
                    work = end_weight * dt * past * viscous
        return renewed, kick, record, lost, work

    def recorded(d, half, r, dt, c, h):
        renewed, rate = evolve(dt, d - dt * half, d, c, h)[0] if EVOLVES else h, r if RATE else 0.0
        if needs_update(d, rate, c, renewed):
            theta = onset_fraction(d, half, dt)
            renewed = update((d, r, onset_rate(r, half, theta), theta), c, renewed)
        return force(d, rate, c, weight_set(renewed, (1.0,)))

    return happened, event, recorded


def jumps_inside(law: Functions, features: Features) -> Callable:
    """Return the function `inside` of `ContactStep`."""
    force, needs_update, update, jump = law.force, law.needs_update, law.update, law.jump
    RATE, LEDGER, LOWEST = features.rate, features.ledger, features.lowest
    KINKS, HISTORY = features.kinks, features.history
    lowest_set = replaced(features.n_coefficients, (LOWEST,))

    def passed(overlap, rate, c, h):
        """Return the force at an overlap that the contact has passed within a step."""
        return force(
            overlap,
            rate,
            c,
            update((overlap, rate, rate, 1.0), c, h) if needs_update(overlap, rate, c, h) else h,
        )

    def losses(overlap, rate, c, h):
        """Return the powers of the viscous force and of the clamp at an overlap.

        The contact has passed this overlap within a step.
        """
        full, spring = passed(overlap, rate, c, h), passed(overlap, 0.0, c, h)
        free = passed(overlap, rate, lowest_set(c, (-math.inf,)), h) if LOWEST >= 0 else full
        return rate * (free - spring), rate * (full - free)

    def inside(jump_overlap, d, before, r, acceleration, dt, last, push, c, h):
        if not (crossed(jump_overlap, d, before) and (KINKS or jump(jump_overlap, r, c, h) != 0.0)):
            return NO_LEAP, NO_LEAP, 0.0, 0.0
        closing = 1.0 if d > before else -1.0
        near, far = jump_overlap * (1.0 - closing * ASIDE), jump_overlap * (1.0 + closing * ASIDE)
        # theta is the fraction of the step after the jump. On the parabola of the step, d - theta
        # dt r + (theta dt)^2 acceleration/2 is the overlap of the jump, and `before` for theta = 1.
        # Without a rate, a straight line replaces the parabola.
        slowest = r + closing * math.sqrt(max(r * r - 2.0 * (d - jump_overlap) * acceleration, 0.0))
        behind = min(2.0 * (d - jump_overlap) / (dt * slowest), 1.0) if slowest != 0.0 else 0.0
        # rate at the jump, without the change of the force since the previous step
        rate = r - behind * dt * acceleration
        near_force = passed(near, rate, c, h)
        if RATE:
            middle = passed(0.5 * (before + near), rate, c, h)
            # Simpson's mean, because a damping may rise by orders of magnitude within a step
            grown = (4.0 * middle + near_force - 5.0 * last) / 6.0
            rate -= (1.0 - behind) * dt * push * grown
            near_force = passed(near, rate, c, h)
            # curvature of the path at the jump
            acceleration -= push * (near_force - last)
        far_force = passed(far, rate, c, h)
        if KINKS:
            return (True, behind, near_force, far_force, 0.0, 0.0), NO_LEAP, 0.0, 0.0
        acceleration_after = acceleration - push * (far_force - near_force)
        probe_time = PROBE_FRACTION * dt
        # states shortly before and after the jump
        d_before, r_before = near - probe_time * rate, rate - probe_time * acceleration
        d_after, r_after = far + probe_time * rate, rate + probe_time * acceleration_after
        growth_after, growth_before = (
            passed(d_after, r_after, c, h) - far_force,
            near_force - passed(d_before, r_before, c, h),
        )
        growth = (growth_after - growth_before) / probe_time
        kicked = (True, behind, near_force, far_force, 1.0, growth)
        # A body that has just passed the jump returns to it after the time -2
        # rate/acceleration_after.
        back = behind + 2.0 * rate / (dt * acceleration_after) if acceleration_after != 0.0 else 0.0
        second_crossing = NO_LEAP
        if RATE and not HISTORY and 0.0 < back < behind:
            second_crossing = (
                True, back, passed(far, -rate, c, h), passed(near, -rate, c, h), 1.0, -growth,
            )  # fmt: skip
        viscous = clamp = 0.0
        if LEDGER:
            # The powers of the parts jump, too. They are integrated like the force (see
            # `moved_by_jump`).
            weight, growing = (
                dt * (behind - 0.5),
                dt * dt * (0.5 * behind * (behind - 1.0) + 1.0 / 12.0) / probe_time,
            )
            for overlap, speed, share in (
                (far, rate, weight - growing),
                (d_after, r_after, growing),
                (near, rate, -weight - growing),
                (d_before, r_before, growing),
            ):
                damped, clamped = losses(overlap, speed, c, h)
                viscous += share * damped
                clamp += share * clamped
        return kicked, second_crossing, viscous, clamp

    return inside
