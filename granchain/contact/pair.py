"""Effective radius, modulus and mass of each contact, and what several laws share, as plain
functions."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from granchain.contact import elementary
from granchain.errors import LawError

# What a pair may carry; a law needs those that it reads.
PAIR_QUANTITIES: dict[str, str] = {
    "effective_radius": "m",
    "effective_modulus": "Pa",
    "effective_mass": "kg",
    "yield_stress": "Pa",
    "poissons_ratio": "1",
    "youngs_modulus": "Pa",
    "hardness": "Pa",
    "density": "kg/m3",
    "radius_1": "m",
    "radius_2": "m",
    "length": "m",
}


class Pair:
    """Two bodies in contact, as a contact law sees them: numbers, or (n_contacts,) arrays.

    Parameters
    ----------
    effective_radius : float or array
        R = R1 R2/(R1 + R2) [m]; internal contact R1 R2/(R1 - R2); against a wall the bead's radius.
    effective_modulus : float or array
        E = 1/((1 - nu1^2)/E1 + (1 - nu2^2)/E2) [Pa].
    effective_mass : float or array
        m = m1 m2/(m1 + m2) [kg]; against a wall the bead's mass.
    yield_stress, poissons_ratio, youngs_modulus, hardness, density : float or array, optional
        Of the body with the smaller yield stress.
    radius_1, radius_2, length : float or array, optional
        Of the two bodies [m]; length of a line contact [m].

    Raises
    ------
    LawError
        For an unknown or non-positive quantity; and when a law reads one that was not given.
    """

    def __init__(self, **quantities: Any):
        problems = []
        for name, value in quantities.items():
            if name not in PAIR_QUANTITIES:
                problems.append(
                    f"pair: unknown quantity {name}; allowed: {', '.join(PAIR_QUANTITIES)}"
                )
            elif value is not None:
                array = np.asarray(value, dtype=float)
                if not (np.isfinite(array) & (array > 0.0)).all():
                    problems.append(f"pair: {name}: got {value!r}, allowed: finite numbers above 0")
        if problems:
            raise LawError("\n".join(problems))
        self.__dict__.update(
            {name: value for name, value in quantities.items() if value is not None}
        )

    def __getattr__(self, name: str) -> Any:
        if name in PAIR_QUANTITIES:
            raise LawError(
                f"{name}: got nothing, allowed a number above 0 [{PAIR_QUANTITIES[name]}], which "
                "this contact law takes from the two bodies; give it with the material"
            )
        raise AttributeError(name)

    def has(self, name: str) -> bool:
        """Whether a quantity was given."""
        return name in self.__dict__

    def items(self) -> dict[str, Any]:
        """The quantities that were given, by name."""
        return dict(self.__dict__)

    @property
    def hertz_stiffness(self) -> Any:
        """K = (4/3) E sqrt(R) [N/m^1.5], Johnson 1985, Contact Mechanics, eq. (4.22),
        doi:10.1017/CBO9781139171731."""
        return hertz_stiffness(self.effective_modulus, self.effective_radius)


def hertz_stiffness(modulus: Any, radius: Any) -> Any:
    """K = (4/3) E sqrt(R) of two spheres [N/m^1.5]."""
    return 4.0 / 3.0 * modulus * np.sqrt(radius)


def stiffness_of(pair: Pair, inputs: SimpleNamespace) -> Any:
    """K of the case, Hertz's where it gives none [N/m^1.5]."""
    return pair.hertz_stiffness if inputs.stiffness is None else inputs.stiffness


def lowest_force(inputs: SimpleNamespace) -> float:
    """Lowest force [N] of a contact that is clamped, or may pull; clamped where the law leaves
    no choice."""
    return -math.inf if getattr(inputs, "separation", "clamped") == "tensile" else 0.0


