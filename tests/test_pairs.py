"""Pairs of materials with own inputs: inputs of the contacts, delivered restitutions, and refused
values."""

import copy

import numpy as np
import pytest
from support.refused import refused, sentences_of

import granchain as gc
from granchain import errors
from granchain.case import Case
from granchain.case.document import quantity_of, set_value, value_at
from granchain.contact import laws
from granchain.engine.setup import RowInputs, contacts_together
from granchain.show.answer import IDENTIFIED, input_blocks
from granchain.simulation import prepare, prepare_together

# two arbitrary materials
KEYS = ("name", "youngs_modulus", "poissons_ratio", "density", "yield_stress")
STEEL = dict(zip(KEYS, ("steel", 2e11, 0.3, 7800.0, 9e8), strict=True))
SOFT = dict(zip(KEYS, ("soft", 1.5e9, 0.45, 2200.0, 2e7), strict=True))
# two beads of each material alternate: contacts 1 and 4 are between steel and soft, 0 between
# steel, 3 between soft
CASE = {
    "chain": {
        "radius": 2e-3,
        "segment": [{"count": 2, "material": STEEL}, {"count": 2, "material": SOFT, "repeat": 2}]},
    "striker": {"speed": 1.0},
    "contact": {
        "law": "flores", "restitution": 0.9,
        "pair": [{"materials": ["soft", "steel"], "restitution": 0.7},
                 {"materials": ["soft", "soft"], "restitution": 0.5}]},
    "time": {"end": 1e-5},
}  # fmt: skip
KINDS = {("steel", "steel"): 0.9, ("soft", "steel"): 0.7, ("soft", "soft"): 0.5}


def made(**changes):
    """Return the case with changes, whose keys have double underscores instead of dots."""
    document = copy.deepcopy(CASE)
    for where, value in changes.items():
        set_value(document, where.replace("__", "."), value)
    return Case(**document)


def problems(**changes):
    """Return the error messages of the case with changes."""
    return sentences_of(made, **changes)


@pytest.mark.plain
def test_contacts_have_the_coefficients_of_a_case_with_one_kind_of_contact():
    onset = {"law": "flores", "impact_speed": "onset", "impact_speed_floor": 0.01}
    for law in ({"law": "flores"}, onset, {"law": "tsuji"}):
        case = made(contact={**CASE["contact"], **law})
        chain, contacts, _ = prepare(case)
        left = 0
        for (one, other), restitution in KINDS.items():
            alone = case.replace(**{"contact.pair": None, "contact.restitution": restitution})
            here = chain.between(one, other)
            assert here.any() and (here == chain.between(other, one)).all()
            assert contacts.c[:, here].tobytes() == prepare(alone)[1].c[:, here].tobytes(), law
            left += int(here.sum())
        assert left == chain.n_bodies + 1


@pytest.mark.plain
def test_a_restitution_of_a_pair_may_be_another_laws():
    taken = {"law": "ma-liu", "psi": 2.84, "xi": 13.0}
    case = made(contact__pair=[{"materials": ["steel", "soft"], "restitution": taken}])
    chain, contacts, _ = prepare(case)
    alone = prepare(case.replace(**{"contact.pair": None, "contact.restitution": taken}))[1]
    here = chain.between("steel", "soft")
    assert contacts.c[:, here].tobytes() == alone.c[:, here].tobytes()
    assert case.laws == [("flores", False), ("ma-liu", False)]
    assert "% contact law ma-liu" in gc.cite(case)
    key = "contact.pair.0.restitution.psi"
    assert case.replace(**{key: 3.0}).contact.pair[0].restitution["psi"] == 3.0
    assert quantity_of(case, key).name == "psi"


@pytest.mark.plain
def test_walls_are_of_their_beads_material_and_rigid_ends_of_their_own():
    kinds = [
        {"materials": ["soft", "rigid"], "restitution": 0.3},
        {"materials": ["steel", "steel"], "restitution": 0.2},
    ]
    ends = {"left": "wall", "right": "rigid"}
    case = made(ends=ends, striker=None, contact__impact_speed=1.0, contact__pair=kinds)
    chain = prepare(case)[0]
    assert chain.between("steel", "steel").nonzero()[0].tolist() == [0, 1, 5]
    assert chain.between("rigid", "soft").nonzero()[0].tolist() == [8]
    brass = {**STEEL, "name": "brass", "youngs_modulus": 1e11}
    kinds = [{"materials": ["brass", "steel"], "restitution": 0.3}]
    walled = made(ends={"left": "wall", "left_material": brass}, contact__pair=kinds)
    assert prepare(walled)[0].between("steel", "brass").nonzero()[0].tolist() == [0]


