"""Elastoplastic laws: table 3 of the review of Wang et al. 2022, in the consistent forms that each
law's page states.

Completed from Etsion, Kligerman & Kadin 2005, doi:10.1016/j.ijsolstr.2004.12.006, and Jackson,
Chusoipin & Green 2005,
doi:10.1115/1.1843166."""

from __future__ import annotations

from sympy import Max, Piecewise, Rational, Symbol, evaluate, exp, log, pi, sqrt

from equations.maliu import HERTZ, THREE_HALVES, THROUGH_THE_POINT
from equations.notation import (
    E,
    Equation,
    F,
    F_max,
    F_p,
    F_u,
    F_y,
    H,
    Meaning,
    R,
    R_u,
    c_1,
    c_2,
    d,
    d_max,
    d_p,
    d_r,
    d_y,
    nu,
    p_y,
    s_y,
    symbol,
)

kappa = symbol(r"\kappa", key="yield_pressure_factor")
theta = symbol(r"\theta", key="theta")
z = symbol("z", "overlap variable, 2 d/d_y - 1")
z_p = symbol("z_p", "z at full plasticity")
d_c = symbol("d_c", "critical overlap (first yield)", "m")
F_c = symbol("F_c", "Hertz's force at the critical overlap", "N")
k = symbol("k", "factor of the critical overlap")
C = symbol("C", "factor of the critical overlap")
w = symbol("w", "overlap divided by the critical overlap")
w_max = symbol(r"w_{\max}", "largest overlap divided by the critical overlap")
n = Symbol("n")
B = symbol("B", "exponent of the contact area beyond Hertz's")
a_c = Symbol("a")
H_G = symbol("H_G", "hardness, which decreases as the contact grows", "Pa")
p_p = symbol("p_p", "pressure of the plastic contact", "Pa")
p_0 = symbol("p_0", "pressure of full plasticity", "Pa")
a_p = symbol("a_p", "contact radius at full plasticity", "m")
F_m = symbol("F_m", "force between first yield and full plasticity: Hermite's cubic", "N")
G_y = symbol("G_y", "slope at first yield times the overlap from there to full plasticity", "N")
G_p = symbol("G_p", "slope beyond full plasticity times the overlap from first yield to there", "N")
s = symbol("s", "relative overlap between first yield and full plasticity, 0 to 1")
C_a = symbol("C_a", key="C_a")
K_c = symbol("K_c", key="K_c")
alpha = Symbol(r"\alpha")
beta = symbol(r"\beta", "factor of the logarithm in the logarithmic branch", "N/m")


def first_yield(pressure: Symbol) -> tuple[tuple[Symbol, object], ...]:
    """Overlap and force at which the largest pressure of a Hertz contact reaches this one:
    Johnson 1985, Contact Mechanics, sec. 6.1."""
    return (d_y, pi**2 * R * pressure**2 / (4 * E**2)), (
        F_y,
        pi**3 * R**2 * pressure**3 / (6 * E**2),
    )


