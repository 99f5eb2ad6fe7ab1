"""Periodic orbits against the closed form of a linear chain and against another integration."""

import math

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from support.refused import assert_refused, refused
from support.shaken import orbit_by_integration, shaken_row

import granchain as gc
from granchain.engine import batch
from granchain.engine.batch import Copies
from granchain.engine.energy import RUNNING
from granchain.engine.recording import Recording
from granchain.engine.state import State
from granchain.errors import CaseError, RunError
from granchain.orbits import shooting
from granchain.simulation import prepare
from granchain.status import Status
from granchain.studies import images
from granchain.studies.images import least_overlaps

DRAG, FREQUENCY = 5e3, 8e3
LINEAR = {"law": "kelvin-voigt", "restitution": 1.0, "stiffness": 1e7, "separation": "tensile"}


def row(amplitude=3e-7, **changes):
    """Return eight steel beads between two walls under 20 N, where the left wall is shaken."""
    return shaken_row(8, FREQUENCY, amplitude, DRAG, **{"ends.left.ramp": 1e-4} | changes)


@pytest.fixture(scope="module")
def hertz():
    return gc.orbit(row())


@pytest.mark.usefixtures("blank_pictures")
def test_an_opened_orbit_is_plotted_and_is_a_guess(hertz, tmp_path):
    hertz.save(tmp_path / "orbit.h5")
    opened = gc.open(tmp_path / "orbit.h5")
    assert opened.equals(hertz) and opened.result.equals(hertz.result)
    assert opened.case.resolved() == row().resolved()
    assert opened.provenance["law_sha256"] == hertz.result.provenance["law_sha256"]
    for values in (opened.multipliers, opened.vectors):
        assert values.dtype == complex and len(values) == 16
    assert opened.vectors.tobytes() == hertz.vectors.tobytes()
    assert opened.variables["vector_velocity_imag"].unit == "1/s"
    assert len(gc.figures.orbit(opened).axes) == 3
    assert gc.orbit(row(), guess=opened).shots == 1


PUSHED = {"drive": "force", "signal": "harmonic", "amplitude": 0.1, "frequency": FREQUENCY}
ON_SPRINGS = {"chain.on_site_stiffness": 1e6, "ends.right": "free", "ends.left": PUSHED}


@pytest.mark.parametrize(
    ("contact", "drag", "changes"),
    [
        ({"law": "hertz"}, 5e4, {}),
        ({"law": "hertz"}, 5e4, ON_SPRINGS),
        *(pytest.param(LINEAR, x, {}, marks=pytest.mark.long) for x in (5e4, 5e3)),
    ],
)
def test_multipliers_of_equal_drag_have_the_modulus_of_the_scheme(contact, drag, changes):
    found = gc.orbit(row(contact=contact, **{"chain.drag": drag} | changes))
    dt, half = found.result.time_step, 0.5 * drag * found.result.time_step
    steps = round(found.period / dt)
    assert steps * dt == pytest.approx(1.0 / FREQUENCY, rel=1e-12)
    # each step multiplies the area of a mode's plane by (1 - g dt/2)/(1 + g dt/2)
    known = ((1.0 - half) / (1.0 + half)) ** (0.5 * steps)
    assert np.abs(np.abs(found.multipliers) - known).max() <= 1e-10
    # ln((1 - x)/(1 + x)) = -2 (x + x^3/3 + ...): the decay is of order two in the step
    exact = math.exp(-0.5 * drag * found.period)
    off = np.log(np.abs(found.multipliers) / exact)
    assert off == pytest.approx(-drag * found.period / 6.0 * half**2, rel=0.05)
    assert found.stable and not found.opens.any()
    assert found.energy_in == pytest.approx(found.energy_lost, rel=1e-5)


def paired(values, known):
    """Return the values in the order of their nearest known values."""
    return values[linear_sum_assignment(np.abs(values - known[:, None]))[1]]


DAMPED = row(contact={"law": "tsuji", "restitution": 0.8}, **{"chain.drag": 0.0})
LAWS = {"hertz": (row(), 8e-4), "tsuji": (DAMPED, 1e-4)}
OF_A_FIGURE = [
    pytest.param(law, 8, part * 1e-7, marks=pytest.mark.long)
    for law in LAWS
    for part in (0.1, 1, 3, 6, 9)
]


