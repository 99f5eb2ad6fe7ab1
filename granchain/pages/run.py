"""What a report says of one run: case, contact law, numbers, energy, figures, messages, where
it comes from, how to cite it."""

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
from granchain.mechanism.checks import Check
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

# What a figure shows: its caption.
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

# Headings that several files on one page share.
OF_A_LAW, HOW_TO_CITE = "Contact law ", "How to cite"
# Letters in a line of a case that is printed, and a list in it: its items, and the indent of its
# end.
WIDTH = 90
_LIST = re.compile(r"\[\n((?: +[^\[\]{}\n]+\n)+)( *)\]")


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
    # the messages of a run say its time step, and how it was found
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
    """The table of a contact law in a case as it was run: that under [contact], or the first of a
    segment or wall."""
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
    """The case as it was run, from its JSON in a file; empty where that is none."""
    try:
        found = json.loads(provenance.get("case_resolved_json") or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def setup_blocks(case: Mapping[str, Any], varied: Container[str] = ()) -> list[Block]:
    """What was set up, where there is a case that can be read; keys of it that a study varies."""
    try:
        grid = setup_grid(case, varied)
    except STRANGE:
        return []
    return [grid] if grid.rows else []


def pictures(result: Result) -> list[Block]:
    """The figures that the file has the variables for, and what the others lack."""
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
    """For each law of the package: `equation`, as MathML, and `symbols`, a list of MathML, meaning,
    unit and, where the symbol is an input of the law, its name."""
    return dict(json.loads(EQUATIONS.read_text(encoding="ascii")))


def equation_blocks(law: type[ContactLaw]) -> list[Block]:
    """The equation of a law of the package with its symbols; of a law of yours the source."""
    printed = equations().get(law.name) if law.__module__.startswith("granchain.contact.") else None
    if printed is None:
        # with the classes of the same file that it takes something from
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
    """A contact law: what it is, where it is from, and its inputs in this case."""
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
    """Those of a law's inputs that are given."""
    return tuple(
        (q.name, words_of(values[q.name]), q.unit or "-", q.meaning)
        for q in law.inputs
        if values.get(q.name) is not None
    )


def case_blocks(provenance: Mapping[str, Any]) -> list[Block]:
    """The case as it was given, and as it was run."""
    found: list[Block] = []
    if provenance.get("case_toml"):
        found.append(Boxed("Case file", str(provenance["case_toml"])))
    if case := resolved(provenance):
        text = json.dumps(case, indent=1)
        text = _LIST.sub(lambda found: in_lines(found[1], found[2]), text)
        found.append(Boxed("Complete case with all defaults, in SI units", text))
    return [Heading("Case", 2), *found] if found else []


def in_lines(items: str, indent: str) -> str:
    """A list of which JSON has one item a line, in lines as long as a page is wide."""
    text = textwrap.fill(" ".join(items.split()), WIDTH, break_long_words=False)
    if "\n" not in text:
        return f"[{text}]"
    return "[\n" + textwrap.indent(text, f"{indent} ") + f"\n{indent}]"


def origin(provenance: Mapping[str, Any], name: str, more: Sequence[str] = ()) -> list[Block]:
    """Versions, hashes and times of a file, and more that is in its attributes."""
    rows = [("file", name), *((key, str(provenance[key])) for key in more if key in provenance)]
    # names and versions without the signs of JSON
    rows += [(key, re.sub(r'[{}"]|:(?= )', "", text)) for key, text in provenance_rows(provenance)]
    return [Heading("Provenance", 2), Grid(("", ""), tuple(rows))]


def citation(names: list[str]) -> list[Block]:
    """What to cite: the package, and the sources of the contact laws."""
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
