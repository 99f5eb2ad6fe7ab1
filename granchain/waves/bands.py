"""Waves along a recorded row: cos q at each frequency, edges of bands with their errors, and
the map."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

# Cos q is taken where this part of the motion of three beads a cell apart has one phase from cell
# to cell, and where the motion's power is above this part of the largest: the sidelobes of a Hann
# window are there some 15 lines away, and fall with the sixth power of that.
ONE_PHASE, STRONG = 0.9, 1e-10
# Of cos q: how far beyond 1 waves must be to be outside a band, so that scatter at an edge is none;
# and how far from the edge the curve is fitted that crosses it: of a whole range of -1 to 1, the
# last seventh.
OUTSIDE, NEAR_EDGE = 0.05, 0.3
# Frequencies that a fit of four numbers takes at least, ours: each gives two, four times as many.
FEWEST_FITTED = 8
# Of a normal distribution 95 % lie within so many standard deviations.
_WITHIN = 1.96


class RecordedRow(NamedTuple):
    """Motion of the beads of a periodic row, without their values at the start.

    Parameters
    ----------
    values : (n, n_beads) array
    beads : (n_beads,) array
        Labels, rising.
    interval : float
        [s].
    measured : str
        Name of the variable.
    size : int
        Beads of a cell.
    length : int
        Instants of a piece.
    """

    values: np.ndarray
    beads: np.ndarray
    interval: float
    measured: str
    size: int
    length: int

    @property
    def middles(self) -> np.ndarray:
        """Places of the beads whose neighbours a cell away, on both sides, are there too."""
        return np.flatnonzero(
            np.isin(self.beads - self.size, self.beads)
            & np.isin(self.beads + self.size, self.beads)
        )

    @property
    def gapless(self) -> bool:
        """Whether no bead between the first and the last is left out, and there are two cells
        or more."""
        return len(self.beads) >= 2 * self.size and self.beads[-1] - self.beads[0] + 1 == len(
            self.beads
        )


def relation(row: RecordedRow) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies, and cos q at each by least squares over all beads and pieces; nan where it
    is not seen."""
    from scipy.signal import csd, welch

    middles = row.middles
    centre = row.values[:, middles]
    before, after = (
        row.values[:, np.searchsorted(row.beads, row.beads[middles] + step)]
        for step in (-row.size, row.size)
    )
    sides = 0.5 * (before + after)
    how: dict[str, Any] = {"fs": 1.0 / row.interval, "nperseg": row.length, "axis": 0}
    frequency, cross = csd(centre, sides, **how)
    own, other = (welch(values, **how)[1].sum(axis=1) for values in (centre, sides))
    crossed = cross.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        cosine = crossed / own
        beside_it = other - np.abs(crossed) ** 2 / own
        seen = (beside_it < (1.0 - ONE_PHASE) * (own + other)) & (own > STRONG * own.max())
    seen[0] = False
    return frequency, np.where(seen, cosine, math.nan)


class Edge(NamedTuple):
    """An edge of a band [Hz], the error within which it lies, and whether the band begins there."""

    frequency: float
    error: float
    begins: bool


