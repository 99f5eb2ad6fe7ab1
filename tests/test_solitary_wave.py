"""The elastic chain against its exact results: amplitude, speed, rebound, N-ball velocities,
impact of two spheres."""

from __future__ import annotations

import numpy as np
import pytest
from support.rows import MASS, RADIUS, SPEED, ledger_residual, run_row, steel_row, velocities

from granchain import theory
from granchain.analysis import observed_order
from granchain.contact.pair import Pair
from granchain.engine.state import Recording
from granchain.two_body import impact

# K = (4/3) E sqrt(R) of the steel chain, E = 193 GPa/(2 (1 - .3^2)), R = 1.19 mm
STIFFNESS = 4.0 / 3.0 * 193e9 / (2.0 * (1.0 - 0.3**2)) * np.sqrt(1.19e-3)


# Velocities of N equal balls after the first has struck, in units of the striker's: the end of the
# row, body 0 first where it is listed. Computed by integrating the N-body problem at tolerance
# 1e-13 (Hertz, F = k d^1.5); granchain.theory.ball_velocities does it again.
@pytest.mark.promise("N7")
@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (3, [-0.07095235, 0.07640304, 0.99454931]),
        (5, [-0.07108502, -0.03027376, -0.01446363, 0.12704499, 0.98877742]),
    ],
)
def test_velocities_of_n_equal_balls(n, expected, figure):
    # 60 automatic contacts' durations: all balls have separated
    state = run_row(steel_row(n), "hertz", 3e-4, refine=10.0)
    assert not (state.contacts.force > 0.0).any()
    error = np.abs(velocities(state) / SPEED - expected).max()
    figure("velocities of N equal balls, largest error in the striker's", error, at_most=1e-6)
    # to the digits printed, 5e-9, the independent integration agrees
    assert theory.ball_velocities(n) == pytest.approx(expected, abs=2e-8)


@pytest.mark.promise("N7")
def test_rebound_of_the_first_bodies_of_a_long_chain(figure):
    state = run_row(steel_row(71), "hertz", 0.4e-3, refine=4.0)
    # -.0710850, -.0302738, -.0158334, -.0088857 of the striker's speed: exact chain, converged
    error = np.abs(
        velocities(state)[:4] / SPEED - [-0.0710850, -0.0302738, -0.0158334, -0.0088857]
    ).max()
    figure(
        "rebound of the first four bodies, largest error in the striker's speed",
        error,
        at_most=2e-6,
    )


@pytest.mark.promise("N7")
def test_first_contact_and_developed_wave_of_an_equal_striker(figure):
    state = run_row(
        steel_row(71), "hertz", 0.4e-3, refine=4.0, recording=Recording(snapshot_interval=1e-7)
    )
    # first contact .758420 k^.4 (m v0^2)^.6; peak bead velocity of the wave .681632 v0; F_m =
    # 1.013019 k^.4 (m v_m^2)^.6
    scale = STIFFNESS**0.4
    peaks = state.contacts.peak
    first = 0.758420 * scale * (MASS * SPEED**2) ** 0.6
    figure(
        "peak force of the first contact, relative error", abs(peaks[1] / first - 1.0), at_most=1e-5
    )
    wave = state.records.velocity[:, 20:45].max(axis=0)
    figure(
        "amplitude of the wave, relative error",
        np.abs(wave / (0.681632 * SPEED) - 1.0).max(),
        at_most=1e-4,
    )
    developed = 1.013019 * scale * (MASS * (0.681632 * SPEED) ** 2) ** 0.6
    figure(
        "peak force of the developed wave, relative error",
        np.abs(peaks[21:45] / developed - 1.0).max(),
        at_most=1e-5,
    )


@pytest.mark.promise("N7")
def test_wave_speed_between_distant_contacts_is_the_exact_discrete_one(figure):
    state = run_row(
        steel_row(71), "hertz", 0.45e-3, refine=4.0, recording=Recording((20, 60), (), 2e-8)
    )
    time = state.sample_step * state.time_step.value
    arrival = []
    for column in state.records.sensor_force.T:
        k = int(np.argmax(column))
        a, b, c = column[k - 1 : k + 2]
        arrival.append(time[k] + 0.5 * (a - c) / (a - 2.0 * b + c) * (time[1] - time[0]))
    # V = 0.905516 k^(1/3) m^(-1/2) F_m^(1/6) beads per second, F_m = 93.466 N; Nesterenko's
    # long-wave coefficient .894427 is 1.2 % off
    exact = 0.905516 * STIFFNESS ** (1 / 3) * MASS**-0.5 * 93.466 ** (1 / 6) * 2.0 * RADIUS
    found = 40 * 2.0 * RADIUS / (arrival[1] - arrival[0])
    figure("wave speed over 40 beads, relative error", abs(found / exact - 1.0), at_most=1e-4)
    assert abs(found / (exact * 0.894427 / 0.905516) - 1.0) > 0.01


