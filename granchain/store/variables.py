"""The variables of a result and of its file: names, axes, units and meaning, each once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from granchain.contact import laws
from granchain.contact.law import PHASES, Quantity
from granchain.errors import nearest

# Version of the file layout: a reader refuses another one.
FORMAT = "1"
# Attribute of a file that does not hold the result of one run: says what it holds.
CONTENT = "granchain_content"
ENSEMBLE = "ensemble"
STUDY_OF_RUNS = "study"

# UDUNITS, which CF conventions ask for, has no power that is not a whole number: it takes "N/m^1.5"
# for N/m times 5, and knows no "N/m^n". Such a variable is a number in SI, and its file says so:
# `units` is "1", and this attribute the unit that the number is in. So it is with the unit of a
# user's law.
IN_WORDS = "unit_in_words"
# The units of our variables, of inputs and history of the built-in laws, and of the keys of a case;
# the tests try each in UDUNITS.
READ_BY_UDUNITS = frozenset((
    "1", "m", "s", "kg", "N", "Pa", "J", "Hz", "rad", "m/s", "m/s^2", "m/s2", "m^2", "kg/m^3",
    "N/m", "N s/m", "N s/m^2", "1/s", "1/m", "1/N", "1/Pa", "s/m", "m/N",
))  # fmt: skip


class VariableEntry(NamedTuple):
    dims: tuple[str, ...]
    unit: str
    long_name: str


_OVER_SAMPLES, _RECORDED, _SHOTS, _HISTORIES = (
    ("time", "sensor_bead"),
    ("time", "sensor_contact"),
    ("snapshot_time", "bead"),
    ("snapshot_time", "contact"),
)
_LEDGER = ("energy_time",)

# Every variable of the file but the history of the contact law, in the order in which they are
# shown.
VARIABLES: dict[str, VariableEntry] = {
    "time": VariableEntry(("time",), "s", "time of the samples"),
    "sensor_bead": VariableEntry(("sensor_bead",), "1", "label of the sensor bead"),
    "sensor_force": VariableEntry(
        _OVER_SAMPLES, "N", "force of the sensor bead: mean of its two contact forces"
    ),
    "sensor_beside_force": VariableEntry(
        _OVER_SAMPLES,
        "N",
        "largest force beside a jump since the sample before; not a number where there is none",
    ),
    "sensor_beside_time": VariableEntry(_OVER_SAMPLES, "s", "time of that jump"),
    "sensor_jump_force": VariableEntry(
        ("sensor_bead",),
        "N",
        "largest force beside a jump in the first pulse; not a number where there is none",
    ),
    "sensor_jump_time": VariableEntry(("sensor_bead",), "s", "time of that jump"),
    "sensor_contact": VariableEntry(
        ("sensor_contact",), "1", "label of the recorded contact: k joins body k and k+1"
    ),
    "contact_force": VariableEntry(
        _RECORDED, "N", "force of the recorded contact, positive in repulsion"
    ),
    "contact_overlap": VariableEntry(_RECORDED, "m", "overlap of the recorded contact"),
    "bead": VariableEntry(
        ("bead",), "1", "label of the body: 0 is the striker, beads count from 1"
    ),
    "radius": VariableEntry(("bead",), "m", "radius"),
    "mass": VariableEntry(("bead",), "kg", "mass"),
    "position": VariableEntry(
        ("bead",),
        "m",
        "centre of the body at the start, before any load; that of the first body is 0",
    ),
    "final_displacement": VariableEntry(("bead",), "m", "displacement at the end, from the start"),
    "final_velocity": VariableEntry(("bead",), "m/s", "velocity at the end"),
    "contact": VariableEntry(("contact",), "1", "label of the contact: k joins body k and k+1"),
    "contact_peak_force": VariableEntry(("contact",), "N", "largest force of the contact"),
    "largest_overlap": VariableEntry(
        ("contact",), "m", "largest overlap of the contact; 0 where it never closed"
    ),
    "residual_overlap": VariableEntry(
        ("contact",), "m", "overlap at which the unloading contact opens"
    ),
    "phase": VariableEntry(("contact",), "1", "what the contact is doing at the end"),
    "contact_law": VariableEntry(("contact",), "1", "law of the contact, in a row of several"),
    "contact_radius": VariableEntry(("contact",), "m", "largest radius of the circle of contact"),
    "contact_plastic": VariableEntry(
        ("contact",), "J", "energy that the contact has lost to its dent"
    ),
    "contact_viscous": VariableEntry(
        ("contact",), "J", "energy that the contact has lost to damping"
    ),
    "contact_clamp": VariableEntry(
        ("contact",),
        "J",
        "work of the force that the clamp at zero adds to the contact; negative: damping that did "
        "not act",
    ),
    "energy_time": VariableEntry(_LEDGER, "s", "time of the energy ledger"),
    "energy_kinetic": VariableEntry(_LEDGER, "J", "kinetic energy"),
    "energy_recoverable": VariableEntry(_LEDGER, "J", "energy that the contacts can give back"),
    "energy_plastic": VariableEntry(_LEDGER, "J", "energy lost to dents"),
    "energy_viscous": VariableEntry(_LEDGER, "J", "energy lost to damping"),
    "energy_clamp": VariableEntry(
        _LEDGER,
        "J",
        "work of the forces that the clamp at zero adds; negative: damping that did not act",
    ),
    "energy_drag": VariableEntry(_LEDGER, "J", "energy lost to drag on the beads"),
    "energy_on_site": VariableEntry(_LEDGER, "J", "energy of the on-site springs, over rest"),
    "energy_on_site_damping": VariableEntry(_LEDGER, "J", "energy lost in on-site dashpots"),
    "energy_resonator_kinetic": VariableEntry(_LEDGER, "J", "kinetic energy of the resonators"),
    "energy_resonator_elastic": VariableEntry(
        _LEDGER, "J", "energy of the resonators' springs, over rest"
    ),
    "energy_resonator_damping": VariableEntry(
        _LEDGER, "J", "energy lost in the resonators' dashpots"
    ),
    "energy_external": VariableEntry(
        _LEDGER,
        "J",
        "work from outside: gravity, precompression and drives; a wall at rest does none",
    ),
    "energy_gravity": VariableEntry(_LEDGER, "J", "part of it: work of gravity"),
    "energy_precompression": VariableEntry(
        _LEDGER, "J", "part of it: work of the precompression at the free ends"
    ),
    "energy_drives": VariableEntry(_LEDGER, "J", "part of it: work of the driven ends and beads"),
    "drive": VariableEntry(("drive",), "1", "number of the drive: driven ends, then beads"),
    "drive_bead": VariableEntry(
        ("drive",),
        "1",
        "label of the driven body; that of a wall is one beyond the row",
    ),
    "drive_work": VariableEntry(
        ("energy_time", "drive"), "J", "part of it: work of each of several drives"
    ),
    "energy_residual": VariableEntry(_LEDGER, "J", "what the ledger does not account for"),
    "snapshot_time": VariableEntry(("snapshot_time",), "s", "time of the snapshots"),
    "displacement": VariableEntry(_SHOTS, "m", "displacement from the start"),
    "velocity": VariableEntry(_SHOTS, "m/s", "velocity"),
    "resonator": VariableEntry(
        ("resonator",), "1", "number of the resonator, from 1 along the chain"
    ),
    "resonator_bead": VariableEntry(("resonator",), "1", "label of the bead that it rides in"),
    "resonator_mass": VariableEntry(("resonator",), "kg", "mass of the resonator"),
    "resonator_stiffness": VariableEntry(("resonator",), "N/m", "stiffness of its spring"),
    "final_resonator_displacement": VariableEntry(
        ("resonator",), "m", "displacement of the resonator at the end, from its rest"
    ),
    "final_resonator_velocity": VariableEntry(
        ("resonator",), "m/s", "velocity of the resonator at the end"
    ),
    "resonator_displacement": VariableEntry(
        ("snapshot_time", "resonator"), "m", "displacement of the resonator from its rest"
    ),
    "resonator_velocity": VariableEntry(
        ("snapshot_time", "resonator"), "m/s", "velocity of the resonator"
    ),
    "snapshot_largest_overlap": VariableEntry(
        _HISTORIES, "m", "largest overlap of the contact until then; 0 where it had not closed"
    ),
    "snapshot_residual_overlap": VariableEntry(
        _HISTORIES, "m", "overlap at which the unloading contact opens"
    ),
    "snapshot_phase": VariableEntry(_HISTORIES, "1", "what the contact is doing"),
}
# The axis in CF conventions, 4: along time, and along the row.
AXES = {"time": "T", "energy_time": "T", "snapshot_time": "T", "position": "X"}

_TURN = ("time",)

# The variables that the file of a mechanism has beside time and ledger, or has with other axes.
VARIABLES_OF_MECHANISM: dict[str, VariableEntry] = {
    "crank_angle": VariableEntry(
        _TURN, "rad", "angle by which the crank has turned since the start"
    ),
    "slider_position": VariableEntry(
        _TURN,
        "m",
        "distance of the slider, or of the centre of its slot's arc, from the shaft, positive "
        "outward",
    ),
    "slider_velocity": VariableEntry(_TURN, "m/s", "velocity of the slider"),
    "slider_acceleration": VariableEntry(_TURN, "m/s2", "acceleration of the slider"),
    "ideal_acceleration": VariableEntry(_TURN, "m/s2", "acceleration of the slider without play"),
    "joint_x": VariableEntry(
        _TURN,
        "m",
        "along the slider's line: the journal from the bearing's centre, or the pin from the "
        "slot's centre line",
    ),
    "joint_y": VariableEntry(_TURN, "m", "across it"),
    "penetration": VariableEntry(
        _TURN, "m", "largest overlap of the joint's surfaces; 0 where they are apart"
    ),
    "contact_force": VariableEntry(
        _TURN, "N", "normal force in the joint: the sum of the surfaces'"
    ),
    "energy_friction": VariableEntry(_LEDGER, "J", "energy lost to friction"),
}


def variable_table(names: Iterable[str]) -> dict[str, VariableEntry]:
    """The variables that a file may have that has these: a mechanism's has the angle of its
    crank."""
    return VARIABLES | VARIABLES_OF_MECHANISM if "crank_angle" in names else VARIABLES


LABELS = ("sensor_bead", "sensor_contact", "bead", "contact", "resonator", "resonator_bead",
          "drive", "drive_bead")  # fmt: skip
# Places in the list of what a contact can be doing.
PHASE = ("phase", "snapshot_phase")
# Whole numbers that stand for words.
WORDS = (*PHASE, "contact_law")
# Of most samples, and of some pulses, there is no message.
SPARSE = ("sensor_beside_force", "sensor_beside_time", "sensor_jump_force", "sensor_jump_time")

# Keys of a case that give the variables along a dimension; the first that fits.
_ASKED_BY = {
    "sensor_contact": "name the contacts: `contacts = [...]` under [sensors]",
    "sensor_bead": "name the beads: `beads = [...]` under [sensors]",
    "time": "name the beads: `beads = [...]` under [sensors]",
    "energy_time": "keep the ledger: `ledger = true` under [energy]",
    "snapshot_time": "set `interval` under [snapshots]",
}
# Of the ledger, though along another dimension.
LOSSES = ("contact_plastic", "contact_viscous", "contact_clamp")


def unit_attributes(unit: str) -> dict[str, str]:
    """The attributes of a file that say a unit."""
    if not unit:
        return {}
    return {"units": unit} if unit in READ_BY_UDUNITS else {"units": "1", IN_WORDS: unit}


def unit_of_attributes(attributes: Mapping[str, object]) -> str:
    """The unit that some attributes say, empty where they say none."""
    return str(attributes.get(IN_WORDS, attributes.get("units", "")))


@dataclass(frozen=True)
class Variable:
    """One array with its axes and its meaning.

    Parameters
    ----------
    dims : tuple of str
        Name of each axis; the variable of that name holds its labels.
    data : numpy.ndarray
        Values, read-only.
    unit : str
        SI unit; "1" for a pure number.
    long_name : str
        The meaning in words.
    """

    dims: tuple[str, ...]
    data: np.ndarray
    unit: str
    long_name: str

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""
        return self.data.shape

    @property
    def is_text(self) -> bool:
        """Whether the values are texts."""
        return self.data.dtype.kind == "O"

    def equals(self, other: Variable) -> bool:
        """Whether another one holds the same bits under the same axes and meaning."""
        mine, theirs = ((v.dims, v.shape, v.data.dtype, v.unit, v.long_name) for v in (self, other))
        return mine == theirs and self.data.tobytes() == other.data.tobytes()


# Variables whose values are sums of flags, as the CF conventions, 3.5, have them.
FLAGS: dict[str, dict[str, Any]] = {
    "missing": {
        "flag_masks": np.array([1, 2, 4, 8]),
        "flag_meanings": "not_arrived cut merged wall",
    }
}


def attributes_in_file(name: str, variable: Variable, law: str = "") -> dict[str, Any]:
    """What a file says of the variable of this name; a text, and a key of the case, have no
    unit. `law` names the contact law, or several with commas between."""
    axis = {"axis": AXES[name]} if name in AXES else {}
    about = {"long_name": variable.long_name} | unit_attributes(variable.unit)
    return about | axis | FLAGS.get(name, {}) | _about_phases(name, variable, law)


def _about_phases(name: str, variable: Variable, law: str) -> dict[str, Any]:
    """Flags as the CF conventions, 3.5, have them, and which of them cannot occur."""
    if name == "contact_law":
        names = law.split(", ")
        numbers = np.arange(len(names)).astype(variable.data.dtype)
        return {"flag_values": numbers, "flag_meanings": " ".join(names)}
    if name not in PHASE:
        return {}
    numbers = np.arange(len(PHASES)).astype(variable.data.dtype)
    known, lines = laws(), []
    for one in law.split(", "):
        # the law of a file need not be installed
        absent = [phase for phase in PHASES if one in known and phase not in known[one].phases]
        lines += [f"under {one} cannot occur: {', '.join(absent)}"] if absent else []
    comment = {"comment": "; ".join(lines)} if lines else {}
    return {"flag_values": numbers, "flag_meanings": " ".join(PHASES)} | comment


class Unread(NamedTuple):
    """What a file states about a variable that was not read."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    unit: str
    long_name: str


