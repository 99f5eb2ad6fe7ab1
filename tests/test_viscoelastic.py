"""The viscoelastic contact with memory: its force is Lee and Radok's integral, its motion agrees
with another integration, and the energy it takes is stored or dissipated."""

import math
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq
from support.refused import assert_refused
from support.rows import contacts_of, example_chain, ledger_residual

import granchain as gc
from granchain.certificates import example_inputs, example_pair
from granchain.chain import WALL, End
from granchain.contact.viscoelastic import LeeRadok
from granchain.engine.recording import Recording
from granchain.engine.state import State
from granchain.engine.timestep import TimeStep, time_step_of
from granchain.errors import LawError
from granchain.status import Status

# An impact of two beads takes 13 us: relaxation times are longer, similar, and shorter.
TIMES = (1e-4, 1e-5, 1e-6)


def force_of_ramp(t, speed, g, tau):
    """Return Lee and Radok's integral for d = speed s, divided by K; the equation is that of
    force_viscoelastic_models.py of github.com/kegouro/spmkit."""
    relaxed = quad(lambda s: math.exp(-(t - s) / tau) * 1.5 * math.sqrt(speed * s) * speed, 0.0, t,
                   epsabs=0.0, epsrel=1e-12)[0]  # fmt: skip
    return (1.0 - g) * (speed * t) ** 1.5 + g * relaxed


@pytest.mark.plain
def test_the_force_of_a_ramp_is_the_hereditary_integral():
    speed, end, g = 1.0, 1e-5, 0.6
    for tau in TIMES:
        expected, errors = 1e9 * force_of_ramp(end, speed, g, tau), []
        for steps in (100, 200):
            c, h, d = (1e9, g, tau), (0.0,), 0.0
            for k in range(steps):
                before, d = d, speed * end * (k + 1) / steps
                h, _ = LeeRadok.evolve(end / steps, before, d, c, h)
            errors.append(LeeRadok.force(d, speed, c, h) / expected - 1.0)
        # the first step from zero overlap, with d^1.5 approximated by a line, is of order 5/2
        assert abs(errors[1]) < 1e-5, tau
        assert 3.5 < errors[0] / errors[1] < 6.0, tau


@pytest.mark.plain
def test_a_held_overlap_relaxes_exponentially_for_any_step():
    c, d = (1.0, 0.5, 1.0), 2.0
    assert LeeRadok.evolve(0.0, d, d, c, (0.0,))[0] == (0.0,)
    for ratio in (1e-17, 1e-9, 1e-4, 0.999e-3, 1.001e-3, 0.1, 10.0, 1e6):
        h, lost = LeeRadok.evolve(ratio, d, d, c, (0.0,))
        expected = -(d**1.5) * math.expm1(-ratio)
        assert h[0] ** 1.5 == pytest.approx(expected, rel=2e-15, abs=3e-16 * d**1.5), ratio
        # an overlap whose d^1.5 changes linearly
        h_ramp, _ = LeeRadok.evolve(ratio, 0.0, d, c, (0.0,))
        mean = -math.expm1(-ratio) / ratio
        assert h_ramp[0] ** 1.5 == pytest.approx((1.0 - mean) * d**1.5, abs=3e-13 * d**1.5), ratio
        # at a constant overlap, the decrease of the stored energy is dissipated
        stored = LeeRadok.energy(d, c, (0.0,)) - LeeRadok.energy(d, c, h)
        assert lost == pytest.approx(stored, rel=1e-12, abs=1e-15 * d**2.5), ratio


@pytest.mark.plain
def test_free_surfaces_recover_with_the_longer_time_and_are_met_again():
    g, tau, dt = 0.7, 1e-5, 1e-6
    c, h = (1e9, g, tau), (1e-6,)
    for k in range(1, 30):
        h, lost = LeeRadok.evolve(dt, -1e-6, -1e-6, c, h)
        # linear within a step: for the exponential, a step of a tenth of tau/(1 - g) has an error
        # of a^3/12
        expected = 1e-9 * math.exp(-(1.0 - g) * k * dt / tau)
        assert h[0] ** 1.5 == pytest.approx(expected, rel=1e-4 * k) and lost > 0.0
        assert LeeRadok.force(0.99 * g ** (2.0 / 3.0) * h[0], 1.0, c, h) == 0.0
        assert LeeRadok.force(1.01 * g ** (2.0 / 3.0) * h[0], 1.0, c, h) > 0.0


