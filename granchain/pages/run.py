"""Blocks of a report about a run: case, contact law, numbers, energy, figures, and origin."""

from __future__ import annotations

import inspect
import json
import math
import re
import textwrap
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from granchain import __version__
from granchain.analysis import summary
from granchain.contact import laws
from granchain.contact.law import ContactLaw, docstring_of
from granchain.figures import all_figures, lacking
from granchain.mechanisms.checks import Check
from granchain.pages.blocks import (
    STRANGE,
    Block,
    Boxed,
    Formula,
    Grid,
    Heading,
    Markup,
    Paragraph,
    Picture,
    paragraphs,
)
from granchain.pages.numbers import check_grid, number_blocks, provenance_rows
from granchain.pages.setup import setup_grid, words_of
from granchain.store import Result

# The equations of the package's laws as MathML, printed by docs/laws.py from docs/equations.
EQUATIONS = Path(__file__).with_name("equations.json")

# Captions of figures.
FIGURE_WORDS = {
    "force_traces": "Force versus time at each sensor.",
    "peaks": "Peak force, arrival, width, and speed of the first pulse along the chain, with "
    "power-law fits versus bead number.",
    "space_time": "Velocity of each body versus time and position.",
    "bead_velocities": "Velocities of bodies versus time.",
    "hysteresis": "Contact force versus overlap at the recorded contacts.",
    "energy": "Kinetic, recoverable, and dissipated energy versus time, and error of the energy "
    "balance.",
    "losses": "Energy dissipated in each contact.",
    "overlaps": "Largest and residual overlap of each contact.",
    "slider_acceleration": "Acceleration of the slider versus crank angle, with and without "
    "clearance.",
    "slider_kinematics": "Position, velocity, and acceleration of the slider versus crank angle.",
    "joint_force": "Contact force in the joint versus crank angle.",
    "joint_penetration": "Penetration in the joint versus crank angle.",
    "joint_orbit": "Path of the journal centre relative to the bearing centre, within the "
    "clearance circle.",
    "joint_impact": "Contact force versus penetration in one impact.",
    "crank_energy": "Work of the crank, kinetic energy, dissipated energy, and error of the "
    "energy balance.",
}

IDENTIFIED = (
    'This run used damping = "identified" where listed in the inputs. With this setting, the '
    "effective restitution equals the nominal restitution. The remarks above on the "
    "effective restitution refer to the published damping."
)

# Headings that several files of a report share.
OF_A_LAW, HOW_TO_CITE = "Contact law ", "How to cite"
# Characters in a line of a printed case, and a list in it: its items, and the indentation of its
# end.
WIDTH = 90
_LIST = re.compile(r"\[\n((?: +[^\[\]{}\n]+\n)+)( *)\]")


def run_blocks(result: Result, name: str, checks: Sequence[Check] | None = None) -> list[Block]:
    """Return the blocks of a report about a result.

    Parameters
    ----------
    result : Result
    name : str
        Name of its file.
    checks : sequence of Check, optional
        Checks of a mechanism, instead of pulses and energy balance.
    """
    numbers = summary(result)
    end = f" until {1e6 * numbers.end:.6g} us" if math.isfinite(numbers.end) else ""
    # the messages of a run contain the time step and its origin
    told = any(one.text.startswith("time step ") for one in result.messages)
    step = "" if told else f", time step {result.time_step:.6g} s"
    first = f"Simulated{end}, contact law {result.law}{step}: {result.status.label}."
    case, laws_met = resolved(result.provenance), result.law.split(", ")
    return [
        Heading(result.title or name, 1),
        Paragraph(first),
        *(
            Paragraph(str(one), warning=True) if one.warning else Paragraph(f"{one.text}.")
            for one in result.messages
        ),
        *setup_blocks(case),
        *(number_blocks(numbers) if checks is None else [check_grid(checks)]),
        *pictures(result),
        *(block for law in laws_met for block in law_blocks(law, inputs_of(case, law))),
        *case_blocks(result.provenance),
        *origin(result.provenance, name),
        *citation(laws_met),
    ]


def inputs_of(case: Mapping[str, Any], law: str) -> dict[str, Any]:
    """Return the table of a contact law in a completed case: of [contact], a segment, or a wall."""
    chain, ends = case.get("chain"), case.get("ends")
    segments = chain.get("segment", []) if isinstance(chain, dict) else []
    walls = ends if isinstance(ends, dict) else {}
    tables = [
        case.get("contact"),
        *(one.get("contact") for one in segments if isinstance(one, dict)),
        *(walls.get(f"{side}_contact") for side in ("left", "right")),
    ]
    found = [one for one in tables if isinstance(one, dict)]
    named = [one for one in found if one.get("law") == law]
    return next(iter(named or found), {})


