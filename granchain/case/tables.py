"""The tables of a case file and their keys. Each table is a pydantic model."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar, Union, get_args

import numpy as np
from pydantic import (
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    SerializeAsAny,
    Tag,
    WrapValidator,
    create_model,
)

from granchain.errors import nearest
from granchain.keys import (
    TITLE_LENGTH,
    Table,
    choice,
    in_si,
    integer_key,
    key,
    number_key,
    text_key,
)
from granchain.material import MATERIALS, Material
from granchain.structures import plate_impedance, rod_impedance

AnyTable = TypeVar("AnyTable", bound=Table)

# Definitions of the arrival of a pulse: the time of the peak, or the last time before it at which
# the force rises through this fraction of the peak.
Arrival = Literal["peak", "half", "rise"]
ARRIVALS: dict[str, float | None] = {"peak": None, "half": 0.5, "rise": 0.1}
DEFAULT_ARRIVAL: Arrival = "peak"


class MaterialTable(Table):
    """Elastic and plastic constants of a bead or wall."""

    youngs_modulus: float = number_key("Pa", "Young's modulus", above=0.0)
    # An isotropic solid is stable up to 1/2; a pair of bodies requires more than 0.
    poissons_ratio: float = number_key("1", "Poisson's ratio", above=0.0, high=0.5)
    density: float | None = number_key("kg/m^3", "the density", None, above=0.0)
    yield_stress: float | None = number_key("Pa", "the yield stress", None, above=0.0)
    hardness: float | None = number_key("Pa", "the indentation hardness", None, above=0.0)
    source: str = text_key("the source of the values")
    name: str | None = key(
        "the name of the material in a [[contact.pair]]",
        "a word or a line of printable text",
        None,
        pattern=r"^\P{C}+$",
        max_length=TITLE_LENGTH,
    )


def _expanded(value: Any, handler: Any) -> Material:
    """Return the material of a name, of a table of constants, or of a material."""
    if isinstance(value, str):
        if value not in MATERIALS:
            raise ValueError("")
        return MATERIALS[value]
    return Material(**dict(handler(value.constants() if isinstance(value, Material) else value)))


if TYPE_CHECKING:
    MaterialKey = Material
else:
    MaterialKey = Annotated[MaterialTable, WrapValidator(_expanded)]


def material_of(what: str, default: Any = None) -> Any:
    """Return a key for a material, a name or a table; it is required if the default is `...`."""
    return choice(
        f"the material of {what}",
        tuple(MATERIALS),
        default,
        "a table { youngs_modulus = ..., poissons_ratio = ..., ... }",
    )


Factors = tuple[Annotated[float, Field(gt=0.0)], ...]


def factors(meaning: str) -> Any:
    """Return a key with one factor per bead."""
    return key(f"{meaning} [1]", "a list of numbers above 0, one for each bead", None, strict=False)


class ResonatorTable(Table):
    """A mass inside a bead on a spring and a dashpot. The mass of the bead does not include it."""

    mass: float = number_key("kg", "the mass of the resonator", above=0.0)
    stiffness: float = number_key("N/m", "the stiffness of its spring", above=0.0)
    damping: float = number_key("kg/s", "the damping of its dashpot", 0.0, low=0.0)


# A single table is a list with one entry.
ResonatorKey = Annotated[
    tuple[ResonatorTable, ...],
    BeforeValidator(
        lambda value: [value] if isinstance(value, (Mapping, ResonatorTable)) else value
    ),
]


def on_site_key(unit: str, what: str, default: float | None) -> Any:
    """Return a key for an on-site spring or dashpot."""
    return number_key(
        unit, f"the {what} between each bead and the ground, with no force at rest", default,
        low=0.0,
    )  # fmt: skip


def resonators_key(default: Any) -> Any:
    """Return a key for the resonators of each bead."""
    return key(
        "the resonators in each bead",
        "a table { mass, stiffness, damping }, or a list of them",
        default,
        strict=False,
    )


class LawInputs(Table):
    """Keys that a contact law declares, in addition to those of the table."""

    model_config = ConfigDict(extra="allow")

    def inputs(self) -> dict[str, Any]:
        """Return a copy of each input of the law in this table."""
        return {
            name: copy(value) if isinstance(value, (dict, list)) else value
            for name, value in (self.model_extra or {}).items()
        }


class ContactTable(LawInputs):
    """The contact law and its inputs. Each law declares its inputs."""

    law: str = key("the name of the contact law", 'a name that "granchain laws" lists')


def own_contact(where: str) -> Any:
    """Return a key for an individual contact law."""
    return key(
        f"the contact law {where}, if it differs from [contact]",
        "a table with the law and its inputs, { law = ..., ... }",
        None,
    )


class SegmentTable(Table):
    """A number of equal beads.

    Segments follow one another. If a segment has `repeat`, the group of segments up to this one
    occurs that many times.
    """

    count: int = integer_key("the number of beads in the segment")
    radius: float | None = number_key("m", "the radius of these beads", None, above=0.0)
    mass: float | None = number_key("kg", "the mass of each of these beads", None, above=0.0)
    taper: float | None = number_key(
        "1",
        "the ratio of the radius of each of these beads to the radius of the bead before it; the "
        "mass scales with the cube, and the first bead has the given radius and mass",
        None,
        above=0.0,
    )
    material: MaterialKey | None = material_of("these beads")
    gap: float | None = number_key(
        "m", "the free distance after each of these beads", None, low=0.0
    )
    velocity: float | None = number_key(
        "m/s", "the initial velocity of these beads, positive towards the right end", None
    )
    displacement: float | None = number_key(
        "m", "the initial displacement of these beads from where they touch or are at rest", None
    )
    drag: float | None = number_key(
        "1/s", "the ratio of drag force to momentum of each of these beads", None, low=0.0
    )
    on_site_stiffness: float | None = on_site_key("N/m", "stiffness of a spring", None)
    on_site_damping: float | None = on_site_key("kg/s", "damping of a dashpot", None)
    resonator: ResonatorKey | None = resonators_key(None)
    contact: ContactTable | None = own_contact("between these beads")
    repeat: int | None = integer_key(
        "the number of times that the group of segments ending here occurs", None
    )


# Keys of [chain] that segments use unless they have their own.
BEAD_KEYS = (
    "radius", "mass", "material", "gap", "drag", "on_site_stiffness", "on_site_damping",
    "resonator",
)  # fmt: skip


def body_of(table: Any, keys: Mapping[str, Any], like: Any) -> dict[str, Any]:
    """Return radius, mass, and material of a body; missing values are those of another body.

    If its radius or material is given, its mass follows from the density.
    """
    radius, material = (inherited(table, keys, like, name) for name in ("radius", "material"))
    differs = "radius" in keys or "material" in keys
    mass = inherited(table, keys, None if differs else like, "mass")
    density = None if material is None else material.density
    if mass is None and radius is not None and density is not None:
        mass = density * (4.0 / 3.0 * math.pi * (radius * radius * radius))
    return {"radius": radius, "mass": mass, "material": material}


def inherited(table: Table, keys: Mapping[str, Any], like: Any, name: str) -> Any:
    """Return the value of a table at a key that the author gave, or else of another table."""
    value = getattr(table, name) if name in keys else None
    return getattr(like, name, None) if value is None else value


def with_values(table: AnyTable, values: Mapping[str, Any]) -> AnyTable:
    """Return a table with other values; the same table if the values are equal."""
    if all(getattr(table, name) == value for name, value in values.items()):
        return table
    return table.model_copy(update=dict(values))


class ChainTable(Table):
    """The chain of beads: equal beads, or segments.

    Segments use the values under `[chain]` for all keys that they do not contain.
    """

    beads: int | None = integer_key("the number of beads", None)
    radius: float | None = number_key("m", "the radius of a bead", None, above=0.0)
    mass: float | None = number_key("kg", "the mass of a bead", None, above=0.0)
    material: MaterialKey | None = material_of("the beads")
    gap: float = number_key("m", "the free distance between neighbours", 0.0, low=0.0)
    precompression: float = number_key(
        "N", "the constant force that compresses the chain", 0.0, low=0.0
    )
    gravity: float = number_key(
        "m/s^2", "the acceleration along the chain, towards its right end", 0.0, low=0.0
    )
    drag: float = number_key(
        "1/s",
        "the ratio of drag force to momentum of a bead, for a bead in a fluid or in a guide",
        0.0,
        low=0.0,
    )
    on_site_stiffness: float = on_site_key("N/m", "stiffness of a spring", 0.0)
    on_site_damping: float = on_site_key("kg/s", "damping of a dashpot", 0.0)
    resonator: ResonatorKey = resonators_key(())
    segment: tuple[SegmentTable, ...] = key(
        "the segments of equal beads", "tables [[chain.segment]]", (), strict=False
    )
    radius_factor: Factors | None = factors(
        "the factor for the radius of each bead; its mass is multiplied by the cube of the factor"
    )
    mass_factor: Factors | None = factors("the factor for the mass of each bead")
    modulus_factor: Factors | None = factors("the factor for the Young's modulus of each bead")
    gap_added: tuple[float, ...] | None = key(
        "the distance added to the gap after each bead except the last [m]",
        "a list of finite numbers, one for each gap",
        None,
        strict=False,
    )
    disorder_seed: int | None = key(
        "the seed of the random factors and gaps", "a whole number, 0 or more", None, ge=0
    )

    def completed(self, keys: Mapping[str, Any]) -> ChainTable:
        """Return the chain with all values of its beads, or of each of its segments.

        `keys` are those that the author gave under `[chain]`. Values that follow from them are
        computed, also if the chain was complete with other values at these keys.
        """
        chain = with_values(self, body_of(self, keys, None))
        if not self.segment:
            return chain
        segments = []
        for segment, entry in zip(self.segment, keys["segment"], strict=True):
            values = {name: inherited(segment, entry, chain, name) for name in BEAD_KEYS}
            segments.append(with_values(segment, values | body_of(segment, entry, chain)))
        return with_values(chain, {"segment": tuple(segments)})

    def groups(self) -> list[tuple[int, list[SegmentTable]]]:
        """Return groups of segments, each with its number of repeats.

        The beads of a uniform chain are one segment.
        """
        if not self.segment:
            values = {name: getattr(self, name) for name in BEAD_KEYS}
            return [(1, [SegmentTable.model_construct(count=self.beads or 1, **values)])]
        groups: list[tuple[int, list[SegmentTable]]] = [(1, [])]
        for segment in self.segment:
            groups[-1][1].append(segment)
            if segment.repeat is not None:
                groups[-1:] = [(segment.repeat, groups[-1][1]), (1, [])]
        return [(repeat, group) for repeat, group in groups if group]

    def total(self) -> int:
        """Return the number of beads."""
        return sum(
            repeat * sum(segment.count for segment in group) for repeat, group in self.groups()
        )

    def keyed_segments(self) -> list[tuple[str, SegmentTable]]:
        """Return the segments with their keys."""
        if not self.segment:
            return [("chain", self.groups()[0][1][0])]
        return [(f"chain.segment.{i}", segment) for i, segment in enumerate(self.segment)]

    def of_each(self, name: str) -> np.ndarray:
        """Return the value of a key of segments for each bead, (n_beads,); 0 if it is missing."""
        values = [
            np.tile(
                np.repeat(
                    [float(getattr(segment, name) or 0.0) for segment in group],
                    [segment.count for segment in group],
                ),
                repeat,
            )
            for repeat, group in self.groups()
        ]
        return np.concatenate(values)

    def size_factors(self) -> np.ndarray:
        """Return the factor of the radius of each bead, from tapered segments and disorder.

        The mass is multiplied by the cube. If beads have no factors, the result is one number.
        """
        disorder = np.array(self.radius_factor or 1.0)
        if all(segment.taper is None for segment in self.segment):
            return disorder
        # 1, t, t^2, ... as products, so that the result is bit-identical on every machine.
        factors = [
            np.tile(
                np.concatenate(
                    [
                        np.cumprod([1.0] + [segment.taper or 1.0] * (segment.count - 1))
                        for segment in group
                    ]
                ),
                repeat,
            )
            for repeat, group in self.groups()
        ]
        return disorder * np.concatenate(factors)

    def has_springs_or_resonators(self) -> bool:
        """Check if any bead has an on-site spring or dashpot, or a resonator."""
        return any(
            segment.on_site_stiffness or segment.on_site_damping or segment.resonator
            for _, segment in self.keyed_segments()
        )

    def attached_masses(self) -> tuple[np.ndarray, ...]:
        """Return bead index, mass [kg], stiffness [N/m], and damping [kg/s] of the resonators.

        The resonators are in the order along the chain.
        """
        each = [
            (segment.resonator or (), segment.count)
            for repeat, group in self.groups()
            for segment in group * repeat
        ]
        counts = np.repeat(
            [len(resonators) for resonators, _ in each], [count for _, count in each]
        )
        numbers = [
            np.concatenate(
                [
                    np.tile([getattr(resonator, name) for resonator in resonators], count)
                    for resonators, count in each
                ]
            )
            for name in ("mass", "stiffness", "damping")
        ]
        return np.repeat(np.arange(counts.size), counts), *numbers


class StrikerTable(Table):
    """A body that strikes bead 1. Missing keys have the values of bead 1."""

    speed: float = number_key("m/s", "the speed towards the chain", above=0.0)
    radius: float | None = number_key("m", "the radius of the striker", None, above=0.0)
    mass: float | None = number_key("kg", "the mass of the striker", None, above=0.0)
    material: MaterialKey | None = material_of("the striker")


class InitialTable(Table):
    """Initial motion of the beads: lists with a number for each bead, or a CSV file with columns.

    Positive is towards the right end. Displacements are measured from the positions in which the
    beads touch, or rest under precompression and gravity. Resonators have separate lists, and begin
    at rest by default. The first line of the file names the columns: `bead`, `velocity` [m/s],
    `displacement` [m]. Without `bead`, the file has one row for each bead.

    The file can also be the output file of a run. The new run then resumes from its final state.
    The case identifies this state by its hash.
    """

    file: str | None = key(
        "the file with columns bead, velocity [m/s], displacement [m], or the run to resume from",
        "the name of a CSV file or of the output file of a run",
        None,
    )
    velocity: tuple[float, ...] | None = key(
        "the velocity of each bead [m/s]", "a list of finite numbers", None, strict=False
    )
    displacement: tuple[float, ...] | None = key(
        "the displacement of each bead [m]", "a list of finite numbers", None, strict=False
    )
    resonator_velocity: tuple[float, ...] | None = key(
        "the velocity of each resonator, along the chain [m/s]",
        "a list of finite numbers",
        None,
        strict=False,
    )
    resonator_displacement: tuple[float, ...] | None = key(
        "the displacement of each resonator from its rest position, along the chain [m]",
        "a list of finite numbers",
        None,
        strict=False,
    )
    state: str | None = key(
        "the SHA-256 hash of the state from which the run resumes; velocity and displacement then "
        "describe the first run",
        "the hash of a state, which `case.replace(initial=result)` writes",
        None,
    )


# Required and optional keys of each signal.
SIGNAL_KEYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "harmonic": (("amplitude", "frequency"), ("dc", "phase", "ramp", "ramp_from", "duration")),
    "chirp": (("amplitude", "from", "to", "duration"), ("dc", "phase", "ramp")),
    "noise": (("band", "rms", "seed"), ("dc", "ramp", "duration")),
    "pulse": (("shape", "amplitude", "duration"), ()),
}
PulseShape = Literal["half-sine", "gaussian"]


class DriveTable(Table):
    """An end that follows a table or a signal: the displacement of a wall, or a force on the end
    body. Positive is into the chain. For a bead under [[drive]], positive is from the striker to
    the far end.

    A table is a file, or the lists time and value. A signal is one of four types, and each type has
    its own keys.
    """

    _kind: ClassVar[str] = "a drive"

    drive: Literal["displacement", "force"] = choice(
        "the prescribed quantity", ("displacement", "force")
    )
    file: str | None = key(
        "the file with two columns, time [s] and displacement [m] or force [N]",
        "the name of a CSV file",
        None,
    )
    time: tuple[float, ...] | None = key(
        "the times [s]", "a list of finite numbers", None, strict=False
    )
    value: tuple[float, ...] | None = key(
        "the displacements [m] or forces [N]", "a list of finite numbers", None, strict=False
    )
    signal: Literal[*SIGNAL_KEYS] | None = choice(  # type: ignore[valid-type]
        "the type of signal", tuple(SIGNAL_KEYS), None
    )
    amplitude: float | None = key(
        "the largest displacement [m] or force [N] of a harmonic, chirp, or pulse",
        "a finite number",
        None,
    )
    frequency: float | None = number_key("Hz", "the frequency of a harmonic", None, above=0.0)
    dc: float | None = key(
        "the constant part of a harmonic, chirp, or noise signal [m] or [N], which is multiplied "
        "by the ramp",
        "a finite number",
        None,
    )
    phase: float | None = number_key("rad", "the phase of a harmonic or chirp at the start", None)
    ramp: float | None = number_key(
        "s",
        "the time in which a harmonic, chirp, or noise signal rises, and falls before its end",
        None,
        low=0.0,
    )
    ramp_from: tuple[float, ...] | None = key(
        "the amplitude [m] or [N] and frequency [Hz] at the start of the ramp of a harmonic, if it "
        "does not rise from 0",
        "a list of two numbers",
        None,
        strict=False,
    )
    duration: float | None = number_key("s", "the duration of the signal", None, above=0.0)
    to: float | None = number_key("Hz", "the last frequency of a chirp", None, low=0.0)
    band: tuple[float, ...] | None = key(
        "the lowest and the highest frequency of noise [Hz]",
        "a list of two numbers",
        None,
        strict=False,
    )
    rms: float | None = key(
        "the root mean square of noise [m] or [N]", "a number above 0", None, gt=0.0
    )
    seed: int | None = key("the seed of noise", "a whole number, 0 or more", None, ge=0)
    shape: PulseShape | None = choice("the shape of a pulse", get_args(PulseShape), None)


# "from" is a keyword of Python, so that a class statement cannot declare it.
_FROM: Any = {
    "from": (float | None, number_key("Hz", "the first frequency of a chirp", None, low=0.0))
}
DRIVE_TABLE = create_model("DRIVE_TABLE", __base__=DriveTable, __doc__=DriveTable.__doc__, **_FROM)


class BeadDriveTable(DRIVE_TABLE):  # type: ignore[valid-type, misc]
    """A bead that follows a table or a signal: its displacement from rest, or a force on it.
    Positive is from the striker to the far end.

    The forces of several drives of one bead are added.
    """

    bead: int = integer_key("the number of the driven bead")


class CompliantEndTable(Table):
    """A compliant end: a flat wall that the last bead moves."""

    @property
    def structure(self) -> Any:
        """Table of the plate or the rod of the end, with a material and an impedance, or None."""
        return getattr(self, "plate", None) or getattr(self, "rod", None)


class MassEndTable(CompliantEndTable):
    """A flat wall with a mass, on a spring and a dashpot between it and the ground."""

    _kind: ClassVar[str] = "a mass on a spring"

    mass: float = number_key("kg", "the mass of the wall", above=0.0)
    stiffness: float = number_key("N/m", "the stiffness of its spring", 0.0, low=0.0)
    damping: float = number_key("kg/s", "the damping of its dashpot", 0.0, low=0.0)


class PlateTable(Table):
    """A large thin plate: no wave returns from its edges during the run."""

    thickness: float = number_key("m", "the thickness of the plate", above=0.0)
    material: MaterialKey = material_of("the plate", ...)

    @property
    def impedance(self) -> float:
        """Impedance of the plate [kg/s]."""
        return plate_impedance(self.thickness, self.material)


class PlateEndTable(CompliantEndTable):
    """A large thin plate, which the last bead strikes far from its edges."""

    _kind: ClassVar[str] = "a plate"

    plate: PlateTable = key("the plate", "a table { thickness, material }")


class RodTable(Table):
    """A long thin rod along the chain: no wave returns from its far end during the run."""

    area: float = number_key("m^2", "the area of the cross section of the rod", above=0.0)
    material: MaterialKey = material_of("the rod", ...)

    @property
    def impedance(self) -> float:
        """Impedance of the rod [kg/s]."""
        return rod_impedance(self.area, self.material)


class RodEndTable(CompliantEndTable):
    """A long thin rod, whose flat end the last bead strikes."""

    _kind: ClassVar[str] = "a rod"

    rod: RodTable = key("the rod", "a table { area, material }")


def number_in(unit: str, **limits: Any) -> Any:
    """Return the type of a number in a list, which may have a unit."""
    convert = BeforeValidator(lambda value: in_si(value, unit) if isinstance(value, str) else value)
    return Annotated[float, Field(**limits), convert]


if TYPE_CHECKING:
    Mode = tuple[float, float, float]
else:
    mode = tuple[number_in("kg", gt=0.0), number_in("N/m", ge=0.0), number_in("kg/s", ge=0.0)]
    Mode = Annotated[mode, Field(strict=False)]


class ModesEndTable(CompliantEndTable):
    """A structure with several modes. Its displacement at the contact is the sum of the
    displacements of the modes, and the contact force acts on each mode."""

    _kind: ClassVar[str] = "a structure with modes"

    modes: tuple[Mode, ...] = key(
        "the mass [kg], stiffness [N/m], and damping [kg/s] of each mode at the contact",
        "a list of one or more lists [mass, stiffness, damping], mass above 0 and the others 0 or "
        "more",
        strict=False,
    )


# Tables that can be an end; the first one is that of a driven end.
END_TABLES: tuple[type[Table], ...] = (
    DRIVE_TABLE, MassEndTable, PlateEndTable, RodEndTable, ModesEndTable,
)  # fmt: skip


def _kind_of_end(value: Any) -> str:
    """Return the tag of an end: "word", or the name of the table that has its keys."""
    if isinstance(value, Table):
        return type(value).__name__
    if not isinstance(value, Mapping) or not value:
        return "word"
    table_with = {name: table for table in END_TABLES for name in table.model_fields}
    names = [name for name in value if name in table_with]
    # a misspelt key selects the table of the most similar key
    similar = [] if names else [nearest(str(name), table_with) for name in value]
    first = "drive" if "drive" in names else next(filter(None, names + similar), "drive")
    return table_with[first].__name__


if TYPE_CHECKING:
    EndKey = Literal["free", "wall", "rigid"] | DriveTable | CompliantEndTable
else:
    _word = Annotated[Literal["free", "wall", "rigid"], Tag("word")]
    _tagged_tables = [Annotated[table, Tag(table.__name__)] for table in END_TABLES]
    EndKey = Annotated[Union[_word, *_tagged_tables], Discriminator(_kind_of_end)]
_COMPLIANT_ENDS = [f"{{ {', '.join(table.model_fields)} }}" for table in END_TABLES[1:]]
_TABLES = (
    'a table { drive = "displacement" or "force", file = "table.csv" or signal = ... }, '
    f"{', '.join(_COMPLIANT_ENDS[:-1])}, or {_COMPLIANT_ENDS[-1]}"
)
_END_WORDS = (("free", "wall", "rigid"), "free", _TABLES)


class EndsTable(Table):
    """The two ends of the chain."""

    # without the function that distinguishes its forms, an end is plain data
    left: SerializeAsAny[EndKey] = choice("the left end", *_END_WORDS)
    right: SerializeAsAny[EndKey] = choice("the right end", *_END_WORDS)
    left_material: MaterialKey | None = material_of("the left wall")
    right_material: MaterialKey | None = material_of("the right wall")
    left_contact: ContactTable | None = own_contact("at the left wall")
    right_contact: ContactTable | None = own_contact("at the right wall")

    def has_wall(self, side: str) -> bool:
        """Check if a wall, fixed, driven, or compliant, is at this end."""
        end = getattr(self, side)
        return end.drive == "displacement" if isinstance(end, DriveTable) else end != "free"

    def material_of_wall(self, side: str) -> Material | None:
        """Return the material of a wall; None if it is that of the bead, or if it is rigid."""
        end, material = getattr(self, side), getattr(self, f"{side}_material")
        structure = end.structure if isinstance(end, CompliantEndTable) else None
        return structure.material if structure is not None and material is None else material

    def compliant(self) -> list[str]:
        """Return the sides with compliant ends."""
        sides = ("left", "right")
        return [side for side in sides if isinstance(getattr(self, side), CompliantEndTable)]


class PairTable(LawInputs):
    """Inputs of the law for the contacts of two materials. Inputs that are not given here are those
    under `[contact]`.

    Give the two names in any order, and the same name twice for contacts of equal beads. A name is
    that of a built-in material, or the `name` in a table of constants. A wall has the material of
    its bead unless [ends] gives one; a rigid end is `"rigid"`.
    """

    materials: tuple[str, str] = key(
        "the names of the two materials", "a list of two names of materials", strict=False
    )


class ChainContactTable(ContactTable):
    """The contact law and its inputs. Each law declares its inputs."""

    pair: tuple[PairTable, ...] | None = key(
        "the inputs for the contacts of two materials",
        "tables [[contact.pair]]",
        None,
        strict=False,
    )


# Labels as text: "all", or ranges with a step, separated by commas.
LABEL_RANGE = re.compile(r"\s*(-?[0-9]{1,9})(?:\s*-\s*(-?[0-9]{1,9})(?::([0-9]{1,9}))?)?\s*")
ALL_LABELS = "all"


def ranges_of(labels: str) -> list[range]:
    """Return the ranges of a text such as "1-70:5", separated by commas.

    Raises
    ------
    ValueError
        If the text is not valid. The message describes the fix.
    """
    ranges = []
    for range_text in labels.split(","):
        match = LABEL_RANGE.fullmatch(range_text) if len(labels) <= TITLE_LENGTH else None
        if match is None:
            raise ValueError('Write "all", or ranges such as "1-70", "1-70:5", or "1-10, 40"')
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if step < 1 or last < first:
            raise ValueError("Write the smaller number first, and a step of 1 or more")
        ranges.append(range(first, last + 1, step))
    return ranges


def _labels_in_words(value: Any, handler: Any) -> Any:
    """Check labels that are given as text; they are expanded when the chain is known."""
    if not isinstance(value, str):
        return handler(value)
    if value != ALL_LABELS:
        ranges_of(value)
    return value


Labels = Annotated[tuple[Annotated[int, Field(strict=True)], ...], WrapValidator(_labels_in_words)]


class SensorsTable(Table):
    """The beads and contacts that are recorded at every sample. Give a list of numbers, `"all"`, or
    ranges with a step: `"1-70"`, `"1-70:5"`, `"1-10, 40"`."""

    beads: Labels = key(
        "the beads with a sensor",
        'a list of bead numbers, "all", or ranges such as "1-70:5"',
        (),
        strict=False,
    )
    contacts: Labels = key(
        "the contacts to record",
        'a list of contact numbers, "all", or ranges such as "0-70:5"',
        (),
        strict=False,
    )
    interval: float = number_key("s", "the time between samples", 2e-7, above=0.0)
    arrival: Arrival = key(
        "the arrival of a pulse: the time of its peak, or the last time before it at which the "
        "force rises through half or a tenth of it",
        '"peak", "half", or "rise"',
        DEFAULT_ARRIVAL,
        ARRIVALS,
    )


class SnapshotsTable(Table):
    """Displacement and velocity of every body."""

    interval: float = number_key("s", "the time between snapshots", above=0.0)
    history: bool = key(
        "true to store the history of every contact as well: largest overlap, residual overlap, "
        "and contact state",
        "true or false",
        False,
    )


class EnergyTable(Table):
    """The energy balance."""

    ledger: bool = key("true to compute the energy balance", "true or false", True)
    interval: float | None = number_key(
        "s", "the time between entries of the energy balance", None, above=0.0
    )
    bound: float = number_key(
        "1", "the largest balance error as a fraction of the energy supplied", 1e-2, above=0.0
    )


class TimeTable(Table):
    """The end of the run and the time step."""

    end: float = number_key("s", "the end of the run", above=0.0)
    step: Literal["auto", "fast"] | Annotated[float, Field(gt=0.0)] = key(
        "the time step [s]",
        '"auto", "fast", or a number above 0',
        "auto",
        ("auto", "fast"),
        unit="s",
    )
    force_step: bool = key("true to allow a step above the stability limit", "true or false", False)


class ToleranceTable(Table):
    """Uncertainties of the parameters of the case, for uncertainty bands. `"striker.speed" = 0.02`
    is one standard deviation, as a fraction of the value. `"striker.speed" = { uniform = 0.02 }` is
    half the width of a uniform distribution. Keys are those of the case, with dots. A run ignores
    this table."""

    model_config = ConfigDict(extra="allow")


class HeadingTable(Table):
    """The keys above the tables."""

    title: str = text_key("the title of the case")


def bead_values(name: str, chain: ChainTable, initial: InitialTable | None) -> np.ndarray:
    """Return the initial velocity or displacement of each bead, (n_beads,)."""
    values = None if initial is None else getattr(initial, name)
    if values is not None:
        return np.array(values, dtype=float)
    return chain.of_each(name)


def own_contacts_in(tables: Mapping[str, Any]) -> list[tuple[str, ContactTable]]:
    """Return the contact laws of segments and walls, by key."""
    segments, ends = getattr(tables.get("chain"), "segment", ()), tables.get("ends")
    contacts = {f"chain.segment.{i}.contact": segment.contact for i, segment in enumerate(segments)}
    contacts |= {
        f"ends.{side}_contact": getattr(ends, f"{side}_contact", None) for side in ("left", "right")
    }
    return [(where, contact) for where, contact in contacts.items() if contact is not None]
