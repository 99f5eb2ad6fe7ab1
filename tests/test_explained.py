"""What the pages of the explanation say of order and stability holds in the small computations
that their figures are drawn from."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def explained(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script in docs/."""
    monkeypatch.syspath_prepend(str(DOCS))
    import explained

    return explained


def order(errors: list[float], steps: list[int]) -> float:
    """Slope of the largest errors over the step, from the coarse half of the runs to the fine
    one."""
    half = len(steps) // 2
    coarse, fine = max(errors[:half]), max(errors[half:])
    return math.log(coarse / fine) / math.log(steps[half] / steps[0])


# Where in its step an onset or a jump falls is at random over neighbouring numbers of steps.
COARSE_TO_FINE = [*range(40, 60), *range(160, 240, 4)]


@pytest.mark.parametrize("power", [0.0, 0.25, 0.5])
def test_the_weight_at_an_onset_makes_order_two_of_order_one_and_a_power(
    power: float, explained: Any
) -> None:
    exact = explained.onset_run(power, 8009, True)
    found = {
        weighted: order(
            [abs(explained.onset_run(power, n, weighted) - exact) for n in COARSE_TO_FINE],
            COARSE_TO_FINE,
        )
        for weighted in (True, False)
    }
    assert found[True] == pytest.approx(2.0, abs=0.15)
    assert found[False] < 2.0 - 0.5 * (1.0 - power)


def test_a_corrected_step_across_a_jump_makes_order_two_of_order_one(explained: Any) -> None:
    exact = explained.jump_exact(1.0)[0]
    found = [
        order(
            [abs(explained.jump_run(n, 1.0, corrected)[-1, 1] - exact) for n in COARSE_TO_FINE],
            COARSE_TO_FINE,
        )
        for corrected in (True, False)
    ]
    assert found[0] == pytest.approx(2.0, abs=0.1) and found[1] == pytest.approx(1.0, abs=0.3)


def test_the_limit_of_the_step_is_where_a_root_of_the_scheme_leaves_the_unit_circle(
    explained: Any,
) -> None:
    for ratio in np.geomspace(1e-2, 1e2, 7):
        assert explained.largest_stable(float(ratio)) == pytest.approx(
            2.0 / (ratio + math.sqrt(ratio * ratio + 1.0)), rel=1e-6
        )


def test_the_pages_show_every_figure(explained: Any) -> None:
    text = "".join(page.read_text() for page in (DOCS / "explanation").glob("*.md"))
    assert all(
        f"../gallery/{draw.__name__.replace('_', '-')}.png" in text for draw in explained.FIGURES
    )
