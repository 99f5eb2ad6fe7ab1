"""Results of the verification reports of the package's laws, stored with the package. A run reports
them without measuring.

`docs/laws.py` writes `certified.json` and the page of the laws from the same measurements, and
`make check` compares them. Each entry is valid only for the source that was measured.
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
    """Return the hash of the source files of a law.

    These are the files of its class and bases, of the pair, and of the modules whose functions they
    use.

    Raises
    ------
    OSError
        If a file does not exist.
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
    """Return the entry of each law of the package.

    The keys are `source`, the hash of the measured source; `module`, the module of this folder with
    the law; `problems`, the problems; and `created_as_printed`, the energy that a cycle creates
    without the energy correction, as a fraction of the work supplied.
    """
    table: dict[str, dict[str, Any]] = json.loads(CERTIFIED.read_text(encoding="ascii"))
    return table


def about_certificate(law: type[ContactLaw], as_printed: bool = False) -> Message | None:
    """Return the message about the verification report of a law; None if it has no problems.

    Parameters
    ----------
    law : type of ContactLaw
    as_printed : bool
        Whether the law runs without the energy correction.
    """
    ours = law.__module__.startswith(_OWN_MODULES)
    command = f'"granchain laws {law.name}{"" if ours else " --law-module FILE"}"'
    entry = certified().get(law.name) if ours else None
    name = f'contact law "{law.name}"'
    if entry is None:
        return Message(
            f"{name} has no verification report. Its energy, order in time, and units were not "
            f"checked. To check them, run {command}."
        )
    try:
        same = source_of(law) == entry["source"]  # type: ignore[arg-type]
    except OSError:
        same = False
    if not same:
        text = (
            f"{name} has no valid verification report, because its source was changed after the "
            f"verification. To verify it, run {command}."
        )
    elif entry["problems"]:
        text = f"{name} failed its verification: {'; '.join(entry['problems'])}."
    elif as_printed and entry["created_as_printed"]:
        text = (
            f"{name}, as published and without the energy correction, failed its verification. A "
            f"cycle returns up to {100.0 * entry['created_as_printed']:.2g} % more energy than it "
            "took."
        )
    else:
        return None
    return Message(text, warning=True)
