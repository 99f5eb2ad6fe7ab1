"""Plan of a study: values of its keys, points, draws, and the case of each member."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations, product
from typing import Any

import numpy as np

from granchain.case import Case, check_case
from granchain.case.case import CheckedCase, with_numbers
from granchain.case.checks import MEMORY
from granchain.case.document import about_key, plain_tables
from granchain.contact import laws
from granchain.errors import CaseError
from granchain.keys import Problems, brief, check_integer, suggestion
from granchain.plain_data import canonical, plain_data
from granchain.studies.interruption import scipy_stats, uninterrupted
from granchain.studies.measures import RESERVED_NAMES

HOW = ("product", "zip", "sobol")
# Parameter of the case that disorder of a key sets, and whether it is added to the key's value.
DISORDERED = {
    "chain.radius": ("chain.radius_factor", False),
    "chain.mass": ("chain.mass_factor", False),
    "chain.material.youngs_modulus": ("chain.modulus_factor", False),
    "chain.gap": ("chain.gap_added", True),
}
# Distributions with granchain's parameters. All others have the names and the parameters of SciPy.
OUR_DISTRIBUTIONS: dict[str, tuple[str, Callable[[Any, float, float], Any]]] = {
    "normal": ("mean, sd", lambda stats, mean, sd: stats.norm(mean, sd)),
    "uniform": ("low, high", lambda stats, low, high: stats.uniform(low, high - low)),
    "lognormal": (
        "median, sigma",
        lambda stats, median, sigma: stats.lognorm(sigma, scale=median),
    ),
}
RANGES: dict[str, Any] = {"linear": np.linspace, "log": np.geomspace}
# Upper limit on points per axis. Our choice.
MOST_ON_AXIS = 10_000_000
# Smallest distance of a sampled probability from 0 and 1, because a probability of 0 would give
# minus infinity. One in 2^31 draws is affected.
TAIL = 2.0**-32
# Dimensions of a Sobol sequence for which SciPy has direction numbers (Joe & Kuo 2008,
# doi:10.1137/070709359).
MOST_DRAWN = 21201
# Memory of a member's case and record [bytes]; measured: 5 kB for a change of one table.
MEMBER_BYTES = 10_000
# Tables in which each number is valid in an interval that does not depend on the other numbers. A
# box of such numbers is therefore valid if its corners are valid.
INTERVAL_TABLES = ("chain", "striker", "contact")
_FORMS = (
    "a list, { linear = [low, high, count] }, { log = [low, high, count] }, { normal = [mean, sd] "
    "}, { uniform = [low, high] }, { lognormal = [median, sigma] }, another continuous "
    "distribution of scipy.stats as { NAME = { parameter = number } }, { disorder = { normal = "
    "[1.0, sd] } }, or { values = [..], keys = { KEY = [..] } }; in Python also a frozen "
    "distribution of scipy.stats, disorder, or derived"
)


# --------------------------------------------------------------------------------------------------
# Values of a key


@dataclass(frozen=True)
class Disorder:
    """Random number for each bead or gap; created by `disorder`.

    Parameters
    ----------
    distribution : frozen distribution of scipy.stats
        Distribution of the numbers.
    add : bool
        Whether the number is added to the value of the case. By default, it multiplies the value.

    Examples
    --------
    >>> import granchain as gc
    >>> gc.disorder(gc.normal(1.0, 0.05)).add
    False
    """

    distribution: Any
    add: bool = False


@dataclass(frozen=True)
class Derived:
    """Parameter of a study that sets several keys of the case; created by `derived`.

    Parameters
    ----------
    values : list or frozen distribution of scipy.stats
        Values of the parameter.
    function : callable or mapping
        Function of a value that returns a mapping of keys to values, or a mapping of keys to lists.

    Examples
    --------
    >>> import granchain as gc
    >>> gc.derived([1.0, 2.0], lambda speed: {"striker.speed": speed}).values
    [1.0, 2.0]
    """

    values: Any
    function: Callable[[Any], Mapping[str, Any]] | Mapping[str, Sequence[Any]]


def normal(mean: float, sd: float) -> Any:
    """Create a normal distribution.

    Parameters
    ----------
    mean, sd : float
        Mean and standard deviation, in the unit of the key.

    Returns
    -------
    frozen distribution of scipy.stats

    Raises
    ------
    CaseError
        If a parameter is out of range.

    Examples
    --------
    >>> import granchain as gc
    >>> float(gc.normal(1.0, 0.05).std())
    0.05
    """
    return _checked_distribution("normal", mean, sd)


def uniform(low: float, high: float) -> Any:
    """Create a uniform distribution.

    Parameters
    ----------
    low, high : float
        Limits, in the unit of the key.

    Returns
    -------
    frozen distribution of scipy.stats

    Raises
    ------
    CaseError
        If a parameter is out of range.

    Examples
    --------
    >>> import granchain as gc
    >>> float(gc.uniform(0.5, 1.5).ppf(0.25))
    0.75
    """
    return _checked_distribution("uniform", low, high)


def lognormal(median: float, sigma: float) -> Any:
    """Create a lognormal distribution.

    Parameters
    ----------
    median : float
        Median, in the unit of the key.
    sigma : float
        Standard deviation of the logarithm [1].

    Returns
    -------
    frozen distribution of scipy.stats

    Raises
    ------
    CaseError
        If a parameter is out of range.

    Examples
    --------
    >>> import granchain as gc
    >>> float(gc.lognormal(2.0, 0.1).median())
    2.0
    """
    return _checked_distribution("lognormal", median, sigma)


def _checked_distribution(name: str, *parameters: float) -> Any:
    """Return a distribution of OUR_DISTRIBUTIONS, or raise an error if a parameter is invalid."""
    problems = Problems()
    distribution = distribution_of(name, name, parameters, problems)
    problems.close()
    return distribution


def disorder(distribution: Any, add: bool = False) -> Disorder:
    """Create a random number for each bead, or for each gap.

    `{"chain.radius": disorder(normal(1.0, 0.05))}` multiplies the radius of each bead by an
    individual random factor.

    Parameters
    ----------
    distribution : frozen distribution of scipy.stats
        Distribution of the factor [1], or, with `add`, of the added number, in the unit of the key.
    add : bool
        Whether to add the number to the value of the case. Only for gaps.

    Returns
    -------
    Disorder

    Examples
    --------
    >>> import granchain as gc
    >>> gc.disorder(gc.uniform(0.0, 1e-6), add=True).add
    True
    """
    return Disorder(distribution, add)


def derived(
    values: Any, function: Callable[[Any], Mapping[str, Any]] | Mapping[str, Sequence[Any]]
) -> Derived:
    """Create a parameter of a study that sets several keys of the case.

    Its name in `vary` is free, and it becomes a dimension or a coordinate of the study:
    `{"ratio": derived([0.4, 0.6], lambda ratio: {"chain.segment.0.mass": 0.45e-3 * ratio, ...})}`.

    Parameters
    ----------
    values : list or frozen distribution of scipy.stats
        Values of the parameter: numbers or text.
    function : callable or mapping
        Function of a value that returns a mapping of keys of the case to values. It is called once
        for each value. Or a mapping of keys to lists with an entry for each value.

    Returns
    -------
    Derived

    Examples
    --------
    >>> import granchain as gc
    >>> case = gc.load_case("steel-chain-hertz")
    >>> sizes = gc.derived([1, 2], lambda k: {"chain.radius": 2e-3 * k, "chain.mass": 3e-4 * k**3})
    >>> [member.chain.mass for member in gc.plan(case, {"size": sizes})]
    [0.0003, 0.0024]
    """
    return Derived(values, function)


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number, and not true or false."""
    number = isinstance(value, (int, float, np.integer, np.floating))
    return number and not isinstance(value, bool) and math.isfinite(value)


