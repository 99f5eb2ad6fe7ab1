"""Measured impacts as published: a folder with `about.toml` and `impacts.csv`.

Each number has its unit and its source.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from granchain.case.document import csv_rows
from granchain.contact import laws
from granchain.contact.pair import PAIR_QUANTITIES
from granchain.errors import FileError, TraceError
from granchain.keys import (
    TITLE_LENGTH,
    Problems,
    Table,
    brief,
    choice,
    in_si,
    key,
    read_table,
    text_key,
)
from granchain.measured.about import FactTable
from granchain.measured.folder import ABOUT, bytes_of, document_of

IMPACTS = "impacts.csv"

# Compared quantities of an impact, with unit and meaning.
MEASURABLE: dict[str, tuple[str, str]] = {
    "restitution": ("1", "separation speed divided by approach speed"),
    "duration": ("s", "time of contact"),
    "contact_diameter": ("m", "diameter of the largest contact circle"),
}
# Ratio of hardness to yield stress. It is not a quantity of a pair, but it gives the yield stress
# of a pair if only the hardness was measured.
YIELD_STRESS_RATIO = "yield_stress_ratio"
# Quantities of the two bodies that a row may specify, or the folder for all rows.
STATED_QUANTITIES: dict[str, str] = {"speed": "m/s", **PAIR_QUANTITIES, YIELD_STRESS_RATIO: "1"}
# Purposes of a row.
USES = {
    "fit": "used to fit parameters and to rank laws",
    "rank": "used to rank laws",
    "show": "compared only",
}
NOT_STATED = "not stated"
# Columns without a unit.
TABLE_COLUMNS = ("case", "quantity", "measured", "unit", "uncertainty", "use", "source", "doubt")
REQUIRED_COLUMNS = TABLE_COLUMNS[:-1]


def required_text_key(meaning: str) -> Any:
    """Return a key that requires one line of printable text."""
    allowed = f"one line of printable text, at most {TITLE_LENGTH} characters"
    return key(meaning, allowed, pattern=r"^\P{C}+$", max_length=TITLE_LENGTH)


class SourceTable(Table):
    """Published source of numbers."""

    name: str = key(
        "the name of the source in rows and constants",
        "a word of letters, digits and hyphens",
        pattern=r"^[\w.-]+$",
    )
    printed: str = required_text_key("author, year, title, and table")
    doi: str = text_key("the digital object identifier of the source")


class ConstantTable(Table):
    """Value for all rows that do not specify one."""

    name: str = required_text_key("the quantity of the two bodies, or the input of a law")
    value: float = key("the number", "a finite number")
    unit: str = required_text_key("the unit of the number")
    source: str = required_text_key("the name of a [[source]]")
    doubt: str = text_key("the reason why the number may be wrong")


class ImpactsTable(Table):
    """Description of a folder of measured impacts."""

    title: str = required_text_key("a title")
    kind: Literal["measured", "printed"] = choice(
        "the origin of the numbers", ("measured", "printed")
    )
    what: str = required_text_key("a description of the experiment")
    who: str = required_text_key("the authors of the experiment")
    licence: str = text_key("the licence of the data")
    source: list[SourceTable] = key("the sources of the numbers", "tables [[source]]")
    constant: list[ConstantTable] = key("numbers that apply to all rows", "tables [[constant]]", [])
    input: list[ConstantTable] = key("inputs of laws from a source", "tables [[input]]", [])
    fact: list[FactTable] = key("other published facts", "tables [[fact]]", [])
    doubt: list[str] = key("reasons why numbers may be wrong", "a list of texts", [])


@dataclass(frozen=True)
class MeasuredImpact:
    """Measured value of one impact.

    Parameters
    ----------
    case : str
        Name of the impact.
    quantity : str
        "restitution", "duration", or "contact_diameter".
    measured : float
        Measured value in the unit of `MEASURABLE`.
    uncertainty : float or None
        Uncertainty in the same unit, or None if it is not specified.
    stated : dict
        Specified speed and quantities of the two bodies by name, in SI units.
    use : {"fit", "rank", "show"}
        Purpose of the row.
    source, doubt : str
        Name of the source, and reason why the value may be wrong.
    """

    case: str
    quantity: str
    measured: float
    uncertainty: float | None
    stated: dict[str, float]
    use: str
    source: str
    doubt: str = ""


@dataclass(frozen=True)
class MeasuredImpacts:
    """Folder of measured impacts.

    `about` is the content of `about.toml`, `inputs` are the inputs of laws that it specifies, and
    `rows` are the rows of `impacts.csv`.
    """

    about: ImpactsTable
    inputs: dict[str, float]
    rows: tuple[MeasuredImpact, ...]


def read_impacts(folder: str | os.PathLike[str]) -> MeasuredImpacts:
    """Read a folder of measured impacts.

    Parameters
    ----------
    folder : str or path
        Folder with `about.toml` and `impacts.csv`. See docs/how-to/measured-impacts.md.

    Returns
    -------
    MeasuredImpacts

    Raises
    ------
    FileError
        If the folder or one of its files is missing.
    TraceError
        If units, sources, or columns are missing or invalid. The message lists every error.
    """
    if not Path(folder).is_dir():
        raise FileError(
            f"{folder}: not a folder. A folder that contains {ABOUT} and {IMPACTS} is required."
        )
    problems = Problems()
    about: ImpactsTable | None = read_table(
        ImpactsTable, "", document_of(Path(folder) / ABOUT), problems
    )
    cells = _cells_of(Path(folder) / IMPACTS)
    inputs: dict[str, float] = {}
    rows: tuple[MeasuredImpact, ...] = ()
    if about is not None:
        sources = [source.name for source in about.source]
        constants = _constants_of(about.constant, "constant", STATED_QUANTITIES, sources, problems)
        units = {
            quantity.name: quantity.unit
            for law in laws().values()
            for quantity in law.inputs
            if quantity.kind == "number"
        }
        inputs = _constants_of(about.input, "input", units, sources, problems)
        for fact in about.fact:
            _check_source(fact.source, sources, f"fact.{fact.what}.source", problems)
        rows = _measured_rows(cells, constants, sources, problems)
    if about is None or problems.sentences:
        raise TraceError([f"{folder}: {sentence}" for sentence in problems.sentences])
    return MeasuredImpacts(about, inputs, rows)


def _constants_of(
    tables: Sequence[ConstantTable],
    kind: str,
    units: Mapping[str, str],
    sources: Sequence[str],
    problems: Problems,
) -> dict[str, float]:
    """Return the numbers of `about.toml` in SI units, by name."""
    numbers: dict[str, float] = {}
    for table in tables:
        where = f"{kind}.{table.name}"
        _check_source(table.source, sources, f"{where}.source", problems)
        if table.name not in units:
            problems.add(
                where,
                "unknown name",
                f"The names are {', '.join(units)}",
                "Remove it",
                table.name,
                units,
            )
        elif problems.check(
            table.name not in numbers,
            where,
            "two values are given",
            "One is required",
            "Remove one",
        ):
            numbers[table.name] = _number_in_si(
                repr(table.value), table.unit, units[table.name], where, problems
            )
    return numbers


def _check_source(source: str, sources: Sequence[str], where: str, problems: Problems) -> None:
    """Report a source that is not one of the listed ones."""
    if source not in sources:
        requirement = (
            f"It must be the name of a [[source]] of {ABOUT}: "
            f"{', '.join(sources) or 'there are none'}"
        )
        problems.add(
            where,
            f"{brief(source)} is unknown" if source else "missing",
            requirement,
            "Specify where the number was published",
            source,
            sources,
        )


def _number_in_si(cell: str, unit: str, si: str, where: str, problems: Problems) -> float:
    """Return a number with its unit in SI units, or nan if it is invalid."""
    advice = f"Write a number [{si}]"
    try:
        value = float(cell) if unit == si else in_si(f"{cell} {unit}", si)
    except ValueError as error:
        value, advice = math.nan, str(error) if unit != si else advice
    if not math.isfinite(value):
        example = si if si != "1" else "1 for a pure number"
        requirement = f"It must be a finite number with its unit, such as {example}"
        problems.add(where, f"{brief(f'{cell} {unit}')} is not valid", requirement, advice)
    return value


def _cells_of(path: Path) -> list[list[str]]:
    """Return the cells of a CSV file without empty rows and comments."""
    try:
        cells = [row for _, row in csv_rows(bytes_of(path).decode("utf-8-sig"))]
    except UnicodeDecodeError:
        raise TraceError(
            f"{path}: not valid UTF-8. A CSV file in UTF-8 is required. Save the file as UTF-8."
        ) from None
    if len(cells) < 2:
        raise TraceError(
            f"{path}: {len(cells)} rows are too few. A heading and at least one row are "
            f"required. Write {', '.join(TABLE_COLUMNS)} above the numbers."
        )
    return cells


def _measured_rows(
    cells: Sequence[Sequence[str]],
    constants: Mapping[str, float],
    sources: Sequence[str],
    problems: Problems,
) -> tuple[MeasuredImpact, ...]:
    """Return the rows under the headings, or none if a heading is invalid.

    A column with a quantity of the two bodies has its unit in brackets.
    """
    headings = (cell.partition("[") for cell in cells[0])
    units = {name.strip(): unit.rstrip("] ") for name, _, unit in headings}
    with_units = {name: f"{name} [{si}]" for name, si in STATED_QUANTITIES.items()}
    for name, unit in units.items():
        if name in STATED_QUANTITIES:
            problems.check(
                bool(unit),
                f"{IMPACTS}.{name}",
                "the column has no unit",
                f"The heading must be {with_units[name]}",
                "Write the unit in brackets after the name",
            )
        elif name not in TABLE_COLUMNS:
            problems.add(
                f"{IMPACTS}.{name}",
                "unknown column",
                f"The columns are {', '.join([*TABLE_COLUMNS, *with_units.values()])}",
                "Remove it",
                name,
                [*TABLE_COLUMNS, *STATED_QUANTITIES],
            )
    for name in REQUIRED_COLUMNS:
        problems.check(
            name in units,
            f"{IMPACTS}.{name}",
            "missing column",
            f"The columns {', '.join(REQUIRED_COLUMNS)} are required",
            f"Add the column {name}",
        )
    if problems.sentences:
        return ()
    measured = []
    for count, row in enumerate(cells[1:], 1):
        where = f"{IMPACTS}, row {count}"
        if problems.check(
            len(row) == len(units),
            where,
            f"the row has {len(row)} cells",
            f"It must have {len(units)} cells, like the heading",
            "Enclose text with commas in quotes",
        ):
            by_name = dict(zip(units, row, strict=True))
            measured.append(_measured_row(by_name, units, constants, sources, where, problems))
    ranked = sorted({impact.quantity for impact in measured if impact.use != "show"})
    problems.check(
        len(ranked) < 2,
        f"{IMPACTS}.use",
        f"the laws would be ranked by {' and '.join(ranked)}",
        "They must be ranked by one quantity",
        'Give the other rows use = "show"',
    )
    return tuple(measured)


def _measured_row(
    cells: Mapping[str, str],
    units: Mapping[str, str],
    constants: Mapping[str, float],
    sources: Sequence[str],
    where: str,
    problems: Problems,
) -> MeasuredImpact:
    """Return one row in SI units. Invalid numbers are nan."""
    stated = dict(constants)
    for name, cell in cells.items():
        if name in STATED_QUANTITIES and cell:
            stated[name] = _number_in_si(
                cell, units[name], STATED_QUANTITIES[name], f"{where}, {name}", problems
            )
            problems.check(
                not stated[name] <= 0.0,
                f"{where}, {name}",
                f"{brief(cell)} is out of range",
                "It must be a number above 0",
                "Leave the cell empty if the number is not specified",
            )
    quantity, unit, use = cells["quantity"], cells["unit"], cells["use"]
    if quantity not in MEASURABLE:
        problems.add(
            f"{where}, quantity",
            f"{brief(quantity)} is unknown",
            f"The quantities are {', '.join(MEASURABLE)}",
            "",
            quantity,
            MEASURABLE,
        )
    problems.check(
        use in USES,
        f"{where}, use",
        f"{brief(use)} is unknown",
        "It must be " + ", ".join(f"{word} ({meaning})" for word, meaning in USES.items()),
    )
    _check_source(cells["source"], sources, f"{where}, source", problems)
    si = MEASURABLE[quantity][0] if quantity in MEASURABLE else unit
    numbers = {
        name: _number_in_si(cells[name], unit, si, f"{where}, {name}", problems)
        for name in ("measured", "uncertainty")
        if name == "measured" or cells[name] not in ("", NOT_STATED)
    }
    problems.check(
        bool(cells["uncertainty"]),
        f"{where}, uncertainty",
        "missing",
        f'It must be a number in the unit of the value, or "{NOT_STATED}"',
        "Specify the uncertainty of the number",
    )
    return MeasuredImpact(
        case=cells["case"],
        quantity=quantity,
        measured=numbers["measured"],
        uncertainty=numbers.get("uncertainty"),
        stated=stated,
        use=use,
        source=cells["source"],
        doubt=cells.get("doubt", ""),
    )
