"""Equivalence: with which inputs does one contact law do in a chain what another one does, and what
remains unexplained?

A chain under the law that is to be stood in for is run once. Under each other law all points of a
grid of its free inputs are run together; from every lowest point of the grid a way leads down to
the least root mean square, over the sensors, of the differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from granchain.case import Case
from granchain.contact import laws as known_laws
from granchain.errors import CaseError, RunError
from granchain.keys import Problems, shown, suggestion
from granchain.plain_data import plain_data
from granchain.studies.distributions import is_number
from granchain.studies.interruption import scipy_stats, uninterrupted
from granchain.studies.measures import Measures, measure_all
from granchain.studies.members import check_members
from granchain.studies.search import Lowest, descend, not_told_apart

COMPARED_BY = ("peaks", "arrivals", "traces")
FREE_RESTITUTION: Mapping[str, tuple[float, float]] = {"restitution": (0.05, 0.99)}
# Points of the grid of one free input: of all laws, none has two minima closer than a tenth of the
# range of the restitution.
GRID_POINTS = 25
# Points for several free inputs, spread evenly (Sobol), and ways down from the best of them.
SPREAD, WAYS = 64, 4
# Parts of a free input's range: closer than the first to an end is at the end; closer than the
# second are one minimum.
AT_END, SAME = 1e-3, 2e-2
# Residuals that differ by less than this part are one: the step and the samples of a run leave some
# 1e-4 of a residual of 5 %.
TIE = 1e-3
# Where a way down ends that says how the answer moves: to three digits.
ROUGH = 1e-4
# Of the case's own speed and length, where the answer is found again.
SPEED_FACTORS, LENGTHS = (0.5, 2.0), (0.5, 1.5)


class Minimum(NamedTuple):
    """Another minimum: values of the free inputs, and the residual there."""

    inputs: dict[str, float]
    residual: float


class Moved(NamedTuple):
    """The answer for the chain with one key changed.

    Attributes
    ----------
    key : str
        "striker.speed" [m/s] or "chain.beads".
    value : float
    inputs : dict of str to float
        The free inputs that are best there.
    residual, kept : float
        What is left with these, and with the inputs of the case itself.
    at_bound : tuple of str
        Free inputs that lie at an end of their range there.
    """

    key: str
    value: float
    inputs: dict[str, float]
    residual: float
    kept: float
    at_bound: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Equivalent:
    """How well a law stands in for another one, and with which inputs.

    Attributes
    ----------
    law, to : str
        The law, and the one that it stands in for.
    inputs : dict of str to float
        The free inputs at the least residual; empty where every run failed.
    residual : float
        Root mean square of `per_bead` [1]; nan where every run failed.
    per_bead : array (n_sensors,)
        What remains unexplained: of peaks and arrivals the difference relative to that under the
        other law, with its sign; of traces the norm of the difference over the norm of the force
        [1].
    sensor_bead : tuple of int
    at_bound : tuple of str
        Free inputs whose answer lies at an end of their range: beyond it there may be a better one.
    minima : tuple of Minimum
        Other minima, best first.
    moves : tuple of Moved
        How the answer moves with striker speed and chain length.
    rank : int
        From 1; laws whose residuals are equal share it.
    measure : str
    free : dict of str to (float, float)
    case : Case
        With the law and its inputs.
    grid, grid_residual : array (n, n_free), array (n,)
        The points that were looked at first, at the step "fast", and the residual there; nan where
        a run failed.
    messages : tuple of str
        What the reader should know.
    """

    law: str
    to: str
    inputs: dict[str, float]
    residual: float
    per_bead: np.ndarray = field(repr=False)
    sensor_bead: tuple[int, ...]
    at_bound: tuple[str, ...]
    minima: tuple[Minimum, ...]
    moves: tuple[Moved, ...] = field(repr=False)
    rank: int
    measure: str
    free: dict[str, tuple[float, float]] = field(repr=False)
    case: Case = field(repr=False)
    grid: np.ndarray = field(repr=False)
    grid_residual: np.ndarray = field(repr=False)
    messages: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, words, lists and dicts; a number that is not finite is None."""
        names = (
            "law",
            "rank",
            "inputs",
            "residual",
            "per_bead",
            "at_bound",
            "minima",
            "moves",
            "grid",
            "grid_residual",
            "messages",
        )
        found: dict[str, Any] = plain_data({name: getattr(self, name) for name in names})
        return found


