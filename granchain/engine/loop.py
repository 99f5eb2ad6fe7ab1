"""Time loop: kick-drift-kick for a chain of bodies, compiled for one contact law.

Velocities are half-step velocities. Step n consists of: forces at u_n, events, kick to v_{n+1/2},
samples at n, drift to u_{n+1}; step 0 and the last step kick by half. Beads ahead of the front of a
wave that enters a chain at rest are skipped: their contacts are open, so nothing changes, and the
results are bit-identical.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from granchain.contact.model import Functions
from granchain.engine.chain_sweep import (
    NEVER,
    drift,
    flags_of,
    kick_row,
    read_forces,
    read_overlaps,
    sample_step,
    sweeps_of,
)
from granchain.engine.contact_step import Features, contact_step, overlap_of, past_rate
from granchain.engine.drives import follow, hold, jolting, power_of_drives
from granchain.engine.elements import complete_elements, kick_with_elements
from granchain.engine.ends import kick_ends, place_ends, settling
from granchain.engine.energy import COMPLETE, RUNNING, account, added, dissipate, inspection, stores
from granchain.engine.fields import beads_of
from granchain.engine.jumps import correcting
from granchain.jit.accessors import by_address
from granchain.jit.compile import compiled, hot, shared


@cache
def loop_of(law: Functions, features: Features) -> Callable:
    """Return the compiled time loop for the `frozen` functions of a law.

    Laws whose functions are equivalent share one loop.
    """
    return compiled(time_loop(law, features))


@shared
def keep_history(row, records, clock, back):
    """Store the history of every contact in this snapshot."""
    b, k, shot = row.bodies, row.contacts, clock.snapshot
    for i in range(records.snapshot_largest_overlap.shape[1]):
        records.snapshot_largest_overlap[shot, i] = k.largest_overlap[i]
        records.snapshot_overlap[shot, i] = overlap_of(b.u[i], b.u[i + 1], k.start[i])
        records.snapshot_rate[shot, i] = past_rate(b.v[i] - b.v[i + 1], b.a[i] - b.a[i + 1], back)
        for quantity in range(row.h.shape[0]):
            records.snapshot_history[shot, quantity, i] = row.h[quantity, i]


@shared
def complete_step(
    row, clock, records, n, snapshot_due, energy_due, contacts_energy, elements_energy, power, flags
):  # fmt: skip
    """Complete a step after its kicks: energy balance, snapshot, and drift.

    `contacts_energy` is the energy that the contacts store and have lost, at an entry of the energy
    balance, and `elements_energy` are those of the elements; `power` is the power of the drives
    [W]; `flags` are from `granchain.engine.chain_sweep.flags_of`.
    """
    b, k, step, dt, n_steps = row.bodies, row.contacts, clock.step, clock.dt, clock.n_steps
    _, _, ledger, _ = flags
    scale = 0.5 if step == 0 or step == n_steps else 1.0
    back, half = 0.5 * dt if step < n_steps else 0.0, 0.5 * dt if step > 0 else 0.0
    if energy_due:
        drive_work = clock.drive_work + clock.drive_rest + half * power
        energies = account(row, half, back, drive_work, contacts_energy, elements_energy, n, ledger)
        for i in range(len(energies)):
            records.energies[clock.entry, i] = energies[i]
        clock.entry += 1
    if ledger:
        dissipate(
            b.v, b.a, dt, scale, back, k.force, k.elastic, k.clamp, k.viscous_work, k.clamp_work, n
        )  # fmt: skip
    clock.drive_work, clock.drive_rest = added(
        clock.drive_work, clock.drive_rest, scale * dt * power
    )
    if snapshot_due:
        for i in range(clock.n_bodies):
            records.displacement[clock.snapshot, i] = b.u[i + 1]
            records.velocity[clock.snapshot, i] = b.v[i + 1] - back * b.a[i + 1]
        if clock.snapshot < records.snapshot_largest_overlap.shape[0]:
            keep_history(row, records, clock, back)
        clock.snapshot += 1
    if step < n_steps:
        drift(b.u, b.v, dt, n)
    clock.step = step + 1


def time_loop(law: Functions, features: Features) -> Callable:
    """Return the plain function that advances a chain with a law, for some features."""
    DRIVEN, LEAPS = features.driven, features.leaps
    ELEMENTS, ENDS, flags = features.elements, features.ends, flags_of(features)
    step_of_contact = contact_step(law, features)
    proceed, _ = sweeps_of(step_of_contact)
    inspect, correct = inspection(step_of_contact), correcting(step_of_contact)
    stored, jolt = stores(step_of_contact), jolting(step_of_contact)
    settle = settling(step_of_contact)

    def loop(stop, looks, tables, clock, followed, records):
        """Advance to step `stop`, inspect the state if `looks`, and return the status."""
        row, records = beads_of(tables), by_address(records)
        force, n_steps = row.contacts.force, clock.n_steps
        while clock.step < stop:
            step = clock.step
            sample_at, snapshot_at, energy_at = next_stops(clock, records)
            # A full step needs more than forces, kick, and drift. The chain advances to the next
            # full step.
            full_at = min(min(snapshot_at, energy_at), n_steps)
            if DRIVEN or ELEMENTS or step == 0 or (LEAPS and clock.echoes > 0):
                full_at = step
            if DRIVEN:
                follow(row, clock, followed)
            if ENDS:
                settle(row, clock, 0.5 * clock.dt if clock.earlier + step > 0 else 0.0)
            # advance to the next full step, or to the end of the block if it is earlier
            until = min(min(step + clock.band, stop), full_at)
            ordinary = until - step if step < full_at else 1
            done, changed, n = proceed(row, clock, records, ordinary, step == full_at)
            step += done
            clock.step = step
            proceeded = done == ordinary
            corrected = (
                LEAPS and not proceeded and (clock.n_jumps > 0 or clock.echoes > 0 or changed > 0)
            )
            if corrected:
                correct(row, clock, records, changed, n)
            sample_at, _, _ = next_stops(clock, records)
            if step == sample_at and not proceeded:
                read_overlaps(row, records, clock.sample, 0, force.size)
                read_forces(force, records, clock.sample, 0, force.size)
                clock.sample += 1
            if proceeded:
                continue
            if DRIVEN:
                jolt(row, clock)
            # The first kick of a run that continues another one is a full kick.
            begun = clock.earlier + step > 0
            dt, scale = clock.dt, 1.0 if begun and step < n_steps else 0.5
            back = 0.5 * dt if step < n_steps else 0.0
            kick_row(row, 0, n, changed, corrected, scale, dt, flags)
            power = lost = radiated = 0.0
            elements_energy = 0.0, 0.0, 0.0, 0.0
            half_dt = 0.5 * dt if begun else 0.0
            if ELEMENTS:
                lost = kick_with_elements(row, clock, scale * dt, half_dt, back, n)
            if ENDS:
                radiated = kick_ends(row, clock, scale * dt, half_dt, back)
                lost += radiated
            if DRIVEN:
                hold(row)
                half, due = 0.5 * dt if step > 0 else 0.0, step == energy_at
                time = 0.5 * dt if step == 0 or step == n_steps else dt
                power, taken = power_of_drives(row, clock, records, back, half, time, due)
                lost += taken
            contacts_energy = stored(row, n) if step == energy_at else (0.0, 0.0)
            if ELEMENTS:
                elements_energy = complete_elements(
                    row, clock, records, lost, radiated, step == snapshot_at, step == energy_at
                )
            complete_step(
                row, clock, records, n, step == snapshot_at, step == energy_at, contacts_energy,
                elements_energy, power, flags,
            )  # fmt: skip
            if ENDS and step < n_steps:
                place_ends(row, clock)
        status = inspect(row, clock) if looks else RUNNING
        return COMPLETE if status == RUNNING and clock.step > n_steps else status

    return loop


@shared
@hot
def next_stops(clock, records):
    """Return the steps of the next sample, snapshot, and entry of the energy balance.

    NEVER if there is none.
    """
    sample_at = sample_step(clock.sample, clock, records)
    snapshot_at = (
        records.snapshot_at[clock.snapshot] if clock.snapshot < records.snapshot_at.size else NEVER
    )
    energy_at = records.energy_at[clock.entry] if clock.entry < records.energy_at.size else NEVER
    return sample_at, snapshot_at, energy_at
