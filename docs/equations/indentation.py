"""Permanent indentation: Autiero et al. 2022, eqs. (91)-(97) and (135)-(145),
doi:10.3390/machines10110966, with v squared in (97). Walton & Braun 1986,
doi:10.1122/1.549893, as in the documentation of Exudyn, ObjectContactSphereSphere."""

from __future__ import annotations

from sympy import Rational, evaluate, sqrt

from equations.notation import E, Equation, F, F_max, F_u, K, R, d, d_max, d_r, e, symbol

K_1 = symbol("K_1", key="loading_stiffness")
K_2 = symbol("K_2", key="unloading_stiffness")
K_r = symbol("K_r", "stiffness on unloading", "N/m^1.5")
THREE_HALVES = Rational(3, 2)

with evaluate(False):
    LOADING = (F, K * d**THREE_HALVES)
    DENT = ((d_r, d_max * (1 - e**2)), (K, 4 * E * sqrt(R) / 3))
    EQUATIONS = {
        "lankarani-nikravesh-plastic": Equation(
            (LOADING, (F_u, F_max * ((d - d_r) / (d_max - d_r)) ** THREE_HALVES), *DENT)
        ),
        "gharib-hurmuzlu-plastic": Equation(
            (LOADING, (F_u, K_r * (d - d_r) ** THREE_HALVES), (K_r, K / e**3), *DENT)
        ),
        "walton-braun": Equation(
            ((F, K_1 * d), (F_u, K_2 * (d - d_r)), (d_r, d_max * (1 - K_1 / K_2)))
        ),
    }
