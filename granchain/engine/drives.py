"""Driven ends: where they are, how fast, what they push, what they do on the chain."""

from __future__ import annotations

from collections.abc import Callable

from granchain.engine.contact_step import ContactStep, predicted
from granchain.engine.fields import DISPLACEMENT, FORCE, motion_of
from granchain.engine.ledger import added
from granchain.jit.options import shared


def drive_at(knots, spline, t):
    """Value and slope of a drive at time t; constant outside its table. At its first knot it
    has begun, at its last it has ended."""
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


# Of a driven end's speed in a step; see `jump_of_speed`.
NO_JUMP = (False, 0.0, 0.0)


def jump_of_speed(knots, spline, before, t):
    """Where a drive's table begins or ends in a step (before, t], its speed jumps: whether it
    begins, the part of the step that lies behind the jump, less one half, and the speed in front of
    it. Zeros where there is none.
    """
    # a run that begins inside the table, or with it, begins with its speed
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
def follow(bodies, clock, drives):
    """Put the driven ends where they are at this step; positive is into the chain, for both.
    Their jumps of speed, left and right."""
    dt, step, last = clock.dt, clock.earlier + clock.step, clock.n_bodies
    t, before = step * dt, (step - 1) * dt
    left_jump = right_jump = NO_JUMP
    if clock.left_drive == DISPLACEMENT:
        left_jump = jump_of_speed(drives.left_knots, drives.left_spline, before, t)
        x, w = drive_at(drives.left_knots, drives.left_spline, t)
        place_end(bodies, 0, x, w, clock.left_last, dt, step == 0 or left_jump[0])
        clock.left_last, clock.left_speed = x, w
    elif clock.left_drive == FORCE:
        clock.left_force, _ = drive_at(drives.left_knots, drives.left_spline, t)
        bodies.loads[1] = bodies.steady[1] + clock.left_force
    if clock.right_drive == DISPLACEMENT:
        right_jump = jump_of_speed(drives.right_knots, drives.right_spline, before, t)
        x, w = drive_at(drives.right_knots, drives.right_spline, t)
        place_end(bodies, last + 1, -x, -w, clock.right_last, dt, step == 0 or right_jump[0])
        clock.right_last, clock.right_speed = -x, -w
    elif clock.right_drive == FORCE:
        clock.right_force, _ = drive_at(drives.right_knots, drives.right_spline, t)
        bodies.loads[last] = bodies.steady[last] - clock.right_force
    return left_jump, right_jump


def place_end(bodies, i, x, w, x_before, dt, begins):
    """Displacement, half-step velocity and the acceleration that predicts the speed w, of a
    driven end."""
    bodies.u[i] = x
    # where it begins to move in a step, the onset of its contact is given by its speed
    bodies.v[i] = w if begins else (x - x_before) / dt
    bodies.a[i] = 2.0 * (w - bodies.v[i]) / dt


@shared
def hold(bodies, clock):
    """After a kick: let the driven ends' velocity and acceleration give their speed at the step."""
    if clock.left_drive == DISPLACEMENT:
        bodies.v[0], bodies.a[0] = clock.left_speed, 0.0
    if clock.right_drive == DISPLACEMENT:
        bodies.v[clock.n_bodies + 1], bodies.a[clock.n_bodies + 1] = clock.right_speed, 0.0


@shared
def power_of_drives(bodies, force, clock, back):
    """Power [W] that the driven ends put into the chain at this step."""
    last = clock.n_bodies
    power = 0.0
    if clock.left_drive == DISPLACEMENT:
        power += force[0] * clock.left_speed
    elif clock.left_drive == FORCE:
        power += clock.left_force * (bodies.v[1] - back * bodies.a[1])
    if clock.right_drive == DISPLACEMENT:
        power -= force[last] * clock.right_speed
    elif clock.right_drive == FORCE:
        power -= clock.right_force * (bodies.v[last] - back * bodies.a[last])
    return power


def jolting(step: ContactStep) -> Callable:
    """Function for a step in which a driven end's speed jumps."""
    features, parts = step.features, step.parts
    RATE, LEDGER, ONSET = features.rate, features.ledger, features.weight
    coefficients_at, history_at = step.coefficients_at, step.history_at

    def jolt(row, clock, k, body, inwards, jump, speed):
        """Kick, work and losses of the step: by a part of their jumps more.

        The sums of the steps are the integrals up to order two where a step that crosses a jump
        counts (theta - 1/2) of it more, theta the part of the step that lies behind it. Where the
        contact closes in this step, its onset weight does that.
        """
        _, part, before = jump
        before = inwards * before
        if part == 0.0 or (ONSET >= 0 and row.h[ONSET, k] != 1.0):
            return
        bodies, contacts, dt = row.bodies, row.contacts, clock.dt
        d, half, da = motion_of(row, k)
        r = predicted(half, da, 0.5 * dt)
        r_before = r - inwards * (speed - before)
        ck, hk = coefficients_at(row.c, k), history_at(row.h, k)
        f, elastic, clamp = parts(d, r if RATE else 0.0, ck, hk)
        f_before, _, clamp_before = parts(d, r_before if RATE else 0.0, ck, hk)
        bodies.v[body] += part * inwards * dt * bodies.inverse_mass[body] * (f - f_before)
        work = part * inwards * dt * (f * speed - f_before * before)
        clock.drive_work, clock.drive_rest = added(clock.drive_work, clock.drive_rest, work)
        if LEDGER:
            contacts.clamp_work[k] += part * dt * (r * clamp - r_before * clamp_before)
            viscous, viscous_before = f - elastic - clamp, f_before - elastic - clamp_before
            contacts.viscous_work[k] += part * dt * (r * viscous - r_before * viscous_before)

    return jolt
