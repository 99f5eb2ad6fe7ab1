"""Seconds of complete processes: `granchain --help`, `granchain run` with a cached loop, and the
first run, which compiles the loop.

Processes run in turn, in rounds, and the time is elapsed time. For comparison, Python alone is also
measured, without and with the packages that a run requires. If everything runs only once, the first
run is omitted.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import h5py
import scipy
from racing import (
    command,
    small,
    spread,
    taken_on,
)

ROUNDS, COLD_ROUNDS = 9, 3

GRANCHAIN = [str(Path(sys.executable).with_name("granchain"))]
PACKAGES = "import numpy, numba, h5py, pydantic, typer"


def elapsed(command: list[str], folder: Path, **environment: str) -> float:
    """Return the elapsed seconds of a process."""
    begin = time.perf_counter()
    subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, check=True, capture_output=True
    )
    return time.perf_counter() - begin


def run_into(path: str) -> list[str]:
    """Return the command that runs the built-in chain."""
    return [*GRANCHAIN, "run", "steel-chain", "--out", path, "--overwrite"]


def measure(rounds: int, cold_rounds: int) -> dict[str, Any]:
    """Return elapsed times by command."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        commands = {
            "granchain --help": [*GRANCHAIN, "--help"],
            "granchain run, warm": run_into("warm.h5"),
            "Python alone": [sys.executable, "-c", "pass"],
            "Python and packages": [sys.executable, "-c", PACKAGES],
        }
        if not small():
            for command in commands.values():
                elapsed(command, folder)
        times: dict[str, list[float]] = {what: [] for what in commands}
        for _ in range(rounds):
            for what, command in commands.items():
                times[what].append(elapsed(command, folder))
        cold = [
            elapsed(run_into("cold.h5"), folder, NUMBA_CACHE_DIR=str(folder / f"cache{i}"))
            for i in range(cold_rounds)
        ]
        if cold:
            times["granchain run, first"] = cold
    return {
        what: {**spread(values * 2 if len(values) == 1 else values), "best": min(values)}
        for what, values in times.items()
    }


def report(result: dict[str, Any]) -> None:
    """Print the table."""
    print(f"seconds of the whole process, median of {result['rounds']} [quartiles]")
    for what, taken in result["processes"].items():
        print(
            f"  {what:24s} {taken['median']:7.3f} [{taken['low']:.3f} {taken['high']:.3f}]   best "
            f"{taken['best']:.3f}"
        )
    print(f"\n{taken_on(result['machine'])}")


def processes(rounds: int) -> dict[str, Any]:
    """Measure each process `rounds` times with a warm cache, and a few times with a cold one."""
    return {"processes": measure(rounds, 0 if small() else COLD_ROUNDS)}


if __name__ == "__main__":
    versions = {"scipy": scipy.__version__, "h5py": h5py.__version__}
    command("startup", __doc__, processes, report, (ROUNDS, 1), **versions)
