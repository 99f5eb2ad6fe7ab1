"""The uncertainty of a reading includes everything that it cannot determine: dips that smoothing
hides, kinks at the top, jumps between samples, and tops at a limit."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from support.synthetic_sensors import true_numbers

from granchain.measured import Trace
from granchain.measured.noise import Noise
from granchain.measured.reading import _rival_tops, reading_of
from granchain.measured.sides import Measured, stated_sensor
from granchain.measured.uncertainty import Number

pytestmark = [pytest.mark.filterwarnings("error"), pytest.mark.promise("N12")]

NAMES = ("peak", "arrival", "width", "impulse")


def seeds(count):
    """Return several random draws of noise and phase."""
    few = [pytest.param(seed, marks=pytest.mark.long if seed > 1 else ()) for seed in range(count)]
    return pytest.mark.parametrize("seed", few)


def bell(x):
    """A Gaussian pulse of width 1."""
    return 2.0 ** (-4.0 * x**2)


def notched(depth):
    """Return a pulse with a dip on the falling flank, sigma 0.04 of the width, as in Gharib and
    Hurmuzlu's law."""
    return lambda x: bell(x) * (1.0 - depth * np.exp(-0.5 * ((x - 0.35) / 0.04) ** 2))


def shoulder(x):
    """Return a pulse with a second top on the falling flank, 0.03 of the height above the dip
    before it."""
    return bell(x / 0.75) + 0.4 * bell((x - 0.52) / 0.25)


def cut_feet(x):
    """Return a pulse with jumps at both ends, as in Wang and Liu's law."""
    return np.where(np.abs(x) < 0.8, bell(x), 0.0)


def kinked(x):
    """Return a pulse with a kink 0.05 of the width before the top, as in the law jankowski."""
    return bell(x) * (1.0 + 0.15 * np.maximum(-x - 0.05, 0.0))


def two_tops(x):
    """Return a pulse with a round top 0.04 of the width before a corner that is 0.0005 higher, with
    a dip of 0.004 between them, as in Kogut and Etsion's law."""
    dip = bell(0.03 / 0.85)
    between = dip + (1.0005 - dip) * (x + 0.01) / 0.01
    after = np.where(x < 0.0, between, 1.0005 * np.exp(-0.55 * x - 1.2 * x**2))
    return np.where(x < -0.01, bell((x + 0.04) / 0.85), after)


def off(shape, samples, noise, seed, limit=math.inf):
    """Return error and uncertainty of each number, for samples per width and noise relative to the
    peak."""
    draw = np.random.default_rng(seed)
    time = -3.0 + (np.arange(round(6.0 * samples)) + draw.random()) / samples
    size = Noise(noise, np.empty(0))
    found = reading_of(
        time, np.minimum(shape(time), limit) + noise * draw.standard_normal(len(time)), size
    )
    # Twelve thousand samples in six widths.
    fine = np.linspace(-3.0, 3.0, 12_001)
    truth = true_numbers(fine, shape(fine))
    numbers = [getattr(found, name) for name in NAMES]
    return {
        name: (abs(one.value - true), one.error)
        for name, one, true in zip(NAMES, numbers, truth, strict=True)
    }, found


def test_the_truth_is_between_the_samples():
    # Area of the Gaussian pulse, sqrt(pi/(4 ln 2)), minus its tails below 1 %, erfc(sqrt(ln
    # 100))/2.
    time = np.linspace(-3.0, 3.0, 304)
    peak, arrival, width, area = true_numbers(time, bell(time))
    whole = math.sqrt(math.pi / (4.0 * math.log(2.0)))
    assert (peak, arrival, width) == (
        pytest.approx(1.0, abs=1e-6),
        pytest.approx(0.0, abs=1e-6),
        pytest.approx(1.0, abs=1e-5),
    )
    assert area == pytest.approx(
        whole * (1.0 - 0.5 * math.erfc(math.sqrt(math.log(100.0)))), abs=1e-5
    )


@seeds(5)
def test_a_dip_that_may_reach_half_the_height_leaves_two_widths_open(seed):
    numbers, _ = off(notched(0.32), 60.0, 0.01, seed)
    error, sure = numbers["width"]
    # The dip crosses half height at .32 of the width, and the flank after it at .5.
    assert error < 3.0 * sure and (error < 0.05 or sure > 0.05)


