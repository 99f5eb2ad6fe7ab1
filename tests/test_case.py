"""A case is read completely, or refused with a message for every error in it."""

import copy
import datetime
import json
import os
import pickle
import sys
import tempfile
import tomllib
import tracemalloc
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.processes import answer
from support.refused import has_error_form, refused, sentences_of

from granchain import keys
from granchain.case import Case, case_as_given, case_names, load_case
from granchain.case.document import (
    CASE_BYTES,
    CASES,
    CSV_BYTES,
    about_key,
    differences,
    set_value,
    toml_value,
)
from granchain.contact import laws
from granchain.contact.law import RESTITUTION
from granchain.contact.maliu import MaLiu
from granchain.errors import CaseError, FileError
from granchain.keys import in_si
from granchain.material import MATERIALS
from granchain.mechanisms.case import load_mechanism

STUFF = {"youngs_modulus": 1e9, "poissons_ratio": 0.3}
BASE = {
    "chain": {"beads": 5, "radius": 2.38e-3, "mass": 0.45e-3, "material": "steel-316"},
    "striker": {"speed": 1.0},
    "contact": {"law": "hertz"},
    "time": {"end": 1e-4},
}
FLORES = {"law": "flores", "restitution": 0.65}
MALIU = {"law": "ma-liu", "psi": 2.84, "xi": 13}


def document(changes):
    """Return the base case with changes; None removes a key."""
    made = copy.deepcopy(BASE)
    for key, value in changes.items():
        set_value(made, key, copy.deepcopy(value))
    return made


def problems(changes):
    """Return the messages about the base case with changes."""
    return sentences_of(Case, **document(changes))


# --- Every message
POSITIVE = "must be a number above 0"
LIMIT = "A run may use at most 8 GiB."
LOOKED = "It must be a CSV file. Check the path, which is relative to the folder of the case file."
# Parts of messages that come from names and quantities in the code.
MALIU_INPUTS = {quantity.name: quantity for quantity in MaLiu.inputs}
OWN_WORDS = {
    "{MATERIALS}": ", ".join(f'"{name}"' for name in MATERIALS),
    "{INPUTS OF MA-LIU}": ", ".join(["law", *MALIU_INPUTS]),
    "{XI}": MALIU_INPUTS["xi"].meaning,
    "{RESTITUTION}": RESTITUTION.meaning,
    "{RANGE OF RESTITUTION}": RESTITUTION.range,
}


@pytest.mark.promise("I2")
def test_a_mistake_is_told_in_one_sentence():
    for changes, sentence in refused("case"):
        for name, words in OWN_WORDS.items():
            sentence = sentence.replace(name, words)
        assert problems(changes) == [sentence]


def test_a_case_that_is_no_table_or_has_tables_in_tables_without_end_is_refused():
    for value in (3, "text", [1, 2], None):
        with pytest.raises(
            CaseError, match=r"^case: .* is not valid\. Give the tables of a case file\.$"
        ):
            Case.model_validate(value)
    for depth in (13, 200):
        nested = 1
        for _ in range(depth):
            nested = {"a": nested}
        (told, *_) = problems({"chain": nested})
        assert told.endswith(": tables are nested too deeply. At most 12 levels are allowed.")


def test_what_touches_what_decides_what_is_allowed():
    # if contacts are open at rest, each has its own onset speed; walls have contacts to record, and
    # gravity needs one; one error gives one message even if other keys depend on it
    for changes, words in refused("at rest"):
        if not words:
            assert Case(**document(changes)).beads > 0
            continue
        (sentence,) = problems(changes)
        assert sentence.startswith(words)


@pytest.mark.promise("L1")
def test_absurd_sizes_are_refused_before_memory_is_taken(figure):
    # modules that are imported late have been imported
    problems({"chain.beads": 0})
    steps = (
        "1e+17 steps of 6 bodies are too many. The limit is 1e+16 bead-steps. Choose a longer step."
    )
    for changes, words in (
        ({"chain.beads": 10**15}, f"{LIMIT} Use fewer beads."),
        ({"sensors.interval": 1e-16}, f"{LIMIT} Choose a longer interval, or an earlier time.end."),
        ({"time.step": 1e-21}, steps),
    ):
        asked, calls = {"snapshots.interval": 1e-6, "sensors.beads": [1]} | changes, []
        tracemalloc.start()
        try:
            (sentence,) = problems(asked)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert words in sentence
        # a call per bead or sample would be 1e12 calls and more
        sys.setprofile(lambda *call, calls=calls: calls.append(1))
        try:
            problems(asked)
        finally:
            sys.setprofile(None)
        figure("calls and returns until absurd sizes are refused", len(calls), at_most=1e5)
        # a million bytes: even one bit for each of a million beads would not fit
        figure("memory that is taken before [B]", peak, at_most=1e6)


# --- Files
def written(folder, content, name="case.toml"):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


