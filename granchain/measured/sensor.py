"""Sensor bead: a piezo between two half beads, and the instrument that records it.

`Sensor` applies to both sides of a comparison. It converts the two contact forces of a bead to the
force on the piezo, smooths computed and measured traces in the same way, and converts a computed
force to the reading of an instrument. SI units.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from granchain.errors import GranchainError

# Largest cutoff multiplied by the sampling interval. By the sampling theorem, a period of the
# cutoff needs at least two samples. At a higher cutoff, there is nothing to remove.
NYQUIST = 0.5


@dataclass(frozen=True)
class Sensor:
    """Sensor bead, cut in two with a piezo between the halves, and its instrument.

    A rigid bead of mass m has the acceleration a = (F_front - F_back)/m. F_front and the piezo
    force F act on the half in front of the piezo, of mass m_f: m_f a = F_front - F. Therefore F =
    (1 - m_f/m) F_front + (m_f/m) F_back. With equal halves, this is the mean of the two contact
    forces, for any motion of the bead. This is Newton's second law for each half. If the piezo has
    a mass, half of it belongs to each half bead.

    Parameters
    ----------
    front_mass : float, optional
        Mass of the half bead on the side of lower bead numbers, from which the wave comes,
        including half of the piezo [kg]. Default: half of the mass of the bead.
    interval : float, optional
        Time between two samples [s]. Default: the interval of the forces.
    cutoff : float, optional
        Frequency at which the zero-phase low-pass filter halves the amplitude [Hz]. Default: no
        filter.
    order : int
        Order of the Butterworth low-pass filter, which is run once forwards and once backwards.
    noise : float
        Standard deviation of the noise of one sample [N].
    gain : float
        Reading divided by force. With 1 the readings are newtons [1], and with another value they
        are volts [V/N].
    high_pass, low_pass : float, optional
        Limits of the frequency band of the instrument, beyond which it loses more than half of the
        power [Hz]. Default: no losses. For several sensors, high_pass may be a sequence with one
        value for each.
    filter_order : int
        Order of the causal Butterworth filters at these limits.

    Examples
    --------
    >>> import numpy as np
    >>> import granchain as gc
    >>> time = np.arange(5) * 1e-6
    >>> force = np.array([0.0, 1.0, 2.0, 1.0, 0.0])
    >>> gc.Sensor(gain=2.0).read(time, force)[1].tolist()
    [0.0, 2.0, 4.0, 2.0, 0.0]
    """

    front_mass: float | None = None
    interval: float | None = None
    cutoff: float | None = None
    order: int = 2
    noise: float = 0.0
    gain: float = 1.0
    high_pass: float | Sequence[float] | None = None
    low_pass: float | None = None
    filter_order: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.high_pass, Sequence | np.ndarray):
            object.__setattr__(self, "high_pass", tuple(map(float, self.high_pass)))
        above = {
            "front_mass": self.front_mass,
            "interval": self.interval,
            "cutoff": self.cutoff,
            "gain": self.gain,
            "low_pass": self.low_pass,
        }
        corners = self.corners or (None,)
        wrong = [
            f"{name}: {value!r} is out of range. It must be a finite number above 0."
            for name, value in [*above.items(), *(("high_pass", corner) for corner in corners)]
            if value is not None and not 0.0 < value < math.inf
        ]
        if not 0.0 <= self.noise < math.inf:
            wrong.append(
                f"noise: {self.noise!r} is out of range. It must be a finite number, 0 or more [N]."
            )
        wrong += [
            f"{name}: {order!r} is out of range. It must be a whole number, 1 to 8."
            for name, order in (("order", self.order), ("filter_order", self.filter_order))
            if order not in range(1, 9)
        ]
        if not wrong and max(self.corners, default=0.0) >= (self.low_pass or math.inf):
            wrong.append(
                f"high_pass: {self.high_pass!r} Hz is out of range. It must be below low_pass, "
                f"{self.low_pass!r} Hz. Give the lower limit of the instrument's band as "
                "high_pass, and the upper limit as low_pass."
            )
        if wrong:
            raise GranchainError("\n".join(f"sensor: {message}" for message in wrong))

    @property
    def corners(self) -> tuple[float, ...]:
        """Frequencies of the high-pass filter [Hz]: one for each sensor, one for all, or none."""
        return () if self.high_pass is None else tuple(np.atleast_1d(self.high_pass).tolist())

    @property
    def band(self) -> str:
        """Frequency band of the instrument as text, empty if the instrument has no filter."""
        ends = (
            ("above", sorted({min(self.corners), max(self.corners)} if self.corners else ())),
            ("below", [] if self.low_pass is None else [self.low_pass]),
        )
        passed = [
            f"{word} {' to '.join(f'{1e-3 * frequency:.4g}' for frequency in end)} kHz"
            for word, end in ends
            if end
        ]
        return f"{' and '.join(passed)}, order {self.filter_order}" if passed else ""

    def force(
        self, front: ArrayLike, back: ArrayLike, bead_mass: float | None = None
    ) -> np.ndarray:
        """Return the force on the piezo from the two contact forces of the bead.

        Parameters
        ----------
        front, back : array (n,)
            Forces of the contacts towards lower and towards higher bead numbers [N]. A missing
            contact has the force 0.
        bead_mass : float, optional
            Mass of the complete bead [kg]. It is required if the halves are unequal.

        Returns
        -------
        array (n,)
            Force on the piezo [N].
        """
        near, far = np.asarray(front, dtype=float), np.asarray(back, dtype=float)
        share = 0.5
        if self.front_mass is not None:
            if bead_mass is None or not self.front_mass < bead_mass:
                raise GranchainError(
                    f"sensor: front_mass: {self.front_mass!r} kg is out of range. It must be less "
                    f"than the mass of the bead, {bead_mass!r} kg. Give the mass of the half bead, "
                    "or leave it out for equal halves."
                )
            share = self.front_mass / bead_mass
        return np.asarray((1.0 - share) * near + share * far)

    def instrument(self, interval: float, values: ArrayLike) -> np.ndarray:
        """Return a force after the filters of the instrument.

        The filters are causal, so they cause a delay, and start from rest.

        Parameters
        ----------
        interval : float
            Sampling interval [s].
        values : array (n, ...)
            Samples along the first axis, starting without a force. The second axis is the sensors,
            if each has an individual high_pass.

        Returns
        -------
        array (n, ...)
            Filtered values, or the input values if the instrument loses nothing.
        """
        samples = np.asarray(values, dtype=float)
        highest = NYQUIST / interval
        each = isinstance(self.high_pass, tuple)
        if each and samples.shape[1:2] != (len(self.corners),):
            raise GranchainError(
                f"sensor: high_pass: {len(self.corners)} numbers do not fit values of the shape "
                f"{samples.shape}. Give one number for each sensor along the second axis."
            )
        filters: list[tuple[str, float, Literal["highpass", "lowpass"], Any]] = [
            ("high_pass", corner, "highpass", np.s_[:, k] if each else np.s_[:])
            for k, corner in enumerate(self.corners)
        ]
        if self.low_pass is not None:
            filters.append(("low_pass", self.low_pass, "lowpass", np.s_[:]))
        samples = samples.copy() if filters else samples
        for name, frequency, kind, where in filters:
            if not frequency < highest:
                raise GranchainError(
                    f"sensor: {name}: {frequency:.6g} Hz is out of range. It must be below half "
                    f"the sampling rate, {highest:.6g} Hz at {interval:.6g} s between samples. "
                    "Leave it out, or record the force more often."
                )
            from scipy.signal import butter, sosfilt

            sections = butter(self.filter_order, frequency, kind, output="sos", fs=1.0 / interval)
            samples[where] = sosfilt(sections, samples[where], axis=0)
        return samples

    def smooth(self, interval: float, values: ArrayLike) -> np.ndarray:
        """Apply a low-pass filter without delay.

        It is a Butterworth filter that runs forwards and backwards.

        The response is real, 1/(1 + (tan(pi f dt)/tan(pi f_c dt))^(2 order)), so the peak time of a
        symmetric pulse does not change.

        Parameters
        ----------
        interval : float
            Sampling interval [s].
        values : array (n, ...)
            Samples along the first axis.

        Returns
        -------
        array (n, ...)
            Filtered values, or the input values if the sensor has no cutoff.
        """
        samples = np.asarray(values, dtype=float)
        if self.cutoff is None:
            return samples
        highest = NYQUIST / interval
        if not self.cutoff < highest:
            raise GranchainError(
                f"sensor: cutoff: {self.cutoff:.6g} Hz is out of range. It must be below half the "
                f"sampling rate, {highest:.6g} Hz at {interval:.6g} s between samples. Reduce it, "
                "or leave out the filter."
            )
        from scipy.signal import butter, sosfiltfilt

        sections = butter(self.order, self.cutoff, fs=1.0 / interval, output="sos")
        # Padding of a few periods of the cutoff on each side, so that the filter is independent of
        # the start. It cannot exceed the number of samples.
        margin = min(math.ceil(3.0 * self.order / (self.cutoff * interval)), len(samples) - 1)
        return np.asarray(sosfiltfilt(sections, samples, axis=0, padtype="odd", padlen=margin))

    def read(
        self, time: ArrayLike, force: ArrayLike, seed: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the reading of a force: filtered, sampled, with gain and noise.

        Parameters
        ----------
        time : array (n,)
            Evenly spaced times [s].
        force : array (n, ...)
            Force on the piezo [N].
        seed : int, optional
            Seed of the noise. It is required if there is noise, so that the reading is
            reproducible.

        Returns
        -------
        time, reading : array (n_samples,), array (n_samples, ...)
            Times [s], and gain times force.
        """
        times, forces = np.asarray(time, dtype=float), np.asarray(force, dtype=float)
        if self.noise > 0.0 and seed is None:
            raise GranchainError(
                "sensor: seed: missing. Noise needs a seed, a whole number, so that the reading is "
                "reproducible. Give for example seed=0."
            )
        if len(times) < 2:
            raise GranchainError(
                f"sensor: {len(times)} samples are too few. At least two are required."
            )
        dt = float(times[-1] - times[0]) / (len(times) - 1)
        smoothed = self.smooth(dt, self.instrument(dt, forces))
        if self.interval is not None:
            from scipy.interpolate import CubicSpline

            if self.interval < dt * (1.0 - 1e-9):
                raise GranchainError(
                    f"sensor: interval: {self.interval:.6g} s is too short. It must be at least "
                    f"the interval of the forces, {dt:.6g} s. Record the forces more often."
                )
            spline = CubicSpline(times, smoothed, axis=0)
            times = times[0] + self.interval * np.arange(
                int((times[-1] - times[0]) / self.interval * (1.0 + 1e-12)) + 1
            )
            smoothed = spline(times)
        if self.noise > 0.0:
            smoothed = smoothed + self.noise * np.random.default_rng(seed).standard_normal(
                smoothed.shape
            )
        return times, self.gain * smoothed
