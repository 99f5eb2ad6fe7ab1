"""Columns of numbers in text files of oscilloscopes and spreadsheets.

The files may have preambles, headings, units, and decimal commas. The first lines determine the
format, and pandas reads the columns.

Ambiguous numbers are never guessed. An invalid cell among the numbers, a row of another length, or
an ambiguous character is rejected with its line.
"""

from __future__ import annotations

import bisect
import csv
import io
import itertools
import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from granchain.errors import TraceError
from granchain.keys import brief
from granchain.measured.headings import (
    KEYS,
    SEGMENT_KEYS,
    Preamble,
    factor_in,
    is_same,
    is_unit,
    plain_key,
    preamble_of,
    unit_in,
)

if TYPE_CHECKING:
    from pandas import DataFrame

# Delimiters between cells, in the order in which they are tried. None means any white space.
DELIMITERS = (";", "\t", ",", None)
_EXPONENT_PATTERN = r"(?:[eE][+-]?[0-9]{1,3}+)?"
# Unsigned numbers by decimal sign, and numbers in groups of three digits, which are read only if
# the decimal sign is specified.
_DIGITS = {
    ".": r"(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)",
    ",": r"(?:[0-9]++(?:,[0-9]++)?|,[0-9]++)",
}
_GROUPS = {
    ".": r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?",
    ",": r"[0-9]{1,3}(?:\.[0-9]{3})+(?:,[0-9]*)?",
}
# 1.050 may be 1050 or 1.05.
_EITHER = re.compile(r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}")
# A zero before other digits does not start a number, but it may be the second part of a number that
# a comma or a space has split.
_LED = r"[+-]?0[0-9]"
_THREE = re.compile("[0-9]{3}")
# Beginning of a row of numbers with characters that no number has, such as 40'000.
_SIMILAR = re.compile(r"[+-]?[0-9.,][0-9.,'\s]*(?:[eE][+-]?[0-9]+)?")
_DECIMAL_SEPARATOR = re.compile(r"^Decimal_Separator\s*[\t;,]?\s*([.,])\s*$", re.I | re.M)
# Number of characters that determine the format, more than any preamble has. It is also the limit
# on the length of a line.
FORMAT_LENGTH = 2**14
# Largest number of lines with headings and units above the numbers.
HEADINGS = 3
# Largest number of rows with a preamble in separate columns next to the numbers.
PREAMBLE_ROWS = 200
# Largest number of invalid rows that a message lists.
LISTED_ROWS = 5
# Characters around the numbers of a row.
_AROUND_CELLS = string.whitespace + '\N{NO-BREAK SPACE}"'
_TWO_MEANINGS = {
    ",": "commas can be column separators or decimal commas. Their meaning must be unambiguous. "
    "Export the file with semicolons or tabs between columns, or with decimal points.",
    None: "spaces can be column separators or part of a number. Their meaning must be "
    "unambiguous. Export the file with semicolons or tabs between columns.",
}
# Formats that are not text: their first bytes, and the Python call that reads them.
OTHER_FORMATS = {
    b"\x89HDF": ("HDF5", "xarray.open_dataset or h5py.File"),
    b"MATLAB 7.3": ("MATLAB", "h5py.File"),
    b"MATLAB 5.0": ("MATLAB", "scipy.io.loadmat"),
    b"\x93NUMPY": ("NumPy", "numpy.load"),
    b"PK\x03\x04": ("Excel or NumPy", "pandas.read_excel or numpy.load"),
    b"TDSm": ("TDMS", "nptdms.TdmsFile.read"),
    b"CDF": ("netCDF", "xarray.open_dataset"),
}


@dataclass(frozen=True, eq=False)
class TextColumn:
    """Numbers with the name and the unit above them.

    `factor` is a number in the name by which the values may have to be multiplied.
    """

    name: str
    unit: str | None
    values: np.ndarray
    factor: str = ""


@dataclass(frozen=True, eq=False)
class Record:
    """Columns of a file with the lines above them.

    `broken` is the first line without numbers in between.
    """

    columns: list[TextColumn]
    preamble: Preamble = field(default_factory=Preamble)
    broken: int | None = None


class _Row(NamedTuple):
    """Cells of a line, and their numbers. A comment has none."""

    line: int
    cells: list[str]
    numbers: list[float | None]
    is_comment: bool = False

    @property
    def filled(self) -> tuple[int, ...]:
        """Indices of the filled cells, empty if one of them is not a number."""
        filled = tuple(i for i, cell in enumerate(self.cells) if cell)
        return filled if self.has(filled) else ()

    def has(self, places: tuple[int, ...]) -> bool:
        """Return whether the cells at some positions are numbers."""
        return all(i < len(self.cells) and self.numbers[i] is not None for i in places)

    def at(self, places: Sequence[int]) -> list[str]:
        """Return the cells at some positions, empty if the line is shorter."""
        return [self.cells[i] if i < len(self.cells) else "" for i in places]


