"""Default example of a law: two steel beads, and a value for each of its inputs."""

from __future__ import annotations

import math
import re
from types import SimpleNamespace
from typing import Any

from granchain.contact.inputs import input_values
from granchain.contact.law import ContactLaw, Quantity
from granchain.contact.pair import Pair
from granchain.errors import CaseError, LawError

EXAMPLE_RADIUS = 2.38e-3
EXAMPLE_PAIR = "two steel beads of 2.38 mm, Wang, Liu & Liu 2022, table 8"
# Restitution, psi, xi, and striker speed of the steel chain of Wang, Liu & Liu 2022, sec. 5.2,
# doi:10.1016/j.ijmecsci.2022.107214.
EXAMPLE_INPUTS_BY_NAME: dict[str, float] = {
    "restitution": 0.65,
    "psi": 2.84,
    "xi": 13.0,
    "impact_speed": 1.77,
}
# Orders of magnitude in a contact of that chain, by unit, for required inputs without an example.
SCALES: dict[str, float] = {
    "N": 100.0,
    "m": 1e-5,
    "s": 1e-5,
    "kg": 1e-4,
    "Pa": 1e9,
    "J": 1e-3,
    "1": 1.0,
}
# Powers of metre, kilogram, and second in a unit.
DIMENSIONS: dict[str, tuple[float, float, float]] = {
    "m": (1, 0, 0), "kg": (0, 1, 0), "s": (0, 0, 1), "N": (1, 1, -2), "Pa": (-1, 1, -2),
    "J": (2, 1, -2), "1": (0, 0, 0),
}  # fmt: skip
# Value of n in a unit such as N/m^n: that of Hertz.
HERTZ_EXPONENT = 1.5


def example_pair() -> Pair:
    """Return two steel beads, with all quantities that laws may require.

    The beads are those of the 70-bead chain of Wang, Liu & Liu 2022, table 8,
    doi:10.1016/j.ijmecsci.2022.107214. The hardness is 2.8 times the yield stress, Kogut & Etsion
    2002, doi:10.1115/1.1490373. The length of a line contact is the diameter of the bead.
    """
    return Pair(
        effective_radius=1.19e-3,
        effective_modulus=193e9 / (2.0 * (1.0 - 0.3 * 0.3)),
        effective_mass=2.25e-4,
        yield_stress=900e6,
        poissons_ratio=0.3,
        youngs_modulus=193e9,
        hardness=2.8 * 900e6,
        density=7968.8,
        radius_1=EXAMPLE_RADIUS,
        radius_2=EXAMPLE_RADIUS,
        length=4.76e-3,
    )


def example_inputs(law: type[ContactLaw], **changes: Any) -> SimpleNamespace:
    """Return a value for each input of a law.

    In this order: the given value, an example of the law or of a publication, the default, or a
    value from unit and range.

    Raises
    ------
    CaseError
        If an input is unknown or a value is out of range.
    """
    values, problems = input_values(
        law, {quantity.name: example(law, quantity) for quantity in law.inputs} | changes
    )
    if problems:
        raise CaseError([f"{law.name}: {problem.sentence}" for problem in problems])
    return SimpleNamespace(**values)


def example(law: type[ContactLaw], quantity: Quantity) -> Any:
    """Return an allowed value of one input."""
    if quantity.name in law.examples:
        return law.examples[quantity.name]
    if (
        quantity.name in EXAMPLE_INPUTS_BY_NAME
        and quantity.problem(EXAMPLE_INPUTS_BY_NAME[quantity.name]) is None
    ):
        return EXAMPLE_INPUTS_BY_NAME[quantity.name]
    if not quantity.required:
        return quantity.default
    if quantity.kind != "number":
        return quantity.choices[0] if quantity.choices else False
    low = quantity.low if quantity.low is not None else quantity.above
    high = quantity.high if quantity.high is not None else quantity.below
    if low is not None and high is not None:
        return 0.5 * (low + high)
    value = magnitude(quantity.unit)
    if low is not None and not value > low:
        return low + max(abs(low), 1.0)
    if high is not None and not value < high:
        return high - max(abs(high), 1.0)
    return value


_STIFFNESS_FACTOR = re.compile(
    r"(/?)\s*([A-Za-z]+|1)(?:\^?(-?[0-9.]+)|\^\(([0-9]+)/([0-9]+)\)|\^(n))?\s*"
)


def factors_of(unit: str) -> list[tuple[str, float]]:
    """Return the units and powers in a unit such as "N s/m^1.5" or "m/N^(1/3)".

    Raises
    ------
    LawError
        If it contains unknown units.
    """
    factors, at = [], 0
    while at < len(unit):
        match = _STIFFNESS_FACTOR.match(unit, at)
        if match is None or match[2] not in DIMENSIONS:
            raise LawError(
                f'unit: "{unit}" is not valid. It must be a product of powers of '
                f"{', '.join(DIMENSIONS)}. Write it as in N s/m^1.5."
            )
        slash, name, power, above, below, free = match.groups()
        exponent = (
            HERTZ_EXPONENT
            if free
            else float(power)
            if power
            else int(above) / int(below)
            if above
            else 1.0
        )
        factors.append((name, -exponent if slash else exponent))
        at = match.end()
    return factors


def magnitude(unit: str) -> float:
    """Return the order of magnitude of a quantity in a contact of steel beads, one digit."""
    return float(f"{math.prod(SCALES[name] ** power for name, power in factors_of(unit)):.1g}")


def conversion(unit: str, metre: float, kilogram: float, second: float) -> float:
    """Return the factor of a number of this unit when the base units shrink by these factors."""
    value = 1.0
    for name, power in factors_of(unit):
        length, mass, time = DIMENSIONS[name]
        value *= (metre**length * kilogram**mass * second**time) ** power
    return value
