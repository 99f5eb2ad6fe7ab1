"""Measured properties of a contact law: restitution, energy, jumps, order in time, and units."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from granchain.analysis import observed_order
from granchain.certificates.contact import (
    IMPACT_SPEEDS,
    Contact,
    Creation,
    cycle_losses,
    cycles,
    jumps,
    onset,
)
from granchain.certificates.examples import conversion, example_inputs
from granchain.certificates.faults import (
    creates,
    faults_of_law,
    faults_of_measures,
    problems_of_units,
)
from granchain.certificates.words import findings, toml
from granchain.contact import law_named
from granchain.contact.guard import Elastoplastic
from granchain.contact.law import ContactLaw
from granchain.contact.pair import PAIR_QUANTITIES, Pair
from granchain.errors import GranchainError
from granchain.jit.options import fingerprint
from granchain.markup import card, folded, table
from granchain.two_body import (
    NeverOpens,
    collide,
    contact_of_two,
    example_pair,
    impact,
    law_inputs,
    two_bodies,
)

# Nominal restitutions of a verification report.
ASKED = (0.1, 0.3, 0.5, 0.7, 0.9)

# Refinement of the automatic step, which gives restitutions to 1e-6.
REFINED = 4.0
# Refinements of the automatic step for the fit of the order, and that of the reference. Several
# speeds [m/s] are used, because it is random where a step falls relative to a kink or jump. The
# speeds are low, because jumps of the published laws are near first yield and have more weight
# there.
REFINEMENTS, REFERENCE = (1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0), 40.0
ORDER_SPEEDS = tuple(float(speed) for speed in np.geomspace(0.15, 0.3, 8))


@dataclass(frozen=True)
class Certificate:
    """Verification report of a contact law: its measured properties.

    Parameters
    ----------
    law : type of ContactLaw
        The law.
    inputs : dict
        Example inputs of the measurement.
    delivered : list of (asked, clamped, tensile)
        Nominal restitution, and the effective ones with both endings of a contact: 0 if the bodies
        stick, None if the ending is no choice or the law rejects the value. Empty if the law takes
        no restitution.
    speeds : list of (speed, restitution)
        Restitution at each impact speed [m/s].
    created : float
        Largest energy that a closed cycle creates, relative to the largest work supplied. If
        admissible, it is at most its error and rounding.
    created_as_printed : float or None
        The same without the energy correction.
    falls : float
        Largest fall of the loss with increasing maximum overlap, relative to the work. If
        admissible, it is at most rounding.
    jumps : list of (overlap, relative jump)
        Overlaps [m] at which the loading force jumps.
    onset : float
        Force to which a contact jumps at its onset [N], if the damping does not begin at zero. The
        speed is the second of the impact speeds.
    order : float or None
        Observed order in time of an impact.
    dimension : bool
        True if force and coefficients scale with metre, kilogram, and second as their units.
    problems : list of str
        Messages about problems of the law.
    created_error : float
        Largest error of the work of a cycle, relative to the largest work supplied.
    """

    law: type[ContactLaw]
    inputs: dict[str, Any]
    delivered: list[tuple[float, float | None, float | None]] = field(default_factory=list)
    speeds: list[tuple[float, float]] = field(default_factory=list)
    created: float = 0.0
    created_as_printed: float | None = None
    falls: float = 0.0
    jumps: list[tuple[float, float]] = field(default_factory=list)
    onset: float = 0.0
    order: float | None = None
    dimension: bool = True
    problems: list[str] = field(default_factory=list)
    created_error: float = 0.0

    @property
    def admissible(self) -> bool:
        """True if no cycle creates energy."""
        return not creates(self.law, Creation(self.created, self.created_error), self.falls)

    def _repr_html_(self) -> str:
        """Return HTML for a notebook: source, inputs, results, and problems."""
        stated = [(name, toml(value)) for name, value in self.inputs.items()]
        facts = [
            ("source", str(self.law.source)),
            *findings(self),
            *(("problem", problem) for problem in self.problems),
        ]
        return card(
            self.law.name,
            table((), facts, styled=True),
            folded("inputs", table(("input", "value"), stated, styled=True)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the measured properties as plain values, for JSON."""
        return {
            "name": self.law.name,
            "measured_with": self.inputs,
            "delivered": [{"asked": a, "clamped": c, "tensile": t} for a, c, t in self.delivered],
            "speeds": [{"speed": v, "restitution": e} for v, e in self.speeds],
            "admissible": self.admissible,
            "energy_created": self.created,
            "energy_created_error": self.created_error,
            "energy_created_as_printed": self.created_as_printed,
            "loss_falls": self.falls,
            "jumps": [{"overlap": d, "relative": j} for d, j in self.jumps],
            "onset_force": self.onset,
            "order": self.order,
            "order_stated": self.law.order,
            "dimension": self.dimension,
            "problems": self.problems,
        }


