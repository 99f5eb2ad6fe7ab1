"""Beads under a load between walls or driven ends, integrated by the tests.

The results are the orbit of a period, and the effect of a period on small perturbations."""

import math

import numpy as np
from scipy.integrate import solve_ivp

import granchain as gc

RADIUS, MASS, LOAD = 2.38e-3, 0.45e-3, 20.0
# E/(1 - nu^2)/2 of equal steel beads; K = (4/3) E* sqrt(R*), with R* = R at the wall
STIFFNESS = 4.0 / 3.0 * (193e9 / (2.0 * (1.0 - 0.3**2))) * math.sqrt(RADIUS / 2.0)


def shaken_row(beads, frequency, amplitude, drag, **changes):
    """Return steel beads between walls under 20 N, with an oscillating left wall."""
    shaken = {"drive": "displacement", "signal": "harmonic", "amplitude": amplitude}
    steel = {"radius": RADIUS, "mass": MASS, "material": "steel-316", "precompression": LOAD}
    case = gc.Case(
        chain=steel | {"beads": beads, "drag": drag},
        contact={"law": "hertz"},
        ends={"left": shaken | {"frequency": frequency}, "right": "wall"},
        time={"end": 1e-3},
    )
    return case.replace(**changes)


def long_steps(monkeypatch):
    """Use long steps along branches, which then have few orbits with the same accuracy."""
    for name in ("FIRST", "LONGEST"):
        monkeypatch.setattr(f"granchain.orbits.continuation.{name}", 0.2)


def by_integration(case, state, period, tolerance=1e-9, *, dents=None, masses=MASS, elastic=None):
    """Return the closing error of a state after a period, and its Jacobian.

    The law is hertz, or tsuji with the restitution of the case, or F = K (d - r)^1.5 with residual
    indentation (K, r, overlap at rest). The beads are equal steel beads unless masses and
    stiffnesses are given.
    """
    n, ends = case.beads, (case.ends.left, case.ends.right)
    wall, own = np.array([2.0, *[1.0] * (n - 1), 2.0]), np.broadcast_to(masses, n)[:, None]
    elastic = STIFFNESS * np.sqrt(wall) if elastic is None else elastic
    drag = case.chain.drag or 0.0
    log = math.log(case.contact.inputs().get("restitution", 1.0))
    # c = sqrt(5) zeta sqrt(K m), with the effective mass
    ratio = -log / math.hypot(math.pi, log)
    dashpot = math.sqrt(5.0) * ratio * np.sqrt(elastic * own[0, 0] * wall / 2.0)
    rest = (LOAD / elastic) ** (2.0 / 3.0)
    if dents is not None:
        elastic, residual, rest = dents
        rest = rest - residual
    # positive towards the far end; for the right end, towards the left
    driven = np.array([0.0 if e == "wall" else e.amplitude for e in ends]) * [1.0, -1.0]
    turn, count = 0.0 if ends[0] == "wall" else 2.0 * math.pi * ends[0].frequency, len(state)
    bead, mass, spring, damper = case.chain.attached_masses()
    spring, damper, mass = spring[:, None], damper[:, None], mass[:, None]

    def slope(t, y):
        # column 0 is the orbit, and the others are small perturbations
        x, (u, v) = y.reshape(count, -1), y.reshape(2, count // 2, -1)
        wall, speed = np.zeros((2, 2, count + 1))
        wall[:, 0] = driven * math.sin(turn * t)
        speed[:, 0] = driven * turn * math.cos(turn * t)
        apart = np.vstack([wall[:1], u[:n]]) - np.vstack([u[:n], wall[1:]])
        rate = np.vstack([speed[:1], v[:n]]) - np.vstack([v[:n], speed[1:]])
        overlap = np.maximum(rest + apart[:, 0], 0.0)
        damping = dashpot * overlap**0.25
        force = 1.5 * (elastic * np.sqrt(overlap))[:, None] * apart + damping[:, None] * rate
        if log:
            force += (0.25 * damping / overlap * rate[:, 0])[:, None] * apart
        force[:, 0] = elastic * overlap**1.5 + damping * rate[:, 0]
        push = force[:-1] - force[1:] - drag * own * v[:n]
        pull = spring * (u[bead] - u[n:]) + damper * (v[bead] - v[n:])
        np.subtract.at(push, bead, pull)
        return np.vstack([x[count // 2 :], push / own, pull / mass]).ravel()

    start = np.hstack([state[:, None], np.eye(count)]).ravel()
    end = solve_ivp(
        slope, (0.0, period), start, method="DOP853", rtol=tolerance, atol=1e-6 * tolerance
    ).y[:, -1]
    end = end.reshape(count, -1)
    return end[:, 0] - state, end[:, 1:]


def orbit_by_integration(case, orbit, tolerance=1e-9, dents=None):
    """Return state and multipliers of the integrated orbit near a computed one."""
    state = np.concatenate([orbit.displacement, orbit.velocity])
    for _ in range(4):
        apart, jacobian = by_integration(case, state, orbit.period, tolerance, dents=dents)
        state = state + np.linalg.solve(np.eye(state.size) - jacobian, apart)
    return state, np.linalg.eigvals(jacobian)
