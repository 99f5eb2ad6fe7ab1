"""What the command line prints: text without control characters, columns, tables, JSON."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TextIO

from granchain.errors import clean
from granchain.pages.blocks import Block

# Version of the objects that --json prints.
SCHEMA = 1

# Characters in a line of text that is not read on a narrower terminal.
TEXT_WIDTH = 100
# More than any line of a table whose cells are not wrapped.
UNWRAPPED = 100_000


def print_text(text: str) -> None:
    """Print a part of the result."""
    if text:
        _print(text, sys.stdout)


def print_json(facts: Mapping[str, Any]) -> None:
    """Print the one JSON object."""
    print_text(json.dumps({"schema": SCHEMA, **facts}, allow_nan=False))


def print_result(
    command: str,
    facts: Mapping[str, Any],
    as_json: bool,
    text: Callable[[], str],
    messages: Iterable[str] = (),
) -> None:
    """Print what a command has found: as the one JSON object, or as text, the names of the files
    that it wrote (`figure` and `out` of the facts) and messages."""
    if as_json:
        print_json({"command": command, **facts})
        return
    print_text(text())
    print_text("\n".join(file for name in ("figure", "out") if (file := facts.get(name))))
    notify(*messages)


def notify(*sentences: str) -> None:
    """Print messages that are no part of the result."""
    for sentence in sentences:
        _print(f"granchain: {sentence}", sys.stderr)


def _print(text: str, stream: TextIO) -> None:
    try:
        print(clean(text), file=stream, flush=True)
    except BrokenPipeError:
        # The reader has closed the pipe, as in `granchain laws | head`; the command goes on.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def text_table(
    rows: Iterable[Sequence[object]],
    alignment: str = "",
    columns: Sequence[str] = (),
    width: int = UNWRAPPED,
) -> str:
    """Rows as columns, as wide as they are; with names of columns, wrapped to the width.

    Parameters
    ----------
    rows : iterable of sequence
        Without names of columns the first one may be the heading.
    alignment : str
        For each column < or >, to the left or to the right; all to the left.
    columns : sequence of str
        Names above a rule; all but the first column may be wrapped.
    width : int
        Characters in a line.
    """
    from io import StringIO

    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    text = StringIO()
    console = Console(
        file=text, width=width, color_system=None, markup=False, highlight=False, emoji=False
    )
    box, padding = (SIMPLE, (0, 1)) if columns else (None, (0, 2, 0, 0))
    grid = Table(box=box, padding=padding, show_header=bool(columns), pad_edge=False)
    for i, name in enumerate(columns or alignment):
        grid.add_column(
            name if columns else "",
            justify="right" if alignment[i : i + 1] == ">" else "left",
            no_wrap=i == 0 or not columns,
        )
    for row in rows:
        grid.add_row(*(Text(clean(str(cell))) for cell in row))
    console.print(grid)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def text_width(most: int = TEXT_WIDTH) -> int:
    """Characters in a line: of the terminal, if it is narrower."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return min(shutil.get_terminal_size().columns, most)
    return most


def blocks_as_text(blocks: Iterable[Block]) -> str:
    """Headings, paragraphs and tables for a terminal; tables without sides are wrapped."""
    from granchain.pages.blocks import Grid, Heading, Picture

    width = text_width()
    paragraphs = []
    for block in blocks:
        if isinstance(block, Grid) and block.alignment:
            title = f"{paragraph(block.title)}\n" if block.title else ""
            paragraphs.append(title + text_table([block.columns, *block.rows], block.alignment))
        elif isinstance(block, Grid):
            paragraphs.append(
                text_table(block.rows, columns=block.columns, width=width).strip("\n")
            )
        elif isinstance(block, Heading):
            paragraphs.append(f"{clean(block.text)}\n{'=' * len(block.text)}")
        elif not isinstance(block, Picture):
            lines = clean(block.text).split("\n")
            paragraphs.append("\n".join(paragraph(line, width) for line in lines))
    return "\n\n".join(paragraphs)


def paragraph(text: str, width: int = TEXT_WIDTH) -> str:
    """Text in lines of at most so many characters; no word is broken."""
    return textwrap.fill(clean(text), width, break_long_words=False, break_on_hyphens=False)
