"""Elastoplastic laws: a law declares its loading curve, and this module derives the rest.

The derived parts are the history, the force, its update, the energy, and the energy correction.
`at_rate` increases a yield stress with the strain rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from granchain.contact import elementary
from granchain.contact.law import IMPACT_SPEED, OPEN, ContactLaw, Quantity, positive
from granchain.contact.model import Guarded, Model
from granchain.contact.pair import Pair
from granchain.errors import LawError

# Relative distance from a jump at which the force on each side is taken: larger than the rounding
# of the overlap, and so small that the force changes only by the jump, which is at least a few
# thousandths of it.
ASIDE = 1e-9

# Maximum number of windows of the energy correction. The published laws need at most two
# (Kogut-Etsion: above the elastic limit and above its second jump).
GUARD_WINDOWS = 4

GUARD = tuple(
    quantity
    for j in range(1, GUARD_WINDOWS + 1)
    for quantity in (
        Quantity(
            f"guard_{j}_start", "m", "largest overlap at which the energy correction begins to act"
        ),
        Quantity(f"guard_{j}_end", "m", "largest overlap at which the energy correction ends"),
        Quantity(f"guard_{j}_loss", "J", "constant loss between start and end"),
    )
)

# Inputs of laws whose yield stress increases with the strain rate. The reference rate is that of
# Burgoyne & Daraio 2014, doi:10.1103/PhysRevE.89.032203, in the function f_contact.m of their data.
AT_RATE = (
    Quantity(
        "rate_sensitivity",
        "1",
        "C of Johnson and Cook: the yield stress is multiplied by 1 + C ln(strain rate/reference "
        "rate), at least by 1",
        low=0.0,
        default=0.0,
    ),
    positive(
        "reference_rate", "1/s", "strain rate of the yield stress of the material", default=1e-3
    ),
    replace(
        IMPACT_SPEED,
        meaning="approach speed in the strain rate, with rate_sensitivity: the speed of the "
        "striker, or a number",
        choices=("striker",),
    ),
)

ELASTOPLASTIC_HISTORY = (
    Quantity(
        "elastic_limit",
        "m",
        "current elastic limit: overlap up to which the contact is elastic",
        output=True,
    ),
    Quantity("residual_overlap", "m", "overlap at which an unloading contact opens", output=True),
    Quantity("unloading_stiffness", "N/m^n", "factor of the unloading curve", output=True),
    Quantity("unloading_exponent", "1", "exponent of the unloading curve"),
)


def at_rate(pair: Pair, inputs: SimpleNamespace) -> Pair:
    """Return the pair with yield stress and hardness at the strain rate of the impact.

    Johnson & Cook 1985, doi:10.1016/0013-7944(85)90052-9: the factor is 1 + C ln(rate/reference).
    Burgoyne & Daraio 2014 use the strain rate v/(R1 + R2), which is v/(4 R) for equal spheres, and
    a factor of at least 1. The factor of a contact is constant.
    """
    sensitivity = getattr(inputs, "rate_sensitivity", 0.0)
    if sensitivity == 0.0:
        return pair
    speed = inputs.impact_speed
    if isinstance(speed, str) or not speed > 0.0:
        raise LawError(
            "impact_speed: missing. With rate_sensitivity, the law needs the approach speed [m/s], "
            "a number above 0, because nothing strikes the chain. Give impact_speed."
        )
    ratio = speed / (4.0 * pair.effective_radius * inputs.reference_rate)
    logs = np.maximum(elementary.over(elementary.log, ratio), 0.0)
    factor = 1.0 + sensitivity * logs
    rising = {"yield_stress", "hardness"} & set(pair.items())
    return Pair(**{**pair.items(), **{name: factor * pair.items()[name] for name in rising}})


class Elastoplastic(ContactLaw):
    """Base of laws whose loading leaves a residual indentation.

    A contact has one loading curve, and one unloading curve for each largest overlap. A law
    declares `loading(d, c)`, `loading_work(d, c)`, and `residual(d_max, force_max, c)`. It also
    declares:

    - `elastic_limit(c)` and `elastic_stiffness(c)`, if its first and third coefficients are not the
      overlap of first yield and Hertz's stiffness;
    - `exponent(d_max, c)`, if the exponent of unloading is not 3/2;
    - `jumps(c)`, if the loading curve jumps;
    - `plastic_overlap(c)`, if the law has a fully plastic range;
    - `loss_rises_from(c)`, if its formulas show that the loss increases from an overlap on.

    Unloading and reloading follow F = K (d - d_r)^n through (d_max, F_max). The energy correction
    prevents the loss D(d_max) = U - W from being negative or decreasing, so that no sequence of
    partial cycles creates energy. `as_printed = true` switches the correction off.
    """

    varying_exponent: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if "name" in cls.__dict__:
            cls.coefficients += GUARD
            cls.history = (
                ELASTOPLASTIC_HISTORY if cls.varying_exponent else ELASTOPLASTIC_HISTORY[:3]
            )
            cls._set_functions()
        super().__init_subclass__(**kwargs)

    @staticmethod
    def elastic_limit(c: tuple) -> float:
        """Return the overlap [m] up to which a fresh contact is elastic.

        By default, this is the first coefficient.
        """
        return c[0]

    @staticmethod
    def elastic_stiffness(c: tuple) -> float:
        """Return the factor [N/m^1.5] of the elastic force of a fresh contact.

        By default, this is the third coefficient.
        """
        return c[2]

    @staticmethod
    def loading(d: float, c: tuple) -> float:
        """Return the force [N] on the virgin loading curve."""
        raise NotImplementedError

    @staticmethod
    def loading_work(d: float, c: tuple) -> float:
        """Return the integral of the loading curve from 0 [J]."""
        raise NotImplementedError

    @staticmethod
    def residual(d_max: float, force_max: float, c: tuple) -> float:
        """Return the overlap [m] at which a contact unloaded from (d_max, force_max) opens.

        This is the formula of the law, without the energy correction.
        """
        raise NotImplementedError

    @staticmethod
    def exponent(d_max: float, c: tuple) -> float:
        """Return the exponent of the unloading curve."""
        return 1.5

    @staticmethod
    def loss_rises_from(c: tuple) -> float:
        """Return an overlap [m] from which the loss of the published law certainly increases.

        The search for windows of the energy correction ends there.
        """
        return math.inf

    @classmethod
    def model(cls, inputs: SimpleNamespace) -> Model:
        """Return the model with or without the energy correction and forgotten indentation."""
        # Derived again, because a notebook may have replaced a function of the class.
        cls._set_functions()
        guarded = not getattr(inputs, "as_printed", False)
        forgets = getattr(inputs, "dents", "keep") == "forget"
        derived, loss = cls._derived(guarded, forgets)
        return replace(
            super().model(inputs),
            functions=cls.functions()._replace(**derived),
            forgets=forgets,
            windows=len(GUARD),
            guarded=Guarded(loss, cls.loading_work, cls.elastic_limit, cls.loss_rises_from)
            if guarded
            else None,
        )

    @classmethod
    def _set_functions(cls) -> None:
        """Set the functions that follow from the loading curve.

        They have the energy correction and permanent indentation.
        """
        for name, function in cls._derived(guarded=True, forgets=False)[0].items():
            setattr(cls, name, staticmethod(function))

    @classmethod
    def _derived(cls, guarded: bool, forgets: bool) -> tuple[dict[str, Callable], Callable]:
        """Return functions by name, and the loss of the law's unloading curve.

        Laws with the same declared functions share the results, and so one compiled loop.
        """
        own = len(cls.coefficients) - len(GUARD)
        return _derived(
            (
                cls.elastic_limit,
                cls.elastic_stiffness,
                cls.loading,
                cls.loading_work,
                cls.residual,
                cls.exponent,
            ),
            cls.varying_exponent,
            own if guarded else -1,
            forgets,
        )


def _opening(
    residual: Callable, exponent: Callable, loading_work: Callable, first: int
) -> Callable:
    """Return the function (largest overlap, force, c) -> overlap at which the contact opens.

    It includes the energy correction.
    """
    if first < 0:
        return residual

    def opens_at(d: float, force: float, c: tuple) -> float:
        (
            start_1,
            end_1,
            loss_1,
            start_2,
            end_2,
            loss_2,
            start_3,
            end_3,
            loss_3,
            start_4,
            end_4,
            loss_4,
        ) = c[first:]
        for start, end, kept in (
            (start_1, end_1, loss_1),
            (start_2, end_2, loss_2),
            (start_3, end_3, loss_3),
            (start_4, end_4, loss_4),
        ):
            if start < d and d < end:
                # Energy correction: d_g = d_max - (n + 1)(U - D_g)/F_max.
                opens = d - (exponent(d, c) + 1.0) * (loading_work(d, c) - kept) / force
                return opens if opens > 0.0 else 0.0
        natural = residual(d, force, c)
        return 0.0 if natural < 0.0 else natural

    return opens_at


def _unloading(varying: bool) -> tuple[Callable, Callable]:
    """Return force and energy of the power law of unloading and reloading."""
    if varying:

        def force(overlap: float, rate: float, c: tuple, h: tuple) -> float:
            x = overlap - h[1]
            x = x if x > OPEN else 0.0
            return h[2] * elementary.power(x, h[3])

        def energy(overlap: float, c: tuple, h: tuple) -> float:
            x = overlap - h[1]
            x = x if x > OPEN else 0.0
            return h[2] * elementary.power(x, h[3] + 1.0) / (h[3] + 1.0)

    else:

        def force(overlap: float, rate: float, c: tuple, h: tuple) -> float:
            x = overlap - h[1]
            x = x if x > OPEN else 0.0
            return h[2] * (x * math.sqrt(x))

        def energy(overlap: float, c: tuple, h: tuple) -> float:
            x = overlap - h[1]
            x = x if x > OPEN else 0.0
            return 0.4 * h[2] * (x * x * math.sqrt(x))

    return force, energy


def _renewing(renewed: Callable, history_of: Callable, forgets: bool) -> tuple[Callable, Callable]:
    """Return functions that detect and store a new largest overlap, or an opening."""
    if forgets:

        def needs_update(overlap: float, rate: float, c: tuple, h: tuple) -> bool:
            return (overlap > h[0]) | ((overlap <= OPEN) & (h[1] != 0.0))

        def update(event: tuple, c: tuple, h: tuple) -> tuple:
            return renewed(event[0], c) if event[0] > h[0] else history_of(c)

    else:

        def needs_update(overlap: float, rate: float, c: tuple, h: tuple) -> bool:
            return overlap > h[0]

        def update(event: tuple, c: tuple, h: tuple) -> tuple:
            return renewed(event[0], c)

    return needs_update, update


@cache
def _derived(
    declared: tuple[Callable, ...], varying: bool, first: int, forgets: bool
) -> tuple[dict[str, Callable], Callable]:
    """Derive history, force, update, and energy from a loading curve.

    The functions are plain closures, so that the engine can compile and hash them. `first` is the
    index of the windows of the energy correction among the coefficients, or -1 for the law as
    published, without it.
    """
    elastic_limit, elastic_stiffness, loading, loading_work, residual, exponent = declared

    def jump(overlap: float, rate: float, c: tuple, h: tuple) -> float:
        # Only the loading curve jumps; a contact that was loaded beyond the jump is elastic there.
        return (
            loading(overlap * (1.0 + ASIDE), c) - loading(overlap * (1.0 - ASIDE), c)
            if h[0] <= overlap
            else 0.0
        )

    def fresh_limit(c: tuple) -> float:
        # A law may yield from the first contact; an open contact needs no update.
        limit = elastic_limit(c)
        return limit if limit > OPEN else OPEN

    def loss(s: float, c: tuple) -> float:
        force = loading(s, c)
        opens = residual(s, force, c)
        opens = opens if opens > 0.0 else 0.0
        return loading_work(s, c) - force * (s - opens) / (exponent(s, c) + 1.0)

    opens_at = _opening(residual, exponent, loading_work, first)

    def renewed(d: float, c: tuple) -> tuple:
        force = loading(d, c)
        opens = opens_at(d, force, c)
        x = d - opens
        if varying:
            n = exponent(d, c)
            return (d, opens, force / elementary.power(x, n), n)
        return (d, opens, force / (x * math.sqrt(x)))

    if varying:

        def history_of(c: tuple) -> tuple:
            return (fresh_limit(c), 0.0, elastic_stiffness(c), 1.5)

    else:

        def history_of(c: tuple) -> tuple:
            return (fresh_limit(c), 0.0, elastic_stiffness(c))

    force, energy = _unloading(varying)

    def plastic(c: tuple, h: tuple) -> float:
        d = h[0]
        return loading_work(d, c) - energy(d, c, h) if d > elastic_limit(c) else 0.0

    needs_update, update = _renewing(renewed, history_of, forgets)
    functions = (history_of, force, needs_update, update, energy, plastic, jump)
    return {function.__name__: function for function in functions}, loss
