"""Quasi-static force and work of a fresh contact, and the initial overlaps and histories of the
contacts of a chain."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from granchain.chain import Masses
from granchain.contact.law import OPEN
from granchain.contact.model import Model
from granchain.engine.scans import over_kinds
from granchain.errors import CaseError
from granchain.jit.accessors import gatherer, store_rows


def settled(model: Model) -> Callable:
    """Return a plain function (overlap, c) -> history after slow loading.

    The contact is fresh before the loading.
    """
    history_of, _, needs_update, update, *_ = model.functions

    def settle(overlap, c):
        h = history_of(c)
        if overlap > OPEN and needs_update(overlap, 0.0, c, h):
            h = update((overlap, 0.0, 0.0, 1.0), c, h)
        return h

    return settle


def at_rest(model: Model) -> tuple[Callable, Callable]:
    """Return plain functions for the quasi-static force and the loading work.

    Their arguments are (overlap, c). The contact is fresh before the loading.
    """
    force, energy, plastic = model.functions.force, model.functions.energy, model.functions.plastic
    settle = settled(model)

    def force_at_rest(overlap, c):
        return force(overlap, 0.0, c, settle(overlap, c))

    def loading_work(overlap, c):
        h = settle(overlap, c)
        return energy(overlap, c, h) + plastic(c, h)

    return force_at_rest, loading_work


def halfway(low, high):
    """Return the midpoint of two overlaps.

    If they differ much, the result is their geometric mean.
    """
    return (
        0.5 * (low + high) if low > 0.0 and high < 4.0 * low else math.sqrt(max(low, 1e-30) * high)
    )


def static_overlaps(
    model: Model, c: np.ndarray, limits: np.ndarray, rows: Sequence[Masses]
) -> np.ndarray:
    """Return the overlaps [m] at which contacts at rest carry their static forces.

    The result covers each contact of the given rows, and one additional fresh contact after each
    row. `limits` are the maximum overlaps [m].

    Raises
    ------
    CaseError
        If the law has no such force within its range.
    """
    force = np.zeros(limits.size)
    if any(masses.precompression or masses.gravity for masses in rows):
        force = np.concatenate([np.append(masses.static_forces(), 0.0) for masses in rows])
    if not force.any():
        return force
    found = over_kinds(_static_scan, model, (c, force[None, :], limits[None, :]), 1)[0]
    if np.isnan(found).any():
        k = int(np.argmax(np.isnan(found)))
        largest = min(float(limits[k]), model.functions.overlap_limit(tuple(c[:, k])))
        labels = np.concatenate([np.append(masses.contact_labels, 0) for masses in rows])
        raise CaseError(
            f"chain.precompression: the static force of contact {int(labels[k])}, {force[k]:.6g} "
            f"N, is out of range. It must be at most the force of the law {model.name} at its "
            f"maximum overlap, {largest:.6g} m{largest_force(model, c[:, k], largest)}. Reduce the "
            "precompression or gravity, or choose another law."
        )
    return found


def _static_scan(model: Model) -> Callable:
    (force, _), overlap_limit = at_rest(model), model.functions.overlap_limit
    gather = gatherer(len(model.coefficients))

    def scan(c, forces, limits, out):
        for k in range(c.shape[1]):
            ck = gather(c, k)
            wanted = forces[0, k]
            low, high = 0.0, min(limits[0, k], overlap_limit(ck))
            if wanted <= 0.0:
                continue
            if not force(high, ck) >= wanted:
                out[0, k] = math.nan
                continue
            for _ in range(1100):
                middle = halfway(low, high)
                if middle <= low or middle >= high:
                    break
                if force(middle, ck) < wanted:
                    low = middle
                else:
                    high = middle
            # Choose the neighbour whose force is nearer. Neither is near if the force of the law
            # jumps past the required force.
            short, over = wanted - force(low, ck), force(high, ck) - wanted
            out[0, k] = high if over <= short else low
            if min(short, over) > 1e-9 * wanted:
                out[0, k] = math.nan

    return scan


def largest_force(model: Model, c: np.ndarray, limit: float) -> str:
    """Return the quasi-static force at the maximum overlap as text for a message.

    The text is empty if the force is not a finite number.
    """
    try:
        force = at_rest(model)[0](float(limit), tuple(c.tolist()))
    except (ArithmeticError, ValueError):
        force = math.nan
    return f", here {force:.6g} N" if math.isfinite(force) else ""


def start_histories(
    model: Model, c: np.ndarray, static: np.ndarray, begin: np.ndarray
) -> np.ndarray:
    """Return the (n_history, n_contacts) histories at the start.

    A contact is fresh, or loaded to its static overlap (where it may already have yielded), and
    then moved to its initial overlap [m].
    """
    if not model.history:
        return np.zeros((0, static.size))
    return over_kinds(_history_scan, model, (c, np.vstack([static, begin])), len(model.history))


def _history_scan(model: Model) -> Callable:
    settle, needs_update, update = (
        settled(model),
        model.functions.needs_update,
        model.functions.update,
    )
    gather, store = gatherer(len(model.coefficients)), store_rows

    def scan(c, overlaps, out):
        for k in range(c.shape[1]):
            ck, static, begin = gather(c, k), overlaps[0, k], overlaps[1, k]
            h = settle(static, ck)
            if (
                begin != static
                and (begin > OPEN or static > OPEN)
                and needs_update(begin, 0.0, ck, h)
            ):
                h = update((begin, 0.0, 0.0, 1.0), ck, h)
            store(out, k, h)

    return scan
