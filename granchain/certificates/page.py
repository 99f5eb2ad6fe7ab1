"""The pages of the contact laws: headings, paragraphs and tables, made from the classes and their certificates.

They are written once, as blocks: `markdown` prints the blocks for the documentation, the command line for a terminal.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from inspect import cleandoc
from typing import Any

from granchain.certificates.contact import IMPACT_SPEEDS, QUADRATURE
from granchain.certificates.examples import EXAMPLE_PAIR, example_pair
from granchain.certificates.faults import CREATION
from granchain.certificates.measure import ASKED, Certificate
from granchain.contact import families
from granchain.contact.guard import GUARD
from granchain.contact.law import ContactLaw, Quantity


@dataclass(frozen=True)
class Heading:
    """A title; level 1 is the page's."""

    text: str
    level: int


@dataclass(frozen=True)
class Paragraph:
    """Text in one piece."""

    text: str
    warning: bool = False


@dataclass(frozen=True)
class Same:
    """A table that is printed on another law's page."""

    what: str
    law: str

    @property
    def text(self) -> str:
        """In a sentence."""
        return f"{self.what}: as for {self.law}."


class Link(str):
    """The name of a law, leading to its page."""


@dataclass(frozen=True)
class Grid:
    """A table; its columns and its rows of cells."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Block = Heading | Paragraph | Same | Grid


# ---------------------------------------------------------------------------------------------------------------------
# One law


def law_page(one: Certificate, seen: dict[Grid, str] | None = None) -> list[Block]:
    """All about one law: its declaration, and what was measured.

    Parameters
    ----------
    one : Certificate
    seen : dict, optional
        In the reference of all laws: tables of the laws before this one, each with its law's name. What is there, or in the tables of
        all laws, is not repeated; what is new goes there.
    """
    law = one.law
    level, known = (1, {}) if seen is None else (3, seen)
    blocks: list[Block] = [Heading(law.name, level), *(Paragraph(text) for text in paragraphs(law.__doc__))]
    blocks += [Paragraph(f"Problem: {problem}.") for problem in one.problems]
    blocks += [Paragraph(f"Source: {law.source}.")]
    blocks += [Paragraph(f"Valid for: {law.validity}.")] if law.validity else []
    blocks += [Paragraph(f"Status: {law.status}.")]
    tables = {"Inputs": inputs_of_law(law), "In each contact": carried_by(law)}
    first = {title: known.setdefault(grid, law.name) for title, grid in tables.items() if grid.rows}
    if len(first) == 2 and len(set(first.values())) == 1 and law.name not in first.values():
        blocks += [Same("Inputs, and what each contact carries", first["Inputs"])]
    else:
        blocks += [tables[title] if there == law.name else Same(title, there) for title, there in first.items()]
    given = [f"{q.name} = {toml(one.inputs[q.name])}" for q in law.inputs if q.required or one.inputs[q.name] != q.default]
    conditions = ([f"on {EXAMPLE_PAIR}"] if seen is None else []) + ([f"with {', '.join(given)}"] if given else [])
    blocks += [Paragraph(f"Measured {', '.join(conditions)}.")] if conditions else []
    blocks += [restitutions_of(one)] if one.delivered and seen is None else []
    return [*blocks, measured_words(one)]


def paragraphs(docstring: str | None) -> list[str]:
    """The paragraphs of a docstring, each in one line."""
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", cleandoc(docstring or "")) if part.strip()]


def inputs_of_law(law: type[ContactLaw]) -> Grid:
    """What a case may give."""
    rows = tuple((q.name, q.unit or "-", q.range, default_words(q), q.meaning) for q in law.inputs)
    return Grid(("input", "unit", "allowed", "default", "meaning"), rows)


def default_words(quantity: Quantity) -> str:
    """The default in the words of a case file."""
    if quantity.required:
        return "required"
    return "-" if quantity.default is None else toml(quantity.default)


def carried_by(law: type[ContactLaw]) -> Grid:
    """Coefficients and history."""
    own = [q for q in law.coefficients if q not in GUARD]
    rows = [(q.name, q.unit or "-", "coefficient", q.meaning) for q in own]
    if len(own) < len(law.coefficients):
        rows.append(("guard_1_start ...", "m, J", "coefficient", "windows of the energy guard"))
    rows += [(q.name, q.unit or "-", "history, in the output file" if q.output else "history", q.meaning) for q in law.history]
    return Grid(("in each contact", "unit", "kind", "meaning"), tuple(rows))


def restitutions_of(one: Certificate) -> Grid:
    """Delivered restitutions, in one column where the way in which a contact ends makes no difference."""
    rows = [(f"{a:g}", shown_input(c), shown_input(t)) for a, c, t in one.delivered]
    if all(t is None or shown_input(c) == shown_input(t) for _, c, t in one.delivered):
        return Grid(("asked restitution", "delivered"), tuple(row[:2] for row in rows))
    return Grid(("asked restitution", "delivered, clamped", "delivered, tensile"), tuple(rows))


def measured_words(one: Certificate) -> Grid:
    """What the certificate found."""
    facts = [("restitution", against_speed(one))] if one.speeds else []
    facts += [("energy", energy_words(one))]
    if one.created_as_printed is not None and "as_printed" in one.inputs:
        facts.append(("energy, as printed", creation(one.created_as_printed)))
    jumps = [f"at the onset, to {one.onset:.3g} N"] if one.onset else []
    jumps += [f"{100.0 * jump:+.3g} % at overlap {d:.3g} m" for d, jump in one.jumps]
    facts += [("force jumps", ", ".join(jumps) or "none"), ("order in time", order_words(one)), ("units", unit_words(one))]
    return Grid(("measured", "result"), tuple(facts))


def toml(value: Any) -> str:
    """A value as a case file has it."""
    return f"{value:g}" if isinstance(value, float) else json.dumps(value)


def shown_input(restitution: float | None) -> str:
    """A delivered restitution; a law may refuse the asked one, or never let go."""
    if restitution is None:
        return "refused"
    return f"{restitution:.4f}" if restitution > 0.0 else "never opens"


def against_speed(one: Certificate) -> str:
    """Restitution at each impact speed."""
    values = {f"{e:.4f}" for _, e in one.speeds}
    if len(values) == 1:
        return f"{values.pop()} at {one.speeds[0][0]:g} to {one.speeds[-1][0]:g} m/s"
    return ", ".join(f"{e:.4f} at {v:g} m/s" for v, e in one.speeds)


def energy_words(one: Certificate) -> str:
    """Whether cycles create energy, what was measured, and its error."""
    error = f"to {max(one.created_error, QUADRATURE):.1e} of the work put in"
    if not one.admissible:
        return f"{creation(one.created)}, measured {error}; the loss falls by up to {100.0 * one.falls:.2g} % of the work"
    # what is below the error is none
    found = f"{one.created:.1e}, {error}" if one.created > max(one.created_error, QUADRATURE) else f"none, {error}"
    if one.law.history:
        return f"no cycle creates any (measured: {found})"
    return f"no cycle creates any: without history the force at rest follows from the overlap alone (measured: {found})"


def creation(created: float) -> str:
    """Energy that a cycle creates."""
    return "no cycle creates any" if created <= CREATION else f"a cycle returns up to {100.0 * created:.2g} % more than it took"


def order_words(one: Certificate) -> str:
    """Observed order, with the stated one where it is not two."""
    seen = "-" if one.order is None else f"{one.order:.1f}"
    return seen if one.law.order == 2 else f"{seen} (stated: {one.law.order}, the force jumps)"


def unit_words(one: Certificate) -> str:
    """Whether the law scales with its units."""
    if one.dimension:
        return "consistent"
    return "constants hold in the source's own units" if one.law.fixed_units else "NOT consistent"


# ---------------------------------------------------------------------------------------------------------------------
# All laws


def reference_page(certificates: list[Certificate]) -> list[Block]:
    """The reference of the contact laws: tables of all, then family by family a page of each."""
    pair = example_pair()
    blocks: list[Block] = [
        Heading("Contact laws", 1),
        Paragraph(
            "Printed by `make laws` from the law classes and their certificates; not written by hand. `granchain laws NAME` prints the "
            "page of one law, and with `--law-module FILE` that of a law in a file of your own."
        ),
        Paragraph(
            f"Every figure is measured with the engine on {EXAMPLE_PAIR} (effective radius {pair.effective_radius * 1e3:g} mm, effective "
            f"modulus {pair.effective_modulus / 1e9:.2f} GPa, effective mass {pair.effective_mass * 1e3:g} g, yield stress "
            f"{pair.yield_stress / 1e6:g} MPa), at an impact speed of {IMPACT_SPEEDS[1]:g} m/s where none is named. No law has been "
            "validated against a measured trace unless its page says so."
        ),
        Heading("At a glance", 2),
        Paragraph("Energy: what closed cycles of loading and unloading create. Order: how an impact converges with the time step."),
        Grid(("law", "what it is", "energy created", "force jumps", "order"), tuple(glance(one) for one in certificates)),
        Heading("Delivered restitution", 2),
        Paragraph(
            "What an impact returns for the restitution asked. A contact cannot pull (clamped); in brackets, where it differs, what is "
            "returned if it may pull until the overlap is zero (tensile)."
        ),
        Grid(("law", *(f"{asked:g}" for asked in ASKED)), tuple(restitution_rows(one) for one in certificates if one.delivered)),
    ]
    found = {one.law.name: one for one in certificates}
    seen: dict[Grid, str] = {}
    for family in families():
        members = [found[law.name] for law in family.laws if law.name in found]
        if members:
            blocks += [Heading(family.title, 2), *(Paragraph(text) for text in family.paragraphs)]
        for one in members:
            blocks += law_page(one, seen)
    return blocks


def glance(one: Certificate) -> tuple[str, ...]:
    """A law's row in the table of all."""
    created = "none" if one.admissible else f"{100.0 * max(one.created, one.falls):.2g} %"
    if one.created_as_printed is not None and one.created_as_printed > CREATION:
        created += f" (as printed {100.0 * one.created_as_printed:.2g} %)"
    seen = "-" if one.order is None else f"{one.order:.1f}"
    jumps = ", ".join((["at the onset"] if one.onset else []) + ([str(len(one.jumps))] if one.jumps else [])) or "none"
    return Link(one.law.name), one.law.summary(), created, jumps, seen


