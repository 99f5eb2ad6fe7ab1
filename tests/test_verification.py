"""The claims of docs/verification.md hold, and its script prints the page."""

from pathlib import Path

import pytest
from support.printed import differences

PAGE = Path(__file__).parents[1] / "docs" / "verification.md"


@pytest.fixture(scope="module")
def computed(script):
    return list(script.sections())


@pytest.mark.promise("N7")
def test_every_difference_from_the_exact_values_is_within_its_bound(computed, figure):
    for one in (one for part in computed for one in part.checks):
        figure(f"{one.what}: off the exact value", abs(one.difference), at_most=one.allowed)


def test_the_bounds_are_those_promised(computed):
    bounds = {one.what: one.allowed for part in computed for one in part.checks}
    # wave speed within 1e-4 of the exact discrete speed, velocities of N balls within 1e-6 of the
    # striker's
    assert bounds["wave speed, contact 20 to 60"] == 1e-4
    balls = [allowed for what, allowed in bounds.items() if " balls, ball " in what]
    assert balls == [1e-6] * 10
    # no bound is so wide that it always holds
    assert max(bounds.values()) <= 0.01


def test_the_page_is_what_the_script_prints(script, computed):
    assert not differences(PAGE.read_text(), script.page(computed)), (
        "write it anew: python docs/verification.py > docs/verification.md"
    )
