"""The pages of the laws contain each law with its equation, keys and source, and show the loop that
`gc.impact` computes."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import granchain as gc
from granchain.contact import families, laws

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.guard
def test_every_law_has_its_section_with_equation_symbols_restitution_picture_and_source(
    monkeypatch,
):
    # Sphinx installs it
    tex2mathml = pytest.importorskip("docutils.utils.math.latex2mathml").tex2mathml
    # importing sympy and matplotlib is slow
    monkeypatch.syspath_prepend(str(DOCS))
    import law_pages

    pages = law_pages.pages()
    section = re.compile(r"^## (\S+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    delivered = r"^Measured restitution: \d|^\| effective restitution \| (?:\d|rejected)"
    for family in law_pages.own_families():
        sections = dict(section.findall(pages[family.module]))
        for law in family.laws:
            text = sections[law.name]
            equation = re.search(r"\$\$\n(.*?)\n\$\$", text, re.DOTALL)
            assert equation and tex2mathml(equation[1], as_block=True).startswith("<math")
            assert f"{law.name}.png" in text and f"../../laws.md#{law.name}" in text
            assert re.search(delivered, text, re.MULTILINE)
            assert all(f"doi.org/{doi}>" in text for doi in law.source.doi.split("; ") if doi)
            required = [quantity.name for quantity in law.inputs if quantity.required]
            assert all(f"`contact.{name}`" in pages[family.module] for name in required)
            assert f"[{law.name}]({family.module}.md#{law.name})" in pages["index"]
    # the loop in the figure, for two beads of the steel chain at 1.77 m/s: .8390, computed
    # independently
    assert law_pages.loops.loop_of(gc.laws()["ma-liu"]).restitution == pytest.approx(
        0.839, abs=3e-4
    )


@pytest.mark.guard
@pytest.mark.plain
def test_families_hold_every_law_once_those_of_cylinders_last():
    found = families()
    assert sorted(law.name for family in found for law in family.laws) == list(gc.laws())
    assert [f.module for f in found if f.of_cylinders] == [found[-1].module] == ["cylinder"]
    (elastic,) = (family for family in found if family.module == "hertz")
    assert (elastic.title, elastic.paragraphs) == ("Hertz", ("Elastic contact of two spheres.",))


def test_the_reference_is_markdown_in_which_every_table_is_whole_and_every_link_leads_to_a_law(
    monkeypatch,
):
    monkeypatch.syspath_prepend(str(DOCS))
    from law_reference import reference

    few = {name: laws()[name] for name in ("flores", "gonthier")}
    text = reference([gc.certificate(name) for name in few])
    rows = [re.split(r"(?<!\\)\|", line) for line in text.splitlines() if line.startswith("|")]
    for above, below in pairwise(rows):
        if set("".join(below)) <= set("- "):
            width = len(above)
        elif set("".join(above)) <= set("- "):
            assert len(below) == width
    tokens = MarkdownIt().enable(["table", "strikethrough"]).parse(text)
    spoken = [child for token in tokens for child in token.children or ()]
    wrong = {"em_open", "strong_open", "s_open", "html_inline"}
    assert not wrong & {child.type for child in spoken}
    pairs = pairwise(tokens)
    headings = {inner.content for token, inner in pairs if token.type == "heading_open"}
    links = {child.attrs["href"] for child in spoken if child.type == "link_open"}
    assert {link[1:] for link in links if link.startswith("#")} == set(few) <= headings
    outside = {link for link in links if not link.startswith("#")}
    assert outside == {f"https://doi.org/{law.source.doi}" for law in few.values()}
    # a value that two laws share is printed once
    assert text.count("| damping | s/m |") == 1
    assert "Inputs, and quantities of each contact: same as for [flores](#flores)." in text
    assert "| [flores](#flores) | 0.0694 | 0.2562 | 0.4704 | 0.6832 | 0.8939 |" in text
