"""Logarithm, exponential, and power of laws: errors, limits, and equality of the plain and compiled
forms."""

import math

import numba
import numpy as np
import pytest
from support.vectors import vector_width

from granchain.contact import elementary
from granchain.contact.elementary import LARGEST, SMALLEST, exp, log, over, power
from granchain.jit.compile import OPTIONS, fingerprint, frozen, jitable, reach_of, rows
from granchain.jit.reach import LOWERED

# The errors that the docstrings of the functions guarantee.
LOG_ERROR, EXP_ERROR, POWER_ERROR, NEAR_POWER_ERROR = 3e-16, 2e-16, 2e-15, 4e-16
# A long double has 64 bits or more, so the errors of its functions are a thousandth of these
# errors.
WIDE = np.finfo(np.longdouble).nmant >= 63


def swept(function):
    """Return a function over rows, compiled as the engine compiles a sweep."""
    (copy,) = frozen(function)
    if copy.__code__.co_argcount == 1:

        @rows
        def swept_rows(x, y, result):
            for k in range(x.size):
                result[k] = copy(x[k])

    else:

        @rows
        def swept_rows(x, y, result):
            for k in range(x.size):
                result[k] = copy(x[k], y[k])

    jitable(reach_of(swept_rows).members, "swept")

    @numba.njit(**OPTIONS)
    def sweep(x, y, result):
        swept_rows(x, y, result)

    def over_rows(x, y=None):
        result = np.empty_like(x)
        sweep(x, x if y is None else y, result)
        return result

    over_rows.compiled = sweep
    return over_rows


@pytest.fixture(scope="module")
def compiled():
    return {name: swept(getattr(elementary, name)) for name in ("log", "exp", "power")}


def bits(values):
    """Return the bits of each double; all nans are equal."""
    return np.where(np.isnan(values), np.nan, values).view(np.uint64)


def any_doubles(draw, n):
    """Return doubles with random bits: normal and subnormal numbers of both signs, infinities,
    nan."""
    return draw.integers(0, 2**64, n, dtype=np.uint64).view(np.float64)


# Arguments at which a function uses another branch, and special numbers.
PLACES = np.array(
    [
        0.0, 5e-324, SMALLEST, LARGEST, math.inf, math.nan, 1.0, 2.0, elementary.ROOT_OF_HALF,
        math.sqrt(2.0), 0.5 * math.log(2.0),
        elementary.LARGEST_EXPONENT, -elementary.SMALLEST_EXPONENT, 1023.5 * math.log(2.0),
        1022.5 * math.log(2.0),
        1e-300, 1e300,
    ]
)  # fmt: skip
with np.errstate(over="ignore"):
    BOTH_SIDES = np.concatenate([PLACES, np.nextafter(PLACES, 0.0), np.nextafter(PLACES, math.inf)])
EDGES = np.concatenate([BOTH_SIDES, -BOTH_SIDES])


def arguments(draw, n):
    """Return n arguments of each function: a third any doubles, the others without overflow."""
    some, rest = n // 3, n - n // 3
    edges = np.meshgrid(EDGES, EDGES)
    x = np.exp(draw.uniform(-708.0, 709.0, rest))
    x[::2] = draw.uniform(0.5, 2.0, x[::2].size)
    y = draw.uniform(-710.0, 710.0, rest) / np.log(x)
    y[::3] = draw.uniform(-3.0, 3.0, y[::3].size)
    wide = any_doubles(draw, some)
    exponents = np.concatenate([EDGES, any_doubles(draw, some), draw.uniform(-750.0, 750.0, rest)])
    bases = np.concatenate([edges[0].ravel(), wide, x])
    return {
        "log": (np.concatenate([EDGES, wide, x]),),
        "exp": (exponents,),
        "power": (
            bases,
            np.concatenate(
                [
                    edges[1].ravel(),
                    np.where(wide > 1.0, any_doubles(draw, some), draw.uniform(-3.0, 3.0, some)),
                    y,
                ]
            ),
        ),
    }


@pytest.mark.parametrize("n", [10**4, pytest.param(5 * 10**5, marks=pytest.mark.long)])
def test_on_bits_and_by_frexp_and_ldexp_of_plain_python_the_bits_are_the_same(n, compiled):
    assert elementary.mantissa_exponent in LOWERED
    found = arguments(np.random.default_rng(20), n)
    for name, values in found.items():
        function = getattr(elementary, name)
        pairs = zip(*(value.tolist() for value in values), strict=True)
        interpreted = np.array([function(*one) for one in pairs])
        differ = bits(compiled[name](*values)) != bits(interpreted)
        assert not differ.any(), (name, [value[differ][:5] for value in values])


def largest_error(found, exact):
    """Return the largest relative error where the exact value is a normal number and not 0."""
    size = np.abs(exact)
    normal = (size >= SMALLEST) & (size < 2.0**1023)
    return float((np.abs(found.astype(np.longdouble) - exact)[normal] / size[normal]).max())


