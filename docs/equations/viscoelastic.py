"""Viscoelastic contact with memory: Lee & Radok 1960, with one relaxation time. The equation is that
of `lee_radok_force` and `forward_sls_modulus` in force_viscoelastic_models.py of
github.com/kegouro/spmkit, whose integral solves the equation of p below.
"""

from __future__ import annotations

from sympy import Rational, evaluate, sqrt

from equations.notation import E, Equation, F, K, R, d, symbol

g = symbol("g", key="relaxing_fraction")
tau = symbol(r"\tau", key="relaxation_time")
c = symbol("c", "overlap at which the relaxing fraction is unstressed", "m", "creep", "history")
p = symbol("p", "power of this overlap", "m^1.5")
p_rate = symbol(r"\dot{p}", "rate of p", "m^1.5/s")

with evaluate(False):
    EQUATIONS = {
        "lee-radok": Equation(
            (
                (F, K * (d ** Rational(3, 2) - g * p)),
                (p, c ** Rational(3, 2)),
                (p_rate, (d ** Rational(3, 2) - p) / tau),
                (K, 4 * E * sqrt(R) / 3),
            )
        )
    }
