"""When the first pulse has passed a sensor of a case whose run was too short for it."""

from __future__ import annotations

import math

from granchain.analysis import sensor_pulses
from granchain.case import Case
from granchain.errors import GranchainError
from granchain.simulation import prepare, run_to_end
from granchain.status import Status
from granchain.store import Result

# Bead-steps of all the runs that look for the pulse, our choice: about a second.
MOST_BEAD_STEPS = 1e9
# Samples of each of these runs, our choice: a pulse at the end of a run then has ten and more.
SAMPLES = 2000


def no_pulse_yet(result: Result) -> bool:
    """Return whether a complete run has sensors and none of them has a complete pulse."""
    pulses = sensor_pulses(result)
    return (
        result.status is Status.COMPLETE
        and bool(pulses)
        and not any(pulse.complete for pulse in pulses)
    )


def time_needed(case: Case) -> tuple[float, int] | None:
    """Estimate the end time [s] at which the first sensor has a complete pulse, and its bead.

    The case runs again with coarser samples and twice the end time, until a sensor has a pulse.
    The time is that of the peak and half the width of the pulse behind it, from the run with the
    step of the case.

    Returns
    -------
    tuple of float and int, or None
        None if no pulse arrives within a fixed number of bead-steps, or the case allows no later
        end, for example because the table of a drive ends.
    """
    end, spent = case.time.end, 0.0
    _, contacts, step = prepare(case)
    bodies = contacts.c.shape[1]
    while True:
        end *= 2.0
        spent += bodies * end / step.value
        if not spent < MOST_BEAD_STEPS:
            return None
        changes = {
            "time.end": end,
            "sensors.interval": end / SAMPLES,
            "sensors.contacts": [],
            "snapshots": None,
            "energy.interval": end / 200.0,
        }
        try:
            pulses = sensor_pulses(run_to_end(case.replace(changes)))
        except GranchainError:
            return None
        ends = [
            (pulse.arrival + pulse.width, pulse.bead)
            for pulse in pulses
            if pulse.complete and math.isfinite(pulse.arrival + pulse.width)
        ]
        if ends:
            return min(ends)
