"""Posterior density of case parameters for samplers, from the residuals that a fit minimizes.

Clocks and gains are integrated out. The computed numbers are linear in the gains, and nearly linear
in the clocks within the uncertainty of these, so the integral is that of a normal density about
the most likely clocks and gains (Rasmussen & Williams 2006, Gaussian processes for machine
learning, sec. 2.7 and eq. 3.32).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import compress, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from granchain.analysis.pulse import PULSE_BEGINS, PULSE_ENDS
from granchain.case import Case
from granchain.case.case import with_numbers
from granchain.errors import CaseError, RunError, TraceError
from granchain.keys import Problems, brief
from granchain.measured.fit import free_quantities, pulses_of_trace
from granchain.measured.fit_problem import CLOCK_SHIFT, FitProblem
from granchain.measured.noise import RIPPLES
from granchain.measured.sides import Computed, Measured
from granchain.measured.trace import Trace
from granchain.simulation import warns_of_fast_drives
from granchain.store.dataset import padded_rows
from granchain.studies.evaluate import evaluated
from granchain.studies.members import check_members
from granchain.studies.plan import (
    base_of,
    checked_distribution,
    is_distribution,
    is_independent,
)
from granchain.studies.search import Lowest, descend

# Maximum number of points that are evaluated together. Our choice: the forces of ten sensors, 5,000
# samples each, need 200 MB. The second number is the maximum number of points that a thread
# compares with the record at once; their samples fit into the processor's cache.
BATCH, PIECE = 512, 32
# Number of samples in the width of a pulse that are enough to find its peak roughly.
ROUGH = 8.0
# Number of noisy copies of the pulses that give the covariance of peaks and arrivals. A standard
# deviation has a relative error of 3.5 %, 1/sqrt(2 * 400).
COPIES = 400
# Smallest error of a measured number if the record has no noise: of a peak relative to the peak,
# and of an arrival relative to the sampling interval. `prediction` uses the same for samples.
LEAST_ERROR = PULSE_BEGINS**3
# Largest expected relative change of the sum of squares at the end of the search for clocks and
# gains, and maximum number of Gauss-Newton steps. Three or four are enough unless a point is so far
# from the record that only the order of magnitude of its density matters.
NEWTON_TOLERANCE, MOST_NEWTON_STEPS = 1e-6, 8
# Number of points of the prior. The search for the maximum starts at the best of them, and stays
# within this many standard deviations. Our choice: one of a billion points is outside.
PRIOR_POINTS, LIMIT_OF_LIKELIHOOD = 64, 6.0

# Coefficients of the cubic between two samples, from the six samples about it. It has the values at
# both samples, and the slopes of the quartics through the five samples about each.
_VALUES_AT_SAMPLES = np.eye(6)[2:4]
_SLOPES = np.array([[1.0, -8.0, 0.0, 8.0, -1.0, 0.0], [0.0, 1.0, -8.0, 0.0, 8.0, -1.0]]) / 12.0
CUBIC = np.array(
    [
        _VALUES_AT_SAMPLES[0],
        _SLOPES[0],
        3.0 * (_VALUES_AT_SAMPLES[1] - _VALUES_AT_SAMPLES[0]) - 2.0 * _SLOPES[0] - _SLOPES[1],
        2.0 * (_VALUES_AT_SAMPLES[0] - _VALUES_AT_SAMPLES[1]) + _SLOPES[0] + _SLOPES[1],
    ]
).T

# Function of the clock of each number [s], (run, number), and the indices of these runs. It returns
# the computed numbers without a gain, and their derivatives by the clock.
PulseNumbers = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


@warns_of_fast_drives
def likelihood(
    case: Case,
    trace: Trace | str | os.PathLike[str],
    free: Mapping[str, Any],
    measure: str = "traces",
    *,
    cutoff: float | None = None,
    threads: int | None = None,
) -> Likelihood:
    """Create the posterior density of case parameters, for a sampler.

    Clocks and gains are integrated out with their stated uncertainties. The covariance of the noise
    is estimated once, from the record.

    Parameters
    ----------
    case : Case
        Case with the values of all other keys. Its sensors are replaced by those of the trace.
    trace : Trace, str or path
        Measured trace, or its folder.
    free : mapping of str to frozen distribution of scipy.stats
        Prior distribution of each free key, such as {"striker.speed": gc.normal(1.77, 0.05)}.
    measure : {"traces", "features", "peaks", "arrivals"}
        Quantity that is compared: all samples of the first pulses, their peaks and arrivals, or one
        of these.
    cutoff : float, optional
        Cutoff of the zero-phase filter for both sides [Hz]; 0 turns it off. Default: the value in
        about.toml, if any.
    threads : int, optional
        Number of threads. Default: the number of processors available to this process.

    Returns
    -------
    Likelihood

    Raises
    ------
    CaseError, TraceError
        If an argument is invalid, or if the trace has nothing to compare.

    Examples
    --------
    >>> import granchain as gc
    >>> case = gc.load_case("steel-chain-hertz").replace(
    ...     {"chain.beads": 8, "sensors.beads": [3, 6], "time.end": 2e-4}
    ... )
    >>> run = gc.run(case)
    >>> about = {"title": "A computed trace", "kind": "synthetic", "uncertainty": {"noise": 0.1}}
    >>> trace = gc.Trace(
    ...     time=run.time, force=run.sensor_force, beads=run.sensor_bead, about=about
    ... )
    >>> problem = gc.likelihood(case, trace, {"striker.speed": gc.normal(1.8, 0.1)})
    >>> problem([[1.76], [1.77], [1.78]]).argmax()
    np.int64(1)
    """
    threads = check_members([case], threads)
    problems = Problems()
    problems.check(
        isinstance(free, Mapping) and bool(free),
        "free",
        f"{brief(free)} is not valid" if free else "missing",
        "It must be a mapping of at least one key to its prior distribution",
        'Write for example {"striker.speed": gc.normal(1.77, 0.05)}',
    )
    problems.close()
    for key, prior in free.items():
        if problems.check(
            is_distribution(prior),
            f"free.{key}",
            f"{brief(prior)} is not valid",
            "The prior must be a frozen continuous distribution of scipy.stats",
            "Write for example gc.normal(1.77, 0.05)",
        ):
            checked_distribution(f"free.{key}", prior, problems)
    problems.close()
    case = case.replace({key: float(prior.median()) for key, prior in free.items()})
    free_quantities(case, list(free), measure)
    return Likelihood(case, pulses_of_trace(case, trace, cutoff), free, measure, threads)


class Run(NamedTuple):
    """Interval [s] and forces (sample, sensor) [N] of a run, and its peaks [N] and arrivals [s]."""

    interval: float
    force: np.ndarray
    pulse: tuple[np.ndarray, ...] = ()


class Marginals(NamedTuple):
    """Comparison of runs with the record, at their most likely clocks and gains.

    Attributes
    ----------
    log_likelihood : array (run,)
        Logarithm of the density, integrated over clocks and gains; -inf if a run fails.
    residual : array (run, number + nuisance)
        Computed minus measured numbers, then clocks and gains, in standard deviations.
    nuisances : array (run, nuisance)
        Clocks and gains, in standard deviations.
    """

    log_likelihood: np.ndarray
    residual: np.ndarray
    nuisances: np.ndarray


class Likelihood:
    """Posterior density of case parameters, given a measured trace.

    `gc.likelihood` creates it. Call it with parameters of the shape (k,) or (n, k) to get the
    logarithm of the posterior density, a number or (n,). All points of a call are computed
    together. A point whose run fails has the density 0 and is counted in `failed`.

    Attributes
    ----------
    names : tuple of str
        Free keys, in the order of the parameters.
    measured : array (n_numbers,)
        Measured numbers: samples [N], or peaks [N] and then arrivals [s].
    failed : int
        Number of points so far with an invalid case, a failed run, or an absent pulse.
    messages : list of str
        Problems of the trace.

    Examples
    --------
    >>> import granchain as gc
    >>> case = gc.load_case("steel-chain-hertz").replace(
    ...     {"chain.beads": 8, "sensors.beads": [3, 6], "time.end": 2e-4}
    ... )
    >>> run = gc.run(case)
    >>> about = {"title": "A computed trace", "kind": "synthetic", "uncertainty": {"noise": 0.1}}
    >>> trace = gc.Trace(
    ...     time=run.time, force=run.sensor_force, beads=run.sensor_bead, about=about
    ... )
    >>> problem = gc.likelihood(case, trace, {"striker.speed": gc.normal(1.8, 0.1)})
    >>> walkers = problem.start(4, seed=0)
    >>> walkers.shape, problem.simulate(walkers, seed=0).shape == (4, len(problem.measured))
    ((4, 1), True)
    """

    def __init__(
        self,
        case: Case,
        measured: Measured,
        priors: Mapping[str, Any],
        measure: str,
        threads: int,
    ):
        self.names, self._priors = tuple(priors), [*priors.values()]
        self._problem = problem = FitProblem(case, measured, measure, self.names, threads)
        self.messages, self.failed = problem.messages, 0
        if not problem.count:
            raise TraceError(
                f"trace: no sensor has {measure} to compare ({'; '.join(problem.messages)}). At "
                "least one number is required. Use another measure or another trace."
            )
        labels, kinds, nuisances = problem.labels, problem.kinds, problem.nuisances
        self._tops = np.array([reading.top for reading in measured.readings])
        if measure == "traces":
            windows = problem._windows
            self._times = np.concatenate([measured.time[window] for window in windows.values()])
            self._width = min(measured.readings[k].width.value for k in windows)
            self.measured = np.concatenate(
                [
                    measured.force[window, k] - problem.predictions[k].line
                    for k, window in windows.items()
                ]
            )
            roots = [problem.predictions[k].root for k in windows]
        else:
            self.measured = np.array([problem.peak, problem.arrival])[kinds, labels]
            errors = np.array([problem.peak_error, problem.arrival_error])
            roots = [np.diag(errors[kinds, labels])]
        # clock [s] and gain of each number per standard deviation of each nuisance; the standard
        # deviation of the common clock is the duration of the record
        self._clocks, self._gains = np.zeros((2, len(nuisances), problem.count))
        for row, (kind, sensor, error) in enumerate(nuisances):
            of_clock = kind == CLOCK_SHIFT
            acts = (labels == sensor) | (sensor is None)
            acts &= (measure == "traces") | (kinds == of_clock)
            size = error if math.isfinite(error) else float(np.ptp(measured.time))
            (self._clocks if of_clock else self._gains)[row] = size * acts
        self._set_noise(roots)
        if measure != "traces":
            # the errors of peaks and arrivals are good enough to find the most likely pulses
            self._set_noise([self._root_of_readings()])

    def _set_noise(self, roots: Sequence[np.ndarray]) -> None:
        """Set the noise of the measured numbers from the roots of its covariance, in order."""
        ends = np.cumsum([0, *map(len, roots)]).tolist()
        # groups of numbers with correlated noise, and the inverse of the root of their covariance
        self._whitening = [
            (slice(*pair), np.linalg.inv(root))
            for pair, root in zip(pairwise(ends), roots, strict=True)
        ]
        determinants = [float(np.log(np.diag(root)).sum()) for root in roots]
        self._constant = -sum(determinants) - 0.5 * math.log(2.0 * math.pi) * ends[-1]

    def _root_of_readings(self) -> np.ndarray:
        """Return the root of the covariance of peaks and arrivals, and correct their mean errors.

        The most likely pulses are read with noise like the noise before the measured pulses.
        """
        from scipy.signal import fftconvolve

        problem, random = self._problem, np.random.default_rng(0)
        measured, labels = problem.measured, problem.labels
        likely: Any = problem._computed([self._theta(self._lowest(random).point)])[0]
        noise = np.zeros((COPIES, *measured.force.shape))
        for k, of_sensor in enumerate(measured.noises):
            response = of_sensor.response if len(of_sensor.response) else np.ones(1)
            samples = noise.shape[1] + len(response) - 1
            white = of_sensor.size * random.standard_normal((COPIES, samples))
            noise[:, :, k] = fftconvolve(white, response[np.newaxis], "valid", axes=1)
        pulses, _, _ = problem.scaled_to_measured(likely)
        copies = [pulses + measured.stated.smooth(measured.interval, copy) for copy in noise]
        draws = np.array([problem.read(copy) for copy in copies])[:, problem.kinds, labels]
        draws = draws[np.isfinite(draws).all(axis=1)]
        least = LEAST_ERROR * np.where(problem.kinds, measured.interval, self.measured)
        # the likely pulses have the measured peaks and arrivals
        self.measured = 2.0 * self.measured - draws.mean(axis=0)
        covariance = np.where(labels == labels[:, np.newaxis], np.cov(draws.T), 0.0)
        return np.linalg.cholesky(covariance + np.diag(least**2))

    def __call__(self, theta: ArrayLike) -> Any:
        """Return the logarithm of the posterior density, times the evidence.

        Parameters
        ----------
        theta : array (k,) or (n, k)
            Values of the free keys. Points outside the prior are not computed.

        Returns
        -------
        float or array (n,)
        """
        points = self._points(theta)
        total = self.log_prior(points)
        computed = (total > -math.inf) | np.isnan(points).any(axis=1)
        total[computed] += self.log_likelihood(points[computed])
        return total if np.ndim(theta) > 1 else total[0]

    def log_likelihood(self, theta: ArrayLike) -> Any:
        """Return the logarithm of the density of the measured numbers, given the parameters.

        Parameters
        ----------
        theta : array (k,) or (n, k)
            Values of the free keys.

        Returns
        -------
        float or array (n,)
        """
        values = self._marginals(self._points(theta)).log_likelihood
        return values if np.ndim(theta) > 1 else values[0]

    def log_prior(self, theta: ArrayLike) -> Any:
        """Return the logarithm of the prior density.

        Parameters
        ----------
        theta : array (k,) or (n, k)
            Values of the free keys.

        Returns
        -------
        float or array (n,)
        """
        columns = zip(self._priors, self._points(theta).T, strict=True)
        total = np.sum([prior.logpdf(column) for prior, column in columns], axis=0)
        total[np.isnan(total)] = -math.inf
        return total if np.ndim(theta) > 1 else total[0]

    def prior_transform(self, u: ArrayLike) -> np.ndarray:
        """Return quantiles of the prior, for nested sampling.

        Parameters
        ----------
        u : array (k,) or (n, k)
            Probabilities.

        Returns
        -------
        array (k,) or (n, k)
            Values of the free keys.
        """
        columns = zip(self._priors, self._points(u).T, strict=True)
        theta = np.column_stack([prior.ppf(column) for prior, column in columns])
        return theta.reshape(np.shape(u))

    def start(self, n: int, seed: int) -> np.ndarray:
        """Return points near the maximum of the posterior density, to start walkers at.

        Parameters
        ----------
        n : int
            Number of points.
        seed : int
            Seed of the points.

        Returns
        -------
        array (n, k)
            Values of the free keys.

        Raises
        ------
        RunError
            If no run near the best of 64 points of the prior has pulses.
        """
        random = np.random.default_rng(seed)
        lowest = self._lowest(random)
        root = np.linalg.cholesky(np.linalg.inv(lowest.slope.T @ lowest.slope))
        return self._theta(lowest.point + random.standard_normal((n, len(root))) @ root.T)

    def _lowest(self, random: np.random.Generator) -> Lowest:
        """Return the maximum of the density, at normal scores of the prior."""

        def residuals(scores: np.ndarray) -> np.ndarray:
            # the scores are residuals as well
            return np.column_stack([self._marginals(self._theta(scores)).residual, scores])

        scores = random.standard_normal((PRIOR_POINTS, len(self.names)))
        squares = np.sum(residuals(scores) ** 2, axis=1)
        best = scores[np.argmin(np.where(np.isnan(squares), math.inf, squares))]
        size = np.ones(len(best))
        lowest = descend(
            residuals, best, -LIMIT_OF_LIKELIHOOD * size, LIMIT_OF_LIKELIHOOD * size, size
        )
        if lowest is None:
            raise RunError(self._problem.reason_without_pulses(self._theta(best)))
        return lowest

    def _theta(self, scores: np.ndarray) -> np.ndarray:
        """Return parameters at normal scores of the prior."""
        from scipy.special import ndtr

        return self.prior_transform(ndtr(scores))

    def simulate(self, theta: ArrayLike, seed: int | None = None) -> np.ndarray:
        """Return numbers as they would be measured, to compare with `measured`.

        The common clock is the most likely one.

        Parameters
        ----------
        theta : array (k,) or (n, k)
            Values of the free keys.
        seed : int, optional
            Seed of the noise, and of gains and clocks with a stated uncertainty. Default: without
            them.

        Returns
        -------
        array (n_numbers,) or (n, n_numbers)
            Numbers, which are nan if a run fails.
        """
        points, size = self._points(theta), len(self._clocks)
        table = np.full((len(points), len(self.measured)), math.nan)
        draws = np.random.default_rng(seed).standard_normal((len(table), size + table.shape[1]))
        draws *= seed is not None
        for rows, runs in self._runs(points):
            nuisances, common = draws[rows, :size], slice(self._problem.times)
            nuisances[:, common] = self._compared(runs).nuisances[:, common]
            numbers, _ = self._numbers(runs)
            values, _ = numbers(nuisances @ self._clocks, np.arange(len(runs)))
            table[rows] = (1.0 + nuisances @ self._gains) * values
        for where, inverse in self._whitening:
            table[:, where] += np.linalg.solve(inverse, draws[:, size:][:, where].T).T
        return table if np.ndim(theta) > 1 else table[0]

    def _points(self, theta: ArrayLike) -> np.ndarray:
        """Return parameters as a table with one row per point."""
        points = np.atleast_2d(np.asarray(theta, dtype=float))
        if points.shape[1:] != (len(self.names),):
            raise CaseError(
                f"theta: the shape {np.shape(theta)} is not valid. It must be (k,) or (n, k), "
                f"with one value for each of {', '.join(self.names)}."
            )
        return points

    def _cases(self, points: np.ndarray) -> list[Case | None]:
        """Return the case of each point, None if it is invalid."""
        case, base = self._problem.case, None
        cases: list[Any] = []
        rows = [dict(zip(self.names, point, strict=True)) for point in points.tolist()]
        finite = np.isfinite(points).all(axis=1)
        if all(is_independent(name, 0.0) for name in self.names):
            base = base_of(case, list(compress(rows, finite)), list(self.names))
        for row, valid in zip(rows, finite, strict=True):
            changed = None
            if valid:
                with suppress(CaseError):
                    changed = case.replace(row) if base is None else with_numbers(base, row)
            cases.append(changed)
        return cases

    def _marginals(self, points: np.ndarray) -> Marginals:
        """Return the comparison of the run of each point with the record."""
        nuisances, numbers = self._clocks.shape
        marginals = Marginals(
            np.full(len(points), -math.inf),
            np.full((len(points), numbers + nuisances), math.nan),
            np.full((len(points), nuisances), math.nan),
        )
        for rows, runs in self._runs(points):
            pieces = [runs[i : i + PIECE] for i in range(0, len(runs), PIECE)]
            with ThreadPoolExecutor(self._problem.threads) as pool:
                compared = list(pool.map(self._compared, pieces))
            for table, columns in zip(marginals, zip(*compared, strict=True), strict=True):
                table[rows] = np.concatenate(columns)
        self.failed += int(np.isneginf(marginals.log_likelihood).sum())
        return marginals

    def _runs(self, points: np.ndarray) -> Iterator[tuple[np.ndarray, list[Run]]]:
        """Yield complete runs, and the indices of their points."""
        problem, sensor = self._problem, self._problem.sensor
        # the sensor forces suffice for samples, unless the halves of a sensor are unequal
        forces = problem.measure == "traces" and sensor.front_mass is None
        for first in range(0, len(points), BATCH):
            cases = self._cases(points[first : first + BATCH])
            valid = [i for i, case in enumerate(cases) if case is not None]
            if not valid:
                continue
            runs = evaluated(
                [cases[i] for i in valid],
                "traces" if forces else "result",
                threads=problem.threads,
                interruptible=False,
            )
            sides: list[Run] = []
            for i in runs.complete:
                if forces:
                    time, force = runs.traces[i]
                    interval = float(time[-1]) / (len(time) - 1)
                    above = force - force[0] if force[0].any() else force
                    above = sensor.smooth(interval, sensor.instrument(interval, above))
                    sides.append(Run(interval, above))
                else:
                    result: Any = runs.result(i)
                    side = Computed(result, problem.beads, sensor, sensor, problem.messages_of_runs)
                    sides.append(Run(side.interval, side.force, (side.peaks, side.arrivals)))
            if sides:
                yield first + np.array(valid)[runs.complete], sides

    def _numbers(self, runs: Sequence[Run]) -> tuple[PulseNumbers, np.ndarray]:
        """Return the computed numbers of runs, and their arrivals, (run, sensor) [s]."""
        problem = self._problem
        if problem.measure == "traces":
            level = RIPPLES if problem.sensor.cutoff else PULSE_BEGINS
            arrivals = rough_arrivals(runs, level, self._width)
            return samples_of(runs, self._times, problem.labels), arrivals
        pulses = np.array([run.pulse for run in runs])
        numbers = pulses[:, problem.kinds, problem.labels]

        def shifted(clocks: np.ndarray, active: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return numbers[active] + clocks, np.ones(clocks.shape)

        return shifted, pulses[:, 1]

    def _compared(self, runs: Sequence[Run]) -> Marginals:
        """Return the comparison of runs with the record."""
        problem, nuisances = self._problem, len(self._clocks)
        computed, arrivals = self._numbers(runs)
        point, step = np.zeros((2, len(runs), nuisances))
        if problem.times:
            shifts = np.median((self._tops - arrivals)[:, np.unique(problem.labels)], axis=1)
            step[:, 0] = shifts / np.ptp(problem.trace.time)
        square = np.full(len(runs), math.inf)
        change, volume = np.zeros((2, len(runs)))
        residual = np.full((len(runs), sum(self._clocks.shape)), math.nan)
        active = np.flatnonzero(np.isfinite(step).all(axis=1))
        for _ in range(MOST_NEWTON_STEPS):
            trial = point[active] + step[active]
            values, slopes = computed(product(trial, self._clocks), active)
            gains = 1.0 + product(trial, self._gains)
            by_clock = (gains * slopes)[:, :, np.newaxis] * self._clocks.T
            by_gain = values[:, :, np.newaxis] * self._gains.T
            off = (gains * values - self.measured)[:, :, np.newaxis]
            rows = np.concatenate([off, by_clock + by_gain], axis=2)
            white = [inverse @ rows[:, where] for where, inverse in self._whitening]
            off, slope = np.split(np.concatenate(white, axis=1), [1], axis=2)
            residuals = np.concatenate([off[:, :, 0], trial], axis=1)
            squares = np.sum(residuals**2, axis=1)
            nearer = squares <= square[active]
            better, back = active[nearer], np.swapaxes(slope[nearer], 1, 2)
            point[better], square[better] = trial[nearer], squares[nearer]
            residual[better] = residuals[nearer]
            normal = back @ slope[nearer] + np.eye(nuisances)
            gradient = back @ off[nearer] + trial[nearer, :, np.newaxis]
            step[active] *= 0.5
            step[better] = -np.linalg.solve(normal, gradient)[:, :, 0]
            change[better] = -np.sum(step[better] * gradient[:, :, 0], axis=1)
            volume[better] = np.linalg.slogdet(normal)[1]
            active = active[
                np.isfinite(squares) & (change[active] > NEWTON_TOLERANCE * square[active])
            ]
            if not len(active):
                break
        return Marginals(self._constant - 0.5 * (square - change + volume), residual, point)


def product(rows: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return a product whose rows do not depend on the number of rows, to the last bit."""
    return (rows[:, np.newaxis] @ matrix)[:, 0]


