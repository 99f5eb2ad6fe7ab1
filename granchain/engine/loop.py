"""The time loop: kick-drift-kick on a row of bodies, compiled for one contact law.

Velocities are half-step velocities. Step n is: forces at u_n, events, kick to v_{n+1/2}, samples at n, drift to u_{n+1}; step 0
and the last step kick by half. Beads ahead of the front of a wave that enters a row at rest are left out: their contacts are
open, so nothing changes, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from granchain.contact.law import OPEN, Functions
from granchain.engine.layout import (
    CLAMP,
    CLAMP_WORK,
    DISPLACEMENT,
    DRIVE_REST,
    DRIVE_WORK,
    DT,
    DT_OVER_M,
    ECHOES,
    ELASTIC,
    ENERGY,
    FORCE,
    FRONT,
    INVERSE_MASS,
    KICK,
    KICKED,
    LANES,
    LEAPT,
    LEFT_DRIVE,
    LEFT_FORCE,
    LEFT_LAST,
    LEFT_SPEED,
    LOADS,
    N_BODIES,
    N_STEPS,
    PEAK,
    RIGHT_DRIVE,
    RIGHT_FORCE,
    RIGHT_LAST,
    RIGHT_SPEED,
    ROW,
    SAMPLE,
    SNAPSHOT,
    START,
    STEADY,
    STEP,
    STRIDE,
    VISCOUS_WORK,
    A,
    U,
    V,
)
from granchain.engine.specialise import compiled, jitable
from granchain.engine.sweeps import Features, added, sweeps_of
from granchain.status import Status

RUNNING = int(Status.RUNNING)
COMPLETE = int(Status.COMPLETE)
# A step that no run reaches.
NEVER = 2**62


def drive_at(knots, spline, t):  # type: ignore[no-untyped-def]
    """Value and slope of a drive at time t; held constant outside its table. At its first knot it has begun, at its last it has ended."""
    if t < knots[0]:
        return spline[3, 0], 0.0
    if t >= knots[-1]:
        x = knots[-1] - knots[-2]
        return ((spline[0, -1] * x + spline[1, -1]) * x + spline[2, -1]) * x + spline[3, -1], 0.0
    low, high = 0, knots.size - 1
    while high - low > 1:
        middle = (low + high) // 2
        if knots[middle] <= t:
            low = middle
        else:
            high = middle
    x = t - knots[low]
    value = ((spline[0, low] * x + spline[1, low]) * x + spline[2, low]) * x + spline[3, low]
    return value, (3.0 * spline[0, low] * x + 2.0 * spline[1, low]) * x + spline[2, low]


def jump_of_speed(knots, spline, before, t):  # type: ignore[no-untyped-def]
    """Where a drive's table begins or ends in a step (before, t], its speed jumps: whether it begins, the part of the step that lies behind
    the jump, less one half, and the speed in front of it. Zeros where there is none.
    """
    # a run that begins inside the table, or with it, begins with its speed
    if 0.0 <= before < knots[0] <= t:
        return True, (t - knots[0]) / (t - before) - 0.5, 0.0
    if 0.0 <= before < knots[-1] <= t:
        x = knots[-1] - knots[-2]
        return False, (t - knots[-1]) / (t - before) - 0.5, (3.0 * spline[0, -1] * x + 2.0 * spline[1, -1]) * x + spline[2, -1]
    return False, 0.0, 0.0


def follow(bodies, counts, numbers, left_knots, left_spline, right_knots, right_spline):  # type: ignore[no-untyped-def]
    """Put the driven ends where they are at this step; positive is into the chain, for both. Their jumps of speed, left and right."""
    dt = numbers[DT]
    t, before = counts[STEP] * dt, (counts[STEP] - 1) * dt
    last = counts[N_BODIES]
    left_jump = right_jump = (False, 0.0, 0.0)
    if counts[LEFT_DRIVE] == DISPLACEMENT:
        left_jump = jump_of_speed(left_knots, left_spline, before, t)
        x, w = drive_at(left_knots, left_spline, t)
        place(bodies, 0, x, w, numbers[LEFT_LAST], dt, counts[STEP] == 0 or left_jump[0])
        numbers[LEFT_LAST], numbers[LEFT_SPEED] = x, w
    elif counts[LEFT_DRIVE] == FORCE:
        numbers[LEFT_FORCE], _ = drive_at(left_knots, left_spline, t)
        bodies[LOADS, 1] = bodies[STEADY, 1] + numbers[LEFT_FORCE]
    if counts[RIGHT_DRIVE] == DISPLACEMENT:
        right_jump = jump_of_speed(right_knots, right_spline, before, t)
        x, w = drive_at(right_knots, right_spline, t)
        place(bodies, last + 1, -x, -w, numbers[RIGHT_LAST], dt, counts[STEP] == 0 or right_jump[0])
        numbers[RIGHT_LAST], numbers[RIGHT_SPEED] = -x, -w
    elif counts[RIGHT_DRIVE] == FORCE:
        numbers[RIGHT_FORCE], _ = drive_at(right_knots, right_spline, t)
        bodies[LOADS, last] = bodies[STEADY, last] - numbers[RIGHT_FORCE]
    return left_jump, right_jump


def place(bodies, i, x, w, x_before, dt, begins):  # type: ignore[no-untyped-def]
    """Displacement, half-step velocity and the acceleration that predicts the speed w, of a driven end."""
    bodies[U, i] = x
    # where it begins to move in a step, the onset of its contact is where its speed says
    bodies[V, i] = w if begins else (x - x_before) / dt
    bodies[A, i] = 2.0 * (w - bodies[V, i]) / dt


def hold(bodies, counts, numbers):  # type: ignore[no-untyped-def]
    """After a kick: let the driven ends' velocity and acceleration give their speed at the step."""
    for i, kind, w in (
        (0, counts[LEFT_DRIVE], numbers[LEFT_SPEED]),
        (counts[N_BODIES] + 1, counts[RIGHT_DRIVE], numbers[RIGHT_SPEED]),
    ):
        if kind == DISPLACEMENT:
            bodies[V, i] = w
            bodies[A, i] = 0.0


