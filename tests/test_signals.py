"""Signals of driven ends: closed forms of tables, momentum and work, and refused signals."""

import math

import numpy as np
import pytest
from support.refused import refused, sentences_of

import granchain as gc
from granchain.case import Case
from granchain.case.signals import bounding_frequency
from granchain.chain import End
from granchain.engine.drives import drive_at
from granchain.engine.state import drive_of

RUN = 1e-3
MASS = 1e-3


def driven(drive="force", end=RUN, **signal):
    """Return a case with two beads 1 mm apart, which do not meet under these drives; the left one
    is driven."""
    return Case(
        chain={"beads": 2, "radius": 1e-3, "mass": MASS, "material": "steel-316", "gap": 1e-3},
        ends={"left": {"drive": drive, **signal}},
        contact={"law": "hertz"},
        sensors={"interval": 1e-5},
        time={"end": end, "step": 1e-6},
    )


def problems(**signal):
    return sentences_of(driven, **signal)


HARMONIC = {"signal": "harmonic", "amplitude": 2.0, "frequency": 1e4, "phase": 0.3}
CHIRP = {"signal": "chirp", "amplitude": 2.0, "from": 2e3, "to": 2e4, "duration": RUN}
NOISE = {"signal": "noise", "band": [2e3, 2e4], "rms": 2.0, "seed": 7}
HALF_SINE = {"signal": "pulse", "shape": "half-sine", "amplitude": 2.0, "duration": 2e-4}
GAUSSIAN = {"signal": "pulse", "shape": "gaussian", "amplitude": 2.0, "duration": 2e-4}

SIGNALS = (HARMONIC, CHIRP, NOISE, HALF_SINE, GAUSSIAN)


def closed_forms(time):
    """Return signals and their values from the formulas of the documentation."""
    x = time / 2e-4
    sweep = 2e3 * time + (2e4 - 2e3) / (2.0 * RUN) * time**2
    # with a duration of twelve standard deviations
    bell = np.exp(-0.5 * (12.0 * (x - 0.5)) ** 2)
    return {
        "harmonic": (HARMONIC, 2.0 * np.sin(2.0 * np.pi * 1e4 * time + 0.3)),
        "chirp": (CHIRP, 2.0 * np.sin(2.0 * np.pi * sweep)),
        "half-sine": (HALF_SINE, np.where(x < 1.0, 2.0 * np.sin(np.pi * x), 0.0)),
        "gaussian": (GAUSSIAN, np.where(x < 1.0, 2.0 * bell, 0.0)),
    }


def test_a_row_that_noise_or_an_oscillation_drives_has_no_first_pulse():
    named = [driven(**signal).driven_without_pulse for signal in SIGNALS]
    assert named == ["harmonic", "chirp", "noise", "", ""]
    assert driven(time=[0.0, 1e-4, 2e-3], value=[0.0, 1.0, 0.0]).driven_without_pulse == ""
    other = driven(**HALF_SINE).replace(**{"ends.right": {"drive": "force", **HARMONIC}})
    assert other.driven_without_pulse == "harmonic"
    assert other.replace(**{"initial": {"velocity": [1.0, 0.0]}}).driven_without_pulse == ""
    assert other.replace(**{"ends.left": "free", "striker.speed": 1.0}).driven_without_pulse == ""


def test_a_table_follows_its_closed_form_between_its_knots():
    time = np.random.default_rng(0).uniform(0.0, RUN, 2000)
    for name, (signal, value) in closed_forms(time).items():
        case = driven(**signal)
        _, (knots, spline) = drive_of(End("force", None, *case.driven("ends.left")))
        behind, found, ahead = (
            np.array([drive_at(knots, spline, t) for t in time + dt]) for dt in (-1e-9, 0.0, 1e-9)
        )
        # 1.5e-8 of the amplitude 2 is the error of a cubic; a gaussian also lacks its tail,
        # exp(-18) of the amplitude
        assert np.abs(found[:, 0] - value).max() < 2.0 * 3.1e-8, name
        near, inside = (ahead - behind)[:, 0] / 2e-9, (time < 1.99e-4) | (time > 2.01e-4)
        largest = 2.0 * 2.0 * np.pi * bounding_frequency(case.ends.left)
        assert np.abs(found[:, 1] - near)[inside].max() < 1e-4 * largest, name
        if name == "harmonic":
            omega = 2.0 * np.pi * 1e4
            slope = 2.0 * omega * np.cos(omega * time + 0.3)
            # sqrt(3)/216 (2 pi/128)^3 = 9.5e-7
            assert 8e-7 < np.abs(found[:, 1] - slope).max() / (2.0 * omega) < 9.6e-7


def test_a_ramp_begins_and_ends_at_rest_and_leaves_the_middle_alone():
    time, value, slope = driven(**{**CHIRP, "ramp": 2e-4, "duration": 8e-4}).driven("ends.left")
    assert slope is not None and (value[[0, -1]] == 0.0).all() and (slope[[0, -1]] == 0.0).all()
    middle = (time > 2e-4) & (time < 6e-4)
    expected = 2.0 * np.sin(2.0 * np.pi * (2e3 * time + (2e4 - 2e3) / (2.0 * 8e-4) * time**2))
    assert value[middle] == pytest.approx(expected[middle], abs=1e-12)
    # half of the ramp is reached at half its time
    half = np.argmin(np.abs(time - 1e-4))
    share = value[half] / expected[half]
    # its slope there is 2.1875/ramp, and the knot is at most half a step away
    assert share == pytest.approx(0.5, abs=2.1875 / 2e-4 * 0.5 * (time[1] - time[0]))


