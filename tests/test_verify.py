"""`verify`: the error bars exceed the errors, the order is that of the law, and no unverified claim
is made."""

import json
import math

import numpy as np
import pytest

import granchain as gc
from granchain.analysis import first_pulse
from granchain.case import load_case
from granchain.contact.law import ContactLaw
from granchain.verification import (
    AROUND,
    BELOW,
    CONFIRMED,
    UNCONFIRMED,
    confirms,
    error_bar,
    sampling_error,
    verify,
)

# Twelve beads of the steel chain; the pulse passes the eighth bead after 8 times 4.76 mm at 734
# m/s.
SMALL = {"chain.beads": 12, "sensors.beads": [1, 8], "sensors.contacts": [], "snapshots": None}
SMALL["time.end"] = 8e-5
LAWS = {"hertz": {"contact.law": "hertz"}, "ma-liu": {}}


def small(law, **more):
    return load_case("steel-chain").replace(**SMALL, **LAWS[law], **more)


def true_errors(case, found):
    """Return the errors of peak and arrival by the step alone, from a run at a sixteenth of the
    step with the same samples."""
    fine = gc.run(
        case.replace(**{"time.step": found.time_step / 16.0, "sensors.interval": found.interval})
    )
    true = first_pulse(fine.time, fine.sensor_force)
    return [
        (abs(peak - found_peak), abs(top - arrival))
        for peak, top, found_peak, arrival in zip(
            true.peak, true.top, found.peak, found.arrival, strict=True
        )
    ]


@pytest.mark.promise("N4")
@pytest.mark.parametrize("law", LAWS)
def test_the_observed_order_is_two(law, figure):
    found = verify(small(law))
    what = "observed order of 12 beads at 2, 1 and 1/2 automatic steps"
    figure(what, found.order, at_least=1.85, at_most=2.15)
    assert found.confirmed and found.order_stated == 2
    assert found.step.tolist() == [factor * found.time_step for factor in AROUND]
    # at half the step, a quarter of the residual
    assert found.residual[0] / found.residual[1] == pytest.approx(4.0, rel=0.1)


def test_the_sufficient_step_is_sufficient_and_not_far_from_it():
    # at 1e-4, the sufficient step is below the largest known step
    case = small("hertz")
    found = verify(case, tolerance=1e-4)
    assert found.time_step < found.sufficient_step < found.largest_known_step
    again = verify(case.replace(**{"time.step": found.sufficient_step}))
    reached = max(
        max(p / peak, a / arrival)
        for peak, arrival, (p, a) in zip(
            again.peak, again.arrival, true_errors(case, again), strict=True
        )
    )
    assert 0.5e-4 < reached < 1e-4
    # at order two, a hundredth of the tolerance requires a tenth of the step
    assert verify(case, tolerance=1e-6).sufficient_step == pytest.approx(
        found.sufficient_step / 10.0, rel=1e-12
    )


def test_the_sampling_is_told_apart_from_the_step():
    # the pulse is 10 us wide at half height: with samples 4 us apart, the parabola has a larger
    # error than the step
    found = verify(small("hertz", **{"sensors.interval": 4e-6}))
    # at bead 8 the peak of the pulse is at a sample by chance
    fine = verify(small("hertz"))
    assert 1e-3 * found.peak[0] < found.peak_sampling[0] < 0.1 * found.peak[0]
    by_step, together = found.relative_errors("error"), found.relative_errors("error", "sampling")
    assert by_step[0] < 1e-4 and together[0] > 1e-3
    bars = [
        (found[f"{name}_error"] + found[f"{name}_sampling"]) / found[name]
        for name in ("peak", "arrival")
    ]
    assert together.tolist() == np.maximum(*bars).tolist() != np.minimum(*bars).tolist()
    assert fine.peak_sampling[0] < 1e-5 * fine.peak[0]
    assert found.arrival_error[0] < 1e-4 * found.arrival[0]


def pulse(time):
    """A pulse with a steeper front: its derivative vanishes at 1/3, where its largest value is
    4/27."""
    return np.where((time > 0.0) & (time < 1.0), time * (1.0 - time) ** 2, 0.0)


def test_the_error_bar_of_the_samples_holds_at_every_place_of_the_samples():
    for interval in (0.2, 0.1, 0.05, 0.025):
        over_errors = []
        for place in np.linspace(0.0, interval, 37):
            time = np.arange(place - 1.0, 2.0, interval / 16.0)
            # peaks from the samples of the case, from samples at a quarter of their distance, and
            # from the closest samples for verification
            sampled, close, closest = (
                first_pulse(time[::every], pulse(time[::every])).record(0) for every in (16, 4, 1)
            )
            placed = [first_pulse(time[k::4], pulse(time[k::4])).record(0) for k in range(4)]
            for i, exact in ((0, 4.0 / 27.0), (1, 1.0 / 3.0)):
                bar = sampling_error(sampled[i], close[i], [top[i] for top in placed], closest[i])
                assert bar > abs(sampled[i] - exact), (interval, place)
                over_errors.append((bar, abs(sampled[i] - exact)))
        bars, errors = np.median(np.array(over_errors).reshape(-1, 2, 2), axis=0).T
        assert (bars < 2.0 * errors).all(), interval


