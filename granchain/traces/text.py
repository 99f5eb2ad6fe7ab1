"""Columns of numbers in a text file as oscilloscopes and spreadsheets write it: preamble, headings, units, decimal comma.

Nothing is guessed that would give other numbers: a cell that is no number in the midst of the numbers, a row of another length or a
sign that could be two things is refused, with the line. The first lines show how the file is made. What follows is read in blocks by
NumPy's reader where a block holds nothing but numbers, and line by line where it does not, to the same numbers or the same refusal.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from granchain.errors import TraceError
from granchain.keys import shown
from granchain.store.limit import Limit
from granchain.traces.columns import Column, Record
from granchain.traces.headings import factor_in, known, same, unit_in
from granchain.traces.preamble import KEYS, key_of, preamble_of

# Between cells, in the order in which they are tried; None is any white space.
DELIMITERS = (";", "\t", ",", None)

_POINT = re.compile(r"[+-]?(?:[0-9]+(?P<point>\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_COMMA = re.compile(r"[+-]?(?:[0-9]+,[0-9]+|,[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
# Numbers in groups of three digits, where the decimal sign is known to be the other one.
_GROUPS = {
    ",": re.compile(r"[+-]?[0-9]{1,3}(?:\.[0-9]{3})+(?:,[0-9]*)?"),
    ".": re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?"),
}
# 1.050: a thousand and fifty, or one and a bit.
_EITHER = re.compile(r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}")
# A zero in front of other digits: no number begins so, but the end of one does that a comma or a space has parted.
_LED = re.compile(r"[+-]?0[0-9]+(?:[.,][0-9]*)?(?:[eE][+-]?[0-9]+)?")
_LONG = re.compile(r"[+-]?[0-9]{4,}")
_ALIKE = re.compile(r"[+-]?[0-9.,][0-9.,'\s]*(?:[eE][+-]?[0-9]+)?")
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
# Cells of each column that are looked at for the digits that they print.
SAMPLED = 500
# Faults that are listed one by one.
LISTED = 5


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

    @property
    def empty(self) -> bool:
        return not any(self.cells)

    def holds(self, places: tuple[int, ...]) -> bool:
        return len(self.cells) > places[-1] and all(self.numbers[i] is not None for i in places)

    def beside(self, places: tuple[int, ...]) -> bool:
        """Whether it is a row of numbers with a line of the preamble in columns of its own in front of them."""
        extra = [i for i, cell in enumerate(self.cells) if cell and i not in places]
        return bool(extra) and self.holds(places) and extra[-1] < places[0] and self.numbers[extra[0]] is None


@dataclass
class _Decimals:
    """Which sign is the decimal one, as the cells show it: `asked` gives it, else it must show beyond doubt."""

    asked: str | None
    sign: str = ""
    certain: bool = False
    doubtful: dict[int, tuple[int, str]] = field(default_factory=dict)
    long: set[int] = field(default_factory=set)

    def note(self, row: _Row, places: tuple[int, ...]) -> str:
        """Learn from a row of numbers; a sentence where it contradicts what was learnt."""
        if self.asked is not None:
            return ""
        for i in places:
            cell = row.cells[i]
            sign = "," if "," in cell else "." if "." in cell else ""
            if sign and self.sign and sign != self.sign:
                return (
                    f"line {row.line}: got {shown(cell)}, where other numbers have {shown(self.sign)}, allowed one decimal sign; say which "
                    "of the two it is, the other then parts thousands: --decimal comma or --decimal point"
                )
            self.sign = self.sign or sign
            if _LONG.fullmatch(cell):
                self.long.add(i)
            elif sign and not _EITHER.fullmatch(cell):
                self.certain = True
            elif sign:
                self.doubtful.setdefault(i, (row.line, cell))
        return ""

    @property
    def settled(self) -> bool:
        """Whether no number below can change what is known, while it has no sign but `sign`."""
        return self.asked is not None or self.certain

    def doubt(self) -> str:
        """A sentence where a sign could be two things to the end."""
        if self.settled:
            return ""
        for i, (line, cell) in self.doubtful.items():
            if i not in self.long:
                whole, point = cell.replace(self.sign, ""), cell.replace(",", ".")
                return (
                    f"line {line}: got {shown(cell)}, which is {whole} or {point}, and no other number shows which, allowed one "
                    f"meaning; say which sign is the decimal one: --decimal {'point' if self.sign == '.' else 'comma'} for {point}, "
                    f"--decimal {'comma' if self.sign == '.' else 'point'} for {whole}"
                )
        return ""


def plain(content: bytes, where: str) -> bytes:
    """A text in an encoding whose digits are those of ASCII, with plain ends of lines."""
    for mark, encoding in ((b"\xef\xbb\xbf", ""), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if content.startswith(mark):
            if not encoding:
                content = content[len(mark) :]
                break
            try:
                content = content.decode(encoding).encode("utf-8")
            except UnicodeError:
                raise TraceError(f"{where}: got bytes that are no {encoding} text, allowed text; export it as CSV again") from None
            break
    if b"\0" in content:
        raise TraceError(f"{where}: got bytes that are no text, allowed CSV, .npy, .npz, HDF5, MATLAB or TDMS; export it as CSV")
    if b"\r" in content:
        content = content.replace(b"\r\r\n", b"\n").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return content


def text_columns(content: bytes, where: str, decimal: str | None = None, limit: Limit | None = None) -> Record:
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
    # An encoding of two bytes a letter is decoded and encoded again; other ends of lines are another copy.
    limit.check(where, (4 if content[:2] in (b"\xff\xfe", b"\xfe\xff") else 2) * len(content))
    content = plain(content, where)
    end, lines = _head(content, where)
    decimal = decimal or _stated_decimal(lines)
    rows, places, delimiter = _best(lines, where, decimal)
    regular = _regular(rows, places)
    first = _first(rows, places, regular)
    if delimiter in (",", None):
        problems = _two_meanings(rows, first, places, delimiter)
        if problems:
            raise TraceError([f"{where}: {problem}" for problem in problems])
    doubtful = [row for row in rows[max(first - 1, 0) : first] if _begins_alike(row, places)]
    reading = _Reading(where, places, delimiter, decimal, content, limit)
    beside = [_without(row, places) if row.beside(places) else row for row in rows[first : first + BESIDE]]
    reading.rows([*doubtful, *beside, *rows[first + BESIDE :]], end / len(content))
    reading.rest(end, len(lines))
    titles = rows[:first] if delimiter is not None else [_titled(row, lines[row.line - 1], places) for row in rows[:first]]
    names, units, factors = _headings(titles, places)
    above = [(row.line, row.cells) for row in rows[:first]]
    above += [(row.line, row.cells[: places[0]]) for row in rows[first : first + BESIDE] if row.beside(places)]
    preamble = preamble_of(above, "\n".join(lines[: rows[regular].line - 1]), where)
    if len(preamble.names) in (len(places), len(places) - 1):
        names[len(places) - len(preamble.names) :] = preamble.names
    values, digits = reading.columns()
    columns = [Column(names[k], units[k], values[k], digits[k], factors[k]) for k in range(len(places))]
    return Record(columns, preamble, reading.broken)


def _head(content: bytes, where: str) -> tuple[int, list[str]]:
    """Where the first lines end, and they themselves."""
    end, count = 0, 0
    while end < len(content) and count < ENOUGH and end < HEAD:
        stop = content.find(b"\n", end) + 1 or len(content)
        if stop - end > LONGEST:
            raise TraceError(f"{where}: line {count + 1}: got {stop - end} bytes in one line, allowed {LONGEST}; export one row a line")
        end, count = stop, count + 1
    lines = decoded(content[:end]).split("\n")
    return end, lines[:-1] if content[:end].endswith(b"\n") else lines


def decoded(content: bytes) -> str:
    """Text of bytes in which only the micro sign and letters in headings are not ASCII: no number can come out wrong."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _stated_decimal(lines: list[str]) -> str | None:
    """The decimal sign that a file of LabVIEW states."""
    found = (re.match(r"Decimal_Separator\s*[\t;,]?\s*([.,])\s*$", line, re.IGNORECASE) for line in lines)
    return next((match[1] for match in found if match), None)


