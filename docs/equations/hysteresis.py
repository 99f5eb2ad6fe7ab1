"""Hysteresis dashpots: the table of damping factors of Autiero et al. 2022,
doi:10.3390/machines10110966, sec. 3, and of the review of
Wang et al. 2022, table 1, with the misprints that the laws' pages name put right."""

from __future__ import annotations

from sympy import Expr, Piecewise, Rational, evaluate, exp, log, sqrt

from equations.maliu import LINEARISED
from equations.notation import E, Equation, F, K, K_p, Meaning, R, a, d, d_y, e, rate, symbol, v_0

alpha = symbol(r"\alpha", key="alpha")
LINEAR = {K: Meaning("stiffness", "N/m", "stiffness")}


def dashpot(*factor: tuple[Expr, Expr]) -> Equation:
    """F = K d^1.5 (1 + a rate/v0) with the line of its factor and Hertz's K."""
    return Equation(
        ((F, K * d ** Rational(3, 2) * (1 + a * rate / v_0)), *factor, (K, 4 * E * sqrt(R) / 3))
    )


with evaluate(False):
    FACTORS: dict[str, Expr] = {
        "hunt-crossley": Rational(3, 2) * (1 - e),
        "herbert-mcwhannell": 6 * (1 - e) / ((2 * e - 1) ** 2 + 3),
        "lee-wang": Rational(3, 4) * (1 - e),
        "lankarani-nikravesh": Rational(3, 4) * (1 - e**2),
        "gonthier": (1 - e**2) / e,
        "zhiying-qishao": Rational(3, 4) * (1 - e**2) * exp(2 * (1 - e)),
        "flores": 8 * (1 - e) / (5 * e),
        "gharib-hurmuzlu": 1 / e,
        "hu-guo": 3 * (1 - e) / (2 * e),
        "hu": -(6.66264 * log(e) / (3.85238 + log(e))),
        "shen": 3 * (1 - e) / (2 * e**0.89),
        "carvalho-martins": 3 * (1 - e) * (11 - e) / (2 * (1 + 9 * e)),
        "safaeifar-farshidianfar": 5 * (1 - e) / (4 * e),
        "zhang": 3 * (1 - e) / (2 * e * (0.618 * exp(-3.25 * e) + 0.899 * exp(0.09025 * e))),
        "zhao": 4 * (1 - e) / (1.302 * e),
        "marhefka-orin": 3 * (1 - e**2) / (2 * (1 + e**3)),
        "marhefka-orin-approximate": 3 * (1 - e**2) / (2 * (3 * e - 1)),
    }
    EQUATIONS = {name: dashpot((a, factor)) for name, factor in FACTORS.items()}
    EQUATIONS |= {
        "khulief-shabana": Equation(
            ((F, K * d * (1 + a * rate / v_0)), (a, Rational(3, 4) * (1 - e**2))), LINEAR
        ),
        "gonthier-exact": dashpot((a * (1 + e), log((1 + a) / (1 - a * e)))),
        # eqs. (22), (153) of Autiero et al.
        "hunt-crossley-alpha": Equation(
            (
                (F, K * d ** Rational(3, 2) * (1 + 3 * alpha * rate / 2)),
                (K, 4 * E * sqrt(R) / 3),
            )
        ),
        # Wang, Liu & Liu 2022, eq. (18) and sec. 5.2, doi:10.1016/j.ijmecsci.2022.107214
        "wang-liu-hysteretic": Equation(
            (
                (
                    F,
                    Piecewise(
                        (
                            K * d ** Rational(3, 2) * (1 + 8 * (1 - e) / (5 * e) * (rate / v_0)),
                            d <= d_y,
                        ),
                        (K_p * d * (1 + 3 * (1 - e) / (2 * e) * (rate / v_0)), d > d_y),
                    ),
                ),
                (K, 4 * E * sqrt(R) / 3),
                *LINEARISED,
            ),
            {K: Meaning("Hertz's stiffness", "N/m^1.5")},
        ),
    }
