"""The keys of a case file, their units and limits, and the sentences that tell what is wrong with a value.

Each table of a case is a model; a key's meaning, unit and limits are declared once, and sentences, checks and tables of the documentation
are made from that.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from granchain.contact.law import Quantity
from granchain.material import MATERIALS, Material

# Sentences told at once: more than anyone mends in one go.
PROBLEMS = 100


def shown(value: Any, length: int = 60) -> str:
    """A value as a sentence shows it: short, on one line, without control characters."""
    if isinstance(value, (Mapping, BaseModel, Material)):
        return "a table"
    if isinstance(value, (list, tuple)):
        return "a list"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    clean = "".join(sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in text[:length])
    clean += "..." if len(text) > length else ""
    return f'"{clean}"' if isinstance(value, str) else clean


def in_unit(unit: str) -> str:
    """A unit as a sentence ends with it; nothing for a pure number or a word."""
    return "" if unit in ("", "1") else f" [{unit}]"


def suggestion(word: Any, words: Iterable[str], otherwise: str) -> str:
    """What to do about a word that is not among the allowed ones."""
    close = difflib.get_close_matches(word[:60], list(words), n=1) if isinstance(word, str) else []
    return f'did you mean "{close[0]}"?' if close else otherwise


class Problems:
    """The mistakes of one case, a sentence each."""

    def __init__(self) -> None:
        self._sentences: dict[str, None] = {}
        self._places: set[str] = set()
        self._more = 0

    def add(self, where: str, got: str, allowed: str, advice: str) -> None:
        """Tell one mistake."""
        self._places.add(where)
        if self.full:
            self._more += 1
        else:
            place = ".".join(shown(part)[1:-1] for part in where.split("."))
            self._sentences[f"{place}: got {got}, allowed {allowed}; {advice}"] = None

    def repeat(self, sentences: Iterable[str]) -> None:
        """Tell what was told elsewhere."""
        self._sentences |= dict.fromkeys(sentences)

    def add_unknown(self, where: str, allowed: Iterable[str], otherwise: str) -> None:
        """Tell a key that is not among the allowed ones."""
        allowed = list(allowed)
        advice = otherwise if self.full else suggestion(where.rpartition(".")[2], allowed, otherwise)
        self.add(where, "an unknown key", ", ".join(allowed), advice)

    @property
    def full(self) -> bool:
        """Whether as many are told as anyone reads."""
        return len(self._sentences) >= PROBLEMS

    @property
    def sentences(self) -> list[str]:
        """All that was told, in order."""
        return [*self._sentences] + ([f"case: got {self._more} more mistakes, allowed none; mend these first"] if self._more else [])

    def clear(self, *places: str) -> bool:
        """Whether nothing is wrong at these keys, above or below them: what a check across keys may rest on."""
        return not any(
            told == place or told.startswith(place + ".") or place.startswith(told + ".") for told in self._places for place in places
        )


# ---------------------------------------------------------------------------------------------------------------------
# Numbers with a unit

_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
_FACTOR = r"[A-Za-zµμ]+(?:\^-?[0-9](?:\.[0-9]{1,2})?)?"
_WITH_UNIT = re.compile(rf"({_NUMBER}) ?({_FACTOR}(?:[*/]{_FACTOR}){{0,4}})")
# Megametres and gigaseconds: a prefix meant small.
_GIANT = re.compile(r"(?<![A-Za-zµμ])([MGTPEZY])([msg])(?![A-Za-zµμ])")


def in_si(text: str, unit: str) -> float:
    """Read "2.38 mm" as a number in `unit`.

    Only one number, at most one space and up to five unit factors reach pint: by itself it reads "2,38 mm" as 238 mm and computes 9**9**9.

    Raises
    ------
    ValueError
        With what to do about it.
    """
    if unit in ("", "1"):
        raise ValueError("write a number without quotes and without a unit")
    match = _WITH_UNIT.fullmatch(text) if len(text) <= 60 else None
    if match is None:
        raise ValueError(f'write a number [{unit}], or one number and its unit such as "2.38 mm", "200 GPa", "7.8 g/cm^3"')
    giant = _GIANT.search(match[2])
    if giant:
        raise ValueError(f'"{giant[0]}" is a million {giant[2]} or more; did you mean "m{giant[2]}"?')
    # In decimal, so that "2.38 mm" is the same number as 2.38e-3.
    value = float(Decimal(match[1]) * _factor(match[2], unit))
    if not math.isfinite(value):
        raise ValueError(f"write a finite number [{unit}]")
    return value


@lru_cache(maxsize=256)
def _factor(text: str, unit: str) -> Decimal:
    try:
        import pint
    except ImportError:
        raise ValueError(f'write a number [{unit}], or install pint, which reads units: pip install "granchain[units]"') from None
    try:
        registry = _registry()
        factor = registry.Quantity(1.0, registry.parse_units(text)).to(registry.parse_units(unit)).magnitude
    except (pint.errors.PintError, TypeError, ValueError, ArithmeticError, AttributeError, LookupError):
        raise ValueError(f'"{text}" is no unit of this quantity; write a number [{unit}]') from None
    return Decimal(f"{factor:.15g}")


@lru_cache(maxsize=1)
def _registry() -> Any:
    import pint

    return pint.UnitRegistry()


# ---------------------------------------------------------------------------------------------------------------------
# Kinds of keys


def key(meaning: str, allowed: str, default: Any = ..., choices: Iterable[str] = (), unit: str | None = None, **more: Any) -> Any:
    """A key: what it means and what is allowed, in words, for sentences and tables."""
    told: Any = {"allowed": allowed, "choices": list(choices), "unit": unit}
    return Field(default, description=meaning, json_schema_extra=told, **more)


def number(unit: str, meaning: str, default: Any = ..., **limits: float) -> Any:
    """A key that holds a number, with the limits that a `Quantity` has: above, low, high."""
    bounds = {_BOUNDS[name]: limit for name, limit in limits.items()}
    return key(meaning + in_unit(unit), Quantity("", unit, **limits).range, default, unit=unit, **bounds)  # type: ignore[arg-type]


_BOUNDS = {"above": "gt", "low": "ge", "high": "le"}


def whole(meaning: str, default: Any = ...) -> Any:
    """A key that holds a whole number from 1."""
    return key(meaning, "a whole number from 1", default, ge=1)


# Ours: a title or a source of more signs is no line.
TITLE_LENGTH = 1000


def text(meaning: str) -> Any:
    """A key that holds one line of printable text: no control character reaches a terminal."""
    allowed = f"one line of printable text, at most {TITLE_LENGTH} signs"
    return key(meaning, allowed, "", pattern=r"^\P{C}*$", max_length=TITLE_LENGTH)


def choice(meaning: str, words: tuple[str, ...], default: Any = ..., otherwise: str = "") -> Any:
    """A key that holds one of a few words, or something else."""
    *most, last = [f'"{word}"' for word in words] + ([otherwise] if otherwise else [])
    return key(meaning, f"{', '.join(most)} or {last}", default, words)


class Table(BaseModel):
    """A table of a case: no unknown keys, no conversion but of units, no inf or nan."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _convert(cls, value: Any, info: ValidationInfo) -> Any:
        told = told_of(cls, str(info.field_name))
        if isinstance(value, str) and told["unit"] is not None and value not in told["choices"]:
            return in_si(value, told["unit"])
        return value


