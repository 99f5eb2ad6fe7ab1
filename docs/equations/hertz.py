"""Johnson 1985, Contact Mechanics, eqs. (4.22), (4.23), doi:10.1017/CBO9781139171731."""

from __future__ import annotations

from sympy import Rational, evaluate, sqrt

from equations.notation import E, Equation, F, K, R, d

with evaluate(False):
    EQUATIONS = {"hertz": Equation(((F, K * d ** Rational(3, 2)), (K, 4 * E * sqrt(R) / 3)))}
