"""Each file records the law with which it was computed, and a resumed computation compares this
record with the present law."""

import json
from dataclasses import replace

import pytest
from support.law_ways import COEFFICIENT_EDITS, HARMLESS, edited

import granchain as gc
from granchain import simulation
from granchain.contact.law_record import CARRIED, LawRecord
from granchain.engine.setup import record_of
from granchain.simulation import law_records, prepare

pytestmark = pytest.mark.promise("R3")

# A value, and coefficients that differ in their last bit; the long set has all places.
# test_edited_laws.py tests that the hash follows every other kind of edit.
SOME = ("number in the force", "last bit of a coefficient")
ALL = ("number in the force", "an imported module reloaded", *COEFFICIENT_EDITS)


@pytest.mark.filterwarnings("ignore:(sweep|evaluate). .*Increase time.end")
@pytest.mark.parametrize(
    ("kinds", "harmless"),
    [(SOME, tuple(HARMLESS)[:1]), pytest.param(ALL, tuple(HARMLESS), marks=pytest.mark.long)],
    ids=["some", "all"],
)
def test_what_an_edited_law_gave_before_is_not_taken_for_its_own_unless_no_number_changed(
    tmp_path, kinds, harmless, plain_loop, monkeypatch, figure
):
    monkeypatch.setattr(simulation, "FIRST_BLOCK", 40)  # as plain Python, in blocks of a few steps
    found = {kind: edited(tmp_path / kind, kind) for kind in (*kinds, *harmless)}
    stale = [(kind, way) for kind in kinds for way, refused in found[kind].items() if not refused]
    assert not stale
    figure("kinds of edit", len(found) - len(harmless), at_least=len(kinds))
    figure("ways on which an edited law is taken for what it was", len(stale), at_most=0)
    refused = [(kind, way) for kind in harmless for way, refuses in found[kind].items() if refuses]
    assert not refused
    figure("edits that change no number, and ways on which they refuse", len(refused), at_most=0)


@pytest.mark.plain
def test_the_sentence_names_the_coefficient_whose_last_bit_differs():
    chain, contacts, _ = prepare(gc.load_case("steel-chain-hertz"))
    now = record_of(contacts.model, contacts.c[:, chain.contacts])
    assert LawRecord.of_text(now.text) == now and now.difference(now) == ""
    # the next larger double: a factor of 1.0000000000000002
    other = (now.kinds[0][0] * (1.0 + 2.0**-52), *now.kinds[0][1:])
    before = replace(now, kinds=(other, *now.kinds[1:]), coefficients="0" * 64)
    assert now.difference(before) == (
        f"the law hertz has changed since: the coefficient stiffness was {other[0]!r} and is "
        f"{now.kinds[0][0]!r}"
    )
    assert "its functions, what they read, or the version of Python" in now.difference(
        replace(now, functions="0" * 64)
    )
    assert (
        now.difference(replace(now, law="other"))
        == "it was computed with the law other, and this is hertz"
    )
    assert now.difference(replace(now, coefficients="0" * 64)).endswith(
        "the coefficients of its contacts are others"
    )
    assert (
        now.difference(None) == "nothing is known of the law that computed it"
        and LawRecord.of_text("[1") is None
    )


@pytest.mark.plain
def test_step_recording_and_speed_are_no_part_of_a_law():
    case = gc.load_case("steel-chain")
    changes = {"time.step": "fast", "sensors.beads": [1], "energy.ledger": False, "title": "x"}
    changes["striker.speed"] = 3.0
    members = [case.replace({key: value}) for key, value in changes.items()]
    first, *others = law_records([case, *members])
    assert all(other == first for other in others)
    assert law_records([case.replace(**{"contact.psi": 2.0})])[0] != first


@pytest.mark.plain
def test_of_many_kinds_of_contact_some_are_carried_and_all_are_hashed():
    factors = [1.0 + 1e-3 * k for k in range(70)]
    case = gc.load_case("steel-chain-hertz").replace(**{"chain.radius_factor": factors})
    (law,), (other,) = (
        law_records([case]),
        law_records([case.replace(**{"chain.radius_factor": [*factors[:-1], 1.2]})]),
    )
    assert len(law.kinds) == CARRIED and law.kinds == other.kinds and law.sha256 != other.sha256


@pytest.mark.filterwarnings("ignore:sweep. .*Increase time.end")
def test_a_file_an_ensemble_and_a_study_say_what_the_law_was(tmp_path):
    case = gc.load_case("steel-chain-hertz", ["time.end=5e-5"])
    result = gc.run(case)
    (law,) = law_records([case])
    result.save(tmp_path / "run.h5")
    gc.run_many([case, case], out=tmp_path / "many.h5")
    study = gc.sweep(case, {"striker.speed": [1.0, 2.0]}, out=tmp_path / "study.h5")
    for one in (result, gc.open(tmp_path / "run.h5"), gc.open(tmp_path / "many.h5")[1]):
        assert (
            one.provenance["law_sha256"] == law.sha256
            and LawRecord.of_text(one.provenance["law_json"]) == law
        )
    assert (
        study.law_sha256.values.tolist() == [law.sha256] * 2
        and json.loads(study.attrs["laws_json"])[law.sha256] == law.text
    )
