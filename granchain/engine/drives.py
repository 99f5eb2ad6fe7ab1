"""Drives: position and speed of the driven bodies, driving forces, and work done on the chain.

A body whose displacement is prescribed has no inverse mass in the loop: like a wall, it moves only
as prescribed. Its drive supplies the energy that its neighbours and its elements take, and the
kinetic energy of its motion less the work of the constant loads on it.
"""

from __future__ import annotations

from collections.abc import Callable

from granchain.engine.contact_step import ContactStep, predicted
from granchain.engine.energy import added
from granchain.engine.fields import FORCE, motion_of
from granchain.jit.compile import shared


def drive_at(knots, spline, t):
    """Return the value and slope of a drive at time t.

    The value is constant outside the table. At the time of the first knot the drive has started,
    and at the time of the last knot it has ended.
    """
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


# The speed of the drive does not jump in this step; see `jump_of_speed`.
NO_JUMP = (False, 0.0, 0.0)


def jump_of_speed(knots, spline, before, t):
    """Return the jump of a drive's speed in a step (before, t].

    The speed jumps if the table of the drive begins or ends in the step. Returns whether the drive
    begins, the fraction of the step after the jump minus one half, and the speed before the jump;
    zeros if there is no jump.
    """
    # A run that begins inside the table, or at its first knot, starts with the speed of the drive.
    if 0.0 <= before < knots[0] <= t:
        return True, (t - knots[0]) / (t - before) - 0.5, 0.0
    if 0.0 <= before < knots[-1] <= t:
        x = knots[-1] - knots[-2]
        return (
            False,
            (t - knots[-1]) / (t - before) - 0.5,
            (3.0 * spline[0, -1] * x + 2.0 * spline[1, -1]) * x + spline[2, -1],
        )
    return NO_JUMP


@shared
def follow(row, clock, followed):
    """Set the state of the driven bodies at this step, and the jumps of their speed."""
    bodies, driven, drives = row.bodies, row.driven, row.drives
    dt, step = clock.dt, clock.earlier + clock.step
    t, before = step * dt, (step - 1) * dt
    for e in range(drives.kind.size):
        if drives.kind[e] == FORCE:
            i = int(drives.body[e])
            bodies.loads[i] = bodies.steady[i]
    for e in range(drives.kind.size):
        first, after = int(drives.first[e]), int(drives.after[e])
        knots, spline = followed.knots[first:after], followed.spline[:, first : after - 1]
        i, sign = int(drives.body[e]), drives.sign[e]
        x, w = drive_at(knots, spline, t)
        x, w = sign * x, sign * w
        if drives.kind[e] == FORCE:
            driven.force[e] = x
            bodies.loads[i] += x
            continue
        begins, driven.part[e], earlier = jump_of_speed(knots, spline, before, t)
        driven.before[e] = sign * earlier
        bodies.u[i] = x
        # If the drive starts to move in this step, its speed determines the onset of its contact.
        bodies.v[i] = w if step == 0 or begins else (x - driven.last[e]) / dt
        bodies.a[i] = 2.0 * (w - bodies.v[i]) / dt
        driven.last[e], driven.speed[e] = x, w
        if bodies.mass[i] > 0.0:
            body_energy = 0.5 * bodies.mass[i] * w * w - bodies.steady[i] * x
            if clock.step > 0:
                add_work(row, clock, e, body_energy - driven.given[e])
            driven.given[e] = body_energy


def add_work(row, clock, e, work):
    """Add to the total work of the drives and to the work of one drive [J]."""
    clock.drive_work, clock.drive_rest = added(clock.drive_work, clock.drive_rest, work)
    driven = row.driven
    driven.work[e], driven.rest[e] = added(driven.work[e], driven.rest[e], work)


@shared
def hold(row):
    """Set the speed of placed bodies after a kick.

    Velocity and acceleration are set so that they give the speed at the step.
    """
    bodies, driven, drives = row.bodies, row.driven, row.drives
    for e in range(drives.kind.size):
        if drives.kind[e] != FORCE:
            i = int(drives.body[e])
            bodies.v[i], bodies.a[i] = driven.speed[e], 0.0


