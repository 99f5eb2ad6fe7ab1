"""The time loop of a mechanism: kick-drift-kick on its free coordinates, compiled for one contact
law.

The physics of a contact is that of the engine (granchain.engine.contact_step), as in a chain. Here
the overlap of a contact is a function of the coordinates and the crank pin position, and its force
acts on the coordinates through the derivatives of the overlap. The half-step rate of a contact is
the change of its overlap during the step; the rate at the step follows from the velocities
predicted for it. Friction acts with the force of the kick, so that the corrections with which the
engine keeps the order of convergence apply to it too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from granchain.contact.law import OPEN
from granchain.contact.model import Functions
from granchain.engine.contact_step import Features, contact_step, dissipated, moved_by_jump
from granchain.engine.energy import (
    BEYOND_RADIUS,
    COMPLETE,
    NOT_FINITE,
    OUTSIDE_LAW,
    RUNNING,
    UNSTABLE,
)
from granchain.jit.accessors import gatherer, store_rows
from granchain.jit.compile import compiled, hot
from granchain.mechanisms.linkages import Linkage, friction_fraction, pin_at


@hot
def rate_of(surface, v0, v1):
    """Return the overlap rate of a surface [m/s]."""
    return surface[1] * v0 + surface[2] * v1 + surface[3]


@hot
def slip_of(surface, v0, v1):
    """Return the slip speed of a surface [m/s]."""
    return surface[4] * v0 + surface[5] * v1 + surface[6]


@hot
def push_of(surface, friction, inverse_mass):
    """Return the decrease of the acceleration of the overlap per force of 1 N [1/kg]."""
    first = surface[1] * (surface[1] + friction * surface[4]) * inverse_mass[0]
    return first + surface[2] * (surface[2] + friction * surface[5]) * inverse_mass[1]


def correct_for_jump(surface, jump, friction, slip, coordinates, clock):
    """Correct the coordinates for a jump of the contact force; return whether there was one."""
    crossed, behind, before, after, moves, growth = jump
    if not crossed or moves == 0.0:
        return False
    force = after - before
    shift, kick = moved_by_jump(behind, clock.dt, force, growth)
    for i in range(2):
        along = (surface[1 + i] + friction * surface[4 + i]) * coordinates.inverse_mass[i]
        coordinates.q[i] -= along * shift
        coordinates.v[i] -= along * kick
        coordinates.a[i] -= along * force
    clock.friction += kick * friction * slip
    clock.external += kick * (surface[3] + friction * surface[6])
    return True


def contact_functions(law: Functions, features: Features) -> tuple[Callable, Callable]:
    """Return functions for the events of a contact, and for its force and friction."""
    RATE, LEDGER, JUMPS, FORGETS, ONSET = (
        features.rate,
        features.ledger,
        features.jumps,
        features.forgets,
        features.weight,
    )
    EVOLVES, step_of_contact = features.evolves, contact_step(law, features)
    jumps, evolve = law.jumps, law.evolve
    happened, event, force_terms, inside, read_as = (
        step_of_contact.happened,
        step_of_contact.event,
        step_of_contact.force_terms,
        step_of_contact.inside,
        step_of_contact.read_as,
    )
    coefficients_at, history_at = gatherer(features.n_coefficients), gatherer(features.n_history)

    def renew(k, surface, v0, v1, coordinates, contacts, c, h, clock, m):
        """Update the history of a contact with an event; return whether coordinates changed."""
        d, dt, started = surface[0], clock.dt, clock.step > 0
        r = rate_of(surface, v0, v1)
        before = contacts.overlap[k] if started else d
        half = (d - before) / dt if started else r
        ck, hk = coefficients_at(c, k), history_at(h, k)
        contacts.pending[k] = 0.0
        if EVOLVES:
            hk, lost = evolve(dt if started else 0.0, before, d, ck, hk)
            store_rows(h, k, hk)
            clock.viscous += lost
        if not happened(d, before, r if RATE else 0.0, ck, hk):
            return False
        last, recorded, viscous = contacts.force[k], contacts.recorded[k], 0.0
        if LEDGER:
            viscous = last - contacts.elastic[k] - contacts.clamp[k]
        renewed, kick, record, lost, work = event(
            d, half, r if RATE else half, contacts.rate[k], dt, last, viscous, ck, hk
        )
        store_rows(h, k, renewed)
        if FORGETS:
            contacts.lost[k] += lost
        clock.viscous += work
        clock.clamping -= work
        if ONSET >= 0 and kick != record:
            contacts.pending[k], contacts.force[k], contacts.recorded[k] = 1.0, kick, record
        relocated = False
        if JUMPS:
            slip = slip_of(surface, v0, v1)
            friction = friction_fraction(slip, m)
            push, hx = push_of(surface, friction, coordinates.inverse_mass), read_as(hk, renewed)
            bend = (r - half) / (0.5 * dt) if RATE and started else 0.0
            for jump_overlap in jumps(ck):
                crossing, second_crossing, damped, clamped = inside(
                    jump_overlap, d, before, r if RATE else half, bend, dt, recorded, push, ck, hx
                )
                relocated |= correct_for_jump(surface, crossing, friction, slip, coordinates, clock)
                relocated |= correct_for_jump(
                    surface, second_crossing, friction, slip, coordinates, clock
                )
                clock.viscous += damped
                clock.clamping += clamped
        return relocated

    @hot
    def act(k, surface, v0, v1, contacts, c, h, clock, m):
        """Compute force and friction of a contact."""
        d, rate = surface[0], rate_of(surface, v0, v1)
        f, still, lifted = force_terms(
            d, rate if RATE else 0.0, coefficients_at(c, k), history_at(h, k)
        )
        if contacts.pending[k] == 0.0:
            contacts.force[k] = contacts.recorded[k] = f
        contacts.elastic[k], contacts.clamp[k] = still, lifted
        clock.clamped += lifted > 0.0
        contacts.friction[k] = friction_fraction(slip_of(surface, v0, v1), m)
        contacts.overlap[k] = d
        recorded = contacts.recorded[k]
        contacts.peak[k] = recorded if recorded > contacts.peak[k] else contacts.peak[k]
        largest = contacts.largest_overlap
        largest[k] = d if d > largest[k] else largest[k]

    return renew, act


def balance_functions(
    law: Functions, features: Features, linkage: Linkage
) -> tuple[Callable, Callable, Callable]:
    """Return functions for the work in a time, the energy balance, and the samples."""
    LEDGER, N = features.ledger, linkage.n_surfaces
    slopes, energy, plastic = contact_step(law, features).slopes, law.energy, law.plastic
    kinetic, power, joint = linkage.energy, linkage.power, linkage.joint
    coefficients_at, history_at = gatherer(features.n_coefficients), gatherer(features.n_history)

    @hot
    def add_work(surfaces_now, w0, w1, coordinates, pin, time, contacts, clock, m):
        """Add the work of the current forces during a time."""
        q, a = coordinates.q, coordinates.a
        clock.external += time * power(q[0], q[1], w0, w1, a[0], a[1], pin, m)
        for k in range(N):
            surface, force, friction = surfaces_now[k], contacts.force[k], contacts.friction[k]
            rate = rate_of(surface, w0, w1)
            clock.external += time * force * (surface[3] + friction * surface[6])
            clock.friction += time * force * friction * slip_of(surface, w0, w1)
            if LEDGER:
                clock.viscous += dissipated(
                    time, rate, force, contacts.elastic[k], contacts.clamp[k]
                )
                clock.clamping += time * rate * contacts.clamp[k]

    def account(w0, w1, coordinates, pin, contacts, c, h, clock, entries, m):
        """Record an entry of the energy balance."""
        q, slot = coordinates.q, clock.entry
        recoverable = lost = 0.0
        for k in range(N):
            ck, hk = coefficients_at(c, k), history_at(h, k)
            recoverable += energy(contacts.overlap[k], ck, hk)
            lost += plastic(ck, hk) + contacts.lost[k]
        entries.step[slot] = clock.step
        entries.kinetic[slot] = kinetic(q[0], q[1], w0, w1, pin, m)
        entries.recoverable[slot], entries.plastic[slot] = recoverable, lost
        entries.viscous[slot], entries.clamp[slot] = clock.viscous, clock.clamping
        entries.friction[slot], entries.external[slot] = clock.friction, clock.external
        clock.entry = slot + 1

    def sample(surfaces_now, w, coordinates, pin, contacts, c, h, clock, samples, m):
        """Record the state, and the time step that it allows."""
        q, slot = coordinates.q, clock.sample
        deepest = total = 0.0
        # Accelerations from the recorded forces.
        acceleration = coordinates.a[0]
        for k in range(N):
            surface, d = surfaces_now[k], contacts.overlap[k]
            deepest = d if d > deepest else deepest
            total += contacts.recorded[k]
            excess = contacts.force[k] - contacts.recorded[k]
            acceleration += (
                coordinates.inverse_mass[0]
                * (surface[1] + contacts.friction[k] * surface[4])
                * excess
            )
            if d > OPEN:
                stiffness, damping = slopes(
                    d, rate_of(surface, w[0], w[1]), coefficients_at(c, k), history_at(h, k)
                )
                push = push_of(surface, 0.0, coordinates.inverse_mass)
                omega2, gamma = push * stiffness, push * damping
                if omega2 > 0.0:
                    allowed = 2.0 / (gamma + math.sqrt(gamma * gamma + omega2))
                    if allowed < clock.allowed_step:
                        clock.allowed_step, clock.where = allowed, k
        samples.step[slot] = clock.step
        (
            samples.slider_position[slot],
            samples.slider_velocity[slot],
            samples.slider_acceleration[slot],
        ) = q[0], w[0], acceleration
        samples.joint_x[slot], samples.joint_y[slot] = joint(q[0], q[1], pin, m)
        samples.penetration[slot], samples.contact_force[slot] = deepest, total
        clock.sample = slot + 1

    return add_work, account, sample


def failure_check(law: Functions, features: Features, n_surfaces: int) -> Callable:
    """Return a function that inspects the state for failures."""
    overlap_limit, coefficients_at = law.overlap_limit, gatherer(features.n_coefficients)

    def inspect(coordinates, contacts, c, h, clock):
        """Return the status of the state, and store the surface of a failure in the clock."""
        for i in range(2):
            if not math.isfinite(coordinates.q[i] + coordinates.v[i] + coordinates.a[i]):
                return NOT_FINITE
        for k in range(n_surfaces):
            if not contacts.largest_overlap[k] <= overlap_limit(coefficients_at(c, k)):
                clock.where = k
                return OUTSIDE_LAW
            if not contacts.largest_overlap[k] <= contacts.limit[k]:
                clock.where = k
                return BEYOND_RADIUS
            for quantity in range(h.shape[0]):
                if math.isnan(h[quantity, k]):
                    clock.where = k
                    return NOT_FINITE
        if not math.isfinite(clock.viscous + clock.clamping + clock.friction + clock.external):
            return NOT_FINITE
        return UNSTABLE if clock.allowed_step < clock.dt else RUNNING

    return inspect


@cache
def mechanism_loop(law: Functions, features: Features, linkage: Linkage) -> Callable:
    """Return the compiled time loop of a mechanism for the `frozen` functions of a law."""
    return compiled(plain_loop(law, features, linkage))


def plain_loop(law: Functions, features: Features, linkage: Linkage) -> Callable:
    """Return the time loop without compilation."""
    HISTORY, JUMPS, N = features.history, features.jumps, linkage.n_surfaces
    surfaces, applied = linkage.surfaces, linkage.applied
    renew, act = contact_functions(law, features)
    add_work, account, sample = balance_functions(law, features, linkage)
    inspect = failure_check(law, features, N)

    def loop(stop, m, coordinates, contacts, c, h, clock, samples, entries):
        """Advance to step `stop` and inspect the state; return the status."""
        q, v, a, inverse_mass = (
            coordinates.q,
            coordinates.v,
            coordinates.a,
            coordinates.inverse_mass,
        )
        dt, n_steps = clock.dt, clock.n_steps
        while clock.step < stop:
            step = clock.step
            pin = pin_at(step * dt, m)
            half_dt = 0.5 * dt if step > 0 else 0.0
            now = surfaces(q[0], q[1], pin, m)
            v0, v1 = v[0] + half_dt * a[0], v[1] + half_dt * a[1]
            if HISTORY or JUMPS:
                relocated = False
                for k in range(N):
                    relocated |= renew(k, now[k], v0, v1, coordinates, contacts, c, h, clock, m)
                if relocated:
                    now = surfaces(q[0], q[1], pin, m)
                    v0, v1 = v[0] + half_dt * a[0], v[1] + half_dt * a[1]
            f0, f1 = applied(q[0], q[1], pin, m)
            for k in range(N):
                act(k, now[k], v0, v1, contacts, c, h, clock, m)
                surface, force, friction = now[k], contacts.force[k], contacts.friction[k]
                f0 -= force * (surface[1] + friction * surface[4])
                f1 -= force * (surface[2] + friction * surface[5])
            scale = 0.5 if step == 0 or step == n_steps else 1.0
            back = 0.5 * dt if step < n_steps else 0.0
            a[0], a[1] = inverse_mass[0] * f0, inverse_mass[1] * f1
            v[0] += scale * dt * a[0]
            v[1] += scale * dt * a[1]
            # Velocities at the full step.
            w0, w1 = v[0] - back * a[0], v[1] - back * a[1]
            for k in range(N):
                contacts.rate[k] = rate_of(now[k], w0, w1)
            if step > 0:
                add_work(now, w0, w1, coordinates, pin, 0.5 * dt, contacts, clock, m)
            if step % clock.energy_stride == 0 or step == n_steps:
                account(w0, w1, coordinates, pin, contacts, c, h, clock, entries, m)
            if step % clock.stride == 0 or step == n_steps:
                sample(now, (w0, w1), coordinates, pin, contacts, c, h, clock, samples, m)
            if step < n_steps:
                add_work(now, w0, w1, coordinates, pin, 0.5 * dt, contacts, clock, m)
                q[0] += dt * v[0]
                q[1] += dt * v[1]
            clock.step = step + 1
        status = inspect(coordinates, contacts, c, h, clock)
        return COMPLETE if status == RUNNING and clock.step > n_steps else status

    return loop
