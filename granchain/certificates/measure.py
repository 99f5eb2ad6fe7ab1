"""What a contact law delivers, measured: restitution, energy, jumps, order in time, dimension."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from granchain.analysis import observed_order
from granchain.certificates.examples import conversion, example_inputs, example_pair, factors_of
from granchain.contact import laws
from granchain.contact.guard import Elastoplastic
from granchain.contact.law import OPEN, ContactLaw
from granchain.contact.pair import PAIR_QUANTITIES, Pair
from granchain.engine.contacts import coefficients
from granchain.engine.specialise import fingerprint
from granchain.engine.state import contacts_of
from granchain.errors import CaseError, GranchainError, LawError
from granchain.impacts import NeverOpens, collide, impact, law_inputs, two_bodies

# Asked restitutions and impact speeds [m/s] that a certificate goes through.
ASKED = (0.1, 0.3, 0.5, 0.7, 0.9)
SPEEDS = (0.2, 1.77, 10.0)
# The automatic step refined fourfold: restitutions to 1e-6.
REFINED = 4.0
# Refinements of the automatic step from which the order is fitted, and the reference's. Several speeds [m/s], for it is chance where a step
# falls beside a kink or a jump; low ones, for the jumps of the published laws are near first yield and weigh more there.
REFINEMENTS, REFERENCE = (1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0), 40.0
ORDER_SPEEDS = tuple(float(speed) for speed in np.geomspace(0.15, 0.3, 8))
# Orders that are seen where a law states two, and where it states one for a force that jumps.
SEEN = {2: (1.7, 2.3), 1: (0.5, 1.9)}
# A force is said to jump where it changes by more than this over one part in 1e12 of the overlap, relative to the force.
JUMP = 1e-6
GRID = 600
# Energy that a cycle may give beyond what it took, relative to the largest work put in: rounding of the cycles and of the closed forms.
CREATION = 1e-6
# Error of the quadrature of a cycle's work that is aimed at, relative to the largest work put in: a tenth of what is looked for. A part of
# a path is halved up to this often for it: the error of a kink falls fourfold each time, that of a jump that no node marks twofold.
QUADRATURE, HALVINGS = 1e-7, 12


@dataclass(frozen=True)
class Certificate:
    """What a law delivers, measured.

    Parameters
    ----------
    law : type of ContactLaw
        The law.
    inputs : dict
        Example inputs it was measured with.
    delivered : list of (asked, clamped, tensile)
        Restitution; 0 where the bodies stick, None where the ending is no choice or the law refuses; empty where the law takes no
        restitution.
    speeds : list of (speed, restitution)
        Restitution at impact speeds [m/s].
    created : float
        Largest energy that a closed cycle was measured to give beyond what it took, over the largest work put in; at most its error and
        rounding if admissible.
    created_as_printed : float or None
        The same without the energy guard.
    falls : float
        Largest fall of the loss with the largest overlap, relative to the work: at most rounding if admissible.
    jumps : list of (overlap, relative jump)
        Where the loading force jumps [m].
    onset : float
        Force to which a contact jumps at its onset [N], where the damping does not begin at zero; at the second of the impact speeds.
    order : float or None
        Observed order in time of an impact.
    dimension : bool
        Whether force and coefficients scale with metre, kilogram and second as their units say.
    problems : list of str
        Sentences on what is wrong with the law.
    created_error : float
        Largest error of the quadrature of a cycle, over the largest work put in.
    """

    law: type[ContactLaw]
    inputs: dict[str, Any]
    delivered: list[tuple[float, float | None, float | None]] = field(default_factory=list)
    speeds: list[tuple[float, float]] = field(default_factory=list)
    created: float = 0.0
    created_as_printed: float | None = None
    falls: float = 0.0
    jumps: list[tuple[float, float]] = field(default_factory=list)
    onset: float = 0.0
    order: float | None = None
    dimension: bool = True
    problems: list[str] = field(default_factory=list)
    created_error: float = 0.0

    @property
    def admissible(self) -> bool:
        """Whether no cycle created energy."""
        return not creates(self.law, Creation(self.created, self.created_error), self.falls)

    def to_dict(self) -> dict[str, Any]:
        """What was measured as plain values, for JSON."""
        return {
            "name": self.law.name,
            "measured_with": self.inputs,
            "delivered": [{"asked": a, "clamped": c, "tensile": t} for a, c, t in self.delivered],
            "speeds": [{"speed": v, "restitution": e} for v, e in self.speeds],
            "admissible": self.admissible,
            "energy_created": self.created,
            "energy_created_error": self.created_error,
            "energy_created_as_printed": self.created_as_printed,
            "loss_falls": self.falls,
            "jumps": [{"overlap": d, "relative": j} for d, j in self.jumps],
            "onset_force": self.onset,
            "order": self.order,
            "order_stated": self.law.order,
            "dimension": self.dimension,
            "problems": self.problems,
        }


def certificate(law: str | type[ContactLaw], **inputs: Any) -> Certificate:
    """Measure what a contact law delivers.

    Parameters
    ----------
    law : str or type of ContactLaw
        Name of a law, or the class.
    **inputs
        Instead of the example inputs.

    Returns
    -------
    Certificate

    Raises
    ------
    CaseError
        For an unknown law or input, or a value out of range.
    LawError
        Where the law has no coefficients for its inputs, or cannot be run: see granchain.engine.reach.
    """
    known = laws()
    if isinstance(law, str) and law not in known:
        raise CaseError(f'certificate: got "{law}", allowed: {", ".join(known)}')
    law = known[law] if isinstance(law, str) else law
    fingerprint(*law.functions())  # what no run would take is refused here as there
    values = example_inputs(law, **inputs)
    contact = Contact(law, values)
    problems = faults(contact)
    if any("not finite" in problem for problem in problems):
        return Certificate(law, vars(values), problems=problems)
    created, falls = cycles(contact), 0.0
    printed = None
    if issubclass(law, Elastoplastic):
        unguarded = Contact(law, SimpleNamespace(**{**vars(values), "as_printed": True}))
        (by_losses, falls), (printed, _) = losses(contact), losses(unguarded)
        created, printed = created._replace(energy=max(created.energy, by_losses)), max(cycles(unguarded).certain, printed)
    seen = order(law, values)
    scales = not problems_of_units(law) and dimension(law, values)
    problems += faults_of_measures(law, created, falls, seen, scales)
    return Certificate(
        law=law, inputs=vars(values), delivered=delivered(law, values), speeds=at_speeds(law, values), created=created.energy,
        created_as_printed=printed, falls=falls, jumps=jumps(contact), onset=onset(contact), order=seen, dimension=scales,
        problems=problems, created_error=created.error,
    )  # fmt: skip


class Creation(NamedTuple):
    """Energy that cycles were measured to create, and the error of that, both over the largest work put in."""

    energy: float
    error: float

    @property
    def certain(self) -> float:
        """What was created beyond the error."""
        return max(self.energy - self.error, 0.0)


def creates(law: type[ContactLaw], created: Creation, falls: float) -> bool:
    """Whether a law creates energy: measured beyond the error, or its loss falls.

    Without history the force at rest is a function of the overlap alone, and its work on a closed cycle is zero whatever is measured.
    """
    return bool(law.history) and (created.certain > CREATION or falls > CREATION)


def faults_of_measures(law: type[ContactLaw], created: Creation, falls: float, seen: float | None, scales: bool) -> list[str]:
    """Sentences on energy, order and dimension that are not what the law has to keep or states."""
    problems = []
    if creates(law, created, falls):
        found = (
            f"a closed cycle of overlap gives up to {100.0 * created.energy:.3g} % more than it took, measured to "
            f"{100.0 * max(created.error, QUADRATURE):.2g} %"
            if created.certain > CREATION
            else f"its loss falls with the largest overlap by up to {100.0 * falls:.3g} % of the work"
        )
        problems.append(
            f"{law.name} creates energy: {found}; build it on Elastoplastic, whose energy guard prevents it, or check force and energy"
        )
    low, high = SEEN[law.order]
    if seen is not None and not low <= seen <= high:
        problems.append(
            f"{law.name} states order {law.order} in time, and an impact converges with order {seen:.2f}: where the force or its damping "
            "jumps, name the overlap in jumps and the jump in jump, or state order = 1; where it does not, state 2"
        )
    if not scales and not law.fixed_units and not problems_of_units(law):
        problems.append(
            f"{law.name}: force or coefficients do not scale with metre, kilogram and second as the declared units say; check the units of "
            "inputs and coefficients, or set fixed_units = True where the source's constants hold in its own units only"
        )
    return problems


# ---------------------------------------------------------------------------------------------------------------------
# One contact, loaded slowly: the law's own functions as plain Python


class Contact:
    """One contact of the example pair under a law: scalar functions of overlap, with what they need filled in.

    Parameters
    ----------
    law : type of ContactLaw
        The law.
    values : namespace
        Its inputs.
    pair : Pair, optional
        Instead of the example pair.
    """

    def __init__(self, law: type[ContactLaw], values: SimpleNamespace, pair: Pair | None = None):
        pair = pair or example_pair()
        values = SimpleNamespace(**vars(values))
        self.law = law.variant(values)
        limit = np.array([float(pair.effective_radius)])
        self.c = tuple(float(x) for x in coefficients(self.law, pair, values, limit)[:, 0])
        self.limit = min(float(limit[0]), float(self.law.largest_overlap(self.c)))
        self.scale = self._scale(float(pair.effective_mass))

    def _scale(self, mass: float) -> float:
        """Overlap [m] that the fastest of the impact speeds reaches: m v^2/2 of work."""
        energy = 0.5 * mass * SPEEDS[-1] ** 2
        low, high = 1e-12, 0.999 * self.limit
        while high / low > 1.0 + 1e-6:
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self.work(middle) < energy else (low, middle)
        return high

    def fresh(self) -> tuple:
        """History of a contact that has not been loaded."""
        return self.law.history_of(self.c)

    def load(self, overlap: float, h: tuple) -> tuple:
        """History after a slow change to an overlap."""
        # an onset weight lasts one step: a second update takes it back
        for _ in range(2):
            if self.law.needs_update(overlap, 0.0, self.c, h):
                try:
                    h = self.law.update((overlap, 0.0, 0.0, 1.0), self.c, h)
                except (ArithmeticError, ValueError):
                    return (math.nan,) * len(h)
        return h

    def force(self, overlap: float, h: tuple, rate: float = 0.0) -> float:
        """Force [N] with this history; nan where Python refuses what compiled code makes nan or infinite."""
        try:
            return self.law.force(overlap, rate, self.c, h)
        except (ArithmeticError, ValueError):
            return math.nan

    def energy(self, overlap: float, h: tuple) -> float:
        """Recoverable energy [J] with this history."""
        try:
            return self.law.energy(overlap, self.c, h)
        except (ArithmeticError, ValueError):
            return math.nan

    def loading(self, overlap: float) -> float:
        """Force [N] of a fresh contact loaded to an overlap."""
        return self.force(overlap, self.load(overlap, self.fresh()))

    def work(self, overlap: float) -> float:
        """Work [J] of loading a fresh contact to an overlap, as the law's own energies say it."""
        h = self.load(overlap, self.fresh())
        return self.energy(overlap, h) + self.lost(h)

    def lost(self, h: tuple) -> float:
        """Energy [J] that the history has lost for good."""
        try:
            return self.law.plastic(self.c, h)
        except (ArithmeticError, ValueError):
            return math.nan

    def overlaps(self, smallest: float, count: int) -> list[float]:
        """Overlaps [m] from a part of the largest up to it, evenly spaced in their logarithm."""
        return [float(d) for d in self.scale * np.geomspace(smallest, 1.0, count)]


