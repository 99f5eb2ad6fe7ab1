"""Fingerprints of functions: what they read, hashed and copied.

A compiled loop is valid only while nothing that it uses changes. So a law may read plain functions,
numbers, text, tuples and arrays of them, and compiled functions whose Python code is known. All of
it is found in the bytecode and hashed; anything else is rejected. The compiled code is a copy made
together with the hash, so that no later edit, reload, or assignment can change it.
"""

from __future__ import annotations

import builtins
import dataclasses
import dis
import enum
import hashlib
import inspect
import os
import struct
import sys
import types
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba.extending import is_jitted

from granchain.errors import LawError

# Libraries that Numba can compile: their functions and types are hashed by name.
LIBRARIES = ("builtins", "math", "cmath", "operator", "_operator", "numpy", "numba")

# Functions with a compiled form in LLVM code, and the functions that write it. They are hashed, but
# not copied.
LOWERED: dict[Callable, tuple[Callable, ...]] = {}

# Compiled functions of granchain, which others may call.
LOOPS: set[Any] = set()

# Named tuples that the loop reads and makes. They are hashed by their fields.
NAMED_TUPLES: set[type] = set()

REACHABLE = (
    "plain functions, numbers, text, tuples and NumPy arrays of them, attributes of modules, "
    "fields of frozen dataclasses, members of IntEnums, functions under @njit without options"
)
# Value of a name that does not exist.
MISSING: Any = object()


# Flag of a function whose first constant is its docstring. Before Python 3.13, the first constant
# is always the docstring or None.
HAS_DOCSTRING = getattr(inspect, "CO_HAS_DOCSTRING", inspect.CO_OPTIMIZED)


class NameChain(NamedTuple):
    """A chain of names that code reads from outside: a name, then attributes."""

    names: tuple[str, ...]
    free: bool  # True for a name of an enclosing function, False for a name of the module
    line: int


@cache
def chains(code: types.CodeType) -> tuple[NameChain, ...]:
    """List each chain of names that a function and its inner code read from outside.

    Each chain occurs once, in the order of the code.
    """
    distinct: dict[tuple[tuple[str, ...], bool], NameChain] = {}
    stack = [code]
    while stack:
        block = stack.pop()
        reads: list[tuple[list[str], bool, int]] = []
        attribute_follows = False
        for instruction in dis.get_instructions(block):
            name, value = instruction.opname, instruction.argval
            if name == "EXTENDED_ARG":
                continue
            if attribute_follows and name in ("LOAD_ATTR", "LOAD_METHOD"):
                reads[-1][0].append(value)
                continue
            free = name == "LOAD_DEREF" and value in block.co_freevars
            attribute_follows = free or name == "LOAD_GLOBAL"
            if attribute_follows:
                line = instruction.positions.lineno if instruction.positions else None
                reads.append(([value], free, line or block.co_firstlineno))
        for names, free, line in reads:
            distinct.setdefault((tuple(names), free), NameChain(tuple(names), free, line))
        stack.extend(
            constant for constant in block.co_consts if isinstance(constant, types.CodeType)
        )
    return tuple(distinct.values())


@cache
def hash_of_code(code: types.CodeType, documented: bool = True) -> bytes:
    """Hash what a code object does, without its lines, file, and comments.

    If `documented` is False, docstrings are ignored too.
    """
    shape = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    digest = hashlib.sha256(repr((shape, names)).encode())
    constants = code.co_consts
    if (
        not documented
        and constants
        and isinstance(constants[0], str)
        and code.co_flags & HAS_DOCSTRING
    ):
        constants = (None, *constants[1:])
    for piece in (
        code.co_code,
        code.co_exceptiontable,
        *(constant_bytes(value, documented) for value in constants),
    ):
        digest.update(with_length(piece))
    return digest.digest()


def constant_bytes(value: Any, documented: bool = True) -> bytes:
    """Return the exact bytes of a constant of a function's code."""
    if isinstance(value, types.CodeType):
        return b"c" + hash_of_code(value, documented)
    if isinstance(value, tuple):
        return b"t" + b"".join(with_length(constant_bytes(entry, documented)) for entry in value)
    if isinstance(value, frozenset):
        return b"s" + b"".join(
            sorted(with_length(constant_bytes(entry, documented)) for entry in value)
        )
    return b"e" if value is Ellipsis else _number_or_text(value)


def _number_or_text(value: Any) -> bytes:
    """Return exact bytes: -0.0 differs from 0.0, True from 1, and one NaN from another."""
    kind = type(value)
    if kind is float:
        return b"d" + struct.pack("<d", value)
    if kind is complex:
        return b"z" + struct.pack("<dd", value.real, value.imag)
    if kind is str:
        return b"u" + value.encode("utf-8", "surrogatepass")
    return kind.__name__.encode() + b":" + (value if kind is bytes else repr(value).encode())


