"""Mechanisms: geometry, equations of motion, order, energy, and numbers from their sources."""

import json
import math
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support.refused import refused

import granchain as gc
from granchain.analysis import observed_order, residual_share
from granchain.case.document import entry_at, value_at
from granchain.cli import obey
from granchain.contact import laws
from granchain.errors import GranchainError
from granchain.figures.style import labels_of
from granchain.mechanisms import loop, runs
from granchain.mechanisms.checks import checks_of
from granchain.mechanisms.elastic import damped
from granchain.mechanisms.linkages import SCOTCH_YOKE, SLIDER_CRANK, ideal, pin_at
from granchain.mechanisms.setup import (
    contacts_of_joint,
    dimensions_of,
    pair_of_surfaces,
    step_of_mechanism,
    surfaces_of,
)

# Results of the fitted laws in the second revolution, computed twice and independently for this
# project's notes on cylinders and mechanisms, sec. 2: angles at which the contact is lost and
# closes again [deg], largest force of the first impact and of all impacts [N], largest penetration
# [mm].
YOKE = {
    "johnson": (93.7, 105.8, 3986.0, 4409.0, 0.111),
    "radzimovsky": (94.6, 105.4, 3778.0, 4208.0, 0.118),
    "goldsmith": (94.5, 106.9, 3385.0, 3385.0, 0.209),
    "esdu-78035": (97.1, 105.7, 3012.0, 3012.0, 0.260),
    "lankarani-nikravesh-cylinder": (97.1, 106.0, 4730.0, 5205.0, 0.122),
}


def mechanism(name, *changes):
    return gc.run_mechanism(gc.load_mechanism(name, changes))


@cache
def yoke(law):
    return mechanism("scotch-yoke", f"contact.law={law}")


@cache
def crank():
    return mechanism("slider-crank")


def checks(result):
    return {check.what: check.value for check in checks_of(result)}


@pytest.fixture
def plain(monkeypatch):
    """Run the loop as plain Python, for a law that no other test compiles."""
    monkeypatch.setattr(runs, "mechanism_loop", loop.plain_loop)


@pytest.mark.parametrize(
    ("name", "linkage"), [("slider-crank", SLIDER_CRANK), ("scotch-yoke", SCOTCH_YOKE)]
)
def test_surfaces_give_the_derivatives_of_their_overlaps(name, linkage):
    case = gc.load_mechanism(name)
    m, nudge = dimensions_of(case), 1e-7

    def overlaps(q0, q1, t):
        return np.array([surface[0] for surface in linkage.surfaces(q0, q1, pin_at(t, m), m)])

    for t in np.linspace(0.001, 0.2, 17):
        motion = ideal(m.start + m.speed * t, m)
        # relative to the motion without clearance, on a side that changes
        position = float(motion.position) + 2e-4 * math.cos(90.0 * t)
        at = np.array([position, float(motion.rod_angle) + 1e-3 * math.sin(70.0 * t), t])
        now = np.array(linkage.surfaces(*at[:2], pin_at(t, m), m))
        for k, step in enumerate(nudge * np.eye(3), start=1):
            # central differences: rounding 1e-17/1e-7 of .1 m, curvature 1e-14 times 1e4 to 1e8/m2
            slope = (overlaps(*(at + step)) - overlaps(*(at - step))) / (2.0 * nudge)
            assert slope == pytest.approx(now[:, k], abs=2e-6)


