"""What a page says, in blocks: headings, paragraphs, tables, figures, and their Markdown and HTML.

A page of HTML is one file: its style and figures are in it, and nothing in it is fetched or run.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from inspect import cleandoc
from itertools import count
from typing import TYPE_CHECKING, Any

from granchain import __version__
from granchain.errors import GranchainError
from granchain.markup import escaped, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What a file may lack, or hold in place of what a command writes.
STRANGE = (
    GranchainError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError,
)  # fmt: skip
# What such a page has in its first bytes: nothing else is replaced by one.
PAGE_MARK = b'<!DOCTYPE html>\n<html lang="en" data-granchain="report">'
PAGES = dict.fromkeys((".html", ".htm"), PAGE_MARK)


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
        return f"{self.what}: same as for {self.law}."


class Link(str):
    """The name of a law, leading to its page."""


class Markup(str):
    """HTML of ours in a cell, such as a symbol in MathML, which is not escaped."""


@dataclass(frozen=True)
class Grid:
    """A table; its columns and its rows of cells, a title above it, and for a terminal the side of
    each column, < or >."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    alignment: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure, drawn where it is wanted, and what it shows in words: its caption."""

    draw: Callable[[], tuple[Figure, Any]]
    words: str


@dataclass(frozen=True)
class Boxed:
    """A long text: on a screen it scrolls by itself, on paper it is printed whole."""

    title: str
    text: str


@dataclass(frozen=True)
class Formula:
    """An equation; its text is MathML of ours."""

    text: str


Block = Heading | Paragraph | Same | Grid | Picture | Boxed | Formula


