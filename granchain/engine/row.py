"""The row of beads, traversed: forces, events, kick and drift of many contacts, several steps at a
time.

The leaf sweeps take plain rows of numbers, so that the compiler knows that they do not overlap. The
physics of a contact is in granchain.engine.contact_step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

from granchain.contact.law import OPEN
from granchain.contact.model import Functions
from granchain.engine.contact_step import (
    ContactStep,
    Features,
    dissipated,
    motion,
    overlap_of,
    past_rate,
    predicted,
)
from granchain.engine.jumps import moving, note_jump
from granchain.engine.ledger import dissipation
from granchain.jit.accessors import gatherer, put_rows, row_from
from granchain.jit.options import VECTOR, hot, rows, shared

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


class Sweeps(NamedTuple):
    """What the loop does with the row.

    Parameters
    ----------
    march : callable
        (row, clock, records, steps, whole) -> steps done, how many contacts have a next kick that
        differs from the recorded force, and how many are swept.
    advance_tile : callable
        The steps of one tile of a march.
    kick, drift, raise_peaks : callable
        Parts of a whole step.
    """

    march: Callable
    advance_tile: Callable
    kick: Callable
    drift: Callable
    raise_peaks: Callable


@cache
def plain_sweeps(RATE: bool, LOADED: bool) -> tuple[Callable, Callable, Callable]:
    """Kick, drift and peaks: what a step is made of besides forces, the same for every law."""
    net, kicked = motion(RATE, LOADED)

    @shared
    @rows
    def kick(v, a, scale, dt, dt_over_m, inverse_mass, loads, force, first, count):
        """Half-step velocities after the forces; the step's accelerations are recorded."""
        left = force[first - 1] if first > 0 else 0.0
        v, a, dt_over_m, inverse_mass = (
            row_from(v, first),
            row_from(a, first),
            row_from(dt_over_m, first),
            row_from(inverse_mass, first),
        )
        loads, force = row_from(loads, first), row_from(force, first)
        for k in range(count):
            f = force[k]
            total = net(left, f, loads[k])
            acceleration = inverse_mass[k] * total
            a[k] = acceleration
            v[k] = kicked(v[k], scale, dt, dt_over_m[k], acceleration, total)
            left = f

    @shared
    @rows
    def drift(u, v, dt, first, count):
        u, v = row_from(u, first), row_from(v, first)
        for k in range(count):
            u[k] += dt * v[k]

    @shared
    @rows
    def raise_peaks(force, peak, first, count):
        force, peak = row_from(force, first), row_from(peak, first)
        for k in range(count):
            peak[k] = force[k] if force[k] > peak[k] else peak[k]

    return kick, drift, raise_peaks


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


class LeafSweeps(NamedTuple):
    """Passes over contacts first..first + count - 1 of a row, each with plain rows of numbers for
    arguments.

    Parameters
    ----------
    detect, sweep, sweep_rate, forces : callable
        See `leaf_sweeps`.
    """

    detect: Callable
    sweep: Callable
    sweep_rate: Callable
    forces: Callable


