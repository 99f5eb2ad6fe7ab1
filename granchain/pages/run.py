"""What a report says of one run: case, contact law, numbers, energy, figures, messages, where
it comes from, how to cite it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from granchain import __version__
from granchain.analysis import Summary, summary
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
    paragraphs,
    picture_or_reason,
)
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
    if checks is None:
        blocks += [*pulse_blocks(numbers), *ledger(numbers)]
    else:
        rows = [
            (
                one.what,
                brief(one.value),
                one.unit,
                "" if one.printed is None else brief(one.printed),
            )
            for one in checks
        ]
        blocks += [
            Heading("Checks", 2),
            Grid(("check", "value", "unit", "printed by its source"), tuple(rows)),
        ]
    blocks += pictures(result)
    try:
        contact = json.loads(result.provenance.get("case_resolved_json", "{}")).get("contact", {})
    except ValueError:
        contact = {}
    blocks += law_blocks(result.law, contact if isinstance(contact, dict) else {})
    blocks += case_blocks(result.provenance)
    blocks += origin(result.provenance, name)
    return [*blocks, *citation([result.law])]


def pulse_blocks(numbers: Summary) -> list[Block]:
    """First pulses at the sensors."""
    remarks = [Paragraph(f"{remark[0].upper()}{remark[1:]}.") for remark in numbers.remarks]
    if not numbers.sensors:
        return list(remarks)
    rows = tuple(
        (
            str(one.bead),
            brief(one.peak),
            ("merged " if one.merged else "")
            + (brief(1e6 * one.arrival) if one.complete else "not yet"),
            brief(1e6 * one.width),
            brief(1e3 * one.impulse),
        )
        for one in numbers.sensors
    )
    blocks: list[Block] = [
        Heading("First pulses", 2),
        Grid(
            (
                "sensor bead",
                "peak [N]",
                "arrival [us]",
                "width at half height [us]",
                "impulse [mN s]",
            ),
            rows,
        ),
    ]
    if any(one.merged for one in numbers.sensors):
        blocks.append(
            Paragraph(
                "merged: a second, larger pulse has passed the first before it had fallen to "
                "half; the numbers are of both."
            )
        )
    if math.isfinite(numbers.wave_speed):
        beads = numbers.wave_speed_beads
        blocks.append(
            Paragraph(
                f"Wave speed {numbers.wave_speed:.6g} m/s: line through the arrivals at beads "
                f"{beads[0]} to {beads[-1]}."
            )
        )
    return [*blocks, *remarks]


def ledger(numbers: Summary) -> list[Block]:
    """The energy at the end."""
    if numbers.energy is None:
        return []
    balance = numbers.energy
    share = 100.0 / balance.put_in if balance.put_in > 0.0 else math.nan
    rows = tuple(
        (name, brief(value), brief(share * value)) for name, value in balance.parts.items()
    )
    return [
        Heading("Energy ledger", 2),
        Grid(("energy at the end", "[J]", "[% of put in]"), rows),
        Paragraph(
            f"Largest residual of the ledger {balance.largest_residual:.1e} of "
            f"{balance.put_in:.6g} J put in."
        ),
    ]


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
    facts = [("file", name)]
    names = (
        "started",
        "granchain_version",
        "versions",
        "platform",
        "source_hash",
        "case_sha256",
        "data_sha256",
    )
    facts += [(key, str(provenance[key])) for key in names if provenance.get(key)]
    if isinstance(provenance.get("wall_time"), float):
        facts.append(("wall_time", f"{provenance['wall_time']:.3g} s"))
    return [Heading("Where it comes from", 2), Grid(("", ""), tuple(facts))]


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


def brief(value: Any, digits: int = 6) -> str:
    """A number for a table; a dash for none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "-" if value is None else str(value)
    return f"{value:.{digits}g}" if math.isfinite(value) else "-"


def shown_constant(value: Any) -> str:
    """A value of an input."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {shown_constant(part)}" for key, part in value.items())
    return "none" if value is None else brief(value)
