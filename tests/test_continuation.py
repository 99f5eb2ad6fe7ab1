"""Branches of orbits and their special points, compared with an independent variational
integration."""

import copy
import json
import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from support.refused import assert_refused, refused
from support.shaken import by_integration, long_steps, orbit_by_integration, shaken_row

import granchain as gc
from granchain.contact import laws
from granchain.errors import CaseError, FileError, LawError, RunError
from granchain.orbits import continuation as module
from granchain.orbits.shooting import newton_correction

# rows at "fast" run quickly, and are compared at that step
pytestmark = pytest.mark.filterwarnings("ignore:time.step:granchain.errors.GranchainWarning")


def row(beads, frequency, drag, amplitude=1e-9, both=False, **changes):
    """Return steel beads between walls under 20 N, with an oscillating left wall, or both walls
    towards each other."""
    case = shaken_row(beads, frequency, amplitude, drag, **{"time.step": "fast"})
    if both:
        case = case.replace(ends={"left": case.ends.left, "right": case.ends.left})
    return case.replace(**changes)


def integrated(case, point):
    """Return the closing error of an orbit and its Jacobian, from integrated equations."""
    state = np.concatenate([point.displacement, point.velocity])
    return by_integration(case, state, point.period)


def kinds(branch):
    return [one.kind for one in branch.special]


def test_a_branch_turns_at_a_fold_and_comes_back_unstable():
    case = row(2, 28.36e3, 1.5e3, 5e-8)
    branch = gc.continuation(case, gc.orbit(case), along="ends.left.frequency", stop=29e3)
    assert kinds(branch) == ["fold"]
    (fold,) = branch.special
    assert max(one.parameter for one in branch.points) == pytest.approx(fold.parameter, rel=1e-5)
    assert abs(fold.multipliers[0] - 1.0) <= 1e-4
    at = branch.points.index(fold)
    assert all(one.stable for one in branch.points[:at])
    # near the fold, the error of the multiplier is large
    assert not any(one.stable for one in branch.points[at + 3 :])
    assert branch.points[0].parameter == branch.points[-1].parameter == 28.36e3
    assert [said.partition(",")[0] for said in branch.messages] == [
        "the branch turned and returned to its start"
    ]
    # a run would leave the orbit, but it closes
    last = branch.points[-3]
    varied = case.replace(**{"ends.left.frequency": last.parameter})
    apart, jacobian = integrated(varied, last)
    assert np.abs(apart[:2]).max() <= 3e-3 * last.excursion.max()
    assert np.abs(np.linalg.eigvals(jacobian)).max() == pytest.approx(
        abs(last.multipliers[0]), abs=5e-3
    )
    orbit = last.orbit
    assert orbit.multipliers == pytest.approx(last.multipliers) and not orbit.stable
    data = branch.to_xarray()
    assert data.sizes["point"] == len(branch.points) and data.displacement.dims == ("point", "bead")


