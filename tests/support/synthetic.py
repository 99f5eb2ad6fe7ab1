"""Synthetic results from closed forms, with which readers of results are tested without the
engine."""

from functools import cache
from types import SimpleNamespace

import numpy as np

from granchain.contact.law import Quantity
from granchain.status import Status
from granchain.store import Result
from granchain.theory import solitary_speed, solitary_wave

# Rounded contact stiffness and mass of steel spheres with a radius of 2.38 mm; other values would
# serve as well.
STIFFNESS, MASS, RADIUS = 4.9e9, 0.45e-3, 2.38e-3
PEAK_FORCE = 80.0
# Bead at which the crest is at time 0: the wave starts outside the recorded beads.
CREST = -4.0


def wave_speed():
    """Return the speed of the synthetic wave in beads per second."""
    return solitary_speed(STIFFNESS, MASS, peak_force=PEAK_FORCE)


@cache
def passing(beads, end):
    """Return overlaps of all contacts at the samples, the largest ones, and velocities of all beads
    in the snapshots.

    They are computed once.
    """
    wave, speed = solitary_wave(), wave_speed()
    # contact k is half a bead beyond bead k
    overlaps = wave.overlap(
        np.subtract.outer(np.arange(beads + 1) + 0.5, speed * sampled(end) + CREST)
    ).T
    return overlaps, 1.2 * wave.bead_velocity(
        np.subtract.outer(np.arange(1, beads + 1), speed * shots(end) + CREST)
    ).T


def sampled(end):
    return 2e-7 * np.arange(round(end / 2e-7))


def shots(end):
    return 2e-6 * np.arange(round(end / 2e-6))


def synthetic(
    *,
    beads=20,
    sensors=(3, 8, 13),
    contacts=(2, 5),
    end=150e-6,
    without=(),
    title="synthetic wave",
    law="hertz",
    status=Status.COMPLETE,
    gap=0.0,
    change=None,
):
    """Return the exact solitary wave in a chain as a Result; plastic and viscous energy are
    invented."""
    overlaps, velocity = passing(beads, end)
    labels, time, snapshots = np.arange(1, beads + 1), sampled(end), shots(end)
    ledger = np.linspace(0.0, end, 51)
    largest = (PEAK_FORCE / STIFFNESS) ** (2.0 / 3.0)
    force = PEAK_FORCE * np.maximum(overlaps, 0.0) ** 1.5
    plastic, viscous = 2e-4 * ledger / end, 1e-4 * (ledger / end) ** 2
    data = {
        "time": time,
        "sensor_bead": np.array(sensors),
        "sensor_force": 0.5 * (force[:, np.array(sensors) - 1] + force[:, np.array(sensors)])
        if sensors
        else np.zeros((len(time), 0)),
        "bead": labels,
        "radius": np.full(beads, RADIUS),
        "mass": np.full(beads, MASS),
        "position": (2.0 * RADIUS + gap) * np.arange(beads),
        "final_displacement": np.zeros(beads),
        "final_velocity": np.zeros(beads),
        "sensor_contact": np.array(contacts),
        "contact_force": force[:, contacts],
        "contact_overlap": largest * overlaps[:, contacts],
        "contact": np.arange(1, beads),
        "contact_peak_force": np.full(beads - 1, PEAK_FORCE),
        "largest_overlap": np.full(beads - 1, largest),
        "residual_overlap": np.zeros(beads - 1),
        "contact_plastic": np.full(beads - 1, 1e-5),
        "contact_viscous": 1e-6 * np.arange(beads - 1),
        "contact_clamp": np.zeros(beads - 1),
        "energy_time": ledger,
        "energy_kinetic": 1e-3 - 0.5 * plastic - viscous,
        "energy_recoverable": 0.25 * plastic,
        "energy_plastic": plastic,
        "energy_viscous": viscous,
        "energy_clamp": np.zeros(51),
        "energy_external": np.zeros(51),
        "energy_residual": 1e-9 * np.sin(ledger / end),
        "snapshot_time": snapshots,
        "displacement": np.zeros((len(snapshots), beads)),
        "velocity": velocity.copy(),
    }
    data |= change or {}
    history = (
        Quantity(
            "residual_overlap", "m", "overlap at which the unloading contact opens", output=True
        ),
    )
    data = {name: values for name, values in data.items() if name not in without}
    case = SimpleNamespace(
        title=title, energy=SimpleNamespace(bound=1e-2), toml="", sha256="", resolved=dict
    )
    case.as_given = lambda: {"tables": {}, "files": []}
    case.plain = lambda: {}
    history = history if "residual_overlap" in data else ()
    return Result(data, case=case, law=law, status=status, time_step=4e-8, history=history)