def simpson(intervals: int) -> np.ndarray:
    """Weights of Simpson's rule on a path of length 1 whose places crowd at both ends: d = (1 - cos angle)/2."""
    angles = np.linspace(0.0, math.pi, intervals + 1)
    weights = np.tile([2.0, 4.0], intervals)[: intervals + 1]
    weights[[0, -1]] = 1.0
    return np.asarray(weights * math.pi / intervals / 3.0 * 0.5 * np.sin(angles))


# Places crowd at both ends of a path, where forces start like d^1.5. Every other of them is a rule too, which the error is estimated from.
_INTERVALS = 240
_PLACES = 0.5 * (1.0 - np.cos(np.linspace(0.0, math.pi, _INTERVALS + 1)))
_FINE, _COARSE = simpson(_INTERVALS), simpson(_INTERVALS // 2)


def cycles(contact: Contact, count: int = 40) -> Creation:
    """Largest energy that closed quasi-static cycles give beyond what they took, and its error, over the largest work put in.

    The work is integrated from the forces alone, step by step along the path, so that a law cannot vouch for itself.
    """
    random = np.random.default_rng(20150801)
    # where the force jumps a path is split: no quadrature sees a jump inside
    nodes = sorted(overlap for overlap, _ in jumps(contact))
    created = error = 0.0
    for _ in range(count):
        top = contact.scale * 10.0 ** random.uniform(-4.0, 0.0)
        turns = [0.0, *(top * random.uniform(0.0, 1.0, size=5)), top, 0.0, -0.05 * top]
        h, taken, largest, doubt = contact.fresh(), 0.0, 0.0, 0.0
        for here, there in pairwise(split(turns, nodes)):
            work, off, h = work_along(contact, here, there, h, QUADRATURE * largest)
            taken, doubt = taken + work, doubt + off
            largest = max(largest, taken)
        if largest > 0.0:
            created, error = max(created, float(-taken / largest)), max(error, float(doubt / largest))
    return Creation(created, error)


def work_along(
    contact: Contact, here: float, there: float, h: tuple, allowed: float, halvings: int = HALVINGS
) -> tuple[float, float, tuple]:
    """Work [J] that a contact takes along a path from one overlap to another, its error, and the history at the end.

    The error is the difference to the rule with half as many places. A path on which it is above `allowed` [J], and above that part of its
    own work, is halved.
    """
    start, force = h, np.empty(_PLACES.size)
    for i, d in enumerate((here + (there - here) * _PLACES).tolist()):
        h = contact.load(d, h)
        force[i] = contact.force(d, h)
    work = (there - here) * float(_FINE @ force)
    error = abs(work - (there - here) * float(_COARSE @ force[::2]))
    allowed = max(allowed, QUADRATURE * abs(work)) if halvings == HALVINGS else allowed
    if not error > allowed or halvings == 0:
        return work, error, h
    middle = 0.5 * (here + there)
    first, off, h = work_along(contact, here, middle, start, 0.5 * allowed, halvings - 1)
    second, more, h = work_along(contact, middle, there, h, 0.5 * allowed, halvings - 1)
    return first + second, off + more, h


def split(turns: list[float], nodes: list[float]) -> list[float]:
    """A path through its turning points, with the nodes that it crosses as points of its own."""
    path = [turns[0]]
    for here, there in pairwise(turns):
        between = [node for node in nodes if min(here, there) < node < max(here, there)]
        path += [*(between if there > here else reversed(between)), there]
    return path


def losses(contact: Contact) -> tuple[float, float]:
    """Largest energy that a cycle up to one overlap gives beyond what it took, and largest fall of the loss with it, over the work.

    What the energy guard states, on a grid of largest overlaps and by the law's closed forms.
    """
    created = falls = most = 0.0
    for d in contact.overlaps(1e-5, 4 * GRID):
        h = contact.load(d, contact.fresh())
        lost, work = contact.lost(h), contact.work(d)
        if work > 0.0:
            created, falls = max(created, -lost / work), max(falls, (most - lost) / work)
        most = max(most, lost)
    return created, falls


def jumps(contact: Contact) -> list[tuple[float, float]]:
    """Overlaps at which the loading force of a fresh contact jumps, with the jump relative to the force."""
    grid = contact.overlaps(1e-5, GRID)
    values = [contact.loading(d) for d in grid]
    slopes = [math.log(b / a) if a > 0.0 and b > 0.0 else 0.0 for a, b in pairwise(values)]
    found = []
    # only intervals that stand out from their neighbours by more than smooth curvature can hide a jump worth telling
    for i, slope in enumerate(slopes):
        near = [slopes[j] for j in range(max(0, i - 3), min(len(slopes), i + 4)) if j != i]
        if abs(slope - float(np.median(near))) < 1e-4:
            continue
        low, high = grid[i], grid[i + 1]
        f_low, f_high = values[i], values[i + 1]
        for _ in range(40):
            middle = 0.5 * (low + high)
            f_middle = contact.loading(middle)
            if abs(f_middle - f_low) > abs(f_high - f_middle):
                high, f_high = middle, f_middle
            else:
                low, f_low = middle, f_middle
        if abs(f_high - f_low) > JUMP * abs(f_low):
            found.append((high, (f_high - f_low) / f_low))
    return found


def onset(contact: Contact) -> float:
    """Force [N] to which a contact jumps when two bodies meet at the second of the impact speeds; 0 where its force begins at zero."""
    # A damping like d^a is smaller by 1e-4^a, less than half for a from .08 up, at the second of two overlaps; a jump is as large.
    larger, smaller = (
        contact.force(x * contact.scale, contact.load(x * contact.scale, contact.fresh()), SPEEDS[1]) for x in (1e-20, 1e-24)
    )
    return smaller if smaller > 0.5 * larger else 0.0


# ---------------------------------------------------------------------------------------------------------------------
# What is wrong with a law


def faults(contact: Contact) -> list[str]:
    """Sentences on a force that is not finite, negative, not zero when open, no slope of its energy, or that drives."""
    broken = fault_of_values(contact)
    if broken is not None:
        return [broken]
    checks = (fault_when_open, fault_of_sign, fault_of_damping, fault_of_energy, fault_at_zero)
    return [*(found for check in checks if (found := check(contact)) is not None), *problems_of_units(contact.law)]


def problems_of_units(law: type[ContactLaw]) -> list[str]:
    """Sentences on units that nothing can be converted to."""
    problems = []
    for quantity in (*law.inputs, *law.coefficients):
        try:
            factors_of(quantity.unit)
        except LawError as error:
            problems.append(f"{law.name}: {quantity.name}: {error}")
    return problems


def fault_of_values(contact: Contact) -> str | None:
    """A force or an energy that is not finite."""
    for d in contact.overlaps(1e-5, 60):
        h = contact.load(d, contact.fresh())
        for rate in (0.0, SPEEDS[1], -SPEEDS[1]):
            value = contact.force(d, h, rate)
            if not math.isfinite(value):
                return f"{contact.law.name}: the force is not finite ({value}) at overlap {d:.3g} m and rate {rate:g} m/s"
        if not math.isfinite(contact.energy(d, h)):
            return f"{contact.law.name}: the energy is not finite ({contact.energy(d, h)}) at overlap {d:.3g} m"
    return None


def fault_when_open(contact: Contact) -> str | None:
    """A force of an open contact."""
    for overlap in (0.0, OPEN, -1e-6 * contact.scale):
        for rate in (0.0, SPEEDS[1], -SPEEDS[1]):
            value = contact.force(overlap, contact.fresh(), rate)
            if value != 0.0:
                return (
                    f"{contact.law.name}: the force is {value:.3g} N at overlap {overlap:.3g} m and rate {rate:g} m/s, allowed: exactly 0 "
                    "for an open contact"
                )
    return None


def fault_of_sign(contact: Contact) -> str | None:
    """A force that pulls at rest."""
    for d in contact.overlaps(1e-5, 60):
        value = contact.loading(d)
        if value < 0.0:
            return f"{contact.law.name}: the force is negative ({value:.3g} N) at overlap {d:.3g} m and rate 0"
    return None


def fault_of_damping(contact: Contact) -> str | None:
    """A rate term that puts energy in."""
    for d in contact.overlaps(1e-5, 60):
        h = contact.load(d, contact.fresh())
        at_rest = contact.force(d, h)
        for rate, phase in ((SPEEDS[1], "approach"), (-SPEEDS[1], "recovery")):
            # beyond the rounding of a difference of two forces
            if (contact.force(d, h, rate) - at_rest) * rate < -1e-12 * abs(at_rest * rate):
                return f"{contact.law.name}: the rate term drives the {phase} instead of damping it, at overlap {d:.3g} m"
    return None


def fault_of_energy(contact: Contact) -> str | None:
    """Energy or work that the forces do not give; the work rests on the energy."""
    return fault_of_slope(contact) or fault_of_work(contact)


def fault_of_slope(contact: Contact) -> str | None:
    """A force that is not the slope of the energy."""
    for d in contact.overlaps(1e-3, 12):
        h = contact.load(d, contact.fresh())
        # central difference on the unloading curve, a little below the largest overlap: error of order (1e-4)^2
        x, step = 0.999 * d, 1e-4 * d
        slope = (contact.energy(x + step, h) - contact.energy(x - step, h)) / (2.0 * step)
        force = contact.force(x, h)
        if abs(slope - force) > 1e-4 * (abs(force) + abs(slope)):
            return f"{contact.law.name}: the force is not the slope of the energy: {force:.6g} N against {slope:.6g} N at overlap {x:.3g} m"
    return None


def fault_of_work(contact: Contact) -> str | None:
    """A loading force that is not the slope of the work, recoverable and lost together."""
    for d in contact.overlaps(1e-3, 12):
        step = 1e-4 * d
        slope = (contact.work(d + step) - contact.work(d - step)) / (2.0 * step)
        force = contact.loading(d)
        # a jump of the force within the step is not meant
        if abs(contact.loading(d + step) - contact.loading(d - step)) < 1e-2 * abs(force) and abs(slope - force) > 1e-4 * abs(force):
            return (
                f"{contact.law.name}: the loading force is not the slope of the work (recoverable energy and what is lost): {force:.6g} N "
                f"against {slope:.6g} N at overlap {d:.3g} m"
            )
    return None


def fault_at_zero(contact: Contact) -> str | None:
    """A force that does not begin at zero."""
    first, last = contact.loading(1e-9 * contact.scale), contact.loading(contact.scale)
    if abs(first) > 1e-3 * abs(last):
        return f"{contact.law.name}: the force is discontinuous at zero overlap: {first:.3g} N at a billionth of the largest overlap"
    return None


# ---------------------------------------------------------------------------------------------------------------------
# Impacts of the example pair, in the engine


def attempt(call: Callable[[], Any]) -> Any:
    """What a call returns; None where the law refuses."""
    try:
        return call()
    except GranchainError:
        return None


def delivered(law: type[ContactLaw], values: SimpleNamespace) -> list[tuple[float, float | None, float | None]]:
    """Restitution that impacts deliver for asked ones, with both ways of ending a contact."""
    names = {quantity.name: quantity for quantity in law.inputs}
    if "restitution" not in names:
        return []

    def one(asked: float, separation: str) -> float | None:
        given = {**vars(values), "restitution": asked}
        if "separation" in names:
            given["separation"] = separation
        try:
            return impact(law=law, pair=example_pair(), speed=SPEEDS[1], refine=REFINED, **given).restitution
        except NeverOpens:
            return 0.0
        except GranchainError:
            return None

    return [(asked, one(asked, "clamped"), one(asked, "tensile") if "separation" in names else None) for asked in ASKED]


def at_speeds(law: type[ContactLaw], values: SimpleNamespace) -> list[tuple[float, float]]:
    """Restitution at several impact speeds; an impact's own speed goes into a damping term that takes one."""
    rows = []
    for speed in SPEEDS:
        given = {**vars(values)}
        if "impact_speed" in given:
            given["impact_speed"] = "striker"
        found = attempt(partial(impact, law=law, pair=example_pair(), speed=speed, refine=REFINED, **given))
        if found is not None:
            rows.append((speed, found.restitution))
    return rows


def order(law: type[ContactLaw], values: SimpleNamespace) -> float | None:
    """Observed order in time: largest overlap, largest force and restitution of impacts towards those of a fine step."""
    chains = [two_bodies(example_pair(), speed) for speed in ORDER_SPEEDS]
    contacts = contacts_of(law, chains[0], law_inputs(law, vars(values), SPEEDS[1]), example_pair())

    def numbers(refine: float) -> np.ndarray:
        found = [collide(contacts, chain, speed, refine) for chain, speed in zip(chains, ORDER_SPEEDS, strict=True)]
        return np.array([(one.max_overlap, one.max_force, one.restitution) for one in found])

    reference = attempt(lambda: numbers(REFERENCE))
    if reference is None:
        return None
    errors = [float(np.sqrt(np.mean((numbers(refine) / reference - 1.0) ** 2))) for refine in REFINEMENTS]
    return observed_order([1.0 / refine for refine in REFINEMENTS], errors)


def dimension(law: type[ContactLaw], values: SimpleNamespace) -> bool:
    """Whether force and coefficients scale as their units say when metre, kilogram and second change by random factors."""
    random = np.random.default_rng(1960)
    metre, kilogram, second = 10.0 ** random.uniform(-1.0, 1.0, size=3)
    pair, units = example_pair(), {quantity.name: quantity.unit for quantity in law.inputs}
    other_pair = Pair(**{name: value * conversion(PAIR_QUANTITIES[name], metre, kilogram, second) for name, value in pair.items().items()})
    other_values = {
        name: value * conversion(units[name], metre, kilogram, second)
        if isinstance(value, (int, float)) and not isinstance(value, bool)
        else value
        for name, value in vars(values).items()
    }
    one, other = Contact(law, values, pair), attempt(lambda: Contact(law, SimpleNamespace(**other_values), other_pair))
    if other is None:
        return False
    newton = conversion("N", metre, kilogram, second)
    for x in (0.01, 0.1, 0.5):
        d, rate = x * one.scale, SPEEDS[1]
        h, g = one.load(d, one.fresh()), other.load(d * metre, other.fresh())
        force = one.force(d, h, rate) * newton
        if not abs(other.force(d * metre, g, rate * metre / second) - force) <= 1e-9 * abs(force):
            return False
    for quantity, a, b in zip(one.law.coefficients, one.c, other.c, strict=True):
        expected = a * conversion(quantity.unit, metre, kilogram, second)
        # the guard's windows are found by a scan: to its refinement
        tolerance = 1e-5 if quantity.name.startswith("guard") else 1e-9
        if math.isfinite(a) and abs(b - expected) > tolerance * abs(expected) + (1e-20 * newton * metre if quantity.unit == "J" else 0.0):
            return False
    return True
