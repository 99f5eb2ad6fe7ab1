"""Eight rows of beads side by side in the lanes of a vector, marching together.

Column bead * LANES + lane of a table of lanes belongs to that bead of that row: the sweeps are those of a single row, with a neighbour
LANES columns on and a time step for each column. Lanes only march: forces, events, kick and drift, and the samples of sensors. A whole
step, a jump of the force that is corrected and the look at the state are the row's own, in its own tables and by its own loop, so that
records, counts and unequal steps need nothing here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from granchain.contact.law import OPEN
from granchain.contact.model import Functions
from granchain.engine.contact_step import ContactStep, Features, contact_step, motion, overlap_of, past_rate, predicted
from granchain.engine.fields import (
    BODY,
    CONTACT,
    EVENT,
    LANES,
    Bodies,
    Contacts,
    Drives,
    Field,
    Records,
    Tables,
    aligned,
    bodies_of,
    contacts_of,
    member_of,
    named,
    rows_as,
)
from granchain.engine.loop import NEVER, next_stops
from granchain.engine.row import leaf_sweeps
from granchain.engine.specialise import compiled, gatherer, jitable, lower_new_named_rows, row_from, scatterer
from granchain.status import Status

RUNNING = int(Status.RUNNING)
# Lanes that have an event at one place of the row, from which the histories of all lanes there are updated in a vector: one by one, this
# many take as long (Ma-Liu; AMD EPYC, Zen 5).
IN_VECTOR = 3

# Of each column; those of a lane are alike.
TIME = (
    Field("dt", "contact", "time step [s]"),
    Field("half_dt", "contact", "half of it [s]"),
    Field("pending", "contact", "time over which the last forces' losses are not yet in the ledger [s]"),
    Field("clamped", "contact", "steps in which the clamp acted, until the row is given back"),
)
# What the two bodies of a contact, and its peak, were before a sweep whose kick there is not the recorded force.
KEPT = (
    Field("u", "event", "[m]"),
    Field("v", "event", "[m/s]"),
    Field("u_next", "event", "[m]"),
    Field("v_next", "event", "[m/s]"),
    Field("peak", "event", "[N]"),
)
Times, Kept = named("Times", TIME), named("Kept", KEPT)
times_of, kept_of = rows_as(Times), rows_as(Kept)
lower_new_named_rows()
tables_of, drives_of, records_of = member_of(Tables), member_of(Drives), member_of(Records)


class Side(NamedTuple):
    """Tables of rows side by side.

    Parameters
    ----------
    bodies, contacts, c, h, times, kept : (quantities, columns) array
        As those of a state, a column for each bead or contact of each lane.
    force : (columns,) array
        Of the contacts, LANES columns on: column k has the force on that body's left.
    events : (2, columns) integer array
        As those of a state, of all lanes.
    stops : (LANES,) integer array
        Step at which a lane's block ends.
    """

    bodies: np.ndarray
    contacts: np.ndarray
    c: np.ndarray
    h: np.ndarray
    times: np.ndarray
    kept: np.ndarray
    force: np.ndarray
    events: np.ndarray
    stops: np.ndarray


def side_of(tables: Tables) -> Side:
    """Room for LANES of the rows of a stack."""
    # an odd number of cache lines a row, and one more than there are contacts: no two rows begin at the same part of a page
    columns = ((tables.contacts.shape[-1] + 1) | 1) * LANES
    counts = (len(BODY), len(CONTACT), tables.c.shape[-2], tables.h.shape[-2], len(TIME), len(KEPT))
    bodies, contacts, c, h, times, kept, force = aligned((*((count, columns) for count in counts), (columns,)))
    return Side(
        bodies, contacts, c, h, times, kept, force, np.zeros((len(EVENT), columns), dtype=np.int64), np.zeros(LANES, dtype=np.int64)
    )


class Transfers(NamedTuple):
    """Between a row's own tables and its lane.

    Parameters
    ----------
    settle, enter, leave : callable
        (tables, clocks, m, side, lane, n): what does not change in a march, what does, and what goes back, of n contacts.
    """

    settle: Callable
    enter: Callable
    leave: Callable


def transfers(features: Features) -> Transfers:
    """What a march under a law reads and writes goes to the lanes and back, and nothing else."""
    RATE, LEDGER, CLAMPS = features.rate, features.ledger, features.lowest >= 0
    n_coefficients, n_history = features.n_coefficients, features.n_history

    def places(kind, *names):  # type: ignore[no-untyped-def]
        return tuple(kind._fields.index(name) for name in names)

    of_bodies = places(Bodies, "inverse_mass" if RATE else "dt_over_m", "loads")
    moving = places(Bodies, "u", "v", "a")
    ledgers = ("elastic", "clamp", "viscous_work", "clamp_work") if LEDGER else ()
    of_contacts = places(Contacts, "peak", "reach", *ledgers, *(("lost",) if features.forgets else ()))
    START, FORCE = places(Contacts, "start", "force")

    def take(table, m, side, lane, row, n):  # type: ignore[no-untyped-def]
        for k in range(n):
            side[row, k * LANES + lane] = table[m, row, k]

    def give(table, m, side, lane, row, n):  # type: ignore[no-untyped-def]
        for k in range(n):
            table[m, row, k] = side[row, k * LANES + lane]

    def settle(tables, clocks, m, side, lane, n):  # type: ignore[no-untyped-def]
        times, dt = times_of(side.times), clocks[m].dt
        for row in of_bodies:
            take(tables.bodies, m, side.bodies, lane, row, n)
        take(tables.contacts, m, side.contacts, lane, START, n)
        for row in range(n_coefficients):
            take(tables.c, m, side.c, lane, row, n)
        for k in range(lane, n * LANES + lane, LANES):
            times.dt[k], times.half_dt[k] = dt, 0.5 * dt

    def enter(tables, clocks, m, side, lane, n):  # type: ignore[no-untyped-def]
        times, pending = times_of(side.times), clocks[m].pending
        for row in moving:
            take(tables.bodies, m, side.bodies, lane, row, n)
        for row in of_contacts:
            take(tables.contacts, m, side.contacts, lane, row, n)
        for row in range(n_history):
            take(tables.h, m, side.h, lane, row, n)
        for k in range(n):
            column = k * LANES + lane
            side.force[column + LANES] = tables.contacts[m, FORCE, k]
            times.pending[column] = pending
            times.clamped[column] = 0.0

    def leave(tables, clocks, m, side, lane, n):  # type: ignore[no-untyped-def]
        clock, times = clocks[m], times_of(side.times)
        for row in moving:
            give(tables.bodies, m, side.bodies, lane, row, n)
        for row in of_contacts:
            give(tables.contacts, m, side.contacts, lane, row, n)
        for row in range(n_history):
            give(tables.h, m, side.h, lane, row, n)
        for k in range(n):
            tables.contacts[m, FORCE, k] = side.force[(k + 1) * LANES + lane]
        clock.pending = times.pending[lane]
        if CLAMPS and LEDGER:
            for k in range(n):
                clock.clamped += int(times.clamped[k * LANES + lane])

    for function in (take, give, times_of):
        jitable(function)
    return Transfers(settle, enter, leave)


def marching(law: Functions, step: ContactStep, features: Features) -> tuple[Callable, Callable]:
    """Steps of all lanes, up to one with a jump of the force; and whether a lane has an event."""
    RATE, HISTORY, LEDGER, LEAPS, FORGETS = features.rate, features.history, features.ledger, features.leaps, features.forgets
    PLACES = HISTORY and not RATE and not FORGETS and features.weight < 0
    happened, event, event_in_place = step.happened, step.event, contact_step(law, features).event
    coefficients_at, history_at = gatherer(features.n_coefficients), gatherer(features.n_history)
    store_history = scatterer(features.n_history)
    net, kicked = motion(RATE, features.loaded)
    detect, sweep, sweep_rate, _ = leaf_sweeps(law, step, features, LANES)

    def state_at(u, v, a, start, dt, half_dt, k):  # type: ignore[no-untyped-def]
        """Overlap, the one before, half-step rate, its growth and the rate of a contact."""
        d, half, da = overlap_of(u[k], u[k + LANES], start[k]), v[k] - v[k + LANES], a[k] - a[k + LANES]
        return d, d - dt[k] * half, half, da, predicted(half, da, half_dt[k]) if RATE else half

    def eventful(side, lane, n):  # type: ignore[no-untyped-def]
        bodies, contacts, times = bodies_of(side.bodies), contacts_of(side.contacts), times_of(side.times)
        for k in range(lane, n * LANES, LANES):
            d, before, _, _, r = state_at(bodies.u, bodies.v, bodies.a, contacts.start, times.dt, times.half_dt, k)
            if happened(d, before, r if RATE else 0.0, coefficients_at(side.c, k), history_at(side.h, k)):
                return True
        return False

    def add_new(bodies, contacts, times, side, known, n):  # type: ignore[no-untyped-def]
        """Append to the list of active contacts those with an event that are not on it; its new length."""
        active, length = side.events[1], known
        events, k = detect(bodies.u, bodies.v, bodies.a, contacts.start, times.dt, times.half_dt, side.c, side.h, 0, n)
        while events > 0:
            k -= 1
            d, before, _, _, r = state_at(bodies.u, bodies.v, bodies.a, contacts.start, times.dt, times.half_dt, k)
            if happened(d, before, r if RATE else 0.0, coefficients_at(side.c, k), history_at(side.h, k)):
                events -= 1
                again = False
                for e in range(known):
                    again |= active[e] == k
                if not again:
                    active[length] = k
                    length += 1
        return length

    def renew(bodies, contacts, times, kept, side, length, n):  # type: ignore[no-untyped-def]
        """Update the history of every contact with an event; how many kicks differ from the recorded force, and the list's length."""
        force, changed_at, active = side.force, side.events[0], side.events[1]
        changed, first = 0, 0
        for turn in range(2):
            if turn == 1:
                first = length
                length = add_new(bodies, contacts, times, side, first, n)
            e = first
            while e < length:
                k = active[e]
                d, before, half, da, r = state_at(bodies.u, bodies.v, bodies.a, contacts.start, times.dt, times.half_dt, k)
                ck, hk = coefficients_at(side.c, k), history_at(side.h, k)
                if not happened(d, before, r, ck, hk):
                    length -= 1
                    active[e] = active[length]
                    continue
                e += 1
                last, viscous = force[k + LANES], 0.0
                if LEDGER:
                    viscous = last - contacts.elastic[k] - contacts.clamp[k]
                past = past_rate(half, da, times.half_dt[k])
                renewed, kick, record, lost, work = event(d, half, r, past, times.dt[k], last, viscous, ck, hk)
                store_history(side.h, k, renewed)
                if FORGETS:
                    contacts.lost[k] += lost
                if work != 0.0:
                    contacts.viscous_work[k] += work
                    contacts.clamp_work[k] -= work
                if kick != record:
                    changed_at[changed] = k
                    contacts.kicked[changed], contacts.recorded[changed] = kick, record
                    kept.u[changed], kept.u_next[changed] = bodies.u[k], bodies.u[k + LANES]
                    kept.v[changed], kept.v_next[changed] = bodies.v[k], bodies.v[k + LANES]
                    kept.peak[changed] = contacts.peak[k]
                    changed += 1
        return changed, length

    def update_at(bodies, contacts, times, side, k):  # type: ignore[no-untyped-def]
        """Update the histories of all lanes at column k and the next ones, one by one; how many had an event."""
        found = 0
        for place in range(k, k + LANES):
            d, before, half, _, r = state_at(bodies.u, bodies.v, bodies.a, contacts.start, times.dt, times.half_dt, place)
            ck, hk = coefficients_at(side.c, place), history_at(side.h, place)
            if happened(d, before, r, ck, hk):
                renewed, _, _, _, _ = event(d, half, r, half, times.dt[place], 0.0, 0.0, ck, hk)
                store_history(side.h, place, renewed)
                found += 1
        return found

    def update_all_at(u, v, start, dt, c, h, first, count):  # type: ignore[no-untyped-def]
        """The same in a vector."""
        u, v, start, dt = row_from(u, first), row_from(v, first), row_from(start, first), row_from(dt, first)
        found = 0
        for k in range(count):
            d, half = overlap_of(u[k], u[k + LANES], start[k]), v[k] - v[k + LANES]
            ck, hk = coefficients_at(c, first + k), history_at(h, first + k)
            found += happened(d, d - dt[k] * half, half, ck, hk)
            renewed, _, _, _, _ = event_in_place(d, half, half, half, dt[k], 0.0, 0.0, ck, hk)
            store_history(h, first + k, renewed)
        return found

    def renew_places(bodies, contacts, times, side, length, n):  # type: ignore[no-untyped-def]
        """As `renew`, where every kick is the recorded force and nothing is lost; the list is of places, each by its first column."""
        last_found, places, first = side.events[0], side.events[1], 0
        for turn in range(2):
            if turn == 1:
                first = length
                events, k = detect(bodies.u, bodies.v, bodies.a, contacts.start, times.dt, times.half_dt, side.c, side.h, 0, n)
                while events > 0:
                    k = (k - 1) // LANES * LANES
                    here, _ = detect(bodies.u, bodies.v, bodies.a, contacts.start, times.dt, times.half_dt, side.c, side.h, k, LANES)
                    events -= here
                    again = here == 0
                    for e in range(first):
                        again |= places[e] == k
                    if not again:
                        places[length], last_found[length] = k, here
                        length += 1
            e = first
            while e < length:
                k = places[e]
                if last_found[e] >= IN_VECTOR:
                    found = update_all_at(bodies.u, bodies.v, contacts.start, times.dt, side.c, side.h, k, LANES)
                else:
                    found = update_at(bodies, contacts, times, side, k)
                last_found[e] = found
                e += 1
                if found == 0:
                    length, e = length - 1, e - 1
                    places[e], last_found[e] = places[length], last_found[length]
        return length

    def push(bodies, times, force, k, u, v):  # type: ignore[no-untyped-def]
        """Kick and drift of one body by the forces beside it."""
        dt = times.dt[k]
        total = net(force[k], force[k + LANES], bodies.loads[k])
        # kicks that differ from the recorded force are those of laws with a rate
        bodies.a[k] = bodies.inverse_mass[k] * total
        bodies.v[k] = kicked(v, 1.0, dt, bodies.dt_over_m[k], bodies.a[k], total)
        bodies.u[k] = u + dt * bodies.v[k]

    def sample(clocks, records, first, done, force):  # type: ignore[no-untyped-def]
        """Sensors of the rows whose sample it is; steps from the beginning of the march to the next one."""
        due = NEVER
        for lane in range(LANES):
            m = first + lane
            clock = clocks[m]
            slot = clock.sample
            if slot < records.sensor_force.shape[1] and slot * clock.stride == clock.step + done:
                for s in range(records.sensor_left.shape[1]):
                    left, right = records.sensor_left[m, s] + 1, records.sensor_right[m, s] + 1
                    records.sensor_force[m, slot, s] = 0.5 * (force[left * LANES + lane] + force[right * LANES + lane])
                slot += 1
                clock.sample = slot
            if slot < records.sensor_force.shape[1]:
                due = min(due, slot * clock.stride - clock.step)
        return due

    def count_clamped(clamp, clamped, n):  # type: ignore[no-untyped-def]
        for k in range(n):
            clamped[k] += 1.0 if clamp[k] > 0.0 else 0.0

    def take_over(pending, dt, n):  # type: ignore[no-untyped-def]
        for k in range(n):
            pending[k] = dt[k]

    def reached(u, start, front, last):  # type: ignore[no-untyped-def]
        """The first contact, of those from `front` on, that no lane has closed; `last` where there is none before it."""
        closed = True
        while closed and front < last:
            closed = False
            for k in range(front * LANES, (front + 1) * LANES):
                closed |= overlap_of(u[k], u[k + LANES], start[k]) > OPEN
            front += closed
        return front

    def march(side, clocks, records, first, steps, front, last, length, due):  # type: ignore[no-untyped-def]
        """Steps done, the front, and the length of the list of active contacts; `due` is how far the next sample is.

        Ahead of the `front`, the first contact that no lane has closed, everything is at rest. It is looked at before each step: behind a
        front contacts open again.
        """
        bodies, contacts, times, kept = bodies_of(side.bodies), contacts_of(side.contacts), times_of(side.times), kept_of(side.kept)
        u, v, a, start, force, c, h = bodies.u, bodies.v, bodies.a, contacts.start, side.force, side.c, side.h
        changed_at, pending, done = side.events[0], times.pending, 0
        n = (front + 1) * LANES
        while done < steps:
            changed, front = 0, reached(u, start, front, last)
            n = (front + 1) * LANES
            if LEAPS:
                events, _ = detect(u, v, a, start, times.dt, times.half_dt, c, h, 0, n)
                if events > 0:
                    break
            elif PLACES:
                length = renew_places(bodies, contacts, times, side, length, n)
            elif HISTORY:
                changed, length = renew(bodies, contacts, times, kept, side, length, n)
            if RATE:
                clamped = sweep_rate(
                    u, v, a, start, times.dt, times.half_dt, pending, bodies.inverse_mass, bodies.loads, c, h, force,
                    contacts.peak, contacts.reach, contacts.elastic, contacts.clamp, contacts.viscous_work, contacts.clamp_work, 0, n,
                )  # fmt: skip
                pending = times.dt
                if clamped > 0:
                    count_clamped(contacts.clamp, times.clamped, n)
            else:
                sweep(u, v, start, times.dt, bodies.dt_over_m, bodies.loads, c, h, force, contacts.peak, contacts.reach, 0, n)
            for e in range(changed):
                k, record = changed_at[e], contacts.recorded[e]
                force[k + LANES] = record
                contacts.peak[k] = record if record > kept.peak[e] else kept.peak[e]
            if done == due:
                due = sample(clocks, records, first, done, force)
            for e in range(changed):
                force[changed_at[e] + LANES] = contacts.kicked[e]
            for e in range(changed):
                k = changed_at[e]
                push(bodies, times, force, k, kept.u[e], kept.v[e])
                push(bodies, times, force, k + LANES, kept.u_next[e], kept.v_next[e])
            done += 1
        if RATE and done > 0:
            take_over(times.pending, times.dt, n if LEDGER else LANES)
        return done, front, length

    for function in (
        bodies_of, contacts_of, times_of, kept_of, overlap_of, predicted, past_rate, net, kicked, coefficients_at, history_at,
        store_history, happened, state_at, push, event_in_place,
    ):  # fmt: skip
        jitable(function, hot=True)
    for called in (event, add_new, renew, sample, reached, update_at, renew_places):
        jitable(called)
    jitable(update_all_at, rows=True)
    jitable(count_clamped, rows=True)
    jitable(take_over, rows=True)
    return march, eventful


