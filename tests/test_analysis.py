"""Peaks, arrivals, speeds, widths and orders of synthetic traces whose answers are known in
closed form."""

import json
import math
import re

import numpy as np
import pytest
from support.synthetic import CREST, PEAK_FORCE, RADIUS, synthetic, wave_speed

import granchain as gc
from granchain import analysis, theory
from granchain.cli.run import run_numbers
from granchain.errors import GranchainError
from granchain.status import Status

pytestmark = pytest.mark.filterwarnings("error")


def parabola(time, height=7.0, at=3.3, curvature=2.0):
    """A pulse that is a parabola and 0 beside it."""
    return np.maximum(height - curvature * (time - at) ** 2, 0.0)


def gaussian(time, height, at, width):
    return height * np.exp(-0.5 * ((time - at) / width) ** 2)


TIME = np.arange(0.0, 10.0, 0.25)


# --- peak
def test_the_peak_of_a_parabola_is_exact_with_uneven_samples():
    time = np.array([0.0, 2.0, 2.9, 3.15, 3.9, 4.0, 8.0])
    peak = analysis.peak(time, parabola(time))
    assert (peak.force, peak.time) == pytest.approx((7.0, 3.3), rel=1e-13)


def test_the_parabola_finds_the_peak_of_the_elastic_wave_that_samples_miss():
    # the wave of the chain of 70 steel beads as its sensors see it: stiffness, mass, contact force
    # of theory.equal_striker at 1.77 m/s
    wave, speed = (
        theory.solitary_wave(),
        theory.solitary_speed(4.877510e9, 0.45e-3, peak_force=93.466),
    )
    time = (np.arange(-200, 201) + 0.5) * 2e-7
    contacts = [np.maximum(wave.overlap(speed * time + side), 0.0) ** 1.5 for side in (-0.5, 0.5)]
    force = 0.5 * (contacts[0] + contacts[1]) / wave.bead_force
    assert 1.0 - force.max() == pytest.approx(1.06e-4, abs=2e-6)
    assert analysis.peak(time, force).force == pytest.approx(1.0, abs=2e-7)


def test_the_peak_of_a_trace_cut_off_at_a_limit_is_the_middle_of_its_flat_top():
    assert analysis.peak([0.0, 1.0, 2.0, 3.0, 5.0, 6.0], [0.0, 1.0, 4.0, 4.0, 4.0, 0.0])[:3] == (
        4.0,
        3.5,
        True,
    )
    # two equal samples are the two sides of a peak between them
    assert analysis.peak([0.0, 1.0, 2.0, 3.0], [0.0, 4.0, 4.0, 0.0])[:3] == (4.5, 1.5, True)


def jumps_at(count, *known):
    """Jumps between samples: (slot, force, time)."""
    force, time = np.full(count, np.nan), np.full(count, np.nan)
    for slot, f, t in known:
        force[slot], time[slot] = f, t
    return analysis.ForceJumps(force, time)


def test_a_maximum_beside_a_jump_is_found_from_the_samples_on_its_side():
    # a parabola with its top at t = 1.7, behind a jump at .5 from 0 to 6.9, and before one at 2.9
    # back to 0
    time = np.arange(0.0, 8.0)
    top = np.where(time < 6.5, 7.0 - 0.05 * (time - 1.7) ** 2, 0.0)
    behind = analysis.peak(time, np.where(time < 0.5, 0.0, top), jumps=jumps_at(8, (1, 6.9, 0.5)))
    assert behind[:4] == pytest.approx((7.0, 1.7, True, False), rel=1e-13)
    # the largest sample, at 2, has a jump on its left at 1.2: samples on its right alone
    behind = analysis.peak(time, np.where(time < 1.5, 0.0, top), jumps=jumps_at(8, (2, 6.9, 1.2)))
    assert behind[:4] == pytest.approx((7.0, 1.7, True, False), rel=1e-13)
    before = analysis.peak(time, np.where(time > 2.5, 0.0, top), jumps=jumps_at(8, (3, 6.9, 2.9)))
    assert before[:4] == pytest.approx((7.0, 1.7, True, False), rel=1e-13)
    # a top on the other side of the jump is none
    later = analysis.peak(time, np.where(time < 1.5, 0.0, top), jumps=jumps_at(8, (2, 6.9, 1.9)))
    assert later[:4] == (top[2], 2.0, True, False)
    # between two jumps there is the sample
    both = analysis.peak(
        time, np.where(time == 2.0, 7.0, 1.0), jumps=jumps_at(8, (2, 6.5, 1.9), (3, 6.4, 2.1))
    )
    assert both[:4] == (7.0, 2.0, True, False)


