"""Breathers of a conservative chain, compared with an independent harmonic balance."""

import math

import numpy as np
import pytest
from scipy.optimize import root
from support.shaken import MASS, STIFFNESS, by_integration, long_steps, shaken_row

import granchain as gc
from granchain.errors import CaseError, RunError
from granchain.orbits.shooting import newton

RADIUS, LOAD, BEADS = 9.53e-3, 20.0, 7
# Young's modulus [Pa], Poisson's ratio, density [kg/m3] of 6061-T6 and 316, as in the named
# materials
KINDS = ("aluminium-6061-t6", "steel-316")
AMPLITUDES = (2e-7, 6e-7, 1.2e-6)


def diatomic(beads=BEADS, right="wall", **changes):
    """Return alternating aluminium and steel beads between walls under 20 N."""
    cell = [{"count": 1, "material": kind} for kind in KINDS]
    case = gc.Case(
        chain={"radius": RADIUS, "segment": (cell * beads)[:beads], "precompression": LOAD},
        contact={"law": "hertz"},
        ends={"left": "wall" if right == "wall" else "free", "right": right},
        time={"end": 1e-3},
    )
    return case.replace(**changes)


def edge_mode(case):
    """Return the first mode above the gap."""
    found = gc.modes(case)
    above = int(np.diff(found.frequencies).argmax()) + 1
    return found.frequencies[above], found.shapes[above], found.frequencies[above - 1]


def started(case, amplitude):
    return case.replace(initial={"displacement": (amplitude * edge_mode(case)[1]).tolist()})


@pytest.fixture(scope="module")
def family():
    case, found = diatomic(), []
    state = edge_mode(case)[1]
    for amplitude in AMPLITUDES:
        u = amplitude * state / np.abs(state).max()
        begun = case.replace(initial={"displacement": u.tolist()})
        found.append(gc.orbit(begun, hold="amplitude"))
        state = found[-1].displacement
    return found


def springs(beads):
    """Return K = (4/3) E* sqrt(R*) of each contact; at a wall of the bead's material, R* = R."""
    modulus = []
    for left, right in [(0, 0), *[(i, i + 1) for i in range(beads - 1)], (beads - 1,) * 2]:
        one, other = (gc.materials()[KINDS[i % 2]] for i in (left, right))
        modulus.append(
            1.0 / sum((1.0 - m.poissons_ratio**2) / m.youngs_modulus for m in (one, other))
        )
    radius = RADIUS * np.array([1.0, *[0.5] * (beads - 1), 1.0])
    return 4.0 / 3.0 * np.array(modulus) * np.sqrt(radius)


def by_harmonic_balance(orbit, harmonics=16, instants=64):
    """Return the frequency [Hz] of the breather with the largest displacement of an orbit.

    The motion is a Fourier series in time with cosines only, because it is at rest at its turning
    point, and the forces are computed at instants.
    """
    mass, stiffness = orbit.result.mass, springs(BEADS)
    rest = (LOAD / stiffness) ** (2.0 / 3.0)
    phase = math.pi * (np.arange(instants) + 0.5) / instants
    waves = np.cos(np.outer(np.arange(harmonics + 1), phase))
    weight = np.full(harmonics + 1, 2.0 / instants)
    weight[0] = 1.0 / instants
    bead = int(np.abs(orbit.displacement).argmax())
    size = orbit.displacement[bead]

    def series(x):
        return size * x[:-1].reshape(harmonics + 1, BEADS)

    def off(x):
        c, turn = series(x), 2.0 * math.pi * x[-1] / orbit.period
        u = waves.T @ c
        overlap = np.maximum(rest - np.diff(u, axis=1, prepend=0.0, append=0.0), 0.0)
        force = stiffness * overlap**1.5
        pushed = force[:, :-1] - force[:, 1:]
        balance = weight[:, None] * (waves @ pushed)
        balance += mass * (np.arange(harmonics + 1)[:, None] * turn) ** 2 * c
        return np.append(balance.ravel() / LOAD, c[:, bead].sum() / size - 1.0)

    t = orbit.result.snapshot_time / orbit.period
    u = np.array(
        [np.interp(phase / (2.0 * math.pi), t, one) for one in orbit.result.displacement.T]
    )
    first = (weight[:, None] * (waves @ u.T)) / size
    found = root(off, np.append(first.ravel(), 1.0), method="hybr", tol=1e-12)
    assert np.abs(found.fun).max() <= 1e-9
    return found.x[-1] / orbit.period


