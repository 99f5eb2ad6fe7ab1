"""Logarithm, exponential, and power for contact laws, in plain arithmetic: bit-identical on every
machine, and vectorized by the engine.

The log, exp, and pow functions of different machines differ in the last digit and process single
numbers. The functions in this module consist of +, -, *, /, comparisons, and three functions that
split a double exactly by powers of two: `mantissa_exponent`, `power_of_two`, and `leading`.
granchain.jit.accessors has a bitwise form of these three. The results of both forms are
bit-identical.

Relative errors are at most 3e-16 for log, 2e-16 for exp, 2e-15 for power, and 4e-16 for power where
|y ln x| is below 10. No exception is raised: a result that is too large is inf, and an undefined
result is nan. Numbers below the smallest normal number, 2.2e-308, count as 0.

Method: powers of two, and ln 2 in two parts, Cody & Waite 1980, Software Manual for the Elementary
Functions; sums and products in two doubles, Dekker 1971, doi:10.1007/BF01397083; both in Muller
2016, Elementary Functions, doi:10.1007/978-1-4899-7983-4. Polynomials are summed in parts that do
not wait for each other: Estrin 1960, doi:10.1145/1460361.1460365.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

# sqrt(1/2), rounded: mantissas are from here up to twice this value, so that their logarithm is
# smallest.
ROOT_OF_HALF = 0.7071067811865476
# A mantissa from 1/2 to 1 times this value has 26 bits before the point.
LEADING = 2.0**26
# Largest double, and smallest normal one. Smaller numbers have fewer digits, are slow on some
# machines, and count as 0.
LARGEST = 2.0**1023 * (2.0 - 2.0**-52)
SMALLEST = 2.0**-1022

# ln 2 in two parts: the first 32 bits, so that the product with an exponent of 11 bits is exact,
# and the remainder, ln 2 - LN2_HIGH = 1.90821492927058781614...e-10, rounded.
LN2_HIGH = 2977044471.0 / 2.0**32
LN2_LOW = 1.9082149292705877e-10
# 1/ln 2, rounded. It only selects the multiple of ln 2 that is subtracted.
INVERSE_LN2 = 1.4426950408889634
# The sum of this value and a number up to 2^51 is the nearest whole number; so is the difference.
NEAREST = 1.5 * 2.0**52
# ln m = 2 artanh s = 2 s (1 + z/3 + z^2/5 + ...), s = (m - 1)/(m + 1), z = s^2 up to (sqrt 2 - 1)^4
# = 0.0294: 11 terms, of which the first is separate. The first omitted term is z^11/23 = 6e-19 of
# the sum.
LOG_3, LOG_5, LOG_7, LOG_9, LOG_11 = 2.0 / 3.0, 2.0 / 5.0, 2.0 / 7.0, 2.0 / 9.0, 2.0 / 11.0
LOG_13, LOG_15, LOG_17, LOG_19, LOG_21 = 2.0 / 13.0, 2.0 / 15.0, 2.0 / 17.0, 2.0 / 19.0, 2.0 / 21.0
# 2/3 minus 1/2.
SIXTH = 1.0 / 6.0
# exp r = 1 + r + r^2/2! + ..., |r| up to (ln 2)/2 = 0.347: 14 terms, of which the first two are
# separate. The first omitted term is r^14/14! = 4e-18.
EXP_2, EXP_3, EXP_4, EXP_5 = 1.0 / 2.0, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0
EXP_6, EXP_7, EXP_8, EXP_9 = 1.0 / 720.0, 1.0 / 5040.0, 1.0 / 40320.0, 1.0 / 362880.0
EXP_10, EXP_11, EXP_12, EXP_13 = (
    1.0 / 3628800.0,
    1.0 / 39916800.0,
    1.0 / 479001600.0,
    1.0 / 6227020800.0,
)

# Above the first value, the nearest multiple of ln 2 is above 1023, and 2^n is inf. Below the
# second, it is below -1022, and 2^n is 0.
LARGEST_EXPONENT = 709.6
SMALLEST_EXPONENT = -708.8

INF, NAN = math.inf, math.nan


def mantissa_exponent(x: float) -> tuple[float, float]:
    """Return mantissa m and exponent k of x = m 2^k, with sqrt(1/2) <= m < sqrt 2.

    The result is arbitrary if x is not normal and above 0.
    """
    m, k = math.frexp(x) if x >= SMALLEST and x <= LARGEST else (1.0, 0)
    return (m, float(k)) if m >= ROOT_OF_HALF else (m + m, k - 1.0)


def power_of_two(n: float) -> float:
    """Return 2^n of a whole number n, -1022 <= n <= 1023; 0 for -1023, inf for 1024."""
    return (math.ldexp(1.0, int(n)) if n < 1024.0 else INF) if n > -1023.0 else 0.0


def leading(x: float) -> float:
    """Return a normal number with the first 26 bits of its mantissa, the others 0.

    The product of two such numbers is exact. The result is arbitrary for inf and nan.
    """
    m, k = math.frexp(x) if x - x == 0.0 else (0.0, 0)
    return math.ldexp(float(int(m * LEADING)), k - 26)


def log_series(z: float) -> float:
    """Return ((2 artanh s)/s - 2)/z - 2/3 of z = s^2."""
    w = z * z
    first = (LOG_5 + z * LOG_7) + w * (LOG_9 + z * LOG_11)
    second = (LOG_13 + z * LOG_15) + w * (LOG_17 + z * LOG_19)
    return z * first + (z * (w * w)) * (second + (w * w) * LOG_21)


def log(x: float) -> float:
    """Return the natural logarithm; -inf at 0, nan below 0.

    Parameters
    ----------
    x : float
        Any number.

    Returns
    -------
    float
        ln x, with an error of at most 3e-16.
    """
    m, k = mantissa_exponent(x)
    # ln m = 2 s + s R, and 2 s = f - s f with f = m - 1, which is exact, so that the first term has
    # no error. s f = f^2/2 - s f^2/2.
    f = m - 1.0
    s = f / (m + 1.0)
    square = 0.5 * f * f
    z = s * s
    cube = s * z
    # The series comes last, because it takes longest.
    before = square - ((s * square + cube * LOG_3) + k * LN2_LOW)
    value = k * LN2_HIGH - ((before - cube * log_series(z)) - f)
    value = value if x >= SMALLEST else (-INF if x >= 0.0 else NAN)
    return value if x <= LARGEST else x


def exp_of_two(high: float, low: float) -> float:
    """Return exp(high + low), low much smaller than 1; arbitrary if high is nan."""
    inside = high if high < LARGEST_EXPONENT else LARGEST_EXPONENT
    inside = inside if inside > SMALLEST_EXPONENT else SMALLEST_EXPONENT
    low = low if inside == high else 0.0
    n = (inside * INVERSE_LN2 + NEAREST) - NEAREST
    r = (inside - n * LN2_HIGH) + (low - n * LN2_LOW)
    w = r * r
    first = (EXP_2 + r * EXP_3) + w * (EXP_4 + r * EXP_5)
    second = (EXP_6 + r * EXP_7) + w * (EXP_8 + r * EXP_9)
    third = (EXP_10 + r * EXP_11) + w * (EXP_12 + r * EXP_13)
    q = w * w
    return (1.0 + (r + w * ((first + q * second) + (q * q) * third))) * power_of_two(n)


def exp(x: float) -> float:
    """Return the exponential.

    It is inf above 1023.5 ln 2 = 709.436, and 0 below -1022.5 ln 2 = -708.743.

    Parameters
    ----------
    x : float
        Any number.

    Returns
    -------
    float
        exp x, with an error of at most 2e-16 if it is a normal number.
    """
    return exp_of_two(x, 0.0) if x == x else x


def power(x: float, y: float) -> float:
    """Return x^y for x >= 0; nan if x is below 0 or nan, or if y is not finite.

    Parameters
    ----------
    x : float
        Base.
    y : float
        Exponent.

    Returns
    -------
    float
        x^y, with an error of at most 2e-15 if it is a normal number, and 4e-16 if |y ln x| is below
        10. It is 1 if y is 0, and inf and 0 as in `exp` of y ln x.
    """
    m, k = mantissa_exponent(x)
    # s = (m - 1)/(m + 1) as s_high + s_low: s_high has 26 bits, and m_high + 1 has 27, so that
    # their product is exact.
    f = m - 1.0
    inverse = 1.0 / (m + 1.0)
    s = f * inverse
    s_high, m_high = leading(s), leading(m)
    s_low = ((f - s_high * (m_high + 1.0)) - s_high * (m - m_high)) * inverse
    # s^2, and s^3 except for s_low, which is added separately. 2/3 s^3 is split into 1/2 and 1/6,
    # because the half is exact.
    z = s_high * s_high + s_low * (2.0 * s_high + s_low)
    cube = s_high * z
    near = SIXTH + z * LOG_5
    series = SIXTH + log_series(s * s)
    # ln x = high + low, with high = k ln 2 + 2 s_high. The logarithms of 0 and inf are finite but
    # large enough.
    whole, first = k * LN2_HIGH, 2.0 * s_high
    high = whole + first
    rest = 0.5 * cube + ((first - (high - whole)) + k * LN2_LOW)
    low = rest + ((cube + s_low * z) * series + s_low * (2.0 + 0.5 * z))
    high = high if x >= SMALLEST else -LARGEST
    high = high if x <= LARGEST else LARGEST
    # y ln x, each factor as two numbers; the first has 26 bits and needs no more precision.
    log_high = leading(high + (rest + cube * near))
    log_low = (high - log_high) + low
    y_high = leading(y)
    value = exp_of_two(y_high * log_high, y * log_low + (y - y_high) * log_high)
    # y - y is nan if y is not finite.
    return value if x >= y - y else NAN


def over(function: Callable[..., float], values: Any, *more: float) -> Any:
    """Apply one of these functions to a number or to each different array element.

    Parameters
    ----------
    function : callable
        `log`, `exp`, or `power`.
    values : float or array
        First argument.
    *more : float
        Further arguments.

    Returns
    -------
    float or array
        Result, of the shape of `values`.
    """
    if np.ndim(values) == 0:
        return function(float(values), *more)
    kinds, which = np.unique(np.asarray(values, dtype=float), return_inverse=True)
    return np.array([function(kind, *more) for kind in kinds.tolist()])[which].reshape(
        np.shape(values)
    )
