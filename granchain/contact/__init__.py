"""Contact laws: a new file in this folder adds its laws.

A law is imported when it is read by name, and all of them when they are listed.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from granchain.contact import law as contract
from granchain.contact.law import ContactLaw, docstring_of
from granchain.errors import LawError, error_text, suggestion


class Laws(Mapping[str, type[ContactLaw]]):
    """Contact laws by name, including imported ones."""

    def __getitem__(self, name: str) -> type[ContactLaw]:
        if name not in contract.REGISTRY:
            from granchain.contact.certified import certified

            module = certified().get(name, {}).get("module")
            if module is not None:
                importlib.import_module(f"{__name__}.{module}")
        if name not in contract.REGISTRY:
            _import_all()
        return contract.REGISTRY[name]

    def __iter__(self) -> Iterator[str]:
        _import_all()
        return iter(sorted(contract.REGISTRY))

    def __len__(self) -> int:
        _import_all()
        return len(contract.REGISTRY)

    def __repr__(self) -> str:
        return repr(dict(self))


_LAWS = Laws()


def laws() -> Mapping[str, type[ContactLaw]]:
    """Return all contact laws by name, including imported ones.

    Examples
    --------
    >>> import granchain as gc
    >>> "ma-liu" in gc.laws()
    True
    """
    return _LAWS


def law_named(law: Any, where: str = "contact law") -> type[ContactLaw]:
    """Return the law with a given name; a law class is returned unchanged."""
    if isinstance(law, type) and issubclass(law, ContactLaw):
        return law
    if not isinstance(law, str) or law not in _LAWS:
        names, fix = f"The laws are {', '.join(_LAWS)}", suggestion(str(law), _LAWS, "")
        raise LawError(error_text(where, f'unknown law "{str(law)[:60]}"', names, fix))
    return _LAWS[law]


class Family(NamedTuple):
    """Contact laws of a module.

    Parameters
    ----------
    module : str
        Last component of the module name.
    title : str
        Title: the first line of the docstring of the module, up to the colon.
    paragraphs : tuple of str
        Remaining paragraphs of this docstring, each in one line.
    laws : tuple of type of ContactLaw
        Laws, sorted by name.
    """

    module: str
    title: str
    paragraphs: tuple[str, ...]
    laws: tuple[type[ContactLaw], ...]

    @property
    def of_cylinders(self) -> bool:
        """True if all laws are for parallel cylinders, so that `clearance` is an input."""
        return all(
            any(quantity.name == "clearance" for quantity in law.inputs) for law in self.laws
        )


def families() -> list[Family]:
    """Return the known laws by family: of spheres, single laws first, then of cylinders."""
    laws_of: dict[str, list[type[ContactLaw]]] = {}
    for law in laws().values():
        laws_of.setdefault(law.__module__, []).append(law)
    unsorted = [_family(module, members) for module, members in sorted(laws_of.items())]
    return sorted(unsorted, key=lambda family: (family.of_cylinders, len(family.laws) > 1))


def _family(module: str, members: list[type[ContactLaw]]) -> Family:
    """Return the family of a module, with the title and the text of its docstring."""
    name = module.rpartition(".")[2].removeprefix("granchain_law_")
    text = inspect.cleandoc(docstring_of(sys.modules[module]) or f"Laws of {name}")
    first, *others = (" ".join(lines.split()) for lines in re.split(r"\n\s*\n", text))
    title, _, sentence = first.partition(": ")
    opening = [sentence[:1].upper() + sentence[1:]] if sentence else []
    return Family(name, title.removesuffix("."), (*opening, *others), tuple(members))


@cache
def _import_all() -> None:
    """Import the modules of the folder, once per process; later laws register themselves."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
