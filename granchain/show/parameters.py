"""Parameters of a case that the interactive page can change, as the tables of the case declare."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from granchain.case import Case
from granchain.case.document import declared_at, flattened, quantity_of, toml_value
from granchain.contact import laws
from granchain.contact.law import Quantity
from granchain.errors import CaseError

# A slider covers the values from half the present one to twice it in as many steps (our choice):
# each is a hundredth of the present value.
SLIDER_STEPS = 150


@dataclass(frozen=True)
class Parameter:
    """A parameter of a case.

    Parameters
    ----------
    key : str
        Key of the case.
    quantity : Quantity
        Unit, meaning, and limits.
    value : object
        Present value; None if the case has none.
    explicit : bool
        Whether the author of the case gave the value.
    """

    key: str
    quantity: Quantity
    value: Any
    explicit: bool

    @property
    def label(self) -> str:
        """Key with the unit."""
        unit = self.quantity.unit
        return self.key if unit in ("", "1") else f"{self.key} [{unit}]"

    @property
    def options(self) -> list[str]:
        """Allowed words, if the parameter is not a number."""
        kind = self.quantity.kind
        return ["true", "false"] if kind == "switch" else [*self.quantity.choices]


def parameters_of(case: Case) -> list[Parameter]:
    """Return the inputs of the contact law and the numbers of a case, those given first."""
    stated = {key for key, _ in flattened(case.as_given()["tables"])}
    inputs, law = case.contact.inputs(), laws()[case.contact.law]
    listed = {
        f"contact.{quantity.name}": Parameter(
            f"contact.{quantity.name}", quantity, inputs.get(quantity.name), True
        )
        for quantity in law.inputs
        if not isinstance(inputs.get(quantity.name), Mapping)
    }
    for key, value in flattened(case.resolved()):
        if key not in listed and type(value) in (int, float):
            with suppress(CaseError):
                listed[key] = Parameter(key, parameter_at(case, key), value, key in stated)
    return sorted(listed.values(), key=lambda parameter: not parameter.explicit)


def parameter_at(case: Case, key: str) -> Quantity:
    """Return unit, meaning, and limits of a number of a case, also of a whole number."""
    about = declared_at(case, key)
    if about is not None and about["field"].annotation in (int, int | None):
        return Quantity(key.rpartition(".")[2], "1", about["meaning"], low=1.0)
    return quantity_of(case, key)


def value_of(text: str) -> Any:
    """Return the value that was typed in a field; None removes the key.

    Lists and tables are text, which no number accepts.
    """
    value = toml_value(text) if text.strip() else None
    return text if isinstance(value, (list, dict)) else value


def slider_range(quantity: Quantity, value: Any) -> tuple[float, float, float] | None:
    """Return start, end, and step of the slider of a value; None if it cannot have one."""
    if type(value) not in (int, float) or value == 0:
        return None
    low, high = sorted((0.5 * value, 2.0 * value))
    ends = (quantity.high, quantity.below)
    low = max([low, *(limit for limit in (quantity.low, quantity.above) if limit is not None)])
    high = min([high, *(limit for limit in ends if limit is not None)])
    if type(value) is int:
        return float(int(low)), float(int(high)), 1.0
    step = (high - low) / SLIDER_STEPS
    # the ends of the slider must be allowed, also if the limits are exclusive
    return low + step * (low == quantity.above), high - step * (high == quantity.below), step
