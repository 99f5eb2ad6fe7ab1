"""The tables and signals that driven ends follow: read from their files, and checked."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from granchain.case.files import Files
from granchain.case.signals import (
    KEYS_ALLOWED,
    KEYS_NEEDED,
    KNOTS_PER_PERIOD,
    MOST_KNOTS,
    Drive,
    highest,
    knots,
    length,
    lines,
)
from granchain.case.tables import DRIVE_TABLE, DriveTable, TimeTable
from granchain.csv_text import csv_numbers, csv_rows
from granchain.keys import Problems, add_missing, shown


def read_drive(where: str, end: DriveTable, files: Files, problems: Problems) -> Drive | None:
    """Columns of a driven end's table, from its file or its lists; None where there are none,
    or a signal."""
    given = [
        name
        for name in DRIVE_TABLE.model_fields
        if name != "drive" and getattr(end, name) is not None
    ]
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
            got = (
                "neither file, nor both time and value, nor signal"
                if end.file is None
                else "file beside time or value"
            )
            problems.add(
                where,
                got,
                "a file, or both time and value, or a signal",
                "give one table or signal",
            )
        return None
    _refuse_beside(where, given, ("file",), "file", problems)
    where, name = f"{where}.file", shown(end.file)
    columns = "two columns, time [s] and displacement [m] or force [N]"
    text = files.text(where, end.file, problems)
    if text is None:
        return None
    rows, faulty = drive_rows(text)
    if faulty:
        # The line's number alone: the file may be anybody's, and a case comes from anywhere.
        got = f"{name}, in which line {faulty} is no two numbers"
        advice = "write a comma between the two and points in the numbers"
        problems.add(where, got, columns, advice)
        return None
    if not rows:
        problems.add(where, f"{name} without a row", columns, "fill the table")
        return None
    time, value = np.array(rows).T.copy()
    return Drive(time, value)


@lru_cache(maxsize=4)
def drive_rows(text: str) -> tuple[list[list[float]], int]:
    """Rows of a drive's table, and the number of the first faulty line, 0 if there is none.

    Kept from call to call, since every change of a case reads its drives again.
    """
    rows = []
    for place, (line, cells) in enumerate(csv_rows(text)):
        numbers = csv_numbers(cells)
        if len(numbers) == 2:
            rows.append(numbers)
        elif place or cells[0].startswith(tuple("+-.0123456789")):
            return [], line
    return rows, 0


def _refuse_beside(
    where: str, given: list[str], allowed: tuple[str, ...], what: str, problems: Problems
) -> None:
    """Refuse keys that do not belong to what is given."""
    for name in given:
        if name not in allowed:
            problems.add(
                f"{where}.{name}", f"a key beside {what}", ", ".join(allowed), "take it out"
            )


def check_signal(where: str, end: DriveTable, time: TimeTable | None, problems: Problems) -> None:
    """A signal begins at rest, ends at rest where it ends before the run, and its table is
    bounded."""
    if end.band is not None and not (len(end.band) == 2 and 0.0 < end.band[0] < end.band[1]):
        got = " and ".join(f"{edge:g}" for edge in end.band[:3]) or "an empty list"
        problems.add(
            f"{where}.band",
            got,
            "two numbers above 0, the lower first",
            "give the two edges of the band [Hz]",
        )
    ramp, duration = end.ramp or 0.0, end.duration
    if (
        duration is not None
        and ramp > 0.5 * duration
        and problems.clear(f"{where}.ramp", f"{where}.duration")
    ):
        advice = "shorten the ramp, which comes at the start and at the end, or lengthen the signal"
        problems.add(
            f"{where}.ramp", f"{ramp:g}", f"at most half the duration, {0.5 * duration:g}", advice
        )
    if (
        end.drive == "displacement"
        and not ramp
        and (end.signal == "noise" or end.phase)
        and problems.clear(where)
    ):
        got = "no ramp of a displacement that does not begin at 0"
        or_phase = ", or take out the phase" if end.phase else ""
        problems.add(
            f"{where}.ramp",
            got,
            "a number above 0",
            "give the time [s] in which the signal rises" + or_phase,
        )
    if time is None or not problems.clear(where, "time.end"):
        return
    if duration is not None and duration < time.end and not ramp and end.signal != "pulse":
        got = f"no ramp of a signal that ends at {duration:g} s, before the run"
        problems.add(
            f"{where}.ramp",
            got,
            f"a number above 0, or a duration from {time.end:g}",
            "give a ramp [s]: it ends at rest then",
        )
    # the coefficients of the cubics go with the third power of a knot's frequency
    many, step = knots(end, time.end), KNOTS_PER_PERIOD * highest(end)
    if not many <= MOST_KNOTS:
        got = f"{length(end, time.end):g} s of a signal with {highest(end):.3g} Hz"
        allowed = f"{MOST_KNOTS // KNOTS_PER_PERIOD - 2} periods"
        problems.add(
            where,
            got,
            allowed,
            "shorten the signal or the run, or take a lower frequency or a longer ramp",
        )
    elif not math.isfinite((end.amplitude or end.rms or 0.0) * step * step * step):
        got = f"{end.amplitude or end.rms:g} at {highest(end):.3g} Hz"
        problems.add(
            where,
            got,
            "a signal whose slopes are finite numbers",
            "take a smaller signal, or a longer one",
        )
    elif end.signal == "noise":
        first, last = lines(end, time.end)
        if first > last:
            got = f"{end.band[0]:g} to {end.band[1]:g} Hz" if end.band else "none"
            each = 1.0 / length(end, time.end)
            allowed = (
                f"a band that holds a multiple of {each:.6g} Hz, one over the length of the signal"
            )
            problems.add(f"{where}.band", got, allowed, "widen the band, or lengthen the signal")


def check_drive(
    where: str, drive: str, table: Drive, end: TimeTable | None, problems: Problems
) -> bool:
    """A drive is finite, goes forward in time, and covers the run or ends at rest."""
    time, value, _ = table
    # it can go on as it ends
    force_ends = drive == "force" and value.size > 0 and value[-1] == 0.0
    at_rest = value.size > 1 and (value[-1] == value[-2] or force_ends)
    if time.size != value.size or not time.size:
        got = f"{time.size} times and {value.size} values"
        problems.add(where, got, "as many values as times, and at least one", "complete the lists")
    elif not (np.isfinite(time) & np.isfinite(value)).all():
        row = int(np.flatnonzero(~(np.isfinite(time) & np.isfinite(value)))[0])
        problems.add(
            where, f"a number beyond all bounds in row {row + 1}", "finite numbers", "mend the row"
        )
    elif (np.diff(time) <= 0.0).any():
        row = int(np.flatnonzero(np.diff(time) <= 0.0)[0]) + 1
        got = f"time {time[row]:g} after {time[row - 1]:g} in row {row + 1}"
        problems.add(
            where, got, "times that grow from row to row", "sort the rows, and take out doubles"
        )
    elif (
        end is not None
        and problems.clear("time.end")
        and not (time[0] <= 0.0 and (time[-1] >= end.end or at_rest))
    ):
        got = f"times from {time[0]:g} to {time[-1]:g} s" + (
            ", still changing at the last" if time[0] <= 0.0 else ""
        )
        allowed = (
            f"a table from 0 to the end of the run at {end.end:g} s, or to rest: two equal values "
            "at its end"
        )
        problems.add(where, got, allowed, "lengthen the table, or shorten the run")
    return problems.clear(where)
