"""Results of the verification reports of the package's laws, stored with the package. A run reports
them without measuring.

`docs/laws.py` writes `certified.json` and the page of the laws from the same measurements, and
`make check` fails if a law has changed since then.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from granchain.contact.law import ContactLaw
from granchain.status import Message

CERTIFIED = Path(__file__).with_name("certified.json")
_OWN_MODULES = __name__.rpartition(".")[0] + "."


@cache
def certified() -> dict[str, dict[str, Any]]:
    """Return the entry of each law of the package.

    The keys are `module`, the module of this folder with the law; `problems`, the problems;
    `phases`, the contact states that occur; and `created_as_printed`, the energy that a cycle
    creates without the energy correction, as a fraction of the work supplied.
    """
    table: dict[str, dict[str, Any]] = json.loads(CERTIFIED.read_text(encoding="ascii"))
    return table


def entry_of(law: type[ContactLaw]) -> dict[str, Any] | None:
    """Return the entry of a law; None if it is not a law of the package, or not measured yet."""
    return certified().get(law.name) if law.__module__.startswith(_OWN_MODULES) else None


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
    entry = entry_of(law)
    name = f'contact law "{law.name}"'
    if entry is None:
        return Message(
            f"{name} has no verification report. Its energy, order in time, and units were not "
            f"checked. To check them, run {command}."
        )
    if entry["problems"]:
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