def leaf_sweeps(law: Functions, step: ContactStep, features: Features) -> LeafSweeps:
    """The passes that take nearly all of a run's time: one source for a whole row and for a
    part of it."""
    RATE, LEDGER, CLAMPS = features.rate, features.ledger, features.lowest >= 0
    force, happened, parts = law.force, step.happened, step.parts
    coefficients_at, history_at = gatherer(features.n_coefficients), gatherer(features.n_history)
    net, kicked = motion(RATE, features.loaded)

    @rows
    def detect(u, v, a, start, dt, half_dt, c, h, first, count):
        """The number of contacts with an event, and one more than the last of them."""
        u, v, a, start = (
            row_from(u, first),
            row_from(v, first),
            row_from(a, first),
            row_from(start, first),
        )
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

    @rows
    def sweep(u, v, start, dt, dt_over_m, loads, c, h, row, peak, reach, first, count):
        """Forces, kick and drift in one pass; the force on a body's left is carried in a scalar."""
        carried = row[first - 1] if first > 0 else 0.0
        u, v, start, row = (
            row_from(u, first),
            row_from(v, first),
            row_from(start, first),
            row_from(row, first),
        )
        dt_over_m, loads, peak, reach = (
            row_from(dt_over_m, first),
            row_from(loads, first),
            row_from(peak, first),
            row_from(reach, first),
        )
        for k in range(count):
            d = overlap_of(u[k], u[k + 1], start[k])
            f = force(d, 0.0, coefficients_at(c, first + k), history_at(h, first + k))
            row[k] = f
            peak[k] = f if f > peak[k] else peak[k]
            reach[k] = d if d > reach[k] else reach[k]
            v[k] = kicked(v[k], 1.0, dt, dt_over_m[k], 0.0, net(carried, f, loads[k]))
            u[k] += dt * v[k]
            carried = f

    @rows
    def sweep_rate(
        u,
        v,
        a,
        start,
        dt,
        half_dt,
        pending,
        inverse_mass,
        loads,
        c,
        h,
        row,
        peak,
        reach,
        elastic,
        clamp,
        viscous_work,
        clamp_work,
        first,
        count,
    ):
        """The same for a force that depends on the rate, predicted to the full step with the last
        step's accelerations.

        With the ledger, it adds the losses of the step before, over `pending` [s]; how many
        contacts are clamped.
        """
        carried, clamped = row[first - 1] if first > 0 else 0.0, 0
        u, v, a = row_from(u, first), row_from(v, first), row_from(a, first)
        start, row, inverse_mass, loads = (
            row_from(start, first),
            row_from(row, first),
            row_from(inverse_mass, first),
            row_from(loads, first),
        )
        peak, reach, elastic, clamp = (
            row_from(peak, first),
            row_from(reach, first),
            row_from(elastic, first),
            row_from(clamp, first),
        )
        viscous_work, clamp_work = row_from(viscous_work, first), row_from(clamp_work, first)
        for k in range(count):
            d = overlap_of(u[k], u[k + 1], start[k])
            half, da = v[k] - v[k + 1], a[k] - a[k + 1]
            f, still, lifted = parts(
                d,
                predicted(half, da, half_dt),
                coefficients_at(c, first + k),
                history_at(h, first + k),
            )
            if LEDGER:
                mean = past_rate(half, da, half_dt)
                viscous_work[k] += dissipated(pending, mean, row[k], elastic[k], clamp[k])
                elastic[k] = still
                if CLAMPS:
                    clamp_work[k] += pending * mean * clamp[k]
                    clamp[k] = lifted
                    clamped += lifted > 0.0
            row[k] = f
            peak[k] = f if f > peak[k] else peak[k]
            reach[k] = d if d > reach[k] else reach[k]
            total = net(carried, f, loads[k])
            acceleration = inverse_mass[k] * total
            a[k] = acceleration
            v[k] = kicked(v[k], 1.0, dt, 0.0, acceleration, total)
            u[k] += dt * v[k]
            carried = f
        return clamped

    @rows
    def forces(
        u,
        v,
        a,
        start,
        half_dt,
        pending,
        c,
        h,
        row,
        reach,
        elastic,
        clamp,
        viscous_work,
        clamp_work,
        first,
        count,
    ):
        """Forces alone, with the ledger's parts as in a sweep."""
        clamped = 0
        u, v, a = row_from(u, first), row_from(v, first), row_from(a, first)
        start, row, reach = row_from(start, first), row_from(row, first), row_from(reach, first)
        elastic, clamp, viscous_work, clamp_work = (
            row_from(elastic, first),
            row_from(clamp, first),
            row_from(viscous_work, first),
            row_from(clamp_work, first),
        )
        for k in range(count):
            d = overlap_of(u[k], u[k + 1], start[k])
            half, da = v[k] - v[k + 1], a[k] - a[k + 1]
            rate = predicted(half, da, half_dt) if RATE else 0.0
            f, still, lifted = parts(
                d, rate, coefficients_at(c, first + k), history_at(h, first + k)
            )
            if LEDGER:
                mean = past_rate(half, da, half_dt)
                viscous_work[k] += dissipated(pending, mean, row[k], elastic[k], clamp[k])
                elastic[k] = still
                if CLAMPS:
                    clamp_work[k] += pending * mean * clamp[k]
                    clamp[k] = lifted
                    clamped += lifted > 0.0
            row[k] = f
            reach[k] = d if d > reach[k] else reach[k]
        return clamped

    return LeafSweeps(detect, sweep, sweep_rate, forces)


