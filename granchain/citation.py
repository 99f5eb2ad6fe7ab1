"""BibTeX entries for a computation: granchain, the sources of its contact laws, and the data that
it was compared with."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata, resources
from typing import Any, NamedTuple

from pydantic import BaseModel

from granchain.case.tables import PlateEndTable
from granchain.contact import laws
from granchain.contact.law import Source
from granchain.errors import GranchainError
from granchain.store.schema import granchain_version

# A work in the text of a source: authors, year, and further details.
_WORK = re.compile(r"(?P<who>.+?),? (?P<year>1[5-9]\d\d|20\d\d)\b,? ?(?P<rest>.*)", re.DOTALL)
_STATED_DOI = re.compile(r",? ?\bdoi:(10\.\S+)")
# Motion of a large thin plate: an end of a chain, or the plate that a sphere strikes. We could not
# read the title, so the entry has none.
PLATE = Source("Zener 1941, Physical Review 59, 669", doi="10.1103/PhysRev.59.669")
# Replacements of characters with a meaning in BibTeX and TeX. A brace must be one of a pair, even
# after a backslash.
_TEX_SIGNS = {
    **{sign: f"\\{sign}" for sign in "&%$#_"},
    "{": r"{\textbraceleft}",
    "}": r"{\textbraceright}",
    "\\": r"{\textbackslash}",
    "~": r"{\textasciitilde}",
    "^": r"{\textasciicircum}",
}


class BibliographyEntry(NamedTuple):
    """BibTeX entry: its key, its kind, and its fields in order."""

    key: str
    kind: str
    fields: dict[str, str]

    def __str__(self) -> str:
        lines = "".join(
            f"  {name} = {{{value}}},\n" for name, value in self.fields.items() if value
        )
        return f"@{self.kind}{{{self.key},\n{lines}}}"


@cache
def references() -> dict[str, BibliographyEntry]:
    """Return the entries of references.bib by key, which is authors and year."""
    text = resources.files("granchain").joinpath("references.bib").read_text(encoding="utf-8")
    entries = re.findall(r"^@(\w+)\{([\w.-]+),\n(.*?)^\}", text, re.MULTILINE | re.DOTALL)
    return {
        key: BibliographyEntry(
            key, kind, dict(re.findall(r"^  (\w+) = \{(.*)\},$", body, re.MULTILINE))
        )
        for kind, key, body in entries
    }


def cite(*objects: Any) -> str:
    """Return the BibTeX entries to cite for computations.

    Parameters
    ----------
    *objects : Case, Result, Comparison, Fit, Trace, Ensemble, or str
        Objects to cite; a string is the name of a contact law. Default: only granchain.

    Returns
    -------
    str
        BibTeX: comments with the source of each contact law and of a plate, one entry for
        granchain, one for each work that the sources list, and one for each trace. Works that
        granchain does not know are `@misc` entries with the fields that their source specifies.

    Raises
    ------
    GranchainError
        If an object has neither a contact law nor a trace.

    Examples
    --------
    >>> import granchain as gc
    >>> print(gc.cite("hertz").splitlines()[0])  # doctest: +ELLIPSIS
    % contact law hertz: ...
    """
    versions, comments, entries = [], [], []
    for item in objects:
        names, about, on_plate = _laws_of(item), _data_about(item), _has_plate(item)
        if not names and about is None:
            raise GranchainError(
                f"cite: {type(item).__name__} is not valid. Give a case, a result, a comparison, a "
                "fit, a trace, or the name of a law."
            )
        stated = dict(getattr(item, "provenance", None) or {}).get("granchain_version")
        versions.append(str(stated or granchain_version()))
        for name in names:
            source, law = "the law is not installed; load its file to cite it", laws().get(name)
            if law is not None:
                source = str(law.source)
                entries += works_of(law.source)
            # Outside entries, BibTeX ignores everything except "@".
            line = f"% contact law {name}: {source}".replace("@", "(at)")
            comments.append(" ".join(line.split()))
        comments += [f"% plate: {PLATE}"] * on_plate
        entries += works_of(PLATE) * on_plate
        entries += _entry_of_data(about)
        entries += [_work(text, doi) for text, doi in getattr(item, "works", ())]
    packages = [_package(version) for version in dict.fromkeys(versions or [granchain_version()])]
    head = "\n".join([*dict.fromkeys(comments), "\n"]) if comments else ""
    return head + "\n\n".join(map(str, _merged([*packages, *entries]))) + "\n"


def _data_about(item: Any) -> Any:
    """Return the description of the data of a cited object, or None."""
    return getattr(item, "about", None) or getattr(getattr(item, "trace", None), "about", None)


def _laws_of(item: Any) -> list[str]:
    """Return the names of the contact laws of a cited object, each once."""
    if isinstance(item, str):
        if item not in laws():
            raise GranchainError(
                f'cite: unknown law "{item[:60]}". It must be the name of a contact law. '
                '"granchain laws" lists them.'
            )
        return [item]
    names = []
    for case in _cases_of(item):
        tables = {name: getattr(case, name, None) for name in ("contact", "chain", "ends")}
        names += laws_in(tables)
    # If there are several laws, `law` is one string.
    named = (law for law in str(getattr(item, "law", "")).split(", ") if law)
    return list(dict.fromkeys([*names, *named]))


def _cases_of(item: Any) -> list[Any]:
    """Return the case of a result, the cases of many results, or the item, which may be a case."""
    try:
        return [getattr(item, "case", None) or item, *getattr(item, "cases", ())]
    except (GranchainError, AttributeError):
        # The case of a file is missing, or this version cannot read it.
        return []


def _has_plate(item: Any) -> bool:
    """Check if a plate is an end of a chain, or is struck by a sphere."""
    ends = [getattr(case, "ends", None) for case in _cases_of(item)]
    sides = [getattr(table, side, None) for table in ends for side in ("left", "right")]
    at_end = any(isinstance(end, PlateEndTable) for end in sides)
    return at_end or "impedance" in getattr(item, "variables", ())


def laws_in(contact: Mapping[str, Any]) -> list[str]:
    """Return the law of a table [contact] or of a table of tables, and of restitutions in it.

    Restitutions in pairs of materials are included.
    """
    names = [str(contact["law"])] if isinstance(contact.get("law"), str) else []
    for value in contact.values():
        for table in value if isinstance(value, list | tuple) else (value,):
            # The table may be validated, or still be as the author wrote it.
            names += laws_in(dict(table)) if isinstance(table, (Mapping, BaseModel)) else []
    return list(dict.fromkeys(names))


def _package(version: str) -> BibliographyEntry:
    """Return the entry of a version of granchain."""
    about = metadata.metadata("granchain")
    fields = {
        "author": f"{{{tex_text(about['Author'])}}}",
        "title": f"{{granchain}}: {tex_text(about['Summary'])}",
        "version": tex_text(version),
        "note": f"Software, {tex_text(about['License-Expression'])} licence",
    }
    return BibliographyEntry(f"granchain-{slug(version)}", "misc", fields)


def works_of(source: Source) -> list[BibliographyEntry]:
    """Return the works of a source; a separate DOI belongs to the first work without one."""
    named = [text.strip() for text in source.text.split(";") if text.strip()]
    # If the source names works, text without a year, such as the name of a model, is ignored.
    works = [text for text in named if _WORK.fullmatch(text)] or named
    listed = {entry.fields.get("doi") for entry in references().values()}
    dois = [doi for doi in map(str.strip, source.doi.split(";")) if doi and doi not in listed]
    entries = []
    for work in works:
        inline = _STATED_DOI.search(work)
        # With several works, the source does not specify which one contains the equation.
        entry = _work(
            _STATED_DOI.sub("", work).strip(" ,"),
            inline[1] if inline else "",
            source.equation if len(works) == 1 else "",
        )
        if not entry.fields["doi"] and entry.key not in references() and dois:
            entry.fields["doi"] = _clean_doi(dois.pop(0))
        entries.append(entry)
    return entries


def _work(text: str, doi: str, equation: str = "") -> BibliographyEntry:
    """Return one work: the entry of references.bib, or one made from the text alone."""
    match = _WORK.fullmatch(text)
    who, year, details = match.group("who", "year", "rest") if match else ("", "", "")
    key = slug(f"{who} {year}" if match else text)
    entry = references().get(key)
    if entry is not None and doi in ("", entry.fields.get("doi", "")):
        locations = [
            note for note in details.split(", ") if note.startswith(("eq", "sec", "table"))
        ]
        notes = (entry.fields.get("note", ""), tex_text(", ".join(locations)), tex_text(equation))
        fields = {**entry.fields, "doi": entry.fields.get("doi", "")}
        return entry._replace(fields={**fields, "note": "; ".join(filter(None, notes))})
    people = [name for name in re.split(r",\s*|\s*&\s*| (?=et al\.)", who.strip()) if name]
    names = ["others" if name == "et al." else tex_text(name) for name in people]
    fields = {
        "author": " and ".join(f"{{{name}}}" if " " in name else name for name in names),
        "title": "" if match else tex_text(text),
        "year": year,
        "doi": _clean_doi(doi),
        "note": "; ".join(tex_text(note) for note in (details, equation) if note),
        # BibTeX sorts by this field if there is no author.
        "key": "" if match else tex_text(text),
    }
    return BibliographyEntry(key, "misc", fields)


def _entry_of_data(about: Any) -> list[BibliographyEntry]:
    """Return the entry for the data of a trace; empty if their origin is unknown."""
    title, who, doi, figure, kind = (
        str(getattr(about, name, "") or "") for name in ("title", "who", "doi", "figure", "kind")
    )
    if not (title or who or doi):
        return []
    fields = {
        "author": f"{{{tex_text(who)}}}" if who else "",
        "title": tex_text(title),
        "doi": _clean_doi(doi),
        "note": tex_text(", ".join(filter(None, (f"{kind} data".strip(), figure)))),
    }
    return [BibliographyEntry(f"data-{slug(title or who or doi)}", "misc", fields)]


def _merged(entries: Iterable[BibliographyEntry]) -> list[BibliographyEntry]:
    """Merge the entries of equal works, with one note for all laws.

    Two different works with the same key get different keys.
    """
    merged: dict[str, BibliographyEntry] = {}
    for entry in entries:
        key, doi = entry.key, entry.fields.get("doi")
        while key in merged and doi and merged[key].fields.get("doi") not in ("", None, doi):
            key += "-b"
        before = merged[key].fields if key in merged else {}
        both = "; ".join((before.get("note", ""), entry.fields.get("note", ""))).split("; ")
        stated = {name: value for name, value in before.items() if value}
        note = "; ".join(dict.fromkeys(filter(None, both)))
        merged[key] = entry._replace(key=key, fields={**entry.fields, **stated, "note": note})
    return list(merged.values())


def _clean_doi(doi: str) -> str:
    """Remove characters that would end a field."""
    return re.sub(r"[{}\\\s]", "", doi)


def tex_text(text: str) -> str:
    """Return text on one line for TeX, with special characters escaped."""
    signs = (_TEX_SIGNS.get(sign, sign) for sign in " ".join(text.split()))
    return "".join(sign for sign in signs if unicodedata.category(sign[0])[0] != "C")


def slug(text: str) -> str:
    """Return a key of letters, digits, and hyphens."""
    ascii_only = (
        unicodedata.normalize("NFKD", text.replace(" et al.", ""))
        .encode("ascii", "ignore")
        .decode()
    )
    return re.sub(r"[^a-z0-9.]+", "-", ascii_only.lower()).strip("-.")[:80] or "untitled"
