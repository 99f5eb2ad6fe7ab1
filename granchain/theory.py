"""Closed forms and exact results, independent of the contact laws and of the engine.

Nothing here imports a law or the loop, so that a test that compares a run with this page compares two pieces of code.
SI units; a wave speed is in beads per second unless it says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from granchain.errors import CaseError

# --------------------------------------------------------------------------------------------------------------------
# Elastic impact of two bodies


def hertz_stiffness(effective_modulus: float, effective_radius: float) -> float:
    """Stiffness K of the Hertz force F = K d^1.5 between two spheres.

    K = (4/3) E sqrt(R): Johnson 1985, Contact Mechanics, eq. (4.22), doi:10.1017/CBO9781139171731.

    Parameters
    ----------
    effective_modulus : float
        E = 1/((1 - nu1^2)/E1 + (1 - nu2^2)/E2) [Pa].
    effective_radius : float
        R = R1 R2/(R1 + R2) [m].

    Returns
    -------
    float
        K [N/m^1.5].
    """
    return (4.0 / 3.0) * effective_modulus * math.sqrt(effective_radius)


def impact_duration_factor(exponent: float = 1.5) -> float:
    """Duration of an elastic impact times its speed over its largest overlap [1].

    With x = d/d_max, (dx/dt)^2 = (v/d_max)^2 (1 - x^(n+1)), so the factor is 2 times the integral of (1 - x^(n+1))^(-1/2) over
    0..1: 2/(n+1) B(1/(n+1), 1/2), B the Beta function. For n = 1 it is pi, for Hertz 2.9432752 (Johnson 1985, Contact Mechanics,
    sec. 11.4, prints 2.94; doi:10.1017/CBO9781139171731).

    Parameters
    ----------
    exponent : float
        n of the force K d^n [1].
    """
    p = 1.0 / (exponent + 1.0)
    # B(p, 1/2) = Gamma(p) Gamma(1/2)/Gamma(p + 1/2)
    return 2.0 * p * math.gamma(p) * math.gamma(0.5) / math.gamma(p + 0.5)


@dataclass(frozen=True)
class ElasticImpact:
    """Elastic impact of two bodies: `max_overlap` [m], `max_force` [N], `duration` [s]."""

    max_overlap: float
    max_force: float
    duration: float


def elastic_impact(stiffness: float, effective_mass: float, speed: float, exponent: float = 1.5) -> ElasticImpact:
    """Largest overlap, largest force and duration of an elastic impact with the force K d^n.

    K d_max^(n+1)/(n+1) = m v^2/2; for Hertz d_max = (5 m v^2/(4 K))^(2/5) = (15 m v^2/(16 E sqrt(R)))^(2/5).
    Hertz 1882, doi:10.1515/crll.1882.92.156; Johnson 1985, Contact Mechanics, sec. 11.4, doi:10.1017/CBO9781139171731.

    Parameters
    ----------
    stiffness : float
        K [N/m^n].
    effective_mass : float
        m = m1 m2/(m1 + m2) [kg].
    speed : float
        Relative speed of approach v [m/s].
    exponent : float
        n [1].
    """
    overlap = ((exponent + 1.0) * effective_mass * speed * speed / (2.0 * stiffness)) ** (1.0 / (exponent + 1.0))
    return ElasticImpact(overlap, stiffness * overlap**exponent, impact_duration_factor(exponent) * overlap / speed)


# --------------------------------------------------------------------------------------------------------------------
# Hysteresis dashpots, F = K d^n (1 + a rate/v0)
#
# With w = rate/v0 the equation of motion m v0^2 w dw/dd = -K d^n (1 + a w) separates:
#     K d^(n+1)/(n+1) = (m v0^2/a^2) (Phi(a) - Phi(a w)),   Phi(z) = z - ln(1 + z)
# The contact ends at d = 0 with w = -e, so Phi(a) = Phi(-a e), which is a (1 + e) = ln[(1 + a)/(1 - a e)], whatever n, K, m and v0.
# For n = 1.5 it is the equation that Gonthier et al. 2004, doi:10.1023/B:MUBO.0000029392.21648.bc, approximate by a = (1 - e^2)/e.

# Below this argument Phi is summed as a series: z - log1p(z) would lose the digits that cancel. Its terms up to j = 19 are enough:
# 0.1^20/20 is below 1e-18 of 0.1^2/2.
_SERIES_BELOW = 0.1
_SERIES = range(2, 20)


def _phi(z: float) -> float:
    """Phi(z) = z - ln(1 + z), to full precision near 0 too."""
    if abs(z) >= _SERIES_BELOW:
        return z - math.log1p(z)
    # z - ln(1 + z) = z^2/2 - z^3/3 + z^4/4 - ...
    return sum((-z) ** j / j for j in _SERIES)


def _phi_of_log(y: float) -> float:
    """Phi(-s) with s = 1 - exp(-y): y + exp(-y) - 1, finite for every s below 1."""
    if y >= _SERIES_BELOW:
        return y + math.expm1(-y)
    # y + exp(-y) - 1 = y^2/2! - y^3/3! + ...
    return sum((-y) ** j / math.factorial(j) for j in _SERIES)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Root of a function that changes its sign between low and high, to the last digits."""
    from scipy.optimize import brentq

    # 4 eps is the smallest relative tolerance that brentq takes; no absolute one: the roots here may be tiny.
    return float(brentq(function, low, high, xtol=1e-300, rtol=4.0 * np.finfo(float).eps, maxiter=500))


def delivered_restitution(damping_factor: float) -> float:
    """Coefficient of restitution that F = K d^n (1 + a rate/v0) delivers, exactly.

    Solves a (1 + e) = ln[(1 + a)/(1 - a e)], for any n, K, m and v0 (derivation above; Gonthier et al. 2004,
    doi:10.1023/B:MUBO.0000029392.21648.bc). For small a it is 1 - 2 a/3, for large a 1/a.

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
    if not 0.0 <= a < math.inf:
        raise ValueError(f"damping_factor: got {a!r}, allowed: a finite number at least 0")
    phi = _phi(a)
    if phi == 0.0:
        return 1.0
    # y = -ln(1 - a e) solves y + exp(-y) - 1 = phi. The left side is below y^2/2, and at y = phi + sqrt(2 phi) above phi.
    least = math.sqrt(2.0 * phi)
    y = _root(lambda y: _phi_of_log(y) - phi, least, least + phi)
    return min(1.0, -math.expm1(-y) / a)


def damping_factor(restitution: float) -> float:
    """Damping factor a with which F = K d^n (1 + a rate/v0) delivers a restitution: inverse of `delivered_restitution`.

    Solves a (1 + e) = ln[(1 + a)/(1 - a e)] for a (Gonthier et al. 2004, doi:10.1023/B:MUBO.0000029392.21648.bc, before their
    approximation). For e near 1 it is 1.5 (1 - e).

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
    if not 0.0 < e <= 1.0:
        raise ValueError(f"restitution: got {e!r}, allowed: above 0 and at most 1")
    if e == 1.0:
        return 0.0
    # With s = a e = 1 - exp(-y): Phi(s/e) = Phi(-s). The difference is positive at y = 1 - e, because Phi(z) > z^2/(2 (1 + z)),
    # Phi(-s) < y^2/2 and (1 + e)^2 > 4 e, and negative at y = Phi(1/e) + 1, because s < 1 and Phi(-s) > y - 1.
    y = _root(lambda y: _phi(-math.expm1(-y) / e) - _phi_of_log(y), 1.0 - e, _phi(1.0 / e) + 1.0)
    return -math.expm1(-y) / e


