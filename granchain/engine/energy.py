"""Energy balance of a run, and the check of the state at the end of a block.

The balance contains the energy of the bodies, the energy stored in the contacts, losses by cause,
and work supplied from outside. The check covers finite values, overlaps within the radius and the
range of the law, and a stable time step.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from granchain.engine.contact_step import ContactStep, dissipated, overlap_of, past_rate
from granchain.engine.fields import motion_of
from granchain.jit.compile import hot, rows, shared
from granchain.status import Status


def added(total, remainder, value):
    """Add a value to a compensated sum; return the sum and its rounding remainder.

    Source: Neumaier 1974, doi:10.1002/zamm.19740540106.
    """
    more = total + value
    return more, remainder + (
        (total - more) + value if abs(total) >= abs(value) else (value - more) + total
    )


@rows
def dissipate(v, a, dt, scale, back, force, elastic, clamp, viscous_work, clamp_work, n):
    """Add the viscous and clamp work of a step.

    It is the product of force, mean full-step rate, and step.
    """
    for k in range(n):
        r = past_rate(v[k] - v[k + 1], a[k] - a[k + 1], back)
        viscous_work[k] += dissipated(scale * dt, r, force[k], elastic[k], clamp[k])
        clamp_work[k] += scale * dt * r * clamp[k]


def stores(step: ContactStep) -> Callable:
    """Return a function that sums stored energy and yielding losses of contacts."""
    energy, plastic = step.law.energy, step.law.plastic
    coefficients_at, history_at = step.coefficients_at, step.history_at

    @hot
    def stored(row, n):
        u, start, lost = row.bodies.u, row.contacts.start, row.contacts.lost
        recoverable = dented = 0.0
        for k in range(n):
            ck, hk = coefficients_at(row.c, k), history_at(row.h, k)
            recoverable += energy(overlap_of(u[k], u[k + 1], start[k]), ck, hk)
            dented += plastic(ck, hk) + lost[k]
        return recoverable, dented

    return stored


def account(row, half, back, drive_work, contacts_energy, elements_energy, n, ledger):
    """Return the energies in the order of `recording.ENERGY`.

    `half` is the part of the step's time whose work belongs to this entry.
    """
    bodies, contacts = row.bodies, row.contacts
    u, v, a = bodies.u, bodies.v, bodies.a
    viscous_total, viscous_rest = contacts.viscous_total, contacts.viscous_rest
    clamp_total, clamp_rest = contacts.clamp_total, contacts.clamp_rest
    kinetic = viscous = clamping = gravity = precompression = 0.0
    for k in range(n):
        velocity = v[k] - back * a[k]
        kinetic += 0.5 * bodies.mass[k] * velocity * velocity
        gravity += bodies.weight[k] * u[k]
        precompression += (bodies.steady[k] - bodies.weight[k]) * u[k]
        if ledger:
            r = past_rate(v[k] - v[k + 1], a[k] - a[k + 1], back)
            viscous_total[k], viscous_rest[k] = added(
                viscous_total[k], viscous_rest[k], contacts.viscous_work[k]
            )
            clamp_total[k], clamp_rest[k] = added(
                clamp_total[k], clamp_rest[k], contacts.clamp_work[k]
            )
            contacts.viscous_work[k] = contacts.clamp_work[k] = 0.0
            viscous += (
                viscous_total[k]
                + viscous_rest[k]
                + dissipated(half, r, contacts.force[k], contacts.elastic[k], contacts.clamp[k])
            )
            clamping += clamp_total[k] + clamp_rest[k] + half * r * contacts.clamp[k]
    recoverable, dented = contacts_energy
    attached, springs, dashpots, radiated = elements_energy
    kinetic += attached
    external = gravity + precompression + drive_work
    outside = external, gravity, precompression, drive_work
    return kinetic, recoverable, dented, viscous, clamping, springs, dashpots, *outside, radiated


# --------------------------------------------------------------------------------------------------
# Check of the state at the end of a block.

RUNNING, COMPLETE = int(Status.RUNNING), int(Status.COMPLETE)
NOT_FINITE = int(Status.NOT_FINITE)
BEYOND_RADIUS = int(Status.BEYOND_RADIUS)
OUTSIDE_LAW = int(Status.OUTSIDE_LAW)
UNSTABLE = int(Status.UNSTABLE)


def inspection(step: ContactStep) -> Callable:
    """Return a function (row, clock) -> status.

    The function writes the allowed time step into the clock.
    """
    overlap_limit, slopes = step.law.overlap_limit, step.slopes
    coefficients_at, history_at = step.coefficients_at, step.history_at
    ELEMENTS, ENDS = step.features.elements, step.features.ends

    @hot
    def inspect(row, clock):
        contacts, inverse_mass, n = row.contacts, row.bodies.inverse_mass, clock.n_bodies + 1
        for i in range(n + 1):
            if not math.isfinite(row.bodies.u[i] + row.bodies.v[i]):
                clock.where = i
                return NOT_FINITE
        k_left = c_left = 0.0
        allowed = math.inf
        j = 0
        for k in range(n):
            ck = coefficients_at(row.c, k)
            beyond_law = contacts.largest_overlap[k] > overlap_limit(ck)
            if beyond_law or contacts.largest_overlap[k] > contacts.limit[k]:
                clock.where = k
                return OUTSIDE_LAW if beyond_law else BEYOND_RADIUS
            d, half, _ = motion_of(row, k)
            stiffness, damping = slopes(d, half, ck, history_at(row.h, k))
            # Gershgorin: a contact with a body counts twice, with a fixed wall once
            k_right, c_right = contacts.endwise[k] * stiffness, contacts.endwise[k] * damping
            omega2 = inverse_mass[k] * (k_left + k_right)
            gamma = inverse_mass[k] * (c_left + c_right)
            if ELEMENTS:
                elements = row.elements
                while elements.body[j] == k and k > 0:
                    omega2 += elements.stiffness[j] * (inverse_mass[k] + elements.inverse_mass[j])
                    j += 1
            if ENDS and k == 0:
                omega2 += stiffest_mode(row.elements, k)
            allowed = allowed_at(clock, k, omega2, gamma, allowed)
            k_left, c_left = k_right, c_right
        if ENDS:
            omega2 = inverse_mass[n] * k_left + stiffest_mode(row.elements, n)
            allowed = allowed_at(clock, n, omega2, inverse_mass[n] * c_left, allowed)
        status = UNSTABLE if allowed < clock.dt else RUNNING
        if allowed < clock.allowed_step:
            clock.allowed_step = allowed
        lost = lost_contact(row, n) if status == RUNNING else -1
        if lost >= 0:
            clock.where = lost
            return NOT_FINITE
        return status

    return inspect


def allowed_at(clock, k, omega2, gamma, allowed):
    """Return the smaller of a step and the limit at body k; record the body if it is exceeded."""
    if omega2 > 0.0:
        limit = 2.0 / (gamma + math.sqrt(gamma * gamma + omega2))
        if limit < allowed:
            allowed = limit
            if limit < clock.dt:
                clock.where = k
    return allowed


@shared
def stiffest_mode(elements, wall):
    """Return the largest omega^2 of the modes of a compliant end [1/s2]."""
    largest = 0.0
    for j in range(elements.body.size):
        if elements.body[j] == wall:
            largest = max(largest, elements.stiffness[j] * elements.inverse_mass[j])
    return largest


@shared
def lost_contact(row, n):
    """Return the first contact with a nan that its force does not show, or -1.

    A force with comparisons may hide a nan.
    """
    contacts = row.contacts
    for k in range(n):
        works = contacts.viscous_work[k] + contacts.viscous_total[k]
        works += contacts.clamp_work[k] + contacts.clamp_total[k]
        lost = not math.isfinite(row.bodies.a[k] + works)
        for quantity in range(row.h.shape[0]):
            lost |= math.isnan(row.h[quantity, k])
        if lost:
            return k
    return -1
