"""Peaks, arrivals, speeds, widths and orders of synthetic traces known in closed form."""

import json
import math
import re

import numpy as np
import pytest
from support.synthetic import CREST, PEAK_FORCE, RADIUS, synthetic, wave_speed

from granchain import analysis, figures, theory
from granchain.errors import GranchainError
from granchain.show.numbers import run_numbers
from granchain.status import Status

pytestmark = pytest.mark.filterwarnings("error")


def parabola(time, height=7.0, at=3.3, curvature=2.0):
    """Return a pulse that is a parabola, and 0 outside of it."""
    return np.maximum(height - curvature * (time - at) ** 2, 0.0)


def gaussian(time, height, at, width):
    return height * np.exp(-0.5 * ((time - at) / width) ** 2)


TIME = np.arange(0.0, 10.0, 0.25)


def one(time, force, **options):
    """Return the first pulse of one record."""
    return analysis.first_pulse(time, force, **options).record(0)


def of_top(pulse):
    return pulse.peak, pulse.top, pulse.complete, pulse.jump


def test_the_peak_of_a_parabola_is_exact_and_of_a_flat_top_its_middle():
    time = np.array([0.0, 2.0, 2.9, 3.15, 3.9, 4.0, 8.0])
    pulse = one(time, parabola(time))
    assert (pulse.peak, pulse.arrival) == pytest.approx((7.0, 3.3), rel=1e-13)
    # clipped at a limit
    flat = one([0.0, 1.0, 2.0, 3.0, 5.0, 6.0], [0.0, 1.0, 4.0, 4.0, 4.0, 0.0])
    assert (flat.peak, flat.top, flat.complete) == (4.0, 3.5, True)
    # two equal samples lie on both sides of a peak between them
    two = one([0.0, 1.0, 2.0, 3.0], [0.0, 4.0, 4.0, 0.0])
    assert (two.peak, two.top, two.complete) == (4.5, 1.5, True)
    # a dip to more than half does not end the first pulse
    dips = np.transpose([[0.0, 4.0, 2.01, 5.0, 1.0, 0.0], [0.0, 4.0, 1.99, 5.0, 1.0, 0.0]])
    pulses = analysis.first_pulse(np.arange(6.0), dips)
    assert (pulses.start.tolist(), pulses.stop.tolist()) == ([1, 1], [4, 2])


def jumps_at(count, *known):
    """Return jumps between samples: (slot, force, time)."""
    force, time = np.full(count, np.nan), np.full(count, np.nan)
    for slot, f, t in known:
        force[slot], time[slot] = f, t
    return analysis.ForceJumps(force, time)


def test_a_maximum_beside_a_jump_is_found_from_the_samples_on_its_side():
    # a parabola with the top at t = 1.7, from a jump at 0.5 from 0 to 6.9 to a jump at 2.9 back to
    # 0
    time = np.arange(0.0, 8.0)
    top = np.where(time < 6.5, 7.0 - 0.05 * (time - 1.7) ** 2, 0.0)
    for force, jump in (
        (np.where(time < 0.5, 0.0, top), (1, 6.9, 0.5)),
        # the largest sample, at 2, has a jump on its left at 1.2, so only samples on its right are
        # used
        (np.where(time < 1.5, 0.0, top), (2, 6.9, 1.2)),
        (np.where(time > 2.5, 0.0, top), (3, 6.9, 2.9)),
    ):
        found = one(time, force, jumps=jumps_at(8, jump))
        assert of_top(found) == pytest.approx((7.0, 1.7, True, False), rel=1e-13)
    # a top on the other side of the jump does not count
    later = one(time, np.where(time < 1.5, 0.0, top), jumps=jumps_at(8, (2, 6.9, 1.9)))
    assert of_top(later) == (top[2], 2.0, True, False)
    # between two jumps, only the sample counts
    two = jumps_at(8, (2, 6.5, 1.9), (3, 6.4, 2.1))
    both = one(time, np.where(time == 2.0, 7.0, 1.0), jumps=two)
    assert of_top(both) == (7.0, 2.0, True, False)


