"""Viscous dashpots: the review of Wang et al. 2022, eqs. (31), (32), (55) and table 2; Autiero et
al. 2022, eqs. (41), (44), (45),
doi:10.3390/machines10110966; Tsuji, Tanaka & Ishida 1992, doi:10.1016/0032-5910(92)88030-L;
Jankowski 2005, doi:10.1002/eqe.434.
"""

from __future__ import annotations

from sympy import Abs, Expr, Piecewise, Rational, evaluate, exp, log, pi, sqrt

from equations.maliu import LINEARISED
from equations.notation import E, Equation, F, K, K_p, Meaning, R, d, e, m, rate, symbol

chi = symbol(r"\chi", key="chi")
xi_j = symbol(r"\xi_J", "Jankowski's damping ratio")
q = symbol("q", key="q")
epsilon = symbol(r"\varepsilon", key="epsilon")
T = symbol("T", "transition factor of the dashpot")
omega = symbol(r"\omega", "frequency of mass and spring", "1/s")
LINEAR = {K: Meaning("stiffness", "N/m", "stiffness")}

with evaluate(False):
    HERTZ = (K, 4 * E * sqrt(R) / 3)
    SPRING = K * d ** Rational(3, 2)

    def linear(stiffness: Expr) -> Expr:
        """Of a linear oscillator that returns with e after half a period."""
        return 2 * Abs(log(e)) * sqrt(stiffness * m / (pi**2 + log(e) ** 2))

    def empirical(power: Expr) -> Equation:
        return Equation(((F, SPRING + chi * d**power * rate), HERTZ))

    XI_OF_JANKOWSKI = (xi_j, 9 * sqrt(5) * (1 - e**2) / (2 * e * (e * (9 * pi - 16) + 16)))
    JANKOWSKI = SPRING + 2 * xi_j * sqrt(K * m) * d ** Rational(1, 4) * rate
    EQUATIONS = {
        "kelvin-voigt": Equation(((F, K * d + linear(K) * rate),), LINEAR),
        "wang-liu-viscous": Equation(((F, K_p * d + linear(K_p) * rate), *LINEARISED)),
        "lee-wang-transition": Equation(
            (
                (F, K * d + 2 * m * omega * sqrt(log(e) ** 2 / (log(e) ** 2 + pi**2)) * T * rate),
                (T, (d + Abs(d)) / (2 * d) * exp(q / epsilon * ((d - epsilon) - Abs(d - epsilon)))),
                (omega, sqrt(K / m)),
            ),
            LINEAR,
        ),
        "tsuji": Equation(
            (
                (
                    F,
                    SPRING
                    + sqrt(5)
                    * Abs(log(e))
                    * sqrt(K * m / (pi**2 + log(e) ** 2))
                    * d ** Rational(1, 4)
                    * rate,
                ),
                HERTZ,
            )
        ),
        "jankowski": Equation(
            ((F, Piecewise((JANKOWSKI, rate > 0), (SPRING, rate <= 0))), XI_OF_JANKOWSKI, HERTZ)
        ),
        "jankowski-both-phases": Equation(((F, JANKOWSKI), XI_OF_JANKOWSKI, HERTZ)),
        "kuwabara-kono": empirical(Rational(1, 2)),
        "schwager-poschel": empirical(0.65),
        "lee-herrmann": Equation(((F, SPRING + chi * d * rate), HERTZ)),
        "ristow": Equation(((F, SPRING + chi * d * rate), HERTZ)),
    }
