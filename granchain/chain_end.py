"""Result of the run of a chain: named variables, energy balance, messages, and the reason of a
failure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from granchain.analysis.definition import ForceJumps, first_pulse, largest_jump, static_force
from granchain.case import Case
from granchain.case.start import differences_of, new_walls, state_of_run
from granchain.chain import Chain
from granchain.contact.law import OPEN
from granchain.contact.model import Model
from granchain.engine import fields
from granchain.engine.mixture import models_of
from granchain.engine.outcome import outcomes_of, phases
from granchain.engine.state import State
from granchain.run_end import about_allowed_step, about_laws, about_step, result_and_problem
from granchain.status import Message, Status
from granchain.store import Result
from granchain.store.schema import ATTACHED, LOSSES

# Maximum ratio of overlap to smaller radius without a warning (our choice). Hertz's theory requires
# contacts that are small compared with the bodies. Its contact radius a satisfies a^2 = R overlap
# (Johnson 1985, Contact Mechanics, eq. (4.23), doi:10.1017/CBO9781139171731), so that a is 0.16 of
# the radius of two equal spheres at this ratio.
DEEP = 0.05
# Rows of the energies: losses by yielding; and external work, which its parts follow.
_PLASTIC, _EXTERNAL = (fields.Energies._fields.index(name) for name in ("plastic", "external"))


class Ended(NamedTuple):
    """Run that has stopped: its case, chain, final state, and status."""

    case: Case
    chain: Chain
    state: State
    status: Status


def ended(runs: Sequence[Ended], started: str, wall_time: float) -> Iterator[tuple[Result, str]]:
    """Yield the result of each run and the reason of its failure.

    The reason is empty on success.
    """
    certificates = cache(about_laws)
    complete = [run for run in runs if not run.status.failed]
    found = outcomes_of([run.chain for run in complete], [run.state for run in complete])
    outcomes = dict(zip(map(id, complete), found, strict=True))
    for run in runs:
        state, law = run.state, run.state.law_record()
        made = result_and_problem(
            run.status,
            variables_of_chain(run, outcomes.get(id(run), {})),
            case=run.case,
            law=state.model.name,
            step=state.time_step,
            done=state.step,
            place=place_of_failure(run),
            messages=messages_of_chain(run, certificates(tuple(run.case.laws))),
            history=tuple(quantity for quantity in state.model.history if quantity.output),
            provenance={
                "started": started,
                "wall_time": wall_time,
                "law_sha256": law.sha256,
                "law_json": law.text,
            },
        )
        if made[0].status is Status.COMPLETE:
            made[0].state = final_of(run)
        yield made


def final_of(run: Ended) -> Callable[[], dict[str, Any]] | None:
    """Return a function that creates the state from which another run can continue.

    None if no state was stored before the last step.
    """
    if (final := run.state.final) is None:
        return None
    return partial(state_of_run, run.case, final, run.state.time_step.value)


def place_of_failure(run: Ended) -> str:
    """Return the contact or the bead at which the engine stopped a run."""
    where, first = int(run.state.clock.where), int(run.chain.body_labels[0])
    if run.status in (Status.BEYOND_RADIUS, Status.OUTSIDE_LAW):
        return f"contact {where - 1 + first}"
    return f"bead {max(where - 1, 0) + first}"


def variables_of_chain(run: Ended, outcome: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the state of a run, with the variable names of the output file."""
    chain, state = run.chain, run.state
    n, exists, records, plan = chain.n_bodies, chain.contacts, state.records, state.recording
    dt, samples, snapshots = state.time_step.value, int(state.clock.sample), state.clock.snapshot
    data: dict[str, np.ndarray] = {
        "bead": chain.body_labels,
        "radius": chain.radius,
        "mass": chain.mass,
        "position": chain.positions(),
        "final_displacement": state.bodies.u[1 : n + 1].copy(),
        "final_velocity": state.bodies.v[1 : n + 1].copy(),
        "contact": chain.contact_labels[exists],
        "contact_peak_force": state.contacts.peak[exists].copy(),
        "largest_overlap": closed_to(state.contacts.reach[exists]),
        "residual_overlap": residual_overlaps(state.model, state.h[:, exists]).copy(),
    }
    if plan.sensor_beads or plan.sensor_contacts:
        data["time"] = state.sample_step[:samples] * dt
    if plan.sensor_beads:
        data["sensor_bead"] = np.array(plan.sensor_beads, dtype=np.int64)
        data["sensor_force"] = records.sensor_force[:samples]
        if state.model.law.has_jumps():
            data["sensor_beside_force"] = records.jump_force[:samples]
            data["sensor_beside_time"] = records.jump_time[:samples]
            sides = data["sensor_beside_force"].T, data["sensor_beside_time"].T
            largest = [
                largest_jump(ForceJumps(*beside), first_pulse(force, static_force(force)))
                for force, *beside in zip(data["sensor_force"].T, *sides, strict=True)
            ]
            data["sensor_jump_force"], data["sensor_jump_time"] = np.array(largest).T
    if plan.sensor_contacts:
        data["sensor_contact"] = np.array(plan.sensor_contacts, dtype=np.int64)
        data["contact_force"] = records.contact_force[:samples]
        data["contact_overlap"] = records.contact_overlap[:samples]
    if records.snapshot_at.size:
        data["snapshot_time"] = records.snapshot_at[:snapshots] * dt
        data["displacement"] = records.displacement[:snapshots]
        data["velocity"] = records.velocity[:snapshots]
    places = np.flatnonzero(state.elements.mass)
    if places.size:
        data |= {
            ATTACHED: np.arange(1, places.size + 1),
            f"{ATTACHED}_bead": state.elements.body[places].astype(np.int64)
            - 1
            + chain.first_label,
            f"{ATTACHED}_mass": state.elements.mass[places],
            f"{ATTACHED}_stiffness": state.elements.stiffness[places],
            f"final_{ATTACHED}_displacement": state.elements.u[places],
            f"final_{ATTACHED}_velocity": state.elements.v[places],
        }
        if records.snapshot_at.size:
            data[f"{ATTACHED}_displacement"] = records.attached_displacement[:snapshots]
            data[f"{ATTACHED}_velocity"] = records.attached_velocity[:snapshots]
    if records.snapshot_reach.size:
        data |= histories_of(run)
    models = models_of(state.model)
    which = state.c[0, exists].astype(np.int64) if len(models) > 1 else np.zeros(1, np.int64)
    if len(models) > 1:
        data["contact_law"] = which
    for quantity, row in zip(state.model.history, state.h, strict=True):
        if quantity.output and quantity.name not in data:
            without = np.array([model.remembered(quantity.name) < 0 for model in models])[which]
            data[quantity.name] = np.where(without, np.nan, row[exists])
    kept = records.energy_at.size and state.clock.entry
    if kept:
        data |= ledger_of(state)
    return data | {name: values for name, values in outcome.items() if kept or name not in LOSSES}


