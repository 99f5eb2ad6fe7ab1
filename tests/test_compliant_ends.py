"""Compliant ends: a wall on a spring, a plate, a rod, and modes."""

import math

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.special import beta
from support.processes import Stop
from support.refused import sentences_of

import granchain as gc
from granchain import simulation
from granchain.analysis import summary
from granchain.case.document import differences
from granchain.errors import CaseError, LawError
from granchain.measured.about import AboutTable
from granchain.set_up import chain_of
from granchain.show.answer import answer_of_run
from granchain.show.numbers import run_numbers
from granchain.status import Status
from granchain.structures import plate_impedance

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
        ({"modes": [["3 g", "2 kN/mm", "4 g/ms"]]}, [[3e-3, 2e6, 4.0]], 0.0, None),
        (
            PLATE,
            None,
            # 8 sqrt(D rho h), D = E h^3/(12 (1 - nu^2)), with E, nu, and rho of PTFE
            8.0 * math.sqrt(564e6 * 4e-3**3 / (12.0 * (1.0 - 0.46**2)) * 2070.0 * 4e-3),
            SOFT,
        ),
        ({"rod": {"area": 2e-5, "material": "ptfe"}}, None, 2e-5 * math.sqrt(564e6 * 2070.0), SOFT),
    ],
    ids=["mass", "spring", "modes", "modes with units", "plate", "rod"],
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
    """The pair has the radius and mass of the bead, and the material of the plate or of the key."""
    ends = {"right": PLATE, "right_contact": {"law": "ma-liu", "psi": 2.84, "xi": 13.0}}
    for material, wall in ((None, SOFT), ("steel-316", STEEL)):
        extra = {} if material is None else {"right_material": material}
        chain = chain_of(gc.Case(**BASE | {"ends": ends | extra}))
        pair = chain.pair()
        assert pair.effective_radius[-1] == 2.38e-3
        assert pair.effective_mass[-1] == pytest.approx(chain.mass[-1], rel=1e-14)
        expected = 1.0 / (STEEL.compliance + wall.compliance)
        assert pair.effective_modulus[-1] == pytest.approx(expected, rel=1e-14)


# An error of a right end, and the words of its only message after `ends.right`.
WRONG = (
    ({"mass": 0.0}, ".mass: 0.0 is out of range."),
    ({"stiffness": 1e5}, ".mass: missing. Give the mass of the wall [kg]:"),
    ({"mass": 1.0, "stiffness": -1.0}, ".stiffness: -1.0 is out of range."),
    ({"mass": 1.0, "damping": -1.0}, ".damping: -1.0 is out of range."),
    ({"mass": 1.0, "stifness": 1.0}, 'Did you mean "stiffness"?'),
    ({"mass": 1.0, **PLATE},
     ".plate: ends.right is a mass on a spring, but this is a key of a plate. The keys are "
     "mass, stiffness, damping. Remove it, or replace the whole table: ends.right = { plate }."),
    ({**PLATE, "zzz": 1.0}, 'Remove it, or replace ends.right by "free",'),
    ({}, ": a table is not valid. The right end must be"),
    ({"plate": {"material": "ptfe"}}, ".plate.thickness: missing."),
    ({"plate": {**PLATE["plate"], "thickness": -1e-3}}, ".plate.thickness: -0.001 is out"),
    ("wal", ': "wal" is not valid.'),
    ({"rod": {"area": 1e-4}}, ".rod.material: missing."),
    ({"rod": {"area": 1e-4, "material": NO_DENSITY}},
     ".rod.material.density: missing. The motion of a rod depends on"),
    ({"modes": []}, ".modes: the list is empty."),
    ({"modes": [[1.0, 2.0, 3.0], [1.0, -2.0, 3.0]]}, ".modes.1.1: -2.0 is out"),
    ({"modes": [[1.0, 2.0]]}, ".modes.0.2: missing."),
    ({"modes": [["3 mm", 2.0, 3.0]]}, '.modes.0.0: "3 mm" is not valid.'),
)  # fmt: skip
# Loads that an end cannot carry.
TOO_WEAK = (
    (PLATE, {"precompression": 1.0}, "precompression, because a plate moves on"),
    ({"mass": 1.0}, {"gravity": 9.81}, "gravity. With a static load, each mass or mode"),
    (
        {"modes": [[1.0, 2.0, 0.0], [1.0, 0.0, 0.0]]},
        {"gravity": 9.81, "precompression": 1.0},
        "precompression and gravity.",
    ),
)


