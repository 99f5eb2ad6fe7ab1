"""Impact of two bodies, simulated with the loop for chains."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from numbers import Real
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from granchain.analysis.pulse import ForceJumps, summit
from granchain.case.checks import check_density
from granchain.case.tables import PlateTable
from granchain.chain import COMPLIANT, End, Masses
from granchain.contact import law_named
from granchain.contact.examples import EXAMPLE_RADIUS, example_pair
from granchain.contact.inputs import input_values
from granchain.contact.law import OPEN, ContactLaw
from granchain.contact.model import Functions, Model
from granchain.contact.pair import OF_THE_SOFTER, PAIR_QUANTITIES, Pair
from granchain.engine.recording import Recording
from granchain.engine.setup import Contacts, RowInputs, contacts_together, record_of, settled
from granchain.engine.state import State
from granchain.engine.timestep import TimeStep, time_step_of
from granchain.errors import CaseError, LawError, RunError, error_text, suggestion
from granchain.keys import Problems, brief, read_table
from granchain.material import MATERIALS, Material
from granchain.status import Status
from granchain.store import Answer, Label

# Initial length of a run, in automatic steps; it is doubled until the contact has ended. An elastic
# contact takes about 240 (measured: Hertz). The step of a heavily damped contact is determined by
# its damping: a hysteresis dashpot takes 2.1e6 steps for a restitution of 0.001 and 7e7 for 0.0001
# (measured). STEPS_AT_MOST is the length of the longest run.
FIRST_STEPS, STEPS_AT_MOST = 1000, 2**27
# Largest refinement of the step (our choice): the records of 1e7 steps take about 1 GB.
MOST_REFINED = 1e4
# Steps between two checks for an interruption: about a tenth of a second.
STEPS_AT_ONCE = 2**20
# Number of steps at the start that are all recorded. The long recoveries of heavily damped contacts
# are recorded at every 2^n-th step, so that they add between one and two times as many records.
CLOSELY = 2**17
# Fraction of the impact energy below which two bodies that still touch are stuck: if they separated
# later, the restitution would be below 1e-6.
STUCK = 1e-12


# Scalar results of an impact.
IMPACT_SCALARS = {
    "restitution": Label((), "1", "separation speed divided by approach speed"),
    "restitution_impulse": Label(
        (), "1", "impulse of the recovery divided by that of the approach"
    ),
    "restitution_energy": Label(
        (), "1", "square root of the work returned in the recovery divided by the work taken"
    ),
    "max_overlap": Label((), "m", "largest overlap"),
    "max_force": Label((), "N", "largest force"),
    "duration": Label((), "s", "time until the force is finally zero"),
    "approach_time": Label((), "s", "time to the largest overlap"),
    "recovery_time": Label((), "s", "time from the largest overlap until the force is zero"),
    "overlap_duration": Label((), "s", "time until the overlap is zero"),
    "residual_overlap": Label((), "m", "overlap at which the contact finally opens"),
    "contact_radius": Label((), "m", "largest radius of the contact area"),
    "dissipated": Label((), "J", "dissipated energy"),
    "dissipated_approach": Label((), "J", "energy dissipated before the largest overlap"),
    "dissipated_recovery": Label((), "J", "energy dissipated after the largest overlap"),
    "time_step": Label((), "s", "time step"),
}
# Scalar results of an impact on a plate.
OF_PLATE = {
    "impedance": Label((), "kg/s", "impedance of the plate"),
    "radiated": Label((), "J", "energy that the waves in the plate carry away"),
}
_OVER_TIME = ("time",)
# History of an impact.
HISTORY = {
    "time": Label(_OVER_TIME, "s", "time since the onset of the contact"),
    "overlap": Label(_OVER_TIME, "m", "overlap"),
    "rate": Label(_OVER_TIME, "m/s", "overlap rate, positive during the approach"),
    "force": Label(_OVER_TIME, "N", "contact force, positive in repulsion"),
}
# Prefix of the inputs of the law, as in the keys of a case.
KEY_PREFIX = "contact."


class NeverOpens(RunError):  # noqa: N818
    """The two bodies do not separate: the law dissipates all energy, or the bodies stick."""


class NotEnded(RunError):  # noqa: N818
    """The contact takes more steps than the limit."""


class Impact(SimpleNamespace):
    """Numbers and history of an impact, with the names of `ImpactResult`; used inside the package.

    Its attributes are `speed`, those of IMPACT_SCALARS, OF_PLATE (0 without a plate), and HISTORY,
    and the `model` of the law with its `coefficients`.
    """


class ImpactResult(Answer):
    """Result of an impact of two bodies.

    Attributes
    ----------
    law : str
        Name of the contact law.
    speed : float
        Approach speed [m/s].
    restitution : float
        Ratio of separation speed to approach speed [1] (Newton).
    restitution_impulse : float
        Ratio of the impulse after the largest overlap to the impulse before it [1] (Poisson).
    restitution_energy : float
        Square root of the ratio of the work that the force returns after the largest overlap to the
        work taken before it [1] (Stronge 1990, doi:10.1098/rspa.1990.0125). The three restitutions
        of two bodies are equal, because only the contact acts. Their differences show the sampling
        error of the integrals. With a plate, only the first one includes the radiated energy.
    max_overlap, max_force : float
        Largest overlap [m] and largest force [N].
    duration, approach_time, recovery_time : float
        Time until the force is finally zero, and its parts before and after the largest overlap
        [s]. A force with a no-tension cutoff becomes zero before the overlap does. A force that may
        pull acts until the contact opens.
    overlap_duration : float
        Time until the overlap is zero [s]. It is longer than the duration of the force if residual
        indentation remains or the force has a no-tension cutoff, and shorter if the contact opens
        at a negative overlap.
    residual_overlap : float
        Residual overlap, at which the contact finally opens [m]. It is negative if a law as
        published still pulls below zero overlap.
    contact_radius : float
        Largest contact radius [m]; nan if the source of the law does not specify one.
    dissipated, dissipated_approach, dissipated_recovery : float
        Energy dissipated in the contact: total, before the largest overlap, and after it [J].
    impedance, radiated : float
        Impedance of the plate [kg/s], and energy that its waves carry away [J]. Only with a plate.
    time_step : float
        Time step [s].
    time, overlap, rate, force : (n,) array
        Time [s], overlap [m], overlap rate [m/s], and force [N] at each step. A long contact is
        recorded at every 2^n-th step after its first 131072 steps.
    effective_radius, effective_modulus, effective_mass, ... : float
        Quantities of the pair that were given, see `Pair`.

    Notes
    -----
    The inputs of the law are variables such as `result["contact.restitution"]`, which is the
    nominal restitution.
    """

    labels: ClassVar = {
        "speed": Label((), "m/s", "approach speed"),
        **IMPACT_SCALARS,
        **{
            name: Label((), unit, f"{name.replace('_', ' ')} of the pair")
            for name, unit in PAIR_QUANTITIES.items()
        },
        **OF_PLATE,
        **HISTORY,
    }

    @property
    def inputs(self) -> dict[str, Any]:
        """Inputs of the law by name, without those that have no value."""
        inputs: dict[str, Any] = {}
        for key in self.variables:
            if key.startswith(KEY_PREFIX):
                name, _, inner = key.removeprefix(KEY_PREFIX).partition(".")
                if inner:
                    inputs.setdefault(name, {})[inner] = self[key]
                else:
                    inputs[name] = self[key]
        return inputs

    @property
    def pair(self) -> Pair:
        """The two bodies."""
        return Pair(**{name: self[name] for name in PAIR_QUANTITIES if name in self.variables})

    @property
    def model(self) -> Model:
        """Model of the law.

        Raises
        ------
        LawError
            If the law is not installed.
        """
        return self._law[0]

    @property
    def coefficients(self) -> tuple[float, ...]:
        """Coefficients of the model."""
        return self._law[1]

    @cached_property
    def _law(self) -> tuple[Model, tuple[float, ...]]:
        """Model of the law, and its coefficients."""
        law = law_named(self.law, "impact: law")
        contacts = impact_setup(law, self.speed, self.pair, self.inputs)[0]
        return contacts.model, tuple(contacts.c[:, 1])

    @property
    def acceleration(self) -> np.ndarray:
        """(n,) Second derivative of the overlap [m/s2]: -F/m, and -F'/Z of a plate."""
        of_plate = 0.0
        if "impedance" in self.variables:
            of_plate = np.gradient(self.force, self.time) / self.impedance
        return np.asarray(-self.force / self.effective_mass - of_plate)

    @cached_property
    def elastic_force(self) -> np.ndarray:
        """(n,) Force at the same overlaps and history at zero rate [N], without damping.

        Raises
        ------
        LawError
            If the law is not installed.
        """
        model, c = self.model, self.coefficients
        if not model.uses_rate:
            return np.asarray(self.force)
        past = histories(model.functions, c, self.time, self.overlap, self.rate)
        at_rest = [
            model.functions.force(overlap, 0.0, c, h)
            for overlap, h in zip(self.overlap.tolist(), past, strict=True)
        ]
        return np.array(at_rest)

    @property
    def damping_force(self) -> np.ndarray:
        """(n,) Remaining force [N]: the contribution of the rate.

        If the no-tension cutoff acts, it cancels the elastic part.
        """
        return np.asarray(self.force - self.elastic_force)

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """Origin of the impact, with the record of the law."""
        record = record_of(self.model, np.array(self.coefficients)[:, None])
        return super().provenance | {"law_sha256": record.sha256, "law_json": record.text}


