"""Units, gains, and the information in headings and preambles of text files: names, units, factors,
beads, and clocks.

Symbols of units distinguish upper and lower case, words do not. In a unit of time, S means second,
because some instruments print it. Ambiguous information is not used.

A factor in a heading, as in "Force (x10 N)", may or may not have been applied already. It is
therefore reported and never applied, so that the owner of the file can decide.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from granchain.errors import TraceError
from granchain.keys import brief

# SI Brochure, 9th ed., table 7: both characters for micro, and the letter used instead.
MICRO_LETTERS = ("\N{MICRO SIGN}", "\N{GREEK SMALL LETTER MU}", "u")
_SIZES = {"p": 1e-12, "n": 1e-9, **dict.fromkeys(MICRO_LETTERS, 1e-6), "m": 1e-3, "": 1.0, "k": 1e3}
_PREFIX_NAMES = {"pico": 1e-12, "nano": 1e-9, "micro": 1e-6, "milli": 1e-3, "": 1.0, "kilo": 1e3}
# Exact number and unit: "10 N", "1e-3 s", "10^3 N".
_MULTIPLE = re.compile(
    r"(?P<number>[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]{1,2})?)(?:(?:\^|\*\*)(?P<power>[+-]?[0-9]{1,2}))?"
    r"\s*[*·]?\s*(?P<unit>[^\W\d]+)"
)
_GAIN = re.compile(
    r"\s*(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?)"
    r"(?:\s*(?P<reading>[^\W\d]+)\s*/\s*(?P<force>[^\W\d]+))?\s*"
)


def _units(prefixes: Sequence[str], symbols: Sequence[str], unit_names: str) -> dict[str, float]:
    """Return the SI values of unit symbols and unit names with their prefixes.

    `unit_names` contains names in full, separated by spaces.
    """
    short = {f"{prefix}{symbol}": _SIZES[prefix] for symbol in symbols for prefix in prefixes}
    return short | {
        f"{p}{word}": size for p, size in _PREFIX_NAMES.items() for word in unit_names.split()
    }


TIME_UNITS = _units(
    ("", "m", *MICRO_LETTERS, "n", "p"), ("s", "S", "sec", "secs"), "second seconds"
)
TIME_UNITS |= {
    f"{prefix}{word}": size for prefix, size in _PREFIX_NAMES.items() for word in ("sec", "secs")
}
FORCE_UNITS = _units(("", "m", *MICRO_LETTERS, "k"), "N", "newton newtons") | {
    "MN": 1e6,
    "daN": 10.0,
}
READING_UNITS = _units(("", "m", *MICRO_LETTERS, "k"), "V", "volt volts")
KINDS = (TIME_UNITS, FORCE_UNITS, READING_UNITS)
TIMES, FORCES = "s, ms, us, ns, or ps", "N, mN, kN, MN, daN, V, mV, or kV"


def si_value(unit: str | None, units: Mapping[str, float]) -> float | None:
    """Return the SI value of a unit or of a multiple of one ("10 N").

    The unit must be one of `units`. Return None otherwise.
    """
    name = (unit or "").strip()
    if name in units:
        return units[name]
    if len(name) > 2 and name.lower() in units:
        return units[name.lower()]
    several = _MULTIPLE.fullmatch(name)
    single = si_value(several["unit"], units) if several else None
    if several is None or single is None:
        return None
    size = float(several["number"]) ** int(several["power"] or 1)
    return single * size if 0.0 < size < 1e30 else None


def is_same(first: str, second: str) -> bool:
    """Return whether two texts are the same unit."""
    sizes = [[si_value(unit, units) for units in KINDS] for unit in (first, second)]
    return first == second or (sizes[0] == sizes[1] and sizes[0] != [None] * len(KINDS))


def is_unit(text: str) -> bool:
    """Return whether a text is a unit of time, force, or reading, without a number."""
    return not any(sign.isdigit() for sign in text) and any(
        si_value(text, units) is not None for units in KINDS
    )


class Gain(NamedTuple):
    """Gain of a sensor, and whether it is a reading per newton [V/N]; otherwise a number [1]."""

    value: float
    per_newton: bool


def gains_of(gain: float | str | Sequence[float | str] | None, count: int) -> list[Gain | None]:
    """Return one gain per sensor.

    Parameters
    ----------
    gain : float, str, or sequence of them, optional
        Numbers, or texts with units such as "18 mV/N, 22.5 mV/N". A single one is used for all.
    count : int
        Number of sensors.

    Raises
    ------
    TraceError
        If a gain is not valid, or their number is not that of the sensors.
    """
    if gain is None:
        return [None] * count
    single = isinstance(gain, (str, float, int))
    entries = str(gain).split(",") if single else [str(entry) for entry in np.asarray(gain)]
    gains: list[Gain | None] = []
    for entry in entries:
        match = _GAIN.fullmatch(entry)
        value = float(match["number"]) if match else 0.0
        unit = match["reading"] if match else None
        if match and unit:
            value *= si_value(unit, READING_UNITS) or 0.0
            value /= si_value(match["force"], FORCE_UNITS) or math.inf
        if value == 0.0:
            raise TraceError(
                f"--gain: {brief(entry)} is not valid. It must be a number other than 0, with "
                "or without a unit, or one per sensor. Use for example --gain 0.02, --gain "
                '"18 mV/N, 22.5 mV/N", or --gain -1.'
            )
        gains.append(Gain(value, bool(unit)))
    if len(gains) not in (1, count):
        raise TraceError(
            f"--gain: {len(gains)} numbers for {count} sensors. One number for all sensors, or one "
            "per sensor, is required. Use the order of --beads, and omit ignored columns."
        )
    return gains * count if len(gains) == 1 else gains


def newtons_per_unit(unit: str | None, gain: Gain | None, name: str, problems: list[str]) -> float:
    """Return the number of newtons per unit of a column, and report a unit that does not fit."""
    reading, force = si_value(unit, READING_UNITS), si_value(unit, FORCE_UNITS)
    if reading is None and force is None:
        problems.append(
            f"{brief(name)}: the unit {f'{brief(unit)} is unknown' if unit else 'is missing'}. It "
            f"must be one of {FORCES}. Set it with --force-unit N, or with a multiple of a unit: "
            '--force-unit "10 N". For voltages, use --force-unit V with --gain 0.02.'
        )
    elif reading is not None and gain is None:
        problems.append(
            f"{brief(name)}: the values are in {unit}. Forces, or voltages and the gain of the "
            "sensor, are required. Set the gain in volts per newton, such as --gain 0.02."
        )
    elif force is not None and gain is not None and gain.per_newton:
        problems.append(
            f"{brief(name)}: --gain was set in volts per newton for forces in {unit}. It must be a "
            "pure number for forces. Remove --gain, or use --force-unit V."
        )
    return (reading or force or 1.0) / (gain.value if gain else 1.0)


# --------------------------------------------------------------------------------------------------
# Headings

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


def unit_in(text: str) -> str | None:
    """Return the unit in a heading, or None.

    The heading is a unit or ends with one, in brackets, or after a slash, a comma, an underscore,
    "in", or a channel.

    Text in brackets counts as a unit even if it is unknown, so that a message reports it.
    """
    bare = text.strip().strip("()[]{} ")
    if is_unit(bare):
        return bare
    brackets = [text.strip() for text in re.findall(r"[\[({]([^\])}]*)[\])}]", text)]
    inside = [
        text for text in brackets if not (_BEAD_AND_NUMBER.search(text) or _CHANNEL.match(text))
    ]
    units = list(dict.fromkeys(filter(is_unit, inside)))
    if inside:
        return " and ".join(units) or inside[-1]
    # Rigol writes the unit after the channel: "CH1V"
    match = re.search(r"(?:/\s*|,\s*|_|(?:^|\s)in\s+|^CH[0-9])([^\s/,_]+)$", text.strip())
    return match[1] if match and is_unit(match[1]) else None


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
# Keys of the number of samples per unit of time, and units of this number [1/s].
SAMPLE_RATE_KEYS = {"samplerate", "samplingrate", "samplefrequency", "samplingfrequency"}
RATE_UNITS = {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9, "Sa/s": 1.0, "S/s": 1.0}
RATE_UNITS |= {"kSa/s": 1e3, "MSa/s": 1e6, "GSa/s": 1e9, "kS/s": 1e3, "MS/s": 1e6, "GS/s": 1e9}
# LeCroy starts a list of segments, which is not part of the columns, with "Segment" and one of
# these.
SEGMENT_KEYS = {"trigtime", "segmenttime"}
# LeCroy files have no units: times are in seconds and amplitudes in volts (Teledyne LeCroy, ASCII
# waveforms, whose first line is the instrument and whose last line above the numbers is this).
_LECROY = re.compile(r"LECROY[^\n]*\n(?:[^\n]*\n)*?\W*Time(?:\W+Ampl)+\W*$", re.IGNORECASE)
# Siglent writes the channel before its unit: "CH1:V CH2:V", or one cell per channel.
_CHANNEL_AND_UNIT = re.compile(r"\bCH[0-9]+ *: *([^\s,]+)", re.IGNORECASE)
_RIGOL = re.compile(r"\bt0\s*=\s*([-+0-9.eE]+)\s*s?\b.*\btinc\s*=\s*([-+0-9.eE]+)\s*s?\b", re.I)


@dataclass(frozen=True)
class Clock:
    """Clock of the samples: start and interval, in `unit`, and their source.

    The unit is None if it is not specified.
    """

    interval: float
    start: float
    unit: str | None
    source: str


@dataclass(frozen=True)
class Preamble:
    """Information that applies to all numbers of a file.

    Parameters
    ----------
    text : str
        Text above the numbers.
    clock : Clock, optional
    time_unit : str, optional
    force_units : tuple of str
        One unit for all columns, or one per column.
    names : tuple of str
        Names of the channels.
    notes : tuple of str
        Assumptions.
    """

    text: str = ""
    clock: Clock | None = None
    time_unit: str | None = None
    force_units: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def plain_key(cell: str) -> str:
    """Return a key without the characters that differ between instruments."""
    return re.sub(r"[\s_:.\-()]+", "", cell).lower()


def preamble_of(rows: Sequence[tuple[int, list[str]]], text: str) -> Preamble:
    """Read the lines above the numbers.

    Parameters
    ----------
    rows : sequence of (int, list of str)
        Number and cells of each line.
    text : str
        Text of the lines.

    Raises
    ------
    TraceError
        If they show that the numbers below are not readings, or if they contradict each other.
    """
    entries: dict[str, list[str]] = {}
    source, heads = "", list[str]()
    for line, cells in rows:
        key, *values = [cell for cell in cells if cell] or [""]
        name, _, value = key.partition(":")
        if value.strip() and not values:
            key, values = name, value.split()
        if in_brackets := re.fullmatch(r"(.+?)\s*[\[(]([^\])]+)[\])]:?", key.strip()):
            key, values = in_brackets[1], values + [in_brackets[2]] * bool(values)
        key = plain_key(key)
        # Tektronix repeats the key for each channel.
        values = [value for value in values if plain_key(value) != key]
        if key == "mode" and values and values[0].lower() == "fast":
            raise TraceError(
                f"line {line}: the data were saved in mode Fast, which contains counts of the "
                "converter. Volts or newtons are required. Save the data as Detail CSV."
            )
        if key == "factor" and any(number not in (None, 1.0) for number in map(_number, values)):
            raise TraceError(
                f"line {line}: the file specifies a factor, {brief(', '.join(values))}. The "
                "numbers must not need a factor. Multiply them by it if this has not been "
                "done, and remove the line."
            )
        # Rigol writes start and increment at the end of the headings ("t0 = ..., tInc = ..."), or
        # below the headings Start and Increment.
        below = dict(zip(heads, cells, strict=False))
        rigol = _RIGOL.search(",".join(cells))
        start, step = rigol.groups() if rigol else (below.get("start"), below.get("increment"))
        heads = [plain_key(cell) for cell in cells]
        of_line = {KEYS.get(key, ""): values + ["s"] * (bool(values) and key == "deltax")}
        stated = "".join(values[:1])
        if key in SAMPLE_RATE_KEYS and values:
            of_line, stated = {"interval": _interval_of_rate(values)}, " ".join(values)
        elif start and step:
            of_line, stated = {"start": [start], "interval": [step, "s"]}, step
        if of_line.get("interval") and not source:
            source = f"line {line}: {stated}"
        entries = {name: several for name, several in of_line.items() if several} | entries
    intervals = entries.get("interval", [])
    units = [value for value in intervals if si_value(value, TIME_UNITS) is not None]
    units += entries.get("time unit", [])
    starts, steps = (
        [number for number in map(_number, entries.get(name, [])) if number is not None]
        for name in ("start", "interval")
    )
    sizes = [si_value(unit, TIME_UNITS) or unit for unit in units]
    if max(len(set(several)) for several in (sizes, starts, steps)) > 1:
        raise TraceError(
            f"{source.partition(':')[0]}: the channels have different clocks. All channels must "
            "share one clock. Export them separately."
        )
    time_unit, clock = units[0] if units else None, None
    if steps and 0.0 < steps[0] < math.inf:
        clock = Clock(steps[0], starts[0] if starts else 0.0, time_unit, source)
    force_units = tuple(entries.get("force unit", []))
    force_units = tuple(_CHANNEL_AND_UNIT.findall(" ".join(force_units))) or force_units
    if len(set(force_units)) == 1:
        force_units = force_units[:1]
    notes: tuple[str, ...] = ()
    if _LECROY.match(text) and not (time_unit or force_units):
        time_unit, force_units = "s", ("V",)
        notes = ("LeCroy files do not specify units: times are assumed in s and amplitudes in V",)
    names = tuple(entries.get("names", []))
    return Preamble(text, clock, time_unit, force_units, names, notes)


def _interval_of_rate(cells: Sequence[str]) -> list[str]:
    """Return the sampling interval [s] of a sampling rate and its unit; empty if there is none."""
    number = _number(cells[0])
    factors = [RATE_UNITS[cell] for cell in cells[1:] if cell in RATE_UNITS]
    if number is None or not 0.0 < number < math.inf or not factors:
        return []
    return [repr(1.0 / (number * factors[0])), "s"]


def _number(cell: str) -> float | None:
    """Return the number in a cell, or None."""
    try:
        return float(cell.replace(",", "."))
    except ValueError:
        return None