def test_a_jump_counts_where_it_lies_in_the_first_pulse():
    # the pulse ends at the first sample below half, and a jump may end it; a larger pulse comes
    # later
    time = np.arange(0.0, 10.0)
    force = np.array([0.0, 2.0, 4.0, 6.0, 1.0, 0.0, 0.0, 9.0, 1.0, 0.0])
    known = jumps_at(10, (4, 6.6, 3.6), (8, 12.0, 7.5))
    assert of_top(one(time, force, jumps=known)) == (6.6, 3.6, True, True)
    # every other sample: jumps between two of them, or further apart, stay between them
    thinned = known.every(2)
    assert np.flatnonzero(np.isfinite(thinned.force)).tolist() == [2, 4]
    assert thinned.force[[2, 4]].tolist() == [6.6, 12.0] and thinned.time[[2, 4]].tolist() == [
        3.6,
        7.5,
    ]
    # the larger one of two in one interval
    assert jumps_at(7, (1, 3.0, 0.5), (2, 2.0, 1.5), (6, 1.0, 5.5)).every(3).force.tolist()[1:] == [
        3.0,
        1.0,
    ]


def test_a_larger_pulse_that_passes_the_first_before_it_has_fallen_to_half_has_merged_with_it():
    # if the pulses are separate, the first one is used, and the second one has not merged with it
    apart, close, behind = (
        gaussian(TIME, 13.7, 3.0, 0.5) + gaussian(TIME, height, at, 0.5)
        for height, at in ((25.6, 6.5), (25.6, 4.8), (12.0, 4.8))
    )
    for force, height, merged in ((apart, 13.7, False), (behind, 13.7, False), (close, 25.6, True)):
        pulse = one(TIME, force)
        assert pulse.peak == pytest.approx(height, abs=0.1) and pulse.merged is merged
    # two humps with a dip of 0.014 between them, as from a kink of a law, are one pulse
    fine = np.linspace(0.0, 10.0, 2001)
    humps = gaussian(fine, 20.0, 3.0, 0.5) + gaussian(fine, 20.5, 4.09, 0.5)
    assert not one(fine, humps).merged
    # with a dip of 0.046, they are two pulses
    assert one(fine, gaussian(fine, 20.0, 3.0, 0.5) + gaussian(fine, 20.5, 4.15, 0.5)).merged
    # this does not depend on whether the trace contains the peak, or on a static force
    cut = one(TIME[:19], close[:19])
    assert cut.merged and not cut.complete
    above = analysis.first_pulse(TIME, 10.0 + np.column_stack([close, apart]), baseline=10.0)
    assert above.merged.tolist() == [True, False]


def test_a_trace_without_a_pulse_has_peak_0_and_no_arrival():
    for force in (np.zeros(40), -parabola(TIME), np.full(40, math.nan), np.zeros(0)):
        time = TIME[: len(force)]
        pulse = one(time, force)
        assert pulse.peak == 0.0 and math.isnan(pulse.arrival) and not pulse.complete
        assert math.isnan(pulse.width) and pulse.impulse == 0.0
        assert (pulse.start, pulse.stop, pulse.end) == (0, 0, 0)


def test_a_static_force_is_part_of_the_peak_and_not_of_the_pulse():
    force = 10.0 + parabola(TIME)
    above, bare = one(TIME, force, baseline=10.0), one(TIME, parabola(TIME))
    assert (above.start, above.stop) == (bare.start, bare.stop)
    assert (above.peak, above.top) == pytest.approx((17.0, 3.3), rel=1e-13)
    assert above.width == pytest.approx(bare.width, rel=1e-12)
    assert above.impulse == pytest.approx(np.trapezoid(parabola(TIME), TIME), rel=1e-12)


def test_the_width_of_a_triangle_is_half_its_base_and_an_impulse_is_of_the_first_pulse():
    time = np.linspace(0.0, 8.0, 9)
    triangle = np.maximum(4.0 - np.abs(time - 4.0), 0.0)
    assert one(time, triangle).width == pytest.approx(4.0, rel=1e-14)
    time = np.linspace(0.0, 30.0, 3001)
    force = gaussian(time, 5.0, 8.0, 0.5) + gaussian(time, 9.0, 20.0, 0.5)
    # area of a Gaussian; the part beyond 1 % of the peak, at 3.03 deviations, is 0.12 % of it
    area = 5.0 * 0.5 * math.sqrt(2.0 * math.pi)
    assert one(time, force).impulse == pytest.approx(area * (1.0 - 0.0012), rel=1e-4)


