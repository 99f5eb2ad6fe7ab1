"""What a contact law declares; checked when the class is made.

A law is data first (name, source, inputs, coefficients, history), then small pure functions of scalars that read like the
equation in its source. Everything else - the compiled time loop, the case-file keys, the tables of the documentation, the
metadata of the output file, the generic tests - is derived from the class.

Sign: positive overlap is contact, positive rate is approach, positive force is repulsive. SI units.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from granchain.contact import elementary
from granchain.errors import LawError

# Overlaps up to this are open contact, in metres: far below any length that means something (an atom is 1e-10 m), and far
# enough above the smallest normal float (2.2e-308) that its powers in the laws stay normal numbers: no slow denormals.
OPEN = 1e-60

# Sentinel for "no default: the case must say".
REQUIRED: Any = object()


@dataclass(frozen=True)
class Source:
    """Where an equation was published.

    Parameters
    ----------
    text : str
        Author and year.
    equation : str
        Number of the equation, table or section in the source.
    doi : str
        Digital object identifier; empty where there is none.
    """

    text: str
    equation: str = ""
    doi: str = ""

    def __str__(self) -> str:
        parts = [self.text]
        if self.equation:
            parts.append(self.equation)
        if self.doi:
            parts.append(f"doi:{self.doi}")
        return ", ".join(parts)


@dataclass(frozen=True)
class Quantity:
    """One named number of a law: an input of the case, a coefficient or a history quantity.

    Parameters
    ----------
    name : str
        The field's word for it, the same in TOML, HDF5, command line and Python.
    unit : str
        SI unit, "1" for a pure number, "" for a word or a switch.
    meaning : str
        One line for tables.
    above, below : float, optional
        Open limits.
    low, high : float, optional
        Closed limits.
    default : object
        Value when the case does not say; REQUIRED when it must.
    choices : tuple of str
        Words that are allowed instead of a number.
    kind : {"number", "word", "switch"}
        What the case may give.
    output : bool
        For history: written to the output file, per contact.
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
        """True where the case must give it."""
        return self.default is REQUIRED

    @property
    def range(self) -> str:
        """The allowed values in words."""
        if self.kind == "switch":
            return "true or false"
        parts = []
        if self.kind == "number":
            if self.above is not None:
                parts.append(f"above {self.above:g}")
            if self.low is not None:
                parts.append(f"at least {self.low:g}")
            if self.below is not None:
                parts.append(f"below {self.below:g}")
            if self.high is not None:
                parts.append(f"at most {self.high:g}")
            text = "a number" + (" " + " and ".join(parts) if parts else "")
        else:
            text = ""
        words = ", ".join(f'"{word}"' for word in self.choices)
        return " or ".join(part for part in (text, words) if part)

    def problem(self, value: Any) -> str | None:
        """Say what is wrong with a value; None where it is allowed."""
        if self.kind == "switch":
            return None if isinstance(value, bool) else f"got {value!r}, allowed: {self.range}"
        if isinstance(value, str):
            return None if value in self.choices else f'got "{value}", allowed: {self.range}'
        if self.kind == "word" or isinstance(value, bool) or not isinstance(value, (int, float)):
            return f"got {value!r}, allowed: {self.range}"
        if (
            not math.isfinite(value)
            or (self.above is not None and not value > self.above)
            or (self.low is not None and not value >= self.low)
            or (self.below is not None and not value < self.below)
            or (self.high is not None and not value <= self.high)
        ):
            return f"got {value!r}, allowed: {self.range}"
        return None


def positive(name: str, unit: str, meaning: str = "", **more: Any) -> Quantity:
    """A quantity that must be greater than zero."""
    return Quantity(name, unit, meaning, above=0.0, **more)


def checked(quantity: Quantity, values: Any) -> Any:
    """A number, or an array of them, as it came.

    Raises
    ------
    LawError
        Where one is out of the quantity's range.
    """
    # the ranges are intervals: the ends of an array stand for it
    for value in (float(np.min(values)), float(np.max(values))):
        problem = quantity.problem(value)
        if problem:
            raise LawError(f"{quantity.name}: {problem}")
    return values