def test_a_breather_goes_into_the_gap_as_harmonic_balance_has_it(family):
    upper, _, lower = edge_mode(diatomic())
    known = [by_harmonic_balance(one) for one in family]
    assert upper > known[0] > known[1] > known[2] > lower
    for orbit, frequency in zip(family, known, strict=True):
        off = abs(1.0 / orbit.period - frequency)
        assert off == pytest.approx(orbit.period_error / orbit.period**2, rel=0.1)
        assert orbit.residual <= 1e-8
    # order two in the step: two steps give the depth in the gap within 1e-4
    last, step = family[-1], family[-1].result.time_step
    finer = gc.orbit(diatomic(**{"time.step": 0.5 * step}), guess=last, hold="amplitude")
    period = finer.period + (finer.period - last.period) / 3.0
    assert abs(1.0 / period - known[-1]) <= 1e-4 * (upper - known[-1])


def test_what_is_held_is_held(family):
    case, one = diatomic(), family[1]
    assert np.abs(np.abs(one.displacement) / AMPLITUDES[1] - 1.0).min() <= 1e-9
    begun = started(case, 3e-7)
    free = gc.orbit(begun)
    # for a state at rest, only the energy of the springs
    above, rest = (
        gc.run(one.replace(**{"time.end": 1e-6})).energy_recoverable[0] for one in (begun, case)
    )
    assert free.energy == pytest.approx(above - rest, rel=1e-6)
    period = 0.9997 * one.period
    held = gc.orbit(case, period=period, guess=one)
    assert held.period == period and held.residual <= 1e-8
    # along the family, the energy and the amplitude increase with the period
    assert held.energy < 0.8 * one.energy
    with pytest.raises(CaseError, match="hold: both hold and period are given"):
        gc.orbit(case, period=period, guess=one, hold="energy")


def test_what_is_conserved_is_left_out_of_the_multipliers(family):
    one = family[0]
    assert one.multipliers.size == 2 * BEADS - 2 and one.stable
    assert np.abs(np.abs(one.multipliers) - 1.0).max() <= 1e-6
    # multipliers of the other modes, for small oscillations
    turns = 2.0 * math.pi * gc.modes(diatomic()).frequencies * one.period
    known = np.exp(1j * np.delete(turns, int(np.diff(turns).argmax()) + 1))
    nearest = np.abs(one.multipliers[:, None] - np.concatenate([known, known.conj()])).min(axis=1)
    assert nearest.max() <= 0.05


@pytest.mark.long
def test_every_modulus_of_stable_rows_of_random_masses_is_1_within_its_error():
    for seed in (7, 13, *range(30, 38)):
        rng = np.random.default_rng(seed)
        masses = {"chain.mass_factor": (20.0 ** rng.uniform(0.0, 1.0, 5)).tolist()}
        held = {"time.step": "fast", "chain.on_site_stiffness": 6e5} | masses
        case = shaken_row(5, 1.0, 0.0, None, **held, ends={"left": "wall", "right": "wall"})
        shape = 3e-7 * gc.modes(case).shapes[rng.integers(5)]
        begun = case.replace(initial={"displacement": shape.tolist()})
        assert gc.orbit(begun, hold="amplitude").stable


@pytest.mark.long
def test_a_free_row_has_its_translation_left_out():
    orbit = gc.orbit(started(diatomic(right="free"), 2e-7))
    assert orbit.multipliers.size == 2 * BEADS - 4 and orbit.stable
    assert abs(orbit.result.mass @ orbit.velocity) <= 1e-9 * np.abs(
        orbit.result.mass @ np.abs(orbit.result.velocity).max(axis=0)
    )