@pytest.mark.plain
def test_a_case_with_pairs_comes_back_from_its_tables_and_takes_changes():
    case, first = made(), "contact.pair.0.restitution"
    assert Case(**case.resolved()) == case
    assert case.resolved()["contact"]["pair"] == CASE["contact"]["pair"]
    assert "pair" not in made(contact__pair=None).resolved()["contact"]
    changed = case.replace(**{"contact.pair.1.restitution": 0.4})
    assert value_at(changed, "contact.pair.1.restitution") == 0.4 and changed.sha256 != case.sha256
    assert quantity_of(case, first).high == 1.0
    for key in ("contact.pair.2.restitution", "contact.pair.0.psi", "contact.pair.x.restitution"):
        with pytest.raises(errors.CaseError):
            quantity_of(case, key)
    # inputs that the new law does not have are removed, and so is a pair without inputs
    words = r"contact\.law: ma-liu has no input contact\.pair\.0\.restitution,"
    law = {"contact.law": "ma-liu", "contact.psi": 2.84, "contact.xi": 13.0}
    with pytest.warns(errors.GranchainWarning, match=words):
        (pair,) = case.replace(**law, **{"contact.pair.1.psi": 2.0}).contact.pair
    assert pair.materials == ("soft", "soft") and pair.inputs() == {"psi": 2.0}
    unknown = r"contact.pair.0.zzz: unknown key\. The keys are materials, restitution"
    with pytest.raises(errors.CaseError, match=unknown):
        case.replace(**{"contact.pair.0.zzz": 1.0})


@pytest.mark.plain
def test_members_that_differ_in_a_pair_are_set_up_together_as_alone_and_not_of_two_forms():
    cases = [made()] + [
        made(contact__pair=[{"materials": ["soft", "steel"], "restitution": e}]) for e in (0.3, 0.6)
    ]
    for case, (_, contacts, step) in zip(cases, prepare_together(cases), strict=True):
        chain, alone, own = prepare(case)
        assert (contacts.c.tobytes(), step.value) == (alone.c.tobytes(), own.value)
    onset = {"contact__impact_speed": "onset", "contact__impact_speed_floor": 0.1}
    others = made(**onset, contact__pair=None).law_inputs()
    soft = ((chain.between("soft", "soft"), others),)
    law, limits, inputs = laws()["flores"], chain.overlap_limits(), made().law_inputs()
    row = RowInputs(law, chain, chain.pair(), limits, inputs, soft)
    with pytest.raises(errors.LawError, match="change the form of the law"):
        contacts_together([row])


@pytest.mark.plain
def test_mistakes_of_pairs_are_told_with_all_others():
    for pair, sentence in refused("pair of materials"):
        told = problems(contact__pair=pair)
        assert told[0].startswith(sentence), told
    pairs = [
        {"materials": ["soft"], "restitution": 3.0},
        {"materials": ["soft", "sofd"], "restitution": 0.5},
        {"materials": ["steel", "steel"], "impact_speed": "striker"},
    ]
    told = problems(time__end=-1, striker=None, contact__impact_speed=1.0, contact__pair=pairs)
    keys = ["0.materials", "0.restitution", "1.materials", "2.impact_speed"]
    keys = [*(f"contact.pair.{key}" for key in keys), "time.end"]
    assert len(told) == len(keys), told
    assert all(any(line.startswith(key) for line in told) for key in keys), told
    # two materials of this chain that do not touch
    segments = [{"count": 1, "material": one} for one in (STEEL, "steel-210", SOFT)]
    touching = [{"materials": ["soft", "steel"], "restitution": 0.5}]
    (line,) = problems(chain={"radius": 2e-3, "segment": segments}, contact__pair=touching)
    assert '"soft" and "steel" do not touch in this chain. The pairs that touch are' in line
    nameless = {key: value for key, value in STEEL.items() if key != "name"}
    unnamed = {"beads": 3, "radius": 2e-3, "material": nameless}
    same = [{"materials": ["steel", "steel"], "restitution": 0.5}]
    (line,) = problems(chain=unnamed, contact__pair=same)
    assert "The materials of this chain have no names." in line


def test_each_kind_of_contact_gives_back_what_its_pair_asks_for():
    # Two bodies: relative speeds after and before. With identified damping, the dashpot of Flores
    # et al. delivers the requested restitution (docs/laws.md). One run for each kind, of the same
    # case with other beads.
    materials = {"steel": STEEL, "soft": SOFT}
    for (one, other), asked in KINDS.items():
        case = made(
            chain={"beads": 1, "radius": 2e-3, "material": materials[other]},
            striker={"speed": 1.0, "material": materials[one]},
            time__end=3e-4,
            contact__damping="identified",
            contact__pair=[{"materials": [one, other], "restitution": asked}],
            contact__restitution=0.11,
        )
        speed = float(np.diff(gc.run(case).final_velocity)[0])
        assert speed == pytest.approx(asked, abs=2e-4), (one, other)


@pytest.mark.plain
def test_a_report_says_where_the_damping_is_not_the_published_one():
    def texts(damping, of_pair):
        pair = {"materials": ["a", "b"], "damping": of_pair}
        inputs = {"restitution": 0.7, "damping": damping, "pair": [pair]}
        return [getattr(block, "text", "") for block in input_blocks("tsuji", inputs)]

    assert IDENTIFIED not in texts("published", "published")
    for ways in (("identified", "published"), ("published", "identified")):
        # below the inputs of all contacts and of the pair
        assert texts(*ways).index(IDENTIFIED) == 2
