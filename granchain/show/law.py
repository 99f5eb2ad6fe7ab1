"""Pages of the contact laws: headings, paragraphs, and tables from the classes and their
verification reports.

The pages consist of blocks: `markdown` prints them for the documentation, and the command line
prints them in a terminal.
"""

from __future__ import annotations

import math

from granchain.certificates.contact import IMPACT_SPEEDS
from granchain.certificates.faults import CREATION
from granchain.certificates.measure import NOMINAL_RESTITUTIONS, Certificate
from granchain.certificates.text import delivered_words, findings, toml
from granchain.contact import families
from granchain.contact.examples import EXAMPLE_PAIR, example_pair
from granchain.contact.guard import GUARD
from granchain.contact.law import PHASES, ContactLaw, docstring_of
from granchain.markup import Grid
from granchain.show.blocks import Block, Heading, Link, Paragraph, Same, paragraphs

# --------------------------------------------------------------------------------------------------
# One law


def law_page(certificate: Certificate, seen: dict[Grid, str] | None = None) -> list[Block]:
    """Return the page of a law: its declaration and its verification report.

    Parameters
    ----------
    certificate : Certificate
    seen : dict, optional
        Tables of the preceding laws in the reference of all laws, with the name of the law. The
        page refers to these tables instead of repeating them; new tables are added.
    """
    law, inputs = certificate.law_class, certificate.inputs
    level, owners = (1, {}) if seen is None else (3, seen)
    absent = [phase for phase in PHASES if phase not in law.phases]
    cannot = f"; these states cannot occur: {', '.join(absent)}" if absent else ""
    phases = Paragraph(f"Contact states: {', '.join(law.phases)}{cannot}.")
    tables = {"Inputs": inputs_of_law(law), "Quantities of each contact": contact_quantities(law)}
    first = {
        title: owners.setdefault(grid, law.name) for title, grid in tables.items() if grid.rows
    }
    table_blocks: list[Block] = [
        tables[title] if owner == law.name else Same(title, owner) for title, owner in first.items()
    ]
    if len(first) == 2 and len(set(first.values())) == 1 and law.name not in first.values():
        table_blocks = [Same("Inputs, and quantities of each contact", first["Inputs"])]
    stated_inputs = [
        f"{q.name} = {toml(inputs[q.name])}"
        for q in law.inputs
        if q.required or inputs.get(q.name) != q.default
    ]
    conditions = ([f"on {EXAMPLE_PAIR}"] if seen is None else []) + (
        [f"with {', '.join(stated_inputs)}"] if stated_inputs else []
    )
    return [
        Heading(law.name, level),
        *(Paragraph(text) for text in paragraphs(docstring_of(law))),
        *(Paragraph(f"Problem: {problem}.") for problem in certificate.problems),
        Paragraph(f"Source: {law.source}."),
        *([Paragraph(f"Valid for: {law.validity}.")] if law.validity else []),
        Paragraph(f"Status: {law.status}."),
        *([phases] if seen is None or len(law.phases) > 2 else []),
        *table_blocks,
        *([Paragraph(f"Test conditions: {', '.join(conditions)}.")] if conditions else []),
        *([restitutions_of(certificate)] if certificate.delivered and seen is None else []),
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
    rows = [(f"{a:g}", delivered_words(c), delivered_words(t)) for a, c, t in certificate.delivered]
    if all(
        t is None or delivered_words(c) == delivered_words(t) for _, c, t in certificate.delivered
    ):
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


# --------------------------------------------------------------------------------------------------
# All laws


def reference_page(certificates: list[Certificate]) -> list[Block]:
    """Return the reference of all contact laws: summary tables, then each law by family."""
    pair = example_pair()
    blocks: list[Block] = [
        Heading("Contact laws", 1),
        Paragraph(
            "This page is generated by `make laws` from the law classes and their "
            'verification reports. To choose a law, read the page "Which contact law?" first. '
            "`granchain laws NAME` prints the section of one law. With `--law-module FILE`, it "
            "does so for a law in your own file."
        ),
        Paragraph(
            f"All values are measured with the engine on {EXAMPLE_PAIR} (effective radius "
            f"{pair.effective_radius * 1e3:g} mm, effective modulus "
            f"{pair.effective_modulus / 1e9:.2f} GPa, effective mass "
            f"{pair.effective_mass * 1e3:g} g, yield stress {pair.yield_stress / 1e6:g} MPa). "
            f"The impact speed is {IMPACT_SPEEDS[1]:g} m/s unless another speed is specified. "
            "No law has been validated with a measured trace unless its section states it."
        ),
        Paragraph(
            f"A contact is in one of these states: {', '.join(PHASES[:-1])}, or {PHASES[-1]}. "
            f"With a law without residual indentation, only {' and '.join(ContactLaw.phases)} "
            "occur. The sections of the other laws list their states."
        ),
        Heading("Overview", 2),
        Paragraph(
            "Energy created is the energy that closed cycles of loading and unloading "
            "create. Order is the order of convergence of an impact with the time step."
        ),
        Grid(
            ("law", "description", "energy created", "force jumps", "order"),
            tuple(summary_row(certificate) for certificate in certificates),
        ),
        Heading("Effective restitution", 2),
        Paragraph(
            "Restitution of an impact for each nominal restitution, with the no-tension "
            "cutoff. If the restitution with tension allowed until the overlap is zero "
            "differs, it is in parentheses."
        ),
        Grid(
            ("law", *(f"{nominal:g}" for nominal in NOMINAL_RESTITUTIONS)),
            tuple(
                restitution_rows(certificate)
                for certificate in certificates
                if certificate.delivered
            ),
        ),
    ]
    by_law = {certificate.law: certificate for certificate in certificates}
    seen: dict[Grid, str] = {}
    for family in families():
        members = [by_law[law.name] for law in family.laws if law.name in by_law]
        if members:
            blocks += [Heading(family.title, 2), *(Paragraph(text) for text in family.paragraphs)]
        for certificate in members:
            blocks += law_page(certificate, seen)
    return blocks


def summary_row(certificate: Certificate) -> tuple[str, ...]:
    """Return the row of a law in the summary table."""
    created = (
        "none"
        if certificate.admissible
        else f"{100.0 * max(certificate.created, certificate.falls):.2g} %"
    )
    if certificate.created_as_printed > CREATION:
        created += f" (as published {100.0 * certificate.created_as_printed:.2g} %)"
    seen = "-" if math.isnan(certificate.order) else f"{certificate.order:.1f}"
    jumps = (
        ", ".join(
            (["at the onset"] if certificate.onset else [])
            + ([str(len(certificate.jumps))] if certificate.jumps else [])
        )
        or "none"
    )
    return Link(certificate.law), certificate.law_class.summary(), created, jumps, seen


def restitution_rows(certificate: Certificate) -> tuple[str, ...]:
    """Return the row of a law in the table of effective restitutions."""
    texts = [
        (delivered_words(clamped), delivered_words(clamped if tensile is None else tensile))
        for _, clamped, tensile in certificate.delivered
    ]
    cells = (first if first == other else f"{first} ({other})" for first, other in texts)
    return Link(certificate.law), *cells
