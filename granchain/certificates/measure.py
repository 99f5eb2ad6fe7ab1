"""Measured properties of a contact law: restitution, energy, jumps, order in time, and units."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from granchain.analysis import observed_order
from granchain.certificates.contact import (
    IMPACT_SPEEDS,
    Contact,
    Creation,
    cycle_losses,
    cycles,
    jumps,
    onset,
)
from granchain.certificates.faults import (
    creates_energy,
    faults_of_law,
    faults_of_measures,
    problems_of_units,
)
from granchain.contact import law_named
from granchain.contact.examples import conversion, example_inputs, example_pair
from granchain.contact.guard import Elastoplastic
from granchain.contact.law import ContactLaw
from granchain.contact.pair import PAIR_QUANTITIES, Pair
from granchain.engine.setup import record_of
from granchain.errors import GranchainError
from granchain.jit.compile import fingerprint
from granchain.store import Answer, Label
from granchain.two_body import (
    NeverOpens,
    collide,
    contact_of_two,
    law_inputs,
    simulate_impact,
    two_bodies,
)

# Nominal restitutions of a verification report.
NOMINAL_RESTITUTIONS = (0.1, 0.3, 0.5, 0.7, 0.9)

# Refinement of the automatic step, which gives restitutions to 1e-6.
REFINED = 4.0
# Refinements of the automatic step for the fit of the order, and that of the reference. Several
# speeds [m/s] are used, because the position of a kink or jump within its step is random. The
# speeds are low, because jumps of the published laws are near first yield and have more weight
# there.
REFINEMENTS, REFERENCE_CONTACT = (1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0), 40.0
ORDER_SPEEDS = tuple(float(speed) for speed in np.geomspace(0.15, 0.3, 8))


# Dimensions of the variables of a report.
_NOMINAL, _SPEEDS, _JUMP_DIMENSIONS = ("nominal",), ("impact_speed",), ("jump_overlap",)
# Prefix of the names of the variables that contain the inputs of a law.
INPUT_PREFIX = "contact."


class Certificate(Answer):
    """Verification report of a contact law: its measured properties.

    The variables of an input such as psi are "contact.psi", as in a case.

    Attributes
    ----------
    law : str
        Name of the law.
    admissible : bool
        Whether no cycle creates energy.
    created, created_error : float
        Largest energy that a closed cycle creates, and its largest error, relative to the largest
        work supplied. If admissible, the energy is at most its error and rounding.
    created_as_printed : float
        The created energy without the energy correction. nan for a law without this correction.
    falls : float
        Largest decrease of the loss with increasing maximum overlap, relative to the work. If
        admissible, it is at most rounding.
    onset : float
        Force to which a contact jumps at its onset [N], if the damping does not begin at zero. The
        speed is the second of the impact speeds.
    order, order_stated : float, int
        Observed order in time of an impact, and order that the law declares. The former is nan if
        the law rejects the impacts.
    dimension : bool
        Whether force and coefficients scale with metre, kilogram, and second as their units.
    nominal, clamped, tensile : (n,) array
        Nominal restitution, and the effective restitutions without and with tension at the end of a
        contact: 0 if the bodies stick, nan if the law has no such option or rejects the value.
        Empty if the law takes no restitution.
    impact_speed, restitution : (n,) array
        Impact speed [m/s], and the restitution at this speed.
    jump_overlap, jump : (n,) array
        Overlaps [m] at which the loading force jumps, and the jump relative to the force.
    """

    labels: ClassVar = {
        "admissible": Label((), "1", "whether no cycle creates energy"),
        "created": Label((), "1", "energy created by a closed cycle, of the work supplied"),
        "created_error": Label((), "1", "error of the energy created, of the work supplied"),
        "created_as_printed": Label((), "1", "energy created without the energy correction"),
        "falls": Label((), "1", "largest fall of the loss with increasing overlap, of the work"),
        "onset": Label((), "N", "force to which a contact jumps at its onset"),
        "order": Label((), "1", "observed order in time of an impact"),
        "order_stated": Label((), "1", "order in time that the law declares"),
        "dimension": Label((), "1", "whether force and coefficients scale with their units"),
        "nominal": Label(_NOMINAL, "1", "nominal restitution"),
        "clamped": Label(_NOMINAL, "1", "effective restitution with the no-tension cutoff"),
        "tensile": Label(_NOMINAL, "1", "effective restitution with tension allowed"),
        "impact_speed": Label(_SPEEDS, "m/s", "impact speed"),
        "restitution": Label(_SPEEDS, "1", "restitution at the impact speed"),
        "jump_overlap": Label(_JUMP_DIMENSIONS, "m", "overlap at which the loading force jumps"),
        "jump": Label(_JUMP_DIMENSIONS, "1", "jump of the loading force, relative to the force"),
    }

    @property
    def law_class(self) -> type[ContactLaw]:
        """Class of the law. It must be installed or loaded."""
        return law_named(self.law)

    @property
    def problems(self) -> list[str]:
        """Messages about problems of the law."""
        return list(map(str, self.messages))

    @property
    def inputs(self) -> dict[str, Any]:
        """Inputs of the measurement that have a value, by name."""
        names = [name for name in self.variables if name.startswith(INPUT_PREFIX)]
        return {name.removeprefix(INPUT_PREFIX): self[name] for name in names}


def toml(value: Any) -> str:
    """Format a value as in a case file."""
    return f"{value:g}" if isinstance(value, float) else json.dumps(value)


def report_of(
    law: type[ContactLaw],
    inputs: Mapping[str, Any],
    problems: Sequence[str] = (),
    provenance: Mapping[str, str] | None = None,
    **measured: Any,
) -> Certificate:
    """Return the verification report of measured properties.

    `measured` contains a `Creation` as `created`, and other variables. Default: those of a law that
    creates no energy and never jumps.
    """
    created, falls = measured.pop("created", Creation(0.0, 0.0)), measured.pop("falls", 0.0)
    data: dict[str, Any] = {
        **{name: np.zeros(0) for name, label in Certificate.labels.items() if label.dims},
        "admissible": not creates_energy(law, created, falls),
        "created": created.energy,
        "created_error": created.error,
        "falls": falls,
        "order_stated": law.order,
        "created_as_printed": math.nan,
        "onset": 0.0,
        "order": math.nan,
        "dimension": True,
        **measured,
    }
    labels, units = {}, {quantity.name: quantity.unit for quantity in law.inputs}
    for name, value in inputs.items():
        if value is not None:
            plain = isinstance(value, (bool, int, float, str))
            data[INPUT_PREFIX + name] = stored = value if plain else toml(value)
            unit = "" if isinstance(stored, str) else units.get(name) or "1"
            labels[INPUT_PREFIX + name] = Label((), unit, f"case parameter {INPUT_PREFIX}{name}")
    return Certificate(
        data,
        law=law.name,
        title=law.name,
        messages=problems,
        labels=labels,
        provenance=provenance,
    )


def certificate(law: str | type[ContactLaw], **inputs: Any) -> Certificate:
    """Measure the properties of a contact law.

    Parameters
    ----------
    law : str or type of ContactLaw
        Name or class of the contact law.
    **inputs
        Inputs of the law. Default: its example inputs.

    Returns
    -------
    Certificate
        Verification report: energy, order of convergence, jumps, and restitution of the law.

    Raises
    ------
    CaseError
        If an input is unknown or a value is out of range.
    LawError
        If the law is unknown, has no coefficients for its inputs, or cannot be run.

    Examples
    --------
    >>> import granchain as gc
    >>> gc.certificate("hertz").problems
    []
    """
    law = law_named(law, "certificate")
    fingerprint(*law.functions())  # Rejects here what a run would reject.
    values = example_inputs(law, **inputs)
    contact = Contact(law, values)
    problems = faults_of_law(contact)
    if any("not finite" in problem for problem in problems):
        return report_of(law, vars(values), problems)
    created, falls, printed = cycles(contact), 0.0, math.nan
    if issubclass(law, Elastoplastic):
        unguarded = Contact(law, SimpleNamespace(**{**vars(values), "as_printed": True}))
        (by_losses, falls), (printed, _) = cycle_losses(contact), cycle_losses(unguarded)
        created, printed = (
            created._replace(energy=max(created.energy, by_losses)),
            max(cycles(unguarded).certain, printed),
        )
    seen = measured_order(law, values)
    scales = not problems_of_units(law) and scales_with_units(law, values)
    problems += faults_of_measures(law, created, falls, seen, scales)
    record = record_of(contact.model, np.array(contact.c)[:, np.newaxis])
    return report_of(
        law,
        vars(values),
        problems,
        {"law_sha256": record.sha256, "law_json": record.text},
        created=created,
        created_as_printed=printed,
        falls=falls,
        onset=onset(contact),
        order=seen,
        dimension=scales,
        **columns_of(("nominal", "clamped", "tensile"), delivered(law, values)),
        **columns_of(("impact_speed", "restitution"), at_speeds(law, values)),
        **columns_of(("jump_overlap", "jump"), jumps(contact)),
    )


def columns_of(names: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> dict[str, np.ndarray]:
    """Return the columns of rows of numbers by name; None is nan."""
    table = np.array(rows, dtype=float).reshape(len(rows), len(names))
    return dict(zip(names, table.T, strict=True))


def attempt(call: Callable[[], Any]) -> Any:
    """Return the result of a call, or None if the law rejects the input."""
    try:
        return call()
    except GranchainError:
        return None


def restitution_of(
    law: type[ContactLaw], speed: float, values: SimpleNamespace, **changes: Any
) -> float | None:
    """Return the restitution of an impact of the example pair.

    It is 0 if the bodies stick, and None if the law rejects the input.
    """
    inputs = {**vars(values), **changes}
    try:
        impact = simulate_impact(
            law=law, pair=example_pair(), speed=speed, refine=REFINED, **inputs
        )
    except NeverOpens:
        return 0.0
    except GranchainError:
        return None
    return impact.restitution


def delivered(
    law: type[ContactLaw], values: SimpleNamespace
) -> list[tuple[float, float | None, float | None]]:
    """Return effective versus nominal restitutions, with both ways of ending a contact."""
    names = {quantity.name for quantity in law.inputs}
    if "restitution" not in names:
        return []
    ways = [{"separation": way} for way in ("clamped", "tensile")]
    if "separation" not in names:
        ways = [{}]
    rows = []
    for nominal in NOMINAL_RESTITUTIONS:
        effective = [
            restitution_of(law, IMPACT_SPEEDS[1], values, restitution=nominal, **way)
            for way in ways
        ]
        rows.append((nominal, effective[0], effective[-1] if len(ways) > 1 else None))
    return rows


def at_speeds(law: type[ContactLaw], values: SimpleNamespace) -> list[tuple[float, float]]:
    """Return the restitution at several impact speeds at which the bodies separate.

    A damping term that uses the impact speed is given the speed of each impact.
    """
    changes = {"impact_speed": "striker"} if hasattr(values, "impact_speed") else {}
    restitutions = [
        (speed, restitution_of(law, speed, values, **changes)) for speed in IMPACT_SPEEDS
    ]
    return [(speed, restitution) for speed, restitution in restitutions if restitution]


def measured_order(law: type[ContactLaw], values: SimpleNamespace) -> float:
    """Return the observed order in time of impacts, compared with a fine step.

    It is nan if the law rejects the impacts.

    The errors are those of largest overlap, largest force, and restitution.
    """
    bodies = [two_bodies(example_pair(), speed) for speed in ORDER_SPEEDS]
    contacts = contact_of_two(
        law, bodies[0], example_pair(), law_inputs(law, vars(values), IMPACT_SPEEDS[1])
    )

    def numbers(refine: float) -> np.ndarray:
        impacts = [
            collide(contacts, two, speed, refine)
            for two, speed in zip(bodies, ORDER_SPEEDS, strict=True)
        ]
        return np.array(
            [(impact.max_overlap, impact.max_force, impact.restitution) for impact in impacts]
        )

    reference = attempt(lambda: numbers(REFERENCE_CONTACT))
    if reference is None:
        return math.nan
    errors = [
        float(np.sqrt(np.mean((numbers(refine) / reference - 1.0) ** 2))) for refine in REFINEMENTS
    ]
    return observed_order([1.0 / refine for refine in REFINEMENTS], errors)


def scales_with_units(law: type[ContactLaw], values: SimpleNamespace) -> bool:
    """Check if force and coefficients scale with their units.

    Metre, kilogram, and second change by random factors.
    """
    random = np.random.default_rng(1960)
    metre, kilogram, second = 10.0 ** random.uniform(-1.0, 1.0, size=3)
    pair, units = example_pair(), {quantity.name: quantity.unit for quantity in law.inputs}
    scaled_pair = Pair(
        **{
            name: value * conversion(PAIR_QUANTITIES[name], metre, kilogram, second)
            for name, value in pair.items().items()
        }
    )
    scaled_values = {
        name: value * conversion(units[name], metre, kilogram, second)
        if isinstance(value, (int, float)) and not isinstance(value, bool)
        else value
        for name, value in vars(values).items()
    }
    contact, scaled = (
        Contact(law, values, pair),
        attempt(lambda: Contact(law, SimpleNamespace(**scaled_values), scaled_pair)),
    )
    if scaled is None:
        return False
    newton = conversion("N", metre, kilogram, second)
    for x in (0.01, 0.1, 0.5):
        d, rate = x * contact.scale, IMPACT_SPEEDS[1]
        h, _ = contact.relax(contact.time, 0.0, d, contact.fresh())
        g, _ = scaled.relax(contact.time * second, 0.0, d * metre, scaled.fresh())
        h, g = contact.load(d, h), scaled.load(d * metre, g)
        force = contact.force(d, h, rate) * newton
        if not abs(scaled.force(d * metre, g, rate * metre / second) - force) <= 1e-9 * abs(force):
            return False
    for quantity, a, b in zip(contact.model.coefficients, contact.c, scaled.c, strict=True):
        expected = a * conversion(quantity.unit, metre, kilogram, second)
        # A scan locates the windows of the energy correction only to its resolution.
        tolerance = 1e-5 if quantity.name.startswith("guard") else 1e-9
        if math.isfinite(a) and abs(b - expected) > tolerance * abs(expected) + (
            1e-20 * newton * metre if quantity.unit == "J" else 0.0
        ):
            return False
    return True
