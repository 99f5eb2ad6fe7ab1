"""Pages of docs/papers: items agree with their verdicts, and the scripts print the pages."""

import math
import re
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("plain_scans")

PAPERS = Path(__file__).parents[1] / "docs" / "papers"
sys.path.insert(0, str(PAPERS))

import items  # noqa: E402
import write  # noqa: E402

ITEMS = [
    pytest.param(
        paper, item, id=f"{paper.name}, {item.place}", marks=[pytest.mark.long] * item.long
    )
    for paper in write.PAPERS
    for item in paper.items
]


@pytest.mark.parametrize(("paper", "item"), ITEMS)
def test_an_item_bears_its_verdict_out_and_stands_on_its_page(paper, item):
    shown = item.shown()
    assert item.problems(shown) == []
    assert all(row.error is not None for row in shown.rows)
    page = (PAPERS / f"{paper.name}.md").read_text()
    assert items.section(item, shown) in page, "write it anew: make papers"
    assert item.lines in page, "write it anew: make papers"
    figure = PAPERS / "figures" / f"{paper.name}-{item.name}.png"
    assert figure.exists() == (shown.figure is not None)


def test_index_verdicts_and_errata_are_those_of_the_items():
    assert (PAPERS / "index.md").read_text() == items.index(write.PAPERS), "make papers"
    for paper in write.PAPERS:
        page = (PAPERS / f"{paper.name}.md").read_text()
        assert page.startswith("\n\n".join(paper.beginning())), "make papers"
        assert len({item.name for item in paper.items}) == len(paper.items)


@pytest.mark.long
def test_pages_and_figures_are_what_the_scripts_write(tmp_path):
    for name, text in write.pages(tmp_path).items():
        assert (PAPERS / name).read_text() == text, "write it anew: make papers"
    drawn = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert drawn == {path.name: path.read_bytes() for path in (PAPERS / "figures").iterdir()}


def test_a_printed_number_is_good_to_half_of_its_last_digit():
    for printed, half in (("1.1152e-4", 5e-9), ("41710", 0.5), (".9", 0.05), ("0.6909", 5e-5)):
        assert items.half_a_digit(printed) == pytest.approx(half, rel=1e-12), printed
        right = float(printed)
        assert items.Row("", printed, right + 0.99 * half).agrees, printed
        assert not items.Row("", printed, right + 1.01 * half).agrees, printed


def last_digit(text):
    """Return one unit of the last digit of a printed number."""
    return 2.0 * items.half_a_digit(text)


def number_rows(page):
    """Return the rows of a page's tables with printed and computed numbers."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines()]
    return [row for row in rows if len(row) == 6 and re.fullmatch(r"[-+.0-9e]*[0-9]|nan", row[2])]


def test_every_computed_number_of_a_page_has_an_error_within_its_last_digit():
    for paper in write.PAPERS:
        rows = number_rows((PAPERS / f"{paper.name}.md").read_text())
        assert len(rows) > 15
        for what, _, computed, error, *_ in rows:
            if computed != "nan":
                assert last_digit(computed) >= float(error) * (1.0 - 1e-9) > -1.0, what


def test_a_number_prints_no_digit_below_its_error_which_is_rounded_up():
    rows = [(0.54323517, 2e-6, "0.54324"), (0.54323517, 3e-4, "0.543"), (0.5432, 1e-4, "0.5432"),
            (0.5432, 1.1e-4, "0.543"), (4730.4, 8.0, "4.73e3"), (1.11519e-5, 1e-12, "1.1152e-5"),
            (-27.6, 0.3, "-28"), (12.0, 0.0, "12"), (3.0, 50.0, "0e2"),
            (math.nan, 0.0, "nan")]  # fmt: skip
    for value, error, text in rows:
        assert str(items.Number(value, error)) == text
    for error in (1e-7, 1.01e-7, 9.99e-7, 0.25, 3.0, 95.0):
        stated = float(items.Number(1.0, error).error_text)
        assert error * (1.0 - 1e-8) <= stated <= 2.0 * error


def test_a_number_without_an_error_is_refused():
    with pytest.raises(ValueError, match="no error is stored"):
        _ = items.Row("length [m]", "", 1.0).number


def test_a_number_in_a_sentence_loses_the_digits_that_are_not_settled():
    assert items.settled_text("peaks of 12.34 and 5.6 N", "peaks of 12.36 and 5.6 N") == (
        "peaks of 12.3 and 5.6 N"
    )
    assert items.settled_text("by +0.784 %", "by +0.786 %") == "by +0.78 %"
    with pytest.raises(ValueError, match="words depend"):
        items.settled_text("holds for 2", "fails for 2")


def computed(paper, place):
    """Return the numbers of an item by name."""
    papers = {paper.name: paper for paper in write.PAPERS}
    item = next(item for item in papers[paper].items if item.place == place)
    return {row.what: row.number for row in item.shown().rows}


def test_losses_of_hunt_and_crossley_are_those_of_the_closed_form():
    numbers = computed("autiero-2022", "Eqs. (12) to (21)")
    for alpha in (0.001, 0.01, 0.1):
        # Gonthier et al. 2004: a (1 + e) = ln((1 + a)/(1 - a e)), a = 1.5 alpha v; by bisection
        a, low, high = 1.5 * alpha, 0.5, 1.0 - 1e-9
        for _ in range(60):
            e = 0.5 * (low + high)
            above = math.log1p(a) - math.log1p(-a * e) - a * (1.0 + e) > 0.0
            low, high = (low, e) if above else (e, high)
        number = numbers[f"lost over alpha m v^3, alpha v {alpha:g} [1]"]
        assert abs(number.value - (1.0 - e * e) / (2.0 * alpha)) <= 10.0**number.exponent
    assert numbers["lost over alpha m v^3, alpha v 0.001 [1]"].value == pytest.approx(
        0.998502, abs=1e-5
    )


def page_row(paper, what):
    """Return the computed number of a page and one unit of its last digit."""
    rows = number_rows((PAPERS / f"{paper}.md").read_text())
    text = next(row[2] for row in rows if row[0] == what)
    return float(text), last_digit(text)


def test_a_number_of_a_page_is_the_independent_one():
    for paper, what, reference in (
        # from another converged integration
        ("wang-liu-liu-2022", "Ma-Liu, bead 9, closing speed [m/s]", 0.543235),
        # a (1 + e) = ln((1 + a)/(1 - a e)) with a = 1.5 (1 - e), 0.75 (1 - e^2), 1.6 (1 - e)/e
        ("wang-2022", "hunt-crossley, nominal 0.5 [1]", 0.662962),
        ("wang-2022", "lankarani-nikravesh, nominal 0.5 [1]", 0.725241),
        ("wang-2022", "flores, nominal 0.5 [1]", 0.470445),
        # half of the period of m d'' + 1e-4 d d' + d = 0, which is pi except for 1e-9
        ("autiero-2022", "K t_e^2/m_r, eq. (36) [1]", math.pi**2),
        ("autiero-2022", "zeta_1/(alpha_1 K), eq. (37) [1]", 1.5 * (1.0 + 1e-4 / 1.5)),
    ):
        value, unit = page_row(paper, what)
        assert abs(value - reference) <= unit, what
        assert unit <= 1e-3 * abs(reference), "too few digits to compare"
