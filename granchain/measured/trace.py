"""Measured trace: force of sensor beads at evenly spaced times, and its checks."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from granchain.errors import TraceError
from granchain.measured.about import AboutTable

# Smallest number of samples. Fewer cannot contain a pulse with a rise, a peak, and a fall.
LEAST_SAMPLES = 8
# Largest relative deviation of an interval from the mean. The clock of an instrument is far better.
MOST_UNEVEN = 1e-3
# Largest number of errors of one kind that a message lists.
LISTED = 3


# Keys that identify the source of the data.
CITED = ("title", "kind", "doi", "who", "figure")


@dataclass(frozen=True, eq=False)
class Trace:
    """Measured force-time record of one or more sensor beads, with one clock.

    Parameters
    ----------
    time : array (n_samples,)
        Times of the samples, increasing and evenly spaced [s].
    sensor_bead : array (n_sensors,)
        Labels of the sensor beads, counted from 1 without the striker.
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
    >>> from granchain.measured.about import AboutTable
    >>> about = AboutTable(kind="synthetic", title="Half a sine")
    >>> time = np.arange(50) * 1e-6
    >>> force = np.sin(np.pi * time / time[-1])
    >>> trace = gc.Trace(time, np.array([9]), force[:, np.newaxis], about)
    >>> trace.sensor_force.shape
    (50, 1)
    """

    time: np.ndarray
    sensor_bead: np.ndarray
    sensor_force: np.ndarray
    about: AboutTable
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        problems = _faults(
            self.time, self.sensor_force, [f"bead {bead}" for bead in self.sensor_bead.tolist()]
        )
        labels = self.sensor_bead.tolist()
        if len(set(labels)) < len(labels) or min(labels, default=0) < 1:
            problems.append(
                f"sensor beads: {labels} is not valid. Labels must be different whole "
                "numbers, 1 or more. Label each sensor with its bead."
            )
        problems += [
            f"{name}: the list has {len(stated)} numbers. It must have one number, or "
            f"{len(labels)}, one per sensor in their order."
            for name in ("uncertainty.gain", "uncertainty.time", "sensor.gain", "sensor.high_pass")
            if isinstance(stated := attrgetter(name)(self.about), list)
            and len(stated) != len(labels)
        ]
        if problems:
            raise TraceError(problems)

    @property
    def interval(self) -> float:
        """Mean time between two samples [s]."""
        return float(self.time[-1] - self.time[0]) / (len(self.time) - 1)

    @property
    def synthetic(self) -> bool:
        """True if the trace was computed, not measured."""
        return self.about.kind == "synthetic"

    @property
    def words(self) -> str:
        """Kind of the trace, for figures and tables."""
        return self.about.kind_text

    def as_dict(self) -> dict[str, str]:
        """Return the kind and source of the trace, for analysis results files."""
        about = {name: str(getattr(self.about, name) or "") for name in CITED}
        return {**about, "words": self.words}


def _faults(time: np.ndarray, force: np.ndarray, names: list[str]) -> list[str]:
    """Return one message for each error of the samples."""
    if time.ndim != 1 or force.ndim != 2 or force.shape != (len(time), len(names)):
        return [
            f"trace: the forces have the shape {force.shape}, and the times {time.shape}. One "
            f"force per time and sensor is required ({len(names)} sensors)."
        ]
    problems = []
    if not names:
        problems.append(
            "trace: no force found. At least one force column is required. Use a file that "
            "contains forces and times."
        )
    if len(time) < LEAST_SAMPLES:
        problems.append(
            f"trace: only {len(time)} samples. At least {LEAST_SAMPLES} are required. Use the "
            "complete recording."
        )
    for values, name in [(time, "time"), *zip(force.T, names, strict=True)]:
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            places = ", ".join(str(i + 1) for i in bad[:LISTED]) + (
                f" and {len(bad) - LISTED} more" if len(bad) > LISTED else ""
            )
            problems.append(
                f"{name}: not a finite number at sample {places}. All values must be finite. "
                "Correct the file, or cut the trace before this sample."
            )
    if problems:
        return problems
    steps = np.diff(time)
    back = np.flatnonzero(~(steps > 0.0))
    if len(back):
        i = int(back[0])
        return [
            f"time: {time[i + 1]:.15g} s at sample {i + 2} follows {time[i]:.15g} s. Times "
            "must increase. Use one record in its original order, with enough digits."
        ]
    mean = float(time[-1] - time[0]) / len(steps)
    off = np.abs(steps / mean - 1.0)
    worst = int(np.argmax(off))
    if off[worst] > MOST_UNEVEN:
        problems.append(
            f"time: the step after sample {worst + 1} is {steps[worst]:.6g} s, but the mean "
            f"is {mean:.6g} s. Steps must agree with their mean within {MOST_UNEVEN:g} of it. "
            f"Resample the trace with --resample {mean:.6g}. If the times are only rounded, "
            f"ignore them with --interval {mean:.6g} and --beads -,9,16."
        )
    return problems