def equivalent(
    case: Case,
    to: str = "ma-liu",
    laws: Sequence[str | Mapping[str, Any]] = (),
    free: Mapping[str, tuple[float, float]] | None = None,
    measure: str = "peaks",
    *,
    moves: bool = True,
    threads: int | None = None,
) -> list[Equivalent]:
    """Find the inputs with which each law comes nearest to what another law does in a chain.

    Parameters
    ----------
    case : Case
        With sensors; it is switched to the law `to` where it has another.
    to : str
        The law that is to be stood in for.
    laws : sequence of str or mapping
        The laws; a mapping, such as {"law": "flores", "damping": "identified"}, gives inputs that
        are not free.
    free : mapping of str to (low, high), optional
        The inputs that are searched, with their ranges; default: restitution from 0.05 to 0.99.
    measure : {"peaks", "arrivals", "traces"}
        What is compared: peaks of the first pulse (default), their times, or the whole traces.
    moves : bool
        Whether to find the answer again at other striker speeds and chain lengths.
    threads : int, optional
        As many as there are processors for this process, unless given.

    Returns
    -------
    list of Equivalent
        Best first; a law under which every run failed comes last.

    Raises
    ------
    CaseError
        With every mistake in what is asked for, before anything is computed; and where a pulse does
        not reach a sensor.
    """
    threads = check_members([case], threads)
    asked = checked_search(case, to, laws, FREE_RESTITUTION if free is None else free, measure)
    target = Target(asked.reference, asked.measure)
    found = _searched(target, asked, threads)
    return _ranked(_with_moves(found, asked, threads) if moves else found)


# --------------------------------------------------------------------------------------------------
# What is asked


class Candidate(NamedTuple):
    """A law, and its inputs that are not free."""

    law: str
    inputs: dict[str, Any]

    def change(self, names: Sequence[str], point: Sequence[float] | np.ndarray) -> dict[str, Any]:
        """The changes that put it into a case."""
        free = dict(zip(names, (float(value) for value in point), strict=True))
        return {"contact.law": self.law} | {
            f"contact.{name}": value for name, value in (self.inputs | free).items()
        }


class EquivalenceSearch(NamedTuple):
    """What is asked for, looked through."""

    reference: Case
    candidates: list[Candidate]
    names: tuple[str, ...]
    low: np.ndarray
    high: np.ndarray
    measure: str


def checked_search(case: Case, to: Any, laws: Any, free: Any, measure: Any) -> EquivalenceSearch:
    """The search, after all arguments are checked."""
    problems = Problems()
    if measure not in COMPARED_BY:
        problems.add(
            "measure",
            shown(measure),
            ", ".join(COMPARED_BY),
            suggestion(measure, COMPARED_BY, "name one of these"),
        )
    reference = None
    if to in known_laws():
        changes: dict[str, Any] = {
            "energy.ledger": False,
            "snapshots": None,
            "sensors.contacts": [],
        }
        try:
            reference = case.replace(
                **changes, **({} if case.contact.law == to else {"contact.law": to})
            )
        except CaseError as error:
            problems.repeat(error.problems)
    else:
        problems.add(
            "to",
            shown(to),
            'a name that "granchain laws" lists',
            suggestion(to, known_laws(), "check the name"),
        )
    if not case.sensors.beads:
        problems.add(
            "sensors.beads",
            "none",
            "one sensor or more",
            "name the beads in which laws are compared",
        )
    ranges = _ranges(free, problems)
    candidates = _candidates(laws, problems)
    for candidate in candidates:
        inputs = {quantity.name: quantity for quantity in known_laws()[candidate.law].inputs}
        for name, ends in ranges.items():
            where = f"{candidate.law}.{name}"
            if name not in inputs or inputs[name].kind != "number":
                numbers = [one.name for one in inputs.values() if one.kind == "number"]
                advice = suggestion(name, numbers, "leave the law out, or free another input")
                problems.add(
                    where,
                    "a free input that it does not know",
                    ", ".join(numbers) or "none",
                    advice,
                )
            elif any(inputs[name].problem(end) for end in ends):
                problems.add(
                    where, f"{ends[0]:g} to {ends[1]:g}", inputs[name].range, "narrow the range"
                )
            elif name in candidate.inputs:
                problems.add(
                    where, "a value, and a range to search", "one of the two", "take one out"
                )
    if reference is not None and not problems.sentences:
        middle = [
            math.sqrt(low * high) if low > 0.0 else 0.5 * (low + high)
            for low, high in ranges.values()
        ]
        for candidate in candidates:
            try:
                reference.replace(**candidate.change(tuple(ranges), middle))
            except CaseError as error:
                problems.repeat(f"{candidate.law}: {sentence}" for sentence in error.problems)
    if problems.sentences or reference is None:
        raise CaseError(problems.sentences)
    low, high = (np.array([ends[i] for ends in ranges.values()], dtype=float) for i in (0, 1))
    return EquivalenceSearch(reference, candidates, tuple(ranges), low, high, measure)


