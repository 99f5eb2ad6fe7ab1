"""Prediction of the samples of a pulse from the pre-trigger baseline: the offset, and the
correlation of the noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from granchain.analysis.pulse import PULSE_BEGINS
from granchain.measured.baseline import LEAST_QUIET, digitizer_step
from granchain.measured.noise import (
    NO_SUPPORT,
    Autoregression,
    Sine,
    autoregression,
    sines_of_common_source,
    statistical_inefficiency,
)
from granchain.measured.sides import Measured

# Maximum number of baseline samples that are used, the nearest to the pulse. Our choice: ten times
# the number of samples of a pulse.
MOST_QUIET = 400
# Number of standard deviations beyond which a baseline sample is a disturbance.
OUTLYING = 5.0
# Smallest level that a spectrum of few samples can show, relative to its mean. Our choice: -20 dB.
SEEN_RANGE = 0.01
# Largest fraction of a variance that a fitted line removes. Our choice.
LINE_SHARE = 0.5
# Smallest number of correlation times in a baseline that determines the noise.
FEW_TIMES = 5.0
# Prior deviation of the baseline's value, relative to its error from the baseline samples.
UNKNOWN = 1e3


class Prediction(NamedTuple):
    """Prediction of the samples of a sensor's window from its pre-trigger baseline.

    Attributes
    ----------
    line : array (sample,)
        Mean of the samples without a pulse [N].
    root : array (sample, sample)
        Lower Cholesky factor of the covariance [N].
    degrees, slow_degrees : float
        Degrees of freedom of the estimates of the noise, and of its slow parts; 0 if the noise is
        known.
    correlated : float
        Correlation length of the noise, in samples.
    """

    line: np.ndarray
    root: np.ndarray
    degrees: float
    slow_degrees: float
    correlated: float


def predict_windows(
    measured: Measured, windows: Mapping[int, slice], messages: list[str]
) -> dict[int, Prediction]:
    """Predict the samples in the window of each sensor.

    The samples have the noise of the baseline, with its autocovariance and its sine, if any. They
    scatter about a line that the baseline samples determine partly.

    Parameters
    ----------
    measured : Measured
    windows : mapping of int to slice
        Window of each sensor.
    messages : list of str
        Receives a message for each baseline that is too short.
    """
    predictions = {}
    quiets = {k: measured.force[: measured.readings[k].baseline.samples, k] for k in windows}
    firsts = {
        k: max(0, min(len(quiets[k]), window.start) - MOST_QUIET) for k, window in windows.items()
    }
    noise_models = _baseline_noise(quiets)
    for k, window in windows.items():
        few, count, span = "", len(quiets[k]), window.stop - firsts[k]
        degrees = slow_degrees = 0.0
        correlated = 1.0
        row, wave = np.zeros((2, span))
        if k in noise_models:
            model, stretch, sine = noise_models[k]
            row, wave = model.autocovariance(stretch, span), sine.autocovariance(span)
            if measured.trace.about.uncertainty.noise is not None:
                # scale to the specified noise of a sample after the filter
                size = measured.noise[k] ** 2 / (row[0] + wave[0])
                row, wave = size * row, size * wave
            correlated = statistical_inefficiency(row[:count])
            degrees, slow_degrees = noise_degrees_of_freedom(
                count, correlated, len(model.coefficients) - 1
            )
            if count < FEW_TIMES * correlated:
                few = (
                    f"its noise is correlated over {1e6 * correlated * measured.interval:.3g} "
                    f"us, and an estimate needs {FEW_TIMES:g} times that"
                )
            row = row * variance_about_true_line(row, count)
            # the fitted sine has removed two amplitudes and a frequency
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
        row[0] += digitizer_step(measured.trace.sensor_force[:, k]) ** 2 / 12.0
        indices = np.r_[firsts[k] : min(count, window.start), window.start : window.stop]
        line, root = _about_line(measured, k, indices, window, row + wave)
        predictions[k] = Prediction(line, root, degrees, slow_degrees, correlated)
    return predictions


def _baseline_noise(
    quiets: Mapping[int, np.ndarray],
) -> dict[int, tuple[Autoregression, int, Sine]]:
    """Return the noise of each baseline: an autoregression, its stretch, and a sine.

    Baselines that are too short or free of noise are omitted.
    """
    enough = [k for k in quiets if len(quiets[k]) >= LEAST_QUIET and quiets[k].any()]
    sines = dict(zip(enough, sines_of_common_source([quiets[k] for k in enough]), strict=True))
    residuals = [sines[k].residual for k in enough]
    # removing a sine leaves a gap at its frequency, which is not part of the noise's spectrum
    doubt = NO_SUPPORT if any(sine.turn for sine in sines.values()) else 0.0
    models = [(autoregression([residual], doubt), 0) for residual in residuals]
    # sensors of one model share a spectrum, which more samples determine better
    if len(enough) > 1:
        alike = autoregression(residuals, len(enough) * doubt)
        if alike.criterion < sum(model.criterion for model, _ in models):
            models = [(alike, i) for i in range(len(enough))]
    return {
        k: (model, stretch, sines[k]) for k, (model, stretch) in zip(enough, models, strict=True)
    }


def noise_degrees_of_freedom(count: int, correlated: float, order: int) -> tuple[float, float]:
    """Return the degrees of freedom of the noise estimate, and of its slow parts.

    For a spectrum from an autoregression, the relative variance at zero frequency is 4 order/count
    (Berk 1974, doi:10.1214/aos/1176342709). For an estimate with some degrees of freedom, it is
    2/degrees. Each sensor is treated as if it had an individual spectrum. If all sensors share one,
    the degrees of their sum are the same.
    """
    return count / correlated, count / (correlated + 2.0 * order)


def variance_about_true_line(row: np.ndarray, count: int) -> float:
    """Return the ratio of the variance of noise to the variance about its fitted line.

    The mean of the samples has the variance of count/times independent samples, and the slope has
    another variance.
    """
    times = 2.0 * float(np.sum(row[:count] / row[0])) - 1.0
    return 1.0 / (1.0 - min(2.0 * max(times, 1.0) / count, LINE_SHARE))


def _about_line(
    measured: Measured, k: int, indices: np.ndarray, window: slice, row: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of the samples in a window, given the baseline samples before it, and the
    lower Cholesky factor of their covariance.

    Rasmussen & Williams 2006, Gaussian processes for machine learning, eq. 2.41 and 2.42. The prior
    of the slope has mean 0. Its variance is the squared slope of the baseline beyond its error, and
    at least a quarter of the error's square: over the baseline, slower noise looks like a line.

    Parameters
    ----------
    measured : Measured
    k : int
        Index of the sensor.
    indices : array (sample,)
        Indices of the baseline samples, then those of the window.
    window : slice
    row : array
        Covariance of two samples versus their distance in samples [N^2].
    """
    from scipy.linalg import cholesky, solve_triangular, toeplitz

    force, baseline, first = measured.force[:, k], measured.readings[k].baseline, indices[0]
    # disturbances are not noise
    calm = np.abs(force) <= OUTLYING * math.sqrt(row[0])
    indices = indices[calm[indices] | (indices >= window.start)]
    ahead = int(np.sum(indices < window.start))
    quiet = force[indices[:ahead]]
    covariance = toeplitz(row)[np.ix_(indices - first, indices - first)]
    distances = indices - baseline.middle
    if ahead < LEAST_QUIET:
        covariance += baseline.uncertainty(0.5 * (window.start + window.stop)) ** 2
    else:
        line = np.column_stack([np.ones(ahead), distances[:ahead]])
        quiet_root = cholesky(covariance[:ahead, :ahead], lower=True)
        basis = solve_triangular(quiet_root, line, lower=True)
        baseline_basis = solve_triangular(quiet_root, quiet, lower=True)
        line_covariance = np.linalg.inv(basis.T @ basis)
        slope = float((line_covariance @ (basis.T @ baseline_basis))[1])
        slope_variance = max(slope**2 - line_covariance[1, 1], 0.25 * line_covariance[1, 1])
        covariance += UNKNOWN**2 * line_covariance[0, 0] + slope_variance * np.outer(
            distances, distances
        )
        # the baseline's mean has removed the slowest part of the noise
        covariance[ahead:, ahead:] += baseline.value_error**2
    root = np.asarray(cholesky(covariance, lower=True))
    whitened = solve_triangular(root[:ahead, :ahead], quiet, lower=True)
    return root[ahead:, :ahead] @ whitened, root[ahead:, ahead:]
