"""Results of a comparison: measured values with uncertainties, and computed values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from granchain.markup import card, table
from granchain.plain_data import plain_data
from granchain.sensor import Sensor
from granchain.traces import Trace

UNITS_COMPARED = {
    "peak": "N",
    "arrival": "s",
    "width": "s",
    "impulse": "N s",
    "speed": "m/s",
    "residual": "1",
}
# Quantities with a relative tolerance. The tolerance of the arrival is a time, and that of the
# residual is already relative.
RELATIVE = ("peak", "width", "impulse", "speed")


class Agreement(NamedTuple):
    """One quantity: measured value, its standard uncertainty, and computed value.

    nan means that there is no value.
    """

    measured: float
    uncertainty: float
    computed: float

    @property
    def difference(self) -> float:
        """Computed minus measured."""
        return self.computed - self.measured

    @property
    def relative(self) -> float:
        """Difference relative to the measured value [1]."""
        return self.difference / self.measured if self.measured else math.nan


# Fraction of the members between the limits of a band.
IN_BAND = 0.95


class Band(NamedTuple):
    """Intervals that contain 95 % of the members of a band.

    `low` and `high` are the limits for the computed values. `low_measured` and `high_measured` are
    the limits for measurements of them with the uncertainty of this measurement. All have the unit
    of the quantity.
    """

    low: float
    high: float
    low_measured: float
    high_measured: float

    def holds(self, measured: float) -> bool | None:
        """Return whether a measured value is in the interval of measurements.

        Return None if there is no such value or interval.
        """
        if not math.isfinite(measured + self.low_measured + self.high_measured):
            return None
        return self.low_measured <= measured <= self.high_measured


class ForceBand(NamedTuple):
    """Limits of the force at one sensor, at the times of its pulse, arrays (n,) [N].

    `inside` is the fraction of measured samples in the interval of measurements [1].
    """

    low: np.ndarray
    high: np.ndarray
    inside: float


@dataclass(frozen=True, eq=False)
class SensorAgreement:
    """Comparison of the measured and the computed pulse of one sensor bead.

    Attributes
    ----------
    bead : int
    position : float
        Position of its centre [m]. The first body is at 0.
    peak, arrival, width, impulse, speed : Agreement
        Peak force [N], time of the peak on the clock of the measurement [s], width at half height
        [s], impulse of the pulse [N s], and speed from here to the next sensor [m/s].
    residual : Agreement
        Norm of computed minus measured force over the pulse, divided by the norm of the measured
        force [1]. `computed` is the result, `measured` is 0, and `uncertainty` is the residual that
        noise alone would cause.
    time, measured, computed : array (n,)
        Times on the clock of the measurement [s], and filtered forces over the pulse [N].
    noise : float
        Standard deviation of the filtered measured force [N].
    merged : tuple of str
        "measured" or "computed" or both, if a second, larger pulse has merged with the first
        (`analysis.has_merged`). No speed is then computed from it.
    peak_band, arrival_band : Band, optional
        Bands of peak and arrival, if there are tolerances.
    force_band : ForceBand, optional
        Band of the force, if there are tolerances.
    """

    bead: int
    position: float
    peak: Agreement
    arrival: Agreement
    width: Agreement
    impulse: Agreement
    speed: Agreement
    residual: Agreement
    time: np.ndarray = field(repr=False)
    measured: np.ndarray = field(repr=False)
    computed: np.ndarray = field(repr=False)
    noise: float
    merged: tuple[str, ...] = ()
    peak_band: Band | None = None
    arrival_band: Band | None = None
    force_band: ForceBand | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class ResultAgreement:
    """Comparison of one result with the trace.

    Attributes
    ----------
    label, law : str
    shift, shift_uncertainty : float
        Shift that is added to the computed time, and its standard uncertainty [s].
    sensors : tuple of SensorAgreement
    wave_speed : Agreement
        Wave speed from a least-squares line, with all sensors at which neither pulse has merged
        with another [m/s].
    missed : tuple of str
        One message for each specified tolerance that is exceeded.
    tolerance : dict of str to float or dict
        Tolerances of the parameters of its case, if there are bands.
    members : int
        Number of members of the bands.
    """

    label: str
    law: str
    shift: float
    shift_uncertainty: float
    sensors: tuple[SensorAgreement, ...]
    wave_speed: Agreement
    missed: tuple[str, ...]
    tolerance: Mapping[str, Any] = field(default_factory=dict)
    members: int = 0


@dataclass(frozen=True, eq=False)
class Comparison:
    """Comparison of a measured trace with one or more results.

    `as_dict` returns it in a form that can be written as JSON.

    Attributes
    ----------
    trace : Trace
        Measured trace.
    sensor : Sensor
        Filter that was applied to both the trace and the results.
    results : tuple of ResultAgreement
        Comparison with each result.
    nearest : dict of int to tuple of str
        For each bead, the label of the result with the smallest residual, followed by the labels
        that noise does not distinguish from it.
    messages : tuple of str
        Notes on the comparison.

    Examples
    --------
    >>> import granchain as gc
    >>> trace = gc.read_trace("data/synthetic2026")
    >>> case = gc.load_case("steel-chain").replace({"contact": {"law": "hertz"}})
    >>> case = case.replace({"chain.beads": 15, "sensors.beads": [9], "time.end": 2e-4})
    >>> comparison = gc.compare(gc.run(case), trace=trace)
    >>> [sensor.bead for sensor in comparison.results[0].sensors]
    [9]
    """

    trace: Trace
    sensor: Sensor
    results: tuple[ResultAgreement, ...]
    nearest: Mapping[int, tuple[str, ...]]
    messages: tuple[str, ...]

    @property
    def missed(self) -> tuple[str, ...]:
        """Messages for all specified tolerances that are exceeded."""
        return tuple(sentence for result in self.results for sentence in result.missed)

    def _repr_html_(self) -> str:
        """Return HTML tables for notebooks: peak and arrival at each sensor."""
        tables = []
        for name, factor, unit in (("peak", 1.0, "N"), ("arrival", 1e6, "us")):
            columns = [
                "bead",
                f"{name} [{unit}], measured",
                *(f"{one.label} [{unit}]" for one in self.results),
            ]
            rows = []
            for k, sensor in enumerate(self.results[0].sensors):
                side: Agreement = getattr(sensor, name)
                sides = [getattr(one.sensors[k], name).computed for one in self.results]
                measured = f"{factor * side.measured:.5g} +- {factor * side.uncertainty:.2g}"
                rows.append(
                    (str(sensor.bead), measured, *(f"{factor * value:.5g}" for value in sides))
                )
            tables.append(table(columns, rows, styled=True))
        heading = f"{self.trace.about.title}: {self.trace.words}"
        return card(heading, *tables, notes=(*self.messages, *self.missed))

    def as_dict(self) -> dict[str, Any]:
        """Return plain data. Nonfinite numbers become None."""

        def number(agreement: Agreement) -> dict[str, float]:
            return {
                **agreement._asdict(),
                "difference": agreement.difference,
                "relative": agreement.relative,
            }

        def band(limits: Band | None, measured: float) -> dict[str, float | bool | None] | None:
            return (
                None if limits is None else {**limits._asdict(), "within": limits.holds(measured)}
            )

        results = []
        for result in self.results:
            sensors = [
                {
                    "bead": sensor.bead,
                    "position": sensor.position,
                    "noise": sensor.noise,
                    **{
                        name: number(getattr(sensor, name))
                        for name in UNITS_COMPARED
                        if name != "residual"
                    },
                    "residual": sensor.residual.computed,
                    "residual_of_noise": sensor.residual.uncertainty,
                    "merged": list(sensor.merged),
                    "peak_band": band(sensor.peak_band, sensor.peak.measured),
                    "arrival_band": band(sensor.arrival_band, sensor.arrival.measured),
                    "force_inside": None if sensor.force_band is None else sensor.force_band.inside,
                    "force_band": sensor.force_band,
                    **{name: getattr(sensor, name) for name in ("time", "measured", "computed")},
                }
                for sensor in result.sensors
            ]
            bands = {
                "tolerance": dict(result.tolerance),
                "members": result.members,
                "part": IN_BAND,
            }
            results.append(
                {
                    "label": result.label,
                    "law": result.law,
                    "time_shift": result.shift,
                    "time_shift_uncertainty": result.shift_uncertainty,
                    "wave_speed": number(result.wave_speed),
                    "bands": bands if result.members else None,
                    "sensors": sensors,
                    "missed": list(result.missed),
                }
            )
        return dict(
            plain_data(
                {
                    "trace": self.trace.as_dict(),
                    "sensor": {
                        name: getattr(self.sensor, name)
                        for name in (
                            "cutoff",
                            "order",
                            "front_mass",
                            "high_pass",
                            "low_pass",
                            "filter_order",
                        )
                    },
                    "results": results,
                    "nearest": [
                        {"bead": bead, "labels": list(labels)}
                        for bead, labels in self.nearest.items()
                    ],
                    "messages": list(self.messages),
                }
            )
        )
