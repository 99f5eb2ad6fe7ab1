"""Chains between compliant ends, integrated independently by the tests."""

import numpy as np
from scipy.integrate import solve_ivp

import granchain as gc
from granchain.simulation import prepare

RADIUS = 2.38e-3


def chain_between(left, right, law, beads=2, **tables):
    """Return a case of steel beads, the first of which moves, with the forces of all contacts."""
    first = 1 if left == "free" else 0
    last = beads - 1 if right == "free" else beads
    made_of = {"chain": {"beads": beads, "radius": RADIUS, "material": "steel-316"}}
    made_of |= {"contact": law, "ends": {"left": left, "right": right}, "time": {"end": 4e-5}}
    made_of["initial"] = {"velocity": [1.0, *[0.0] * (beads - 1)]}
    made_of["sensors"] = {"beads": [beads], "contacts": list(range(first, last + 1))}
    return gc.Case(**made_of | tables)


def integrate(case, times, tolerance=1e-10):
    """Return the forces of all contacts at some times, and displacements and velocities of beads.

    The laws are hertz and tsuji. Only coefficients, masses, loads, and static overlaps are taken
    from the run.
    """
    chain, contacts, _ = prepare(case)
    n, ends = chain.n_bodies, (chain.left, chain.right)
    c = {one.name: row for one, row in zip(contacts.model.coefficients, contacts.c, strict=True)}
    elastic, damping = c["stiffness"], c.get("damping", np.zeros(n + 1))
    start = contacts.overlaps.copy()
    start[1:n] -= chain.gap
    exists, static = chain.contact_exists, chain.static_forces()[[0, -1]]
    modes = [np.zeros((0, 3)) if end.modes is None else end.modes for end in ends]
    yielding = np.array([1.0 / end.impedance if end.impedance else 0.0 for end in ends])
    sizes = np.cumsum([n, n, *(len(table) for table in (*modes, *modes)), 2])

    def split(y):
        u, v, *others = np.split(y, sizes[:-1])
        return u, v, others[:2], others[2:4], others[4]

    def forces(y):
        u, v, w, speed, bare = split(y)
        # without mass: displacement, and force divided by impedance, both outwards
        walls = [w[0].sum() - bare[0], w[1].sum() + bare[1]]
        x = np.concatenate([walls[:1], u, walls[1:]])
        speeds = np.concatenate([[speed[0].sum()], v, [speed[1].sum()]])
        overlap, rate = x[:-1] - x[1:] + start, speeds[:-1] - speeds[1:]
        d = np.where(exists, np.maximum(overlap, 0.0), 0.0)
        dashpot = damping * d**0.25
        share = np.ones(n + 1)
        share[[0, -1]] += dashpot[[0, -1]] * yielding
        return np.maximum((elastic * d**1.5 + dashpot * rate) / share, 0.0)

    def slope(t, y):
        _, v, w, speed, _ = split(y)
        force = forces(y)
        outer = force[[0, -1]]
        pushed = [
            (sign * (f - rest) - table[:, 1] * x - table[:, 2] * r) / table[:, 0]
            for sign, f, rest, table, x, r in zip(
                (-1.0, 1.0), outer, static, modes, w, speed, strict=True
            )
        ]
        a = (force[:-1] - force[1:] + chain.loads) / chain.mass
        return np.concatenate([v, a, *speed, *pushed, outer * yielding])

    y = np.zeros(sizes[-1])
    y[:n], y[n : 2 * n] = chain.displacement, chain.velocity
    ends_at = solve_ivp(
        slope, (0.0, times[-1]), y, method="DOP853", rtol=tolerance, atol=1e-16, t_eval=times,
        max_step=times[-1] / 400.0,
    ).y.T  # fmt: skip
    return np.array([forces(y)[exists] for y in ends_at]), ends_at[:, : 2 * n]


def random_case(rng):
    """Return one to five beads between random ends, at least one of which is compliant."""

    def end(kind):
        if kind == "mass":
            stiffness, damping = 10.0 ** rng.uniform(5.5, 7.5), rng.uniform(0.0, 20.0)
            return {"mass": 10.0 ** rng.uniform(-4, -2), "stiffness": stiffness, "damping": damping}
        if kind == "modes":
            rows = 10.0 ** rng.uniform([-3.5, 5.5, -1.0], [-2.5, 7.5, 1.0], (3, 3))
            return {"modes": rows.tolist()}
        if kind == "plate":
            return {"plate": {"thickness": rng.uniform(5e-4, 8e-3), "material": "steel-316"}}
        if kind == "rod":
            return {"rod": {"area": 10.0 ** rng.uniform(-6, -4), "material": "steel-316"}}
        return kind

    kinds = [
        rng.choice(["free", "wall", "mass", "plate"]),
        rng.choice(["mass", "modes", "plate", "rod"]),
    ]
    beads = int(rng.integers(1, 6))
    loaded = kinds[0] != "plate" and kinds[1] in ("mass", "modes") and rng.uniform() < 0.4
    gaps = rng.uniform(0.0, 2e-6, beads - 1) * (not loaded)
    segments = [
        {"count": 1, "radius": RADIUS * rng.uniform(0.7, 1.3), "gap": float(gap)}
        for gap in (*gaps, 0.0)
    ]
    chain = {"beads": None, "radius": None, "segment": segments, "material": "steel-316"}
    if loaded:
        chain["precompression"] = rng.uniform(5.0, 50.0)
    law = (
        {"law": "hertz"}
        if rng.uniform() < 0.5
        else {"law": "tsuji", "restitution": rng.uniform(0.5, 0.95)}
    )
    speeds = [rng.uniform(0.3, 2.0), *rng.uniform(-0.1, 0.1, beads - 1)]
    # open at the start, so that onsets are within a step
    apart = -rng.uniform(1e-7, 2e-6) * (not loaded)
    return chain_between(
        *map(end, kinds), law, beads, chain=chain,
        initial={"velocity": speeds, "displacement": [apart] * beads},
    )  # fmt: skip
