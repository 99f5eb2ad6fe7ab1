"""Columns of a file, with their units, and what makes a trace of them: which is the time, which
bead is which, how much a unit is."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from granchain.errors import TraceError
from granchain.keys import shown, suggestion
from granchain.store.limit import Limit
from granchain.traces.about import AboutTable
from granchain.traces.headings import (
    FORCE_UNITS,
    READING_UNITS,
    TIME_UNITS,
    bead_of,
    known,
    power_of,
    same,
    size_of,
    symbols,
)
from granchain.traces.preamble import Clock, Preamble
from granchain.traces.trace import MOST_UNEVEN, Trace

_TIME_NAME = re.compile(r"\s*(t|time|zeit|x-axis|x_value|x)\b", re.IGNORECASE)
_UNNAMED = re.compile("column [0-9]+")
_INDEX_NAME = re.compile(
    r"\s*(sequence|index|sample|samples|point|points|number|nr|no|n|i|#)\.?\s*$", re.IGNORECASE
)
# By how much the mean step of a column of times may differ from the interval that the lines above
# state: both are printed rounded.
_SAME_CLOCK = 0.01


@dataclass(frozen=True, eq=False)
class Column:
    """Numbers with the name and the unit that stand above them.

    `digit` is the value of the last digit printed, 0 where none is; `factor` a number in the name
    that may have to be applied.
    """

    name: str
    unit: str | None
    values: np.ndarray
    digit: float = 0.0
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
        Bead of each force column, None for one to leave out.
    time_unit, force_unit : str, optional
        A symbol, or a number of one: "10 N".
    gain : float, optional
        Reading per newton [V/N], where the file holds volts.
    interval : float, optional
        Between two samples, of a file without a time column [s].
    resample : float, optional
        Interval of an even grid to put uneven samples on, by straight lines between them [s].
    decimal : str, optional
        The decimal sign of a text, "." or ",".
    """

    beads: Sequence[int | None] | None = None
    time_unit: str | None = None
    force_unit: str | None = None
    gain: float | None = None
    interval: float | None = None
    resample: float | None = None
    decimal: str | None = None


def trace_of(record: Record, asked: Asked, about: AboutTable, where: str, limit: Limit) -> Trace:
    """Time and forces in SI units, within a limit of memory.

    Raises
    ------
    TraceError
        With everything that cannot be found from the columns, or is wrong with them.
    """
    columns, problems = record.columns, []  # type: ignore[var-annotated]
    lengths = {len(column.values) for column in columns}
    if not columns or len(lengths) > 1:
        got = (
            f"columns of {', '.join(map(str, sorted(lengths)))} values"
            if columns
            else "no column of numbers"
        )
        raise TraceError(
            f"{where}: got {got}, allowed columns of one length; give one record of all sensors "
            "on one clock"
        )
    time, forces = _clocked(record, asked, where)
    second = _factor(time, asked.time_unit, TIME_UNITS, "time", where, problems)
    forces = _with_units(forces, record.preamble.force_units, where, problems)
    beads, forces = _labelled(forces, asked.beads, where, problems)
    newtons = [_newton(column, asked, where, problems) for column in forces]
    if problems:
        raise TraceError(list(dict.fromkeys(problems)))
    times, notes = _evened(replace(time, values=second * time.values, digit=second * time.digit))
    force = np.empty((len(times), len(forces)))
    for k, (newton, column) in enumerate(zip(newtons, forces, strict=True)):
        np.multiply(column.values, newton, out=force[:, k])
    if asked.resample is not None:
        times, force, note = _resampled(times, force, asked.resample, where, limit)
        notes += note
    try:
        return Trace(
            times, np.array(beads, dtype=np.int64), force, about, (*record.preamble.notes, *notes)
        )
    except TraceError as error:
        raise TraceError([f"{where}: {problem}" for problem in error.problems]) from None


