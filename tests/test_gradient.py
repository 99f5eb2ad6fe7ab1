"""Derivatives of runs, compared with a tangent of the same scheme in NumPy."""

import re

import numpy as np
import pytest
from support.shaken import shaken_row

import granchain as gc
from granchain.errors import CaseError
from granchain.verification import UNCONFIRMED


def row(beads, end, **changes):
    """Return a struck row of steel beads with the Hertz law."""
    own = {"chain.beads": beads, "sensors.beads": [beads // 2], "sensors.contacts": []}
    own |= {"snapshots": None, "time.end": end}
    return gc.load_case("steel-chain-hertz").replace(**(own | changes))


def with_tangent(case, step):
    """Return the peak at the sensor, the transmitted momentum, and their derivatives by every
    radius factor.

    The scheme is kick, drift, kick with its tangent.
    """
    n = case.beads + 1
    modulus = 193e9 / (1.0 - 0.3**2)
    radius, mass = np.full(n, case.chain.radius), np.full(n, case.chain.mass)
    speed = case.striker.speed
    # by body and factor: the striker has no factor
    by = np.eye(n)[:, 1:]
    reduced = 1.0 / (1.0 / radius[:-1] + 1.0 / radius[1:])
    stiffness = 4.0 / 3.0 * (0.5 * modulus) * np.sqrt(reduced)
    share = (reduced / radius[:-1])[:, None] * by[:-1] + (reduced / radius[1:])[:, None] * by[1:]
    d_stiffness = 0.5 * stiffness[:, None] * share
    u, v = np.zeros(n), np.zeros(n)
    du, dv = np.zeros_like(by), np.zeros_like(by)
    v[0] = speed
    sensor, steps = case.sensors.beads[0], round(case.time.end / step)
    force, d_force = np.empty(steps + 1), np.empty((steps + 1, case.beads))
    momentum, d_momentum = 0.0, np.zeros(case.beads)
    for i in range(steps + 1):
        overlap, d_overlap = np.maximum(u[:-1] - u[1:], 0.0), du[:-1] - du[1:]
        f = stiffness * overlap**1.5
        df = d_stiffness * overlap[:, None] ** 1.5
        df += (1.5 * stiffness * np.sqrt(overlap))[:, None] * d_overlap
        force[i] = 0.5 * (f[sensor - 1] + f[sensor])
        d_force[i] = 0.5 * (df[sensor - 1] + df[sensor])
        scale = 0.5 * step if i in (0, steps) else step
        momentum, d_momentum = momentum + scale * f[-1], d_momentum + scale * df[-1]
        a, da = np.zeros(n), np.zeros_like(by)
        a[:-1] -= f
        a[1:] += f
        da[:-1] -= df
        da[1:] += df
        # the mass is proportional to the cube of the factor
        v += scale * a / mass
        dv += scale * (da - 3.0 * a[:, None] * by) / mass[:, None]
        u += step * v
        du += step * dv
    # at a maximum, the force changes by its derivative alone: a polynomial through seven values
    top = int(np.argmax(force))
    x, near = np.arange(-3.0, 4.0), slice(top - 3, top + 4)
    curve = np.poly1d(np.polyfit(x, force[near], 6))
    roots = curve.deriv().roots
    at = roots[np.argmin(np.abs(roots))].real
    d_peak = np.array([np.polyval(np.polyfit(x, one, 6), at) for one in d_force[near].T])
    striker = mass[0] * speed
    return (curve(at), d_peak), (momentum / striker, d_momentum / striker)


@pytest.mark.parametrize(
    ("beads", "end"), [(10, 1.2e-4), pytest.param(70, 3.5e-4, marks=pytest.mark.long)]
)
def test_gradient_is_the_tangent_of_the_same_scheme(beads, end):
    case = row(beads, end)
    found = gc.gradient(case, "peak", "chain.radius_factor", error=False)
    (peak, known), momentum = with_tangent(case, found.time_step)
    assert found.value == pytest.approx(peak, rel=1e-9)
    off = np.abs(found["chain.radius_factor"] - known)
    assert off.max() <= 1e-6 * np.abs(known).max()
    assert np.isnan(found.errors["chain.radius_factor"]).all()
    if beads == 10:
        found = gc.gradient(case, "transmitted_momentum", "chain.radius_factor", error=False)
        # the pulse ends at 1 % of its peak, and that of the tangent when the bead has separated
        assert found.value == pytest.approx(momentum[0], rel=3e-4)
        off = np.abs(found["chain.radius_factor"] - momentum[1])
        assert off.max() <= 1e-3 * np.abs(momentum[1]).max()


def test_errors_cover_what_a_finer_step_gives():
    case = row(10, 7e-5)
    keys = ["striker.speed", "chain.radius_factor.2", "chain.gap_added"]
    scale = {"chain.gap_added": 1e-6}
    case = case.replace(**{"chain.gap": 1e-7})
    coarse = gc.gradient(case.replace(**{"time.step": "fast"}), ("peak", 5), keys, scale=scale)
    fine = gc.gradient(case, ("peak", 5), keys, error=False, scale=scale)
    for key in keys:
        assert (np.abs(coarse[key] - fine[key]) <= coarse.errors[key]).all(), key
    added = coarse.variables["chain.gap_added"]
    assert (added.dims, added.shape, added.unit) == (("gap",), (9,), "N/m")
    assert coarse.variables["striker.speed_error_of_step"].unit == "N/(m/s)"
    assert coarse.of == "peak:5" and coarse.variables["value"].unit == "N"
    assert coarse.values.keys() == coarse.errors.keys() == set(keys)
    assert "chain.radius_factor.2" in coarse._repr_html_()
    # Hertz contacts without gaps: forces are proportional to the speed to the power of 6/5
    touching = gc.gradient(row(10, 7e-5), "peak", "striker.speed")
    assert touching["striker.speed"] * 1.77 / touching.value == pytest.approx(1.2, abs=5e-5)


def test_momentum_passed_on_does_not_depend_on_where_a_damped_contact_begins(plain_loop):
    tsuji, key = {"law": "tsuji", "restitution": 0.6}, "chain.gap"
    case = row(2, 4e-5, contact=tsuji, **{key: 1e-6, "chain.drag": 2e3, "energy.ledger": False})
    found = []
    for step in (2e-7, 1.88e-7):
        one = case.replace(**{"time.step": step, "sensors.beads": [2], "sensors.interval": step})
        found.append(gc.gradient(one, "transmitted_momentum", key, error=False))
    # with the forces at the steps alone, it would be -34,300 and -5,540 1/m
    assert found[0][key] == pytest.approx(found[1][key], rel=5e-3)
    # the transmitted momentum is the impulse of the contact, also if drag takes a part of it
    result = gc.run(one)
    (impulse,) = gc.analysis.first_pulse(result.time, 2.0 * result.sensor_force[:, 0]).impulse
    assert found[1].value == pytest.approx(impulse / (result.mass[0] * 1.77), rel=2e-3)


def test_an_error_is_not_small_by_chance():
    # the two steps differ by a third of the difference of each from a fine step
    case = row(4, 1.08e-4, **{"chain.gap": 1e-7, "striker.speed": 0.6, "time.step": "fast"})
    key, fine = "striker.speed", case.replace(**{"time.step": "auto"})
    known = gc.gradient(fine, ("peak", 3), key, error=False)[key]
    for keys in ([key, "chain.radius_factor"], [key]):
        found = gc.gradient(case, ("peak", 3), keys)
        half = case.replace(**{"time.step": 0.5 * found.time_step})
        between = gc.gradient(half, ("peak", 3), key, error=False)[key]
        off = abs(found[key] - known)
        assert off > 12.0 * abs(found[key] - between)
        assert off <= found.errors[key] <= 1e-3 * found[key]
    # with order two, half of the step leaves a quarter of its error, and a quarter a sixteenth
    quarter = case.replace(**{"time.step": 0.25 * found.time_step})
    ends = between, gc.gradient(quarter, ("peak", 3), key, error=False)[key]
    taken = [abs(found[key] - end) / part for end, part in zip(ends, (3 / 4, 15 / 16), strict=True)]
    assert found.of_step[key] == pytest.approx(UNCONFIRMED * max(taken), rel=1e-3)


def test_a_drive_has_numbers_too():
    case = shaken_row(2, 2e4, 1e-9, 1e3, **{"time.end": 1e-4})
    key = "ends.left.amplitude"
    found = gc.gradient(case, lambda result: result.final_displacement[0], key, error=False)
    # for weak driving, the response of the beads is proportional
    assert found[key] * 1e-9 == pytest.approx(found.value, rel=2e-3)


def test_a_gap_of_0_has_a_derivative_to_its_one_side():
    key, scale = "chain.gap", {"chain.gap": 1e-4}
    closed = gc.gradient(row(4, 4e-5), ("peak", np.int64(2)), key, scale=scale)
    open_ = gc.gradient(row(4, 4e-5, **{key: 1e-9}), ("peak", 2), key, error=False)
    assert closed[key] == pytest.approx(open_[key], rel=5e-3) and closed[key] < 0.0
    assert "on the other side" in closed.messages[0]
    with pytest.raises(
        CaseError, match=r"scale: a list is not valid. It must be a size for each key"
    ):
        gc.gradient(row(4, 4e-5), "peak", key, scale=[1e-4])


def test_what_cannot_be_differentiated_is_said():
    factors = ["chain.radius_factor", "chain.radius_factor.1"]
    for of, keys, changes, said in (
        ("peak", "chain.gap", {}, "chain.gap: the value is 0, so the size"),
        ("peak", "time.end", {}, "It must be a key of chain, striker"),
        ("peak", [], {}, "keys: missing"),
        ("peak", 3, {}, "keys: 3 is not valid"),
        ("peak", "chain.radius_factor.10", {}, "It must be 0 to 9"),
        ("peak", factors, {}, "radius_factor.1 is listed twice"),
        ("peak", "contact.psi", {}, "unknown input"),
        ("peaks", "striker.speed", {}, 'It must be "peak"'),
        (("peak", 11), "striker.speed", {}, "It must be 1 to 10"),
        ("peak", "striker.speed", {"sensors.beads": []}, "needs a sensor"),
        ("peak", "striker.speed", {"time.end": 2e-5}, "the wave has not passed bead 5"),
        ("transmitted_momentum", "striker.speed", {"ends.right": "wall"}, "a free right end"),
        (lambda result: "much", "striker.speed", {}, "The function must return a finite number"),
        (lambda result: 1 / 0, "striker.speed", {}, "ZeroDivisionError"),
    ):
        with pytest.raises(CaseError, match=re.escape(said)):
            gc.gradient(row(10, 7e-5).replace(**changes), of, keys)


def test_the_refusal_of_the_transmitted_momentum_names_what_the_case_has():
    resonator = {"mass": 1e-5, "stiffness": 1e4}
    for changes, reason in (
        ({"striker": None, "initial.velocity": [1.0] + [0.0] * 9}, "the case has no striker"),
        ({"initial.velocity": [0.1] + [0.0] * 9}, "beads move or are displaced at the start"),
        ({"ends.right": "wall"}, "the right end is not free"),
        ({"chain.resonator": [resonator]}, "the chain has on-site springs or attached masses"),
        ({"chain.on_site_stiffness": 1e3}, "the chain has on-site springs or attached masses"),
    ):
        with pytest.raises(CaseError, match=f"^of: .* is not defined because {reason}. It req"):
            gc.gradient(row(10, 7e-5).replace(**changes), "transmitted_momentum", "chain.radius")
