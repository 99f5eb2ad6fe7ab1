"""Declaration of a contact law, which is checked when the class is created.

A law declares data (name, source, inputs, coefficients, history) and small pure functions of
scalars that read like the equation in its source. granchain derives everything else from the class:
the compiled time loop, the keys of a case file, the tables of the documentation, the metadata of
the output file, and the generic tests.

Signs: positive overlap is contact, positive rate is approach, positive force is repulsive. All
units are SI units.
"""

from __future__ import annotations

import ast
import inspect
import math
import sys
import textwrap
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from granchain.contact.model import Functions, Model, reads_rate
from granchain.errors import GranchainError, LawError

# Overlaps up to this value are open contact [m]. It is far below any meaningful length (an atom is
# 1e-10 m), and so far above the smallest normal double (2.2e-308) that its powers in the laws stay
# normal, because denormal numbers are slow.
OPEN = 1e-60

# Contact states, in the order of their numbers in results: 0 is open.
PHASES = ("open", "elastic", "elastoplastic", "plastic", "unloading", "reloading")

# Marker for "no default": the case must give a value.
REQUIRED: Any = object()


@dataclass(frozen=True)
class Source:
    """Publication of an equation.

    Parameters
    ----------
    text : str
        Author and year.
    equation : str
        Number of the equation, table, or section in the publication.
    doi : str
        Digital object identifier. Default: empty, if the publication has none.
    """

    text: str
    equation: str = ""
    doi: str = ""

    def __str__(self) -> str:
        return ", ".join(
            part for part in (self.text, self.equation, self.doi and f"doi:{self.doi}") if part
        )


@dataclass(frozen=True)
class Quantity:
    """Quantity of a law: an input of the case, a coefficient, or a history quantity.

    Parameters
    ----------
    name : str
        Name in TOML, HDF5, command line, and Python.
    unit : str
        SI unit; "1" for a pure number, "" for a word or a switch.
    meaning : str
        Description for tables, in one line.
    above, below : float, optional
        Exclusive limits.
    low, high : float, optional
        Inclusive limits.
    default : object
        Value if the case gives none; REQUIRED if the case must give a value.
    choices : tuple of str
        Words that are allowed instead of a number.
    kind : {"number", "word", "switch"}
        Kind of value that the case may give.
    output : bool
        Whether the output file contains this history quantity of each contact.
    """

    name: str
    unit: str
    meaning: str = ""
    above: float | None = None
    below: float | None = None
    low: float | None = None
    high: float | None = None
    default: Any = REQUIRED
    choices: tuple[str, ...] = ()
    kind: str = "number"
    output: bool = False

    @property
    def required(self) -> bool:
        """True if the case must give a value."""
        return self.default is REQUIRED

    @property
    def range(self) -> str:
        """Description of the allowed values."""
        if self.kind == "switch":
            return "true or false"
        words = ", ".join(f'"{word}"' for word in self.choices)
        if self.kind == "word":
            return words
        ends = (
            ("above", self.above),
            ("at least", self.low),
            ("below", self.below),
            ("at most", self.high),
        )
        limits = " and ".join(f"{word} {limit:g}" for word, limit in ends if limit is not None)
        return " or ".join(text for text in (f"a number {limits}".rstrip(), words) if text)

    @property
    def requirement(self) -> str:
        """Requirement of an error message, with the allowed values."""
        return f"It must be {'one of ' * (self.kind == 'word')}{self.range}"

    def problem(self, value: Any) -> str | None:
        """Return problem and requirement of a value; None if the value is allowed."""
        if self.kind == "switch":
            allowed = isinstance(value, bool)
        elif isinstance(value, str):
            allowed = value in self.choices
        elif self.kind == "word" or isinstance(value, bool) or not isinstance(value, (int, float)):
            allowed = False
        else:
            allowed = (
                math.isfinite(value)
                and (self.above is None or value > self.above)
                and (self.low is None or value >= self.low)
                and (self.below is None or value < self.below)
                and (self.high is None or value <= self.high)
            )
        return None if allowed else f"{not_valid(value)}. {self.requirement}."


def in_unit(unit: str) -> str:
    """Return a unit for the end of a description; empty for a pure number or a word."""
    return "" if unit in ("", "1") else f" [{unit}]"


