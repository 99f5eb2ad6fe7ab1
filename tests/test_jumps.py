"""Peaks at jumps and kinks of the force are the larger of the two sides, in impacts, sensors and
contacts."""

import math

import numpy as np
import pytest
from support.kinds import PLAIN_ALONE
from support.rows import (
    RADIUS,
    SPEED,
    ledger_residual,
    run_row,
    standing_row,
    steel_row,
    velocities,
)

import granchain as gc
from granchain.analysis import summary
from granchain.analysis.results import measured_pulses
from granchain.chain import End
from granchain.contact import laws
from granchain.contact.law import ContactLaw
from granchain.contact.pair import Pair, damping_ratio
from granchain.engine.recording import Recording
from granchain.errors import LawError
from granchain.show.numbers import run_numbers
from granchain.store import Result

# Two beads of the steel chain, with a hardness of 2.8 yield stresses, as in Kogut and Etsion.
PAIR = Pair(
    effective_radius=0.5 * RADIUS, effective_modulus=1.0604e11, effective_mass=0.225e-3,
    yield_stress=9e8, hardness=2.52e9, poissons_ratio=0.3,
)  # fmt: skip
MA_LIU = {"psi": 2.84, "xi": 13.0}
# A transition zone that the contact crosses in ten automatic steps, at 1 m/s.
TRANSITION = {"stiffness": 1e7, "q": 3.0, "epsilon": 1e-6}
# Every law with a jump or a kink of the force.
JUMPING = {
    "kelvin-voigt": {"restitution": 0.1, "stiffness": 1e7},
    "wang-liu-viscous": {"restitution": 0.1, **MA_LIU},
    "wang-liu-hysteretic": {"restitution": 0.6, **MA_LIU},
    "lee-wang-transition": {"restitution": 0.5, **TRANSITION},
    "kogut-etsion": {},
    "jackson-green": {},
}
# A law with a jump at the onset. Laws with jumps inside a contact need another compiled loop: they
# run in the long set, and as plain Python below.
EVERY = ["kelvin-voigt"]
EVERY += [pytest.param(law, marks=pytest.mark.long) for law in JUMPING if law not in EVERY]
KINDS = ("kelvin-voigt", "wang-liu-hysteretic", "kogut-etsion")


def test_these_are_the_laws_with_jumps():
    assert {name for name, law in laws().items() if law.has_jumps()} == set(JUMPING)


@pytest.mark.plain
def test_the_second_law_of_lee_and_wang_names_its_kink():
    law, epsilon = laws()["lee-wang-transition"], TRANSITION["epsilon"]
    c = (1e7, 30.0, 0.0, 2.0 * TRANSITION["q"] / epsilon, epsilon)
    assert law.jumps(c) == (epsilon,)
    # F = K d + C exp(2 q (d/epsilon - 1)) rate below epsilon, and F = K d + C rate above: the slope
    # decreases by C 2 q/epsilon rate
    step = 1e-6 * epsilon
    force = [law.force(epsilon + i * step, 1.0, c, (1.0, 1.0)) for i in (-1, 0, 1)]
    below, above = np.diff(force) / step
    assert below - above == pytest.approx(30.0 * 2.0 * TRANSITION["q"] / epsilon, rel=1e-4)
    assert above == pytest.approx(1e7, rel=1e-4)


@pytest.mark.plain
def test_a_law_that_jumps_at_the_onset_without_an_onset_weight_is_refused():
    known = laws()["kelvin-voigt"]
    with pytest.raises(LawError, match="onset_jump: the onset weight is missing"):
        type("Bare", (known,), {"name": "bare", "history": (), "__doc__": "A dashpot."})


@PLAIN_ALONE
@pytest.mark.plain
def test_forces_read_after_an_onset_are_of_order_two():
    # two bodies meet between steps under F = K d + c rate, and are a damped oscillator from then on
    stiffness, mass, speed, gap = 1e7, 0.225e-3, 1.0, 3.3e-7
    zeta = damping_ratio(0.1)
    omega = math.sqrt(stiffness / mass)
    damped = omega * math.sqrt(1.0 - zeta * zeta)

    def force(t):
        swing = np.exp(-zeta * omega * t)
        d = speed / damped * swing * np.sin(damped * t)
        rate = speed * swing * (np.cos(damped * t) - zeta * omega / damped * np.sin(damped * t))
        return stiffness * d + 2.0 * zeta * math.sqrt(stiffness * mass) * rate

    errors = []
    for dt in (2e-7, 5e-8):
        chain = steel_row(2, speed, gap=np.array([gap]), mass=np.full(2, 2.0 * mass))
        state = run_row(
            chain, "kelvin-voigt", 40 * dt, dt, recording=Recording((0,), (0,), dt),
            restitution=0.1, stiffness=stiffness,
        )  # fmt: skip
        time = np.arange(41) * dt - gap / speed
        closed = np.flatnonzero(time > 0.0)[:2]
        records, first = state.records, force(np.zeros(1))[0]
        errors.append(np.abs(records.contact_force[closed, 0] / force(time[closed]) - 1.0).max())
        # the sensor at the free end reads half of the jump from zero to c v at first contact
        (slot,) = np.flatnonzero(records.jump_force[:, 0] > 1.0)
        assert slot == closed[0]
        assert records.jump_force[slot, 0] == pytest.approx(0.5 * first, rel=1e-9)
        assert records.jump_time[slot, 0] == pytest.approx(gap / speed, rel=1e-9)
        assert state.contacts.peak[1] == pytest.approx(first, rel=1e-9)
    # without the jump, errors would be parts of c dt/m, 9 % and 2.3 %; order two reduces them to a
    # sixteenth
    assert errors[0] < 0.02
    assert errors[1] < 0.12 * errors[0]


