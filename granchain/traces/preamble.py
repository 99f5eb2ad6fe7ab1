"""What the lines above the numbers give for all of them: the clock, the units of both axes, the names of the channels.

Keys as the instruments print them: Tektronix (Sample Interval, Horizontal Units, Vertical Units), Rigol (Start and Increment at the end
of the headings), Keysight Infiniium (XInc, XOrg, XUnits, YUnits), Yokogawa (HResolution, HOffset, HUnit, VUnit, TraceName; x = HResolution
(number - 1) + HOffset, IM DLM3054-01EN, appendix 3), GW Instek (Sampling Period; Mode Fast: counts of the converter), LabVIEW (X0,
Delta_X, Y_Unit_Label, Decimal_Separator).
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from granchain.errors import TraceError
from granchain.keys import shown
from granchain.traces.headings import TIME_UNITS, size_of

_INTERVAL = ("sampleinterval", "samplinginterval", "samplingperiod", "sampleperiod", "deltax", "hresolution", "xinc", "xincrement")
_START = ("x0", "hoffset", "xorg", "xorigin")
_TIME_UNIT = ("horizontalunit", "horizontalunits", "xunit", "xunits", "hunit", "timeunit", "timeunits")
_FORCE_UNIT = ("verticalunit", "verticalunits", "yunit", "yunits", "vunit", "yunitlabel")
_NAMES = ("tracename",)
_FACTORS = ("factor", "scalefactor", "scalingfactor", "multiplier", "faktor", "skalierungsfaktor")
# LabVIEW gives its intervals in seconds ("Specification for the LabVIEW Measurement File", X_Dimension Time), and so does Rigol.
_IN_SECONDS = ("deltax", "increment")
_T0, _TINC = (re.compile(rf"\b{name}\s*=\s*([-+0-9.eE]+)\s*s?\b", re.IGNORECASE) for name in ("t0", "tinc"))
KEYS = (*_INTERVAL, *_START, *_TIME_UNIT, *_FORCE_UNIT, *_NAMES, *_FACTORS)


@dataclass(frozen=True)
class Clock:
    """When the samples were taken: start and interval, in `unit` (None: not given), and the words they were read from."""

    interval: float
    start: float
    unit: str | None
    words: str


@dataclass(frozen=True)
class Preamble:
    """What holds for all numbers of a file.

    Parameters
    ----------
    words : str
        All that is above the numbers.
    clock : Clock, optional
    time_unit : str, optional
    force_units : tuple of str
        One for all columns, or one for each.
    names : tuple of str
        Of the channels.
    notes : tuple of str
        What had to be left out.
    """

    words: str = ""
    clock: Clock | None = None
    time_unit: str | None = None
    force_units: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


NOTHING_SAID = Preamble()


def key_of(cell: str) -> str:
    """A key without the signs that instruments write differently."""
    return re.sub(r"[\s_:.\-()]+", "", cell).lower()


def preamble_of(rows: Sequence[tuple[int, list[str]]], words: str, where: str) -> Preamble:
    """Read the lines above the numbers.

    Parameters
    ----------
    rows : sequence of (int, list of str)
        Number and cells of each line.
    words : str
        Their text.
    where : str
        Name of the file.

    Raises
    ------
    TraceError
        Where they show that the numbers below are no readings, or contradict one another.
    """
    found: dict[str, tuple[int, list[str]]] = {}
    for line, cells in rows:
        key, values = _key_and_values(cells)
        if key == "mode" and values[:1] and values[0].lower() == "fast":
            raise TraceError(
                f"{where}: line {line}: got the mode Fast, which holds counts of the converter, allowed volts or newtons; "
                "save it as Detail CSV"
            )
        if key in _FACTORS and any(_value(value) not in (None, 1.0) for value in values):
            raise TraceError(
                f"{where}: line {line}: got a factor, {shown(', '.join(values))}, allowed numbers that need none; multiply the "
                "numbers by it where that is still to be done, and take the line out"
            )
        if key in KEYS and values:
            found.setdefault(key, (line, values))
    time_unit = _one(found, _TIME_UNIT, where)
    clock = _clock(found, time_unit, where) or _rigol(rows)
    units = next((tuple(found[key][1]) for key in _FORCE_UNIT if key in found), ())
    names = next((tuple(found[key][1]) for key in _NAMES if key in found), ())
    return Preamble(words, clock, time_unit, units if len(set(units)) > 1 else units[:1], names)


def _key_and_values(cells: list[str]) -> tuple[str, list[str]]:
    filled = [i for i, cell in enumerate(cells) if cell]
    if not filled:
        return "", []
    first, values = cells[filled[0]], cells[filled[0] + 1 :]
    name, colon, rest = first.partition(":")
    if colon and rest.strip() and not any(values):
        first, values = name, rest.split()
    return key_of(first), [value for value in values if value]


def _value(cell: str) -> float | None:
    with contextlib.suppress(ValueError):
        return float(cell.replace(",", "."))
    return None


def _one(found: dict[str, tuple[int, list[str]]], keys: tuple[str, ...], where: str) -> str | None:
    """The text under one of the keys, the same for all channels."""
    for key in keys:
        if key in found:
            line, values = found[key]
            if len(set(values)) > 1:
                raise TraceError(
                    f"{where}: line {line}: got {shown(', '.join(values))}, allowed one for all columns; export them one by one"
                )
            return values[0]
    return None


def _clock(found: dict[str, tuple[int, list[str]]], time_unit: str | None, where: str) -> Clock | None:
    key = next((key for key in _INTERVAL if key in found), None)
    if key is None:
        return None
    line, values = found[key]
    intervals = {value for value in map(_value, values) if value is not None}
    unit = next((value for value in values if _value(value) is None and size_of(value, TIME_UNITS) is not None), time_unit)
    starts = {value for name in _START if name in found for value in map(_value, found[name][1]) if value is not None}
    if len(intervals) > 1 or len(starts) > 1:
        raise TraceError(f"{where}: line {line}: got channels with clocks of their own, allowed one clock; export them one by one")
    interval = intervals.pop() if intervals else 0.0
    if not 0.0 < interval < float("inf"):
        return None
    return Clock(interval, starts.pop() if starts else 0.0, "s" if key in _IN_SECONDS else unit, f"line {line}: {values[0]}")


def _rigol(rows: Sequence[tuple[int, list[str]]]) -> Clock | None:
    """Start and increment, as Rigol puts them at the end of its headings: values one line below, or there ("t0 = ..., tInc = ...")."""
    for (_, heads), (line, cells) in itertools.pairwise(rows):
        keys = [key_of(cell) for cell in heads]
        if "start" in keys and "increment" in keys and len(cells) > max(keys.index("start"), keys.index("increment")):
            start, interval = _value(cells[keys.index("start")]), _value(cells[keys.index("increment")])
            if start is not None and interval is not None and 0.0 < interval < float("inf"):
                return Clock(interval, start, "s", f"line {line}: Increment {cells[keys.index('increment')]}")
    for line, heads in rows:
        found = [_T0.search(",".join(heads)), _TINC.search(",".join(heads))]
        values = [_value(match[1]) for match in found if match]
        if len(values) == 2 and values[0] is not None and values[1] is not None and 0.0 < values[1] < float("inf"):
            return Clock(values[1], values[0], "s", f"line {line}: tInc {values[1]:g}")
    return None
