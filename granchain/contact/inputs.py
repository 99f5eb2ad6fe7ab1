"""Values of the inputs of a law, given or default, and errors in the given values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from granchain.contact import laws
from granchain.contact.guard import Elastoplastic
from granchain.contact.law import ContactLaw, in_unit, not_valid
from granchain.errors import error_text


class Slip(NamedTuple):
    """Error in the inputs of a law.

    Parameters
    ----------
    law : str
        The law.
    place : str
        Name of the input; for example "restitution.law" in the table of a restitution.
    value : object
        Value; None if it is missing.
    requirement, fix : str
        Requirement and fix, as in `granchain.errors.error_text`.
    words : tuple of str
        Names or words that the user may have meant.
    unknown : bool
        Whether the law has no such input.
    """

    law: str
    place: str
    value: Any
    requirement: str
    fix: str
    words: tuple[str, ...] = ()
    unknown: bool = False

    @property
    def sentence(self) -> str:
        """Message for inputs that are arguments, not keys of a file."""
        problem = "missing" if self.value is None else not_valid(self.value)
        problem = "unknown input" if self.unknown else problem
        return error_text(self.place, problem, self.requirement, self.fix)


def chosen(name: Any, base: type[ContactLaw] = ContactLaw) -> type[ContactLaw] | Slip:
    """Return the law of this name, based on a given class, or the error."""
    law = laws().get(name) if isinstance(name, str) else None
    if law is not None and issubclass(law, base):
        return law
    known = tuple(other for other, made in laws().items() if issubclass(made, base))
    requirement = (
        'It must be a name that "granchain laws" lists'
        if base is ContactLaw
        else "It must be an elastoplastic law: " + ", ".join(known)
    )
    fix = "To load a law from your own file, use --law-module"
    return Slip("", "law", name, requirement, fix, known)


def filled(
    law: type[ContactLaw],
    stated: Mapping[str, Any],
    read: Callable[[str, str], float] | None = None,
) -> tuple[dict[str, Any], list[Slip]]:
    """Return the values of the inputs of a law, and the errors.

    A required input that is missing has no value.

    Parameters
    ----------
    law : type of ContactLaw
        The law.
    stated : mapping
        Values by name; None selects the default. A restitution may be a table {"law": ..., ...}
        with the inputs of an elastoplastic law.
    read : callable, optional
        Function that reads text as a number in a unit; its ValueError describes the fix.
    """
    inputs = {quantity.name: quantity for quantity in law.inputs}
    homes = {name: _homes(name) for name in stated if name not in inputs}
    slips = [
        Slip(
            law.name,
            name,
            value,
            f"The inputs of {law.name} are {', '.join(inputs) or 'none'}",
            f"Remove it{homes[name]}",
            tuple(inputs),
            True,
        )
        for name, value in stated.items()
        if name not in inputs
    ]
    values: dict[str, Any] = {}
    for name, quantity in inputs.items():
        value = stated.get(name)
        if value is None and not quantity.required:
            values[name] = quantity.default
            continue
        if name == "restitution" and isinstance(value, Mapping):
            values[name], inner = of_law_table(value, read)
            slips += [slip._replace(place=f"{name}.{slip.place}") for slip in inner]
            continue
        number, fix = value, ""
        try:
            if (
                read is not None
                and isinstance(value, str)
                and quantity.kind == "number"
                and value not in quantity.choices
            ):
                number = read(value, quantity.unit)
        except ValueError as error:
            fix = str(error)
        if quantity.problem(number) is not None:
            table = " or a table { law = ..., ... }" if name == "restitution" else ""
            needed = f"{quantity.meaning}{in_unit(quantity.unit)}"
            requirement = f"{quantity.requirement}{table}"
            if value is None:
                requirement = f"The law {law.name} needs the {needed}"
                fix = f"Give {quantity.range}{table}"
            slips.append(Slip(law.name, name, value, requirement, fix, quantity.choices))
        if value is not None:
            values[name] = (
                float(number) if quantity.kind == "number" and type(number) is int else number
            )
    return values, slips


def _homes(name: str) -> str:
    """Return the end of a message that names the only law with this input, if there is one."""
    homes = [law for law, known in laws().items() if name in (one.name for one in known.inputs)]
    return f', or use law = "{homes[0]}", which has this input' if len(homes) == 1 else ""


def of_law_table(
    table: Mapping[str, Any], read: Callable[[str, str], float] | None
) -> tuple[dict[str, Any], list[Slip]]:
    """Return the inputs of the elastoplastic law that gives a restitution."""
    law = chosen(table.get("law"), Elastoplastic)
    if isinstance(law, Slip):
        return {"law": ""}, [law]
    values, slips = filled(
        law, {name: value for name, value in table.items() if name != "law"}, read
    )
    return {"law": law.name, **values}, slips