def is_distribution(value: Any) -> bool:
    """Return whether a value is a frozen continuous distribution of scipy.stats."""
    return hasattr(value, "dist") and hasattr(value, "pdf")


def _parameters(dist: Any) -> list[str]:
    """Return the names of the parameters of a distribution of scipy.stats."""
    return [*(dist.shapes or "").replace(",", " ").split(), "loc", "scale"]


def table_of(distribution: Any) -> dict[str, Any]:
    """Return a frozen distribution as a table of a sweep file."""
    names, values = _parameters(distribution.dist), distribution.args
    parameters = dict(zip(names, values, strict=False)) | distribution.kwds
    return {str(distribution.dist.name): plain_data(parameters)}


def checked_distribution(where: str, distribution: Any, problems: Problems) -> Any:
    """Return a frozen distribution; None if its parameters are out of range."""
    ((name, parameters),) = table_of(distribution).items()
    with np.errstate(all="ignore"):
        # SciPy returns nan for parameters that are out of range
        median = np.asarray(distribution.ppf(0.5))
    good = problems.check(
        median.shape == () and bool(np.isfinite(median)),
        where,
        f"{name}({', '.join(f'{key}={value}' for key, value in parameters.items())}) is out of "
        "range",
        f"Spreads must be above 0, low must be below high, and scipy.stats.{name} must accept the "
        "parameters",
        "Change the parameters, or give a list of numbers",
    )
    return distribution if good else None


