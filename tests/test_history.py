"""Histories of contacts: largest and residual overlap, and contact state.

They are compared at the end and in snapshots, for every way to get a result."""

import math

import numpy as np
import pytest
from support.kinds import PLAIN_ALONE, distinct_laws, every_law
from support.rows import contacts_of, example_chain

import granchain as gc
from granchain import figures
from granchain.certificates import example_inputs
from granchain.contact import laws
from granchain.contact.guard import GUARD
from granchain.contact.law import PHASES, Quantity
from granchain.errors import LawError
from granchain.simulation import phases

pytestmark = pytest.mark.usefixtures("plain_scans")

NEW = ("largest_overlap", "residual_overlap", "phase")
SHOTS = tuple(f"snapshot_{name}" for name in NEW)


def short(base="steel-chain", **changes):
    """Return a run with the pulse in the first beads of a row of twelve."""
    small = {
        "chain.beads": 12, "sensors.beads": [2, 5], "sensors.contacts": [1], "time.end": 8e-5,
        "snapshots.interval": 4e-6, "snapshots.history": True,
    }  # fmt: skip
    return gc.load_case(base).replace(**small | changes)


def contact_of(name, **changes):
    law = laws()[name]
    made = contacts_of(law, example_chain(2), example_inputs(law, **changes))
    return made.model, tuple(made.c[:, 1].tolist())


def doing(model, c, path):
    """Return the contact state and the history of one contact along overlaps and rates."""
    f = model.functions
    h = f.history_of(c)
    for overlap, rate in path:
        if f.needs_update(overlap, rate, c, h):
            h = f.update((overlap, rate, rate, 1.0), c, h)
        columns = (np.array(values).reshape(-1, 1) for values in (c, h))
        (place,) = phases(model, *columns, np.array([overlap]), np.array([rate]))
        yield PHASES[place], h


@pytest.mark.plain
def test_a_hand_made_history_of_ma_liu_has_its_phases():
    model, c = contact_of("ma-liu")
    d_y, d_p = c[:2]
    path = [
        (-1e-7, 1.0, "open"),
        (0.0, 1.0, "open"),
        (0.5 * d_y, 1.0, "elastic"),
        (0.3 * d_y, -1.0, "elastic"),
        (d_y, 1.0, "elastic"),
        (2.0 * d_y, 1.0, "elastoplastic"),
        # momentarily at rest at its largest overlap, it is on the loading curve
        (2.0 * d_y, 0.0, "elastoplastic"),
        (1.9 * d_y, -1.0, "unloading"),
        # far above first yield, and below it again: the contact is no longer elastic
        (0.9 * d_y, -1.0, "unloading"),
        (0.95 * d_y, 1.0, "reloading"),
        (3.0 * d_y, 1.0, "elastoplastic"),
        (1.001 * d_p, 1.0, "plastic"),
        (0.999 * d_p, -1.0, "unloading"),
        # inside the residual indentation: the surfaces do not touch
        (0.1 * d_y, -1.0, "open"),
        (0.999 * d_p, 1.0, "reloading"),
        (1.1 * d_p, 1.0, "plastic"),
        (-1.0, -1.0, "open"),
    ]
    found = [phase for phase, _ in doing(model, c, [(d, r) for d, r, _ in path])]
    assert found == [phase for *_, phase in path]
    # residual indentation that is forgotten: beyond the window of the energy correction, in which
    # nothing is lost
    model, c = contact_of("ma-liu", dents="forget")
    path = [(9.0 * d_y, 1.0), (8.0 * d_y, -1.0), (-d_y, -1.0), (0.5 * d_y, 1.0)]
    found = list(doing(model, c, path))
    assert [phase for phase, _ in found] == ["elastoplastic", "unloading", "open", "elastic"]
    assert found[0][1][1] > 0.0 and found[-1][1][1] == 0.0


