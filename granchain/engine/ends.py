"""Compliant ends: walls that the contact force moves.

With modes, the displacement of the wall is the sum of those of the modes, and the force F of the
contact acts on each mode, which is a mass on a spring and a dashpot to the ground. The modes move
like bodies, with dashpots as in `granchain.engine.elements`.

Without mass, the velocity of the wall is F/Z. The sum P of the kicks gives the momentum at a half
step, so that the displacement of the wall is P/Z there, and P/Z + dt/2 F/Z at the next step.
Overlap and rate therefore depend on the force of this step, F = F(d - dt/2 F/Z, v - F/Z). This
equation is solved before the step. The table has P/Z in place of the displacement, and F/Z in place
of the acceleration. The kicks contain the onset weights of the law. In the step of an onset, the
wall moves only after the onset, which follows from the motion of the body toward the wall at rest.
The weight is that of a damping ~ d^a with a constant rate. The motion of the wall adds a term ~
d^(2a), whose error is of order 1 + 2a: for a = 1/4, a restitution of 0.5, and a steel bead on 2 mm
of steel, 1e-5 of the speed at auto.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from granchain.contact import elementary
from granchain.engine.contact_step import ContactStep
from granchain.jit.compile import shared

# Largest number of iterations for the force of a wall without mass, and the accepted relative
# error, which is a few rounding errors. A nearly linear equation takes three to five iterations.
MOST_ITERATIONS, ROUNDING = 60, 2.0**-50
LOG_2 = math.log(2.0)


@shared
def side_of(wall):
    """Return the sign of the displacement of a wall that is pushed outwards."""
    return -1.0 if wall == 0 else 1.0


@shared
def kick_ends(row, clock, time, half_dt, back):
    """Kick the walls of compliant ends, and return the power that they take [W].

    The arguments are those of `kick_with_elements`.
    """
    bodies, elements, force = row.bodies, row.elements, row.contacts.force
    power = 0.0
    for wall in (0, clock.n_bodies + 1):
        push = -force[0] if wall == 0 else force[wall - 1]
        velocity = acceleration = 0.0
        modes = 0
        for j in range(elements.body.size):
            if elements.body[j] == wall:
                modes += 1
                c = elements.damping[j]
                if elements.mass[j] > 0.0:
                    spring = elements.stiffness[j] * elements.u[j]
                    free = push + elements.load[j] - spring - c * elements.v[j]
                    elements.a[j] = free / (elements.mass[j] + half_dt * c)
                    elements.v[j] += time * elements.a[j]
                    speed = elements.v[j] - back * elements.a[j]
                    power += c * speed * speed
                    velocity += elements.v[j]
                    acceleration += elements.a[j]
                else:
                    elements.u[j] += time * push / c
                    velocity = elements.a[j]
                    # uses the force of the kick, so that the energy balance is exact at an onset
                    power += push * velocity
        if modes > 0:
            bodies.v[wall], bodies.a[wall] = velocity, acceleration
    return power


@shared
def place_ends(row, clock):
    """Set the displacements of walls with modes after the drift."""
    bodies, elements = row.bodies, row.elements
    for wall in (0, clock.n_bodies + 1):
        displacement, modes = 0.0, 0
        for j in range(elements.body.size):
            if elements.body[j] == wall and elements.mass[j] > 0.0:
                modes += 1
                displacement += elements.u[j]
        if modes > 0:
            bodies.u[wall] = displacement


@shared
def move_ends(row, clock, k, shift, kick, force):
    """Move the walls of contact k by a jump of its force; see `moved_by_jump`."""
    elements = row.elements
    for j in range(elements.body.size):
        wall = int(elements.body[j])
        if wall == (0 if k == 0 else k + 1) and not 0 < wall <= clock.n_bodies:
            outwards, light = side_of(wall), elements.inverse_mass[j]
            elements.u[j] += outwards * light * shift
            elements.v[j] += outwards * light * kick
            elements.a[j] += outwards * light * force
            if light == 0.0:
                elements.u[j] += outwards * kick / elements.damping[j]
                work = outwards * kick * elements.a[j]
                clock.elements_work += work
                clock.ends_work += work


def settling(step: ContactStep) -> Callable:
    """Return a function that sets the state of walls without mass at a step."""
    recorded = step.recorded
    coefficients_at, history_at = step.coefficients_at, step.history_at

    def solve(d, half, r, slow, lag, soft, dt, ck, hk):
        """Return the force F of a contact with a wall that it moves, by the Illinois method.

        The overlap is d - lag F/Z, the half-step rate is half - slow F/Z, the rate is r - F/Z, and
        `soft` is 1/Z.
        """
        low, high = 0.0, recorded(d, half, r, dt, ck, hk)
        if high == 0.0:
            return 0.0
        size, above = abs(high), high
        # residuals at both ends of the interval
        x = high * soft
        below = recorded(d - lag * x, half - slow * x, r - x, dt, ck, hk) - high
        if below * above >= 0.0:
            return high
        for _ in range(MOST_ITERATIONS):
            f = (low * below - high * above) / (below - above)
            x = f * soft
            residual = recorded(d - lag * x, half - slow * x, r - x, dt, ck, hk) - f
            if residual * below < 0.0:
                low, above = high, below
            else:
                above *= 0.5
            high, below = f, residual
            if abs(residual) <= ROUNDING * size or abs(high - low) <= ROUNDING * size:
                break
        return high

    def settle_end(row, clock, j, half_dt):
        """Set the state of the wall of element j; see `settle`, and `solve` for lag and slow."""
        bodies, elements, dt = row.bodies, row.elements, clock.dt
        wall = int(elements.body[j])
        outwards = side_of(wall)
        body, k = (1, 0) if wall == 0 else (wall - 1, wall - 1)
        ck, hk = coefficients_at(row.c, k), history_at(row.h, k)
        soft, speed_before = 1.0 / elements.damping[j], outwards * elements.a[j]
        toward, acceleration = outwards * bodies.v[body], outwards * bodies.a[body]
        r, passed = toward + half_dt * acceleration, outwards * elements.u[j]
        before = passed - half_dt * speed_before
        # overlap without the force of this step
        d = outwards * bodies.u[body] - passed + row.contacts.start[k]
        if half_dt == 0.0:
            f = solve(d, r, r, 1.0, 0.0, soft, dt, ck, hk)
            bodies.u[wall], bodies.v[wall], bodies.a[wall] = elements.u[j], outwards * f * soft, 0.0
            elements.a[j] = bodies.v[wall]
            return
        lag, slow, half = half_dt, 0.5, toward - (passed - before) / dt
        if speed_before == 0.0 and 0.0 < d < dt * toward:
            theta = d / (dt * toward)
            # for F ~ d^a, the wall has moved by theta dt/(1 + a) F/Z
            whole = recorded(d, half, r, dt, ck, hk)
            half_force = recorded(0.5 * d, half, r, dt, ck, hk)
            positive = whole > 0.0 and half_force > 0.0
            power = elementary.log(whole / half_force) / LOG_2 if positive else 1.0
            lag = theta * dt / (1.0 + max(power, 0.0))
            # The law derives theta and the rate at the onset from d and the half-step rate. For a
            # force that begins steeply, theta must be accurate, and for other forces the rate.
            slow = lag / (theta * dt) if power < 1.0 else 1.0 - 0.5 / theta
        f = solve(d, half, r, slow, lag, soft, dt, ck, hk)
        x = passed + lag * f * soft
        if f == 0.0 and d - dt * (0.5 * speed_before) <= 0.0:
            # the contact has opened; before this step, the wall moved with the previous velocity
            x = before + dt * speed_before
            half = toward - speed_before
        else:
            half -= slow * f * soft
        bodies.u[wall], bodies.v[wall] = outwards * x, outwards * (toward - half)
        elements.a[j] = outwards * f * soft
        bodies.a[wall] = (elements.a[j] - bodies.v[wall]) / half_dt

    def settle(row, clock, half_dt):
        """Set displacement, velocity, and acceleration of the walls without mass at this step.

        They give the solved force, and in an onset also the fraction of the step after it.
        `half_dt` is the time since the half-step velocities (0 at the first step).
        """
        elements = row.elements
        for j in range(elements.body.size):
            wall = elements.body[j]
            if elements.mass[j] == 0.0 and (wall == 0.0 or wall > clock.n_bodies):
                settle_end(row, clock, j, half_dt)

    return settle