def test_the_speeds_between_sensors_show_a_wave_that_slows_down():
    speeds = analysis.speeds_between([0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 0.5, 1.5, math.nan, 9.0])
    assert speeds[:2].tolist() == [2.0, 1.0] and np.isnan(speeds[2:]).all()
    place = np.arange(14.0)
    # the slope of the arrival grows from 1/10; in the middle of the first third, at 1.5, it is
    # 1/8.97
    slows = place / 10.0 + place**2 / 260.0
    assert analysis.speed_in_words(place, slows) == "local speed 8.97 to 5.31 m/s"
    # a defect in the middle that rings: one speed before it, and another speed behind it
    defect = np.where(place < 7.0, place / 10.0, 0.7 + (place - 7.0) / 5.0) + 0.1 * (place == 7.0)
    assert analysis.speed_in_words(place, defect) == "local speed 10 to 5 m/s"
    assert analysis.speed_in_words(place, place / 10.0) == "speed 10 m/s"
    # every fourth of 900 positions, 225: thirds of 75 begin at 151 of them
    assert len(analysis.local_speeds(np.arange(900.0), np.arange(900.0))) == 151


def test_the_course_between_snapshots_is_exact_for_a_polynomial_of_the_fifth_degree():
    motion = np.polynomial.Polynomial([0.3, -1.0, 0.7, 2.0, -1.5, 0.4])
    time = np.array([0.0, 0.2, 0.3, 0.55, 0.9, 1.0])
    u, v = (np.column_stack([f(time), 2.0 * f(time)]) for f in (motion, motion.deriv()))
    t, course = analysis.between_snapshots(time, u, v, 7)
    assert t.shape == (36,) and course.shape == (36, 2)
    assert t[::7] == pytest.approx(time, rel=1e-15) and course[::7] == pytest.approx(v, rel=1e-12)
    rate = motion.deriv()(t)
    assert course == pytest.approx(np.column_stack([rate, 2.0 * rate]), abs=1e-9)


def test_the_observed_order_of_a_power_is_its_exponent_and_richardson_gives_the_limit():
    steps = np.array([10.0, 5.0, 2.0, 1.0, 0.5]) * 1e-8
    for order in (1.0, 1.5, 4.0):
        assert analysis.observed_order(steps, -3.0 * steps**order) == pytest.approx(order)
    for some, errors in (([1.0], [1.0]), ([1.0, 1.0], [1.0, 2.0]), ([1.0, 2.0], [0.0, 1.0])):
        with pytest.raises(ValueError, match=r"observed_order: "):
            analysis.observed_order(some, errors)
    found = analysis.richardson(9.0 + 0.4 * 0.2**2, 9.0 + 0.4 * 0.1**2)
    assert found == pytest.approx((9.0, 0.4 * 0.1**2), rel=1e-10)
    third = analysis.richardson(5.0 + 0.3**3, 5.0 + 0.1**3, ratio=3.0, order=3.0)
    assert third.value == pytest.approx(5.0, rel=1e-14)


def test_the_summary_finds_the_synthetic_wave():
    summary = analysis.summary(synthetic())
    assert [pulse.bead for pulse in summary.sensors] == [3, 8, 13]
    height = PEAK_FORCE * theory.solitary_wave().bead_force
    for pulse in summary.sensors:
        assert pulse.position == pytest.approx((pulse.bead - 1) * 2.0 * RADIUS, rel=1e-12)
        assert pulse.peak == pytest.approx(height, rel=1e-5) and pulse.complete
        assert pulse.arrival == pytest.approx((pulse.bead - CREST) / wave_speed(), rel=1e-6)
    assert summary.wave_speed == pytest.approx(wave_speed() * 2.0 * RADIUS, rel=1e-6)
    told = (summary.title, summary.law, summary.status, summary.time_step)
    assert told == ("synthetic wave", "hertz", "complete", 4e-8)
    assert summary.end == pytest.approx(150e-6, rel=1e-9)
    assert (summary.remarks, summary.out_of_order) == ((), ())
    assert summary.wave_speed_beads == (3, 8, 13) and "merged" not in run_numbers(summary)
    for x, y in (([1.0, 2.0, 2.0], [1.0, 2.0, 3.0]), ([1.0, 2.0, 3.0], [1.0, 0.0, 3.0])):
        with pytest.raises(GranchainError, match="Values above 0 at three or more positions"):
            analysis.power_law(np.array(x), np.array(y))


