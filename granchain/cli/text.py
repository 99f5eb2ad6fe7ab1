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

# Characters in a line of a table that is not read on a terminal, and in a line of text at most, wherever it is read.
PIPE_WIDTH, TEXT_WIDTH = 140, 100


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


def aligned_rows(rows: Iterable[Sequence[object]], sides: str) -> str:
    """Rows as columns; `sides` has < or > for each: to the left or to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)


def aligned_table(columns: Sequence[str], rows: Iterable[Sequence[str]], width: int | None = None, lines: bool = True) -> str:
    """Rows as a table with wrapped cells, as wide as the terminal or as given."""
    from io import StringIO

    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=StringIO(), width=width or line_width(), color_system=None, markup=False, highlight=False, emoji=False)
    grid = Table(box=SIMPLE, show_lines=lines, pad_edge=False)
    for i, column in enumerate(columns):
        grid.add_column(column, no_wrap=i == 0)
    for row in rows:
        grid.add_row(*(Text(clean(cell)) for cell in row))
    with console.capture() as captured:
        console.print(grid)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


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
            parts.append(aligned_table(block.columns, block.rows, width, lines=False).strip("\n"))
        elif isinstance(block, Heading):
            parts.append(f"{clean(block.text)}\n{'=' * len(block.text)}")
        elif not isinstance(block, Picture):
            parts.append(paragraph(block.text, width))
    return "\n\n".join(parts)


def paragraph(text: str, width: int = TEXT_WIDTH) -> str:
    """Text in lines of at most so many characters; no word is broken."""
    return textwrap.fill(clean(text), width, break_long_words=False, break_on_hyphens=False)
