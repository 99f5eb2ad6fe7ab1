"""Conversion of the columns of files to a trace: time, clock, beads, units, and gains."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np

from granchain.errors import TraceError
from granchain.keys import brief
from granchain.measured.about import AboutTable
from granchain.measured.headings import (
    TIME_UNITS,
    TIMES,
    Clock,
    bead_of,
    gains_of,
    is_same,
    newtons_per_unit,
    si_value,
)
from granchain.measured.text import Record, TextColumn
from granchain.measured.trace import MOST_UNEVEN, Trace

_TIME_NAME = re.compile(r"\s*(t|time|zeit|x-axis|x_value|x)\b", re.IGNORECASE)
_SAMPLE_NUMBERS = re.compile(r"\s*x\b", re.IGNORECASE)
_UNNAMED = re.compile("column [0-9]+")
# Largest relative difference between the mean step of a column and the interval in the header with
# which the column still counts as the times in the unit of the header.
_SAME_CLOCK = 0.01


@contextmanager
def in_file(where: str) -> Iterator[None]:
    """Add the name of a file to the front of its error messages."""
    try:
        yield
    except TraceError as error:
        raise TraceError([f"{where}: {problem}" for problem in error.problems]) from None


def trace_of(
    records: Mapping[str, Record],
    about: AboutTable,
    *,
    beads: int | Sequence[int | None] | None = None,
    time: str | None = None,
    time_unit: str | None = None,
    force_unit: str | None = None,
    gain: float | str | Sequence[float | str] | None = None,
    interval: float | None = None,
    resample: float | None = None,
) -> Trace:
    """Return the trace of one or more files with one clock, in SI units.

    Parameters
    ----------
    records : mapping
        Columns of each file, by its name.
    about : AboutTable
        Description of the trace.
    beads, time, time_unit, force_unit, gain, interval
        Information that is missing or wrong in the files, as for `read_trace`. Beads of several
        files are in the order of the files.
    resample : float, optional
        Interval of an even grid on which uneven samples are interpolated linearly [s].

    Raises
    ------
    TraceError
        If the columns are incomplete or invalid. The message lists every error.
    """
    problems: list[str] = []
    columns: list[TextColumn] = []
    notes: list[str] = []
    first, seconds = "", np.empty(0)
    for option, size in (("--interval", interval), ("--resample", resample)):
        if size is not None and not 0.0 < size < math.inf:
            raise TraceError(
                f"{option}: {size!r} is out of range. It must be a number greater than 0 [s]."
            )
    for where, record in records.items():
        with in_file(where):
            clock, forces, more = _times_and_forces(
                record, time, time_unit, force_unit, interval, problems
            )
            first, seconds = (first, seconds) if first else (where, clock)
            _check_same_clock(clock, seconds, first)
        if len(records) > 1:
            stem = Path(where).stem
            forces = [replace(column, name=f"{column.name}, {stem}") for column in forces]
            more = [f"{Path(where).name}: {note}" for note in more]
        columns += forces
        notes += more
    with in_file(first if len(records) == 1 else f"{first} and {len(records) - 1} more"):
        labels = _beads_of_columns(columns, beads, problems)
        pairs = zip(labels, columns, strict=False)
        forces = [column for label, column in pairs if label is not None]
        gains = gains_of(gain, len(forces))
        for column in forces:
            _check_factor(column, "--force-unit", "N", problems)
        factors = [
            newtons_per_unit(column.unit, each, column.name, problems)
            for column, each in zip(forces, gains, strict=True)
        ]
        if problems:
            raise TraceError(list(dict.fromkeys(problems)))
        force = np.column_stack([column.values for column in forces]) * factors
        if resample is not None:
            notes.append(
                f"{len(seconds)} samples were resampled to an interval of {resample:g} s by "
                "linear interpolation"
            )
            seconds, force = _resampled(seconds, force, resample)
        if gain is not None:
            values = [each.value for each in gains if each]
            sensor = about.sensor.model_copy(update={"gain": values})
            about = about.model_copy(update={"sensor": sensor})
        numbers = [label for label in labels if label is not None]
        trace = Trace(time=seconds, force=force, beads=numbers, about=about)
    trace.notes = tuple(notes)
    return trace


def _check_same_clock(time: np.ndarray, other: np.ndarray, where: str) -> None:
    """Raise an error if two files have different clocks."""
    largest = MOST_UNEVEN * float(other[-1] - other[0]) / len(other)
    if len(time) != len(other) or not np.allclose(time, other, rtol=0.0, atol=largest):
        ranges = [f"{len(t)} samples from {t[0]:.9g} to {t[-1]:.9g} s" for t in (time, other)]
        raise TraceError(
            f"the record has {ranges[0]}, but {where} has {ranges[1]}. All files must share one "
            "clock. Export all channels of one recording for the same time range, or import each "
            "file separately."
        )


def _beads_of_columns(
    columns: list[TextColumn], beads: int | Sequence[int | None] | None, problems: list[str]
) -> Sequence[int | None]:
    """Return the bead of each column, from the option or from the headings."""
    names = ", ".join(brief(column.name) for column in columns)
    labels = [bead_of(column.name) for column in columns]
    if beads is not None:
        labels = [beads] if isinstance(beads, int) else list(beads)
    if len(labels) != len(columns) or (beads is not None and not any(labels)):
        problem = (
            f"--beads: {len(labels)} labels for {len(columns)} force columns ({names}). One "
            "label per column is required, and one bead. Write - for a column to ignore."
        )
        raise TraceError([*problems, problem])
    if beads is None and None in labels:
        offered = ",".join(str(bead or 9 + 7 * i) for i, bead in enumerate(labels))
        problems.append(
            f"{len(columns)} force {'column' if len(columns) == 1 else 'columns'} ({names}) "
            'without bead labels. Each heading must name one bead, such as "bead 9". '
            "Otherwise, specify the bead of each column, or - to ignore a column: --beads "
            f"{offered}."
        )
        return range(1, len(columns) + 1)
    return labels


def _times_and_forces(
    record: Record,
    heading: str | None,
    time_unit: str | None,
    force_unit: str | None,
    interval: float | None,
    problems: list[str],
) -> tuple[np.ndarray, list[TextColumn], list[str]]:
    """Return the times of a record [s], its force columns with their units, and notes."""
    preamble, forces, notes = record.preamble, record.columns, [*record.preamble.notes]
    clock = preamble.clock if interval is None else Clock(interval, 0.0, "s", "--interval")
    named = _named_times(record.columns, heading)
    time = (named or record.columns)[0]
    printed = time if time_unit is None else replace(time, unit=time_unit, factor="")
    # Without a name, a column contains times if their step is the interval of the preamble.
    step = float(time.values[-1] - time.values[0]) / max(len(time.values) - 1, 1)
    in_unit_of_clock = clock is not None and abs(step / clock.interval - 1.0) <= _SAME_CLOCK
    may_be_time = bool(named) or interval is None
    numbers = None
    if clock and may_be_time and not in_unit_of_clock and printed.unit is None:
        numbers = _sequence_numbers(time)
    if not (named or clock or time_unit) and (time.unit or not _UNNAMED.match(time.name)):
        raise TraceError(
            "no heading names a time. One is required, such as time [s]. If "
            f"{brief(time.name)} contains times, set their unit with --time-unit us. If "
            "another column does, use --time HEADING. If the file has no times, set the "
            "sampling interval with --interval 1e-6, and write - in --beads for each column "
            "that is not a force."
        )
    no_times = not (named or time_unit or (may_be_time and in_unit_of_clock))
    if clock and no_times and numbers is None:
        numbers = np.arange(len(time.values))
    else:
        forces = _without_times(record.columns, time, named, notes)
    if clock and numbers is not None:
        seconds = _seconds_of_clock(record, clock, numbers)
    else:
        unit = preamble.time_unit or (clock.unit if clock and in_unit_of_clock else None)
        clock = clock if clock and (clock.unit or in_unit_of_clock) else None
        seconds = _seconds_of_column(printed, None if time_unit else unit, clock, problems, notes)
    if not forces:
        raise TraceError(
            "the file has only one column. A time and at least one force are required. If "
            "the file contains only forces, set the sampling interval with --interval 1e-6."
        )
    units = preamble.force_units * (len(forces) if len(preamble.force_units) == 1 else 1)
    if force_unit is not None:
        forces = [replace(column, unit=force_unit, factor="") for column in forces]
    elif len(units) == len(forces):
        forces = [_with_unit(*each, problems) for each in zip(forces, units, strict=True)]
    return seconds, forces, notes


def _named_times(columns: Sequence[TextColumn], heading: str | None) -> list[TextColumn]:
    """Return the columns whose heading equals the option, or names a time."""
    if heading is None:
        return [
            column
            for column in columns
            if _TIME_NAME.match(column.name) or si_value(column.unit, TIME_UNITS) is not None
        ]
    wanted = heading.strip().lower()
    named = [column for column in columns if column.name.strip().lower() == wanted]
    if not named:
        names = ", ".join(brief(column.name) for column in columns)
        raise TraceError(
            f"--time: column {brief(heading)} not found. It must be one of {names}. "
            "Specify the column that contains the times."
        )
    return named


def _without_times(
    columns: Sequence[TextColumn], time: TextColumn, named: list[TextColumn], notes: list[str]
) -> list[TextColumn]:
    """Return the columns without times and numbers of rows."""
    # Tektronix repeats the times before each channel, with or without a heading.
    repeated = [
        column
        for column in columns
        if (column in named if named else _UNNAMED.match(column.name))
        and column.unit == time.unit
        and np.array_equal(column.values, time.values)
    ]
    if not set(named) <= {time, *repeated}:
        names = ", ".join(brief(column.name) for column in named)
        raise TraceError(
            f"{len(named)} time columns found ({names}). A record must have one clock. Put "
            "each record into a separate file."
        )
    forces = [column for column in columns if column is not time and column not in repeated]
    first, counted = columns[0], np.arange(len(time.values))
    if first in forces and _UNNAMED.match(first.name) and np.array_equal(first.values, counted):
        notes.append("the first column, which counts the rows and has no heading, was left out")
        forces.remove(first)
    return forces


def _sequence_numbers(column: TextColumn) -> np.ndarray | None:
    """Return the sequence numbers of the samples, or None if the column has other numbers.

    A column that is called time contains sequence numbers only if it counts by 1.
    """
    values, steps = column.values, np.diff(column.values)
    whole = (values == np.round(values)).all() and (steps > 0.0).all() and len(steps) > 0
    called_time = _TIME_NAME.match(column.name) and not _SAMPLE_NUMBERS.match(column.name)
    if not whole or (called_time and (steps != 1.0).any()):
        return None
    stride = np.median(steps)
    if (steps != stride).any():
        last = values[int(np.argmax(steps != stride))]
        raise TraceError(
            f"{brief(column.name)}: the number {last + stride:.0f} is missing after {last:.0f}. "
            "Sequence numbers must have a constant stride. Export the complete recording."
        )
    return values


def _seconds_of_clock(record: Record, clock: Clock, numbers: np.ndarray) -> np.ndarray:
    """Return the times of samples from a clock and their numbers [s]."""
    if record.broken is not None:
        raise TraceError(
            f"line {record.broken}: this line without numbers divides a record that has no "
            "times. A record must not have gaps. Put each record into a separate file."
        )
    second = si_value(clock.unit, TIME_UNITS)
    if second is None:
        raise TraceError(
            f"{clock.source}: the unit is missing. It must be one of {TIMES}. If the unit is "
            f"seconds, use --interval {clock.interval:g}."
        )
    return second * (clock.start + clock.interval * numbers)


def _seconds_of_column(
    time: TextColumn,
    stated: str | None,
    clock: Clock | None,
    problems: list[str],
    notes: list[str],
) -> np.ndarray:
    """Return the times in a column on their even grid [s]. `stated` is the unit of the preamble."""
    if stated and (clock is None or time.unit is None):
        time = _with_unit(time, stated, problems)
    _check_factor(time, "--time-unit", "us", problems)
    second = si_value(time.unit, TIME_UNITS)
    if second is None:
        problem = f"the unit {brief(time.unit)} is unknown" if time.unit else "the unit is missing"
        problems.append(
            f"{brief(time.name)}: {problem}. It must be one of {TIMES}. Set it with --time-unit "
            'us, or with a multiple of a unit: --time-unit "10 us".'
        )
    seconds = (second or 1.0) * time.values
    step = float(seconds[-1] - seconds[0]) / max(len(seconds) - 1, 1)
    if (
        problems
        or not (step > 0.0 and np.isfinite(seconds).all())
        or (clock is None and np.abs(np.diff(seconds) / step - 1.0).max() <= MOST_UNEVEN)
    ):
        return seconds
    counts = np.arange(len(seconds))
    if clock is None:
        # the line through the samples is uncertain by half a digit at each end, and each sample by
        # half a digit: at most 1 in total; if a digit is larger than a tenth of the step, the clock
        # cannot be checked
        slope, start = np.polyfit(counts, seconds, 1)
        grid, digits = start + slope * counts, (second or 1.0) * _last_digits(time.values)
        if digits.max() > 0.1 * step or (np.abs(seconds - grid) > digits).any():
            return seconds
        notes.append(
            f"times are rounded to {digits.max():.3g} s; they were replaced by the closest uniform "
            f"grid, with an interval of {slope:.6g} s"
        )
        return np.asarray(grid)
    interval = clock.interval * (si_value(clock.unit, TIME_UNITS) or second or 1.0)
    grid = seconds[0] + interval * counts
    off = np.abs(seconds - grid) > MOST_UNEVEN * interval
    if off.any():
        off &= np.abs(seconds - grid) > (second or 1.0) * _last_digits(time.values)
    if off.any():
        raise TraceError(
            f"{brief(time.name)}: the times are {step:.6g} s apart, but {clock.source} specifies "
            f"{interval:.6g} s. They must agree within the last printed digit, and sample "
            f"{int(np.argmax(off)) + 1} does not. Find out which is wrong, and remove it."
        )
    if np.abs(seconds - grid).max() > 1e-6 * interval:
        notes.append(
            f"the printed times agree with the stated interval of {interval:.6g} s "
            f"({clock.source}) within their last digit; the stated clock was used"
        )
    return np.asarray(grid)


def _last_digits(values: np.ndarray) -> np.ndarray:
    """Return the size of the last printed digit of each number.

    All numbers have the same number of decimals, or the same number of digits, of which zeros at
    the end may not be printed.
    """
    tuples = [Decimal(repr(value)).normalize().as_tuple() for value in values.tolist() if value]
    finest = min(int(entry.exponent) for entry in tuples)
    count = max(len(entry.digits) for entry in tuples)
    with np.errstate(divide="ignore"):
        leading = np.floor(np.log10(np.abs(values)))
    return np.asarray(10.0 ** np.maximum(finest, leading - count + 1.0))


def _with_unit(column: TextColumn, unit: str, problems: list[str]) -> TextColumn:
    """Return a column with the unit from the lines above it."""
    if column.unit is not None and not is_same(column.unit, unit):
        problems.append(
            f"{brief(column.name)}: the unit is {column.unit}, but the lines above specify "
            f"{brief(unit)}. The two must agree. Remove the one that is wrong."
        )
    return replace(column, unit=column.unit if column.unit is not None else unit)


def _check_factor(column: TextColumn, option: str, unit: str, problems: list[str]) -> None:
    """Report a number in a heading that may be a factor."""
    if column.factor:
        problems.append(
            f"{brief(column.name)}: the number {brief(column.factor)} in the heading may be a "
            f"factor. The heading must contain only a unit. Use {option} {unit} if the numbers are "
            f'in {unit}, or specify the size of one unit: {option} "10 {unit}".'
        )


def _resampled(
    time: np.ndarray, force: np.ndarray, interval: float
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
    grid = time[0] + interval * np.arange(count)
    return grid, np.column_stack([np.interp(grid, time, column) for column in force.T])


def negative_pulses(trace: Trace) -> tuple[str, ...]:
    """Return a note for each sensor whose largest deviation from its baseline is negative."""
    force, stated = trace.sensor_force, trace.about.sensor.gain
    # Most of the first tenth of a record lies before the pulse.
    deviation = force - np.median(force[: max(len(force) // 10, 4)], axis=0)
    largest = np.take_along_axis(deviation, np.abs(deviation).argmax(axis=0)[np.newaxis], 0)[0]
    turned = np.sign(largest) * (1.0 if stated is None else stated)
    return tuple(
        f"bead {bead}: the largest deviation from the baseline is negative ({extreme:.3g} N). If "
        f'the sensor has the opposite sign, turn it with --gain "{str(turned.tolist())[1:-1]}"'
        for bead, extreme in zip(trace.sensor_bead.tolist(), largest.tolist(), strict=True)
        if extreme < 0.0
    )
