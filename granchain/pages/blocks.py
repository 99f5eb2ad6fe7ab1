"""What a page says, in blocks: headings, paragraphs, tables, figures, and their Markdown and HTML.

A page of HTML is one file: its style and figures are in it, and nothing in it is fetched or run.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

from granchain import __version__
from granchain.errors import GranchainError
from granchain.markup import escaped, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What such a page has in its first bytes: nothing else is replaced by one.
PAGE_MARK = b'<!DOCTYPE html>\n<html lang="en" data-granchain="report">'


@dataclass(frozen=True)
class Heading:
    """A title; level 1 is the page's."""

    text: str
    level: int


@dataclass(frozen=True)
class Paragraph:
    """Text in one piece."""

    text: str
    warning: bool = False


@dataclass(frozen=True)
class Same:
    """A table that is printed on another law's page."""

    what: str
    law: str

    @property
    def text(self) -> str:
        """In a sentence."""
        return f"{self.what}: as for {self.law}."


class Link(str):
    """The name of a law, leading to its page."""


@dataclass(frozen=True)
class Grid:
    """A table; its columns and its rows of cells, a title above it, and for a terminal the side of
    each column, < or >."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    sides: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure, and what it shows in words for who cannot see it."""

    figure: Figure
    words: str


@dataclass(frozen=True)
class Folded:
    """A long text that is opened when it is wanted."""

    title: str
    text: str


Block = Heading | Paragraph | Same | Grid | Picture | Folded


