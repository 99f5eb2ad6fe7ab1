"""Milliseconds of a complete warm `granchain.run` of the steel chain, compared with its compiled
loop, and of the change of a case before it.

All run in one process, in turn, in rounds: the loop alone, a repeated run of the same case, and a
case made by `replace` with its run. Times are wall times.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from racing import (
    command,
    ratios,
    spread,
    taken_on,
)

import granchain
from granchain.engine.state import State
from granchain.simulation import prepare, recording_of

ROUNDS, SMALL_ROUNDS = 301, 11

# The fast step without the energy balance, as in a sweep.
STUDY = {"time.step": "fast", "energy.ledger": False}
LAWS: dict[str, dict[str, Any]] = {
    "hertz": {"contact.law": "hertz"},
    "ma-liu": {},
    "tsuji": {"contact.law": "tsuji", "contact.restitution": 0.9},
}


def timed(what: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds and the return value."""
    begin = time.perf_counter()
    found = what()
    return time.perf_counter() - begin, found


def measure(law: str, rounds: int) -> dict[str, Any]:
    """Return the times of each part, and the ratio of run and loop in the same round."""
    case = granchain.load_case("steel-chain").replace(**STUDY, **LAWS[law])
    speed = case.striker.speed
    chain, contacts, step = prepare(case)
    recording = recording_of(case)
    times: dict[str, list[float]] = {
        name: [] for name in ("loop alone", "run", "replace", "run of another case")
    }
    # The first two turns are not counted, because they load the loop and fill the caches.
    for turn in range(-2, rounds):
        state = State(contacts, chain, step, recording)
        loop, _ = timed(lambda state=state: state.advance(step.n_steps + 1))
        run, result = timed(lambda: granchain.run(case))
        assert (result.final_velocity == state.bodies.v[1 : chain.n_bodies + 1]).all()
        # A hundred different speeds within 0.1 %, so that each is a different impact.
        changed, other = timed(
            lambda turn=turn: case.replace(**{"striker.speed": speed * (1.0 + 1e-5 * (turn % 100))})
        )
        another, _ = timed(lambda other=other: granchain.run(other))
        if turn >= 0:
            for name, value in zip(times, (loop, run, changed, another), strict=True):
                times[name].append(value)
    return {
        "steps": step.n_steps,
        "milliseconds": {
            name: spread(1e3 * value for value in values) for name, values in times.items()
        },
        "run over loop": spread(ratios(times["run"], times["loop alone"])),
    }


def report(result: dict[str, Any]) -> None:
    """Print the table."""
    print(f"milliseconds, median of {result['rounds']} [quartiles]")
    for law, found in result["laws"].items():
        ratio = found["run over loop"]
        print(
            f"\n{law}: {found['steps']} steps; run over loop {ratio['median']:.2f} "
            f"[{ratio['low']:.2f} {ratio['high']:.2f}]"
        )
        for name, taken in found["milliseconds"].items():
            print(f"  {name:20s} {taken['median']:7.3f} [{taken['low']:.3f} {taken['high']:.3f}]")
    print(f"\n{taken_on(result['machine'])}")


def of_laws(rounds: int) -> dict[str, Any]:
    """Measure every law."""
    return {"laws": {law: measure(law, rounds) for law in LAWS}}


if __name__ == "__main__":
    command("whole_run", __doc__, of_laws, report, (ROUNDS, SMALL_ROUNDS))
