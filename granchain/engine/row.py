"""The row of beads, traversed: forces, events, kick and drift of many contacts, several steps at a
time.

The sweeps take plain rows of numbers, so that the compiler knows that they do not overlap. The
physics of a contact is in granchain.engine.contact_step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

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
    replaced,
)
from granchain.engine.fields import motion_of, write_changed
from granchain.engine.jumps import moving, note_jump
from granchain.engine.ledger import dissipate
from granchain.engine.row_model import UNTIL
from granchain.jit.accessors import rows_from, store_rows
from granchain.jit.options import VECTOR, hot, one_by_one, rows, shared

# A step that no run reaches.
NEVER = 2**62
# A tile takes several steps at a time: 0.5 to 0.9 MB, which an L2 cache holds, for memory read once
# in TILE_STEPS steps; longer chains than TILED_ABOVE contacts are tiled. A tile is more than the
# TILE_STEPS * VECTOR contacts that it moves back, so that tiles two apart share none.
TILE_CONTACTS, TILE_STEPS, TILED_ABOVE = 2048, 32, 4096
# Not the literal, for which Numba would compile what it is given to once more.
A_STEP = np.int64(1)


def tiled(features: Features, n_contacts: int) -> Features:
    """The features of a chain of this length: the one place that decides whether it is tiled.

    Not under a law whose force jumps: it stops at each jump; and not with a driven end or drag,
    where every step is a whole one.
    """
    long = (
        n_contacts > TILED_ABOVE
        and not features.leaps
        and not features.driven
        and not features.drag
    )
    return replace(features, tiled=True) if long else features


# --------------------------------------------------------------------------------------------------
# What a step is made of besides forces, the same for every law.


def flags_of(features: Features) -> tuple[np.bool_, ...]:
    """What these functions ask of the features: whether forces depend on the rate, loads act on
    bodies, viscous and clamp work are summed, there is drag. Not as Python's own constants, for
    each of which Numba would compile them once more."""
    asked = features.rate, features.loaded, features.ledger, features.drag
    return tuple(map(np.bool_, asked))


@rows
def kick(v, a, scale, dt, dt_over_m, inverse_mass, loads, force, left, count, rate, loaded):
    """Half-step velocities after the forces, of which `left` acts on the first body from its left;
    the step's accelerations are recorded."""
    for k in range(count):
        f = force[k]
        total = net(left, f, loads[k], loaded)
        acceleration = inverse_mass[k] * total
        a[k] = acceleration
        v[k] = kicked(v[k], scale, dt, dt_over_m[k], acceleration, total, rate)
        left = f


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
    """Peaks and kicks of a step whose forces are done; with drag, peaks alone."""
    b, k = rows_from(row.bodies, first), rows_from(row.contacts, first)
    rate, loaded, _, drag = flags
    raise_peaks(k.force, k.peak, count)
    write_changed(row.contacts.force, row.contacts.kicked, row.events, first, changed)
    if corrected:
        for i in range(count):
            k.force[i] = row.corrections.kick[i]
    if not drag:
        left = row.contacts.force[first - 1] if first > 0 else 0.0
        kick(
            b.v, b.a, scale, dt, b.dt_over_m, b.inverse_mass, b.loads, k.force, left, count,
            rate, loaded,
        )  # fmt: skip


@hot
def sample_step(sample, clock, records):
    """Step of a sample; NEVER after the last."""
    return sample * clock.stride if sample < records.sensor_force.shape[0] else NEVER


@shared
@hot
def behind_front(bodies, contacts, clock, steps):
    """Number of contacts that these next steps reach, in whole vectors; moves the front on: the
    first contact that has never closed.

    Ahead of the front all bodies are at rest. What closed and opened again since the last look is
    in the largest overlaps. In a step one contact closes, and one more where a jump of the force
    moves the bodies; then both ends of it are among the contacts swept.
    """
    u, start, reach, front, last = (
        bodies.u,
        contacts.start,
        contacts.reach,
        clock.front,
        clock.n_bodies,
    )
    while front < last and (
        reach[front] > OPEN or overlap_of(u[front], u[front + 1], start[front]) > OPEN
    ):
        front += 1
    clock.front = front
    return (min(front + steps, last) + VECTOR) // VECTOR * VECTOR


