"""State of a mechanism's run, declared like that of a chain (granchain.engine.fields)."""

from __future__ import annotations

import numpy as np

from granchain.engine.fields import Field, named_tuple_of, record_type

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
