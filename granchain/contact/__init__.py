"""Contact laws. Every module in this folder is read, so that a law is added by adding its file."""

from __future__ import annotations

import importlib
import pkgutil

from granchain.contact.law import ContactLaw, registered


def laws() -> dict[str, type[ContactLaw]]:
    """All contact laws known now, by name: those of the package and those that were imported."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(sorted(registered().items()))