@dataclass(frozen=True)
class HysteresisImpact:
    """Impact under a hysteresis dashpot: `restitution` [1], `max_overlap` [m], `max_force` [N]."""

    restitution: float
    max_overlap: float
    max_force: float


def hysteresis_impact(
    stiffness: float, effective_mass: float, speed: float, damping_factor: float, exponent: float = 1.5
) -> HysteresisImpact:
    """Restitution, largest overlap and largest force of an impact under F = K d^n (1 + a rate/v0), v0 the impact's own speed.

    K d_max^(n+1)/(n+1) = m v0^2 [a - ln(1 + a)]/a^2. The force is largest where Phi(a) - Phi(a w) = n a w/(n + 1), w = rate/v0:
    its derivative along the motion is zero there. Both follow from the separated equation of motion (Hunt & Crossley 1975,
    doi:10.1115/1.3423596, for the form of the force).

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

    def overlap(phi_left: float) -> float:
        return ((n + 1.0) * effective_mass * speed * speed * phi_left / (a * a * stiffness)) ** (1.0 / (n + 1.0))

    w = _root(lambda w: phi - _phi(a * w) - n / (n + 1.0) * a * w, 0.0, 1.0)
    at_peak = overlap(phi - _phi(a * w))
    return HysteresisImpact(restitution, overlap(phi), stiffness * at_peak**n * (1.0 + a * w))


# --------------------------------------------------------------------------------------------------------------------
# Linear oscillator with a dashpot, F = K d + C rate (Kelvin-Voigt), and Tsuji's law, which delivers the same


def damping_ratio(restitution: float) -> float:
    """Damping ratio with which a linear oscillator returns after half a period with a restitution.

    e = exp(-pi zeta/sqrt(1 - zeta^2)), so zeta = -ln e/sqrt(pi^2 + ln^2 e) and C = 2 zeta sqrt(K m); the contact ends at d = 0.
    Schwager & Pöschel 2007, doi:10.1007/s10035-007-0065-z.

    Parameters
    ----------
    restitution : float
        e [1], above 0 and at most 1.
    """
    if not 0.0 < restitution <= 1.0:
        raise ValueError(f"restitution: got {restitution!r}, allowed: above 0 and at most 1")
    log = math.log(restitution)
    return -log / math.hypot(math.pi, log)


def clamped_restitution(asked: float) -> float:
    """Restitution that Kelvin-Voigt, or Tsuji's law, delivers when its contact ends at F = 0 instead of d = 0.

    With t = -ln e/pi the force vanishes at the fraction 1 - (2/pi) atan(t) of the half period, and what is left is
    e^(1 - (2/pi) atan t) = exp(-2 t acot t): never below exp(-2). Schwager & Pöschel 2007, doi:10.1007/s10035-007-0065-z.

    Parameters
    ----------
    asked : float
        e, what the same dashpot delivers when the contact may pull until d = 0 [1], above 0 and at most 1.
    """
    if not 0.0 < asked <= 1.0:
        raise ValueError(f"asked: got {asked!r}, allowed: above 0 and at most 1")
    t = -math.log(asked) / math.pi
    return math.exp(-2.0 * t * math.atan2(1.0, t))


def asked_for_clamped(delivered: float) -> float:
    """Restitution to ask for so that a clamped Kelvin-Voigt or Tsuji contact delivers a given one: inverse of `clamped_restitution`.

    Schwager & Pöschel 2007, doi:10.1007/s10035-007-0065-z.

    Parameters
    ----------
    delivered : float
        Wanted restitution [1], above exp(-2) = 0.1353 and at most 1: a clamped contact returns more than that.
    """
    # The smallest restitution that can be asked for as a normal float.
    smallest = np.finfo(float).tiny
    least = clamped_restitution(smallest)
    if not least <= delivered <= 1.0:
        raise ValueError(
            f"delivered: got {delivered!r}, allowed: {least:.7f} to 1; a clamped contact returns more than exp(-2), whatever its damping"
        )
    # 2 t acot t = |ln delivered|, and the left side grows with t.
    log = -math.log(delivered)
    t = _root(lambda t: 2.0 * t * math.atan2(1.0, t) - log, 0.0, -math.log(smallest) / math.pi)
    return math.exp(-math.pi * t)


# --------------------------------------------------------------------------------------------------------------------
# Solitary wave in a chain of equal beads, touching, without precompression: F = k d^1.5
#
# A wave of V beads per second has overlaps d(x), x = bead number - V t, with m V^2 d''(x) = F(x + 1) - 2 F(x) + F(x - 1). In Fourier
# space that is m V^2 d = sinc^2(q/2) F, sinc(z) = sin(z)/z: the wave is a fixed point of "force, then smooth", and iterating it with
# the peak set to 1 converges (English & Pego 2005, Proc. Am. Math. Soc. 133, 1763, prove the decay, faster than any exponential, that
# makes a window of a few beads enough). The velocity of a bead at x from the crest follows from m V v'(x) = F(x + 1/2) - F(x - 1/2).

# Window of the wave in beads: at 8 beads from the crest the overlap is below 1e-300 of its peak.
_WINDOW = 16
# Samples in one bead's length, even: the modes of the wave are below 1e-16 of the first at 32 already.
_SAMPLES = 64


@dataclass(frozen=True)
class SolitaryWave:
    """The exact solitary wave of a Hertz chain, as pure numbers.

    k is the stiffness of a contact in N/m^1.5, m the mass of a bead, v_m the peak velocity of a bead, F_m the peak force of a contact.

    Attributes
    ----------
    speed_from_velocity : float
        V/[(k/m)^(2/5) v_m^(1/5)], V in beads per second.
    speed_from_force : float
        V/[k^(1/3) m^(-1/2) F_m^(1/6)].
    force_from_velocity : float
        F_m/[k^(2/5) (m v_m^2)^(3/5)].
    bead_force : float
        Peak of the mean of a bead's two contact forces, in F_m: what a sensor inside a bead reads.
    kinetic_share : float
        Kinetic part of the energy in the mean over one lattice period; 5/9 by the virial theorem, 2 T = 2.5 U.
    kinetic_share_range : tuple of float
        Smallest and largest kinetic share at an instant.
    energy : float
        Energy of the wave in m v_m^2.
    momentum : float
        Momentum of the wave in m v_m.
    """

    speed_from_velocity: float
    speed_from_force: float
    force_from_velocity: float
    bead_force: float
    kinetic_share: float
    kinetic_share_range: tuple[float, float]
    energy: float
    momentum: float
    _velocity_modes: tuple[float, ...]
    _overlap_modes: tuple[float, ...]

    def bead_velocity(self, position: Any) -> np.ndarray:
        """Velocity of a bead in v_m, at a position [beads] from the crest."""
        return _cosine_series(self._velocity_modes, position)

    def overlap(self, position: Any) -> np.ndarray:
        """Overlap of a contact in its largest one, at a position [beads] from the crest."""
        return _cosine_series(self._overlap_modes, position)

    def width(self, level: float = 0.5) -> float:
        """Full width [beads, that is diameters] of the velocity pulse at a fraction of its peak, 1e-6 to 1."""
        if not 1e-6 <= level < 1.0:
            raise ValueError(f"level: got {level!r}, allowed: at least 1e-6 and below 1")
        return 2.0 * _root(lambda x: float(self.bead_velocity(x)) - level, 0.0, _WINDOW / 3.0)


def _cosine_series(modes: tuple[float, ...], position: Any) -> np.ndarray:
    x = np.asarray(position, dtype=float)
    q = 2.0 * np.pi / _WINDOW * np.arange(len(modes))
    inside = np.abs(x) <= _WINDOW / 2.0
    return np.where(inside, np.cos(np.multiply.outer(x, q)) @ np.array(modes), 0.0)


@lru_cache(maxsize=1)
def solitary_wave() -> SolitaryWave:
    """The exact solitary wave of a Hertz chain: shape and coefficients, computed, not typed.

    Solves the travelling-wave equation of the discrete chain by fixed-point iteration in Fourier space (derivation above). The
    continuum limit of the same equation is Nesterenko's, see `solitary_speed`; the discrete wave is reviewed by Sen et al. 2008,
    doi:10.1016/j.physrep.2007.10.007.
    """
    n = _WINDOW * _SAMPLES
    crest = n // 2
    x = np.arange(n) / _SAMPLES - _WINDOW / 2.0
    q = 2.0 * np.pi * np.fft.rfftfreq(n, 1.0 / _SAMPLES)
    # np.sinc(z) is sin(pi z)/(pi z)
    sinc = np.sinc(q / (2.0 * np.pi))
    overlap = np.exp(-x * x)
    change = math.inf
    while True:
        force = np.maximum(overlap, 0.0) ** 1.5
        smooth = np.fft.irfft(sinc * sinc * np.fft.rfft(force), n)
        # With k = m = 1 and the largest overlap 1, what the smoothing leaves at the crest is V^2.
        speed_squared = float(smooth[crest])
        last, change = change, float(np.abs(smooth / speed_squared - overlap).max())
        overlap = smooth / speed_squared
        # The change shrinks at every iteration until rounding stops it.
        if change >= last and change < 1e-12:
            break
    force = np.maximum(overlap, 0.0) ** 1.5
    speed = math.sqrt(speed_squared)
    velocity = np.fft.irfft(sinc * np.fft.rfft(force), n) / speed
    peak_velocity = float(velocity[crest])
    half = _SAMPLES // 2
    mean_force = 0.5 * (np.roll(force, half) + np.roll(force, -half))
    kinetic = 0.5 * velocity * velocity
    # Energy of a contact: the integral of d^1.5.
    elastic = 0.4 * np.maximum(overlap, 0.0) ** 2.5
    # At an instant the beads sit at x0, x0 + 1, ... and the contacts half a bead further.
    kinetic_now = kinetic.reshape(_WINDOW, _SAMPLES).sum(axis=0)
    elastic_now = np.roll(elastic, half).reshape(_WINDOW, _SAMPLES).sum(axis=0)
    share_now = kinetic_now / (kinetic_now + elastic_now)
    energy = float((kinetic + elastic).sum()) / _SAMPLES

    def modes(values: np.ndarray) -> tuple[float, ...]:
        # The wave is even about its crest: a series of cosines in x.
        spectrum = np.fft.rfft(np.roll(values, -crest)).real / n
        spectrum[1:-1] *= 2.0
        return tuple(spectrum.tolist())

    return SolitaryWave(
        speed_from_velocity=speed / peak_velocity**0.2,
        speed_from_force=speed,
        force_from_velocity=peak_velocity**-1.2,
        bead_force=float(mean_force.max()),
        kinetic_share=float(kinetic.sum() / (kinetic + elastic).sum()),
        kinetic_share_range=(float(share_now.min()), float(share_now.max())),
        energy=energy / (peak_velocity * peak_velocity),
        momentum=float(velocity.sum()) / _SAMPLES / peak_velocity,
        _velocity_modes=modes(velocity / peak_velocity),
        _overlap_modes=modes(overlap),
    )


# Nesterenko 1983, doi:10.1007/BF00905892: the soliton of his long-wave equation has V = (2/sqrt(5)) k^(1/3) m^(-1/2) F_m^(1/6) beads
# per second; with F_m = k (v_m/V)^1.5, the overlap of a long wave, that is V = (16/25)^(1/5) (k/m)^(2/5) v_m^(1/5).
LONG_WAVE_SPEED_FROM_FORCE = 2.0 / math.sqrt(5.0)
LONG_WAVE_SPEED_FROM_VELOCITY = (16.0 / 25.0) ** 0.2


def solitary_speed(
    stiffness: float,
    mass: float,
    *,
    peak_velocity: float | None = None,
    peak_force: float | None = None,
    long_wave: bool = False,
) -> float:
    """Speed of the solitary wave in a chain of equal touching beads.

    V = c_v (k/m)^(2/5) v_m^(1/5) = c_F k^(1/3) m^(-1/2) F_m^(1/6). The exact coefficients are those of the discrete chain
    (`solitary_wave`: 0.907470 and 0.905516); Nesterenko's long-wave ones, (16/25)^(1/5) and 2/sqrt(5), are good to 1.3 % and no more
    (Nesterenko 1983, doi:10.1007/BF00905892).

    Parameters
    ----------
    stiffness : float
        k of a contact [N/m^1.5].
    mass : float
        m of a bead [kg].
    peak_velocity, peak_force : float
        Peak velocity of a bead [m/s], or peak force of a contact [N]: one of the two.
    long_wave : bool
        Nesterenko's coefficients instead of the exact ones.

    Returns
    -------
    float
        V [beads/s]; times the diameter it is m/s.
    """
    if (peak_velocity is None) == (peak_force is None):
        raise ValueError("solitary_speed: give peak_velocity or peak_force, one of the two")
    if peak_velocity is not None:
        factor = LONG_WAVE_SPEED_FROM_VELOCITY if long_wave else solitary_wave().speed_from_velocity
        return float(factor * (stiffness / mass) ** 0.4 * peak_velocity**0.2)
    assert peak_force is not None
    factor = LONG_WAVE_SPEED_FROM_FORCE if long_wave else solitary_wave().speed_from_force
    return float(factor * stiffness ** (1.0 / 3.0) / math.sqrt(mass) * peak_force ** (1.0 / 6.0))


def solitary_force(stiffness: float, mass: float, peak_velocity: float) -> float:
    """Peak contact force of the solitary wave whose beads reach a velocity.

    F_m = 1.013019 k^(2/5) (m v_m^2)^(3/5), the coefficient from `solitary_wave`; reviewed by Sen et al. 2008,
    doi:10.1016/j.physrep.2007.10.007.

    Parameters
    ----------
    stiffness : float
        k of a contact [N/m^1.5].
    mass : float
        m of a bead [kg].
    peak_velocity : float
        v_m [m/s].

    Returns
    -------
    float
        F_m [N].
    """
    return float(solitary_wave().force_from_velocity * stiffness**0.4 * (mass * peak_velocity * peak_velocity) ** 0.6)


# --------------------------------------------------------------------------------------------------------------------
# A Hertz chain struck by one more equal bead

# In units of the striker's speed v0; peak force of the first contact in k^(2/5) (m v0^2)^(3/5). Computed with `struck_chain` (scipy
# DOP853, rtol 1e-13), to the digits shown: 48 balls for the peaks, each by a parabola through samples 5e-4 apart. The peak velocities
# of the beads fall by ever smaller steps, ratio 0.56 from one bead to the next; the limit is the wave's.
STRUCK_PEAK_VELOCITY = 0.6816315
STRUCK_FIRST_FORCE = 0.7584203
# The striker first, then beads 1 to 3, when the wave has gone for good; 60 and 90 balls agree.
STRUCK_REBOUND = (-0.07108502, -0.03027379, -0.01583340, -0.00888570)

# Final velocities of N equal touching Hertz balls, the first of them the striker, in its speed: computed with `ball_velocities` (scipy
# DOP853, rtol 1e-13), to the digits shown. Two balls exchange their velocities exactly.
BALL_VELOCITIES: dict[int, tuple[float, ...]] = {
    2: (0.0, 1.0),
    3: (-0.07095235, 0.07640304, 0.99454931),
    5: (-0.07108502, -0.03027376, -0.01446363, 0.12704499, 0.98877742),
}


@dataclass(frozen=True)
class StruckChain:
    """Long Hertz chain struck by an equal bead, once the wave has formed.

    Attributes
    ----------
    peak_velocity : float
        Of a bead in the wave [m/s].
    first_force : float
        Peak force between striker and first bead [N].
    peak_force : float
        Of a contact in the wave [N].
    sensor_force : float
        Peak of the mean of a bead's two contact forces in the wave [N].
    wave_speed : float
        [beads/s].
    wave_energy : float
        Part of the striker's energy that the wave carries [1].
    rebound : tuple of float
        Final velocities of the striker and beads 1 to 3 [m/s].
    """

    peak_velocity: float
    first_force: float
    peak_force: float
    sensor_force: float
    wave_speed: float
    wave_energy: float
    rebound: tuple[float, ...]


def equal_striker(stiffness: float, mass: float, speed: float) -> StruckChain:
    """Wave that one equal striker makes in a long chain of touching beads under Hertz's law.

    Everything scales: velocities with v0, forces with k^(2/5) (m v0^2)^(3/5). The pure numbers are `STRUCK_PEAK_VELOCITY`,
    `STRUCK_FIRST_FORCE` and `STRUCK_REBOUND`, computed here by integrating the chain, and those of `solitary_wave`. The problem is
    reviewed by Sen et al. 2008, doi:10.1016/j.physrep.2007.10.007.

    Parameters
    ----------
    stiffness : float
        k of a contact [N/m^1.5].
    mass : float
        m of a bead and of the striker [kg].
    speed : float
        v0 of the striker [m/s].
    """
    wave = solitary_wave()
    peak_velocity = STRUCK_PEAK_VELOCITY * speed
    peak_force = solitary_force(stiffness, mass, peak_velocity)
    return StruckChain(
        peak_velocity=peak_velocity,
        first_force=STRUCK_FIRST_FORCE * stiffness**0.4 * (mass * speed * speed) ** 0.6,
        peak_force=peak_force,
        sensor_force=wave.bead_force * peak_force,
        wave_speed=solitary_speed(stiffness, mass, peak_velocity=peak_velocity),
        # energy of the wave in m v_m^2, over the striker's m v0^2/2
        wave_energy=2.0 * wave.energy * STRUCK_PEAK_VELOCITY * STRUCK_PEAK_VELOCITY,
        rebound=tuple(share * speed for share in STRUCK_REBOUND),
    )


def struck_chain(count: int, times: Any) -> tuple[np.ndarray, np.ndarray]:
    """Motion of equal touching Hertz balls, the first of which comes in with speed 1; k = m = 1.

    An integration independent of the engine: scipy's DOP853 (Hairer, Norsett & Wanner 1993, doi:10.1007/978-3-540-78862-1), rtol 1e-13.
    Unit of length (m v0^2/k)^(2/5), of time that over v0.

    Parameters
    ----------
    count : int
        Number of balls, the striker counted; at least 2.
    times : array
        Increasing times [1], the first at least 0.

    Returns
    -------
    displacement, velocity : array (n_times, count)
        [1].
    """
    from scipy.integrate import solve_ivp

    if count < 2:
        raise ValueError(f"count: got {count!r}, allowed: at least 2 balls, the striker counted")
    times = np.asarray(times, dtype=float)

    def rates(_: float, state: np.ndarray) -> np.ndarray:
        overlap = np.maximum(state[: count - 1] - state[1:count], 0.0)
        force = overlap * np.sqrt(overlap)
        acceleration = np.zeros(count)
        acceleration[:-1] -= force
        acceleration[1:] += force
        return np.concatenate([state[count:], acceleration])

    start = np.zeros(2 * count)
    start[count] = 1.0
    # Lengths and speeds are of order one: an absolute tolerance a hundredth of the relative one leaves the latter in charge.
    solution = solve_ivp(rates, (0.0, float(times[-1])), start, method="DOP853", t_eval=times, rtol=1e-13, atol=1e-15)
    return solution.y[:count].T, solution.y[count:].T


def ball_velocities(count: int) -> np.ndarray:
    """Final velocities of N equal touching Hertz balls after the first has struck, in the striker's speed.

    Integrates (`struck_chain`) until every contact is open and no ball catches up with the next. Momentum 1 and energy 1/2 are kept.
    The problem is reviewed by Sen et al. 2008, doi:10.1016/j.physrep.2007.10.007.

    Parameters
    ----------
    count : int
        Number of balls, the striker counted; at least 2.

    Returns
    -------
    array (count,)
        [1].
    """
    # A wave passes a ball in about one unit of time; doubled until the balls have parted.
    end = 4.0 * count
    while True:
        displacement, velocity = (history[-1] for history in struck_chain(count, [0.0, end]))
        if np.all(np.diff(displacement) > 0.0) and np.all(np.diff(velocity) > 0.0):
            return np.asarray(velocity)
        end *= 2.0


# --------------------------------------------------------------------------------------------------------------------
# Unlike elastic balls


def pairwise_velocity(mass: Any) -> float:
    """Velocity of the last of a row of elastic balls that meet one pair at a time, as across gaps, in that of the first.

    The product of 2 m_i/(m_i + m_(i+1)), by momentum and energy of each pair, whatever the elastic force law. For beads tapered by q,
    m_(i+1) = (1 - q)^3 m_i: Doney & Sen 2006, doi:10.1103/PhysRevLett.97.155502.

    Parameters
    ----------
    mass : array (n_bodies,)
        In the order in which they are struck [kg].

    Returns
    -------
    float
        [1].
    """
    m = np.asarray(mass, dtype=float)
    return float(np.prod(2.0 * m[:-1] / (m[:-1] + m[1:])))


# Light over heavy mass of a touching dimer of equal contacts at which a solitary wave exists, the largest ratio below 1: Jayaprakash,
# Starosvetsky & Vakakis 2011, doi:10.1103/PhysRevE.83.036606, to the four digits printed.
DIMER_RATIO = 0.3428


# --------------------------------------------------------------------------------------------------------------------
# Small waves in a precompressed chain


def precompressed_stiffness(stiffness: float, precompression: float) -> float:
    """Slope of the Hertz force at a static force: dF/dd = (3/2) k^(2/3) F0^(1/3) [N/m].

    Derivative of F = k d^1.5 at d0 = (F0/k)^(2/3).

    Parameters
    ----------
    stiffness : float
        k of a contact [N/m^1.5].
    precompression : float
        F0 [N].
    """
    return float(1.5 * stiffness ** (2.0 / 3.0) * precompression ** (1.0 / 3.0))


def dispersion(wave_number: Any, stiffness: float, mass: float, precompression: float) -> np.ndarray:
    """Angular frequency of a small wave in a precompressed chain of equal beads.

    omega = 2 sqrt(s/m) abs(sin(q/2)), s = (3/2) k^(2/3) F0^(1/3): the lattice of masses and linear springs (Brillouin 1946, Wave
    Propagation in Periodic Structures, ch. 2) with the slope of the Hertz force. The largest frequency is at q = pi. Reviewed for
    beads by Sen et al. 2008, doi:10.1016/j.physrep.2007.10.007.

    Parameters
    ----------
    wave_number : array
        q [rad per bead].
    stiffness : float
        k of a contact [N/m^1.5].
    mass : float
        m of a bead [kg].
    precompression : float
        F0 [N].

    Returns
    -------
    array
        omega [rad/s].
    """
    highest = 2.0 * math.sqrt(precompressed_stiffness(stiffness, precompression) / mass)
    return np.asarray(highest * np.abs(np.sin(0.5 * np.asarray(wave_number, dtype=float))))


def small_wave_speed(stiffness: float, mass: float, precompression: float) -> float:
    """Speed of long small waves in a precompressed chain of equal beads: sqrt(s/m), s = (3/2) k^(2/3) F0^(1/3).

    The limit of omega/q for q to 0, see `dispersion`; Nesterenko 1983, doi:10.1007/BF00905892, for the chain of beads.

    Parameters
    ----------
    stiffness : float
        k of a contact [N/m^1.5].
    mass : float
        m of a bead [kg].
    precompression : float
        F0 [N].

    Returns
    -------
    float
        [beads/s]; times the diameter it is m/s.
    """
    return math.sqrt(precompressed_stiffness(stiffness, precompression) / mass)


@dataclass(frozen=True)
class DepthExponents:
    """Exponents of depth h: bead velocity ~ h^`velocity` and wave speed ~ h^`speed` [1]."""

    velocity: float
    speed: float


def depth_exponents(exponent: float = 1.5) -> DepthExponents:
    """How a small wave changes with depth in a vertical chain under gravity.

    Velocity of the beads ~ h^(-(1/4)(1/3 + 1/p)), speed of the wave ~ h^((1/2)(1 - 1/p)), for the force K d^p; -1/4 and 1/6 for Hertz.
    Reached at depths far below the first bead. Hong, Ji & Kim 1999, doi:10.1103/PhysRevLett.82.3058.

    Parameters
    ----------
    exponent : float
        p of the force K d^p [1].
    """
    return DepthExponents(velocity=-0.25 * (1.0 / 3.0 + 1.0 / exponent), speed=0.5 * (1.0 - 1.0 / exponent))


def evanescent_decay(frequency: float, stiffness: float, mass: float, precompression: float) -> float:
    """Decay of a small oscillation above the highest frequency of a precompressed chain, in nepers per bead.

    The dispersion with q = pi + i kappa: omega = omega_max cosh(kappa/2) (Brillouin 1946, Wave Propagation in Periodic Structures,
    ch. 2).

    Parameters
    ----------
    frequency : float
        Angular frequency, above `dispersion(pi, ...)` [rad/s].
    stiffness : float
        k of a contact [N/m^1.5].
    mass : float
        m of a bead [kg].
    precompression : float
        F0 [N].

    Returns
    -------
    float
        kappa [1]: the amplitude falls by exp(-kappa) from bead to bead, each against the one before.
    """
    highest = float(dispersion(math.pi, stiffness, mass, precompression))
    if not frequency >= highest:
        raise ValueError(f"frequency: got {frequency!r}, allowed: at least the highest of the chain, {highest:.6g} rad/s")
    return 2.0 * math.acosh(frequency / highest)


# --------------------------------------------------------------------------------------------------------------------
# Restitution of an elastoplastic impact

# Formulas of table 4 of the review of Wang et al. 2022 (Research progress of contact force models in the collision mechanics of
# multibody system), in the consistent form: the table has misprints, and each function says what it reads otherwise. A speed outside a
# formula's range is refused.


def _require(where: str, got: float, holds: bool, allowed: str) -> None:
    """Refuse a value outside a formula's range."""
    if not holds:
        raise CaseError(f"{where}: got {got:.6g}, allowed: {allowed}")