def test_a_jump_counts_where_it_lies_in_the_first_pulse():
    # the pulse ends at the first sample below half its height, and a jump may end it; a larger one
    # comes later
    time = np.arange(0.0, 10.0)
    force = np.array([0.0, 2.0, 4.0, 6.0, 1.0, 0.0, 0.0, 9.0, 1.0, 0.0])
    known = jumps_at(10, (4, 6.6, 3.6), (8, 12.0, 7.5))
    assert analysis.peak(time, force, jumps=known)[:4] == (6.6, 3.6, True, True)
    # every other sample: what lay between two of them, or further apart, stays between
    thinned = known.every(2)
    assert np.flatnonzero(np.isfinite(thinned.force)).tolist() == [2, 4]
    assert thinned.force[[2, 4]].tolist() == [6.6, 12.0] and thinned.time[[2, 4]].tolist() == [
        3.6,
        7.5,
    ]
    # of two in one interval the larger
    assert jumps_at(7, (1, 3.0, 0.5), (2, 2.0, 1.5), (6, 1.0, 5.5)).every(3).force.tolist()[1:] == [
        3.0,
        1.0,
    ]


def test_a_dip_to_more_than_half_does_not_end_the_first_pulse():
    shallow = [0.0, 4.0, 2.01, 5.0, 1.0, 0.0]
    deep = [0.0, 4.0, 1.99, 5.0, 1.0, 0.0]
    assert analysis.first_pulse(shallow) == slice(1, 4)
    assert analysis.first_pulse(deep) == slice(1, 2)


def test_a_larger_pulse_that_passes_the_first_before_it_has_fallen_to_half_has_merged_with_it():
    apart, close, behind = (
        gaussian(TIME, 13.7, 3.0, 0.5) + gaussian(TIME, height, at, 0.5)
        for height, at in ((25.6, 6.5), (25.6, 4.8), (12.0, 4.8))
    )
    # apart the first pulse is whole and is taken; behind it the second does not pass it
    assert (
        analysis.peak(TIME, apart).force == pytest.approx(13.7, abs=0.1)
        and not analysis.peak(TIME, apart).merged
    )
    assert (
        analysis.peak(TIME, behind).force == pytest.approx(13.7, abs=0.1)
        and not analysis.peak(TIME, behind).merged
    )
    assert (
        analysis.peak(TIME, close).force == pytest.approx(25.6, abs=0.1)
        and analysis.peak(TIME, close).merged
    )
    # whether or not the peak is in the trace, and above a static force
    assert (
        analysis.peak(TIME[:19], close[:19]).merged
        and not analysis.peak(TIME[:19], close[:19]).complete
    )
    assert analysis.has_merged(10.0 + close, 10.0) and not analysis.has_merged(10.0 + apart, 10.0)


@pytest.mark.parametrize(
    "force", [np.zeros(40), -parabola(TIME), np.full(40, math.nan), np.zeros(0)]
)
def test_a_trace_without_a_pulse_has_peak_0_and_no_arrival(force):
    time = TIME[: len(force)]
    peak = analysis.peak(time, force)
    assert peak.force == 0.0 and math.isnan(peak.time) and not peak.complete
    assert math.isnan(analysis.pulse_width(time, force))
    assert analysis.pulse_impulse(time, force) == 0.0
    assert analysis.first_pulse(force) == slice(0, 0)


def test_a_static_force_is_part_of_the_peak_and_not_of_the_pulse():
    force = 10.0 + parabola(TIME)
    assert analysis.first_pulse(force, 10.0) == analysis.first_pulse(parabola(TIME))
    peak = analysis.peak(TIME, force, 10.0)
    assert (peak.force, peak.time) == pytest.approx((17.0, 3.3), rel=1e-13)
    assert analysis.pulse_width(TIME, force, baseline=10.0) == pytest.approx(
        analysis.pulse_width(TIME, parabola(TIME)), rel=1e-12
    )
    assert analysis.pulse_impulse(TIME, force, 10.0) == pytest.approx(
        np.trapezoid(parabola(TIME), TIME), rel=1e-12
    )


