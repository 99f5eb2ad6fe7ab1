"""Columns of a file with their units, and their conversion to a trace.

The conversion determines the time column, the beads, and the units.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from granchain.errors import TraceError
from granchain.keys import shown, suggestion
from granchain.measured.about import AboutTable
from granchain.measured.headings import (
    FORCE_UNITS,
    READING_UNITS,
    TIME_UNITS,
    Clock,
    Preamble,
    bead_of,
    same,
    size_of,
    symbols,
)
from granchain.measured.limit import Limit
from granchain.measured.trace import MOST_UNEVEN, Trace

_TIME_NAME = re.compile(r"\s*(t|time|zeit|x-axis|x_value|x)\b", re.IGNORECASE)
_UNNAMED = re.compile("column [0-9]+")
# Largest relative difference between the mean step of a time column and the interval in the lines
# above. Both are rounded.
_SAME_CLOCK = 0.01
# Largest distance of a time from a multiple of its last digit, as a fraction of that digit. A
# double of a few seconds is accurate to 1e-15 of its value, which is 1e-5 of a digit of 1e-10 s.
MULTIPLE_TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class Column:
    """Numbers with the name and the unit above them.

    `factor` is a number in the name by which the values may have to be multiplied.
    """

    name: str
    unit: str | None
    values: np.ndarray
    factor: str = ""


@dataclass(frozen=True, eq=False)
class Record:
    """Columns of a file with the lines above them.

    `broken` is the first line without numbers in between.
    """

    columns: Sequence[Column]
    preamble: Preamble = field(default_factory=Preamble)
    broken: int | None = None


@dataclass(frozen=True)
class Asked:
    """Information that is missing or wrong in the file.

    Parameters
    ----------
    beads : sequence of int or None, optional
        Bead of each force column, or None to leave a column out. Columns of several files are in
        the order of the files.
    time_unit, force_unit : str, optional
        Unit symbol, or a multiple of it, such as "10 N".
    gain : float or sequence of float, optional
        Reading per newton [V/N] if the file contains volts. It can be one value per sensor.
    interval : float, optional
        Sampling interval of a file without a time column [s].
    resample : float, optional
        Interval of an even grid on which uneven samples are interpolated linearly [s].
    decimal : str, optional
        Decimal sign of a text, "." or ",".
    time : str, optional
        Heading of the time column, or name of the time array.
    time_constant : float or sequence of float, optional
        Time constant of the charge amplifier that recorded the forces [s]. It can be one value per
        sensor.
    sheet : str, optional
        Sheet of a workbook, if several contain numbers.
    """

    beads: Sequence[int | None] | None = None
    time_unit: str | None = None
    force_unit: str | None = None
    gain: float | Sequence[float] | None = None
    interval: float | None = None
    resample: float | None = None
    decimal: str | None = None
    time: str | None = None
    time_constant: float | Sequence[float] | None = None
    sheet: str | None = None


@contextmanager
def in_file(where: str) -> Iterator[None]:
    """Add the name of a file to the front of its error messages."""
    try:
        yield
    except TraceError as error:
        raise TraceError([f"{where}: {problem}" for problem in error.problems]) from None


def joined(records: Mapping[str, Record], asked: Asked) -> tuple[Record, Asked]:
    """Return the columns of several files with one clock, and the remaining request.

    Raises
    ------
    TraceError
        If a file is invalid or has another clock. The message lists every error.
    """
    if len(records) == 1:
        return next(iter(records.values())), asked
    columns: list[Column] = []
    notes: list[str] = []
    problems: list[str] = []
    first = ""
    for where, record in records.items():
        own: list[str] = []
        with in_file(where):
            times, forces = _timed(record, asked, own)
            if own:
                raise TraceError(own)
        if not columns:
            first, columns = where, [Column("time", "s", times)]
        clock = columns[0].values
        if len(times) != len(clock):
            problems.append(
                f"{where}: the record has {len(times)} samples, but {first} has {len(clock)}. "
                "All files must share one clock. Export all channels for the same time range."
            )
        elif (off := ~(np.abs(times - clock) <= MOST_UNEVEN * np.ptp(clock) / len(clock))).any():
            k = int(off.argmax())
            problems.append(
                f"{where}: sample {k + 1} is at {times[k]:.15g} s, but in {first} it is at "
                f"{clock[k]:.15g} s. All files must share one clock. Specify channels of one "
                "recording, or import each file separately."
            )
        of_file = f", {Path(where).stem}"
        columns += [replace(column, name=f"{column.name}{of_file}") for column in forces]
        notes += [f"{Path(where).name}: {note}" for note in record.preamble.notes]
    if problems:
        raise TraceError(problems)
    asked = replace(asked, interval=None, time=None, time_unit=None)
    return Record(columns, Preamble(notes=tuple(notes))), asked


def trace_of(record: Record, asked: Asked, about: AboutTable, where: str, limit: Limit) -> Trace:
    """Return a trace in SI units, within a memory limit.

    Raises
    ------
    TraceError
        If the columns are incomplete or invalid. The message lists every error.
    """
    problems: list[str] = []
    times, forces = _timed(record, asked, problems)
    beads = [bead_of(column.name) for column in forces] if asked.beads is None else asked.beads
    names = ", ".join(shown(column.name) for column in forces)
    if len(beads) != len(forces):
        problems.append(
            f"--beads: {len(beads)} labels for {len(forces)} force columns ({names}). One "
            "label per column is required. Write - for a column to ignore."
        )
    elif asked.beads is None and None in beads:
        offered = ",".join(str(bead or 9 + 7 * i) for i, bead in enumerate(beads))
        problems.append(
            f"{len(forces)} force {'column' if len(forces) == 1 else 'columns'} ({names}) "
            'without bead labels. Each heading must name one bead, such as "bead 9". '
            "Otherwise, specify the bead of each column, or - to ignore a column: --beads "
            f"{offered}."
        )
    else:
        forces = [one for bead, one in zip(beads, forces, strict=True) if bead is not None]
    each: list[list[Any]] = []
    for option, stated in (("--gain", asked.gain), ("--time-constant", asked.time_constant)):
        alike = stated is None or isinstance(stated, (int, float))
        own: Any = [stated] * len(forces) if alike else stated
        if len(own) != len(forces):
            problems.append(
                f"{option}: {len(own)} numbers for {len(forces)} sensors. One number for all "
                "sensors, or one per sensor, is required. Use the order of --beads, and omit "
                "ignored columns."
            )
            own = [own[0]] * len(forces)
        each.append(own)
    gains = each[0]
    newtons = [_newton(*one, asked, problems) for one in zip(forces, gains, strict=True)]
    if problems:
        raise TraceError(list(dict.fromkeys(problems)))
    times, evened = _evened(times)
    notes = (*record.preamble.notes, *evened)
    force = np.empty((len(times), len(forces)))
    for k, (newton, column) in enumerate(zip(newtons, forces, strict=True)):
        np.multiply(column.values, newton, out=force[:, k])
    if asked.resample is not None:
        samples = f"{len(times)} samples were resampled to an interval of {asked.resample:g} s"
        notes = (*notes, f"{samples} by linear interpolation")
        times, force = _resampled(times, force, asked.resample, where, limit)
    labels = np.array([bead for bead in beads if bead is not None], dtype=np.int64)
    return Trace(times, labels, force, about, notes)


def _timed(record: Record, asked: Asked, problems: list[str]) -> tuple[np.ndarray, list[Column]]:
    """Return the times in seconds and the other columns.

    The columns have the units that the lines above them specify.
    """
    lengths = sorted({len(column.values) for column in record.columns})
    if len(lengths) != 1:
        got = (
            f"columns have different lengths ({', '.join(map(str, lengths))})"
            if lengths
            else "no column of numbers found"
        )
        raise TraceError(
            f"{got}. All columns must have the same length. The file must contain one record "
            "of all sensors on one clock."
        )
    time, forces = _clocked(record, asked, problems)
    second = _size(time, asked.time_unit, TIME_UNITS, "time", problems)
    units = record.preamble.force_units
    if len(units) == 1:
        units = units * len(forces)
    if len(units) == len(forces):
        forces = [
            _with_unit(column, unit, problems) for column, unit in zip(forces, units, strict=True)
        ]
    return second * time.values, forces


def _clocked(record: Record, asked: Asked, problems: list[str]) -> tuple[Column, list[Column]]:
    """Return the time column and the other columns.

    The times are in the file, or are computed from its clock.
    """
    columns, clock = list(record.columns), record.preamble.clock
    if asked.interval is not None:
        clock = Clock(asked.interval, 0.0, "s", "--interval")
        return _time_of_clock(record, clock), columns
    named = [
        column
        for column in columns
        if (
            column.name.lower() == asked.time.strip().lower()
            if asked.time is not None
            else _TIME_NAME.match(column.name) or size_of(column.unit, TIME_UNITS) is not None
        )
    ]
    if asked.time is not None and not named:
        names = ", ".join(shown(column.name) for column in columns)
        raise TraceError(
            f"--time: column {shown(asked.time)} not found. It must be one of {names}. Specify "
            "the column that contains the times."
        )
    time = named[0] if named else columns[0]
    # Tektronix repeats the times before each channel, with or without a heading.
    again = [
        column
        for column in columns
        if column is not time
        and (column in named if named else clock is not None and _UNNAMED.match(column.name))
        and column.unit == time.unit
        and np.array_equal(column.values, time.values)
    ]
    if len(named) > 1 + len(again):
        names = ", ".join(shown(column.name) for column in named)
        raise TraceError(
            f"{len(named)} time columns found ({names}). A record must have one clock. Put "
            "each record into a separate file."
        )
    forces = [column for column in columns if column not in (time, *again)]
    stated = record.preamble.time_unit
    if clock is None and stated and asked.time_unit is None:
        time = _with_unit(time, stated, problems)
    time = replace(time, unit=asked.time_unit or time.unit or stated)
    unit, steps = size_of(time.unit, TIME_UNITS), np.diff(time.values)
    step = float(time.values[-1] - time.values[0]) / len(steps) if len(steps) else math.nan
    if clock is not None:
        runs_with_it = abs(step - clock.interval) <= _SAME_CLOCK * clock.interval
        # 0, 1, 2, ... or 1, 2, 3, ...
        counts = bool(time.values[0] in (0.0, 1.0) and (steps == 1.0).all())
        if counts and not (runs_with_it and unit):
            return _time_of_clock(record, clock), forces
        if not (named or runs_with_it):
            return _time_of_clock(record, clock), columns
        second = size_of(clock.unit, TIME_UNITS)
        if time.unit is None and runs_with_it:
            time = replace(time, unit=clock.unit)
        elif unit and second and not abs(unit * step / (second * clock.interval) - 1) < _SAME_CLOCK:
            interval = f"{second * clock.interval:.6g}"
            raise TraceError(
                f"{shown(time.name)}: the times are {unit * step:.6g} s apart, but "
                f"{clock.words} specifies {interval} s. The two must agree. Remove the line "
                "that is wrong, or ignore the column with --interval "
                f"{interval} and --beads -,9,16."
            )
    elif not named and asked.time_unit is None and (time.unit or not _UNNAMED.match(time.name)):
        raise TraceError(
            "no heading names a time. One is required, such as time [s]. If "
            f"{shown(time.name)} contains times, set their unit with --time-unit us. If "
            "another column does, use --time HEADING. If the file has no times, set the "
            "sampling interval with --interval 1e-6, and write - in --beads for each column "
            "that is not a force."
        )
    if not forces:
        raise TraceError(
            "the file has only one column. A time and at least one force are required. If "
            "the file contains only forces, set the sampling interval with --interval 1e-6."
        )
    return time, forces


def _time_of_clock(record: Record, clock: Clock) -> Column:
    """Return a time column from a clock alone. The file must contain one record."""
    if record.broken is not None:
        raise TraceError(
            f"line {record.broken}: this line without numbers divides a record that has no "
            "times. A record must not have gaps. Put each record into a separate file."
        )
    if clock.unit is None:
        raise TraceError(
            f"{clock.words}: the unit is missing. It must be one of {symbols(TIME_UNITS)}. If "
            f"the unit is seconds, use --interval {clock.interval:g}."
        )
    samples = np.arange(len(record.columns[0].values))
    return Column("time", clock.unit, clock.start + clock.interval * samples)


def _with_unit(column: Column, unit: str, problems: list[str]) -> Column:
    """Return a column with the unit from the lines above it."""
    if column.unit is not None and not same(column.unit, unit):
        problems.append(
            f"{shown(column.name)}: the unit is {column.unit}, but the lines above specify "
            f"{shown(unit)}. The two must agree. Remove the one that is wrong."
        )
    return replace(column, unit=column.unit if column.unit is not None else unit)


def _size(
    column: Column, asked: str | None, units: dict[str, float], what: str, problems: list[str]
) -> float:
    """Return the SI value of one unit of the column."""
    unit = asked if asked is not None else column.unit
    size = size_of(unit, units)
    option, one = f"--{what}-unit", "us" if what == "time" else "N"
    where = f"{shown(column.name)}:"
    if asked is None and column.factor:
        problems.append(
            f"{where} the number {shown(column.factor)} in the heading may be a factor. The "
            f"heading must contain only a unit. Use {option} {one} if the numbers are in "
            f'{one}, or specify the size of one unit: {option} "10 {one}".'
        )
    elif size is None:
        got = "the unit is missing" if unit is None else f"the unit {shown(unit)} is unknown"
        advice = (
            f'Set it with {option} {one}, or with a multiple of a unit: {option} "10 {one}"'
            + (f". For voltages, use {option} V with --gain 0.02" if what == "force" else "")
        )
        problems.append(
            f"{where} {got}. It must be one of {symbols(units)}. "
            f"{suggestion(unit, units, f'{advice}.')}"
        )
    return size or 1.0


def _newton(column: Column, gain: float | None, asked: Asked, problems: list[str]) -> float:
    """Return the number of newtons per unit of the column."""
    size = _size(column, asked.force_unit, FORCE_UNITS | READING_UNITS, "force", problems)
    unit = asked.force_unit if asked.force_unit is not None else column.unit
    readings = size_of(unit, READING_UNITS) is not None
    if readings and gain is None:
        problems.append(
            f"{shown(column.name)}: the values are in {unit}. Forces, or voltages and the "
            "gain of the sensor, are required. Set the gain in volts per newton, such as "
            "--gain 0.02."
        )
    elif gain is not None and size_of(unit, FORCE_UNITS) is not None:
        problems.append(
            f"{shown(column.name)}: --gain was set for forces in {unit}. A gain applies only "
            "to values in V. Remove --gain."
        )
    return size / gain if readings and gain is not None else size


def _evened(times: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the times on an even grid, with a note, if they deviate by rounding.

    Otherwise return them unchanged.
    """
    n, none = len(times), ()
    if n < 3 or not np.isfinite(times).all():
        return times, none
    step = float(times[-1] - times[0]) / (n - 1)
    if not step > 0.0 or np.abs(np.diff(times) / step - 1.0).max() <= MOST_UNEVEN:
        return times, none
    # last digit, of which all times are multiples; a digit larger than a tenth of the step hides
    # the behaviour of the clock, and one below 1e-4 of the step does not make steps uneven
    for digit in 10.0 ** (math.floor(math.log10(step)) + np.arange(1.0, -5.0, -1.0)):
        whole = times / digit
        if np.abs(whole - np.round(whole)).max() < MULTIPLE_TOLERANCE:
            break
    else:
        return times, none
    # half a digit at each end of the line through the samples, and half a digit at the sample: at
    # most 1
    slope, start = np.polyfit(np.arange(n), times, 1)
    grid = start + slope * np.arange(n)
    if digit > 0.1 * step or np.abs(times - grid).max() > digit:
        return times, none
    return grid, (
        f"times are rounded to {digit:.3g} s; they were replaced by the closest uniform grid, "
        f"with an interval of {slope:.6g} s",
    )


def _resampled(
    time: np.ndarray, force: np.ndarray, interval: float, where: str, limit: Limit
) -> tuple[np.ndarray, np.ndarray]:
    """Return times and forces on an even grid, with linear interpolation."""
    if not (np.isfinite(time).all() and np.isfinite(force).all() and (np.diff(time) > 0.0).all()):
        raise TraceError(
            "--resample: some samples are not finite or not in order. All numbers must be "
            "finite, and times must increase. Correct the file first."
        )
    count = int((time[-1] - time[0]) / interval * (1.0 + 1e-12)) + 1
    if not 1 < count <= 100 * len(time):
        raise TraceError(
            f"--resample: {interval:g} s makes {count} samples from {len(time)}. The number "
            "of samples must be between 2 and 100 times the original number. Specify the "
            "interval in seconds."
        )
    limit.check(where, time.nbytes + force.nbytes, count * (1 + force.shape[1]))
    grid = time[0] + interval * np.arange(count)
    return grid, np.column_stack([np.interp(grid, time, column) for column in force.T])
