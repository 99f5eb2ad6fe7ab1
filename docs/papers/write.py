"""Write docs/papers: a page a paper, the figures, and the index.

python docs/papers/write.py
"""

from __future__ import annotations

from pathlib import Path

import alaci
import items

PAPERS = (alaci.PAPER,)


def pages(figures: Path) -> dict[str, str]:
    """All pages by file name; the figures are written into a folder."""
    made = {f"{paper.name}.md": paper.page(figures) for paper in PAPERS}
    return made | {"index.md": items.index(PAPERS)}


if __name__ == "__main__":
    here = Path(__file__).parent
    for name, text in pages(here / "figures").items():
        (here / name).write_text(text, encoding="utf-8")
