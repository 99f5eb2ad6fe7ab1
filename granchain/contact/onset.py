"""Order two at the onset of a damping force ~ d^a with a < 1: a weight on the rate term at the first step of a contact."""

from __future__ import annotations

import numpy as np

# Terms of the Euler-Maclaurin sum and its remainder: with 20 terms in front the last one used is below 1e-16 of the sum.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66)
_TERMS = 20
_DEGREE = 10


def hurwitz_zeta(order: float, q: np.ndarray) -> np.ndarray:
    """zeta(s, q), for any order s != 1, by the Euler-Maclaurin formula; scipy's has no negative order.

    Parameters
    ----------
    order : float
        s.
    q : array
        Above 0.

    Notes
    -----
    NIST Digital Library of Mathematical Functions, eq. 25.11.5 with the remainder expanded as in 25.2.9, doi:10.1007/s10915-010-9396-8
    """
    s = order
    total = sum((q + k) ** -s for k in range(_TERMS))
    x = q + _TERMS
    total = total + x ** (1.0 - s) / (s - 1.0) + 0.5 * x**-s
    factor, factorial = s, 2.0
    for j, bernoulli in enumerate(_BERNOULLI, start=1):
        total = total + bernoulli / factorial * factor * x ** (-s - 2 * j + 1)
        factor *= (s + 2 * j - 1) * (s + 2 * j)
        factorial *= (2 * j + 1) * (2 * j + 2)
    return total


def onset_weight(power: float) -> tuple[float, ...]:
    """Polynomial in theta of -zeta(-a, 1 + theta), highest power first; over theta^a it is the weight of a damping force ~ d^a.

    Parameters
    ----------
    power : float
        a, 0 <= a < 1; for a = 0 the weight is 1/2 + theta.

    Notes
    -----
    The kicks of the steps after an onset at the fraction theta of a step add up to h^(1+a) (theta^a w + sum over k >= 1 of (k +
    theta)^a); the generalised Euler-Maclaurin sum (Navot 1961, doi:10.1002/sapm1961401271) equals the integral up to order h^2
    when theta^a w = -zeta(-a, 1 + theta).
    """
    # Chebyshev nodes on [0, 1]: the interpolation error of degree 10 is below 1e-10 for every a
    nodes = 0.5 + 0.5 * np.cos(np.pi * (np.arange(2 * _DEGREE) + 0.5) / (2 * _DEGREE))
    return tuple(float(x) for x in np.polyfit(nodes, -hurwitz_zeta(-power, 1.0 + nodes), _DEGREE))
