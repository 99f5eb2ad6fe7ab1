"""The set-up of a run has the same bits compiled and as plain Python; test_pinned.py tests the bits
of the run itself with one hash for both."""

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
    """Run code in a process that compiles if this process does not, or the other way round."""
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
    """Return a law for each kind of scan: with and without energy guard, varying exponent, rate and
    history; the short run has one."""
    kinds = {}
    for name, law in laws().items():
        kinds.setdefault((issubclass(law, Elastoplastic), len(law.history), law.uses_rate), name)
    return [
        pytest.param(law, marks=() if law == "carvalho-martins" else pytest.mark.long)
        for law in sorted(kinds.values())
    ]


@pytest.mark.parametrize("law", one_of_each_kind())
def test_compiled_scans_equal_plain_bit_for_bit(law, elsewhere):
    """Energy guard, static overlap, initial history, and time step of a tapered chain under
    gravity."""
    ours, theirs = QUESTIONS["scans"](law), elsewhere("scans", law)
    assert ours.keys() == theirs.keys()
    assert not [name for name in ours if ours[name] != theirs[name]]
