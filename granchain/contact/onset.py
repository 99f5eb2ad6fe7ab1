"""Weight of the rate term at the first step of a contact, which gives order two at the onset of a
damping force ~ d^a with a < 1."""

from __future__ import annotations

import math
from functools import cache

from granchain.contact import elementary

# Terms of the Euler-Maclaurin sum and its remainder: after 20 terms, the last term of the remainder
# that is used is below 1e-16 of the sum.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66)
_ZETA_TERMS = 20
_DEGREE = 11
# Nodes are multiples of 2^-20, independent of the rounding of the cosine in a C library.
_ZETA_GRID = 2**20
# A double between 2^-8 and 2 is a multiple of 2^-60; divided differences grow to about 2^40 times
# this unit and are stored to 2^-160.
_UNIT, _FINER = 2.0**60, 100


def hurwitz_zeta(order: float, q: float) -> float:
    """Return zeta(s, q) for any order s != 1 by the Euler-Maclaurin formula.

    SciPy's function has no negative orders.

    Parameters
    ----------
    order : float
        Order s.
    q : float
        Argument, above 0.

    Notes
    -----
    NIST Digital Library of Mathematical Functions, eq. 25.11.5 with the remainder expanded as in
    25.2.9, doi:10.1007/s10915-010-9396-8
    """
    s = order
    x = q + _ZETA_TERMS
    terms = [elementary.power(q + k, -s) for k in range(_ZETA_TERMS)]
    terms += [elementary.power(x, 1.0 - s) / (s - 1.0), 0.5 * elementary.power(x, -s)]
    factor, factorial = s, 2.0
    for j, bernoulli in enumerate(_BERNOULLI, start=1):
        terms.append(bernoulli / factorial * factor * elementary.power(x, -s - 2 * j + 1))
        factor *= (s + 2 * j - 1) * (s + 2 * j)
        factorial *= (2 * j + 1) * (2 * j + 2)
    return math.fsum(terms)


@cache
def onset_weight(power: float) -> tuple[float, ...]:
    """Return the polynomial in theta of -zeta(-a, 1 + theta), highest power first.

    Divided by theta^a, it is the weight of a damping force ~ d^a.

    Parameters
    ----------
    power : float
        Exponent a, 0 <= a < 1; for a = 0 the weight is 1/2 + theta.

    Notes
    -----
    The kicks of the steps after an onset at the fraction theta of a step add up to h^(1+a) (theta^a
    w + sum over k >= 1 of (k + theta)^a). The generalized Euler-Maclaurin sum (Navot 1961,
    doi:10.1002/sapm1961401271) equals the integral up to order h^2 if theta^a w = -zeta(-a, 1 +
    theta).
    """
    # Chebyshev nodes on [0, 1]: the interpolation error of degree 11 is below 2e-11 for every a.
    nodes = [
        round(_ZETA_GRID * (0.5 + 0.5 * math.cos(math.pi * (i + 0.5) / (_DEGREE + 1))))
        for i in range(_DEGREE + 1)
    ]
    return interpolated(nodes, [-hurwitz_zeta(-power, 1.0 + node / _ZETA_GRID) for node in nodes])


def interpolated(nodes: list[int], values: list[float]) -> tuple[float, ...]:
    """Return the polynomial through points of [0, 1], highest power first.

    It is computed with integers, so that it is the same on every machine.

    Parameters
    ----------
    nodes : list of int
        Positions of the points, multiplied by 2^20.
    values : list of float
        Values at the nodes; as many as the polynomial has coefficients.
    """
    # Newton's divided differences, in units of 2^-160.
    differences = [int(value * _UNIT) * 2**_FINER for value in values]
    for order in range(1, len(nodes)):
        for i in reversed(range(order, len(nodes))):
            differences[i] = (
                (differences[i] - differences[i - 1]) * _ZETA_GRID // (nodes[i] - nodes[i - order])
            )
    polynomial: list[int] = []
    for node, difference in zip(reversed(nodes), reversed(differences), strict=True):
        # The polynomial so far, times theta - node.
        polynomial = [
            high - node * low // _ZETA_GRID
            for high, low in zip([*polynomial, 0], [0, *polynomial], strict=True)
        ]
        polynomial[-1] += difference
    return tuple(coefficient / 2**_FINER / _UNIT for coefficient in polynomial)
