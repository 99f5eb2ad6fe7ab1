"""The engine compared with hand-written C and with the time of the square roots alone.

All times are per bead and step, in one process, measured in turn. Every form in kernels.c is
measured, and the fastest counts: "bare" stores only displacements and velocities, and "keep" also
stores what the engine stores for every contact, the force of each step, the largest force, and the
largest overlap. All forms must give results bit-identical to the engine's, which is asserted first.
Without a compiler, nothing is measured, and a message reports it.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import tempfile
from pathlib import Path
from typing import Any

from kernels import LAWS, WIDTHS, compiled, compiler, floors, forms, version
from racing import ROUNDS, SMALL_ROUNDS, assert_same, machine, measured, race, save, small, taken_on
from steel_chain import N_BODIES, SENSORS, granchain, racing_run

KINDS = {"bare": False, "keep": True}


def race_of_law(
    libraries: dict[int, ctypes.CDLL], law: str, all_beads: bool, rounds: int
) -> dict[str, Any]:
    """Compare one law, for active beads only or for all beads."""
    run = racing_run(law)
    same = {"granchain": granchain(run, all_beads=all_beads)}
    for kind, keep in KINDS.items():
        same |= {
            f"{form}, {kind}": contender
            for form, contender in forms(libraries, run, keep, all_beads).items()
        }
    assert_same(same)
    racing = same | floors(libraries, run)
    times = race(racing, rounds)
    best = {
        kind: min(
            (name for name in times if name.endswith(kind)),
            key=lambda name: statistics.median(times[name]),
        )
        for kind in KINDS
    }
    found = measured(times, ("granchain",), run.bead_steps)
    ratio = measured(
        {"granchain": times["granchain"], **{kind: times[name] for kind, name in best.items()}},
        tuple(KINDS),
    )["ratios"]
    return {
        "steps": run.step.n_steps,
        "times": found["times"],
        "best": best,
        "ratios": {kind: ratio[kind]["granchain"] for kind in KINDS},
    }


def report(result: dict[str, Any]) -> None:
    """Print the table."""
    print(
        f"{N_BODIES} bodies, up to the peak at bead {SENSORS[-1]}; ns per bead and step; same "
        "bits in all"
    )
    for name, found in result["cases"].items():
        print(f"\n{name}: {found['steps']} steps")
        for contender, ns in found["times"].items():
            print(f"  {contender:30s} {ns['median']:8.3f} ns   best {ns['best']:8.3f}")
        for kind, ratio in found["ratios"].items():
            low, high = ratio["low"], ratio["high"]
            print(
                f"  granchain {ratio['median']:.3f} [{low:.3f} {high:.3f}] x the best C, {kind} "
                f"({found['best'][kind]})"
            )
    print(f"\n{taken_on(result['machine'])}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument(
        "--rounds",
        type=int,
        default=SMALL_ROUNDS if small() else ROUNDS,
        help="rounds of each race, two or more",
    )
    parser.add_argument("--save", action="store_true", help="write results/against_c.json")
    options = parser.parse_args()
    if compiler() is None:
        print("no C compiler here (gcc, or what $CC names): nothing is compared with C")
    else:
        with tempfile.TemporaryDirectory() as folder:
            libraries = compiled(Path(folder), WIDTHS[-1:] if small() else WIDTHS)
        result = {
            "machine": machine(gcc=version()),
            "bodies": N_BODIES,
            "rounds": options.rounds,
            "cases": {
                f"{law}, {'all beads' if all_beads else 'behind the front'}": race_of_law(
                    libraries, law, all_beads, options.rounds
                )
                for law in LAWS
                for all_beads in (True, False)
            },
        }
        report(result)
        if options.save:
            save("against_c", result)
