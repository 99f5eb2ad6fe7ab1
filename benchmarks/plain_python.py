"""The chain in plain Python: a loop over steps and contacts, without any package.

Scheme, step, and results are those of the engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

# Contact, overlap [m], rate [m/s] -> force [N]
Force = Callable[[int, float, float], float]


def march(
    n_steps: int, dt: float, masses: Any, force_of: Force, displacements: Any, velocities: Any
) -> None:
    """Integrate by kick-drift-kick; displacements and velocities are advanced in place."""
    m, u, v = (
        list(map(float, masses)),
        list(map(float, displacements)),
        list(map(float, velocities)),
    )
    n = len(u)
    a = [0.0] * n
    for step in range(n_steps + 1):
        w = [v[i] + 0.5 * dt * a[i] for i in range(n)]
        left = 0.0
        for i in range(n):
            d = u[i] - u[i + 1] if i < n - 1 else 0.0
            f = force_of(i, d, w[i] - w[i + 1]) if d > 0.0 else 0.0
            a[i] = (left - f) / m[i]
            left = f
        kick = 0.5 * dt if step in (0, n_steps) else dt
        for i in range(n):
            v[i] += kick * a[i]
            if step < n_steps:
                u[i] += dt * v[i]
    displacements[:], velocities[:] = u, v


def hertz(n_steps, dt, mass, stiffness, u, v):  # type: ignore[no-untyped-def]
    """Integrate with F = K d^1.5."""

    def force_of(k: int, d: float, rate: float) -> float:
        return stiffness * d**1.5

    march(n_steps, dt, mass, force_of, u, v)


def hysteresis(n_steps, dt, mass, stiffness, damping, u, v):  # type: ignore[no-untyped-def]
    """Integrate with F = K d^1.5 (1 + damping rate), at least 0."""

    def force_of(k: int, d: float, rate: float) -> float:
        return max(stiffness * d**1.5 * (1.0 + damping * rate), 0.0)

    march(n_steps, dt, mass, force_of, u, v)


def ma_liu(n_steps, dt, mass, radius, modulus, d_y, d_p, c1, c2, c3, f_p, k1, u, v):  # type: ignore[no-untyped-def]
    """Integrate with Ma and Liu's law; the names are those in the file of the law."""
    hertz_stiffness = 4.0 / 3.0 * modulus * math.sqrt(radius)
    d_max, residual, stiffness = [d_y] * len(u), [0.0] * len(u), [hertz_stiffness] * len(u)

    def force_of(k: int, d: float, rate: float) -> float:
        if d <= d_max[k]:
            return stiffness[k] * (d - residual[k]) ** 1.5 if d > residual[k] else 0.0
        f = d * (c1 + c2 * math.log(d / d_y)) + c3 if d < d_p else f_p + k1 * (d - d_p)
        limit, force = (d, f) if d < d_p else (d_p, f_p)
        stiffness[k] = hertz_stiffness * math.sqrt(hertz_stiffness * limit**1.5 / force)
        d_max[k], residual[k] = d, d - (f / stiffness[k]) ** (2.0 / 3.0)
        return f

    march(n_steps, dt, mass, force_of, u, v)
