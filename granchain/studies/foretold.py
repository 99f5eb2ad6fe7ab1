"""What the quiet stretch before a pulse foretells of the pulse's samples: where the baseline is,
and how their noise hangs together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from granchain.analysis.baseline import LEAST_QUIET, step_of
from granchain.analysis.definition import PULSE_BEGINS
from granchain.analysis.noise import (
    NO_SUPPORT,
    Autoregression,
    Sine,
    autoregression,
    sines_of_common_source,
    statistical_inefficiency,
)
from granchain.comparison.sides import Measured

# Quiet samples that foretell those of a pulse, at most: those nearest to it. Ours: ten times as
# many as a pulse has.
MOST_QUIET = 400
# A quiet sample further off than so many standard deviations is a disturbance.
OUTLYING = 5.0
# A spectrum that few samples show is not known below this part of its mean: ours, -20 dB.
SEEN_RANGE = 0.01
# Of a variance a line takes this part at most: ours.
LINE_SHARE = 0.5
# Correlation times of noise in a quiet stretch from which it is known.
FEW_TIMES = 5.0
# The value of a baseline is unknown beforehand: so many times what the quiet samples leave open.
UNKNOWN = 1e3


class Foretold(NamedTuple):
    """Of the samples of a sensor's window, what its quiet stretch foretells.

    Attributes
    ----------
    line : array (sample,)
        Their mean without a pulse [N].
    root : array (sample, sample)
        Lower Cholesky factor of their covariance [N].
    degrees, slow_degrees : float
        Degrees of freedom that the size of the noise, and of its slow parts, is known with; 0:
        known.
    correlated : float
        Samples over which the noise is correlated.
    """

    line: np.ndarray
    root: np.ndarray
    degrees: float
    slow_degrees: float
    correlated: float


def foretold(
    measured: Measured, windows: Mapping[int, slice], messages: list[str]
) -> dict[int, Foretold]:
    """By sensor, what is foretold of the samples in its window.

    They have the noise of the quiet stretch, with its autocovariance and the sine that it may show,
    about a line that the quiet samples determine in part.

    Parameters
    ----------
    measured : Measured
    windows : mapping of int to slice
        By sensor.
    messages : list of str
        Gets a sentence for each quiet stretch that is too short.
    """
    found = {}
    quiets = {k: measured.force[: measured.readings[k].baseline.samples, k] for k in windows}
    firsts = {
        k: max(0, min(len(quiets[k]), window.start) - MOST_QUIET) for k, window in windows.items()
    }
    shown = _shown_noise(quiets)
    for k, window in windows.items():
        few, count, span = "", len(quiets[k]), window.stop - firsts[k]
        degrees = slow_degrees = 0.0
        correlated = 1.0
        row, wave = np.zeros((2, span))
        if k in shown:
            model, stretch, sine = shown[k]
            row, wave = model.autocovariance(stretch, span), sine.autocovariance(span)
            if measured.trace.about.uncertainty.noise is not None:
                # as large as is stated of a sample, behind the filter
                size = measured.noise[k] ** 2 / (row[0] + wave[0])
                row, wave = size * row, size * wave
            correlated = statistical_inefficiency(row[:count])
            degrees, slow_degrees = degrees_of(count, correlated, len(model.coefficients) - 1)
            if count < FEW_TIMES * correlated:
                few = (
                    f"its noise is correlated over {1e6 * correlated * measured.interval:.3g} "
                    f"us, and an estimate needs {FEW_TIMES:g} times that"
                )
            row = row * about_true_line(row, count)
            # two amplitudes and a frequency went with the sine
            row = row * (count / max(count - 3, 1) if sine.turn else 1.0)
        else:
            row[0] = measured.raw_noise[k] ** 2
            if count < LEAST_QUIET:
                few = f"an estimate of its noise needs at least {LEAST_QUIET} samples"
        if few:
            messages.append(
                f"bead {measured.beads[k]}: the pre-trigger baseline has {count} samples, "
                f"{1e6 * count * measured.interval:.3g} us, which is short because {few}. The "
                "intervals are wider for this reason, and may still be too narrow. Record more "
                "before the pulse"
            )
        least = PULSE_BEGINS**3 * float(np.abs(measured.force[window, k]).max())
        row[0] = max(row[0], least**2) + least**2 + SEEN_RANGE * row[0]
        row[0] += step_of(measured.trace.sensor_force[:, k]) ** 2 / 12.0
        places = np.r_[firsts[k] : min(count, window.start), window.start : window.stop]
        line, root = _about_line(measured, k, places, window, row + wave)
        found[k] = Foretold(line, root, degrees, slow_degrees, correlated)
    return found


def _shown_noise(quiets: Mapping[int, np.ndarray]) -> dict[int, tuple[Autoregression, int, Sine]]:
    """The noise of quiet stretches by sensor: which stretch of an autoregression, beside a sine;
    without those that are too short or without noise."""
    enough = [k for k in quiets if len(quiets[k]) >= LEAST_QUIET and quiets[k].any()]
    sines = dict(zip(enough, sines_of_common_source([quiets[k] for k in enough]), strict=True))
    rests = [sines[k].rest for k in enough]
    # a sine that is taken off leaves a gap about its frequency, which is no colour of the noise
    doubt = NO_SUPPORT if any(one.turn for one in sines.values()) else 0.0
    models = [(autoregression([rest], doubt), 0) for rest in rests]
    # sensors of one make share a spectrum, which more samples determine better
    if len(enough) > 1:
        alike = autoregression(rests, len(enough) * doubt)
        if alike.criterion < sum(one.criterion for one, _ in models):
            models = [(alike, i) for i in range(len(enough))]
    return {
        k: (model, stretch, sines[k]) for k, (model, stretch) in zip(enough, models, strict=True)
    }


def degrees_of(count: int, correlated: float, order: int) -> tuple[float, float]:
    """Degrees of freedom that so many quiet samples tell the size of noise with, and that of its
    slow parts.

    Of a spectrum by an autoregression the relative variance at no frequency is 4 order/count (Berk
    1974, doi:10.1214/aos/1176342709), that of a size by so many degrees 2/degrees; as if each
    sensor had its own: where all share one, that of their sum is the same.
    """
    return count / correlated, count / (correlated + 2.0 * order)


def about_true_line(row: np.ndarray, count: int) -> float:
    """By how much the variance of noise of this autocovariance is larger than so many samples show
    it about their own line: a mean has the variance of count/times samples, a slope another."""
    times = 2.0 * float(np.sum(row[:count] / row[0])) - 1.0
    return 1.0 / (1.0 - min(2.0 * max(times, 1.0) / count, LINE_SHARE))


def _about_line(
    measured: Measured, k: int, places: np.ndarray, window: slice, row: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The mean of the samples in a window, given the quiet ones before it, and the lower Cholesky
    factor of their covariance.

    Rasmussen & Williams 2006, Gaussian processes for machine learning, eq. 2.41 and 2.42. A slope
    is held near none by what it seems to be in the quiet stretch beyond its error there, and no
    less than half of that: what is slower than the stretch is a line.

    Parameters
    ----------
    measured : Measured
    k : int
        The sensor.
    places : array (sample,)
        The quiet samples, then those of the window.
    window : slice
    row : array
        Covariance of two samples, by how many samples they are apart [N^2].
    """
    from scipy.linalg import cholesky, solve_triangular, toeplitz

    force, baseline, first = measured.force[:, k], measured.readings[k].baseline, places[0]
    # disturbances are no noise
    calm = np.abs(force) <= OUTLYING * math.sqrt(row[0])
    places = places[calm[places] | (places >= window.start)]
    ahead = int(np.sum(places < window.start))
    quiet = force[places[:ahead]]
    covariance = toeplitz(row)[np.ix_(places - first, places - first)]
    away = places - baseline.middle
    if ahead < LEAST_QUIET:
        covariance += baseline.uncertainty(0.5 * (window.start + window.stop)) ** 2
    else:
        line = np.column_stack([np.ones(ahead), away[:ahead]])
        quiet_root = cholesky(covariance[:ahead, :ahead], lower=True)
        basis = solve_triangular(quiet_root, line, lower=True)
        seen = solve_triangular(quiet_root, quiet, lower=True)
        sure = np.linalg.inv(basis.T @ basis)
        slope = float((sure @ (basis.T @ seen))[1])
        held = max(slope**2 - sure[1, 1], 0.25 * sure[1, 1])
        covariance += UNKNOWN**2 * sure[0, 0] + held * np.outer(away, away)
        # the slowest part of the noise went with the quiet stretch's mean
        covariance[ahead:, ahead:] += baseline.value_error**2
    root = np.asarray(cholesky(covariance, lower=True))
    told = solve_triangular(root[:ahead, :ahead], quiet, lower=True)
    return root[ahead:, :ahead] @ told, root[ahead:, ahead:]
