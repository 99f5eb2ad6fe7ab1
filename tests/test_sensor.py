"""The sensor bead: the force at the piezo, the filter, and the recorded values."""

import math
from itertools import product

import numpy as np
import pytest
from support.refused import assert_refused
from support.synthetic import synthetic

from granchain.analysis import first_pulse
from granchain.errors import GranchainError
from granchain.measured.noise import RIPPLES
from granchain.measured.sensor import Sensor
from granchain.measured.sides import piezo_force

pytestmark = pytest.mark.filterwarnings("error")


def test_halves_obey_newtons_law_each_and_equal_ones_read_the_mean_of_the_contact_forces():
    front, back = np.array([0.0, 10.0, 4.0]), np.array([0.0, 2.0, 6.0])
    assert Sensor().force(front, back).tolist() == [0.0, 6.0, 5.0]
    assert Sensor(front_mass=0.225e-3).force(front, back, 0.45e-3).tolist() == [0.0, 6.0, 5.0]
    force = float(Sensor(front_mass=0.15e-3).force(10.0, 2.0, 0.45e-3))
    # the whole bead and both halves have the same acceleration
    acceleration = (10.0 - 2.0) / 0.45e-3
    assert (10.0 - force) / 0.15e-3 == pytest.approx(acceleration, rel=1e-14)
    assert (force - 2.0) / 0.3e-3 == pytest.approx(acceleration, rel=1e-14)
    for mass in (None, 0.1e-3):
        told = r"front_mass: 0.0002 kg is out of range\. It must be less than the mass of the bead"
        with pytest.raises(GranchainError, match=told):
            Sensor(front_mass=0.2e-3).force(1.0, 2.0, mass)


def test_the_piezo_of_unequal_halves_feels_the_contact_before_it_by_the_share_of_the_half_behind():
    result, messages = synthetic(beads=6, sensors=(3,), contacts=(1, 2, 3)), []
    _, front, back = result.contact_force.T
    sensor = Sensor(front_mass=0.25 * result.mass[2])
    # by Newton's law, (front - force)/(mass/4) = (front - back)/mass
    known = 0.75 * front + 0.25 * back
    assert piezo_force(result, 3, sensor, messages) == pytest.approx(known, rel=1e-12, abs=1e-12)
    assert np.abs(known - result.sensor_force[:, 0]).max() > 0.01 * known.max()
    assert not messages
    # if one of the two contacts is not recorded, the mean is used, with a message
    alone = synthetic(beads=6, sensors=(3,), contacts=(1, 3))
    assert np.array_equal(piezo_force(alone, 3, sensor, messages), alone.sensor_force[:, 0])
    assert len(messages) == 1 and "--set sensors.contacts=[2,3]" in messages[0]
    # at a free end there is no contact behind the sensor, and its force is zero
    end = synthetic(beads=6, sensors=(6,), contacts=(5,))
    known = 0.75 * end.contact_force[:, 0]
    assert piezo_force(end, 6, Sensor(front_mass=0.25 * end.mass[5])) == pytest.approx(known)


def test_the_response_is_the_one_that_is_stated_without_delay():
    cutoff, middle = 5e4, slice(1500, 2500)
    # the filter halves the amplitude at the cutoff frequency
    for order, frequency in ((1, 5e4), (2, 5e4), (5, 5e4), (2, 1.2e5)):
        angle = 2.0 * math.pi * frequency * 1e-6 * np.arange(4000)
        wave, late = np.sin(angle), np.cos(angle)
        smoothed = Sensor(cutoff=cutoff, order=order).smooth(1e-6, wave)[middle]
        ratio = math.tan(math.pi * frequency * 1e-6) / math.tan(math.pi * cutoff * 1e-6)
        wave, late, stated = wave[middle], late[middle], 1.0 / (1.0 + ratio ** (2 * order))
        # amplitudes: projections on the wave itself, and on the wave with a delay of a quarter
        # period
        assert wave @ smoothed / (wave @ wave) == pytest.approx(stated, rel=1e-6), order
        assert abs(late @ smoothed) / (late @ late) < 1e-6, order


def test_the_filter_moves_a_peak_by_less_than_a_tenth_of_a_sample():
    # the exact solitary wave at 1 MHz, and a slower decay after it, as with dents and dashpots
    result = synthetic(sensors=(8,), end=150e-6)
    time = 1e-6 * np.arange(148)
    wave, late = (np.interp(time - t, result.time, result.sensor_force[:, 0]) for t in (0.0, 4e-6))
    for force, cutoff in product((wave, wave + 0.4 * late), (2e5, 3e5, 4e5)):
        bare = first_pulse(time, force)
        filtered = first_pulse(time, Sensor(cutoff=cutoff).smooth(1e-6, force))
        assert abs(filtered.top - bare.top) < 0.1e-6
        assert filtered.peak == pytest.approx(bare.peak, rel=3e-3)


