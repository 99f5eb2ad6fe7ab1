"""Compiler options: options of Numba, a modified lowering to LLVM, and inlining."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.errors import NumbaError
from numba.core.typing.templates import infer_global
from numba.extending import models, register_jitable, register_model

from granchain.errors import LawError
from granchain.jit.fingerprint import LOWERED, Reach, calls
from granchain.jit.private import private, where_available

# Doubles of an AVX-512 vector; rows are padded to complete vectors.
VECTOR = 8


def _hidden(name: str, value: Any, lost: str) -> dict[str, Any]:
    """Return an option of numba.njit that its manual does not list, if this Numba knows it."""
    known = where_available(
        lambda: getattr(private("numba.core.cpu", "CPUTargetOptions"), name), lost
    )
    return {} if known is None else {name: value}


# No reference counting: a loop makes no array, and each slice of a table would cost two atomic
# additions.
UNCOUNTED = _hidden("_nrt", False, "each slice of a table costs two atomic additions")
# No wrapper for calls from C, such as ctypes. It is not needed, and takes a tenth longer to
# compile.
UNCALLED_FROM_C = _hidden("no_cfunc_wrapper", True, "a loop takes longer to compile")
# No wrapper for calls from Python for shared functions, because Python could not pass named rows.
UNCALLED_FROM_PYTHON = _hidden(
    "no_cpython_wrapper", True, "what loops share is compiled again for each law"
)
# Inlining of code that runs once per contact and step; without this option, LLVM decides.
IN_PLACE = _hidden(
    "forceinline", True, "the functions of a law are called where LLVM does not put them in place"
)
# Strict floating point (no fastmath). A division gives inf or nan as in NumPy, and no exception in
# the loop.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, **UNCALLED_FROM_C, **UNCOUNTED}


def loop_metadata(module: Any) -> Any:
    """Return LLVM's hints for one loop; each has a unique node, so that loops do not share them."""
    number = ir.IntType(32)
    hints = [
        module.add_metadata(["llvm.loop.vectorize.width", ir.Constant(number, VECTOR)]),
        module.add_metadata(["llvm.loop.interleave.count", ir.Constant(number, 1)]),
    ]
    node = module.add_metadata([*hints, f"row {len(module.metadata)}"])
    node.operands = (node, *hints)
    return node


def _lowerings() -> dict[tuple[bool, bool], type]:
    """Return Numba's lowering to LLVM, by (inside a loop, arrays are rows)."""
    register_pass = private("numba.core.compiler_machinery", "register_pass")
    library: Any = private("numba.core.codegen", "JITCodeLibrary")
    native: Any = private("numba.core.typed_passes", "NativeLowering")
    lower: Any = private("numba.core.lowering", "Lower")
    make_function = private("numba._dynfunc", "make_function")
    library._optimize_final_module  # noqa: B018
    library._finalize_final_module, library._finalize_dynamic_globals  # noqa: B018

    class InnerLibrary(library):
        """LLVM code of a function inside a loop.

        It is linked into the code of the loop, and only there optimized and compiled.
        """

        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._finalized = True

    @register_pass(mutates_CFG=True, analysis_only=False)
    class InnerLowering(native):
        """Numba's lowering to LLVM for functions inside others."""

        _name = "inner_lowering"

        def run_pass(self, state: Any) -> bool:
            name = state.func_id.func_qualname
            state.library, state.flags.no_compile = (
                InnerLibrary(state.targetctx.codegen(), name),
                True,
            )
            super().run_pass(state)
            lowered = state["cr"]
            # Callers know the function by this object; there is no code at its address.
            module = lowered.fndesc.lookup_module()
            known_by = make_function(
                module, name.split(".")[-1], "", 0, lowered.env, (state.library,)
            )
            state.targetctx.insert_user_function(known_by, lowered.fndesc, [state.library])
            state.reload_init.extend(state.library._reload_init)
            state["cr"] = lowered._replace(cfunc=known_by)
            return True

    class LoopsInVectors(lower):
        """Lowering that marks every loop of a function for vectors of VECTOR, not interleaved."""

        def post_lower(self) -> None:
            super().post_lower()
            if getattr(self.func_ir.func_id.func, "one_by_one", False):
                return
            order = {block: place for place, block in enumerate(self.function.blocks)}
            for block in self.function.blocks:
                end = block.terminator
                targets = [
                    target
                    for target in getattr(end, "operands", ())
                    if isinstance(target, ir.Block)
                ]
                if any(order[target] <= order[block] for target in targets):
                    end.set_metadata("llvm.loop", loop_metadata(self.module))

    found: dict[tuple[bool, bool], type] = {(False, False): native, (True, False): InnerLowering}
    for inner in (False, True):
        facts = {
            "_name": f"row_lowering_{inner}",
            "lowering_class": property(lambda self: LoopsInVectors),
        }
        row_lowering = type("RowLowering", (found[inner, False],), facts)
        found[inner, True] = register_pass(mutates_CFG=True, analysis_only=False)(row_lowering)
    return found


