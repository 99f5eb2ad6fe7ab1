"""On-site springs and resonators, each with a dashpot.

The forces on a body of mass m are: the force F of contacts and loads, drag at the rate g, an
on-site spring k and dashpot c, and resonators (m_j, k_j, c_j) with displacements w_j from rest:

    m a = F - g m v - k u - c v - sum m_j a_j,    m_j a_j = k_j (u - w_j) + c_j (v - w_j').

Every dashpot uses the velocities at the step, v_n = v_{n-1/2} + h a_n, h = dt/2. Solved for the
accelerations, with P_j = k_j (u - w_j) + c_j (v - w_j') at the half-step velocities,

    a_j = (P_j + h c_j a)/(m_j + h c_j),
    a (m + h g m + h c + sum h c_j s_j) = F - g m v - k u - c v - sum s_j P_j,

s_j = m_j/(m_j + h c_j). This is the trapezoidal rule of second order, and the force on a resonator
is opposite to the force on its bead. Like drag, the dashpots do not change the limit of the time
step.
"""

from __future__ import annotations

from granchain.engine.ledger import added
from granchain.engine.row import drift
from granchain.jit.options import shared


@shared
def kick_on_sites(row, force, time, half_dt, back, n):
    """Update velocities of bodies and resonators; return the drag power [W].

    The arguments are those of `kick_with_drag`. The powers of the dashpots are stored in the
    tables.
    """
    bodies, sites, own = row.bodies, row.sites, row.resonators
    u, v, a = bodies.u, bodies.v, bodies.a
    left = dragged = 0.0
    first = 0
    for k in range(n):
        f, c, inverse, drag = force[k], sites.damping[k], bodies.inverse_mass[k], bodies.drag[k]
        push = left - f + bodies.loads[k] - sites.stiffness[k] * u[k] - c * v[k]
        inertia = 1.0 + half_dt * (drag + inverse * c)
        after = first
        while own.body[after] == k:
            m, c = own.mass[after], own.damping[after]
            pull = own.stiffness[after] * (u[k] - own.u[after]) + c * (v[k] - own.v[after])
            # acceleration of the resonator without that of the bead, which is not known yet
            own.a[after] = pull / (m + half_dt * c)
            push -= m * own.a[after]
            inertia += inverse * half_dt * c * m / (m + half_dt * c)
            after += 1
        a[k] = (inverse * push - drag * v[k]) / inertia
        v[k] += time * a[k]
        velocity = v[k] - back * a[k]
        dragged += drag * bodies.mass[k] * velocity * velocity
        sites.power[k] = sites.damping[k] * velocity * velocity
        for j in range(first, after):
            m, c = own.mass[j], own.damping[j]
            own.a[j] += half_dt * c * a[k] / (m + half_dt * c)
            own.v[j] += time * own.a[j]
            slip = velocity - (own.v[j] - back * own.a[j])
            own.power[j] = c * slip * slip
        first = after
        left = f
    return dragged


@shared
def complete_sites(row, clock, records, snapshot_due, energy_due):
    """Complete a step of on-site springs and resonators after the kicks.

    This includes their energy balance and snapshot, and the drift of the resonators. It happens
    before the bodies drift.
    """
    bodies, sites, own = row.bodies, row.sites, row.resonators
    step, dt, n_steps = clock.step, clock.dt, clock.n_steps
    back, half = 0.5 * dt if step < n_steps else 0.0, 0.5 * dt if step > 0 else 0.0
    time = dt if 0 < step < n_steps else 0.5 * dt
    if energy_due:
        stored = lost = kinetic = stretched = absorbed = 0.0
        for k in range(clock.n_bodies + 1):
            stored += 0.5 * sites.stiffness[k] * bodies.u[k] * bodies.u[k]
            lost += sites.work[k] + sites.rest[k] + half * sites.power[k]
        for j in range(records.resonator_displacement.shape[1]):
            velocity = own.v[j] - back * own.a[j]
            stretch = bodies.u[int(own.body[j])] - own.u[j]
            kinetic += 0.5 * own.mass[j] * velocity * velocity
            stretched += 0.5 * own.stiffness[j] * stretch * stretch
            absorbed += own.work[j] + own.rest[j] + half * own.power[j]
        entry = stored, lost, kinetic, stretched, absorbed
        for i in range(len(entry)):
            records.site_energies[clock.entry, i] = entry[i]
    for k in range(clock.n_bodies + 1):
        sites.work[k], sites.rest[k] = added(sites.work[k], sites.rest[k], time * sites.power[k])
    for j in range(records.resonator_displacement.shape[1]):
        own.work[j], own.rest[j] = added(own.work[j], own.rest[j], time * own.power[j])
        if snapshot_due:
            records.resonator_displacement[clock.snapshot, j] = own.u[j]
            records.resonator_velocity[clock.snapshot, j] = own.v[j] - back * own.a[j]
    if step < n_steps:
        drift(own.u, own.v, dt, records.resonator_displacement.shape[1])