def test_the_ripples_of_a_jump_stay_below_what_a_pulse_must_reach():
    jump = np.repeat([0.0, 1.0], 2000)
    for order, cutoff in product(range(1, 9), (0.05, 0.2)):
        smoothed = Sensor(cutoff=cutoff, order=order).smooth(1.0, jump)
        largest = max(smoothed.max() - 1.0, -smoothed.min())
        assert largest < RIPPLES and (order < 8 or largest > 0.8 * RIPPLES)


def test_a_reading_is_sampled_with_gain_and_noise():
    time, force = 1e-7 * np.arange(40001), np.full((40001, 2), 5.0)
    sensor = Sensor(interval=1e-6, noise=0.5, gain=0.02)
    sampled, reading = sensor.read(time, force, seed=1)
    assert sampled == pytest.approx(1e-6 * np.arange(4001), abs=1e-15)
    assert reading.shape == (4001, 2)
    assert reading.mean() == pytest.approx(0.1, abs=4 * 0.01 / math.sqrt(8002))
    # the standard deviation of n numbers has a relative error of 1/sqrt(2 n)
    assert reading.std() == pytest.approx(0.01, rel=4 / math.sqrt(2 * 8002))
    assert np.array_equal(reading, sensor.read(time, force, seed=1)[1])
    assert not np.array_equal(reading, sensor.read(time, force, seed=2)[1])


def test_a_reading_that_cannot_be_made_is_refused():
    def read(samples, sensor):
        sensor.read(1e-6 * np.arange(samples), np.zeros(samples))

    rate = "It must be below half the sampling rate, 500000 Hz at 1e-06 s"
    rows = [
        (50, Sensor(noise=0.1), "seed: missing. Noise needs a seed, a whole number"),
        (
            50,
            Sensor(interval=1e-7),
            "interval: 1e-07 s is too short. It must be at least the inter",
        ),
        (1, Sensor(), "1 samples are too few. At least two"),
        (100, Sensor(cutoff=6e5), f"cutoff: 600000 Hz is out of range. {rate}"),
    ]
    assert_refused(read, rows, GranchainError)


def test_the_filters_of_an_instrument_are_those_of_resistor_and_capacitor():
    # for order 1, a step decays or rises as e^(-2 pi f t)
    time = 1e-7 * np.arange(4000)
    step = np.where(time > 0.0, 1.0, 0.0)
    decay = np.exp(-2.0 * np.pi * 2e3 * time)
    high = Sensor(high_pass=2e3).instrument(1e-7, step)
    low = Sensor(low_pass=2e3).instrument(1e-7, step)
    assert np.abs(high - decay)[1:].max() < 2e-3 and np.abs(low - 1.0 + decay).max() < 2e-3
    assert Sensor().instrument(1e-7, step) is step
    with pytest.raises(
        GranchainError, match=r"high_pass: 6e\+06 Hz is out of range\. .* below half"
    ):
        Sensor(high_pass=6e6).instrument(1e-7, step)
    rows = [
        ({"filter_order": 9}, "filter_order: 9 is out of range. It must be a whole number, 1 to 8"),
        ({"high_pass": 2e3, "low_pass": 1e3}, "high_pass: .* is out of range. .* below low_pass"),
        ({"high_pass": [2e3, -1.0]}, "high_pass: -1.0 is out of range"),
    ]
    assert_refused(lambda keys: Sensor(**keys), rows, GranchainError)
    assert Sensor(high_pass=10.0, low_pass=2e5).band == "above 0.01 kHz and below 200 kHz, order 1"
    assert Sensor(low_pass=2e5, filter_order=2).band == "below 200 kHz, order 2"
    # another value for each sensor
    each = Sensor(high_pass=[2e3, 2e2, 1e3])
    both = each.instrument(1e-7, np.column_stack([step] * 3))
    assert both[:, 0].tolist() == high.tolist()
    assert both[:, 1].tolist() == Sensor(high_pass=2e2).instrument(1e-7, step).tolist()
    assert each.band == "above 0.2 to 2 kHz, order 1"
    with pytest.raises(GranchainError, match="high_pass: 3 numbers do not fit values of the shape"):
        each.instrument(1e-7, step)
    assert Sensor(cutoff=2e5).band == ""
