"""Permanent indentation without a yield stress: the residual indentation is a fixed fraction of the
largest overlap.

The restitution determines this fraction.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

from granchain.contact.guard import Elastoplastic
from granchain.contact.law import DENTS, RESTITUTION, STIFFNESS, Quantity, Source, checked
from granchain.contact.pair import stiffness_of


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
