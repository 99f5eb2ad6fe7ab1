"""Keys of a TOML table: their units and limits, and the messages about errors in them.

The meaning, unit, and limits of a key are declared once. Messages, checks, and tables of the
documentation are derived from them. All errors are reported together.
"""

from __future__ import annotations

import copy
import inspect
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from granchain.contact.law import Quantity, in_unit
from granchain.errors import CaseError, error_text
from granchain.errors import suggestion as suggestion
from granchain.material import Material

# Maximum number of errors reported at once: our choice.
PROBLEMS = 100
# Maximum number of attempts to read a table without invalid keys, then without their tables: keys
# have at most five levels.
ATTEMPTS = 6


def brief(value: Any, length: int = 60) -> str:
    """Return a value as brief text for a message: on one line, and printable."""
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


class Problems:
    """The errors of one case, one message each: `location: problem. Requirement. Fix.`"""

    def __init__(self) -> None:
        self._sentences: dict[str, None] = {}
        # Keys with an error, and the tables around them, as sets, so that a check takes the same
        # time for any number of errors.
        self._places: set[str] = set()
        self._above: set[str] = set()
        self._unreadable: set[str] = set()
        self._more = 0

    def add(
        self,
        where: str,
        problem: str,
        requirement: str,
        fix: str = "",
        word: Any = None,
        choices: Iterable[str] = (),
    ) -> None:
        """Add one error.

        Parameters
        ----------
        where : str
            Key, with dots.
        problem, requirement, fix : str
            Parts of the message without a full stop, such as "-3 is out of range", "It must be 1 or
            more", "Count the beads without the striker". Omit a fix that repeats the requirement.
        word, choices : optional
            An unknown word, and the valid ones. A suggestion of a similar word replaces the fix.
        """
        self._places.add(where)
        self._above.update(above(where))
        if len(self._sentences) >= PROBLEMS:
            self._more += 1
        else:
            parts = [brief(name)[1:-1] for name in where.split(".")]
            # An empty name, or one with a colon, would hide the end of the location.
            plain = where and not (problem == "unknown key" and (":" in where or not parts[-1]))
            location = ".".join(parts) if plain else ".".join([*parts[:-1], f'"{parts[-1]}"'])
            fix = suggestion(word, choices, fix)
            self._sentences[error_text(location, problem, requirement, fix)] = None

    def check(self, good: bool, where: str, problem: str, requirement: str, fix: str = "") -> bool:
        """Add an error unless `good`; return `good`."""
        if not good:
            self.add(where, problem, requirement, fix)
        return good

    def close(self) -> None:
        """Raise all errors, if there are any."""
        if self._sentences:
            raise CaseError(self.sentences)

    def repeat(self, sentences: Iterable[str]) -> None:
        """Add complete messages."""
        self._sentences |= dict.fromkeys(sentences)

    def add_unknown(self, where: str, allowed: Iterable[str], otherwise: str = "") -> None:
        """Add an unknown key."""
        allowed = list(allowed)
        word = where.rpartition(".")[2]
        keys = f"The keys are {', '.join(allowed)}" if allowed else "There are no keys here"
        self.add(where, "unknown key", keys, otherwise or "Remove it", word, allowed)

    @property
    def sentences(self) -> list[str]:
        """All messages, in order."""
        more = f"case: {self._more} more errors are not shown. Fix these first."
        return [*self._sentences] + [more] * (self._more > 0)

    def readable(self, *places: str) -> bool:
        """Check that these keys, and the tables around them, have no errors."""
        return self._unreadable.isdisjoint(places) and all(
            self._places.isdisjoint((key, *above(key))) for key in places
        )

    def clear(self, *places: str) -> bool:
        """Check that these keys, and those above and below them, have no errors.

        A check of several keys may then use them.
        """
        return self.readable(*places) and self._above.isdisjoint(places)

    def mark(self, where: str) -> None:
        """Mark a key as unreadable, because of an error in it that was added before."""
        self._unreadable.add(where)