# --------------------------------------------------------------------------------------------------
# Under a law.


def by_law(step: ContactStep, taking: Callable) -> Callable:
    """Function (row, first, count, dt, half_dt, pending) that goes through contacts; of several
    laws, run by run, each in a pass of its own.

    Parameters
    ----------
    step : ContactStep
    taking : callable
        (the coefficients' reader, whether losses are summed) -> such a function. It gives a count,
        and one more than the last contact that it is about.
    """
    features = step.features
    mixed = taking(step.coefficients_at, features.ledger)
    if not features.laws:
        return mixed
    gather, put = step.coefficients_at, replaced(features.n_coefficients, 0)

    def reader(law):
        """Coefficients whose first is a constant: the compiler leaves the other laws out."""

        @hot
        def coefficients_at(c, k):
            return put(gather(c, k), law)

        return coefficients_at

    def either(law, own, rest):
        @hot
        def dispatch(which, row, first, count, dt, half_dt, pending):
            if which == law:
                return own(row, first, count, dt, half_dt, pending)
            return rest(which, row, first, count, dt, half_dt, pending)

        return dispatch

    @hot
    def of_law(which, row, first, count, dt, half_dt, pending):
        return mixed(row, first, count, dt, half_dt, pending)

    for place, rate in enumerate(features.laws):
        law = float(place)
        of_law = either(law, taking(reader(law), features.ledger and rate), of_law)

    @hot
    def sweep_runs(row, first, count, dt, half_dt, pending):
        found, after, at, stop = 0, first, first, first + count
        while at < stop:
            until = row.c[UNTIL, at]
            end = min(int(abs(until)), stop)
            which = row.c[0, at] if until > 0.0 else -1.0
            more, last = of_law(which, row, at, end - at, dt, half_dt, pending)
            found, at = found + more, end
            after = last if more > 0 else after
        return found, after

    return sweep_runs


def sweep_of(step: ContactStep, ADVANCES: bool) -> Callable:
    """The pass that takes nearly all of a run's time, through contacts first..first + count - 1 of
    a row: one source for a whole row and for a part of it."""
    features, force_terms, history_at = step.features, step.force_terms, step.history_at
    RATE, LOADED, LEDGER = features.rate, features.loaded, features.ledger
    CLAMPS = features.lowest >= 0

    def taking(coefficients_at, LOSES):
        @rows
        def sweep(
            u, v, a, dt_over_m, inverse_mass, loads, start, force, peak, reach, elastic, clamp,
            viscous_work, clamp_work, c, h, dt, half_dt, pending, left, first, count,
        ):  # fmt: skip
            """Forces, and where it ADVANCES kick and drift in one pass; the force on a body's left
            is carried in a scalar. A force that depends on the rate takes it predicted to the full
            step with the last step's accelerations.

            Rows begin at the contact `first`, and `left` is the force on its left. With the
            ledger, it adds the losses of the step before, over `pending` [s]. How many contacts
            are clamped.
            """
            clamped = 0
            for k in range(count):
                d = overlap_of(u[k], u[k + 1], start[k])
                half, da = v[k] - v[k + 1], a[k] - a[k + 1]
                rate = predicted(half, da, half_dt) if RATE else 0.0
                f, still, lifted = force_terms(
                    d, rate, coefficients_at(c, first + k), history_at(h, first + k)
                )
                if LOSES:
                    mean = past_rate(half, da, half_dt)
                    viscous_work[k] += dissipated(pending, mean, force[k], elastic[k], clamp[k])
                    if CLAMPS:
                        clamp_work[k] += pending * mean * clamp[k]
                        clamp[k] = lifted
                        clamped += lifted > 0.0
                if LEDGER:
                    elastic[k] = still
                force[k] = f
                reach[k] = d if d > reach[k] else reach[k]
                if ADVANCES:
                    peak[k] = f if f > peak[k] else peak[k]
                    total, acceleration = net(left, f, loads[k], LOADED), 0.0
                    if RATE:
                        acceleration = inverse_mass[k] * total
                        a[k] = acceleration
                    v[k] = kicked(v[k], 1.0, dt, dt_over_m[k], acceleration, total, RATE)
                    u[k] += dt * v[k]
                    left = f
            return clamped

        # of several laws in a vector, LLVM cannot carry the force on a body's left
        if ADVANCES and features.laws and coefficients_at is step.coefficients_at:
            one_by_one(sweep)

        @hot
        def sweep_contacts(row, first, count, dt, half_dt, pending):
            b, k = rows_from(row.bodies, first), rows_from(row.contacts, first)
            left = row.contacts.force[first - 1] if first > 0 else 0.0
            clamped = sweep(
                b.u, b.v, b.a, b.dt_over_m, b.inverse_mass, b.loads, k.start, k.force, k.peak,
                k.reach, k.elastic, k.clamp, k.viscous_work, k.clamp_work, row.c, row.h,
                dt, half_dt, pending, left, first, count,
            )  # fmt: skip
            return clamped, first + count

        return sweep_contacts

    return by_law(step, taking)


