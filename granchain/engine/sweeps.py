"""The sweeps over a row of contacts that a time step is made of, for one contact law.

Order two for every force form takes: the rate predicted to the full step with the accelerations of the step before (the half-step
rate gives order one), the approach speed interpolated to the onset, and the onset weight (granchain/contact/law.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace

from granchain.contact.law import ASIDE, OPEN, ContactLaw, Functions
from granchain.engine.layout import (
    ACTIVE,
    AFTER,
    ALLOWED_STEP,
    BEFORE,
    BEHIND,
    CLAMP,
    CLAMP_REST,
    CLAMP_TOTAL,
    CLAMP_WORK,
    CLAMPED,
    CLAMPING,
    CONTACT,
    DRIVE_REST,
    DRIVE_WORK,
    DRIVES,
    DT,
    ECHOES,
    ELASTIC,
    ENDWISE,
    EXCESS,
    EXTERNAL,
    GRAVITY,
    INVERSE_MASS,
    KICK,
    KICKED,
    KINETIC,
    LEAPT,
    LEFT_SPEED,
    LIMIT,
    LOST,
    MASS,
    MOVING,
    N_BODIES,
    PAST,
    PEAK,
    PENDING,
    PLASTIC,
    PRECOMPRESSION,
    REACH,
    RECORDED,
    RECOVERABLE,
    RIGHT_SPEED,
    ROW,
    SAMPLE,
    SHIFT,
    SLOPE,
    START,
    STEADY,
    STEP,
    STRIDE,
    VISCOUS,
    VISCOUS_REST,
    VISCOUS_TOTAL,
    VISCOUS_WORK,
    WEIGHT,
    WHERE,
    A,
    U,
    V,
)
from granchain.engine.specialise import gatherer, jitable, scatterer
from granchain.status import Status

RUNNING = int(Status.RUNNING)
NOT_FINITE = int(Status.NOT_FINITE)
BEYOND_RADIUS = int(Status.BEYOND_RADIUS)
OUTSIDE_LAW = int(Status.OUTSIDE_LAW)
UNSTABLE = int(Status.UNSTABLE)

# Relative step of the numerical derivatives of a force: the square root of the rounding error of a double, 2^-26, balances
# truncation and rounding.
NUDGE = 2.0**-26
# Part of a step over which the growth of a force beside a jump is taken: as it enters with dt^2, an error of a thousandth is one of order
# three, and the rounding of the forces, 2^-53, is 2^-43 of the kick.
LAPSE = 2.0**-10


@dataclass(frozen=True)
class Features:
    """What a compiled loop has to carry; each combination is one kernel, so that a bare loop pays for nothing.

    Parameters
    ----------
    rate, history : bool
        The force depends on the rate; the law has history.
    ledger : bool
        Viscous and clamp work are summed.
    loaded, driven : bool
        Constant forces act on the bodies; an end is driven.
    forgets : bool
        An opening contact loses its history.
    jumps : bool
        The force jumps, or has a kink, inside a contact.
    kinks : bool
        At these overlaps it has kinks alone.
    leaps : bool
        It does so there or at the onset: records are corrected at a jump, and its one-sided values kept.
    weight, lowest : int
        Position of `onset_weight` in the history and of `lowest_force` in the coefficients, or -1.
    n_coefficients, n_history : int
        Length of the tuples.
    """

    rate: bool
    history: bool
    ledger: bool
    loaded: bool
    driven: bool
    forgets: bool
    jumps: bool
    kinks: bool
    leaps: bool
    weight: int
    lowest: int
    n_coefficients: int
    n_history: int


def features_of(law: type[ContactLaw], ledger: bool, loaded: bool, driven: bool) -> Features:
    """Features of the loop for a law and a chain."""
    names = [quantity.name for quantity in law.history]
    return Features(
        rate=law.uses_rate,
        history=bool(law.history),
        ledger=ledger and law.uses_rate,
        loaded=loaded or driven,
        driven=driven,
        forgets=law.forgets,
        jumps=law.jumps is not ContactLaw.jumps,
        kinks=law.jumps is not ContactLaw.jumps and law.jump is ContactLaw.jump,
        leaps=law.has_jumps(),
        weight=names.index("onset_weight") if "onset_weight" in names else -1,
        lowest=law.index_of("lowest_force") if law.uses_rate else -1,
        n_coefficients=len(law.coefficients),
        n_history=len(law.history),
    )


def replaced(count: int, place: int, value: float) -> Callable:
    """Function (table, k) -> the first rows of contact k as a tuple, one of them replaced by a value; none for a place of -1."""
    gather = gatherer(count)
    if place < 0:
        return gather
    before, after = gatherer(place), gatherer(count - place - 1, place + 1)

    def gather_replaced(table, k):  # type: ignore[no-untyped-def]
        return before(table, k) + (value,) + after(table, k)

    return gather_replaced


def added(total, rest, value):  # type: ignore[no-untyped-def]
    """A running sum and the rest that its rounding leaves out, with one value more (Neumaier 1974, doi:10.1002/zamm.19740540106)."""
    more = total + value
    return more, rest + ((total - more) + value if abs(total) >= abs(value) else (value - more) + total)


@cache
def plain_sweeps(RATE: bool, LOADED: bool, CLAMPS: bool) -> tuple[Callable, ...]:
    """Kick, drift, peaks and losses: what a step is made of besides forces, the same for every law."""

    def kick(v, a, scale, dt, dt_over_m, inverse_mass, loads, row, contacts):  # type: ignore[no-untyped-def]
        """Half-step velocities after the forces in `row`; the step's accelerations are kept."""
        left = 0.0
        for k in range(contacts):
            f = row[k]
            net = left - f + loads[k] if LOADED else left - f
            acceleration = inverse_mass[k] * net
            a[k] = acceleration
            v[k] += scale * (dt * acceleration) if RATE else scale * (dt_over_m[k] * net)
            left = f

    def drift(u, v, dt, contacts):  # type: ignore[no-untyped-def]
        for k in range(contacts):
            u[k] += dt * v[k]

    def raise_peaks(row, peak, contacts):  # type: ignore[no-untyped-def]
        for k in range(contacts):
            peak[k] = row[k] if row[k] > peak[k] else peak[k]

    def dissipate(v, a, dt, scale, back, row, elastic, clamp, viscous_work, clamp_work, contacts):  # type: ignore[no-untyped-def]
        """Add the step's viscous and clamp work: force times the mean full-step rate times the step."""
        for k in range(contacts):
            r = v[k] - v[k + 1] - back * (a[k] - a[k + 1])
            viscous_work[k] += scale * dt * r * (row[k] - elastic[k] - clamp[k])
            if CLAMPS:
                clamp_work[k] += scale * dt * r * clamp[k]

    for function in (kick, drift, raise_peaks, dissipate):
        jitable(function, rows=True)
    return kick, drift, raise_peaks, dissipate


