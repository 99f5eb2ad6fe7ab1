"""The energy ledger of a run: what the bodies have, what the contacts store, what is lost and
where, what came from outside."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from granchain.contact.model import Functions
from granchain.engine.contact_step import Features, dissipated, overlap_of, past_rate
from granchain.jit.accessors import gatherer
from granchain.jit.options import rows, shared


def added(total, rest, value):
    """A running sum and the rest that its rounding leaves out, with one value more (Neumaier
    1974, doi:10.1002/zamm.19740540106)."""
    more = total + value
    return more, rest + (
        (total - more) + value if abs(total) >= abs(value) else (value - more) + total
    )


@cache
def dissipation(CLAMPS: bool) -> Callable:
    """Sweep that adds a step's viscous and clamp work: force times the mean full-step rate
    times the step."""

    @shared
    @rows
    def dissipate(v, a, dt, scale, back, force, elastic, clamp, viscous_work, clamp_work, n):
        for k in range(n):
            r = past_rate(v[k] - v[k + 1], a[k] - a[k + 1], back)
            viscous_work[k] += dissipated(scale * dt, r, force[k], elastic[k], clamp[k])
            if CLAMPS:
                clamp_work[k] += scale * dt * r * clamp[k]

    return dissipate


def accounting(law: Functions, features: Features) -> Callable:
    """Function that adds up the ledger at a step."""
    energy, plastic, LEDGER = law.energy, law.plastic, features.ledger
    coefficients_at, history_at = gatherer(features.n_coefficients), gatherer(features.n_history)

    def account(row, half, back, drive_work, n):
        """The energies in the order of fields.ENERGY; `half` is the part of the step's work
        that belongs to this entry, as a time."""
        bodies, contacts = row.bodies, row.contacts
        u, v, a = bodies.u, bodies.v, bodies.a
        viscous_work, viscous_total, viscous_rest = (
            contacts.viscous_work,
            contacts.viscous_total,
            contacts.viscous_rest,
        )
        clamp_work, clamp_total, clamp_rest = (
            contacts.clamp_work,
            contacts.clamp_total,
            contacts.clamp_rest,
        )
        kinetic = recoverable = dented = viscous = clamping = gravity = precompression = 0.0
        for k in range(n):
            velocity = v[k] - back * a[k]
            kinetic += 0.5 * bodies.mass[k] * velocity * velocity
            gravity += bodies.weight[k] * u[k]
            precompression += (bodies.steady[k] - bodies.weight[k]) * u[k]
            ck, hk = coefficients_at(row.c, k), history_at(row.h, k)
            recoverable += energy(overlap_of(u[k], u[k + 1], contacts.start[k]), ck, hk)
            dented += plastic(ck, hk) + contacts.lost[k]
            if LEDGER:
                r = past_rate(v[k] - v[k + 1], a[k] - a[k + 1], back)
                viscous_total[k], viscous_rest[k] = added(
                    viscous_total[k], viscous_rest[k], viscous_work[k]
                )
                clamp_total[k], clamp_rest[k] = added(clamp_total[k], clamp_rest[k], clamp_work[k])
                viscous_work[k] = clamp_work[k] = 0.0
                viscous += (
                    viscous_total[k]
                    + viscous_rest[k]
                    + dissipated(half, r, contacts.force[k], contacts.elastic[k], contacts.clamp[k])
                )
                clamping += clamp_total[k] + clamp_rest[k] + half * r * contacts.clamp[k]
        external = gravity + precompression + drive_work
        return (
            kinetic,
            recoverable,
            dented,
            viscous,
            clamping,
            external,
            gravity,
            precompression,
            drive_work,
        )

    return account