@pytest.mark.long
@pytest.mark.promise("N13")
@pytest.mark.parametrize("law", EVERY)
def test_the_largest_force_of_an_impact_is_known_to_a_thousandth(law, figure):
    for speed in (0.15, 1.0):
        found = [
            gc.impact(law=law, pair=PAIR, speed=speed, refine=refine, **JUMPING[law]).max_force
            for refine in (0.2, 1.0, 20.0)
        ]
        what = "largest force of an impact against a twentieth of the step"
        figure(what, abs(found[1] / found[2] - 1.0), at_most=1e-3)
        if law == "kelvin-voigt":
            # F = c v at first contact, c = 2 zeta sqrt(K m), and then decreases: zeta = .5912 at e
            # = .1, and (c/m) c v > K v for zeta above 1/2
            first = 2.0 * damping_ratio(0.1) * math.sqrt(1e7 * PAIR.effective_mass) * speed
            assert first == pytest.approx(56.08 * speed, abs=0.005)
            what = "largest force of a dashpot without a spring's share, relative error"
            figure(what, np.abs(np.divide(found, first) - 1.0).max(), at_most=1e-12)


def row(law, gap, speed, **changes):
    """Return a case with twelve beads with sensors, long enough that the pulse reaches every
    bead."""
    keys = {"chain.beads": 12, "chain.gap": gap, "striker.speed": speed, "snapshots": None}
    keys |= {"contact": {"law": law, **JUMPING[law]}, "time.end": 8e-5 + 36.0 * gap / speed}
    keys |= {"sensors.beads": [1, 2, 3, 5, 8], "sensors.contacts": []}
    return gc.load_case("steel-chain").replace(keys | changes)


def compared(case, figure, words=""):
    """Compare the peaks of a run with those at a twentieth of its step, and return the largest
    difference of the arrivals [s]."""
    coarse = gc.run(case)
    step = coarse.time_step
    fine = gc.run(case.replace(**{"time.step": step / 20.0, "sensors.interval": step}))
    apart, largest = [], fine.contact_peak_force.max()
    for one, other in zip(summary(coarse).sensors, summary(fine).sensors, strict=True):
        if one.complete and other.complete and other.peak > 0.01 * largest:
            apart.append(abs(one.arrival - other.arrival))
            what = f"{words}peak of a sensor against a twentieth of the step"
            figure(what, abs(one.peak / other.peak - 1.0), at_most=1e-3)
    pressed = fine.contact_peak_force > 0.01 * largest
    ratio = coarse.contact_peak_force[pressed] / fine.contact_peak_force[pressed]
    what = f"{words}largest force of a contact against a twentieth of the step"
    figure(what, np.abs(ratio - 1.0).max(), at_most=1e-3)
    return apart


@pytest.mark.promise("N13")
@pytest.mark.parametrize(("gap", "speed"), [(0.0, 0.3), (1e-6, 1.77)])
def test_peaks_of_sensors_and_contacts_in_a_chain_are_known_to_a_thousandth(gap, speed, figure):
    apart = compared(row("kelvin-voigt", gap, speed), figure)
    assert len(apart) >= 3
    for seconds in apart:
        figure("arrival of the peak, of the interval of the samples", seconds / 2e-7, at_most=0.5)


@pytest.mark.long
@pytest.mark.promise("N13")
@pytest.mark.parametrize("seed", range(18))
def test_peaks_of_random_chains_under_laws_with_jumps(seed, figure):
    rng = np.random.default_rng(seed)
    law, gap = sorted(JUMPING)[seed % len(JUMPING)], float(rng.choice([0.0, 2e-7, 1e-6, 5e-6]))
    speed, interval = float(rng.uniform(0.15, 2.0)), float(rng.uniform(2e-7, 4e-7))
    compared(row(law, gap, speed, **{"sensors.interval": interval}), figure, "random chains: ")


