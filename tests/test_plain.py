"""Compiled and as plain Python, what a run is set up from has the same bits; that a run has them
is test_pinned.py's: one hash for both."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.kinds import PLAIN_HERE
from support.state_hashes import QUESTIONS

from granchain.contact import laws
from granchain.contact.guard import Elastoplastic

TESTS = Path(__file__).parent


@pytest.fixture(scope="session")
def elsewhere():
    """Ask a process that compiles where this one does not, or the other way round."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "0" if PLAIN_HERE else "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(
        [sys.executable, "-m", "support.state_hashes"], cwd=TESTS, env=environment, **pipes
    ) as process:
        assert process.stdin
        assert process.stdout

        def ask(question, law):
            process.stdin.write(f"{question} {law}\n")
            process.stdin.flush()
            answer = process.stdout.readline()
            assert answer, "the other process has died: see its traceback above"
            return json.loads(answer)

        yield ask
        process.stdin.close()


def one_of_each_kind():
    """A law for each kind of scan: with and without energy guard, varying exponent, rate and
    history; one in the short run."""
    kinds = {}
    for name, law in laws().items():
        kinds.setdefault((issubclass(law, Elastoplastic), len(law.history), law.uses_rate), name)
    return [
        pytest.param(law, marks=() if law == "carvalho-martins" else pytest.mark.long)
        for law in sorted(kinds.values())
    ]


@pytest.mark.parametrize("law", one_of_each_kind())
def test_compiled_scans_equal_plain_bit_for_bit(law, elsewhere):
    """Energy guard, static overlap, start history and time step of a taper under gravity."""
    ours, theirs = QUESTIONS["scans"](law), elsewhere("scans", law)
    assert ours.keys() == theirs.keys()
    assert not [name for name in ours if ours[name] != theirs[name]]
