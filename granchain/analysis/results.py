"""Results of a run: first pulses at its sensors, wave speed, and energy."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from granchain.analysis.energy import (
    ENERGIES,
    ENERGIES_OF_ELEMENTS,
    EnergyBalance,
    Numbers,
    energy_balance,
)
from granchain.analysis.pulse import FirstPulse, ForceJumps, first_pulse, static_force
from granchain.analysis.transport import out_of_order, wave_speed
from granchain.case.tables import DEFAULT_ARRIVAL
from granchain.plain_data import plain_data
from granchain.store import Result
from granchain.store.answer import case_of
from granchain.store.schema import ATTACHED

# Variables that `summary` reads.
SUMMARISED = (
    *(
        *(f"{ATTACHED}{name}" for name in ("", "_bead", "_mass")),
        "time",
        "sensor_bead",
        "sensor_force",
        "bead",
        "radius",
        "position",
        "snapshot_time",
        "energy_time",
        "mass",
    ),
    *(f"energy_{name}" for name in (*ENERGIES, *ENERGIES_OF_ELEMENTS)),
    *(f"energy_{name}" for name in ("radiated", "gravity", "precompression", "drives")),
)


@dataclass(frozen=True, eq=False)
class SensorPulse(Numbers):
    """First pulse at one sensor.

    Attributes
    ----------
    bead : int
        Label of the bead.
    position : float
        Position of the bead centre [m]. The first body is at 0.
    peak : float
        Peak force [N]. It is 0 without a pulse.
    arrival : float
        Arrival as defined by `sensors.arrival` of the case [s]. It is nan without a pulse.
    width : float
        Width at half height [s]. It is nan if the trace does not contain the complete width.
    impulse : float
        Impulse [N s]. It is nan if the trace does not contain the complete pulse.
    complete : bool
        Whether the trace contains the end of the pulse. If not, a larger force may follow.
    jump, sampled, merged : bool
        See `FirstPulse`.
    """

    bead: int
    position: float
    peak: float
    arrival: float
    width: float
    impulse: float
    complete: bool
    jump: bool = False
    sampled: bool = False
    merged: bool = False


PULSE_FIELDS = tuple(field.name for field in dataclasses.fields(SensorPulse))[2:]


@dataclass(frozen=True, eq=False)
class Summary(Numbers):
    """Numerical results of a run. `as_dict` returns them in a form for JSON.

    Attributes
    ----------
    title, law, status : str
        Title and law of the case, and status of the run.
    time_step : float
        Time step [s].
    end : float
        Last time in the result [s]. It is nan if the result has no times.
    sensors : tuple of SensorPulse
        First pulses, in the order of the file.
    wave_speed : float
        Wave speed from a least-squares line through the arrivals [m/s]. It is nan with fewer than
        two sensors.
    energy : EnergyBalance or None
        Energy balance, or None if the case does not record it.
    wave_speed_beads : tuple of int
        Sensor beads that determine the wave speed: those whose first pulse is complete and not
        merged with another pulse.
    out_of_order : tuple of int
        Two sensor beads whose arrivals show that there is more than one wave. It is empty if there
        is a wave speed.
    driven : str
        "harmonic", "chirp", or "noise" if such a signal drives the chain. There is no first pulse
        then, and `sensors` is empty.
    """

    title: str
    law: str
    status: str
    time_step: float
    end: float
    sensors: tuple[SensorPulse, ...]
    wave_speed: float
    energy: EnergyBalance | None
    wave_speed_beads: tuple[int, ...] = ()
    out_of_order: tuple[int, ...] = ()
    driven: str = ""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Reasons for missing first pulses or a missing wave speed."""
        why = []
        if self.driven:
            why.append(
                f"the chain is driven with {self.driven}, so there is no first pulse. Use "
                "granchain spectrum"
            )
        if self.out_of_order:
            first, second = self.out_of_order
            why.append(
                f"no wave speed: the arrivals at beads {first} and {second} are out of order, so "
                "there is more than one wave"
            )
        return tuple(why)

    def as_dict(self) -> dict[str, Any]:
        """Return numbers, strings, lists, and dicts. Nonfinite numbers become None."""
        return dict(plain_data(dataclasses.asdict(self)))


