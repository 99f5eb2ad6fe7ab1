"""The two sides of a comparison, through the same sensor: measured forces and computed ones, and the first pulse of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from granchain.analysis import PULSE_BEGINS, Jumps, body_positions, is_smooth, jumps_of, peak, pulse_width
from granchain.sensor import NYQUIST, Sensor
from granchain.traces.noise import baseline_of, noise_of

if TYPE_CHECKING:
    from granchain.output import Result
    from granchain.traces import Trace

# A pulse stands out of the noise where it is this many standard deviations high: of a million samples of Gaussian noise, one is above 5.
ABOVE_NOISE = 6.0
# A zero-phase filter makes ripples before and after a jump of force; of orders 1 to 8, they stay below this part of it.
RIPPLES = 0.1
# Where nothing is said of a filter and there is noise: a cutoff of so many times the inverse of the narrowest measured pulse's width.
CUTOFF_WIDTHS = 4.0


class Pulse(NamedTuple):
    """Numbers of one pulse, and where it is looked for."""

    peak: float
    arrival: float
    width: float
    start: int


NO_PULSE = Pulse(math.nan, math.nan, math.nan, -1)


def first_clear_pulse(
    time: np.ndarray, force: np.ndarray, noise: float, filtered: bool, jumps: Jumps | None = None, smooth: bool = True
) -> Pulse:
    """First pulse of a trace that stands out of its noise and of the ripples of a filter, by `analysis`.

    What is before the force first leaves them is not shown to `analysis`, whose pulse begins at 1 % of the largest force.
    """
    largest = float(force.max(initial=0.0))
    level = max((RIPPLES if filtered else PULSE_BEGINS) * largest, ABOVE_NOISE * noise)
    if not largest > level:
        return NO_PULSE
    start = max(int(np.argmax(force >= level)) - 1, 0)
    later = Jumps(jumps.force[start:], jumps.time[start:]) if jumps is not None else None
    top = peak(time[start:], force[start:], jumps=later, smooth=smooth)
    if not top.complete:
        return NO_PULSE
    return Pulse(top.force, top.time, pulse_width(time[start:], force[start:], jumps=later, smooth=smooth), start)


class Computed:
    """The computed side: forces on the piezo, filtered, above the static force."""

    def __init__(self, result: Result, beads: Sequence[int], sensor: Sensor, messages: list[str]):
        from scipy.interpolate import CubicSpline

        self.law = result.law
        self.time = np.asarray(result.time, dtype=float)
        self.interval = float(self.time[-1] - self.time[0]) / (len(self.time) - 1)
        force = np.column_stack([piezo_force(result, bead, sensor, messages) for bead in beads])
        self.force = sensor.smooth(self.interval, force - force[0])
        filtered = sensor.cutoff is not None
        # a filter leaves no jump; the jumps that a result holds are those of the mean of a bead's two forces
        smooth = filtered or is_smooth(result)
        self.pulses = []
        for k, bead in enumerate(beads):
            jumps = None if filtered or sensor.front_mass is not None else jumps_of(result, result.sensor_bead.tolist().index(bead))
            if jumps is not None:
                jumps = Jumps(jumps.force - force[0, k], jumps.time)
            self.pulses.append(first_clear_pulse(self.time, self.force[:, k], 0.0, filtered, jumps, smooth))
        centres, labels = body_positions(result), np.asarray(result.bead).tolist()
        self.positions = [float(centres[labels.index(bead)]) for bead in beads]
        self._spline = CubicSpline(self.time, self.force, axis=0)

    def at(self, times: np.ndarray) -> np.ndarray:
        """Forces at other times: none before the start, nan after the end."""
        values = np.where((times < self.time[0])[:, np.newaxis], 0.0, self._spline(np.maximum(times, self.time[0])))
        return np.asarray(np.where((times > self.time[-1])[:, np.newaxis], math.nan, values))


def piezo_force(result: Result, bead: int, sensor: Sensor, messages: list[str] | None = None) -> np.ndarray:
    """Force on the piezo of a bead, from its two contact forces where the sensor's halves are unequal and the result holds them.

    Parameters
    ----------
    result : Result
    bead : int
    sensor : Sensor
    messages : list of str, optional
        Gets a sentence where the halves are unequal and the contacts were not recorded.

    Returns
    -------
    array (n_samples,)
        [N].
    """
    if sensor.front_mass is not None:
        recorded = result.sensor_contact.tolist() if "contact_force" in result.variables else []
        if bead - 1 in recorded and bead in recorded:
            front, back = (result.contact_force[:, recorded.index(contact)] for contact in (bead - 1, bead))
            mass = float(result.mass[np.flatnonzero(result.bead == bead)[0]])
            return sensor.force(front, back, mass)
        if messages is not None:
            messages.append(
                f"bead {bead}: the halves of its sensor are unequal, and {result.law} has no force of its contacts {bead - 1} and {bead}: "
                f"the mean of the two was taken; record them: --set sensors.contacts=[{bead - 1},{bead}]"
            )
    return np.asarray(result.sensor_force[:, np.flatnonzero(result.sensor_bead == bead)[0]])


class Measured:
    """The measured side: forces above their baseline, filtered, with their noise, and the uncertainty of each pulse's numbers."""

    def __init__(self, trace: Trace, beads: Sequence[int], sensor: Sensor):
        labels = trace.sensor_bead.tolist()
        columns = [labels.index(bead) for bead in beads]
        self.trace, self.beads, self.sensor = trace, list(beads), sensor
        self.time, self.interval = trace.time, trace.interval
        raw = trace.sensor_force[:, columns]
        self.baselines = [baseline_of(trace, column) for column in columns]
        self.raw_noise = [noise_of(trace, column) for column in columns]
        self.force = sensor.smooth(self.interval, raw - np.array([one.value for one in self.baselines]))
        # What the filter leaves of white noise of size 1, from its effect on one sample among many zeros.
        count = len(self.time) if sensor.cutoff is None else max(64, math.ceil(8.0 * sensor.order / (sensor.cutoff * self.interval)))
        one = np.zeros(2 * count + 1)
        one[count] = 1.0
        self.passed = float(np.linalg.norm(sensor.smooth(self.interval, one)))
        self.noise = [self.passed * noise for noise in self.raw_noise]
        filtered = sensor.cutoff is not None
        pairs = zip(self.force.T, self.noise, strict=True)
        self.pulses = [first_clear_pulse(self.time, column, noise, filtered) for column, noise in pairs]


def sensor_of(trace: Trace, beads: Sequence[int], cutoff: float | None, messages: list[str]) -> Sensor:
    """The sensor of the trace, with the filter that is asked for, stated, or needed; whatever it is compared with."""
    said = trace.about.sensor
    asked = cutoff if cutoff is not None else said.cutoff
    if asked is not None:
        return Sensor(front_mass=said.front_mass, cutoff=asked or None, order=said.order)
    bare = Sensor(front_mass=said.front_mass, order=said.order)
    raw = Measured(trace, beads, bare)
    noisy = any(noise > PULSE_BEGINS**2 * force.max() for noise, force in zip(raw.noise, raw.force.T, strict=True))
    widths = [pulse.width for pulse in raw.pulses if math.isfinite(pulse.width)]
    if not noisy:
        return bare
    chosen = float(f"{CUTOFF_WIDTHS / min(widths):.2g}") if widths else math.inf
    if not chosen < 0.8 * NYQUIST / trace.interval:
        why = "has few samples in a pulse" if widths else "is too noisy to tell the width of a pulse"
        messages.append(f"the trace {why}: nothing was filtered; to filter it, name a frequency: --cutoff")
        return bare
    return Sensor(front_mass=said.front_mass, cutoff=chosen, order=said.order)
