"""Linear elements: springs and dashpots between bodies and the ground or attached masses.

An element j of a body of mass m has a stiffness k_j, a damping c_j, and an attached mass m_j with
the displacement w_j from rest. With the force F of contacts and loads on the body,

    m a = F - sum P_j,    m_j a_j = P_j,    P_j = k_j (u - w_j) + c_j (v - w_j').

The ground is an attached mass without motion, 1/m_j = 0. Every dashpot uses the velocities at the
step, v_n = v_{n-1/2} + h a_n, h = dt/2. With P_j at the half-step velocities instead, and
s_j = 1/(1 + h c_j/m_j), the accelerations are

    a_j = s_j (P_j + h c_j a)/m_j,    a (m + h sum s_j c_j) = F - sum s_j P_j.

This is the trapezoidal rule: second order, and stable at any damping. The dashpots do not change
the limit of the time step: with z = -1 in u_n = z^n, where the scheme becomes unstable, the terms
of a dashpot on the two sides cancel. The elements of compliant ends move in granchain.engine.ends.
"""

from __future__ import annotations

from granchain.engine.chain_sweep import drift
from granchain.engine.energy import added
from granchain.jit.compile import shared


@shared
def kick_with_elements(row, clock, time, half_dt, back, n):
    """Apply the forces of contacts, loads, and elements; return the power of the dashpots [W].

    `time` is the duration of the kick, and `half_dt` is the time since the given half-step
    velocities (0 at the first step). The power belongs to this step, `back` before the new ones.
    """
    bodies, elements, force = row.bodies, row.elements, row.contacts.force
    u, v, a = bodies.u, bodies.v, bodies.a
    force_left, power, first = force[0], 0.0, 0
    for k in range(1, min(n, clock.n_bodies + 1)):
        f, response, after = force[k], 1.0, first
        push = force_left - f + bodies.loads[k]
        while elements.body[after] == k:
            pull = elements.stiffness[after] * (u[k] - elements.u[after])
            pull += elements.damping[after] * (v[k] - elements.v[after])
            if half_dt > 0.0:
                pull, response = elements.share[after] * pull, elements.response[after]
            # acceleration of the attached mass without the term of the body's acceleration, which
            # is unknown here
            elements.a[after] = elements.inverse_mass[after] * pull
            push -= pull
            after += 1
        a[k] = bodies.inverse_mass[k] * push * response
        v[k] += time * a[k]
        velocity = v[k] - back * a[k]
        for j in range(first, after):
            slip = velocity
            if elements.mass[j] > 0.0:
                dashpot = half_dt * elements.damping[j] * elements.share[j]
                elements.a[j] += dashpot * elements.inverse_mass[j] * a[k]
                elements.v[j] += time * elements.a[j]
                slip -= elements.v[j] - back * elements.a[j]
            power += elements.damping[j] * slip * slip
        first, force_left = after, f
    return power


@shared
def complete_elements(row, clock, records, power, radiated, snapshot_due, energy_due):
    """Complete a step of the elements after the kicks, before the bodies drift.

    Sum the work of the dashpots, of which compliant ends have the power `radiated` [W], store the
    snapshot, and drift the attached masses. Return the kinetic energy of the attached masses, the
    energy of the springs, the energy that the dashpots have taken, and the part of it that
    compliant ends have taken [J], for an entry of the energy balance.
    """
    bodies, elements, step, dt = row.bodies, row.elements, clock.step, clock.dt
    back, half = 0.5 * dt if step < clock.n_steps else 0.0, 0.5 * dt if step > 0 else 0.0
    time = dt if 0 < step < clock.n_steps else 0.5 * dt
    lost = clock.elements_work + clock.elements_rest + half * power
    at_ends = clock.ends_work + clock.ends_rest + half * radiated
    clock.elements_work, clock.elements_rest = added(
        clock.elements_work, clock.elements_rest, time * power
    )
    clock.ends_work, clock.ends_rest = added(clock.ends_work, clock.ends_rest, time * radiated)
    kinetic = stored = 0.0
    j = attached = 0
    while (energy_due or snapshot_due) and elements.body[j] >= 0.0:
        k = int(elements.body[j])
        velocity, stretch = elements.v[j] - back * elements.a[j], -elements.u[j]
        stretch += bodies.u[k] if 0 < k <= clock.n_bodies else 0.0
        kinetic += 0.5 * elements.mass[j] * velocity * velocity
        stored += (0.5 * elements.stiffness[j] * stretch + elements.load[j]) * stretch
        if elements.mass[j] > 0.0:
            if snapshot_due:
                records.attached_displacement[clock.snapshot, attached] = elements.u[j]
                records.attached_velocity[clock.snapshot, attached] = velocity
            attached += 1
        j += 1
    if step < clock.n_steps:
        drift(elements.u, elements.v, dt, elements.u.size)
    return kinetic, stored, lost, at_ends