def with_length(content: bytes) -> bytes:
    """Prepend the length, so that joined contents cannot be confused."""
    return struct.pack("<q", len(content)) + content


_PLAIN = (bool, int, float, complex, str, bytes, type(None))


# Kinds of NumPy scalars whose bytes are only the number, with the maximum size of each. A long
# double has padding bytes.
_SCALARS = {"b": 1, "i": 8, "u": 8, "f": 8, "c": 16}
_LIBRARY_KINDS = (type, types.FunctionType, types.BuiltinFunctionType, type(np.sum), np.ufunc)


def library_name(value: Any) -> str | None:
    """Return module and name of a function or type that Numba knows; else None."""
    if not isinstance(value, _LIBRARY_KINDS):
        return None
    module = "numpy" if isinstance(value, np.ufunc) else str(getattr(value, "__module__", None))
    name = str(getattr(value, "__name__", None))
    if not _is_library(module) or getattr(sys.modules.get(module), name, None) is not value:
        return None
    # A Python function that replaced a library function has its names, but not its file.
    replaced = isinstance(value, types.FunctionType) and not value.__code__.co_filename.startswith(
        _folder_of(module.partition(".")[0])
    )
    return None if replaced else f"{module}.{name}"


@cache
def _folder_of(module: str) -> str:
    """Return the folder of a library."""
    file = getattr(sys.modules[module], "__file__", None) or types.__file__
    return os.path.dirname(file) + os.sep


def _is_library(module: str) -> bool:
    """Check if a module belongs to a library that Numba can compile."""
    return module.partition(".")[0] in LIBRARIES


class Read(NamedTuple):
    """Current value of a chain of names.

    Parameters
    ----------
    chain : NameChain
    space : dict or cell
        Container of the first name: the globals of the function, or a cell.
    prefix : tuple of str
        First names of the chain, up to `owner`.
    owner : object
        Object at these names in a copy: a library module, or the value.
    value : object
        Object that the code reads, where the chain leaves the modules.
    """

    chain: NameChain
    space: Any
    prefix: tuple[str, ...]
    owner: Any
    value: Any


def reads(function: Callable) -> list[Read]:
    """List what a plain function reads from outside; functions that it calls are not searched."""
    code = function.__code__
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    read_chains = []
    for chain in chains(code):
        if chain.free and chain.names[0] not in cells:
            continue  # A variable of the function itself, read by a function inside it
        space: Any = cells[chain.names[0]] if chain.free else function.__globals__
        value, depth, owner = MISSING, 0, MISSING
        for length in range(1, len(chain.names) + 1):
            if length > 1 and not holds_constant(value, chain.names[length - 1]):
                break
            value = _value_of_chain(space, chain.names[:length])
            if owner is MISSING:
                depth = length
                if isinstance(value, types.ModuleType) and _is_library(value.__name__):
                    owner = value
        read_chains.append(
            Read(chain, space, chain.names[:depth], value if owner is MISSING else owner, value)
        )
    return read_chains


def _value_of_chain(space: Any, names: tuple[str, ...]) -> Any:
    """Return the value of a chain of names, up to the first object that is not constant."""
    first, *attributes = names
    if isinstance(space, types.CellType):
        try:
            value = space.cell_contents
        except ValueError:
            return MISSING
    else:
        value = space[first] if first in space else vars(builtins).get(first, MISSING)
    for name in attributes:
        if not holds_constant(value, name):
            break
        value = getattr(value, name, MISSING)
    return value


def holds_constant(value: Any, name: str) -> bool:
    """Check if a name of an object is constant, so that it can be followed.

    This is true for names of modules, fields of frozen dataclasses, and members of IntEnums.
    """
    if isinstance(value, types.ModuleType):
        return True
    if isinstance(value, enum.EnumMeta):
        return issubclass(value, enum.IntEnum) and name in value.__members__
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return False
    frozen: bool = value.__dataclass_params__.frozen  # type: ignore[attr-defined]
    return frozen and name in {field.name for field in dataclasses.fields(value)}


def calls(function: Any) -> Iterator[Any]:
    """Yield the plain functions that a plain function reads, also those of compiled functions."""
    stack = [
        *(read.value for read in reads(function)),
        *(function.__defaults__ or ()),
        *(function.__kwdefaults__ or {}).values(),
    ]
    for value in stack:
        if isinstance(value, types.FunctionType):
            if library_name(value) is None:
                yield value
        elif (python_function := plain_of(value)) is not None:
            yield python_function