# --- all pulses
def test_all_pulses_of_a_trace_are_found_with_their_peaks_arrivals_and_widths():
    time = np.linspace(0.0, 100.0, 2001)
    parts = [(7.0, 20.0, 1.0), (0.5, 35.0, 1.0), (3.0, 50.0, 2.0), (9.0, 80.0, 1.5)]
    force = 2.0 + sum(gaussian(time, *part) for part in parts)
    found = analysis.pulses(time, force, 2.0)
    # all but the one below a tenth of the largest
    for one, (height, at, width) in zip(found, (parts[0], *parts[2:]), strict=True):
        assert (one.peak, one.arrival) == pytest.approx((2.0 + height, at), rel=1e-6)
        # half of the height is sqrt(2 ln 2) standard deviations away
        assert (
            one.width == pytest.approx(2.0 * math.sqrt(2.0 * math.log(2.0)) * width, rel=1e-3)
            and one.complete
            and not one.merged
        )
    assert (
        len(analysis.pulses(time, force, 2.0, 0.05)) == 4
        and len(analysis.pulses(time, force, 2.0, 0.5)) == 2
    )
    top = analysis.peak(time, force, 2.0)
    assert found[0][:3] == (top.force, top.time, analysis.pulse_width(time, force, baseline=2.0))
    # noise below the share makes none, and what is pulled down makes none
    noisy = force + np.random.default_rng(1).normal(0.0, 0.05, len(force))
    assert [one.arrival for one in analysis.pulses(time, noisy, 2.0, noise=0.05)] == pytest.approx(
        [20.0, 50.0, 80.0], abs=0.5
    )
    assert (
        analysis.pulses(time, -force)
        == analysis.pulses(time, 0.0 * force)
        == analysis.pulses([], [])
        == ()
    )
    assert len(analysis.pulses(time, np.where(time < 30.0, force - 2.0, -4.0 - np.cos(time)))) == 1
    for share in (0.0, 1.5, math.nan, "much"):
        with pytest.raises(
            GranchainError, match=r"pulses: share: got .*, allowed a number above 0, at most 1"
        ):
            analysis.pulses(time, force, 2.0, share)


# --- width, impulse, momentum
def test_the_width_of_a_triangle_is_half_its_base():
    time = np.linspace(0.0, 8.0, 9)
    triangle = np.maximum(4.0 - np.abs(time - 4.0), 0.0)
    assert analysis.pulse_width(time, triangle) == pytest.approx(4.0, rel=1e-14)
    assert analysis.pulse_width(time, triangle, 0.125) == pytest.approx(7.0, rel=1e-14)


def test_the_impulse_of_the_first_pulse_leaves_out_the_second():
    time = np.linspace(0.0, 30.0, 3001)
    force = gaussian(time, 5.0, 8.0, 0.5) + gaussian(time, 9.0, 20.0, 0.5)
    # area of a gaussian; what is left out beyond 1 % of the peak, at 3.03 deviations, is 0.12 % of
    # it
    area = 5.0 * 0.5 * math.sqrt(2.0 * math.pi)
    assert analysis.pulse_impulse(time, force) == pytest.approx(area * (1.0 - 0.0012), rel=1e-4)


# --- positions and speed
def test_the_speeds_between_sensors_show_a_wave_that_slows_down():
    speeds = analysis.speeds_between([0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 0.5, 1.5, math.nan, 9.0])
    assert speeds[:2].tolist() == [2.0, 1.0]
    assert np.isnan(speeds[2:]).all()


# --- between snapshots
def test_the_course_between_snapshots_is_exact_for_a_polynomial_of_the_fifth_degree():
    motion = np.polynomial.Polynomial([0.3, -1.0, 0.7, 2.0, -1.5, 0.4])
    time = np.array([0.0, 0.2, 0.3, 0.55, 0.9, 1.0])
    u, v = (np.column_stack([f(time), 2.0 * f(time)]) for f in (motion, motion.deriv()))
    t, course = analysis.between_snapshots(time, u, v, 7)
    assert t.shape == (36,) and course.shape == (36, 2)
    assert t[::7] == pytest.approx(time, rel=1e-15) and course[::7] == pytest.approx(v, rel=1e-12)
    assert course[:, 0] == pytest.approx(motion.deriv()(t), abs=1e-9) and course[
        :, 1
    ] == pytest.approx(2.0 * course[:, 0], rel=1e-9)


# --- order
def test_the_observed_order_of_a_power_is_its_exponent_and_errors_without_one_are_refused():
    steps = np.array([10.0, 5.0, 2.0, 1.0, 0.5]) * 1e-8
    for order in (1.0, 1.5, 4.0):
        assert analysis.observed_order(steps, -3.0 * steps**order) == pytest.approx(order)
    for some, errors in (([1.0], [1.0]), ([1.0, 1.0], [1.0, 2.0]), ([1.0, 2.0], [0.0, 1.0])):
        with pytest.raises(ValueError, match=r"observed_order: "):
            analysis.observed_order(some, errors)


