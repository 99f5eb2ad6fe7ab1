"""Columns of numbers in a text file as oscilloscopes and spreadsheets write it: preamble, headings,
units, decimal comma.

Nothing is guessed that would give other numbers: a cell that is no number in the midst of the
numbers, a row of another length or a sign that could be two things is refused, with the line. The
first lines show how the file is made. What follows is read in blocks: by NumPy's reader where a
block holds nothing but rows of numbers, line by line where it does not, to the same numbers.
"""

from __future__ import annotations

import bisect
import contextlib
import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from granchain.errors import TraceError
from granchain.keys import shown
from granchain.store.limit import Limit
from granchain.traces.columns import Column, Record
from granchain.traces.headings import (
    KEYS,
    SEGMENTS,
    factor_in,
    key_of,
    known,
    preamble_of,
    same,
    unit_in,
)

# Between cells, in the order in which they are tried; None is any white space.
DELIMITERS = (";", "\t", ",", None)

_EXPONENT = r"(?:[eE][+-]?[0-9]{1,3}+)?"
# Numbers without their sign, by the decimal sign; and in groups of three digits, which are read
# where the decimal sign is stated.
_DIGITS = {
    ".": r"(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)",
    ",": r"(?:[0-9]++(?:,[0-9]++)?|,[0-9]++)",
}
_GROUPS = {
    ".": r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?",
    ",": r"[0-9]{1,3}(?:\.[0-9]{3})+(?:,[0-9]*)?",
}
# 1.050: a thousand and fifty, or one and a bit.
_EITHER = re.compile(r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}")
# A zero in front of other digits: no number begins so, but the end of one does that a comma or a
# space has parted.
_LED = re.compile(r"[+-]?0[0-9]+(?:[.,][0-9]*)?(?:[eE][+-]?[0-9]+)?")
_THREE = re.compile("[0-9]{3}")
_ALIKE = re.compile(r"[+-]?[0-9.,][0-9.,'\s]*(?:[eE][+-]?[0-9]+)?")
_DECIMAL_SEPARATOR = re.compile(r"Decimal_Separator\s*[\t;,]?\s*([.,])\s*$", re.IGNORECASE)
# Bytes that show how a file is made, more than any preamble has, and those that are read at once
# after them; no line is as long.
HEAD, BLOCK = 2**14, 2**20
# Headings and units stand in so many lines above the numbers at most.
HEADINGS = 3
# A preamble in columns of its own stands beside so many rows of numbers at most.
BESIDE = 200
# Rows with a fault that are listed one by one.
LISTED_ROWS = 5
_TWO_MEANINGS = {
    ",": "got commas that could be both separator and decimal sign, allowed one meaning; export it "
    "with semicolons or tabs between the columns, or with decimal points",
    None: "got spaces that could be both separator and part of a number, allowed one meaning; "
    "export it with semicolons or tabs between the columns",
}


@dataclass(frozen=True)
class _Row:
    line: int
    cells: list[str]
    numbers: list[float | None]

    @property
    def places(self) -> tuple[int, ...]:
        """Where the row has cells; empty where one of them is no number."""
        filled = tuple(i for i, cell in enumerate(self.cells) if cell)
        return filled if self.holds(filled) else ()

    def holds(self, places: tuple[int, ...]) -> bool:
        return all(i < len(self.cells) and self.numbers[i] is not None for i in places)


@dataclass(frozen=True)
class _Form:
    """How the rows of a file are made; thousands are parted only where the decimal sign is
    stated."""

    delimiter: str | None
    decimal: str
    stated: bool

    def split(self, lines: list[str], start: int = 1) -> list[_Row]:
        """The cells of lines and the numbers in them; comments and blank lines are left out."""
        rows = []
        for i, line in enumerate(lines, start=start):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            cells = [cell.strip().strip('"').strip() for cell in line.split(self.delimiter)]
            if self.delimiter is not None and '"' in line:
                quoted = csv.reader(
                    [line], delimiter=self.delimiter, strict=True, skipinitialspace=True
                )
                # Quotes may be none, such as inches.
                with contextlib.suppress(csv.Error, StopIteration):
                    cells = [cell.strip() for cell in next(quoted)]
            rows.append(_Row(i, cells, [self.number(cell) for cell in cells]))
        return rows

    def number(self, cell: str) -> float | None:
        if re.fullmatch(f"[+-]?{_DIGITS[self.decimal]}{_EXPONENT}", cell):
            return float(cell.replace(",", "."))
        if self.stated and re.fullmatch(f"[+-]?{_GROUPS[self.decimal]}", cell):
            other = "," if self.decimal == "." else "."
            return float(cell.replace(other, "").replace(",", "."))
        return None


