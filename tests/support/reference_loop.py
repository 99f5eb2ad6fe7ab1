"""Kick-drift-kick for a row of bodies in plain Python, step by step as the scheme is defined.

The compiled loop is compared with it. It uses the functions of a law and nothing of the engine: no
window, no padding, no fused sweep, and no precomputed division. A wall is a body of infinite mass.
"""

import math
from dataclasses import dataclass

from granchain.contact.guard import ASIDE
from granchain.contact.law import OPEN


@dataclass
class Course:
    """Results of a run."""

    forces: list[list[float]]  # force of every contact at every step, as a sensor records it [N]
    displacement: list[float]  # displacement of every body at the end [m]
    velocity: list[float]  # velocity of every body at the end [m/s]
    history: list[tuple]  # history of every contact at the end
    largest_overlap: float  # largest overlap over all contacts and steps [m]
    peaks: list[float]  # largest force of each contact, recorded or next to a jump [N]
    jumps: list[tuple[int, float, float, float]]  # contact, time [s], force before and after [N]


def crossing(beyond, rate, bend, closing):
    """Return the time since the contact passed an overlap in closing.

    The contact is `beyond` past the overlap: the time solves beyond - s rate + s^2/2 bend = 0.
    """
    swing = rate + closing * math.sqrt(max(rate * rate - 2.0 * beyond * bend, 0.0))
    return 2.0 * beyond / swing if swing != 0.0 else 0.0