def distribution_of(where: str, name: Any, parameters: Any, problems: Problems) -> Any:
    """Return the frozen distribution of a name and its parameters; None if they are invalid.

    The parameters are a list, as in OUR_DISTRIBUTIONS, or a mapping with the names of SciPy.
    """
    stats = scipy_stats()
    names = [key for key, kind in vars(stats).items() if isinstance(kind, stats.rv_continuous)]
    names = [*OUR_DISTRIBUTIONS, *sorted(names)]
    if not problems.check(
        name in names,
        where,
        f"{brief(name)} is unknown",
        f"It must be {_FORMS}",
        suggestion(name, [*names, *RANGES, "disorder"], "See scipy.stats for the names"),
    ):
        return None
    frozen = None
    with suppress(AttributeError, KeyError, TypeError):
        if isinstance(parameters, (list, tuple)) and all(map(is_number, parameters)):
            frozen = OUR_DISTRIBUTIONS[name][1](stats, *parameters)
        elif all(map(is_number, parameters.values())):
            frozen = getattr(stats, name)(**parameters)
    if name in OUR_DISTRIBUTIONS:
        form = f"[{OUR_DISTRIBUTIONS[name][0]}]"
    else:
        form = f"a table of {', '.join(_parameters(getattr(stats, name)))}"
    good = problems.check(
        frozen is not None,
        where,
        f"{brief(str(parameters))[1:-1]} is not valid",
        f"It must be {form}, as finite numbers",
    )
    return checked_distribution(where, frozen, problems) if good else None


def values_of(where: str, value: Any, problems: Problems) -> Any:
    """Return the values of a key in a study: a list, a distribution, `Disorder`, or `Derived`.

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
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    table = dict(value) if isinstance(value, Mapping) else {}
    if table.keys() == {"values", "keys"}:
        value = Derived(table["values"], table["keys"])
    elif "disorder" in table and table.keys() <= {"disorder", "add"}:
        value = Disorder(table["disorder"], table.get("add", False))
    if isinstance(value, (list, tuple, range)):
        problems.check(
            len(value) > 0,
            where,
            "the list is empty",
            "At least one value is required",
            "Give values, or remove the key",
        )
        return [entry.item() if isinstance(entry, np.generic) else entry for entry in value] or None
    if is_distribution(value):
        return checked_distribution(where, value, problems)
    if isinstance(value, Disorder):
        distribution = values_of(where, value.distribution, problems)
        problems.check(
            distribution is None or (is_distribution(distribution) and isinstance(value.add, bool)),
            where,
            "disorder is not valid",
            "It must be a distribution, with add = true or false",
            "Write disorder(normal(1.0, 0.05)) or { disorder = { normal = [1.0, 0.05] } }",
        )
        return Disorder(distribution, value.add) if problems.clear(where) else None
    if isinstance(value, Derived):
        return _derived_of(where, value, problems)
    if len(table) != 1:
        problems.add(
            where,
            f"{brief(value)} is not valid",
            f"It must be {_FORMS}",
            "A single value is a list of one number",
        )
        return None
    ((name, parameters),) = table.items()
    if name in RANGES:
        return _range(f"{where}.{name}", name, parameters, problems)
    return distribution_of(f"{where}.{name}", name, parameters, problems)


def _derived_of(where: str, entry: Derived, problems: Problems) -> Derived | None:
    """Return a derived parameter with plain lists; None if it is invalid."""
    values, function = values_of(where, entry.values, problems), entry.function
    good = callable(function) and (isinstance(values, list) or is_distribution(values))
    if isinstance(function, Mapping) and isinstance(values, list):
        function = {key: values_of(where, column, problems) for key, column in flat_vary(function)}
        columns = function.values()
        good = bool(function) and all(
            isinstance(column, list) and len(column) == len(values) for column in columns
        )
    if problems.clear(where):
        problems.check(
            good,
            where,
            "the values and keys are not valid",
            "It must be a list of values, with a list of equal length for each key; in Python "
            "also a list or a distribution, with a function of a value",
            "Write { values = [1, 2], keys = { KEY = [3.0, 6.0] } }, or derived(values, function)",
        )
    return Derived(values, function) if problems.clear(where) else None


def flat_vary(vary: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield keys with dots, also if a file writes them as nested tables, without quotes."""
    for key, value in vary.items():
        where = f"{above}{key}"
        if isinstance(value, Mapping) and (
            where in Case.model_fields or where.endswith(("material", "segment")) or key.isdecimal()
        ):
            yield from flat_vary(value, f"{where}.")
        else:
            yield where, value


