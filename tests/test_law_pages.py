"""The pages of the laws have every law with its equation, its keys and its source, and draw the
loop that `gc.impact` computes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import granchain as gc
from granchain.contact import families
from granchain.two_body import example_pair

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def law_pages(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script in docs/; sympy and matplotlib take their time."""
    monkeypatch.syspath_prepend(str(DOCS))
    import law_pages

    return law_pages


def test_every_law_has_its_section_with_equation_symbols_restitution_picture_and_source(
    law_pages: Any,
) -> None:
    # Sphinx brings it
    tex2mathml = pytest.importorskip("docutils.utils.math.latex2mathml").tex2mathml

    pages = law_pages.pages()
    for family in law_pages.own_families():
        sections = dict(
            re.findall(
                r"^## (\S+)\n(.*?)(?=^## |\Z)", pages[family.module], re.MULTILINE | re.DOTALL
            )
        )
        for law in family.laws:
            text = sections[law.name]
            equation = re.search(r"\$\$\n(.*?)\n\$\$", text, re.DOTALL)
            assert equation and tex2mathml(equation[1], as_block=True).startswith("<math")
            assert f"{law.name}.png" in text and f"../../laws.md#{law.name}" in text
            assert re.search(
                r"^Restitution, measured: \d|^\| delivered \| \d|^\| delivered \| refused",
                text,
                re.MULTILINE,
            )
            assert all(f"doi.org/{doi}>" in text for doi in law.source.doi.split("; ") if doi)
            required = [quantity.name for quantity in law.inputs if quantity.required]
            assert all(f"`contact.{name}`" in pages[family.module] for name in required)
            assert f"[{law.name}]({family.module}.md#{law.name})" in pages["index"]


def test_the_loops_of_elastic_spheres_and_of_a_dent_are_those_of_their_closed_forms(
    law_pages: Any,
) -> None:
    loop_of, pair = law_pages.loops.loop_of, example_pair()
    hertz = loop_of(gc.laws()["hertz"])
    # d_max = (5 m v^2/(4 K))^(2/5), F = K d_max^1.5; Johnson 1985, Contact Mechanics, eq. (11.22),
    # doi:10.1017/CBO9781139171731
    largest = (1.25 * pair.effective_mass * 1.77**2 / pair.hertz_stiffness) ** 0.4
    assert hertz.overlap.max() == pytest.approx(largest, rel=1e-4)
    assert hertz.force.max() == pytest.approx(pair.hertz_stiffness * largest**1.5, rel=1e-4)
    # the steel chain's pair at 1.77 m/s: .8390 with Ma-Liu, computed independently
    assert loop_of(gc.laws()["ma-liu"]).restitution == pytest.approx(0.8390, abs=3e-4)


@pytest.mark.plain
def test_families_hold_every_law_once_those_of_cylinders_last() -> None:
    found = families()
    assert sorted(law.name for family in found for law in family.laws) == list(gc.laws())
    assert (
        [family.module for family in found if family.of_cylinders]
        == ["cylinder"]
        == [found[-1].module]
    )
    (elastic,) = (family for family in found if family.module == "hertz")
    assert (elastic.title, elastic.paragraphs) == ("Hertz", ("Elastic contact of two spheres.",))
