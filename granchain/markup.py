"""Small tables of HTML, and traces as lines of SVG: what notebooks show of our objects, with
nothing to fetch or run."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Iterable, Sequence

from granchain.errors import clean

# What stands to the right in a column.
NUMBER_PATTERN = re.compile(
    r"[+-]?[0-9.]+(e[+-]?[0-9]+)?( (\+-|to) [0-9.e+-]+)?( \([0-9.e+-]+( %)?\))?|-|nan|not yet"
)
# Stretches of time whose smallest and largest values are drawn of a trace: twice the dots that it
# is wide.
STRETCHES_OF_A_TRACE = 360
WIDTH, HEIGHT = 420, 110
COLOURS = ("#3f90da", "#ffa90e", "#bd1f01")


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
        Their cells are text: what is markup in them is shown, not obeyed.
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
    heading: str, facts: Iterable[Sequence[str]], *parts: str, notes: Iterable[str] = ()
) -> str:
    """A heading, and under it names with values and units, other parts, and sentences."""
    said = [(note,) for note in notes]
    rows = table((), facts, styled=True)
    return card(heading, rows, *parts, table((), said, styled=True) if said else "")


def card(heading: str, *parts: str) -> str:
    """A heading, and under it parts that are HTML already."""
    return f"<div><b>{escaped(heading)}</b>{''.join(part for part in parts if part)}</div>"


def folded(heading: str, part: str) -> str:
    """A part that is opened when it is wanted."""
    return f"<details><summary>{escaped(heading)}</summary>{part}</details>"


def trace_picture(
    time: Sequence[float], values: Sequence[Sequence[float]], labels: Sequence[str], words: str
) -> str:
    """Values over time as lines, with their largest value and the time in words; empty where there
    is nothing finite to draw.

    Parameters
    ----------
    time : sequence of float
        Rising.
    values : sequence of sequence of float
        One for each line.
    labels : sequence of str
        Of the lines.
    words : str
        Under them.
    """
    lines = [
        [(t, v) for t, v in zip(time, line, strict=True) if math.isfinite(t) and math.isfinite(v)]
        for line in values
    ]
    lines = [thinned(line) for line in lines]
    every = [point for line in lines for point in line]
    if len(every) < 2:
        return ""
    start, end = min(t for t, _ in every), max(t for t, _ in every)
    low, high = min(0.0, *(v for _, v in every)), max(0.0, *(v for _, v in every))
    if not (end > start and high > low):
        return ""
    drawn = []
    for i, line in enumerate(lines):
        points = " ".join(
            f"{1.0 + (WIDTH - 2.0) * (t - start) / (end - start):.1f},"
            f"{HEIGHT - 1.0 - (HEIGHT - 2.0) * (v - low) / (high - low):.1f}"
            for t, v in line
        )
        drawn.append(
            f'<polyline fill="none" stroke="{COLOURS[i % len(COLOURS)]}" stroke-width="1.2" '
            f'points="{points}"/>'
        )
    named = " ".join(
        f'<span style="color:{COLOURS[i % len(COLOURS)]}">&#9632;</span> {escaped(label)}'
        for i, label in enumerate(labels)
    )
    picture = (
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'role="img">{"".join(drawn)}</svg>'
    )
    return f"<div>{picture}<br><small>{named}: {escaped(words)}</small></div>"


def thinned(line: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The smallest and the largest value in each stretch of a line, in their order."""
    size = math.ceil(len(line) / STRETCHES_OF_A_TRACE)
    if size <= 2:
        return line
    kept = []
    for first in range(0, len(line), size):
        part = line[first : first + size]
        ends = {min(part, key=lambda point: point[1]), max(part, key=lambda point: point[1])}
        kept += sorted(ends)
    return kept