def _range(where: str, kind: str, limits: Any, problems: Problems) -> list[float] | None:
    """Return the values of `{ linear = [low, high, count] }` or `{ log = [low, high, count] }`.

    Both ends are included.
    """
    good = (
        isinstance(limits, (list, tuple))
        and len(limits) == 3
        and all(map(is_number, limits))
        and isinstance(limits[2], (int, np.integer))
        and limits[2] in range(1, MOST_ON_AXIS + 1)
        and (kind != "log" or min(limits) > 0.0)
    )
    problems.check(
        good,
        where,
        f"{brief(limits)} is not valid",
        f"It must be [low, high, count]: finite numbers, and a whole number, 1 to {MOST_ON_AXIS}"
        + ", with low and high above 0" * (kind == "log"),
        f"Write {{ {kind} = [0.1, 10, 21] }}",
    )
    return [float(number) for number in RANGES[kind](*limits)] if good else None


# --------------------------------------------------------------------------------------------------
# The members


class Plan:
    """Cases of a study, in order. The last dimension changes first.

    `plan` creates it. It has a length, and its members are the cases: `plan[0]`,
    `for case in plan`.

    Parameters
    ----------
    case : Case or MechanismCase
        Case of which each member is a change.
    vary : mapping of str to list, distribution, Disorder, or Derived
        Values of each key.
    how : {"product", "zip", "sobol"}
        Way to combine the values.
    n : int
        Number of draws at each point, or of all draws with "sobol".
    seed : int
        Seed of all draws.

    Attributes
    ----------
    listed, drawn, disordered : dict
        Keys with the values of a list, with a distribution, and with a `Disorder`.
    sizes : dict of str to int
        Dimensions of the study, with their lengths.
    dims, shape : tuple
        Names and lengths of the dimensions.

    Examples
    --------
    >>> import granchain as gc
    >>> gc.plan(gc.load_case("steel-chain"), {"striker.speed": [0.5, 1.0]})
    Plan of 2 cases (2 striker.speed)
    """

    def __init__(self, case: Case, vary: Mapping[str, Any], how: str, n: int, seed: int):
        self.case, self.vary, self.how, self.n, self.seed = case, vary, how, n, seed
        values = {k: v.values if isinstance(v, Derived) else v for k, v in vary.items()}
        self.listed = {key: each for key, each in values.items() if isinstance(each, list)}
        self.drawn = {key: each for key, each in values.items() if is_distribution(each)}
        self.disordered = {k: each for k, each in values.items() if isinstance(each, Disorder)}
        self.sizes = {key: len(each) for key, each in self.listed.items()}
        if how == "zip":
            self.sizes = {"run": next(iter(self.sizes.values()), 1)}
        self.sizes |= {"draw": n} if n > 1 else {}
        if how == "sobol":
            self.sizes = {"run": n}
        self.dims, self.shape = tuple(self.sizes), tuple(self.sizes.values())

    def __len__(self) -> int:
        return math.prod(self.shape)

    def __getitem__(self, member: int) -> Case:
        template, _, numbers = self._members[member]
        return with_numbers(template, numbers) if numbers else template

    def __iter__(self) -> Iterator[Case]:
        return (self[member] for member in range(len(self)))

    def __repr__(self) -> str:
        along = ", ".join(f"{size} {name}" for name, size in self.sizes.items())
        return f"Plan of {len(self)} cases" + (f" ({along})" if along else "")

    @cached_property
    def settings(self) -> dict[str, list[dict[str, Any]]]:
        """Changes of the case for each value of each key and of each derived parameter.

        Raises
        ------
        CaseError
            If the function of a derived parameter fails or returns invalid changes.
        """
        values = self.listed | {key: column.tolist() for key, column in self.sample.items()}
        return {
            key: settings_of(key, entry, values[key])
            for key, entry in self.vary.items()
            if key in values
        }

    @property
    def laws(self) -> list[str]:
        """Contact laws that `contact.law` or complete `contact` tables select, one per value.

        It is empty if neither is varied.
        """
        rows = [row for key in self.listed for row in self.settings[key]]
        tables = [row["contact"] for row in rows if isinstance(row.get("contact"), Mapping)]
        names = [table.get("law", self.case.contact.law) for table in tables]
        names = names or [row["contact.law"] for row in rows if "contact.law" in row]
        return [str(name) for name in names]

    @cached_property
    def sample(self) -> dict[str, np.ndarray]:
        """Values of each drawn key, (n,): points of a scrambled Sobol sequence.

        They are the same at every point of the study.
        """
        if not self.drawn:
            return {}
        parts = quasi_random(self.n, len(self.drawn), self.seed)
        return {
            key: np.asarray(distribution.ppf(column), dtype=float)
            for (key, distribution), column in zip(self.drawn.items(), parts.T, strict=True)
        }

    def label(self, key: str) -> tuple[str, str]:
        """Return the unit and the description of a key or of a derived parameter."""
        if not isinstance(self.vary[key], Derived):
            return about_key(self.case, key)
        return "", f"parameter of the study that sets {', '.join(_keys_set(self, key))}"

    def _rows(self) -> Iterator[tuple[dict[str, Any], dict[str, Any], int]]:
        """Yield the values of each member, its changes of the case, and its draw."""
        values = self.listed | {key: column.tolist() for key, column in self.sample.items()}
        indices = [range(len(column)) for column in self.listed.values()]
        together = zip(*indices, strict=True) if indices else [()]
        # by the number of beads, which may be varied too
        disorder_of = cache(self._disorder)
        changed = [key for name in self.settings for key in _keys_set(self, name)]
        counted = any(key.startswith(("chain.beads", "chain.segment")) for key in changed)
        for point in product(*indices) if self.how == "product" else together:
            at = dict(zip(self.listed, point, strict=True))
            surplus = self._inputs_of_other_laws({key: values[key][i] for key, i in at.items()})
            keys = [key for key in self.settings if key not in surplus]
            for draw in range(self.n):
                places = {key: at.get(key, draw) for key in keys}
                changes = {
                    key: value
                    for name, position in places.items()
                    for key, value in self.settings[name][position].items()
                }
                if self.disordered:
                    # an error in these changes is reported with the case of the member
                    with suppress(CaseError):
                        case = self.case.replace(changes) if counted else self.case
                        # only a chain has beads, and it rejects the disorder of another case
                        of_draws = disorder_of(getattr(case, "beads", 1))
                        drawn = {name: rows[draw] for name, rows in of_draws.items()}
                        changes |= {"chain.disorder_seed": self.seed} | drawn
                yield {key: values[key][i] for key, i in places.items()}, changes, draw

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
        here = inputs.get(str(at["contact.law"]))
        return set() if here is None else {*self.vary} & set().union(*inputs.values()) - here

    def changed(self) -> list[tuple[Case, dict[str, Any]]]:
        """Return the case of each member, and its changes.

        Raises
        ------
        CaseError
            If a member is invalid. The message lists each error once, with its first member.
        """
        return [(self[member], changes) for member, (_, changes, _) in enumerate(self._members)]

    @cached_property
    def _members(self) -> list[tuple[Case, dict[str, Any], dict[str, Any]]]:
        """Base, changes, and numbers of each member: its case is the base with these numbers.

        Members that differ only in numbers share a base and are checked together. The first access
        checks all members.
        """
        rows = list(self._rows())
        groups = defaultdict(list)
        for member, (_, changes, _) in enumerate(rows):
            numbers = [key for key, value in changes.items() if is_independent(key, value)]
            fixed = [item for item in changes.items() if item[0] not in numbers]
            groups[repr((numbers, fixed))].append((member, numbers))
        members: list[Any] = [None] * len(rows)
        errors: dict[int, CaseError] = {}
        for group in groups.values():
            (_, numbers), *_ = group
            base = base_of(self.case, [rows[member][1] for member, _ in group], numbers)
            for member, _ in group:
                changes = rows[member][1]
                try:
                    case = base or self.case.replace(changes)
                except CaseError as error:
                    errors[member] = error
                    continue
                members[member] = case, changes, {key: changes[key] for key in numbers if base}
        if errors:
            raise self._error([(errors[member], *rows[member][::2]) for member in sorted(errors)])
        return members

    def _disorder(self, beads: int) -> dict[str, list[Any]]:
        """Return factors or added values of the beads for each draw and each key with disorder.

        The values of a shorter chain are the first values of a longer one.
        """
        columns = {}
        for i, (key, values) in enumerate(self.vary.items()):
            if isinstance(values, Disorder):
                name, added = DISORDERED[key]
                size = beads - 1 if added else beads
                parts = [
                    np.random.default_rng([self.seed, i, draw]).random(size)
                    for draw in range(self.n)
                ]
                columns[name] = values.distribution.ppf(np.clip(parts, TAIL, 1.0 - TAIL)).tolist()
        return columns

    def _error(self, errors: list[tuple[CaseError, dict[str, Any], int]]) -> CaseError:
        """Return all errors of the members, each once, with its first member."""
        # the first message of each error, and the number of members with it
        mistakes: dict[str, tuple[str, int]] = {}
        for error, values, draw in errors:
            texts = {
                key: f"{value:.6g}" if isinstance(value, float) else brief(value)
                for key, value in values.items()
            }
            at = [f"{key} = {text}" for key, text in texts.items()]
            at += [f"draw {draw}"] if self.n > 1 and self.disordered else []
            for sentence in error.problems:
                # the same error at another value counts as one error
                mistake = sentence.partition(": ")[0]
                here = sentence + (f" (at {', '.join(at)})" if at else "")
                first, count = mistakes.get(mistake, (here, 0))
                mistakes[mistake] = first, count + 1
        return CaseError(
            [
                first + (f" {n} of {len(self)} members have this error." if n > 1 else "")
                for first, n in mistakes.values()
            ]
        )


