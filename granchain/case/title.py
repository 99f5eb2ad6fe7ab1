"""The title of a case: the author's words, with values of the case where they name a key, and what
was changed since they were written.

A title may name keys in braces, `{striker.speed}`; each is replaced by its value. Where a case
differs from the document that its title was written for, the difference is appended, so that no
figure or file is headed by numbers that are not its own.
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
# Ours: a value longer than this, or changes longer than that, are no longer a heading.
_VALUE_LENGTH, _CHANGES_LENGTH = 40, 200


def title_of(
    title: str,
    tables: Mapping[str, Any],
    written_for: Mapping[str, Any],
    document: Mapping[str, Any],
) -> str:
    """The title of a case.

    Parameters
    ----------
    title : str
        As the author wrote it; an empty one stays empty.
    tables : mapping
        The case's tables, validated: values of the keys in braces.
    written_for, document : mapping
        The tables as given, when the title was written and now.
    """
    if not title:
        return title
    changes = dict(differences(written_for, document))
    for where in _NAMED_KEY.findall(title):
        changes.pop(where, None)
    filled = _NAMED_KEY.sub(lambda found: _named_value(found, tables), title)
    # a title that was itself stored with changes: the later value of a key replaces the earlier one
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
    """A title without the changes of some keys that are appended to it."""
    return "; ".join(
        part
        for part in title.split("; ")
        if part.partition(" = ")[0].removeprefix("no ") not in keys
    )


def differences(before: Any, after: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """Keys that two documents hold different values of, each with the second's, None where it has
    none.

    Inputs that a new contact law does not know go with the old one, and are not named; nor are
    recorded contacts that a shorter chain has no more.
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
        # how sure the numbers are changes nothing that is computed
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
    """A value as a title shows it: short, on one line, without braces."""
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
    """The value of a key that a title names; what is no key stays as it was written."""
    if found[1] == "chain.beads":
        # also where the chain is given in segments
        return str(tables["chain"].total())
    value, part, names = entry_at(tables, found[1])
    if value is None:
        return f"no {found[1]}" if part in names else found[0]
    return value_words(value)


def _with_changes(title: str, changes: list[str]) -> str:
    """A title with changes appended: as many as a heading holds, and how many more."""
    appended, left = "", len(changes)
    while left and len(appended) + len(changes[-left]) <= _CHANGES_LENGTH:
        appended += f"; {changes[-left]}"
        left -= 1
    if left:
        appended += f"; and {left} more changes" if appended else f"; {left} changes"
    room = TITLE_LENGTH - len(appended)
    return (title if len(title) <= room else title[: room - 3] + "...") + appended
