"""Hashes of all that a short run computes, one law at a time; as a script, it answers each line
with a law's name by a line of JSON.

Run in two processes, with and without Numba's compiler, it says whether the compiled loop and the
same Python agree in every bit.
"""

import hashlib
import json
import sys

import numpy as np

from granchain.certificates import example_inputs
from granchain.chain import WALL, End
from granchain.contact import laws
from granchain.engine.recording import Recording
from granchain.engine.setup import PLAIN_KINDS
from granchain.engine.state import State
from granchain.engine.timestep import time_step_of
from support.pinned_states import contents, run
from support.rows import contacts_of, example_chain

FEW = ("touching", "gaps")


def of_arrays(arrays, place=""):
    """SHA-256 of each array; places for jumps that did not come hold no number."""
    numbers = [array for name, array in arrays.items() if not name.startswith("jump_")]
    assert not any(np.isnan(array).any() for array in numbers)
    return {
        f"{place}{name}": hashlib.sha256(array.tobytes()).hexdigest()
        for name, array in arrays.items()
    }


def few(law_name):
    """Of the runs that each law needs: the example's inputs, free rows, with the ledger."""
    found = {}
    for name in FEW:
        found |= of_arrays(contents(run(law_name, name, recorded=True)), f"{name}: ")
    return found


def scans(law_name):
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
    found = {"coefficients": contacts.c, "overlaps": contacts.overlaps, "history": state.h}
    return of_arrays(found | {"step": np.array([step.value, step.limit])})


QUESTIONS = {"few": few, "scans": scans}

if __name__ == "__main__":
    for line in sys.stdin:
        question, law_name = line.split()
        print(json.dumps(QUESTIONS[question](law_name)), flush=True)
