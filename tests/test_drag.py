"""Drag on beads: deceleration, energy balance, and order."""

import numpy as np
import pytest

import granchain as gc
from granchain import figures
from granchain.analysis import summary
from granchain.case import Case
from granchain.engine.state import State
from granchain.errors import CaseError
from granchain.simulation import prepare, recording_of

DRAG, END = 2e4, 1e-4
BASE = {
    "chain": {"beads": 10, "radius": 2.38e-3, "material": "steel-316", "drag": DRAG},
    "contact": {"law": "hertz"},
    "sensors": {"beads": [3, 8]},
    "snapshots": {"interval": 1e-5},
    "time": {"end": END},
}
STRUCK = {"velocity": [1.0, *[0.0] * 9]}
TSUJI = {"law": "tsuji", "restitution": 0.6}
# Drives F sin(w t) on slightly compressed chains: with hertz, the loop of other tests of driven
# chains. The short run also includes a free bead with a law that depends on the rate (below), and
# everything together (test_sites.py, also with a law with residual indentation).
FORCE, TURNING = 0.1, 2.0 * np.pi * 2e4
PUSHED = {
    "chain": {**BASE["chain"], "precompression": 1.0},
    "drive": [{"bead": 5, "drive": "force", "signal": "harmonic", "amplitude": FORCE,
               "frequency": 2e4}],
}  # fmt: skip
LAWS = [{"law": "hertz"}, pytest.param(TSUJI, marks=pytest.mark.long)]


def made(**tables):
    return Case(**{**BASE, "initial": STRUCK, "contact": TSUJI, **tables})


@pytest.mark.plain
def test_drag_comes_from_chain_and_segments_and_the_striker_has_none():
    segments = [{"count": 2}, {"count": 1, "drag": 5.0}]
    chain = {**BASE["chain"], "beads": None, "segment": segments}
    case = made(chain=chain, sensors={}, initial=None, striker={"speed": 1.0})
    assert prepare(case)[0].drag.tolist() == [0.0, DRAG, DRAG, 5.0]
    assert Case(**case.resolved()) == case
    assert case.resolved()["chain"]["segment"][0]["drag"] == DRAG
    with pytest.raises(
        CaseError, match=r"chain.drag: -1 is out of range\. .* must be a number at least 0"
    ):
        case.replace(**{"chain.drag": -1})
    none = case.replace(**{"chain.drag": 0.0, "chain.segment.1.drag": None})
    assert not prepare(none)[0].elements.body.size


@pytest.mark.plain
def test_a_chain_with_drag_takes_whole_steps_one_by_one(monkeypatch):
    monkeypatch.setattr("granchain.engine.contact_step.TILED_ABOVE", 0)
    for drag in (0.0, DRAG):
        case = made(chain={**BASE["chain"], "drag": drag}, sensors={}, snapshots=None)
        row, contacts, step = prepare(case)
        state = State(contacts, row, step, recording_of(case))
        assert (state.features.elements, state.features.tiled) == (drag > 0.0, drag == 0.0)


