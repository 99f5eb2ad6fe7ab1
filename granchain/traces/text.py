"""Columns of numbers in a text file as oscilloscopes and spreadsheets write it: preamble, headings, units, decimal comma.

Nothing is guessed that would give other numbers: a cell that is no number in the midst of the numbers, a row of another length or a
comma that could be two things is refused, with the line.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from granchain.case_schema import shown
from granchain.errors import TraceError
from granchain.traces.columns import Column, unit_in

# Between cells, in the order in which they are tried; None is any white space.
DELIMITERS = (";", "\t", ",", None)
_WORDS = {";": "semicolon", "\t": "tab", ",": "comma", None: "space"}

_POINT = re.compile(r"[+-]?(?:[0-9]+(?P<point>\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_COMMA = re.compile(r"[+-]?(?:[0-9]+,[0-9]*|,[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
# Lines that tell how a file is made: more than any preamble has.
ENOUGH = 2000
# Headings and units stand in so many lines above the numbers at most.
HEADINGS = 3


@dataclass(frozen=True)
class _Row:
    line: int
    cells: list[str]
    numbers: list[float | None]

    @property
    def places(self) -> tuple[int, ...]:
        """Where the row has cells; empty where one of them is no number."""
        filled = [i for i, cell in enumerate(self.cells) if cell]
        return tuple(filled) if all(self.numbers[i] is not None for i in filled) else ()

    def holds(self, places: tuple[int, ...]) -> bool:
        return len(self.cells) > places[-1] and all(self.numbers[i] is not None for i in places)


def decoded(content: bytes, where: str) -> str:
    """Text of a file in the encodings that instruments and spreadsheets write."""
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if content.startswith(mark):
            try:
                return content.decode(encoding)
            except UnicodeDecodeError:
                raise TraceError(f"{where}: got bytes that are no {encoding} text, allowed text; export it as CSV again") from None
    if b"\0" in content:
        raise TraceError(f"{where}: got bytes that are no text, allowed CSV, .npy, .npz, HDF5, MATLAB or TDMS; export it as CSV")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        # Western European, where only the micro sign and letters in headings are not ASCII: no number can come out wrong.
        return content.decode("latin-1")


def text_columns(content: bytes, where: str) -> tuple[list[Column], str]:
    """Columns of a text file, and all that stands above them.

    Raises
    ------
    TraceError
        For a file whose numbers cannot be told with certainty.
    """
    text = decoded(content, where)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    rows, places, delimiter = _best(lines, where)
    regular = [i for i, row in enumerate(rows) if row.places == places]
    first = _first(rows, places, regular[0])
    block = rows[first : regular[-1] + 1]
    problems = _faults(rows, first, regular[0], places, delimiter)
    if problems:
        raise TraceError([f"{where}: {problem}" for problem in problems[:5]])
    names, units = _headings(rows[:first], rows[: regular[0]], places)
    columns = []
    for k, i in enumerate(places):
        values = np.array([row.numbers[i] for row in block], dtype=float)
        columns.append(Column(names[k], units[k], values, _digit([row.cells[i] for row in block])))
    return columns, "\n".join(lines[: rows[regular[0]].line - 1])


def _best(lines: list[str], where: str) -> tuple[list[_Row], tuple[int, ...], str | None]:
    """Rows, places of the numbers and delimiter: the one that makes most rows of two numbers or more."""
    found = []
    for order, delimiter in enumerate(DELIMITERS):
        rows = _split(lines[:ENOUGH], delimiter)
        count = Counter(row.places for row in rows if row.places)
        if count:
            places, number = max(count.items(), key=lambda item: (item[1], len(item[0])))
            found.append(((min(len(places), 2), number, -order), rows, places, delimiter))
    if not found:
        raise TraceError(f"{where}: got no row of numbers, allowed columns of numbers, time first; export the trace as CSV")
    _, rows, places, delimiter = max(found, key=lambda one: one[0])
    return rows if len(lines) <= ENOUGH else _split(lines, delimiter), places, delimiter


def _split(lines: list[str], delimiter: str | None) -> list[_Row]:
    rows = []
    for i, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        cells = [cell.strip().strip('"').strip() for cell in line.split(delimiter)]
        rows.append(_Row(i, cells, [_number(cell, delimiter) for cell in cells]))
    return rows


def _number(cell: str, delimiter: str | None) -> float | None:
    if _POINT.fullmatch(cell):
        return float(cell)
    if delimiter != "," and _COMMA.fullmatch(cell):
        return float(cell.replace(",", "."))
    return None


def _first(rows: list[_Row], places: tuple[int, ...], regular: int) -> int:
    """First row of the numbers: some instruments write their preamble into columns of its own, beside the first numbers."""
    first = regular
    while first > 0 and rows[first - 1].holds(places):
        first -= 1
    return first


def _faults(rows: list[_Row], first: int, regular: int, places: tuple[int, ...], delimiter: str | None) -> list[str]:
    if delimiter == ",":
        cells = [row.cells[i] for row in rows[first:] if row.holds(places) for i in places]
        whole = not any("." in cell for cell in cells)
        headings = sum(bool(cell) for cell in rows[first - 1].cells) if first else 0
        if any(re.fullmatch(r"[+-]?0[0-9]+", cell) for cell in cells) or (whole and 2 * headings == len(places)):
            return [
                f"line {rows[first].line}: got commas that could be both separator and decimal sign, allowed one meaning; export it with "
                "semicolons or tabs between the columns, or with decimal points"
            ]
    # A row right above the block that begins as one of its rows, and anything below it that is not one of them.
    doubtful = [row for row in rows[max(first - 1, 0) : first] if _begins_alike(row, places)]
    return [f"line {row.line}: {_told(row, places)}" for row in [*doubtful, *rows[regular:]] if row.places != places]


def _begins_alike(row: _Row, places: tuple[int, ...]) -> bool:
    return len(row.cells) > places[0] and row.numbers[places[0]] is not None and len(row.cells) == places[-1] + 1


def _told(row: _Row, places: tuple[int, ...]) -> str:
    for column, i in enumerate(places, start=1):
        if i >= len(row.cells):
            return f"got {column - 1} of {len(places)} numbers, allowed all; the file is cut off there, or two records are in it"
        if row.numbers[i] is None:
            got = shown(row.cells[i]) if row.cells[i] else "nothing"
            return f"got {got} in column {column}, allowed a number; mend the file at its source, or cut the trace before it"
    extra = next((i for i in range(len(row.cells)) if row.cells[i] and i not in places), 0)
    return f"got {shown(row.cells[extra])} where the other rows have nothing, allowed rows of one kind; take it out"


def _headings(above: list[_Row], preamble: list[_Row], places: tuple[int, ...]) -> tuple[list[str], list[str | None]]:
    """Name and unit of each column, from the lines right above the numbers, or from a preamble that names the units of both axes."""
    names, units = [""] * len(places), [None] * len(places)  # type: list[str], list[str | None]
    for row in above[: -HEADINGS - 1 : -1]:
        # A row of headings has a text over each column; two cells are also a line of a preamble, where they do not speak of the columns.
        cells = [row.cells[i] if i < len(row.cells) else "" for i in places]
        if not all(cells) or any(row.numbers[i] is not None for i in places[:1]):
            break
        for k, cell in enumerate(cells):
            unit = unit_in(cell)
            units[k] = units[k] if units[k] is not None else unit
            names[k] = f"{cell} {names[k]}".strip() if unit != cell.strip("()[]{} ") else names[k]
    for row in preamble:
        words = [cell for cell in row.cells if cell]
        if len(words) >= 2 and re.match(r"(horizontal|x|time)[ -]?units?\b", words[0], re.IGNORECASE):
            units[0] = units[0] or words[1]
        if len(words) >= 2 and re.match(r"(vertical|y)[ -]?units?\b", words[0], re.IGNORECASE):
            units[1:] = [unit or words[1] for unit in units[1:]]
    return [name or f"column {k}" for k, name in enumerate(names, start=1)], units


def _digit(cells: list[str]) -> float:
    """Value of the last digit that most of the cells print; a cell may have lost its last zeros."""
    values = []
    for cell in cells[:: max(1, len(cells) // 500)]:
        mantissa, _, exponent = cell.replace(",", ".").lower().partition("e")
        # A larger exponent is that of no time, and of no double.
        values.append(10.0 ** max(-300, min(300, int(exponent or 0) - len(mantissa.partition(".")[2]))))
    return float(np.quantile(values, 0.75, method="nearest"))
