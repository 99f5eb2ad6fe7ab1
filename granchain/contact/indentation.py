"""Permanent indentation without a yield stress: the dent is a fixed part of the largest
overlap, chosen by the restitution."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

from granchain.contact.guard import Elastoplastic
from granchain.contact.law import DENTS, RESTITUTION, STIFFNESS, Quantity, Source, checked
from granchain.contact.pair import stiffness_of


class PermanentIndentation(Elastoplastic):
    """Base: loading K d^1.5, unloading and reloading K_r (d - d_p)^1.5 through (d_max, F_max), with
    d_p = d_max (1 - e^2).

    The work given back is e^2 of the work taken at every d_max: no energy is created, and the guard
    never acts.
    """

    inputs = (RESTITUTION, STIFFNESS, DENTS)
    coefficients = (
        Quantity("stiffness", "N/m^1.5", "K, loading"),
        Quantity("dent_share", "1", "1 - e^2, dent over largest overlap"),
    )
    # any overlap leaves a dent, of the same part
    phases = ("open", "elastoplastic", "unloading", "reloading")
    validity = "the first impact of two spots"
    status = "verified: the first impact delivers the asked restitution"

    @staticmethod
    def coefficients_of(pair: Any, inputs: SimpleNamespace) -> tuple[Any, ...]:
        e = checked(RESTITUTION, inputs.restitution)
        return stiffness_of(pair, inputs), (1.0 - e) * (1.0 + e)

    @staticmethod
    def elastic_limit(c: tuple) -> float:
        return 0.0

    @staticmethod
    def elastic_stiffness(c: tuple) -> float:
        return c[0]

    @staticmethod
    def loading(d: float, c: tuple) -> float:
        return c[0] * (d * math.sqrt(d))

    @staticmethod
    def loading_work(d: float, c: tuple) -> float:
        return 0.4 * c[0] * (d * d * math.sqrt(d))

    @staticmethod
    def residual(d_max: float, force_max: float, c: tuple) -> float:
        return d_max * c[1]


class LankaraniNikraveshPlastic(PermanentIndentation):
    """Lankarani and Nikravesh with a dent: K d^1.5, then F_max ((d - d_p)/(d_max - d_p))^1.5 with
    d_p = d_max (1 - e^2).

    Delivers e exactly at a contact's first impact. A second one, up to the speed of the rebound,
    stays on the unloading curve and is elastic; with the first speed again it returns e sqrt(2 -
    e^2), unless dents are forgotten. Rate independent; any overlap leaves a dent. The contact ends
    at d = d_p. In Autiero et al. 2022 eq. (93) has the wrong sign and eq. (97) misses the square of
    the speed: with it d_p = d_max (1 - e^2).
    """

    name = "lankarani-nikravesh-plastic"
    source = Source(
        "Lankarani & Nikravesh 1994; Autiero et al. 2022",
        "eqs. (91)-(97)",
        "10.1007/BF00045676; 10.3390/machines10110966",
    )


class GharibHurmuzluPlastic(PermanentIndentation):
    """Gharib and Hurmuzlu, second law: K d^1.5, then K_r (d - d_p)^1.5 with K_r = K/e^3 and d_p =
    d_max (1 - e^2).

    e is the energetic restitution, the root of the work given back over the work taken. The same
    curves as Lankarani and Nikravesh's of 1994, since K d_max^1.5 = K_r (e^2 d_max)^1.5: it
    delivers e exactly at a contact's first impact; a second one is elastic up to the speed of the
    rebound, unless dents are forgotten. The contact ends at d = d_p. Autiero et al. 2022 print eq.
    (142) inverted.
    """

    name = "gharib-hurmuzlu-plastic"
    source = Source(
        "Gharib & Hurmuzlu 2012; Autiero et al. 2022",
        "eqs. (135)-(145)",
        "10.1115/1.4006494; 10.3390/machines10110966",
    )
