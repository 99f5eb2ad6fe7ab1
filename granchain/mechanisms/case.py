"""The case of a mechanism: a rotating crank, the driven slider, and a joint with clearance.

It is read from TOML and checked like the case of a chain, but most of its tables are different.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Literal

import numpy as np

from granchain.case.case import CheckedCase
from granchain.case.checks import MEMORY, law_values, needs_speed
from granchain.case.document import (
    MECHANISMS,
    case_files,
    entry_at,
    read_document,
    set_value,
)
from granchain.case.tables import ContactTable, MaterialKey, TimeTable, material_of
from granchain.contact.law_record import LawRecord
from granchain.errors import CaseError
from granchain.keys import Problems, Table, brief, choice, key, number_key, rejected
from granchain.store import Label, Result

# Bytes of one sample, and of one entry of the energy balance: nine numbers.
_ROW_BYTES = 8.0 * 9
# Default number of entries of the energy balance.
MECHANISM_ENTRIES = 1000
# A difference of lengths below this fraction of them is rounding.
ROUNDING_OF_LENGTHS = 1e-9

# Variables whose largest absolute value is a measure.
PEAKS = {
    "largest_contact_force": "contact_force",
    "largest_acceleration": "slider_acceleration",
}
# Measures by name.
MEASURED = {
    "largest_contact_force": Label((), "N", "largest contact force in the joint"),
    "largest_acceleration": Label((), "m/s^2", "largest absolute acceleration of the slider"),
    "impacts": Label((), "1", "number of times the contact force rises from zero"),
}


def numbers_of_mechanism(result: Result) -> dict[str, float]:
    """Return the numbers of the result of a mechanism, with the names of `MEASURED`.

    They are those of the samples. An impact is a sample with a contact force above zero after a
    sample without contact force. Contact at the start is not an impact, and impacts that are
    closer than `record.interval` count as one.
    """
    force = result.contact_force
    impacts = float(np.count_nonzero((force[1:] > 0.0) & (force[:-1] == 0.0)))
    return {name: float(np.abs(getattr(result, key)).max()) for name, key in PEAKS.items()} | {
        "impacts": impacts
    }


class CrankTable(Table):
    """The crank, which turns at a constant speed."""

    length: float = number_key("m", "the distance from the shaft to the pin", above=0.0)
    speed: float = number_key("rad/s", "the angular speed", low=0.0)
    start: float = number_key("rad", "the initial angle, 0 if the pin is farthest out", 0.0)


class ConnectingRodTable(Table):
    """The connecting rod, from the crank pin to the joint with clearance."""

    length: float = number_key("m", "the distance between its two joints", above=0.0)
    mass: float = number_key("kg", "the mass", above=0.0)
    inertia: float = number_key("kg*m^2", "the moment of inertia about its mass centre", above=0.0)
    centre: float | None = number_key(
        "m",
        "the distance of the mass centre from the crank pin; default half the length",
        None,
        low=0.0,
    )


class SliderTable(Table):
    """The slider, which moves along a straight line."""

    mass: float = number_key("kg", "the mass of all bodies that move with the slider", above=0.0)


class BearingTable(Table):
    """The revolute joint with clearance between rod and slider.

    A journal, which turns with the rod, moves in a bearing.
    """

    bearing_radius: float = number_key("m", "the radius of the bearing", above=0.0)
    journal_radius: float = number_key(
        "m", "the radius of the journal; it follows from a clearance", None, above=0.0
    )
    clearance: float = number_key(
        "m", "the radius of the bearing minus that of the journal", None, above=0.0
    )
    bearing_material: MaterialKey = material_of("the bearing", ...)
    journal_material: MaterialKey = material_of("the journal", ...)
    length: float | None = number_key(
        "m", "the length of the joint, for laws of cylinders", None, above=0.0
    )


class FrictionTable(Table):
    """Coulomb friction that increases from zero over a range of slip speeds."""

    coefficient: float = number_key("1", "the coefficient of friction", low=0.0)
    slip_begin: float = number_key(
        "m/s", "the slip speed up to which there is no friction", 0.0, low=0.0
    )
    slip_full: float = number_key(
        "m/s", "the slip speed above which friction acts fully", above=0.0
    )


class SlotTable(Table):
    """The slot of the slider: an arc whose centre is on the slider's line, with round ends."""

    outer_radius: float = number_key("m", "the radius of the outer track", above=0.0)
    inner_radius: float = number_key("m", "the radius of the inner track", above=0.0)
    clearance: float = number_key(
        "m", "half the width of the slot minus the radius of the pin", None, above=0.0
    )
    arc: float = number_key("rad", "the angle of the arc", above=0.0, high=math.pi)
    material: MaterialKey = material_of("the slot", ...)
    length: float | None = number_key(
        "m", "the length of the contact, for laws of cylinders", None, above=0.0
    )


