"""Impacts for several laws, speeds, and inputs, as the dataset of a study."""

import math

import numpy as np
import pytest

import granchain as gc

# Two beads of the chain of Wang, Liu & Liu 2022, table 8, doi:10.1016/j.ijmecsci.2022.107214: half
# the radius and mass, E/(2 (1 - nu^2)).
PAIR = gc.Pair(
    effective_radius=1.19e-3,
    effective_modulus=193e9 / (2 * (1 - 0.3**2)),
    effective_mass=0.225e-3,
    yield_stress=900e6,
)


@pytest.fixture(scope="module")
def found():
    laws = ["hertz", "flores", "hunt-crossley"]
    vary = {"speed": [0.5, 1.0, 2.0], "restitution": [0.0, 0.6, 0.9]}
    return gc.impacts(laws, PAIR, vary)


def test_each_member_is_the_impact_of_its_law_speed_and_inputs(found):
    assert dict(found.sizes) == {"law": 3, "speed": 3, "restitution": 3}
    one = gc.impact(law="flores", pair=PAIR, speed=2.0, restitution=0.6)
    there = found.sel(law="flores", speed=2.0, restitution=0.6)
    for name in ("restitution", "max_force", "max_overlap", "duration", "dissipated"):
        variable = "delivered_restitution" if name == "restitution" else name
        assert float(there[variable]) == getattr(one, name)
    assert found.max_force.attrs["units"] == "N" and found.speed.attrs["units"] == "m/s"
    assert str(there.reason.values) == ""


def test_what_has_no_impact_is_nan_with_the_reason(found):
    hertz = found.sel(law="hertz")
    assert np.isnan(hertz.max_force).all()
    assert set(hertz.reason.values.ravel()) == {"hertz has no input restitution"}
    # a dashpot of Flores has no value for a restitution of 0
    at_zero = found.sel(law="flores", restitution=0.0)
    assert np.isnan(at_zero.max_force).all()
    assert all("restitution: 0" in reason for reason in at_zero.reason.values)
    assert (found.reason.values == "").sum() == np.isfinite(found.max_force.values).sum()


PLATES = {"plate.thickness": [2e-3, 4e-3]}


def test_impacts_on_plates_are_the_impacts_of_each_plate(plain_loop):
    steel = {"material": "steel-316"}
    found = gc.impacts("tsuji", None, PLATES, plate=steel, speed=2.0, restitution=0.8)
    assert found["plate.thickness"].attrs["units"] == "m" and found.radiated.attrs["units"] == "J"
    for thickness in PLATES["plate.thickness"]:
        plate = steel | {"thickness": thickness}
        alone = gc.impact(law="tsuji", speed=2.0, plate=plate, restitution=0.8)
        member = found.sel({"law": "tsuji", "plate.thickness": thickness})
        assert float(member.delivered_restitution) == alone.restitution
        for name in ("radiated", "impedance", "dissipated", "dissipated_recovery"):
            assert float(member[name]) == alone[name]
        fixed = gc.impacts("tsuji", None, {"speed": [2.0]}, plate=plate, restitution=0.8)
        assert float(fixed.radiated.squeeze()) == alone.radiated
    # a thinner plate takes more energy
    assert found.radiated[0, 0] > 1.5 * found.radiated[0, 1] > 0.0


@pytest.mark.parametrize(
    ("plate", "sentence"),
    [
        (None, r"impact\.plate\.material: missing\. Give the material of the plate"),
        (
            {"thickness": 1e-3},
            r"impacts: plate\.thickness: the key is both varied and fixed\. Give",
        ),
        (
            "steel-316",
            r'impacts: plate: "steel-316" is not valid\. It must be a table of thickness',
        ),
    ],
)
def test_a_plate_that_is_incomplete_or_fixed_twice_is_refused(plate, sentence):
    with pytest.raises(gc.errors.CaseError, match=sentence):
        gc.impacts("hertz", None, PLATES, plate=plate, speed=1.0)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"laws": 3}, "laws: 3 is unknown. The laws are"),
        ({"laws": [["hertz"]]}, "laws: a list is unknown"),
        ({"vary": 3}, "vary: 3 is not valid. Give keys"),
        ({"vary": {3: [1.0]}}, "3: none of the laws has this input"),
        ({"pair": 3}, "pair: 3 is not valid. It must be a Pair or a mapping"),
        ({"pair": 3, "plate": {"thickness": 1e-3, "material": "ptfe"}}, "pair: 3 is not valid"),
        ({"pair": {"effective_radius": "x"}}, "pair: effective_radius: 'x' is out of range"),
        ({"pair": {3: 1.0}}, "pair: unknown quantity 3"),
        ({"material": 3}, "unknown material 3"),
    ],
)
def test_arguments_of_another_type_are_refused_by_name(changes, sentence):
    arguments = {"laws": "hertz", "pair": None, "vary": {"speed": [1.0]}} | changes
    with pytest.raises(gc.errors.GranchainError, match=sentence):
        gc.impacts(**arguments)


def test_a_material_next_to_a_pair_on_a_plate_is_refused():
    plate = {"thickness": 1e-3, "material": "steel-316"}
    wall = gc.Pair.of_spheres(1e-3, "steel-316", math.inf)
    with pytest.raises(gc.errors.LawError, match="material: not allowed with a Pair"):
        gc.impact(law="hertz", speed=1.0, pair=wall, material="ptfe", plate=plate)
