"""Restitution of elastoplastic impacts, and impact speeds at first yield.

Formulas of table 4 of the review of Wang et al. 2022 (Research progress of contact force models in
the collision mechanics of multibody system), in the consistent form: the table has misprints, and
each function states where it differs from the table. A speed outside the range of a formula raises
an error.
"""

from __future__ import annotations

import math

from granchain.theory.impacts import hertz_stiffness
from granchain.theory.ranges import require, require_positive


def thornton_yield_speed(
    effective_modulus: float, effective_radius: float, effective_mass: float, yield_pressure: float
) -> float:
    """Return the impact speed at which the Hertz pressure reaches the yield pressure.

    V_y = (pi/(2 E))^2 (8 pi R^3/(15 m))^(1/2) p_y^(5/2): m V_y^2/2 is the Hertz work up to d_y =
    pi^2 R p_y^2/(4 E^2). Thornton 1997, doi:10.1115/1.2787319.

    Parameters
    ----------
    effective_modulus, effective_radius, effective_mass : float
        E [Pa], R [m], m [kg].
    yield_pressure : float
        p_y [Pa], which is 1.6 times the yield stress.

    Returns
    -------
    float
        V_y [m/s].
    """
    require_positive(
        "thornton_yield_speed",
        E=effective_modulus,
        R=effective_radius,
        m=effective_mass,
        p_y=yield_pressure,
    )
    geometry = math.sqrt(8.0 * math.pi * effective_radius**3 / (15.0 * effective_mass))
    return (math.pi / (2.0 * effective_modulus)) ** 2 * geometry * yield_pressure**2.5


def lankarani_nikravesh_yield_speed(youngs_modulus: float, density: float) -> float:
    """Return the impact speed at which metal bodies yield, by a rule of thumb.

    Above this speed they have residual indentation.

    V = 1e-5 (E/rho)^(1/2), 1e-5 of the speed of an elastic wave. Lankarani & Nikravesh 1994,
    doi:10.1007/BF00045676, cited by Autiero et al. 2022, sec. 3.8, doi:10.3390/machines10110966,
    and the review of Wang et al. 2022. It neglects the yield stress and the shape of the bodies,
    which `thornton_yield_speed` includes.

    Parameters
    ----------
    youngs_modulus : float
        E [Pa].
    density : float
        rho [kg/m3].

    Returns
    -------
    float
        V [m/s].
    """
    require_positive("lankarani_nikravesh_yield_speed", E=youngs_modulus, rho=density)
    # Lankarani & Nikravesh 1994, doi:10.1007/BF00045676
    return 1e-5 * math.sqrt(youngs_modulus / density)


def thornton_restitution(speed: float, yield_speed: float) -> float:
    """Return the restitution of Thornton's elastic, perfectly plastic spheres.

    The law `thornton` has this restitution.

    e = (6 sqrt(3)/5)^(1/2) (1 - x^2/6)^(1/2) (x/(x + 2 (6/5 - x^2/5)^(1/2)))^(1/4), with x = V_y/V.
    Up to V_y the impact is elastic and e = 1. Thornton 1997, doi:10.1115/1.2787319.

    Parameters
    ----------
    speed, yield_speed : float
        V and V_y (`thornton_yield_speed`) [m/s].

    Returns
    -------
    float
        e [1].
    """
    require_positive("thornton_restitution", V=speed, V_y=yield_speed)
    x = yield_speed / speed
    if x >= 1.0:
        return 1.0
    plastic = x / (x + 2.0 * math.sqrt(1.2 - 0.2 * x * x))
    return math.sqrt(1.2 * math.sqrt(3.0) * (1.0 - x * x / 6.0)) * plastic**0.25


