"""What some plain functions reach: found in their bytecode, refused where it cannot be hashed,
hashed, and copied.

A compiled loop is right for as long as nothing under it changes. So a law may reach plain
functions, numbers, text, tuples and arrays of them, and compiled functions whose Python is known;
the hash covers all of it, and what is compiled is a copy made together with the hash: no later
edit, reload or assignment gets under a compiled loop, and what was compiled is what was hashed.
"""

from __future__ import annotations

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

from granchain.errors import LawError
from granchain.jit.private import private, where_available

# What Numba brings a compiled form of by itself: a function or a type of theirs is hashed by its
# name.
LIBRARIES = ("builtins", "math", "cmath", "operator", "_operator", "numpy", "numba")

# Functions that have a compiled form of their own, with the functions that it is made of: they are
# hashed, and not copied.
LOWERED: dict[Callable, tuple[Callable, ...]] = {}

# Our own compiled functions, which others may call.
LOOPS: set[Any] = set()

# Named tuples that the loop reads and makes: they are hashed by their fields.
NAMED_TUPLES: set[type] = set()

REACHABLE = (
    "plain functions, numbers, text, tuples and NumPy arrays of them, attributes of modules, "
    "fields of frozen dataclasses, members of IntEnums, functions under @njit without options"
)
# Where a name stands for nothing.
MISSING: Any = object()


# Of a function whose first constant is its docstring; before Python 3.13 that of every one is, or
# None.
HAS_DOCSTRING = getattr(inspect, "CO_HAS_DOCSTRING", inspect.CO_OPTIMIZED)


class NameChain(NamedTuple):
    """One thing that code reads from outside itself: a name, and attribute after attribute of
    it."""

    names: tuple[str, ...]
    free: bool  # of an enclosing function, not of the module
    line: int


@cache
def chains(code: types.CodeType) -> tuple[NameChain, ...]:
    """Every chain of names that a function's code, and the code within it, reads from outside;
    each once, in the order met."""
    found: dict[tuple[tuple[str, ...], bool], NameChain] = {}
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
            found.setdefault((tuple(names), free), NameChain(tuple(names), free, line))
        stack.extend(
            constant for constant in block.co_consts if isinstance(constant, types.CodeType)
        )
    return tuple(found.values())


@cache
def hash_of_code(code: types.CodeType, documented: bool = True) -> bytes:
    """Of what a code object does; not of its lines, its file and its comments, nor, where not
    `documented`, its docstrings."""
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
    """A constant of a function's code, bit by bit."""
    if isinstance(value, types.CodeType):
        return b"c" + hash_of_code(value, documented)
    if isinstance(value, tuple):
        return b"t" + b"".join(with_length(constant_bytes(part, documented)) for part in value)
    if isinstance(value, frozenset):
        return b"s" + b"".join(
            sorted(with_length(constant_bytes(part, documented)) for part in value)
        )
    return b"e" if value is Ellipsis else _number_or_text(value)


def _number_or_text(value: Any) -> bytes:
    """Bit by bit: -0.0 is not 0.0, True is not 1, and one NaN is not another."""
    kind = type(value)
    if kind is float:
        return b"d" + struct.pack("<d", value)
    if kind is complex:
        return b"z" + struct.pack("<dd", value.real, value.imag)
    if kind is str:
        return b"u" + value.encode("utf-8", "surrogatepass")
    return kind.__name__.encode() + b":" + (value if kind is bytes else repr(value).encode())


def with_length(content: bytes) -> bytes:
    """With its length in front: what follows is then something else."""
    return struct.pack("<q", len(content)) + content


_PLAIN = (bool, int, float, complex, str, bytes, type(None))


# Kinds of NumPy scalars whose bytes are the number and nothing else (a long double has bytes that
# mean nothing), with the longest of each.
_SCALARS = {"b": 1, "i": 8, "u": 8, "f": 8, "c": 16}
_LIBRARY_KINDS = (type, types.FunctionType, types.BuiltinFunctionType, type(np.sum), np.ufunc)


def library_name(value: Any) -> str | None:
    """Module and name of a function or a type that Numba knows by itself; None for anything
    else."""
    if not isinstance(value, _LIBRARY_KINDS):
        return None
    module = "numpy" if isinstance(value, np.ufunc) else str(getattr(value, "__module__", None))
    name = str(getattr(value, "__name__", None))
    if not _is_library(module) or getattr(sys.modules.get(module), name, None) is not value:
        return None
    # a function in Python that was put in a library's place has the library's names, and not its
    # file
    own = isinstance(value, types.FunctionType) and not value.__code__.co_filename.startswith(
        _folder_of(module.partition(".")[0])
    )
    return None if own else f"{module}.{name}"


