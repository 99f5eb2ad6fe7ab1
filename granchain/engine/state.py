"""Arrays of one run, made from a chain and a law, and the call that advances them by a block of
steps."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from granchain.chain import DRIVEN_DISPLACEMENT, End, Masses, Start
from granchain.contact.law_record import LawRecord
from granchain.contact.model import Functions
from granchain.engine import fields
from granchain.engine.chain_sweep import NEVER, TILE_CONTACTS, TILE_STEPS
from granchain.engine.contact_step import features_of
from granchain.engine.loop import loop_of
from granchain.engine.mixture import UNTIL, run_ends
from granchain.engine.recording import LENGTHS, PLAN, RECORD, Energies, Recording, Records
from granchain.engine.setup import Contacts, alike, record_of
from granchain.engine.timestep import TimeStep
from granchain.jit.compile import VECTOR, frozen
from granchain.status import Status

# Tables that a run changes.
CHANGING = ("bodies", "contacts", "h", "events", "corrections", "elements", "driven")
# Quantities of these tables that a run from a state continues, in the order of `Start`; all others
# get initial values. The quantities of the bodies are the first rows of their table.
STARTED_BODIES = ("u", "v", "a")
STARTED_CONTACTS = ("force", "elastic", "clamp", "kicked", "recorded", "largest_overlap")
# Index of the events among the tables: the only table of integers.
EVENTS = fields.Tables._fields.index("events")


class State:
    """State of a run: everything that changes during it.

    Parameters
    ----------
    contacts : Contacts
        Model, coefficients, and static start.
    chain : Masses
        Chain of bodies.
    time_step : TimeStep
        Step and number of steps.
    recording : Recording
        Selection of the recorded quantities.
    placed : bool
        Whether the state gets separate memory now. If not, it has no memory until it begins in
        shared memory.

    Attributes
    ----------
    bodies, contacts : named tuple of arrays
        One row per quantity, padded to complete vectors (granchain.engine.fields).
    c, h : (quantities, contacts) array
        Coefficients and history of the law.
    elements : named tuple of arrays
        One row per quantity of the linear elements.
    tables, followed : named tuple of arrays
        Tables in memory; knots and splines of the drives.
    width : int
        Number of contacts, padded to complete vectors.
    clock : record
        Scalars of the run.
    sizes : dict of str to int
        Length of each axis of the records.
    records : named tuple of arrays
        Samples, snapshots, and entries of the energy balance, and their positions and steps.
    features : Features
        Features of the loop.
    loop : callable
        Compiled loop that advances the state.
    """

    def __init__(
        self,
        contacts: Contacts,
        chain: Masses,
        time_step: TimeStep,
        recording: Recording,
        placed: bool = True,
    ):
        self.model, self.chain, self.time_step, self.recording = (
            contacts.model,
            chain,
            time_step,
            recording,
        )
        self.prepared, self.loads = contacts, chain.loads
        self.width = padded(chain.n_bodies + 1)
        self._final_state: tuple[np.ndarray, ...] | None = None
        self._drive_rows = np.zeros((len(fields.DRIVE), 0))
        self.followed_tables = np.zeros(0), np.zeros((4, 0))
        if chain.drives:
            self._drive_rows, self.followed_tables = self._drives_of(chain)
        body, kind = self._drive_rows[:2]
        # bodies and walls whose displacement is prescribed, as indices
        self._placed = body[kind == fields.DISPLACEMENT].astype(int)
        first = chain.elements.body.size
        # rows of the elements of compliant ends
        self._end_rows = slice(first, first + chain.end_elements.body.size)
        self.features = features_of(self.model, recording, chain)
        self.functions = Functions(*frozen(*self.model.functions))
        self.loop: Callable = loop_of(self.functions, self.features)
        self.table_shapes = self._table_shapes()
        self._set_records()
        if placed:
            Memory([self]).begin([self])

    def at(self, contacts: Contacts, chain: Masses, time_step: TimeStep) -> State:
        """Return a run of the same model, recording, and form of the chain.

        Neither this state nor the result has memory.
        """
        other: State = object.__new__(State)
        other.__dict__.update(vars(self))
        other.prepared, other.chain, other.time_step, other.loads = (
            contacts, chain, time_step, chain.loads,
        )  # fmt: skip
        other._set_records()
        return other

    def _set_records(self) -> None:
        """Set positions, steps, and axes of the records."""
        self.plan = self.recording.plan(self.chain, self.time_step)
        quantities, leaps = len(self.model.history), self.features.leaps
        self.sizes = self.recording.sizes(self.chain, self.time_step, self.plan, quantities, leaps)

    def _table_shapes(self) -> tuple[tuple[int, int], ...]:
        """Return the shapes of the tables, in the order of `fields.Tables`."""
        c, width, wide = (
            self.prepared.c,
            fields.pitch_of(self.width),
            fields.pitch_of(self.width + VECTOR),
        )
        places, count = 0, self.chain.elements.body.size + self.chain.end_elements.body.size
        if self.features.leaps:
            # In one step, the force of a contact may jump at the onset and at each overlap that the
            # law lists, in both directions.
            places = 1 + 2 * len(self.functions.jumps(tuple(c[:, 0].tolist())))
        return (
            (len(fields.BODY), wide),
            (len(fields.CONTACT), width),
            (c.shape[0], width),
            (len(self.model.history), width),
            (len(fields.EVENT), width),
            (len(fields.CORRECTION), wide if places else 0),
            (len(fields.STEP_JUMP), places * width),
            # One additional element without a body marks the end of the list for the loop.
            (len(fields.ELEMENT), padded(count + 1) if count else 0),
            (len(fields.DRIVEN), self._drive_rows.shape[1]),
            self._drive_rows.shape,
        )

    @staticmethod
    def _drives_of(chain: Masses) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """Return the rows of the drives (see `fields.DRIVE`), and knots and splines."""
        rows, knots, splines = [], [np.zeros(0)], [np.zeros((4, 0))]
        elements, first_knot = chain.elements, 0
        damping = np.pad(np.bincount(elements.body, elements.damping, chain.n_bodies), 1)
        for body, sign, end in chain.drives:
            kind, (time, spline) = drive_of(end)
            rows.append((body, kind, sign, damping[body], first_knot, first_knot + time.size))
            first_knot += time.size
            knots.append(time)
            splines.append(np.pad(spline, ((0, 0), (0, 1))))
        made = np.array(rows, dtype=float).reshape(-1, len(fields.DRIVE)).T
        return made, (np.concatenate(knots), np.hstack(splines))

    @property
    def shape(self) -> tuple:
        """Properties shared by the states of one stack.

        They are the loop and all shapes, except for the lengths of the records.
        """
        followed = tuple(values.shape for values in self.followed_tables)
        axes = tuple(size for axis, size in self.sizes.items() if axis not in LENGTHS)
        return self.loop, self.table_shapes, followed, axes, self.recording.final

    def live_in(self, memory: Memory, position: int) -> None:
        """Use a position in memory from now on."""
        self.memory, self.position = memory, position
        self._clock = memory.clocks[position : position + 1]
        self.clock: Any = self._clock[0]
        self.tables = fields.Tables(*[table[position] for table in memory.tables])
        self.followed = fields.Followed(*[values[position] for values in memory.followed])
        self.records = Records(
            *[
                values[position, : self.sizes[field.axes[0]]]
                for field, values in zip((*RECORD, *PLAN), memory.records, strict=True)
            ]
        )
        self.bodies = fields.BodyRows(*self.tables.bodies)
        self.contacts = fields.ContactRows(*self.tables.contacts)
        self.elements = fields.ElementRows(*self.tables.elements)
        self.events = fields.EventRows(*self.tables.events)
        self.c, self.h = self.tables.c, self.tables.h

    def set_own(self) -> None:
        """Set quantities in memory that not every chain has.

        These are drives, elements, several laws, and the state from which the run continues.
        """
        chain = self.chain
        if self.features.driven:
            bodies, placed = self.bodies, self._placed
            bodies.inverse_mass[placed] = bodies.dt_over_m[placed] = 0.0
            self.tables.drives[:] = self._drive_rows
            for mine, start in zip(self.followed, self.followed_tables, strict=True):
                mine[:] = start
        if self.features.elements:
            self._set_elements()
        if self.features.laws:
            self.c[UNTIL] = run_ends(self.c[0])
        if chain.start is not None:
            self._set_start(chain.start)

    def _set_elements(self) -> None:
        """Set the elements in memory, and the walls of compliant ends."""
        chain, rows = self.chain, self.elements
        for name in chain.elements._fields:
            values = np.concatenate(
                [getattr(chain.elements, name), getattr(chain.end_elements, name)]
            )
            getattr(rows, name)[: values.size] = values + (name == "body")
        rows.inverse_mass[:] = np.divide(1.0, rows.mass, where=rows.mass > 0.0, out=0.0 * rows.mass)
        # The forces of the elements of a placed body act on its drive.
        rows.damping[np.isin(rows.body, self._placed)] = 0.0
        half, size = 0.5 * self.time_step.value, chain.elements.body.size
        rows.share[:] = 1.0 / (1.0 + half * rows.damping * rows.inverse_mass)
        body_index, damping = chain.elements.body + 1, (rows.share * rows.damping)[:size]
        dashpots = np.bincount(body_index, damping, self.bodies.mass.size)
        rows.response[:size] = 1.0 / (1.0 + half * self.bodies.inverse_mass * dashpots)[body_index]
        force = chain.static_forces()
        for wall, load in ((0, force[0]), (chain.n_bodies + 1, -force[-1])):
            modes = self._end_rows.start + np.flatnonzero(chain.end_elements.body + 1 == wall)
            if rows.mass[modes].any():
                rows.load[modes] = load
                self.bodies.inverse_mass[wall] = rows.inverse_mass[modes].sum()
                self.contacts.endwise[min(wall, chain.n_bodies)] = 2.0

    def _set_start(self, start: Start) -> None:
        """Set the end state of the run that this run continues.

        If `start.steps` is 0, the first kick is half a kick, and the velocities belong to its step.
        """
        n, clock = self.chain.n_bodies, self.clock
        for name, values in zip(STARTED_BODIES, start.bodies, strict=False):
            getattr(self.bodies, name)[1 : n + 1] = values
        for name, values in zip(STARTED_CONTACTS, start.contacts, strict=True):
            getattr(self.contacts, name)[: n + 1] = values
        self.h[:, : n + 1] = start.history
        if start.steps:
            corrections = self.tables.corrections[:, : n + 2]
            if corrections.shape == start.corrections.shape:
                corrections[:] = start.corrections
            fields.DrivenRows(*self.tables.driven).last[:] = start.driven[:-1]
            clock.echoes = start.driven[-1]
        else:
            self.bodies.v[1 : n + 1], self.bodies.a[1 : n + 1] = start.bodies[3], 0.0
        attached = self.chain.attached
        for name, values in zip(STARTED_BODIES, start.attached, strict=False):
            getattr(self.elements, name)[attached] = values
        if not start.steps:
            self.elements.v[attached], self.elements.a[attached] = start.attached[3], 0.0
        self._set_ends(start)
        clock.n_active = start.active.size
        self.events.active[: start.active.size] = start.active
        self.events.listed[start.active] = 1

    def _set_ends(self, start: Start) -> None:
        """Set the end state of the walls of compliant ends; see `_set_start`."""
        rows, ends = self.elements, self._end_rows
        for name, values in zip(STARTED_BODIES, start.ends, strict=False):
            getattr(rows, name)[ends] = values
        if not start.steps:
            bare = rows.mass[ends] == 0.0
            rows.u[ends] = np.where(bare, start.ends[3], start.ends[0])
            rows.v[ends], rows.a[ends] = np.where(bare, 0.0, start.ends[3]), 0.0
        for wall in (0, self.chain.n_bodies + 1):
            modes = self._end_rows.start + np.flatnonzero(self.chain.end_elements.body + 1 == wall)
            for name in STARTED_BODIES if rows.mass[modes].any() else ():
                # in the order in which the loop sums them
                getattr(self.bodies, name)[wall] = sum(getattr(rows, name)[modes].tolist())

    def keep(self) -> None:
        """Store the state from which another run can continue, before the last step.

        The half kick of the last step would make a bit-identical continuation impossible.
        """
        bodies = self.tables.bodies[: len(STARTED_BODIES)].copy()
        tables = [getattr(self.tables, name).copy() for name in CHANGING if name != "bodies"]
        self._final_state = bodies, *tables, self._clock.copy()

    @property
    def final(self) -> Start | None:
        """State from which another run can continue, or None if it was not stored."""
        if self._final_state is None:
            return None
        bodies, contacts, history, events, corrections, elements, driven, clocks = self._final_state
        attached, element_rows = self.chain.attached, self.elements
        last = np.where(element_rows.mass > 0.0, element_rows.v, element_rows.u)
        clock, n, rows = clocks[0], self.chain.n_bodies, fields.ContactRows(*contacts)
        # The last step has already set the positions of placed bodies.
        bodies[0, self._placed] = self.bodies.u[self._placed]
        return Start(
            np.vstack([bodies[:, 1 : n + 1], self.bodies.v[1 : n + 1]]),
            rows.start[: n + 1],
            np.array([getattr(rows, name)[: n + 1] for name in STARTED_CONTACTS]),
            history[:, : n + 1],
            fields.EventRows(*events).active[: int(clock.n_active)],
            corrections[:, : n + 2],
            np.append(fields.DrivenRows(*driven).last, clock.echoes),
            int(clock.earlier + clock.step),
            np.vstack([elements[: len(STARTED_BODIES)], self.elements.v])[:, attached],
            np.vstack([elements[: len(STARTED_BODIES)], last])[:, self._end_rows],
        )

    @property
    def step(self) -> int:
        """Number of steps done."""
        return int(self._clock["step"][0])

    @property
    def time(self) -> float:
        """Time of the state [s]."""
        return self.step * self.time_step.value

    @property
    def sample_step(self) -> np.ndarray:
        """(n_samples,) Steps of the samples."""
        return np.arange(len(self.records.sensor_force)) * int(self.clock.stride)

    @property
    def energies(self) -> Energies:
        """Entries of the energy balance, by name: (n_entries,) arrays [J]."""
        return Energies(*self.records.energies.T)

    def law_record(self, functions: str = "") -> LawRecord:
        """Return the record of the law, to check the law if a run continues this one.

        See `record_of`.
        """
        return record_of(self.model, self.prepared.c[:, self.chain.contacts], functions)

    @property
    def set_up(self) -> str:
        """SHA-256 of the set-up of the run except the law.

        It covers the step, the drives, the recording, and the coefficients of each contact.
        """
        facts = self.time_step.value, self.time_step.n_steps, self.recording, self.features
        digest = hashlib.sha256(repr(facts).encode())
        plan = {field.name: getattr(self.records, field.name) for field in PLAN}
        plan |= {"drives": self.tables.drives, **self.followed._asdict()}
        for name, values in {"c": self.c, **plan}.items():
            array = np.ascontiguousarray(values)
            digest.update(f"{name} {array.dtype.str} {array.shape}".encode() + array.tobytes())
        return digest.hexdigest()

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all arrays that the run has changed so far.

        Records include the filled rows and the row that may be incomplete. The clock is viewed as
        integers, bit for bit.
        """
        tables = {
            name: table
            for name in CHANGING
            if (table := getattr(self.tables, name)).size or name != "elements"
        }
        records = {
            field.name: getattr(self.records, field.name)[: self.clock[field.of] + 1]
            for field in RECORD
        }
        return {"clock": self._clock.view(np.int64), **tables, **records}

    @property
    def size(self) -> int:
        """Size of the records [bytes]."""
        return sum(getattr(self.records, field.name).nbytes for field in RECORD)

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Resume from the `arrays` of a state with the same `set_up`."""
        self._clock.view(np.int64)[:] = arrays["clock"]
        for name, array in self.arrays().items():
            array[:] = arrays[name]

    def advance(self, steps: int, looks: bool = True) -> Status:
        """Advance by a block of steps, and inspect the state.

        Parameters
        ----------
        steps : int
            Number of steps; the last step of the run ends the block earlier.
        looks : bool
            Whether to inspect the state after this block. At the end of the run, it is always
            inspected.
        """
        last = self.time_step.n_steps
        stop = min(self.step + steps, last + 1)
        looks = looks or stop > last
        if self.recording.final and self.step <= last < stop:
            self.loop(last, False, self.tables, self.clock, self.followed, self.records)
            self.keep()
        return Status(self.loop(stop, looks, self.tables, self.clock, self.followed, self.records))


class Memory:
    """Memory of many states of one shape: arrays with a leading axis, one position per state.

    Tables are filled as `fields.fill_starts` does. All records have the length of the longest one,
    and shorter plans are filled with a step that no run reaches.

    Parameters
    ----------
    states : sequence of State
        States of one `State.shape`.

    Attributes
    ----------
    tables, followed, records : named tuple of arrays
        Arrays with the leading axis.
    clocks : (n,) array of CLOCK
        Scalars of the states.
    """

    def __init__(self, states: Sequence[State]):
        first, n = states[0], len(states)
        shapes = tuple((n, *shape) for shape in first.table_shapes)
        tables = fields.page_aligned(
            tuple(shape for index, shape in enumerate(shapes) if index != EVENTS)
        )
        tables.insert(EVENTS, np.zeros(shapes[EVENTS], np.int64))
        self.tables = fields.Tables(*tables)
        fields.fill_starts(self.tables.bodies, fields.BODY)
        fields.fill_starts(self.tables.contacts, fields.CONTACT)
        fields.fill_starts(self.tables.elements, fields.ELEMENT)
        self.followed = fields.Followed(
            *(np.zeros((n, *values.shape)) for values in first.followed_tables)
        )
        self.clocks = np.zeros(n, fields.CLOCK)
        longest = {axis: max(state.sizes[axis] for state in states) for axis in first.sizes}
        records = []
        for field in (*RECORD, *PLAN):
            shape = (n, *(longest[axis] for axis in field.axes))
            start = NEVER if field.name.endswith("_at") else field.start
            # Zeros from NumPy use no memory until they are written to.
            made: np.ndarray = (
                np.full(shape, start, field.kind) if start else np.zeros(shape, field.kind)
            )
            records.append(made)
        self.records = Records(*records)

    def begin(self, states: Sequence[State]) -> None:
        """Write the initial values of states to their positions.

        The states use these positions from now on.
        """
        first, chains = states[0], [state.chain for state in states]
        n, width, prepared = first.chain.n_bodies, first.width, [state.prepared for state in states]
        for position, state in enumerate(states):
            state.live_in(self, position)

        # each array has the axes (states, columns)
        bodies = fields.BodyRows(*self.tables.bodies.swapaxes(0, 1))
        contacts = fields.ContactRows(*self.tables.contacts.swapaxes(0, 1))
        inside, within = np.s_[:, 1 : n + 1], np.s_[:, : n + 1]
        steps = np.array([state.time_step.value for state in states])
        bodies.mass[inside] = mass = np.array([chain.mass for chain in chains])
        bodies.inverse_mass[inside] = inverse = 1.0 / mass
        bodies.dt_over_m[inside] = steps[:, None] * inverse
        bodies.v[inside] = [chain.velocity for chain in chains]
        bodies.u[inside] = [chain.displacement for chain in chains]
        bodies.steady[inside] = bodies.loads[inside] = [state.loads for state in states]
        bodies.weight[inside] = [chain.carried_mass * chain.gravity for chain in chains]
        contacts.start[within] = [chain_contacts.overlaps for chain_contacts in prepared]
        contacts.start[:, 1:n] -= [chain.gap for chain in chains]
        contacts.limit[within] = [chain_contacts.limits for chain_contacts in prepared]
        contacts.endwise[:, 1:n] = 2.0
        for k, side in ((0, "left"), (n, "right")):
            exists = np.array([getattr(chain, side).has_wall for chain in chains])
            contacts.endwise[:, k] = exists
            contacts.start[~exists, k] = -np.inf
        for position, state in enumerate(states):
            for name, values in state.plan.items():
                getattr(self.records, name)[position, : values.size] = values
        for those in alike(map(id, prepared)):
            chain_contacts = prepared[those[0]]
            which: Any = those if len(those) > 1 else those[0]
            self.tables.c[which, ..., : n + 1] = chain_contacts.c
            self.tables.h[which, ..., : n + 1] = chain_contacts.history[:, :-1]
            self.tables.h[which, ..., n + 1 :] = chain_contacts.history[:, -1:]
        self.tables.c[:, :, n + 1 :] = self.tables.c[:, :, n : n + 1]
        # First contact that may be skipped: none in a loaded chain or in one that continues from a
        # state, else the contact ahead of the last moving or displaced body.
        loaded = contacts.start[within].max(axis=1) > 0.0
        tiles = first.features.tiled
        clock = {
            "dt": steps,
            "n_steps": [state.time_step.n_steps for state in states],
            "n_bodies": n,
            "stride": [state.time_step.stride(state.recording.interval) for state in states],
            "front": [
                n if all_of_it or chain.start is not None else min(chain.at_rest_ahead + 1, n)
                for all_of_it, chain in zip(loaded.tolist(), chains, strict=True)
            ],
            "earlier": [0 if chain.start is None else chain.start.steps for chain in chains],
            "tile": TILE_CONTACTS if tiles else width,
            "band": TILE_STEPS if tiles else [state.time_step.n_steps for state in states],
        }
        for field in fields.RUN:
            self.clocks[field.name] = clock.get(field.name, field.start)
        own_quantities = first.features.driven, first.features.elements, first.features.laws
        if any(own_quantities) or any(chain.start is not None for chain in chains):
            for state in states:
                state.set_own()


def padded(count: int) -> int:
    """Round a number of columns up to complete vectors."""
    return -(-count // VECTOR) * VECTOR


def drive_of(end: End) -> tuple[int, tuple[np.ndarray, np.ndarray]]:
    """Return the kind of a drive, its knots, and its spline coefficients.

    The spline uses the given slopes, if there are any. Without slopes, it is a shape-preserving
    cubic for a displacement, and linear for a force.
    """
    time, value = np.asarray(end.time, dtype=float), np.asarray(end.value, dtype=float)
    kind = fields.DISPLACEMENT if end.kind == DRIVEN_DISPLACEMENT else fields.FORCE
    spline = np.zeros((4, time.size - 1))
    if end.slope is not None:
        from scipy.interpolate import CubicHermiteSpline

        spline[:] = CubicHermiteSpline(time, value, end.slope).c
    elif kind == fields.DISPLACEMENT:
        from scipy.interpolate import PchipInterpolator

        spline[:] = PchipInterpolator(time, value).c
    else:
        spline[2], spline[3] = np.diff(value) / np.diff(time), value[:-1]
    return kind, (time, spline)
