"""Keys with dots, such as chain.segment.0.mass: look up, set, list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from granchain.errors import CaseError
from granchain.keys import PROBLEMS, shown
from granchain.material import MATERIALS, Material


def entry_at(tables: Mapping[str, Any], key: str) -> tuple[Any, str, list[str]]:
    """Value at a key, the last of its parts that was looked for, and the names beside that.

    The value is None if there is nothing at the key, or a table on the way is None.
    """
    value: Any = tables
    part, names = "", [""]
    for part in key.split("."):
        if isinstance(value, (list, tuple)):
            inside = (
                part.isdecimal()
                and len(part) < 10
                and str(int(part)) == part
                and int(part) < len(value)
            )
            names = [part] if inside else [str(i) for i in range(min(len(value), PROBLEMS))]
            value = value[int(part)] if inside else None
        else:
            is_table = isinstance(value, (Mapping, BaseModel))
            inner = vars(value) if isinstance(value, Material) else dict(value) if is_table else {}
            names, value = [str(name) for name in inner], inner.get(part)
        if value is None:
            break
    return value, part, names


def set_value(document: dict[str, Any], where: str, value: Any) -> None:
    """Put a value at a dotted key, making tables on the way; None takes the key out. A named
    material is expanded first."""
    *way, last = [part.strip() for part in where.split(".")]
    at: Any = document
    reached: list[str] = []
    for part in way:
        step: Any = (
            int(part) if isinstance(at, list) and part.isdecimal() and int(part) < len(at) else part
        )
        inner = (
            at.setdefault(step, {})
            if isinstance(at, dict)
            else at[step]
            if isinstance(step, int)
            else None
        )
        if isinstance(inner, str) and part.endswith("material") and inner in MATERIALS:
            inner = at[step] = MATERIALS[inner].constants()
        if inner is None:
            break
        at = inner
        reached.append(part)
    on_way = len(reached) == len(way)
    if on_way and isinstance(at, dict) and last and all(way):
        at.pop(last, None)
        if value is not None:
            at[last] = value
    elif on_way and isinstance(at, list) and last.isdecimal() and int(last) < len(at):
        at[int(last) : int(last) + 1] = [] if value is None else [value]
    else:
        allowed = "names of tables and a key joined by dots; write for example contact.psi"
        if isinstance(at, list) and at:
            name = ".".join(reached)
            allowed = (
                f"{name}.0"
                + (f" to {name}.{len(at) - 1}" if len(at) > 1 else "")
                + f"; {name} has {len(at)}, counted from 0"
            )
        raise CaseError(f"{shown(where)}: got a key that leads nowhere, allowed {allowed}")


def flattened(given: Mapping[Any, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Keys with dots, also where TOML makes tables in tables of them."""
    for name, value in given.items():
        key = f"{above}{name}"
        if isinstance(value, Mapping) and value and "uniform" not in value:
            yield from flattened(value, f"{key}.")
        else:
            yield key, value
