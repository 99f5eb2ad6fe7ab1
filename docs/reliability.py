"""Write docs/reliability.md, a summary of the guarantees, and docs/reliability-details.md, the
values that the tests measured last.

    python docs/reliability.py

The values are in docs/reliability.json, which the tests write: `pytest -m "promise and not long"
--figures docs/reliability.json`, and the same with "promise and long" for the long tests. A run
updates the values of its tests and keeps the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

FIGURES = Path(__file__).with_suffix(".json")
SUMMARY, DETAILS = (Path(__file__).with_name(f"reliability{part}.md") for part in ("", "-details"))

# Each guarantee, and how it is tested.
PROMISES = {
    "R1": (
        "A resumed run is bit-identical to an uninterrupted run",
        "at least 50 combinations of law, ends, and split point; 0 ulp, history included",
    ),
    "R2": (
        "Recording and block size don't change the motion",
        "blocks of 1, 7, 1000, and random sizes; sensors, snapshots, energy balance",
    ),
    "R3": (
        "Threads, batch position, and cache don't change results; an edited law never runs its old "
        "loop",
        "equal data hashes; 60 kinds of edit, in one process and across processes",
    ),
    "R4": (
        "If a run is killed, the last complete file stays readable",
        "4 kills, 0 unreadable files; 100 in the long tests",
    ),
    "R5": (
        "With a full disk or an unwritable folder, the exit code is 4, the old file stays "
        "complete, and no temporary file remains; links and devices are never replaced",
        "a small tmpfs; links to files, to descriptors, and in circles",
    ),
    "R6": (
        "Ctrl-C, SIGTERM, and SIGHUP stop a run within 0.5 s; the file is valid, and the exit code "
        "is 130, 143, or 129",
        "3 of 3; 40 of 40 in the long tests",
    ),
    "R7": (
        "If two runs write the same file, the second is refused and the first is unharmed",
        "real processes",
    ),
    "R8": (
        "A damaged, full, or unwritable cache of compiled loops costs a warning and a compilation",
        "10 damaged files, 400 in the long tests. Not guaranteed: a folder to which somebody else "
        "writes, because its files are code",
    ),
    "R9": (
        "A damaged file or a hostile result file is refused: no crash, no hang, no access to "
        "other files",
        "500 bit flips, 2000 in the long tests; files without a checksum; links, virtual datasets, "
        "huge shapes; no pickle. Not guaranteed: a file that is read with --no-verify, or whose "
        "checksum a stranger has recomputed, may crash or hang the HDF5 library or use much memory",
    ),
    "N1": (
        "An elastic chain conserves energy",
        "error at most 3e-7 of the energy supplied, at a tenth of the automatic step",
    ),
    "N2": ("A free chain conserves momentum", "1e-12"),
    "N3": (
        "The energy balance closes",
        "largest residual 5e-5 of the energy supplied at the automatic step, and 1e-6 at a tenth, "
        "for every law; 1e-4 for random chains, precompressed ones included",
    ),
    "N4": (
        "Every law is of second order in time",
        "2.0 +- 0.15, fitted to complete traces at 10, 5, 2, 1, and 1/2 automatic steps; at 5 to "
        "1/4 for laws that reach their order later, and at 1/10 to 1/40 for internal force jumps",
    ),
    "N5": (
        "Duration, largest overlap, and force of a Hertz impact are correct",
        "1e-4 at the automatic step, second order towards the closed form",
    ),
    "N6": (
        "With the energy correction, no law creates energy",
        "every law, a fine grid of largest overlaps, cycles with partial unloading",
    ),
    "N7": (
        "Wave speed, amplitude, and N-ball velocities of the Hertz chain are correct",
        "1e-4 of the exact values or better",
    ),
    "N8": (
        "Mirrored chains, other units, and moving frames give the same physics",
        "1e-12, 1e-12, and 1e-9",
    ),
    "N9": (
        "A time step that is too large is refused or stopped",
        "the run completes at 0.98 of 2/omega_max and stops at 1.02",
    ),
    "N10": ("A NaN is detected within one block", "NaN injected into the state"),
    "N11": (
        "The error bars of `granchain verify` cover the true errors",
        "at least 95 % of peaks and arrivals of 204 random cases of every law, compared with a "
        "sixteenth of the step; median bar at most four times the median error",
    ),
    "N12": (
        "The uncertainties of comparisons and fits cover the true values",
        "10,000 synthetic sensors in the long tests and 120 in the short ones, for pulses of every "
        "law: noise, clipping, drift, offset, crosstalk, later pulses, cuts, and 3 to 100 samples "
        "per width; median uncertainty at most four times the median error. For each of 15 kinds "
        "of noise, with a ring that is visible behind the pulse, two standard errors contain at "
        "least 91 % of the values",
    ),
    "N13": (
        "A peak at a jump or kink of the force is the one-sided value",
        "every law that jumps, impacts and chains: 1e-3 at the automatic step",
    ),
    "I1": ("Invalid input never causes a traceback", "10,000 mutated cases in the long tests"),
    "I2": (
        "Every error message gives location, problem, requirement, and fix",
        "a test of the text of each message",
    ),
    "L1": ("Absurd sizes are refused before memory is allocated", "1e15 beads, 1e12 samples"),
}


class Test(NamedTuple):
    """A test function and its cases."""

    name: str
    cases: list[dict[str, Any]]

    @property
    def ran(self) -> list[dict[str, Any]]:
        """The cases that have been run."""
        return [case for case in self.cases if case["outcome"] != "not run"]


class Figure(NamedTuple):
    """A measured quantity: its values in the cases of a test, and its limits."""

    what: str
    values: list[float]
    at_least: float | None
    at_most: float | None
    date: str

    @property
    def measured(self) -> str:
        low, high = f"{min(self.values):.3g}", f"{max(self.values):.3g}"
        return low if low == high else f"{low} to {high}"

    @property
    def allowed(self) -> str:
        parts = [f"at least {self.at_least:g}"] if self.at_least is not None else []
        parts += [f"at most {self.at_most:g}"] if self.at_most is not None else []
        return ", ".join(parts)


def tests_of(results: dict[str, Any], promise: str) -> list[Test]:
    """Return the tests of a guarantee."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name, case in sorted(results.items()):
        if promise in case["promises"]:
            found.setdefault(name.partition("[")[0].removeprefix("tests/"), []).append(case)
    return [Test(name, cases) for name, cases in found.items()]