def test_an_order_that_is_not_the_laws_is_not_confirmed():
    for stated, held in ((2, (1.71, 2.0, 2.39, math.nan)), (1, (0.71, 1.5, 2.39))):
        assert all(confirms(order, stated) for order in held)
    for stated, missed in ((2, (1.69, 2.41, 3.06)), (1, (0.69, 2.41))):
        assert not any(confirms(order, stated) for order in missed)


def test_where_three_steps_do_not_confirm_the_order_a_fourth_is_taken():
    # at 3 m/s each contact yields again, and the position of the kink within a step depends on the
    # step
    yielding = small("ma-liu", **{"striker.speed": 3.0})
    found = verify(yielding.replace(**{"time.end": 2e-4, "time.step": "fast"}))
    assert found.step.tolist() == [factor * found.time_step for factor in (*AROUND, 0.25)]
    assert found.confirmed and found.messages == ()
    found = verify(yielding.replace(**{"time.end": 4e-4}))
    assert len(found.step) == 4 and found.order < 1.7 and not found.confirmed
    (doubt,) = found.messages
    assert "The order is not reached" in doubt and found.as_dict()["messages"] == [doubt]
    assert found.order_used == found.order


JUMPING = {"contact.law": "wang-liu-hysteretic", "contact.restitution": 0.65}


@pytest.mark.long
def test_a_law_that_states_order_one_is_held_to_one(monkeypatch):
    law = gc.laws()["wang-liu-hysteretic"]
    monkeypatch.setattr(law, "order", 1)
    monkeypatch.setattr(law, "jumps", ContactLaw.jumps)
    found = verify(small("ma-liu", **JUMPING))
    assert found.order_stated == 1 and found.confirmed
    assert 0.7 < found.order < 1.9
    # error bars that are much wider than those of order two
    assert found.largest > 1e-4


def test_the_error_bar_is_richardsons_with_roaches_safety():
    # 1 + .3 h^2 at h = 2, 1, 1/2: both pairs give an error of .3 at h = 1. At h = 1, 1/2, 1/4 the
    # step of the case is the coarsest. A fourth step agrees with the other three. Then order one. A
    # peak that is equal at the two finer steps by chance still has an error
    for values, steps, order, safety, bar in (
        ([1.0 + 0.3 * h * h for h in AROUND], AROUND, 2.0, CONFIRMED, 1.25 * 0.3),
        ([1.0 + 0.3 * h * h for h in AROUND], AROUND, 2.0, UNCONFIRMED, 3.0 * 0.3),
        ([1.0 + 0.3 * h * h for h in BELOW], BELOW, 2.0, 1.0, 0.3),
        ([1.0 + 0.3 * h * h for h in (*AROUND, 0.25)], (*AROUND, 0.25), 2.0, 1.0, 0.3),
        ([1.0 - 0.3 * h for h in AROUND], AROUND, 1.0, 1.0, 0.3),
        ([1.3, 1.0, 1.0], AROUND, 2.0, 1.0, 0.1),
    ):
        assert error_bar(values, steps, order, safety) == pytest.approx(bar, rel=1e-12)


SMALLER = "chain.beads=12 sensors.beads=[1,8] sensors.contacts=[] time.end=8e-5 contact.law=hertz"
TOLERANCE = "Usage: T (Largest relative error of each peak and"


OVERALL = "order of convergence of the velocities of all bodies: 2.0"


def test_the_command_prints_steps_order_bars_and_whether_a_tolerance_is_kept(obeyed):
    wrong = "'--tolerance': ", TOLERANCE
    sets = [word for one in SMALLER.split() for word in ("--set", one)]
    for words, code, said in (
        ("--tolerance 1e-3", 0, (OVERALL, "Expected order for hertz: 2.", "gives 0.1 %")),
        ("--tolerance 1e-7", 5, ("of 1e-07 could not be confirmed: the largest error is",)),
        ("--set sensors.beads=[] --tolerance .1", 5, ("no sensor has a complete first pulse",)),
        # samples 4 us apart, and a sufficiently small step
        ("--set sensors.interval=4e-6 --tolerance 1e-3", 5, ("Use a shorter sensors.interval",)),
        *((f"--tolerance {bad}", 2, wrong) for bad in ("x", "0", "nan", "1")),
    ):
        told = obeyed("verify", "steel-chain", *sets, *words.split(), code=code)
        text, error = (" ".join(part.split()) for part in told)
        assert all(one in (error if code else text) for one in said), words
        rows = [line.split() for line in told.out.splitlines()]
        beads = [row[0] for row in rows if len(row) == 8 and row[0].isdigit()]
        assert beads == (["1", "8"] if text and "sensors.beads" not in words else []), words
        # the recommendation is also below the table
        assert "interval" not in words or said[0] in text


def test_the_command_writes_a_file_that_opens_as_its_answer(here, obeyed):
    sets = [word for one in SMALLER.split() for word in ("--set", one)]
    told = json.loads(obeyed("verify", "steel-chain", *sets, "--out", "v.h5", "--json").out)
    opened = gc.open("v.h5")
    assert isinstance(opened, gc.Verification) and opened.largest == told["largest"]
    assert opened.provenance["law_sha256"] == gc.run(opened.case).provenance["law_sha256"]
    assert told["out"] == "v.h5" and opened.as_dict().items() <= told.items()
    # before the computation starts
    assert "exists" in obeyed("verify", "steel-chain", *sets, "--out", "v.h5", code=4).err
    assert "extension" in obeyed("verify", "steel-chain", *sets, "--out", "v.json", code=4).err
