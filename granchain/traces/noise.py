"""What an instrument adds to a force: its offset and its noise, as the trace itself shows them."""

from __future__ import annotations

import math

import numpy as np

from granchain.traces.trace import Trace

# Median of the size of a Gaussian number, in standard deviations: the quantile 3/4 of the normal distribution.
_MEDIAN_SIZE = 0.6744897501960817


def baseline(force: np.ndarray) -> float:
    """Mean of what comes before the pulse: the offset of the instrument. 0 where the trace begins with the pulse."""
    quiet = _quiet(force)
    return float(force[quiet].mean()) if quiet.stop else 0.0


def _quiet(force: np.ndarray) -> slice:
    """The first half of the samples before the force first leaves the tenth of its range around its start."""
    low, high = float(force.min()), float(force.max())
    start = float(np.median(force[: max(len(force) // 100, 3)]))
    left = np.abs(force - start) > 0.1 * (high - low)
    return slice(0, int(np.argmax(left)) // 2 if left.any() else 0)


def noise_of(trace: Trace, column: int) -> float:
    """Standard deviation of the noise of one sample of a sensor [N]: as about.toml says, or estimated.

    The estimate is the largest of three: the spread of the samples before the pulse; the median size of third differences, in which a
    smooth signal is as good as gone and white noise sqrt(20) times as large as it was (1 + 9 + 9 + 1); and what rounding to steps of an
    analogue-to-digital converter leaves, a step over sqrt(12).

    Parameters
    ----------
    trace : Trace
    column : int
        Which sensor, in the order of the trace.
    """
    stated = trace.about.uncertainty.noise
    if stated is not None:
        return float(stated)
    force = trace.sensor_force[:, column]
    quiet = force[_quiet(force)]
    spread = float(quiet.std(ddof=1)) if len(quiet) >= 8 else 0.0
    differences = float(np.median(np.abs(np.diff(force, 3)))) / (_MEDIAN_SIZE * math.sqrt(20.0))
    levels = np.unique(force)
    step = float(np.diff(levels).min()) if 1 < len(levels) < len(force) // 4 else 0.0
    return max(spread, differences, step / math.sqrt(12.0))
