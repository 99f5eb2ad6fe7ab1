"""Waves in a chain of equal beads: solitary waves of touching beads, and small waves.

Small waves require a precompressed chain.

The solitary wave travels without precompression, with the force F = k d^1.5.

A wave of V beads per second has the overlaps d(x), x = bead number - V t, with m V^2 d''(x) = F(x +
1) - 2 F(x) + F(x - 1). In Fourier space this is m V^2 d = sinc^2(q/2) F, sinc(z) = sin(z)/z. The
wave is therefore a fixed point of a map that computes the force and smooths it, and iterating this
map with the peak set to 1 converges. English & Pego 2005, Proc. Am. Math. Soc. 133, 1763, prove
that the wave decays faster than any exponential, so a window of a few beads is enough. The velocity
of a bead at x from the crest follows from m V v'(x) = F(x + 1/2) - F(x - 1/2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from granchain.errors import CaseError
from granchain.theory.ranges import require, root

# Window of the wave in beads: at 8 beads from the crest the overlap is below 1e-300 of its peak.
_WINDOW = 16
# Number of samples per bead, which is even. With 32 samples, the highest modes of the wave are
# already below 1e-16 of the first.
_SAMPLES_PER_BEAD = 64


@dataclass(frozen=True)
class SolitaryWave:
    """Exact solitary wave of a Hertz chain, as dimensionless numbers.

    k is the stiffness of a contact in N/m^1.5, m the mass of a bead, v_m the peak velocity of a
    bead, F_m the peak force of a contact.

    Attributes
    ----------
    speed_from_velocity : float
        V/[(k/m)^(2/5) v_m^(1/5)], V in beads per second.
    speed_from_force : float
        V/[k^(1/3) m^(-1/2) F_m^(1/6)].
    force_from_velocity : float
        F_m/[k^(2/5) (m v_m^2)^(3/5)].
    bead_force : float
        Peak of the mean of the two contact forces of a bead, divided by F_m. A sensor inside a bead
        measures this mean.
    kinetic_share : float
        Kinetic fraction of the energy, averaged over one lattice period. By the virial theorem, 2 T
        = 2.5 U, it is 5/9.
    kinetic_share_range : tuple of float
        Smallest and largest instantaneous kinetic fraction.
    energy : float
        Energy of the wave divided by m v_m^2.
    """

    speed_from_velocity: float
    speed_from_force: float
    force_from_velocity: float
    bead_force: float
    kinetic_share: float
    kinetic_share_range: tuple[float, float]
    energy: float
    _velocity_modes: tuple[float, ...]
    _overlap_modes: tuple[float, ...]

    def bead_velocity(self, position: Any) -> np.ndarray:
        """Return the velocity of a bead divided by v_m.

        The position is relative to the crest [beads].
        """
        return _cosine_series(self._velocity_modes, position)

    def overlap(self, position: Any) -> np.ndarray:
        """Return the overlap of a contact divided by its maximum.

        The position is relative to the crest [beads].
        """
        return _cosine_series(self._overlap_modes, position)

    def width(self, level: float = 0.5) -> float:
        """Return the width of the velocity pulse at a fraction of its peak [beads].

        The fraction is at least 1e-6 and below 1.
        """
        require("level", level, 1e-6 <= level < 1.0, "at least 1e-6 and below 1")
        # A third of the window from the crest, the velocity is below 1e-15 of its peak.
        return 2.0 * root(lambda x: float(self.bead_velocity(x)) - level, 0.0, _WINDOW / 3.0)


def _cosine_series(modes: tuple[float, ...], position: Any) -> np.ndarray:
    """Return a sum of cosines over the window of the solitary wave, and 0 outside."""
    x = np.asarray(position, dtype=float)
    q = 2.0 * np.pi / _WINDOW * np.arange(len(modes))
    inside = np.abs(x) <= _WINDOW / 2.0
    return np.where(inside, np.cos(np.multiply.outer(x, q)) @ np.array(modes), 0.0)


@lru_cache(maxsize=1)
def solitary_wave() -> SolitaryWave:
    """Compute the shape and the coefficients of the solitary wave of a Hertz chain.

    The travelling-wave equation of the discrete chain is solved by fixed-point iteration in Fourier
    space (see the description of this module). Its continuum limit is Nesterenko's equation (see
    `solitary_speed`). Review of the discrete wave: Sen et al. 2008,
    doi:10.1016/j.physrep.2007.10.007.
    """
    n = _WINDOW * _SAMPLES_PER_BEAD
    crest = n // 2
    x = np.arange(n) / _SAMPLES_PER_BEAD - _WINDOW / 2.0
    q = 2.0 * np.pi * np.fft.rfftfreq(n, 1.0 / _SAMPLES_PER_BEAD)
    # np.sinc(z) is sin(pi z)/(pi z)
    sinc = np.sinc(q / (2.0 * np.pi))
    overlap = np.exp(-x * x)
    change = math.inf
    while True:
        force = np.maximum(overlap, 0.0) ** 1.5
        smooth = np.fft.irfft(sinc * sinc * np.fft.rfft(force), n)
        # With k = m = 1 and the largest overlap 1, the smoothed force at the crest is V^2.
        speed_squared = float(smooth[crest])
        last, change = change, float(np.abs(smooth / speed_squared - overlap).max())
        overlap = smooth / speed_squared
        # The change decreases at every iteration until rounding stops it.
        if change >= last and change < 1e-12:
            break
    force = np.maximum(overlap, 0.0) ** 1.5
    speed = math.sqrt(speed_squared)
    velocity = np.fft.irfft(sinc * np.fft.rfft(force), n) / speed
    peak_velocity = float(velocity[crest])
    half = _SAMPLES_PER_BEAD // 2
    mean_force = 0.5 * (np.roll(force, half) + np.roll(force, -half))
    kinetic = 0.5 * velocity * velocity
    # Energy of a contact: the integral of d^1.5.
    elastic = 0.4 * np.maximum(overlap, 0.0) ** 2.5
    # At any time, the beads are at x0, x0 + 1, ... and the contacts half a bead further.
    kinetic_now = kinetic.reshape(_WINDOW, _SAMPLES_PER_BEAD).sum(axis=0)
    elastic_now = np.roll(elastic, half).reshape(_WINDOW, _SAMPLES_PER_BEAD).sum(axis=0)
    share_now = kinetic_now / (kinetic_now + elastic_now)
    energy = float((kinetic + elastic).sum()) / _SAMPLES_PER_BEAD

    def modes(values: np.ndarray) -> tuple[float, ...]:
        """Return the cosine series of a wave, which is symmetric about its crest."""
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
        _velocity_modes=modes(velocity / peak_velocity),
        _overlap_modes=modes(overlap),
    )


# The soliton of Nesterenko's long-wave equation (1983, doi:10.1007/BF00905892) has V = (2/sqrt(5))
# k^(1/3) m^(-1/2) F_m^(1/6) beads per second. With F_m = k (v_m/V)^1.5, from the overlap of a long
# wave, this is V = (16/25)^(1/5) (k/m)^(2/5) v_m^(1/5).
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
    """Return the speed of the solitary wave in a chain of equal touching beads.

    V = c_v (k/m)^(2/5) v_m^(1/5) = c_F k^(1/3) m^(-1/2) F_m^(1/6). `solitary_wave` computes the
    exact coefficients of the discrete chain, 0.907470 and 0.905516. Nesterenko's coefficients for
    long waves, (16/25)^(1/5) and 2/sqrt(5), differ from them by up to 1.3 % (Nesterenko 1983,
    doi:10.1007/BF00905892).

    Parameters
    ----------
    stiffness : float
        Stiffness k of a contact [N/m^1.5].
    mass : float
        Mass m of a bead [kg].
    peak_velocity, peak_force : float
        Peak velocity of a bead [m/s] or peak force of a contact [N]. Give exactly one of them.
    long_wave : bool
        If true, use Nesterenko's coefficients instead of the exact ones.

    Returns
    -------
    float
        V [beads/s]. Multiply it by the diameter of a bead to get m/s.
    """
    if (peak_velocity is None) == (peak_force is None):
        got = "neither" if peak_force is None else "both"
        raise CaseError(
            f"solitary_speed: {got} of peak_velocity and peak_force were given. Exactly one of "
            "them is required."
        )
    if peak_velocity is not None:
        factor = LONG_WAVE_SPEED_FROM_VELOCITY if long_wave else solitary_wave().speed_from_velocity
        return float(factor * (stiffness / mass) ** 0.4 * peak_velocity**0.2)
    assert peak_force is not None
    factor = LONG_WAVE_SPEED_FROM_FORCE if long_wave else solitary_wave().speed_from_force
    return float(factor * stiffness ** (1.0 / 3.0) / math.sqrt(mass) * peak_force ** (1.0 / 6.0))


def solitary_force(stiffness: float, mass: float, peak_velocity: float) -> float:
    """Return the peak contact force of a solitary wave from the peak bead velocity.

    F_m = 1.013019 k^(2/5) (m v_m^2)^(3/5). The coefficient is computed by `solitary_wave`. Review:
    Sen et al. 2008, doi:10.1016/j.physrep.2007.10.007.

    Parameters
    ----------
    stiffness : float
        Stiffness k of a contact [N/m^1.5].
    mass : float
        Mass m of a bead [kg].
    peak_velocity : float
        Peak velocity v_m of the beads [m/s].

    Returns
    -------
    float
        F_m [N].
    """
    return float(
        solitary_wave().force_from_velocity
        * stiffness**0.4
        * (mass * peak_velocity * peak_velocity) ** 0.6
    )


# --------------------------------------------------------------------------------------------------
# Small waves in a precompressed chain


def precompressed_stiffness(stiffness: float, precompression: float) -> float:
    """Return the slope of the Hertz force at a static force [N/m].

    It is (3/2) k^(2/3) F0^(1/3), the derivative of F = k d^1.5 at d0 = (F0/k)^(2/3).

    Parameters
    ----------
    stiffness : float
        Stiffness k of a contact [N/m^1.5].
    precompression : float
        Static force F0 [N].
    """
    return float(1.5 * stiffness ** (2.0 / 3.0) * precompression ** (1.0 / 3.0))


def small_wave_frequency(
    wave_number: Any, stiffness: float, mass: float, precompression: float
) -> np.ndarray:
    """Return the angular frequency of a small wave in a precompressed chain.

    For equal beads, omega = 2 sqrt(s/m) abs(sin(q/2)), s = (3/2) k^(2/3) F0^(1/3). This is the
    lattice of masses and linear springs (Brillouin 1946, Wave Propagation in Periodic Structures,
    ch. 2) with the slope of the Hertz force. The largest frequency is at q = pi. Review for beads:
    Sen et al. 2008, doi:10.1016/j.physrep.2007.10.007.

    Parameters
    ----------
    wave_number : array
        q [rad per bead].
    stiffness : float
        Stiffness k of a contact [N/m^1.5].
    mass : float
        Mass m of a bead [kg].
    precompression : float
        Static force F0 [N].

    Returns
    -------
    array
        omega [rad/s].
    """
    highest = 2.0 * math.sqrt(precompressed_stiffness(stiffness, precompression) / mass)
    return np.asarray(highest * np.abs(np.sin(0.5 * np.asarray(wave_number, dtype=float))))


def small_wave_speed(stiffness: float, mass: float, precompression: float) -> float:
    """Return the speed of long small waves in a precompressed chain of equal beads.

    It is sqrt(s/m) with s = (3/2) k^(2/3) F0^(1/3), the limit of omega/q for small q (see
    `small_wave_frequency`; Nesterenko 1983, doi:10.1007/BF00905892).

    Parameters
    ----------
    stiffness : float
        Stiffness k of a contact [N/m^1.5].
    mass : float
        Mass m of a bead [kg].
    precompression : float
        Static force F0 [N].

    Returns
    -------
    float
        Speed [beads/s]. Multiply it by the diameter of a bead to get m/s.
    """
    return math.sqrt(precompressed_stiffness(stiffness, precompression) / mass)


@dataclass(frozen=True)
class DepthExponents:
    """Exponents of depth h: bead velocity ~ h^`velocity` and wave speed ~ h^`speed` [1]."""

    velocity: float
    speed: float


def depth_exponents(exponent: float = 1.5) -> DepthExponents:
    """Return the exponents of a small wave versus depth in a vertical chain.

    Gravity compresses the chain.

    For the force K d^p, the velocity of the beads is proportional to h^(-(1/4)(1/3 + 1/p)) and the
    speed of the wave to h^((1/2)(1 - 1/p)). For Hertz contacts the exponents are -1/4 and 1/6. They
    are valid far below the first bead. Hong, Ji & Kim 1999, doi:10.1103/PhysRevLett.82.3058.

    Parameters
    ----------
    exponent : float
        Exponent p of the force K d^p [1].
    """
    return DepthExponents(
        velocity=-0.25 * (1.0 / 3.0 + 1.0 / exponent), speed=0.5 * (1.0 - 1.0 / exponent)
    )


def evanescent_decay(
    frequency: float, stiffness: float, mass: float, precompression: float
) -> float:
    """Return the decay of a small oscillation above the cutoff frequency.

    The chain is precompressed. The decay is in nepers per bead.

    The dispersion relation with q = pi + i kappa gives omega = omega_max cosh(kappa/2) (Brillouin
    1946, Wave Propagation in Periodic Structures, ch. 2).

    Parameters
    ----------
    frequency : float
        Angular frequency, above `small_wave_frequency(pi, ...)` [rad/s].
    stiffness : float
        Stiffness k of a contact [N/m^1.5].
    mass : float
        Mass m of a bead [kg].
    precompression : float
        Static force F0 [N].

    Returns
    -------
    float
        kappa [1]. The amplitude decreases by the factor exp(-kappa) from each bead to the next.
    """
    highest = float(small_wave_frequency(math.pi, stiffness, mass, precompression))
    allowed = f"at least the cutoff frequency of the chain, {highest:.6g} rad/s"
    require("frequency", frequency, frequency >= highest, allowed)
    return 2.0 * math.acosh(frequency / highest)
