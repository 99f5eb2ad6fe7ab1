"""Result of a fit: values, errors, and their display."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from granchain.case import Case
from granchain.case.listing import quantity_of
from granchain.comparison.agreement import Agreement
from granchain.errors import CaseError
from granchain.keys import shown
from granchain.markup import facts_card, table
from granchain.plain_data import plain_data
from granchain.studies.interruption import scipy_stats
from granchain.studies.plan import is_number
from granchain.studies.ranking import Apart
from granchain.traces import Trace


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


class VarianceTerm(NamedTuple):
    """Contribution of one kind of measured number to the variances of the keys, and the degrees of
    freedom of its scale."""

    variance: np.ndarray
    degrees_of_freedom: float


@dataclass(frozen=True, eq=False)
class Fit:
    """Best fit of case parameters to a measurement.

    Attributes
    ----------
    values, errors : dict of str to float
        Values and standard errors by key, in SI units. An error is infinite if the measurement does
        not determine the key.
    covariance, correlation : (n_free, n_free) array
        Covariance and correlation in the order of the keys. Infinite and nan for keys that are not
        determined.
    residuals : (n_sensors,) array
        Computed minus measured values, in standard deviations of the measurement [1].
    sensors : tuple of SensorFit
        Measured and computed values at each sensor.
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
    not_told_apart : tuple of tuple of str
        Groups of keys that are not distinguishable because the measurement determines only one
        combination of them. A group of one key has no effect on the measurement.
    time_shift : float
        Shift to add to the computed time [s]. nan if no times are compared.
    common_gain : float
        Measured force divided by true force, common to all sensors, as estimated by the fit [1]. 1
        if the trace does not specify an uncertainty of it.
    gain : (n_sensors,) array
        Gain of each sensor, including the common gain [1].
    shift : (n_sensors,) array
        Delay of the clock of each sensor relative to `time_shift` [s]. 0 if the trace does not
        specify an uncertainty of it.
    samples : tuple of dict
        For each sensor with a complete first pulse: the `bead`, the `time` [s], and the forces
        `measured` (above the fitted baseline) and `computed` (as read by the sensor) [N].
    case : Case
        Case with the fitted values.
    start : dict of str to float
        Initial values by key.
    measure : str
        Quantity that was fitted.
    trace : Trace
        Measured trace.
    variance_terms : tuple of VarianceTerm
        Contributions to the variances.
    aic : float
        Akaike information criterion (1974, doi:10.1109/TAC.1974.1100705) [1]: -2 ln L at the most
        likely noise, plus 2 for each fitted value. It compares laws that are fitted to the same
        data.
    messages : tuple of str
        Notes on the fit.
    rank : int
        Rank among the fitted laws, from 1. Laws that are not distinguishable from the first law
        share its rank.
    others : tuple of Apart
        Differences of `aic` to the other laws, with their scatter.

    Examples
    --------
    >>> import granchain as gc
    >>> from granchain.traces.about import AboutTable
    >>> case = gc.load_case("steel-chain").replace({"contact": {"law": "hertz"}})
    >>> case = case.replace({"chain.beads": 8, "sensors.beads": [3, 6], "time.end": 2e-4})
    >>> run = gc.run(case)
    >>> about = AboutTable(title="A computed trace", kind="synthetic")
    >>> trace = gc.Trace(run.time, run.sensor_bead, run.sensor_force, about)
    >>> fit = gc.fit(case.replace({"striker.speed": 1.7}), trace, ["striker.speed"])
    >>> round(fit.degrees_of_freedom, 6)
    1.0
    """

    values: dict[str, float]
    errors: dict[str, float]
    covariance: np.ndarray = field(repr=False)
    correlation: np.ndarray = field(repr=False)
    residuals: np.ndarray = field(repr=False)
    sensors: tuple[SensorFit, ...] = field(repr=False)
    scatter: float
    degrees_of_freedom: float
    describes: bool
    misfit: float
    not_told_apart: tuple[tuple[str, ...], ...]
    time_shift: float
    common_gain: float
    gain: np.ndarray = field(repr=False)
    shift: np.ndarray = field(repr=False)
    samples: tuple[dict[str, Any], ...] = field(repr=False)
    case: Case = field(repr=False)
    start: dict[str, float] = field(repr=False)
    measure: str
    trace: Trace = field(repr=False)
    variance_terms: tuple[VarianceTerm, ...] = field(repr=False)
    aic: float
    messages: tuple[str, ...] = ()
    rank: int = 1
    others: tuple[Apart, ...] = ()

    @property
    def law(self) -> str:
        """Name of the contact law."""
        return self.case.contact.law

    @property
    def cells(self) -> dict[str, str]:
        """Cells of a table row: values with their errors, and the misfit."""
        found = {
            key: f"{value:.5g} +- {self.errors[key]:.2g}" for key, value in self.values.items()
        }
        return found | {
            "AIC": f"{self.aic:.5g}",
            "misfit [%]": f"{100.0 * self.misfit:.3g}",
            "describes it": "yes" if self.describes else "no",
        }

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
                f"level: {shown(level)} is out of range. It must be a number above 0 and below "
                "1. Give 0.9 for 90 %."
            )
        found, degrees = {}, self.interval_degrees
        for key, value in self.values.items():
            error, half = self.errors[key], math.inf
            if math.isfinite(error):
                half = float(scipy_stats().t.ppf(0.5 + 0.5 * level, degrees[key])) * error
            found[key] = (value - half, value + half)
        return found

    @property
    def interval_degrees(self) -> dict[str, float]:
        """Degrees of freedom of the error of each key."""
        found = {}
        for i, key in enumerate(self.values):
            inverse = sum(
                one.variance[i] ** 2 / one.degrees_of_freedom for one in self.variance_terms
            )
            known = inverse > 0.0 and math.isfinite(self.errors[key])
            found[key] = self.errors[key] ** 4 / inverse if known else math.inf
        return found

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook: the values, and measured and fitted pulses."""
        likely, degrees = self.interval(0.68), self.interval_degrees
        facts = []
        for key, value in self.values.items():
            low, high = (f"{end:.5g}" for end in likely[key])
            few, unit = math.isfinite(degrees[key]), quantity_of(self.case, key).unit
            known = f", {degrees[key]:.2g} degrees of freedom" if few else ""
            facts += [
                (key, f"{value:.6g} +- {self.errors[key]:.2g}", unit),
                ("68 % interval", f"{low} to {high}{known}", unit),
            ]
        facts += [
            ("scatter", f"{self.scatter:.3g}", "standard deviations"),
            ("misfit", f"{100.0 * self.misfit:.3g}", "% of the peak"),
        ]
        rows = [
            (
                str(one.bead),
                *(
                    f"{factor * number:.5g}"
                    for side, factor in ((one.peak, 1.0), (one.arrival, 1e6))
                    for number in (side.measured, side.computed)
                ),
                f"{one.residual:+.3g}",
            )
            for one in self.sensors
        ]
        heads = (
            "bead", "peak [N], measured", "fitted", "arrival [us], measured", "fitted", "residual"
        )  # fmt: skip
        beads = table(heads, rows, styled=True)
        title = f"Fit to {self.measure}: {self.trace.about.title}"
        return facts_card(title, facts, beads, notes=self.messages)

    def as_dict(self) -> dict[str, Any]:
        """Return the attributes as plain data; nan and infinity become None."""
        names = (
            "measure", "values", "start", "errors", "covariance", "correlation", "not_told_apart",
            "scatter", "degrees_of_freedom", "describes", "misfit", "time_shift", "common_gain",
            "gain", "shift", "interval_degrees", "samples", "sensors", "messages", "law", "aic",
            "rank", "others",
        )  # fmt: skip
        more = {
            "keys": list(self.values),
            "intervals": {f"{level:g}": self.interval(level) for level in (0.68, 0.9, 0.95)},
            "trace": self.trace.as_dict(),
        }
        return dict(plain_data({name: getattr(self, name) for name in names} | more))