@dataclass(frozen=True)
class _Layout:
    """Format of the rows of a file.

    Thousands are grouped only if the decimal sign is specified.
    """

    delimiter: str | None
    decimal: str
    grouped: bool

    @cached_property
    def number_pattern(self) -> re.Pattern[str]:
        """Pattern of a number in this format."""
        groups = f"|{_GROUPS[self.decimal]}" if self.grouped else ""
        return re.compile(f"[+-]?(?:{_DIGITS[self.decimal]}{_EXPONENT_PATTERN}{groups})")

    def plain(self, cell: str) -> str:
        """Return a number of this format with a decimal point and without groups."""
        return cell.replace("," if self.decimal == "." else ".", "").replace(",", ".")

    def row(self, line: int, text: str) -> _Row:
        """Return the cells and numbers of a line."""
        text = text.strip() if self.delimiter is None else text.strip("\r\n")
        comment = text.lstrip().startswith("#")
        text = text.lstrip("# \t") if comment else text
        if self.delimiter is None:
            # White space also separates the words of a heading.
            spaced = re.split(r"\s{2,}|\t", text)
            cells = spaced if comment and len(spaced) > 1 else text.split()
        else:
            cells = next(csv.reader([text], delimiter=self.delimiter, skipinitialspace=True), [])
        cells = [cell.strip(_AROUND_CELLS) for cell in cells]
        numbers = (not comment and self.number_pattern.fullmatch(cell) for cell in cells)
        values = [
            float(self.plain(cell)) if is_number else None
            for cell, is_number in zip(cells, numbers, strict=True)
        ]
        return _Row(line, cells, values, comment)


def text_columns(content: bytes, decimal: str | None = None) -> Record:
    """Return the columns of a text file, and the text above them.

    Parameters
    ----------
    content : bytes
    decimal : str, optional
        Decimal sign, "." or "point", or "," or "comma". The other one then separates thousands.

    Raises
    ------
    TraceError
        If the numbers cannot be read with certainty.
    """
    decimal = {"point": ".", "comma": ","}.get(str(decimal), decimal)
    if decimal not in (None, *_DIGITS):
        raise TraceError(f"--decimal: {decimal!r:.60} is not valid. It must be point or comma.")
    text = _text_of(content)
    lines = io.StringIO(text).readlines(FORMAT_LENGTH)
    stated = _DECIMAL_SEPARATOR.search(text[:FORMAT_LENGTH])
    layout, rows, places = _layout_of(lines, decimal or (stated[1] if stated else None))
    first = next(i for i, row in enumerate(rows) if row.filled == places)
    preamble_text = "".join(lines[: rows[first].line - 1])
    # Some instruments write their preamble in separate columns next to the first numbers.
    while first > 0 and rows[first - 1].has(places):
        first -= 1
    above, rows = rows[:first], rows[first:]
    last = next((row for row in reversed(above) if not row.is_comment), _Row(0, [], []))
    keys = {row.line: cells for row in rows[:PREAMBLE_ROWS] if (cells := _keys_in(row, places))}
    next_to = [(row.line, row.at(keys[row.line])) for row in rows if row.line in keys]
    _check_meaning(layout, rows, places, last)
    unread = sum(map(bool, last.cells)) >= len(places) and _SIMILAR.fullmatch(last.at(places)[0])
    start = last.line if unread else rows[0].line
    body = text[sum(map(len, lines[: start - 1])) :]
    values, broken = _numbers(body, start, layout, places, keys)
    headings = _headings(above, places, layout.delimiter)
    preamble = preamble_of([*((row.line, row.cells) for row in above), *next_to], preamble_text)
    names = [name for name, _, _ in headings]
    if len(preamble.names) in (len(names), len(names) - 1):
        names[len(names) - len(preamble.names) :] = preamble.names
    columns = [
        TextColumn(name, unit, numbers, factor)
        for name, (_, unit, factor), numbers in zip(names, headings, values, strict=True)
    ]
    return Record(columns, preamble, broken)


def table_columns(table: DataFrame) -> Record:
    """Return the columns of a pandas table. An index other than the row numbers is the first one.

    Raises
    ------
    TraceError
        If a column has other values than numbers.
    """
    if table.index.name is not None:
        table = table.reset_index()
    columns = []
    for name, values in table.items():
        if values.dtype.kind not in "fiu":
            raise TraceError(
                f"{brief(str(name))}: the type is {values.dtype}. Real numbers are required. "
                "Convert the column, or leave it out."
            )
        unit, factor = unit_in(str(name)), factor_in(str(name))
        columns.append(TextColumn(str(name), unit, values.to_numpy(dtype=float), factor))
    return Record(columns)


