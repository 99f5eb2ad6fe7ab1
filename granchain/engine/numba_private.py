"""All that the engine uses of Numba outside its stable interface: each with its reason, and what is lost without it.

Where one of these is missing, in an older or newer Numba, the loops are compiled without it: slower, or by each process again, and a
warning lists it (`LACKS`). The numbers are the same, bit for bit: nothing here changes what is computed.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import pickle
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import NumbaError
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic, lower_builtin, overload, type_callable

from granchain.engine.fields import VECTOR
from granchain.engine.garbage import no_collection
from granchain.engine.saved_loops import DamagedLoop, content_of, discard, sealed, warn
from granchain.errors import LawError

Made = TypeVar("Made")
# What this Numba does not have, each with what is lost.
LACKS: list[str] = []


def private(module: str, *names: str) -> Any:
    """Names of one of Numba's modules: a tuple, or the one."""
    found = import_module(module)
    values = tuple(getattr(found, name) for name in names)
    return values if len(values) > 1 else values[0]


def where_there(make: Callable[[], Made], lost: str) -> Made | None:
    """What is made of Numba's private parts; None, and noted what is lost, where one is missing."""
    try:
        return make()
    except (ImportError, AttributeError) as error:
        LACKS.append(f"{lost} ({error})")
        return None


# ---------------------------------------------------------------------------------------------------------------------
# Options of the compiler that its manual does not name.


def _option(name: str, value: Any, lost: str) -> dict[str, Any]:
    """An option of numba.njit, where this Numba knows it."""
    known = where_there(lambda: getattr(private("numba.core.cpu", "CPUTargetOptions"), name), lost)
    return {} if known is None else {name: value}


# No counting of references: a loop makes no array, and each slice of a table would cost two atomic additions.
UNCOUNTED = _option("_nrt", False, "each slice of a table costs two atomic additions")
# No form for C, as ctypes would call it: nobody does, and a fifth of the time of compiling goes into them.
UNCALLED_FROM_C = _option("no_cfunc_wrapper", True, "a loop takes longer to compile")
# Code put where it is called, for what runs once per contact and step: without it, LLVM decides.
IN_PLACE = _option("forceinline", True, "the functions of a law are called for each contact where LLVM does not put them in place")


# ---------------------------------------------------------------------------------------------------------------------
# Functions inside a loop. Numba makes machine code of each, and again of the loop that holds them all: the first is never run.


def _inner_lowering() -> tuple[type, type]:
    """Numba's lowering to LLVM, and the same for functions inside others, of which no machine code is made."""
    native, register_pass = private("numba.core.typed_passes", "NativeLowering"), private("numba.core.compiler_machinery", "register_pass")
    library: Any = private("numba.core.codegen", "JITCodeLibrary")
    lowering: Any = native
    make_function = private("numba._dynfunc", "make_function")
    library._finalize_final_module, library._finalize_dynamic_globals  # noqa: B018

    class InnerLibrary(library):
        """What LLVM has made of a function, to be linked into that of others."""

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._finalized = True

    @register_pass(mutates_CFG=True, analysis_only=False)
    class InnerLowering(lowering):
        """Numba's lowering to LLVM, for functions inside others."""

        _name = "inner_lowering"

        def run_pass(self, state: Any) -> bool:
            name = state.func_id.func_qualname
            state.library, state.flags.no_compile = InnerLibrary(state.targetctx.codegen(), name), True
            super().run_pass(state)
            lowered = state["cr"]
            # what the functions that call it know it by; there is nothing at its address
            known_by = make_function(lowered.fndesc.lookup_module(), name.split(".")[-1], "", 0, lowered.env, (state.library,))
            state.targetctx.insert_user_function(known_by, lowered.fndesc, [state.library])
            state.reload_init.extend(state.library._reload_init)
            state["cr"] = lowered._replace(cfunc=known_by)
            return True

    return native, InnerLowering


_INNER_LOWERING = where_there(_inner_lowering, "a loop takes longer to compile")


def compiler_with(passes: dict[type, type], *, rows: bool = False) -> type:
    """Numba's compiler with some of its passes replaced; with `rows`, under the promise that no two arrays overlap."""
    compiler: Any
    compiler, builder = private("numba.core.compiler", "Compiler", "DefaultPassBuilder")
    manager = private("numba.core.compiler_machinery", "PassManager")

    class OwnCompiler(compiler):
        """Numba's compiler with some of its passes replaced."""

        def define_pipelines(self) -> list[Any]:
            if rows:
                self.state.flags.noalias = True
            own = manager("nopython")  # as it stands in messages
            for part in (
                builder.define_untyped_pipeline(self.state),
                builder.define_typed_pipeline(self.state),
                builder.define_nopython_lowering_pipeline(self.state),
            ):
                own.passes.extend((passes.get(each, each), text) for each, text in part.passes)
            own.finalize()
            return [own]

    return OwnCompiler


