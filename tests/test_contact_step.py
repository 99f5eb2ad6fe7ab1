"""The functions of one contact in one step, compared with their derivation, without a loop.

The derivation is docs/explanation/contact-step.md."""

import math

import numpy as np
import pytest
from support.kinds import PLAIN_ALONE
from support.rows import contacts_of, inputs_for, run_row, steel_row

from granchain.contact import laws
from granchain.contact.onset import interpolated, onset_weight
from granchain.engine import fields
from granchain.engine.contact_step import (
    contact_step,
    features_of,
    moved_by_jump,
    overlap_of,
    past_rate,
    predicted,
)
from granchain.engine.jumps import moving
from granchain.engine.recording import Recording

pytestmark = pytest.mark.plain

DT = 1e-7


def step_of(law, ledger=True, **inputs):
    """Return the step of the steel chain's contact with a law, its coefficients, and its
    functions."""
    contacts = contacts_of(laws()[law], steel_row(2), inputs_for(law, **inputs))
    step = contact_step(
        contacts.model.functions, features_of(contacts.model, Recording(ledger=ledger))
    )
    return step, tuple(contacts.c[:, 1].tolist()), contacts.model.functions


def closed_and_step(separation="clamped"):
    """Return the history of a contact with a linear dashpot two steps after its onset, and its
    step."""
    step, c, functions = step_of(
        "kelvin-voigt", restitution=0.5, stiffness=1e7, separation=separation
    )
    h = functions.history_of(c)
    for d in (1e-8, 2e-8):
        h = functions.update((d, 1.0, 1.0, 1.0), c, h)
    return h, step, c, functions


def test_rate_and_overlap_of_a_free_contact_under_constant_acceleration_and_slopes_of_hertz():
    # d = d0 + w0 t + A t^2/2 and w = w0 + A t; the half-step rate belongs to half a step earlier
    w0, bend, t = 2.0, -3e6, 4e-7
    half, rate = w0 + bend * (t - 0.5 * DT), w0 + bend * t
    assert predicted(half, bend, 0.5 * DT) == pytest.approx(rate, rel=1e-15)
    assert past_rate(half, bend, 0.5 * DT) == pytest.approx(w0 + bend * (t - DT), rel=1e-15)
    assert overlap_of(3e-6, 1e-6, -5e-7) == pytest.approx(1.5e-6, rel=1e-15)
    step, c, _ = step_of("hertz", ledger=False)
    # dF/dd = (3/2) K sqrt(d), within the rounding error of a difference over 2^-26 d: 2^-26
    slopes = step.slopes(1e-6, 0.3, c, ())
    assert slopes == (pytest.approx(1.5 * c[0] * math.sqrt(1e-6), rel=1e-7), 0.0)
    assert step.slopes(-1e-6, 0.3, c, ()) == (0.0, 0.0)


def test_the_polynomial_of_an_onset_steps_by_one_and_is_that_of_bernoulli_at_whole_powers():
    # zeta(s, q) - zeta(s, q + 1) = q^-s (DLMF 25.11.3), at s = -a and q = 1: 1^a
    for a in (0.0, 0.25, 0.5, 0.65):
        found = np.polyval(onset_weight(a), [1.0, 0.0])
        assert found[0] - found[1] == pytest.approx(1.0, abs=4e-11)
    # -zeta(-1, q) = (q^2 - q + 1/6)/2 (DLMF 25.11.14, 24.2.4); -zeta(0, 1 + x) = 1/2 + x
    theta = np.linspace(0.0, 1.0, 11)
    second = 0.5 * (theta * theta + theta + 1.0 / 6.0)
    np.testing.assert_allclose(np.polyval(onset_weight(1.0), theta), second, atol=1e-14)
    np.testing.assert_allclose(np.polyval(onset_weight(0.0), theta), 0.5 + theta, atol=1e-14)
    # a polynomial through points: (theta - 1/4)^2 = theta^2 - theta/2 + 1/16
    assert interpolated([0, 2**19, 2**20], [0.0625, 0.0625, 0.5625]) == (1.0, -0.5, 0.0625)


@pytest.mark.parametrize("theta", [0.1, 0.5, 0.9])
def test_at_an_onset_the_damping_has_the_weight_one_half_and_theta(theta):
    step, c, functions = step_of("kelvin-voigt", restitution=0.5, stiffness=1e7)
    half, fresh = 1.5, functions.history_of(c)
    d, rate = theta * DT * half, 1.4
    history, kick, record, lost, work = step.event(d, half, rate, half, DT, 0.0, 0.0, c, fresh)
    # F = K d + (1/2 + theta) c w; a sensor reads it with weight 1
    elastic = functions.force(d, 0.0, c, fresh)
    damping = record - elastic
    assert damping > 0.0 and (lost, work) == (0.0, 0.0)
    assert kick == pytest.approx(elastic + (0.5 + theta) * damping, rel=1e-12)
    assert step.read(d, rate, c, history) == record
    # the jump is from 0 to c w with the onset speed: w minus its change since the onset
    found, behind, before, after, moves, _ = step.onset(d, half, rate, DT, c, fresh, history)
    onset_rate = rate - 2.0 * theta * (rate - half)
    assert (found, before, moves) == (True, 0.0, 0.0) and behind == pytest.approx(theta, rel=1e-12)
    assert after == pytest.approx(damping * onset_rate / rate, rel=1e-9)