@pytest.mark.plain
@pytest.mark.parametrize("law", KINDS)
def test_jumps_at_a_stride_are_the_largest_of_those_at_every_step(law, plain_loop):
    def state_at(stride):
        chain, dt = steel_row(4, gap=np.array([3e-7, 0.0, 2e-6])), 5e-8
        recording = Recording((0, 1, 2, 3), (), stride * dt)
        return run_row(chain, law, 240 * dt, dt, recording=recording, **JUMPING[law])

    fine, coarse = state_at(1), state_at(6)
    assert np.isfinite(fine.records.jump_force).sum() >= 4
    for s in range(4):
        for slot in range(1, coarse.records.jump_force.shape[0]):
            found = fine.records.jump_force[6 * slot - 5 : 6 * slot + 1, s]
            largest = np.nanmax(found) if np.isfinite(found).any() else np.nan
            np.testing.assert_equal(coarse.records.jump_force[slot, s], largest)
    # every jump lies between its sample and the previous one, and at least one exceeds both samples
    slots, which = np.nonzero(np.isfinite(fine.records.jump_force))
    assert (np.abs(fine.records.jump_time[slots, which] / 5e-8 - (slots - 0.5)) <= 0.5 + 1e-9).all()


@pytest.mark.plain
@PLAIN_ALONE
def test_both_sides_of_a_bead_that_is_hit_from_both_at_once_jump_together():
    def jumped(dt, *gaps):
        # two beads fly towards a bead between them: the force of each contact jumps to c v, and so
        # does the mean
        speeds = np.array([1.0, 0.0, -1.0])
        chain = steel_row(3, gap=np.array(gaps), velocity=speeds, has_striker=False)
        recording, inputs = Recording((2,), (), dt), JUMPING["kelvin-voigt"]
        state = run_row(chain, "kelvin-voigt", 1e-6, dt, recording=recording, **inputs)
        return float(np.nanmax(state.records.jump_force))

    first = 2.0 * damping_ratio(0.1) * math.sqrt(1e7 * 0.225e-3)
    assert jumped(1e-7, 3.3e-7, 3.3e-7) == pytest.approx(first, rel=1e-9)
    # if one contact closes later within the same step, its force starts while the other one has
    # already changed, at a rate that does not contain the other jump yet; the error is below half
    # of (c/m) dt, 1.2 % at this step
    fine = jumped(1e-9, 3.1e-7, 3.8e-7)
    assert jumped(1e-7, 3.1e-7, 3.8e-7) == pytest.approx(fine, rel=7e-3)


@pytest.mark.plain
def test_a_tensile_contact_that_lets_go_takes_its_pull_off_the_next_ones_record():
    chain = steel_row(3, gap=np.array([0.0, 1e-8]))
    inputs = {**JUMPING["kelvin-voigt"], "separation": "tensile"}
    more = {"recording": Recording((0, 1, 2), (0, 1), 1e-7), **inputs}
    coarse, fine = (run_row(chain, "kelvin-voigt", 3e-5, dt, **more) for dt in (1e-7, 2e-8))
    assert fine.records.contact_force.min() < -1.0
    # the force at the only contact of the striker jumps from its tensile value to zero when it
    # opens
    opened = np.flatnonzero(coarse.records.jump_force[:, 0] == 0.0)
    assert opened.size == 1 and coarse.records.contact_force[opened[0] - 1, 0] < -1.0
    moment = fine.records.jump_time[np.flatnonzero(fine.records.jump_force[:, 0] == 0.0)[0], 0]
    assert coarse.records.jump_time[opened[0], 0] == pytest.approx(moment, abs=2e-8)
    # the other contact is then recorded at the true rate; a rate predicted across the jump was
    # wrong by .7 %
    both = slice(opened[0], opened[0] + 2)
    known = fine.records.contact_force[both, 1]
    np.testing.assert_allclose(coarse.records.contact_force[both, 1], known, rtol=1e-3)
    largest = np.nanmax(fine.records.jump_force)
    assert np.nanmax(coarse.records.jump_force) == pytest.approx(largest, rel=5e-3)
    np.testing.assert_allclose(coarse.contacts.peak[1:3], fine.contacts.peak[1:3], rtol=5e-3)


@pytest.fixture(scope="module")
def run():
    return gc.run(row("kelvin-voigt", 1e-6, 1.77))


