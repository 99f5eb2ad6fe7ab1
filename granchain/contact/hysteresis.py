"""Hysteresis dashpots: F = K d^n (1 + a rate/v0), where each law has a different damping factor
a(e).

The effective restitution e_out depends on the factor a only. It solves Phi(a) = Phi(-a e_out),
Phi(z) = z - ln(1 + z), for every n, K, m, and v0 (`granchain.theory.delivered_restitution`).
Therefore only a few of the published factors give the nominal restitution e; `damping =
"identified"` computes the factor that does. A law is correct for e near 1 only if a approaches 1.5
(1 - e). Here v0 is the approach speed at the start of the contact. Beads that touch at rest have no
such speed, so a run reports the speed that it used (`impact_speed`). The force ends at d = 0. In an
impact of two bodies it never pulls, because 1 - a e_out is greater than 0.

The effective restitutions in the descriptions are computed, and all digits are significant.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from granchain.contact import elementary
from granchain.contact.law import (
    DAMPING,
    IMPACT_SPEED,
    IMPACT_SPEED_FLOOR,
    LOWEST_FORCE,
    OPEN,
    PSI,
    RESTITUTION,
    REVIEW,
    SEPARATION,
    SPEED_NODES,
    STIFFNESS,
    XI,
    ContactLaw,
    Quantity,
    Source,
    checked,
    positive,
)
from granchain.contact.model import Model
from granchain.contact.pair import (
    exact_damping_factor,
    linearised_plastic_stiffness,
    lowest_force,
    ma_liu_points,
    stiffness_of,
)
from granchain.errors import LawError

# Laws whose factor is finite at e = 0 accept this value; laws with 1/e or ln e do not.
FROM_ZERO = replace(RESTITUTION, above=None, low=0.0)
# With exponent 1, radius and modulus give no stiffness.
LINEAR_STIFFNESS = positive("stiffness", "N/m", "contact stiffness")


def three_halves(d: float) -> float:
    """Return d^1.5, with one square root."""
    return d * math.sqrt(d)


def three_halves_work(d: float) -> float:
    """Return the integral of d^1.5."""
    return 0.4 * (d * d * math.sqrt(d))


def straight(d: float) -> float:
    """Return d."""
    return d


def straight_work(d: float) -> float:
    """Return the integral of d."""
    return 0.5 * (d * d)


class OwnSpeed(NamedTuple):
    """Quantities of a contact with an individual approach speed, and functions that use it."""

    coefficients: tuple[Quantity, ...]
    history: tuple[Quantity, ...]
    functions: dict[str, Callable]


def spring(
    power: Callable, work: Callable, unit: str
) -> Callable[[type[Hysteresis]], type[Hysteresis]]:
    """Return a class decorator that sets the functions for the elastic force K power(d).

    The integral of this force is K work(d).
    """

    def force(overlap: float, rate: float, c: tuple, h: tuple) -> float:
        stiffness, damping, lowest_force = c
        d = overlap if overlap > OPEN else 0.0
        f = stiffness * power(d) * (1.0 + damping * rate)
        return f if f > lowest_force else lowest_force

    def force_at_onset(overlap: float, rate: float, c: tuple, h: tuple) -> float:
        stiffness, damping, lowest_force, _ = c
        d = overlap if overlap > OPEN else 0.0
        f = stiffness * power(d) * (1.0 + damping * rate / h[0])
        return f if f > lowest_force else lowest_force

    def force_from_law(overlap: float, rate: float, c: tuple, h: tuple) -> float:
        d = overlap if overlap > OPEN else 0.0
        f = c[0] * power(d) * (1.0 + h[3] * rate / h[0])
        return f if f > c[1] else c[1]

    def energy(overlap: float, c: tuple, h: tuple) -> float:
        d = overlap if overlap > OPEN else 0.0
        return c[0] * work(d)

    def decorate(cls: type[Hysteresis]) -> type[Hysteresis]:
        stiffness = Quantity("stiffness", unit, "K")
        cls.coefficients = (
            stiffness,
            Quantity("damping", "s/m", "a/v0, damping factor over impact speed"),
            LOWEST_FORCE,
        )
        cls.force = staticmethod(force)  # type: ignore[method-assign]
        cls.energy = staticmethod(energy)  # type: ignore[method-assign]
        cls.at_onset = OwnSpeed(
            (stiffness, Quantity("damping", "1", "a, damping factor"), LOWEST_FORCE, _FLOOR),
            _ONSETS,
            {
                "force": force_at_onset,
                "history_of": _history_of,
                "needs_update": _needs_update,
                "update": _update,
            },
        )
        cls.from_law = OwnSpeed(
            (stiffness, LOWEST_FORCE, _FLOOR, _LOG_STEP, *_RESTITUTION_FACTORS),
            (
                *_ONSETS,
                Quantity("damping_factor", "1", "a at the contact's last onset", output=True),
            ),
            {
                "force": force_from_law,
                "history_of": _history_from_law,
                "needs_update": _needs_update,
                "update": _update_from_law,
            },
        )
        return cls

    return decorate


# Individual approach speed of each contact, interpolated to its onset, with a minimum.
_FLOOR = Quantity("impact_speed_floor", "m/s", "minimum speed in the damping term")
_ONSETS = (
    Quantity("impact_speed", "m/s", "approach speed at the contact's last onset", output=True),
    Quantity("closed", "1", "1 while the contact is closed, 0 while it is open"),
    Quantity("floored", "1", "number of onsets at which the minimum speed was used"),
)


def _history_of(c: tuple) -> tuple:
    return (c[3], 0.0, 0.0)


def _needs_update(overlap: float, rate: float, c: tuple, h: tuple) -> bool:
    return (overlap > OPEN) != (h[1] > 0.0)


def _update(event: tuple, c: tuple, h: tuple) -> tuple:
    overlap, _, onset_rate, _ = event
    if overlap <= OPEN:
        return (h[0], 0.0, h[2])
    return (onset_rate, 1.0, h[2]) if onset_rate > c[3] else (c[3], 1.0, h[2] + 1.0)


# In addition, the restitution that another law gives at this speed: the factor at SPEED_NODES
# speeds from the minimum.
_LOG_STEP = Quantity("log_step", "1", "logarithm of the ratio of successive speeds")
_RESTITUTION_FACTORS = tuple(
    Quantity(f"factor_{j}", "1", "factor a at one of the speeds") for j in range(SPEED_NODES)
)


def _history_from_law(c: tuple) -> tuple:
    return (c[2], 0.0, 0.0, c[4])


def _update_from_law(event: tuple, c: tuple, h: tuple) -> tuple:
    overlap, _, onset_rate, _ = event
    if overlap <= OPEN:
        return (h[0], 0.0, h[2], h[3])
    if not onset_rate > c[2]:
        return (c[2], 1.0, h[2] + 1.0, c[4])
    x = elementary.log(onset_rate / c[2]) / c[3]
    x = x if x < SPEED_NODES - 1.0 else SPEED_NODES - 1.0
    i = int(x)
    i = i if i > 1 else 1
    i = i if i < SPEED_NODES - 3 else SPEED_NODES - 3
    # The cubic through the nodes i - 1 .. i + 2.
    t = x - i
    p, q, r, s = c[3 + i], c[4 + i], c[5 + i], c[6 + i]
    cubic = (s - 3.0 * r + 3.0 * q - p) / 6.0
    square = (r - 2.0 * q + p) / 2.0
    line = (6.0 * r - 3.0 * q - 2.0 * p - s) / 6.0
    return (onset_rate, 1.0, h[2], ((cubic * t + square) * t + line) * t + q)


def inputs_with(
    restitution: Quantity = RESTITUTION, stiffness: Quantity = STIFFNESS
) -> tuple[Quantity, ...]:
    """Return the inputs of the family, with the range of restitution or stiffness of a law."""
    return restitution, DAMPING, IMPACT_SPEED, IMPACT_SPEED_FLOOR, stiffness, SEPARATION


@spring(three_halves, three_halves_work, "N/m^1.5")
class Hysteresis(ContactLaw):
    """Base of the family, with exponent 1.5: F = K d^1.5 (1 + a rate/v0)."""

    inputs = inputs_with()
    validity = "impacts with a speed near the speed in the damping term"
    status = "verified against the closed form of the effective restitution"
    at_onset: ClassVar[OwnSpeed]
    from_law: ClassVar[OwnSpeed]

    @classmethod
    def model(cls, inputs: SimpleNamespace) -> Model:
        """Return the model with a common approach speed, or an individual one for each contact.

        With individual speeds, another law may give the restitution.
        """
        shared = super().model(inputs)
        if getattr(inputs, "impact_speed", None) != "onset":
            return shared
        own = cls.from_law if np.ndim(inputs.restitution) == 2 else cls.at_onset
        return replace(
            shared,
            coefficients=own.coefficients,
            history=own.history,
            functions=shared.functions._replace(**own.functions),
        )

    @staticmethod
    def damping_factor(restitution: Any) -> Any:
        """Return the damping factor a(e) according to the source of the law."""
        raise NotImplementedError

    @classmethod
    def factor(cls, inputs: SimpleNamespace) -> Any:
        """Return the factor a, as published or identified."""
        (quantity,) = (quantity for quantity in cls.inputs if quantity.name == "restitution")
        asked = checked(quantity, inputs.restitution)
        return (
            exact_damping_factor(asked)
            if getattr(inputs, "damping", "") == "identified"
            else cls.damping_factor(asked)
        )

    @classmethod
    def coefficients_of(cls, pair: Any, inputs: SimpleNamespace) -> tuple[Any, ...]:
        stiffness, damping, lowest = (
            stiffness_of(pair, inputs),
            cls.factor(inputs),
            lowest_force(inputs),
        )
        # numbers, or "onset"
        if not isinstance(inputs.impact_speed, str):
            return stiffness, damping / inputs.impact_speed, lowest
        if inputs.impact_speed_floor is None:
            raise LawError(
                "impact_speed_floor: missing. It must be a number above 0 [m/s], the speed of "
                "contacts that close at zero speed. Give it, or choose an impact_speed other than "
                '"onset".'
            )
        if np.ndim(inputs.restitution) == 2:
            log_step = elementary.log(inputs.fastest / inputs.impact_speed_floor) / (
                SPEED_NODES - 1
            )
            return stiffness, lowest, inputs.impact_speed_floor, log_step, *damping
        return stiffness, damping, lowest, inputs.impact_speed_floor


class HuntCrossley(Hysteresis):
    """Hunt and Crossley: a = 1.5 (1 - e).

    The factor follows from the loss of the elastic motion if the restitution decreases linearly
    with the speed. It is accurate for e near 1 only: a nominal restitution of 0.5 gives 0.6630, and
    0.1 gives 0.5158. The contact ends at d = 0.
    """

    name = "hunt-crossley"
    source = Source("Hunt & Crossley 1975", "eq. (11)", "10.1115/1.3423596")
    inputs = inputs_with(FROM_ZERO)
    validity = "restitution near 1; impacts with a speed near the speed in the damping term"

    @staticmethod
    def damping_factor(restitution: Any) -> Any:
        return 1.5 * (1.0 - restitution)


class HerbertMcWhannell(Hysteresis):
    """Herbert and McWhannell: a = 6 (1 - e)/((2 e - 1)^2 + 3).

    The factor is a third-order expansion of the logarithm in the exact equation. A nominal
    restitution of 0.5 gives 0.5936, and 0.1 gives 0.4907. The contact ends at d = 0.
    """

    name = "herbert-mcwhannell"
    source = Source(
        "Herbert & McWhannell 1977; Autiero et al. 2022",
        "eq. (25)",
        "10.1115/1.3439270; 10.3390/machines10110966",
    )
    inputs = inputs_with(FROM_ZERO)
    validity = "restitution above 0.7; impacts with a speed near the speed in the damping term"

    @staticmethod
    def damping_factor(restitution: Any) -> Any:
        centred = 2.0 * restitution - 1.0
        return 6.0 * (1.0 - restitution) / (centred * centred + 3.0)


class LeeWang(Hysteresis):
    """Lee and Wang, first law: a = 0.75 (1 - e).

    The factor is half the correct value for e near 1: a nominal restitution of 0.5 gives 0.7992,
    and 0.9 gives 0.9524. The exponent is 1.5, as in table 1 of the review by Wang et al. 2022; eq.
    (39) of Autiero et al. 2022 has the exponent 1. The restitution does not depend on the exponent.
    The contact ends at d = 0.
    """

    name = "lee-wang"
    source = Source(
        f"Lee & Wang 1983; {REVIEW}; Autiero et al. 2022",
        "table 1; eq. (39)",
        "10.1115/1.3267392; 10.3390/machines10110966",
    )
    inputs = inputs_with(FROM_ZERO)
    validity = (
        "impacts with a speed near the speed in the damping term; the loss is half the nominal loss"
    )

    @staticmethod
    def damping_factor(restitution: Any) -> Any:
        return 0.75 * (1.0 - restitution)


def lankarani_nikravesh_factor(restitution: Any) -> Any:
    """Return a = 0.75 (1 - e^2)."""
    return 0.75 * (1.0 - restitution * restitution)


class LankaraniNikravesh(Hysteresis):
    """Lankarani and Nikravesh: a = 0.75 (1 - e^2).

    The factor follows from the loss of the elastic motion, which is equal in approach and recovery.
    It is accurate for e near 1 only: a nominal restitution of 0.5 gives 0.7252, and 0 would give
    0.6630. The contact ends at d = 0.
    """

    name = "lankarani-nikravesh"
    source = Source("Lankarani & Nikravesh 1990", "", "10.1115/1.2912617")
    inputs = inputs_with(FROM_ZERO)
    validity = "restitution near 1; impacts with a speed near the speed in the damping term"
    damping_factor = staticmethod(lankarani_nikravesh_factor)


@spring(straight, straight_work, "N/m")
class KhuliefShabana(Hysteresis):
    """Khulief and Shabana: Lankarani and Nikravesh's factor with a linear spring, a = 0.75 (1 -
    e^2), n = 1.

    This is their damping coefficient with the largest overlap of the elastic motion inserted. A
    nominal restitution of 0.5 gives 0.7252. The contact ends at d = 0. Autiero et al. 2022 print
    eq. (71) with misplaced powers; the root contains v^3 - (v^2 - beta^2 d_m^2)^1.5.
    """

    name = "khulief-shabana"
    source = Source(
        "Khulief & Shabana 1987; Autiero et al. 2022",
        "eqs. (71), (72)",
        "10.1016/0094-114X(87)90004-8; 10.3390/machines10110966",
    )
    inputs = inputs_with(FROM_ZERO, LINEAR_STIFFNESS)
    validity = "restitution near 1; impacts with a speed near the speed in the damping term"
    damping_factor = staticmethod(lankarani_nikravesh_factor)


class Gonthier(Hysteresis):
    """Gonthier et al., closed form: a = (1 - e^2)/e.

    The factor is close to the exact one for small e and a third too large for e near 1. A nominal
    restitution of 0.1 gives 0.1010, 0.5 gives 0.4877, and 0.9 gives 0.8764. The contact ends at d =
    0.
    """

    name = "gonthier"
    source = Source("Gonthier et al. 2004", "", "10.1023/B:MUBO.0000029392.21648.bc")
    validity = "restitution below 0.5; impacts with a speed near the speed in the damping term"

    @staticmethod
    def damping_factor(restitution: Any) -> Any:
        return (1.0 - restitution * restitution) / restitution


class GonthierExact(Hysteresis):
    """Gonthier et al. without their approximation: a solves a (1 + e) = ln[(1 + a)/(1 - a e)].

    The effective restitution is exactly the nominal one at the speed in the damping term. The
    contact ends at d = 0. Autiero et al. 2022, eq. (115), print c instead of e.
    """

    name = "gonthier-exact"
    source = Source(
        "Gonthier et al. 2004; Autiero et al. 2022",
        "eq. (113)",
        "10.1023/B:MUBO.0000029392.21648.bc; 10.3390/machines10110966",
    )
    inputs = tuple(quantity for quantity in inputs_with() if quantity is not DAMPING)
    damping_factor = staticmethod(exact_damping_factor)


class ZhiyingQishao(Hysteresis):
    """Zhiying and Qishao: a = 0.75 (1 - e^2) exp(2 (1 - e)).

    This is Lankarani and Nikravesh's factor, corrected for small e. A nominal restitution of 0.1
    gives 0.2175, and 0.5 gives 0.4826. The contact ends at d = 0.
    """

    name = "zhiying-qishao"
    source = Source("Zhiying & Qishao 2006", "", "10.3969/j.issn.1672-6553.2006.04.002")
    inputs = inputs_with(FROM_ZERO)

    @staticmethod
    def damping_factor(restitution: Any) -> Any:
        return lankarani_nikravesh_factor(restitution) * elementary.over(
            elementary.exp, 2.0 * (1.0 - restitution)
        )


class Flores(Hysteresis):
    """Flores et al.: a = 1.6 (1 - e)/e.

    The effective restitution is within 0.046 of the nominal one: 0.5 gives 0.4704, and 0.9 gives
    0.8939. The contact ends at d = 0.
    """

    name = "flores"
    source = Source("Flores et al. 2011", "", "10.1007/s11044-010-9237-4")

    @staticmethod
    def damping_factor(restitution: Any) -> Any:
        return 1.6 * (1.0 - restitution) / restitution


class GharibHurmuzlu(Hysteresis):
    """Gharib and Hurmuzlu, first law: a = 1/e.

    The factor is intended for small e: a nominal restitution of 0.1 gives 0.1000, but 0.5 gives
    0.4107. The effective restitution never exceeds 0.5936, even for e = 1. The contact ends at d =
    0.
    """

    name = "gharib-hurmuzlu"
    source = Source("Gharib & Hurmuzlu 2012", "", "10.1115/1.4006494")
    validity = "restitution below 0.3; impacts with a speed near the speed in the damping term"

    @staticmethod
    def damping_factor(restitution: Any) -> Any:
        return 1.0 / restitution


def hu_guo_factor(restitution: Any) -> Any:
    """Return a = 1.5 (1 - e)/e."""
    return 1.5 * (1.0 - restitution) / restitution


class HuGuo(Hysteresis):
    """Hu and Guo: a = 1.5 (1 - e)/e.

    The losses of approach and recovery are computed separately, each from the elastic motion. A
    nominal restitution of 0.1 gives 0.0741, 0.5 gives 0.4877, and 0.9 gives 0.8999. The contact
    ends at d = 0.
    """

    name = "hu-guo"
    source = Source("Hu & Guo 2015", "", "10.1007/s11044-015-9453-z")
    damping_factor = staticmethod(hu_guo_factor)


# Hu et al. 2011, doi:10.4304/jcp.6.5.984-988, as quoted in the review of Wang et al. 2022, table 1.
_HU_FACTOR, _HU_POLE = 6.66264, 3.85238


class Hu(Hysteresis):
    """Hu et al.: a = -6.66264 ln e/(3.85238 + ln e).

    The factor is a fit, which approaches 1.73 (1 - e) for e near 1. A nominal restitution of 0.1
    gives 0.1010, 0.5 gives 0.4946, and 0.9 gives 0.8888. Below e = exp(-3.85238) = 0.0212 the
    factor is negative, and granchain rejects the value. The contact ends at d = 0.
    """

    name = "hu"
    source = Source("Hu et al. 2011", "", "10.4304/jcp.6.5.984-988")
    inputs = inputs_with(replace(RESTITUTION, above=elementary.exp(-_HU_POLE)))

    @staticmethod
    def damping_factor(restitution: Any) -> Any:
        log = elementary.over(elementary.log, restitution)
        return -_HU_FACTOR * log / (_HU_POLE + log)


class Shen(Hysteresis):
    """Shen et al.: a = 1.5 (1 - e)/e^0.89.

    This is Hu and Guo's factor with a fitted power. A nominal restitution of 0.1 gives 0.0954, 0.5
    gives 0.5081, and 0.9 gives 0.9009. The contact ends at d = 0.
    """

    name = "shen"
    source = Source("Shen et al. 2018", "", "10.1007/s11044-018-09638-0")

    @staticmethod
    def damping_factor(restitution: Any) -> Any:
        return 1.5 * (1.0 - restitution) / elementary.over(elementary.power, restitution, 0.89)


class CarvalhoMartins(Hysteresis):
    """Carvalho and Martins: a = 1.5 (1 - e)(11 - e)/(1 + 9 e).

    The factor is a rational approximation of the exact one. A nominal restitution of 0.1 gives
    0.1289, and 0.3 gives 0.3040. From 0.5 on, the effective restitution is within 0.0002 of the
    nominal one. The contact ends at d = 0.
    """

    name = "carvalho-martins"
    source = Source("Carvalho & Martins 2019", "", "10.1016/j.mechmachtheory.2019.03.028")
    inputs = inputs_with(FROM_ZERO)

    @staticmethod
    def damping_factor(restitution: Any) -> Any:
        return 1.5 * (1.0 - restitution) * (11.0 - restitution) / (1.0 + 9.0 * restitution)


class SafaeifarFarshidianfar(Hysteresis):
    """Safaeifar and Farshidianfar: a = 1.25 (1 - e)/e.

    The factor is a sixth too small for e near 1. A nominal restitution of 0.1 gives 0.0889, 0.5
    gives 0.5362, and 0.9 gives 0.9152. The contact ends at d = 0.
    """

    name = "safaeifar-farshidianfar"
    source = Source("Safaeifar & Farshidianfar 2020", "", "10.1007/s11044-020-09732-2")

    @staticmethod
    def damping_factor(restitution: Any) -> Any:
        return 1.25 * (1.0 - restitution) / restitution


class Zhang(Hysteresis):
    """Zhang et al.: a = 1.5 (1 - e)/((0.618 exp(-3.25 e) + 0.899 exp(0.09025 e)) e).

    The factor is fitted to the exact one. The effective restitution is within 0.0051 of the nominal
    one; 0.5 gives 0.5039. The contact ends at d = 0.
    """

    name = "zhang"
    source = Source("Zhang et al. 2020", "", "10.1016/j.mechmachtheory.2020.103946")

    @staticmethod
    def damping_factor(restitution: Any) -> Any:
        fitted = 0.618 * elementary.over(
            elementary.exp, -3.25 * restitution
        ) + 0.899 * elementary.over(elementary.exp, 0.09025 * restitution)
        return 1.5 * (1.0 - restitution) / (fitted * restitution)


class Zhao(Hysteresis):
    """Zhao et al., as published in the review by Wang et al.: a = 4 (1 - e)/(1.302 e).

    The factor is twice the correct value for e near 1: a nominal restitution of 0.5 gives 0.3012,
    and 0.9 gives 0.8140. The contact ends at d = 0.
    """

    name = "zhao"
    source = Source(f"Zhao et al. 2021; {REVIEW}", "table 1", "10.1007/s11071-021-06660-4")
    validity = (
        "impacts with a speed near the speed in the damping term; for e near 1, the loss is twice "
        "the nominal loss"
    )

    @staticmethod
    def damping_factor(restitution: Any) -> Any:
        return 4.0 * (1.0 - restitution) / (1.302 * restitution)


class MarhefkaOrin(Hysteresis):
    """Marhefka and Orin: a = 1.5 (1 - e^2)/(1 + e^3).

    The factor equals that of Herbert and McWhannell, because 1 + e^3 = (1 + e)(1 - e + e^2). The
    contact ends at d = 0. Autiero et al. 2022 write the law with alpha v = 1 - e and print the
    closing parenthesis of eq. (107) before the rate.
    """

    name = "marhefka-orin"
    source = Source(
        "Marhefka & Orin 1999; Autiero et al. 2022",
        "eq. (107)",
        "10.1109/3468.798060; 10.3390/machines10110966",
    )
    inputs = inputs_with(FROM_ZERO)
    validity = HerbertMcWhannell.validity

    @staticmethod
    def damping_factor(restitution: Any) -> Any:
        return (
            1.5
            * (1.0 - restitution * restitution)
            / (1.0 + restitution * restitution * restitution)
        )


class MarhefkaOrinApproximate(Hysteresis):
    """Marhefka and Orin without the powers of alpha v = 1 - e: a = 1.5 (1 - e^2)/(3 e - 1).

    The factor is singular at e = 1/3 and negative below, where granchain rejects it. A nominal
    restitution of 0.5 gives 0.3796, and 0.9 gives 0.8994. The contact ends at d = 0. Autiero et al.
    2022 print the closing parenthesis of eq. (108) before the rate.
    """

    name = "marhefka-orin-approximate"
    source = Source(
        "Marhefka & Orin 1999; Autiero et al. 2022",
        "eq. (108)",
        "10.1109/3468.798060; 10.3390/machines10110966",
    )
    inputs = inputs_with(replace(RESTITUTION, above=1.0 / 3.0))
    validity = "restitution above 0.7; impacts with a speed near the speed in the damping term"

    @staticmethod
    def damping_factor(restitution: Any) -> Any:
        return 1.5 * (1.0 - restitution * restitution) / (3.0 * restitution - 1.0)


class HuntCrossleyAlpha(Hysteresis):
    """Hunt and Crossley with their constant alpha: F = K d^1.5 (1 + 1.5 alpha rate), no impact
    speed.

    The restitution decreases with the speed v of the impact: 1 - e is close to alpha v, and the
    factor is a = 1.5 alpha v. For steel, bronze, and ivory alpha is 0.08 to 0.32 s/m. The contact
    ends at d = 0.
    """

    name = "hunt-crossley-alpha"
    source = Source(
        "Hunt & Crossley 1975; Autiero et al. 2022",
        "eqs. (22), (153)",
        "10.1115/1.3423596; 10.3390/machines10110966",
    )
    inputs = (
        positive("alpha", "s/m", "decrease of the restitution per unit of impact speed"),
        STIFFNESS,
        SEPARATION,
    )
    validity = "alpha v much smaller than 1, where v is the impact speed"

    @classmethod
    def coefficients_of(cls, pair: Any, inputs: SimpleNamespace) -> tuple[Any, ...]:
        return stiffness_of(pair, inputs), 1.5 * inputs.alpha, lowest_force(inputs)


class WangLiuHysteretic(ContactLaw):
    """The elastoplastic dashpot of Wang, Liu and Liu: F = K_p d (1 + a rate/v0) above d_y, Flores
    et al. below.

    The law uses a = 1.5 (1 - e)/e and K_p = (F_p - F_y)/(d_p - d_y) of the Ma-Liu law. It switches
    at an overlap, without an offset, so the force jumps at d_y (from 1.98 to 8.88 N for the steel
    chain). The contact ends at d = 0. The factors above and below d_y differ. With the published
    damping, the restitution therefore depends on the speed: it depends on the fraction of the
    impact below d_y. For a nominal restitution of 0.65 it is 0.6422 at 0.2 m/s and 0.6457 at 10
    m/s. With the exact factor on both sides (damping = "identified"), it is the nominal one.
    """

    name = "wang-liu-hysteretic"
    source = Source(
        "Wang, Liu & Liu 2022", "eq. (18) and sec. 5.2", "10.1016/j.ijmecsci.2022.107214"
    )
    inputs = (
        RESTITUTION,
        DAMPING,
        PSI,
        XI,
        replace(IMPACT_SPEED, choices=("striker",)),
        SEPARATION,
    )
    coefficients = (
        Quantity("yield_overlap", "m", "d_y, overlap at which the law switches"),
        Quantity("stiffness", "N/m^1.5", "K of Hertz, below d_y"),
        Quantity("damping", "s/m", "a/v0 of Flores et al., below d_y"),
        Quantity("plastic_stiffness", "N/m", "K_p, above d_y"),
        Quantity("plastic_damping", "s/m", "a/v0, above d_y"),
        LOWEST_FORCE,
    )
    validity = "impacts with a speed near the speed in the damping term"
    status = (
        "verified against Wang, Liu & Liu 2022, tables 3, 4, 6, 7 (two bodies); not validated "
        "against a measured trace"
    )

    @staticmethod
    def coefficients_of(pair: Any, inputs: SimpleNamespace) -> tuple[Any, ...]:
        e, v0 = checked(RESTITUTION, inputs.restitution), inputs.impact_speed
        published = inputs.damping == "published"
        return (
            ma_liu_points(pair, inputs.psi, inputs.xi)[0],
            pair.hertz_stiffness,
            (Flores.damping_factor(e) if published else exact_damping_factor(e)) / v0,
            linearised_plastic_stiffness(pair, inputs.psi, inputs.xi),
            (hu_guo_factor(e) if published else exact_damping_factor(e)) / v0,
            lowest_force(inputs),
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
    def jumps(c: tuple) -> tuple:
        return (c[0],)

    @staticmethod
    def jump(overlap: float, rate: float, c: tuple, h: tuple) -> float:
        _, stiffness, damping, plastic_stiffness, plastic_damping, lowest_force = c
        below = stiffness * (overlap * math.sqrt(overlap)) * (1.0 + damping * rate)
        above = plastic_stiffness * overlap * (1.0 + plastic_damping * rate)
        below = below if below > lowest_force else lowest_force
        return (above if above > lowest_force else lowest_force) - below

    @staticmethod
    def energy(overlap: float, c: tuple, h: tuple) -> float:
        d_y, stiffness, _, plastic_stiffness, _, _ = c
        d = overlap if overlap > OPEN else 0.0
        s = d if d < d_y else d_y
        return 0.4 * stiffness * (s * s * math.sqrt(s)) + 0.5 * plastic_stiffness * (d * d - s * s)