def is_independent(key: str, value: Any) -> bool:
    """Return whether the values of a key are valid in an interval, see `INTERVALS`."""
    number = type(value) is float and math.isfinite(value)
    return (number and key.partition(".")[0] in INTERVAL_TABLES) or any(
        key == name for name, _ in DISORDERED.values()
    )


def base_of(
    case: CheckedCase, members: Sequence[Mapping[str, Any]], numbers: list[str]
) -> CheckedCase | None:
    """Return a case that has all changes of members but their numbers; None if there is none.

    The corners of the box of all numbers are checked, and compared with the changed base.

    Parameters
    ----------
    case : Case
    members : sequence of mapping
        Changes of each member, which differ in the numbers alone.
    numbers : list of str
        Keys of the numbers.
    """
    if not isinstance(case, Case) or 2 ** (len(numbers) + 1) > len(members):
        return None
    levels = []
    for key in numbers:
        column = np.array([changes[key] for changes in members])
        levels.append([column.min(axis=0).tolist(), column.max(axis=0).tolist()])
    try:
        base = case.replace(members[0])
        for corner in product(*levels):
            changes = dict(zip(numbers, corner, strict=True))
            member, quick = case.replace({**members[0], **changes}), with_numbers(base, changes)
            if dict(member) != dict(quick) or member.toml != quick.toml or member != quick:
                return None
    except (CaseError, LookupError, TypeError, ValueError):
        # change and check the members one by one, to get the errors of each
        return None
    return base