def listing(step: ContactStep, features: Features, detect: Callable) -> Callable:
    """Function that finds the contacts with an event; see `add_new`."""
    RATE, happened = features.rate, step.happened
    coefficients_at, history_at = gatherer(features.n_coefficients), gatherer(features.n_history)

    def add_new(row, drifted, half_dt, first, count, length):
        """Append to the list of active contacts those with an event that are not on it; its new
        length."""
        u, v, a, start = row.bodies.u, row.bodies.v, row.bodies.a, row.contacts.start
        active, listed = row.events.active, row.events.listed
        events, k = detect(u, v, a, start, drifted, half_dt, row.c, row.h, first, count)
        while events > 0:
            k -= 1
            d = overlap_of(u[k], u[k + 1], start[k])
            half = v[k] - v[k + 1]
            r = predicted(half, a[k] - a[k + 1], half_dt) if RATE else 0.0
            if happened(d, d - drifted * half, r, coefficients_at(row.c, k), history_at(row.h, k)):
                events -= 1
                if listed[k] == 0:
                    listed[k] = 1
                    active[first + length] = k
                    length += 1
        return length

    return add_new


def renewal(law: Functions, step: ContactStep, features: Features, detect: Callable) -> Callable:
    """Function that gives every contact with an event its new history; see `renew`."""
    RATE, LEDGER, LEAPS, FORGETS = features.rate, features.ledger, features.leaps, features.forgets
    ONSET, JUMPS = features.weight, features.jumps
    jumps, happened, event, read_as = law.jumps, step.happened, step.event, step.read_as
    at_onset, at_end, at_inside = step.onset, step.end, step.inside
    add_new = listing(step, features, detect)
    coefficients_at, history_at = gatherer(features.n_coefficients), gatherer(features.n_history)

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
        u, v, a, start, active = bodies.u, bodies.v, bodies.a, contacts.start, events.active
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
                d = overlap_of(u[k], u[k + 1], start[k])
                half, da = v[k] - v[k + 1], a[k] - a[k + 1]
                r = predicted(half, da, half_dt) if RATE else half
                ck = coefficients_at(c, k)
                hk = history_at(h, k)
                before = d - drifted * half
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
                put_rows(h, k, renewed)
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
                        push, hx = (
                            bodies.inverse_mass[k] + bodies.inverse_mass[k + 1],
                            read_as(hk, renewed),
                        )
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


