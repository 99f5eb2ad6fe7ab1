"""What a comparison finds: each number measured, with its uncertainty, and computed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from granchain.sensor import Sensor

if TYPE_CHECKING:
    from granchain.traces import Trace

QUANTITIES = {"peak": "N", "arrival": "s", "width": "s", "impulse": "N s", "speed": "m/s", "residual": "1"}
# Those whose tolerance is a part of the measured value; the arrival's is a time, the residual is a part already.
RELATIVE = ("peak", "width", "impulse", "speed")


class Agreement(NamedTuple):
    """One number, measured with its uncertainty (one standard deviation) and computed; nan where there is none."""

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


@dataclass(frozen=True, eq=False)
class SensorAgreement:
    """One sensor bead, measured against computed.

    Attributes
    ----------
    bead : int
    position : float
        Of its centre, the first body's at 0 [m].
    peak, arrival, width, impulse, speed : Agreement
        Peak force [N], time of the peak on the clock of the measurement [s], width at half height [s], impulse of the pulse [N s], speed
        from here to the next sensor [m/s].
    residual : Agreement
        Norm of computed minus measured force over the pulse, relative to the norm of the measured force: `computed` is what was found,
        `measured` is 0, `uncertainty` what noise alone would make [1].
    time, measured, computed : array (n,)
        The forces over the pulse, filtered, on the clock of the measurement [s], [N].
    noise : float
        Standard deviation of the filtered measured force [N].
    merged : tuple of str
        Of "measured" and "computed", where a second, larger pulse has merged with the first (`analysis.has_merged`): no speed is from it.
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
    """

    label: str
    law: str
    shift: float
    shift_uncertainty: float
    sensors: tuple[SensorAgreement, ...]
    wave_speed: Agreement
    missed: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Comparison:
    """A trace against one result or several; `as_dict` is ready for JSON.

    Attributes
    ----------
    trace : Trace
    sensor : Sensor
        What both sides went through.
    results : tuple of ResultAgreement
    nearest : dict of int to tuple of str
        Label of the result with the smallest residual, bead by bead; after it those that noise does not distinguish from it.
    messages : tuple of str
        What the reader should know.
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

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, words, lists and dicts; a number that is not finite is None."""
        return {
            "trace": {"title": self.trace.about.title, "kind": self.trace.about.kind, "doi": self.trace.about.doi},
            "sensor": {"cutoff": self.sensor.cutoff, "order": self.sensor.order, "front_mass": self.sensor.front_mass},
            "results": [
                {
                    "label": one.label,
                    "law": one.law,
                    "time_shift": _plain(one.shift),
                    "time_shift_uncertainty": _plain(one.shift_uncertainty),
                    "wave_speed": _agreement(one.wave_speed),
                    "sensors": [
                        {"bead": sensor.bead, "position": _plain(sensor.position), "noise": _plain(sensor.noise)}
                        | {name: _agreement(getattr(sensor, name)) for name in QUANTITIES if name != "residual"}
                        | {"residual": _plain(sensor.residual.computed), "residual_of_noise": _plain(sensor.residual.uncertainty)}
                        | {"merged": list(sensor.merged)}
                        for sensor in one.sensors
                    ],
                    "missed": list(one.missed),
                }
                for one in self.results
            ],
            "nearest": [{"bead": bead, "labels": list(labels)} for bead, labels in self.nearest.items()],
            "messages": list(self.messages),
        }


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _agreement(one: Agreement) -> dict[str, float | None]:
    return {name: _plain(getattr(one, name)) for name in ("measured", "uncertainty", "computed", "difference", "relative")}
