"""Waves from their arrivals: speeds, and whether there is more than one wave. SI units."""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike

# Where local speeds differ by more than this part a wave has no one speed, ours: of an elastic
# chain they differ by 0.001, of a dimer by 0.050, of one of 5 % taper by 0.26 (measured).
UNIFORM_SPEED = 0.1
# Places whose slopes are taken, of more evenly spaced ones; ours, as many as a picture shows.
MOST_ARRIVALS = 300


def wave_speed(position: ArrayLike, arrival: ArrayLike) -> float:
    """Inverse slope of the least-squares line of arrival against position.

    Parameters
    ----------
    position : array (n,)
        Of the sensors [m].
    arrival : array (n,)
        [s]; nan where there is none.

    Returns
    -------
    float
        [m/s], negative where the wave runs towards smaller positions; nan with fewer than two
        places, and where arrivals do not go with the position, as those of two waves that meet.
    """
    x, t = np.asarray(position, dtype=float), np.asarray(arrival, dtype=float)
    known = np.isfinite(x) & np.isfinite(t)
    x, t = x[known], t[known]
    if len(x) < 2:
        return math.nan
    x, t = x - x.mean(), t - t.mean()
    spread, slope = float(x @ x), float(x @ t)
    # the rounding of a sum that is zero
    tiny = 1e-12 * math.sqrt(spread * float(t @ t))
    return spread / slope if abs(slope) > tiny else math.nan


def local_speeds(position: ArrayLike, arrival: ArrayLike) -> np.ndarray:
    """Speed of a wave in each third of the row: the inverse of the median slope of arrival against
    position between any two of its places, in which an odd bead has no weight; of fewer than nine
    places, the speed from each to the next.

    Theil 1950, Proc. Kon. Ned. Akad. Wet. A 53, 386-392.

    Parameters
    ----------
    position, arrival : array (n,)
        As of `wave_speed`.

    Returns
    -------
    array
        In the order of the row [m/s].
    """
    x, t = np.asarray(position, dtype=float), np.asarray(arrival, dtype=float)
    known = np.isfinite(x) & np.isfinite(t)
    x, t = (one[known][:: 1 + np.count_nonzero(known) // MOST_ARRIVALS] for one in (x, t))
    each = max(2, len(x) // 3)
    if len(x) < each:
        return np.empty(0)
    x, t = (sliding_window_view(one, each) for one in (x, t))
    near, far = np.triu_indices(each, 1)
    slopes = (t[:, far] - t[:, near]) / (x[:, far] - x[:, near])
    with np.errstate(divide="ignore"):
        return 1.0 / np.median(slopes, axis=1)


def speed_in_words(position: ArrayLike, arrival: ArrayLike) -> str:
    """The speed of a wave; where it changes along the row, the range of its local speeds, in the
    order in which they come."""
    local = local_speeds(position, arrival)
    local = local[np.isfinite(local)]
    if not local.size:
        return "no speed"
    size = np.abs(local)
    if size.max() <= (1.0 + UNIFORM_SPEED) * size.min():
        return f"speed {wave_speed(position, arrival):.4g} m/s"
    ends = local[sorted((int(np.argmin(size)), int(np.argmax(size))))]
    low, high = (f"{float(f'{end:.3g}'):.15g}" for end in ends)
    return f"local speed {low} to {high} m/s"


def out_of_order(
    position: ArrayLike, arrival: ArrayLike, width: ArrayLike = 0.0
) -> tuple[int, int] | None:
    """Two sensors whose arrivals show that they are of more than one wave; None for one wave.

    Along the row the arrivals of one wave do not turn back: each comes, up to the width of its
    pulse, after all before it, or before them all where the wave runs towards smaller positions.

    Parameters
    ----------
    position : array (n,)
        Of the sensors [m].
    arrival : array (n,)
        [s]; nan where there is none.
    width : float or array (n,)
        Of the pulses [s]; nan for 0.

    Returns
    -------
    tuple or None
        Indices of the sensor that was passed last and of the one that most turns back, along the
        direction in which less do.
    """
    x, t = np.asarray(position, dtype=float), np.asarray(arrival, dtype=float)
    known = np.flatnonzero(np.isfinite(x) & np.isfinite(t))
    if len(known) < 3:
        return None
    order = known[np.argsort(x[known], kind="stable")]
    widths = np.nan_to_num(np.broadcast_to(np.asarray(width, dtype=float), x.shape))
    t, spared = t[order], widths[order]
    # towards larger positions, and towards smaller ones
    latest = np.maximum.accumulate(t), np.maximum.accumulate(t[::-1])[::-1]
    backward = [passed - t - spared for passed in latest]
    if min(float(back.max()) for back in backward) <= 0.0:
        return None
    way = int(np.argmin([np.count_nonzero(back > 0.0) for back in backward]))
    i = int(np.argmax(backward[way]))
    before = slice(0, i) if way == 0 else slice(i + 1, None)
    return int(order[before][np.argmax(t[before])]), int(order[i])


def speeds_between(position: ArrayLike, arrival: ArrayLike) -> np.ndarray:
    """Speed of a wave between each sensor and the next.

    Parameters
    ----------
    position, arrival : array (n,)
        [m], [s]; nan where there is no arrival.

    Returns
    -------
    array (n - 1,)
        [m/s]; nan where one of the two has no arrival or both have the same.
    """
    distance, delay = np.diff(np.asarray(position)), np.diff(np.asarray(arrival, dtype=float))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(delay == 0.0, math.nan, distance / delay)
