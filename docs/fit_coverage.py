"""Print how many 90 % intervals of a fit contain the true value, for each kind of noise.

The output is the table in docs/fit-coverage.md.

    python docs/fit_coverage.py

The values are those that tests/test_fit.py last measured, from docs/reliability.json.
"""

from __future__ import annotations

import json
from pathlib import Path

TEST = "tests/test_fit.py::test_intervals_hold_under_noise_of_any_kind[{}-%s]"
POOLED = "tests/test_fit.py::test_intervals_hold_as_often_as_they_say[{}]"
MEASURES = ("traces", "features", "peaks")
# Names of the kinds of noise in the tests and on the page.
KINDS = {
    "white": "white, 1 % of the largest force",
    "50 Hz interference": "50 Hz mains interference of 2 %",
    "8 bit": "white, read with 8 bits",
    "drift": "drift, 3 % over the trace",
    "within 300 kHz": "within 300 kHz",
    "AR(1)": "correlated over 5 us",
    "20 kHz interference": "20 kHz interference of 1 %",
    "ringing": "ringing at 80 kHz",
    "own gain": "white; a gain error of 3 % at each sensor",
    "skew": "white; a clock error of 0.2 us at each sensor",
}


def table() -> str:
    """Return the table in Markdown: percentages of intervals by kind of noise and key.

    A dash means that the tests have not been run since the page was written.
    """
    known = json.loads(Path(__file__).with_name("reliability.json").read_text(encoding="utf-8"))
    lines = [f"| noise | {' | '.join(MEASURES)} |", "| --- |" + " --- |" * len(MEASURES)]
    rows = {TEST % kind: words for kind, words in KINDS.items()} | {POOLED: "the ten together"}
    for test, words in rows.items():
        cells = []
        for measure in MEASURES:
            entry = known.get(test.format(measure), {"figures": []})
            shares = [one["value"] for one in entry["figures"] if "hold" in one["what"]]
            cells.append(", ".join(f"{100.0 * one:.0f}" for one in shares) or "-")
        lines.append(f"| {words} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
