"""Variables of a result and of its file: names, axes, units, and meaning; and their provenance."""

from __future__ import annotations

import hashlib
import json
import math
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from granchain.contact import laws
from granchain.contact.law import PHASES, Quantity
from granchain.errors import nearest

# Version of the file layout. A reader refuses any other.
FORMAT = "1"
# Attribute of a file that names its content: a class of answers, a study, or a checkpoint.
CONTENT = "granchain_content"
ENSEMBLE = "Ensemble"
STUDY = "Study"
CHECKPOINT = "Checkpoint"

# UDUNITS, which the CF conventions require, has integer powers only: it reads "N/m^1.5" as N/m
# times 5 and rejects "N/m^n". For such a unit, and for a unit of a user's law, `units` is "1" and
# this attribute contains the unit.
IN_WORDS = "unit_in_words"
# Units of all variables, of inputs and history of the built-in laws, and of case keys. The tests
# check each one with UDUNITS.
READ_BY_UDUNITS = frozenset((
    "1", "m", "s", "kg", "N", "Pa", "J", "Hz", "rad", "m/s", "m/s^2", "m/s2", "m^2", "kg/m^3",
    "kg/m3", "N/m", "N s/m", "N s/m^2", "1/s", "1/m", "1/N", "1/Pa", "s/m", "m/N",
))  # fmt: skip


class Label(NamedTuple):
    """Axes, SI unit, and meaning of a variable.

    Attributes
    ----------
    dims : tuple of str
        Name of each axis. The variable with that name contains the labels of the axis.
    unit : str
        SI unit; "1" for a pure number, and empty for text.
    long_name : str
        Meaning of the variable.
    """

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