@pytest.mark.plain
@pytest.mark.parametrize("tau", [1e-3, 0.1, 10.0])
def test_what_a_path_takes_is_stored_or_dissipated_and_no_step_creates_energy(tau):
    # closed and open phases, where surfaces are free and meet again
    random = np.random.default_rng(1960)
    phases, sizes = random.uniform(0.0, 2.0 * math.pi, 5), random.uniform(0.2, 1.0, 5)

    def overlap(t):
        waves = [size * np.sin((k + 1) * t + phase)
                 for k, (size, phase) in enumerate(zip(sizes, phases, strict=True))]  # fmt: skip
        return np.sum(waves, axis=0)

    c, gaps = (1.0, 0.8, tau), []
    for steps in (4000, 8000):
        times, h, work, lost = np.linspace(0.0, 20.0, steps + 1), (0.0,), 0.0, 0.0
        path, force = np.minimum(times, 1.0) * overlap(times), 0.0
        for before, d in pairwise(path.tolist()):
            h, more = LeeRadok.evolve(20.0 / steps, before, d, c, h)
            last, force = force, LeeRadok.force(d, 0.0, c, h)
            work, lost = work + 0.5 * (last + force) * (d - before), lost + more
            # a step longer than the relaxation time has an error of third order
            assert more >= -1e-15 or tau < 20.0 / steps
        gaps.append(work - LeeRadok.energy(path[-1], c, h) - lost)
        assert lost > 0.05 and (path < 0.0).any()
    assert abs(gaps[1]) < 2e-4 and 3.0 < gaps[0] / gaps[1] < 5.5


def motion(chain, c, overlaps, times):
    """Return velocities, and c^1.5 of each term and contact, at these times, from the integrator
    DOP853; the rows of `c` are K, then g and tau of each term."""
    n, stiffness, g, tau = chain.n_bodies, c[0], c[1::2], c[2::2]
    # scaled to numbers near one, for the tolerances
    unit = 1e-5**1.5

    def rates(_, y):
        u, v, p = y[:n], y[n : 2 * n], unit * y[2 * n :].reshape(g.shape)
        d, relaxed = np.maximum(u[:-1] - u[1:] + overlaps, 0.0), (g * p).sum(axis=0)
        x = np.maximum(d**1.5, relaxed)
        force = np.pad(stiffness * (x - relaxed), 1)
        return np.r_[v, (force[:-1] - force[1:]) / chain.mass, ((x - p) / tau / unit).ravel()]

    start = np.r_[np.zeros(n), chain.velocity, np.zeros(g.size)]
    tolerance = np.r_[np.full(n, 1e-17), np.full(n + g.size, 1e-12)]
    found = solve_ivp(
        rates, (0.0, times[-1]), start, "DOP853", times, rtol=1e-12, atol=tolerance,
        max_step=times[-1] / 2000,
    ).y  # fmt: skip
    return found[n : 2 * n], unit * found[2 * n :].reshape(*g.shape, len(times))


def compared(chain, inputs, end, steps):
    """Return root mean square errors of velocities and of c^1.5 over the run, relative to their
    largest values, and the last state, for steps in units of the automatic step."""
    contacts = contacts_of(LeeRadok, chain, example_inputs(LeeRadok, **inputs))
    auto = time_step_of(contacts, chain, "auto", end)
    count, joints = 60, slice(1, chain.n_bodies)
    units = math.ceil(auto.n_steps / count / 10) * 10
    times = np.linspace(0.0, end, count + 1)
    overlaps = contacts.overlaps[joints] - chain.gap
    velocity, creep = motion(chain, contacts.c[:, joints], overlaps, times)
    errors = []
    for step in steps:
        n_steps = round(count * units / step)
        recording = Recording(snapshot_interval=end / count, snapshot_history=True)
        state = State(contacts, chain, TimeStep(end / n_steps, n_steps, auto.limit, ""), recording)
        assert state.advance(n_steps + 1) is Status.COMPLETE
        seen = state.records.snapshot_history[:, :, joints].transpose(1, 2, 0) ** 1.5
        pairs = (state.records.velocity.T, velocity), (seen, creep)
        errors.append([np.sqrt(np.mean((a - b) ** 2)) / b.max() for a, b in pairs])
    return np.array(errors), state


