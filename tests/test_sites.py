"""On-site springs and resonators: an oscillator against its solution, order, energy balance, static
state, modes and waves against closed forms, and continued runs."""

import math

import numpy as np
import pytest
from support.refused import refused

import granchain as gc
from granchain import figures, theory
from granchain.analysis import bead_energy, energy_balance, observed_order
from granchain.case import Case
from granchain.engine.state import State
from granchain.errors import CaseError, RunError
from granchain.figures.motion import contact_forces
from granchain.set_up import chain_of
from granchain.simulation import prepare, recording_of
from granchain.studies.measures import obstacle_to_transmission

RADIUS, MASS = 2.38e-3, 0.45e-3
RIDING = {"mass": 2e-4, "stiffness": 4e6, "damping": 2.0}
TWO = [RIDING, {"mass": 5e-5, "stiffness": 3e6, "damping": 1.0}]
HELD = {"on_site_stiffness": 3e6, "on_site_damping": 3.0}
TSUJI = {"law": "tsuji", "restitution": 0.6}
LAWS = (TSUJI, {"law": "ma-liu", "psi": 2.84, "xi": 13.0})


def row(chain=None, **tables):
    """Return a case with six steel beads compressed by 20 N between two walls, the first of which
    moves at the start."""
    steel = {"beads": 6, "radius": RADIUS, "mass": MASS, "material": "steel-316"}
    made_of = {"chain": {**steel, "precompression": 20.0, **(chain or {})}}
    made_of |= {"ends": {"left": "wall", "right": "wall"}, "contact": {"law": "hertz"}}
    made_of |= {"sensors": {"beads": [3]}, "snapshots": {"interval": 2e-6}, "time": {"end": 4e-5}}
    made_of["initial"] = {"velocity": [0.02, 0.0, 0.0, 0.0, 0.0, 0.0]}
    return Case(**made_of | tables)


def apart(end, **chain):
    """Return a case with two beads that never meet, so that each is a single bead with its springs
    and resonators."""
    own = {"beads": 2, "gap": 1e-3, "precompression": 0.0, **chain}
    initial = {"velocity": [0.5, -0.3], "displacement": [0.0, 1e-6]}
    return row(own, ends={}, initial=initial, sensors={}, time={"end": end})


def at_end(result):
    """Return displacements [um] and velocities [m/s] of beads and resonators at the end."""
    kinds = ("", "resonator_") if "resonator" in result.variables else ("",)
    return np.concatenate(
        [
            scale * getattr(result, f"final_{kind}{name}")
            for kind in kinds
            for name, scale in (("displacement", 1e6), ("velocity", 1.0))
        ]
    )


@pytest.mark.plain
def test_a_bead_on_a_spring_is_the_damped_oscillator_to_order_two(plain_loop):
    k, c, end = 3e6, 20.0, 1e-4
    case = apart(end, on_site_stiffness=k, on_site_damping=c)
    z, w = 0.5 * c / MASS, math.sqrt(k / MASS - (0.5 * c / MASS) ** 2)
    u0, v0 = np.array([0.0, 1e-6]), np.array([0.5, -0.3])
    amplitude, cosine, sine = (v0 + z * u0) / w, math.cos(w * end), math.sin(w * end)
    u = math.exp(-z * end) * (u0 * cosine + amplitude * sine)
    v = math.exp(-z * end) * (w * (amplitude * cosine - u0 * sine)) - z * u
    exact, steps = np.concatenate([1e6 * u, v]), [end / n for n in (50, 100, 200)]
    runs = [gc.run(case.replace(**{"time.step": step})) for step in steps]
    errors = [float(np.abs(at_end(one) - exact).max()) for one in runs]
    assert observed_order(steps, errors) == pytest.approx(2.0, abs=0.15)
    last = runs[-1]
    # the dashpot takes all of the lost energy, and there are no other energies
    ledger = [name for name in last.variables if name.startswith("energy_")]
    assert {name[7:] for name in ledger if np.any(getattr(last, name))} == {
        "time", "kinetic", "elements", "elements_viscous", "residual"
    }  # fmt: skip
    leak = [energy_balance(one).largest_residual for one in runs]
    assert leak[0] < 5e-3 and 3.8 < leak[0] / leak[1] < 4.2