with evaluate(False):
    # Thornton's radius of unloading.
    FLATTENED = (R_u, 4 * E / (3 * F_max) * ((2 * F_max + F_y) / (2 * pi * p_y)) ** THREE_HALVES)
    EQUATIONS = {
        "thornton": Equation(
            (
                (F, Piecewise((HERTZ, d < d_y), (F_y + pi * p_y * R * (d - d_y), d >= d_y))),
                *THROUGH_THE_POINT,
                (R_u, Piecewise((R, d_max < d_y), (FLATTENED[1], d_max >= d_y))),
                (p_y, kappa * s_y),
                *first_yield(p_y),
            )
        ),
        "stronge": Equation(
            (
                (
                    F,
                    Piecewise(
                        (HERTZ, d < d_y),
                        (F_y * z * (1 + log(z) / (3 * theta)), d < d_p),
                        (2.8 / theta * F_y * z, d >= d_p),
                    ),
                ),
                (z, 2 * d / d_y - 1),
                *THROUGH_THE_POINT,
                (R_u, Piecewise((R, d_max < d_y), (R * sqrt(2 * d_max / d_y - 1), d_max >= d_y))),
                (d_y, R * (3 * pi * theta * s_y / (4 * E)) ** 2),
                (F_y, 4 * E * sqrt(R) * d_y**THREE_HALVES / 3),
                (d_p, d_y / 2 * (1 + exp(3 * (2.8 - theta)))),
            )
        ),
        "vu-quoc-zhang": Equation(
            (
                (d, a_c**2 / ((1 + K_c * Max(0, F - F_y)) * R)),
                (a_c, (3 * F * R / (4 * E)) ** Rational(1, 3) + C_a * Max(0, F - F_y)),
                *THROUGH_THE_POINT,
                (R_u, (1 + K_c * Max(0, F_max - F_y)) * R),
            ),
            {F_y: Meaning(key="yield_force"), a_c: Meaning("contact radius", "m")},
        ),
        "kogut-etsion": Equation(
            (
                (
                    F,
                    Piecewise(
                        (HERTZ, w < 1),
                        (1.03 * F_c * w**1.425, w < 6),
                        (1.40 * F_c * w**1.263, w <= 110),
                    ),
                ),
                (w, d / d_c),
                (F_u, F_max * ((d - d_r) / (d_max - d_r)) ** n),
                (
                    d_r,
                    Piecewise(
                        (0, w_max < 1),
                        (d_max * (1 - w_max ** (-0.28)) * (1 - w_max ** (-0.69)), True),
                    ),
                ),
                (n, Piecewise((THREE_HALVES, w_max < 1), (1.5 * w_max ** (-0.0331), True))),
                (w_max, d_max / d_c),
                (d_c, (pi * k * H / (2 * E)) ** 2 * R),
                (k, 0.454 + 0.41 * nu),
                (F_c, 4 * E * sqrt(R) * d_c**THREE_HALVES / 3),
            ),
            {n: Meaning("exponent of unloading")},
        ),
        "jackson-green": Equation(
            (
                (
                    F,
                    Piecewise(
                        (HERTZ, w <= 1.9),
                        (
                            F_c
                            * (
                                exp(-(w ** Rational(5, 12) / 4)) * w**THREE_HALVES
                                + 4 * H_G / (C * s_y) * (1 - exp(-(w ** Rational(5, 9) / 25))) * w
                            ),
                            w > 1.9,
                        ),
                    ),
                ),
                (w, d / d_c),
                (F_u, F_max * ((d - d_r) / (d_max - d_r)) ** THREE_HALVES),
                (
                    d_r,
                    Piecewise(
                        (0, w_max < 1),
                        (1.02 * d_max * (1 - ((w_max + 5.9) / 6.9) ** (-0.54)), True),
                    ),
                ),
                (w_max, d_max / d_c),
                (d_c, (pi * C * s_y / (2 * E)) ** 2 * R),
                (C, 1.295 * exp(0.736 * nu)),
                (F_c, 4 * E * sqrt(R) * d_c**THREE_HALVES / 3),
                (H_G, 2.84 * s_y * (1 - exp(-0.82 * (a_c / R) ** (-0.7)))),
                (a_c, sqrt(R * d * (w / 1.9) ** B)),
                (B, 0.14 * exp(23 * s_y / E)),
            ),
            {a_c: Meaning("contact radius", "m")},
        ),
        "du-wang": Equation(
            (
                (
                    F,
                    Piecewise(
                        (HERTZ, d < d_y),
                        (pi * R * p_p * d - pi**3 * R**2 * p_p**3 / (12 * E**2), d >= d_y),
                    ),
                ),
                *THROUGH_THE_POINT,
                (R_u, R),
                (d_y, pi**2 * R * p_p**2 / (4 * E**2)),
                (p_p, (1 + pi / 2) * s_y),
            )
        ),
        "brake": Equation(
            (
                (
                    F,
                    Piecewise(
                        (HERTZ, d < d_y),
                        (F_m, d < d_p),
                        (p_0 * pi * (2 * R * d - a_p**2), d >= d_p),
                    ),
                ),
                (
                    F_m,
                    (2 * s**3 - 3 * s**2 + 1) * F_y
                    + (s**3 - 2 * s**2 + s) * G_y
                    + (3 * s**2 - 2 * s**3) * F_p
                    + (s**3 - s**2) * G_p,
                ),
                (s, (d - d_y) / (d_p - d_y)),
                (G_y, 2 * E * sqrt(R * d_y) * (d_p - d_y)),
                (G_p, 2 * pi * R * p_0 * (d_p - d_y)),
                *THROUGH_THE_POINT,
                (R_u, Piecewise((R, d_max < d_y), (R + d_max / 2, d_max >= d_y))),
                (p_y, 1.6 * s_y),
                *first_yield(p_y),
                (p_0, H),
                (a_p, 3 * pi * p_0 * R / (4 * E)),
                (d_p, a_p**2 / R),
                (F_p, pi * p_0 * a_p**2),
            )
        ),
        "burgoyne-daraio": Equation(
            (
                (
                    F,
                    Piecewise(
                        (HERTZ, d < d_y),
                        (d * (alpha + beta * log(d)), d < d_p),
                        (p_0 * pi * (2 * R * d + c_2), d >= d_p),
                    ),
                ),
                *THROUGH_THE_POINT,
                (R_u, Piecewise((R, d_max < d_y), (FLATTENED[1], d_max >= d_y))),
                (p_y, 1.6 * s_y),
                (d_y, (3 * F_y / (4 * E * sqrt(R))) ** Rational(2, 3)),
                (F_y, (R / E) ** 2 * ((1.6 * pi * s_y) ** 3 / 6)),
                (F_p, p_0 * pi * (2 * R * d_p + c_2)),
                (alpha, F_y / d_y - beta * log(d_y)),
                (beta, (F_p / d_p - F_y / d_y) / log(d_p / d_y)),
                (p_0, c_1 * s_y),
            ),
            {
                c_1: Meaning(key="c1"),
                c_2: Meaning(key="c2"),
                d_p: Meaning(key="d_p"),
                alpha: Meaning("constant of the logarithmic branch", "N/m"),
            },
        ),
    }