# Inputs that many laws share, under one name each.
RESTITUTION = Quantity("restitution", "1", "asked coefficient of restitution", above=0.0, high=1.0)
DAMPING = Quantity(
    "damping",
    "",
    "damping as its source has it, or identified so that an impact delivers the asked restitution",
    default="published",
    choices=("published", "identified"),
    kind="word",
)
AS_PRINTED = Quantity("as_printed", "", "the law as its source prints it, without the energy guard", default=False, kind="switch")
SEPARATION = Quantity(
    "separation",
    "",
    "how a contact ends: force clamped at zero, or allowed to pull until the overlap is zero",
    default="clamped",
    choices=("clamped", "tensile"),
    kind="word",
)
IMPACT_SPEED = Quantity(
    "impact_speed",
    "m/s",
    "approach speed in the damping term: the striker's, a number, or each contact's own at its onset",
    above=0.0,
    default="striker",
    choices=("striker", "onset"),
)
IMPACT_SPEED_FLOOR = positive("impact_speed_floor", "m/s", "smallest speed that an onset may put into the damping term", default=None)
STIFFNESS = positive("stiffness", "N/m^n", "contact stiffness; default (4/3) E sqrt(R)", default=None)
DENTS = Quantity(
    "dents",
    "",
    "whether a contact keeps its dent after it has opened",
    default="keep",
    choices=("keep", "forget"),
    kind="word",
)

# What the branches of Ma-Liu are made of, shared with the laws that take its stiffness over.
PSI = positive("psi", "1", "mean contact pressure of full plasticity over the yield stress: k1 = 2 pi R psi s_y")
# d_p = xi^2 d_y/2 must exceed d_y, so that the logarithm of xi^2/2 is positive: xi > sqrt(2).
XI = Quantity("xi", "1", "full plasticity begins at d_p = xi^2 d_y/2", above=math.sqrt(2.0))

# Speeds at which a dashpot that takes its restitution from another law holds its damping factor, per contact: cubic interpolation in
# ln v between them is good to 1e-6 of the factor over three decades of speed.
SPEED_NODES = 33

# Coefficient of the laws that may pull: 0 (clamped) or -inf (tensile).
LOWEST_FORCE = Quantity("lowest_force", "N", "0 where the force is clamped, -inf where the contact may pull")

_REGISTRY: dict[str, type[ContactLaw]] = {}


class Functions(NamedTuple):
    """The functions of a law that the engine calls: pure, of scalars and plain tuples."""

    history_of: Callable[[tuple], tuple]
    force: Callable[[float, float, tuple, tuple], float]
    needs_update: Callable[[float, float, tuple, tuple], bool]
    update: Callable[[tuple, tuple, tuple], tuple]
    energy: Callable[[float, tuple, tuple], float]
    plastic: Callable[[tuple, tuple], float]
    largest_overlap: Callable[[tuple], float]
    jumps: Callable[[tuple], tuple]
    jump: Callable[[float, float, tuple, tuple], float]


