"""Write formulas as MathML, which browsers display without a script and without a network.

docutils, which Sphinx requires, contains the converter from LaTeX. The style is that of the
reports, granchain/show/mathml.css.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

from granchain import show

STYLE = Path(show.__file__).with_name("mathml.css")


def compact(text: str, as_block: bool = False) -> str:
    """Return LaTeX as MathML on one line, for a file."""
    return re.sub(r"\s*\n\s*", "", tex2mathml(text, as_block=as_block))


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
