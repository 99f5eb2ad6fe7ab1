"""What a contact law delivers, measured: restitution, energy, jumps, order in time, dimension."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np

from granchain.analysis import observed_order
from granchain.contact import laws
from granchain.contact.law import OPEN, ContactLaw, Elastoplastic, Quantity
from granchain.contact.pair import PAIR_QUANTITIES, Pair
from granchain.engine.contacts import coefficients, settled
from granchain.errors import CaseError, GranchainError
from granchain.impact import impact

# Asked restitutions and impact speeds that a certificate goes through.
ASKED = (0.1, 0.3, 0.5, 0.7, 0.9)
SPEEDS = (0.2, 1.77, 10.0)
# Refinements of the automatic step from which the order is fitted, and the reference's.
REFINEMENTS, REFERENCE = (1.0, 1.4, 2.0, 2.8, 4.0, 5.6), 40.0
# A force is said to jump where it changes by more than this over one part in 1e12 of the overlap, relative to the force.
JUMP = 1e-6
GRID = 600
# Energy that a cycle may give beyond what it took, relative to the largest work put in: rounding and quadrature of the cycles.
CREATION = 1e-6

# Published example inputs. Wang, Liu & Liu 2022, sec. 5.2, doi:10.1016/j.ijmecsci.2022.107214: restitution, psi, xi of the steel chain.
EXAMPLES: dict[str, float] = {"restitution": 0.65, "psi": 2.84, "xi": 13.0, "impact_speed": 1.77}
# Order of magnitude of a contact of that chain, by unit: what a law requires and no example names is of the order that its unit says.
SCALES: dict[str, float] = {"N": 100.0, "m": 1e-5, "s": 1e-5, "kg": 1e-4, "Pa": 1e9, "J": 1e-3}
# Powers of metre, kilogram and second in a unit.
DIMENSIONS: dict[str, tuple[float, float, float]] = {
    "m": (1, 0, 0), "kg": (0, 1, 0), "s": (0, 0, 1), "N": (1, 1, -2), "Pa": (-1, 1, -2), "J": (2, 1, -2), "1": (0, 0, 0),
}  # fmt: skip


def example_pair() -> Pair:
    """Two steel beads of the 70-bead chain, with what any law may ask for.

    Wang, Liu & Liu 2022, table 8, doi:10.1016/j.ijmecsci.2022.107214; hardness 2.8 times the yield stress, Kogut & Etsion 2002,
    doi:10.1115/1.1490373; length of a line contact: the bead's diameter.
    """
    return Pair(
        effective_radius=1.19e-3,
        effective_modulus=193e9 / (2.0 * (1.0 - 0.3 * 0.3)),
        effective_mass=2.25e-4,
        yield_stress=900e6,
        poissons_ratio=0.3,
        youngs_modulus=193e9,
        hardness=2.8 * 900e6,
        density=7968.8,
        radius_1=2.38e-3,
        radius_2=2.38e-3,
        length=4.76e-3,
    )


def example_inputs(law: type[ContactLaw], **changes: Any) -> SimpleNamespace:
    """A value for each of a law's inputs: given, published example, default, or one from the unit and the allowed range."""
    return SimpleNamespace(**{quantity.name: changes.get(quantity.name, example(quantity)) for quantity in law.inputs})


def example(quantity: Quantity) -> Any:
    """An allowed value of one input."""
    if quantity.name in EXAMPLES and quantity.problem(EXAMPLES[quantity.name]) is None:
        return EXAMPLES[quantity.name]
    if not quantity.required:
        return quantity.default
    if quantity.kind != "number":
        return quantity.choices[0] if quantity.choices else False
    low = quantity.low if quantity.low is not None else quantity.above
    high = quantity.high if quantity.high is not None else quantity.below
    if low is not None and high is not None:
        return 0.5 * (low + high)
    value = magnitude(quantity.unit)
    if low is not None and not value > low:
        return low + max(abs(low), 1.0)
    if high is not None and not value < high:
        return high - max(abs(high), 1.0)
    return value


def factors_of(unit: str) -> list[tuple[str, float]]:
    """Units and powers in a unit such as "N s/m^1.5"; N/m^n is that of Hertz, n = 1.5."""
    found = []
    for slash, name, power in re.findall(r"(/?)\s*([A-Za-z]+|1)\^?(-?[0-9.]+|n)?", unit):
        exponent = 1.5 if power == "n" else float(power or 1.0)
        found.append((name, -exponent if slash else exponent))
    return found


