"""The commands `laws` and `impact`: verification reports, impacts, and messages about invalid
input."""

import json
import math
import re
import shlex
import sys
from pathlib import Path

import pytest
from support.refused import refused

import granchain as gc
from granchain.certificates import example_pair
from granchain.cli import obey
from granchain.contact import families, laws
from granchain.contact import law as law_module
from granchain.contact.user import PREFIX, load_law_module
from granchain.studies.collisions import SCALAR_NAMES
from granchain.two_body import impact

MA_LIU = ("--set", "psi=2.84", "--set", "xi=13")


@pytest.fixture(autouse=True)
def own_laws(monkeypatch):
    """Remove the laws that a test loads after the test, and their files."""
    monkeypatch.setattr(law_module, "REGISTRY", dict(laws()))
    yield
    for name in [name for name in sys.modules if name.startswith(PREFIX)]:
        del sys.modules[name]


def told(capsys, *arguments):
    """Return the output of a command that must succeed."""
    assert obey(arguments) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def facts(capsys, *arguments):
    """Return the object that a command prints with --json."""
    return json.loads(told(capsys, *arguments, "--json"))


@pytest.mark.guard
@pytest.mark.parametrize("columns", ["250", "60"])
def test_the_list_names_every_law_under_its_family_in_a_line_that_fits(
    columns, capsys, monkeypatch
):
    listed = {law["name"]: law for law in facts(capsys, "laws")["laws"]}
    assert list(listed) == list(laws())
    for name, law in laws().items():
        assert listed[name]["source"]["text"] == law.source.text
        inputs = [(i["name"], i["unit"], i["allowed"]) for i in listed[name]["inputs"]]
        assert inputs == [(q.name, q.unit, q.range) for q in law.inputs]
    monkeypatch.setenv("COLUMNS", columns)
    lines = told(capsys, "laws").splitlines()
    # two screens of 40 lines
    assert max(map(len, lines)) <= min(int(columns), 80) and len(lines) <= 80
    titles = [line for line in lines if line and not line.startswith((" ", "granchain"))]
    assert titles == [family.title for family in families()]
    assert titles[-1].startswith("Line contact of parallel cylinders")
    short = dict(line.strip().split("  ", 1) for line in lines if line.startswith("  "))
    assert set(short) == set(laws()) and short["hertz"].strip() == "Elastic spheres: F = K d^1.5"
    for name, what in short.items():
        what = what.strip().removesuffix("...")
        assert len(what) > 3 and laws()[name].summary().startswith(what)


def test_the_report_of_a_law_is_written_to_a_file(here, capsys):
    (report,) = facts(capsys, "laws", "hertz", "--out", "hertz.h5")["laws"]
    opened = gc.open("hertz.h5")
    assert isinstance(opened, gc.Certificate) and opened.as_dict().items() <= report.items()
    assert report["name"] == opened.law == "hertz" and opened.law_class is laws()["hertz"]
    assert obey(["laws", "--out", "all.h5"]) == 2
    assert "--out requires NAME" in capsys.readouterr().err


