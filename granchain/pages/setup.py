"""What was set up, for a reader: beads, radius, material, speed, with the words and units that the
keys of a case are declared with."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from typing import Any

from granchain.case import Case
from granchain.case.mechanism import MECHANISM_KINDS
from granchain.case.tables import DriveTable, MaterialTable, SegmentTable
from granchain.case.title import value_words
from granchain.keys import declared, table_in
from granchain.pages.blocks import Grid, number_text

# Tables and keys that say what is recorded, and how: the case file says it.
_RECORDING = ("title", "snapshots", "energy", "record", "tolerance", "fitted", "mechanism")
_KEYS_OF_RECORDING = ("sensors.interval", "sensors.contacts", "time.step", "chain.disorder_seed")
# Values of a list that are written out, and segments that have a row each.
MOST_VALUES, MOST_SEGMENTS = 12, 6
# Units of a reader, each from the size where it begins.
_READ: dict[str, tuple[tuple[float, str], ...]] = {
    "m": ((1.0, "m"), (1e-3, "mm"), (1e-6, "um"), (1e-9, "nm")),
    "kg": ((1.0, "kg"), (1e-3, "g")),
    "s": ((1.0, "s"), (1e-6, "us")),
    "Hz": ((1e3, "kHz"), (1.0, "Hz")),
    "Pa": ((1e9, "GPa"), (1e6, "MPa"), (1.0, "Pa")),
    "N s": ((1.0, "N s"), (1e-3, "mN s")),
    "J": ((1.0, "J"), (1e-3, "mJ"), (1e-6, "uJ")),
}


def reading_unit(size: float, unit: str) -> tuple[float, str]:
    """Factor from SI to the unit in which a size is read, and its name; nothing for a pure
    number."""
    if unit == "1":
        return 1.0, ""
    units = _READ.get(unit, ((1.0, unit),))
    # a size that is just below a unit for its rounding has it
    return next(
        ((1.0 / one, name) for one, name in units if size >= one * (1.0 - 1e-9)),
        (1.0 / units[-1][0], units[-1][1]),
    )


def quantity_text(value: Any, unit: str | None) -> str:
    """A value with its unit, both as they are read."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
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
        name, constants, _ = value.partition(": E ")
        again = bool(constants) and value in told
        told.add(value)
        text = "varied" if where in varied else name if again else value
        rows.append((table if table != last else "", what, text))
        last = table
    return Grid(("", "quantity", "value"), tuple(rows), "what was computed" if rows else "")


def setup_rows(
    model: type[Any], given: Mapping[str, Any], above: str = ""
) -> Iterator[tuple[str, str, str]]:
    """Key, meaning and value of what is given and is not nothing."""
    for name, field in model.model_fields.items():
        value, where = given.get(name), f"{above}{name}"
        if where in (*_RECORDING, *_KEYS_OF_RECORDING) or not value or value is True:
            continue
        about = declared(model, name)
        # without the unit, which stands with the value
        what = re.sub(r" \[[^\[\]]+\]$", "", str(about["meaning"])).removeprefix("the ")
        inner = table_in(field.annotation)
        if inner is MaterialTable and isinstance(value, Mapping):
            yield where, what, material_text(value)
        elif isinstance(value, Mapping) and inner is not None and "drive" not in value:
            yield from setup_rows(inner, value, f"{where}.")
        elif inner is SegmentTable:
            yield from ((where, *row) for row in segment_rows(value))
        elif isinstance(value, Mapping) and "drive" in value:
            yield where, what, drive_text(value)
        elif isinstance(value, (list, Mapping)):
            yield where, what, plural_text(value)
        else:
            yield where, what, quantity_text(value, about["unit"])


def plural_text(value: Any) -> str:
    """A list, whose ends are written where it is long, or the keys of a driven end."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {plural_text(part)}" for name, part in value.items() if part)
    if not isinstance(value, list):
        return value_words(value)
    if len(value) > MOST_VALUES:
        return f"{len(value)} values, {value_words(value[0])} to {value_words(value[-1])}"
    return ", ".join(
        plural_text(one) if isinstance(one, Mapping) else value_words(one) for one in value
    )


def drive_text(given: Mapping[str, Any]) -> str:
    """A driven end: what is given, in which course, and its numbers with their units."""
    kind, rest = given["drive"], {**given}
    words = [str(rest.pop(name)) for name in ("drive", "signal", "shape") if name in given]
    units = {name: declared(DriveTable, name)["unit"] for name in DriveTable.model_fields}
    units |= dict.fromkeys(
        ("amplitude", "dc", "rms"), {"displacement": "m", "force": "N"}.get(kind)
    )
    numbers = (
        f"{name.replace('_', ' ')} "
        + (plural_text(value) if isinstance(value, list) else quantity_text(value, units.get(name)))
        for name, value in rest.items()
        if value
    )
    return ", ".join([" ".join(words), *numbers])


def material_text(given: Mapping[str, Any]) -> str:
    """A material: its name and its constants."""
    named = {**given}
    name = named.pop("name", None)
    parts = [
        f"{'' if unit == 'kg/m^3' else words + ' '}{quantity_text(named[key], unit)}"
        for key, words, unit in (
            ("youngs_modulus", "E", "Pa"),
            ("poissons_ratio", "nu", "1"),
            ("density", "density", "kg/m^3"),
            ("yield_stress", "yield stress", "Pa"),
            ("hardness", "hardness", "Pa"),
        )
        if named.get(key)
    ]
    return (f"{name}: " if name else "") + ", ".join(parts)


def segment_rows(segments: Any) -> Iterator[tuple[str, str]]:
    """A row for each run of equal beads; of many, from where to where their sizes go."""
    units = {name: declared(SegmentTable, name)["unit"] for name in SegmentTable.model_fields}

    def sizes(name: str) -> list[float]:
        return [one[name] for one in segments if isinstance(one.get(name), (int, float))]

    if len(segments) > MOST_SEGMENTS:
        yield "runs of equal beads", str(len(segments))
        for name in ("count", "radius", "mass", "gap"):
            if found := sizes(name):
                ends = (found[0], found[-1]) if len(set(found)) > 1 else (found[0],)
                yield name, " to ".join(quantity_text(one, units[name]) for one in ends)
        return
    for i, one in enumerate(segments):
        parts = [
            f"{name.replace('_', ' ')} {quantity_text(one[name], units[name])}"
            for name, unit in units.items()
            if unit not in (None, "1") and one.get(name)
        ]
        own = one.get("resonator") or []
        parts += [f"resonator of {plural_text(own)}"] if own else []
        parts.append(material_text(one["material"]) if one.get("material") else "")
        times = f"; the group that ends here {one['repeat']} times" if one.get("repeat") else ""
        count = one.get("count")
        words = f"{count} bead{'s' * (count != 1)}: {', '.join(filter(None, parts))}{times}"
        yield f"beads, run {i + 1}", words
