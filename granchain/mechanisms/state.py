"""State of a mechanism's run, declared like that of a chain (granchain.engine.fields)."""

from __future__ import annotations

import numpy as np

from granchain.engine.fields import Field, named_tuple_of, record_type

COORDINATE = (
    Field("q", "coordinate", "coordinate [m] or [rad]"),
    Field("v", "coordinate", "velocity at the half step"),
    Field("a", "coordinate", "acceleration of the step before"),
    Field(
        "inverse_mass",
        "coordinate",
        "[1/kg] or [1/(kg m2)]; 0 where there is no such coordinate",
    ),
)

SURFACE = (
    Field("overlap", "surface", "of the last step [m]"),
    Field("rate", "surface", "of the last step [m/s]"),
    Field("force", "surface", "that has kicked at the last step [N]"),
    Field("recorded", "surface", "force of the last step, as recorded [N]"),
    Field("pending", "surface", "1 where an event has set the force of this step", 0.0),
    Field(
        "friction",
        "surface",
        "of the last step, as a fraction of the force, with the sign of the slip",
    ),
    Field("elastic", "surface", "elastic part of the force [N]"),
    Field("clamp", "surface", "force that the no-tension cutoff adds [N]"),
    Field("peak", "surface", "largest force [N]"),
    Field("largest_overlap", "surface", "[m]", -np.inf),
    Field("lost", "surface", "plastic loss of indentation that the contact has forgotten [J]"),
    Field("limit", "surface", "overlap at which the run stops [m]", np.inf),
)

RUN_FIELDS = (
    Field("dt", "run", "time step [s]"),
    Field("allowed_step", "run", "step that the states of the samples allow [s]", np.inf),
    Field("viscous", "run", "work of the viscous parts of the forces [J]"),
    Field("clamping", "run", "work of the clamps [J]"),
    Field("friction", "run", "work lost to friction [J]"),
    Field("external", "run", "work of the crank [J]"),
    Field("n_steps", "run", "steps to the end", kind=int),
    Field("stride", "run", "steps from sample to sample", kind=int),
    Field("energy_stride", "run", "steps between entries of the energy balance", kind=int),
    Field("step", "run", "steps done", kind=int),
    Field("sample", "run", "samples taken", kind=int),
    Field("entry", "run", "entries of the energy balance", kind=int),
    Field("clamped", "run", "contact-steps in which a clamp acted", kind=int),
    Field("where", "run", "surface of a failure", kind=int),
)

SAMPLE_FIELDS = (
    Field("step", "sample", "steps done"),
    Field("slider_position", "sample", "[m]"),
    Field("slider_velocity", "sample", "[m/s]"),
    Field("slider_acceleration", "sample", "[m/s2]"),
    Field("joint_x", "sample", "one centre of the joint, seen from the other [m]"),
    Field("joint_y", "sample", "[m]"),
    Field("penetration", "sample", "largest overlap of the surfaces, 0 where all are open [m]"),
    Field("contact_force", "sample", "sum of the surfaces' forces [N]"),
)
ENTRY = (
    Field("step", "entry", "steps done"),
    Field("kinetic", "entry", "[J]"),
    Field("recoverable", "entry", "of the contacts [J]"),
    Field("plastic", "entry", "dissipated plastically [J]"),
    Field("viscous", "entry", "taken by damping [J]"),
    Field("clamp", "entry", "taken by the clamp at zero force [J]"),
    Field("friction", "entry", "taken by friction [J]"),
    Field("external", "entry", "work of the crank [J]"),
)

Coordinates = named_tuple_of("Coordinates", COORDINATE, __name__)
Surfaces = named_tuple_of("Surfaces", SURFACE, __name__)
SampleRows = named_tuple_of("SampleRows", SAMPLE_FIELDS, __name__)
Entries = named_tuple_of("Entries", ENTRY, __name__)

MECHANISM_CLOCK = record_type(RUN_FIELDS)
