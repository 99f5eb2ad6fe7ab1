"""A contact law becomes a compiled function: copied with all that it reaches, under the hash of it.

Numba keys its caches, on disk and in memory, on function objects and their bytecode, not on what they read and call. So all that the law's
functions reach is found and hashed (granchain.engine.reach): an edited law, helper, table or constant compiles again, and an unchanged
one loads from the disk in a second process. Laws whose functions do the same share one kernel.
"""

from __future__ import annotations

import hashlib
import types
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
from numba.extending import register_jitable

from granchain.contact import elementary
from granchain.engine.bounded import Bounded
from granchain.engine.fields import NAMED_ROWS
from granchain.engine.numba_private import (
    IN_PLACE,
    INNER,
    LACKS,
    ROWS,
    UNCALLED_FROM_C,
    UNCOUNTED,
    compile_uncollected,
    lower_named_rows,
    lower_parts,
    lower_row_from,
    lower_rows,
    rows_are_loaded,
    save_under,
    saved_in,
)
from granchain.engine.reach import LOWERED, Reach, calls
from granchain.engine.saved_loops import warn

# Strict floating point (no fastmath) and division that returns inf or nan, as NumPy's, in place of an exception in the loop.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, **UNCALLED_FROM_C, **UNCOUNTED}
# The same for functions inside a loop.
INNER_OPTIONS = {**OPTIONS, **INNER}
# Switches of Numba's that change what is compiled.
_SWITCHES = ("OPT", "BOUNDSCHECK", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT")

# Groups of functions of which it is remembered what they reach: some ten of each law of a study of them all.
REACHED = 1024

_jitable: set[Callable] = set()


def fingerprint(*functions: Callable) -> str:
    """Hash of functions, of all that they reach, and of how they are compiled.

    Raises
    ------
    LawError
        Where they reach something that cannot be hashed (granchain.engine.reach).
    """
    return _with_circumstances(reach_of(*functions).fingerprint)


def _with_circumstances(fingerprint: str) -> str:
    # Numba's own version, the processor and the Python are in the key of its cache; these are not.
    switches = {name: getattr(numba.config, name, None) for name in _SWITCHES}
    hints = (OPTIONS, IN_PLACE, bool(INNER), bool(ROWS), switches)
    return hashlib.sha256(f"{fingerprint} {hints} NumPy {np.__version__}".encode()).hexdigest()


# What some functions reached, by the functions: asked for again, it is compared and not hashed again.
_REACHED: Bounded[Reach] = Bounded(REACHED)


def reach_of(*functions: Callable) -> Reach:
    """Everything that some plain functions reach now; that of an earlier call where nothing of it has changed since."""
    reach = _REACHED.get(functions)
    if reach is None or not reach.stands():
        reach = Reach(*functions)
        if reach.checkable:
            _REACHED.put(functions, reach)
    return reach


_FROZEN: dict[str, tuple[Callable, ...]] = {}
_COPIES: set[tuple[Callable, ...]] = set()


def frozen(*functions: Callable) -> tuple[Callable, ...]:
    """Copies of functions and of all that they reach, the same ones for functions that do the same.

    Numba compiles a function object once, with the values that it then reads. Nothing else refers to a copy: no assignment, reload or
    edit in a notebook changes a loop, or leaves it half changed. Copies are their own copies.
    """
    if is_frozen(functions):
        return functions
    reach = reach_of(*functions)
    if reach.fingerprint not in _FROZEN:
        copies = reach.copies()
        for compiled_function, function, signatures in copies.signed:
            jitable(function)
            add = compiled_function.add if hasattr(compiled_function, "add") else compiled_function.compile  # of @vectorize, of @njit
            for signature in signatures:
                add(signature)
            compiled_function.disable_compile()
        _FROZEN[reach.fingerprint] = copies.functions
        _COPIES.add(copies.functions)
    return _FROZEN[reach.fingerprint]


def is_frozen(functions: tuple[Callable, ...]) -> bool:
    """Whether these are copies that `frozen` made together."""
    return functions in _COPIES


def jitable(function: Callable, *, hot: bool = False, rows: bool = False) -> Callable:
    """Let Numba compile a plain function, and all it reaches, where a compiled one calls it.

    Parameters
    ----------
    function : callable
        A plain function.
    hot : bool
        Put its code where it is called: for what runs once per contact and step. Everything else compiles faster as a call.
    rows : bool
        Its arrays are rows that do not overlap, padded to whole vectors.
    """
    options = {**INNER_OPTIONS, **IN_PLACE} if hot else INNER_OPTIONS
    stack = [function]
    while stack:
        member = stack.pop()
        if member not in _jitable:
            _jitable.add(member)
            stack.extend(calls(member))
            own = {**options, **ROWS} if rows and member is function else options
            register_jitable(**own)(member)
    return function


def rows_at(table, k, first, count):  # type: ignore[no-untyped-def]
    """Rows first..first + count - 1 of column k, as a tuple."""
    return tuple([table[first + i, k] for i in range(count)])


def put_rows(table, k, values):  # type: ignore[no-untyped-def]
    """Write a tuple to the first rows of column k."""
    for i, value in enumerate(values):
        table[i, k] = value


def row_from(row, first):  # type: ignore[no-untyped-def]
    """A row from a column on, by one addition: a slice would look whether the column is counted from the end."""
    return row[first:]


LOWERED.update(lower_rows(rows_at, put_rows, INNER_OPTIONS))
LOWERED.update(lower_row_from(row_from))
LOWERED.update(lower_parts(elementary.parts, elementary.power_of_two, elementary.leading, {**INNER_OPTIONS, **IN_PLACE}))
LOWERED.update(lower_named_rows(NAMED_ROWS))
_jitable.update(LOWERED)


@cache
def gatherer(count: int, first: int = 0) -> Callable:
    """Function (table, k) -> tuple of the rows first..first + count - 1 at column k."""
    if count == 0:
        return _nothing
    if rows_are_loaded():

        def gather(table, k):  # type: ignore[no-untyped-def]
            return rows_at(table, k, first, count)

        return gather
    before, last = gatherer(count - 1, first), first + count - 1

    def gather_by_row(table, k):  # type: ignore[no-untyped-def]
        return before(table, k) + (table[last, k],)

    return gather_by_row


@cache
def scatterer(count: int) -> Callable:
    """Function (table, k, values) that writes a tuple of `count` values to column k."""
    if count == 0:
        return _ignore
    if rows_are_loaded():
        return put_rows
    before, last = scatterer(count - 1), count - 1

    def scatter_by_row(table, k, values):  # type: ignore[no-untyped-def]
        before(table, k, values)
        table[last, k] = values[last]

    return scatter_by_row


def _nothing(table, k):  # type: ignore[no-untyped-def]
    return ()


def _ignore(table, k, values):  # type: ignore[no-untyped-def]
    return None


def compiled(function: Callable) -> Callable:
    """Compile with the disk cache; without it, and with a warning, where no cache folder can be written.

    Parameters
    ----------
    function : callable
        A closure over plain functions, and over scalars.
    """
    key = fingerprint(function)
    # Numba numbers the loops of one function in one index: two processes that compile two laws at once can leave one law's loop under
    # the other's number. Each key in the function's name, each loop has a file of its own.
    function.__qualname__ = f"{function.__name__}_{key[:32]}"
    for value in (cell.cell_contents for cell in function.__closure__ or ()):
        if isinstance(value, types.FunctionType):
            jitable(value, hot=True)
    dispatcher = numba.njit(**OPTIONS)(function)
    if numba.config.DISABLE_JIT:
        return dispatcher
    compile_uncollected(dispatcher)
    try:
        save_under(dispatcher, function, key)
    except (RuntimeError, OSError) as problem:
        warn(
            f"compiled loops are not kept on disk: {problem}. Each process compiles again; "
            "set NUMBA_CACHE_DIR to a folder that can be written"
        )
    tell_what_numba_lacks()
    return dispatcher


def cache_folder() -> str:
    """Where compiled loops are saved, or why they are not."""
    try:
        return saved_in(_nothing)
    except (RuntimeError, OSError) as problem:
        return f"none: {problem}"


@cache
def tell_what_numba_lacks() -> None:
    """Warn, once in a process, of what this Numba does not have; the numbers are the same without it."""
    if LACKS:
        warn(f"Numba {numba.__version__} is not one that granchain was tried with; the numbers are the same, but: {'; '.join(LACKS)}")