@pytest.mark.long
def test_a_branch_goes_on_from_the_part_of_its_file(tmp_path, monkeypatch):
    long_steps(monkeypatch)
    case, out = row(2, 28.36e3, 1.5e3, 5e-8), tmp_path / "branch.h5"
    found, way = gc.orbit(case), {"along": "ends.left.frequency", "stop": 28.5e3}
    unbroken = gc.continuation(case, found, **way)
    named, steps = module.Path.special_points, iter(range(2))

    def few(path, node, after, length):
        if next(steps, None) is None:
            raise KeyboardInterrupt
        return named(path, node, after, length)

    with monkeypatch.context() as patch:
        patch.setattr(module.Path, "special_points", few)
        broken = gc.continuation(case, found, **way, out=out)
    assert broken.interrupted and 1 < len(broken.points) < len(unbroken.points)
    assert not out.exists()
    with pytest.raises(FileError, match="unfinished"):
        gc.continuation(case, found, **way, out=out)
    with pytest.raises(CaseError, match="another case, key, or range"):
        gc.continuation(case, found, **way | {"stop": 28.6e3}, out=out, resume=True)
    # another orbit of the case is refused too
    other, moved = copy.copy(found), found.variables["displacement"]
    other.variables = found.variables | {"displacement": replace(moved, data=2.0 * moved.data)}
    with monkeypatch.context() as patch, pytest.raises(CaseError, match="or from another orbit"):
        patch.setattr(module.Path, "correct", lambda path, z, *_: (z, 1))
        gc.continuation(case, other, **way, out=out, resume=True)

    def full(*_):
        raise FileError("the disk is full")

    # the last orbit is in the partial file
    with monkeypatch.context() as patch, pytest.raises(FileError, match="full"):
        patch.setattr(gc.Branch, "save", full)
        gc.continuation(case, found, **way, out=out, resume=True)
    whole = gc.continuation(case, found, **way, out=out, resume=True)
    assert [p.name for p in tmp_path.iterdir()] == ["branch.h5"] and not whole.interrupted
    # the scale of the states is applied at each step, so they agree within rounding and not bitwise
    for name in ("parameter", "displacement", "multipliers", "lowest"):
        one, other = (getattr(branch, name) for branch in (whole, unbroken))
        assert one.shape == other.shape
        assert np.abs(one - other).max() <= 1e-6 * np.abs(other).max()
    again = gc.continuation(case, found, **way, out=out, resume=True)
    assert again.equals(whole)
    assert again.points[-1].orbit.multipliers == pytest.approx(whole.points[-1].multipliers)
    with pytest.raises(CaseError, match="another case, key, or range"):
        gc.continuation(case, found, **way | {"stop": 28.6e3}, out=out, resume=True)


@pytest.mark.long
@pytest.mark.usefixtures("blank_pictures")
def test_an_opened_branch_computes_its_orbits_and_is_plotted(tmp_path, monkeypatch):
    long_steps(monkeypatch)
    case, out, along = row(1, 81.5e3, 5e2), tmp_path / "branch.h5", "ends.left.amplitude"
    found = gc.orbit(case)
    way = {"along": along, "stop": 8e-8}
    branch = gc.continuation(case, found, **way)
    branch.save(out)
    opened = gc.open(out)
    assert opened.equals(branch) and opened.unit == "m" and kinds(opened) == ["period doubling"]
    for one, other in zip(opened.points, branch.points, strict=True):
        assert one.parameter == other.parameter and one.contact == other.contact
        assert one.multipliers.tobytes() == other.multipliers.tobytes()
    # the same computation
    assert opened.points[-1].orbit.equals(branch.points[-1].orbit)
    assert opened.switch(opened.special[0]).equals(branch.switch(branch.special[0]))
    gc.figures.bifurcation(opened, bead=1)
    # the case is that of the last orbit, and the case of the start is in the provenance
    assert opened.case.ends.left.amplitude == branch.points[-1].parameter
    start = json.loads(opened.provenance["start_case_json"])
    assert start["tables"]["ends"]["left"]["amplitude"] == branch.points[0].parameter
    last = gc.orbit(opened.case, guess=opened.points[-1].orbit)
    assert last.shots == 1
    # a branch that was saved separately is complete
    assert gc.continuation(case, found, **way, out=out, resume=True).equals(branch)
    # a branch that another source computed is refused
    changed = gc.open(out)
    changed.provenance["source_hash"] = "0" * 64
    changed.save(out, overwrite=True)
    with pytest.raises(CaseError, match=r"another source of granchain, version .*, hash 0000"):
        gc.continuation(case, found, **way, out=out, resume=True)
    # an interrupted branch is refused too
    stopped = replace(changed.variables["interrupted"], data=np.array(True))
    changed.variables = changed.variables | {"interrupted": stopped}
    changed.save(out, overwrite=True)
    with pytest.raises(CaseError, match="contains an interrupted branch"):
        gc.continuation(case, found, **way, out=out, resume=True)
    # and so is one without its kinds of points
    del changed.variables["kind"]
    changed.save(out, overwrite=True)
    with pytest.raises(FileError, match="kind"):
        gc.continuation(case, found, **way, out=out, resume=True)
    # the file of an orbit is not a branch
    found.save(out, overwrite=True)
    with pytest.raises(FileError, match=r"contains Orbit\. It must contain Branch"):
        gc.continuation(case, found, **way, out=out, resume=True)