# Options of the functions inside a loop.
INNER: dict[str, Any] = {} if _INNER_LOWERING is None else {"pipeline_class": compiler_with(dict([_INNER_LOWERING]))}


def compile_uncollected(dispatcher: Any) -> None:
    """Let a function be compiled without Python's collection of garbage, which takes a tenth of the time."""
    compile_function = dispatcher.compile

    def compile_at_once(signature: Any) -> Any:
        try:
            with no_collection():
                return compile_function(signature)
        except NumbaError as error:
            raise refusal_of(error) or error from None

    dispatcher.compile = compile_at_once


# The place of a line in what Numba writes, and the folders of what is no law of a user's.
_PLACE = re.compile(r" at (\S[^\n]*) \(([0-9]+)\)")
_OURS = (os.path.dirname(numba.__file__), str(Path(__file__).parents[1]))


def refusal_of(error: NumbaError) -> LawError | None:
    """The error of a law that Numba cannot compile, out of the pages that it writes: the innermost of its reasons; None where the line is
    not a user's."""
    message = str(error)
    place = next((found for found in _PLACE.finditer(message) if not found[1].startswith(_OURS)), None)
    if place is None:
        return None
    reason = message[: place.start()]
    reason = reason.rpartition("Failed in nopython mode pipeline")[2].partition("\n")[2] or reason
    first = next((text.strip() for text in reason.splitlines() if text.strip()), "no reason given")
    return LawError(
        f"{place[1]}, line {place[2]}: Numba cannot compile it: {first}; allowed: + - * /, math.sqrt, comparisons, a if b else c, plain "
        "functions, and log, exp, power of granchain.contact.elementary; write it with these"
    )


# ---------------------------------------------------------------------------------------------------------------------
# Rows in whole vectors. The sweeps are compiled in whole vectors, under the promise that their rows do not overlap: without that, all
# addresses would be compared before each sweep, and short rows, a wave's front, be taken contact by contact.


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


def _row_compiler() -> type:
    """Numba's compiler for functions whose arrays do not overlap, and whose loops run over rows padded to whole vectors."""
    lower: Any = private("numba.core.lowering", "Lower")
    base: Any
    native: Any
    native, base = _INNER_LOWERING or (private("numba.core.typed_passes", "NativeLowering"),) * 2
    register_pass = private("numba.core.compiler_machinery", "register_pass")

    class RowLowering(lower):
        """Marks every loop of a function to be taken in vectors of VECTOR, one at a time."""

        def post_lower(self) -> None:
            super().post_lower()
            order = {block: place for place, block in enumerate(self.function.blocks)}
            for block in self.function.blocks:
                end = block.terminator
                targets = [target for target in getattr(end, "operands", ()) if isinstance(target, ir.Block)]
                if any(order[target] <= order[block] for target in targets):
                    end.set_metadata("llvm.loop", loop_metadata(self.module))

    @register_pass(mutates_CFG=True, analysis_only=False)
    class RowLoweringPass(base):
        """Lowering to LLVM, with the loops marked."""

        _name = "row_lowering"

        @property
        def lowering_class(self) -> type:
            return RowLowering

    return compiler_with({native: RowLoweringPass}, rows=True)


_ROW_COMPILER = where_there(_row_compiler, "the sweeps over a row of contacts are not taken in whole vectors")
# Options of the functions whose arrays are rows.
ROWS: dict[str, Any] = {} if _ROW_COMPILER is None else {"pipeline_class": _ROW_COMPILER}


# ---------------------------------------------------------------------------------------------------------------------
# A tuple of rows as one load a row: gathered by a recursion over closures, each row would be a compiled function, and compiling is what a
# first run waits for.


@cache
def rows_are_loaded() -> bool:
    """Whether a tuple of rows can be gathered by one load a row; looked for late, for these modules of Numba's take a while."""
    return where_there(lambda: private("numba.np.arrayobj", "load_item", "store_item"), "a loop takes longer to compile") is not None


def _row_pointer(context, builder, signature, table, row, k):  # type: ignore[no-untyped-def]
    kind = signature.args[0]
    array = context.make_array(kind)(context, builder, table)
    width = builder.extract_value(array.shape, 1)
    index = builder.add(builder.mul(context.get_constant(types.intp, row), width), k)
    return kind, builder.gep(array.data, [index])