def test_richardson_gives_the_limit():
    def value(step):
        return 9.0 + 0.4 * step**2

    found = analysis.richardson(value(0.2), value(0.1))
    assert found.value == pytest.approx(9.0, rel=1e-14)
    assert found.error == pytest.approx(value(0.1) - 9.0, rel=1e-10)
    third = analysis.richardson(5.0 + 0.3**3, 5.0 + 0.1**3, ratio=3.0, order=3.0)
    assert third.value == pytest.approx(5.0, rel=1e-14)


# --- summary
def test_the_summary_finds_the_synthetic_wave():
    summary = analysis.summary(synthetic(sensors=(3, 8, 13)))
    assert [pulse.bead for pulse in summary.sensors] == [3, 8, 13]
    for pulse in summary.sensors:
        assert pulse.position == pytest.approx((pulse.bead - 1) * 2.0 * RADIUS, rel=1e-12)
        assert pulse.peak == pytest.approx(PEAK_FORCE * theory.solitary_wave().bead_force, rel=1e-5)
        assert pulse.arrival == pytest.approx((pulse.bead - CREST) / wave_speed(), rel=1e-6)
        assert pulse.complete
    assert summary.wave_speed == pytest.approx(wave_speed() * 2.0 * RADIUS, rel=1e-6)
    assert (summary.title, summary.law, summary.status, summary.time_step) == (
        "synthetic wave",
        "hertz",
        "complete",
        4e-8,
    )
    assert summary.end == pytest.approx(150e-6, rel=1e-9)


def test_what_is_not_known_is_none_in_json():
    dead = synthetic(change={"sensor_force": np.zeros((750, 3))})
    read = json.loads(json.dumps(analysis.summary(dead).as_dict(), allow_nan=False))
    assert read["wave_speed"] is None
    first = read["sensors"][0]
    assert (first["bead"], first["peak"], first["arrival"], first["width"], first["impulse"]) == (
        3,
        0.0,
        None,
        None,
        0.0,
    )
    assert not any(first[flag] for flag in ("complete", "merged", "jump", "sampled"))
    assert read["wave_speed_beads"] == []
    assert read["energy"]["plastic"] == pytest.approx(2e-4, rel=1e-12)


def merged_sensor(column=1):
    """A result at one of whose sensors a pulse half as large comes 17 us before, and has not
    fallen to half when the other passes it."""
    result = synthetic(sensors=(3, 8, 13), end=200e-6)
    force = result.sensor_force.copy()
    force[:, column] += 0.55 * np.interp(result.time + 17e-6, result.time, force[:, column])
    return synthetic(sensors=(3, 8, 13), end=200e-6, change={"sensor_force": force})


def test_a_wave_that_slows_has_a_range_of_local_speeds():
    place = np.arange(14.0)
    # the arrival's slope grows from 1/10; in the middle of the first third, at 1.5, it is 1/8.97
    slows = place / 10.0 + place**2 / 260.0
    assert analysis.speed_in_words(place, slows) == "local speed 8.97 to 5.31 m/s"
    # a defect in the middle that rings: one speed before it, another behind it
    defect = np.where(place < 7.0, place / 10.0, 0.7 + (place - 7.0) / 5.0) + 0.1 * (place == 7.0)
    assert analysis.speed_in_words(place, defect) == "local speed 10 to 5 m/s"
    assert analysis.speed_in_words(place, place / 10.0) == "speed 10 m/s"


def test_a_sensor_at_which_another_pulse_has_merged_is_left_out_of_the_speed():
    summary = analysis.summary(merged_sensor())
    assert [pulse.merged for pulse in summary.sensors] == [False, True, False]
    assert summary.wave_speed == pytest.approx(wave_speed() * 2.0 * RADIUS, rel=1e-6)
    assert summary.wave_speed_beads == (3, 13)
    assert summary.as_dict()["sensors"][1]["merged"] is True and summary.as_dict()[
        "wave_speed_beads"
    ] == [3, 13]
    said = run_numbers(summary)
    assert (
        re.search(r"^ +3 .*\n +8 +\d+\.\d+ +merged \d+\.\d+\n +13 ", said, re.MULTILINE)
        and "a second, larger pulse" in said
    )
    assert (
        f"wave speed {summary.wave_speed:.6g} m/s: line through the arrivals at 2 sensors, beads "
        "3 to 13" in said
    )
    assert "merged" not in run_numbers(analysis.summary(synthetic()))