def closed_to(reach: np.ndarray) -> np.ndarray:
    """Return the largest overlaps [m]; 0 if a contact never closed."""
    return np.where(reach > OPEN, reach, 0.0)


def residual_overlaps(model: Model, h: np.ndarray) -> np.ndarray:
    """Return the (..., n_contacts) overlaps [m] at which unloaded contacts open.

    `h` contains histories (..., n_history, n_contacts). The result is 0 if the law has no residual
    indentation.
    """
    place = model.remembered("residual_overlap")
    return np.asarray(h[..., place, :] if place >= 0 else np.zeros((*h.shape[:-2], h.shape[-1])))


def histories_of(run: Ended) -> dict[str, np.ndarray]:
    """Return the history of each contact in each snapshot.

    If the run failed, the result does not include the contact states.
    """
    state, exists = run.state, run.chain.contacts
    shots, records = slice(int(state.clock.snapshot)), state.records
    h = records.snapshot_history[shots][..., exists]
    overlap, rate = records.snapshot_overlap[shots, exists], records.snapshot_rate[shots, exists]
    found = {
        "snapshot_largest_overlap": closed_to(records.snapshot_reach[shots, exists]),
        "snapshot_residual_overlap": residual_overlaps(state.model, h),
    }
    if not run.status.failed:
        found["snapshot_phase"] = phases(state.model, state.c[:, exists], h, overlap, rate)
    return found


