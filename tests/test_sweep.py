"""Studies: what is drawn, disorder as data of the case, the numbers of many first pulses, and the sweep over them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import granchain as gc
from granchain import analysis
from granchain.keys import Problems
from granchain.studies.distributions import Disorder, Distribution, values_of
from granchain.studies.measures import measure

SHORT = {"chain.beads": 12, "sensors.beads": [3, 6, 9], "sensors.contacts": [], "snapshots": None, "time.end": 2e-4, "time.step": "fast"}


def short(**changes):
    return gc.load_case("steel-chain").replace(**(SHORT | changes))


# ---------------------------------------------------------------------------------------------------------------------
# What is drawn


def test_distributions_are_those_of_their_names():
    # of the normal distribution 84.13 % lie below one standard deviation above the mean: (1 + erf(1/sqrt 2))/2
    part = 0.5 * (1.0 + math.erf(1.0 / math.sqrt(2.0)))
    assert gc.normal(1.77, 0.02).ppf(part) == pytest.approx(1.79, rel=1e-12)
    assert gc.lognormal(2.0, 0.1).ppf([0.5, part]) == pytest.approx([2.0, 2.0 * math.exp(0.1)], rel=1e-12)
    assert gc.uniform(1.0, 3.0).ppf([0.0, 0.25, 1.0]) == pytest.approx([1.0, 1.5, 3.0])
    # the median of Weibull's distribution: scale (ln 2)^(1/c)
    assert gc.distribution("weibull_min", c=2.0, scale=1.8).ppf(0.5) == pytest.approx(1.8 * math.log(2.0) ** 0.5)


def test_a_toml_table_gives_what_python_gives():
    problems = Problems()
    given = {
        "list": ([0.5, 1], [0.5, 1]),
        "linear": ({"linear": [0.1, 10, 3]}, [0.1, 5.05, 10.0]),
        "log": ({"log": [0.1, 10, 3]}, [0.1, 1.0, 10.0]),
        "normal": ({"normal": [1.77, 0.02]}, gc.normal(1.77, 0.02)),
        "scipy": ({"weibull_min": {"c": 2.0, "scale": 1.8}}, gc.distribution("weibull_min", c=2.0, scale=1.8)),
        "disorder": ({"disorder": {"normal": [1.0, 0.05]}}, gc.disorder(gc.normal(1.0, 0.05))),
        "gaps": ({"disorder": {"uniform": [0.0, 1e-6]}, "add": True}, gc.disorder(gc.uniform(0.0, 1e-6), add=True)),
    }
    for where, (written, meant) in given.items():
        found = values_of(where, written, problems)
        assert found == (pytest.approx(meant) if isinstance(meant, list) else meant), where
        if isinstance(found, (Distribution, Disorder)):
            assert values_of(where, found.as_dict(), problems) == found
    assert not problems.sentences


def test_all_mistakes_of_what_is_drawn_are_told_together():
    problems = Problems()
    wrong = {
        "a": {"nomal": [1, 2]}, "b": {"normal": [1, -1]}, "c": {"uniform": [3, 1]}, "d": {"weibull_min": {"c": -1}},
        "e": {"weibull_min": {"scale": 1, "x": 2}}, "f": [], "g": 3, "h": {"log": [-1, 2, 3]}, "i": {"linear": [1, 2, 2.5]},
        "j": {"disorder": [1, 2]}, "k": {"normal": [1, "x"]}, "l": {"normal": [1]},
    }  # fmt: skip
    assert all(values_of(where, value, problems) is None for where, value in wrong.items())
    assert {sentence[0] for sentence in problems.sentences} == set(wrong)
    assert 'did you mean "normal"?' in problems.sentences[0]
    with pytest.raises(gc.errors.CaseError, match=r"normal\.sd: got 0, allowed a number above 0"):
        gc.normal(1.0, 0.0)
    with pytest.raises(gc.errors.CaseError, match=r"disorder: got 1\.05"):
        gc.disorder(1.05)


# ---------------------------------------------------------------------------------------------------------------------
# Disorder as data of the case

FACTORS = [1.1, 0.9, 1.0, 1.05, 0.97]


def test_disorder_changes_beads_and_gaps_and_leaves_the_striker(tmp_path):
    case = short(**{"chain.beads": 5, "sensors.beads": [3], "chain.gap": 1e-6})
    disorder = {"radius_factor": FACTORS, "mass_factor": [1, 1, 2, 1, 1], "modulus_factor": FACTORS[::-1], "gap_added": [0, -1e-6, 0, 2e-6]}
    changed = case.replace(**{f"chain.{name}": values for name, values in disorder.items()}, **{"chain.disorder_seed": 3})
    before, after = case.bodies(), changed.bodies()
    assert after["radius"] == pytest.approx(before["radius"] * [1.0, *FACTORS], rel=1e-15)
    # a sphere's mass goes with the cube of its radius
    assert after["mass"] == pytest.approx(before["mass"] * [1.0, *np.power(FACTORS, 3) * [1, 1, 2, 1, 1]], rel=1e-14)
    assert after["gap"] == pytest.approx([0.0, 1e-6, 0.0, 1e-6, 3e-6], abs=1e-20)
    moduli = [new.youngs_modulus / old.youngs_modulus for new, old in zip(after["material"], before["material"], strict=True)]
    assert moduli == pytest.approx([1.0, *FACTORS[::-1]], rel=1e-15)
    assert gc.Case(**changed.resolved()) == changed and changed != case
    result = gc.run(changed)
    result.save(tmp_path / "run.h5")
    assert gc.open_result(tmp_path / "run.h5").case == changed
    assert result.radius == pytest.approx(after["radius"], rel=0)


def test_disorder_that_does_not_fit_is_refused():
    case = short(**{"chain.beads": 5, "sensors.beads": [3]})
    for changes, sentence in (
        ({"radius_factor": [1.0]}, r"chain.radius_factor: got 1 numbers, allowed 5, one for each bead"),
        ({"gap_added": [0.0] * 5}, r"chain.gap_added: got 5 numbers, allowed 4, one for each gap"),
        ({"gap_added": [0, 0, 0, -1e-6]}, r"chain.gap_added.3: got -1e-06 on a gap of 0, allowed a number from 0"),
        ({"mass_factor": [1, 1, 1, 0, 1]}, r"chain.mass_factor.3: got 0, allowed a list of numbers above 0"),
        ({"radius_factor": [1, 1, 1, 1, 1e-200]}, r"chain.radius_factor: got factors from 0 to 1, allowed factors whose products"),
        ({"gap_added": [0, 0, 0, 1e-6], "precompression": 3.0}, r"chain.gap_added: got gaps with precompression"),
    ):
        with pytest.raises(gc.errors.CaseError, match=sentence):
            case.replace(**{f"chain.{name}": value for name, value in changes.items()})


# ---------------------------------------------------------------------------------------------------------------------
# Numbers of many first pulses


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"contact.law": "hertz", "chain.precompression": 10.0},
        # a heavy striker: pulses that merge, and some that are not whole
        {"striker.mass": 3e-3, "time.end": 1e-4},
        # the force jumps where a contact closes
        {"contact.law": "kelvin-voigt", "contact.stiffness": 1e7, "contact.restitution": 0.8},
    ],
)
def test_the_numbers_of_many_pulses_are_those_of_each_run(changes):
    cases = [short(**changes, **{"striker.speed": speed}) for speed in (0.5, 1.0, 1.77)]
    # the first comes last: those of another case stay its own
    found = measure([*cases, cases[0]], 2, summary=lambda result: {"largest": result.contact_peak_force[3]})
    slim = measure(cases, 1, traces=True)
    for i, case in enumerate([*cases, cases[0]]):
        result = gc.run(case)
        summary = analysis.summary(result)
        for name in ("peak", "arrival", "width"):
            expected = [getattr(sensor, name) for sensor in summary.sensors]
            assert np.array_equal(getattr(found, name)[i], expected, equal_nan=True), name
        assert np.array_equal(found.wave_speed[i], summary.wave_speed, equal_nan=True)
        assert found.summaries[i] == {"largest": result.contact_peak_force[3]}
        assert found.time_step[i] == result.time_step
        if i < len(cases):
            assert np.array_equal(slim.peak[i], found.peak[i])
            assert np.array_equal(slim.force[i], result.sensor_force) and np.array_equal(slim.time[i], result.time)


def test_what_is_transmitted_is_the_momentum_of_the_last_bead():
    # two equal elastic beads change their speeds. The pulse has passed at 1 % of its peak, where the overlap is .01^(2/3) of the largest
    # and still holds .01^(5/3) = 4.6e-4 of the energy of the relative motion: the struck bead then lacks 1.2e-4 of its speed
    pair = short(**{"contact.law": "hertz", "chain.beads": 1, "sensors.beads": []})
    found = measure([pair], 1)
    assert 1.0 - 1.2e-4 < found.transmitted_momentum[0] < 1.0 + 1e-6
    assert found.transmitted_energy[0] == pytest.approx(found.transmitted_momentum[0] ** 2, rel=1e-12)


@pytest.mark.parametrize("right", ["free", "wall"])
def test_what_is_transmitted_is_what_the_velocities_say(right):
    case = short(**{"striker.mass": 0.3e-3, "ends.right": right, "snapshots.interval": 2e-8, "sensors.contacts": [11], "time.step": 2e-8})
    found, result = measure([case], 1), gc.run(case.replace(**{"sensors.interval": 2e-8}))
    contact = np.asarray(result.contact_force)[:, 0]
    stop = analysis.pulse_stop(contact)
    speeds = np.asarray(result.velocity)[[stop - 11, stop + 10], -1] / 1.77
    # samples 2e-7 s apart: the pulse has passed up to ten steps later
    low, high = sorted(speeds * 0.45 / 0.3)
    assert low - 1e-5 <= found.transmitted_momentum[0] <= high + 1e-5
    expected = np.array([low, high]) ** 2 * 0.3 / 0.45
    assert min(expected) - 1e-5 <= found.transmitted_energy[0] <= max(expected) + 1e-5


def test_nothing_is_transmitted_without_a_striker_or_before_the_end():
    found = measure([short(**{"time.end": 5e-5}), short(**{"striker": None, "contact.law": "hertz", "ends.left": "wall"})], 1)
    assert np.isnan(found.transmitted_momentum).all() and np.isnan(found.transmitted_energy).all()
