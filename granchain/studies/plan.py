"""What a study computes: the points that its keys span, what is drawn at them, and the case of
each member."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from granchain.case import Case, check_case
from granchain.case.checks import MEMORY
from granchain.case.document import plain_tables
from granchain.errors import CaseError
from granchain.keys import Problems, check_whole, shown
from granchain.studies.distributions import Disorder, Distribution, values_of
from granchain.studies.interruption import scipy_stats, uninterrupted

HOW = ("product", "zip", "sobol")
# What disorder of a key is, as data of the case, and whether it is added.
DISORDERED = {
    "chain.radius": ("chain.radius_factor", False),
    "chain.mass": ("chain.mass_factor", False),
    "chain.material.youngs_modulus": ("chain.modulus_factor", False),
    "chain.gap": ("chain.gap_added", True),
}
# The farthest that a draw may lie in the tails: a sample's 0 would be minus infinity. Of 2^31 draws
# one is beyond.
TAIL = 2.0**-32
# Dimensions of a Sobol sequence that scipy has direction numbers for (Joe & Kuo 2008,
# doi:10.1137/070709359).
MOST_DRAWN = 21201
# Memory of a member's case and record [bytes]; 5 kB measured for a change of one table.
MEMBER_BYTES = 10_000
# Sentences about members that are reported at once.
MOST_SENTENCES = 20
# Names that a variable of the study has.
TAKEN_NAMES = (
    "draw",
    "run",
    "sensor_bead",
    "sample",
    "peak",
    "arrival",
    "width",
    "merged",
    "wave_speed",
    "wave_speed_sensors",
    "transmitted_momentum",
    "transmitted_energy",
    "status",
    "message",
    "law_sha256",
    "point",
    "time_step",
    "time",
    "sensor_force",
    "n_samples",
)


@dataclass(frozen=True)
class Plan:
    """The members of a study, in order: the last dimension changes first.

    Parameters
    ----------
    case : Case
        Of which each member is a change.
    vary : mapping of str to list, Distribution or Disorder
        What each key takes.
    how : {"product", "zip", "sobol"}
    n : int
        Draws at each point; with "sobol", of all.
    seed : int
    """

    case: Case
    vary: Mapping[str, list[Any] | Distribution | Disorder]
    how: str
    n: int
    seed: int

    @property
    def listed(self) -> dict[str, list[Any]]:
        """The keys that take the values of a list."""
        return {key: values for key, values in self.vary.items() if isinstance(values, list)}

    @property
    def drawn(self) -> dict[str, Distribution]:
        """The keys that are drawn from a distribution."""
        return {
            key: values for key, values in self.vary.items() if isinstance(values, Distribution)
        }

    @property
    def disordered(self) -> dict[str, Disorder]:
        """The keys that are drawn for every bead."""
        return {key: values for key, values in self.vary.items() if isinstance(values, Disorder)}

    @property
    def dims(self) -> tuple[str, ...]:
        """The dimensions that members lie along."""
        if self.how == "sobol":
            return ("run",)
        points = ("run",) if self.how == "zip" else tuple(self.listed)
        return (*points, "draw") if self.n > 1 else points

    @property
    def shape(self) -> tuple[int, ...]:
        """How many there are along each."""
        if self.how == "sobol":
            return (self.n,)
        counts = [len(values) for values in self.listed.values()]
        points = tuple(counts[:1] or [1]) if self.how == "zip" else tuple(counts)
        return (*points, self.n) if self.n > 1 else points

    @property
    def members(self) -> int:
        """How many there are."""
        return math.prod(self.shape)

    @cached_property
    def sample(self) -> dict[str, np.ndarray]:
        """(n,) The values of each drawn key: points of a scrambled Sobol sequence, the same at
        every point of the study."""
        if not self.drawn:
            return {}
        parts = quasi_random(self.n, len(self.drawn), self.seed)
        return {
            key: one.ppf(column)
            for (key, one), column in zip(self.drawn.items(), parts.T, strict=True)
        }

    def changes(self) -> Iterator[tuple[dict[str, Any], int]]:
        """What differs from the case in each member, but its disorder, and which draw it is."""
        listed = self.listed
        together = zip(*listed.values(), strict=True) if listed else [()]
        for point in product(*listed.values()) if self.how == "product" else together:
            at = dict(zip(listed, point, strict=True))
            for draw in range(self.n):
                drawn = {key: float(values[draw]) for key, values in self.sample.items()}
                yield (
                    {
                        key: at[key] if key in at else drawn[key]
                        for key in self.vary
                        if key not in self.disordered
                    },
                    draw,
                )

    def cases(self) -> list[Case]:
        """The case of each member; see `changed`."""
        return [case for case, _ in self.changed()]

    def changed(self) -> list[tuple[Case, dict[str, Any]]]:
        """The case of each member, and what is changed in it.

        Raises
        ------
        CaseError
            With the mistakes of all members, each once, and the first member that makes it.
        """
        mistakes: dict[str, list[Any]] = {}
        found = []
        counted = any(
            key.startswith("chain.beads") or key.startswith("chain.segment") for key in self.vary
        )
        for changes, draw in self.changes():
            try:
                beads = self.case.beads
                if self.disordered and counted:
                    beads = self.case.replace(**changes).beads
                whole = changes | self.disorder(draw, beads)
                found.append((self.case.replace(**whole), whole))
            except CaseError as error:
                at = [
                    f"{key} = {value:.6g}"
                    if isinstance(value, float)
                    else f"{key} = {shown(value)}"
                    for key, value in changes.items()
                ]
                at += [f"draw {draw}"] if self.n > 1 and self.disordered else []
                for sentence in error.problems:
                    # the same mistake at another value is the same mistake
                    first = sentence + (f" (at {', '.join(at)})" if at else "")
                    mistakes.setdefault(sentence.partition(": got ")[0], [first, 0])[1] += 1
        if mistakes:
            sentences = [
                first + (f"; so it is at {count} of {self.members} members" if count > 1 else "")
                for first, count in mistakes.values()
            ]
            more = len(sentences) - MOST_SENTENCES
            raise CaseError(
                sentences[:MOST_SENTENCES]
                + ([f"sweep: got {more} more mistakes; mend these first"] if more > 0 else [])
            )
        return found

    def disorder(self, draw: int, beads: int) -> dict[str, Any]:
        """What keys are multiplied by, or what is added to them, bead by bead; of a longer
        chain, those of a shorter one and more."""
        found: dict[str, Any] = {"chain.disorder_seed": self.seed} if self.disordered else {}
        for place, (key, values) in enumerate(self.vary.items()):
            if isinstance(values, Disorder):
                name, added = DISORDERED[key]
                parts = np.random.default_rng([self.seed, place, draw]).random(
                    beads - 1 if added else beads
                )
                found[name] = values.distribution.ppf(np.clip(parts, TAIL, 1.0 - TAIL)).tolist()
        return found

    def as_dict(self) -> dict[str, Any]:
        """As a TOML file writes it, but for the case."""
        vary = {
            key: values if isinstance(values, list) else values.as_dict()
            for key, values in self.vary.items()
        }
        return {"how": self.how, "n": self.n, "seed": self.seed, "vary": vary}


def quasi_random(n: int, dimensions: int, seed: int) -> np.ndarray:
    """(n, dimensions) The first points of a scrambled Sobol sequence, each number between 0 and
    1 and neither."""
    with uninterrupted():
        # an exception is forgotten where SciPy reads the numbers of its sequence: all points would
        # be one
        sequence = scipy_stats().qmc.Sobol(
            dimensions, scramble=True, seed=np.random.default_rng(seed)
        )
        points = sequence.random_base2(max(0, math.ceil(math.log2(n))))[:n]
    return np.clip(points, TAIL, 1.0 - TAIL)


def plan_of(case: Any, vary: Any, how: str = "product", n: int = 1, seed: int = 0) -> Plan:
    """A study, after all arguments are checked.

    Raises
    ------
    CaseError
        With every mistake.
    """
    check_case(case)
    problems = Problems()
    if how not in HOW:
        problems.add("how", shown(how), ", ".join(f'"{word}"' for word in HOW), "name one of them")
    check_whole("n", n, problems, "give the number of draws")
    check_whole("seed", seed, problems, "give for example seed=0", least=0)
    found: dict[str, Any] = {}
    if not isinstance(vary, Mapping) or not vary:
        got = "nothing" if not vary else shown(vary)
        problems.add(
            "vary",
            got,
            "keys of the case, each with what it takes",
            'write for example {"striker.speed": [0.5, 1.0, 2.0]}',
        )
    else:
        for key, value in vary.items():
            values = values_of(str(key), value, problems)
            if isinstance(values, list):
                values = plain_tables(values, problems, str(key))
            check_key(str(key), values, how, problems)
            found[str(key)] = values
    if problems.sentences:
        raise CaseError(problems.sentences)
    plan = Plan(case, found, how, n, seed)
    check_plan(plan, problems)
    if problems.sentences:
        raise CaseError(problems.sentences)
    return plan


def check_key(key: str, values: Any, how: str, problems: Problems) -> None:
    """A key can be varied, and so."""
    if key in TAKEN_NAMES or key.startswith(("sensors.beads", "title")):
        problems.add(
            key, "a key to vary", "keys that change what is computed", "set it in the case itself"
        )
    if isinstance(values, list) and how == "sobol":
        problems.add(
            key,
            "a list",
            "distributions with sobol",
            "write a distribution, such as { uniform = [low, high] }, or take product",
        )
    if isinstance(values, list) and how == "product":
        counts = Counter(
            value if isinstance(value, (bool, int, float, str)) else repr(value) for value in values
        )
        value, most = counts.most_common(1)[0]
        if most > 1:
            problems.add(
                key, f"{shown(value)} more than once", "each value once", "take out the doubles"
            )
    if isinstance(values, Disorder):
        if key not in DISORDERED:
            problems.add(
                key, "disorder", f"disorder of {', '.join(DISORDERED)}", "name one of these keys"
            )
        elif values.add != DISORDERED[key][1]:
            needed = "add = true" if DISORDERED[key][1] else "a factor"
            got = "disorder that is added" if values.add else "disorder that multiplies"
            problems.add(
                key,
                got,
                f"{needed} for {key}",
                "set add accordingly" if not values.add else "leave add out",
            )


def check_plan(plan: Plan, problems: Problems) -> None:
    """What keys mean to each other, and to memory."""
    lengths = {key: len(values) for key, values in plan.listed.items()}
    if plan.how == "zip" and len(set(lengths.values())) > 1:
        got = ", ".join(f"{length} of {key}" for key, length in lengths.items())
        problems.add("vary", got, "lists of one length with zip", "give as many values of each")
    random = bool(plan.drawn or plan.disordered)
    if plan.n > 1 and not random:
        problems.add(
            "n",
            f"{plan.n} draws of nothing",
            "1 where no key is drawn",
            "leave n out, or give a key a distribution",
        )
    if len(plan.drawn) > MOST_DRAWN:
        problems.add(
            "vary", f"{len(plan.drawn)} distributions", f"at most {MOST_DRAWN}", "draw fewer keys"
        )
    if plan.members * MEMBER_BYTES > MEMORY:
        got = (
            f"{plan.members:.6g} members, which take {plan.members * MEMBER_BYTES / 2**30:.3g} GiB"
        )
        problems.add("vary", got, f"{MEMORY // 2**30} GiB", "take fewer values or draws")
