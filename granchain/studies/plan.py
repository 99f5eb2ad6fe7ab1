"""Plan of a study: values of its keys, points, draws, and the case of each member."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from granchain.case import Case, check_case
from granchain.case.base import CheckedCase
from granchain.case.checks import MEMORY
from granchain.case.document import plain_tables
from granchain.contact import laws
from granchain.errors import CaseError
from granchain.keys import Problems, check_integer, shown, suggestion
from granchain.studies.interruption import scipy_stats, uninterrupted

HOW = ("product", "zip", "sobol")
# Parameter of the case that disorder of a key sets, and whether it is added to the key's value.
DISORDERED = {
    "chain.radius": ("chain.radius_factor", False),
    "chain.mass": ("chain.mass_factor", False),
    "chain.material.youngs_modulus": ("chain.modulus_factor", False),
    "chain.gap": ("chain.gap_added", True),
}
# Distributions with granchain's parameters. Other names are continuous distributions of scipy.stats
# with the parameters of SciPy.
OWN_DISTRIBUTIONS = {
    "normal": ("mean", "sd"),
    "uniform": ("low", "high"),
    "lognormal": ("median", "sigma"),
}
RANGES: dict[str, Any] = {"linear": np.linspace, "log": np.geomspace}
# Upper limit on points per axis. Our choice.
MOST_POINTS = 10_000_000
# Probability beyond which a draw is moved out of the tails, because a sample of 0 would give minus
# infinity. One in 2^31 draws is affected.
TAIL = 2.0**-32
# Dimensions of a Sobol sequence for which SciPy has direction numbers (Joe & Kuo 2008,
# doi:10.1137/070709359).
MOST_DRAWN = 21201
# Memory of a member's case and record [bytes]; measured: 5 kB for a change of one table.
MEMBER_BYTES = 10_000
# Names of variables of a study, which keys and summaries cannot use.
RESERVED_NAMES = (
    "draw", "run", "sensor_bead", "sample", "peak", "contact_peak", "arrival", "width", "missing",
    "wave_speed", "wave_speed_sensors", "transmitted_momentum", "transmitted_energy", "status",
    "message", "law_sha256", "point", "time_step", "time", "sensor_force", "n_samples",
)  # fmt: skip


# --------------------------------------------------------------------------------------------------
# Values of a key


@dataclass(frozen=True)
class Distribution:
    """Continuous distribution of one number.

    `normal`, `uniform`, `lognormal`, and `distribution` create it.

    Parameters
    ----------
    name : str
        "normal", "uniform", "lognormal", or a name of scipy.stats.
    parameters : tuple of (str, float)
        Parameters, in the order in which they were given.

    Raises
    ------
    CaseError
        If the name or a parameter is invalid. The message lists every error.

    Examples
    --------
    >>> import granchain as gc
    >>> print(gc.uniform(0.0, 2.0))
    uniform(low 0, high 2)
    """

    name: str
    parameters: tuple[tuple[str, float], ...]

    def __post_init__(self) -> None:
        problems = Problems()
        check_distribution(self.name, dict(self.parameters), str(self.name), problems)
        problems.close()

    @cached_property
    def _frozen(self) -> Any:
        return scipy_distribution(self.name, dict(self.parameters))

    def ppf(self, quantile: ArrayLike) -> np.ndarray:
        """Return quantiles of the distribution.

        Parameters
        ----------
        quantile : array
            Probabilities between 0 and 1.

        Returns
        -------
        array
            Numbers below which these fractions of all draws are, in the shape of `quantile`.
        """
        return np.asarray(self._frozen.ppf(np.asarray(quantile, dtype=float)), dtype=float)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{name} {value:g}' for name, value in self.parameters)})"

    def as_dict(self) -> dict[str, Any]:
        """Return the distribution as a table of a TOML file."""
        return {self.name: dict(self.parameters)}


@dataclass(frozen=True)
class Disorder:
    """Random number for each bead or gap; created by `disorder`.

    Parameters
    ----------
    distribution : Distribution
        Distribution of the numbers.
    add : bool
        Whether the number is added to the value of the case. By default, it multiplies the value.

    Examples
    --------
    >>> import granchain as gc
    >>> gc.disorder(gc.normal(1.0, 0.05)).add
    False
    """

    distribution: Distribution
    add: bool = False

    def __str__(self) -> str:
        return f"disorder({self.distribution}{', added' if self.add else ''})"

    def as_dict(self) -> dict[str, Any]:
        """Return the disorder as a table of a TOML file."""
        return {"disorder": self.distribution.as_dict()} | ({"add": True} if self.add else {})


def normal(mean: float, sd: float) -> Distribution:
    """Create a normal distribution.

    Parameters
    ----------
    mean, sd : float
        Mean and standard deviation, in the unit of the key.

    Returns
    -------
    Distribution

    Raises
    ------
    CaseError
        If a parameter is out of range.

    Examples
    --------
    >>> import granchain as gc
    >>> print(gc.normal(1.0, 0.05))
    normal(mean 1, sd 0.05)
    """
    return Distribution("normal", (("mean", mean), ("sd", sd)))


def uniform(low: float, high: float) -> Distribution:
    """Create a uniform distribution.

    Parameters
    ----------
    low, high : float
        Limits, in the unit of the key.

    Returns
    -------
    Distribution

    Raises
    ------
    CaseError
        If a parameter is out of range.

    Examples
    --------
    >>> import granchain as gc
    >>> print(gc.uniform(0.5, 1.5))
    uniform(low 0.5, high 1.5)
    """
    return Distribution("uniform", (("low", low), ("high", high)))


def lognormal(median: float, sigma: float) -> Distribution:
    """Create a lognormal distribution.

    Parameters
    ----------
    median : float
        Median, in the unit of the key.
    sigma : float
        Standard deviation of the logarithm [1].

    Returns
    -------
    Distribution

    Raises
    ------
    CaseError
        If a parameter is out of range.

    Examples
    --------
    >>> import granchain as gc
    >>> print(gc.lognormal(1.0, 0.1))
    lognormal(median 1, sigma 0.1)
    """
    return Distribution("lognormal", (("median", median), ("sigma", sigma)))


def distribution(name: str, **parameters: float) -> Distribution:
    """Create a continuous distribution of scipy.stats.

    Parameters
    ----------
    name : str
        Name of the distribution in scipy.stats.
    **parameters : float
        Parameters of the distribution.

    Returns
    -------
    Distribution

    Raises
    ------
    CaseError
        If the name or a parameter is invalid.

    Examples
    --------
    >>> import granchain as gc
    >>> print(gc.distribution("weibull_min", c=2.0, scale=1.8))
    weibull_min(c 2, scale 1.8)
    """
    return Distribution(name, tuple(parameters.items()))


def disorder(distribution: Distribution, add: bool = False) -> Disorder:
    """Create a random number for each bead, or for each gap.

    `{"chain.radius": disorder(normal(1.0, 0.05))}` multiplies the radius of each bead by its own
    random factor.

    Parameters
    ----------
    distribution : Distribution
        Distribution of the factor [1], or, with `add`, of the added number, in the unit of the key.
    add : bool
        Whether to add the number to the value of the case. Only for gaps.

    Returns
    -------
    Disorder

    Raises
    ------
    CaseError
        If `distribution` is not a distribution.

    Examples
    --------
    >>> import granchain as gc
    >>> print(gc.disorder(gc.normal(1.0, 0.05)))
    disorder(normal(mean 1, sd 0.05))
    """
    if not isinstance(distribution, Distribution):
        raise CaseError(
            f"disorder: {shown(distribution)} is not valid. It must be a distribution. Write for "
            "example disorder(normal(1.0, 0.05))."
        )
    return Disorder(distribution, bool(add))


def check_distribution(name: Any, parameters: Any, where: str, problems: Problems) -> None:
    """Report errors in the name and the parameters of a distribution."""
    stats = scipy_stats()
    continuous = [one for one, made in vars(stats).items() if isinstance(made, stats.rv_continuous)]
    words = [*OWN_DISTRIBUTIONS, *sorted(continuous)]
    own = OWN_DISTRIBUTIONS.get(name, ())
    if not problems.check(
        name in words,
        where,
        f"{shown(name)} is unknown",
        f"It must be {_FORMS}",
        suggestion(name, [*words, *RANGES, "disorder"], "See scipy.stats for the names"),
    ):
        return
    required = own or (getattr(stats, name).shapes or "").replace(",", " ").split()
    allowed = [*required, *(() if own else ("loc", "scale"))]
    good = isinstance(parameters, Mapping) and set(required) <= set(parameters) <= set(allowed)
    if not problems.check(
        good and all(map(is_number, parameters.values())),
        where,
        (
            ", ".join(f"{key} {shown(value)}" for key, value in parameters.items())
            if isinstance(parameters, Mapping)
            else shown(parameters)
        )
        + " is not valid",
        f"It must be a finite number for each of {', '.join(allowed)}",
        f"Required are {', '.join(required)}",
    ):
        return
    with np.errstate(all="ignore"):
        # SciPy returns nan for parameters that are out of range
        good = bool(np.isfinite(scipy_distribution(name, parameters).ppf(0.5)))
    problems.check(
        good,
        where,
        ", ".join(f"{key} {value:g}" for key, value in parameters.items()) + " is out of range",
        "Spreads must be above 0, and low must be below high"
        if own
        else f"It must be in the range of scipy.stats.{name}",
        "Change the parameters, or give a list of numbers",
    )


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number, and not true or false."""
    number = isinstance(value, (int, float, np.integer, np.floating))
    return number and not isinstance(value, bool) and math.isfinite(value)