@pytest.mark.plain
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law["law"])
def test_a_chain_with_all_of_it_is_of_order_two_and_its_ledger_closes(law, plain_loop):
    chain, end = {**HELD, "resonator": TWO, "drag": 1e3, "gravity": 9.81}, 1e-5
    case = row(chain, contact=law, time={"end": end})
    steps = round(0.5 * end / prepare(case)[2].value)
    runs = [gc.run(case.replace(**{"time.step": end / (steps * n)})) for n in (1, 2, 4)]
    found = energy_balance(runs[0])
    # Verlet's energy has a relative error of (w dt)^2/8, where w dt = .04 is twice the limit of the
    # automatic step
    assert found is not None and found.largest_residual < 2e-4
    assert found.largest_residual > 3.5 * energy_balance(runs[1]).largest_residual
    assert found.terms["elements"] > 0.0 and found.terms["elements_viscous"] > 0.0
    assert (found.viscous > 0.0) == (law["law"] != "ma-liu")
    first, second = (np.abs(at_end(runs[i + 1]) - at_end(runs[i])).max() for i in range(2))
    assert math.log2(first / second) == pytest.approx(2.0, abs=0.15)
    if law is TSUJI:
        held = ("kinetic", "recoverable", "elements")
        assert bead_energy(runs[0])[-1].sum() == pytest.approx(
            sum(found.terms[name] for name in held), rel=1e-9
        )
        assert contact_forces(runs[0], np.array([0, 1])) is None
        ledger = figures.energy(runs[0]).axes[0]
        assert "dashpots of elements" in ledger.get_legend_handles_labels()[1]


@pytest.mark.plain
def test_at_rest_contacts_carry_the_weight_of_resonators_and_springs_carry_nothing(plain_loop):
    case = row(
        {**HELD, "resonator": TWO, "gravity": 9.81, "precompression": 0.0}, initial=None,
        time={"end": 2e-6},
    )  # fmt: skip
    result = gc.run(case)
    each = MASS + RIDING["mass"] + TWO[1]["mass"]
    assert result.contact_peak_force[-1] == pytest.approx(6.0 * each * 9.81, rel=1e-9)
    assert np.abs(result.velocity).max() < 1e-12 and np.abs(result.resonator_velocity).max() < 1e-12
    # with initial velocities, the ledger is closed and contains the weight of the resonators on the
    # beads
    pushed = gc.run(case.replace(initial={"velocity": [1e-4] * 6}))
    assert energy_balance(pushed).largest_residual < 5e-5 and pushed.energy_gravity[-1] > 0.0


@pytest.mark.plain
def test_springs_of_a_beads_own_limit_the_step(plain_loop):
    case = row({**HELD, "resonator": TWO})
    chain, _, step = prepare(case)
    highest = 2.0 * math.pi * gc.modes(case).frequencies[-1]
    # an upper bound of the frequency that is close to the highest frequency
    assert 0.7 * 2.0 / highest < step.limit <= 2.0 / highest
    assert chain.rates_of_elements[0][0] == pytest.approx(
        (3e6 + 7e6) / MASS + 4e6 / 2e-4 + 3e6 / 5e-5, rel=1e-12
    )
    with pytest.raises(CaseError, match=r"time.step: .* at most .*, the stability limit"):
        gc.run(case.replace(**{"time.step": 1.01 * step.limit}))
    alone = apart(7e-5, resonator=TWO).replace(**{"time.force_step": True, "time.step": 7e-6})
    with pytest.raises(RunError, match="stability limit"):
        gc.run(alone)
    slow = prepare(apart(1e-5, on_site_damping=1e4))[2]
    assert slow.reason.startswith("auto: 0.05/rate of dashpots")
    assert slow.value == pytest.approx(0.05 * MASS / 1e4, rel=1e-2)


