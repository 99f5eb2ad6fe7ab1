"""Correction of the records of a step in which the force of a contact jumps, and of the next
step, with the forces on both sides of the jump."""

from __future__ import annotations

from collections.abc import Callable

from granchain.engine.contact_step import ContactStep, Features, moved_by_jump, predicted
from granchain.engine.drives import work_of_jump
from granchain.engine.ends import move_ends
from granchain.engine.fields import motion_of, write_changed
from granchain.jit.compile import shared


@shared
def note_jump(row, clock, k, jump):
    """Add a jump of the force of contact k to the jumps of this step.

    The recorded forces of the adjacent contacts at the previous step are also stored.
    """
    occurs, behind, before, after, moves, growth = jump
    if occurs:
        n, jumps_now = clock.n_jumps, row.jumps
        jumps_now.contact[n], jumps_now.behind[n], jumps_now.before[n], jumps_now.after[n] = (
            k,
            behind,
            before,
            after,
        )
        jumps_now.moves[n], jumps_now.growth[n] = moves, growth
        clock.n_jumps = n + 1
        for m in (k - 1, k + 1):
            if 0 <= m < row.contacts.force.size:
                row.corrections.past[m] = row.contacts.force[m] - row.corrections.excess[m]


@shared
def force_within_step(m, behind, n, row, later):
    """Return the interpolated force of contact m at a time within the step.

    If the force jumps at this time, the result is the force before the jump, or after it if
    `later`.
    """
    jumps = row.jumps
    # `behind` is 1 at the start of the step and 0 at its end; find the jumps next to the time
    start, end, first, last = row.corrections.past[m], row.contacts.force[m], 1.0, 0.0
    for e in range(n):
        if jumps.contact[e] == m:
            if jumps.behind[e] > behind or (later and jumps.behind[e] == behind):
                if jumps.behind[e] < first or first == 1.0:
                    start, first = jumps.after[e], jumps.behind[e]
            elif jumps.behind[e] >= last:
                end, last = jumps.before[e], jumps.behind[e]
    return start + (end - start) * ((first - behind) / (first - last)) if first > last else end


@shared
def record_jump(row, clock, records, k, behind, f, n, later):
    """Record one side of a jump of contact k: peak and sensors of its beads."""
    peak = row.contacts.peak
    peak[k] = f if f > peak[k] else peak[k]
    slot = clock.sample
    if slot < records.jump_force.shape[0]:
        for s in range(records.sensor_left.size):
            if records.sensor_left[s] == k or records.sensor_right[s] == k:
                m = records.sensor_left[s] + records.sensor_right[s] - k
                felt = 0.5 * (f + force_within_step(m, behind, n, row, later))
                if not felt <= records.jump_force[slot, s]:
                    records.jump_force[slot, s] = felt
                    records.jump_time[slot, s] = (clock.step - behind) * clock.dt


def moving(features: Features) -> Callable:
    """Return a function that moves the bodies next to each jump inside a contact.

    The rest of the step does not include the effect of the jump on them.
    """
    RATE, DRIVEN, ENDS = features.rate, features.driven, features.ends

    def move(row, clock):
        bodies, jumps = row.bodies, row.jumps
        for e in range(clock.n_jumps):
            if jumps.moves[e] == 0.0:
                continue
            k, force = int(jumps.contact[e]), jumps.after[e] - jumps.before[e]
            shift, kick = moved_by_jump(jumps.behind[e], clock.dt, force, jumps.growth[e])
            for i, pushed in ((k, -bodies.inverse_mass[k]), (k + 1, bodies.inverse_mass[k + 1])):
                bodies.u[i] += pushed * shift
                bodies.v[i] += pushed * kick
                if RATE:
                    bodies.a[i] += pushed * force
            if DRIVEN:
                work_of_jump(row, clock, k, kick)
            if ENDS:
                move_ends(row, clock, k, shift, kick, force)

    return move


def correcting(step: ContactStep) -> Callable:
    """Return a function that corrects records of a step with a jump and the next one.

    The function also stores the forces of the kicks.
    """
    RATE, read = step.features.rate, step.read
    coefficients_at, history_at = step.coefficients_at, step.history_at

    def correct(row, clock, records, changed, n):
        """Correct the forces that are recorded, and store those of the kicks.

        The rate of a step is predicted with the accelerations of the previous step, which do not
        include a jump. The kicks are still correct in sum, but forces read from these rates have
        errors of first order. With J the acceleration that the jump adds, the velocity at the step
        is higher by `behind` dt J than predicted. At the next step, the excess of the kick over the
        true force is missing for half a step.
        """
        inverse_mass, force, jumps = row.bodies.inverse_mass, row.contacts.force, row.jumps
        excess, kick, shift = row.corrections.excess, row.corrections.kick, row.corrections.shift
        dt, n_jumps = clock.dt, clock.n_jumps
        for k in range(n):
            kick[k] = force[k]
        write_changed(kick, row.contacts.kicked, row.events, 0, changed)
        if RATE:
            for k in range(n):
                shift[k] += 0.5 * dt * inverse_mass[k] * excess[k]
                shift[k + 1] -= 0.5 * dt * inverse_mass[k + 1] * excess[k]
            for e in range(n_jumps):
                if jumps.moves[e] != 0.0:
                    # The jump has already moved the bodies.
                    continue
                k = int(jumps.contact[e])
                pushed = jumps.behind[e] * dt * (jumps.after[e] - jumps.before[e])
                shift[k] -= inverse_mass[k] * pushed
                shift[k + 1] += inverse_mass[k + 1] * pushed
            for k in range(n):
                if shift[k] != 0.0 or shift[k + 1] != 0.0:
                    d, half, da = motion_of(row, k)
                    r = predicted(half, da, 0.5 * dt) + shift[k] - shift[k + 1]
                    force[k] = read(d, r, coefficients_at(row.c, k), history_at(row.h, k))
            for k in range(n + 1):
                shift[k] = 0.0
        for e in range(n_jumps):
            k, behind = int(jumps.contact[e]), jumps.behind[e]
            record_jump(row, clock, records, k, behind, jumps.before[e], n_jumps, False)
            record_jump(row, clock, records, k, behind, jumps.after[e], n_jumps, True)
        echoes = changed > 0 or n_jumps > 0
        for k in range(excess.size):
            excess[k] = kick[k] - force[k] if echoes and k < n else 0.0
        clock.n_jumps, clock.echoes = 0, echoes

    return correct
