"""Record of one bead: evenly spaced samples, segments, and spectrum. SI units."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from granchain.errors import GranchainError
from granchain.store import Result
from granchain.store.answer import check_result

# Default and limit of the number of segments, which overlap by half and are averaged (our choice).
# More segments give a smoother spectrum, and fewer a finer resolution.
SEGMENTS, MOST_SEGMENTS = 8, 1000
# Smallest number of samples in a segment, for 32 frequencies (our choice). Fewer show no band.
LEAST = 64


class BeadSpectrum(NamedTuple):
    """Spectrum of one bead.

    Parameters
    ----------
    frequency : array (n,)
        Frequencies [Hz].
    density : array (n,)
        Power spectral density [m^2/s^2/Hz] or [N^2/Hz]. Its integral over the frequency is the
        variance of the record.
    measured : str
        Recorded variable: "velocity" or "sensor_force".
    """

    frequency: np.ndarray
    density: np.ndarray
    measured: str


def bead_spectrum(
    result: Result, bead: int, of: str | None = None, *, segments: int = SEGMENTS
) -> BeadSpectrum:
    """Return the power spectral density of the velocity or the force of a bead.

    The density is one-sided. The mean is subtracted from the record, which is divided into segments
    that overlap by half. The spectra of the segments, with a Hann window, are averaged (Welch 1967,
    doi:10.1109/TAU.1967.1161901).

    Parameters
    ----------
    result : Result
        Result with snapshots, or with a sensor at the bead.
    bead : int
        Label of the bead.
    of : {"velocity", "sensor_force"}, optional
        The velocity of the snapshots, or the force of the sensor. By default the force if the bead
        has a sensor.
    segments : int
        Number of segments without overlap. Fewer segments give a better frequency resolution.

    Returns
    -------
    BeadSpectrum

    Raises
    ------
    GranchainError
        If the bead was not recorded, or there are too few samples.
    """
    from scipy.signal import welch

    check_result(result, "bead_spectrum")
    check_segments(segments, "bead_spectrum")
    axes = {"sensor_force": ("time", "sensor_bead"), "velocity": ("snapshot_time", "bead")}
    labels = {
        name: result.variables[axis].data.tolist()
        for name, (_, axis) in axes.items()
        if name in result.variables
    }
    recorded = [name for name in labels if not isinstance(bead, bool) and bead in labels[name]]
    if not recorded or of not in (None, *recorded):
        recorded_beads = " and ".join(
            f"{name} of {', '.join(map(str, beads[:20]))}{' ...' if len(beads) > 20 else ''}"
            for name, beads in labels.items()
        )
        raise GranchainError(
            f"bead_spectrum: bead {str(bead)[:60]!r}{f', of={of!r}' if of else ''}, was not "
            f"recorded. Recorded: {recorded_beads or 'no beads'}. Choose a recorded bead, add the "
            "bead under [sensors], or set `interval` under [snapshots]."
        )
    measured = of or recorded[0]
    time, interval = evenly_sampled(result, axes[measured][0], "bead_spectrum")
    record = result.variables[measured].data[: len(time), labels[measured].index(bead)]
    length = segment_length(len(time), segments, "bead_spectrum")
    frequency, density = welch(record, fs=1.0 / interval, nperseg=length)
    return BeadSpectrum(frequency, density, measured)


def evenly_sampled(result: Result, axis: str, where: str) -> tuple[np.ndarray, float]:
    """Return the evenly spaced times of a record and their interval [s].

    A last sample after a shorter interval, at the end of the run, is left out. Raise GranchainError
    if the times are not evenly spaced.
    """
    time = np.asarray(result.variables[axis].data, dtype=float)
    steps = np.diff(time)
    if len(steps) > 2 and steps[-1] < (1.0 - 1e-6) * steps[0]:
        time, steps = time[:-1], steps[:-1]
    if len(steps) < 2 or not np.ptp(steps) <= 1e-6 * steps.mean():
        raise GranchainError(
            f"{where}: {len(time)} instants in {axis} are too few or not evenly spaced. Three or "
            "more instants, evenly spaced, are required. Run longer."
        )
    return time, float(steps.mean())


def check_segments(segments: Any, where: str) -> None:
    """Raise GranchainError if the number of segments is invalid."""
    if (
        isinstance(segments, bool)
        or not isinstance(segments, int)
        or not 1 <= segments <= MOST_SEGMENTS
    ):
        raise GranchainError(
            f"{where}: segments: {segments!r} is not valid. It must be a whole number, 1 to "
            f"{MOST_SEGMENTS}. The default is {SEGMENTS}."
        )


def segment_length(instants: int, segments: int, where: str) -> int:
    """Return the number of samples in each segment of a record.

    Raise GranchainError if the record is too short.
    """
    length = 2 * instants // (segments + 1)
    if length < LEAST:
        raise GranchainError(
            f"{where}: {instants} samples of each sensor are too few. {segments} segments "
            f"require {LEAST * (segments + 1) // 2} or more. Run longer, reduce the interval "
            "under [sensors], or use fewer segments."
        )
    return length
