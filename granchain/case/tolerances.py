"""Tolerances: how sure the numbers of a case are, each a part of its value, as a case, a trace's about.toml or a caller states them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from granchain.keys import PROBLEMS, Problems, shown, suggestion
from granchain.material import Material

# Tables that say what the chain is; the others say how it is computed and recorded.
PHYSICAL = ("chain", "striker", "ends", "contact")
FORM = "a number above 0, one standard deviation as a part of the value, or { uniform = a number above 0 } for the half of a width"

Tolerance = float | dict[str, float]


def tolerances_of(given: Any, where: str, problems: Problems) -> dict[str, Tolerance]:
    """What each key's tolerance is, keys with dots; what is none is reported.

    Parameters
    ----------
    given : mapping
        Keys with dots, or as TOML makes tables in tables of them.
    where : str
        What it is called in sentences, "tolerance".
    problems : Problems
        Takes every mistake.
    """
    found: dict[str, Tolerance] = {}
    if not isinstance(given, (Mapping, BaseModel)):
        problems.add(where, shown(given), "keys of the case, each with its tolerance", 'write for example "striker.speed" = 0.02')
        return found
    for key, value in flattened(dict(given)):
        size = value["uniform"] if isinstance(value, Mapping) and list(value) == ["uniform"] else value
        if isinstance(size, bool) or not isinstance(size, (int, float)) or not 0.0 < size < math.inf:
            problems.add(f"{where}.{key}", shown(size), FORM, "write for example 0.02 for 2 %")
        else:
            found[key] = {"uniform": float(size)} if isinstance(value, Mapping) else float(size)
    return found


def flattened(given: Mapping[Any, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Keys with dots, also where TOML makes tables in tables of them."""
    for name, value in given.items():
        key = f"{above}{name}"
        if isinstance(value, Mapping) and value and "uniform" not in value:
            yield from flattened(value, f"{key}.")
        else:
            yield key, value


def check_tolerances(tables: Mapping[str, Any], tolerances: Mapping[str, Tolerance], where: str, problems: Problems) -> None:
    """Report tolerances of keys that a case does not have, or that hold no number with a width of its own."""
    for key in tolerances:
        place = f"{where}.{key}"
        table = key.partition(".")[0]
        if table not in PHYSICAL:
            advice = suggestion(table, PHYSICAL, "name a key of the chain, the striker, the ends or the contact law")
            problems.add(place, "a key of no such table", f"keys of {', '.join(PHYSICAL)}", advice)
            continue
        value, there = held(tables, key)
        if value is None:
            if problems.clear(key):
                last, otherwise = key.rpartition(".")[2], "set the key in the case, or take the tolerance out"
                advice = otherwise if last in there else suggestion(last, there, otherwise)
                problems.add(place, "a key that the case gives no value", "a key with a number in this case", advice)
        elif not isinstance(value, float):
            got = "a table or a list" if isinstance(value, (Mapping, BaseModel, Material, tuple, list)) else shown(value)
            problems.add(place, f"a tolerance of {got}", "a key that holds a number which may be any in a range", "name another key")
        elif value == 0.0:
            problems.add(place, "a tolerance of 0", "a key with a number other than 0", "a part of 0 is 0: take it out, or sweep the key")


def held(tables: Mapping[str, Any], key: str) -> tuple[Any, list[str]]:
    """What a case holds at a key with dots, None where that is nothing, and the names beside it."""
    value: Any = tables
    names: list[str] = []
    for part in key.split("."):
        if isinstance(value, (list, tuple)):
            inside = part.isdecimal() and len(part) < 10 and str(int(part)) == part and int(part) < len(value)
            names = [] if inside else [str(i) for i in range(min(len(value), PROBLEMS))]
            value = value[int(part)] if inside else None
        else:
            inner = vars(value) if isinstance(value, Material) else dict(value) if isinstance(value, (Mapping, BaseModel)) else {}
            names, value = [str(name) for name in inner], inner.get(part)
    return value, names
