"""Output of the command line: text without control characters, columns, tables, JSON."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TextIO

from granchain.errors import clean
from granchain.markup import Grid, text_table
from granchain.show.blocks import Block

# Version of the format of --json.
SCHEMA = 1

# Largest line width if the terminal is not narrower [characters].
TEXT_WIDTH = 100


def print_text(text: str) -> None:
    """Print text of the result."""
    if text:
        _print(text, sys.stdout)


def print_json(facts: Mapping[str, Any]) -> None:
    """Print the result as a single JSON object."""
    print_text(json.dumps({"schema": SCHEMA, **facts}, allow_nan=False))


def print_result(
    command: str,
    facts: Mapping[str, Any],
    as_json: bool,
    text: Callable[[], str],
    messages: Iterable[str] = (),
) -> None:
    """Print the result of a command as a JSON object or as text.

    Text is followed by the names of the written files (`figure` and `out` of the facts) and by the
    messages.
    """
    if as_json:
        print_json({"command": command, **facts})
        return
    print_text(text())
    print_text("\n".join(file for name in ("figure", "out") if (file := facts.get(name))))
    notify(*messages)


def notify(*sentences: str) -> None:
    """Print messages to standard error."""
    for sentence in sentences:
        _print(f"granchain: {sentence}", sys.stderr)


def _print(text: str, stream: TextIO) -> None:
    """Print text without control characters."""
    try:
        print(clean(text), file=stream, flush=True)
    except BrokenPipeError:
        # The reader has closed the pipe, as in `granchain laws | head`; the command continues.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def wrapped_table(columns: Sequence[str], rows: Iterable[Sequence[str]], width: int) -> str:
    """Return rows below the names of their columns, with cells that are wrapped to a line width.

    Parameters
    ----------
    columns : sequence of str
        Column names, above a rule. The first column is not wrapped.
    rows : iterable of sequence
        Rows of cells.
    width : int
        Line width [characters].
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
    grid = Table(box=SIMPLE, pad_edge=False)
    for i, name in enumerate(columns):
        grid.add_column(name, no_wrap=i == 0)
    for row in rows:
        grid.add_row(*(Text(clean(cell)) for cell in row))
    console.print(grid)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()).strip("\n")


def text_width(most: int = TEXT_WIDTH) -> int:
    """Return the line width: that of the terminal if it is narrower [characters]."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return min(shutil.get_terminal_size().columns, most)
    return most


def blocks_as_text(blocks: Iterable[Block]) -> str:
    """Format blocks for a terminal; tables without an alignment are wrapped."""
    from granchain.show.blocks import DrawnFigure, Heading

    width = text_width()
    paragraphs = []
    for block in blocks:
        if isinstance(block, Grid) and block.alignment:
            title = f"{paragraph(block.title)}\n" if block.title else ""
            paragraphs.append(title + text_table([block.columns, *block.rows], block.alignment))
        elif isinstance(block, Grid):
            paragraphs.append(wrapped_table(block.columns, block.rows, width))
        elif isinstance(block, Heading):
            paragraphs.append(f"{clean(block.text)}\n{'=' * len(block.text)}")
        elif not isinstance(block, DrawnFigure):
            lines = clean(block.text).split("\n")
            paragraphs.append("\n".join(paragraph(line, width) for line in lines))
    return "\n\n".join(paragraphs)


def answer_as_text(answer: Any) -> str:
    """Format the conclusion of an answer or a study, and the tables of its labels."""
    from granchain.show.answer import grids
    from granchain.show.blocks import Paragraph
    from granchain.store.answer import variables_of

    if hasattr(answer, "data_vars"):
        return blocks_as_text(grids(variables_of(answer)))
    sentences = [getattr(answer, "conclusion", "")]
    if about := getattr(answer, "about", None):
        sentences.append(f"{answer.title}: {about.kind_text}.")
    return blocks_as_text([*map(Paragraph, filter(None, sentences)), *grids(answer.variables)])


def paragraph(text: str, width: int = TEXT_WIDTH) -> str:
    """Wrap text to lines of at most `width` characters, without breaking words."""
    return textwrap.fill(clean(text), width, break_long_words=False, break_on_hyphens=False)
