"""Hertz: elastic contact of two spheres."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

from granchain.contact.law import OPEN, STIFFNESS, ContactLaw, Quantity, Source
from granchain.contact.pair import hertz_contact_radius, stiffness_of


class Hertz(ContactLaw):
    """Elastic spheres: F = K d^1.5.

    The law assumes small strain, smooth and frictionless surfaces, and quasi-static deformation. No
    energy is lost: the restitution is 1. The contact ends at d = 0.
    """

    name = "hertz"
    source = Source("Johnson 1985, Contact Mechanics", "eq. (4.23)", "10.1017/CBO9781139171731")
    inputs = (STIFFNESS,)
    coefficients = (Quantity("stiffness", "N/m^1.5", "K = (4/3) E sqrt(R)"),)
    validity = "overlap much smaller than the radius; no yield"
    status = "verified against the closed forms of the elastic impact and the solitary wave"

    @staticmethod
    def coefficients_of(pair: Any, inputs: SimpleNamespace) -> tuple[Any, ...]:
        return (stiffness_of(pair, inputs),)

    @staticmethod
    def force(overlap: float, rate: float, c: tuple, h: tuple) -> float:
        (stiffness,) = c
        d = overlap if overlap > OPEN else 0.0
        return stiffness * (d * math.sqrt(d))

    @staticmethod
    def contact_radius(overlap: float, radius: float, c: tuple, h: tuple) -> float:
        return hertz_contact_radius(overlap, radius)

    @staticmethod
    def energy(overlap: float, c: tuple, h: tuple) -> float:
        (stiffness,) = c
        d = overlap if overlap > OPEN else 0.0
        return 0.4 * stiffness * (d * d * math.sqrt(d))