@pytest.mark.parametrize("columns", ["250", "72"])
def test_a_law_is_told_whole_in_lines_that_fit(columns, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    text = told(capsys, "laws", "flores")
    assert max(map(len, text.splitlines())) <= min(int(columns), 100)
    law, words = laws()["flores"], " ".join(text.split())
    names = (quantity.name for quantity in (*law.inputs, *law.coefficients))
    for word in (law.source.doi, law.validity, law.status, *names):
        assert word in words
    # the closed form of the effective restitution, to the digits shown (docstring of the law)
    assert re.search(r"0\.5 +0\.4704\n", text)
    assert "no cycle creates energy" in text and "order in time   2.0" in text


WRONG_LAW = """
from granchain.contact.hertz import Hertz
class Wrong(Hertz):
    'No force is a number.'
    name = "wrong"
    force = staticmethod(lambda overlap, rate, c, h: overlap / (overlap - overlap))
"""


def test_a_problem_of_a_law_is_told_and_ends_in_exit_5(here, obeyed):
    (here / "wrong.py").write_text(WRONG_LAW)
    said = obeyed("laws", "wrong", "--law-module", "wrong.py", code=5)
    assert said.err.startswith("granchain: wrong: the force is not finite (nan) at overlap ")
    assert said.err.count("\n") == 1
    assert "Problem: wrong: the force is not finite (nan)" in said.out


def test_the_schema_of_case_files_contains_the_law_of_a_file(here, obeyed):
    (here / "wrong.py").write_text(WRONG_LAW)
    schema = json.loads(obeyed("cases", "--schema", "--law-module", "wrong.py").out)
    assert "wrong" in json.dumps(schema["$defs"])


def test_an_impact_is_that_of_python_and_its_pair_is_told(capsys):
    command = ("impact", "flores,ma-liu", "--speed", "1.77", "--set", "restitution=0.7", *MA_LIU)
    given = facts(capsys, *command)
    assert given["command"] == "impact" and given["figure"] is None
    assert given["pair"] == example_pair().items() and given["law"] == ["flores", "ma-liu"]
    inputs = ({"restitution": 0.7}, {"psi": 2.84, "xi": 13.0})
    for k, (law, values) in enumerate(zip(given["law"], inputs, strict=True)):
        result = impact(law=law, speed=1.77, refine=4.0, **values).as_dict()
        for name, scalar in SCALAR_NAMES.items():
            assert given[name][k] == result[scalar]
        assert values.items() <= given["inputs"][law].items()
    text = told(capsys, *command)
    assert "effective_radius = 0.00119 m" in text and "Wang, Liu & Liu 2022, table 8" in text
    assert re.search(r"^restitution +0\.683182 +0\.839021$", text, re.MULTILINE)
    # an input goes to all laws that have it, or to the specified law
    sets = ("restitution=.5", "tsuji.restitution=0.8", "separation=tensile")
    arguments = ("flores,tsuji", "--speed", "1", *(f"--set={change}" for change in sets))
    given = facts(capsys, "impact", *arguments)
    first, second = given["inputs"].values()
    assert (first["restitution"], second["restitution"]) == (0.5, 0.8)
    assert first["separation"] == second["separation"] == "tensile"
    # exact if the contact ends at d = 0
    assert given["delivered_restitution"][1] == pytest.approx(0.8, abs=1e-5)


@pytest.mark.usefixtures("blank_pictures")
def test_a_sweep_over_restitutions_is_a_table_and_a_figure(here, obeyed, capsys):
    sweep = (
        "impact gonthier-exact,flores --speed 1.77 --vary restitution=0.1,0.5,0.9 --figure e.svg"
    )
    given = facts(capsys, *sweep.split())
    assert given["restitution"] == [0.1, 0.5, 0.9]
    # the nominal values; and 0.0694, 0.4704, 0.8939 for Flores et al. from the closed form
    expected = [[0.1, 0.5, 0.9], [0.0694, 0.4704, 0.8939]]
    for row, values in zip(given["delivered_restitution"], expected, strict=True):
        assert row == pytest.approx(values, abs=6e-5)
    assert b"<svg" in (here / "e.svg").read_bytes()
    # for several speeds, and for one speed
    command = ("impact", "flores", "--set", "restitution=0.7", "--figure", "drawn.png")
    assert facts(capsys, *command, "--vary", "speed=1,2")["figure"] == "drawn.png"
    assert (here / "drawn.png").read_bytes().startswith(b"\x89PNG")
    # existing files are not changed
    assert "--overwrite" in obeyed(*command, "--speed", "1", code=4).err
    assert obey([*command, "--speed", "1", "--overwrite"]) == 0


def test_out_writes_an_impact_or_a_dataset_of_impacts(here, obeyed, capsys):
    command = ("impact", "flores", "--speed", "1", "--set", "restitution=0.7", "--out", "a.h5")
    given = facts(capsys, *command)
    opened = gc.open("a.h5")
    assert isinstance(opened, gc.ImpactResult) and opened.as_dict().items() <= given.items()
    assert opened["contact.restitution"] == 0.7
    assert "already exists" in obeyed(*command, code=4).err
    names = obeyed("plot", "a.h5", "--format", "svg").out.split()
    assert names == ["a-impact-loops.svg"]
    several = "impact flores,tsuji --speed 1 --vary restitution=0.1,0.5,0.9 --out b.h5"
    given = facts(capsys, *several.split())
    study = gc.open("b.h5")
    assert study.delivered_restitution.dims == ("law", "restitution")
    assert study.delivered_restitution.values.tolist() == given["delivered_restitution"]
    assert json.loads(study.attrs["inputs_json"])["tsuji"]["speed"] == 1.0


def test_varied_plates_are_those_of_python(capsys):
    thicknesses, steel = [2e-3, 4e-3], {"material": "steel-316"}
    command = ("impact", "hertz", "--speed", "1", "--vary", "plate.thickness=2e-3,4e-3")
    command += ("--set", "plate.material=steel-316")
    given = facts(capsys, *command)
    assert given["plate.thickness"] == thicknesses
    plates = [steel | {"thickness": thickness} for thickness in thicknesses]
    alone = [impact(law="hertz", speed=1.0, refine=4.0, plate=plate) for plate in plates]
    for name in ("radiated", "impedance", "dissipated"):
        assert given[name] == [[result[name] for result in alone]]
    text = told(capsys, *command)
    assert "a plate, steel-316" in text
    assert re.search(r"^plate\.thickness \[m\] +hertz$", text, re.MULTILINE)


def test_wrong_input_is_told_in_a_sentence(here, obeyed):
    for command, code, *words in refused("command of impacts and laws"):
        said = obeyed(*shlex.split(command), code=code)
        assert said.out == "" or "--json" in command
        assert said.err.startswith("granchain: ") and "Traceback" not in said.err
        assert all(word in said.err for word in words), said.err
    assert list(here.iterdir()) == []


def test_the_example_law_has_its_closed_forms(plain_loop):
    load_law_module(Path(__file__).parents[1] / "docs" / "examples" / "my_law.py")
    stiffness, speed, e = 1e7, 1.77, 0.7
    found = impact(
        law="latching-spring", speed=speed, refine=2.0, stiffness=stiffness, restitution=e
    )
    # for the example pair; 25 times the errors with a tenth of the automatic step
    beat = math.sqrt(2.25e-4 / stiffness)
    assert found.restitution == pytest.approx(e, rel=2.5e-5)
    assert found.max_overlap == pytest.approx(speed * beat, rel=2.5e-4)
    assert found.residual_overlap == pytest.approx((1.0 - e * e) * found.max_overlap, rel=2.5e-4)
    # a quarter of a period of each spring: K, and K/e^2
    times = (found.approach_time, found.recovery_time / e)
    assert times == pytest.approx([0.5 * math.pi * beat] * 2, rel=2.5e-3)
