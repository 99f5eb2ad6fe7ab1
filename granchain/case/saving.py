"""A case as the text of a case file, and case files on disk.

The text has the keys that the author gave. It loads to an equal case.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from granchain.case.document import CASE_BYTES, toml_text
from granchain.case.start import STATE_MARK
from granchain.errors import CaseError


def text_of_case(case: Any) -> str:
    """Return the text of a case file that needs no other file and loads to an equal case."""
    given = case.as_given()
    tables = copy.deepcopy(given["tables"])
    for where, table in tables_with_files(tables):
        del table["file"]
        table |= case.numbers_of_file(where)
    return toml_text(tables)


def save_case(case: Any, path: str | os.PathLike[str], overwrite: bool) -> None:
    """Write a case file, and the files that it names: `mine.ends.left.csv` next to `mine.toml`.

    A stored state is written to a separate file, such as `mine.initial.state`.

    Raises
    ------
    CaseError
        If the text is longer than a case file may be.
    FileError
        If a file exists, or cannot be written.
    """
    # Imported here because only saving a case needs this higher layer.
    from granchain.store.files import check_target, write_atomically

    target, given = Path(path), case.as_given()
    tables, texts = copy.deepcopy(given["tables"]), dict(given.get("files", ()))
    companions: dict[str, str] = {}

    def companion(where: str, text: str) -> str:
        ending = "state" if text.startswith(STATE_MARK) else "csv"
        name = f"{target.stem}.{where}.{ending}"
        companions[name] = text
        return name

    for where, table in tables_with_files(tables):
        table["file"] = companion(where, texts[table["file"]])
    initial = tables.get("initial")
    if isinstance(initial, dict) and "state" in initial:
        tables["initial"] = {"file": companion("initial", initial["state"])}
    text = toml_text(tables).encode()
    if len(text) > CASE_BYTES:
        raise CaseError(
            f"case: its text has {len(text)} bytes. A case file may have {CASE_BYTES}. Give the "
            "long lists in files that the case names."
        )
    files = {name: one.encode() for name, one in companions.items()} | {target.name: text}
    for name in files:
        check_target(target.with_name(name), overwrite)
    for name, content in files.items():
        write_atomically(target.with_name(name), content, overwrite)


def tables_with_files(tables: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tables that name a file, each with its key: "ends.left", "drive.0", "initial"."""
    ends = tables.get("ends") or {}
    places = {f"ends.{side}": ends.get(side) for side in ("left", "right")}
    places |= {f"drive.{i}": table for i, table in enumerate(tables.get("drive") or ())}
    places["initial"] = tables.get("initial")
    for where, table in places.items():
        if isinstance(table, dict) and "file" in table:
            yield where, table
