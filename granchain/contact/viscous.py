"""Viscous dashpots: F = K d^n + c d^a rate, without an impact speed.

How a contact ends decides the restitution. At d = 0 the force has become negative: the law pulls the bodies together at the end
("tensile"), and delivers the asked restitution. Dry beads cannot pull: "clamped" (default) holds the force at zero or above and
delivers more, e^(1 - (2/pi) atan(|ln e|/pi)). The damping of a contact begins like d^a with a < 1, so its first step carries an
onset weight for order two.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from granchain.contact.law import (
    LOWEST_FORCE,
    ONSET_HISTORY,
    OPEN,
    PSI,
    RESTITUTION,
    SEPARATION,
    STIFFNESS,
    XI,
    ContactLaw,
    Quantity,
    Source,
    onset_weight,
    positive,
)
from granchain.contact.pair import Pair, damping_ratio, linearised_plastic_stiffness

# Polynomial of the onset weight for damping ~ d^(1/4); for damping without a power of d the weight is 1/2 + theta.
QUARTER = onset_weight(0.25)


def lowest_force(separation: str) -> float:
    """Lowest force of a contact that is clamped, or may pull [N]."""
    return 0.0 if separation == "clamped" else -math.inf


class Viscous(ContactLaw):
    """Base of the viscous laws: history and events of a contact with an onset weight."""

    history = ONSET_HISTORY
    uses_rate = True
    validity = "speed-independent restitution, unlike metal spheres"
    status = "verified against the closed form of the delivered restitution, tensile and clamped"

    @staticmethod
    def history_of(c: tuple) -> tuple:
        return (1.0, 0.0)

    @staticmethod
    def needs_update(overlap: float, rate: float, c: tuple, h: tuple) -> bool:
        weight, closed = h
        return ((overlap > OPEN) != (closed > 0.0)) | (weight != 1.0)


class Linear(Viscous):
    """Base of the linear viscous laws: F = K d + c rate."""

    coefficients = (Quantity("stiffness", "N/m", "K"), Quantity("damping", "N s/m", "c"), LOWEST_FORCE)

    @staticmethod
    def force(overlap: float, rate: float, c: tuple, h: tuple) -> float:
        stiffness, damping, lowest = c
        f = stiffness * overlap + h[0] * damping * rate
        f = f if f > lowest else lowest
        return f if overlap > OPEN else 0.0

    @staticmethod
    def update(event: tuple, c: tuple, h: tuple) -> tuple:
        overlap, _, _, theta = event
        if overlap <= OPEN:
            return (1.0, 0.0)
        return (1.0 if h[1] > 0.0 else 0.5 + theta, 1.0)

    @staticmethod
    def energy(overlap: float, c: tuple, h: tuple) -> float:
        d = overlap if overlap > OPEN else 0.0
        return 0.5 * c[0] * d * d


class KelvinVoigt(Linear):
    """Linear spring and dashpot: F = K d + 2 zeta sqrt(K m) rate, zeta = |ln e|/sqrt(pi^2 + ln^2 e).

    Delivers e exactly where the contact ends at d = 0 (separation = "tensile"). The force jumps at the onset.
    """

    name = "kelvin-voigt"
    source = Source("Kelvin-Voigt model; Wang et al. 2022, review of contact force models", "eqs. (31), (32)", "")
    inputs = (RESTITUTION, positive("stiffness", "N/m", "K"), SEPARATION)

    @staticmethod
    def coefficients_of(pair: Pair, inputs: SimpleNamespace) -> tuple[Any, ...]:
        stiffness = inputs.stiffness
        damping = 2.0 * damping_ratio(inputs.restitution) * np.sqrt(stiffness * pair.effective_mass)
        return stiffness, damping, lowest_force(inputs.separation)


class WangLiuViscous(Linear):
    """Kelvin-Voigt with the stiffness of Ma-Liu's elastoplastic branch: F = K_p d + 2 zeta sqrt(K_p m) rate.

    K_p = (F_p - F_y)/(d_p - d_y). Made for the granular chain, to need no impact speed. Delivers e where the contact ends at d = 0.
    """

    name = "wang-liu-viscous"
    source = Source("Wang et al. 2022, review of contact force models", "eq. (55)", "")
    inputs = (RESTITUTION, PSI, XI, SEPARATION)

    @staticmethod
    def coefficients_of(pair: Pair, inputs: SimpleNamespace) -> tuple[Any, ...]:
        stiffness = linearised_plastic_stiffness(pair, inputs.psi, inputs.xi)
        damping = 2.0 * damping_ratio(inputs.restitution) * np.sqrt(stiffness * pair.effective_mass)
        return stiffness, damping, lowest_force(inputs.separation)


class Tsuji(Viscous):
    """Hertz spring with damping ~ d^(1/4), the law of EDEM: F = K d^1.5 + sqrt(5) zeta sqrt(K m) d^.25 rate.

    Delivers e exactly where the contact ends at d = 0 (separation = "tensile").
    """

    name = "tsuji"
    source = Source("Tsuji, Tanaka & Ishida 1992", "eqs. (13)-(15)", "10.1016/0032-5910(92)88030-L")
    inputs = (RESTITUTION, STIFFNESS, SEPARATION)
    coefficients = (Quantity("stiffness", "N/m^1.5", "K"), Quantity("damping", "N s/m^1.25", "c"), LOWEST_FORCE)

    @staticmethod
    def coefficients_of(pair: Pair, inputs: SimpleNamespace) -> tuple[Any, ...]:
        stiffness = pair.hertz_stiffness if inputs.stiffness is None else inputs.stiffness
        damping = math.sqrt(5.0) * damping_ratio(inputs.restitution) * np.sqrt(stiffness * pair.effective_mass)
        return stiffness, damping, lowest_force(inputs.separation)

    @staticmethod
    def force(overlap: float, rate: float, c: tuple, h: tuple) -> float:
        stiffness, damping, lowest = c
        d = overlap if overlap > OPEN else 0.0
        root = math.sqrt(d)
        f = stiffness * (d * root) + h[0] * damping * math.sqrt(root) * rate
        f = f if f > lowest else lowest
        return f if overlap > OPEN else 0.0

    @staticmethod
    def update(event: tuple, c: tuple, h: tuple) -> tuple:
        overlap, _, _, theta = event
        if overlap <= OPEN:
            return (1.0, 0.0)
        if h[1] > 0.0:
            return (1.0, 1.0)
        weight = 0.0
        for coefficient in QUARTER:
            weight = weight * theta + coefficient
        return (weight / math.sqrt(math.sqrt(theta)), 1.0)

    @staticmethod
    def energy(overlap: float, c: tuple, h: tuple) -> float:
        d = overlap if overlap > OPEN else 0.0
        return 0.4 * c[0] * (d * d * math.sqrt(d))
