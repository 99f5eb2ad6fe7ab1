"""Eight rows side by side in a vector: each to the bits of its own run."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from support.kinds import every_law
from support.random_cases import random_cases

import granchain as gc
from granchain.contact.hertz import Hertz
from granchain.engine import stack
from granchain.engine.fields import LANES, Contacts
from granchain.engine.stack import in_lanes
from granchain.engine.state import State
from granchain.errors import RunError
from granchain.simulation import prepare, recording_of
from granchain.status import Status

# Those that march side by side; the others, which would give the same bits, in the long run.
FAST = ["hertz", "ma-liu", "tsuji"]
# One vector, and members that it leaves over.
MEMBERS = LANES + 2


@pytest.fixture(autouse=True)
def side_by_side(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Small ensembles march in lanes, too; how many members each call has marched."""
    marched: list[int] = []
    march = stack.Stack._march
    monkeypatch.setattr(stack, "in_lanes", lambda states: len(states) >= LANES and not states[0].features.driven)
    monkeypatch.setattr(
        stack.Stack, "_march", lambda self, first, last, steps: (marched.append(last - first), march(self, first, last, steps))[1]
    )
    return marched


def unlike(case: gc.Case, count: int = MEMBERS) -> list[gc.Case]:
    """Changes of a case: every member with a speed, an end, a step and intervals of its own."""
    speed, end = (case.striker.speed if case.striker else 1.0), case.time.end
    grown = np.linspace(0.8, 1.25, count)
    return [
        case.replace(**{
            "striker.speed": speed * g, "time.end": end / g, "snapshots.interval": end / (4.3 * g), "energy.interval": end / (6.7 * g),
            # numbers of samples between two powers of two, as those of one stack are
            "sensors.interval": end / (g * (36 + place % 3)),
        })
        for place, g in enumerate(grown)
    ]  # fmt: skip


def drawn(law: str) -> list[gc.Case]:
    """Cases of a law in a row of eight beads."""
    (case,) = random_cases(1, 14, (law,), beads=(8, 8), bare=True)
    return unlike(case.replace(**{"striker.speed": case.striker.speed if case.striker else 1.0}))


def single(case: gc.Case) -> gc.Result:
    """What a run of its own gives, to its failure where it fails."""
    try:
        return gc.run(case)
    except RunError as error:
        assert isinstance(error.result, gc.Result)
        return error.result


def short(**changes: Any) -> gc.Case:
    """The elastic chain, of eight beads and for as long as the pulse is in the first of them."""
    quick = {"chain.beads": 8, "sensors.beads": [2, 5], "sensors.contacts": [], "snapshots": None, "time.end": 3e-5}
    return gc.load_case("steel-chain-hertz").replace(**quick | changes)


@pytest.mark.parametrize("law", every_law(FAST))
def test_each_member_has_the_bits_of_its_own_run(law: str, side_by_side: list[int]) -> None:
    """Sensors, snapshots, ledger, history, peaks, largest overlaps, final motion and messages."""
    cases = drawn(law)
    ensemble = gc.run_many(cases, threads=1)
    assert max(side_by_side) >= LANES
    assert len({result.time.size for result in ensemble}) > 1
    for case, result in zip(cases, ensemble, strict=True):
        assert result.equals(single(case))
    assert max(result.contact_peak_force.max() for result in ensemble) > 0.0


def test_members_that_begin_in_motion_have_the_bits_of_their_own_runs(side_by_side: list[int]) -> None:
    """One bead is displaced, others move, each member's in its own way, and motion begins at both ends."""
    cases = []
    for place, case in enumerate(drawn("hertz")):
        start = np.zeros((2, case.beads))
        start[0, [0, -1]], start[1, place % case.beads] = (0.1, -0.2 - 0.01 * place), 1e-6
        cases.append(case.replace(**{"initial.velocity": start[0].tolist(), "initial.displacement": start[1].tolist()}))
    ensemble = gc.run_many(cases, threads=1)
    assert max(side_by_side) >= LANES
    for case, result in zip(cases, ensemble, strict=True):
        assert result.equals(single(case))