@pytest.mark.parametrize("theta", [0.2, 0.7])
def test_a_contact_ends_with_one_half_less_theta_of_its_last_force_or_of_the_dashpots_work(theta):
    closed, step, c, functions = closed_and_step("tensile")
    half, past, last, viscous = -1.2, -1.1, -7.0, -9.0
    d = theta * DT * half
    history, kick, record, _, _ = step.event(d, half, half, half, DT, last, 0.0, c, closed)
    assert kick == pytest.approx((0.5 - theta) * last, rel=1e-12) and record == 0.0
    assert step.end(d, half, DT, last, c)[:4] == (True, pytest.approx(theta, rel=1e-12), last, 0.0)
    assert functions.force(d, half, c, history) == 0.0
    # with the clamp, the work is assigned to the clamp
    closed, step, c, _ = closed_and_step()
    _, kick, record, _, work = step.event(d, half, half, past, DT, 0.0, viscous, c, closed)
    assert (kick, record) == (0.0, 0.0)
    assert work == pytest.approx((0.5 - theta) * DT * past * viscous, rel=1e-12)


def test_a_force_has_an_elastic_part_and_what_a_clamp_adds():
    closed, step, c, _ = closed_and_step()
    full, elastic, clamp = step.force_terms(1e-6, 0.5, c, closed)
    assert full > elastic == pytest.approx(1e7 * 1e-6) and clamp == 0.0
    full, elastic, clamp = step.force_terms(1e-8, -0.5, c, closed)
    # without the clamp, the force is the mirror image of the force during approach
    damping = step.force_terms(1e-8, 0.5, c, closed)[0] - elastic
    assert full == 0.0 and clamp == pytest.approx(damping - elastic, rel=1e-12)


def test_a_jump_inside_a_contact_is_found_where_the_parabola_of_the_step_crosses_it():
    step, c, functions = step_of("wang-liu-hysteretic", restitution=0.7, psi=2.84, xi=13.0)
    place = c[0]
    theta, rate, bend = 0.4, 1.0, -2e5
    d = place + theta * DT * rate - 0.5 * (theta * DT) ** 2 * bend
    before = d - DT * rate + 0.5 * DT * DT * bend
    last = functions.force(before, rate - DT * bend, c, ())
    there, again, _, _ = step.inside(place, d, before, rate, bend, DT, last, 0.0, c, ())
    found, behind, first, second, moves, _ = there
    assert found and moves == 1.0 and not again[0]
    assert behind == pytest.approx(theta, rel=1e-9)
    jump = functions.jump(place, rate - theta * DT * bend, c, ())
    assert second - first == pytest.approx(jump, rel=1e-6)
    # on the same side there is no jump
    assert not step.inside(place, 0.5 * place, 0.4 * place, rate, bend, DT, last, 0.0, c, ())[0][0]
    # a contact that rebounds through the jump within the step jumps again: after the jump, it is
    # decelerated by second - first divided by the reduced mass, is at rest after rate/bent, and
    # returns after twice this time
    rate, theta, push = 3e-4, 0.5, 1.0 / 2.25e-4
    d = place + theta * DT * rate
    before = d - DT * rate
    last = functions.force(before, rate, c, ())
    there, again, _, _ = step.inside(place, d, before, rate, 0.0, DT, last, push, c, ())
    found, behind, first, second, _, growth = there
    bent = push * (second - first)
    assert found and again[0]
    assert again[1] == pytest.approx(behind - 2.0 * rate / (DT * bent), abs=1e-3)
    assert again[2] - again[3] == pytest.approx(second - first, rel=1e-2) and again[5] == -growth
    # a law without an onset weight is read unchanged
    assert step.read(d, rate, c, ()) == functions.force(d, rate, c, ())


@PLAIN_ALONE
def test_jumps_that_only_weigh_a_kick_move_nothing():
    state = run_row(steel_row(2), "wang-liu-hysteretic", 1e-6, restitution=0.7, psi=2.84, xi=13.0)
    row = fields.beads_of(state.tables)
    u, v = row.bodies.u.copy(), row.bodies.v.copy()
    jump = {"contact": 1, "behind": 0.5, "before": 0.0, "after": 9.0, "moves": 0.0}
    for name, value in jump.items():
        getattr(row.jumps, name)[0] = value
    state.clock.n_jumps = 1
    move = moving(features_of(state.model, Recording()))
    move(row, state.clock)
    assert np.array_equal(row.bodies.u, u) and np.array_equal(row.bodies.v, v)
    row.jumps.moves[0] = 1.0
    move(row, state.clock)
    # the distance is (theta dt)^2 J/2 on either side
    moved = 0.5 * (0.5 * state.clock.dt) ** 2 * 9.0 / 0.45e-3
    assert row.bodies.u[2] - u[2] == pytest.approx(moved, rel=1e-9)
    assert row.bodies.u[1] - u[1] == pytest.approx(-moved, rel=1e-6)


@pytest.mark.parametrize("theta", [0.0, 0.25, 0.8])
def test_bodies_moved_by_a_jump_go_on_as_if_its_force_had_been_integrated(theta):
    # mass 1 at rest; from t = -theta dt on, a force that begins at `force` and grows at the rate
    # `growth`
    force, growth, steps = 3.0, 4e5, 50
    u, v = moved_by_jump(theta, DT, force, growth)
    for n in range(steps):
        v += DT * (force + growth * (theta + n) * DT)
        u += DT * v
    t = (theta + steps) * DT
    # v is the velocity half a step ago. Of the sum of the kicks, only the end term of Euler and
    # Maclaurin remains, -dt^2/24 times the slope.
    half = t - 0.5 * DT
    expected = force * half + growth * (0.5 * half**2 - DT**2 / 24.0)
    assert v == pytest.approx(expected, rel=1e-12)
    # and the sum of this term, by the midpoint rule, is -dt^3/24 per step: together dt^3/12 per
    # step, of order two
    cubes = (t**3 - (theta * DT) ** 3) / 6.0 - steps * DT**3 / 12.0
    assert u == pytest.approx(0.5 * force * t**2 + growth * cubes, rel=1e-12)
