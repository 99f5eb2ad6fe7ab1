"""Published chains: each case names its source, and statements of the articles hold."""

import re
import sys
from pathlib import Path

import pytest

from granchain.case import load_case
from granchain.case.document import PUBLISHED
from granchain.simulation import run

pytestmark = pytest.mark.usefixtures("plain_members")

sys.path.insert(0, str(Path(__file__).parents[1] / "docs" / "papers"))

import published  # noqa: E402

FILES = sorted(PUBLISHED.glob("*.toml"))
# The articles that the page must contain, as published/author-year.toml.
NAMES = [
    "boechler-2010",
    "burgoyne-2014",
    "carretero-gonzalez-2009",
    "coste-1997",
    "daraio-2005",
    "daraio-2006",
    "doney-2006",
    "jayaprakash-2011",
    "job-2005",
    "kim-2018",
]


def test_the_published_chains_are_those_of_the_list():
    assert [path.stem for path in FILES] == NAMES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_published_chain_names_authors_year_and_doi_and_a_source_of_each_value(path):
    text = path.read_text()
    head = text[: text.index("title")]
    author, year = re.fullmatch(r"(.+)-(\d{4})", path.stem).groups()
    surname = author.replace("-", "[- ]")
    assert re.search(rf"^# {surname}\b.* {year}, ", head, re.MULTILINE | re.IGNORECASE)
    assert re.search(r"doi:10\.\d{4,5}/\S+", head)
    # values that could not be read are our choice
    assert "could not read" not in head or "our choice" in text
    load_case(path.stem)


def test_the_page_compares_each_published_chain():
    page = (Path(published.__file__).parent / "published.md").read_text()
    assert [name for name in NAMES if f"`{name}`" not in page] == []


def test_ptfe_beads_carry_a_solitary_wave_that_keeps_its_force():
    peaks = run(load_case("daraio-2005", ["time.end=1.5e-3"])).contact_peak_force
    assert peaks[25] / peaks[15] == pytest.approx(1.0, abs=1e-4)


def test_a_dimer_keeps_or_loses_its_pulse_depending_on_the_mass_ratio():
    # without loss, and 36.0 % at the largest loss: computed, see docs/papers/published.md
    assert published.kept(0.343) == pytest.approx(1.0, abs=2e-4)
    assert published.kept(0.59) == pytest.approx(0.360, abs=2e-3)


def test_the_force_at_a_wall_exceeds_that_of_the_incident_pulse():
    peaks = run(load_case("job-2005")).contact_peak_force
    # the contact at the wall is stiffer than the others; computed, see docs/papers/published.md
    assert peaks[40] / peaks[20] == pytest.approx(1.944, abs=1e-3)


def test_small_beads_between_tapered_ones_reduce_the_force_at_the_wall():
    case = load_case("doney-2006")
    tapered = case.replace({"chain.segment": case.chain.segment[::2], "sensors": None})
    ratio = run(case).contact_peak_force[-1] / run(tapered).contact_peak_force[-1]
    # 206.7 N and 279.2 N: computed, see docs/papers/published.md
    assert ratio == pytest.approx(0.740, abs=5e-3)


def test_the_dissipation_exponent_of_a_weakly_damped_law_follows_from_its_damping_force():
    # the force ~ d^0.5 rate, and d ~ v^0.8
    assert published.dissipation_exponent("kuwabara-kono", chi=1.0) == pytest.approx(1.4, abs=0.01)
