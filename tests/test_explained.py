"""The statements of the explanation about order and stability hold for the computations of its
figures."""

import math
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def explained(monkeypatch):
    """Return the script in docs/."""
    monkeypatch.syspath_prepend(str(DOCS))
    import explained

    return explained


def order(error):
    """Return the slope of the largest errors versus the step, from the coarse to the fine runs."""
    coarse, fine = (max(map(error, steps)) for steps in STEPS)
    return math.log(coarse / fine) / math.log(STEPS[1][0] / STEPS[0][0])


# With neighbouring numbers of steps, the position of an onset or a jump within its step is random.
STEPS = (range(40, 60), range(160, 240, 4))


@pytest.mark.parametrize("power", [0.0, 0.25, 0.5])
def test_the_weight_at_an_onset_makes_order_two_of_order_one_and_a_power(power, explained):
    exact = explained.onset_run(power, 8009, True)

    def seen(weighted):
        return order(lambda n: abs(explained.onset_run(power, n, weighted) - exact))

    assert seen(True) == pytest.approx(2.0, abs=0.15) and seen(False) < 2.0 - 0.5 * (1.0 - power)


def test_a_corrected_step_across_a_jump_makes_order_two_of_order_one(explained):
    exact = explained.jump_exact(1.0)[0]

    def seen(corrected):
        return order(lambda n: abs(explained.jump_run(n, 1.0, corrected)[-1, 1] - exact))

    assert seen(True) == pytest.approx(2.0, abs=0.1) and seen(False) == pytest.approx(1.0, abs=0.3)


def test_the_limit_of_the_step_is_where_a_root_leaves_the_unit_circle_and_figures_are_shown(
    explained,
):
    for ratio in np.geomspace(1e-2, 1e2, 7).tolist():
        limit = 2.0 / (ratio + math.sqrt(ratio * ratio + 1.0))
        assert explained.largest_stable(ratio) == pytest.approx(limit, rel=1e-6)
    text = "".join(page.read_text() for page in (DOCS / "explanation").glob("*.md"))
    names = [draw.__name__.replace("_", "-") for draw in explained.FIGURES]
    assert all(f"../gallery/{name}.png" in text for name in names)