STEEL = (CASES / "steel-chain.toml").read_text(encoding="utf-8")
TWO_BEADS = """
[chain]
beads = 2
radius = 1e-3
material = "steel-316"
[contact]
law = "hertz"
[time]
end = 1e-4
"""


# Texts with their messages, without the words of Python's own parser.
NO_CASE_FILES = {
    "bytes": (b"\x00\xff", "the text is not UTF-8 (at byte 1). Save the file as UTF-8."),
    "brackets": (
        b"a = " + b"[" * 100_000,
        "the brackets are nested too deeply. At most 12 levels are allowed."),
    "long": (
        b"#" * (CASE_BYTES + 1),
        "the file is too large. A case file may have at most 1 MB. Put drive tables in separate "
        "files."),
    "bracket": (
        b"title = 'x'\n[chain\n",
        "the text is not valid TOML 1.0 (... (at line 2, column 7)). Correct the text there."),
    "twice": (
        b"[time]\nend = 1\nend = 2\n",
        "the text is not valid TOML 1.0 (... (at line 3, column 8)). Correct the text there."),
}  # fmt: skip


def test_a_case_file_is_read_or_refused_at_once(tmp_path):
    # a byte order mark and Windows line ends are accepted
    text = "\ufeff" + STEEL.replace("\n", "\r\n")
    assert load_case(written(tmp_path, text)) == load_case("steel-chain")
    for name, (content, sentence) in NO_CASE_FILES.items():
        (told,) = sentences_of(load_case, written(tmp_path, content))
        begin, _, end = sentence.partition("...")
        assert told.startswith(f'"case.toml": {begin}') and told.endswith(end), name
        assert "..." in sentence or told == f'"case.toml": {sentence}', name


def test_a_file_or_name_that_is_no_case_is_told_with_the_nearest(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "mine").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other.toml").touch()
    folder = '"{}" is a folder. '
    for name, words in (
        (
            tmp_path / "none.toml",
            r'^case file: "none.toml" cannot be read \(No such file or directory\)\. It must be a '
            r"TOML file\. ",
        ),
        ("stel-chain.toml", r'Did you mean "steel-chain"\?$'),
        (tmp_path / "mine", f"^case file: {folder.format('mine')}Give the path of a TOML file.$"),
        (tmp_path / "other", folder.format("other") + 'Did you mean "other.toml"'),
        (tmp_path / "pipe", "is not a file"),
        ("a/\0.toml", "no such path"),
    ):
        with pytest.raises(FileError, match=words):
            load_case(name)
    for told, words in (
        (
            {"chain": {"beads": 3}},
            r"load_case: a table is not valid\. .* For tables, use granchain\.Case",
        ),
        (
            "steel-chian",
            r'^case: "steel-chian" not found\. Give the name of a built-in case or the path of a '
            r'TOML file\. Did you mean "steel-chain"\?$',
        ),
        ("zzz", ", ".join(case_names())),
        (
            "scotch-yoke",
            r'a mechanism\. It must be a chain of beads\. Run it with "granchain mechanism',
        ),
    ):
        with pytest.raises(CaseError, match=words):
            load_case(told)


# --- Sensors as text
def test_words_for_sensors_stand_for_numbers_and_follow_the_chain():
    case = Case(**document({"sensors.beads": "all", "sensors.contacts": "0-4:2, 3"}))
    assert case.sensors.beads == (1, 2, 3, 4, 5) and case.sensors.contacts == (0, 2, 4, 3)
    assert case.resolved()["sensors"]["beads"] == [1, 2, 3, 4, 5]
    numbers = {"sensors.beads": [1, 2, 3, 4, 5], "sensors.contacts": [0, 2, 4, 3]}
    assert case == Case(**case.resolved()) == Case(**document(numbers))
    walls = {"ends.left": "wall", "ends.right": "wall", "sensors.contacts": "all"}
    assert Case(**document(walls)).sensors.contacts == (-1, 0, 1, 2, 3, 4, 5)
    case = Case(**document({"sensors.beads": "all"}))
    assert case.replace(**{"chain.beads": 7}).sensors.beads == (1, 2, 3, 4, 5, 6, 7)
    assert case.replace(**{"time.end": 2e-4}).sensors.beads == (1, 2, 3, 4, 5)
    assert case.replace(**{"sensors.beads": "1-5:2"}).sensors.beads == (1, 3, 5)


# --- Drives
def driven(folder, content):
    """Return a case with a driven left end, in a separate folder with its table."""
    written(folder, content, "push.csv")
    ends = '[ends]\nleft = { drive = "displacement", file = "push.csv" }\n'
    return load_case(written(folder, TWO_BEADS + ends))


