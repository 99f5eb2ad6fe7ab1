"""Closed forms compared with printed tables, with each other, and with numerical integration."""

import math
from functools import partial

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support.processes import answer
from support.refused import assert_refused

from granchain import theory

# Two steel balls in Alaci et al., Dynamic aspects of damped elastic impact, part 1: E 210 GPa, nu
# 0.3, 1 kg each (radius from the density 7800 kg/m3), 5 m/s.
ALACI_MODULUS = 210e9 / (2.0 * (1.0 - 0.3**2))
ALACI_RADIUS = 0.5 * (3.0 / (4.0 * math.pi * 7800.0)) ** (1.0 / 3.0)

# The chain of Wang, Liu & Liu 2022, table 8, doi:10.1016/j.ijmecsci.2022.107214: steel 316, radius
# 2.38 mm, E 193 GPa, nu 0.3, 0.45 g, striker 1.77 m/s.
CHAIN_STIFFNESS = theory.hertz_stiffness(193e9 / (2.0 * (1.0 - 0.3**2)), 0.5 * 2.38e-3)
CHAIN_MASS, CHAIN_DIAMETER, STRIKER_SPEED = 0.45e-3, 2.0 * 2.38e-3, 1.77


def test_an_elastic_impact_has_the_published_stiffness_overlap_force_and_duration():
    stiffness = theory.hertz_stiffness(ALACI_MODULUS, ALACI_RADIUS)
    # recomputed from the inputs of the tables with E and R above
    assert stiffness == pytest.approx(1.924012e10, rel=3e-7)
    assert pytest.approx(4.877510e9, rel=2e-7) == CHAIN_STIFFNESS
    # Johnson 1985 prints 2.94, Alaci et al. 2.9432; for a linear spring it is pi
    assert theory.impact_duration_factor() == pytest.approx(2.9432752, abs=5e-8)
    assert theory.impact_duration_factor(1.0) == pytest.approx(math.pi, rel=1e-15)
    impact = theory.elastic_impact(stiffness, 0.5, 5.0)
    # Alaci et al.: 2.31124e-4 m, 6.7604 N printed without its exponent, and 6.80233e-5 s to the
    # largest overlap, recomputed as 6.8026e-5
    assert impact.max_overlap == pytest.approx(2.31124e-4, rel=3e-6)
    assert impact.max_force == pytest.approx(6.7604e4, rel=1e-5)
    assert impact.duration / 2.0 == pytest.approx(6.8026e-5, rel=1e-5)
    # the same value from the formula (15 m v^2/(16 E sqrt(R)))^(2/5)
    formula = (15.0 * 0.5 * 5.0**2 / (16.0 * ALACI_MODULUS * math.sqrt(ALACI_RADIUS))) ** 0.4
    assert impact.max_overlap == pytest.approx(formula, rel=1e-14)


@pytest.mark.parametrize("exponent", [1.0, 1.5])
def test_the_delivered_restitution_is_that_of_an_integrated_impact_for_any_exponent(exponent):
    factor = 1.3

    def rates(_, state):
        return [state[1], -(max(state[0], 0.0) ** exponent) * (1.0 + factor * state[1])]

    def closed(_, state):
        return state[0]

    closed.terminal, closed.direction = True, -1.0
    end = solve_ivp(
        rates, (0.0, 20.0), [0.0, 1.0], method="DOP853", events=closed, rtol=1e-12, atol=1e-14
    )
    impact = theory.hysteresis_impact(1.0, 1.0, 1.0, factor, exponent)
    assert impact.restitution == pytest.approx(-end.y[1, -1], rel=1e-8)


def test_damping_factor_and_delivered_restitution_are_inverse_and_have_their_limits():
    for e in [1e-9, 1e-3, *np.linspace(0.01, 0.99, 99), 1.0 - 1e-9]:
        assert theory.delivered_restitution(theory.damping_factor(e)) == pytest.approx(e, rel=1e-13)
    assert theory.damping_factor(1.0) == 0.0
    assert theory.delivered_restitution(0.0) == 1.0
    # 1.5 (1 - e) for e near 1
    assert theory.damping_factor(1.0 - 1e-6) == pytest.approx(1.5e-6, rel=1e-6)
    # 1 - 2 a/3, also for values at which rounding makes the two sides of the equation differ
    assert theory.delivered_restitution(1e-9) == pytest.approx(1.0 - 2e-9 / 3.0, rel=1e-15)
    assert theory.delivered_restitution(1e-200) == 1.0
    assert theory.delivered_restitution(1e8) == pytest.approx(1e-8, rel=1e-14)


OF_0_TO_1 = (
    theory.damping_factor, theory.damping_ratio, theory.clamped_restitution,
    theory.nominal_for_clamped,
)  # fmt: skip