def told_of(model: type[BaseModel], name: str) -> dict[str, Any]:
    """What `key` was told of a key, with its meaning."""
    field: Any = model.model_fields[name]
    return {**field.json_schema_extra, "meaning": field.description}


# ---------------------------------------------------------------------------------------------------------------------
# The tables


class MaterialTable(Table):
    """Elastic and plastic constants of a bead or wall."""

    youngs_modulus: float = number("Pa", "Young's modulus", above=0.0)
    # An isotropic solid is stable up to 1/2; a pair of bodies asks for more than 0.
    poissons_ratio: float = number("1", "Poisson's ratio", above=0.0, high=0.5)
    density: float | None = number("kg/m^3", "the density", None, above=0.0)
    yield_stress: float | None = number("Pa", "the yield stress", None, above=0.0)
    hardness: float | None = number("Pa", "the indentation hardness", None, above=0.0)
    source: str = text("where the values come from")

    def material(self) -> Material:
        """The same, as the physics knows it."""
        return Material(**dict(self))


def _expanded(value: Any) -> Any:
    if isinstance(value, str):
        if value not in MATERIALS:
            raise ValueError(suggestion(value, MATERIALS, "give one of these names, or a table of constants"))
        value = MATERIALS[value]
    return asdict(value) if isinstance(value, Material) else value


if TYPE_CHECKING:
    MaterialKey = Material
else:
    MaterialKey = Annotated[MaterialTable, BeforeValidator(_expanded), AfterValidator(MaterialTable.material)]


def material_of(what: str) -> Any:
    """A key that holds a material: a name, or a table."""
    return choice(f"the material of {what}", tuple(MATERIALS), None, "a table { youngs_modulus = ..., poissons_ratio = ..., ... }")