# Every variable of the file except the history of the contact law, in the order of tables.
VARIABLES: dict[str, Label] = {
    "time": Label(("time",), "s", "time of the samples"),
    "sensor_bead": Label(("sensor_bead",), "1", "label of the sensor bead"),
    "sensor_force": Label(
        _OVER_SAMPLES, "N", "force of the sensor bead, the mean of its two contact forces"
    ),
    "sensor_beside_force": Label(
        _OVER_SAMPLES,
        "N",
        "largest force next to a jump since the previous sample; NaN if there is no jump",
    ),
    "sensor_beside_time": Label(_OVER_SAMPLES, "s", "time of the largest force next to a jump"),
    "sensor_jump_force": Label(
        ("sensor_bead",),
        "N",
        "largest force next to a jump in the first pulse; NaN if there is no jump",
    ),
    "sensor_jump_time": Label(
        ("sensor_bead",), "s", "time of the largest force next to a jump in the first pulse"
    ),
    "sensor_contact": Label(
        ("sensor_contact",), "1", "label of the recorded contact; contact k joins bodies k and k+1"
    ),
    "contact_force": Label(
        _RECORDED, "N", "force of the recorded contact, positive in compression"
    ),
    "contact_overlap": Label(_RECORDED, "m", "overlap of the recorded contact"),
    "bead": Label(("bead",), "1", "label of the body; 0 is the striker, and beads count from 1"),
    "radius": Label(("bead",), "m", "radius"),
    "mass": Label(("bead",), "kg", "mass"),
    "position": Label(
        ("bead",),
        "m",
        "initial position of the centre of the body without load, relative to the first body",
    ),
    "final_displacement": Label(
        ("bead",), "m", "displacement at the end, from the initial position"
    ),
    "final_velocity": Label(("bead",), "m/s", "velocity at the end"),
    "contact": Label(("contact",), "1", "label of the contact; contact k joins bodies k and k+1"),
    "contact_peak_force": Label(("contact",), "N", "largest force of the contact"),
    "largest_overlap": Label(
        ("contact",), "m", "largest overlap of the contact; 0 if it never closed"
    ),
    "residual_overlap": Label(
        ("contact",), "m", "overlap at which the contact opens during unloading"
    ),
    "phase": Label(("contact",), "1", "contact state at the end"),
    "contact_law": Label(("contact",), "1", "law of the contact, in a chain with several laws"),
    "contact_radius": Label(("contact",), "m", "largest radius of the contact area"),
    "contact_plastic": Label(
        ("contact",), "J", "energy lost by the contact to residual indentation"
    ),
    "contact_viscous": Label(("contact",), "J", "energy lost by the contact to damping"),
    "contact_clamp": Label(
        ("contact",),
        "J",
        "work of the forces added by the no-tension cutoff at the contact; negative "
        "values are damping that did not occur",
    ),
    "energy_time": Label(_LEDGER, "s", "time of the energy balance"),
    "energy_kinetic": Label(_LEDGER, "J", "kinetic energy of the bodies and the attached masses"),
    "energy_recoverable": Label(_LEDGER, "J", "recoverable energy of the contacts"),
    "energy_plastic": Label(_LEDGER, "J", "energy lost to residual indentation"),
    "energy_viscous": Label(_LEDGER, "J", "energy lost to damping"),
    "energy_clamp": Label(
        _LEDGER,
        "J",
        "work of the forces added by the no-tension cutoff; negative values are damping that "
        "did not occur",
    ),
    "energy_elements": Label(
        _LEDGER, "J", "energy of the springs of linear elements relative to the rest position"
    ),
    "energy_elements_viscous": Label(
        _LEDGER, "J", "energy lost in the dashpots of linear elements"
    ),
    "energy_radiated": Label(
        _LEDGER, "J", "energy that compliant ends have taken, included in energy_elements_viscous"
    ),
    "energy_external": Label(
        _LEDGER,
        "J",
        "work of external forces: gravity, precompression, and drives; a wall at rest does no work",
    ),
    "energy_gravity": Label(_LEDGER, "J", "work of gravity, included in energy_external"),
    "energy_precompression": Label(
        _LEDGER, "J", "work of the precompression at the free ends, included in energy_external"
    ),
    "energy_drives": Label(
        _LEDGER, "J", "work of the driven ends and beads, included in energy_external"
    ),
    "drive": Label(
        ("drive",), "1", "number of the drive; driven ends come first, then driven beads"
    ),
    "drive_bead": Label(
        ("drive",),
        "1",
        "label of the driven body; a wall has the next label beyond the chain",
    ),
    "drive_work": Label(
        ("energy_time", "drive"), "J", "work of each drive, included in energy_external"
    ),
    "energy_residual": Label(_LEDGER, "J", "error of the energy balance"),
    "snapshot_time": Label(("snapshot_time",), "s", "time of the snapshots"),
    "displacement": Label(_SHOTS, "m", "displacement from the initial position"),
    "velocity": Label(_SHOTS, "m/s", "velocity"),
    "resonator": Label(
        ("resonator",), "1", "number of the resonator, along the chain; masses of ends come last"
    ),
    "resonator_bead": Label(("resonator",), "1", "label of the bead that carries the resonator"),
    "resonator_mass": Label(("resonator",), "kg", "mass of the resonator"),
    "resonator_stiffness": Label(("resonator",), "N/m", "stiffness of the spring of the resonator"),
    "final_resonator_displacement": Label(
        ("resonator",), "m", "displacement of the resonator at the end, from its rest position"
    ),
    "final_resonator_velocity": Label(
        ("resonator",), "m/s", "velocity of the resonator at the end"
    ),
    "resonator_displacement": Label(
        ("snapshot_time", "resonator"), "m", "displacement of the resonator from its rest position"
    ),
    "resonator_velocity": Label(("snapshot_time", "resonator"), "m/s", "velocity of the resonator"),
    "snapshot_largest_overlap": Label(
        _HISTORIES, "m", "largest overlap of the contact up to this time; 0 if it has not closed"
    ),
    "snapshot_residual_overlap": Label(
        _HISTORIES, "m", "overlap at which the contact opens during unloading"
    ),
    "snapshot_phase": Label(_HISTORIES, "1", "contact state"),
}
# Axis according to the CF conventions, 4: along time, and along the chain.
AXES = {"time": "T", "energy_time": "T", "snapshot_time": "T", "position": "X"}

_TURN = ("time",)

