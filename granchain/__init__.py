"""Discrete-element simulation of one-dimensional chains of beads, with every contact law
written once."""

from importlib import import_module

__version__ = "0.1.0"

# The home of each public name, by __init__.pyi. It is imported when it is asked for: `import
# granchain` costs nothing; typing, or a parser, would take longer than all of this module, and
# until it is done a signal is a traceback.
with open(f"{__file__}i", encoding="ascii") as _lines:
    _HOME = {line.split()[-1]: line.split()[1] for line in _lines if line.startswith("from ")}

# `from granchain import *` leaves Python's own open as it is.
__all__ = sorted(_HOME.keys() - {"open"})


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'granchain' has no attribute {name!r}")
    if _HOME[name] == "granchain":
        return import_module(f"granchain.{name}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted([*_HOME, "__version__"])