def test_a_drive_is_read_from_beside_the_case_file(tmp_path):
    rows = "0, 0\n5e-5 ,1e-6\n\n+.0001,-2.5E-6\n"
    for head in ("", "time [s], displacement [m]\n", "\ufeff", "\ufefft,x\n"):
        end = "\r\n" if "\ufeff" in head else "\n"
        case = driven(tmp_path, (head + rows).replace("\n", end))
        moment, value = case.driven("ends.left")[:2]
        assert (moment.tolist(), value.tolist()) == ([0.0, 5e-5, 1e-4], [0.0, 1e-6, -2.5e-6]), head
    assert case.ends.left.drive == "displacement" and case.ends.left.file is None
    with pytest.raises(CaseError, match=r"^ends\.right: drive not found\. .*are ends\.left\."):
        case.driven("ends.right")


COLUMNS = "The columns are time [s] and displacement [m] or force [N]."
COMMA = (
    f"does not have two finite numbers. {COLUMNS} Write a comma between the columns and decimal "
    "points in the numbers."
)


NO_TABLES = {
    "0,0\n1,2,3\n": f'.file: "push.csv", line 2, {COMMA}',
    "0;0\n1;2\n": f'.file: "push.csv", line 1, {COMMA}',
    "t,x\nt,x\n": f'.file: "push.csv", line 2, {COMMA}',
    "t,x\n": f'.file: "push.csv" has no rows. {COLUMNS}',
    b"0,0\n1,\xff\n": f'.file: "push.csv" cannot be read (not UTF-8). {LOOKED}',
    "0,0\n1,1e999\n": f'.file: "push.csv", line 2, {COMMA}',
    b"#" * (CSV_BYTES + 1): '.file: "push.csv" is too large. The file may have at most 16 MiB. '
    "Use fewer rows.",
}


def test_a_drive_that_is_no_table_is_refused(tmp_path):
    for content, sentence in NO_TABLES.items():
        assert sentences_of(driven, tmp_path, content) == [f"ends.left{sentence}"]


# --- Numbers with a unit

# Lengths that must not be read: texts that pint reads incorrectly or hangs on, and others.
BAD_LENGTHS = [
    *("2,38 mm", "9**9**9 mm", "2.38 m m", "2.38 Mm", "1e999 mm", "nan mm", "3", "mm", ""),
    *("2.38 kg", "2.38 mm^2", "2.38 furlongz", "--2 mm", "2.38  mm", "2.38 mm\n", "0x10 mm"),
    *("1_0 mm", "2 mm; 3 mm", "\uff12 mm", "2.38 mm/m*m/m*m/m", "1 m^99", "(2 mm)", "1/0 mm"),
    *("20 degC", "0" * 100 + "1 mm"),
]


def test_a_length_that_might_be_misread_is_refused():
    for text in BAD_LENGTHS:
        (sentence,) = problems({"chain.radius": text})
        assert sentence.startswith('chain.radius: "'), text
        assert "is not valid. " in sentence and f" {POSITIVE}. " in sentence, text


# According to the definition of the unit; bit-identical to the number in SI units, except for the
# last one: 1e3 N/(1e-3 m)^1.5 = 10^7.5 N/m^1.5.
IN_SI = [
    ("2.38 mm", "m", 2.38e-3),
    ("2380um", "m", 2.38e-3),
    ("200 GPa", "Pa", 200e9),
    ("7.8 g/cm^3", "kg/m^3", 7800.0),
    ("5 us", "s", 5e-6),
    ("5 \u00b5s", "s", 5e-6),
    ("5 \u03bcs", "s", 5e-6),
    ("-1.5e3 mN", "N", -1.5),
    ("1 in", "m", 0.0254),
    ("1.2 kN/mm^1.5", "N/m^1.5", pytest.approx(1.2 * 10**7.5, rel=1e-14)),
]


def test_a_number_with_a_unit_is_the_number_in_si_wherever_one_stands():
    for text, unit, value in IN_SI:
        assert in_si(text, unit) == value, text
    changes = {
        "chain.radius": "2.38 mm",
        "chain.mass": "0.45 g",
        "striker.speed": "177 cm/s",
        "time": {"end": "100 us", "step": "10 ns"},
        "chain.material": STUFF | {"youngs_modulus": "193 GPa", "density": "7.9688 g/cm^3"},
        "contact": FLORES | {"impact_speed": "1 km/s"},
    }
    case = Case(**document(changes))
    assert (case.chain.radius, case.chain.mass) == (2.38e-3, 0.45e-3)
    assert (case.striker.speed, case.time.end, case.time.step) == (1.77, 1e-4, 1e-8)
    assert (case.chain.material.youngs_modulus, case.chain.material.density) == (193e9, 7968.8)
    assert case.law_inputs().impact_speed == 1000.0


def test_without_pint_a_unit_is_refused_with_the_extra_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pint", None)
    keys._unit_factor.cache_clear()
    assert problems({"chain.radius": "2.38 mm"}) == [
        'chain.radius: "2.38 mm" is not valid. The radius of a bead [m] must be a number above 0. '
        'Write a number [m], or install pint to read units: pip install "granchain[units]".'
    ]