def resolved(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return the completed case from its JSON in a file, or an empty table."""
    try:
        found = json.loads(provenance.get("case_resolved_json") or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def setup_blocks(case: Mapping[str, Any], varied: Container[str] = ()) -> list[Block]:
    """Return the table of the case, with the keys that a study varies."""
    try:
        grid = setup_grid(case, varied)
    except STRANGE:
        return []
    return [grid] if grid.rows else []


def pictures(result: Result) -> list[Block]:
    """Return the figures of the variables of a file, and the reasons why others are missing."""
    return [
        Heading("Figures", 2),
        *(
            Picture(draw, FIGURE_WORDS.get(name, f"{name.replace('_', ' ')}."))
            for name, draw in all_figures(result).items()
        ),
        *(
            Paragraph(f"No figure of {name.replace('_', ' ')}. {advice}")
            for name, advice in lacking(result).items()
        ),
    ]


@cache
def equations() -> dict[str, Any]:
    """Return the equation and the symbols of each law of the package.

    `equation` is MathML. Each of the `symbols` has MathML, a meaning, a unit, and, for an input of
    the law, its name.
    """
    return dict(json.loads(EQUATIONS.read_text(encoding="ascii")))


def equation_blocks(law: type[ContactLaw]) -> list[Block]:
    """Return the equation of a law with its symbols, or the source of a user's law."""
    printed = equations().get(law.name) if law.__module__.startswith("granchain.contact.") else None
    if printed is None:
        # with the base classes in the same file
        own = [one for one in law.__mro__ if one.__module__ == law.__module__]
        with suppress(OSError, TypeError):
            return [Boxed("Source of the law", "\n\n".join(map(inspect.getsource, own)))]
        return []
    rows = [
        (Markup(symbol), text, "-" if unit == "1" else unit)
        for symbol, text, unit, _ in printed["symbols"]
    ]
    title = f"Symbols of {law.name}"
    columns = ("symbol", "meaning", "unit")
    return [Formula(printed["equation"]), Grid(columns, tuple(rows), title)]


def law_blocks(name: str, stated: Mapping[str, Any]) -> list[Block]:
    """Return the description, the source, and the inputs of a contact law in this case."""
    law = laws().get(name)
    if law is None:
        return [
            Heading(f"{OF_A_LAW}{name}", 2),
            Paragraph("This law is not installed here. Its definition is in a separate file."),
        ]
    summary, *more = paragraphs(docstring_of(law)) or [""]
    pairs = stated.get("pair")
    listed = pairs if isinstance(pairs, list) else []
    pairs = [
        pair
        for pair in listed
        if isinstance(pair, Mapping) and isinstance(pair.get("materials"), list)
    ]
    identified = any(inputs.get("damping") == "identified" for inputs in (stated, *pairs))
    inputs = {f"Inputs of {name}": input_rows(law, stated)}
    for pair in pairs:
        both = " and ".join(map(str, pair["materials"]))
        inputs[f"Inputs of {name} between {both}"] = input_rows(law, pair)
    return [
        Heading(f"{OF_A_LAW}{name}", 2),
        Paragraph(summary),
        *equation_blocks(law),
        *map(Paragraph, more),
        *([Paragraph(IDENTIFIED)] if identified else []),
        Paragraph(f"Source: {law.source}."),
        *([Paragraph(f"Valid for: {law.validity}.")] if law.validity else []),
        *(
            Grid(("input", "value", "unit", "meaning"), rows, title)
            for title, rows in inputs.items()
            if rows
        ),
    ]


def input_rows(law: type[ContactLaw], values: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """Return the inputs of a law that have values."""
    return tuple(
        (q.name, words_of(values[q.name]), q.unit or "-", q.meaning)
        for q in law.inputs
        if values.get(q.name) is not None
    )


def case_blocks(provenance: Mapping[str, Any]) -> list[Block]:
    """Return the case as given, and the completed case."""
    found: list[Block] = []
    if provenance.get("case_toml"):
        found.append(Boxed("Case file", str(provenance["case_toml"])))
    if case := resolved(provenance):
        text = json.dumps(case, indent=1)
        text = _LIST.sub(lambda found: in_lines(found[1], found[2]), text)
        found.append(Boxed("Complete case with all defaults, in SI units", text))
    return [Heading("Case", 2), *found] if found else []


def in_lines(items: str, indent: str) -> str:
    """Return a JSON list with one item per line as lines of the width of a page."""
    text = textwrap.fill(" ".join(items.split()), WIDTH, break_long_words=False)
    if "\n" not in text:
        return f"[{text}]"
    return "[\n" + textwrap.indent(text, f"{indent} ") + f"\n{indent}]"


def origin(provenance: Mapping[str, Any], name: str, more: Sequence[str] = ()) -> list[Block]:
    """Return the versions, hashes, and times of a file, and other attributes."""
    rows = [("file", name), *((key, str(provenance[key])) for key in more if key in provenance)]
    # names and versions without JSON syntax
    rows += [(key, re.sub(r'[{}"]|:(?= )', "", text)) for key, text in provenance_rows(provenance)]
    return [Heading("Provenance", 2), Grid(("", ""), tuple(rows))]


def citation(names: list[str]) -> list[Block]:
    """Return the works to cite: the package, and the sources of the contact laws."""
    known = laws()
    sources = [f"{name}: {known[name].source}" for name in dict.fromkeys(names) if name in known]
    package = (
        f"The granchain developers: granchain {__version__}, discrete element simulation of "
        "one-dimensional chains of beads."
    )
    return [
        Heading(HOW_TO_CITE, 2),
        Paragraph(package),
        *(Paragraph(f"Contact law {source}.") for source in sources),
    ]