def text_columns(
    content: bytes, where: str, decimal: str | None = None, limit: Limit | None = None
) -> Record:
    """Columns of a text file, and what is above them.

    Parameters
    ----------
    content : bytes
    where : str
        Name of the file.
    decimal : str, optional
        The decimal sign, "." or ",": the other one then parts thousands.
    limit : Limit, optional
        Of the memory that may be taken.

    Raises
    ------
    TraceError
        For a file whose numbers cannot be read with certainty.
    """
    limit = limit or Limit()
    # An encoding of two bytes a letter is decoded and encoded again; other ends of lines are
    # another copy.
    wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    limit.check(where, (4 if wide else 2) * len(content))
    content = _ascii_digits(content)
    blocks = _blocks(content)
    lines = _lines_of(next(blocks, (1, b""))[1])
    stated = (match[1] for line in lines if (match := _DECIMAL_SEPARATOR.match(line)))
    form, rows, places = _form_of(lines, decimal or next(stated, None))
    first = next(i for i, row in enumerate(rows) if row.places == places)
    words = "\n".join(lines[: rows[first].line - 1])
    # Some instruments write their preamble into columns of its own, beside the first numbers.
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
    count = content.count(b"\n") + 1
    limit.check(where, len(content), count * len(places))
    reading = _Reading(form, places, count)
    reading.add_rows(rows)
    for line, block in blocks:
        reading.add_block(line, block)
    named = _commented(lines, rows[0].line, form, places)
    index = _has_index([*above, *named], places, reading.values[0, : reading.count])
    names, units, factors = _headings([*above, *named], places, form.delimiter, index)
    preamble = preamble_of([*((row.line, row.cells) for row in above), *beside], words)
    if len(preamble.names) in (len(names), len(names) - 1):
        names[len(names) - len(preamble.names) :] = preamble.names
    columns = map(Column, names, units, reading.values[index:, : reading.count], factors)
    return Record(list(columns), preamble, reading.broken)


def _ascii_digits(content: bytes) -> bytes:
    """A text in an encoding whose digits are those of ASCII, with plain ends of lines."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            content = content.decode("utf-16").encode("utf-8")
        except UnicodeError:
            content = b"\0"
    if b"\0" in content:
        raise TraceError(
            "got bytes that are no text, allowed CSV, .npy, .npz, HDF5, MATLAB or TDMS; export it "
            "as CSV"
        )
    return content.replace(b"\r\r\n", b"\n").replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _blocks(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Blocks of whole lines, a small one first, with the number of their first line."""
    begin, line, most = 0, 1, HEAD
    while begin < len(content):
        end = len(content)
        if end - begin > most:
            end = content.rfind(b"\n", begin, begin + most) + 1
        if end <= begin:
            raise TraceError(
                f"line {line}: got more than {most} bytes in one line, allowed fewer; export one "
                "row a line"
            )
        yield line, content[begin:end]
        line += content.count(b"\n", begin, end)
        begin, most = end, BLOCK