def march(law, coefficients, mass, start_velocity, start_overlap, load, dt, n_steps):
    """Advance bodies 0..n-1 by n_steps steps of dt [s]; contact k is between bodies k and k + 1.

    Each body has a mass [kg], a velocity [m/s], and a constant force [N]. Each contact has a tuple
    of coefficients and an overlap at rest [m], which is minus the gap.
    """
    contacts, bodies = range(len(start_overlap)), range(len(mass))
    u, v, a = [0.0 for _ in bodies], list(start_velocity), [0.0 for _ in bodies]
    names = [quantity.name for quantity in law.history]
    weight = names.index("onset_weight") if "onset_weight" in names else None
    numbers = [quantity.name for quantity in law.coefficients]
    lowest = numbers.index("lowest_force") if weight is not None else 0
    history, before, forces, jumps, largest = [], list(start_overlap), [], [], 0.0
    kicks, peaks, excess = ([0.0 for _ in contacts] for _ in range(3))

    def weighted(h):
        """Return a history with an onset weight of 1, with which sensors record forces."""
        return h if weight is None else (*h[:weight], 1.0, *h[weight + 1 :])

    def there(overlap, rate, c, h):
        """Return the force at an overlap that the contact has passed within the step."""
        if law.needs_update(overlap, rate, c, h):
            h = law.update((overlap, rate, rate, 1.0), c, h)
        return law.force(overlap, rate, c, h)

    # before the first step: a contact under static load may have yielded
    for k in contacts:
        c = coefficients[k]
        h = law.history_of(c)
        if start_overlap[k] > 0.0 and law.needs_update(start_overlap[k], 0.0, c, h):
            h = law.update((start_overlap[k], 0.0, 0.0, 1.0), c, h)
        # a history that relaxes has relaxed completely
        history.append(law.evolve(math.inf, start_overlap[k], start_overlap[k], c, h)[0])

    for step in range(n_steps + 1):
        recorded, leaps, inside, kicked = [], [], [], False
        for k in contacts:
            c, h = coefficients[k], history[k]
            was_open = weight is not None and h[weight + 1] == 0.0
            overlap = u[k] - u[k + 1] + start_overlap[k]
            half = v[k] - v[k + 1]
            # half-step velocities belong to the time dt/2 before; initial velocities belong to the
            # step
            rate = half + dt / 2.0 * (a[k] - a[k + 1]) if step > 0 else half
            if step > 0:
                h, _ = law.evolve(dt, before[k], overlap, c, h)
            if law.needs_update(overlap, rate, c, h):
                theta = min(1.0, overlap / (dt * half)) if overlap > 0.0 and half > 0.0 else 1.0
                h = law.update((overlap, rate, rate - 2.0 * theta * (rate - half), theta), c, h)
            kick = force = law.force(overlap, rate, c, h)
            if weight is not None and law.has_jumps() and was_open and overlap > OPEN:
                onset_rate = rate - 2.0 * theta * (rate - half)
                leaps.append((k, theta, 0.0, law.force(2.0 * OPEN, onset_rate, c, weighted(h))))
            if weight is not None:
                force = law.force(overlap, rate, c, weighted(h))
                if c[lowest] < 0.0 and before[k] > 0.0 > overlap:
                    # a tensile contact that opened a fraction of the step ago: an onset reversed in
                    # time
                    mirrored = law.update((-overlap, rate, rate, 1.0 - overlap / (dt * half)), c, h)
                    kick = (mirrored[weight] - 1.0) * kicks[k]
                    if law.has_jumps():
                        leaps.append((k, overlap / (dt * half), kicks[k] - excess[k], 0.0))
            for place in law.jumps(c) if step > 0 else ():
                # the overlap was on the other side of a jump or a kink of the force
                kink = law.kinks
                if min(before[k], overlap) < place <= max(before[k], overlap) and (
                    kink or law.jump(place, rate, c, history[k]) != 0.0
                ):
                    closing = 1.0 if overlap > before[k] else -1.0
                    bare = history[k] if weight is None else weighted(h)
                    near, far = place * (1.0 - closing * ASIDE), place * (1.0 + closing * ASIDE)
                    push = 1.0 / mass[k] + 1.0 / mass[k + 1]
                    # the time since the jump: overlap - s rate + s^2/2 bend = overlap of the jump
                    bend = a[k] - a[k + 1] if law.uses_rate else 0.0
                    end_rate = rate if law.uses_rate else half
                    since = crossing(overlap - place, end_rate, bend, closing)
                    behind = since / dt
                    # the rate at the jump: the rate at the previous step, minus the effect of the
                    # forces since then. The forces of other contacts are those of the previous
                    # step, and the force of this contact is integrated by Simpson's rule.
                    at_jump = end_rate - since * bend
                    if law.uses_rate:
                        first, last = kicks[k] - excess[k], there(near, at_jump, c, bare)
                        middle = there(0.5 * (before[k] + near), at_jump, c, bare)
                        mean = (first + 4.0 * middle + last) / 6.0
                        at_jump -= (dt - since) * (mean - first) * push
                        bend -= push * (there(near, at_jump, c, bare) - first)
                    one, other = there(near, at_jump, c, bare), there(far, at_jump, c, bare)
                    if kink:
                        leaps.append((k, behind, one, other))
                        continue
                    # its growth in time on either side, within 1/1024 of a step
                    after_bend, short = bend - push * (other - one), dt / 1024.0
                    later = at_jump + short * after_bend
                    growth = there(far + short * at_jump, later, c, bare) - other
                    growth -= one - there(near - short * at_jump, at_jump - short * bend, c, bare)
                    inside.append((k, behind, one, other, growth / short))
                    # the contact rebounds through the jump within the same step
                    again = behind + 2.0 * at_jump / after_bend / dt if after_bend != 0.0 else 0.0
                    if law.uses_rate and not law.history and 0.0 < again < behind:
                        back = there(far, -at_jump, c, bare), there(near, -at_jump, c, bare)
                        inside.append((k, again, *back, -growth / short))
            kicked |= law.has_jumps() and kick != force
            history[k], kicks[k], before[k] = h, kick, overlap
            largest = max(largest, overlap)
            recorded.append(force)

        # the bodies next to a jump inside a contact get the displacement that the jump has caused
        # since then. Their velocities, which are half-step velocities here, also get the difference
        # between the sum of the steps and the integral over the jump.
        for k, behind, first, last, growth in inside:
            for i, sign in ((k, -1.0), (k + 1, 1.0)):
                jumped = sign * (last - first) / mass[i]
                u[i] += 0.5 * (behind * dt) ** 2 * jumped
                v[i] += (behind - 0.5) * dt * jumped
                left_out = behind**2 / 2.0 - behind / 2.0 + 1.0 / 12.0
                v[i] += left_out * dt**2 * sign * growth / mass[i]
                a[i] += jumped
        for k in contacts if inside else ():
            # no law with an onset weight jumps inside a contact
            assert weight is None
            before[k] = u[k] - u[k + 1] + start_overlap[k]
            rate = v[k] - v[k + 1] + dt / 2.0 * (a[k] - a[k + 1])
            kicks[k] = recorded[k] = law.force(before[k], rate, coefficients[k], history[k])

        # recorded values at a step that a jump has crossed, and at the next step: with the
        # velocities that follow from the true forces
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
                    rate = v[k] - v[k + 1] + dt / 2.0 * (a[k] - a[k + 1])
                    rate += missed[k] - missed[k + 1]
                    overlap = u[k] - u[k + 1] + start_overlap[k]
                    recorded[k] = law.force(overlap, rate, coefficients[k], weighted(history[k]))
        excess = [kicks[k] - recorded[k] if leaps or kicked else 0.0 for k in contacts]
        all_leaps = leaps + [leap[:4] for leap in inside]
        for k in contacts:
            sides = [max(first, last) for m, _, first, last in all_leaps if m == k]
            peaks[k] = max(peaks[k], recorded[k], *sides)
        jumps += [(k, (step - behind) * dt, first, last) for k, behind, first, last in all_leaps]
        forces.append(recorded)

        # half a kick at the first and at the last step, after which v is the velocity at the step
        part = 0.5 if step in (0, n_steps) else 1.0
        for i in bodies:
            left = kicks[i - 1] if i > 0 else 0.0
            right = kicks[i] if i < len(kicks) else 0.0
            a[i] = (left - right + load[i]) / mass[i]
            v[i] += part * dt * a[i]
            if step < n_steps:
                u[i] += dt * v[i]
    return Course(forces, u, v, history, largest, peaks, jumps)
