"""Waves along a recorded chain: cos q versus frequency, band edges, and map."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

# cos q is computed at a frequency under two conditions. This fraction of the motion of three beads
# one cell apart has the same phase from cell to cell, and the power of the motion is above this
# fraction of the largest power. The sidelobes of a Hann window have this power about 15 lines away,
# and decrease with the sixth power of the distance.
SINGLE_PHASE, STRONG = 0.9, 1e-10
# A gap requires that abs(cos q) exceeds 1 by three standard deviations: 1 in 700 by chance.
MOST_SCATTER = 3.0
# An edge with an error of more than this many lines of the spectrum is not reported (our choice).
MOST_LINES_OF_ERROR = 4.0
# Number of points from the middle of a gap to an edge at which the gap is tested (our choice). Deep
# in a wide gap nothing moves, and the curve is known only near its edges.
IN_GAP = 100
# An extreme between two bands that is inside of 1 by this much, and by three standard deviations,
# does not belong to a chain of equal cells. Our choice: a tenth of the width of the bands.
INSIDE = 0.2
# Number of neighbouring lines that are summed before they are squared. With a Hann window, two
# lines are correlated if they are within two of each other.
LINES_PER_BLOCK = 8
# Shift of an edge by the window of one segment, in lines (our choice). The modes of a finite chain
# leak into the lines between them, which the scatter of cos q does not show. With this term, the
# errors cover 94 of 100 edges of random cells (tests/test_spectrum.py), compared with 39 without
# it.
LINE_FRACTION = 0.32
# Larger values of abs(cos q) are excluded from the fit (our choice): 57 dB within five cells.
FAR_IN_GAP = 2.0
# Initial loss angles of the least-squares fit [rad] (our choice): fifteen steps below a right
# angle.
ANGLES = tuple(0.1 * k for k in range(16))
# Number of reweighting iterations (our choice).
REWEIGHTINGS = 8
NO_CURVE = (
    "no band edges: cos q deviates from the curve of a chain of equal cells by more than its "
    "scatter. The contacts must act as springs with little damping. Check the damping of the "
    "law, or run longer"
)
FINER_ADVICE = "Run longer, or use fewer --segments"
TOO_FEW = (
    "no band edges: waves were found at too few frequencies. The drive must have power on both "
    "sides of an edge. See coherence"
)


class RecordedRow(NamedTuple):
    """Motion of the beads of a periodic chain relative to their first values.

    Parameters
    ----------
    values : (n, n_beads) array
    beads : (n_beads,) array
        Labels in ascending order.
    interval : float
        Sampling interval [s].
    measured : str
        Name of the variable.
    size : int
        Number of beads in a cell.
    length : int
        Number of samples in a segment.
    """

    values: np.ndarray
    beads: np.ndarray
    interval: float
    measured: str
    size: int
    length: int

    @property
    def middles(self) -> np.ndarray:
        """Indices of the beads with recorded neighbours one cell away on both sides."""
        return np.flatnonzero(
            np.isin(self.beads - self.size, self.beads)
            & np.isin(self.beads + self.size, self.beads)
        )

    @property
    def gapless(self) -> bool:
        """True if no bead between the first and the last is missing.

        The chain must also have two or more cells.
        """
        return len(self.beads) >= 2 * self.size and self.beads[-1] - self.beads[0] + 1 == len(
            self.beads
        )


def cosine_relation(row: RecordedRow) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return frequencies, cos q, and the scatter of cos q.

    cos q is a least-squares estimate over all beads and segments. Its scatter follows from the part
    of the motion that it does not explain. Both are nan if no waves are visible.
    """
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
    centre_power, side_power = (welch(values, **how)[1].sum(axis=1) for values in (centre, sides))
    crossed = cross.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        cosine = crossed / centre_power
        incoherent = np.maximum(side_power - np.abs(crossed) ** 2 / centre_power, 0.0)
        scatter = np.sqrt(incoherent / centre_power)
        seen = incoherent < (1.0 - SINGLE_PHASE) * (centre_power + side_power)
        seen &= centre_power > STRONG * centre_power.max()
    # The mean of each segment has been subtracted, so there is no motion at frequency 0.
    seen[0] = False
    return frequency, np.where(seen, cosine, math.nan), np.where(seen, scatter, math.nan)


class Bands(NamedTuple):
    """Edges of all bands of a cell [Hz], one row per band, and their errors [Hz].

    `reasons` contains a short reason for each edge that is nan. `messages` give the reasons and the
    fixes.
    """

    edges: np.ndarray
    errors: np.ndarray
    reasons: np.ndarray
    messages: list[str]


NO_BANDS = Bands(np.zeros((0, 2)), np.zeros((0, 2)), np.zeros((0, 2), dtype=object), [])


