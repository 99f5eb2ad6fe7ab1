"""Hashes of the results of short runs, for each law and set-up.

A change of the structure of the engine must not change `pinned_states.json`. `python
tests/support/pinned_states.py NAME` writes the hashes of one law that is new or whose numbers
change. List a change of numbers in the changelog under Results changed. Without NAME, it writes the
hashes of all laws."""

import hashlib
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

if __name__ == "__main__":
    # Plain Python gives bit-identical results, and needs no loop for each law.
    os.environ.setdefault("NUMBA_DISABLE_JIT", "1")
    sys.path[:0] = [str(folder) for folder in Path(__file__).parents[1:3]]

import numpy as np

from granchain.certificates import example_inputs
from granchain.chain import WALL, End
from granchain.contact import laws
from granchain.engine import fields
from granchain.engine.recording import Energies, Recording
from granchain.engine.state import State
from granchain.engine.timestep import time_step_of
from support.kinds import alternatives
from support.rows import contacts_of, example_chain

FILE = Path(__file__).with_suffix(".json")
# At about 700 m/s through five times 4.76 mm and back, in 400 steps of about 0.2 us.
N_BODIES, N_STEPS = 6, 400
# Gaps that close within a step or two at 1.77 m/s, and within ten steps.
GAPS = np.resize([0.0, 5e-7, 0.0, 4e-6], N_BODIES - 1)
# A displacement to 2 um within 20 us and back within the same time, and a force of up to 50 N.
MOMENTS = np.array([0.0, 2e-5, 4e-5])

CHAINS = {
    "touching": example_chain(N_BODIES),
    "gaps": example_chain(N_BODIES, gap=GAPS, mass=0.45e-3 * np.resize([1.0, 0.5, 2.0], N_BODIES)),
    "loaded": example_chain(N_BODIES, precompression=60.0, gravity=9.81, right=End(WALL)),
    "between walls": example_chain(N_BODIES, left=End(WALL), right=End(WALL), has_striker=False),
    "driven": example_chain(
        N_BODIES, has_striker=False,
        left=End("displacement", None, MOMENTS, np.array([0.0, 2e-6, 0.0])),
        right=End("force", None, MOMENTS, np.array([0.0, 50.0, 0.0])), velocity=np.zeros(N_BODIES)),
}  # fmt: skip

# Rows of bodies and contacts, scalars, and records that contain physics. Working memory is left
# out, and so is the allowed step, which depends on the ends of blocks.
BODIES = ("u", "v", "a", "loads")
CONTACTS = (
    "start", "force", "peak", "reach", "lost", "elastic", "clamp", "viscous_work", "clamp_work",
    "viscous_total", "viscous_rest", "clamp_total", "clamp_rest",
)  # fmt: skip
# Names that changed after the states were pinned; the hashes contain the earlier names.
RENAMED = {"reach": "largest_overlap"}
# Rows of contacts that depend on the set-up only, or that a step uses once. Others are hashed.
WORKING = ("limit", "kicked", "recorded", "endwise")
CONTACTS += tuple(
    field.name
    for field in fields.CONTACT
    if field.name not in (*CONTACTS, *RENAMED.values(), *WORKING)
)
SIDES = (f"{side}_{name}" for name in ("last", "speed", "force") for side in ("left", "right"))
NUMBERS = ("dt", "drive_work", *SIDES, "pending", "drive_rest")
COUNTS = ("step", "front", "sample", "snapshot", "entry", "clamped", "n_jumps", "echoes")
RECORDS = ("sensor_force", "contact_force", "contact_overlap", "displacement", "velocity")
RECORDS += ("energies", "jump_force", "jump_time")
ELEMENTS = [Energies._fields.index(name) for name in ("elements", "elements_viscous", "radiated")]


def contents(state):
    """Return everything that a run has computed, by name."""
    n = state.chain.n_bodies
    return {
        "c": state.c[:, : n + 1],
        "h": state.h[:, : n + 1],
        **{name: getattr(state.bodies, name)[: n + 2] for name in BODIES},
        **{name: getattr(state.contacts, RENAMED.get(name, name))[: n + 1] for name in CONTACTS},
        "counts": np.array([state.clock[name] for name in COUNTS], dtype=np.int64),
        "numbers": np.array([number_of(state, name) for name in NUMBERS]),
        **{name: getattr(state.records, name) for name in RECORDS},
        # without the energies of elements
        "energies": np.delete(state.records.energies, ELEMENTS, axis=1),
    }


def number_of(state, name):
    """Return a number of the run; for drives of the ends, with the force into the chain
    positive."""
    side, _, quantity = name.partition("_")
    if side not in ("left", "right"):
        return float(state.clock[name])
    ends = [end for _, _, end in state.chain.drives]
    end = getattr(state.chain, side)
    if not any(one is end for one in ends):
        return 0.0
    place = [one is end for one in ends].index(True)
    value = float(getattr(fields.DrivenRows(*state.tables.driven), quantity)[place])
    return -value if (side, quantity) == ("right", "force") and end.kind == "force" else value


def hash_of(state):
    """Return the SHA-256 hash of the contents."""
    digest = hashlib.sha256()
    for name, array in contents(state).items():
        digest.update(f"{name} {array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def set_ups(law_name):
    """Return the chain, whether everything is recorded, and changes of the inputs."""
    found = {name: (chain, name != "touching", {}) for name, chain in CHAINS.items()}
    for changes in alternatives(laws()[law_name])[1:]:
        found[f"gaps {changes}"] = (CHAINS["gaps"], True, changes)
    return found


def run(law_name, set_up, broken_at=None, recorded=False):
    """Return one run in two blocks, or continued from a step on in a separate state.

    Everything is recorded if the set-up does so or if this is requested.
    """
    chain, of_set_up, changes = set_ups(law_name)[set_up]
    law = laws()[law_name]
    contacts = contacts_of(law, chain, example_inputs(law, **changes))
    step = replace(time_step_of(contacts, chain, "fast", 1e-3), n_steps=N_STEPS)
    dt = step.value
    recording = Recording(ledger=False)
    if recorded or of_set_up:
        beads, ledger = tuple(chain.body_labels.tolist()), {"energy_interval": 7 * dt}
        recording = Recording(beads, (1, 2, 3), 3 * dt, 5 * dt, ledger=True, **ledger)
    state = State(contacts, chain, step, recording)
    state.advance(N_STEPS // 2 if broken_at is None else broken_at)
    if broken_at is not None:
        saved = {name: array.copy() for name, array in state.arrays().items()}
        state = State(contacts, chain, step, recording)
        state.restore(saved)
    state.advance(N_STEPS)
    assert state.step == N_STEPS + 1
    return state


def pins(names):
    """Return the hashes of these laws, or of all laws; the others are unchanged from the file."""
    pinned = json.loads(FILE.read_text())["laws"] if names else {}
    pinned |= {law: {name: hash_of(run(law, name)) for name in set_ups(law)}
               for law in names or laws()}  # fmt: skip
    return {law: pinned[law] for law in laws() if law in pinned}


if __name__ == "__main__":
    FILE.write_text(json.dumps({"laws": pins(sys.argv[1:])}, indent=1) + "\n")
