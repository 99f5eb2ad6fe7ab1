"""Laws in files, and kinds of edits that make a previously compiled loop invalid."""

import contextlib
import importlib
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from granchain.contact.law import Functions
from granchain.engine.mixture import with_copies
from granchain.engine.setup import PLAIN_KINDS, compiled_scan, over_kinds
from granchain.jit.compile import frozen

# A law with constants in its file (`top`), in a file next to it (`near`), and in a package (`sub`).
LAW = """
import math
import numpy as np
from granchain.contact.law import OPEN, ContactLaw, Quantity, Source
{top}

class Mine(ContactLaw):
    '''A spring of my own.'''
    name = "mine"
    source = Source("a test")
    coefficients = (Quantity("stiffness", "N/m", "K"),)

    @staticmethod
    def force(overlap, rate, c, h):
        d = overlap if overlap > OPEN else 0.0
        return c[0] * d * ({expression})

    @staticmethod
    def energy(overlap, c, h):
        d = overlap if overlap > OPEN else 0.0
        return 0.5 * c[0] * d * d
"""
STIFFNESS, OVERLAP = 1e6, 1e-6


class Files(NamedTuple):
    """Texts of the file of a law, of its force, of a file next to it, and two levels down in a
    package."""

    top: str = ""
    expression: str = "1.0"
    near: str = ""
    sub: str = ""

    def write(self, folder):
        """Write the texts into a folder as law.py, near.py, and pkg/sub.py."""
        (folder / "pkg").mkdir(parents=True, exist_ok=True)
        (folder / "law.py").write_text(LAW.format(top=self.top, expression=self.expression))
        head = "import numpy as np\nfrom numba import njit\n"
        (folder / "near.py").write_text(f"{head}{self.near}\n")
        (folder / "pkg" / "__init__.py").write_text("from pkg import sub\n")
        (folder / "pkg" / "sub.py").write_text(f"{head}{self.sub}\n")


def _pair(expression, top="", near="", sub="", *, values=("2.0", "3.0")):
    """Return files before and after an edit that replaces one value by another at each {}."""
    before, after = (
        Files(*(text.replace("{}", value) for text in (top, expression, near, sub)))
        for value in values
    )
    return before, after


# Texts with edits; {} marks the edited position.
MAKER = """
def maker(K):
    def shape(d):
        return {}
    return shape
"""
SHAPE_OF = "def shape(x):\n    return {}"
WITHIN = "def shape(x):\n    def within(y{}):\n        return {} * y\n    return within(x)"
LOCAL = "def shape(x):\n    k = {}\n    def within(y):\n        return k * y\n    return within(x)"
WRAPPED = """
import functools
def twice(function):
    @functools.wraps(function)
    def wrapper(x):
        return {} * function(x)
    return wrapper
@twice
def shape(x):
    return x
"""
CONSTANTS = """
import enum
from dataclasses import dataclass

class Phase(enum.IntEnum):
    OPEN = 1
    CLOSED = {}

@dataclass(frozen=True)
class Inner:
    z: float = {}.0

@dataclass(frozen=True)
class Steel:
    k: float = {}.0
    inner: Inner = Inner()

steel, closed = Steel(), Phase.CLOSED
"""
PAIR = "from collections import namedtuple\n"
NUMBA = "from numba import njit\n"
NJIT = "@njit\n" + SHAPE_OF


def of(text, *values):
    """Return a text with its {} replaced by these values, in order."""
    for value in values:
        text = text.replace("{}", value.replace("{}", "\0"), 1)
    return text.replace("\0", "{}")


# 1, and the difference of 0.1 as a 4-byte number from 0.1, in units of 1e-8.
WIDTH = "1e8 * (float({}) - 0.1) + 1.0"
WIDTHS = ("float32", "float64")
CALL = "shape(d) / d"

