"""The chain in straightforward Numba code, for comparison with the engine.

Forces are added to an array that is zeroed in each step, with two additions per contact, `**1.5`,
and branches on the contact state inside the loop. Scheme and step are the engine's: kick-drift-kick
with half a kick at both ends and the rate predicted to the full step, so that the results agree.
"""

import math

from numba import njit


@njit
def hertz(n_steps, dt, mass, stiffness, u, v):  # type: ignore[no-untyped-def]
    """Advance displacements u [m] and velocities v [m/s] in place, with F = K d^1.5 [N]."""
    n = u.size
    force = mass * 0.0
    for step in range(n_steps + 1):
        for i in range(n):
            force[i] = 0.0
        for k in range(n - 1):
            d = u[k] - u[k + 1]
            if d > 0.0:
                f = stiffness * d**1.5
                force[k] -= f
                force[k + 1] += f
        for i in range(n):
            a = force[i] / mass[i]
            if step == 0 or step == n_steps:
                v[i] += 0.5 * dt * a
            else:
                v[i] += dt * a
            if step < n_steps:
                u[i] += dt * v[i]


@njit
def hysteresis(n_steps, dt, mass, stiffness, damping, u, v):  # type: ignore[no-untyped-def]
    """Advance with F = K d^1.5 (1 + damping rate), at least 0; the damping is a/v0 [s/m]."""
    n = u.size
    force, a = mass * 0.0, mass * 0.0
    for step in range(n_steps + 1):
        for i in range(n):
            force[i] = 0.0
        for k in range(n - 1):
            d = u[k] - u[k + 1]
            if d > 0.0:
                rate = (v[k] + 0.5 * dt * a[k]) - (v[k + 1] + 0.5 * dt * a[k + 1])
                f = stiffness * d**1.5 * (1.0 + damping * rate)
                if f < 0.0:
                    f = 0.0
                force[k] -= f
                force[k + 1] += f
        for i in range(n):
            a[i] = force[i] / mass[i]
            if step == 0 or step == n_steps:
                v[i] += 0.5 * dt * a[i]
            else:
                v[i] += dt * a[i]
            if step < n_steps:
                u[i] += dt * v[i]


@njit
def ma_liu(n_steps, dt, mass, radius, modulus, d_y, d_p, c1, c2, c3, f_p, k1, u, v):  # type: ignore[no-untyped-def]
    """Advance with Ma and Liu's law; the names are those in the file of the law.

    Loading depends on the contact state. Unloading uses a flattened radius, which depends on the
    largest overlap.
    """
    n = u.size
    force = mass * 0.0
    d_max, f_max = mass * 0.0, mass * 0.0
    for step in range(n_steps + 1):
        for i in range(n):
            force[i] = 0.0
        for k in range(n - 1):
            d = u[k] - u[k + 1]
            if d <= 0.0:
                continue
            if d > d_max[k]:
                if d < d_y:
                    f = 4.0 / 3.0 * modulus * math.sqrt(radius) * d**1.5
                elif d < d_p:
                    f = d * (c1 + c2 * math.log(d / d_y)) + c3
                else:
                    f = f_p + k1 * (d - d_p)
                d_max[k] = d
                f_max[k] = f
            else:
                if d_max[k] < d_y:
                    flattened = radius
                    residual = 0.0
                elif d_max[k] < d_p:
                    flattened = (
                        radius
                        * (4.0 / 3.0 * modulus * math.sqrt(radius) * d_max[k] ** 1.5)
                        / f_max[k]
                    )
                    residual = d_max[k] - (
                        3.0 * f_max[k] / (4.0 * modulus * math.sqrt(flattened))
                    ) ** (2.0 / 3.0)
                else:
                    flattened = radius * (4.0 / 3.0 * modulus * math.sqrt(radius) * d_p**1.5) / f_p
                    residual = d_max[k] - (
                        3.0 * f_max[k] / (4.0 * modulus * math.sqrt(flattened))
                    ) ** (2.0 / 3.0)
                f = (
                    4.0 / 3.0 * modulus * math.sqrt(flattened) * (d - residual) ** 1.5
                    if d > residual
                    else 0.0
                )
            force[k] -= f
            force[k + 1] += f
        for i in range(n):
            a = force[i] / mass[i]
            if step == 0 or step == n_steps:
                v[i] += 0.5 * dt * a
            else:
                v[i] += dt * a
            if step < n_steps:
                u[i] += dt * v[i]