def bands_of(frequency: np.ndarray, cosine: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Edges of the bands that were seen, and their errors: at most as many as a cell has beads."""
    seen = np.isfinite(cosine)
    # over three frequencies: a single one is no edge
    near = np.convolve(np.abs(cosine.real), np.full(3, 1.0 / 3.0), mode="same")
    with np.errstate(invalid="ignore"):
        inside, outside = near < 1.0 - OUTSIDE, near > 1.0 + OUTSIDE
    decided = np.flatnonzero(inside | outside)
    bands: list[list[Edge]] = []
    unknown = Edge(math.nan, math.nan, True)
    if len(decided) and inside[decided[0]] and cosine.real[decided[0]] > 0.0:
        # the row as a whole moves freely, and the longest waves that were seen are of the first
        # band
        bands.append([Edge(0.0, float(frequency[decided[0]]), True)])
    for i, j in pairwise(decided.tolist()):
        if inside[i] == inside[j] or not seen[i : j + 1].all():
            continue
        edge = edge_between(frequency, cosine, i, j, begins=bool(inside[j]))
        if edge is None:
            continue
        if edge.begins:
            bands.append([edge])
        elif bands and len(bands[-1]) == 1:
            bands[-1].append(edge)
        else:
            bands.append([unknown, edge])
    for band in bands:
        band.extend([unknown] * (2 - len(band)))
    # of a band without an edge that was measured nothing is known
    bands = [band for band in bands if any(edge.frequency > 0.0 for edge in band)]
    found = np.array(
        [[(edge.frequency, edge.error) for edge in band] for band in bands[:size]]
    ).reshape(-1, 2, 2)
    return found[:, :, 0], found[:, :, 1]


def edge_between(
    frequency: np.ndarray, cosine: np.ndarray, i: int, j: int, begins: bool
) -> Edge | None:
    """Where cos q passes 1 or -1 between the frequencies i and j, in a band the one, the other
    not; None where too few lie there."""
    from scipy.optimize import least_squares

    level = math.copysign(1.0, cosine.real[i if begins else j])
    with np.errstate(invalid="ignore"):
        near = np.abs(cosine.real - level) < NEAR_EDGE
    low, high = i, j
    while low > 0 and near[low - 1]:
        low -= 1
    while high < len(near) - 1 and near[high + 1]:
        high += 1
    if high - low + 1 < FEWEST_FITTED:
        return None
    at = 0.5 * float(frequency[i] + frequency[j])
    x, y = frequency[low : high + 1] / at, cosine[low : high + 1]

    def off(numbers: np.ndarray) -> np.ndarray:
        z = x * x / (1.0 + 1j * numbers[3] * x) - 1.0
        left = numbers[0] + z * (numbers[1] + z * numbers[2]) - y
        return np.concatenate([left.real, left.imag])

    start = np.polynomial.polynomial.polyfit(x * x - 1.0, y.real, 2)
    fit = least_squares(off, [*start, -float(np.median(y.imag / (start[1] * x * x * x)))])
    roots = np.roots([fit.x[2], fit.x[1], fit.x[0] - level])
    z = float(roots[np.argmin(np.abs(roots))].real)
    left, changes = fit.fun[: len(x)], np.asarray(fit.jac)
    slope = fit.x[1] + 2.0 * fit.x[2] * z
    by = np.array([1.0, z, z * z, 0.0]) / slope
    # neighbours err alike: the variance grows with the sum of their correlations
    alike = np.correlate(left, left, "full")[len(x) - 1 :] / max(float(left @ left), 1e-300)
    more = 1.0 + 2.0 * float(np.maximum(alike[1 : max(2, len(x) // 8)], 0.0).sum())
    covariance = np.linalg.pinv(changes.T @ changes) * float(left @ left) / (len(x) - 4)
    deviation_of_z = math.sqrt(max(float(by @ covariance @ by), 0.0) * more)
    if not z > -1.0:
        return None
    place = at * math.sqrt(1.0 + z)
    error = math.hypot(_WITHIN * 0.5 * at * at / place * deviation_of_z, float(frequency[1]))
    return Edge(place, error, begins)


def mapped(row: RecordedRow) -> tuple[np.ndarray, np.ndarray]:
    """Wavenumbers, and power over frequency and wavenumber: of each bead of a cell by itself,
    along the cells, and added."""
    from scipy.signal.windows import hann

    cells = len(row.beads) // row.size
    count = 2 ** math.ceil(math.log2(4 * cells))
    over_time, along = hann(row.length, sym=False)[:, None], hann(cells + 2)[1:-1]
    power = np.zeros((row.length // 2 + 1, count))
    for start in range(0, len(row.values) - row.length + 1, row.length // 2):
        motion = np.fft.rfft(
            row.values[start : start + row.length, : cells * row.size] * over_time, axis=0
        )
        for j in range(row.size):
            # cos(omega t - q n) has exp(-i q n) at omega: summed with exp(i q n)
            power += np.abs(np.fft.ifft(motion[:, j :: row.size] * along, count, axis=1)) ** 2
    wavenumber = 2.0 * math.pi * np.fft.fftshift(np.fft.fftfreq(count))
    return wavenumber, np.fft.fftshift(power, axes=1) / (power.max() or 1.0)
