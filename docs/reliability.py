"""Print docs/reliability.md: every promise, the tests that show it, and the figures that they last
measured.

    python docs/reliability.py > docs/reliability.md

The figures stand in docs/reliability.json, which the tests write: `pytest -m "promise and not long"
--figures docs/reliability.json`, and the same with "promise and long" for those that take minutes.
A run renews the figures of the tests that it runs, and keeps the others.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

FIGURES = Path(__file__).with_suffix(".json")

# What is promised, and how it is tested.
PROMISES = {
    "R1": (
        "Restart gives the same bits as no restart",
        "50 combinations and more of law, ends and split point: 0 ulp, history included",
    ),
    "R2": (
        "Block size and recording change no bit of the motion",
        "blocks of 1, 7, 1000 and of random sizes, sensors, snapshots, ledger",
    ),
    "R3": (
        "Threads, batch position, warm or cold cache change no bit; an edited law never runs its "
        "old loop",
        "hash of the data equal; 60 kinds of edit, in one process and across",
    ),
    "R4": (
        "kill -9 at any moment leaves the last complete file readable",
        "4 kills, 0 unreadable; 100 in the long run",
    ),
    "R5": (
        "Full disk, read-only or missing folder: exit code 4, the old file whole, no temporary "
        "left; a link is never replaced, nor a name of a device or a process",
        "a small tmpfs, real; links to files, to descriptors, in circles",
    ),
    "R6": (
        "Ctrl-C and TERM stop within 0.5 s, the file valid, exit code 130 or 143",
        "3 of 3; 40 of 40 in the long run",
    ),
    "R7": ("Two runs to one file: the second is refused, the first unharmed", "real processes"),
    "R8": (
        "A damaged, full or unwritable cache of compiled loops costs a warning and a compilation",
        "10 damaged files, 400 in the long run: empty, cut, garbage, flipped bits, other content. "
        "Not promised: a folder that somebody else writes to: its files are code, and a link, a "
        "pipe or a device in it is read as it is",
    ),
    "R9": (
        "A damaged or hostile file is refused with a sentence: no crash, no hang, no reading of "
        "other files",
        "500 bit flips, 2000 in the long run; files without a seal; links, virtual datasets, huge "
        "shapes; no pickle anywhere. Not promised: a file that is read unsealed, or whose seal a "
        "stranger has made to fit, may make the HDF5 library crash, or never end, or take the "
        "memory that a packed piece claims; a file of another program is read in the process that "
        "asks for it",
    ),
    "N1": (
        "Energy of an elastic chain is kept",
        "3e-7 of the input at most, at a tenth of the automatic step",
    ),
    "N2": ("Momentum of a free chain is kept", "1e-12"),
    "N3": (
        "The energy ledger closes",
        "largest residual 5e-5 of the input at the automatic step and 1e-6 at a tenth of it under "
        "every law, also where its force jumps; 1e-4 over random rows, loaded ones among them",
    ),
    "N4": (
        "Order two in time for every law",
        "2.0 +- 0.15, fitted on whole traces over 10, 5, 2, 1 and 1/2 automatic steps; over 5 to "
        "1/4 for laws that come to it later, over "
        "1/10 to 1/40 for those whose force jumps inside a contact",
    ),
    "N5": (
        "Two bodies under Hertz: duration, largest overlap and force",
        "1e-4 at the automatic step, order two towards the closed form",
    ),
    "N6": (
        "No law creates energy, with its guard on",
        "every law, largest overlaps on a fine grid, cycles with partial unloading",
    ),
    "N7": (
        "Wave speed, amplitude and the velocities of N balls of the Hertz chain",
        "the exact values, 1e-4 or better",
    ),
    "N8": ("Mirrored chain, other units, moving frame: the same physics", "1e-12, 1e-12, 1e-9"),
    "N9": (
        "A step too large is refused or stopped, never silently wrong",
        "at .98 of 2/omega_max it runs, at 1.02 it is stopped",
    ),
    "N10": ("A value that is not a number is caught within one block", "put in by hand"),
    "N11": (
        "The error bars of `granchain verify` cover the true errors",
        "at least 95 % of peaks and 95 % of arrivals over 204 random cases of every law, against a "
        "sixteenth of the step sampled densely; the median bar at most four times the median error",
    ),
    "N12": (
        "The uncertainties of a comparison, and of a fit, cover what is true",
        "10,000 synthetic sensors in the long run, 120 of three laws in the fast one, pulses of "
        "every law: noise, clipping, drift, offset, crosstalk, a later larger pulse, a cut, 3 to "
        "100 samples a width; the median uncertainty at most four times the median error. Under "
        "each of 14 kinds of noise and of instruments two standard errors hold 91 % and more, and "
        "the uncertainty is at most 1.5 times that of which they hold 95 %, over 280 sensors of "
        "three laws. Off by more than five standard errors are mostly arrivals of pulses with two "
        "tops or a kink that noise hides (of 4,908 with noise alone 13: kogut-etsion 7 of its 190, "
        "jankowski 5). Of eight pairs of laws, three that leave 1 to 2 % of the peaks, every fit to whole traces at 3 % of noise is said "
        "not to describe the measurement",
    ),
    "N13": (
        "A peak at a jump or kink of the force is the one-sided value",
        "every law that jumps, impacts and chains: within 1e-3 at the automatic step",
    ),
    "I1": ("No input gives a traceback", "10,000 mutated cases in the long run"),
    "I2": (
        "Every error says where, what was got, what is allowed and what to do",
        "a test on the text of each",
    ),
    "L1": (
        "Absurd sizes are refused before memory is taken or anything is counted out",
        "1e15 beads, 1e12 samples",
    ),
}


class Test(NamedTuple):
    """A test function: its cases, and the figures over all of them."""

    name: str
    cases: list[dict[str, Any]]

    @property
    def ran(self) -> list[dict[str, Any]]:
        """The cases that have been run at all."""
        return [case for case in self.cases if case["outcome"] != "not run"]

    @property
    def told(self) -> str:
        """The name, and how many cases it has."""
        kept_for_long = sum(case["long"] for case in self.cases)
        number = f", {len(self.cases)} cases" if len(self.cases) > 1 else ""
        long = (
            ""
            if not kept_for_long
            else ", long"
            if kept_for_long == len(self.cases)
            else f", {kept_for_long} of them long"
        )
        return f"`{self.name}`{number}{long}"

    @property
    def outcome(self) -> str:
        """Passed, failed, or how much of it has been run."""
        bad = sorted({case["outcome"] for case in self.ran} - {"passed"})
        if bad:
            return f"**{' and '.join(bad)}**"
        if not self.ran:
            return "not run yet"
        return (
            "passed"
            if len(self.ran) == len(self.cases)
            else f"passed, {len(self.ran)} of {len(self.cases)} run"
        )


class Figure(NamedTuple):
    """A measured quantity, its smallest and largest value over the cases of a test, and its
    bounds."""

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


def tests_of(kept: dict[str, Any], promise: str) -> list[Test]:
    """The tests that show a promise, by name."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name, case in sorted(kept.items()):
        if promise in case["promises"]:
            found.setdefault(name.partition("[")[0].removeprefix("tests/"), []).append(case)
    return [Test(name, cases) for name, cases in found.items()]


