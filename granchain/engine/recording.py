"""Records of a run: selected quantities, steps, positions, and arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from granchain.chain import Masses
from granchain.engine.fields import Field, named_tuple_of
from granchain.engine.timestep import TimeStep

# Number of entries of the energy balance of a run, if no interval is given.
ENERGY_ENTRIES = 200
# Energies of an entry, in the order of `account`.
ENERGY = (
    Field("kinetic", "entry", "kinetic energy of the bodies and the attached masses [J]"),
    Field("recoverable", "entry", "recoverable energy of the contacts [J]"),
    Field("plastic", "entry", "energy lost to residual indentation [J]"),
    Field("viscous", "entry", "energy lost to damping [J]"),
    Field("clamp", "entry", "work of the clamp [J]"),
    Field("elements", "entry", "energy of the springs of elements [J]"),
    Field("elements_viscous", "entry", "energy lost in the dashpots of elements [J]"),
    Field("external", "entry", "external work, the sum of the next three [J]"),
    Field("gravity", "entry", "work of gravity [J]"),
    Field("precompression", "entry", "work of the precompression [J]"),
    Field("drives", "entry", "work of the drives [J]"),
    Field("radiated", "entry", "energy taken by compliant ends, a part of elements_viscous [J]"),
)
Energies = named_tuple_of("Energies", ENERGY, __name__)


# Each record, with the lengths of its axes by name: see `Recording.sizes`.
RECORD = (
    Field(
        "sensor_force",
        "sample",
        "mean force of a bead's two contacts [N]",
        axes=("samples", "sensors"),
    ),
    Field(
        "contact_force",
        "sample",
        "force of the recorded contacts [N]",
        axes=("samples", "recorded"),
    ),
    Field(
        "contact_overlap",
        "sample",
        "overlap of the recorded contacts [m]",
        axes=("samples", "recorded"),
    ),
    Field(
        "jump_force",
        "sample",
        "largest force of a sensor next to a jump since the previous sample [N]",
        np.nan,
        axes=("jumps", "sensors"),
    ),
    Field("jump_time", "sample", "time of this jump [s]", np.nan, axes=("jumps", "sensors")),
    Field(
        "displacement", "snapshot", "displacement of every body [m]", axes=("snapshots", "bodies")
    ),
    Field(
        "velocity",
        "snapshot",
        "velocity of every body at the step [m/s]",
        axes=("snapshots", "bodies"),
    ),
    Field(
        "snapshot_largest_overlap",
        "snapshot",
        "largest overlap of every contact up to this time [m]",
        axes=("histories", "contacts"),
    ),
    Field(
        "snapshot_overlap",
        "snapshot",
        "overlap of every contact [m]",
        axes=("histories", "contacts"),
    ),
    Field(
        "snapshot_rate",
        "snapshot",
        "overlap rate of every contact [m/s]",
        axes=("histories", "contacts"),
    ),
    Field(
        "snapshot_history",
        "snapshot",
        "history of every contact, with a row for each quantity",
        axes=("histories", "quantities", "contacts"),
    ),
    Field("energies", "entry", "energies in the order of ENERGY [J]", axes=("entries", "energies")),
    Field(
        "drive_work",
        "entry",
        "work of each drive, if there are several [J]",
        axes=("entries", "drives"),
    ),
    Field(
        "attached_displacement",
        "snapshot",
        "displacement of every attached mass [m]",
        axes=("snapshots", "attached"),
    ),
    Field(
        "attached_velocity",
        "snapshot",
        "velocity of every attached mass at the step [m/s]",
        axes=("snapshots", "attached"),
    ),
)
# Positions and steps of the records. A run does not change them.
PLAN = (
    Field(
        "sensor_left",
        "sample",
        "index of the left contact of each sensor bead",
        kind=int,
        axes=("sensors",),
    ),
    Field(
        "sensor_right",
        "sample",
        "index of the right contact of each sensor bead",
        kind=int,
        axes=("sensors",),
    ),
    Field("recorded", "sample", "indices of the recorded contacts", kind=int, axes=("recorded",)),
    Field("snapshot_at", "snapshot", "steps of the snapshots", kind=int, axes=("snapshots",)),
    Field(
        "energy_at",
        "entry",
        "steps of the entries of the energy balance",
        kind=int,
        axes=("entries",),
    ),
)
Records = named_tuple_of("Records", (*RECORD, *PLAN), __name__)
# Axes whose lengths may differ between the runs of a stack.
LENGTHS = ("samples", "jumps", "snapshots", "histories", "entries")


@dataclass(frozen=True)
class Recording:
    """Selection of the quantities that a run records.

    Parameters
    ----------
    sensor_beads : tuple of int
        Labels of the beads whose mean contact force is sampled.
    sensor_contacts : tuple of int
        Labels of the contacts whose force and overlap are sampled.
    interval : float
        Interval of the samples [s].
    snapshot_interval : float, optional
        Interval of the displacements and velocities of all bodies [s].
    ledger : bool
        Whether the energy balance is recorded.
    energy_interval : float, optional
        Interval of the energy balance [s].
    snapshot_history : bool
        Whether snapshots include overlap, rate, and history of every contact.
    final : bool
        Whether the state from which another run can continue is stored before the last step.
    """

    sensor_beads: tuple[int, ...] = ()
    sensor_contacts: tuple[int, ...] = ()
    interval: float = 2e-7
    snapshot_interval: float | None = None
    ledger: bool = True
    energy_interval: float | None = None
    snapshot_history: bool = False
    final: bool = False

    def plan(self, chain: Masses, time_step: TimeStep) -> dict[str, np.ndarray]:
        """Return an array for each field of PLAN."""
        # The two contacts of a bead have the index of its body, counted from 0, and the next index.
        beads = np.array(self.sensor_beads, dtype=np.int64) - chain.first_label
        balance = self.energy_interval or time_step.n_steps * time_step.value / ENERGY_ENTRIES
        return {
            "sensor_left": beads,
            "sensor_right": beads + 1,
            "recorded": np.array(self.sensor_contacts, dtype=np.int64) - (chain.first_label - 1),
            "snapshot_at": instants(self.snapshot_interval, time_step),
            "energy_at": instants(balance if self.ledger else None, time_step),
        }

    def sizes(
        self, chain: Masses, time_step: TimeStep, plan: dict[str, np.ndarray], quantities: int,
        leaps: bool,
    ) -> dict[str, int]:  # fmt: skip
        """Return the length of each axis of the records.

        `quantities` is the number of history quantities of the law, and `leaps` is true if its
        force jumps.
        """
        sampled = bool(self.sensor_beads or self.sensor_contacts)
        samples = sampled * (time_step.n_steps // time_step.stride(self.interval) + 1)
        snapshots, drives = plan["snapshot_at"].size, len(chain.drives)
        return {
            "samples": samples,
            "jumps": samples * leaps,
            "snapshots": snapshots,
            "histories": snapshots * self.snapshot_history,
            "entries": plan["energy_at"].size,
            "sensors": len(self.sensor_beads),
            "recorded": len(self.sensor_contacts),
            "bodies": chain.n_bodies,
            "contacts": chain.n_bodies + 1,
            "quantities": quantities,
            "energies": len(ENERGY),
            "drives": drives if drives > 1 else 0,
            "attached": chain.n_attached + chain.n_end_masses,
        }


def instants(interval: float | None, time_step: TimeStep) -> np.ndarray:
    """Return the steps of a record: one per interval, and the last step."""
    if interval is None:
        return np.zeros(0, dtype=np.int64)
    n_steps = time_step.n_steps
    every = max(1, round(min(interval / time_step.value, n_steps)))
    steps = np.arange(0, n_steps + every, every, dtype=np.int64)
    steps[-1] = n_steps
    return steps