def _lines_of(content: bytes) -> list[str]:
    """Lines of bytes in which only the micro sign and letters in headings are not ASCII: no number
    can come out wrong."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return text.removesuffix("\n").split("\n")


def _form_of(lines: list[str], decimal: str | None) -> tuple[_Form, list[_Row], tuple[int, ...]]:
    """The form that makes most rows of two numbers or more, the rows, and the places of their
    numbers."""
    best: tuple[_Form, list[_Row], tuple[int, ...]] | None = None
    rank = (0, 0)
    for delimiter, sign in itertools.product(DELIMITERS, [decimal] if decimal else [".", ","]):
        if sign == "," == delimiter and not any('"' in line for line in lines):
            continue
        form = _Form(delimiter, sign, decimal is not None)
        rows = form.split(lines)
        # Two tabs with nothing between them are white space too, and a number of groups of three
        # digits is several.
        if delimiter is None and 2 * sum("\t" in lines[row.line - 1] for row in rows) >= len(rows):
            continue
        count = Counter(row.places for row in rows if row.places)
        if count:
            places, number = max(count.items(), key=lambda item: (item[1], len(item[0])))
            if (min(len(places), 2), number) > rank:
                best, rank = (form, rows, places), (min(len(places), 2), number)
    if best is None:
        raise TraceError(
            "got no row of numbers, allowed columns of numbers, time first; export the trace as CSV"
        )
    return best


def _check_meaning(
    form: _Form, rows: list[_Row], places: tuple[int, ...], heading: list[str]
) -> None:
    """Refuse rows whose numbers could be other ones."""
    whole = [row for row in rows if row.holds(places)]
    # Cells that may be two parts of a number: half as many headings, or three digits each.
    headings = sum(map(bool, heading))
    three = (all(_THREE.fullmatch(row.cells[k]) for row in whole) for k in places[1:])
    halved = form.delimiter == "," and 2 * headings == len(places)
    if form.delimiter in _TWO_MEANINGS and (halved or (0 < headings < len(places) and any(three))):
        raise TraceError(f"line {rows[0].line}: {_TWO_MEANINGS[form.delimiter]}")
    signed = [
        (row.line, row.cells[k])
        for row in whole
        for k in places
        if not form.stated and form.decimal in row.cells[k]
    ]
    if signed and all(_EITHER.fullmatch(cell) for _, cell in signed):
        line, cell = signed[0]
        whole_number, point = cell.replace(form.decimal, ""), cell.replace(",", ".")
        names = ("point", "comma") if form.decimal == "." else ("comma", "point")
        raise TraceError(
            f"line {line}: got {shown(cell)}, which is {whole_number} or {point}, and no other "
            "number shows which, allowed one meaning; say which sign is the decimal one: --decimal "
            f"{names[0]} for {point}, --decimal {names[1]} for {whole_number}"
        )


def _beside(row: _Row, places: tuple[int, ...]) -> list[int]:
    """Where a row of numbers has a preamble beside them: a key and its values in front of them,
    and the same key again in front of the next channel."""
    gaps: dict[int, list[int]] = {}
    for k, cell in enumerate(row.cells):
        if cell and k not in places:
            gaps.setdefault(bisect.bisect(places, k), []).append(k)
    if 0 not in gaps or row.numbers[gaps[0][0]] is not None or not row.holds(places):
        return []
    key = key_of(row.cells[gaps[0][0]])
    return [k for gap in gaps.values() if key_of(row.cells[gap[0]]) == key for k in gap]


def _is_unread_row(cells: list[str], places: tuple[int, ...]) -> bool:
    """Whether the row above the numbers begins as one of them that cannot be read, such as
    40'000."""
    begins = len(cells) > places[0] and _ALIKE.fullmatch(cells[places[0]])
    return bool(begins) and sum(map(bool, cells)) >= len(places)