def _compilers() -> dict[tuple[bool, bool], dict[str, Any]]:
    """Return compiler options by (inside a loop, arrays are rows).

    Numba would compile each function inside a loop to machine code, and then again as part of the
    loop, which takes a tenth of a first run. Without the guarantee that rows do not overlap, all
    addresses would be compared before each sweep, and short rows, such as a wave front, would not
    be vectorized.
    """
    compiler: Any
    compiler, builder = private("numba.core.compiler", "Compiler", "DefaultPassBuilder")
    manager = private("numba.core.compiler_machinery", "PassManager")
    lowerings = _lowerings()

    class OwnCompiler(compiler):
        """Numba's compiler with the modified lowering and without two passes.

        The passes are for expressions of complete arrays, and for functions within functions if
        there are none. Each takes a twentieth of the time. If arrays are rows, the compiler
        assumes that they do not overlap.
        """

        kind = False, False

        def define_pipelines(self) -> list[Any]:
            if self.kind[1]:
                self.state.flags.noalias = True
            own = manager("nopython")  # The name that Numba's messages contain.
            unneeded = {"nopython_rewrites"}
            if not any(isinstance(value, CodeType) for value in self.state.func_id.code.co_consts):
                unneeded.add("inline_closure_likes")
            for stage in (
                builder.define_untyped_pipeline(self.state),
                builder.define_typed_pipeline(self.state),
                builder.define_nopython_lowering_pipeline(self.state),
            ):
                own.passes.extend(
                    (lowerings[self.kind] if each is lowerings[False, False] else each, text)
                    for each, text in stage.passes
                    if each._name not in unneeded
                )
            own.finalize()
            return [own]

    return {
        kind: {"pipeline_class": type("OwnCompiler", (OwnCompiler,), {"kind": kind})}
        for kind in lowerings
    }


_COMPILERS = where_available(
    _compilers, "a loop takes longer to compile, and its sweeps are not taken in whole vectors"
)


def how_compiled(function: Any, inside: bool) -> dict[str, Any]:
    """Return the options of a function, by its decorators and if it is `inside` a loop."""
    own = (_COMPILERS or {}).get((inside, getattr(function, "of_rows", False)), {})
    return {**OPTIONS, **own, **(IN_PLACE if getattr(function, "in_place", False) else {})}


# --------------------------------------------------------------------------------------------------
# Functions inside a loop

_jitable: set[Callable] = set()
_dispatchers: list[Any] = []


def hot(function: Any) -> Any:
    """Decorate a function so that it is inlined.

    Use it for code that runs once per contact and step; other code compiles faster as a call.
    """
    function.in_place = True
    return function


def rows(function: Any) -> Any:
    """Decorate a function whose arrays are rows.

    The rows do not overlap and are padded to complete vectors. All functions that it calls are
    inlined.
    """
    function.of_rows = True
    return function


def one_by_one(function: Any) -> Any:
    """Decorate a function with a loop over rows that LLVM cannot vectorize.

    Without this mark, LLVM would warn that it could not vectorize the loop.
    """
    function.one_by_one = True
    return function


def shared(function: Any) -> Any:
    """Decorate a function that is compiled and saved separately, not with each law's loop.

    Use it for code that does not depend on a law.
    """
    function.by_itself = True
    return function


