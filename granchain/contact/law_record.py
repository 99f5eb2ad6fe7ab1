"""Record of a law at the time of a computation: a resumed run compares the record with the current
law."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

# Number of kinds of contact whose coefficients are stored. For the others only the hash is stored,
# because a disordered chain has as many kinds as contacts.
CARRIED = 16


@dataclass(frozen=True)
class LawRecord:
    """Record of a law that computed results.

    Parameters
    ----------
    law : str
        Name of the law.
    functions : str
        SHA-256 of its functions and of everything that they call, from bytecode and values.
        It differs between versions of Python.
    coefficients : str
        SHA-256 of the coefficients of all kinds of contact, in the order of the contacts.
    names : tuple of str
        Names of the coefficients.
    kinds : tuple of tuple of float
        Coefficients of the first kinds of contact, at most `CARRIED` of them.
    """

    law: str
    functions: str
    coefficients: str
    names: tuple[str, ...]
    kinds: tuple[tuple[float, ...], ...]

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the record; independent of versions, time step, and recording."""
        return hashlib.sha256(
            f"{self.law} {self.functions} {self.coefficients}".encode()
        ).hexdigest()

    @cached_property
    def text(self) -> str:
        """Record as JSON text, with exact numbers."""
        kinds = [[repr(value) for value in kind] for kind in self.kinds]
        facts = {field.name: getattr(self, field.name) for field in fields(self)}
        return json.dumps({**facts, "kinds": kinds}, separators=(",", ":"))

    @classmethod
    def of_text(cls, text: str) -> LawRecord | None:
        """Return the record in the result of `text`; None for any other text."""
        try:
            facts: dict[str, Any] = json.loads(text)
            kinds = tuple(tuple(float(value) for value in kind) for kind in facts.pop("kinds"))
            return cls(**{**facts, "names": tuple(facts["names"])}, kinds=kinds)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return None

    def difference(self, before: LawRecord | None) -> str:
        """Describe how the law differs from the record `before`; empty if it does not."""
        if before is None:
            return "nothing is known of the law that computed it"
        if before.sha256 == self.sha256:
            return ""
        since = f"the law {self.law} has changed since: "
        if before.law != self.law:
            return f"it was computed with the law {before.law}, and this is {self.law}"
        if before.functions != self.functions:
            return since + "its functions, what they read, or the version of Python are others"
        for old, new in zip(before.kinds, self.kinds, strict=False):
            for name, was, is_now in zip(self.names, old, new, strict=False):
                if repr(was) != repr(is_now):
                    return f"{since}the coefficient {name} was {was!r} and is {is_now!r}"
        return since + "the coefficients of its contacts are others"