def test_the_slip_is_that_of_the_two_materials_in_contact():
    m = dimensions_of(gc.load_mechanism("slider-crank"))
    t, v0, v1 = 0.031, 0.7, -2.3
    pin, motion = pin_at(t, m), ideal(m.start + m.speed * t, m)
    q0, q1 = float(motion.position) + 3e-4, float(motion.rod_angle) + 1.3e-3
    (surface,) = SLIDER_CRANK.surfaces(q0, q1, pin, m)
    centre = np.array([pin[0] + m.rod * math.cos(q1), pin[1] + m.rod * math.sin(q1)])
    normal = (centre - [q0, 0.0]) / np.hypot(*(centre - [q0, 0.0]))
    # the outermost point of the journal turns with the rod about the crank pin, and the bearing
    # slides
    arm = centre + m.journal * normal - np.array(pin[:2])
    slip = np.array(pin[2:4]) + v1 * np.array([-arm[1], arm[0]]) - np.array([v0, 0.0])
    assert surface[4] * v0 + surface[5] * v1 + surface[6] == pytest.approx(
        slip @ [-normal[1], normal[0]], rel=1e-12
    )
    assert surface[1] * v0 + surface[2] * v1 + surface[3] == pytest.approx(slip @ normal, rel=1e-9)
    # a jump of the force inside the contact changes the coordinates; a kink does not
    for found, moves in ((True, 1.0), (True, 0.0), (False, 1.0)):
        body = SimpleNamespace(inverse_mass=np.ones(2), **{name: np.zeros(2) for name in "qva"})
        clock, jump = SimpleNamespace(dt=1e-6, friction=0.0, external=0.0), (0.5, 10.0, 20.0)
        moved = loop.correct_for_jump(surface, (found, *jump, moves, 0.0), 0.0, 0.0, body, clock)
        assert moved == body.a.any() == bool(found and moves)


def test_the_pin_leaves_the_arc_into_its_end_without_a_step():
    m = dimensions_of(gc.load_mechanism("scotch-yoke"))

    # the same distance beyond the centre line at the border of the arc, computed from the arc and
    # from the end
    def deepest(angle):
        distance = m.rod + 3e-4
        pin = (-distance * math.cos(angle), distance * math.sin(angle), 0.0, 0.0, 0.0, 0.0)
        return max(surface[0] for surface in SCOTCH_YOKE.surfaces(0.0, 0.0, pin, m))

    border = math.acos(m.arc_cos)
    assert deepest(border - 1e-9) == pytest.approx(deepest(border + 1e-9), abs=1e-12)
    assert deepest(border) == pytest.approx(3e-4 - m.clearance, abs=1e-12)


def newton_euler(case, stiffness):
    """Integrate the slider-crank with the equations of Newton and Euler about the centre of mass of
    the rod, with Hertz's force between journal and bearing and without friction."""
    rod, r, w = case.rod, case.crank.length, case.crank.speed
    half = 0.5 * rod.length

    def motion(t, y):
        x, angle, v, spin = y
        along = np.array([math.cos(angle), math.sin(angle)])
        across = np.array([-along[1], along[0]])
        pin = r * np.array([math.cos(w * t), math.sin(w * t)])
        offset = pin + rod.length * along - np.array([x, 0.0])
        distance = float(np.hypot(*offset))
        force = stiffness * max(distance - case.clearance, 0.0) ** 1.5 * offset / distance
        # the unknown force R of the pin, and the rotation of the rod: m a_G = R - F, I spin' =
        # -half across.(F + R), with a_G = -w^2 pin + half (spin' across - spin^2 along)
        carried_part = rod.mass * (-w * w * pin - half * spin * spin * along)
        matrix = np.zeros((3, 3))
        matrix[:2, :2], matrix[:2, 2] = np.eye(2), -rod.mass * half * across
        matrix[2, :2], matrix[2, 2] = half * across, rod.inertia
        rest = np.append(carried_part + force, -half * across @ force)
        reaction = np.linalg.solve(matrix, rest)
        return [v, spin, float(force[0]) / case.slider.mass, float(reaction[2])]

    return motion


def test_a_slider_crank_moves_as_newton_and_euler_have_it(plain):
    changes = ["contact.law=hertz", "friction.coefficient=0", "start.slider_offset=5.02e-4"]
    changes += ["time.end=0.004", "time.step=2e-6"]
    case = gc.load_mechanism("slider-crank", changes)
    result = gc.run_mechanism(case)
    (surface,) = surfaces_of(case)
    start = ideal(0.0, dimensions_of(case))
    y = [start.position + 5.02e-4, start.rod_angle, start.velocity, start.rod_speed]
    motion, y = newton_euler(case, surface.pair.hertz_stiffness), list(map(float, y))
    exact = solve_ivp(motion, (0.0, 0.004), y, "DOP853", rtol=1e-11, atol=1e-14, max_step=2e-5)
    # contact, flight, and contact again
    assert (result.contact_force == 0.0).any() and result.contact_force[0] > 0.0
    assert result.time[-1] == pytest.approx(0.004)
    # at this step, the scheme has an error of about 1e-6 of the speeds in the joint, .1 m/s
    assert result.slider_position[-1] == pytest.approx(exact.y[0, -1], abs=1e-9)
    assert result.slider_velocity[-1] == pytest.approx(exact.y[2, -1], abs=2e-5)