@pytest.mark.skipif(not WIDE, reason="no long double here that is wider than a double")
def test_errors_are_as_promised(compiled):
    # 2e5 arguments each; the seed is arbitrary
    draw, n = np.random.default_rng(30), 100_000
    wide = np.longdouble
    near, far = draw.uniform(0.5, 2.0, n), np.exp(draw.uniform(-708.0, 709.0, n))
    # ever closer to 1, from both sides
    nearest = 1.0 + draw.choice([-1.0, 1.0], n) * 10.0 ** draw.uniform(-16.0, -1.0, n)
    for x in (near, far, nearest):
        closed = x != 1.0
        assert (
            largest_error(compiled["log"](x)[closed], np.log(x[closed].astype(wide))) <= LOG_ERROR
        )
    for x in (
        draw.uniform(-1.0, 1.0, n),
        draw.uniform(-708.0, 709.0, n),
        10.0 ** draw.uniform(-20.0, 0.0, n),
    ):
        assert largest_error(compiled["exp"](x), np.exp(x.astype(wide))) <= EXP_ERROR
    for x in (near, far, nearest):
        x = np.where(x == 1.0, 0.5, x)
        scale = np.log(x)
        for most, allowed in ((709.0, POWER_ERROR), (10.0, NEAR_POWER_ERROR)):
            y = draw.uniform(-most, most, n) / scale
            # power of a long double: its logarithm has 11 more bits, of which 709 takes 10
            exact = (
                np.exp(y.astype(wide) * np.log(x.astype(wide)))
                if most < 100.0
                else np.power(x.astype(wide), y.astype(wide))
            )
            assert largest_error(compiled["power"](x, y), exact) <= allowed


INF, NAN = math.inf, math.nan


@pytest.mark.plain
def test_ends_are_defined():
    for x, value in {0.0: -INF, 5e-324: -INF, 0.9 * SMALLEST: -INF, 1.0: 0.0, INF: INF}.items():
        assert log(x) == value
    assert log(-0.0) == -INF and exp(-0.0) == power(0.0, -0.0) == 1.0
    for x in (-1.0, -5e-324, -INF, NAN):
        assert math.isnan(log(x))
    # largest and smallest results: exp(1023.5 ln 2), exp(-1022.5 ln 2)
    for x, value in {
        0.0: 1.0,
        709.44: INF,
        1e300: INF,
        INF: INF,
        -708.75: 0.0,
        -1e300: 0.0,
        -INF: 0.0,
    }.items():
        assert exp(x) == value
    assert exp(709.43) > 1.2e308 and 0.0 < exp(-708.74) < 1.6e-308
    assert math.isnan(exp(NAN))
    for zero in (0.0, -0.0, 5e-324, 0.9 * SMALLEST):
        for y, value in {
            0.65: 0.0,
            1.0: 0.0,
            1e300: 0.0,
            0.0: 1.0,
            -0.28: INF,
            -1e300: INF,
        }.items():
            assert power(zero, y) == value
    for y, value in {0.65: INF, 1e300: INF, 0.0: 1.0, -0.28: 0.0, -1e300: 0.0}.items():
        assert power(INF, y) == value
    assert power(1.0, 1e300) == power(1.0, -1e300) == power(1.0, 0.65) == power(0.65, 0.0) == 1.0
    assert power(np.nextafter(1.0, 0.0), 1e300) == power(2.0, -1e300) == power(0.5, 1e300) == 0.0
    assert power(np.nextafter(1.0, 2.0), 1e300) == power(2.0, 1e300) == power(0.5, -1e300) == INF
    for x, y in (
        (-1.0, 2.0),
        (-INF, 2.0),
        (NAN, 2.0),
        (2.0, NAN),
        (2.0, INF),
        (2.0, -INF),
        (-5e-324, 1.0),
        (NAN, 0.0),
    ):
        assert math.isnan(power(x, y))


@pytest.mark.plain
def test_over_arrays_each_number_is_taken_once():
    asked = []

    def noted(x, y):
        asked.append(x)
        return power(x, y)

    values = np.array([[2.0, 3.0, 2.0], [3.0, 2.0, 2.0]])
    found = over(noted, values, 0.5)
    np.testing.assert_array_equal(found, np.vectorize(power)(values, 0.5))
    assert asked == [2.0, 3.0] and found.shape == values.shape
    assert (
        over(log, 2) == log(2.0)
        and over(log, np.float64(2.0)) == log(2.0)
        and type(over(log, 2)) is float
    )


def test_loops_over_rows_take_them_in_whole_vectors(compiled):
    for name, function in compiled.items():
        function(np.ones(8), np.ones(8))
        (code,) = function.compiled.inspect_llvm().values()
        # 2^n for exp and power, the exponent for log and power
        width = vector_width()
        assert (f"shl <{width} x i64>" in code) == (name != "log"), name
        assert (f"lshr <{width} x i64>" in code) == (name != "exp"), name


@pytest.mark.plain
def test_the_fingerprint_covers_the_form_on_bits(monkeypatch):
    def law():
        # another function each time, because the engine checks a known function for changes
        return lambda x: elementary.log(x)

    before = fingerprint(law())
    assert fingerprint(law()) == before
    (first, *_), made = LOWERED[elementary.mantissa_exponent], lambda x: (x, 0.0)
    monkeypatch.setitem(LOWERED, elementary.mantissa_exponent, (first, made))
    changed = fingerprint(law())
    assert changed != before
    # a constant of the series
    monkeypatch.undo()
    monkeypatch.setattr(elementary, "LOG_21", 0.0)
    assert fingerprint(law()) not in (before, changed)
