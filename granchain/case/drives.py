"""The tables and signals that driven ends follow: read from their files, and checked."""

from __future__ import annotations

import math
import re
import stat
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from granchain.case.signals import KEYS_ALLOWED, KEYS_NEEDED, KNOTS_PER_PERIOD, MOST_KNOTS, Drive, highest, knots, length, lines
from granchain.case.tables import DRIVE_TABLE, DriveTable, TimeTable
from granchain.keys import Problems, add_missing, shown

# Ours: a drive table of this size holds some 400,000 rows.
DRIVE_BYTES = 16 * 2**20

_ROW = re.compile(r"[ \t]*([-+.0-9eE]{1,40})[ \t]*,[ \t]*([-+.0-9eE]{1,40})[ \t]*")
# A first line that begins like a number is no header.
_HEADER = re.compile(r"[ \t]*[^-+.0-9 \t].*")


class Files:
    """What the files hold that a case names: read once, so that a changed, stored or sent case is still the same.

    Parameters
    ----------
    folder : Path or None
        From which they are looked for; None: of a case that was stored or sent.
    texts : mapping of str to str
        Those that are known, by the name that the case has for them.
    """

    def __init__(self, folder: Path | None, texts: Mapping[str, str] | None = None):
        self.folder, self.texts = folder, dict(texts or {})

    def changed(self, changes: Any) -> Files:
        """Those of a case with these changes: a file that they name is read again, where the case has a folder."""
        again = set(files_named(changes)) if self.folder is not None else ()
        return Files(self.folder, {name: text for name, text in self.texts.items() if name not in again})


def files_named(tables: Any, key: str = "") -> Iterator[str]:
    """The files that tables, or changes of them, name."""
    if isinstance(tables, Mapping):
        for name, value in tables.items():
            yield from files_named(value, str(name))
    elif isinstance(tables, str) and key.rpartition(".")[2].strip() == "file":
        yield tables


def csv_lines(where: str, file: str, files: Files, problems: Problems) -> list[str] | None:
    """The lines of a file that a case names; None where it cannot be read."""
    name = shown(file)
    if file in files.texts:
        return files.texts[file].splitlines()
    try:
        path = (files.folder or Path()) / file
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError(0, "not a file")
        with path.open("rb") as opened:
            content = opened.read(DRIVE_BYTES + 1)
        text = content.decode("utf-8-sig") if len(content) <= DRIVE_BYTES else ""
    except (OSError, ValueError) as error:
        reason = "not UTF-8" if isinstance(error, UnicodeDecodeError) else getattr(error, "strerror", None) or "no such path"
        advice = "check the name, which is looked for from the case file's folder"
        problems.add(where, f"{name} ({reason})", "a CSV file that can be read", advice)
        return None
    if len(content) > DRIVE_BYTES:
        problems.add(where, f"{name} of more than 16 MiB", "at most 16 MiB", "take fewer rows")
        return None
    files.texts[file] = text
    return text.splitlines()


def read_drive(where: str, end: DriveTable, files: Files, problems: Problems) -> Drive | None:
    """Columns of a driven end's table, from its file or its lists; None where there are none, or a signal."""
    given = [name for name in DRIVE_TABLE.model_fields if name != "drive" and getattr(end, name) is not None]
    if end.signal is not None:
        own = (*KEYS_NEEDED[end.signal], *KEYS_ALLOWED[end.signal])
        _refuse_beside(where, given, ("signal", *own), f'signal = "{end.signal}"', problems)
        for name in KEYS_NEEDED[end.signal]:
            if getattr(end, name) is None and problems.clear(f"{where}.{name}"):
                add_missing(DRIVE_TABLE, name, f"{where}.{name}", problems)
        return None
    if end.file is None and end.time is not None and end.value is not None:
        _refuse_beside(where, given, ("time", "value"), "time and value", problems)
        return Drive(np.array(end.time, dtype=float), np.array(end.value, dtype=float))
    if end.file is None or end.time is not None or end.value is not None:
        if problems.clear(where):
            got = "neither file, nor both time and value, nor signal" if end.file is None else "file beside time or value"
            problems.add(where, got, "a file, or both time and value, or a signal", "give one table or signal")
        return None
    _refuse_beside(where, given, ("file",), "file", problems)
    where, name = f"{where}.file", shown(end.file)
    columns = "two columns, time [s] and displacement [m] or force [N]"
    lines = csv_lines(where, end.file, files, problems)
    if lines is None:
        return None
    rows, faulty = two_columns("\n".join(lines))
    if faulty:
        # Its number alone: the file may be anybody's, and a case comes from anywhere.
        got, advice = f"{name}, in which line {faulty} is no two numbers", "write a comma between the two and points in the numbers"
        problems.add(where, got, columns, advice)
        return None
    if not rows:
        problems.add(where, f"{name} without a row", columns, "fill the table")
        return None
    time, value = np.array(rows).T.copy()
    return Drive(time, value)


