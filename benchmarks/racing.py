"""Compare contenders that do the same work in turn.

Results are times, ratios within a round, and the machine. Times drift with the machine, so ratios
are computed within each round, and their median and quartiles over the rounds are stored. Times are
thread times, which exclude other programs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numba
import numpy as np

from granchain.portable import processor_name

RESULTS = Path(__file__).with_name("results")

# Number of rounds, and runs of a fast contender in each turn, of which the fastest counts.
ROUNDS, TURNS = 25, 5
SMALL_ROUNDS = 2

# Largest relative difference of final displacements and velocities of two contenders: rounding over
# a few thousand steps.
SAME = 1e-9

# Names as the programs spell them.
NAMES = {
    "python": "Python",
    "numba": "Numba",
    "numpy": "NumPy",
    "scipy": "SciPy",
    "lammps": "LAMMPS",
    "liggghts": "LIGGGHTS",
    "exudyn": "Exudyn",
}

Answer = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Contender:
    """A program that computes a run.

    `prepare` sets up a run, untimed, and returns the function to time. That function returns the
    final displacements and velocities of the bodies.

    Parameters
    ----------
    prepare : callable
        See above.
    turns : int
        Number of runs in each turn.
    same : float
        Largest relative difference from the first contender's result; 0 means bit-identical.
    computes : bool
        Whether it computes the chain; false for a lower bound such as square roots.
    """

    prepare: Callable[[], Callable[[], Answer]]
    turns: int = TURNS
    same: float = SAME
    computes: bool = True


def small() -> bool:
    """Return whether everything runs only once, without evaluating times."""
    return os.environ.get("BENCH_SMALL", "") not in ("", "0")


def away(answer: Answer, other: Answer) -> float:
    """Return the largest relative difference of displacements and of velocities."""
    return max(
        float(np.abs(mine - its).max() / np.abs(mine).max())
        for mine, its in zip(answer, other, strict=True)
    )


def assert_same(contenders: dict[str, Contender]) -> dict[str, float]:
    """Return each contender's difference from the first one, and compile all of them."""
    first, *_ = contenders.values()
    answer = first.prepare()()
    found = {}
    for name, contender in contenders.items():
        other = contender.prepare()()
        if not contender.computes:
            continue
        found[name] = away(answer, other)
        assert found[name] <= contender.same, (
            f"{name} ends {found[name]:.1e} away, allowed {contender.same:g}"
        )
    return found


def seconds(contender: Contender) -> float:
    """Return the time of one run without its preparation."""
    timed = contender.prepare()
    begin = time.thread_time()
    timed()
    return time.thread_time() - begin


def race(contenders: dict[str, Contender], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each contender in each round; the first one changes every round."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            times[name].append(
                min(seconds(contenders[name]) for _ in range(contenders[name].turns))
            )
    return times


def ratios(times: list[float], base: list[float]) -> list[float]:
    """Return one contender's times divided by another's, round by round."""
    return [mine / its for mine, its in zip(times, base, strict=True)]


def spread(values: Iterable[float]) -> dict[str, float]:
    """Return median and quartiles."""
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": median, "low": low, "high": high}


def measured(
    times: dict[str, list[float]], bases: Iterable[str], bead_steps: int = 1, unit: float = 1e9
) -> dict[str, Any]:
    """Return times per bead and step in units of 1/`unit` s, and ratios to each of the bases."""
    scaled = {name: [t / bead_steps * unit for t in values] for name, values in times.items()}
    return {
        "times": {name: {**spread(values), "best": min(values)} for name, values in scaled.items()},
        "ratios": {
            base: {
                name: spread(ratios(values, times[base]))
                for name, values in times.items()
                if name != base
            }
            for base in bases
        },
    }


def machine(**versions: str) -> dict[str, Any]:
    """Return the description of the machine and the versions."""
    return {
        "cpu": processor_name(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numba": numba.__version__,
        "numpy": np.__version__,
        **versions,
        "date": date.today().isoformat(),
    }


def taken_on(taken: dict[str, Any]) -> str:
    """Return the machine in one line."""
    versions = ", ".join(
        f"{NAMES.get(key, key)} {value}"
        for key, value in taken.items()
        if key not in ("cpu", "cores", "date")
    )
    return f"{taken['cpu']}, {taken['cores']} cores, {versions}, {taken['date']}."


def save(name: str, result: dict[str, Any]) -> None:
    """Write results/<name>.json, except if everything runs only once."""
    if small():
        return
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(rounded(result), indent=1) + "\n")
    print(f"\nwritten: {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")


def command(
    name: str,
    doc: str | None,
    measure: Callable[[int], dict[str, Any]],
    report: Callable[[dict[str, Any]], None],
    rounds: tuple[int, int] = (ROUNDS, SMALL_ROUNDS),
    **versions: str,
) -> None:
    """Run a benchmark from the command line: measure, print, and with --save store the result.

    `rounds` has the number of rounds, and the number if everything is small.
    """
    parser = argparse.ArgumentParser(description=(doc or "").split("\n\n")[0])
    usual = rounds[small()]
    parser.add_argument("--rounds", type=int, default=usual, help="rounds, two or more")
    parser.add_argument("--save", action="store_true", help=f"write results/{name}.json")
    options = parser.parse_args()
    result = {"machine": machine(**versions), "rounds": options.rounds}
    result |= measure(options.rounds)
    report(result)
    if options.save:
        save(name, result)


def rounded(value: Any) -> Any:
    """Round floats to six digits, because no measured time has more."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
