"""Set-up: cached values are recomputed when they must be, two bodies are a chain of two, and a
changed case equals a case made from the beginning."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from support.kinds import PLAIN_HERE, distinct_laws, every_law
from support.rows import contacts_of, example_chain, inputs_for, standing_row, steel_row

from granchain import Case, load_case
from granchain.chain import Chain
from granchain.contact import laws
from granchain.contact.hertz import Hertz
from granchain.contact.law import ContactLaw, Quantity, Source
from granchain.contact.pair import Pair
from granchain.engine import setup
from granchain.engine.mixture import with_copies
from granchain.engine.setup import RowInputs, contacts_together, kinds_of_columns, with_windows
from granchain.engine.timestep import time_step_of
from granchain.errors import CaseError
from granchain.material import MATERIALS
from granchain.simulation import prepare, prepare_together
from granchain.two_body import IMPACT_SCALARS, collide, contact_of_two, impact, two_bodies

pytestmark = pytest.mark.plain

# Stiffness [N/m] of a spring, and its static load [N], similar to those of a steel bead.
STIFFNESS, LOAD = 1e6, 5.0


def spring(factor):
    """Return a linear law, as a new class with the same name each time."""

    class Spring(ContactLaw):
        """A linear spring."""

        name = "spring"
        source = Source("this test")
        coefficients = (Quantity("stiffness", "N/m", "of the spring"),)

        @staticmethod
        def coefficients_of(pair, inputs):
            return (STIFFNESS,)

        @staticmethod
        def force(overlap, rate, c, h):
            return factor * c[0] * overlap if overlap > 0.0 else 0.0

        @staticmethod
        def energy(overlap, c, h):
            return 0.5 * factor * c[0] * overlap * overlap if overlap > 0.0 else 0.0

    return Spring


def test_an_edited_law_gets_no_answer_of_the_one_before(own_laws):
    def gives(law, factor):
        """Check the static overlap of a spring under the load, computed and from the cache."""
        for _ in range(2):
            row = standing_row(3, precompression=LOAD)
            overlap = contacts_of(law, row, SimpleNamespace()).overlaps[1]
            assert overlap == pytest.approx(LOAD / (factor * STIFFNESS), rel=1e-12)

    for factor in (1.0, 2.0, 1.0, 4.0):
        gives(spring(factor), factor)
    # the same class and function, with another number in its closure
    law = spring(1.0)
    gives(law, 1.0)
    law.force.__closure__[0].cell_contents = 2.0
    gives(law, 2.0)
    law.force = staticmethod(lambda overlap, rate, c, h: 4.0 * c[0] * overlap)
    gives(law, 4.0)


def test_a_law_of_ones_own_is_given_the_inputs_of_one_member_at_a_time(own_laws):
    # the law may not accept arrays, or give different results for them
    seen = []

    def coefficients_of(pair, inputs):
        seen.append(inputs.stiffness)
        return (inputs.stiffness,)

    law, chain = spring(1.0), steel_row(3)
    law.coefficients_of = staticmethod(coefficients_of)
    rows = [
        RowInputs(law, chain, chain.pair(), chain.overlap_limits(), SimpleNamespace(stiffness=each))
        for each in (STIFFNESS, 3.0 * STIFFNESS)
    ]
    one, other = contacts_together(rows)
    assert (one.c[0] == STIFFNESS).all() and (other.c[0] == 3.0 * STIFFNESS).all()
    assert set(seen) == {STIFFNESS, 3.0 * STIFFNESS} and {type(one) for one in seen} == {float}


# This law solves a polynomial with its inputs, for one member at a time.
ONE_AT_A_TIME = ("vu-quoc-zhang",)
# Laws for which the search for the energy correction takes a minute as plain Python.
SLOW_AS_PLAIN_PYTHON = ("jackson-green", "vu-quoc-zhang")


# One law of each kind, whose scans other fast tests compile.
COMPILED = ("hertz", "ma-liu", "flores", "tsuji")
LAWS = every_law(COMPILED)
if PLAIN_HERE:
    LAWS = [law for law in distinct_laws() if law not in SLOW_AS_PLAIN_PYTHON]


@pytest.mark.parametrize("law", LAWS)
def test_chains_with_other_numbers_are_set_up_in_one_call_as_if_alone(law, monkeypatch):
    calls, single = [], setup.coefficients_without_windows

    def counted(*arguments):
        calls.append(arguments)
        return single(*arguments)

    monkeypatch.setattr(setup, "coefficients_without_windows", counted)
    base, radii = example_chain(6, precompression=1e-3), 2e-3 + 1e-5 * np.arange(6.0)
    varied = [name for name, value in vars(inputs_for(law)).items() if type(value) is float]
    for names in ([], *([name] for name in varied), varied):
        rows = []
        for k, factor in enumerate((1.0, 0.97, 0.95, 0.999)):
            chain = replace(base, radius=radii if k == 2 else base.radius)
            inputs = inputs_for(law, **{n: factor * vars(inputs_for(law))[n] for n in names})
            rows.append(RowInputs(laws()[law], chain, chain.pair(), chain.overlap_limits(), inputs))
        calls.clear()
        together = contacts_together(rows)
        forms = {id(one.model) for one in together}
        if law not in ONE_AT_A_TIME:
            assert len(calls) == len(forms), names
        for contacts, row in zip(together, rows, strict=True):
            (alone,) = contacts_together([row])
            assert contacts.model == alone.model
            for name in ("c", "overlaps", "limits", "history"):
                mine, other = getattr(contacts, name), getattr(alone, name)
                assert mine.tobytes() == other.tobytes(), (names, name)


@pytest.mark.long
@pytest.mark.skipif(PLAIN_HERE, reason="60 laws take 14 s as plain Python")
def test_windows_are_the_same_if_the_search_ends_where_the_loss_rises():
    random, ends = np.random.default_rng(3), 0
    law = laws()["ma-liu"]
    model = law.model(inputs_for("ma-liu"))
    assert model.guarded is not None
    whole = model.guarded._replace(loss_rises_from=lambda c: math.inf)
    for psi, xi in zip(random.uniform(1.0, 6.0, 60), random.uniform(2.5, 60.0, 60), strict=True):
        steel = replace(MATERIALS["steel-316"], yield_stress=10 ** random.uniform(7.5, 9.5))
        pair = standing_row(2, material=(steel,)).pair()
        with np.errstate(all="ignore"):
            own = setup.coefficients_without_windows(
                model, pair, inputs_for("ma-liu", psi=psi, xi=xi), 3
            )
        ends += law.loss_rises_from(tuple(own[:, 1].tolist())) < math.inf
        limits = np.full(3, 2e-3)
        found, expected = (
            with_windows(with_copies(replace(model, guarded=one)), own, limits)
            for one in (model.guarded, whole)
        )
        assert found.tobytes() == expected.tobytes(), (psi, xi)
    assert ends > 20, ends


def test_members_share_contacts_unless_these_depend_on_the_strikers_speed():
    base = load_case("steel-chain")
    for contact, shared in (({"law": "tsuji"}, True), ({"law": "flores"}, False)):
        first = base.replace(contact={**contact, "restitution": 0.8})
        cases = [first, first.replace(**{"striker.speed": 2.0 * first.striker.speed})]
        (_, slow, _), (_, fast, _) = prepare_together(cases)
        assert (slow is fast) == shared
        assert fast.c.tobytes() == prepare(cases[1])[1].c.tobytes()


@pytest.mark.parametrize("law", ["hertz", "ma-liu", "tsuji"])
def test_what_is_remembered_is_what_is_found_anew(law, monkeypatch):
    chain = standing_row(4, precompression=LOAD)

    def found():
        contacts = contacts_of(laws()[law], chain, inputs_for(law))
        step = time_step_of(contacts, chain, "auto", 1e-4).value
        return [contacts.c, contacts.overlaps, contacts.limits, np.array([step])]

    found()
    again = found()
    monkeypatch.setattr(setup, "_answers", {})
    for mine, anew in zip(again, found(), strict=True):
        assert mine.tobytes() == anew.tobytes()


def test_what_is_remembered_is_bounded_in_bytes(monkeypatch):
    monkeypatch.setattr(setup, "MOST_BYTES", 2000)
    monkeypatch.setattr(setup, "_answers", answers := {})
    monkeypatch.setattr(setup, "_answer_bytes", size := [0])
    most = 0
    for load in np.linspace(1.0, 2.0, 20):
        contacts_of(Hertz, standing_row(3, precompression=load), inputs_for("hertz"))
        assert size[0] <= 2000
        most = max(most, len(answers))
    assert most > 1
    setup.remember(("too large",), np.zeros(1), 2001)
    assert (len(answers), size[0]) == (0, 0)


def test_columns_of_stacked_tables_are_the_kinds_of_their_rows():
    random = np.random.default_rng(7)
    for rows in (
        np.ones((50, 3)),
        np.array([[1.0, 2.0], [1.0, 3.0]])[np.arange(40) % 2],
        np.repeat(random.integers(0, 3, (9, 2)).astype(float), 11, axis=0),
        random.choice([0.0, -0.0, 1.0], (60, 2)),
        random.uniform(size=(200, 2)),
        random.choice([-np.inf, 0.5, np.inf, 3.0], (100, 2)),
    ):
        first, which = kinds_of_columns([rows.T[:1], rows.T[1:]])
        _, first_of, which_of = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        assert sorted(first) == sorted(first_of)
        # the same row for each law
        assert (first[which] == first_of[which_of.reshape(-1)]).all()


# A bead whose radius [m] and mass [kg] are powers of two, so that those of a pair are exactly half;
# similar to steel-chain.
BEAD_RADIUS, BEAD_MASS, SPEED = 2.0**-9, 2.0**-11, 1.77


@pytest.mark.parametrize(
    ("law", "given"),
    [("hertz", {}), ("ma-liu", {"psi": 2.84, "xi": 13.0}), ("tsuji", {"restitution": 0.8})],
)
def test_two_bodies_and_a_chain_of_two_have_the_same_bits(law, given):
    chain = Chain(
        radius=np.full(2, BEAD_RADIUS), mass=np.full(2, BEAD_MASS), gap=np.zeros(1),
        velocity=np.array([0.5 * SPEED, -0.5 * SPEED]), material=(MATERIALS["steel-316"],),
        material_index=np.zeros(2, dtype=int),
    )  # fmt: skip
    pair = Pair(**{name: float(values[1]) for name, values in chain.pair().items().items()})
    bodies, inputs = impact(law=law, pair=pair, speed=SPEED, **given), inputs_for(law, **given)
    contacts = contacts_of(laws()[law], chain, inputs)
    alone = contact_of_two(laws()[law], two_bodies(pair, SPEED), pair, inputs)
    assert contacts.c.tobytes() == alone.c.tobytes()
    row = collide(contacts, chain, SPEED, 1.0)
    for name in (*IMPACT_SCALARS, "time", "overlap", "rate", "force"):
        both = (np.asarray(getattr(result, name)) for result in (bodies, row))
        assert next(both).tobytes() == next(both).tobytes()


CHANGES = [
    {"striker.speed": 2.0},
    {"chain.beads": 80},
    {"chain.material": "steel-210"},
    {"chain.material.density": 8000.0},
    {"striker": None, "sensors.contacts": [1]},
    {"contact.law": "flores", "contact.restitution": 0.65},
    {"sensors.beads": [3, 5]},
    {"snapshots": None},
    {"ends.right": "wall"},
    {"chain": {"beads": 66, "radius": 1e-3, "material": "steel-316"}},
    {"title": "another"},
    {"energy": {"ledger": False}},
]


def test_a_changed_case_is_the_case_made_whole():
    case = load_case("steel-chain").replace(**{"time.end": 5e-4})
    for changes in CHANGES:
        other = case.replace(**changes)
        whole = Case(**other._document)
        assert other.resolved() == whole.resolved(), changes
        # the original case is unchanged
        assert case == load_case("steel-chain", ["time.end=5e-4"]), changes
    # a wrong change is refused, as in a case made from the beginning
    for where, value in {
        "sensors.beads": [80],
        "chain.beads": 60,
        "chain.radius": -1.0,
        "striker.sped": 1.0,
    }.items():
        with pytest.raises(CaseError) as told:
            load_case("steel-chain").replace(**{where: value})
        (table, name), document = where.split("."), load_case("steel-chain")._document
        with pytest.raises(CaseError) as made:
            Case(**{**document, table: {**document[table], name: value}})
        assert str(told.value) == str(made.value)
