"""Inputs and rows of beads for the tests that run over every contact law: from what each law declares, without a list of names."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from granchain.chain import Chain
from granchain.contact.law import ContactLaw, Quantity
from granchain.material import MATERIALS

# Wang, Liu & Liu 2022, section 5.2, doi:10.1016/j.ijmecsci.2022.107214: the chain of 70 beads; .65 is the restitution of its dashpots.
EXAMPLES: dict[str, float] = {"restitution": 0.65, "psi": 2.84, "xi": 13.0, "impact_speed": 1.77}
# Vu-Quoc and Zhang: fitted numbers of the right order for the same pair: F_y = pi^3 R^2 (1.6 s_y)^3/(6 E^2), largest pressure 1.6 s_y;
# C_a so that the mean pressure at 100 N is 2.8 s_y, a radius of 113 um, of which Hertz makes 94 um: 19 um/98 N; K_c so that the slope
# R K_c/C_a^2 of large forces is 2 pi R 2.8 s_y.
EXAMPLES |= {"yield_force": 1.943, "C_a": 2e-7, "K_c": 6.3e-4}

# Orders of magnitude of a contact of that chain: force, overlap, duration, mass and pressure. What a law requires and the
# table above does not name is of the order that its unit says.
SCALES: dict[str, float] = {"N": 100.0, "m": 1e-5, "s": 1e-5, "kg": 1e-4, "Pa": 1e9, "J": 1e-3}

# Exponent of a unit such as N/m^n: that of Hertz.
EXPONENT = 1.5


def example_inputs(law: type[ContactLaw], **changes: Any) -> SimpleNamespace:
    """A value for each of a law's inputs: its own example, a published one, the default, or one from the unit and the allowed range."""
    assert set(changes) <= {quantity.name for quantity in law.inputs}, f"{law.name} has no inputs {sorted(changes)}"
    values = {quantity.name: changes.get(quantity.name, law.examples.get(quantity.name, example(quantity))) for quantity in law.inputs}
    for quantity in law.inputs:
        value = values[quantity.name]
        assert (value is None and not quantity.required) or quantity.problem(value) is None, f"{law.name}: {quantity.name} = {value!r}"
    return SimpleNamespace(**values)


def example(quantity: Quantity) -> Any:
    """An allowed value of one input."""
    if quantity.name in EXAMPLES:
        return EXAMPLES[quantity.name]
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
        return low + abs(low)
    if high is not None and not value < high:
        return high - abs(high)
    return value


def magnitude(unit: str) -> float:
    """Order of magnitude of a quantity of this unit in a contact of steel beads: "N s/m^1.5" is 100 N times 1e-5 s over (1e-5 m)^1.5."""
    value = 1.0
    for slash, name, power in re.findall(r"(/?)\s*([A-Za-z]+)\^?(-?[0-9.]+|n)?", unit):
        exponent = EXPONENT if power == "n" else float(power or 1.0)
        value *= SCALES[name] ** (-exponent if slash else exponent)
    # an order of magnitude has one digit
    return float(f"{value:.1g}")


def alternatives(law: type[ContactLaw]) -> list[dict[str, Any]]:
    """Changes of the example inputs, one word or switch at a time, that lead through a law's other branches; the first changes nothing."""
    found: list[dict[str, Any]] = [{}]
    names = {quantity.name for quantity in law.inputs}
    for quantity in law.inputs:
        if quantity.kind == "switch":
            found.append({quantity.name: not quantity.default})
        elif quantity.kind == "word":
            found.extend({quantity.name: word} for word in quantity.choices if word != quantity.default)
        elif "onset" in quantity.choices and "impact_speed_floor" in names:
            # a tenth of the striker's speed: some contacts close faster and some slower, and the damping of those allows a usual time step
            found.append({quantity.name: "onset", "impact_speed_floor": 0.18})
    return found


def example_chain(n_bodies: int, **changes: Any) -> Chain:
    """A row of touching steel beads with a striker; the material has a hardness, so that every law finds what it needs."""
    # Wang, Liu & Liu 2022, table 8: radius 2.38 mm, mass 0.45 g. Hardness 2.8 times the yield stress: Kogut & Etsion 2002,
    # doi:10.1115/1.1490373.
    steel = MATERIALS["steel-316"]
    steel = replace(steel, hardness=2.8 * steel.yield_stress)
    values: dict[str, Any] = {
        "radius": np.full(n_bodies, 2.38e-3),
        "mass": np.full(n_bodies, 0.45e-3),
        "velocity": np.r_[EXAMPLES["impact_speed"], np.zeros(n_bodies - 1)],
        "material": (steel,),
        "material_index": np.zeros(n_bodies, dtype=int),
        "gap": np.zeros(n_bodies - 1),
        "has_striker": True,
    }
    return Chain(**(values | changes))
