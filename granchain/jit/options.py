"""How functions are compiled: options of Numba, its lowering replaced, and what is put in place
where it is called."""

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

# Doubles of a vector (AVX-512): rows are padded to whole ones.
VECTOR = 8


def _hidden(name: str, value: Any, lost: str) -> dict[str, Any]:
    """An option of numba.njit that its manual does not name, where this Numba knows it."""
    known = where_available(
        lambda: getattr(private("numba.core.cpu", "CPUTargetOptions"), name), lost
    )
    return {} if known is None else {name: value}


# No counting of references: a loop makes no array, and each slice of a table would cost two atomic
# additions.
UNCOUNTED = _hidden("_nrt", False, "each slice of a table costs two atomic additions")
# No form for C, as ctypes would call it: nobody does, and compiling takes a tenth longer with it.
UNCALLED_FROM_C = _hidden("no_cfunc_wrapper", True, "a loop takes longer to compile")
# No form for Python, of what loops share: Python could not hand it the named rows.
UNCALLED_FROM_PYTHON = _hidden(
    "no_cpython_wrapper", True, "what loops share is compiled again for each law"
)
# Code put where it is called, for what runs once per contact and step: without it, LLVM decides.
IN_PLACE = _hidden(
    "forceinline", True, "the functions of a law are called where LLVM does not put them in place"
)
# Strict floating point (no fastmath); division gives inf or nan, as NumPy's, and no exception in
# the loop.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, **UNCALLED_FROM_C, **UNCOUNTED}


def loop_metadata(module: Any) -> Any:
    """LLVM's hints for one loop; each has to name itself, so that no two loops share them."""
    number = ir.IntType(32)
    hints = [
        module.add_metadata(["llvm.loop.vectorize.width", ir.Constant(number, VECTOR)]),
        module.add_metadata(["llvm.loop.interleave.count", ir.Constant(number, 1)]),
    ]
    node = module.add_metadata([*hints, f"row {len(module.metadata)}"])
    node.operands = (node, *hints)
    return node


def _lowerings() -> dict[tuple[bool, bool], type]:
    """Numba's lowering to LLVM, and that of functions (inside a loop, whose arrays are rows)."""
    register_pass = private("numba.core.compiler_machinery", "register_pass")
    library: Any = private("numba.core.codegen", "JITCodeLibrary")
    native: Any = private("numba.core.typed_passes", "NativeLowering")
    lower: Any = private("numba.core.lowering", "Lower")
    make_function = private("numba._dynfunc", "make_function")
    library._optimize_final_module  # noqa: B018
    library._finalize_final_module, library._finalize_dynamic_globals  # noqa: B018

    class InnerLibrary(library):
        """LLVM's code of a function, to be linked into that of a loop: there alone it is
        optimised and becomes machine code."""

        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._finalized = True

    @register_pass(mutates_CFG=True, analysis_only=False)
    class InnerLowering(native):
        """Numba's lowering to LLVM, for functions inside others."""

        _name = "inner_lowering"

        def run_pass(self, state: Any) -> bool:
            name = state.func_id.func_qualname
            state.library, state.flags.no_compile = (
                InnerLibrary(state.targetctx.codegen(), name),
                True,
            )
            super().run_pass(state)
            lowered = state["cr"]
            # what the functions that call it know it by; there is nothing at its address
            module = lowered.fndesc.lookup_module()
            known_by = make_function(
                module, name.split(".")[-1], "", 0, lowered.env, (state.library,)
            )
            state.targetctx.insert_user_function(known_by, lowered.fndesc, [state.library])
            state.reload_init.extend(state.library._reload_init)
            state["cr"] = lowered._replace(cfunc=known_by)
            return True

    class LoopsInVectors(lower):
        """Marks every loop of a function to be taken in vectors of VECTOR, one at a time."""

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
    """Options with which functions (inside a loop, whose arrays are rows) are compiled.

    Numba would make machine code of each function inside a loop, and again of the loop that holds
    them all: a tenth of a first run. Without the promise that rows do not overlap, all addresses
    would be compared before each sweep, and short rows, a wave's front, be taken contact by
    contact.
    """
    compiler: Any
    compiler, builder = private("numba.core.compiler", "Compiler", "DefaultPassBuilder")
    manager = private("numba.core.compiler_machinery", "PassManager")
    lowerings = _lowerings()

    class OwnCompiler(compiler):
        """Numba's compiler with its lowering replaced, and without its passes for expressions of
        whole arrays and, where there are none, for functions within functions: each takes a
        twentieth of the time. Where arrays are rows, under the promise that no two overlap."""

        kind = False, False

        def define_pipelines(self) -> list[Any]:
            if self.kind[1]:
                self.state.flags.noalias = True
            own = manager("nopython")  # as it stands in messages
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
    """Options of a function, as its decorators say; `inside` a loop, or by itself."""
    own = (_COMPILERS or {}).get((inside, getattr(function, "of_rows", False)), {})
    return {**OPTIONS, **own, **(IN_PLACE if getattr(function, "in_place", False) else {})}


