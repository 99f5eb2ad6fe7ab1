"""Declarations of the state of a run: name, owner, meaning, and initial value of each quantity.

Bodies are stored in padded rows: index 0 is the left wall (or nothing), 1..n are the bodies, n + 1
is the right wall (or nothing), and the following entries are padding at rest. Contact k joins the
padded bodies k and k + 1 for every k. One sweep over complete vectors therefore serves every chain,
without special cases at its ends. The declarations determine the rows that the compiled loop uses
(`bodies.v[k]`, `contacts.force[k]`), the record of scalars (`clock.step`), and the contents of a
checkpoint.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from granchain.engine.contact_step import overlap_of
from granchain.jit.accessors import arrays_as, rows_as
from granchain.jit.compile import hot, shared
from granchain.jit.reach import NAMED_TUPLES

# Kind of a drive, as a number for the loop.
DISPLACEMENT, FORCE = range(2)


class Field(NamedTuple):
    """One quantity of the state of a run.

    Parameters
    ----------
    name : str
        Name in the loop, in a checkpoint, and in messages.
    of : str
        Owner of the quantity: "body", "contact", "event" (a position in a list of contacts), "jump"
        (of a force, within one step), "drive", "element", "run", "sample", "snapshot", or "entry"
        (of the energy balance).
    meaning : str
        Description in one line.
    start : float
        Value before the run is set up.
    kind : type
        float or int.
    axes : tuple of str
        Names of the axes of a record.
    swept : bool
        Whether the row is an argument of the sweeps.
    """

    name: str
    of: str
    meaning: str
    start: float = 0.0
    kind: type = float
    axes: tuple[str, ...] = ()
    swept: bool = False


BODY = (
    Field("u", "body", "displacement from the start [m]", swept=True),
    Field("v", "body", "velocity at the half step [m/s]", swept=True),
    Field("a", "body", "acceleration of the step before [m/s2]", swept=True),
    Field("mass", "body", "[kg]"),
    Field("inverse_mass", "body", "[1/kg]; 0 for walls", swept=True),
    Field("dt_over_m", "body", "time step over mass [s/kg]", swept=True),
    Field("loads", "body", "force from outside, steady and driven [N]", swept=True),
    Field("steady", "body", "its steady part: weight and precompression [N]"),
    Field("weight", "body", "its weight along the chain [N]"),
)

CONTACT = (
    Field(
        "start",
        "contact",
        "overlap at zero displacement [m]: 0 touching, minus the gap, the static overlap, -inf: "
        "no contact",
        -np.inf,
        swept=True,
    ),
    Field("force", "contact", "of the last step, as recorded [N]", swept=True),
    Field("peak", "contact", "largest force [N]", swept=True),
    Field("largest_overlap", "contact", "so far [m]", -np.inf, swept=True),
    Field("elastic", "contact", "elastic part of the force [N]", swept=True),
    Field("clamp", "contact", "what the clamp at zero adds to it [N]", swept=True),
    Field(
        "viscous_work",
        "contact",
        "work of the viscous part since the last entry of the balance [J]",
        swept=True,
    ),
    Field("clamp_work", "contact", "work of the clamp since then [J]", swept=True),
    Field("lost", "contact", "loss of residual indentations that the contact has forgotten [J]"),
    Field("limit", "contact", "overlap at which the run stops [m]", np.inf),
    Field("kicked", "contact", "force that kicks, of a contact with two forces [N]"),
    Field("recorded", "contact", "its recorded force [N]"),
    Field(
        "endwise",
        "contact",
        "weight of its stiffness in the bound on the step: 2 between bodies, 1 at a wall, 0 where "
        "there is none",
    ),
    Field("viscous_total", "contact", "viscous work up to the last entry of the balance [J]"),
    Field("viscous_rest", "contact", "what its rounding has left out [J]"),
    Field("clamp_total", "contact", "work of the clamp up to the last entry [J]"),
    Field("clamp_rest", "contact", "what its rounding has left out [J]"),
)

# Lists of contacts within a step, as indices.
EVENT = (
    Field(
        "changed",
        "event",
        "contacts whose two forces differ, see contact_step.py",
        kind=int,
    ),
    Field(
        "active",
        "event",
        "contacts that had an event at the step before: those of a contact under load come at "
        "each step",
        kind=int,
    ),
    Field(
        "listed",
        "contact",
        "1 where the contact is among the active ones",
        kind=int,
    ),
)

# For laws whose force jumps: records at a jump, and at the step after it, are corrected.
CORRECTION = (
    Field(
        "excess",
        "contact",
        "force that kicked at the step before, less the recorded force [N]",
    ),
    Field(
        "past",
        "contact",
        "recorded force of the step before, next to a contact whose force jumps [N]",
    ),
    Field("kick", "contact", "force that kicks, while the recorded one is corrected [N]"),
    Field("shift", "body", "by how much the predicted velocity is corrected [m/s]"),
)

# Springs and dashpots between bodies and the ground or attached masses. The elements of compliant
# ends follow; their masses are the wall, and their springs are between wall and ground.
ELEMENT = (
    Field("u", "element", "displacement of the attached mass from its rest [m]"),
    Field("v", "element", "velocity of the attached mass at the half step [m/s]"),
    Field("a", "element", "acceleration of the attached mass of the step before [m/s2]"),
    Field("body", "element", "its body or wall, as an index; bodies rise", -1.0),
    Field("mass", "element", "attached mass [kg]; 0: ground"),
    Field("inverse_mass", "element", "of the attached mass [1/kg]; 0: ground"),
    Field("stiffness", "element", "of the spring [N/m]"),
    Field("damping", "element", "of the dashpot [kg/s]"),
    Field("load", "element", "constant force on the attached mass: at an end, the static one [N]"),
    Field("share", "element", "1/(1 + dt/2 damping/attached mass)"),
    Field("response", "element", "1/(1 + dt/2 sum of share times damping of its body/mass)"),
)

STEP_JUMP = (
    Field("contact", "jump", "its contact, as an index"),
    Field("behind", "jump", "part of the step that lies behind the jump"),
    Field("before", "jump", "force before it [N]"),
    Field("after", "jump", "force after it [N]"),
    Field("moves", "jump", "1 where it is inside a contact, and moves the bodies"),
    Field("growth", "jump", "by how much the growth of the force then jumps with it [N/s]"),
)

# State of the drives; positive is to the right.
DRIVEN = (
    Field("last", "drive", "displacement at the step before [m]"),
    Field("speed", "drive", "velocity at the step [m/s]"),
    Field("force", "drive", "at the step [N]"),
    Field("part", "drive", "of a step that lies behind a jump of its speed, less one half"),
    Field("before", "drive", "velocity before that jump [m/s]"),
    Field("given", "drive", "energy that the motion of its body itself takes [J]"),
    Field("work", "drive", "of this drive on the chain [J]"),
    Field("rest", "drive", "what its rounding has left out [J]"),
)
DRIVE = (
    Field("body", "drive", "its body, as an index"),
    Field("kind", "drive", "DISPLACEMENT or FORCE"),
    Field(
        "sign",
        "drive",
        "1 where what it follows is positive to the right, else -1",
        1.0,
    ),
    Field("damping", "drive", "of the elements of its body [kg/s]"),
    Field("first", "drive", "place of its first knot"),
    Field("after", "drive", "one more than that of its last"),
)

RUN = (
    Field("dt", "run", "time step [s]"),
    Field("allowed_step", "run", "step that the state at the end of the blocks allows [s]", np.inf),
    Field(
        "pending", "run", "time over which the last forces' losses are not yet in the balance [s]"
    ),
    Field("drive_work", "run", "of the drives on the chain [J]"),
    Field("drive_rest", "run", "what its rounding has left out [J]"),
    Field("elements_work", "run", "energy that the dashpots of elements have taken [J]"),
    Field("elements_rest", "run", "what its rounding has left out [J]"),
    Field("ends_work", "run", "energy that compliant ends have taken [J]"),
    Field("ends_rest", "run", "what its rounding has left out [J]"),
    Field("n_steps", "run", "steps to the end", kind=int),
    Field(
        "earlier",
        "run",
        "steps before the first, of the runs that this one continues",
        kind=int,
    ),
    Field("n_bodies", "run", "striker and beads", kind=int),
    Field("stride", "run", "steps from sample to sample", kind=int),
    Field(
        "tile",
        "run",
        "contacts that are swept over several steps at a time",
        kind=int,
    ),
    Field("band", "run", "steps at a time at most", kind=int),
    Field("step", "run", "steps done", kind=int),
    Field("front", "run", "contacts behind the front of the wave", kind=int),
    Field("sample", "run", "samples taken", kind=int),
    Field("snapshot", "run", "snapshots taken", kind=int),
    Field("entry", "run", "entries of the energy balance", kind=int),
    Field("clamped", "run", "contact-steps in which the clamp acted", kind=int),
    Field("where", "run", "body or contact of a failure, as an index", kind=int),
    Field("n_active", "run", "length of the list of active contacts", kind=int),
    Field(
        "n_jumps",
        "run",
        "jumps of the force in this step; none between two steps",
        kind=int,
    ),
    Field(
        "echoes",
        "run",
        "1 where two forces differed at the step before",
        kind=int,
    ),
)

# Tables of the drives, one after another.
FOLLOWED = (
    Field("knots", "run", "instants of the drives' tables [s]"),
    Field("spline", "run", "coefficients behind each, highest power first"),
)


def named_tuple_of(kind: str, fields: tuple[Field, ...], module: str = __name__) -> Any:
    """Return a named tuple type with one value for each field.

    A saved loop that uses the type finds it in `module` when it is loaded.
    """
    names = [field.name for field in fields]
    made: Any = namedtuple(kind, names, module=module)  # type: ignore[misc]
    NAMED_TUPLES.add(made)
    return made


BodyRows = named_tuple_of("BodyRows", BODY)
ContactRows = named_tuple_of("ContactRows", CONTACT)
EventRows = named_tuple_of("EventRows", EVENT)
CorrectionRows = named_tuple_of("CorrectionRows", CORRECTION)
JumpRows = named_tuple_of("JumpRows", STEP_JUMP)
ElementRows = named_tuple_of("ElementRows", ELEMENT)
DrivenRows, DriveRows = named_tuple_of("DrivenRows", DRIVEN), named_tuple_of("DriveRows", DRIVE)
Followed = named_tuple_of("Followed", FOLLOWED)


class Tables(NamedTuple):
    """Tables of a state: one row per quantity, and one column per body, contact, event, jump,
    drive, or element."""

    bodies: np.ndarray
    contacts: np.ndarray
    c: np.ndarray
    h: np.ndarray
    events: np.ndarray
    corrections: np.ndarray
    jumps: np.ndarray
    elements: np.ndarray
    driven: np.ndarray
    drives: np.ndarray


class RowOfBeads(NamedTuple):
    """Chain as the loop accesses it: the tables by quantity.

    Coefficients and history have the rows of the law.
    """

    bodies: Any
    contacts: Any
    c: np.ndarray
    h: np.ndarray
    events: Any
    corrections: Any
    jumps: Any
    elements: Any
    driven: Any
    drives: Any


NAMED_TUPLES.update((Tables, RowOfBeads))


def record_type(fields: tuple[Field, ...]) -> np.dtype:
    """Return the data type of the scalars of a run."""
    return np.dtype(
        (np.record, [(field.name, "f8" if field.kind is float else "i8") for field in fields])
    )


CLOCK = record_type(RUN)
# Rows that the sweeps take, as separate arrays.
SweptBodies = named_tuple_of("SweptBodies", tuple(field for field in BODY if field.swept))
SweptContacts = named_tuple_of("SweptContacts", tuple(field for field in CONTACT if field.swept))
swept_bodies, swept_contacts = arrays_as(SweptBodies), arrays_as(SweptContacts)
bodies_view, contacts_view, events_view = (
    rows_as(BodyRows),
    rows_as(ContactRows),
    rows_as(EventRows),
)
corrections_view, jumps_view = rows_as(CorrectionRows), rows_as(JumpRows)
elements_view = rows_as(ElementRows)
driven_view, drives_view = rows_as(DrivenRows), rows_as(DriveRows)


def member_of(kind: Any) -> Callable:
    """Return a plain function (arrays, m) -> named tuple of the arrays of member m.

    The arrays have a leading axis.
    """
    members = _member_reader(len(kind._fields))

    def view(arrays, m):
        return kind(*members(arrays, m))

    return view


def _member_reader(count: int) -> Callable:
    if count == 0:
        return _no_member
    before, last = _member_reader(count - 1), count - 1

    def read(arrays, m):
        return before(arrays, m) + (arrays[last][m],)

    return read


def _no_member(arrays, m):
    return ()


@shared
def beads_of(tables):
    """Return the chain that the tables contain."""
    return RowOfBeads(
        bodies_view(tables.bodies), contacts_view(tables.contacts), tables.c, tables.h,
        events_view(tables.events), corrections_view(tables.corrections), jumps_view(tables.jumps),
        elements_view(tables.elements), driven_view(tables.driven), drives_view(tables.drives),
    )  # fmt: skip


@hot
def motion_of(row, k):
    """Return overlap, half-step rate, and relative acceleration of a contact.

    The acceleration is that of the previous step.
    """
    u, v, a = row.bodies.u, row.bodies.v, row.bodies.a
    d = overlap_of(u[k], u[k + 1], row.contacts.start[k])
    return d, v[k] - v[k + 1], a[k] - a[k + 1]


@hot
def write_changed(force, values, events, first, changed):
    """Write values to the contacts whose two forces differ."""
    for e in range(changed):
        k = events.changed[first + e]
        force[k] = values[k]


def fill_starts(table: np.ndarray, fields: tuple[Field, ...]) -> None:
    """Fill each row (the last axis but one) with its initial value, including zeros.

    Memory that has not been written to is one page of zeros, which all rows share. A store with an
    empty mask, such as that of a peak that does not rise, is slow there: 4,000 beads at rest took
    41 ns per bead and step instead of 0.43.
    """
    for row, field in enumerate(fields):
        table[..., row, :] = field.start


def rows_of(kind: Any, fields: tuple[Field, ...], count: int) -> Any:
    """Return a named tuple of arrays, each filled with its initial value."""
    table = np.empty((len(fields), count))
    fill_starts(table, fields)
    return kind(*table)


# Bytes per page. The processor compares only the address bits within a page to distinguish a store
# from a later load.
PAGE_BYTES = 4096
# Maximum number of columns at which rows follow each other without padding. Longer rows begin this
# number of bytes before the end of a page.
PACKED_COLUMNS, ROW_OFFSET = 256, 640


def pitch_of(columns: int) -> int:
    """Return the distance between the rows of a table, in columns.

    If rows begin at the same position of a page, a load from one row waits for a store to the
    other. With rows complete pages apart, 1,000 beads with flores, Hertz, and Ma-Liu contacts took
    2.1, 1.9, and 2.8 times as long per bead and step. A row can begin at 64 positions of a page.
    This position and its neighbours were within 2 % of the fastest for all three laws (AMD EPYC,
    Zen 4). The rows of 70 beads are also 640 bytes apart, in the opposite direction.
    """
    if columns <= PACKED_COLUMNS:
        return columns
    page, short_of = PAGE_BYTES // 8, ROW_OFFSET // 8
    return -(-(columns + short_of) // page) * page - short_of


def page_aligned(shapes: tuple[tuple[int, ...], ...]) -> list[np.ndarray]:
    """Return adjacent tables of zeros that start at the beginning of a page.

    Rows of complete vectors then begin at a cache line (a vector across two lines takes twice as
    long), and the rows with equal low address bits do not change from run to run.
    """
    sizes = [math.prod(shape) for shape in shapes]
    memory = np.zeros(sum(sizes) + PAGE_BYTES // 8)
    at = -memory.ctypes.data % PAGE_BYTES // 8
    tables = []
    for size, shape in zip(sizes, shapes, strict=True):
        tables.append(memory[at : at + size].reshape(shape))
        at += size
    return tables