# Files before and after, by the edited object.
IN_FILES = {
    "number in the force": _pair("{}"),
    "operator in the force": _pair("3.0 {} 2.0", values=("+", "*")),
    "comparison in the force": _pair("1.0 if rate {} 0.0 else 2.0", values=("<", ">")),
    "constant tuple in the force": _pair("(1.0, {})[1]"),
    "name in the force": _pair("{}", "A = 2.0\nB = 3.0", values=("A", "B")),
    "branch in the force": _pair("2.0 if {} else 3.0", values=("rate > 0.0", "not rate > 0.0")),
    "float": _pair("K", "K = {}"),
    "switch": _pair("2.0 if K else 3.0", "K = {}", values=("True", "False")),
    "sign of zero": _pair("math.copysign(2.0, K)", "K = {}", values=("0.0", "-0.0")),
    "last bit of a float": _pair(
        "1e16 * (K - 1.0)", "K = {}", values=("1.0", "1.0000000000000002")),
    "float in place of an integer": _pair("7 // K + 7.0 / K", "K = {}", values=("2", "2.5")),
    "complex number": _pair("K.imag", "K = 1.0 + {}j"),
    "text": _pair("2.0 + len(K)", "K = {}", values=("'a'", "'bc'")),
    "text in the code that is also a docstring": _pair(
        CALL, "def shape(x):\n    {}\n    return x + len({}) * x", values=("'a'", "'bc'")),
    "NumPy float": _pair("K", "K = np.float64({})"),
    "width of a NumPy float": _pair(of(WIDTH, "K"), "K = np.{}(0.1)", values=WIDTHS),
    "NumPy integer": _pair("K", "K = np.int64({})", values=("2", "3")),
    "NumPy switch": _pair("2.0 if K else 3.0", "K = np.bool_({})", values=("True", "False")),
    "NumPy complex number": _pair("K.imag", "K = np.complex128(1.0 + {}j)"),
    "tuple": _pair("K[1]", "K = (1.0, {})"),
    "length of a tuple": _pair("2.0 + len(K)", "K = (1.0, {})", values=("2.0", "2.0, 3.0")),
    "nested tuple": _pair("K[1][1]", "K = (1.0, (2.0, {}))"),
    "named tuple": _pair("K.b", PAIR + "K = namedtuple('K', 'a b')(1.0, {})"),
    "fields of a named tuple": _pair(
        "K.a", PAIR + "K = namedtuple('K', '{}')(2.0, 3.0)", values=("a b", "b a")),
    "array": _pair("K[1]", "K = np.array([1.0, {}])"),
    "kind of an array": _pair(of(WIDTH, "K[0]"), "K = np.array([0.1], dtype=np.{})", values=WIDTHS),
    "shape of an array": _pair(
        "K.shape[0]", "K = np.ones(6).reshape({})", values=("(2, 3)", "(3, 2)")),
    "order of an array": _pair(
        "K.strides[0]", "K = np.array([[1.0, 2.0], [3.0, 4.0]], order={})", values=("'C'", "'F'")),
    "last element of a long array": _pair("K[-1]", "K = np.append(np.ones(10_000), {})"),
    "default argument": _pair(CALL, "def shape(x, k={}):\n    return k * x"),
    "default argument of a function within": _pair(CALL, of(WITHIN, ", k={}", "k")),
    "function": _pair(CALL, of(SHAPE_OF, "{} * x")),
    "function of a function": _pair(
        CALL, "def inner(x):\n    return {} * x\n" + of(SHAPE_OF, "inner(x)")),
    "function within a function": _pair(CALL, of(WITHIN, "", "{}")),
    "constant of a function within": _pair(CALL, "K = {}\n" + of(WITHIN, "", "K")),
    "enclosed number": _pair("shape(d)", of(MAKER, "K") + "shape = maker({})"),
    "enclosed function": _pair(
        CALL, of(MAKER, "K(d)") + "def one(x):\n    return {} * x\nshape = maker(one)"),
    "number of an enclosed module": _pair(
        "shape(d)", of(MAKER, "K.B") + "import near\nshape = maker(near)", "B = {}"),
    "local number of a function within": _pair(CALL, LOCAL),
    "decorator": _pair(CALL, WRAPPED),
    "constant of an imported function": _pair(
        CALL, "from near import shape", "K = {}\n" + of(SHAPE_OF, "K * x")),
    "function of a module": _pair("n.shape(d) / d", "import near as n", of(SHAPE_OF, "{} * x")),
    "number two levels down": _pair("pkg.sub.K", "import pkg", "", "K = {}"),
    "number three levels down": _pair("near.pkg.sub.K", "import near", "import pkg", "K = {}"),
    "@njit function": _pair(CALL, NUMBA + of(NJIT, "{} * x")),
    "constant of an @njit function": _pair(CALL, NUMBA + "K = {}\n" + of(NJIT, "K * x")),
    "@njit function of an @njit function": _pair(
        CALL, NUMBA + "@njit\ndef inner(x):\n    return {} * x\n" + of(NJIT, "inner(x)")),
    "enclosed number of an @njit function": _pair(
        "shape(d)",
        NUMBA + of(MAKER, "K").replace("    def", "    @njit\n    def") + "shape = maker({})"),
    **{f"{one} of a frozen dataclass or an enum": _pair(one, CONSTANTS, values=("2", "3"))
       for one in ("steel.k", "steel.inner.z", "float(Phase.CLOSED)", "float(closed)")},
    "function of another module": _pair(
        "{}(d) / d", "import near, pkg", *(of(SHAPE_OF, f"{k} * x") for k in ("2.0", "3.0")),
        values=("near.shape", "pkg.sub.shape")),
    "function of NumPy": _pair("np.{}(2.25)", values=("sqrt", "cbrt")),
    "constant of a library": _pair("math.{}", values=("pi", "e")),
    "function of a library under one name": _pair(
        "root(2.25)", "from math import {} as root", values=("sqrt", "exp")),
    "name of a built-in function": _pair(
        "abs(-2.0)", "{}", values=("", "def abs(x):\n    return 3.0")),
}  # fmt: skip