# Variables of a mechanism in addition to time and energies, or with other axes than in a chain.
VARIABLES_OF_MECHANISM: dict[str, Label] = {
    "crank_angle": Label(_TURN, "rad", "angle of rotation of the crank since the start"),
    "slider_position": Label(
        _TURN,
        "m",
        "distance from the shaft to the slider, or to the centre of the arc of its slot, "
        "positive outward",
    ),
    "slider_velocity": Label(_TURN, "m/s", "velocity of the slider"),
    "slider_acceleration": Label(_TURN, "m/s2", "acceleration of the slider"),
    "ideal_acceleration": Label(_TURN, "m/s2", "acceleration of the slider without clearance"),
    "joint_x": Label(
        _TURN,
        "m",
        "position along the line of the slider: of the journal relative to the centre of "
        "the bearing, or of the pin relative to the centre line of the slot",
    ),
    "joint_y": Label(
        _TURN, "m", "position as in joint_x, but perpendicular to the line of the slider"
    ),
    "penetration": Label(
        _TURN, "m", "largest overlap of the joint surfaces; 0 if they are separated"
    ),
    "contact_force": Label(_TURN, "N", "normal force in the joint, summed over the surfaces"),
    "energy_friction": Label(_LEDGER, "J", "energy lost to friction"),
}


def variable_table(names: Iterable[str]) -> dict[str, Label]:
    """Return the variables of the kind of file with these names: of a chain or of a mechanism."""
    return VARIABLES | VARIABLES_OF_MECHANISM if "crank_angle" in names else VARIABLES


# Prefix of the variables of attached masses, and their axis.
ATTACHED = "resonator"
LABELS = ("sensor_bead", "sensor_contact", "bead", "contact", "resonator", "resonator_bead",
          "drive", "drive_bead")  # fmt: skip
# Variables with indices in the list of contact states.
PHASE = ("phase", "snapshot_phase")
# Variables with integers that represent words.
CATEGORICAL = (*PHASE, "contact_law")
# Variables that are nan for most samples or some pulses.
SPARSE = ("sensor_beside_force", "sensor_beside_time", "sensor_jump_force", "sensor_jump_time")

# Keys of a case that record the variables along these dimensions. The first match applies.
_ASKED_BY = {
    ("sensor_contact",): "list the contacts: `contacts = [...]` under [sensors]",
    ("sensor_bead",): "list the beads: `beads = [...]` under [sensors]",
    ("time",): "list the beads: `beads = [...]` under [sensors]",
    ("energy_time",): "record the energy balance: `ledger = true` under [energy]",
    _HISTORIES: "set `interval` and `history = true` under [snapshots]",
    ("snapshot_time",): "set `interval` under [snapshots]",
}
# Variables of the energy balance along another dimension.
LOSSES = ("contact_plastic", "contact_viscous", "contact_clamp")


def unit_of_attributes(attributes: Mapping[str, object]) -> str:
    """Return the unit in attributes, or an empty string."""
    return str(attributes.get(IN_WORDS, attributes.get("units", "")))


@dataclass(frozen=True)
class Variable:
    """Array with its axes and its meaning.

    Parameters
    ----------
    dims : tuple of str
        Name of each axis. The variable of that name contains its labels.
    data : numpy.ndarray
        Values, read-only.
    unit : str
        SI unit; "1" for a pure number.
    long_name : str
        Meaning of the variable.
    """

    dims: tuple[str, ...]
    data: np.ndarray
    unit: str
    long_name: str

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""
        return self.data.shape

    def equals(self, other: Variable) -> bool:
        """Return whether another variable has the same axes, meaning, and bits."""
        mine, theirs = ((v.dims, v.shape, v.data.dtype, v.unit, v.long_name) for v in (self, other))
        if mine != theirs:
            return False
        if self.data.dtype.kind == "O":
            return bool(self.data.tolist() == other.data.tolist())
        return self.data.tobytes() == other.data.tobytes()


# Variables whose values are sums of flags (CF conventions, 3.5).
FLAGS: dict[str, dict[str, Any]] = {
    "missing": {
        "flag_masks": np.array([1, 2, 4, 8]),
        "flag_meanings": "not_arrived cut merged wall",
    }
}


# Flags of a variable of true and false values: the CF conventions, 3.5, have no other way.
NO_YES = {"flag_values": np.array([0, 1]), "flag_meanings": "no yes"}


