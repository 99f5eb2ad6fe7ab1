"""Scans: functions that are applied to each kind of contact of a chain, or of many chains, once.

Scans are plain functions of one column of coefficients. For the few kinds of contact of a usual
chain they run as they are; for many kinds (a taper, gravity) they are compiled. The bits are the
same.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache

import numpy as np

from granchain.contact.law import OPEN, ContactLaw
from granchain.contact.model import Functions, Guarded, Model
from granchain.errors import LawError
from granchain.jit.cache import compiled
from granchain.jit.options import frozen

# Above this many kinds of contact a scan is compiled: below it, compiling takes longer than the
# scan.
PLAIN_KINDS = 64
# Time that a scan may have taken as plain Python, in all, before it is compiled [s]: about what
# compiling takes.
PLAIN_SECONDS = 0.5
# What each has taken [s].
_seconds: dict[Callable, float] = {}

# Bytes of the answers of scans that a process remembers, with what was asked: a study of a thousand
# cases, or some chains of 10^5 kinds of contact. Above it, all are forgotten.
MOST_BYTES = 64 * 2**20
_answers: dict[tuple, np.ndarray] = {}
_answer_bytes = [0]


def over_kinds(
    make: Callable[[Model], Callable],
    model: Model,
    inputs: tuple[np.ndarray, ...],
    n_out: int,
    scratch: tuple[int, ...] = (),
) -> np.ndarray:
    """Apply a scan of one contact to each distinct column of its inputs, unless the process
    remembers what it gives.

    Parameters
    ----------
    make : callable
        Model -> plain function (table_1, ..., scratch_1, ..., out) that fills out[:, k] for every
        column k.
    inputs : tuple of (rows, n_contacts) array
        Tables whose columns together make the kind.
    n_out : int
        Rows of the result.
    scratch : tuple of int
        Lengths of the rows that the scan writes to on its way.

    Returns
    -------
    (n_out, n_contacts) array
    """
    first, which = kinds_of_columns(inputs)
    tables = tuple(np.ascontiguousarray(table[:, first]) for table in inputs)
    scan = scan_of(make, with_copies(model))
    # a scan is a copy that is never edited, and the only one for functions that do the same
    asked = (scan, n_out, *((table.shape, table.tobytes()) for table in tables))
    out = _answers.get(asked)
    if out is None:
        out = np.zeros((n_out, first.size))
        seconds = _seconds.get(scan, 0.0)
        plain = first.size <= PLAIN_KINDS and seconds <= PLAIN_SECONDS
        run, begun = scan if plain else compiled_scan(scan), time.perf_counter()
        with np.errstate(all="ignore"), finite_force(model.law):
            run(*tables, *map(np.zeros, scratch), out)
        if plain:
            _seconds[scan] = seconds + time.perf_counter() - begun
        remember(asked, out, out.nbytes + sum(table.nbytes for table in tables))
    return np.ascontiguousarray(out[:, which])


def remember(asked: tuple, out: np.ndarray, size: int) -> None:
    """Remember an answer of a scan; forget the others where there is no room for it."""
    if _answer_bytes[0] + size > MOST_BYTES:
        _answers.clear()
        _answer_bytes[0] = 0
    if size <= MOST_BYTES:
        _answers[asked] = out
        _answer_bytes[0] += size


def kinds_of_columns(tables: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The distinct columns of some tables that stand on each other: where each is met first, and
    the kind of each column.

    Neighbours are compared where they stand; what is left is looked through.
    """
    new = np.zeros(tables[0].shape[1], dtype=bool)
    new[:1] = True
    for table in tables:
        new[1:] |= (table[:, 1:] != table[:, :-1]).any(axis=0)
    runs = np.flatnonzero(new)
    first, which = kinds_of(np.ascontiguousarray(np.vstack([table[:, runs] for table in tables]).T))
    return runs[first], which[np.cumsum(new) - 1]


