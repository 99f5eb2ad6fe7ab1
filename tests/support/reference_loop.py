"""Kick-drift-kick on a row of bodies in plain Python, step by step as the time step is defined:
what the compiled loop is compared with.

It knows a law's functions and nothing of the engine: no window, no padding, no fused sweep, no
division done ahead. A wall is a body of infinite mass.
"""

import math
from dataclasses import dataclass

from granchain.contact.guard import ASIDE
from granchain.contact.law import OPEN


@dataclass
class Course:
    """What a run went through.

    Parameters
    ----------
    forces : list of lists
        Force of every contact at every step, as a sensor records it [N].
    displacement, velocity : list
        Of every body at the end [m], [m/s].
    history : list of tuples
        Of every contact at the end.
    largest_overlap : float
        Over all contacts and steps [m].
    peaks : list
        Largest force of each contact, recorded or beside a jump [N].
    jumps : list of tuples
        Contact, time [s], force before and after it [N], of every jump.
    """

    forces: list[list[float]]
    displacement: list[float]
    velocity: list[float]
    history: list[tuple]
    largest_overlap: float
    peaks: list[float]
    jumps: list[tuple[int, float, float, float]]


def crossing(beyond, rate, bend, closing):
    """Time since an overlap was passed that is `beyond` behind: beyond - s rate + s^2/2 bend =
    0, in the direction of closing."""
    swing = rate + closing * math.sqrt(max(rate * rate - 2.0 * beyond * bend, 0.0))
    return 2.0 * beyond / swing if swing != 0.0 else 0.0


