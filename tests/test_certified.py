"""A run says in one line that its law failed its certificate, or has none; the table it knows
that from is of the laws as they stand."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from granchain.cli import obey
from granchain.contact import certified as table
from granchain.contact import laws
from granchain.contact.certified import about_certificate, certified, source_of
from granchain.contact.hertz import Hertz

ROOT = Path(__file__).parents[1]


def of_the_package():
    return {
        name: law for name, law in laws().items() if law.__module__.startswith("granchain.contact.")
    }


def told(monkeypatch, **changed):
    """The table with other entries for Hertz."""
    entry = {"source": source_of(Hertz), "problems": [], "created_as_printed": 0.0} | changed
    monkeypatch.setattr(table, "certified", lambda: {"hertz": entry})


@pytest.mark.plain
def test_every_law_of_the_package_has_a_certificate_of_its_present_source():
    ours = of_the_package()
    assert set(certified()) == set(ours) and len(ours) > 40
    stale = sorted(
        name for name, law in ours.items() if certified()[name]["source"] != source_of(law)
    )
    assert not stale, "write the table anew with make laws"
    assert {name: about_certificate(law) for name, law in ours.items()} == dict.fromkeys(ours)


def test_the_table_holds_what_the_page_of_the_laws_prints():
    page = (ROOT / "docs" / "laws.md").read_text()
    sections = {part.partition("\n")[0]: part for part in page.split("\n### ")[1:]}
    for name, entry in certified().items():
        assert (f"Problem: {name}" in sections[name]) is bool(entry["problems"]), name
        printed = (
            "| energy, as printed | a cycle returns up to "
            f"{100.0 * entry['created_as_printed']:.2g} % more than it took |"
        )
        assert entry["created_as_printed"] == 0.0 or printed in sections[name], name
        assert (
            entry["created_as_printed"] > 0.0
            or "| energy, as printed | a cycle" not in sections[name]
        ), name


@pytest.mark.plain
def test_a_law_that_failed_its_certificate_is_told_of(monkeypatch):
    told(monkeypatch)
    assert about_certificate(Hertz) is None and about_certificate(Hertz, as_printed=True) is None
    told(monkeypatch, problems=["hertz creates energy", "hertz states order 2"])
    assert (
        str(about_certificate(Hertz))
        == 'warning: contact law "hertz" failed its certificate: hertz creates energy; hertz '
        "states order 2"
    )
    told(monkeypatch, created_as_printed=0.013)
    assert about_certificate(Hertz) is None
    assert str(about_certificate(Hertz, as_printed=True)) == (
        'warning: contact law "hertz" as printed, without the energy guard, failed its '
        "certificate: a cycle returns up to 1.3 % more than it took"
    )


@pytest.mark.plain
def test_a_law_without_a_certificate_is_told_of(monkeypatch, tmp_path):
    told(monkeypatch, source="of yesterday")
    changed = (
        'contact law "hertz" has no certificate: its source is not the one that was measured; '
        '"granchain laws hertz" measures it'
    )
    assert str(about_certificate(Hertz)) == f"warning: {changed}"
    told(monkeypatch)
    monkeypatch.setattr(
        table.sys.modules["granchain.contact.hertz"], "__file__", str(tmp_path / "gone.py")
    )
    assert str(about_certificate(Hertz)) == f"warning: {changed}"
    monkeypatch.setattr(table, "certified", dict)
    sentence = (
        'contact law "hertz" has no certificate: what it delivers was not measured; "granchain '
        'laws hertz" measures it'
    )
    assert str(about_certificate(Hertz)) == sentence


@pytest.mark.plain
def test_a_law_of_the_users_own_has_no_certificate_whatever_its_name():
    # the name of a law in the table does not lend its certificate; no class, which would join the
    # laws that other tests go over
    mine = SimpleNamespace(name="hertz", __module__="granchain_law_mine")
    assert "hertz" in certified()
    measure = '"granchain laws hertz --law-module FILE" measures it'
    sentence = (
        f'contact law "hertz" has no certificate: what it delivers was not measured; {measure}'
    )
    assert str(about_certificate(mine)) == sentence


def test_a_run_says_so_in_one_line_and_its_file_keeps_it(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    case = [
        "steel-chain-hertz",
        *(
            f"--set={change}"
            for change in (
                "chain.beads=3",
                "sensors.beads=[2]",
                "sensors.contacts=[1]",
                "time.end=2e-5",
            )
        ),
    ]
    assert obey(["run", *case, "--out", "clean.h5"]) == 0
    assert "certificate" not in "".join(capsys.readouterr())
    told(monkeypatch, problems=["hertz creates energy"])
    assert obey(["run", *case, "--out", "failed.h5"]) == 0
    err = capsys.readouterr().err
    assert (
        err
        == 'granchain: warning: contact law "hertz" failed its certificate: hertz creates energy\n'
    )
    monkeypatch.setattr(table, "certified", dict)
    assert obey(["run", *case, "--out", "none.h5", "--json"]) == 0
    assert any(
        "has no certificate" in message["text"]
        for message in json.loads(capsys.readouterr().out)["messages"]
    )
    assert (
        obey(["info", "failed.h5"]) == 0
        and "failed its certificate: hertz creates energy" in capsys.readouterr().out
    )