# --------------------------------------------------------------------------------------------------
# Functions inside a loop.

_jitable: set[Callable] = set()
_dispatchers: list[Any] = []


def hot(function: Any) -> Any:
    """Decorator: the code is put where it is called. For what runs once per contact and step;
    the rest compiles faster as a call."""
    function.in_place = True
    return function


def rows(function: Any) -> Any:
    """Decorator: the arrays are rows that do not overlap, padded to whole vectors; all that is
    called is put in place."""
    function.of_rows = True
    return function


def one_by_one(function: Any) -> Any:
    """Decorator: a loop over rows that LLVM cannot take in vectors, and would say so if it were
    asked to."""
    function.one_by_one = True
    return function


def shared(function: Any) -> Any:
    """Decorator: compiled and saved by itself, and not again in each law's loop. For what does
    not depend on a law."""
    function.by_itself = True
    return function


def jitable(*functions: Callable, by_itself: Callable[[Any], None] | None = None) -> None:
    """Make plain functions, and all that they reach, callable from compiled ones, as their
    decorators state.

    Parameters
    ----------
    *functions : callable
    by_itself : callable, optional
        What compiles a `shared` one; without, it is compiled as the others are.
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
    """Numba's type of a compiled function that is compiled for the types of what it is given: a 0
    that stands where it is called is an integer like any other, or it would be compiled for that
    number once more."""

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """Signature for what it is given."""
        return super().get_call_type(context, tuple(map(types.unliteral, args)), kws)


register_model(ByTypes)(models.OpaqueModel)


def known_by(function: Callable, dispatcher: Any) -> None:
    """Let Numba call a compiled function where a plain one stands."""
    # Numba knows a dispatcher weakly
    _dispatchers.append(dispatcher)
    infer_global(function, ByTypes(dispatcher))


def reached(*functions: Any) -> list[Any]:
    """These plain functions, and all that they call."""
    found = dict.fromkeys(functions)
    stack = list(found)
    for function in stack:  # which grows
        new = [called for called in calls(function) if called not in found]
        found.update(dict.fromkeys(new))
        stack.extend(new)
    return list(found)


# --------------------------------------------------------------------------------------------------
# Functions under the hash of all that they reach.

# Switches of Numba's that change what is compiled.
_SWITCHES = ("OPT", "BOUNDSCHECK", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT")
# Groups of functions of which it is remembered what they reach: some ten of each law of a study of
# them all.
MOST_REACHES = 1024
_reaches: dict[tuple[Callable, ...], Reach] = {}
_frozen: dict[str, tuple[Callable, ...]] = {}
_copies: set[tuple[Callable, ...]] = set()


def reach_of(*functions: Callable) -> Reach:
    """Everything that some plain functions reach now; that of an earlier call where nothing of
    it has changed since."""
    reach = _reaches.get(functions)
    if reach is None or not reach.stands():
        reach = Reach(*functions)
        if reach.checkable:
            if len(_reaches) >= MOST_REACHES:
                _reaches.clear()
            _reaches[functions] = reach
    return reach


def fingerprint(*functions: Callable) -> str:
    """Hash of functions, of all that they reach, and of how they are compiled.

    Raises
    ------
    LawError
        Where they reach something that cannot be hashed (granchain.jit.fingerprint).
    """
    # Numba's own version, the processor and the Python are in the key of its cache; these are not.
    switches = {name: getattr(numba.config, name, None) for name in _SWITCHES}
    how = (OPTIONS, IN_PLACE, _COMPILERS is not None, switches)
    return hashlib.sha256(
        f"{reach_of(*functions).fingerprint} {how} NumPy {np.__version__}".encode()
    ).hexdigest()


def frozen(*functions: Callable) -> tuple[Callable, ...]:
    """Copies of functions and of all that they reach, the same ones for functions that do the same.

    Numba compiles a function object once, with the values that it then reads. Nothing else refers
    to a copy: no assignment, reload or edit in a notebook changes a loop, or leaves it half
    changed. Copies are their own copies.
    """
    if functions in _copies:
        return functions
    reach = reach_of(*functions)
    if reach.fingerprint not in _frozen:
        _frozen[reach.fingerprint] = reach.copies()
        _copies.add(_frozen[reach.fingerprint])
    return _frozen[reach.fingerprint]


# --------------------------------------------------------------------------------------------------
# Errors of the compiler.

# The place of a line in what Numba writes, and the folders of what is no law of a user's.
_PLACE = re.compile(r" at (\S[^\n]*) \(([0-9]+)\)")
_OURS = (os.path.dirname(numba.__file__), str(Path(__file__).parents[1]))


def refusal_of(error: NumbaError) -> LawError | None:
    """The error of a law that Numba cannot compile, the innermost of its reasons; None where
    the line is not a user's."""
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
