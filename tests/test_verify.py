"""`verify`: the error bars bound the errors, the order is the law's own, and what cannot be shown is not said to be shown."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import granchain as gc
from granchain.analysis import peak
from granchain.case import Case, load_case
from granchain.cli import obey
from granchain.contact.law import ContactLaw
from granchain.verify import AROUND, BELOW, CONFIRMED, UNCONFIRMED, Verification, error_bar, verify

# Twelve beads of the steel chain, the pulse past the eighth: eight diameters of 4.76 mm at 734 m/s, with their width.
SMALL = {"chain.beads": 12, "sensors.beads": [1, 8], "sensors.contacts": [], "snapshots": None, "time.end": 8e-5}
LAWS = {
    "hertz": {"contact.law": "hertz"},
    "ma-liu": {},
    "flores": {"contact.law": "flores", "contact.restitution": 0.65},
}


def small(law: str, **more: object) -> Case:
    return load_case("steel-chain").replace(**SMALL, **LAWS[law], **more)


def true_errors(case: Case, found: Verification) -> list[tuple[float, float]]:
    """Errors of peak and arrival at each sensor by a run at a sixteenth of the step."""
    fine = gc.run(case.replace(**{"time.step": found.time_step / 16.0, "sensors.interval": found.interval}))
    tops = [peak(fine.time, column) for column in fine.sensor_force.T]
    return [(abs(top.force - one.peak), abs(top.time - one.arrival)) for top, one in zip(tops, found.sensors, strict=True)]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("step", ["auto", "fast"])
def test_the_error_bars_hold_the_true_errors_and_not_much_more(law: str, step: str) -> None:
    case = small(law, **{"time.step": step})
    found = verify(case)
    assert [one.bead for one in found.sensors] == [1, 8]
    # the safety factor of the bars: of a law without kinks they are as much larger than the errors
    for one, (by_peak, by_arrival) in zip(found.sensors, true_errors(case, found), strict=True):
        assert by_peak < one.peak_error
        assert by_arrival < one.arrival_error
        if law != "ma-liu":
            assert by_peak > 0.5 * one.peak_error
            assert by_arrival > 0.5 * one.arrival_error


@pytest.mark.promise("N4")
@pytest.mark.parametrize("law", LAWS)
def test_the_observed_order_is_two(law: str, figure) -> None:
    found = verify(small(law))
    figure("observed order of 12 beads at 2, 1 and 1/2 automatic steps", found.order, at_least=1.85, at_most=2.15)
    assert found.confirmed and found.order_stated == 2
    assert found.steps == tuple(factor * found.time_step for factor in AROUND)
    # a quarter of the residual at half the step
    assert found.residuals[0] / found.residuals[1] == pytest.approx(4.0, rel=0.1)


def test_the_sufficient_step_is_sufficient_and_not_far_from_it() -> None:
    # 1e-4: a step that is not cut at the largest known one
    case = small("hertz")
    found = verify(case, tolerance=1e-4)
    assert found.time_step < found.sufficient_step < found.largest_known_step
    again = verify(case.replace(**{"time.step": found.sufficient_step}))
    reached = max(max(p / one.peak, a / one.arrival) for one, (p, a) in zip(again.sensors, true_errors(case, again), strict=True))
    assert 0.5e-4 < reached < 1e-4
    # a hundredth of the tolerance is a tenth of the step, at order two
    assert verify(case, tolerance=1e-6).sufficient_step == pytest.approx(found.sufficient_step / 10.0, rel=1e-12)


def test_the_sampling_is_told_apart_from_the_step() -> None:
    # the pulse is 10 us wide at half height: of samples 4 us apart, the parabola loses far more than the step does
    found = verify(small("hertz", **{"sensors.interval": 4e-6}))
    # at bead 8 the pulse's peak happens to fall on a sample
    coarse, fine = found.sensors[0], verify(small("hertz")).sensors[0]
    assert 1e-3 * coarse.peak < coarse.peak_sampling < 0.1 * coarse.peak
    assert coarse.relative < 1e-4 and coarse.relative_of_all > 1e-3
    assert fine.peak_sampling < 1e-5 * fine.peak
    assert coarse.arrival_error < 1e-4 * coarse.arrival


JUMPING = {"contact.law": "wang-liu-hysteretic", "contact.restitution": 0.65}


def test_a_law_whose_force_jumps_at_an_overlap_that_it_names_is_of_order_two() -> None:
    # over three small steps the order scatters, 1.55 to 2.5: a contact that just grazes the jump crosses it in one and not in another
    found = verify(small("ma-liu", **JUMPING, **{"time.step": "fast"}))
    assert found.order_stated == 2 and found.confirmed
    assert 1.8 < found.order < 2.4


@pytest.mark.long
def test_a_law_that_states_order_one_is_held_to_one(monkeypatch: pytest.MonkeyPatch) -> None:
    law = gc.laws()["wang-liu-hysteretic"]
    monkeypatch.setattr(law, "order", 1)
    monkeypatch.setattr(law, "jumps", ContactLaw.jumps)
    found = verify(small("ma-liu", **JUMPING))
    assert found.order_stated == 1 and found.confirmed
    assert 0.7 < found.order < 1.9
    # far wider bars than those of order two
    assert found.largest > 1e-4


def test_a_step_near_the_limit_is_verified_downwards() -> None:
    auto = verify(small("hertz"))
    found = verify(small("hertz", **{"time.step": 8.0 * auto.time_step}))
    assert found.steps == tuple(factor * found.time_step for factor in BELOW)
    assert found.order == pytest.approx(2.0, abs=0.15)


def test_what_does_not_move_has_no_order_and_no_error_bar() -> None:
    case = small("hertz", striker=None, **{"chain.precompression": 10.0, "ends": {"left": "wall", "right": "wall"}})
    found = verify(case)
    assert math.isnan(found.order) and found.confirmed and found.sensors == ()
    assert math.isnan(found.sufficient_step) and math.isnan(found.largest) and not found.kept
    assert found.as_dict()["order"] is None


def test_the_error_bar_is_richardsons_with_roaches_safety() -> None:
    # 1 + .3 h^2 at h = 2, 1, 1/2: the error at h = 1 is .3, by either pair
    values = [1.0 + 0.3 * h * h for h in AROUND]
    assert error_bar(values, AROUND, 2.0, CONFIRMED) == pytest.approx(1.25 * 0.3, rel=1e-12)
    assert error_bar(values, AROUND, 2.0, UNCONFIRMED) == pytest.approx(3.0 * 0.3, rel=1e-12)
    # at h = 1, 1/2, 1/4 the own step is the coarsest
    assert error_bar([1.0 + 0.3 * h * h for h in BELOW], BELOW, 2.0, 1.0) == pytest.approx(0.3, rel=1e-12)
    # order one; and a peak that by chance is the same at the two finer steps is not without error
    assert error_bar([1.0 - 0.3 * h for h in AROUND], AROUND, 1.0, 1.0) == pytest.approx(0.3, rel=1e-12)
    assert error_bar([1.3, 1.0, 1.0], AROUND, 2.0, 1.0) == pytest.approx(0.1, rel=1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# The command

SETTINGS = [
    item
    for change in ("chain.beads=12", "sensors.beads=[1, 8]", "sensors.contacts=[]", "time.end=8e-5", "contact.law=hertz")
    for item in ("--set", change)
]


def test_the_command_prints_steps_order_bars_and_the_step_to_take(capsys) -> None:
    assert obey(["verify", "steel-chain", *SETTINGS]) == 0
    told = capsys.readouterr().out
    assert "Observed order of the motion, from the velocities of all bodies over the whole run: 2.0" in told
    assert "hertz states 2." in " ".join(told.split())
    assert "gives 0.1 %" in " ".join(told.split())
    rows = [line.split() for line in told.splitlines()]
    assert [row[0] for row in rows if len(row) == 8 and row[0].isdigit()] == ["1", "8"]


def test_the_command_prints_one_object_and_says_what_it_found(capsys) -> None:
    assert obey(["verify", "steel-chain", *SETTINGS, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["command"] == "verify" and facts["kept"] is True and facts["tolerance"] == 1e-3
    assert facts["order"] == pytest.approx(2.0, abs=0.15)
    assert [sensor["bead"] for sensor in facts["sensors"]] == [1, 8]
    assert np.ptp(np.array(facts["steps"]) / np.array([2.0, 1.0, 0.5])) < 1e-20


def test_a_stated_tolerance_that_is_missed_is_exit_code_5(capsys) -> None:
    assert obey(["verify", "steel-chain", *SETTINGS, "--tolerance", "1e-3"]) == 0
    capsys.readouterr()
    assert obey(["verify", "steel-chain", *SETTINGS, "--tolerance", "1e-7"]) == 5
    assert "the tolerance of 1e-07 is not shown to be kept: the error bars reach" in capsys.readouterr().err
    assert obey(["verify", "steel-chain", *SETTINGS, "--set", "sensors.beads=[]", "--tolerance", "0.1"]) == 5
    assert "no sensor has the peak of its first pulse in the run" in capsys.readouterr().err
    # samples 4 us apart, and a step that is good enough
    assert obey(["verify", "steel-chain", *SETTINGS, "--set", "sensors.interval=4e-6", "--tolerance", "1e-3"]) == 5
    told = capsys.readouterr()
    assert "take a shorter sensors.interval" in " ".join(told.out.split()) and "take a shorter sensors.interval" in told.err


@pytest.mark.parametrize("text", ["x", "0", "-1", "nan", "1", "inf"])
def test_a_tolerance_that_is_none_is_refused(text: str, capsys) -> None:
    assert obey(["verify", "steel-chain", "--tolerance", text]) == 2
    assert f'--tolerance: got "{text}", allowed a number above 0 and below 1; give 1e-3 for 0.1 %' in capsys.readouterr().err


def test_the_function_is_public() -> None:
    assert gc.verify is verify and "verify" in gc.__all__