SERIES = {
    "relaxing_fraction": 0.2, "relaxation_time": 1e-4,
    "relaxing_fraction_2": 0.3, "relaxation_time_2": 1e-5,
    "relaxing_fraction_3": 0.4, "relaxation_time_3": 1e-6,
}  # fmt: skip


CHAINS = {"two": (2, 0.0), "ten": (10, 0.0), "ten-with-gaps": (10, 2e-6)}
RELAXATIONS = {
    **{f"{tau:g} s": {"relaxation_time": tau} for tau in TIMES}, "series": SERIES
}  # fmt: skip
# The second law as plain Python, which takes less time than the compilation of its loop.
NEAR = {("two", "1e-05 s"), ("ten-with-gaps", "series")}


@pytest.mark.parametrize(
    ("bodies", "gap", "inputs"),
    [
        pytest.param(
            *CHAINS[chain], RELAXATIONS[name], id=f"{chain}-{name}",
            marks=() if (chain, name) in NEAR else pytest.mark.long,
        )
        for chain in CHAINS
        for name in RELAXATIONS
    ],
)  # fmt: skip
def test_the_motion_is_that_of_an_independent_integration(bodies, gap, inputs, figure, request):
    if gap and inputs is SERIES:
        request.getfixturevalue("plain_loop")
    chain = example_chain(bodies, gap=np.full(bodies - 1, gap))
    # the impact of two beads, and a wave that crosses eight of ten beads
    end = 3e-5 if bodies == 2 else 8e-5 + 9 * gap
    steps = (10.0, 5.0, 2.0, 1.0)
    errors, state = compared(chain, inputs, end, steps)
    order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    for name, error, value in zip(("velocity", "creep"), errors[-1], order, strict=True):
        figure(f"lee-radok: error of the {name} at the automatic step", error, at_most=2e-5)
        figure(f"lee-radok: order of the {name} over 10 to 1", value, at_least=1.85, at_most=2.15)
    figure("lee-radok: residual of the energy balance", ledger_residual(state), at_most=5e-5)
    assert state.energies.viscous[-1] > 1e-3 * state.energies.kinetic[0]


@pytest.mark.plain
def test_an_incomplete_series_and_one_that_relaxes_completely_are_refused():
    first = {"relaxing_fraction": 0.5, "relaxation_time": 1.0}
    rows = [
        ({"relaxing_fraction_2": 0.2}, "relaxation_time_2: missing"),
        ({"relaxation_time_2": 1e-5}, "relaxing_fraction_2: missing"),
        ({"relaxing_fraction_3": 0.2, "relaxation_time_3": 1.0}, "relaxing_fraction_2: missing"),
        ({"relaxing_fraction_2": 0.5, "relaxation_time_2": 1.0}, "the sum of all is 1. It must"),
    ]
    impact = partial(gc.impact, law="lee-radok", speed=1.0, **first)
    assert_refused(lambda inputs: impact(**inputs), rows, LawError)


def test_a_loaded_chain_starts_relaxed_and_stays_at_rest():
    chain = replace(
        example_chain(5), velocity=np.zeros(5), has_striker=False, precompression=20.0,
        left=End(WALL), right=End(WALL),
    )  # fmt: skip
    contacts = contacts_of(LeeRadok, chain, example_inputs(LeeRadok))
    stiffness, g, _ = contacts.c
    assert len(contacts.model.history) == 1
    assert (1.0 - g) * stiffness * contacts.overlaps**1.5 == pytest.approx(20.0, rel=1e-8)
    step = time_step_of(contacts, chain, "auto", 1e-5)
    state = State(contacts, chain, step, Recording())
    state.advance(step.n_steps + 1)
    assert np.abs(state.bodies.v).max() < 1e-9