class PinTable(Table):
    """The pin of the crank, which moves in the slot."""

    radius: float = number_key("m", "the radius; it follows from a slot.clearance", None, above=0.0)
    material: MaterialKey = material_of("the pin", ...)


class ForceTable(Table):
    """The form of the contact force."""

    form: Literal["law", "fitted"] = choice(
        "the form of the force, the law or its fit K d^n under [[fitted]]", ("law", "fitted"), "law"
    )
    alpha: float = number_key(
        "s/m",
        "the Hunt-Crossley factor alpha of a law without damping, (1 + 1.5 alpha rate)",
        0.0,
        low=0.0,
    )


class PowerTable(Table):
    """The power law K d^n of one surface, in N and mm, as published."""

    stiffness: float = number_key("N/mm^n", "the stiffness K", above=0.0)
    exponent: float = number_key("1", "the exponent n", low=1.0)


class FittedTable(Table):
    """A fit K d^n to a contact law, for each surface of the slot."""

    law: str = key("the contact law", 'a name that "granchain laws" lists')
    outer: PowerTable = key("the fit for the outer track", "a table { stiffness, exponent }")
    inner: PowerTable = key("the fit for the inner track", "a table { stiffness, exponent }")
    end: PowerTable = key("the fit for an end of the slot", "a table { stiffness, exponent }")


class StartTable(Table):
    """The differences of the initial state from the motion without clearance."""

    slider_offset: float = number_key(
        "m", "the initial position of the slider, relative to the motion without clearance", 0.0
    )
    slider_velocity: float = number_key(
        "m/s", "the initial velocity of the slider, relative to the motion without clearance", 0.0
    )


class RecordTable(Table):
    """The recorded data."""

    interval: float = number_key("s", "the time between samples", above=0.0)


class BalanceTable(Table):
    """The energy balance, which is always computed."""

    interval: float | None = number_key(
        "s",
        "the time between entries of the energy balance; by default a thousandth of the run",
        None,
        above=0.0,
    )
    bound: float = number_key(
        "1", "the largest balance error as a fraction of the energy supplied", 1e-2, above=0.0
    )


class TurnTable(TimeTable):
    """The end of the run and the time step."""

    revolutions: float | None = number_key(
        "1", "the number of revolutions of the crank", None, above=0.0
    )
    end: float | None = number_key(  # type: ignore[assignment]
        "s", "the end of the run; it replaces revolutions if both are given", None, above=0.0
    )


