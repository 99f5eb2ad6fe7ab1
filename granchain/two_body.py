"""Two bodies: the same loop with two beads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

from granchain.analysis.definition import ForceJumps, summit
from granchain.chain import Masses
from granchain.contact import law_named
from granchain.contact.inputs import filled
from granchain.contact.law import OPEN, ContactLaw
from granchain.contact.model import Functions, Model
from granchain.contact.pair import OF_THE_SOFTER, Pair
from granchain.engine.at_rest import settled
from granchain.engine.setup import Contacts, RowInputs, contacts_together
from granchain.engine.state import Recording, State
from granchain.engine.timestep import TimeStep, time_step_of
from granchain.errors import CaseError, LawError, RunError, error_text, suggestion
from granchain.keys import shown
from granchain.markup import facts_card
from granchain.material import MATERIALS, Material
from granchain.status import Status

# First length of a run, in automatic steps; it is doubled until the contact has ended. An elastic
# contact takes some 240 of them (measured: Hertz). A heavily damped one has the step of its
# damping: a hysteresis dashpot takes 2.1e6 of them for a restitution of .001 and 7e7 for .0001
# (measured). Steps of the longest run.
FIRST_STEPS, STEPS_AT_MOST = 1000, 2**27
# Steps between two looks at a signal: some tenth of a second.
STEPS_AT_ONCE = 2**20
# Steps from the start on of which each is recorded; the long recoveries of heavily damped contacts
# are recorded at every 2^n-th, so that a record holds between once and twice as many more.
CLOSELY = 2**17
# Part of the impact's energy below which two bodies that still touch count as stuck: whatever came
# after, the restitution is below 1e-6.
STUCK = 1e-12


# Numbers of an impact, their units, and what they are.
SCALARS = {
    "restitution": ("1", "separation speed over approach speed"),
    "restitution_impulse": ("1", "impulse of recovery over that of approach"),
    "restitution_energy": ("1", "root of the work given back over the work taken"),
    "max_overlap": ("m", "largest overlap"),
    "max_force": ("N", "largest force"),
    "duration": ("s", "time until the force is zero for good"),
    "approach_time": ("s", "time to the largest overlap"),
    "recovery_time": ("s", "time from the largest overlap on"),
    "overlap_duration": ("s", "time until the overlap is zero"),
    "residual_overlap": ("m", "overlap at which the contact opens for good"),
    "contact_radius": ("m", "largest radius of the circle of contact"),
    "dissipated": ("J", "energy lost"),
    "dissipated_approach": ("J", "energy lost up to the largest overlap"),
    "dissipated_recovery": ("J", "energy lost from the largest overlap on"),
    "time_step": ("s", "time step"),
}


class NeverOpens(RunError):  # noqa: N818
    """Two bodies that do not come apart: the law dissipates everything, or sticks."""


class NotEnded(RunError):  # noqa: N818
    """A contact that takes more steps than are done for it."""


@dataclass(frozen=True)
class ImpactResult:
    """What an impact of two bodies delivers.

    Parameters
    ----------
    restitution : float
        Separation speed over approach speed [1], Newton's.
    restitution_impulse : float
        Impulse of the force from the largest overlap on over that up to it [1], Poisson's.
    restitution_energy : float
        Root of the work that the force gives back from there on over what it took [1], Stronge's.
        Where nothing but the contact acts, as here, the three are one: how far they are from each
        other is what the samples leave of the integrals. Stronge 1990, doi:10.1098/rspa.1990.0125.
    max_overlap, max_force : float
        [m], [N].
    duration, approach_time, recovery_time : float
        Until the force is zero for good, of which up to the largest overlap, and from there on [s].
        A clamped force is zero before the overlap is; one that may pull acts until the contact
        opens.
    overlap_duration : float
        Time until the overlap is zero [s]. It is longer than the duration of the force if residual
        indentation remains or the force has a no-tension cutoff, and shorter if the contact opens
        at a negative overlap.
    residual_overlap : float
        Overlap at which the contact opens for good [m]: the dent; negative where a law as printed
        pulls on beyond zero.
    dissipated, dissipated_approach, dissipated_recovery : float
        Energy lost, in all, up to the largest overlap, and from there on [J].
    time, overlap, rate, force : (n,) array
        The contact step by step [s], [m], [m/s], [N]; from step CLOSELY on at every 2^n-th step
        only.
    effective_mass : float
        Of the pair [kg].
    contact_radius : float or None
        Largest radius of the circle of contact [m]; None where the law's source states none.
    model : Model or None
        The law as it ran, with its coefficients: what the parts of the force are found with.
    """

    law: str
    speed: float
    restitution: float
    restitution_impulse: float
    restitution_energy: float
    max_overlap: float
    max_force: float
    duration: float
    approach_time: float
    recovery_time: float
    overlap_duration: float
    residual_overlap: float
    dissipated: float
    dissipated_approach: float
    dissipated_recovery: float
    time_step: float
    time: np.ndarray = field(repr=False)
    overlap: np.ndarray = field(repr=False)
    rate: np.ndarray = field(repr=False)
    force: np.ndarray = field(repr=False)
    effective_mass: float
    contact_radius: float | None = None
    model: Model | None = field(default=None, repr=False, compare=False)
    coefficients: tuple[float, ...] = field(default=(), repr=False, compare=False)

    @property
    def acceleration(self) -> np.ndarray:
        """(n,) Second derivative of the overlap [m/s2]: -F/m."""
        return -self.force / self.effective_mass

    @cached_property
    def elastic_force(self) -> np.ndarray:
        """(n,) Force at the same overlaps and history without a rate [N]: that of spring or dent
        alone."""
        if self.model is None or not self.model.uses_rate:
            return self.force
        functions, c, found = self.model.functions, self.coefficients, np.zeros_like(self.force)
        h = functions.history_of(c)
        rates = self.rate.tolist()
        for k, (overlap, rate) in enumerate(zip(self.overlap.tolist(), rates, strict=True)):
            if functions.needs_update(overlap, rate, c, h):
                h = functions.update((overlap, rate, rate, 1.0), c, h)
            found[k] = functions.force(overlap, 0.0, c, h)
        return found

    @property
    def damping_force(self) -> np.ndarray:
        """(n,) The rest of the force [N]: what the rate adds; where a force is clamped at zero,
        what cancels the elastic part."""
        return self.force - self.elastic_force

    def _repr_html_(self) -> str:
        """What a notebook shows: its numbers."""
        rows = [
            (name.replace("_", " "), f"{value:.6g}", unit, meaning)
            for name, (unit, meaning) in SCALARS.items()
            if (value := getattr(self, name)) is not None
        ]
        return facts_card(f"{self.law}, impact at {self.speed:g} m/s", rows)

    def numbers(self) -> dict[str, Any]:
        """The scalars, by name."""
        return {
            name: value
            for name, value in vars(self).items()
            if isinstance(value, str | float | None)
        }


def impact(
    *,
    law: str | type[ContactLaw],
    speed: float,
    pair: Pair | Mapping[str, float] | None = None,
    material: str | Material | None = None,
    refine: float = 1.0,
    **inputs: Any,
) -> ImpactResult:
    """Simulate the impact of two bodies with a contact law.

    Parameters
    ----------
    law : str or type of ContactLaw
        Name or class of the contact law.
    speed : float
        Approach speed [m/s], greater than 0.
    pair : Pair or mapping of str to float, optional
        The two bodies, or values that replace those of the default pair, in SI units. Default: two
        steel beads with a radius of 2.38 mm.
    material : str or Material, optional
        Material of both bodies, if `pair` is not a Pair. Radius and mass do not change.
    refine : float
        Factor by which the automatic time step is divided.
    **inputs
        Inputs of the law, such as restitution=0.8. A restitution can also be a table {"law":
        "ma-liu", "psi": ..., "xi": ...}: the restitution of that elastoplastic law at this speed.

    Returns
    -------
    ImpactResult
        Restitution, duration, and histories of the impact.

    Raises
    ------
    CaseError
        If an input is unknown, a value is out of range, or the speed is not greater than 0.
    LawError
        If the law is unknown, the pair lacks a quantity, or `material` is combined with a Pair.
    RunError
        If the contact does not open (NeverOpens), takes too many steps (NotEnded), or leaves the
        range of the law.

    Notes
    -----
    Each body has twice the effective mass and half of the approach speed.

    Examples
    --------
    >>> import granchain as gc
    >>> round(gc.impact(law="hertz", speed=1.0).restitution, 3)
    1.0
    """
    law = law_named(law, "impact: law")
    if not (np.isfinite(speed) and speed > 0.0):
        raise CaseError(
            f"impact: speed: {speed!r} is not valid. It must be a finite number above 0 [m/s]."
        )
    pair = pair_of(pair, material)
    bodies = two_bodies(pair, speed)
    return collide(
        contact_of_two(law, bodies, pair, law_inputs(law, inputs, speed)), bodies, speed, refine
    )


EXAMPLE_PAIR = "two steel beads of 2.38 mm, Wang, Liu & Liu 2022, table 8"


def example_pair() -> Pair:
    """Two steel beads of the 70-bead chain, with what any law may ask for.

    Wang, Liu & Liu 2022, table 8, doi:10.1016/j.ijmecsci.2022.107214; hardness 2.8 times the yield
    stress, Kogut & Etsion 2002, doi:10.1115/1.1490373; length of a line contact: the bead's
    diameter.
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