def test_the_automatic_step_resolves_a_contact_that_has_not_relaxed():
    # nearly all of the stiffness relaxes, but a fast contact has the full stiffness
    chain = example_chain(3)
    slow, fast = (
        contacts_of(LeeRadok, chain, example_inputs(LeeRadok, relaxing_fraction=g, stiffness=1e9))
        for g in (1e-6, 1.0 - 1e-4)
    )
    limits = [time_step_of(contacts, chain, "auto", 1e-4).limit for contacts in (slow, fast)]
    assert limits[1] <= limits[0]


def test_an_impact_accounts_for_its_energy():
    energy = 0.5 * example_pair().effective_mass * 1.77**2
    for tau in TIMES:
        inputs = {"speed": 1.77, "relaxing_fraction": 0.5, "relaxation_time": tau}
        found, fine = (gc.impact(law="lee-radok", **inputs, refine=x) for x in (1.0, 8.0))
        assert 0.0 < found.restitution < 1.0
        assert found.restitution_impulse == pytest.approx(found.restitution, rel=1e-4), tau
        assert found.restitution_energy == pytest.approx(found.restitution, rel=1e-4), tau
        assert found.dissipated == pytest.approx(energy * (1.0 - found.restitution**2), rel=1e-12)
        assert 0.0 < found.dissipated_approach < found.dissipated, tau
        assert found.duration == pytest.approx(fine.duration, rel=4e-5), tau
        # when the force ends, an indentation remains
        assert found.overlap_duration > found.duration, tau


def restitution_of_ting(g, tau):
    """Return restitution and duration of an impact of a unit mass at unit speed with K = 1, with
    Ting's unloading.

    At each time of unloading, the contact area equals that at a time t1 of loading. The integral of
    E(t - s) dd(s) from t1 to t is zero, and Lee and Radok's integral ends at t1, as in
    ting_numerical of the Python package pyafmrheo. With one relaxation time, both integrals solve
    equations of motion.
    """

    def loading(_, y):
        d, rate, p, strain = y
        x = max(d, 0.0) ** 1.5
        return [rate, g * p - x, (x - p) / tau, rate - strain / tau]

    turns = lambda t, y: y[1]  # noqa: E731
    turns.terminal = True
    path = solve_ivp(loading, (0.0, 99.0), [0.0, 1.0, 0.0, 0.0], rtol=1e-10, atol=1e-12,
                     events=turns, dense_output=True)  # fmt: skip
    top, at = path.t[-1], path.sol

    def force(t, d, strain):
        def integral(t1):
            y = at(t1)
            return (1.0 - g) * (d - y[0]) + g * (strain - math.exp(-(t - t1) / tau) * y[3])

        if integral(0.0) <= 0.0:
            return 0.0
        t1 = brentq(integral, 0.0, top, xtol=1e-13) if integral(top) < 0.0 else top
        y = at(t1)
        x = max(y[0], 0.0) ** 1.5
        return (1.0 - g) * x + g * math.exp(-(t - t1) / tau) * (x - y[2])

    ends = lambda t, y: force(t, y[0], y[2]) - 1e-9  # noqa: E731
    ends.terminal = True
    out = solve_ivp(
        lambda t, y: [y[1], -force(t, y[0], y[2]), y[1] - y[2] / tau],
        (top + 1e-9, 99.0), [path.y[0, -1], 0.0, path.y[3, -1]], rtol=1e-7, atol=1e-10,
        events=ends, max_step=0.05,
    )  # fmt: skip
    return -out.y[1, -1], out.t[-1]


# Duration of an elastic impact in these units: 2.943 (5/4)^(2/5), Johnson 1985, eq. (11.24).
ELASTIC = 2.9432 * 1.25**0.4