def _ranges(free: Any, problems: Problems) -> dict[str, tuple[float, float]]:
    """The free inputs with their ends; a name may be the case's key, contact.restitution."""
    if not isinstance(free, Mapping) or not free:
        problems.add(
            "free",
            shown(free) if free else "none",
            "a range for one input or more",
            'write {"restitution": (0.05, 0.99)}',
        )
        return {}
    ranges = {}
    for key, ends in free.items():
        if (
            not isinstance(ends, (tuple, list))
            or len(ends) != 2
            or not all(map(is_number, ends))
            or not ends[0] < ends[1]
        ):
            got = (
                "to".join(f" {end!r} " for end in ends).strip()
                if isinstance(ends, (tuple, list)) and len(ends) == 2
                else shown(ends)
            )
            problems.add(
                f"free.{key}",
                got,
                "two finite numbers, the lower one first",
                "give the ends of the range",
            )
            continue
        ranges[str(key).removeprefix("contact.")] = (float(ends[0]), float(ends[1]))
    return ranges


def _candidates(laws: Any, problems: Problems) -> list[Candidate]:
    """The laws with their inputs, each once."""
    given = (
        [laws]
        if isinstance(laws, (str, Mapping))
        else list(laws)
        if isinstance(laws, (list, tuple))
        else []
    )
    if not given:
        problems.add(
            "laws", shown(laws) if laws else "none", "one law or more", "name the laws to try"
        )
    found: list[Candidate] = []
    for place, entry in enumerate(given):
        inputs = dict(entry) if isinstance(entry, Mapping) else {"law": entry}
        law = inputs.pop("law", None)
        if not isinstance(law, str) or law not in known_laws():
            advice = suggestion(
                law,
                known_laws(),
                "check the name; a law in a file of your own is named by --law-module",
            )
            problems.add(f"laws.{place}", shown(law), 'a name that "granchain laws" lists', advice)
        elif Candidate(law, inputs) in found:
            problems.add(f"laws.{place}", f"{law} once more", "each law once", "take it out")
        else:
            found.append(Candidate(law, inputs))
    return found


# --------------------------------------------------------------------------------------------------
# What is compared


