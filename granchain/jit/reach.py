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
import marshal
import sys
import types
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba.extending import is_jitted

from granchain.errors import LawError

# Libraries that Numba can compile: their functions and types are hashed by name.
LIBRARIES = ("builtins", "math", "cmath", "operator", "_operator", "numpy", "numba")
LIBRARY_KINDS = (type, types.FunctionType, types.BuiltinFunctionType, type(np.sum), np.ufunc)

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
# Version of Python's format of constants in which equal constants have equal bytes. It
# distinguishes -0.0 from 0.0, True from 1, and one NaN from another.
EXACT = 2
PLAIN = (bool, int, float, complex, str, bytes, type(None))
# NumPy's letters for the types whose bytes are only the number. A long double has padding bytes.
NUMBERS = "?efdFD" + np.typecodes["AllInteger"]
# Options of plain @njit; `cache` may be set as well.
BARE = {"nopython": True, "boundscheck": None}


class NameChain(NamedTuple):
    """A chain of names that code reads from outside: a name, then attributes."""

    names: tuple[str, ...]
    free: bool  # True for a name of an enclosing function, False for a name of the module
    line: int


@cache
def chains(code: types.CodeType) -> tuple[NameChain, ...]:
    """List each chain of names that a function and its inner code read from outside.

    The list is sorted by name, because the order in the bytecode depends on the version of Python.
    """
    reads: list[tuple[list[str], bool, int]] = []
    blocks = [code]
    for block in blocks:  # The list grows as inner code is found.
        blocks += [value for value in block.co_consts if isinstance(value, types.CodeType)]
        names: list[str] = []  # the chain that the next instruction may continue
        for instruction in dis.get_instructions(block):
            name, value = instruction.opname, instruction.argval
            free = name == "LOAD_DEREF" and value in block.co_freevars
            if free or name == "LOAD_GLOBAL":
                line = instruction.positions and instruction.positions.lineno
                names = [value]
                reads.append((names, free, line or block.co_firstlineno))
            elif names and name in ("LOAD_ATTR", "LOAD_METHOD"):
                names.append(value)
            elif name != "EXTENDED_ARG":
                names = []
    lines = {(tuple(names), free): line for names, free, line in reversed(reads)}
    return tuple(NameChain(*chain, lines[chain]) for chain in sorted(lines))


@cache
def code_bytes(code: types.CodeType) -> bytes:
    """Return what a code object does, without its names, lines, file, comments, and docstrings."""

    def bare(code: types.CodeType) -> types.CodeType:
        # A docstring is a constant that no instruction loads.
        steps = dis.get_instructions(code)
        loaded = {step.arg for step in steps if step.opcode in dis.hasconst}
        constants = [
            bare(value) if isinstance(value, types.CodeType) else value if k in loaded else None
            for k, value in enumerate(code.co_consts)
        ]
        return code.replace(
            co_consts=tuple(constants), co_filename="", co_name="", co_qualname="",
            co_firstlineno=0, co_linetable=b"",
        )  # fmt: skip

    return marshal.dumps(bare(code), EXACT)


def library_name(value: Any) -> str | None:
    """Return module and name of a function or type that Numba knows; else None."""
    if not isinstance(value, LIBRARY_KINDS):
        return None
    module = "numpy" if isinstance(value, np.ufunc) else str(value.__module__)
    # A Python function that replaced a library function may have its name, but not its module.
    home = value.__globals__["__name__"] if isinstance(value, types.FunctionType) else module
    in_libraries = {module.partition(".")[0], home.partition(".")[0]} <= set(LIBRARIES)
    same = getattr(sys.modules.get(module), value.__name__, None) is value
    return f"{module}.{value.__name__}" if in_libraries and same else None


def plain_of(value: Any) -> Any:
    """Return the plain function of an @njit function, which is compiled as part of the law.

    It is None for anything else, and for functions with other options of @njit.
    """
    if not is_jitted(value):
        return None
    bare = value.targetoptions == BARE and not value.locals and value._can_compile
    return value.py_func if bare or value in LOOPS else None


def holds_constant(value: Any, name: str) -> bool:
    """Check if a name of an object is constant, so that it can be followed.

    This is true for names of modules, fields of frozen dataclasses, and members of IntEnums.
    """
    if isinstance(value, enum.EnumMeta):
        return issubclass(value, enum.IntEnum) and name in value.__members__
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        frozen: bool = value.__dataclass_params__.frozen  # type: ignore[attr-defined]
        return frozen and name in value.__dataclass_fields__
    return isinstance(value, types.ModuleType)


def followed(space: Any, names: tuple[str, ...]) -> tuple[Any, int]:
    """Return the first object of a chain of names that is not constant, and its position.

    `space` contains the first name: the globals of a function, or a cell. The position is the
    number of names up to the object.
    """
    if isinstance(space, types.CellType):
        try:
            value = space.cell_contents
        except ValueError:
            value = MISSING
    else:
        value = space[names[0]] if names[0] in space else vars(builtins).get(names[0], MISSING)
    depth = 1
    while depth < len(names) and holds_constant(value, names[depth]):
        value = getattr(value, names[depth], MISSING)
        depth += 1
    return value, depth