# Options of plain @njit; `cache` may be set as well.
_BARE = {"nopython": True, "boundscheck": None}


def plain_of(value: Any) -> Any:
    """Return the plain function of an @njit function, which is compiled as part of the law.

    It is None for anything else, and for functions with other options of @njit.
    """
    if not is_jitted(value):
        return None
    bare = value.targetoptions == _BARE and not value.locals and value._can_compile
    return value.py_func if bare or value in LOOPS else None


class Reach:
    """Everything that given plain functions reach, hashed and copied.

    Parameters
    ----------
    *functions : callable
        Plain functions.
    code : callable
        Function that returns the bytes of a function's code. Default: of its bytecode.

    Attributes
    ----------
    fingerprint : str
        SHA-256 of their code and of everything that it reads. It is the same in every process, and
        for functions that do the same.
    members : list of callable
        All plain functions that are reached, in the order of discovery.
    copies : tuple of callable
        Copies of the given functions and of everything that they reach, which nothing else can
        change.
    checkable : bool
        True if `is_current` can detect every change. This requires that the functions read only
        functions, numbers, text, and tuples of these. Arrays can change in place, and compiled
        objects have other rules, so both must be hashed again.

    Raises
    ------
    LawError
        If a function reads something that cannot be hashed. The message contains the file, the
        line, the object, and a replacement.
    """

    def __init__(self, *functions: Callable, code: Callable[[Any], bytes] | None = None):
        self._code = code or (lambda function: hash_of_code(function.__code__))
        self.members: list[Any] = []
        self.checkable = True
        self._copies: dict[Callable, Any] = {}
        # functions with the code, defaults, and values that were hashed
        self._hashed: list[tuple[Any, types.CodeType, Any]] = []
        self._read: list[tuple[Any, tuple[str, ...], Any]] = []
        digest = hashlib.sha256()
        for function in functions:
            if not isinstance(function, types.FunctionType):
                raise LawError(
                    f"contact law: {function!r} is not valid. The functions of a law must be plain "
                    "Python functions."
                )
            digest.update(self._number_and_copy(function)[0])
        for function in self.members:  # The list grows as functions are found.
            digest.update(with_length(self._contents_of(function)))
        self.fingerprint = digest.hexdigest()
        self.copies = tuple(self._copies[function] for function in functions)

    def _number_and_copy(self, function: Any) -> tuple[bytes, Any]:
        """Return the number of a function and its copy; a new function is added to the members."""
        if function not in self._copies:
            self._copies[function] = function if function in LOWERED else _empty_copy(function)
            self.members.append(function)
        return b"f%d;" % self.members.index(function), self._copies[function]

    def _contents_of(self, function: Any) -> bytes:
        """Return the code of a function and the values that it reads, and fill its copy."""
        if function in LOWERED:
            forms = (function, *LOWERED[function])
            self._hashed += [(form, form.__code__, form.__defaults__) for form in forms]
            return b"".join(self._code(form) + repr(form.__defaults__).encode() for form in forms)
        self._hashed.append((function, function.__code__, function.__defaults__))
        self.checkable &= not function.__kwdefaults__
        copy, contents = self._copies[function], [self._code(function)]
        named = function.__kwdefaults__ or {}
        defaults: dict[Any, Any] = {}
        for name, value in (*enumerate(function.__defaults__ or ()), *sorted(named.items())):
            chain = NameChain((f"default {name}",), False, function.__code__.co_firstlineno)
            encoded, defaults[name] = self._bytes_and_copy(value, function, chain)
            contents += [str(name).encode(), encoded]
        if function.__defaults__ is not None:
            copy.__defaults__ = tuple(v for name, v in defaults.items() if isinstance(name, int))
        copy.__kwdefaults__ = {name: defaults[name] for name in named} or None
        enclosed: dict[str, Any] = {}
        # Sorted by name, because the order in the bytecode depends on the version of Python.
        for read in sorted(reads(function), key=lambda read: read.chain.names):
            self._read.append((read.space, read.chain.names, read.value))
            if isinstance(read.value, enum.IntEnum) and len(read.prefix) < len(read.chain.names):
                raise refusal(read.value, function, read.chain)
            if (
                isinstance(read.owner, types.ModuleType)
                and isinstance(read.value, types.FunctionType)
                and library_name(read.value) is None
            ):
                what = "a function that replaced a library function"
                raise refusal(read.value, function, read.chain, what)
            encoded, value = self._bytes_and_copy(read.value, function, read.chain)
            contents += [repr(read.chain[:2]).encode(), encoded]
            bound = read.owner if isinstance(read.owner, types.ModuleType) else value
            if bound is not MISSING:
                _bind_at(enclosed if read.chain.free else copy.__globals__, read.prefix, bound)
        for name, cell in zip(copy.__code__.co_freevars, copy.__closure__ or (), strict=True):
            if name in enclosed:
                cell.cell_contents = enclosed[name]
        return b"".join(map(with_length, contents))

    def _bytes_and_copy(
        self, value: Any, function: Callable, chain: NameChain
    ) -> tuple[bytes, Any]:
        """Return bytes that identify a value uniquely, and a copy that cannot change."""
        if type(value) in _PLAIN:
            return _number_or_text(value), value
        if value is MISSING:
            return b"missing", MISSING
        if isinstance(value, enum.IntEnum):
            return _number_or_text(int(value)), int(value)
        name = library_name(value)
        if name is not None:
            return b"library " + name.encode(), value
        if isinstance(value, types.FunctionType):
            return self._number_and_copy(value)
        if isinstance(value, np.generic) and value.dtype.itemsize <= _SCALARS.get(
            value.dtype.kind, 0
        ):
            return b"n" + with_length(value.dtype.str.encode()) + value.tobytes(), value
        if type(value) is tuple or (isinstance(value, tuple) and hasattr(value, "_fields")):
            if any(map(callable, value)):  # Numba cannot compile a call of one of them.
                raise refusal(value, function, chain, "a tuple with a function")
            entries = [self._bytes_and_copy(entry, function, chain) for entry in value]
            fields = with_length(repr(getattr(value, "_fields", ())).encode())
            copies = tuple(copy for _, copy in entries)
            return (
                b"t" + fields + b"".join(with_length(encoded) for encoded, _ in entries),
                copies if type(value) is tuple else type(value)(*copies),
            )
        self.checkable = False
        if type(value) is np.ndarray and not value.dtype.hasobject:
            copied = np.array(value, order="K")
            copied.flags.writeable = False
            order = (value.flags.c_contiguous, value.flags.f_contiguous)
            facts = repr((np.lib.format.dtype_to_descr(value.dtype), value.shape, order))
            return b"a" + with_length(facts.encode()) + value.tobytes(), copied
        if isinstance(value, type) and value in NAMED_TUPLES:
            named = repr((value.__qualname__, value._fields))  # type: ignore[attr-defined]
            return b"r" + with_length(named.encode()), value
        if (python_function := plain_of(value)) is not None:
            return self._number_and_copy(python_function)
        raise refusal(value, function, chain)

    def is_current(self) -> bool:
        """Check if the functions still reach what was hashed.

        Objects that cannot change in place are compared by identity.
        """
        return (
            self.checkable
            and all(
                function.__code__ is code
                and function.__defaults__ is defaults
                and not function.__kwdefaults__
                for function, code, defaults in self._hashed
            )
            and all(_value_of_chain(space, names) is value for space, names, value in self._read)
        )