def _positive(where: str, **values: float) -> None:
    for name, value in values.items():
        _require(f"{where}: {name}", value, 0.0 < value < math.inf, "a finite number above 0")


def thornton_yield_speed(effective_modulus: float, effective_radius: float, effective_mass: float, yield_pressure: float) -> float:
    """Impact speed at which the largest Hertz pressure reaches the yield pressure.

    V_y = (pi/(2 E))^2 (8 pi R^3/(15 m))^(1/2) p_y^(5/2): m V_y^2/2 is the Hertz work up to d_y = pi^2 R p_y^2/(4 E^2). Thornton 1997,
    doi:10.1115/1.2787319.

    Parameters
    ----------
    effective_modulus, effective_radius, effective_mass : float
        E [Pa], R [m], m [kg].
    yield_pressure : float
        p_y [Pa], 1.6 yield stresses.

    Returns
    -------
    float
        V_y [m/s].
    """
    _positive("thornton_yield_speed", E=effective_modulus, R=effective_radius, m=effective_mass, p_y=yield_pressure)
    geometry = math.sqrt(8.0 * math.pi * effective_radius**3 / (15.0 * effective_mass))
    return (math.pi / (2.0 * effective_modulus)) ** 2 * geometry * yield_pressure**2.5


def thornton_restitution(speed: float, yield_speed: float) -> float:
    """Restitution of Thornton's elastic, perfectly plastic spheres; exactly that of the law `thornton`.

    e = (6 sqrt(3)/5)^(1/2) (1 - x^2/6)^(1/2) (x/(x + 2 (6/5 - x^2/5)^(1/2)))^(1/4), x = V_y/V; 1 up to V_y, where the impact is elastic.
    Thornton 1997, doi:10.1115/1.2787319.

    Parameters
    ----------
    speed, yield_speed : float
        V and V_y (`thornton_yield_speed`) [m/s].

    Returns
    -------
    float
        e [1].
    """
    _positive("thornton_restitution", V=speed, V_y=yield_speed)
    x = yield_speed / speed
    if x >= 1.0:
        return 1.0
    plastic = x / (x + 2.0 * math.sqrt(1.2 - 0.2 * x * x))
    return math.sqrt(1.2 * math.sqrt(3.0) * (1.0 - x * x / 6.0)) * plastic**0.25


