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

from granchain.engine.ledger import added
from granchain.jit.options import shared


@shared
def kick_with_elements(row, clock, time, half_dt, n):
    """Apply the forces of contacts, loads, and elements to half-step velocities.

    `time` is the duration of the kick, and `half_dt` is the time since the given velocities (0 at
    the first step).
    """
    bodies, own, force = row.bodies, row.elements, row.contacts.force
    u, v, a = bodies.u, bodies.v, bodies.a
    left, first = force[0], 0
    for k in range(1, min(n, clock.n_bodies + 1)):
        f, inverse, inertia, after = force[k], bodies.inverse_mass[k], 1.0, first
        push = left - f + bodies.loads[k]
        while own.body[after] == k:
            c, light = own.damping[after], own.inverse_mass[after]
            share = 1.0 / (1.0 + half_dt * c * light)
            pull = share * (
                own.stiffness[after] * (u[k] - own.u[after]) + c * (v[k] - own.v[after])
            )
            # acceleration of the attached mass without that of the body, which is not known yet
            own.a[after] = light * pull
            push -= pull
            inertia += inverse * half_dt * share * c
            after += 1
        a[k] = inverse * push / inertia
        v[k] += time * a[k]
        for j in range(first, after):
            c, light = own.damping[j], own.inverse_mass[j]
            own.a[j] += half_dt * c * light / (1.0 + half_dt * c * light) * a[k]
            own.v[j] += time * own.a[j]
        first, left = after, f


@shared
def complete_elements(row, clock, records, snapshot_due):
    """Complete a step of the elements after the kicks, before the bodies drift.

    Sum the work of the dashpots, store the snapshot, and drift the attached masses. Return the
    kinetic energy of the attached masses, the energy of the springs, the energy that the dashpots
    have taken, and the part of it that compliant ends have taken [J].
    """
    bodies, own = row.bodies, row.elements
    step, dt, n_steps = clock.step, clock.dt, clock.n_steps
    back, half = 0.5 * dt if step < n_steps else 0.0, 0.5 * dt if step > 0 else 0.0
    time = dt if 0 < step < n_steps else 0.5 * dt
    kinetic = stored = lost = radiated = 0.0
    j = attached = 0
    while own.body[j] >= 0.0:
        k = int(own.body[j])
        is_end = k == 0 or k > clock.n_bodies
        velocity, stretch = own.v[j] - back * own.a[j], -own.u[j]
        slip = -velocity
        if not is_end:
            stretch += bodies.u[k]
            slip += bodies.v[k] - back * bodies.a[k]
        power = own.damping[j] * slip * slip
        if is_end and own.mass[j] == 0.0:
            # the force of the kick, so that the energy balance closes at an onset
            power = -row.contacts.force[0] if k == 0 else row.contacts.force[k - 1]
            power *= velocity
        kinetic += 0.5 * own.mass[j] * velocity * velocity
        stored += (0.5 * own.stiffness[j] * stretch + own.load[j]) * stretch
        taken = own.work[j] + own.rest[j] + half * power
        lost += taken
        radiated += taken if is_end else 0.0
        own.work[j], own.rest[j] = added(own.work[j], own.rest[j], time * power)
        if own.mass[j] > 0.0:
            if snapshot_due:
                records.attached_displacement[clock.snapshot, attached] = own.u[j]
                records.attached_velocity[clock.snapshot, attached] = velocity
            attached += 1
            if step < n_steps:
                own.u[j] += dt * own.v[j]
        j += 1
    return kinetic, stored, lost, radiated
