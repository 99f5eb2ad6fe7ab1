"""Run a mechanism: case, dimensions, contacts, time step, loop, result."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import numpy as np

from granchain.case import check_case
from granchain.contact.model import Functions
from granchain.engine.contact_step import features_of
from granchain.engine.fields import Field, named_tuple_of, record_type, rows_of
from granchain.engine.recording import Recording
from granchain.engine.setup import Contacts, record_of
from granchain.engine.timestep import TimeStep
from granchain.errors import RunError
from granchain.jit.compile import compiling, frozen
from granchain.mechanisms.case import MECHANISM_ENTRIES, MechanismCase, SliderCrankCase
from granchain.mechanisms.linkages import SCOTCH_YOKE, SLIDER_CRANK, ideal
from granchain.mechanisms.loop import mechanism_loop
from granchain.mechanisms.setup import (
    contacts_of_joint,
    dimensions_of,
    step_of_mechanism,
)
from granchain.simulation import about_allowed_step, about_laws, result_and_problem
from granchain.status import Message, Status
from granchain.store import Result

# Steps between two checks for a signal: about a hundredth of a second.
STEPS_OF_A_BLOCK = 2**16

# --------------------------------------------------------------------------------------------------
# State of a run, declared like that of a chain (granchain.engine.fields)

COORDINATE = (
    Field("q", "coordinate", "coordinate [m] or [rad]"),
    Field("v", "coordinate", "velocity at the half step"),
    Field("a", "coordinate", "acceleration at the previous step"),
    Field(
        "inverse_mass",
        "coordinate",
        "inverse of the mass [1/kg] or [1/(kg m2)]; 0 without this coordinate",
    ),
)

SURFACE = (
    Field("overlap", "surface", "overlap at the last step [m]"),
    Field("rate", "surface", "overlap rate at the last step [m/s]"),
    Field("force", "surface", "force of the kick at the last step [N]"),
    Field("recorded", "surface", "recorded force at the last step [N]"),
    Field("pending", "surface", "1 if an event has set the force of this step", 0.0),
    Field(
        "friction",
        "surface",
        "friction at the last step, as a fraction of the force, with the sign of the slip",
    ),
    Field("elastic", "surface", "elastic part of the force [N]"),
    Field("clamp", "surface", "force that the no-tension cutoff adds [N]"),
    Field("peak", "surface", "largest force [N]"),
    Field("largest_overlap", "surface", "largest overlap [m]", -np.inf),
    Field(
        "lost", "surface", "plastic energy of indentations that the contact has lost by opening [J]"
    ),
    Field("limit", "surface", "overlap at which the run stops [m]", np.inf),
)

RUN_FIELDS = (
    Field("dt", "run", "time step [s]"),
    Field("allowed_step", "run", "smallest step that the states of the samples allow [s]", np.inf),
    Field("viscous", "run", "work of the viscous forces [J]"),
    Field("clamping", "run", "work of the clamps [J]"),
    Field("friction", "run", "work lost to friction [J]"),
    Field("external", "run", "work of the crank [J]"),
    Field("n_steps", "run", "number of steps to the end", kind=int),
    Field("stride", "run", "number of steps between samples", kind=int),
    Field(
        "energy_stride", "run", "number of steps between entries of the energy balance", kind=int
    ),
    Field("step", "run", "number of completed steps", kind=int),
    Field("sample", "run", "number of recorded samples", kind=int),
    Field("entry", "run", "number of recorded entries of the energy balance", kind=int),
    Field("clamped", "run", "number of contact-steps in which a clamp acted", kind=int),
    Field("where", "run", "index of the surface of a failure", kind=int),
)

SAMPLE_FIELDS = (
    Field("step", "sample", "number of completed steps"),
    Field("slider_position", "sample", "position of the slider [m]"),
    Field("slider_velocity", "sample", "velocity of the slider [m/s]"),
    Field("slider_acceleration", "sample", "acceleration of the slider [m/s2]"),
    Field(
        "joint_x",
        "sample",
        "position of one centre of the joint relative to the other, along the slider [m]",
    ),
    Field("joint_y", "sample", "the same position, perpendicular to the line of the slider [m]"),
    Field("penetration", "sample", "largest overlap of the surfaces; 0 if all are open [m]"),
    Field("contact_force", "sample", "sum of the forces of the surfaces [N]"),
)
ENTRY = (
    Field("step", "entry", "number of completed steps"),
    Field("kinetic", "entry", "kinetic energy [J]"),
    Field("recoverable", "entry", "recoverable energy of the contacts [J]"),
    Field("plastic", "entry", "energy lost to residual indentation [J]"),
    Field("viscous", "entry", "energy lost to damping [J]"),
    Field("clamp", "entry", "work of the clamp [J]"),
    Field("friction", "entry", "energy lost to friction [J]"),
    Field("external", "entry", "work of the crank [J]"),
)

Coordinates = named_tuple_of("Coordinates", COORDINATE, __name__)
Surfaces = named_tuple_of("Surfaces", SURFACE, __name__)
SampleRows = named_tuple_of("SampleRows", SAMPLE_FIELDS, __name__)
Entries = named_tuple_of("Entries", ENTRY, __name__)

MECHANISM_CLOCK = record_type(RUN_FIELDS)


# --------------------------------------------------------------------------------------------------
# The run


class Machine:
    """All data that change during the run of a mechanism, and the call that advances it.

    Parameters
    ----------
    case : MechanismCase
    contacts : Contacts
        Contacts of the joint.
    step : TimeStep

    Attributes
    ----------
    coordinates, surfaces, samples, entries : named tuple of arrays
        See the declarations above.
    clock : record
        Scalars of the run.
    """

    def __init__(self, case: MechanismCase, contacts: Contacts, step: TimeStep):
        self.model, self.time_step = contacts.model, step
        self.dimensions = dimensions_of(case)
        self.linkage = SLIDER_CRANK if isinstance(case, SliderCrankCase) else SCOTCH_YOKE
        stride = step.stride(case.record.interval)
        energy_stride = step.stride(case.energy.interval or case.end / MECHANISM_ENTRIES)
        begin = {
            "dt": step.value,
            "n_steps": step.n_steps,
            "stride": stride,
            "energy_stride": energy_stride,
        }
        clock = tuple(begin.get(field.name, field.start) for field in RUN_FIELDS)
        self.clock = np.array([clock], MECHANISM_CLOCK)[0]
        self.coordinates = rows_of(Coordinates, COORDINATE, 2)
        self.surfaces = rows_of(Surfaces, SURFACE, contacts.c.shape[1])
        # Recorded at every stride-th step and at the last one.
        samples, entries = (-(-step.n_steps // every) + 1 for every in (stride, energy_stride))
        self.samples = rows_of(SampleRows, SAMPLE_FIELDS, samples)
        self.entries = rows_of(Entries, ENTRY, entries)
        self.c, self.h = np.ascontiguousarray(contacts.c), np.ascontiguousarray(contacts.history)
        self.surfaces.limit[:] = contacts.limits
        # The motion without clearance, plus the initial differences of the case.
        m, coordinates = self.dimensions, self.coordinates
        start = ideal(m.start, m)
        coordinates.q[0] = start.position + case.start.slider_offset
        coordinates.v[0] = start.velocity + case.start.slider_velocity
        coordinates.inverse_mass[0] = 1.0 / m.slider_mass
        if m.rod_inertia:
            coordinates.q[1], coordinates.v[1] = start.rod_angle, start.rod_speed
            coordinates.inverse_mass[1] = 1.0 / m.rod_inertia
        functions = Functions(*frozen(*self.model.functions))
        self._loop = mechanism_loop(functions, features_of(self.model, Recording()), self.linkage)

    @property
    def step(self) -> int:
        """Number of completed steps."""
        return int(self.clock.step)

    def advance(self, count: int) -> Status:
        """Advance by a number of steps."""
        stop = min(self.step + count, self.time_step.n_steps + 1)
        return Status(
            self._loop(
                stop,
                self.dimensions,
                self.coordinates,
                self.surfaces,
                self.c,
                self.h,
                self.clock,
                self.samples,
                self.entries,
            )
        )


def run_mechanism(case: MechanismCase) -> Result:
    """Advance a mechanism to its end time.

    Parameters
    ----------
    case : MechanismCase
        Case to run (granchain.case.load_mechanism).

    Returns
    -------
    Result
        Result in memory; nothing is written.

    Raises
    ------
    CaseError, LawError
        If the case cannot be run; the message describes the reason.
    RunError
        If the run failed: unstable, not finite, outside the law, or with a large balance error.
        `.result` contains the data up to the failure.
    """
    check_case(case, MechanismCase)
    started = datetime.now(UTC).isoformat(timespec="seconds")
    clock = time.perf_counter() - compiling.seconds
    # Overflow is reported later as a non-finite result.
    with np.errstate(all="ignore"):
        contacts = contacts_of_joint(case)
        machine = Machine(case, contacts, step_of_mechanism(case, contacts))
        status = Status.RUNNING
        while status is Status.RUNNING:
            status = machine.advance(STEPS_OF_A_BLOCK)
    wall_time = time.perf_counter() - compiling.seconds - clock
    law = record_of(contacts.model, contacts.c)
    result, problem = result_and_problem(
        status,
        variables_of_mechanism(machine),
        case=case,
        law=case.contact.law,
        step=machine.time_step,
        done=machine.step,
        location=f"surface {int(machine.clock.where)} of the joint",
        messages=messages_of_mechanism(machine, case),
        provenance={
            "started": started,
            "wall_time": wall_time,
            "law_sha256": law.sha256,
            "law_json": law.text,
        },
    )
    if problem:
        raise RunError(problem, result)
    return result


def variables_of_mechanism(machine: Machine) -> dict[str, Any]:
    """Return the variables of the output file by name."""
    m, dt = machine.dimensions, machine.time_step.value
    samples, entries = int(machine.clock.sample), int(machine.clock.entry)
    recorded = {name: values[:samples].copy() for name, values in machine.samples._asdict().items()}
    time = recorded.pop("step") * dt
    ledger = {name: values[:entries].copy() for name, values in machine.entries._asdict().items()}
    energy_time = ledger.pop("step") * dt
    with np.errstate(invalid="ignore"):  # A failed run may have values that are not finite.
        total = np.column_stack(
            [values for name, values in ledger.items() if name != "external"]
        ).sum(axis=1)
        at_start = total[0] - ledger["external"][0] if entries else 0.0
        residual = total - ledger["external"] - at_start
    return {
        "time": time,
        "crank_angle": m.speed * time,
        **recorded,
        "ideal_acceleration": ideal(m.start + m.speed * time, m).acceleration,
        "energy_time": energy_time,
        **{f"energy_{name}": values for name, values in ledger.items()},
        "energy_residual": residual,
    }


def messages_of_mechanism(machine: Machine, case: MechanismCase) -> list[Message]:
    """Return the messages of the run for the user."""
    as_printed = bool(vars(case.law_inputs()).get("as_printed", False))
    step = machine.time_step
    messages = [
        Message(f"time step {step.value:.6g} s ({step.reason})"),
        *about_laws([(case.contact.law, as_printed)]),
    ]
    if machine.clock.clamped:
        messages.append(
            Message(
                f"the no-tension cutoff was active in {int(machine.clock.clamped)} contact-steps"
            )
        )
    return messages + about_allowed_step(machine.clock.allowed_step, step, "joint")
