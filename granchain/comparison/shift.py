"""The common time shift of two sets of traces, by cross-correlation."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from granchain.analysis.definition import vertex
from granchain.analysis.noise import Noise
from granchain.analysis.uncertainty import Number


def time_shift(
    interval: float,
    measured: ArrayLike,
    computed: ArrayLike,
    noise: ArrayLike | Sequence[Noise] = 0.0,
    near: tuple[float, float] | None = None,
) -> Number:
    """Shift between two sets of traces on one interval: the peak of the sum of their
    cross-correlations, by a parabola.

    Each trace has a weight by itself: its force squared, which is that of least squares with the
    same noise at all sensors.

    Parameters
    ----------
    interval : float
        Between samples [s].
    measured : array (n, n_sensors)
        [N].
    computed : array (m, n_sensors)
        [N].
    noise : float, array (n_sensors,) or sequence of Noise
        Of the measured force; a number is the standard deviation of white noise [N].
    near : (float, float), optional
        Least and largest shift that is looked at [s].

    Returns
    -------
    Number
        From the first sample of the computed to the first of the measured traces: 0 where
        measured[i] is computed[i]. nan where nothing correlates.
    """
    from scipy.signal import correlate, correlation_lags

    real, model = (
        np.atleast_2d(np.asarray(measured, float).T).T,
        np.atleast_2d(np.asarray(computed, float).T).T,
    )
    lags = correlation_lags(len(real), len(model))
    total = np.zeros(len(lags))
    for a, b in zip(real.T, model.T, strict=True):
        total += correlate(a, b, mode="full", method="fft")
    if near is not None:
        total[(lags * interval < near[0]) | (lags * interval > near[1])] = 0.0
    i = int(np.argmax(total))
    # What the transforms leave of no correlation at all is rounding, 1e-16 of the norms.
    nothing = 1e-9 * float(np.linalg.norm(real) * np.linalg.norm(model))
    if not total[i] > nothing or i in (0, len(total) - 1):
        return Number(math.nan, math.nan)
    _, at = vertex(lags[i - 1 : i + 2].astype(float), total[i - 1 : i + 2])
    # The peak is where the derivative of the correlation, sum over f'(t) g(t - s), passes 0. White
    # noise of size sigma makes it sigma |g'| large, and its slope there is -f'.g': for g = f this
    # is the Cramer-Rao bound sigma/|f'|.
    slope = np.gradient(model, axis=0)
    lag = int(lags[i])
    slopes = slope[max(0, -lag) : len(real) - lag] if lag < len(real) else slope[:0]
    real_slopes = np.gradient(real, axis=0)[max(0, lag) : max(0, lag) + len(slopes)]
    slopes = slopes[: len(real_slopes)]
    common = float((slopes * real_slopes).sum())
    sizes = noise if isinstance(noise, Sequence) else np.broadcast_to(noise, real.shape[1])
    each = [one if isinstance(one, Noise) else Noise(float(one), np.empty(0)) for one in sizes]
    size = math.hypot(*(one.of_sum(row) for one, row in zip(each, slopes.T, strict=True)))
    return Number(at * interval, size / common * interval if common > 0.0 else math.nan)