def certificate(law: str | type[ContactLaw], **inputs: Any) -> Certificate:
    """Measure the properties of a contact law.

    Parameters
    ----------
    law : str or type of ContactLaw
        Name or class of the contact law.
    **inputs
        Inputs of the law. Default: its example inputs.

    Returns
    -------
    Certificate
        Verification report: energy, order of convergence, jumps, and restitution of the law.

    Raises
    ------
    CaseError
        If an input is unknown or a value is out of range.
    LawError
        If the law is unknown, has no coefficients for its inputs, or cannot be run.

    Examples
    --------
    >>> import granchain as gc
    >>> gc.certificate("hertz").problems
    []
    """
    law = law_named(law, "certificate")
    fingerprint(*law.functions())  # Rejects here what a run would reject.
    values = example_inputs(law, **inputs)
    contact = Contact(law, values)
    problems = faults_of_law(contact)
    if any("not finite" in problem for problem in problems):
        return Certificate(law, vars(values), problems=problems)
    created, falls = cycles(contact), 0.0
    printed = None
    if issubclass(law, Elastoplastic):
        unguarded = Contact(law, SimpleNamespace(**{**vars(values), "as_printed": True}))
        (by_losses, falls), (printed, _) = cycle_losses(contact), cycle_losses(unguarded)
        created, printed = (
            created._replace(energy=max(created.energy, by_losses)),
            max(cycles(unguarded).certain, printed),
        )
    seen = measured_order(law, values)
    scales = not problems_of_units(law) and dimension(law, values)
    problems += faults_of_measures(law, created, falls, seen, scales)
    return Certificate(
        law=law,
        inputs=vars(values),
        delivered=delivered(law, values),
        speeds=at_speeds(law, values),
        created=created.energy,
        created_as_printed=printed,
        falls=falls,
        jumps=jumps(contact),
        onset=onset(contact),
        order=seen,
        dimension=scales,
        problems=problems,
        created_error=created.error,
    )


def attempt(call: Callable[[], Any]) -> Any:
    """Return the result of a call, or None if the law rejects the input."""
    try:
        return call()
    except GranchainError:
        return None


def restitution_of(
    law: type[ContactLaw], speed: float, values: SimpleNamespace, **changes: Any
) -> float | None:
    """Return the restitution of an impact of the example pair.

    It is 0 if the bodies stick, and None if the law rejects the input.
    """
    given = {**vars(values), **changes}
    try:
        found = impact(law=law, pair=example_pair(), speed=speed, refine=REFINED, **given)
    except NeverOpens:
        return 0.0
    except GranchainError:
        return None
    return found.restitution


