"""Equation of every contact law as published, or as corrected in the description of the law.

A law of granchain/contact/NAME.py has its equation in NAME.py here, in `EQUATIONS` with the name of
the law as key. It is written from the source, not from the code. The pages print it, and a test
compares it with the functions of the law. All modules of this folder except `notation` are
imported, so a new file needs no other change.
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