def _clocked(record: Record, asked: Asked, where: str) -> tuple[Column, list[Column]]:
    """The column of time, in the file or made from what is given of its clock, and the others."""
    columns, clock = list(record.columns), record.preamble.clock
    if asked.interval is not None:
        return _time_of_clock(record, Clock(asked.interval, 0.0, "s", "--interval"), where), columns
    named = [
        i
        for i, column in enumerate(columns)
        if _TIME_NAME.match(column.name) or size_of(column.unit, TIME_UNITS) is not None
    ]
    if len(named) > 1:
        names = ", ".join(shown(columns[i].name) for i in named)
        raise TraceError(
            f"{where}: got {len(named)} columns of time, {names}, allowed one clock; give each "
            "record a file of its own"
        )
    time = columns[named[0] if named else 0]
    forces = [column for column in columns if column is not time]
    time = replace(time, unit=time.unit or record.preamble.time_unit)
    values, index_name = time.values, bool(_INDEX_NAME.match(time.name))
    step = float(values[-1] - values[0]) / (len(values) - 1) if len(values) > 1 else math.nan
    # 0, 1, 2, ... or 1, 2, 3, ...
    counts = len(values) > 1 and bool(values[0] in (0.0, 1.0) and (np.diff(values) == 1.0).all())
    if clock is not None:
        runs_with_it = abs(step - clock.interval) <= _SAME_CLOCK * clock.interval
        if not (named or counts or runs_with_it):
            return _time_of_clock(record, clock, where), columns
        unit, stated = (
            size_of(asked.time_unit or time.unit, TIME_UNITS),
            size_of(clock.unit, TIME_UNITS),
        )
        if counts and not (runs_with_it and size_of(time.unit, TIME_UNITS)):
            made = _time_of_clock(record, clock, where)
            return replace(made, values=clock.start + clock.interval * (values - values[0])), forces
        if time.unit is None and runs_with_it:
            time = replace(time, unit=clock.unit)
        elif (
            unit is not None
            and stated is not None
            and not abs(unit * step / (stated * clock.interval) - 1.0) <= _SAME_CLOCK
        ):
            interval = f"{stated * clock.interval:.6g}"
            raise TraceError(
                f"{where}: {shown(time.name)}: got times {unit * step:.6g} s apart, where "
                f"{clock.words} says {interval} s, allowed one "
                "clock; take out the line that is wrong, or say the interval and leave the "
                f"column out: --interval {interval} --beads -,..."
            )
        return time, forces
    counts = counts and (index_name or time.unit is None)
    unfit = not named and (
        index_name or size_of(time.unit, FORCE_UNITS | READING_UNITS) is not None
    )
    if unfit or (counts and asked.time_unit is None):
        beads = ",".join(
            ["-" if counts or index_name else "9", *(str(16 + 7 * i) for i in range(len(forces)))]
        )
        raise TraceError(
            f"{where}: got no column of time: {shown(time.name)} "
            f"{'counts samples' if counts else 'is none'}, allowed times, or how often "
            "the samples were taken; say it in seconds, and the bead of each column: --interval "
            f"1e-6 --beads {beads}"
            + (
                " (or, where it does hold times, their unit: --time-unit us)"
                if counts and not unfit
                else ""
            )
        )
    if (
        not named
        and time.unit is None
        and asked.time_unit is None
        and not _UNNAMED.fullmatch(time.name)
    ):
        raise TraceError(
            f"{where}: got no heading that names a time, allowed one such as time [s]; where "
            f"{shown(time.name)} holds times, say their unit: --time-unit us; where it is a force, "
            "say how often the samples were taken: --interval 1e-6"
        )
    if not forces:
        raise TraceError(
            f"{where}: got one column, allowed a time and a force at least; where the file holds "
            "forces alone, say how often they were taken: --interval 1e-6"
        )
    return time, forces


def _time_of_clock(record: Record, clock: Clock, where: str) -> Column:
    """A column of time from a clock alone: the file must be one record."""
    if record.broken is not None:
        raise TraceError(
            f"{where}: line {record.broken}: got a line without numbers in the midst of numbers "
            "that have no times, allowed one record "
            "without a gap; give each record a file of its own"
        )
    if clock.unit is None:
        raise TraceError(
            f"{where}: {clock.words}: got no unit, allowed {symbols(TIME_UNITS)}; where it is "
            f"seconds, say --interval {clock.interval:g}"
        )
    return Column(
        "time", clock.unit, clock.start + clock.interval * np.arange(len(record.columns[0].values))
    )


def _with_units(
    forces: list[Column], units: Sequence[str], where: str, problems: list[str]
) -> list[Column]:
    """Columns with the units that the lines above give: one for all of them, or one for each."""
    stated: Sequence[str | None] = (
        units
        if len(units) == len(forces)
        else [units[0] if len(units) == 1 else None] * len(forces)
    )
    for column, unit in zip(forces, stated, strict=True):
        if column.unit is not None and unit is not None and not same(column.unit, unit):
            problems.append(
                f"{where}: {_called(column, 'force')}: got the unit {column.unit} where the lines "
                f"above say {shown(unit)}, allowed one; take out the one that is wrong"
            )
    return [
        replace(column, unit=column.unit if column.unit is not None else unit)
        for column, unit in zip(forces, stated, strict=True)
    ]


def _called(column: Column, what: str) -> str:
    return shown(column.name)[1:-1] or what


def _factor(
    column: Column,
    asked: str | None,
    units: dict[str, float],
    what: str,
    where: str,
    problems: list[str],
) -> float:
    """What one unit of the column is in SI."""
    unit = asked if asked is not None else column.unit
    size = size_of(unit, units)
    option, first = f"--{what}-unit", "us" if what == "time" else "N"
    called = f"{where}: {_called(column, what)}"
    if asked is None and column.factor:
        base = next(
            (symbol for symbol in re.findall(r"[^\W\d_]+", column.unit or "") if known(symbol)),
            first,
        )
        power, applied = (
            power_of(column.factor),
            size_of(f"{power_of(column.factor)} {base}", units),
        )
        inverse = (
            f"{units[base] / applied * 1.0:.6g}" if applied and base in units else f"1/{power}"
        )
        problems.append(
            f"{called}: got a number in a heading, {shown(column.factor)}, that may be a factor, "
            "allowed a unit alone; say "
            f'{option} "{power} {base}" where the numbers are still to be multiplied by it, '
            f'{option} "{inverse} {base}" where they were, '
            f"{option} {base} where it has nothing to do with them"
        )
    elif size is not None:
        return size
    elif unit is None:
        more = f" (or {option} V with --gain 0.02, for readings)" if what == "force" else ""
        problems.append(
            f"{called}: got no unit, allowed {symbols(units)}; say which it is, such as {option} "
            f"{first}{more}"
        )
    else:
        advice = (
            f'say what one of them is: {option} {first}, or a number of it: {option} "10 {first}"'
        )
        problems.append(
            f"{called}: got the unit {shown(unit)}, allowed {symbols(units)}; "
            f"{suggestion(unit, units, advice)}"
        )
    return 1.0


