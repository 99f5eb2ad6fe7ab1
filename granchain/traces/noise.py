"""What an instrument adds to a force: its offset and its noise, as the trace itself shows them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from granchain.traces.trace import Trace

# Median of the size of a Gaussian number, in standard deviations: the quantile 3/4 of the normal distribution.
_MEDIAN_SIZE = 0.6744897501960817
# Samples before the pulse that tell something of offset and noise.
LEAST_QUIET = 8


class Baseline(NamedTuple):
    """Offset of the instrument [N], and its uncertainty by the noise of the samples that it is the mean of."""

    value: float
    uncertainty: float


def baseline_of(trace: Trace, column: int) -> Baseline:
    """Mean of what comes before the pulse; 0, for certain, where the trace begins with the pulse.

    Parameters
    ----------
    trace : Trace
    column : int
        Which sensor, in the order of the trace.
    """
    quiet = _quiet(trace.sensor_force[:, column])
    if len(quiet) < LEAST_QUIET:
        return Baseline(0.0, 0.0)
    return Baseline(float(quiet.mean()), noise_of(trace, column) / math.sqrt(len(quiet)))


def _quiet(force: np.ndarray) -> np.ndarray:
    """The first half of the samples before the force leaves its start by a tenth of its range, or by what noise alone does not reach."""
    start = float(np.median(force[: max(len(force) // 100, LEAST_QUIET)]))
    away = max(0.1 * float(np.ptp(force)), 6.0 * _rapid(force))
    left = np.abs(force - start) > away
    return force[: int(np.argmax(left)) // 2 if left.any() else 0]


def _rapid(force: np.ndarray) -> float:
    """Size of white noise by the median size of third differences, in which a smooth signal is as good as gone and white noise
    sqrt(20) times as large as it was (1 + 9 + 9 + 1)."""
    return float(np.median(np.abs(np.diff(force, 3)))) / (_MEDIAN_SIZE * math.sqrt(20.0))


def noise_of(trace: Trace, column: int) -> float:
    """Standard deviation of the noise of one sample of a sensor [N]: as about.toml says, or estimated.

    The estimate is the largest of three: the spread of the samples before the pulse; what is rapid in the whole trace; and what rounding
    to the steps of an analogue-to-digital converter leaves, a step over sqrt(12).

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
    quiet = _quiet(force)
    spread = float(quiet.std(ddof=1)) if len(quiet) >= LEAST_QUIET else 0.0
    levels = np.unique(force)
    step = float(np.diff(levels).min()) if 1 < len(levels) < len(force) // 4 else 0.0
    return max(spread, _rapid(force), step / math.sqrt(12.0))