class Target:
    """What the law that is stood in for does in a chain, and how far others are from it.

    Parameters
    ----------
    case : Case
    quantity : {"peaks", "arrivals", "traces"}
    lenient : bool
        Whether a pulse may miss a sensor: `seen` says so then.
    """

    def __init__(self, case: Case, quantity: str, lenient: bool = False):
        self.case, self.quantity = case, quantity
        own = measure_all([case], 1, traces=quantity == "traces")
        if own.status[0].failed and not lenient:
            raise RunError(f"{case.contact.law}: {own.message[0].removeprefix('member 0: ')}")
        # a pulse that the trace does not hold whole has no width
        missing = [
            bead
            for bead, width in zip(own.sensor_bead, own.width[0], strict=True)
            if not math.isfinite(width)
        ]
        self.seen = not own.status[0].failed and not missing
        if missing and not lenient:
            raise CaseError(
                f"sensors.beads: got {', '.join(map(str, missing))}, which no whole pulse passes "
                f"before time.end, {case.time.end:g} s, "
                "allowed beads that one does; raise time.end, or take them out"
            )
        self._peak, self._arrival = own.peak[0], own.arrival[0]
        if quantity == "traces" and self.seen:
            from scipy.interpolate import CubicSpline

            self._spline = CubicSpline(own.time[0], own.force[0], axis=0)
            self._end = float(own.time[0][-1])
            # root mean square of each force, over all of the run
            self._size = np.sqrt(np.mean(own.force[0] ** 2, axis=0))

    def off(self, found: Measures) -> np.ndarray:
        """(run, sensor) How far runs are from it [1]; nan where a run failed or a pulse misses
        a sensor."""
        if self.quantity != "traces":
            ours, theirs = (
                (found.peak, self._peak)
                if self.quantity == "peaks"
                else (found.arrival, self._arrival)
            )
            return np.where(np.isfinite(found.width), ours / theirs - 1.0, math.nan)
        rows = np.full(found.peak.shape, math.nan)
        for row, (time, force) in enumerate(zip(found.time, found.force, strict=True)):
            if len(time):
                there = time <= self._end
                rows[row] = (
                    np.sqrt(np.mean((force[there] - self._spline(time[there])) ** 2, axis=0))
                    / self._size
                )
        return rows

    def residuals(
        self, candidate: Candidate, names: Sequence[str], points: np.ndarray
    ) -> np.ndarray:
        """As `search.descend` takes them."""
        cases = [self.case.replace(**candidate.change(names, point)) for point in points]
        return self.off(measure_all(cases, 1, traces=self.quantity == "traces"))


def rms(rows: np.ndarray) -> np.ndarray:
    """Root mean square over the sensors."""
    return np.asarray(np.sqrt(np.mean(rows**2, axis=-1)))


# --------------------------------------------------------------------------------------------------
# The search


def _searched(target: Target, asked: EquivalenceSearch, threads: int) -> list[Equivalent]:
    """The answer for each law."""
    points = grid_of(asked.low, asked.high)
    fast = (
        target.case.replace(**{"time.step": "fast"})
        if target.case.time.step == "auto"
        else target.case
    )
    cases = [
        fast.replace(**one.change(asked.names, point))
        for one in asked.candidates
        for point in points
    ]
    ran = measure_all(cases, threads, traces=asked.measure == "traces")
    table = rms(target.off(ran)).reshape(len(asked.candidates), len(points))
    notes = [
        ran.message[i * len(points) : (i + 1) * len(points)] for i in range(len(asked.candidates))
    ]
    size = asked.high - asked.low
    ways = {
        (i, tuple(points[k])): partial(
            descend,
            partial(target.residuals, one, asked.names),
            points[k],
            asked.low,
            asked.high,
            size,
            "dogbox",
        )
        for i, one in enumerate(asked.candidates)
        for k in lowest_of(points, table[i], size)
    }
    ends = on_threads(ways, threads)
    found = []
    for i, candidate in enumerate(asked.candidates):
        lows = sorted(
            (end for (law, _), end in ends.items() if law == i and end is not None),
            key=lambda end: float(rms(end.residual)),
        )
        found.append(_answer(candidate, asked, lows, points, table[i], notes[i]))
    return found


