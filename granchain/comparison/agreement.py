"""What a comparison finds: each number measured, with its uncertainty, and computed."""

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
# Those whose tolerance is a part of the measured value; the arrival's is a time, the residual is a
# part already.
RELATIVE = ("peak", "width", "impulse", "speed")


class Agreement(NamedTuple):
    """One number, measured with its uncertainty (one standard deviation) and computed; nan
    where there is none."""

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


# Part of the members between the ends of a band.
IN_BAND = 0.95


class Band(NamedTuple):
    """The interval in which 95 % of the members of a band lie, and the one in which 95 % of
    measurements of them would, as uncertain as
    this one; in the unit of the number."""

    low: float
    high: float
    low_measured: float
    high_measured: float

    def holds(self, measured: float) -> bool | None:
        """Whether a measured number lies in the interval of measurements; None where there is
        none."""
        if not math.isfinite(measured + self.low_measured + self.high_measured):
            return None
        return self.low_measured <= measured <= self.high_measured


class ForceBand(NamedTuple):
    """The same of the force at one sensor, at the times of its pulse (n,) [N], and the part of its
    samples in the interval of
    measurements [1]."""

    low: np.ndarray
    high: np.ndarray
    inside: float


@dataclass(frozen=True, eq=False)
class SensorAgreement:
    """One sensor bead, measured against computed.

    Attributes
    ----------
    bead : int
    position : float
        Of its centre, the first body's at 0 [m].
    peak, arrival, width, impulse, speed : Agreement
        Peak force [N], time of the peak on the clock of the measurement [s], width at half height
        [s], impulse of the pulse [N s], speed from here to the next sensor [m/s].
    residual : Agreement
        Norm of computed minus measured force over the pulse, relative to the norm of the measured
        force: `computed` is what was found, `measured` is 0, `uncertainty` what noise alone would
        make [1].
    time, measured, computed : array (n,)
        The forces over the pulse, filtered, on the clock of the measurement [s], [N].
    noise : float
        Standard deviation of the filtered measured force [N].
    merged : tuple of str
        Of "measured" and "computed", where a second, larger pulse has merged with the first
        (`analysis.has_merged`): no speed is from it.
    peak_band, arrival_band : Band, optional
        Where there are tolerances: what they make of peak and arrival.
    force_band : ForceBand, optional
        And of the force.
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
    """One result against the trace.

    Attributes
    ----------
    label, law : str
    shift, shift_uncertainty : float
        To be added to the computed time [s].
    sensors : tuple of SensorAgreement
    wave_speed : Agreement
        By least squares, from all sensors at which neither pulse has merged with another [m/s].
    missed : tuple of str
        A sentence for each stated tolerance that was missed.
    tolerance : dict of str to float or dict
        Of the keys of its case, where there are bands.
    members : int
        Of the bands.
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
        """All stated tolerances that were missed."""
        return tuple(sentence for result in self.results for sentence in result.missed)

    def _repr_html_(self) -> str:
        """What a notebook shows: peak and arrival at each sensor, measured and computed."""
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
        """Plain numbers, words, lists and dicts; a number that is not finite is None."""

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