def test_a_wrong_end_is_one_error_with_its_location():
    for right, message in WRONG:
        # a contact of the end, for which the error is not repeated
        for more in ({}, {"right_contact": {"law": "hertz"}}):
            ends = {"right": right, **more}
            (problem,) = sentences_of(gc.Case, **BASE, ends=ends, sensors={"contacts": [5]})
            assert problem.startswith("ends.right") and message in problem
    for right, load, message in TOO_WEAK:
        (problem,) = sentences_of(case_with, right, chain=BASE["chain"] | load)
        assert problem.startswith(f"ends.right: this end cannot carry {message}")
    rods = {"rods": {"area": 1e-4, "material": "ptfe"}}
    unknown = 'ends.right.rods: unknown key. The keys are rod. Did you mean "rod"?'
    assert unknown in sentences_of(case_with, rods)


def test_a_key_of_another_kind_of_end_names_both_kinds():
    plate = gc.load_case("chain-on-plate")
    message = (
        "ends.right.stiffness: ends.right is a plate, but this is a key of a mass on a spring. The "
        "keys are plate. Remove it, or replace the whole table: ends.right = { mass, stiffness }."
    )
    for change in (
        lambda: plate.replace({"ends.right.stiffness": 1e6}),
        lambda: gc.load_case("chain-on-plate", ["ends.right.stiffness=1e6"]),
    ):
        with pytest.raises(CaseError) as error:
            change()
        assert error.value.problems == [message]
    with pytest.raises(CaseError, match=r"but this is a key of a drive\..*= { drive, frequency }"):
        plate.replace({"ends.right.frequency": 1e3})
    free = plate.replace({"ends.right": "free"})
    with pytest.raises(CaseError, match=r'ends\.right must be a table, but it is "free"\. Replace'):
        free.replace({"ends.right.plate.thickness": 1e-3})


def test_a_left_end_gives_way_only_without_a_striker():
    ends = {"left": {"mass": 1e-3, "stiffness": 1e5}}
    with pytest.raises(CaseError, match=r"ends\.left: a compliant end is not possible"):
        gc.Case(**BASE | {"ends": ends})
    moving = {"velocity": [0.0, 0.0, 0.0, 0.0, -1.0]}
    tables = {name: table for name, table in BASE.items() if name != "striker"}
    chain = chain_of(gc.Case(**tables, ends=ends, initial=moving))
    assert chain.left.modes.tolist() == [[1e-3, 1e5, 0.0]]


def test_dispersion_and_orbits_refuse_an_end_that_gives_way():
    for compute, what in ((gc.dispersion, "the dispersion"), (gc.orbit, "an orbit")):
        with pytest.raises(CaseError, match=f"ends.right: {what} cannot be computed"):
            compute(case_with(PLATE))


def test_a_key_of_an_end_can_be_varied():
    case = case_with(PLATE)
    thinner = case.replace({"ends.right.plate.thickness": 2e-3})
    ratio = chain_of(case).right.impedance / chain_of(thinner).right.impedance
    assert ratio == pytest.approx(4.0)
    sprung = case.replace({"ends.right": {"mass": 1e-3}})
    assert chain_of(sprung.replace({"ends.right.stiffness": 7.0})).right.modes[0, 1] == 7.0


# --------------------------------------------------------------------------------------------------
# Runs


def test_a_sphere_leaves_a_plate_with_the_restitution_of_zener(figure):
    for inelasticity in (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 3.0):
        check_sphere_on_plate(inelasticity, figure)


