"""What the contacts of a run have come to: energy lost for good, and the largest circle of contact.

Plain functions of one contact each; compiled for a long row, or many runs at once, to the same
bits.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from granchain.contact.law import OPEN
from granchain.contact.model import Model
from granchain.engine.scans import compiled_scan, in_parts
from granchain.engine.setup import start_histories
from granchain.engine.state import State
from granchain.errors import LawError
from granchain.jit.accessors import gatherer
from granchain.jit.options import frozen

# Contacts of one call from which it is compiled: at 2 us each they take what loading the compiled
# one takes.
PLAIN_CONTACTS = 5000


def losses_for_good(states: Sequence[State]) -> list[np.ndarray]:
    """(n_contacts,) What each contact's history has lost for good, over the run [J], of some
    runs of one model."""
    model = states[0].model
    if not model.loses:
        return [state.contacts.lost[state.chain.contacts] + 0.0 for state in states]
    c = [state.c[:, state.chain.contacts] for state in states]
    h = [state.h[:, state.chain.contacts] for state in states]
    start = [state.contacts.start[state.chain.contacts] for state in states]
    found = in_parts(_dented(model, np.hstack(c), np.hstack(h)), start)
    for place, state in enumerate(states):
        found[place] = found[place] + state.contacts.lost[state.chain.contacts]
        if start[place].max() > 0.0 or state.chain.displacement is not None:
            # what the start had already lost to yield is no loss of the run
            found[place] -= _dented(model, c[place], state.first_history[:, state.chain.contacts])
    return found


def contact_radii(states: Sequence[State], radii: Sequence[np.ndarray]) -> list[np.ndarray]:
    """(n_contacts,) Largest radius of each contact's circle of contact [m], of some runs of one
    model; 0 where the two never met.

    Parameters
    ----------
    states : sequence of State
    radii : sequence of (n_contacts,) array
        Effective radius of each contact [m].
    """
    model = states[0].model
    reach = [np.maximum(state.contacts.reach[state.chain.contacts], 0.0) for state in states]
    c, deepest = (
        np.hstack([state.c[:, state.chain.contacts] for state in states]),
        np.concatenate(reach),
    )
    # one that forgets its dent: as after one approach to there
    h = (
        start_histories(model, c, deepest)
        if model.forgets
        else np.hstack([state.h[:, state.chain.contacts] for state in states])
    )
    found = np.zeros(deepest.size)
    met = np.flatnonzero(deepest > OPEN)
    sizes = np.vstack([deepest, np.concatenate(radii)])[:, met]
    found[met] = _over_contacts(
        model.law.contact_radius, _radius_scan, model, (sizes, c[:, met], h[:, met])
    )
    return in_parts(found, reach)


def _dented(model: Model, c: np.ndarray, h: np.ndarray) -> np.ndarray:
    """(n_contacts,) What each history has lost for good [J]."""
    return _over_contacts(
        model.functions.plastic, _plastic_scan, model, (np.zeros((0, c.shape[1])), c, h)
    )


def _over_contacts(
    function: Callable,
    make: Callable,
    model: Model,
    tables: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> np.ndarray:
    """(n_contacts,) A function (*numbers, c, h) of each contact: numbers, coefficients and
    history are the tables' columns."""
    n = tables[0].shape[1]
    # what no loop calls may be more than Numba compiles
    with contextlib.suppress(LawError):
        if n > PLAIN_CONTACTS:
            out = np.zeros((1, n))
            scan = make(*frozen(function), len(model.coefficients), len(model.history))
            compiled_scan(*frozen(scan))(*map(np.ascontiguousarray, tables), out)
            return out[0]
    numbers, c, h = ([tuple(column) for column in table.T.tolist()] for table in tables)
    return np.array(
        [function(*few, ck, hk) for few, ck, hk in zip(numbers, c, h, strict=True)], dtype=float
    )


@cache
def _plastic_scan(plastic: Callable, n_coefficients: int, n_history: int) -> Callable:
    coefficients_at, history_at = gatherer(n_coefficients), gatherer(n_history)

    def scan(sizes, c, h, out):
        for k in range(c.shape[1]):
            out[0, k] = plastic(coefficients_at(c, k), history_at(h, k))

    return scan


@cache
def _radius_scan(contact_radius: Callable, n_coefficients: int, n_history: int) -> Callable:
    coefficients_at, history_at = gatherer(n_coefficients), gatherer(n_history)

    def scan(sizes, c, h, out):
        for k in range(c.shape[1]):
            out[0, k] = contact_radius(
                sizes[0, k], sizes[1, k], coefficients_at(c, k), history_at(h, k)
            )

    return scan
