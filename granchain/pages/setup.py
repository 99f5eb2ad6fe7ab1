"""What was set up, for a reader: beads, radius, material, speed, with the words and units that the
keys of a case are declared with."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from typing import Any

from granchain.case import Case
from granchain.case.listing import value_words
from granchain.case.mechanism import MECHANISM_KINDS
from granchain.case.tables import MaterialTable, SegmentTable
from granchain.figures.frame import reading_unit
from granchain.figures.studies import key_words
from granchain.keys import declared, table_in
from granchain.pages.blocks import Grid, number_text

# Tables and keys that say what is recorded, and how: the case file says it.
_RECORDING = ("title", "snapshots", "energy", "record", "tolerance", "fitted", "mechanism")
_KEYS_OF_RECORDING = ("sensors.interval", "sensors.contacts", "time.step", "chain.disorder_seed")
# Values of a list that are written out, and segments that have a row each.
MOST_VALUES, MOST_SEGMENTS = 12, 6


def words_of(value: Any, unit: str | None = None, table: type[Any] | None = None) -> str:
    """What is given, with its unit as it is read: of a table its keys, of a long list its ends."""
    if isinstance(value, list):
        if len(value) > MOST_VALUES:
            ends = (words_of(value[i], unit) for i in (0, -1))
            return f"{len(value)} values, {' to '.join(ends)}"
        return ", ".join(words_of(one, unit, table) for one in value)
    if isinstance(value, Mapping):
        # a drive is of a displacement or of a force
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
    """A row for each thing that a case sets up, as it was run.

    Parameters
    ----------
    case : mapping
        As `Case.resolved` gives it; of an edited file that may be anything.
    varied : container of str
        Keys that a study varies.
    """
    kind = case.get("mechanism")
    model = MECHANISM_KINDS.get(kind, Case) if isinstance(kind, str) else Case
    rows: list[tuple[str, str, str]] = []
    last, told = "", set()
    for where, what, value in setup_rows(model, case):
        table = where.partition(".")[0]
        # the constants of a material stand where it comes first
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
    """Key, meaning and value of what is given and is not nothing."""
    for name, field in model.model_fields.items():
        value, where = table.get(name), f"{above}{name}"
        if where in (*_RECORDING, *_KEYS_OF_RECORDING) or not value or value is True:
            continue
        about = declared(model, name)
        # without the unit, which stands with the value
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
