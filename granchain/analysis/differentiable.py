"""Numbers of a run that change smoothly with the parameters of its case.

The run must record the forces at every step. The largest sample of a force would depend on the
times of the samples, so these functions use curves between the steps.
"""

from __future__ import annotations

import math

import numpy as np

from granchain.analysis.pulse import (
    OF_REST,
    PULSE_BEGINS,
    PULSE_ENDS,
    first_pulse,
    momentum_passed,
    static_force,
    summit,
    vertex,
)
from granchain.analysis.results import jumps_at
from granchain.set_up import chain_of
from granchain.store import Result

# Steps between two recorded velocities of the last bead: about ten records per pulse at the
# automatic step. Our choice.
BETWEEN_SNAPSHOTS = 32


def largest_sensor_force(result: Result) -> float:
    """Return the largest force of the sensors [N].

    It is nan if a force has not fallen to half of its maximum by the end.
    """
    tops = [passed_top(force) for force in result.sensor_force.T]
    if None in tops:
        return math.nan
    return max(_height(result, sensor, top) for sensor, top in enumerate(tops) if top is not None)


def largest_contact_force(result: Result) -> float:
    """Return the largest force of the first recorded contact [N].

    It is nan if the force has not fallen to half of its maximum by the end.
    """
    force = result.contact_force[:, 0]
    top = passed_top(force)
    return math.nan if top is None else smooth_top(force, top)


def passed_top(force: np.ndarray) -> int | None:
    """Return the index of the maximum of a force; None if no pulse has passed by the end."""
    static = static_force(force)
    above = force - static
    top = int(np.argmax(above))
    passed = (above[top:] < PULSE_ENDS * above[top]).any()
    return top if above[top] > OF_REST * abs(static) and passed else None


def _height(result: Result, sensor: int, top: int) -> float:
    """Return the maximum of the sensor's force near its largest value at a step [N]."""
    force, jumps = result.sensor_force[:, sensor], jumps_at(result, sensor)
    if jumps is not None:
        height, _, at_jump = summit(result.time, force, jumps)
        if at_jump or np.isfinite(jumps.force[top - 3 : top + 4]).any():
            return height
    return smooth_top(force, top)


def smooth_top(force: np.ndarray, top: int) -> float:
    """Return the maximum of a force near its largest value at a step [N].

    The maximum is that of cubics through the values and their time derivatives.
    """
    from scipy.interpolate import CubicHermiteSpline

    values = force[top - 3 : top + 4] if top >= 3 else force[:0]
    if values.size < 7:
        return float(force[top])
    # derivatives of fourth order from five values: Abramowitz and Stegun 1964, table 25.2
    slope = (values[:-4] - 8.0 * values[1:-3] + 8.0 * values[3:-1] - values[4:]) / 12.0
    curve = CubicHermiteSpline([-1.0, 0.0, 1.0], values[2:5], slope)
    return float(np.nanmax([force[top], *curve(curve.derivative().roots(extrapolate=False))]))


def transmitted_momentum(result: Result) -> float:
    """Return the momentum of the last bead after its first pulse, relative to the striker's.

    It is nan if the pulse has not passed. The pulse ends between two steps, close to the end of
    `first_pulse`: where a line through the force falls to 1 % of the peak, or at the minimum of a
    parabola. Up to the snapshot before, the impulse is the bead's momentum plus its loss to
    dashpots. A sum over the steps would be inaccurate for damping with d^(1/4), because contacts
    close between two steps. The derivative of such a sum has an error of 2 % (measured: tsuji, gaps
    of 1 um).

    The only sensor is at the last bead, and there is a snapshot every `BETWEEN_SNAPSHOTS` steps.
    """
    # the sensor force is the mean of two contact forces, and the bead has only the left contact
    force = 2.0 * result.sensor_force[:, 0]
    above = force - static_force(force)
    stop = int(first_pulse(result.time, above).end[0])
    if stop < 1:
        return math.nan
    last = stop - 1
    top = int(np.argmax(above[:stop]))
    level = PULSE_BEGINS * (2.0 * _height(result, 0, top) - static_force(force))
    if above[last] <= PULSE_BEGINS * above[top]:
        fall = above[last - 1] - above[last]
        end = last - min(1.0, max(0.0, (level - above[last]) / fall))
    else:
        _, end = vertex(np.arange(last - 1.0, last + 2.0), -above[last - 1 : last + 2])
    # a drive may act on this bead, and its force is not part of the contact force
    shot = 0 if result.case.drives else int(end) // BETWEEN_SNAPSHOTS
    first = shot * BETWEEN_SNAPSHOTS
    speed, distance = (
        float(values[shot, -1] - values[0, -1]) for values in (result.velocity, result.displacement)
    )
    elements, last = chain_of(result.case).elements, len(result.mass) - 1
    momentum = result.mass[-1] * speed + elements.damping[elements.body == last].sum() * distance
    momentum += result.time_step * momentum_passed(above[first:], end - first)
    return float(momentum / (result.mass[0] * result.case.striker.speed))
