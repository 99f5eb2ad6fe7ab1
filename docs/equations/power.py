"""Hunt & Crossley 1975, eq. (11), doi:10.1115/1.3423596; the factor of Gonthier et al. 2004,
doi:10.1023/B:MUBO.0000029392.21648.bc, which holds for every exponent."""

from __future__ import annotations

from sympy import evaluate, log

from equations.notation import Equation, F, K, Meaning, a, d, e, rate, symbol, v_0

n = symbol("n", key="exponent")

with evaluate(False):
    EQUATIONS = {
        "power": Equation(
            (
                (F, K * d**n * (1 + a * rate / v_0)),
                (a * (1 + e), log((1 + a) / (1 - a * e))),
            ),
            {K: Meaning("stiffness", "N/m^n", "stiffness")},
        )
    }
