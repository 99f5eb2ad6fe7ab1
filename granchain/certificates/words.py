"""What was measured of a contact law, in the words of pages and notebooks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from granchain.certificates.contact import QUADRATURE
from granchain.certificates.faults import CREATION

if TYPE_CHECKING:
    from granchain.certificates.measure import Certificate


def findings(certificate: Certificate) -> tuple[tuple[str, str], ...]:
    """What a certificate found: names and results."""
    speeds = [(v, f"{e:.4f}") for v, e in certificate.speeds]
    facts = []
    if len({e for _, e in speeds}) == 1:
        facts.append(
            ("restitution", f"{speeds[0][1]} at {speeds[0][0]:g} to {speeds[-1][0]:g} m/s")
        )
    elif speeds:
        facts.append(("restitution", ", ".join(f"{e} at {v:g} m/s" for v, e in speeds)))
    facts.append(("energy", energy_words(certificate)))
    if certificate.created_as_printed is not None and "as_printed" in certificate.inputs:
        facts.append(("energy, as printed", creation(certificate.created_as_printed)))
    jumps = [f"at the onset, to {certificate.onset:.3g} N"] if certificate.onset else []
    jumps += [f"{100.0 * jump:+.3g} % at overlap {d:.3g} m" for d, jump in certificate.jumps]
    order = "-" if certificate.order is None else f"{certificate.order:.1f}"
    if certificate.law.order != 2:
        order += f" (stated: {certificate.law.order}, the force jumps)"
    consistent = (
        "constants hold in the source's own units"
        if certificate.law.fixed_units
        else "NOT consistent"
    )
    facts += [("force jumps", ", ".join(jumps) or "none"), ("order in time", order)]
    return (*facts, ("units", "consistent" if certificate.dimension else consistent))


def energy_words(certificate: Certificate) -> str:
    """Whether cycles create energy, what was measured, and its error."""
    error = f"to {max(certificate.created_error, QUADRATURE):.1e} of the work put in"
    if not certificate.admissible:
        return (
            f"{creation(certificate.created)}, measured {error}; the loss falls by up to "
            f"{100.0 * certificate.falls:.2g} % of the work"
        )
    # below its error it counts as zero
    found = (
        f"{certificate.created:.1e}, {error}"
        if certificate.created > max(certificate.created_error, QUADRATURE)
        else f"none, {error}"
    )
    if certificate.law.history:
        return f"no cycle creates any (measured: {found})"
    return (
        "no cycle creates any: without history the force at rest follows from the overlap alone "
        f"(measured: {found})"
    )


def creation(created: float) -> str:
    """Energy that a cycle creates."""
    return (
        "no cycle creates any"
        if created <= CREATION
        else f"a cycle returns up to {100.0 * created:.2g} % more than it took"
    )


def toml(value: Any) -> str:
    """A value as a case file has it."""
    return f"{value:g}" if isinstance(value, float) else json.dumps(value)


def delivered_words(restitution: float | None) -> str:
    """A delivered restitution; a law may refuse the asked one, or never let go."""
    if restitution is None:
        return "refused"
    return f"{restitution:.4f}" if restitution > 0.0 else "never opens"
