"""Write formulas as MathML, which browsers display without a script and without a network.

docutils, which Sphinx requires, contains the converter from LaTeX. The style is that of the
reports, granchain/show/mathml.css.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

from granchain import show

STYLE = Path(show.__file__).with_name("mathml.css")
# Namespace of MathML, and the largest number of rows of an equation that is not divided.
MATHML, ROWS_OF_A_PART = "{http://www.w3.org/1998/Math/MathML}", 5
ElementTree.register_namespace("", MATHML[1:-1])


def compact(text: str, as_block: bool = False) -> str:
    """Return LaTeX as MathML on one line, for a file."""
    return re.sub(r"\s*\n\s*", "", tex2mathml(text, as_block=as_block))


def equation_parts(text: str) -> list[str]:
    """Return a long equation in parts of a few rows, because no printed page breaks inside one."""
    root = ElementTree.fromstring(text.replace("&ApplyFunction;", "\u2061"))
    rows = root.find(f"{MATHML}mtable")
    inner = rows.find(f"{MATHML}mtr/{MATHML}mtd/{MATHML}mtable") if rows is not None else None
    rows = inner if inner is not None and len(inner) > ROWS_OF_A_PART else rows
    if rows is None or len(rows) <= ROWS_OF_A_PART:
        return [text]
    parts = []
    for first in range(0, len(rows), ROWS_OF_A_PART):
        formula = ElementTree.Element(root.tag, root.attrib)
        table = ElementTree.SubElement(formula, rows.tag, {**rows.attrib, "displaystyle": "true"})
        table.extend(rows[first : first + ROWS_OF_A_PART])
        parts.append(ElementTree.tostring(formula, encoding="unicode"))
    return parts


def inline(translator: Any, node: nodes.math) -> None:
    """Write an inline formula."""
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def block(translator: Any, node: nodes.math_block) -> None:
    """Write a displayed formula, which scrolls if it is wider than the page."""
    translator.body.append(f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def with_style(app: Any, config: Any) -> None:
    """Add the style sheet to the static files."""
    config.html_static_path.append(str(STYLE))


def setup(app: Any) -> dict[str, bool]:
    """Set up the extension; Sphinx calls this function."""
    app.connect("config-inited", with_style)
    app.add_css_file("mathml.css")
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