@cache
def labels_of_inputs(law: type[ContactLaw], prefix: str = KEY_PREFIX) -> Mapping[str, Label]:
    """Return the labels of the inputs of a law, in alphabetical order, as in a file."""
    units = {"switch": "1", "word": ""}
    return {
        f"{prefix}{quantity.name}": Label(
            (), units.get(quantity.kind, quantity.unit), quantity.meaning
        )
        for quantity in sorted(law.inputs, key=lambda quantity: quantity.name)
    }


def impact(
    *,
    law: str | type[ContactLaw],
    speed: float,
    pair: Pair | Mapping[str, float] | None = None,
    material: str | Material | None = None,
    refine: float = 1.0,
    plate: Mapping[str, Any] | None = None,
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
    plate : mapping, optional
        Thickness [m] and material of a large thin plate that a sphere strikes. The plate gives way
        with the velocity force/Z (Zener 1941, doi:10.1103/PhysRev.59.669), until waves return from
        its edges. The pair is then a Pair of the sphere and a flat wall. Default: a sphere of
        `material`, or else of the steel, with a radius of 2.38 mm.
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
    >>> plate = {"thickness": 4e-3, "material": "steel-316"}
    >>> round(gc.impact(law="hertz", speed=1.0, plate=plate).restitution, 2)
    0.91
    """
    law = law_named(law, "impact: law")
    pair, impedance = pair_and_impedance(pair, material, plate)
    contacts, bodies, values = impact_setup(law, speed, pair, inputs, impedance)
    outcome = collide(contacts, bodies, speed, refine)
    data = vars(outcome) | {name: float(value) for name, value in pair.items().items()}
    labels = labels_of_inputs(law)  # type: ignore[arg-type]
    for name, value in vars(values).items():
        if isinstance(value, Mapping):
            named = law_named(value["law"], "impact: law")
            inner = labels_of_inputs(named, f"{KEY_PREFIX}{name}.")  # type: ignore[arg-type]
            of_law = {f"{KEY_PREFIX}{name}.law": Label((), "", "contact law of this input")}
            labels = {**labels, **inner, **of_law}
            data |= {f"{KEY_PREFIX}{name}.{key}": entry for key, entry in value.items()}
        else:
            data[f"{KEY_PREFIX}{name}"] = value
    for name in ("model", "coefficients", *(OF_PLATE if plate is None else ())):
        del data[name]
    result = ImpactResult(data, law=law.name, title="Impact of two bodies", labels=labels)
    result._law = outcome.model, outcome.coefficients
    return result


def simulate_impact(
    *,
    law: type[ContactLaw],
    speed: float,
    pair: Pair,
    refine: float = 1.0,
    impedance: float = 0.0,
    **inputs: Any,
) -> Impact:
    """Return the numbers of an impact; faster than `impact`, which returns a labelled answer."""
    contacts, bodies, _ = impact_setup(law, speed, pair, inputs, impedance)
    return collide(contacts, bodies, speed, refine)


def impact_setup(
    law: type[ContactLaw],
    speed: Any,
    pair: Pair,
    inputs: Mapping[str, Any],
    impedance: float = 0.0,
) -> tuple[Contacts, Masses, SimpleNamespace]:
    """Return the contact and the bodies of an impact, and the values of all inputs of the law."""
    is_number = isinstance(speed, Real)
    if not (is_number and 0.0 < speed < math.inf):
        raise CaseError(
            f"impact: speed: {speed!r} is not valid. It must be a finite number above 0 [m/s]."
        )
    bodies = body_and_plate(pair, speed, impedance) if impedance else two_bodies(pair, speed)
    values = law_inputs(law, inputs, speed)
    return contact_of_two(law, bodies, pair, values), bodies, values


def pair_with(quantities: dict[str, float], material: Material | None = None) -> Pair:
    """Return the example pair with other values.

    Parameters
    ----------
    quantities : dict
        Pair quantities by name, in SI units. If only the radii are given, the effective radius
        follows from them. If only Young's modulus or Poisson's ratio is given, the effective
        modulus of two equal bodies follows from them. Values that are valid only for the unchanged
        pair are removed. This includes the hardness if the yield stress changes, so that a law that
        needs the hardness requires it, or computes it from the yield stress.
    material : Material, optional
        Material of both bodies.

    Raises
    ------
    LawError
        If a quantity is unknown or not positive.
    """
    Pair(**quantities)  # rejects unknown quantities and values that are not above 0
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


def pair_and_impedance(
    pair: Any,
    material: str | Material | None,
    plate: Mapping[str, Any] | None,
) -> tuple[Pair, float]:
    """Return the two bodies, and the impedance of the plate [kg/s]; 0 without a plate."""
    if not isinstance(pair, Pair | Mapping | None):
        raise LawError(
            f"impact: pair: {brief(pair)} is not valid. It must be a Pair or a mapping of its "
            "quantities. Make it with Pair.of_spheres(radius, material)."
        )
    if plate is None:
        return pair_of(pair, material), 0.0
    return sphere_on_plate(pair, material, plate)


def pair_of(pair: Pair | Mapping[str, float] | None, material: Any) -> Pair:
    """Return the given pair, or the example pair with other values."""
    if isinstance(pair, Pair):
        if material is not None:
            raise LawError(
                "impact: material: not allowed with a Pair. A Pair already has material constants. "
                "Make it with Pair.of_spheres(radius, material)."
            )
        return pair
    if not pair and material is None:
        return example_pair()
    constants = MATERIALS.get(material) if isinstance(material, str) else material
    if not isinstance(constants, Material | None) or (constants is None and material is not None):
        fix = suggestion(str(material), MATERIALS, "")
        requirement = f"It must be a granchain.Material or one of {', '.join(MATERIALS)}"
        problem = f"unknown material {brief(material)}"
        raise LawError(error_text("impact: material", problem, requirement, fix))
    return pair_with({str(name): value for name, value in (pair or {}).items()}, constants)


def two_bodies(pair: Pair, speed: float) -> Masses:
    """Return two equal, touching bodies that approach each other.

    They have the effective mass of the pair.
    """
    mass = np.full(2, 2.0 * float(pair.effective_mass))
    return Masses(mass=mass, velocity=np.array([0.5 * speed, -0.5 * speed]), gap=np.zeros(1))


def sphere_on_plate(
    pair: Pair | Mapping[str, float] | None,
    material: str | Material | None,
    plate: Mapping[str, Any],
) -> tuple[Pair, float]:
    """Return a sphere and the flat plate that it strikes, and the impedance of the plate [kg/s]."""
    problems = Problems()
    table = read_table(PlateTable, "impact.plate", plate, problems)
    if table is not None and problems.clear("impact.plate"):
        check_density("impact.plate", table, problems)
    problems.close()
    if isinstance(pair, Mapping):
        raise LawError(
            "impact: pair: a mapping is not possible with a plate. It must be a Pair. Make it with "
            "Pair.of_spheres(radius, material, math.inf, material of the plate)."
        )
    if pair is None:
        sphere = "steel-316" if material is None else material
        pair, material = Pair.of_spheres(EXAMPLE_RADIUS, sphere, math.inf, table.material), None
    elif "radius_2" in pair.items():
        raise LawError(
            "impact: pair: the second body is a sphere, but the first one strikes a plate. It must "
            "be a flat wall. Make the pair with Pair.of_spheres(radius, material, math.inf, "
            "material of the plate)."
        )
    return pair_of(pair, material), table.impedance


def body_and_plate(pair: Pair, speed: float, impedance: float) -> Masses:
    """Return a body of the effective mass that touches a plate and moves towards it."""
    mass, plate = np.array([float(pair.effective_mass)]), End(COMPLIANT, impedance=impedance)
    return Masses(mass=mass, velocity=np.array([speed]), gap=np.zeros(0), right=plate)


def contact_of_two(
    law: type[ContactLaw], bodies: Masses, pair: Pair, inputs: SimpleNamespace
) -> Contacts:
    """Return the contact of two bodies, and the absent contacts at their free ends.

    A run stops at the radius of two equal bodies.
    """
    limits = np.full(bodies.n_bodies + 1, 2.0 * float(pair.effective_radius))
    return contacts_together([RowInputs(law, bodies, pair, limits, inputs)])[0]


def law_inputs(law: type[ContactLaw], stated: Mapping[str, Any], speed: float) -> SimpleNamespace:
    """Return the checked value of each input of a law; the impact speed is known."""
    values, problems = input_values(law, stated)
    if problems:
        raise CaseError([f"impact: {problem.sentence}" for problem in problems])
    if values.get("impact_speed") in ("striker", "onset"):
        values["impact_speed"] = speed
    return SimpleNamespace(**values)


def collide(contacts: Contacts, bodies: Masses, speed: float, refine: Any) -> Impact:
    """Run two bodies, or a body and a plate, from touching to separation."""
    is_number = isinstance(refine, Real)
    if not (is_number and 0.0 < refine <= MOST_REFINED):
        raise CaseError(
            f"impact: refine: {brief(refine)} is not valid. It must be a number above 0 and at "
            f"most {MOST_REFINED:g}."
        )
    model = contacts.model
    mass = float(bodies.mass[0]) / bodies.n_bodies
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
        outgoing = separation_speed(state)
        if (
            outgoing > 0.0
            and record.force[-1] == 0.0
            and (record.overlap[-1] <= OPEN or not model.uses_rate)
        ):
            return _impact_result(speed, dt, record, state)
        stored = state.functions.energy(
            float(record.overlap[-1]), tuple(state.c[:, 1]), tuple(state.h[:, 1])
        )
        remaining_energy = 0.5 * mass * outgoing * outgoing + stored
        if remaining_energy < STUCK * 0.5 * mass * speed * speed:
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
    """Return the message of a failed impact.

    If the overlap limit was exceeded, the message includes it.
    """
    limit = state.functions.overlap_limit(tuple(state.c[:, 1]))
    texts = {
        Status.OUTSIDE_LAW: "the overlap exceeds the overlap limit of the contact law. It must be "
        f"at most {limit:.6g} m. Reduce the speed, or choose a law with a wider range.",
        Status.BEYOND_RADIUS: "the overlap exceeds the radius. It must be at most "
        f"{float(state.contacts.limit[1]):.6g} m. Reduce the speed, or check the material and the "
        "units.",
    }
    return texts.get(status, status.sentence)


@dataclass(frozen=True)
class ContactRecord:
    """Record of a contact: overlap [m], force [N], and force [N] and time [s] of jumps.

    The first `close` steps are all recorded, and then every stride-th. The jumps are those at the
    sensor of a body since the previous step.
    """

    steps: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int))
    overlap: np.ndarray = field(default_factory=lambda: np.empty(0))
    force: np.ndarray = field(default_factory=lambda: np.empty(0))
    jump_force: np.ndarray = field(default_factory=lambda: np.empty(0))
    jump_time: np.ndarray = field(default_factory=lambda: np.empty(0))
    close: int = 0

    @classmethod
    def of(cls, state: State, stride: int) -> ContactRecord:
        """Return the record of a run of two bodies."""
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
        """Return the record of a longer run of the same motion.

        If the longer record has a stride, this record still supplies the first steps.
        """
        if longer.close:
            return longer
        new, joined = longer.steps >= self.close, {}
        for name in ("steps", "overlap", "force", "jump_force", "jump_time"):
            early, later = getattr(self, name), getattr(longer, name)
            joined[name] = np.concatenate(
                [early[: self.close], later[new] if later.size else later]
            )
        return ContactRecord(**joined, close=self.close)

    def rate(self, dt: float) -> np.ndarray:
        """Return the rate at each sample [m/s].

        The central difference is the mean of the two half-step rates, which is exact for Verlet's
        kicks.
        """
        parts = [np.gradient(self.overlap[: self.close], dt)]
        if self.steps.size > self.close:
            # starts at the last sample before the stride, so that each sample has neighbours
            parts.append(
                np.gradient(self.overlap[self.close - 1 :], dt * self.steps[self.close - 1 :])[1:]
            )
        return np.concatenate(parts)


def separation_speed(state: State) -> float:
    """Return the speed at which the two bodies separate [m/s]; a plate without force is at rest."""
    second = float(state.bodies.v[2]) if state.chain.n_bodies == 2 else 0.0
    return second - float(state.bodies.v[1])


def _impact_result(speed: float, dt: float, record: ContactRecord, state: State) -> Impact:
    """Return restitution, extrema, times, and losses of a recorded contact."""
    bodies = state.chain.n_bodies
    model, mass = state.model, float(state.bodies.mass[1]) / bodies
    outgoing = separation_speed(state)
    time, overlap, force, rate = record.steps * dt, record.overlap, record.force, record.rate(dt)
    rate[0] = speed
    c = tuple(state.c[:, 1])
    last, k = int(np.flatnonzero(force != 0.0)[-1]), int(np.argmax(overlap))
    # history of the contact while it was closed, and at the largest overlap
    h = settled(model)(float(overlap.max()), c) if model.forgets else tuple(state.h[:, 1])
    h_top = h
    if model.evolves:
        past = list(histories(state.functions, c, time, overlap, rate))
        h, h_top = past[last], past[k]
    # No force acts after this step, so the bodies separate at constant speed.
    share = force_ends(
        state.functions, c, h, time[last : last + 2], overlap[last : last + 2],
        np.array([rate[last], -outgoing]),
    )  # fmt: skip
    ended = float(time[last] + share * (time[last + 1] - time[last]))
    inside = int(np.flatnonzero(overlap > 0.0)[-1])
    if inside + 1 < overlap.size:
        crossed = overlap[inside] / (overlap[inside] - overlap[inside + 1])
        opened = float(time[inside] + crossed * (time[inside + 1] - time[inside]))
    else:
        opened = float(time[inside] + overlap[inside] / outgoing)
    impulses, works = impulses_and_works(state.functions, c, h, record, dt, rate, last, share)
    span = slice(0, last + 2)
    time, overlap, force, rate = time[span], overlap[span], force[span], rate[span]
    max_overlap, at, _ = summit(time, overlap)
    # The bodies have one contact each, so a sensor reads half the contact force.
    jumps = (
        ForceJumps(2.0 * record.jump_force[span], record.jump_time[span])
        if model.law.has_jumps()
        else None
    )
    max_force = summit(time, force, jumps)[0]
    residual = float(h[dent]) if (dent := model.remembered("residual_overlap")) >= 0 else 0.0
    # Each body has twice the effective radius, which is the overlap limit of a run.
    radius = 0.5 * float(state.contacts.limit[1])
    contact_radius = (
        float(model.law.contact_radius(max_overlap, radius, c, h))
        if model.law.has_contact_radius()
        else math.nan
    )
    total = 0.5 * mass * (speed * speed - outgoing * outgoing)
    approach_work = float(np.sum(0.5 * (force[1 : k + 1] + force[:k]) * np.diff(overlap[: k + 1])))
    lost = float(approach_work - state.functions.energy(float(overlap[k]), c, h_top))
    impedance = state.chain.right.impedance
    # the plate takes the integral of F^2/Z
    radiated = float(np.trapezoid(force * force, time)) / impedance if impedance else 0.0
    return Impact(
        speed=speed,
        restitution=outgoing / speed,
        restitution_impulse=impulses[1] / impulses[0],
        restitution_energy=math.sqrt(max(-works[1] / works[0], 0.0)),
        max_overlap=max_overlap,
        max_force=max_force,
        duration=ended,
        approach_time=at,
        recovery_time=ended - at,
        overlap_duration=opened,
        residual_overlap=residual,
        dissipated=total - radiated,
        dissipated_approach=lost,
        dissipated_recovery=total - lost - radiated,
        impedance=impedance,
        radiated=radiated,
        time_step=dt,
        time=time,
        overlap=overlap,
        rate=rate,
        force=force,
        contact_radius=contact_radius,
        model=model,
        coefficients=c,
    )


def histories(
    law: Functions, c: tuple, time: np.ndarray, overlap: np.ndarray, rate: np.ndarray
) -> Iterator[tuple]:
    """Yield the history at each sample of a contact that was fresh before."""
    h, earlier, before = law.history_of(c), float(time[0]), float(overlap[0])
    for t, d, r in zip(time.tolist(), overlap.tolist(), rate.tolist(), strict=True):
        h, _ = law.evolve(t - earlier, before, d, c, h)
        if law.needs_update(d, r, c, h):
            h = law.update((d, r, r, 1.0), c, h)
        yield h
        earlier, before = t, d


def impulses_and_works(
    law: Functions,
    c: tuple,
    h: tuple,
    record: ContactRecord,
    dt: float,
    rate: np.ndarray,
    last: int,
    share: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the impulses [N s] and works [J] before and after the largest overlap.

    They are trapezoidal sums of the force, with its one-sided values at the onset and at the end.
    """
    time, overlap = record.steps[: last + 2] * dt, record.overlap[: last + 2].copy()
    force, rate = record.force[: last + 2].copy(), rate[: last + 2]
    force[0] = law.force(2.0 * OPEN, float(rate[0]), c, h)
    # The force ends inside the last step.
    time[-1] = time[-2] + share * (time[-1] - time[-2])
    overlap[-1] = overlap[-2] + share * (overlap[-1] - overlap[-2])
    force[-1] = law.force(float(overlap[-1]), float(rate[-1]), c, h)
    # The largest overlap is also inside a step, where a linear rate is zero.
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
        np.array([series[: k + 1].sum(), series[k + 1 :].sum()]) for series in (impulse, work)
    )
    return impulses, works


def force_ends(
    law: Functions, c: tuple, h: tuple, times: np.ndarray, overlaps: np.ndarray, rates: np.ndarray
) -> float:
    """Return the fraction of a step after which the force is zero.

    Overlap and rate are interpolated linearly. The history is that at the start of the step.
    """
    low, high, first = 0.0, 1.0, float(overlaps[0])
    while (middle := 0.5 * (low + high)) not in (low, high) and high - low > 1e-12:
        overlap = first + middle * float(overlaps[1] - first)
        rate = rates[0] + middle * (rates[1] - rates[0])
        evolved, _ = law.evolve(middle * float(times[1] - times[0]), first, overlap, c, h)
        if law.force(overlap, float(rate), c, evolved) != 0.0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
