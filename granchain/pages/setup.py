"""Table of a case, with the meanings and units that the keys declare."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from typing import Any

from granchain.case import Case
from granchain.case.listing import value_words
from granchain.case.tables import MaterialTable, SegmentTable
from granchain.figures.frame import reading_unit
from granchain.figures.studies import key_words
from granchain.keys import declared, table_in
from granchain.mechanisms.case import MECHANISM_KINDS
from granchain.pages.blocks import Grid, number_text

# Tables and keys about recording, which the case file contains.
_RECORDING = ("title", "snapshots", "energy", "record", "tolerance", "fitted", "mechanism")
_KEYS_OF_RECORDING = ("sensors.interval", "sensors.contacts", "time.step", "chain.disorder_seed")
# Largest number of listed values, and of segments with individual rows.
MOST_VALUES, MOST_SEGMENTS = 12, 6


def words_of(value: Any, unit: str | None = None, table: type[Any] | None = None) -> str:
    """Return a value with its unit as text: a table with its keys, a long list with its ends."""
    if isinstance(value, list):
        if len(value) > MOST_VALUES:
            ends = (words_of(value[i], unit) for i in (0, -1))
            return f"{len(value)} values, {' to '.join(ends)}"
        return ", ".join(words_of(one, unit, table) for one in value)
    if isinstance(value, Mapping):
        # a drive prescribes a displacement or a force
        driven = {"displacement": "m", "force": "N"}.get(str(value.get("drive")))
        about = {} if table is None else {key: declared(table, key) for key in table.model_fields}
        phrases = []
        for key in dict.fromkeys([*about, *value]):
            if not (part := value.get(key)) or key in ("name", "source"):
                continue
            own = driven if key in ("amplitude", "dc", "rms") else about.get(key, {}).get("unit")
            inner = table_in(table.model_fields[key].annotation) if table and key in about else None
            phrases.append(f"{key_words(key)} {words_of(part, own, inner)}")
        name = f"{value['name']}: " if value.get("name") else ""
        return name + ", ".join(phrases)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value_words(value)
    factor, name = reading_unit(abs(value), unit or "1")
    return f"{number_text(float(value), '.6g', factor)} {name}".strip()


def setup_grid(case: Mapping[str, Any], varied: Container[str] = ()) -> Grid:
    """Return a table with a row for each given part of a completed case.

    Parameters
    ----------
    case : mapping
        As from `Case.resolved`. In an edited file it may have any content.
    varied : container of str
        Keys that a study varies.
    """
    kind = case.get("mechanism")
    model = MECHANISM_KINDS.get(kind, Case) if isinstance(kind, str) else Case
    rows: list[tuple[str, str, str]] = []
    last, told = "", set()
    for where, what, value in setup_rows(model, case):
        table = where.partition(".")[0]
        # the constants of a material are listed at its first occurrence
        name, constants, _ = value.partition(": ")
        again = bool(constants) and value in told
        told.add(value)
        text = "varied" if where in varied else name if again else value
        rows.append((table if table != last else "", what, text))
        last = table
    return Grid(("", "quantity", "value"), tuple(rows), "Setup" if rows else "")


def setup_rows(
    model: type[Any], table: Mapping[str, Any], above: str = ""
) -> Iterator[tuple[str, str, str]]:
    """Return key, meaning, and value of each given value that is not empty."""
    for name, field in model.model_fields.items():
        value, where = table.get(name), f"{above}{name}"
        if where in (*_RECORDING, *_KEYS_OF_RECORDING) or not value or value is True:
            continue
        about = declared(model, name)
        # without the unit, which follows the value
        what = re.sub(r" \[[^\[\]]+\]$", "", str(about["meaning"])).removeprefix("the ")
        inner = table_in(field.annotation)
        if inner is SegmentTable:
            for i, one in enumerate(value[:MOST_SEGMENTS], start=1):
                yield where, f"beads, section {i}", words_of(one, table=inner)
            if len(value) > MOST_SEGMENTS:
                yield where, "number of sections", str(len(value))
        elif inner in (None, MaterialTable) or not isinstance(value, Mapping) or "drive" in value:
            yield where, what, words_of(value, about["unit"], inner)
        else:
            yield from setup_rows(inner, value, f"{where}.")