def scipy_distribution(name: str, parameters: Mapping[str, float]) -> Any:
    """Return the frozen distribution of scipy.stats."""
    stats = scipy_stats()
    own: dict[str, Any] = {
        "normal": lambda mean, sd: stats.norm(mean, sd),
        "uniform": lambda low, high: stats.uniform(low, high - low),
        "lognormal": lambda median, sigma: stats.lognorm(sigma, scale=median),
    }
    return (own.get(name) or getattr(stats, name))(**parameters)


_FORMS = (
    "a list, { linear = [low, high, count] }, { log = [low, high, count] }, { normal = [mean, sd] "
    "}, { uniform = [low, high] }, { lognormal = [median, sigma] }, another of scipy.stats as { "
    "NAME = { parameter = number } }, or { disorder = { normal = [1.0, sd] } }"
)


def values_of(
    where: str, value: Any, problems: Problems
) -> list[Any] | Distribution | Disorder | None:
    """Return the values of a key in a study: a list, a distribution, or disorder.

    Return None for anything else.

    Parameters
    ----------
    where : str
        Key, for messages.
    value : object
        Value from a caller or a TOML file.
    problems : Problems
        Receives every error.
    """
    if isinstance(value, (Distribution, Disorder)):
        return value
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if isinstance(value, (list, tuple, range)):
        advice = "Give values, or remove the key"
        problems.check(
            len(value) > 0, where, "the list is empty", "At least one value is required", advice
        )
        return [one.item() if isinstance(one, np.generic) else one for one in value] or None
    table = dict(value) if isinstance(value, Mapping) else {}
    add = table.pop("add", None)
    if len(table) != 1 or (add is not None and "disorder" not in table):
        advice = "A single value is a list of one number"
        problems.add(where, f"{shown(value)} is not valid", f"It must be {_FORMS}", advice)
        return None
    ((name, parameters),) = table.items()
    where = f"{where}.{name}"
    if name in RANGES:
        return _range(where, name, parameters, problems)
    if name == "disorder":
        inner = values_of(where, parameters, problems)
        if isinstance(inner, Distribution) and isinstance(add, (bool, type(None))):
            return Disorder(inner, bool(add))
        if inner is not None:
            got = shown(add if isinstance(inner, Distribution) else parameters)
            advice = "Write { disorder = { normal = [1.0, 0.05] } }"
            problems.add(
                where,
                f"{got} is not valid",
                "It must be a distribution, with add = true or false",
                advice,
            )
        return None
    own = OWN_DISTRIBUTIONS.get(name, ())
    if own and isinstance(parameters, (list, tuple)) and len(parameters) == len(own):
        parameters = dict(zip(own, parameters, strict=True))
    check_distribution(name, parameters, where, problems)
    return Distribution(name, tuple(parameters.items())) if problems.clear(where) else None


