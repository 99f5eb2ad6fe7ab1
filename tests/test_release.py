"""Files of a release: they ask for the information that people must supply, the paper contains its
required sections, the recipe contains the requirements of the project, and the pages list the
tested Python versions."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_a_release_is_refused_until_people_have_filled_in_what_is_theirs():
    check = [sys.executable, "docs/release_check.py", "v9.9.9"]
    done = subprocess.run(check, cwd=ROOT, capture_output=True, text=True, check=False)
    told = done.stdout.splitlines()
    marks = {"pyproject.toml": "developers", "CITATION.cff": "developers"}
    marks |= {"paper.md": "TO FILL IN", "SECURITY.md": "TO FILL IN"}
    marks |= {".zenodo.json": "developers", "README.md": "TO FILL IN"}
    pages = [page for page, mark in marks.items() if mark in (ROOT / page).read_text("utf-8")]
    assert all(any(line.startswith(page) for line in told) for page in pages)
    assert done.returncode == 1 and "tag: v9.9.9 does not match the version. It must" in done.stdout
    said = re.search(r"release-check: (\d+) missing", told[-1])[1]
    assert int(said) == len(told) - 1 > len(pages)


@pytest.mark.guard
def test_the_paper_names_what_its_list_has():
    paper, listed = ((ROOT / name).read_text("utf-8") for name in ("paper.md", "paper.bib"))
    named = set(re.findall(r"@([a-z-]+-\d{4})", paper))
    assert named == set(re.findall(r"^@\w+\{([a-z-]+-\d{4}),", listed, re.MULTILINE))


@pytest.mark.guard
def test_the_paper_has_the_sections_that_joss_requires_in_their_order():
    # https://joss.readthedocs.io/en/latest/paper.html, for submissions from 2026
    required = ["Summary", "Statement of need", "State of the field", "Software design"]
    required += ["Research impact statement", "AI usage disclosure", "Acknowledgements"]
    required.append("References")
    paper = (ROOT / "paper.md").read_text("utf-8")
    assert re.findall(r"^# (.+)$", paper, re.MULTILINE) == required
    # limits of the text length, without metadata
    assert 750 <= len(paper.split("---\n", 2)[2].split()) <= 1750


@pytest.mark.guard
def test_the_record_of_zenodo_agrees_with_the_citation_file():
    record = json.loads((ROOT / ".zenodo.json").read_text("utf-8"))
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    abstract, license = (
        re.search(f"^{key}: (.+)$", citation, re.MULTILINE)[1] for key in ("abstract", "license")
    )
    assert (record["description"], record["license"]) == (abstract, license)
    assert record["keywords"] == re.findall(r"^  - (?!name)(.+)$", citation, re.MULTILINE)
    names = re.findall(r"^  - name: (.+)$", citation, re.MULTILINE)
    assert [creator["name"] for creator in record["creators"]] == names


@pytest.mark.guard
def test_the_recipe_of_conda_asks_for_what_the_project_needs_in_its_lowest_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    recipe = (ROOT / "docs" / "release.md").read_text(encoding="utf-8")
    host, run = re.findall(r"^  (?:host|run):\n((?:    - .*\n)+)", recipe, re.MULTILINE)
    for asked, needs in (
        (host, project["build-system"]["requires"]),
        (run, project["project"]["dependencies"]),
    ):
        # conda's matplotlib installs a graphical toolkit
        listed = asked.replace(" ", "").replace("matplotlib-base", "matplotlib")
        bounds = {line.removeprefix("-") for line in listed.splitlines()}
        assert {one for one in bounds if not one.startswith(("python", "pip"))} == set(needs)


@pytest.mark.guard
def test_the_stated_pythons_are_those_of_the_sessions_and_of_the_table_of_platforms():
    python = r"3\.\d\d"
    project, sessions, page = (
        (ROOT / name).read_text("utf-8")
        for name in ("pyproject.toml", "noxfile.py", "docs/installation.md")
    )
    stated = set(re.findall(f":: ({python})", project))
    tested = set(re.findall(f'"({python})"', sessions))
    ran = set(re.findall(rf"\| Linux \| x86_64 \| ({python})", page))
    assert stated == tested == ran != set()