class Curve(NamedTuple):
    """Polynomial fitted to cos q of a chain of equal cells.

    The variable z is the square of the frequency divided by the highest frequency at which cos q
    was measured.

    Parameters
    ----------
    cosine : Chebyshev
    variance : (size, size) array
        Covariance of its coefficients.
    change : (size,) array
        First-order change of the coefficients if dampings differ.
    misfit : float
        Median residual of one segment and one bead in standard deviations.
    """

    cosine: chebyshev.Chebyshev
    variance: np.ndarray
    change: np.ndarray
    misfit: float

    def beyond(self, z: Any, level: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the excess of the curve beyond `level`, 1 or -1, and its standard deviation."""
        terms = chebyshev_terms(z, len(self.change))
        error = np.sqrt(np.maximum(np.einsum("ki,ij,kj->k", terms, self.variance, terms), 1e-300))
        return level * np.asarray(self.cosine(z)) - 1.0, error


def chebyshev_terms(z: Any, size: int) -> np.ndarray:
    """Return polynomials of degrees 1 to `size` that are 0 at z = 0."""
    at_rest = chebyshev.chebvander(-1.0, size)[0, 1:]
    return np.asarray(chebyshev.chebvander(2.0 * z - 1.0, size)[..., 1:] - at_rest)


def curve_of(
    x: np.ndarray, y: np.ndarray, scatter: np.ndarray, blocks: np.ndarray, size: int
) -> Curve:
    """Fit the curve of cos q by least squares.

    For n masses and n springs, cos q is a polynomial of degree n in z = omega^2 that is 1 at 0
    (half the trace of the cell's transfer matrix; Brillouin 1946, Wave Propagation in Periodic
    Structures, ch. 3). If all springs have the same damping time tau, z = omega^2/(1 + i omega
    tau). If the dampings differ, i omega times another such polynomial is added to first order.

    Parameters
    ----------
    x, y, scatter : array (line,)
        Frequencies divided by the highest one, cos q, and its scatter.
    blocks : array (line,)
        Index of the block of neighbouring lines.
    size : int
        Number of beads in a cell.
    """
    from scipy.optimize import minimize_scalar

    # A line with a tiny scatter must not dominate the fit.
    weight = 1.0 / np.maximum(scatter, max(1e-6, 0.1 * float(np.median(scatter))))

    def fitted(tau: float, dampings_differ: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return coefficients, weighted residuals, and weighted columns of a linear fit."""
        columns = chebyshev_terms(x * x / (1.0 + 1j * tau * x), size) * weight[:, None]
        if dampings_differ:
            columns = np.hstack([columns, 1j * x[:, None] * columns])
        columns = np.concatenate([columns.real, columns.imag])
        targets = (y - 1.0) * weight
        targets = np.concatenate([targets.real, targets.imag])
        coefficients = np.linalg.lstsq(columns, targets, rcond=None)[0]
        return coefficients, targets - columns @ coefficients, columns

    def squares(angle: float) -> float:
        """Return the sum of squares of a fit whose contacts have the same loss angle."""
        return float(np.sum(fitted(math.tan(angle), False)[1] ** 2))

    # Cauchy weights, because resonances that last longer than a segment leave lines far from the
    # curve (Holland & Welsch 1977, doi:10.1080/03610927708827533, with their constant)
    scaled = weight
    for _ in range(REWEIGHTINGS):
        # search over the loss angle at the highest frequency, which is below a right angle; if only
        # some bands are visible, there are two minima, and the lower one is correct
        nearest = min(ANGLES, key=squares)
        bounds = max(nearest - ANGLES[1], 0.0), min(nearest + ANGLES[1], ANGLES[-1])
        tau = math.tan(float(minimize_scalar(squares, bounds=bounds, method="bounded").x))
        coefficients, residual, columns = fitted(tau, True)
        deviation = np.hypot(*residual.reshape(2, -1)) * scaled / weight
        weight = scaled / np.sqrt(
            1.0 + (deviation / (2.385 * max(float(np.median(deviation)), 1e-300))) ** 2
        )
    equal_damping = fitted(tau, False)[0]
    coefficients, residual, columns = fitted(tau, True)
    # errors of neighbouring lines are correlated, so lines are summed in blocks before they are
    # squared (cluster variance; Liang & Zeger 1986, doi:10.1093/biomet/73.1.13)
    count = int(blocks.max()) + 1
    score = np.zeros((count, len(coefficients)))
    np.add.at(score, np.concatenate([blocks, blocks]), columns * residual[:, None])
    inverse = np.linalg.pinv(columns.T @ columns)
    variance = inverse @ score.T @ score @ inverse * count / (count - 2 * size)
    at_rest = chebyshev.chebvander(-1.0, size)[0, 1:]
    cosine = chebyshev.Chebyshev(
        [1.0 - coefficients[:size] @ at_rest, *coefficients[:size]], domain=[0.0, 1.0]
    )
    change = equal_damping[:size] - coefficients[:size]
    return Curve(cosine, variance[:size, :size], change, float(np.median(deviation)))


def bands_of(frequency: np.ndarray, cosine: np.ndarray, scatter: np.ndarray, size: int) -> Bands:
    """Return the edges of the bands of a cell from a fit to cos q. See `curve_of`.

    In the bands, cos q is between -1 and 1. The gaps are around the n - 1 extremes of cos q.
    """
    from scipy.stats import t as student

    edges, errors = np.full((2, size, 2), math.nan)
    reasons = np.full((size, 2), "", dtype=object)
    # deep in a gap there is little motion, and leakage from other lines distorts cos q
    with np.errstate(invalid="ignore"):
        seen = np.flatnonzero(np.abs(cosine) < FAR_IN_GAP)
    blocks = np.unique(seen // LINES_PER_BLOCK, return_inverse=True)[1]
    free = (blocks.max() + 1 if len(seen) else 0) - 2 * size
    if free < 1:
        reasons[:] = "waves at too few frequencies"
        return Bands(edges, errors, reasons, [TOO_FEW])
    line, top = float(frequency[1]), float(frequency[seen[-1]])
    x = frequency[seen] / top
    curve = curve_of(x, cosine[seen], scatter[seen], blocks, size)
    turns = np.sort(curve.cosine.deriv().roots().real) if size > 1 else np.zeros(0)
    levels = np.where(np.arange(size) % 2 == 0, -1.0, 1.0)
    above, above_error = curve.beyond(turns, levels[:-1])
    inside = (
        (turns > 0.0) & (turns < 1.0) & (above < -np.maximum(MOST_SCATTER * above_error, INSIDE))
    )
    # the scatter is that of one segment and one bead; the residual of their mean must be smaller,
    # otherwise the curve does not apply
    if curve.misfit > 1.0 or inside.any():
        reasons[:] = "too much damping"
        return Bands(edges, errors, reasons, [NO_CURVE])
    factor = float(student.ppf(0.975, free))
    messages = []
    edges[0, 0], errors[0, 0] = 0.0, float(frequency[seen[0]])
    for k in range(size):
        # in band k, cos q runs from (-1)^k to -(-1)^k
        level = float(levels[k])
        crossed = np.asarray((curve.cosine - level).roots(), dtype=complex)
        roots: np.ndarray = np.sort(crossed.real[np.abs(crossed.imag) < 1e-9])
        # cos q is 1 at 0, which is not an edge
        roots = roots[roots > x[0] ** 2]
        if k == size - 1:
            pair = [(k, 1, roots[roots > (turns[-1] if len(turns) else 0.0)][:1])]
        else:
            # the gap about this extreme
            z = float(turns[k])
            edges_of_gap = roots[roots < z][-1:], roots[roots > z][:1]
            samples = [
                np.linspace(z, crossing[0], IN_GAP)[:-1]
                for crossing in edges_of_gap
                if len(crossing)
            ]
            high, error_beyond = curve.beyond(np.concatenate([[z], *samples]), level)
            if not (high > MOST_SCATTER * error_beyond).any():
                reasons[k, 1] = reasons[k + 1, 0] = "gap not resolved"
                messages.append(
                    f"gap {k + 1}: not resolved, near {top * math.sqrt(max(z, 0.0)):.5g} Hz: "
                    f"abs(cos q) - 1 is {high[0]:.2g} +- {error_beyond[0]:.2g}. {FINER_ADVICE}"
                )
                continue
            pair = [(k, 1, edges_of_gap[0]), (k + 1, 0, edges_of_gap[1])]
        for band, end, root in pair:
            name = f"band {band + 1} {('begins', 'ends')[end]}"
            if not len(root) or not root[0] > 0.0:
                reasons[band, end] = "not seen"
                messages.append(
                    f"{name}: not seen, because cos q does not cross {level:g}. {FINER_ADVICE}"
                )
                continue
            z = float(root[0])
            # change of the root per change of a coefficient
            change = chebyshev_terms(z, size)[0] / float(curve.cosine.deriv()(z))
            edge = top * math.sqrt(z)
            by_scatter = math.sqrt(max(float(change @ curve.variance @ change), 0.0))
            off = factor * 0.5 * top / math.sqrt(z) * by_scatter
            # the first-order change by different dampings bounds the neglected second-order change
            differs = 0.5 * top / math.sqrt(z) * float(change @ curve.change)
            error = math.hypot(off, differs, LINE_FRACTION * line)
            near = np.abs(frequency[seen] - edge) < MOST_LINES_OF_ERROR * line
            if error > MOST_LINES_OF_ERROR * line or not near.any():
                reasons[band, end] = (
                    "error too large" if near.any() else "no coherent waves near it"
                )
                why = (
                    f"its error is {error:.2g} Hz, more than {MOST_LINES_OF_ERROR:g} lines"
                    if near.any()
                    else f"no waves were seen near it (the coherence from cell to cell is below "
                    f"{SINGLE_PHASE:g}): the drive has no power there, or the waves decay"
                )
                messages.append(
                    f"{name}: not reported, near {edge:.5g} Hz, because {why}. {FINER_ADVICE}"
                )
                continue
            edges[band, end], errors[band, end] = edge, error
    return Bands(edges, errors, reasons, messages)


def power_map(row: RecordedRow) -> tuple[np.ndarray, np.ndarray]:
    """Return wavenumbers, and power versus frequency and wavenumber.

    The power is computed along the cells for each bead of a cell, and summed over these beads.
    """
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