def test_arrivals_of_two_waves_are_out_of_order_and_those_of_one_are_not():
    place = np.arange(9.0)
    meeting = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 3.0, 2.0, 1.0, 0.0])
    assert analysis.out_of_order(place, meeting) == (4, 8)
    assert analysis.out_of_order(place[::-1], meeting) == (4, 0)
    # struck harder from the left: most arrivals run to the right, and from the right: to the left
    assert analysis.out_of_order(place, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.0, 0.0]) == (6, 8)
    assert analysis.out_of_order(place, [0.0, 1.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0]) == (2, 0)
    for one in (place, -place, [0.0, 1.0, 1.0, 2.0, math.nan, 9.0, 10.0, 11.0, 12.0]):
        assert analysis.out_of_order(place, one) is None
    # the last bead of a dimer is passed a little before the last but one, within the width of the
    # pulse
    late = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 6.8])
    assert analysis.out_of_order(place, late) == (7, 8)
    assert analysis.out_of_order(place, late, 0.3) is None
    assert analysis.out_of_order(place, late, np.full(9, math.nan)) == (7, 8)
    assert (
        analysis.out_of_order(place, meeting, 3.0) == (4, 8)
        and analysis.out_of_order([0.0, 1.0], [1.0, 0.0]) is None
    )


def test_pulses_that_meet_have_no_wave_speed_and_the_summary_says_so():
    force = synthetic(sensors=(3, 8, 13)).sensor_force
    summary = analysis.summary(
        synthetic(sensors=(3, 8, 13), change={"sensor_force": force[:, [1, 2, 0]]})
    )
    assert (
        math.isnan(summary.wave_speed)
        and summary.out_of_order == (8, 13)
        and summary.wave_speed_beads == ()
    )
    remark = (
        "no wave speed: the arrivals at beads 8 and 13 are out of order: there is more than one "
        "wave"
    )
    assert (
        summary.remarks == (remark,)
        and remark in run_numbers(summary)
        and "wave speed 0" not in run_numbers(summary)
    )
    one = analysis.summary(synthetic(sensors=(3, 8, 13)))
    assert one.remarks == () and one.out_of_order == () and one.wave_speed_beads == (3, 8, 13)


def test_a_failed_run_with_nan_has_a_summary_up_to_the_nan():
    force = synthetic().sensor_force.copy()
    force[600:] = math.nan
    residual = np.full(51, math.nan)
    summary = analysis.summary(
        synthetic(
            change={"sensor_force": force, "energy_residual": residual}, status=Status.NOT_FINITE
        )
    )
    assert summary.sensors[0].peak == pytest.approx(
        PEAK_FORCE * theory.solitary_wave().bead_force, rel=1e-5
    )
    assert summary.as_dict()["energy"]["largest_residual"] is None


def test_waves_from_both_ends_are_two_pulses_at_a_sensor():
    quick = {
        "chain.beads": 40,
        "sensors.beads": [5, 12, 20],
        "sensors.contacts": [],
        "snapshots": None,
        "time.end": 3.2e-4,
    }
    row = gc.load_case("steel-chain-hertz").replace(
        **quick,
        **{"striker": None, "time.step": 5e-8},
        initial={"velocity": [1.0] + [0.0] * 38 + [-0.8]},
    )
    both, left = gc.run(row), gc.run(row.replace(initial={"velocity": [1.0] + [0.0] * 39}))
    right = gc.run(row.replace(initial={"velocity": [0.0] * 39 + [-0.8]}))
    for column, bead in enumerate((5, 12)):
        first, second = analysis.pulses_at(both, bead)
        time, force = both.time, both.sensor_force[:, column]
        alone = analysis.sensor_peak(left, column)
        # until the waves meet nothing knows of the other one
        assert (first.peak, first.arrival) == pytest.approx((alone.force, alone.time), rel=1e-9)
        # the largest sample is at most half an interval away
        later = time > first.arrival + first.width
        k = np.flatnonzero(later)[np.argmax(force[later])]
        assert (
            second.arrival == pytest.approx(time[k], abs=1.001e-7)
            and force[k] <= second.peak < 1.001 * force[k]
        )
        # as the other wave by itself, but for what the meeting has delayed it: less than the time
        # that it takes from bead to bead
        assert (
            abs(second.arrival - analysis.sensor_peak(right, column).time) < 2.0 * 2.38e-3 / 600.0
        )
    # where they meet they are one
    assert len(analysis.pulses_at(both, 20)) == 1
    with pytest.raises(
        GranchainError, match=r"pulses_at: bead: got 7, allowed 5, 12, 20; name a sensor bead"
    ):
        analysis.pulses_at(both, 7)
