"""Two bodies: the same loop with two beads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from granchain.analysis import Jumps, summit
from granchain.chain import Chain
from granchain.contact import laws
from granchain.contact.law import ContactLaw, Elastoplastic
from granchain.contact.pair import Pair
from granchain.engine import layout
from granchain.engine.state import Contacts, Recording, State, contacts_of, time_step_of
from granchain.engine.timestep import TimeStep
from granchain.errors import CaseError, RunError
from granchain.material import Material
from granchain.status import Status

# First length of a run, in automatic steps, and how often it is doubled before a contact is said not to end: an elastic contact takes
# some 240 of them (measured: Hertz), a heavily damped one has the step of its damping and takes more.
FIRST_STEPS, DOUBLINGS = 1000, 12
# Part of the impact's energy below which two bodies that still touch are said to stick: whatever came after, the restitution is below 1e-6.
STUCK = 1e-12
# Of a body whose elasticity the pair already holds.
UNSAID = Material(youngs_modulus=1.0, poissons_ratio=0.0, source="not used: the pair is given")


class NeverOpens(RunError):  # noqa: N818
    """Two bodies that do not come apart: the law dissipates everything, or sticks."""


@dataclass(frozen=True)
class ImpactResult:
    """What an impact of two bodies delivers.

    Parameters
    ----------
    restitution : float
        Separation speed over approach speed [1].
    max_overlap, max_force : float
        [m], [N].
    duration, approach_time, recovery_time : float
        Of the contact, up to the largest overlap, and from there on [s].
    residual_overlap : float
        Overlap at which the contact opens for good: the dent [m].
    dissipated, dissipated_approach, dissipated_recovery : float
        Energy lost, in all, up to the largest overlap, and from there on [J].
    time, overlap, rate, force : (n,) array
        The contact step by step [s], [m], [m/s], [N].
    """

    law: str
    speed: float
    restitution: float
    max_overlap: float
    max_force: float
    duration: float
    approach_time: float
    recovery_time: float
    residual_overlap: float
    dissipated: float
    dissipated_approach: float
    dissipated_recovery: float
    time_step: float
    time: np.ndarray = field(repr=False)
    overlap: np.ndarray = field(repr=False)
    rate: np.ndarray = field(repr=False)
    force: np.ndarray = field(repr=False)

    def numbers(self) -> dict[str, Any]:
        """The scalars, by name."""
        return {name: value for name, value in vars(self).items() if not isinstance(value, np.ndarray)}


def impact(*, law: str | type[ContactLaw], pair: Pair, speed: float, refine: float = 1.0, **inputs: Any) -> ImpactResult:
    """Let two bodies collide under a contact law.

    Parameters
    ----------
    law : str or type of ContactLaw
        Name of a law, or the class.
    pair : Pair
        The two bodies; effective mass, and what the law reads.
    speed : float
        Approach speed [m/s], above 0.
    refine : float
        The automatic time step is divided by this.
    **inputs
        The law's inputs, e.g. restitution=0.8; a restitution may be a table {"law": "ma-liu", "psi": ..., "xi": ...}: what that
        elastoplastic law gives at this speed.

    Returns
    -------
    ImpactResult

    Raises
    ------
    CaseError
        For an unknown law or input, a value out of range, a speed that is not above 0.
    LawError
        Where the pair misses a quantity.
    RunError
        Where the contact does not end (NeverOpens), or leaves the law's range.

    Notes
    -----
    The two bodies have twice the effective mass each and fly at each other with half the speed.
    """
    known = laws()
    if isinstance(law, str) and law not in known:
        raise CaseError(f'impact: law: got "{law}", allowed: {", ".join(known)}')
    law = known[law] if isinstance(law, str) else law
    if not (np.isfinite(speed) and speed > 0.0):
        raise CaseError(f"impact: speed: got {speed!r}, allowed: a finite number above 0 [m/s]")
    chain = two_bodies(pair, speed)
    return collide(contacts_of(law, chain, law_inputs(law, inputs, speed), pair), chain, speed, refine)


def two_bodies(pair: Pair, speed: float) -> Chain:
    """Two equal bodies of the pair's effective mass and radius that touch and fly at each other."""
    return Chain(
        radius=np.full(2, 2.0 * float(pair.effective_radius)),
        mass=np.full(2, 2.0 * float(pair.effective_mass)),
        velocity=np.array([0.5 * speed, -0.5 * speed]),
        material=(UNSAID,),
        material_index=np.zeros(2, dtype=int),
        gap=np.zeros(1),
    )


