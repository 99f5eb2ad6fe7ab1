"""Columns of numbers in text files of oscilloscopes and spreadsheets.

The files may have preambles, headings, units, and decimal commas.

Ambiguous numbers are never guessed. An invalid cell among the numbers, a row of another length, or
an ambiguous character is rejected with its line. The first lines determine the format, and the
remaining lines are read one by one.
"""

from __future__ import annotations

import bisect
import contextlib
import csv
import io
import itertools
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from granchain.errors import TraceError
from granchain.keys import shown
from granchain.measured.columns import Column, Record
from granchain.measured.headings import (
    KEYS,
    SEGMENTS,
    factor_in,
    key_of,
    known,
    preamble_of,
    same,
    unit_in,
)
from granchain.measured.limit import Limit

# Delimiters between cells, in the order of the trials. None is any white space.
DELIMITERS = (";", "\t", ",", None)

_EXPONENT = r"(?:[eE][+-]?[0-9]{1,3}+)?"
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
# A zero before other digits does not start a number, but may be part of one that a comma or a space
# has split.
_LED = re.compile(r"[+-]?0[0-9]+(?:[.,][0-9]*)?(?:[eE][+-]?[0-9]+)?")
_THREE = re.compile("[0-9]{3}")
_ALIKE = re.compile(r"[+-]?[0-9.,][0-9.,'\s]*(?:[eE][+-]?[0-9]+)?")
_DECIMAL_SEPARATOR = re.compile(r"Decimal_Separator\s*[\t;,]?\s*([.,])\s*$", re.IGNORECASE)
# Number of bytes that determine the format, more than any preamble has. It is also the limit on the
# length of a line.
HEAD = 2**14
# Largest number of lines with headings and units above the numbers.
HEADINGS = 3
# Largest number of rows with a preamble in separate columns next to the numbers.
BESIDE = 200
# Largest number of invalid rows that a message lists.
LISTED_ROWS = 5
_TWO_MEANINGS = {
    ",": "commas can be column separators or decimal commas. Their meaning must be unambiguous. "
    "Export the file with semicolons or tabs between columns, or with decimal points.",
    None: "spaces can be column separators or part of a number. Their meaning must be "
    "unambiguous. Export the file with semicolons or tabs between columns.",
}


@dataclass(frozen=True)
class _Row:
    line: int
    cells: list[str]
    numbers: list[float | None]

    @property
    def places(self) -> tuple[int, ...]:
        """Indices of the filled cells, empty if one of them is not a number."""
        filled = tuple(i for i, cell in enumerate(self.cells) if cell)
        return filled if self.holds(filled) else ()

    def holds(self, places: tuple[int, ...]) -> bool:
        return all(i < len(self.cells) and self.numbers[i] is not None for i in places)


