"""Columns of numbers in a text file as oscilloscopes and spreadsheets write it: preamble, headings,
units, decimal comma.

Nothing is guessed that would give other numbers: a cell that is no number in the midst of the
numbers, a row of another length or a sign that could be two things is refused, with the line. The
first lines show how the file is made. What follows is read in blocks: by NumPy's reader where a
block holds nothing but rows of numbers, line by line where it does not, to the same numbers.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from granchain.errors import TraceError
from granchain.keys import shown
from granchain.store.limit import Limit
from granchain.traces.columns import Column, Record
from granchain.traces.headings import factor_in, known, same, unit_in
from granchain.traces.preamble import KEYS, key_of, preamble_of

# Between cells, in the order in which they are tried; None is any white space.
DELIMITERS = (";", "\t", ",", None)

_SHORT_EXPONENT = r"(?:[eE][+-]?[0-9]{1,3}+)?"
# A number with each decimal sign; with "", one that has none.
_UNSIGNED = {
    ".": r"(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)",
    ",": r"(?:[0-9]++(?:,[0-9]++)?|,[0-9]++)",
    "": r"[0-9]++",
}
_NUMBER_WITH = {
    sign: re.compile(rf"[+-]?{digits}{_SHORT_EXPONENT}") for sign, digits in _UNSIGNED.items()
}
# Numbers in groups of three digits, where the decimal sign is known to be the other one.
_GROUPS = {
    ",": re.compile(r"[+-]?[0-9]{1,3}(?:\.[0-9]{3})+(?:,[0-9]*)?"),
    ".": re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?"),
}
# 1.050: a thousand and fifty, or one and a bit.
_EITHER = re.compile(r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}")
# A zero in front of other digits: no number begins so, but the end of one does that a comma or a
# space has parted.
_LED = re.compile(r"[+-]?0[0-9]+(?:[.,][0-9]*)?(?:[eE][+-]?[0-9]+)?")
_LONG = re.compile(r"[+-]?[0-9]{4,}")
_ALIKE = re.compile(r"[+-]?[0-9.,][0-9.,'\s]*(?:[eE][+-]?[0-9]+)?")
_DECIMAL_SEPARATOR = re.compile(r"Decimal_Separator\s*[\t;,]?\s*([.,])\s*$", re.IGNORECASE)
# Lines and bytes that show how a file is made: more than any preamble has.
ENOUGH = 2000
HEAD = 2**17
# Bytes of one of these lines at most: some thousand columns.
LONGEST = 2**16
# Headings and units stand in so many lines above the numbers at most.
HEADINGS = 3
# A preamble in columns of its own stands beside so many rows of numbers at most.
BESIDE = 200
# Bytes that are read at once; no line is as long.
BLOCK = 2**20
# Places in a file at which the digits that its numbers print are looked at.
SAMPLED = 1000
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
        filled = [i for i, cell in enumerate(self.cells) if cell]
        return tuple(filled) if all(self.numbers[i] is not None for i in filled) else ()

    def holds(self, places: tuple[int, ...]) -> bool:
        return len(self.cells) > places[-1] and all(self.numbers[i] is not None for i in places)

    def beside(self, places: tuple[int, ...]) -> bool:
        """Whether a line of the preamble stands in front of its numbers, in columns of its own."""
        extra = [i for i, cell in enumerate(self.cells) if cell and i not in places]
        return (
            bool(extra)
            and self.holds(places)
            and extra[-1] < places[0]
            and self.numbers[extra[0]] is None
        )


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
    content = _ascii_digits(content, where)
    end, lines = _head(content, where)
    stated = (match[1] for line in lines if (match := _DECIMAL_SEPARATOR.match(line)))
    decimal = decimal or next(stated, None)
    rows, places, delimiter = _best_split(lines, where, decimal)
    regular = first = next(i for i, row in enumerate(rows) if row.places == places)
    # Some instruments write their preamble into columns of its own, beside the first numbers.
    while first > 0 and rows[first - 1].holds(places):
        first -= 1
    if delimiter in (",", None):
        # Cells that may be two parts of a number: half as many headings, or three digits each.
        cells = [[row.cells[i] for i in places] for row in rows[first:] if row.holds(places)]
        headings = sum(bool(cell) for cell in rows[first - 1].cells) if first else 0
        columns_of_three = [
            k
            for k in range(1, len(places))
            if all(re.fullmatch(r"[0-9]{3}", row[k]) for row in cells)
        ]
        if (delimiter == "," and 2 * headings == len(places)) or (
            columns_of_three and 0 < headings < len(places)
        ):
            raise TraceError(f"{where}: line {rows[first].line}: {_TWO_MEANINGS[delimiter]}")
    reading = _Reading(where, places, delimiter, decimal, content, limit)
    beside = {
        i: row for i, row in enumerate(rows[: first + BESIDE]) if i >= first and row.beside(places)
    }
    for i, row in beside.items():
        rows[i] = _Row(row.line, [""] * places[0] + row.cells[places[0] :], row.numbers)
    # A row above the numbers may begin as one of them that cannot be read, such as 40'000.
    above = rows[first - 1].cells if first else []
    alike = (
        len(above) > places[0]
        and _ALIKE.fullmatch(above[places[0]])
        and sum(map(bool, above)) >= len(places)
    )
    reading.add_rows(rows[first - 1 if alike else first :])
    reading.add_rest(end, len(lines))
    titles = rows[:first]
    if delimiter is None:
        titles = [_titles_between_spaces(row, lines[row.line - 1], places) for row in titles]
    names, units, factors = _headings(titles, places)
    above_numbers = [(row.line, row.cells) for row in rows[:first]]
    above_numbers += [(row.line, row.cells[: places[0]]) for row in beside.values()]
    preamble = preamble_of(above_numbers, "\n".join(lines[: rows[regular].line - 1]), where)
    if len(preamble.names) in (len(places), len(places) - 1):
        names[len(places) - len(preamble.names) :] = preamble.names
    digits = _last_digits(content, places, delimiter, decimal)
    values = reading.values[:, : reading.count]
    columns = map(Column, names, units, values, digits, factors)
    return Record(list(columns), preamble, reading.broken)


def _ascii_digits(content: bytes, where: str) -> bytes:
    """A text in an encoding whose digits are those of ASCII, with plain ends of lines."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            content = content.decode("utf-16").encode("utf-8")
        except UnicodeError:
            raise TraceError(
                f"{where}: got bytes that are no utf-16 text, allowed text; export it as CSV again"
            ) from None
    if b"\0" in content:
        raise TraceError(
            f"{where}: got bytes that are no text, allowed CSV, .npy, .npz, HDF5, MATLAB or TDMS; "
            "export it as CSV"
        )
    if b"\r" in content:
        content = content.replace(b"\r\r\n", b"\n").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return content


