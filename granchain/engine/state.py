"""The arrays of one run, made from a chain and a law, and the call that advances them by a block of steps."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from granchain.chain import DRIVEN_DISPLACEMENT, DRIVEN_FORCE, Chain, End
from granchain.contact.law import ContactLaw, Functions
from granchain.contact.pair import Pair
from granchain.engine import layout
from granchain.engine.contacts import coefficients, contact_limits, start_histories, static_overlaps
from granchain.engine.loop import loop_of
from granchain.engine.restitution import with_restitution
from granchain.engine.specialise import fingerprint, frozen
from granchain.engine.sweeps import features_of
from granchain.engine.timestep import TimeStep, choose
from granchain.status import Status


@dataclass(frozen=True)
class Recording:
    """What a run keeps.

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
        Whether the energy ledger is kept.
    energy_interval : float, optional
        Of the ledger [s].
    """

    sensor_beads: tuple[int, ...] = ()
    sensor_contacts: tuple[int, ...] = ()
    interval: float = 2e-7
    snapshot_interval: float | None = None
    ledger: bool = True
    energy_interval: float | None = None


@dataclass(frozen=True)
class Contacts:
    """A chain's contacts under one law: what does not change during a run.

    Parameters
    ----------
    law : type of ContactLaw
        The variant to run with.
    c : (n_coefficients, n_contacts) array
        Coefficients.
    overlaps : (n_contacts,) array
        Static overlaps [m].
    limits : (n_contacts,) array
        Overlap at which the run stops [m].
    """

    law: type[ContactLaw]
    c: np.ndarray
    overlaps: np.ndarray
    limits: np.ndarray


def contacts_of(law: type[ContactLaw], chain: Chain, inputs: SimpleNamespace, pair: Pair | None = None) -> Contacts:
    """Coefficients, guard and static start of a chain's contacts.

    Parameters
    ----------
    law : type of ContactLaw
        As registered; the variant that the inputs ask for is taken.
    chain : Chain
        The row of bodies.
    inputs : namespace
        A value for each of the law's inputs.
    pair : Pair, optional
        Instead of the chain's own.

    Raises
    ------
    LawError, CaseError
        Where the law misses a quantity, or has no force for the static load.
    """
    limits = chain.overlap_limits()
    exists = chain.contact_exists
    pair = chain.pair() if pair is None else pair
    inputs = with_restitution(inputs, pair, limits, float(np.abs(np.diff(chain.velocity, prepend=0.0, append=0.0)).max()))
    law = law.variant(inputs)
    c = coefficients(law, pair, inputs, limits)
    # an end without a wall has no contact: its column repeats its neighbour's, so that it is no kind of its own
    for k, neighbour in ((0, 1), (-1, -2)):
        if not exists[k]:
            c[:, k], limits[k] = c[:, neighbour], limits[neighbour]
    overlaps = static_overlaps(law, c, chain.static_forces(), contact_limits(law, c, limits), chain)
    return Contacts(law, c, overlaps, limits)


def time_step_of(contacts: Contacts, chain: Chain, step: str | float, end: float, force_step: bool = False) -> TimeStep:
    """The time step of a run; see granchain.engine.timestep.choose."""
    limits = contact_limits(contacts.law, contacts.c, contacts.limits)
    return choose(contacts.law, chain, contacts.c, contacts.overlaps, limits, step, end, force_step)


# The arrays of a state: those that a run changes, and those that it is set up from.
CHANGING = (
    "bodies", "table", "h", "places", "counts", "numbers",
    "sensor_force", "contact_force", "contact_overlap", "displacement", "velocity", "energies",
    "jump_force", "jump_time", "corrections",
)  # fmt: skip
FIXED = (
    "c", "left_knots", "left_spline", "right_knots", "right_spline",
    "sensor_left", "sensor_right", "recorded", "sample_step", "snapshot_at", "energy_at",
)  # fmt: skip
# The records, each with the count of its rows that are filled.
RECORDS = {
    "sensor_force": layout.SAMPLE, "contact_force": layout.SAMPLE, "contact_overlap": layout.SAMPLE,
    "displacement": layout.SNAPSHOT, "velocity": layout.SNAPSHOT, "energies": layout.ENERGY,
    "jump_force": layout.SAMPLE, "jump_time": layout.SAMPLE,
}  # fmt: skip
# Counts that a run does not change.
CONSTANT_COUNTS = (layout.N_STEPS, layout.N_BODIES, layout.STRIDE, layout.LEFT_DRIVE, layout.RIGHT_DRIVE)


# Bytes of a page: where addresses repeat as far as the processor looks to tell a store from a load behind it.
PAGE = 4096


def aligned(shapes: tuple[tuple[int, int], ...]) -> list[np.ndarray]:
    """Tables of zeros, side by side from the start of a page on.

    Rows of whole vectors then begin at a cache line (a vector across two lines costs twice), and which rows share the low part of an
    address does not change from run to run.
    """
    sizes = [rows * width for rows, width in shapes]
    memory = np.zeros(sum(sizes) + PAGE // 8)
    at = -memory.ctypes.data % PAGE // 8
    tables = []
    for size, shape in zip(sizes, shapes, strict=True):
        tables.append(memory[at : at + size].reshape(shape))
        at += size
    return tables


class State:
    """Everything that changes during a run.

    Parameters
    ----------
    contacts : Contacts
        Law, coefficients and static start.
    chain : Chain
        The row of bodies.
    time_step : TimeStep
        Step and number of steps.
    recording : Recording
        What is kept.
    """

    def __init__(self, contacts: Contacts, chain: Chain, time_step: TimeStep, recording: Recording):
        n = chain.n_bodies
        width = -(-(n + 1) // layout.LANES) * layout.LANES
        dt = time_step.value
        self.law, self.chain, self.time_step, self.recording = contacts.law, chain, time_step, recording

        bodies, table, self.c, self.h = aligned(
            (
                (layout.BODY_ROWS, width + layout.LANES), (layout.CONTACT_ROWS, width),
                (contacts.c.shape[0], width), (len(self.law.history), width),
            )
        )  # fmt: skip
        inside = slice(1, n + 1)
        bodies[layout.V, inside] = chain.velocity
        bodies[layout.MASS, inside] = chain.mass
        bodies[layout.INVERSE_MASS, inside] = 1.0 / chain.mass
        bodies[layout.DT_OVER_M, inside] = dt * bodies[layout.INVERSE_MASS, inside]
        bodies[layout.STEADY, inside] = chain.loads()
        bodies[layout.LOADS] = bodies[layout.STEADY]
        bodies[layout.WEIGHT, inside] = chain.mass * chain.gravity
        self.bodies = bodies

        exists = chain.contact_exists
        table[layout.START] = -np.inf
        table[layout.START, : n + 1] = np.where(exists, contacts.overlaps, -np.inf)
        table[layout.START, 1:n] -= chain.gap
        table[layout.REACH] = -np.inf
        table[layout.LIMIT] = np.inf
        table[layout.LIMIT, : n + 1] = contacts.limits
        table[layout.ENDWISE, : n + 1] = np.where(exists, 2.0, 0.0)
        table[layout.ENDWISE, [0, n]] = exists[[0, -1]]
        self.table = table

        self.c[:, : n + 1] = contacts.c
        self.c[:, n + 1 :] = contacts.c[:, -1:]
        self.h[:, : n + 1] = start_histories(self.law, contacts.c, np.where(exists, contacts.overlaps, 0.0))
        self.h[:, n + 1 :] = start_histories(self.law, contacts.c[:, -1:], np.zeros(1))

        self.numbers = np.zeros(layout.N_NUMBERS)
        self.numbers[layout.DT] = dt
        self.numbers[layout.ALLOWED_STEP] = np.inf
        self.counts = np.zeros(layout.N_COUNTS, dtype=np.int64)
        self.counts[layout.N_STEPS] = time_step.n_steps
        self.counts[layout.N_BODIES] = n
        self.counts[layout.FRONT] = self._first_front()
        self.places = np.zeros((2, width), dtype=np.int64)
        (self.left_knots, self.left_spline), (self.right_knots, self.right_spline) = (
            self._drive(chain.left, layout.LEFT_DRIVE),
            self._drive(chain.right, layout.RIGHT_DRIVE),
        )
        self._features = features_of(self.law, recording.ledger, bool(bodies[layout.STEADY].any()), bool(self._driven()))
        self._prepare_records(self._features.leaps)
        self.functions = Functions(*frozen(*self.law.functions()))
        # a contact's force may jump at the onset and at each overlap that the law names, in one step, there and back
        places = 1 + 2 * len(self.functions.jumps(tuple(contacts.c[:, 0].tolist())))
        self.corrections = np.zeros((layout.CORRECTION_ROWS, width + layout.LANES if self._features.leaps else 0))
        self.leaps = np.zeros((layout.LEAP_ROWS, places * width if self._features.leaps else 0))
        self._loop: Callable = loop_of(self.functions, self._features)

    def _driven(self) -> bool:
        return bool(self.counts[layout.LEFT_DRIVE] or self.counts[layout.RIGHT_DRIVE])

    def _first_front(self) -> int:
        """The first contact that may be left out: none of a loaded chain, else the one ahead of the last moving body."""
        n = self.chain.n_bodies
        if (self.table[layout.START, : n + 1] > 0.0).any():
            return n
        return min(self.chain.at_rest_ahead + 1, n)

    def _drive(self, end: End, which: int) -> tuple[np.ndarray, np.ndarray]:
        """Knots and coefficients of a drive: shape-preserving cubic for a displacement, straight lines for a force."""
        if end.time is None or end.value is None:
            return np.zeros(2), np.zeros((4, 1))
        time, value = np.asarray(end.time, dtype=float), np.asarray(end.value, dtype=float)
        spline = np.zeros((4, time.size - 1))
        if end.kind == DRIVEN_DISPLACEMENT:
            from scipy.interpolate import PchipInterpolator

            self.counts[which] = layout.DISPLACEMENT
            spline[:] = PchipInterpolator(time, value).c
        elif end.kind == DRIVEN_FORCE:
            self.counts[which] = layout.FORCE
            spline[2], spline[3] = np.diff(value) / np.diff(time), value[:-1]
        return np.ascontiguousarray(time), spline

    def _prepare_records(self, leaps: bool) -> None:
        recording, chain, n_steps = self.recording, self.chain, self.time_step.n_steps
        dt = self.time_step.value
        stride = self.time_step.stride(recording.interval)
        self.counts[layout.STRIDE] = stride
        first_body, first_contact = int(chain.body_labels[0]), int(chain.contact_labels[0])
        sampled = n_steps // stride + 1 if recording.sensor_beads or recording.sensor_contacts else 0
        # a bead's two contacts: those with the index of its body, counted from 0, and the next
        beads = np.array(recording.sensor_beads, dtype=np.int64) - first_body
        self.sensor_left, self.sensor_right = beads, beads + 1
        self.sensor_force = np.zeros((sampled, beads.size))
        self.jump_force, self.jump_time = (np.full((sampled if leaps else 0, beads.size), np.nan) for _ in range(2))
        self.recorded = np.array(recording.sensor_contacts, dtype=np.int64) - first_contact
        self.contact_force = np.zeros((sampled, self.recorded.size))
        self.contact_overlap = np.zeros((sampled, self.recorded.size))
        self.sample_step = np.arange(sampled) * stride
        self.snapshot_at = self._instants(recording.snapshot_interval)
        self.displacement = np.zeros((self.snapshot_at.size, chain.n_bodies))
        self.velocity = np.zeros((self.snapshot_at.size, chain.n_bodies))
        self.energy_at = self._instants((recording.energy_interval or n_steps * dt / 200.0) if recording.ledger else None)
        self.energies = np.zeros((self.energy_at.size, layout.N_ENERGIES))

    def _instants(self, interval: float | None) -> np.ndarray:
        """Steps at which something is kept: each interval, and the last."""
        if interval is None:
            return np.zeros(0, dtype=np.int64)
        n_steps = self.time_step.n_steps
        every = max(1, round(min(interval / self.time_step.value, n_steps)))
        return np.unique(np.append(np.arange(0, n_steps + 1, every), n_steps)).astype(np.int64)

    @property
    def step(self) -> int:
        """Steps done."""
        return int(self.counts[layout.STEP])

    @property
    def time(self) -> float:
        """Time of the state [s]."""
        return self.step * self.time_step.value

    @property
    def set_up(self) -> str:
        """SHA-256 of what the run is set up from: the law, its functions and coefficients, step, drives, and what is recorded."""
        law = self.law
        named = [[(q.name, q.unit, q.output) for q in group] for group in (law.coefficients, law.history)]
        facts = (
            self.time_step.value,
            self.time_step.n_steps,
            self.recording,
            law.name,
            named,
            self._features,
            fingerprint(*self.functions),
        )
        digest = hashlib.sha256(repr(facts).encode())
        for name in FIXED:
            array = np.ascontiguousarray(getattr(self, name))
            digest.update(f"{name} {array.dtype.str} {array.shape}".encode() + array.tobytes())
        return digest.hexdigest()

    def arrays(self) -> dict[str, np.ndarray]:
        """All that the run has changed until now; of the records the rows that are filled, and the one that may be begun."""
        return {name: getattr(self, name)[: self._filled(name, self.counts)] for name in CHANGING}

    def _filled(self, name: str, counts: np.ndarray) -> int:
        rows: int = getattr(self, name).shape[0]
        return min(rows, int(counts[RECORDS[name]]) + 1) if name in RECORDS else rows

    def take(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go on from the `arrays` of a state with the same `set_up`.

        Parameters
        ----------
        arrays : mapping of str to array
            Every name of CHANGING.

        Raises
        ------
        ValueError
            Where a name, type, shape or count is none that this run could have reached; the state is then as it was.
        """
        if set(arrays) != set(CHANGING):
            raise ValueError(f"holds the arrays {', '.join(sorted(arrays))}, and must hold {', '.join(sorted(CHANGING))}")
        self._check_counts(arrays["counts"])
        for name in CHANGING:
            mine, theirs = getattr(self, name), arrays[name]
            shape = (self._filled(name, arrays["counts"]), *mine.shape[1:])
            if theirs.dtype != mine.dtype or theirs.shape != shape:
                raise ValueError(f"{name} is {theirs.dtype} {theirs.shape}, and must be {mine.dtype} {shape}")
        # the loop writes at these indices
        if not ((arrays["places"] >= 0) & (arrays["places"] < self.places.shape[1])).all():
            raise ValueError("places names a contact that is not there")
        for name in CHANGING:
            getattr(self, name)[: arrays[name].shape[0]] = arrays[name]

    def _check_counts(self, counts: np.ndarray) -> None:
        """Refuse counts with which the loop would write where it must not."""
        if counts.dtype != self.counts.dtype or counts.shape != self.counts.shape:
            raise ValueError(f"counts is {counts.dtype} {counts.shape}, and must be {self.counts.dtype} {self.counts.shape}")
        largest = np.full(layout.N_COUNTS, self.places.shape[1])  # an index of a body or contact
        for name, i in RECORDS.items():
            if name not in ("jump_force", "jump_time"):  # which some laws have no rows of
                largest[i] = getattr(self, name).shape[0]
        largest[layout.STEP], largest[layout.CLAMPED] = self.time_step.n_steps + 1, np.iinfo(np.int64).max
        # jumps are noted and dealt with in one step
        largest[layout.LEAPT], largest[layout.ECHOES] = 0, 1
        smallest = np.zeros(layout.N_COUNTS, dtype=np.int64)
        for i in CONSTANT_COUNTS:
            smallest[i] = largest[i] = self.counts[i]
        wrong = np.flatnonzero((counts < smallest) | (counts > largest))
        if wrong.size:
            i = wrong[0]
            raise ValueError(f"count {i} is {counts[i]}, and must be {smallest[i]} to {largest[i]}")

    def advance(self, steps: int) -> Status:
        """Do a block of steps, and look at the state.

        Parameters
        ----------
        steps : int
            Number of steps; the run's last step ends the block earlier.
        """
        stop = min(self.step + steps, self.time_step.n_steps + 1)
        status = Status(
            self._loop(
                stop, self.bodies, self.table, self.c, self.h, self.places, self.counts, self.numbers,
                self.left_knots, self.left_spline, self.right_knots, self.right_spline,
                self.sensor_left, self.sensor_right, self.sensor_force, self.recorded, self.contact_force, self.contact_overlap,
                self.snapshot_at, self.displacement, self.velocity, self.energy_at, self.energies,
                self.jump_force, self.jump_time, self.corrections, self.leaps,
            )
        )  # fmt: skip
        return status if status.failed else self._finite(status)

    def _finite(self, status: Status) -> Status:
        """The status of a block, where nothing that the loop did not look at is no number: a force that compares hides what it is given."""
        contacts = slice(self.chain.n_bodies + 1)
        works = self.table[[layout.VISCOUS_WORK, layout.CLAMP_WORK, layout.VISCOUS_TOTAL, layout.CLAMP_TOTAL], contacts]
        for wrong in (np.isnan(self.h[:, contacts]), ~np.isfinite(self.bodies[layout.A : layout.A + 1, contacts]), ~np.isfinite(works)):
            if wrong.any():
                self.counts[layout.WHERE] = np.flatnonzero(wrong.any(axis=0))[0]
                return Status.NOT_FINITE
        return status
