"""Blocks of text, tables, and cells in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from granchain.markup import Grid
from granchain.show.blocks import DOI, Block, Heading

# Code, and identifiers that are links, in which Markdown characters are not escaped.
LITERAL = re.compile(rf"(`[^`]*`)|{DOI.pattern}")
# Characters of emphasis, tags, and links. An underscore within a word is safe.
SIGNS = re.compile(
    r"[\\*]|~(?=.*~)|(?<=~)~|<(?=[A-Za-z/!?])|\](?=[\[(:])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"
)


class Link(str):
    """Name of a law that links to its section."""


def markdown_table(head: Iterable[Any], rows: Iterable[Iterable[Any]]) -> str:
    """Return a table of cells that are Markdown."""
    heads = list(head)
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def markdown_cell(text: str) -> str:
    """Return a cell of a table as Markdown."""
    return (
        f"[{text}](#{text})"
        if isinstance(text, Link)
        else escaped_markdown(text).replace("|", "\\|")
    )


def markdown_of(block: Block) -> str:
    """Return a block of text as Markdown."""
    if isinstance(block, Grid):
        rows = (map(markdown_cell, row) for row in (block.columns, *block.rows))
        return markdown_table(next(rows), rows)
    text = escaped_markdown(block.text)
    return f"{'#' * block.level} {text}" if isinstance(block, Heading) else text


def escaped_markdown(text: str) -> str:
    """Return text with Markdown characters escaped outside code, and with links for DOIs."""
    out, at = [], 0
    for match in LITERAL.finditer(text):
        literal = match[1] or f"[{match[0]}](<https://doi.org/{match[0]}>)"
        out += [SIGNS.sub(r"\\\g<0>", text[at : match.start()]), literal]
        at = match.end()
    return "".join(out) + SIGNS.sub(r"\\\g<0>", text[at:])
