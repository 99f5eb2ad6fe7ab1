"""The keys of case files, for users: as rows of tables, and as a JSON schema for editors, with the
inputs of all laws."""

from __future__ import annotations

import json
from typing import Any

from granchain.case.case import Case
from granchain.case.tables import (
    DRIVE_TABLE,
    HeadingTable,
    MassEndTable,
    MaterialTable,
    ModesEndTable,
    PairTable,
    PlateTable,
    ResonatorTable,
    RodTable,
    SegmentTable,
)
from granchain.contact import laws
from granchain.contact.law import ContactLaw, Quantity, in_unit
from granchain.keys import WITH_UNIT, Table, declared, table_in, without_keys

DIALECT = "https://json-schema.org/draft/2020-12/schema"
# One line of printable text; `re` and ECMAScript do not know the classes that pydantic uses.
PRINTABLE = r"^[^\x00-\x1f\x7f]*$"
WITH_ITS_UNIT = {"$ref": "#/$defs/a number with its unit"}
LIMITS = {
    "above": "exclusiveMinimum",
    "low": "minimum",
    "below": "exclusiveMaximum",
    "high": "maximum",
}


# Headings of tables that are inside other tables.
INNER: tuple[tuple[str, type[Table]], ...] = (
    ("[[chain.segment]]", SegmentTable),
    ("[[contact.pair]]", PairTable),
    ("A material: { youngs_modulus = ..., ... }", MaterialTable),
    ("A resonator: { mass = ..., ... }", ResonatorTable),
    ("A driven end: { drive = ..., ... }", DRIVE_TABLE),
    ("A wall on a spring as an end: { mass = ..., ... }", MassEndTable),
    ("A plate as an end: { plate = { ... } }", PlateTable),
    ("A rod as an end: { rod = { ... } }", RodTable),
    ("Modes as an end: { modes = [...] }", ModesEndTable),
)


def key_tables() -> list[tuple[str, type[Table]]]:
    """Return heading and model of each table of a case file; first the keys above all tables."""
    tables = [
        (f"[[{name}]]" if name == "drive" else f"[{name}]", table_in(field.annotation))
        for name, field in Case.model_fields.items()
    ]
    return [("Above the tables", HeadingTable), *tables, *INNER]  # type: ignore[list-item]


def key_rows(model: type[Table]) -> list[tuple[str, str, str, str]]:
    """Return key, meaning, allowed values, and default of each key of a table."""
    rows = []
    for name, field in model.model_fields.items():
        about, default = declared(model, name), "required"
        if not field.is_required():
            default = "none" if field.default in (None, ()) else json.dumps(field.default)
        rows.append((name, str(about["meaning"]), str(about["allowed"]), default))
    return rows


def schema_text() -> str:
    """Return the JSON schema of case files, with the inputs of all loaded laws."""
    schema = Case.model_json_schema()
    tables = schema["$defs"]
    schema["description"] = "A case of granchain: a chain of beads and what is recorded."
    schema["properties"] |= HeadingTable.model_json_schema()["properties"]
    for table in (schema, *tables.values()):
        table["description"] = table["description"].partition("\nParameters\n")[0].rstrip()
        table["properties"] = {
            name: _schema_of_key(name, entry) for name, entry in table["properties"].items()
        }
    of_mode = tables["ModesEndTable"]["properties"]["modes"]["items"]["prefixItems"]
    of_mode[:] = [{"anyOf": [number, WITH_ITS_UNIT]} for number in of_mode]
    tables["a number with its unit"] = {"type": "string", "pattern": f"^{WITH_UNIT.pattern}$"}
    inputs: dict[str, Any] = {}
    for law in laws().values():
        tables[f"law {law.name}"] = _law(law)
        inputs |= {quantity.name: _input(quantity) for quantity in law.inputs}
    for name in ("ContactTable", "ChainContactTable"):
        other: dict[str, Any] = {
            "type": "string",
            "not": {"enum": [*laws()]},
            "description": "a law of your own",
        }
        forms: list[dict[str, Any]] = [{"$ref": f"#/$defs/law {law}"} for law in laws()]
        forms.append({"properties": {"law": other}, "additionalProperties": True})
        del tables[name]["additionalProperties"], tables[name]["properties"]["law"]
        tables[name] |= {"anyOf": forms, "unevaluatedProperties": False}
    tables["PairTable"]["properties"] |= inputs
    return json.dumps({"$schema": DIALECT, **schema}, indent=1, sort_keys=True) + "\n"


def _schema_of_key(name: str, entry: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a key from that of pydantic and from the declaration of the key."""
    about = {word: entry.pop(word) for word in ("allowed", "choices", "unit", "description")}
    described = {"description": f"{about['description']}; {about['allowed']}"}
    if (default := entry.pop("default", None)) not in (None, []) and not isinstance(default, dict):
        described["default"] = default
    entry.pop("title", None)
    forms = entry.get("anyOf") or entry.get("oneOf") or [entry]
    forms = [form for form in forms if form != {"type": "null"}]
    for form in forms:
        if "pattern" in form:
            form["pattern"] = PRINTABLE
    if about["unit"] is not None:
        forms.append(WITH_ITS_UNIT)
    if about["choices"] and not any("enum" in form for form in forms):
        forms.append({"enum": about["choices"]})
    if name == "resonator":
        # a single table is allowed, too
        forms += [form["items"] for form in forms if "items" in form]
    if '"all"' in about["allowed"]:
        forms.append({"type": "string"})
    return described | (forms[0] if len(forms) == 1 else {"anyOf": forms})


def _law(law: type[ContactLaw]) -> dict[str, Any]:
    """Return the keys of the table of a law."""
    return {
        "description": without_keys(law).partition("\n")[0],
        "properties": {
            "law": {"const": law.name},
            **{quantity.name: _input(quantity) for quantity in law.inputs},
        },
        "required": ["law", *(quantity.name for quantity in law.inputs if quantity.required)],
    }


def _input(quantity: Quantity) -> dict[str, Any]:
    """Return the forms of an input of a law."""
    described: dict[str, Any] = {"description": quantity.meaning + in_unit(quantity.unit)}
    if not quantity.required and quantity.default is not None:
        described["default"] = quantity.default
    if quantity.kind == "switch":
        return described | {"type": "boolean"}
    forms: list[dict[str, Any]] = [{"enum": [*quantity.choices]}] if quantity.choices else []
    if quantity.kind == "number":
        limits = {
            word: limit
            for name, word in LIMITS.items()
            if (limit := getattr(quantity, name)) is not None
        }
        forms.insert(0, {"type": "number", **limits})
        if quantity.unit not in ("", "1"):
            forms.append(WITH_ITS_UNIT)
    if quantity.name == "restitution":
        described["description"] += ", or a table with an elastoplastic law and its inputs"
        forms.append({"type": "object", "required": ["law"]})
    return described | (forms[0] if len(forms) == 1 else {"anyOf": forms})
