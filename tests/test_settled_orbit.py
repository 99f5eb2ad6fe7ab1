"""Orbits of rows with contact history or resonators, against the integration of variational
equations."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from support.shaken import orbit_by_integration, shaken_row

import granchain as gc
from granchain.errors import CaseError, RunError

DRAG = 2e3
MA_LIU = {"law": "ma-liu", "psi": 3.0, "xi": 13.0}
RESONATOR = {"mass": 0.2e-3, "stiffness": 3e6, "damping": 0.3}


def row(beads, frequency, amplitude, contact=MA_LIU, **changes):
    """Return steel beads between walls under 20 N, where the left wall is shaken."""
    return shaken_row(beads, frequency, amplitude, DRAG, contact=contact, **changes)


def extrapolated(case, guess):
    """Return state and multipliers of an orbit, extrapolated from its step and half of it."""
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


def dents_of(result):
    """Return unloading stiffness, residual overlap, and static overlap of the contacts."""
    held = np.concatenate([[0.0], result.displacement[0], [0.0]])
    zero = result.contact_overlap[0] + np.diff(held)
    return result.unloading_stiffness, result.residual_overlap, zero


def settled_before(case):
    """Return an orbit whose dents formed under a stronger drive than that of the case."""
    strong = case.replace(**{"ends.left.amplitude": 1.5 * case.ends.left.amplitude})
    told = []
    first = gc.orbit(strong, progress=lambda *runs: told.append(runs))
    # progress is reported for each period of settling, and for ten further periods
    done = [0, *(one for one, _ in told)]
    assert np.count_nonzero(np.diff(done) == 1) >= first.settled + 10 and told[-1][0] == told[-1][1]
    assert first.settled > 0 and f"run for {first.settled} period" in first.begun
    return first


def settled_orbit_is_that_of_its_dents(case):
    """Check an orbit with dents that a stronger drive has formed."""
    first = settled_before(case)
    found, state, values = extrapolated(case, first)
    assert not found.touches.any() and found.begun == "an orbit of ma-liu"
    result = found.result
    peaks = result.contact_overlap.max(axis=0)
    assert (peaks <= (1.0 - 1e-3) * result.elastic_limit).all()
    # the dents are those of the stronger drive
    assert (result.elastic_limit == first.result.elastic_limit).all()
    assert (result.residual_overlap == first.result.residual_overlap).all()
    check(found, state, values, *orbit_by_integration(case, found, 1e-11, dents_of(result)))
    return found


@pytest.fixture(scope="module")
def dented():
    """A case, and its orbit with dents from a stronger drive."""
    case = row(1, 2.5e4, 3e-7, **{"time.step": 1e-7, "chain.resonator": RESONATOR})
    return case, gc.orbit(case, guess=settled_before(case))


@pytest.mark.long
def test_an_orbit_in_settled_dents_comes_again(plain_loop):
    # strong drag, so that the dents settle soon; forty steps per period
    soon = {"chain.drag": 2e5, "time.step": 1e-6, "chain.resonator": RESONATOR}
    case = row(1, 2.5e4, 3e-7, **soon)
    first = settled_before(case)
    found = gc.orbit(case, guess=first)
    assert found.settled == 0 and found.begun == "an orbit of ma-liu"
    assert not found.touches.any()
    assert (found.result.elastic_limit == first.result.elastic_limit).all()
    assert found.multipliers.size == 4 and found.displacement.size == 2
    # dents, resonators and beads repeat after a period
    result = found.result
    ends = [*result.final_displacement, *result.final_resonator_displacement]
    assert np.abs(ends - found.displacement).max() <= 1e-14
    # of order two in the step; measured 4.1e-3
    assert found.energy_in == pytest.approx(found.energy_lost, rel=5e-3)


@pytest.mark.long
def test_a_contact_that_has_lost_its_force_is_open_though_it_overlaps_in_its_dent():
    soon = {"chain.drag": 2e5, "time.step": 1e-6, "chain.resonator": RESONATOR}
    case, key = row(1, 2.5e4, 3.08e-6, **soon), "ends.left.amplitude"
    found = gc.orbit(case, guess=gc.orbit(case.replace(**{key: 4e-6})))
    assert found.settled == 0 and found.result.contact_force[:, 0].min() == 0.0
    assert found.result.contact_overlap.min() > 0.0 and list(found.contact[found.opens]) == [0]
    branch = gc.continuation(case, found, along=key, stop=3.07e-6)
    lowest = found.result.contact_overlap.min(axis=0) - found.result.residual_overlap
    assert branch.points[0].lowest == pytest.approx(lowest, abs=1e-8)


@pytest.mark.long
def test_an_orbit_in_settled_dents_is_that_of_an_integration(dented):
    settled_orbit_is_that_of_its_dents(dented[0])


@pytest.mark.long
def test_a_branch_ends_where_a_dent_grows(dented, tmp_path):
    case, found = dented
    key, limits = "ends.left.amplitude", found.result.elastic_limit
    branch = gc.continuation(case, found, along=key, stop=9e-7)
    point = branch.points[-1]
    assert point.kind == "growing dent" and f"contact {point.contact} grows" in branch.messages[0]
    touches = point.orbit.touches
    assert list(point.orbit.contact[touches]) == [point.contact]
    assert not branch.points[-2].orbit.touches.any()
    # the file contains the dents, which its orbits require
    branch.save(tmp_path / "branch.h5")
    opened = gc.open(tmp_path / "branch.h5")
    assert opened.equals(branch) and (opened.history_elastic_limit == limits).all()
    assert opened.points[-1].orbit.multipliers == pytest.approx(point.orbit.multipliers)
    assert branch.to_xarray().displacement.dims == ("point", "body")
    below, above = (
        gc.orbit(case.replace(**{key: part * point.parameter}), guess=found)
        for part in (0.99, 1.01)
    )
    assert below.settled == 0 and (below.result.elastic_limit == limits).all()
    assert above.settled > 0 and above.result.elastic_limit[point.contact] > limits[point.contact]
    for changes, along, sentence in (
        ({}, "chain.precompression", "along: chain.precompression changes contacts"),
        ({"contact.psi": 2.9}, key, "orbit: its contacts differ"),
    ):
        with pytest.raises(CaseError, match=sentence):
            gc.continuation(case.replace(**changes), found, along=along, stop=25.0)


@pytest.mark.long
def test_an_orbit_that_its_chain_comes_to_from_below_touches_its_dents(dented, monkeypatch):
    # overdamped, so that no displacement exceeds those of the orbit
    slow = {"chain.drag": 1e6, "chain.resonator": RESONATOR | {"damping": 200.0}}
    case = dented[0].replace(**slow)
    found = gc.orbit(case)
    assert list(found.contact[found.touches]) == [0]
    assert found.settled > 10 and found.residual <= 1e-8
    # the multipliers are those of perturbations towards smaller overlaps
    known = orbit_by_integration(case, found, 1e-11, dents_of(found.result))[1]
    assert np.abs(known - found.multipliers[0]).min() <= 1.1 * found.multiplier_error
    # a run that continues from this state does not increase any dent
    state = gc.orbit(case, guess=found.result)
    assert state.settled == 0 and state.begun == "a run of ma-liu"
    assert state.result.elastic_limit == pytest.approx(found.result.elastic_limit, rel=1e-11)
    monkeypatch.setattr("granchain.orbits.driven.MOST_PERIODS", 5)
    with pytest.raises(RunError, match=r"after 5 periods .* the contacts still change") as error:
        gc.orbit(case)
    assert error.value.result.elastic_limit[0] < found.result.elastic_limit[0]


@pytest.mark.long
def test_orbits_of_longer_rows_are_those_of_an_integration():
    settled_orbit_is_that_of_its_dents(row(6, 8e3, 3e-7))
    case = row(4, 8e3, 1e-7, {"law": "hertz"}, **{"chain.resonator": RESONATOR})
    found, state, values = extrapolated(case, None)
    check(found, state, values, *orbit_by_integration(case, found, 1e-11))
    assert found.energy_in == pytest.approx(found.energy_lost, rel=1e-4)


@pytest.mark.long
def test_contacts_that_come_to_remember_something_else_in_an_orbit_are_refused():
    own = {"law": "flores", "restitution": 0.8, "impact_speed": "onset"}
    own["impact_speed_floor"] = 1e-3
    with pytest.raises(RunError, match="change their impact_speed") as error:
        gc.orbit(row(2, 2.8e4, 2e-6, own))
    assert error.value.result.displacement.shape[1] == 2