class SegmentTable(Table):
    """A run of equal beads. Segments follow one another; one with `repeat` ends a group, which comes that many times in all."""

    count: int = whole("the number of beads that follow one another")
    radius: float | None = number("m", "the radius of these beads", None, above=0.0)
    mass: float | None = number("kg", "the mass of each of these beads", None, above=0.0)
    material: MaterialKey | None = material_of("these beads")
    gap: float | None = number("m", "the free distance after each of these beads", None, low=0.0)
    repeat: int | None = whole("how many times the group of segments that ends here comes", None)


class ChainTable(Table):
    """The row of beads: equal ones, or segments, which take from here what they do not say."""

    beads: int | None = whole("the number of beads", None)
    radius: float | None = number("m", "the radius of a bead", None, above=0.0)
    mass: float | None = number("kg", "the mass of a bead", None, above=0.0)
    material: MaterialKey | None = material_of("the beads")
    gap: float = number("m", "the free distance between neighbours", 0.0, low=0.0)
    precompression: float = number("N", "the constant force that presses the chain together", 0.0, low=0.0)
    gravity: float = number("m/s^2", "the acceleration along the chain, towards its right end", 0.0, low=0.0)
    segment: tuple[SegmentTable, ...] = key("the runs of equal beads", "tables [[chain.segment]]", (), strict=False)

    def groups(self) -> list[tuple[int, list[SegmentTable]]]:
        """Segments that are repeated together, with how often; a uniform chain is one segment."""
        if not self.segment:
            return [(1, [SegmentTable(count=self.beads or 1)])]
        groups: list[tuple[int, list[SegmentTable]]] = []
        group: list[SegmentTable] = []
        for segment in self.segment:
            group.append(segment)
            if segment.repeat is not None:
                groups.append((segment.repeat, group))
                group = []
        return groups + ([(1, group)] if group else [])

    def total(self) -> int:
        """Number of beads."""
        return sum(repeat * sum(segment.count for segment in group) for repeat, group in self.groups())

    def places(self) -> list[tuple[str, SegmentTable]]:
        """The segments with the keys they stand under."""
        segments = [segment for _, group in self.groups() for segment in group]
        return [(f"chain.segment.{i}" if self.segment else "chain", segment) for i, segment in enumerate(segments)]

    def gap_after(self, segment: SegmentTable) -> float:
        """Free distance after each bead of a segment [m]."""
        return self.gap if segment.gap is None else segment.gap


class StrikerTable(Table):
    """A body that strikes bead 1; like that bead unless it says otherwise."""

    speed: float = number("m/s", "the speed towards the chain", above=0.0)
    radius: float | None = number("m", "the radius of the striker", None, above=0.0)
    mass: float | None = number("kg", "the mass of the striker", None, above=0.0)
    material: MaterialKey | None = material_of("the striker")


class Body(NamedTuple):
    """Radius [m], mass [kg] and material of one body; None where a case does not say."""

    radius: Any
    mass: Any
    material: Any


def body(own: SegmentTable | StrikerTable, like: ChainTable | Body) -> Body:
    """A body: what it says, else what the one it is like says; another size or material takes its mass from the density."""
    radius = like.radius if own.radius is None else own.radius
    material = like.material if own.material is None else own.material
    mass = own.mass
    if mass is None and own.radius is None and own.material is None:
        mass = like.mass
    if mass is None and radius is not None and material is not None and material.density is not None:
        mass = material.density * (4.0 / 3.0 * math.pi * (radius * radius * radius))
    return Body(radius, mass, material)


class DriveTable(Table):
    """An end that follows a table: a wall's displacement, or a force on the end body; positive is into the chain."""

    drive: Literal["displacement", "force"] = choice("what is prescribed", ("displacement", "force"))
    file: str | None = key("a file of two columns, time [s] and displacement [m] or force [N]", "the name of a CSV file", None)
    time: tuple[float, ...] | None = key("the times [s]", "a list of finite numbers", None, strict=False)
    value: tuple[float, ...] | None = key("the displacements [m] or forces [N]", "a list of finite numbers", None, strict=False)


EndKey = Annotated[
    Annotated[Literal["free", "wall", "rigid"], Tag("word")] | Annotated[DriveTable, Tag("table")],
    Discriminator(lambda value: "table" if isinstance(value, (Mapping, DriveTable)) else "word"),
]
_END = (("free", "wall", "rigid"), "free", 'a table { drive = "displacement" or "force", file = "table.csv" }')


