"""Optimization of case parameters: a search over the complete box, then a descent from its best
design."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, ClassVar

import numpy as np

from granchain.case import Case
from granchain.errors import CaseError, GranchainError
from granchain.keys import Problems, check_integer, shown
from granchain.plain_data import canonical
from granchain.progress import progress_of
from granchain.simulation import law_provenance, warns_of_fast_drives
from granchain.store import Answer, Label
from granchain.studies.gradient import (
    AXES_OF_LISTS,
    RELATIVE_STEP,
    Numbers,
    Of,
    RunSummary,
    found_in,
    step_of,
    summary_of,
)
from granchain.studies.search import with_slopes

# Designs of a generation per number (SciPy's popsize is 15, for few numbers), and their minimum.
DESIGNS, LEAST_DESIGNS = 8, 32
# Number of populations that search the box independently, because one may collapse far from the
# optimum. Our choice.
POPULATIONS = 2
# Number of generations without a relative improvement by the second number, after which the search
# of the box ends.
STALLED, BETTER = 20, 1e-3
# Maximum number of steps of the descent, each with its derivatives. Our choice.
MOST_ITERATIONS = 60
# Spans of the differences of the continued search, relative to the width of the box. Values have
# errors of about 1e-5 that jump with the time at which contacts close within a step. Our choice.
SPANS = (4e-3, 1e-3)
# Relative gain nearby that the slopes and their errors may still allow. A design has converged
# below the first number, half of 0.1 %. The search continues to the second. Our choice.
CONVERGED, AIMED = 5e-4, 2e-5
# Maximum number of rounds of the continued search, each with every span and then without
# derivatives, and of steps for each span. Our choice.
MOST_ROUNDS, MOST_CONTINUED = 3, 20
# Designs per number in a search without derivatives.
WITHOUT_SLOPES = 40
# Distance from a limit or bound within which it acts on the slope, relative to the width.
ACTS = 0.02
# Relative tolerance of a constraint: rounding never satisfies an equality exactly.
KEPT_DESIGNS = 1e-6


class Optimum(Answer):
    """Best design of an optimization; `optimum[key]` returns one best value.

    The variables of a key such as "striker.speed" are "striker.speed" and the bounds,
    "striker.speed_low" and "striker.speed_high".

    Attributes
    ----------
    case : Case
        Case with the best values. The initial case is in the provenance, as `start_case_json`.
    minimize : str
        Name of the minimized result, such as "peak:5" for the peak of bead 5.
    value, start : float
        Minimized result for the best design and for the initial case.
    values : dict of str to float or array
        Best values by key, in SI units.
    subject_to : (n_constraints,) array of str
        Names of the constrained results.
    limited, limited_low, limited_high : (n_constraints,) array
        Constrained results of the best design, and their bounds, in the unit of `limited_unit`.
    designs, history : (n,) array
        Number of designs computed when a better one was found, and its result.
    time_step : float
        Time step of all runs [s].
    converged : bool
        Whether both searches of the box ended at the same value within 0.05 % (with
        `generations=0` there are none) and, by the final slopes and their errors, the value can be
        improved by at most 0.05 % nearby. This is not a proof: a lower optimum may exist elsewhere
        in the box.
    gain : float
        Largest decrease of the value that the final slopes and their errors allow nearby. Infinite
        if there are no slopes. At most 0.05 % of the value at a local optimum.
    messages : tuple of str
        Messages of the searches of SciPy, and notes.

    Examples
    --------
    >>> import granchain as gc
    >>> case = gc.load_case("steel-chain").replace({"contact": {"law": "hertz"}})
    >>> case = case.replace({"chain.beads": 4, "sensors.beads": [3], "time.end": 8e-5})
    >>> over = {"striker.speed": (1.0, 2.0)}
    >>> optimum = gc.optimize(case, "peak", over, generations=0, progress=False)
    >>> optimum.value < optimum.start
    True
    """

    labels: ClassVar = {
        "minimize": Label((), "", "name of the minimized result"),
        "value": Label((), "1", "minimized result of the best design"),
        "start": Label((), "1", "minimized result of the initial case"),
        "gain": Label((), "1", "largest decrease that may be possible nearby"),
        "converged": Label((), "1", "whether the search has converged"),
        "time_step": Label((), "s", "time step of all runs"),
        **AXES_OF_LISTS,
        "constraint": Label(("constraint",), "1", "index of the constraint in subject_to"),
        "subject_to": Label(("constraint",), "", "name of the constrained result"),
        "limited": Label(("constraint",), "1", "constrained result of the best design"),
        "limited_low": Label(("constraint",), "1", "lower bound of the constrained result"),
        "limited_high": Label(("constraint",), "1", "upper bound of the constrained result"),
        "limited_unit": Label(("constraint",), "", "unit of the constrained result"),
        "designs": Label(("designs",), "1", "number of designs computed until a better one"),
        "history": Label(("designs",), "1", "minimized result of the better design"),
    }

    @property
    def values(self) -> dict[str, Any]:
        """Best value by key."""
        keys = [name for name in self.variables if f"{name}_low" in self.variables]
        return {key: self[key] for key in keys if key not in self.labels}


@warns_of_fast_drives
def optimize(
    case: Case,
    minimize: Of,
    over: Mapping[str, tuple[Any, Any]],
    subject_to: Sequence[tuple[Of, float, float]] | None = None,
    *,
    generations: int = 100,
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[int, int], Any] | bool | None = None,
) -> Optimum:
    """Minimize a scalar result over bounded case parameters.

    The search starts with differential evolution over the complete box (Storn & Price 1997,
    doi:10.1023/A:1008202821328), which includes the initial case. From the best design, it
    continues with derivatives: L-BFGS-B (Byrd, Lu, Nocedal & Zhu 1995, doi:10.1137/0916069), or
    with `subject_to` SLSQP (Kraft 1994, doi:10.1145/192115.192124). If SLSQP ends without a design
    that satisfies the constraints, trust-constr of SciPy is used. All runs use one time step: the
    smallest step that the case and the corners of the box require.

    The slopes at the end are compared with their errors. If they allow an improvement of more than
    0.002 % nearby, the search continues with wider differences, and then without derivatives:
    Powell (1964, doi:10.1093/comjnl/7.2.155), or with `subject_to` COBYLA (Powell 1994,
    doi:10.1007/978-94-015-8330-5_4). If they still allow more than 0.05 %, `converged` is false and
    a message reports it. `converged` is also false after a local search only.

    Parameters
    ----------
    case : Case
        Initial case.
    minimize : str, tuple or function
        Result to minimize, as for `granchain.gradient`: "peak", ("peak", bead), "wall_force",
        "transmitted_momentum", or a function of a Result; of a mechanism, "largest_contact_force",
        "largest_acceleration", or a function. To maximize a result, use a function that
        returns it with a minus sign.
    over : mapping of str to (low, high)
        Bounds for keys with dots of a number, or of a list with one number for each bead or gap,
        such as "chain.radius_factor". The bounds are numbers, or lists of the same length.
    subject_to : sequence of (result, low, high), optional
        Constraints. Each result, as for `minimize`, must be between low and high, which may be
        infinite.
    generations : int
        Maximum number of generations of the search of the box. 0 runs only a local search from the
        initial case.
    seed : int
        Seed of the search.
    threads : int, optional
        Number of threads. Default: the number of processors available to this process.
    progress : callable or bool, optional
        Function that is called with the number of finished steps and the maximum number of steps.

    Returns
    -------
    Optimum

    Raises
    ------
    CaseError
        If an argument is invalid, if the run of a design ends before the wave has passed, or if no
        design satisfies `subject_to`.
    RunError
        If the run of the initial case fails.

    Examples
    --------
    >>> import granchain as gc
    >>> case = gc.load_case("steel-chain").replace({"contact": {"law": "hertz"}})
    >>> case = case.replace({"chain.beads": 4, "sensors.beads": [3], "time.end": 8e-5})
    >>> over = {"striker.speed": (1.0, 2.0)}
    >>> optimum = gc.optimize(case, "peak", over, generations=0, progress=False)
    >>> round(optimum.values["striker.speed"], 3)
    1.0
    """
    designs = Designs(case, minimize, over, () if subject_to is None else subject_to, threads)
    problems = Problems()
    check_integer("generations", generations, problems, "give for example 100", least=0)
    check_integer("seed", seed, problems, "give for example seed=0", least=0)
    problems.close()
    return designs.searched(generations, seed, progress_of(progress, "optimize"))


class Designs:
    """Designs of a case and the results of their runs. A design is a point in the unit cube.

    Attributes
    ----------
    numbers : Numbers
    low, high, width : array (numbers,)
        Corners and width of the box, in SI units.
    known : dict of bytes to array
        Results by point: the minimized one, then the constrained ones; infinite if the run failed.
    """

    def __init__(
        self,
        case: Case,
        minimize: Of,
        over: Mapping[str, Any],
        subject_to: Sequence[Any],
        threads: int | None,
    ):
        self.case, self.threads = case, threads
        keys = list(over) if isinstance(over, Mapping) else []
        self.numbers = Numbers(case, keys, "over")
        self.low, self.high = self._bounds(over)
        self.width = self.high - self.low
        self._limits(subject_to)
        wanted = [(minimize, "minimize")]
        wanted += [(one[0], f"subject_to[{i}]") for i, one in enumerate(subject_to)]
        summaries = [summary_of(case, of, where) for of, where in wanted]
        corners = [self.low, self.high, self.numbers.start]
        self.step = min(step_of(self.numbers.case_at(one)) for one in corners)
        # changes of the recording are applied once for all designs
        self.summaries: list[tuple[RunSummary, Numbers]] = [
            (one, Numbers(one.recorded(case, self.step), keys, "over")) for one in summaries
        ]
        self.start = (self.numbers.start - self.low) / self.width
        self.known: dict[bytes, np.ndarray] = {}
        self.best, self.history = self.start, np.zeros((0, 2))
        # the lowest value of the current search that satisfies the constraints
        self.lowest = math.inf
        # the reason why a design has failed, by point
        self.failed: dict[bytes, str] = {}

    def _bounds(self, over: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        problems, edges = Problems(), []
        for key, own in self.numbers.slices(self.numbers.start):
            try:
                low, high = (np.broadcast_to(np.asarray(one, dtype=float), own.shape)
                             for one in over[key])  # fmt: skip
                good = bool(np.isfinite([low, high]).all() and (low < high).all())
                inside = good and bool(((low <= own) & (own <= high)).all())
            except (TypeError, ValueError):
                good = inside = False
            got = shown(str(over[key]))
            problems.check(
                good,
                f"over.{key}",
                f"{got} is not valid",
                f"It must be (low, high) with low below high, both numbers or lists of {own.size}",
            )
            if good and problems.check(
                inside,
                f"over.{key}",
                f"the value of the case, {shown(str(own.tolist()))}, is outside the bounds {got}",
                "It must be within the bounds",
                "Widen the bounds, or change the case",
            ):
                edges.append((low, high))
        problems.close()
        whole = np.concatenate(edges, axis=1)
        return whole[0], whole[1]

    def _limits(self, subject_to: Sequence[Any]) -> None:
        problems, limits = Problems(), []
        for i, condition in enumerate(
            subject_to if isinstance(subject_to, (list, tuple)) else [subject_to]
        ):
            good = isinstance(condition, (tuple, list)) and len(condition) == 3
            if good:
                _, low, high = condition
                good = all(isinstance(x, (int, float)) for x in (low, high)) and low <= high
            if problems.check(
                good,
                f"subject_to[{i}]",
                f"{shown(str(condition))} is not valid",
                "It must be (function of a Result, low, high)",
                'Write for example (("peak", 5), 0.0, 40.0)',
            ):
                limits.append(condition[1:])
        problems.close()
        self.limits = np.array(limits, dtype=float).reshape(-1, 2)

    def at(self, points: np.ndarray) -> np.ndarray:
        """Return the results of some points, (n, 1 + limits); each point is run once."""
        points = np.ascontiguousarray(points)
        names = [point.tobytes() for point in points]
        new = {name: point for name, point in zip(names, points, strict=True)
               if name not in self.known}  # fmt: skip
        for point, values in zip(new.values(), self._run(list(new.values())), strict=True):
            self.known[point.tobytes()] = values
            self._compare(point, values)
        found = np.array([self.known[name] for name in names])
        found = found.reshape(len(names), len(self.summaries))
        self.lowest = min([self.lowest, *(row[0] for row in found if self.kept(row[1:]))])
        return found

    def _run(self, points: Sequence[np.ndarray]) -> np.ndarray:
        found = np.full((len(points), len(self.summaries)), math.inf)
        for column, (summary, numbers) in enumerate(self.summaries):
            cases: dict[int, Case] = {}
            for i in np.flatnonzero(np.isfinite(found[:, :column]).all(axis=1)).tolist():
                try:
                    cases[i] = numbers.case_at(self.low + self.width * points[i])
                except CaseError as error:
                    self._fail(error, points[i])
            places = list(cases)

            def failed(place: int, error: GranchainError, places: Sequence[int] = places) -> None:
                self._fail(error, points[places[place]])

            if places:
                of_cases = list(cases.values())
                found[places, column] = found_in(of_cases, summary, self.threads, failed)
        return found

    def _fail(self, error: GranchainError, point: np.ndarray) -> None:
        """Raise the error if the initial case fails; record the failure of another design."""
        if np.array_equal(point, self.start):
            raise error
        self.failed[point.tobytes()] = str(error).split("\n")[0]

    def kept(self, limited: np.ndarray) -> bool:
        """Return whether constrained results are within their bounds."""
        low, high = self.limits.T
        room = KEPT_DESIGNS * np.abs(np.where(np.isfinite(self.limits), self.limits, 0.0)).max(1)
        # results of a failed design are infinite, and not within any bounds
        kept = np.isfinite(limited) & (low - room <= limited) & (limited <= high + room)
        return bool(kept.all())

    def _compare(self, point: np.ndarray, values: np.ndarray) -> None:
        """Record a design if it is better than all before."""
        least = self.history[-1, 1] if len(self.history) else math.inf
        if self.kept(values[1:]) and values[0] < least:
            self.best = point.copy()
            self.history = np.vstack([self.history, [len(self.known), values[0]]])

    def searched(
        self, generations: int, seed: int, report: Callable[[int, int], Any] | None
    ) -> Optimum:
        """Search the box, descend from the best design, and return the optimum."""
        report, most, counted = report or (lambda *_: None), generations + MOST_ITERATIONS, count(1)

        def step(*_: Any, **__: Any) -> None:
            report(min(next(counted), most), most)

        first = self.at(self.start[np.newaxis])[0]
        ended, explored = [], False
        size = abs(first[0]) or 1.0
        lowest = []
        for population in range(POPULATIONS if generations else 0):
            self.lowest = math.inf
            explored, how, point = self._global(generations, [seed, population], step)
            ended += [how, *self._local(size, step, start=point)]
            lowest.append(self.lowest)
            if not explored:
                break
        if not generations:
            ended += self._local(size, step)
        if not len(self.history):
            ended += self._local(size, step, inside=True)
        gain, more = self._continued(size, step)
        ended += more
        report(most, most)
        if not len(self.history):
            raise CaseError(
                f"subject_to: none of {len(self.known)} designs satisfies the constraints. "
                "Constraints that some design satisfies are required. Widen them, widen the "
                "bounds, or use more generations."
            )
        value = self.known[self.best.tobytes()]
        numbers = self.low + self.width * self.best
        failed = Counter(self.failed[name] for name in self.known if name in self.failed)
        messages = [f"{n} designs were excluded: {why}" for why, n in failed.items()]
        messages += ended
        at_optimum = gain <= CONVERGED * abs(value[0])
        # these are infinite if no design satisfies the constraints
        agree = bool(explored and max(lowest) - min(lowest) <= CONVERGED * abs(value[0]))
        if not generations:
            messages.append(
                "local search only: generations=0 omits the search of the range. A lower value may "
                "exist elsewhere in it"
            )
        elif not explored:
            messages.append(
                f"the search of the range has not converged: its {generations} generations ended "
                "before it stalled. Use more generations"
            )
        elif not agree:
            values = " and ".join(f"{lowest_value:.6g}" for lowest_value in lowest)
            messages.append(
                f"two searches of the range from different random designs ended at {values}. A "
                "lower value may exist. Repeat with another seed, or continue from this case"
            )
        if not at_optimum:
            allowed = f"the value {value[0]:.6g} may be improved by {gain:.2g} nearby"
            if not math.isfinite(gain):
                allowed = "the possible improvement is unknown, because designs nearby fail"
            messages.append(
                "the search has not converged: by the slopes at its end and their errors, "
                f"{allowed}. Reduce time.step, use more generations, or continue from this case"
            )
        return self._optimum(
            numbers,
            messages,
            value=value[0],
            start=first[0],
            gain=gain,
            converged=agree and at_optimum,
            limited=value[1:],
        )

    def _optimum(self, numbers: np.ndarray, messages: Sequence[str], **data: Any) -> Optimum:
        """Return the optimum at a point, with its labels."""
        (minimized, *limited), declared = [each for each, _ in self.summaries], Optimum.labels
        labels = {
            name: declared[name]._replace(unit=minimized.unit)
            for name in ("value", "start", "gain", "history")
        }
        units = [each.unit for each in limited]
        if len(set(units)) == 1:
            for name in ("limited", "limited_low", "limited_high"):
                labels[name] = declared[name]._replace(unit=units[0])
        for ending, vector, about in (
            ("", numbers, "case parameter {}"),
            ("_low", self.low, "lower bound of {}"),
            ("_high", self.high, "upper bound of {}"),
        ):
            for key, values in self.numbers.by_key(vector).items():
                data[key + ending] = values
                labels[key + ending] = Label(
                    self.numbers.axes(key), self.numbers.unit(key), about.format(key)
                )
        data |= {
            "minimize": minimized.name,
            "time_step": self.step,
            "constraint": np.arange(len(limited)),
            "subject_to": np.array([each.name for each in limited], dtype=object),
            "limited_low": self.limits[:, 0],
            "limited_high": self.limits[:, 1],
            "limited_unit": np.array(units, dtype=object),
            "designs": self.history[:, 0].astype(int),
            "history": self.history[:, 1],
        }
        case = self.numbers.case_at(numbers)
        return Optimum(
            data | self.numbers.coordinates(),
            case=case,
            messages=messages,
            labels=labels,
            provenance={
                "start_case_json": canonical(self.case.as_given(), ordered=True),
                **({} if case.measured else law_provenance(case)),
            },
        )

    def _global(
        self, generations: int, seed: Sequence[int], step: Callable[..., None]
    ) -> tuple[bool, str, np.ndarray]:
        """Run differential evolution, one generation at a time.

        Return whether it converged, a description of its end, and its best design. Population 0 of
        a `seed` (seed, population) contains the initial case.
        """
        from scipy.optimize import NonlinearConstraint, differential_evolution

        stalled = [0, math.inf]

        def ends(point: np.ndarray, convergence: float) -> bool:
            step()
            least = self.lowest
            better = least < stalled[1] - BETTER * abs(least)
            stalled[:] = [0, least] if better else [stalled[0] + 1, stalled[1]]
            return stalled[0] >= STALLED

        numbers = len(self.start)
        size = max(LEAST_DESIGNS, DESIGNS * numbers)

        def limited(x: np.ndarray) -> np.ndarray:
            # large finite numbers for failed designs, because SciPy subtracts them
            found = np.nan_to_num(self.at(np.atleast_2d(x.T))[:, 1:].T, posinf=1e300)
            return found if x.ndim > 1 else found[:, 0]

        limit: Any = NonlinearConstraint(limited, *self.limits.T)
        evolved: Any = differential_evolution
        found = evolved(
            lambda x: self.at(np.atleast_2d(x.T))[:, 0],
            [(0.0, 1.0)] * numbers,
            init=np.random.default_rng(seed).random((size, numbers)),
            maxiter=generations,
            seed=np.random.default_rng([*seed, 1]),
            x0=None if seed[1] else self.start,
            callback=ends,
            polish=False,
            updating="deferred",
            vectorized=True,
            tol=0.0,
            constraints=(limit,) if len(self.limits) else (),
        )
        if stalled[0] >= STALLED:
            how = f"{STALLED} generations improved the value by less than {BETTER:.1%}"
            return True, f"differential evolution: {how}", found.x
        return bool(found.success), f"differential evolution: {found.message}", found.x

    def _local(
        self,
        size: float,
        step: Callable[..., None],
        span: float = RELATIVE_STEP,
        inside: bool = False,
        start: np.ndarray | None = None,
    ) -> list[str]:
        """Descend with derivatives from `start` (default: the best design).

        Return SciPy's message. `size` is a typical value, and `span` is half the distance of the
        differences. `inside` selects the method that satisfies constraints better but needs more
        designs.
        """
        from scipy.optimize import Bounds, NonlinearConstraint, minimize

        lower, upper = np.zeros_like(self.start), np.ones_like(self.start)

        def at(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            point = np.clip(x, 0.0, 1.0)
            return with_slopes(self.at, point, lower, upper, upper, span)

        def value(x: np.ndarray) -> tuple[float, np.ndarray]:
            here, slope = at(x)
            return here[0] / size, slope[0] / size

        ways: dict[str, Any] = {"method": "L-BFGS-B"}
        if len(self.limits):
            low, high = self.limits.T
            limit = NonlinearConstraint(
                lambda x: at(x)[0][1:], low, high, jac=lambda x: at(x)[1][1:]
            )
            ways = {"method": "trust-constr" if inside else "SLSQP", "constraints": limit}
        options: dict[str, Any] = {"maxiter": MOST_ITERATIONS}
        if inside:
            options["initial_tr_radius"] = 0.1
        elif span != RELATIVE_STEP:
            options = {"maxiter": MOST_CONTINUED, "ftol": 0.1 * AIMED}
        ways["options"] = options
        down: Any = minimize
        # if all designs near one fail, there are no derivatives
        with warnings.catch_warnings():
            # SciPy warns that a constraint is linear
            warnings.simplefilter("ignore", UserWarning)
            try:
                found = down(
                    value,
                    self.best if start is None else np.asarray(start),
                    jac=True,
                    bounds=Bounds(lower, upper),
                    callback=step,
                    **ways,
                )
            except (ValueError, np.linalg.LinAlgError) as error:
                return [f"{ways['method']}: {error}"]
        return [f"{ways['method']}, with differences of {span:g} of the box: {found.message}"]

    def _continued(self, size: float, step: Callable[..., None]) -> tuple[float, list[str]]:
        """Continue from the best design while its slopes allow a gain.

        Return the gain that may remain nearby, and SciPy's messages.
        """
        ended: list[str] = []
        if not len(self.history):
            return math.inf, ended
        gain, gained = self._gain(), 0.0
        for _ in range(2 if len(self.limits) else MOST_ROUNDS):
            start = float(self.history[-1, 1])
            for span in (*SPANS, None):
                before = float(self.history[-1, 1])
                if gain <= AIMED * abs(before) and gained <= CONVERGED * abs(before):
                    return gain, ended
                ended += (
                    self._without_slopes(size, step)
                    if span is None
                    else self._local(size, step, span)
                )
                gained, gain = before - float(self.history[-1, 1]), self._gain()
            # another round would repeat this one, or gain little
            least = float(self.history[-1, 1])
            enough = max(gain, gained) <= CONVERGED * abs(least)
            if enough or start - least <= AIMED * abs(start):
                break
        return max(gain, gained), ended

    def _without_slopes(self, size: float, step: Callable[..., None]) -> list[str]:
        """Search without derivatives from the best design, and return SciPy's message."""
        from scipy.optimize import Bounds, NonlinearConstraint, minimize

        def at(x: np.ndarray) -> np.ndarray:
            found = self.at(np.clip(x, 0.0, 1.0)[np.newaxis])[0]
            step()
            # large finite numbers for failed designs, because SciPy subtracts them
            return np.nan_to_num(found, posinf=1e300)

        most = WITHOUT_SLOPES * len(self.start)
        ways: dict[str, Any] = {"method": "Powell"}
        ways["options"] = {"maxfev": most, "xtol": 1e-4, "ftol": 0.1 * CONVERGED}
        if len(self.limits):
            limit = NonlinearConstraint(lambda x: at(x)[1:], *self.limits.T)
            ways = {"method": "COBYLA", "constraints": limit}
            ways["options"] = {"maxiter": most, "rhobeg": ACTS}
        bounds = Bounds(np.zeros_like(self.start), np.ones_like(self.start))
        down: Any = minimize
        try:
            found = down(lambda x: at(x)[0] / size, self.best, bounds=bounds, **ways)
        except (ValueError, np.linalg.LinAlgError) as error:
            return [f"{ways['method']}: {error}"]
        return [f"{ways['method']}: {found.message}"]

    def _gain(self) -> float:
        """Return the largest decrease near the best design that slopes and their errors allow.

        The slopes use wide differences, and also narrow ones if the wide ones allow much.
        """
        gain = math.inf
        # a design nearby may be better, and becomes the best
        for _ in range(MOST_ROUNDS):
            best = self.best
            gain = self._gain_over(SPANS[0])
            if gain > AIMED * abs(self.history[-1, 1]):
                # at a kink, where two peaks are equal, slopes over smaller distances allow less
                gain = min(gain, self._gain_over(SPANS[1]))
            if np.array_equal(best, self.best):
                break
        return gain

    def _gain_over(self, span: float) -> float:
        """Return the largest decrease near the best design that slopes and their errors allow.

        A parabola through five designs along each number gives slope and curvature. The error of
        a slope is its difference from the slope over the inner three designs, and inside the box
        at least the root mean square of these differences. The part of the slope that bounds and
        limits block is subtracted; its Lagrange multipliers follow from non-negative least squares.
        The gains of multipliers up to their bounds, and of slopes up to the minimum of their
        parabolas, are added.
        """
        from scipy.optimize import nnls

        n, x = len(self.start), self.best
        places = np.clip(x + span * np.arange(-2, 3)[:, None, None] * np.eye(n), 0.0, 1.0)
        values = self.at(places.reshape(-1, n)).reshape(5, n, -1)
        here = values[2, 0]
        slope, error, curvature = np.zeros((3, n, len(here)))
        inside = np.zeros(n, dtype=bool)
        for i in range(n):
            along = places[:, i, i] - x[i]
            good = np.isfinite(values[:, i]).all(axis=1)
            # at a bound, designs coincide
            _, first = np.unique(np.round(along / span, 1), return_index=True)
            good &= np.isin(np.arange(5), first)
            if good.sum() < 3:
                return math.inf
            fit = np.polynomial.polynomial.polyfit(along[good], values[good, i], 2)
            slope[i], curvature[i] = fit[1], 2.0 * fit[2]
            near = good & (np.abs(along) <= 1.5 * span)
            inner = np.polynomial.polynomial.polyfit(along[near], values[near, i], near.sum() - 1)
            error[i] = np.abs(inner[1] - slope[i])
            inside[i] = good.all()
        # at a bound, a difference is one-sided, and its error includes the curvature
        if inside.any():
            error = np.maximum(error, np.sqrt(np.mean(error[inside] ** 2, axis=0)))
        error = error[:, 0]
        # blocked directions: outward normals of the active limits, with their distances
        eye = np.eye(n)
        normals = [-eye[i] for i in range(n)] + [eye[i] for i in range(n)]
        rooms = [*x, *(1.0 - x)]
        for j, (low, high) in enumerate(self.limits, start=1):
            length = float(np.linalg.norm(slope[:, j]))
            if length > 0.0:
                normals += [-slope[:, j] / length, slope[:, j] / length]
                rooms += [(here[j] - low) / length, (high - here[j]) / length]
        room = np.maximum(rooms, 0.0)
        acting = room <= ACTS
        held = np.array(normals)[acting].T.reshape(n, -1)
        multipliers, free = np.zeros(0), -slope[:, 0]
        if held.shape[1]:
            multipliers, _ = nnls(held, -slope[:, 0])
            free = free - held @ multipliers
        steepest = np.abs(free) + error
        # the distance to the far bound limits a slope that its curvature does not stop
        far = np.maximum(x, 1.0 - x)
        bent = curvature[:, 0]
        stops = bent * far > steepest
        gains = np.where(stops, 0.5 * steepest**2 / np.where(stops, bent, 1.0), steepest * far)
        # a number stays at its bound if its slope is larger than its error
        pinned = np.zeros(len(acting))
        pinned[acting] = multipliers
        gains[((pinned * (room < KEPT_DESIGNS))[: 2 * n].reshape(2, n) > error).any(axis=0)] = 0.0
        return float(gains.sum() + multipliers @ room[acting])
