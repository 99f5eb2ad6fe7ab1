"""The numbers of a case that fit a measurement best: values, errors, and how they are shown."""

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
    """One sensor: what was measured, with its uncertainty, and what the fitted case gives.

    Attributes
    ----------
    bead : int
    peak, arrival : Agreement
        [N], with the calibration of the trace; [s], on its clock. Computed ones are read from
        samples as the measured ones are.
    residual : float
        Computed minus measured in standard deviations of the measurement; root mean square of the
        peak's and the arrival's, or of all samples, where those are fitted; nan where the sensor
        has nothing to compare.
    """

    bead: int
    peak: Agreement
    arrival: Agreement
    residual: float


class VarianceTerm(NamedTuple):
    """What one kind of measured numbers adds to the variances of the keys, by the degrees of
    freedom that its size is known with."""

    variance: np.ndarray
    degrees_of_freedom: float


@dataclass(frozen=True, eq=False)
class Fit:
    """The numbers of a case that fit a measurement best.

    Attributes
    ----------
    values, errors : dict of str to float
        By key, in SI; an error is one standard deviation, infinite where the measurement does not
        tell the key.
    covariance, correlation : array (n_free, n_free)
        In the order of the keys; infinite and nan where a key is not determined.
    residuals : array (n_sensors,)
        Computed minus measured, in standard deviations of the measurement.
    sensors : tuple of SensorFit
    scatter : float
        Root mean square of the residuals, over the degrees of freedom: about 1 where the case
        describes the measurement.
    degrees_of_freedom : float
        Numbers measured less numbers found; a calibration that is known beforehand is found in
        part.
    describes : bool
        Whether the scatter is such as the uncertainties of the trace leave in 99 of 100 fits of a
        right case.
    misfit : float
        Root mean square of the difference, as a part of the peak [1]: of samples, where those are
        fitted, else of the peaks; noise included.
    not_told_apart : tuple of tuple of str
        Groups of keys of which the measurement knows one combination alone; a key by itself has no
        effect on it.
    time_shift : float
        To be added to the computed time [s]; nan where no times are compared.
    common_gain : float
        The measured forces over the true ones by what all sensors share, as far as the fit finds
        them off [1]; 1 where the trace states no uncertainty of it.
    gain : array (n_sensors,)
        The same of each sensor, with what is its own [1].
    shift : array (n_sensors,)
        By how much each sensor's clock is late beside `time_shift` [s]; 0 where the trace states no
        uncertainty of it.
    samples : tuple of dict
        Over the first pulse of each sensor that read it whole, the `bead`, the `time` [s], and the
        forces `measured`, above the baseline found, and `computed`, as the sensor reads it [N].
    case : Case
        With the values found.
    start : dict of str to float
    measure : str
    trace : Trace
    variance_terms : tuple of VarianceTerm
        Of the variances.
    aic : float
        Akaike's criterion (1974, doi:10.1109/TAC.1974.1100705): -2 ln L at the noise that is most
        likely, and 2 for each number found. It compares laws fitted to the same numbers.
    messages : tuple of str
        What the reader should know.
    rank : int
        Among the laws that were fitted, from 1; laws that are not told apart from the first of them
        share its rank.
    others : tuple of Apart
        The other laws, with the difference of `aic` and its scatter.
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
        """The contact law."""
        return self.case.contact.law

    @property
    def cells(self) -> dict[str, str]:
        """Of a row of a table: the values with their errors, and what is left."""
        found = {
            key: f"{value:.5g} +- {self.errors[key]:.2g}" for key, value in self.values.items()
        }
        return found | {
            "AIC": f"{self.aic:.5g}",
            "misfit [%]": f"{100.0 * self.misfit:.3g}",
            "describes it": "yes" if self.describes else "no",
        }

    def interval(self, level: float = 0.9) -> dict[str, tuple[float, float]]:
        """Where the true values lie with this probability, by key.

        Quantiles of Student's distribution: the size of the scatter, of peaks and of arrivals, is
        estimated from the residuals. What the calibration adds is normal. The degrees of freedom of
        the sum are those of Welch and Satterthwaite (JCGM 100:2008, G.4.1,
        doi:10.59161/JCGM100-2008E).

        Parameters
        ----------
        level : float
            Above 0 and below 1.

        Raises
        ------
        CaseError
            For another level.
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
        """Degrees of freedom that the error of each key is known with, by key."""
        found = {}
        for i, key in enumerate(self.values):
            inverse = sum(
                one.variance[i] ** 2 / one.degrees_of_freedom for one in self.variance_terms
            )
            known = inverse > 0.0 and math.isfinite(self.errors[key])
            found[key] = self.errors[key] ** 4 / inverse if known else math.inf
        return found

    def _repr_html_(self) -> str:
        """What a notebook shows: the values found, and measured beside computed pulses."""
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
        """Plain numbers, words, lists and dicts; a number that is not finite is None."""
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
