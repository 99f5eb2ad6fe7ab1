"""The numbers of a run: first pulses at its sensors, wave speed, energy."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from granchain.analysis.definition import (
    ForceJumps,
    Peak,
    Pulse,
    peak,
    pulse,
    pulse_impulse,
    pulses,
    static_force,
)
from granchain.analysis.energy import (
    ENERGIES,
    ENERGIES_OF_SITES,
    EnergyBalance,
    energy_balance,
)
from granchain.analysis.transport import out_of_order, wave_speed
from granchain.errors import GranchainError
from granchain.plain_data import Numbers, plain_data
from granchain.store import Result
from granchain.store.result import case_of

# The variables that `summary` looks into.
SUMMARISED = (
    *(
        "resonator_bead",
        "resonator_mass",
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
    *(
        f"energy_{name}"
        for name in (*ENERGIES, *ENERGIES_OF_SITES, "gravity", "precompression", "drives")
    ),
)


@dataclass(frozen=True, eq=False)
class SensorPulse(Numbers):
    """First pulse at one sensor.

    Attributes
    ----------
    bead : int
        Label of the bead.
    position : float
        Of its centre, the first body's at 0 [m].
    peak : float
        [N]; 0 without a pulse.
    arrival : float
        Time of the peak [s]; nan without a pulse.
    width : float
        At half height [s]; nan where the trace does not hold it whole.
    impulse : float
        [N s]; nan where the trace does not hold it whole.
    complete : bool
        Whether the trace goes on beyond the peak until the pulse has ended; else a larger force may
        be still to come.
    jump, sampled : bool
        See `Peak`.
    merged : bool
        Whether a second, larger pulse has passed the first before it had fallen to half, see
        `has_merged`: the numbers are then those of both, peak and arrival the second's.
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


@dataclass(frozen=True, eq=False)
class Summary(Numbers):
    """The results of a run in numbers; `as_dict` is ready for JSON.

    Attributes
    ----------
    title, law, status : str
        Of the case and the run.
    time_step : float
        [s].
    end : float
        Last time in the result [s]; nan where it holds none.
    sensors : tuple of SensorPulse
        In the order of the file.
    wave_speed : float
        By least squares of arrival against position [m/s]; nan with fewer than two sensors.
    energy : EnergyBalance or None
        None where the case asks for no ledger.
    wave_speed_beads : tuple of int
        The sensor beads that the wave speed is from: those whose first pulse is complete and has
        not merged with another.
    out_of_order : tuple of int
        Two sensor beads whose arrivals show that there is more than one wave, so that there is no
        wave speed; empty where there is one.
    driven : str
        "harmonic", "chirp" or "noise" where such a signal drives the row: there is no first pulse
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
        """Why there are no first pulses, or no wave speed."""
        why = []
        if self.driven:
            why.append(
                f"the chain is driven with {self.driven}, so there is no first pulse. Use "
                "granchain spectrum"
            )
        if self.out_of_order:
            one, other = self.out_of_order
            why.append(
                f"no wave speed: the arrivals at beads {one} and {other} are out of order, so "
                "there is more than one wave"
            )
        return tuple(why)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, words, lists and dicts; a number that is not finite is None."""
        return dict(plain_data(dataclasses.asdict(self)))


def summary(result: Result) -> Summary:
    """The numbers of a run."""
    driven = driven_without_pulse(result)
    found = () if driven else sensor_pulses(result)
    speed, beads, turned = front_of(found)
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
        sensors=found,
        wave_speed=speed,
        energy=energy_balance(result),
        wave_speed_beads=beads,
        out_of_order=turned,
        driven=driven,
    )


def sensor_pulses(result: Result) -> tuple[SensorPulse, ...]:
    """First pulse at every sensor of a result.

    The force at the start of a trace is the static one, of precompression or gravity: it is the
    baseline of the pulse.
    """
    if "sensor_force" not in result.variables:
        return ()
    time, labels = np.asarray(result.time), np.asarray(result.bead)
    smooth = is_smooth(result)
    found = []
    for i, bead in enumerate(np.asarray(result.sensor_bead).tolist()):
        force = np.asarray(result.sensor_force)[:, i]
        baseline = static_force(force)
        one = pulse(time, force, baseline, jumps=jumps_at(result, i), smooth=smooth)
        position = float(result.position[np.flatnonzero(labels == bead)[0]])
        area = pulse_impulse(time, force, baseline)
        found.append(SensorPulse(bead=int(bead), position=position, impulse=area, **one._asdict()))
    return tuple(found)


def front_of(seen: Sequence[SensorPulse]) -> tuple[float, tuple[int, ...], tuple[int, ...]]:
    """Wave speed [m/s], the beads that it is from, and two whose arrivals are out of order.

    It is from the sensors whose first pulse is complete and has not merged with another; nan, and
    from none, where `out_of_order` finds two beads, which are none elsewhere.
    """
    seen = [one for one in seen if one.complete and not one.merged]
    position, arrival = [one.position for one in seen], [one.arrival for one in seen]
    turned = out_of_order(position, arrival, [one.width for one in seen])
    if turned is not None:
        return math.nan, (), tuple(seen[place].bead for place in turned)
    return wave_speed(position, arrival), tuple(one.bead for one in seen), ()


def pulses_at(result: Result, bead: int, share: float = 0.1) -> tuple[Pulse, ...]:
    """All pulses at a sensor of a result that stand out, see `pulses`.

    Parameters
    ----------
    result : Result
    bead : int
        Label of the sensor bead.
    share : float
        See `pulses`.

    Raises
    ------
    GranchainError
        For a bead without a sensor.
    """
    beads = (
        [int(label) for label in result.sensor_bead] if "sensor_bead" in result.variables else []
    )
    if bead not in beads:
        recorded = ", ".join(map(str, beads)) or "none, because this result has no sensors"
        raise GranchainError(
            f"pulses_at: bead: {bead!r} has no sensor. Sensor beads of this result: {recorded}."
        )
    i = beads.index(bead)
    force = np.asarray(result.sensor_force[:, i])
    jumps = jumps_at(result, i)
    return pulses(
        result.time, force, static_force(force), share, jumps=jumps, smooth=is_smooth(result)
    )


def sensor_peak(result: Result, sensor: int, every: int = 1, phase: int = 0) -> Peak:
    """Peak of a sensor's first pulse.

    Parameters
    ----------
    result : Result
    sensor : int
        Its place in `sensor_bead`.
    every, phase : int
        Take every so many of the samples, beginning with one of the first.
    """
    force, jumps = np.asarray(result.sensor_force[:, sensor]), jumps_at(result, sensor)
    thinned = jumps.every(every, phase) if jumps is not None else None
    time, samples = result.time[phase::every], force[phase::every]
    return peak(time, samples, static_force(force), jumps=thinned, smooth=is_smooth(result))


def jumps_at(result: Result, sensor: int) -> ForceJumps | None:
    """Jumps of the force at a sensor of a result; None where the result holds none."""
    if "sensor_beside_force" not in result.variables:
        return None
    return ForceJumps(result.sensor_beside_force[:, sensor], result.sensor_beside_time[:, sensor])


def is_smooth(result: Result) -> bool:
    """Whether the forces of a result's law have no jumps; as of a law that is not installed."""
    from granchain.contact import laws

    named = [laws().get(name) for name in result.law.split(", ")]
    return not any(law is not None and law.has_jumps() for law in named)


def driven_without_pulse(result: Result) -> str:
    """The signal that drives a result's row without a first pulse, see `granchain.case.Case`.

    "" without one, or without a case that can be read.
    """
    return str(getattr(case_of(result), "driven_without_pulse", ""))
