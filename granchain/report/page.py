"""Blocks of a report as one page of HTML: its style and figures are in it, and nothing in it is fetched or run."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from granchain import __version__
from granchain.certificates.page import Grid, Heading, Paragraph
from granchain.figures import image_of, style
from granchain.markup import escaped, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What such a page has in its first bytes: nothing else is replaced by one.
PAGE_MARK = b'<!DOCTYPE html>\n<html lang="en" data-granchain="report">'


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


PageBlock = Heading | Paragraph | Grid | Picture | Folded

# Read on paper, on a wide screen and on a narrow one: tables scroll by themselves, figures shrink.
STYLE = """
:root { color-scheme: light; }
body { margin: 0 auto; max-width: 60rem; padding: 1.2rem; font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif;
  color: #1a1a1a; background: #fff; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 2.4rem 0 .6rem; padding-top: .8rem; border-top: 3px solid #3f90da; }
h2 { font-size: 1.15rem; margin: 1.8rem 0 .5rem; }
p { margin: .4rem 0; max-width: 46rem; overflow-wrap: anywhere; }
p.warning { border-left: 4px solid #bd1f01; padding-left: .7rem; }
nav ul { padding-left: 1.2rem; }
a { color: #1f5f9e; overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .18rem .8rem .18rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid #e4e4e4; }
th { font-weight: 600; border-bottom: 1px solid #9a9a9a; }
td.number { text-align: right; white-space: nowrap; }
th.number { text-align: right; }
figure { margin: 1rem 0; }
img { max-width: 100%; height: auto; }
pre { overflow-x: auto; background: #f5f5f5; padding: .7rem; font-size: .82rem; line-height: 1.35; }
footer { margin-top: 3rem; border-top: 1px solid #9a9a9a; font-size: .85rem; color: #555; }
@media print { details > * { display: block; } body { max-width: none; } }
"""

_DOI = re.compile(r"(?:doi:)?(10\.\d{4,9}/[^\s;,]*[^\s;,.)])")


def document(title: str, blocks: Iterable[PageBlock]) -> bytes:
    """The page, as it is written to its file.

    Parameters
    ----------
    title : str
        In the tab of a browser.
    blocks : iterable of Block
        What it says; headings of level 1 are listed at its top where there are several.
    """
    shown = list(blocks)
    chapters = [block.text for block in shown if isinstance(block, Heading) and block.level == 1]
    body = [f"<title>{escaped(title)}</title>", f"<style>{STYLE}</style>", "</head>", "<body>"]
    if len(chapters) > 1:
        items = "".join(f'<li><a href="#part-{i}">{escaped(chapter)}</a></li>' for i, chapter in enumerate(chapters))
        body.append(f"<nav><ul>{items}</ul></nav>")
    part = 0
    for block in shown:
        anchor = ""
        if isinstance(block, Heading) and block.level == 1:
            anchor, part = f' id="part-{part}"', part + 1
        body.append(in_html(block, anchor))
    body += [f"<footer>Printed by granchain {__version__}. Computed numbers unless it says measured.</footer>", "</body>", "</html>"]
    head = [PAGE_MARK.decode(), "<head>", '<meta charset="utf-8">', '<meta name="viewport" content="width=device-width, initial-scale=1">']
    return ("\n".join([*head, *body]) + "\n").encode("utf-8", "replace")


def in_html(block: PageBlock, anchor: str = "") -> str:
    """One block."""
    if isinstance(block, Heading):
        return f"<h{block.level}{anchor}>{escaped(block.text)}</h{block.level}>"
    if isinstance(block, Paragraph):
        mark = ' class="warning"' if block.warning else ""
        return f"<p{mark}>{linked(block.text)}</p>"
    if isinstance(block, Picture):
        image = base64.b64encode(as_svg(block.figure)).decode("ascii")
        return f'<figure><img src="data:image/svg+xml;base64,{image}" alt="{escaped(block.words)}"></figure>'
    if isinstance(block, Folded):
        return f"<details><summary>{escaped(block.title)}</summary><pre>{escaped(block.text)}</pre></details>"
    return in_table(block)


def in_table(grid: Grid) -> str:
    """A table; columns of numbers stand to the right."""
    return f'<div class="wide">{table(grid.columns, grid.rows, linked)}</div>'


def linked(text: str) -> str:
    """Text of a page; what is a DOI leads to it."""
    return _DOI.sub(lambda found: f'<a href="https://doi.org/{found[1]}">{found[0]}</a>', escaped(text))


def as_svg(figure: Figure) -> bytes:
    """A figure as SVG, letters as shapes: it looks the same with every font; equal figures give equal bytes."""
    import matplotlib

    with matplotlib.rc_context(rc={**style(), "svg.fonttype": "path"}):
        return image_of(figure, ".svg")
