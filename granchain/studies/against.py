"""What was measured, and how far from it a case is: the numbers that a fit makes small."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from granchain.case import Case
from granchain.comparison.sides import Computed, Measured
from granchain.errors import CaseError, RunError
from granchain.sensor import Sensor
from granchain.studies.foretold import foretold
from granchain.studies.many import run_all
from granchain.studies.measures import FORCES_ALONE

# What is found beside the free keys: the difference of the clocks, where times are compared, and
# what calibrations are off by.
CLOCK_SHIFT, CALIBRATION = "the clock of the trace", "the calibration of the trace"
# What a case lacks has the shape of a pulse, noise has none: of the samples of a window it is in
# the first of so many cosines, the last of nearly four periods; ours: a window is some three widths
# of a pulse long. Neyman 1937, doi:10.1080/03461238.1937.10404821.
SHAPES = 8


class Nuisance(NamedTuple):
    """What is found of the measurement beside the keys: its kind, whose it is (none: all
    sensors'), and its standard deviation beforehand."""

    kind: str
    sensor: int | None
    error: float


class Against:
    """What was measured, and how far from it a case is.

    Parameters
    ----------
    case : Case
    measured : Measured
    measure : str
    keys : tuple of str
        The free ones.
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
                (one.peak.value, one.arrival.value, one.peak.uncertainty, one.arrival.uncertainty)
                for one in readings
            ]
        ).T
        self.times = measure != "peaks"
        count = len(beads)
        # what reading a pulse from the trace's samples adds to its peak and to its time
        self.peak_read, self.arrival_read = np.zeros((2, count))
        # of each number that is compared: its sensor, and 0 for a peak, 1 for an arrival, 0 for a
        # sample
        compared: list[Any] = [
            np.flatnonzero(np.isfinite(values)) if measure in (name, "features") else []
            for name, values in (("peaks", self.peak), ("arrivals", self.arrival))
        ]
        self._windows: dict[int, slice] = {}
        for k, reading in enumerate(readings):
            if reading.sound and math.isfinite(reading.width.value):
                ends = reading.arrival.value - reading.before, reading.arrival.value + reading.after
                window = self._windows[k] = slice(*np.searchsorted(trace.time, ends).tolist())
                if measure == "traces":
                    compared[0] += [k] * (window.stop - window.start)
        self.labels = np.concatenate(compared).astype(int)
        self.kinds = np.repeat([0, 1], [len(one) for one in compared])
        self.count = len(self.kinds)
        has = np.bincount(self.labels, minlength=count) > 0
        # a gain says nothing of times, a clock nothing of peaks
        gains = measure != "arrivals"
        # what is found beside the keys, in the order of a point: of each, its kind, its sensor
        # (none: all), and the standard deviation that it is known by beforehand
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
        # of freedom, by sensor, that the quiet stretch tells the size of its noise with, and of its
        # slow parts; 0: not by it
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
        """The search's start, box and sizes, with the difference of the clocks where times are
        compared, and the calibration's error."""
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
        """Why a point has nothing to compare."""
        case = self._case(point)
        if isinstance(case, str):
            return case
        ensemble = run_all([case], threads=1)
        if ensemble.status[0].failed:
            return ensemble.messages[0].removeprefix("member 0: ")
        return (
            f"time.end: by {self.case.time.end:g} s, the computed pulse has not completely "
            "passed all sensors at which a pulse was measured. The run must be longer. Increase "
            "time.end."
        )

    def read_as_measured(self, point: np.ndarray) -> None:
        """What reading samples with noise adds to a peak and to its time, by the computed pulses at
        a point.

        The fewer the samples and the stronger the noise, the longer the stretch of a pulse that its
        peak is read from, and the more of it a curve cuts off; and which stretch is chosen depends
        on the noise itself. Of the computed pulse with what was measured and with its noise turned
        over, the mean has all of that and no noise (antithetic variates: Hammersley & Morton 1956,
        doi:10.1017/S0305004100031455).
        """
        (model,) = self._computed([point])
        if model is None:
            return
        # as high as the measured pulse, and at its time
        force = self.measured.force
        gain, shift = self.peak / model.peaks, self.apart(model)
        finite = np.isfinite(gain) & np.isfinite(shift)
        gain, shift = np.where(finite, gain, 1.0), np.where(finite, shift, self.mean_shift(model))
        modelled = gain * np.column_stack(
            [model.at(self.trace.time - one)[:, k] for k, one in enumerate(shift)]
        )
        modelled = np.nan_to_num(modelled)
        read = 0.5 * (np.array([self.peak, self.arrival]) + self._read(2.0 * modelled - force))
        if np.isnan(read).any():
            # what noise hides there
            read = np.where(np.isnan(read), self._read(modelled), read)
        self.peak_read = np.nan_to_num(read[0] / gain - model.peaks)
        self.arrival_read = np.nan_to_num(read[1] - model.arrivals - shift)

    def _read(self, force: np.ndarray) -> np.ndarray:
        """(2, sensor) Peaks [N] and arrivals [s] of forces (sample, sensor) with the noise of the
        trace."""
        readings = self.measured.read(force)
        return np.array([(one.peak.value, one.arrival.value) for one in readings]).T

    def misfit(self, point: np.ndarray) -> float:
        """Root mean square of computed less measured, over the peaks [1]."""
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
        """(sensor,) From computed to measured arrivals [s]."""
        return self.arrival - (math.nan if model is None else model.arrivals)

    def mean_shift(self, model: Computed) -> float:
        """The mean time from computed to measured arrivals [s]; 0 where there are none."""
        apart = self.apart(model)
        return float(np.nanmean(apart)) if np.isfinite(apart).any() else 0.0

    def _case(self, point: np.ndarray) -> Case | str:
        """The case at a point, or why there is none."""
        try:
            return self.case.replace(**dict(zip(self.keys, map(float, point), strict=False)))
        except CaseError as error:
            return str(error)

    def _computed(self, points: Sequence[np.ndarray]) -> list[Computed | None]:
        """The computed side at each point, None where there is none: points of the same keys'
        values share a run, and so does the next call with the last that had as many."""
        keys = [point[: len(self.keys)].tobytes() for point in points]
        found = {key: self._kept.get(key) for key in keys}
        asked = {key: self._case(np.frombuffer(key)) for key, one in found.items() if one is None}
        cases = {key: case for key, case in asked.items() if isinstance(case, Case)}
        if cases:
            ensemble = run_all(cases.values(), threads=self.threads)
            for i, (key, status) in enumerate(zip(cases, ensemble.status, strict=True)):
                if not status.failed:
                    sides = self.sensor, self.sensor, self.messages_of_runs
                    found[key] = Computed(ensemble[i], self.beads, *sides)
        if len(found) >= len(self._kept):
            self._kept = found
        return [found[key] for key in keys]

    def residuals(self, points: np.ndarray) -> np.ndarray:
        """As `search.descend` takes them: computed minus measured, in standard deviations."""
        rows = []
        for point, model in zip(points, self._computed(list(points)), strict=True):
            shift, gain = self.of_measurement(point)
            # what is known of the calibrations and clocks beforehand are more numbers
            more = point[len(point) - len(self.known) :] / [one.error for one in self.known]
            rows.append([*self.off(model, shift, gain), *more])
        return np.array(rows)

    def beside(self, point: np.ndarray) -> dict[Nuisance, float]:
        """What is found beside the keys, at a point: of clocks [s], of calibrations [1]."""
        return dict(zip(self.nuisances, point[len(self.keys) :].tolist(), strict=True))

    def of_measurement(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(sensor,) The time between the clocks of a sensor and of the run, and the measured force
        over the true one, at a point."""
        shift, gain = np.zeros((2, len(self.beads)))
        for one, value in self.beside(point).items():
            which = shift if one.kind == CLOCK_SHIFT else gain
            which[slice(None) if one.sensor is None else one.sensor] += value
        return shift, 1.0 + gain

    def force_at(self, model: Computed, k: int, shift: float, gain: float) -> np.ndarray:
        """The computed force in the window of a sensor, as its instrument reads it [N]."""
        return gain * model.at(self.trace.time[self._windows[k]] - shift)[:, k]

    def left_of_samples(
        self, model: Computed, shift: np.ndarray, gain: np.ndarray
    ) -> list[tuple[int, np.ndarray]]:
        """Of each sensor, computed less measured force in its window [N]."""
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
        """The bead, the times [s] and the measured and computed forces [N] of each sensor."""
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
        """How far a computed side is from the measured one, in standard deviations; nan where
        it has no pulse that was measured."""
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
        """(number,) Which numbers are drawn together: those of a sensor, or samples of a sensor
        over twice as long as its noise is correlated."""
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
        """(shape, number) Slow shapes in the samples of each sensor, each of norm 1 and across the
        others; and (shape,) their sensors."""
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
        """(sensor,) Root mean square of the residuals of each sensor, with their sign where
        there is one."""
        found = np.full(len(self.beads), math.nan)
        for k in np.unique(self.labels):
            own = residual[self.labels == k]
            found[k] = own[0] if len(own) == 1 else math.sqrt(np.mean(own**2))
        return found
