"""Print the table "where it runs" of README, from what ran: docs/where-it-runs.json, which
`make test-versions`, a part of .ci/run, `make test-later` and `make test-arm64` write.

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
RAN, README = ROOT / "docs" / "where-it-runs.json", ROOT / "README.md"
BEGIN, END = "<!-- where it runs -->\n", "<!-- end of where it runs -->\n"
PACKAGES = {
    "lock": "as in requirements.lock",
    "lowest": "the lowest that are allowed",
    "newest": "the newest",
}
# Of systems on which nothing has run, what stands in for that.
SIMULATED = {
    "Darwin": "| macOS |  |  |  | not run; simulated on Linux: runs, saves, opens, goes on, sweeps, "
    "plots; three laws' loops compiled for its processor |",
    "Windows": "| Windows |  |  |  | not run; simulated on Linux: runs, saves, opens, goes on, sweeps, "
    "plots |",
}


def row(ran: dict[str, Any]) -> str:
    """One place, and what it passed."""
    tests = "all tests" if ran["tests"] == "all" else "the main job and fast tests, the same bits"
    if "whole" in ran:
        tests += "; all but the long ones, on {day}".format(**ran["whole"])
    processor = ran["processor"] + (", emulated" if ran.get("emulated") else "")
    minor = ran["python"].rpartition(".")[0] + (f", of {ran['of']}" if "of" in ran else "")
    return f"| {ran['system']} | {processor} | {minor} | {PACKAGES[ran['packages']]} | {tests} |"


def table() -> str:
    """The table, as Markdown."""
    heads = "| system | processor | Python | packages | what ran |\n| --- | --- | --- | --- | --- |"
    ran = json.loads(RAN.read_text(encoding="utf-8"))
    systems = {one["system"] for one in ran}
    rows = [*map(row, ran), *(text for name, text in SIMULATED.items() if name not in systems)]
    return "\n".join([heads, *rows]) + "\n"


def problems() -> list[str]:
    """Classifiers of Pythons that did not run, and Pythons that ran without one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    stated = {
        found[1] for one in project["classifiers"] if (found := re.search(r":: (3\.\d+)$", one))
    }
    ran = {one["python"].rpartition(".")[0] for one in json.loads(RAN.read_text(encoding="utf-8"))}
    return [
        f"pyproject.toml: got the classifiers {sorted(stated)}, allowed those of what ran, "
        f"{sorted(ran)}; run make test-versions, or change them"
    ] * (stated != ran)


if __name__ == "__main__":
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    printed = before + BEGIN + table() + END + rest.partition(END)[2]
    found = problems()
    if "--check" in sys.argv and printed != text:
        found.append("README.md: where it runs is not what ran; run python docs/where_it_runs.py")
    elif "--check" not in sys.argv:
        README.write_text(printed, encoding="utf-8")
    if found:
        sys.exit("\n".join(found))