def summary(result: Result) -> Summary:
    """Return the numerical results of a run."""
    driven = driven_without_pulse(result)
    pulses = () if driven else sensor_pulses(result)
    speed, beads, disordered = front_of(pulses)
    ends = [
        float(result.variables[name].data[-1])
        for name in ("time", "energy_time", "snapshot_time")
        if name in result.variables and len(result.variables[name].data)
    ]
    return Summary(
        title=result.title,
        law=result.law,
        status=result.status.label,
        time_step=result.time_step,
        end=max(ends, default=math.nan),
        sensors=pulses,
        wave_speed=speed,
        energy=energy_balance(result),
        wave_speed_beads=beads,
        out_of_order=disordered,
        driven=driven,
    )


def sensor_pulses(result: Result) -> tuple[SensorPulse, ...]:
    """Return the first pulse at every sensor of a result.

    The force at the start of a trace is the static force of precompression or gravity. It is the
    baseline of the pulse.
    """
    if "sensor_force" not in result.variables:
        return ()
    labels, measured = np.asarray(result.bead).tolist(), measured_pulses(result)
    return tuple(
        SensorPulse(
            bead=bead,
            position=float(result.position[labels.index(bead)]),
            **{name: getattr(measured, name)[i].item() for name in PULSE_FIELDS},
        )
        for i, bead in enumerate(np.asarray(result.sensor_bead).tolist())
    )


def measured_pulses(result: Result, every: int = 1, phase: int = 0) -> FirstPulse:
    """Return the first pulses at the sensors of a result, arrays (sensor,).

    Parameters
    ----------
    result : Result
    every, phase : int
        Use only every `every`-th sample, starting with sample `phase`.
    """
    force, jumps = np.asarray(result.sensor_force), None
    if "sensor_beside_force" in result.variables:
        of_sensors = [jumps_at(result, i) for i in range(force.shape[1])]
        if every > 1:
            of_sensors = [jumps.every(every, phase) for jumps in of_sensors if jumps is not None]
        jumps = ForceJumps(*(np.column_stack(column) for column in zip(*of_sensors, strict=True)))
    return first_pulse(
        np.asarray(result.time)[phase::every],
        force[phase::every],
        arrival=arrival_of(result),
        baseline=[static_force(column) for column in force.T],
        jumps=jumps,
        smooth=is_smooth(result),
    )


def front_of(seen: Sequence[SensorPulse]) -> tuple[float, tuple[int, ...], tuple[int, ...]]:
    """Return the wave speed [m/s] and the beads that determine it.

    The third item contains two beads whose arrivals are out of order.

    The sensors whose first pulse is complete and not merged with another pulse determine the speed.
    If `out_of_order` finds two beads, the speed is nan and no beads determine it.
    """
    seen = [pulse for pulse in seen if pulse.complete and not pulse.merged]
    position, arrival = [pulse.position for pulse in seen], [pulse.arrival for pulse in seen]
    disordered = out_of_order(position, arrival, [pulse.width for pulse in seen])
    if disordered is not None:
        return math.nan, (), tuple(seen[index].bead for index in disordered)
    return wave_speed(position, arrival), tuple(pulse.bead for pulse in seen), ()


def arrival_of(result: Result) -> str:
    """Return the definition of the arrival in the case of a result. See `first_pulse`."""
    return str(getattr(getattr(case_of(result), "sensors", None), "arrival", DEFAULT_ARRIVAL))


def jumps_at(result: Result, sensor: int) -> ForceJumps | None:
    """Return the jumps of the force at a sensor, or None if the result has none."""
    if "sensor_beside_force" not in result.variables:
        return None
    return ForceJumps(result.sensor_beside_force[:, sensor], result.sensor_beside_time[:, sensor])


def is_smooth(result: Result) -> bool:
    """Return whether the forces of a result's law have no jumps.

    A law that is not installed counts as smooth.
    """
    from granchain.contact import laws

    named = [laws().get(name) for name in result.law.split(", ")]
    return not any(law is not None and law.has_jumps() for law in named)


def driven_without_pulse(result: Result) -> str:
    """Return the kind of signal that drives the chain without a first pulse.

    See `granchain.case.Case`. The result is "" if there is no such signal, or if the case cannot be
    read.
    """
    return str(getattr(case_of(result), "driven_without_pulse", ""))
