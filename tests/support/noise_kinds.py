"""Noise of kinds that real sensors have."""

from __future__ import annotations

import math

import numpy as np
from scipy.signal import butter, lfilter

KINDS = ("white", "50 Hz hum", "8 bit", "drift", "within 300 kHz", "AR(1)", "20 kHz hum", "ringing")
# Samples after which a filter has forgotten how it began.
SETTLED = 400


def noisy(force: np.ndarray, interval: float, kind: str, size: float, seed: int) -> np.ndarray:
    """Forces (sample, sensor) with noise of a kind.

    Parameters
    ----------
    force : array (n, sensors)
        [N].
    interval : float
        Of the samples [s].
    kind : str
        One of `KINDS`.
    size : float
        Standard deviation of white noise, of the same scale in the others [N].
    seed : int
    """
    draw = np.random.default_rng([seed, KINDS.index(kind)])
    n, sensors = force.shape
    time = interval * np.arange(n)[:, None]
    white = draw.standard_normal((n + SETTLED, sensors))
    plain = size * white[SETTLED:]

    def through(ahead: object, back: object) -> np.ndarray:
        found = lfilter(ahead, back, white, axis=0)[SETTLED:]
        return np.asarray(size * found / found.std())

    if kind == "50 Hz hum":
        phase = draw.random(sensors)
        return force + 0.3 * plain + 2.0 * size * np.sin(2.0 * math.pi * (50.0 * time + phase))
    if kind == "20 kHz hum":
        phase = draw.random(sensors)
        return force + 0.3 * plain + size * np.sin(2.0 * math.pi * (2e4 * time + phase))
    if kind == "drift":
        slope = 3.0 * size * draw.standard_normal(sensors)
        return force + 0.5 * plain + time / time[-1] * slope
    if kind == "within 300 kHz":
        return force + through(*butter(4, 3e5 * 2.0 * interval))
    if kind == "AR(1)":
        return force + through([1.0], [1.0, -math.exp(-interval / 5e-6)])
    if kind == "ringing":
        # at 80 kHz, decaying by 3 % a sample
        turn = 2.0 * math.pi * 8e4 * interval
        return force + through([1.0], [1.0, -2.0 * 0.97 * math.cos(turn), 0.97**2])
    if kind == "8 bit":
        step = 2.0 * float((force + plain).max()) / 2**8
        return np.asarray(step * np.round((force + plain) / step))
    return force + plain