@cache
def _folder_of(module: str) -> str:
    """Where a library's files are."""
    file = getattr(sys.modules[module], "__file__", None) or types.__file__
    return os.path.dirname(file) + os.sep


def _is_library(module: str) -> bool:
    return module.partition(".")[0] in LIBRARIES


class Read(NamedTuple):
    """What a chain of names stands for now.

    Parameters
    ----------
    chain : NameChain
    place : tuple of str
        The first names of it, up to `owner`.
    owner : object
        What a copy finds there: a library's module, or the value.
    value : object
        What the code gets: where the chain leaves the modules.
    """

    chain: NameChain
    place: tuple[str, ...]
    owner: Any
    value: Any


def reads(function: Callable) -> list[Read]:
    """All that a plain function reads from outside itself, without descending."""
    code = function.__code__
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    found = []
    for chain in chains(code):
        first, *rest = chain.names
        if not chain.free:
            value = _outside(function.__globals__, first)
        elif first in cells:
            value = _cell_value(cells[first])
        else:
            continue  # of the function itself, read by one within it
        place, owner = [first], MISSING
        for name in rest:
            if not holds_constant(value, name):
                break
            if (
                owner is MISSING
                and isinstance(value, types.ModuleType)
                and _is_library(value.__name__)
            ):
                owner = value
            value = getattr(value, name, MISSING)
            if owner is MISSING:
                place.append(name)
        found.append(Read(chain, tuple(place), value if owner is MISSING else owner, value))
    return found


def holds_constant(value: Any, name: str) -> bool:
    """Whether a name of this is followed: of a module; of a frozen dataclass, a field; of an
    IntEnum, a member."""
    if isinstance(value, types.ModuleType):
        return True
    if isinstance(value, enum.EnumMeta):
        return issubclass(value, enum.IntEnum) and name in value.__members__
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return False
    frozen: bool = value.__dataclass_params__.frozen  # type: ignore[attr-defined]
    return frozen and name in {field.name for field in dataclasses.fields(value)}


def _outside(space: dict[str, Any], name: str) -> Any:
    """What a name of a module stands for in its functions."""
    return space[name] if name in space else sys.modules["builtins"].__dict__.get(name, MISSING)


