"""What the command line prints: text without control characters, columns, tables, JSON."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from granchain.errors import clean

if TYPE_CHECKING:
    from granchain.pages.blocks import Block

# Version of the objects that --json prints.
SCHEMA = 1

# Characters in a line of a table that is not read on a terminal, and in a line of text at most,
# wherever it is read.
PIPE_WIDTH, TEXT_WIDTH = 140, 100
# More than any line of a table whose cells are not wrapped.
UNWRAPPED = 100_000


def print_text(text: str) -> None:
    """Print a part of the result."""
    if text:
        _print(text, sys.stdout)


def print_json(facts: Mapping[str, Any]) -> None:
    """Print the result as one JSON object."""
    print_text(json.dumps({"schema": SCHEMA, **facts}, allow_nan=False))


def notify(text: str) -> None:
    """Print a message that is no part of the result."""
    _print(f"granchain: {text}", sys.stderr)


def _print(text: str, stream: TextIO) -> None:
    try:
        print(clean(text), file=stream, flush=True)
    except BrokenPipeError:
        # The reader has closed the pipe, as in `granchain laws | head`; the command goes on.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def number_text(value: float) -> str:
    """A number for a table; a dash where there is none."""
    if not math.isfinite(value):
        return "-"
    return f"{value:#.6g}" if value else "0"


def text_table(
    rows: Iterable[Sequence[object]],
    sides: str = "",
    columns: Sequence[str] = (),
    width: int | None = None,
) -> str:
    """Rows as columns, as wide as they are; with names of columns, cells are wrapped to the
    terminal, or to the width.

    Parameters
    ----------
    rows : iterable of sequence
        Without names of columns the first one may be the heading.
    sides : str
        For each column < or >, to the left or to the right; all to the left.
    columns : sequence of str
        Names above a rule; all but the first column may be wrapped.
    width : int, optional
        Characters in a line; without it there is a rule below each row.
    """
    from io import StringIO

    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    most = (width or line_width()) if columns else UNWRAPPED
    text = StringIO()
    console = Console(
        file=text, width=most, color_system=None, markup=False, highlight=False, emoji=False
    )
    box, padding = (SIMPLE, (0, 1)) if columns else (None, (0, 2, 0, 0))
    grid = Table(
        box=box,
        padding=padding,
        show_header=bool(columns),
        show_lines=bool(columns) and width is None,
        pad_edge=False,
    )
    for i, name in enumerate(columns or sides):
        grid.add_column(
            name if columns else "",
            justify="right" if sides[i : i + 1] == ">" else "left",
            no_wrap=i == 0 or not columns,
        )
    for row in rows:
        grid.add_row(*(Text(clean(str(cell))) for cell in row))
    console.print(grid)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def line_width() -> int:
    """Characters in a line: of the terminal, or as many as a file may have."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return shutil.get_terminal_size().columns
    return PIPE_WIDTH


def blocks_as_text(blocks: Iterable[Block]) -> str:
    """Headings, paragraphs and tables for a terminal."""
    from granchain.pages.blocks import Grid, Heading, Picture

    width = min(line_width(), TEXT_WIDTH)
    parts = []
    for block in blocks:
        if isinstance(block, Grid):
            parts.append(text_table(block.rows, columns=block.columns, width=width).strip("\n"))
        elif isinstance(block, Heading):
            parts.append(f"{clean(block.text)}\n{'=' * len(block.text)}")
        elif not isinstance(block, Picture):
            parts.append(paragraph(block.text, width))
    return "\n\n".join(parts)


def paragraph(text: str, width: int = TEXT_WIDTH) -> str:
    """Text in lines of at most so many characters; no word is broken."""
    return textwrap.fill(clean(text), width, break_long_words=False, break_on_hyphens=False)
