"""A contact law becomes a compiled function: walk what it reaches, hash it, close over it.

Numba keys its disk cache on the bytecode and the closure of the compiled function, not on the functions that it calls. So every plain
function that the law's functions reach is found here, its bytecode and its scalar constants are hashed, and the hash goes into
the closure: an edited law, helper or constant compiles anew, and an unchanged one loads from the cache in a second process. Laws
whose functions are the same objects share one kernel.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import secrets
import tempfile
import types
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numba
from numba.core.bytecode import FunctionIdentity
from numba.extending import register_jitable

from granchain.engine.rows import RowCompiler, lower_rows
from granchain.errors import GranchainWarning, LawError

# Strict floating point (no fastmath) and division that returns inf or nan, as NumPy's, in place of an exception in the loop. No counting
# of references (nrt): a loop makes no array, and each slice of a table would cost two atomic additions.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "_nrt": False}


# Numba tells the functions inside its compiled loops apart by a number that each process counts from 1, and the disk cache keeps those
# names: of two loops compiled in two processes and loaded into a third, one then calls the other's functions. Counting from a random
# number makes the names different in every process.
def _number_from_anywhere() -> None:
    FunctionIdentity._unique_ids = itertools.count(secrets.randbits(48))


_number_from_anywhere()
os.register_at_fork(after_in_child=_number_from_anywhere)

_SCALARS = (bool, int, float, str, type(None))
_jitable: set[Callable] = set()


def reached(function: Callable) -> Iterator[tuple[str, Any]]:
    """All names a plain function reads from outside itself, with what they stand for, without descending.

    Parameters
    ----------
    function : callable
        A plain Python function.
    """
    code = function.__code__
    if function.__closure__:
        for name, cell in zip(code.co_freevars, function.__closure__, strict=True):
            yield name, cell.cell_contents
    stack = [code]
    while stack:
        block = stack.pop()
        for name in block.co_names:
            if name in function.__globals__:
                value = function.__globals__[name]
                yield name, value
                if isinstance(value, types.ModuleType):
                    for attribute in block.co_names:
                        if hasattr(value, attribute):
                            yield f"{name}.{attribute}", getattr(value, attribute)
        stack.extend(constant for constant in block.co_consts if isinstance(constant, types.CodeType))


def walk(function: Callable, seen: dict[Callable, None] | None = None) -> dict[Callable, None]:
    """A plain function and every plain function that it reaches, each once, in the order met."""
    seen = {} if seen is None else seen
    if function in seen:
        return seen
    if not isinstance(function, types.FunctionType):
        raise LawError(f"{function!r} is no plain Python function: a contact law is made of plain functions only")
    seen[function] = None
    for _, value in reached(function):
        if isinstance(value, types.FunctionType):
            walk(value, seen)
    return seen


def fingerprint(function: Callable) -> str:
    """Hash of the bytecode and the scalar constants of a function and of all it reaches."""
    digest = hashlib.sha256(repr(OPTIONS).encode())
    for member in walk(function):
        stack = [member.__code__, *(part.__code__ for part in _LOWERED.get(member, ()))]
        while stack:
            code = stack.pop()
            digest.update(code.co_code)
            digest.update(repr((code.co_names, code.co_varnames, code.co_freevars)).encode())
            for constant in code.co_consts:
                if isinstance(constant, types.CodeType):
                    stack.append(constant)
                else:
                    digest.update(repr(constant).encode())
        for name, value in reached(member):
            if isinstance(value, _SCALARS) or (isinstance(value, tuple) and all(isinstance(v, _SCALARS) for v in value)):
                digest.update(f"{name}={value!r};".encode())
    return digest.hexdigest()


def jitable(function: Callable, *, hot: bool = False, rows: bool = False) -> Callable:
    """Let Numba compile a plain function, and all it reaches, where a compiled one calls it.

    Parameters
    ----------
    function : callable
        A plain function.
    hot : bool
        Put its code where it is called: for what runs once per contact and step. Everything else compiles faster as a call.
    rows : bool
        Its arrays are rows that do not overlap, padded to whole vectors (granchain.engine.rows).
    """
    options = {**OPTIONS, "forceinline": True} if hot else OPTIONS
    for member in walk(function):
        if member not in _jitable:
            _jitable.add(member)
            own = {**options, "pipeline_class": RowCompiler} if rows and member is function else options
            register_jitable(**own)(member)
    return function


# A tuple of rows as one load a row: gathered by a recursion over closures, each row would be a compiled function, and compiling is what a
# first run waits for.
def rows_at(table, k, first, count):  # type: ignore[no-untyped-def]
    """Rows first..first + count - 1 of column k, as a tuple."""
    return tuple([table[first + i, k] for i in range(count)])


def put_rows(table, k, values):  # type: ignore[no-untyped-def]
    """Write a tuple to the first rows of column k."""
    for i, value in enumerate(values):
        table[i, k] = value


# Functions that have a compiled form of their own, with what it is made of.
_LOWERED: dict[Callable, tuple[Callable, ...]] = lower_rows(rows_at, put_rows, OPTIONS)
_jitable.update(_LOWERED)


@cache
def gatherer(count: int, first: int = 0) -> Callable:
    """Function (table, k) -> tuple of the rows first..first + count - 1 at column k."""
    if count == 0:
        return _nothing

    def gather(table, k):  # type: ignore[no-untyped-def]
        return rows_at(table, k, first, count)

    return gather


@cache
def scatterer(count: int) -> Callable:
    """Function (table, k, values) that writes a tuple of `count` values to column k."""
    return put_rows if count else _ignore


def _nothing(table, k):  # type: ignore[no-untyped-def]
    return ()


def _ignore(table, k, values):  # type: ignore[no-untyped-def]
    return None


def compiled(function: Callable, key: str) -> Callable:
    """Compile with the disk cache; without it, and saying so, where no cache folder can be written.

    Parameters
    ----------
    function : callable
        A closure over plain functions, scalars and the key.
    key : str
        Hash of all that the function is made of (`fingerprint`).
    """
    # Numba numbers the loops of one function in one index: two processes that compile two laws at once can leave one law's loop under
    # the other's number. Each key in the function's name, each loop has a file of its own.
    name = hashlib.sha256(key.encode()).hexdigest()[:16]
    function.__qualname__ = f"{function.__name__}_{name}"
    for value in (cell.cell_contents for cell in function.__closure__ or ()):
        if isinstance(value, types.FunctionType):
            jitable(value, hot=True)
    try:
        dispatcher = numba.njit(cache=True, **OPTIONS)(function)
        if not numba.config.DISABLE_JIT:
            _probe(dispatcher._cache.cache_path)
    except (RuntimeError, OSError) as problem:
        warnings.warn(
            f"compiled loops are not kept on disk: {problem}. Each process compiles again; "
            "set NUMBA_CACHE_DIR to a folder that can be written",
            GranchainWarning,
            stacklevel=2,
        )
        dispatcher = numba.njit(**OPTIONS)(function)
    return dispatcher


def cache_folder() -> str:
    """Where compiled loops are kept, or why they are not."""
    try:
        return str(numba.njit(cache=True, **OPTIONS)(_nothing)._cache.cache_path)
    except (RuntimeError, OSError, AttributeError) as problem:
        return f"none: {problem}"


def _probe(path: str) -> None:
    """Raise OSError where no file can be made in the cache folder."""
    os.makedirs(path, exist_ok=True)
    with tempfile.TemporaryFile(dir=path):
        pass
