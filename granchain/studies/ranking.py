"""Comparison of laws: the keys that are free in each, which laws differ significantly, and their
ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from granchain.contact import laws as known_laws
from granchain.contact.law import Quantity
from granchain.keys import Problems, shown, suggestion
from granchain.markup import card, table
from granchain.plain_data import plain_data

# Multiple of the scatter, and value, that a significant difference of a criterion must exceed:
# Burnham & Anderson 2002, Model selection and multimodel inference, sec. 2.6, doi:10.1007/b97636.
SCATTERS, NO_SUPPORT_LOST = 2.0, 2.0

_Value = TypeVar("_Value")
_Entry = TypeVar("_Entry")


class Ranking(list[_Entry]):
    """Laws with their results, best first.

    Parameters
    ----------
    entries : sequence
        Results, each with `law`, `rank`, `cells` for a table, and `as_dict`.
    heading : str
        Heading of the table in a notebook.
    shared : dict
        Facts that are the same for all laws.
    """

    def __init__(self, entries: Sequence[_Entry], heading: str = "", **shared: Any):
        super().__init__(entries)
        self.heading, self.shared = heading, shared

    def as_dict(self) -> dict[str, Any]:
        """Return the shared facts, and the list of laws under "laws", as plain data."""
        return {**plain_data(self.shared), "laws": [one.as_dict() for one in self._entries]}

    @property
    def messages(self) -> list[str]:
        """Messages of all entries, without duplicates."""
        return list(dict.fromkeys(words for one in self._entries for words in one.messages))

    @property
    def _entries(self) -> list[Any]:
        return list(self)

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook: rank, law, and the cells of each law."""
        cells = [{"rank": str(one.rank), "law": one.law} | one.cells for one in self._entries]
        columns = list(dict.fromkeys(name for one in cells for name in one))
        rows = [[one.get(name, "-") for name in columns] for one in cells]
        return card(self.heading, table(columns, rows, styled=True), notes=self.messages)


class Apart(NamedTuple):
    """Difference of a criterion between a law and another law.

    Attributes
    ----------
    law : str
        Name of the other law.
    difference, scatter : float
        Value minus that of the other law, and its scatter, which is infinite for a single block.
    told : bool
        Whether the two differ significantly.
    """

    law: str
    difference: float
    scatter: float
    told: bool


def is_law(where: str, name: Any, problems: Problems) -> bool:
    """Return whether a law of this name exists, and report it if not."""
    known = known_laws()
    advice = "Check the name. To load a law from your own file, use --law-module"
    return problems.check(
        isinstance(name, str) and name in known,
        where,
        f"{shown(name)} is unknown",
        'It must be a law that "granchain laws" lists',
        suggestion(name, known, advice),
    )


def check_measure(measure: Any, allowed: Collection[str], problems: Problems) -> None:
    """Report a measure that is not allowed."""
    problems.check(
        measure in allowed,
        "measure",
        f"{shown(measure)} is unknown",
        f"It must be one of {', '.join(allowed)}",
        suggestion(measure, allowed, ""),
    )


def number_inputs(law: str) -> dict[str, Quantity]:
    """Return the inputs of a law that are numbers, by name."""
    return {one.name: one for one in known_laws()[law].inputs if one.kind == "number"}


def knows(law: str, key: str) -> bool:
    """Return whether a law uses a number at a key; all laws use keys outside `contact`."""
    table, _, name = key.partition(".")
    return table != "contact" or name.partition(".")[0] in {*number_inputs(law), "pair"}


def check_known(where: str, law: str, key: str, problems: Problems) -> bool:
    """Return whether a law has a free key, and report it if not."""
    names = list(number_inputs(law))
    return problems.check(
        knows(law, key),
        where,
        "the law does not have this input",
        f"The inputs are {', '.join(names) or 'none'}",
        suggestion(key.rpartition(".")[2], names, "Leave the law out, or free another input"),
    )


