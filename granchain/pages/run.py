"""What a report says of one run: case, contact law, numbers, energy, figures, messages, where
it comes from, how to cite it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from granchain import __version__
from granchain.analysis import summary
from granchain.contact import laws
from granchain.contact.law import ContactLaw
from granchain.figures import all_figures, lacking
from granchain.mechanism.checks import Check
from granchain.pages.blocks import (
    Block,
    Folded,
    Grid,
    Heading,
    Paragraph,
    number_text,
    paragraphs,
    picture_or_reason,
)
from granchain.pages.numbers import check_grid, number_blocks, provenance_rows
from granchain.store import Result

# What a figure shows, for who cannot see it.
_FIGURE_WORDS = {
    "force_traces": "Force over time at each sensor.",
    "peaks": "Peak force, arrival, width and speed of the first pulse along the chain, with power "
    "laws of the bead's number.",
    "space_time": "Velocity of every body over time and place.",
    "bead_velocities": "Velocities of bodies over time.",
    "hysteresis": "Contact force over overlap of the recorded contacts.",
    "energy": "Kinetic, recoverable and lost energy over time, and the residual of the ledger.",
    "losses": "Energy lost in each contact.",
    "slider_acceleration": "Acceleration of the slider over the crank angle, with that without "
    "play.",
    "slider_kinematics": "Position, velocity and acceleration of the slider over the crank angle.",
    "joint_force": "Contact force in the joint over the crank angle.",
    "joint_penetration": "Penetration in the joint over the crank angle.",
    "joint_orbit": "Way of one centre of the joint about the other, within the circle where they "
    "touch.",
    "joint_impact": "Contact force over penetration in one impact.",
    "crank_energy": "Work of the crank, kinetic energy, losses, and the residual of the ledger.",
}

IDENTIFIED = (
    'This run was with damping = "identified" where the inputs say so: an impact then delivers '
    "the restitution that is asked for. What is "
    "said above of the restitution delivered is of the published damping."
)


def run_blocks(result: Result, name: str, checks: Sequence[Check] | None = None) -> list[Block]:
    """All that a report says of a result.

    Parameters
    ----------
    result : Result
    name : str
        Of its file.
    checks : sequence of Check, optional
        Of a mechanism, in place of pulses and ledger.
    """
    numbers = summary(result)
    end = f" until {1e6 * numbers.end:.6g} us" if math.isfinite(numbers.end) else ""
    first = (
        f"Simulated{end}, contact law {result.law}, time step {result.time_step:.6g} s: "
        f"{result.status.label}."
    )
    blocks: list[Block] = [Heading(result.title or name, 1), Paragraph(first)]
    blocks += [
        Paragraph(str(one), warning=True) if one.warning else Paragraph(f"{one.text}.")
        for one in result.messages
    ]
    if not result.sealed:
        blocks.append(
            Paragraph(
                "warning: the file has no seal: another program changed it or cut it off.",
                warning=True,
            )
        )
    blocks += number_blocks(numbers) if checks is None else [check_grid(checks)]
    blocks += pictures(result)
    try:
        contact = json.loads(result.provenance.get("case_resolved_json", "{}")).get("contact", {})
    except ValueError:
        contact = {}
    blocks += law_blocks(result.law, contact if isinstance(contact, dict) else {})
    blocks += case_blocks(result.provenance)
    blocks += origin(result.provenance, name)
    return [*blocks, *citation([result.law])]


def pictures(result: Result) -> list[Block]:
    """The figures that the file has the variables for, and what the others lack."""
    blocks: list[Block] = [Heading("Figures", 2)]
    for name, draw in all_figures(result).items():
        plain = name.replace("_", " ")
        blocks.append(picture_or_reason(plain, draw, _FIGURE_WORDS.get(name, plain)))
    blocks += [
        Paragraph(f"No {name.replace('_', ' ')}: {advice}.")
        for name, advice in lacking(result).items()
    ]
    return blocks


def law_blocks(name: str, given: Mapping[str, Any]) -> list[Block]:
    """A contact law: what it is, where it is from, and its inputs in this case."""
    law = laws().get(name)
    if law is None:
        return [
            Heading(f"Contact law {name}", 2),
            Paragraph("It is not installed here: what it is stands in its own file."),
        ]
    blocks: list[Block] = [
        Heading(f"Contact law {name}", 2),
        *(Paragraph(text) for text in paragraphs(law.__doc__)),
    ]
    pairs = given.get("pair")
    listed = pairs if isinstance(pairs, list) else []
    pairs = [
        pair
        for pair in listed
        if isinstance(pair, Mapping) and isinstance(pair.get("materials"), list)
    ]
    if any(inputs.get("damping") == "identified" for inputs in (given, *pairs)):
        blocks.append(Paragraph(IDENTIFIED))
    blocks.append(Paragraph(f"Source: {law.source}."))
    if law.validity:
        blocks.append(Paragraph(f"Valid for: {law.validity}."))
    columns = ("input", "value", "unit", "meaning")
    blocks += [Grid(columns, rows)] if (rows := input_rows(law, given)) else []
    for pair in pairs:
        blocks.append(
            Paragraph(f"Between {' and '.join(map(str, pair['materials']))}, in place of these:")
        )
        blocks.append(Grid(columns, input_rows(law, pair)))
    return blocks


def input_rows(law: type[ContactLaw], given: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """Those of a law's inputs that are given."""
    return tuple(
        (q.name, shown_constant(given[q.name]), q.unit or "-", q.meaning)
        for q in law.inputs
        if q.name in given
    )


def case_blocks(provenance: Mapping[str, Any]) -> list[Block]:
    """The case as it was given, and as it was run."""
    found: list[Block] = []
    if provenance.get("case_toml"):
        found.append(Folded("Case file, as given", str(provenance["case_toml"])))
    if provenance.get("case_resolved_json"):
        try:
            text = json.dumps(json.loads(provenance["case_resolved_json"]), indent=1)
        except ValueError:
            text = str(provenance["case_resolved_json"])
        found.append(Folded("Case as run: all defaults filled, SI units", text))
    return [Heading("Case", 2), *found] if found else []


def origin(provenance: Mapping[str, Any], name: str) -> list[Block]:
    """Versions, hashes and times of a file."""
    rows = (("file", name), *provenance_rows(provenance))
    return [Heading("Where it comes from", 2), Grid(("", ""), rows)]


def citation(names: list[str]) -> list[Block]:
    """What to cite: the package, and the sources of the contact laws."""
    known = laws()
    sources = [f"{name}: {known[name].source}" for name in dict.fromkeys(names) if name in known]
    package = (
        f"The granchain developers: granchain {__version__}, discrete-element simulation of "
        "one-dimensional chains of beads."
    )
    return [
        Heading("How to cite", 2),
        Paragraph(package),
        *(Paragraph(f"Contact law {source}.") for source in sources),
    ]


def shown_constant(value: Any) -> str:
    """A value of an input."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {shown_constant(part)}" for key, part in value.items())
    return "none" if value is None else number_text(value, ".6g")
