"""`granchain cite`: BibTeX of what a case or a file rests on."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import typer

from granchain.cli.options import LawModuleOption, app, case_words, law_words, load_laws
from granchain.cli.text import print_text
from granchain.errors import CaseError, FileError, nearest

# What is taken of what is known of data.
SAID = ("title", "kind", "doi", "who", "figure")


def citable_words(incomplete: str) -> list[str]:
    """Cases and contact laws."""
    return [*case_words(incomplete), *law_words(incomplete)]


@app.command()
def cite(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CASE|FILE|LAW|DIR]...",
            help="Case, file of granchain, contact law, or folder of a trace. None: granchain.",
            autocompletion=citable_words,
        ),
    ] = None,
    law_module: LawModuleOption = None,
) -> None:
    """Print BibTeX: of granchain, of the contact laws' sources, and of the data."""
    load_laws(law_module)
    from granchain.citation import cite as cited

    print_text(cited(*(one for name in what or [] for one in objects_of(name))).rstrip("\n"))


def objects_of(name: str) -> list[Any]:
    """What a word of the command line names."""
    from granchain.case import case_names, load_case, load_mechanism, mechanism_names
    from granchain.contact import laws
    from granchain.keys import shown

    if name in laws() and not os.path.lexists(name):
        return [name]
    if name in mechanism_names():
        return [load_mechanism(name)]
    if name not in case_names():
        path = Path(name)
        if path.is_dir():
            return [data_of(path)]
        if path.suffix.lower() == ".json":
            return conclusion_of(name)
        if path.is_file() and path.suffix.lower() != ".toml":
            return [laws_of_file(name)]
        if not path.suffix and not os.path.lexists(name):
            near = nearest(name, [*laws(), *case_names(), *mechanism_names()])
            advice = (
                f'did you mean "{near}"?'
                if near
                else "granchain laws and granchain cases list the names"
            )
            raise CaseError(
                f"cite: got {shown(name)}, allowed a case, an output file, a contact law or the "
                f"folder of a trace; {advice}"
            )
    return [load_case(name)]


def data_of(folder: Path) -> Any:
    """What the `about.toml` of a folder of measured data says of them, of a trace or of impacts."""
    from granchain.traces.folder import ABOUT, document_of

    document = document_of(folder / ABOUT)
    said = {name: value for name in SAID if isinstance(value := document.get(name), str)}
    if not (said.get("title") or said.get("who") or said.get("doi")):
        raise FileError(
            f"{folder / ABOUT}: got neither title, who nor doi, allowed one of them; say whose "
            "data they are"
        )
    sources = document.get("source")
    listed = [one for one in sources if isinstance(one, dict)] if isinstance(sources, list) else []
    works = [
        (str(one.get("printed") or one.get("name") or ""), str(one.get("doi") or ""))
        for one in listed
    ]
    return SimpleNamespace(about=SimpleNamespace(**said), works=[work for work in works if work[0]])


def laws_of_file(file: str) -> Any:
    """The result, ensemble or study of a file."""
    from granchain.store import open_result
    from granchain.store.reader import HoldsEnsembleError, nothing
    from granchain.store.stored import StoredEnsemble
    from granchain.store.study import is_study, open_study

    if is_study(file):
        return SimpleNamespace(law=str(open_study(file).attrs["law"]), provenance={})
    try:
        return open_result(file, variables=nothing)
    except HoldsEnsembleError:
        stored = StoredEnsemble(file)
        return SimpleNamespace(law=stored.law, provenance=stored.provenance)


def conclusion_of(file: str) -> list[Any]:
    """Laws and data of what --out FILE.json of a command wrote."""
    from granchain.citation import laws_in
    from granchain.contact import laws
    from granchain.store.conclusion import read_conclusion

    document = read_conclusion(file)
    names = laws_in(document.get("case", {}).get("contact", {})) + [
        str(one.get("law", "")) for one in document.get("results", [])
    ]
    found: list[Any] = [name for name in dict.fromkeys(names) if name in laws()]
    trace = document.get("trace")
    if isinstance(trace, dict):
        said = {name: str(trace.get(name) or "") for name in SAID}
        found.append(SimpleNamespace(about=SimpleNamespace(**said)))
    if not found:
        raise FileError(
            f"{file}: got a file that names neither a contact law nor a trace, allowed one that "
            "does; name another"
        )
    return found