def chang_ling_restitution(
    speed: float,
    effective_modulus: float,
    effective_radius: float,
    effective_mass: float,
    yield_stress: float,
    poissons_ratio: float,
) -> float:
    """Return the restitution of the contact of Chang, Etsion, and Bogy.

    e^2 = (8/15) E sqrt(R) w_c (w_m (2 - w_c/w_m))^1.5/((8/15) E sqrt(R) w_c^2.5 + pi K Y R w_m (w_m
    - w_c)), w_c = (pi K Y/(2 E))^2 R, K = 1.282 + 1.158 nu, and the largest overlap w_m follows
    from the denominator, which is m V^2/2. The contact follows Hertz's law up to w_c and then has a
    plastic core at constant pressure. An elastic impact has e = 1. Chang & Ling 1992,
    doi:10.1115/1.2920903. We derived this formula ourselves, because the dimensions in the review
    are inconsistent: its bracket contains another factor w_c and has the power 1.5.

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
    require_positive(
        where, V=speed, E=effective_modulus, R=effective_radius, m=effective_mass, Y=yield_stress
    )
    require(f"{where}: nu", poissons_ratio, 0.0 <= poissons_ratio <= 0.5, "0 to 0.5")
    pressure = (1.282 + 1.158 * poissons_ratio) * yield_stress
    critical = (math.pi * pressure / (2.0 * effective_modulus)) ** 2 * effective_radius
    hertz = 8.0 / 15.0 * effective_modulus * math.sqrt(effective_radius)
    kinetic = 0.5 * effective_mass * speed * speed
    excess = kinetic - hertz * critical**2.5
    if excess <= 0.0:
        return 1.0
    # positive root of pi K Y R w_m (w_m - w_c) = remaining kinetic energy
    largest = 0.5 * (
        critical
        + math.sqrt(critical * critical + 4.0 * excess / (math.pi * pressure * effective_radius))
    )
    return math.sqrt(hertz * critical * (largest * (2.0 - critical / largest)) ** 1.5 / kinetic)


# Factors of the two branches of Wu et al.: Wang et al. 2022, review, table 4.
WU_FIRST, WU_SECOND = 2.08, 0.62


def wu_restitution(
    speed: float, yield_speed: float, yield_stress: float, effective_modulus: float
) -> float:
    """Return the restitution fitted by Wu, Li, and Thornton far above first yield.

    It is a fit to finite-element results.

    The first branch is 2.08 (V/V_y)^(-1/4). The second branch, for finite plastic deformation, is
    0.62 (V s_y/(V_y E))^(-1/2) and starts where the two are equal: V/V_y = (0.62/2.08)^4 (E/s_y)^2.
    Wu, Li & Thornton 2005, International Journal of Impact Engineering 32. The review prints the
    first exponent as +0.156, with which the restitution would increase with the speed. We use -1/4,
    the plastic limit of Thornton's formula, and could not compare it with the original article.

    Parameters
    ----------
    speed, yield_speed : float
        V and V_y [m/s]. V must be at least 18.7 V_y, because the first branch exceeds 1 below it.
    yield_stress, effective_modulus : float
        s_y, E [Pa].

    Returns
    -------
    float
        e [1].
    """
    require_positive(
        "wu_restitution", V=speed, V_y=yield_speed, s_y=yield_stress, E=effective_modulus
    )
    ratio = speed / yield_speed
    lowest = WU_FIRST**4
    require(
        "wu_restitution: V",
        speed,
        ratio >= lowest,
        f"at least {lowest:.4g} V_y = {lowest * yield_speed:.6g} m/s",
    )
    if ratio < (WU_SECOND / WU_FIRST) ** 4 * (effective_modulus / yield_stress) ** 2:
        return WU_FIRST * ratio**-0.25
    return WU_SECOND * (ratio * yield_stress / effective_modulus) ** -0.5


def weir_tallon_restitution(
    speed: float,
    yield_stress: float,
    effective_modulus: float,
    youngs_modulus: float,
    density: float,
) -> float:
    """Return the restitution of a sphere on a plane by Weir and Tallon (unverified).

    e = 3.1 (s_y/E)^(5/8) (c0/V)^(1/4), c0 = (E_young/density)^(1/2). Weir & Tallon 2005,
    doi:10.1016/j.ces.2005.01.040. The formula is unverified: the review has another factor,
    (R1/R)^(3/8), but does not define R1, and the sign of this exponent contradicts the scaling of
    the yield speed with the mass. For a sphere on a plane the factor is 1, so only this case is
    available.

    Parameters
    ----------
    speed : float
        V [m/s]. It must be so large that the formula gives at most 1.
    yield_stress, effective_modulus, youngs_modulus : float
        s_y, E, E_young [Pa].
    density : float
        Density [kg/m3].

    Returns
    -------
    float
        e [1].
    """
    where = "weir_tallon_restitution"
    require_positive(
        where,
        V=speed,
        s_y=yield_stress,
        E=effective_modulus,
        E_young=youngs_modulus,
        density=density,
    )
    wave_speed = math.sqrt(youngs_modulus / density)
    factor = 3.1 * (yield_stress / effective_modulus) ** 0.625
    restitution = factor * (wave_speed / speed) ** 0.25
    require(
        f"{where}: V",
        speed,
        restitution <= 1.0,
        f"at least {factor**4 * wave_speed:.6g} m/s, where the formula is 1",
    )
    return restitution


def jackson_critical_speed(
    effective_modulus: float,
    effective_radius: float,
    effective_mass: float,
    yield_stress: float,
    poissons_ratio: float,
) -> float:
    """Return the impact speed of first yield with the law of Jackson and Green.

    m V_c^2/2 = (8/15) E sqrt(R) d_c^2.5, d_c = (pi C s_y/(2 E))^2 R, C = 1.295 exp(0.736 nu).
    Jackson, Green & Marghitu 2010, doi:10.1007/s11071-009-9591-z.

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
    require_positive(
        where, E=effective_modulus, R=effective_radius, m=effective_mass, s_y=yield_stress
    )
    require(f"{where}: nu", poissons_ratio, 0.0 <= poissons_ratio <= 0.5, "0 to 0.5")
    pressure = 1.295 * math.exp(0.736 * poissons_ratio) * yield_stress
    critical = (math.pi * pressure / (2.0 * effective_modulus)) ** 2 * effective_radius
    return math.sqrt(
        16.0
        / 15.0
        * effective_modulus
        * math.sqrt(effective_radius)
        * critical**2.5
        / effective_mass
    )


