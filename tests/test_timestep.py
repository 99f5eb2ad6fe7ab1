"""The time step: automatic, fast, given or refused, and what stops a run with too long a step."""

import math
import re

import numpy as np
import pytest
from support.rows import MASS, SPEED, contacts_of, inputs_for, run_row, standing_row, steel_row

import granchain as gc
from granchain import theory
from granchain.case import load_case
from granchain.chain import End
from granchain.contact import laws
from granchain.engine.recording import Recording
from granchain.engine.state import State
from granchain.engine.timestep import TimeStep, time_step_of
from granchain.errors import CaseError, RunError
from granchain.simulation import prepare, run
from granchain.status import Status

STIFFNESS = theory.hertz_stiffness(193e9 / (2.0 * (1.0 - 0.3**2)), 1.19e-3)


def step_of(law, chain, step="auto", end=1e-4, force_step=False, **given):
    return time_step_of(
        contacts_of(laws()[law], chain, inputs_for(law, **given)), chain, step, end, force_step
    )


@pytest.mark.plain
def test_the_automatic_step_is_a_hundredth_of_its_limit_and_divides_the_end():
    # m v^2/2 = (2/5) K d^2.5; the stiffness is 1.5 K sqrt(d), and a bead has two contacts: omega^2
    # = 4 k/m
    overlap = (2.5 * 0.5 * MASS * SPEED**2 / STIFFNESS) ** 0.4
    omega = math.sqrt(4.0 * 1.5 * STIFFNESS * math.sqrt(overlap) / MASS)
    step = step_of("hertz", steel_row(20), end=1.0)
    assert step.value == pytest.approx(0.01 * 2.0 / omega, rel=1e-5)
    assert step.limit == pytest.approx(2.0 / omega, rel=1e-5)
    assert "0.01 of 2/omega" in step.reason
    fast = step_of("hertz", steel_row(20), "fast", end=1.0)
    assert fast.value == pytest.approx(5.0 * step.value, rel=1e-5)
    # strong damping shortens the step: c = (a/v0) K d^1.5 at the largest overlap, for two contacts
    # of a bead, so that gamma = 4 c/m; .05/gamma is shorter than .01 * 2/omega for e = .1
    damping = 1.6 * 0.9 / 0.1 / SPEED * STIFFNESS * overlap**1.5
    damped = step_of("flores", steel_row(20), end=1.0, restitution=0.1)
    assert damped.value == pytest.approx(0.05 / (4.0 * damping / MASS), rel=1e-4)
    assert "0.05/gamma" in damped.reason
    divided = step_of("hertz", steel_row(20), end=1e-4)
    assert divided.n_steps * divided.value == pytest.approx(1e-4, rel=1e-14)
    given = step_of("hertz", steel_row(20), 1e-7, end=1e-4)
    assert (given.n_steps, given.value) == (1000, 1e-7)
    standing = step_of("hertz", standing_row(5), end=1e-3)
    assert standing.value == pytest.approx(1e-6) and "nothing moves" in standing.reason


@pytest.mark.promise("N9")
@pytest.mark.plain
def test_a_step_above_the_limit_is_refused_with_the_reason():
    with pytest.raises(
        CaseError,
        match=r"time.step: 1e-05 s is too long. It must be at most 4\.35\d+e-06 s, .*force_step",
    ):
        step_of("hertz", steel_row(20), 1e-5)
    assert step_of("hertz", steel_row(20), 1e-5, force_step=True).value == 1e-5


def disturbed(factor):
    """Return the number of steps, the status, and the largest displacement over the static overlap
    of a precompressed linear chain between walls with equal springs. The chain starts with a
    displacement of 1e-6 of the overlap, and its step is `factor` times 2/omega_max."""
    n, k = 12, 1e7
    chain = standing_row(n, End("wall"), End("wall"), precompression=100.0)
    # n equal masses on n + 1 springs between walls: omega^2 = (4 k/m) sin^2(n pi/(2(n + 1)))
    omega = 2.0 * math.sqrt(k / MASS) * math.sin(n * math.pi / (2.0 * (n + 1)))
    contacts = contacts_of(
        laws()["kelvin-voigt"], chain, inputs_for("kelvin-voigt", restitution=1.0, stiffness=k)
    )
    dt = factor * 2.0 / omega
    limit = time_step_of(contacts, chain, "auto", 1.0).limit
    state = State(contacts, chain, TimeStep(dt, 600, limit, ""), Recording())
    # the shape of the highest mode, with an amplitude of 1e-6 of the static overlap
    i = np.arange(1, n + 1)
    state.bodies.u[1 : n + 1] = 1e-6 * 100.0 / k * np.sin(n * np.pi * i / (n + 1))
    status, swing = Status.RUNNING, 0.0
    while status is Status.RUNNING:
        status = state.advance(90)
        swing = max(swing, np.abs(state.bodies.u).max())
    return state.step, status, swing * k / 100.0


