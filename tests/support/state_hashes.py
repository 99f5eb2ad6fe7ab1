"""Hashes of everything that a short run computes, one law at a time.

As a script, it answers each line with the name of a law by a line of JSON. Run in two processes,
with and without Numba's compiler, it shows whether the compiled loop and the same code in Python
are bit-identical."""

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
    """Return the SHA-256 hash of each array; unused positions for jumps contain no number."""
    numbers = [array for name, array in arrays.items() if not name.startswith("jump_")]
    assert not any(np.isnan(array).any() for array in numbers)
    return {
        f"{place}{name}": hashlib.sha256(array.tobytes()).hexdigest()
        for name, array in arrays.items()
    }


def few(law_name):
    """Yield a few of the runs that each law needs: the example inputs, free chains, with the energy
    balance."""
    found = {}
    for name in FEW:
        found |= of_arrays(contents(run(law_name, name, recorded=True)), f"{name}: ")
    return found


def scans(law_name):
    """Yield the coefficients, windows, static overlaps, histories, and step of a taper under
    gravity.

    It has many kinds of contact with different forces, so that the scans are compiled if the
    compiler is on.
    """
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
