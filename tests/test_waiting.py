"""A law that never ends: the command says what it waits for, and an interruption ends it; a
pipe for a lock file is refused."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from support.processes import LONGEST
from test_user_law import FORCE_LINE, LAW

from granchain.cli import signals

# The loop of `force` has no end while the beads touch; compiled, it hears no signal.
ENDLESS = LAW.replace("own-spring", "endless").replace(
    LAW.splitlines()[FORCE_LINE - 1],
    """        d = overlap if overlap > 1e-60 else 0.0
        total, k = 0.0, 1.0
        while d > 1e-9 and k > 0.0:
            total, k = total + c[0] * d / k, k + 1.0
            k = 1.0 if k > 1e6 else k
        return total + c[0] * d""",
)
RUN = (
    "run steel-chain --law-module endless.py --set contact.law=endless --set contact.stiffness=1e7 "
    "--set chain.beads=3 --set sensors.beads=[2] --set sensors.contacts=[1] --out never.h5"
)
# After half a second in place of ten.
SOON = (
    "import granchain.cli.signals as s; s.AFTER = 0.5; from granchain.__main__ import main; main()"
)


def waits(folder, says, stop, **environment):
    """Start a run, wait for its words, stop it; what it said, and its exit code."""
    process = subprocess.Popen(
        [sys.executable, "-c", SOON, *RUN.split()],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )
    try:
        line = process.stderr.readline()
        while says not in line:
            assert line, "it ended without a word"
            line = process.stderr.readline()
        process.send_signal(stop)
        return line + process.stderr.read(), process.wait(LONGEST)
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("stop", "jit"),
    [(signal.SIGINT, False), pytest.param(signal.SIGTERM, True, marks=pytest.mark.long)],
)
def test_a_law_whose_force_never_ends_is_named_and_an_interruption_ends_the_command(
    tmp_path, jit, stop
):
    (tmp_path / "endless.py").write_text(ENDLESS)
    says = 'compiling and running the functions of contact law "endless"'
    said, code = waits(tmp_path, says, stop, NUMBA_DISABLE_JIT=str(int(not jit)))
    assert code == 128 + stop
    assert "granchain: waiting for 0.5 s: " in said
    assert "endless.py has not ended. To stop it, press Ctrl-C" in said
    assert "Traceback" not in said and "interrupted" in said
    assert set(os.listdir(tmp_path)) - {"__pycache__"} == {"endless.py"}


def test_a_law_file_whose_code_never_ends_is_named(tmp_path):
    (tmp_path / "endless.py").write_text("while True:\n    pass\n")
    said, code = waits(tmp_path, "the code of law file endless.py", signal.SIGINT)
    assert code == 130 and "Traceback" not in said


class Clock:
    """A clock that only the test moves; it counts how often other threads read it."""

    def __init__(self):
        self.now, self.readings, self._test = 0.0, 0, threading.current_thread()

    def monotonic(self):
        if threading.current_thread() is not self._test:
            self.readings += 1
        return self.now

    def move(self, seconds):
        """Move on, and wait until the other thread has read the new time and acted on it."""
        self.now += seconds
        # the first reading may have begun before; at the third the second has been acted on
        enough, deadline = self.readings + 3, time.monotonic() + LONGEST
        while self.readings < enough:
            assert time.monotonic() < deadline, "nobody reads the clock"
            time.sleep(0.001)


def test_nothing_is_said_where_there_is_a_sign_of_life(monkeypatch, capsys):
    clock = Clock()
    monkeypatch.setattr(signals, "time", clock)
    # the other thread looks at the clock every 5 ms
    monkeypatch.setattr(signals, "HEARD", 0.02)
    with signals.Waiting("a law") as there:
        for _ in range(3):
            clock.move(0.9 * signals.AFTER)
            there.beat("a step")
    assert capsys.readouterr().err == ""
    with signals.Waiting("a law") as there:
        there.beat("a step")
        clock.move(1.1 * signals.AFTER)
    told = "granchain: waiting for 10 s: a step has not ended. To stop it, press "
    assert capsys.readouterr().err == f"{told}Ctrl-C\n"