def attributes_in_file(name: str, variable: Variable, law: str = "") -> dict[str, Any]:
    """Return the attributes of a variable in a file.

    Texts and case keys have no unit. `law` is the name of the contact law, or several names,
    separated by commas.
    """
    unit, kind, names = variable.unit, variable.data.dtype, law.split(", ")
    about: dict[str, Any] = {"long_name": variable.long_name}
    if unit:
        about |= {"units": unit} if unit in READ_BY_UDUNITS else {"units": "1", IN_WORDS: unit}
    if name in AXES:
        about["axis"] = AXES[name]
    about |= NO_YES if kind.kind == "b" else FLAGS.get(name, {})
    if name in CATEGORICAL:
        # flags of the CF conventions, 3.5
        meanings = names if name == "contact_law" else PHASES
        numbers = np.arange(len(meanings)).astype(kind)
        about |= {"flag_values": numbers, "flag_meanings": " ".join(meanings)}
    if name in PHASE:
        # the law of a file need not be installed
        lines = [
            f"states that cannot occur with {law_name}: {', '.join(absent)}"
            for law_name in names
            if law_name in laws()
            and (absent := [phase for phase in PHASES if phase not in laws()[law_name].phases])
        ]
        if lines:
            about["comment"] = "; ".join(lines)
    return about