def delivered(
    law: type[ContactLaw], values: SimpleNamespace
) -> list[tuple[float, float | None, float | None]]:
    """Return effective versus nominal restitutions, with both ways of ending a contact."""
    names = {quantity.name for quantity in law.inputs}
    if "restitution" not in names:
        return []
    ways = [{"separation": way} for way in ("clamped", "tensile")]
    if "separation" not in names:
        ways = [{}]
    rows = []
    for asked in ASKED:
        found = [
            restitution_of(law, IMPACT_SPEEDS[1], values, restitution=asked, **way) for way in ways
        ]
        rows.append((asked, found[0], found[-1] if len(ways) > 1 else None))
    return rows


def at_speeds(law: type[ContactLaw], values: SimpleNamespace) -> list[tuple[float, float]]:
    """Return the restitution at several impact speeds at which the bodies separate.

    A damping term that uses the impact speed is given the speed of each impact.
    """
    own = {"impact_speed": "striker"} if hasattr(values, "impact_speed") else {}
    found = [(speed, restitution_of(law, speed, values, **own)) for speed in IMPACT_SPEEDS]
    return [(speed, restitution) for speed, restitution in found if restitution]


def measured_order(law: type[ContactLaw], values: SimpleNamespace) -> float | None:
    """Return the observed order in time of impacts, compared with a fine step.

    The errors are those of largest overlap, largest force, and restitution.
    """
    bodies = [two_bodies(example_pair(), speed) for speed in ORDER_SPEEDS]
    contacts = contact_of_two(
        law, bodies[0], example_pair(), law_inputs(law, vars(values), IMPACT_SPEEDS[1])
    )

    def numbers(refine: float) -> np.ndarray:
        found = [
            collide(contacts, two, speed, refine)
            for two, speed in zip(bodies, ORDER_SPEEDS, strict=True)
        ]
        return np.array([(one.max_overlap, one.max_force, one.restitution) for one in found])

    reference = attempt(lambda: numbers(REFERENCE))
    if reference is None:
        return None
    errors = [
        float(np.sqrt(np.mean((numbers(refine) / reference - 1.0) ** 2))) for refine in REFINEMENTS
    ]
    return observed_order([1.0 / refine for refine in REFINEMENTS], errors)


def dimension(law: type[ContactLaw], values: SimpleNamespace) -> bool:
    """Check if force and coefficients scale with their units.

    Metre, kilogram, and second change by random factors.
    """
    random = np.random.default_rng(1960)
    metre, kilogram, second = 10.0 ** random.uniform(-1.0, 1.0, size=3)
    pair, units = example_pair(), {quantity.name: quantity.unit for quantity in law.inputs}
    scaled_pair = Pair(
        **{
            name: value * conversion(PAIR_QUANTITIES[name], metre, kilogram, second)
            for name, value in pair.items().items()
        }
    )
    scaled_values = {
        name: value * conversion(units[name], metre, kilogram, second)
        if isinstance(value, (int, float)) and not isinstance(value, bool)
        else value
        for name, value in vars(values).items()
    }
    contact, scaled = (
        Contact(law, values, pair),
        attempt(lambda: Contact(law, SimpleNamespace(**scaled_values), scaled_pair)),
    )
    if scaled is None:
        return False
    newton = conversion("N", metre, kilogram, second)
    for x in (0.01, 0.1, 0.5):
        d, rate = x * contact.scale, IMPACT_SPEEDS[1]
        h, g = contact.load(d, contact.fresh()), scaled.load(d * metre, scaled.fresh())
        force = contact.force(d, h, rate) * newton
        if not abs(scaled.force(d * metre, g, rate * metre / second) - force) <= 1e-9 * abs(force):
            return False
    for quantity, a, b in zip(contact.model.coefficients, contact.c, scaled.c, strict=True):
        expected = a * conversion(quantity.unit, metre, kilogram, second)
        # The windows of the energy correction are located by a scan, to its resolution.
        tolerance = 1e-5 if quantity.name.startswith("guard") else 1e-9
        if math.isfinite(a) and abs(b - expected) > tolerance * abs(expected) + (
            1e-20 * newton * metre if quantity.unit == "J" else 0.0
        ):
            return False
    return True
