"""The quantity that a key of a case holds: its unit, its meaning and its limits, wherever they
are declared."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from granchain.case.case import Case
from granchain.case.dotted import entry_at
from granchain.contact import laws
from granchain.contact.law import Quantity
from granchain.errors import CaseError
from granchain.keys import declared, shown, suggestion, table_in

# What a bound of pydantic is among the limits of a quantity.
_LIMITS = {"gt": "above", "ge": "low", "lt": "below", "le": "high"}


def quantity_of(case: Case, key: str) -> Quantity:
    """What a key of a case may hold.

    Parameters
    ----------
    case : Case
        Its contact law declares the keys under `contact`.
    key : str
        Such as "contact.psi", "striker.speed", "chain.material.yield_stress".

    Raises
    ------
    CaseError
        Where there is no such key, or it holds no number.
    """
    *way, last = key.split(".") if isinstance(key, str) else [""]
    if way[:1] == ["contact"]:
        table: Any = case.contact
        if (
            way[1:2] == ["pair"]
            and case.contact.pair
            and way[2:3]
            and way[2].isdecimal()
            and int(way[2]) < len(case.contact.pair)
        ):
            table, way = case.contact.pair[int(way[2])], [way[0], *way[3:]]
        law = case.contact.law if len(way) == 1 else _law_of_restitution(table, key, way)
        inputs = {quantity.name: quantity for quantity in laws()[law].inputs}
        if last not in inputs:
            advice = suggestion(last, inputs, f"{law} does not know it")
            raise CaseError(
                f"{key}: got an unknown input, allowed {', '.join(inputs) or 'none'}; {advice}"
            )
        if inputs[last].kind != "number":
            raise CaseError(
                f"{key}: got a {inputs[last].kind}, allowed an input that is a number; name another"
            )
        return inputs[last]
    model: type[BaseModel] | None = Case
    for part in way:
        if part.isdecimal():
            continue
        model = (
            table_in(model.model_fields[part].annotation)
            if model is not None and part in model.model_fields
            else None
        )
    if model is None or last not in model.model_fields or not way:
        raise CaseError(
            f"{shown(key)}: got an unknown key, allowed one of the case that holds a number; "
            "write for example striker.speed"
        )
    about = declared(model, last)
    if about["unit"] is None or about["choices"]:
        raise CaseError(
            f"{key}: got a key that holds {about['allowed']}, allowed one that holds a number; "
            "name another"
        )
    limits = {
        name: getattr(bound, word)
        for bound in model.model_fields[last].metadata
        for word, name in _LIMITS.items()
        if getattr(bound, word, None) is not None
    }
    return Quantity(last, about["unit"], about["meaning"], **limits)


def _law_of_restitution(table: Any, key: str, way: list[str]) -> str:
    """The law whose inputs give the restitution under [contact], or of a pair."""
    restitution = getattr(table, "restitution", None)
    if way[1:] != ["restitution"] or not isinstance(restitution, dict):
        raise CaseError(
            f"{key}: got a key that leads nowhere, allowed one of the case that holds a number; "
            "write for example contact.psi"
        )
    return str(restitution["law"])


def value_at(case: Case, key: str) -> float:
    """The number that a case holds under a key, given or by default.

    Raises
    ------
    CaseError
        Where it holds none.
    """
    quantity = quantity_of(case, key)
    value, _, _ = entry_at(case.resolved(), key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        got = "nothing" if value is None else shown(value)
        raise CaseError(
            f"{key}: got {got}, allowed {quantity.range}; give the case a number there, "
            f"{quantity.meaning}"
        )
    return float(value)
