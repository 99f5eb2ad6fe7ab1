"""Columns of a file, with their units, and what makes a trace of them: which is the time, which bead is which, how much a unit is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from granchain.case_schema import shown, suggestion
from granchain.errors import TraceError
from granchain.traces.trace import MOST_UNEVEN

# SI prefixes (SI Brochure, 9th ed., table 7); both signs for micro, and the letter that stands for it.
_MICRO = ("\N{MICRO SIGN}", "\N{GREEK SMALL LETTER MU}", "u")
TIME_UNITS = {"s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0, "ms": 1e-3, "ns": 1e-9, **{f"{sign}s": 1e-6 for sign in _MICRO}}
FORCE_UNITS = {"N": 1.0, "mN": 1e-3, "kN": 1e3, "newton": 1.0, "newtons": 1.0}
READING_UNITS = {"V": 1.0, "mV": 1e-3, "volt": 1.0, "volts": 1.0, **{f"{sign}V": 1e-6 for sign in _MICRO}}
_ALL_UNITS = {**TIME_UNITS, **FORCE_UNITS, **READING_UNITS}

_TIME_NAME = re.compile(r"\s*(t|time|zeit|temps|tempo|x-axis|x)\b", re.IGNORECASE)
_BEAD_NAME = re.compile(r"(?:bead|ball|sphere|particle|sensor)[ _#-]*([0-9]{1,6})\b", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Column:
    """Numbers with the name and the unit that stand above them; `digit` is the value of the last digit printed, 0 where none is."""

    name: str
    unit: str | None
    values: np.ndarray
    digit: float = 0.0


@dataclass(frozen=True)
class Asked:
    """What the file does not say, or says wrongly.

    Parameters
    ----------
    beads : sequence of int or None, optional
        Bead of each force column, None for one to leave out.
    time_unit, force_unit : str, optional
    gain : float, optional
        Reading per newton [V/N], where the file holds volts.
    interval : float, optional
        Between two samples, of a file without a time column [s].
    resample : float, optional
        Interval of an even grid to put uneven samples on, by straight lines between them [s].
    """

    beads: Sequence[int | None] | None = None
    time_unit: str | None = None
    force_unit: str | None = None
    gain: float | None = None
    interval: float | None = None
    resample: float | None = None


@dataclass(frozen=True, eq=False)
class Samples:
    """Time [s], bead labels and forces [N] of a trace in the making."""

    time: np.ndarray
    beads: list[int]
    force: np.ndarray
    notes: tuple[str, ...]


def samples_of(columns: Sequence[Column], asked: Asked, where: str) -> Samples:
    """Time and forces in SI units.

    Raises
    ------
    TraceError
        With everything that cannot be told from the columns, or is wrong with them.
    """
    problems: list[str] = []
    lengths = {len(column.values) for column in columns}
    if not columns or len(lengths) > 1:
        got = f"columns of {', '.join(map(str, sorted(lengths)))} values" if columns else "no column of numbers"
        raise TraceError(f"{where}: got {got}, allowed columns of one length; give one record of all sensors on one clock")
    if asked.interval is not None:
        time, forces = Column("time", "s", asked.interval * np.arange(len(columns[0].values))), list(columns)
    else:
        named = [i for i, column in enumerate(columns) if _TIME_NAME.match(column.name) or column.unit in TIME_UNITS]
        if len(named) > 1:
            names = ", ".join(shown(columns[i].name) for i in named)
            raise TraceError(f"{where}: got {len(named)} columns of time, {names}, allowed one clock; give each record a file of its own")
        first = named[0] if named else 0
        time, forces = columns[first], [column for i, column in enumerate(columns) if i != first]
        if not forces:
            raise TraceError(
                f"{where}: got one column, allowed a time and a force at least; where the file holds forces alone, say how often they "
                "were taken: --interval 1e-6"
            )
    second = _factor(time, asked.time_unit, TIME_UNITS, "time", where, problems)
    beads, forces = _labelled(forces, asked.beads, where, problems)
    newtons = [_newton(column, asked, where, problems) for column in forces]
    if problems:
        raise TraceError(list(dict.fromkeys(problems)))
    times, notes = _evened(replace(time, values=second * time.values, digit=second * time.digit))
    force = np.column_stack([newton * column.values for newton, column in zip(newtons, forces, strict=True)])
    if asked.resample is not None:
        times, force, told = _resampled(times, force, asked.resample, where)
        notes += told
    return Samples(times, beads, force, notes)


def _factor(column: Column, asked: str | None, units: dict[str, float], what: str, where: str, problems: list[str]) -> float:
    unit = asked if asked is not None else column.unit
    option = f"--{what}-unit {'us' if what == 'time' else 'N'}"
    if unit in units:
        return units[unit]
    if unit is None:
        problems.append(f"{where}: {shown(column.name)[1:-1] or what}: got no unit, allowed {_listed(units)}; say which it is: {option}")
    else:
        advice = suggestion(unit, units, f"convert it, or say which it is: {option}")
        problems.append(f"{where}: {shown(column.name)[1:-1] or what}: got the unit {shown(unit)}, allowed {_listed(units)}; {advice}")
    return 1.0


def _newton(column: Column, asked: Asked, where: str, problems: list[str]) -> float:
    """Newtons of a unit of the column."""
    unit = asked.force_unit if asked.force_unit is not None else column.unit
    if unit in READING_UNITS:
        if asked.gain is None:
            problems.append(
                f"{where}: {shown(column.name)[1:-1]}: got readings in {unit}, allowed forces, or readings and the gain of the sensor; "
                "say how many volts a newton makes: --gain 0.02"
            )
            return 1.0
        return READING_UNITS[unit] / asked.gain
    if asked.gain is not None and unit in FORCE_UNITS:
        problems.append(
            f"{where}: {shown(column.name)[1:-1]}: got --gain for forces in {unit}, allowed for readings in V; leave --gain out"
        )
    return _factor(column, asked.force_unit, FORCE_UNITS | READING_UNITS, "force", where, problems)


def _listed(units: dict[str, float]) -> str:
    return ", ".join(unit for unit in units if not unit.startswith(("u", "\N{GREEK SMALL LETTER MU}")) and len(unit) < 4)


def _labelled(forces: list[Column], asked: Sequence[int | None] | None, where: str, problems: list[str]) -> tuple[list[int], list[Column]]:
    """The bead of each column, and the columns that are kept."""
    if asked is not None:
        if len(asked) != len(forces):
            problems.append(
                f"{where}: --beads: got {len(asked)} labels for {len(forces)} columns of force, allowed one for each; write - for a "
                "column to leave out"
            )
            return [], []
        kept = [(bead, column) for bead, column in zip(asked, forces, strict=True) if bead is not None]
        return [bead for bead, _ in kept], [column for _, column in kept]
    found = [_BEAD_NAME.search(column.name) for column in forces]
    if all(found):
        return [int(match[1]) for match in found if match], forces
    names = ", ".join(shown(column.name) for column in forces)
    problems.append(
        f"{where}: got {len(forces)} {'column' if len(forces) == 1 else 'columns'} of force, {names}, allowed columns that name their "
        f"beads, such as bead 9; say which bead each is: --beads {','.join(str(9 + 7 * i) for i in range(len(forces)))}"
    )
    return [], forces


def _evened(time: Column) -> tuple[np.ndarray, tuple[str, ...]]:
    """Time, on the even grid from which rounding to the printed digits has moved it, where that alone can have done it."""
    values = time.values
    n = len(values)
    if n < 3 or not np.isfinite(values).all() or not time.digit > 0.0:
        return values, ()
    step = float(values[-1] - values[0]) / (n - 1)
    if not step > 0.0 or np.abs(np.diff(values) / step - 1.0).max() <= MOST_UNEVEN:
        return values, ()
    # Half a digit at each end of the line through the samples, and half a digit at the sample: 1 at most. Coarser digits than a tenth of
    # the step hide what the clock did.
    slope, start = np.polyfit(np.arange(n), values, 1)
    grid = start + slope * np.arange(n)
    if time.digit > 0.1 * step or np.abs(values - grid).max() > time.digit:
        return values, ()
    return grid, (f"times are printed to {time.digit:.3g} s; they were put on the even grid of {slope:.6g} s that fits them",)


def _resampled(time: np.ndarray, force: np.ndarray, interval: float, where: str) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    if not (np.isfinite(time).all() and np.isfinite(force).all() and (np.diff(time) > 0.0).all()):
        raise TraceError(
            f"{where}: --resample: got samples that are no finite numbers or out of order, allowed finite numbers, time increasing; "
            "mend the file first"
        )
    count = int((time[-1] - time[0]) / interval * (1.0 + 1e-12)) + 1
    if not 1 < count <= 100 * len(time):
        raise TraceError(
            f"{where}: --resample: got {interval:g} s, which makes {count} samples of {len(time)}, allowed from 2 to 100 times as many; "
            "give the interval in seconds"
        )
    grid = time[0] + interval * np.arange(count)
    even = np.column_stack([np.interp(grid, time, column) for column in force.T])
    return grid, even, (f"{len(time)} samples were put on an even grid of {interval:g} s by straight lines between them",)


def unit_in(text: str) -> str | None:
    """The unit that a heading is or ends with, in brackets, after a slash, a comma or an underscore; None where there is none.

    What stands in brackets is taken for a unit even where it is none that is known here, so that it is asked about, not passed over.
    """
    heading = text.strip()
    bare = heading.strip("()[]{} ")
    if bare in _ALL_UNITS:
        return bare
    match = re.search(r"[\[({]\s*([^\])}]*?)\s*[\])}]\s*$", heading)
    if match:
        return None if _BEAD_NAME.search(match[1]) else match[1]
    match = re.search(r"(?:\s*/\s*|,\s*|_)(\S+)$", heading)
    return match[1] if match and match[1] in _ALL_UNITS else None