def magnitude(unit: str) -> float:
    """Order of magnitude of a quantity of this unit in a contact of steel beads."""
    return math.prod(SCALES.get(name, 1.0) ** power for name, power in factors_of(unit))


def conversion(unit: str, metre: float, kilogram: float, second: float) -> float:
    """What a number of this unit is multiplied by when the base units shrink by these factors."""
    value = 1.0
    for name, power in factors_of(unit):
        length, mass, time = DIMENSIONS[name]
        value *= (metre**length * kilogram**mass * second**time) ** power
    return value


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
        Restitution; None where the ending is no choice or the law refuses; empty where the law takes no restitution.
    speeds : list of (speed, restitution)
        Restitution at impact speeds [m/s].
    created : float
        Largest energy that a closed cycle gave beyond what it took, over the largest work put in; at most rounding if admissible.
    created_as_printed : float or None
        The same without the energy guard.
    falls : float
        Largest fall of the loss with the largest overlap, relative to the work: at most rounding if admissible.
    jumps : list of (overlap, relative jump)
        Where the loading force jumps [m].
    order : float or None
        Observed order in time of an impact.
    dimension : bool
        Whether force and coefficients scale with metre, kilogram and second as their units say.
    problems : list of str
        Sentences on what is wrong with the law.
    """

    law: type[ContactLaw]
    inputs: dict[str, Any]
    delivered: list[tuple[float, float | None, float | None]] = field(default_factory=list)
    speeds: list[tuple[float, float]] = field(default_factory=list)
    created: float = 0.0
    created_as_printed: float | None = None
    falls: float = 0.0
    jumps: list[tuple[float, float]] = field(default_factory=list)
    order: float | None = None
    dimension: bool = True
    problems: list[str] = field(default_factory=list)

    @property
    def admissible(self) -> bool:
        """Whether no cycle created energy."""
        return self.created <= CREATION and self.falls <= CREATION

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        law = self.law
        return {
            "name": law.name,
            "summary": law.summary(),
            "source": {"text": law.source.text, "equation": law.source.equation, "doi": law.source.doi},
            "inputs": [
                {"name": q.name, "unit": q.unit, "meaning": q.meaning, "allowed": q.range, "default": None if q.required else q.default}
                for q in law.inputs
            ],
            "validity": law.validity,
            "status": law.status,
            "measured_with": self.inputs,
            "delivered": [{"asked": a, "clamped": c, "tensile": t} for a, c, t in self.delivered],
            "speeds": [{"speed": v, "restitution": e} for v, e in self.speeds],
            "admissible": self.admissible,
            "energy_created": self.created,
            "energy_created_as_printed": self.created_as_printed,
            "jumps": [{"overlap": d, "relative": j} for d, j in self.jumps],
            "order": self.order,
            "order_stated": law.order,
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
        For an unknown law or input.
    """
    known = laws()
    if isinstance(law, str) and law not in known:
        raise CaseError(f'certificate: got "{law}", allowed: {", ".join(known)}')
    law = known[law] if isinstance(law, str) else law
    unknown = [name for name in inputs if name not in {q.name for q in law.inputs}]
    if unknown:
        raise CaseError(f"certificate: unknown input {', '.join(unknown)} of {law.name}; allowed: {', '.join(q.name for q in law.inputs)}")
    values = example_inputs(law, **inputs)
    contact = Contact(law, values)
    created, falls = cycles(contact)
    printed = None
    if issubclass(law, Elastoplastic):
        printed = cycles(Contact(law, SimpleNamespace(**{**vars(values), "as_printed": True})))[0]
    problems = faults(contact)
    if created > CREATION or falls > CREATION:
        problems.append(
            f"{law.name} creates energy: a closed cycle of overlap gives up to {created:.3g} of the largest work put in beyond what it took; "
            "build it on Elastoplastic, whose energy guard prevents it, or check force and energy"
        )
    engine = not any("not finite" in problem for problem in problems)
    return Certificate(
        law=law,
        inputs=vars(values),
        delivered=delivered(law, values) if engine else [],
        speeds=at_speeds(law, values) if engine else [],
        created=created,
        created_as_printed=printed,
        falls=falls,
        jumps=jumps(contact),
        order=order(law, values) if engine else None,
        dimension=dimension(law, values),
        problems=problems,
    )


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
        self.settle = settled(self.law)
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
        if self.law.needs_update(overlap, 0.0, self.c, h):
            h = self.law.update((overlap, 0.0, 0.0, 1.0), self.c, h)
            # an onset weight lasts one step
            if self.law.needs_update(overlap, 0.0, self.c, h):
                h = self.law.update((overlap, 0.0, 0.0, 1.0), self.c, h)
        return h

    def force(self, overlap: float, h: tuple, rate: float = 0.0) -> float:
        """Force [N] with this history."""
        return self.law.force(overlap, rate, self.c, h)

    def work(self, overlap: float) -> float:
        """Work [J] of loading a fresh contact to an overlap, as the law's own energies say it."""
        h = self.load(overlap, self.fresh())
        return self.law.energy(overlap, self.c, h) + self.law.plastic(self.c, h)


