"""Sweeps over a chain: forces, events, kick, and drift of many contacts, several steps at a time.

The sweeps take plain rows of numbers, so that the compiler knows that the rows do not overlap. The
physics of a contact is in granchain.engine.contact_step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from granchain.contact.law import OPEN
from granchain.engine.contact_step import (
    ContactStep,
    Features,
    dissipated,
    kicked,
    net,
    overlap_of,
    past_rate,
    predicted,
)
from granchain.engine.energy import dissipate
from granchain.engine.fields import motion_of, swept_bodies, swept_contacts, write_changed
from granchain.engine.jumps import moving, note_jump
from granchain.engine.mixture import UNTIL
from granchain.jit.accessors import replaced, rows_from, store_rows
from granchain.jit.compile import VECTOR, hot, rows, shared

# Step number that no run reaches.
NEVER = 2**62
# A tile advances several steps at a time. Its 0.5 to 0.9 MB fit in an L2 cache, so memory is read
# once per TILE_STEPS steps. Long chains are tiled (TILED_ABOVE in contact_step.py). A tile moves
# back by TILE_STEPS * VECTOR contacts and has more contacts than this, so a tile shares no contacts
# with the tile after the next.
TILE_CONTACTS, TILE_STEPS = 2048, 32
# An np.int64, because for a literal Numba would compile the called functions again.
A_STEP = np.int64(1)


# --------------------------------------------------------------------------------------------------
# Parts of a step other than forces. They are the same for every law.


def flags_of(features: Features) -> tuple[np.bool_, ...]:
    """Return the features that these functions need, as NumPy booleans.

    They are: whether forces depend on the rate, whether loads act on bodies, whether viscous and
    clamp work are summed, and whether there are elements. With Python's constants, Numba would
    compile the functions again for each value.
    """
    flags = features.rate, features.loaded, features.ledger, features.elements
    return tuple(map(np.bool_, flags))


@rows
def kick(b, force, force_left, count, scale, dt, rate, loaded):
    """Update the half-step velocities, and record the accelerations of the step.

    `force_left` is the force on the first body from its left.
    """
    for k in range(count):
        f = force[k]
        total = net(force_left, f, b.loads[k], loaded)
        acceleration = b.inverse_mass[k] * total
        b.a[k] = acceleration
        b.v[k] = kicked(b.v[k], scale, dt, b.dt_over_m[k], acceleration, total, rate)
        force_left = f


@shared
@rows
def drift(u, v, dt, count):
    for k in range(count):
        u[k] += dt * v[k]


@rows
def raise_peaks(force, peak, count):
    for k in range(count):
        peak[k] = force[k] if force[k] > peak[k] else peak[k]


@shared
def kick_row(row, first, count, changed, corrected, scale, dt, flags):
    """Update the peaks and kick the bodies; with elements, update only the peaks."""
    k = rows_from(row.contacts, first)
    rate, loaded, _, elements = flags
    raise_peaks(k.force, k.peak, count)
    write_changed(row.contacts.force, row.contacts.kicked, row.events, first, changed)
    if corrected:
        for i in range(count):
            k.force[i] = row.corrections.kick[i]
    if not elements:
        force_left = row.contacts.force[first - 1] if first > 0 else 0.0
        kick(swept_bodies(row.bodies, first), k.force, force_left, count, scale, dt, rate, loaded)


@hot
def sample_step(sample, clock, records):
    """Return the step of a sample; NEVER after the last."""
    return sample * clock.stride if sample < records.sensor_force.shape[0] else NEVER


@shared
@hot
def behind_front(bodies, contacts, clock, steps):
    """Return the number of contacts that the next steps reach, in complete vectors.

    The front moves to the first contact that has never closed. Ahead of the front, all bodies are
    at rest. A contact that closed and opened again since the last call has a largest overlap above
    0. At most one new contact closes per step, and a second one if a jump of the force moves the
    bodies. The result includes both.
    """
    u, start, largest, front, last = (
        bodies.u,
        contacts.start,
        contacts.largest_overlap,
        clock.front,
        clock.n_bodies,
    )
    while front < last and (
        largest[front] > OPEN or overlap_of(u[front], u[front + 1], start[front]) > OPEN
    ):
        front += 1
    clock.front = front
    return (min(front + steps, last) + VECTOR) // VECTOR * VECTOR


# --------------------------------------------------------------------------------------------------
# Sweeps that depend on the law.


def by_law(step: ContactStep, taking: Callable) -> Callable:
    """Return a sweep, a function (row, first, count, dt, half_dt, pending), over contacts.

    If there are several laws, each law has a separate pass for each run of contacts.

    Parameters
    ----------
    step : ContactStep
    taking : callable
        (reader of the coefficients, whether losses are summed) -> function with the arguments
        above. The function returns the number of counted contacts, and the index after the last of
        them.
    """
    features = step.features
    mixed = taking(step.coefficients_at, features.ledger)
    if not features.laws:
        return mixed
    gather, put = step.coefficients_at, replaced(features.n_coefficients, (0,))

    def reader(law):
        """Return a reader of coefficients whose first one is constant.

        The compiler then omits the other laws.
        """

        @hot
        def coefficients_at(c, k):
            return put(gather(c, k), (law,))

        return coefficients_at

    def either(law, law_sweep, other_laws):
        @hot
        def dispatch(which, row, first, count, dt, half_dt, pending):
            if which == law:
                return law_sweep(row, first, count, dt, half_dt, pending)
            return other_laws(which, row, first, count, dt, half_dt, pending)

        return dispatch

    @hot
    def of_law(which, row, first, count, dt, half_dt, pending):
        return mixed(row, first, count, dt, half_dt, pending)

    for index, rate in enumerate(features.laws):
        law = float(index)
        of_law = either(law, taking(reader(law), features.ledger and rate), of_law)

    @hot
    def sweep_runs(row, first, count, dt, half_dt, pending):
        counted, after, at, stop = 0, first, first, first + count
        while at < stop:
            until = row.c[UNTIL, at]
            end = min(int(abs(until)), stop)
            which = row.c[0, at] if until > 0.0 else -1.0
            more, last = of_law(which, row, at, end - at, dt, half_dt, pending)
            counted, at = counted + more, end
            after = last if more > 0 else after
        return counted, after

    return sweep_runs


def sweep_of(step: ContactStep, ADVANCES: bool) -> Callable:
    """Return the sweep that uses nearly all the time of a run.

    It processes the contacts first..first + count - 1 of a chain. The same source serves a complete
    chain and a part of it.
    """
    features, force_terms, history_at = step.features, step.force_terms, step.history_at
    RATE, LOADED, LEDGER = features.rate, features.loaded, features.ledger
    CLAMPS = features.lowest >= 0

    def taking(coefficients_at, LOSES):
        @rows
        def sweep(b, contacts, c, h, dt, half_dt, pending, force_left, first, count):
            """Compute forces and, if ADVANCES, kick and drift in one pass.

            The force on the left of a body is carried in a scalar. A force that depends on the rate
            uses the rate predicted to the full step with the accelerations of the last step.

            Rows of bodies and contacts begin at the contact `first`, and `force_left` is the force
            on its left. If the energy balance is recorded, the losses of the previous step over
            `pending` [s] are added. The result is the number of contacts in which the clamp acts.
            """
            u, v, a, force, clamp = b.u, b.v, b.a, contacts.force, contacts.clamp
            largest, peak, elastic = contacts.largest_overlap, contacts.peak, contacts.elastic
            clamped = 0
            for k in range(count):
                d = overlap_of(u[k], u[k + 1], contacts.start[k])
                half, da = v[k] - v[k + 1], a[k] - a[k + 1]
                rate = predicted(half, da, half_dt) if RATE else 0.0
                f, still, lifted = force_terms(
                    d, rate, coefficients_at(c, first + k), history_at(h, first + k)
                )
                if LOSES:
                    mean = past_rate(half, da, half_dt)
                    contacts.viscous_work[k] += dissipated(
                        pending, mean, force[k], elastic[k], clamp[k]
                    )
                    if CLAMPS:
                        contacts.clamp_work[k] += pending * mean * clamp[k]
                        clamp[k] = lifted
                        clamped += lifted > 0.0
                if LEDGER:
                    elastic[k] = still
                force[k] = f
                largest[k] = d if d > largest[k] else largest[k]
                if ADVANCES:
                    peak[k] = f if f > peak[k] else peak[k]
                    total, acceleration = net(force_left, f, b.loads[k], LOADED), 0.0
                    if RATE:
                        acceleration = b.inverse_mass[k] * total
                        a[k] = acceleration
                    v[k] = kicked(v[k], 1.0, dt, b.dt_over_m[k], acceleration, total, RATE)
                    u[k] += dt * v[k]
                    force_left = f
            return clamped

        @hot
        def sweep_contacts(row, first, count, dt, half_dt, pending):
            force_left = row.contacts.force[first - 1] if first > 0 else 0.0
            clamped = sweep(
                swept_bodies(row.bodies, first), swept_contacts(row.contacts, first), row.c, row.h,
                dt, half_dt, pending, force_left, first, count,
            )  # fmt: skip
            return clamped, first + count

        return sweep_contacts

    return by_law(step, taking)


def detecting(step: ContactStep) -> Callable:
    """Return a sweep that finds events.

    It returns the number of contacts with an event, and one more than the last of them.
    """
    RATE, happened, history_at = step.features.rate, step.happened, step.history_at

    def taking(coefficients_at, _):
        @rows
        def detect(u, v, a, start, c, h, dt, half_dt, first, count):
            events, after = 0, 0
            for k in range(count):
                d = overlap_of(u[k], u[k + 1], start[k])
                half = v[k] - v[k + 1]
                r = predicted(half, a[k] - a[k + 1], half_dt) if RATE else 0.0
                has_event = happened(
                    d, d - dt * half, r, coefficients_at(c, first + k), history_at(h, first + k)
                )
                events += has_event
                here = k + 1 if has_event else 0
                after = here if here > after else after
            return events, first + after

        @hot
        def detect_contacts(row, first, count, dt, half_dt, pending):
            b, start = rows_from(row.bodies, first), rows_from(row.contacts, first).start
            return detect(b.u, b.v, b.a, start, row.c, row.h, dt, half_dt, first, count)

        return detect_contacts

    return by_law(step, taking)


def evolving(step: ContactStep) -> Callable:
    """Return a sweep that advances the histories of a law that changes them in every step."""
    evolve, history_at, LEDGER = step.law.evolve, step.history_at, step.features.ledger

    def taking(coefficients_at, _):
        @rows
        def advance(u, v, start, viscous_work, c, h, dt, first, count):
            for k in range(count):
                d = overlap_of(u[k], u[k + 1], start[k])
                before = d - dt * (v[k] - v[k + 1])
                renewed, lost = evolve(
                    dt, before, d, coefficients_at(c, first + k), history_at(h, first + k)
                )
                store_rows(h, first + k, renewed)
                if LEDGER:
                    viscous_work[k] += lost

        @hot
        def advance_contacts(row, first, count, dt, half_dt, pending):
            b, k = rows_from(row.bodies, first), rows_from(row.contacts, first)
            advance(b.u, b.v, k.start, k.viscous_work, row.c, row.h, dt, first, count)
            return 0, first + count

        return advance_contacts

    return by_law(step, taking)


def renewal(step: ContactStep) -> Callable:
    """Return a function that updates the histories of contacts; see `renew`."""
    features, jumps = step.features, step.law.jumps
    RATE, LEDGER, LEAPS, FORGETS = features.rate, features.ledger, features.leaps, features.forgets
    ONSET, JUMPS = features.weight, features.jumps
    happened, event, read_as, detect = step.happened, step.event, step.read_as, detecting(step)
    EVOLVES, evolve = features.evolves, evolving(step)
    at_onset, at_end, at_inside = step.onset, step.end, step.inside
    coefficients_at, history_at = step.coefficients_at, step.history_at

    def add_new(row, drifted, half_dt, first, count, length):
        """Append contacts with an event to the list, and return its new length."""
        active, listed = row.events.active, row.events.listed
        events, k = detect(row, first, count, drifted, half_dt, 0.0)
        while events > 0:
            k -= 1
            d, half, da = motion_of(row, k)
            r = predicted(half, da, half_dt) if RATE else 0.0
            if happened(d, d - drifted * half, r, coefficients_at(row.c, k), history_at(row.h, k)):
                events -= 1
                if listed[k] == 0:
                    listed[k] = 1
                    active[first + length] = k
                    length += 1
        return length

    @hot
    def renew(row, clock, dt, half_dt, first, count, length):
        """Update the history of every contact with an event.

        Contacts first..first + count - 1 are checked. Returns the number of contacts whose two
        forces differ, and the length of the list of contacts with an event.

        A contact under load has an event at each step. The function therefore first updates the
        contacts in a list, which had an event at the previous step. The following search of the
        entire chain then usually finds nothing, so it is fast. The lists begin at the position of
        the contact `first`.
        """
        bodies, contacts, events, c, h = row.bodies, row.contacts, row.events, row.c, row.h
        active = events.active
        # time since the previous step: zero at the first step
        drifted = dt if half_dt > 0.0 else 0.0
        if EVOLVES:
            evolve(row, first, count, drifted, half_dt, 0.0)
        changed, begin = 0, 0
        for turn in range(2):
            if turn == 1:
                begin = length
                length = add_new(row, drifted, half_dt, first, count, length)
            e = begin
            while e < length:
                k = active[first + e]
                d, half, da = motion_of(row, k)
                r = predicted(half, da, half_dt) if RATE else half
                ck, hk, before = coefficients_at(c, k), history_at(h, k), d - drifted * half
                if not happened(d, before, r, ck, hk):
                    length -= 1
                    events.listed[k] = 0
                    active[first + e] = active[first + length]
                    continue
                e += 1
                last, viscous = contacts.force[k], 0.0
                if LEDGER:
                    viscous = last - contacts.elastic[k] - contacts.clamp[k]
                renewed, kick, record, lost, work = event(
                    d, half, r, past_rate(half, da, half_dt), dt, last, viscous, ck, hk
                )
                store_rows(h, k, renewed)
                if FORGETS:
                    contacts.lost[k] += lost
                if work != 0.0:
                    contacts.viscous_work[k] += work
                    contacts.clamp_work[k] -= work
                if LEAPS:
                    last_recorded = last - row.corrections.excess[k]
                    if ONSET >= 0:
                        note_jump(row, clock, k, at_end(d, half, dt, last_recorded, ck))
                        note_jump(row, clock, k, at_onset(d, half, r, dt, ck, hk, renewed))
                    if JUMPS:
                        push = bodies.inverse_mass[k] + bodies.inverse_mass[k + 1]
                        hx = read_as(hk, renewed)
                        for jump_overlap in jumps(ck):
                            jump, reverse_jump, damped, clamped = at_inside(
                                jump_overlap, d, before, r, da if RATE else 0.0, dt, last_recorded,
                                push, ck, hx,
                            )  # fmt: skip
                            note_jump(row, clock, k, jump)
                            note_jump(row, clock, k, reverse_jump)
                            if LEDGER:
                                contacts.viscous_work[k] += damped
                                contacts.clamp_work[k] += clamped
                if kick != record:
                    events.changed[first + changed] = k
                    contacts.kicked[k], contacts.recorded[k] = kick, record
                    changed += 1
        return changed, length

    return renew


def tile_stepper(step: ContactStep, forces: Callable, renew: Callable) -> Callable:
    """Return a function that advances a tile by several steps; see `advance_tile`."""
    features, sweep, flags = step.features, sweep_of(step, True), flags_of(step.features)
    RATE, LEAPS, TILED = features.rate, features.leaps, features.tiled
    EVENTS = features.history or features.jumps

    @hot
    def advance_tile(row, clock, records, start_step, steps, ahead, n, length, sample, pending):
        """Advance a tile by several steps.

        A tile is a parallelogram that begins at `ahead` and moves back by VECTOR contacts per step.
        A contact needs its two bodies from the previous step. On the right, this tile has already
        advanced them to that step; on the left, the previous tile has. So advancing the tiles one
        after another is bit-identical to full steps. A chain that is not tiled does not move
        back, and its number of contacts grows with the front. The function stops before a step with
        a jump, which the caller completes.

        Returns the number of steps done, the number of contacts whose two forces differ in the next
        step, the length of the list of active contacts, the number of samples taken, the number of
        contact-steps in which the clamp acted, and the time over which the last losses are not yet
        in the energy balance.
        """
        bodies, contacts, events = row.bodies, row.contacts, row.events
        dt, tile, clamped = clock.dt, clock.tile, 0
        sample_at = sample_step(sample, clock, records)
        first, last = ahead, n
        for done in range(steps):
            if TILED:
                before, first = first, max(ahead - VECTOR * done, 0)
                last = min(ahead + tile - VECTOR * done, n)
                if length > 0:
                    length = keep_on_list(events, before, first, last, length)
            else:
                first, last = 0, behind_front(bodies, contacts, clock, A_STEP)
            sampled, slot = start_step + done == sample_at, sample
            if sampled:
                sample += 1
                sample_at = sample_step(sample, clock, records)
            count = last - first
            if TILED and count <= 0:
                pending = dt if RATE else pending
                continue
            # Contacts ahead of the front, whose force has always been 0, belong to the last tile.
            end = last if TILED and last < n else contacts.start.size
            half_dt = 0.5 * dt if start_step + done > 0 else 0.0
            changed = 0
            if EVENTS:
                changed, length = renew(row, clock, dt, half_dt, first, count, length)
            if sampled:
                read_overlaps(row, records, slot, first, end)
            if LEAPS and (changed > 0 or clock.n_jumps > 0):
                return done, changed, length, slot, clamped, pending
            if changed > 0:
                lifted, _ = forces(row, first, count, dt, half_dt, pending)
                write_changed(contacts.force, contacts.recorded, events, first, changed)
            else:
                lifted, _ = sweep(row, first, count, dt, half_dt, pending)
            clamped += lifted
            if sampled:
                read_forces(contacts.force, records, slot, first, end)
            if changed > 0:
                kick_row(row, first, count, changed, False, 1.0, dt, flags)
                b = rows_from(bodies, first)
                drift(b.u, b.v, dt, count)
            if RATE:
                pending = dt
        if TILED and length > 0:
            length = keep_on_list(events, first, first, first, length)
        return steps, 0, length, sample, clamped, pending

    return advance_tile


def sweeps_of(step: ContactStep) -> tuple[Callable, Callable]:
    """Return the sweeps for a law: `proceed`, and `advance_tile` for one tile."""
    features = step.features
    LEDGER, TILED = features.ledger, features.tiled
    EVENTS, MOVES = features.history or features.jumps, features.jumps and not features.kinks
    forces, renew, move = sweep_of(step, False), renewal(step), moving(features)
    advance_tile = tile_stepper(step, forces, renew)

    @hot
    def proceed(row, clock, records, steps, full):
        """Advance several steps and sample their sensors.

        Returns the number of steps done, the number of contacts whose two forces differ in the next
        step, and the number of contacts swept in it. In a full step or a step with a jump, only the
        forces are computed; the caller does the rest.
        """
        bodies, contacts = row.bodies, row.contacts
        done, changed, ahead, tile, length = 0, 0, 0, clock.tile, clock.n_active
        n = behind_front(bodies, contacts, clock, steps)
        pending, sample = clock.pending, clock.sample
        if not full:
            if TILED and length > 0:
                length = keep_on_list(row.events, 0, 0, 0, length)
            while ahead == 0 or (TILED and ahead < n + VECTOR * (steps - 1)):
                done, changed, length, sample, clamped, pending = advance_tile(
                    row,
                    clock,
                    records,
                    clock.step,
                    steps,
                    ahead,
                    n,
                    length,
                    clock.sample,
                    clock.pending,
                )
                clock.clamped += clamped
                ahead += tile
            clock.n_active, clock.sample = length, sample
            if done == steps:
                clock.pending = pending
                return steps, 0, n
            n = behind_front(bodies, contacts, clock, A_STEP)
        dt = clock.dt
        half_dt = 0.5 * dt if clock.earlier + clock.step + done > 0 else 0.0
        if full and EVENTS:
            changed, clock.n_active = renew(row, clock, dt, half_dt, 0, n, length)
        b, k = bodies, contacts
        if MOVES and clock.n_jumps > 0:
            if LEDGER:
                # losses of the previous step, with its velocities
                dissipate(
                    b.v, b.a, pending, 1.0, half_dt, k.force, k.elastic, k.clamp, k.viscous_work,
                    k.clamp_work, n,
                )  # fmt: skip
                pending = 0.0
            move(row, clock)
        lifted, _ = forces(row, 0, n, dt, half_dt, pending)
        clock.clamped += lifted
        write_changed(contacts.force, contacts.recorded, row.events, 0, changed)
        clock.pending = 0.0
        return done, changed, n

    return proceed, advance_tile


@shared
def keep_on_list(events, before, first, last, length):
    """Move the list of active contacts with its tile, and return its new length.

    The list moves from `before` to `first`. Contacts from `last` on are dropped.
    """
    new_length = 0
    for e in range(length):
        k = events.active[before + e]
        if k < last:
            events.active[first + new_length] = k
            new_length += 1
        else:
            events.listed[k] = 0
    return new_length


@shared
@hot
def read_overlaps(row, records, slot, first, last):
    """Record the overlaps of the selected contacts among first..last - 1."""
    u, start = row.bodies.u, row.contacts.start
    for s in range(records.recorded.size):
        k = records.recorded[s]
        if first <= k < last:
            records.contact_overlap[slot, s] = overlap_of(u[k], u[k + 1], start[k])


@shared
@hot
def read_forces(force, records, slot, first, last):
    """Record the forces of the selected contacts and sensors.

    Only the contacts first..last - 1 are read. A sensor reads the mean of the forces of the two
    contacts of its bead. The left one comes first, and may belong to another tile.
    """
    for s in range(records.sensor_left.size):
        left, right = records.sensor_left[s], records.sensor_right[s]
        if first <= left < last:
            records.sensor_force[slot, s] = force[left]
        if first <= right < last:
            records.sensor_force[slot, s] = 0.5 * (records.sensor_force[slot, s] + force[right])
    for s in range(records.recorded.size):
        k = records.recorded[s]
        if first <= k < last:
            records.contact_force[slot, s] = force[k]
