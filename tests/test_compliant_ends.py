"""Ends that give way: a wall on a spring, a plate, a rod, and modes."""

import math

import numpy as np
import pytest

import granchain as gc
from granchain.set_up import chain_of

STEEL, SOFT = gc.materials()["steel-316"], gc.materials()["ptfe"]
BASE = {
    "chain": {"beads": 5, "radius": 2.38e-3, "material": "steel-316"},
    "striker": {"speed": 1.0},
    "contact": {"law": "hertz"},
    "time": {"end": 1e-4},
}
PLATE = {"plate": {"thickness": 4e-3, "material": "ptfe"}}
NO_DENSITY = {"youngs_modulus": 1e11, "poissons_ratio": 0.3}


def case_with(right, **tables):
    """Return a struck chain of five beads with this right end."""
    return gc.Case(**BASE | {"ends": {"right": right}} | tables)


@pytest.mark.parametrize(
    ("right", "modes", "impedance", "material"),
    [
        ({"mass": 1e-3}, [[1e-3, 0.0, 0.0]], 0.0, None),
        ({"mass": 1e-3, "stiffness": 1e5, "damping": 2.0}, [[1e-3, 1e5, 2.0]], 0.0, None),
        ({"modes": [[1e-3, 1e5, 0.0], [2, 3, 4]]}, [[1e-3, 1e5, 0.0], [2, 3, 4]], 0.0, None),
        (
            PLATE,
            None,
            # 8 sqrt(D rho h), D = E h^3/(12 (1 - nu^2)), with E, nu, and rho of PTFE
            8.0 * math.sqrt(564e6 * 4e-3**3 / (12.0 * (1.0 - 0.46**2)) * 2070.0 * 4e-3),
            SOFT,
        ),
        (
            {"rod": {"area": 2e-5, "material": "ptfe"}},
            None,
            2e-5 * math.sqrt(564e6 * 2070.0),
            SOFT,
        ),
    ],
    ids=["mass", "spring", "modes", "plate", "rod"],
)
def test_an_end_has_the_modes_or_the_impedance_of_its_table(right, modes, impedance, material):
    case = case_with(right)
    end = chain_of(case).right
    assert end.kind == "compliant" and end.is_compliant and end.has_wall
    assert end.material == material
    assert (end.modes is None) if modes is None else np.array_equal(end.modes, modes)
    assert end.impedance == pytest.approx(impedance, rel=1e-14)
    # the text and the completed tables give the same case
    assert gc.Case(**case.resolved()) == case
    assert case.replace({"striker.speed": 2.0}).replace({"striker.speed": 1.0}) == case


def test_the_contact_is_that_of_a_bead_and_a_flat_fixed_wall():
    """The pair has the bead's radius and mass, and the material of the plate or of the key."""
    ends = {"right": PLATE, "right_contact": {"law": "ma-liu", "psi": 2.84, "xi": 13.0}}
    for material, wall in ((None, SOFT), ("steel-316", STEEL)):
        extra = {} if material is None else {"right_material": material}
        chain = chain_of(gc.Case(**BASE | {"ends": ends | extra}))
        pair = chain.pair()
        assert pair.effective_radius[-1] == 2.38e-3
        assert pair.effective_mass[-1] == pytest.approx(chain.mass[-1], rel=1e-14)
        expected = 1.0 / (STEEL.compliance + wall.compliance)
        assert pair.effective_modulus[-1] == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("right", "tables", "message"),
    [
        ({"mass": 0.0}, {}, "ends.right.mass: 0.0 is out of range."),
        ({"stiffness": 1e5}, {}, "ends.right.mass: missing. Give the mass of the wall [kg]:"),
        ({"mass": 1.0, "stiffness": -1.0}, {}, "ends.right.stiffness: -1.0 is out of range."),
        ({"mass": 1.0, "damping": -1.0}, {}, "ends.right.damping: -1.0 is out of range."),
        ({"mass": 1.0, "stifness": 1.0}, {}, 'Did you mean "stiffness"?'),
        ({"mass": 1.0, **PLATE}, {}, "ends.right.plate: unknown key. The keys are mass,"),
        ({"plate": {"material": "ptfe"}}, {}, "ends.right.plate.thickness: missing."),
        ({"rod": {"area": 1e-4}}, {}, "ends.right.rod.material: missing."),
        (
            {"rod": {"area": 1e-4, "material": NO_DENSITY}},
            {},
            "ends.right.rod.material.density: missing. The motion of a rod depends on",
        ),
        ({"modes": []}, {}, "ends.right.modes: the list is empty."),
        ({"modes": [[1.0, 2.0, 3.0], [1.0, -2.0, 3.0]]}, {}, "ends.right.modes.1.1: -2.0 is out"),
        ({"modes": [[1.0, 2.0]]}, {}, "ends.right.modes.0.2: missing."),
        (
            PLATE,
            {"chain": BASE["chain"] | {"precompression": 1.0}},
            "ends.right: this end cannot carry precompression, because a plate moves on",
        ),
        (
            {"mass": 1.0},
            {"chain": BASE["chain"] | {"gravity": 9.81}},
            "ends.right: this end cannot carry gravity. With a static load, each mass or mode",
        ),
        (
            {"modes": [[1.0, 2.0, 0.0], [1.0, 0.0, 0.0]]},
            {"chain": BASE["chain"] | {"gravity": 9.81, "precompression": 1.0}},
            "ends.right: this end cannot carry precompression and gravity.",
        ),
    ],
)
def test_a_wrong_end_is_an_error_with_its_location(right, tables, message):
    with pytest.raises(gc.errors.CaseError) as error:
        case_with(right, **tables)
    assert message in str(error.value)
    assert len(error.value.problems) == 1


def test_a_left_end_gives_way_only_without_a_striker():
    ends = {"left": {"mass": 1e-3, "stiffness": 1e5}}
    with pytest.raises(gc.errors.CaseError, match=r"ends\.left: a compliant end is not possible"):
        gc.Case(**BASE | {"ends": ends})
    moving = {"velocity": [0.0, 0.0, 0.0, 0.0, -1.0]}
    tables = {name: table for name, table in BASE.items() if name != "striker"}
    chain = chain_of(gc.Case(**tables, ends=ends, initial=moving))
    assert chain.left.modes.tolist() == [[1e-3, 1e5, 0.0]]


@pytest.mark.parametrize(
    ("compute", "what"), [(gc.dispersion, "the dispersion"), (gc.orbit, "an orbit")]
)
def test_dispersion_and_orbits_refuse_an_end_that_gives_way(compute, what):
    with pytest.raises(gc.errors.CaseError, match=f"ends.right: {what} cannot be computed"):
        compute(case_with(PLATE))


def test_a_key_of_an_end_can_be_varied():
    case = case_with(PLATE)
    thinner = case.replace({"ends.right.plate.thickness": 2e-3})
    ratio = chain_of(case).right.impedance / chain_of(thinner).right.impedance
    assert ratio == pytest.approx(4.0)
    sprung = case.replace({"ends.right": {"mass": 1e-3}})
    assert chain_of(sprung.replace({"ends.right.stiffness": 7.0})).right.modes[0, 1] == 7.0