def _best(lines: list[str], where: str, decimal: str | None) -> tuple[list[_Row], tuple[int, ...], str | None]:
    """Rows, places of the numbers and delimiter: the one that makes most rows of two numbers or more."""
    best: tuple[list[_Row], tuple[int, ...], str | None] | None = None
    rank = (0, 0)
    for delimiter in DELIMITERS:
        if decimal == "," and delimiter == "," and not any('"' in line for line in lines):
            continue
        rows = _split(lines, delimiter, decimal)
        # Two tabs with nothing between them are white space too, and a number of groups of three digits is several.
        rows = rows if delimiter is not None or 2 * sum("\t" in lines[row.line - 1] for row in rows) < len(rows) else []
        count = Counter(row.places for row in rows if row.places)
        if count:
            places, number = max(count.items(), key=lambda item: (item[1], len(item[0])))
            if (min(len(places), 2), number) > rank:
                best, rank = (rows, places, delimiter), (min(len(places), 2), number)
    if best is None:
        raise TraceError(f"{where}: got no row of numbers, allowed columns of numbers, time first; export the trace as CSV")
    return best


def _split(lines: list[str], delimiter: str | None, decimal: str | None, start: int = 1) -> list[_Row]:
    rows = []
    for i, line in enumerate(lines, start=start):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        cells = _cells(line, delimiter)
        rows.append(_Row(i, cells, [_number(cell, decimal) for cell in cells]))
    return rows


