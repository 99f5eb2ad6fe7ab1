"""The keys of a case file as they are listed: meaning, what is allowed, and default, from the
checks that read a case."""

from __future__ import annotations

import json
from collections.abc import Iterator

from granchain.case import tables
from granchain.keys import Table, declared

# Tables that stand inside others: what they are called there.
INNER: tuple[tuple[str, type[Table]], ...] = (
    ("[[chain.segment]]", tables.SegmentTable),
    ("[[contact.pair]]", tables.PairTable),
    ("A material: { youngs_modulus = ..., ... }", tables.MaterialTable),
    ("A driven end: { drive = ..., ... }", tables.DRIVE_TABLE),
)


def key_tables() -> Iterator[tuple[str, type[Table]]]:
    """What each table of a case file is called, and the table; first the keys above all tables."""
    yield "Above the tables", tables.HeadingTable
    for name, model in tables.TABLES.items():
        yield f"[{name}]", model
    yield from INNER


def key_rows(model: type[Table]) -> list[tuple[str, str, str, str]]:
    """Key, meaning, what is allowed and default of every key of a table."""
    rows = []
    for name, field in model.model_fields.items():
        about, default = declared(model, name), "required"
        if not field.is_required():
            default = (
                "none"
                if field.default is None or field.default == ()
                else json.dumps(field.default)
            )
        rows.append((name, str(about["meaning"]), str(about["allowed"]), default))
    return rows