def not_valid(value: Any) -> str:
    """Describe a value that is not allowed, as the problem of an error."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    text = f'"{value}"' if isinstance(value, str) else repr(value)
    return f"{text} is {'out of range' if number else 'not valid'}"


def positive(name: str, unit: str, meaning: str = "", **more: Any) -> Quantity:
    """Return a quantity that must be greater than zero."""
    return Quantity(name, unit, meaning, above=0.0, **more)


def checked(quantity: Quantity, values: Any) -> Any:
    """Return a number or an array unchanged if it is within the range of a quantity.

    Raises
    ------
    LawError
        If a value is out of range.
    """
    # Ranges are intervals, so it is enough to check the smallest and the largest value.
    for value in (float(np.min(values)), float(np.max(values))):
        problem = quantity.problem(value)
        if problem:
            raise LawError(f"{quantity.name}: {problem}")
    return values


# "Research progress of contact force models in the collision mechanics of multibody system": many
# laws are from its tables.
REVIEW = "Wang et al. 2022, review of contact force models"

# Inputs that many laws share.
RESTITUTION = Quantity(
    "restitution", "1", "nominal coefficient of restitution", above=0.0, high=1.0
)
DAMPING = Quantity(
    "damping",
    "",
    "damping as published, or identified so that an impact has the nominal restitution",
    default="published",
    choices=("published", "identified"),
    kind="word",
)
AS_PRINTED = Quantity(
    "as_printed",
    "",
    "true to use the law as published, without the energy correction",
    default=False,
    kind="switch",
)
SEPARATION = Quantity(
    "separation",
    "",
    "end of a contact: with a no-tension cutoff, or with tension until the overlap is zero",
    default="clamped",
    choices=("clamped", "tensile"),
    kind="word",
)
IMPACT_SPEED = Quantity(
    "impact_speed",
    "m/s",
    "approach speed in the damping term: the speed of the striker, a number, or the speed of each "
    "contact at its onset",
    above=0.0,
    default="striker",
    choices=("striker", "onset"),
)
IMPACT_SPEED_FLOOR = positive(
    "impact_speed_floor",
    "m/s",
    "minimum speed in the damping term",
    default=None,
)
STIFFNESS = positive(
    "stiffness", "N/m^n", "contact stiffness; default: (4/3) E sqrt(R)", default=None
)
DENTS = Quantity(
    "dents",
    "",
    "whether a contact keeps its residual indentation; otherwise it loses it when the overlap "
    "reaches zero, not when the force reaches zero",
    default="keep",
    choices=("keep", "forget"),
    kind="word",
)

# Parameters of the branches of Ma-Liu, shared with the laws that use its stiffness.
PSI = positive(
    "psi",
    "1",
    "ratio of the mean contact pressure at full plasticity to the yield stress: k1 = 2 pi R psi "
    "s_y",
)
# d_p = xi^2 d_y/2 must exceed d_y, so that the logarithm of xi^2/2 is positive: xi > sqrt(2).
XI = Quantity(
    "xi", "1", "ratio in the onset of full plasticity, d_p = xi^2 d_y/2", above=math.sqrt(2.0)
)

# Number of speeds per contact at which a dashpot with the restitution of another law stores its
# damping factor. Cubic interpolation in ln v between them is accurate to 1e-6 of the factor over
# three decades of speed.
SPEED_NODES = 33

# Coefficient of laws that may pull: 0 (clamped) or -inf (tensile).
LOWEST_FORCE = Quantity(
    "lowest_force", "N", "0 if the force is clamped, -inf if the contact may pull"
)

REGISTRY: dict[str, type[ContactLaw]] = {}


class ContactLaw:
    """Base of all contact laws: the declaration of a law and the functions that the engine calls.

    A subclass that sets `name` is registered under this name. All functions are static and pure.
    The arguments `c` and `h` are tuples of floats in the order of `coefficients` and `history`;
    `event` is (overlap, rate, onset_rate, onset_fraction).

    Attributes
    ----------
    name : str
        Name of the law in a case.
    source : Source
        Publication of the equation.
    inputs : tuple of Quantity
        Inputs that a case may give, with units and limits.
    coefficients, history : tuple of Quantity
        Quantities of each contact: constants during a run, and variables that record its past.
    uses_rate : bool
        Whether the force depends on the rate. Detected from `force`; you need not set it.
    forgets : bool
        Whether a contact loses its history when it opens. The energy balance then stores its
        losses.
    onset_jump : bool
        Whether the force jumps when a contact closes at a nonzero speed. Such a law has an onset
        weight of power 0.
    order : int
        Order in time of the scheme with this law: 1 if the force jumps at an overlap that `jumps`
        does not return, otherwise 2.
    phases : tuple of str
        Contact states that occur. Determined from the example inputs; you need not set it.
    fixed_units : bool
        Whether the constants of the source are valid in its units only, so that the force does not
        scale with the metre, the kilogram, and the second.
    examples : dict
        Inputs by name for the verification report. Needed if units and ranges suggest no consistent
        set.
    validity, status : str
        Range of validity, and comparisons made so far, for the page of the law.
    """

    name: ClassVar[str] = ""
    source: ClassVar[Source]
    inputs: ClassVar[tuple[Quantity, ...]] = ()
    coefficients: ClassVar[tuple[Quantity, ...]] = ()
    history: ClassVar[tuple[Quantity, ...]] = ()
    uses_rate: ClassVar[bool] = False
    forgets: ClassVar[bool] = False
    onset_jump: ClassVar[bool] = False
    order: ClassVar[int] = 2
    phases: ClassVar[tuple[str, ...]] = PHASES[:2]
    fixed_units: ClassVar[bool] = False
    examples: ClassVar[dict[str, Any]] = {}
    validity: ClassVar[str] = ""
    status: ClassVar[str] = "not validated against experiment"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.uses_rate = cls.uses_rate or reads_rate(cls.force)
        if "name" in cls.__dict__:
            check_law(cls)
            first = REGISTRY.setdefault(cls.name, cls)
            if (first.__module__, first.__qualname__) != (cls.__module__, cls.__qualname__):
                raise LawError(
                    f'contact law {cls.__qualname__}: name: "{cls.name}" already exists. It is '
                    f"the name of {first.__module__}.{first.__qualname__}. Choose another name."
                )
            REGISTRY[cls.name] = cls

    @classmethod
    def model(cls, inputs: SimpleNamespace) -> Model:
        """Return the model for these inputs; by default, the declarations of the class."""
        return Model(
            law=cls,
            functions=cls.functions(),
            coefficients=cls.coefficients,
            history=cls.history,
            uses_rate=cls.uses_rate,
            forgets=cls.forgets,
            onset_jump=cls.onset_jump,
            jumps_inside=cls.jumps is not ContactLaw.jumps,
            kinks=cls.jumps is not ContactLaw.jumps and cls.jump is ContactLaw.jump,
            loses=cls.plastic is not ContactLaw.plastic,
            evolves=cls.evolve is not ContactLaw.evolve,
        )

    @staticmethod
    def coefficients_of(pair: Any, inputs: SimpleNamespace) -> tuple[Any, ...]:
        """Return the coefficients of each contact: numbers or (n_contacts,) arrays."""
        return ()

    @staticmethod
    def history_of(c: tuple) -> tuple:
        """Return the initial values of the history."""
        return ()

    @staticmethod
    def force(overlap: float, rate: float, c: tuple, h: tuple) -> float:
        """Return the contact force [N]; exactly 0.0 for an open contact."""
        raise NotImplementedError

    @staticmethod
    def needs_update(overlap: float, rate: float, c: tuple, h: tuple) -> bool:
        """Check if the history of this contact must be updated."""
        return False

    @staticmethod
    def update(event: tuple, c: tuple, h: tuple) -> tuple:
        """Return the history after the event; `force` is correct again with it."""
        return h

    @staticmethod
    def evolve(dt: float, before: float, overlap: float, c: tuple, h: tuple) -> tuple[tuple, float]:
        """Return the history after a step, and the energy that it has dissipated in the step [J].

        For laws whose history relaxes in time. The overlap has changed from `before` to `overlap`
        [m] within `dt` [s], which is 0 before the first step and infinite for a contact at rest.
        The loop calls this function for every contact, closed or open, before `needs_update` and
        `force`. A fresh, open contact must not change.
        """
        return h, 0.0

    @staticmethod
    def energy(overlap: float, c: tuple, h: tuple) -> float:
        """Return the recoverable energy of the contact [J]."""
        raise NotImplementedError

    @staticmethod
    def plastic(c: tuple, h: tuple) -> float:
        """Return the energy that the history has permanently lost [J], in closed form."""
        return 0.0

    @staticmethod
    def overlap_limit(c: tuple) -> float:
        """Return the overlap [m] beyond which the law has no force."""
        return math.inf

    @staticmethod
    def contact_radius(overlap: float, radius: float, c: tuple, h: tuple) -> float:
        """Return the radius [m] of the contact circle of two spheres.

        The spheres are at their largest overlap; `radius` is the effective radius [m]. The loop
        does not call this function: impacts and runs evaluate it afterwards, for laws that define
        it. Do not define it if the source of the law gives no such radius.
        """
        return math.nan

    @staticmethod
    def plastic_overlap(c: tuple) -> float:
        """Return the overlap [m] above which a virgin contact is fully plastic.

        The loop does not call this function: runs evaluate it afterwards, for laws with residual
        indentation. Do not define it for a law without full plasticity.
        """
        return math.inf

    @staticmethod
    def jumps(c: tuple) -> tuple:
        """Return overlaps [m] of jumps of the force, and of kinks where it may peak.

        In the step that crosses a jump, the kick uses an intermediate force, so that the order
        stays two. Peaks are those on both sides of the jump.
        """
        return ()

    @staticmethod
    def jump(overlap: float, rate: float, c: tuple, h: tuple) -> float:
        """Return the jump of the force [N] for this history at one of these overlaps.

        The contact closes through the overlap. The result is 0 for kinks.
        """
        return 0.0

    @classmethod
    def functions(cls) -> Functions:
        """Return the functions that the engine calls, as defined now."""
        return Functions(*(getattr(cls, name) for name in Functions._fields))

    @classmethod
    def has_contact_radius(cls) -> bool:
        """Check if the law defines the radius of the contact circle."""
        return cls.contact_radius is not ContactLaw.contact_radius

    @classmethod
    def has_full_plasticity(cls) -> bool:
        """Check if the law defines the overlap of full plasticity."""
        return cls.plastic_overlap is not ContactLaw.plastic_overlap

    @classmethod
    def has_jumps(cls) -> bool:
        """Check if the force has a jump or kink at the onset or inside a contact.

        A parabola through samples then gives no peak.
        """
        return cls.onset_jump or cls.jumps is not ContactLaw.jumps

    @classmethod
    def summary(cls) -> str:
        """Return the first paragraph of the docstring in one line, for tables."""
        return " ".join(docstring_of(cls).strip().split("\n\n")[0].split())


def docstring_of(item: type | ModuleType) -> str:
    """Return the docstring of a class or module; empty if there is none.

    If PYTHONOPTIMIZE=2 has removed it, it is read from the source file.
    """
    if item.__doc__ or sys.flags.optimize < 2:
        return item.__doc__ or ""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(item)))
    except (OSError, TypeError, SyntaxError):
        return ""
    node = tree if isinstance(item, ModuleType) else tree.body[0]
    return ast.get_docstring(node, clean=False) or ""  # type: ignore[arg-type]


def check_law(cls: type[ContactLaw]) -> None:
    """Check that a law is well formed.

    Raises
    ------
    LawError
        If a problem is found. The message lists all problems.
    """
    name, groups = cls.name, {}
    for group in ("inputs", "coefficients", "history"):
        declared = getattr(cls, group)
        valid = isinstance(declared, tuple) and all(isinstance(q, Quantity) for q in declared)
        groups[group] = [quantity.name for quantity in declared] if valid else None
    functions = (*Functions._fields, "contact_radius", "plastic_overlap")
    wrong: list[tuple[object, str]] = [
        (
            not isinstance(name, str) or not name or name != name.lower() or " " in name,
            f"name: {name!r} is not valid. It must be lower-case words joined by hyphens.",
        ),
        (
            not isinstance(getattr(cls, "source", None), Source),
            "source: missing. A law needs a Source. Set source = Source(author and year, "
            "equation, doi).",
        ),
        (
            # PYTHONOPTIMIZE=2 removes docstrings; they are only text for readers.
            sys.flags.optimize < 2 and not (cls.__doc__ or "").strip(),
            "docstring: missing. A law needs a description. Tables print its first line.",
        ),
        *(
            (
                names is None,
                f"{group}: {type(getattr(cls, group)).__name__} is not valid. It must be a tuple "
                "of Quantity. Check the commas.",
            )
            for group, names in groups.items()
        ),
        *(
            (
                names.count(twice) > 1,
                f"{group}: {twice} is repeated. Each name may occur once.",
            )
            for group, names in groups.items()
            if names is not None
            for twice in sorted(set(names))
        ),
        *(
            (
                both in (groups["history"] or ()),
                f"inputs: {both} is also a history quantity. The names must differ, because a "
                "result has both. Rename one of them.",
            )
            for both in groups["inputs"] or ()
        ),
        (
            cls.onset_jump and ONSET_HISTORY[0].name not in (groups["history"] or ()),
            "onset_jump: the onset weight is missing. A law whose force jumps at the onset needs "
            "it. Begin its history with ONSET_HISTORY, as KelvinVoigt does.",
        ),
        *(
            (
                not isinstance(inspect.getattr_static(cls, function), staticmethod),
                f"{function}: not a static method. It must be a pure function of its arguments. "
                "Write @staticmethod above it.",
            )
            for function in functions
        ),
        *(
            (
                getattr(cls, function) is getattr(ContactLaw, function),
                f"{function}: missing. A law must define this function.",
            )
            for function in ("force", "energy")
        ),
    ]
    problems = [sentence for is_wrong, sentence in wrong if is_wrong]
    if not problems:
        # Imported here, because the reports need the declarations of this module.
        from granchain.contact.certified import entry_of

        entry = entry_of(cls) or {}
        occurring = tuple(entry.get("phases") or states_that_occur(cls))
        if "phases" in cls.__dict__ and set(cls.phases) != set(occurring):
            problems = [
                f"phases: {', '.join(cls.phases)} not valid. They must be {', '.join(occurring)}, "
                "the contact states that occur at the example inputs. Leave phases out."
            ]
        cls.phases = occurring
    if problems:
        raise LawError(
            "\n".join(f"contact law {cls.__qualname__}: {problem}" for problem in problems)
        )


def states_that_occur(law: type[ContactLaw]) -> tuple[str, ...]:
    """Return the states that a contact passes when it is loaded slowly, unloaded, and reloaded.

    The pair and the inputs are the examples. All states are returned if they do not suit the law.
    """
    names = [quantity.name for quantity in law.history]
    if not {"elastic_limit", "residual_overlap"} <= set(names):
        return ContactLaw.phases
    # Imported here, because the examples need the declarations of this module.
    from granchain.contact.examples import example_inputs, example_pair

    try:
        inputs = example_inputs(law)
        model = law.model(inputs)
        values = [float(value) for value in law.coefficients_of(example_pair(), inputs)]
        c = (*values, *[0.0] * model.windows)
        fresh = model.functions.history_of(c)[names.index("elastic_limit")]
        full = law.plastic_overlap(c)
    except (ArithmeticError, ValueError, GranchainError):
        return PHASES
    occurs = {"elastic": fresh > OPEN, "elastoplastic": full > fresh, "plastic": full < math.inf}
    return tuple(state for state in PHASES if occurs.get(state, True))


def reinstate(registered: dict[str, type[ContactLaw]]) -> None:
    """Restore the registry to these laws, as before a file that failed."""
    REGISTRY.clear()
    REGISTRY.update(registered)


# A law with an onset weight (`contact/onset.py`) has these two history quantities; the engine finds
# them by name. The kick uses the weighted force, and a sensor records it with weight 1.
ONSET_HISTORY = (
    Quantity(
        "onset_weight", "1", "weight of the damping force: 1 except at the first step of a contact"
    ),
    Quantity("closed", "1", "1 while the contact is closed, 0 while it is open"),
)
