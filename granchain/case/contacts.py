"""Contacts that differ from [contact]: individual laws of segments and walls, and law inputs for
pairs of materials. They are read here, and checked against the law and the chain."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np

from granchain.case.base import add_slips, law_values
from granchain.case.tables import ChainContactTable, ContactTable, PairTable
from granchain.chain import RIGID
from granchain.contact import laws
from granchain.contact.inputs import filled
from granchain.contact.law import ContactLaw
from granchain.errors import LawError
from granchain.keys import Problems, in_si, shown


def own_contacts_in(tables: Mapping[str, Any]) -> list[tuple[str, ContactTable]]:
    """Return the contact laws of segments and walls, by key."""
    segments, ends = getattr(tables.get("chain"), "segment", ()), tables.get("ends")
    found = {f"chain.segment.{i}.contact": one.contact for i, one in enumerate(segments)}
    found |= {
        f"ends.{side}_contact": getattr(ends, f"{side}_contact", None) for side in ("left", "right")
    }
    return [(where, contact) for where, contact in found.items() if contact is not None]


def read_own_contacts(tables: dict[str, Any], problems: Problems) -> None:
    """Complete the inputs of these laws in the tables, in SI units, and check their positions.

    A segment needs two or more beads, and an end needs a wall.
    """
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
                "the segment has only one bead",
                "A law applies between the beads of a segment of two or more beads. Between two "
                "segments, the law under [contact] applies",
                "Remove the law",
            )
            continue
        end = place.removesuffix("_contact")
        tables["ends"] = tables["ends"].model_copy(update={place: contact})
        problems.check(
            tables["ends"].has_wall(end),
            where,
            "this end has no wall",
            "A contact law at an end requires a wall",
            f'Set {end} = "wall", or remove the law',
        )


def read_pairs(
    tables: Any, law: type[ContactLaw] | None, problems: Problems
) -> tuple[PairTable, ...] | None:
    """Read the tables [[contact.pair]] for this law, in SI units; None if there are none.

    Tables without valid materials have been reported before.
    """
    found = []
    for i, entry in enumerate(tables if isinstance(tables, (list, tuple)) else ()):
        where, is_table = f"contact.pair.{i}", isinstance(entry, Mapping)
        # An unreadable pair is included, so that the others keep their indices.
        materials = entry["materials"] if problems.clear(f"{where}.materials") else ("", "")
        values = own_inputs(where, entry, law, problems) if is_table and law is not None else {}
        found.append(PairTable(materials=materials, **values))
    return tuple(found) or None


def own_inputs(
    where: str, table: Mapping[str, Any], law: type[ContactLaw], problems: Problems
) -> dict[str, Any]:
    """Return the inputs of a law that a pair gives, in SI units."""
    own = {name: value for name, value in table.items() if name not in ("materials", "law")}
    problems.check(
        "law" not in table,
        f"{where}.law",
        f"{shown(table.get('law'))} is not allowed here",
        "All pairs use the law under [contact]",
        "Set the law under [contact], and its inputs here",
    )
    values, slips = filled(law, own, in_si)
    # The pair takes all other inputs from [contact].
    named = [slip for slip in slips if slip.place.partition(".")[0] in own]
    add_slips(where, named, ["materials"], problems)
    if not own:
        names = ", ".join(quantity.name for quantity in law.inputs)
        problems.add(
            where,
            "the pair has no inputs",
            f"It must have one or more of {names}"
            if names
            else f"The law {law.name} has no inputs",
            "Remove the pair" if not names else "",
        )
    return {name: value for name, value in values.items() if name in own}


def check_pairs(contact: ChainContactTable, tables: Mapping[str, Any], problems: Problems) -> None:
    """Check the pairs of materials.

    The materials must touch in the chain, each pair may occur once, and the form of the law must
    be the same as under [contact].
    """
    touching = pairs_along(tables)
    names = dict.fromkeys(sorted({name for both in touching for name in both}))
    named = f"are {', '.join(f'{shown(name)}' for name in names)}" if names else "have no names"
    pairs = "; ".join(sorted(map(pair_words, touching)))
    shared = [f"contact.{quantity.name}" for quantity in laws()[contact.law].inputs]
    met: dict[frozenset[str], int] = {}
    for i, pair in enumerate(contact.pair or ()):
        where, both = f"contact.pair.{i}", frozenset(pair.materials)
        if not problems.clear(where):
            continue
        unknown = [name for name in dict.fromkeys(pair.materials) if name not in names]
        place = f"{where}.materials"
        for name in unknown:
            problems.add(
                place,
                f"unknown material {shown(name)}",
                f"The materials of this chain {named}",
                'To name a table of constants, add name = "..."',
                name,
                names,
            )
        problems.check(
            bool(unknown) or both in touching,
            place,
            f"{pair_words(both)} do not touch in this chain",
            f"The pairs that touch are {pairs}" if pairs else "No pair with names touches",
            "Remove the pair",
        )
        first = met.setdefault(both, i)
        problems.check(
            first == i,
            place,
            f"{pair_words(both)} repeat contact.pair.{first}",
            "Each pair may occur once",
            "Put all its inputs in one table",
        )
        if problems.clear(*shared):
            check_form(where, contact, pair, problems)


def check_form(where: str, contact: ChainContactTable, pair: PairTable, problems: Problems) -> None:
    """Check that the inputs of a pair do not change the form of the law.

    The form includes the energy correction, residual indentation, and the kind of impact speed.
    """
    law, shared = laws()[contact.law], contact.inputs()
    with contextlib.suppress(LawError):
        form = law.model(formed(shared))
        for name, value in pair.inputs().items():
            if law.model(formed({**shared, name: value})) != form:
                common = "a number" if isinstance(shared[name], float) else shown(shared[name])
                problems.add(
                    f"{where}.{name}",
                    f"{shown(value)} changes the form of the law",
                    f"It must be {common}, as under [contact], because all contacts have the same "
                    "form of the law",
                    f"Set {name} only under [contact], or give the same value in both",
                )


def needs_speed(contact: ContactTable) -> bool:
    """Check if the law needs an impact speed, which is so if its force depends on the rate."""
    return laws()[contact.law].model(formed(contact.inputs())).uses_rate


def formed(inputs: Mapping[str, Any]) -> SimpleNamespace:
    """Return the inputs of a law as it needs them to choose its form.

    A restitution that is taken from another law is a table of numbers at many speeds.
    """
    values = dict(inputs)
    if isinstance(values.get("restitution"), Mapping):
        values["restitution"] = np.ones((1, 1))
    return SimpleNamespace(**values)


def pair_words(both: frozenset[str]) -> str:
    """Return the names of two materials for a message."""
    one, other = sorted(both)[0], sorted(both)[-1]
    return f"{shown(one)} and {shown(other)}"


def pairs_along(tables: Mapping[str, Any]) -> set[frozenset[str]]:
    """Return the names of both materials of each kind of contact, if both have a name."""
    chain, ends, striker = tables["chain"], tables["ends"], tables.get("striker")
    # Two equal beads, or two equal groups, represent any number of them.
    row = [
        segment.material
        for repeat, group in chain.groups()
        for segment in group * min(repeat, 2)
        for _ in range(min(segment.count, 2))
    ]
    if striker is not None:
        row.insert(0, striker.material)
    left, right = (
        [RIGID if getattr(ends, side) == "rigid" else ends.material_of_wall(side) or bead]
        if ends.has_wall(side)
        else []
        for side, bead in (("left", row[0]), ("right", row[-1]))
    )
    return {
        frozenset((one.name, other.name))
        for one, other in pairwise([*left, *row, *right])
        if one and other and one.name and other.name
    }
