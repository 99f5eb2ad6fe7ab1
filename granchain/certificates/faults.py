"""Problems of a contact law."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import numpy as np

from granchain.certificates.contact import (
    IMPACT_SPEEDS,
    QUADRATURE,
    RELAXING_DECADES,
    Contact,
    Creation,
)
from granchain.contact.examples import factors_of
from granchain.contact.law import OPEN, ContactLaw
from granchain.errors import LawError

# Accepted observed orders if a law declares order 2, or order 1 for a force that jumps.
SEEN_FAULT = {2: (1.7, 2.3), 1: (0.5, 1.9)}

# Rates [m/s] for checks of the force: at rest, in approach, and in recovery.
CHECKED_RATES = (0.0, IMPACT_SPEEDS[1], -IMPACT_SPEEDS[1])

# Accepted energy creation in a cycle, relative to the largest work supplied: rounding of the cycles
# and of the closed forms.
CREATION = 1e-6
# Steps of a loading and unloading of a law with memory, and the accepted residual of its energies,
# relative to the work: the steps are of second order, (pi/400)^2 = 6e-5.
RELAXING_STEPS, RELAXING_RESIDUAL = 400, 1e-3


def creates_energy(law: type[ContactLaw], created: Creation, falls: float) -> bool:
    """Check if a law creates energy beyond the error, or if its loss falls.

    Without history, the force at rest is a function of the overlap alone, so that its work in a
    closed cycle is exactly zero.
    """
    return bool(law.history) and (created.certain > CREATION or falls > CREATION)


def faults_of_measures(
    law: type[ContactLaw], created: Creation, falls: float, seen: float, scales: bool
) -> list[str]:
    """Return messages about energy, order, and units that do not match the law."""
    problems = []
    if creates_energy(law, created, falls):
        evidence = (
            f"a closed cycle of overlap returns up to {100.0 * created.energy:.3g} % more energy "
            f"than it took (uncertainty {100.0 * max(created.error, QUADRATURE):.2g} %)"
            if created.certain > CREATION
            else "its loss decreases with increasing maximum overlap, by up to "
            f"{100.0 * falls:.3g} % of the work"
        )
        problems.append(
            f"{law.name} creates energy: {evidence}. A law must not create energy. Derive it from "
            "Elastoplastic, whose energy correction prevents this, or check force and energy"
        )
    low, high = SEEN_FAULT[law.order]
    if not (math.isnan(seen) or low <= seen <= high):
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
    """Return the first message of each kind about the forces of a law.

    A force must be finite, not negative, zero when open, the slope of its energy, and must not
    drive the motion.
    """
    first: dict[str, str] = {}
    for kind, sentence in faults_of_values(contact):
        first.setdefault(kind, f"{contact.name}: {sentence}")
    if not first:
        for kind, sentence in (*faults_of_forces(contact), *faults_of_memory(contact)):
            first.setdefault(kind, f"{contact.name}: {sentence}")
        return [*first.values(), *problems_of_units(contact.model.law)]
    return list(first.values())


def problems_of_units(law: type[ContactLaw]) -> list[str]:
    """Return messages about units that cannot be converted."""
    problems = []
    for quantity in (*law.inputs, *law.coefficients):
        try:
            factors_of(quantity.unit)
        except LawError as error:
            problems.append(f"{law.name}: {quantity.name}: {error}")
    return problems


def loaded_contacts(contact: Contact) -> list[tuple[float, tuple]]:
    """Return overlaps, each with the history of a fresh contact loaded to it."""
    return [(d, contact.load(d, contact.fresh())) for d in contact.overlaps(1e-5, 60)]


def faults_of_values(contact: Contact) -> Iterator[tuple[str, str]]:
    """Yield messages about forces or energies that are not finite."""
    for d, h in loaded_contacts(contact):
        at = f"at overlap {d:.3g} m"
        values = [
            ("force", contact.force(d, h, rate), f"{at} and rate {rate:g} m/s")
            for rate in CHECKED_RATES
        ]
        for name, value, where in [*values, ("energy", contact.energy(d, h), at)]:
            if not math.isfinite(value):
                yield "finite", f"the {name} is not finite ({value}) {where}"


def faults_of_forces(contact: Contact) -> Iterator[tuple[str, str]]:
    """Yield problems of finite forces, each with its kind and a message."""
    for overlap, rate in product((0.0, OPEN, -1e-6 * contact.scale), CHECKED_RATES):
        value = contact.force(overlap, contact.fresh(), rate)
        if value != 0.0:
            yield (
                "open",
                f"the force is {value:.3g} N at overlap {overlap:.3g} m and rate {rate:g} m/s. It "
                "must be exactly 0 for an open contact",
            )
    grid = loaded_contacts(contact)
    for d, h in grid:
        at_rest = contact.force(d, h)
        if at_rest < 0.0:
            yield "sign", f"the force is negative ({at_rest:.3g} N) at overlap {d:.3g} m and rate 0"
    for d, h in grid:
        at_rest = contact.force(d, h)
        for rate, phase in zip(CHECKED_RATES[1:], ("approach", "recovery"), strict=True):
            # Larger than the rounding of a difference of two forces.
            if (contact.force(d, h, rate) - at_rest) * rate < -1e-12 * abs(at_rest * rate):
                drives = f"the rate term accelerates the {phase} instead of damping it"
                yield "damping", f"{drives}, at overlap {d:.3g} m"
    for d in contact.overlaps(1e-3, 12):
        # Central difference on the unloading curve, slightly below the largest overlap; the error
        # is of order (1e-4)^2.
        h, x, step = contact.load(d, contact.fresh()), 0.999 * d, 1e-4 * d
        slope = (contact.energy(x + step, h) - contact.energy(x - step, h)) / (2.0 * step)
        force = contact.force(x, h)
        if abs(slope - force) > 1e-4 * (abs(force) + abs(slope)):
            yield (
                "energy",
                f"the force is not the derivative of the energy: {force:.6g} N compared with "
                f"{slope:.6g} N at overlap {x:.3g} m",
            )
    # The work is computed from the energy.
    for d in contact.overlaps(1e-3, 12):
        step = 1e-4 * d
        slope = (contact.work(d + step) - contact.work(d - step)) / (2.0 * step)
        force = contact.loading(d)
        # A jump of the force within the step is not an error of the energy.
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


def faults_of_memory(contact: Contact) -> Iterator[tuple[str, str]]:
    """Yield problems of a history that relaxes in time, each with its kind and a message."""
    if not contact.model.evolves:
        return
    fresh, top = contact.fresh(), contact.scale
    if contact.relax(contact.time, -top, -top, fresh) != (fresh, 0.0):
        yield "fresh", "evolve changes the history of a fresh, open contact. It must not change"
    for d in contact.overlaps(1e-3, 12):
        relaxed = contact.relax(math.inf, 0.0, d, fresh)[0]
        again = contact.relax(math.inf, d, d, relaxed)[0]
        if not np.allclose(again, relaxed, rtol=1e-9, atol=0.0):
            yield (
                "rest",
                f"evolve does not relax completely in an infinite time at overlap {d:.3g} m. A "
                "static load finds the contact at rest",
            )
    for duration in contact.time * np.logspace(*RELAXING_DECADES, 7):
        supplied, residual, least = relaxing_energies(contact, top, float(duration))
        within = f"in a loading and unloading within {duration:.2g} s"
        if not least >= -1e-9 * supplied:
            yield (
                "lost",
                f"evolve dissipates {least:.2g} J in a step {within}. It must not be negative",
            )
        if not abs(residual) <= RELAXING_RESIDUAL * supplied:
            yield (
                "balance",
                f"the energies differ from the work {within} by {abs(residual) / supplied:.2g} of "
                "it. The work must be the change of energy plus what evolve dissipates",
            )


def relaxing_energies(contact: Contact, top: float, duration: float) -> tuple[float, float, float]:
    """Return energies of a contact that is loaded to an overlap and unloaded within a time [J].

    They are the largest work supplied, the work that is neither stored nor dissipated at the end,
    and the least energy dissipated in a step.
    """
    times = np.linspace(0.0, math.pi, RELAXING_STEPS + 1)
    h, before, force = contact.fresh(), 0.0, 0.0
    work = supplied = dissipated = 0.0
    least = math.inf
    for d in (top * np.sin(times[1:-1])).tolist():
        h, lost = contact.relax(duration / RELAXING_STEPS, before, d, h)
        h = contact.load(d, h)
        force_before, force = force, contact.force(d, h)
        work += 0.5 * (force + force_before) * (d - before)
        before, dissipated = d, dissipated + lost
        supplied, least = max(supplied, work), min(least, lost)
    return supplied, work - contact.energy(before, h) - contact.lost(h) - dissipated, least
