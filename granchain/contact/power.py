"""Power law with any exponent."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from granchain.contact import elementary
from granchain.contact.law import (
    IMPACT_SPEED,
    LOWEST_FORCE,
    OPEN,
    RESTITUTION,
    SEPARATION,
    ContactLaw,
    Quantity,
    Source,
    positive,
)
from granchain.contact.model import Model
from granchain.contact.pair import exact_damping_factor, lowest_force


def elastic_force(overlap: float, rate: float, c: tuple, h: tuple) -> float:
    """Return K d^n."""
    d = overlap if overlap > OPEN else 0.0
    return c[0] * elementary.power(d, c[1])


def is_elastic(inputs: SimpleNamespace) -> bool:
    """Check if no energy is lost, so that the law needs no rate."""
    asked = inputs.restitution
    return np.ndim(asked) == 0 and asked == 1.0


class Power(ContactLaw):
    """Power law: F = K d^n (1 + a rate/v0), with K and n from the case.

    Use this law for hollow spheres, crossed cylinders, and woodpiles. The factor a gives the
    nominal restitution at the impact speed v0 for every n. With restitution 1 there is no damping.
    If n is below 1, the contact softens and its stiffness is unbounded when it opens, so use such
    an n only for contacts that stay closed. The contact ends at d = 0.
    """

    name = "power"
    source = Source("Hunt & Crossley 1975", "eq. (11), with any exponent", "10.1115/1.3423596")
    inputs = (
        positive("stiffness", "N/m^n", "contact stiffness K"),
        positive("exponent", "1", "exponent n of the force K d^n"),
        replace(RESTITUTION, default=1.0),
        replace(
            IMPACT_SPEED,
            meaning="approach speed at which the nominal restitution applies: the striker's, or a "
            "number, which a precompressed chain requires",
            choices=("striker",),
        ),
        SEPARATION,
    )
    coefficients = (
        Quantity("stiffness", "N/m^n", "K"),
        Quantity("exponent", "1", "n"),
        Quantity("damping", "s/m", "a/v0, damping factor divided by impact speed"),
        LOWEST_FORCE,
    )
    # Hertz's exponent, as the n of the unit N/m^n in the verification report.
    examples: ClassVar[dict[str, Any]] = {"exponent": 1.5}
    validity = (
        "impacts with a speed near the speed in the damping term; n below 1 only if contacts "
        "stay closed"
    )
    status = "verified against the closed forms of duration, largest overlap, and restitution"

    @classmethod
    def model(cls, inputs: SimpleNamespace) -> Model:
        """Return the model, without the rate if no energy is lost."""
        shared = super().model(inputs)
        if not is_elastic(inputs):
            return shared
        return replace(
            shared,
            coefficients=cls.coefficients[:2],
            functions=shared.functions._replace(force=elastic_force),
            uses_rate=False,
        )

    @staticmethod
    def factor(inputs: SimpleNamespace) -> Any:
        """Return the factor a that gives the nominal restitution."""
        return exact_damping_factor(inputs.restitution)

    @classmethod
    def coefficients_of(cls, pair: Any, inputs: SimpleNamespace) -> tuple[Any, ...]:
        spring = inputs.stiffness, inputs.exponent
        if is_elastic(inputs):
            return spring
        return *spring, cls.factor(inputs) / inputs.impact_speed, lowest_force(inputs)

    @staticmethod
    def force(overlap: float, rate: float, c: tuple, h: tuple) -> float:
        stiffness, n, damping, lowest_force = c
        d = overlap if overlap > OPEN else 0.0
        f = stiffness * elementary.power(d, n) * (1.0 + damping * rate)
        return f if f > lowest_force else lowest_force

    @staticmethod
    def energy(overlap: float, c: tuple, h: tuple) -> float:
        stiffness, n = c[0], c[1]
        d = overlap if overlap > OPEN else 0.0
        return stiffness * d * elementary.power(d, n) / (n + 1.0)
