"""A new law requires the files that its guide lists, and no other files."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAME, MODULE = "template-spring", "template_spring"
# Files that the author of a law writes: class, equation, test, and an entry in the changelog.
LAW = '''"""Template spring: a linear spring."""

from __future__ import annotations

from granchain.contact.law import OPEN, ContactLaw, Quantity, Source, positive


class TemplateSpring(ContactLaw):
    """Linear spring: F = K d."""

    name = "template-spring"
    source = Source("Johnson 1985, Contact Mechanics", "eq. (4.23)", "10.1017/CBO9781139171731")
    inputs = (positive("template_stiffness", "N/m", "stiffness"),)
    coefficients = (Quantity("stiffness", "N/m", "K"),)

    @staticmethod
    def coefficients_of(pair, inputs):
        """Return the stiffness."""
        return (inputs.template_stiffness,)

    @staticmethod
    def force(overlap, rate, c, h):
        """Return F = K d."""
        return c[0] * (overlap if overlap > OPEN else 0.0)

    @staticmethod
    def energy(overlap, c, h):
        """Return K d^2/2."""
        d = overlap if overlap > OPEN else 0.0
        return 0.5 * c[0] * d * d
'''
EQUATION = '''"""Johnson 1985, Contact Mechanics, doi:10.1017/CBO9781139171731."""

from __future__ import annotations

from equations.notation import Equation, F, K, Meaning, d

EQUATIONS = {
    "template-spring": Equation(
        ((F, K * d),), {K: Meaning("stiffness", "N/m", "template_stiffness")}
    )
}
'''
TEST = '''"""The force of the template spring."""

from granchain.contact import laws


def test_the_force_is_proportional_to_the_overlap():
    assert laws()["template-spring"].force(2e-6, 0.0, (1e7,), ()) == 20.0
'''
# Tests that check all laws, and therefore detect files that are missing in the list.
GUARDS = (
    "tests/test_case_schema.py", "tests/test_certified.py", "tests/test_citation.py",
    "tests/test_equations.py", f"tests/test_{MODULE}.py", "tests/test_law_pages.py",
    "tests/test_documentation.py::test_the_changelog_names_every_contact_law",
    "tests/test_steps.py::test_every_law_has_its_line", "tests/test_units.py",
    "tests/test_pinned.py::test_a_run_has_the_pinned_bits",
)  # fmt: skip


def listed():
    """Return the files that the guide lists for a law, with the change to each."""
    text = (ROOT / "docs" / "contribute-a-law.md").read_text(encoding="utf-8")
    table = text[text.index("A new law `my-law` needs") : text.index("## The file")]
    table = table.replace("my_law", MODULE).replace("my-law", NAME)
    return dict(re.findall(r"^\| `([^`]+)` \| (.*) \|$", table, re.MULTILINE))


def contents(folder):
    """Return the contents of every file in a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_new_law_needs_the_files_that_are_listed_and_no_other(tmp_path):
    tree = tmp_path / "tree"
    ignored = shutil.ignore_patterns(".*", "__pycache__", "notebooks", "results", "dist", "_build")
    shutil.copytree(ROOT, tree, ignore=ignored)
    before = contents(tree)
    (tree / f"granchain/contact/{MODULE}.py").write_text(LAW)
    (tree / f"docs/equations/{MODULE}.py").write_text(EQUATION)
    (tree / f"tests/test_{MODULE}.py").write_text(TEST)
    with (tree / "CHANGELOG.md").open("a") as changelog:
        changelog.write(f"- Added `{NAME}`.\n")
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(command):
        command = command.replace("python ", f"{sys.executable} ", 1)
        done = subprocess.run(
            command, cwd=tree, env=environment, shell=True, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr

    for command in dict.fromkeys(re.findall(r"`(python .*?)`", "\n".join(listed().values()))):
        run(command)
    after = contents(tree)
    assert {name for name in after if after[name] != before.get(name)} == listed().keys()
    run("python docs/laws.py --check")
    run(f"python -m pytest -q -n0 -p no:cacheprovider -m 'not long' {' '.join(GUARDS)}")
