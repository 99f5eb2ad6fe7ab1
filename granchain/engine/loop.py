"""The time loop: kick-drift-kick on a row of bodies, compiled for one contact law.

Velocities are half-step velocities. Step n is: forces at u_n, events, kick to v_{n+1/2}, samples at
n, drift to u_{n+1}; step 0 and the last step kick by half. Beads ahead of the front of a wave that
enters a row at rest are left out: their contacts are open, so nothing changes, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from granchain.contact.model import Functions
from granchain.engine.contact_step import ContactStep, Features, contact_step
from granchain.engine.drag import kick_with_drag, power_of_drag
from granchain.engine.drives import NO_JUMP, follow, hold, jolting, power_of_drives
from granchain.engine.fields import beads_of
from granchain.engine.inspection import COMPLETE, RUNNING, inspection
from granchain.engine.jumps import correcting
from granchain.engine.ledger import accounting, added, dissipation
from granchain.engine.row import Sweeps, read_forces, read_overlaps, sweeps_of
from granchain.jit.accessors import held
from granchain.jit.cache import compiled
from granchain.jit.options import hot, shared

# A step that no run reaches.
NEVER = 2**62


@cache
def loop_of(law: Functions, features: Features) -> Callable:
    """The compiled time loop for the functions of a law, which are `frozen`: laws whose
    functions do the same share one."""
    return compiled(time_loop(law, features))


def whole_step(
    law: Functions, step_of_contact: ContactStep, features: Features, sweeps: Sweeps
) -> Callable:
    """Function that does the rest of a step whose forces are done: kick, ledger, snapshot,
    drift."""
    LEDGER, DRIVEN, DRAG = features.ledger, features.driven, features.drag
    kick, drift, raise_peaks = sweeps.kick, sweeps.drift, sweeps.raise_peaks
    account, dissipate = accounting(law, features), dissipation(features.lowest >= 0)
    jolt = jolting(step_of_contact, features)

    @hot
    def complete(row, clock, records, n, changed, corrected, due, speed_jumps):
        """`due` are the steps of the next snapshot and entry of the ledger, `speed_jumps` those
        of the driven ends."""
        bodies, contacts = row.bodies, row.contacts
        u, v, a, force = bodies.u, bodies.v, bodies.a, contacts.force
        step, dt, n_steps, last_contact = clock.step, clock.dt, clock.n_steps, clock.n_bodies
        # of this step the forces are done
        raise_peaks(force, contacts.peak, 0, n)
        for e in range(changed):
            k = row.events.changed[e]
            force[k] = contacts.kicked[k]
        if corrected:
            for k in range(n):
                force[k] = row.corrections.kick[k]
        scale = 0.5 if step == 0 or step == n_steps else 1.0
        back = 0.5 * dt if step < n_steps else 0.0
        if DRIVEN:
            jolt(row, clock, 0, 1, 1.0, speed_jumps[0], clock.left_speed)
            jolt(row, clock, last_contact, last_contact, -1.0, speed_jumps[1], clock.right_speed)
        if DRAG:
            half_dt = 0.5 * dt if step > 0 else 0.0
            kick_with_drag(
                v, a, scale, dt, half_dt, bodies.inverse_mass, bodies.loads, force, bodies.drag, n
            )
        else:
            kick(v, a, scale, dt, bodies.dt_over_m, bodies.inverse_mass, bodies.loads, force, 0, n)
        power = dragged = 0.0
        if DRIVEN:
            hold(bodies, clock)
            power = power_of_drives(bodies, force, clock, back)
        if DRAG:
            dragged = power_of_drag(v, a, back, bodies.mass, bodies.drag, n)
        if step == due[1]:
            half = 0.5 * dt if step > 0 else 0.0
            energies = account(
                row, half, back, clock.drive_work + clock.drive_rest + half * power, n
            )
            for i in range(len(energies)):
                records.energies[clock.entry, i] = energies[i]
            if DRAG:
                records.drag[clock.entry] = clock.drag_work + clock.drag_rest + half * dragged
            clock.entry += 1
        if LEDGER:
            dissipate(
                v,
                a,
                dt,
                scale,
                back,
                force,
                contacts.elastic,
                contacts.clamp,
                contacts.viscous_work,
                contacts.clamp_work,
                n,
            )
        if DRIVEN:
            clock.drive_work, clock.drive_rest = added(
                clock.drive_work, clock.drive_rest, scale * dt * power
            )
        if DRAG:
            clock.drag_work, clock.drag_rest = added(
                clock.drag_work, clock.drag_rest, scale * dt * dragged
            )
        if step == due[0]:
            take_snapshot(bodies, records, clock, back)
        if step < n_steps:
            drift(u, v, dt, 0, n)
        clock.step = step + 1

    return complete


def time_loop(law: Functions, features: Features) -> Callable:
    DRIVEN, LEAPS, DRAG = features.driven, features.leaps, features.drag
    step_of_contact = contact_step(law, features)
    sweeps = sweeps_of(law, step_of_contact, features)
    march, complete = sweeps.march, whole_step(law, step_of_contact, features, sweeps)
    inspect, correct = (
        inspection(law, step_of_contact, features),
        correcting(step_of_contact, features),
    )

    def loop(stop, looks, tables, clock, drives, records):
        """Advance to step `stop`, and look at the state where asked to; the status."""
        row, records = beads_of(tables), held(records)
        force, n_steps = row.contacts.force, clock.n_steps
        speed_jumps = NO_JUMP, NO_JUMP
        while clock.step < stop:
            step = clock.step
            sample_at, snapshot_at, energy_at = next_stops(clock, records)
            # a whole step is one at which more is asked than forces, kick and drift; up to the next
            # one the chain marches
            whole_at = min(min(snapshot_at, energy_at), n_steps)
            if DRIVEN or DRAG or step == 0 or (LEAPS and clock.echoes > 0):
                whole_at = step
            if DRIVEN:
                speed_jumps = follow(row.bodies, clock, drives)
            # march to a whole step or the block's end, whichever is first
            until = min(min(step + clock.band, stop), whole_at)
            ordinary = until - step if step < whole_at else 1
            done, changed, n = march(row, clock, records, ordinary, step == whole_at)
            step += done
            clock.step = step
            marched = done == ordinary
            corrected = (
                LEAPS and not marched and (clock.n_jumps > 0 or clock.echoes > 0 or changed > 0)
            )
            if corrected:
                correct(row, clock, records, changed, n)
            sample_at, _, _ = next_stops(clock, records)
            if step == sample_at and not marched:
                read_overlaps(row, records, clock.sample, 0, force.size)
                read_forces(force, records, clock.sample, 0, force.size)
                clock.sample += 1
            if marched:
                continue
            complete(
                row, clock, records, n, changed, corrected, (snapshot_at, energy_at), speed_jumps
            )
        status = inspect(row, clock) if looks else RUNNING
        return COMPLETE if status == RUNNING and clock.step > n_steps else status

    return loop


@shared
@hot
def next_stops(clock, records):
    """Steps of the next sample, snapshot and entry of the ledger; NEVER where there is none."""
    sample_at = (
        clock.sample * clock.stride if clock.sample < records.sensor_force.shape[0] else NEVER
    )
    snapshot_at = (
        records.snapshot_at[clock.snapshot] if clock.snapshot < records.snapshot_at.size else NEVER
    )
    energy_at = records.energy_at[clock.entry] if clock.entry < records.energy_at.size else NEVER
    return sample_at, snapshot_at, energy_at


@shared
def take_snapshot(bodies, records, clock, back):
    """Displacement and velocity of every body at this step."""
    for i in range(clock.n_bodies):
        records.displacement[clock.snapshot, i] = bodies.u[i + 1]
        records.velocity[clock.snapshot, i] = bodies.v[i + 1] - back * bodies.a[i + 1]
    clock.snapshot += 1
