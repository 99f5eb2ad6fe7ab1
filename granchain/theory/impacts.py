"""Elastic impact of two bodies, and of a sphere on a plate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from granchain.theory.ranges import require_positive


def hertz_stiffness(effective_modulus: float, effective_radius: float) -> float:
    """Return the stiffness K of the Hertz force F = K d^1.5 between two spheres.

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
    """Return the dimensionless duration of an elastic impact.

    It is the duration multiplied by the speed and divided by the largest overlap [1].

    With x = d/d_max, (dx/dt)^2 = (v/d_max)^2 (1 - x^(n+1)), so the factor is 2 times the integral
    of (1 - x^(n+1))^(-1/2) over 0..1: 2/(n+1) B(1/(n+1), 1/2), B the Beta function. For n = 1 it is
    pi, for Hertz 2.9432752 (Johnson 1985, Contact Mechanics, sec. 11.4, prints 2.94;
    doi:10.1017/CBO9781139171731).

    Parameters
    ----------
    exponent : float
        Exponent n of the force K d^n [1].
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


def elastic_impact(
    stiffness: float, effective_mass: float, speed: float, exponent: float = 1.5
) -> ElasticImpact:
    """Compute largest overlap, largest force, and duration of an elastic impact.

    The force is K d^n.

    K d_max^(n+1)/(n+1) = m v^2/2; for Hertz d_max = (5 m v^2/(4 K))^(2/5) = (15 m v^2/(16 E
    sqrt(R)))^(2/5). Hertz 1882, doi:10.1515/crll.1882.92.156; Johnson 1985, Contact Mechanics, sec.
    11.4, doi:10.1017/CBO9781139171731.

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
    overlap = ((exponent + 1.0) * effective_mass * speed * speed / (2.0 * stiffness)) ** (
        1.0 / (exponent + 1.0)
    )
    return ElasticImpact(
        overlap, stiffness * overlap**exponent, impact_duration_factor(exponent) * overlap / speed
    )


@dataclass(frozen=True)
class PlateImpact:
    """Impact on a plate: `restitution` [1], `max_overlap` [m], and `duration` [s]."""

    restitution: float
    max_overlap: float
    duration: float


def plate_impact(stiffness: float, mass: float, speed: float, impedance: float) -> PlateImpact:
    """Compute the impact of an elastic sphere on a large thin plate.

    Zener 1941, doi:10.1103/PhysRev.59.669: with the overlap s in units of v T and the time in units
    of T = (m/K)^(2/5) v^(-1/5), s'' + (1 + lambda d/dt) s^1.5 = 0, s(0) = 0, s'(0) = 1. The
    restitution depends only on the inelasticity lambda = m/(Z T). The equation is integrated with
    an error of about 1e-11.

    Parameters
    ----------
    stiffness : float
        K of the Hertz force F = K d^1.5 [N/m^1.5].
    mass : float
        Mass m of the sphere [kg].
    speed : float
        Speed v of the sphere [m/s].
    impedance : float
        Impedance Z of the plate, force divided by velocity [kg/s].

    Examples
    --------
    >>> import granchain as gc
    >>> round(gc.theory.plate_impact(1e10, 1e-3, 1.0, 1e3).restitution, 4)
    0.7648
    """
    from scipy.integrate import solve_ivp

    require_positive(
        "plate_impact", stiffness=stiffness, mass=mass, speed=speed, impedance=impedance
    )
    time = (mass / stiffness) ** 0.4 * speed**-0.2
    inelasticity = mass / (impedance * time)

    def rates(_: float, state: np.ndarray) -> list[float]:
        """Return the rates of the overlap and of the velocity of the sphere."""
        force = max(state[0], 0.0) ** 1.5
        return [state[1] - inelasticity * force, -force]

    def opens(_: float, state: np.ndarray) -> float:
        """Return the overlap, which becomes 0 when the contact opens."""
        return float(state[0])

    def turns(_: float, state: np.ndarray) -> float:
        """Return the overlap rate, which becomes 0 at the largest overlap."""
        return rates(0.0, state)[0]

    opens.terminal, opens.direction, turns.direction = True, -1.0, -1.0  # type: ignore[attr-defined]
    solution: Any = solve_ivp(
        rates, (0.0, math.inf), [0.0, 1.0], method="DOP853", rtol=1e-12, atol=1e-15,
        first_step=1e-6, events=(opens, turns),
    )  # fmt: skip
    (last,), (top, *_) = solution.y_events
    return PlateImpact(-float(last[1]), float(top[0]) * speed * time, float(solution.t[-1]) * time)