def chang_ling_restitution(
    speed: float, effective_modulus: float, effective_radius: float, effective_mass: float, yield_stress: float, poissons_ratio: float
) -> float:
    """Restitution of Chang, Etsion and Bogy's contact: Hertz up to w_c, then a plastic core at constant pressure.

    e^2 = (8/15) E sqrt(R) w_c (w_m (2 - w_c/w_m))^1.5/((8/15) E sqrt(R) w_c^2.5 + pi K Y R w_m (w_m - w_c)), w_c = (pi K Y/(2 E))^2 R,
    K = 1.282 + 1.158 nu, and the largest overlap w_m from the denominator, which is m V^2/2; 1 where the impact is elastic.
    Chang & Ling 1992, doi:10.1115/1.2920903. Derived anew: as printed in the review, where the bracket holds one w_c more and stands to the
    power 1.5, the dimensions do not agree.

    Parameters
    ----------
    speed : float
        V [m/s].
    effective_modulus, effective_radius, effective_mass : float
        E [Pa], R [m], m [kg].
    yield_stress, poissons_ratio : float
        Y [Pa], nu [1].

    Returns
    -------
    float
        e [1].
    """
    where = "chang_ling_restitution"
    _positive(where, V=speed, E=effective_modulus, R=effective_radius, m=effective_mass, Y=yield_stress)
    _require(f"{where}: nu", poissons_ratio, 0.0 <= poissons_ratio <= 0.5, "0 to 0.5")
    pressure = (1.282 + 1.158 * poissons_ratio) * yield_stress
    critical = (math.pi * pressure / (2.0 * effective_modulus)) ** 2 * effective_radius
    hertz = 8.0 / 15.0 * effective_modulus * math.sqrt(effective_radius)
    kinetic = 0.5 * effective_mass * speed * speed
    excess = kinetic - hertz * critical**2.5
    if excess <= 0.0:
        return 1.0
    # the positive root of pi K Y R w_m (w_m - w_c) = what is left of the kinetic energy
    largest = 0.5 * (critical + math.sqrt(critical * critical + 4.0 * excess / (math.pi * pressure * effective_radius)))
    return math.sqrt(hertz * critical * (largest * (2.0 - critical / largest)) ** 1.5 / kinetic)