# a rise that noise or few samples hide ends the impulse; with a jump between two samples, the
# impulse is uncertain
@seeds(12)
@pytest.mark.parametrize(
    ("shape", "samples", "noise"),
    [
        (notched(0.22), 60.0, 0.01),
        (notched(0.22), 20.0, 0.01),
        (shoulder, 8.0, 0.0007),
        (cut_feet, 9.0, 0.0001),
        (cut_feet, 12.0, 0.0001),
    ],
)
def test_an_impulse_that_a_hidden_rise_or_a_jump_leaves_open_is_covered(
    shape, samples, noise, seed
):
    error, sure = off(shape, samples, noise, seed)[0]["impulse"]
    assert error < 5.0 * sure


@seeds(6)
def test_a_long_stretch_over_a_kink_is_not_taken_for_the_top(seed):
    error, sure = off(kinked, 150.0, 0.001, seed)[0]["arrival"]
    # the longest stretches agree with each other about 0.010
    assert error < 0.005 and error < 3.0 * sure


# draws in which no top is significant: only the longer stretches detect the corner
@pytest.mark.parametrize("seed", [1, 3, 4])
def test_an_arrival_is_less_sure_where_noise_hides_a_corner_beside_the_top(seed):
    error, sure = off(two_tops, 100.0, 0.002, seed)[0]["arrival"]
    assert 0.035 < error < 5.0 * sure and sure < 0.02
    # a round top has no such corner: a curve through 48 samples, .24 of the width on each side,
    # determines its position within 0.002 sqrt(3/48)/(8 ln 2 .24) of the width if it is a parabola
    assert off(bell, 100.0, 0.002, seed)[0]["arrival"][1] < 0.001


def test_equal_readings_below_a_higher_one_are_no_limit():
    # four samples after the top, where the last two are the highest, outside the range in which the
    # highest sample is searched
    force = bell(np.linspace(-3.0, 3.0, 361))
    force[182:184] += 0.04, 0.06
    found = reading_of(np.linspace(-3.0, 3.0, 361), force, Noise(0.015, np.empty(0)))
    assert math.isfinite(found.peak.value) and "flat" not in " ".join(found.messages)


@seeds(10)
@pytest.mark.parametrize(
    ("samples", "noise", "limit"), [(4.3, 0.01, 0.8), (4.3, 0.0005, 0.8), (10.0, 0.02, 0.4)]
)
def test_a_top_at_a_limit_is_withheld_or_covered(samples, noise, limit, seed):
    numbers, reading = off(bell, samples, noise, seed, limit)
    error, sure = numbers["peak"]
    assert math.isnan(error) or error < 5.0 * sure
    assert reading.messages


@pytest.mark.parametrize("seed", range(3))
def test_a_long_noisy_flat_top_beside_a_second_hump_is_withheld(seed):
    # the dip before the hump is above half of the limit, so the width at half height contains both
    def humps(x):
        return bell(x) + 0.45 * bell((x - 1.7) / 1.1)

    for limit in (0.33, 0.36, 0.42):
        reading = off(humps, 100.0, 0.012, seed, limit)[1]
        assert math.isnan(reading.peak.value)
        assert "as if the instrument clipped it" in " ".join(reading.messages)
    # without a limit, these tops are round
    for shape in (humps, bell, shoulder, two_tops):
        assert math.isfinite(off(shape, 100.0, 0.012, seed)[1].peak.value)


def test_an_impulse_is_withheld_where_a_dip_may_lie_between_two_samples():
    few, more = (off(notched(0.3), samples, 1e-4, 0)[1] for samples in (4.5, 7.0))
    assert math.isfinite(few.peak.value) and math.isnan(few.impulse.value)
    assert "a dip that ends the pulse may lie between two samples" in " ".join(few.messages)
    assert math.isfinite(more.impulse.value)


@pytest.mark.parametrize(("top", "other", "away"), [(4, 9, 5), (9, 4, 5)])
def test_a_place_is_less_sure_where_the_pulse_is_as_high_elsewhere_with_a_dip_between(
    top, other, away
):
    # uncertainties of two tops: they are distinct if their difference exceeds sqrt(2) times one
    # uncertainty
    heights = np.array([0.0, 0.0, 1.0, 3.0, 4.0, 4.0, 3.0, 3.0, 4.0, 4.0, 2.0, 1.0])
    heights[other], heights[top] = 4.9, 5.0
    found, pulse = SimpleNamespace(smooth=heights, doubt=0.1), SimpleNamespace(start=2, stop=12)
    pulse.top = top
    place = _rival_tops(found, pulse, Number(float(top), 0.3))
    # a third of the difference, three standard deviations, in addition to the statistical
    # uncertainty
    assert place == pytest.approx((top, math.hypot(0.3, away / 3.0)), rel=1e-12)
    heights[other] = 4.8
    assert _rival_tops(found, pulse, Number(float(top), 0.3)) == (top, 0.3)