# --- Values of a case
def test_steel_chain_is_the_chain_of_wang_liu_and_liu():
    # Wang, Liu & Liu 2022, table 8 and sec. 5.2, doi:10.1016/j.ijmecsci.2022.107214
    case = load_case("steel-chain")
    bodies, (steel,) = case.bodies(), set(case.bodies()["material"])
    rows = ([2.38e-3] * 71, [0.45e-3] * 71, [1.77] + [0.0] * 70, [0.0] * 70)
    assert tuple(bodies[name].tolist() for name in ("radius", "mass", "speed", "gap")) == rows
    assert (steel.youngs_modulus, steel.poissons_ratio, steel.yield_stress) == (193e9, 0.3, 900e6)
    assert case.sensors.beads == (9, 16, 24, 31, 40, 50, 56, 63) and case.time.end == 0.6e-3
    assert (case.contact.law, case.contact.psi, case.contact.xi) == ("ma-liu", 2.84, 13.0)


def test_a_shorter_chain_leaves_out_contacts_that_are_no_more_unless_they_are_named():
    beads = {"sensors.beads": [9]}
    case = load_case("steel-chain")
    assert load_case("steel-chain", ["chain.beads=9", "sensors.beads=[9]"]).sensors.contacts == (
        0,
        8,
    )
    halves = [{"count": 2}, {"count": 2, "repeat": 2}, {"count": 1}]
    assert case.replace(
        **beads, **{"chain.beads": None, "chain.segment": halves}
    ).sensors.contacts == (0, 8)
    # without a striker, the first contact is between beads 1 and 2; a wall has another contact
    alone = case.replace(striker=None, **{"chain.beads": 30, "ends.right": "wall", **beads})
    assert alone.sensors.contacts == (8, 30)
    assert alone.replace(**{"ends.right": "free"}).sensors.contacts == (8,)
    with pytest.raises(CaseError, match=r"sensors.contacts: 30 not found\. .*contacts 0 to 8"):
        case.replace(**beads, **{"chain.beads": 9, "sensors.contacts": [0, 30]})
    with pytest.raises(CaseError, match=r"^sensors.beads: 16.* and 2 more not found\. The chain"):
        case.replace(**{"chain.beads": 9})


def test_segments_follow_one_another_and_groups_repeat():
    # (a a b) twice, then c: the chain written by hand
    segments = [
        {"count": 2, "gap": 1e-6},
        {"count": 1, "radius": 1e-3, "repeat": 2},
        {"count": 1, "material": "steel-210"},
    ]
    chain = {"chain.beads": None, "chain.gap": 2e-6, "chain.segment": segments}
    bodies = Case(**document(chain | {"striker.mass": 1e-3})).bodies()
    big, small = 2.38e-3, 1e-3
    assert bodies["radius"].tolist() == [big, big, big, small, big, big, small, big]
    assert bodies["gap"].tolist() == [0.0, 1e-6, 1e-6, 2e-6, 1e-6, 1e-6, 2e-6]
    assert bodies["speed"].tolist() == [1.0] + [0.0] * 7
    steel, other = MATERIALS["steel-316"], MATERIALS["steel-210"]
    assert bodies["material"] == [steel] * 7 + [other]
    # the mass of a body of another size or material follows from its density; other bodies have the
    # mass of the chain
    of_small, of_other = (4.0 / 3.0 * np.pi * each for each in (7968.8e-9, 7800.0 * big**3))
    mass = [1e-3, *[0.45e-3] * 2, of_small, *[0.45e-3] * 2, of_small, of_other]
    np.testing.assert_allclose(bodies["mass"], mass, rtol=1e-14)
    # a taper makes each bead of a segment smaller than the previous one
    two = [{"count": 1, "radius": 1e-3}, {"count": 3, "radius": 4e-3, "taper": 0.5, "repeat": 2}]
    case = Case(**document({"chain": {"material": "steel-316", "segment": two}}))
    assert case.bodies()["radius"].tolist()[-8:] == [1e-3, 4e-3, 2e-3, 1e-3] * 2
    mass = case.bodies()["mass"][-8:]
    assert mass[2] / mass[1] == 0.125 and mass[3] == pytest.approx(mass[0], rel=1e-15)
    # an individual factor of a bead multiplies this
    own = case.replace(**{"chain.radius_factor": [1.0] * 7 + [3.0]})
    assert own.bodies()["radius"][-1] == 3e-3 and own.bodies()["mass"][-1] == 27.0 * mass[-1]
    with pytest.raises(
        CaseError, match=r"segment\.1\.taper: 1e-200 is out of range for 3 beads\. The"
    ):
        case.replace(**{"chain.segment.1.taper": 1e-200})