def _range(where: str, kind: str, limits: Any, problems: Problems) -> list[float] | None:
    """Return the values of `{ linear = [low, high, count] }` or `{ log = [low, high, count] }`.

    Both ends are included.
    """
    requirement = (
        f"It must be [low, high, count]: finite numbers, and a whole number, 1 to {MOST_POINTS}"
    )
    good = isinstance(limits, (list, tuple)) and len(limits) == 3 and all(map(is_number, limits))
    good = (
        good and isinstance(limits[2], (int, np.integer)) and limits[2] in range(1, MOST_POINTS + 1)
    )
    if kind == "log":
        requirement += ", with low and high above 0"
        good = good and min(limits) > 0.0
    advice = f"Write {{ {kind} = [0.1, 10, 21] }}"
    if not problems.check(good, where, f"{shown(limits)} is not valid", requirement, advice):
        return None
    return [float(one) for one in RANGES[kind](*limits)]


# --------------------------------------------------------------------------------------------------
# The members


@dataclass(frozen=True)
class Plan:
    """Members of a study, in order. The last dimension changes first.

    Parameters
    ----------
    case : Case
        Case of which each member is a change.
    vary : mapping of str to list, Distribution or Disorder
        Values of each key.
    how : {"product", "zip", "sobol"}
    n : int
        Number of draws at each point; with "sobol", of all draws.
    seed : int
    chained : bool
        Whether each member starts from the previous one; see `granchain.studies.chained`.
    """

    case: Case
    vary: Mapping[str, list[Any] | Distribution | Disorder]
    how: str
    n: int
    seed: int
    chained: bool = False

    @property
    def listed(self) -> dict[str, list[Any]]:
        """Keys with the values of a list."""
        return {key: values for key, values in self.vary.items() if isinstance(values, list)}

    @property
    def drawn(self) -> dict[str, Distribution]:
        """Keys that are drawn from a distribution."""
        return {key: one for key, one in self.vary.items() if isinstance(one, Distribution)}

    @property
    def disordered(self) -> dict[str, Disorder]:
        """Keys that are drawn for every bead."""
        return {key: one for key, one in self.vary.items() if isinstance(one, Disorder)}

    @property
    def sizes(self) -> dict[str, int]:
        """Dimensions of the study, with their lengths."""
        if self.how == "sobol":
            return {"run": self.n}
        points = {key: len(values) for key, values in self.listed.items()}
        if self.how == "zip":
            points = {"run": next(iter(points.values()), 1)}
        return points | ({"draw": self.n} if self.n > 1 else {})

    @property
    def laws(self) -> list[str]:
        """Contact laws that `contact.law` or complete `contact` tables select, one per value.

        It is empty if neither is varied.
        """
        base = self.case.contact.law
        tables = self.listed.get("contact", [])
        named = [str(one.get("law", base)) for one in tables if isinstance(one, Mapping)]
        return named or [str(one) for one in self.listed.get("contact.law", [])]

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the dimensions."""
        return tuple(self.sizes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the dimensions."""
        return tuple(self.sizes.values())

    @property
    def members(self) -> int:
        """Number of members."""
        return math.prod(self.shape)

    @cached_property
    def sample(self) -> dict[str, np.ndarray]:
        """Values of each drawn key, (n,): points of a scrambled Sobol sequence.

        They are the same at every point of the study.
        """
        if not self.drawn:
            return {}
        parts = quasi_random(self.n, len(self.drawn), self.seed)
        drawn = zip(self.drawn.items(), parts.T, strict=True)
        return {key: one.ppf(column) for (key, one), column in drawn}

    def changes(self) -> Iterator[tuple[dict[str, Any], int]]:
        """Yield the changes of each member, except its disorder, and the index of its draw."""
        listed, keys = self.listed, [key for key in self.vary if key not in self.disordered]
        together = zip(*listed.values(), strict=True) if listed else [()]
        for point in product(*listed.values()) if self.how == "product" else together:
            at = dict(zip(listed, point, strict=True))
            for draw in range(self.n):
                drawn = {key: float(values[draw]) for key, values in self.sample.items()}
                surplus = self._inputs_of_other_laws(at)
                yield {key: (at | drawn)[key] for key in keys if key not in surplus}, draw

    def _inputs_of_other_laws(self, at: Mapping[str, Any]) -> set[str]:
        """Return varied keys that the law at a point lacks and another law has.

        A change of the law alone omits such inputs in the same way.
        """
        if self.how != "product" or "contact.law" not in self.listed:
            return set()
        inputs = {
            name: {f"contact.{quantity.name}" for quantity in laws()[name].inputs}
            for name in self.listed["contact.law"]
            if isinstance(name, str) and name in laws()
        }
        here = inputs.get(at["contact.law"])
        return set() if here is None else {*self.vary} & set().union(*inputs.values()) - here

    def cases(self) -> list[Case]:
        """Return the case of each member; see `changed`."""
        return [case for case, _ in self.changed()]

    def changed(self) -> list[tuple[Case, dict[str, Any]]]:
        """Return the case of each member, and its changes.

        Raises
        ------
        CaseError
            If a member is invalid. The message lists each error once, with its first member.
        """
        # the first message of each error, and the number of members with it
        mistakes: dict[str, tuple[str, int]] = {}
        found = []
        counted = any(key.startswith(("chain.beads", "chain.segment")) for key in self.vary)
        for changes, draw in self.changes():
            try:
                alike = self.case.replace(**changes) if self.disordered and counted else self.case
                # only a chain has beads, and it rejects the disorder of another case
                whole = changes | self.disorder(draw, getattr(alike, "beads", 1))
                found.append((self.case.replace(**whole), whole))
            except CaseError as error:
                words = {key: shown(value) for key, value in changes.items()}
                words |= {k: f"{one:.6g}" for k, one in changes.items() if isinstance(one, float)}
                at = [f"{key} = {word}" for key, word in words.items()]
                at += [f"draw {draw}"] if self.n > 1 and self.disordered else []
                for sentence in error.problems:
                    # an error at another value counts as the same error
                    mistake = sentence.partition(": ")[0]
                    here = sentence + (f" (at {', '.join(at)})" if at else "")
                    first, count = mistakes.get(mistake, (here, 0))
                    mistakes[mistake] = first, count + 1
        if mistakes:
            raise CaseError(
                [
                    first + (f" {n} of {self.members} members have this error." if n > 1 else "")
                    for first, n in mistakes.values()
                ]
            )
        return found

    def disorder(self, draw: int, beads: int) -> dict[str, Any]:
        """Return factors or added values for the beads, for each key with disorder.

        The values of a shorter chain are the first values of a longer one.
        """
        found: dict[str, Any] = {"chain.disorder_seed": self.seed} if self.disordered else {}
        for place, (key, values) in enumerate(self.vary.items()):
            if isinstance(values, Disorder):
                name, added = DISORDERED[key]
                random = np.random.default_rng([self.seed, place, draw])
                parts = np.clip(random.random(beads - 1 if added else beads), TAIL, 1.0 - TAIL)
                found[name] = values.distribution.ppf(parts).tolist()
        return found