def cycles(contact: Contact, count: int = 40) -> tuple[float, float]:
    """Energy that closed quasi-static cycles give beyond what they took, and the largest fall of the loss; over the largest work.

    The work is integrated from the forces alone, step by step along the path, so that a law cannot vouch for itself; the guard's finer
    statement, the loss on a grid of largest overlaps, is taken from the law's closed forms.
    """
    random = np.random.default_rng(20150801)
    law, scale = contact.law, contact.scale
    # where the force jumps a path is split: no quadrature sees a jump inside
    nodes = sorted(overlap for overlap, _ in jumps(contact))
    created = 0.0
    for _ in range(count):
        top = scale * 10.0 ** random.uniform(-4.0, 0.0)
        turns = [0.0, *(top * random.uniform(0.0, 1.0, size=5)), top, 0.0, -0.05 * top]
        h, taken, largest = contact.fresh(), 0.0, 0.0
        for here, there in pairwise(split(turns, nodes)):
            # Simpson on steps that crowd at both ends, where forces start like d^1.5
            path = here + (there - here) * 0.5 * (1.0 - np.cos(np.linspace(0.0, math.pi, 241)))
            force = np.empty(path.size)
            for i, d in enumerate(path):
                h = contact.load(float(d), h)
                force[i] = contact.force(float(d), h)
            angle = np.linspace(0.0, math.pi, 241)
            slope = (there - here) * 0.5 * np.sin(angle)
            weights = np.tile([2.0, 4.0], 121)[:241]
            weights[0] = weights[-1] = 1.0
            taken += float((weights * force * slope).sum() * math.pi / 240.0 / 3.0)
            largest = max(largest, taken)
        if largest > 0.0:
            created = max(created, -taken / largest)
    falls = 0.0
    if law.history and isinstance(law, type) and issubclass(law, Elastoplastic):
        before = 0.0
        for d in scale * np.geomspace(1e-5, 1.0, 4 * GRID):
            h = contact.load(float(d), contact.fresh())
            lost, work = law.plastic(contact.c, h), contact.work(float(d))
            if work > 0.0:
                falls = max(falls, (before - lost) / work)
            before = max(before, lost)
    return max(created, 0.0), falls


def split(turns: list[float], nodes: list[float]) -> list[float]:
    """A path through its turning points, with the nodes that it crosses as points of its own."""
    path = [turns[0]]
    for here, there in pairwise(turns):
        between = [node for node in nodes if min(here, there) < node < max(here, there)]
        path += [*(between if there > here else reversed(between)), there]
    return path


def jumps(contact: Contact) -> list[tuple[float, float]]:
    """Overlaps at which the loading force of a fresh contact jumps, with the jump relative to the force."""

    def loading(d: float) -> float:
        return contact.force(d, contact.load(d, contact.fresh()))

    grid = [float(d) for d in contact.scale * np.geomspace(1e-5, 1.0, GRID)]
    values = [loading(d) for d in grid]
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
            f_middle = loading(middle)
            if abs(f_middle - f_low) > abs(f_high - f_middle):
                high, f_high = middle, f_middle
            else:
                low, f_low = middle, f_middle
        if abs(f_high - f_low) > JUMP * abs(f_low):
            found.append((high, (f_high - f_low) / f_low))
    return found