def check_sphere_on_plate(inelasticity, figure):
    speed, radius = 0.7, 5e-3
    pair = gc.Pair.of_spheres(radius, STEEL, math.inf, STEEL)
    mass = float(pair.effective_mass)
    stiffness = 4.0 / 3.0 * pair.effective_modulus * math.sqrt(radius)
    impedance = mass**0.6 * stiffness**0.4 * speed**0.2 / inelasticity
    expected = gc.theory.plate_impact(stiffness, mass, speed, impedance)
    # the impedance is proportional to the square of the thickness
    thickness = math.sqrt(impedance / plate_impedance(1.0, STEEL))
    plate = {"thickness": thickness, "material": "steel-316"}
    case = gc.Case(
        chain={"beads": 1, "radius": radius, "material": "steel-316"},
        initial={"velocity": [speed]},
        ends={"right": {"plate": plate}},
        contact={"law": "hertz"},
        sensors={"contacts": [1], "interval": 0.003 * expected.duration},
        time={"end": 1.2 * expected.duration},
    )
    result = gc.run(case)
    figure(
        "a sphere on a plate: error of the restitution in a run",
        abs(-result.final_velocity[0] / speed - expected.restitution),
        at_most=2e-5,
    )
    assert result.contact_overlap.max() == pytest.approx(expected.max_overlap, rel=1e-4)
    found = gc.impact(law="hertz", pair=pair, speed=speed, plate=plate, refine=2)
    figure(
        "a sphere on a plate: error of the restitution of gc.impact, refine=2",
        abs(found.restitution - expected.restitution),
        at_most=1e-5,
    )
    assert found.max_overlap == pytest.approx(expected.max_overlap, rel=1e-5)
    assert found.duration == pytest.approx(expected.duration, rel=1e-3)
    # the contact is elastic, so all missing energy is in the plate
    energy = 0.5 * mass * speed**2
    assert found.radiated == pytest.approx((1.0 - expected.restitution**2) * energy, rel=1e-4)
    assert abs(found.dissipated) < 1e-4 * energy


def test_an_impact_on_a_thick_plate_is_elastic_to_first_order():
    """The plate takes the integral of F^2/Z.

    This is 2 int s^3 ds/sqrt(1 - 4/5 s^2.5), in units of m v^2. With y = 4/5 s^2.5, it is a Beta
    function.
    """
    mass, stiffness, speed = 2e-3, 3e9, 0.6
    thick = mass**0.6 * stiffness**0.4 * speed**0.2 / 1e-6
    found = gc.theory.plate_impact(stiffness, mass, speed, thick)
    elastic = gc.theory.elastic_impact(stiffness, mass, speed)
    first_order = 0.8 * 1.25**1.6 * beta(1.6, 0.5)
    assert (1.0 - found.restitution) / 1e-6 == pytest.approx(first_order, rel=1e-4)
    assert found.max_overlap == pytest.approx(elastic.max_overlap, rel=1e-5)
    assert found.duration == pytest.approx(elastic.duration, rel=1e-5)


# A wall of each kind, whose motion affects the pulse.
BEAM = gc.beam_modes(0.4, 0.02, 0.01, "steel-316", 0.15, "clamped", n=6, damping=0.01)
STRUCTURES = {
    "spring": {"mass": 1e-3, "stiffness": 3e6, "damping": 5.0},
    "plate": {"plate": {"thickness": 2e-3, "material": "steel-316"}},
    "rod": {"rod": {"area": 1e-5, "material": "aluminium-6061-t6"}},
    "modes": {"modes": BEAM},
}
SHORT = {
    "sensors": {"beads": [2, 5], "contacts": [5], "interval": 1e-6},
    "snapshots": {"interval": 5e-6},
    "time": {"end": 1.2e-4},
}


# A spring is a single mode, and a rod is an impedance like a plate (see the first test).
@pytest.fixture(params=["plate", "modes"])
def short(request):
    """Return a short struck chain on a structure; the pulse has returned from it by the end."""
    return case_with(STRUCTURES[request.param], **SHORT)


def test_a_run_that_was_stopped_while_the_structure_moves_has_the_same_data(
    short, tmp_path, monkeypatch
):
    expected = gc.run(short)
    assert expected.contact_force[:, 0].max() > 1.0
    monkeypatch.setattr(simulation, "BLOCK_SECONDS", 1e-5)
    monkeypatch.setattr(simulation, "FIRST_BLOCK", 100)
    for at in (0.4, 0.6):
        stopped = gc.run(short, checkpoint=tmp_path / "run.chk", resume=at > 0.5, watch=Stop(at))
        assert stopped.status is Status.INTERRUPTED
    resumed = gc.run(short, checkpoint=tmp_path / "run.chk", resume=True)
    assert resumed.provenance["data_sha256"] == expected.provenance["data_sha256"]