@pytest.mark.parametrize("law", every_law(["tsuji"]))
def test_every_table_has_the_bits_of_its_own_state(law: str) -> None:
    """Ahead of the front, where everything is at rest, a contact counts as swept or not; which are on the list of events is no result."""
    made = [(prepare(case), recording_of(case)) for case in drawn(law)]
    alone, together = ([State(contacts, chain, step, record) for (chain, contacts, step), record in made] for _ in range(2))
    one = stack.Stack(together)
    while (one.status == Status.RUNNING).any():
        one.advance(0, len(together), 70)
    for mine, theirs in zip(alone, together, strict=True):
        while mine.advance(70) is Status.RUNNING:
            pass
        for state in (mine, theirs):
            contacts = Contacts(*state.tables.contacts)
            np.maximum(contacts.reach, contacts.start, out=contacts.reach)
            contacts.kicked[:] = contacts.recorded[:] = 0.0
            state.tables.events[:] = 0
            state.clock.front = state.clock.n_active = 0
        arrays, others = mine.arrays(), theirs.arrays()
        assert [name for name in arrays if arrays[name].tobytes() != others[name].tobytes()] == []


# Each compiles two loops; all laws are compiled in the long run.
IN_PYTHON = pytest.mark.skipif(not numba.config.DISABLE_JIT, reason="run as plain Python")


@pytest.mark.plain
@pytest.mark.bounds
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="hertz"),
        # an onset with a weight, a clamp, and contacts that are sampled
        pytest.param({"contact.law": "tsuji", "contact.restitution": 0.5, "sensors.contacts": [1]}, id="onset"),
        pytest.param({"contact.law": "tsuji", "contact.restitution": 0.5, "contact.separation": "tensile"}, id="pull"),
        # a jump of the force at the onset, which each member corrects by itself
        pytest.param({"contact.law": "kelvin-voigt", "contact.stiffness": 1e7, "contact.restitution": 0.5}, id="jump", marks=IN_PYTHON),
        # a heavy striker: several contacts are loaded further at once
        pytest.param({"contact.law": "ma-liu", "contact.psi": 2.84, "contact.xi": 13.0, "striker.mass": 4e-3}, id="dents"),
        pytest.param(
            {"contact.law": "ma-liu", "contact.psi": 2.84, "contact.xi": 13.0, "contact.dents": "forget"}, id="forgotten", marks=IN_PYTHON
        ),
    ],
)
def test_what_a_march_meets(changes: dict[str, Any], side_by_side: list[int]) -> None:
    # a light striker: its contact opens again, at its clamp
    quick = {"chain.beads": 5, "time.step": "fast", "time.end": 2e-5, "striker.mass": 4e-5}
    cases = unlike(short(**quick | changes), LANES + 1)
    for case, result in zip(cases, gc.run_many(cases, threads=1), strict=True):
        assert result.equals(single(case))
    assert max(side_by_side) >= LANES


@pytest.mark.plain
def test_lanes_are_for_what_gains_by_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight runs or more, of a law that was measured, behind a front, with few steps by themselves, and enough of them."""

    def states(count: int = LANES, **changes: Any) -> list[State]:
        case = short(**{"energy.ledger": False, "sensors.beads": [], "time.end": 1e-4} | changes)
        chain, contacts, step = prepare(case)
        return [State(contacts, chain, step, recording_of(case)) for _ in range(count)]

    assert not in_lanes(states())
    monkeypatch.setattr(stack, "WORTH", 0.0)
    assert in_lanes(states())
    assert not in_lanes(states(LANES - 1))
    assert not in_lanes(states(**{"chain.precompression": 20.0}))
    assert not in_lanes(states(**{"chain.beads": stack.LONGEST}))
    assert not in_lanes(states(**{"energy.ledger": True, "energy.interval": 1e-6}))
    assert not in_lanes(states(**{"contact.law": "hunt-crossley", "contact.restitution": 0.7}))
    monkeypatch.setattr(Hertz, "__module__", "theirs")
    assert not in_lanes(states())


def test_a_member_that_fails_leaves_the_others_as_they_are() -> None:
    cases = unlike(short())
    # the stability limit of this chain is near 2e-6 s: three times that fails within some steps
    cases[3] = short(**{"time.step": 6e-6, "time.force_step": True, "time.end": 6e-4})
    # of the same number of samples, so that it marches with them
    cases[3] = cases[3].replace(**{"sensors.interval": 6e-4 / 150.0})
    ensemble = gc.run_many(cases, threads=1)
    assert [status.failed for status in ensemble.status] == [place == 3 for place in range(len(cases))]
    for case, result in zip(cases, ensemble, strict=True):
        assert result.equals(single(case))


@pytest.mark.parametrize("threads", [1, 2])
def test_slices_on_threads_change_nothing(threads: int) -> None:
    cases = unlike(short(), 21)
    for case, result in zip(cases, gc.run_many(cases, threads=threads), strict=True):
        assert result.equals(single(case))
