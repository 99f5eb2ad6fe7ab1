"""Contenders that do the same work in turn: their times, ratios within a round, and what they were
measured on.

Times drift with the machine, so a ratio is taken within a round, and median and quartiles over the
rounds are kept. The time is the thread's own, without that of other programs.
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

# Rounds of a race, and runs of a fast contender in each of its turns, of which the quickest counts.
ROUNDS, TURNS = 25, 5
SMALL_ROUNDS = 2

# Final displacements and velocities of two contenders, over the largest: rounding of a few thousand
# steps.
SAME = 1e-9

# As programs write themselves.
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
    """`prepare` makes a fresh start, untimed, and returns what is timed; that returns final
    displacements and velocities of the bodies.

    Parameters
    ----------
    prepare : callable
        As above.
    turns : int
        Runs in each turn.
    same : float
        How far its answer may be from the first contender's, over the largest; 0: the same bits.
    computes : bool
        Whether it computes the chain at all, or is a floor.
    """

    prepare: Callable[[], Callable[[], Answer]]
    turns: int = TURNS
    same: float = SAME
    computes: bool = True


def small() -> bool:
    """Whether everything is to run once, without judging times."""
    return os.environ.get("BENCH_SMALL", "") not in ("", "0")


def away(answer: Answer, other: Answer) -> float:
    """The largest difference of two answers, displacements and velocities each over its largest."""
    return max(
        float(np.abs(mine - its).max() / np.abs(mine).max())
        for mine, its in zip(answer, other, strict=True)
    )


def assert_same(contenders: dict[str, Contender]) -> dict[str, float]:
    """How far each contender's answer is from the first one's; compiles all of them besides."""
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
    """One run, without its preparation."""
    timed = contender.prepare()
    begin = time.thread_time()
    timed()
    return time.thread_time() - begin


def race(contenders: dict[str, Contender], rounds: int) -> dict[str, list[float]]:
    """Seconds of each contender in each round; who begins moves on by one each round."""
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
    """One contender's times over another's, round by round."""
    return [mine / its for mine, its in zip(times, base, strict=True)]


def spread(values: Iterable[float]) -> dict[str, float]:
    """Median and quartiles."""
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": median, "low": low, "high": high}


def measured(
    times: dict[str, list[float]], bases: Iterable[str], bead_steps: int = 1, unit: float = 1e9
) -> dict[str, Any]:
    """Times per bead and step in a unit of 1/`unit` s, and ratios to each of the bases."""
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
    """What the numbers were taken on."""
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
    """The machine in a line."""
    versions = ", ".join(
        f"{NAMES.get(key, key)} {value}"
        for key, value in taken.items()
        if key not in ("cpu", "cores", "date")
    )
    return f"{taken['cpu']}, {taken['cores']} cores, {versions}, {taken['date']}."


def save(name: str, result: dict[str, Any]) -> None:
    """Write results/<name>.json; not where everything ran once only."""
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
    """A benchmark as it is called: measure so many rounds, fewer where all is small, print, and
    with --save keep the result."""
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
    """Floats with six digits: no measured time has more."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
