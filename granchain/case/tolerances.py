"""Tolerances: how sure the numbers of a case are, each a part of its value, as a case, a
trace's about.toml or a caller states them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from granchain.case.document import entry_at, flattened
from granchain.keys import Problems, shown
from granchain.material import Material

# Tables that say what the chain is; the others say how it is computed and recorded.
PHYSICAL = ("chain", "striker", "ends", "drive", "contact")
FORM = (
    "a number above 0, one standard deviation as a part of the value, or { uniform = a number "
    "above 0 } for the half of a width"
)

Tolerance = float | dict[str, float]


def tolerances_of(stated: Any, where: str, problems: Problems) -> dict[str, Tolerance]:
    """What each key's tolerance is, keys with dots; what is none is reported.

    Parameters
    ----------
    stated : mapping
        Keys with dots, or as TOML makes tables in tables of them.
    where : str
        What it is called in sentences, "tolerance".
    problems : Problems
        Takes every mistake.
    """
    found: dict[str, Tolerance] = {}
    if not isinstance(stated, (Mapping, BaseModel)):
        problems.add(
            where,
            shown(stated),
            "keys of the case, each with its tolerance",
            'write for example "striker.speed" = 0.02',
        )
        return found
    for key, value in flattened(dict(stated)):
        uniform = isinstance(value, Mapping) and list(value) == ["uniform"]
        size = value["uniform"] if uniform else value
        number = isinstance(size, (int, float)) and not isinstance(size, bool)
        if number and 0.0 < size < math.inf:
            found[key] = {"uniform": float(size)} if uniform else float(size)
        else:
            problems.add(f"{where}.{key}", shown(size), FORM, "write for example 0.02 for 2 %")
    return found


def check_tolerances(
    tables: Mapping[str, Any], tolerances: Mapping[str, Tolerance], where: str, problems: Problems
) -> None:
    """Report tolerances of keys that a case does not have, or that hold no number with a width
    of its own."""
    for key in tolerances:
        place, table = f"{where}.{key}", key.partition(".")[0]
        if table not in PHYSICAL:
            problems.add(
                place,
                "a key of no such table",
                f"keys of {', '.join(PHYSICAL)}",
                "name a key of the chain, the striker, the ends, the drives or the contact law",
                table,
                PHYSICAL,
            )
            continue
        value, word, names = entry_at(tables, key)
        if value is None:
            if problems.clear(key):
                problems.add(
                    place,
                    "a key that the case gives no value",
                    "a key with a number in this case",
                    "set the key in the case, or take the tolerance out",
                    word,
                    () if word in names else names,
                )
        elif not isinstance(value, float):
            several = isinstance(value, (Mapping, BaseModel, Material, tuple, list))
            problems.add(
                place,
                f"a tolerance of {'a table or a list' if several else shown(value)}",
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
