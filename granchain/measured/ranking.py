"""Comparison of laws: the keys that are free in each, which laws differ significantly, and their
ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from granchain.case import Case
from granchain.case.document import quantity_of
from granchain.contact import laws as known_laws
from granchain.contact.law import Quantity
from granchain.keys import Problems, brief, suggestion
from granchain.measured.about import AboutTable, about_in
from granchain.plain_data import canonical
from granchain.store import Answer, Label

# Multiple of the scatter, and value, that a significant difference of a criterion must exceed:
# Burnham & Anderson 2002, Model selection and multimodel inference, sec. 2.6, doi:10.1007/b97636.
SCATTERS, NO_SUPPORT_LOST = 2.0, 2.0

_Value = TypeVar("_Value")
_Entry = TypeVar("_Entry", bound=Answer)
_PAIRS = ("law", "other_law")


class Ranking(Answer, Generic[_Entry]):
    """Laws with their fits or equivalents, best first.

    `ranking[0]` is the fit or the equivalent of the best law. `len` and iteration apply to all
    laws. In a file, each law is a group.

    Attributes
    ----------
    rank : (n_laws,) array
        Rank of each law, from 1. Laws that do not differ significantly share a rank.
    measure : str
        Quantity that was fitted or compared.
    to : str
        For equivalents: law that the others approximate.
    residual : (n_laws,) array
        For equivalents: root mean square of the differences [1].
    aic, misfit, describes : (n_laws,) array
        For fits: value of each fit.
    aic_difference, aic_scatter : (n_laws, n_laws) array
        For fits: `aic` minus that of the other law, and its scatter, which is infinite for a single
        block.
    distinguishable : (n_laws, n_laws) array
        For fits: whether the two laws differ significantly.

    Notes
    -----
    `ranking["law"]` contains the names of the laws, and `ranking["contact.restitution"]` a key for
    all laws; nan if it is not free. Differences at the sensors are `residuals` of fits and
    `per_bead` of equivalents, (n_laws, n_sensors).

    Examples
    --------
    >>> import granchain as gc
    >>> case = gc.load_case("steel-chain").replace({"contact": {"law": "hertz"}})
    >>> case = case.replace({"chain.beads": 6, "sensors.beads": [4], "time.end": 8e-5})
    >>> free = {"restitution": (0.8, 0.99)}
    >>> ranking = gc.equivalent(case, to="hertz", laws=["flores", "tsuji"], free=free)
    >>> len(ranking), ranking.rank.tolist(), ranking["law"][0] == ranking[0].law
    (2, [1, 2], True)
    """

    labels: ClassVar[Mapping[str, Label]] = {
        "measure": Label((), "", "quantity that was fitted or compared"),
        "to": Label((), "", "law that the others approximate"),
        "law": Label(("law",), "", "contact law"),
        "rank": Label(("law",), "1", "rank of the law; indistinguishable laws share a rank"),
        "sensor_bead": Label(("sensor_bead",), "1", "label of the sensor bead"),
        "other_law": Label(("other_law",), "", "law that a law is compared with"),
        "aic_difference": Label(_PAIRS, "1", "information criterion minus that of the other law"),
        "aic_scatter": Label(_PAIRS, "1", "scatter of the difference of the criteria"),
        "distinguishable": Label(_PAIRS, "1", "whether the two laws differ significantly"),
    }

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[_Entry]:
        return iter(self.groups.values())

    def __getitem__(self, name: Any) -> Any:
        """Return the answer at an index, or a variable by name."""
        return super().__getitem__(name) if isinstance(name, str) else list(self)[name]

    @property
    def cases(self) -> tuple[Case, ...]:
        """Case of each law with its best values."""
        return tuple(entry.case for entry in self if entry.case is not None)

    @property
    def conclusion(self) -> str:
        """Answer in one sentence: the best law, and the laws that are as good."""
        if "describes" not in self.variables:
            return self._best_equivalent()
        best: Any = self[0]
        verbs = [
            ("describe{s} it equally well" if rank == 1 else "describe{s} it with a larger AIC")
            if yes
            else ("do{es} not" if best.describes else "do{es} not either")
            for rank, yes in zip(self.rank, self.describes, strict=True)
        ][1:]
        clauses = [best.conclusion.rstrip(".")]
        for verb in dict.fromkeys(verbs):
            laws = [
                law for law, of_law in zip(self["law"][1:], verbs, strict=True) if of_law == verb
            ]
            listed = " and ".join(filter(None, [", ".join(laws[:-1]), laws[-1]]))
            single = len(laws) == 1
            clauses.append(f"{listed} {verb.format(s='s' * single, es='es' * single)}")
        return "; ".join(clauses) + "."

    def _best_equivalent(self) -> str:
        """Return the best approximation, and the laws with equal residuals, in one sentence."""
        if np.isnan(self.residual[0]):
            return f"None of these laws has a result, so none approximates {self.to}."
        names, ranks = self["law"].tolist(), self.rank.tolist()
        ties = [
            [law for law, rank in zip(names, ranks, strict=True) if rank == tied]
            for tied in dict.fromkeys(ranks)
        ]
        clauses = [
            f"Among these laws, {names[0]} approximates {self.to} best, with a residual of "
            f"{100.0 * self.residual[0]:.3g} % at {len(self.sensor_bead)} sensors",
            *(
                f"{', '.join(tied)} have the same residual within the error of the runs"
                for tied in ties
                if len(tied) > 1
            ),
        ]
        return "; ".join(clauses) + "."

    @property
    def about(self) -> AboutTable | None:
        """Description and source of the measured trace. Only fits have it."""
        return about_in(self.provenance) if "trace_about_json" in self.provenance else None


def ranking_of(
    answers: Sequence[_Entry],
    places: Sequence[tuple[int, int]],
    names: Iterable[str],
    shared: Iterable[str],
    pairs: Mapping[str, np.ndarray],
    reference: str = "",
    **about: Any,
) -> Ranking[_Entry]:
    """Return the ranking of the answers of several laws.

    Parameters
    ----------
    answers : sequence of Answer
        Answer of each law, in any order. The laws are those of `[contact]` in their cases.
    places : sequence of (int, int)
        Index and rank of each answer, as from `ranked`.
    names : iterable of str
        Variables of the answers that become variables of the laws.
    shared : iterable of str
        Variables that are equal in all answers.
    pairs : mapping of str to array (law, law)
        Numbers of each pair of laws, in the order of the answers.
    reference : str
        Law that the others approximate, if any.
    **about
        Further arguments of `Answer`.
    """
    order = [k for k, _ in places]
    entries = [answers[k] for k in order]
    laws = [first_law(entry) for entry in entries]
    columns, labels = along_laws(entries, laws, names)
    data: dict[str, Any] = {"law": laws, "rank": [rank for _, rank in places], **columns}
    data |= {name: entries[0][name] for name in shared}
    if pairs:
        data["other_law"] = laws
        data |= {name: values[np.ix_(order, order)] for name, values in pairs.items()}
    digits = len(str(len(entries)))
    groups = {
        f"{number:0{digits}d}-{law}": entry
        for number, (law, entry) in enumerate(zip(laws, entries, strict=True), 1)
    }
    names_of_laws = ", ".join(filter(None, [reference, *(entry.law for entry in entries)]))
    about["law"] = ", ".join(dict.fromkeys(names_of_laws.split(", ")))
    return Ranking(data, labels=labels, groups=groups, **about)


def first_law(answer: Answer) -> str:
    """Return the law of `[contact]` in the case of an answer, the first of its laws."""
    return answer.law.partition(", ")[0]


def along_laws(
    answers: Sequence[Answer], laws: Sequence[str], names: Iterable[str]
) -> tuple[dict[str, np.ndarray], dict[str, Label]]:
    """Return variables of several answers as columns along their laws, and the labels.

    A number that a law does not have is nan. If the unit depends on the law, each law has a
    separate column.
    """
    data, labels = {}, {}
    for name in sorted(names):
        owners = [entry for entry in answers if name in entry.variables]
        several = len({entry.variables[name].unit for entry in owners}) > 1
        for law in dict.fromkeys(first_law(entry) for entry in owners) if several else ("",):
            column = f"{name}_{law}" if several else name
            chosen = [entry for entry in owners if not several or first_law(entry) == law]
            first = chosen[0].variables[name]
            labels[column] = Label(("law", *first.dims), first.unit, first.long_name)
            data[column] = np.array(
                [entry[name] if entry in chosen else math.nan for entry in answers]
            )
    # in the order in which a file is read
    return data, {column: labels[column] for column in sorted(labels)}


def key_labels(
    case: Case, keys: Iterable[str], meanings: Mapping[str, tuple[tuple[str, ...], str]]
) -> dict[str, Label]:
    """Return the labels of the numbers of keys of a case, with the unit of each key.

    Parameters
    ----------
    case : Case
    keys : iterable of str
    meanings : mapping
        Axes and meaning of further numbers, by the ending of their names, such as "_error".
    """
    units = {key: quantity_of(case, key).unit or "1" for key in keys}
    labels = {key: Label((), unit, f"case parameter {key}") for key, unit in units.items()}
    labels |= {
        f"{key}{ending}": Label(dims, unit, f"{meaning} of {key}")
        for key, unit in units.items()
        for ending, (dims, meaning) in meanings.items()
    }
    # in the order in which a file is read
    return {name: labels[name] for name in sorted(labels)}


def start_case(case: Case) -> dict[str, str]:
    """Return the entry of the provenance with the case of the start."""
    return {"start_case_json": canonical(case.as_given(), ordered=True)}


def is_law(where: str, name: Any, problems: Problems) -> bool:
    """Return whether a law of this name exists, and report it if not."""
    laws = known_laws()
    advice = "Check the name. To load a law from your own file, use --law-module"
    return problems.check(
        isinstance(name, str) and name in laws,
        where,
        f"{brief(name)} is unknown",
        'It must be a law that "granchain laws" lists',
        suggestion(name, laws, advice),
    )


def check_measure(measure: Any, allowed: Collection[str], problems: Problems) -> None:
    """Report a measure that is not allowed."""
    problems.check(
        measure in allowed,
        "measure",
        f"{brief(measure)} is unknown",
        f"It must be one of {', '.join(allowed)}",
        suggestion(measure, allowed, ""),
    )


def number_inputs(law: str) -> dict[str, Quantity]:
    """Return the inputs of a law that are numbers, by name."""
    return {
        quantity.name: quantity
        for quantity in known_laws()[law].inputs
        if quantity.kind == "number"
    }


def has_key(law: str, key: str) -> bool:
    """Return whether a law uses a number at a key; all laws use keys outside `contact`."""
    table, _, name = key.partition(".")
    return table != "contact" or name.partition(".")[0] in {*number_inputs(law), "pair"}


def check_has_key(where: str, law: str, key: str, problems: Problems) -> bool:
    """Return whether a law has a free key, and report it if not."""
    names = list(number_inputs(law))
    return problems.check(
        has_key(law, key),
        where,
        "the law does not have this input",
        f"The inputs are {', '.join(names) or 'none'}",
        suggestion(key.rpartition(".")[2], names, "Leave the law out, or free another input"),
    )


def free_in_each(
    laws: Sequence[str],
    shared: Mapping[str, _Value],
    individual: Mapping[str, Mapping[str, _Value]],
    problems: Problems,
) -> list[dict[str, _Value]]:
    """Return what is free in each law: the shared keys that it has, and its individual keys.

    Parameters
    ----------
    laws : sequence of str
    shared : mapping
        Values by key, such as "contact.restitution". All laws have the keys outside `contact`.
    individual : mapping of str to mapping
        Values by law, then by key.
    problems : Problems
        Receives keys that no law has, and laws without a free key.
    """
    for law in individual.keys() - set(laws):
        allowed = ", ".join(laws) or "none"
        advice = suggestion(law, laws, "Add it to the laws, or remove it")
        problems.add(
            f"free.{law}", "this law is not in the list of laws", f"The laws are {allowed}", advice
        )
    free_keys: list[dict[str, _Value]] = []
    for law in laws:
        applicable = {key: value for key, value in shared.items() if has_key(law, key)}
        free_keys.append(applicable | dict(individual.get(law, {})))
        input_keys = ", ".join(f"contact.{name}" for name in number_inputs(law))
        problems.check(
            bool(free_keys[-1]),
            law,
            "the law has no free key",
            f"At least one is required, such as {input_keys or 'striker.speed'}",
            "Free one of them, or leave the law out",
        )
    names = list(dict.fromkeys(f"contact.{name}" for law in laws for name in number_inputs(law)))
    for key in shared if laws else ():
        problems.check(
            any(has_key(law, key) for law in laws),
            f"free.{key}",
            "none of the laws has this key",
            f"The keys are {', '.join(names) or 'none'}",
            suggestion(key, names, "Free another key"),
        )
    return free_keys


def differences_of_laws(
    criteria: Sequence[float], blocks: Sequence[np.ndarray], freedom: Sequence[float]
) -> dict[str, np.ndarray]:
    """Return the difference of each law from every other law, (law, law).

    The names are those of `Ranking`.

    Parameters
    ----------
    criteria : sequence of float
        Criterion of each law. Lower is better.
    blocks : sequence of array (block,)
        Contributions of blocks of the measured numbers to the criterion of each law. The scatter of
        a difference is that of a block bootstrap, all draws of as many blocks with replacement
        (Kuensch 1989, doi:10.1214/aos/1176347265; Vuong 1989, doi:10.2307/1912557). It has a closed
        form, so no draws are made.
    freedom : sequence of float
        Degrees of freedom of each law as a fraction of the measured numbers. Residuals scatter less
        than noise by this fraction (MacKinnon & White 1985, doi:10.1016/0304-4076(85)90158-7).
    """
    with np.errstate(invalid="ignore"):
        difference = np.subtract.outer(np.array(criteria), np.array(criteria))
    scatter = np.full(difference.shape, math.inf)
    count = len(blocks[0])
    for i, j in np.ndindex(scatter.shape):
        # the scatter of a single block, or of a law with as many parameters as numbers, is unknown
        free = min(freedom[i], freedom[j])
        if count > 1 and free > 0.0:
            variance = count * np.var(blocks[i] - blocks[j], ddof=1)
            scatter[i, j] = math.sqrt(variance / free)
    distinguishable = np.abs(difference) > np.maximum(SCATTERS * scatter, NO_SUPPORT_LOST)
    np.fill_diagonal(scatter, math.nan)
    return {
        "aic_difference": difference,
        "aic_scatter": scatter,
        "distinguishable": distinguishable,
    }


def ranked(values: Sequence[float], alike: Callable[[int, int], bool]) -> list[tuple[int, int]]:
    """Return the index and the rank of each value, lowest first and nan last.

    Values for which `alike` is true share the rank of the first of them, and stay in their order.
    """
    order = sorted(
        range(len(values)), key=lambda k: values[k] if math.isfinite(values[k]) else math.inf
    )
    ranks: list[tuple[int, int]] = []
    first = 0
    for i, k in enumerate(order):
        if not (i and alike(order[first], k)):
            first = i
        ranks.append((first + 1, k))
    return [(k, rank) for rank, k in sorted(ranks)]
