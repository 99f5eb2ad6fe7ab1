"""What a notebook shows of a case: its keys, with their values and units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from granchain.case.tables import DRIVE_TABLE, TABLES, MaterialTable, SegmentTable
from granchain.case.title import value_words
from granchain.contact import laws
from granchain.keys import declared
from granchain.markup import NUMBER_PATTERN, card, table

if TYPE_CHECKING:
    from granchain.case.case import Case

# Entries of a list that are written out.
MOST_ENTRIES = 12


def card_of(case: Case) -> str:
    """Every key that has a value, as the run has it: defaults filled, materials expanded."""
    models: tuple[type[BaseModel], ...] = (
        *TABLES.values(),
        SegmentTable,
        MaterialTable,
        DRIVE_TABLE,
    )
    units = {name: declared(model, name)["unit"] for model in models for name in model.model_fields}
    law = laws().get(case.contact.law)
    units |= {quantity.name: quantity.unit for quantity in law.inputs} if law is not None else {}
    document = {name: part for name, part in case.resolved().items() if name in TABLES}
    rows = []
    for where, shown in flat_words(document):
        # words, such as "auto" for a time step, have no unit
        unit = units.get(where.rpartition(".")[2]) if NUMBER_PATTERN.fullmatch(shown) else None
        rows.append((where, shown, unit or ""))
    return card(case.title or "untitled case", table(("key", "value", "unit"), rows, styled=True))


def flat_words(tables: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Keys with dots and their values in words; long lists are counted."""
    for name, value in tables.items():
        where = f"{above}{name}"
        if isinstance(value, Mapping):
            yield from flat_words(value, f"{where}.")
        elif isinstance(value, list) and any(isinstance(entry, Mapping) for entry in value):
            for i, entry in enumerate(value[:MOST_ENTRIES]):
                yield from flat_words(entry, f"{where}.{i}.")
            if len(value) > MOST_ENTRIES:
                yield where, f"{len(value)} entries"
        elif isinstance(value, list) and len(value) > MOST_ENTRIES:
            yield where, f"{len(value)} values, {value_words(value[0])} to {value_words(value[-1])}"
        elif value is not None and value != "":
            yield where, value_words(value)
