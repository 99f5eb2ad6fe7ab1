"""Orbits of rows whose contacts remember what was, or that carry resonators: against a variational
integration of the tests' own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import linear_sum_assignment

import granchain as gc
from granchain.errors import CaseError, RunError
from granchain.simulation import prepare

RADIUS, MASS, LOAD, DRAG = 2.38e-3, 0.45e-3, 20.0, 2e3
MA_LIU = {"law": "ma-liu", "psi": 3.0, "xi": 13.0}
# E/(1 - nu^2)/2 of equal steel beads; K = (4/3) E* sqrt(R*), and against the wall R* = R
STIFFNESS = 4.0 / 3.0 * (193e9 / (2.0 * (1.0 - 0.3**2))) * math.sqrt(RADIUS / 2.0)
RESONATOR = {"mass": 0.2e-3, "stiffness": 3e6, "damping": 0.3}


def row(beads, frequency, amplitude, contact=MA_LIU, **changes):
    """Steel beads between walls under 20 N, the left one shaken."""
    shaken = {"drive": "displacement", "signal": "harmonic", "amplitude": amplitude}
    case = gc.Case(
        chain={
            "beads": beads,
            "radius": RADIUS,
            "mass": MASS,
            "material": "steel-316",
            "precompression": LOAD,
            "drag": DRAG,
        },
        contact=contact,
        ends={"left": shaken | {"frequency": frequency}, "right": "wall"},
        time={"end": 1e-3},
    )
    return case.replace(**changes)


def by_integration(case, orbit, contacts, zero, resonator=None):
    """State and multipliers of the orbit of contacts F = K (d - r)^1.5 + c d^.25 rate, the
    equations of the row and of small changes integrated; `zero` is the overlap at rest."""
    n, period, (stiffness, residual, dashpot) = case.beads, orbit.period, contacts
    bodies = n if resonator is None else 2 * n
    size, end = 2 * bodies, case.ends.left
    turn = 2.0 * math.pi * end.frequency

    def slope(t, y):
        x = y.reshape(size, size + 1)
        wall = np.zeros((2, 1, size + 1))
        wall[:, 0, 0] = end.amplitude * np.array([math.sin(turn * t), turn * math.cos(turn * t)])
        # column 0 is the orbit, the others are what small changes become
        u, v = x[:n], x[bodies : bodies + n]
        apart, rate = (
            np.vstack([moved, one]) - np.vstack([one, 0.0 * moved])
            for moved, one in zip(wall, (u, v), strict=True)
        )
        d = np.maximum(zero + apart[:, 0] - residual, 0.0)[:, None]
        damping = dashpot[:, None] * d**0.25
        stiff = 1.5 * stiffness[:, None] * np.sqrt(d) + 0.25 * damping / d * rate[:, :1]
        force = stiff * apart + damping * rate
        force[:, 0] = stiffness * d[:, 0] ** 1.5 + damping[:, 0] * rate[:, 0]
        push, rest = force[:-1] - force[1:] - MASS * case.chain.drag * v, []
        if resonator is not None:
            r, s = x[n:bodies], x[bodies + n :]
            pull = resonator["stiffness"] * (u - r) + resonator["damping"] * (v - s)
            push, rest = push - pull, [pull / resonator["mass"]]
        return np.vstack([x[bodies:], push / MASS, *rest]).ravel()

    state = np.concatenate([orbit.displacement, orbit.velocity])
    for _ in range(3):
        start = np.hstack([state[:, None], np.eye(size)]).ravel()
        made = solve_ivp(slope, (0.0, period), start, method="DOP853", rtol=1e-11, atol=1e-17)
        last = made.y[:, -1].reshape(size, size + 1)
        state = state + np.linalg.solve(np.eye(size) - last[:, 1:], last[:, 0] - state)
    return state, np.linalg.eigvals(last[:, 1:])


def extrapolated(case, guess):
    """State and multipliers of an orbit, from its step and half of it."""
    coarse = gc.orbit(case, guess=guess)
    half = 0.5 * coarse.result.time_step
    fine = gc.orbit(case.replace(**{"time.step": half}), guess=coarse)
    assert coarse.settled == fine.settled == 0
    states = [np.concatenate([one.displacement, one.velocity]) for one in (coarse, fine)]
    apart = np.abs(coarse.multipliers[:, None] - fine.multipliers)
    mine, its = linear_sum_assignment(apart)
    values = [coarse.multipliers[mine], fine.multipliers[its]]
    return fine, *(both[1] + (both[1] - both[0]) / 3.0 for both in (states, values))


def check(found, state, values, known, multipliers):
    size = np.abs(known.reshape(2, -1)).max(axis=1).repeat(len(known) // 2)
    assert np.abs((state - known) / size).max() <= 1e-6
    apart = np.abs(values[:, None] - multipliers)
    assert apart[linear_sum_assignment(apart)].max() <= 1e-6
    assert found.stable == (np.abs(multipliers).max() < 1.0)


def settled_orbit_is_that_of_its_dents(case, resonator=None):
    """An orbit in dents that a stronger drive has left."""
    strong = case.replace(**{"ends.left.amplitude": 1.5 * case.ends.left.amplitude})
    first = gc.orbit(strong)
    assert first.settled > 0 and f"run for {first.settled} period" in first.begun
    found, state, values = extrapolated(case, first)
    assert found.touches == () and found.begun == "an orbit of ma-liu"
    result = found.result
    peaks = result.contact_overlap.max(axis=0)
    assert (peaks <= (1.0 - 1e-3) * result.elastic_limit).all()
    # as they were left by the stronger drive
    assert (result.elastic_limit == first.result.elastic_limit).all()
    assert (result.residual_overlap == first.result.residual_overlap).all()
    held = np.concatenate([[0.0], result.displacement[0], [0.0]])
    zero = result.contact_overlap[0] + np.diff(held)
    dents = result.unloading_stiffness, result.residual_overlap, 0.0 * zero
    check(found, state, values, *by_integration(case, found, dents, zero, resonator))
    return found


@pytest.fixture(scope="module")
def dented():
    """A case, and its orbit in dents of a stronger drive."""
    case = row(1, 2.5e4, 3e-7, **{"time.step": 1e-7, "chain.resonator": RESONATOR})
    return case, settled_orbit_is_that_of_its_dents(case, RESONATOR)


def test_an_orbit_in_settled_dents_is_that_of_their_unloading(dented):
    _, found = dented
    assert found.multipliers.size == 4 and found.displacement.size == 2
    # it comes again, dents, resonators and all
    result = found.result
    ends = [*result.final_displacement, *result.final_resonator_displacement]
    assert np.abs(ends - found.displacement).max() <= 1e-14
    assert found.energy_in == pytest.approx(found.energy_lost, rel=1e-4)


def test_a_branch_ends_where_a_dent_grows(dented):
    case, found = dented
    key, limits = "ends.left.amplitude", found.result.elastic_limit
    branch = gc.continuation(case, found, along=key, stop=9e-7)
    point = branch.points[-1]
    assert point.kind == "growing dent" and f"contact {point.contact} grows" in branch.messages[0]
    assert point.orbit.touches == (point.contact,) and branch.points[-2].orbit.touches == ()
    assert branch.to_xarray().displacement.dims == ("point", "body")
    below, above = (
        gc.orbit(case.replace(**{key: part * point.parameter}), guess=found)
        for part in (0.99, 1.01)
    )
    assert below.settled == 0 and (below.result.elastic_limit == limits).all()
    assert above.settled > 0 and above.result.elastic_limit[point.contact] > limits[point.contact]
    for changes, along, sentence in (
        ({}, "chain.precompression", "along: got chain.precompression, with which contacts change"),
        ({"contact.psi": 2.9}, key, "orbit: got one of other contacts"),
    ):
        with pytest.raises(CaseError, match=sentence):
            gc.continuation(case.replace(**changes), found, along=along, stop=25.0)


def test_an_orbit_that_its_chain_comes_to_from_below_touches_its_dents(dented, monkeypatch):
    # overdamped, so that no push is larger than those of the orbit
    slow = {"chain.drag": 1e6, "chain.resonator": RESONATOR | {"damping": 200.0}}
    case = dented[0].replace(**slow)
    found = gc.orbit(case)
    assert found.touches == (0,) and found.settled > 10 and found.residual <= 1e-8
    # a run that goes on from it grows no dent by more
    state = gc.orbit(case, guess=found.result)
    assert state.settled == 0 and state.begun == "a run of ma-liu"
    assert state.result.elastic_limit == pytest.approx(found.result.elastic_limit, rel=1e-11)
    monkeypatch.setattr("granchain.studies.settling.MOST_PERIODS", 5)
    with pytest.raises(RunError, match="contacts that still change after 5 periods") as error:
        gc.orbit(case)
    assert error.value.result.elastic_limit[0] < found.result.elastic_limit[0]


@pytest.mark.long
def test_orbits_of_longer_rows_are_those_of_an_integration():
    settled_orbit_is_that_of_its_dents(row(6, 8e3, 3e-7))
    stiffness = STIFFNESS * np.array([math.sqrt(2.0), *[1.0] * 3, math.sqrt(2.0)])
    zero = (LOAD / stiffness) ** (2.0 / 3.0)
    for contact, resonator in (
        ({"law": "hertz"}, RESONATOR),
        ({"law": "tsuji", "restitution": 0.9}, None),
    ):
        case = row(4, 8e3, 1e-7, contact)
        if resonator:
            case = case.replace(**{"chain.resonator": resonator})
        found, state, values = extrapolated(case, None)
        dashpot = np.zeros(5) if resonator else prepare(case)[1].c[1, :5]
        known = by_integration(case, found, (stiffness, np.zeros(5), dashpot), zero, resonator)
        check(found, state, values, *known)
        assert found.energy_in == pytest.approx(found.energy_lost, rel=1e-4)


@pytest.mark.long
def test_contacts_that_come_to_remember_something_else_in_an_orbit_are_refused():
    own = {"law": "flores", "restitution": 0.8, "impact_speed": "onset"}
    with pytest.raises(RunError, match="come to remember another impact_speed") as error:
        gc.orbit(row(2, 2.8e4, 2e-6, own))
    assert error.value.result.displacement.shape[1] == 2