def _head(content: bytes, where: str) -> tuple[int, list[str]]:
    """Where the first lines end, and they themselves."""
    end, count = 0, 0
    while end < len(content) and count < ENOUGH and end < HEAD:
        stop = content.find(b"\n", end) + 1 or len(content)
        if stop - end > LONGEST:
            raise TraceError(
                f"{where}: line {count + 1}: got {stop - end} bytes in one line, allowed "
                f"{LONGEST}; export one row a line"
            )
        end, count = stop, count + 1
    return end, _lines_of(content[:end])


def _lines_of(content: bytes) -> list[str]:
    """Lines of bytes in which only the micro sign and letters in headings are not ASCII: no number
    can come out wrong."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return text.removesuffix("\n").split("\n")


def _best_split(
    lines: list[str], where: str, decimal: str | None
) -> tuple[list[_Row], tuple[int, ...], str | None]:
    """Rows, places of the numbers and delimiter: the one that makes most rows of two numbers or
    more."""
    best: tuple[list[_Row], tuple[int, ...], str | None] | None = None
    rank = (0, 0)
    for delimiter in DELIMITERS:
        if decimal == "," and delimiter == "," and not any('"' in line for line in lines):
            continue
        rows = _split(lines, delimiter, decimal)
        # Two tabs with nothing between them are white space too, and a number of groups of three
        # digits is several.
        if delimiter is None and 2 * sum("\t" in lines[row.line - 1] for row in rows) >= len(rows):
            continue
        count = Counter(row.places for row in rows if row.places)
        if count:
            places, number = max(count.items(), key=lambda item: (item[1], len(item[0])))
            if (min(len(places), 2), number) > rank:
                best, rank = (rows, places, delimiter), (min(len(places), 2), number)
    if best is None:
        raise TraceError(
            f"{where}: got no row of numbers, allowed columns of numbers, time first; export the "
            "trace as CSV"
        )
    return best


def _split(
    lines: list[str], delimiter: str | None, decimal: str | None, start: int = 1
) -> list[_Row]:
    """The cells of lines and the numbers in them; comments and blank lines are left out."""
    rows = []
    for i, line in enumerate(lines, start=start):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        cells = [cell.strip().strip('"').strip() for cell in line.split(delimiter)]
        if delimiter is not None and '"' in line:
            try:
                quoted = csv.reader([line], delimiter=delimiter, strict=True, skipinitialspace=True)
                cells = [cell.strip() for cell in next(quoted)]
            except (csv.Error, StopIteration):
                pass  # Quotes that are none, such as inches.
        rows.append(_Row(i, cells, [_number(cell, decimal) for cell in cells]))
    return rows


def _number(cell: str, decimal: str | None) -> float | None:
    if decimal is not None and _GROUPS[decimal].fullmatch(cell):
        return float(cell.replace("." if decimal == "," else ",", "").replace(",", "."))
    signs = [decimal] if decimal is not None else [".", ","]
    return (
        float(cell.replace(",", "."))
        if any(_NUMBER_WITH[sign].fullmatch(cell) for sign in signs)
        else None
    )


class _Reading:
    """The numbers of a file in the making, and what they show of the decimal sign.

    `decimal` gives the sign; without it, it must show beyond doubt.
    """

    def __init__(
        self,
        where: str,
        places: tuple[int, ...],
        delimiter: str | None,
        decimal: str | None,
        content: bytes,
        limit: Limit,
    ):
        self.where, self.places, self.delimiter = where, places, delimiter
        self.decimal, self.content = decimal, content
        lines = content.count(b"\n") + 1
        limit.check(where, len(content), lines * len(places))
        self.values = np.empty((len(places), lines))
        self.count = 0
        self.broken: int | None = None
        self._empty: _Row | None = None
        self._last = 0
        self._sign, self._certain = decimal or "", decimal is not None
        self._doubtful: dict[int, tuple[int, str]] = {}
        self._long: set[int] = set()

    def add_rows(self, rows: list[_Row]) -> None:
        """Take rows that were split into cells."""
        problems: list[str] = []
        for row in rows:
            if not any(row.cells):
                # At the end of a file they are no more than a spreadsheet's.
                self._empty = self._empty or row
                continue
            found = [
                f"line {bad.line}: {self._fault(bad)}"
                for bad in (self._empty, row)
                if bad is not None and bad.places != self.places
            ]
            self._empty = None
            parted = self.delimiter in (",", None) and any(
                _LED.fullmatch(row.cells[i]) for i in self.places if i < len(row.cells)
            )
            if not found and parted:
                found = [f"line {row.line}: {_TWO_MEANINGS[self.delimiter]}"]
            problems += found or self._note_signs(row)
            if len(problems) >= LISTED_ROWS:
                break
            if not problems:
                self._put(np.array([[row.numbers[i]] for i in self.places]), row.line)
        self._refuse(problems)

    def add_rest(self, begin: int, line: int) -> None:
        """Take what follows the first lines."""
        while begin < len(self.content):
            end = len(self.content)
            if end - begin > BLOCK:
                end = self.content.rfind(b"\n", begin, begin + BLOCK) + 1
            if end <= begin:
                self._refuse(
                    [
                        f"line {line + 1}: got more than {BLOCK} bytes in one line, allowed "
                        "fewer; export one row a line"
                    ]
                )
            block = self.content[begin:end]
            if not self._add_block(block, line):
                rows = _split(_lines_of(block), self.delimiter, self.decimal, line + 1)
                self.add_rows(rows)
            begin, line = end, line + block.count(b"\n")
        if self._certain:
            return
        for i, (at, cell) in self._doubtful.items():
            if i not in self._long:
                whole, point = cell.replace(self._sign, ""), cell.replace(",", ".")
                names = ("point", "comma") if self._sign == "." else ("comma", "point")
                self._refuse(
                    [
                        f"line {at}: got {shown(cell)}, which is {whole} or {point}, and no other "
                        "number shows which, allowed one meaning; say which sign is the decimal "
                        f"one: --decimal {names[0]} for {point}, --decimal {names[1]} for {whole}"
                    ]
                )

    def _add_block(self, block: bytes, line: int) -> bool:
        """Take a block that holds nothing but rows of numbers; False where it may hold more."""
        sign = self._sign if self._certain else ""
        if self._empty or (self._doubtful and not self._certain) or self.delimiter == "," == sign:
            return False
        number = f"[+-]?{_UNSIGNED[sign]}{_SHORT_EXPONENT}"
        if self.delimiter in (",", None):
            number = f"[+-]?(?!0[0-9]){_UNSIGNED[sign]}{_SHORT_EXPONENT}"
        if self.delimiter is None:
            row = rf"[ \t]*+{number}(?:[ \t]++{number}){{{len(self.places) - 1}}}[ \t]*+"
        else:
            cell = rf' *+(?:{number}|"{number}") *+'
            cells = (cell if i in self.places else "" for i in range(self.places[-1] + 1))
            row = f"{self.delimiter.join(cells)}{self.delimiter}*+"
        if not re.fullmatch(rf"(?>{row}\n)*+(?:{row})?".encode(), block):
            return False
        block = block.replace(b'"', b"")
        numbers = np.loadtxt(
            io.TextIOWrapper(
                io.BytesIO(block.replace(b",", b".") if sign == "," else block), "ascii"
            ),
            delimiter=self.delimiter,
            usecols=self.places,
            comments=None,
            ndmin=2,
            unpack=True,
        )
        self._put(numbers, line + 1)
        return True

    def _put(self, numbers: np.ndarray, first_line: int) -> None:
        """Add numbers (column, row) of consecutive lines."""
        if self._last and first_line > self._last + 1:
            self.broken = self.broken or self._last + 1
        count = numbers.shape[1]
        self.values[:, self.count : self.count + count] = numbers
        self.count, self._last = self.count + count, first_line + count - 1

    def _note_signs(self, row: _Row) -> list[str]:
        """Learn the decimal sign from a row; a sentence where it contradicts what was learnt."""
        if self.decimal is not None:
            return []
        for i in self.places:
            cell = row.cells[i]
            sign = "," if "," in cell else "." if "." in cell else ""
            if sign and self._sign and sign != self._sign:
                return [
                    f"line {row.line}: got {shown(cell)}, where other numbers have "
                    f"{shown(self._sign)}, allowed one decimal sign; say which of the two it is, "
                    "the other then parts thousands: --decimal comma or --decimal point"
                ]
            self._sign = self._sign or sign
            if _LONG.fullmatch(cell):
                self._long.add(i)
            elif sign and not _EITHER.fullmatch(cell):
                self._certain = True
            elif sign:
                self._doubtful.setdefault(i, (row.line, cell))
        return []

    def _fault(self, row: _Row) -> str:
        """Why a row is no row of numbers like the others."""
        for column, i in enumerate(self.places, start=1):
            if i >= len(row.cells):
                return (
                    f"got {column - 1} of {len(self.places)} numbers, allowed all; the file is "
                    "cut off there, or two records are in it"
                )
            if row.numbers[i] is None:
                got = shown(row.cells[i]) if row.cells[i] else "nothing"
                return (
                    f"got {got} in column {column}, allowed a number; mend the file at its "
                    "source, or cut the trace before it"
                )
        extra = next(cell for i, cell in enumerate(row.cells) if cell and i not in self.places)
        return (
            f"got {shown(extra)} where the other rows have nothing, allowed rows of one kind; "
            "take it out"
        )

    def _refuse(self, problems: list[str]) -> None:
        if problems:
            raise TraceError([f"{self.where}: {problem}" for problem in problems])


def _titles_between_spaces(row: _Row, line: str, places: tuple[int, ...]) -> _Row:
    """A line above columns that white space parts: headings of several words have two spaces
    between them, or cannot be separated."""
    cells = [cell.strip('"') for cell in re.split(r"\t|\s{2,}", line.strip())]
    if len(cells) != len(places):
        cells = row.cells if len(row.cells) == len(places) else []
    return _Row(row.line, cells, [_number(cell, None) for cell in cells])


def _headings(
    above: list[_Row], places: tuple[int, ...]
) -> tuple[list[str], list[str | None], list[str]]:
    """Name, unit and factor of each column, from the lines right above the numbers."""
    names, factors = [""] * len(places), [""] * len(places)
    units: list[str | None] = [None] * len(places)
    # With an empty column in front of the numbers, these too are keys.
    keys = (*KEYS, "date", "time") if places[0] else KEYS
    titles = [row for row in above if any(row.cells) or not row.cells]
    for row in titles[: -HEADINGS - 1 : -1]:
        # A row of headings has a text over each column; two cells are also a line of a preamble,
        # where they do not describe the columns.
        cells = [row.cells[i] if i < len(row.cells) else "" for i in places]
        if not all(cells) or row.numbers[places[0]] is not None or key_of(row.cells[0]) in keys:
            break
        if all(names) and all(row.numbers[i] is not None for i in places[1:]):
            # Above the names, a key and its values.
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


def _last_digits(
    content: bytes, places: tuple[int, ...], delimiter: str | None, decimal: str | None
) -> list[float]:
    """Value of the last digit that most numbers of each column print; some have lost their last
    zeros."""
    places_in_file = range(0, len(content), max(1, len(content) // SAMPLED))
    starts = sorted({content.rfind(b"\n", 0, at) + 1 for at in places_in_file})
    sampled = (content[start : start + LONGEST].partition(b"\n")[0] for start in starts)
    rows = _split(_lines_of(b"\n".join(sampled)), delimiter, decimal)
    found = []
    for i in places:
        values = []
        for row in rows:
            if row.holds(places):
                mantissa, _, exponent = row.cells[i].replace(",", ".").lower().partition("e")
                digits = int(exponent or 0) - len(mantissa.partition(".")[2])
                # A larger exponent is that of no time, and of no double.
                values.append(10.0 ** max(-300, min(300, digits)))
        found.append(float(np.quantile(values, 0.75, method="nearest")) if values else 0.0)
    return found
