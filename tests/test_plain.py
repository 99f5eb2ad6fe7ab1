"""Compiled and as plain Python, the same source gives the same bits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.kinds import distinct_laws, one_per_module
from support.state_hashes import CHAINS, FEW, QUESTIONS

from granchain.contact import laws
from granchain.contact.guard import Elastoplastic

# What the process at hand does: `make test-plain` sets it.
PLAIN_HERE = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")

TESTS = Path(__file__).parent


@pytest.fixture(scope="session")
def elsewhere() -> Iterator[Callable[[str, str], dict[str, str]]]:
    """Ask a process that compiles where this one does not, or the other way round."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "0" if PLAIN_HERE else "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(
        [sys.executable, "-m", "support.state_hashes"], cwd=TESTS, env=environment, **pipes
    ) as process:
        assert process.stdin
        assert process.stdout

        def ask(question: str, law: str) -> dict[str, str]:
            process.stdin.write(f"{question} {law}\n")
            process.stdin.flush()
            answer = process.stdout.readline()
            assert answer, "the other process has died: see its traceback above"
            return json.loads(answer)

        yield ask
        process.stdin.close()


def differing(ours: dict[str, str], theirs: dict[str, str]) -> list[str]:
    assert ours.keys() == theirs.keys()
    return [name for name in ours if ours[name] != theirs[name]]


# of the other laws the short run compares compiled and plain states with one and the same hash
# (test_pinned); loads and alternatives of the inputs with one law of each file: they are the loop's
# and the family's, not the law's, and take five loops more
@pytest.mark.parametrize(
    ("law", "question"),
    [
        ("ma-liu", "few"),
        *(
            pytest.param(
                law, "hashes" if law in one_per_module() else "few", marks=pytest.mark.long
            )
            for law in distinct_laws()
        ),
    ],
)
def test_compiled_equals_plain_bit_for_bit(
    law: str, question: str, elsewhere: Callable[[str, str], dict[str, str]]
) -> None:
    """Coefficients, time step, state, history, peaks, samples, snapshots and energies of 400
    steps."""
    ours = QUESTIONS[question](law)
    assert not differing(ours, elsewhere(question, law))
    # and the hashes see a difference: the chains do
    chains = CHAINS if question == "hashes" else FEW
    assert len({ours[f"{chain}: u"] for chain in chains}) == len(chains)


def one_of_each_kind() -> list[Any]:
    """A law for each kind of scan: with and without energy guard, varying exponent, rate and
    history; one in the short run."""
    kinds: dict[tuple[bool, int, bool], str] = {}
    for name, law in laws().items():
        kinds.setdefault((issubclass(law, Elastoplastic), len(law.history), law.uses_rate), name)
    return [
        pytest.param(law, marks=() if law == "carvalho-martins" else pytest.mark.long)
        for law in sorted(kinds.values())
    ]


@pytest.mark.parametrize("law", one_of_each_kind())
def test_compiled_scans_equal_plain_bit_for_bit(
    law: str, elsewhere: Callable[[str, str], dict[str, str]]
) -> None:
    """Energy guard, static overlap, start history and time step of a taper under gravity."""
    assert not differing(QUESTIONS["scans"](law), elsewhere("scans", law))
