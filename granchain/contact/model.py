"""Form of a contact law that a run uses: a value, created once for the inputs of a case."""

from __future__ import annotations

import dis
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from granchain.contact.law import ContactLaw, Quantity


class Functions(NamedTuple):
    """Functions of a law that the engine calls: pure functions of scalars and tuples."""

    history_of: Callable[[tuple], tuple]
    force: Callable[[float, float, tuple, tuple], float]
    needs_update: Callable[[float, float, tuple, tuple], bool]
    update: Callable[[tuple, tuple, tuple], tuple]
    energy: Callable[[float, tuple, tuple], float]
    plastic: Callable[[tuple, tuple], float]
    overlap_limit: Callable[[tuple], float]
    jumps: Callable[[tuple], tuple]
    jump: Callable[[float, float, tuple, tuple], float]
    evolve: Callable[[float, float, float, tuple, tuple], tuple[tuple, float]]


class Guarded(NamedTuple):
    """Functions of an overlap and the coefficients of the law, from which the windows of the energy
    correction are determined."""

    loss: Callable[[float, tuple], float]
    loading_work: Callable[[float, tuple], float]
    elastic_limit: Callable[[tuple], float]
    loss_rises_from: Callable[[tuple], float]


@dataclass(frozen=True)
class Model:
    """Contact law as it runs: its functions, the quantities of each contact, and the loop's tasks.

    Parameters
    ----------
    law : type of ContactLaw
        Law of this model.
    functions : Functions
        Functions that the engine calls.
    coefficients, history : tuple of Quantity
        Quantities of each contact.
    uses_rate : bool
        Whether the force depends on the rate, that is, whether it reads its second argument.
    forgets : bool
        Whether a contact loses its history when it opens.
    onset_jump : bool
        Whether the force jumps when a contact closes at a nonzero speed.
    jumps_inside : bool
        Whether `jumps` returns overlaps at which the force has a jump or a kink.
    kinks : bool
        Whether all of these overlaps are kinks.
    loses : bool
        Whether the history can dissipate energy.
    evolves : bool
        Whether the history changes in every step, not only at events.
    windows : int
        Number of coefficients, at the end, that are windows of the energy correction.
    guarded : Guarded, optional
        Functions that determine these windows; None if there is no energy correction.
    """

    law: type[ContactLaw]
    functions: Functions
    coefficients: tuple[Quantity, ...]
    history: tuple[Quantity, ...]
    uses_rate: bool
    forgets: bool = False
    onset_jump: bool = False
    jumps_inside: bool = False
    kinks: bool = False
    loses: bool = True
    evolves: bool = False
    windows: int = 0
    guarded: Guarded | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "uses_rate", self.uses_rate or reads_rate(self.functions.force))

    @property
    def name(self) -> str:
        """Name of the law."""
        return self.law.name

    @property
    def own(self) -> tuple[Quantity, ...]:
        """Coefficients of the law itself, without windows of the energy correction."""
        return self.coefficients[: len(self.coefficients) - self.windows]

    @property
    def as_printed(self) -> bool:
        """True if the law has an energy correction but runs without it."""
        return self.windows > 0 and self.guarded is None

    def coefficient(self, name: str) -> int:
        """Return the index of a coefficient; -1 if there is none of that name."""
        return next((i for i, entry in enumerate(self.coefficients) if entry.name == name), -1)

    def remembered(self, name: str) -> int:
        """Return the index of a history quantity; -1 if there is none of that name."""
        return next((i for i, entry in enumerate(self.history) if entry.name == name), -1)


@cache
def reads_rate(force: Callable) -> bool:
    """Check if a force reads its second argument."""
    code = force.__code__
    rate = code.co_varnames[1] if code.co_argcount > 1 else ""
    loads = (step.argval for step in dis.get_instructions(code) if step.opname.startswith("LOAD"))
    # Python 3.13 loads two variables in one instruction.
    return rate in code.co_cellvars or any(
        rate in (name if isinstance(name, tuple) else (name,)) for name in loads
    )