def _cell_value(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def calls(function: Any) -> Iterator[Any]:
    """The plain functions that a plain function reads itself, also out of tuples and of
    compiled functions."""
    stack = [
        *(read.value for read in reads(function)),
        *(function.__defaults__ or ()),
        *(function.__kwdefaults__ or {}).values(),
    ]
    for value in stack:  # which grows by the parts of tuples
        if isinstance(value, types.FunctionType):
            if library_name(value) is None:
                yield value
        elif isinstance(value, tuple):
            stack.extend(value)
        elif (own := plain_of(value)) is not None:
            yield own


_DISPATCHER: Any = where_available(
    lambda: private("numba.core.dispatcher", "Dispatcher"),
    "a law that reaches @njit functions is refused",
)
# Of @njit alone, and that a function is also saved.
_BARE = {"nopython": True, "boundscheck": None}


def plain_of(value: Any) -> Any:
    """The plain function that an @njit one is made of: in a loop it is compiled as the whole law
    is. None for anything else, and where it was to be compiled in some way of its own."""
    if _DISPATCHER is None or not isinstance(value, _DISPATCHER):
        return None
    bare = value.targetoptions == _BARE and not value.locals and value._can_compile
    return value.py_func if bare or value in LOOPS else None


class Reach:
    """Everything that some plain functions reach.

    Parameters
    ----------
    *functions : callable
        Plain functions.
    code : callable
        Bytes of the code of a function; default: of its bytecode.

    Attributes
    ----------
    fingerprint : str
        SHA-256 of their code and of all that it reads: the same in every process, and for functions
        that do the same.
    members : list of callable
        Every plain function among it, in the order met.
    checkable : bool
        Whether `stands` can see every change: what is read are functions, numbers, text and tuples
        of them, by their names. What is written to in place (an array), or is compiled by its own
        rules, has to be hashed again.

    Raises
    ------
    LawError
        Where one reads something that cannot be hashed: with file, line, what it is, and what to
        write instead.
    """

    def __init__(self, *functions: Callable, code: Callable[[Any], bytes] | None = None):
        self._code = code or (lambda function: hash_of_code(function.__code__))
        self.members: list[Any] = []
        self.checkable = True
        self._functions = functions
        self._number: dict[Callable, int] = {}
        self._reads: dict[Callable, list[Read]] = {}
        self._as_hashed: dict[Callable, tuple[types.CodeType, tuple[Any, ...] | None]] = {}
        self._seen: list[
            tuple[
                Any, types.CodeType, tuple[Any, ...] | None, list[tuple[Any, tuple[str, ...], Any]]
            ]
        ] = []
        digest = hashlib.sha256()
        for function in functions:
            if not isinstance(function, types.FunctionType):
                raise LawError(
                    f"contact law: {function!r} is not valid. The functions of a law must be plain "
                    "Python functions."
                )
            digest.update(self._met(function))
        for function in self.members:  # which grows as functions are met
            digest.update(with_length(self._described(function)))
        self.fingerprint = digest.hexdigest()

    def _met(self, function: Callable) -> bytes:
        """A function by its number; one that is met for the first time is to be described."""
        if function not in self._number:
            self._number[function] = len(self.members)
            self.members.append(function)
        return b"f%d;" % self._number[function]

    def _described(self, function: Any) -> bytes:
        """Code of a function and the values of all that it reads; the functions among them by
        their numbers."""
        if function in LOWERED:
            parts = (function, *LOWERED[function])
            self._as_hashed |= {part: (part.__code__, part.__defaults__) for part in parts}
            return b"".join(self._code(part) + repr(part.__defaults__).encode() for part in parts)
        code, defaults = function.__code__, function.__defaults__
        self._as_hashed[function] = code, defaults
        contents = [self._code(function)]
        self.checkable &= not function.__kwdefaults__
        for name, value in (
            *enumerate(defaults or ()),
            *sorted((function.__kwdefaults__ or {}).items()),
        ):
            chain = NameChain((f"default {name}",), False, code.co_firstlineno)
            contents += [str(name).encode(), self._encoded(value, function, chain)]
        self._reads[function] = reads(function)
        # by name: the order of the bytecode is a Python's own
        for read in sorted(self._reads[function], key=lambda read: read.chain.names):
            if isinstance(read.value, enum.IntEnum) and len(read.place) < len(read.chain.names):
                raise refusal(read.value, function, read.chain)
            if (
                isinstance(read.owner, types.ModuleType)
                and isinstance(read.value, types.FunctionType)
                and library_name(read.value) is None
            ):
                what = "a function that replaced a library function"
                raise refusal(read.value, function, read.chain, what)
            contents += [
                repr(read.chain[:2]).encode(),
                self._encoded(read.value, function, read.chain),
            ]
        return b"".join(map(with_length, contents))

    def _encoded(self, value: Any, function: Callable, chain: NameChain) -> bytes:
        """Bytes that stand for this value and no other."""
        if type(value) in _PLAIN:
            return _number_or_text(value)
        if value is MISSING:
            return b"missing"
        if isinstance(value, enum.IntEnum):
            return _number_or_text(int(value))
        name = library_name(value)
        if name is not None:
            return b"library " + name.encode()
        if isinstance(value, types.FunctionType):
            return self._met(value)
        if isinstance(value, np.generic) and value.dtype.itemsize <= _SCALARS.get(
            value.dtype.kind, 0
        ):
            return b"n" + with_length(value.dtype.str.encode()) + value.tobytes()
        if type(value) is tuple or (isinstance(value, tuple) and hasattr(value, "_fields")):
            fields = repr(getattr(value, "_fields", ())).encode()
            return (
                b"t"
                + with_length(fields)
                + b"".join(with_length(self._encoded(part, function, chain)) for part in value)
            )
        self.checkable = False
        if type(value) is np.ndarray and not value.dtype.hasobject:
            order = (value.flags.c_contiguous, value.flags.f_contiguous)
            facts = repr((np.lib.format.dtype_to_descr(value.dtype), value.shape, order))
            return b"a" + with_length(facts.encode()) + value.tobytes()
        if isinstance(value, type) and value in NAMED_TUPLES:
            fields = value._fields  # type: ignore[attr-defined]
            return b"r" + with_length(repr((value.__qualname__, fields)).encode())
        if (own := plain_of(value)) is not None:
            return self._met(own)
        raise refusal(value, function, chain)

    def stands(self) -> bool:
        """Whether all that was hashed is still what the functions reach, seen by the identity
        of what cannot change in place."""
        if not self.checkable:
            return False
        if not self._seen:
            seen = []
            for function, (code, defaults) in self._as_hashed.items():
                cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
                places = [
                    (
                        cells[read.chain.names[0]] if read.chain.free else function.__globals__,
                        read.chain.names,
                        read.value,
                    )
                    for read in self._reads.get(function, ())
                ]
                seen.append((function, code, defaults, places))
            self._seen = seen  # whole, for another thread
        for function, code, defaults, places in self._seen:
            if (
                function.__code__ is not code
                or function.__defaults__ is not defaults
                or function.__kwdefaults__
            ):
                return False
            for space, names, before in places:
                value = (
                    _cell_value(space)
                    if isinstance(space, types.CellType)
                    else _outside(space, names[0])
                )
                for name in names[1:]:
                    if not holds_constant(value, name):
                        break
                    value = getattr(value, name, MISSING)
                if value is not before:
                    return False
        return True

    def copies(self) -> tuple[Callable, ...]:
        """The functions given, copied with all that they reach: nothing that a copy reads
        changes any more."""
        made: dict[int, Any] = {}

        def copied(value: Any) -> Any:
            if id(value) in made:
                return made[id(value)]
            if (own := plain_of(value)) is not None:
                return made[id(own)]
            if isinstance(value, enum.IntEnum):
                return int(value)
            if isinstance(value, tuple):
                parts = tuple(map(copied, value))
                return parts if type(value) is tuple else type(value)(*parts)
            if type(value) is np.ndarray:
                made[id(value)] = copy = np.array(value, order="K")
                copy.flags.writeable = False
                return copy
            return value

        for function in self.members:
            made[id(function)] = function if function in LOWERED else _empty_copy(function)
        for function in self._reads:
            copy = made[id(function)]
            copy.__defaults__ = copied(function.__defaults__)
            copy.__kwdefaults__ = function.__kwdefaults__ and {
                name: copied(value) for name, value in function.__kwdefaults__.items()
            }
        for function, found in self._reads.items():
            copy = made[id(function)]
            enclosed: dict[str, Any] = {}
            for read in found:
                if read.owner is not MISSING:
                    _bind_at(
                        enclosed if read.chain.free else copy.__globals__,
                        read.place,
                        copied(read.owner),
                    )
            for name, cell in zip(copy.__code__.co_freevars, copy.__closure__ or (), strict=True):
                if name in enclosed:
                    cell.cell_contents = enclosed[name]
        return tuple(made[id(function)] for function in self._functions)


def _empty_copy(function: Any) -> Any:
    """A function with the same code, and nothing yet of what it reads. Numba's cache finds the
    module of a function by name: this one."""
    cells = tuple(types.CellType() for _ in function.__code__.co_freevars)
    copy = types.FunctionType(
        function.__code__, {"__name__": __name__}, function.__name__, None, cells
    )
    copy.__qualname__ = function.__qualname__
    copy.__dict__.update(function.__dict__)
    return copy


def _bind_at(space: dict[str, Any], place: tuple[str, ...], value: Any) -> None:
    """Bind a value to a chain of names, through modules made for this if there is more than one
    name."""
    for name in place[:-1]:
        space = space.setdefault(name, types.ModuleType(name)).__dict__
    space[place[-1]] = value


# --------------------------------------------------------------------------------------------------
# What is refused, and what to write instead.


def refusal(value: Any, function: Callable, chain: NameChain, what: str = "") -> LawError:
    """The error for an object that cannot be hashed: what it is, and what to use instead."""
    if isinstance(value, types.ModuleType):
        what, instead = "a whole module", "Use one of its attributes directly"
    elif isinstance(value, type):
        what, instead = "a class", "Move its functions and numbers to the top level of the file"
    elif callable(value):
        instead = "Use a plain function instead"
    else:
        instead = "Use constants, a tuple, or a NumPy array of numbers instead"
    kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    code = function.__code__
    return LawError(
        f"{code.co_filename}, line {chain.line}: {function.__qualname__} reads "
        f"{'.'.join(chain.names)}, {what or f'an object of type {kind}'}. The compiled loop cannot "
        f"detect its changes. A law may read {REACHABLE}. {instead}."
    )
