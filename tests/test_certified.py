"""A run reports in one line that the verification report of its law has problems, or is missing.

The table for this message matches the current laws."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from granchain.cli import obey
from granchain.contact import certified as table
from granchain.contact import laws
from granchain.contact.certified import about_certificate, certified
from granchain.contact.hertz import Hertz
from granchain.contact.law import states_that_occur

DOCS = Path(__file__).parents[1] / "docs"


def told(monkeypatch, **changed):
    """Return the table with other entries for Hertz."""
    entry = {"problems": [], "created_as_printed": 0.0} | changed
    monkeypatch.setattr(table, "certified", lambda: {"hertz": entry})


@pytest.fixture
def script(monkeypatch):
    """Return docs/laws.py as a module; its equations need sympy, which is slow to load."""
    monkeypatch.syspath_prepend(str(DOCS))
    import laws as script

    yield script
    script.definitions.cache_clear()


@pytest.fixture(scope="module")
def sources():
    """Return the source of each law, by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS))
        import laws as script

        yield {name: script.source_of(law) for name, law in laws().items()}


@pytest.mark.guard
def test_every_law_of_the_package_has_a_certificate_of_its_present_source(script, sources):
    ours = {n: law for n, law in laws().items() if law.__module__.startswith("granchain.contact.")}
    assert set(certified()) == set(ours) and len(ours) > 40
    measured = script.measured()
    stale = [name for name in ours if measured[name]["source"] != sources[name]]
    assert not stale, "run make laws"
    modules = {name: law.__module__.rpartition(".")[2] for name, law in ours.items()}
    assert {name: entry["module"] for name, entry in certified().items()} == modules
    phases = {name: [*states_that_occur(law)] for name, law in ours.items()}
    assert {name: entry["phases"] for name, entry in certified().items()} == phases
    assert {name: about_certificate(law) for name, law in ours.items()} == dict.fromkeys(ours)