def test_what_is_not_known_is_none_in_json():
    dead = synthetic(change={"sensor_force": np.zeros((750, 3))})
    read = json.loads(json.dumps(analysis.summary(dead).as_dict(), allow_nan=False))
    assert read["wave_speed"] is None
    first = read["sensors"][0]
    told = [first[name] for name in ("bead", "peak", "arrival", "width", "impulse")]
    assert told == [3, 0.0, None, None, 0.0]
    assert not any(first[flag] for flag in ("complete", "merged", "jump", "sampled"))
    assert read["wave_speed_beads"] == []
    assert read["energy"]["plastic"] == pytest.approx(2e-4, rel=1e-12)
    # a signal ahead of a wave is not a pulse
    ahead = synthetic().sensor_force * [1.0, 0.0, 1.0] + np.outer(range(750), [0.0, 6e-24, 0.0])
    early = synthetic(change={"sensor_force": ahead})
    assert re.search(r"\n +8 +- +not yet\n", run_numbers(analysis.summary(early)))
    assert figures.run.first_pulses(early)[1] == ["omitted (no pulse): bead 8"]


def test_a_sensor_at_which_another_pulse_has_merged_is_left_out_of_the_speed():
    # a pulse half as large comes 17 us earlier, and has not fallen to half when the other one
    # passes it
    result = synthetic(end=200e-6)
    force = result.sensor_force.copy()
    force[:, 1] += 0.55 * np.interp(result.time + 17e-6, result.time, force[:, 1])
    merged = synthetic(end=200e-6, change={"sensor_force": force})
    summary = analysis.summary(merged)
    assert [pulse.merged for pulse in summary.sensors] == [False, True, False]
    assert summary.wave_speed == pytest.approx(wave_speed() * 2.0 * RADIUS, rel=1e-6)
    assert summary.wave_speed_beads == (3, 13)
    read = summary.as_dict()
    assert read["sensors"][1]["merged"] is True and read["wave_speed_beads"] == [3, 13]
    said = run_numbers(summary)
    assert re.search(r"^ +3 .*\n +8 +\d+\.\d+ +merged \d+\.\d+\n +13 ", said, re.MULTILINE)
    assert "a second, larger pulse" in said and (
        f"wave speed {summary.wave_speed:.6g} m/s (linear fit to arrivals at 2 sensors, beads "
        "3 to 13" in said
    )


def test_arrivals_of_two_waves_are_out_of_order_and_those_of_one_are_not():
    place = np.arange(9.0)
    meeting = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 3.0, 2.0, 1.0, 0.0])
    # the pulse passes the last bead of a dimer slightly before the last but one, within its width
    late = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 6.8])
    one_wave = [0.0, 1.0, 1.0, 2.0, math.nan, 9.0, 10.0, 11.0, 12.0]
    for places, arrivals, widths, expected in (
        (place, meeting, (), (4, 8)),
        (place[::-1], meeting, (), (4, 0)),
        # struck harder from the left, most arrivals run to the right; struck harder from the right,
        # to the left
        (place, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.0, 0.0], (), (6, 8)),
        (place, [0.0, 1.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0], (), (2, 0)),
        *((place, one, (), None) for one in (place, -place, one_wave)),
        (place, late, (), (7, 8)),
        (place, late, (0.3,), None),
        (place, late, (np.full(9, math.nan),), (7, 8)),
        (place, meeting, (3.0,), (4, 8)),
        ([0.0, 1.0], [1.0, 0.0], (), None),
    ):
        assert analysis.out_of_order(places, arrivals, *widths) == expected


def test_pulses_that_meet_have_no_wave_speed_and_the_summary_says_so():
    swapped = synthetic().sensor_force[:, [1, 2, 0]]
    summary = analysis.summary(synthetic(change={"sensor_force": swapped}))
    assert math.isnan(summary.wave_speed)
    assert (summary.out_of_order, summary.wave_speed_beads) == ((8, 13), ())
    remark = (
        "no wave speed: the arrivals at beads 8 and 13 are out of order, so there is more than "
    )
    said = run_numbers(summary)
    assert summary.remarks == (f"{remark}one wave",)
    assert summary.remarks[0] in said and "wave speed 0" not in said