def jackson_restitution(speed: float, critical_speed: float, yield_strain: float) -> float:
    """Return the restitution fitted by Jackson, Green, and Marghitu.

    It is a fit to impacts with the law of Jackson and Green.

    With v = V/V_c, the restitution is 1 for v up to 1, 1 - 0.1 ln(v) ((v - 1)/59)^0.156 for v up to
    60, and 1 - 0.1 ln(60) - 0.1 ln(v/60) (v - 60)^(2.36 s_y/E) for v up to 1000. Jackson, Green &
    Marghitu 2010, doi:10.1007/s11071-009-9591-z.

    Parameters
    ----------
    speed, critical_speed : float
        V, which must be at most 1000 V_c, and V_c (`jackson_critical_speed`) [m/s].
    yield_strain : float
        s_y/E [1].

    Returns
    -------
    float
        e [1].
    """
    require_positive("jackson_restitution", V=speed, V_c=critical_speed, yield_strain=yield_strain)
    v = speed / critical_speed
    require(
        "jackson_restitution: V",
        speed,
        v <= 1000.0,
        f"at most 1000 V_c = {1000.0 * critical_speed:.6g} m/s",
    )
    if v <= 1.0:
        return 1.0
    if v <= 60.0:
        return 1.0 - 0.1 * math.log(v) * ((v - 1.0) / 59.0) ** 0.156
    return (
        1.0 - 0.1 * math.log(60.0) - 0.1 * math.log(v / 60.0) * (v - 60.0) ** (2.36 * yield_strain)
    )


def ma_liu_plastic_restitution(
    speed: float,
    effective_modulus: float,
    effective_radius: float,
    effective_mass: float,
    yield_stress: float,
    psi: float,
    xi: float,
) -> float:
    """Return the restitution of the Ma-Liu law for fully plastic loading.

    It is an asymptote, and a few per cent too large.

    e = 0.81 E^(-1/3) R_p^(-1/6) k1^(5/12) m^(-1/12) V^(-1/6) with k1 = 2 pi R psi s_y and R_p = R
    (4/3) E sqrt(R) d_p^1.5/F_p, the unloading radius of full plasticity. Ma & Liu 2015,
    doi:10.1115/1.4031483. It follows from U = k1 d^2/2, F = k1 d and W = (2/5) F d_e, d_e = (3 F/(4
    E sqrt(R_p)))^(2/3); 0.81 is ((4/5) (3/4)^(2/3))^(1/2) = 0.8127.

    Parameters
    ----------
    speed : float
        V [m/s]. It must be at least the speed at which the contact just becomes fully plastic.
    effective_modulus, effective_radius, effective_mass : float
        E [Pa], R [m], m [kg].
    yield_stress : float
        s_y [Pa].
    psi, xi : float
        Parameters of the law [1].

    Returns
    -------
    float
        e [1].
    """
    where = "ma_liu_plastic_restitution"
    require_positive(
        where,
        V=speed,
        E=effective_modulus,
        R=effective_radius,
        m=effective_mass,
        s_y=yield_stress,
        psi=psi,
    )
    require(f"{where}: xi", xi, math.sqrt(2.0) < xi < math.inf, "above sqrt(2)")
    # Wang, Liu & Liu 2022, eqs. (1)-(3), doi:10.1016/j.ijmecsci.2022.107214: F = d (c1 + c2
    # ln(d/d_y)) + c3 between d_y and d_p
    pressure, log = 1.61 * yield_stress, math.log(xi * xi / 2.0)
    hertz = hertz_stiffness(effective_modulus, effective_radius)
    yielding = (math.pi * pressure / (2.0 * effective_modulus)) ** 2 * effective_radius
    plastic = 0.5 * xi * xi * yielding
    c2 = math.pi * effective_radius * (2.0 * psi * yield_stress - pressure) / log
    c1 = math.pi * effective_radius * pressure - c2
    c3 = hertz * yielding**1.5 - c1 * yielding
    force = plastic * (c1 + c2 * log) + c3
    work = (
        0.4 * hertz * yielding**2.5
        + (0.5 * c1 - 0.25 * c2) * (plastic**2 - yielding**2)
        + 0.5 * c2 * plastic**2 * log
    )
    work += c3 * (plastic - yielding)
    lowest = math.sqrt(2.0 * work / effective_mass)
    require(
        f"{where}: V",
        speed,
        speed >= lowest,
        f"at least {lowest:.6g} m/s, at which the contact just becomes fully plastic",
    )
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