@pytest.mark.parametrize(
    ("module", "text", "changed"),
    [
        # a class, a formula that three modules share, and a base class
        ("viscous", "class Ristow", {"ristow"}),
        pytest.param("maliu", "class MaLiu", {"ma-liu"}, marks=pytest.mark.long),
        ("guard", "class Elastoplastic", {"brake", "ma-liu", "thornton"}),
        pytest.param(
            "hysteresis", "class Hysteresis", {"flores", "gonthier"}, marks=pytest.mark.long
        ),
        # the base class is shared by all laws
        ("law", "class ContactLaw", set()),
        pytest.param("model", "class Model", set(), marks=pytest.mark.long),
    ],
)
def test_a_law_is_measured_again_where_its_own_source_changed(
    module, text, changed, script, sources, monkeypatch, tmp_path
):
    shutil.copytree(script.CONTACT, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(script, "CONTACT", tmp_path)
    file = tmp_path / f"{module}.py"
    # a comment in the line of the class, which is part of the source
    file.write_text(re.sub(f"({text}.*:)", r"\1  # edited", file.read_text(), count=1))
    script.definitions.cache_clear()
    differs = {name for name, law in laws().items() if script.source_of(law) != sources[name]}
    assert changed <= differs and ("hertz" in differs) is False
    if module in ("viscous", "law", "model"):
        assert differs == changed


def test_the_equations_are_printed_before_a_law_is_measured(script, monkeypatch):
    def clash():
        raise ValueError("two symbols of one name")

    monkeypatch.setattr(script, "printed_equations", clash)
    monkeypatch.setattr(script, "certificate", lambda law: pytest.fail("measured first"))
    with pytest.raises(ValueError, match="two symbols"):
        script.main(["--all"])


def test_a_law_that_was_not_measured_is_named_by_the_check(script, monkeypatch):
    table = script.measured()
    table["flores"]["source"] = "of yesterday"
    monkeypatch.setattr(script, "measured", lambda: table)
    with pytest.raises(SystemExit, match=r"no measurement of flores as it is now. Run make laws"):
        script.main(["--check"])


@pytest.mark.guard
def test_the_table_holds_what_the_page_of_the_laws_prints():
    page = (DOCS / "laws.md").read_text()
    sections = {part.partition("\n")[0]: part for part in page.split("\n### ")[1:]}
    for name, entry in certified().items():
        assert (f"Problem: {name}" in sections[name]) is bool(entry["problems"]), name
        start, share = "| energy, as published | a cycle", 100.0 * entry["created_as_printed"]
        assert (start in sections[name]) is (share > 0.0), name
        printed = f"{start} returns up to {share:.2g} % more energy than is supplied |"
        assert share == 0.0 or printed in sections[name], name


@pytest.mark.plain
def test_a_law_that_failed_its_certificate_is_told_of(monkeypatch):
    told(monkeypatch)
    assert about_certificate(Hertz) is None and about_certificate(Hertz, as_printed=True) is None
    told(monkeypatch, problems=["hertz creates energy", "hertz states order 2"])
    assert str(about_certificate(Hertz)) == (
        'warning: contact law "hertz" failed its verification: hertz creates energy; hertz states '
        "order 2."
    )
    told(monkeypatch, created_as_printed=0.013)
    assert about_certificate(Hertz) is None
    assert str(about_certificate(Hertz, as_printed=True)) == (
        'warning: contact law "hertz", as published and without the energy correction, failed its '
        "verification. A cycle returns up to 1.3 % more energy than it took."
    )


@pytest.mark.plain
def test_a_law_without_a_certificate_is_told_of(monkeypatch):
    unmeasured = (
        'contact law "hertz" has no verification report. Its energy, order in time, and units were '
        "not checked."
    )
    # a user's law with the name of a law in the table does not get its report; not a class, which
    # would join the laws of other tests
    mine = SimpleNamespace(name="hertz", __module__="granchain_law_mine")
    measure = 'To check them, run "granchain laws hertz --law-module FILE".'
    assert "hertz" in certified() and str(about_certificate(mine)) == f"{unmeasured} {measure}"
    monkeypatch.setattr(table, "certified", dict)
    measure = 'To check them, run "granchain laws hertz".'
    assert str(about_certificate(Hertz)) == f"{unmeasured} {measure}"


def test_a_run_says_so_in_one_line_and_its_file_keeps_it(monkeypatch, here, obeyed, capsys):
    few = ("chain.beads=3", "sensors.beads=[2]", "sensors.contacts=[1]", "time.end=6e-5")
    run = ["run", "steel-chain-hertz", *(f"--set={change}" for change in few), "--out"]
    assert "verification report" not in "".join(obeyed(*run, "clean.h5"))
    told(monkeypatch, problems=["hertz creates energy"])
    assert obey([*run, "failed.h5"]) == 0
    failed = 'contact law "hertz" failed its verification: hertz creates energy.'
    warnings = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
    assert warnings == [f"granchain: warning: {failed}"]
    monkeypatch.setattr(table, "certified", dict)
    messages = json.loads(obeyed(*run, "none.h5", "--json").out)["messages"]
    assert any("has no verification report" in message for message in messages)
    assert "failed its verification: hertz creates energy." in obeyed("info", "failed.h5").out


@pytest.mark.plain
def test_a_case_imports_only_the_module_of_its_law():
    code = (
        "import sys, granchain as gc; gc.load_case('steel-chain'); "
        "print(*[name for name in sys.modules if name.startswith('granchain.contact.')]); "
        "print(len(gc.laws()))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules, listed = shown.stdout.splitlines()
    assert "granchain.contact.maliu" in modules and "granchain.contact.viscous" not in modules
    assert int(listed) == len(laws()) and repr(laws()) == repr(dict(laws()))


@pytest.mark.plain
def test_a_law_is_looked_for_in_its_module_then_in_all(monkeypatch):
    imported = []
    monkeypatch.setattr("granchain.contact.law.REGISTRY", {})
    monkeypatch.setattr("granchain.contact._import_all", lambda: imported.append("all"))
    monkeypatch.setattr("importlib.import_module", imported.append)
    assert "hertz" not in laws() and imported == ["granchain.contact.hertz", "all"]
