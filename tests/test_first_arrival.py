"""A run that ends before the first pulse reports when one arrives, within a factor of 2."""

import math
import re

import numpy as np
import pytest
from support.random_cases import random_cases

import granchain as gc
from granchain.analysis import sensor_pulses
from granchain.simulation import no_pulse_yet, time_needed


def first_end(case):
    """Return the time at which the first pulse of a case has fallen to half its height [s].

    The run is long enough.
    """
    pulses = [pulse for pulse in sensor_pulses(gc.run(case)) if pulse.complete]
    return min(pulse.arrival + 0.5 * pulse.width for pulse in pulses)


def check_factor(case, fraction):
    """Check that a run to the estimated time has a pulse, and a run to half of it has none."""
    early = case.replace({"time.end": fraction * first_end(case)})
    if not no_pulse_yet(gc.run(early)):
        return False
    time, bead = time_needed(early)
    assert bead in case.sensors.beads
    half, more = (gc.run(case.replace({"time.end": part * time})) for part in (0.5, 1.05))
    assert no_pulse_yet(half) and not no_pulse_yet(more), (case.contact.law, time)
    return True


def test_the_estimated_time_is_within_a_factor_of_two():
    small = ["chain.beads=20", "sensors.beads=[9, 15]", "sensors.contacts=[]", "time.end=3e-4"]
    for name in ("steel-chain", "steel-chain-hertz", "steel-chain-dashpot"):
        for fraction in (0.02, 0.3, 0.9):
            assert check_factor(gc.load_case(name, small), fraction)


@pytest.mark.long
def test_the_estimated_time_of_random_cases_is_within_a_factor_of_two():
    draw, checked = np.random.default_rng(11), 0
    for drawn in random_cases(150, 11):
        # every step is recorded, because with few samples a run to this time may show no pulse
        case = drawn.replace({"sensors.interval": 1e-8})
        try:
            checked += check_factor(case, draw.uniform(0.02, 0.9))
        except ValueError:  # no pulse in a run that should have one
            continue
    assert checked > 100


@pytest.mark.filterwarnings("ignore:radius:granchain.errors.GranchainWarning")
def test_a_command_whose_sensors_have_no_pulse_says_when_one_arrives(here, obeyed):
    # 4.76 m instead of 4.76 mm: the mass follows from the density
    case = gc.load_case("steel-chain-hertz", ["sensors.beads=[9, 16]", "chain.radius=4.76"])
    case = case.replace({"chain.mass": None, "striker.mass": None})
    case.save("metres.toml")
    err = obeyed("run", "metres.toml", "--out", "a.h5").err
    message = re.search(
        r"time\.end: no sensor has a pulse by 0\.0006 s\. The first one has passed bead 9 at about "
        r"(\S+) s\. Set time\.end to more than that, or check the units",
        err,
    )
    exact = first_end(case.replace({"time.end": 2.0 * float(message[1])}))
    assert math.isclose(float(message[1]), exact, rel_tol=0.3)
    # enough, with one more digit
    end = f"time.end={1.1 * float(message[1])}"
    again = obeyed("run", "metres.toml", "--set", end, "--out", "b.h5")
    assert "no sensor has a pulse" not in again.err and "not yet" in again.out


def test_a_chain_that_no_pulse_can_cross_says_so(here, obeyed):
    far = ("--set", "chain.gap=1e3", "--set", "sensors.beads=[60]")
    done = obeyed("run", "steel-chain-hertz", *far, "--out", "a.h5")
    assert "A much longer run may show none either." in done.err
