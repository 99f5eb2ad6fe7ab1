"""Energy balance of a run: energy of the bodies, energy stored in the contacts, losses by cause,
and work supplied from outside."""

from __future__ import annotations

from collections.abc import Callable

from granchain.engine.contact_step import ContactStep, dissipated, overlap_of, past_rate
from granchain.jit.options import hot, rows


def added(total, rest, value):
    """Add a value to a compensated sum; return the sum and its rounding remainder.

    Source: Neumaier 1974, doi:10.1002/zamm.19740540106.
    """
    more = total + value
    return more, rest + (
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
    """Return the energies in the order of `fields.ENERGY`.

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