@shared
def power_of_drives(row, clock, records, back, half, time, energy_due):
    """Return the power of the drives and the power that the dashpots of placed bodies take [W].

    The function also adds the work of each drive over the `time` of the step. At an entry of the
    energy balance, the elapsed part of this time is `half` [s].
    """
    bodies, force, driven, drives = row.bodies, row.contacts.force, row.driven, row.drives
    power = taken = 0.0
    several = energy_due and records.drive_work.shape[1] > 0
    for e in range(drives.kind.size):
        i = int(drives.body[e])
        if drives.kind[e] == FORCE:
            drive_power = driven.force[e] * (bodies.v[i] - back * bodies.a[i])
            power += drive_power
        else:
            speed, lost = driven.speed[e], drives.damping[e] * driven.speed[e] * driven.speed[e]
            left = force[i - 1] if i > 0 else 0.0
            right = force[i] if i <= clock.n_bodies else 0.0
            drive_power = (right - left) * speed + lost
            power += (right - left) * speed
            power += lost
            taken += lost
        if several:
            records.drive_work[clock.entry, e] = (
                driven.work[e] + driven.rest[e] + half * drive_power
            )
        driven.work[e], driven.rest[e] = added(driven.work[e], driven.rest[e], time * drive_power)
    return power, taken


def work_of_jump(row, clock, k, kick):
    """Add the work of the drives against a jump of the force of contact k.

    The momentum of the jump is `kick`.
    """
    for e in range(row.drives.kind.size):
        if row.drives.kind[e] != FORCE and 0 <= k - row.drives.body[e] + 1 <= 1:
            inwards = 1.0 if row.drives.body[e] == k else -1.0
            add_work(row, clock, e, kick * inwards * row.driven.speed[e])


def jolting(step: ContactStep) -> Callable:
    """Return a function for a step in which the speed of a driven body jumps."""
    features, force_terms = step.features, step.force_terms
    RATE, LEDGER, ONSET = features.rate, features.ledger, features.weight
    coefficients_at, history_at = step.coefficients_at, step.history_at

    def jolt_contact(row, clock, k, body, inwards, e):
        """Apply a jump of a drive's speed at one contact to the body beyond it."""
        share, before, speed = row.driven.part[e], row.driven.before[e], row.driven.speed[e]
        if ONSET >= 0 and row.h[ONSET, k] != 1.0:
            return
        bodies, contacts, dt = row.bodies, row.contacts, clock.dt
        d, half, da = motion_of(row, k)
        r = predicted(half, da, 0.5 * dt)
        r_before = r - inwards * (speed - before)
        ck, hk = coefficients_at(row.c, k), history_at(row.h, k)
        f, elastic, clamp = force_terms(d, r if RATE else 0.0, ck, hk)
        f_before, _, clamp_before = force_terms(d, r_before if RATE else 0.0, ck, hk)
        bodies.v[body] += share * inwards * dt * bodies.inverse_mass[body] * (f - f_before)
        add_work(row, clock, e, share * inwards * dt * (f * speed - f_before * before))
        if bodies.inverse_mass[body] == 0.0:
            # A placed body keeps its motion, and its drive, if it has one, takes the force.
            beyond = bodies.v[body] + 0.5 * dt * bodies.a[body]
            for e in range(row.drives.kind.size):
                if row.drives.kind[e] != FORCE and row.drives.body[e] == body:
                    add_work(row, clock, e, -share * inwards * dt * (f - f_before) * beyond)
        if LEDGER:
            contacts.clamp_work[k] += share * dt * (r * clamp - r_before * clamp_before)
            viscous, viscous_before = f - elastic - clamp, f_before - elastic - clamp_before
            contacts.viscous_work[k] += share * dt * (r * viscous - r_before * viscous_before)

    def jolt(row, clock):
        """Correct kick, work, and losses of a step by a fraction of their jumps.

        The sums of the steps equal the integrals to second order if a step that crosses a jump
        includes an additional (theta - 1/2) of the jump. theta is the fraction of the step after
        the jump. If the contact closes in this step, its onset weight has this effect.
        """
        for e in range(row.drives.kind.size):
            if row.driven.part[e] != 0.0:
                i = int(row.drives.body[e])
                if i <= clock.n_bodies:
                    jolt_contact(row, clock, i, i + 1, 1.0, e)
                if i > 0:
                    jolt_contact(row, clock, i - 1, i - 1, -1.0, e)

    return jolt