def test_a_new_law_drops_the_inputs_it_does_not_know():
    steel, flores = load_case("steel-chain"), {f"contact.{key}": FLORES[key] for key in FLORES}
    case = steel.replace(**flores)
    assert (case.contact.law, case.contact.restitution) == ("flores", 0.65)
    assert not hasattr(case.contact, "psi") and steel.contact.law == "ma-liu" and steel != case
    # unless the same call sets them, individually or as a table
    unknown = "contact.psi: unknown key. The keys are law, restitution"
    for changes, told in (
        (flores | {"contact.psi": 3.0}, unknown),
        (flores | {"contact": FLORES | {"psi": 3.0}}, unknown),
        ({"contact.law": "flores"}, "contact.restitution: missing"),
    ):
        (sentence,) = sentences_of(steel.replace, **changes)
        assert sentence.startswith(told)


def test_a_case_is_replaced_key_by_key():
    case = Case(**BASE)
    material = case.replace(**{"chain.material.yield_stress": 1e9}).chain.material
    assert (material.yield_stress, material.youngs_modulus) == (1e9, 193e9)
    assert case.replace(striker=None).striker is None
    assert case.replace(striker=load_case("steel-chain").striker).striker.speed == 1.77
    numpys = case.replace(**{"striker.speed": np.float64(2.5), "sensors.beads": np.array([1, 2])})
    assert (numpys.striker.speed, numpys.sensors.beads) == (2.5, (1, 2))
    segmented = case.replace(**{"chain.beads": None, "chain.segment": [{"count": 2}, {"count": 3}]})
    assert segmented.replace(**{"chain.segment.1.count": 4}).beads == 6
    assert segmented.replace(**{"chain.segment.0": None}).beads == 3
    of_segments = r"key not found\. The keys are chain\.segment\.0 to chain\.segment\.1\."
    with pytest.raises(CaseError, match=of_segments):
        segmented.replace(**{"chain.segment.2.count": 1})
    unknown = ("", "chain.", ".chain", "chain.segment.2.count", "chain.radius.x", "time.end.0")
    numbers = ("01", "9" * 5000)  # not in its shortest form; more digits than Python reads
    for key in (*unknown, *(f"chain.segment.{number}.count" for number in numbers)):
        with pytest.raises(CaseError, match="key not found"):
            segmented.replace(**{key: 1})


def test_changes_on_the_command_line_are_made_told_and_kept():
    changes = [
        "contact.law=flores", "contact.restitution = { law = 'ma-liu', psi = 3, xi = 13 }",
        "chain.radius=2.38 mm", "striker.speed=2.9", "energy.ledger=false", "title=a=b",
        "chain.material.yield_stress=1e9", 'chain.material.name="a = b"',
    ]  # fmt: skip
    case = load_case("steel-chain", changes)
    restitution = case.resolved()["contact"]["restitution"]
    assert case.contact.law == "flores"
    assert (restitution["law"], restitution["psi"], restitution["xi"]) == ("ma-liu", 3.0, 13.0)
    assert (case.chain.radius, case.striker.speed, case.title) == (2.38e-3, 2.9, "a=b")
    material = case.chain.material
    assert (case.energy.ledger, material.yield_stress, material.name) == (False, 1e9, "a = b")
    assert Case(**tomllib.loads(case.toml)) == case
    assert toml_value("1\n[chain]") == "1\n[chain]" and toml_value("none") == "none"
    wrong = ["contact.psi", "contact.psi.x=1", "x=1\n[y]", "striker.speed=-1"]
    no_value, no_place, *others = sentences_of(load_case, "steel-chain", wrong)
    assert no_value == ('--set: "contact.psi" is not KEY=VALUE. Write for example contact.psi=2.9.')
    assert no_place == (
        '"contact.psi.x": key not found. A key is the names of tables joined by dots, such as '
        "contact.psi."
    )
    assert [sentence.split(":")[0] for sentence in others] == ["x", "striker.speed"]


def rich():
    """Return a case with a value for every key."""
    changes = {
        "title": "all of it",
        "chain": {
            "radius": 1e-3, "material": "steel-316", "precompression": 3, "gravity": 9.81,
            "segment": [{"count": 2, "radius": 2e-3},
                        {"count": 1, "mass": 1e-3, "gap": 0.0, "repeat": 3}, {"count": 2}]},
        "ends": {
            "left": {"drive": "force", "time": [0, 1], "value": [0, 5]}, "right": "wall",
            "right_material": STUFF},
        "contact": FLORES | {"restitution": MALIU, "separation": "tensile", "impact_speed": 3},
        "sensors": {"beads": [2, 1], "contacts": [0, 11], "interval": 1e-6},
        "snapshots": {"interval": 1e-5},
        "energy": {"bound": 1e-3},
        "time": {"end": 1e-4, "step": 1e-8, "force_step": True},
    }  # fmt: skip
    return Case(**document(changes))


