"""What is wrong with a law."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

from granchain.certificates.contact import IMPACT_SPEEDS, QUADRATURE, Contact, Creation
from granchain.certificates.examples import factors_of
from granchain.contact.law import OPEN, ContactLaw
from granchain.errors import LawError

# Orders that are seen where a law states two, and where it states one for a force that jumps.
SEEN_FAULT = {2: (1.7, 2.3), 1: (0.5, 1.9)}

# Rates [m/s] at which forces are looked at: at rest, in approach and in recovery.
RATES = (0.0, IMPACT_SPEEDS[1], -IMPACT_SPEEDS[1])

# Energy that a cycle may give beyond what it took, relative to the largest work put in: rounding of
# the cycles and of the closed forms.
CREATION = 1e-6


def creates(law: type[ContactLaw], created: Creation, falls: float) -> bool:
    """Whether a law creates energy: measured beyond the error, or its loss falls.

    Without history the force at rest is a function of the overlap alone, and its work on a closed
    cycle is zero whatever is measured.
    """
    return bool(law.history) and (created.certain > CREATION or falls > CREATION)


def faults_of_measures(
    law: type[ContactLaw], created: Creation, falls: float, seen: float | None, scales: bool
) -> list[str]:
    """Sentences on energy, order and dimension that are not what the law must satisfy or states."""
    problems = []
    if creates(law, created, falls):
        found = (
            f"a closed cycle of overlap returns up to {100.0 * created.energy:.3g} % more energy "
            f"than it took (uncertainty {100.0 * max(created.error, QUADRATURE):.2g} %)"
            if created.certain > CREATION
            else "its loss decreases with increasing maximum overlap, by up to "
            f"{100.0 * falls:.3g} % of the work"
        )
        problems.append(
            f"{law.name} creates energy: {found}. A law must not create energy. Derive it from "
            "Elastoplastic, whose energy correction prevents this, or check force and energy"
        )
    low, high = SEEN_FAULT[law.order]
    if seen is not None and not low <= seen <= high:
        problems.append(
            f"{law.name} declares order {law.order} in time, but an impact converges with order "
            f"{seen:.2f}. If the force or its damping jumps, return the overlap from jumps and the "
            "size of the jump from jump, or set order = 1"
            + (
                ". If the damping starts as overlap^a with a below 1, use the onset weight "
                "onset_weight(a) of granchain.contact.onset; for sqrt(overlap), a = 0.5 (see "
                "docs/add-a-law.md)"
                if law.uses_rate
                else ""
            )
            + ("" if law.order == 2 else ". If nothing jumps, set order = 2")
        )
    if not scales and not law.fixed_units and not problems_of_units(law):
        problems.append(
            f"{law.name}: force or coefficients do not scale with metre, kilogram, and second as "
            "the declared units require. Check the units of inputs and coefficients, or set "
            "fixed_units = True if the constants of the source are valid only in its units"
        )
    return problems


def faults_of_law(contact: Contact) -> list[str]:
    """Sentences on a force that is not finite, negative, not zero when open, no slope of its
    energy, or that drives; of each kind the first."""
    first: dict[str, str] = {}
    for kind, sentence in faults_of_values(contact):
        first.setdefault(kind, f"{contact.name}: {sentence}")
    if not first:
        for kind, sentence in faults_of_forces(contact):
            first.setdefault(kind, f"{contact.name}: {sentence}")
        return [*first.values(), *problems_of_units(contact.model.law)]
    return list(first.values())


def problems_of_units(law: type[ContactLaw]) -> list[str]:
    """Sentences on units that nothing can be converted to."""
    problems = []
    for quantity in (*law.inputs, *law.coefficients):
        try:
            factors_of(quantity.unit)
        except LawError as error:
            problems.append(f"{law.name}: {quantity.name}: {error}")
    return problems


def loaded(contact: Contact) -> list[tuple[float, tuple]]:
    """Overlaps, and the history of a fresh contact loaded to each."""
    return [(d, contact.load(d, contact.fresh())) for d in contact.overlaps(1e-5, 60)]


def faults_of_values(contact: Contact) -> Iterator[tuple[str, str]]:
    """A force or an energy that is not finite."""
    for d, h in loaded(contact):
        at = f"at overlap {d:.3g} m"
        values = [
            ("force", contact.force(d, h, rate), f"{at} and rate {rate:g} m/s") for rate in RATES
        ]
        for name, value, where in [*values, ("energy", contact.energy(d, h), at)]:
            if not math.isfinite(value):
                yield "finite", f"the {name} is not finite ({value}) {where}"


def faults_of_forces(contact: Contact) -> Iterator[tuple[str, str]]:
    """Kinds of faults of finite forces, with a sentence on each."""
    for overlap, rate in product((0.0, OPEN, -1e-6 * contact.scale), RATES):
        value = contact.force(overlap, contact.fresh(), rate)
        if value != 0.0:
            yield (
                "open",
                f"the force is {value:.3g} N at overlap {overlap:.3g} m and rate {rate:g} m/s. It "
                "must be exactly 0 for an open contact",
            )
    grid = loaded(contact)
    for d, h in grid:
        at_rest = contact.force(d, h)
        if at_rest < 0.0:
            yield "sign", f"the force is negative ({at_rest:.3g} N) at overlap {d:.3g} m and rate 0"
    for d, h in grid:
        at_rest = contact.force(d, h)
        for rate, phase in zip(RATES[1:], ("approach", "recovery"), strict=True):
            # beyond the rounding of a difference of two forces
            if (contact.force(d, h, rate) - at_rest) * rate < -1e-12 * abs(at_rest * rate):
                drives = f"the rate term accelerates the {phase} instead of damping it"
                yield "damping", f"{drives}, at overlap {d:.3g} m"
    for d in contact.overlaps(1e-3, 12):
        # central difference on the unloading curve, a little below the largest overlap: error of
        # order (1e-4)^2
        h, x, step = contact.load(d, contact.fresh()), 0.999 * d, 1e-4 * d
        slope = (contact.energy(x + step, h) - contact.energy(x - step, h)) / (2.0 * step)
        force = contact.force(x, h)
        if abs(slope - force) > 1e-4 * (abs(force) + abs(slope)):
            yield (
                "energy",
                f"the force is not the derivative of the energy: {force:.6g} N compared with "
                f"{slope:.6g} N at overlap {x:.3g} m",
            )
    # the work rests on the energy
    for d in contact.overlaps(1e-3, 12):
        step = 1e-4 * d
        slope = (contact.work(d + step) - contact.work(d - step)) / (2.0 * step)
        force = contact.loading(d)
        # a jump of the force within the step is not meant
        jump = abs(contact.loading(d + step) - contact.loading(d - step))
        if jump < 1e-2 * abs(force) and abs(slope - force) > 1e-4 * abs(force):
            yield (
                "energy",
                "the loading force is not the derivative of the work (recoverable energy plus "
                f"losses): {force:.6g} N compared with {slope:.6g} N at overlap {d:.3g} m",
            )
    least, last = contact.loading(1e-9 * contact.scale), contact.loading(contact.scale)
    if abs(least) > 1e-3 * abs(last):
        yield (
            "zero",
            f"the force is discontinuous at zero overlap: {least:.3g} N at a billionth of the "
            "largest overlap",
        )