def faults(contact: Contact) -> list[str]:
    """Sentences on a force that is negative, not finite, not zero at zero overlap, or not the slope of its energy."""
    law, c = contact.law, contact.c
    problems = []
    tiny, rate = 1e-6 * contact.scale, SPEEDS[1]
    for overlap in (0.0, -tiny, OPEN):
        value = contact.force(overlap, contact.fresh())
        if value != 0.0:
            problems.append(f"{law.name}: the force is {value:.3g} N at overlap {overlap:g} m, allowed: exactly 0 for an open contact")
            break
    for d in contact.scale * np.geomspace(1e-5, 1.0, 60):
        h = contact.load(float(d), contact.fresh())
        for r in (0.0, rate, -rate):
            value = contact.force(float(d), h, r)
            if not math.isfinite(value):
                problems.append(f"{law.name}: the force is not finite ({value}) at overlap {d:.3g} m and rate {r:g} m/s")
                return problems
        if contact.force(float(d), h) < 0.0:
            problems.append(f"{law.name}: the force is negative ({contact.force(float(d), h):.3g} N) at overlap {d:.3g} m and rate 0")
            break
        damping = (contact.force(float(d), h, rate) - contact.force(float(d), h)) * rate
        if damping < -1e-12 * abs(contact.force(float(d), h) * rate):
            problems.append(f"{law.name}: the rate term drives the approach instead of damping it, at overlap {d:.3g} m")
            break
    for d in contact.scale * np.geomspace(1e-3, 1.0, 12):
        h = contact.load(float(d), contact.fresh())
        # central difference of the energy on the unloading curve, a little below the largest overlap: error of order (1e-4)^2
        x, step = 0.999 * float(d), 1e-4 * float(d)
        slope = (law.energy(x + step, c, h) - law.energy(x - step, c, h)) / (2.0 * step)
        force = contact.force(x, h)
        if abs(slope - force) > 1e-4 * (abs(force) + abs(slope)):
            problems.append(
                f"{law.name}: the force is not the slope of the energy: {force:.6g} N against {slope:.6g} N at overlap {x:.3g} m"
            )
            break
    fresh = [contact.force(scale * contact.scale, contact.load(scale * contact.scale, contact.fresh())) for scale in (1e-9, 1.0)]
    if fresh[0] > 1e-3 * fresh[1]:
        problems.append(f"{law.name}: the force is discontinuous at zero overlap: {fresh[0]:.3g} N at a billionth of the largest overlap")
    return problems


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
        found = attempt(lambda: impact(law=law, pair=example_pair(), speed=SPEEDS[1], refine=4.0, **given))
        return None if found is None else found.restitution

    rows = []
    for asked in ASKED:
        tensile = one(asked, "tensile") if "separation" in names else None
        rows.append((asked, one(asked, "clamped"), tensile))
    return rows


def at_speeds(law: type[ContactLaw], values: SimpleNamespace) -> list[tuple[float, float]]:
    """Restitution at several impact speeds; an impact's own speed goes into a damping term that takes one."""
    rows = []
    for speed in SPEEDS:
        given = {**vars(values)}
        if "impact_speed" in given:
            given["impact_speed"] = "striker"
        found = attempt(lambda speed=speed, given=given: impact(law=law, pair=example_pair(), speed=speed, refine=4.0, **given))
        if found is not None:
            rows.append((speed, found.restitution))
    return rows


def order(law: type[ContactLaw], values: SimpleNamespace) -> float | None:
    """Observed order in time: largest overlap, force and separation speed of an impact towards those of a fine step."""

    def numbers(refine: float) -> np.ndarray:
        found = impact(law=law, pair=example_pair(), speed=SPEEDS[1], refine=refine, **vars(values))
        return np.array([found.max_overlap, found.max_force, found.restitution])

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
    one, other = Contact(law, values, pair), Contact(law, SimpleNamespace(**other_values), other_pair)
    newton = conversion("N", metre, kilogram, second)
    for x in (0.01, 0.1, 0.5):
        d, rate = x * one.scale, SPEEDS[1]
        h, g = one.load(d, one.fresh()), other.load(d * metre, other.fresh())
        force = one.force(d, h, rate) * newton
        if abs(other.force(d * metre, g, rate * metre / second) - force) > 1e-9 * abs(force):
            return False
    for quantity, a, b in zip(one.law.coefficients, one.c, other.c, strict=True):
        expected = a * conversion(quantity.unit, metre, kilogram, second)
        # the guard's windows are found by a scan: to its refinement
        tolerance = 1e-5 if quantity.name.startswith("guard") else 1e-9
        if math.isfinite(a) and abs(b - expected) > tolerance * abs(expected) + (1e-20 * newton * metre if quantity.unit == "J" else 0.0):
            return False
    return True