@pytest.mark.plain
@pytest.mark.parametrize(
    "name",
    # laws whose energy corrections take ten and three seconds; the other elastoplastic laws have
    # the same states
    [
        *every_law(sorted(set(distinct_laws()) - {"jackson-green", "vu-quoc-zhang"})),
        pytest.param("vu-quoc-zhang", marks=PLAIN_ALONE),
    ],
)
def test_a_law_has_the_phases_that_it_states_and_no_other(name):
    model, c = contact_of(name)
    law, limit = laws()[name], laws()[name].overlap_limit(c)
    place = model.remembered("elastic_limit")
    fresh = max(model.functions.history_of(c)[place], 1e-9) if place >= 0 else 1e-7
    full = law.plastic_overlap(c)
    deepest = min(2.0 * full if full < math.inf else 30.0 * fresh, 0.9 * limit)
    up = [(0.5 * fresh, 1.0), *((d, 1.0) for d in np.geomspace(fresh, deepest, 40).tolist())]
    path = [(-1e-9, 1.0), *up, (0.99 * deepest, -1.0), (0.995 * deepest, 1.0), (-1e-9, -1.0)]
    assert {phase for phase, _ in doing(model, c, path)} == set(law.phases)


def law_like(base, **body):
    """Declare a law with other declarations than an existing one."""
    law = laws()[base]
    own = {"coefficients": tuple(one for one in law.coefficients if one not in GUARD)}
    body = {"name": "other", "__doc__": "A law for a test."} | own | body
    return type("Other", (law,), body)


@pytest.mark.plain
def test_phases_that_cannot_occur_at_the_example_inputs_are_refused(own_laws):
    for base, stated, allowed in (
        ("hertz", ("open", "soft"), "open, elastic"),
        ("hertz", PHASES, "open, elastic"),
        ("ma-liu", PHASES[:2], ", ".join(PHASES)),
    ):
        with pytest.raises(LawError) as caught:
            law_like(base, phases=stated)
        needed = f"phases: {', '.join(stated)} not valid. They must be {allowed}, the"
        assert needed in str(caught.value)
    assert "other" not in laws()


@pytest.mark.plain
@pytest.mark.parametrize(
    ("function", "value", "missing"),
    [
        # it yields at the first contact
        ("elastic_limit", 0.0, "elastic"),
        # it is fully plastic from first yield on
        ("plastic_overlap", 0.0, "elastoplastic"),
        # it never becomes fully plastic
        ("plastic_overlap", math.inf, "plastic"),
    ],
)
def test_the_phases_follow_from_the_example_inputs(function, value, missing, own_laws):
    made = law_like("ma-liu", **{function: staticmethod(lambda c: value)})
    assert made.phases == tuple(phase for phase in PHASES if phase != missing)


@pytest.mark.plain
def test_all_phases_may_occur_where_the_example_inputs_do_not_suit_the_law(own_laws):
    unsuited = staticmethod(lambda pair, inputs: (1.0 / 0,))
    assert law_like("ma-liu", coefficients_of=unsuited).phases == PHASES


@pytest.mark.plain
def test_an_input_may_not_have_the_name_of_a_history_quantity(own_laws):
    inputs = (*laws()["ma-liu"].inputs, Quantity("residual_overlap", "m", default=1.0))
    with pytest.raises(LawError, match="inputs: residual_overlap is also a history quantity"):
        law_like("ma-liu", inputs=inputs)
    assert "other" not in laws()


@pytest.mark.plain
@pytest.mark.parametrize(
    ("base", "changes"),
    [
        ("steel-chain-hertz", {}),
        ("steel-chain-dashpot", {}),
        ("steel-chain-viscous", {"contact.separation": "tensile"}),
    ],
)
def test_a_law_without_a_dent_keeps_none_and_is_open_or_elastic(base, changes, plain_loop):
    result = gc.run(short(base, **{"time.end": 1e-5}, **changes))
    assert not result.residual_overlap.any() and not result.snapshot_residual_overlap.any()
    assert set(result.snapshot_phase.ravel().tolist()) == {0, 1}
    # the pulse has only begun to reach the end of the row
    assert (result.largest_overlap[:4] > 1e-9).all()
    assert 0.0 <= result.largest_overlap[-1] < 1e-9
    assert not np.signbit(result.largest_overlap).any()


