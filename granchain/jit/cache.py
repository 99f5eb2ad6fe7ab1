"""Disk cache of compiled loops. Files are named by a hash and checked before they are loaded.

Numba keys its cache on function objects and their bytecode, but not on what they read and call.
Here the key is the `fingerprint`: an edited law, helper, table, or constant compiles again, and an
unchanged one loads from the disk in a second process.

A loaded loop is machine code, so a single changed bit can crash the process or do worse. Each file
therefore contains a hash after the pickle, where Numba does not read. The hash includes the file
name, so that one file cannot replace another.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
import os
import pickle
import secrets
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.errors import NumbaError

from granchain.errors import GranchainWarning
from granchain.jit.fingerprint import LOOPS, NAMED_TUPLES, calls
from granchain.jit.options import (
    OPTIONS,
    UNCALLED_FROM_PYTHON,
    fingerprint,
    how_compiled,
    jitable,
    known_by,
    refusal_of,
)
from granchain.jit.private import LACKS, private, where_available
from granchain.portable import after_fork

LOOP_SEAL = b"\ngranchain loop sha256 %s\n"
LOOP_SEAL_LENGTH = len(LOOP_SEAL % (64 * b"0"))


def sealed(name: str, content: bytes) -> bytes:
    """Return the bytes of a file: the content, then the hash of its name and content."""
    return (
        content + LOOP_SEAL % hashlib.sha256(name.encode() + b"\n" + content).hexdigest().encode()
    )


def loop_content(path: str) -> bytes | None:
    """Return the content of a file if its hash is valid, else None.

    If the file exists but was changed, it is removed with a warning.
    """
    try:
        stored = Path(path).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        discard(path, f"cannot be read: {error.strerror}")
        return None
    content = stored[:-LOOP_SEAL_LENGTH]
    if stored != sealed(os.path.basename(path), content):
        discard(path, "is incomplete or was changed after it was written")
        return None
    return content


def discard(path: str, what: str) -> None:
    """Warn that a file cannot be used, and remove it."""
    done = "granchain removed it"
    try:
        Path(path).unlink(missing_ok=True)
    except OSError as error:
        done = f"granchain could not remove it ({error.strerror})"
    warn(
        f"the file {path} of a compiled loop {what}. {done} and compiles the loop again. Results "
        "do not change."
    )


def warn(sentence: str) -> None:
    """Issue a warning; the run continues."""
    warnings.warn(sentence, GranchainWarning, stacklevel=2)


def _number_from_anywhere() -> None:
    """Count compiled functions from a random number.

    Numba distinguishes the functions inside its compiled loops by a number that each process counts
    from 1, and the disk cache keeps those names: of two loops compiled in two processes and loaded
    into a third, one then calls the other's functions. Counting from a random number makes the
    names different in every process.
    """
    identity = private("numba.core.bytecode", "FunctionIdentity")
    identity._unique_ids  # noqa: B018
    identity._unique_ids = itertools.count(secrets.randbits(48))


def _loop_cache() -> type:
    """Return the class of Numba's cache of one loop, with the fingerprint as key.

    An error of the cache does not stop a run.
    """
    _number_from_anywhere()
    after_fork(_number_from_anywhere)
    function_cache: Any
    index_and_data: Any
    # This name ensures that a dispatcher has a `_cache`.
    private("numba.core.dispatcher", "Dispatcher").enable_caching  # noqa: B018
    function_cache, index_and_data = private(
        "numba.core.caching", "FunctionCache", "IndexDataCacheFile"
    )

    class SealedFiles(index_and_data):
        """Numba's two files of a loop, an index and the code, each with a hash."""

        def _load_index(self) -> dict[Any, str]:
            content = loop_content(self._index_path)
            if content is None:
                return {}
            file = io.BytesIO(content)
            if pickle.load(file) != self._version:
                return {}
            stamp, overloads = pickle.load(file)
            return overloads if stamp == self._source_stamp else {}

        def _load_data(self, name: str) -> Any:
            content = loop_content(self._data_path(name))
            return None if content is None else pickle.loads(content)

        @contextlib.contextmanager
        def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
            content = io.BytesIO()
            yield content
            with super()._open_for_write(filepath) as file:
                file.write(sealed(os.path.basename(filepath), content.getvalue()))

    class LoopCache(function_cache):
        """Numba's cache of one loop, with the fingerprint as key.

        An error of the cache does not stop a run. Numba's key is the bytecode and the pickled
        closure. There a pickled function is only a name, and a compiled one is a number that each
        process draws anew.
        """

        def __init__(self, function: Callable, key: str):
            super().__init__(function)
            self._key = key
            stamp = self._impl.locator.get_source_stamp()
            self._cache_file: Any = SealedFiles(self._cache_path, self._impl.filename_base, stamp)

        def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
            return sig, codegen.magic_tuple(), self._key

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            found = self._found(sig, target_context)
            if found is None:
                compiling.begin()
            return found

        def _found(self, sig: Any, target_context: Any) -> Any:
            with contextlib.suppress(
                Exception
            ):  # If this fails, the standard way below succeeds or reports the error.
                # Numba would first register everything that can be compiled, which takes a quarter
                # of a second. A loop that loads is already compiled.
                return self._load_overload(sig, target_context)
            try:
                return super().load_overload(sig, target_context)
            # The files are intact, but written by another build of Numba or Python.
            except Exception as error:
                for path in (
                    self._cache_file._index_path,
                    self._cache_file._data_path(self._cache_file._data_name(1)),
                ):
                    discard(path, f"cannot be loaded ({type(error).__name__}: {error})")
                return None

        def save_overload(self, sig: Any, data: Any) -> None:
            try:
                super().save_overload(sig, data)
            except OSError as error:
                warn(
                    f"a compiled loop was not saved: {error}. The next process compiles it again. "
                    "Free disk space, or set NUMBA_CACHE_DIR to another folder."
                )

    return LoopCache


