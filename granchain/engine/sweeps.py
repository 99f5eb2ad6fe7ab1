"""The sweeps over a row of contacts that a time step is made of, for one contact law.

Order two for every force form takes: the rate predicted to the full step with the accelerations of the step before (the half-step
rate gives order one), the approach speed interpolated to the onset, and the onset weight (granchain/contact/law.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

from granchain.contact.law import OPEN, ContactLaw
from granchain.engine.layout import (
    ALLOWED_STEP,
    CLAMP,
    CLAMP_WORK,
    CLAMPED,
    CLAMPING,
    DRIVE_WORK,
    DT,
    ELASTIC,
    ENDWISE,
    EXTERNAL,
    INVERSE_MASS,
    KINETIC,
    LAST,
    LIMIT,
    LOST,
    MASS,
    N_BODIES,
    PEAK,
    PLASTIC,
    REACH,
    RECOVERABLE,
    ROW,
    START,
    STEADY,
    STEP,
    VISCOUS,
    VISCOUS_WORK,
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
    weight: int
    lowest: int
    n_coefficients: int
    n_history: int

    @property
    def fused(self) -> bool:
        """Whether an ordinary step is one sweep."""
        return not (self.history or self.ledger or self.loaded or self.driven)


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
        weight=names.index("onset_weight") if "onset_weight" in names else -1,
        lowest=law.index_of("lowest_force") if law.uses_rate else -1,
        n_coefficients=len(law.coefficients),
        n_history=len(law.history),
    )


def unclamped(count: int, lowest: int) -> Callable:
    """Function (table, k) -> the coefficients of contact k with the lowest force replaced by -inf."""
    gather = gatherer(count)
    if lowest < 0:
        return gather
    before, after = gatherer(lowest), gatherer(count - lowest - 1, lowest + 1)

    def gather_unclamped(table, k):  # type: ignore[no-untyped-def]
        return before(table, k) + (-math.inf,) + after(table, k)

    return gather_unclamped


def sweeps_of(law: type[ContactLaw], features: Features) -> SimpleNamespace:
    """The sweeps for a law, as plain functions that call its functions."""
    force, needs_update, update = law.force, law.needs_update, law.update
    energy, plastic, largest_overlap = law.energy, law.plastic, law.largest_overlap
    RATE, HISTORY, LEDGER, LOADED = features.rate, features.history, features.ledger, features.loaded
    WEIGHT, LOWEST, FUSED, FORGETS = features.weight, features.lowest, features.fused, features.forgets
    coefficients_at = gatherer(features.n_coefficients)
    history_at = gatherer(features.n_history)
    store_history = scatterer(features.n_history)
    unclamped_at = unclamped(features.n_coefficients, features.lowest)

    def sweep(u, v, start, dt, dt_over_m, c, h, row, peak, reach, contacts):  # type: ignore[no-untyped-def]
        """Forces, kick and drift in one pass; the force on a body's left is carried in a scalar."""
        left = 0.0
        for k in range(contacts):
            d = u[k] - u[k + 1] + start[k]
            f = force(d, 0.0, coefficients_at(c, k), history_at(h, k))
            row[k] = f
            peak[k] = f if f > peak[k] else peak[k]
            reach[k] = d if d > reach[k] else reach[k]
            v[k] += dt_over_m[k] * (left - f)
            u[k] += dt * v[k]
            left = f

    def sweep_rate(u, v, a, start, dt, inverse_mass, c, h, row, peak, reach, contacts):  # type: ignore[no-untyped-def]
        """The same for a force that depends on the rate, predicted to the full step with the last step's accelerations."""
        left = 0.0
        half_dt = 0.5 * dt
        for k in range(contacts):
            d = u[k] - u[k + 1] + start[k]
            r = v[k] - v[k + 1] + half_dt * (a[k] - a[k + 1])
            f = force(d, r, coefficients_at(c, k), history_at(h, k))
            row[k] = f
            peak[k] = f if f > peak[k] else peak[k]
            reach[k] = d if d > reach[k] else reach[k]
            acceleration = inverse_mass[k] * (left - f)
            a[k] = acceleration
            v[k] += dt * acceleration
            u[k] += dt * v[k]
            left = f

    def forces(u, v, a, start, half_dt, c, h, row, reach, elastic, clamp, contacts):  # type: ignore[no-untyped-def]
        """Forces of the smooth branch, the number of contacts to which something has happened, and the ledger's parts."""
        events = 0
        for k in range(contacts):
            d = u[k] - u[k + 1] + start[k]
            r = v[k] - v[k + 1] + half_dt * (a[k] - a[k + 1]) if RATE else 0.0
            ck = coefficients_at(c, k)
            hk = history_at(h, k)
            row[k] = force(d, r, ck, hk)
            reach[k] = d if d > reach[k] else reach[k]
            if HISTORY:
                events += needs_update(d, r, ck, hk)
            if LEDGER:
                elastic[k] = force(d, 0.0, ck, hk)
                if LOWEST >= 0:
                    raw = force(d, r, unclamped_at(c, k), hk)
                    clamp[k] = ck[LOWEST] - raw if raw < ck[LOWEST] else 0.0
        return events

    def repair(u, v, a, dt, half_dt, table, c, h, kicked_at, kicked, contacts, events):  # type: ignore[no-untyped-def]
        """Give each contact with an event its new history and force; how many kicks differ from the force that is recorded.

        The scan starts at the far end: events are where the wave's front is.
        """
        start, row, last, lost = table[START], table[ROW], table[LAST], table[LOST]
        elastic, clamp = table[ELASTIC], table[CLAMP]
        changed = 0
        k = contacts
        while events > 0 and k > 0:
            k -= 1
            d = u[k] - u[k + 1] + start[k]
            half = v[k] - v[k + 1]
            r = half + half_dt * (a[k] - a[k + 1]) if RATE else half
            ck = coefficients_at(c, k)
            hk = history_at(h, k)
            if needs_update(d, r if RATE else 0.0, ck, hk):
                events -= 1
                theta = d / (dt * half) if 0.0 < d < dt * half else 1.0
                renewed = update((d, r, r - 2.0 * theta * (r - half), theta), ck, hk)
                store_history(h, k, renewed)
                if FORGETS and d <= OPEN:
                    lost[k] += plastic(ck, hk)
                row[k] = force(d, r, ck, renewed)
                if LEDGER:
                    elastic[k] = force(d, 0.0, ck, renewed)
                    if LOWEST >= 0:
                        raw = force(d, r, unclamped_at(c, k), renewed)
                        clamp[k] = ck[LOWEST] - raw if raw < ck[LOWEST] else 0.0
                if WEIGHT >= 0:
                    kick = row[k]
                    if d <= OPEN:
                        # a tensile contact has opened a part of the step ago; the sum over its last steps is that over the first ones
                        # of an onset, run backwards, less the kick that the last step has had: the weight of the other part, less one
                        if dt * half < d < 0.0 and ck[LOWEST] < 0.0:
                            mirrored = update((-d, r, r, 1.0 - d / (dt * half)), ck, renewed)
                            kick = (mirrored[WEIGHT] - 1.0) * last[k]
                    else:
                        h[WEIGHT, k] = 1.0
                        row[k] = force(d, r, ck, history_at(h, k))
                        store_history(h, k, renewed)
                    if kick != row[k]:
                        kicked_at[changed] = k
                        kicked[changed] = kick
                        changed += 1
        return changed

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

    def kick_drift(u, v, a, dt, dt_over_m, inverse_mass, loads, row, peak, contacts):  # type: ignore[no-untyped-def]
        """Kick and drift of an ordinary step, with the largest force of each contact."""
        left = 0.0
        for k in range(contacts):
            f = row[k]
            peak[k] = f if f > peak[k] else peak[k]
            net = left - f + loads[k] if LOADED else left - f
            if RATE:
                acceleration = inverse_mass[k] * net
                a[k] = acceleration
                v[k] += dt * acceleration
            else:
                v[k] += dt_over_m[k] * net
            u[k] += dt * v[k]
            left = f

    def step_forces(u, v, a, dt, step, table, c, h, kicked_at, kicked, contacts):  # type: ignore[no-untyped-def]
        """Forces of one step, events included; how many kicks differ from the force that is recorded."""
        row, last = table[ROW], table[LAST]
        if WEIGHT >= 0:
            for k in range(contacts):
                last[k] = row[k]
        half_dt = 0.5 * dt if step > 0 else 0.0
        events = forces(u, v, a, table[START], half_dt, c, h, row, table[REACH], table[ELASTIC], table[CLAMP], contacts)
        if HISTORY and events > 0:
            return repair(u, v, a, dt, half_dt, table, c, h, kicked_at, kicked, contacts, events)
        return 0

    def march(u, v, a, dt, dt_over_m, inverse_mass, loads, table, c, h, kicked_at, kicked, counts, contacts, steps, whole):  # type: ignore[no-untyped-def]
        """Steps; how many were done, and how many kicks of the next one differ from the recorded force.

        Of a whole step, and of one whose kick differs, only the forces are done: the rest is the caller's.
        """
        start, row, peak, reach = table[START], table[ROW], table[PEAK], table[REACH]
        for done in range(steps):
            if FUSED and not whole:
                if RATE:
                    sweep_rate(u, v, a, start, dt, inverse_mass, c, h, row, peak, reach, contacts)
                else:
                    sweep(u, v, start, dt, dt_over_m, c, h, row, peak, reach, contacts)
            else:
                changed = step_forces(u, v, a, dt, counts[STEP] + done, table, c, h, kicked_at, kicked, contacts)
                if whole or changed > 0:
                    return done, changed
                kick_drift(u, v, a, dt, dt_over_m, inverse_mass, loads, row, peak, contacts)
                if LEDGER:
                    dissipate(v, a, dt, 1.0, 0.5 * dt, table, counts, contacts)
        return steps, 0

    def drift(u, v, dt, contacts):  # type: ignore[no-untyped-def]
        for k in range(contacts):
            u[k] += dt * v[k]

    def raise_peaks(row, peak, contacts):  # type: ignore[no-untyped-def]
        for k in range(contacts):
            peak[k] = row[k] if row[k] > peak[k] else peak[k]

    def dissipate(v, a, dt, scale, back, table, counts, contacts):  # type: ignore[no-untyped-def]
        """Add the step's viscous and clamp work: force times the mean full-step rate times the step."""
        row, elastic, clamp = table[ROW], table[ELASTIC], table[CLAMP]
        viscous_work, clamp_work = table[VISCOUS_WORK], table[CLAMP_WORK]
        clamped = 0
        for k in range(contacts):
            r = v[k] - v[k + 1] - back * (a[k] - a[k + 1])
            viscous_work[k] += scale * dt * r * (row[k] - elastic[k] - clamp[k])
            if LOWEST >= 0:
                clamp_work[k] += scale * dt * r * clamp[k]
                clamped += clamp[k] > 0.0
        counts[CLAMPED] += clamped

    def account(bodies, table, c, h, half, back, numbers, drive_power, energies, contacts):  # type: ignore[no-untyped-def]
        """The ledger at this step; `half` is the part of the step's work that belongs to it, as a time."""
        u, v, a, mass, steady = bodies[U], bodies[V], bodies[A], bodies[MASS], bodies[STEADY]
        start, row, elastic, clamp = table[START], table[ROW], table[ELASTIC], table[CLAMP]
        viscous_work, clamp_work, lost = table[VISCOUS_WORK], table[CLAMP_WORK], table[LOST]
        kinetic = recoverable = dented = viscous = clamping = external = 0.0
        for k in range(contacts):
            velocity = v[k] - back * a[k]
            kinetic += 0.5 * mass[k] * velocity * velocity
            external += steady[k] * u[k]
            ck = coefficients_at(c, k)
            hk = history_at(h, k)
            recoverable += energy(u[k] - u[k + 1] + start[k], ck, hk)
            dented += plastic(ck, hk) + lost[k]
            if LEDGER:
                r = v[k] - v[k + 1] - back * (a[k] - a[k + 1])
                viscous += viscous_work[k] + half * r * (row[k] - elastic[k] - clamp[k])
                clamping += clamp_work[k] + half * r * clamp[k]
        energies[KINETIC] = kinetic
        energies[RECOVERABLE] = recoverable
        energies[PLASTIC] = dented
        energies[VISCOUS] = viscous
        energies[CLAMPING] = clamping
        energies[EXTERNAL] = external + numbers[DRIVE_WORK] + half * drive_power

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
    for function in (force, needs_update, coefficients_at, history_at, unclamped_at):
        jitable(function, hot=True)
    jitable(repair)
    jitable(march, hot=True)
    return SimpleNamespace(
        march=march, kick=kick, drift=drift, raise_peaks=raise_peaks,
        dissipate=dissipate, account=account, inspect=inspect,
    )  # fmt: skip