def test_a_case_made_from_its_resolved_tables_is_equal():
    case = rich()
    whole(case)
    resolved = case.resolved()
    assert hash(Case(**resolved)) == hash(case)
    stored = json.loads(json.dumps(case.as_given()))
    again = case_as_given(stored)
    assert (again, again.as_given(), again.title) == (case, stored, case.title)
    assert case_as_given(stored, toml="text").toml == "text"
    # pickled for another process
    assert copy.deepcopy(case) == case
    sent = pickle.loads(pickle.dumps(case))
    assert sent == case and sent.replace(**{"striker.speed": 3}).striker.speed == 3.0
    # all defaults are filled in: masses, expanded materials
    assert resolved["energy"] == {"ledger": True, "bound": 1e-3}
    assert Case(**BASE).chain.mass == Case(**BASE).resolved()["chain"]["mass"] == 0.45e-3
    assert (case.striker.radius, case.chain.segment[1].mass) == (2e-3, 1e-3)
    striker = resolved["striker"]
    assert (striker["material"]["youngs_modulus"], striker["radius"]) == (193e9, 2e-3)
    assert resolved["chain"]["segment"][1]["mass"] == 1e-3
    assert resolved["contact"]["restitution"]["dents"] == "keep"
    assert resolved["ends"]["left"]["value"] == [0.0, 5.0]


def test_a_title_is_as_the_author_wrote_it():
    title = "rig {striker.speed}; é"
    case = Case(**BASE).replace(title=title)
    for other in (
        case.replace(**{"striker.speed": 3, "snapshots": None}),
        case.replace({"contact": MALIU}),
        case_as_given(case.as_given()),
        Case(**case.resolved()),
    ):
        assert other.title == title
    for name in case_names():
        assert load_case(name, ["time.end=1e-3"]).title == load_case(name).title


def test_the_digest_is_of_what_is_computed():
    def digest(**changes):
        return Case(**document(changes)).sha256

    case, base = rich(), digest()
    assert Case(**dict(reversed(case.resolved().items()))).sha256 == case.sha256
    for built_in in map(load_case, case_names()):
        assert Case(**built_in.resolved()).sha256 == built_in.sha256
    assert digest(**{"chain.radius": "2.38 mm"}) == digest(**{"striker.speed": 1}) == base
    assert digest(contact=MALIU) == digest(contact=MALIU | {"xi": 13.0})
    assert digest(**{"striker.speed": np.nextafter(1.0, 2.0)}) != base
    # words, and values that were drawn for lists of the case
    words = {"chain.material.name": "mine", "chain.material.source": "mine"}
    for changes in ({"title": "rig B"}, {"chain.disorder_seed": 3}, {"ends.left": "free"}, words):
        assert Case(**BASE).replace(**changes).sha256 == base, changes
    pairs = [{"materials": ["steel-316", "steel-316"], "restitution": 0.5}]
    named = Case(**document({"contact": {"law": "tsuji", "restitution": 0.9, "pair": pairs}}))
    assert named.replace(**{"chain.material.source": "mine"}).sha256 == named.sha256
    titled = load_mechanism("slider-crank", ["title=rig B"])
    assert titled.sha256 == load_mechanism("slider-crank").sha256
    script = "from granchain import load_case; print(load_case('steel-chain').sha256)"
    assert answer(script, PYTHONHASHSEED="1") == load_case("steel-chain").sha256


# Errors that do not follow from each other.
STRUCK_MISTAKES = (
    {"chain.radius": "2,3 mm"}, {"chain.drag": -1.0}, {"chain.resonator": {"mass": 1.0}},
    {"chain.radius_factor": [1.0]}, {"chain.gravity": -1.0}, {"chian": {}},
    {"striker.sped": 1.0}, {"striker.mass": 0.0},
    {"ends.left": "wal"}, {"ends.right_contact": {"law": "hert"}},
    {"contact.restitution": 2.0}, {"contact.psi": 3.0},
    {"contact.pair": [{"materials": ["steel-316"], "separation": "clamped"}]},
    {"sensors.beads": [99]}, {"sensors.contacts": [77]}, {"sensors.interval": 0.0},
    {"snapshots": {"interval": -1.0}}, {"energy.bound": 0.0}, {"time.step": "fst"},
    {"tolerance": {"chain.gap": 0.1}}, {"title": "a\nb"}, {"initial": {"velocity": [1.0]}},
    {"drive": [{"bead": 9, "drive": "force", "signal": "pulse", "amplitude": 1.0}]},
)  # fmt: skip
DRIVEN_MISTAKES = (
    {"chain.segment.0.radius": -1.0}, {"chain.segment.1.taper": -1.0}, {"chain.drag": -1.0},
    {"chain.segment.0.contact": {"law": "hertz", "psi": 2.0}}, {"ends.left.frequency": -1.0},
    {"ends.left.amplitude": None}, {"ends.left.ramp_from": [1.0]}, {"ends.left.time": [0.0]},
    {"drive.0.bead": 99}, {"drive.0.ramp": -1.0}, {"contact.impact_speed": "striker"},
    {"contact.restitution": -1.0}, {"sensors.beads": [99]}, {"ends.right_material": "x"},
    {"time.end": None},
)  # fmt: skip