def march(law, coefficients, mass, start_velocity, start_overlap, load, dt, n_steps):
    """Advance bodies 0..n-1, contact k between bodies k and k + 1, by n_steps steps of dt [s].

    Parameters
    ----------
    coefficients : list of tuples
        Of each contact.
    mass, start_velocity, load : list
        Of each body [kg], [m/s], constant force [N].
    start_overlap : list
        Of each contact, at rest [m]; minus the gap.
    """
    contacts, bodies = range(len(start_overlap)), range(len(mass))
    u, v, a = [0.0 for _ in bodies], list(start_velocity), [0.0 for _ in bodies]
    names = [quantity.name for quantity in law.history]
    weight = names.index("onset_weight") if "onset_weight" in names else None
    lowest = (
        [quantity.name for quantity in law.coefficients].index("lowest_force")
        if weight is not None
        else 0
    )
    history, kicks, before, forces, largest = (
        [],
        [0.0 for _ in contacts],
        list(start_overlap),
        [],
        0.0,
    )
    peaks, jumps, excess = [0.0 for _ in contacts], [], [0.0 for _ in contacts]

    def there(overlap, rate, c, h):
        """Force at an overlap that the contact has gone through within the step."""
        return law.force(
            overlap,
            rate,
            c,
            law.update((overlap, rate, rate, 1.0), c, h)
            if law.needs_update(overlap, rate, c, h)
            else h,
        )

    # before the first step: a contact under static load may have yielded
    for k in contacts:
        c = coefficients[k]
        h = law.history_of(c)
        if start_overlap[k] > 0.0 and law.needs_update(start_overlap[k], 0.0, c, h):
            h = law.update((start_overlap[k], 0.0, 0.0, 1.0), c, h)
        # one that relaxes has done so
        history.append(law.evolve(math.inf, start_overlap[k], start_overlap[k], c, h)[0])

    for step in range(n_steps + 1):
        recorded, leaps, inside, kicked = [], [], [], False
        for k in contacts:
            c, h = coefficients[k], history[k]
            was_open = weight is not None and h[weight + 1] == 0.0
            overlap = u[k] - u[k + 1] + start_overlap[k]
            half = v[k] - v[k + 1]
            # half-step velocities are those of dt/2 before; start velocities of the step itself
            rate = half + dt / 2.0 * (a[k] - a[k + 1]) if step > 0 else half
            if step > 0:
                h, _ = law.evolve(dt, before[k], overlap, c, h)
            if law.needs_update(overlap, rate, c, h):
                theta = min(1.0, overlap / (dt * half)) if overlap > 0.0 and half > 0.0 else 1.0
                h = law.update((overlap, rate, rate - 2.0 * theta * (rate - half), theta), c, h)
            kick = force = law.force(overlap, rate, c, h)
            if weight is not None and law.has_jumps() and was_open and overlap > OPEN:
                bare = (*h[:weight], 1.0, *h[weight + 1 :])
                leaps.append(
                    (
                        k,
                        theta,
                        0.0,
                        law.force(2.0 * OPEN, rate - 2.0 * theta * (rate - half), c, bare),
                    )
                )
            if weight is not None:
                force = law.force(overlap, rate, c, (*h[:weight], 1.0, *h[weight + 1 :]))
                if c[lowest] < 0.0 and before[k] > 0.0 > overlap:
                    # a tensile contact that opened a part of the step ago: an onset backwards
                    mirrored = law.update((-overlap, rate, rate, 1.0 - overlap / (dt * half)), c, h)
                    kick = (mirrored[weight] - 1.0) * kicks[k]
                    if law.has_jumps():
                        leaps.append((k, overlap / (dt * half), kicks[k] - excess[k], 0.0))
            for place in law.jumps(c) if step > 0 else ():
                # the overlap was on the other side of a jump of the force, or of a kink
                kink = law.kinks
                if min(before[k], overlap) < place <= max(before[k], overlap) and (
                    kink or law.jump(place, rate, c, history[k]) != 0.0
                ):
                    closing = 1.0 if overlap > before[k] else -1.0
                    bare = history[k] if weight is None else (*h[:weight], 1.0, *h[weight + 1 :])
                    near, far = place * (1.0 - closing * ASIDE), place * (1.0 + closing * ASIDE)
                    push = 1.0 / mass[k] + 1.0 / mass[k + 1]
                    # the time since the jump: overlap - s rate + s^2/2 bend = place
                    bend = a[k] - a[k + 1] if law.uses_rate else 0.0
                    end_rate = rate if law.uses_rate else half
                    since = crossing(overlap - place, end_rate, bend, closing)
                    behind = since / dt
                    # the rate at the jump: that of the step before, and what the forces between
                    # there and here have taken off it, the others as at the step before, this one
                    # by Simpson's rule
                    at_jump = end_rate - since * bend
                    if law.uses_rate:
                        first, middle, last = (
                            kicks[k] - excess[k],
                            there(0.5 * (before[k] + near), at_jump, c, bare),
                            0.0,
                        )
                        last = there(near, at_jump, c, bare)
                        mean = (first + 4.0 * middle + last) / 6.0
                        at_jump -= (dt - since) * (mean - first) * push
                        bend -= push * (there(near, at_jump, c, bare) - first)
                    one, other = there(near, at_jump, c, bare), there(far, at_jump, c, bare)
                    if kink:
                        leaps.append((k, behind, one, other))
                        continue
                    # its growth in time on either side, within a 1024th of a step
                    after_bend, short = bend - push * (other - one), dt / 1024.0
                    growth = (
                        there(far + short * at_jump, at_jump + short * after_bend, c, bare) - other
                    )
                    growth -= one - there(near - short * at_jump, at_jump - short * bend, c, bare)
                    inside.append((k, behind, one, other, growth / short))
                    # thrown back through it within the same step
                    again = behind + 2.0 * at_jump / after_bend / dt if after_bend != 0.0 else 0.0
                    if law.uses_rate and not law.history and 0.0 < again < behind:
                        back = there(far, -at_jump, c, bare), there(near, -at_jump, c, bare)
                        inside.append((k, again, *back, -growth / short))
            kicked |= law.has_jumps() and kick != force
            history[k], kicks[k], before[k] = h, kick, overlap
            largest = max(largest, overlap)
            recorded.append(force)

        # the bodies beside a jump inside a contact go where it has put them since then; so do their
        # velocities, those in the middle of the step that are half-step velocities here, with what
        # the sum of the steps leaves out of the integral over the jump
        for k, behind, first, last, growth in inside:
            for i, sign in ((k, -1.0), (k + 1, 1.0)):
                jumped = sign * (last - first) / mass[i]
                u[i] += 0.5 * (behind * dt) ** 2 * jumped
                v[i] += (behind - 0.5) * dt * jumped
                v[i] += (
                    (behind**2 / 2.0 - behind / 2.0 + 1.0 / 12.0) * dt**2 * sign * growth / mass[i]
                )
                a[i] += jumped
        for k in contacts if inside else ():
            # no law with a weight jumps inside a contact
            assert weight is None
            before[k] = u[k] - u[k + 1] + start_overlap[k]
            rate = v[k] - v[k + 1] + dt / 2.0 * (a[k] - a[k + 1])
            kicks[k] = recorded[k] = law.force(before[k], rate, coefficients[k], history[k])

        # what is recorded at a step that a jump has crossed, and at the next one: with the
        # velocities that the true forces have given
        if leaps or any(excess):
            missed = [0.0 for _ in bodies]
            for k in contacts:
                for i, sign in ((k, 1.0), (k + 1, -1.0)):
                    missed[i] += sign * 0.5 * dt * excess[k] / mass[i]
            for k, behind, first, last in leaps:
                for i, sign in ((k, -1.0), (k + 1, 1.0)):
                    missed[i] += sign * behind * dt * (last - first) / mass[i]
            for k in contacts:
                if law.uses_rate and (missed[k] != 0.0 or missed[k + 1] != 0.0):
                    h = (
                        history[k]
                        if weight is None
                        else (*history[k][:weight], 1.0, *history[k][weight + 1 :])
                    )
                    rate = (
                        v[k] - v[k + 1] + dt / 2.0 * (a[k] - a[k + 1]) + missed[k] - missed[k + 1]
                    )
                    recorded[k] = law.force(
                        u[k] - u[k + 1] + start_overlap[k], rate, coefficients[k], h
                    )
        excess = [
            kick - force if leaps or kicked else 0.0
            for kick, force in zip(kicks, recorded, strict=True)
        ]
        all_leaps = leaps + [leap[:4] for leap in inside]
        for k in contacts:
            peaks[k] = max(
                peaks[k],
                recorded[k],
                *(max(first, last) for m, _, first, last in all_leaps if m == k),
            )
        jumps += [(k, (step - behind) * dt, first, last) for k, behind, first, last in all_leaps]
        forces.append(recorded)

        # half a kick at the first and at the last step: v then is the velocity at the step
        part = 0.5 if step in (0, n_steps) else 1.0
        for i in bodies:
            left = kicks[i - 1] if i > 0 else 0.0
            right = kicks[i] if i < len(kicks) else 0.0
            a[i] = (left - right + load[i]) / mass[i]
            v[i] += part * dt * a[i]
            if step < n_steps:
                u[i] += dt * v[i]
    return Course(forces, u, v, history, largest, peaks, jumps)
