"""Studies of mechanisms: sweeps, gradients, and optima over the keys of their cases."""

from itertools import pairwise

import numpy as np
import pytest

import granchain as gc
from granchain.errors import CaseError, FileError
from granchain.figures.studies import study_figures
from granchain.mechanisms.measures import MEASURED, measures_of

CLEARANCE = "joint.clearance"


def crank(**changes: object) -> gc.MechanismCase:
    return gc.load_mechanism("slider-crank").replace({"time.end": 0.02} | changes)


def swept(vary: dict, **options: object):
    return gc.sweep(crank(), vary, progress=False, **options)


def test_the_measures_are_those_of_the_samples():
    result = gc.run_mechanism(crank(**{"time.end": 0.1}))
    force, closed = result.contact_force, 0
    for before, after in pairwise(force):
        closed += bool(before == 0.0 and after > 0.0)
    assert closed > 5
    assert (
        result.case.measure(result)
        == measures_of(result)
        == {
            "largest_contact_force": force.max(),
            "largest_acceleration": max(abs(result.slider_acceleration)),
            "impacts": closed,
        }
    )
    # a contact that is closed at the start is not an impact
    closed_at_start = gc.run_mechanism(
        crank(**{"start.slider_offset": 5.0e-4 + 5e-7, "time.end": 1e-4})
    )
    assert closed_at_start.contact_force[0] > 0.0
    assert measures_of(closed_at_start)["impacts"] == 0.0


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
    drawn = study_figures(again)
    assert {"impacts-over-joint-clearance", "largest_acceleration-map"} <= set(drawn)
    _, axes = drawn["largest_contact_force-over-joint-clearance"]()
    assert axes.get_xlabel().startswith("joint clearance [")
    assert axes.get_ylabel().startswith("largest contact force [")
    with pytest.raises(FileError, match="exists"):
        swept({CLEARANCE: [2e-4]}, out=file)


def test_draws_and_a_summary_of_a_mechanism():
    vary = {CLEARANCE: gc.uniform(1e-4, 5e-4)}
    study = swept(vary, how="sobol", n=3, measures=["impacts"],
                  summary=lambda result: {"end": result.time[-1]})  # fmt: skip
    assert study["impacts"].dims == ("run",) and study[CLEARANCE].dims == ("run",)
    assert "largest_acceleration" not in study
    assert study["end"].values == pytest.approx([0.02] * 3)


def test_a_member_that_fails_has_its_reason():
    study = swept({"energy.bound": [1e-2, 1e-12]})
    assert study["status"].values.tolist() == ["complete", "energy ledger open"]
    assert "balance error" in study["message"].values[1] and np.isnan(study["impacts"].values[1])
    study = swept({"time.step": [1e-6, 1e-3]})
    assert study["status"].values.tolist() == ["complete", "not set up"]


@pytest.mark.parametrize(
    ("vary", "options", "words"),
    [
        ({CLEARANCE: [1e-4, 0.02]}, {}, "joint.clearance: 0.02 m is out of range"),
        ({"striker.speed": [1.0]}, {}, "striker: unknown key"),
        ({"chain.radius": gc.disorder(gc.normal(1.0, 0.1))}, {}, "chain: unknown key"),
        ({CLEARANCE: [1e-4]}, {"traces": True}, "traces: not possible for a mechanism"),
        ({CLEARANCE: [1e-4]}, {"resume": True}, "resume: not possible for a mechanism"),
        ({CLEARANCE: [1e-4]}, {"chained": True}, "is not a Case"),
        ({CLEARANCE: [1e-4]}, {"measures": ["bead_energy"]}, "The measures are largest_contact"),
        (
            {CLEARANCE: [1e-4]},
            {"summary": lambda result: {"status": 1.0}},
            "already uses the name status",
        ),
    ],
)
def test_what_a_sweep_of_a_mechanism_rejects(vary, options, words):
    with pytest.raises(CaseError, match=words):
        swept(vary, **options)
