"""Tables and signals of driven ends and beads: reading and checks."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from granchain.case.document import text_of_file
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


def lists_in_place_of_files(
    tables: dict[str, Any], folder: Path | None, problems: Problems
) -> dict[str, Any]:
    """Return the tables of a case with the lists time and value for each drive with a file."""
    ends, drives = tables.get("ends"), tables.get("drive")
    changed: dict[str, Any] = {}
    if isinstance(ends, dict):
        places = {name: f"ends.{name}" for name in ends}
        changed["ends"] = {
            name: _with_lists(where, ends[name], folder, problems) for name, where in places.items()
        }
    if isinstance(drives, list):
        changed["drive"] = [
            _with_lists(f"drive.{i}", table, folder, problems) for i, table in enumerate(drives)
        ]
    return tables | changed


def _with_lists(where: str, table: Any, folder: Path | None, problems: Problems) -> Any:
    """Return the table of a drive with the columns of its file, if it has only a file."""
    if not isinstance(table, dict) or not isinstance(table.get("file"), str):
        return table
    if {"time", "value", "signal"} & table.keys():
        return table
    where, name = f"{where}.file", shown(table["file"])
    columns = "The columns are time [s] and displacement [m] or force [N]"
    text = text_of_file(where, table["file"], folder, problems)
    if text is None:
        return table
    rows, faulty = drive_rows(text)
    if faulty:
        # Report the line number only: a case may refer to any file, so the content is not quoted.
        problems.add(
            where,
            f"{name}, line {faulty}, does not have two finite numbers",
            columns,
            "Write a comma between the columns and decimal points in the numbers",
        )
        return table
    if not problems.check(bool(rows), where, f"{name} has no rows", columns):
        return table
    time, value = map(list, zip(*rows, strict=True))
    return {key: table[key] for key in table if key != "file"} | {"time": time, "value": value}


def drive_rows(text: str) -> tuple[list[list[float]], int]:
    """Return the rows of a drive table, and the number of the first faulty line or 0."""
    rows = []
    for place, (line, cells) in enumerate(csv_rows(text)):
        numbers = csv_numbers(cells)
        if len(numbers) == 2 and all(map(math.isfinite, numbers)):
            rows.append(numbers)
        elif place or cells[0].startswith(tuple("+-.0123456789")):
            return [], line
    return rows, 0


def check_keys(where: str, end: DriveTable, problems: Problems) -> None:
    """Check that a drive has all keys of a file, of lists, or of its signal, and no others."""
    form = "time and value"
    needed: tuple[str, ...] = ("time", "value")
    optional: tuple[str, ...] = ()
    if end.signal is not None:
        form, needed = f'signal = "{end.signal}"', ("signal", *KEYS_NEEDED[end.signal])
        optional = KEYS_ALLOWED[end.signal]
    elif end.file is not None:
        form, needed = "file", ("file",)
    elif end.time is None or end.value is None:
        problems.check(
            not problems.clear(where),
            where,
            "the drive has neither a file, nor both time and value, nor a signal",
            "Give one of these",
        )
        return
    for name in DRIVE_TABLE.model_fields:
        place, own = f"{where}.{name}", (*needed, *optional)
        if getattr(end, name) is None and name in needed and problems.clear(place):
            add_missing(DRIVE_TABLE, name, place, problems)
        elif getattr(end, name) is not None and name not in ("drive", *own):
            problems.add(
                place,
                f"not allowed with {form}",
                f"The keys are {', '.join(own)}",
                "Remove the key",
            )


def table_of_lists(end: DriveTable) -> Drive:
    """Return the table of a drive that has the lists time and value."""
    return Drive(np.array(end.time, dtype=float), np.array(end.value, dtype=float))


def check_signal(where: str, end: DriveTable, time: TimeTable | None, problems: Problems) -> None:
    """Check that a signal starts and ends at rest, and that its table has a bounded size."""
    ramp, duration, place = end.ramp or 0.0, end.duration, f"{where}.ramp"
    if end.band is not None and not (len(end.band) == 2 and 0.0 < end.band[0] < end.band[1]):
        problems.add(
            f"{where}.band",
            f"the band {' and '.join(f'{edge:g}' for edge in end.band[:3])} is not valid"
            if end.band
            else "the list is empty",
            "A band has two edges above 0 [Hz], the lower edge first",
        )
    if end.ramp_from is not None:
        good = len(end.ramp_from) == 2 and all(map(math.isfinite, end.ramp_from))
        problems.check(
            good and end.ramp_from[1] > 0.0 and ramp > 0.0 and duration is None,
            f"{where}.ramp_from",
            f"{shown(list(end.ramp_from[:3]))} is not valid",
            "It must be an amplitude and a frequency above 0, with a ramp and without a duration",
            "Write for example ramp_from = [1e-8, 5e3], and give the ramp [s]",
        )
    if (
        duration is not None
        and ramp > 0.5 * duration
        and problems.clear(place, f"{where}.duration")
    ):
        problems.add(
            place,
            f"{ramp:g} is out of range",
            f"It must be at most half the duration, {0.5 * duration:g}, because the signal ramps "
            "at both ends",
            "Shorten the ramp, or lengthen the signal",
        )
    shifting = [place, *(f"{where}.{name}" for name in ("signal", "phase", "dc"))]
    if (
        end.drive == "displacement"
        and not ramp
        and (end.signal == "noise" or end.phase or end.dc)
        and problems.clear(*shifting)
    ):
        problem = "missing, but needed because the displacement does not begin at 0"
        fix = "Give the rise time [s] of the signal"
        shifted = [f"the {name}" for name in ("phase", "dc") if getattr(end, name)]
        fix += f", or remove {' and '.join(shifted)}" if shifted else ""
        problems.add(place, problem, "It must be a number above 0", fix)
    if time is None or not problems.clear(where, "time.end"):
        return
    if duration is not None and duration < time.end and not ramp and end.signal != "pulse":
        problems.add(
            place,
            f"missing, but needed because the signal ends at {duration:g} s, before the run",
            f"It must be a number above 0, or the duration {time.end:g} or more",
            "Give a ramp [s], so that the signal ends at rest",
        )
    # The coefficients of the cubics grow with the third power of the frequency of a knot.
    many, step = knots(end, time.end), KNOTS_PER_PERIOD * highest(end)
    size = max(abs(end.amplitude or end.rms or 0.0), abs((end.ramp_from or (0.0,))[0]))
    size, span = size + abs(end.dc or 0.0), length(end, time.end)
    if not many <= MOST_KNOTS:
        problems.add(
            where,
            f"{span:g} s of a signal with {highest(end):.3g} Hz are too long",
            f"A signal may have at most {MOST_KNOTS // KNOTS_PER_PERIOD - 2} periods",
            "Shorten the signal or the run, or choose a lower frequency or a longer ramp",
        )
    elif not math.isfinite(size * step * step * step):
        problems.add(
            where,
            f"{size:g} at {highest(end):.3g} Hz is out of range",
            "The slopes of the signal must be finite",
            "Choose a smaller or a longer signal",
        )
    elif end.band is not None:
        first, last = lines(end, time.end)
        if first > last:
            problems.add(
                f"{where}.band",
                f"{end.band[0]:g} to {end.band[1]:g} Hz is too narrow",
                f"The band must contain a multiple of {1.0 / span:.6g} Hz, the inverse of the "
                "length of the signal",
                "Widen the band, or lengthen the signal",
            )


def check_drive(
    where: str, drive: str, table: Drive, end: TimeTable | None, problems: Problems
) -> None:
    """Check that a drive has increasing times, and covers the run or ends at rest."""
    time, value, _ = table
    if time.size != value.size or not time.size:
        problem = f"there are {time.size} times and {value.size} values"
        problems.add(where, problem, "The lists must have the same length, at least one")
        return
    forward = time[1:] > time[:-1]
    # A drive that ends at rest continues with its last value.
    force_ends = drive == "force" and value[-1] == 0.0
    at_rest = value.size > 1 and (value[-1] == value[-2] or force_ends)
    if not forward.all():
        row = int(np.argmin(forward)) + 1
        problems.add(
            where,
            f"the time in row {row + 1} is not later than the time before",
            "Times must increase from row to row",
            "Sort the rows, and remove duplicates",
        )
    elif (
        end is not None
        and problems.clear("time.end")
        and not (time[0] <= 0.0 and (time[-1] >= end.end or at_rest))
    ):
        # The values are not quoted, because the table may come from any file.
        problem = "the times begin after 0"
        if time[0] <= 0.0:
            problem = "the times end before the run, and the last value still changes"
        problems.add(
            where,
            problem,
            f"The table must start at 0 and reach the end of the run at {end.end:g} s, or end at "
            "rest with two equal values",
            "Extend the table, or shorten the run",
        )
