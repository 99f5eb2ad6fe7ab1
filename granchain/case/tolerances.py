"""Tolerances: how sure the numbers of a case are, each a part of its value, as a case, a
trace's about.toml or a caller states them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from granchain.case.dotted import entry_at, flattened
from granchain.keys import Problems, shown, suggestion
from granchain.material import Material

# Tables that say what the chain is; the others say how it is computed and recorded.
PHYSICAL = ("chain", "striker", "ends", "contact")
FORM = (
    "a number above 0, one standard deviation as a part of the value, or { uniform = a number "
    "above 0 } for the half of a width"
)

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
        problems.add(
            where,
            shown(given),
            "keys of the case, each with its tolerance",
            'write for example "striker.speed" = 0.02',
        )
        return found
    for key, value in flattened(dict(given)):
        size = (
            value["uniform"] if isinstance(value, Mapping) and list(value) == ["uniform"] else value
        )
        if (
            isinstance(size, bool)
            or not isinstance(size, (int, float))
            or not 0.0 < size < math.inf
        ):
            problems.add(f"{where}.{key}", shown(size), FORM, "write for example 0.02 for 2 %")
        else:
            found[key] = {"uniform": float(size)} if isinstance(value, Mapping) else float(size)
    return found


def check_tolerances(
    tables: Mapping[str, Any], tolerances: Mapping[str, Tolerance], where: str, problems: Problems
) -> None:
    """Report tolerances of keys that a case does not have, or that hold no number with a width
    of its own."""
    for key in tolerances:
        place = f"{where}.{key}"
        table = key.partition(".")[0]
        if table not in PHYSICAL:
            advice = suggestion(
                table, PHYSICAL, "name a key of the chain, the striker, the ends or the contact law"
            )
            problems.add(place, "a key of no such table", f"keys of {', '.join(PHYSICAL)}", advice)
            continue
        value, part, names = entry_at(tables, key)
        if value is None:
            if problems.clear(key):
                advice = "set the key in the case, or take the tolerance out"
                advice = advice if part in names else suggestion(part, names, advice)
                problems.add(
                    place,
                    "a key that the case gives no value",
                    "a key with a number in this case",
                    advice,
                )
        elif not isinstance(value, float):
            got = (
                "a table or a list"
                if isinstance(value, (Mapping, BaseModel, Material, tuple, list))
                else shown(value)
            )
            problems.add(
                place,
                f"a tolerance of {got}",
                "a key that holds a number which may be any in a range",
                "name another key",
            )
        elif value == 0.0:
            problems.add(
                place,
                "a tolerance of 0",
                "a key with a number other than 0",
                "a part of 0 is 0: take it out, or sweep the key",
            )
