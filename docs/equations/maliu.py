"""Ma & Liu 2015, doi:10.1115/1.4031483, as Wang, Liu & Liu 2022, eqs. (1)-(4),
doi:10.1016/j.ijmecsci.2022.107214, print it, with d_max for
d_y in the unloading radius."""

from __future__ import annotations

from sympy import Piecewise, Rational, Symbol, evaluate, log, pi, sqrt

from equations.notation import (
    E,
    Equation,
    F,
    F_max,
    F_p,
    F_u,
    F_y,
    K_p,
    R,
    R_u,
    c_1,
    c_2,
    c_3,
    d,
    d_max,
    d_p,
    d_r,
    d_y,
    p_y,
    psi,
    s_y,
    symbol,
    xi,
)

k_1 = symbol("k_1", "slope of the plastic branch", "N/m")
L = symbol(r"\Lambda", "logarithm of the ratio of the overlaps at full plasticity and first yield")
TWO_THIRDS, THREE_HALVES = Rational(2, 3), Rational(3, 2)

with evaluate(False):
    HERTZ = 4 * E * sqrt(R) * d**THREE_HALVES / 3
    # Eqs. (2), (3): the two points and the branch between them.
    POINTS: tuple[tuple[Symbol, object], ...] = (
        (p_y, 1.61 * s_y),
        (d_y, pi**2 * R * p_y**2 / (4 * E**2)),
        (F_y, pi**3 * R**2 * p_y**3 / (6 * E**2)),
        (d_p, xi**2 * d_y / 2),
        (F_p, d_p * (c_1 + c_2 * L) + c_3),
        (c_1, pi * R * (p_y * (1 + L) - 2 * psi * s_y) / L),
        (c_2, pi * R * (2 * psi * s_y - p_y) / L),
        (c_3, F_y - c_1 * d_y),
        (L, log(xi**2 / 2)),
    )
    LINEARISED = ((K_p, (F_p - F_y) / (d_p - d_y)), *POINTS)
    # Unloading on a Hertz curve of radius R_u through (d_max, F_max).
    THROUGH_THE_POINT = (
        (F_u, 4 * E * sqrt(R_u) * (d - d_r) ** THREE_HALVES / 3),
        (d_r, d_max - (3 * F_max / (4 * E * sqrt(R_u))) ** TWO_THIRDS),
    )
    EQUATIONS = {
        "ma-liu": Equation(
            (
                (
                    F,
                    Piecewise(
                        (HERTZ, d < d_y),
                        (d * (c_1 + c_2 * log(d / d_y)) + c_3, d < d_p),
                        (F_p + k_1 * (d - d_p), d >= d_p),
                    ),
                ),
                *THROUGH_THE_POINT,
                (
                    R_u,
                    Piecewise(
                        (R, d_max < d_y),
                        (4 * E * (R * d_max) ** THREE_HALVES / (3 * F_max), d_max < d_p),
                        (4 * E * (R * d_p) ** THREE_HALVES / (3 * F_p), d_max >= d_p),
                    ),
                ),
                *POINTS,
                (k_1, 2 * pi * R * psi * s_y),
            )
        )
    }