@pytest.mark.parametrize(
    "name", ["slider-crank", pytest.param("scotch-yoke", marks=pytest.mark.long)]
)
def test_the_energy_ledger_closes(name):
    result = crank() if name == "slider-crank" else yoke("johnson")
    put_in = result.energy_kinetic[0] + np.abs(result.energy_external).max()
    assert residual_share(result.energy_residual, put_in).max() <= 1e-5
    # the terms are not zero: the crank does work, and some of it is dissipated
    assert np.abs(result.energy_external).max() > 0.1 * result.energy_kinetic.max()
    assert result.energy_viscous[-1] > 0.01 * np.abs(result.energy_external[-1])
    lost = result.energy_viscous + result.energy_plastic + result.energy_friction
    held = result.energy_kinetic + result.energy_recoverable
    assert held - held[0] + lost - result.energy_external == pytest.approx(
        result.energy_residual - result.energy_clamp, abs=1e-12
    )
    # friction never adds energy: half a revolution later the slip has the opposite sign
    if name == "slider-crank":
        assert np.diff(result.energy_friction).min() >= 0.0 and result.energy_friction[-1] > 0.0


FRICTION = ["friction.coefficient=0.3", "friction.slip_begin=0.02", "friction.slip_full=0.04"]
FRICTION.append("crank.start=0.9")
# The crank angle at which the pin is farthest from the line, with contact to the outer track from
# the start: the distance exceeds the clearance by the overlap at which the contact carries the
# force there, along the line from the centre of the arc.
_LEAN = math.asin(0.05 * math.sin(-0.5410520681182421) / 0.06)
WINDOWS = {
    "scotch-yoke": [f"start.slider_offset={(1e-4 + 3.2e-5) / math.cos(_LEAN)!r}", "time.end=0.004"],
    "slider-crank": ["start.slider_offset=5.0043e-4", "time.end=0.003"],
    # the slip decreases below slip_begin during the motion
    "slider-crank with friction": [*FRICTION, "start.slider_offset=5.0025e-4", "time.end=0.003"],
}


@pytest.mark.parametrize(
    "name", ["slider-crank", pytest.param("scotch-yoke", marks=pytest.mark.long)]
)
def test_the_order_is_two_while_the_joint_stays_closed(name):
    found, end = [], float(WINDOWS[name][-1].partition("=")[2])
    for steps in (400, 800, 1600):
        changes = [*WINDOWS[name], f"time.step={end / steps!r}"]
        case = gc.load_mechanism(name.partition(" ")[0], changes)
        contacts = contacts_of_joint(case)
        machine = runs.Machine(case, contacts, step_of_mechanism(case, contacts))
        assert not machine.advance(10**6).failed
        data = runs.variables_of_mechanism(machine)
        assert data["contact_force"].min() > 0.0
        each = ("slider_position", "slider_velocity", "contact_force", "energy_friction")
        found.append([*(data[one][-1] for one in each), machine.coordinates.q[1]])
    orders = [
        observed_order((2.0, 1.0), -np.diff(values))
        for values in zip(*found, strict=True)
        if values[0] != values[1]
    ]
    assert len(orders) == (5 if "crank" in name else 3)
    assert orders == pytest.approx([2.0] * len(orders), abs=0.15)


def test_plain_and_compiled_loops_agree(monkeypatch):
    changes = ["contact.law=goldsmith", "time.end=0.012", "time.step=2e-5", "record.interval=2e-5"]
    fast = mechanism("scotch-yoke", *changes)
    monkeypatch.setattr(runs, "mechanism_loop", loop.plain_loop)
    slow = mechanism("scotch-yoke", *changes)
    assert slow.contact_force.max() > 1000.0
    for name in ("slider_velocity", "contact_force", "energy_viscous", "energy_external"):
        # the sines of two libraries can differ in the last bit
        assert getattr(slow, name) == pytest.approx(getattr(fast, name), rel=1e-9, abs=1e-9)


