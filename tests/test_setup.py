"""Set-up: what is remembered is what would be found anew, two bodies are a chain of two, and a
changed case is the case made whole."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from support.rows import inputs_for, standing_row, steel_row

from granchain import Case, load_case
from granchain.chain import Chain
from granchain.contact import law as law_module
from granchain.contact import laws
from granchain.contact.hertz import Hertz
from granchain.contact.law import ContactLaw, Quantity, Source
from granchain.contact.pair import Pair
from granchain.engine import scans
from granchain.engine.scans import kinds_of
from granchain.engine.setup import RowInputs, contacts_of, contacts_together
from granchain.engine.timestep import time_step_of
from granchain.errors import CaseError
from granchain.material import MATERIALS
from granchain.two_body import collide, contact_of_two, impact, two_bodies

pytestmark = pytest.mark.plain

# A spring's stiffness [N/m], twice that, and the load [N] that it carries at rest: sizes of a steel
# bead's contact.
STIFFNESS, LOAD = 1e6, 5.0


@pytest.fixture
def registry(monkeypatch):
    """Laws of a test are forgotten after it."""
    laws()
    monkeypatch.setattr(law_module, "_REGISTRY", law_module.registered())


def spring(factor: float) -> type[ContactLaw]:
    """A linear law; each time another class of the same name."""

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


def overlap_under_load(law: type[ContactLaw]) -> float:
    """Overlap of a spring at rest under the load."""
    return float(
        contacts_of(law, standing_row(3, precompression=LOAD), SimpleNamespace()).overlaps[1]
    )


def test_an_edited_law_gets_no_answer_of_the_one_before(registry):
    for factor in (1.0, 2.0, 1.0, 4.0):
        law = spring(factor)
        assert overlap_under_load(law) == pytest.approx(LOAD / (factor * STIFFNESS), rel=1e-12)
        assert overlap_under_load(law) == pytest.approx(LOAD / (factor * STIFFNESS), rel=1e-12)
    # the same class and the same function, another number in it
    law = spring(1.0)
    assert overlap_under_load(law) == pytest.approx(LOAD / STIFFNESS, rel=1e-12)
    law.force.__closure__[0].cell_contents = 2.0
    assert overlap_under_load(law) == pytest.approx(LOAD / (2.0 * STIFFNESS), rel=1e-12)
    law.force = staticmethod(lambda overlap, rate, c, h: 4.0 * c[0] * overlap)
    assert overlap_under_load(law) == pytest.approx(LOAD / (4.0 * STIFFNESS), rel=1e-12)


def test_a_law_of_ones_own_is_given_the_inputs_of_one_member_at_a_time(registry):
    # it may do with a number what it cannot do with many, or does otherwise
    seen = []

    def coefficients_of(pair, inputs):
        seen.append(inputs.stiffness)
        return (inputs.stiffness,)

    law, chain = spring(1.0), steel_row(3)
    law.coefficients_of = staticmethod(coefficients_of)
    pair, limits = chain.pair(), chain.overlap_limits()
    rows = [
        RowInputs(chain, pair, limits, SimpleNamespace(stiffness=factor * STIFFNESS))
        for factor in (1.0, 3.0)
    ]
    one, other = contacts_together(law, rows)
    assert (one.c[0] == STIFFNESS).all() and (other.c[0] == 3.0 * STIFFNESS).all()
    assert set(seen) == {STIFFNESS, 3.0 * STIFFNESS} and all(
        type(stiffness) is float for stiffness in seen
    )


@pytest.mark.parametrize("law", ["hertz", "ma-liu", "tsuji"])
def test_what_is_remembered_is_what_is_found_anew(law, monkeypatch):
    chain = standing_row(4, precompression=LOAD)

    def found():
        contacts = contacts_of(laws()[law], chain, inputs_for(law))
        return [
            contacts.c,
            contacts.overlaps,
            contacts.limits,
            np.array([time_step_of(contacts, chain, "auto", 1e-4).value]),
        ]

    found()
    again = found()
    monkeypatch.setattr(scans, "_answers", {})
    for mine, anew in zip(again, found(), strict=True):
        assert mine.tobytes() == anew.tobytes()


def test_what_is_remembered_is_bounded_in_bytes(monkeypatch):
    monkeypatch.setattr(scans, "MOST_BYTES", 2000)
    monkeypatch.setattr(scans, "_answers", answers := {})
    monkeypatch.setattr(scans, "_answer_bytes", size := [0])
    most = 0
    for load in np.linspace(1.0, 2.0, 20):
        contacts_of(Hertz, standing_row(3, precompression=load), inputs_for("hertz"))
        assert size[0] <= 2000
        most = max(most, len(answers))
    assert most > 1
    scans.remember(("too large",), np.zeros(1), 2001)
    assert (len(answers), size[0]) == (0, 0)


def rows_of(kind: str) -> np.ndarray:
    random = np.random.default_rng(7)
    if kind == "one run":
        return np.ones((50, 3))
    if kind == "two in turn":
        return np.array([[1.0, 2.0], [1.0, 3.0]])[np.arange(40) % 2]
    if kind == "long runs":
        return np.repeat(random.integers(0, 3, (9, 2)).astype(float), 11, axis=0)
    if kind == "zeros of both signs":
        return random.choice([0.0, -0.0, 1.0], (60, 2))
    if kind == "all different":
        return random.uniform(size=(200, 2))
    return random.choice([-np.inf, 0.5, np.inf, 3.0], (100, 2))


@pytest.mark.parametrize(
    "kind",
    ["one run", "two in turn", "long runs", "zeros of both signs", "all different", "infinities"],
)
def test_runs_compressed_are_the_distinct_rows(kind):
    rows = rows_of(kind)
    first, which = kinds_of(rows)
    _, first_of, which_of = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    assert sorted(first) == sorted(first_of)
    # the same row stands for each
    assert (first[which] == first_of[which_of.reshape(-1)]).all()


# A bead whose radius [m] and mass [kg] are powers of two, so that the pair's are exactly half of
# them; of the size of those of steel-chain.
BEAD_RADIUS, BEAD_MASS, SPEED = 2.0**-9, 2.0**-11, 1.77


def chain_of_two() -> Chain:
    return Chain(
        radius=np.full(2, BEAD_RADIUS),
        mass=np.full(2, BEAD_MASS),
        velocity=np.array([0.5 * SPEED, -0.5 * SPEED]),
        gap=np.zeros(1),
        material=(MATERIALS["steel-316"],),
        material_index=np.zeros(2, dtype=int),
    )


@pytest.mark.parametrize(
    ("law", "given"),
    [("hertz", {}), ("ma-liu", {"psi": 2.84, "xi": 13.0}), ("tsuji", {"restitution": 0.8})],
)
def test_two_bodies_and_a_chain_of_two_have_the_same_bits(law, given):
    chain = chain_of_two()
    pair = Pair(**{name: float(values[1]) for name, values in chain.pair().items().items()})
    bodies = impact(law=law, pair=pair, speed=SPEED, **given)
    contacts = contacts_of(laws()[law], chain, inputs_for(law, **given))
    assert (
        contacts.c.tobytes()
        == contact_of_two(
            laws()[law], two_bodies(pair, SPEED), pair, inputs_for(law, **given)
        ).c.tobytes()
    )
    row = collide(contacts, chain, SPEED, 1.0)
    assert bodies.numbers() == row.numbers()
    for name in ("time", "overlap", "rate", "force"):
        assert getattr(bodies, name).tobytes() == getattr(row, name).tobytes()


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


@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_a_changed_case_is_the_case_made_whole(changes):
    case = load_case("steel-chain").replace(**{"time.end": 5e-4})
    other = case.replace(**changes)
    whole = Case(**other._document)
    assert other.resolved() | {"title": ""} == whole.resolved() | {"title": ""}
    # the case before is as it was
    assert case == load_case("steel-chain", ["time.end=5e-4"])


@pytest.mark.parametrize(
    "changes",
    [{"sensors.beads": [80]}, {"chain.beads": 60}, {"chain.radius": -1.0}, {"striker.sped": 1.0}],
    ids=str,
)
def test_a_change_that_is_wrong_is_refused_as_in_a_case_made_whole(changes):
    case = load_case("steel-chain")
    with pytest.raises(CaseError) as told:
        case.replace(**changes)
    (where, value), *_ = changes.items()
    table, name = where.split(".")
    document = {**case._document, table: {**case._document[table], name: value}}
    with pytest.raises(CaseError) as whole:
        Case(**document)
    assert str(told.value) == str(whole.value)