def hertz_contact_radius(overlap: float, radius: float) -> float:
    """a = sqrt(R d) of two elastic spheres [m], Johnson 1985, Contact Mechanics, eqs. (4.22),
    (4.23), doi:10.1017/CBO9781139171731."""
    return math.sqrt(radius * overlap)


def yield_overlap(pair: Pair, pressure: Any) -> Any:
    """d_y = pi^2 R p_y^2/(4 E^2) [m]: the mean Hertz pressure's maximum reaches p_y.

    Johnson 1985, Contact Mechanics, sec. 6.1; Wang, Liu & Liu 2022, eq. (2),
    doi:10.1016/j.ijmecsci.2022.107214.
    """
    ratio = pressure / pair.effective_modulus
    return math.pi * math.pi * pair.effective_radius * ratio * ratio / 4.0


def yield_force(pair: Pair, pressure: Any) -> Any:
    """F_y = pi^3 R^2 p_y^3/(6 E^2) [N]: the Hertz force at d_y, by exact substitution."""
    return (
        math.pi
        * math.pi
        * math.pi
        * (pair.effective_radius * pair.effective_radius)
        * (pressure * pressure * pressure)
        / (6.0 * pair.effective_modulus * pair.effective_modulus)
    )


def damping_ratio(restitution: Any) -> Any:
    """zeta = |ln e|/sqrt(pi^2 + ln^2 e) of a linear oscillator that returns with e after half a
    period."""
    log = elementary.over(elementary.log, restitution)
    return np.abs(log) / np.sqrt(np.pi * np.pi + log * log)


# Pressure at first yield over yield stress: p_y = 1.61 s_y, Wang, Liu & Liu 2022, eq. (2),
# doi:10.1016/j.ijmecsci.2022.107214.
MA_LIU_YIELD_PRESSURE = 1.61


def ma_liu_points(pair: Pair, psi: Any, xi: Any) -> tuple[Any, Any, Any, Any]:
    """(d_y, F_y, d_p, F_p): first yield and full plasticity of the Ma-Liu law [m, N, m, N].

    Ma & Liu 2015, doi:10.1115/1.4031483; Wang, Liu & Liu 2022, eqs. (2), (3),
    doi:10.1016/j.ijmecsci.2022.107214.
    """
    pressure = MA_LIU_YIELD_PRESSURE * pair.yield_stress
    d_y, f_y = yield_overlap(pair, pressure), yield_force(pair, pressure)
    d_p = xi * xi * d_y / 2.0
    c1, c2, c3 = ma_liu_constants(pair, psi, xi)
    return d_y, f_y, d_p, d_p * (c1 + c2 * elementary.over(elementary.log, xi * xi / 2.0)) + c3


def ma_liu_constants(pair: Pair, psi: Any, xi: Any) -> tuple[Any, Any, Any]:
    """(c1, c2, c3) of the elastoplastic branch d (c1 + c2 ln(d/d_y)) + c3 [N/m, N/m, N];
    sources as ma_liu_points."""
    pressure = MA_LIU_YIELD_PRESSURE * pair.yield_stress
    log = elementary.over(elementary.log, xi * xi / 2.0)
    flow = 2.0 * psi * pair.yield_stress
    c1 = math.pi * pair.effective_radius * (pressure * (1.0 + log) - flow) / log
    c2 = math.pi * pair.effective_radius * (flow - pressure) / log
    return c1, c2, yield_force(pair, pressure) - c1 * yield_overlap(pair, pressure)


def linearised_plastic_stiffness(pair: Pair, psi: Any, xi: Any) -> Any:
    """K_p = (F_p - F_y)/(d_p - d_y) [N/m]: the elastoplastic branch of Ma-Liu as one straight line.

    Wang, Liu & Liu 2022, sec. 3, doi:10.1016/j.ijmecsci.2022.107214.
    """
    d_y, f_y, d_p, f_p = ma_liu_points(pair, psi, xi)
    return (f_p - f_y) / (d_p - d_y)
