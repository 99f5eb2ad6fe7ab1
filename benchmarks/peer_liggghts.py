"""The chain in LIGGGHTS, run as a separate program.

The input is JSON on standard input, and the output is JSON on standard output. Bodies are elastic
spheres in three dimensions with the requested pair style. Everything that a chain does not need is
off: neighbours are listed once, nothing is printed, and bodies do not rotate (fix nve), but forces
and torques are still computed for bodies that can. The time is what LIGGGHTS prints for its loop.
It is elapsed time, not processor time, so it is too long on a busy machine.
"""

import itertools
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# Any value works, because the modulus is computed from the stiffness with the same value.
POISSON = 0.3


def script(asked, sensor, runs):
    """Return the input script of LIGGGHTS."""
    n, radius = asked["n_bodies"], asked["radius"]
    width, density = 4.0 * radius, asked["mass"] / (4.0 / 3.0 * math.pi * radius**3)
    # K = (4/3) E* sqrt(R/2), E* = E/(2 (1 - nu^2)) for two equal spheres
    young = 0.75 * asked["stiffness"] / math.sqrt(radius / 2.0) * 2.0 * (1.0 - POISSON**2)
    head = f"""
        atom_style granular
        atom_modify map array
        hard_particles yes
        boundary f f f
        newton off
        communicate single vel yes
        units si
        region box block {-width} {2.0 * radius * n + width} {-width} {width} {-width} {width} &
    units box
        create_box 1 box
        neighbor {0.5 * radius} nsq
        neigh_modify delay 1000000000 every 1000000000 check no
        pair_style gran model hertz {asked["style"]}
        pair_coeff * *
        timestep {asked["time_step"]!r}
        fix modulus all property/global youngsModulus peratomtype {young!r}
        fix poisson all property/global poissonsRatio peratomtype {POISSON}
        fix restitution all property/global coefficientRestitution peratomtypepair 1 1.0
        fix friction all property/global coefficientFriction peratomtypepair 1 0.0
        """
    beads = "\n".join(f"create_atoms 1 single {2.0 * radius * i!r} 0 0 units box" for i in range(n))
    tail = f"""
        set group all diameter {2.0 * radius!r}
        set group all density {density!r}
        set atom 1 vx {asked["speed"]!r}
        fix move all nve
        thermo 1000000000
        """
    if sensor is not None:
        tail += f"""
        group near id {sensor} {sensor + 1} {sensor + 2}
        dump near near custom 1 near.txt id x vx
        dump_modify near format "%d %.17g %.17g" sort id
        """
    # The second run, of no steps, writes the final state.
    end = f"""
        run {asked["n_steps"]}
        dump end all custom 1 end.txt id x vx
        dump_modify end format "%d %.17g %.17g" sort id
        run 0
        """
    return "\nclear\n".join(head + beads + tail + end for _ in range(runs))


def frames(path):
    """Return positions and velocities of each frame of a dump, in the order of the beads."""
    for frame in path.read_text().split("ITEM: ATOMS")[1:]:
        rows = [line.split() for line in frame.splitlines()[1:] if line[:1].isdigit()]
        yield [
            (int(number), float(x), float(v))
            for number, x, v in (row for row in rows if len(row) == 3)
        ]


def bead_force(frame, asked):
    """Return the mean of the two contact forces of the middle one of three beads [N]."""
    gaps = (after[1] - before[1] for before, after in itertools.pairwise(frame))
    return sum(
        0.5 * asked["stiffness"] * max(2.0 * asked["radius"] - gap, 0.0) ** 1.5 for gap in gaps
    )


def ran(asked, sensor, runs, folder):
    """Return the output of LIGGGHTS."""
    done = subprocess.run(
        ["liggghts", "-log", "none"],
        input=script(asked, sensor, runs),
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
    )
    if done.returncode != 0 or "ERROR" in done.stdout:
        raise SystemExit(f"liggghts: {done.stdout[-600:]}{done.stderr[-600:]}")
    return done.stdout


def answer(asked):
    """Return the final state and the seconds of each run.

    If requested, also return the force at a bead at each step, from the overlaps.
    """
    radius, sensor = asked["radius"], asked["sensor"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = ran(asked, None, asked["repeats"], folder)
        found = {
            "version": re.search(r"LIGGGHTS-PUBLIC ([\d.]+)", text).group(1),
            "seconds": [
                float(s)
                for s in re.findall(
                    rf"Loop time of (\S+) on 1 procs for {asked['n_steps']} steps", text
                )
            ],
        }
        (*_, end) = frames(folder / "end.txt")
        found |= {
            "u": [x - 2.0 * radius * (number - 1) for number, x, _ in end],
            "v": [v for *_, v in end],
        }
        if sensor is not None:
            ran(asked, sensor, 1, folder)
            found["force"] = [bead_force(frame, asked) for frame in frames(folder / "near.txt")]
    return found


if __name__ == "__main__":
    if shutil.which("liggghts") is None:
        raise SystemExit("liggghts: no such program here")
    print(json.dumps(answer(json.load(sys.stdin))))