def test_a_number_that_means_nothing_is_refused():
    both = partial(theory.solitary_speed, peak_velocity=1.0, peak_force=1.0)
    rows = [
        *((theory.delivered_restitution, value, "damping_factor: .* must be")
          for value in (-0.1, math.nan)),
        *((function, value, "is out of range. It must be")
          for function in OF_0_TO_1 for value in (0.0, 1.1, math.nan)),
        (theory.nominal_for_clamped, 0.13, r"0\.13 is out of range. It must be 0\.135.* to 1"),
        (theory.solitary_wave().width, 1.0, "level: 1 is out of range"),
        (theory.struck_chain, 1, [0.0, 1.0], "count: 1 is out of range. It must be at least 2"),
        (theory.evanescent_decay, 1.0, 4.9e9, 0.45e-3, 20.0, "frequency: .* at least the cutoff"),
        *((function, 1.0, 1.0, "Exactly one of them")
          for function in (theory.solitary_speed, both)),
    ]  # fmt: skip
    assert_refused(lambda function, *given: function(*given), rows)


def test_a_clamped_contact_delivers_the_tabulated_restitution_and_never_less_than_exp_minus_2():
    # integrated; the values are the same for Kelvin-Voigt and Tsuji
    assert [theory.clamped_restitution(e) for e in (0.1, 0.3, 0.5, 0.7, 0.9)] == pytest.approx(
        (0.2527, 0.3971, 0.5503, 0.7182, 0.9020), abs=5.1e-5
    )
    assert [theory.nominal_for_clamped(e) for e in (0.5, 0.7, 0.9)] == pytest.approx(
        (0.436288, 0.679194, 0.897887), abs=5.1e-7
    )
    assert theory.clamped_restitution(1e-300) == pytest.approx(math.exp(-2.0), rel=2e-5)
    assert theory.clamped_restitution(1e-300) > math.exp(-2.0)
    assert theory.clamped_restitution(1.0) == theory.nominal_for_clamped(1.0) == 1.0
    for asked in (1e-6, 0.01, 0.3, 0.8, 0.999999):
        assert theory.nominal_for_clamped(theory.clamped_restitution(asked)) == pytest.approx(
            asked, rel=1e-9
        )


def test_the_solitary_wave_has_the_exact_coefficients():
    # computed earlier with independent integrations of long chains
    wave = theory.solitary_wave()
    assert wave.speed_from_velocity == pytest.approx(0.907470, abs=5.1e-7)
    assert wave.speed_from_force == pytest.approx(0.905516, abs=5.1e-7)
    assert wave.force_from_velocity == pytest.approx(1.013019, abs=5.1e-7)
    assert wave.bead_force == pytest.approx(0.707324, abs=5.1e-7)
    assert wave.kinetic_share_range == pytest.approx((0.5439, 0.5672), abs=5.1e-5)
    # virial theorem for a potential of degree 5/2: 2 T = (5/2) U on average over a period
    assert wave.kinetic_share == pytest.approx(5.0 / 9.0, rel=1e-12)
    assert [wave.width(level) for level in (0.5, 0.1, 0.01)] == pytest.approx(
        (1.579, 2.840, 3.946), abs=5.1e-4
    )
    # Nesterenko's long-wave factors have errors of .5 to 1.3 %
    factors = (theory.LONG_WAVE_SPEED_FROM_VELOCITY, theory.LONG_WAVE_SPEED_FROM_FORCE)
    assert factors == pytest.approx((0.914610, 0.894427), abs=5.1e-7)
    for peak, low, high in (
        ({"peak_velocity": 1.3}, 1.005, 1.013),
        ({"peak_force": 90.0}, 0.987, 0.995),
    ):
        long, exact = (
            theory.solitary_speed(4e9, 1e-3, **peak, long_wave=long) for long in (True, False)
        )
        assert low < long / exact < high


def test_the_solitary_wave_solves_the_equation_of_the_chain():
    # m V^2 d''(x) = F(x + 1) - 2 F(x) + F(x - 1) with k = m = 1 and a largest overlap of 1, so that
    # V is the coefficient of the force
    wave, h = theory.solitary_wave(), 1e-3
    x = np.linspace(-3.0, 3.0, 41)

    def force(at):
        return np.maximum(wave.overlap(at), 0.0) ** 1.5

    curvature = (wave.overlap(x + h) - 2.0 * wave.overlap(x) + wave.overlap(x - h)) / (h * h)
    right = force(x + 1.0) - 2.0 * force(x) + force(x - 1.0)
    assert wave.speed_from_force**2 * curvature == pytest.approx(right, abs=2e-6)


