"""Hysteresis dashpots: F = K d^n (1 + a rate/v0), one family, one damping factor a(e) a law.

The delivered restitution depends on the factor a alone: it solves Phi(a) = Phi(-a e_out), Phi(z) = z - ln(1 + z), for every n, K, m
and v0 (`granchain.theory.delivered_restitution`). v0 is the approach speed at the start of the contact; beads that touch at rest
have none, so a run says which speed it took (`impact_speed`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar

from granchain.contact.law import (
    IMPACT_SPEED,
    IMPACT_SPEED_FLOOR,
    LOWEST_FORCE,
    OPEN,
    PSI,
    RESTITUTION,
    SEPARATION,
    STIFFNESS,
    XI,
    ContactLaw,
    Quantity,
    Source,
)
from granchain.contact.pair import linearised_plastic_stiffness, ma_liu_points
from granchain.errors import LawError


class Hysteresis(ContactLaw):
    """Base of the family with exponent 1.5: F = K d^1.5 (1 + a rate/v0)."""

    inputs = (RESTITUTION, IMPACT_SPEED, IMPACT_SPEED_FLOOR, STIFFNESS, SEPARATION)
    coefficients = (
        Quantity("stiffness", "N/m^1.5", "K"),
        Quantity("damping", "s/m", "a/v0, damping factor over impact speed"),
        LOWEST_FORCE,
    )
    uses_rate = True
    validity = "impacts whose speed is near the one in the damping term"
    status = "verified against the closed form of the delivered restitution"
    _at_onset: ClassVar[dict[str, type[ContactLaw]]] = {}

    @classmethod
    def variant(cls, inputs: SimpleNamespace) -> type[ContactLaw]:
        """The law with one speed for all contacts, or with each contact's own."""
        if inputs.impact_speed != "onset":
            return cls
        if cls.name not in cls._at_onset:
            functions = {name: staticmethod(getattr(AtOnset, name)) for name in ("history_of", "force", "needs_update", "update")}
            data = {"__doc__": cls.__doc__, "history": AtOnset.history, "coefficients": AtOnset.coefficients}
            cls._at_onset[cls.name] = type(f"{cls.__name__}AtOnset", (cls,), {**data, **functions})
        return cls._at_onset[cls.name]

    @staticmethod
    def damping_factor(restitution: Any) -> Any:
        """a(e) of the law."""
        raise NotImplementedError

    @classmethod
    def coefficients_of(cls, pair: Any, inputs: SimpleNamespace) -> tuple[Any, ...]:  # type: ignore[override]
        stiffness = pair.hertz_stiffness if inputs.stiffness is None else inputs.stiffness
        damping, lowest_force = cls.damping_factor(inputs.restitution), 0.0 if inputs.separation == "clamped" else -math.inf
        if inputs.impact_speed != "onset":
            return stiffness, damping / inputs.impact_speed, lowest_force
        if inputs.impact_speed_floor is None:
            raise LawError('impact_speed = "onset" needs impact_speed_floor: contacts that close at zero speed have no other speed')
        return stiffness, damping, lowest_force, inputs.impact_speed_floor

    @staticmethod
    def force(overlap: float, rate: float, c: tuple, h: tuple) -> float:
        stiffness, damping, lowest_force = c
        d = overlap if overlap > OPEN else 0.0
        f = stiffness * (d * math.sqrt(d)) * (1.0 + damping * rate)
        return f if f > lowest_force else lowest_force

    @staticmethod
    def energy(overlap: float, c: tuple, h: tuple) -> float:
        d = overlap if overlap > OPEN else 0.0
        return 0.4 * c[0] * (d * d * math.sqrt(d))


class AtOnset:
    """The family with each contact's own approach speed, interpolated to its onset, and never below a floor."""

    coefficients = (
        Quantity("stiffness", "N/m^1.5", "K"),
        Quantity("damping", "1", "a, damping factor"),
        LOWEST_FORCE,
        Quantity("impact_speed_floor", "m/s", "smallest speed in the damping term"),
    )
    history = (
        Quantity("impact_speed", "m/s", "approach speed at the contact's last onset", output=True),
        Quantity("closed", "1", "1 while the contact is closed, 0 while it is open"),
        Quantity("floored", "1", "number of onsets at which the floor acted"),
    )

    @staticmethod
    def history_of(c: tuple) -> tuple:
        return (c[3], 0.0, 0.0)

    @staticmethod
    def force(overlap: float, rate: float, c: tuple, h: tuple) -> float:
        stiffness, damping, lowest_force, _ = c
        d = overlap if overlap > OPEN else 0.0
        f = stiffness * (d * math.sqrt(d)) * (1.0 + damping * rate / h[0])
        return f if f > lowest_force else lowest_force

    @staticmethod
    def needs_update(overlap: float, rate: float, c: tuple, h: tuple) -> bool:
        return (overlap > OPEN) != (h[1] > 0.0)

    @staticmethod
    def update(event: tuple, c: tuple, h: tuple) -> tuple:
        overlap, _, onset_rate, _ = event
        if overlap <= OPEN:
            return (h[0], 0.0, h[2])
        return (onset_rate, 1.0, h[2]) if onset_rate > c[3] else (c[3], 1.0, h[2] + 1.0)


