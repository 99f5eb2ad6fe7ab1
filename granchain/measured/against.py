"""Residuals of a case with respect to a measured trace, which a fit minimizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from granchain.case import Case
from granchain.errors import CaseError, RunError
from granchain.measured.foretold import foretold
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
SHAPES = 8


class Nuisance(NamedTuple):
    """Parameter of the measurement that is fitted in addition to the keys: its kind, its sensor
    (None: all sensors), and its standard deviation known beforehand."""

    kind: str
    sensor: int | None
    error: float


class Against:
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
            there = range(first, case.beads + case.ends.has_wall("right"))
            contacts = {contact for bead in beads for contact in (bead - 1, bead)}
            changes["sensors.contacts"] = sorted(contacts.intersection(there))
        self.base, self.trace, self.measure = case, trace, measure
        self.case = case.replace(**changes)
        self.keys, self.threads, self.beads = keys, threads, beads
        self.measured = measured
        self.messages = [*trace.notes, *measured.messages()]
        self.messages_of_runs: list[str] = []
        self._kept: dict[bytes, Computed | None] = {}
        stated, readings = trace.about.uncertainty, measured.readings
        self.peak, self.arrival, self.peak_error, self.arrival_error = np.array(
            [
                (one.peak.value, one.arrival.value, one.peak.error, one.arrival.error)
                for one in readings
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
        self.kinds = np.repeat([0, 1], [len(one) for one in compared])
        self.count = len(self.kinds)
        # the part of each error that noise causes, which is tiny in exact records; all of the error
        # if the shape of the pulse is unknown
        shares = np.array([one.by_noise for one in readings]).T
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
            (CALIBRATION, stated.own("gain", count), gains),
            (CLOCK_SHIFT, stated.own("time", count), self.times),
        ):
            self.nuisances += [
                Nuisance(kind, k, error)
                for k, error in enumerate(errors)
                if compares and has[k] and error
            ]
        self.known = [one for one in self.nuisances if math.isfinite(one.error)]
        # degrees of freedom of the noise estimate from the pre-trigger baseline, and of its slow
        # parts, by sensor; 0 if the baseline is not used
        self.quiet_degrees, self.slow_degrees = np.zeros((2, count))
        self.foretold = {}
        if measure == "traces":
            self.foretold = foretold(measured, self._windows, self.messages)
            for k, one in self.foretold.items():
                self.quiet_degrees[k], self.slow_degrees[k] = one.degrees, one.slow_degrees
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
            apart = self.apart(model)
            if not np.isfinite(apart).any():
                raise RunError(self.why_not(start))
            widths = np.array([one.width.value for one in self.measured.readings])
            known = widths[np.isfinite(widths)]
            width = float(np.median(known)) if len(known) else self.trace.interval
            columns.append((float(np.nanmedian(apart)), -math.inf, math.inf, width))
        columns += [
            (0.0, -1.0 if one.kind == CALIBRATION else -math.inf, math.inf, one.error)
            for one in self.known
        ]
        box = (start, low, high, size)
        return tuple(np.append(own, [one[i] for one in columns]) for i, own in enumerate(box))

    def why_not(self, point: np.ndarray) -> str:
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
        if model is None:
            return
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
        gain, shift = self.peak / model.peaks, self.apart(model)
        finite = np.isfinite(gain) & np.isfinite(shift)
        gain, shift = np.where(finite, gain, 1.0), np.where(finite, shift, self.mean_shift(model))
        modelled = gain * np.column_stack(
            [model.at(self.trace.time - one)[:, k] for k, one in enumerate(shift)]
        )
        return np.nan_to_num(modelled), gain, shift

    def read(self, force: np.ndarray) -> np.ndarray:
        """Return the peaks [N] and arrivals [s] of forces, read with the noise of the trace.

        The shapes are (sample, sensor) for the forces and (2, sensor) for the result.
        """
        readings = self.measured.read(force)
        return np.array([(one.peak.value, one.arrival.value) for one in readings]).T

    def misfit(self, point: np.ndarray) -> float:
        """Return the root mean square of computed minus measured values, relative to the peaks."""
        (model,) = self._computed([point])
        if model is None:
            return math.nan
        shift, gain = self.of_measurement(point)
        if self.measure != "traces":
            off = (gain * model.peaks + self.peak_read) / self.peak - 1.0
            return float(np.sqrt(np.nanmean(off**2)))
        parts = [off / self.peak[k] for k, off in self.left_of_samples(model, shift, gain)]
        return float(np.sqrt(np.mean(np.concatenate(parts) ** 2)))

    def apart(self, model: Computed | None) -> np.ndarray:
        """Return the measured minus the computed arrivals, (sensor,) [s]."""
        return self.arrival - (math.nan if model is None else model.arrivals)

    def mean_shift(self, model: Computed) -> float:
        """Return the mean of measured minus computed arrivals [s]; 0 without arrivals."""
        apart = self.apart(model)
        return float(np.nanmean(apart)) if np.isfinite(apart).any() else 0.0

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
        found = {key: self._kept.get(key) for key in keys}
        asked = {key: self._case(np.frombuffer(key)) for key, one in found.items() if one is None}
        cases = {key: case for key, case in asked.items() if isinstance(case, Case)}
        if cases:
            runs = evaluated(cases.values(), "result", threads=self.threads, interruptible=False)
            for i, (key, status) in enumerate(zip(cases, runs.status, strict=True)):
                result = runs.result(i)
                if not status.failed and result is not None:
                    sides = self.sensor, self.sensor, self.messages_of_runs
                    found[key] = Computed(result, self.beads, *sides)
        if len(found) >= len(self._kept):
            self._kept = found
        return [found[key] for key in keys]

    def residuals(self, points: np.ndarray) -> np.ndarray:
        """Return computed minus measured values in standard deviations, for `search.descend`."""
        rows = []
        for point, model in zip(points, self._computed(list(points)), strict=True):
            shift, gain = self.of_measurement(point)
            # prior knowledge of calibrations and clocks enters as additional residuals
            more = point[len(point) - len(self.known) :] / [one.error for one in self.known]
            rows.append([*self.off(model, shift, gain), *more])
        return np.array(rows)

    def beside(self, point: np.ndarray) -> dict[Nuisance, float]:
        """Return the parameters in addition to the keys: clocks [s] and calibration errors [1]."""
        return dict(zip(self.nuisances, point[len(self.keys) :].tolist(), strict=True))

    def of_measurement(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the clock difference [s] and the gain [1] of each sensor at a point, (sensor,).

        The gain is the ratio of the measured to the true force.
        """
        shift, gain = np.zeros((2, len(self.beads)))
        for one, value in self.beside(point).items():
            which = shift if one.kind == CLOCK_SHIFT else gain
            which[slice(None) if one.sensor is None else one.sensor] += value
        return shift, 1.0 + gain

    def force_at(self, model: Computed, k: int, shift: float, gain: float) -> np.ndarray:
        """Return the computed force in the window of a sensor, as its instrument reads it [N]."""
        return gain * model.at(self.trace.time[self._windows[k]] - shift)[:, k]

    def left_of_samples(
        self, model: Computed, shift: np.ndarray, gain: np.ndarray
    ) -> list[tuple[int, np.ndarray]]:
        """Return the computed minus the measured force in the window of each sensor [N]."""
        return [
            (
                k,
                self.force_at(model, k, shift[k], gain[k])
                + self.foretold[k].line
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
                - (self.foretold[k].line if self.foretold else 0.0),
                "computed": self.force_at(model, k, shift[k], gain[k]),
            }
            for k, window in self._windows.items()
        ]

    def off(self, model: Computed | None, shift: np.ndarray, gain: np.ndarray) -> np.ndarray:
        """Return computed minus measured values in standard deviations.

        A value is nan if the computed side lacks a measured pulse.
        """
        if model is None:
            return np.full(self.count, math.nan)
        if self.measure == "traces":
            from scipy.linalg import solve_triangular

            return np.concatenate(
                [
                    solve_triangular(self.foretold[k].root, off, lower=True, check_finite=False)
                    for k, off in self.left_of_samples(model, shift, gain)
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
        found, first = [], 0
        for k, window in self._windows.items():
            count = window.stop - window.start
            pieces = max(1, int(count / math.ceil(2.0 * self.foretold[k].correlated)))
            found.append(first + np.arange(count) * pieces // count)
            first += pieces
        return np.concatenate(found)

    def shapes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return slow orthonormal shapes in the samples of each sensor, and their sensors.

        The arrays are (shape, number) and (shape,).
        """
        from scipy.fft import dct

        rows, labels = [], []
        for k in self._windows if self.measure == "traces" else ():
            places = np.flatnonzero(self.labels == k)
            for shape in dct(np.eye(len(places)), norm="ortho", axis=0)[:SHAPES]:
                rows.append(np.zeros(self.count))
                rows[-1][places] = shape
                labels.append(k)
        return np.reshape(rows, (-1, self.count)), np.array(labels, dtype=int)

    def of_sensors(self, residual: np.ndarray) -> np.ndarray:
        """Return the root mean square residual of each sensor, (sensor,).

        If a sensor has only one residual, its sign is included.
        """
        found = np.full(len(self.beads), math.nan)
        for k in np.unique(self.labels):
            own = residual[self.labels == k]
            found[k] = own[0] if len(own) == 1 else math.sqrt(np.mean(own**2))
        return found
