"""Units as a file has them: those that UDUNITS reads, which CF conventions ask for, and what stands in the place of others.

UDUNITS has no power that is not a whole number: it takes "N/m^1.5" for N/m times 5, and knows no "N/m^n". Such a variable is a number in
SI, and its file says so: `units` is "1", and `unit_in_words` the unit that the number is in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

IN_WORDS = "unit_in_words"
# Symbols of the SI, its prefixes, and what is used beside it: BIPM, SI Brochure, 9th edition 2019, tables 2, 4, 7 and 8,
# doi:10.59161/AUEZ1291. They are in the UDUNITS-2 database (docs.unidata.ucar.edu/udunits), under the same symbols.
SYMBOLS = frozenset(
    (
        *("m", "g", "s", "A", "K", "mol", "cd", "rad", "sr", "Hz", "N", "Pa", "J", "W", "C", "V", "F", "S", "Wb", "T", "H", "lm", "lx"),
        *("Bq", "Gy", "Sv", "kat", "min", "h", "d", "L"),
    )
)
PREFIXES = ("", "da", *"YZEPTGMkhdcmunpfazy")
_FACTOR = re.compile(r"(?P<symbol>[A-Za-z]+)(?:\^?(?P<power>-?[0-9]+))?")
# Between two factors: a space, a point, a star, a stroke. A point before a digit would be a product, not a power that is no whole number.
_BETWEEN = re.compile(r" ?[*/] ?|[ .](?=[A-Za-z])")


def readable(unit: str) -> bool:
    """Whether UDUNITS reads a unit as it is meant: a product of symbols with whole powers, such as "kg/m3", "N s/m", "m^2"."""
    place, between = 0, True
    while place < len(unit):
        found = _FACTOR.match(unit, place)
        if unit.startswith("1", place) and (place == 0):
            place += 1
        elif found is not None and is_symbol(found["symbol"]):
            place = found.end()
        else:
            return False
        between = False
        sign = _BETWEEN.match(unit, place)
        if place < len(unit):
            if sign is None:
                return False
            place, between = sign.end(), True
    return bool(unit) and not between


def is_symbol(word: str) -> bool:
    """Whether a word is the symbol of a unit, with a prefix or without."""
    return any(word.startswith(prefix) and word[len(prefix) :] in SYMBOLS for prefix in PREFIXES)


def written(unit: str) -> dict[str, str]:
    """The attributes of a file that say a unit."""
    if not unit:
        return {}
    return {"units": unit} if readable(unit) else {"units": "1", IN_WORDS: unit}


def unit_in(attributes: Mapping[str, object], text: Callable[[str], str] | None = None) -> str:
    """The unit that some attributes say, empty where they say none; `text` reads an attribute."""
    name = next((name for name in (IN_WORDS, "units") if name in attributes), "")
    return "" if not name else text(name) if text is not None else str(attributes[name])