def power_of_drives(bodies, row, counts, numbers, back):  # type: ignore[no-untyped-def]
    """Power [W] that the driven ends put into the chain at this step."""
    last = counts[N_BODIES]
    power = 0.0
    if counts[LEFT_DRIVE] == DISPLACEMENT:
        power += row[0] * numbers[LEFT_SPEED]
    elif counts[LEFT_DRIVE] == FORCE:
        power += numbers[LEFT_FORCE] * (bodies[V, 1] - back * bodies[A, 1])
    if counts[RIGHT_DRIVE] == DISPLACEMENT:
        power -= row[last] * numbers[RIGHT_SPEED]
    elif counts[RIGHT_DRIVE] == FORCE:
        power -= numbers[RIGHT_FORCE] * (bodies[V, last] - back * bodies[A, last])
    return power


@cache
def loop_of(law: Functions, features: Features) -> Callable:
    """The compiled time loop for the functions of a law, which are `frozen`: laws whose functions do the same share one."""
    return compiled(_make(law, features))


def _make(law: Functions, features: Features) -> Callable:
    LEDGER, DRIVEN, LEAPS = features.ledger, features.driven, features.leaps
    made = sweeps_of(law, features)
    march, raise_peaks = made.march, made.raise_peaks
    kick, drift, dissipate, account, inspect, jolt = made.kick, made.drift, made.dissipate, made.account, made.inspect, made.jolt
    correct = made.correct
    for function in (*vars(made).values(), added, follow, hold, power_of_drives):
        jitable(function)

    def loop(  # type: ignore[no-untyped-def]
        stop, bodies, table, c, h, places, counts, numbers, left_knots, left_spline, right_knots, right_spline,
        sensor_left, sensor_right, sensor_force, recorded, contact_force, contact_overlap,
        snapshot_at, displacement, velocity, energy_at, energies, jump_force, jump_time, corrections, leaps,
    ):  # fmt: skip
        """Advance to step `stop` and look at the state; the status."""
        u, v, a = bodies[U], bodies[V], bodies[A]
        inverse_mass, dt_over_m, loads = bodies[INVERSE_MASS], bodies[DT_OVER_M], bodies[LOADS]
        start, row, peak, kicked = table[START], table[ROW], table[PEAK], table[KICKED]
        dt, n_steps, stride, last_contact = numbers[DT], counts[N_STEPS], counts[STRIDE], counts[N_BODIES]
        n_samples, n_snapshots, n_energies = sensor_force.shape[0], snapshot_at.size, energy_at.size
        front, changed = counts[FRONT], 0
        while counts[STEP] < stop:
            step = counts[STEP]
            sample, snapshot, entry = counts[SAMPLE], counts[SNAPSHOT], counts[ENERGY]
            sample_at = sample * stride if sample < n_samples else NEVER
            snapshot_next = snapshot_at[snapshot] if snapshot < n_snapshots else NEVER
            energy_next = energy_at[entry] if entry < n_energies else NEVER
            # a whole step is one at which more is asked than forces, kick and drift; up to the next one the chain marches
            whole_at = snapshot_next if snapshot_next < energy_next else energy_next
            whole_at = whole_at if whole_at < n_steps else n_steps
            if DRIVEN or step == 0 or (LEAPS and counts[ECHOES] > 0):
                whole_at = step
            if DRIVEN:
                left_jump, right_jump = follow(bodies, counts, numbers, left_knots, left_spline, right_knots, right_spline)
            while front < last_contact and u[front] - u[front + 1] + start[front] > OPEN:
                front += 1
            if step == sample_at:
                for s in range(recorded.size):
                    contact_overlap[sample, s] = u[recorded[s]] - u[recorded[s] + 1] + start[recorded[s]]
            # march to a whole step, the block's end or a sample of contacts, whichever is first; sensors are sampled on the march; a wave's
            # front moves by one contact a step at most
            until = step + LANES if step + LANES < stop else stop
            until = until if until < whole_at else whole_at
            if recorded.size > 0:
                last_sampled = sample_at if step < sample_at else sample_at + 1
                until = until if until < last_sampled else last_sampled
            ordinary = until - step if step < whole_at else 1
            contacts = (front + ordinary + LANES) // LANES * LANES
            contacts = contacts if contacts < start.size else start.size
            done, changed = march(
                u, v, a, dt, dt_over_m, inverse_mass, loads, table, c, h, places, numbers, counts, contacts, ordinary, step == whole_at,
                NEVER if recorded.size > 0 else sample_at, sensor_left, sensor_right, sensor_force, corrections, leaps,
            )  # fmt: skip
            step += done
            counts[STEP] = step
            complete = done == ordinary
            corrected = False
            if LEAPS:
                corrected = not complete and (counts[LEAPT] > 0 or counts[ECHOES] > 0 or changed > 0)
                if corrected:
                    correct(
                        bodies, table, c, h, places, counts, numbers, sensor_left, sensor_right, jump_force, jump_time, corrections, leaps,
                        changed, contacts,
                    )  # fmt: skip
            sample = counts[SAMPLE]
            sample_at = sample * stride if sample < n_samples else NEVER
            if step == sample_at + complete and (recorded.size > 0 or not complete):
                for s in range(sensor_left.size):
                    sensor_force[sample, s] = 0.5 * (row[sensor_left[s]] + row[sensor_right[s]])
                for s in range(recorded.size):
                    contact_force[sample, s] = row[recorded[s]]
                    if LEAPS and corrected:
                        # a jump has moved the bodies
                        contact_overlap[sample, s] = u[recorded[s]] - u[recorded[s] + 1] + start[recorded[s]]
                counts[SAMPLE] = sample + 1
            if complete:
                continue
            # of this step the forces are done
            raise_peaks(row, peak, contacts)
            for e in range(changed):
                row[places[0, e]] = kicked[e]
            if LEAPS and corrected:
                for k in range(contacts):
                    row[k] = corrections[KICK, k]
            scale = 0.5 if step == 0 or step == n_steps else 1.0
            back = 0.5 * dt if step < n_steps else 0.0
            if DRIVEN:
                _, part, w = left_jump
                if part != 0.0:
                    jolt(bodies, table, c, h, numbers, 0, 1, 1.0, part, numbers[LEFT_SPEED], w)
                _, part, w = right_jump
                if part != 0.0:
                    jolt(bodies, table, c, h, numbers, last_contact, last_contact, -1.0, part, numbers[RIGHT_SPEED], -w)
            kick(v, a, scale, dt, dt_over_m, inverse_mass, loads, row, contacts)
            power = 0.0
            if DRIVEN:
                hold(bodies, counts, numbers)
                power = power_of_drives(bodies, row, counts, numbers, back)
            if step == energy_next:
                half = 0.5 * dt if step > 0 else 0.0
                account(bodies, table, c, h, half, back, numbers, power, energies[entry], contacts)
                counts[ENERGY] = entry + 1
            if LEDGER:
                dissipate(v, a, dt, scale, back, row, table[ELASTIC], table[CLAMP], table[VISCOUS_WORK], table[CLAMP_WORK], contacts)
            if DRIVEN:
                numbers[DRIVE_WORK], numbers[DRIVE_REST] = added(numbers[DRIVE_WORK], numbers[DRIVE_REST], scale * dt * power)
            if step == snapshot_next:
                for i in range(counts[N_BODIES]):
                    displacement[snapshot, i] = u[i + 1]
                    velocity[snapshot, i] = v[i + 1] - back * a[i + 1]
                counts[SNAPSHOT] = snapshot + 1
            if step < n_steps:
                drift(u, v, dt, contacts)
            counts[STEP] = step + 1
        counts[FRONT] = front
        status = inspect(bodies, table, c, h, numbers, counts, counts[N_BODIES] + 1)
        return COMPLETE if status == RUNNING and counts[STEP] > n_steps else status

    return loop