def rough_arrivals(runs: Sequence[Run], level: float, width: float) -> np.ndarray:
    """Return when the first pulses reach their peaks, within a sixteenth of their width.

    Parameters
    ----------
    runs : sequence of Run
    level : float
        Fraction of the largest force at which a pulse starts.
    width : float
        Smallest width of a pulse [s].

    Returns
    -------
    array (run, sensor)
        Times [s], nan without a complete pulse.
    """
    strides = [max(1, int(width / (ROUGH * run.interval))) for run in runs]
    steps = [[stride * run.interval] for stride, run in zip(strides, runs, strict=True)]
    coarse = [run.force[::stride] for stride, run in zip(strides, runs, strict=True)]
    force = padded_rows(coarse, 2)
    high = np.maximum.accumulate(force, axis=1)
    # rounding errors of the static force are not a pulse
    highest = np.nanmax(force, axis=1, keepdims=True)
    begun = high >= np.maximum(
        level * highest, PULSE_BEGINS**2 * highest.max(axis=2, keepdims=True)
    )
    ended = np.logical_or.accumulate(begun & (force < PULSE_ENDS * high), axis=1)
    top = np.argmax(np.where(ended | np.isnan(force), -math.inf, force), axis=1)
    return np.where(ended.any(axis=1), np.array(steps) * top, math.nan)