def pair_with(quantities: dict[str, float], material: Material | None = None) -> Pair:
    """The example pair with other values.

    Parameters
    ----------
    quantities : dict
        Pair quantities by name, in SI. The effective radius follows from radii, the effective
        modulus of two equal bodies from Young's modulus and Poisson's ratio, where only those are
        given; what follows from an unchanged pair only is left out, the hardness with the yield
        stress, so that a law that needs it asks for it, or takes it from the yield stress.
    material : Material, optional
        Of both bodies.

    Raises
    ------
    LawError
        For an unknown or non-positive quantity.
    """
    Pair(**quantities)  # refuses what is no quantity, or not above 0
    if quantities.get("poissons_ratio", 0.0) > 0.5:
        raise LawError(
            f"pair: poissons_ratio: {quantities['poissons_ratio']!r} is out of range. It must be "
            "at most 0.5."
        )
    values = example_pair().items()
    if material is not None:
        values |= {name: getattr(material, name) for name in OF_THE_SOFTER} | {
            "effective_modulus": 0.5 / material.compliance
        }
    values |= quantities
    named = set(quantities)
    if named & {"radius_1", "radius_2"}:
        if "effective_radius" not in named:
            values["effective_radius"] = (
                values["radius_1"] * values["radius_2"] / (values["radius_1"] + values["radius_2"])
            )
    elif "effective_radius" in named:
        values |= {"radius_1": None, "radius_2": None}
    if named & {"youngs_modulus", "poissons_ratio"}:
        if "effective_modulus" not in named:
            young, nu = values["youngs_modulus"], values["poissons_ratio"]
            values["effective_modulus"] = 0.5 * young / (1.0 - nu * nu)
    elif "effective_modulus" in named:
        values["youngs_modulus"] = None
    if "yield_stress" in named and "hardness" not in named:
        values["hardness"] = None
    return Pair(**values)


