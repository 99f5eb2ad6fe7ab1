"""Scans: functions that are applied once to each kind of contact of one chain or many chains.

Scans are plain functions of one column of coefficients. A usual chain has few kinds of contact, and
its scans run as plain Python. For many kinds (a taper, gravity), scans are compiled, with
bit-identical results.
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

# Maximum number of kinds of contact for plain Python: below it, compiling takes longer than the
# scan.
PLAIN_KINDS = 64
# Total time that a scan may take as plain Python before it is compiled [s]: about the time that
# compiling takes.
PLAIN_SECONDS = 0.5
# Time that each scan has taken [s].
_seconds: dict[Callable, float] = {}

# Maximum size of the stored scan results and their inputs in a process [bytes]: enough for a study
# of a thousand cases, or for some chains of 10^5 kinds of contact. Above it, all are dropped.
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
    """Apply a scan to each distinct column of its inputs.

    A stored result is returned if there is one.

    Parameters
    ----------
    make : callable
        Model -> plain function (table_1, ..., scratch_1, ..., out) that fills out[:, k] for every
        column k.
    model : Model
        Model with `frozen` functions, so that stored results are valid as long as the process runs.
    inputs : tuple of (rows, n_contacts) array
        Tables whose columns together determine the kind.
    n_out : int
        Number of rows of the result.
    scratch : tuple of int
        Lengths of the temporary rows of the scan.

    Returns
    -------
    (n_out, n_contacts) array
    """
    first, which = kinds_of_columns(inputs)
    tables = tuple(np.ascontiguousarray(table[:, first]) for table in inputs)
    scan = scan_of(make, model)
    # A scan is a copy that is never edited, and equivalent functions share one scan.
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
    """Store the result of a scan; drop the others if the limit is exceeded."""
    if _answer_bytes[0] + size > MOST_BYTES:
        _answers.clear()
        _answer_bytes[0] = 0
    if size <= MOST_BYTES:
        _answers[asked] = out
        _answer_bytes[0] += size


@lru_cache(1024)
def scan_of(make: Callable[[Model], Callable], model: Model) -> Callable:
    """Return the `frozen` scan of a model with `frozen` functions."""
    return frozen(make(model))[0]


@cache
def compiled_scan(scan: Callable) -> Callable:
    """Compile a `frozen` scan."""

    def scan_all(*tables):
        scan(*tables)

    return compiled(scan_all)
