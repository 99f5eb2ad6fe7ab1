"""What the chain keeps: energy, momentum, and the kinetic share of its wave. Amplitude, speed,
rebound and N-ball velocities are in docs/verification.md; two elastic spheres, with the order."""

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


@pytest.mark.promise("N5")
def test_impact_of_two_elastic_spheres(figure):
    pair = Pair(
        effective_radius=1.19e-3,
        effective_modulus=193e9 / (2.0 * (1.0 - 0.3**2)),
        effective_mass=0.5 * MASS,
    )
    exact = theory.elastic_impact(STIFFNESS, 0.5 * MASS, SPEED)
    known = {"overlap": exact.max_overlap, "force": exact.max_force}
    found = [impact(law="hertz", pair=pair, speed=SPEED, refine=refine) for refine in (1, 2, 4)]
    for name, value in known.items():
        errors = [abs(getattr(one, f"max_{name}") / value - 1.0) for one in found]
        order = observed_order([1.0, 0.5, 0.25], errors)
        what = f"largest {name} of an impact"
        figure(f"{what} at the automatic step, relative error", errors[0], at_most=1e-4)
        figure(f"order of the {what} towards the closed form", order, at_least=1.85, at_most=2.15)
    what = "of an impact at the automatic step, relative error"
    figure(f"duration {what}", abs(found[0].duration / exact.duration - 1.0), at_most=1e-4)
    figure(f"restitution {what}", abs(found[0].restitution - 1.0), at_most=1e-4)