def grid_of(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """(point, input) Points over a box: evenly spaced, both ends among them, for one input; of
    a Sobol sequence for several."""
    if len(low) == 1:
        return np.asarray(np.linspace(low[0], high[0], GRID_POINTS)[:, None])
    with uninterrupted():
        # see `plan.quasi_random`
        return np.asarray(
            low + (high - low) * scipy_stats().qmc.Sobol(len(low), seed=0).random(SPREAD)
        )


def lowest_of(points: np.ndarray, residual: np.ndarray, size: np.ndarray) -> list[int]:
    """Where ways down begin: every lowest point of a row; of several inputs, the best points
    that lie apart."""
    filled = np.where(np.isfinite(residual), residual, math.inf)
    if points.shape[1] == 1:
        around = np.concatenate([[math.inf], filled, [math.inf]])
        low = (filled <= around[:-2]) & (filled < around[2:]) & np.isfinite(filled)
        return [int(k) for k in np.flatnonzero(low)]
    chosen: list[int] = []
    for k in np.argsort(filled).tolist():
        apart = all((np.abs(points[k] - points[j]) / size).max() > 0.2 for j in chosen)
        if math.isfinite(filled[k]) and apart and len(chosen) < WAYS:
            chosen.append(k)
    return chosen


def on_threads(tasks: Mapping[Any, Callable[[], Any]], threads: int) -> dict[Any, Any]:
    """What tasks give, on threads."""
    with ThreadPoolExecutor(threads, "granchain") as pool:
        waiting = {name: pool.submit(task) for name, task in tasks.items()}
        try:
            return {name: future.result() for name, future in waiting.items()}
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _answer(
    candidate: Candidate,
    asked: EquivalenceSearch,
    lows: Sequence[Lowest],
    points: np.ndarray,
    row: np.ndarray,
    notes: Sequence[str],
) -> Equivalent:
    """The best of some minima, with its messages."""
    sensors = tuple(asked.reference.sensors.beads)
    size = asked.high - asked.low
    failed = sorted({note for note in notes if note})
    messages = []
    if failed:
        count = sum(bool(note) for note in notes)
        messages.append(
            f"{candidate.law}: {count} of {len(points)} runs of the grid failed, one of them: "
            f"{failed[0]}"
        )
    if not lows:
        messages.append(
            f"{candidate.law}: no run has a pulse at every sensor: there is no answer in this range"
        )
        best, off = np.full(len(asked.names), math.nan), np.full(len(sensors), math.nan)
    else:
        best, off = lows[0].point, lows[0].residual
    inputs = _named_inputs(asked.names, best) if lows else {}
    ends = _at_ends(asked, best)
    for name in ends:
        messages.append(
            f"{candidate.law}: {name} is at an end of its range, {inputs[name]:.4g}: beyond it "
            "there may be a better one; widen it"
        )
    if lows and not lows[0].settled:
        messages.append(
            f"{candidate.law}: the search had not come to an end: the least residual may be a "
            "little lower"
        )
    alike = not_told_apart(lows[0].slope, asked.names, size) if lows else []
    for names in alike:
        line = (
            "are not told apart: along a line of them the residual is the same, and this is one "
            "point of it"
        )
        words = "does not act" if len(names) == 1 else line
        messages.append(f"{candidate.law}: {' and '.join(names)} {words}")
    distinct: list[Lowest] = []
    for low in () if alike else lows[1:]:
        if all(
            (np.abs(low.point - other.point) / size).max() > SAME for other in [lows[0], *distinct]
        ):
            distinct.append(low)
    minima = tuple(
        Minimum(_named_inputs(asked.names, low.point), float(rms(low.residual))) for low in distinct
    )
    if minima:
        listed = "; ".join(
            ", ".join(f"{name} {value:.4g}" for name, value in one.inputs.items())
            + f" with {one.residual:.3e}"
            for one in minima
        )
        messages.append(
            f"{candidate.law}: there are {len(minima) + 1} minima; the others: {listed}"
        )
    return Equivalent(
        law=candidate.law,
        to=asked.reference.contact.law,
        inputs=inputs,
        residual=float(rms(off)),
        per_bead=off,
        sensor_bead=sensors,
        at_bound=ends,
        minima=minima,
        moves=(),
        rank=0,
        measure=asked.measure,
        free=dict(
            zip(asked.names, zip(asked.low.tolist(), asked.high.tolist(), strict=True), strict=True)
        ),
        case=asked.reference.replace(**candidate.change(asked.names, best))
        if lows
        else asked.reference,
        grid=points,
        grid_residual=row,
        messages=tuple(messages),
    )


def _at_ends(asked: EquivalenceSearch, point: np.ndarray) -> tuple[str, ...]:
    """Free inputs that lie at an end of their range."""
    near = np.minimum(point - asked.low, asked.high - point) < AT_END * (asked.high - asked.low)
    return tuple(name for name, at in zip(asked.names, near, strict=True) if at)


# --------------------------------------------------------------------------------------------------
# How it moves, and which is best


def varied(case: Case) -> dict[tuple[str, float], Case]:
    """The chain at other striker speeds and of other lengths, its sensors at the same parts of
    the length, and its end as much later."""
    quick: dict[str, Any] = {"time.step": "fast"} if case.time.step == "auto" else {}
    found = {}
    if case.striker is not None:
        for factor in SPEED_FACTORS:
            speed = factor * case.striker.speed
            # a wave in a chain at rest is as fast as the fifth root of the speed (Nesterenko 1983)
            changes = {"striker.speed": speed, "time.end": case.time.end * max(1.0, factor**-0.2)}
            found["striker.speed", speed] = case.replace(**quick, **changes)
    chain = case.chain
    own = [chain.radius_factor, chain.mass_factor, chain.modulus_factor, chain.gap_added]
    # beads that differ from each other have no longer chain of the same kind
    if not chain.segment and all(one is None for one in own):
        for factor in LENGTHS:
            beads = max(1, round(factor * case.beads))
            sensors = sorted(
                {min(max(1, round(factor * bead)), beads) for bead in case.sensors.beads}
            )
            changes = {
                "chain.beads": beads,
                "sensors.beads": sensors,
                "time.end": case.time.end * max(1.0, factor),
            }
            if beads != case.beads:
                found["chain.beads", float(beads)] = case.replace(**quick, **changes)
    return found


def _with_moves(
    found: Sequence[Equivalent], asked: EquivalenceSearch, threads: int
) -> list[Equivalent]:
    """The answers with how they move: each found again from the answer of the case itself."""
    targets = {
        change: Target(case, asked.measure, lenient=True)
        for change, case in varied(asked.reference).items()
    }
    size = asked.high - asked.low

    def way(
        target: Target, candidate: Candidate, start: np.ndarray
    ) -> tuple[np.ndarray, float, float] | None:
        residuals = partial(target.residuals, candidate, asked.names)
        end = descend(residuals, start, asked.low, asked.high, size, "dogbox", flat=ROUGH)
        return None if end is None else (end.point, float(rms(end.residual)), float(rms(end.first)))

    tasks = {
        (i, change): partial(way, target, candidate, np.array(list(one.inputs.values())))
        for i, (one, candidate) in enumerate(zip(found, asked.candidates, strict=True))
        for change, target in targets.items()
        if target.seen and one.inputs
    }
    ends = on_threads(tasks, threads)
    moved = []
    for i, one in enumerate(found):
        ways = [
            (change, end) for (law, change), end in ends.items() if law == i and end is not None
        ]
        moves = tuple(
            Moved(
                key,
                value,
                _named_inputs(asked.names, point),
                residual,
                kept,
                _at_ends(asked, point),
            )
            for (key, value), (point, residual, kept) in ways
        )
        unseen = [f"{key} {value:g}" for (key, value), target in targets.items() if not target.seen]
        more = (
            [
                f"the pulse does not pass every sensor at {', '.join(unseen)}: no answer is found "
                "there"
            ]
            if unseen
            else []
        )
        moved.append(replace(one, moves=moves, messages=(*one.messages, *more)))
    return moved


def _ranked(found: Sequence[Equivalent]) -> list[Equivalent]:
    """Best first, with their ranks; residuals that are equal but for the errors of a run share
    one."""
    order = sorted(found, key=lambda one: one.residual if math.isfinite(one.residual) else math.inf)
    ranked: list[Equivalent] = []
    for place, one in enumerate(order, start=1):
        tied = bool(ranked) and abs(one.residual - ranked[-1].residual) <= TIE * ranked[-1].residual
        ranked.append(replace(one, rank=ranked[-1].rank if tied else place))
    # those that share a rank in the order in which they were asked for
    asked = [one.case.contact.law for one in found]
    return sorted(ranked, key=lambda one: (one.rank, asked.index(one.case.contact.law)))


def _named_inputs(names: Sequence[str], point: np.ndarray) -> dict[str, float]:
    return dict(zip(names, map(float, point), strict=True))
