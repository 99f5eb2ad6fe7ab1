"""Columns of a file, with their units, and what makes a trace of them: which is the time, which
bead is which, how much a unit is."""

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
from granchain.store.limit import Limit
from granchain.traces.about import AboutTable
from granchain.traces.headings import (
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
from granchain.traces.trace import MOST_UNEVEN, Trace

_TIME_NAME = re.compile(r"\s*(t|time|zeit|x-axis|x_value|x)\b", re.IGNORECASE)
_UNNAMED = re.compile("column [0-9]+")
# By how much the mean step of a column of times may differ from the interval that the lines above
# state: both are printed rounded.
_SAME_CLOCK = 0.01
# By how much a time may differ from a whole multiple of its last digit, in parts of that: a double
# of some seconds has 1e-15 of it, 1e-5 of a digit of 1e-10 s.
MULTIPLE_TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class Column:
    """Numbers with the name and the unit that stand above them.

    `factor` is a number in the name that may have to be applied.
    """

    name: str
    unit: str | None
    values: np.ndarray
    factor: str = ""


@dataclass(frozen=True, eq=False)
class Record:
    """Columns of a file, what stands above them, and the first line without numbers in their
    midst."""

    columns: Sequence[Column]
    preamble: Preamble = field(default_factory=Preamble)
    broken: int | None = None


@dataclass(frozen=True)
class Asked:
    """What the file does not say, or says wrongly.

    Parameters
    ----------
    beads : sequence of int or None, optional
        Bead of each force column, None for one to leave out; of several files in their order.
    time_unit, force_unit : str, optional
        A symbol, or a number of one: "10 N".
    gain : float or sequence of float, optional
        Reading per newton [V/N], where the file holds volts; or that of each sensor.
    interval : float, optional
        Between two samples, of a file without a time column [s].
    resample : float, optional
        Interval of an even grid to put uneven samples on, by straight lines between them [s].
    decimal : str, optional
        The decimal sign of a text, "." or ",".
    time : str, optional
        The heading of the column of time, or the name of that array.
    time_constant : float or sequence of float, optional
        Of the charge amplifier that recorded the forces, or of that of each sensor [s].
    sheet : str, optional
        The sheet of a workbook that has several with numbers.
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
    """Put the name of a file in front of what is wrong with it."""
    try:
        yield
    except TraceError as error:
        raise TraceError([f"{where}: {problem}" for problem in error.problems]) from None


def joined(records: Mapping[str, Record], asked: Asked) -> tuple[Record, Asked]:
    """The columns of several files of one clock as one record, and what is still asked of it.

    Raises
    ------
    TraceError
        With what is wrong with each file, or which of them has another clock.
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
    """Time and forces in SI units, within a limit of memory.

    Raises
    ------
    TraceError
        With everything that cannot be found from the columns, or is wrong with them.
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
    """The times in seconds, and the other columns with the units that the lines above give."""
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
    """The column of time, in the file or made from what is given of its clock, and the others."""
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
    # Tektronix writes the times again in front of each channel, with a heading or without.
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
    """A column of time from a clock alone: the file must be one record."""
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
    """A column with the unit that the lines above give."""
    if column.unit is not None and not same(column.unit, unit):
        problems.append(
            f"{shown(column.name)}: the unit is {column.unit}, but the lines above specify "
            f"{shown(unit)}. The two must agree. Remove the one that is wrong."
        )
    return replace(column, unit=column.unit if column.unit is not None else unit)


def _size(
    column: Column, asked: str | None, units: dict[str, float], what: str, problems: list[str]
) -> float:
    """What one unit of the column is in SI."""
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
    """Newtons of a unit of the column."""
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
    """Times on the even grid from which rounding to printed digits has moved them, where that alone
    can have done it, with a note."""
    n, none = len(times), ()
    if n < 3 or not np.isfinite(times).all():
        return times, none
    step = float(times[-1] - times[0]) / (n - 1)
    if not step > 0.0 or np.abs(np.diff(times) / step - 1.0).max() <= MOST_UNEVEN:
        return times, none
    # the last digit: all times are whole multiples of it; a coarser one than a tenth of the step
    # hides what the clock did, one below 1e-4 of it makes no step uneven
    for digit in 10.0 ** (math.floor(math.log10(step)) + np.arange(1.0, -5.0, -1.0)):
        whole = times / digit
        if np.abs(whole - np.round(whole)).max() < MULTIPLE_TOLERANCE:
            break
    else:
        return times, none
    # half a digit at each end of the line through the samples, and half at the sample: 1 at most
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
    """Times and forces on an even grid, by straight lines between the samples."""
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
