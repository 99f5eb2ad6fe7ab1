"""The JSON schema of case files accepts cases, and rejects wrong keys, values, and inputs."""

import copy
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest
from support.random_cases import random_cases

import granchain
from granchain.case.document import CASES, set_value
from granchain.case.schema import PRINTABLE, schema_text
from granchain.contact import laws

FILE = Path(granchain.__file__).parent / "case.schema.json"
SCHEMA = json.loads(FILE.read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
STEEL = tomllib.loads((CASES / "steel-chain.toml").read_text(encoding="utf-8"))


def changed(changes):
    document = copy.deepcopy(STEEL)
    for key, value in changes.items():
        set_value(document, key, value)
    return document


def patterns(schema):
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        for inner in schema.values():
            yield from patterns(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from patterns(inner)


@pytest.mark.guard
def test_the_schema_in_the_package_is_that_of_the_models_and_the_laws():
    # in a new process, which has no other laws
    command = [sys.executable, "-m", "granchain", "cases", "--schema"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed == FILE.read_text(encoding="utf-8"), "run make schema"
    assert json.loads(schema_text())["properties"] == SCHEMA["properties"]
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert {re.compile(pattern).pattern for pattern in patterns(SCHEMA)} >= {PRINTABLE}
    for name, law in laws().items():
        if f"law {name}" in SCHEMA["$defs"]:
            described = SCHEMA["$defs"][f"law {name}"]["properties"]
            assert described.keys() == {"law", *(quantity.name for quantity in law.inputs)}


def messages(document):
    return [error.message for error in VALIDATOR.iter_errors(document)]


@pytest.mark.guard
def test_every_built_in_case_is_valid():
    for path in CASES.glob("*.toml"):
        assert messages(tomllib.loads(path.read_text(encoding="utf-8"))) == [], path


@pytest.mark.long
def test_random_cases_of_all_laws_are_valid():
    for case in random_cases(len(laws()), 51):
        assert VALIDATOR.is_valid(case.as_given()["tables"]), case.toml
        assert VALIDATOR.is_valid(tomllib.loads(case.toml))


RESONATOR = {"mass": 1e-4, "stiffness": 1e6}
DRIVE = {"drive": "displacement", "signal": "chirp", "amplitude": 1e-8, "from": 1e3, "to": "9 kHz",
         "duration": 1e-3, "ramp": 1e-4}  # fmt: skip
GOOD = (
    {"chain.radius": "2.38 mm", "chain.material": {"youngs_modulus": "193 GPa",
     "poissons_ratio": 0.3}}, {"chain.resonator": RESONATOR}, {"chain.resonator": [RESONATOR]},
    {"sensors.beads": "1-70:5", "sensors.contacts": "all"}, {"time.step": "fast"},
    {"time.step": 1e-8}, {"ends.left": DRIVE}, {"drive": [{"bead": 3, "drive": "force",
     "file": "push.csv"}]}, {"contact": {"law": "mine", "anything": 1.0}},
    {"contact": {"law": "tsuji", "restitution": {"law": "ma-liu", "psi": 2.8, "xi": 13.0}}},
    {"contact": {"law": "tsuji", "restitution": 0.9, "pair": [{"materials": ["a", "b"],
     "restitution": 0.5}]}}, {"tolerance": {"striker.speed": 0.02}}, {"initial.file": "run.h5"},
    {"ends.right": {"plate": {"thickness": "10 mm", "material": "steel-316"}}},
)  # fmt: skip
BAD = (
    {"chain.radius": "2,38 mm"}, {"chain.radius": -1.0}, {"chain.radus": 1.0}, {"chian": {}},
    {"chain.beads": 2.5}, {"chain.material": "steel"}, {"contact.psy": 1.0}, {"contact.psi": None},
    {"contact.psi": -1.0}, {"contact.law": "hertz"}, {"contact.law": None}, {"time.step": "fst"},
    {"title": "two\nlines"}, {"striker.speed": True}, {"chain.resonator": {"mass": 1.0}},
    {"ends.left": "wal"}, {"ends.left": DRIVE | {"frequncy": 1.0}}, {"time": None},
    {"sensors.beads": [1.5]}, {"drive": [{"drive": "force"}]},
)  # fmt: skip


def test_forms_of_values_are_accepted_and_mistakes_are_rejected():
    for changes in GOOD:
        assert messages(changed(changes)) == [], changes
    for changes in BAD:
        assert messages(changed(changes)), changes
