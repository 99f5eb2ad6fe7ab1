"""Hashes of all that a short run computes, one law at a time; as a script, it answers each line
with a law's name by a line of JSON.

Run in two processes, with and without Numba's compiler, it says whether the compiled loop and the
same Python agree in every bit.
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import replace

import numpy as np

from granchain.certificates import example_inputs
from granchain.chain import WALL, Chain, End
from granchain.contact import laws
from granchain.engine.scans import PLAIN_KINDS
from granchain.engine.setup import contacts_of
from granchain.engine.state import Recording, State
from granchain.engine.timestep import time_step_of
from support.kinds import alternatives
from support.rows import example_chain

# The pulse of 734 m/s runs through six diameters of 4.76 mm in 39 us, 200 steps of some .2 us, and
# comes back in as many.
N_BODIES, N_STEPS = 6, 400
# Gaps that close within a step or two at 1.77 m/s, and within ten.
GAPS = np.resize([0.0, 5e-7, 0.0, 4e-6], N_BODIES - 1)

CHAINS: dict[str, Chain] = {
    "touching": example_chain(N_BODIES),
    "gaps": example_chain(N_BODIES, gap=GAPS, mass=0.45e-3 * np.resize([1.0, 0.5, 2.0], N_BODIES)),
    "loaded": example_chain(N_BODIES, precompression=60.0, gravity=9.81, right=End(WALL)),
}

FEW = ("touching", "gaps")


def hashes(law_name: str) -> dict[str, str]:
    """Of every array of a law's runs: each chain, one with nothing recorded, and each
    alternative of the inputs on the one with gaps."""
    found = {}
    for changes in alternatives(laws()[law_name]):
        for chain_name in CHAINS if not changes else ["gaps"]:
            for name, array in arrays(
                law_name, CHAINS[chain_name], chain_name != "touching", changes
            ).items():
                assert not np.isnan(array).any()
                found[f"{chain_name} {changes}: {name}"] = hashlib.sha256(
                    array.tobytes()
                ).hexdigest()
    return found


def few(law_name: str) -> dict[str, str]:
    """Of the runs that every law needs for itself: the example's inputs, free rows, with the
    ledger."""
    found = {}
    for chain_name in FEW:
        for name, array in arrays(law_name, CHAINS[chain_name], True, {}).items():
            assert not np.isnan(array).any()
            found[f"{chain_name} {{}}: {name}"] = hashlib.sha256(array.tobytes()).hexdigest()
    return found


def arrays(law_name: str, chain: Chain, recorded: bool, changes: dict) -> dict[str, np.ndarray]:
    """All that a run computes."""
    law = laws()[law_name]
    contacts = contacts_of(law, chain, example_inputs(law, **changes))
    step = replace(time_step_of(contacts, chain, "fast", 1e-3), n_steps=N_STEPS)
    dt = step.value
    recording = Recording(ledger=False)
    if recorded:
        recording = Recording(
            tuple(chain.body_labels.tolist()),
            (0, 1, 2),
            3 * dt,
            5 * dt,
            ledger=True,
            energy_interval=7 * dt,
        )
    state = State(contacts, chain, step, recording)
    state.advance(N_STEPS // 2)
    state.advance(N_STEPS)
    assert state.step == N_STEPS + 1
    records = state.records
    return {
        "coefficients": state.c,
        "step": np.array([dt, step.limit]),
        "bodies": state.tables.bodies,
        "contacts": state.tables.contacts,
        "history": state.h,
        "clock": state.arrays()["clock"],
        "sensors": records.sensor_force,
        "forces": records.contact_force,
        "overlaps": records.contact_overlap,
        "displacement": records.displacement,
        "velocity": records.velocity,
        "energies": records.energies,
    }


def scans(law_name: str) -> dict[str, str]:
    """Of coefficients, guard windows, static overlaps, histories and step of a taper under gravity:
    so many kinds of contact, each with a
    force of its own, that the scans are compiled where the compiler is on."""
    n = PLAIN_KINDS + 6
    law, radius = laws()[law_name], np.linspace(2e-3, 3e-3, n)
    mass = 7968.8 * 4.0 / 3.0 * np.pi * radius**3
    chain = example_chain(
        n, radius=radius, mass=mass, precompression=60.0, gravity=9.81, right=End(WALL)
    )
    contacts = contacts_of(law, chain, example_inputs(law))
    step = time_step_of(contacts, chain, "fast", 1e-3)
    state = State(contacts, chain, step, Recording(ledger=False))
    parts = {
        "coefficients": contacts.c,
        "overlaps": contacts.overlaps,
        "history": state.h,
        "step": np.array([step.value, step.limit]),
    }
    return {name: hashlib.sha256(part.tobytes()).hexdigest() for name, part in parts.items()}


QUESTIONS = {"hashes": hashes, "few": few, "scans": scans}

if __name__ == "__main__":
    for line in sys.stdin:
        question, law_name = line.split()
        print(json.dumps(QUESTIONS[question](law_name)), flush=True)
