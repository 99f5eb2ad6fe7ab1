"""Velocities between the snapshots of a run. SI units."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

# Where displacements between snapshots differ from the course of the velocities by more than this
# part of the largest velocity over an interval, the snapshots do not hold the motion. Of a solitary
# wave (Hertz), five snapshots over the half-width of the pulse leave 2.2e-4 and give courses within
# 2e-5 of its height, where straight lines are 0.027 off; 1.5 of them leave 0.039, and 0.005
# (measured, phases of the snapshots in fifths of an interval).
MOST_APART = 0.04


def between_snapshots(
    time: ArrayLike, displacement: ArrayLike, velocity: ArrayLike, parts: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Velocities between snapshots: nothing is smoothed, every snapshot is kept.

    The polynomial of the fifth degree that has displacement u and velocity v of a snapshot and its
    two neighbours (Hermite 1878, doi:10.1515/crll.1878.84.70) gives the acceleration a there.
    Between two snapshots the velocity is the polynomial of the fourth degree that has v and a at
    both and as its integral the difference of u: slope and value go on smoothly.

    Parameters
    ----------
    time : array (n,)
        Of the snapshots, increasing [s].
    displacement, velocity : array (n, n_bodies)
        [m], [m/s].
    parts : int
        Into how many parts an interval is divided.

    Returns
    -------
    tuple or None
        Times (parts (n - 1) + 1,) [s] and velocities (the same, n_bodies) [m/s]; None for fewer
        than three snapshots, and where displacements do not agree with velocities, see
        `MOST_APART`.
    """
    t, u, v = (np.asarray(values, dtype=float) for values in (time, displacement, velocity))
    if len(t) < 3:
        return None
    h = np.diff(t)[:, None]
    a = _accelerations(h, u, v)
    # what the cubic with these values and slopes leaves of the difference of the displacements, as
    # a velocity
    left = np.diff(u, axis=0) / h - 0.5 * (v[:-1] + v[1:]) - h / 12.0 * (a[:-1] - a[1:])
    if not np.abs(left).max(initial=0.0) <= MOST_APART * np.abs(v).max(initial=0.0):
        return None
    s = (np.arange(parts) / parts)[None, :, None]
    v0, v1, a0, a1 = (values[:, None, :] for values in (v[:-1], v[1:], h * a[:-1], h * a[1:]))
    r = 1.0 - s
    course = v0 * (1.0 + 2.0 * s) * r * r + v1 * (3.0 - 2.0 * s) * s * s + (a0 * r - a1 * s) * s * r
    # 30 s^2 (1 - s)^2 has the integral 1
    course += left[:, None, :] * 30.0 * (s * r) ** 2
    times = t[:-1, None] + h * s[:, :, 0]
    return np.append(times.ravel(), t[-1]), np.concatenate([course.reshape(-1, v.shape[1]), v[-1:]])


def _accelerations(h: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Second derivative at n >= 3 instants of the fifth-degree polynomials through u and v.

    Through those of the instant and its two neighbours.
    """
    before, after = h[:-1], h[1:]
    # of u(x) = u + v x + c2 x^2 + ... + c5 x^5 about the middle: conditions on u and v at -before
    # and at after, x in units of the larger
    unit = np.maximum(before, after)
    rows = []
    for x in (-before / unit, after / unit):
        powers = [x**k for k in range(6)]
        slopes = [k * powers[k - 1] for k in range(2, 6)]
        rows += [np.concatenate(powers[2:], axis=1), np.concatenate(slopes, axis=1)]
    sides = []
    for other, x in ((slice(None, -2), -before), (slice(2, None), after)):
        sides += [u[other] - u[1:-1] - v[1:-1] * x, (v[other] - v[1:-1]) * unit]
    c = np.linalg.solve(np.stack(rows, axis=1), np.stack(sides, axis=1)) / unit[:, :, None] ** 2
    first, last = -before[0] / unit[0], after[-1] / unit[-1]
    # (c2 x^2 + ... + c5 x^5)'' = 2 c2 + 6 c3 x + 12 c4 x^2 + 20 c5 x^3
    ends = [
        2.0 * c[i, 0] + 6.0 * c[i, 1] * x + 12.0 * c[i, 2] * x**2 + 20.0 * c[i, 3] * x**3
        for i, x in ((0, first), (-1, last))
    ]
    return np.concatenate([ends[:1], 2.0 * c[:, 0], ends[1:]])