@pytest.mark.parametrize(
    ("g", "ratio"),
    [
        pytest.param(g, ratio, marks=() if (g, ratio) == (0.8, 0.1) else pytest.mark.long)
        for g in (0.2, 0.5, 0.8, 0.95)
        for ratio in (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
    ],
)
def test_the_restitution_is_near_that_of_tings_unloading(g, ratio, figure):
    exact, duration = restitution_of_ting(g, ratio * ELASTIC)
    # K = 1, m = 1, and v = 1 in units of the example pair
    pair = example_pair()
    stiffness = 4.0 / 3.0 * pair.effective_modulus * math.sqrt(pair.effective_radius)
    second = (pair.effective_mass / stiffness) ** 0.4 * 0.1**-0.2
    found = gc.impact(
        law="lee-radok", speed=0.1, relaxing_fraction=g, relaxation_time=ratio * ELASTIC * second
    )
    figure("lee-radok: Ting's restitution less that of the law", exact - found.restitution,
           at_least=0.0, at_most=0.033)  # fmt: skip
    figure("lee-radok: duration divided by Ting's", found.duration / second / duration,
           at_least=0.79, at_most=1.0)  # fmt: skip


def chain_of(*laws, **tables):
    """Return a chain of a striker and three beads for each law."""
    segments = [{"count": 3, "contact": law} for law in laws]
    return gc.Case(
        chain={"radius": 2.38e-3, "material": "steel-316", "segment": segments},
        striker={"speed": 1.0},
        contact=laws[0],
        sensors={"beads": "all", "contacts": "all", "interval": 5e-7},
        snapshots={"interval": 2e-6},
        **{"time": {"end": 6e-5}, **tables},
    )


MEMORY = {"law": "lee-radok", "relaxing_fraction": 0.6, "relaxation_time": 5e-6}


@pytest.mark.plain
@pytest.mark.usefixtures("plain_loop")
def test_next_to_another_law_the_motion_is_that_of_the_integration_too():
    result = gc.run(chain_of({"law": "hertz"}, MEMORY))
    relaxes = result.contact_law == result.contact_law[-1]
    assert 0 < relaxes.sum() < relaxes.size
    chain = example_chain(7, velocity=np.array([1.0, *[0.0] * 6]), mass=result.mass)
    pair = gc.Pair.of_spheres(2.38e-3, "steel-316", 2.38e-3)
    stiffness = 4.0 / 3.0 * pair.effective_modulus * math.sqrt(pair.effective_radius)
    c = np.array([np.full(6, stiffness), np.where(relaxes, 0.6, 0.0), np.full(6, 5e-6)])
    velocity, creep = motion(chain, c, np.zeros(6), result.snapshot_time)
    # as in the comparison above at the automatic step
    assert np.abs(result.velocity.T - velocity).max() < 1e-3
    last = np.where(relaxes, creep[0, :, -1], 0.0)
    # a contact that does not relax does not creep
    assert np.isnan(result.creep).tolist() == (~relaxes).tolist()
    assert np.nan_to_num(result.creep) ** 1.5 == pytest.approx(last, abs=1e-3 * last.max())
    assert result.energy_viscous[-1] > 1e-2 * result.energy_kinetic[0]
    assert (result.contact_viscous > 0.0).tolist() == relaxes.tolist()
    assert np.abs(result.energy_residual).max() < 5e-5 * result.energy_kinetic[0]


@pytest.mark.usefixtures("plain_loop")
def test_modes_are_those_of_fast_changes_with_a_message() -> None:
    chain = {"beads": 3, "radius": 2.38e-3, "material": "steel-316", "precompression": 20.0}
    case = gc.Case(chain=chain, contact=MEMORY, time={"end": 1e-4})
    found = gc.modes(case)
    (message,) = found.messages
    assert "lee-radok" in message and "the decay rates do not include it" in message
    # the overlap is that of the relaxed stiffness 0.4 K, and the slope 1.5 K sqrt(d) uses K
    elastic = gc.modes(case.replace({"contact": {"law": "hertz"}}))
    assert elastic.messages == ()
    expected = 0.4 ** (-1.0 / 6.0) * elastic.frequencies[1:]
    assert found.frequencies[1:] == pytest.approx(expected, rel=1e-6)
    assert gc.mode_study(case, {"chain.precompression": [10.0, 20.0]}).attrs["messages"].count(
        "lee-radok"
    ) == 1  # fmt: skip


@pytest.mark.filterwarnings("ignore:sweep. .*Increase time.end")
def test_runs_that_continue_and_members_of_studies_have_the_bits_of_one_run(plain_loop):
    case = chain_of(MEMORY, time={"end": 2e-5, "step": 5e-8})
    whole = gc.run(case)
    first = gc.run(case.replace({"time.end": 1e-5}))
    second = gc.run(case.replace({"time.end": 1e-5, "initial": first}))
    for name in ("creep", "final_displacement", "final_velocity"):
        assert np.array_equal(second[name], whole[name]), name
    assert np.array_equal(second.sensor_force, whole.sensor_force[20:]) and whole.creep.max() > 0.0
    times = [1e-6, 5e-6, 1e-4]
    study = gc.sweep(case, {"contact.relaxation_time": times}, measures=("pulse", "traces"))
    for index, time in enumerate(times):
        alone = gc.run(case.replace({"contact.relaxation_time": time}))
        traces = study.sensor_force.isel({"contact.relaxation_time": index})
        assert np.array_equal(np.squeeze(traces.values), alone.sensor_force)


def test_a_plate_is_struck_as_in_an_independent_integration(figure, plain_loop):
    found = gc.impact(
        law="lee-radok", speed=1.0, relaxing_fraction=0.6, relaxation_time=1e-5,
        plate={"thickness": 4e-3, "material": "steel-316"},
    )  # fmt: skip
    mass, impedance = found.effective_mass, found.impedance
    stiffness = 4.0 / 3.0 * found.effective_modulus * math.sqrt(found.effective_radius)
    unit = 1e-5**1.5

    def rates(_, y):
        # overlap, speed of the sphere, and c^1.5
        x = max(max(y[0], 0.0) ** 1.5, 0.6 * unit * y[2])
        force = stiffness * (x - 0.6 * unit * y[2])
        return [y[1] - force / impedance, -force / mass, (x / unit - y[2]) / 1e-5]

    path = solve_ivp(rates, (0.0, found.time[-1]), [0.0, 1.0, 0.0], "DOP853", found.time,
                     rtol=1e-11, atol=[1e-16, 1e-11, 1e-11], max_step=1e-7)  # fmt: skip
    figure("lee-radok: overlap in an impact on a plate, error",
           np.abs(found.overlap - path.y[0]).max() / found.max_overlap, at_most=1e-4)  # fmt: skip
    assert found.restitution == pytest.approx(-path.y[1, -1], rel=1e-4)


@pytest.mark.plain
@pytest.mark.usefixtures("plain_loop")
def test_the_energy_that_a_plate_takes_is_of_order_two():
    plate = {"right": {"plate": {"thickness": 4e-3, "material": "steel-316"}}}
    errors = []
    for step in (2e-7, 1e-7):
        result = gc.run(chain_of(MEMORY, ends=plate, time={"end": 6e-5, "step": step}))
        assert result.energy_radiated[-1] > 0.01 * result.energy_kinetic[0]
        errors.append(np.abs(result.energy_residual).max() / result.energy_kinetic[0])
    assert errors[0] < 1e-3 and 3.4 < errors[0] / errors[1] < 4.6


@pytest.mark.plain
@pytest.mark.usefixtures("plain_loop")
def test_a_contact_in_a_mechanism_relaxes():
    inputs = {"law": "lee-radok", "stiffness": 6e9, "relaxing_fraction": 0.5,
              "relaxation_time": 1e-4}  # fmt: skip
    case = gc.load_mechanism("slider-crank").replace({"contact": inputs, "time.end": 0.0125})
    errors = []
    for step in (4e-6, 2e-6):
        result = gc.run_mechanism(case.replace({"time.step": step}))
        supplied = result.energy_kinetic[0] + np.abs(result.energy_external).max()
        assert result.energy_viscous[-1] > 1e-6 * supplied
        errors.append(np.abs(result.energy_residual).max() / supplied)
    assert errors[0] < 1e-4 and 3.4 < errors[0] / errors[1] < 4.6
