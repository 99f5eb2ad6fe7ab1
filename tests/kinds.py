"""Which laws stand for which: laws made of the same functions share one compiled loop, and one of them tests it."""

from __future__ import annotations

from typing import Any

import pytest

from granchain.certificates import example_inputs
from granchain.contact import laws

FUNCTIONS = ("history_of", "force", "needs_update", "update", "energy", "plastic", "largest_overlap", "jumps", "jump")


def functions(name: str, changes: dict[str, Any]) -> tuple[int, ...]:
    """Identity of what the loop is compiled from, for a law with these changes of its example inputs."""
    law = laws()[name]
    variant = law.variant(example_inputs(law, **changes))
    return tuple(id(getattr(variant, function)) for function in FUNCTIONS)


def distinct_laws() -> list[str]:
    """One law for each set of functions, by name."""
    seen: dict[tuple[int, ...], str] = {}
    for name in laws():
        seen.setdefault(functions(name, {}), name)
    return sorted(seen.values())


def one_per_module() -> list[str]:
    """One law for each file of laws: what a whole family has in common."""
    seen: dict[str, str] = {}
    for name in distinct_laws():
        seen.setdefault(laws()[name].__module__, name)
    return sorted(seen.values())


def every_law(near: list[str] | None = None) -> list[Any]:
    """All laws as parameters of a test: these, by default one of each kind, at once, the others in the long run."""
    near = distinct_laws() if near is None else near
    return [pytest.param(name, marks=() if name in near else pytest.mark.long) for name in laws()]
