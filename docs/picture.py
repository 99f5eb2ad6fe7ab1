"""Plot the figure of README.md and the landing page: docs/picture.png.

python docs/picture.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib.figure import Figure

import granchain as gc
from granchain.figures.style import SHEET, context_of

FILE = Path(__file__).with_suffix(".png")


def draw() -> Figure:
    """Plot the wave in a chain of yielding beads, and forces at sensor beads.

    The forces are compared with those in an elastic chain.
    """
    case = gc.load_case("steel-chain")
    yielding, elastic = gc.run(case), gc.run(case.replace(**{"contact.law": "hertz"}))
    with context_of(SHEET):
        figure = Figure(figsize=(9.6, 3.8), layout="constrained")
        left, right = figure.subfigures(1, 2, width_ratios=(1.0, 1.0))
        gc.figures.space_time(yielding, ax=left.subplots())
        rows = right.subplots(4, 1, sharex=True, sharey=True)
        gc.figures.force_traces(yielding, elastic, sensors=[9, 24, 40, 63], ax=rows)
    return figure


if __name__ == "__main__":
    draw().savefig(FILE, dpi=150)