@pytest.mark.promise("N9")
@pytest.mark.plain
def test_a_step_just_below_the_largest_eigenfrequencys_limit_runs_and_one_above_it_is_stopped(
    plain_loop, figure
):
    _, status, swing = disturbed(0.98)
    assert status is Status.COMPLETE
    # stable: a mode near the limit grows to a few times its initial 1e-6 of the overlap
    figure(
        "largest displacement at .98 of 2/omega_max in 600 steps, of the overlap",
        swing,
        at_least=1e-7,
        at_most=1e-4,
    )
    steps, status, _ = disturbed(1.02)
    assert status.failed
    figure("steps until a run at 1.02 of 2/omega_max is stopped", steps, at_least=1, at_most=600)


@pytest.mark.promise("N9")
def test_a_run_that_is_stopped_says_where_when_why_and_what_to_do(figure):
    case = load_case("steel-chain-hertz").replace(
        **{"chain.beads": 20, "sensors.beads": [], "sensors.contacts": [], "time.end": 2e-4}
    )
    _, _, step = prepare(case)
    told = {}
    for factor in (1.02, 3.0):
        with pytest.raises(RunError) as raised:
            run(case.replace(**{"time.step": factor * step.limit, "time.force_step": True}))
        told[factor] = str(raised.value)
    # the run stays bounded, as promised, but the energy balance shows the error
    match = re.search(
        r"energy: the balance error is (\S+) of the energy supplied\. .* 0\.01 .* Choose a "
        r"smaller time step",
        told[1.02],
    )
    figure(
        "struck chain at 1.02 of the limit: residual of its energy balance",
        float(match[1]),
        at_least=0.01,
    )
    place = (
        r"the run stopped at t = \S+ s \(step \d+ of \d+\) at (bead|contact) \d+: .*The time step "
        r"was \S+ s\. The stability limit"
    )
    assert re.search(place, told[3.0])


@pytest.mark.plain
def test_an_overlap_beyond_a_radius_stops_the_run_even_when_it_is_gone_at_the_blocks_end():
    # a striker so fast that the overlap exceeds a radius within the block
    chain = steel_row(3, speed=2e5)
    contacts = contacts_of(laws()["hertz"], chain, inputs_for("hertz"))
    state = State(
        contacts, chain, time_step_of(contacts, chain, "auto", 1e-6), Recording(ledger=False)
    )
    assert state.advance(10**9) is Status.BEYOND_RADIUS
    assert state.clock.where == 1


def test_a_state_that_asks_for_a_shorter_step_is_reported():
    # at a step of .7 of the limit: the limit at the stiffest state is less than twice the initial
    # limit
    chain = steel_row(20)
    contacts = contacts_of(laws()["hertz"], chain, inputs_for("hertz"))
    limit = time_step_of(contacts, chain, "auto", 1e-4).limit
    state = State(
        contacts, chain, time_step_of(contacts, chain, 0.6 * limit, 1e-4), Recording(ledger=False)
    )
    while state.advance(1) is Status.RUNNING:
        pass
    assert limit < state.clock.allowed_step < 2.0 * limit
    assert run_row(chain, "hertz", 1e-4).clock.allowed_step > limit


def test_a_step_that_is_too_long_is_refused_with_the_smallest_limit():
    # the limit is that of the steel chain, 2/omega, for steps longer or shorter than the run
    case = gc.load_case("steel-chain", ["sensors.contacts=[]"])
    for step in (1e-3, 5e-4, 1e-5):
        words = r"too long\. It must be at most 4\.24\S+ s, the stab"
        with pytest.raises(CaseError, match=words):
            gc.run(case.replace({"time.step": step}))
    forced = case.replace({"time.step": 1e-3, "time.force_step": True})
    with pytest.raises(CaseError, match=r"at most 0\.0006 s, the end of the run\."):
        gc.run(forced)