def _newton(column: Column, asked: Asked, where: str, problems: list[str]) -> float:
    """Newtons of a unit of the column."""
    unit = asked.force_unit if asked.force_unit is not None else column.unit
    if size_of(unit, READING_UNITS) is not None:
        volt = _factor(column, asked.force_unit, READING_UNITS, "force", where, problems)
        if asked.gain is None:
            problems.append(
                f"{where}: {_called(column, 'force')}: got readings in {unit}, allowed forces, or "
                "readings and the gain of the sensor; "
                "say how many volts a newton makes: --gain 0.02"
            )
            return 1.0
        return volt / asked.gain
    if asked.gain is not None and size_of(unit, FORCE_UNITS) is not None:
        problems.append(
            f"{where}: {_called(column, 'force')}: got --gain for forces in {unit}, allowed for "
            "readings in V; leave --gain out"
        )
    return _factor(column, asked.force_unit, FORCE_UNITS | READING_UNITS, "force", where, problems)


def _labelled(
    forces: list[Column], asked: Sequence[int | None] | None, where: str, problems: list[str]
) -> tuple[list[int], list[Column]]:
    """The bead of each column, and the columns that are used."""
    found = [bead_of(column.name) for column in forces] if asked is None else list(asked)
    names = ", ".join(shown(column.name) for column in forces)
    if asked is None and None in found:
        offered = ",".join(str(bead or 9 + 7 * i) for i, bead in enumerate(found))
        problems.append(
            f"{where}: got {len(forces)} {'column' if len(forces) == 1 else 'columns'} of force, "
            f"{names}, allowed columns that name one bead each, such as bead 9; say which bead "
            f"each is, and - for a column that is none: --beads {offered}"
        )
        return [], forces
    if len(found) != len(forces):
        problems.append(
            f"{where}: --beads: got {len(found)} labels for {len(forces)} columns of force, "
            f"{names}, allowed one for each; write - for a column to leave out"
        )
        return [], []
    return [bead for bead in found if bead is not None], [
        column for bead, column in zip(found, forces, strict=True) if bead is not None
    ]


def _evened(time: Column) -> tuple[np.ndarray, tuple[str, ...]]:
    """Time, on the even grid from which rounding to the printed digits has moved it, where that
    alone can have done it."""
    values = time.values
    n = len(values)
    if n < 3 or not np.isfinite(values).all() or not time.digit > 0.0:
        return values, ()
    step = float(values[-1] - values[0]) / (n - 1)
    if not step > 0.0 or np.abs(np.diff(values) / step - 1.0).max() <= MOST_UNEVEN:
        return values, ()
    # Half a digit at each end of the line through the samples, and half a digit at the sample: 1 at
    # most. Coarser digits than a tenth of the step hide what the clock did.
    slope, start = np.polyfit(np.arange(n), values, 1)
    grid = start + slope * np.arange(n)
    if time.digit > 0.1 * step or np.abs(values - grid).max() > time.digit:
        return values, ()
    return grid, (
        f"times are printed to {time.digit:.3g} s; they were put on the even grid of {slope:.6g} "
        "s that fits them",
    )


def _resampled(
    time: np.ndarray, force: np.ndarray, interval: float, where: str, limit: Limit
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Times and forces on an even grid, by straight lines between the samples, with a note."""
    if not (np.isfinite(time).all() and np.isfinite(force).all() and (np.diff(time) > 0.0).all()):
        raise TraceError(
            f"{where}: --resample: got samples that are no finite numbers or out of order, allowed "
            "finite numbers, time increasing; mend the file first"
        )
    count = int((time[-1] - time[0]) / interval * (1.0 + 1e-12)) + 1
    if not 1 < count <= 100 * len(time):
        raise TraceError(
            f"{where}: --resample: got {interval:g} s, which makes {count} samples of {len(time)}, "
            "allowed from 2 to 100 times as many; give the interval in seconds"
        )
    limit.check(where, time.nbytes + force.nbytes, count * (1 + force.shape[1]))
    grid = time[0] + interval * np.arange(count)
    even = np.column_stack([np.interp(grid, time, column) for column in force.T])
    return (
        grid,
        even,
        (
            f"{len(time)} samples were put on an even grid of {interval:g} s by straight lines "
            "between them",
        ),
    )