@pytest.mark.parametrize(("law", "beads", "amplitude"), [("hertz", 3, 3e-7), *OF_A_FIGURE])
def test_an_orbit_and_its_multipliers_are_those_of_a_variational_integration(law, beads, amplitude):
    case, within = LAWS[law]
    case = case.replace(**{"ends.left.amplitude": amplitude, "chain.beads": beads})
    found = gc.orbit(case)
    dt = found.result.time_step
    finer = gc.orbit(case.replace(**{"time.step": 0.5 * dt}), guess=found)
    assert not found.opens.any() and not finer.opens.any()
    state, known = orbit_by_integration(case, found, 1e-12)
    coarse, fine = (paired(one.multipliers, known) for one in (found, finer))
    # the error of Verlet's scheme in the phase of the fastest mode over a period
    fastest = 2.0 * math.pi * gc.modes(case).frequencies[-1]
    own = fastest * found.period * (fastest * dt) ** 2 / 24.0
    assert np.abs(coarse - known).max() <= min(1.5 * own, within)
    assert np.abs(fine + (fine - coarse) / 3.0 - known).max() <= 1e-6
    largest = np.abs(found.multipliers[0] - known).min()
    assert largest <= 1.5 * found.multiplier_error
    off = np.abs(state[:beads] - found.displacement).max()
    assert off <= 1e-3 * np.abs(state[:beads]).max()


def test_a_run_from_the_orbit_closes_and_its_guess_needs_one_shot(hertz):
    ends = hertz.result
    excursion = np.abs(ends.displacement).max()
    assert np.abs(ends.final_displacement - hertz.displacement).max() <= 1e-8 * excursion
    told = []
    again = gc.orbit(row(), guess=hertz, progress=lambda *runs: told.append(runs))
    assert again.shots == 1
    # progress of four expected shots, then of the actual number: one shot, two runs for the error
    # estimate, and two corrections in half steps
    assert [done for done, _ in told] == [33, 66, 99, 100, 101, 101]
    assert [count for _, count in told] == [198, 198, 198, 198, 198, 101]
    # a period multiplies an eigenvector by its multiplier: J w = m w, from a run near the orbit
    weight, vector = hertz.multipliers[0], hertz.vectors[0]
    assert np.abs(vector[:8]).max() == pytest.approx(1.0)
    small = 1e-10 * vector.real
    beside = ends.case.replace(
        initial={
            "displacement": (hertz.displacement + small[:8]).tolist(),
            "velocity": (hertz.velocity + small[8:]).tolist(),
        }
    )
    moved = (gc.run(beside).final_displacement - ends.final_displacement) / 1e-10
    assert moved == pytest.approx((weight * vector[:8]).real, abs=1e-3)


