"""The chain in plain NumPy: array expressions in a Python loop over the steps.

Scheme, step, and results are those of the engine.
"""

from collections.abc import Callable

import numpy as np

Forces = Callable[[np.ndarray, np.ndarray], np.ndarray]


def march(
    n_steps: int, dt: float, mass: np.ndarray, force_of: Forces, u: np.ndarray, v: np.ndarray
) -> None:
    """Integrate by kick-drift-kick; `force_of` maps overlaps [m] and rates [m/s] to forces [N]."""
    a = np.zeros_like(u)
    for step in range(n_steps + 1):
        predicted = v + 0.5 * dt * a
        force = force_of(u[:-1] - u[1:], predicted[:-1] - predicted[1:])
        a[:-1] = -force
        a[-1] = 0.0
        a[1:] += force
        a /= mass
        v += (0.5 if step in (0, n_steps) else 1.0) * dt * a
        if step < n_steps:
            u += dt * v


def hertz(n_steps, dt, mass, stiffness, u, v):  # type: ignore[no-untyped-def]
    """Integrate with F = K d^1.5."""

    def force_of(d: np.ndarray, rate: np.ndarray) -> np.ndarray:
        return stiffness * np.maximum(d, 0.0) ** 1.5

    march(n_steps, dt, mass, force_of, u, v)


def hysteresis(n_steps, dt, mass, stiffness, damping, u, v):  # type: ignore[no-untyped-def]
    """Integrate with F = K d^1.5 (1 + damping rate), at least 0."""

    def force_of(d: np.ndarray, rate: np.ndarray) -> np.ndarray:
        return np.maximum(stiffness * np.maximum(d, 0.0) ** 1.5 * (1.0 + damping * rate), 0.0)

    march(n_steps, dt, mass, force_of, u, v)


def ma_liu(n_steps, dt, mass, radius, modulus, d_y, d_p, c1, c2, c3, f_p, k1, u, v):  # type: ignore[no-untyped-def]
    """Integrate with Ma and Liu's law; the names are those in the file of the law."""
    stiffness = 4.0 / 3.0 * modulus * np.sqrt(radius)
    d_max = np.full(u.size - 1, d_y)
    f_max = stiffness * d_max**1.5

    def force_of(d: np.ndarray, rate: np.ndarray) -> np.ndarray:
        loading = d > d_max
        log = np.log(np.maximum(d, d_y) / d_y)
        virgin = np.where(d < d_p, d * (c1 + c2 * log) + c3, f_p + k1 * (d - d_p))
        d_max[loading], f_max[loading] = d[loading], virgin[loading]
        limit = np.minimum(d_max, d_p)
        flattened = radius * stiffness * limit**1.5 / np.where(d_max < d_p, f_max, f_p)
        unloading = 4.0 / 3.0 * modulus * np.sqrt(flattened)
        residual = d_max - (f_max / unloading) ** (2.0 / 3.0)
        return np.where(loading, virgin, unloading * np.maximum(d - residual, 0.0) ** 1.5)

    march(n_steps, dt, mass, force_of, u, v)