@lru_cache(maxsize=4)
def two_columns(text: str) -> tuple[list[tuple[float, float]], int]:
    """The rows of a table, and the number of the first line that is none; 0 where all are. Every change of a case asks for them."""
    rows = []
    for i, line in enumerate(text.splitlines()):
        match = _ROW.fullmatch(line)
        try:
            if match:
                rows.append((float(match[1]), float(match[2])))
            elif line.strip() and not (i == 0 and _HEADER.fullmatch(line)):
                return [], i + 1
        except ValueError:
            return [], i + 1
    return rows, 0


def _refuse_beside(where: str, given: list[str], allowed: tuple[str, ...], what: str, problems: Problems) -> None:
    """Refuse keys that do not belong to what is given."""
    for name in given:
        if name not in allowed:
            problems.add(f"{where}.{name}", f"a key beside {what}", ", ".join(allowed), "take it out")


def check_signal(where: str, end: DriveTable, time: TimeTable | None, problems: Problems) -> None:
    """A signal begins at rest, ends at rest where it ends before the run, and its table is bounded."""
    if end.band is not None and not (len(end.band) == 2 and 0.0 < end.band[0] < end.band[1]):
        got = " and ".join(f"{edge:g}" for edge in end.band[:3]) or "an empty list"
        problems.add(f"{where}.band", got, "two numbers above 0, the lower first", "give the two edges of the band [Hz]")
    ramp, duration = end.ramp or 0.0, end.duration
    if duration is not None and ramp > 0.5 * duration and problems.clear(f"{where}.ramp", f"{where}.duration"):
        advice = "shorten the ramp, which comes at the start and at the end, or lengthen the signal"
        problems.add(f"{where}.ramp", f"{ramp:g}", f"at most half the duration, {0.5 * duration:g}", advice)
    if end.drive == "displacement" and not ramp and (end.signal == "noise" or end.phase) and problems.clear(where):
        got = "no ramp of a displacement that does not begin at 0"
        problems.add(f"{where}.ramp", got, "a number above 0", "give the time [s] in which the signal rises" + _or_phase(end))
    if time is None or not problems.clear(where, "time.end"):
        return
    if duration is not None and duration < time.end and not ramp and end.signal != "pulse":
        got = f"no ramp of a signal that ends at {duration:g} s, before the run"
        problems.add(f"{where}.ramp", got, f"a number above 0, or a duration from {time.end:g}", "give a ramp [s]: it ends at rest then")
    # the coefficients of the cubics go with the third power of a knot's frequency
    many, step = knots(end, time.end), KNOTS_PER_PERIOD * highest(end)
    if not many <= MOST_KNOTS:
        got = f"{length(end, time.end):g} s of a signal with {highest(end):.3g} Hz"
        allowed = f"{MOST_KNOTS // KNOTS_PER_PERIOD - 2} periods"
        problems.add(where, got, allowed, "shorten the signal or the run, or take a lower frequency or a longer ramp")
    elif not math.isfinite((end.amplitude or end.rms or 0.0) * step * step * step):
        got = f"{end.amplitude or end.rms:g} at {highest(end):.3g} Hz"
        problems.add(where, got, "a signal whose slopes are finite numbers", "take a smaller signal, or a longer one")
    elif end.signal == "noise":
        first, last = lines(end, time.end)
        if first > last:
            got = f"{end.band[0]:g} to {end.band[1]:g} Hz" if end.band else "none"
            each = 1.0 / length(end, time.end)
            allowed = f"a band that holds a multiple of {each:.6g} Hz, one over the length of the signal"
            problems.add(f"{where}.band", got, allowed, "widen the band, or lengthen the signal")


def _or_phase(end: DriveTable) -> str:
    return ", or take out the phase" if end.phase else ""


def at_rest(drive: str, value: np.ndarray) -> bool:
    """Whether a table ends at rest, so that it can go on as it ends: its last two values are equal, or a force has come to zero."""
    return bool(value.size > 1 and (value[-1] == value[-2] or (drive == "force" and value[-1] == 0.0)))


def check_drive(where: str, drive: str, table: Drive, end: TimeTable | None, problems: Problems) -> bool:
    """A drive is finite, goes forward in time, and covers the run or ends at rest."""
    time, value, _ = table
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
    elif end is not None and problems.clear("time.end") and not (time[0] <= 0.0 and (time[-1] >= end.end or at_rest(drive, value))):
        got = f"times from {time[0]:g} to {time[-1]:g} s" + (", still changing at the last" if time[0] <= 0.0 else "")
        allowed = f"a table from 0 to the end of the run at {end.end:g} s, or to rest: two equal values at its end"
        problems.add(where, got, allowed, "lengthen the table, or shorten the run")
    return problems.clear(where)
