"""Report about files, in the order in which they are listed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from granchain.analysis import SUMMARISED
from granchain.errors import CaseError, FileError, GranchainError
from granchain.figures import drawn
from granchain.mechanisms.checks import checks_of
from granchain.pages.answer import answer_blocks
from granchain.pages.blocks import PAGE_MARK, PAGES, Block, Heading, Paragraph, document
from granchain.pages.run import HOW_TO_CITE, OF_A_LAW, run_blocks
from granchain.pages.study import ensemble_blocks, study_blocks
from granchain.store import Result, open_answer, write_atomically
from granchain.store.files import check_new
from granchain.store.schema import Unread
from granchain.studies import Ensemble


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

    The report is one file that needs no network and no scripts.

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
        As for `granchain.open`.

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
    dates: set[str] = set()
    problems: list[str] = []
    for file in named:
        try:
            part, computed = report_of_file(file, verify)
        except GranchainError as error:
            problems.append(str(error))
        else:
            blocks += part
            dates.update([computed] if computed else [])
    if problems:
        raise FileError("\n".join(problems))
    first = next(block.text for block in blocks if isinstance(block, Heading))
    more = f" (and {len(named) - 1} more)" if len(named) > 1 else ""
    ends = dict.fromkeys((min(dates), max(dates))) if dates else ()
    computed = f"computed {' to '.join(ends)}" if ends else ""
    blocks_once = without_repeats(blocks)
    page = document(str(title) or first + more, blocks_once, str(author), str(date) or computed)
    if out is not None:
        write_atomically(out, page, overwrite, (PAGE_MARK,))
    return page


def without_repeats(blocks: Iterable[Block]) -> list[Block]:
    """Explain each contact law only at its first occurrence, and put the citations at the end."""
    found: list[Block] = []
    cited: dict[Block, None] = {}
    met: set[tuple[str, Block]] = set()
    name, before = "", list[Block]()
    for block in blocks:
        if isinstance(block, Heading):
            name, before = block.text, [block]
            if (name, block) in met:
                before.append(Paragraph("See the description above."))
        if name == HOW_TO_CITE:
            cited[block] = None
        elif not name.startswith(OF_A_LAW):
            found.append(block)
        elif not isinstance(block, Heading) and (name, block) not in met:
            met |= {(name, before[0]), (name, block)} if before else {(name, block)}
            found += [*before, block]
            before = []
    return [*found, *cited]


def report_of_file(path: str | os.PathLike[str], verify: bool = True) -> tuple[list[Block], str]:
    """Return the blocks of a report about a file, and the day of its computation if available."""

    def needed(headers: Mapping[str, Unread]) -> set[str]:
        return {*drawn(headers), *(name for name in SUMMARISED if name in headers)}

    name = Path(path).name
    found = open_answer(path, needed, verify=verify)
    if isinstance(found, Ensemble):
        about = found.provenance
        return ensemble_blocks(found, about, name), day_of(about)
    if hasattr(found, "data_vars"):
        return study_blocks(found, name), day_of(found.attrs)
    if not isinstance(found, Result):
        found = open_answer(path, verify=verify)
        return answer_blocks(found, name), day_of(found.provenance)
    checks = None
    if "crank_angle" in found.variables:
        try:
            # from all samples
            checks = checks_of(open_answer(path, verify=verify))
        except CaseError:
            checks = []
    return run_blocks(found, name, checks), day_of(found.provenance)


def day_of(about: Mapping[str, Any]) -> str:
    """Return the day of a time such as 2026-11-24T16:09:58+00:00."""
    time = about.get("started") or about.get("written") or ""
    return time[:10] if isinstance(time, str) else ""
