"""Compilation of loops with Numba: its options, its disk cache, and its errors.

The cache of Numba knows the bytecode of a function, but not what the function reads and calls. The
name of each compiled loop therefore contains its `fingerprint`: an edited law, helper, table, or
constant compiles again, and an unchanged one loads from the disk in a second process.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import os
import re
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.errors import NumbaError
from numba.extending import lower_builtin, register_jitable, type_callable

from granchain.errors import GranchainWarning, LawError
from granchain.jit.reach import LOOPS, LOWERED, NAMED_TUPLES, Reach

# Doubles of an AVX-512 vector; rows are padded to complete vectors.
VECTOR = 8
# Strict floating point (no fastmath). A division gives inf or nan as in NumPy, and no exception in
# the loop. Reference counting (_nrt) is off, because a loop makes no array, and each slice of a
# table would cost two atomic additions: kelvin-voigt would take 1.45 times as long. The wrapper for
# calls from C is off, because it is not used and takes 0.13 of a first run.
OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "nogil": True,
    "_nrt": False,
    "no_cfunc_wrapper": True,
}
# Characters of a fingerprint in the name of a compiled function.
KEY_LENGTH = 32


class InnerLibrary(JITCodeLibrary):
    """LLVM code of a function inside a loop.

    It is linked into the code of the loop, and optimized and compiled only as a part of the loop.
    By default, Numba also compiles each function to separate machine code, and a first run would
    take a third longer.
    """

    @property
    def codegen(self) -> Any:
        """Receiver of the environment of the function, which only machine code reads."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Ignore an environment."""

    def get_pointer_to_function(self, name: str) -> int:
        """Return the address of machine code, which does not exist."""
        return 0

    def _optimize_final_module(self) -> None:
        """Do nothing: the code is optimized as a part of the loop."""

    def _finalize_final_module(self) -> None:
        """Skip the generation of machine code."""
        self._finalize_dynamic_globals()
        self._finalized = True


class FunctionCompiler(Compiler):
    """Numba's compiler for functions of a loop.

    Rows of arrays do not overlap. Without this guarantee, all addresses would be compared before
    each sweep, and short rows, such as a wave front, would not be vectorized.
    """

    def define_pipelines(self) -> Any:
        """Return Numba's passes."""
        function = self.state.func_id.func
        self.state.flags.noalias = getattr(function, "is_of_rows", False)
        if not getattr(function, "is_shared", False):
            codegen = self.state.targetctx.codegen()
            self.state.library = InnerLibrary(codegen, self.state.func_id.func_qualname)
        return super().define_pipelines()


# --------------------------------------------------------------------------------------------------
# Functions inside a loop

_jitable: set[Callable] = set()


def hot(function: Any) -> Any:
    """Decorate a function so that it is inlined.

    Use it for code that runs once per contact and step; other code compiles faster as a call.
    """
    function.is_hot = True
    return function


def rows(function: Any) -> Any:
    """Decorate a function whose arrays are rows.

    The rows do not overlap and are padded to complete vectors. All functions that it calls are
    inlined.
    """
    function.is_of_rows = True
    return function


def shared(function: Any) -> Any:
    """Decorate a function that is compiled and saved separately, not with each law's loop.

    Use it for code that does not depend on a law.
    """
    function.is_shared = True
    return function


def jitable(members: Sequence[Any], key: str) -> None:
    """Make plain functions callable from compiled ones.

    The decorators of the functions set their options. The names of compiled functions contain the
    key of the loop and a number, because a process that loads loops of several other processes
    distinguishes their inner functions by name only.
    """
    for function in members:
        if getattr(function, "is_of_rows", False):
            for called in reach_of(function).members[1:]:
                called.__dict__.setdefault("is_hot", True)
    for number, function in enumerate(members):
        if function in _jitable or function in LOWERED:
            continue
        options = {**OPTIONS, "pipeline_class": FunctionCompiler, "no_cpython_wrapper": True}
        if getattr(function, "is_hot", False):
            options["forceinline"] = True
        _jitable.add(function)
        if getattr(function, "is_shared", False):
            # The arguments are named rows, which the function reads by index.
            named = sorted((kind.__qualname__, vars(kind)["_fields"]) for kind in NAMED_TUPLES)
            key_of_function = hashlib.sha256(f"{named} {fingerprint(function)}".encode())
            add_key_to_name(function, key_of_function.hexdigest()[:KEY_LENGTH])
            dispatcher = with_disk_cache(numba.njit(**options)(function))
        else:
            add_key_to_name(function, f"{key[:KEY_LENGTH]}_{number}")
            if function.__defaults__ or function.__kwdefaults__:
                register_jitable(**options)(function)
                continue
            dispatcher = numba.njit(**options)(function)
        use_compiled(function, dispatcher)


