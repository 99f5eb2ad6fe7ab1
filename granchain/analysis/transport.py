"""Waves from their arrivals: speeds, and whether there is more than one wave. SI units."""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike

# If local speeds differ by more than this fraction, a wave has no single speed (our choice). They
# differ by 0.001 in an elastic chain, by 0.050 in a dimer, and by 0.26 in a chain with 5 % taper
# (measured).
UNIFORM_SPEED = 0.1
# Maximum number of positions whose slopes are computed. If there are more, evenly spaced ones are
# selected. Our choice: a figure shows this number.
MOST_ARRIVALS = 300


def wave_speed(position: ArrayLike, arrival: ArrayLike) -> float:
    """Return the inverse slope of the least-squares line of arrival versus position.

    Parameters
    ----------
    position : array (n,)
        Positions of the sensors [m].
    arrival : array (n,)
        Arrivals [s]. nan means no arrival.

    Returns
    -------
    float
        Speed [m/s], negative if the wave travels towards smaller positions. It is nan with fewer
        than two positions, or if the arrivals do not depend on the position, as for two waves that
        meet.
    """
    x, t = np.asarray(position, dtype=float), np.asarray(arrival, dtype=float)
    finite = np.isfinite(x) & np.isfinite(t)
    x, t = x[finite], t[finite]
    if len(x) < 2:
        return math.nan
    x, t = x - x.mean(), t - t.mean()
    spread, slope = float(x @ x), float(x @ t)
    # a sum that is zero except for rounding
    tiny = 1e-12 * math.sqrt(spread * float(t @ t))
    return spread / slope if abs(slope) > tiny else math.nan


def wave_speeds(position: np.ndarray, arrival: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Return the wave speed of each of many runs [m/s], an array (run,).

    It is nan if the arrivals of a run are out of order (see `out_of_order`).

    Parameters
    ----------
    position, arrival, width : array (run, sensor)
        Positions of the sensors [m], arrivals and widths of their pulses [s].
    """
    # most arrivals are in order, so no search for a pair out of order is needed
    in_turn = ~(np.diff(arrival) < 0.0).any(axis=1) & (np.diff(position) >= 0.0).all(axis=1)
    one_wave = np.asarray(in_turn & np.isfinite(arrival).all(axis=1))
    x, t = (values - values.mean(axis=1, keepdims=True) for values in (position, arrival))
    spread, slope = np.vecdot(x, x), np.vecdot(x, t)
    with np.errstate(all="ignore"):
        # for all sensors, as in `wave_speed`
        steep = np.abs(slope) > 1e-12 * np.sqrt(spread * np.vecdot(t, t))
        speeds = np.where(one_wave & steep, spread / slope, math.nan)
    for run in np.flatnonzero(~one_wave).tolist():
        if out_of_order(position[run], arrival[run], width[run]) is None:
            speeds[run] = wave_speed(position[run], arrival[run])
    return speeds


def local_speeds(position: ArrayLike, arrival: ArrayLike) -> np.ndarray:
    """Return the speed of a wave in each third of the chain.

    It is the inverse of the median slope of arrival versus position over all pairs of positions,
    which is insensitive to outliers. With fewer than nine positions, the speeds between neighbours
    are returned.

    Theil 1950, Proc. Kon. Ned. Akad. Wet. A 53, 386-392.

    Parameters
    ----------
    position, arrival : array (n,)
        See `wave_speed`.

    Returns
    -------
    array
        Speeds in the order of the chain [m/s].
    """
    x, t = np.asarray(position, dtype=float), np.asarray(arrival, dtype=float)
    finite = np.isfinite(x) & np.isfinite(t)
    x, t = (values[finite][:: 1 + np.count_nonzero(finite) // MOST_ARRIVALS] for values in (x, t))
    window = max(2, len(x) // 3)
    if len(x) < window:
        return np.empty(0)
    x, t = (sliding_window_view(values, window) for values in (x, t))
    near, far = np.triu_indices(window, 1)
    slopes = (t[:, far] - t[:, near]) / (x[:, far] - x[:, near])
    with np.errstate(divide="ignore"):
        return 1.0 / np.median(slopes, axis=1)


def speed_in_words(position: ArrayLike, arrival: ArrayLike) -> str:
    """Return a text with the speed of a wave.

    If the speed changes along the chain, the text contains the range of local speeds in their
    order.
    """
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
    """Return two sensors whose arrivals belong to different waves, or None.

    The result is None if there is only one wave. The arrivals of one wave increase along the chain,
    within the width of the pulse, or decrease if the wave travels towards smaller positions.

    Parameters
    ----------
    position : array (n,)
        Positions of the sensors [m].
    arrival : array (n,)
        Arrivals [s]. nan means no arrival.
    width : float or array (n,)
        Widths of the pulses [s]. nan means 0.

    Returns
    -------
    tuple or None
        Indices of the last sensor in order and of the sensor that is most out of order, in the
        direction with fewer such sensors.
    """
    x, t = np.asarray(position, dtype=float), np.asarray(arrival, dtype=float)
    finite = np.flatnonzero(np.isfinite(x) & np.isfinite(t))
    if len(finite) < 3:
        return None
    order = finite[np.argsort(x[finite], kind="stable")]
    widths = np.nan_to_num(np.broadcast_to(np.asarray(width, dtype=float), x.shape))
    t, tolerance = t[order], widths[order]
    # for positions in increasing order, and in decreasing order
    latest = np.maximum.accumulate(t), np.maximum.accumulate(t[::-1])[::-1]
    backward = [passed - t - tolerance for passed in latest]
    if min(float(back.max()) for back in backward) <= 0.0:
        return None
    direction = int(np.argmin([np.count_nonzero(back > 0.0) for back in backward]))
    i = int(np.argmax(backward[direction]))
    before = slice(0, i) if direction == 0 else slice(i + 1, None)
    return int(order[before][np.argmax(t[before])]), int(order[i])


def speeds_between(position: ArrayLike, arrival: ArrayLike) -> np.ndarray:
    """Return the speed of a wave between each sensor and the next.

    Parameters
    ----------
    position, arrival : array (n,)
        Positions [m] and arrivals [s]. nan means no arrival.

    Returns
    -------
    array (n - 1,)
        Speeds [m/s]. A speed is nan if one of the two arrivals is missing or both are equal.
    """
    distance, delay = np.diff(np.asarray(position)), np.diff(np.asarray(arrival, dtype=float))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(delay == 0.0, math.nan, distance / delay)
