"""What a heading gives for the numbers below it: their unit, a factor in front of it, the bead.
What could mean two things is not used.

A number in a heading, as in "Force (x10 N)", may have been multiplied in already or be left to the
reader: it is never applied, only shown, so that the owner of the file can state which.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

# SI prefixes (SI Brochure, 9th ed., table 7); both signs for micro, and the letter used for it.
_MICRO = ("\N{MICRO SIGN}", "\N{GREEK SMALL LETTER MU}", "u")


def _units(symbols: dict[str, float], letter: str, word: str) -> dict[str, float]:
    """Units of one kind: symbols as they are, and words, which are looked up in small letters."""
    prefixes = (("", 1.0), ("milli", 1e-3), ("micro", 1e-6), ("nano", 1e-9), ("kilo", 1e3))
    micro = {f"{sign}{letter}": 1e-6 for sign in _MICRO}
    return (
        symbols
        | micro
        | {f"{prefix}{word}{plural}": size for plural in ("", "s") for prefix, size in prefixes}
    )


# "sec" and its kin as some recorders print them.
_SECONDS = {
    "s": 1.0,
    "ms": 1e-3,
    "ns": 1e-9,
    "ps": 1e-12,
    "sec": 1.0,
    "msec": 1e-3,
    "usec": 1e-6,
    "nsec": 1e-9,
}
TIME_UNITS = _units(_SECONDS, "s", "second")
FORCE_UNITS = _units({"N": 1.0, "mN": 1e-3, "kN": 1e3, "MN": 1e6, "daN": 10.0}, "N", "newton")
READING_UNITS = _units({"V": 1.0, "mV": 1e-3, "kV": 1e3}, "V", "volt")
KINDS = (TIME_UNITS, FORCE_UNITS, READING_UNITS)
ALL_UNITS = TIME_UNITS | FORCE_UNITS | READING_UNITS

# An exact number and a unit: "10 N", "1e-3 s", "10^3 N".
_MULTIPLE = re.compile(
    r"(?P<number>[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]{1,2})?)(?:(?:\^|\*\*)(?P<power>[+-]?[0-9]{1,2}))?"
    r"\s*[*·]?\s*(?P<unit>\D+)"
)

_BEAD_WORD = r"(?<![^\W_])(?:bead|ball|sphere|particle)"
# Not 9 for "bead -9", 1 for "bead 1.5" or "bead 1e3", 9 for "beads 9-16" or "bead 9 16".
_BEAD = re.compile(
    _BEAD_WORD
    + r"(?:[ _#]*|-)(?P<number>[0-9]{1,6})(?![^\W_]|[.,]?[0-9]|\s*[-/&+,\u2013]?\s*[0-9])",
    re.IGNORECASE,
)
_BEAD_AND_NUMBER = re.compile(_BEAD_WORD + r"s?[^A-Za-z0-9]{0,4}[0-9]", re.IGNORECASE)

_CHANNEL = re.compile(r"(?:sensor|channel|probe|ch)[ _#]*[0-9]", re.IGNORECASE)

_FACTOR_NUMBER = (
    r"[0-9]+(?:[.,][0-9]+)?(?:[eE][+-]?[0-9]+|\s*(?:\^|\*\*)\s*[-+\u2212]?[0-9]+|[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?"
)
_POWER = (
    r"(?:10\s*(?:\^|\*\*)\s*[-+\u2212]?[0-9]+"
    r"|10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+"
    r"|(?<![\w.])[0-9]+(?:\.[0-9]+)?[eE][-+]?[0-9]+(?!\w))"
)
_FACTOR = re.compile(
    rf"(?<![A-Za-z])[xX*·\u00d7]\s*(?P<times>{_FACTOR_NUMBER})"
    rf"|(?<![\w.])(?P<before>{_FACTOR_NUMBER})\s*[xX*·\u00d7](?!\w)"
    rf"|(?P<over>[/÷]\s*(?:10+|{_POWER}))(?![\w.])|(?P<power>{_POWER})"
    rf"|\b(?:gain|factor|scale|multiplier|attenuation)\s*[=:]?\s*(?P<named>{_FACTOR_NUMBER})",
    re.IGNORECASE,
)

_SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹\N{MINUS SIGN}", "-0123456789-")


def size_of(unit: str | None, units: Mapping[str, float]) -> float | None:
    """What a unit is in SI, where it is one of `units`, written out, or a number of one of them
    ("10 N"); None where it is none."""
    if unit is None:
        return None
    name = unit.strip()
    if name in units:
        return units[name]
    if len(name) > 2 and name.lower() in units:
        return units[name.lower()]
    several = _MULTIPLE.fullmatch(name)
    if several and not several["unit"][0].isspace():
        one = size_of(several["unit"], units)
        size = float(several["number"]) ** int(several["power"] or 1)
        return one * size if one is not None and 0.0 < size < 1e30 else None
    return None


def same(one: str, other: str) -> bool:
    """Whether two texts name the same unit."""
    return one == other or [size_of(one, units) for units in KINDS] == [
        size_of(other, units) for units in KINDS
    ] != [None] * len(KINDS)


def symbols(units: Mapping[str, float]) -> str:
    """The symbols among units, for a sentence."""
    return ", ".join(
        unit
        for unit in units
        if len(unit) < 4
        and unit != "sec"
        and not unit.startswith(("u", "\N{GREEK SMALL LETTER MU}"))
    )


def known(unit: str) -> bool:
    """Whether a text is a unit of time, force or reading, without a number."""
    return not any(sign.isdigit() for sign in unit) and size_of(unit, ALL_UNITS) is not None


def unit_in(text: str) -> str | None:
    """The unit that a heading is or ends with, in brackets, after a slash, a comma, an underscore
    or "in"; None where there is none.

    What is in brackets is taken for a unit even where it is none that is known here, so that it is
    asked about, not passed over.
    """
    bare = text.strip().strip("()[]{} ")
    if known(bare):
        return bare
    brackets = re.findall(r"[\[({]([^\])}]*)[\])}]", text)
    inside = [
        part.strip()
        for part in brackets
        if not (_BEAD_AND_NUMBER.search(part) or _CHANNEL.match(part.strip()))
    ]
    found = list(dict.fromkeys(part for part in inside if known(part)))
    if len(found) == 1:
        return found[0]
    if inside:
        return " and ".join(found) or inside[-1]
    match = re.search(r"(?:/\s*|,\s*|_|(?:^|\s)in\s+)([^\s/,_]+)$", text.strip())
    return match[1] if match and known(match[1]) else None


def factor_in(text: str) -> str:
    """A number in a heading by which its numbers may be multiplied, as written there; empty
    where there is none but 1."""
    for match in _FACTOR.finditer(_BEAD.sub(" ", text)):
        if (match["times"] or match["before"] or match["named"]) not in ("1", "1.0"):
            return match[0].strip()
    # A number in front of a unit, where no bracket holds anything else: "(10 N)", "/ 10 N".
    several = re.search(
        r"(?:[\[({/,]|\bin\s)\s*(?P<number>[0-9][0-9.,]*)\s*(?P<unit>[^\W\d]+)\s*(?:[\])}]|$)",
        _BEAD.sub(" ", text),
    )
    return (
        several["number"]
        if several and known(several["unit"]) and several["number"] not in ("1", "1.0")
        else ""
    )


def power_of(factor: str) -> str:
    """A factor of a heading as a number that `size_of` reads in front of a unit."""
    raised = re.sub("[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda found: f"^{found[0]}", factor).translate(_SUPERSCRIPTS)
    digits = re.findall(r"[0-9]+(?:[.,][0-9]+)?(?:[eE][-+]?[0-9]+)?|[-+][0-9]+", raised)
    return "^".join(digits[:2]).replace(",", ".") or "10"


def bead_of(text: str) -> int | None:
    """The bead that a heading names; None where it names none, or could mean another.

    The number of a sensor or a channel is not that of a bead.
    """
    beads = [match["number"] for match in _BEAD.finditer(text)]
    return (
        int(beads[0])
        if len(set(beads)) == 1 and len(beads) == len(_BEAD_AND_NUMBER.findall(text))
        else None
    )
