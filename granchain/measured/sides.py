"""Measured and computed forces with the same sensor model, and their first pulses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from granchain.analysis.pulse import PULSE_BEGINS, ForceJumps
from granchain.analysis.results import arrival_of, is_smooth, jumps_at
from granchain.case.tables import DEFAULT_ARRIVAL
from granchain.measured.baseline import noise_of_baseline, quiet_samples, sample_noise
from granchain.measured.noise import LATER, RING_LEAST, RING_MOST, Noise, ring_in
from granchain.measured.reading import (
    ComputedPulse,
    SensorReading,
    computed_pulse,
    readings_of,
)
from granchain.measured.sensor import NYQUIST, Sensor
from granchain.measured.trace import Trace
from granchain.store import Result

# If no filter is specified and there is noise, forces are plotted and subtracted with a cutoff of
# this many times the inverse of the narrowest measured pulse width.
CUTOFF_WIDTHS = 4.0


class Computed:
    """Computed side of a comparison: filtered forces on the piezo.

    The forces are above the static force. The results for the pulses use the specified filter only.
    """

    def __init__(
        self,
        result: Result,
        beads: Sequence[int],
        sensor: Sensor,
        stated: Sensor,
        messages: list[str],
    ):
        from scipy.interpolate import CubicSpline

        self.law = result.law
        self.time = np.asarray(result.time, dtype=float)
        self.interval = float(self.time[-1] - self.time[0]) / (len(self.time) - 1)
        force = np.column_stack([piezo_force(result, bead, sensor, messages) for bead in beads])
        above = sensor.instrument(self.interval, force - force[0])
        self.force = sensor.smooth(self.interval, above)
        plain = stated.smooth(self.interval, above)
        filtered = stated.cutoff is not None
        changed = filtered or stated.low_pass is not None
        # a low-pass filter removes jumps; the jumps in a result are those of the mean of a bead's
        # two forces
        smooth = changed or is_smooth(result)
        # before the wave arrives there are only rounding errors, which are not a pulse
        least = PULSE_BEGINS**2 * float(plain.max(initial=0.0))
        arrival, columns = arrival_of(result), map(result.sensor_bead.tolist().index, beads)
        unchanged = not changed and stated.high_pass is None and stated.front_mass is None
        jumps = [jumps_at(result, column) if unchanged else None for column in columns]
        above_static = [
            jump and ForceJumps(jump.force - static, jump.time)
            for jump, static in zip(jumps, force[0], strict=True)
        ]
        self.pulses = [
            computed_pulse(self.time, pulse, filtered, jump, smooth, arrival)
            if pulse.max() > least
            else ComputedPulse()
            for pulse, jump in zip(plain.T, above_static, strict=True)
        ]
        self.peaks = np.array([pulse.peak for pulse in self.pulses])
        self.arrivals = np.array([pulse.arrival for pulse in self.pulses])
        labels = np.asarray(result.bead).tolist()
        self.positions = [float(result.position[labels.index(bead)]) for bead in beads]
        self._spline = CubicSpline(self.time, self.force, axis=0)

    def at(self, times: np.ndarray) -> np.ndarray:
        """Return forces at other times: 0 before the start, nan after the end."""
        values = np.where(
            (times < self.time[0])[:, np.newaxis],
            0.0,
            self._spline(np.maximum(times, self.time[0])),
        )
        return np.asarray(np.where((times > self.time[-1])[:, np.newaxis], math.nan, values))


def piezo_force(
    result: Result, bead: int, sensor: Sensor, messages: list[str] | None = None
) -> np.ndarray:
    """Return the force on the piezo of a bead.

    If the sensor halves are unequal and the result contains the two contact forces, it is computed
    from these. At a free end there is only one.

    Parameters
    ----------
    result : Result
    bead : int
    sensor : Sensor
    messages : list of str, optional
        Receives a message if the halves are unequal and the contacts were not recorded.

    Returns
    -------
    array (n_samples,)
        Force on the piezo [N].
    """
    if sensor.front_mass is not None:
        recorded = result.sensor_contact.tolist() if "contact_force" in result.variables else []
        contacts = bead - 1, bead
        if all(contact in recorded or contact not in result.contact for contact in contacts):
            front, back = (
                result.contact_force[:, recorded.index(contact)] if contact in recorded else 0.0
                for contact in contacts
            )
            mass = float(result.mass[np.flatnonzero(result.bead == bead)[0]])
            return sensor.force(front, back, mass)
        if messages is not None:
            messages.append(
                f"bead {bead}: the two halves of the sensor bead have different masses, and "
                f"{result.law} has no recorded forces of contacts {bead - 1} and {bead}. The "
                "mean of the two forces was used. To record them, use --set "
                f"sensors.contacts=[{bead - 1},{bead}]"
            )
    return np.asarray(result.sensor_force[:, np.flatnonzero(result.sensor_bead == bead)[0]])


class Measured:
    """Measured side of a comparison: first pulses, and filtered forces with noise.

    The forces are above their baselines.

    Parameters
    ----------
    trace : Trace
    beads : sequence of int
    stated : Sensor
        Sensor with the requested or specified filter, which is used for the results of the pulses.
    arrival : {"peak", "half", "rise"}
        Definition of the arrival.
    """

    def __init__(
        self, trace: Trace, beads: Sequence[int], stated: Sensor, arrival: str = DEFAULT_ARRIVAL
    ):
        labels = trace.sensor_bead.tolist()
        columns = [labels.index(bead) for bead in beads]
        self.trace, self.beads, self.stated, self.arrival = trace, list(beads), stated, arrival
        self.time, self.interval = trace.time, trace.interval
        self.raw_noise = [sample_noise(trace, column) for column in columns]
        stated_by, count = trace.about.uncertainty, len(labels)
        # standard deviations of forces due to the calibration [1], and of arrivals due to the clock
        # [s]
        self.gain_error, self.time_error = (
            [errors[column] for column in columns]
            for errors in (stated_by.all_gain(count), stated_by.individual_errors("time", count))
        )
        raw = trace.sensor_force[:, columns]
        self.noises = [
            noise_of_baseline(force[: quiet_samples(force)], noise, trace.about.uncertainty.noise)
            for force, noise in zip(raw.T, self.raw_noise, strict=True)
        ]
        self._through = [noise.through(self._response(stated)) for noise in self.noises]
        filtered = stated.smooth(self.interval, raw)
        self.readings = self.read(filtered)
        # the start of the pulse is now known, so more quiet samples are available; an ignored
        # disturbance is not noise
        for k, reading in enumerate(self.readings):
            quiet = raw[: reading.baseline.samples, k]
            if len(quiet) > quiet_samples(raw[:, k]) and math.isnan(reading.disturbed):
                self.noises[k] = noise_of_baseline(
                    quiet, self.raw_noise[k], trace.about.uncertainty.noise
                )
        self.noises = [
            replace(noise, ring=self._ring(reading, force, noise))
            for reading, force, noise in zip(self.readings, raw.T, self.noises, strict=True)
        ]
        self.raw_noise = [noise.sample for noise in self.noises]
        self._through = [noise.through(self._response(stated)) for noise in self.noises]
        self.readings = self.read(filtered)
        lines = np.column_stack(
            [reading.baseline.at(np.arange(len(raw))) for reading in self.readings]
        )
        self._above = raw - lines
        self.filter(stated)

    def _ring(self, reading: SensorReading, force: np.ndarray, noise: Noise) -> tuple[float, float]:
        """Return the ring of the instrument behind the pulse of a sensor. See `ring_in`."""
        width = reading.width.value / self.interval
        if not (reading.sound and math.isfinite(width + reading.after)):
            return 0.0, 0.0
        force = force - reading.baseline.at(np.arange(len(force)))
        top = int(np.searchsorted(self.time, reading.top))
        ended = np.flatnonzero(force[top:] < PULSE_BEGINS * reading.peak.value)[:1]
        # a long fall may hide the ring until the pulse has ended
        starts = min(reading.after / self.interval, width), *(ended + 0.5 * width)
        for back in map(round, starts):
            after = force[top + back :]
            risen = after - np.minimum.accumulate(after) > LATER * reading.peak.value
            end = max(int(np.argmax(risen)) - round(width), 0) if risen.any() else len(after)
            ring = ring_in(after[:end], width, back, noise)
            if RING_LEAST < ring[0] / reading.peak.value < RING_MOST:
                return ring
        return 0.0, 0.0

    def read(self, force: np.ndarray) -> list[SensorReading]:
        """Analyse forces (sample, sensor) [N] on the clock of the trace.

        The forces have passed the filter of the trace and are analysed with its noise.
        """
        return readings_of(
            self.time,
            force,
            self._through,
            self.stated.cutoff is not None,
            self.stated.high_pass is not None,
            self.arrival,
        )

    def filter(self, sensor: Sensor) -> None:
        """Filter the forces. The results of the pulses do not change."""
        self.force = sensor.smooth(self.interval, self._above)
        response = self._response(sensor)
        self.noise = [noise.through(response).sample for noise in self.noises]

    def _response(self, sensor: Sensor) -> np.ndarray:
        """Return the response of a filter to one sample."""
        if sensor.cutoff is None:
            return np.empty(0)
        count = max(64, math.ceil(8.0 * sensor.order / (sensor.cutoff * self.interval)))
        impulse = np.zeros(2 * count + 1)
        impulse[count] = 1.0
        return sensor.smooth(self.interval, impulse)

    def messages(self) -> list[str]:
        """Return the problems of the trace for each bead."""
        return [
            f"bead {bead}: {note}"
            for bead, reading in zip(self.beads, self.readings, strict=True)
            for note in reading.messages
        ] + [
            f"bead {bead}: the trace rings on after the pulse, by {noise.ring[0]:.2g} N at the "
            "pulse. The results are less certain"
            for bead, noise in zip(self.beads, self.noises, strict=True)
            if noise.ring[0]
        ]


def stated_sensor(trace: Trace, beads: Sequence[int], cutoff: float | None) -> Sensor:
    """Return the sensors of beads with the requested filter.

    Without one, the filter specified in about.toml is used, if any.
    """
    about, labels = trace.about.sensor, trace.sensor_bead.tolist()
    high = about.high_pass
    return Sensor(
        front_mass=about.front_mass,
        cutoff=(cutoff if cutoff is not None else about.cutoff) or None,
        order=about.order,
        high_pass=[high[labels.index(bead)] for bead in beads] if isinstance(high, list) else high,
        low_pass=about.low_pass,
        filter_order=about.filter_order,
    )


def needed_sensor(measured: Measured, cutoff: float | None, messages: list[str]) -> Sensor:
    """Return the sensor with which forces are plotted and subtracted.

    It has the specified filter. If none is specified and there is noise, a filter is chosen.
    """
    stated, about = measured.stated, measured.trace.about.sensor
    if cutoff is not None or about.cutoff is not None:
        return stated
    # Sensors without a width are ignored, both for the noise and for the width.
    both = zip(measured.readings, measured.raw_noise, strict=True)
    read = [(reading, noise) for reading, noise in both if math.isfinite(reading.width.value)]
    if not read:
        messages.append(
            "no sensor gives the width of a pulse, so nothing was filtered. To filter, specify "
            "a frequency with --cutoff"
        )
        return stated
    if not any(noise > PULSE_BEGINS**2 * reading.peak.value for reading, noise in read):
        return stated
    chosen = float(f"{CUTOFF_WIDTHS / min(reading.width.value for reading, _ in read):.2g}")
    if not chosen < 0.8 * NYQUIST / measured.interval:
        messages.append(
            "the trace has few samples per pulse, so nothing was filtered. To filter, specify a "
            "frequency with --cutoff"
        )
        return stated
    return replace(stated, cutoff=chosen)