def test_a_family_is_followed_over_its_amplitude(family, tmp_path, monkeypatch):
    long_steps(monkeypatch)
    first, known, _ = family
    begins = 1.2 * AMPLITUDES[0]
    way = {"along": "amplitude", "start": begins, "stop": AMPLITUDES[1]}
    way["out"] = tmp_path / "family.h5"
    branch = gc.continuation(diatomic(), first, **way)
    last = branch.points[-1]
    for point, amplitude in ((branch.points[0], begins), (last, AMPLITUDES[1])):
        assert point.parameter == pytest.approx(amplitude)
        assert np.abs(point.displacement).max() == pytest.approx(amplitude)
    # within the accuracy of the steps, of which there are as many as at the start
    assert last.period == pytest.approx(known.period, abs=0.1 * known.period_error)
    # the energy of the orbit that Newton's method has found follows from elsewhere
    assert last.orbit.energy == pytest.approx(known.energy, rel=1e-5)
    assert branch.special == () and all(one.stable for one in branch.points)
    assert branch.unit == "m" and last.multipliers.size == 2 * BEADS - 2
    again = gc.continuation(diatomic(), first, **way, resume=True)
    assert again.equals(branch)
    check_opened(branch, gc.open(tmp_path / "family.h5"))


def check_opened(branch, opened):
    """Check that an opened branch computes the same orbits, within the accuracy of its steps."""
    assert opened.equals(branch)
    mine, theirs = (one.points[-1].orbit for one in (branch, opened))
    assert theirs.residual <= 1e-8 and theirs.result.time_step == mine.result.time_step
    assert theirs.multipliers == pytest.approx(mine.multipliers, abs=1e-7)
    assert theirs.energy == pytest.approx(mine.energy, rel=1e-9)


@pytest.mark.long
def test_a_family_is_followed_over_energy_period_and_a_number_of_the_case(family, tmp_path):
    case, (first, second, _) = diatomic(), family
    by_energy = gc.continuation(case, first, along="energy", stop=second.energy)
    assert by_energy.points[-1].period == pytest.approx(
        second.period, abs=0.1 * second.period_error
    )
    by_period = gc.continuation(case, first, along="period", stop=second.period)
    assert np.abs(by_period.points[-1].displacement).max() == pytest.approx(6e-7, rel=1e-3)
    loaded = gc.continuation(case, first, along="chain.precompression", stop=24.0)
    last = loaded.points[-1]
    known = gc.orbit(case.replace(**{"chain.precompression": 24.0}), guess=last.orbit)
    assert last.orbit.energy == pytest.approx(first.energy, rel=1e-8) and known.shots <= 2
    assert last.period == pytest.approx(known.period, rel=1e-6)
    assert [one.unit for one in (by_energy, by_period, loaded)] == ["J", "s", "N"]
    for branch in (by_energy, by_period, loaded):
        branch.save(tmp_path / "branch.h5", overwrite=True)
        check_opened(branch, gc.open(tmp_path / "branch.h5"))


def followed(beads, mode, start, stop):
    """Return the family of a mode, from one amplitude to another."""
    case = diatomic(beads)
    shape = 5e-8 * gc.modes(case).shapes[mode]
    orbit = gc.orbit(case.replace(initial={"displacement": shape.tolist()}), hold="amplitude")
    before = gc.continuation(case, orbit, along="amplitude", stop=start)
    assert before.special == () and before.points[-1].stable
    return gc.continuation(case, before.points[-1].orbit, along="amplitude", stop=stop)


