"""Tolerances: uncertainties of the parameters of a case, each as a fraction of its value. They are
given in a case, in the about.toml of a trace, or by the caller."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from granchain.case.document import entry_at, flattened
from granchain.keys import Problems, rejected, shown
from granchain.material import Material

# Tables with physical parameters; the others control computation and recording.
PHYSICAL = ("chain", "striker", "ends", "drive", "contact")
FORM = (
    "It must be a number above 0, one standard deviation as a fraction of the value, or "
    "{ uniform = a number above 0 }, half the width of a uniform range"
)

Tolerance = float | dict[str, float]


def tolerances_of(stated: Any, where: str, problems: Problems) -> dict[str, Tolerance]:
    """Return the tolerance of each dotted key, and report invalid tolerances.

    Parameters
    ----------
    stated : mapping
        Dotted keys, or nested tables as TOML makes them.
    where : str
        Name of the table in messages, such as "tolerance".
    problems : Problems
        Collector of the errors.
    """
    found: dict[str, Tolerance] = {}
    if not isinstance(stated, (Mapping, BaseModel)):
        problems.add(
            where,
            f"{shown(stated)} is not valid",
            "It must be a table of keys of the case with their tolerances",
            'Write for example "striker.speed" = 0.02',
        )
        return found
    for key, value in flattened(dict(stated)):
        uniform = isinstance(value, Mapping) and list(value) == ["uniform"]
        size = value["uniform"] if uniform else value
        number = isinstance(size, (int, float)) and not isinstance(size, bool)
        if number and 0.0 < size < math.inf:
            found[key] = {"uniform": float(size)} if uniform else float(size)
        else:
            fix = "Write for example 0.02 for 2 %"
            problems.add(f"{where}.{key}", rejected(size), FORM, fix)
    return found


def check_tolerances(
    tables: Mapping[str, Any], tolerances: Mapping[str, Tolerance], where: str, problems: Problems
) -> None:
    """Report tolerances of keys that a case does not have, or whose value has no tolerance."""
    for key in tolerances:
        place, table = f"{where}.{key}", key.partition(".")[0]
        if table not in PHYSICAL:
            problems.add(
                place,
                "a key of this table has no tolerance",
                f"The tables with tolerances are {', '.join(PHYSICAL)}",
                "",
                table,
                PHYSICAL,
            )
            continue
        value, word, names = entry_at(tables, key)
        if value is None:
            if problems.clear(key):
                problems.add(
                    place,
                    "the case has no value at this key",
                    "The key must have a number in this case",
                    "Set the key in the case, or remove the tolerance",
                    word,
                    () if word in names else names,
                )
        elif not isinstance(value, float):
            several = isinstance(value, (Mapping, BaseModel, Material, tuple, list))
            problems.add(
                place,
                f"{'a table or a list' if several else shown(value)} has no tolerance",
                "The value of the key must be a real number",
                "Choose another key",
            )
        elif value == 0.0:
            problems.add(
                place,
                "the value of the key is 0",
                "It must not be 0, because the tolerance is a fraction of the value",
                "Remove the tolerance, or sweep the key",
            )
