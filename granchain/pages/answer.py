"""Report about any answer, from the labels of its variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from granchain.figures import (
    bifurcation,
    comparison,
    dispersion_curves,
    equivalence,
    fit,
    fits,
    impact_comparison,
    impact_history,
    impact_loops,
    mode_shapes,
    orbit,
    phase_curve,
    pulse_numbers,
    spectrum,
)
from granchain.pages.blocks import Block, Grid, Heading, Paragraph, Picture
from granchain.pages.run import case_blocks, citation, inputs_of, law_blocks, origin, resolved
from granchain.store.tables import is_number_cell, value_tables

# Rows of a table of a report. The file contains all of them.
MOST_ROWS = 100
# Answers inside an answer that a report shows.
MOST_GROUPS = 3


def ranking(answer: Any) -> Any:
    """Plot a ranking of fits or of equivalents."""
    return (fits if "aic" in answer.variables else equivalence)(answer)


# For each class of answers: captions, and functions that plot the answer.
FIGURES: dict[str, Sequence[tuple[str, Callable[[Any], Any]]]] = {
    "Branch": (
        (
            "Orbits versus the parameter. Lines are solid for stable and dashed for unstable "
            "orbits, and markers are special points.",
            bifurcation,
        ),
    ),
    "Orbit": (
        (
            "Velocity versus displacement of the orbit, states after each period near it, and the "
            "Floquet multipliers with the unit circle.",
            orbit,
        ),
    ),
    "Dispersion": [
        (
            "Frequency versus wavenumber of small waves about the static state. Band gaps are "
            "grey.",
            dispersion_curves,
        )
    ],
    "Spectrum": [
        (
            "Amplitude ratio of sensor to source, its coherence, and, if it was computed, "
            "frequency versus wavenumber.",
            spectrum,
        )
    ],
    "Fit": [
        (
            "Measured and fitted pulses and their difference, pulse properties at each sensor, "
            "and correlations of the fitted parameters.",
            fit,
        )
    ],
    "Modes": [("Number of participating beads in each mode, and mode shapes.", mode_shapes)],
    "Comparison": (
        ("Measured and simulated force at each sensor, and their difference.", comparison),
        (
            "Measured and simulated peak force and arrival time of the first pulse versus sensor "
            "bead.",
            pulse_numbers,
        ),
    ),
    "Ranking": [("Ranking of the laws, and residual at each sensor.", ranking)],
    "ImpactComparison": (
        ("Measured and computed impacts. Rows in bold rank the laws.", impact_comparison),
    ),
    "ImpactResult": [
        ("Force versus overlap of the impact.", impact_loops),
        ("Overlap, rate, acceleration, and forces versus time.", impact_history),
        ("Rate versus overlap of the impact.", phase_curve),
    ],
}


def answer_blocks(answer: Any, name: str) -> list[Block]:
    """Return the blocks of a report about an answer.

    Parameters
    ----------
    answer : Answer
    name : str
        Name of its file.
    """
    kind = type(answer).__name__
    laws = [law for law in answer.law.split(", ") if law]
    case = resolved(answer.provenance)
    return [
        Heading(f"{kind}: {answer.title or name}", 1),
        *(Paragraph(str(message), warning=True) for message in answer.messages),
        *variable_blocks(answer),
        *(
            block
            for label, group in list(answer.groups.items())[:MOST_GROUPS]
            if type(group).__name__ in FIGURES
            for block in [Heading(label, 2), *variable_blocks(group)]
        ),
        *(
            block
            for law in laws
            for block in law_blocks(
                law, answer.inputs if kind == "ImpactResult" else inputs_of(case, law)
            )
        ),
        *case_blocks(answer.provenance),
        *origin(answer.provenance, name),
        *citation(laws),
    ]


def variable_blocks(answer: Any) -> list[Block]:
    """Return the figures and the tables of an answer."""
    captions = FIGURES.get(type(answer).__name__, ())
    return [
        *(Picture(partial(draw, answer), caption) for caption, draw in captions),
        *(
            Grid(each.columns, each.rows[:MOST_ROWS], "", _alignment(each.rows))
            for each in value_tables(answer.variables)
        ),
    ]


def _alignment(rows: Sequence[Sequence[str]]) -> str:
    """Return "<" for each column of text and ">" for each column of numbers."""
    columns = zip(*rows, strict=True)
    return "".join(">" if all(map(is_number_cell, column)) else "<" for column in columns)