class HuntCrossley(Hysteresis):
    """Hunt and Crossley: a = 1.5 (1 - e).

    Right for e near 1 only: delivers .6630 for an asked .5. The contact ends at d = 0.
    """

    name = "hunt-crossley"
    source = Source("Hunt & Crossley 1975", "eq. (11)", "10.1115/1.3423596")

    @staticmethod
    def damping_factor(restitution: Any) -> Any:
        return 1.5 * (1.0 - restitution)


class LankaraniNikravesh(Hysteresis):
    """Lankarani and Nikravesh: a = 0.75 (1 - e^2).

    Right for e near 1 only: delivers .7252 for an asked .5. The contact ends at d = 0.
    """

    name = "lankarani-nikravesh"
    source = Source("Lankarani & Nikravesh 1990", "", "10.1115/1.2912617")

    @staticmethod
    def damping_factor(restitution: Any) -> Any:
        return 0.75 * (1.0 - restitution * restitution)


class Flores(Hysteresis):
    """Flores et al.: a = 1.6 (1 - e)/e.

    Within .04 of the asked restitution: delivers .4704 for .5. The contact ends at d = 0.
    """

    name = "flores"
    source = Source("Flores et al. 2011", "", "10.1007/s11044-010-9237-4")

    @staticmethod
    def damping_factor(restitution: Any) -> Any:
        return 1.6 * (1.0 - restitution) / restitution


class WangLiuHysteretic(ContactLaw):
    """The elastoplastic dashpot of Wang, Liu and Liu: F = K_p d (1 + a rate/v0) above d_y, Flores et al. below.

    a = 1.5 (1 - e)/e, K_p = (F_p - F_y)/(d_p - d_y) of Ma-Liu. The switch is on the overlap, without offset: the force jumps at
    d_y (from 1.98 to 8.88 N for the steel chain), so the law is of first order in time. The contact ends at d = 0.
    """

    name = "wang-liu-hysteretic"
    source = Source("Wang, Liu & Liu 2022", "eq. (18) and sec. 5.2", "10.1016/j.ijmecsci.2022.107214")
    inputs = (RESTITUTION, PSI, XI, replace(IMPACT_SPEED, choices=("striker",)), SEPARATION)
    coefficients = (
        Quantity("yield_overlap", "m", "d_y, where the law switches"),
        Quantity("stiffness", "N/m^1.5", "K of Hertz, below d_y"),
        Quantity("damping", "s/m", "a/v0 of Flores et al., below d_y"),
        Quantity("plastic_stiffness", "N/m", "K_p, above d_y"),
        Quantity("plastic_damping", "s/m", "a/v0, above d_y"),
        LOWEST_FORCE,
    )
    uses_rate = True
    order = 1
    validity = "impacts whose speed is near the one in the damping term"
    status = "verified against Wang, Liu & Liu 2022, tables 3, 4, 6, 7 (two bodies); not validated against a measured trace"

    @staticmethod
    def coefficients_of(pair: Any, inputs: SimpleNamespace) -> tuple[Any, ...]:
        e, v0 = inputs.restitution, inputs.impact_speed
        return (
            ma_liu_points(pair, inputs.psi, inputs.xi)[0],
            pair.hertz_stiffness,
            Flores.damping_factor(e) / v0,
            linearised_plastic_stiffness(pair, inputs.psi, inputs.xi),
            1.5 * (1.0 - e) / e / v0,
            0.0 if inputs.separation == "clamped" else -math.inf,
        )

    @staticmethod
    def force(overlap: float, rate: float, c: tuple, h: tuple) -> float:
        d_y, stiffness, damping, plastic_stiffness, plastic_damping, lowest_force = c
        d = overlap if overlap > OPEN else 0.0
        below = stiffness * (d * math.sqrt(d)) * (1.0 + damping * rate)
        above = plastic_stiffness * d * (1.0 + plastic_damping * rate)
        f = above if d > d_y else below
        return f if f > lowest_force else lowest_force

    @staticmethod
    def energy(overlap: float, c: tuple, h: tuple) -> float:
        d_y, stiffness, _, plastic_stiffness, _, _ = c
        d = overlap if overlap > OPEN else 0.0
        s = d if d < d_y else d_y
        return 0.4 * stiffness * (s * s * math.sqrt(s)) + 0.5 * plastic_stiffness * (d * d - s * s)