def _text_of(content: bytes) -> str:
    """Return the text of a file in a suitable encoding.

    Only the micro sign and letters in headings are not ASCII, so the encoding cannot change a
    number.
    """
    for mark, (kind, reader) in OTHER_FORMATS.items():
        if content.startswith(mark):
            raise TraceError(
                f"this is a {kind} file. A text file is required. Export it as CSV, or read it in "
                f"Python with {reader} and pass the arrays to granchain.Trace."
            )
    encoding = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeError:
        text = content.decode("latin-1")
    if "\0" in text:
        raise TraceError(
            "this is not a text file. A text file is required. Export it as CSV, or read it in "
            "Python with a library for its format and pass the arrays to granchain.Trace."
        )
    return re.sub("\r\r\n|\r\n?", "\n", text)


def _layout_of(
    lines: list[str], decimal: str | None
) -> tuple[_Layout, list[_Row], tuple[int, ...]]:
    """Return the format with the most rows of two or more numbers.

    Also return the rows, and the indices of the cells with numbers.
    """
    candidates: list[tuple[_Layout, list[_Row], tuple[int, ...]]] = []
    ranks = []
    filled = [(i, line[:FORMAT_LENGTH]) for i, line in enumerate(lines, start=1) if line.strip()]
    for delimiter, sign in itertools.product(DELIMITERS, [decimal] if decimal else [".", ","]):
        if sign == "," == delimiter and not any('"' in line for line in lines):
            continue
        # Two consecutive tabs are white space too, and a number in groups of three digits would be
        # several numbers.
        if delimiter is None and 2 * sum("\t" in line for _, line in filled) >= len(filled):
            continue
        layout = _Layout(delimiter, sign, decimal is not None)
        rows = [layout.row(i, line) for i, line in filled]
        count = Counter(row.filled for row in rows if row.filled)
        if count:
            places, number = max(count.items(), key=lambda item: (item[1], len(item[0])))
            candidates.append((layout, rows, places))
            ranks.append((min(len(places), 2), number))
    if not candidates:
        raise TraceError(
            "no row of numbers found. Columns of numbers are required, with the time first. "
            "Export the trace as CSV."
        )
    return candidates[ranks.index(max(ranks))]


def _check_meaning(
    layout: _Layout, rows: list[_Row], places: tuple[int, ...], heading: _Row
) -> None:
    """Raise TraceError if the numbers of rows are ambiguous."""
    complete = [row for row in rows if row.has(places)]
    # Cells that may be two parts of a number have half as many headings, or three digits each.
    headings = sum(map(bool, heading.cells))
    three = (all(_THREE.fullmatch(row.cells[k]) for row in complete) for k in places[1:])
    halved = layout.delimiter == "," and 2 * headings == len(places)
    if layout.delimiter in _TWO_MEANINGS and (
        halved or (0 < headings < len(places) and any(three))
    ):
        raise TraceError(f"line {rows[0].line}: {_TWO_MEANINGS[layout.delimiter]}")
    with_sign = [
        (row.line, row.cells[k])
        for row in complete
        for k in places
        if not layout.grouped and layout.decimal in row.cells[k]
    ]
    if with_sign and all(_EITHER.fullmatch(cell) for _, cell in with_sign):
        line, cell = with_sign[0]
        whole_number, point = cell.replace(layout.decimal, ""), cell.replace(",", ".")
        names = ("point", "comma") if layout.decimal == "." else ("comma", "point")
        raise TraceError(
            f"line {line}: {brief(cell)} can mean {whole_number} or {point}. The meaning must "
            f"be unambiguous, and no other number decides it. Use --decimal {names[0]} for "
            f"{point}, or --decimal {names[1]} for {whole_number}."
        )


def _keys_in(row: _Row, places: tuple[int, ...]) -> list[int]:
    """Return the indices of preamble cells next to the numbers of a row.

    A preamble has a key and its values before the numbers, and the same key again before the next
    channel.
    """
    gaps: dict[int, list[int]] = {}
    for k, cell in enumerate(row.cells):
        if cell and k not in places:
            gaps.setdefault(bisect.bisect(places, k), []).append(k)
    if 0 not in gaps or row.numbers[gaps[0][0]] is not None or not row.has(places):
        return []
    key = plain_key(row.cells[gaps[0][0]])
    return [k for gap in gaps.values() if plain_key(row.cells[gap[0]]) == key for k in gap]


