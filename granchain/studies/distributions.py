"""What a study draws from: distributions of a number, disorder from bead to bead, and ranges;
as objects and as a TOML file writes them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from granchain.errors import CaseError
from granchain.keys import Problems, shown, suggestion
from granchain.studies.interruption import scipy_stats

# Distributions with parameters of our own; any other name is that of a continuous distribution of
# scipy.stats, with its own parameters.
OWN_DISTRIBUTIONS = {
    "normal": ("mean", "sd"),
    "uniform": ("low", "high"),
    "lognormal": ("median", "sigma"),
}
# Ours: more points on one axis are no study.
MOST_POINTS = 10_000_000


@dataclass(frozen=True)
class Distribution:
    """A continuous distribution of one number; made by `normal`, `uniform`, `lognormal` or
    `distribution`.

    Parameters
    ----------
    name : str
        "normal", "uniform", "lognormal", or a name of scipy.stats.
    parameters : tuple of (str, float)
        In the order in which they were given.

    Raises
    ------
    CaseError
        With every mistake.
    """

    name: str
    parameters: tuple[tuple[str, float], ...]

    def __post_init__(self) -> None:
        problems = Problems()
        where = self.name if isinstance(self.name, str) else "distribution"
        check_distribution(self.name, dict(self.parameters), where, problems)
        if problems.sentences:
            raise CaseError(problems.sentences)

    @cached_property
    def _frozen(self) -> Any:
        return scipy_distribution(self.name, dict(self.parameters))

    def ppf(self, part: ArrayLike) -> np.ndarray:
        """The number below which this part of all draws lies.

        Parameters
        ----------
        part : array
            Between 0 and 1.

        Returns
        -------
        array
            Of the shape of `part`.
        """
        return np.asarray(self._frozen.ppf(np.asarray(part, dtype=float)), dtype=float)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{name} {value:g}' for name, value in self.parameters)})"

    def as_dict(self) -> dict[str, Any]:
        """As a TOML file writes it."""
        return {self.name: dict(self.parameters)}


@dataclass(frozen=True)
class Disorder:
    """A number drawn anew for every bead, or for every gap; made by `disorder`.

    Parameters
    ----------
    distribution : Distribution
    add : bool
        Whether it is added to the value of the case, which it multiplies otherwise.
    """

    distribution: Distribution
    add: bool = False

    def __str__(self) -> str:
        return f"disorder({self.distribution}{', added' if self.add else ''})"

    def as_dict(self) -> dict[str, Any]:
        """As a TOML file writes it."""
        return {"disorder": self.distribution.as_dict()} | ({"add": True} if self.add else {})


def normal(mean: float, sd: float) -> Distribution:
    """The normal distribution of a mean and a standard deviation."""
    return Distribution("normal", (("mean", mean), ("sd", sd)))


def uniform(low: float, high: float) -> Distribution:
    """Equally likely everywhere from low to high."""
    return Distribution("uniform", (("low", low), ("high", high)))


def lognormal(median: float, sigma: float) -> Distribution:
    """A number whose logarithm is normal: of that median, and sigma the standard deviation of
    the logarithm [1]."""
    return Distribution("lognormal", (("median", median), ("sigma", sigma)))


def distribution(name: str, **parameters: float) -> Distribution:
    """Any continuous distribution of scipy.stats by its name and parameters:
    `distribution("weibull_min", c=2.0, scale=1.8)`."""
    return Distribution(name, tuple(parameters.items()))


def disorder(distribution: Distribution, add: bool = False) -> Disorder:
    """A number for every bead: `{"chain.radius": disorder(normal(1.0, 0.05))}` multiplies each
    bead's radius by one of its own.

    Parameters
    ----------
    distribution : Distribution
        Of the factor [1]; with `add`, of what is added, in the unit of the key.
    add : bool
        Add it to the value of the case, for gaps.

    Raises
    ------
    CaseError
        Where it is no distribution.
    """
    if not isinstance(distribution, Distribution):
        raise CaseError(
            f"disorder: got {shown(distribution)}, allowed a distribution; write for example "
            "disorder(normal(1.0, 0.05))"
        )
    return Disorder(distribution, bool(add))


def check_distribution(
    name: Any, parameters: Mapping[str, Any], where: str, problems: Problems
) -> None:
    """Add what is wrong with a distribution."""
    own, continuous = OWN_DISTRIBUTIONS.get(name, ()), continuous_distributions()
    if not own and name not in continuous:
        allowed = f"{', '.join(OWN_DISTRIBUTIONS)}, or a continuous distribution of scipy.stats"
        words = [*OWN_DISTRIBUTIONS, *continuous]
        advice = suggestion(name, words, "see scipy.stats for their names")
        problems.add(where, shown(name), allowed, advice)
        return
    shapes = [] if own else (getattr(scipy_stats(), name).shapes or "").replace(",", " ").split()
    required, optional = own or shapes, () if own else ("loc", "scale")
    for key, value in parameters.items():
        if key not in (*required, *optional):
            problems.add_unknown(f"{where}.{key}", (*required, *optional), "take it out")
        elif not is_number(value):
            problems.add(f"{where}.{key}", shown(value), "a finite number", "give a number")
    for key in required:
        if key not in parameters:
            advice = f"give {', '.join(required)}"
            problems.add(f"{where}.{key}", "nothing", "a finite number", advice)
    with np.errstate(all="ignore"):
        # scipy gives no number for parameters out of their range
        good = problems.clear(where) and np.isfinite(scipy_distribution(name, parameters).ppf(0.5))
    if not good and problems.clear(where):
        got = ", ".join(f"{key} {value:g}" for key, value in parameters.items())
        allowed = (
            "spreads above 0 and a low end below the high one"
            if own
            else f"the range of scipy.stats.{name}"
        )
        problems.add(where, got, allowed, "change them, or give a number itself in a list")


def is_number(value: Any) -> bool:
    """Whether something is a finite number, and not true or false."""
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(
        value, bool
    )
    return number and math.isfinite(value)


def continuous_distributions() -> list[str]:
    """Names of the continuous distributions of scipy.stats."""
    stats = scipy_stats()
    return sorted(
        name for name in dir(stats) if isinstance(getattr(stats, name), stats.rv_continuous)
    )


def scipy_distribution(name: str, parameters: Mapping[str, float]) -> Any:
    """The frozen distribution of scipy.stats."""
    stats = scipy_stats()
    if name == "normal":
        return stats.norm(parameters["mean"], parameters["sd"])
    if name == "uniform":
        return stats.uniform(parameters["low"], parameters["high"] - parameters["low"])
    if name == "lognormal":
        return stats.lognorm(parameters["sigma"], scale=parameters["median"])
    return getattr(stats, name)(**parameters)


# --------------------------------------------------------------------------------------------------
# As a TOML file writes it

_FORMS = (
    "a list, { linear = [low, high, count] }, { log = [low, high, count] }, { normal = [mean, sd] "
    "}, { uniform = [low, high] }, { lognormal = [median, sigma] }, another of scipy.stats as { "
    "NAME = { parameter = number } }, or { disorder = { normal = [1.0, sd] } }"
)


def values_of(
    where: str, value: Any, problems: Problems
) -> list[Any] | Distribution | Disorder | None:
    """What a key takes in a study: the values of a list or a range, a distribution, or disorder;
    None where it is none of these.

    Parameters
    ----------
    where : str
        The key, for sentences.
    value : object
        As a caller or a TOML file gives it.
    problems : Problems
        Takes every mistake.
    """
    if isinstance(value, (Distribution, Disorder)):
        return value
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if isinstance(value, (list, tuple, range)):
        if not len(value):
            problems.add(
                where, "an empty list", "one value or more", "give values, or take the key out"
            )
            return None
        return [entry.item() if isinstance(entry, np.generic) else entry for entry in value]
    if isinstance(value, Mapping):
        names = [name for name in value if name != "add"]
        if len(names) == 1 and names[0] in ("linear", "log") and "add" not in value:
            return _range(f"{where}.{names[0]}", names[0], value[names[0]], problems)
        if names == ["disorder"]:
            inner = values_of(f"{where}.disorder", value["disorder"], problems)
            if isinstance(inner, Distribution) and isinstance(value.get("add", False), bool):
                return Disorder(inner, value.get("add", False))
            if inner is not None:
                got = (
                    shown(value["add"])
                    if isinstance(inner, Distribution)
                    else shown(value["disorder"])
                )
                problems.add(
                    f"{where}.disorder",
                    got,
                    "a distribution, and add = true or false",
                    "write { disorder = { normal = [1.0, 0.05] } }",
                )
            return None
        if len(names) == 1 and "add" not in value:
            return distribution_of(f"{where}.{names[0]}", names[0], value[names[0]], problems)
    problems.add(where, shown(value), _FORMS, "write one of these; a single value is a list of one")
    return None


def distribution_of(where: str, name: str, given: Any, problems: Problems) -> Distribution | None:
    """The distribution of `{ NAME = [..] }` or `{ NAME = { parameter = .. } }`; None where
    there is a mistake in it."""
    own = OWN_DISTRIBUTIONS.get(name, ())
    if isinstance(given, Mapping):
        parameters = {str(key): value for key, value in given.items()}
    elif own and isinstance(given, (list, tuple)) and len(given) == len(own):
        parameters = dict(zip(own, given, strict=True))
    elif own or name in continuous_distributions():
        allowed = (
            f"[{', '.join(own)}]"
            if own
            else "a table of the parameters of scipy.stats, such as { loc = 0.0, scale = 1.0 }"
        )
        problems.add(where, shown(given), allowed, "give its parameters")
        return None
    else:
        words = [*OWN_DISTRIBUTIONS, "linear", "log", "disorder", *continuous_distributions()]
        problems.add(
            where, "an unknown distribution", _FORMS, suggestion(name, words, "write one of these")
        )
        return None
    before = len(problems.sentences)
    check_distribution(name, parameters, where, problems)
    return (
        Distribution(name, tuple(parameters.items())) if len(problems.sentences) == before else None
    )


def _range(where: str, kind: str, given: Any, problems: Problems) -> list[float] | None:
    """The values of `{ linear = [low, high, count] }` or `{ log = [low, high, count] }`, both
    ends among them."""
    allowed = "[low, high, count], of finite numbers and a whole number from 1"
    if not isinstance(given, (list, tuple)) or len(given) != 3 or not all(map(is_number, given)):
        problems.add(where, shown(given), allowed, f"write {{ {kind} = [0.1, 10, 21] }}")
        return None
    low, high, count = given
    if isinstance(count, float) or not 1 <= count <= MOST_POINTS:
        problems.add(
            where,
            f"a count of {count:g}",
            f"a whole number from 1 to {MOST_POINTS}",
            "give how many values there are",
        )
    elif kind == "log" and not (low > 0.0 and high > 0.0):
        problems.add(
            where,
            f"{low:g} to {high:g}",
            "ends above 0 on a logarithmic range",
            "raise the ends, or write linear",
        )
    else:
        return [
            float(one) for one in (np.geomspace if kind == "log" else np.linspace)(low, high, count)
        ]
    return None