def pair_of(pair: Pair | Mapping[str, float] | None, material: str | Material | None) -> Pair:
    """The two bodies that are meant: a pair, or the example's with other values."""
    if isinstance(pair, Pair):
        if material is not None:
            raise LawError(
                "impact: material: not allowed with a Pair. A Pair already has material constants. "
                "Make it with Pair.of_spheres(radius, material)."
            )
        return pair
    own = MATERIALS.get(material) if isinstance(material, str) else material
    if own is None and material is not None:
        fix = suggestion(material, MATERIALS, "")
        requirement = f"It must be a granchain.Material or one of {', '.join(MATERIALS)}"
        problem = f"unknown material {shown(material)}"
        raise LawError(error_text("impact: material", problem, requirement, fix))
    return pair_with(dict(pair or {}), own)


def two_bodies(pair: Pair, speed: float) -> Masses:
    """Two equal bodies of the pair's effective mass that touch and fly at each other."""
    mass = np.full(2, 2.0 * float(pair.effective_mass))
    return Masses(mass=mass, velocity=np.array([0.5 * speed, -0.5 * speed]), gap=np.zeros(1))


def contact_of_two(
    law: type[ContactLaw], bodies: Masses, pair: Pair, inputs: SimpleNamespace
) -> Contacts:
    """The contact of two bodies, and the two that are none at their free ends; a run stops at
    the radius of two equal bodies."""
    limits = np.full(3, 2.0 * float(pair.effective_radius))
    return contacts_together([RowInputs(law, bodies, pair, limits, inputs)])[0]