def detecting(step: ContactStep) -> Callable:
    """Pass that looks for events; the number of contacts with one, and one more than the last of
    them."""
    RATE, happened, history_at = step.features.rate, step.happened, step.history_at

    def taking(coefficients_at, _):
        @rows
        def detect(u, v, a, start, c, h, dt, half_dt, first, count):
            events, after = 0, 0
            for k in range(count):
                d = overlap_of(u[k], u[k + 1], start[k])
                half = v[k] - v[k + 1]
                r = predicted(half, a[k] - a[k + 1], half_dt) if RATE else 0.0
                found = happened(
                    d, d - dt * half, r, coefficients_at(c, first + k), history_at(h, first + k)
                )
                events += found
                here = k + 1 if found else 0
                after = here if here > after else after
            return events, first + after

        @hot
        def detect_contacts(row, first, count, dt, half_dt, pending):
            b, k = rows_from(row.bodies, first), rows_from(row.contacts, first)
            return detect(b.u, b.v, b.a, k.start, row.c, row.h, dt, half_dt, first, count)

        return detect_contacts

    return by_law(step, taking)


def renewal(step: ContactStep) -> Callable:
    """Function that gives every contact with an event its new history; see `renew`."""
    features, jumps = step.features, step.law.jumps
    RATE, LEDGER, LEAPS, FORGETS = features.rate, features.ledger, features.leaps, features.forgets
    ONSET, JUMPS = features.weight, features.jumps
    happened, event, read_as, detect = step.happened, step.event, step.read_as, detecting(step)
    at_onset, at_end, at_inside = step.onset, step.end, step.inside
    coefficients_at, history_at = step.coefficients_at, step.history_at

    def add_new(row, drifted, half_dt, first, count, length):
        """Append to the list of active contacts those with an event that are not on it; its new
        length."""
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
        """Update the history of every contact with an event, of first..first + count - 1; how many
        need a kick that differs from the recorded force, and the length of the list of those with
        an event.

        A contact under load has an event at each step: those of the step before come first, from a
        list, so that the search of the whole row, which then finds nothing, need not be waited for.
        The lists stand where the contacts stand: at `first`.
        """
        bodies, contacts, events, c, h = row.bodies, row.contacts, row.events, row.c, row.h
        active = events.active
        # the time since the step before: none has gone by at the first one
        drifted = dt if half_dt > 0.0 else 0.0
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
                    known = last - row.corrections.excess[k]
                    if ONSET >= 0:
                        note_jump(row, clock, k, at_end(d, half, dt, known, ck))
                        note_jump(row, clock, k, at_onset(d, half, r, dt, ck, hk, renewed))
                    if JUMPS:
                        push = bodies.inverse_mass[k] + bodies.inverse_mass[k + 1]
                        hx = read_as(hk, renewed)
                        for place in jumps(ck):
                            there, again, damped, clamped = at_inside(
                                place, d, before, r, da if RATE else 0.0, dt, known, push, ck, hx
                            )
                            note_jump(row, clock, k, there)
                            note_jump(row, clock, k, again)
                            if LEDGER:
                                contacts.viscous_work[k] += damped
                                contacts.clamp_work[k] += clamped
                if kick != record:
                    events.changed[first + changed] = k
                    contacts.kicked[k], contacts.recorded[k] = kick, record
                    changed += 1
        return changed, length

    return renew