def test_a_failed_run_with_nan_has_a_summary_up_to_the_nan():
    force = synthetic().sensor_force.copy()
    force[600:] = math.nan
    change = {"sensor_force": force, "energy_residual": np.full(51, math.nan)}
    summary = analysis.summary(synthetic(change=change, status=Status.NOT_FINITE))
    height = PEAK_FORCE * theory.solitary_wave().bead_force
    assert summary.sensors[0].peak == pytest.approx(height, rel=1e-5)
    assert summary.as_dict()["energy"]["largest_residual"] is None


def stack():
    """Return records (60, records), nan after their end.

    They are complete, cut at every length, without a pulse, with a second hump, clipped, noisy, and
    not finite.
    """
    t = np.arange(60.0)
    pulse = 20.0 * np.exp(-(((t - 20.0) / 5.0) ** 2))
    two = pulse + 15.0 * np.exp(-(((t - 32.0) / 3.0) ** 2))
    later, odd = pulse + 4.0 * np.roll(pulse, 30), pulse.copy()
    odd[40] = np.inf
    noise = list(np.random.default_rng(1).normal(size=(9, 60)))
    records = [*(pulse[:n] for n in range(61)), np.zeros(7), -pulse, two, later, odd]
    records += [np.minimum(pulse, 13.0), *noise]
    return np.transpose([np.append(one, np.full(60 - len(one), np.nan)) for one in records])


@pytest.mark.parametrize("options", [{}, {"smooth": False}, {"rise": 0.01}, {"arrival": "half"}])
def test_a_stack_of_records_has_the_pulses_of_each_record(options):
    force = stack()
    time = 1e-7 * np.arange(60)
    baseline = np.linspace(0.0, 0.3, force.shape[1])
    found = analysis.first_pulse(time, force, baseline=baseline, **options)
    for k, column in enumerate(force.T):
        alone = one(time, column, baseline=baseline[k], **options)
        assert repr(found.record(k)) == repr(alone)
        # times may differ between records
        times = np.multiply.outer(time, np.ones(2))
        both = analysis.first_pulse(
            times, np.column_stack([force[:, 3], column]), baseline=baseline[[3, k]], **options
        )
        assert repr(both.record(1)) == repr(alone)
    ends = analysis.first_pulse(time, force).end
    assert {0, -1, 6, 28, 32} <= {*ends.tolist()}


def test_smoothing_keeps_parabolas_and_takes_noise_away():
    time = np.linspace(0.0, 10.0, 1001)
    rounded = gaussian(time, 7.0, 4.0, 1.0)
    smooth = one(time, rounded, smoothing=0.2)
    # twicing of a Gaussian pulse of width s: 1 - 2/r + 1/sqrt(2 r^2 - 1), r = sqrt(1 + (w/s)^2)
    r = math.sqrt(1.0 + 0.2**2)
    assert smooth.peak == pytest.approx(7.0 * (2.0 / r - 1.0 / math.sqrt(2.0 * r**2 - 1.0)))
    assert smooth.arrival == pytest.approx(4.0, abs=1e-9)
    noisy = rounded[:, None] + np.random.default_rng(1).normal(0.0, 0.1, (1001, 50))
    peaks = analysis.first_pulse(time, noisy, smoothing=0.2, level=0.5).peak
    # the squares of the weights sum to 1.53 times the inverse of 2 sqrt(pi) 20 samples
    assert abs(peaks.mean() - smooth.peak) < 0.02 and 0.01 < peaks.std() < 0.03


@pytest.mark.parametrize(("arrival", "fraction"), [("half", 0.5), ("rise", 0.1)])
def test_an_arrival_on_the_rise_is_the_last_time_before_the_top_at_a_fraction_of_the_peak(
    arrival, fraction
):
    # a triangle after a bump that reaches the fraction and falls again
    time = np.arange(0.0, 20.0, 0.5)
    force = np.maximum(8.0 - np.abs(time - 12.0), 0.0) + 6.0 * (time == 2.0)
    pulse = one(time, 3.0 + force, baseline=3.0, arrival=arrival, level=6.5)
    assert pulse.top == 12.0 and pulse.arrival == pytest.approx(4.0 + 8.0 * fraction)
    with pytest.raises(GranchainError, match="arrival: 'foot' is unknown"):
        one(time, force, arrival="foot")