def test_the_unit_of_a_branch_over_the_drag_is_complete(monkeypatch):
    long_steps(monkeypatch)
    case = row(1, 1e4, 1500.0)
    branch = gc.continuation(case, gc.orbit(case), along="chain.drag", stop=1600.0)
    assert branch.unit == branch.variables["parameter"].unit == "1/s"


@pytest.mark.parametrize("whole", [False, True])
def test_a_branch_is_not_resumed_with_an_edited_law(whole, tmp_path, monkeypatch):
    long_steps(monkeypatch)
    start = 7.7e9
    case = row(1, 10e3, 1.5e3, **{"contact.law": "hertz", "contact.stiffness": start})
    out, found = tmp_path / "branch.h5", gc.orbit(case)
    way = {"along": "contact.stiffness", "stop": 1.01 * start, "out": out}
    steps = iter(range(10 if whole else 1))
    named = module.Path.special_points

    def few(path, node, after, length):
        if next(steps, None) is None:
            raise KeyboardInterrupt
        return named(path, node, after, length)

    with monkeypatch.context() as patch:
        patch.setattr(module.Path, "special_points", few)
        gc.continuation(case, found, **way)
    assert out.exists() == whole
    hertz = laws()["hertz"]
    before = hertz.coefficients_of

    def edited(pair, inputs):
        # the first orbit is unchanged
        (stiffness,) = before(pair, inputs)
        return (np.where(stiffness > 1.0001 * start, 1.001 * stiffness, stiffness),)

    with monkeypatch.context() as patch:
        patch.setattr(hertz, "coefficients_of", staticmethod(edited))
        with pytest.raises(
            LawError,
            match="the branch was computed with another law: the law hertz has changed since",
        ):
            gc.continuation(case, found, **way, resume=True)
    # the law that computed the orbits is accepted
    assert not gc.continuation(case, found, **way, resume=True).interrupted


@pytest.mark.long
def test_a_contact_that_begins_to_open_is_named():
    case = row(1, 40.7e3, 1e3, 2e-8, both=True)
    branch = gc.continuation(case, gc.orbit(case), along="ends.left.amplitude", stop=1.6e-7)
    assert kinds(branch)[0] == "grazing"
    point = branch.special[0]
    at = branch.points.index(point)
    before, after = branch.points[at - 1], branch.points[at + 1]
    assert abs(point.lowest[point.contact]) <= 1e-12 < before.lowest[point.contact]
    assert after.lowest[point.contact] <= 0.0
    # the step is short there
    assert abs(after.parameter - before.parameter) <= 2e-3 * 1.4e-7


