"""The script prints docs/steps.md, and the numbers agree with docs/how-to/step.md."""

import re
from pathlib import Path

import pytest
from support.printed import differences

from granchain.contact import laws

PAGE = Path(__file__).parents[1] / "docs" / "steps.md"


def printed():
    """The rows of the page, by law."""
    return {
        found[1]: found[0]
        for found in re.finditer(r"^\| \[([a-z0-9-]+)\].*$", PAGE.read_text(), re.MULTILINE)
    }


def cells(line):
    """Return the numbers of a row in percent, by step, at each restitution."""
    values = [None if cell.strip() == "-" else float(cell) for cell in line.split("|")[2:-1]]
    return {"auto": values[:3], "fast": values[3:]}


@pytest.mark.guard
def test_every_law_has_its_line():
    assert list(printed()) == sorted(
        name for name, law in laws().items() if law.__module__.startswith("granchain.contact.")
    )


@pytest.mark.guard
def test_what_the_page_on_the_step_says_holds_for_every_law():
    # docs/how-to/step.md: at restitution .65, 0.01 % at "auto" and 0.15 % at "fast"; as the page
    # says, this does not hold for strong damping
    first = {name: cells(line) for name, line in printed().items()}
    assert max(one["auto"][0] for one in first.values() if one["auto"][0] is not None) <= 0.01
    assert max(one["fast"][0] for one in first.values() if one["fast"][0] is not None) <= 0.15


def test_the_line_of_a_law_is_what_the_script_prints(script):
    assert not differences(printed()["tsuji"], script.line(laws()["tsuji"])), (
        "write it anew: python docs/steps.py"
    )


@pytest.mark.long
def test_the_page_is_what_the_script_prints(script):
    assert not differences(PAGE.read_text(), script.page()), "write it anew: python docs/steps.py"