def test_waves_of_mass_in_mass_and_on_site_springs_are_those_of_the_closed_forms():
    q = np.linspace(-math.pi, math.pi, 41)
    s, m1, m2, k2, k = 3e7, MASS, 2e-4, 4e6, 2e6
    # m1 u'' = -4 s sin^2(q/2) u + k2 (w - u), m2 w'' = k2 (u - w): a quadratic equation for
    # omega^2, whose roots are computed without cancellation by Vieta's formulas
    fixed = 4.0 * s * np.sin(0.5 * q) ** 2
    half = 0.5 * ((m1 + m2) * k2 + fixed * m2) / (m1 * m2)
    high = half + np.sqrt(half * half - fixed * k2 / (m1 * m2))
    known = np.sqrt(np.stack([fixed * k2 / (m1 * m2) / high, high], axis=1)) / (2.0 * math.pi)
    found = theory.dispersion([m1], [s], attached=[(0, m2, k2)])
    assert np.abs(found.frequency(q) - known).max() <= 1e-14 * known.max()
    # from the frequency of the resonator alone up to the frequency at which bead and resonator
    # oscillate against each other
    top = math.sqrt(4.0 * s / m1) / (2.0 * math.pi)
    assert found.gaps[0, 1] == pytest.approx(
        math.sqrt(k2 / m2 + k2 / m1) / (2 * math.pi), rel=1e-12
    )
    assert found.gaps[0, 0] < math.sqrt(k2 / m2) / (2.0 * math.pi) and known.max() > top
    assert found.long_wave_speed == pytest.approx(math.sqrt(s / (m1 + m2)), rel=1e-14)
    inside, near = np.array([0.5, 2.0]), 1e-4
    speed = 2.0 * math.pi * (found.frequency(inside + near) - found.frequency(inside - near))
    assert found.group_speed(inside) == pytest.approx(speed / (2.0 * near), rel=1e-6)
    held = theory.dispersion([m1], [s], on_site=[k])
    known = np.sqrt((k + fixed) / m1)[:, None] / (2.0 * math.pi)
    assert np.abs(held.frequency(q) - known).max() <= 1e-14 * known.max()
    assert held.gaps[0] == pytest.approx([0.0, math.sqrt(k / m1) / (2 * math.pi)], rel=1e-14)
    assert held.long_wave_speed == 0.0
    for wrong in ({"on_site": [-1.0]}, {"attached": [(1, 1.0, 1.0)]}):
        with pytest.raises(CaseError, match=f"{next(iter(wrong))}: 1 .* not valid. "):
            theory.dispersion([m1], [s], **wrong)


def resonators_of(cell):
    """Return bead, mass, and stiffness of each resonator of a unit cell."""
    columns = cell.attached_bead, cell.attached_mass, cell.attached_stiffness
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_modes_have_one_a_body_and_are_those_of_the_closed_form():
    # standing waves between two walls: q = pi j/(n + 1), for a wall contact that is as stiff as a
    # bead contact
    line = {"law": "kelvin-voigt", "stiffness": 3e7, "restitution": 1.0}
    case = row(
        {"on_site_stiffness": 2e6, "resonator": {"mass": 2e-4, "stiffness": 4e6}}, contact=line
    )
    found = gc.modes(case, cell=case)
    cell = gc.dispersion(case)
    assert cell.on_site.tolist() == [2e6]
    assert resonators_of(cell) == [(1, 2e-4, 4e6)]
    waves = theory.dispersion([MASS], [3e7], on_site=[2e6], attached=[(0, 2e-4, 4e6)])
    known = np.sort(waves.frequency(math.pi * np.arange(1, 7) / 7.0).ravel())
    assert np.abs(found.frequencies - known).max() <= 1e-11 * known[-1]
    assert found.shapes.shape == (12, 12) and found.attached_bead.tolist() == [1, 2, 3, 4, 5, 6]
    # m2 w2^2 = k2 (w - u)
    inner = (2.0 * math.pi * found.frequencies[:, None]) ** 2 * 2e-4 / 4e6
    assert (1.0 - inner) * found.shapes[:, 6:] == pytest.approx(found.shapes[:, :6], abs=1e-9)
    assert not found.in_gap.any() and not found.damping.any()
    figures.mode_shapes(found)
    # with equal dashpots, each mode is damped at half their rate
    equal = row({"on_site_stiffness": 2e6, "on_site_damping": 0.9}, contact=line)
    assert gc.modes(equal).damping == pytest.approx(np.full(6, 0.5 * 0.9 / MASS), rel=1e-9)
    # a chain with two segments has a unit cell of both
    part = {"count": 1, "resonator": RIDING}, {"count": 1, "repeat": 3, "on_site_stiffness": 1e6}
    two = gc.dispersion(row({"beads": None, "segment": part}, initial=None))
    assert two.on_site.tolist() == [0.0, 1e6]
    assert resonators_of(two) == [(1, 2e-4, 4e6)]