def _cells(line: str, delimiter: str | None) -> list[str]:
    if delimiter is not None and '"' in line:
        try:
            return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter, strict=True, skipinitialspace=True))]
        except (csv.Error, StopIteration):
            pass  # Quotes that are none, such as inches.
    return [cell.strip().strip('"').strip() for cell in line.split(delimiter)]


def _number(cell: str, decimal: str | None) -> float | None:
    if decimal is not None and _GROUPS[decimal].fullmatch(cell):
        return float(cell.replace("." if decimal == "," else ",", "").replace(",", "."))
    if decimal != "," and _POINT.fullmatch(cell):
        return float(cell)
    if decimal != "." and _COMMA.fullmatch(cell):
        return float(cell.replace(",", "."))
    return float(cell) if decimal == "," and "." not in cell and _POINT.fullmatch(cell) else None


def _regular(rows: list[_Row], places: tuple[int, ...]) -> int:
    return next(i for i, row in enumerate(rows) if row.places == places)


def _first(rows: list[_Row], places: tuple[int, ...], regular: int) -> int:
    """First row of the numbers: some instruments write their preamble into columns of its own, beside the first numbers."""
    first = regular
    while first > 0 and rows[first - 1].holds(places):
        first -= 1
    return first


def _without(row: _Row, places: tuple[int, ...]) -> _Row:
    """A row without what is in front of its numbers."""
    front = places[0]
    return _Row(row.line, ["" if i < front else cell for i, cell in enumerate(row.cells)], row.numbers)


def _two_meanings(rows: list[_Row], first: int, places: tuple[int, ...], delimiter: str | None) -> list[str]:
    """Commas or spaces between the cells that may be decimal signs, or part thousands."""
    cells = [[row.cells[i] for i in places] for row in rows[first:] if row.holds(places)]
    headings = sum(bool(cell) for cell in rows[first - 1].cells) if first else 0
    half = delimiter == "," and 2 * headings == len(places)
    groups = any(all(re.fullmatch(r"[0-9]{3}", row[k]) for row in cells) for k in range(1, len(places))) and 0 < headings < len(places)
    return [f"line {rows[first].line}: {_both(delimiter)}"] if half or groups else []