def _empty_copy(function: Any) -> Any:
    """Copy a function without the values that it reads.

    Numba's cache finds the module of a function by name, so the copy is given this module.
    """
    cells = tuple(types.CellType() for _ in function.__code__.co_freevars)
    copy = types.FunctionType(
        function.__code__, {"__name__": __name__}, function.__name__, None, cells
    )
    copy.__qualname__ = function.__qualname__
    copy.__dict__.update(function.__dict__)
    return copy


def _bind_at(space: dict[str, Any], names: tuple[str, ...], value: Any) -> None:
    """Bind a value to a chain of names; modules are made for all names but the last."""
    for name in names[:-1]:
        space = space.setdefault(name, types.ModuleType(name)).__dict__
    space[names[-1]] = value


# --------------------------------------------------------------------------------------------------
# Rejected objects, and what to write instead


def refusal(value: Any, function: Callable, chain: NameChain, what: str = "") -> LawError:
    """Return the error for an object that cannot be hashed, with a replacement."""
    if isinstance(value, types.ModuleType):
        what, instead = "a whole module", "Use one of its attributes directly"
    elif isinstance(value, type):
        what, instead = "a class", "Move its functions and numbers to the top level of the file"
    elif callable(value):
        instead = "Use a plain function instead"
    elif isinstance(value, tuple):
        instead = "Call each function by its own name"
    else:
        instead = "Use constants, a tuple, or a NumPy array of numbers instead"
    kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    code = function.__code__
    return LawError(
        f"{code.co_filename}, line {chain.line}: {function.__qualname__} reads "
        f"{'.'.join(chain.names)}, {what or f'an object of type {kind}'}. The compiled loop cannot "
        f"detect its changes. A law may read {REACHABLE}. {instead}."
    )