class MechanismCase(CheckedCase):
    """Input of a run of a mechanism: complete, checked, and read-only.

    Make it with `load_mechanism`, or from another case with `replace`.

    The tables and keys of the case file are its attributes, as in the case of a chain.

    Examples
    --------
    >>> import granchain as gc
    >>> case = gc.load_mechanism("slider-crank").replace({"joint.clearance": 2e-4})
    >>> case.joint.journal_radius
    0.0098
    """

    # Numbers of a result, which have the names and labels of `measured`.
    measure = staticmethod(numbers_of_mechanism)
    measured: ClassVar[Mapping[str, Label]] = MEASURED
    peaks: ClassVar[Mapping[str, str]] = PEAKS
    # Names of the keys of the clearance, and of the radius that follows from it.
    clearance_key: ClassVar[str] = ""
    radius_key: ClassVar[str] = ""
    alternatives: ClassVar[Mapping[str, str]] = {
        "joint.clearance": "joint.journal_radius",
        "joint.journal_radius": "joint.clearance",
        "slot.clearance": "pin.radius",
        "pin.radius": "slot.clearance",
    }

    mechanism: str = key("the type of mechanism", "the name of a mechanism")
    crank: CrankTable = key("the crank", "a table [crank]")
    slider: SliderTable = key("the slider", "a table [slider]")
    contact: ContactTable = key("the contact law", "a table [contact]")
    force: ForceTable = key("the form of the force", "a table [force]", ForceTable())
    start: StartTable = key("the start", "a table [start]", StartTable())
    record: RecordTable = key("the recorded data", "a table [record]")
    energy: BalanceTable = key("the energy balance", "a table [energy]", BalanceTable())
    time: TurnTable = key("the end of the run", "a table [time]")

    @classmethod
    def _complete_and_check(
        cls,
        tables: dict[str, Any],
        keys: dict[str, Any],
        folder: Path | None,
        state: str,
        problems: Problems,
    ) -> str:
        """Complete and check the tables together."""
        if "contact" in tables and problems.clear("contact.law"):
            tables["contact"] = contact_table(keys["contact"], problems)
        cls._follow(tables, problems)
        used = cls.model_fields.keys() - {"contact", "start", "joint", "pin"}
        if cls.model_fields.keys() <= tables.keys() and problems.clear(*used):
            cls.model_construct(**tables).check(problems)
        return ""

    @classmethod
    def _follow(cls, tables: dict[str, Any], problems: Problems) -> None:
        """Complete the radius and the clearance, of which one may follow from the other."""
        places = [where.partition(".")[::2] for where in (cls.radius_key, cls.clearance_key)]
        if not problems.clear(*(table for table, _ in places)):
            return
        radius, clearance = (getattr(tables[table], name) for table, name in places)
        where = cls.clearance_key if radius is None else cls.radius_key
        if radius is None and clearance is None:
            problems.add(cls.radius_key, "missing", f"Give a number above 0, or {where}")
            return
        whole, name = cls.largest_clearance(tables)
        radius = whole - clearance if radius is None else radius
        between = whole - radius
        clearance = between if clearance is None else clearance
        problems.check(
            abs(between - clearance) <= ROUNDING_OF_LENGTHS * whole,
            cls.clearance_key,
            f"{clearance:g} m disagrees with {cls.radius_key}, which leaves {between:g} m",
            "One follows from the other",
            "Remove one of them",
        )
        problems.check(
            radius > 0.0 and between > ROUNDING_OF_LENGTHS * whole,
            where,
            f"{clearance if where == cls.clearance_key else radius:g} m is out of range",
            f"It must leave a clearance, and be less than {name}, {whole:g} m",
        )
        for (table, size_key), size in zip(places, (radius, clearance), strict=True):
            tables[table] = tables[table].model_copy(update={size_key: size})

    @classmethod
    def largest_clearance(cls, tables: Mapping[str, Any]) -> tuple[float, str]:
        """Return the length that radius and clearance share [m], and its name."""
        raise NotImplementedError

    @classmethod
    def restored(cls, stored: Mapping[str, Any], toml: str = "") -> MechanismCase:
        """Restore a case from the result of `as_given()` and its original text.

        Raises
        ------
        CaseError
            If this version rejects the case, for example because a law is not installed.
        """
        return mechanism_case(stored["tables"], {"toml": toml})

    @property
    def end(self) -> float:
        """End of the run [s]."""
        if self.time.end is not None:
            return self.time.end
        return (self.time.revolutions or 0.0) * 2.0 * math.pi / self.crank.speed

    @property
    def memory(self) -> float:
        """Estimated memory of a run [bytes]."""
        entries = self.end / self.energy.interval if self.energy.interval else MECHANISM_ENTRIES
        return _ROW_BYTES * (self.end / self.record.interval + entries)

    @property
    def clearance(self) -> float:
        """Clearance: distance of the centres of the joint when the surfaces touch [m]."""
        whole, _ = self.largest_clearance(dict(self))
        radius: float = entry_at(dict(self), self.radius_key)[0]
        return whole - radius

    @property
    def law(self) -> str:
        """Contact law of the joint."""
        return str(self.contact.law)

    def run_alone(self) -> Result:
        """Run the case; see `granchain.run_mechanism`."""
        from granchain.mechanisms.runs import run_mechanism

        return run_mechanism(self)

    def law_record(self) -> LawRecord:
        """Return the record of the law of the joint."""
        from granchain.engine.setup import record_of
        from granchain.mechanisms.setup import contacts_of_joint

        contacts = contacts_of_joint(self)
        return record_of(contacts.model, contacts.c)

    def time_step(self) -> float:
        """Return the time step of a run [s]."""
        from granchain.mechanisms.setup import contacts_of_joint, step_of_mechanism

        return step_of_mechanism(self, contacts_of_joint(self)).value

    def law_inputs(self) -> SimpleNamespace:
        """Return the value of each law input, in SI; a restitution may be a table."""
        return SimpleNamespace(**self.contact.inputs())

    def resolved(self) -> dict[str, Any]:
        """Return all tables as plain data in SI units, without the clearance key."""
        document = super().resolved()
        set_value(document, self.clearance_key, None)
        return document

    def check(self, problems: Problems) -> None:
        """Check that the run has an end, and that its samples fit into memory."""
        turns, ends = self.time.revolutions, self.time.end is not None
        if not ends and (turns is None or self.crank.speed == 0.0):
            problems.add(
                "time.revolutions",
                "missing" if turns is None else "the crank does not turn",
                "Give the number of revolutions, above 0, of a crank that turns, or time.end",
            )
        elif not 0.0 < self.end < math.inf:
            problems.add(
                "time",
                f"the end at {self.end:g} s is out of range",
                "It must be a finite time above 0",
                "Check crank.speed and time",
            )
        else:
            problems.check(
                self.memory <= MEMORY,
                "record.interval",
                f"{self.end / self.record.interval:.3g} samples need too much memory "
                f"({self.memory / 2**30:.3g} GiB)",
                f"A run may use at most {MEMORY // 2**30} GiB",
                "Choose longer intervals, or fewer revolutions",
            )


