"""The arrays of one run, made from a chain and a law, and the call that advances them by a block of steps."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from granchain.chain import DRIVEN_DISPLACEMENT, DRIVEN_FORCE, End, Masses
from granchain.contact.model import Functions
from granchain.engine import fields
from granchain.engine.contact_step import features_of
from granchain.engine.fields import Field
from granchain.engine.loop import loop_of
from granchain.engine.setup import Contacts
from granchain.engine.specialise import fingerprint, frozen
from granchain.engine.timestep import TimeStep
from granchain.status import Status


@dataclass(frozen=True)
class Recording:
    """What a run records.

    Parameters
    ----------
    sensor_beads : tuple of int
        Labels of the beads whose mean contact force is sampled.
    sensor_contacts : tuple of int
        Labels of the contacts whose force and overlap are sampled.
    interval : float
        Of the samples [s].
    snapshot_interval : float, optional
        Of displacement and velocity of every body [s].
    ledger : bool
        Whether the energy ledger is recorded.
    energy_interval : float, optional
        Of the ledger [s].
    """

    sensor_beads: tuple[int, ...] = ()
    sensor_contacts: tuple[int, ...] = ()
    interval: float = 2e-7
    snapshot_interval: float | None = None
    ledger: bool = True
    energy_interval: float | None = None


# Tables that a run changes, with what their rows are; the history's rows are the law's own.
CHANGING = {
    "bodies": fields.BODY, "contacts": fields.CONTACT, "h": (), "events": fields.EVENT, "corrections": fields.CORRECTION,
}  # fmt: skip
# Which count holds the number of filled rows of a record.
FILLED = {"sample": "sample", "snapshot": "snapshot", "entry": "entry"}


class State:
    """Everything that changes during a run.

    Parameters
    ----------
    contacts : Contacts
        Model, coefficients and static start.
    chain : Masses
        The row of bodies.
    time_step : TimeStep
        Step and number of steps.
    recording : Recording
        What is recorded.

    Attributes
    ----------
    bodies, contacts : named tuple of arrays
        A row for each quantity, padded to whole vectors (granchain.engine.fields).
    c, h : (quantities, contacts) array
        Coefficients and history of the law.
    clock : record
        The scalars of the run.
    records : named tuple of arrays
        Samples, snapshots and entries of the ledger, and where and when they are taken.
    features : Features
        What the loop has to carry.
    """

    def __init__(self, contacts: Contacts, chain: Masses, time_step: TimeStep, recording: Recording):
        n = chain.n_bodies
        width = -(-(n + 1) // fields.LANES) * fields.LANES
        self.model, self.chain, self.time_step, self.recording = contacts.model, chain, time_step, recording
        bodies, table, c, h = fields.aligned(
            (
                (len(fields.BODY), width + fields.LANES), (len(fields.CONTACT), width),
                (contacts.c.shape[0], width), (len(self.model.history), width),
            )
        )  # fmt: skip
        self.c, self.h = c, h
        fields.fill(bodies, fields.BODY)
        fields.fill(table, fields.CONTACT)
        self.bodies, self.contacts = fields.Bodies(*bodies), fields.Contacts(*table)
        self._clock = fields.new_clock(dt=time_step.value, n_steps=time_step.n_steps, n_bodies=n)
        self.clock, self._steps = self._clock[0], self._clock["step"]
        self._put_bodies()
        self._put_contacts(contacts)
        self.clock.front = self._first_front()
        left, right = self._drive(chain.left, "left_drive"), self._drive(chain.right, "right_drive")
        self.drives = fields.Drives(*left, *right)
        driven = bool(self.clock.left_drive or self.clock.right_drive)
        self.features = features_of(self.model, recording.ledger, bool(self.bodies.steady.any()), driven)
        self.functions = Functions(*frozen(*self.model.functions))
        leaps = self.features.leaps
        # a contact's force may jump at the onset and at each overlap that the law names, in one step, there and back
        places = 1 + 2 * len(self.functions.jumps(tuple(contacts.c[:, 0].tolist())))
        self.tables = fields.Tables(
            bodies, table, c, h, np.zeros((len(fields.EVENT), width), dtype=np.int64),
            np.zeros((len(fields.CORRECTION), width + fields.LANES if leaps else 0)),
            np.zeros((len(fields.JUMP), places * width if leaps else 0)),
        )  # fmt: skip
        self.records = self._new_records(leaps)
        self._loop: Callable = loop_of(self.functions, self.features)

    def _put_bodies(self) -> None:
        bodies, chain = self.bodies, self.chain
        inside = slice(1, chain.n_bodies + 1)
        bodies.v[inside] = chain.velocity
        bodies.mass[inside] = chain.mass
        bodies.inverse_mass[inside] = 1.0 / chain.mass
        bodies.dt_over_m[inside] = self.time_step.value * bodies.inverse_mass[inside]
        bodies.steady[inside] = chain.loads()
        bodies.loads[:] = bodies.steady
        bodies.weight[inside] = chain.mass * chain.gravity

    def _put_contacts(self, given: Contacts) -> None:
        contacts, chain, n = self.contacts, self.chain, self.chain.n_bodies
        exists = chain.contact_exists
        contacts.start[: n + 1] = np.where(exists, given.overlaps, -np.inf)
        contacts.start[1:n] -= chain.gap
        contacts.limit[: n + 1] = given.limits
        contacts.endwise[: n + 1] = np.where(exists, 2.0, 0.0)
        contacts.endwise[[0, n]] = exists[[0, -1]]
        self.c[:, : n + 1] = given.c
        self.c[:, n + 1 :] = given.c[:, -1:]
        self.h[:, : n + 1] = given.history[:, :-1]
        self.h[:, n + 1 :] = given.history[:, -1:]

    def _first_front(self) -> int:
        """The first contact that may be left out: none of a loaded chain, else the one ahead of the last moving body."""
        n = self.chain.n_bodies
        if (self.contacts.start[: n + 1] > 0.0).any():
            return n
        return min(self.chain.at_rest_ahead + 1, n)

    def _drive(self, end: End, which: str) -> tuple[np.ndarray, np.ndarray]:
        """Knots and coefficients of a drive: shape-preserving cubic for a displacement, straight lines for a force."""
        if end.time is None or end.value is None:
            return np.zeros(2), np.zeros((4, 1))
        time, value = np.asarray(end.time, dtype=float), np.asarray(end.value, dtype=float)
        spline = np.zeros((4, time.size - 1))
        if end.kind == DRIVEN_DISPLACEMENT:
            from scipy.interpolate import PchipInterpolator

            self.clock[which] = fields.DISPLACEMENT
            spline[:] = PchipInterpolator(time, value).c
        elif end.kind == DRIVEN_FORCE:
            self.clock[which] = fields.FORCE
            spline[2], spline[3] = np.diff(value) / np.diff(time), value[:-1]
        return np.ascontiguousarray(time), spline

    def _new_records(self, leaps: bool) -> fields.Records:
        recording, chain, n_steps = self.recording, self.chain, self.time_step.n_steps
        stride = self.time_step.stride(recording.interval)
        self.clock.stride = stride
        sampled = n_steps // stride + 1 if recording.sensor_beads or recording.sensor_contacts else 0
        # a bead's two contacts: those with the index of its body, counted from 0, and the next
        beads = np.array(recording.sensor_beads, dtype=np.int64) - int(chain.body_labels[0])
        recorded = np.array(recording.sensor_contacts, dtype=np.int64) - int(chain.contact_labels[0])
        snapshot_at = self._instants(recording.snapshot_interval)
        energy_at = self._instants((recording.energy_interval or n_steps * self.time_step.value / 200.0) if recording.ledger else None)
        jumps = sampled if leaps else 0
        shapes = {
            "sensor_force": (sampled, beads.size), "contact_force": (sampled, recorded.size), "contact_overlap": (sampled, recorded.size),
            "jump_force": (jumps, beads.size), "jump_time": (jumps, beads.size),
            "displacement": (snapshot_at.size, chain.n_bodies), "velocity": (snapshot_at.size, chain.n_bodies),
            "energies": (energy_at.size, len(fields.ENERGY)),
        }  # fmt: skip
        values = {field.name: fields.room(shapes[field.name], field) for field in fields.RECORD}
        return fields.Records(
            **values, sensor_left=beads, sensor_right=beads + 1, recorded=recorded, snapshot_at=snapshot_at, energy_at=energy_at
        )

    def _instants(self, interval: float | None) -> np.ndarray:
        """Steps at which something is recorded: each interval, and the last."""
        if interval is None:
            return np.zeros(0, dtype=np.int64)
        n_steps = self.time_step.n_steps
        every = max(1, round(min(interval / self.time_step.value, n_steps)))
        instants = np.arange(0, n_steps + every, every, dtype=np.int64)
        instants[-1] = n_steps
        return instants

    @property
    def step(self) -> int:
        """Steps done."""
        return int(self._steps[0])

    @property
    def time(self) -> float:
        """Time of the state [s]."""
        return self.step * self.time_step.value

    @property
    def sample_step(self) -> np.ndarray:
        """(n_samples,) Steps of the samples."""
        return np.arange(len(self.records.sensor_force)) * int(self.clock.stride)

    @property
    def energies(self) -> fields.Energies:
        """The entries of the ledger, by name: (n_entries,) arrays [J]."""
        return fields.Energies(*self.records.energies.T)

    @property
    def set_up(self) -> str:
        """SHA-256 of what the run is set up from: the law, its functions and coefficients, step, drives, and what is recorded."""
        model = self.model
        named = [[(q.name, q.unit, q.output) for q in group] for group in (model.coefficients, model.history)]
        facts = (
            self.time_step.value,
            self.time_step.n_steps,
            self.recording,
            model.name,
            named,
            self.features,
            fingerprint(*self.functions),
        )
        digest = hashlib.sha256(repr(facts).encode())
        plan = {field.name: getattr(self.records, field.name) for field in fields.PLAN}
        for name, values in {"c": self.c, **self.drives._asdict(), **plan}.items():
            array = np.ascontiguousarray(values)
            digest.update(f"{name} {array.dtype.str} {array.shape}".encode() + array.tobytes())
        return digest.hexdigest()

    def arrays(self) -> dict[str, np.ndarray]:
        """All that the run has changed until now; of the records the rows that are filled, and the one that may be begun."""
        return self._views(self._clock)

    def _views(self, clock: np.ndarray) -> dict[str, np.ndarray]:
        """The arrays that a run changes, by name, as far as they are filled at this clock; the clock as whole numbers, bit by bit."""
        tables = {name: getattr(self.tables, name) for name in CHANGING}
        records = {field.name: getattr(self.records, field.name)[: self._rows(field, clock)] for field in fields.RECORD}
        return {"clock": self._clock.view(np.int64), **tables, **records}

    def _rows(self, field: Field, clock: np.ndarray) -> int:
        return min(len(getattr(self.records, field.name)), int(clock[FILLED[field.of]][0]) + 1)

    @property
    def limits(self) -> dict[str, int]:
        """What the whole numbers of a state may not exceed, so that the loop writes where it may."""
        records = self.records
        return {
            "contacts": self.tables.events.shape[1], "steps": self.time_step.n_steps + 1, "samples": len(records.sensor_force),
            "snapshots": len(records.displacement), "entries": len(records.energies), "any number": int(np.iinfo(np.int64).max),
            "none": 0, "one": 1,
        }  # fmt: skip

    def take(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go on from the `arrays` of a state with the same `set_up`.

        Parameters
        ----------
        arrays : mapping of str to array
            Every name that `arrays` gives.

        Raises
        ------
        ValueError
            Where a name, type, shape or count is none that this run could have reached; the state is then as it was.
        """
        names = self._views(self._clock)
        if set(arrays) != set(names):
            raise ValueError(f"holds the arrays {', '.join(sorted(arrays))}, and must hold {', '.join(sorted(names))}")
        mine = names["clock"]
        if arrays["clock"].dtype != mine.dtype or arrays["clock"].shape != mine.shape:
            raise ValueError(f"clock is {arrays['clock'].dtype} {arrays['clock'].shape}, and must be {mine.dtype} {mine.shape}")
        clock = np.array(arrays["clock"]).view(fields.CLOCK)
        self._check(clock)
        views = self._views(clock)
        for name, mine in views.items():
            theirs = arrays[name]
            if theirs.dtype != mine.dtype or theirs.shape != mine.shape:
                raise ValueError(f"{name} is {theirs.dtype} {theirs.shape}, and must be {mine.dtype} {mine.shape}")
        for field, row in zip(fields.EVENT, arrays["events"], strict=True):
            if not ((row >= 0) & (row < self.limits[field.most])).all():
                raise ValueError(f"{field.name} names a contact that is not there")
        for name, mine in views.items():
            mine[:] = arrays[name]

    def _check(self, clock: np.ndarray) -> None:
        """Refuse whole numbers with which the loop would write where it must not, and what the run never changes."""
        limits = self.limits
        for field in fields.RUN:
            mine, theirs = self._clock[field.name][0], clock[field.name][0]
            if not field.changes and mine != theirs:
                raise ValueError(f"{field.name} is {theirs}, and must be {mine}")
            if field.most and not 0 <= theirs <= limits[field.most]:
                raise ValueError(f"{field.name} is {theirs}, and must be 0 to {limits[field.most]}")

    def live_in(self, tables: fields.Tables, clock: np.ndarray, drives: fields.Drives, records: fields.Records) -> None:
        """Before the first step, move to other memory; see granchain.engine.stack.

        Parameters
        ----------
        tables, drives : named tuple of arrays
            Of the shapes of its own.
        clock : (1,) array of CLOCK
        records : named tuple of arrays
            As long as its own, or longer; what is to be recorded there is as it starts.
        """
        for mine, theirs in zip((*self.tables, *self.drives), (*tables, *drives), strict=True):
            theirs[:] = mine
        clock[:] = self._clock
        for field in fields.PLAN:
            mine = getattr(self.records, field.name)
            getattr(records, field.name)[: len(mine)] = mine
        self.records = fields.Records(*(theirs[: len(mine)] for mine, theirs in zip(self.records, records, strict=True)))
        self.tables, self.drives = tables, drives
        self.bodies, self.contacts = fields.Bodies(*tables.bodies), fields.Contacts(*tables.contacts)
        self.c, self.h = tables.c, tables.h
        self._clock, self.clock, self._steps = clock, clock[0], clock["step"]

    @property
    def loop(self) -> Callable:
        """The compiled loop that advances it."""
        return self._loop

    def advance(self, steps: int) -> Status:
        """Do a block of steps, and look at the state.

        Parameters
        ----------
        steps : int
            Number of steps; the run's last step ends the block earlier.
        """
        stop = min(self.step + steps, self.time_step.n_steps + 1)
        return Status(self._loop(stop, True, self.tables, self.clock, self.drives, self.records))
