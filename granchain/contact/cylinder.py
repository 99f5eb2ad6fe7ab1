"""Line contact of parallel cylinders, elastic: these laws are reviewed by Autiero et al. 2022.

Five of the laws give the overlap d as a function of the force per length W = F/L,

    d = W/(pi E) [ln(B/W) + c],   E = 1/((1 - nu1^2)/E1 + (1 - nu2^2)/E2),

where B and c depend on the law. The overlap has a maximum, l = B exp(c - 1)/(pi E). There is no
force for a larger overlap. With y = pi E d/W the equation becomes y - ln y = 1 + ln(l/d), y >= 1,
so that F = pi E L d/y is a closed form: -y is the lower real branch of Lambert's W function.

In an internal contact, body 1 is the outer body. A flat wall has no finite compliance in plane
strain. If a chain ends at a wall, radius_1 and radius_2 are both the radius of the bead, and the
wall counts as another cylinder of the same size.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from granchain.contact import elementary
from granchain.contact.law import OPEN, ContactLaw, Quantity, Source, positive
from granchain.contact.pair import Pair, hertz_stiffness
from granchain.errors import LawError

AUTIERO_2022 = "Autiero et al. 2022, doi:10.3390/machines10110966"

LENGTH = positive(
    "length", "m", "length of the line contact; default that of the pair", default=None
)
INTERNAL_CONTACT = Quantity(
    "contact",
    "",
    "type of contact: two cylinders side by side, or body 2 inside body 1",
    default="external",
    choices=("external", "internal"),
    kind="word",
)
CLEARANCE = positive(
    "clearance",
    "m",
    "clearance R1 - R2 of an internal contact; default from the radii of the pair",
    default=None,
)

# The length is the diameter of a bead of Wang, Liu & Liu 2022, table 8,
# doi:10.1016/j.ijmecsci.2022.107214; the clearance is a hundredth of it.
CYLINDER: dict[str, Any] = {"length": 4.76e-3, "clearance": 4.76e-5}


def length_of(pair: Pair, inputs: SimpleNamespace) -> Any:
    """Return the length L [m].

    Raises
    ------
    LawError
        If neither the case nor the pair has a length.
    """
    if inputs.length is not None:
        return inputs.length
    if not pair.has("length"):
        raise LawError(
            "length: missing. A line contact needs a length, a number above 0 [m]. Give length "
            "under [contact], or with the pair."
        )
    return pair.length


def clearance_of(pair: Pair, inputs: SimpleNamespace) -> Any:
    """Return dR = R1 - R2 of an internal contact [m].

    Raises
    ------
    LawError
        If body 1 is not the larger one.
    """
    if inputs.clearance is not None:
        return inputs.clearance
    difference = pair.radius_1 - pair.radius_2
    if not np.all(difference > 0.0):
        raise LawError(
            f"internal contact: radius_1 - radius_2 = {float(np.min(difference)):.6g} m is out of "
            "range. It must be above 0, because body 1 is the outer body. Swap the radii, or give "
            "clearance = R1 - R2."
        )
    return difference


def relative_radius(pair: Pair, inputs: SimpleNamespace) -> Any:
    """Return dR = R1 + R2 of an external contact, R1 - R2 of an internal contact [m]."""
    return (
        clearance_of(pair, inputs)
        if inputs.contact == "internal"
        else pair.radius_1 + pair.radius_2
    )


def effective_radius(pair: Pair, inputs: SimpleNamespace) -> Any:
    """Return R = R1 R2/(R1 + R2), or R1 R2/(R1 - R2) of an internal contact [m]."""
    if inputs.contact == "external":
        return pair.effective_radius
    difference = clearance_of(pair, inputs)
    return (pair.radius_2 + difference) * pair.radius_2 / difference


# --------------------------------------------------------------------------------------------------
# The implicit laws

# Below this y - 1 the steps of `inverse_log_root` are shortened, because the initial value is exact
# to rounding and f/(y - 1) is only rounding.
_NEAR_ONE = 1e-3


def inverse_log_root(ratio: float) -> float:
    """Return 1/y of the root y >= 1 of y - ln y = 1 + ln(ratio), ratio >= 1.

    Initial value: y - 1 = t + s/(1 + s/6) = s + s^2/3 + s^3/36 - ... with t = ln(ratio), s = sqrt(2
    t). This is the series of the root at y = 1 to its third term, which is within 5e-3 of y up to t
    = 150. For it, t is computed to 4e-6 with three terms of 2 artanh. Two steps follow for f = y -
    1 - ln(y ratio). With u = y - 1, the first changes y by the fraction x = -(f/u) (1 + h), h =
    f/(2 u^2) < 2e-4. This is Halley's step except for h^2, and gives y to 2e-9. The second is
    Newton's. Its logarithm is the first one plus that of 1 + x: x - x^2/2 + ..., six terms; the
    first omitted term is x^7/7 = 1e-17.
    """
    m, k = elementary.mantissa_exponent(ratio)
    s = (m - 1.0) / (m + 1.0)
    t = elementary.LN2_HIGH * k + 2.0 * s * (1.0 + s * s * (1.0 / 3.0 + 0.2 * s * s))
    s = math.sqrt(2.0 * t)
    y = 1.0 + t + s / (1.0 + (1.0 / 6.0) * s)
    u = y - 1.0 if y - 1.0 > _NEAR_ONE else _NEAR_ONE
    log = elementary.log(y * ratio)
    f = y - 1.0 - log
    # Depends on u only, so that it need not wait for the logarithm.
    inverse = 1.0 / u
    part = f * inverse
    x = -part * (1.0 + 0.5 * part * inverse)
    y = y + y * x
    square = x * x
    change = (1.0 - 0.5 * x) + square * ((1.0 / 3.0 - 0.25 * x) + square * (0.2 - (1.0 / 6.0) * x))
    u = y - 1.0 if y - 1.0 > _NEAR_ONE else _NEAR_ONE
    f = y - 1.0 - (log + x * change)
    # 1/(y - f y/u), except for (f/u)^2.
    return (u + f) / (u * y)


class Logarithmic(ContactLaw):
    """Base of d = W/(pi E) [ln(B/W) + c]: a law gives its largest overlap, B exp(c - 1)/(pi E)."""

    inputs = (LENGTH, INTERNAL_CONTACT, CLEARANCE)
    coefficients = (
        Quantity("stiffness", "N/m", "pi E L"),
        Quantity("limit", "m", "overlap beyond which there is no force"),
    )
    examples: ClassVar[dict[str, Any]] = CYLINDER
    validity = (
        "elastic contact in plane strain with the force distributed evenly along the length; "
        "overlap below the largest overlap of the law"
    )
    status = (
        "verified for its inverse, its energy, and the fits of Autiero et al. 2022; not validated "
        "against experiment"
    )

    @staticmethod
    def force(overlap: float, rate: float, c: tuple, h: tuple) -> float:
        stiffness, limit = c
        d = overlap if overlap > OPEN else OPEN
        d = d if d < limit else limit
        # An open contact gives a zero factor instead of a zero result. With a zero result, the loop
        # would branch around the root and not be vectorized.
        return stiffness * (d if overlap > OPEN else 0.0) * inverse_log_root(limit / d)

    @staticmethod
    def energy(overlap: float, c: tuple, h: tuple) -> float:
        stiffness, limit = c
        d = overlap if overlap > OPEN else OPEN
        beyond = d - limit if d > limit else 0.0
        d = d if d < limit else limit
        inverse = inverse_log_root(limit / d)
        # L W^2/(2 pi E) [ln(B/W) + c - 1/2] with W = pi E d/y
        u = stiffness * d * d * inverse * (0.5 - 0.25 * inverse) + stiffness * limit * beyond
        return u if overlap > OPEN else 0.0

    @staticmethod
    def overlap_limit(c: tuple) -> float:
        return c[1]


def logarithmic_coefficients(pair: Pair, inputs: SimpleNamespace, limit: Any) -> tuple[Any, ...]:
    """Return the coefficients of F = pi E L d/y."""
    return math.pi * pair.effective_modulus * length_of(pair, inputs), limit


class Radzimovsky(Logarithmic):
    """Radzimovsky, cylinders: d = W/(pi E) [2/3 + ln(8 dR E/(1.6^2 W))], W = F/L, dR = R1 + R2 or
    R1 - R2.

    The law is elastic and quasi-static. External and internal contacts with the same dR have the
    same force. No energy is lost, and the contact ends at d = 0. There is no force beyond d =
    0.7127 dR.
    """

    name = "radzimovsky"
    source = Source("Radzimovsky 1953; " + AUTIERO_2022, "sec. 4")

    @staticmethod
    def coefficients_of(pair: Pair, inputs: SimpleNamespace) -> tuple[Any, ...]:
        # B = 8 dR E/1.6^2, c = 2/3
        limit = (
            8.0
            / (1.6 * 1.6 * math.pi)
            * elementary.exp(2.0 / 3.0 - 1.0)
            * relative_radius(pair, inputs)
        )
        return logarithmic_coefficients(pair, inputs, limit)


class Johnson(Logarithmic):
    """Johnson, cylinders: d = W/(pi E) [ln(4 pi E dR/W) - 1], W = F/L, dR = R1 + R2 or R1 - R2.

    The law is elastic and quasi-static. External and internal contacts with the same dR have the
    same force. No energy is lost, and the contact ends at d = 0. There is no force beyond d = 4
    dR/e^2 = 0.5413 dR.
    """

    name = "johnson"
    source = Source(
        "Johnson 1985, Contact Mechanics; " + AUTIERO_2022, "table 1", "10.1017/CBO9781139171731"
    )

    @staticmethod
    def coefficients_of(pair: Pair, inputs: SimpleNamespace) -> tuple[Any, ...]:
        # B = 4 pi E dR, c = -1
        return logarithmic_coefficients(
            pair, inputs, 4.0 * elementary.exp(-2.0) * relative_radius(pair, inputs)
        )


class Esdu(Logarithmic):
    """ESDU-78035, cylinders: d = W/(pi E) [ln(4 pi E dR/W) + 1], W = F/L, dR = R1 + R2 or R1 - R2.

    The law is elastic and quasi-static. External and internal contacts with the same dR have the
    same force. No energy is lost, and the contact ends at d = 0. The overlap is larger than with
    Johnson's law by 2 W/(pi E). Autiero et al. 2022 compute their tables without the factor pi,
    which makes the contact three times too soft. There is no force beyond d = 4 dR.
    """

    name = "esdu-78035"
    source = Source("ESDU 78035, 1978; " + AUTIERO_2022, "table 1")

    @staticmethod
    def coefficients_of(pair: Pair, inputs: SimpleNamespace) -> tuple[Any, ...]:
        # B = 4 pi E dR, c = 1
        return logarithmic_coefficients(pair, inputs, 4.0 * relative_radius(pair, inputs))


class Goldsmith(Logarithmic):
    """Goldsmith, cylinders: d = W/(pi E) [ln(pi E L^2/(W R)) + 1], W = F/L, R = R1 R2/(R1 + R2) or
    R1 R2/(R1 - R2).

    The law is elastic and quasi-static. No energy is lost, and the contact ends at d = 0. The
    exponent of L is the dimensionally correct value: L^3 if the equation is written in terms of the
    force, not L as in Autiero et al. 2022. There is no force beyond d = L^2/R.
    """

    name = "goldsmith"
    source = Source("Goldsmith 1960, Impact; " + AUTIERO_2022, "table 1, m = 3")

    @staticmethod
    def coefficients_of(pair: Pair, inputs: SimpleNamespace) -> tuple[Any, ...]:
        # B = pi E L^2/R, c = 1
        length = length_of(pair, inputs)
        return logarithmic_coefficients(
            pair, inputs, length * length / effective_radius(pair, inputs)
        )


class DubowskyFreudenstein(Goldsmith):
    """Dubowsky and Freudenstein, cylinders: d = F/(pi E L) [ln(pi E L^3/(F R)) + 1], R = R1 R2/(R1
    + R2) or R1 R2/(R1 - R2).

    This is Goldsmith's law with L^3. Table 1 and eq. (8) of Autiero et al. 2022 print pi (h1 + h2)
    instead of (h1 + h2)/pi, which makes the contact pi^2 times too soft. There is no force beyond d
    = L^2/R.
    """

    name = "dubowsky-freudenstein"
    source = Source("Dubowsky & Freudenstein 1971; " + AUTIERO_2022, "eq. (8)", "10.1115/1.3427895")


# --------------------------------------------------------------------------------------------------
# The explicit laws


class LankaraniNikraveshCylinder(ContactLaw):
    """Lankarani and Nikravesh, for cylinders: F = (4/3) E sqrt(R) d^1.5, R = R1 R2/(R1 + R2) or R1
    R2/(R1 - R2).

    This is the elastic part of their law. It is a formula for spheres that is used for cylinders,
    so it does not depend on the length. No energy is lost, and the contact ends at d = 0. Table 11
    of Autiero et al. 2022 uses pi/10 of this stiffness.
    """

    name = "lankarani-nikravesh-cylinder"
    source = Source("Lankarani & Nikravesh 1990; " + AUTIERO_2022, "table 1", "10.1115/1.2912617")
    inputs = (INTERNAL_CONTACT, CLEARANCE)
    coefficients = (Quantity("stiffness", "N/m^1.5", "K = (4/3) E sqrt(R)"),)
    examples: ClassVar[dict[str, Any]] = {"clearance": CYLINDER["clearance"]}
    validity = "bodies that touch at a point; no yield"
    status = "verified against the closed form; not validated against experiment"

    @staticmethod
    def coefficients_of(pair: Pair, inputs: SimpleNamespace) -> tuple[Any, ...]:
        return (hertz_stiffness(pair.effective_modulus, effective_radius(pair, inputs)),)

    @staticmethod
    def force(overlap: float, rate: float, c: tuple, h: tuple) -> float:
        (stiffness,) = c
        d = overlap if overlap > OPEN else 0.0
        return stiffness * (d * math.sqrt(d))

    @staticmethod
    def energy(overlap: float, c: tuple, h: tuple) -> float:
        (stiffness,) = c
        d = overlap if overlap > OPEN else 0.0
        return 0.4 * stiffness * (d * d * math.sqrt(d))


# Range of radial clearances [mm] of the fits, and the limits between their two branches: Autiero et
# al. 2022, table 1, doi:10.3390/machines10110966.
_PEREIRA_RANGE = (0.005, 10.0)
_PEREIRA_2011_MIDDLE, _PEREIRA_2015_MIDDLE = 0.75, 0.34954


def pereira_clearance(pair: Pair, inputs: SimpleNamespace) -> Any:
    """Return dR of an internal contact [mm].

    Raises
    ------
    LawError
        If dR is outside the range of the fits.
    """
    difference = 1e3 * np.asarray(clearance_of(pair, inputs), dtype=float)
    low, high = _PEREIRA_RANGE
    # Tolerance of 1e-12 for the conversion from metres.
    if not ((difference >= low * (1.0 - 1e-12)) & (difference <= high * (1.0 + 1e-12))).all():
        raise LawError(
            f"R1 - R2: {float(difference.min()):.6g} to {float(difference.max()):.6g} mm is out of "
            f"range. It must be {low:g} to {high:g} mm, the range of the fit of this law. Use the "
            "law johnson, or other radii."
        )
    return difference


def pereira_exponent(
    difference: Any, middle: float, factor: float, power: float, slope: float, intercept: float
) -> Any:
    """Return n = Y dR^-0.005 of an internal contact.

    Y is factor ln(1000 dR)^power up to the middle, and slope dR + intercept above.
    """
    below = factor * elementary.over(
        elementary.power, elementary.over(elementary.log, 1000.0 * difference), power
    )
    return np.where(difference <= middle, below, slope * difference + intercept) * elementary.over(
        elementary.power, difference, -0.005
    )


def pereira_coefficients(
    pair: Pair, inputs: SimpleNamespace, difference: Any, a: float, b: float, n: Any
) -> tuple[Any, ...]:
    """Return K = (a dR + b) L E/dR and n in metre and newton.

    The formula is in mm and MPa, with dR in mm.
    """
    stiffness = (
        (a * difference + b)
        * (1e3 * length_of(pair, inputs))
        * (1e-6 * pair.effective_modulus)
        / difference
    )
    return stiffness * elementary.over(lambda one: elementary.power(1000.0, one), n), n


class Pereira2011(ContactLaw):
    """Pereira et al. 2011, a pin in a bush: F = (a dR + b) L E/dR d^n, in mm and MPa, dR = R1 - R2
    from 0.005 to 10 mm.

    The constants are a = 0.49, b = 0.10, and n = Y dR^-0.005, with Y = 1.56 ln(1000 dR)^-0.192 up
    to dR = 0.75 mm and Y = 0.0028 dR + 1.1083 above. Between the two ranges n jumps up by 2.3 %.
    The contact is always internal. The dimension of the constants depends on n, so the formula is
    valid in mm and MPa only. No energy is lost, and the contact ends at d = 0.
    """

    name = "pereira-2011"
    source = Source("Pereira et al. 2011; " + AUTIERO_2022, "table 1", "10.2495/SECM110051")
    inputs: ClassVar[tuple[Quantity, ...]] = (LENGTH, CLEARANCE)
    coefficients = (Quantity("stiffness", "N/m^n", "K"), Quantity("exponent", "1", "n"))
    fixed_units = True
    examples: ClassVar[dict[str, Any]] = CYLINDER
    validity = "internal contacts with R1 - R2 from 0.005 to 10 mm"
    status = (
        "verified against the formula as published in the review; not validated against experiment"
    )

    @staticmethod
    def coefficients_of(pair: Pair, inputs: SimpleNamespace) -> tuple[Any, ...]:
        difference = pereira_clearance(pair, inputs)
        n = pereira_exponent(difference, _PEREIRA_2011_MIDDLE, 1.56, -0.192, 0.0028, 1.1083)
        return pereira_coefficients(pair, inputs, difference, 0.49, 0.10, n)

    @staticmethod
    def force(overlap: float, rate: float, c: tuple, h: tuple) -> float:
        stiffness, n = c
        d = overlap if overlap > OPEN else 0.0
        return stiffness * elementary.power(d, n)

    @staticmethod
    def energy(overlap: float, c: tuple, h: tuple) -> float:
        stiffness, n = c
        d = overlap if overlap > OPEN else 0.0
        return stiffness * elementary.power(d, n + 1.0) / (n + 1.0)


class Pereira2015(Pereira2011):
    """Pereira et al. 2015, cylinders: F = (a dR + b) L E/dR d^n, in mm and MPa, dR = R1 + R2 or R1
    - R2.

    For an external contact a = 0.39, b = 0.85, and n = 1.094. For an internal contact with dR from
    0.005 to 10 mm, a = 0.965, b = 0.0965, and n = Y dR^-0.005, with Y = 1.51 ln(1000 dR)^-0.151 up
    to dR = 0.34954 mm and Y = 0.0151 dR + 1.151 above. The dimension of the constants depends on n,
    so the formula is valid in mm and MPa only. No energy is lost, and the contact ends at d = 0.
    """

    name = "pereira-2015"
    source = Source("Pereira et al. 2015; " + AUTIERO_2022, "table 1", "10.1007/s11044-015-9463-x")
    inputs = (LENGTH, INTERNAL_CONTACT, CLEARANCE)
    validity = "external contacts, and internal contacts with R1 - R2 from 0.005 to 10 mm"

    @staticmethod
    def coefficients_of(pair: Pair, inputs: SimpleNamespace) -> tuple[Any, ...]:
        if inputs.contact == "external":
            total = 1e3 * np.asarray(pair.radius_1 + pair.radius_2, dtype=float)
            return pereira_coefficients(pair, inputs, total, 0.39, 0.85, 1.094)
        difference = pereira_clearance(pair, inputs)
        n = pereira_exponent(difference, _PEREIRA_2015_MIDDLE, 1.51, -0.151, 0.0151, 1.151)
        return pereira_coefficients(pair, inputs, difference, 0.965, 0.0965, n)
