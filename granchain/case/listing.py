"""The keys of case files: their list, their ranges, and their values in a case."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from granchain.case import tables
from granchain.case.base import CheckedCase
from granchain.case.document import entry_at
from granchain.chain import DRIVEN_FORCE
from granchain.contact import laws
from granchain.contact.law import Quantity
from granchain.errors import CaseError, error_text
from granchain.keys import Table, declared, rejected, shown, suggestion, table_in

# Headings of tables that are inside other tables.
INNER: tuple[tuple[str, type[Table]], ...] = (
    ("[[chain.segment]]", tables.SegmentTable),
    ("[[contact.pair]]", tables.PairTable),
    ("A material: { youngs_modulus = ..., ... }", tables.MaterialTable),
    ("A resonator: { mass = ..., ... }", tables.ResonatorTable),
    ("A driven end: { drive = ..., ... }", tables.DRIVE_TABLE),
    ("A wall on a spring as an end: { mass = ..., ... }", tables.MassEndTable),
    ("A plate as an end: { plate = { ... } }", tables.PlateTable),
    ("A rod as an end: { rod = { ... } }", tables.RodTable),
    ("Modes as an end: { modes = [...] }", tables.ModesEndTable),
)
# Heading and model of each table of a case file; first the keys above all tables.
KEY_TABLES: tuple[tuple[str, type[Table]], ...] = (
    ("Above the tables", tables.HeadingTable),
    *((tables.heading_of(name), model) for name, model in tables.TABLES.items()),
    *INNER,
)
# Tables of a case that do not affect the physics, only what is computed and recorded.
NO_PHYSICS = ("title", "time", "sensors", "snapshots", "energy", "tolerance")
# Keys of a drive in the unit of the driven quantity.
OF_DRIVE = ("amplitude", "dc", "rms")


def key_rows(model: type[Table]) -> list[tuple[str, str, str, str]]:
    """Return key, meaning, allowed values, and default of each key of a table."""
    rows = []
    for name, field in model.model_fields.items():
        about, default = declared(model, name), "required"
        if not field.is_required():
            default = "none" if field.default in (None, ()) else json.dumps(field.default)
        rows.append((name, str(about["meaning"]), str(about["allowed"]), default))
    return rows


# --------------------------------------------------------------------------------------------------
# Range and value of a key


def quantity_of(case: CheckedCase, key: str) -> Quantity:
    """Return unit, meaning, and limits of a key of a case.

    Parameters
    ----------
    case : CheckedCase
        Case whose contact laws declare their inputs.
    key : str
        Key of a number, such as "contact.psi" or "chain.segment.1.contact.restitution".

    Raises
    ------
    CaseError
        If the key does not exist, or its value is not a number.
    """
    *way, last = key.split(".") if isinstance(key, str) else [""]
    if of_contact(key):
        found = law_input(case, key)
        if found.kind != "number":
            raise CaseError(
                f"{key}: the input is a {found.kind}. It must be a number. Choose another input."
            )
        return found
    model = table_at(type(case), way, last)
    if model is None or last not in model.model_fields or not way:
        raise CaseError(
            f"{shown(key)}: unknown key. It must be a key of the case with a number, such as "
            "striker.speed."
        )
    about = declared(model, last)
    unit, given = about["unit"], entry_at(dict(case), ".".join(way))[0]
    if last in OF_DRIVE and isinstance(given, tables.DriveTable):
        unit = "N" if given.drive == DRIVEN_FORCE else "m"
    if unit is None or about["choices"]:
        raise CaseError(
            f"{key}: the value is {about['allowed']}. It must be a number. Choose another key."
        )
    limits = {
        name: getattr(bound, word)
        for bound in model.model_fields[last].metadata
        for word, name in (("gt", "above"), ("ge", "low"), ("lt", "below"), ("le", "high"))
        if getattr(bound, word, None) is not None
    }
    return Quantity(last, unit, about["meaning"], **limits)


def table_at(kind: type[CheckedCase], way: Iterable[str], name: str) -> type[BaseModel] | None:
    """Return the model of the table that contains the key `name`, from the parts of its path."""
    model: type[BaseModel] | None = kind
    names = [part for part in way if not part.isdecimal()]
    for part, following in zip(names, [*names, name][1:], strict=True):
        known = {} if model is None else model.model_fields
        model = table_in(known[part].annotation, following) if part in known else None
    return model


def of_contact(key: Any) -> bool:
    """Check if a key belongs to a contact law: of the case, a segment, or a wall."""
    return isinstance(key, str) and any(part.endswith("contact") for part in key.split(".")[:-1])


def law_input(case: CheckedCase, key: str) -> Quantity:
    """Return an input of a contact law, of a pair, or of the law that gives the restitution.

    Raises
    ------
    CaseError
        If the case has no such table, or the law has no such input.
    """
    way, _, last = key.rpartition(".")
    given, _, _ = entry_at(dict(case), way)
    law = given.get("law") if isinstance(given, Mapping) else getattr(given, "law", None)
    law = dict(case)["contact"].law if isinstance(given, tables.PairTable) else law
    if law not in laws():
        raise CaseError(
            f"{key}: key not found. It must be a key of the case with a number, such as "
            "contact.psi."
        )
    inputs = {quantity.name: quantity for quantity in laws()[str(law)].inputs}
    if last not in inputs:
        names = f"are {', '.join(inputs)}" if inputs else "do not exist"
        requirement, fix = f"The inputs of {law} {names}", suggestion(last, inputs, "")
        raise CaseError(error_text(key, "unknown input", requirement, fix))
    return inputs[last]


def value_at(case: CheckedCase, key: str) -> float:
    """Return the number at a key of a case, given or by default.

    Raises
    ------
    CaseError
        If the value is not a number.
    """
    quantity = quantity_of(case, key)
    value, _, _ = entry_at(dict(case), key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        requirement = f"The case must contain {quantity.meaning}, {quantity.range}"
        raise CaseError(error_text(key, rejected(value), requirement))
    return float(value)


def about_key(case: CheckedCase, key: str) -> tuple[str, str]:
    """Return the unit and the description of a key of a case."""
    if of_contact(key):
        # raises an error for `law` itself, and for inputs of other laws in a study of laws
        with contextlib.suppress(CaseError):
            quantity = law_input(case, key)
            return quantity.unit, quantity.meaning
    *way, name = key.split(".")
    model = table_at(type(case), way, name)
    if model is None or name not in model.model_fields or not way:
        return "", f"of the case: {key}"
    about = declared(model, name)
    return about["unit"] or "", about["meaning"].removesuffix(f" [{about['unit']}]")
