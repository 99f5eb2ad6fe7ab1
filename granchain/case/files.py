"""The CSV files that a case names."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from granchain.keys import Problems, shown

# Ours: a drive table of this size holds some 400,000 rows.
CSV_BYTES = 16 * 2**20


class Files:
    """Contents of the files that a case names: read once, so that a changed, stored or sent case
    stays the same.

    Parameters
    ----------
    folder : Path or None
        Where relative names begin; None for a case that was stored or sent.
    texts : mapping of str to str
        Contents that are already known, by the name in the case.
    """

    def __init__(self, folder: Path | None, texts: Mapping[str, str] | None = None):
        self.folder, self.texts = folder, dict(texts or {})

    def changed(self, changes: Any) -> Files:
        """Files of a case with these changes: one that they name is read again, if there is a
        folder."""
        again = set(files_named(changes)) if self.folder is not None else ()
        return Files(
            self.folder, {name: text for name, text in self.texts.items() if name not in again}
        )

    def text(self, where: str, file: str, problems: Problems) -> str | None:
        """Content of a file; None, with a problem reported, if it cannot be read."""
        if file in self.texts:
            return self.texts[file]
        name = shown(file)
        try:
            path = (self.folder or Path()) / file
            if not stat.S_ISREG(path.stat().st_mode):
                raise OSError(0, "not a file")
            with path.open("rb") as opened:
                content = opened.read(CSV_BYTES + 1)
            if len(content) > CSV_BYTES:
                problems.add(
                    where, f"{name} of more than 16 MiB", "at most 16 MiB", "take fewer rows"
                )
                return None
            self.texts[file] = content.decode("utf-8-sig")
        except (OSError, ValueError) as error:
            not_text = isinstance(error, UnicodeDecodeError)
            reason = "not UTF-8" if not_text else getattr(error, "strerror", None) or "no such path"
            advice = "check the name, which is looked for from the case file's folder"
            problems.add(where, f"{name} ({reason})", "a CSV file that can be read", advice)
            return None
        return self.texts[file]


def files_named(tables: Any, key: str = "") -> Iterator[str]:
    """Names of the files that tables, or changes of them, refer to."""
    if isinstance(tables, Mapping):
        for name, value in tables.items():
            yield from files_named(value, str(name))
    elif isinstance(tables, str) and key.rpartition(".")[2].strip() == "file":
        yield tables
