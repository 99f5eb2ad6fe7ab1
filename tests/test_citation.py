"""BibTeX entries of every law, the package, and data, including text with special characters."""

import json
import re
import tomllib
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.example_results import a_result
from support.synthetic import synthetic

import granchain as gc
from granchain.citation import cite, laws_in, references, slug, tex_text, works_of
from granchain.cli import obey
from granchain.contact.law import Source
from granchain.errors import GranchainError
from granchain.measured.about import about_of

ROOT = Path(__file__).parents[1]
# Characters that TeX sets in a field: ASCII without bare special characters, or letters of other
# scripts.
BARE = re.compile(r"(?<!\\)[&%$#_~^]")


def read(text):
    """Return the entries of a text as BibTeX reads them: @, kind, brace, key, fields in matching
    braces."""
    found = {}
    place = 0
    while (start := text.find("@", place)) >= 0:
        head = re.compile(
            r"@(?:article|book|inproceedings|misc|techreport)\{([a-z0-9.-]+),\n"
        ).match(text, start)
        assert head, text[start : start + 60]
        place, fields = head.end(), {}
        while text[place] != "}":
            name = re.compile(r"  ([a-z]+) = \{").match(text, place)
            assert name, text[place : place + 60]
            place, depth, begin = name.end(), 1, name.end()
            while depth:
                depth += {"{": 1, "}": -1}.get(text[place], 0)
                place += 1
            value = text[begin : place - 1]
            assert text[place : place + 2] == ",\n" and name[1] not in fields and value
            fields[name[1]] = value
            place += 2
        assert head[1] not in found
        found[head[1]] = fields
    return found


@pytest.mark.guard
def test_every_law_has_entries_that_are_read_back():
    known = {}
    for name, law in gc.laws().items():
        text = cite(name)
        assert text.startswith(f"% contact law {name}: {law.source}")
        entries = read(text)
        works = {key: fields for key, fields in entries.items() if not key.startswith("granchain-")}
        parts = {part.strip() for part in law.source.text.split(";")}
        assert works and len(works) == sum(bool(re.search(r"\d{4}|^ESDU", one)) for one in parts), (
            name
        )
        # every DOI of the source belongs to a work, and none is invented
        stated = set(re.findall(r"10\.\d{4,9}/[^\s;,]+", str(law.source)))
        listed = {references()[key].fields.get("doi") for key in works if key in references()}
        cited = {fields["doi"] for fields in works.values() if "doi" in fields}
        assert stated <= cited <= stated | listed, name
        for key, fields in works.items():
            assert "author" in fields or "title" in fields
            assert not any(BARE.search(value) for field, value in fields.items() if field != "doi")
            # one work has one DOI, whichever law cites it
            assert known.setdefault(key, fields.get("doi", "")) == fields.get("doi", ""), (
                name,
                key,
            )
    assert len(known) > 40
    # a complete reference: with the location of an article, or a note that it could not be verified
    for key, entry in references().items():
        needed = {"article": ("journal", "volume", "pages"), "book": ("publisher",)}
        needed |= {"inproceedings": ("booktitle",), "techreport": ("institution",)}
        lacking = {"author", "title", "year", *needed[entry.kind]} - entry.fields.keys()
        assert not lacking or "not verified" in entry.fields["note"], key
    read(cite(*gc.laws()))


def test_authors_title_year_equation_and_doi_are_those_of_the_work():
    assert read(cite("tsuji"))["tsuji-tanaka-ishida-1992"] == {
        "author": "Tsuji, Y. and Tanaka, T. and Ishida, T.",
        "title": "Lagrangian numerical simulation of plug flow of cohesionless particles in a "
        "horizontal pipe",
        "journal": "Powder Technology",
        "year": "1992",
        "volume": "71",
        "number": "3",
        "pages": "239--250",
        "doi": "10.1016/0032-5910(92)88030-L",
        "note": "eqs. (13)-(15)",
    }
    # one DOI, two works: the review has none
    both = read(cite("jankowski-both-phases"))
    assert "doi" not in both["wang-2022"] and both["jankowski-2005"]["doi"] == "10.1002/eqe.434"
    # an unlisted work has the fields of its source, also under the name of a listed one
    (own,) = works_of(Source("Möller & Flores et al. 2031, A", "eq. (1)", "10.1/a"))
    assert (
        str(own)
        == """@misc{moller-flores-2031,
  author = {Möller and Flores and others},
  year = {2031},
  doi = {10.1/a},
  note = {A; eq. (1)},
}"""
    )
    (other,) = works_of(Source("Flores et al. 2011, doi:10.1/b"))
    assert other.kind == "misc" and other.fields["doi"] == "10.1/b"


@pytest.mark.guard
def test_the_package_is_cited_as_the_citation_file_says():
    stated = {}
    for line in (ROOT / "CITATION.cff").read_text().splitlines():
        key, _, value = line.strip("- ").partition(": ")
        stated.setdefault(key.strip(), value)
    (own,) = read(cite()).values()
    assert own["author"] == f"{{{stated['name']}}}" and own["version"] == stated[
        "version"
    ] == metadata.version("granchain")
    assert own["title"] == f"{{{stated['title']}}}: {stated['abstract'].rstrip('.')}"
    assert stated["license"] in own["note"]
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["authors"] == [
        {"name": stated["name"]}
    ]