def test_a_run_from_a_state_is_bit_identical_to_one_run(short, tmp_path):
    """The state, in memory and in the file, contains the motion of the structure."""
    dt = gc.run(short).time_step
    case = short.replace({"time.step": dt, "time.end": 400 * dt})
    begun, unbroken = gc.run(case), gc.run(case.replace({"time.end": 800 * dt}))
    begun.save(tmp_path / "begun.h5")
    assert gc.open(tmp_path / "begun.h5").equals(begun)
    assert begun.contact_force[-1, 0] > 0.0
    after = gc.run(case.replace({"initial": {"file": str(tmp_path / "begun.h5")}}))
    for name in ("final_displacement", "final_velocity"):
        assert np.array_equal(after[name], unbroken[name])
    # with another step, the motion continues
    finer = gc.run(case.replace({"initial": begun, "time.step": 0.5 * dt}))
    assert finer.final_velocity == pytest.approx(unbroken.final_velocity, abs=1e-4)


def test_members_of_a_study_are_bit_identical_to_runs():
    cases = [case_with(right, **SHORT) for right in (*STRUCTURES.values(), "wall")]
    study, together = gc.evaluate(cases, ["pulse", "traces"]), gc.run_many(cases)
    for i, case in enumerate(cases):
        alone = gc.run(case)
        forces = study["sensor_force"].values[i, : alone.time.size]
        assert np.array_equal(forces, alone.sensor_force)
        assert together[i].equals(alone)


def test_a_pulse_has_the_thickness_of_the_plate(tmp_path):
    """A fit of the thickness to a computed trace gives the thickness of that run."""
    case = case_with(STRUCTURES["plate"], **SHORT)
    key, thickness = "ends.right.plate.thickness", 2e-3
    run = gc.run(case)
    about = AboutTable(kind="synthetic", title="Pulses of a run")
    time = 1e-6 * np.arange(run.time.size)
    force = np.array([np.interp(time, run.time, column) for column in run.sensor_force.T]).T
    trace = gc.Trace(time=time, force=force, beads=run.sensor_bead, about=about)
    found = gc.fit(case.replace({key: 2.4e-3}), trace, [key], measure="traces")
    assert found.values[key] == pytest.approx(thickness, rel=3e-3)


def test_energies_of_contacts_include_that_with_the_moving_wall():
    """They add up to the energy balance; for a plate they are not available."""
    with pytest.raises(gc.errors.GranchainError, match=r"ends\.right is a plate, whose"):
        gc.analysis.contact_energy(gc.run(case_with(STRUCTURES["plate"], **SHORT)))
    result = gc.run(case_with(STRUCTURES["modes"], **SHORT))
    energies = gc.analysis.contact_energy(result)
    assert energies[:, -1].max() > 0.1 * energies.max()
    inside = np.interp(result.snapshot_time, result.energy_time, result.energy_elements)
    masses = 0.5 * (result.resonator_mass * result.resonator_velocity**2).sum(axis=1)
    total = gc.analysis.bead_energy(result).sum(axis=1) + inside + masses
    lost = np.interp(result.snapshot_time, result.energy_time, result.energy_elements_viscous)
    assert total + lost == pytest.approx(np.full(total.size, total[0]), rel=1e-3)


def matrices(chain, slopes, modes):
    """Return mass, stiffness, and damping matrix of beads and of modes at their right end."""
    n, m = chain.n_bodies, len(modes)
    mass = np.diag([*chain.mass, *modes[:, 0]])
    stiffness, damping = (
        np.diag([0.0] * n + list(modes[:, 1])),
        np.diag([0.0] * n + list(modes[:, 2])),
    )
    for k, slope in enumerate(slopes):
        row = np.zeros(n + m)
        row[k] = 1.0
        row[slice(n, None) if k == n - 1 else k + 1] = -1.0
        stiffness += slope * np.outer(row, row)
    return mass, stiffness, damping


def test_modes_of_a_chain_include_those_of_its_end():
    modes = np.array([[2e-3, 3e6, 4.0], [5e-3, 8e6, 0.0]])
    case = gc.Case(
        chain=BASE["chain"] | {"precompression": 20.0},
        ends={"right": {"modes": modes.tolist()}},
        contact={"law": "hertz"},
        time={"end": 1e-4},
    )
    chain = chain_of(case)
    pair = chain.pair()
    hertz = 4.0 / 3.0 * pair.effective_modulus * np.sqrt(pair.effective_radius)
    slopes = (1.5 * hertz ** (2.0 / 3.0) * 20.0 ** (1.0 / 3.0))[1:]
    mass, stiffness, damping = matrices(chain, slopes, modes)
    squares, shapes = eigh(stiffness, mass)
    found = gc.modes(case)
    assert found.frequencies == pytest.approx(np.sqrt(squares) / (2.0 * np.pi), rel=1e-6)
    expected = shapes.T / shapes.T[np.arange(7), np.abs(shapes.T).argmax(axis=1)][:, None]
    assert found.shapes == pytest.approx(expected, abs=1e-5)
    assert list(found.attached_bead) == [6, 6]
    # the dashpot is weak, so the decay rate of a mode is half of its damping
    rates = 0.5 * np.diag(shapes.T @ damping @ shapes)
    assert found.damping == pytest.approx(rates, rel=1e-3, abs=1e-3)