def test_the_factor_of_hunt_and_crossley_is_that_of_the_law():
    hertz, alpha, steel = laws()["hertz"], laws()["hunt-crossley-alpha"], gc.Material(207e9, 0.3)
    pair = pair_of_surfaces(0.01, 0.0095, True, (steel, steel), 1.0, None)
    inputs = SimpleNamespace(stiffness=None, alpha=0.32, separation="clamped")
    c = np.array(hertz.coefficients_of(pair, inputs), dtype=float).reshape(-1, 1)
    model, c = damped(hertz.model(inputs), c, 0.32)
    own = alpha.coefficients_of(pair, inputs)
    for overlap in (0.0, 1e-7, 1e-5, 1e-4):
        for rate in (-3.0, -0.5, 0.0, 0.5):
            found = model.functions.force(overlap, rate, tuple(c[:, 0]), ())
            assert found == pytest.approx(alpha.force(overlap, rate, own, ()), rel=1e-14)
        assert model.functions.energy(overlap, tuple(c[:, 0]), ()) == pytest.approx(
            alpha.energy(overlap, own, ()), rel=1e-14
        )


def test_the_slider_crank_has_the_printed_digits():
    found, case = checks(crank()), gc.load_mechanism("slider-crank")
    # -w^2 r (1 + r/l) = -25.588 and w^2 r (1 - r/l) = 18.277 m/s2 for 200 rpm, .05 m and .3 m
    ends = [ideal(angle, dimensions_of(case)).acceleration for angle in (0.0, math.pi)]
    assert ends == pytest.approx([-25.588, 18.277], abs=5e-4)
    # Wang, Liu & Liu 2022, sec. 5.1, doi:10.1016/j.ijmecsci.2022.107214
    assert found["first yield, overlap d_y"] == pytest.approx(3.7576e-8, rel=1.5e-5)
    assert found["full plasticity, overlap d_p"] == pytest.approx(3.1751e-6, rel=2e-5)
    assert found["linear stiffness K_p"] == pytest.approx(6.044e7, rel=1e-4)
    # from the same formulas, computed by hand: notes on cylinders and mechanisms, sec. 3
    assert found["first yield, force F_y"] == pytest.approx(0.4815, abs=5e-5)
    assert found["full plasticity, force F_p"] == pytest.approx(190.13, abs=5e-3)
    # the printed restitution and overlap at .5 m/s are those for .0442 kg; the mass of the slider
    # differs
    given, joint = vars(case.law_inputs()), case.joint
    sides = joint.bearing_material, joint.journal_material
    for mass, restitution in ((0.04423, 0.5385), (case.slider.mass, 0.4154)):
        pair = pair_of_surfaces(joint.bearing_radius, joint.journal_radius, True, sides, mass, None)
        hit = gc.impact(law="ma-liu", pair=pair, speed=0.5, psi=given["psi"], xi=given["xi"])
        assert hit.restitution == pytest.approx(restitution, abs=5e-5)
        if mass < 1.0:
            assert hit.max_overlap == pytest.approx(1.2923e-5, rel=5e-5)


@pytest.mark.parametrize("law", YOKE)
def test_the_yoke_loses_and_finds_contact_where_it_should(law):
    (lost, again, first, largest, depth), found = YOKE[law], checks(yoke(law))
    assert found["contact lost at"] == pytest.approx(lost, abs=1.0)
    assert found["contact regained at"] == pytest.approx(again, abs=1.0)
    ratio = "mean ratio of force to force without clearance, 30 to 80 deg"
    assert found[ratio] == pytest.approx(1.0, abs=0.03)
    assert found["largest force of the first impact"] == pytest.approx(first, rel=0.15)
    assert found["largest force"] == pytest.approx(largest, rel=0.15)
    assert found["largest penetration"] == pytest.approx(1e-3 * depth, rel=0.05)