def number_text(value: Any, form: str = "#.6g", factor: float = 1.0) -> str:
    """A number for a table, times a factor; a dash where there is none, a word as it is."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "-" if value is None else str(value)
    if value == 0.0 and "#" in form:
        return "0"
    return f"{factor * value:{form}}" if math.isfinite(factor * value) else "-"


def number_grid(
    columns: Iterable[str], rows: Iterable[Iterable[str]], title: str = "", words: int = 0
) -> Grid:
    """A table of numbers, which stand to the right, after so many columns of words."""
    named = tuple(columns)
    sides = "<" * words + ">" * (len(named) - words)
    return Grid(named, tuple(map(tuple, rows)), title, sides)


def paragraphs(docstring: str | None) -> list[str]:
    """The paragraphs of a docstring, each in one line."""
    return [
        " ".join(part.split())
        for part in re.split(r"\n\s*\n", cleandoc(docstring or ""))
        if part.strip()
    ]


def picture_or_reason(name: str, draw: Callable[[], tuple[Figure, Any]], words: str) -> Block:
    """A figure with its words, or the sentence that says why there is none of this name."""
    try:
        return Picture(draw()[0], words)
    except GranchainError as error:
        return Paragraph(f"No {name}: {error}.")


# Read on paper, on a wide screen and on a narrow one: tables scroll by themselves, figures shrink.
STYLE = """
:root { color-scheme: light; }
body { margin: 0 auto; max-width: 60rem; padding: 1.2rem;
       font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif;
  color: #1a1a1a; background: #fff; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 2.4rem 0 .6rem; padding-top: .8rem;
     border-top: 3px solid #3f90da; }
h2 { font-size: 1.15rem; margin: 1.8rem 0 .5rem; }
p { margin: .4rem 0; max-width: 46rem; overflow-wrap: anywhere; }
p.warning { border-left: 4px solid #bd1f01; padding-left: .7rem; }
nav ul { padding-left: 1.2rem; }
a { color: #1f5f9e; overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .18rem .8rem .18rem 0; text-align: left; vertical-align: top;
         border-bottom: 1px solid #e4e4e4; }
th { font-weight: 600; border-bottom: 1px solid #9a9a9a; }
td.number { text-align: right; white-space: nowrap; }
th.number { text-align: right; }
figure { margin: 1rem 0; }
img { max-width: 100%; height: auto; }
pre { overflow-x: auto; background: #f5f5f5; padding: .7rem; font-size: .82rem; line-height: 1.35; }
footer { margin-top: 3rem; border-top: 1px solid #9a9a9a; font-size: .85rem; color: #555; }
@media print { details > * { display: block; } body { max-width: none; } }
"""

_DOI = re.compile(r"10\.\d{4,9}/[^\s;,]*[^\s;,.)]")
_CODE = re.compile(r"`[^`]*`")
# What would become emphasis, a line through, a tag or a link; an underscore within a word is safe.
_MARKDOWN_SIGNS = re.compile(
    r"[\\*]|~(?=.*~)|(?<=~)~|<(?=[A-Za-z/!?])|\](?=[\[(:])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"
)


def document(title: str, blocks: Iterable[Block]) -> bytes:
    """The page, as it is written to its file.

    Parameters
    ----------
    title : str
        In the tab of a browser.
    blocks : iterable of Block
        What it says; headings of level 1 are listed at its top where there are several.
    """
    shown = list(blocks)
    chapters = [block for block in shown if isinstance(block, Heading) and block.level == 1]
    anchors = {id(chapter): f' id="part-{i}"' for i, chapter in enumerate(chapters)}
    items = "".join(
        f'<li><a href="#part-{i}">{escaped(chapter.text)}</a></li>'
        for i, chapter in enumerate(chapters)
    )
    lines = [
        PAGE_MARK.decode(),
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escaped(title)}</title>",
        f"<style>{STYLE}</style>",
        "</head>",
        "<body>",
        *([f"<nav><ul>{items}</ul></nav>"] if len(chapters) > 1 else []),
        *(block_in_html(block, anchors.get(id(block), "")) for block in shown),
        f"<footer>Printed by granchain {__version__}. Computed numbers unless it says "
        "measured.</footer>",
        "</body>",
        "</html>",
    ]
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def block_in_html(block: Block, anchor: str = "") -> str:
    """One block."""
    if isinstance(block, Heading):
        return f"<h{block.level}{anchor}>{escaped(block.text)}</h{block.level}>"
    if isinstance(block, Grid):
        title = f"<h2>{escaped(block.title)}</h2>\n" if block.title else ""
        return f'{title}<div class="wide">{table(block.columns, block.rows, linked)}</div>'
    if isinstance(block, Picture):
        import matplotlib

        from granchain.figures import image_of, style

        # letters as shapes look the same with every font; equal figures give equal bytes
        with matplotlib.rc_context(rc={**style(), "svg.fonttype": "path"}):
            image = base64.b64encode(image_of(block.figure, ".svg")).decode("ascii")
        return (
            f'<figure><img src="data:image/svg+xml;base64,{image}" '
            f'alt="{escaped(block.words)}"></figure>'
        )
    if isinstance(block, Folded):
        title, text = escaped(block.title), escaped(block.text)
        return f"<details><summary>{title}</summary><pre>{text}</pre></details>"
    mark = ' class="warning"' if isinstance(block, Paragraph) and block.warning else ""
    lines = "<br>".join(map(linked, block.text.split("\n")))
    return f"<p{mark}>{lines}</p>"


def linked(text: str) -> str:
    """Text as HTML; what is a DOI leads to it."""
    return re.sub(
        f"(?:doi:)?({_DOI.pattern})",
        lambda doi: f'<a href="https://doi.org/{doi[1]}">{doi[0]}</a>',
        escaped(text),
    )


def markdown(blocks: Iterable[Block]) -> str:
    """Blocks of text as Markdown; figures have none."""
    return "\n\n".join(map(block_in_markdown, blocks)) + "\n"


def block_in_markdown(block: Block) -> str:
    """One block as Markdown."""
    if isinstance(block, Grid):
        lines = [block.columns, ("---",) * len(block.columns), *block.rows]
        return "\n".join("| " + " | ".join(map(markdown_cell, line)) + " |" for line in lines)
    text = escaped_markdown(block.words if isinstance(block, Picture) else block.text)
    if isinstance(block, Same):
        return text.replace(block.law, markdown_cell(Link(block.law)))
    return f"{'#' * block.level} {text}" if isinstance(block, Heading) else text


def markdown_cell(text: str) -> str:
    """A cell of a table."""
    return (
        f"[{text}](#{text})"
        if isinstance(text, Link)
        else escaped_markdown(text).replace("|", "\\|")
    )


def escaped_markdown(text: str) -> str:
    """Text in which Markdown sees no signs of its own but code in backticks; a DOI is a link."""
    out, at = [], 0
    for match in sorted(
        [*_DOI.finditer(text), *_CODE.finditer(text)], key=lambda match: match.start()
    ):
        if match.start() < at:
            continue
        found = (
            match[0] if match[0].startswith("`") else f"[{match[0]}](<https://doi.org/{match[0]}>)"
        )
        out += [_MARKDOWN_SIGNS.sub(r"\\\g<0>", text[at : match.start()]), found]
        at = match.end()
    return "".join(out) + _MARKDOWN_SIGNS.sub(r"\\\g<0>", text[at:])