def kinds_of(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of a table.

    Parameters
    ----------
    rows : (n, quantities) array

    Returns
    -------
    first : (kinds,) array
        Where each kind is met first.
    which : (n,) array
        The kind of each row.
    """
    new = np.ones(len(rows), dtype=bool)
    np.any(rows[1:] != rows[:-1], axis=1, out=new[1:])
    runs = np.flatnonzero(new)
    if runs.size == 1:
        return runs, np.zeros(len(rows), dtype=np.intp)
    # bit by bit, but that -0.0 is 0.0
    text, width = (rows[runs] + 0.0).tobytes(), rows.itemsize * rows.shape[1]
    known: dict[bytes, int] = {}
    kinds = np.array(
        [known.setdefault(text[at : at + width], len(known)) for at in range(0, len(text), width)]
    )
    _, first = np.unique(kinds, return_index=True)
    return runs[first], kinds[np.cumsum(new) - 1]


def with_copies(model: Model) -> Model:
    """The same model of functions that are `frozen`: what is remembered of it holds for as long
    as the process runs."""
    guarded = model.guarded and Guarded(*frozen(*model.guarded))
    return replace(model, functions=Functions(*frozen(*model.functions)), guarded=guarded)


def shared_models(models: Sequence[Model]) -> list[Model]:
    """The models, each made `with_copies`; alike ones are one object."""
    met: list[tuple[Model, Model]] = []
    for asked in models:
        if all(asked != known for known, _ in met):
            met.append((asked, with_copies(asked)))
    return [next(copy for known, copy in met if asked == known) for asked in models]


def alike(keys: Iterable[Hashable]) -> list[list[int]]:
    """Places of each key."""
    places: dict[Hashable, list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return list(places.values())


def split_columns(table: np.ndarray, like: Sequence[np.ndarray]) -> list[np.ndarray]:
    """A table cut along its last axis into as many columns as each of some rows has."""
    return np.split(table, np.cumsum([row.size for row in like])[:-1], axis=-1)


@contextlib.contextmanager
def finite_force(law: type[ContactLaw]) -> Iterator[None]:
    """Where a law of ours finds no number for its values, the message names the law; in a
    user's law, Python names the line."""
    try:
        yield
    except (ArithmeticError, ValueError) as error:
        if not law.__module__.startswith("granchain."):
            raise
        raise LawError(
            f"contact.law {law.name}: got values for which it has no finite force ({error}), "
            "allowed: of the order of real bodies; check "
            "radius, mass, modulus, yield stress and the law's inputs, and their units"
        ) from None


@lru_cache(1024)
def scan_of(make: Callable[[Model], Callable], model: Model) -> Callable:
    """The scan of a model of `frozen` functions, `frozen` itself."""
    return frozen(make(model))[0]


@cache
def compiled_scan(scan: Callable) -> Callable:
    """A scan, which is `frozen`, compiled."""

    def scan_all(*tables):
        scan(*tables)

    return compiled(scan_all)


def settled(model: Model) -> Callable:
    """Plain function (overlap, c) -> history of a fresh contact loaded to an overlap at rest."""
    history_of, _, needs_update, update, *_ = model.functions

    def settle(overlap, c):
        h = history_of(c)
        if overlap > OPEN and needs_update(overlap, 0.0, c, h):
            h = update((overlap, 0.0, 0.0, 1.0), c, h)
        return h

    return settle


def at_rest(model: Model) -> tuple[Callable, Callable]:
    """Plain functions (overlap, c) -> force at rest of a fresh contact loaded to an overlap, and
    the work that it has taken."""
    force, energy, plastic = model.functions.force, model.functions.energy, model.functions.plastic
    settle = settled(model)

    def force_at_rest(overlap, c):
        return force(overlap, 0.0, c, settle(overlap, c))

    def loading_work(overlap, c):
        h = settle(overlap, c)
        return energy(overlap, c, h) + plastic(c, h)

    return force_at_rest, loading_work


def halfway(low, high):
    """Between two overlaps, of their logarithms where they are far apart."""
    return (
        0.5 * (low + high) if low > 0.0 and high < 4.0 * low else math.sqrt(max(low, 1e-30) * high)
    )