class SliderCrankCase(MechanismCase):
    """A slider-crank with clearance between rod and slider."""

    clearance_key: ClassVar[str] = "joint.clearance"
    radius_key: ClassVar[str] = "joint.journal_radius"

    mechanism: Literal["slider-crank"] = key("the type of mechanism", '"slider-crank"')
    rod: ConnectingRodTable = key("the connecting rod", "a table [rod]")
    joint: BearingTable = key("the joint with clearance", "a table [joint]")
    friction: FrictionTable | None = key("the friction in the joint", "a table [friction]", None)

    @classmethod
    def largest_clearance(cls, tables: Mapping[str, Any]) -> tuple[float, str]:
        """Return the length that radius and clearance share [m], and its name."""
        return tables["joint"].bearing_radius, "the radius of the bearing"

    def check(self, problems: Problems) -> None:
        """Check the lengths of rod and crank, and the friction."""
        super().check(problems)
        rod, friction = self.rod, self.friction
        problems.check(
            rod.length > self.crank.length,
            "rod.length",
            f"{rod.length:g} m is too short for a crank of {self.crank.length:g} m",
            "The rod must be longer than the crank, so that the crank can turn",
        )
        problems.check(
            rod.centre is None or rod.centre <= rod.length,
            "rod.centre",
            f"{rod.centre or 0.0:g} m is out of range",
            "It must be at most rod.length",
            "Give the distance from the crank pin",
        )
        problems.check(
            friction is None or friction.slip_full > friction.slip_begin,
            "friction.slip_full",
            "the slip speed is out of range",
            "It must be above friction.slip_begin",
        )
        problems.check(
            self.force.form == "law",
            "force.form",
            '"fitted" is not possible for a slider-crank, because its joint has no fit',
            'It must be "law"',
        )