def ledger_of(state: State) -> dict[str, np.ndarray]:
    """Return the energy balance: the parts of the energy at each recorded time [J]."""
    entries = int(state.clock.entry)
    # one row for each energy
    table = np.array(state.records.energies[:entries].T, order="C")
    energies = fields.Energies(*table)
    # Yielding before the static start is not a loss of the run.
    table[_PLASTIC] -= energies.plastic[0]
    started = state.chain.start is not None or state.chain.is_displaced
    if started:
        # Work before the state, or before the beads' initial positions, is not part of the run
        # either.
        table[_EXTERNAL:] -= table[_EXTERNAL:, :1]
    some = ("elements", "elements_viscous", "gravity", "precompression", "drives")
    absent = {name for name in some if not getattr(energies, name).any()}
    absent |= set() if state.features.ends else {"radiated"}
    data = {
        f"energy_{name}": values
        for name, values in energies._asdict().items()
        if name not in absent
    }
    data["energy_time"] = state.records.energy_at[:entries] * state.time_step.value
    with np.errstate(invalid="ignore"):  # values of a failed run
        total = np.ascontiguousarray(table[:_EXTERNAL].T).sum(axis=1)
        if len(state.chain.drives) > 1:
            work = state.records.drive_work[:entries]
            bodies = np.array([body for body, _, _ in state.chain.drives])
            data["drive"] = np.arange(1, bodies.size + 1)
            data["drive_bead"] = bodies - 1 + state.chain.first_label
            data["drive_work"] = work - work[0] if started else work.copy()
        data["energy_residual"] = total - energies.external - total[0]
    return data


# --------------------------------------------------------------------------------------------------
# Messages


def messages_of_chain(run: Ended, certificates: Sequence[Message]) -> list[Message]:
    """Return the messages for the user about the run."""
    case, chain, state = run.case, run.chain, run.state
    model, ledger = state.model, state.recording.ledger
    notes = [
        *goes_on(case, state),
        *(impact_speeds(case) if model.uses_rate else []),
        *ended_drives(chain, case, state.time_step.value),
        *opened_contacts(state),
    ]
    messages = [
        about_step(state.time_step),
        *certificates,
        *map(Message, notes),
        *deep(chain, state),
    ]
    if state.step:
        messages += about_allowed_step(state.clock.allowed_step, state.time_step, "chain")
    # 0 if the law of a contact has no exponent
    power = model.coefficient("exponent")
    softens = (state.c[power, chain.contacts] < 1.0) & (state.c[power, chain.contacts] > 0.0)
    if power >= 0 and softens.any():
        loose = not (chain.static_forces()[chain.contacts] > 0.0).all()
        if loose or opened_contacts(state):
            messages.append(
                Message(
                    "contacts with an exponent below 1 were open. Their stiffness has no upper "
                    "limit when they close, so results are less accurate there. Use a "
                    "precompression, or a smaller wave."
                )
            )
        elif len(state.recording.sensor_contacts) < chain.contact_exists.sum():
            messages.append(
                Message(
                    "contacts with an exponent below 1 must stay closed, and some contacts were "
                    "not recorded. To detect contacts that open, use "
                    'sensors.contacts = "all".'
                )
            )
    if model.coefficient("lowest_force") >= 0 and ledger:
        clamped = int(state.clock.clamped)
        steps = max(1, state.step) * int(chain.contact_exists.sum())
        messages.append(
            Message(
                f"the no-tension cutoff was active in {clamped} of {steps} contact-steps "
                f"({100.0 * clamped / steps:.3g} %)"
            )
        )
    floors = model.remembered("floored")
    if floors >= 0:
        floored = int(state.h[floors].sum())
        own = state.c[model.coefficient("impact_speed_floor"), chain.contacts]
        own = own[own > 0.0]
        floor = " to ".join(f"{value:.4g}" for value in sorted({own.min(), own.max()}))
        messages.append(
            Message(f"the minimum impact speed, {floor} m/s, applied to {floored} contact onsets")
        )
    if model.as_printed and ledger and state.records.energy_at.size:
        least = np.minimum(state.energies.plastic[: int(state.clock.entry)], 0.0).min()
        messages.append(
            Message(
                "the law is as published, without the energy correction. The contacts created up "
                f"to {max(0.0, float(-least)):.4g} J"
            )
        )
    return messages


def goes_on(case: Case, state: State) -> list[str]:
    """Return a message about the state from which the run continues."""
    if case.stored_state is None:
        return []
    text = f"resumed from the state of a run at {case.stored_state.time:.6g} s"
    other = differences_of(case, state.time_step.value)
    if not other:
        return [f"{text}; results are bit-identical to one uninterrupted run"]
    note = (
        f"{text}; overlaps, velocities, and contact histories continue to within 1e-12, but "
        "results are not bit-identical to one uninterrupted run, because these differ: "
        f"{', '.join(other)}"
    )
    before, start, last = case.stored_state.start, state.chain.start, state.chain.n_bodies
    if start is None or any(new_walls(case)) or not state.chain.contact_exists[[0, last]].all():
        return [note]
    # overlap at the right wall; the other overlaps do not change
    was = before.bodies[0, -1] + before.zero[last]
    deeper = start.bodies[0, -1] + state.contacts.start[last] - was
    if abs(deeper) > 1e-9 * state.contacts.start[last]:
        note += (
            f". The right wall moves by {deeper:.4g} m towards the beads at the start, because the "
            "length between two walls depends on the load"
        )
    return [note]


