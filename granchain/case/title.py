"""The title of a case, with values of the case and with later changes.

A title may contain keys in braces, `{striker.speed}`; each is replaced by its value. If a case
differs from the document that its title was written for, the difference is appended, so that a
figure or file never has a title with values of another case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping
from typing import Any

from granchain.case.document import entry_at
from granchain.keys import TITLE_LENGTH, shown
from granchain.material import MATERIALS, Material

_NAMED_KEY = re.compile(r"\{([a-z_]+(?:\.[a-z0-9_]+)+)\}")
# Maximum lengths of a value and of all changes in a title (our choice).
_VALUE_LENGTH, _CHANGES_LENGTH = 40, 200


def title_of(
    title: str,
    tables: Mapping[str, Any],
    written_for: Mapping[str, Any],
    document: Mapping[str, Any],
) -> str:
    """Return the title of a case.

    Parameters
    ----------
    title : str
        Title as the author wrote it; an empty title is returned unchanged.
    tables : mapping
        Validated tables of the case, with the values of the keys in braces.
    written_for, document : mapping
        Tables as given, when the title was written and now.
    """
    if not title:
        return title
    changes = dict(differences(written_for, document))
    for where in _NAMED_KEY.findall(title):
        changes.pop(where, None)
    filled = _NAMED_KEY.sub(lambda found: _named_value(found, tables), title)
    # If the stored title already contains changes, a new value of a key replaces the earlier one.
    words = [
        "from the state of a run"
        if where == "initial.state"
        else f"no {where}"
        if value is None
        else f"{where} = {value_words(value)}"
        for where, value in changes.items()
    ]
    return _with_changes(without_changes(filled, changes), words)


def without_changes(title: str, keys: Container[str]) -> str:
    """Return a title without the appended changes of some keys."""
    return "; ".join(
        part
        for part in title.split("; ")
        if part.partition(" = ")[0].removeprefix("no ") not in keys
    )


def differences(before: Any, after: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the keys in which two documents differ, with their second values.

    The value is None if the second document lacks the key. Inputs that a new contact law does
    not know, and recorded contacts that a shorter chain no longer has, are ignored.
    """
    names = dict.fromkeys([*before, *after])
    for name in (name for name in names if before.get(name) is not after.get(name)):
        place = f"{where}.{name}".lstrip(".")
        old, new = before.get(name), after.get(name)
        if isinstance(old, str) and isinstance(new, Mapping) and old in MATERIALS:
            old = MATERIALS[old].constants()
        both = isinstance(old, list) and isinstance(new, list)
        if both and len(old) == len(new) and all(isinstance(part, Mapping) for part in old + new):
            old, new = ({str(i): part for i, part in enumerate(parts)} for parts in (old, new))
        # Tolerances do not affect the results of a run.
        if (
            place in ("title", "tolerance")
            or old == new
            or (new is None and where == "contact" and before.get("law") != after.get("law"))
            or (place == "sensors.contacts" and both and set(new) < set(old))
        ):
            continue
        if isinstance(new, Mapping):
            yield from differences(old if isinstance(old, Mapping) else {}, new, place)
        else:
            yield place, new


def value_words(value: Any) -> str:
    """Return a value as text for a title: short, on one line, and without braces."""
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, Material):
        given = "own material" if value.name is None or value.name in MATERIALS else value.name
        words = next((name for name, known in MATERIALS.items() if known == value), given)
    elif isinstance(value, (list, tuple, Mapping)):
        words = json.dumps(value, default=str)
    else:
        words = shown(str(value))[1:-1] if isinstance(value, str) else shown(value)
    words = words if len(words) <= _VALUE_LENGTH else words[: _VALUE_LENGTH - 3] + "..."
    return words.replace("{", "(").replace("}", ")").replace("; ", ", ")


def _named_value(found: re.Match[str], tables: Mapping[str, Any]) -> str:
    """Return the value of a key in a title; an unknown key remains as it was written."""
    if found[1] == "chain.beads":
        # Works also for a chain with segments.
        return str(tables["chain"].total())
    value, part, names = entry_at(tables, found[1])
    if value is None:
        return f"no {found[1]}" if part in names else found[0]
    return value_words(value)


def _with_changes(title: str, changes: list[str]) -> str:
    """Append changes to a title as far as they fit, and the number of the others."""
    appended, left = "", len(changes)
    while left and len(appended) + len(changes[-left]) <= _CHANGES_LENGTH:
        appended += f"; {changes[-left]}"
        left -= 1
    if left:
        appended += f"; and {left} more changes" if appended else f"; {left} changes"
    room = TITLE_LENGTH - len(appended)
    return (title if len(title) <= room else title[: room - 3] + "...") + appended