def restitution_rows(one: Certificate) -> tuple[str, ...]:
    """A law's row in the table of delivered restitutions."""
    cells = []
    for _, clamped, tensile in one.delivered:
        other = "" if tensile is None or shown_input(tensile) == shown_input(clamped) else f" ({shown_input(tensile)})"
        cells.append(shown_input(clamped) + other)
    return Link(one.law.name), *cells


# ---------------------------------------------------------------------------------------------------------------------
# Markdown


def markdown(blocks: list[Block]) -> str:
    """Blocks as Markdown."""
    return "\n\n".join(block_in_markdown(block) for block in blocks) + "\n"


def block_in_markdown(block: Block) -> str:
    """One block as Markdown."""
    if isinstance(block, Heading):
        return f"{'#' * block.level} {escaped_markdown(block.text)}"
    if isinstance(block, Paragraph):
        return escaped_markdown(block.text)
    if isinstance(block, Same):
        return escaped_markdown(block.text).replace(block.law, markdown_cell(Link(block.law)))
    lines = [block.columns, ("---",) * len(block.columns), *block.rows]
    return "\n".join("| " + " | ".join(map(markdown_cell, line)) + " |" for line in lines)


def markdown_cell(text: str) -> str:
    """A cell of a table."""
    if isinstance(text, Link):
        return f"[{text}](#{text})"
    return escaped_markdown(text).replace("|", "\\|")


_DOI = re.compile(r"10\.\d{4,9}/[^\s;,]*[^\s;,.]")
_CODE = re.compile(r"`[^`]*`")
# What would become emphasis, a line through, a tag or a link; an underscore within a word is safe.
_MARKDOWN_SIGNS = re.compile(r"[\\*]|~(?=.*~)|(?<=~)~|<(?=[A-Za-z/!?])|\](?=[\[(:])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


def escaped_markdown(text: str) -> str:
    """Text in which Markdown sees no signs of its own but code in backticks; a DOI is a link."""
    out, at = [], 0
    for match in sorted([*_DOI.finditer(text), *_CODE.finditer(text)], key=lambda match: match.start()):
        if match.start() < at:
            continue
        found = match[0] if match[0].startswith("`") else f"[{match[0]}](<https://doi.org/{match[0]}>)"
        out += [_MARKDOWN_SIGNS.sub(r"\\\g<0>", text[at : match.start()]), found]
        at = match.end()
    return "".join(out) + _MARKDOWN_SIGNS.sub(r"\\\g<0>", text[at:])
