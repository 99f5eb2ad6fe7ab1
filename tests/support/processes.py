"""Real Python processes with a compile cache of their own, for tests of what outlives a process."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Longest time to wait for another process [s]: a bound for one that hangs, not a measure of speed.
LONGEST = 120.0
# Of tests of how long a process computes.
COUNTED = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(),
    reason="no /proc here: the time that a process computes is read from it",
)


def python(code, cache=None, **environment):
    """Run code in a new interpreter; NUMBA_CACHE_DIR is the cache folder, where given."""
    env = {**os.environ, **environment}
    if cache is not None:
        env["NUMBA_CACHE_DIR"] = str(cache)
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=280)


def answer(code, cache=None, **environment):
    """What the code prints, without the last newline; fails with its error output."""
    done = python(code, cache, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def computing(number):
    """Time that a process has been computing [s]: proc(5), fields 14 and 15 of stat. A busy
    machine does not lengthen it much."""
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def has_computed(running, moment):
    """Wait until a process has been computing for so long [s]: on a busy machine that is later."""
    wait_until(lambda: computing(running.pid) >= moment, running)


def wait_until(condition, running):
    """Wait for a condition, or for the end of a process, whose exit status is not taken."""
    deadline = time.monotonic() + LONGEST
    while not (condition() or has_ended(running)):
        assert time.monotonic() < deadline, f"no end, and nothing to see, within {LONGEST:g} s"
        time.sleep(0.005)


def has_ended(running):
    """Whether a process has ended; its exit status remains to be taken."""
    return os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def begun(*arguments, folder, setup=""):
    """A process of the command line, in a folder; `setup` is code that it runs first."""
    code = f"{setup}; from granchain.__main__ import main; main()"
    return subprocess.Popen(
        [sys.executable, *(["-c", code] if setup else ["-m", "granchain"]), *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def stopped(process, number, again=None):
    """Signal a process, again after so long [s]; how long it computes on [s], and what it said."""
    assert process.returncode is None, "the process ended before it was to be stopped"
    # It computes nothing between the measurement and the signal, however busy the machine is.
    os.kill(process.pid, signal.SIGSTOP)
    before = computing(process.pid)
    # not by the process's own method, which would take its end from `wait4`
    os.kill(process.pid, number)
    os.kill(process.pid, signal.SIGCONT)
    if again is not None:
        time.sleep(again[0])
        os.kill(process.pid, again[1])
    assert process.stderr is not None
    with process.stderr:
        said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert "Traceback" not in said and "ignored" not in said, said
    return usage.ru_utime + usage.ru_stime - before, said


def in_a_child(function, *arguments):
    """Run a function in a forked process: it finds everything loaded and compiled."""
    child = multiprocessing.get_context("fork").Process(target=function, args=arguments)
    child.start()
    return child


def left_in(folder):
    return sorted(path.name for path in folder.iterdir())


class Stop:
    """Stops a run when a part of it is done."""

    def __init__(self, at=0.0):
        self.at = at

    def advance(self, fraction):
        if fraction >= self.at:
            raise KeyboardInterrupt

    def resume(self, fraction):
        """Nothing to say."""
