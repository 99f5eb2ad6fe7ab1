"""Drag on bodies: a force -gamma m v on each body, and the energy that it dissipates.

If the force uses the velocity at the step, v_n = v_{n-1/2} + dt/2 a_n, the acceleration is

    a_n = (F_n/m - gamma v_{n-1/2})/(1 + gamma dt/2).

This is the trapezoidal rule: second order, and stable at any gamma dt. Drag does not change the
limit of the time step: with z = -1 in u_n = z^n, where the scheme becomes unstable, the terms of
gamma on the two sides cancel.
"""

from __future__ import annotations

from granchain.jit.options import shared


@shared
def kick_with_drag(bodies, force, time, half_dt, back, n):
    """Apply forces and drag to half-step velocities; return the drag power [W].

    `time` is the duration of the kick, and `half_dt` is the time since the given velocities (0 at
    the first step). The power belongs to this step, `back` before the new velocities.
    """
    v, a, drag = bodies.v, bodies.a, bodies.drag
    left = power = 0.0
    for k in range(n):
        f = force[k]
        a[k] = (bodies.inverse_mass[k] * (left - f + bodies.loads[k]) - drag[k] * v[k]) / (
            1.0 + half_dt * drag[k]
        )
        v[k] += time * a[k]
        velocity = v[k] - back * a[k]
        power += drag[k] * bodies.mass[k] * velocity * velocity
        left = f
    return power