def jitable(*functions: Callable, by_itself: Callable[[Any], None] | None = None) -> None:
    """Make plain functions, and all that they reach, callable from compiled ones.

    The decorators of the functions set their options.

    Parameters
    ----------
    *functions : callable
    by_itself : callable, optional
        Function that compiles a `shared` function. By default it is compiled like the others.
    """
    members = reached(*functions)
    for function in members:
        if getattr(function, "of_rows", False):
            for called in reached(*calls(function)):
                called.__dict__.setdefault("in_place", True)
    for function in members:
        if function not in _jitable and function not in LOWERED:
            _jitable.add(function)
            if by_itself is not None and getattr(function, "by_itself", False):
                by_itself(function)
            elif UNCALLED_FROM_PYTHON and not numba.config.DISABLE_JIT:
                options = {**how_compiled(function, True), **UNCALLED_FROM_PYTHON}
                known_by(function, numba.njit(**options)(function))
            else:
                register_jitable(**how_compiled(function, True))(function)


class ByTypes(types.Dispatcher):
    """Numba type of a function that is compiled for the types of its arguments only.

    A literal 0 in a call is an integer like any other; otherwise Numba would compile the function
    again for this number.
    """

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """Return the signature for the types of the arguments."""
        return super().get_call_type(context, tuple(map(types.unliteral, args)), kws)


register_model(ByTypes)(models.OpaqueModel)


def known_by(function: Callable, dispatcher: Any) -> None:
    """Register a compiled function, which Numba then calls instead of the plain one."""
    # Numba has only a weak reference to a dispatcher.
    _dispatchers.append(dispatcher)
    infer_global(function, ByTypes(dispatcher))


def reached(*functions: Any) -> list[Any]:
    """Return these plain functions and all functions that they call."""
    found = dict.fromkeys(functions)
    stack = list(found)
    for function in stack:  # The list grows as functions are found.
        new = [called for called in calls(function) if called not in found]
        found.update(dict.fromkeys(new))
        stack.extend(new)
    return list(found)


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
    if reach is None or not reach.stands():
        reach = Reach(*functions)
        if reach.checkable:
            if len(_reaches) >= MOST_REACHES:
                _reaches.clear()
            _reaches[functions] = reach
    return reach


def fingerprint(*functions: Callable) -> str:
    """Return the hash of functions, of all that they reach, and of the compiler options.

    Raises
    ------
    LawError
        If they reach something that cannot be hashed (granchain.jit.fingerprint).
    """
    # The key of Numba's cache contains the versions of Numba and Python, and the processor, but not
    # the following.
    switches = {name: getattr(numba.config, name, None) for name in _SWITCHES}
    how = (OPTIONS, IN_PLACE, _COMPILERS is not None, switches)
    return hashlib.sha256(
        f"{reach_of(*functions).fingerprint} {how} NumPy {np.__version__}".encode()
    ).hexdigest()


def frozen(*functions: Callable) -> tuple[Callable, ...]:
    """Copy functions and all that they reach; equal functions give the same copies.

    Numba compiles a function object once, with the values that it reads at that time. Nothing else
    refers to a copy, so no assignment, reload, or edit in a notebook can change a loop, not even
    partly. The copies of copies are the same objects.
    """
    if functions in _copies:
        return functions
    reach = reach_of(*functions)
    if reach.fingerprint not in _frozen:
        _frozen[reach.fingerprint] = reach.copies()
        _copies.add(_frozen[reach.fingerprint])
    return _frozen[reach.fingerprint]


# --------------------------------------------------------------------------------------------------
# Errors of the compiler

# Pattern of a file and line in Numba's messages, and the folders that contain no user's law.
_PLACE = re.compile(r" at (\S[^\n]*) \(([0-9]+)\)")
_OURS = (os.path.dirname(numba.__file__), str(Path(__file__).parents[1]))


def refusal_of(error: NumbaError) -> LawError | None:
    """Return the error of a user's law that Numba cannot compile, with the innermost reason.

    It is None if the line is not in a user's file.
    """
    message = str(error)
    place = next(
        (found for found in _PLACE.finditer(message) if not found[1].startswith(_OURS)), None
    )
    if place is None:
        return None
    reason = message[: place.start()]
    reason = reason.rpartition("Failed in nopython mode pipeline")[2].partition("\n")[2] or reason
    first = next((text.strip() for text in reason.splitlines() if text.strip()), "no reason given")
    return LawError(
        f"{place[1]}, line {place[2]}: Numba cannot compile this line: {first.rstrip('.')}. A law "
        "may use + - * /, math.sqrt, comparisons, a if b else c, plain functions, and log, exp, "
        "and power of granchain.contact.elementary."
    )
