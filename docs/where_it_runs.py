"""Print the table of tested platforms on docs/installation.md, from docs/where-it-runs.json.

`make test-versions` (run by .ci/run), `make test-later`, and `make test-arm64` write the JSON file.

    python docs/where_it_runs.py [--check]
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RUNS, PAGE = ROOT / "docs" / "where-it-runs.json", ROOT / "docs" / "installation.md"
BEGIN, END = "<!-- where it runs -->\n", "<!-- end of where it runs -->\n"
PACKAGES = {
    "lock": "as in uv.lock",
    "lowest": "lowest allowed versions",
    "newest": "newest versions",
}
# Systems on which nothing has run, with what was simulated on Linux.
SIMULATED = {
    "Darwin": "| macOS |  |  |  | Not run. Simulated on Linux: run, save, open, resume, sweep, and "
    "plot. The loops of three laws were compiled for its processor. |",
    "Windows": "| Windows |  |  |  | Not run. Simulated on Linux: run, save, open, resume, sweep, "
    "and plot. |",
}


def row(ran: dict[str, Any]) -> str:
    """Return the row of a platform, with the tests that it passed."""
    tests = (
        "all tests"
        if ran["tests"] == "all"
        else "reference case and fast tests, bit-identical results"
    )
    if "whole" in ran:
        tests += "; short test set on {day}".format(**ran["whole"])
    processor = ran["processor"] + (" (emulated)" if ran.get("emulated") else "")
    minor = ran["python"].rpartition(".")[0] + (f" ({ran['of']})" if "of" in ran else "")
    return f"| {ran['system']} | {processor} | {minor} | {PACKAGES[ran['packages']]} | {tests} |"


def table() -> str:
    """Return the table in Markdown."""
    heads = (
        "| system | processor | Python | packages | tests passed |\n| --- | --- | --- | --- | --- |"
    )
    runs = json.loads(RUNS.read_text(encoding="utf-8"))
    systems = {run["system"] for run in runs}
    rows = [*map(row, runs), *(text for name, text in SIMULATED.items() if name not in systems)]
    return "\n".join([heads, *rows]) + "\n"


def problems() -> list[str]:
    """Return a message if the Python classifiers differ from the Pythons that were tested."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    classifiers = {
        match[1] for line in project["classifiers"] if (match := re.search(r":: (3\.\d+)$", line))
    }
    runs = json.loads(RUNS.read_text(encoding="utf-8"))
    tested = {run["python"].rpartition(".")[0] for run in runs}
    return [
        f"pyproject.toml: the classifiers name Python {', '.join(sorted(classifiers))}. They must "
        f"name the versions that were tested, {', '.join(sorted(tested))}. Run make test-versions, "
        "or change the classifiers."
    ] * (classifiers != tested)


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    before, _, after = text.partition(BEGIN)
    printed = before + BEGIN + table() + END + after.partition(END)[2]
    messages = problems()
    if "--check" in sys.argv and printed != text:
        messages.append(
            "docs/installation.md: the table of platforms is out of date. "
            "Run python docs/where_it_runs.py."
        )
    elif "--check" not in sys.argv:
        PAGE.write_text(printed, encoding="utf-8")
    if messages:
        sys.exit("\n".join(messages))
