"""Check of the state at the end of a block: finite values, overlaps within the radius and the
range of the law, and a stable time step."""

from __future__ import annotations

import math
from collections.abc import Callable

from granchain.engine.contact_step import ContactStep
from granchain.engine.fields import motion_of
from granchain.jit.options import hot, shared
from granchain.status import Status

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
        lost = lost_body(row.bodies, n + 1)
        if lost >= 0:
            clock.where = lost
            return NOT_FINITE
        k_left = c_left = 0.0
        allowed = math.inf
        j = 0
        for k in range(n):
            ck = coefficients_at(row.c, k)
            beyond_law = contacts.reach[k] > overlap_limit(ck)
            if beyond_law or contacts.reach[k] > contacts.limit[k]:
                clock.where = k
                return OUTSIDE_LAW if beyond_law else BEYOND_RADIUS
            d, half, _ = motion_of(row, k)
            stiffness, damping = slopes(d, half, ck, history_at(row.h, k))
            # Gershgorin: a contact with a body counts twice, with a fixed wall once
            k_right, c_right = contacts.endwise[k] * stiffness, contacts.endwise[k] * damping
            omega2 = inverse_mass[k] * (k_left + k_right)
            gamma = inverse_mass[k] * (c_left + c_right)
            if ELEMENTS:
                own = row.elements
                while own.body[j] == k and k > 0:
                    omega2 += own.stiffness[j] * (inverse_mass[k] + own.inverse_mass[j])
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
    """Return the smaller of a step and the limit at body k, which is noted if it is exceeded."""
    if omega2 > 0.0:
        limit = 2.0 / (gamma + math.sqrt(gamma * gamma + omega2))
        if limit < allowed:
            allowed = limit
            if limit < clock.dt:
                clock.where = k
    return allowed


@shared
def stiffest_mode(own, wall):
    """Return the largest omega^2 of the modes of a compliant end [1/s2]."""
    largest = 0.0
    j = 0
    while own.body[j] >= 0.0:
        if own.body[j] == wall:
            largest = max(largest, own.stiffness[j] * own.inverse_mass[j])
        j += 1
    return largest


def lost_body(bodies, n):
    """Return the first body whose displacement or velocity is not finite, or -1."""
    for i in range(n):
        if not math.isfinite(bodies.u[i] + bodies.v[i]):
            return i
    return -1


@shared
def lost_contact(row, n):
    """Return the first contact with a nan that its force does not show, or -1.

    A force with comparisons may hide a nan.
    """
    for k in range(n):
        for quantity in range(row.h.shape[0]):
            if math.isnan(row.h[quantity, k]):
                return k
    contacts = row.contacts
    for k in range(n):
        if not math.isfinite(row.bodies.a[k]):
            return k
    for k in range(n):
        works = (
            contacts.viscous_work[k]
            + contacts.viscous_total[k]
            + contacts.clamp_work[k]
            + contacts.clamp_total[k]
        )
        if not math.isfinite(works):
            return k
    return -1