@dataclass(frozen=True)
class _Form:
    """Format of the rows of a file.

    Thousands are grouped only if the decimal sign is specified.
    """

    delimiter: str | None
    decimal: str
    stated: bool

    def split(self, lines: Iterable[str], start: int = 1) -> Iterator[_Row]:
        """Yield the cells and numbers of lines, without comments and blank lines."""
        for i, line in enumerate(lines, start=start):
            if len(line) > HEAD:
                raise TraceError(
                    f"line {i}: the line has more than {HEAD} characters. Lines must be "
                    "shorter. Export one row per line."
                )
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            cells = [cell.strip().strip('"').strip() for cell in line.split(self.delimiter)]
            if self.delimiter is not None and '"' in line:
                quoted = csv.reader(
                    [line], delimiter=self.delimiter, strict=True, skipinitialspace=True
                )
                # Quotes may have another meaning, such as inches.
                with contextlib.suppress(csv.Error, StopIteration):
                    cells = [cell.strip() for cell in next(quoted)]
            yield _Row(i, cells, [self.number(cell) for cell in cells])

    @cached_property
    def patterns(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        """Patterns of a number, and of a number in groups of three digits."""
        plain = f"[+-]?{_DIGITS[self.decimal]}{_EXPONENT}"
        return re.compile(plain), re.compile(f"[+-]?{_GROUPS[self.decimal]}")

    def number(self, cell: str) -> float | None:
        plain, groups = self.patterns
        if plain.fullmatch(cell):
            return float(cell.replace(",", "."))
        if self.stated and groups.fullmatch(cell):
            other = "," if self.decimal == "." else "."
            return float(cell.replace(other, "").replace(",", "."))
        return None


def text_columns(
    content: bytes, where: str, decimal: str | None = None, limit: Limit | None = None
) -> Record:
    """Return the columns of a text file, and the text above them.

    Parameters
    ----------
    content : bytes
    where : str
        Name of the file.
    decimal : str, optional
        Decimal sign, "." or ",". The other one then separates thousands.
    limit : Limit, optional
        Upper limit on memory.

    Raises
    ------
    TraceError
        If the numbers cannot be read with certainty.
    """
    limit = limit or Limit()
    # the text, and a copy with other line ends or decoded
    limit.check(where, 2 * len(content))
    text = _text_of(content)
    lines = text.readlines(HEAD)
    stated = (match[1] for line in lines if (match := _DECIMAL_SEPARATOR.match(line)))
    form, rows, places = _form_of(lines, decimal or next(stated, None))
    first = next(i for i, row in enumerate(rows) if row.places == places)
    words = "".join(lines[: rows[first].line - 1])
    # Some instruments write their preamble in separate columns next to the first numbers.
    while first > 0 and rows[first - 1].holds(places):
        first -= 1
    above, rows = rows[:first], rows[first:]
    beside = []
    for i, row in enumerate(rows[:BESIDE]):
        keyed = _beside(row, places)
        if keyed:
            beside.append((row.line, [row.cells[k] for k in keyed]))
            cells = ["" if k in keyed else cell for k, cell in enumerate(row.cells)]
            rows[i] = replace(row, cells=cells)
    _check_meaning(form, rows, places, above[-1].cells if above else [])
    if above and _is_unread_row(above[-1].cells, places):
        rows = [above[-1], *rows]
    count = max(content.count(b"\n"), content.count(b"\r")) + 1
    limit.check(where, len(content), count * len(places))
    later = _read_lines(form, places, text, len(lines) + 1)
    read = itertools.chain(_read_rows(form, places, rows), later)
    values, broken = _numbers(read, len(places))
    named = _commented(lines, rows[0].line, form, places)
    index = _has_index([*above, *named], places, values[0])
    names, units, factors = _headings([*above, *named], places, form.delimiter, index)
    preamble = preamble_of([*((row.line, row.cells) for row in above), *beside], words)
    if len(preamble.names) in (len(names), len(names) - 1):
        names[len(names) - len(preamble.names) :] = preamble.names
    columns = map(Column, names, units, values[index:], factors)
    return Record(list(columns), preamble, broken)


def _text_of(content: bytes) -> io.TextIOWrapper:
    """Return the text of a file in a suitable encoding.

    Only the micro sign and letters in headings are not ASCII, so the encoding cannot change a
    number.
    """
    encoding = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        readable = "\0" not in content.decode(encoding)
    except UnicodeError:
        readable = encoding != "utf-16" and b"\0" not in content
        encoding = "latin-1"
    if not readable:
        raise TraceError(
            "the file is not text. It must be CSV, .npy, .npz, HDF5, MATLAB, or TDMS. Export "
            "it as CSV."
        )
    return io.TextIOWrapper(io.BytesIO(content.replace(b"\r\r\n", b"\n")), encoding)


def _form_of(lines: list[str], decimal: str | None) -> tuple[_Form, list[_Row], tuple[int, ...]]:
    """Return the format with the most rows of two or more numbers.

    Also return the rows, and the indices of the cells with numbers.
    """
    best: tuple[_Form, list[_Row], tuple[int, ...]] | None = None
    rank = (0, 0)
    for delimiter, sign in itertools.product(DELIMITERS, [decimal] if decimal else [".", ","]):
        if sign == "," == delimiter and not any('"' in line for line in lines):
            continue
        form = _Form(delimiter, sign, decimal is not None)
        rows = list(form.split(lines))
        # Two consecutive tabs are white space too, and a number in groups of three digits would be
        # several numbers.
        if delimiter is None and 2 * sum("\t" in lines[row.line - 1] for row in rows) >= len(rows):
            continue
        count = Counter(row.places for row in rows if row.places)
        if count:
            places, number = max(count.items(), key=lambda item: (item[1], len(item[0])))
            if (min(len(places), 2), number) > rank:
                best, rank = (form, rows, places), (min(len(places), 2), number)
    if best is None:
        raise TraceError(
            "no row of numbers found. Columns of numbers are required, with the time first. "
            "Export the trace as CSV."
        )
    return best


def _check_meaning(
    form: _Form, rows: list[_Row], places: tuple[int, ...], heading: list[str]
) -> None:
    """Raise TraceError if the numbers of rows are ambiguous."""
    complete = [row for row in rows if row.holds(places)]
    # Cells that may be two parts of a number have half as many headings, or three digits each.
    headings = sum(map(bool, heading))
    three = (all(_THREE.fullmatch(row.cells[k]) for row in complete) for k in places[1:])
    halved = form.delimiter == "," and 2 * headings == len(places)
    if form.delimiter in _TWO_MEANINGS and (halved or (0 < headings < len(places) and any(three))):
        raise TraceError(f"line {rows[0].line}: {_TWO_MEANINGS[form.delimiter]}")
    signed = [
        (row.line, row.cells[k])
        for row in complete
        for k in places
        if not form.stated and form.decimal in row.cells[k]
    ]
    if signed and all(_EITHER.fullmatch(cell) for _, cell in signed):
        line, cell = signed[0]
        whole_number, point = cell.replace(form.decimal, ""), cell.replace(",", ".")
        names = ("point", "comma") if form.decimal == "." else ("comma", "point")
        raise TraceError(
            f"line {line}: {shown(cell)} can mean {whole_number} or {point}. The meaning must "
            f"be unambiguous, and no other number decides it. Use --decimal {names[0]} for "
            f"{point}, or --decimal {names[1]} for {whole_number}."
        )


def _beside(row: _Row, places: tuple[int, ...]) -> list[int]:
    """Return the indices of preamble cells next to the numbers of a row.

    A preamble has a key and its values before the numbers, and the same key again before the next
    channel.
    """
    gaps: dict[int, list[int]] = {}
    for k, cell in enumerate(row.cells):
        if cell and k not in places:
            gaps.setdefault(bisect.bisect(places, k), []).append(k)
    if 0 not in gaps or row.numbers[gaps[0][0]] is not None or not row.holds(places):
        return []
    key = key_of(row.cells[gaps[0][0]])
    return [k for gap in gaps.values() if key_of(row.cells[gap[0]]) == key for k in gap]


def _is_unread_row(cells: list[str], places: tuple[int, ...]) -> bool:
    """Return whether the row above the numbers starts with an unreadable number.

    An example is 40'000.
    """
    begins = len(cells) > places[0] and _ALIKE.fullmatch(cells[places[0]])
    return bool(begins) and sum(map(bool, cells)) >= len(places)


# Line number, error message, and numbers, which are None if the line has no cells.
_Read = tuple[int, str, Iterable[float] | None]


def _read_rows(form: _Form, places: tuple[int, ...], rows: Iterable[_Row]) -> Iterator[_Read]:
    """Yield the content of rows that were split into cells."""
    for row in rows:
        numbers = (row.numbers[i] for i in places if i < len(row.numbers))
        there = [one for one in numbers if one is not None]
        yield row.line, _fault(row, form, places), there if any(row.cells) else None


def _read_lines(
    form: _Form, places: tuple[int, ...], lines: Iterable[str], start: int
) -> Iterator[_Read]:
    """Yield the content of lines.

    One pattern for plain numbers makes this much faster.
    """
    number = f"([+-]?{_DIGITS[form.decimal]}{_EXPONENT})"
    if form.delimiter in _TWO_MEANINGS:
        number = f"(?!{_LED.pattern}){number}"
    row = r"\s*+" + r"\s++".join([number] * len(places))
    if form.delimiter is not None:
        cells = (number if i in places else "" for i in range(places[-1] + 1))
        row = form.delimiter.join(f" *+{cell} *+" for cell in cells)
    plain = re.compile(rf"{row}\s*+")
    for i, line in enumerate(lines, start=start):
        found = None if form.delimiter == form.decimal else plain.fullmatch(line)
        if found:
            yield i, "", [float(one.replace(",", ".")) for one in found.groups()]
        else:
            yield from _read_rows(form, places, form.split([line], i))


def _numbers(read: Iterable[_Read], count: int) -> tuple[np.ndarray, int | None]:
    """Return the numbers of rows, an array (column, row).

    Also return the first line without numbers in between. Each row has `count` numbers.
    """
    values, problems = array("d"), list[str]()
    empty, broken, last = "", None, 0
    for line, fault, numbers in read:
        if numbers is None:
            # At the end of a file, empty rows only come from a spreadsheet.
            empty = empty or fault
            continue
        problems += filter(None, (empty, fault))
        if len(problems) >= LISTED_ROWS:
            break
        if last and line > last + 1:
            broken = broken or last + 1
        empty, last = "", line
        if not problems:
            values.extend(numbers)
    if problems:
        raise TraceError(problems)
    return np.frombuffer(values).reshape(-1, count).T, broken


def _fault(row: _Row, form: _Form, places: tuple[int, ...]) -> str:
    """Return why a row differs from the other rows of numbers, or an empty string."""
    where = f"line {row.line}: "
    for column, i in enumerate(places, start=1):
        if i >= len(row.cells):
            return (
                f"{where}only {column - 1} of {len(places)} numbers. Each row must be "
                "complete. The file is truncated here or contains two records."
            )
        if row.numbers[i] is None:
            cell = row.cells[i]
            got = (
                f"column {column}: {shown(cell)} is not a number"
                if cell
                else f"column {column}: missing"
            )
            return (
                f"{where}{got}. It must be a number with the decimal sign "
                f'"{form.decimal}". Correct the file, or cut the trace before this line. If '
                "the other sign separates thousands, use --decimal comma or --decimal point."
            )
    extra = [cell for i, cell in enumerate(row.cells) if cell and i not in places]
    if extra:
        return (
            f"{where}{shown(extra[0])} is in a column that is empty in the other rows. All "
            "rows must have the same columns. Remove it."
        )
    if form.delimiter in _TWO_MEANINGS and any(_LED.fullmatch(row.cells[i]) for i in places):
        return f"line {row.line}: {_TWO_MEANINGS[form.delimiter]}"
    return ""


def _commented(lines: list[str], line: int, form: _Form, places: tuple[int, ...]) -> list[_Row]:
    """Return headings from a comment right above the numbers, as NumPy writes them.

    The nearest comment with a text above each column is used. If white space separates the columns,
    two white-space characters separate headings.
    """
    for i in range(line - 2, max(-1, line - 2 - HEADINGS), -1):
        words = lines[i].strip()
        if not words.startswith("#"):
            break
        words = words.lstrip("# \t")
        if form.delimiter is None:
            cells = re.split(r"\s{2,}|\t", words)
            if len(cells) != len(places):
                cells = words.split()
        else:
            cells = [cell.strip().strip('"').strip() for cell in words.split(form.delimiter)]
        numbers = [form.number(cell) for cell in cells]
        if len(cells) == places[-1] + 1 and all(cells) and numbers == [None] * len(cells):
            return [_Row(i + 1, cells, numbers)]
    return []


def _has_index(above: list[_Row], places: tuple[int, ...], first: np.ndarray) -> bool:
    """Return whether the first column counts the rows, as pandas writes it.

    It is then the only column without a heading.
    """
    cells = above[-1].cells if above else []
    headed = [bool(cells[i]) if i < len(cells) else False for i in places]
    counted = len(places) > 2 and headed == [False, *[True] * (len(places) - 1)]
    return counted and bool((np.diff(first) == 1.0).all())


def _headings(
    above: list[_Row], places: tuple[int, ...], delimiter: str | None, index: bool
) -> tuple[list[str], list[str | None], list[str]]:
    """Return name, unit, and factor of each column from the lines right above it.

    A column that counts the rows is left out.
    """
    # If the first column is empty, these are keys too.
    keys = {*KEYS, "date", "time"} if places[0] else {*KEYS}
    places = places[index:]
    names, factors = [""] * len(places), [""] * len(places)
    units: list[str | None] = [None] * len(places)
    titles = [row for row in above if any(row.cells)]
    for row in titles[: -HEADINGS - 1 : -1]:
        # A row of headings has a text above each column. A row of two cells may also be a preamble
        # line that does not describe the columns. White space also separates the words of a
        # heading.
        cells = [row.cells[i] if i < len(row.cells) else "" for i in places]
        unclear = delimiter is None and len(row.cells) != len(places) + index
        key_and_values = all(names) and row.holds(places[1:])
        if (
            unclear
            or not all(cells)
            or row.numbers[places[0]] is not None
            or key_of(row.cells[0]) in keys
            or (key_of(row.cells[0]) == "segment" and SEGMENTS & {*map(key_of, row.cells)})
            or key_and_values
        ):
            break
        for k, cell in enumerate(cells):
            unit, below = unit_in(cell), units[k]
            if unit is not None and below is not None and not same(unit, below):
                unit = f"{unit} and {below}"
            units[k] = unit if unit is not None else below
            if not known(cell.strip("()[]{} ")):
                names[k] = f"{cell} {names[k]}".strip()
            factors[k] = factors[k] or factor_in(cell)
    return [name or f"column {k}" for k, name in enumerate(names, start=1)], units, factors