def law_inputs(law: type[ContactLaw], stated: Mapping[str, Any], speed: float) -> SimpleNamespace:
    """A value for each input of a law, checked; an impact knows its own speed."""
    values, slips = filled(law, stated)
    if slips:
        raise CaseError([f"impact: {slip.sentence}" for slip in slips])
    if values.get("impact_speed") in ("striker", "onset"):
        values["impact_speed"] = speed
    return SimpleNamespace(**values)


def collide(contacts: Contacts, bodies: Masses, speed: float, refine: float) -> ImpactResult:
    """Run two bodies from touching to separation."""
    model = contacts.model
    mass = float(bodies.mass[0]) / 2.0
    auto = time_step_of(contacts, bodies, "auto", 1.0)
    dt = auto.value / refine
    n_steps, stride = int(FIRST_STEPS * refine), 1
    longest, record = max(STEPS_AT_MOST, n_steps), ContactRecord()
    while n_steps <= longest:
        step = TimeStep(dt, n_steps, auto.limit, auto.reason)
        recording = Recording((1,), (1,), stride * dt, energy_interval=n_steps * dt, ledger=True)
        state = State(contacts, bodies, step, recording)
        status = Status.RUNNING
        while status in (Status.RUNNING, Status.UNSTABLE) and state.step <= n_steps:
            status = state.advance(STEPS_AT_ONCE)
        if status.failed and status is not Status.UNSTABLE:
            raise RunError(
                f"impact with {model.name} at {speed:g} m/s: {limit_exceeded(state, status)}"
            )
        record = record.replaced_by(ContactRecord.of(state, stride))
        outgoing = float(state.bodies.v[2] - state.bodies.v[1])
        if (
            outgoing > 0.0
            and record.force[-1] == 0.0
            and (record.overlap[-1] <= OPEN or not model.uses_rate)
        ):
            return _impact_result(speed, dt, record, state)
        stored = state.functions.energy(
            float(record.overlap[-1]), tuple(state.c[:, 1]), tuple(state.h[:, 1])
        )
        left = 0.5 * mass * outgoing * outgoing + stored
        if left < STUCK * 0.5 * mass * speed * speed:
            raise NeverOpens(
                f"impact with {model.name} at {speed:g} m/s: the bodies have not separated after "
                f"{n_steps * dt:.3g} s. The law dissipates all energy, or the bodies stick."
            )
        n_steps *= 2
        stride *= 2 if n_steps > max(CLOSELY, FIRST_STEPS * refine) else 1
    raise NotEnded(
        f"impact with {model.name} at {speed:g} m/s: the contact has not ended after "
        f"{step.n_steps:.4g} steps of {dt:.3g} s. The limit is {longest:.4g} steps "
        f"({auto.reason}). Reduce the damping or refine, or increase the restitution."
    )


def limit_exceeded(state: State, status: Status) -> str:
    """The message of a failed impact, with the limit of the overlap if it has exceeded one."""
    if status is Status.OUTSIDE_LAW:
        limit = state.functions.overlap_limit(tuple(state.c[:, 1]))
        return (
            f"the overlap exceeds the overlap limit of the contact law. It must be at most "
            f"{limit:.6g} m. Reduce the speed, or choose a law with a wider range."
        )
    if status is Status.BEYOND_RADIUS:
        return (
            "the overlap exceeds the radius. It must be at most "
            f"{float(state.contacts.limit[1]):.6g} m. Reduce the speed, or check the material and "
            "the units."
        )
    return status.sentence