@pytest.mark.long
@pytest.mark.parametrize(
    ("beads", "mode", "start", "stop", "named"),
    [
        (5, 3, 1.4e-6, 1.5e-6, ["Krein collision"]),
        (4, 1, 1.1e-6, 1.2e-6, ["grazing", "period doubling"]),
    ],
)
def test_a_breather_loses_its_stability_where_an_integration_does(beads, mode, start, stop, named):
    branch = followed(beads, mode, start, stop)
    assert [one.kind for one in branch.special] == named
    at = branch.points.index(branch.special[-1])
    assert not any(one.stable for one in branch.points[at + 1 :])
    last, mass = branch.points[-1], branch.points[-1].orbit.result.mass
    for point, grows in ((branch.points[0], False), (last, True)):
        known = np.linalg.eigvals(closes(branch.case, point, mass, springs(beads)))
        assert (np.abs(known).max() > 1.02) == (abs(point.multipliers[0]) > 1.02) == grows
        assert np.abs(known - point.multipliers[0]).min() <= 5e-3
    if named[-1] != "period doubling":
        with pytest.raises(CaseError, match="point: kind Krein collision is not valid"):
            branch.switch(branch.special[-1])
        return
    doubled = branch.switch(branch.special[-1])
    assert doubled.period == pytest.approx(2.0 * branch.special[-1].period, rel=0.01)
    halfway = doubled.result.displacement[len(doubled.result.displacement) // 2]
    size = np.abs(doubled.displacement).max()
    assert np.abs(halfway - doubled.displacement).max() > 0.01 * size
    closes(branch.case, doubled, mass, springs(beads))
    # a contact opens, so the steps conserve its energy less accurately; the branch can still be
    # followed
    way = {"along": "period", "stop": 1.0005 * doubled.period}
    followed_on = gc.continuation(branch.case, doubled, **way)
    assert followed_on.messages == () and followed_on.points[-1].residual <= 1e-6


def closes(case, orbit, masses, elastic):
    """Return the Jacobian of an orbit, which the integrated equations also close."""
    state = np.concatenate([orbit.displacement, orbit.velocity])
    apart, jacobian = by_integration(case, state, orbit.period, masses=masses, elastic=elastic)
    n = state.size // 2
    assert np.abs(apart[:n]).max() <= 3e-3 * np.abs(orbit.displacement).max()
    return jacobian


def weakly_coupled(ratio=1.0):
    """Return two light steel beads next to a heavy one, which is almost at rest."""
    masses = np.array([1e-3, 0.03, ratio * 1e-3])
    factors = {"chain.mass_factor": (masses / MASS).tolist(), "time.step": "fast"}
    return shaken_row(3, 1.0, 0.0, None, **factors, ends={"left": "wall", "right": "wall"}), masses


@pytest.mark.long
def test_two_beads_that_swing_against_each_other_leave_it_to_one_of_them():
    case, masses = weakly_coupled()
    shape = 5e-7 * gc.modes(case).shapes[1]
    begun = case.replace(initial={"displacement": shape.tolist()})
    branch = gc.continuation(case, gc.orbit(begun), along="amplitude", stop=7e-7)
    assert [one.kind for one in branch.special] == ["pitchfork"]
    at = branch.points.index(branch.special[0])
    elastic = STIFFNESS * np.sqrt([2.0, 1.0, 1.0, 2.0])
    for point, grows in ((branch.points[0], False), (branch.points[-1], True)):
        known = np.linalg.eigvals(closes(case, point.orbit, masses, elastic))
        assert (np.abs(known).max() > 1.01) == grows == (not point.stable)
    assert all(one.stable for one in branch.points[: at - 1])
    one = branch.switch(branch.special[0])
    sides = np.sort(np.abs(one.displacement[[0, 2]]))
    assert sides[1] > 1.1 * sides[0] and one.period == pytest.approx(branch.points[at].period, 1e-3)
    closes(case, one, masses, elastic)
    # unequal beads are not mirror images: the family of the other bead ends at its lowest energy
    case, masses = weakly_coupled(1.002)
    local = 1e-6 * np.array([-1.0, 0.06, 0.39])
    begun = case.replace(initial={"displacement": local.tolist()})
    branch = gc.continuation(case, gc.orbit(begun, hold="amplitude"), along="amplitude", stop=3e-7)
    assert [one.kind for one in branch.special] == ["energy extremum", "fold"]
    at = branch.points.index(branch.special[0])
    energies = [one.orbit.energy for one in branch.points[at - 1 : at + 2]]
    assert energies[0] > energies[1] < energies[2]
    assert [branch.points[at + k].stable for k in (-2, 2)] == [True, False]
    known = np.linalg.eigvals(closes(case, branch.points[-1].orbit, masses, elastic))
    assert np.abs(known).max() == pytest.approx(abs(branch.points[-1].multipliers[0]), abs=5e-3)


@pytest.mark.long
@pytest.mark.parametrize(("ratio", "kinds"), [(1.0, ["pitchfork"]), (1.1, [])])
def test_two_beads_that_swing_together_are_mirror_images_half_a_period_later(ratio, kinds):
    # the contact between the beads is softer than those at the walls, so the mode in phase is the
    # lower one
    wall = {"law": "hertz", "stiffness": 1e10}
    ends = {"left": "wall", "right": "wall", "left_contact": wall, "right_contact": wall}
    contact = {"law": "hertz", "stiffness": 3e7}
    changes = {"time.step": "fast", "chain.mass_factor": [1.0, ratio]}
    case = shaken_row(2, 1.0, 0.0, None, ends=ends, contact=contact, **changes)
    # F = K d^1.5 under 20 N at a wall
    overlap = (20.0 / 1e10) ** (2.0 / 3.0)
    shape = 0.1 * overlap * gc.modes(case).shapes[0]
    begun = case.replace(initial={"displacement": shape.tolist()})
    branch = gc.continuation(case, gc.orbit(begun), along="amplitude", stop=0.7 * overlap)
    assert [one.kind for one in branch.special] == kinds
    for point in branch.special:
        one = branch.switch(point)
        assert abs(one.displacement[0] - one.displacement[1]) > 1e-3 * point.parameter


@pytest.mark.long
def test_a_breather_of_beads_with_resonators_is_that_of_an_integration():
    case = diatomic(3, **{"chain.resonator": {"mass": 0.01, "stiffness": 3e7}})
    modes = gc.modes(case)
    shape = 4e-7 * modes.shapes[-1]
    initial = {"displacement": shape[:3].tolist(), "resonator_displacement": shape[3:].tolist()}
    found = gc.orbit(case.replace(initial=initial), hold="amplitude")
    assert found.displacement.size == 6 and found.multipliers.size == 10 and found.stable
    assert np.abs(np.abs(found.displacement) / 4e-7 - 1.0).min() <= 1e-9
    # its frequency is lower than that of its mode, as for beads alone
    assert 0.99 < 1.0 / found.period / modes.frequencies[-1] < 1.0
    known = np.linalg.eigvals(closes(case, found, found.result.mass, springs(3)))
    assert np.abs(known[:, None] - found.multipliers).min(axis=0).max() <= 1e-3
    result = found.result
    begun = result.energy_kinetic + result.energy_recoverable + result.energy_elements
    assert found.energy == pytest.approx(begun[0] - still(case), rel=1e-6)
    # a free chain with dashpots in its resonators loses energy
    damped = {"mass": 0.01, "stiffness": 3e7, "damping": 1.0}
    with pytest.raises(CaseError, match="loses energy to damping of the beads"):
        gc.orbit(case.replace(**{"chain.resonator": damped}, initial=initial))


def still(case):
    return gc.run(case.replace(initial=None, **{"time.end": 1e-6})).energy_recoverable[0]


def test_a_row_that_is_no_breather_is_refused():
    with pytest.raises(CaseError, match="guess: the chain has no drive and is at rest"):
        gc.orbit(diatomic())
    with pytest.raises(CaseError, match="loses energy to damping of the beads"):
        gc.orbit(started(diatomic(), 1e-7).replace(**{"chain.drag": 10.0}))
    with pytest.raises(CaseError, match='hold: "period" is not valid'):
        gc.orbit(started(diatomic(), 1e-7), hold="period")


def test_a_period_that_goes_to_nothing_is_no_orbit():
    kinds = [{"count": 1, "material": KINDS[(i + 1) % 2]} for i in range(BEADS)]
    far = [-8.53e-7, -5.48e-7, -8.45e-6, 1.004e-6, 1.186e-6, 3.823e-6, -1.055e-6]
    begun = diatomic(**{"chain.segment": kinds}).replace(initial={"displacement": far})
    # Newton's method leads to a period of 2e-16 s, after which every state returns
    with pytest.raises(RunError, match="orbit: no orbit of period"):
        gc.orbit(begun, hold="amplitude")


def test_a_guess_from_which_no_period_can_be_computed_is_refused():
    def shoot(place):
        raise RunError("overlap beyond the radius")

    with pytest.raises(RunError, match="no period can be computed from a run: over"):
        newton(np.zeros(2), "a run", shoot, lambda place, shot: place, 1e-8, 1e-5)
