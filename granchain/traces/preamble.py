"""What the lines above the numbers give for all of them: the clock, the units of both axes, the
names of the channels.

Keys as the instruments print them: Tektronix (Sample Interval, Horizontal Units, Vertical Units),
Rigol (Start and Increment at the end of the headings), Keysight Infiniium (XInc, XOrg, XUnits,
YUnits), Yokogawa (HResolution, HOffset, HUnit, VUnit, TraceName; x = HResolution (number - 1) +
HOffset, IM DLM3054-01EN, appendix 3), GW Instek (Sampling Period; Mode Fast: counts of the
converter), LabVIEW (X0, Delta_X, Y_Unit_Label, Decimal_Separator).
"""

from __future__ import annotations

import contextlib
import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from granchain.errors import TraceError
from granchain.keys import shown
from granchain.traces.headings import TIME_UNITS, size_of

_INTERVAL = ("sampleinterval", "samplingperiod", "deltax", "hresolution", "xinc")
_START = ("x0", "hoffset", "xorg")
_TIME_UNIT = ("horizontalunits", "xunits", "hunit")
_FORCE_UNIT = ("verticalunits", "yunits", "vunit", "yunitlabel")
_NAMES = ("tracename",)
_FACTORS = ("factor", "scalefactor", "scalingfactor", "multiplier", "faktor", "skalierungsfaktor")
_T0, _TINC = (
    re.compile(rf"\b{name}\s*=\s*([-+0-9.eE]+)\s*s?\b", re.IGNORECASE) for name in ("t0", "tinc")
)
KEYS = (*_INTERVAL, *_START, *_TIME_UNIT, *_FORCE_UNIT, *_NAMES, *_FACTORS)


@dataclass(frozen=True)
class Clock:
    """When the samples were taken: start and interval, in `unit` (None: not given), and the
    words they were read from."""

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
        key, *values = [cell for cell in cells if cell] or [""]
        name, colon, rest = key.partition(":")
        if colon and rest.strip() and not values:
            key, values = name, rest.split()
        key = key_of(key)
        if key == "mode" and values[:1] and values[0].lower() == "fast":
            raise TraceError(
                f"{where}: line {line}: got the mode Fast, which holds counts of the converter, "
                "allowed volts or newtons; save it as Detail CSV"
            )
        if key in _FACTORS and any(_printed_number(value) not in (None, 1.0) for value in values):
            raise TraceError(
                f"{where}: line {line}: got a factor, {shown(', '.join(values))}, allowed numbers "
                "that need none; multiply the "
                "numbers by it where that is still to be done, and take the line out"
            )
        if key in KEYS and values:
            found.setdefault(key, (line, values))
    line, times = _first_of(found, _TIME_UNIT)
    if len(set(times)) > 1:
        raise TraceError(
            f"{where}: line {line}: got {shown(', '.join(times))}, allowed one for all columns; "
            "export them one by one"
        )
    time_unit = times[0] if times else None
    units, names = (tuple(_first_of(found, keys)[1]) for keys in (_FORCE_UNIT, _NAMES))
    clock = _stated_clock(found, time_unit, where) or _clock_in_headings(rows)
    return Preamble(words, clock, time_unit, units if len(set(units)) > 1 else units[:1], names)


def _first_of(
    found: dict[str, tuple[int, list[str]]], keys: tuple[str, ...]
) -> tuple[int, list[str]]:
    """Line and values of the first of the keys that was found."""
    return next((found[key] for key in keys if key in found), (0, []))


def _printed_number(cell: str) -> float | None:
    with contextlib.suppress(ValueError):
        return float(cell.replace(",", "."))
    return None


def _stated_clock(
    found: dict[str, tuple[int, list[str]]], time_unit: str | None, where: str
) -> Clock | None:
    """The clock of lines with a key for the interval, and one for the start."""
    line, values = _first_of(found, _INTERVAL)
    intervals = {number for number in map(_printed_number, values) if number is not None}
    starts = {
        number
        for name in _START
        if name in found
        for number in map(_printed_number, found[name][1])
        if number is not None
    }
    if values and (len(intervals) > 1 or len(starts) > 1):
        raise TraceError(
            f"{where}: line {line}: got channels with clocks of their own, allowed one clock; "
            "export them one by one"
        )
    interval = intervals.pop() if intervals else 0.0
    if not 0.0 < interval < math.inf:
        return None
    beside = (
        value
        for value in values
        if _printed_number(value) is None and size_of(value, TIME_UNITS) is not None
    )
    # LabVIEW gives its intervals in seconds ("Specification for the LabVIEW Measurement File",
    # X_Dimension Time).
    seconds = "deltax" in found and found["deltax"][0] == line
    return Clock(
        interval,
        starts.pop() if starts else 0.0,
        "s" if seconds else next(beside, time_unit),
        f"line {line}: {values[0]}",
    )


def _clock_in_headings(rows: Sequence[tuple[int, list[str]]]) -> Clock | None:
    """Start and increment, as Rigol puts them at the end of its headings: values one line
    below, or there ("t0 = ..., tInc = ...")."""
    for (_, heads), (line, cells) in itertools.pairwise(rows):
        below = dict(zip(map(key_of, heads), cells, strict=False))
        start, interval = (_printed_number(below.get(key, "")) for key in ("start", "increment"))
        if start is not None and interval is not None and 0.0 < interval < math.inf:
            return Clock(interval, start, "s", f"line {line}: Increment {below['increment']}")
    for line, heads in rows:
        found = [name.search(",".join(heads)) for name in (_T0, _TINC)]
        start, interval = (_printed_number(match[1]) if match else None for match in found)
        if start is not None and interval is not None and 0.0 < interval < math.inf:
            return Clock(interval, start, "s", f"line {line}: tInc {interval:g}")
    return None