@dataclass(frozen=True)
class ContactRecord:
    """A contact at steps of a run: overlap [m], force [N], and jumps of the force [N], [s].

    At the first `close` steps, then at every stride-th. The jumps are those at the sensor of a body
    since the step before.
    """

    steps: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int))
    overlap: np.ndarray = field(default_factory=lambda: np.empty(0))
    force: np.ndarray = field(default_factory=lambda: np.empty(0))
    jump_force: np.ndarray = field(default_factory=lambda: np.empty(0))
    jump_time: np.ndarray = field(default_factory=lambda: np.empty(0))
    close: int = 0

    @classmethod
    def of(cls, state: State, stride: int) -> ContactRecord:
        """What a run recorded of two bodies."""
        records, count = state.records, len(state.records.contact_overlap)
        columns = (
            records.contact_overlap,
            records.contact_force,
            records.jump_force,
            records.jump_time,
        )
        overlap, force, jump_force, jump_time = (column[:, 0] for column in columns)
        close = count if stride == 1 else 0
        return cls(stride * np.arange(count), overlap, force, jump_force, jump_time, close)

    def replaced_by(self, longer: ContactRecord) -> ContactRecord:
        """The record of a longer run; where that has a stride, the steps that this one holds
        each of stay: the motion is the same."""
        if longer.close:
            return longer
        new, joined = longer.steps >= self.close, {}
        for name in ("steps", "overlap", "force", "jump_force", "jump_time"):
            own, later = getattr(self, name), getattr(longer, name)
            joined[name] = np.concatenate([own[: self.close], later[new] if later.size else later])
        return ContactRecord(**joined, close=self.close)

    def rate(self, dt: float) -> np.ndarray:
        """Rate at each sample [m/s]: the central difference, the mean of the two half-step
        rates, which Verlet's kicks make exact."""
        parts = [np.gradient(self.overlap[: self.close], dt)]
        if self.steps.size > self.close:
            # from the last close sample on, so that each has neighbours
            parts.append(
                np.gradient(self.overlap[self.close - 1 :], dt * self.steps[self.close - 1 :])[1:]
            )
        return np.concatenate(parts)