@pytest.mark.plain
def test_a_run_goes_on_from_the_state_of_beads_and_resonators(tmp_path, plain_loop):
    case = row({**HELD, "resonator": TWO}, contact=TSUJI)
    dt = prepare(case)[2].value
    until = case.replace(**{"time.step": dt, "time.end": 40 * dt})
    begun, unbroken = gc.run(until), gc.run(until.replace(**{"time.end": 80 * dt}))
    begun.save(tmp_path / "begun.h5")
    opened = gc.open(tmp_path / "begun.h5")
    assert opened.equals(begun) and opened.variables["resonator_displacement"].unit == "m"
    after = gc.run(until.replace(initial={"file": str(tmp_path / "begun.h5")}))
    assert any("are bit-identical to one" in one.text for one in after.messages)
    assert at_end(after).tobytes() == at_end(unbroken).tobytes()
    # with another step the motion continues
    finer = gc.run(until.replace(**{"initial": begun, "time.step": 0.5 * dt}))
    assert at_end(finer) == pytest.approx(at_end(unbroken), abs=1e-4)
    held = until.replace(**{"initial": begun, "chain.on_site_stiffness": 1e6})
    assert "on-site springs" in gc.run(held).messages[1].text
    with pytest.raises(CaseError, match="initial: the state belongs to a different chain"):
        until.replace(**{"initial": begun, "chain.resonator": RIDING})
    assert "attached" not in gc.run(row()).state


@pytest.mark.plain
def test_segments_have_their_own_and_the_striker_has_none():
    segments = [
        {"count": 2},
        {"count": 1, "resonator": [], "on_site_stiffness": 0.0},
        {"count": 2, "repeat": 2, "resonator": TWO, "on_site_damping": 1.0},
    ]
    chain = {"beads": None, "segment": segments, "resonator": RIDING, **HELD, "precompression": 0.0}
    case = row(chain, initial=None, striker={"speed": 1.0}, ends={"right": "wall"})
    made = chain_of(case)
    # all three segments are repeated together
    assert made.resonators.body.tolist() == [1, 2, 4, 4, 5, 5, 6, 7, 9, 9, 10, 10]
    assert made.on_site_stiffness.tolist() == [0.0, *[3e6, 3e6, 0.0, 3e6, 3e6] * 2]
    assert made.on_site_damping.tolist() == [0.0, *[3.0, 3.0, 3.0, 1.0, 1.0] * 2]
    assert Case(**case.resolved()) == case
    assert case.replace(**{"chain.resonator.mass": 1e-4}).chain.resonator[0].mass == 1e-4
    # a resonator that moves at the start moves its bead and the beads before it
    moving = case.replace(initial={"resonator_velocity": [0.0] * 7 + [0.1] + [0.0] * 4})
    assert (chain_of(case).at_rest_ahead, chain_of(moving).at_rest_ahead) == (0, 7)
    # energy that springs take is not transmitted
    struck = row({"precompression": 0.0}, striker={"speed": 1.0}, initial=None, ends={})
    held = struck.replace(**{"chain.on_site_damping": 1.0})
    assert not obstacle_to_transmission(struck) and obstacle_to_transmission(held)
    # with zero values they change nothing, and the loop does not contain them
    plain = row()
    off = plain.replace(**{"chain.resonator": [], "chain.on_site_stiffness": 0.0})
    assert off.sha256 == plain.sha256 and not chain_of(off).elements.body.size
    chain, contacts, step = prepare(plain)
    state = State(contacts, chain, step, recording_of(plain))
    assert not state.features.elements and "elements" not in state.arrays()


def test_what_is_no_spring_or_resonator_is_refused():
    for chain, words in refused("site"):
        with pytest.raises(CaseError, match=words):
            row(chain, initial={"resonator_velocity": [0.1, 0.2]} if "initial" in words else None)