def _numbers(
    body: str,
    start: int,
    layout: _Layout,
    places: tuple[int, ...],
    keys: dict[int, list[int]],
) -> tuple[np.ndarray, int | None]:
    """Return the numbers of a text, an array (column, row), and the first line without numbers.

    `start` is the number of the first line, and `keys` are the columns of preamble cells by line.
    """
    from pandas import read_csv
    from pandas.errors import ParserError

    separator = layout.delimiter
    counts = (
        line.count(separator) + 1 if separator else len(line.split()) for line in io.StringIO(body)
    )
    try:
        cells = read_csv(
            io.StringIO(body),
            sep=separator or r"\s+",
            header=None,
            names=range(max(counts)),
            index_col=False,
            dtype=str,
            na_filter=False,
            skipinitialspace=True,
            skip_blank_lines=False,
            quoting=csv.QUOTE_MINIMAL if separator else csv.QUOTE_NONE,
        )
    except ParserError as error:
        raise TraceError(
            f"the columns are not readable ({error}). Quotes must be closed in each line. Correct "
            "the file."
        ) from None
    cells = cells.apply(lambda column: column.str.strip(_AROUND_CELLS))
    cells.index += start
    for line, columns in keys.items():
        cells.loc[line, columns] = ""
    cells = cells[~cells[0].str.startswith("#") & (cells != "").any(axis=1)]
    number = f"(?!{_LED})" * (separator in _TWO_MEANINGS) + layout.number_pattern.pattern
    good = (cells.drop(columns=list(places)).to_numpy() == "").all(axis=1)
    for k in places:
        good &= cells[k].str.fullmatch(number).to_numpy(dtype=bool)
    faults = cells[~good][:LISTED_ROWS]
    if len(faults):
        rows = faults.itertuples(name=None)
        raise TraceError([_fault(line, row, layout, places) for line, *row in rows])
    gaps = np.flatnonzero(np.diff(cells.index) > 1)
    values = [cells[k].map(layout.plain).to_numpy(dtype=float) for k in places]
    return np.stack(values), int(cells.index[gaps[0]]) + 1 if len(gaps) else None


def _fault(line: int, cells: list[str], layout: _Layout, places: tuple[int, ...]) -> str:
    """Return why a row differs from the other rows of numbers."""
    for column, k in enumerate(places, start=1):
        if not layout.number_pattern.fullmatch(cells[k]):
            problem = f"{brief(cells[k])} is not a number" if cells[k] else "the number is missing"
            return (
                f"line {line}: column {column}: {problem}. It must be a number with the decimal "
                f'sign "{layout.decimal}". Correct the file, or cut the trace before this line. If '
                "the other sign separates thousands, use --decimal comma or --decimal point."
            )
    extra = [cell for k, cell in enumerate(cells) if cell and k not in places]
    if extra:
        return (
            f"line {line}: {brief(extra[0])} is in a column that is empty in the other rows. All "
            "rows must have the same columns. Remove it."
        )
    return f"line {line}: {_TWO_MEANINGS[layout.delimiter]}"


def _headings(
    above: list[_Row], places: tuple[int, ...], delimiter: str | None
) -> list[tuple[str, str | None, str]]:
    """Return name, unit, and factor of each column from the lines right above it."""
    # If the first column is empty, it also contains keys.
    keys = {*KEYS, "date", "time"} if places[0] else {*KEYS}
    titles: list[list[str]] = []
    for row in [row for row in above if any(row.cells)][: -HEADINGS - 1 : -1]:
        # A row of headings has a text above each column; the first column may have none. A row of
        # two cells may also be a preamble line that does not describe the columns. White space also
        # separates the words of a heading.
        cells = row.at(places)
        key = plain_key(row.cells[0])
        if (
            (row.is_comment and titles)
            or (delimiter is None and len(row.cells) != len(places))
            or not all(cells[len(cells) > 1 :])
            or row.has(places[:1])
            or key in keys
            or (key == "segment" and SEGMENT_KEYS & {*map(plain_key, row.cells)})
            or (row.has(places[1:]) and all(map(_name_in, zip(*titles, strict=True))))
        ):
            if not row.is_comment:
                break
        else:
            titles.insert(0, cells)
    columns = []
    for k, texts in enumerate(zip(*titles, strict=True) if titles else [()] * len(places), start=1):
        units = list(dict.fromkeys(filter(None, map(unit_in, texts))))
        same = all(is_same(unit, units[0]) for unit in units)
        unit = (units[0] if same else " and ".join(units)) if units else None
        factor = next(filter(None, map(factor_in, texts[::-1])), "")
        columns.append((_name_in(texts) or f"column {k}", unit, factor))
    return columns


def _name_in(texts: Sequence[str]) -> str:
    """Return the headings of a column without units."""
    return " ".join(text for text in texts if text and not is_unit(text.strip("()[]{} ")))
