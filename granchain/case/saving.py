"""A case as the text of a case file, and case files on disk.

The text has the keys that the author gave, and the completed values as comments. It loads to an
equal case.
"""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

from granchain.case.document import CASE_BYTES, toml_text
from granchain.errors import CaseError

# Maximum number of rows of a drive in the text of a case file (our choice).
MOST_ROWS = 100


def text_of_case(case: Any) -> str:
    """Return the text of a case file; it refers to an initial state by its hash."""
    return toml_text(case.as_given()["tables"], case.resolved())


def save_case(case: Any, path: str | os.PathLike[str], overwrite: bool) -> None:
    """Write a case file and the files that it names.

    Drives with many rows are written to files such as `mine.ends.left.csv` next to `mine.toml`, and
    the initial state is written to `mine.initial.state`.

    Raises
    ------
    CaseError
        If the text is longer than a case file may be.
    FileError
        If a file exists, or cannot be written.
    """
    # Imported here because only saving a case needs this higher layer.
    from granchain.store.files import check_target, write_atomically

    target, stored = Path(path), case.as_given()
    tables, files = copy.deepcopy(stored["tables"]), {}
    for where, table in case.drives.items() if "chain" in tables else ():
        if table.time is not None and len(table.time) > MOST_ROWS:
            name = f"{target.stem}.{where}.csv"
            rows = [f"{t!r},{x!r}\n" for t, x in zip(table.time, table.value, strict=True)]
            files[name] = "time,value\n" + "".join(rows)
            kind, _, place = where.partition(".")
            drive = tables[kind][place if kind == "ends" else int(place)]
            del drive["time"], drive["value"]
            drive["file"] = name
    if "state" in stored:
        name = f"{target.stem}.initial.state"
        files[name] = stored["state"]
        tables["initial"]["file"] = name
    text = toml_text(tables, case.resolved())
    if len(text.encode()) > CASE_BYTES:
        text = toml_text(tables)
    if len(text.encode()) > CASE_BYTES:
        raise CaseError(
            f"case: its text has {len(text.encode())} bytes. A case file may have {CASE_BYTES}. "
            "Give the long lists in files that the case names."
        )
    contents = {name: content.encode() for name, content in (files | {target.name: text}).items()}
    for name in contents:
        check_target(target.with_name(name), overwrite)
    for name, content in contents.items():
        write_atomically(target.with_name(name), content, overwrite)
