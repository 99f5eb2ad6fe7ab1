"""Small tables of HTML: what notebooks show of our objects, with nothing to fetch or run."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence

from granchain.errors import clean

# What stands to the right in a column.
NUMBER_PATTERN = re.compile(
    r"[+-]?[0-9.]+(e[+-]?[0-9]+)?( (\+-|to) [0-9.e+-]+)?( \([0-9.e+-]+( %)?\))?|-|nan|not yet"
)


def escaped(text: str) -> str:
    """Text as HTML that shows it: what is markup in it is shown, and what turns or hides the
    text beside it is blank."""
    return html.escape(clean(text))


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    cell: Callable[[str], str] = escaped,
    styled: bool = False,
) -> str:
    """A table; columns of numbers stand to the right.

    Parameters
    ----------
    columns : sequence of str
        Headings; none where there is no row of them.
    rows : iterable of sequence
        Their cells are text: markup in them is shown as text.
    cell : callable
        Makes HTML of the text of a cell or a heading.
    styled : bool
        Whether the style is in the table: a notebook has none of ours.
    """
    lines = [[one if isinstance(one, str) else str(one) for one in row] for row in rows]
    count = len(lines[0]) if lines else len(columns)
    numbers = [
        bool(lines) and all(NUMBER_PATTERN.fullmatch(line[i].strip() or "-") for line in lines)
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
    names = [f"<th{mark}>{cell(str(one))}</th>" for mark, one in zip(marks, columns, strict=False)]
    head = f"<thead><tr>{''.join(names)}</tr></thead>\n" if any(map(str, columns)) else ""
    made = ["".join(f"<td{marks[i]}>{cell(line[i])}</td>" for i in range(count)) for line in lines]
    return f"<table>\n{head}" + "".join(f"<tr>{one}</tr>\n" for one in made) + "</table>"


def facts_card(
    heading: str, facts: Iterable[Sequence[str]], *sections: str, notes: Iterable[str] = ()
) -> str:
    """A heading, and under it names with values and units, other parts, and sentences."""
    return card(heading, table((), facts, styled=True), *sections, notes=notes)


def card(heading: str, *sections: str, notes: Iterable[str] = ()) -> str:
    """A heading, and under it parts that are HTML already, and sentences."""
    rows = [(note,) for note in notes]
    shown = [*sections, table((), rows, styled=True) if rows else ""]
    return f"<div><b>{escaped(heading)}</b>{''.join(shown)}</div>"


def folded(heading: str, content: str) -> str:
    """HTML that is folded until it is opened."""
    return f"<details><summary>{escaped(heading)}</summary>{content}</details>"
