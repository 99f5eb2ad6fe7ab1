"""Write docs/papers: one page per paper, the figures, and the index.

python docs/papers/write.py [NAME ...] writes the named pages, such as alaci, and the index. Without
a name it writes all pages.
"""

from __future__ import annotations

import sys
from pathlib import Path

import alaci
import autiero_2022
import items
import published
import wang_2022
import wang_liu_liu_2022

PAPERS = (
    alaci.PAPER,
    wang_liu_liu_2022.PAPER,
    wang_2022.PAPER,
    autiero_2022.PAPER,
    published.PAPER,
)


def pages(figures: Path, *names: str) -> dict[str, str]:
    """Return pages by file name, all if no name is given, and write the figures into a folder."""
    asked = [paper for paper in PAPERS if not names or paper.name in names]
    made = {f"{paper.name}.md": paper.page(figures) for paper in asked}
    return made | {"index.md": items.index(PAPERS)}


if __name__ == "__main__":
    here = Path(__file__).parent
    for name, text in pages(here / "figures", *sys.argv[1:]).items():
        (here / name).write_text(text, encoding="utf-8")
