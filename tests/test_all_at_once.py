"""Random chains with all features at once, compared with an independent loop.

The features are laws of segments and walls, springs and resonators, driven beads and ends, drag,
gravity, and a load."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import granchain as gc
from granchain.analysis import observed_order
from granchain.case import Case
from granchain.simulation import prepare

HARD = {"youngs_modulus": 193e9, "poissons_ratio": 0.3, "density": 7968.8, "yield_stress": 310e6,
        "hardness": 868e6}  # fmt: skip
END = 3e-5


def law_of(rng, names):
    """Return a law whose force is smooth while the contact is closed."""
    inputs = {
        "hertz": {},
        "tsuji": {"restitution": rng.uniform(0.4, 0.95)},
        "kelvin-voigt": {
            "stiffness": rng.uniform(5e6, 2e7), "restitution": rng.uniform(0.5, 1.0),
        },
        "power": {"stiffness": 5e9, "exponent": rng.uniform(1.3, 2.0), "restitution": 1},
    }  # fmt: skip
    law = names[int(rng.integers(len(names)))]
    return {"law": law, **inputs[law]}


def segment_of(rng, names):
    may = {
        "radius": rng.uniform(1.5e-3, 3e-3),
        "on_site_stiffness": rng.uniform(0.0, 4e6),
        "on_site_damping": rng.uniform(0.0, 8.0),
        "resonator": [
            {
                "mass": rng.uniform(5e-5, 4e-4), "stiffness": rng.uniform(1e6, 5e6),
                "damping": rng.choice([0.0, rng.uniform(0.0, 8.0)]),
            }
            for _ in range(int(rng.integers(3)))
        ],
        "contact": law_of(rng, names),
    }  # fmt: skip
    count = int(rng.integers(1, 6))
    given = {name: value for name, value in may.items() if rng.random() < 0.5}
    if count == 1:
        given.pop("contact", None)
    return {"count": count, **given}


def drawn(seed, names=("hertz", "tsuji", "kelvin-voigt", "power")):
    """Return a chain between two walls that moves so little that contacts stay closed."""
    rng = np.random.default_rng(seed)
    segments = [segment_of(rng, names) for _ in range(int(rng.integers(2, 5)))]
    segments.append({"count": 3})
    n = sum(one["count"] for one in segments)

    def signal(drive, amplitude):
        return {
            "drive": drive, "signal": "harmonic", "amplitude": amplitude,
            "frequency": rng.uniform(1e4, 4e4), "phase": rng.uniform(0.0, 6.0),
            "ramp": rng.uniform(1e-5, 4e-5), "dc": amplitude * rng.uniform(-1.0, 1.0),
        }  # fmt: skip

    ends = {"left": "wall", "right": "wall"}
    side = ("left", "right")[int(rng.integers(2))]
    if rng.random() < 0.5:
        ends[side] = signal("displacement", 5e-8)
    for side in ("left", "right"):
        if rng.random() < 0.6:
            ends[f"{side}_contact"] = law_of(rng, names)
    # a bead with a prescribed displacement has no resonators: one of the last segment
    placed, *pushed = (n, *(rng.permutation(n - 1)[:2] + 1).tolist())
    drives = [{"bead": placed, **signal("displacement", rng.uniform(2e-8, 2e-7))}]
    drives += [{"bead": bead, **signal("force", rng.uniform(0.2, 3.0))} for bead in pushed]
    velocity = rng.normal(0.0, 5e-3, n)
    velocity[placed - 1] = 0.0
    return Case(
        chain={
            "radius": 2.38e-3, "material": HARD, "segment": segments,
            "precompression": rng.uniform(30.0, 80.0), "gravity": rng.choice([0.0, 9.81, 300.0]),
            "drag": rng.choice([0.0, rng.uniform(0.0, 5e3)]),
            "radius_factor": rng.uniform(0.95, 1.05, n).tolist(),
            "mass_factor": rng.uniform(0.9, 1.1, n).tolist(),
        },
        ends=ends, drive=[drives[i] for i in rng.permutation(3)], contact=law_of(rng, names),
        initial={"velocity": velocity.tolist()}, sensors={"beads": [1, n], "interval": 1e-6},
        snapshots={"interval": 1e-6}, energy={"interval": 1e-6}, time={"end": END},
    )  # fmt: skip


def followed(signal, t):
    """Return a harmonic with its constant part and the ramp of docs/how-to/drive.md, and its
    slope."""
    x = min(t / signal.ramp, 1.0)
    rise = x**4 * (35.0 - 84.0 * x + 70.0 * x**2 - 20.0 * x**3)
    slope = 140.0 * (x * (1.0 - x)) ** 3 / signal.ramp
    w = 2.0 * math.pi * signal.frequency
    value = signal.amplitude * math.sin(w * t + signal.phase) + signal.dc
    turning = signal.amplitude * w * math.cos(w * t + signal.phase)
    return value * rise, turning * rise + value * slope


def reference(case):
    """Return final displacements [um] and velocities [m/s] of beads and resonators, from DOP853.

    Only coefficients and masses are taken from the set-up of the run.
    """
    chain, contacts, _ = prepare(case)
    n, model, table = chain.n_bodies, contacts.model, case.chain
    body, m2, k2, c2 = table.attached_masses()
    c = {quantity.name: row for quantity, row in zip(model.coefficients, contacts.c, strict=True)}
    names = model.name.split(", ")
    law = [names[int(place)] for place in c.get("contact_law", np.zeros(n + 1))]

    def force(k, d, r):
        if law[k] == "kelvin-voigt":
            return float(c["stiffness"][k] * d + c["damping"][k] * r)
        exponent = c["exponent"][k] if law[k] == "power" else 1.5
        damping = c["damping"][k] * d**0.25 if law[k] == "tsuji" else 0.0
        return float(c["stiffness"][k] * d**exponent + damping * r)

    count = body.size
    carried = chain.mass + np.bincount(body, m2, n)
    static = table.precompression + np.append(0.0, np.cumsum(carried * table.gravity))
    rest = [
        brentq(lambda d, k=k: force(k, d, 0.0) - static[k], 0.0, 1e-3, xtol=1e-22, rtol=1e-14)
        for k in range(n + 1)
    ]
    spring, dashpot = table.of_each("on_site_stiffness"), table.of_each("on_site_damping")
    placed = {one.bead: one for one in case.drive if one.drive == "displacement"}
    held = [one - 1 for one in placed]
    if not isinstance(case.ends.left, str):
        placed[0] = case.ends.left

    def there(t, y):
        u, v = np.zeros(n + 2), np.zeros(n + 2)
        u[1:-1], v[1:-1] = y[:n], y[n : 2 * n]
        for i, one in placed.items():
            u[i], v[i] = followed(one, t)
        if not isinstance(case.ends.right, str):
            # positive into the chain, which is to the left at this end
            u[-1], v[-1] = np.negative(followed(case.ends.right, t))
        return u, v

    def slope(t, y):
        u, v = there(t, y)
        w, speed = y[2 * n : 2 * n + count], y[2 * n + count :]
        f = [force(k, rest[k] + u[k] - u[k + 1], v[k] - v[k + 1]) - static[k] for k in range(n + 1)]
        push = -np.diff(f) - spring * u[1:-1] - (dashpot + table.drag * chain.mass) * v[1:-1]
        for one in case.drive:
            push[one.bead - 1] += followed(one, t)[0] if one.drive == "force" else 0.0
        pull = k2 * (u[body + 1] - w) + c2 * (v[body + 1] - speed)
        a = (push - np.bincount(body, pull, n)) / chain.mass
        a[held], v[1:-1][held] = 0.0, 0.0
        return np.concatenate([v[1:-1], a, speed, pull / m2])

    start = np.concatenate([np.zeros(n), chain.velocity, np.zeros(2 * count)])
    least = np.repeat([1e-18, 1e-13, 1e-18, 1e-13], [n, n, count, count])
    y = solve_ivp(slope, (0.0, END), start, "DOP853", rtol=1e-11, atol=least).y[:, -1]
    u, v = there(END, y)
    w, speed = y[2 * n : 2 * n + count], y[2 * n + count :]
    return np.concatenate([1e6 * u[1:-1], v[1:-1], 1e6 * w, speed])


def at_end(result):
    found = [1e6 * result.final_displacement, result.final_velocity]
    if "resonator" in result.variables:
        found += [1e6 * result.final_resonator_displacement, result.final_resonator_velocity]
    return np.concatenate(found)


# The first case has three laws, resonators, a driven end, and beads with prescribed displacements
# and forces.
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 30))]


@pytest.mark.usefixtures("plain_loop")
@pytest.mark.parametrize("seed", SEEDS)
def test_a_chain_with_everything_moves_as_its_equations_say_to_order_two(seed):
    case = drawn(seed)
    exact, coarsest = reference(case), math.ceil(0.25 * END / prepare(case)[2].value)
    steps = [END / (coarsest * n) for n in (1, 2)]
    runs = [gc.run(case.replace(**{"time.step": step})) for step in steps]
    errors = [float(abs(at_end(one) - exact).max()) for one in runs]
    # at twice the automatic step, w dt = 0.04 at the highest frequency
    assert errors[1] < 1.2e-3 * abs(exact).max()
    assert observed_order(steps, errors) == pytest.approx(2.0, abs=0.15)
    leaks = [float(abs(one.energy_residual).max()) for one in runs]
    assert observed_order(steps, leaks) == pytest.approx(2.0, abs=0.15)
    assert leaks[1] < 4e-4 * max(runs[1].energy_kinetic.max(), abs(runs[1].energy_external).max())


@pytest.mark.long
def test_a_chain_with_everything_has_its_bits_however_it_is_run(tmp_path, monkeypatch):
    # the same two laws have one loop
    cases = (drawn(seed, ("hertz", "tsuji")) for seed in itertools.count(100))
    three = [one for one in itertools.islice(cases, 12) if one.laws[0][0] == "hertz"][:3]
    for place, case in enumerate(three):
        step = 1e-8
        case = case.replace(**{"time.step": step, "time.end": 300 * step})
        alone, other = gc.run(case), case.replace(**{"drive.0.amplitude": 1e-8})
        many = gc.run_many([case, other, case], threads=2)
        assert many[0].equals(alone) and many[2].equals(alone) and not many[1].equals(alone)
        gc.run_many([case, other], threads=1, out=tmp_path / f"many{place}.h5")
        assert gc.open(tmp_path / f"many{place}.h5")[0].equals(alone)
        half = gc.run(case.replace(**{"time.end": 150 * step}))
        half.save(tmp_path / f"half{place}.h5")
        for start in (half, {"file": str(tmp_path / f"half{place}.h5")}):
            on = gc.run(case.replace(**{"initial": start, "time.end": 150 * step}))
            assert at_end(on).tobytes() == at_end(alone).tobytes()
        with monkeypatch.context() as patch:
            from granchain.engine.loop import time_loop

            patch.setattr("granchain.engine.state.loop_of", time_loop)
            assert gc.run(case).equals(alone)