def _both(delimiter: str | None) -> str:
    """What is wrong with a delimiter that may be part of the numbers."""
    got = (
        "commas that could be both separator and decimal sign" if delimiter else "spaces that could be both separator and part of a number"
    )
    more = ", or with decimal points" if delimiter else ""
    return f"got {got}, allowed one meaning; export it with semicolons or tabs between the columns{more}"


def _begins_alike(row: _Row, places: tuple[int, ...]) -> bool:
    """Whether a row above the numbers begins as one of them, be it with a number that cannot be read, such as 40'000."""
    start = row.cells[places[0]] if len(row.cells) > places[0] else ""
    return bool(_ALIKE.fullmatch(start)) and sum(bool(cell) for cell in row.cells) >= len(places)


def _fault(row: _Row, places: tuple[int, ...]) -> str:
    for column, i in enumerate(places, start=1):
        if i >= len(row.cells):
            return f"got {column - 1} of {len(places)} numbers, allowed all; the file is cut off there, or two records are in it"
        if row.numbers[i] is None:
            got = shown(row.cells[i]) if row.cells[i] else "nothing"
            return f"got {got} in column {column}, allowed a number; mend the file at its source, or cut the trace before it"
    extra = next((i for i in range(len(row.cells)) if row.cells[i] and i not in places), 0)
    return f"got {shown(row.cells[extra])} where the other rows have nothing, allowed rows of one kind; take it out"


