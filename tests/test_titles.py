"""A title says what the case is: its keys have the case's values, changes are appended."""

import pytest

from granchain.case import Case, case_names, load_case
from granchain.errors import CaseError

STEEL = "70 beads of steel-316 struck at {} m/s, {}"
MALIU = {"law": "ma-liu", "psi": 2.84, "xi": 13.0}


def test_a_built_in_title_is_composed_from_the_case():
    assert load_case("steel-chain").title == STEEL.format(1.77, "ma-liu")
    struck = load_case("steel-chain", ["contact.law=hertz", "striker.speed=5", "chain.beads=80"])
    assert struck.title == STEEL.format(5, "hertz").replace("70", "80")
    for name in case_names():
        case = load_case(name)
        assert case.title and "{" not in case.title and "no " not in case.title, name
        # every one says its law, and where something strikes, how fast
        other = case.replace(**{"contact.law": "tsuji", "contact.restitution": 0.5})
        assert other.title.endswith(", tsuji; contact.restitution = 0.5")
        struck = case.striker and case.replace(**{"striker.speed": 3})
        assert struck is None or "struck at 3 m/s" in struck.title


def test_changes_without_a_title_name_what_differs_and_nothing_else():
    steel = load_case("steel-chain").replace(title="rig B")
    for changes, said in (
        ({"striker.speed": 5}, "; striker.speed = 5"),
        ({"contact.psi": 3, "time.end": 1e-3}, "; contact.psi = 3; time.end = 0.001"),
        ({"snapshots": None}, "; no snapshots"),
        ({"energy.ledger": False}, "; energy.ledger = false"),
        # a named material is told as the constants that differ
        ({"chain.material.yield_stress": 1e9}, "; chain.material.yield_stress = 1000000000"),
        (
            {"sensors.beads": list(range(1, 60))},
            "; sensors.beads = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1...",
        ),
        # the same number again is no change
        ({"striker.speed": 1.77}, ""),
    ):
        assert steel.replace(**changes).title == f"rig B{said}"
    # one after the other
    fast = steel.replace(**{"striker.speed": 5}).replace(**{"striker.speed": 7})
    fast = fast.replace(**{"contact.psi": 3})
    assert fast.title == "rig B; striker.speed = 7; contact.psi = 3"
    other = fast.replace(**{"contact.law": "hertz"})
    assert other.title == "rig B; striker.speed = 7; contact.law = hertz"
    back = other.replace(**{"contact": MALIU, "striker.speed": 1.77})
    assert back.title == "rig B" and back == steel and back.sha256 == steel.sha256


def test_a_title_stays_one_line_that_a_case_may_have():
    keys = "striker.radius striker.mass chain.mass chain.radius time.end chain.gravity energy.bound"
    # longer together than a heading is
    many = dict.fromkeys(keys.split(), 1e-3) | {"ends.right": "wall", "sensors.contacts": [1, 2]}
    many |= {"chain.beads": 65, "snapshots.interval": 1e-6, "contact.psi": 3, "contact.xi": 12.0}
    for title in ("rig B", "x" * 1000, "é; = {" * 160):
        case = load_case("steel-chain").replace(title=title).replace(**many)
        assert len(case.title) <= 1000 and case.title.startswith(title[:5])
        assert case.title.endswith(" more changes")
        assert Case(**case.resolved()) == case
    # what a title cannot hold, no value brings into it
    with pytest.raises(CaseError, match=r"title: .* must be one line of printable text"):
        load_case("steel-chain").replace(title="a\nb")


def test_the_value_of_a_change_cannot_write_into_the_title(tmp_path):
    (tmp_path / "a{contact.psi}; b\x1b.csv").write_text("0, 0\n1, 0\n")
    (tmp_path / "case.toml").write_text(load_case("steel-chain").toml)
    case = load_case(tmp_path / "case.toml").replace(
        striker=None,
        **{
            "ends.left": {"drive": "force", "file": "a{contact.psi}; b\x1b.csv"},
            "sensors.contacts": [],
        },
    )
    assert "ends.left.file = a(contact.psi), b\\x1b.csv" in case.title
    assert Case(**case.resolved()).title == case.title