# Factors of the two branches of Wu et al.: Wang et al. 2022, review, table 4.
WU_FIRST, WU_SECOND = 2.08, 0.62


def wu_restitution(speed: float, yield_speed: float, yield_stress: float, effective_modulus: float) -> float:
    """Restitution fitted by Wu, Li and Thornton to finite elements, for impacts far above first yield.

    2.08 (V/V_y)^(-1/4), and 0.62 (V s_y/(V_y E))^(-1/2) for finite plastic deformation, from the speed on where the two meet:
    V/V_y = (0.62/2.08)^4 (E/s_y)^2. Wu, Li & Thornton 2005, International Journal of Impact Engineering 32.
    The review prints the first exponent as +0.156, which makes the restitution grow with the speed; -1/4, the plastic limit of Thornton's
    formula, is completed as generally known, not checked against the original.

    Parameters
    ----------
    speed, yield_speed : float
        V, at least 18.7 V_y, below which the first branch exceeds 1; V_y [m/s].
    yield_stress, effective_modulus : float
        s_y, E [Pa].

    Returns
    -------
    float
        e [1].
    """
    _positive("wu_restitution", V=speed, V_y=yield_speed, s_y=yield_stress, E=effective_modulus)
    ratio = speed / yield_speed
    lowest = WU_FIRST**4
    _require("wu_restitution: V", speed, ratio >= lowest, f"at least {lowest:.4g} V_y = {lowest * yield_speed:.6g} m/s")
    if ratio < (WU_SECOND / WU_FIRST) ** 4 * (effective_modulus / yield_stress) ** 2:
        return WU_FIRST * ratio**-0.25
    return WU_SECOND * (ratio * yield_stress / effective_modulus) ** -0.5


