"""Laws that compete: the keys that are free in each, which of them differ significantly, and their
ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from granchain.contact import laws as known_laws
from granchain.contact.law import Quantity
from granchain.contact.user import advice_about
from granchain.keys import Problems, shown, suggestion
from granchain.markup import card, table
from granchain.plain_data import plain_data

# Differences of a criterion by less than so many of its scatters, or than such a number, tell
# nothing: Burnham & Anderson 2002, Model selection and multimodel inference, sec. 2.6,
# doi:10.1007/b97636.
SCATTERS, NO_SUPPORT_LOST = 2.0, 2.0

_Value = TypeVar("_Value")
_Entry = TypeVar("_Entry")


class Ranking(list[_Entry]):
    """Laws with their answers, best first.

    Parameters
    ----------
    entries : sequence
        Each with `law`, `rank`, `cells` for a table and `as_dict`.
    heading : str
        Over them in a notebook.
    shared : dict
        What is the same for all.
    """

    def __init__(self, entries: Sequence[_Entry], heading: str = "", **shared: Any):
        super().__init__(entries)
        self.heading, self.shared = heading, shared

    def as_dict(self) -> dict[str, Any]:
        """What is shared, and under "laws" each entry, as plain data."""
        return {**plain_data(self.shared), "laws": [one.as_dict() for one in self._entries]}

    @property
    def messages(self) -> list[str]:
        """Those of all entries, each once."""
        return list(dict.fromkeys(words for one in self._entries for words in one.messages))

    @property
    def _entries(self) -> list[Any]:
        return list(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: rank, law, what was found and what is left."""
        cells = [{"rank": str(one.rank), "law": one.law} | one.cells for one in self._entries]
        columns = list(dict.fromkeys(name for one in cells for name in one))
        rows = [[one.get(name, "-") for name in columns] for one in cells]
        return card(self.heading, table(columns, rows, styled=True), notes=self.messages)


class Apart(NamedTuple):
    """How far a law is from another one by a criterion, this less the other.

    Attributes
    ----------
    law : str
        The other.
    difference, scatter : float
        The scatter is infinite where there is one block of numbers.
    told : bool
        Whether the two differ significantly.
    """

    law: str
    difference: float
    scatter: float
    told: bool


def is_law(where: str, name: Any, problems: Problems) -> bool:
    """Whether there is a law of this name; reported where there is none."""
    known = known_laws()
    installed = advice_about(name)
    advice = "Check the name. To load a law from your own file, use --law-module"
    return problems.check(
        isinstance(name, str) and name in known,
        where,
        f"{shown(name)} is unknown",
        'It must be a law that "granchain laws" lists',
        installed or suggestion(name, known, advice),
    )


def check_measure(measure: Any, allowed: Collection[str], problems: Problems) -> None:
    """Report a word for what is compared that is none of those allowed."""
    problems.check(
        measure in allowed,
        "measure",
        f"{shown(measure)} is unknown",
        f"It must be one of {', '.join(allowed)}",
        suggestion(measure, allowed, ""),
    )


def number_inputs(law: str) -> dict[str, Quantity]:
    """The inputs of a law that are numbers, by name."""
    return {one.name: one for one in known_laws()[law].inputs if one.kind == "number"}


def knows(law: str, key: str) -> bool:
    """Whether a law takes a number at a key of a case: at those outside `contact` every law."""
    table, _, name = key.partition(".")
    return table != "contact" or name.partition(".")[0] in {*number_inputs(law), "pair"}


def check_known(where: str, law: str, key: str, problems: Problems) -> bool:
    """Whether a law knows a free key; reported where it does not."""
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
    """What is free in each law: what is shared by those that know it, and its own.

    Parameters
    ----------
    laws : sequence of str
    shared : mapping
        By key of a case, such as "contact.restitution"; what does not stand in `contact` every
        law knows.
    own : mapping of str to mapping
        By law, and by key.
    problems : Problems
        Gets what no law knows, and laws that are left without.
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
    """Of each law, how far it is from each other one.

    Parameters
    ----------
    laws : sequence of str
    criteria : sequence of float
        Of each law, the lower the better.
    blocks : sequence of array (block,)
        What each block of the measured numbers adds to the criterion of each law. The scatter of a
        difference is that of its sums over all draws of as many blocks, with replacement (Kuensch
        1989, doi:10.1214/aos/1176347265; Vuong 1989, doi:10.2307/1912557), which needs no draws.
    left : sequence of float
        Of each law, which part of the measured numbers is left beside the numbers found: what is
        left over scatters by so much less than noise (MacKinnon & White 1985,
        doi:10.1016/0304-4076(85)90158-7).
    """
    found = []
    for i, own in enumerate(criteria):
        row = []
        for j, rival in enumerate(criteria):
            if i == j:
                continue
            apart, count = blocks[i] - blocks[j], len(blocks[i])
            # a single block shows no scatter, nor does a law with as many parameters as numbers
            free = min(left[i], left[j])
            several = count > 1 and free > 0.0
            scatter = math.sqrt(count * np.var(apart, ddof=1) / free) if several else math.inf
            difference = own - rival
            told = abs(difference) > max(SCATTERS * scatter, NO_SUPPORT_LOST)
            row.append(Apart(laws[j], difference, scatter, told))
        found.append(tuple(row))
    return found


def ranked(values: Sequence[float], alike: Callable[[int, int], bool]) -> list[tuple[int, int]]:
    """Place in the sequence and rank of each value, lowest first, nan last; those that are alike
    share the rank of the first of them, in the order in which they were given."""
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
