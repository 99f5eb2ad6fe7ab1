"""Effective radius, modulus, and mass of each contact, and functions that several laws share."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from granchain.contact import elementary
from granchain.contact.law import RESTITUTION, checked
from granchain.errors import LawError, error_text, suggestion
from granchain.material import MATERIALS, Material

# Quantities that a pair may have; a law needs those that it reads.
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
    """Properties of two bodies in contact for a contact law: numbers, or (n_contacts,) arrays.

    Parameters
    ----------
    effective_radius : float or array
        R = R1 R2/(R1 + R2) [m]; R1 R2/(R1 - R2) for an internal contact; the radius of the bead at
        a wall.
    effective_modulus : float or array
        E = 1/((1 - nu1^2)/E1 + (1 - nu2^2)/E2) [Pa].
    effective_mass : float or array
        m = m1 m2/(m1 + m2) [kg]; the mass of the bead at a wall.
    yield_stress, poissons_ratio, youngs_modulus, hardness, density : float or array, optional
        Properties of the body with the smaller yield stress.
    radius_1, radius_2, length : float or array, optional
        Radii of the two bodies [m]; length of a line contact [m].

    Raises
    ------
    LawError
        If a quantity is unknown or not positive, or if a law reads one that was not given.

    Examples
    --------
    >>> import granchain as gc
    >>> steel = gc.materials()["steel-316"]
    >>> pair = gc.Pair.of_spheres(2.38e-3, steel, 2.38e-3, steel)
    >>> f"{pair.effective_radius:.3g}"
    '0.00119'
    """

    def __init__(self, **quantities: Any):
        problems = []
        for name, value in quantities.items():
            if name not in PAIR_QUANTITIES:
                problems.append(
                    f"pair: unknown quantity {name}. The quantities are "
                    f"{', '.join(PAIR_QUANTITIES)}."
                )
            elif value is not None:
                try:
                    array = np.asarray(value, dtype=float)
                except (TypeError, ValueError):
                    array = np.full(1, math.nan)
                if not (np.isfinite(array) & (array > 0.0)).all():
                    problems.append(
                        f"pair: {name}: {value!r} is out of range. It must be a finite number "
                        "above 0."
                    )
        if problems:
            raise LawError("\n".join(problems))
        self.__dict__.update(
            {name: value for name, value in quantities.items() if value is not None}
        )

    @classmethod
    def of_spheres(
        cls,
        radius: float,
        material: str | Material,
        other_radius: float | None = None,
        other_material: str | Material | None = None,
        internal: bool = False,
    ) -> Pair:
        """Return two spheres, a sphere and a flat wall, or a sphere in a hollow one.

        Parameters
        ----------
        radius : float
            Radius R1 of the sphere [m].
        material : str or Material
            Material of the sphere, or its name.
        other_radius : float, optional
            Radius R2 of the other body [m]; `math.inf` for a flat wall. Default: `radius`.
        other_material : str or Material, optional
            Material of the other body, or its name. Default: `material`.
        internal : bool
            True if the other body is hollow and the sphere is inside it.

        Returns
        -------
        Pair
            R = 1/(1/R1 + 1/R2), internal 1/(1/R1 - 1/R2); E = 1/((1 - nu1^2)/E1 + (1 - nu2^2)/E2);
            m = 1/(1/m1 + 1/m2) of solid spheres if the densities are known. A wall and a hollow
            body are fixed: m = m1. Constants are those of the body that yields first; constants
            that it lacks are omitted, and so is the radius of a wall. For a sphere in a hollow one,
            `radius_1` is the radius of the hollow body, as in the laws of cylinders.

        Raises
        ------
        LawError
            If a radius is not above 0, the hollow body is not larger than the sphere, or a
            material is unknown.
        """
        if other_radius is None:
            other_radius = radius
        problems = [
            f"pair: {name}: {value!r} is out of range. It must be {allowed} [m]."
            for name, value, allowed, good in (
                ("radius", radius, "a finite number above 0", 0.0 < radius < math.inf),
                ("other_radius", other_radius, "a number above 0, or inf", other_radius > 0.0),
            )
            if not good
        ]
        if internal and not problems and not radius < other_radius < math.inf:
            problems.append(
                f"pair: other_radius: {other_radius!r} is out of range. It must be a finite number "
                f"above the radius of the sphere, {radius!r} [m]. Give the radius of the hollow "
                "body, or leave out internal."
            )
        materials = {"material": material}
        if other_material is not None:
            materials["other_material"] = other_material
        for name, stated in materials.items():
            if not isinstance(stated, Material) and not (
                isinstance(stated, str) and stated in MATERIALS
            ):
                known = f"It must be a granchain.Material or one of {', '.join(MATERIALS)}"
                fix = suggestion(stated, MATERIALS, "")
                problems.append(
                    error_text(f"pair: {name}", f'unknown material "{stated}"', known, fix)
                )
        if problems:
            raise LawError("\n".join(problems))
        first, second = (
            given if isinstance(given, Material) else MATERIALS[given]
            for given in (material, materials.get("other_material", material))
        )
        if not first.compliance + second.compliance > 0.0:
            raise LawError(
                "pair: material: both bodies are rigid. At most one may be rigid. Give one of them "
                "a Young's modulus."
            )
        curved = (
            1.0 / radius - 1.0 / other_radius if internal else 1.0 / radius + 1.0 / other_radius
        )
        fixed = internal or math.isinf(other_radius)
        softer = min(first, second, key=yields_at)
        return cls(
            effective_radius=1.0 / curved,
            effective_modulus=1.0 / (first.compliance + second.compliance),
            effective_mass=effective_mass(
                sphere_mass(radius, first), math.inf if fixed else sphere_mass(other_radius, second)
            ),
            **{name: getattr(softer, name) for name in OF_THE_SOFTER},
            radius_1=other_radius if internal else radius,
            radius_2=radius if internal else other_radius if other_radius < math.inf else None,
        )

    def __getattr__(self, name: str) -> Any:
        if name in PAIR_QUANTITIES:
            raise LawError(
                f"{name}: missing. This contact law needs it, a number above 0 "
                f"[{PAIR_QUANTITIES[name]}]. Give it with the material."
            )
        raise AttributeError(name)

    def has(self, name: str) -> bool:
        """Check if a quantity was given."""
        return name in self.__dict__

    def items(self) -> dict[str, Any]:
        """Return the given quantities by name."""
        return dict(self.__dict__)

    @property
    def hertz_stiffness(self) -> Any:
        """K = (4/3) E sqrt(R) [N/m^1.5], Johnson 1985, Contact Mechanics, eq. (4.22),
        doi:10.1017/CBO9781139171731."""
        return hertz_stiffness(self.effective_modulus, self.effective_radius)


# Quantities of a pair that are those of the body with the smaller yield stress.
OF_THE_SOFTER = ("yield_stress", "poissons_ratio", "youngs_modulus", "hardness", "density")


def yields_at(material: Material) -> tuple[bool, float]:
    """Return the sort key of the softer body: first not rigid, then by yield stress.

    A body without a yield stress comes last.
    """
    stress = math.inf if material.yield_stress is None else material.yield_stress
    return math.isinf(material.youngs_modulus), stress


def sphere_mass(radius: float, material: Material) -> float | None:
    """Return (4/3) pi R^3 times the density [kg]; None if the density is unknown."""
    if material.density is None:
        return None
    return 4.0 / 3.0 * math.pi * (radius * radius * radius) * material.density


def effective_mass(mass_1: float | None, mass_2: float | None) -> float | None:
    """Return 1/(1/m1 + 1/m2) [kg]; None if a mass is unknown."""
    return None if mass_1 is None or mass_2 is None else 1.0 / (1.0 / mass_1 + 1.0 / mass_2)


def hertz_stiffness(modulus: Any, radius: Any) -> Any:
    """Return K = (4/3) E sqrt(R) of two spheres [N/m^1.5]."""
    return 4.0 / 3.0 * modulus * np.sqrt(radius)


def stiffness_of(pair: Pair, inputs: SimpleNamespace) -> Any:
    """Return the stiffness K of the case [N/m^1.5]; by default that of Hertz."""
    return pair.hertz_stiffness if inputs.stiffness is None else inputs.stiffness


def lowest_force(inputs: SimpleNamespace) -> float:
    """Return the lowest force [N] of a contact: 0 if clamped, -inf if it may pull.

    If the law has no choice, the contact is clamped.
    """
    return -math.inf if getattr(inputs, "separation", "clamped") == "tensile" else 0.0


def hertz_contact_radius(overlap: float, radius: float) -> float:
    """Return a = sqrt(R d) of two elastic spheres [m].

    Johnson 1985, Contact Mechanics, eqs. (4.22), (4.23), doi:10.1017/CBO9781139171731.
    """
    return math.sqrt(radius * overlap)


def yield_overlap(pair: Pair, pressure: Any) -> Any:
    """Return d_y = pi^2 R p_y^2/(4 E^2) [m]: the largest Hertz pressure is p_y.

    Johnson 1985, Contact Mechanics, sec. 6.1; Wang, Liu & Liu 2022, eq. (2),
    doi:10.1016/j.ijmecsci.2022.107214.
    """
    ratio = pressure / pair.effective_modulus
    return math.pi * math.pi * pair.effective_radius * ratio * ratio / 4.0


def yield_force(pair: Pair, pressure: Any) -> Any:
    """Return F_y = pi^3 R^2 p_y^3/(6 E^2) [N], the Hertz force at d_y."""
    return (
        math.pi
        * math.pi
        * math.pi
        * (pair.effective_radius * pair.effective_radius)
        * (pressure * pressure * pressure)
        / (6.0 * pair.effective_modulus * pair.effective_modulus)
    )


def damping_ratio(restitution: Any) -> Any:
    """Return zeta = |ln e|/sqrt(pi^2 + ln^2 e).

    A linear oscillator with this damping ratio has the restitution e after half a period.
    """
    log = elementary.over(elementary.log, restitution)
    return np.abs(log) / np.sqrt(np.pi * np.pi + log * log)


# Ratio of pressure at first yield to yield stress: p_y = 1.61 s_y, Wang, Liu & Liu 2022, eq. (2),
# doi:10.1016/j.ijmecsci.2022.107214.
MA_LIU_YIELD_PRESSURE = 1.61


def ma_liu_points(pair: Pair, psi: Any, xi: Any) -> tuple[Any, Any, Any, Any]:
    """Return (d_y, F_y, d_p, F_p) of Ma-Liu: first yield, full plasticity [m, N].

    Ma & Liu 2015, doi:10.1115/1.4031483; Wang, Liu & Liu 2022, eqs. (2), (3),
    doi:10.1016/j.ijmecsci.2022.107214.
    """
    pressure = MA_LIU_YIELD_PRESSURE * pair.yield_stress
    d_y, f_y = yield_overlap(pair, pressure), yield_force(pair, pressure)
    d_p = xi * xi * d_y / 2.0
    c1, c2, c3 = ma_liu_constants(pair, psi, xi)
    return d_y, f_y, d_p, d_p * (c1 + c2 * elementary.over(elementary.log, xi * xi / 2.0)) + c3


def ma_liu_constants(pair: Pair, psi: Any, xi: Any) -> tuple[Any, Any, Any]:
    """Return (c1, c2, c3) of the elastoplastic branch d (c1 + c2 ln(d/d_y)) + c3.

    The units are [N/m, N/m, N]. The sources are those of `ma_liu_points`.
    """
    pressure = MA_LIU_YIELD_PRESSURE * pair.yield_stress
    log = elementary.over(elementary.log, xi * xi / 2.0)
    flow = 2.0 * psi * pair.yield_stress
    c1 = math.pi * pair.effective_radius * (pressure * (1.0 + log) - flow) / log
    c2 = math.pi * pair.effective_radius * (flow - pressure) / log
    return c1, c2, yield_force(pair, pressure) - c1 * yield_overlap(pair, pressure)


def linearised_plastic_stiffness(pair: Pair, psi: Any, xi: Any) -> Any:
    """Return K_p = (F_p - F_y)/(d_p - d_y) [N/m]: the Ma-Liu branch as a line.

    Wang, Liu & Liu 2022, sec. 3, doi:10.1016/j.ijmecsci.2022.107214.
    """
    d_y, f_y, d_p, f_p = ma_liu_points(pair, psi, xi)
    return (f_p - f_y) / (d_p - d_y)


# The factor that gives e solves a (1 + e) = ln[(1 + a)/(1 - a e)]. With x = a (1 + e)/2 the ratio
# is exp(2 x), so a = x coth x - 1 + x and 1 - a e = x coth x - x; their quotient gives coth x - 1/x
# = (1 - e)/(1 + e): x is the inverse of Langevin's function L. L(x) = x sum_k 2 k x^(2 k - 2)/(2 k
# + 1)! over sum_k x^(2 k)/(2 k + 1)!, k from 1, k from 0: x cosh x - sinh x over x sinh x. No
# digits cancel in it. Up to x = 1, where it is used, the next term is 1e-19 of the first: 22/23!.
_SINH_TERMS = 10
_SINH_ABOVE = [2.0 * k / math.factorial(2 * k + 1) for k in range(_SINH_TERMS, 0, -1)]
_SINH_BELOW = [1.0 / math.factorial(2 * k + 1) for k in range(_SINH_TERMS, -1, -1)]
# Cohen 1991, doi:10.1007/BF00366640: L(x) = q near x = q (3 - q^2)/(1 - q^2), to 5 %; each Newton
# step squares the error.
_RATIO_STEPS = 8


def exact_damping_factor(restitution: Any) -> Any:
    """Return the damping factor a that gives a restitution, exact to rounding.

    The force is F = K d^n (1 + a rate/v0).

    Solves a (1 + e) = ln[(1 + a)/(1 - a e)], Gonthier et al. 2004,
    doi:10.1023/B:MUBO.0000029392.21648.bc, before their approximation.

    Parameters
    ----------
    restitution : float or array
        Restitution e [1], above 0 and at most 1.

    Returns
    -------
    float or array
        Factor a [1]; 1.5 (1 - e) for e near 1, 1/e for e near 0.

    Raises
    ------
    LawError
        If the restitution is out of range.
    """
    e = np.asarray(checked(RESTITUTION, restitution), dtype=float)
    # q + p = 1, each exact to its last digit.
    q, p = (1.0 - e) / (1.0 + e), 2.0 * e / (1.0 + e)
    x = q * (3.0 - q * q) / (p * (1.0 + q))
    for _ in range(_RATIO_STEPS):
        low, high = np.minimum(x, 1.0), np.maximum(x, 1.0)
        ratio = np.polyval(_SINH_ABOVE, low * low) / np.polyval(_SINH_BELOW, low * low)
        # L' = 1 - L^2 - 2 L/x, and with L = x ratio.
        step = (q - low * ratio) / (1.0 - ratio * (2.0 + low * low * ratio))
        decay = elementary.over(elementary.exp, -high)
        # L = 1 - 1/x + 2 y/(1 - y) and L' = 1/x^2 - 4 y/(1 - y)^2, y = exp(-2 x); both times x^2,
        # which is large if q is near 1.
        rest = 2.0 * high * decay / (1.0 - decay * decay)
        far = high * (1.0 - p * high - rest * decay) / (1.0 - rest * rest)
        x = x + np.where(x < 1.0, step, far)
    return (2.0 * x / (1.0 + e))[()]