# ---------------------------------------------------------------------------------------------------------------------
# The page of the laws


def markdown(certificates: list[Certificate]) -> str:
    """The reference of the contact laws: a table of all, then a page of each."""
    lines = [
        "# Contact laws",
        "",
        "Printed by `granchain laws --markdown` from the law classes and their certificates; not written by hand. Every figure is measured with the",
        "engine on two steel beads (effective radius 1.19 mm, effective modulus 106.04 GPa, effective mass 0.225 g, yield stress 900 MPa), impact",
        f"speed {SPEEDS[1]:g} m/s unless a speed is named. Delivered restitution is what an impact returns for the one asked; *clamped* contacts cannot",
        "pull, *tensile* ones end at zero overlap. No law here has been validated against a measured trace unless its page says so.",
        "",
        "| law | what it is | e delivered for .5 (clamped / tensile) | creates energy | jumps | order in time |",
        "|---|---|---|---|---|---|",
    ]
    for one in certificates:
        half = next(((c, t) for a, c, t in one.delivered if a == 0.5), None)
        shown = "-" if half is None else " / ".join("-" if x is None else f"{x:.4f}" for x in half)
        creates = "no" if one.admissible else f"yes, {one.created:.2g}"
        if one.created_as_printed is not None and one.created_as_printed > CREATION:
            creates += f" (as printed {100.0 * one.created_as_printed:.2g} %)"
        lines.append(
            f"| [{one.law.name}](#{one.law.name}) | {one.law.summary()} | {shown} | {creates} | {len(one.jumps) or 'none'} | {shown_order(one)} |"
        )
    for one in certificates:
        lines += ["", *page(one)]
    return "\n".join(lines) + "\n"


def shown_order(one: Certificate) -> str:
    """Observed order, with the stated one where it is not two."""
    seen = "-" if one.order is None else f"{one.order:.1f}"
    return seen if one.law.order == 2 else f"{seen} (stated {one.law.order})"


def page(one: Certificate) -> list[str]:
    """The page of one law."""
    law = one.law
    text = [line.strip() for line in (law.__doc__ or "").strip().splitlines()[1:]]
    lines = [f"## {law.name}", "", law.summary(), ""]
    if any(text):
        lines += [" ".join(line for line in text if line), ""]
    lines += [f"Source: {law.source}", ""]
    if law.inputs:
        lines += ["| input | unit | allowed | default | meaning |", "|---|---|---|---|---|"]
        for q in law.inputs:
            default = (
                "required"
                if q.required
                else "-"
                if q.default is None
                else str(q.default).lower()
                if isinstance(q.default, bool)
                else f"{q.default}"
            )
            lines.append(f"| {q.name} | {q.unit or '-'} | {q.range} | {default} | {q.meaning} |")
        lines.append("")
    if one.delivered:
        lines += ["| asked restitution | delivered, clamped | delivered, tensile |", "|---|---|---|"]
        for asked, clamped, tensile in one.delivered:
            lines.append(
                f"| {asked:g} | {'refused' if clamped is None else f'{clamped:.4f}'} | {'-' if tensile is None else f'{tensile:.4f}'} |"
            )
        lines.append("")
    if one.speeds:
        listed = ", ".join(f"{e:.4f} at {v:g} m/s" for v, e in one.speeds)
        lines += [f"Restitution against speed (example inputs): {listed}.", ""]
    if one.admissible:
        energy = "no closed cycle creates energy, and the loss never falls"
    else:
        energy = (
            f"a cycle creates up to {100.0 * one.created:.2g} % of the work put in; the loss falls by up to {100.0 * one.falls:.2g} % of it"
        )
    if one.created_as_printed is not None:
        energy += (
            f"; as printed, without the guard, up to {100.0 * one.created_as_printed:.2g} % is created"
            if one.created_as_printed > CREATION
            else "; the same holds as printed"
        )
    lines += [f"Energy: {energy}.", ""]
    if one.jumps:
        lines += ["Force jumps: " + ", ".join(f"{100.0 * jump:+.2f} % at overlap {d:.4g} m" for d, jump in one.jumps) + ".", ""]
    lines += [f"Order in time: {shown_order(one)}. Dimension: {'consistent' if one.dimension else 'NOT consistent'}.", ""]
    lines += [f"Validity: {law.validity or 'not stated'}. Status: {law.status}."]
    for problem in one.problems:
        lines += ["", f"**Problem**: {problem}."]
    return lines
