"""Impacts with hysteresis dashpots, and impacts of a linear oscillator with a dashpot.

The hysteresis dashpots have the force F = K d^n (1 + a rate/v0). The dashpot of the linear
oscillator may set in over a transition.

With w = rate/v0 the equation of motion m v0^2 w dw/dd = -K d^n (1 + a w) separates:
    K d^(n+1)/(n+1) = (m v0^2/a^2) (Phi(a) - Phi(a w)),   Phi(z) = z - ln(1 + z)
The contact ends at d = 0 with w = -e, so Phi(a) = Phi(-a e), which is a (1 + e) = ln[(1 + a)/(1 - a
e)] for any n, K, m, and v0. For n = 1.5, it is the equation that Gonthier et al. 2004,
doi:10.1023/B:MUBO.0000029392.21648.bc, approximate by a = (1 - e^2)/e.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from granchain.theory.impacts import elastic_impact
from granchain.theory.ranges import require, require_positive, root

# Below this argument, Phi is summed as a series, because z - log1p(z) would lose digits by
# cancellation. Its terms up to j = 19 are enough: 0.1^20/20 is below 1e-18 of 0.1^2/2.
_SERIES_BELOW = 0.1
_SERIES = range(2, 20)


def _phi(z: float) -> float:
    """Return Phi(z) = z - ln(1 + z) with full precision, also near 0."""
    if abs(z) >= _SERIES_BELOW:
        return z - math.log1p(z)
    # z - ln(1 + z) = z^2/2 - z^3/3 + z^4/4 - ...
    return sum((-z) ** j / j for j in _SERIES)


def _phi_of_log(y: float) -> float:
    """Return Phi(-s) with s = 1 - exp(-y): y + exp(-y) - 1, finite for all s < 1."""
    if y >= _SERIES_BELOW:
        return y + math.expm1(-y)
    # y + exp(-y) - 1 = y^2/2! - y^3/3! + ...
    return sum((-y) ** j / math.factorial(j) for j in _SERIES)


def delivered_restitution(damping_factor: float) -> float:
    """Return the exact restitution of an impact with a hysteresis dashpot.

    The force is F = K d^n (1 + a rate/v0).

    The restitution solves a (1 + e) = ln[(1 + a)/(1 - a e)] for any n, K, m, and v0 (derivation
    above; Gonthier et al. 2004, doi:10.1023/B:MUBO.0000029392.21648.bc). It approaches 1 - 2 a/3
    for small a and 1/a for large a.

    Parameters
    ----------
    damping_factor : float
        a [1], at least 0.

    Returns
    -------
    float
        e [1].
    """
    a = damping_factor
    require("damping_factor", a, 0.0 <= a < math.inf, "a finite number, 0 or more")
    phi = _phi(a)
    if phi == 0.0:
        return 1.0
    # y = -ln(1 - a e) solves y + exp(-y) - 1 = phi. The left side is below y^2/2, and at y = phi +
    # sqrt(2 phi) above phi.
    least = math.sqrt(2.0 * phi)
    y = root(lambda y: _phi_of_log(y) - phi, least, least + phi)
    return min(1.0, -math.expm1(-y) / a)


def damping_factor(restitution: float) -> float:
    """Return the damping factor a that gives a restitution.

    The force is F = K d^n (1 + a rate/v0).

    Solves a (1 + e) = ln[(1 + a)/(1 - a e)] for a (Gonthier et al. 2004,
    doi:10.1023/B:MUBO.0000029392.21648.bc, before their approximation). It is the inverse of
    `delivered_restitution`, and approaches 1.5 (1 - e) for e near 1.

    Parameters
    ----------
    restitution : float
        e [1], above 0 and at most 1.

    Returns
    -------
    float
        a [1].
    """
    e = restitution
    require("restitution", e, 0.0 < e <= 1.0, "above 0 and at most 1")
    if e == 1.0:
        return 0.0
    # With s = a e = 1 - exp(-y): Phi(s/e) = Phi(-s). The difference is positive at y = 1 - e,
    # because Phi(z) > z^2/(2 (1 + z)), Phi(-s) < y^2/2 and (1 + e)^2 > 4 e, and negative at y =
    # Phi(1/e) + 1, because s < 1 and Phi(-s) > y - 1.
    y = root(lambda y: _phi(-math.expm1(-y) / e) - _phi_of_log(y), 1.0 - e, _phi(1.0 / e) + 1.0)
    return -math.expm1(-y) / e


@dataclass(frozen=True)
class HysteresisImpact:
    """Impact with a hysteresis dashpot: `restitution` [1], `max_overlap` [m], `max_force` [N]."""

    restitution: float
    max_overlap: float
    max_force: float


def hysteresis_impact(
    stiffness: float,
    effective_mass: float,
    speed: float,
    damping_factor: float,
    exponent: float = 1.5,
) -> HysteresisImpact:
    """Compute restitution, largest overlap, and largest force of an impact.

    The force is F = K d^n (1 + a rate/v0), where v0 is the impact speed.

    K d_max^(n+1)/(n+1) = m v0^2 [a - ln(1 + a)]/a^2. The force has its maximum where its derivative
    along the motion is zero, which is Phi(a) - Phi(a w) = n a w/(n + 1) with w = rate/v0. Both
    follow from the separated equation of motion (Hunt & Crossley 1975, doi:10.1115/1.3423596, for
    the form of the force).

    Parameters
    ----------
    stiffness : float
        K [N/m^n].
    effective_mass : float
        m [kg].
    speed : float
        Approach speed v0 [m/s].
    damping_factor : float
        a [1], at least 0.
    exponent : float
        n [1].
    """
    a, n = damping_factor, exponent
    restitution = delivered_restitution(a)
    phi = _phi(a)
    if phi == 0.0:
        elastic = elastic_impact(stiffness, effective_mass, speed, n)
        return HysteresisImpact(restitution, elastic.max_overlap, elastic.max_force)

    def overlap(phi_difference: float) -> float:
        """Return the overlap at which Phi(a) - Phi(a w) has this value [m]."""
        return (
            (n + 1.0) * effective_mass * speed * speed * phi_difference / (a * a * stiffness)
        ) ** (1.0 / (n + 1.0))

    w = root(lambda w: phi - _phi(a * w) - n / (n + 1.0) * a * w, 0.0, 1.0)
    at_peak = overlap(phi - _phi(a * w))
    return HysteresisImpact(restitution, overlap(phi), stiffness * at_peak**n * (1.0 + a * w))


# Loss of restitution at 1 mm/s: Herbert & McWhannell 1977, doi:10.1115/1.3439270, as cited by
# Autiero et al. 2022, eq. (26), doi:10.3390/machines10110966.
_HERBERT_MCWHANNELL_LOSS = 0.026


def herbert_mcwhannell_restitution(speed: float) -> float:
    """Return the empirical restitution of Herbert and McWhannell.

    It decreases with the speed.

    e = 1 - 0.026 v^(1/3) with v in mm/s, which is 1 - 0.26 v^(1/3) with v in m/s. Herbert &
    McWhannell 1977, doi:10.1115/1.3439270, as Autiero et al. 2022, eq. (26),
    doi:10.3390/machines10110966, cite it without a material or a range.

    Parameters
    ----------
    speed : float
        Approach speed v [m/s], from 0 to 56.9, where the formula is 0.

    Returns
    -------
    float
        e [1].
    """
    # 1 m/s is 1000 mm/s
    fastest = (1.0 / _HERBERT_MCWHANNELL_LOSS) ** 3 / 1000.0
    require(
        "herbert_mcwhannell_restitution: speed",
        speed,
        0.0 <= speed <= fastest,
        f"0 to {fastest:.6g} m/s, where the formula is 0",
    )
    return max(0.0, 1.0 - _HERBERT_MCWHANNELL_LOSS * (1000.0 * speed) ** (1.0 / 3.0))


# --------------------------------------------------------------------------------------------------
# Linear oscillator with a dashpot, F = K d + C rate (Kelvin-Voigt), and Tsuji's law, which has the
# same restitution


def damping_ratio(restitution: float) -> float:
    """Return the damping ratio that gives a linear oscillator a restitution.

    The contact lasts half a period.

    e = exp(-pi zeta/sqrt(1 - zeta^2)), so zeta = -ln e/sqrt(pi^2 + ln^2 e) and C = 2 zeta sqrt(K
    m). The contact ends at d = 0. Schwager & Pöschel 2007, doi:10.1007/s10035-007-0065-z.

    Parameters
    ----------
    restitution : float
        e [1], above 0 and at most 1.
    """
    require("restitution", restitution, 0.0 < restitution <= 1.0, "above 0 and at most 1")
    log = math.log(restitution)
    return -log / math.hypot(math.pi, log)


def clamped_restitution(nominal: float) -> float:
    """Return the restitution of a Kelvin-Voigt or Tsuji contact that ends at F = 0.

    Without the no-tension cutoff, the contact ends at d = 0.

    With t = -ln e/pi, the force vanishes at the fraction 1 - (2/pi) atan(t) of the half period, and
    the restitution is e^(1 - (2/pi) atan t) = exp(-2 t acot t), which is above exp(-2). Schwager &
    Pöschel 2007, doi:10.1007/s10035-007-0065-z.

    Parameters
    ----------
    nominal : float
        Nominal restitution e of the same dashpot, whose contact may pull until d = 0 [1]. It must
        be above 0 and at most 1.
    """
    require("nominal", nominal, 0.0 < nominal <= 1.0, "above 0 and at most 1")
    t = -math.log(nominal) / math.pi
    return math.exp(-2.0 * t * math.atan2(1.0, t))


def nominal_for_clamped(effective: float) -> float:
    """Return the nominal restitution for a contact with a no-tension cutoff.

    A Kelvin-Voigt or Tsuji contact with this cutoff then has the effective restitution.

    Schwager & Pöschel 2007, doi:10.1007/s10035-007-0065-z.

    Parameters
    ----------
    effective : float
        Effective restitution [1], above exp(-2) = 0.1353 and at most 1. With a no-tension cutoff,
        it is always above exp(-2).
    """
    # Smallest nominal restitution that is a normal float.
    smallest = np.finfo(float).tiny
    least = clamped_restitution(smallest)
    require(
        "effective",
        effective,
        least <= effective <= 1.0,
        f"{least:.7f} to 1, because a contact with a no-tension cutoff returns more than exp(-2) "
        "for any damping",
    )
    # 2 t acot t = |ln e|, and the left side grows with t.
    log = -math.log(effective)
    t = root(lambda t: 2.0 * t * math.atan2(1.0, t) - log, 0.0, -math.log(smallest) / math.pi)
    return math.exp(-math.pi * t)


def lee_wang_transition(overlap: ArrayLike, q: float, epsilon: float) -> NDArray[np.float64]:
    """Return the fraction T of the dashpot in Lee and Wang's second law.

    The force is F = K d + c T rate.

    T = (d + abs(d))/(2 d) exp{(q/epsilon) [(d - epsilon) - abs(d - epsilon)]}. It is 0 if the
    contact is open, exp(-2 q (1 - d/epsilon)) up to epsilon, and 1 above it. Lee & Wang 1983, part
    1, doi:10.1115/1.3267392; Autiero et al. 2022, eq. (41), doi:10.3390/machines10110966, print
    abs(rate) instead of abs(d) in the numerator, which has the wrong dimension.

    Parameters
    ----------
    overlap : float or array
        d [m].
    q : float
        Steepness of the rise of the damping [1]. Usual values are 2, 3, and 4 (Autiero et al. 2022,
        sec. 3.4).
    epsilon : float
        Width of the transition [m], at most the largest overlap of the impact.

    Returns
    -------
    array
        T [1], in the shape of `overlap`.
    """
    require_positive("lee_wang_transition", q=q, epsilon=epsilon)
    d = np.asarray(overlap, dtype=float)
    short = np.minimum(d - epsilon, 0.0)
    return np.where(d > 0.0, np.exp(2.0 * q / epsilon * short), 0.0)
