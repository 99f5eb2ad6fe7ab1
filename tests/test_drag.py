"""Drag on beads: how they slow down, what the ledger says of it, and the order of it all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import granchain as gc
from granchain import figures
from granchain.analysis import summary
from granchain.case import Case
from granchain.chain import Chain
from granchain.engine import row as rows
from granchain.engine.setup import Contacts
from granchain.engine.state import State
from granchain.engine.timestep import TimeStep
from granchain.errors import CaseError
from granchain.simulation import prepare, recording_of

DRAG, END = 2e4, 1e-4
BASE: dict[str, Any] = {
    "chain": {"beads": 10, "radius": 2.38e-3, "material": "steel-316", "drag": DRAG},
    "contact": {"law": "hertz"},
    "sensors": {"beads": [3, 8]},
    "snapshots": {"interval": 1e-5},
    "time": {"end": END},
}
STRUCK = {"velocity": [1.0, *[0.0] * 9]}
TSUJI = {"law": "tsuji", "restitution": 0.6}
# Pressed a little, and pushed with F sin(w t): the loop of the other tests of driven chains.
FORCE, TURNING = 0.1, 2.0 * np.pi * 2e4
PUSHED: dict[str, Any] = {
    "chain": {**BASE["chain"], "precompression": 1.0},
    "drive": [{"bead": 5, "drive": "force", "signal": "harmonic", "amplitude": FORCE,
               "frequency": 2e4}],
}  # fmt: skip
# Each compiles a loop of its own: those with a rate or a history in the long run; of a law with a
# rate a free bead, below, and all of it at once (test_sites.py) are shown in the short one too.
OTHERS = (
    TSUJI,
    {"law": "ma-liu", "psi": 2.84, "xi": 13.0},
    {"law": "kelvin-voigt", "stiffness": 5e6, "restitution": 0.6},
)
LAWS = [{"law": "hertz"}, *(pytest.param(law, marks=pytest.mark.long) for law in OTHERS)]


def made(**tables: Any) -> Case:
    return Case(**{**BASE, "initial": STRUCK, "contact": TSUJI, **tables})


def row_of(case: Case) -> tuple[Contacts, Chain, TimeStep]:
    """Chain, contacts and step, in the order in which a state takes them."""
    chain, contacts, step = prepare(case)
    return contacts, chain, step


@pytest.mark.plain
def test_drag_comes_from_chain_and_segments_and_the_striker_has_none() -> None:
    case = made(
        chain={
            **BASE["chain"],
            "beads": None,
            "segment": [{"count": 2}, {"count": 1, "drag": 5.0}],
        },
        sensors={},
        initial=None,
    )
    case = case.replace(**{"striker.speed": 1.0})
    assert prepare(case)[0].drag.tolist() == [0.0, DRAG, DRAG, 5.0]
    assert (
        Case(**case.resolved()) == case and case.resolved()["chain"]["segment"][0]["drag"] == DRAG
    )
    with pytest.raises(CaseError, match=r"chain.drag: got -1, allowed a number at least 0"):
        case.replace(**{"chain.drag": -1})
    none = case.replace(**{"chain.drag": 0.0, "chain.segment.1.drag": None})
    assert prepare(none)[0].drag is None


@pytest.mark.plain
def test_a_chain_with_drag_takes_whole_steps_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "TILED_ABOVE", 0)
    for drag in (0.0, DRAG):
        case = made(chain={**BASE["chain"], "drag": drag}, sensors={}, snapshots=None)
        state = State(*row_of(case), recording_of(case))
        assert (state.features.drag, state.features.tiled) == (drag > 0.0, drag == 0.0)


@pytest.mark.plain
def test_a_free_bead_slows_down_exponentially_to_order_two(plain_loop: None) -> None:
    # two beads that fly apart: v = v0 exp(-gamma t), and u = v0 (1 - exp(-gamma t))/gamma
    case = made(
        chain={**BASE["chain"], "beads": 2},
        contact=TSUJI,
        initial={"velocity": [-1.0, 3.0]},
        sensors={},
    )
    errors, shifts = [], []
    for steps in (40, 80, 160):
        result = gc.run(case.replace(**{"time.step": END / steps}))
        assert result.snapshot_time[-1] == pytest.approx(END)
        errors.append(abs(result.final_velocity[1] - 3.0 * np.exp(-DRAG * END)))
        shifts.append(abs(result.final_displacement[1] - 3.0 * (1.0 - np.exp(-DRAG * END)) / DRAG))
    for error in (errors, shifts):
        assert 3.8 < error[0] / error[1] < 4.2 and 3.8 < error[1] / error[2] < 4.2
    # the trapezoidal rule: (gamma dt)^2/12 gamma t, relative
    assert errors[2] == pytest.approx(
        3.0 * np.exp(-DRAG * END) * (DRAG * END / 160) ** 2 / 12.0 * DRAG * END, rel=0.01
    )
    # what the kinetic energy has lost is what the ledger gives to drag, to order two
    assert result.energy_kinetic[0] - result.energy_kinetic[-1] == pytest.approx(
        result.energy_drag[-1], rel=5e-4
    )
    strong = prepare(case.replace(**{"chain.drag": 1e7}))[2]
    assert strong.reason.startswith("auto: 0.05/drag") and strong.value == pytest.approx(
        0.05 / 1e7, rel=1e-3
    )
    assert strong.limit == prepare(case)[2].limit


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law["law"])
def test_momentum_fades_exponentially_whatever_the_contacts_do(law: dict[str, Any]) -> None:
    # equal drag on all beads: contacts are inner forces, P' = -gamma P + F sin(w t)
    result = gc.run(made(contact=law, **PUSHED))
    momentum, t, w = (result.mass * result.velocity).sum(axis=1), result.snapshot_time, TURNING
    fades = np.exp(-DRAG * t)
    swings = DRAG * np.sin(w * t) - w * np.cos(w * t) + w * fades
    np.testing.assert_allclose(
        momentum, momentum[0] * fades + FORCE * swings / (DRAG**2 + w**2), rtol=2e-6
    )


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law["law"])
def test_the_ledger_closes_with_drag_and_the_order_is_two(law: dict[str, Any]) -> None:
    case = made(contact=law, **PUSHED)
    steps = round(END / prepare(case)[2].value)
    runs = [gc.run(case.replace(**{"time.step": END / (steps * finer)})) for finer in (1, 2, 4)]
    balances = [summary(result).energy for result in runs]
    assert all(balance is not None for balance in balances)
    # docs/explanation: the auto step's
    assert balances[0].largest_residual < 2.5e-5 and balances[0].drag > 0.5 * balances[0].put_in
    assert balances[0].largest_residual > 3.0 * balances[1].largest_residual
    assert list(balances[0].parts) == [
        "kinetic",
        "recoverable",
        "plastic",
        "viscous",
        "clamp",
        "drag",
        "external",
        "residual",
    ]
    first, second = (
        float(np.abs(runs[i + 1].final_velocity - runs[i].final_velocity).max()) for i in range(2)
    )
    assert first / second > 3.5, (first, second)


def growth(omega: float, gamma: float, drag: float, dt: float) -> float:
    """Largest root z of the scheme for u_n = z^n: u_{n+1} - 2 u_n + u_{n-1} = dt^2 a_n with a_n of
    granchain.engine.drag, times z^2,

    a_n (1 + drag dt/2) = -omega^2 u_n - gamma (v_{n-1/2} + dt/2 a_{n-1}) - drag v_{n-1/2}.
    """
    inertia = (1.0 + 0.5 * drag * dt) / dt**2 * np.array([1.0, -2.0, 1.0, 0.0])
    damping = gamma / dt * np.array([0.0, 1.0, -1.0, 0.0]) + 0.5 * gamma / dt * np.array(
        [0.0, 1.0, -2.0, 1.0]
    )
    whole = (
        inertia
        + omega**2 * np.array([0.0, 1.0, 0.0, 0.0])
        + damping
        + drag / dt * np.array([0.0, 1.0, -1.0, 0.0])
    )
    return float(np.abs(np.roots(whole)).max())


@pytest.mark.plain
def test_the_limit_of_the_step_is_that_without_drag() -> None:
    omega = 1.0
    for gamma in (0.0, 0.1, 3.0):
        limit = 2.0 / (gamma + np.sqrt(gamma * gamma + omega * omega))
        for drag in (0.0, 0.3, 3.0, 300.0):
            below, above = (growth(omega, gamma, drag, part * limit) for part in (0.999, 1.001))
            # without any damping below it is 1, to rounding
            assert below <= 1.0 + 1e-9 < above, (gamma, drag)
    free = made(chain={**BASE["chain"], "drag": 0.0})
    assert prepare(free)[2].limit == prepare(made())[2].limit


def test_members_checkpoints_and_files_of_a_chain_with_drag(tmp_path: Path) -> None:
    hertz = PUSHED | {"contact": {"law": "hertz"}}
    cases = [made(**hertz), made(**hertz, initial=None, striker={"speed": 1.0})]
    for case, result in zip(cases, gc.run_many(cases, threads=1), strict=True):
        assert result.equals(gc.run(case))
    chain, contacts, step = prepare(cases[0])
    whole, first, second = (State(contacts, chain, step, recording_of(cases[0])) for _ in range(3))
    whole.advance(300)
    first.advance(120)
    second.take({name: values.copy() for name, values in first.arrays().items()})
    second.advance(180)
    assert all(
        values.tobytes() == second.arrays()[name].tobytes()
        for name, values in whole.arrays().items()
    )
    result.save(tmp_path / "drag.h5")
    opened = gc.open_result(tmp_path / "drag.h5")
    assert opened.equals(result) and opened.variables["energy_drag"].unit == "J"
    _, axes = figures.energy(opened)
    assert "drag" in axes[0].get_legend_handles_labels()[1]
    assert "energy_drag" not in gc.run(cases[0].replace(**{"chain.drag": 0.0})).variables
