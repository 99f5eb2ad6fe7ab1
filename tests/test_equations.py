"""Every law has its published equation in docs/equations, and agrees with it.

The symbols of the equation get their values from the inputs of the law and the quantities of the
pair. The functions of the law, in plain Python, are evaluated at random overlaps, rates, inputs,
and pairs. The tests compare the loading force at any rate and, for a law with residual indentation,
the unloading force from random largest overlaps. If the source gives the overlap as a function of
the force, the overlaps are compared at the force of the law. An equation that must be solved must
hold at the solution of the law."""

import math
import random
from pathlib import Path

import pytest

from granchain.contact import laws
from granchain.contact.examples import example_inputs
from granchain.contact.guard import GUARD, Elastoplastic
from granchain.contact.pair import PAIR_QUANTITIES, Pair, yield_overlap

DOCS = Path(__file__).parents[1] / "docs"
# Rounding: an equation and a law consist of about twenty operations each, with errors of 1e-16, and
# subtract overlaps and forces of similar size. The largest difference over 360 random contacts of
# every law was below 2e-14 of the force, or of the overlap if the source gives the overlap.
CLOSE = 1e-13
# Clearance of a cylinder in another, on each side of the limit between the fits of Pereira et al.
CLEARANCES = (1e-4, 6e-4, 2e-3)
CONTACTS, OVERLAPS = 2 * len(CLEARANCES), 9


@pytest.fixture
def equations(monkeypatch):
    """Return the package in docs/; sympy is slow to load."""
    monkeypatch.syspath_prepend(str(DOCS))
    import equations

    return equations


def random_pair(rng, clearance):
    """Return two bodies similar to those of the steel chain; body 1 is the larger one."""
    about = lambda middle: middle * math.exp(rng.uniform(-0.4, 0.4))  # noqa: E731
    radius_2 = about(2.38e-3)
    radius_1 = radius_2 + clearance * rng.uniform(0.8, 1.2)
    strength = about(9e8)
    return Pair(
        effective_radius=radius_1 * radius_2 / (radius_1 + radius_2),
        effective_modulus=about(1.06e11),
        effective_mass=about(2.25e-4),
        yield_stress=strength,
        poissons_ratio=rng.uniform(0.2, 0.4),
        hardness=strength * rng.uniform(2.5, 3.0),
        radius_1=radius_1,
        radius_2=radius_2,
        length=about(4.76e-3),
    )


def random_inputs(law, pair, rng, place):
    """Return inputs near the example inputs, as in the source.

    The damping is the published one, a contact may pull, there is no energy correction, and length
    and clearance are those of the pair.
    """
    inputs = example_inputs(law)
    special = {
        "restitution": rng.uniform(0.36, 0.97),
        "impact_speed": rng.uniform(0.5, 5.0),
        "contact": place,
        "length": None,
        "clearance": None,
        "separation": "tensile",
        "as_printed": True,
    }
    for name, value in vars(inputs).items():
        drawn = value * rng.uniform(0.9, 1.1) if isinstance(value, float) else value
        setattr(inputs, name, special.get(name, drawn))
    if law.name == "burgoyne-daraio":
        first = yield_overlap(pair, 1.6 * pair.yield_stress)
        inputs.c2 = -pair.effective_radius * first * rng.uniform(0.5, 2.0)
        inputs.d_p = first * rng.uniform(40.0, 70.0)
    return inputs


def known_values(package, equation, pair, inputs):
    """Return the values of the symbols of an equation that are inputs of the law or quantities of
    the pair."""
    contact = getattr(inputs, "contact", "internal")
    known = {
        package.notation.external: contact == "external",
        package.notation.internal: contact == "internal",
    }
    given = pair.items() | {
        name: value for name, value in vars(inputs).items() if value is not None
    }
    for symbol in package.symbols_of(equation):
        meaning = equation.meaning(symbol)
        if meaning.key in given and isinstance(given[meaning.key], float):
            known[symbol] = given[meaning.key]
            if equation.millimetres:
                known[symbol] *= {"mm": 1e3, "MPa": 1e-6}[meaning.unit]
    return known