def check_integer(
    where: str, value: Any, problems: Problems, advice: str, least: int = 1, most: int = 2**63 - 1
) -> bool:
    """Check that a value is a whole number within limits, and add an error if it is not."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    problem = f"{brief(value)} is {'out of range' if whole else 'not a whole number'}"
    limits = f"{least} or more" if most == 2**63 - 1 else f"{least} to {most}"
    requirement = f"It must be a whole number, {limits}"
    return problems.check(whole and least <= value <= most, where, problem, requirement, advice)


def above(key: str) -> list[str]:
    """Return the tables that contain a key: chain and chain.segment for chain.segment.0."""
    parts = key.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


# --------------------------------------------------------------------------------------------------
# Numbers with a unit

_NUMBER_PATTERN = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
_UNIT_FACTOR = r"[A-Za-zµμ]+(?:\^-?[0-9](?:\.[0-9]{1,2})?)?"
WITH_UNIT = re.compile(rf"({_NUMBER_PATTERN}) ?({_UNIT_FACTOR}(?:[*/]{_UNIT_FACTOR}){{0,4}})")
# With megametres or gigaseconds, the user probably meant a small prefix.
_GIANT = re.compile(r"(?<![A-Za-zµμ])([MGTPEZY])([msg])(?![A-Za-zµμ])")


# Number with a unit, for the error message about a key whose unit is unreadable, by the unit of the
# key.
EXAMPLES = {
    "m": "2.38 mm", "s": "5 us", "kg": "3 g", "Pa": "200 GPa", "kg/m^3": "7.8 g/cm^3",
    "m/s": "30 cm/s", "N/m": "2 kN/mm", "Hz": "7 kHz", "m^2": "3 cm^2", "m/s^2": "9.81 m/s^2",
}  # fmt: skip


def in_si(text: str, unit: str) -> float:
    """Read "2.38 mm" as a number in `unit`.

    Only one number, at most one space, and up to five unit factors are passed to pint. Without this
    check, pint reads "2,38 mm" as 238 mm and computes 9**9**9.

    Raises
    ------
    ValueError
        If the text is not valid. The message describes the fix.
    """
    if unit in ("", "1"):
        raise ValueError("Write a number without quotes and without a unit")
    match = WITH_UNIT.fullmatch(text) if len(text) <= 60 else None
    if match is None:
        example = f', such as "{EXAMPLES[unit]}"' if unit in EXAMPLES else ""
        raise ValueError(f"Write a number [{unit}], or a number with its unit{example}")
    giant = _GIANT.search(match[2])
    if giant:
        raise ValueError(
            f'"{giant[0]}" means a million {giant[2]} or more. Did you mean "m{giant[2]}"?'
        )
    # In decimal, so that "2.38 mm" is the same number as 2.38e-3.
    value = float(Decimal(match[1]) * _unit_factor(match[2], unit))
    if not math.isfinite(value):
        raise ValueError(f"Write a finite number [{unit}]")
    return value


@lru_cache(maxsize=256)
def _unit_factor(text: str, unit: str) -> Decimal:
    """Return the number of `unit` in the unit of a text, by pint."""
    try:
        import pint
    except ImportError:
        raise ValueError(
            f"Write a number [{unit}], or install pint to read units: pip install "
            '"granchain[units]"'
        ) from None
    try:
        registry = pint.get_application_registry()
        factor = (
            registry.Quantity(1.0, registry.parse_units(text))
            .to(registry.parse_units(unit))
            .magnitude
        )
    except (
        pint.errors.PintError,
        TypeError,
        ValueError,
        ArithmeticError,
        AttributeError,
        LookupError,
    ):
        raise ValueError(
            f'"{text}" is not a unit of this quantity. Write a number [{unit}]'
        ) from None
    return Decimal(f"{factor:.15g}")


def key(
    meaning: str,
    allowed: str,
    default: Any = ...,
    choices: Iterable[str] = (),
    unit: str | None = None,
    **more: Any,
) -> Any:
    """Return a key with its meaning and allowed values, for messages and tables."""
    about: Any = {"allowed": allowed, "choices": list(choices), "unit": unit}
    return Field(default, description=meaning, json_schema_extra=about, **more)


def number_key(unit: str, meaning: str, default: Any = ..., **limits: float) -> Any:
    """Return a key for a number, with the limits of a `Quantity`: above, low, high."""
    names = {"above": "gt", "low": "ge", "high": "le"}
    bounds: Any = {names[name]: limit for name, limit in limits.items()}
    allowed = Quantity("", unit, **limits).range  # type: ignore[arg-type]
    return key(meaning + in_unit(unit), allowed, default, unit=unit, **bounds)


def integer_key(meaning: str, default: Any = ...) -> Any:
    """Return a key for a whole number, 1 or more."""
    return key(meaning, "a whole number, 1 or more", default, ge=1)


# Maximum length of a title or source, in characters: our choice.
TITLE_LENGTH = 1000


def text_key(meaning: str) -> Any:
    """Return a key for one line of printable text, safe to show on a terminal."""
    allowed = f"one line of printable text, at most {TITLE_LENGTH} characters"
    return key(meaning, allowed, "", pattern=r"^\P{C}*$", max_length=TITLE_LENGTH)


def choice(meaning: str, allowed: tuple[str, ...], default: Any = ..., otherwise: str = "") -> Any:
    """Return a key for one of several words, or something else."""
    *most, last = [f'"{value}"' for value in allowed] + ([otherwise] if otherwise else [])
    return key(meaning, f"{', '.join(most)} or {last}", default, allowed)


PARAMETERS_HEADING = "\nParameters\n----------"


def without_keys(table: type) -> str:
    """Return the docstring of a table without the list of its keys."""
    return inspect.cleandoc(table.__doc__ or "").partition(PARAMETERS_HEADING)[0].rstrip()


def own_names(kind: type) -> set[str]:
    """Return the public names that granchain defines in a table: keys and methods."""
    ours = [base for base in kind.__mro__ if base.__module__.startswith("granchain.")]
    names = {name for base in ours for name in (*vars(base), *base.__annotations__)}
    names -= {"model_config", "model_post_init"}
    return {name for name in names if not name.startswith("_")}


if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)


class TableClass(ModelMetaclass):
    """Metaclass of tables: `help` and tab completion list only granchain's names."""

    def __dir__(self) -> list[str]:
        return sorted(own_names(self))


