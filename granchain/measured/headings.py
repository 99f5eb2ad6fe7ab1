"""Headings and preambles of text files: names, units, factors, beads, and clocks.

Ambiguous information is not used.

A factor in a heading, as in "Force (x10 N)", may or may not have been applied already. It is
therefore never applied, only reported, so that the owner of the file can decide.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from granchain.errors import TraceError
from granchain.keys import shown


def _units(symbols: dict[str, float], letter: str, word: str) -> dict[str, float]:
    """Return the units of one kind: symbols, and words in lower case."""
    prefixes = {"": 1.0, "milli": 1e-3, "micro": 1e-6, "nano": 1e-9, "kilo": 1e3}
    # SI Brochure, 9th ed., table 7: both characters for micro, and the letter used instead
    micro = (f"{sign}{letter}" for sign in "\N{MICRO SIGN}\N{GREEK SMALL LETTER MU}u")
    words = {f"{prefix}{word}{s}": size for s in ("", "s") for prefix, size in prefixes.items()}
    return symbols | dict.fromkeys(micro, 1e-6) | words


TIME_UNITS = _units(
    {"s": 1.0, "ms": 1e-3, "ns": 1e-9, "ps": 1e-12, "sec": 1.0, "msec": 1e-3, "usec": 1e-6},
    "s",
    "second",
)
FORCE_UNITS = _units({"N": 1.0, "mN": 1e-3, "kN": 1e3, "MN": 1e6, "daN": 10.0}, "N", "newton")
READING_UNITS = _units({"V": 1.0, "mV": 1e-3, "kV": 1e3}, "V", "volt")
KINDS = (TIME_UNITS, FORCE_UNITS, READING_UNITS)

# Exact number and unit: "10 N", "1e-3 s", "10^3 N".
_MULTIPLE = re.compile(
    r"(?P<number>[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]{1,2})?)(?:(?:\^|\*\*)(?P<power>[+-]?[0-9]{1,2}))?"
    r"\s*[*·]?\s*(?P<unit>[^\W\d]+)"
)

_BEAD_WORD = r"(?<![^\W_])(?:bead|ball|sphere|particle)"
# It does not match 9 in "bead -9", 1 in "bead 1.5" or "bead 1e3", or 9 in "beads 9-16" or "bead 9
# 16".
_BEAD = re.compile(
    _BEAD_WORD
    + r"(?:[ _#]*|-)(?P<number>[0-9]{1,6})(?![^\W_]|[.,]?[0-9]|\s*[-/&+,\u2013]?\s*[0-9])",
    re.IGNORECASE,
)
_BEAD_AND_NUMBER = re.compile(_BEAD_WORD + r"s?[^A-Za-z0-9]{0,4}[0-9]", re.IGNORECASE)
_CHANNEL = re.compile(r"(?:sensor|channel|probe|ch)[ _#]*[0-9]", re.IGNORECASE)

# Number after a multiplication sign or word, or before such a sign; a power; and a number before a
# unit in brackets or after a slash.
_NUMBER = (
    r"[0-9]+(?:[.,][0-9]+)?(?:[eE][-+]?[0-9]+|\s*(?:\^|\*\*)\s*[-+\u2212]?[0-9]+|[⁻⁰¹²³⁴-⁹]+)?"
)
_FACTOR = re.compile(
    rf"(?<![A-Za-z])[xX*·\u00d7/÷]\s*{_NUMBER}(?![\w.])"
    rf"|(?<![\w.]){_NUMBER}\s*[xX*·\u00d7](?!\w)"
    rf"|\b(?:gain|factor|scale|multiplier|attenuation)\s*[=:]?\s*{_NUMBER}"
    r"|(?<![\w.])(?:[0-9]+(?:\.[0-9]+)?[eE][-+]?[0-9]+(?!\w)|10\s*(?:\^|\*\*|[⁻⁰¹²³⁴-⁹])\S*)"
    rf"|(?:(?<=[\[({{/,])|(?<=\bin\s))\s*{_NUMBER}\s*[^\W\d]+(?=\s*(?:[\])}}]|$))",
    re.IGNORECASE,
)


def size_of(unit: str | None, units: Mapping[str, float]) -> float | None:
    """Return the SI value of a unit or of a multiple of one ("10 N").

    The unit must be one of `units`. Return None otherwise.
    """
    name = (unit or "").strip()
    if name in units:
        return units[name]
    if len(name) > 2 and name.lower() in units:
        return units[name.lower()]
    several = _MULTIPLE.fullmatch(name)
    one = size_of(several["unit"], units) if several else None
    if several is None or one is None:
        return None
    size = float(several["number"]) ** int(several["power"] or 1)
    return one * size if 0.0 < size < 1e30 else None


def same(first: str, second: str) -> bool:
    """Return whether two texts are the same unit."""
    sizes = [[size_of(unit, units) for units in KINDS] for unit in (first, second)]
    return first == second or (sizes[0] == sizes[1] and sizes[0] != [None] * len(KINDS))


def symbols(units: Mapping[str, float]) -> str:
    """Return the symbols among units, for a message."""
    return ", ".join(
        unit
        for unit in units
        if len(unit) < 4
        and unit != "sec"
        and not unit.startswith(("u", "\N{GREEK SMALL LETTER MU}"))
    )


def known(unit: str) -> bool:
    """Return whether a text is a unit of time, force, or reading, without a number."""
    return not any(sign.isdigit() for sign in unit) and any(
        size_of(unit, units) is not None for units in KINDS
    )


def unit_in(text: str) -> str | None:
    """Return the unit in a heading, or None.

    The heading is a unit or ends with one, in brackets, or after a slash, a comma, an underscore,
    "in", or a channel.

    Text in brackets counts as a unit even if it is unknown, so that a message reports it.
    """
    bare = text.strip().strip("()[]{} ")
    if known(bare):
        return bare
    brackets = [part.strip() for part in re.findall(r"[\[({]([^\])}]*)[\])}]", text)]
    inside = [
        part for part in brackets if not (_BEAD_AND_NUMBER.search(part) or _CHANNEL.match(part))
    ]
    found = list(dict.fromkeys(part for part in inside if known(part)))
    if inside:
        return " and ".join(found) or inside[-1]
    # Rigol writes the unit after the channel: "CH1V"
    match = re.search(r"(?:/\s*|,\s*|_|(?:^|\s)in\s+|^CH[0-9])([^\s/,_]+)$", text.strip())
    return match[1] if match and known(match[1]) else None


def factor_in(text: str) -> str:
    """Return a possible factor in a heading as written there, or an empty string."""
    match = _FACTOR.search(_BEAD.sub(" ", text))
    return match[0].strip() if match else ""


def bead_of(text: str) -> int | None:
    """Return the bead in a heading, or None if there is none or it is ambiguous.

    The number of a sensor or a channel is not a bead number.
    """
    beads = [match["number"] for match in _BEAD.finditer(text)]
    several = len(beads) < len(_BEAD_AND_NUMBER.findall(text))
    return int(beads[0]) if len(set(beads)) == 1 and not several else None


# --------------------------------------------------------------------------------------------------
# The lines above the headings

# Keys as instruments write them, without the characters that differ, and their meaning. Yokogawa: x
# = HResolution (number - 1) + HOffset (IM DLM3054-01EN, appendix 3). LabVIEW gives Delta_X in
# seconds ("Specification for the LabVIEW Measurement File", X_Dimension Time).
KEYS = {
    "sampleinterval": "interval",  # Tektronix
    "horizontalunits": "time unit",
    "verticalunits": "force unit",
    "samplingperiod": "interval",  # GW Instek
    "xinc": "interval",  # Keysight Infiniium
    "xorg": "start",
    "xunits": "time unit",
    "yunits": "force unit",
    "hresolution": "interval",  # Yokogawa
    "hoffset": "start",
    "hunit": "time unit",
    "vunit": "force unit",
    "tracename": "names",
    "deltax": "interval",  # LabVIEW
    "x0": "start",
    "yunitlabel": "force unit",
    "factor": "factor",
}
# LeCroy starts a list of segments, which is not part of the columns, with "Segment" and one of
# these.
SEGMENTS = {"trigtime", "segmenttime"}
# LeCroy files have no units: times are in seconds and amplitudes in volts (Teledyne LeCroy, ASCII
# waveforms, whose first line is the instrument and whose last line above the numbers is this).
_LECROY = re.compile(r"LECROY[^\n]*\n(?:[^\n]*\n)*?\W*Time(?:\W+Ampl)+\W*$", re.IGNORECASE)
# Siglent writes the channel before its unit: "CH1:V CH2:V", or one cell per channel.
_CHANNEL_AND_UNIT = re.compile(r"\bCH[0-9]+ *: *([^\s,]+)", re.IGNORECASE)
# Rigol writes start and increment into its headings.
_T0, _TINC = (
    re.compile(rf"\b{name}\s*=\s*([-+0-9.eE]+)\s*s?\b", re.IGNORECASE) for name in ("t0", "tinc")
)


@dataclass(frozen=True)
class Clock:
    """Clock of the samples: start and interval, in `unit`, and their source text.

    The unit is None if it is not specified.
    """

    interval: float
    start: float
    unit: str | None
    words: str


@dataclass(frozen=True)
class Preamble:
    """Information that applies to all numbers of a file.

    Parameters
    ----------
    words : str
        Text above the numbers.
    clock : Clock, optional
    time_unit : str, optional
    force_units : tuple of str
        One unit for all columns, or one per column.
    names : tuple of str
        Names of the channels.
    notes : tuple of str
        Information that was ignored.
    """

    words: str = ""
    clock: Clock | None = None
    time_unit: str | None = None
    force_units: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def key_of(cell: str) -> str:
    """Return a key without the characters that differ between instruments."""
    return re.sub(r"[\s_:.\-()]+", "", cell).lower()


def preamble_of(rows: Sequence[tuple[int, list[str]]], words: str) -> Preamble:
    """Read the lines above the numbers.

    Parameters
    ----------
    rows : sequence of (int, list of str)
        Number and cells of each line.
    words : str
        Text of the lines.

    Raises
    ------
    TraceError
        If they show that the numbers below are not readings, or if they contradict each other.
    """
    found: dict[str, tuple[int, list[str]]] = {}
    for line, cells in rows:
        key, *values = [cell for cell in cells if cell] or [""]
        name, colon, rest = key.partition(":")
        if colon and rest.strip() and not values:
            key, values = name, rest.split()
        key = key_of(key)
        # Tektronix repeats the key for each channel.
        values = [value for value in values if key_of(value) != key]
        if key == "mode" and values and values[0].lower() == "fast":
            raise TraceError(
                f"line {line}: the data were saved in mode Fast, which contains counts of the "
                "converter. Volts or newtons are required. Save the data as Detail CSV."
            )
        if key == "factor" and any(_printed_number(value) not in (None, 1.0) for value in values):
            raise TraceError(
                f"line {line}: the file specifies a factor, {shown(', '.join(values))}. The "
                "numbers must not need a factor. Multiply them by it if this has not been "
                "done, and remove the line."
            )
        if key in KEYS and values:
            found.setdefault(KEYS[key], (line, values + ["s"] * (key == "deltax")))
    line, values = found.get("interval", (0, []))
    units = [value for value in values if size_of(value, TIME_UNITS) is not None]
    # "S" is the unit of a time here, so it cannot be siemens
    units += ["s" if one == "S" else one for one in found.get("time unit", (0, []))[1]]
    starts, intervals = (
        [number for number in map(_printed_number, cells) if number is not None]
        for cells in (found.get("start", (0, []))[1], values)
    )
    if max(len(set(several)) for several in (units, starts, intervals)) > 1:
        raise TraceError(
            f"line {line or found['time unit'][0]}: the channels have different clocks. All "
            "channels must share one clock. Export them separately."
        )
    time_unit = units[0] if units else None
    clock = _clock_in_headings(rows)
    if intervals and 0.0 < intervals[0] < math.inf:
        start = starts[0] if starts else 0.0
        clock = Clock(intervals[0], start, time_unit, f"line {line}: {values[0]}")
    force_units, names = (tuple(found.get(what, (0, []))[1]) for what in ("force unit", "names"))
    force_units = tuple(_CHANNEL_AND_UNIT.findall(" ".join(force_units))) or force_units
    if len(set(force_units)) == 1:
        force_units = force_units[:1]
    notes: tuple[str, ...] = ()
    if _LECROY.match(words) and not (time_unit or force_units):
        time_unit, force_units = "s", ("V",)
        notes = ("LeCroy files do not specify units: times are assumed in s and amplitudes in V",)
    return Preamble(words, clock, time_unit, force_units, names, notes)


def _printed_number(cell: str) -> float | None:
    with contextlib.suppress(ValueError):
        return float(cell.replace(",", "."))
    return None


def _clock_in_headings(rows: Sequence[tuple[int, list[str]]]) -> Clock | None:
    """Return start and increment in the format of Rigol.

    They are at the end of the headings ("t0 = ..., tInc = ..."), or the values are in the line
    below.
    """
    stated = []
    for (_, heads), (line, cells) in itertools.pairwise([*rows, (0, [])]):
        below = dict(zip(map(key_of, heads), cells, strict=False))
        stated.append((line, [below.get(key, "") for key in ("start", "increment")]))
    for line, heads in rows:
        found = [name.search(",".join(heads)) for name in (_T0, _TINC)]
        stated.append((line, [match[1] if match else "" for match in found]))
    for line, cells in stated:
        start, interval = map(_printed_number, cells)
        if start is not None and interval is not None and 0.0 < interval < math.inf:
            return Clock(interval, start, "s", f"line {line}: {cells[1]}")
    return None
