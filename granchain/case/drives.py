"""The tables that driven ends follow: read from their files, and checked."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import numpy as np

from granchain.case.tables import DriveTable, TimeTable
from granchain.keys import Problems, shown

# Ours: a drive table of this size holds some 400,000 rows.
DRIVE_BYTES = 16 * 2**20

Drive = tuple[np.ndarray, np.ndarray]

_ROW = re.compile(r"[ \t]*([-+.0-9eE]{1,40})[ \t]*,[ \t]*([-+.0-9eE]{1,40})[ \t]*")
# A first line that begins like a number is no header.
_HEADER = re.compile(r"[ \t]*[^-+.0-9 \t].*")


def read_drive(where: str, end: DriveTable, folder: Path | None, problems: Problems) -> Drive | None:
    """Columns of a driven end's table, from its file or its lists; None where there are none."""
    if end.file is None and end.time is not None and end.value is not None:
        return np.array(end.time, dtype=float), np.array(end.value, dtype=float)
    if end.file is None or end.time is not None or end.value is not None:
        got = "neither file, nor both time and value" if end.file is None else "file beside time or value"
        problems.add(where, got, "either file, or both time and value", "give one table")
        return None
    where, name = f"{where}.file", shown(end.file)
    columns = "two columns, time [s] and displacement [m] or force [N]"
    try:
        path = (folder or Path()) / end.file
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError(0, "not a file")
        with path.open("rb") as file:
            content = file.read(DRIVE_BYTES + 1)
        lines = content.decode("utf-8-sig").splitlines() if len(content) <= DRIVE_BYTES else []
    except (OSError, ValueError) as error:
        reason = "not UTF-8" if isinstance(error, UnicodeDecodeError) else getattr(error, "strerror", None) or "no such path"
        advice = "check the name, which is looked for from the case file's folder"
        problems.add(where, f"{name} ({reason})", "a CSV file that can be read", advice)
        return None
    if len(content) > DRIVE_BYTES:
        problems.add(where, f"{name} of more than 16 MiB", "at most 16 MiB", "take fewer rows")
        return None
    rows = []
    for i, line in enumerate(lines):
        try:
            match = _ROW.fullmatch(line)
            if match:
                rows.append((float(match[1]), float(match[2])))
                continue
        except ValueError:
            pass
        if line.strip() and not (i == 0 and _HEADER.fullmatch(line)):
            # Its number alone: the file may be anybody's, and a case comes from anywhere.
            problems.add(
                where,
                f"{name}, in which line {i + 1} is no two numbers",
                columns,
                "write a comma between the two and points in the numbers",
            )
            return None
    if not rows:
        problems.add(where, f"{name} without a row", columns, "fill the table")
        return None
    time, value = np.array(rows).T.copy()
    return time, value


def check_drive(where: str, time: np.ndarray, value: np.ndarray, end: TimeTable | None, problems: Problems) -> bool:
    """A drive is finite, goes forward in time, and covers the run."""
    if time.size != value.size or not time.size:
        got = f"{time.size} times and {value.size} values"
        problems.add(where, got, "as many values as times, and at least one", "complete the lists")
    elif not (np.isfinite(time) & np.isfinite(value)).all():
        row = int(np.flatnonzero(~(np.isfinite(time) & np.isfinite(value)))[0])
        problems.add(where, f"a number beyond all bounds in row {row + 1}", "finite numbers", "mend the row")
    elif (np.diff(time) <= 0.0).any():
        row = int(np.flatnonzero(np.diff(time) <= 0.0)[0]) + 1
        got = f"time {time[row]:g} after {time[row - 1]:g} in row {row + 1}"
        problems.add(where, got, "times that grow from row to row", "sort the rows, and take out doubles")
    elif end is not None and problems.clear("time.end") and not (time[0] <= 0.0 and time[-1] >= end.end):
        got = f"times from {time[0]:g} to {time[-1]:g} s"
        problems.add(where, got, f"a table from 0 to the end of the run at {end.end:g} s", "lengthen the table, or shorten the run")
    return problems.clear(where)
