"""Real Python processes with a separate compile cache, for tests across processes."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Longest time to wait for another process [s]: a limit for a process that hangs, not a measurement.
LONGEST = 120.0
# The same for tests of the processor time of a process.
COUNTED = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(),
    reason="no /proc here: the time that a process computes is read from it",
)


def python(code, cache=None, **environment):
    """Run code in a new interpreter; NUMBA_CACHE_DIR is the cache folder, if given."""
    env = {**os.environ, **environment}
    if cache is not None:
        env["NUMBA_CACHE_DIR"] = str(cache)
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=280)


def answer(code, cache=None, **environment):
    """Return the output of the code without the last newline; fail with its error output."""
    done = python(code, cache, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def computing(number):
    """Return the processor time of a process [s].

    See proc(5), fields 14 and 15 of stat. A busy machine hardly increases it.
    """
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def has_computed(running, moment):
    """Wait until a process has used this processor time [s]."""
    wait_until(lambda: computing(running.pid) >= moment, running)


def wait_until(condition, running):
    """Wait for a condition, or for the end of a process, without reading its exit status."""
    deadline = time.monotonic() + LONGEST
    while not (condition() or has_ended(running)):
        assert time.monotonic() < deadline, f"no end, and nothing to see, within {LONGEST:g} s"
        time.sleep(0.005)


def has_ended(running):
    """Return whether a process has ended, without reading its exit status."""
    return os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def begun(*arguments, folder, setup=""):
    """Start a process of the command line in a folder; `setup` is code that it runs first."""
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
    """Signal a process, and again after a time [s]; return the further processor time [s] and the
    output."""
    assert process.returncode is None, "the process ended before it was to be stopped"
    # It computes nothing between the measurement and the signal, even on a busy machine.
    os.kill(process.pid, signal.SIGSTOP)
    before = computing(process.pid)
    # not the method of the process, which would take the exit status from `wait4`
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
    """Run a function in a forked process, in which everything is already loaded and compiled."""
    child = multiprocessing.get_context("fork").Process(target=function, args=arguments)
    child.start()
    return child


def left_in(folder):
    return sorted(path.name for path in folder.iterdir())


class Stop:
    """Watch that stops a run at a given fraction."""

    def __init__(self, at=0.0):
        self.at = at

    def advance(self, fraction):
        if fraction >= self.at:
            raise KeyboardInterrupt

    def resume(self, fraction):
        """Do nothing."""
