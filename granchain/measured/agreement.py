"""Results of a comparison: measured values with uncertainties, and computed values."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from granchain.case import case_as_given
from granchain.measured.about import AboutTable, about_entry, about_in
from granchain.measured.sensor import Sensor
from granchain.measured.trace import Trace
from granchain.plain_data import canonical
from granchain.store import Answer, Label, Result
from granchain.store.answer import case_of

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
    error: float
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
    the limits for measured values with the uncertainty of this measurement. All have the unit of
    the quantity.
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
        Peak force [N], arrival on the clock of the measurement [s], width at half height
        [s], impulse of the pulse [N s], and speed from here to the next sensor [m/s].
    residual : Agreement
        Norm of computed minus measured force over the pulse, divided by the norm of the measured
        force [1]. `computed` is the result, `measured` is 0, and `error` is the residual that
        noise alone would cause.
    time, measured, computed : array (n,)
        Times on the clock of the measurement [s], and filtered forces over the pulse [N].
    noise : float
        Standard deviation of the filtered measured force [N].
    merged : tuple of str
        "measured" or "computed" or both, if a second, larger pulse has merged with the first
        (`analysis.FirstPulse`). No speed is then computed from it.
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
    time_shift, time_shift_error : float
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
    time_shift: float
    time_shift_error: float
    sensors: tuple[SensorAgreement, ...]
    wave_speed: Agreement
    missed: tuple[str, ...] = ()
    tolerance: Mapping[str, Any] = field(default_factory=dict)
    members: int = 0


# Dimensions of the variables of results, of sensors, and of the samples of pulses.
_RESULTS, _SENSORS = ("result",), ("sensor_bead",)
_BOTH, _PULSE_LABELS = (*_SENSORS, *_RESULTS), (*_SENSORS, "sample")
# Compared quantities with their meanings. The speed of a sensor requires that no pulse has merged,
# measured or computed, so each result has its own measured speeds.
_MEANINGS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "peak": ("peak force of the pulse", _SENSORS, _SENSORS),
    "arrival": ("arrival of the pulse on the clock of the measurement", _SENSORS, _BOTH),
    "width": ("width of the pulse at half height", _SENSORS, _SENSORS),
    "impulse": ("impulse of the pulse", _SENSORS, _SENSORS),
    "speed": ("speed from the sensor to the next one", _BOTH, _BOTH),
    "wave_speed": ("wave speed from a line through all arrivals", _RESULTS, _RESULTS),
}
# Quantities with uncertainty bands.
_BANDED = ("peak", "arrival")


def _quantity_labels() -> dict[str, Label]:
    """Return the labels of the compared quantities, and of their bands and tolerances."""
    labels: dict[str, Label] = {}
    for name, (meaning, measured, uncertain) in _MEANINGS.items():
        unit = UNITS_COMPARED.get(name, "m/s")
        computed = _RESULTS if name == "wave_speed" else _BOTH
        labels |= {
            f"{name}_measured": Label(measured, unit, f"{meaning}, measured"),
            f"{name}_error": Label(
                uncertain, unit, f"{meaning}, standard uncertainty of the measured value"
            ),
            f"{name}_computed": Label(computed, unit, f"{meaning}, computed"),
        }
    labels["residual"] = Label(
        _BOTH, "1", "norm of computed minus measured force, divided by that of the measured force"
    )
    labels["residual_of_noise"] = Label(_BOTH, "1", "residual that noise alone would cause")
    for name in _BANDED:
        meaning, unit = _MEANINGS[name][0], UNITS_COMPARED[name]
        for end in ("low", "high"):
            labels |= {
                f"{name}_band_{end}": Label(
                    _BOTH, unit, f"{meaning}, {end} limit of 95 % of the members"
                ),
                f"{name}_band_{end}_measured": Label(
                    _BOTH, unit, f"{meaning}, {end} limit of 95 % of measurements of the members"
                ),
            }
    for name, unit in UNITS_COMPARED.items():
        kind = "relative difference" if name in RELATIVE else "difference"
        labels[f"{name}_tolerance"] = Label(
            (), "1" if name in RELATIVE else unit, f"largest allowed {kind} of the {name}"
        )
    return labels


class Comparison(Answer):
    """Comparison of a measured trace with one or more results.

    Values along `result` belong to the results, in the order of the call, and values along
    `sensor_bead` to the sensors. A value that does not exist is nan.

    Attributes
    ----------
    trace_kind, trace_source : str
        Kind of the trace, and its authors, figure, and DOI.
    result, result_law : (n_results,) array of str
        Label of each result, and its contact law.
    time_shift, time_shift_error : (n_results,) array
        Shift that is added to the computed time, and its standard uncertainty [s].
    sensor_bead : (n_sensors,) array
        Labels of the sensor beads that are compared.
    peak_measured, peak_error, peak_computed : array
        Peak force [N], measured with its standard uncertainty (n_sensors,) and computed (n_sensors,
        n_results). `arrival` [s], `width` [s], `impulse` [N s], and `speed` to the next sensor
        [m/s] have such variables too, and `wave_speed` [m/s] has them for each result.
    residual, residual_of_noise : (n_sensors, n_results) array
        Norm of computed minus measured force over the pulse, divided by the norm of the measured
        force, and the residual that noise alone would cause [1].
    nearest_rank : (n_sensors, n_results) array
        1 for the result with the smallest residual, 2 and more for those that noise does not
        distinguish from it, and 0 for the others.
    pulse_time, measured_force, computed_force : array
        Times on the clock of the measurement [s] and filtered forces over the pulse [N], padded
        with nan: (n_sensors, n_samples), and (n_sensors, n_results, n_samples) if computed.
    trace_time, trace_bead, trace_force : array
        The measured trace.
    messages : tuple of str
        Notes on the comparison, and one message for each specified tolerance that is exceeded.

    Examples
    --------
    >>> import granchain as gc
    >>> trace = gc.read_trace("data/synthetic2026")
    >>> case = gc.load_case("steel-chain").replace({"contact": {"law": "hertz"}})
    >>> case = case.replace({"chain.beads": 15, "sensors.beads": [9], "time.end": 2e-4})
    >>> comparison = gc.compare(gc.run(case), trace=trace)
    >>> comparison.sensor_bead
    array([9])
    >>> comparison.peak_computed.shape
    (1, 1)
    """

    # fraction of the members inside a band
    in_band: ClassVar = IN_BAND
    labels: ClassVar = {
        "trace_kind": Label((), "", "kind of the trace: measured, digitised, or synthetic"),
        "trace_source": Label((), "", "authors, figure, and DOI of the trace"),
        "cutoff": Label((), "Hz", "frequency at which the zero-phase filter halves the amplitude"),
        "order": Label((), "1", "order of the zero-phase filter"),
        "low_pass": Label((), "Hz", "upper limit of the band of the instrument"),
        "filter_order": Label((), "1", "order of the filters of the instrument"),
        "front_mass": Label((), "kg", "mass of the half bead that the wave reaches first"),
        "result": Label(_RESULTS, "", "label of the result"),
        "result_law": Label(_RESULTS, "", "contact law of the result"),
        "time_shift": Label(_RESULTS, "s", "shift that is added to the computed time"),
        "time_shift_error": Label(_RESULTS, "s", "standard uncertainty of the shift"),
        "members": Label(_RESULTS, "1", "number of members of the uncertainty bands"),
        "band_tolerance": Label(
            _RESULTS, "", "relative tolerances of the parameters of the case, as JSON"
        ),
        "sensor_bead": Label(_SENSORS, "1", "label of the sensor bead"),
        "position": Label(_BOTH, "m", "position of the sensor bead, relative to the first body"),
        "noise": Label(_SENSORS, "N", "standard deviation of the filtered measured force"),
        "high_pass": Label(_SENSORS, "Hz", "lower limit of the band of the instrument"),
        "measured_merged": Label(
            _SENSORS, "1", "whether a second, larger pulse has merged with the measured one"
        ),
        "computed_merged": Label(
            _BOTH, "1", "whether a second, larger pulse has merged with the computed one"
        ),
        **_quantity_labels(),
        "force_inside": Label(
            _BOTH, "1", "fraction of the measured samples in the band of measurements"
        ),
        "nearest_rank": Label(
            _BOTH, "1", "rank by the residual among the nearest results; 0 for another result"
        ),
        "sample": Label(("sample",), "1", "number of the sample of the pulse, counted from 1"),
        "pulse_time": Label(_PULSE_LABELS, "s", "time on the clock of the measurement"),
        "measured_force": Label(_PULSE_LABELS, "N", "filtered measured force over the pulse"),
        "computed_force": Label(
            (*_BOTH, "sample"), "N", "filtered computed force at the shifted time"
        ),
        "force_low": Label(
            (*_BOTH, "sample"), "N", "computed force, low limit of 95 % of the members"
        ),
        "force_high": Label(
            (*_BOTH, "sample"), "N", "computed force, high limit of 95 % of the members"
        ),
        "trace_time": Label(("trace_time",), "s", "time of the samples of the trace"),
        "trace_bead": Label(("trace_bead",), "1", "label of the sensor bead of the trace"),
        "trace_force": Label(("trace_time", "trace_bead"), "N", "measured force of the trace"),
        "result_sha256": Label(_RESULTS, "", "SHA-256 of the data of the result"),
    }

    @cached_property
    def about(self) -> AboutTable:
        """Description, source, and uncertainty of the trace.

        Raises
        ------
        TraceError
            If the description in a file is damaged.
        """
        return about_in(self.provenance)

    @cached_property
    def trace(self) -> Trace:
        """Measured trace."""
        trace = Trace(
            time=self.trace_time, force=self.trace_force, beads=self.trace_bead, about=self.about
        )
        trace.notes = tuple(json.loads(self.provenance["trace_notes_json"]))
        return trace

    @cached_property
    def sensor(self) -> Sensor:
        """Filter that was applied to both the trace and the results."""
        names = ("front_mass", "cutoff", "order", "high_pass", "low_pass", "filter_order")
        return Sensor(**{name: self[name] for name in names if name in self.variables})

    @cached_property
    def results(self) -> tuple[ResultAgreement, ...]:
        """Comparison with each result, with a part for each sensor."""
        return tuple(self._result(i) for i in range(len(self.result)))

    @property
    def nearest(self) -> dict[int, tuple[str, ...]]:
        """Labels of the nearest results for each bead.

        The result with the smallest residual is first, followed by those that noise does not
        distinguish from it.
        """
        ranks = self.nearest_rank
        return {
            bead: tuple(
                self.result[i] for i in np.argsort(row, kind="stable").tolist() if row[i] > 0
            )
            for bead, row in zip(self.sensor_bead.tolist(), ranks, strict=True)
            if row.any()
        }

    @property
    def missed(self) -> tuple[str, ...]:
        """Messages for all specified tolerances that are exceeded."""
        return tuple(sentence for result in self.results for sentence in result.missed)

    @cached_property
    def cases(self) -> tuple[Any, ...]:
        """Case of each result; None if the result has none.

        Raises
        ------
        CaseError
            If this version cannot validate a case.
        """
        if "cases_json" not in self.provenance:
            return (self.case,)
        stored = json.loads(self.provenance["cases_json"])
        return tuple(None if tables is None else case_as_given(tables) for tables in stored)

    def with_variables(self, data: Mapping[str, Any], messages: Sequence[str]) -> Comparison:
        """Return the comparison with more variables, and with other messages."""
        mine = {name: variable.data for name, variable in self.variables.items()}
        return Comparison(
            mine | dict(data),
            case=self._case,
            law=self.law,
            title=self.title,
            messages=messages,
            provenance=self._given_provenance,
        )

    def _result(self, i: int) -> ResultAgreement:
        """Return the comparison with one result."""
        sensors = tuple(self._sensor(i, k) for k in range(len(self.sensor_bead)))
        names = (name for name in UNITS_COMPARED if f"{name}_tolerance" in self.variables)
        label, bounds = self.result[i], {name: self[f"{name}_tolerance"] for name in names}
        banded = "members" in self.variables and self.members[i] > 0
        return ResultAgreement(
            label=label,
            law=self.result_law[i],
            time_shift=self.time_shift[i].item(),
            time_shift_error=self.time_shift_error[i].item(),
            sensors=sensors,
            wave_speed=Agreement(
                *(self[f"wave_speed_{side}"][i].item() for side in Agreement._fields)
            ),
            missed=missed_tolerances(label, sensors, bounds),
            tolerance=json.loads(self.band_tolerance[i]) if banded else {},
            members=self.members[i].item() if banded else 0,
        )

    def _sensor(self, i: int, k: int) -> SensorAgreement:
        """Return the comparison of one result with one sensor."""

        def at(name: str) -> Any:
            values = self[name]
            return (values[k, i] if values.ndim > 1 else values[k]).item()

        def band(name: str) -> Band | None:
            limits = (f"{name}_band_{limit}" for limit in Band._fields)
            return Band(*map(at, limits)) if banded else None

        banded = "members" in self.variables and self.members[i] > 0
        sides = {
            name: Agreement(*(at(f"{name}_{side}") for side in Agreement._fields))
            for name in ("peak", "arrival", "width", "impulse", "speed")
        }
        covered = np.isfinite(self.computed_force[k, i])
        low_and_high = ForceBand(
            self.force_low[k, i, covered], self.force_high[k, i, covered], at("force_inside")
        ) if banded else None  # fmt: skip
        return SensorAgreement(
            bead=at("sensor_bead"),
            position=at("position"),
            **sides,
            residual=Agreement(0.0, at("residual_of_noise"), at("residual")),
            time=self.pulse_time[k, covered],
            measured=self.measured_force[k, covered],
            computed=self.computed_force[k, i, covered],
            noise=at("noise"),
            merged=tuple(side for side in ("measured", "computed") if at(f"{side}_merged")),
            peak_band=band("peak"),
            arrival_band=band("arrival"),
            force_band=low_and_high,
        )


def missed_tolerances(
    label: str, sensors: Sequence[SensorAgreement], bounds: Mapping[str, float]
) -> tuple[str, ...]:
    """Return a message for each value of a result that differs by more than its tolerance."""
    missed = []
    for name, bound in bounds.items():
        for sensor in sensors[:-1] if name == "speed" and len(sensors) > 1 else sensors:
            agreement: Agreement = getattr(sensor, name)
            off = abs(agreement.relative) if name in RELATIVE else abs(agreement.difference)
            if not off <= bound:
                unit = " s" if name == "arrival" else ""
                difference_text = f"{off:.3g}{unit}" if math.isfinite(off) else "no number"
                missed.append(
                    f"{label}: bead {sensor.bead}: {name} differs by {difference_text}, more than "
                    f"the tolerance {bound:g}{unit}"
                )
    return tuple(missed)


def comparison_of(
    trace: Trace,
    sensor: Sensor,
    agreements: Sequence[ResultAgreement],
    ranks: np.ndarray,
    messages: Sequence[str],
    tolerances: Mapping[str, float],
    results: Sequence[Result],
) -> Comparison:
    """Return a comparison from its values for each result and sensor.

    Parameters
    ----------
    trace : Trace
    sensor : Sensor
        Filter of both sides.
    agreements : sequence of ResultAgreement
    ranks : array (sensor, result)
        See `Comparison.nearest_rank`.
    messages : sequence of str
    tolerances : mapping of str to float
    results : sequence of Result
        The compared results.
    """
    # one row per sensor
    table = list(zip(*(agreement.sensors for agreement in agreements), strict=True))
    first = [row[0] for row in table]
    beads = [pulse.bead for pulse in first]
    about, high = trace.about, sensor.corners
    data: dict[str, Any] = {
        "trace_kind": about.kind,
        "trace_source": ", ".join(filter(None, (about.who, about.figure, about.doi))),
        **{
            name: getattr(sensor, name)
            for name in ("front_mass", "cutoff", "order", "low_pass", "filter_order")
        },
        "high_pass": np.broadcast_to(high, len(beads)) if high else None,
        "result": [agreement.label for agreement in agreements],
        "result_law": [agreement.law for agreement in agreements],
        "result_sha256": [result.provenance["data_sha256"] for result in results],
        "time_shift": [agreement.time_shift for agreement in agreements],
        "time_shift_error": [agreement.time_shift_error for agreement in agreements],
        "sensor_bead": beads,
        "position": [[pulse.position for pulse in row] for row in table],
        "noise": [pulse.noise for pulse in first],
        "measured_merged": ["measured" in pulse.merged for pulse in first],
        "computed_merged": [["computed" in pulse.merged for pulse in row] for row in table],
        "residual": [[pulse.residual.computed for pulse in row] for row in table],
        "residual_of_noise": [[pulse.residual.error for pulse in row] for row in table],
        "nearest_rank": ranks,
        **{f"{name}_tolerance": float(bound) for name, bound in tolerances.items()},
        "trace_time": trace.time,
        "trace_bead": trace.sensor_bead,
        "trace_force": trace.sensor_force,
        **_pulses_of(table),
    }
    for name in _MEANINGS:
        for side in Agreement._fields:
            label = Comparison.labels[f"{name}_{side}"]
            if name == "wave_speed":
                values: Any = [getattr(agreement.wave_speed, side) for agreement in agreements]
            else:
                values = [[getattr(getattr(pulse, name), side) for pulse in row] for row in table]
            data[f"{name}_{side}"] = (
                [row[0] for row in values] if label.dims == _SENSORS else values
            )
    provenance = {
        **about_entry(about),
        "trace_notes_json": canonical(list(trace.notes)),
        **_law_records(results),
    }
    cases = [case_of(result) for result in results]
    if len(cases) > 1:
        tables = [None if case is None else case.as_given() for case in cases]
        provenance["cases_json"] = canonical(tables, ordered=True)
    laws = [law for agreement in agreements for law in agreement.law.split(", ")]
    missed = [
        sentence
        for agreement in agreements
        for sentence in missed_tolerances(agreement.label, agreement.sensors, tolerances)
    ]
    return Comparison(
        data,
        case=cases[0] if len(cases) == 1 else None,
        law=", ".join(dict.fromkeys(laws)),
        title=about.title,
        messages=tuple(dict.fromkeys([*messages, *missed])),
        provenance=provenance,
    )


def _law_records(results: Sequence[Result]) -> dict[str, str]:
    """Return the law records of results; of several results, each once, as a list."""
    records = {}
    for name, form in (("law_sha256", "{}"), ("law_json", "[{}]")):
        texts = dict.fromkeys(str(result.provenance.get(name, "")) for result in results)
        several = list(filter(None, texts))
        if several:
            records[name] = several[0] if len(results) == 1 else form.format(", ".join(several))
    return records


def _pulses_of(table: Sequence[Sequence[SensorAgreement]]) -> dict[str, np.ndarray]:
    """Return the pulses of all results and sensors, padded with nan to a common length."""
    times = [np.unique(np.concatenate([pulse.time for pulse in row])) for row in table]
    shape = len(table), max(map(len, times))
    time, measured = np.full(shape, math.nan), np.full(shape, math.nan)
    computed = np.full((len(table), len(table[0]), shape[1]), math.nan)
    for k, (instants, row) in enumerate(zip(times, table, strict=True)):
        time[k, : len(instants)] = instants
        for i, pulse in enumerate(row):
            at = np.searchsorted(instants, pulse.time)
            measured[k, at], computed[k, i, at] = pulse.measured, pulse.computed
    return {
        "sample": np.arange(shape[1]) + 1,
        "pulse_time": time,
        "measured_force": measured,
        "computed_force": computed,
    }
