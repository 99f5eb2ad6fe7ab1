"""Periodic orbits: against the closed form of a linear chain and a variational integration of the
tests' own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import linear_sum_assignment

import granchain as gc
from granchain.engine.stack import Copies
from granchain.engine.state import Recording, State
from granchain.errors import CaseError, RunError
from granchain.simulation import prepare
from granchain.status import Status

RADIUS, MASS, LOAD, DRAG, FREQUENCY = 2.38e-3, 0.45e-3, 20.0, 5e3, 8e3
# E/(1 - nu^2)/2 of equal steel beads; K = (4/3) E* sqrt(R*), and against the wall R* = R
STIFFNESS = 4.0 / 3.0 * (193e9 / (2.0 * (1.0 - 0.3**2))) * math.sqrt(RADIUS / 2.0)
LINEAR = {"law": "kelvin-voigt", "restitution": 1.0, "stiffness": 1e7, "separation": "tensile"}


def row(amplitude=3e-7, **changes):
    """Eight steel beads between two walls under 20 N, the left one shaken."""
    shaken = {"signal": "harmonic", "amplitude": amplitude, "frequency": FREQUENCY}
    case = gc.Case(
        chain={
            "beads": 8,
            "radius": RADIUS,
            "mass": MASS,
            "material": "steel-316",
            "precompression": LOAD,
            "drag": DRAG,
        },
        contact={"law": "hertz"},
        ends={"left": {"drive": "displacement", **shaken, "ramp": 1e-4}, "right": "wall"},
        time={"end": 1e-3},
    )
    return case.replace(**changes)


@pytest.fixture(scope="module")
def hertz():
    return gc.orbit(row())


@pytest.mark.parametrize("drag", [5e4, 5e3])
def test_multipliers_of_a_linear_chain_have_the_modulus_of_the_scheme(drag):
    found = gc.orbit(row(contact=LINEAR, **{"chain.drag": drag}))
    dt, half = found.result.time_step, 0.5 * drag * found.result.time_step
    steps = round(found.period / dt)
    assert steps * dt == pytest.approx(1.0 / FREQUENCY, rel=1e-12)
    # each step takes (1 - g dt/2)/(1 + g dt/2) of the volume of a mode's plane
    known = ((1.0 - half) / (1.0 + half)) ** (0.5 * steps)
    assert np.abs(np.abs(found.multipliers) - known).max() <= 1e-10
    assert abs(known - math.exp(-0.5 * drag * found.period)) <= (drag * dt) ** 2
    assert found.stable and found.opens == ()
    assert found.energy_in == pytest.approx(found.energy_lost, rel=1e-5)


def test_an_orbit_and_its_multipliers_are_those_of_a_variational_integration(hertz):
    elastic = STIFFNESS * np.array([math.sqrt(2.0), *[1.0] * 7, math.sqrt(2.0)])
    rest = (LOAD / elastic) ** (2.0 / 3.0)
    amplitude, turn = 3e-7, 2.0 * math.pi * FREQUENCY

    def slope(t, y):
        x = y[:272].reshape(16, 17)
        u, v = x[:8], x[8:]
        wall = np.zeros((1, 17))
        wall[0, 0] = amplitude * math.sin(turn * t)
        # column 0 is the orbit, the others are what small changes become
        apart = np.vstack([wall, u]) - np.vstack([u, np.zeros((1, 17))])
        overlap = np.maximum(rest + apart[:, 0], 0.0)
        force = 1.5 * elastic[:, None] * np.sqrt(overlap)[:, None] * apart
        force[:, 0] = elastic * overlap**1.5
        return np.vstack([v, (force[:-1] - force[1:]) / MASS - DRAG * v]).ravel()

    state = np.concatenate([hertz.displacement, hertz.velocity])
    for _ in range(3):
        start = np.hstack([state[:, None], np.eye(16)]).ravel()
        end = (
            solve_ivp(slope, (0.0, 1.0 / FREQUENCY), start, method="DOP853", rtol=1e-9, atol=1e-14)
            .y[:, -1]
            .reshape(16, 17)
        )
        state = state + np.linalg.solve(np.eye(16) - end[:, 1:], end[:, 0] - state)
    known = np.linalg.eigvals(end[:, 1:])
    apart = np.abs(hertz.multipliers[:, None] - known)
    mine, its = linear_sum_assignment(apart)
    # Verlet's own error of the phase of the fastest mode over a period
    fastest = 2.0 * math.pi * gc.modes(row()).frequencies[-1]
    own = fastest * hertz.period * (fastest * hertz.result.time_step) ** 2 / 24.0
    assert apart[mine, its].max() <= 1.5 * own
    largest = np.abs(hertz.multipliers[0] - known).min()
    assert largest <= 1.5 * hertz.multiplier_error
    assert np.abs(state[:8] - hertz.displacement).max() <= 1e-3 * np.abs(state[:8]).max()


def test_a_run_from_the_orbit_closes_and_its_guess_needs_one_shot(hertz):
    ends = hertz.result
    excursion = np.abs(ends.displacement).max()
    assert np.abs(ends.final_displacement - hertz.displacement).max() <= 1e-8 * excursion
    assert gc.orbit(row(), guess=hertz).shots == 1
    # a vector is what the period multiplies: J w = m w, from a run beside the orbit
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


REFUSED = {
    "a chain without a drive": ({"ends.left": "wall"}, {}, "without a drive that loses energy"),
    "a period between two": ({}, {"period": 1.3e-4}, "whole multiple of the period of each drive"),
    "a period of few steps": ({"ends.left.frequency": 2e6}, {}, "time steps of .* at least 20"),
    "no static load": ({"chain.precompression": 0.0}, {}, "carry no force at rest"),
    "a dashpot": ({"contact": {"law": "tsuji", "restitution": 0.9}}, {}, "contacts remember"),
    "a signal that does not come again": (
        {"ends.left": {"drive": "force", "signal": "pulse", "shape": "half-sine",
                       "amplitude": 1.0, "duration": 1e-5}},
        {},
        "comes again",
    ),
    "another thing as a guess": ({}, {"guess": 3}, "guess: got int"),
    "a tolerance of nothing": ({}, {"tolerance": 0.0}, "tolerance: got 0"),
    "a striker": ({"striker": {"speed": 0.1}}, {}, "striker: got"),
    "a chain that drifts": (
        {"ends.left.drive": "force", "ends.right": "free"}, {}, "nothing holds in place",
    ),
}  # fmt: skip


@pytest.mark.parametrize("which", REFUSED)
def test_what_has_no_orbit_is_refused_with_a_sentence(which):
    changes, arguments, sentence = REFUSED[which]
    with pytest.raises(CaseError, match=sentence):
        gc.orbit(row(**changes), **arguments)


def test_a_run_is_a_guess_where_it_ends_at_the_phase_0():
    with pytest.raises(CaseError, match=r"guess: got a run that ends at 0\.48 .*time.end = 0.0002"):
        gc.orbit(row(), guess=gc.run(row(**{"time.end": 1.85e-4})))
    found = gc.orbit(row(), guess=gc.run(row(**{"time.end": 2.5e-4})))
    assert found.begun.startswith("a run of") and found.residual <= 1e-8


def test_where_no_orbit_is_found_the_nearest_state_comes_with_the_error(hertz):
    with pytest.raises(RunError, match="shots of Newton's method") as error:
        gc.orbit(row(), guess=hertz, tolerance=1e-17)
    assert error.value.result.displacement.shape[1] == 8
    assert np.abs(error.value.result.final_displacement - hertz.displacement).max() < 1e-12


@pytest.mark.plain
def test_copies_of_a_run_end_where_runs_from_their_states_do():
    case = row(**{"time.step": 2e-7, "time.end": 6e-6, "chain.beads": 3})
    chain, contacts, step = prepare(case)
    states = 1e-8 * np.arange(18.0).reshape(3, 6)
    copies = Copies(State(contacts, chain, step, Recording()), states[:, :3], 1e4 * states[:, 3:])
    assert (copies.status == Status.COMPLETE).all()
    for u, v, end, speed in zip(
        states[:, :3], 1e4 * states[:, 3:], copies.displacement, copies.velocity, strict=True
    ):
        known = gc.run(case.replace(initial={"displacement": u.tolist(), "velocity": v.tolist()}))
        assert (known.final_displacement == end).all() and (known.final_velocity == speed).all()