@pytest.mark.long
def test_the_laws_themselves_come_to_what_their_fits_do():
    """Johnson's law for 1 mm of pin, as fitted in table 11: the same gap, and forces equal within 2
    %."""
    found, fitted = checks(mechanism("scotch-yoke", "force.form=law")), checks(yoke("johnson"))
    assert found["contact lost at"] == pytest.approx(fitted["contact lost at"], abs=1.0)
    assert found["largest force"] == pytest.approx(fitted["largest force"], rel=0.05)
    assert found["largest penetration"] == pytest.approx(fitted["largest penetration"], rel=0.05)


CLEARANCES = [
    ("slider-crank", "joint.clearance", {"joint.journal_radius": 0.01 - 3e-4}),
    ("scotch-yoke", "slot.clearance", {"pin.radius": 0.5 * (0.068 - 0.052) - 3e-4}),
]


@pytest.mark.parametrize(("name", "clearance", "radius"), CLEARANCES)
def test_a_clearance_gives_the_results_of_the_radius_that_follows(name, clearance, radius):
    base = gc.load_mechanism(name, ["time.end=0.01"])
    by_radius, by_clearance = base.replace(radius), base.replace({clearance: 3e-4})
    assert by_clearance == by_radius and by_clearance.sha256 == by_radius.sha256 != base.sha256
    results = [gc.run_mechanism(case) for case in (by_radius, by_clearance)]
    assert results[0].data_sha256 == results[1].data_sha256
    # both numbers are given, and the resolved case contains only the radius
    for case in (by_radius, by_clearance):
        assert entry_at(dict(case), clearance)[0] == pytest.approx(3e-4, rel=1e-9)
        assert entry_at(case.resolved(), clearance)[0] is None
        (key,) = radius
        assert entry_at(case.resolved(), key)[0] == radius[key]
        assert value_at(case, clearance) == pytest.approx(3e-4, rel=1e-9)
    # the later of two changes is used, here and on the command line
    assert base.replace({clearance: 1e-4}).replace(radius) == by_radius
    assert gc.load_mechanism(name, ["time.end=0.01", f"{clearance}=3e-4"]) == by_radius
    # both may be given if they are equal within rounding
    assert base.replace({clearance: 3e-4, **radius}) == by_radius


@pytest.mark.parametrize(("name", "clearance", "radius"), CLEARANCES)
def test_the_part_that_stays_decides_what_follows_from_a_clearance(name, clearance, radius):
    case = gc.load_mechanism(name).replace({clearance: 3e-4})
    outer = (
        {"joint.bearing_radius": 0.02} if name == "slider-crank" else {"slot.outer_radius": 0.07}
    )
    (key,) = radius
    larger = case.replace(outer)
    assert larger.clearance == pytest.approx(3e-4, rel=1e-9)
    assert entry_at(dict(larger), key)[0] > entry_at(dict(case), key)[0]
    fixed = gc.load_mechanism(name).replace(outer)
    assert (
        fixed.clearance > 5e-4
        and entry_at(dict(fixed), key)[0] == entry_at(dict(gc.load_mechanism(name)), key)[0]
    )


def test_legends_name_the_clearance_that_differs():
    results = [
        mechanism("slider-crank", f"joint.clearance={clearance}", "time.end=0.001")
        for clearance in (2e-4, 4e-4)
    ]
    assert labels_of(results) == ["joint.clearance 0.0002", "joint.clearance 0.0004"]
    results = [
        mechanism("slider-crank", f"joint.journal_radius={r}", "time.end=0.001")
        for r in (0.0096, 0.0097)
    ]
    assert labels_of(results) == ["joint.journal_radius 0.0096", "joint.journal_radius 0.0097"]


YOKES, CRANK = "scotch-yoke", "slider-crank"


def told(command, target, capsys):
    """Return exit code and error output for a mechanism that must not be written."""
    name, *changes = command.split()
    sets = [part for change in changes for part in ("--set", change)]
    code, said = obey(["mechanism", name, *sets, "--out", str(target)]), capsys.readouterr()
    assert not target.exists() and said.out == "" and "Traceback" not in said.err
    return code, said.err