class Table(BaseModel, metaclass=TableClass):
    """A table of a case: no unknown keys, no conversions except of units, no inf or nan."""

    # name of a table that is one of several forms of a key, such as "a plate"
    _kind: ClassVar[str] = ""

    def __dir__(self) -> list[str]:
        return sorted({*own_names(type(self)), *(self.model_extra or {})})

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            raise CaseError(
                f"{name}: a case is frozen. Make a changed copy with case.replace, for example "
                'case.replace({"striker.speed": 4.0}).'
            )
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        raise CaseError(
            f"{name}: a case is frozen. Make a copy without the key with case.replace, for example "
            'case.replace({"striker": None}).'
        )

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        keys = [
            f"{name}\n    {about['meaning']}; {about['allowed']}"
            for name in cls.model_fields
            if (about := declared(cls, name))
        ]
        cls.__signature__ = inspect.Signature(
            [
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)
                for name in cls.model_fields
                if not iskeyword(name)
            ]
        )
        cls.__doc__ = "\n".join([without_keys(cls), *([PARAMETERS_HEADING, *keys] if keys else [])])

    @field_validator("*", mode="before")
    @classmethod
    def _convert(cls, value: Any, info: ValidationInfo) -> Any:
        """Convert a text with a unit to a number in the unit of its key."""
        if isinstance(value, str):
            about = declared(cls, str(info.field_name))
            if about["unit"] is not None and value not in about["choices"]:
                return in_si(value, about["unit"])
        return value


def declared(model: type[BaseModel], name: str) -> dict[str, Any]:
    """Return the declaration of a key, with its meaning."""
    field: Any = model.model_fields[name]
    return {**field.json_schema_extra, "meaning": field.description}


# --------------------------------------------------------------------------------------------------
# Key by key


def read_table(model: type[Table], where: str, value: Any, problems: Problems) -> Any:
    """Return a table without its invalid keys; None if it is not a table."""
    for attempt in range(ATTEMPTS):
        try:
            return model.model_validate(value)
        except ValidationError as error:
            faults = error.errors(include_url=False)
        for fault in faults if attempt == 0 else ():
            _add_fault(model, where, fault, problems)
        value = copy.deepcopy(value)
        for table, key, path in [_innermost(value, fault["loc"]) for fault in faults]:
            table.pop(key, None)
            if attempt > 0:
                # a table without a required key
                problems.mark(f"{where}.{path}".strip("."))
    return None