@pytest.mark.plain
def test_a_free_bead_slows_down_exponentially_to_order_two(plain_loop):
    # two beads that fly apart: v = v0 exp(-gamma t), and u = v0 (1 - exp(-gamma t))/gamma
    chain, initial = {**BASE["chain"], "beads": 2}, {"velocity": [-1.0, 3.0]}
    case = made(chain=chain, initial=initial, sensors={})
    errors, shifts = [], []
    for steps in (40, 80, 160):
        result = gc.run(case.replace(**{"time.step": END / steps}))
        assert result.snapshot_time[-1] == pytest.approx(END)
        errors.append(abs(result.final_velocity[1] - 3.0 * np.exp(-DRAG * END)))
        shifts.append(abs(result.final_displacement[1] - 3.0 * (1.0 - np.exp(-DRAG * END)) / DRAG))
    for error in (errors, shifts):
        assert 3.8 < error[0] / error[1] < 4.2 and 3.8 < error[1] / error[2] < 4.2
    # the trapezoidal rule: relative error (gamma dt)^2/12 gamma t
    assert errors[2] == pytest.approx(
        3.0 * np.exp(-DRAG * END) * (DRAG * END / 160) ** 2 / 12.0 * DRAG * END, rel=0.01
    )
    # the lost kinetic energy is the energy of drag in the energy balance, to order two
    assert result.energy_kinetic[0] - result.energy_kinetic[-1] == pytest.approx(
        result.energy_elements_viscous[-1], rel=5e-4
    )
    strong = prepare(case.replace(**{"chain.drag": 1e7}))[2]
    assert strong.reason.startswith(
        "auto: 0.05/rate of dashpots"
    ) and strong.value == pytest.approx(0.05 / 1e7, rel=1e-3)
    assert strong.limit == prepare(case)[2].limit


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law["law"])
def test_momentum_fades_exponentially_the_ledger_closes_and_the_order_is_two(law, tmp_path):
    case = made(contact=law, **PUSHED)
    steps = round(END / prepare(case)[2].value)
    runs = [gc.run(case.replace(**{"time.step": END / (steps * finer)})) for finer in (1, 2, 4)]
    # equal drag on all beads: contacts are internal forces, so P' = -gamma P + F sin(w t)
    result, w = runs[0], TURNING
    momentum, t = (result.mass * result.velocity).sum(axis=1), result.snapshot_time
    fades = np.exp(-DRAG * t)
    swings = DRAG * np.sin(w * t) - w * np.cos(w * t) + w * fades
    np.testing.assert_allclose(
        momentum, momentum[0] * fades + FORCE * swings / (DRAG**2 + w**2), rtol=2e-6
    )
    balance, finer = (summary(one).energy for one in runs[:2])
    # the automatic step of docs/explanation
    assert balance.largest_residual < 2.5e-5 and balance.elements_viscous > 0.5 * balance.supplied
    assert balance.largest_residual > 3.0 * finer.largest_residual
    assert " ".join(balance.terms) == (
        "kinetic recoverable plastic viscous clamp elements_viscous external residual"
    )
    first, second = (
        float(np.abs(runs[i + 1].final_velocity - runs[i].final_velocity).max()) for i in range(2)
    )
    assert first / second > 3.5, (first, second)
    result.save(tmp_path / "drag.h5")
    opened = gc.open(tmp_path / "drag.h5")
    assert opened.equals(result) and opened.variables["energy_elements_viscous"].unit == "J"
    axes = figures.energy(opened).axes
    assert "dashpots of elements" in axes[0].get_legend_handles_labels()[1]


def growth(omega, gamma, drag, dt):
    """Return the largest root z of the scheme for u_n = z^n.

    u_{n+1} - 2 u_n + u_{n-1} = dt^2 a_n with a_n of granchain.engine.elements, times z^2, a_n (1 +
    drag dt/2) = -omega^2 u_n - gamma (v_{n-1/2} + dt/2 a_{n-1}) - drag v_{n-1/2}.
    """
    second, first = np.array([1.0, -2.0, 1.0, 0.0]), np.array([0.0, 1.0, -1.0, 0.0])
    whole = (1.0 + 0.5 * drag * dt) / dt**2 * second + (gamma + drag) / dt * first
    whole += omega**2 * np.array([0.0, 1.0, 0.0, 0.0])
    whole += 0.5 * gamma / dt * np.array([0.0, 1.0, -2.0, 1.0])
    return float(np.abs(np.roots(whole)).max())


@pytest.mark.plain
def test_the_limit_of_the_step_is_that_without_drag():
    omega = 1.0
    for gamma in (0.0, 0.1, 3.0):
        limit = 2.0 / (gamma + np.sqrt(gamma * gamma + omega * omega))
        for drag in (0.0, 0.3, 3.0, 300.0):
            below, above = (growth(omega, gamma, drag, part * limit) for part in (0.999, 1.001))
            # without any damping, it is 1 below the limit, within rounding
            assert below <= 1.0 + 1e-9 < above, (gamma, drag)
    free = made(chain={**BASE["chain"], "drag": 0.0})
    assert prepare(free)[2].limit == prepare(made())[2].limit
    assert "energy_elements_viscous" not in gc.run(free.replace(**{"time.end": 1e-6})).variables
