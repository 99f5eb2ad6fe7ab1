"""Scans: functions that are applied to each kind of contact of a chain, or of many chains, once.

Scans are plain functions of one column of coefficients. For the few kinds of contact of a usual
chain they run as they are; for many kinds (a taper, gravity) they are compiled. The bits are the
same.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np

from granchain.contact.model import Model
from granchain.engine.kinds import kinds_of_columns
from granchain.errors import finite_force
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
    model : Model
        Of `frozen` functions: what is remembered of it holds for as long as the process runs.
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
    scan = scan_of(make, model)
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
