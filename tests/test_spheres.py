"""A pair of spheres, a sphere on a wall, and a sphere in a socket: R, E and m from radii and
materials, in Python and on the command line."""

import json
import math
import shlex

import numpy as np
import pytest
from support.refused import assert_refused, refused

import granchain as gc
from granchain.chain import RIGID, Chain
from granchain.cli import obey
from granchain.errors import LawError
from granchain.material import MATERIALS

STEEL, BRASS = MATERIALS["steel-316"], MATERIALS["brass-260-half-hard"]
# Wang, Liu & Liu 2022, table 1, doi:10.1016/j.ijmecsci.2022.107214, as corrected: a ball of 20 mm
# in a socket of 20.5 mm; 200 GPa, .29, 7800 kg/m3 on 65 GPa, .33, 30 MPa.
BALL = gc.Material(youngs_modulus=200e9, poissons_ratio=0.29, density=7800.0)
SOCKET = gc.Material(youngs_modulus=65e9, poissons_ratio=0.33, yield_stress=30e6)


@pytest.mark.plain
def test_two_spheres_are_two_beads_of_a_chain():
    for other_radius, other in ((2e-3, STEEL), (5e-3, BRASS)):
        radius = np.array([2e-3, other_radius])
        mass = 4.0 / 3.0 * math.pi * (radius * radius * radius)
        mass *= np.array([STEEL.density, other.density])
        chain = Chain(
            mass=mass, velocity=np.zeros(2), gap=np.zeros(1), radius=radius,
            material=(STEEL, other), material_index=np.array([0, 1]),
        )  # fmt: skip
        found = gc.Pair.of_spheres(2e-3, STEEL, other_radius, other).items()
        assert found == {name: value[1] for name, value in chain.pair().items().items()}
    # missing values of the second body are those of the first; the constants are those of the
    # softer body
    assert gc.Pair.of_spheres(2e-3, "steel-316").items() == (
        gc.Pair.of_spheres(2e-3, STEEL, 2e-3, "steel-316").items()
    )
    assert found["yield_stress"] == BRASS.yield_stress < STEEL.yield_stress


@pytest.mark.plain
def test_a_wall_is_flat_and_held_fast():
    pair = gc.Pair.of_spheres(2e-3, "steel-316", math.inf, "brass-260-half-hard")
    volume = 4.0 / 3.0 * math.pi * 2e-3**3
    assert pair.effective_radius == pytest.approx(2e-3, rel=1e-15)
    assert pair.effective_mass == pytest.approx(volume * STEEL.density, rel=1e-15)
    assert pair.yield_stress == BRASS.yield_stress and not pair.has("radius_2")
    # a rigid wall has no elastic constants, and its compliance is zero
    rigid = gc.Pair.of_spheres(2e-3, BRASS, math.inf, RIGID)
    assert rigid.effective_modulus == pytest.approx(16e6 * 6894.757 / (1.0 - 0.34**2), rel=1e-3)
    assert rigid.yield_stress == BRASS.yield_stress
    # without a density, there is no mass
    pair = gc.Pair.of_spheres(0.02, BALL, 0.03, SOCKET)
    assert not pair.has("effective_mass") and pair.has("effective_modulus")
    with pytest.raises(LawError, match="effective_mass: missing"):
        gc.impact(law="hertz", pair=pair, speed=1.0)


def test_a_ball_in_a_socket_is_that_of_the_paper(capsys):
    pair = gc.Pair.of_spheres(0.02, BALL, 0.0205, SOCKET, internal=True)
    # R1 R2/(R2 - R1) = .82 m
    assert pair.effective_radius == pytest.approx(0.82, rel=1e-12)
    modulus = 1.0 / ((1.0 - 0.29**2) / 200e9 + (1.0 - 0.33**2) / 65e9)
    assert pair.effective_modulus == pytest.approx(modulus, rel=1e-15)
    assert pair.effective_mass == pytest.approx(4.0 / 3.0 * math.pi * 0.02**3 * 7800.0, rel=1e-15)
    assert (pair.yield_stress, pair.radius_1, pair.radius_2) == (30e6, 0.0205, 0.02)
    given = facts(
        capsys,
        "impact ma-liu --speed 4 --set psi=3 --set xi=13 --set sphere_1.radius=0.02 --set "
        "'sphere_1.material={ youngs_modulus = 200e9, poissons_ratio = 0.29, density = 7800.0 }' "
        "--set 'sphere_2.radius=20.5 mm' --set sphere_2.internal=true --set "
        "'sphere_2.material={ youngs_modulus = 65e9, poissons_ratio = 0.33, yield_stress = 30e6 }'",
    )
    # table 2: restitution .6909, d_max 1.1152e-4 m
    assert given["restitution"] == pytest.approx(0.6909, abs=5e-5)
    assert given["max_overlap"] == pytest.approx(1.1152e-4, abs=5e-9)
    assert pair.items().items() <= given.items()


@pytest.mark.plain
def test_what_is_no_pair_of_spheres_is_refused_with_all_mistakes():
    rows = [
        (0.0, STEEL, "pair: radius: 0.0 is out of range. It must be a finite number above 0"),
        (math.inf, STEEL, "pair: radius: inf is out of range. It must be a finite number above 0"),
        (
            1e-3,
            STEEL,
            math.nan,
            "other_radius: nan is out of range. It must be a number above 0, or",
        ),
        (1e-3, "steel-361", 'unknown material "steel-361".*Did you mean "steel-316"'),
        (1e-3, STEEL, 1e-3, STEEL, True, "other_radius: 0.001 is out of range.* above the radius"),
        (1e-3, STEEL, math.inf, STEEL, True, "other_radius: inf is out of range. .* a finite"),
        (1e-3, RIGID, "both bodies are rigid. At most one may be rigid"),
    ]
    assert_refused(gc.Pair.of_spheres, rows, LawError)
    with pytest.raises(LawError, match="pair: effective_radius: 'x' is out of range"):
        gc.Pair(effective_radius="x")
    with pytest.raises(LawError) as caught:
        gc.Pair.of_spheres(-1.0, "copper", 0.0, "gold")
    keys = ["pair: radius", "pair: other_radius", "pair: material", "pair: other_material"]
    assert [": ".join(line.split(": ")[:2]) for line in str(caught.value).splitlines()] == keys


def facts(capsys, command):
    assert obey([*shlex.split(command), "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_spheres_by_name_and_a_wall(capsys):
    one = "impact hertz --speed 1 --set sphere_1.radius=5e-3 --set sphere_1.material=steel-316"
    given = facts(capsys, one)
    assert gc.Pair.of_spheres(5e-3, "steel-316").items().items() <= given.items()
    given = facts(capsys, f"{one} --set sphere_2.radius=inf --set sphere_2.material=ptfe")
    wall = gc.Pair.of_spheres(5e-3, "steel-316", math.inf, "ptfe")
    assert wall.items().items() <= given.items()
    # a single quantity of the pair can have another value
    given = facts(capsys, f"{one} --set pair.effective_mass=0.5")
    assert given["effective_mass"] == 0.5


def test_wrong_spheres_are_told(obeyed):
    for changes, *words in refused("command of spheres"):
        sets = [part for change in changes.split() for part in ("--set", change)]
        said = obeyed("impact", "hertz", "--speed", "1", *sets, code=2)
        assert said.out == "" and "Traceback" not in said.err
        assert all(word in said.err for word in words), said.err
