"""Waves along a recorded row: cos q at each frequency, edges of bands with their errors, and
the map."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

# Cos q is taken where this part of the motion of three beads a cell apart has one phase from cell
# to cell, and where the motion's power is above this part of the largest: the sidelobes of a Hann
# window are there some 15 lines away, and fall with the sixth power of that.
SINGLE_PHASE, STRONG = 0.9, 1e-10
# A gap is one where abs(cos q) exceeds 1 by three standard deviations: 1 in 700 by chance.
MOST_SCATTER = 3.0
# Ours: an edge that is not known within so many lines of the spectrum is withheld.
MOST_LINES = 4.0
# Places from the middle of a gap to an edge at which that is asked, ours: deep in a wide gap
# nothing moves, and the curve is known beside its edges alone.
IN_GAP = 100
# An extreme between two bands that stays so far inside of 1, and by three standard deviations, is
# none of a row of equal cells: ours, a tenth of the bands' width.
INSIDE = 0.2
# Neighbouring lines that are summed before they are squared: under a Hann window two lines are
# alike when they stand within two of each other.
ALIKE = 8
# Ours, in lines: what a window of one piece moves an edge by. The modes of a finite row leak into
# the lines between them, which the scatter of cos q does not show. With it errors hold 94 of
# 100 edges of random cells (tests/test_spectrum.py), without it 39.
LINE_FRACTION = 0.32
# Ours: larger values of abs(cos q) are left out of the fit: 57 dB within five cells.
DEEP = 2.0
# Loss angles from which the least squares are sought, ours: fifteen steps below a right angle.
ANGLES = tuple(0.1 * k for k in range(16))
# Ours: rounds of weighting.
ROUNDS = 8
NO_CURVE = (
    "no band edges: cos q deviates from the curve of a chain of equal cells by more than its "
    "scatter. The contacts must act as springs with little damping. Check the damping of the "
    "law, or run longer"
)
FINER = "Run longer, or use fewer --segments"
TOO_FEW = (
    "no band edges: waves were found at too few frequencies. The drive must have power on both "
    "sides of an edge. See coherence"
)


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


def relation(row: RecordedRow) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Frequencies, cos q at each by least squares over all beads and pieces, and its scatter there,
    as the part of the motion that it leaves gives it; nan where it is not seen."""
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
        beside_it = np.maximum(other - np.abs(crossed) ** 2 / own, 0.0)
        scatter = np.sqrt(beside_it / own)
        seen = (beside_it < (1.0 - SINGLE_PHASE) * (own + other)) & (own > STRONG * own.max())
    seen[0] = False
    return frequency, np.where(seen, cosine, math.nan), np.where(seen, scatter, math.nan)


class Bands(NamedTuple):
    """Edges of all bands of a cell [Hz], a row for each, within which errors they lie, why some are
    nan, in a few words, and what to do about it."""

    edges: np.ndarray
    errors: np.ndarray
    reasons: np.ndarray
    messages: list[str]


NO_BANDS = Bands(np.zeros((0, 2)), np.zeros((0, 2)), np.zeros((0, 2), dtype=object), [])


class Curve(NamedTuple):
    """Cos q of a row of equal cells, fitted: a polynomial in z, the square of the frequency over
    the highest one at which it was seen.

    Parameters
    ----------
    cosine : Chebyshev
    variance : (size, size) array
        Of its coefficients.
    change : (size,) array
        By how much dampings that differ change them at first order.
    misfit : float
        What it leaves of one piece and one bead, in standard deviations of these: median.
    """

    cosine: chebyshev.Chebyshev
    variance: np.ndarray
    change: np.ndarray
    misfit: float

    def beyond(self, z: Any, level: Any) -> tuple[np.ndarray, np.ndarray]:
        """By how much it exceeds a level of 1 or -1, and one standard deviation of that."""
        by = terms(z, len(self.change))
        sure = np.sqrt(np.maximum(np.einsum("ki,ij,kj->k", by, self.variance, by), 1e-300))
        return level * np.asarray(self.cosine(z)) - 1.0, sure


def terms(z: Any, size: int) -> np.ndarray:
    """Polynomials of degrees 1 to `size` that are 0 at z = 0."""
    at_rest = chebyshev.chebvander(-1.0, size)[0, 1:]
    return np.asarray(chebyshev.chebvander(2.0 * z - 1.0, size)[..., 1:] - at_rest)