class Reach:
    """Everything that given plain functions reach, hashed and copied.

    Parameters
    ----------
    *functions : callable
        Plain functions.

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

    def __init__(self, *functions: Callable):
        self.members: list[Any] = []
        self.checkable = True
        self._copies: dict[Callable, Any] = {}
        # functions with the code, defaults, and values that were hashed
        self._hashed: list[tuple[Any, types.CodeType, Any]] = []
        self._read: list[tuple[Any, tuple[str, ...], Any]] = []
        for function in functions:
            if not isinstance(function, types.FunctionType):
                raise LawError(
                    f"contact law: {function!r} is not valid. The functions of a law must be plain "
                    "Python functions."
                )
        contents: list[Any] = [self._number_and_copy(function)[0] for function in functions]
        contents += map(self._contents_of, self.members)  # The list grows as functions are found.
        self.fingerprint = hashlib.sha256(marshal.dumps(contents, EXACT)).hexdigest()
        self.copies = tuple(self._copies[function] for function in functions)

    def _number_and_copy(self, function: Any) -> tuple[Any, Any]:
        """Return the number of a function and its copy; a new function is added to the members.

        The copy is empty: `_contents_of` adds what the function reads. Numba's cache finds the
        module of a function by name, so the copy has the name of this module.
        """
        if function not in self._copies:
            self.members.append(function)
            copy: Any = function
            if function not in LOWERED:
                cells = tuple(types.CellType() for _ in function.__code__.co_freevars)
                space = {"__name__": __name__}
                copy = types.FunctionType(function.__code__, space, function.__name__, None, cells)
                copy.__qualname__ = function.__qualname__
                copy.__dict__.update(function.__dict__)
            self._copies[function] = copy
        return ("function", self.members.index(function)), self._copies[function]

    def _contents_of(self, function: Any) -> list[Any]:
        """Return the code of a function and the values that it reads, and fill its copy."""
        forms = function, *LOWERED.get(function, ())
        self._hashed += [(form, form.__code__, form.__defaults__) for form in forms]
        if function in LOWERED:
            return [(code_bytes(form.__code__), repr(form.__defaults__)) for form in forms]
        copy, code = self._copies[function], function.__code__
        positional, named = function.__defaults__ or (), function.__kwdefaults__ or {}
        self.checkable &= not named
        contents: list[Any] = [code_bytes(code), len(positional), tuple(named)]
        defaults = []
        for number, value in enumerate((*positional, *named.values())):
            chain = NameChain((f"default {number}",), False, code.co_firstlineno)
            encoded, copied = self._bytes_and_copy(value, function, chain)
            contents.append(encoded)
            defaults.append(copied)
        copy.__defaults__ = tuple(defaults[: len(positional)])
        copy.__kwdefaults__ = dict(zip(named, defaults[len(positional) :], strict=True)) or None
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        enclosed: dict[str, Any] = {}
        for chain in chains(code):
            if chain.free and chain.names[0] not in cells:
                continue  # a variable of the function itself, read by a function inside it
            space = cells[chain.names[0]] if chain.free else function.__globals__
            value, depth = followed(space, chain.names)
            self._read.append((space, chain.names, value))
            if isinstance(value, enum.IntEnum) and depth < len(chain.names):
                raise refusal(value, function, chain)
            encoded, copied = self._bytes_and_copy(value, function, chain)
            contents += [chain[:2], encoded]
            if copied is not MISSING:
                *modules, name = chain.names[:depth]
                target = enclosed if chain.free else copy.__globals__
                for module in modules:
                    target = target.setdefault(module, types.ModuleType(module)).__dict__
                target[name] = copied
        for name, cell in zip(code.co_freevars, copy.__closure__ or (), strict=True):
            if name in enclosed:
                cell.cell_contents = enclosed[name]
        return contents

    def _bytes_and_copy(self, value: Any, function: Callable, chain: NameChain) -> tuple[Any, Any]:
        """Return constants that identify a value uniquely, and a copy that cannot change."""
        if type(value) in PLAIN:
            return value, value
        if value is MISSING:
            return ("missing",), MISSING
        if isinstance(value, enum.IntEnum):
            return int(value), int(value)
        if (name := library_name(value)) is not None:
            return ("library", name), value
        if isinstance(value, types.FunctionType):
            return self._number_and_copy(value)
        if isinstance(value, np.generic) and value.dtype.char in NUMBERS:
            return ("number", value.dtype.str, value.tobytes()), value
        if type(value) is tuple or (isinstance(value, tuple) and hasattr(value, "_fields")):
            if any(map(callable, value)):  # Numba cannot compile a call of one of them.
                raise refusal(value, function, chain, "a tuple with a function")
            entries = [self._bytes_and_copy(entry, function, chain) for entry in value]
            copies = tuple(copy for _, copy in entries)
            encoded = "tuple", getattr(value, "_fields", ()), tuple(code for code, _ in entries)
            return encoded, copies if type(value) is tuple else type(value)(*copies)
        self.checkable = False
        if type(value) is np.ndarray and not value.dtype.hasobject:
            copied = np.array(value, order="K")
            copied.flags.writeable = False
            order = value.flags.c_contiguous, value.flags.f_contiguous
            return ("array", repr(value.dtype), value.shape, order, value.tobytes()), copied
        if isinstance(value, type) and value in NAMED_TUPLES:
            return ("fields", value.__qualname__, vars(value)["_fields"]), value
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
            and all(followed(space, names)[0] is value for space, names, value in self._read)
        )


def refusal(value: Any, function: Callable, chain: NameChain, what: str = "") -> LawError:
    """Return the error for an object that cannot be hashed, with a replacement."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    what = what or f"an object of type {kind}"
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
    return LawError(
        f"{function.__code__.co_filename}, line {chain.line}: {function.__qualname__} reads "
        f"{'.'.join(chain.names)}, {what}. The compiled loop cannot detect its changes. A law may "
        f"read {REACHABLE}. {instead}."
    )