def law_inputs(law: type[ContactLaw], given: Mapping[str, Any], speed: float) -> SimpleNamespace:
    """A value for each input of a law, checked; an impact knows its own speed."""
    names = {quantity.name: quantity for quantity in law.inputs}
    problems = [f"impact: {name}: unknown input of {law.name}; allowed: {', '.join(names)}" for name in given if name not in names]
    values = {}
    for name, quantity in names.items():
        value = given.get(name, None if quantity.required else quantity.default)
        if name == "restitution" and isinstance(value, Mapping):
            source = laws().get(str(value.get("law")))
            if source is None or not issubclass(source, Elastoplastic):
                problems.append(f"impact: restitution.law: got {value.get('law')!r}, allowed: the name of an elastoplastic law")
            else:
                value = {"law": source.name, **vars(law_inputs(source, {key: v for key, v in value.items() if key != "law"}, speed))}
        elif name in given and value is not None:
            problem = quantity.problem(value)
            if problem:
                problems.append(f"impact: {name}: {problem}")
        elif quantity.required:
            problems.append(f"impact: {name}: missing; {law.name} needs it: {quantity.range}")
        values[name] = speed if name == "impact_speed" and value in ("striker", "onset") else value
    if problems:
        raise CaseError(problems)
    return SimpleNamespace(**values)


def collide(contacts: Contacts, chain: Chain, speed: float, refine: float) -> ImpactResult:
    """Run two bodies from touching to separation."""
    law = contacts.law
    mass = float(chain.mass[0]) / 2.0
    auto = time_step_of(contacts, chain, "auto", 1.0)
    dt = auto.value / refine
    n_steps = int(FIRST_STEPS * refine)
    for _ in range(DOUBLINGS):
        step = TimeStep(dt, n_steps, auto.limit, auto.reason)
        state = State(contacts, chain, step, Recording((1,), (1,), dt, energy_interval=n_steps * dt, ledger=True))
        status = state.advance(n_steps + 1)
        if status.failed and status is not Status.UNSTABLE:
            raise RunError(f"impact with {law.name} at {speed:g} m/s: {status.sentence}")
        force, overlap = state.contact_force[:, 0], state.contact_overlap[:, 0]
        outgoing = state.bodies[layout.V, 2] - state.bodies[layout.V, 1]
        if outgoing > 0.0 and force[-1] == 0.0:
            return measured(law, speed, mass, dt, overlap, force, float(outgoing), state)
        left = 0.5 * mass * outgoing * outgoing + law.energy(float(overlap[-1]), tuple(state.c[:, 1]), tuple(state.h[:, 1]))
        if left < STUCK * 0.5 * mass * speed * speed:
            break
        n_steps *= 2
    raise NeverOpens(
        f"impact with {law.name} at {speed:g} m/s: the bodies have not separated after {step.n_steps * dt:.3g} s; the law "
        "dissipates everything, or sticks"
    )


def measured(
    law: type[ContactLaw], speed: float, mass: float, dt: float, overlap: np.ndarray, force: np.ndarray, outgoing: float, state: State
) -> ImpactResult:
    """Restitution, extremes, times and losses of a recorded contact."""
    closed = np.flatnonzero(force != 0.0)
    last = int(closed[-1]) if closed.size else 0
    kept = slice(0, min(last + 2, overlap.size))
    overlap, force = overlap[kept], force[kept]
    time = np.arange(overlap.size) * dt
    # rate at the full step: the central difference is the mean of the two half-step rates, which Verlet's kicks make exact
    rate = np.gradient(overlap, dt)
    rate[0] = speed
    max_overlap, at, _ = summit(time, overlap)
    # a body between the contact and nothing: its sensor reads half the contact's force
    jumps = Jumps(2.0 * state.jump_force[kept, 0], state.jump_time[kept, 0]) if law.has_jumps() else None
    max_force = summit(time, force, jumps).height
    residual = float(state.h[[q.name for q in law.history].index("residual_overlap"), 1]) if has_dent(law) else 0.0
    opened = float(
        time[last] + (0.0 if last + 1 >= time.size else (overlap[last] - residual) / max(overlap[last] - overlap[last + 1], 1e-300) * dt)
    )
    total = 0.5 * mass * (speed * speed - outgoing * outgoing)
    k = int(np.argmax(overlap))
    approach_work = float(np.sum(0.5 * (force[1 : k + 1] + force[:k]) * np.diff(overlap[: k + 1])))
    c, h = tuple(state.c[:, 1]), tuple(state.h[:, 1])
    lost = float(approach_work - law.energy(float(overlap[k]), c, h))
    return ImpactResult(
        law=law.name, speed=speed, restitution=outgoing / speed, max_overlap=max_overlap, max_force=max_force, duration=opened,
        approach_time=at, recovery_time=opened - at, residual_overlap=max(residual, 0.0), dissipated=total, dissipated_approach=lost,
        dissipated_recovery=total - lost, time_step=dt, time=time, overlap=overlap, rate=rate, force=force,
    )  # fmt: skip


def has_dent(law: type[ContactLaw]) -> bool:
    """Whether the law's history holds a residual overlap."""
    return any(quantity.name == "residual_overlap" for quantity in law.history)
