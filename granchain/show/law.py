"""Page of a contact law: headings, paragraphs, and tables from its class and its verification
report. The command line prints it in a terminal, and the documentation contains it."""

from __future__ import annotations

import math

from granchain.certificates.contact import QUADRATURE
from granchain.certificates.faults import CREATION
from granchain.certificates.measure import Certificate, toml
from granchain.contact.examples import EXAMPLE_PAIR
from granchain.contact.guard import GUARD
from granchain.contact.law import PHASES, ContactLaw, docstring_of
from granchain.markup import Grid
from granchain.show.blocks import Block, Heading, Paragraph, paragraphs


def law_page(certificate: Certificate) -> list[Block]:
    """Return the page of a law: its declaration and its verification report."""
    law, inputs = certificate.law_class, certificate.inputs
    absent = [phase for phase in PHASES if phase not in law.phases]
    cannot = f"; these states cannot occur: {', '.join(absent)}" if absent else ""
    conditions = ", ".join(
        f"{q.name} = {toml(inputs[q.name])}"
        for q in law.inputs
        if q.required or inputs.get(q.name) != q.default
    )
    return [
        Heading(law.name, 1),
        *(Paragraph(text) for text in paragraphs(docstring_of(law))),
        *(Paragraph(f"Problem: {problem}.") for problem in certificate.problems),
        Paragraph(f"Source: {law.source}."),
        *([Paragraph(f"Valid for: {law.validity}.")] if law.validity else []),
        Paragraph(f"Status: {law.status}."),
        Paragraph(f"Contact states: {', '.join(law.phases)}{cannot}."),
        *(grid for grid in (inputs_of_law(law), contact_quantities(law)) if grid.rows),
        Paragraph(
            f"Test conditions: on {EXAMPLE_PAIR}{', with ' if conditions else ''}{conditions}."
        ),
        *([restitutions_of(certificate)] if certificate.nominal.size else []),
        Grid(("property", "result"), findings(certificate)),
    ]


def inputs_of_law(law: type[ContactLaw]) -> Grid:
    """Return the table of inputs."""
    rows = []
    for q in law.inputs:
        default = "required" if q.required else "-" if q.default is None else toml(q.default)
        rows.append((q.name, q.unit or "-", q.range, default, q.meaning))
    return Grid(("input", "unit", "allowed values", "default", "meaning"), tuple(rows))


def contact_quantities(law: type[ContactLaw]) -> Grid:
    """Return the table of coefficients and history quantities."""
    coefficients = [q for q in law.coefficients if q not in GUARD]
    windows = ("guard_1_start ...", "m, J", "coefficient", "windows of the energy correction")
    rows = (
        *((q.name, q.unit or "-", "coefficient", q.meaning) for q in coefficients),
        *([windows] if len(coefficients) < len(law.coefficients) else []),
        *(
            (q.name, q.unit or "-", f"history{', in the output file' * q.output}", q.meaning)
            for q in law.history
        ),
    )
    return Grid(("quantity", "unit", "kind", "meaning"), rows)


def restitutions_of(certificate: Certificate) -> Grid:
    """Return the table of effective restitutions, with one column if the end of a contact makes no
    difference."""
    nominal = (f"{value:g}" for value in certificate.nominal.tolist())
    effective = (map(delivered_words, certificate[way].tolist()) for way in ("clamped", "tensile"))
    rows = list(zip(nominal, *effective, strict=True))
    if all(tensile in (REJECTED, clamped) for _, clamped, tensile in rows):
        return Grid(
            ("nominal restitution", "effective restitution"), tuple(row[:2] for row in rows)
        )
    return Grid(
        (
            "nominal restitution",
            "effective restitution, no-tension cutoff",
            "effective restitution, tension allowed",
        ),
        tuple(rows),
    )


def findings(certificate: Certificate) -> tuple[tuple[str, str], ...]:
    """Return the names and results of the measurements."""
    measured = zip(certificate.impact_speed, certificate.restitution, strict=True)
    speeds = [(v, f"{e:.4f}") for v, e in measured]
    facts = []
    if len({e for _, e in speeds}) == 1:
        facts.append(
            ("restitution", f"{speeds[0][1]} at {speeds[0][0]:g} to {speeds[-1][0]:g} m/s")
        )
    elif speeds:
        facts.append(("restitution", ", ".join(f"{e} at {v:g} m/s" for v, e in speeds)))
    facts.append(("energy", energy_words(certificate)))
    if not math.isnan(certificate.created_as_printed) and "as_printed" in certificate.inputs:
        facts.append(("energy, as published", creation(certificate.created_as_printed)))
    jumps = [f"to {certificate.onset:.3g} N at the onset"] if certificate.onset else []
    jumps += [
        f"{100.0 * jump:+.3g} % at overlap {d:.3g} m"
        for d, jump in zip(certificate.jump_overlap, certificate.jump, strict=True)
    ]
    order = "-" if math.isnan(certificate.order) else f"{certificate.order:.1f}"
    if certificate.order_stated != 2:
        order += f" (declared: {certificate.order_stated}, because the force jumps)"
    consistent = (
        "constants are valid in the units of the source only"
        if certificate.law_class.fixed_units
        else "NOT consistent"
    )
    facts += [("force jumps", ", ".join(jumps) or "none"), ("order in time", order)]
    return (*facts, ("units", "consistent" if certificate.dimension else consistent))


def energy_words(certificate: Certificate) -> str:
    """Describe whether cycles create energy, with the measured value and its error."""
    error = f"{max(certificate.created_error, QUADRATURE):.1e} of the work supplied"
    if not certificate.admissible:
        return (
            f"{creation(certificate.created)} (error {error}); the loss decreases by up to "
            f"{100.0 * certificate.falls:.2g} % of the work"
        )
    # A value below its error counts as zero.
    measured = (
        f"measured: {certificate.created:.1e}, error {error}"
        if certificate.created > max(certificate.created_error, QUADRATURE)
        else f"measured: none, error {error}"
    )
    if certificate.law_class.history:
        return f"no cycle creates energy ({measured})"
    return (
        "no cycle creates energy, because without history the force at rest depends on the overlap "
        f"only ({measured})"
    )


def creation(created: float) -> str:
    """Describe the energy that a cycle creates."""
    return (
        "no cycle creates energy"
        if created <= CREATION
        else f"a cycle returns up to {100.0 * created:.2g} % more energy than is supplied"
    )


# Text of the effective restitution if the law rejects the nominal one.
REJECTED = "rejected"


def delivered_words(restitution: float) -> str:
    """Format an effective restitution; the bodies may stick."""
    if math.isnan(restitution):
        return REJECTED
    return f"{restitution:.4f}" if restitution > 0.0 else "never opens"