def weir_tallon_restitution(speed: float, yield_stress: float, effective_modulus: float, youngs_modulus: float, density: float) -> float:
    """Restitution of a sphere on a plane by Weir and Tallon; unverified.

    e = 3.1 (s_y/E)^(5/8) (c0/V)^(1/4), c0 = (E_young/density)^(1/2). Weir & Tallon 2005, doi:10.1016/j.ces.2005.01.040.
    Unverified: the review has one more factor, (R1/R)^(3/8), whose R1 it does not define, and whose exponent's sign contradicts the
    scaling of the yield speed with the mass. It is 1 for a sphere on a plane, and only that case is given.

    Parameters
    ----------
    speed : float
        V [m/s], so large that the formula is at most 1.
    yield_stress, effective_modulus, youngs_modulus : float
        s_y, E, E_young [Pa].
    density : float
        [kg/m3].

    Returns
    -------
    float
        e [1].
    """
    where = "weir_tallon_restitution"
    _positive(where, V=speed, s_y=yield_stress, E=effective_modulus, E_young=youngs_modulus, density=density)
    wave_speed = math.sqrt(youngs_modulus / density)
    factor = 3.1 * (yield_stress / effective_modulus) ** 0.625
    restitution = factor * (wave_speed / speed) ** 0.25
    _require(f"{where}: V", speed, restitution <= 1.0, f"at least {factor**4 * wave_speed:.6g} m/s, where the formula is 1")
    return restitution


