"""Residuals of a case with respect to a measured trace, which a fit minimizes.

If samples are compared, the pre-trigger baseline predicts the offset and the correlated noise of
the samples in a pulse.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from granchain.analysis.pulse import PULSE_BEGINS
from granchain.case import Case
from granchain.errors import CaseError, RunError
from granchain.measured.baseline import LEAST_QUIET, digitizer_step
from granchain.measured.noise import (
    NO_SUPPORT,
    Autoregression,
    Sine,
    autoregression,
    sines_of_common_source,
    statistical_inefficiency,
)
from granchain.measured.sensor import Sensor
from granchain.measured.sides import Computed, Measured
from granchain.studies.evaluate import evaluated
from granchain.studies.measures import FORCES_ALONE

# Kinds of parameters that are fitted in addition to the free keys: the clock difference, if times
# are compared, and errors of the calibrations.
CLOCK_SHIFT, CALIBRATION = "the clock of the trace", "the calibration of the trace"
# A model error has the shape of a pulse, but noise does not. A model error therefore appears in the
# first few cosines of the samples of a window. The last of these has nearly four periods. Our
# choice, because a window is about three pulse widths long. Neyman 1937,
# doi:10.1080/03461238.1937.10404821.
SHAPES_PER_WINDOW = 8
# Maximum number of baseline samples that are used, the nearest to the pulse. Our choice: ten times
# the number of samples of a pulse.
MOST_QUIET = 400
# Number of standard deviations beyond which a baseline sample is a disturbance.
OUTLYING = 5.0
# Smallest level that a spectrum of few samples can show, relative to its mean. Our choice: -20 dB.
SEEN_RANGE = 0.01
# Largest fraction of a variance that a fitted line removes. Our choice.
LINE_SHARE = 0.5
# Smallest number of correlation times in a baseline that determines the noise.
FEW_TIMES = 5.0
# Prior deviation of the baseline's value, relative to its error from the baseline samples.
UNKNOWN = 1e3


class Nuisance(NamedTuple):
    """Parameter of the measurement that is fitted in addition to the keys: its kind, its sensor
    (None: all sensors), and its standard deviation known beforehand."""

    kind: str
    sensor: int | None
    error: float


class FitProblem:
    """Comparison of a case with a measured trace.

    Parameters
    ----------
    case : Case
    measured : Measured
    measure : str
    keys : tuple of str
        Free keys.
    threads : int
    """

    def __init__(
        self,
        case: Case,
        measured: Measured,
        measure: str,
        keys: tuple[str, ...],
        threads: int,
    ):
        trace, beads = measured.trace, measured.beads
        self.sensor: Sensor = measured.stated
        changes = FORCES_ALONE | {"sensors.beads": beads}
        if self.sensor.front_mass is not None:
            first = (case.striker is None) - case.ends.has_wall("left")
            existing = range(first, case.beads + case.ends.has_wall("right"))
            contacts = {contact for bead in beads for contact in (bead - 1, bead)}
            changes["sensors.contacts"] = sorted(contacts.intersection(existing))
        self.base, self.trace, self.measure = case, trace, measure
        self.case = case.replace(**changes)
        self.keys, self.threads, self.beads = keys, threads, beads
        self.measured = measured
        self.messages = [*trace.notes, *measured.messages()]
        self.messages_of_runs: list[str] = []
        self._cached_models: dict[bytes, Computed | None] = {}
        stated, readings = trace.about.uncertainty, measured.readings
        self.peak, self.arrival, self.peak_error, self.arrival_error = np.array(
            [
                (peak.value, arrival.value, peak.error, arrival.error)
                for peak, arrival in ((reading.peak, reading.arrival) for reading in readings)
            ]
        ).T
        self.times = measure != "peaks"
        count = len(beads)
        # changes of peaks and arrivals that are caused by reading them from the trace's samples
        self.peak_read, self.arrival_read = np.zeros((2, count))
        # for each compared number: its sensor, and its kind (0 for a peak, 1 for an arrival, 0 for
        # a sample)
        compared: list[Any] = [
            np.flatnonzero(np.isfinite(values)) if measure in (name, "features") else []
            for name, values in (("peaks", self.peak), ("arrivals", self.arrival))
        ]
        self._windows: dict[int, slice] = {}
        for k, reading in enumerate(readings):
            if reading.sound and math.isfinite(reading.width.value):
                ends = reading.top - reading.before, reading.top + reading.after
                window = self._windows[k] = slice(*np.searchsorted(trace.time, ends).tolist())
                if measure == "traces":
                    compared[0] += [k] * (window.stop - window.start)
        self.labels = np.concatenate(compared).astype(int)
        self.kinds = np.repeat([0, 1], [len(sensors) for sensors in compared])
        self.count = len(self.kinds)
        # the part of each error that noise causes, which is tiny in exact records; the complete
        # error if the shape of the pulse is unknown
        shares = np.array([reading.by_noise for reading in readings]).T
        shares = np.clip(shares / [self.peak_error, self.arrival_error], 1e-6, 1.0)
        shares = np.nan_to_num(shares, nan=1.0)
        self.noise_share = shares[self.kinds, self.labels]
        has = np.bincount(self.labels, minlength=count) > 0
        # a gain does not affect times, and a clock does not affect peaks
        gains = measure != "arrivals"
        # parameters in addition to the keys, in the order of a point: kind, sensor (None: all), and
        # the standard deviation known beforehand
        self.nuisances = [Nuisance(CLOCK_SHIFT, None, math.inf)] * self.times
        if gains and stated.common_gain > 0.0:
            self.nuisances.append(Nuisance(CALIBRATION, None, stated.common_gain))
        for kind, errors, compares in (
            (CALIBRATION, stated.individual_errors("gain", count), gains),
            (CLOCK_SHIFT, stated.individual_errors("time", count), self.times),
        ):
            self.nuisances += [
                Nuisance(kind, k, error)
                for k, error in enumerate(errors)
                if compares and has[k] and error
            ]
        self.priors = [nuisance for nuisance in self.nuisances if math.isfinite(nuisance.error)]
        # degrees of freedom of the noise estimate from the pre-trigger baseline, and of its slow
        # parts, by sensor; 0 if the baseline is not used
        self.quiet_degrees, self.slow_degrees = np.zeros((2, count))
        self.predictions = {}
        if measure == "traces":
            self.predictions = predict_windows(measured, self._windows, self.messages)
            for k, prediction in self.predictions.items():
                self.quiet_degrees[k], self.slow_degrees[k] = (
                    prediction.degrees,
                    prediction.slow_degrees,
                )
        elif stated.noise is None:
            for k, (reading, noise) in enumerate(zip(readings, measured.noises, strict=True)):
                self.quiet_degrees[k] = reading.baseline.samples / noise.statistical_inefficiency

    def with_nuisances(
        self, start: np.ndarray, low: np.ndarray, high: np.ndarray, size: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """Add the clock difference and calibration errors to the start, box, and sizes of a search.

        The clock difference is added only if times are compared.
        """
        columns = []
        if self.times:
            (model,) = self._computed([start])
            differences = self.arrival_differences(model)
            if not np.isfinite(differences).any():
                raise RunError(self.reason_without_pulses(start))
            widths = [reading.width.value for reading in self.measured.readings]
            width = float(np.median([*filter(math.isfinite, widths)] or [self.trace.interval]))
            columns.append((float(np.nanmedian(differences)), -math.inf, math.inf, width))
        columns += [
            (0.0, -1.0 if nuisance.kind == CALIBRATION else -math.inf, math.inf, nuisance.error)
            for nuisance in self.priors
        ]
        nuisances = np.reshape(columns, (-1, 4)).T
        return tuple(map(np.append, (start, low, high, size), nuisances))

    def reason_without_pulses(self, point: np.ndarray) -> str:
        """Return the reason why a point has no pulses to compare."""
        case = self._case(point)
        if isinstance(case, str):
            return case
        run = evaluated([case], threads=1, interruptible=False)
        if run.status[0].failed:
            return run.message[0]
        return (
            f"time.end: by {self.case.time.end:g} s, the computed pulse has not completely "
            "passed all sensors at which a pulse was measured. The run must be longer. Increase "
            "time.end."
        )

    def read_as_measured(self, point: np.ndarray) -> None:
        """Estimate how reading noisy samples changes peaks and arrivals, at a point.

        With fewer samples or stronger noise, the peak is read from a longer stretch of the pulse,
        and the fitted curve cuts off more of it. The choice of this stretch also depends on the
        noise. The mean of two readings contains these effects but no noise: one reading of the
        computed pulse with the measured noise, and one with the sign of the noise reversed
        (antithetic variates: Hammersley & Morton 1956, doi:10.1017/S0305004100031455).
        """
        (model,) = self._computed([point])
        assert model is not None
        modelled, gain, shift = self.scaled_to_measured(model)
        reverse = 2.0 * modelled - self.measured.force
        read = 0.5 * (np.array([self.peak, self.arrival]) + self.read(reverse))
        if np.isnan(read).any():
            # pulses that the reversed noise hides
            read = np.where(np.isnan(read), self.read(modelled), read)
        self.peak_read = np.nan_to_num(read[0] / gain - model.peaks)
        self.arrival_read = np.nan_to_num(read[1] - model.arrivals - shift)

    def scaled_to_measured(self, model: Computed) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return computed pulses with the measured peaks and arrivals, at the measured times.

        The arrays are the forces (sample, sensor) [N], and the gain [1] and shift [s] of each
        sensor.
        """
        gain, shift = self.peak / model.peaks, self.arrival_differences(model)
        finite = np.isfinite(gain) & np.isfinite(shift)
        gain, shift = np.where(finite, gain, 1.0), np.where(finite, shift, self.mean_shift(model))
        modelled = gain * np.column_stack(
            [model.at(self.trace.time - delay)[:, k] for k, delay in enumerate(shift)]
        )
        return np.nan_to_num(modelled), gain, shift

    def read(self, force: np.ndarray) -> np.ndarray:
        """Return the peaks [N] and arrivals [s] of forces, read with the noise of the trace.

        The shapes are (sample, sensor) for the forces and (2, sensor) for the result.
        """
        readings = self.measured.read(force)
        return np.array([(reading.peak.value, reading.arrival.value) for reading in readings]).T

    def misfit(self, model: Computed, shift: np.ndarray, gain: np.ndarray) -> float:
        """Return the root mean square of computed minus measured values, relative to the peaks."""
        if self.measure != "traces":
            off = (gain * model.peaks + self.peak_read) / self.peak - 1.0
            return float(np.sqrt(np.nanmean(off**2)))
        parts = [off / self.peak[k] for k, off in self.force_residuals(model, shift, gain)]
        return float(np.sqrt(np.mean(np.concatenate(parts) ** 2)))

    def arrival_differences(self, model: Computed | None) -> np.ndarray:
        """Return the measured minus the computed arrivals, (sensor,) [s]."""
        return self.arrival - (math.nan if model is None else model.arrivals)

    def mean_shift(self, model: Computed) -> float:
        """Return the mean of measured minus computed arrivals [s]; 0 without arrivals."""
        differences = self.arrival_differences(model)
        return float(np.nanmean(differences)) if np.isfinite(differences).any() else 0.0

    def _case(self, point: np.ndarray) -> Case | str:
        """Return the case at a point, or the reason why there is none."""
        try:
            return self.case.replace(**dict(zip(self.keys, map(float, point), strict=False)))
        except CaseError as error:
            return str(error)

    def _computed(self, points: Sequence[np.ndarray]) -> list[Computed | None]:
        """Return the computed pulses at each point, None if there are none.

        Points with the same values of the keys share a run. The results of the last call with the
        most runs are reused.
        """
        keys = [point[: len(self.keys)].tobytes() for point in points]
        models = {key: self._cached_models.get(key) for key in keys}
        new_cases = {
            key: self._case(np.frombuffer(key)) for key, model in models.items() if model is None
        }
        cases = {key: case for key, case in new_cases.items() if isinstance(case, Case)}
        if cases:
            runs = evaluated(cases.values(), "result", threads=self.threads, interruptible=False)
            keys_of_runs, sides = list(cases), (self.sensor, self.sensor, self.messages_of_runs)
            for i in runs.complete:
                result: Any = runs.result(i)
                models[keys_of_runs[i]] = Computed(result, self.beads, *sides)
        if len(models) >= len(self._cached_models):
            self._cached_models = models
        return [models[key] for key in keys]

    def residuals(self, points: np.ndarray) -> np.ndarray:
        """Return computed minus measured values in standard deviations, for `search.descend`."""
        rows = []
        for point, model in zip(points, self._computed(list(points)), strict=True):
            shift, gain = self.shifts_and_gains(point)
            # the specified values of calibrations and clocks enter as additional residuals
            more = point[len(point) - len(self.priors) :] / [
                nuisance.error for nuisance in self.priors
            ]
            rows.append([*self.data_residuals(model, shift, gain), *more])
        return np.array(rows)

    def nuisance_values(self, point: np.ndarray) -> dict[Nuisance, float]:
        """Return the parameters in addition to the keys: clocks [s] and calibration errors [1]."""
        return dict(zip(self.nuisances, point[len(self.keys) :].tolist(), strict=True))

    def shifts_and_gains(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the clock difference [s] and the gain [1] of each sensor at a point, (sensor,).

        The gain is the ratio of the measured to the true force.
        """
        shift, gain = np.zeros((2, len(self.beads)))
        for nuisance, value in self.nuisance_values(point).items():
            values = shift if nuisance.kind == CLOCK_SHIFT else gain
            values[slice(None) if nuisance.sensor is None else nuisance.sensor] += value
        return shift, 1.0 + gain

    def force_at(self, model: Computed, k: int, shift: float, gain: float) -> np.ndarray:
        """Return the computed force in the window of a sensor, as its instrument reads it [N]."""
        return gain * model.at(self.trace.time[self._windows[k]] - shift)[:, k]

    def force_residuals(
        self, model: Computed, shift: np.ndarray, gain: np.ndarray
    ) -> list[tuple[int, np.ndarray]]:
        """Return the computed minus the measured force in the window of each sensor [N]."""
        return [
            (
                k,
                self.force_at(model, k, shift[k], gain[k])
                + self.predictions[k].line
                - self.measured.force[window, k],
            )
            for k, window in self._windows.items()
        ]

    def samples(self, model: Computed, shift: np.ndarray, gain: np.ndarray) -> list[dict[str, Any]]:
        """Return the bead, times [s], and measured and computed forces [N] of each sensor."""
        return [
            {
                "bead": self.beads[k],
                "time": self.trace.time[window],
                "measured": self.measured.force[window, k]
                - (self.predictions[k].line if self.predictions else 0.0),
                "computed": self.force_at(model, k, shift[k], gain[k]),
            }
            for k, window in self._windows.items()
        ]

    def data_residuals(
        self, model: Computed | None, shift: np.ndarray, gain: np.ndarray
    ) -> np.ndarray:
        """Return computed minus measured values in standard deviations.

        A value is nan if the computed side lacks a measured pulse.
        """
        if model is None:
            return np.full(self.count, math.nan)
        if self.measure == "traces":
            from scipy.linalg import solve_triangular

            return np.concatenate(
                [
                    solve_triangular(self.predictions[k].root, off, lower=True, check_finite=False)
                    for k, off in self.force_residuals(model, shift, gain)
                ]
            )
        peaks = gain * model.peaks + self.peak_read - self.peak
        arrivals = model.arrivals + shift + self.arrival_read - self.arrival
        with np.errstate(all="ignore"):
            off = np.array([peaks / self.peak_error, arrivals / self.arrival_error])
        return np.asarray(off[self.kinds, self.labels])

    def blocks(self) -> np.ndarray:
        """Return the block of each compared number for resampling, (number,).

        A block is a sensor, or a stretch of its samples that is at least twice as long as the
        correlation of its noise.
        """
        if self.measure != "traces":
            return self.labels
        block_labels, first = [], 0
        for k, window in self._windows.items():
            count = window.stop - window.start
            pieces = max(1, int(count / math.ceil(2.0 * self.predictions[k].correlated)))
            block_labels.append(first + np.arange(count) * pieces // count)
            first += pieces
        return np.concatenate(block_labels)

    def shapes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return slow orthonormal shapes in the samples of each sensor, and their sensors.

        The arrays are (shape, number) and (shape,).
        """
        from scipy.fft import dct

        rows, labels = [], []
        for k in self._windows if self.measure == "traces" else ():
            indices = np.flatnonzero(self.labels == k)
            for shape in dct(np.eye(len(indices)), norm="ortho", axis=0)[:SHAPES_PER_WINDOW]:
                rows.append(np.zeros(self.count))
                rows[-1][indices] = shape
                labels.append(k)
        return np.reshape(rows, (-1, self.count)), np.array(labels, dtype=int)

    def rms_by_sensor(self, residual: np.ndarray) -> np.ndarray:
        """Return the root mean square residual of each sensor, (sensor,).

        If a sensor has only one residual, its sign is included.
        """
        by_sensor = np.full(len(self.beads), math.nan)
        for k in np.unique(self.labels):
            of_sensor = residual[self.labels == k]
            by_sensor[k] = of_sensor[0] if len(of_sensor) == 1 else math.sqrt(np.mean(of_sensor**2))
        return by_sensor


# --------------------------------------------------------------------------------------------------
# Prediction of samples from the baseline


class Prediction(NamedTuple):
    """Prediction of the samples of a sensor's window from its pre-trigger baseline.

    Attributes
    ----------
    line : array (sample,)
        Mean of the samples without a pulse [N].
    root : array (sample, sample)
        Lower Cholesky factor of the covariance [N].
    degrees, slow_degrees : float
        Degrees of freedom of the estimates of the noise, and of its slow parts; 0 if the noise is
        known.
    correlated : float
        Correlation length of the noise, in samples.
    """

    line: np.ndarray
    root: np.ndarray
    degrees: float
    slow_degrees: float
    correlated: float


def predict_windows(
    measured: Measured, windows: Mapping[int, slice], messages: list[str]
) -> dict[int, Prediction]:
    """Predict the samples in the window of each sensor.

    The samples have the noise of the baseline, with its autocovariance and its sine, if any. They
    scatter about a line that the baseline samples determine partly.

    Parameters
    ----------
    measured : Measured
    windows : mapping of int to slice
        Window of each sensor.
    messages : list of str
        Receives a message for each baseline that is too short.
    """
    predictions = {}
    quiets = {k: measured.force[: measured.readings[k].baseline.samples, k] for k in windows}
    firsts = {
        k: max(0, min(len(quiets[k]), window.start) - MOST_QUIET) for k, window in windows.items()
    }
    noise_models = _baseline_noise(quiets)
    for k, window in windows.items():
        few, count, span = "", len(quiets[k]), window.stop - firsts[k]
        degrees = slow_degrees = 0.0
        correlated = 1.0
        row, wave = np.zeros((2, span))
        if k in noise_models:
            model, stretch, sine = noise_models[k]
            row, wave = model.autocovariance(stretch, span), sine.autocovariance(span)
            if measured.trace.about.uncertainty.noise is not None:
                # scale to the specified noise of a sample after the filter
                size = measured.noise[k] ** 2 / (row[0] + wave[0])
                row, wave = size * row, size * wave
            correlated = statistical_inefficiency(row[:count])
            degrees, slow_degrees = noise_degrees_of_freedom(
                count, correlated, len(model.coefficients) - 1
            )
            if count < FEW_TIMES * correlated:
                few = (
                    f"its noise is correlated over {1e6 * correlated * measured.interval:.3g} "
                    f"us, and an estimate needs {FEW_TIMES:g} times that"
                )
            row = row * variance_about_true_line(row, count)
            # the fitted sine has removed two amplitudes and a frequency
            row = row * (count / max(count - 3, 1) if sine.turn else 1.0)
        else:
            row[0] = measured.raw_noise[k] ** 2
            if count < LEAST_QUIET:
                few = f"an estimate of its noise needs at least {LEAST_QUIET} samples"
        if few:
            messages.append(
                f"bead {measured.beads[k]}: the pre-trigger baseline has {count} samples, "
                f"{1e6 * count * measured.interval:.3g} us, which is short because {few}. The "
                "intervals are wider for this reason, and may still be too narrow. Record more "
                "before the pulse"
            )
        least = PULSE_BEGINS**3 * float(np.abs(measured.force[window, k]).max())
        row[0] = max(row[0], least**2) + least**2 + SEEN_RANGE * row[0]
        row[0] += digitizer_step(measured.trace.sensor_force[:, k]) ** 2 / 12.0
        indices = np.r_[firsts[k] : min(count, window.start), window.start : window.stop]
        line, root = _about_line(measured, k, indices, window, row + wave)
        predictions[k] = Prediction(line, root, degrees, slow_degrees, correlated)
    return predictions


def _baseline_noise(
    quiets: Mapping[int, np.ndarray],
) -> dict[int, tuple[Autoregression, int, Sine]]:
    """Return the noise of each baseline: an autoregression, its stretch, and a sine.

    Baselines that are too short or free of noise are omitted.
    """
    enough = [k for k in quiets if len(quiets[k]) >= LEAST_QUIET and quiets[k].any()]
    sines = dict(zip(enough, sines_of_common_source([quiets[k] for k in enough]), strict=True))
    residuals = [sines[k].residual for k in enough]
    # removing a sine leaves a gap at its frequency, which is not part of the noise's spectrum
    doubt = NO_SUPPORT if any(sine.turn for sine in sines.values()) else 0.0
    models = [(autoregression([residual], doubt), 0) for residual in residuals]
    # sensors of one model share a spectrum, which more samples determine better
    if len(enough) > 1:
        alike = autoregression(residuals, len(enough) * doubt)
        if alike.criterion < sum(model.criterion for model, _ in models):
            models = [(alike, i) for i in range(len(enough))]
    return {
        k: (model, stretch, sines[k]) for k, (model, stretch) in zip(enough, models, strict=True)
    }


def noise_degrees_of_freedom(count: int, correlated: float, order: int) -> tuple[float, float]:
    """Return the degrees of freedom of the noise estimate, and of its slow parts.

    For a spectrum from an autoregression, the relative variance at zero frequency is 4 order/count
    (Berk 1974, doi:10.1214/aos/1176342709). For an estimate with some degrees of freedom, it is
    2/degrees. Each sensor is treated as if it had an individual spectrum. If all sensors share one,
    the degrees of their sum are the same.
    """
    return count / correlated, count / (correlated + 2.0 * order)


def variance_about_true_line(row: np.ndarray, count: int) -> float:
    """Return the ratio of the variance of noise to the variance about its fitted line.

    The mean of the samples has the variance of count/times independent samples, and the slope has
    another variance.
    """
    times = 2.0 * float(np.sum(row[:count] / row[0])) - 1.0
    return 1.0 / (1.0 - min(2.0 * max(times, 1.0) / count, LINE_SHARE))


def _about_line(
    measured: Measured, k: int, indices: np.ndarray, window: slice, row: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of the samples in a window, given the baseline samples before it, and the
    lower Cholesky factor of their covariance.

    Rasmussen & Williams 2006, Gaussian processes for machine learning, eq. 2.41 and 2.42. The prior
    of the slope has mean 0. Its variance is the squared slope of the baseline beyond its error, and
    at least a quarter of the error's square: over the baseline, slower noise looks like a line.

    Parameters
    ----------
    measured : Measured
    k : int
        Index of the sensor.
    indices : array (sample,)
        Indices of the baseline samples, then those of the window.
    window : slice
    row : array
        Covariance of two samples versus their distance in samples [N^2].
    """
    from scipy.linalg import cholesky, solve_triangular, toeplitz

    force, baseline, first = measured.force[:, k], measured.readings[k].baseline, indices[0]
    # disturbances are not noise
    calm = np.abs(force) <= OUTLYING * math.sqrt(row[0])
    indices = indices[calm[indices] | (indices >= window.start)]
    ahead = int(np.sum(indices < window.start))
    quiet = force[indices[:ahead]]
    covariance = toeplitz(row)[np.ix_(indices - first, indices - first)]
    distances = indices - baseline.middle
    if ahead < LEAST_QUIET:
        covariance += baseline.uncertainty(0.5 * (window.start + window.stop)) ** 2
    else:
        line = np.column_stack([np.ones(ahead), distances[:ahead]])
        quiet_root = cholesky(covariance[:ahead, :ahead], lower=True)
        basis = solve_triangular(quiet_root, line, lower=True)
        baseline_basis = solve_triangular(quiet_root, quiet, lower=True)
        line_covariance = np.linalg.inv(basis.T @ basis)
        slope = float((line_covariance @ (basis.T @ baseline_basis))[1])
        slope_variance = max(slope**2 - line_covariance[1, 1], 0.25 * line_covariance[1, 1])
        covariance += UNKNOWN**2 * line_covariance[0, 0] + slope_variance * np.outer(
            distances, distances
        )
        # the baseline's mean has removed the slowest part of the noise
        covariance[ahead:, ahead:] += baseline.value_error**2
    root = np.asarray(cholesky(covariance, lower=True))
    whitened = solve_triangular(root[:ahead, :ahead], quiet, lower=True)
    return root[ahead:, :ahead] @ whitened, root[ahead:, ahead:]
