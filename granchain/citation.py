"""BibTeX entries of what a computation rests on: granchain, the sources of its contact laws, and the data it was compared with."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from importlib import metadata
from typing import Any, NamedTuple

from pydantic import BaseModel

from granchain.contact import laws
from granchain.contact.law import Source
from granchain.errors import GranchainError
from granchain.output.provenance import granchain_version

# A work as a source names it: authors, year, and what else it says.
_WORK = re.compile(r"(?P<who>.+?),? (?P<year>1[5-9]\d\d|20\d\d)\b,? ?(?P<rest>.*)", re.DOTALL)
_DOI = re.compile(r",? ?\bdoi:(10\.\S+)")
# Cited beside others, without a DOI of its own: one DOI of several works is not its.
NO_DOI = "review of contact force models"
# What stands for signs that have a meaning in BibTeX and TeX; a brace must be half of a pair even behind a backslash.
_TEX_SIGNS = {
    **{sign: f"\\{sign}" for sign in "&%$#_"},
    "{": r"{\textbraceleft}",
    "}": r"{\textbraceright}",
    "\\": r"{\textbackslash}",
    "~": r"{\textasciitilde}",
    "^": r"{\textasciicircum}",
    "ß": r"{\ss}",
    "ø": r"{\o}",
    "Ø": r"{\O}",
    "ł": r"{\l}",
    "Ł": r"{\L}",
    "æ": r"{\ae}",
    "Æ": r"{\AE}",
}
# Accents over the letter before them.
_ACCENTS = dict(zip("\u0300\u0301\u0302\u0303\u0308\u030c\u0327\u030a\u0304\u0306\u0328\u030b", "`'^~\"vcr=ukH", strict=True))


class BibliographyEntry(NamedTuple):
    """One entry: its key, its kind, and its fields in their order."""

    key: str
    kind: str
    fields: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        lines = "".join(f"  {name} = {{{value}}},\n" for name, value in self.fields)
        return f"@{self.kind}{{{self.key},\n{lines}}}"


def cite(*objects: Any) -> str:
    """BibTeX of what computations rest on.

    Parameters
    ----------
    *objects : Case, Result, Comparison, Fit, Trace, Ensemble or str
        A word is the name of a contact law. None: granchain alone.

    Returns
    -------
    str
        The source of each contact law as a comment, then an entry for granchain, one for each work that those sources name, and one for
        each trace. A field is there where the source says it: the entries are `@misc`, and a reference manager completes those that have
        a DOI.

    Raises
    ------
    GranchainError
        For what has neither law nor trace.
    """
    versions: dict[str, None] = {}
    entries: list[BibliographyEntry] = []
    sources: dict[str, None] = {}
    for one in objects:
        names, traces, version = parts_cited(one)
        versions[version or granchain_version()] = None
        for name in names:
            law = laws().get(name)
            said = "its law is not installed: load its file to cite it" if law is None else str(law.source)
            # outside an entry BibTeX skips everything but an @
            sources[f"% contact law {name}: {said}".replace("@", "(at)")] = None
            entries += entries_of_law(law.source) if law is not None else []
        entries += [entry for about in traces for entry in [entry_of_trace(about)] if entry is not None]
        entries += [entry_of_work(words, doi, "") for words, doi in getattr(one, "works", ())]
    own = [package(version) for version in versions or {granchain_version(): None}]
    head = "".join(f"{' '.join(line.split())}\n" for line in sources)
    return (head + "\n" if head else "") + "\n\n".join(map(str, merged([*own, *entries]))) + "\n"


def parts_cited(one: Any) -> tuple[list[str], list[dict[str, str]], str]:
    """Names of laws, what is known of traces, and the version of granchain that computed it, where it says so."""
    if isinstance(one, str):
        if one not in laws():
            raise GranchainError(f'cite: got "{one[:60]}", allowed the name of a contact law: granchain laws lists them; name one')
        return [one], [], ""
    names: list[str] = []
    if isinstance(getattr(one, "law", None), str):
        names += laws_of_result(one)
    else:
        # a case, what was found for one, or many of them
        cases = [getattr(one, "case", None) or one, *getattr(one, "cases", ())]
        for contact in (getattr(case, "contact", None) for case in cases):
            names += laws_in(dict(contact)) if hasattr(contact, "law") and isinstance(contact, Iterable) else []
        names += [result.law for result in getattr(one, "results", ())]
    about = getattr(getattr(one, "trace", one), "about", None)
    traces = [] if about is None else [{name: str(getattr(about, name, "")) for name in ("title", "who", "doi", "figure", "kind")}]
    if not names and not traces:
        raise GranchainError(f"cite: got {type(one).__name__}, allowed a case, a result, a comparison, a fit, a trace or the name of a law")
    provenance = getattr(one, "provenance", None)
    version = str(provenance.get("granchain_version", "")) if isinstance(provenance, Mapping) else ""
    return list(dict.fromkeys(names)), traces, version


def laws_of_result(result: Any) -> list[str]:
    """The laws of a result: those of its case, or its own where this version cannot read the case."""
    try:
        return laws_in(dict(result.case.contact))
    except (GranchainError, AttributeError):
        return [str(result.law)]


def laws_in(contact: Mapping[str, Any]) -> list[str]:
    """The law of a table [contact], and those that restitutions in it and in its pairs of materials are from."""
    names = [str(contact["law"])] if isinstance(contact.get("law"), str) else []
    for value in contact.values():
        for table in value if isinstance(value, list | tuple) else (value,):
            # a table that was read, or one as it was written
            names += laws_in(dict(table)) if isinstance(table, (Mapping, BaseModel)) else []
    return names


def package(version: str) -> BibliographyEntry:
    """granchain itself, from the metadata that it is installed with."""
    about = metadata.metadata("granchain")
    fields = {
        "author": corporate(about["Author"]),
        "title": f"{{granchain}}: {tex_text(about['Summary'])}",
        "version": tex_text(version),
        "note": f"Software, {tex_text(about['License-Expression'])} licence",
    }
    return BibliographyEntry(f"granchain-{slug(version)}", "misc", tuple(fields.items()))


def entries_of_law(source: Source) -> list[BibliographyEntry]:
    """The works that a source names, each with its own DOI where it has one."""
    works = [part.strip() for part in source.text.split(";") if part.strip()]
    dois = [doi.strip() for doi in source.doi.split(";") if doi.strip()]
    found = []
    for work in works:
        inline = _DOI.search(work)
        words = _DOI.sub("", work).strip(" ,")
        doi = inline[1] if inline else dois.pop(0) if dois and NO_DOI not in words else ""
        # of several works, a source does not say which one its equation is in
        found.append(entry_of_work(words, doi, source.equation if len(works) == 1 else ""))
    return found


def entry_of_work(words: str, doi: str, equation: str) -> BibliographyEntry:
    """One work, from authors and year and what follows them."""
    match = _WORK.fullmatch(words)
    if match is None:
        return BibliographyEntry(slug(words), "misc", tuple(present(title=tex_text(words), doi=doi, note=tex_text(equation))))
    notes = "; ".join(tex_text(part) for part in (match["rest"], equation) if part)
    fields = present(author=authors(match["who"]), year=match["year"], doi=doi, note=notes)
    return BibliographyEntry(slug(f"{match['who']} {match['year']}"), "misc", tuple(fields))


def entry_of_trace(about: Mapping[str, str]) -> BibliographyEntry | None:
    """The data of a trace; None where nothing says whose they are."""
    if not (about.get("title") or about.get("who") or about.get("doi")):
        return None
    words = ", ".join(part for part in (f"{about.get('kind', '')} data".strip(), about.get("figure", "")) if part)
    name = slug(about.get("title") or about.get("who") or about.get("doi") or "")
    who = corporate(about["who"]) if about.get("who") else ""
    fields = present(author=who, title=tex_text(about.get("title", "")), doi=about.get("doi", ""), note=tex_text(words))
    return BibliographyEntry(f"data-{name}", "misc", tuple(fields))


def merged(entries: Iterable[BibliographyEntry]) -> list[BibliographyEntry]:
    """Each work once; what several laws take from it stands in one note. Two works of one name have keys of their own."""
    found: dict[str, BibliographyEntry] = {}
    for entry in entries:
        key, doi = entry.key, dict(entry.fields).get("doi", "")
        while key in found and doi and dict(found[key].fields).get("doi", doi) != doi:
            key += "-b"
        if key in found:
            before = dict(found[key].fields)
            notes = [note for one in (before, dict(entry.fields)) for note in one.get("note", "").split("; ") if note]
            fields = dict(entry.fields) | before | {"note": "; ".join(dict.fromkeys(notes))}
            found[key] = entry._replace(key=key, fields=tuple(present(**fields)))
        else:
            found[key] = entry._replace(key=key)
    return list(found.values())


def present(**fields: str) -> Iterable[tuple[str, str]]:
    """The fields that say something, without what would end them."""
    order = ("author", "title", "year", "version", "doi", "note")
    raw = {"doi": re.compile(r"[{}\\\s]")}
    for name in order:
        value = fields.get(name, "")
        value = raw[name].sub("", value) if name in raw else value
        if value:
            yield name, value


def authors(words: str) -> str:
    """Family names as BibTeX joins them."""
    people = [name for name in re.split(r",\s*|\s*&\s*", words.strip()) if name]
    if people and people[-1].endswith(" et al."):
        people[-1:] = [people[-1].removesuffix(" et al."), "others"]
    return " and ".join(
        name if name == "others" else tex_text(name) if name.isalpha() or "-" in name else corporate(name) for name in people
    )


def corporate(words: str) -> str:
    """A name that is no person's, and stays whole."""
    return f"{{{tex_text(words)}}}"


def tex_text(text: str) -> str:
    """Text for TeX, on one line: what has a meaning there is escaped, accents are TeX's."""
    made = ""
    for sign in unicodedata.normalize("NFD", " ".join(text.split())):
        if sign in _ACCENTS and made and made[-1].isalpha():
            letter = {"i": r"\i", "j": r"\j"}.get(made[-1], made[-1])
            made = f"{made[:-1]}{{\\{_ACCENTS[sign]}{'{' + letter + '}' if _ACCENTS[sign].isalpha() else letter}}}"
        elif unicodedata.category(sign)[0] != "C":
            made += _TEX_SIGNS.get(sign, sign)
    return unicodedata.normalize("NFC", made)


def slug(text: str) -> str:
    """A key: letters, digits and hyphens."""
    ascii_only = unicodedata.normalize("NFKD", text.replace(" et al.", "")).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9.]+", "-", ascii_only.lower()).strip("-.")[:80] or "untitled"
