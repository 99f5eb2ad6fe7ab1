"""Milliseconds per member of `granchain.run_many` in addition to its compiled loop, and of a warm
`granchain.run`.

There are 1,024 chains of 70 steel beads, each with another kind of contact, up to the fast step
nearest 1,041. The time is processor time of all threads from the call on, without the compiled time
loops: set-up, and collection into results. Each round has different numbers, so that nothing stored
in a previous round helps. A single run, also of 70 beads, repeats the same case, in wall time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
from racing import (
    command,
    small,
    spread,
    taken_on,
)

import granchain
from granchain.engine.batch import Stack
from granchain.simulation import prepare
from granchain.studies import members as set_up_together

MEMBERS, SMALL_MEMBERS = 1024, 32
ROUNDS, SMALL_ROUNDS = 9, 2
RUNS, SMALL_RUNS = 301, 5
STEPS = 1041

# Without the energy balance, as in a sweep, and with it, as in the case. The step is the fast one.
RECORDED: dict[str, dict[str, Any]] = {
    "without energy balance": {"energy.ledger": False},
    "with energy balance": {},
}
# Changes of the steel chain, and a function of the key that differs between members.
LAWS: dict[str, tuple[dict[str, Any], Callable[[float], dict[str, Any]]]] = {
    "ma-liu": ({}, lambda x: {"contact.psi": 2.84 * x}),
    "hertz": ({"contact.law": "hertz"}, lambda x: {"striker.speed": 1.77 * x}),
    "flores": (
        {"contact.law": "flores", "contact.restitution": 0.7},
        lambda x: {"contact.restitution": 0.7 * x},
    ),
    "tsuji": (
        {"contact.law": "tsuji", "contact.restitution": 0.7},
        lambda x: {"contact.restitution": 0.7 * x},
    ),
    "kogut-etsion": ({"contact.law": "kogut-etsion"}, lambda x: {"striker.speed": 1.77 * x}),
    "flores, e of ma-liu": (
        {
            "contact.law": "flores",
            "contact.restitution": {"law": "ma-liu", "psi": 2.84, "xi": 13.0},
        },
        lambda x: {"contact.restitution": {"law": "ma-liu", "psi": 2.84 * x, "xi": 13.0}},
    ),
}
SMALL_LAWS = ("ma-liu", "hertz")


def case_of(law: str, recorded: str) -> granchain.Case:
    """Return the steel chain with a law, for the given number of fast steps."""
    case = granchain.load_case("steel-chain").replace(
        **{"time.step": "fast", **RECORDED[recorded], **LAWS[law][0]}
    )
    _, _, step = prepare(case)
    return case.replace(**{"time.end": STEPS * step.value})


def timed(total: list[float], what: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that adds its processor time in this thread to a total."""

    def call(*given: Any) -> Any:
        begin = time.thread_time()
        try:
            return what(*given)
        finally:
            total[0] += time.thread_time() - begin

    return call


def members(law: str, recorded: str, count: int, rounds: int) -> dict[str, dict[str, float]]:
    """Return milliseconds per member for set-up, collection, and compiled time loops."""
    base, varied = case_of(law, recorded), LAWS[law][1]
    times: dict[str, list[float]] = {"set-up": [], "collection": [], "march": []}
    # The first turn is not counted, because it loads the loops and scans.
    for turn in range(-1, rounds):
        numbers = np.random.default_rng(turn + 1).uniform(0.98, 1.02, count)
        cases = [base.replace(**varied(float(x))) for x in numbers]
        march, before = [0.0], [0.0]
        with (
            mock.patch.object(Stack, "advance", timed(march, Stack.advance)),
            mock.patch.object(set_up_together, "set_up", timed(before, set_up_together.set_up)),
            mock.patch.object(
                set_up_together, "batches_of", timed(before, set_up_together.batches_of)
            ),
        ):
            begin = time.process_time()
            ensemble = granchain.run_many(cases, threads=1)
            total = time.process_time() - begin
        assert all(not status.failed for status in ensemble.status), ensemble
        if turn >= 0:
            for name, value in (
                ("set-up", before[0]),
                ("collection", total - before[0] - march[0]),
                ("march", march[0]),
            ):
                times[name].append(1e3 * value / count)
    return {name: spread(values) for name, values in times.items()}


def runs(law: str, recorded: str, count: int) -> dict[str, float]:
    """Return the milliseconds of a warm run that repeats the same case."""
    case = case_of(law, recorded)
    times = []
    # After inspecting a few thousand contacts, a process compiles the inspection: a hundred runs.
    for turn in range(-100 if count > SMALL_RUNS else -1, count):
        begin = time.perf_counter()
        granchain.run(case)
        if turn >= 0:
            times.append(1e3 * (time.perf_counter() - begin))
    return spread(times)


def report(result: dict[str, Any]) -> None:
    """Print the table."""
    print(
        f"milliseconds: of each of {result['members']} members beside its loop, median of "
        f"{result['rounds']} [quartiles]; of a run again"
    )
    for law, found in result["laws"].items():
        for recorded, parts in found.items():
            shown = ", ".join(
                f"{name} {part['median']:.3f} [{part['low']:.3f} {part['high']:.3f}]"
                for name, part in parts.items()
            )
            print(f"{law}, {recorded}: {shown}")
    print(f"\n{taken_on(result['machine'])}")


def measure(rounds: int) -> dict[str, Any]:
    """Measure the set-up of runs and of members, with and without recording."""
    count, repeated = (SMALL_MEMBERS, SMALL_RUNS) if small() else (MEMBERS, RUNS)
    return {
        "members": count,
        "runs": repeated,
        "steps": STEPS,
        "laws": {
            law: {
                recorded: {
                    **members(law, recorded, count, rounds),
                    "run": runs(law, recorded, repeated),
                }
                for recorded in RECORDED
            }
            for law in (SMALL_LAWS if small() else LAWS)
        },
    }


if __name__ == "__main__":
    command("setup", __doc__, measure, report, (ROUNDS, SMALL_ROUNDS))