def harmonic(drive, **more):
    return {"drive": drive, "signal": "harmonic", "amplitude": 1e-8, "frequency": 1e4, **more}


def test_mistakes_that_do_not_follow_from_each_other_are_told_in_one_pass():
    struck = {"ends": {"right": "wall"}, "contact": {"law": "tsuji", "restitution": 0.9}}
    beads = [{"count": 3, "radius": 2e-3}, {"count": 3, "radius": 3e-3}]
    driven = {
        "chain": {"segment": beads, "material": "steel-316"}, "striker": None,
        "ends": {"left": harmonic("displacement", ramp=1e-5), "right": "wall"},
        "drive": [{"bead": 3, **harmonic("force")}],
        "contact": {"law": "flores", "restitution": 0.9, "impact_speed": 1.0},
    }  # fmt: skip
    for base, mistakes in ((struck, STRUCK_MISTAKES), (driven, DRIVEN_MISTAKES)):
        every = {key: value for mistake in mistakes for key, value in mistake.items()}
        told = problems(base | every)
        for mistake in mistakes:
            assert set(problems(base | mistake)) <= set(told), mistake


@pytest.mark.guard
def test_keys_and_tables_have_descriptions():
    case = load_case("steel-chain")
    assert about_key(case, "ends") == ("", "of the case: ends")
    assert about_key(case, "chain.radius") == ("m", "the radius of a bead")


def test_cases_differ_in_the_keys_that_their_authors_gave():
    light = {"chain.mass": None}
    case = Case(**document(light))
    # masses that follow from other keys do not count as keys of the author, and neither do given
    # defaults
    assert differences([case, case.replace({"chain.radius": 2e-3, "chain.gap": 0.0})]) == {
        "chain.radius": [2.38e-3, 2e-3]
    }
    other = case.replace({"contact": MALIU, "chain.material": "brass-260-half-hard"})
    assert differences([case, case, other]) == {
        "chain.material": ["steel-316", "steel-316", "brass-260-half-hard"],
        "contact.law": ["hertz", "hertz", "ma-liu"],
        "contact.psi": [None, None, 2.84],
        "contact.xi": [None, None, 13.0],
    }
    constants = case.chain.material.constants()
    assert differences([case, case.replace({"chain.material": constants})]) == {}
    two = load_mechanism("slider-crank").replace({"joint.clearance": 2e-4})
    assert [*differences([two, two.replace({"joint.clearance": 1e-4})])] == ["joint.clearance"]


def test_an_invalid_key_hides_no_mistake_of_its_table():
    # two errors of one key, a name with dots, and a required key
    changes = {"time": {"step": "fst", "end": -1.0, "a.b": 1}, "striker": {"speed": 0, "mass": -1}}
    places = ["time.end", "time.step", 'time."a.b"', "striker.speed", "striker.mass"]
    told = problems(changes)
    assert len(told) == len(places), told
    for place in places:
        assert any(sentence.startswith(place.replace('"', "")) for sentence in told), (place, told)


# --- Any input gives a case or messages
WORDS = [
    *("auto", "fast", "wall", "rigid", "free", "striker", "onset", "clamped", "steel-316"),
    *("ma-liu", "hertz", "flores", "force", "law", "chain.csv", "/dev/zero", "7.8 g/cm^3"),
    *("2.38 mm", "1e999 mm", "5 us", "9**9**9 s", "nan m", "1 Mm", "\0", "\x1b[31m", "\ud800"),
]
KEYS = [
    *("law", "psi", "xi", "restitution", "beads", "radius", "material", "segment", "count"),
    *("repeat", "drive", "file", "time", "value", "x"),
]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([0, 1, 5, 10**15, 2**63, -(2**63), 10**400, 5e-324, 1e308, 1e-308, -0.0]),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(WORDS),
    st.dates(),
    st.just(datetime.datetime(2022, 1, 1)),
    st.binary(max_size=4),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


def places(value, way=()):
    """Return the paths of all keys and elements of a document."""
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [found for key, inner in items for found in [(*way, key), *places(inner, (*way, key))]]


@cache
def documents():
    """Return complete cases, of which the mutants are made."""
    resolved = [load_case("steel-chain").resolved(), rich().resolved()]
    return [BASE, *resolved, {**BASE, "contact": FLORES}]


