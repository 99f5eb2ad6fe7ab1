"""The README's table of throughput, as Markdown, from results/throughput.json.

First `python benchmarks/throughput.py --save`, then `python benchmarks/table.py`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results") / "throughput.json"
HEADINGS = (
    "law",
    "granchain, ns",
    "all beads, ns",
    "naive Numba, ns",
    "naive Numba / granchain",
    "NumPy / granchain",
    "with 8 sensors",
    "with ledger",
)


def row(law: str, measured: dict[str, Any]) -> str:
    """One law: times of the two loops, ratios to the bare loop behind the front; "-" where no naive loop is written."""
    times, ratios = measured["nanoseconds"], measured["ratios"]["granchain"]

    def ns(name: str) -> str:
        return f"{times[name]['median']:.3g}" if name in times else "-"

    def ratio(name: str, digits: str = ".3g") -> str:
        return f"{ratios[name]['median']:{digits}}" if name in ratios else "-"

    cells = (
        law,
        ns("granchain"),
        ns("granchain, all beads"),
        ns("naive Numba"),
        ratio("naive Numba", ".2g"),
        ratio("plain NumPy", ".2g"),
        ratio("granchain, 8 sensors"),
        ratio("granchain, ledger"),
    )
    return f"| {' | '.join(cells)} |"


def table(result: dict[str, Any]) -> str:
    """Heading, one row a law, and what the numbers were taken on."""
    machine = result["machine"]
    floor = min(measured["nanoseconds"]["square roots"]["median"] for measured in result["laws"].values())
    lines = [
        f"| {' | '.join(HEADINGS)} |",
        f"|{'---|' * len(HEADINGS)}",
        *(row(law, measured) for law, measured in result["laws"].items()),
        "",
        f"Per bead and step, {result['bodies']} bodies up to the peak at bead 63; medians of {result['rounds']} rounds, all in turn.",
        f"One square root a contact and step alone: {floor:.2g} ns.",
        f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, "
        f"Numba {machine['numba']}, NumPy {machine['numpy']}, {machine['date']}.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(json.loads(RESULTS.read_text())))