@pytest.mark.promise("N7")
def test_a_sensor_reads_707_thousandths_of_the_contact_force(figure):
    state = run_row(
        steel_row(71), "hertz", 0.4e-3, refine=4.0, recording=Recording((30,), (), 2e-8)
    )
    # the mean of a bead's two contacts peaks at .707324 F_m
    share = state.records.sensor_force.max() / state.contacts.peak[30]
    figure(
        "sensor force over contact force, relative error", abs(share / 0.707324 - 1.0), at_most=2e-5
    )


def test_kinetic_share_of_a_travelling_wave():
    state = run_row(
        steel_row(71), "hertz", 0.4e-3, recording=Recording(ledger=True, energy_interval=1e-7)
    )
    time = state.records.energy_at * state.time_step.value
    # lattice period: a diameter at 734.07 m/s; the mean over 20 of them, the wave well inside
    period = 2.0 * RADIUS / 734.07
    window = (time > 1.5e-4) & (time < 1.5e-4 + 20 * period)
    kinetic, recoverable = state.energies.kinetic[window], state.energies.recoverable[window]
    moving = (
        kinetic - 0.5 * MASS * (velocities(state)[:8] ** 2).sum()
    )  # the bodies left behind carry the rest
    share = moving / (moving + recoverable)
    # 5/9 in the mean (virial theorem of F ~ d^1.5), .5439 to .5672 at an instant
    assert share.mean() == pytest.approx(5.0 / 9.0, abs=2e-3)
    assert share.min() == pytest.approx(0.5439, abs=2e-3)
    assert share.max() == pytest.approx(0.5672, abs=2e-3)


@pytest.mark.promise("N1")
def test_energy_of_the_elastic_chain_is_kept(figure):
    fine = ledger_residual(run_row(steel_row(71), "hertz", 0.6e-3, refine=10.0))
    figure(
        "largest relative energy error at a tenth of the automatic step",
        fine,
        at_least=1e-9,
        at_most=3e-7,
    )
    # and it falls with the square of the step
    coarse = ledger_residual(run_row(steel_row(71), "hertz", 0.6e-3, refine=1.0))
    assert coarse / fine == pytest.approx(100.0, rel=0.1)


@pytest.mark.promise("N2")
@pytest.mark.parametrize("law", ["hertz", "ma-liu", "flores", "tsuji"])
def test_momentum_of_a_free_chain_is_kept(law, figure):
    state = run_row(steel_row(71), law, 0.6e-3)
    figure(
        "momentum of 71 bodies, relative error",
        abs(velocities(state).sum() / SPEED - 1.0),
        at_most=1e-12,
    )


@pytest.mark.promise("N5")
def test_impact_of_two_elastic_spheres(figure):
    pair = Pair(
        effective_radius=1.19e-3,
        effective_modulus=193e9 / (2.0 * (1.0 - 0.3**2)),
        effective_mass=0.5 * MASS,
    )
    exact = theory.elastic_impact(STIFFNESS, 0.5 * MASS, SPEED)
    errors = {"max_overlap": [], "max_force": [], "duration": [], "restitution": []}
    for refine in (1.0, 2.0, 4.0):
        found = impact(law="hertz", pair=pair, speed=SPEED, refine=refine)
        errors["max_overlap"].append(found.max_overlap / exact.max_overlap - 1.0)
        errors["max_force"].append(found.max_force / exact.max_force - 1.0)
        errors["duration"].append(found.duration / exact.duration - 1.0)
        errors["restitution"].append(found.restitution - 1.0)
    words = {
        "max_overlap": "largest overlap",
        "max_force": "largest force",
        "duration": "duration",
        "restitution": "restitution",
    }
    for name, error in errors.items():
        figure(
            f"{words[name]} of an impact at the automatic step, relative error",
            abs(error[0]),
            at_most=1e-4,
        )
    for name in ("max_overlap", "max_force"):
        order = observed_order([1.0, 0.5, 0.25], np.abs(errors[name]))
        figure(
            f"order of the {words[name]} towards the closed form",
            order,
            at_least=1.85,
            at_most=2.15,
        )
