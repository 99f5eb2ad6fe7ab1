"""What a reading leaves open is in its uncertainty: dips that smoothing fills, kinks at the
top, jumps between samples, tops at a limit."""

import math

import numpy as np
import pytest
from support.synthetic_sensors import true_numbers

from granchain.measured.reading import DRAWS, readings_of

pytestmark = [pytest.mark.filterwarnings("error"), pytest.mark.promise("N12")]

NAMES = ("peak", "arrival", "width", "impulse")


def seeds(count):
    """Draws of noise and phase, a few of them at once."""
    few = [pytest.param(seed, marks=pytest.mark.long if seed > 1 else ()) for seed in range(count)]
    return pytest.mark.parametrize("seed", few)


def bell(x):
    """A Gaussian pulse of width 1."""
    return 2.0 ** (-4.0 * x**2)


def notched(depth):
    """A dip on the falling flank, sigma 0.04 of the width, as Gharib and Hurmuzlu's law makes."""
    return lambda x: bell(x) * (1.0 - depth * np.exp(-0.5 * ((x - 0.35) / 0.04) ** 2))


def cut_feet(x):
    """Jumps at both feet, as Wang and Liu's law makes."""
    return np.where(np.abs(x) < 0.8, bell(x), 0.0)


def kinked(x):
    """A kink 0.05 of the width before the top, as jankowski's law makes."""
    return bell(x) * (1.0 + 0.15 * np.maximum(-x - 0.05, 0.0))


def off(shape, samples, noise, seed, limit=math.inf):
    """Error and uncertainty of each number, by samples a width and noise over peak."""
    draw = np.random.default_rng(seed)
    time = -3.0 + (np.arange(round(6.0 * samples)) + draw.random()) / samples
    force = np.minimum(shape(time), limit) + noise * draw.standard_normal(len(time))
    (found,) = readings_of(time, force[:, None])
    # Twelve thousand samples over six widths.
    fine = np.linspace(-3.0, 3.0, 12_001)
    truth = true_numbers(fine, shape(fine))
    numbers = [getattr(found, name) for name in NAMES]
    return {
        name: (abs(one.value - true), one.error)
        for name, one, true in zip(NAMES, numbers, truth, strict=True)
    }, found


def test_the_truth_is_between_the_samples():
    # Area of the Gaussian, sqrt(pi/(4 ln 2)), less its tail beyond 1 %, erfc(sqrt(ln 100))/2.
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
    # The dip crosses the half height at .32 of the width, the flank behind it at .5.
    assert error < 3.0 * sure and (error < 0.05 or sure > 0.05)


# a rise that noise or few samples hide ends the impulse; a jump between two samples leaves it open
@seeds(12)
@pytest.mark.parametrize(
    ("shape", "samples", "noise"),
    [
        (notched(0.22), 60.0, 0.01),
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
    assert error < 0.01 and error < 3.0 * sure


@seeds(10)
@pytest.mark.parametrize(
    ("samples", "noise", "limit"), [(20.0, 0.01, 0.8), (10.0, 0.0005, 0.8), (40.0, 0.02, 0.4)]
)
def test_a_top_at_a_limit_is_withheld_or_covered(samples, noise, limit, seed):
    numbers, reading = off(bell, samples, noise, seed, limit)
    error, sure = numbers["peak"]
    assert math.isnan(error) or error < 5.0 * sure
    assert reading.messages


def sensors(noise, seed):
    """Bells at two sensors with a part of their noise in common."""
    draw = np.random.default_rng(seed)
    time = np.linspace(-4.0, 4.0, 801)
    common, own = draw.standard_normal((801, 1)), draw.standard_normal((801, 2))
    return time, bell(time)[:, None] + noise * (0.9 * common + 0.44 * own)


def alike(first, second):
    """Correlations of the deviations of each number at two sensors."""
    pairs = zip(first.deviations, second.deviations, strict=True)
    both = (
        np.isfinite(one + other)
        for one, other in zip(first.deviations, second.deviations, strict=True)
    )
    return np.array([np.corrcoef(a[k], b[k])[0, 1] for (a, b), k in zip(pairs, both, strict=True)])


def test_sensors_share_the_blocks_of_their_draws():
    time, force = sensors(0.02, 1)
    first, second = readings_of(time, force)
    assert first.deviations.shape == (4, DRAWS)
    # 0.9^2 of the variance of the noise is common, and so is the noise of peaks and times
    assert alike(first, second).min() > 0.5
    apart = readings_of(time, np.column_stack([force[:, 0], sensors(0.02, 2)[1][:, 0]]))
    assert np.abs(alike(*apart)).max() < 0.35
    # the seeds are fixed
    again = readings_of(time, force)[0]
    assert again.peak == first.peak
    assert (again.deviations == first.deviations)[np.isfinite(first.deviations)].all()


def test_what_rings_on_after_a_pulse_is_in_its_errors():
    time = np.linspace(-4.0, 6.0, 1001)
    ring = 0.02 * np.exp(-0.3 * (time + 0.5)) * np.sin(2.0 * math.pi * 3.0 * time + 1.0)
    noise = 1e-4 * np.random.default_rng(1).standard_normal((1001, 1))
    plain = bell(time)[:, None] + noise
    (still,), (ringing,) = (
        readings_of(time, force)
        for force in (plain, plain + np.where(time > -0.8, ring, 0.0)[:, None])
    )
    for name, true in (("peak", 1.0), ("arrival", 0.0), ("width", 1.0)):
        number, alone = getattr(ringing, name), getattr(still, name)
        assert abs(number.value - true) < 3.0 * number.error
        assert number.error > 5.0 * alone.error
    # of 2 % at the pulse, sqrt(1/2) is its standard deviation at a random phase
    assert ringing.peak.error == pytest.approx(0.02 / math.sqrt(2.0), rel=0.4)
    assert "rings on" in " ".join(ringing.messages) and not still.messages


def test_a_number_is_withheld_if_too_many_draws_have_another_pulse():
    # two tops of the same height, a dip to three quarters between: noise decides which is larger
    time = np.linspace(-4.0, 4.0, 401)
    force = (
        bell(time + 0.6) + bell(time - 0.6) + 0.02 * np.random.default_rng(1).standard_normal(401)
    )
    (found,) = readings_of(time, force[:, None])
    assert math.isnan(found.arrival.value) and math.isnan(found.width.value)
    assert "more than 20% of the draws" in " ".join(found.messages)


@pytest.mark.parametrize(("arrival", "height"), [("half", 0.5), ("rise", 0.1)])
def test_an_arrival_on_the_rise_is_measured_with_its_error(arrival, height):
    true, errors = -math.sqrt(-math.log2(height) / 4.0), []
    for seed in range(12):
        draw = np.random.default_rng(seed)
        time = np.linspace(-4.0, 4.0, 401) + 0.02 * draw.random()
        force = bell(time) + 0.01 * draw.standard_normal(401)
        (found,) = readings_of(time, force[:, None], arrival=arrival)
        assert abs(found.top) < 0.05
        errors.append((found.arrival.value - true) / found.arrival.error)
    assert 0.3 < np.std(errors) < 2.0 and np.abs(errors).max() < 4.0