@cache
def lanes_of(loop: Callable, law: Functions, features: Features) -> Callable:
    """A compiled loop over members, LANES of them at a time, around the compiled loop of one."""
    LEAPS = features.leaps
    settle, enter, leave = transfers(features)
    march, eventful = marching(law, contact_step(law, features), features)

    def alone(tables, clocks, drives, records, m, stop, looks):  # type: ignore[no-untyped-def]
        """A member's own loop, in its own tables."""
        return loop(stop, looks, tables_of(tables, m), clocks[m], drives_of(drives, m), records_of(records, m))

    def whole_step(tables, clocks, drives, records, m, side, lane, swept):  # type: ignore[no-untyped-def]
        """A step of one lane by its own loop; how many contacts have been swept since."""
        clock = clocks[m]
        leave(tables, clocks, m, side, lane, swept)
        alone(tables, clocks, drives, records, m, clock.step + 1, False)
        swept = max(swept, min((clock.front + 1 + LANES) // LANES * LANES, tables.contacts.shape[2]))
        enter(tables, clocks, m, side, lane, swept)
        return swept

    def together(tables, clocks, drives, records, first, side):  # type: ignore[no-untyped-def]
        """March until one of the lanes is at the end of its block."""
        width, last, length, swept = tables.contacts.shape[2], clocks[first].n_bodies, 0, 0
        for lane in range(LANES):
            if clocks[first + lane].step == 0:
                alone(tables, clocks, drives, records, first + lane, 1, False)
            settle(tables, clocks, first + lane, side, lane, width)
            enter(tables, clocks, first + lane, side, lane, width)
        while True:
            steps, front, due = NEVER, 0, NEVER
            for lane in range(LANES):
                m, stop = first + lane, side.stops[lane]
                clock = clocks[m]
                sample_at, whole_at = whole_and_sample(clock, records_of(records, m))
                while clock.step < stop and whole_at == clock.step:
                    swept = whole_step(tables, clocks, drives, records, m, side, lane, swept)
                    sample_at, whole_at = whole_and_sample(clock, records_of(records, m))
                steps, due = min(steps, min(whole_at, stop) - clock.step), min(due, sample_at - clock.step)
                front = max(front, clock.front)
            if steps <= 0:
                break
            done, front, length = march(side, clocks, records, first, steps, front, last, length, due)
            swept = max(swept, front + 1)
            for lane in range(LANES):
                clocks[first + lane].step += done
                clocks[first + lane].front = front
            if LEAPS and done < steps:
                for lane in range(LANES):
                    if eventful(side, lane, front + 1):
                        swept = whole_step(tables, clocks, drives, records, first + lane, side, lane, swept)
        for lane in range(LANES):
            leave(tables, clocks, first + lane, side, lane, swept)

    def whole_and_sample(clock, records):  # type: ignore[no-untyped-def]
        """Steps of the next sample of sensors, and of the next one that is not of a march."""
        sample_at, snapshot_at, energy_at = next_stops(clock, records)
        whole_at = min(min(snapshot_at, energy_at), clock.n_steps)
        if records.recorded.size > 0:
            whole_at = min(whole_at, sample_at)
        if LEAPS and clock.echoes > 0:
            whole_at = clock.step
        return sample_at, whole_at

    def lanes(first, last, steps, side, tables, clocks, drives, records, status):  # type: ignore[no-untyped-def]
        m = first
        while m < last:
            count = min(LANES, last - m)
            running = 0
            for lane in range(count):
                side.stops[lane] = min(clocks[m + lane].step + steps, clocks[m + lane].n_steps + 1)
                running += status[m + lane] == RUNNING
            if running == LANES:
                together(tables, clocks, drives, records, m, side)
            for lane in range(count):
                if status[m + lane] == RUNNING:
                    status[m + lane] = alone(tables, clocks, drives, records, m + lane, side.stops[lane], True)
            m += count

    for function in (
        tables_of, drives_of, records_of, bodies_of, contacts_of, overlap_of, next_stops, settle, enter, leave, eventful, alone,
        whole_step,
    ):  # fmt: skip
        jitable(function)
    for inner in (whole_and_sample, march, together):
        jitable(inner)
    return compiled(lanes)