def tile_march(
    features: Features,
    leaves: LeafSweeps,
    renew: Callable,
    whole: tuple[Callable, Callable, Callable],
) -> Callable:
    """Function that takes a tile some steps further; see `advance_tile`."""
    RATE, LEAPS, TILED = features.rate, features.leaps, features.tiled
    EVENTS = features.history or features.jumps
    _, sweep, sweep_rate, forces = leaves
    kick, drift, raise_peaks = whole

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
        bodies, contacts, events, c, h = row.bodies, row.contacts, row.events, row.c, row.h
        u, v, a, loads, inverse_mass = (
            bodies.u,
            bodies.v,
            bodies.a,
            bodies.loads,
            bodies.inverse_mass,
        )
        start, force_row, peak, reach = (
            contacts.start,
            contacts.force,
            contacts.peak,
            contacts.reach,
        )
        elastic, clamp, viscous_work, clamp_work = (
            contacts.elastic,
            contacts.clamp,
            contacts.viscous_work,
            contacts.clamp_work,
        )
        dt, tile, clamped = clock.dt, clock.tile, 0
        sample_at = sample * clock.stride if sample < records.sensor_force.shape[0] else -1
        first, last = ahead, n
        for done in range(steps):
            if TILED:
                before, first, last = (
                    first,
                    max(ahead - VECTOR * done, 0),
                    min(ahead + tile - VECTOR * done, n),
                )
                if length > 0:
                    length = keep_on_list(events, before, first, last, length)
            else:
                first, last = 0, behind_front(bodies, contacts, clock, A_STEP)
            sampled = begun + done == sample_at
            slot = sample
            if sampled:
                sample += 1
                sample_at = sample * clock.stride if sample < records.sensor_force.shape[0] else -1
            count = last - first
            if TILED and count <= 0:
                pending = dt if RATE else pending
                continue
            # whose force has been 0 ever since, ahead of the front, belongs to the last tile
            end = last if TILED and last < n else start.size
            half_dt = 0.5 * dt if begun + done > 0 else 0.0
            changed = 0
            if EVENTS:
                changed, length = renew(row, clock, dt, half_dt, first, count, length)
            if sampled:
                read_overlaps(row, records, slot, first, end)
            if LEAPS and (changed > 0 or clock.n_jumps > 0):
                return done, changed, length, slot, clamped, pending
            if changed > 0:
                clamped += forces(
                    u,
                    v,
                    a,
                    start,
                    half_dt,
                    pending,
                    c,
                    h,
                    force_row,
                    reach,
                    elastic,
                    clamp,
                    viscous_work,
                    clamp_work,
                    first,
                    count,
                )
                for e in range(changed):
                    k = events.changed[first + e]
                    force_row[k] = contacts.recorded[k]
            elif RATE:
                clamped += sweep_rate(
                    u,
                    v,
                    a,
                    start,
                    dt,
                    half_dt,
                    pending,
                    inverse_mass,
                    loads,
                    c,
                    h,
                    force_row,
                    peak,
                    reach,
                    elastic,
                    clamp,
                    viscous_work,
                    clamp_work,
                    first,
                    count,
                )
            else:
                sweep(
                    u,
                    v,
                    start,
                    dt,
                    bodies.dt_over_m,
                    loads,
                    c,
                    h,
                    force_row,
                    peak,
                    reach,
                    first,
                    count,
                )
            if sampled:
                read_forces(force_row, records, slot, first, end)
            if changed > 0:
                raise_peaks(force_row, peak, first, count)
                for e in range(changed):
                    k = events.changed[first + e]
                    force_row[k] = contacts.kicked[k]
                kick(v, a, 1.0, dt, bodies.dt_over_m, inverse_mass, loads, force_row, first, count)
                drift(u, v, dt, first, count)
            if RATE:
                pending = dt
        if TILED and length > 0:
            length = keep_on_list(events, first, first, first, length)
        return steps, 0, length, sample, clamped, pending

    return advance_tile


def sweeps_of(law: Functions, step: ContactStep, features: Features) -> Sweeps:
    """The sweeps for a law, as plain functions that call its functions."""
    LEDGER, TILED = features.ledger, features.tiled
    EVENTS, MOVES = features.history or features.jumps, features.jumps and not features.kinks
    leaves, (kick, drift, raise_peaks) = (
        leaf_sweeps(law, step, features),
        plain_sweeps(features.rate, features.loaded),
    )
    forces, dissipate, move = leaves.forces, dissipation(features.lowest >= 0), moving(features)
    renew = renewal(law, step, features, leaves.detect)
    advance_tile = tile_march(features, leaves, renew, (kick, drift, raise_peaks))

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
        half_dt = 0.5 * dt if clock.step + done > 0 else 0.0
        if whole and EVENTS:
            changed, clock.n_active = renew(row, clock, dt, half_dt, 0, n, length)
        if MOVES and clock.n_jumps > 0:
            if LEDGER:
                # of the step before, with its own velocities
                dissipate(
                    bodies.v,
                    bodies.a,
                    pending,
                    1.0,
                    half_dt,
                    contacts.force,
                    contacts.elastic,
                    contacts.clamp,
                    contacts.viscous_work,
                    contacts.clamp_work,
                    n,
                )
                pending = 0.0
            move(row, clock)
        clock.clamped += forces(
            bodies.u,
            bodies.v,
            bodies.a,
            contacts.start,
            half_dt,
            pending,
            row.c,
            row.h,
            contacts.force,
            contacts.reach,
            contacts.elastic,
            contacts.clamp,
            contacts.viscous_work,
            contacts.clamp_work,
            0,
            n,
        )
        for e in range(changed):
            k = row.events.changed[e]
            contacts.force[k] = contacts.recorded[k]
        clock.pending = 0.0
        return done, changed, n

    return Sweeps(march, advance_tile, kick, drift, raise_peaks)


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