@pytest.mark.long
def test_a_long_chain_is_solved_without_the_columns_of_its_jacobian(monkeypatch):
    columns, counted = shooting.Shooting.with_jacobian, []

    def with_jacobian(period, *arguments):
        counted.append(period.chain.time_step.n_steps)
        return columns(period, *arguments)

    monkeypatch.setattr(shooting.Shooting, "with_jacobian", with_jacobian)
    found = gc.orbit(row(1e-8, **{"chain.beads": 61}))
    dt, half = found.result.time_step, 0.5 * DRAG * found.result.time_step
    steps = round(found.period / dt)
    # all multipliers lie on one circle; the Jacobian is computed for them, and once more at the
    # doubled step
    assert counted == [steps, steps // 2] and found.shots > 2 and found.multipliers.size == 122
    assert found.residual <= 1e-8
    known = ((1.0 - half) / (1.0 + half)) ** (0.5 * steps)
    assert np.abs(found.multipliers) == pytest.approx(known, abs=1e-7)


@pytest.mark.long
def test_the_largest_multipliers_of_a_long_chain_are_those_of_its_columns(monkeypatch):
    case = row(
        **{"chain.beads": 64, "chain.drag": 50.0},
        contact={"law": "hunt-crossley", "restitution": 0.9, "impact_speed": 0.01},
    )
    found = gc.orbit(case)
    assert found.multipliers.size == 6 and found.vectors.shape == (6, 128)
    monkeypatch.setattr(shooting, "MOST_DENSE", 64)
    known = gc.orbit(case)
    assert known.multipliers.size == 128
    assert paired(found.multipliers, known.multipliers[:6]) == pytest.approx(
        known.multipliers[:6], abs=1e-7
    )
    assert found.modulus_error == pytest.approx(known.modulus_error, abs=1e-8)
    excursion = np.abs(known.result.displacement).max()
    assert np.abs(found.displacement - known.displacement).max() <= 1e-7 * excursion


def test_a_drive_without_a_phase_is_behind_a_first_drive_with_one():
    push = {"drive": "force", "signal": "harmonic", "amplitude": 0.1, "frequency": FREQUENCY}
    found = []
    for second in ({}, {"phase": 0.0}):
        drives = [push | {"bead": 1, "phase": 0.5}, push | {"bead": 2} | second]
        changes = {"chain.beads": 2, "ends.left": "wall", "drive": drives}
        found.append(gc.orbit(row(**{"ends.left.ramp": None} | changes)))
    assert found[0].result.case.drive[1].phase == -0.5
    assert (found[0].displacement == found[1].displacement).all()


def test_what_has_no_orbit_is_refused_with_a_sentence():
    rows = refused("orbit").values()
    assert_refused(lambda changes, arguments: gc.orbit(row(**changes), **arguments), rows)


def test_a_run_is_a_guess_where_it_ends_at_the_phase_0():
    with pytest.raises(CaseError, match=r"guess: the run ends at 0\.48 .*time.end = 0.0002"):
        gc.orbit(row(), guess=gc.run(row(**{"time.end": 1.85e-4})))
    found = gc.orbit(row(), guess=gc.run(row(**{"time.end": 2.5e-4})))
    assert found.begun.startswith("a run of") and found.residual <= 1e-8


def test_an_orbit_in_steps_near_the_limit_is_found_in_half_of_them():
    # the error is estimated with doubled steps, which must also be stable
    limit = prepare(row())[2].limit
    found = gc.orbit(row(**{"time.step": 0.9 * limit}))
    assert 0.4 * limit < found.result.time_step <= 0.5 * limit and found.residual <= 1e-8


def test_where_no_orbit_is_found_the_nearest_state_comes_with_the_error(hertz, monkeypatch):
    with pytest.raises(RunError, match="iterations") as error:
        gc.orbit(row(), guess=hertz, tolerance=1e-17)
    assert error.value.result.displacement.shape[1] == 8
    assert np.abs(error.value.result.final_displacement - hertz.displacement).max() < 1e-12

    def fails(case):
        raise CaseError("time.step: got too long a step")

    # the run cannot follow the state itself; the message still describes the attempt
    monkeypatch.setattr(images, "run_to_end", fails)
    for arguments, sentence in (
        ({"tolerance": 1e-17}, "orbit: no orbit of period"),
        ({}, "cannot be run: time.step: got too long"),
    ):
        with pytest.raises(RunError, match=sentence) as error:
            gc.orbit(row(), guess=hertz, **arguments)
        assert error.value.result is None


@pytest.mark.plain
def test_copies_of_a_run_end_where_runs_from_their_states_do(monkeypatch):
    case = row(**{"time.step": 2e-7, "time.end": 6e-6, "chain.beads": 3})
    chain, contacts, step = prepare(case)
    displacement, velocity = np.hsplit(np.arange(18.0).reshape(3, 6), 2)
    displacement, velocity = 1e-8 * displacement, 1e-4 * velocity
    # contacts without history
    state, history = State(contacts, chain, step, Recording()), np.zeros((0, 4))
    copies = Copies(state, displacement, velocity, history)
    # in blocks of one step, and stopped after ten
    monkeypatch.setattr(batch, "AT_ONCE", 1.0)
    blocks = Copies(state, displacement, velocity, history)
    assert (blocks.displacement == copies.displacement).all()
    assert (blocks.velocity == copies.velocity).all()
    asked = iter([False] * 10 + [True])
    left = Copies(state, displacement, velocity, history, lambda: next(asked))
    assert (left.status == RUNNING).all() and (left.memory.clocks["step"] == 10).all()
    assert (copies.status == Status.COMPLETE).all()
    for u, v, end, speed in zip(
        displacement, velocity, copies.displacement, copies.velocity, strict=True
    ):
        known = gc.run(case.replace(initial={"displacement": u.tolist(), "velocity": v.tolist()}))
        assert (known.final_displacement == end).all() and (known.final_velocity == speed).all()


def test_the_smallest_overlap_lies_on_the_parabola_through_three_samples():
    # -2 between two samples; a sample at the end; the end of a straight line
    t = np.arange(8.0)
    values = np.transpose([(t - 3.3) ** 2 - 2.0, (t - 9.0) ** 2, -t])
    assert least_overlaps(values) == pytest.approx([-2.0, 4.0, -7.0])
