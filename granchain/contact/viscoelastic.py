"""Viscoelastic contacts with memory: Hertz's spring, of which a fraction relaxes.

The force is F = K (d^1.5 - g c^1.5). The fraction g of the stiffness is unstressed at the overlap c
(creep), and c^1.5 follows d^1.5 with the relaxation time tau. The contact stores the energy U = K
(2/5 d^2.5 - g d c^1.5 + 3/5 g c^2.5), whose derivative with respect to d is the force. It
dissipates the power K g (d - c) (d^1.5 - c^1.5)/tau, which is never negative, so that the law
creates no energy. With several relaxation times, each has its g and c, and the terms are summed.

If the bodies separate faster than their surfaces recover, the force is zero before the overlap is.
The surfaces are then free: the overlap at which F = 0 takes the place of d in these formulas. With
one relaxation time, they recover with the time tau/(1 - g).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from granchain.contact import elementary
from granchain.contact.law import OPEN, STIFFNESS, ContactLaw, Quantity, Source, positive
from granchain.contact.model import Model
from granchain.contact.pair import hertz_contact_radius, stiffness_of
from granchain.errors import LawError

# Maximum number of relaxation times: one for each decade of the times that an impact tests.
MOST_TERMS = 3
# Step in relaxation times below which the mean decay is a series, whose first omitted term is below
# 1e-14; the difference 1 - exp(-a) would lose digits.
SHORT = 1e-3


def at_least(x: float, lowest: float) -> float:
    """Return the larger of two numbers."""
    return x if x > lowest else lowest


def hertzian(overlap: float) -> float:
    """Return d^1.5; 0 if the contact is open."""
    d = overlap if overlap > OPEN else 0.0
    return d * math.sqrt(d)


def two_thirds(x: float) -> float:
    """Return x^(2/3), the overlap of a value of d^1.5."""
    return elementary.power(x, 2.0 / 3.0)


def decays(a: float) -> tuple[float, float]:
    """Return exp(-a), and the mean of exp(-s) for s from 0 to a."""
    decay = elementary.exp(-a)
    mean = (1.0 - decay) / a if a > SHORT else 1.0 - a * (0.5 - a * (1.0 / 6.0 - a / 24.0))
    return decay, mean


@cache
def terms_of(count: int) -> tuple[Callable, Callable, Callable, Callable]:
    """Return sums over the first terms, with the fraction g and the creep c of each.

    They are: (c, h) -> sum of g c^1.5; (c, h) -> sum of 3/5 g c^2.5; (dt, first, c, h) -> constant
    and slope of the sum of g c^1.5 after a step, as a function of d^1.5, which changes linearly
    from `first`; and (dt, first, last, c, h) -> creep after the step.
    """
    if count == 0:
        return _no_sum, _no_sum, _no_response, _no_creep
    relaxed_before, stored_before, response_before, creep_before = terms_of(count - 1)
    fraction, time, term = 2 * count - 1, 2 * count, count - 1

    def relaxed(c: tuple, h: tuple) -> float:
        return relaxed_before(c, h) + c[fraction] * hertzian(h[term])

    def stored(c: tuple, h: tuple) -> float:
        return stored_before(c, h) + 0.6 * c[fraction] * h[term] * hertzian(h[term])

    def response(dt: float, first: float, c: tuple, h: tuple) -> tuple[float, float]:
        # d^1.5 - c^1.5 decays, and grows with the mean decay times the change of d^1.5.
        decay, mean = decays(dt / c[time])
        constant, slope = response_before(dt, first, c, h)
        constant += c[fraction] * (decay * hertzian(h[term]) + (mean - decay) * first)
        return constant, slope + c[fraction] * (1.0 - mean)

    def creep(dt: float, first: float, last: float, c: tuple, h: tuple) -> tuple:
        decay, mean = decays(dt / c[time])
        after = decay * hertzian(h[term]) + (mean - decay) * first + (1.0 - mean) * last
        return creep_before(dt, first, last, c, h) + (two_thirds(after),)

    return relaxed, stored, response, creep


def _no_sum(c: tuple, h: tuple) -> float:
    return 0.0


def _no_response(dt: float, first: float, c: tuple, h: tuple) -> tuple[float, float]:
    return 0.0, 0.0


def _no_creep(dt: float, first: float, last: float, c: tuple, h: tuple) -> tuple:
    return ()


@cache
def functions_of(count: int) -> dict[str, Callable]:
    """Return the functions of a contact with so many relaxation times, by name."""
    relaxed, stored, response, creep = terms_of(count)
    fresh = (0.0,) * count

    def history_of(c: tuple) -> tuple:
        return fresh

    def force(overlap: float, rate: float, c: tuple, h: tuple) -> float:
        return c[0] * at_least(hertzian(overlap) - relaxed(c, h), 0.0)

    def evolve(dt: float, before: float, overlap: float, c: tuple, h: tuple) -> tuple[tuple, float]:
        first = at_least(hertzian(before), relaxed(c, h))
        constant, slope = response(dt, first, c, h)
        # Free surfaces end the step where the force is zero.
        last = at_least(hertzian(overlap), constant / (1.0 - slope))
        after = creep(dt, first, last, c, h)
        # Half of the relaxation is before the change of the overlap, and half after it.
        middle = 0.5 * (two_thirds(first) + two_thirds(last))
        taken = middle * (relaxed(c, after) - relaxed(c, h))
        return after, c[0] * (taken - (stored(c, after) - stored(c, h)))

    def energy(overlap: float, c: tuple, h: tuple) -> float:
        free = relaxed(c, h)
        x = at_least(hertzian(overlap), free)
        return c[0] * ((0.4 * x - free) * two_thirds(x) + stored(c, h))

    functions = history_of, force, evolve, energy
    return {function.__name__: function for function in functions}


def numbered(name: str, term: int) -> str:
    """Return the name of a quantity of a term; the first has no number."""
    return name if term == 1 else f"{name}_{term}"


def of_terms(*quantities: Quantity, **more: Any) -> tuple[Quantity, ...]:
    """Return quantities for each term; those after the first term have `more`."""
    return tuple(
        replace(quantity, name=numbered(quantity.name, term), **(more if term > 1 else {}))
        for term in range(1, MOST_TERMS + 1)
        for quantity in quantities
    )


def given_terms(inputs: SimpleNamespace) -> list[Any]:
    """Return fraction and time of each relaxation.

    Raises
    ------
    LawError
        If a number before the last one is missing.
    """
    names = [
        numbered(name, term)
        for term in range(1, MOST_TERMS + 1)
        for name in ("relaxing_fraction", "relaxation_time")
    ]
    values = [getattr(inputs, name) for name in names]
    numbers = [value for value in values if value is not None]
    for name, value in zip(names[: len(numbers) + len(numbers) % 2], values, strict=False):
        if value is None:
            raise LawError(
                f"{name}: missing. Each relaxation needs a fraction and a time, and a number only "
                f"if there are others before it. Give {name}."
            )
    return numbers


class LeeRadok(ContactLaw):
    """Lee and Radok, with up to three relaxation times: F = K (d^1.5 - g c^1.5), and c^1.5 follows
    d^1.5 with the time tau.

    This is the force of a sphere on a viscoelastic half-space whose stiffness relaxes from K to
    (1 - g) K: the integral of K (1 - g + g exp(-(t - s)/tau)) d(d^1.5) over its history. The theory
    is valid while the contact area grows. For a shrinking area, Ting 1966 gives another integral;
    this law continues with the same one, without the tension between the surfaces that it implies:
    the force is never negative. When it becomes zero, an indentation remains, and recovers. A
    contact that closes before that meets it, and the energy that the surfaces still store counts as
    recoverable until they have dissipated it. For g from 0.2 to 0.95 and tau from 0.03 to 10
    durations of the elastic impact, the restitution is lower than Ting's by up to 0.033, and the
    force ends earlier by up to 21 %. A static load finds the contact relaxed. Dispersion and modes
    use the stiffness K of fast changes. Both bodies must have the same relaxation times and a
    constant Poisson's ratio.
    """

    name = "lee-radok"
    source = Source(
        "Lee & Radok 1960; integral as in github.com/kegouro/spmkit",
        "lee_radok_force and forward_generalized_maxwell_modulus of force_viscoelastic_models.py",
    )
    inputs = (
        STIFFNESS,
        *of_terms(
            Quantity(
                "relaxing_fraction",
                "1",
                "fraction of the stiffness that relaxes",
                above=0.0,
                below=1,
            ),
            positive("relaxation_time", "s", "time with which it relaxes"),
            default=None,
        ),
    )
    coefficients = (
        Quantity("stiffness", "N/m^1.5", "K = (4/3) E sqrt(R), before relaxation"),
        *of_terms(Quantity("relaxing_fraction", "1", "g"), Quantity("relaxation_time", "s", "tau")),
    )
    history = of_terms(
        Quantity("creep", "m", "overlap at which the relaxing fraction is unstressed", output=True)
    )
    validity = "overlap much smaller than the radius; linear viscoelastic material"
    status = "verified against an independent integration; not validated against experiment"

    @classmethod
    def model(cls, inputs: SimpleNamespace) -> Model:
        """Return the model with the relaxation times that are given."""
        count, shared = len(given_terms(inputs)) // 2, super().model(inputs)
        return replace(
            shared,
            functions=shared.functions._replace(**functions_of(count)),
            coefficients=cls.coefficients[: 1 + 2 * count],
            history=cls.history[:count],
        )

    @staticmethod
    def coefficients_of(pair: Any, inputs: SimpleNamespace) -> tuple[Any, ...]:
        terms = given_terms(inputs)
        total = np.max(sum(terms[::2]))
        if not total < 1.0:
            raise LawError(
                f"relaxing_fraction: the sum of all is {total:.6g}. It must be below 1, because a "
                "contact that relaxes completely carries no static force. Reduce one of them."
            )
        return stiffness_of(pair, inputs), *terms

    history_of, force, evolve, energy = map(staticmethod, functions_of(1).values())

    @staticmethod
    def contact_radius(overlap: float, radius: float, c: tuple, h: tuple) -> float:
        return hertz_contact_radius(overlap, radius)