class EndsTable(Table):
    """What stands at the two ends."""

    left: EndKey = choice("the left end", *_END)
    right: EndKey = choice("the right end", *_END)
    left_material: MaterialKey | None = material_of("the left wall")
    right_material: MaterialKey | None = material_of("the right wall")

    def has_wall(self, side: str) -> bool:
        """Whether a wall, fixed or driven, touches the chain there."""
        end = getattr(self, side)
        return end.drive == "displacement" if isinstance(end, DriveTable) else end != "free"


class ContactTable(Table):
    """The contact law and its inputs, which the law itself declares."""

    model_config = ConfigDict(extra="allow")

    law: str = key("the name of the contact law", 'a name that "granchain laws" lists')


class SensorsTable(Table):
    """What is recorded at every sample."""

    beads: tuple[int, ...] = key("the beads with a sensor", "a list of bead numbers", (), strict=False)
    contacts: tuple[int, ...] = key("the contacts to record", "a list of contact numbers", (), strict=False)
    interval: float = number("s", "the time between samples", 2e-7, above=0.0)


class SnapshotsTable(Table):
    """Displacement and velocity of every body."""

    interval: float = number("s", "the time between snapshots", above=0.0)


class EnergyTable(Table):
    """The energy ledger."""

    ledger: bool = key("true to keep the ledger, false for the bare loop", "true or false", True)
    interval: float | None = number("s", "the time between its entries", None, above=0.0)
    bound: float = number("1", "the largest residual as a fraction of the energy put in", 1e-2, above=0.0)


class TimeTable(Table):
    """How long, and in which steps."""

    end: float = number("s", "the end of the run", above=0.0)
    step: Literal["auto", "fast"] | Annotated[float, Field(gt=0.0)] = key(
        "the time step [s]", '"auto" or "fast" or a number above 0', "auto", ("auto", "fast"), unit="s"
    )
    force_step: bool = key("true to take a step above the stability limit all the same", "true or false", False)


class Heading(Table):
    """What stands above the tables."""

    title: str = text("a line that says what the case is")


TABLES: dict[str, type[Table]] = {
    "chain": ChainTable,
    "striker": StrikerTable,
    "ends": EndsTable,
    "contact": ContactTable,
    "sensors": SensorsTable,
    "snapshots": SnapshotsTable,
    "energy": EnergyTable,
    "time": TimeTable,
}


# ---------------------------------------------------------------------------------------------------------------------
# Key by key


def read_table(model: type[Table], where: str, value: Any, problems: Problems) -> Any:
    """A table, or what is left of it without its faulty keys; None where that is not a table."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        faults = error.errors(include_url=False)
    for fault in faults:
        _tell(model, where, fault, problems)
    if not isinstance(value, Mapping):
        return None
    faulty = {fault["loc"][0] for fault in faults if fault["loc"]}
    try:
        return model.model_validate({name: part for name, part in value.items() if name not in faulty})
    except ValidationError:
        return None


def tell_missing(model: type[BaseModel], name: str, where: str, problems: Problems) -> None:
    """Tell that a key is missing."""
    told = told_of(model, name)
    problems.add(where, "nothing", told["allowed"], f"give {told['meaning']}")


def _tell(model: type[BaseModel], where: str, fault: Any, problems: Problems) -> None:
    """Tell one fault that pydantic found: walk down to its key, which knows what is allowed."""
    place = [where] if where else []
    told: dict[str, Any] = {"allowed": f"a table [{where}]", "choices": [], "meaning": f"its keys under [{where}]"}
    inner: type[BaseModel] | None = model
    for part in fault["loc"]:
        if isinstance(part, int):
            place.append(str(part))
        elif inner is not None and part in inner.model_fields:
            place.append(part)
            told, model, inner = told_of(inner, part), inner, _table_in(inner.model_fields[part].annotation)
    got, advice = shown(fault["input"]), f"give {told['meaning']}"
    if fault["type"] == "extra_forbidden":
        return problems.add_unknown(".".join([*place, str(fault["loc"][-1])]), (inner or model).model_fields, "take it out")
    if fault["type"] == "missing":
        got = "nothing"
    elif fault["type"] == "value_error":
        advice = str(fault["ctx"]["error"])
    if not problems.full:
        advice = suggestion(fault["input"], told["choices"], advice)
    return problems.add(".".join(place), got, told["allowed"], advice)


def _table_in(annotation: Any) -> type[BaseModel] | None:
    """The table that a key's annotation speaks of, if any."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_table_in(part) for part in get_args(annotation))
    return next((table for table in found if table is not None), None)