def tile_march(step: ContactStep, forces: Callable, renew: Callable) -> Callable:
    """Function that takes a tile some steps further; see `advance_tile`."""
    features, sweep, flags = step.features, sweep_of(step, True), flags_of(step.features)
    RATE, LEAPS, TILED = features.rate, features.leaps, features.tiled
    EVENTS = features.history or features.jumps

    @hot
    def advance_tile(row, clock, records, begun, steps, ahead, n, length, sample, pending):
        """Steps of a tile: a parallelogram that begins at the contact `ahead` and moves back by
        VECTOR contacts a step.

        A contact needs of the step before its own two bodies: those on the right are then a step
        further in this tile, and on the left the tile before has been there; so the tiles of some
        steps, one after the other, give the bits of whole steps. A row that is not tiled stays
        where it is, and grows with the front. Before a step with a jump it stops, for its caller.

        Returns the steps done, how many kicks of the next one differ from the recorded force, the
        length of the list of active contacts, samples taken until then, contact-steps in which the
        clamp acted, and the time over which the last losses are not in the ledger.
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
            sampled, slot = begun + done == sample_at, sample
            if sampled:
                sample += 1
                sample_at = sample_step(sample, clock, records)
            count = last - first
            if TILED and count <= 0:
                pending = dt if RATE else pending
                continue
            # whose force has been 0 ever since, ahead of the front, belongs to the last tile
            end = last if TILED and last < n else contacts.start.size
            half_dt = 0.5 * dt if begun + done > 0 else 0.0
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
    """What the loop does with the row under a law: `march`, and `advance_tile`, the steps of one
    tile of it."""
    features = step.features
    LEDGER, TILED = features.ledger, features.tiled
    EVENTS, MOVES = features.history or features.jumps, features.jumps and not features.kinks
    forces, renew, move = sweep_of(step, False), renewal(step), moving(features)
    advance_tile = tile_march(step, forces, renew)

    @hot
    def march(row, clock, records, steps, whole):
        """Steps, with the samples of their sensors; how many were done, how many kicks of the next
        one differ from the recorded force, and how many contacts are swept in it.

        Of a whole step, and of one with a jump, only the forces are done: the rest is the caller's.
        """
        bodies, contacts = row.bodies, row.contacts
        done, changed, ahead, tile, length = 0, 0, 0, clock.tile, clock.n_active
        n = behind_front(bodies, contacts, clock, steps)
        pending, sample = clock.pending, clock.sample
        if not whole:
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
        if whole and EVENTS:
            changed, clock.n_active = renew(row, clock, dt, half_dt, 0, n, length)
        b, k = bodies, contacts
        if MOVES and clock.n_jumps > 0:
            if LEDGER:
                # of the step before, with its own velocities
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

    return march, advance_tile


@shared
def keep_on_list(events, before, first, last, length):
    """Move the list of active contacts with its tile, from `before` to `first`, and drop those
    from `last` on; its new length."""
    kept = 0
    for e in range(length):
        k = events.active[before + e]
        if k < last:
            events.active[first + kept] = k
            kept += 1
        else:
            events.listed[k] = 0
    return kept


@shared
@hot
def read_overlaps(row, records, slot, first, last):
    """Overlaps of the recorded contacts among first..last - 1 at this step."""
    u, start = row.bodies.u, row.contacts.start
    for s in range(records.recorded.size):
        k = records.recorded[s]
        if first <= k < last:
            records.contact_overlap[slot, s] = overlap_of(u[k], u[k + 1], start[k])


@shared
@hot
def read_forces(force, records, slot, first, last):
    """Forces at this step of the recorded contacts among first..last - 1, and what these add to the
    sensors of their beads.

    A sensor feels the mean of the forces of its bead's two contacts; the left one comes first, and
    may be of another tile.
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