def free_in_each(
    laws: Sequence[str],
    shared: Mapping[str, _Value],
    own: Mapping[str, Mapping[str, _Value]],
    problems: Problems,
) -> list[dict[str, _Value]]:
    """Return what is free in each law: the shared keys that it has, and its individual keys.

    Parameters
    ----------
    laws : sequence of str
    shared : mapping
        Values by key, such as "contact.restitution". All laws have the keys outside `contact`.
    own : mapping of str to mapping
        Values by law, then by key.
    problems : Problems
        Receives keys that no law has, and laws without a free key.
    """
    for law in own.keys() - set(laws):
        allowed = ", ".join(laws) or "none"
        advice = suggestion(law, laws, "Add it to the laws, or remove it")
        problems.add(
            f"free.{law}", "this law is not in the list of laws", f"The laws are {allowed}", advice
        )
    found: list[dict[str, _Value]] = []
    for law in laws:
        known = {key: value for key, value in shared.items() if knows(law, key)}
        found.append(known | dict(own.get(law, {})))
        its = ", ".join(f"contact.{name}" for name in number_inputs(law))
        problems.check(
            bool(found[-1]),
            law,
            "the law has no free key",
            f"At least one is required, such as {its or 'striker.speed'}",
            "Free one of them, or leave the law out",
        )
    names = list(dict.fromkeys(f"contact.{name}" for law in laws for name in number_inputs(law)))
    for key in shared if laws else ():
        problems.check(
            any(knows(law, key) for law in laws),
            f"free.{key}",
            "none of the laws has this key",
            f"The keys are {', '.join(names) or 'none'}",
            suggestion(key, names, "Free another key"),
        )
    return found


def differences(
    laws: Sequence[str],
    criteria: Sequence[float],
    blocks: Sequence[np.ndarray],
    left: Sequence[float],
) -> list[tuple[Apart, ...]]:
    """Return the differences of each law from every other law.

    Parameters
    ----------
    laws : sequence of str
    criteria : sequence of float
        Criterion of each law. Lower is better.
    blocks : sequence of array (block,)
        Contributions of blocks of the measured numbers to the criterion of each law. The scatter of
        a difference is that of a block bootstrap, all draws of as many blocks with replacement
        (Kuensch 1989, doi:10.1214/aos/1176347265; Vuong 1989, doi:10.2307/1912557). It has a closed
        form, so no draws are made.
    left : sequence of float
        Degrees of freedom of each law as a fraction of the measured numbers. Residuals scatter less
        than noise by this fraction (MacKinnon & White 1985, doi:10.1016/0304-4076(85)90158-7).
    """
    found = []
    for i, own in enumerate(criteria):
        row = []
        for j, rival in enumerate(criteria):
            if i == j:
                continue
            apart, count = blocks[i] - blocks[j], len(blocks[i])
            # a single block has no scatter, nor does a law with as many parameters as numbers
            free = min(left[i], left[j])
            several = count > 1 and free > 0.0
            scatter = math.sqrt(count * np.var(apart, ddof=1) / free) if several else math.inf
            difference = own - rival
            told = abs(difference) > max(SCATTERS * scatter, NO_SUPPORT_LOST)
            row.append(Apart(laws[j], difference, scatter, told))
        found.append(tuple(row))
    return found


def ranked(values: Sequence[float], alike: Callable[[int, int], bool]) -> list[tuple[int, int]]:
    """Return the index and the rank of each value, lowest first and nan last.

    Values for which `alike` is true share the rank of the first of them, and stay in their order.
    """
    order = sorted(
        range(len(values)), key=lambda k: values[k] if math.isfinite(values[k]) else math.inf
    )
    ranks: list[tuple[int, int]] = []
    first = 0
    for place, k in enumerate(order):
        if not (place and alike(order[first], k)):
            first = place
        ranks.append((first + 1, k))
    return [(k, rank) for rank, k in sorted(ranks)]