def quasi_random(n: int, dimensions: int, seed: int) -> np.ndarray:
    """Return the first points of a scrambled Sobol sequence, (n, dimensions).

    Each number is above 0 and below 1.
    """
    with uninterrupted():
        # SciPy ignores an exception while it reads direction numbers, and all points would be equal
        random = np.random.default_rng(seed)
        sequence = scipy_stats().qmc.Sobol(dimensions, scramble=True, seed=random)
        points = sequence.random_base2(max(0, math.ceil(math.log2(n))))[:n]
    return np.clip(points, TAIL, 1.0 - TAIL)


def plan_of(case: Any, vary: Any, how: str = "product", n: int = 1, seed: int = 0) -> Plan:
    """Check all arguments and return the plan of a study.

    Raises
    ------
    CaseError
        If an argument is invalid. The message lists every error.
    """
    check_case(case, CheckedCase)
    problems = Problems()
    words = ", ".join(f'"{word}"' for word in HOW)
    problems.check(how in HOW, "how", f"{shown(how)} is unknown", f"It must be one of {words}")
    check_integer("n", n, problems, "It is the number of draws")
    check_integer("seed", seed, problems, "give for example seed=0", least=0)
    found: dict[str, Any] = {}
    if problems.check(
        isinstance(vary, Mapping) and bool(vary),
        "vary",
        f"{shown(vary)} is not valid" if vary else "missing",
        "Give keys of the case with their values",
        'Write for example {"striker.speed": [0.5, 1.0, 2.0]}',
    ):
        for key, value in vary.items():
            found[str(key)] = values_of(str(key), value, problems)
            check_key(str(key), found, how, problems)
    problems.close()
    plan = Plan(case, found, how, n, seed)
    lengths = {key: len(values) for key, values in plan.listed.items()}
    problems.check(
        how != "zip" or len(set(lengths.values())) < 2,
        "vary",
        "the lists have different lengths: "
        + ", ".join(f"{length} of {key}" for key, length in lengths.items()),
        "With zip, all lists must have the same length",
    )
    problems.check(
        n == 1 or bool(plan.drawn or plan.disordered),
        "n",
        f"{n} draws are not valid because no key is drawn",
        "It must be 1",
        "Leave n out, or give a key a distribution",
    )
    size = plan.members * MEMBER_BYTES
    problems.check(
        size <= MEMORY and len(plan.drawn) <= MOST_DRAWN,
        "vary",
        f"{plan.members:.6g} members with {len(plan.drawn)} distributions need "
        f"{size / 2**30:.3g} GiB",
        f"At most {MEMORY // 2**30} GiB and {MOST_DRAWN} distributions are allowed",
        "Use fewer values or draws",
    )
    problems.close()
    return plan