def jackson_critical_speed(
    effective_modulus: float, effective_radius: float, effective_mass: float, yield_stress: float, poissons_ratio: float
) -> float:
    """Impact speed at which a sphere first yields in Jackson and Green's contact.

    m V_c^2/2 = (8/15) E sqrt(R) d_c^2.5, d_c = (pi C s_y/(2 E))^2 R, C = 1.295 exp(0.736 nu). Jackson, Green & Marghitu 2010,
    doi:10.1007/s11071-009-9591-z.

    Parameters
    ----------
    effective_modulus, effective_radius, effective_mass : float
        E [Pa], R [m], m [kg].
    yield_stress, poissons_ratio : float
        s_y [Pa], nu [1].

    Returns
    -------
    float
        V_c [m/s].
    """
    where = "jackson_critical_speed"
    _positive(where, E=effective_modulus, R=effective_radius, m=effective_mass, s_y=yield_stress)
    _require(f"{where}: nu", poissons_ratio, 0.0 <= poissons_ratio <= 0.5, "0 to 0.5")
    pressure = 1.295 * math.exp(0.736 * poissons_ratio) * yield_stress
    critical = (math.pi * pressure / (2.0 * effective_modulus)) ** 2 * effective_radius
    return math.sqrt(16.0 / 15.0 * effective_modulus * math.sqrt(effective_radius) * critical**2.5 / effective_mass)


def jackson_restitution(speed: float, critical_speed: float, yield_strain: float) -> float:
    """Restitution fitted by Jackson, Green and Marghitu to the impact under Jackson and Green's contact law.

    With v = V/V_c: 1 up to 1; 1 - 0.1 ln(v) ((v - 1)/59)^0.156 up to 60; 1 - 0.1 ln(60) - 0.1 ln(v/60) (v - 60)^(2.36 s_y/E) up to 1000.
    Jackson, Green & Marghitu 2010, doi:10.1007/s11071-009-9591-z.

    Parameters
    ----------
    speed, critical_speed : float
        V, at most 1000 V_c; V_c (`jackson_critical_speed`) [m/s].
    yield_strain : float
        s_y/E [1].

    Returns
    -------
    float
        e [1].
    """
    _positive("jackson_restitution", V=speed, V_c=critical_speed, yield_strain=yield_strain)
    v = speed / critical_speed
    _require("jackson_restitution: V", speed, v <= 1000.0, f"at most 1000 V_c = {1000.0 * critical_speed:.6g} m/s")
    if v <= 1.0:
        return 1.0
    if v <= 60.0:
        return 1.0 - 0.1 * math.log(v) * ((v - 1.0) / 59.0) ** 0.156
    return 1.0 - 0.1 * math.log(60.0) - 0.1 * math.log(v / 60.0) * (v - 60.0) ** (2.36 * yield_strain)


def ma_liu_plastic_restitution(
    speed: float, effective_modulus: float, effective_radius: float, effective_mass: float, yield_stress: float, psi: float, xi: float
) -> float:
    """Restitution of the Ma-Liu law where nearly the whole loading is fully plastic: an asymptote, too large by some percent.

    e = 0.81 E^(-1/3) R_p^(-1/6) k1^(5/12) m^(-1/12) V^(-1/6) with k1 = 2 pi R psi s_y and R_p = R (4/3) E sqrt(R) d_p^1.5/F_p, the
    unloading radius of full plasticity. Ma & Liu 2015, doi:10.1115/1.4031483. It follows from U = k1 d^2/2, F = k1 d and W = (2/5) F d_e,
    d_e = (3 F/(4 E sqrt(R_p)))^(2/3); 0.81 is ((4/5) (3/4)^(2/3))^(1/2) = 0.8127.

    Parameters
    ----------
    speed : float
        V [m/s], at least that at which the contact just becomes fully plastic.
    effective_modulus, effective_radius, effective_mass : float
        E [Pa], R [m], m [kg].
    yield_stress : float
        s_y [Pa].
    psi, xi : float
        Of the law [1].

    Returns
    -------
    float
        e [1].
    """
    where = "ma_liu_plastic_restitution"
    _positive(where, V=speed, E=effective_modulus, R=effective_radius, m=effective_mass, s_y=yield_stress, psi=psi)
    _require(f"{where}: xi", xi, math.sqrt(2.0) < xi < math.inf, "above sqrt(2)")
    # Wang, Liu & Liu 2022, eqs. (1)-(3), doi:10.1016/j.ijmecsci.2022.107214: F = d (c1 + c2 ln(d/d_y)) + c3 between d_y and d_p
    pressure, log = 1.61 * yield_stress, math.log(xi * xi / 2.0)
    hertz = hertz_stiffness(effective_modulus, effective_radius)
    yielding = (math.pi * pressure / (2.0 * effective_modulus)) ** 2 * effective_radius
    plastic = 0.5 * xi * xi * yielding
    c2 = math.pi * effective_radius * (2.0 * psi * yield_stress - pressure) / log
    c1 = math.pi * effective_radius * pressure - c2
    c3 = hertz * yielding**1.5 - c1 * yielding
    force = plastic * (c1 + c2 * log) + c3
    work = 0.4 * hertz * yielding**2.5 + (0.5 * c1 - 0.25 * c2) * (plastic**2 - yielding**2) + 0.5 * c2 * plastic**2 * log
    work += c3 * (plastic - yielding)
    lowest = math.sqrt(2.0 * work / effective_mass)
    _require(f"{where}: V", speed, speed >= lowest, f"at least {lowest:.6g} m/s, at which the contact just becomes fully plastic")
    radius = effective_radius * hertz * plastic**1.5 / force
    slope = 2.0 * math.pi * effective_radius * psi * yield_stress
    return (
        0.81
        * effective_modulus ** (-1.0 / 3.0)
        * radius ** (-1.0 / 6.0)
        * slope ** (5.0 / 12.0)
        * effective_mass ** (-1.0 / 12.0)
        * speed ** (-1.0 / 6.0)
    )