@intrinsic(prefer_literal=True)
def _rows_at(typing_context, table, k, first, count):  # type: ignore[no-untyped-def]
    start, size = first.literal_value, count.literal_value

    def lower(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        load_item = private("numba.np.arrayobj", "load_item")
        values = []
        for row in range(start, start + size):
            kind, pointer = _row_pointer(context, builder, signature, arguments[0], row, arguments[1])
            values.append(load_item(context, builder, kind, pointer))
        return context.make_tuple(builder, signature.return_type, values)

    return types.UniTuple(table.dtype, size)(table, types.intp, first, count), lower


@intrinsic
def _put_rows(typing_context, table, k, values):  # type: ignore[no-untyped-def]
    def lower(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        store_item = private("numba.np.arrayobj", "store_item")
        for row, kind_of_value in enumerate(signature.args[2]):
            kind, pointer = _row_pointer(context, builder, signature, arguments[0], row, arguments[1])
            value = context.cast(builder, builder.extract_value(arguments[2], row), kind_of_value, kind.dtype)
            store_item(context, builder, kind, value, pointer)
        return context.get_dummy_value()

    return types.none(table, types.intp, values), lower


def _rest_of_row(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
    row, first = arguments
    kind = signature.return_type
    rest = context.make_array(kind)(context, builder, row)
    left = builder.sub(builder.extract_value(rest.shape, 0), first)
    rest.data, rest.shape, rest.nitems = builder.gep(rest.data, [first]), cgutils.pack_array(builder, [left]), left
    return impl_ret_borrowed(context, builder, kind, rest._getvalue())


def lower_row_from(row_from: Callable) -> dict[Callable, tuple[Callable, ...]]:
    """Give the function that begins a row at a later column its compiled form; what that is made of.

    It is lowered by itself: without a count of references, no compiled function may give back a row that it makes.
    """

    @type_callable(row_from)
    def typed_row_from(context):  # type: ignore[no-untyped-def]
        return lambda row, first: row

    lower_builtin(row_from, types.Array, types.Integer)(_rest_of_row)
    return {row_from: (_rest_of_row,)}


def lower_named_rows(views: dict[Callable, type]) -> dict[Callable, tuple[Callable, ...]]:
    """Give functions table -> named tuple of its rows their compiled form; what that is made of.

    They too are lowered by themselves, and not compiled row by row: of the seconds of a first run, that took two.
    """
    for view, kind in views.items():

        @type_callable(view)
        def typed_view(context, kind=kind):  # type: ignore[no-untyped-def]
            def typed(table):  # type: ignore[no-untyped-def]
                row = types.Array(table.dtype, table.ndim - 1, table.layout, readonly=not table.mutable, aligned=table.aligned)
                return types.BaseTuple.from_types((row,) * len(kind._fields), kind)

            return typed

        lower_builtin(view, types.Array)(_named_rows)
    return {view: (_named_rows,) for view in views}


def _named_rows(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
    (kind,) = signature.args
    table = context.make_array(kind)(context, builder, arguments[0])
    width = builder.extract_value(table.shape, 1)
    rows = []
    for number, row_kind in enumerate(signature.return_type):
        row = context.make_array(row_kind)(context, builder)
        first = builder.mul(context.get_constant(types.intp, number), width)
        row.data, row.nitems, row.itemsize = builder.gep(table.data, [first]), width, table.itemsize
        row.shape, row.strides = cgutils.pack_array(builder, [width]), cgutils.pack_array(builder, [table.itemsize])
        row.meminfo, row.parent = table.meminfo, table.parent
        rows.append(row._getvalue())
    named = context.make_tuple(builder, signature.return_type, rows)
    return impl_ret_borrowed(context, builder, signature.return_type, named)


def lower_rows(rows_at: Callable, put_rows: Callable, options: dict[str, Any]) -> dict[Callable, tuple[Callable, ...]]:
    """Give the two functions that gather and scatter rows their compiled form; what that is made of."""

    @overload(rows_at, prefer_literal=True, **options)
    def overload_rows_at(table, k, first, count):  # type: ignore[no-untyped-def]
        return lambda table, k, first, count: _rows_at(table, k, first, count)

    @overload(put_rows, **options)
    def overload_put_rows(table, k, values):  # type: ignore[no-untyped-def]
        return lambda table, k, values: _put_rows(table, k, values)

    return {rows_at: (_row_pointer, _rows_at._defn), put_rows: (_row_pointer, _put_rows._defn)}


# ---------------------------------------------------------------------------------------------------------------------
# Doubles taken apart by powers of two, on their bits: by frexp and ldexp, as in plain Python, they would be calls, and no loop with such a
# call is taken in vectors. Unsigned shifts alone: LLVM gives up at signed ones.


def _double_of(builder, bits):  # type: ignore[no-untyped-def]
    return builder.bitcast(bits, ir.DoubleType())


@intrinsic
def _parts(typing_context, x):  # type: ignore[no-untyped-def]
    def lower(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        word = ir.IntType(64)
        # IEEE 754: 52 bits of mantissa, above them the exponent plus 1023. Counted from the bits of sqrt(1/2), whose exponent is -1, the
        # carry of what is above it makes the exponent that of a mantissa from sqrt(1/2) on.
        root_of_half, one, mantissa, two_52 = 0x3FE6A09E667F3BCD, 0x3FF << 52, (1 << 52) - 1, 0x433 << 52
        bits = builder.add(builder.bitcast(arguments[0], word), word(one - root_of_half))
        m = _double_of(builder, builder.add(builder.and_(bits, word(mantissa)), word(root_of_half)))
        # 2^52 + n has the whole number n for its last bits
        n = _double_of(builder, builder.or_(builder.lshr(bits, word(52)), word(two_52)))
        k = builder.fsub(n, ir.DoubleType()(2.0**52 + 1023.0))
        return context.make_tuple(builder, signature.return_type, (m, k))

    return types.UniTuple(types.float64, 2)(types.float64), lower


@intrinsic
def _power_of_two(typing_context, n):  # type: ignore[no-untyped-def]
    def lower(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        word = ir.IntType(64)
        bits = builder.bitcast(builder.fadd(arguments[0], ir.DoubleType()(2.0**52 + 1023.0)), word)
        return _double_of(builder, builder.shl(bits, word(52)))

    return types.float64(types.float64), lower


@intrinsic
def _leading(typing_context, x):  # type: ignore[no-untyped-def]
    def lower(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        word = ir.IntType(64)
        # 27 of the 52 bits behind the point are zero
        return _double_of(builder, builder.and_(builder.bitcast(arguments[0], word), word(-(1 << 27) % (1 << 64))))

    return types.float64(types.float64), lower


def lower_parts(
    parts: Callable, power_of_two: Callable, leading: Callable, options: dict[str, Any]
) -> dict[Callable, tuple[Callable, ...]]:
    """Give the functions that take doubles apart by powers of two their compiled form; what that is made of."""

    @overload(parts, **options)
    def overload_parts(x):  # type: ignore[no-untyped-def]
        return lambda x: _parts(x)

    @overload(power_of_two, **options)
    def overload_power_of_two(n):  # type: ignore[no-untyped-def]
        return lambda n: _power_of_two(n)

    @overload(leading, **options)
    def overload_leading(x):  # type: ignore[no-untyped-def]
        return lambda x: _leading(x)

    made = {parts: _parts, power_of_two: _power_of_two, leading: _leading}
    return {function: (_double_of, intrinsic._defn) for function, intrinsic in made.items()}


# ---------------------------------------------------------------------------------------------------------------------
# Functions that a user's own file compiles: what they are made of, so that it can be hashed and copied.


class Compiled(NamedTuple):
    """A function that the user's own file compiles: its Python, and how it is compiled."""

    function: Any
    decorator: Callable
    signatures: tuple[Any, ...]
    options: dict[str, Any]


_KINDS = where_there(
    lambda: (private("numba.core.dispatcher", "Dispatcher"), private("numba.np.ufunc.dufunc", "DUFunc")),
    "a law that reaches @njit or @vectorize functions is refused",
)


def compiled_by_user(value: Any) -> Compiled | None:
    """What an @njit or @vectorize function is made of; None for anything else."""
    if _KINDS is None or not isinstance(value, _KINDS):
        return None
    if isinstance(value, _KINDS[1]):
        decorator, maker, fixed, more = numba.vectorize, value._dispatcher, value._frozen, {"identity": value.identity}
    else:
        decorator, maker, fixed, more = numba.jit, value, not value._can_compile, {"locals": dict(value.locals)}
    # those that it was given; without, it takes any types, and which it has met so far is no part of it
    signatures = tuple(made.signature for made in maker.overloads.values()) if fixed else ()
    return Compiled(maker.py_func, decorator, signatures, {**maker.targetoptions, **more})


# ---------------------------------------------------------------------------------------------------------------------
# Compiled loops on the disk.


def _number_from_anywhere() -> None:
    """Count compiled functions from a random number on.

    Numba distinguishes the functions inside its compiled loops by a number that each process counts from 1, and the disk cache keeps those
    names: of two loops compiled in two processes and loaded into a third, one then calls the other's functions. Counting from a random
    number makes the names different in every process.
    """
    identity = private("numba.core.bytecode", "FunctionIdentity")
    identity._unique_ids  # noqa: B018
    identity._unique_ids = itertools.count(secrets.randbits(48))


def _loop_cache() -> type:
    """Numba's cache of one loop, under the hash of all that the loop reaches; no fault of it stops a run."""
    _number_from_anywhere()
    os.register_at_fork(after_in_child=_number_from_anywhere)
    function_cache: Any
    index_and_data: Any
    private("numba.core.dispatcher", "Dispatcher").enable_caching  # noqa: B018, for there is then a dispatcher._cache
    function_cache, index_and_data = private("numba.core.caching", "FunctionCache", "IndexDataCacheFile")

    class SealedFiles(index_and_data):
        """Numba's two files of a loop, an index and the code, sealed."""

        def save(self, key: Any, data: Any) -> None:
            # the code carries its key: of two processes that write an index at once, one's may stand with the other's code
            super().save(key, (key, data))

        def load(self, key: Any) -> Any:
            found = super().load(key)
            return found[1] if found is not None and found[0] == key else None

        def _load_index(self) -> dict[Any, str]:
            content = self._checked(self._index_path)
            if content is None:
                return {}
            file = io.BytesIO(content)
            if pickle.load(file) != self._version:
                return {}
            stamp, overloads = pickle.load(file)
            return overloads if stamp == self._source_stamp else {}

        def _load_data(self, name: str) -> Any:
            content = self._checked(self._data_path(name))
            return None if content is None else pickle.loads(content)

        def _checked(self, path: str) -> bytes | None:
            try:
                return content_of(path)
            except FileNotFoundError:
                return None
            except DamagedLoop as damage:
                discard(path, str(damage))
                return None

        @contextlib.contextmanager
        def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
            content = io.BytesIO()
            yield content
            with super()._open_for_write(filepath) as file:
                file.write(sealed(os.path.basename(filepath), content.getvalue()))

    class LoopCache(function_cache):
        """Numba's cache of one loop, under the hash of all that the loop reaches; no fault of it stops a run.

        Numba's own key is the bytecode and the pickled closure. A pickled function stands for what is found under its name, and a compiled
        one for a number that each process draws anew.
        """

        def __init__(self, function: Callable, key: str):
            super().__init__(function)
            self._key = key
            stamp = self._impl.locator.get_source_stamp()
            self._cache_file: Any = SealedFiles(self._cache_path, self._impl.filename_base, stamp)

        def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
            return sig, codegen.magic_tuple(), self._key

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            with contextlib.suppress(Exception):  # then Numba's own way finds it too, or another one
                # Numba would first make known all that can be compiled, which takes a quarter of a second; what loads is compiled
                return self._load_overload(sig, target_context)
            try:
                return super().load_overload(sig, target_context)
            except Exception as error:  # of files that are as they were written, by another build of Numba or Python
                for path in (self._cache_file._index_path, self._cache_file._data_path(self._cache_file._data_name(1))):
                    discard(path, f"cannot be loaded ({type(error).__name__}: {error})")
                return None

        def save_overload(self, sig: Any, data: Any) -> None:
            try:
                super().save_overload(sig, data)
            except OSError as error:
                warn(f"a compiled loop is not saved: {error}. The next process compiles it again; make room, or set NUMBA_CACHE_DIR")

    return LoopCache


_LOOP_CACHE = where_there(_loop_cache, "compiled loops are not saved, and each process compiles them again")


def save_under(dispatcher: Any, function: Callable, key: str) -> None:
    """Let a compiled function be saved on the disk under a key, and loaded from there.

    Raises
    ------
    OSError, RuntimeError
        Where there is no folder to write to.
    """
    if _LOOP_CACHE is None:
        return
    saved = _LOOP_CACHE(function, key)
    os.makedirs(saved.cache_path, exist_ok=True)
    with tempfile.TemporaryFile(dir=saved.cache_path):
        pass
    dispatcher._cache = saved


def saved_in(function: Callable) -> str:
    """The folder in which loops made like this function are saved, or why there is none.

    Raises
    ------
    OSError, RuntimeError
        Where there is no folder to write to.
    """
    return "none: this Numba has no cache that can be checked" if _LOOP_CACHE is None else str(_LOOP_CACHE(function, "").cache_path)
