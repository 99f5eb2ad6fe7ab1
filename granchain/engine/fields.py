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
    variable : str
        Name of the variable of the result that contains the final values of the contacts.
    """

    name: str
    of: str
    meaning: str
    start: float = 0.0
    kind: type = float
    axes: tuple[str, ...] = ()
    swept: bool = False
    variable: str = ""


BODY = (
    Field("u", "body", "displacement from the initial position [m]", swept=True),
    Field("v", "body", "velocity at the half step [m/s]", swept=True),
    Field("a", "body", "acceleration at the previous step [m/s2]", swept=True),
    Field("mass", "body", "mass [kg]"),
    Field("inverse_mass", "body", "inverse of the mass [1/kg]; 0 for walls", swept=True),
    Field("dt_over_m", "body", "time step divided by mass [s/kg]", swept=True),
    Field("loads", "body", "external force, constant and driven [N]", swept=True),
    Field("steady", "body", "constant part of the external force: weight and precompression [N]"),
    Field("weight", "body", "weight along the chain [N]"),
)

CONTACT = (
    Field(
        "start",
        "contact",
        "overlap at zero displacement [m]: 0 if the bodies touch, minus the gap, the "
        "static overlap, or -inf without a contact",
        -np.inf,
        swept=True,
    ),
    Field("force", "contact", "recorded force at the last step [N]", swept=True),
    Field("peak", "contact", "largest force [N]", swept=True, variable="contact_peak_force"),
    Field("largest_overlap", "contact", "largest overlap up to this time [m]", -np.inf, swept=True),
    Field("elastic", "contact", "elastic part of the force [N]", swept=True),
    Field("clamp", "contact", "force that the clamp adds [N]", swept=True),
    Field(
        "viscous_work",
        "contact",
        "work of the viscous force since the last entry of the energy balance [J]",
        swept=True,
    ),
    Field(
        "clamp_work",
        "contact",
        "work of the clamp since the last entry of the energy balance [J]",
        swept=True,
    ),
    Field(
        "lost",
        "contact",
        "energy of residual indentations that the contact has lost by opening [J]",
    ),
    Field("limit", "contact", "overlap at which the run stops [m]", np.inf),
    Field("kicked", "contact", "force of the kick, for a contact with two forces [N]"),
    Field("recorded", "contact", "recorded force, for a contact with two forces [N]"),
    Field(
        "endwise",
        "contact",
        "weight of the stiffness in the bound on the step: 2 between bodies, 1 at a "
        "wall, 0 without a contact",
    ),
    Field(
        "viscous_total", "contact", "viscous work up to the last entry of the energy balance [J]"
    ),
    Field("viscous_rest", "contact", "rounding error of viscous_total [J]"),
    Field(
        "clamp_total", "contact", "work of the clamp up to the last entry of the energy balance [J]"
    ),
    Field("clamp_rest", "contact", "rounding error of clamp_total [J]"),
)

# Lists of contacts within a step, as indices.
EVENT = (
    Field(
        "changed",
        "event",
        "contacts whose two forces differ; see contact_step.py",
        kind=int,
    ),
    Field(
        "active",
        "event",
        "contacts that had an event at the previous step; a contact under load has one "
        "at each step",
        kind=int,
    ),
    Field(
        "listed",
        "contact",
        "1 if the contact is in the list of active contacts",
        kind=int,
    ),
)

# For laws whose force jumps: records at a jump, and at the next step, are corrected.
CORRECTION = (
    Field(
        "excess",
        "contact",
        "force of the kick minus recorded force at the previous step [N]",
    ),
    Field(
        "past",
        "contact",
        "recorded force at the previous step, next to a contact whose force jumps [N]",
    ),
    Field("kick", "contact", "force of the kick, if the recorded force is corrected [N]"),
    Field("shift", "body", "correction of the predicted velocity [m/s]"),
)

# Springs and dashpots between bodies and the ground or attached masses. The elements of compliant
# ends follow; their masses are the wall, and their springs are between wall and ground.
ELEMENT = (
    Field("u", "element", "displacement of the attached mass from rest [m]"),
    Field("v", "element", "velocity of the attached mass at the half step [m/s]"),
    Field("a", "element", "acceleration of the attached mass at the previous step [m/s2]"),
    Field("body", "element", "index of the body or wall, in ascending order", -1.0),
    Field("mass", "element", "attached mass [kg]; 0 for the ground"),
    Field("inverse_mass", "element", "inverse of the attached mass [1/kg]; 0 for the ground"),
    Field("stiffness", "element", "stiffness of the spring [N/m]"),
    Field("damping", "element", "damping of the dashpot [kg/s]"),
    Field("load", "element", "constant force on the attached mass, or static force at an end [N]"),
    Field("share", "element", "1/(1 + dt/2 damping/attached mass)"),
    Field(
        "response",
        "element",
        "1/(1 + dt/2 sum of share times damping, over the elements of the body, divided "
        "by the mass of the body)",
    ),
)

STEP_JUMP = (
    Field("contact", "jump", "index of the contact"),
    Field("behind", "jump", "fraction of the step after the jump"),
    Field("before", "jump", "force before the jump [N]"),
    Field("after", "jump", "force after the jump [N]"),
    Field("moves", "jump", "1 if the jump is inside a contact and moves the bodies"),
    Field("growth", "jump", "jump of the growth rate of the force [N/s]"),
)

# State of the drives; positive is to the right.
DRIVEN = (
    Field("last", "drive", "displacement at the previous step [m]"),
    Field("speed", "drive", "velocity at the step [m/s]"),
    Field("force", "drive", "force at the step [N]"),
    Field("part", "drive", "fraction of a step after a jump of the speed, minus one half"),
    Field("before", "drive", "velocity before a jump of the speed [m/s]"),
    Field("given", "drive", "energy that the motion of the driven body takes [J]"),
    Field("work", "drive", "work of this drive on the chain [J]"),
    Field("rest", "drive", "rounding error of work [J]"),
)
DRIVE = (
    Field("body", "drive", "index of the driven body"),
    Field("kind", "drive", "DISPLACEMENT or FORCE"),
    Field(
        "sign",
        "drive",
        "1 if positive values of the drive point to the right, else -1",
        1.0,
    ),
    Field("damping", "drive", "damping of the elements of the driven body [kg/s]"),
    Field("first", "drive", "index of the first knot"),
    Field("after", "drive", "index of the last knot plus 1"),
)

RUN = (
    Field("dt", "run", "time step [s]"),
    Field("allowed_step", "run", "smallest step that the inspected states allow [s]", np.inf),
    Field(
        "pending",
        "run",
        "time whose losses by the last forces are not yet in the energy balance [s]",
    ),
    Field("drive_work", "run", "work of the drives on the chain [J]"),
    Field("drive_rest", "run", "rounding error of drive_work [J]"),
    Field("elements_work", "run", "energy that the dashpots of elements have taken up [J]"),
    Field("elements_rest", "run", "rounding error of elements_work [J]"),
    Field("ends_work", "run", "energy that compliant ends have taken up [J]"),
    Field("ends_rest", "run", "rounding error of ends_work [J]"),
    Field("n_steps", "run", "number of steps to the end", kind=int),
    Field(
        "earlier",
        "run",
        "number of steps of the runs that this run continues",
        kind=int,
    ),
    Field("n_bodies", "run", "number of bodies: striker and beads", kind=int),
    Field("stride", "run", "number of steps between samples", kind=int),
    Field(
        "tile",
        "run",
        "number of contacts that are swept over several steps at a time",
        kind=int,
    ),
    Field("band", "run", "maximum number of steps at a time", kind=int),
    Field("step", "run", "number of completed steps", kind=int),
    Field("front", "run", "number of contacts behind the wave front", kind=int),
    Field("sample", "run", "number of recorded samples", kind=int),
    Field("snapshot", "run", "number of recorded snapshots", kind=int),
    Field("entry", "run", "number of recorded entries of the energy balance", kind=int),
    Field("clamped", "run", "number of contact-steps in which the clamp acted", kind=int),
    Field("where", "run", "index of the body or contact of a failure", kind=int),
    Field("n_active", "run", "length of the list of active contacts", kind=int),
    Field(
        "n_jumps",
        "run",
        "number of jumps of the force in this step; 0 between two steps",
        kind=int,
    ),
    Field(
        "echoes",
        "run",
        "1 if the two forces of a contact differed at the previous step",
        kind=int,
    ),
)

# Tables of the drives, one after another.
FOLLOWED = (
    Field("knots", "run", "times of the tables of the drives [s]"),
    Field("spline", "run", "coefficients after each knot, highest power first"),
)


def named_tuple_of(kind: str, fields: tuple[Field, ...], module: str = __name__) -> Any:
    """Return a named tuple type with one value for each field, which the loop may contain.

    A saved loop that uses the type finds it in `module` when it is loaded.
    """
    made: Any = namedtuple(  # type: ignore[misc]
        kind, [field.name for field in fields], module=module
    )
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


# Tables of a state: one row per quantity, and one column per body, contact, event, jump, drive, or
# element. The loop accesses the same tables by quantity, as `RowOfBeads`, except for coefficients
# and history, which have the rows of the law.
TABLES = (
    Field("bodies", "run", "quantities of the bodies"),
    Field("contacts", "run", "quantities of the contacts"),
    Field("c", "run", "coefficients of the law for each contact"),
    Field("h", "run", "history of the law for each contact"),
    Field("events", "run", "lists of contacts within a step", kind=int),
    Field("corrections", "run", "corrections of records at jumps of the force"),
    Field("jumps", "run", "jumps of the force within a step"),
    Field("elements", "run", "quantities of the elements"),
    Field("driven", "run", "state of the drives"),
    Field("drives", "run", "drives"),
)
Tables, RowOfBeads = named_tuple_of("Tables", TABLES), named_tuple_of("RowOfBeads", TABLES)


def record_type(fields: tuple[Field, ...]) -> np.dtype:
    """Return the data type of the scalars of a run."""
    return np.dtype(
        (np.record, [(field.name, "f8" if field.kind is float else "i8") for field in fields])
    )


CLOCK = record_type(RUN)
# Rows that are passed to the sweeps as separate arrays.
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
    """Return a plain function (arrays, m) -> tuple of the first `count` arrays of member m."""
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
    """Write one of the two forces, for the kick or for the records, of each contact that has
    both."""
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
