"""Blocks of a page: headings, paragraphs, tables, and figures, and a page as HTML.

An HTML page is one file that contains its style, its figures, and one script, which magnifies
figures and shows values. It loads nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.resources import files
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

from granchain import __version__
from granchain.errors import GranchainError
from granchain.markup import Grid, escaped, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Errors that the data of an incomplete or edited file cause.
ERRORS_OF_DAMAGE = (
    GranchainError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError,
)  # fmt: skip
# First bytes of a report. Only files with these bytes are overwritten.
PAGE_MARK = b'<!DOCTYPE html>\n<html lang="en" data-granchain="report">'
PAGES = dict.fromkeys((".html", ".htm"), PAGE_MARK)


@dataclass(frozen=True)
class Heading:
    """Title; level 1 is the title of a page."""

    text: str
    level: int


@dataclass(frozen=True)
class Paragraph:
    """Text."""

    text: str
    warning: bool = False


class Markup(str):
    """HTML in a cell, such as a symbol in MathML, which is not escaped."""


@dataclass(frozen=True)
class DrawnFigure:
    """Figure that is drawn when the page is written, with its caption."""

    draw: Callable[..., Figure]
    caption: str


@dataclass(frozen=True)
class Boxed:
    """Long text, which scrolls on a screen and is printed completely."""

    title: str
    text: str


@dataclass(frozen=True)
class Formula:
    """Equation in MathML."""

    text: str


Block = Heading | Paragraph | Grid | DrawnFigure | Boxed | Formula


def number_text(value: Any, form: str = "#.6g", factor: float = 1.0) -> str:
    """Return a number times a factor as a cell, and a dash for None."""
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
    columns: Iterable[str], rows: Iterable[Iterable[str]], title: str = "", text_columns: int = 0
) -> Grid:
    """Return a table whose first `text_columns` columns are text, and the others numbers."""
    named = tuple(columns)
    sides = "<" * text_columns + ">" * (len(named) - text_columns)
    return Grid(named, tuple(map(tuple, rows)), title, sides)


def paragraphs(docstring: str | None) -> list[str]:
    """Return the paragraphs of a docstring, each on one line."""
    return [
        " ".join(paragraph.split())
        for paragraph in re.split(r"\n\s*\n", cleandoc(docstring or ""))
        if paragraph.strip()
    ]


# Digital object identifier.
DOI = re.compile(r"10\.\d{4,9}/[^\s;,]*[^\s;,.)]")
# The first letter of a unit such as us, after a number or in brackets.
_MICRO = re.compile(r"(?<=[0-9] )u(?=[smJN]\b)|(?<=\[)u(?=[smJN]\])|^u(?=[smJN]$)")
_TICKS = re.compile(r"`([^`]*)`")
# Powers in plain text: d^1.5, m^n, 4.2e-08.
_POWER = re.compile(r"\^(-?\d*\.?\d+|n\b)")
_OF_TEN = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e([+-])0*(\d+)\b")
_RAISED = str.maketrans(
    "0123456789-.n",
    "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b\u00b7\u207f",
)


def document(title: str, blocks: Iterable[Block], author: str = "", date: str = "") -> bytes:
    """Return a report as an HTML file, from the template report.html.

    Parameters
    ----------
    title : str
        Title of the report, also in the tab of a browser.
    blocks : iterable of Block
        Content. Several headings of level 1 are listed at the top. A single one that equals the
        title is left out.
    author, date : str
        Printed under the title if they are not empty.
    """
    from jinja2 import Environment, PackageLoader
    from markupsafe import Markup as Safe

    every = list(blocks)
    chapters = [block for block in every if isinstance(block, Heading) and block.level == 1]
    if [chapter.text for chapter in chapters] == [title]:
        every.remove(chapters[0])
    templates = Environment(
        loader=PackageLoader("granchain.show", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= {
        "clean": lambda text: Safe(escaped(text)),
        "linked": lambda text: Safe(html_with_links(text)),
        "sentences": lambda text: Safe(sentences_in_html(text)),
        "image": lambda picture, number: Safe(figure_in_html(picture, number)),
        "rows": lambda grid: Safe(
            table(grid.columns, grid.rows, html_with_links).replace(" to ", " to <wbr>")
        ),
        "safe_math": Safe,
    }
    folder = files("granchain.show")
    style = [folder.joinpath(name).read_text("utf-8") for name in ("report.css", "mathml.css")]
    script = "\n" + folder.joinpath("report.js").read_text("utf-8")
    text = templates.get_template("report.html").render(
        title=title,
        lines=[line for line in (author, date) if line],
        blocks=[(type(block).__name__, block) for block in every],
        chapters=chapters,
        style=Safe("\n".join(style)),
        script=Safe(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        version=__version__,
        caption=caption_of,
    )
    return text.encode("utf-8", "replace")


def figure_in_html(picture: DrawnFigure, number: int) -> str:
    """Return a figure with its caption in HTML, or the reason why it is not available.

    For new figures, the text above the axes is in the caption. The identifiers in the image contain
    the number of the figure, because a page has several images.
    """
    import matplotlib

    from granchain.figures.style import SHEET, context_of, image_of

    try:
        # letters as paths look the same with every font; equal figures give equal bytes
        with context_of(SHEET), matplotlib.rc_context({"svg.fonttype": "path"}):
            figure = picture.draw()
            figure.suptitle("")
            image = image_of(figure, ".svg").decode("utf-8")
    except ERRORS_OF_DAMAGE as error:
        reason = str(error) if isinstance(error, GranchainError) else "the data are not in the file"
        missing = f"Figure not available: {picture.caption} Reason: {reason}."
        return f"<p>{sentences_in_html(missing)}</p>"
    caption, details = escaped(picture.caption), str(figure.get_label())
    details = (
        f" <small>{html_with_links(details[0].upper() + details[1:])}.</small>" if details else ""
    )
    image = _UNUSED_SVG.sub("", image[image.index("<svg") :])
    image = _SVG_IDENTIFIER.sub(rf"\g<0>figure-{number}-", image)
    return (
        f'<figure class="picture" data-panels="{escaped(json.dumps(panels_of(figure)))}">'
        + image.replace("<svg", f'<svg role="img" aria-label="{caption}"', 1)
        + f"<figcaption><b>Figure {number}.</b> {caption}{details}</figcaption></figure>"
    )


# Comments and metadata of an SVG image, and the text before each of its identifiers.
_UNUSED_SVG = re.compile(r"<metadata>.*?</metadata>|<!--.*?-->", re.DOTALL)
_SVG_IDENTIFIER = re.compile(r'\bid="|\bhref="#|url\(#')
# Points per inch, the unit of an SVG image of Matplotlib.
_POINTS = 72.0


def panels_of(figure: Figure) -> list[dict[str, Any]]:
    """Return the position of each panel of a figure in its SVG image, and its axes."""
    width, height = _POINTS * figure.get_size_inches()
    boxes = [axes.get_position() for axes in figure.axes]
    return [
        {
            "box": [
                round(float(value), 2)
                for value in (
                    width * box.x0,
                    height * (1.0 - box.y1),
                    width * box.x1,
                    height * (1.0 - box.y0),
                )
            ],
            "x": axis_of(figure, axes.xaxis),
            "y": axis_of(figure, axes.yaxis),
        }
        for axes, box in zip(figure.axes, boxes, strict=True)
    ]


def axis_of(figure: Figure, axis: Any) -> dict[str, Any]:
    """Return limits, scale, prefix, and label of an axis; panels of a figure share a label."""
    name = axis.axis_name
    labels = [
        axis.get_label_text(),
        *(getattr(each, f"{name}axis").get_label_text() for each in figure.axes),
        getattr(figure, f"get_sup{name}label")(),
    ]
    return {
        "limits": [
            float(limit) for limit in axis.get_view_interval()[:: -1 if axis.get_inverted() else 1]
        ],
        "log": axis.get_scale() == "log",
        "power": getattr(axis.get_major_formatter(), "power", 0),
        "label": " ".join(next(filter(None, labels), "").split()),
    }


def caption_of(grid: Grid) -> str:
    """Return the caption of a table. The name of a law at its start stays as it is."""
    named = grid.title.split()[0].endswith(":")
    return grid.title if named else grid.title[0].upper() + grid.title[1:]


def sentences_in_html(text: str) -> str:
    """Return lines of text as sentences in HTML."""
    lines = (html_with_links(line) for line in map(sentence, text.split("\n")))
    return "<br>".join(_TICKS.sub(r"<code>\1</code>", line) for line in lines)


def sentence(text: str) -> str:
    """Return a line as a sentence.

    The name of a law, a key, or a symbol at its start is unchanged.
    """
    if not text:
        return text
    from granchain.contact import laws

    first = text.split()[0]
    plain = first.isascii() and first.isalpha() and len(first) > 1 and first not in laws()
    capital = text[0].upper() + text[1:] if plain else text
    return capital + "." * (capital[-1].isalnum() or capital[-1] in ")]")


def html_with_links(text: str) -> str:
    """Return text as HTML with typographic characters and with links for DOIs.

    Examples are 12 +- 3 us, kg/m^3, and 4.2e-08.
    """
    if isinstance(text, Markup):
        return text
    typeset = _MICRO.sub("\N{MICRO SIGN}", text.replace("+-", "\N{PLUS-MINUS SIGN}"))
    typeset = _OF_TEN.sub(
        lambda match: f"{match[1]} \N{MULTIPLICATION SIGN} 10^{match[2].strip('+')}{match[3]}",
        typeset,
    )
    return re.sub(
        f"(?:doi:)?({DOI.pattern})",
        lambda doi: f'<a href="https://doi.org/{doi[1]}">{doi[0]}</a>',
        escaped(_POWER.sub(lambda match: match[1].translate(_RAISED), typeset)),
    )
