"""Report about files, in the order in which they are listed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from granchain import __version__
from granchain.analysis import SUMMARISED
from granchain.contact import laws as installed_laws
from granchain.contact.law_record import LawRecord
from granchain.errors import FileError, GranchainError
from granchain.figures.catalogue import plotted_variables
from granchain.show.answer import answer_blocks, law_blocks
from granchain.show.blocks import (
    ERRORS_OF_DAMAGE,
    PAGE_MARK,
    PAGES,
    Block,
    Heading,
    Paragraph,
    document,
)
from granchain.store import open_answer, write_atomically
from granchain.store.files import check_new
from granchain.store.schema import Unread


def report(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str] | None = None,
    *,
    title: str = "",
    author: str = "",
    date: str = "",
    overwrite: bool = False,
    verify: bool = True,
) -> bytes:
    """Write an HTML report about output files.

    The report is one file that needs no network. Its figures can be magnified and show values.

    Parameters
    ----------
    files : str, path, or sequence of them
        Files of answers and of studies.
    out : str or path, optional
        Output file with the ending .html. Default: no file is written.
    title : str
        Title of the report. Default: the title of the first file.
    author : str
        Author, printed under the title.
    date : str
        Date of the report. Default: the date of the computation.
    overwrite : bool
        Overwrite an existing report. Other files are never overwritten.
    verify : bool
        See `granchain.open`.

    Returns
    -------
    bytes
        The report.

    Raises
    ------
    FileError
        If a file cannot be read or the report cannot be written. The message lists every file.

    Examples
    --------
    >>> import granchain as gc
    >>> page = gc.report(["chain.h5", "fit.h5"], "report.html")  # doctest: +SKIP
    """
    named = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    if not named:
        raise FileError(
            "report: no file specified. At least one output file of granchain is required."
        )
    if out is not None:
        check_new(out, PAGES, overwrite)
    blocks: list[Block] = []
    origins: dict[str, Mapping[str, Any]] = {}
    laws: dict[str, None] = {}
    problems: list[str] = []
    for file in named:
        name = Path(file).name
        try:
            answer = open_answer(file, reported_variables, verify=verify)
            study = hasattr(answer, "data_vars")
            about = answer.attrs if study else answer.provenance | {"law": answer.law}
            blocks += answer_blocks(answer, name)
        except GranchainError as error:
            problems.append(str(error))
        except ERRORS_OF_DAMAGE as error:
            problems.append(f"{file}: the content is damaged ({error!r}). Use another copy.")
        else:
            origins[os.fspath(file)] = about
            laws |= dict.fromkeys(law for law in about["law"].split(", ") if law)
    if problems:
        raise FileError("\n".join(problems))
    first = next(block.text for block in blocks if isinstance(block, Heading))
    more = f" (and {len(named) - 1} more)" if len(named) > 1 else ""
    days = sorted(about["started"][:10] for about in origins.values() if about.get("started"))
    computed = f"computed {' to '.join(dict.fromkeys((days[0], days[-1])))}" if days else ""
    every = [
        *warning_of_differences(origins),
        *blocks,
        *([Heading("Contact laws", 1)] if len(named) > 1 else []),
        *(block for law in laws for block in law_blocks(law)),
        *citation(laws),
    ]
    page = document(str(title) or first + more, every, str(author), str(date) or computed)
    if out is not None:
        write_atomically(out, page, overwrite, (PAGE_MARK,))
    return page


def reported_variables(headers: Mapping[str, Unread]) -> set[str]:
    """Return the variables of a file that the report shows: of a chain, not all of them."""
    if "crank_angle" in headers:
        return set(headers)
    return {*plotted_variables(headers), *(name for name in SUMMARISED if name in headers)}


def warning_of_differences(origins: Mapping[str, Mapping[str, Any]]) -> list[Block]:
    """Return a warning if version, source, or a contact law differs between files.

    Parameters
    ----------
    origins : mapping
        Provenance of each file.
    """
    seen: dict[str, dict[str, list[str]]] = {}
    for file, about in origins.items():
        facts = {name: str(about[name]) for name in ("granchain_version", "source_hash")}
        if record := LawRecord.of_text(about.get("law_json", "")):
            facts[f"definition of the contact law {record.law}"] = record.functions
        for fact, value in facts.items():
            seen.setdefault(fact, {}).setdefault(value[:12], []).append(file)
    return [
        Paragraph(
            f"The files were computed with different values of {fact.replace('_', ' ')}: "
            + "; ".join(f"{value} in {', '.join(files)}" for value, files in values.items())
            + ". Compare their results with care",
            warning=True,
        )
        for fact, values in seen.items()
        if len(values) > 1
    ]


def citation(names: Iterable[str]) -> list[Block]:
    """Return the works to cite: the package, and the sources of the contact laws."""
    laws = installed_laws()
    package = (
        f"The granchain developers: granchain {__version__}, discrete element simulation of "
        "one-dimensional chains of beads."
    )
    return [
        Heading("How to cite", 2),
        Paragraph(package),
        *(Paragraph(f"Contact law {name}: {laws[name].source}.") for name in names if name in laws),
    ]