def samples_of(runs: Sequence[Run], times: np.ndarray, sensors: np.ndarray) -> PulseNumbers:
    """Return the function of the clocks that interpolates computed forces at measured times.

    A force is 0 before its run, and nan after it.

    Parameters
    ----------
    runs : sequence of Run
    times : array (number,)
        Time of each number on the clock of the record [s].
    sensors : array (number,)
        Index of the sensor of each number.
    """
    flat = np.concatenate([run.force.ravel() for run in runs])
    intervals = np.array([[run.interval] for run in runs])
    counts = np.array([[len(run.force)] for run in runs])
    across = runs[0].force.shape[1]
    starts = across * (np.cumsum(counts, axis=0) - counts)

    def samples(clocks: np.ndarray, active: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at, last = (times - clocks) / intervals[active], counts[active] - 1
        sample = np.clip(at, 2, last - 3).astype(int)
        first = starts[active] + sensors + across * sample
        six = flat[first[:, :, np.newaxis] + across * np.arange(-2, 4)]
        a, b, c, d = np.moveaxis(six @ CUBIC, 2, 0)
        x = at - sample
        values = a + x * (b + x * (c + x * d))
        slopes = (b + x * (2.0 * c + 3.0 * x * d)) / -intervals[active]
        values[at < 0.0] = slopes[at < 0.0] = 0.0
        values[at > last] = math.nan
        return values, slopes

    return samples