def test_an_impact_of_two_spheres_is_refused_with_a_plate():
    pair = gc.Pair.of_spheres(2.38e-3, "steel-316")
    plate = {"thickness": 1e-3, "material": "steel-316"}
    with pytest.raises(LawError, match="the second body is a sphere, but the first one strikes"):
        gc.impact(law="hertz", speed=1.0, pair=pair, plate=plate)


def test_a_run_lists_the_energy_that_its_end_takes():
    plate = gc.load_case("chain-on-plate").replace({"chain.beads": 3, "sensors.beads": [2]})
    both = gc.run(plate.replace({"chain.drag": 5.0, "time.end": 2e-4}))
    numbers = summary(both)
    taken = numbers.energy.radiated
    assert taken == both.energy_radiated[-1] and 0.0 < taken < numbers.energy.elements_viscous
    (line,) = (line for line in run_numbers(numbers).splitlines() if "radiated" in line)
    assert line.startswith("radiated, in elements_viscous  ") and f"{taken:.6g}" in line
    percent = f"{100.0 * taken / numbers.energy.moving_supplied:.4g}"
    assert answer_of_run(numbers).endswith(f"is lost, including {percent} % that the ends take")
    # without a compliant end, there is no such energy
    wall = summary(gc.run(plate.replace({"ends.right": "wall", "time.end": 2e-4})))
    assert "radiated" not in run_numbers(wall) and "ends" not in answer_of_run(wall)


def test_ends_of_different_kinds_differ_as_a_whole():
    plate = gc.load_case("chain-on-plate")
    wall = plate.replace({"ends.right": "wall"})
    mass = plate.replace({"ends.right": {"mass": 0.1}})
    assert list(differences([plate, wall, mass])) == ["ends.right"]
    thin = plate.replace({"ends.right.plate.thickness": 3e-3})
    assert differences([plate, thin]) == {"ends.right.plate.thickness": [5e-3, 3e-3]}


def test_a_study_of_ends_names_what_differs():
    plate = gc.load_case("chain-on-plate").replace(
        {"chain.beads": 3, "sensors.beads": [2], "time.end": 1e-4}
    )
    thin, steel = (
        {"plate": {"thickness": 4e-3, "material": name}}
        for name in ("aluminium-6061-t6", "steel-316")
    )
    ends = [thin, steel, {"mass": 0.1, "stiffness": 1e6}, "wall"]
    study = gc.sweep(plate, {"ends.right": ends}, progress=False)
    assert study["ends.right"].values.tolist() == [
        "plate.thickness = 0.004 m, plate.material = aluminium-6061-t6",
        "plate.thickness = 0.004 m, plate.material = steel-316",
        "mass = 0.1 kg, stiffness = 1000000 N/m",
        "wall",
    ]
    # the thickness is equal, and a completed material is replaced by its name
    cases = [plate.replace({"ends.right": end}) for end in (thin, steel, "wall")]
    runs = gc.evaluate(cases, progress=False)
    assert runs["ends.right"].values.tolist() == [
        "plate.material = aluminium-6061-t6",
        "plate.material = steel-316",
        "wall",
    ]


def test_a_new_law_of_an_end_drops_inputs_that_it_does_not_have():
    contact = {"law": "tsuji", "restitution": 0.8}
    case = gc.load_case("chain-on-plate").replace({"ends.right_contact": contact})
    assert case.replace({"ends.right_contact.law": "hertz"}).ends.right_contact.law == "hertz"
    with pytest.raises(CaseError, match=r"ends\.right_contact\.restitution: unknown key"):
        case.replace({"ends.right_contact.law": "hertz", "ends.right_contact.restitution": 0.7})