def _innermost(value: Any, path: Iterable[Any]) -> tuple[dict[str, Any], str, str]:
    """Return the innermost table with a key on a path, the key, and its dotted position."""
    reached: list[str] = []
    innermost: tuple[dict[str, Any], str, str] = {}, "", ""
    for step in path:
        # the other parts of the path are names that pydantic gives to the forms of a value
        if isinstance(value, dict) and step in value:
            reached.append(step)
            innermost, value = (value, step, ".".join(reached)), value[step]
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            reached.append(str(step))
            value = value[step]
    return innermost


def add_missing(model: type[BaseModel], name: str, where: str, problems: Problems) -> None:
    """Add an error for a missing key."""
    about = declared(model, name)
    problems.add(where, "missing", give(about["meaning"], about["allowed"]))


def give(meaning: str, allowed: str) -> str:
    """Return the requirement for a missing key."""
    return f"Give {meaning}{' in' if allowed.startswith('a table [') else ':'} {allowed}"


def _add_fault(model: type[Table], where: str, fault: Any, problems: Problems) -> None:
    """Add one error that pydantic found, with the declaration of its key."""
    location = [where] if where else []
    about: dict[str, Any] = {"allowed": f"a table [{where}]", "choices": []}
    about["meaning"] = f"its keys under [{where}]"
    inner = forms = [model]
    for step in fault["loc"]:
        named = [table for table in inner if step in (table.__name__, *table.model_fields)]
        if isinstance(step, int):
            location.append(str(step))
        elif named and step in named[0].model_fields:
            model = named[0]
            location.append(step)
            about = declared(model, step)
            inner = forms = tables_in(model.model_fields[step].annotation)
        elif named:
            # the tag of one of several tables
            inner = named
    where, allowed, meaning = ".".join(location), about["allowed"], about["meaning"]
    if fault["type"] == "extra_forbidden":
        if another := _another_kind(forms, inner, fault["loc"][-1], where):
            return problems.add(f"{where}.{fault['loc'][-1]}", *another)
        way = f"Remove it, or replace {where} by {allowed}" if " or " in allowed and inner else ""
        unknown = f"{where}.{fault['loc'][-1]}" if where else str(fault["loc"][-1])
        return problems.add_unknown(unknown, (inner or [model])[0].model_fields, way)
    if fault["type"] == "missing":
        return problems.add(where, "missing", give(meaning, allowed))
    requirement = f"{meaning[:1].upper()}{meaning[1:]} must be {allowed}"
    if meaning.startswith("true "):
        requirement = "It must be true or false"
    value, choices = fault["input"], about["choices"]
    # the advice on how to write a number does not help with a wrong word
    is_word = choices and not WITH_UNIT.match(str(value) + "m")
    fix = str(fault["ctx"]["error"]) if fault["type"] == "value_error" and not is_word else ""
    if fault["type"] == "string_type" and isinstance(value, (int, float)):
        fix = "Write it in quotes"
    # a list may contain numbers with limits
    numeric = "number" in allowed or fault["type"].startswith(("greater_than", "less_than"))
    return problems.add(where, rejected(value, numeric), requirement, fix, value, choices)


def _another_kind(
    forms: Sequence[type[Table]], inner: Sequence[type[Table]], name: Any, where: str
) -> tuple[str, str, str] | None:
    """Return the parts of the error of a key that belongs to another form of a table."""
    others = [form for form in forms if name in form.model_fields and form not in inner]
    if not (others and inner[0]._kind):
        return None
    required = [key for key, field in others[0].model_fields.items() if field.is_required()]
    return (
        f"{where} is {inner[0]._kind}, but this is a key of {others[0]._kind}",
        f"The keys are {', '.join(inner[0].model_fields)}",
        "Remove it, or replace the whole table: "
        f"{where} = {{ {', '.join(dict.fromkeys([*required, name]))} }}",
    )


def rejected(value: Any, numeric: bool = True) -> str:
    """Describe an invalid value of a key, which may be numeric, as the problem of an error."""
    if value is None:
        return "missing"
    outside = numeric and isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"{brief(value)} is {'out of range' if outside else 'not valid'}"


def tables_in(annotation: Any) -> list[type[Table]]:
    """Return the tables in the annotation of a key."""
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return [annotation]
    return [table for argument in get_args(annotation) for table in tables_in(argument)]


def table_in(annotation: Any, name: str = "") -> type[Table] | None:
    """Return the table in the annotation of a key, if any: the first one that has a key `name`."""
    tables = tables_in(annotation)
    named = [table for table in tables if name in table.model_fields]
    return next(iter(named or tables), None)