def settings_of(name: str, entry: Any, values: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the changes of the case for each value of a key or of a derived parameter."""
    if not isinstance(entry, Derived):
        return [{name: value} for value in values]
    rows, problems, function = [], Problems(), entry.function
    for i, value in enumerate(values):
        try:
            if isinstance(function, Mapping):
                row = {key: column[i] for key, column in function.items()}
            else:
                row = dict(function(value))
            for key in row:
                check_key(key, problems)
        except Exception as error:
            raise CaseError(
                f"{name}: there are no changes at {brief(value)} ({type(error).__name__}: "
                f"{error}). The function must return a mapping of keys of the case to values, for "
                'example {"chain.radius": 0.004, "striker.radius": 0.004}.'
            ) from error
        rows.append(dict(zip(row, plain_tables([*row.values()], problems, name), strict=True)))
    problems.close()
    return rows


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


def plan(
    case: Case, vary: Mapping[str, Any], how: str = "product", n: int = 1, seed: int = 0
) -> Plan:
    """Plan a study: check the values of all keys, and return the cases of its members.

    Members that differ in numbers of the chain, the striker, or the law alone are checked
    together, and their cases are copies, so that large plans are quick.

    Parameters
    ----------
    case : Case or MechanismCase
        Case to vary. It is not changed.
    vary : mapping
        Values for each key with dots: a list, a frozen continuous distribution of scipy.stats such
        as `granchain.normal`, `granchain.disorder`, or a table as in a sweep file. A
        `granchain.derived` parameter has a free name.
    how : {"product", "zip", "sobol"}
        Way to combine the values: "product" makes all combinations of the lists, "zip" takes the
        lists in parallel, and "sobol" makes n members with distributions only.
    n : int
        Number of draws at each point. The draws are the same at every point.
    seed : int
        Seed of all draws.

    Returns
    -------
    Plan
        A sequence of cases.

    Raises
    ------
    CaseError
        If an argument or a member is invalid. The message lists every error.

    Examples
    --------
    >>> import granchain as gc
    >>> members = gc.plan(gc.load_case("steel-chain"), {"striker.speed": [0.5, 1.0]})
    >>> len(members), members[1].striker.speed
    (2, 1.0)
    """
    members = plan_of(case, vary, how, n, seed)
    # checks all members
    members[0]
    return members


def plan_of(case: Any, vary: Any, how: str = "product", n: int = 1, seed: int = 0) -> Plan:
    """Check all arguments and return the plan of a study, whose members are not checked yet.

    Raises
    ------
    CaseError
        If an argument is invalid. The message lists every error.
    """
    check_case(case, CheckedCase)
    problems = Problems()
    problems.check(
        how in HOW,
        "how",
        f"{brief(how)} is unknown",
        f"It must be one of {', '.join(map(brief, HOW))}",
    )
    check_integer("n", n, problems, "It is the number of draws")
    check_integer("seed", seed, problems, "give for example seed=0", least=0)
    entries: dict[str, Any] = {}
    if problems.check(
        isinstance(vary, Mapping) and bool(vary),
        "vary",
        f"{brief(vary)} is not valid" if vary else "missing",
        "Give keys of the case with their values",
        'Write for example {"striker.speed": [0.5, 1.0, 2.0]}',
    ):
        for key, value in vary.items():
            entries[str(key)] = check_entry(case, str(key), value, how, problems)
    problems.close()
    members = Plan(case, entries, how, n, seed)
    lengths = {key: len(values) for key, values in members.listed.items()}
    problems.check(
        how != "zip" or len(set(lengths.values())) < 2,
        "vary",
        "the lists have different lengths: "
        + ", ".join(f"{length} of {key}" for key, length in lengths.items()),
        "With zip, all lists must have the same length",
    )
    problems.check(
        n == 1 or bool(members.drawn or members.disordered),
        "n",
        f"{n} draws are not valid because no key is drawn",
        "It must be 1",
        "Leave n out, or give a key a distribution",
    )
    size = len(members) * MEMBER_BYTES
    problems.check(
        size <= MEMORY and len(members.drawn) <= MOST_DRAWN,
        "vary",
        f"{len(members):.6g} members with {len(members.drawn)} distributions need "
        f"{size / 2**30:.3g} GiB",
        f"At most {MEMORY // 2**30} GiB and {MOST_DRAWN} distributions are allowed",
        "Use fewer values or draws",
    )
    problems.close()
    for name, other in combinations(members.vary, 2):
        for key, same in product(_keys_set(members, name), _keys_set(members, other)):
            problems.check(
                not f"{key}.".startswith(f"{same}.") and not f"{same}.".startswith(f"{key}."),
                name,
                f"{key} is set twice, because {other} sets {same}",
                "A key can be set by one entry of vary only",
                "Remove the key from one of them",
            )
    problems.close()
    return members


def _keys_set(members: Plan, name: str) -> list[str]:
    """Return the keys of the case that an entry sets."""
    if name in members.disordered:
        return [DISORDERED[name][0]]
    if not isinstance(members.vary[name], Derived):
        return [name]
    return [*dict.fromkeys(key for row in members.settings[name] for key in row)]


def check_key(key: str, problems: Problems) -> None:
    """Check that a key of the case can be varied."""
    problems.check(
        key not in RESERVED_NAMES and not key.startswith(("sensors.beads", "title")),
        key,
        "this key cannot be varied",
        "Only keys that change the results can be varied",
        "Set it in the case",
    )


def check_entry(case: CheckedCase, key: str, value: Any, how: str, problems: Problems) -> Any:
    """Check that a key can be varied with its values, and return these."""
    entry = values_of(key, value, problems)
    if isinstance(entry, Derived):
        problems.check(
            re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", key) is not None
            and key not in (*RESERVED_NAMES, *type(case).model_fields, *case.measured, "title"),
            key,
            "a derived parameter cannot have this name",
            "It must be a name of letters, digits, - and _ that neither the case nor the results "
            "of a study use",
            "Write for example ratio",
        )
    else:
        check_key(key, problems)
    values = entry.values if isinstance(entry, Derived) else entry
    if isinstance(values, list):
        values[:] = plain_tables(values, problems, key)
        problems.check(
            how != "sobol",
            key,
            "a list is not valid with sobol",
            "It must be a distribution, such as { uniform = [low, high] }",
            "Write a distribution, or use product",
        )
        plain = [
            value if isinstance(value, (bool, int, float, str)) else repr(value) for value in values
        ]
        ((repeated, most),) = Counter(plain).most_common(1)
        problems.check(
            how != "product" or most == 1,
            key,
            f"{brief(repeated)} is listed more than once",
            "List each value once",
            "Remove the duplicates",
        )
    elif isinstance(entry, Disorder):
        _, added = DISORDERED.get(key, ("", entry.add))
        problems.check(
            key in DISORDERED and entry.add == added,
            key,
            f"disorder that {'is added' if entry.add else 'multiplies'} is not valid here",
            f"Disorder is allowed in {', '.join(DISORDERED)}, with add = true only for chain.gap",
        )
    return entry


# --------------------------------------------------------------------------------------------------
# Labels


def vary_json(members: Plan) -> str:
    """Return the varied values of a plan as JSON text, in the form of a sweep file."""
    tables = {}
    for name, entry in members.vary.items():
        values = entry.values if isinstance(entry, Derived) else entry
        tables[name] = table_of(values) if is_distribution(values) else values
        if isinstance(entry, Disorder):
            tables[name] = {"disorder": table_of(entry.distribution), "add": entry.add}
        elif isinstance(entry, Derived):
            rows, keys = members.settings[name], _keys_set(members, name)
            columns = {key: [row.get(key) for row in rows] for key in keys}
            tables[name] = {"values": tables[name], "keys": columns}
    return canonical(tables)
