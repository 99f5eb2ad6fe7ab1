"""Run a mechanism: case, dimensions, contacts, time step, loop, result."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import numpy as np

from granchain.case import check_case
from granchain.contact.model import Functions
from granchain.engine.contact_step import features_of
from granchain.engine.fields import rows_of
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
from granchain.mechanisms.state import (
    COORDINATE,
    ENTRY,
    MECHANISM_CLOCK,
    RUN_FIELDS,
    SAMPLE_FIELDS,
    SURFACE,
    Coordinates,
    Entries,
    SampleRows,
    Surfaces,
)
from granchain.simulation import about_allowed_step, about_laws, result_and_problem
from granchain.status import Message, Status
from granchain.store import Result

# Steps between two checks for a signal: about a hundredth of a second.
STEPS_OF_A_BLOCK = 2**16


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
        See granchain.mechanisms.state.
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
