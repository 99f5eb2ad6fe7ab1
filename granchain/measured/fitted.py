"""Result of a fit: values with their errors and intervals, and the pulses at the sensors."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from granchain.errors import CaseError
from granchain.keys import brief
from granchain.measured.about import AboutTable, about_in
from granchain.measured.agreement import Agreement
from granchain.store import Answer, Label
from granchain.studies.interruption import scipy_stats
from granchain.studies.plan import is_number

# Confidence levels of the intervals in the file.
LEVELS = (0.68, 0.9, 0.95)
# Further variables of each key: ending of the name, axes, and meaning.
OF_A_KEY = {
    "_error": ((), "standard error"),
    "_start": ((), "initial value"),
    "_low": (("level",), "lower end of the confidence interval"),
    "_high": (("level",), "upper end of the confidence interval"),
}
SAMPLE_VARIABLES = ("time", "measured", "computed")

_KEY, _SENSOR_DIMENSION, _SAMPLE = ("key",), ("sensor_bead",), ("sample",)


class SensorFit(NamedTuple):
    """Measurement at one sensor with its uncertainty, and the result of the fitted case.

    Attributes
    ----------
    bead : int
    peak, arrival : Agreement
        Peak [N], with the calibration of the trace, and arrival [s], on its clock. Computed values
        are read from samples in the same way as measured values.
    residual : float
        Computed minus measured value in standard deviations of the measurement. If several values
        are fitted, it is the root mean square of peak and arrival, or of all samples. nan if the
        sensor has no value to compare.
    """

    bead: int
    peak: Agreement
    arrival: Agreement
    residual: float


class Fit(Answer):
    """Best fit of case parameters to a measurement.

    `fit["striker.speed"]` is the value of a key. The variables with the endings `_error`, `_start`,
    `_low`, and `_high` are its standard error, its initial value, and the ends of its intervals
    (n_levels,). `case` is the case with the fitted values.

    Attributes
    ----------
    measure : str
        Quantity that was fitted.
    scatter : float
        Root mean square of the residuals, corrected for the degrees of freedom [1]. About 1 if the
        case describes the measurement.
    degrees_of_freedom : float
        Number of measured values minus number of fitted values. A calibration with a known
        uncertainty counts as a fraction.
    describes : bool
        Whether the scatter is within the range that the uncertainties of the trace cause in 99 of
        100 fits of a correct case.
    misfit : float
        Root mean square difference, as a fraction of the peak, including noise [1]: of samples if
        these are fitted, otherwise of the peaks.
    time_shift, time_shift_error : float
        Shift to add to the computed time, and its standard error [s]. nan if no times are compared.
    common_gain : float
        Measured force divided by true force, common to all sensors, as estimated by the fit [1]. 1
        if the trace does not specify an uncertainty of the common gain.
    aic : float
        Akaike information criterion (1974, doi:10.1109/TAC.1974.1100705) [1]: -2 ln L at the most
        likely noise, plus 2 for each fitted value. It compares laws that are fitted to the same
        data.
    key : (n_free,) array
        Fitted keys.
    interval_degrees : (n_free,) array
        Degrees of freedom of the error of each key.
    not_told_apart : (n_free,) array
        For each key, the keys that are not distinguishable from it, and itself, separated by
        commas: the measurement determines only one combination of them. A single key has no effect
        on the measurement. Empty for the other keys.
    correlation : (n_free, n_free) array
        Correlation of the errors. nan for keys that are not determined.
    level : (n_levels,) array
        Confidence levels of the intervals.
    residuals : (n_sensors,) array
        Computed minus measured values, in standard deviations of the measurement [1].
    gain : (n_sensors,) array
        Gain of each sensor, including the common gain [1].
    shift : (n_sensors,) array
        Delay of the clock of each sensor relative to `time_shift` [s]. 0 if the trace does not
        specify an uncertainty of the clock.
    sample_bead, sample_time, sample_measured, sample_computed : (n_samples,) array
        Samples of the complete first pulses of all sensors: the bead, the time [s], and the forces,
        measured (above the fitted baseline) and computed (as read by the sensor) [N].

    Examples
    --------
    >>> import granchain as gc
    >>> from granchain.measured.about import AboutTable
    >>> case = gc.load_case("steel-chain").replace({"contact": {"law": "hertz"}})
    >>> case = case.replace({"chain.beads": 8, "sensors.beads": [3, 6], "time.end": 2e-4})
    >>> run = gc.run(case)
    >>> about = AboutTable(title="A computed trace", kind="synthetic")
    >>> trace = gc.Trace(
    ...     time=run.time, force=run.sensor_force, beads=run.sensor_bead, about=about
    ... )
    >>> fit = gc.fit(case.replace({"striker.speed": 1.7}), trace, ["striker.speed"])
    >>> round(fit.degrees_of_freedom, 6), round(fit["striker.speed"], 2)
    (1.0, 1.77)
    """

    labels: ClassVar = {
        "measure": Label((), "", "quantity that was fitted"),
        "scatter": Label((), "1", "root mean square of the residuals per degree of freedom"),
        "degrees_of_freedom": Label((), "1", "measured minus fitted values"),
        "describes": Label((), "1", "whether the case describes the measurement"),
        "misfit": Label((), "1", "root mean square difference, as a fraction of the peak"),
        "time_shift": Label((), "s", "shift to add to the computed time"),
        "time_shift_error": Label((), "s", "standard error of the time shift"),
        "common_gain": Label((), "1", "measured force divided by true force, for all sensors"),
        "aic": Label((), "1", "Akaike information criterion"),
        "key": Label(_KEY, "", "fitted key of the case"),
        "interval_degrees": Label(_KEY, "1", "degrees of freedom of the error of the key"),
        "not_told_apart": Label(_KEY, "", "keys that are not distinguishable from it, and itself"),
        "other_key": Label(("other_key",), "", "fitted key of the case"),
        "correlation": Label(("key", "other_key"), "1", "correlation of the errors of two keys"),
        "level": Label(("level",), "1", "confidence level of the intervals"),
        "sensor_bead": Label(_SENSOR_DIMENSION, "1", "label of the sensor bead"),
        "peak_measured": Label(_SENSOR_DIMENSION, "N", "measured peak force of the first pulse"),
        "peak_error": Label(_SENSOR_DIMENSION, "N", "standard uncertainty of the measured peak"),
        "peak_computed": Label(
            _SENSOR_DIMENSION, "N", "fitted peak, with the calibration of the trace"
        ),
        "arrival_measured": Label(_SENSOR_DIMENSION, "s", "measured arrival"),
        "arrival_error": Label(
            _SENSOR_DIMENSION, "s", "standard uncertainty of the measured arrival"
        ),
        "arrival_computed": Label(
            _SENSOR_DIMENSION, "s", "fitted arrival, on the clock of the trace"
        ),
        "residuals": Label(
            _SENSOR_DIMENSION, "1", "computed minus measured value, in standard deviations"
        ),
        "gain": Label(_SENSOR_DIMENSION, "1", "measured force divided by true force"),
        "shift": Label(
            _SENSOR_DIMENSION, "s", "delay of the clock of the sensor, without the time shift"
        ),
        "sample": Label(_SAMPLE, "1", "number of a sample of the first pulses"),
        "sample_bead": Label(_SAMPLE, "1", "label of the sensor bead of the sample"),
        "sample_time": Label(_SAMPLE, "s", "time of the sample, on the clock of the trace"),
        "sample_measured": Label(_SAMPLE, "N", "measured force above the fitted baseline"),
        "sample_computed": Label(_SAMPLE, "N", "computed force, as the sensor reads it"),
    }

    def _by_key(self, ending: str = "") -> dict[str, float]:
        """Return the variable KEY + `ending` of each fitted key, by key."""
        return {key: self[f"{key}{ending}"] for key in self.key.tolist()}

    @property
    def values(self) -> dict[str, float]:
        """Value of each key, in SI units."""
        return self._by_key()

    @property
    def errors(self) -> dict[str, float]:
        """Standard error of each key; infinite if the measurement does not determine it."""
        return self._by_key("_error")

    @property
    def start(self) -> dict[str, float]:
        """Initial value of each key."""
        return self._by_key("_start")

    @property
    def conclusion(self) -> str:
        """Answer in one sentence: whether the law describes the measurement, and its values."""
        verb = "describes" if self.degrees_of_freedom else "reproduces"
        verb = verb if self.describes else "does not describe"
        values = (
            f"{key.rpartition('.')[2].replace('_', ' ')} "
            + with_error(value, self.errors[key], self.variables[key].unit)
            for key, value in self.values.items()
        )
        return f"{self.law.partition(', ')[0]} {verb} the measurement: {', '.join(values)}."

    @property
    def covariance(self) -> np.ndarray:
        """Covariance in the order of the keys; infinite or nan if a key is not determined."""
        errors = np.array(list(self.errors.values()))
        return np.asarray(self.correlation * np.outer(errors, errors))

    @property
    def sensors(self) -> tuple[SensorFit, ...]:
        """Measured and computed values at each sensor."""
        peaks, arrivals = (
            map(Agreement, *(self[f"{name}_{column}"].tolist() for column in Agreement._fields))
            for name in ("peak", "arrival")
        )
        beads, residuals = self.sensor_bead.tolist(), self.residuals.tolist()
        return tuple(map(SensorFit, beads, peaks, arrivals, residuals))

    @property
    def samples(self) -> tuple[dict[str, Any], ...]:
        """Bead, times, and measured and computed forces of each complete first pulse."""
        return tuple(
            {
                "bead": bead,
                **{
                    name: self[f"sample_{name}"][self.sample_bead == bead]
                    for name in SAMPLE_VARIABLES
                },
            }
            for bead in dict.fromkeys(self.sample_bead.tolist())
        )

    @property
    def about(self) -> AboutTable:
        """Description and source of the measured trace."""
        return about_in(self.provenance)

    def interval(self, level: float = 0.9) -> dict[str, tuple[float, float]]:
        """Return the confidence interval of each key at a given level.

        The intervals use Student's distribution, because the scatter of peaks and of arrivals is
        estimated from the residuals. The contribution of the calibration is normal. The degrees of
        freedom of the sum follow Welch and Satterthwaite (JCGM 100:2008, G.4.1,
        doi:10.59161/JCGM100-2008E).

        Parameters
        ----------
        level : float
            Confidence level, above 0 and below 1.

        Raises
        ------
        CaseError
            If the level is out of range.
        """
        if not (is_number(level) and 0.0 < level < 1.0):
            raise CaseError(
                f"level: {brief(level)} is out of range. It must be a number above 0 and below "
                "1. Give 0.9 for 90 %."
            )
        errors, degrees = self.errors, self.interval_degrees.tolist()
        halves = map(half_width, errors.values(), degrees, [level] * len(errors))
        return {
            key: (value - half, value + half)
            for (key, value), half in zip(self.values.items(), halves, strict=True)
        }


def with_error(value: float, error: float, unit: str) -> str:
    """Return a value with its error, both rounded to the first digit of the error, and the unit."""
    unit = "" if unit == "1" else f" {unit}"
    if not (0.0 < error < math.inf and math.isfinite(value)):
        return f"{value:.6g}{unit}" + (" (not determined)" if error else "")
    exponent = int(f"{error:.0e}".partition("e")[2])
    digits = max(math.floor(math.log10(max(abs(value), error))) - exponent, 0) + 1
    text = f"{value:#.{digits}g}".replace(".e", "e").rstrip(".")
    return f"{text} +- {error:.1g}{unit}"


def half_width(error: float, degrees: float, level: float) -> float:
    """Return half the width of a confidence interval, by Student's distribution."""
    if not math.isfinite(error):
        return math.inf
    return float(scipy_stats().t.ppf(0.5 + 0.5 * level, degrees)) * error