def number_text(value: Any, form: str = "#.6g", factor: float = 1.0) -> str:
    """A number for a table, times a factor; a dash where there is none, a word as it is."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "-" if value is None else str(value)
    if value == 0.0 and "#" in form:
        return "0"
    return f"{factor * value:{form}}" if math.isfinite(factor * value) else "-"


def time_text(time: float | None, finest: float | None) -> str:
    """Return a time in microseconds for a table, with a last digit that is less than `finest` [s].

    It has at least 6 digits, and at most the 17 that a double has.
    """
    digits = 6
    if time and finest and math.isfinite(time) and 0.0 < finest < abs(time):
        digits = min(max(6, math.ceil(math.log10(abs(time) / finest)) + 1), 17)
    return number_text(time, f"#.{digits}g", 1e6)


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


# Read on paper, on a wide screen and on a narrow one, in light and in the dark: wide tables reach
# into the margin and scroll by themselves, figures are as wide as the text, and inverted in the
# dark, where white becomes the ground of the page, 255 (1 - 0.9) 1.3, and a hue stays what it is.
STYLE = """
:root { color-scheme: light dark; --text: #1a1a1a; --ground: #fff; --quiet: #555; --line: #9a9a9a;
        --thin: #e4e4e4; --box: #f5f5f5; --link: #1f5f9e; --accent: #3f90da; --bad: #bd1f01; }
@media screen and (prefers-color-scheme: dark) {
  :root { --text: #e8e8e8; --ground: #212121; --quiet: #b0b0b0; --line: #7a7a7a; --thin: #434343;
          --box: #2c2c2c; --link: #8fc1f0; --bad: #ff8a70; }
  img { filter: invert(.9) hue-rotate(180deg) brightness(1.3); }
}
body { margin: 0 auto; max-width: 54rem; padding: 1.2rem; color: var(--text);
       background: var(--ground); font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; }
header { border-top: 3px solid var(--accent); padding-top: .8rem; margin-bottom: 1.6rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.35rem; line-height: 1.3; margin: 2.6rem 0 .6rem; overflow-wrap: anywhere; }
nav ~ h2 { border-top: 1px solid var(--line); padding-top: .8rem; }
h3 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
p { margin: .4rem 0; overflow-wrap: anywhere; }
header p { color: var(--quiet); margin: 0; }
p.warning { border-left: 4px solid var(--bad); padding-left: .7rem; }
nav ul { padding-left: 1.2rem; }
a { color: var(--link); overflow-wrap: anywhere; }
figure { margin: 1.4rem 0; }
figcaption { font-size: .9rem; line-height: 1.4; margin: .4rem 0; }
figcaption small { color: var(--quiet); font-size: inherit; }
.rows { overflow-x: auto; margin: .4rem 0 1rem; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums;
        border-top: 1.5px solid var(--line); border-bottom: 1.5px solid var(--line); }
th, td { padding: .2rem 1.1rem .2rem 0; text-align: left; vertical-align: top;
         border-bottom: 1px solid var(--thin); }
th:last-child, td:last-child { padding-right: 0; }
th { font-weight: 600; border-bottom: 1px solid var(--line); vertical-align: bottom; }
td:last-child { overflow-wrap: anywhere; }
td.number { text-align: right; white-space: nowrap; }
th.number { text-align: right; }
img { display: block; width: 100%; height: auto; }
pre { overflow: auto; max-height: 24rem; background: var(--box); padding: .7rem; margin: .4rem 0;
      font-size: .8rem; line-height: 1.35; }
footer { margin-top: 3rem; border-top: 1px solid var(--line); font-size: .85rem;
         color: var(--quiet); }
@media screen and (min-width: 56rem) {
  .rows { width: max-content; max-width: calc(50vw + 24rem); } td { max-width: 42rem; }
}
@media screen and (max-width: 600px) {
  body { padding: .8rem; }
  h1 { font-size: 1.4rem; } h2 { font-size: 1.2rem; }
  table { font-size: .82rem; } th, td { padding-right: .7rem; }
}
@media print {
  @page { margin: 18mm 16mm; }
  body { max-width: none; padding: 0; font-size: 10pt; line-height: 1.4; }
  nav ~ h2 { break-before: page; } nav + h2 { break-before: auto; }
  h1, h2, h3, h3 + p:has(+ .math), figure.table figcaption, p.title { break-after: avoid; }
  table { font-size: 8pt; } th, td { padding-right: .7rem; }
  figure.picture, figure.table, tr, .math mtr, .math { break-inside: avoid; }
  thead { display: table-header-group; }
  p { orphans: 3; widows: 3; }
  .rows { overflow: visible; }
  img { width: min(100%, 150mm); max-height: 215mm; object-fit: contain; object-position: left; }
  pre { max-height: none; overflow: visible; white-space: pre-wrap; overflow-wrap: anywhere;
        font-size: 7.5pt; }
  a { color: inherit; text-decoration: none; }
}
"""
_DOI = re.compile(r"10\.\d{4,9}/[^\s;,]*[^\s;,.)]")
# The first letter of a unit such as us, after a number or in brackets.
_MICRO = re.compile(r"(?<=[0-9] )u(?=[smJN]\b)|(?<=\[)u(?=[smJN]\])|^u(?=[smJN]$)")
_CODE = re.compile(r"`[^`]*`")
_TICKS = re.compile(r"`([^`]*)`")
# Powers as a terminal has them: d^1.5, m^n, 4.2e-08.
_POWER = re.compile(r"\^(-?\d*\.?\d+|n\b)")
_OF_TEN = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e([+-])0*(\d+)\b")
_RAISED = str.maketrans(
    "0123456789-.n",
    "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b\u00b7\u207f",
)
# What would become emphasis, a line through, a tag or a link; an underscore within a word is safe.
_MARKDOWN_SIGNS = re.compile(
    r"[\\*]|~(?=.*~)|(?<=~)~|<(?=[A-Za-z/!?])|\](?=[\[(:])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"
)


def document(title: str, blocks: Iterable[Block], author: str = "", date: str = "") -> bytes:
    """The page, as it is written to its file.

    Parameters
    ----------
    title : str
        At the top, and in the tab of a browser.
    blocks : iterable of Block
        What it says; headings of level 1 are listed at its top where there are several, and one
        alone that says what the title says is left out.
    author, date : str
        Under the title, where they are not empty.
    """
    shown = list(blocks)
    chapters = [block for block in shown if isinstance(block, Heading) and block.level == 1]
    if [chapter.text for chapter in chapters] == [title]:
        shown.remove(chapters[0])
    anchors = {id(chapter): f' id="part-{i}"' for i, chapter in enumerate(chapters)}
    items = "".join(
        f'<li><a href="#part-{i}">{escaped(chapter.text)}</a></li>'
        for i, chapter in enumerate(chapters)
    )
    figures, tables = count(1), count(1)
    lines = [
        PAGE_MARK.decode(),
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escaped(title)}</title>",
        f"<style>{STYLE}{files('granchain.pages').joinpath('mathml.css').read_text('utf-8')}</style>",
        "</head>",
        "<body>",
        f"<header><h1>{escaped(title)}</h1>",
        *(f"<p>{escaped(line)}</p>" for line in (author, date) if line),
        "</header>",
        *([f"<nav><ul>{items}</ul></nav>"] if len(chapters) > 1 else []),
        *(
            picture_in_html(block, figures)
            if isinstance(block, Picture)
            else grid_in_html(block, tables)
            if isinstance(block, Grid)
            else block_in_html(block, anchors.get(id(block), ""))
            for block in shown
        ),
        f"<footer>Written by granchain {__version__}. All numbers are computed unless they are "
        "labelled as measured.</footer>",
        "</body>",
        "</html>",
    ]
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def picture_in_html(picture: Picture, number: Iterator[int]) -> str:
    """A figure with its number and caption; what stands over the axes elsewhere stands in the
    caption. Else the reason that it is not drawn."""
    import matplotlib

    from granchain.figures import image_of, page, style

    try:
        # letters as shapes look the same with every font; equal figures give equal bytes
        with page(title=False), matplotlib.rc_context(rc={**style(), "svg.fonttype": "path"}):
            figure = picture.draw()[0]
            image = base64.b64encode(image_of(figure, ".svg")).decode("ascii")
    except STRANGE as error:
        reason = str(error) if isinstance(error, GranchainError) else "the data are not in the file"
        return block_in_html(Paragraph(f"Figure not available: {picture.words} Reason: {reason}."))
    words, caption = escaped(picture.words), str(figure.get_label())
    caption = f" <small>{linked(caption[0].upper() + caption[1:])}.</small>" if caption else ""
    return (
        f'<figure class="picture"><img src="data:image/svg+xml;base64,{image}" alt="{words}">'
        f"<figcaption><b>Figure {next(number)}.</b> {words}{caption}</figcaption></figure>"
    )


def grid_in_html(grid: Grid, number: Iterator[int]) -> str:
    """A table; one with a title has its number and the title above it."""
    # an interval of a wide table has its ends below each other
    rows = table(grid.columns, grid.rows, linked).replace(" to ", " to <wbr>")
    made = f'<div class="rows">{rows}</div>'
    if not grid.title:
        return made
    # a law's name, as of a band, stays as it is written
    named = grid.title.split()[0].endswith(":")
    words = grid.title if named else grid.title[0].upper() + grid.title[1:]
    title = f"<b>Table {next(number)}.</b> {linked(words)}"
    return f'<figure class="table"><figcaption>{title}</figcaption>{made}</figure>'


def block_in_html(block: Block, anchor: str = "") -> str:
    """One block of text; the page's title stands above headings of level 1."""
    if isinstance(block, Heading):
        level = block.level + 1
        return f"<h{level}{anchor}>{escaped(block.text)}</h{level}>"
    if isinstance(block, Boxed):
        title, text = escaped(block.title), escaped(block.text)
        return f'<p class="title"><b>{title}</b></p><pre>{text}</pre>'
    if isinstance(block, Formula):
        return f'<div class="math">{block.text}</div>'
    mark = ' class="warning"' if isinstance(block, Paragraph) and block.warning else ""
    text = block.words if isinstance(block, Picture) else getattr(block, "text", "")
    lines = [
        _TICKS.sub(r"<code>\1</code>", linked(line)) for line in map(sentence, text.split("\n"))
    ]
    return f"<p{mark}>{'<br>'.join(lines)}</p>"


def sentence(text: str) -> str:
    """A line as a sentence of a page; a law's name, a key or a symbol at its beginning stays as it
    is."""
    if isinstance(text, Markup) or not text:
        return text
    from granchain.contact import laws

    first = text.split()[0]
    plain = first.isascii() and first.isalpha() and len(first) > 1 and first not in laws()
    capital = text[0].upper() + text[1:] if plain else text
    return capital + "." * (capital[-1].isalnum() or capital[-1] in ")]")


def linked(text: str) -> str:
    """Text as HTML, with the signs for which a terminal has letters: in 12 +- 3 us, kg/m^3 and
    4.2e-08; what is a DOI leads to it."""
    if isinstance(text, Markup):
        return text
    typeset = _MICRO.sub("\N{MICRO SIGN}", text.replace("+-", "\N{PLUS-MINUS SIGN}"))
    typeset = _OF_TEN.sub(
        lambda found: f"{found[1]} \N{MULTIPLICATION SIGN} 10^{found[2].strip('+')}{found[3]}",
        typeset,
    )
    return re.sub(
        f"(?:doi:)?({_DOI.pattern})",
        lambda doi: f'<a href="https://doi.org/{doi[1]}">{doi[0]}</a>',
        escaped(_POWER.sub(lambda found: found[1].translate(_RAISED), typeset)),
    )


def markdown(blocks: Iterable[Block]) -> str:
    """Blocks of text as Markdown; figures have none."""
    return "\n\n".join(map(block_in_markdown, blocks)) + "\n"


def block_in_markdown(block: Block) -> str:
    """One block as Markdown."""
    if isinstance(block, Grid):
        rows = (map(markdown_cell, row) for row in (block.columns, *block.rows))
        return markdown_table(next(rows), rows)
    text = escaped_markdown(block.words if isinstance(block, Picture) else block.text)
    if isinstance(block, Same):
        return text.replace(block.law, markdown_cell(Link(block.law)))
    return f"{'#' * block.level} {text}" if isinstance(block, Heading) else text


def markdown_table(head: Iterable[Any], rows: Iterable[Iterable[Any]]) -> str:
    """A table of cells that are Markdown."""
    heads = list(head)
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


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
