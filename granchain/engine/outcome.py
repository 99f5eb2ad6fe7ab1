"""State of the contacts at the end of a run: dissipated energy, largest contact radius, and contact
state.

The functions take one contact each. They are compiled for a long chain or for many runs at once,
with bit-identical results.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from granchain.chain import Chain
from granchain.contact.law import OPEN, PHASES
from granchain.contact.model import Model
from granchain.engine.contact_step import overlap_of
from granchain.engine.setup import alike, compiled_scan, kinds_of_columns, start_histories
from granchain.engine.state import State
from granchain.errors import LawError
from granchain.jit.accessors import gatherer
from granchain.jit.options import frozen

# Minimum number of contacts per call above which the function is compiled: at 2 us per contact,
# plain Python then takes as long as loading the compiled function. Without compilation, 128 chains
# of 70 beads together took 1.48 times as long.
PLAIN_CONTACTS = 5000


def outcomes_of(chains: Sequence[Chain], states: Sequence[State]) -> list[dict[str, np.ndarray]]:
    """Return the final state of each contact of runs that have not failed, by name."""
    found: list[dict[str, np.ndarray]] = [{} for _ in states]
    for places in alike([id(state.model) for state in states]):
        of = [states[place] for place in places]
        columns = {"phase": final_phases(of)}
        if of[0].model.law.has_contact_radius():
            own = [chains[place] for place in places]
            radii = [chain.effective_radii()[chain.contacts] for chain in own]
            columns["contact_radius"] = contact_radii(of, radii)
        for name, rows in columns.items():
            for place, row in zip(places, rows, strict=True):
                found[place][name] = row
        kept = [place for place in places if states[place].recording.ledger]
        lost = losses_for_good([states[place] for place in kept]) if kept else []
        for place, plastic in zip(kept, lost, strict=True):
            # distribution of the energy losses along the chain, over the run [J]
            contacts, present = states[place].contacts, states[place].chain.contacts
            found[place] |= {
                "contact_plastic": plastic,
                "contact_viscous": contacts.viscous_total[present]
                + contacts.viscous_rest[present]
                + contacts.viscous_work[present],
                "contact_clamp": contacts.clamp_total[present]
                + contacts.clamp_rest[present]
                + contacts.clamp_work[present],
            }
    return found


def losses_for_good(states: Sequence[State]) -> list[np.ndarray]:
    """Return the (n_contacts,) permanent losses of each contact over the run [J].

    The runs use one model.
    """
    model = states[0].model
    lost = [state.contacts.lost[state.chain.contacts] + 0.0 for state in states]
    if not model.loses:
        return lost
    c, h = _tables(states)
    dents = of_each(states, over_contacts(model.functions.plastic, model, (), c, h))
    for place, (state, dented) in enumerate(zip(states, dents, strict=True)):
        lost[place] = dented + lost[place]
        if (
            state.contacts.start[state.chain.contacts].max() > 0.0
            or state.chain.is_displaced
            or state.chain.start is not None
        ):
            # Yielding before the start is not a loss of the run.
            c, h = (table[:, state.chain.contacts] for table in (state.c, state.first_history))
            lost[place] -= over_contacts(model.functions.plastic, model, (), c, h)
    return lost


def contact_radii(states: Sequence[State], radii: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the (n_contacts,) largest contact radius of each contact [m].

    The radius is 0 if the two bodies never touched. The runs use one model.

    Parameters
    ----------
    states : sequence of State
    radii : sequence of (n_contacts,) array
        Effective radius of each contact [m].
    """
    model = states[0].model
    reach = np.concatenate([state.contacts.reach[state.chain.contacts] for state in states])
    deepest, (c, h) = np.maximum(reach, 0.0), _tables(states)
    # history after one approach to this overlap, if the law forgets its residual indentation
    h = start_histories(model, c, deepest, deepest) if model.forgets else h
    found = np.zeros(deepest.size)
    met = np.flatnonzero(deepest > OPEN)
    sizes = deepest[met], np.concatenate(radii)[met]
    found[met] = over_contacts(model.law.contact_radius, model, sizes, c[:, met], h[:, met])
    return of_each(states, found)