def test_the_struck_steel_chain_has_the_forces_and_speed_of_the_converged_run():
    chain = theory.equal_striker(CHAIN_STIFFNESS, CHAIN_MASS, STRIKER_SPEED)
    # a converged run of 71 bodies: first contact, later contacts, later sensors, and wave speed in
    # m/s
    assert chain.first_force == pytest.approx(110.837, abs=6e-4)
    assert chain.peak_force == pytest.approx(93.466, abs=6e-4)
    assert chain.sensor_force == pytest.approx(66.110, abs=6e-4)
    assert chain.wave_speed * CHAIN_DIAMETER == pytest.approx(734.07, abs=6e-3)
    assert chain.wave_energy == pytest.approx(0.993661, abs=1e-6)
    assert chain.rebound == pytest.approx(
        [1.77 * v for v in (-0.0710850, -0.0302738, -0.0158334, -0.0088857)], abs=1e-7
    )


@pytest.fixture(scope="module")
def integrated():
    times = np.linspace(0.0, 32.0, 32_001)
    return times, *theory.struck_chain(48, times)


def top(values):
    """Return the largest value of evenly spaced samples, by a parabola through three of them."""
    i = int(values.argmax())
    left, middle, right = values[i - 1 : i + 2]
    return middle + (left - right) ** 2 / (8.0 * (2.0 * middle - left - right))


def test_the_constants_of_the_struck_chain_come_out_of_its_integration(integrated):
    _, displacement, velocity = integrated
    force = np.maximum(displacement[:, :-1] - displacement[:, 1:], 0.0) ** 1.5
    assert top(force[:, 0]) == pytest.approx(theory.STRUCK_FIRST_FORCE, abs=1e-7)
    # the peak velocities converge geometrically, and are extrapolated from three beads (Aitken)
    a, b, c = (top(velocity[:, bead]) for bead in (18, 21, 24))
    assert c - (c - b) ** 2 / ((c - b) - (b - a)) == pytest.approx(
        theory.STRUCK_PEAK_VELOCITY, abs=2e-7
    )
    assert velocity[-1, :4] == pytest.approx(theory.STRUCK_REBOUND, abs=1e-7)


@pytest.mark.parametrize("count", theory.BALL_VELOCITIES)
def test_the_tabulated_ball_velocities_come_out_of_their_integration(count):
    velocities = theory.ball_velocities(count)
    assert velocities == pytest.approx(theory.BALL_VELOCITIES[count], abs=6e-9)
    assert velocities.sum() == pytest.approx(1.0, abs=1e-12)
    assert (velocities**2).sum() == pytest.approx(1.0, abs=1e-11)


def test_small_waves_of_a_pressed_chain_are_those_of_its_springs():
    n, k, m, force = 12, 4.9e9, 0.45e-3, 20.0
    spring, d = theory.precompressed_stiffness(k, force), (force / k) ** (2.0 / 3.0)
    # the derivative of the force
    slope = k * ((d * 1.0001) ** 1.5 - (d * 0.9999) ** 1.5) / (0.0002 * d)
    assert spring == pytest.approx(slope, rel=1e-8)
    # beads in a ring
    links = 2.0 * np.eye(n) - np.roll(np.eye(n), 1, axis=1) - np.roll(np.eye(n), -1, axis=1)
    eigen = np.linalg.eigvalsh(spring / m * links)
    waves = np.sort(theory.small_wave_frequency(2.0 * math.pi * np.arange(n) / n, k, m, force))
    assert waves == pytest.approx(np.sqrt(np.maximum(eigen, 0.0)), abs=1e-6 * waves.max())
    # above the highest frequency, u_j = (-1)^j exp(-kappa j) solves m omega^2 u_j = s (2 u_j -
    # u_(j-1) - u_(j+1))
    for factor in (1.0, 1.2, 3.0):
        frequency = factor * 2.0 * math.sqrt(spring / m)
        ratio = -math.exp(-theory.evanescent_decay(frequency, k, m, force))
        assert frequency**2 == pytest.approx(spring / m * (2.0 - ratio - 1.0 / ratio), rel=1e-12)


def test_the_exponents_of_depth_are_the_published_ones_and_those_of_a_uniform_linear_chain():
    hertz, linear = theory.depth_exponents(), theory.depth_exponents(1.0)
    assert (hertz.velocity, hertz.speed) == pytest.approx((-1.0 / 4.0, 1.0 / 6.0), rel=1e-15)
    # linear springs: the speed is constant, and the front of an impulse, an Airy function, widens
    # with t^(1/3)
    assert (linear.velocity, linear.speed) == pytest.approx((-1.0 / 3.0, 0.0), rel=1e-15)


def test_theory_loads_no_law_no_engine_and_no_scipy():
    assert not answer(
        "import sys, granchain.theory\nprint(*(name for name in sys.modules if name.startswith("
        "('granchain.contact', 'granchain.engine', 'scipy', 'numba'))))"
    )
