"""Values of the inputs of a law, given or default, and errors in the given values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from granchain.contact import laws
from granchain.contact.guard import Elastoplastic
from granchain.contact.law import ContactLaw, in_unit, not_valid
from granchain.errors import error_text


class InputProblem(NamedTuple):
    """Problem of an input of a law.

    Parameters
    ----------
    law : str
        The law.
    key : str
        Name of the input; for example "restitution.law" in the table of a restitution.
    value : object
        Value; None if it is missing.
    requirement, fix : str
        Requirement and fix, as in `granchain.errors.error_text`.
    alternatives : tuple of str
        Names or words that the user may have meant.
    unknown : bool
        Whether the law has no such input.
    """

    law: str
    key: str
    value: Any
    requirement: str
    fix: str
    alternatives: tuple[str, ...] = ()
    unknown: bool = False

    @property
    def sentence(self) -> str:
        """Message for inputs that are arguments, not keys of a file."""
        problem = "missing" if self.value is None else not_valid(self.value)
        problem = "unknown input" if self.unknown else problem
        return error_text(self.key, problem, self.requirement, self.fix)


def law_or_problem(
    name: Any, base: type[ContactLaw] = ContactLaw
) -> type[ContactLaw] | InputProblem:
    """Return the law of this name, based on a given class, or the problem of the name."""
    law = laws().get(name) if isinstance(name, str) else None
    if law is not None and issubclass(law, base):
        return law
    names = tuple(other for other, made in laws().items() if issubclass(made, base))
    requirement = (
        'It must be a name that "granchain laws" lists'
        if base is ContactLaw
        else "It must be an elastoplastic law: " + ", ".join(names)
    )
    fix = "To load a law from your own file, use --law-module"
    return InputProblem("", "law", name, requirement, fix, names)


def input_values(
    law: type[ContactLaw],
    stated: Mapping[str, Any],
    read: Callable[[str, str], float] | None = None,
) -> tuple[dict[str, Any], list[InputProblem]]:
    """Return the values of the inputs of a law, with defaults, and their problems.

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
    advice = {name: _other_law_with(name) for name in stated if name not in inputs}
    problems = [
        InputProblem(
            law.name,
            name,
            value,
            f"The inputs of {law.name} are {', '.join(inputs) or 'none'}",
            f"Remove it{advice[name]}",
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
            problems += [problem._replace(key=f"{name}.{problem.key}") for problem in inner]
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
            problems.append(InputProblem(law.name, name, value, requirement, fix, quantity.choices))
        if value is not None:
            values[name] = (
                float(number) if quantity.kind == "number" and type(number) is int else number
            )
    return values, problems


def _other_law_with(name: str) -> str:
    """Return the end of a message that names the only law with this input, if there is one."""
    names = [
        law_name
        for law_name, law in laws().items()
        if name in (quantity.name for quantity in law.inputs)
    ]
    return f', or use law = "{names[0]}", which has this input' if len(names) == 1 else ""


def of_law_table(
    table: Mapping[str, Any], read: Callable[[str, str], float] | None
) -> tuple[dict[str, Any], list[InputProblem]]:
    """Return the inputs of the elastoplastic law that gives a restitution."""
    law = law_or_problem(table.get("law"), Elastoplastic)
    if isinstance(law, InputProblem):
        return {"law": ""}, [law]
    values, problems = input_values(
        law, {name: value for name, value in table.items() if name != "law"}, read
    )
    return {"law": law.name, **values}, problems