# A history quantity of these names could not be reached as an attribute.
_RESERVED = frozenset(
    {
        "case",
        "data_sha256",
        "equals",
        "law",
        "messages",
        "provenance",
        "save",
        "sealed",
        "status",
        "time_step",
        "title",
        "to_xarray",
        "variables",
    }
)


def entries_of(data: Mapping[str, Any], history: Sequence[Quantity]) -> dict[str, VariableEntry]:
    """Axes and meaning of each variable of `data`, in the order in which they are shown."""
    table = variable_table(data)
    laws = {
        q.name: VariableEntry(("contact",), q.unit or "1", q.meaning or q.name.replace("_", " "))
        for q in history
        # which every result has, whatever its law remembers
        if q.name != "residual_overlap"
    }
    for name in laws:
        if not name.isidentifier() or name.startswith("_") or name in table or name in _RESERVED:
            raise ValueError(f"history: {name!r} cannot be the name of a variable")
    unknown = sorted(set(data) - set(table) - set(laws))
    if unknown:
        raise ValueError(f"there is no variable {', '.join(map(repr, unknown))} in an output file")
    return {name: entry for name, entry in table.items() if name in data} | {
        name: laws[name] for name in sorted(laws)
    }


def check_axes(dims: Mapping[str, tuple[str, ...]], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse variables whose axes are missing or have another length."""
    length_of = {name: shape[0] for name, shape in shapes.items() if shape}.get
    for name, axes in dims.items():
        expected = tuple(map(length_of, axes))
        if shapes[name] != expected:
            raise ValueError(
                f"{name} has the shape {shapes[name]}, its axes {', '.join(axes)} have {expected}"
            )


# Kinds of values: of labels and phases, and of everything else.
_INTEGER, _REAL = np.dtype("<i8"), np.dtype("<f8")


def holds_nan(values: np.ndarray) -> bool:
    """Whether one of some values is not a number: the smallest is then none either."""
    return values.size > 0 and math.isnan(np.minimum.reduce(values, axis=None))


def as_stored(name: str, values: Any) -> np.ndarray:
    """Values as the file holds them: labels and phases whole numbers, everything else f8, in C
    order; read-only."""
    kind = _INTEGER if name in (*LABELS, *WORDS) else _REAL
    if isinstance(values, np.ndarray) and values.dtype is kind and values.flags.c_contiguous:
        data = values.view()
    else:
        try:
            data = np.asarray(values).astype(kind, order="C", casting="safe", copy=False).view()
        except TypeError as error:
            raise ValueError(f"{name}: {error}") from error
    data.flags.writeable = False
    return data


def what_to_ask_for(name: str, variables: Mapping[str, Variable]) -> str:
    """Why a result has nothing of this name, and the keys of a case that give it."""
    if name in VARIABLES:
        dims = _LEDGER if name in LOSSES else VARIABLES[name].dims
        if dims == _HISTORIES:
            return (
                f"this result has no {name}; to get it, set `interval` and `history = true` under "
                "[snapshots] in the case, and run it again"
            )
        for axis, advice in _ASKED_BY.items():
            if axis in dims:
                return (
                    f"this result has no {name}; to get it, {advice} in the case, and run it again"
                )
        return f"this result has no {name}"
    if name in VARIABLES_OF_MECHANISM:
        return f"this result has no {name}: it is not that of a mechanism"
    near = nearest(name, [*variables, *VARIABLES, *_RESERVED])
    return f"a result has no {name}" + (
        f"; did you mean {near}?" if near else f"; this one has {', '.join(variables)}"
    )