def _impact_result(speed: float, dt: float, record: ContactRecord, state: State) -> ImpactResult:
    """Restitution, extremes, times and losses of a recorded contact."""
    model, mass = state.model, float(state.bodies.mass[1]) / 2.0
    outgoing = float(state.bodies.v[2] - state.bodies.v[1])
    time, overlap, force, rate = record.steps * dt, record.overlap, record.force, record.rate(dt)
    rate[0] = speed
    c = tuple(state.c[:, 1])
    # of the contact while it was closed
    h = settled(model)(float(overlap.max()), c) if model.forgets else tuple(state.h[:, 1])
    last = int(np.flatnonzero(force != 0.0)[-1])
    # nothing acts from there on: the bodies fly apart with their last speed
    share = force_ends(
        state.functions, c, h, overlap[last : last + 2], np.array([rate[last], -outgoing])
    )
    ended = float(time[last] + share * (time[last + 1] - time[last]))
    inside = int(np.flatnonzero(overlap > 0.0)[-1])
    if inside + 1 < overlap.size:
        crossed = overlap[inside] / (overlap[inside] - overlap[inside + 1])
        apart = float(time[inside] + crossed * (time[inside + 1] - time[inside]))
    else:
        apart = float(time[inside] + overlap[inside] / outgoing)
    impulses, works = of_both_phases(state.functions, c, h, record, dt, rate, last, share)
    span = slice(0, last + 2)
    time, overlap, force, rate = time[span], overlap[span], force[span], rate[span]
    max_overlap, at, _ = summit(time, overlap)
    # a body between the contact and nothing: its sensor reads half the contact's force
    jumps = (
        ForceJumps(2.0 * record.jump_force[span], record.jump_time[span])
        if model.law.has_jumps()
        else None
    )
    max_force = summit(time, force, jumps)[0]
    residual = float(h[dent]) if (dent := model.remembered("residual_overlap")) >= 0 else 0.0
    # each of the two bodies has twice the effective radius, beyond which a run stops
    radius = 0.5 * float(state.contacts.limit[1])
    contact_radius = (
        float(model.law.contact_radius(max_overlap, radius, c, h))
        if model.law.has_contact_radius()
        else None
    )
    total = 0.5 * mass * (speed * speed - outgoing * outgoing)
    k = int(np.argmax(overlap))
    approach_work = float(np.sum(0.5 * (force[1 : k + 1] + force[:k]) * np.diff(overlap[: k + 1])))
    lost = float(approach_work - state.functions.energy(float(overlap[k]), c, h))
    return ImpactResult(
        law=model.name,
        speed=speed,
        restitution=outgoing / speed,
        restitution_impulse=impulses[1] / impulses[0],
        restitution_energy=math.sqrt(max(-works[1] / works[0], 0.0)),
        max_overlap=max_overlap,
        max_force=max_force,
        duration=ended,
        approach_time=at,
        recovery_time=ended - at,
        overlap_duration=apart,
        residual_overlap=residual,
        dissipated=total,
        dissipated_approach=lost,
        dissipated_recovery=total - lost,
        time_step=dt,
        time=time,
        overlap=overlap,
        rate=rate,
        force=force,
        effective_mass=mass,
        contact_radius=contact_radius,
        model=model,
        coefficients=c,
    )


def of_both_phases(
    law: Functions,
    c: tuple,
    h: tuple,
    record: ContactRecord,
    dt: float,
    rate: np.ndarray,
    last: int,
    share: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Impulses [N s] and works [J] of the force up to the largest overlap and from there on: sums
    over trapezia, of a force as it is beside its jumps at the onset and at the end."""
    time, overlap = record.steps[: last + 2] * dt, record.overlap[: last + 2].copy()
    force, rate = record.force[: last + 2].copy(), rate[: last + 2]
    force[0] = law.force(2.0 * OPEN, float(rate[0]), c, h)
    # the end of the force lies inside the last step
    time[-1] = time[-2] + share * (time[-1] - time[-2])
    overlap[-1] = overlap[-2] + share * (overlap[-1] - overlap[-2])
    force[-1] = law.force(float(overlap[-1]), float(rate[-1]), c, h)
    # the largest overlap lies inside a step too, where the rate on a straight line is zero
    k = int(np.flatnonzero(rate > 0.0)[-1])
    share_at_top = rate[k] / (rate[k] - rate[k + 1])
    at_top = [column[k] + share_at_top * (column[k + 1] - column[k]) for column in (time, force)]
    top = overlap[k] + 0.5 * rate[k] * (at_top[0] - time[k])
    time, force, overlap = (
        np.insert(column, k + 1, value)
        for column, value in ((time, at_top[0]), (force, at_top[1]), (overlap, top))
    )
    mean = 0.5 * (force[1:] + force[:-1])
    impulse, work = mean * np.diff(time), mean * np.diff(overlap)
    impulses, works = (
        np.array([one[: k + 1].sum(), one[k + 1 :].sum()]) for one in (impulse, work)
    )
    return impulses, works


def force_ends(
    law: Functions, c: tuple, h: tuple, overlaps: np.ndarray, rates: np.ndarray
) -> float:
    """Part of a step, at whose end the force is zero, after which it is: on the line between
    the overlaps and between the rates."""
    low, high = 0.0, 1.0
    while (middle := 0.5 * (low + high)) not in (low, high) and high - low > 1e-12:
        overlap = overlaps[0] + middle * (overlaps[1] - overlaps[0])
        rate = rates[0] + middle * (rates[1] - rates[0])
        if law.force(float(overlap), float(rate), c, h) != 0.0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