@st.composite
def mutants(draw):
    """Return complete cases with a few keys changed, removed, added, or doubled."""
    made = copy.deepcopy(documents()[draw(st.integers(0, 3))])
    for _ in range(draw(st.integers(1, 4))):
        found = places(made)
        if not found:
            break
        *way, last = draw(st.sampled_from(found))
        at = made
        for key in way:
            at = at[key]
        action = draw(st.sampled_from(["change", "change", "take", "add"]))
        if action == "take":
            del at[last]
        elif action == "add" and isinstance(at, dict):
            at[draw(st.sampled_from(KEYS) | st.text(max_size=5))] = draw(VALUES)
        else:
            at[last] = draw(VALUES)
    return made


def whole(case):
    """Check the properties of every accepted case."""
    again = Case(**json.loads(json.dumps(case.resolved())))
    assert again == case and again.sha256 == case.sha256
    if case.beads < 10_000:
        bodies = case.bodies()
        count = case.beads + (case.striker is not None)
        assert {len(bodies[name]) for name in ("radius", "mass", "speed", "material")} == {count}
        assert len(bodies["gap"]) == count - 1
        assert (bodies["radius"] > 0.0).all() and (bodies["mass"] > 0.0).all()
        assert (bodies["gap"] >= 0.0).all()
    inputs = laws()[case.contact.law].inputs
    assert vars(case.law_inputs()).keys() == {quantity.name for quantity in inputs}


def check_refusal(problems):
    assert problems
    for sentence in problems:
        assert has_error_form(sentence), sentence
        assert sentence.isprintable()


PIECES = st.binary(max_size=6) | st.sampled_from(
    [
        *b'[ ] { } = . \' " """ # [[ 1e400 nan -inf [chain] 1979-05-27 \\ud800 \\u001b'.split(),
        *(b"\n", b"\r", b"0x" + b"f" * 80, b"\xef\xbb\xbf", b"\xff\xfe", b"\x00"),
        *(b"[[" * 3000, b"a." * 3000),
    ]
)


def read_file(cuts):
    """Check a case file in which pieces of text replace some of the content."""
    content = STEEL.encode()
    for start, length, piece in cuts:
        content = content[:start] + piece + content[start + length :]
    with tempfile.TemporaryDirectory() as folder:
        return load_case(written(Path(folder), content))


def read_number(one):
    """Check that any text for a number is read as a finite number or refused."""
    try:
        assert np.isfinite(in_si(*one))
    except ValueError as error:
        assert "Write" in str(error) or "Did you mean" in str(error)


CHANGES = st.tuples(
    st.sampled_from(["contact.", "chain.", "time.", ""]),
    st.sampled_from(KEYS) | st.text(max_size=5),
    st.text(max_size=9),
)
NUMBERS = st.text(alphabet="0123456789.eE+-*/^ mskgNPa\u00b5,_", max_size=14)
CUTS = st.tuples(st.integers(0, len(STEEL)), st.integers(0, 30), PIECES)
INPUTS = {
    "mutated cases": (Case.model_validate, mutants()),
    "mutated files": (read_file, st.lists(CUTS, min_size=1, max_size=4)),
    "changes on the command line": (
        lambda changes: load_case("steel-chain", [f"{one[0]}{one[1]}={one[2]}" for one in changes]),
        st.lists(CHANGES, max_size=3),
    ),
    "names of a case": (load_case, st.text(max_size=20) | st.sampled_from(WORDS)),
    "texts for a number": (
        read_number,
        st.tuples(NUMBERS, st.sampled_from(["m", "s", "Pa", "kg/m^3", "N/m^n", "1"])),
    ),
}


@pytest.mark.promise("I1")
@pytest.mark.parametrize("what", INPUTS)
@pytest.mark.parametrize(
    "examples", [30, pytest.param(10_000, marks=[pytest.mark.long, pytest.mark.timeout(3600)])]
)
def test_any_input_is_read_or_refused_with_a_sentence(what, examples, figure):
    read, drawn = INPUTS[what]
    tried = []

    @settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(drawn)
    def each(one):
        try:
            case = read(one)
        except CaseError as error:
            check_refusal(error.problems)
        except FileError as error:
            check_refusal([str(error)])
        else:
            if case is not None:
                whole(case)
        tried.append(1)

    each()
    told = f"{what}: read or refused with a message, without a traceback"
    figure(told, len(tried), at_least=examples)


def test_of_very_many_unknown_tables_a_hundred_are_listed_and_none_is_read():
    class Unread(Mapping[str, Any]):
        """A table that must not be read."""

        def __getitem__(self, name):
            raise AssertionError("an unknown table was read")

        __iter__ = __len__ = __getitem__

    told = sentences_of(Case, **BASE, **{f"table{i}": Unread() for i in range(60_000)})
    first, *_, last = told
    assert len(told) == 101
    assert first.startswith("table0: unknown key. The keys are title, chain, ")
    assert last == "case: 59900 more errors are not shown. Fix these first."
