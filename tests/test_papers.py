"""Pages of docs/papers: items bear their verdicts out, and pages are what the scripts print."""

import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("plain_scans")

PAPERS = Path(__file__).parents[1] / "docs" / "papers"
sys.path.insert(0, str(PAPERS))

import items  # noqa: E402
import write  # noqa: E402

ITEMS = [
    pytest.param(
        paper, item, id=f"{paper.name}, {item.place}", marks=[pytest.mark.long] if item.long else []
    )
    for paper in write.PAPERS
    for item in paper.items
]


@pytest.mark.parametrize(("paper", "item"), ITEMS)
def test_an_item_bears_its_verdict_out_and_stands_on_its_page(paper: Any, item: Any) -> None:
    shown = item.compute()
    assert item.problems(shown) == []
    page = (PAPERS / f"{paper.name}.md").read_text()
    assert items.section(item, shown) in page, "write it anew: make papers"
    assert item.lines in page, "write it anew: make papers"
    figure = PAPERS / "figures" / f"{paper.name}-{item.name}.png"
    assert figure.exists() == (shown.figure is not None)


def test_index_verdicts_and_errata_are_those_of_the_items() -> None:
    assert (PAPERS / "index.md").read_text() == items.index(write.PAPERS), "make papers"
    for paper in write.PAPERS:
        page = (PAPERS / f"{paper.name}.md").read_text()
        assert page.startswith("\n\n".join(paper.beginning())), "make papers"
        assert len({item.name for item in paper.items}) == len(paper.items)


@pytest.mark.long
def test_pages_and_figures_are_what_the_scripts_write(tmp_path: Path) -> None:
    for name, text in write.pages(tmp_path).items():
        assert (PAPERS / name).read_text() == text, "write it anew: make papers"
    drawn = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert drawn == {path.name: path.read_bytes() for path in (PAPERS / "figures").iterdir()}


@pytest.mark.parametrize(
    ("printed", "half"), [("1.1152e-4", 5e-9), ("41710", 0.5), (".9", 0.05), ("0.6909", 5e-5)]
)
def test_a_printed_number_is_good_to_half_of_its_last_digit(printed: str, half: float) -> None:
    assert items.half_a_digit(printed) == pytest.approx(half, rel=1e-12)
    right = float(printed)
    assert items.Row("", printed, right + 0.99 * half).agrees
    assert not items.Row("", printed, right + 1.01 * half).agrees