def test_noise_has_its_root_mean_square_its_band_and_its_seed():
    first, again, other = (
        driven(**{**NOISE, "duration": RUN, "seed": seed}).driven("ends.left") for seed in (7, 7, 8)
    )
    time, value, _ = first
    assert math.sqrt(np.mean(value[:-1] ** 2)) == pytest.approx(2.0, rel=1e-12)
    lines = np.fft.rfft(value[:-1])
    power = np.abs(lines) ** 2
    frequency = np.fft.rfftfreq(value.size - 1, time[1])
    inside = (frequency > 2e3 - 1.0) & (frequency < 2e4 + 1.0)
    assert power[~inside].sum() < 1e-20 * power.sum()
    # lines at distances of 1/RUN = 1 kHz, with equal magnitudes
    assert inside.sum() == 19 and power[inside] == pytest.approx(power[inside].mean(), rel=1e-9)
    assert (value == again.value).all() and np.abs(value - other.value).max() > 1.0
    # the raw numbers of a generator never change: the first phase of seed 7 from these numbers
    phase = 2.0 * math.pi * (int(np.random.PCG64(7).random_raw()) >> 11) * 2.0**-53
    assert np.angle(lines[2]) == pytest.approx(np.angle(np.exp(1j * phase)), abs=1e-9)


@pytest.mark.plain
def test_forces_give_their_momentum_and_work_and_those_that_end_hold_their_last_value():
    omega = 2.0 * math.pi * 1e4
    # an odd number of half periods: m v = (A/omega) (1 - cos omega t) has its maximum
    result = gc.run(driven(signal="harmonic", amplitude=2.0, frequency=1e4, end=5e-5))
    speed = 2.0 / (MASS * omega) * (1.0 - math.cos(omega * 5e-5))
    # leapfrog sums a force by the trapezoidal rule: (omega dt)^2/12 = 3.3e-4
    assert result.final_velocity[0] == pytest.approx(speed, rel=4e-4)
    assert result.energy_external[-1] == pytest.approx(0.5 * MASS * speed * speed, rel=8e-4)
    table = {"time": [0.0, 2e-5, 4e-5], "value": [3.0, 3.0, 3.0]}
    for signal, end, impulse, error, when, last in (
        # 2 A T/pi for half a sine: the error of the trapezoidal rule is (pi dt/T)^2/12 = 2.1e-5
        (HALF_SINE, 3e-4, 2.0 * 2.0 * 2e-4 / math.pi, 2.2e-5, 0.0002, 0),
        # A sigma sqrt(2 pi) for a gaussian with sigma = T/12: the rule is exact for a smooth pulse,
        # except for its tail, 1.5e-8 of 12/sqrt(2 pi)
        (GAUSSIAN, 3e-4, 2.0 * 2e-4 / 12.0 * math.sqrt(2.0 * math.pi), 1.5e-7, 0.0002, 0),
        # m v = F t
        (table, 1e-4, 3.0 * 1e-4, 1e-12, 4e-05, 3),
    ):
        result = gc.run(driven(end=end, **signal))
        assert result.final_velocity[0] == pytest.approx(impulse / MASS, rel=error)
        told = f"the drive of the left end ends at {when} s. It then keeps its last value, {last} N"
        assert told in [one.text for one in result.messages]


def test_a_signal_is_stored_as_its_keys():
    for signal in SIGNALS:
        case = driven(**signal)
        kept = case.resolved()["ends"]["left"]
        assert kept.items() >= signal.items() and not {"time", "value"} & kept.keys()
        again = Case(**case.resolved())
        assert again == case and again.sha256 == case.sha256 and case.drives
        np.testing.assert_array_equal(again.driven("ends.left"), case.driven("ends.left"))


def test_every_mistake_in_a_signal_is_named():
    for signal, *sentences in refused("signal"):
        assert problems(**signal) == sentences


def test_a_signal_of_no_length_is_refused():
    for tiny in (2e-323, 1e-300):
        (sentence,) = problems(**{**CHIRP, "duration": tiny, "ramp": tiny / 4.0})
        assert "Hz is out of range. The slopes" in sentence or "are too long. A sig" in sentence


def test_a_table_that_ends_at_rest_holds_its_value_and_one_that_ends_moving_is_refused():
    for drive in ("displacement", "force"):
        driven(drive, time=[0.0, 1e-4, 2e-4], value=[0.0, 1e-9, 1e-9])
    driven("force", time=[0.0, 1e-4, 2e-4], value=[0.0, 1e-9, 0.0])
    told = (
        "ends.left: the times end before the run, and the last value still changes. The table must "
        "start at 0 and reach the end of the run at 0.001 s, or end at rest with two equal values. "
        "Extend the table, or shorten the run."
    )
    for drive, value in (("displacement", [0.0, 1e-9, 0.0]), ("force", [0.0, 1e-9, 2e-9])):
        (sentence,) = problems(drive=drive, time=[0.0, 1e-4, 2e-4], value=value)
        assert sentence == told
