"""Real Python processes with a compile cache of their own, for tests of what outlives a process."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def python(
    code: str, cache: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter, with more environment variables; NUMBA_CACHE_DIR is the cache
    folder, where one is given."""
    env = {**os.environ, **environment}
    if cache is not None:
        env["NUMBA_CACHE_DIR"] = str(cache)
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=env,
        timeout=280,
        check=False,
    )


def answer(code: str, cache: Path | None = None, **environment: str) -> str:
    """What the code prints, without the last newline; an assertion with its error output where
    it fails."""
    done = python(code, cache, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def computing(number: int) -> float:
    """Time that a process has been computing [s]: proc(5), fields 14 and 15 of stat. A busy
    machine does not lengthen it much."""
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def has_computed(running: subprocess.Popen[str], moment: float) -> None:
    """Wait until a process has been computing for so long [s]: on a busy machine that is later."""
    while computing(running.pid) < moment and running.poll() is None:
        time.sleep(0.005)


def in_a_child(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a function in a forked process: it finds everything loaded and compiled."""
    child = multiprocessing.get_context("fork").Process(target=function, args=arguments)
    child.start()
    return child


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class Stop:
    """Stops a run when a part of it is done."""

    def __init__(self, at: float = 0.0):
        self.at = at

    def advance(self, fraction: float) -> None:
        if fraction >= self.at:
            raise KeyboardInterrupt

    def resume(self, fraction: float) -> None:
        """Nothing to say."""
