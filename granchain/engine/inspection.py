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
    ELEMENTS = step.features.elements

    @hot
    def inspect(row, clock):
        contacts, inverse_mass, n = row.contacts, row.bodies.inverse_mass, clock.n_bodies + 1
        lost = lost_body(row.bodies, n + 1)
        if lost >= 0:
            clock.where = lost
            return NOT_FINITE
        k_left = c_left = 0.0
        allowed = math.inf
        status = RUNNING
        j = 0
        for k in range(n):
            ck = coefficients_at(row.c, k)
            beyond_law = contacts.reach[k] > overlap_limit(ck)
            if beyond_law or contacts.reach[k] > contacts.limit[k]:
                clock.where = k
                return OUTSIDE_LAW if beyond_law else BEYOND_RADIUS
            d, half, _ = motion_of(row, k)
            stiffness, damping = slopes(d, half, ck, history_at(row.h, k))
            # Gershgorin: a contact with a bead counts twice, with a wall once
            k_right, c_right = contacts.endwise[k] * stiffness, contacts.endwise[k] * damping
            omega2 = inverse_mass[k] * (k_left + k_right)
            gamma = inverse_mass[k] * (c_left + c_right)
            if ELEMENTS:
                own = row.elements
                while own.body[j] == k:
                    omega2 += own.stiffness[j] * (inverse_mass[k] + own.inverse_mass[j])
                    j += 1
            if omega2 > 0.0:
                limit = 2.0 / (gamma + math.sqrt(gamma * gamma + omega2))
                if limit < allowed:
                    allowed = limit
                    if limit < clock.dt:
                        clock.where = k
                        status = UNSTABLE
            k_left, c_left = k_right, c_right
        if allowed < clock.allowed_step:
            clock.allowed_step = allowed
        lost = lost_contact(row, n) if status == RUNNING else -1
        if lost >= 0:
            clock.where = lost
            return NOT_FINITE
        return status

    return inspect


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