def figures_of(test: Test) -> list[Figure]:
    """The figures of a test, those of one name and bound together."""
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
    """What came of all tests of a promise."""
    if not tests:
        return "**no test shows it**"
    number, ran = (
        sum(len(test.cases) for test in tests),
        [case for test in tests for case in test.ran],
    )
    bad = sum(case["outcome"] != "passed" for case in ran)
    told = f"**{bad} failed**, {len(ran) - bad} passed" if bad else f"{len(ran)} passed"
    return told + (
        f", {number - len(ran)} of the long run not run yet" if len(ran) < number else ""
    )


def page(kept: dict[str, Any]) -> str:
    """The page, in Markdown."""
    return "\n".join(lines(kept)) + "\n"


def lines(kept: dict[str, Any]) -> Iterator[str]:
    yield from ("# What granchain promises, and what was measured", "")
    yield (
        "Printed by `make reliability` from a run of the tests, not by hand. A figure is the last "
        "one measured, over all cases of its"
    )
    yield (
        "test, and every run of the tests compares it with what is allowed. A test marked long "
        "runs in `make test-long` only."
    )
    runs = sorted({f"{case['run']} ({case['date']})" for case in kept.values() if "run" in case})
    if runs:
        yield from ("", f"Measured with {'; '.join(runs)}.")
    yield from ("", "| | promise | tests | their cases |", "| --- | --- | --- | --- |")
    for name, (told, _) in PROMISES.items():
        tests = tests_of(kept, name)
        yield f"| [{name}](#{name.lower()}) | {told} | {len(tests)} | {outcome_of(tests)} |"
    for name, (told, how) in PROMISES.items():
        yield from ("", f"({name.lower()})=", f"## {name}: {told}", "", f"Promised: {how}.", "")
        tests = tests_of(kept, name)
        if not tests:
            yield "**No test shows it.**"
        else:
            yield from table(tests)
    unknown = sorted(
        {promise for case in kept.values() for promise in case["promises"]} - set(PROMISES)
    )
    if unknown:
        raise SystemExit(
            f"reliability: tests show {', '.join(unknown)}, which PROMISES does not know; write "
            "them there, or mend the marker"
        )


def table(tests: list[Test]) -> Iterator[str]:
    """A row for each figure of each test, or one that says that it passed."""
    yield from (
        "| test | figure | measured | allowed | last run |",
        "| --- | --- | --- | --- | --- |",
    )
    for test in tests:
        figures = figures_of(test)
        date = max((case["date"] for case in test.ran), default="-")
        if not figures or test.outcome != "passed":
            yield f"| {test.told} | {test.outcome} | | | {date} |"
        told = test.told if figures and test.outcome == "passed" else ""
        for figure in figures:
            yield (
                f"| {told} | {figure.what} | {figure.measured} | {figure.allowed} | {figure.date} |"
            )
            told = ""


if __name__ == "__main__":
    sys.stdout.write(
        page(json.loads(Path(sys.argv[1] if len(sys.argv) > 1 else FIGURES).read_text()))
    )