class _Reading:
    """The numbers of a file in the making."""

    def __init__(self, form: _Form, places: tuple[int, ...], lines: int):
        self.form, self.places = form, places
        self.values = np.empty((len(places), lines))
        self.count = 0
        self.broken: int | None = None
        self._empty: _Row | None = None
        self._last = 0
        number = f"[+-]?{_DIGITS[form.decimal]}{_EXPONENT}"
        if form.delimiter in _TWO_MEANINGS:
            number = f"(?!{_LED.pattern}){number}"
        if form.delimiter is None:
            row = rf"[ \t]*+{number}(?:[ \t]++{number}){{{len(places) - 1}}}[ \t]*+"
        else:
            cell = rf' *+(?:{number}|"{number}") *+'
            cells = (cell if i in places else "" for i in range(places[-1] + 1))
            row = f"{form.delimiter.join(cells)}{form.delimiter}*+"
        self._rows_alone = re.compile(rf"(?>{row}\n)*+(?:{row})?".encode())

    def add_rows(self, rows: list[_Row]) -> None:
        """Take rows that were split into cells."""
        problems: list[str] = []
        for row in rows:
            if not any(row.cells):
                # At the end of a file they are no more than a spreadsheet's.
                self._empty = self._empty or row
                continue
            faults = [self._fault(one) for one in (self._empty, row) if one is not None]
            problems += filter(None, faults)
            self._empty = None
            if len(problems) >= LISTED_ROWS:
                break
            if not problems:
                self._put(np.array([[row.numbers[i]] for i in self.places]), row.line)
        if problems:
            raise TraceError(problems)

    def add_block(self, line: int, block: bytes) -> None:
        """Take lines that follow."""
        quoted_commas = self.form.delimiter == "," == self.form.decimal
        if self._empty or quoted_commas or not self._rows_alone.fullmatch(block):
            lines = _lines_of(block)
            if max(map(len, lines)) > HEAD:
                raise TraceError(
                    f"line {line} or one that follows: got more than {HEAD} signs in one line, "
                    "allowed fewer; export one row a line"
                )
            self.add_rows(self.form.split(lines, line))
            return
        plain = block.replace(b'"', b"").replace(self.form.decimal.encode(), b".")
        numbers = np.loadtxt(
            io.TextIOWrapper(io.BytesIO(plain), "ascii"),
            delimiter=self.form.delimiter,
            usecols=self.places,
            comments=None,
            ndmin=2,
            unpack=True,
        )
        self._put(numbers, line)

    def _put(self, numbers: np.ndarray, first_line: int) -> None:
        """Add numbers (column, row) of consecutive lines."""
        if self._last and first_line > self._last + 1:
            self.broken = self.broken or self._last + 1
        count = numbers.shape[1]
        self.values[:, self.count : self.count + count] = numbers
        self.count, self._last = self.count + count, first_line + count - 1

    def _fault(self, row: _Row) -> str:
        """Why a row is no row of numbers like the others; empty where it is one."""
        where = f"line {row.line}: got "
        for column, i in enumerate(self.places, start=1):
            if i >= len(row.cells):
                return (
                    f"{where}{column - 1} of {len(self.places)} numbers, allowed all; the file is "
                    "cut off there, or two records are in it"
                )
            if row.numbers[i] is None:
                got = shown(row.cells[i]) if row.cells[i] else "nothing"
                return (
                    f"{where}{got} in column {column}, allowed a number with the decimal sign "
                    f'"{self.form.decimal}"; mend the file at its source, or cut the trace before '
                    "it; where the other sign parts thousands, say --decimal comma or point"
                )
        extra = [cell for i, cell in enumerate(row.cells) if cell and i not in self.places]
        if extra:
            return (
                f"{where}{shown(extra[0])} where the other rows have nothing, allowed rows of one "
                "kind; take it out"
            )
        parted = self.form.delimiter in _TWO_MEANINGS
        if parted and any(_LED.fullmatch(row.cells[i]) for i in self.places):
            return f"line {row.line}: {_TWO_MEANINGS[self.form.delimiter]}"
        return ""


def _commented(lines: list[str], line: int, form: _Form, places: tuple[int, ...]) -> list[_Row]:
    """The headings that stand in a comment right above the numbers, as NumPy writes them: the
    nearest one with a text over each column. Where white space parts the columns, two signs of it
    part headings."""
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
    """Whether the first column counts the rows, as pandas writes it: without a heading, where all
    others have one."""
    cells = above[-1].cells if above else []
    headed = [bool(cells[i]) if i < len(cells) else False for i in places]
    counted = len(places) > 2 and headed == [False, *[True] * (len(places) - 1)]
    return counted and bool((np.diff(first) == 1.0).all())


def _headings(
    above: list[_Row], places: tuple[int, ...], delimiter: str | None, index: bool
) -> tuple[list[str], list[str | None], list[str]]:
    """Name, unit and factor of each column, but for one that counts the rows, from the lines right
    above the numbers."""
    # With an empty column in front of the numbers, these too are keys.
    keys = {*KEYS, "date", "time"} if places[0] else {*KEYS}
    places = places[index:]
    names, factors = [""] * len(places), [""] * len(places)
    units: list[str | None] = [None] * len(places)
    titles = [row for row in above if any(row.cells)]
    for row in titles[: -HEADINGS - 1 : -1]:
        # A row of headings has a text over each column; two cells are also a line of a preamble,
        # where they do not describe the columns. White space parts the words of a heading too.
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