def data_of_keys(
    values: dict[str, float],
    errors: np.ndarray,
    start: dict[str, float],
    variances: np.ndarray,
    freedom: np.ndarray,
) -> dict[str, Any]:
    """Return the variables of the keys of a fit.

    Parameters
    ----------
    values, start : dict of str to float
        Fitted and initial values by key.
    errors : array (key,)
        Standard errors.
    variances : array (kind, key)
        Contribution of each kind of measured number to the variances.
    freedom : array (kind,)
        Degrees of freedom of the scale of each kind.
    """
    with np.errstate(all="ignore"):
        inverse = np.sum(variances**2 / freedom[:, None], axis=0)
        degrees = np.where((inverse > 0.0) & np.isfinite(errors), errors**4 / inverse, math.inf)
    data: dict[str, Any] = {
        "key": list(values),
        "other_key": list(values),
        "interval_degrees": degrees,
        "level": LEVELS,
    }
    for (key, value), error, freedom_of_key in zip(
        values.items(), errors.tolist(), degrees.tolist(), strict=True
    ):
        halves = np.array([half_width(error, freedom_of_key, level) for level in LEVELS])
        data |= {key: value, f"{key}_error": error, f"{key}_start": start[key]}
        data |= {f"{key}_low": value - halves, f"{key}_high": value + halves}
    return data