_LOOP_CACHE = where_available(
    _loop_cache, "compiled loops are not saved, and each process compiles them again"
)


def compiled(function: Callable) -> Callable:
    """Compile a function with the disk cache, or without it if no folder is writable.

    A missing cache gives a warning.

    Parameters
    ----------
    function : callable
        A closure over plain functions and scalars.
    """
    key = fingerprint(function)
    # Numba numbers the loops of one function in one index, so two processes that compile two laws
    # at the same time can save a loop under the wrong number. With the key in the name of the
    # function, each loop has separate files.
    function.__qualname__ = f"{function.__name__}_{key[:32]}"
    jitable(*calls(function), by_itself=compile_shared if UNCALLED_FROM_PYTHON else None)
    dispatcher = numba.njit(**OPTIONS)(function)
    if numba.config.DISABLE_JIT:
        return dispatcher
    LOOPS.add(dispatcher)
    say_refusals(dispatcher)
    try:
        if _LOOP_CACHE is not None:
            dispatcher._cache = writable_cache(function, key)
    except (RuntimeError, OSError) as problem:
        warn(
            f"compiled loops are not saved to disk: {problem}. Each process compiles them again. "
            "Set NUMBA_CACHE_DIR to a writable folder."
        )
    tell_what_numba_lacks()
    return dispatcher


def compile_shared(function: Any) -> None:
    """Compile a shared function, save it in separate files, and register it with Numba."""
    if numba.config.DISABLE_JIT:
        return
    # The arguments are named rows, which the function reads by index, so the fields are hashed.
    named = sorted((kind.__qualname__, getattr(kind, "_fields", ())) for kind in NAMED_TUPLES)
    key = hashlib.sha256(f"{named} {fingerprint(function)}".encode()).hexdigest()
    function.__qualname__ = f"{function.__name__}_{key[:32]}"
    dispatcher = numba.njit(**how_compiled(function, False), **UNCALLED_FROM_PYTHON)(function)
    with contextlib.suppress(RuntimeError, OSError):  # The loop that calls it reports the error.
        if _LOOP_CACHE is not None:
            dispatcher._cache = writable_cache(function, key)
    known_by(function, dispatcher)


def writable_cache(function: Callable, key: str) -> Any:
    """Return the disk cache of a function for a key.

    Raises
    ------
    OSError, RuntimeError
        If no folder is writable.
    """
    assert _LOOP_CACHE is not None
    saved = _LOOP_CACHE(function, key)
    os.makedirs(saved.cache_path, exist_ok=True)
    with tempfile.TemporaryFile(dir=saved.cache_path):
        pass
    return saved


class Compiling(threading.local):
    """Hook and timer of compilation, separate for each thread.

    The hook is called once before a loop that is in no cache is compiled. The timer has the
    seconds that loading and compiling loops took.
    """

    on_compiling: Callable[[], object] | None = None
    seconds = 0.0

    def begin(self) -> None:
        """Call the hook, because a loop is not in the cache."""
        on_compiling, self.on_compiling = self.on_compiling, None
        if on_compiling is not None:
            on_compiling()


compiling = Compiling()


def say_refusals(dispatcher: Any) -> None:
    """Report errors of Numba in a user's law with the line of its file."""
    compile_function = dispatcher.compile

    def compile_or_refuse(signature: Any) -> Any:
        clock = time.perf_counter()
        try:
            return compile_function(signature)
        except NumbaError as error:
            raise refusal_of(error) or error from None
        finally:
            compiling.seconds += time.perf_counter() - clock

    dispatcher.compile = compile_or_refuse


def cache_folder() -> str:
    """Return the folder of compiled loops, or the reason why there is none."""
    if _LOOP_CACHE is None:
        return "none: this Numba has no cache that can be checked"
    try:
        return str(_LOOP_CACHE(sealed, "").cache_path)
    except (RuntimeError, OSError) as problem:
        return f"none: {problem}"


@cache
def tell_what_numba_lacks() -> None:
    """Warn once per process about missing parts of this Numba; results do not change."""
    if LACKS:
        warn(
            f"granchain was not tested with Numba {numba.__version__}. Results do not change, but "
            f"{'; '.join(LACKS)}."
        )
