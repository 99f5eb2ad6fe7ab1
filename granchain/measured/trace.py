"""A measured force-time record of one or more sensor beads, and its checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from granchain.case.document import first_few
from granchain.errors import TraceError
from granchain.measured.about import AboutTable, about_of
from granchain.measured.headings import TIME_UNITS, TIMES, gains_of, newtons_per_unit, si_value

# Smallest number of samples. Fewer cannot contain a pulse with a rise, a peak, and a fall.
LEAST_SAMPLES = 8
# Largest relative deviation of an interval from the mean. The clock of an instrument is far better.
MOST_UNEVEN = 1e-3
# Keys that identify the source of the data.
CITED = ("title", "kind", "doi", "who", "figure")


class Trace:
    """Measured force-time record of one or more sensor beads, with one clock.

    Parameters
    ----------
    time : array (n_samples,)
        Times of the samples, increasing and evenly spaced [s]. The attribute `units` of an
        xarray.DataArray is used.
    force : array (n_samples,) or (n_samples, n_sensors)
        Forces at the sensor beads [N], or voltages with a gain [V/N]. The attribute `units` of an
        xarray.DataArray is used.
    beads : int or sequence of int
        Labels of the sensor beads, counted from 1 without the striker.
    gain : float, str, or sequence of them, optional
        Reading per newton, such as "18 mV/N", or a number by which the forces are divided; one for
        all sensors or one per sensor. -1 changes the sign.
    about : AboutTable or dict, optional
        Description, source, and uncertainty of the trace. Default: a measured trace.

    Attributes
    ----------
    time : array (n_samples,)
        Times since the first sample [s].
    start : float
        Time of the first sample on the clock of the instrument [s].
    sensor_bead : array (n_sensors,)
        Labels of the sensor beads.
    sensor_force : array (n_samples, n_sensors)
        Forces at the sensor beads [N].
    about : AboutTable
        Description, source, and uncertainty of the trace.
    notes : tuple of str
        Changes that were necessary to read the trace.

    Raises
    ------
    TraceError
        If the trace is invalid. The message lists every error.

    Examples
    --------
    >>> import numpy as np
    >>> import granchain as gc
    >>> time = np.arange(50) * 1e-6
    >>> voltage = 0.2 * np.sin(np.pi * time / time[-1])
    >>> trace = gc.Trace(time=time, force=voltage, beads=9, gain="20 mV/N")
    >>> round(float(trace.sensor_force.max()), 1)
    10.0
    """

    def __init__(
        self,
        *,
        time: Any,
        force: Any,
        beads: int | Sequence[int] | np.ndarray,
        gain: float | str | Sequence[float | str] | None = None,
        about: AboutTable | Mapping[str, Any] | None = None,
    ):
        if not isinstance(about, AboutTable):
            about = about_of({"kind": "measured", **(about or {})}, "about")
        problems: list[str] = []
        self.sensor_bead = np.atleast_1d(np.asarray(beads))
        labels = self.sensor_bead.tolist()
        gains = gains_of(gain, len(labels))
        seconds, newtons = np.asarray(time), np.asarray(force)
        if seconds.dtype.kind not in "fiu" or newtons.dtype.kind not in "fiu":
            raise TraceError(
                f"trace: the types are {seconds.dtype} and {newtons.dtype}. Real numbers are "
                "required. Open a netCDF file with decode_times=False."
            )
        newtons = newtons[:, np.newaxis] if newtons.ndim == 1 else newtons
        unit = getattr(time, "attrs", {}).get("units", "s")
        second = si_value(unit, TIME_UNITS)
        if second is None:
            problems.append(f"time: the unit is {unit!r:.60}. It must be one of {TIMES}.")
        unit = getattr(force, "attrs", {}).get("units")
        names = [f"bead {bead}" for bead in labels]
        factors = [
            newtons_per_unit(
                unit or ("V" if each and each.per_newton else "N"), each, name, problems
            )
            for each, name in zip(gains, names, strict=True)
        ]
        if not problems:
            seconds = (second or 1.0) * seconds.astype(float)
            problems = _faults(seconds, newtons, names)
        if len(set(labels)) < len(labels) or not all(
            isinstance(label, int) and label > 0 for label in labels
        ):
            problems.append(
                f"sensor beads: {labels} is not valid. Labels must be different whole numbers, 1 "
                "or more. Label each sensor with its bead."
            )
        problems += [
            f"{name}: the list has {len(values)} numbers. It must have one number, or "
            f"{len(labels)}, one per sensor in their order."
            for name in ("uncertainty.gain", "uncertainty.time", "sensor.gain", "sensor.high_pass")
            if isinstance(values := attrgetter(name)(about), list) and len(values) != len(labels)
        ]
        if problems:
            raise TraceError(problems)
        start = float(seconds[0])
        self.time = seconds - start
        self.sensor_force = newtons * factors
        self.about = about.model_copy(update={"start": about.start + start})
        self.notes: tuple[str, ...] = ()

    @property
    def start(self) -> float:
        """Time of the first sample on the clock of the instrument [s]."""
        return self.about.start

    @property
    def interval(self) -> float:
        """Mean time between two samples [s]."""
        return float(self.time[-1]) / (len(self.time) - 1)

    @property
    def synthetic(self) -> bool:
        """True if the trace was computed, not measured."""
        return self.about.kind == "synthetic"


def _faults(time: np.ndarray, force: np.ndarray, names: list[str]) -> list[str]:
    """Return one message for each error of the samples."""
    if time.ndim != 1 or force.shape != (len(time), len(names)) or not names:
        return [
            f"trace: the forces have the shape {force.shape}, and the times {time.shape}. One "
            f"force per time and sensor is required ({len(names)} sensors)."
        ]
    problems = [
        f"trace: only {len(time)} samples. At least {LEAST_SAMPLES} are required. Use the "
        "complete recording."
    ] * (len(time) < LEAST_SAMPLES)
    problems += [
        f"{name}: not a finite number at sample {first_few(bad.tolist(), 3)}. All values must be "
        "finite. Correct the file, or cut the trace before this sample."
        for values, name in [(time, "time"), *zip(force.T, names, strict=True)]
        if len(bad := np.flatnonzero(~np.isfinite(values)) + 1)
    ]
    if problems:
        return problems
    steps = np.diff(time)
    if not (steps > 0.0).all():
        i = int(np.argmin(steps > 0.0))
        return [
            f"time: {time[i + 1]:.15g} s at sample {i + 2} follows {time[i]:.15g} s. Times "
            "must increase. Use one record in its original order, with enough digits."
        ]
    mean = float(time[-1] - time[0]) / len(steps)
    worst = int(np.argmax(np.abs(steps / mean - 1.0)))
    if abs(steps[worst] / mean - 1.0) > MOST_UNEVEN:
        return [
            f"time: the step after sample {worst + 1} is {steps[worst]:.6g} s, but the mean "
            f"is {mean:.6g} s. Steps must agree with their mean within {MOST_UNEVEN:g} of it. "
            "Resample the trace with --resample. If the times are only rounded, specify the "
            "sampling interval of the instrument with --interval."
        ]
    return []