def test_what_rings_on_after_a_pulse_is_in_its_errors():
    time = np.linspace(-4.0, 6.0, 1001)
    # three periods per width, with an amplitude of 2 % of the top
    ring = 0.02 * np.exp(-0.3 * time) * np.sin(2.0 * math.pi * 3.0 * time + 1.0)
    ring = np.where(time > -0.8, ring, 0.0)
    force = bell(time) + 1e-4 * np.random.default_rng(1).standard_normal(1001)
    trace = Trace(time=time, force=np.column_stack([force, force + ring]), beads=[1, 2])
    measured = Measured(trace, [1, 2], stated_sensor(trace, [1, 2], None))
    still, ringing = measured.readings
    amplitude, turn = measured.noises[1].ring
    assert measured.noises[0].ring == (0.0, 0.0)
    # of the decays that are searched, 0.2 and 0.6 are next to 0.3
    assert amplitude == pytest.approx(0.02, rel=math.expm1(0.3))
    assert turn == pytest.approx(2.0 * math.pi * 3.0 * 0.01, rel=0.05)
    for name, true in (("peak", 1.0), ("arrival", 4.0), ("width", 1.0)):
        number, alone = getattr(ringing, name), getattr(still, name)
        assert abs(number.value - true) < 3.0 * number.error
        assert number.error > 5.0 * alone.error
    (message,) = measured.messages()
    assert message.startswith("bead 2: the trace rings on after the pulse, by 0.01")
    # for one sample, a sine of unknown phase
    size = math.hypot(measured.noises[0].sample, amplitude / math.sqrt(2.0))
    assert measured.noises[1].sample == pytest.approx(size, rel=1e-3)


def test_a_ring_is_found_behind_a_second_hump():
    time = np.linspace(-4.0, 9.0, 781)
    force = bell(time) + 0.35 * bell((time - 1.7) / 0.9)
    force += 1e-4 * np.random.default_rng(1).standard_normal(781)
    # four periods per width, with an amplitude of 1 % of the top
    ring = 0.01 * np.exp(-0.3 * time) * np.sin(2.0 * math.pi * 4.0 * time)
    trace = Trace(time=time, force=(force + ring * (time > -0.8))[:, None], beads=[1])
    measured = Measured(trace, [1], stated_sensor(trace, [1], None))
    amplitude, turn = measured.noises[0].ring
    assert 0.005 < amplitude < 0.03
    assert turn == pytest.approx(2.0 * math.pi * 4.0 / 60.0, rel=0.1)


def test_a_wave_behind_a_pulse_is_not_taken_for_a_ring():
    # an oscillation of 0.2 at the pulse would bend its rise
    time = np.linspace(-4.0, 9.0, 781)
    wave = np.where(time > 1.0, 0.2 * np.exp(-time) * np.sin(2.0 * math.pi * 2.0 * time), 0.0)
    trace = Trace(time=time, force=(bell(time) + wave)[:, None], beads=[1])
    measured = Measured(trace, [1], stated_sensor(trace, [1], None))
    assert measured.noises[0].ring == (0.0, 0.0)


@pytest.mark.parametrize(("arrival", "height"), [("half", 0.5), ("rise", 0.1)])
def test_an_arrival_on_the_rise_is_measured_with_its_error(arrival, height):
    # bell(x) is the height at a distance x before the top
    true, ratios = -math.sqrt(-math.log2(height) / 4.0), []
    for seed in range(12):
        draw = np.random.default_rng(seed)
        time = np.linspace(-4.0, 4.0, 401) + 0.02 * draw.random()
        force = bell(time) + 0.01 * draw.standard_normal(401)
        found = reading_of(time, force, Noise(0.01, np.empty(0)), arrival=arrival)
        assert abs(found.top) < 0.05
        ratios.append((found.arrival.value - true) / found.arrival.error)
    # for twelve standard normal numbers
    assert 0.3 < np.std(ratios) < 2.0 and np.abs(ratios).max() < 4.0


def test_a_sum_without_weights_has_no_error():
    # if a number cannot be read, it is a sum of zero samples
    assert Noise(0.5, np.ones(3)).of_sum(np.empty(0)) == 0.0