class ScotchYokeCase(MechanismCase):
    """A scotch yoke with an arc-shaped slot and clearance between pin and slot."""

    clearance_key: ClassVar[str] = "slot.clearance"
    radius_key: ClassVar[str] = "pin.radius"

    mechanism: Literal["scotch-yoke"] = key("the type of mechanism", '"scotch-yoke"')
    slot: SlotTable = key("the slot", "a table [slot]")
    pin: PinTable = key("the pin", "a table [pin]")
    fitted: tuple[FittedTable, ...] = key(
        "fits to contact laws", "tables [[fitted]]", (), strict=False
    )

    @classmethod
    def largest_clearance(cls, tables: Mapping[str, Any]) -> tuple[float, str]:
        """Return the length that radius and clearance share [m], and its name."""
        slot = tables["slot"]
        return 0.5 * (slot.outer_radius - slot.inner_radius), "half the width of the slot"

    @property
    def rod_length(self) -> float:
        """Radius of the centre line of the slot [m].

        The pin moves about the centre of the arc as on a rod of this length.
        """
        return 0.5 * (self.slot.outer_radius + self.slot.inner_radius)

    def force_without_clearance(self, angle: np.ndarray) -> np.ndarray:
        """Return the force between pin and slot without clearance [N].

        It acts along the line to the centre of the arc, and its component moves the slider.

        Parameters
        ----------
        angle : array
            Angle of the crank [rad].
        """
        from granchain.mechanisms.linkages import ideal
        from granchain.mechanisms.setup import dimensions_of

        motion = ideal(angle, dimensions_of(self))
        accelerating = self.slider.mass * np.abs(motion.acceleration)
        return np.asarray(accelerating / np.cos(motion.rod_angle))

    def fit(self) -> FittedTable | None:
        """Return the fit to the contact law, if the case has one."""
        return next((fit for fit in self.fitted if fit.law == self.contact.law), None)

    def check(self, problems: Problems) -> None:
        """Check that the slot is longer than the path of the pin, and the form of the force."""
        super().check(problems)
        most = self.rod_length * math.sin(0.5 * self.slot.arc)
        problems.check(
            self.crank.length < most,
            "crank.length",
            f"{self.crank.length:g} m drives the pin into the end of the slot",
            f"It must be below {most:.6g} m, the radius of the centre line times the sine of "
            "half the arc",
            "Choose a shorter crank or a longer slot",
        )
        laws = ", ".join(f'"{fit.law}"' for fit in self.fitted) or "none"
        problems.check(
            self.force.form == "law" or self.fit() is not None,
            "force.form",
            f'"fitted" requires a fit to "{self.contact.law}"',
            f"The laws with a table [[fitted]] are {laws}",
            'Add a table, or set force.form = "law"',
        )


MECHANISM_KINDS: dict[str, type[MechanismCase]] = {
    "slider-crank": SliderCrankCase,
    "scotch-yoke": ScotchYokeCase,
}


def load_mechanism(name: str | Path, overrides: Iterable[str] = ()) -> MechanismCase:
    """Read the case of a mechanism.

    Parameters
    ----------
    name : str or Path
        A built-in mechanism (`mechanism_names()`), or the path of a TOML file.
    overrides : iterable of str
        Changes, each "KEY=VALUE" as on the command line, such as "contact.law=johnson".

    Raises
    ------
    CaseError
        If the case is invalid. The message lists every error.
    FileError
        If a file cannot be read.
    """
    _, document, context = read_document(
        name,
        case_files(MECHANISMS),
        overrides,
        ("load_mechanism", "case.mechanism_case(tables)"),
        "contact.law=johnson",
        MechanismCase.alternatives,
    )
    return mechanism_case(document, context)


def mechanism_case(
    document: Mapping[str, Any], context: Mapping[str, Any] | None = None
) -> MechanismCase:
    """Make the case of a mechanism from its tables; `context` as in `CheckedCase`.

    Raises
    ------
    CaseError
        If the case is invalid. The message lists every error.
    """
    named = document.get("mechanism")
    if isinstance(named, str) and named in MECHANISM_KINDS:
        return MECHANISM_KINDS[named].model_validate(document, context=dict(context or {}))
    problems = (context or {}).get("problems") or Problems()
    fix = "Add the key above the tables" if named is None else ""
    if "chain" in document:
        fix = "To run a chain of beads, use granchain run"
    problems.add(
        "mechanism",
        rejected(named),
        f"It must be {' or '.join(f'{brief(kind)}' for kind in MECHANISM_KINDS)}",
        fix,
        named,
        MECHANISM_KINDS,
    )
    raise CaseError(problems.sentences)


def contact_table(table: Mapping[str, Any], problems: Problems) -> ContactTable:
    """Return the law and its inputs; reject inputs that follow from the geometry of the joint."""
    values = law_values("contact", table, problems)
    for name, source in (
        ("contact", "the surface that is touched"),
        ("clearance", "the radii of the joint"),
    ):
        values.pop(name, None)
        problems.check(
            name not in table,
            f"contact.{name}",
            f"{brief(table.get(name))} is not allowed in a mechanism",
            f"It follows from {source}",
            "Remove it",
        )
    problems.check(
        values.get("impact_speed") != "striker" or not needs_speed(ContactTable(**values)),
        "contact.impact_speed",
        '"striker" is not possible, because a mechanism has no striker',
        'It must be a number above 0, or "onset"',
        "Give the speed of the impacts to which the restitution applies [m/s]",
    )
    if "dents" in values and "dents" not in table:
        # The same spots of a journal and its bearing do not meet again.
        values["dents"] = "forget"
    return ContactTable(**values)
