"""A look at the state at the end of a block: finite, within the radius, within the law, stable
at this step."""

from __future__ import annotations

import math
from collections.abc import Callable

from granchain.contact.model import Functions
from granchain.engine.contact_step import ContactStep, Features, overlap_of
from granchain.jit.accessors import gatherer
from granchain.jit.options import hot, shared
from granchain.status import Status

RUNNING, COMPLETE = int(Status.RUNNING), int(Status.COMPLETE)
NOT_FINITE = int(Status.NOT_FINITE)
BEYOND_RADIUS = int(Status.BEYOND_RADIUS)
OUTSIDE_LAW = int(Status.OUTSIDE_LAW)
UNSTABLE = int(Status.UNSTABLE)


def inspection(law: Functions, step: ContactStep, features: Features) -> Callable:
    """Function (row, clock) -> status; the step that the state allows goes into the clock."""
    overlap_limit, slopes = law.overlap_limit, step.slopes
    coefficients_at, history_at = gatherer(features.n_coefficients), gatherer(features.n_history)

    def inspect(row, clock):
        status = limits_passed(row, clock)
        if status == RUNNING:
            k = not_finite(row, clock.n_bodies + 1)
            if k >= 0:
                clock.where = k
                return NOT_FINITE
        return status

    @hot
    def limits_passed(row, clock):
        u, v, contacts = row.bodies.u, row.bodies.v, row.contacts
        dt, n = clock.dt, clock.n_bodies + 1
        for i in range(n + 1):
            if not math.isfinite(u[i] + v[i]):
                clock.where = i
                return NOT_FINITE
        k_left = c_left = 0.0
        allowed = math.inf
        status = RUNNING
        for k in range(n):
            ck = coefficients_at(row.c, k)
            if contacts.reach[k] > overlap_limit(ck):
                clock.where = k
                return OUTSIDE_LAW
            if contacts.reach[k] > contacts.limit[k]:
                clock.where = k
                return BEYOND_RADIUS
            d = overlap_of(u[k], u[k + 1], contacts.start[k])
            stiffness, damping = slopes(d, v[k] - v[k + 1], ck, history_at(row.h, k))
            # Gershgorin: a contact with a bead counts twice, with a wall once
            k_right, c_right = contacts.endwise[k] * stiffness, contacts.endwise[k] * damping
            omega2 = row.bodies.inverse_mass[k] * (k_left + k_right)
            gamma = row.bodies.inverse_mass[k] * (c_left + c_right)
            if omega2 > 0.0:
                limit = 2.0 / (gamma + math.sqrt(gamma * gamma + omega2))
                if limit < allowed:
                    allowed = limit
                    if limit < dt:
                        clock.where = k
                        status = UNSTABLE
            k_left, c_left = k_right, c_right
        if allowed < clock.allowed_step:
            clock.allowed_step = allowed
        return status

    return inspect


@shared
def not_finite(row, n):
    """The first contact with a number that is none where no force shows it, or -1: a force that
    compares hides what it is given."""
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
