"""Bands: how far the tolerances of a case's numbers move what is computed of it, and which of
them matters where."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from granchain.case import Case, check_case
from granchain.case.checks import MEMORY
from granchain.case.document import entry_at
from granchain.case.tolerances import Tolerance, check_tolerances, tolerances_of
from granchain.errors import CaseError, GranchainWarning, RunError
from granchain.keys import Problems, check_whole, shown
from granchain.plain_data import canonical
from granchain.store.provenance import granchain_version, source_hash, versions
from granchain.store.result import dataset_of
from granchain.store.variables import Variable
from granchain.studies.distributions import Distribution, normal, uniform
from granchain.studies.interruption import scipy_stats
from granchain.studies.measures import Measures, measure_all
from granchain.studies.members import counter
from granchain.studies.plan import MEMBER_BYTES, MOST_DRAWN, Plan, quasi_random

# Members of a band, unless more or fewer are asked for.
MEMBERS = 1024
# The middle 95 % and the middle half of the members, and their median.
QUANTILES = (0.025, 0.25, 0.5, 0.75, 0.975)
# Confidence of the indices' limits.
CONFIDENCE = 0.95
# Samples that a cubic goes through.
CUBIC_NODES = 4
# Members whose whole traces are put on one grid at once, or as much of the traces of all: some 50
# MB of 70 beads at 8 sensors.
SAMPLES_AT_ONCE = 256


def bands(
    case: Case,
    tolerance: Mapping[str, Any] | None = None,
    n: int = MEMBERS,
    seed: int = 0,
    sensitivity: bool = False,
    *,
    quantiles: Sequence[float] = QUANTILES,
    threads: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Any:
    """How far tolerances of a case's numbers move the forces at its sensors, and peak and arrival
    of the first pulse.

    Parameters
    ----------
    case : Case
    tolerance : mapping, optional
        For each key, with dots, one standard deviation as a part of its value, `{"striker.speed":
        0.02}`, or the half of a width, `{"striker.speed": {"uniform": 0.02}}`; those of the case,
        unless given.
    n : int
        Members: points of a scrambled Sobol sequence; a power of 2 fills the box evenly.
    seed : int
        Of that sequence.
    sensitivity : bool
        Add first-order and total indices of peak and arrival for each key: that takes n (d + 2)
        runs with d keys, in place of n; n is then a power of 2.
    quantiles : sequence of float
        Of the members, between 0 and 1.
    threads : int, optional
        As many as there are processors for this process, unless given.
    progress : callable, optional
        Called with how many runs are done and how many there are.

    Returns
    -------
    xarray.Dataset
        force (quantile, time, sensor_bead) [N] on the sample times of the case as it stands, peak
        [N] and arrival [s] (quantile, sensor_bead); nominal_force, nominal_peak, nominal_arrival of
        that case; value and standard_deviation (key). With sensitivity first_order, total_order,
        arrival_first_order and arrival_total_order (key, sensor_bead) [1], each with _low and
        _high.

    Raises
    ------
    CaseError
        With every mistake, before anything runs.
    RunError
        Where the case as it stands, or every member, fails.
    """
    asked = uncertain(case, tolerance, n, seed, sensitivity)
    try:
        parts = np.sort(np.asarray(quantiles, dtype=float), axis=None)
    except (TypeError, ValueError):
        parts = np.zeros(0)
    if not len(parts) or not ((parts >= 0.0) & (parts <= 1.0)).all() or not np.diff(parts).all():
        raise CaseError(
            f"quantiles: got {shown(quantiles)}, allowed different numbers from 0 to 1; write for "
            "example [0.05, 0.5, 0.95]"
        )
    cases = asked.cases()
    others = asked.crossed() if sensitivity else []
    runs = 1 + len(cases) + len(others)
    report = counter(progress, runs)
    found = nominal_and_members(asked, cases, threads, lambda places, _: report(places))
    variables = banded(asked, found, parts)
    attributes = attributes_of_bands(asked, found, runs)
    attributes["interpolation_error"] = grid_error(found.time[0], found.force[0])
    if sensitivity:
        more = measure_all(others, threads, done=lambda places, _: report(places))
        drop_late_pulses(more, case)
        for name in ("peak", "arrival"):
            values = np.concatenate([getattr(found, name)[1:], getattr(more, name)])
            variables |= indices(asked, name, values)
    return dataset_of(variables, attributes)


@dataclass(frozen=True)
class Uncertain:
    """A case with the distributions of its uncertain numbers.

    Parameters
    ----------
    case : Case
    tolerance : mapping
        Of each key.
    n, seed : int
    """

    case: Case
    tolerance: Mapping[str, Tolerance]
    n: int
    seed: int

    @cached_property
    def drawn(self) -> dict[str, Distribution]:
        """What each key is drawn from."""
        found = {}
        for key, tolerance in self.tolerance.items():
            value = entry_at(dict(self.case), key)[0]
            if isinstance(tolerance, dict):
                width = abs(value) * tolerance["uniform"]
                found[key] = uniform(value - width, value + width)
            else:
                found[key] = normal(value, abs(value) * tolerance)
        return found

    @cached_property
    def samples(self) -> tuple[np.ndarray, np.ndarray]:
        """Two independent samples (n, keys), as sensitivity asks for; the first is that of the
        bands."""
        parts = quasi_random(self.n, 2 * len(self.drawn), self.seed)
        columns = [
            one.ppf(part) for one, part in zip([*self.drawn.values()] * 2, parts.T, strict=True)
        ]
        return np.column_stack(columns[: len(self.drawn)]), np.column_stack(
            columns[len(self.drawn) :]
        )

    def changed(self, sample: np.ndarray) -> list[Case]:
        """The case with each row of a sample.

        Raises
        ------
        CaseError
            With the mistakes of all, each once.
        """
        listed: dict[str, Any] = dict(zip(self.drawn, sample.T.tolist(), strict=True))
        return Plan(self.case, listed, "zip", 1, self.seed).cases()

    def cases(self) -> list[Case]:
        """The members of the bands."""
        return self.changed(self.samples[0])

    def crossed(self) -> list[Case]:
        """The second sample, and for each key the first one with that key's column of the
        second."""
        first, second = self.samples
        keys = np.arange(len(self.drawn))
        mixed = np.repeat(first[None], len(keys), axis=0)
        mixed[keys, :, keys] = second.T
        return self.changed(np.concatenate([second, *mixed]))


def uncertain(case: Any, tolerance: Any, n: Any, seed: Any, sensitivity: bool = False) -> Uncertain:
    """The case and its tolerances, after all arguments are checked.

    Raises
    ------
    CaseError
        With every mistake.
    """
    problems = Problems()
    check_case(case)
    if (
        check_whole(
            "n",
            n,
            problems,
            "give the number of members; a power of 2 fills the box evenly",
            least=2,
        )
        and sensitivity
        and n & (n - 1)
    ):
        problems.add("n", f"{n} with sensitivity", "a power of 2", f"take {2 ** n.bit_length()}")
    check_whole("seed", seed, problems, "give for example seed=0", least=0)
    if not case.sensors.beads:
        problems.add(
            "sensors.beads",
            "none",
            "one sensor bead or more",
            "name beads whose force is looked at",
        )
    given = case.tolerance if tolerance is None else tolerance
    if given is None or (isinstance(given, Mapping) and not given):
        advice = 'write for example {"striker.speed": 0.02}, or a table [tolerance] in the case'
        problems.add("tolerance", "nothing", "keys of the case, each with its tolerance", advice)
        given = {}
    tolerances = tolerances_of(given, "tolerance", problems)
    check_tolerances(dict(case), tolerances, "tolerance", problems)
    good = {key: one for key, one in tolerances.items() if problems.clear(f"tolerance.{key}")}
    if good and problems.clear("n", "seed"):
        asked = Uncertain(case, good, n, seed)
        check_amount(asked, sensitivity, problems)
        if problems.clear("n"):
            check_ranges(asked, problems)
    if problems.sentences:
        raise CaseError(problems.sentences)
    return asked


def check_amount(asked: Uncertain, sensitivity: bool, problems: Problems) -> None:
    """Members and their traces fit the memory, and the sequence has as many dimensions."""
    keys, case = len(asked.tolerance), asked.case
    if 2 * keys > MOST_DRAWN:
        problems.add(
            "tolerance",
            f"{keys} keys",
            f"at most {MOST_DRAWN // 2}",
            "leave out those that matter least",
        )
    samples = case.time.end / case.sensors.interval + 1.0
    # a trace as it comes, and on the common grid
    size = 2.0 * 8.0 * samples * (1 + len(case.sensors.beads)) * asked.n
    size += MEMBER_BYTES * asked.n * (keys + 2 if sensitivity else 1)
    if size > MEMORY:
        got = f"{asked.n} members, which take {size / 2**30:.3g} GiB"
        problems.add(
            "n",
            got,
            f"{MEMORY // 2**30} GiB",
            "take fewer members, fewer sensors, or raise sensors.interval",
        )


def check_ranges(asked: Uncertain, problems: Problems) -> None:
    """Each key alone may take the least and the largest value that are drawn of it."""
    for i, key in enumerate(asked.tolerance):
        drawn = np.concatenate([sample[:, i] for sample in asked.samples])
        ends = [float(drawn.min()), float(drawn.max())]
        wrong: list[str] = []
        for end in ends:
            try:
                asked.case.replace(**{key: end})
            except CaseError as error:
                wrong += error.problems
        if wrong:
            got = f"a band from {ends[0]:.6g} to {ends[1]:.6g}"
            allowed = wrong[0].partition(", allowed ")[2].partition(";")[0]
            advice = (
                "lower it, or write { uniform = ... }, which has ends"
                if isinstance(asked.tolerance[key], float)
                else "lower it"
            )
            problems.add(
                f"tolerance.{key}", got, f"{allowed} ({wrong[0].partition(':')[0]})", advice
            )


def nominal_and_members(
    asked: Uncertain,
    cases: Sequence[Case],
    threads: int | None = None,
    done: Callable[[Sequence[int], Measures], Any] | None = None,
) -> Measures:
    """The case as it stands, and after it the members, with their traces.

    Raises
    ------
    RunError
        Where the case as it stands, or every member, fails.
    """
    found = measure_all([asked.case, *cases], threads, traces=True, done=done)
    if found.status[0].failed:
        raise RunError(found.message[0] or f"the case as it stands: {found.status[0].label}")
    failed = [
        message
        for status, message in zip(found.status, found.message, strict=True)
        if status.failed
    ]
    if len(failed) == len(cases):
        raise RunError(f"every member failed: {failed[0]}")
    if failed:
        sentence = (
            f"bands: {len(failed)} of {len(cases)} members failed and are left out, the first "
            f"with: {failed[0]}"
        )
        warnings.warn(sentence, GranchainWarning, stacklevel=3)
    drop_late_pulses(found, asked.case)
    missing = np.isnan(found.peak[whole_members(found)[1:]]).sum(axis=0)
    for bead, count in zip(found.sensor_bead, missing.tolist(), strict=True):
        if count:
            members = len(whole_members(found)) - 1
            sentence = (
                f"bands: bead {bead}: {count} of {members} members have no whole pulse at "
                "time.end; take a later one"
            )
            warnings.warn(sentence, GranchainWarning, stacklevel=3)
    least = min(len(found.time[place]) for place in whole_members(found))
    if least < CUBIC_NODES:
        raise CaseError(
            f"sensors.interval: got {least} samples in a run, allowed {CUBIC_NODES} or more; take "
            "a shorter interval"
        )
    return found


def drop_late_pulses(found: Measures, case: Case) -> None:
    """Take out the numbers of pulses that have not come by the end of the run, or whose largest
    sample is its last."""
    late = ~(found.arrival < case.time.end - 1.5 * case.sensors.interval)
    found.peak[late], found.arrival[late] = math.nan, math.nan


def whole_members(found: Measures) -> list[int]:
    """Places of the runs that are complete, that of the case as it stands the first."""
    return [place for place, status in enumerate(found.status) if not status.failed]


# --------------------------------------------------------------------------------------------------
# On one grid


def on_grid(time: np.ndarray, force: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Forces at other times, each by the cubic through the four samples next to it; before the
    first sample the first, nan after the last.

    Parameters
    ----------
    time : array (sample,)
        Increasing [s].
    force : array (sample, ...)
    at : array (n,)
        [s].

    Returns
    -------
    array (n, ...)
    """
    last = time[-1]
    inside = np.clip(at, time[0], last)
    first = np.clip(np.searchsorted(time, inside) - CUBIC_NODES // 2, 0, len(time) - CUBIC_NODES)
    places = first[:, None] + np.arange(CUBIC_NODES)
    nodes = time[places]
    found = np.zeros((len(at), *force.shape[1:]))
    for i in range(CUBIC_NODES):
        weight = np.ones(len(at))
        for j in range(CUBIC_NODES):
            if j != i:
                weight *= (inside - nodes[:, j]) / (nodes[:, i] - nodes[:, j])
        found += weight.reshape(-1, *[1] * (force.ndim - 1)) * force[places[:, i]]
    # beyond rounding
    found[at > last + 1e-9 * (last - time[0])] = math.nan
    return found


def grid_error(time: np.ndarray, force: np.ndarray) -> float:
    """The largest error [N] of a trace that is rebuilt from every second of its samples: more
    than that of a member on another's times."""
    if len(time) < 2 * CUBIC_NODES:
        return math.nan
    few = time[::2]
    return float(
        np.abs(on_grid(few, force[::2], time[time <= few[-1]]) - force[time <= few[-1]]).max()
    )


def common_times(found: Measures) -> np.ndarray:
    """The sample times of the case as it stands, up to where every member has samples."""
    end = min(float(found.time[place][-1]) for place in whole_members(found))
    times = found.time[0]
    return times[times <= end * (1.0 + 1e-9)]


def banded(asked: Uncertain, found: Measures, parts: np.ndarray) -> dict[str, Variable]:
    """The variables of bands."""
    times, there = common_times(found), whole_members(found)[1:]
    force = np.empty((len(parts), len(times), len(found.sensor_bead)))
    # few times at once: the members' forces at them in one batch
    stretch = max(1, SAMPLES_AT_ONCE * len(times) // len(there))
    for at in range(0, len(times), stretch):
        batch = slice(at, at + stretch)
        side = np.stack(
            [on_grid(found.time[place], found.force[place], times[batch]) for place in there]
        )
        force[:, batch] = np.quantile(side, parts, axis=0)
    values = {"peak": found.peak, "arrival": found.arrival}
    over = {name: quantiles_over(one[there], parts) for name, one in values.items()}
    across = ("quantile", "sensor_bead")
    keys = list(asked.drawn)
    values_of_keys = np.array([entry_at(dict(asked.case), key)[0] for key in keys])
    # of a uniform distribution: half the width over the root of 3
    parts_of_keys = np.array(
        [
            one["uniform"] / math.sqrt(3.0) if isinstance(one, dict) else one
            for one in asked.tolerance.values()
        ]
    )
    return {
        "quantile": Variable(("quantile",), parts, "1", "part of the members that are below"),
        "time": Variable(("time",), times, "s", "time of the samples of the case as it stands"),
        "sensor_bead": Variable(
            ("sensor_bead",),
            np.array(found.sensor_bead, dtype=np.int64),
            "1",
            "label of the sensor bead",
        ),
        "key": Variable(
            ("key",),
            np.array([*keys, None], dtype=object)[:-1],
            "",
            "key of the case that has a tolerance",
        ),
        "force": Variable(
            ("quantile", "time", "sensor_bead"), force, "N", "force of the sensor bead"
        ),
        "peak": Variable(across, over["peak"], "N", "peak force of the first pulse"),
        "arrival": Variable(across, over["arrival"], "s", "time of that peak"),
        "nominal_force": Variable(
            ("time", "sensor_bead"),
            found.force[0][: len(times)],
            "N",
            "force of the case as it stands",
        ),
        "nominal_peak": Variable(
            ("sensor_bead",), found.peak[0], "N", "peak force of the case as it stands"
        ),
        "nominal_arrival": Variable(("sensor_bead",), found.arrival[0], "s", "time of that peak"),
        "value": Variable(("key",), values_of_keys, "", "value of the case, in SI"),
        "standard_deviation": Variable(
            ("key",),
            np.abs(values_of_keys) * parts_of_keys,
            "",
            "standard deviation that is drawn, in SI",
        ),
    }


def quantiles_over(values: np.ndarray, parts: Sequence[float] | np.ndarray) -> np.ndarray:
    """Quantiles over the first axis, of what is a number; nan where nothing is."""
    found = np.full((len(parts), values.shape[1]), math.nan)
    for k, column in enumerate(values.T):
        good = column[np.isfinite(column)]
        if len(good):
            found[:, k] = np.quantile(good, parts)
    return found


def attributes_of_bands(asked: Uncertain, found: Measures, runs: int) -> dict[str, Any]:
    """Attributes of bands: what they are of, and where they come from."""
    ends = [f"{found.status[1:].count(one)} {one.label}" for one in dict.fromkeys(found.status[1:])]
    return {
        "Conventions": "CF-1.11",
        "title": asked.case.title or "untitled case",
        "granchain_version": granchain_version(),
        "law": asked.case.contact.law,
        "status": ", ".join(ends),
        "n": asked.n,
        "seed": asked.seed,
        "runs": runs,
        "tolerance_json": canonical(dict(asked.tolerance)),
        "case_sha256": asked.case.sha256,
        "case_json": canonical(asked.case.as_given()),
        "case_resolved_json": canonical(asked.case.resolved()),
        "versions": versions(),
        "source_hash": source_hash(),
    }


# --------------------------------------------------------------------------------------------------
# Which key matters where


def indices(asked: Uncertain, name: str, values: np.ndarray) -> dict[str, Variable]:
    """First-order and total indices of a number at every sensor, with their limits; nan where a run
    of them has no such number.

    Parameters
    ----------
    asked : Uncertain
    name : str
        "peak" or "arrival".
    values : array (n (keys + 2), sensor)
        Of the first sample, the second, and for each key the first with that key's column of the
        second.
    """
    keys, n = len(asked.drawn), asked.n
    orders = ("first_order", "total_order")
    found = {
        f"{order}{side}": np.full((keys, values.shape[1]), math.nan)
        for order in orders
        for side in ("", "_low", "_high")
    }
    split = values.reshape(keys + 2, n, -1)
    for k in range(values.shape[1]):
        if not np.isfinite(split[:, :, k]).all():
            continue
        # of one key scipy takes no single number (1.17: it cannot put an item into a number), but
        # the same one twice
        twice = np.repeat(split[:, None, :, k], 2 if keys == 1 else 1, axis=1)
        runs: Any = {"f_A": twice[0], "f_B": twice[1], "f_AB": twice[2:]}
        result = scipy_stats().sobol_indices(func=runs, n=n)
        # scipy's bootstrap takes no generator of its own, but NumPy's common one, which is then as
        # it was
        state = np.random.get_state()
        np.random.seed(asked.seed % 2**32)
        try:
            with warnings.catch_warnings():
                # a key that moves nothing has no limits
                warnings.simplefilter("ignore")
                limits = result.bootstrap(confidence_level=CONFIDENCE)
        finally:
            np.random.set_state(state)
        for order in orders:
            value, limit = np.ravel(getattr(result, order))[:keys], getattr(limits, order)
            still = np.ravel(limit.standard_error)[:keys] == 0.0
            found[order][:, k] = value
            for side in ("low", "high"):
                found[f"{order}_{side}"][:, k] = np.where(
                    still, value, np.ravel(getattr(limit.confidence_interval, side))[:keys]
                )
    prefix = "" if name == "peak" else f"{name}_"
    sure = f"{100.0 * CONFIDENCE:g} % confidence"
    words = {"": "", "_low": f", lower limit of {sure}", "_high": f", upper limit of {sure}"}
    of = {"first_order": "that the key causes alone", "total_order": "that the key has a share in"}
    axes = ("key", "sensor_bead")
    return {
        f"{prefix}{order}{side}": Variable(
            axes,
            found[f"{order}{side}"],
            "1",
            f"part of the variance of the {name} {of[order]}{words[side]}",
        )
        for order in orders
        for side in words
    }