@pytest.mark.parametrize("name", laws())
def test_a_law_computes_what_its_equation_says(name, equations):
    assert name in equations.equations(), (
        f'{name} has no equation: add it under "{name}" to EQUATIONS of a file in docs/equations, '
        "as its source prints it; the page of its family is made from it"
    )
    law, equation, rng = laws()[name], equations.equations()[name], random.Random(name)
    for number in range(CONTACTS):
        pair = random_pair(rng, CLEARANCES[number // 2])
        inputs = random_inputs(law, pair, rng, ("external", "internal")[number % 2])
        functions = law.model(inputs).functions
        c = tuple(map(float, law.coefficients_of(pair, inputs))) + (0.0,) * len(GUARD)
        contact = Contact(
            equations,
            equation,
            functions,
            c[: len(law.coefficients)],
            known_values(equations, equation, pair, inputs),
        )
        for residual in equation.implicit:
            contact.solves(residual, law, inputs)
        # from below first yield to beyond full plasticity, or over the overlaps of steel beads, and
        # on both sides of a jump of the force
        first, decades = (
            (0.5 * law.elastic_limit(c) or 1e-8, 2.3)
            if issubclass(law, Elastoplastic)
            else (1e-8, 3.6)
        )
        overlaps = [
            first * 10.0 ** (decades * (i + rng.random()) / OVERLAPS) for i in range(OVERLAPS)
        ]
        overlaps += [jump * side for jump in law.jumps(c) for side in (1.0 - 1e-6, 1.0 + 1e-6)]
        for d in overlaps:
            d = min(d, 0.999 * law.overlap_limit(c))
            if "residual_overlap" in (quantity.name for quantity in law.history):
                contact.with_dent(d, rng)
            else:
                h = functions.history_of(c)
                for place, quantity in enumerate(law.history):
                    for symbol in equations.symbols_of(equation):
                        if equation.meaning(symbol).key == quantity.name:
                            # a memory between fresh and relaxed
                            known = rng.random() * d
                            h = (*h[:place], known, *h[place + 1 :])
                            contact.known[symbol] = known
                contact.compare(d, rng.uniform(-3.0, 3.0), h)


class Contact:
    """An equation and a law with the same numbers."""

    def __init__(self, package, equation, functions, c, known):
        self.notation, self.equation, self.functions, self.c, self.known = (
            package.notation,
            equation,
            functions,
            c,
            known,
        )

    def says(self, wanted, **variables):
        """Return the result of the equation at these values of the variables."""
        values = {getattr(self.notation, name): value for name, value in variables.items()}
        if self.equation.millimetres:
            values[self.notation.d] *= 1e3
        return self.equation.value(wanted, self.known | values)

    def compare(self, d, rate, h):
        """Compare the force at an overlap and a rate, or the overlap at the force of the law."""
        force = self.functions.force(d, rate, self.c, h)
        if self.notation.d in self.equation.definitions:
            assert self.says(self.notation.d, F=force) == pytest.approx(d, rel=CLOSE)
            return
        # relative to the parts of the force, which may cancel: the elastic part, and the part of
        # the rate
        at_rest = self.functions.force(d, 0.0, self.c, h)
        size = abs(at_rest) + abs(force - at_rest)
        assert self.says(self.notation.F, d=d, rate=rate) == pytest.approx(force, abs=CLOSE * size)

    def with_dent(self, d_max, rng):
        """Compare the loading force up to a largest overlap, and the unloading force from there."""
        c, functions, notation = self.c, self.functions, self.notation
        h = functions.history_of(c)
        if functions.needs_update(d_max, 0.0, c, h):
            h = functions.update((d_max, 0.0, 0.0, 1.0), c, h)
        force_max = functions.force(d_max, 0.0, c, h)
        if notation.d in self.equation.definitions:
            assert self.says(notation.d, F=force_max) == pytest.approx(d_max, rel=CLOSE)
        else:
            assert self.says(notation.F, d=d_max) == pytest.approx(force_max, rel=CLOSE)
        assert self.says(notation.d_r, d_max=d_max, F_max=force_max) == pytest.approx(
            h[1], abs=CLOSE * d_max
        )
        d = h[1] + rng.uniform(0.1, 1.0) * (d_max - h[1])
        unloading = self.says(notation.F_u, d=d, d_max=d_max, F_max=force_max)
        assert unloading == pytest.approx(
            functions.force(d, 0.0, c, h), abs=CLOSE * force_max * d_max / (d_max - h[1])
        )

    def solves(self, residual, law, inputs):
        """Check that the damping factor of the law is the root.

        Newton's step from it is a rounding error, with 40 digits.
        """
        import mpmath

        with mpmath.workdps(40):
            found = law.factor(inputs)
            exact = {symbol: mpmath.mpf(value) for symbol, value in self.known.items()} | {
                self.notation.a: mpmath.mpf(found)
            }
            at, slope = (
                self.notation.evaluated(one, exact, "mpmath")
                for one in (residual, residual.diff(self.notation.a))
            )
        assert abs(at / slope) < 1e-15 * found
        self.known[self.notation.a] = found


@pytest.mark.guard
def test_every_symbol_is_an_input_a_quantity_of_the_pair_or_defined(equations):
    notation = equations.notation
    variables = {notation.d, notation.rate, notation.F, notation.d_max, notation.F_max, notation.a}
    for name, equation in equations.equations().items():
        law = laws()[name]
        keys = {quantity.name for quantity in (*law.inputs, *law.history)} | set(PAIR_QUANTITIES)
        for symbol in equations.symbols_of(equation):
            meaning = equation.meaning(symbol)
            text, unit, given = notation.quantity_of(law, meaning)
            known = symbol in variables or symbol in equation.definitions
            assert text and unit and (known or (meaning.key in keys and given)), (name, symbol)