# --------------------------------------------------------------------------------------------------------------------
# Line contact of cylinders: the power laws of Autiero et al. 2022, doi:10.3390/machines10110966
#
# Here alone in mm, N and MPa, for n of K [N/mm^n] is part of the dimension. These are the formulas that their tables 2 to 9 and 11 were
# computed with, found by reproducing the tables. Where they are not the laws themselves (granchain.contact.cylinder) the line says how.

# Lengths of line contact, in mm, are 1: a force per length W [N/mm] is a force.
TABULATED_LAWS = ("radzimovsky", "johnson", "esdu-78035", "goldsmith")
# W of the fit: 1 to 1000 N/mm, evenly; largest relative error told from this overlap [mm] on.
_TABULATED_FORCES = (1.0, 1000.0, 1000)
_TABULATED_FROM = 1e-3


def tabulated_overlap(
    law: str, line_force: Any, effective_modulus: float, relative_radius: float, effective_radius: float | None = None
) -> np.ndarray:
    """Overlap of two cylinders [mm] as the tables of Autiero et al. 2022 were computed, doi:10.3390/machines10110966.

    Parameters
    ----------
    law : str
        One of `TABULATED_LAWS`.
    line_force : float or array
        W = F/L [N/mm].
    effective_modulus : float
        E = 1/((1 - nu1^2)/E1 + (1 - nu2^2)/E2) [MPa].
    relative_radius : float
        dR = R1 + R2 (external) or R1 - R2 (internal) [mm].
    effective_radius : float, optional
        R = R1 R2/dR [mm], for goldsmith.

    Raises
    ------
    CaseError
        For another law, a number that is not above zero, or a missing radius.
    """
    where = "tabulated_overlap"
    if law not in TABULATED_LAWS:
        raise CaseError(f'{where}: law: got "{law}", allowed: {", ".join(TABULATED_LAWS)}')
    _positive(where, E=effective_modulus, dR=relative_radius)
    w = np.asarray(line_force, dtype=float)
    _require(f"{where}: W", float(w.min()), bool((w > 0.0).all()), "above 0")
    soft = math.pi * effective_modulus
    if law == "radzimovsky":
        # 16 in place of 8
        return w / soft * (2.0 / 3.0 + np.log(16.0 * relative_radius * effective_modulus / (1.6 * 1.6 * w)))
    if law == "johnson":
        return w / soft * (np.log(4.0 * soft * relative_radius / w) - 1.0)
    if law == "esdu-78035":
        # E in place of pi E, twice
        return w / effective_modulus * (np.log(4.0 * effective_modulus * relative_radius / w) + 1.0)
    radius = math.nan if effective_radius is None else effective_radius
    _positive(where, R=radius)
    # 1e8 mm^2 in place of L^2
    return w / soft * (np.log(1e8 * soft / (w * radius)) + 1.0)


def tabulated_lankarani_nikravesh(effective_modulus: float, effective_radius: float) -> float:
    """K of F = K d^1.5 [N/mm^1.5] in table 11 of Autiero et al. 2022, doi:10.3390/machines10110966: pi/10 of (4/3) E sqrt(R).

    Parameters
    ----------
    effective_modulus, effective_radius : float
        E [MPa], R [mm].
    """
    _positive("tabulated_lankarani_nikravesh", E=effective_modulus, R=effective_radius)
    return math.pi / 10.0 * hertz_stiffness(effective_modulus, effective_radius)


@dataclass(frozen=True)
class PowerLaw:
    """W = K d^n: stiffness K [N/mm^(n+1)], exponent n [1], largest relative error [1]."""

    stiffness: float
    exponent: float
    largest_error: float


def tabulated_power_law(law: str, effective_modulus: float, relative_radius: float, effective_radius: float | None = None) -> PowerLaw:
    """Power law W = K d^n of two cylinders, as tables 2 to 9 of Autiero et al. 2022 have it, doi:10.3390/machines10110966.

    K and n minimise the sum of (K d^n - W)^2 over W = 1 to 1000 N/mm: for each n the best K is sum W d^n/sum d^(2n), one unknown is left.
    The largest relative error is that over d >= .001 mm.

    Parameters
    ----------
    law, effective_modulus, relative_radius, effective_radius
        As `tabulated_overlap`.
    """
    from scipy.optimize import minimize_scalar

    force = np.linspace(*_TABULATED_FORCES)
    overlap = tabulated_overlap(law, force, effective_modulus, relative_radius, effective_radius)

    def stiffness(n: float) -> float:
        power = overlap**n
        return float(force @ power / (power @ power))

    def misfit(n: float) -> float:
        return float(((stiffness(n) * overlap**n - force) ** 2).sum())

    # a line contact is hardly stiffer than linear, and softer than two spheres
    n = float(minimize_scalar(misfit, bounds=(1.0, 1.5), method="bounded", options={"xatol": 1e-10}).x)
    # the error is largest at the smallest overlap, between two of the forces: a finer grid, down to half of the first
    fine = np.linspace(0.5 * force[0], force[-1], 200 * force.size)
    overlap_fine = tabulated_overlap(law, fine, effective_modulus, relative_radius, effective_radius)
    error = np.abs(stiffness(n) * overlap_fine**n / fine - 1.0)[overlap_fine >= _TABULATED_FROM]
    return PowerLaw(stiffness(n), n, float(error.max()))