def check_key(key: str, found: dict[str, Any], how: str, problems: Problems) -> None:
    """Check that a key can be varied with its values."""
    problems.check(
        key not in RESERVED_NAMES and not key.startswith(("sensors.beads", "title")),
        key,
        "this key cannot be varied",
        "Only keys that change the results can be varied",
        "Set it in the case",
    )
    values = found[key]
    if isinstance(values, list):
        values = found[key] = plain_tables(values, problems, key)
        problems.check(
            how != "sobol",
            key,
            "a list is not valid with sobol",
            "It must be a distribution, such as { uniform = [low, high] }",
            "Write a distribution, or use product",
        )
        plain = [one if isinstance(one, (bool, int, float, str)) else repr(one) for one in values]
        ((value, most),) = Counter(plain).most_common(1)
        problems.check(
            how != "product" or most == 1,
            key,
            f"{shown(value)} is listed more than once",
            "List each value once",
            "Remove the duplicates",
        )
    elif isinstance(values, Disorder):
        _, added = DISORDERED.get(key, ("", values.add))
        problems.check(
            key in DISORDERED and values.add == added,
            key,
            f"disorder that {'is added' if values.add else 'multiplies'} is not valid here",
            f"Disorder is allowed in {', '.join(DISORDERED)}, with add = true only for chain.gap",
        )
