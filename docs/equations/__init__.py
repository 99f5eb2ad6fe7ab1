"""The equation of every contact law as its source prints it, corrected where the law's page says
so: for the pages and for a test.

A law of granchain/contact/NAME.py has its equation in NAME.py here, in `EQUATIONS` under the law's
name, written from the source and not from the code: the pages print it, and tests/test_equations.py
evaluates it against the law's functions. Every module of this folder but `notation` is read, so
that a file that is added needs no other edit.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from equations.notation import Equation, Symbol, latex, symbols_of

__all__ = ["Equation", "Symbol", "equations", "latex", "symbols_of"]


@cache
def equations() -> dict[str, Equation]:
    """Equations by the name of their law."""
    found: dict[str, Equation] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name != "notation":
            found |= importlib.import_module(f"{__name__}.{module.name}").EQUATIONS
    return found
