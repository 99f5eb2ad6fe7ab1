"""Studies of mechanisms: sweeps, gradients, and optimal designs over the keys of their cases."""

from itertools import pairwise

import numpy as np
import pytest
from support.refused import assert_refused

import granchain as gc
from granchain.errors import FileError
from granchain.figures.catalogue import figures_of
from granchain.mechanisms.case import MEASURED, numbers_of_mechanism

CLEARANCE = "joint.clearance"


def crank(**changes):
    return gc.load_mechanism("slider-crank").replace({"time.end": 0.02} | changes)


def swept(vary, **options):
    return gc.sweep(crank(), vary, progress=False, **options)


def test_a_case_is_unchanged_by_a_clearance_that_replaces_the_radius_of_its_pin():
    case = gc.load_mechanism("scotch-yoke")
    radius = case.pin.radius
    assert case.replace({"slot.clearance": 1e-4}).pin.radius != radius
    assert case.replace({"crank.speed": 20.0}).pin.radius == radius


def test_the_measures_are_those_of_the_samples():
    result = gc.run_mechanism(crank(**{"time.end": 0.1}))
    force, closed = result.contact_force, 0
    for before, after in pairwise(force):
        closed += bool(before == 0.0 and after > 0.0)
    assert closed > 5
    known = {"largest_contact_force": force.max(), "impacts": closed}
    known["largest_acceleration"] = max(abs(result.slider_acceleration))
    assert result.case.measure(result) == numbers_of_mechanism(result) == known
    # a contact that is closed at the start is not counted as an impact
    closed_at_start = gc.run_mechanism(
        crank(**{"start.slider_offset": 5.0e-4 + 5e-7, "time.end": 1e-4})
    )
    assert closed_at_start.contact_force[0] > 0.0
    assert numbers_of_mechanism(closed_at_start)["impacts"] == 0.0


def test_a_sweep_of_a_mechanism_has_the_numbers_of_single_runs_and_labels(tmp_path):
    file = tmp_path / "study.h5"
    study = swept({CLEARANCE: [2e-4, 5e-4], "contact.restitution": [0.5, 0.6, 0.7]}, out=file)
    assert study["impacts"].dims == (CLEARANCE, "contact.restitution")
    for clearance in (2e-4, 5e-4):
        for restitution in (0.5, 0.7):
            case = crank(**{CLEARANCE: clearance, "contact.restitution": restitution})
            numbers = case.measure(case.run_alone())
            member = study.sel({CLEARANCE: clearance, "contact.restitution": restitution})
            assert {name: float(member[name]) for name in MEASURED} == numbers
    for name, label in MEASURED.items():
        assert study[name].attrs["units"] == label.unit
        assert study[name].attrs["long_name"] == label.long_name
    assert study[CLEARANCE].attrs["units"] == "m"
    assert (
        study[CLEARANCE].attrs["long_name"] == "the radius of the bearing minus that of the journal"
    )
    assert set(study["status"].values.ravel()) == {"complete"}
    assert study.attrs["title"] == crank().title and study.attrs["law"] == "wang-liu-hysteretic"
    again = gc.open(file)
    assert again.identical(study)
    drawn = figures_of(again)
    assert {"impacts-over-joint-clearance", "largest_acceleration-map"} <= set(drawn)
    (axes,) = drawn["largest_contact_force-over-joint-clearance"]().axes
    assert axes.get_xlabel().startswith("joint clearance [")
    assert axes.get_ylabel().startswith("largest contact force [")
    with pytest.raises(FileError, match="exists"):
        swept({CLEARANCE: [2e-4]}, out=file)


def test_draws_and_a_summary_of_a_mechanism():
    vary = {CLEARANCE: gc.uniform(1e-4, 5e-4)}
    study = swept(vary, how="sobol", n=3, measures=["impacts"],
                  summary=lambda result: {"end": result.time[-1]})  # fmt: skip
    assert study["impacts"].dims == ("run",) and study[CLEARANCE].dims == ("run",)
    assert study["end"].values == pytest.approx([0.02] * 3)


def test_a_member_that_fails_has_its_reason():
    study = swept({"energy.bound": [1e-2, 1e-12]})
    assert study["status"].values.tolist() == ["complete", "energy ledger open"]
    assert "balance error" in study["message"].values[1] and np.isnan(study["impacts"].values[1])
    study = swept({"time.step": [1e-6, 1e-3]})
    assert study["status"].values.tolist() == ["complete", "not set up"]