def curve_of(
    x: np.ndarray, y: np.ndarray, scatter: np.ndarray, blocks: np.ndarray, size: int
) -> Curve:
    """The curve of cos q, by least squares.

    Of n masses and n springs cos q is a polynomial of degree n in z = omega^2, 1 at 0 (half the
    trace of the cell's transfer matrix; Brillouin 1946, Wave Propagation in Periodic Structures,
    ch. 3); damped alike, z = omega^2/(1 + i omega tau); of dampings that differ, to the first
    order, i omega times another such polynomial is added.

    Parameters
    ----------
    x, y, scatter : array (line,)
        Frequencies over the highest, cos q there, and its scatter.
    blocks : array (line,)
        Number of the block of neighbours that each is in.
    size : int
        Beads of a cell.
    """
    from scipy.optimize import minimize_scalar

    weight = 1.0 / np.maximum(scatter, max(1e-6, 0.1 * float(np.median(scatter))))

    def fitted(tau: float, differ: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        columns = terms(x * x / (1.0 + 1j * tau * x), size) * weight[:, None]
        if differ:
            columns = np.hstack([columns, 1j * x[:, None] * columns])
        columns = np.concatenate([columns.real, columns.imag])
        wanted = (y - 1.0) * weight
        wanted = np.concatenate([wanted.real, wanted.imag])
        numbers = np.linalg.lstsq(columns, wanted, rcond=None)[0]
        return numbers, wanted - columns @ numbers, columns

    def squares(angle: float) -> float:
        return float(np.sum(fitted(math.tan(angle), False)[1] ** 2))

    # resonances that ring longer than a piece leave lines far from the curve: weights of Cauchy
    # (Holland & Welsch 1977, doi:10.1080/03610927708827533, with their constant)
    scaled = weight
    for _ in range(ROUNDS):
        # by the loss angle at the highest frequency, which is below a right angle; a row of which
        # a part is seen has two minima, and the lower one is its own
        nearest = min(ANGLES, key=squares)
        bounds = max(nearest - ANGLES[1], 0.0), min(nearest + ANGLES[1], ANGLES[-1])
        tau = math.tan(float(minimize_scalar(squares, bounds=bounds, method="bounded").x))
        numbers, left, columns = fitted(tau, True)
        off = np.hypot(*left.reshape(2, -1)) * scaled / weight
        weight = scaled / np.sqrt(1.0 + (off / (2.385 * max(float(np.median(off)), 1e-300))) ** 2)
    alike = fitted(tau, False)[0]
    numbers, left, columns = fitted(tau, True)
    # neighbours err alike: lines are summed in blocks before they are squared (the variance of
    # clusters; Liang & Zeger 1986, doi:10.1093/biomet/73.1.13)
    count = int(blocks.max()) + 1
    score = np.zeros((count, len(numbers)))
    np.add.at(score, np.concatenate([blocks, blocks]), columns * left[:, None])
    inverse = np.linalg.pinv(columns.T @ columns)
    variance = inverse @ score.T @ score @ inverse * count / (count - 2 * size)
    at_rest = chebyshev.chebvander(-1.0, size)[0, 1:]
    cosine = chebyshev.Chebyshev(
        [1.0 - numbers[:size] @ at_rest, *numbers[:size]], domain=[0.0, 1.0]
    )
    change = alike[:size] - numbers[:size]
    return Curve(cosine, variance[:size, :size], change, float(np.median(off)))


def bands_of(frequency: np.ndarray, cosine: np.ndarray, scatter: np.ndarray, size: int) -> Bands:
    """Edges of the bands of a cell, from a fit to cos q at all frequencies, see `curve_of`: bands
    lie where it is from -1 to 1, gaps about its n - 1 extremes."""
    from scipy.stats import t as student

    edges, errors = np.full((2, size, 2), math.nan)
    reasons = np.full((size, 2), "", dtype=object)
    # deep in a gap little moves, and what leaks there from other lines bends cos q
    with np.errstate(invalid="ignore"):
        seen = np.flatnonzero(np.abs(cosine) < DEEP)
    blocks = np.unique(seen // ALIKE, return_inverse=True)[1]
    free = (blocks.max() + 1 if len(seen) else 0) - 2 * size
    if free < 1:
        reasons[:] = "waves at too few frequencies"
        return Bands(edges, errors, reasons, [TOO_FEW])
    line, top = float(frequency[1]), float(frequency[seen[-1]])
    x = frequency[seen] / top
    curve = curve_of(x, cosine[seen], scatter[seen], blocks, size)
    turns = np.sort(curve.cosine.deriv().roots().real) if size > 1 else np.zeros(0)
    levels = np.where(np.arange(size) % 2 == 0, -1.0, 1.0)
    above, sure = curve.beyond(turns, levels[:-1])
    inside = (turns > 0.0) & (turns < 1.0) & (above < -np.maximum(MOST_SCATTER * sure, INSIDE))
    # scatter is that of one piece and one bead: what a curve leaves of their mean is less, or the
    # curve is not theirs
    if curve.misfit > 1.0 or inside.any():
        reasons[:] = "too much damping"
        return Bands(edges, errors, reasons, [NO_CURVE])
    factor = float(student.ppf(0.975, free))
    messages = []
    edges[0, 0], errors[0, 0] = 0.0, float(frequency[seen[0]])
    for k in range(size):
        # band k runs from (-1)^k to -(-1)^k, and ends there
        level = float(levels[k])
        crossed = np.asarray((curve.cosine - level).roots(), dtype=complex)
        roots: np.ndarray = np.sort(crossed.real[np.abs(crossed.imag) < 1e-9])
        # cos q is 1 at 0, which is no edge
        roots = roots[roots > x[0] ** 2]
        if k == size - 1:
            pair = [(k, 1, roots[roots > (turns[-1] if len(turns) else 0.0)][:1])]
        else:
            # the gap about this extreme
            z = float(turns[k])
            edges_of_gap = roots[roots < z][-1:], roots[roots > z][:1]
            places = [np.linspace(z, one[0], IN_GAP)[:-1] for one in edges_of_gap if len(one)]
            high, known = curve.beyond(np.concatenate([[z], *places]), level)
            if not (high > MOST_SCATTER * known).any():
                reasons[k, 1] = reasons[k + 1, 0] = "gap not resolved"
                messages.append(
                    f"gap {k + 1}: not resolved, near {top * math.sqrt(max(z, 0.0)):.5g} Hz: "
                    f"abs(cos q) - 1 is {high[0]:.2g} +- {known[0]:.2g}. {FINER}"
                )
                continue
            pair = [(k, 1, edges_of_gap[0]), (k + 1, 0, edges_of_gap[1])]
        for band, end, root in pair:
            name = f"band {band + 1} {('begins', 'ends')[end]}"
            if not len(root) or not root[0] > 0.0:
                reasons[band, end] = "not seen"
                messages.append(
                    f"{name}: not seen, because cos q does not cross {level:g}. {FINER}"
                )
                continue
            z = float(root[0])
            by = terms(z, size)[0] / float(curve.cosine.deriv()(z))
            place = top * math.sqrt(z)
            by_scatter = math.sqrt(max(float(by @ curve.variance @ by), 0.0))
            off = factor * 0.5 * top / math.sqrt(z) * by_scatter
            # what differing dampings change at first order bounds what is left out at second order
            differs = 0.5 * top / math.sqrt(z) * float(by @ curve.change)
            error = math.hypot(off, differs, LINE_FRACTION * line)
            near = np.abs(frequency[seen] - place) < MOST_LINES * line
            if error > MOST_LINES * line or not near.any():
                reasons[band, end] = (
                    "error too large" if near.any() else "no coherent waves near it"
                )
                why = (
                    f"its error is {error:.2g} Hz, more than {MOST_LINES:g} lines"
                    if near.any()
                    else f"no waves were seen near it (the coherence from cell to cell is below "
                    f"{SINGLE_PHASE:g}): the drive has no power there, or the waves decay"
                )
                messages.append(
                    f"{name}: not reported, near {place:.5g} Hz, because {why}. {FINER}"
                )
                continue
            edges[band, end], errors[band, end] = place, error
    return Bands(edges, errors, reasons, messages)


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
