"""From files to a page: what kind each is, in the order in which they were named."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from granchain.analysis import SUMMARISED
from granchain.errors import CaseError, FileError, GranchainError
from granchain.figures import drawn
from granchain.mechanism.checks import checks_of
from granchain.pages.blocks import Block, document
from granchain.pages.conclusions import conclusion_blocks
from granchain.pages.opened import opened
from granchain.pages.run import run_blocks
from granchain.pages.study import study_blocks
from granchain.store import open_result
from granchain.store.variables import Unread


def report(files: Sequence[str | os.PathLike[str]], unsealed: bool = False) -> bytes:
    """One page of HTML about output files: it needs no network and no script to be read.

    Parameters
    ----------
    files : sequence of str or path
        Results of runs, studies, and what `--out FILE.json` of a command wrote.
    unsealed : bool
        As of `granchain.open_result`.

    Returns
    -------
    bytes
        The page.

    Raises
    ------
    FileError
        With every file that cannot be read.
    """
    if not files:
        raise FileError("report: got no file, allowed one or more; name output files of granchain")
    parts: list[list[Block]] = []
    problems: list[str] = []
    for file in files:
        try:
            parts.append(blocks_of(file, unsealed))
        except GranchainError as error:
            problems.append(str(error))
    if problems:
        raise FileError("\n".join(problems))
    title = (
        Path(files[0]).name
        if len(files) == 1
        else f"{Path(files[0]).name} and {len(files) - 1} more"
    )
    return document(f"granchain report: {title}", [block for part in parts for block in part])


def blocks_of(path: str | os.PathLike[str], unsealed: bool = False) -> list[Block]:
    """What a report says of one file."""

    def needed(headers: Mapping[str, Unread]) -> set[str]:
        return {*drawn(headers), *(name for name in SUMMARISED if name in headers)}

    name = Path(path).name
    found = opened(path, unsealed, variables=needed)
    if isinstance(found, dict):
        return conclusion_blocks(found, name)
    if hasattr(found, "data_vars"):
        return study_blocks(found, name)
    if "crank_angle" not in found.variables:
        return run_blocks(found, name)
    try:
        # from all of its samples
        return run_blocks(found, name, checks_of(open_result(path, unsealed=unsealed)))
    except CaseError:
        return run_blocks(found, name, [])