def figures_of(test: Test) -> list[Figure]:
    """Return the measured quantities of a test; equal names and limits are combined."""
    found: dict[tuple, list[tuple[float, str]]] = {}
    for case in test.ran:
        for one in case["figures"]:
            found.setdefault((one["what"], one["at_least"], one["at_most"]), []).append(
                (one["value"], case["date"])
            )
    return [
        Figure(what, [value for value, _ in seen], low, high, max(date for _, date in seen))
        for (what, low, high), seen in found.items()
    ]


def outcome_of(tests: list[Test]) -> str:
    """Return how many test cases of a guarantee have passed."""
    if not tests:
        return "**no test**"
    number = sum(len(test.cases) for test in tests)
    ran = [case for test in tests for case in test.ran]
    failures = sum(case["outcome"] != "passed" for case in ran)
    text = (
        f"**{failures} failed**, {len(ran) - failures} passed" if failures else f"{len(ran)} passed"
    )
    return text + (f", {number - len(ran)} not run yet" if len(ran) < number else "")


def summary(results: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the summary."""
    runs = sorted({f"{case['run']} ({case['date']})" for case in results.values() if "run" in case})
    yield from (
        "# Reliability",
        "",
        "This page lists what granchain guarantees and which failures it handles. Tests check every "
        "guarantee. [Measured values](reliability-details.md) lists the last result of each test.",
        "",
        "## Failures that granchain handles",
        "",
        "* a run that is killed",
        "* a full disk",
        "* two processes that write the same file",
        "* a flipped bit in a result file, or a truncated result file",
        "* a law file that was edited between two runs",
        "* invalid input of any kind",
        "* a result file from a stranger: granchain executes no code from it and trusts no size in it",
        "",
        "## Guarantees",
        "",
        "The letters mean: R for runs and files, N for numerical results, I for input, and L for "
        "limits.",
        "",
        "| | guarantee | test cases |",
        "| --- | --- | --- |",
    )
    for name, (guarantee, _) in PROMISES.items():
        link = f"[{name}](reliability-details.md#{name.lower()})"
        yield f"| {link} | {guarantee} | {outcome_of(tests_of(results, name))} |"
    yield from ("", "## Test runs", "", f"The values were measured with {'; '.join(runs)}.")


def details(results: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the page with the measured values."""
    yield from (
        "# Measured values of the guarantees",
        "",
        "Each table lists the values that the tests of a [guarantee](reliability.md) measured last. "
        "Every test run compares them with the limits. `make reliability` writes this page.",
    )
    for name, (guarantee, requirement) in PROMISES.items():
        yield from ("", f"({name.lower()})=", f"## {name}: {guarantee}", "")
        yield from (f"Requirement: {requirement}.", "")
        rows = [figure for test in tests_of(results, name) for figure in figures_of(test)]
        if not rows:
            yield f"Test cases without a measured value: {outcome_of(tests_of(results, name))}."
            continue
        yield from ("| quantity | measured | limit | date |", "| --- | --- | --- | --- |")
        for row in rows:
            yield f"| {row.what} | {row.measured} | {row.allowed} | {row.date} |"
    unknown = {name for case in results.values() for name in case["promises"]} - set(PROMISES)
    if unknown:
        raise SystemExit(
            f"reliability: tests check {', '.join(sorted(unknown))}, which PROMISES doesn't list. "
            "Add the guarantee there, or correct the marker."
        )


if __name__ == "__main__":
    measured = json.loads(FIGURES.read_text(encoding="utf-8"))
    for page, lines in ((SUMMARY, summary), (DETAILS, details)):
        page.write_text("\n".join(lines(measured)) + "\n", encoding="utf-8")
