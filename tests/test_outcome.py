"""Final values of runs computed together, compiled or as plain Python, have the same bits."""

from types import SimpleNamespace

import numpy as np
import pytest
from support.kinds import each_loop
from support.rows import HARD_STEEL, contacts_of, inputs_for, standing_row, steel_row

import granchain as gc
from granchain.certificates import example_inputs, example_pair
from granchain.chain import End
from granchain.contact import laws
from granchain.engine import setup
from granchain.engine.recording import Recording
from granchain.engine.setup import coefficients_without_windows
from granchain.engine.state import State
from granchain.engine.timestep import TimeStep
from granchain.errors import LawError
from granchain.simulation import Ended, outcomes_of
from granchain.status import Status
from granchain.store.schema import holds_nan

# Laws with a known contact circle that lose energy by permanent indentation.
FAST = ["ma-liu"]
# Number of beads and steps: the wave has reached only some of the contacts.
BEADS, STEPS = 6, 300


def advanced(law, speed, **changes):
    """Return the state of a struck row under a law, after STEPS steps."""
    chain = steel_row(BEADS, speed, material=(HARD_STEEL,))
    contacts = contacts_of(laws()[law], chain, inputs_for(law, **changes))
    state = State(contacts, chain, TimeStep(1e-7, 2 * STEPS, 1.0, ""), Recording())
    state.advance(STEPS)
    return state


def found(states):
    for state in states:
        state.model = states[0].model  # as in a study
    runs = [
        Ended(gc.load_case("steel-chain"), state.chain, state, Status.COMPLETE) for state in states
    ]
    return [
        {name: values.tobytes() for name, values in outcome.items()}
        for outcome in outcomes_of(runs)
    ]


@pytest.mark.plain
@pytest.mark.parametrize("law", each_loop(FAST))
def test_many_runs_together_have_the_bits_of_each_alone_compiled_or_plain(law, monkeypatch):
    states = [advanced(law, speed) for speed in (1.77, 0.5)]
    alone = [found([state]) for state in states]
    assert alone[0] != alone[1] or not states[0].model.loses
    plain = found(states)
    monkeypatch.setattr(setup, "PLAIN_CONTACTS", 0)
    assert found(states) == plain == [outcome for (outcome,) in alone]


@pytest.mark.plain
def test_a_dent_that_the_load_at_rest_has_made_is_no_loss_of_the_run():
    # above the yield force: Ma-Liu's steel beads yield below .1 N
    chain = standing_row(3, precompression=200.0)
    contacts = contacts_of(laws()["ma-liu"], chain, inputs_for("ma-liu"))
    state = State(contacts, chain, TimeStep(1e-8, 10, 1.0, ""), Recording())
    assert state.h[0, state.chain.contacts].min() > state.c[0, 1]
    (outcome,) = outcomes_of([Ended(gc.load_case("steel-chain"), chain, state, Status.COMPLETE)])
    assert outcome["contact_plastic"].size and not outcome["contact_plastic"].any()


@pytest.mark.plain
def test_a_coefficient_that_is_not_a_number_is_named(monkeypatch):
    law, inputs = laws()["ma-liu"], example_inputs(laws()["ma-liu"])
    found = (1.0, np.array([1.0, np.nan]), *[1.0] * 9)
    monkeypatch.setattr(law, "coefficients_of", staticmethod(lambda pair, inputs: found))
    words = "coefficient plastic_overlap: a value is not a number"
    with pytest.raises(LawError, match=words):
        coefficients_without_windows(law.model(inputs), example_pair(), inputs, 2)


def test_restitutions_from_other_laws_are_those_of_single_runs(plain_loop):
    keys = {"chain.beads": 4, "sensors.beads": [3], "sensors.contacts": [], "snapshots": None}
    keys |= {"time.end": 5e-6, "contact.law": "flores"}
    ma_liu, other = ({"law": "ma-liu", "psi": psi, "xi": 13.0} for psi in (2.84, 2.5))
    base = gc.load_case("steel-chain").replace(keys | {"contact.restitution": ma_liu})
    changes = [{}, {"striker.speed": 0.5}]
    changes += [{"contact.restitution": e} for e in (0.8, {"law": "thornton"}, other)]
    changes += [{"contact.impact_speed": "onset", "contact.impact_speed_floor": 0.01}]
    cases = [base.replace(change) for change in changes]
    ensemble = gc.run_many(cases, threads=1)
    assert len({result.final_velocity.tobytes() for result in ensemble}) == 6
    for case, result in zip(cases, ensemble, strict=True):
        assert result.equals(gc.run(case))


def test_a_value_that_is_not_a_number_is_seen():
    assert not any(holds_nan(np.array(values)) for values in ([], [1.0, np.inf, -np.inf]))
    for values in ([[1.0, 2.0], [np.nan, 0.0]], [np.inf, np.nan]):
        assert holds_nan(np.array(values)) is True


def test_a_table_of_restitutions_is_taken_contact_by_contact():
    # also if the contacts are equal
    # with two walls, so that each of the four contacts exists
    chain = standing_row(3, left=End("wall"), right=End("wall"))
    each = np.array([0.5, 0.6, 0.7, 0.8])
    given = SimpleNamespace(**{**vars(inputs_for("flores")), "restitution": each})
    found = contacts_of(laws()["flores"], chain, given)
    assert len({column.tobytes() for column in found.c.T}) == 4
