"""Changes of inputs, and rows of beads, for the tests that run over every contact law: from what each law declares, without names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from granchain.certificates.examples import EXAMPLES
from granchain.chain import Chain
from granchain.contact.law import ContactLaw
from granchain.material import MATERIALS


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