class _Reading:
    """The numbers of a file in the making: rows of cells, or blocks of bytes, one after the other."""

    def __init__(self, where: str, places: tuple[int, ...], delimiter: str | None, decimal: str | None, content: bytes, limit: Limit):
        self.where, self.places, self.delimiter, self.decimal, self.content = where, places, delimiter, decimal, content
        lines = content.count(b"\n") + 1
        limit.check(where, len(content), lines * len(places))
        self.values = np.empty((len(places), lines))
        self.count = 0
        self.decimals = _Decimals(decimal)
        self.empty: _Row | None = None
        self.broken: int | None = None
        self.last = 0
        self.printed: list[list[str]] = [[] for _ in places]

    def rows(self, rows: list[_Row], share: float) -> None:
        """Take rows that were split into cells, a share of the file."""
        problems: list[str] = []
        stride = max(1, round(len(rows) / max(1.0, SAMPLED * share)))
        for k, row in enumerate(rows):
            if row.empty:
                # At the end of a file they are no more than a spreadsheet's.
                self.empty = self.empty or row
                continue
            before, self.empty = self.empty, None
            found = [f"line {one.line}: {_fault(one, self.places)}" for one in (before, row) if one and one.places != self.places]
            if not found and self.delimiter in (",", None) and any(_LED.fullmatch(row.cells[i]) for i in self.places):
                found = [f"line {row.line}: {_both(self.delimiter)}"]
            found = found or [one for one in (self.decimals.note(row, self.places),) if one]
            problems += found
            if len(problems) >= LISTED:
                break
            if not found:
                self.values[:, self.count] = [row.numbers[i] for i in self.places]
                self.count += 1
                if self.last and row.line > self.last + 1:
                    self.broken = self.broken or self.last + 1
                self.last = row.line
            if not found and k % stride == 0:
                for cells, i in zip(self.printed, self.places, strict=True):
                    cells.append(row.cells[i])
        self._raise(problems)

    def rest(self, begin: int, line: int) -> None:
        """Take what follows the first lines."""
        while begin < len(self.content):
            end = len(self.content) if len(self.content) - begin <= BLOCK else self.content.rfind(b"\n", begin, begin + BLOCK) + 1
            if end <= begin:
                self._raise([f"line {line + 1}: got more than {BLOCK} bytes in one line, allowed fewer; export one row a line"])
            block = self.content[begin:end]
            share = len(block) / len(self.content)
            if not self._clean(block, line, share):
                lines = decoded(block).split("\n")
                lines = lines[:-1] if block.endswith(b"\n") else lines
                self.rows(_split(lines, self.delimiter, self.decimal, line + 1), share)
            begin, line = end, line + block.count(b"\n")
        self._raise([one for one in (self.decimals.doubt(),) if one])

    def _clean(self, block: bytes, line: int, share: float) -> bool:
        """Read a block that holds nothing but rows of numbers, all cells of one kind; False where it may hold anything else."""
        decimals, delimiter = self.decimals, None if self.delimiter is None else self.delimiter.encode()
        sign = self.decimal or decimals.sign
        signed = b"." in block or (delimiter != b"," and b"," in block)
        if self.empty or (signed and not (decimals.settled and sign)) or delimiter == b"," == sign.encode():
            return False
        allowed = b"0123456789+-eE\n " + sign.encode() + (delimiter or b"\t")
        if block.translate(None, allowed + b'"') or b"\n\n" in block or block.startswith(b"\n") or not block.strip():
            return False
        if not _plain_numbers(block, sign, delimiter):
            return False
        if b'"' in block:
            if delimiter is None or not _evenly_quoted(block, delimiter):
                return False
            block = block.replace(b'"', b"")
        if self.places != tuple(range(self.places[0], self.places[-1] + 1)) or (delimiter is None and self.places[0]):
            return False
        trimmed = block if delimiter is None else _trimmed(block, delimiter, self.places[0])
        if trimmed is None:
            return False
        text = io.TextIOWrapper(io.BytesIO(trimmed.replace(b",", b".") if sign == "," else trimmed), "ascii")
        try:
            numbers = np.loadtxt(text, delimiter=self.delimiter, comments=None, ndmin=2, unpack=True)
        except ValueError:
            return False
        count = numbers.shape[1]
        if len(numbers) != len(self.places) or count != trimmed.count(b"\n") + (not trimmed.endswith(b"\n")):
            return False
        self.values[:, self.count : self.count + count] = numbers
        if self.last and line > self.last:
            self.broken = self.broken or self.last + 1
        self.count, self.last = self.count + count, line + count
        self._sample(trimmed, share)
        return True

    def _sample(self, block: bytes, share: float) -> None:
        """Cells of some lines of a block of nothing but numbers."""
        number = max(1, round(SAMPLED * share))
        for at in range(0, len(block) - 1, max(1, len(block) // number)):
            start = block.rfind(b"\n", 0, at + 1) + 1
            stop = block.find(b"\n", start)
            text = block[start : stop if stop >= 0 else len(block)].decode()
            found = text.split(self.delimiter)
            if len(found) == len(self.printed):
                for cells, cell in zip(self.printed, found, strict=True):
                    cells.append(cell.strip())

    def columns(self) -> tuple[np.ndarray, list[float]]:
        """Values of each column, and the value of the last digit that most of its cells print."""
        return self.values[:, : self.count], [_digit(cells) for cells in self.printed]

    def _raise(self, problems: list[str]) -> None:
        if problems:
            raise TraceError([f"{self.where}: {problem}" for problem in problems[:LISTED]])


def _evenly_quoted(block: bytes, delimiter: bytes) -> bool:
    """Whether every quotation mark is at the edge of a cell, one at each, and no delimiter is between the two."""
    opening = block.count(delimiter + b'"') + block.count(b'\n"') + block.startswith(b'"')
    closing = block.count(b'"' + delimiter) + block.count(b'"\n') + block.endswith(b'"')
    inside = b'"'.join(block.split(b'"')[1::2])
    return opening == closing and opening + closing == block.count(b'"') and delimiter not in inside and b"\n" not in inside


# An exponent of four digits; a decimal comma without a digit behind it; a zero in front of other digits where a cell may begin.
_LONG_EXPONENT, _BARE_COMMA, _LED_CELL = re.compile(rb"[eE][+-]?[0-9]{4}"), re.compile(rb",(?![0-9])"), re.compile(rb'[\s",][+-]?0[0-9]')


def _plain_numbers(block: bytes, sign: str, delimiter: bytes | None) -> bool:
    """Whether what NumPy takes for a number is one here too: no exponent of four digits ("0.e00047" was another number), no decimal comma
    without a digit behind it and, between commas or spaces, no zero in front of other digits."""
    if (b"e" in block or b"E" in block) and _LONG_EXPONENT.search(block):
        return False
    if sign == "," and _BARE_COMMA.search(block):
        return False
    return delimiter not in (b",", None) or not (_LED_CELL.search(block) or _LED_CELL.match(b"\n" + block[:4]))


def _trimmed(block: bytes, delimiter: bytes, empty: int) -> bytes | None:
    """A block without the empty cells in front of its numbers, so many in each line, and behind them; None where a line has others."""
    if empty:
        front = delimiter * empty
        rows = block.count(b"\n") + (not block.endswith(b"\n"))
        if block.count(b"\n" + front) + block.startswith(front) != rows:
            return None
        block = block.replace(b"\n" + front, b"\n")[len(front) :]
    if block.endswith((delimiter, delimiter + b"\n")):
        block = block.replace(delimiter + b"\n", b"\n")
        block = block[: -len(delimiter)] if block.endswith(delimiter) else block
    return block


def _titled(row: _Row, line: str, places: tuple[int, ...]) -> _Row:
    """A line above columns that white space parts: headings of several words have two spaces between them, or cannot be separated."""
    cells = [cell.strip('"') for cell in re.split(r"\t|\s{2,}", line.strip())]
    if len(cells) != len(places):
        cells = row.cells if len(row.cells) == len(places) else []
    return _Row(row.line, cells, [_number(cell, None) for cell in cells])


def _headings(above: list[_Row], places: tuple[int, ...]) -> tuple[list[str], list[str | None], list[str]]:
    """Name, unit and factor of each column, from the lines right above the numbers."""
    names, units, factors = [""] * len(places), [None] * len(places), [""] * len(places)  # type: list[str], list[str | None], list[str]
    # With an empty column in front of the numbers, these too are keys.
    keys = (*KEYS, "date", "time") if places[0] else KEYS
    for row in [row for row in above if not row.empty or not row.cells][: -HEADINGS - 1 : -1]:
        # A row of headings has a text over each column; two cells are also a line of a preamble, where they do not describe the columns.
        cells = [row.cells[i] if i < len(row.cells) else "" for i in places]
        if not all(cells) or any(row.numbers[i] is not None for i in places[:1]) or key_of(row.cells[0]) in keys:
            break
        if all(names) and all(number is not None for number in (row.numbers[i] for i in places[1:])):
            # Above the names, a key and its values.
            break
        for k, cell in enumerate(cells):
            unit, below = unit_in(cell), units[k]
            if unit is not None and below is not None and not same(unit, below):
                unit = f"{unit} and {below}"
            units[k] = unit if unit is not None else below
            names[k] = names[k] if known(cell.strip("()[]{} ")) else f"{cell} {names[k]}".strip()
            factors[k] = factors[k] or factor_in(cell)
    return [name or f"column {k}" for k, name in enumerate(names, start=1)], units, factors


def _digit(cells: list[str]) -> float:
    """Value of the last digit that most of the cells print; a cell may have lost its last zeros."""
    values = []
    for cell in cells:
        mantissa, _, exponent = cell.replace(",", ".").lower().partition("e")
        # A larger exponent is that of no time, and of no double.
        values.append(10.0 ** max(-300, min(300, int(exponent or 0) - len(mantissa.partition(".")[2]))))
    return float(np.quantile(values, 0.75, method="nearest")) if values else 0.0
