"""Kinds of noise and faults of real sensors, for fits and comparisons."""

import math

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.signal import butter, lfilter

KINDS = ("white", "50 Hz interference", "8 bit", "drift", "within 300 kHz", "AR(1)")
KINDS += ("20 kHz interference", "ringing")
# Properties of each sensor, and of the instrument; all with white noise.
OWN = ("own gain", "skew")
FAULTS = ("clipping", "offset", "crosstalk", "high-pass")
FOURTEEN = (*KINDS, *OWN, *FAULTS)
# The instrument rings on after the pulse, more than its noise.
VISIBLE_RING = "visible ring"
EVERY = (*FOURTEEN, VISIBLE_RING)
# Standard deviation of a gain and of a time [s], filter frequency [Hz], and the tables of
# about.toml that specify them.
GAIN, SKEW, HIGH_PASS = 0.03, 2e-7, 1e3
STATED = {
    "own gain": {"uncertainty": {"gain": GAIN}},
    "skew": {"uncertainty": {"time": SKEW}},
    "high-pass": {"sensor": {"high_pass": HIGH_PASS}},
}
# Number of samples after which a filter no longer depends on its start.
SETTLED = 400


def noisy(force, interval, kind, size, seed):
    """Return forces (sample, sensor) with noise of a kind.

    Parameters
    ----------
    force : array (n, sensors)
        [N].
    interval : float
        Of the samples [s].
    kind : str
        One of `EVERY`.
    size : float
        Standard deviation of white noise, of the same scale in the others [N].
    seed : int
    """
    draw = np.random.default_rng([seed, EVERY.index(kind)])
    n, sensors = force.shape
    time = interval * np.arange(n)[:, None]
    white = draw.standard_normal((n + SETTLED, sensors))
    plain = size * white[SETTLED:]

    def through(ahead, back):
        found = lfilter(ahead, back, white, axis=0)[SETTLED:]
        return np.asarray(size * found / found.std())

    if kind == "50 Hz interference":
        phase = draw.random(sensors)
        return force + 0.3 * plain + 2.0 * size * np.sin(2.0 * math.pi * (50.0 * time + phase))
    if kind == "20 kHz interference":
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
        # at 80 kHz, decaying by 3 % per sample
        turn = 2.0 * math.pi * 8e4 * interval
        return force + through([1.0], [1.0, -2.0 * 0.97 * math.cos(turn), 0.97**2])
    if kind == "8 bit":
        step = 2.0 * float((force + plain).max()) / 2**8
        return np.asarray(step * np.round((force + plain) / step))
    if kind == "own gain":
        return force * (1.0 + GAIN * draw.standard_normal(sensors)) + plain
    if kind == "skew":
        late = CubicSpline(time[:, 0], force, axis=0)
        moved = [late(time[:, 0] - SKEW * draw.standard_normal())[:, k] for k in range(sensors)]
        return np.column_stack(moved) + plain
    if kind == "clipping":
        limit = draw.uniform(0.4, 0.95) * force.max()
        return np.asarray(np.minimum(force + plain, limit))
    if kind == "offset":
        return force + draw.choice([-1.0, 1.0]) * draw.uniform(0.05, 1.0) * force.max() + plain
    if kind == "crosstalk":
        return force + _crosstalk(force, draw) + plain
    if kind == VISIBLE_RING:
        return force + _ring(force, interval, draw) + 0.1 * plain
    if kind == "high-pass":
        return lfilter(*butter(1, HIGH_PASS * 2.0 * interval, "highpass"), force, axis=0) + plain
    return force + plain


def _ring(force, interval, draw):
    """Return damped oscillations that begin with each pulse.

    They have 2 to 5 periods per width, 0.6 to 2.5 % of the peak at its time, and a damping ratio of
    0.005 to 0.03.
    """
    found = np.zeros(force.shape)
    for k, column in enumerate(force.T):
        top = int(np.argmax(column))
        low = column < 0.5 * column[top]
        before, after = int(np.flatnonzero(low[:top])[-1]), top + int(np.argmax(low[top:]))
        wide = after - before
        turn = 2.0 * math.pi * draw.uniform(2.0, 5.0) / wide
        since = np.arange(len(column)) - (top - wide)
        decay = draw.uniform(0.005, 0.03) * turn
        size = draw.uniform(0.006, 0.025) * column[top] * math.exp(decay * wide)
        wave = size * np.exp(-decay * since) * np.sin(turn * since + draw.uniform(0.0, 6.3))
        # it grows with the rise of the pulse
        found[:, k] = np.where(since > 0, wave * np.clip(since / wide, 0.0, 1.0), 0.0)
    return found


def _crosstalk(force, draw):
    """Return a bump before the first pulse at all sensors simultaneously, like a trigger.

    It has 5 to 30 % of the largest force, and a fifth to three quarters of the width of the first
    pulse.
    """
    n, sensors = force.shape
    first = int(np.argmin([np.argmax(one > 0.01 * one.max()) for one in force.T]))
    column = force[:, first]
    start = int(np.argmax(column > 0.01 * column.max()))
    width = int(np.argmax(column[start:] < 0.01 * column.max())) or n // 10
    wide = draw.uniform(0.1, 0.4) * width
    middle = start - draw.uniform(1.0, 2.0) * wide
    bump = np.exp(-4.0 * math.log(2.0) * ((np.arange(n) - middle) / wide) ** 2)
    return bump[:, None] * draw.uniform(0.05, 0.3, sensors) * force.max()
