"""Line contact of parallel cylinders: Autiero et al. 2022, doi:10.3390/machines10110966, sec. 4,
table 1 and eq. (8).

Put right: pi E for E in ESDU's law; L^3, in terms of the force, in Goldsmith's; (h1 + h2)/pi in
Dubowsky and Freudenstein's.
"""

from __future__ import annotations

from sympy import Float, Piecewise, Rational, Symbol, evaluate, log, pi, sqrt

from equations.notation import (
    R_1,
    R_2,
    E,
    Equation,
    F,
    K,
    Meaning,
    R,
    a,
    d,
    external,
    internal,
    symbol,
)

L = symbol("L", key="length")
W = symbol("W", "force per length", "N/m")
dr = symbol(
    r"\Delta R",
    "sum of the radii, or their difference (clearance)",
    "m",
    given="`contact.clearance`, or the radii",
)
b, n, Y = Symbol("b"), Symbol("n"), Symbol("Y")
OF_TWO_CYLINDERS = {
    R: Meaning("effective radius of the two cylinders", "m"),
    K: Meaning("stiffness", "N/m^1.5"),
}
MILLIMETRES = {
    d: Meaning("overlap", "mm"),
    E: Meaning(
        "effective modulus",
        "MPa",
        "effective_modulus",
        "material: `youngs_modulus`, `poissons_ratio`",
    ),
    L: Meaning(
        "length of the line contact, in mm here; default: the length of the pair", "mm", "length"
    ),
    dr: Meaning(
        "sum of the radii, or their difference (clearance)",
        "mm",
        given="`contact.clearance`, or the radii",
    ),
    R_1: Meaning(
        "radius of body 1, the outer body of an internal contact",
        "mm",
        "radius_1",
        "`chain.radius`",
    ),
    R_2: Meaning("radius of body 2", "mm", "radius_2", "`chain.radius`"),
    a: Meaning("slope factor of the stiffness"),
    b: Meaning("constant of the stiffness"),
    n: Meaning("exponent"),
    Y: Meaning("factor of the exponent"),
}

with evaluate(False):
    PER_LENGTH = (W, F / L)
    SUM_OR_DIFFERENCE = (dr, Piecewise((R_1 + R_2, external), (R_1 - R_2, internal)))
    RADIUS = (
        R,
        Piecewise((R_1 * R_2 / (R_1 + R_2), external), (R_1 * R_2 / (R_1 - R_2), internal)),
    )
    INSIDE = (dr, R_1 - R_2)

    def logarithmic(*lines: tuple[Symbol, object]) -> Equation:
        return Equation(lines, OF_TWO_CYLINDERS)

    def pereira(*lines: tuple[Symbol, object]) -> Equation:
        return Equation(
            ((F, (a * dr + b) * L * E / dr * d**n), *lines), MILLIMETRES, millimetres=True
        )

    EQUATIONS = {
        "radzimovsky": logarithmic(
            (d, W / (pi * E) * (Rational(2, 3) + log(8 * dr * E / (Float("1.6") ** 2 * W)))),
            PER_LENGTH,
            SUM_OR_DIFFERENCE,
        ),
        "johnson": logarithmic(
            (d, W / (pi * E) * (log(4 * pi * E * dr / W) - 1)), PER_LENGTH, SUM_OR_DIFFERENCE
        ),
        "esdu-78035": logarithmic(
            (d, W / (pi * E) * (log(4 * pi * E * dr / W) + 1)), PER_LENGTH, SUM_OR_DIFFERENCE
        ),
        "goldsmith": logarithmic(
            (d, W / (pi * E) * (log(pi * E * L**2 / (W * R)) + 1)), PER_LENGTH, RADIUS
        ),
        "dubowsky-freudenstein": logarithmic(
            (d, F / (pi * E * L) * (log(pi * E * L**3 / (F * R)) + 1)), RADIUS
        ),
        "lankarani-nikravesh-cylinder": logarithmic(
            (F, K * d ** Rational(3, 2)), (K, 4 * E * sqrt(R) / 3), RADIUS
        ),
        "pereira-2011": pereira(
            (a, Float("0.49")),
            (b, Float("0.10")),
            (n, Y * dr ** (-0.005)),
            (
                Y,
                Piecewise(
                    (1.56 * log(1000 * dr) ** (-0.192), dr <= 0.75),
                    (0.0028 * dr + 1.1083, dr > 0.75),
                ),
            ),
            INSIDE,
        ),
        "pereira-2015": pereira(
            (a, Piecewise((0.39, external), (0.965, internal))),
            (b, Piecewise((0.85, external), (0.0965, internal))),
            (n, Piecewise((1.094, external), (Y * dr ** (-0.005), internal))),
            (
                Y,
                Piecewise(
                    (1.51 * log(1000 * dr) ** (-0.151), dr <= 0.34954),
                    (0.0151 * dr + 1.151, dr > 0.34954),
                ),
            ),
            SUM_OR_DIFFERENCE,
        ),
    }