def use_compiled(function: Callable, dispatcher: Any) -> None:
    """Let Numba call a compiled function instead of the plain one.

    It is compiled for the types of its arguments only. A literal 0 in a call is an integer like any
    other; otherwise Numba would compile the function again for this number.
    """

    def compiled_for(args: Any) -> Any:
        """Return the compiled function for these types."""
        kinds = tuple(map(types.unliteral, args))
        dispatcher.compile(kinds)
        return dispatcher.overloads[kinds]

    def call(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        """Write the LLVM code of a call."""
        inner = compiled_for(signature.args)
        context.active_code_library.add_linking_library(inner.library)
        return context.call_internal(builder, inner.fndesc, inner.signature, args)

    def typed(*args: Any) -> Any:
        """Return the signature for these types."""
        return compiled_for(args).signature

    typed.pysig = inspect.signature(function)  # type: ignore[attr-defined]
    type_callable(function)(lambda context: typed)
    lower_builtin(function, types.VarArg(types.Any))(call)


def add_key_to_name(function: Any, key: str) -> None:
    """Put a key into the name of a function, and so of its compiled code and its file."""
    function.__qualname__ = f"{function.__name__}_{key}"


# --------------------------------------------------------------------------------------------------
# Fingerprints and copies of functions

# Configuration variables of Numba that affect the compiled code.
_SWITCHES = ("OPT", "BOUNDSCHECK", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT")
# Maximum number of cached groups of functions; each law of a study of all laws has about ten.
MOST_REACHES = 1024
_reaches: dict[tuple[Callable, ...], Reach] = {}
_frozen: dict[str, tuple[Callable, ...]] = {}
_copies: set[tuple[Callable, ...]] = set()


def reach_of(*functions: Callable) -> Reach:
    """Return everything that given plain functions reach now.

    The result of an earlier call is returned if nothing has changed.
    """
    reach = _reaches.get(functions)
    if reach is None or not reach.is_current():
        if len(_reaches) >= MOST_REACHES:
            _reaches.clear()
        reach = _reaches[functions] = Reach(*functions)
    return reach


def fingerprint(*functions: Callable) -> str:
    """Return the hash of functions, of all that they reach, and of the compiler options.

    Raises
    ------
    LawError
        If they reach something that cannot be hashed (granchain.jit.reach).
    """
    # The key of Numba's cache contains the versions of Numba and Python, and the processor, but not
    # the following.
    switches = {name: getattr(numba.config, name, None) for name in _SWITCHES}
    how = f"{OPTIONS} {switches} NumPy {np.__version__}"
    return hashlib.sha256(f"{reach_of(*functions).fingerprint} {how}".encode()).hexdigest()


def frozen(*functions: Callable) -> tuple[Callable, ...]:
    """Copy functions and all that they reach; equal functions give the same copies.

    Numba compiles a function object once, with the values that it reads at that time. Nothing else
    refers to a copy, so no assignment, reload, or edit in a notebook can change a part of a loop.
    The copies of copies are the same objects.
    """
    if functions in _copies:
        return functions
    reach = reach_of(*functions)
    copies = _frozen.setdefault(reach.fingerprint, reach.copies)
    _copies.add(copies)
    return copies


# --------------------------------------------------------------------------------------------------
# Compiled loops and their disk cache


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


class LoopCache(FunctionCache):
    """Numba's cache of one function whose name contains its fingerprint.

    A file that cannot be read or written costs a warning and a compilation.
    """

    def _index_key(self, signature: Any, codegen: Any) -> tuple[Any, ...]:
        """Return the types of the arguments and the processor; the file has the fingerprint.

        Numba's key is the bytecode and the pickled closure, in which a function is only a name.
        """
        return signature, codegen.magic_tuple()

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the compiled function for a signature; None if it must be compiled."""
        loaded = None
        try:
            # The standard way first registers everything that Numba can compile, which takes a
            # quarter of a second. A stored loop does not need this.
            loaded = self._load_overload(signature, target_context)
        except Exception as error:  # A damaged file raises nearly any built-in exception.
            warn(
                f"a compiled loop in {self.cache_path} cannot be loaded ({type(error).__name__}: "
                f"{error}). granchain compiles it again. Results do not change."
            )
            with contextlib.suppress(OSError):
                self.flush()
        if loaded is None:
            compiling.begin()
        return loaded

    def save_overload(self, signature: Any, compiled_function: Any) -> None:
        """Write a compiled function to its files."""
        try:
            super().save_overload(signature, compiled_function)
        except OSError as error:
            warn(
                f"a compiled loop was not saved: {error}. The next process compiles it again. "
                "Free disk space, or set NUMBA_CACHE_DIR to another folder."
            )


def warn(sentence: str) -> None:
    """Issue a warning; the run continues."""
    warnings.warn(sentence, GranchainWarning, stacklevel=2)


def with_disk_cache(dispatcher: Any) -> Any:
    """Give a compiled function its disk cache; without a writable folder, issue a warning."""
    try:
        dispatcher._cache = LoopCache(dispatcher.py_func)
    except (RuntimeError, OSError) as problem:
        warn(
            f"compiled loops are not saved to disk: {problem}. Each process compiles them again. "
            "Set NUMBA_CACHE_DIR to a writable folder."
        )
    return dispatcher


def cache_folder() -> str:
    """Return the folder of compiled loops, or the reason why there is none."""
    try:
        return str(LoopCache(cache_folder).cache_path)
    except (RuntimeError, OSError) as problem:
        return f"none: {problem}"


def compiled(function: Callable) -> Callable:
    """Compile a function with the disk cache, or without it if no folder is writable.

    Parameters
    ----------
    function : callable
        A closure over plain functions and scalars.
    """
    key = fingerprint(function)
    if numba.config.DISABLE_JIT:
        return function
    jitable(reach_of(function).members[1:], key)
    add_key_to_name(function, key[:KEY_LENGTH])
    dispatcher = numba.njit(**OPTIONS)(function)
    LOOPS.add(dispatcher)
    compile_function = dispatcher.compile

    def compile_or_refuse(signature: Any) -> Any:
        """Compile the loop, measure the time, and name the line of a law that fails."""
        clock = time.perf_counter()
        try:
            return compile_function(signature)
        except NumbaError as error:
            raise refusal_of(error) or error from None
        finally:
            compiling.seconds += time.perf_counter() - clock

    dispatcher.compile = compile_or_refuse
    return with_disk_cache(dispatcher)


# --------------------------------------------------------------------------------------------------
# Errors of the compiler

# Pattern of a file and line in Numba's messages, and the folders that contain no user's law.
_SOURCE_LINE = re.compile(r" at (\S[^\n]*) \(([0-9]+)\)")
_FOLDERS_WITHOUT_LAWS = (os.path.dirname(numba.__file__), str(Path(__file__).parents[1]))


def refusal_of(error: NumbaError) -> LawError | None:
    """Return the error of a user's law that Numba cannot compile, with the innermost reason.

    It is None if the line is not in a user's file.
    """
    message = str(error)
    location = next(
        (
            match
            for match in _SOURCE_LINE.finditer(message)
            if not match[1].startswith(_FOLDERS_WITHOUT_LAWS)
        ),
        None,
    )
    if location is None:
        return None
    reason = message[: location.start()]
    reason = reason.rpartition("Failed in nopython mode pipeline")[2].partition("\n")[2] or reason
    first = next((text.strip() for text in reason.splitlines() if text.strip()), "no reason given")
    return LawError(
        f"{location[1]}, line {location[2]}: Numba cannot compile this line: {first.rstrip('.')}. "
        "A law may use + - * /, math.sqrt, comparisons, a if b else c, plain functions, and log, "
        "exp, and power of granchain.contact.elementary."
    )