class ContactLaw:
    """Base of all contact laws: what a law says of itself, and the functions the engine calls.

    A subclass that sets `name` is registered under it. All functions are static and pure; `c` and `h` are plain tuples of
    floats in the order of `coefficients` and `history`; `event` is (overlap, rate, onset_rate, onset_fraction).

    Attributes
    ----------
    name : str
        As a case says it.
    source : Source
        Where the equation was published.
    inputs : tuple of Quantity
        What a case may say of it, with units and limits.
    coefficients, history : tuple of Quantity
        What each contact carries: constants of the run, and what the contact has been through.
    uses_rate : bool
        Whether the force depends on the rate.
    forgets : bool
        Whether an opening contact loses its history, and with it what the ledger has to keep.
    onset_jump : bool
        Whether the force jumps where a contact closes at speed; such a law carries the onset weight of power 0.
    order : int
        Order in time of the scheme under this law; 1 where the force jumps at an overlap that `jumps` does not name.
    fixed_units : bool
        Whether constants of the source hold in its own units only, so that the force does not scale with metre, kilogram and second.
    examples : dict
        Inputs, by name, to measure the law with where their units and ranges suggest none that fit together.
    validity, status : str
        Where the law holds, and what it was verified against: for its page.
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
    fixed_units: ClassVar[bool] = False
    examples: ClassVar[dict[str, Any]] = {}
    validity: ClassVar[str] = ""
    status: ClassVar[str] = "not validated against experiment"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            check_law(cls)
            _register(cls)

    @classmethod
    def variant(cls, inputs: SimpleNamespace) -> type[ContactLaw]:
        """The class to run with for these inputs; the law itself by default."""
        return cls

    @staticmethod
    def coefficients_of(pair: Any, inputs: SimpleNamespace) -> tuple[Any, ...]:
        """Coefficients of each contact: a tuple of numbers or (n_contacts,) arrays."""
        return ()

    @staticmethod
    def history_of(c: tuple) -> tuple:
        """Start values of the history."""
        return ()

    @staticmethod
    def force(overlap: float, rate: float, c: tuple, h: tuple) -> float:
        """Contact force [N]; exactly 0.0 for an open contact."""
        raise NotImplementedError

    @staticmethod
    def needs_update(overlap: float, rate: float, c: tuple, h: tuple) -> bool:
        """Whether something has happened to this contact."""
        return False

    @staticmethod
    def update(event: tuple, c: tuple, h: tuple) -> tuple:
        """History after the event; `force` is right again with it."""
        return h

    @staticmethod
    def energy(overlap: float, c: tuple, h: tuple) -> float:
        """Recoverable energy of the contact [J]."""
        raise NotImplementedError

    @staticmethod
    def plastic(c: tuple, h: tuple) -> float:
        """Energy that the history has lost for good [J], in closed form."""
        return 0.0

    @staticmethod
    def largest_overlap(c: tuple) -> float:
        """Overlap [m] beyond which the law has no force."""
        return math.inf

    @staticmethod
    def jumps(c: tuple) -> tuple:
        """Overlaps [m] at which the force jumps, or has a kink at which it may be largest.

        The step that crosses a jump is kicked by a force in between, and the order stays two; peaks are those on its two sides.
        """
        return ()

    @staticmethod
    def jump(overlap: float, rate: float, c: tuple, h: tuple) -> float:
        """By how much the force of this history jumps [N] where the contact closes through one of these overlaps; 0 for kinks alone."""
        return 0.0

    @classmethod
    def functions(cls) -> Functions:
        """What the engine calls, as it stands now."""
        return Functions(*(getattr(cls, name) for name in Functions._fields))

    @classmethod
    def index_of(cls, coefficient: str) -> int:
        """Position of a coefficient; -1 where the law has none of that name."""
        names = [quantity.name for quantity in cls.coefficients]
        return names.index(coefficient) if coefficient in names else -1

    @classmethod
    def has_jumps(cls) -> bool:
        """Whether the force jumps, or has a kink, at the onset or inside a contact: a parabola through samples is then no peak."""
        return cls.onset_jump or cls.jumps is not ContactLaw.jumps

    @classmethod
    def summary(cls) -> str:
        """First line of the docstring: what tables print."""
        return (cls.__doc__ or "").strip().splitlines()[0].strip() if cls.__doc__ else ""


def check_law(cls: type[ContactLaw]) -> None:
    """Refuse a law that is not well formed.

    Raises
    ------
    LawError
        With every problem found.
    """
    problems = []
    if not isinstance(cls.name, str) or not cls.name or cls.name != cls.name.lower() or " " in cls.name:
        problems.append(f"name: got {cls.name!r}, allowed: lower-case words joined by hyphens; rename it")
    if not isinstance(getattr(cls, "source", None), Source):
        problems.append("source: got nothing, allowed: a Source; set source = Source(author and year, equation, doi)")
    if not (cls.__doc__ or "").strip():
        problems.append("docstring: got nothing, allowed: some lines; say what the law is, the first line is what tables print")
    for group in ("inputs", "coefficients", "history"):
        quantities = getattr(cls, group)
        if not isinstance(quantities, tuple) or not all(isinstance(q, Quantity) for q in quantities):
            problems.append(f"{group}: got {type(quantities).__name__}, allowed: a tuple of Quantity; did a comma get lost?")
            continue
        names = [q.name for q in quantities]
        for name in sorted({name for name in names if names.count(name) > 1}):
            problems.append(f"{group}: got {name} twice, allowed: each name once; rename one of the two")
    if cls.onset_jump and isinstance(cls.history, tuple) and ONSET_HISTORY[0] not in cls.history:
        problems.append("onset_jump: needs the onset weight; begin its history with ONSET_HISTORY, and see KelvinVoigt")
    for name in Functions._fields:
        if not isinstance(inspect.getattr_static(cls, name), staticmethod):
            problems.append(f"{name}: got no @staticmethod, allowed: a pure function of its arguments; write @staticmethod above it")
    for name in ("force", "energy"):
        if getattr(cls, name) is getattr(ContactLaw, name):
            problems.append(f"{name}: got nothing, allowed: a function; define it")
    if problems:
        raise LawError("\n".join(f"contact law {cls.__qualname__}: {problem}" for problem in problems))


def _register(cls: type[ContactLaw]) -> None:
    held = _REGISTRY.get(cls.name)
    if held is not None and (held.__module__, held.__qualname__) != (cls.__module__, cls.__qualname__):
        raise LawError(
            f'contact law {cls.__qualname__}: name: got "{cls.name}", which is taken by {held.__module__}.{held.__qualname__}, allowed: a '
            "name of its own; choose another"
        )
    _REGISTRY[cls.name] = cls


def registered() -> dict[str, type[ContactLaw]]:
    """All laws known now, by name."""
    return dict(_REGISTRY)


def reinstate(known: dict[str, type[ContactLaw]]) -> None:
    """Know these laws and no others, as before a file that failed."""
    _REGISTRY.clear()
    _REGISTRY.update(known)


# ---------------------------------------------------------------------------------------------------------------------
# Order two at the onset of a damping force ~ d^a with a < 1: a weight on the rate term at the first step of a contact.

# A law with a weight carries these two; the engine knows them by name. The kick uses the weighted force, a sensor reads it with weight 1.
ONSET_HISTORY = (
    Quantity("onset_weight", "1", "weight of the damping force: 1 but at the first step of a contact"),
    Quantity("closed", "1", "1 while the contact is closed, 0 while it is open"),
)

# Terms of the Euler-Maclaurin sum and its remainder: with 20 terms in front the last one kept is below 1e-16 of the sum.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66)
_TERMS = 20
_DEGREE = 10


def hurwitz_zeta(order: float, q: np.ndarray) -> np.ndarray:
    """zeta(s, q), for any order s != 1, by the Euler-Maclaurin formula; scipy's has no negative order.

    Parameters
    ----------
    order : float
        s.
    q : array
        Above 0.

    Notes
    -----
    NIST Digital Library of Mathematical Functions, eq. 25.11.5 with the remainder expanded as in 25.2.9, doi:10.1007/s10915-010-9396-8
    """
    s = order
    total = sum((q + k) ** -s for k in range(_TERMS))
    x = q + _TERMS
    total = total + x ** (1.0 - s) / (s - 1.0) + 0.5 * x**-s
    factor, factorial = s, 2.0
    for j, bernoulli in enumerate(_BERNOULLI, start=1):
        total = total + bernoulli / factorial * factor * x ** (-s - 2 * j + 1)
        factor *= (s + 2 * j - 1) * (s + 2 * j)
        factorial *= (2 * j + 1) * (2 * j + 2)
    return total


def onset_weight(power: float) -> tuple[float, ...]:
    """Polynomial in theta of -zeta(-a, 1 + theta), highest power first; over theta^a it is the weight of a damping force ~ d^a.

    Parameters
    ----------
    power : float
        a, 0 <= a < 1; for a = 0 the weight is 1/2 + theta.

    Notes
    -----
    The kicks of the steps after an onset at the fraction theta of a step add up to h^(1+a) (theta^a w + sum over k >= 1 of (k +
    theta)^a); the generalised Euler-Maclaurin sum (Navot 1961, doi:10.1002/sapm1961401271) equals the integral up to order h^2
    when theta^a w = -zeta(-a, 1 + theta).
    """
    # Chebyshev nodes on [0, 1]: the interpolation error of degree 10 is below 1e-10 for every a
    nodes = 0.5 + 0.5 * np.cos(np.pi * (np.arange(2 * _DEGREE) + 0.5) / (2 * _DEGREE))
    return tuple(float(x) for x in np.polyfit(nodes, -hurwitz_zeta(-power, 1.0 + nodes), _DEGREE))


# ---------------------------------------------------------------------------------------------------------------------
# Elastoplastic laws: a law declares its loading curve; history, force, update, energy and the energy guard follow.

# How far beside a jump the force on either side of it is taken, in parts of the overlap: beyond the rounding of the overlap, and so near
# that the force has not changed but by the jump, which is some thousandths of it at least.
ASIDE = 1e-9

# Windows of the guard that a contact has room for. The published laws need at most two (Kogut-Etsion: above the elastic
# limit and above its second jump).
GUARD_WINDOWS = 4

GUARD = tuple(
    quantity
    for j in range(1, GUARD_WINDOWS + 1)
    for quantity in (
        Quantity(f"guard_{j}_start", "m", "largest overlap at which the guard begins to act"),
        Quantity(f"guard_{j}_end", "m", "largest overlap at which it has ceased to act"),
        Quantity(f"guard_{j}_loss", "J", "loss that is kept in between"),
    )
)

ELASTOPLASTIC_HISTORY = (
    Quantity("elastic_limit", "m", "overlap up to which the contact is elastic now", output=True),
    Quantity("residual_overlap", "m", "overlap at which the unloading contact opens", output=True),
    Quantity("unloading_stiffness", "N/m^n", "factor of the unloading curve", output=True),
    Quantity("unloading_exponent", "1", "exponent of the unloading curve"),
)


class Elastoplastic(ContactLaw):
    """Base of laws with a loading curve that leaves a dent, and one unloading curve from each largest overlap.

    A law declares `elastic_limit(c)`, `elastic_stiffness(c)`, `loading(d, c)`, `loading_work(d, c)`,
    `residual(d_max, force_max, c)`; where it is not 3/2, `exponent(d_max, c)`; where the loading curve jumps, `jumps(c)`.
    Unloading and reloading follow F = K (d - d_r)^n through (d_max, F_max). The energy guard keeps the loss D(d_max) = U - W from being
    negative or falling, so that no sequence of partial cycles creates energy; `as_printed = true` switches it off.
    """

    guarded: ClassVar[bool] = True
    varying_exponent: ClassVar[bool] = False
    _variants: ClassVar[dict[tuple[bool, bool], type[Elastoplastic]]]
    _declared: ClassVar[tuple]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if "name" in cls.__dict__:
            own = cls.coefficients
            cls.coefficients = own + GUARD
            cls.history = ELASTOPLASTIC_HISTORY if cls.varying_exponent else ELASTOPLASTIC_HISTORY[:3]
            _derive(cls, guarded=True, forget=False)
            cls._variants = {(True, False): cls}
        super().__init_subclass__(**kwargs)

    @staticmethod
    def elastic_limit(c: tuple) -> float:
        """Overlap [m] up to which a fresh contact is elastic."""
        raise NotImplementedError

    @staticmethod
    def elastic_stiffness(c: tuple) -> float:
        """Factor [N/m^1.5] of the elastic force of a fresh contact."""
        raise NotImplementedError

    @staticmethod
    def loading(d: float, c: tuple) -> float:
        """Force [N] on the virgin loading curve."""
        raise NotImplementedError

    @staticmethod
    def loading_work(d: float, c: tuple) -> float:
        """Integral of the loading curve from 0 [J]."""
        raise NotImplementedError

    @staticmethod
    def residual(d_max: float, force_max: float, c: tuple) -> float:
        """Overlap [m] at which the contact unloaded from (d_max, force_max) opens, as the law says it."""
        raise NotImplementedError

    @staticmethod
    def exponent(d_max: float, c: tuple) -> float:
        """Exponent of the unloading curve."""
        return 1.5

    # The loss of the law's own unloading curve, without its negative residual: what the guard's windows are scanned on.
    loss: ClassVar[Callable[[float, tuple], float]]

    @classmethod
    def variant(cls, inputs: SimpleNamespace) -> type[ContactLaw]:
        """The law guarded or as printed, with dents kept or forgotten."""
        guarded = not getattr(inputs, "as_printed", False)
        forget = getattr(inputs, "dents", "keep") == "forget"
        if (guarded, forget) not in cls._variants:
            suffix = ("" if guarded else "AsPrinted") + ("Forgetful" if forget else "")
            made = cast(
                type[Elastoplastic], type(cls.__name__ + suffix, (cls,), {"__doc__": cls.__doc__, "guarded": guarded, "forgets": forget})
            )
            cls._variants[(guarded, forget)] = made
        # of what the law declares now: a notebook may have put another function in the place of one
        _derive(cls._variants[(guarded, forget)], guarded, forget)
        return cls._variants[(guarded, forget)]


_DERIVED: dict[tuple, tuple[Callable, ...]] = {}


def _derive(cls: type[Elastoplastic], guarded: bool, forget: bool) -> None:
    """Give a law its history, force, update and energy; laws that declare the same functions share them, and so one kernel."""
    declared = (
        cls.elastic_limit, cls.elastic_stiffness, cls.loading, cls.loading_work, cls.residual, cls.exponent, cls.varying_exponent,
        guarded, forget,
    )  # fmt: skip
    if declared not in _DERIVED:
        _DERIVED[declared] = _derived(*declared)
    if cls.__dict__.get("_declared") != declared:
        cls._declared = declared
        for function in _DERIVED[declared]:
            setattr(cls, function.__name__, staticmethod(function))


def _derived(
    elastic_limit: Callable, elastic_stiffness: Callable, loading: Callable, loading_work: Callable, residual: Callable, exponent: Callable,
    varying: bool, guarded: bool, forget: bool,
) -> tuple[Callable, ...]:  # fmt: skip
    """History, force, update and energy of a loading curve: plain closures, so that the engine can compile and hash them."""

    def jump(overlap: float, rate: float, c: tuple, h: tuple) -> float:
        # of the loading curve alone; a contact that has been further than the jump is elastic there
        return loading(overlap * (1.0 + ASIDE), c) - loading(overlap * (1.0 - ASIDE), c) if h[0] <= overlap else 0.0

    def fresh_limit(c: tuple) -> float:
        # a law may yield from the first touch; an open contact has nothing to update
        limit = elastic_limit(c)
        return limit if limit > OPEN else OPEN

    def loss(s: float, c: tuple) -> float:
        force = loading(s, c)
        opens = residual(s, force, c)
        opens = opens if opens > 0.0 else 0.0
        return loading_work(s, c) - force * (s - opens) / (exponent(s, c) + 1.0)

    def opens_at(d: float, force: float, c: tuple) -> float:
        natural = residual(d, force, c)
        if not guarded:
            return natural
        if natural < 0.0:
            natural = 0.0
        for start, end, kept in ((c[-12], c[-11], c[-10]), (c[-9], c[-8], c[-7]), (c[-6], c[-5], c[-4]), (c[-3], c[-2], c[-1])):
            if start < d and d < end:
                # the guard: d_g = d_max - (n + 1)(U - D_g)/F_max
                opens = d - (exponent(d, c) + 1.0) * (loading_work(d, c) - kept) / force
                return opens if opens > 0.0 else 0.0
        return natural

    def renewed(d: float, c: tuple) -> tuple:
        force = loading(d, c)
        opens = opens_at(d, force, c)
        x = d - opens
        if varying:
            n = exponent(d, c)
            return (d, opens, force / elementary.power(x, n), n)
        return (d, opens, force / (x * math.sqrt(x)))

    if varying:

        def history_of(c: tuple) -> tuple:
            return (fresh_limit(c), 0.0, elastic_stiffness(c), 1.5)

        def force(overlap: float, rate: float, c: tuple, h: tuple) -> float:
            x = overlap - h[1]
            x = x if x > OPEN else 0.0
            return h[2] * elementary.power(x, h[3])

        def energy(overlap: float, c: tuple, h: tuple) -> float:
            x = overlap - h[1]
            x = x if x > OPEN else 0.0
            return h[2] * elementary.power(x, h[3] + 1.0) / (h[3] + 1.0)

    else:

        def history_of(c: tuple) -> tuple:
            return (fresh_limit(c), 0.0, elastic_stiffness(c))

        def force(overlap: float, rate: float, c: tuple, h: tuple) -> float:
            x = overlap - h[1]
            x = x if x > OPEN else 0.0
            return h[2] * (x * math.sqrt(x))

        def energy(overlap: float, c: tuple, h: tuple) -> float:
            x = overlap - h[1]
            x = x if x > OPEN else 0.0
            return 0.4 * h[2] * (x * x * math.sqrt(x))

    def plastic(c: tuple, h: tuple) -> float:
        d = h[0]
        return loading_work(d, c) - energy(d, c, h) if d > elastic_limit(c) else 0.0

    if forget:

        def needs_update(overlap: float, rate: float, c: tuple, h: tuple) -> bool:
            return (overlap > h[0]) | ((overlap <= OPEN) & (h[1] != 0.0))

        def update(event: tuple, c: tuple, h: tuple) -> tuple:
            return renewed(event[0], c) if event[0] > h[0] else history_of(c)

    else:

        def needs_update(overlap: float, rate: float, c: tuple, h: tuple) -> bool:
            return overlap > h[0]

        def update(event: tuple, c: tuple, h: tuple) -> tuple:
            return renewed(event[0], c)

    return loss, history_of, force, needs_update, update, energy, plastic, jump


def columns(values: tuple[Any, ...], n_contacts: int) -> np.ndarray:
    """Coefficients as one C-ordered (n_coefficients, n_contacts) array."""
    table = np.empty((len(values), n_contacts))
    for row, value in zip(table, values, strict=True):
        row[:] = value
    return table