def test_wrong_input_is_told_in_sentences(capsys, tmp_path):
    for command, words in refused("mechanism"):
        code, said = told(command, tmp_path / "no.h5", capsys)
        assert code == 2 and all(word in said for word in words), (command, said)


def test_mistakes_of_a_mechanism_are_told_in_one_pass():
    changes = ["contact.law=hert", "joint.clearance=1.0", "rod.centre=5.0", "crank.length=9.0"]
    with pytest.raises(gc.errors.CaseError) as raised:
        gc.load_mechanism("slider-crank", changes)
    places = [sentence.partition(":")[0] for sentence in raised.value.problems]
    assert places == ["contact.law", "joint.clearance", "rod.length", "rod.centre"]


def test_a_run_that_fails_says_so_and_writes_nothing(plain, capsys, tmp_path):
    for command, words in (
        # the law of Kogut and Etsion ends at 110 critical overlaps
        (
            f"{CRANK} contact.law=kogut-etsion time.end=0.0125 time.step=fast "
            "friction.coefficient=0",
            "exceeds the overlap limit of the contact law",
        ),
        (
            f"{YOKES} energy.bound=1e-9 time.end=0.012 time.step=2e-5",
            "energy: the balance error is",
        ),
    ):
        code, said = told(command, tmp_path / "no.h5", capsys)
        assert code == 3 and words in said, said


@pytest.mark.usefixtures("blank_pictures")
def test_the_file_gives_the_result_back_and_info_and_plot_know_it(obeyed, capsys, tmp_path):
    known, file = yoke("johnson"), tmp_path / "yoke.h5"
    known.save(file)
    result = gc.open(file)
    assert result.equals(known)
    assert result.case.sha256 == known.case.sha256 and result.law == "johnson"
    assert {check.what for check in checks_of(result)} == set(checks(known))
    chain = gc.run(gc.load_case("steel-chain", ["time.end=1e-6"]))
    with pytest.raises(AttributeError, match="not the result of a mechanism"):
        chain.crank_angle  # noqa: B018
    text = obeyed("info", str(file)).out
    assert "contact lost at" in text and "crank_angle" in text
    facts = json.loads(obeyed("info", str(file), "--json").out)
    found = {check["what"]: check["value"] for check in facts["checks"]}
    assert found["largest force"] == known.contact_force.max()
    assert obey(["plot", str(file), "--out", str(tmp_path / "figures")]) == 0
    drawn = {path.stem.removeprefix("yoke-") for path in (tmp_path / "figures").glob("*.png")}
    assert drawn == {"slider-kinematics", "joint-force", "joint-orbit"}
    assert "no " not in capsys.readouterr().err


def test_the_command_prints_one_object(obeyed, tmp_path):
    command = ["mechanism", CRANK, "--out", str(tmp_path / "crank.h5")]
    facts = json.loads(obeyed(*command, "--json").out)
    assert facts["status"] == "complete" and facts["law"] == "wang-liu-hysteretic"
    found = {check["what"]: check["value"] for check in facts["checks"]}
    assert found["linear stiffness K_p"] == pytest.approx(6.044e7, rel=1e-4)
    assert "--overwrite" in obeyed(*command, code=4).err


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(laws()))
def test_every_law_moves_the_slider(name, plain):
    law, given = laws()[name], {"restitution": 0.7, "psi": 3.0, "xi": 13.0, "alpha": 0.3}
    given |= {"stiffness": 6e7, "impact_speed": 0.5}
    needed = [
        f"contact.{q.name}={given.get(q.name, law.examples.get(q.name, 0.1))}"
        for q in law.inputs
        if q.required or q.name == "impact_speed"
    ]
    changes = ["time.end=0.0125", "time.step=fast", f"contact.law={name}", "joint.length=0.02"]
    try:
        result = mechanism(CRANK, *changes, *needed)
    except GranchainError as error:
        # the ranges of hardness and overlap in these laws are those of hard spheres
        assert name in ("jackson-green", "kogut-etsion"), error
        return
    put_in = result.energy_kinetic[0] + np.abs(result.energy_external).max()
    assert result.contact_force.max() > 100.0
    assert residual_share(result.energy_residual, put_in).max() < 1e-4