def impact_speeds(case: Case) -> list[str]:
    """Return messages about the impact speed of each law.

    Only laws with one number for all onsets have a message.
    """
    named = [
        ("", case.law_inputs()),
        *((f" between {one} and {other}", inputs) for (one, other), inputs in case.pair_inputs()),
        *((f" of {law}", inputs) for _, law, inputs in case.own_contacts()),
    ]
    return [
        f"impact_speed{words}: {inputs.impact_speed:.6g} m/s"
        for words, inputs in named
        if isinstance(getattr(inputs, "impact_speed", None), (int, float))
    ]


def ended_drives(chain: Chain, case: Case, step: float) -> list[str]:
    """Return messages about drives that end before the end of the run."""
    # The time of a continued drive is counted from its start.
    counted = 0.0 if case.stored_state is None or chain.start is None else chain.start.steps * step
    named = [
        f"bead {bead}" if (bead := getattr(drive, "bead", 0)) else f"{where[5:]} end"
        for where, drive in case.drives.items()
    ]
    return [
        f"the drive of the {name} ends at {end.time[-1]:.6g} s. It then keeps its last value, "
        f"{end.value[-1]:.6g} {'m' if end.has_wall else 'N'}"
        for name, (*_, end) in zip(named, chain.drives, strict=True)
        if end.time is not None and end.value is not None and end.time[-1] < case.time.end + counted
    ]


def opened_contacts(state: State) -> list[str]:
    """Return a message if contacts with a static load were recorded open."""
    chain, records, plan = state.chain, state.records, state.recording
    pressed, dt, samples = (
        chain.static_forces() > 0.0,
        state.time_step.value,
        int(state.clock.sample),
    )
    if not pressed.any():
        return []
    seen: list[tuple[float, str]] = []
    # The sensor of a bead reads no force if both its contacts are open.
    of_beads = pressed[records.sensor_left] | pressed[records.sensor_right]
    for name, labels, values, counted in (
        ("bead", plan.sensor_beads, records.sensor_force, of_beads),
        ("contact", plan.sensor_contacts, records.contact_overlap, pressed[records.recorded]),
    ):
        # A study records additional sensors after the requested ones.
        some = len(labels)
        rows, places = np.nonzero((values[:samples, :some] <= 0.0) & counted[:some])
        if rows.size:
            seen.append((float(state.sample_step[rows[0]]) * dt, f"{name} {labels[places[0]]}"))
    # Snapshots do not show the motion of contacts at driven ends.
    within = np.flatnonzero(pressed[1:-1]) + 1
    start = state.contacts.start[within]
    shots = int(state.clock.snapshot) if within.size else 0
    for when, u in zip(records.snapshot_at[:shots], records.displacement[:shots], strict=True):
        apart = np.flatnonzero(start + u[within - 1] - u[within] <= 0.0)
        if apart.size:
            seen.append((float(when) * dt, f"contact {chain.contact_labels[within[apart[0]]]}"))
            break
    return [
        f"contacts with a static load opened, first at {where} at {when:.4g} s, so the waves in "
        "this run are not small compared with the static load"
        for when, where in sorted(seen)[:1]
    ]


def deep(chain: Chain, state: State) -> list[Message]:
    """Return a warning if the largest relative overlap of a contact is too large."""
    overlap, limits = state.contacts.reach[: chain.n_bodies + 1], chain.overlap_limits()
    with np.errstate(invalid="ignore"):
        share = np.where(chain.contact_exists, overlap / limits, 0.0)
    k = int(np.argmax(share))
    if not DEEP < share[k] < np.inf:
        return []
    radius = math.sqrt(float(chain.effective_radii()[k] * overlap[k]))
    sentence = (
        f"contact {int(chain.contact_labels[k])} had an overlap of {overlap[k]:.3g} m, "
        f"{100.0 * share[k]:.2g} % of the smaller radius. According to Hertz's theory, the contact "
        f"radius was {radius:.3g} m, {radius / limits[k]:.2g} of the smaller radius, but the "
        "theory requires small contacts, so forces may be inaccurate. Keep the overlap below "
        f"{100.0 * DEEP:.0f} %: reduce the load, or choose a stiffer material."
    )
    return [Message(sentence, warning=True)]