def final_phases(states: Sequence[State]) -> list[np.ndarray]:
    """Return the (n_contacts,) final contact state of each contact; see `phases`.

    The runs use one model.
    """
    places = [state.chain.contacts for state in states]
    motions = [
        (
            overlap_of(u[:-1], u[1:], state.contacts.start[: u.size - 1])[place],
            (v[:-1] - v[1:])[place],
        )
        for state, place in zip(states, places, strict=True)
        for u, v in [(row[: state.chain.n_bodies + 2] for row in state.bodies[:2])]
    ]
    overlap, rate = (np.concatenate(parts) for parts in zip(*motions, strict=True))
    return of_each(states, phases(states[0].model, *_tables(states), overlap, rate))


def phases(
    model: Model, c: np.ndarray, h: np.ndarray, overlap: np.ndarray, rate: np.ndarray
) -> np.ndarray:
    """Return the (..., n_contacts) contact states, as indices in `PHASES`.

    A contact with residual indentation is on the loading curve while its overlap is the largest so
    far. At smaller overlaps it unloads or reloads, and it is open below its residual overlap.

    Parameters
    ----------
    model : Model
    c : (n_coefficients, n_contacts) array
    h : (..., n_history, n_contacts) array
        Histories as used for the force at these overlaps.
    overlap, rate : (..., n_contacts) array
        Overlap [m] and overlap rate [m/s].
    """
    limit, residual = (model.remembered(name) for name in ("elastic_limit", "residual_overlap"))
    is_open, elastic, elastoplastic, plastic, unloading, reloading = range(len(PHASES))
    dent = h[..., residual, :] if residual >= 0 else 0.0
    found = np.where(overlap - dent > OPEN, elastic, is_open)
    if min(limit, residual) < 0:
        return found
    first, which = kinds_of_columns((c,))
    kinds = [tuple(column) for column in c[:, first].T.tolist()]
    fresh = np.array([model.functions.history_of(kind)[limit] for kind in kinds])[which]
    full = np.array([model.law.plastic_overlap(kind) for kind in kinds])[which]
    deepest = np.maximum(h[..., limit, :], overlap)
    loading = np.where(deepest >= full, plastic, elastoplastic)
    back = np.where(rate > 0.0, reloading, unloading)
    dented = np.where(overlap >= deepest, loading, back)
    return np.where((found != is_open) & (deepest > fresh), dented, found)


def _tables(states: Sequence[State]) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients and histories of all existing contacts."""
    return (
        np.hstack([state.c[:, state.chain.contacts] for state in states]),
        np.hstack([state.h[:, state.chain.contacts] for state in states]),
    )


def of_each(states: Sequence[State], values: np.ndarray) -> list[np.ndarray]:
    """Split the values of all contacts into one array per run."""
    return np.split(values, np.cumsum([state.chain.contact_exists.sum() for state in states])[:-1])


def over_contacts(
    function: Callable, model: Model, numbers: Sequence[np.ndarray], c: np.ndarray, h: np.ndarray
) -> np.ndarray:
    """Return the (n_contacts,) values of a function (*numbers, c, h) of each contact."""
    n = c.shape[1]
    # Functions that no loop calls may contain more than Numba can compile.
    with contextlib.suppress(LawError):
        if n > PLAIN_CONTACTS:
            out = np.zeros((1, n))
            scan = _scan(
                *frozen(function), len(numbers), len(model.coefficients), len(model.history)
            )
            tables = np.array(numbers).reshape(-1, n), c, h
            compiled_scan(*frozen(scan))(*map(np.ascontiguousarray, tables), out)
            return out[0]
    columns = (map(tuple, table.T.tolist()) for table in (c, h))
    return np.array(
        [
            function(*each)
            for each in zip(*(row.tolist() for row in numbers), *columns, strict=True)
        ],
        dtype=float,
    )


@cache
def _scan(function: Callable, n_numbers: int, n_coefficients: int, n_history: int) -> Callable:
    coefficients_at, history_at = gatherer(n_coefficients), gatherer(n_history)
    numbers_at = gatherer(n_numbers)

    def scan(numbers, c, h, out):
        for k in range(c.shape[1]):
            out[0, k] = function(*numbers_at(numbers, k), coefficients_at(c, k), history_at(h, k))

    return scan
