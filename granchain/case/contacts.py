"""Contact laws of their own, of segments and walls: read, and checked as that of [contact]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from granchain.case.base import law_values
from granchain.case.tables import ContactTable
from granchain.keys import Problems


def own_contacts_in(tables: Mapping[str, Any]) -> list[tuple[str, ContactTable]]:
    """The contact laws of segments and walls, by their keys."""
    segments, ends = getattr(tables.get("chain"), "segment", ()), tables.get("ends")
    found = {f"chain.segment.{i}.contact": one.contact for i, one in enumerate(segments)}
    found |= {
        f"ends.{side}_contact": getattr(ends, f"{side}_contact", None) for side in ("left", "right")
    }
    return [(where, contact) for where, contact in found.items() if contact is not None]


def read_own_contacts(tables: dict[str, Any], problems: Problems) -> None:
    """Put every input of these laws into the tables, in SI, defaults filled; a wall that is not
    there has none."""
    for where, given in own_contacts_in(tables):
        if not problems.clear(where):
            continue
        values = law_values(where, {"law": given.law, **given.inputs()}, problems)
        contact = ContactTable(**values)
        table, _, place = where.partition(".")
        if table == "chain":
            segments = list(tables["chain"].segment)
            i = int(place.split(".")[1])
            segments[i] = segments[i].model_copy(update={"contact": contact})
            tables["chain"] = tables["chain"].model_copy(update={"segment": tuple(segments)})
            problems.check(
                segments[i].count > 1,
                where,
                "a law between the beads of a segment of one",
                "a segment of two beads and more",
                "take it out: between two segments the law is that of [contact]",
            )
            continue
        side = place.removesuffix("_contact")
        tables["ends"] = tables["ends"].model_copy(update={place: contact})
        problems.check(
            tables["ends"].has_wall(side),
            where,
            "a law at an end without a wall",
            "one of a wall",
            f'set {side} = "wall", or take it out',
        )