@pytest.mark.long
def test_a_period_doubles_and_the_branch_of_the_double_period_is_found(monkeypatch):
    case = row(1, 81.5e3, 5e2)
    orbit = gc.orbit(case)
    branch = gc.continuation(case, orbit, along="ends.left.amplitude", stop=8e-8)
    assert kinds(branch) == ["period doubling"]
    (point,) = branch.special
    assert [one.stable for one in branch.points[:2]] == [True, True]
    assert not branch.points[-1].stable
    _, jacobian = integrated(case.replace(**{"ends.left.amplitude": point.parameter}), point)
    assert np.abs(np.linalg.eigvals(jacobian) + 1.0).min() <= 2e-3
    other = branch.switch(point)
    off = np.abs(np.linalg.eigvals(jacobian)).max() - abs(point.multipliers[0])
    assert abs(off) <= point.modulus_error
    assert len(branch.points) <= 36
    assert other.period == pytest.approx(2.0 * point.period, rel=1e-12)
    assert other.residual <= 1e-8 and other.begun.startswith("a period doubling at")
    halfway = other.result.displacement[len(other.result.displacement) // 2]
    excursion = np.abs(other.result.displacement).max()
    assert np.abs(halfway - other.displacement).max() > 0.1 * excursion
    followed = gc.continuation(case, other, along="ends.left.amplitude", stop=1e-8)
    assert followed.points[0].period == other.period and len(followed.points) > 5
    # the state of a linear chain is proportional to the amplitude: half of the squared length of
    # the first step belongs to the state
    first = branch.points[1].parameter - branch.points[0].parameter
    assert first == pytest.approx(module.FIRST / math.sqrt(2.0) * 7.9e-8, rel=1e-3)
    # a state twice as large as the range is rescaled, and does not change
    path = branch.points[0].path
    node = path.node(path.coordinates(branch.points[-1]), np.array([0.0, 0.0, 1.0]))
    node.z[:-1] *= 2.0
    state = path.state(node.z)
    assert np.linalg.norm(path.rescale(node).z[:-1]) == pytest.approx(1.0)
    assert path.state(node.z) == pytest.approx(state)
    # if a point cannot be found within a step, it is at the end of the step
    with monkeypatch.context() as patch:
        patch.setattr(path, "step", lambda *_: newton_correction(np.zeros((3, 3)), np.ones(3)))
        assert path.locate(node, other, 1.0, lambda one: 1.0 if one is node else -1.0) is other
    # at the start, the state and the parameter change equally along the branch
    steep = replace(node, z=1e-3 * node.z, tangent=np.array([0.6, 0.0, 0.8]))
    monkeypatch.setattr(path, "correct", lambda z, *_: (z, 1))
    monkeypatch.setattr(path, "node", lambda *_: steep)
    path.weight = np.ones(3)
    assert path.first_node(orbit).tangent == pytest.approx([math.sqrt(0.5), 0.0, math.sqrt(0.5)])


def test_a_branch_over_a_phase_is_of_the_orbits_at_its_phases(monkeypatch):
    long_steps(monkeypatch)
    push = {"drive": "force", "signal": "harmonic", "amplitude": 0.1, "frequency": 2e4}
    drives = [push | {"bead": bead, "phase": phase} for bead, phase in ((1, 0.5), (2, 1.0))]
    case, along = row(2, 2e4, 2e3, **{"ends.left": "wall", "drive": drives}), "drive.1.phase"
    branch = gc.continuation(case, gc.orbit(case), along=along, stop=1.5)
    assert [branch.points[k].parameter for k in (0, -1)] == [1.0, 1.5]
    # after 400 periods, at zero phase of the first drive
    time = (400.0 - 0.5 / (2.0 * math.pi)) / 2e4
    for point in (branch.points[0], branch.points[-1]):
        known = gc.run(case.replace(**{along: point.parameter, "time.end": time}))
        off = np.abs(point.displacement - known.final_displacement).max()
        assert off <= 1e-3 * point.excursion.max()


@pytest.mark.long
def test_a_pair_of_multipliers_leaves_the_circle_where_two_modes_are_driven_together():
    case = row(2, 7.5e4, 1.5e3)
    branch = gc.continuation(case, gc.orbit(case), along="ends.left.amplitude", stop=3e-7)
    assert kinds(branch) == ["Neimark-Sacker"]
    (point,) = branch.special
    assert np.abs(point.multipliers[:2]) == pytest.approx([1.0, 1.0], abs=1e-5)
    known = integrated(case.replace(**{"ends.left.amplitude": point.parameter}), point)[1]
    assert np.abs(np.linalg.eigvals(known)).max() == pytest.approx(1.0, abs=3e-3)
    with pytest.raises(CaseError, match="point: kind Neimark-Sacker is not valid"):
        branch.switch(point)


@pytest.mark.long
def test_a_driven_bead_jumps_up_and_down_where_one_was_measured():
    """Compare with the public folder of Lydon, Serra-Garcia & Daraio.

    The folder (github.com/Daraio-lab/Lydon_PRE_2015, SingleBead/OscilliscopeSnapshots/Data,
    DriveFreqNormalizedPower) contains the amplitudes, at 0.75 um per volt, between which the bead
    jumps, and the fraction of the power at the driving frequency. The drag and the unit are those
    of docs/explanation/boundaries.md.
    """
    unit, along = 1.775e-6, "ends.left.amplitude"

    def bead(plotted):
        swings = {"drive": "displacement", "signal": "harmonic", "frequency": 6850.0}
        return gc.Case(
            chain={
                "beads": 1, "radius": 9.525e-3, "mass": 0.028, "material": "steel-316",
                "precompression": 4.5, "drag": 1470.0,
            },
            ends={"left": swings | {"amplitude": plotted * unit}, "right": "free"},
            contact={"law": "hertz"}, time={"end": 1e-3, "step": "fast"},
        )  # fmt: skip

    low = gc.continuation(bead(0.05), gc.orbit(bead(0.05)), along=along, stop=0.08 * unit)
    assert kinds(low) == ["period doubling"]
    (up,) = low.special
    start = bead(up.parameter / unit)
    back = gc.continuation(start, low.switch(up), along=along, stop=0.02 * unit)
    (down,) = (one for one in back.special if one.kind == "fold")
    # the bead leaves a state slightly before its end (6 %, our choice) and never after it: between
    # 0.0690 and 0.0713 um on the way up, and between 0.0457 and 0.0435 um on the way down
    assert 0.0713 <= up.parameter / unit <= 1.06 * 0.069
    assert 0.0457 / 1.06 <= down.parameter / unit <= 0.0435
    last = back.points[-1]
    high = gc.continuation(bead(last.parameter / unit), last.orbit, along=along, stop=0.0976 * unit)
    held = sorted((one.parameter / unit, share_of_two(one.orbit)) for one in high.points)
    measured = {0.075: 0.0604, 0.078: 0.0582, 0.08475: 0.0628, 0.0915: 0.0683, 0.0975: 0.0707}
    for plotted, part in measured.items():
        assert np.interp(plotted, *np.transpose(held)) == pytest.approx(part, abs=0.003)


def share_of_two(orbit):
    """Return the fraction of the power of the velocity at the driving frequency, for an orbit of
    two periods."""
    power = np.abs(np.fft.rfft(orbit.result.velocity[:-1, 0])) ** 2
    return power[2] / power[1:].sum()


def test_a_symmetric_row_loses_its_symmetry_at_a_pitchfork():
    case = row(1, 40.5e3, 5e3, 7e-7, both=True)
    branch = gc.continuation(case, gc.orbit(case), along="chain.drag", stop=1e3)
    assert kinds(branch) == ["pitchfork"]
    (point,) = branch.special
    assert np.abs(point.displacement).max() <= 1e-12
    known = integrated(case.replace(**{"chain.drag": point.parameter}), point)[1]
    assert np.abs(np.linalg.eigvals(known) - 1.0).min() <= 2e-3
    other = branch.switch(point)
    assert np.abs(other.displacement).max() >= 1e-9 and other.residual <= 1e-8


def test_the_error_of_an_orbit_is_of_order_two_in_the_step_and_covered():
    case = row(2, 2e4, 3e3, 2e-7, **{"time.step": "auto"})
    found = [gc.orbit(case)]
    for part in (2.0, 4.0):
        step = found[0].result.time_step / part
        found.append(gc.orbit(case.replace(**{"time.step": step}), guess=found[-1]))
    for numbers in ([one.displacement for one in found], [one.multipliers[0] for one in found]):
        changes = [np.abs(a - b).max() for a, b in pairwise(numbers)]
        assert math.log2(changes[0] / changes[1]) == pytest.approx(2.0, abs=0.15)
    known = np.linalg.eigvals(integrated(case, found[0])[1])
    assert np.abs(known - found[0].multipliers[0]).min() <= 1.05 * found[0].multiplier_error


@pytest.mark.long
def test_an_orbit_whose_contacts_open_has_its_multiplier_within_its_error():
    case = row(2, 29e3, 1.5e3, 5e-8)
    branch = gc.continuation(case, gc.orbit(case), along="ends.left.frequency", stop=28.1e3)
    found = branch.points[-1].orbit
    varied = case.replace(**{"ends.left.frequency": 28.1e3})
    assert found.opens.any() and found.residual <= 1e-8
    known = orbit_by_integration(varied, found)[1]
    assert np.abs(known - found.multipliers[0]).min() <= 1.05 * found.multiplier_error


@pytest.mark.long
def test_the_error_of_a_row_of_unequal_beads_whose_contacts_open_covers_half_the_step():
    # one of several random rows, with all digits: an opening contact makes the result irregular
    factors = [3.726802070213352, 14.810148752525373, 19.606940558306942, 9.937910682467624]
    law = {"law": "power", "stiffness": 4989679355443.929, "exponent": 2.006485420139168}
    law |= {"restitution": 0.5457346882712844, "impact_speed": 0.09998332996741457}
    shaken = {"drive": "force", "signal": "harmonic", "amplitude": 32.85394530907521}
    changes = {
        "ends.right": "free",
        "drive": [shaken | {"bead": 2, "frequency": 27862.329708771314}],
        "chain.precompression": 33.7303824247977,
        "chain.mass_factor": [*factors, 2.4571185914864633],
        "chain.on_site_stiffness": 13608.07558897782,
        "time.step": "auto",
    }
    frequency, drag, amplitude = 18574.88647251421, 212.90916081343596, 3.1124386828126696e-06
    case = row(5, frequency, drag, amplitude, contact=law, **changes)
    way = {"period": 2.0 / frequency}
    found = gc.orbit(case, **way)
    assert list(found.contact[found.opens]) == [0]
    half = {"time.step": 0.5 * found.result.time_step}
    finer = gc.orbit(case.replace(**half), guess=found, **way)
    assert np.abs(finer.multipliers - found.multipliers[0]).min() <= found.multiplier_error


def test_what_cannot_be_followed_is_refused_with_a_sentence(monkeypatch):
    case = row(1, 2e4, 2e3)
    orbit = gc.orbit(case)
    rows = refused("continuation").values()
    assert_refused(lambda given: gc.continuation(case, orbit, **given), rows)
    # a limit of the case is reached
    damped, key = case.replace(**{"chain.on_site_damping": 0.5}), "chain.on_site_damping"
    branch = gc.continuation(damped, gc.orbit(damped), along=key, stop=0.0)
    assert branch.points[-1].parameter == 0.0 and not branch.messages
    # if the frequency of one of two drives varies, no orbit has the period of both
    shaken = {"bead": 1, "drive": "force", "signal": "harmonic", "amplitude": 1e-2}
    two = case.replace(drive=[shaken | {"frequency": 2e4}])
    with pytest.raises(CaseError, match="have no common period"):
        gc.continuation(two, orbit, along="ends.left.frequency", stop=2.2e4)
    with pytest.raises(CaseError, match=r"orbit: str is not valid. An Orbit"):
        gc.continuation(case, "guess", along="chain.drag", stop=1e3)
    for other in (row(2, 2e4, 2e3), case.replace(**{"ends.left": "wall"})):
        with pytest.raises(CaseError, match="orbit: the orbit has 1 beads, but the chain has"):
            gc.continuation(other, orbit, along="chain.drag", stop=1e3)
    # at this point, the derivative of the equations is singular up to rounding
    monkeypatch.setattr(module.Path, "bordered_jacobian", lambda *_: np.zeros((3, 3)))
    with pytest.raises(RunError, match=r"no branch starts at the orbit at chain\.drag = 2000"):
        gc.continuation(case, orbit, along="chain.drag", stop=1e3)
