"""A value for each input of a law: given or default, with what is wrong with what was given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from granchain.contact import laws
from granchain.contact.guard import Elastoplastic
from granchain.contact.law import ContactLaw, in_unit


class Slip(NamedTuple):
    """A mistake in the inputs of a law.

    Parameters
    ----------
    law : str
        The law.
    place : str
        The input; "restitution.law" and the like in the table of a restitution.
    got : object
        The value; None where there is none.
    allowed, advice : str
        The allowed values, and what to do.
    words : tuple of str
        Names or words one of which may have been meant.
    unknown : bool
        Whether the law has no such input.
    """

    law: str
    place: str
    got: Any
    allowed: str
    advice: str
    words: tuple[str, ...] = ()
    unknown: bool = False

    @property
    def sentence(self) -> str:
        """The mistake where inputs are arguments, not keys of a file."""
        if self.unknown:
            return f"unknown input {self.place}; allowed: {self.allowed}; {self.advice}"
        if self.got is None:
            return (
                f"{self.place}: got nothing, allowed: {self.allowed}; give it, {self.law} needs it"
            )
        got = f'"{self.got}"' if isinstance(self.got, str) else repr(self.got)
        return f"{self.place}: got {got}, allowed: {self.allowed}; {self.advice}"


def chosen(name: Any, base: type[ContactLaw] = ContactLaw) -> type[ContactLaw] | Slip:
    """The law of this name, of a kind."""
    known = {name: law for name, law in laws().items() if issubclass(law, base)}
    if isinstance(name, str) and name in known:
        return known[name]
    allowed = (
        'a name that "granchain laws" lists'
        if base is ContactLaw
        else "an elastoplastic law: " + ", ".join(known)
    )
    from granchain.contact.user import advice_about

    installed = advice_about(name)
    advice = installed or "check the name; a law in a file of your own is named by --law-module"
    return Slip("", "law", name, allowed, advice, () if installed else tuple(known))


def filled(
    law: type[ContactLaw],
    stated: Mapping[str, Any],
    read: Callable[[str, str], float] | None = None,
) -> tuple[dict[str, Any], list[Slip]]:
    """A value for each input of a law, and the mistakes; a required input that is not given has no
    value.

    Parameters
    ----------
    law : type of ContactLaw
        The law.
    stated : mapping
        Values by name; None stands for the default. A restitution may be a table {"law": ..., ...}:
        that elastoplastic law's inputs.
    read : callable, optional
        Reads a text as a number in a unit; its ValueError says what to do.
    """
    inputs = {quantity.name: quantity for quantity in law.inputs}
    homes = {name: _homes(name) for name in stated if name not in inputs}
    slips = [
        Slip(
            law.name,
            name,
            value,
            ", ".join(inputs) or "none",
            f"take it out, {law.name} does not know it{homes[name]}",
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
        number, advice = value, f"give {name}: {quantity.meaning}{in_unit(quantity.unit)}"
        try:
            if (
                read is not None
                and isinstance(value, str)
                and quantity.kind == "number"
                and value not in quantity.choices
            ):
                number = read(value, quantity.unit)
        except ValueError as error:
            advice = str(error)
        if quantity.problem(number) is not None:
            allowed = quantity.range + (
                " or a table { law = ..., ... }" if name == "restitution" else ""
            )
            slips.append(Slip(law.name, name, value, allowed, advice, quantity.choices))
        if value is not None:
            values[name] = (
                float(number) if quantity.kind == "number" and type(number) is int else number
            )
    return values, slips


def _homes(name: str) -> str:
    """That one law alone has this input, as the end of a sentence."""
    homes = [law for law, known in laws().items() if name in (one.name for one in known.inputs)]
    return f'; it is an input of law = "{homes[0]}"' if len(homes) == 1 else ""


def of_law_table(
    table: Mapping[str, Any], read: Callable[[str, str], float] | None
) -> tuple[dict[str, Any], list[Slip]]:
    """The table of an elastoplastic law that gives a restitution."""
    law = chosen(table.get("law"), Elastoplastic)
    if isinstance(law, Slip):
        return {"law": ""}, [law]
    values, slips = filled(
        law, {name: value for name, value in table.items() if name != "law"}, read
    )
    return {"law": law.name, **values}, slips
