"""Tables as text, and as HTML for notebooks without external files or scripts."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from granchain.errors import clean

# Cells that are aligned to the right.
ALIGNED_NUMBER = re.compile(
    r"[+-]?[0-9.]+(e[+-]?[0-9]+)?( (\+-|to) [0-9.e+-]+)?( \([0-9.e+-]+( %)?\))?|-|nan|not yet"
)


@dataclass(frozen=True)
class Grid:
    """Table with columns, rows of cells, and a title.

    `alignment` has one character per column for the terminal: < or >.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    alignment: str = ""


def aligned_grid(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Grid:
    """Return a table whose columns of numbers are aligned to the right."""
    cells = tuple(map(tuple, rows))
    sides = ["<>"[all(map(is_number_cell, column))] for column in zip(*cells, strict=True)]
    return Grid(tuple(columns), cells, "", "".join(sides))


def escaped(text: str) -> str:
    """Return text as HTML.

    Markup is shown as text, and characters that reverse or hide other text are blank.
    """
    return html.escape(clean(text))


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    cell: Callable[[str], str] = escaped,
    styled: bool = False,
) -> str:
    """Return an HTML table; columns of numbers are aligned to the right.

    Parameters
    ----------
    columns : sequence of str
        Headings; empty if the table has no heading.
    rows : iterable of sequence
        Rows of cells; markup in them is shown as text.
    cell : callable
        Function that returns the HTML of the text of a cell or heading.
    styled : bool
        True if the table contains its style, because a notebook has none for it.
    """
    lines = [[value if isinstance(value, str) else str(value) for value in row] for row in rows]
    count = len(lines[0]) if lines else len(columns)
    numbers = [
        bool(lines) and all(ALIGNED_NUMBER.fullmatch(line[i].strip() or "-") for line in lines)
        for i in range(count)
    ]
    if styled:
        sides = ["right" if number else "left" for number in numbers]
        wraps = ["nowrap" if i == 0 else "normal" for i in range(count)]
        marks = [
            f' style="text-align:{side};vertical-align:top;white-space:{wrap}"'
            for side, wrap in zip(sides, wraps, strict=True)
        ]
    else:
        marks = [' class="number"' if number else "" for number in numbers]
    names = [
        f"<th{mark}>{cell(str(heading))}</th>"
        for mark, heading in zip(marks, columns, strict=False)
    ]
    head = f"<thead><tr>{''.join(names)}</tr></thead>\n" if any(map(str, columns)) else ""
    body = ["".join(f"<td{marks[i]}>{cell(line[i])}</td>" for i in range(count)) for line in lines]
    return f"<table>\n{head}" + "".join(f"<tr>{row}</tr>\n" for row in body) + "</table>"


def text_table(rows: Iterable[Sequence[object]], alignment: str = "") -> str:
    """Return rows as lines of text, with aligned columns.

    Parameters
    ----------
    rows : iterable of sequence
        Rows. The first one may be the heading.
    alignment : str
        Alignment of each column, < or >. Default: > for numbers below the first row.
    """
    lines = [[clean(str(cell)) for cell in row] for row in rows]
    columns = list(zip(*lines, strict=True))
    sides = alignment or "".join("<>"[all(map(is_number_cell, each[1:]))] for each in columns)
    widths = [max(map(len, each)) for each in columns]
    return "\n".join(
        "  ".join(
            f"{cell:{side}{width}}" for cell, side, width in zip(line, sides, widths, strict=True)
        ).rstrip()
        for line in lines
    )


def is_number_cell(cell: str) -> bool:
    """Return whether the text of a cell is a number, or marks a missing number."""
    try:
        float(cell)
    except ValueError:
        return cell in ("-", "")
    return True


def facts_card(
    heading: str, facts: Iterable[Sequence[str]], *sections: str, notes: Iterable[str] = ()
) -> str:
    """Return a heading, names with values and units, other sections, and notes as HTML."""
    return card(heading, table((), facts, styled=True), *sections, notes=notes)


def card(heading: str, *sections: str, notes: Iterable[str] = ()) -> str:
    """Return a heading, sections that are HTML already, and notes as HTML."""
    rows = [(note,) for note in notes]
    blocks = [*sections, table((), rows, styled=True) if rows else ""]
    return f"<div><b>{escaped(heading)}</b>{''.join(blocks)}</div>"


def folded(heading: str, content: str) -> str:
    """Return HTML that is collapsed until the user opens it."""
    return f"<details><summary>{escaped(heading)}</summary>{content}</details>"
