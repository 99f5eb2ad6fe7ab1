"""Viscous dashpots: F = K d^n + c d^a rate, without an impact speed.

The end of the contact determines the restitution. At d = 0 the force has become negative: the law
pulls the bodies together at the end ("tensile"). Dry beads cannot pull, so the default ("clamped")
is a no-tension cutoff, which keeps the force at zero or above; the restitution is then higher. If
the damping begins like d^a with a < 1, the first step of a contact carries an onset weight, so that
the scheme is of order two.

With z = (4/5) d^(5/4), the motion with F = K d^1.5 + c d^0.25 rate is, in the plane of z and rate,
the motion of a linear oscillator with the damping ratio zeta = c/sqrt(5 K m). The laws of Tsuji and
Jankowski therefore have the same restitution as the linear laws. For an approach that is damped
with the ratio zeta, |ln(rate/z at the turning point)| is D = zeta acos(zeta)/sqrt(1 - zeta^2). A
contact that is damped throughout and ends at F = 0 loses the same amount on the way back. So e is
exp(-pi zeta/sqrt(1 - zeta^2)) if the contact ends at d = 0, exp(-2 D) if its force is clamped, and
exp(-D) if it is damped in approach only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from granchain.contact import elementary
from granchain.contact.law import (
    DAMPING,
    LOWEST_FORCE,
    ONSET_HISTORY,
    OPEN,
    PSI,
    RESTITUTION,
    REVIEW,
    SEPARATION,
    STIFFNESS,
    XI,
    ContactLaw,
    Quantity,
    Source,
    checked,
    positive,
)
from granchain.contact.onset import onset_weight
from granchain.contact.pair import (
    Pair,
    damping_ratio,
    hertz_contact_radius,
    linearised_plastic_stiffness,
    lowest_force,
    stiffness_of,
)
from granchain.errors import LawError

# Lowest restitution of a clamped linear oscillator, or of Tsuji's law, with a damping ratio up to
# 1: the limit of e^(1 - (2/pi) atan(|ln e|/pi)) for e to 0. Schwager & Pöschel 2007,
# doi:10.1007/s10035-007-0065-z.
LEAST_CLAMPED = elementary.exp(-2.0)

# Newton steps for the damping ratio, which approach it from one side. Near a ratio of 1 each step
# reduces the distance from a double root by a third or a half: (2/3)^90 = 1e-16.
_DAMPING_STEPS = 90


def ratio_of_decay(decay: Any) -> Any:
    """Return the ratio zeta with zeta acos(zeta)/sqrt(1 - zeta^2) = D, to rounding.

    It is above 1 for D > 1.

    Parameters
    ----------
    decay : float or array
        Logarithmic decay D [1], at least 0.
    """
    D = np.asarray(decay, dtype=float)
    # Below 1 with t = zeta/sqrt(1 - zeta^2): t acot t = D is concave; Newton's method starts on the
    # left, where (pi/2) t = D.
    under = np.minimum(D, 1.0 - 2.0**-53)
    t = 2.0 / np.pi * under
    # Above 1 with zeta = cosh(s): s coth s = D is convex; it starts on the right, where s = D.
    over = np.maximum(D, 1.0 + 2.0**-52)
    s = over
    for _ in range(_DAMPING_STEPS):
        angle = np.arctan2(1.0, t)
        t = t + (under - t * angle) / (angle - t / (1.0 + t * t))
        coth = 1.0 / np.tanh(s)
        s = s - (s * coth - over) / (coth - s * (coth - 1.0) * (coth + 1.0))
    return np.where(D < 1.0, t / np.hypot(1.0, t), np.cosh(s))[()]


def delivering_ratio(inputs: SimpleNamespace) -> Any:
    """Return the damping ratio that gives e with damping in both directions.

    The contact ends at d = 0, or is clamped.
    """
    e = checked(RESTITUTION, inputs.restitution)
    return (
        damping_ratio(e)
        if inputs.separation == "tensile"
        else ratio_of_decay(-0.5 * elementary.over(elementary.log, e))
    )


def identified_ratio(inputs: SimpleNamespace) -> Any:
    """Return the damping ratio, below 1, of a contact damped in approach and recovery.

    It is as published, or gives e with the end of the contact.
    """
    e = checked(RESTITUTION, inputs.restitution)
    if inputs.damping == "published":
        return damping_ratio(e)
    if inputs.separation == "clamped" and np.min(e) <= LEAST_CLAMPED:
        raise LawError(
            f'restitution: {np.min(e):.6g} is out of range. With damping = "identified" and '
            f'separation = "clamped" it must be above exp(-2) = {LEAST_CLAMPED:.6f}, the minimum '
            "for a clamped contact of this law. Choose a larger value, or "
            'separation = "tensile".'
        )
    return delivering_ratio(inputs)


class Viscous(ContactLaw):
    """Base of the viscous laws: history and events of a contact with an onset weight."""

    history = ONSET_HISTORY
    validity = "restitution that does not depend on the speed, unlike that of metal spheres"
    status = "verified against the closed form of the effective restitution, tensile and clamped"

    @staticmethod
    def history_of(c: tuple) -> tuple:
        return (1.0, 0.0)

    @staticmethod
    def needs_update(overlap: float, rate: float, c: tuple, h: tuple) -> bool:
        weight, closed = h
        return ((overlap > OPEN) != (closed > 0.0)) | (weight != 1.0)


# --------------------------------------------------------------------------------------------------
# Laws with a linear spring


class Linear(Viscous):
    """Base of the linear viscous laws: F = K d + c rate."""

    onset_jump = True
    coefficients: ClassVar[tuple[Quantity, ...]] = (
        Quantity("stiffness", "N/m", "K"),
        Quantity("damping", "N s/m", "c"),
        LOWEST_FORCE,
    )

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
    """Linear spring and dashpot: F = K d + 2 zeta sqrt(K m) rate, zeta = |ln e|/sqrt(pi^2 + ln^2
    e).

    The review by Wang et al. 2022 calls this model Maxwell's. If the contact ends at d = 0
    (separation = "tensile"), the effective restitution is exactly the nominal one. With the
    no-tension cutoff, a nominal restitution of 0.5 gives 0.5503. The force jumps at the onset.
    """

    name = "kelvin-voigt"
    source = Source("Kelvin-Voigt model; " + REVIEW, "eqs. (31), (32)")
    inputs = (RESTITUTION, DAMPING, positive("stiffness", "N/m", "contact stiffness K"), SEPARATION)

    @staticmethod
    def coefficients_of(pair: Pair, inputs: SimpleNamespace) -> tuple[Any, ...]:
        stiffness = inputs.stiffness
        damping = 2.0 * identified_ratio(inputs) * np.sqrt(stiffness * pair.effective_mass)
        return stiffness, damping, lowest_force(inputs)


class WangLiuViscous(Linear):
    """Kelvin-Voigt with the stiffness of Ma-Liu's elastoplastic branch: F = K_p d + 2 zeta sqrt(K_p
    m) rate.

    The stiffness is K_p = (F_p - F_y)/(d_p - d_y). The law was developed for granular chains, so
    that no impact speed is needed. If the contact ends at d = 0, the effective restitution is the
    nominal one. The force jumps at the onset.
    """

    name = "wang-liu-viscous"
    source = Source(REVIEW, "eq. (55)")
    inputs = (RESTITUTION, DAMPING, PSI, XI, SEPARATION)

    @staticmethod
    def coefficients_of(pair: Pair, inputs: SimpleNamespace) -> tuple[Any, ...]:
        stiffness = linearised_plastic_stiffness(pair, inputs.psi, inputs.xi)
        damping = 2.0 * identified_ratio(inputs) * np.sqrt(stiffness * pair.effective_mass)
        return stiffness, damping, lowest_force(inputs)


class LeeWangTransition(Linear):
    """Lee and Wang, second law: F = K d + 2 zeta sqrt(K m) T rate, T rises from exp(-2 q) to 1 over
    the overlaps up to epsilon.

    Below epsilon, T = exp(-2 q (1 - d/epsilon)). This is the dashpot of Kelvin-Voigt, nearly
    without its jump at the onset. The restitution depends on q and on the ratio of epsilon to the
    largest overlap, and so on the speed. It is higher than the nominal one. Use q from 2 to 4 and
    an epsilon below the largest overlap. The contact ends at d = 0. Before that, a clamped force
    may vanish and return. Autiero et al. 2022 print a rate instead of the overlap in eq. (41).
    """

    name = "lee-wang-transition"
    source = Source(
        "Lee & Wang 1983; Autiero et al. 2022",
        "eqs. (41), (44), (45)",
        "10.1115/1.3267392; 10.3390/machines10110966",
    )
    inputs = (
        RESTITUTION,
        positive("stiffness", "N/m", "contact stiffness K"),
        positive("q", "1", "steepness of the damping in the transition range, 2 to 4"),
        positive("epsilon", "m", "overlap at which the transition ends, below the largest overlap"),
        SEPARATION,
    )
    coefficients = (
        *Linear.coefficients,
        Quantity("transition_rate", "1/m", "2 q/epsilon"),
        Quantity("transition_overlap", "m", "epsilon"),
    )
    validity = "impacts with a largest overlap above epsilon"
    status = "verified against an independent integration; not validated against experiment"

    @staticmethod
    def coefficients_of(pair: Pair, inputs: SimpleNamespace) -> tuple[Any, ...]:
        stiffness, epsilon = inputs.stiffness, inputs.epsilon
        damping = (
            2.0
            * damping_ratio(checked(RESTITUTION, inputs.restitution))
            * np.sqrt(stiffness * pair.effective_mass)
        )
        return stiffness, damping, lowest_force(inputs), 2.0 * inputs.q / epsilon, epsilon

    @staticmethod
    def force(overlap: float, rate: float, c: tuple, h: tuple) -> float:
        stiffness, damping, lowest, transition_rate, epsilon = c
        d = overlap if overlap > OPEN else 0.0
        short = d - epsilon if d < epsilon else 0.0
        f = stiffness * overlap + h[0] * damping * elementary.exp(transition_rate * short) * rate
        f = f if f > lowest else lowest
        return f if overlap > OPEN else 0.0

    @staticmethod
    def jumps(c: tuple) -> tuple:
        # A kink, at which the force is often largest.
        return (c[4],)


# --------------------------------------------------------------------------------------------------
# Laws with Hertz's spring


def both_ways(rate: float) -> float:
    """Return the rate for a dashpot that acts in approach and recovery."""
    return rate


def approaching(rate: float) -> float:
    """Return the rate for a dashpot that acts in approach only."""
    return rate if rate > 0.0 else 0.0


def hertzian(
    a: float, power: Callable, felt: Callable = both_ways
) -> Callable[[type[Viscous]], type[Viscous]]:
    """Return a class decorator for F = K d^1.5 + c d^a felt(rate), a < 1.

    It sets the functions, with the onset weight of a.
    """
    polynomial = onset_weight(a)

    def force(overlap: float, rate: float, c: tuple, h: tuple) -> float:
        stiffness, damping, lowest = c
        d = overlap if overlap > OPEN else 0.0
        f = stiffness * (d * math.sqrt(d)) + h[0] * damping * power(d) * felt(rate)
        f = f if f > lowest else lowest
        return f if overlap > OPEN else 0.0

    def update(event: tuple, c: tuple, h: tuple) -> tuple:
        overlap, _, _, theta = event
        if overlap <= OPEN:
            return (1.0, 0.0)
        if h[1] > 0.0:
            return (1.0, 1.0)
        weight = 0.0
        for coefficient in polynomial:
            weight = weight * theta + coefficient
        return (weight / power(theta), 1.0)

    def decorate(cls: type[Viscous]) -> type[Viscous]:
        cls.coefficients = hertzian_coefficients(a)
        cls.force = staticmethod(force)  # type: ignore[method-assign]
        cls.update = staticmethod(update)  # type: ignore[method-assign]
        cls.energy = staticmethod(hertzian_energy)  # type: ignore[method-assign]
        return cls

    return decorate


def hertzian_coefficients(a: float) -> tuple[Quantity, ...]:
    """Return the coefficients of F = K d^1.5 + c d^a rate."""
    return (
        Quantity("stiffness", "N/m^1.5", "K"),
        Quantity("damping", f"N s/m^{1.0 + a:g}", "c"),
        LOWEST_FORCE,
    )


def hertzian_energy(overlap: float, c: tuple, h: tuple) -> float:
    """Return the integral of K d^1.5."""
    d = overlap if overlap > OPEN else 0.0
    return 0.4 * c[0] * (d * d * math.sqrt(d))


def with_ratio(pair: Pair, inputs: SimpleNamespace, ratio: Any) -> tuple[Any, ...]:
    """Return the coefficients of F = K d^1.5 + sqrt(5) zeta sqrt(K m) d^0.25 rate."""
    stiffness = stiffness_of(pair, inputs)
    return (
        stiffness,
        math.sqrt(5.0) * ratio * np.sqrt(stiffness * pair.effective_mass),
        lowest_force(inputs),
    )


def quarter(d: float) -> float:
    """Return d^(1/4)."""
    return math.sqrt(math.sqrt(d))


def half(d: float) -> float:
    """Return d^(1/2)."""
    return math.sqrt(d)


# Exponent of Schwager & Pöschel 1998, doi:10.1103/PhysRevE.57.650, according to the review of Wang
# et al. 2022, table 2.
_SCHWAGER_POESCHEL = 0.65


def schwager_poeschel(d: float) -> float:
    """Return d^0.65."""
    return elementary.power(d, _SCHWAGER_POESCHEL)


@hertzian(0.25, quarter)
class Quarter(Viscous):
    """Base of F = K d^1.5 + c d^0.25 rate."""


@hertzian(0.25, quarter, approaching)
class QuarterApproaching(Viscous):
    """Base of F = K d^1.5 + c d^0.25 rate, damped in approach only: never negative."""


@hertzian(0.5, half)
class Half(Viscous):
    """Base of F = K d^1.5 + c d^0.5 rate."""


@hertzian(_SCHWAGER_POESCHEL, schwager_poeschel)
class PowerOfSchwagerPoeschel(Viscous):
    """Base of F = K d^1.5 + c d^0.65 rate."""


class Tsuji(Quarter):
    """Hertz spring with damping ~ d^(1/4), the law of EDEM: F = K d^1.5 + sqrt(5) zeta sqrt(K m)
    d^0.25 rate.

    The damping ratio is zeta = |ln e|/sqrt(pi^2 + ln^2 e). If the contact ends at d = 0 (separation
    = "tensile"), the effective restitution is exactly the nominal one. With the no-tension cutoff,
    a nominal restitution of 0.5 gives 0.5503.
    """

    name = "tsuji"
    source = Source("Tsuji, Tanaka & Ishida 1992", "eqs. (13)-(15)", "10.1016/0032-5910(92)88030-L")
    inputs = (RESTITUTION, DAMPING, STIFFNESS, SEPARATION)

    @staticmethod
    def coefficients_of(pair: Pair, inputs: SimpleNamespace) -> tuple[Any, ...]:
        return with_ratio(pair, inputs, identified_ratio(inputs))


def jankowski_ratio(restitution: Any) -> Any:
    """Return zeta = 2 xi/sqrt(5), xi = 4.5 sqrt(5) (1 - e^2)/(e (e (9 pi - 16) + 16)).

    This follows from c = 2 xi sqrt(K m) = sqrt(5) zeta sqrt(K m).
    """
    e = checked(RESTITUTION, restitution)
    return 9.0 * (1.0 - e * e) / (e * (e * (9.0 * math.pi - 16.0) + 16.0))


class Jankowski(QuarterApproaching):
    """Jankowski: Hertz spring, damped in approach only, F = K d^1.5 + 2 xi sqrt(K m) d^0.25 rate.

    The damping ratio is xi = 4.5 sqrt(5) (1 - e^2)/(e (e (9 pi - 16) + 16)). A nominal restitution
    of 0.1 gives 0.0933, 0.5 gives 0.4946, and 0.9 gives 0.8997. The recovery is elastic, so the
    force is never negative and the contact ends at d = 0.
    """

    name = "jankowski"
    source = Source("Jankowski 2005; " + REVIEW, "table 2", "10.1002/eqe.434")
    inputs = (RESTITUTION, DAMPING, STIFFNESS)
    status = "verified against the closed form of the effective restitution"

    @staticmethod
    def coefficients_of(pair: Pair, inputs: SimpleNamespace) -> tuple[Any, ...]:
        if inputs.damping == "published":
            return with_ratio(pair, inputs, jankowski_ratio(inputs.restitution))
        return with_ratio(
            pair,
            inputs,
            ratio_of_decay(
                -elementary.over(elementary.log, checked(RESTITUTION, inputs.restitution))
            ),
        )


class JankowskiBothPhases(Quarter):
    """Jankowski as published in the review by Wang et al.: the same dashpot, acting in approach and
    recovery.

    The contact is damped twice: a nominal restitution of 0.5 gives 0.2446, and 0.9 gives 0.8095. If
    the contact ends at d = 0 (separation = "tensile"), the effective restitutions are 0.0892 and
    0.8015, and below e = 0.3753 the contact never opens because the damping ratio is above 1.
    """

    name = "jankowski-both-phases"
    source = Source(REVIEW + "; Jankowski 2005", "table 2", "10.1002/eqe.434")
    inputs = (RESTITUTION, DAMPING, STIFFNESS, SEPARATION)

    @staticmethod
    def coefficients_of(pair: Pair, inputs: SimpleNamespace) -> tuple[Any, ...]:
        published = inputs.damping == "published"
        return with_ratio(
            pair,
            inputs,
            jankowski_ratio(inputs.restitution) if published else delivering_ratio(inputs),
        )


def measured_damping(a: float) -> Quantity:
    """Return the input for a damping coefficient that no restitution gives."""
    return positive("chi", f"N s/m^{1.0 + a:g}", "damping coefficient, to be measured")


class KuwabaraKono(Half):
    """Kuwabara and Kono: viscoelastic spheres, F = K d^1.5 + chi d^0.5 rate.

    Both forces follow from Hertz's strain field with the contact radius sqrt(R d). The loss 1 - e
    grows like v^(1/5): with b = (chi/K)(K/m)^0.4 v^0.2 <= 0.1, e = 1 - 1.15344 b + 0.79826 b^2 if
    the contact ends at d = 0, and e is higher by 0.263 b^2.5 with the no-tension cutoff. The review
    by Wang et al. 2022 states that the dimension of chi is wrong, but it is correct: chi d^0.5 has
    the unit N s/m.
    """

    name = "kuwabara-kono"
    source = Source("Kuwabara & Kono 1987", "", "10.1143/JJAP.26.1230")
    inputs = (measured_damping(0.5), STIFFNESS, SEPARATION)
    validity = "viscoelastic spheres; rates much lower than the speed of sound"
    status = (
        "verified against the series of the restitution for weak damping; compared with published "
        "impacts of a croquet ball on wood at 0.5 to 6 m/s (docs/measured.md): e within 0.009 at "
        "all ten speeds with one damping constant; not validated against a measured trace"
    )

    @staticmethod
    def coefficients_of(pair: Pair, inputs: SimpleNamespace) -> tuple[Any, ...]:
        return stiffness_of(pair, inputs), inputs.chi, lowest_force(inputs)

    @staticmethod
    def contact_radius(overlap: float, radius: float, c: tuple, h: tuple) -> float:
        return hertz_contact_radius(overlap, radius)


class SchwagerPoeschel(PowerOfSchwagerPoeschel):
    """Schwager and Pöschel, as published in the review by Wang et al.: F = K d^1.5 + chi d^0.65
    rate.

    The constant chi is empirical, and the restitution depends on the speed. The contact ends when F
    = 0, or at d = 0 (separation = "tensile").
    """

    name = "schwager-poschel"
    source = Source("Schwager & Pöschel 1998; " + REVIEW, "table 2", "10.1103/PhysRevE.57.650")
    inputs = (measured_damping(_SCHWAGER_POESCHEL), STIFFNESS, SEPARATION)
    validity = "empirical"
    status = "verified against an independent integration; not validated against experiment"
    coefficients_of = KuwabaraKono.coefficients_of


class Proportional(ContactLaw):
    """Base of F = K d^1.5 + chi d rate: damping that begins like d needs no onset weight."""

    inputs = (measured_damping(1.0), STIFFNESS, SEPARATION)
    coefficients = hertzian_coefficients(1.0)
    validity = "empirical"
    status = "verified against an independent integration; not validated against experiment"
    coefficients_of = KuwabaraKono.coefficients_of
    energy = staticmethod(hertzian_energy)

    @staticmethod
    def force(overlap: float, rate: float, c: tuple, h: tuple) -> float:
        stiffness, damping, lowest = c
        d = overlap if overlap > OPEN else 0.0
        f = stiffness * (d * math.sqrt(d)) + damping * d * rate
        f = f if f > lowest else lowest
        return f if overlap > OPEN else 0.0


class LeeHerrmann(Proportional):
    """Lee and Herrmann, as published in the review by Wang et al.: F = K d^1.5 + chi d rate.

    The constant chi is empirical, and the restitution depends on the speed. The contact ends when F
    = 0, or at d = 0 (separation = "tensile").
    """

    name = "lee-herrmann"
    source = Source("Lee & Herrmann 1993; " + REVIEW, "table 2", "10.1088/0305-4470/26/2/021")


class Ristow(Proportional):
    """Ristow, as published in the review by Wang et al.: F = K d^1.5 + chi d rate, the form of Lee
    and Herrmann.

    The constant chi is empirical, and the restitution depends on the speed. The contact ends when F
    = 0, or at d = 0 (separation = "tensile").
    """

    name = "ristow"
    source = Source("Ristow 1992; " + REVIEW, "table 2", "10.1051/jp1:1992159")