def test_the_jumps_go_into_the_file_and_come_back(run, tmp_path):
    run.save(tmp_path / "a.h5")
    back = gc.open(tmp_path / "a.h5")
    assert back.equals(run) and summary(back) == summary(run)
    assert np.isnan(back.to_xarray().sensor_beside_force.values).any()
    # the largest force of the first pulse at each sensor, and its time
    for s in range(5):
        known = measured_pulses(run).record(s)
        force, time = back.sensor_jump_force[s], back.sensor_jump_time[s]
        assert force in run.sensor_beside_force[:, s] and time in run.sensor_beside_time[:, s]
        assert (known.peak, known.top) == (force, time) if known.jump else force < known.peak
    assert measured_pulses(run).jump[0]
    # results of a law without jumps have no such variables
    smooth = gc.run(gc.load_case("steel-chain").replace(**{"time.end": 1e-6}))
    assert "sensor_beside_force" not in smooth.variables


def test_a_result_without_its_jumps_takes_the_largest_sample_and_says_so(run):
    data = {
        name: variable.data
        for name, variable in run.variables.items()
        if not name.startswith(("sensor_beside", "sensor_jump"))
    }
    old = Result(data, case=run.case, law=run.law, status=run.status, time_step=run.time_step)
    struck = 0
    for s in range(5):
        known, told = measured_pulses(run).record(s), measured_pulses(old).record(s)
        assert told.sampled and not told.jump and not known.sampled
        if known.complete:
            assert told.peak in old.sensor_force[:, s]
            assert told.peak <= known.peak * (1.0 + 1e-12)
            struck += known.jump
    assert struck >= 1
    assert "the largest samples" in run_numbers(summary(old))
    assert "the largest samples" not in run_numbers(summary(run))


@pytest.mark.plain
def test_a_wall_that_pushes_under_a_dashpot_is_a_jump_of_its_own(plain_loop):
    # the wall meets the first bead at .1 m/s: a force of c v between the wall and the bead
    push = End("displacement", None, np.array([0.0, 1e-5]), np.array([0.0, 1e-6]))
    more = {"recording": Recording((1,), (0,), 1e-7), **JUMPING["kelvin-voigt"]}
    state = run_row(standing_row(2, push), "kelvin-voigt", 4e-6, 1e-7, **more)
    assert state.contacts.peak[0] >= state.c[1, 0] * 0.1 * (1.0 - 1e-12)


@pytest.mark.long
def test_a_dashpot_that_may_pull_delivers_the_asked_restitution_to_order_two():
    # the last step of a contact ends where its overlap is zero; otherwise the error would be four
    # times as large, and of order one
    apart = []
    for refine in (1.0, 2.0):
        more = {"refine": refine, "restitution": 0.7, "separation": "tensile"}
        u, v = velocities(run_row(steel_row(2), "tsuji", 4e-5, **more))
        apart.append((v - u) / SPEED - 0.7)
    assert abs(apart[0]) < 4e-5
    assert apart[0] / apart[1] == pytest.approx(4.0, abs=0.3)


@pytest.mark.parametrize(
    "law", ["wang-liu-hysteretic", pytest.param("kogut-etsion", marks=pytest.mark.long)]
)
def test_a_step_that_crosses_a_jump_of_the_force_is_kicked_by_a_force_in_between(law, plain_loop):
    # every contact crosses the jump during loading, and with a dashpot also during unloading;
    # without the force in between, the residual of the ledger would be 2e-5 and 6e-4
    inputs = {"restitution": 0.7, "psi": 2.84, "xi": 13.0} if law == "wang-liu-hysteretic" else {}
    recording = Recording(sensor_contacts=(1,), interval=1e-9, energy_interval=1e-6)
    refines = (1.0, 1.27, 2.0)
    more = {"recording": recording, **inputs}
    runs = [run_row(steel_row(3), law, 4e-5, refine=refine, **more) for refine in refines]
    coarse, residuals = runs[0], [ledger_residual(one) for one in runs]
    c, functions = tuple(coarse.c[:, 2]), coarse.functions
    (place, *_), overlap = functions.jumps(c), coarse.records.contact_overlap[:, 0]
    assert (overlap > place).any() and overlap[-1] < place
    fresh, aside = functions.history_of(c), 1e-7 * place
    if law == "kogut-etsion":
        assert residuals[0] < 1.5e-5
    else:
        jump = np.diff([functions.force(place + i * aside, 1.0, c, fresh) for i in (-1, 1)])
        assert functions.jump(place, 1.0, c, fresh) == pytest.approx(jump[0], rel=1e-5)
        # the residual does not depend on where in a step a contact crosses the jump: for four steps
        # it is 1.52e-5 to 1.54e-5 times the square of the step; with a straight line and a kick
        # alone it was 1.1e-5, 1.9e-5, 1.6e-5 and 2.1e-5
        scaled = np.square(refines) * residuals
        assert scaled.max() < min(1.6e-5, 1.05 * scaled.min())
    assert residuals[2] < residuals[0] / 3.0
    assert ContactLaw.jump(place, 0.0, c, fresh) == 0.0