class Unread(NamedTuple):
    """Axes, shape, unit, and meaning of a variable that was not read."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    unit: str
    long_name: str


# Names of attributes, which a history quantity cannot have.
_RESERVED = frozenset(
    {
        "case",
        "data_sha256",
        "equals",
        "law",
        "messages",
        "provenance",
        "save",
        "status",
        "time_step",
        "title",
        "to_xarray",
        "variables",
    }
)


def entries_of(data: Mapping[str, Any], history: Sequence[Quantity]) -> dict[str, Label]:
    """Return the labels of each variable of `data`, in the order of the file."""
    table = variable_table(data)
    laws = {
        q.name: Label(("contact",), q.unit or "1", q.meaning or q.name.replace("_", " "))
        for q in history
        # every result has this variable
        if q.name != "residual_overlap"
    }
    for name in laws:
        if not name.isidentifier() or name.startswith("_") or name in table or name in _RESERVED:
            raise ValueError(f"history: {name!r} cannot be the name of a variable")
    unknown = sorted(set(data) - set(table) - set(laws))
    if unknown:
        raise ValueError(f"{', '.join(map(repr, unknown))}: not a variable of an output file")
    return {name: entry for name, entry in table.items() if name in data} | {
        name: laws[name] for name in sorted(laws)
    }


def check_axes(variables: Mapping[str, Variable]) -> None:
    """Refuse variables whose axes are missing or have another length."""
    length_of = {name: v.data.shape[0] for name, v in variables.items() if v.data.shape}.get
    for name, v in variables.items():
        expected = tuple(map(length_of, v.dims))
        if v.data.shape != expected:
            raise ValueError(
                f"{name} has the shape {v.data.shape}, but its axes {', '.join(v.dims)} have "
                f"the shape {expected}"
            )


# Types of values: labels and contact states, and all other numbers.
_INTEGER, _REAL = np.dtype("<i8"), np.dtype("<f8")


def holds_nan(values: np.ndarray) -> bool:
    """Return whether a value is nan: the minimum is then nan, too."""
    return values.size > 0 and math.isnan(np.minimum.reduce(values, axis=None))


def as_stored(name: str, values: Any) -> np.ndarray:
    """Return values as in a file, read-only: labels and contact states as i8, others as f8."""
    kind = _INTEGER if name in (*LABELS, *CATEGORICAL) else _REAL
    if isinstance(values, np.ndarray) and values.dtype is kind and values.flags.c_contiguous:
        data = values.view()
    else:
        try:
            data = np.asarray(values).astype(kind, order="C", casting="safe", copy=False).view()
        except TypeError as error:
            raise ValueError(f"{name}: {error}") from error
    data.flags.writeable = False
    return data


def labelled(data: Mapping[str, Any], labels: Mapping[str, Label]) -> dict[str, Variable]:
    """Return data as variables, in the order of their labels; None is left out.

    A complex variable becomes two variables, with `_real` and `_imag` at the end of their names.

    Raises
    ------
    ValueError
        If a variable has no label, an axis has no labels, or lengths differ.
    """
    unknown = sorted(data.keys() - labels.keys())
    if unknown:
        raise ValueError(f"{', '.join(map(repr, unknown))}: no label")
    variables = {}
    for name, label in labels.items():
        value = data.get(name)
        if value is None:
            continue
        if type(value) is float and not label.dims:
            # numbers first, because most variables are numbers
            number = np.array(value)
            number.flags.writeable = False
            variables[name] = Variable((), number, label.unit, label.long_name)
            continue
        for half, array in real_parts(name, np.asarray(value)).items():
            variables[half] = Variable(label.dims, _plain_array(half, array), *label[1:])
    check_axes(variables)
    return variables


def real_parts(name: str, values: np.ndarray) -> dict[str, np.ndarray]:
    """Return real values by name, and complex values as two variables."""
    if values.dtype.kind == "c":
        return {f"{name}_real": values.real, f"{name}_imag": values.imag}
    return {name: values}


def _plain_array(name: str, values: np.ndarray) -> np.ndarray:
    """Return values of one of the kinds of a file: f8, i8, truth values, or text; read-only."""
    kinds: dict[str, Any] = {"b": bool, "i": _INTEGER, "u": _INTEGER, "f": _REAL, "U": object}
    if values.dtype.kind == "O" and all(isinstance(value, str) for value in values.ravel()):
        kinds["O"] = object
    if values.dtype.kind not in kinds:
        raise ValueError(f"{name}: values of type {values.dtype} cannot be stored")
    data = np.array(values, dtype=kinds[values.dtype.kind], order="C")
    data.flags.writeable = False
    return data


def texts(values: Sequence[str]) -> np.ndarray:
    """Return strings as an array of objects."""
    return np.array([*values, None], dtype=object)[:-1]


def what_to_ask_for(name: str, variables: Mapping[str, Variable]) -> str:
    """Explain why a result has no variable of this name, and how to record it."""
    if name in VARIABLES:
        dims = _LEDGER if name in LOSSES else VARIABLES[name].dims
        advice = next((advice for axes, advice in _ASKED_BY.items() if {*axes} <= {*dims}), "")
        how = f" To record it, {advice} in the case, and run it again." if advice else ""
        return f"This result has no {name}.{how}"
    if name in VARIABLES_OF_MECHANISM:
        return f"This result has no {name}, because it is not the result of a mechanism."
    near = nearest(name, [*variables, *VARIABLES, *_RESERVED])
    return f"Results have no variable {name}." + (
        f" Did you mean {near}?"
        if near
        else f" The variables of this result are {', '.join(variables)}."
    )


# Entries of /provenance: texts and numbers. `messages` is a JSON list, `versions` a JSON table.
TEXTS = (
    "case_toml",
    "case_json",
    "case_resolved_json",
    "case_sha256",
    "law_sha256",
    "law_json",
    "data_sha256",
    "versions",
    "source_hash",
    "platform",
    "started",
)
PROVENANCE_NUMBERS = {"wall_time": ("s", "duration of the run, without compilation")}


def data_sha256(variables: Mapping[str, Variable]) -> str:
    """Return the hash of all variables, sorted by name: name, dims, dtype, shape, and bytes."""
    total = hashlib.sha256()
    for name in sorted(variables):
        variable = variables[name]
        total.update(
            f"{name} {','.join(variable.dims)} {variable.data.dtype.str} "
            f"{','.join(map(str, variable.data.shape))}\n".encode()
        )
        if variable.data.dtype.kind == "O":
            total.update("\0".join(variable.data.ravel()).encode())
        else:
            total.update(np.ascontiguousarray(variable.data).data)
    return total.hexdigest()


def granchain_version() -> str:
    """Return the version of the loaded package."""
    loaded = getattr(sys.modules.get("granchain"), "__version__", None)
    return str(loaded) if loaded else metadata.version("granchain")


@cache
def versions() -> str:
    """Return the versions of the packages that compute and write, as JSON."""
    import h5py

    installed = {
        "numpy": np.__version__,
        "h5py": h5py.__version__,
        "hdf5": h5py.version.hdf5_version,
        "python": platform.python_version(),
        "numba": metadata.version("numba"),
    }
    return json.dumps(installed, sort_keys=True)


@cache
def source_hash() -> str:
    """Return the hash of the source files of the package: names and contents."""
    root = Path(__file__).parents[1]
    total = hashlib.sha256()
    for name, file in sorted(
        (file.relative_to(root).as_posix(), file) for file in root.rglob("*.py")
    ):
        total.update(f"{name}\n".encode() + hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()