def test_a_case_and_a_result_cite_their_laws_and_the_version_that_computed():
    case = gc.load_case(
        "steel-chain",
        ["contact.law=flores", "contact.restitution={law='ma-liu', psi=2.84, xi=13.0}"],
    )
    assert {"flores-2011", "ma-liu-2015", "wang-liu-liu-2022"} < read(cite(case)).keys()
    pairs = [{"restitution": 0.9}, {"restitution": {"law": "thornton"}}]
    assert laws_in({"law": "tsuji", "pair": pairs, "restitution": 0.5}) == ["tsuji", "thornton"]
    segments = {"segment": [{"contact": {"law": "tsuji"}}]}
    of_segments = SimpleNamespace(contact={"law": "flores"}, chain=segments)
    for several in (of_segments, SimpleNamespace(law="flores, tsuji")):
        assert {"flores-2011", "tsuji-tanaka-ishida-1992"} < read(cite(several)).keys()
    old = SimpleNamespace(law="hertz", provenance={"granchain_version": "0.0.9"})
    assert read(cite(old))["granchain-0.0.9"]["version"] == "0.0.9"
    assert "johnson-1985" in read(cite(synthetic()))
    assert cite(SimpleNamespace(law="of-my-own")).startswith(
        "% contact law of-my-own: the law is not installed"
    )


def test_a_plate_is_cited_with_its_source(plain_loop):
    zener = {
        "author": "Zener", "year": "1941", "doi": "10.1103/PhysRev.59.669",
        "note": "Physical Review 59, 669",
    }  # fmt: skip
    case = gc.load_case("chain-on-plate")
    plate = {"thickness": 4e-3, "material": "steel-316"}
    struck = gc.impact(law="hertz", speed=1.0, plate=plate)
    several = gc.impacts("hertz", None, {"speed": [1.0]}, plate=plate)
    for item in (case, SimpleNamespace(case=case, law="hertz"), struck, several):
        text = cite(item)
        assert read(text)["zener-1941"] == zener
        assert "% plate: Zener 1941, Physical Review 59, 669, doi:10.1103/PhysRev.59.669" in text
    for item in (case.replace({"ends.right": "wall"}), gc.impact(law="hertz", speed=1.0)):
        assert "ener" not in cite(item)


WORST = 'A & B_1 50% of $x$ #2 {open "\\input{evil}" ~ ^ @misc{x, é ß Łódź naïve \n\x1b[31m 力'


def test_text_that_would_break_bibtex_is_escaped():
    about = about_of(
        {"title": "Trace of A & B {", "kind": "synthetic", "who": "Jiří & co. @ {lab}"}, "test"
    )
    entries = read(cite(SimpleNamespace(trace=SimpleNamespace(about=about), case=None)))
    assert entries["data-trace-of-a-b"]["title"] == r"Trace of A \& B {\textbraceleft}"
    assert (
        entries["data-trace-of-a-b"]["author"]
        == r"{Jiří \& co. @ {\textbraceleft}lab{\textbraceright}}"
    )
    made = tex_text(WORST)
    assert made.count("{") == made.count("}")
    assert not BARE.search(made)
    assert "\n" not in made
    assert "\x1b" not in made
    assert "é ß Łódź naïve" in made and made.endswith("力")
    # the source of a user's law can contain any text
    (entry,) = works_of(Source(WORST.replace(";", ""), WORST, "10.1/a}b"))
    assert read(str(entry) + "\n")[entry.key]["doi"] == "10.1/ab"
    assert slug("Ü é") == "u-e" and slug("力") == "untitled"


def test_what_rests_on_nothing_is_refused():
    for wrong, said in (
        (3.0, "cite: float is not valid. Give a case"),
        ("no-law", 'cite: unknown law "no-law". It must be the name of a contact law'),
    ):
        with pytest.raises(GranchainError, match=said):
            cite(wrong)


def test_the_command_takes_cases_laws_files_and_folders(tmp_path, obeyed, capsys, monkeypatch):
    computed = a_result()
    computed.provenance = computed.provenance | {"granchain_version": "0.0.9"}
    computed.save(tmp_path / "old.h5")
    monkeypatch.chdir(tmp_path)
    folder = str(ROOT / "data" / "gugan-croquet")
    entries = read(obeyed("cite", "hertz", "old.h5", folder).out)
    assert {"johnson-1985", "gugan-2000", "granchain-0.1.0"} < entries.keys()
    assert entries["gugan-2000"]["doi"] == "10.1119/1.1285850"
    assert any(key.startswith("data-a-croquet-ball") for key in entries)
    assert len(read(obeyed("cite").out)) == 1
    (tmp_path / "empty").mkdir()
    (tmp_path / "wrong.json").write_text(json.dumps({"granchain": 1}))
    for wrong in ("no-such", "empty", "wrong.json", "missing.h5"):
        assert obey(["cite", wrong]) in (2, 4), wrong
    capsys.readouterr()
    assert (
        '"floress" is unknown. It must be a case, an '
        "output file, a contact law, or the folder of a trace. "
        'Did you mean "flores"?' in obeyed("cite", "floress", code=2).err
    )