def test_snapshots_hold_what_a_run_that_ends_there_holds_and_the_largest_overlap_is_every_steps():
    # every step is a sample
    case = short(**{"sensors.contacts": [0, 1, 4], "time.step": 5e-8, "sensors.interval": 5e-8,
                    "snapshots.interval": 1e-5})  # fmt: skip
    whole = gc.run(case)
    assert whole.largest_overlap[[0, 1, 4]].tolist() == whole.contact_overlap.max(axis=0).tolist()
    for shot, when in enumerate(whole.snapshot_time.tolist()[1:4], 1):
        part = gc.run(case.replace(**{"time.end": when}))
        assert part.final_displacement.tolist() == whole.displacement[shot].tolist()
        for name in NEW:
            end = getattr(part, name).tolist()
            assert end == getattr(whole, f"snapshot_{name}")[shot].tolist(), name
            # the last snapshot of a run is its end
            assert end == getattr(part, f"snapshot_{name}")[-1].tolist()


def test_without_the_key_snapshots_hold_no_history_and_say_how_to_get_it():
    more, less = short(), short(**{"snapshots.history": False})
    result = gc.run(less)
    assert set(NEW) < set(result.variables) and not set(SHOTS) & set(result.variables)
    way = r"`interval` and `history = true` under \[snapshots\]"
    with pytest.raises(AttributeError, match=way):
        _ = result.snapshot_phase
    # overlap, rate, largest overlap, and a history of three for each of 13 contacts and one more
    rows = 1.0 + more.time.end / more.snapshots.interval
    assert 8.0 * 13 * 6 * (rows - 1.0) <= more.memory - less.memory <= 8.0 * 14 * 7 * rows
    assert sum(v.data.nbytes for v in gc.run(more).variables.values()) <= more.file_size


# a resumed run also has them; test_restart.py compares the bits of every variable
def test_a_member_of_an_ensemble_from_its_file_has_the_histories_and_their_figure(here):
    case = short()
    other = short("steel-chain-hertz", **{"chain.beads": 9, "snapshots.interval": 7e-6})
    gc.run_many([case, other, case], "many.h5", threads=2)
    result = gc.open("many.h5")[2]
    assert {*NEW, *SHOTS} <= result.variables.keys() and result.equals(gc.run(case))
    (axes,) = figures.overlaps(result).axes
    drawn = [patch.get_data().values.tolist() for patch in axes.patches]
    assert drawn == [result.largest_overlap.tolist(), result.residual_overlap.tolist()]


def test_a_driven_wall_presses_its_contact_as_far_as_it_moves(plain_loop):
    few = {"chain.beads": 3, "sensors.beads": [2], "sensors.contacts": [], "time.end": 2e-5}
    shots = {"snapshots.interval": 5e-6, "snapshots.history": True}
    result = gc.run(gc.load_case("driven-chain").replace(**few, **shots))
    assert result.contact[0] == 0 and result.largest_overlap[0] > 0.0
    assert set(result.snapshot_phase[:, 0].tolist()) <= set(range(6))
    assert result.snapshot_phase.shape == (len(result.snapshot_time), len(result.contact))


def test_a_row_at_rest_that_was_pressed_beyond_yield_is_on_the_loading_curve(plain_loop):
    case = short(**{"striker": None, "chain.precompression": 50.0, "time.end": 1e-6})
    result = gc.run(case)
    assert set(result.phase.tolist()) == {PHASES.index("elastoplastic")}
    assert (result.residual_overlap > 0.0).all()
    assert (result.largest_overlap > result.residual_overlap).all()