def test_what_a_sweep_of_a_mechanism_rejects():
    one, summary = {CLEARANCE: [1e-4]}, {"summary": lambda result: {"status": 1.0}}
    rows = [
        ({CLEARANCE: [1e-4, 0.02]}, {}, "joint.clearance: 0.02 m is out of range"),
        ({"striker.speed": [1.0]}, {}, "striker: unknown key"),
        ({"chain.radius": gc.disorder(gc.normal(1.0, 0.1))}, {}, "chain: unknown key"),
        (one, {"traces": True}, 'measures: "traces" is unknown'),
        (one, {"executor": object()}, "executor: not possible for a mechanism"),
        (one, {"chained": True}, "chained: not possible for a mechanism"),
        (one, {"measures": ["bead_energy"]}, "one of largest_contact_force"),
        (one, summary, "already uses the name status"),
    ]
    assert_refused(lambda vary, options: swept(vary, **options), rows)


@pytest.mark.long
def test_a_gradient_of_a_mechanism_is_the_slope_of_its_runs():
    # every step is recorded, for any sampling interval
    case = crank(**{"contact": {"law": "hertz"}, "friction": None, "record.interval": 1e-3})
    case = case.replace({"time.end": 0.012})
    keys = [CLEARANCE, "crank.speed"]
    for of, variable in (
        ("largest_contact_force", "contact_force"),
        ("largest_acceleration", "slider_acceleration"),
    ):
        gradient = gc.gradient(case, of, keys)
        assert gradient.of == of and gradient.variables["value"].unit == MEASURED[of].unit
        step = {"time.step": gradient.time_step, "record.interval": gradient.time_step}

        def largest(key, value, variable=variable, step=step):
            result = gc.run_mechanism(case.replace({key: value} | step))
            return float(np.abs(getattr(result, variable)).max())

        start = {CLEARANCE: case.clearance, "crank.speed": case.crank.speed}
        assert gradient.value == pytest.approx(largest(CLEARANCE, start[CLEARANCE]), rel=1e-4)
        for key in keys:
            assert gradient[key] != 0.0
            apart = 1e-3 * start[key]
            ends = [largest(key, start[key] + sign * apart) for sign in (1.0, -1.0)]
            slope = (ends[0] - ends[1]) / (2.0 * apart)
            # samples miss the maximum of the cubic by about 1e-6 of it, for a value of 2e-3
            assert gradient[key] == pytest.approx(slope, rel=2e-2)
    by_function = gc.gradient(case, lambda result: result.slider_velocity[-1], "crank.start",
                              error=False, scale={"crank.start": 1.0})  # fmt: skip
    assert np.isfinite(by_function["crank.start"]) and by_function["crank.start"] != 0.0


def test_an_optimum_of_a_mechanism_is_at_the_slowest_crank():
    case = crank(**{"time.end": 0.012})
    over = {"crank.speed": (15.0, 21.0), CLEARANCE: (3e-4, 6e-4)}
    optimum = gc.optimize(
        case, "largest_contact_force", over, subject_to=[("largest_acceleration", 0.0, 1e5)],
        generations=0, progress=False,
    )  # fmt: skip
    assert optimum.value < optimum.start
    assert optimum.values["crank.speed"] == pytest.approx(15.0, rel=1e-6)
    best = optimum.case.replace({"time.step": optimum.time_step, "record.interval": 1e-6})
    numbers = best.measure(best.run_alone())
    assert optimum.value == pytest.approx(numbers["largest_contact_force"], rel=1e-4)
    assert optimum.case.clearance == pytest.approx(optimum.values[CLEARANCE], rel=1e-9)


def test_what_a_gradient_of_a_mechanism_rejects():
    case = crank(**{"time.end": 1e-3})
    rows = [
        ("peak", CLEARANCE, 'must be "largest_contact_force", "largest_acceleration", or a'),
        ("impacts", CLEARANCE, 'must be "largest_contact_force"'),
        ("largest_acceleration", "chain.radius_factor", "unknown key"),
        ("largest_acceleration", "crank.start", "crank.start: the value is 0"),
        (lambda result: 1 / 0, "crank.speed", "the function raised ZeroDivisionError"),
        (lambda result: float("nan"), "crank.speed", "nan is not a finite number"),
    ]
    assert_refused(lambda of, key: gc.gradient(case, of, [key], error=False), rows)
