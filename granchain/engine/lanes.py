"""Eight rows of beads side by side in the lanes of a vector, marching together.

Column bead * LANES + lane of a table of lanes belongs to that bead of that row: the sweeps are those of a single row, with a neighbour LANES
columns on and a time step for each column. Lanes only march: forces, events, kick and drift, and the stops of sensors. A whole step, a
jump of the force that is corrected and the look at the state are the row's own, in its own tables and by its own loop, so that drives,
records and unequal steps need nothing here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from granchain.contact.law import OPEN
from granchain.contact.model import Functions
from granchain.engine import fields
from granchain.engine.contact_step import Features, contact_step, motion, overlap_of, past_rate, predicted
from granchain.engine.fields import LANES
from granchain.engine.loop import NEVER, next_stops
from granchain.engine.row import leaf_sweeps
from granchain.engine.specialise import compiled, gatherer, jitable, scatterer
from granchain.status import Status

RUNNING = int(Status.RUNNING)

# Rows of the times of each column: the step, half of it, and that over which the last forces' losses are not yet in the ledger.
TIMES = ("dt", "half_dt", "pending", "clamped")
Times = fields.named("Times", tuple(fields.Field(name, "contact", "") for name in TIMES))
SAVED = ("u", "v", "a", "next_u", "next_v", "next_a", "peak")


class Side(NamedTuple):
    """Tables of rows side by side.

    Parameters
    ----------
    bodies, contacts, c, h, times : (quantities, columns) array
        As those of a state, a column for each bead or contact of each lane.
    force : (columns,) array
        Of the contacts; the first LANES are 0.
    events : (2, columns) integer array
        As those of a state, of all lanes.
    saved : (len(SAVED), columns) array
        What a contact whose kick differs from the recorded force had before a sweep.
    """

    bodies: np.ndarray
    contacts: np.ndarray
    c: np.ndarray
    h: np.ndarray
    times: np.ndarray
    force: np.ndarray
    saved: np.ndarray
    events: np.ndarray


def side_of(tables: fields.Tables) -> Side:
    """Room for LANES rows whose tables are alike."""
    # an odd number of cache lines: the rows of a table then begin at different parts of a page
    width = tables.contacts.shape[-1] // LANES * LANES + LANES
    columns = (width + 1 - width % 2) * LANES
    shapes = (
        (len(fields.BODY), columns), (len(fields.CONTACT), columns), (tables.c.shape[-2], columns), (tables.h.shape[-2], columns),
        (len(TIMES), columns), (columns,), (len(SAVED), columns),
    )  # fmt: skip
    made = fields.aligned(shapes)
    return Side(*made, np.zeros((len(fields.EVENT), columns), dtype=np.int64))


times_of_side = fields.rows_as(Times)

# What lanes take from the tables of a row, and what they give back.
BODIES = {name: place for place, name in enumerate(fields.Bodies._fields)}
CONTACTS = {name: place for place, name in enumerate(fields.Contacts._fields)}


@cache
def lanes_of(loop: Callable, law: Functions, features: Features) -> Callable:
    """A compiled loop over groups of LANES members, around the compiled loop of one."""
    RATE, HISTORY, LEDGER, FORGETS = features.rate, features.history, features.ledger, features.forgets
    LEAPS, LOADED, CLAMPS = features.leaps, features.loaded, features.lowest >= 0
    step_of_contact = contact_step(law, features)
    happened, event = step_of_contact.happened, step_of_contact.event
    coefficients_at, history_at = gatherer(features.n_coefficients), gatherer(features.n_history)
    store_history = scatterer(features.n_history)
    net, kicked_to = motion(RATE, LOADED)
    detect, sweep, sweep_rate, _ = leaf_sweeps(law, step_of_contact, features, LANES)
    S = LANES
    from granchain.engine.stack import drives_of, records_of, tables_of

    changing_bodies = tuple(BODIES[name] for name in ("u", "v", *(("a",) if RATE else ())))
    fixed_bodies = tuple(BODIES[name] for name in ((("inverse_mass",) if RATE else ("dt_over_m",)) + (("loads",) if LOADED else ())))
    changing_contacts = tuple(
        CONTACTS[name]
        for name in ("peak", "reach", *(("elastic", "clamp", "viscous_work", "clamp_work") if LEDGER else ()), *(("lost",) if FORGETS else ()))
    )
    FORCE, START = CONTACTS["force"], CONTACTS["start"]
    n_history, n_coefficients = features.n_history, features.n_coefficients

    def take(table, m, side, lane, row, n):  # type: ignore[no-untyped-def]
        for k in range(n):
            side[row, k * S + lane] = table[m, row, k]

    def give(table, m, side, lane, row, n):  # type: ignore[no-untyped-def]
        for k in range(n):
            table[m, row, k] = side[row, k * S + lane]

    def settle(m, lane, side, tables, clocks, n):  # type: ignore[no-untyped-def]
        """What does not change while a member marches."""
        dt = clocks[m].dt
        for row in fixed_bodies:
            take(tables.bodies, m, side.bodies, lane, row, n)
        take(tables.contacts, m, side.contacts, lane, START, n)
        for row in range(n_coefficients):
            take(tables.c, m, side.c, lane, row, n)
        for k in range(n):
            side.times[0, k * S + lane] = dt
            side.times[1, k * S + lane] = 0.5 * dt

    def enter(m, lane, side, tables, clocks, n):  # type: ignore[no-untyped-def]
        """A member's state goes to its lane."""
        for row in changing_bodies:
            take(tables.bodies, m, side.bodies, lane, row, n + 1)
        for row in changing_contacts:
            take(tables.contacts, m, side.contacts, lane, row, n)
        for row in range(n_history):
            take(tables.h, m, side.h, lane, row, n)
        for k in range(n):
            side.force[(k + 1) * S + lane] = tables.contacts[m, FORCE, k]
        if LEDGER:
            pending = clocks[m].pending
            for k in range(n):
                side.times[2, k * S + lane] = pending
                side.times[3, k * S + lane] = 0.0

    def leave(m, lane, side, tables, clocks, n):  # type: ignore[no-untyped-def]
        """And back."""
        for row in changing_bodies:
            give(tables.bodies, m, side.bodies, lane, row, n + 1)
        for row in changing_contacts:
            give(tables.contacts, m, side.contacts, lane, row, n)
        for row in range(n_history):
            give(tables.h, m, side.h, lane, row, n)
        for k in range(n):
            tables.contacts[m, FORCE, k] = side.force[(k + 1) * S + lane]
        if LEDGER:
            clock = clocks[m]
            clock.pending = side.times[2, lane]
            if CLAMPS:
                for k in range(n):
                    clock.clamped += int(side.times[3, k * S + lane])

    def add_new(bodies, contacts, times, c, h, force, active, known, n):  # type: ignore[no-untyped-def]
        u, v, a, start = bodies.u, bodies.v, bodies.a, contacts.start
        events, k = detect(u, v, a, start, times.dt, times.half_dt, c, h, 0, n)
        length = known
        while events > 0:
            k -= 1
            d = overlap_of(u[k], u[k + S], start[k])
            half = v[k] - v[k + S]
            r = predicted(half, a[k] - a[k + S], times.half_dt[k]) if RATE else 0.0
            if happened(d, d - times.dt[k] * half, r, coefficients_at(c, k), history_at(h, k)):
                events -= 1
                again = False
                for e in range(known):
                    again |= active[e] == k
                if not again:
                    active[length] = k
                    length += 1
        return length

    def renew(bodies, contacts, times, c, h, force, saved, active, changed_at, length, n):  # type: ignore[no-untyped-def]
        u, v, a, start = bodies.u, bodies.v, bodies.a, contacts.start
        changed, first = 0, 0
        for turn in range(2):
            if turn == 1:
                first = length
                length = add_new(bodies, contacts, times, c, h, force, active, first, n)
            e = first
            while e < length:
                k = active[e]
                dt, half_dt = times.dt[k], times.half_dt[k]
                d = overlap_of(u[k], u[k + S], start[k])
                half, da = v[k] - v[k + S], a[k] - a[k + S]
                r = predicted(half, da, half_dt) if RATE else half
                ck = coefficients_at(c, k)
                hk = history_at(h, k)
                before = d - dt * half
                if not happened(d, before, r, ck, hk):
                    length -= 1
                    active[e] = active[length]
                    continue
                e += 1
                last, viscous = force[k + S], 0.0
                if LEDGER:
                    viscous = last - contacts.elastic[k] - contacts.clamp[k]
                renewed, kick, record, lost, work = event(d, half, r, past_rate(half, da, half_dt), dt, last, viscous, ck, hk)
                store_history(h, k, renewed)
                if FORGETS:
                    contacts.lost[k] += lost
                if work != 0.0:
                    contacts.viscous_work[k] += work
                    contacts.clamp_work[k] -= work
                if kick != record:
                    changed_at[changed] = k
                    contacts.kicked[changed], contacts.recorded[changed] = kick, record
                    saved[0, changed], saved[1, changed], saved[2, changed] = u[k], v[k], a[k]
                    saved[3, changed], saved[4, changed], saved[5, changed] = u[k + S], v[k + S], a[k + S]
                    saved[6, changed] = contacts.peak[k]
                    changed += 1
        return changed, length

    def push(i, u, v, bodies, times, force):  # type: ignore[no-untyped-def]
        """Kick and drift of one body."""
        dt = times.dt[i]
        total = net(force[i], force[i + S], bodies.loads[i])
        acceleration = 0.0
        if RATE:
            acceleration = bodies.inverse_mass[i] * total
            bodies.a[i] = acceleration
        bodies.v[i] = kicked_to(v, 1.0, dt, bodies.dt_over_m[i], acceleration, total)
        bodies.u[i] = u + dt * bodies.v[i]

    def sample(first, done, clocks, records, force):  # type: ignore[no-untyped-def]
        """Sensors of the members whose sample it is; steps from the beginning of the march to the next one."""
        following = NEVER
        for lane in range(S):
            clock = clocks[first + lane]
            at = clock.sample * clock.stride - clock.step if clock.sample < records.sensor_force.shape[1] else NEVER
            if at == done:
                slot = clock.sample
                for s in range(records.sensor_left.shape[1]):
                    left, right = records.sensor_left[first + lane, s], records.sensor_right[first + lane, s]
                    records.sensor_force[first + lane, slot, s] = 0.5 * (force[(left + 1) * S + lane] + force[(right + 1) * S + lane])
                clock.sample = slot + 1
                at = (slot + 1) * clock.stride - clock.step if slot + 1 < records.sensor_force.shape[1] else NEVER
            following = min(following, at)
        return following

    def count_clamped(clamp, clamped, n):  # type: ignore[no-untyped-def]
        for k in range(n):
            clamped[k] += 1.0 if clamp[k] > 0.0 else 0.0

    def settle_pending(pending, dt, n):  # type: ignore[no-untyped-def]
        for k in range(n):
            pending[k] = dt[k]

    def march(first, span, n, side, clocks, records, length, due):  # type: ignore[no-untyped-def]
        bodies, contacts, times = fields.bodies_of(side.bodies), fields.contacts_of(side.contacts), times_of_side(side.times)
        c, h, force, saved, active, changed_at = side.c, side.h, side.force, side.saved, side.events[0], side.events[1]
        u, v, a = bodies.u, bodies.v, bodies.a
        pending = times.pending
        for done in range(span):
            changed = 0
            if LEAPS:
                events, _ = detect(u, v, a, contacts.start, times.dt, times.half_dt, c, h, 0, n)
                if events > 0:
                    if LEDGER and done > 0:
                        settle_pending(times.pending, times.dt, n)
                    return done, length
            elif HISTORY:
                changed, length = renew(bodies, contacts, times, c, h, force, saved, active, changed_at, length, n)
            if RATE:
                clamped = sweep_rate(
                    u, v, a, contacts.start, times.dt, times.half_dt, pending, bodies.inverse_mass, bodies.loads, c, h, force,
                    contacts.peak, contacts.reach, contacts.elastic, contacts.clamp, contacts.viscous_work, contacts.clamp_work, 0, n,
                )  # fmt: skip
                pending = times.dt
                if clamped > 0:
                    count_clamped(contacts.clamp, times.clamped, n)
            else:
                sweep(u, v, contacts.start, times.dt, bodies.dt_over_m, bodies.loads, c, h, force, contacts.peak, contacts.reach, 0, n)
            for e in range(changed):
                k = changed_at[e]
                force[k + S] = contacts.recorded[e]
                contacts.peak[k] = force[k + S] if force[k + S] > saved[6, e] else saved[6, e]
            if done == due:
                due = sample(first, done, clocks, records, force)
            for e in range(changed):
                force[changed_at[e] + S] = contacts.kicked[e]
            for e in range(changed):
                k = changed_at[e]
                push(k, saved[0, e], saved[1, e], bodies, times, force)
                push(k + S, saved[3, e], saved[4, e], bodies, times, force)
        if LEDGER and span > 0:
            settle_pending(times.pending, times.dt, n)
        return span, length

    def lanes(first, last, steps, side, stops, tables, clocks, drives, records, status):  # type: ignore[no-untyped-def]
        """Advance the members first..last - 1, a multiple of LANES of them, by a block of steps."""
        width = tables.contacts.shape[2]
        for group in range(first, last, S):
            for lane in range(S):
                settle(group + lane, lane, side, tables, clocks, width)
                enter(group + lane, lane, side, tables, clocks, width)
                stops[lane] = min(clocks[group + lane].step + steps, clocks[group + lane].n_steps + 1)
            length, marching = 0, True
            bodies, contacts = fields.bodies_of(side.bodies), fields.contacts_of(side.contacts)
            u, start = bodies.u, contacts.start
            while marching:
                span, n, due = S, 0, NEVER
                for lane in range(S):
                    m = group + lane
                    clock = clocks[m]
                    while True:
                        sample_at, snapshot_at, energy_at = next_stops(clock, records_of(records, m))
                        whole_at = min(min(snapshot_at, energy_at), clock.n_steps)
                        if records.recorded.shape[1] > 0:
                            whole_at = min(whole_at, sample_at)
                        if clock.step == 0 or (LEAPS and clock.echoes > 0):
                            whole_at = clock.step
                        if clock.step >= stops[lane] or whole_at > clock.step:
                            break
                        leave(m, lane, side, tables, clocks, width)
                        loop(
                            clock.step + 1, False, tables_of(tables, m), clock, drives_of(drives, m), records_of(records, m)
                        )
                        enter(m, lane, side, tables, clocks, width)
                    until = min(whole_at, stops[lane])
                    span = min(span, until - clock.step)
                    due = min(due, sample_at - clock.step)
                    front = clock.front
                    while front < clock.n_bodies and overlap_of(u[front * S + lane], u[(front + 1) * S + lane], start[front * S + lane]) > OPEN:
                        front += 1
                    clock.front = front
                    n = max(n, front)
                if span <= 0:
                    break
                n = min((n + span + LANES) // LANES * LANES, width)
                done, length = march(group, span, n * S, side, clocks, records, length, due)
                for lane in range(S):
                    clocks[group + lane].step += done
                if LEAPS and done < span:
                    for lane in range(S):
                        m = group + lane
                        if eventful(side, lane, n):
                            leave(m, lane, side, tables, clocks, width)
                            loop(clocks[m].step + 1, False, tables_of(tables, m), clocks[m], drives_of(drives, m), records_of(records, m))
                            enter(m, lane, side, tables, clocks, width)
            for lane in range(S):
                m = group + lane
                leave(m, lane, side, tables, clocks, width)
                status[m] = loop(stops[lane], True, tables_of(tables, m), clocks[m], drives_of(drives, m), records_of(records, m))

    def eventful(side, lane, n):  # type: ignore[no-untyped-def]
        bodies, contacts, times = fields.bodies_of(side.bodies), fields.contacts_of(side.contacts), times_of_side(side.times)
        u, v, a, start = bodies.u, bodies.v, bodies.a, contacts.start
        for bead in range(n):
            k = bead * S + lane
            d = overlap_of(u[k], u[k + S], start[k])
            half = v[k] - v[k + S]
            r = predicted(half, a[k] - a[k + S], times.half_dt[k]) if RATE else 0.0
            if happened(d, d - times.dt[k] * half, r, coefficients_at(side.c, k), history_at(side.h, k)):
                return True
        return False

    for function in (net, kicked_to, coefficients_at, history_at, happened, event, store_history, overlap_of, past_rate, predicted,
                     renew, march, sample, push, add_new, next_stops):
        jitable(function, hot=True)
    for function in (tables_of, drives_of, records_of, fields.bodies_of, fields.contacts_of, times_of_side, take, give, settle, enter, leave, eventful):
        jitable(function)
    jitable(count_clamped, rows=True)
    jitable(settle_pending, rows=True)
    return compiled(lanes)
