"""End of a run of a chain or a mechanism: messages, energy balance, and the reason of a failure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from granchain.analysis import in_motion_and_store, residual_share, supplied_energy
from granchain.contact import law_named
from granchain.contact.certified import about_certificate
from granchain.contact.law import Quantity
from granchain.engine.timestep import TimeStep
from granchain.status import Message, Status
from granchain.store import Result

# Fraction of the bound on the energy balance error above which a run warns.
WARNED = 0.1


def about_laws(laws: Iterable[tuple[str, bool]]) -> list[Message]:
    """Return messages about the verification of laws.

    Each law is given by its name and by whether it is used as published.
    """
    found = [about_certificate(law_named(name), as_printed) for name, as_printed in laws]
    return [message for message in found if message is not None]


def about_step(step: TimeStep) -> Message:
    """Return a message with the time step and its reason."""
    return Message(f"time step {step.value:.6g} s ({step.reason})")


def about_allowed_step(allowed: float, step: TimeStep, what: str) -> list[Message]:
    """Return a warning if the stability limit is below two time steps.

    `allowed` is the smallest stability limit during the run [s].
    """
    if allowed >= 2.0 * step.value:
        return []
    sentence = (
        f"the stability limit decreased to {allowed:.4g} s during the run, less than twice the "
        f"time step. The motion of the {what} may be inaccurate. Choose a smaller step."
    )
    return [Message(sentence, warning=True)]


def relative_residual(ledger: Mapping[str, np.ndarray]) -> float:
    """Return the maximum energy balance error relative to the energy supplied.

    `ledger` has the variable names of the output file. The result is 0 if it has no entry.
    """
    residual = ledger["energy_residual"]
    if not residual.size:
        return 0.0
    kinetic, stored = in_motion_and_store(ledger)
    supplied = supplied_energy(kinetic, ledger["energy_external"], stored)
    return float(residual_share(residual, supplied, stored).max())


def result_and_problem(
    status: Status,
    data: Mapping[str, np.ndarray],
    *,
    case: Any,
    law: str,
    step: TimeStep,
    done: int,
    place: str,
    messages: Sequence[Message],
    provenance: Mapping[str, Any],
    history: Sequence[Quantity] = (),
) -> tuple[Result, str]:
    """Return the result of a run and the reason of its failure.

    The reason is empty on success.

    Parameters
    ----------
    status : Status
        Status from the engine. If the energy balance error exceeds the bound of the case, the
        status becomes LEDGER_OPEN.
    data : mapping of str to array
        Variables under the names of the output file.
    done : int
        Number of steps done.
    place : str
        Contact or body at which a failed run stopped.
    case, law, messages, provenance, history
        See `Result`.
    """
    bound, problem = case.energy.bound, ""
    residual = relative_residual(data) if "energy_residual" in data else 0.0
    if status.failed:
        done = min(done, step.n_steps)
        stopped = (
            f"the run stopped at t = {done * step.value:.6g} s (step {done} of {step.n_steps}) at "
            f"{place}: {status.sentence} The time step was {step.value:.4g} s. The stability limit "
            f"at the start was {step.limit:.4g} s."
        )
        problem = "\n".join([stopped, *map(str, messages)])
    elif not residual <= bound:  # NaN too
        status = Status.LEDGER_OPEN
        problem = (
            f"energy: the balance error is {residual:.3g} of the energy supplied. The bound is "
            f"{bound:.3g} ([energy] bound). {status.sentence}"
        )
    if status is not Status.LEDGER_OPEN and not residual <= WARNED * bound:
        sentence = (
            f"the energy balance error is {residual:.3g} of the energy supplied, so results may "
            "be inaccurate. Choose a smaller step."
        )
        messages = [*messages, Message(sentence, warning=True)]
    result = Result(
        data,
        case=case,
        law=law,
        status=status,
        time_step=step.value,
        history=history,
        messages=messages,
        provenance=provenance,
    )
    return result, problem
