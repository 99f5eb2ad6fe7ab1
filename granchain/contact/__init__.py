"""Contact laws. Every module in this folder is read, so that a law is added by adding its file."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from granchain.contact.law import ContactLaw, registered


def laws() -> dict[str, type[ContactLaw]]:
    """All contact laws known now, by name: those of the package and those that were imported."""
    _import_all()
    return dict(sorted(registered().items()))


def law_named(name: str) -> type[ContactLaw]:
    """The law of a name that is known."""
    _import_all()
    return registered()[name]


@cache
def _import_all() -> None:
    """Read the folder, once in a process: a law that comes later registers itself."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
