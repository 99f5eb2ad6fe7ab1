"""Texts of the verification report of a contact law, for pages and notebooks."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from granchain.certificates.contact import QUADRATURE
from granchain.certificates.faults import CREATION

if TYPE_CHECKING:
    from granchain.certificates.measure import Certificate


def findings(certificate: Certificate) -> tuple[tuple[str, str], ...]:
    """Return the names and results of the measurements."""
    speeds = [(v, f"{e:.4f}") for v, e in certificate.speeds]
    facts = []
    if len({e for _, e in speeds}) == 1:
        facts.append(
            ("restitution", f"{speeds[0][1]} at {speeds[0][0]:g} to {speeds[-1][0]:g} m/s")
        )
    elif speeds:
        facts.append(("restitution", ", ".join(f"{e} at {v:g} m/s" for v, e in speeds)))
    facts.append(("energy", energy_words(certificate)))
    if not math.isnan(certificate.created_as_printed) and "as_printed" in certificate.inputs:
        facts.append(("energy, as published", creation(certificate.created_as_printed)))
    jumps = [f"to {certificate.onset:.3g} N at the onset"] if certificate.onset else []
    jumps += [f"{100.0 * jump:+.3g} % at overlap {d:.3g} m" for d, jump in certificate.jumps]
    order = "-" if math.isnan(certificate.order) else f"{certificate.order:.1f}"
    if certificate.order_stated != 2:
        order += f" (declared: {certificate.order_stated}, because the force jumps)"
    consistent = (
        "constants are valid in the units of the source only"
        if certificate.law_class.fixed_units
        else "NOT consistent"
    )
    facts += [("force jumps", ", ".join(jumps) or "none"), ("order in time", order)]
    return (*facts, ("units", "consistent" if certificate.dimension else consistent))


def energy_words(certificate: Certificate) -> str:
    """Describe whether cycles create energy, with the measured value and its error."""
    error = f"{max(certificate.created_error, QUADRATURE):.1e} of the work supplied"
    if not certificate.admissible:
        return (
            f"{creation(certificate.created)} (error {error}); the loss decreases by up to "
            f"{100.0 * certificate.falls:.2g} % of the work"
        )
    # A value below its error counts as zero.
    measured = (
        f"measured: {certificate.created:.1e}, error {error}"
        if certificate.created > max(certificate.created_error, QUADRATURE)
        else f"measured: none, error {error}"
    )
    if certificate.law_class.history:
        return f"no cycle creates energy ({measured})"
    return (
        "no cycle creates energy, because without history the force at rest depends on the overlap "
        f"only ({measured})"
    )


def creation(created: float) -> str:
    """Describe the energy that a cycle creates."""
    return (
        "no cycle creates energy"
        if created <= CREATION
        else f"a cycle returns up to {100.0 * created:.2g} % more energy than is supplied"
    )


def toml(value: Any) -> str:
    """Format a value as in a case file."""
    return f"{value:g}" if isinstance(value, float) else json.dumps(value)


def delivered_words(restitution: float | None) -> str:
    """Format an effective restitution; the law may reject the nominal one, or stick."""
    if restitution is None:
        return "rejected"
    return f"{restitution:.4f}" if restitution > 0.0 else "never opens"