def sweeps_of(law: Functions, features: Features) -> SimpleNamespace:
    """The sweeps for a law, as plain functions that call its functions."""
    force, needs_update, update = law.force, law.needs_update, law.update
    energy, plastic, largest_overlap = law.energy, law.plastic, law.largest_overlap
    RATE, HISTORY, LEDGER, LOADED, DRIVEN = features.rate, features.history, features.ledger, features.loaded, features.driven
    ONSET, LOWEST, FORGETS, JUMPS, LEAPS = features.weight, features.lowest, features.forgets, features.jumps, features.leaps
    # `closed` follows `onset_weight` in the history of a law with a weight; a law that names overlaps without a jump has kinks there
    CLOSED, KINKS = features.weight + 1, features.kinks
    jumps, jump = law.jumps, law.jump
    coefficients_at = gatherer(features.n_coefficients)
    history_at = gatherer(features.n_history)
    store_history = scatterer(features.n_history)
    unclamped_at = replaced(features.n_coefficients, features.lowest, -math.inf)
    # as a sensor reads it: with the onset weight 1
    unweighted_at = replaced(features.n_history, features.weight, 1.0)
    kick, drift, raise_peaks, dissipate = plain_sweeps(RATE, LOADED, LOWEST >= 0)

    def crosses(d, before, ck):  # type: ignore[no-untyped-def]
        """Whether a jump of the force lies between two overlaps."""
        crossed = False
        for place in jumps(ck):
            crossed |= (before < place) != (d < place)
        return crossed

    def detect(u, v, a, start, dt, half_dt, c, h, contacts):  # type: ignore[no-untyped-def]
        """The number of contacts to which something has happened, and one more than the last of them."""
        events, after = 0, 0
        for k in range(contacts):
            d = u[k] - u[k + 1] + start[k]
            r = v[k] - v[k + 1] + half_dt * (a[k] - a[k + 1]) if RATE else 0.0
            ck = coefficients_at(c, k)
            happened = needs_update(d, r, ck, history_at(h, k))
            if JUMPS:
                happened |= crosses(d, d - dt * (v[k] - v[k + 1]), ck)
            events += happened
            here = k + 1 if happened else 0
            after = here if here > after else after
        return events, after

    def force_there(overlap, rate, ck, hk):  # type: ignore[no-untyped-def]
        """Force at an overlap that the contact has passed within a step."""
        return force(overlap, rate, ck, update((overlap, rate, rate, 1.0), ck, hk) if needs_update(overlap, rate, ck, hk) else hk)

    def leap(k, behind, before, after, row, counts, corrections, leaps):  # type: ignore[no-untyped-def]
        """Note a jump of the force of contact k, and what was recorded beside it at the step before."""
        n = counts[LEAPT]
        leaps[CONTACT, n], leaps[BEHIND, n], leaps[BEFORE, n], leaps[AFTER, n], leaps[MOVING, n] = k, behind, before, after, False
        counts[LEAPT] = n + 1
        for m in (k - 1, k + 1):
            if 0 <= m < row.size:
                corrections[PAST, m] = row[m] - corrections[EXCESS, m]

    def renew(u, v, a, inverse_mass, dt, half_dt, table, c, h, places, counts, corrections, leaps, contacts):  # type: ignore[no-untyped-def]
        """Give each contact with an event its new history; how many are kicked by a force that is not the one recorded.

        A contact that is being loaded has an event at each step: those of the step before come first, from a list, so that the search
        of the whole row, which then finds nothing, need not be waited for.
        """
        start, row, kicked, recorded, lost = table[START], table[ROW], table[KICKED], table[RECORDED], table[LOST]
        active = places[1]
        changed, first, n = 0, 0, counts[ACTIVE]
        # the time since the step before: none has gone by at the first one
        drifted = dt if half_dt > 0.0 else 0.0
        for turn in range(2):
            if turn == 1:
                events, k = detect(u, v, a, start, drifted, half_dt, c, h, contacts)
                if events == 0:
                    break
                first = n
                while events > 0:
                    k -= 1
                    d = u[k] - u[k + 1] + start[k]
                    r = v[k] - v[k + 1] + half_dt * (a[k] - a[k + 1]) if RATE else 0.0
                    ck = coefficients_at(c, k)
                    happened = needs_update(d, r, ck, history_at(h, k))
                    if JUMPS:
                        happened |= crosses(d, d - drifted * (v[k] - v[k + 1]), ck)
                    if happened:
                        events -= 1
                        known = False
                        for e in range(first):
                            known |= active[e] == k
                        if not known:
                            active[n] = k
                            n += 1
            e = first
            while e < n:
                k = active[e]
                d = u[k] - u[k + 1] + start[k]
                half = v[k] - v[k + 1]
                r = half + half_dt * (a[k] - a[k + 1]) if RATE else half
                ck = coefficients_at(c, k)
                hk = history_at(h, k)
                happened = needs_update(d, r if RATE else 0.0, ck, hk)
                crossed = crosses(d, d - drifted * half, ck) if JUMPS else False
                if not (happened or crossed):
                    n -= 1
                    active[e] = active[n]
                    continue
                e += 1
                renewed = hk
                if happened:
                    theta = d / (dt * half) if 0.0 < d < dt * half else 1.0
                    renewed = update((d, r, r - 2.0 * theta * (r - half), theta), ck, hk)
                    store_history(h, k, renewed)
                    if FORGETS and d <= OPEN:
                        lost[k] += plastic(ck, hk)
                if ONSET >= 0:
                    kick = record = force(d, r, ck, renewed)
                    if d <= OPEN:
                        # a contact has opened a part of the step ago; the sum over its last steps is that over the first ones of
                        # an onset, run backwards, less what the last step has had: the weight of the other part, less one
                        if dt * half < d < 0.0:
                            mirrored = update((-d, r, r, 1.0 - d / (dt * half)), ck, renewed)
                            rest = mirrored[ONSET] - 1.0
                            if ck[LOWEST] < 0.0:
                                kick = rest * row[k]
                                if LEAPS:
                                    leap(k, d / (dt * half), row[k] - corrections[EXCESS, k], 0.0, row, counts, corrections, leaps)
                            elif LEDGER:
                                # clamped, the force is zero there and only its parts are not: what the dashpot takes, the clamp gives
                                viscous = row[k] - table[ELASTIC, k] - table[CLAMP, k]
                                work = rest * dt * (half - half_dt * (a[k] - a[k + 1])) * viscous
                                table[VISCOUS_WORK, k] += work
                                table[CLAMP_WORK, k] -= work
                    else:
                        if LEAPS and hk[CLOSED] == 0.0:
                            onset_rate = r - 2.0 * theta * (r - half)
                            after = force(2.0 * OPEN, onset_rate, ck, unweighted_at(h, k))
                            leap(k, theta, 0.0, after, row, counts, corrections, leaps)
                        h[ONSET, k] = 1.0
                        record = force(d, r, ck, history_at(h, k))
                        store_history(h, k, renewed)
                    if kick != record:
                        places[0, changed] = k
                        kicked[changed] = kick
                        recorded[changed] = record
                        changed += 1
                if JUMPS:
                    before = d - drifted * half
                    for place in jumps(ck):
                        if (before < place) != (d < place) and (KINKS or jump(place, r, ck, hk) != 0.0):
                            closing = 1.0 if d > before else -1.0
                            near, far = place * (1.0 - closing * ASIDE), place * (1.0 + closing * ASIDE)
                            hx = unweighted_at(h, k) if ONSET >= 0 else hk
                            both = inverse_mass[k] + inverse_mass[k + 1]
                            # the part of the step that lies behind the jump, theta, on the parabola of the step: d - theta dt r + (theta
                            # dt)^2 bend/2 is the jump's overlap, and `before` at theta = 1; without a rate, on the straight line
                            bend = a[k] - a[k + 1] if RATE else 0.0
                            slowest = r + closing * math.sqrt(max(r * r - 2.0 * (d - place) * bend, 0.0))
                            behind = min(2.0 * (d - place) / (dt * slowest), 1.0) if slowest != 0.0 else 0.0
                            # the rate there, less what the force has grown by since the step before
                            rate = r - behind * dt * bend
                            first_side = force_there(near, rate, ck, hx)
                            if RATE:
                                known_force = row[k] - corrections[EXCESS, k]
                                middle = force_there(0.5 * (before + near), rate, ck, hx)
                                # Simpson's mean: a damping may rise by orders within a step
                                grown = (4.0 * middle + first_side - 5.0 * known_force) / 6.0
                                rate -= (1.0 - behind) * dt * both * grown
                                first_side = force_there(near, rate, ck, hx)
                                # the path's bend at the jump itself
                                bend -= both * (first_side - known_force)
                            second_side = force_there(far, rate, ck, hx)
                            leap(k, behind, first_side, second_side, row, counts, corrections, leaps)
                            if KINKS:
                                continue
                            bent = bend - both * (second_side - first_side)
                            lapse = LAPSE * dt
                            grows = force_there(far + lapse * rate, rate + lapse * bent, ck, hx) - second_side
                            grew = first_side - force_there(near - lapse * rate, rate - lapse * bend, ck, hx)
                            leaps[MOVING, counts[LEAPT] - 1], leaps[SLOPE, counts[LEAPT] - 1] = True, (grows - grew) / lapse
                            # a body that has just come through is back after 2 rate/-bent, and through once more
                            back = behind + 2.0 * rate / (dt * bent) if bent != 0.0 else 0.0
                            if RATE and not HISTORY and 0.0 < back < behind:
                                first_side, second_side = force_there(far, -rate, ck, hx), force_there(near, -rate, ck, hx)
                                leap(k, back, first_side, second_side, row, counts, corrections, leaps)
                                leaps[MOVING, counts[LEAPT] - 1], leaps[SLOPE, counts[LEAPT] - 1] = True, (grew - grows) / lapse
                            if LEDGER:
                                # the powers of the parts jump too, and are integrated as the force is (see move)
                                weight, growing = dt * (behind - 0.5), dt * dt * (0.5 * behind * (behind - 1.0) + 1.0 / 12.0) / lapse
                                for overlap, speed, share in (
                                    (far, rate, weight - growing),
                                    (far + lapse * rate, rate + lapse * bent, growing),
                                    (near, rate, -weight - growing),
                                    (near - lapse * rate, rate - lapse * bend, growing),
                                ):
                                    full, spring = force_there(overlap, speed, ck, hx), force_there(overlap, 0.0, ck, hx)
                                    free = force_there(overlap, speed, unclamped_at(c, k), hx) if LOWEST >= 0 else full
                                    table[VISCOUS_WORK, k] += share * speed * (free - spring)
                                    table[CLAMP_WORK, k] += share * speed * (full - free)
        counts[ACTIVE] = n
        return changed

    def move(u, v, a, inverse_mass, dt, counts, numbers, leaps):  # type: ignore[no-untyped-def]
        """Move the bodies beside each jump inside a contact to where it has put them: what else is done knows nothing of the jump.

        The step to t_n is done with the acceleration A before the jump at t_n - theta dt, whose own is J, its growth J'. True are

            u_n = u + (theta dt)^2 J/2,  v_n = v + theta dt J,

        with the u and v = v_{n-1/2} + dt A/2 that the step has come to. Kicked by the force behind the jump, the sum of the steps differs
        from the integral by (theta - 1/2) dt J + (theta^2/2 - theta/2 + 1/12) dt^2 J' (Euler and Maclaurin, on each side of the jump): the
        half-step velocity has that more, and as the predicted rate is v_{n-1/2} + dt A/2, with A + J for A it is v_n.
        """
        for e in range(counts[LEAPT]):
            if leaps[MOVING, e] == 0.0:
                continue
            k, theta = int(leaps[CONTACT, e]), leaps[BEHIND, e]
            force, growth = leaps[AFTER, e] - leaps[BEFORE, e], leaps[SLOPE, e]
            kick = dt * ((theta - 0.5) * force + (0.5 * theta * (theta - 1.0) + 1.0 / 12.0) * dt * growth)
            for i, pushed in ((k, -inverse_mass[k]), (k + 1, inverse_mass[k + 1])):
                u[i] += 0.5 * (theta * dt) ** 2 * pushed * force
                v[i] += pushed * kick
                if RATE:
                    a[i] += pushed * force
            if DRIVEN and k in (0, counts[N_BODIES]):
                work = kick * (numbers[LEFT_SPEED] if k == 0 else -numbers[RIGHT_SPEED])
                numbers[DRIVE_WORK], numbers[DRIVE_REST] = added(numbers[DRIVE_WORK], numbers[DRIVE_REST], work)

    def sweep(u, v, start, dt, dt_over_m, loads, c, h, row, peak, reach, contacts):  # type: ignore[no-untyped-def]
        """Forces, kick and drift in one pass; the force on a body's left is carried in a scalar."""
        left = 0.0
        for k in range(contacts):
            d = u[k] - u[k + 1] + start[k]
            f = force(d, 0.0, coefficients_at(c, k), history_at(h, k))
            row[k] = f
            peak[k] = f if f > peak[k] else peak[k]
            reach[k] = d if d > reach[k] else reach[k]
            v[k] += dt_over_m[k] * (left - f + loads[k] if LOADED else left - f)
            u[k] += dt * v[k]
            left = f

    def sweep_rate(
        u, v, a, start, dt, half_dt, pending, inverse_mass, loads, c, h, row, peak, reach, elastic, clamp, viscous_work, clamp_work,
        contacts,
    ):  # type: ignore[no-untyped-def]  # fmt: skip
        """The same for a force that depends on the rate, predicted to the full step with the last step's accelerations.

        With the ledger, it adds the losses of the step before, over `pending` [s]; how many contacts are clamped.
        """
        left, clamped = 0.0, 0
        for k in range(contacts):
            d = u[k] - u[k + 1] + start[k]
            dv, da = v[k] - v[k + 1], a[k] - a[k + 1]
            r = dv + half_dt * da
            ck = coefficients_at(c, k)
            hk = history_at(h, k)
            f = force(d, r, ck, hk)
            if LEDGER:
                mean = dv - half_dt * da
                viscous_work[k] += pending * mean * (row[k] - elastic[k] - clamp[k])
                elastic[k] = force(d, 0.0, ck, hk)
                if LOWEST >= 0:
                    clamp_work[k] += pending * mean * clamp[k]
                    raw = force(d, r, unclamped_at(c, k), hk)
                    clamp[k] = ck[LOWEST] - raw if raw < ck[LOWEST] else 0.0
                    clamped += clamp[k] > 0.0
            row[k] = f
            peak[k] = f if f > peak[k] else peak[k]
            reach[k] = d if d > reach[k] else reach[k]
            acceleration = inverse_mass[k] * (left - f + loads[k] if LOADED else left - f)
            a[k] = acceleration
            v[k] += dt * acceleration
            u[k] += dt * v[k]
            left = f
        return clamped

    def forces(u, v, a, start, half_dt, pending, c, h, row, reach, elastic, clamp, viscous_work, clamp_work, contacts):  # type: ignore[no-untyped-def]
        """Forces alone, with the ledger's parts as in a sweep."""
        clamped = 0
        for k in range(contacts):
            d = u[k] - u[k + 1] + start[k]
            dv, da = v[k] - v[k + 1], a[k] - a[k + 1]
            r = dv + half_dt * da if RATE else 0.0
            ck = coefficients_at(c, k)
            hk = history_at(h, k)
            f = force(d, r, ck, hk)
            if LEDGER:
                mean = dv - half_dt * da
                viscous_work[k] += pending * mean * (row[k] - elastic[k] - clamp[k])
                elastic[k] = force(d, 0.0, ck, hk)
                if LOWEST >= 0:
                    clamp_work[k] += pending * mean * clamp[k]
                    raw = force(d, r, unclamped_at(c, k), hk)
                    clamp[k] = ck[LOWEST] - raw if raw < ck[LOWEST] else 0.0
                    clamped += clamp[k] > 0.0
            row[k] = f
            reach[k] = d if d > reach[k] else reach[k]
        return clamped

    def march(
        u,
        v,
        a,
        dt,
        dt_over_m,
        inverse_mass,
        loads,
        table,
        c,
        h,
        places,
        numbers,
        counts,
        contacts,
        steps,
        whole,
        sample_at,
        sensor_left,
        sensor_right,
        sensor_force,
        corrections,
        leaps,
    ):  # type: ignore[no-untyped-def]
        """Steps, with the samples of their sensors; how many were done, and how many kicks of the next one differ from the recorded force.

        Of a whole step, and of one whose kick differs, only the forces are done: the rest is the caller's.
        """
        start, row, peak, reach, elastic, clamp = table[START], table[ROW], table[PEAK], table[REACH], table[ELASTIC], table[CLAMP]
        viscous_work, clamp_work = table[VISCOUS_WORK], table[CLAMP_WORK]
        pending = numbers[PENDING]
        for done in range(steps):
            half_dt = 0.5 * dt if counts[STEP] + done > 0 else 0.0
            changed = 0
            if HISTORY or JUMPS:
                changed = renew(u, v, a, inverse_mass, dt, half_dt, table, c, h, places, counts, corrections, leaps, contacts)
            if JUMPS and not KINKS and counts[LEAPT] > 0:
                if LEDGER:
                    # of the step before, with its own velocities
                    dissipate(v, a, pending, 1.0, half_dt, row, elastic, clamp, viscous_work, clamp_work, contacts)
                    pending = 0.0
                move(u, v, a, inverse_mass, dt, counts, numbers, leaps)
            if whole or changed > 0 or (LEAPS and counts[LEAPT] > 0):
                clamped = forces(
                    u, v, a, start, half_dt, pending, c, h, row, reach, elastic, clamp, viscous_work, clamp_work, contacts
                )  # fmt: skip
                for e in range(changed):
                    row[places[0, e]] = table[RECORDED, e]
                counts[CLAMPED] += clamped
                numbers[PENDING] = 0.0
                return done, changed
            if RATE:
                counts[CLAMPED] += sweep_rate(
                    u, v, a, start, dt, half_dt, pending, inverse_mass, loads, c, h, row, peak, reach,
                    elastic, clamp, viscous_work, clamp_work, contacts,
                )  # fmt: skip
                pending = dt
            else:
                sweep(u, v, start, dt, dt_over_m, loads, c, h, row, peak, reach, contacts)
            if counts[STEP] + done == sample_at:
                sample = counts[SAMPLE]
                for s in range(sensor_left.size):
                    sensor_force[sample, s] = 0.5 * (row[sensor_left[s]] + row[sensor_right[s]])
                counts[SAMPLE] = sample + 1
                sample_at = sample_at + counts[STRIDE] if sample + 1 < sensor_force.shape[0] else -1
        numbers[PENDING] = pending
        return steps, 0

    def beside(m, behind, n, row, corrections, leaps, later):  # type: ignore[no-untyped-def]
        """Force of a contact at a moment within the step, on the line between those that are known of it.

        Where it jumps at that moment itself, the force before or after (`later`) its jump.
        """
        start, end, first, last = corrections[PAST, m], row[m], 1.0, 0.0
        for e in range(n):
            if leaps[CONTACT, e] == m:
                if leaps[BEHIND, e] > behind or (later and leaps[BEHIND, e] == behind):
                    if leaps[BEHIND, e] < first or first == 1.0:
                        start, first = leaps[AFTER, e], leaps[BEHIND, e]
                elif leaps[BEHIND, e] >= last:
                    end, last = leaps[BEFORE, e], leaps[BEHIND, e]
        return start + (end - start) * ((first - behind) / (first - last)) if first > last else end

    def correct(bodies, table, c, h, places, counts, numbers, sensor_left, sensor_right, jump_force, jump_time, corrections, leaps,
                changed, contacts):  # type: ignore[no-untyped-def]  # fmt: skip
        """Records of a step with a jump of the force, and of the one after it; what kicks is put aside.

        The rate of a step is predicted with the accelerations of the step before, which know nothing of a jump: the kicks add up all the
        same, but forces read from them are off by order one. With J the acceleration that the jump adds, the velocity at the step is
        behind dt J more than predicted; at the next step the kick's excess over the true force is missing for half a step.
        """
        u, v, a, inverse_mass = bodies[U], bodies[V], bodies[A], bodies[INVERSE_MASS]
        start, row, peak, kicked = table[START], table[ROW], table[PEAK], table[KICKED]
        excess, kick, shift = corrections[EXCESS], corrections[KICK], corrections[SHIFT]
        dt, n = numbers[DT], counts[LEAPT]
        for k in range(contacts):
            kick[k] = row[k]
        for e in range(changed):
            kick[places[0, e]] = kicked[e]
        if RATE:
            for k in range(contacts):
                shift[k] += 0.5 * dt * inverse_mass[k] * excess[k]
                shift[k + 1] -= 0.5 * dt * inverse_mass[k + 1] * excess[k]
            for e in range(n):
                if leaps[MOVING, e] != 0.0:
                    # the bodies have been moved by it
                    continue
                k = int(leaps[CONTACT, e])
                pushed = leaps[BEHIND, e] * dt * (leaps[AFTER, e] - leaps[BEFORE, e])
                shift[k] -= inverse_mass[k] * pushed
                shift[k + 1] += inverse_mass[k + 1] * pushed
            for k in range(contacts):
                if shift[k] != 0.0 or shift[k + 1] != 0.0:
                    d = u[k] - u[k + 1] + start[k]
                    r = v[k] - v[k + 1] + 0.5 * dt * (a[k] - a[k + 1]) + shift[k] - shift[k + 1]
                    row[k] = force(d, r, coefficients_at(c, k), unweighted_at(h, k))
            for k in range(contacts + 1):
                shift[k] = 0.0
        slot = counts[SAMPLE]
        for e in range(n):
            k, behind = int(leaps[CONTACT, e]), leaps[BEHIND, e]
            for side in (BEFORE, AFTER):
                f = leaps[side, e]
                peak[k] = f if f > peak[k] else peak[k]
                if slot < jump_force.shape[0]:
                    for s in range(sensor_left.size):
                        if sensor_left[s] == k or sensor_right[s] == k:
                            m = sensor_left[s] + sensor_right[s] - k
                            f = 0.5 * (leaps[side, e] + beside(m, behind, n, row, corrections, leaps, side == AFTER))
                            if not f <= jump_force[slot, s]:
                                jump_force[slot, s] = f
                                jump_time[slot, s] = (counts[STEP] - behind) * dt
        echoes = changed > 0 or n > 0
        for k in range(excess.size):
            excess[k] = kick[k] - row[k] if echoes and k < contacts else 0.0
        counts[LEAPT], counts[ECHOES] = 0, echoes

    def jolt(bodies, table, c, h, numbers, k, body, inwards, part, speed, before):  # type: ignore[no-untyped-def]
        """Kick, work and losses of a step in which a driven end's speed jumps: by `part` of their jumps more.

        The sums of the steps are the integrals up to order two where a step that crosses a jump counts (theta - 1/2) of it more, theta the
        part of the step that lies behind it. Where the contact closes in this step, its onset weight does that.
        """
        if ONSET >= 0 and h[ONSET, k] != 1.0:
            return
        u, v, a = bodies[U], bodies[V], bodies[A]
        dt = numbers[DT]
        d = u[k] - u[k + 1] + table[START, k]
        r = v[k] - v[k + 1] + 0.5 * dt * (a[k] - a[k + 1])
        r_before = r - inwards * (speed - before)
        ck = coefficients_at(c, k)
        hk = history_at(h, k)
        f = force(d, r if RATE else 0.0, ck, hk)
        f_before = force(d, r_before if RATE else 0.0, ck, hk)
        v[body] += part * inwards * dt * bodies[INVERSE_MASS, body] * (f - f_before)
        work = part * inwards * dt * (f * speed - f_before * before)
        numbers[DRIVE_WORK], numbers[DRIVE_REST] = added(numbers[DRIVE_WORK], numbers[DRIVE_REST], work)
        if LEDGER:
            elastic = force(d, 0.0, ck, hk)
            clamp = clamp_before = 0.0
            if LOWEST >= 0:
                free = unclamped_at(c, k)
                clamp, clamp_before = f - force(d, r, free, hk), f_before - force(d, r_before, free, hk)
                table[CLAMP_WORK, k] += part * dt * (r * clamp - r_before * clamp_before)
            table[VISCOUS_WORK, k] += part * dt * (r * (f - elastic - clamp) - r_before * (f_before - elastic - clamp_before))

    def account(bodies, table, c, h, half, back, numbers, drive_power, energies, contacts):  # type: ignore[no-untyped-def]
        """The ledger at this step; `half` is the part of the step's work that belongs to it, as a time."""
        u, v, a, mass, steady, weight = bodies[U], bodies[V], bodies[A], bodies[MASS], bodies[STEADY], bodies[WEIGHT]
        start, row, elastic, clamp, lost = table[START], table[ROW], table[ELASTIC], table[CLAMP], table[LOST]
        kinetic = recoverable = dented = viscous = clamping = gravity = precompression = 0.0
        for k in range(contacts):
            velocity = v[k] - back * a[k]
            kinetic += 0.5 * mass[k] * velocity * velocity
            gravity += weight[k] * u[k]
            precompression += (steady[k] - weight[k]) * u[k]
            ck = coefficients_at(c, k)
            hk = history_at(h, k)
            recoverable += energy(u[k] - u[k + 1] + start[k], ck, hk)
            dented += plastic(ck, hk) + lost[k]
            if LEDGER:
                r = v[k] - v[k + 1] - back * (a[k] - a[k + 1])
                for work, total, rest in ((VISCOUS_WORK, VISCOUS_TOTAL, VISCOUS_REST), (CLAMP_WORK, CLAMP_TOTAL, CLAMP_REST)):
                    table[total, k], table[rest, k] = added(table[total, k], table[rest, k], table[work, k])
                    table[work, k] = 0.0
                viscous += table[VISCOUS_TOTAL, k] + table[VISCOUS_REST, k] + half * r * (row[k] - elastic[k] - clamp[k])
                clamping += table[CLAMP_TOTAL, k] + table[CLAMP_REST, k] + half * r * clamp[k]
        drives = numbers[DRIVE_WORK] + numbers[DRIVE_REST] + half * drive_power
        energies[KINETIC] = kinetic
        energies[RECOVERABLE] = recoverable
        energies[PLASTIC] = dented
        energies[VISCOUS] = viscous
        energies[CLAMPING] = clamping
        energies[EXTERNAL] = gravity + precompression + drives
        energies[GRAVITY] = gravity
        energies[PRECOMPRESSION] = precompression
        energies[DRIVES] = drives

    def inspect(bodies, table, c, h, numbers, counts, contacts):  # type: ignore[no-untyped-def]
        """Look at the state at the end of a block: finite, within the radius, within the law, stable at this step."""
        u, v, inverse_mass = bodies[U], bodies[V], bodies[INVERSE_MASS]
        start, limit, reach, endwise = table[START], table[LIMIT], table[REACH], table[ENDWISE]
        for i in range(counts[N_BODIES] + 2):
            if not math.isfinite(u[i] + v[i]):
                counts[WHERE] = i
                return NOT_FINITE
        k_left = c_left = 0.0
        allowed = math.inf
        status = RUNNING
        for k in range(contacts):
            d = u[k] - u[k + 1] + start[k]
            r = v[k] - v[k + 1]
            ck = coefficients_at(c, k)
            hk = history_at(h, k)
            if reach[k] > largest_overlap(ck):
                counts[WHERE] = k
                return OUTSIDE_LAW
            if reach[k] > limit[k]:
                counts[WHERE] = k
                return BEYOND_RADIUS
            stiffness = damping = 0.0
            if d > OPEN:
                nudge = NUDGE * d
                stiffness = (force(d, 0.0, ck, hk) - force(d - nudge, 0.0, ck, hk)) / nudge
                if RATE:
                    nudge = NUDGE * (abs(r) + 1.0)
                    damping = (force(d, r + nudge, ck, hk) - force(d, r, ck, hk)) / nudge
            # Gershgorin: a contact with a bead counts twice, with a wall once
            k_right, c_right = endwise[k] * stiffness, endwise[k] * damping
            omega2 = inverse_mass[k] * (k_left + k_right)
            gamma = inverse_mass[k] * (c_left + c_right)
            if omega2 > 0.0:
                step = 2.0 / (gamma + math.sqrt(gamma * gamma + omega2))
                if step < allowed:
                    allowed = step
                    if step < numbers[DT]:
                        counts[WHERE] = k
                        status = UNSTABLE
            k_left, c_left = k_right, c_right
        if allowed < numbers[ALLOWED_STEP]:
            numbers[ALLOWED_STEP] = allowed
        return status

    # what runs once per contact and step goes where it is called; the repair of the few events does not
    for function in (force, needs_update, coefficients_at, history_at, unclamped_at, unweighted_at, crosses):
        jitable(function, hot=True)
    for rows in (detect, sweep, sweep_rate, forces):
        jitable(rows, rows=True)
    jitable(renew, hot=True)
    jitable(march, hot=True)
    return SimpleNamespace(
        march=march, kick=kick, drift=drift, raise_peaks=raise_peaks,
        dissipate=dissipate, account=account, inspect=inspect, jolt=jolt, correct=correct,
    )  # fmt: skip
