"""What the certificates of the package's laws found, stored with the package: a run reports it
without measuring.

`certified.json` is written by `docs/laws.py` with the page of the laws, from the same measurements,
and compared by `make check`. Each entry holds for the source that was measured, and for no other.
"""

from __future__ import annotations

import hashlib
import json
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from granchain.contact.law import ContactLaw
from granchain.status import Message

CERTIFIED = Path(__file__).with_name("certified.json")
_OWN_MODULES = __name__.rpartition(".")[0] + "."


@cache
def source_of(law: type[ContactLaw]) -> str:
    """Hash of the files of this package that a law is made of: its own, those of its bases, the
    pair's, and those that these take functions from.

    Raises
    ------
    OSError
        Where a file is not there.
    """
    modules = {base.__module__ for base in law.__mro__ if base.__module__.startswith(_OWN_MODULES)}
    modules.add(f"{_OWN_MODULES}pair")
    for value in [value for name in modules for value in vars(sys.modules[name]).values()]:
        of = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
        if str(of).startswith(_OWN_MODULES):
            modules.add(of)
    total = hashlib.sha256()
    for name in sorted(modules):
        total.update(f"{name}\n".encode() + Path(str(sys.modules[name].__file__)).read_bytes())
    return total.hexdigest()


@cache
def certified() -> dict[str, dict[str, Any]]:
    """For each law of the package: `source`, the hash of what was measured; `problems`, what was
    wrong; `created_as_printed`, the part of
    the work that a cycle returns beyond it without the energy guard, 0 for none."""
    table: dict[str, dict[str, Any]] = json.loads(CERTIFIED.read_text(encoding="ascii"))
    return table


def about_certificate(law: type[ContactLaw], as_printed: bool = False) -> Message | None:
    """The message about a law's certificate, in one line; None where it is clean.

    Parameters
    ----------
    law : type of ContactLaw
    as_printed : bool
        Whether the law runs without its energy guard.
    """
    ours = law.__module__.startswith(_OWN_MODULES)
    measures = f'"granchain laws {law.name}{"" if ours else " --law-module FILE"}" measures it'
    entry = certified().get(law.name) if ours else None
    if entry is None:
        words = f"has no certificate: what it delivers was not measured; {measures}"
        return Message(f'contact law "{law.name}" {words}')
    try:
        same = source_of(law) == entry["source"]  # type: ignore[arg-type]
    except OSError:
        same = False
    if not same:
        words = f"has no certificate: its source is not the one that was measured; {measures}"
    elif entry["problems"]:
        words = f"failed its certificate: {'; '.join(entry['problems'])}"
    elif as_printed and entry["created_as_printed"]:
        words = (
            "as printed, without the energy guard, failed its certificate: a cycle returns up to "
            f"{100.0 * entry['created_as_printed']:.2g} % more than it took"
        )
    else:
        return None
    return Message(f'contact law "{law.name}" {words}', warning=True)
