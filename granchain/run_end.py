"""How a run ends, of a chain or of a mechanism: its messages, whether its ledger closes, and
why it failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from granchain.analysis import energy_put_in, residual_share
from granchain.contact import law_named
from granchain.contact.certified import about_certificate
from granchain.engine.timestep import TimeStep
from granchain.status import Message, Status

# Part of the ledger's bound above which a run warns.
WARNED = 0.1


class Certificates:
    """Messages about the certificates of laws, for as long as this object is held: each law is
    looked up once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bool], Message | None] = {}

    def about(self, laws: Iterable[tuple[str, bool]]) -> list[Message]:
        """Messages about laws, each given by its name and by whether it runs as printed."""
        found = []
        for name, as_printed in laws:
            if (name, as_printed) not in self._known:
                self._known[name, as_printed] = about_certificate(law_named(name), as_printed)
            found.append(self._known[name, as_printed])
        return [message for message in found if message is not None]


def about_step(step: TimeStep) -> Message:
    """Which time step was taken, and why."""
    return Message(f"time step {step.value:.6g} s ({step.reason})")


def about_allowed_step(allowed: float, step: TimeStep, what: str) -> list[Message]:
    """A warning where what the run has come to allows less than two of its steps [s]."""
    if allowed >= 2.0 * step.value:
        return []
    sentence = (
        f"the state of the {what} allows a step of {allowed:.4g} s at most, less than twice the "
        "one taken; take a smaller step"
    )
    return [Message(sentence, warning=True)]


def relative_residual(ledger: Mapping[str, np.ndarray]) -> float:
    """Largest residual of a ledger, by the names of the output file, over the energy put in; 0
    of one without an entry."""
    recoverable, residual = ledger["energy_recoverable"], ledger["energy_residual"]
    if not residual.size:
        return 0.0
    put_in = energy_put_in(ledger["energy_kinetic"], ledger["energy_external"], recoverable)
    return float(residual_share(residual, put_in, recoverable).max())


def balanced(
    status: Status, ledger: Mapping[str, np.ndarray], bound: float
) -> tuple[Status, list[Message]]:
    """How a run has ended by its ledger, which closes within a bound, and a warning where it
    nearly does not."""
    residual = relative_residual(ledger)
    if status in (Status.COMPLETE, Status.INTERRUPTED) and not residual <= bound:  # NaN too
        return Status.LEDGER_OPEN, []
    if residual <= WARNED * bound:
        return status, []
    return status, [
        Message(
            f"the energy ledger is open by {residual:.3g} of the energy put in; take a smaller "
            "step",
            warning=True,
        )
    ]


def open_ledger(residual: float, bound: float) -> str:
    """The sentence of a run whose ledger does not close."""
    return (
        f"the energy ledger is open by {residual:.3g} of the energy put in, allowed: {bound:.3g} "
        f"([energy] bound). {Status.LEDGER_OPEN.sentence}"
    )


def stopped(status: Status, steps: int, step: TimeStep, place: str) -> str:
    """The sentence of a run that the engine has stopped: what, where, when, what to do."""
    done = min(steps, step.n_steps)
    return (
        f"the run stopped at t = {done * step.value:.6g} s (step {done} of {step.n_steps}) at "
        f"{place}: {status.sentence} "
        f"The step was {step.value:.4g} s, the stability limit {step.limit:.4g} s before the run."
    )