# The same for code that Python runs and Numba does not compile: a plain loop must follow the edit
# too.
PLAIN_ONLY = {
    "default argument by keyword": _pair(CALL, "def shape(x, *, k={}):\n    return k * x"),
    "array in a tuple": _pair("K[1][0]", "K = (1.0, np.array([{}]))"),
    "bytes": _pair("K[0]", "K = {}", values=("b'a'", "b'b'")),
    "set in the code": _pair("2.0 if c[0] in {{}} else 3.0", values=("1e6, 2e6", "2e6, 3e6")),
}

# Files, and actions of a notebook or a reload after loading: code that changes a 2 into a 3.
DEEP = ("import pkg", "pkg.sub.K", "")
SHAPE = "def shape(x, k=2.0):\n    return k * x"
RELOADED = """
import importlib, pathlib
file = pathlib.Path({}.__file__)
file.write_text(file.read_text().replace("2.0", "3.0"))
importlib.reload({})
"""
IN_PROCESS = {
    "a constant assigned": (Files("K = 2.0", "K"), "K = 3.0"),
    "a function defined anew": (Files(SHAPE, CALL), "def shape(x): return 3.0 * x"),
    "the law's own function replaced": (
        Files("", "2.0"),
        "Mine.force = staticmethod(lambda overlap, rate, c, h: 3.0 * c[0] * overlap)"),
    "code put into a function": (
        Files(SHAPE, CALL), "shape.__code__ = (lambda x, k: 3.0 * x).__code__"),
    "defaults replaced": (Files(SHAPE, CALL), "shape.__defaults__ = (3.0,)"),
    "an enclosed number replaced": (
        Files(of(MAKER, "K") + "shape = maker(2.0)", "shape(d)"),
        "shape.__closure__[0].cell_contents = 3.0"),
    "an array written to": (Files("K = np.array([2.0])", "K[0]"), "K[0] = 3.0"),
    "a default array written to": (
        Files("def shape(x, k=np.array([2.0])):\n    return k[0]", "shape(d)"),
        "shape.__defaults__[0][0] = 3.0"),
    "a module's number assigned": (Files("import near", "near.K", "K = 2.0"), "near.K = 3.0"),
    "a number two levels down assigned": (Files(*DEEP, "K = 2.0"), "pkg.sub.K = 3.0"),
    "a module exchanged": (
        Files("import pkg, near", "pkg.sub.K", "K = 3.0", "K = 2.0"), "pkg.sub = near"),
    "an imported module reloaded": (
        Files("import near", "near.shape(d) / d", of(SHAPE_OF, "2.0 * x")),
        RELOADED.replace("{}", "near")),
    "a module two levels down reloaded": (
        Files(*DEEP, "K = 2.0"), RELOADED.replace("{}", "pkg.sub")),
    "a constant of an @njit function assigned": (
        Files(NUMBA + "K = 2.0\n" + of(NJIT, "K * x"), CALL), "K = 3.0"),
    "a built-in name taken": (Files("", "abs(-2.0)"), "def abs(x): return 3.0"),
}  # fmt: skip


@contextlib.contextmanager
def importable(folder):
    """Add a folder to Python's path; its files are read again at each import."""
    importlib.invalidate_caches()
    sys.path.insert(0, os.fspath(folder))
    bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.path.remove(os.fspath(folder))
        sys.dont_write_bytecode = bytecode


def load(folder):
    """Return the law of a folder as a new process would import it."""
    for name in [name for name in sys.modules if name.partition(".")[0] in ("law", "near", "pkg")]:
        del sys.modules[name]
    with importable(folder):
        return importlib.import_module("law")


def plain(law):
    """Return the force of the law as Python computes it now."""
    return float(law.force(OVERLAP, 0.5, (STIFFNESS,), ()))


def copied(law):
    """Return the force from a copy of which a loop would be compiled."""
    force = frozen(*law.functions())[Functions._fields.index("force")]
    return float(force(OVERLAP, 0.5, (STIFFNESS,), ()))


def scanned(law, kinds=1):
    """Return the force from a scan over many kinds of contact, whose result may be a stored one."""
    overlaps = OVERLAP * np.arange(1.0, kinds + 1.0)[None, :]
    model = with_copies(law.model(SimpleNamespace()))
    return float(over_kinds(force_scan, model, (overlaps,), 1)[0, 0])


def compiled(law):
    """Return the force from a compiled scan, like the scans of a law over many kinds of contact."""
    return scanned(law, PLAIN_KINDS + 1)


def force_scan(model):
    """Fill in the force at each overlap."""
    force = model.functions.force

    def scan(overlaps, out):
        for k in range(overlaps.shape[1]):
            out[0, k] = force(overlaps[0, k], 0.5, (STIFFNESS,), ())

    return scan


def forces(folders):
    """Return plain and compiled forces of the law of each folder, and the number of loads from the
    disk."""
    found = []
    for folder in folders:
        law = load(Path(folder)).Mine
        now, computed = plain(law), compiled(law)
        scan = compiled_scan(*frozen(force_scan(law.model(SimpleNamespace()))))
        found.append((now, computed, sum(scan.stats.cache_hits.values())))
    return found
