"""Permanent indentation without a yield stress: the residual indentation is a fixed fraction of the
largest overlap.

The restitution determines this fraction.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from granchain.contact.guard import ELASTOPLASTIC_HISTORY, Elastoplastic
from granchain.contact.law import (
    DENTS,
    OPEN,
    RESTITUTION,
    STIFFNESS,
    ContactLaw,
    Quantity,
    Source,
    checked,
    positive,
)
from granchain.contact.pair import stiffness_of
from granchain.errors import LawError


class PermanentIndentation(Elastoplastic):
    """Base: K d^1.5 on loading, K_r (d - d_p)^1.5 on unloading and reloading, with d_p = d_max (1 -
    e^2).

    The unloading curve passes through (d_max, F_max). The work recovered is e^2 of the work
    supplied for every d_max, so no energy is created and the energy correction never acts.
    """

    inputs = (RESTITUTION, STIFFNESS, DENTS)
    coefficients = (
        Quantity("stiffness", "N/m^1.5", "K, loading"),
        Quantity("dent_share", "1", "1 - e^2, residual indentation divided by largest overlap"),
    )
    validity = "the first impact at a contact point"
    status = "verified: the first impact has the nominal restitution"

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
    """Lankarani and Nikravesh with residual indentation: K d^1.5, then F_max ((d - d_p)/(d_max -
    d_p))^1.5 with d_p = d_max (1 - e^2).

    The first impact of a contact has exactly the nominal restitution e. A second impact that is not
    faster than the rebound follows the unloading curve and is elastic. A second impact at the first
    speed has the restitution e sqrt(2 - e^2), unless the contact forgets its indentation. The law
    is rate independent, and any overlap leaves a residual indentation. The contact ends at d = d_p.
    In Autiero et al. 2022, eq. (93) has the wrong sign and eq. (97) omits the square of the speed;
    with the square, d_p = d_max (1 - e^2).
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

    Here e is the energetic restitution: the square root of the work recovered divided by the work
    supplied. The curves are those of Lankarani and Nikravesh 1994, because K d_max^1.5 = K_r (e^2
    d_max)^1.5. The first impact of a contact has exactly the nominal restitution. A second impact
    is elastic up to the rebound speed, unless the contact forgets its indentation. The contact ends
    at d = d_p. Autiero et al. 2022 print eq. (142) inverted.
    """

    name = "gharib-hurmuzlu-plastic"
    source = Source(
        "Gharib & Hurmuzlu 2012; Autiero et al. 2022",
        "eqs. (135)-(145)",
        "10.1115/1.4006494; 10.3390/machines10110966",
    )


class WaltonBraun(ContactLaw):
    """Walton and Braun, bilinear latching spring: K_1 d on loading, K_2 (d - d_r) on unloading and
    reloading, with d_r = d_max (1 - K_1/K_2).

    The restitution of the first impact is sqrt(K_1/K_2) at every speed and mass, and the first
    impact takes (pi/2) (sqrt(m/K_1) + sqrt(m/K_2)). A second impact that is not faster than the
    rebound is elastic. The law is rate independent, and any overlap leaves a residual indentation.
    The contact ends at d = d_r. Both stiffnesses are constants; the variant in which K_2 increases
    with the largest force is not included.
    """

    name = "walton-braun"
    source = Source(
        "Walton & Braun 1986; documentation of Exudyn, ObjectContactSphereSphere",
        "elastoplastic model with exponent 1 and without adhesion",
        "10.1122/1.549893",
    )
    inputs = (
        positive("loading_stiffness", "N/m", "stiffness of loading K_1"),
        positive("unloading_stiffness", "N/m", "stiffness of unloading K_2, at least K_1"),
    )
    coefficients = (
        Quantity("loading_stiffness", "N/m", "K_1"),
        Quantity("reloading_stiffness", "N/m", "K_2"),
        Quantity("dent_share", "1", "1 - K_1/K_2, residual indentation divided by largest overlap"),
    )
    history = ELASTOPLASTIC_HISTORY[:2]
    # 100 N at 10 um, as in the steel chain, and a restitution of 0.65.
    examples: ClassVar[dict[str, Any]] = {
        "loading_stiffness": 1e7,
        "unloading_stiffness": 1e7 / 0.65**2,
    }
    validity = "the first impact at a contact point; restitution that does not depend on the speed"
    status = "verified against its closed forms and an independent integration"

    @staticmethod
    def coefficients_of(pair: Any, inputs: SimpleNamespace) -> tuple[Any, ...]:
        loading, unloading = inputs.loading_stiffness, inputs.unloading_stiffness
        if np.any(unloading < loading):
            raise LawError(
                f"unloading_stiffness: {unloading:g} is out of range. It must be at least "
                f"loading_stiffness, {loading:g} N/m, because a contact cannot create energy."
            )
        return loading, unloading, (unloading - loading) / unloading

    @staticmethod
    def history_of(c: tuple) -> tuple:
        return (OPEN, 0.0)

    @staticmethod
    def force(overlap: float, rate: float, c: tuple, h: tuple) -> float:
        x = overlap - h[1]
        return c[1] * (x if x > OPEN else 0.0)

    @staticmethod
    def needs_update(overlap: float, rate: float, c: tuple, h: tuple) -> bool:
        return overlap > h[0]

    @staticmethod
    def update(event: tuple, c: tuple, h: tuple) -> tuple:
        return event[0], c[2] * event[0]

    @staticmethod
    def energy(overlap: float, c: tuple, h: tuple) -> float:
        x = overlap - h[1]
        x = x if x > OPEN else 0.0
        return 0.5 * c[1] * x * x

    @staticmethod
    def plastic(c: tuple, h: tuple) -> float:
        # K_1 d^2/2 - K_2 (d - d_r)^2/2 with K_2 (d - d_r) = K_1 d.
        return 0.5 * c[0] * c[2] * h[0] * h[0]
