"""What a run gives back: arrays with their axes, units and meaning, and where they come from."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from granchain.contact.law import Quantity
from granchain.errors import FileError, GranchainError
from granchain.output.whole import LARGEST_FILE, OUTPUT_MARK, claim, write_whole
from granchain.status import Status

# Version of the file layout: a reader refuses a newer one.
FORMAT = "1.1"


class Entry(NamedTuple):
    dims: tuple[str, ...]
    unit: str
    long_name: str


_SAMPLES, _RECORDED, _SHOTS = ("time", "sensor_bead"), ("time", "sensor_contact"), ("snapshot_time", "bead")
_LEDGER = ("energy_time",)

# Every variable of the file but the history of the contact law, in the order in which they are shown.
TABLE: dict[str, Entry] = {
    "time": Entry(("time",), "s", "time of the samples"),
    "sensor_bead": Entry(("sensor_bead",), "1", "label of the sensor bead"),
    "sensor_force": Entry(_SAMPLES, "N", "force of the sensor bead: mean of its two contact forces"),
    "sensor_beside_force": Entry(_SAMPLES, "N", "largest force beside a jump since the sample before; not a number where there is none"),
    "sensor_beside_time": Entry(_SAMPLES, "s", "time of that jump"),
    "sensor_jump_force": Entry(("sensor_bead",), "N", "largest force beside a jump in the first pulse; not a number where there is none"),
    "sensor_jump_time": Entry(("sensor_bead",), "s", "time of that jump"),
    "sensor_contact": Entry(("sensor_contact",), "1", "label of the recorded contact: k joins body k and k+1"),
    "contact_force": Entry(_RECORDED, "N", "force of the recorded contact, positive in repulsion"),
    "contact_overlap": Entry(_RECORDED, "m", "overlap of the recorded contact"),
    "bead": Entry(("bead",), "1", "label of the body: 0 is the striker, beads count from 1"),
    "radius": Entry(("bead",), "m", "radius"),
    "mass": Entry(("bead",), "kg", "mass"),
    "final_displacement": Entry(("bead",), "m", "displacement at the end, from the start"),
    "final_velocity": Entry(("bead",), "m/s", "velocity at the end"),
    "contact": Entry(("contact",), "1", "label of the contact: k joins body k and k+1"),
    "contact_peak_force": Entry(("contact",), "N", "largest force of the contact"),
    "contact_plastic": Entry(("contact",), "J", "energy that the contact has lost to its dent"),
    "contact_viscous": Entry(("contact",), "J", "energy that the contact has lost to damping"),
    "contact_clamp": Entry(
        ("contact",), "J", "work of the force that the clamp at zero adds to the contact; negative: damping that did not act"
    ),
    "energy_time": Entry(_LEDGER, "s", "time of the energy ledger"),
    "energy_kinetic": Entry(_LEDGER, "J", "kinetic energy"),
    "energy_recoverable": Entry(_LEDGER, "J", "energy that the contacts can give back"),
    "energy_plastic": Entry(_LEDGER, "J", "energy lost to dents"),
    "energy_viscous": Entry(_LEDGER, "J", "energy lost to damping"),
    "energy_clamp": Entry(_LEDGER, "J", "work of the forces that the clamp at zero adds; negative: damping that did not act"),
    "energy_external": Entry(_LEDGER, "J", "work from outside: gravity, precompression and drives; a wall at rest does none"),
    "energy_gravity": Entry(_LEDGER, "J", "part of it: work of gravity"),
    "energy_precompression": Entry(_LEDGER, "J", "part of it: work of the precompression at the free ends"),
    "energy_drives": Entry(_LEDGER, "J", "part of it: work of the driven ends"),
    "energy_residual": Entry(_LEDGER, "J", "what the ledger does not account for"),
    "snapshot_time": Entry(("snapshot_time",), "s", "time of the snapshots"),
    "displacement": Entry(_SHOTS, "m", "displacement from the start"),
    "velocity": Entry(_SHOTS, "m/s", "velocity"),
}
LABELS = ("sensor_bead", "sensor_contact", "bead", "contact")
# Of most samples, and of some pulses, there is nothing to say.
SPARSE = ("sensor_beside_force", "sensor_beside_time", "sensor_jump_force", "sensor_jump_time")

# What a case says to get the variables along a dimension; the first that fits.
_ASKED_BY = {
    "sensor_contact": "name the contacts: `contacts = [...]` under [sensors]",
    "sensor_bead": "name the beads: `beads = [...]` under [sensors]",
    "time": "name the beads: `beads = [...]` under [sensors]",
    "energy_time": "keep the ledger: `ledger = true` under [energy]",
    "snapshot_time": "set `interval` under [snapshots]",
}
# Of the ledger, though along another dimension.
_LOSSES = ("contact_plastic", "contact_viscous", "contact_clamp")

# /provenance: what is written there as text, as a number; `messages` is a JSON list, `versions` a JSON table.
TEXTS = (
    "case_toml",
    "case_resolved_json",
    "case_sha256",
    "data_sha256",
    "versions",
    "source_hash",
    "platform",
    "started",
)
NUMBERS = {"wall_time": ("s", "time that the run took")}


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
    def kind(self) -> str:
        """Kind of the values, as NumPy writes it."""
        return self.data.dtype.str

    def pieces(self) -> Iterator[Any]:
        """The bytes of all values, in C order."""
        yield self.data.tobytes() if self.data.size == 0 else self.data.data


class Unread(NamedTuple):
    """What a file says of a variable that was not read."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    unit: str
    long_name: str


class Hashable(Protocol):
    """Values that can be hashed piece by piece."""

    @property
    def dims(self) -> tuple[str, ...]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def kind(self) -> str: ...
    def pieces(self) -> Iterator[Any]: ...


class Result:
    """What a run gives back: the variables of the output file as attributes, and where they come from.

    Parameters
    ----------
    data : mapping of str to array
        Variables under the names of the output file.
    case : Case or None
        The case that was run.
    law : str
        Name of the contact law.
    status : Status
        How the run ended.
    time_step : float
        Time step [s].
    history : sequence of Quantity
        History quantities of the law that `data` holds per contact.
    messages : sequence of str
        What the run had to say.
    provenance : mapping, optional
        What the run knows of itself: `started` (UTC, ISO 8601), `wall_time` [s]; the rest is filled in.

    Raises
    ------
    ValueError
        Where names, axes and lengths do not fit together, or a value is not a number in a run that did not fail.
    """

    variables: dict[str, Variable]
    law: str
    title: str
    status: Status
    time_step: float
    messages: list[str]
    sealed: bool = True
    """False where the file that the result was read from carries no seal: nothing vouches for its attributes, units and case."""

    def __init__(
        self,
        data: Mapping[str, Any],
        *,
        case: Any,
        law: str,
        status: Status,
        time_step: float,
        history: Sequence[Quantity] = (),
        messages: Sequence[str] = (),
        provenance: Mapping[str, Any] | None = None,
    ):
        self.unread: dict[str, Unread] = {}
        self.thinned: dict[str, tuple[int, int]] = {}
        self.law = _clean(law)
        self.status = Status(status)
        self.time_step = float(time_step)
        self.messages = [_clean(message) for message in messages]
        self.title = _clean(getattr(case, "title", "") or "")
        self._case = case
        self._given = {name: _clean(value) if isinstance(value, str) else float(value) for name, value in (provenance or {}).items()}
        unknown = sorted(set(self._given) - {*TEXTS, *NUMBERS})
        if unknown:
            raise ValueError(f"provenance: there is no place for {', '.join(unknown)}; allowed: {', '.join((*TEXTS, *NUMBERS))}")
        entries = _entries(data, history)
        check_axes({name: entry.dims for name, entry in entries.items()}, {name: np.shape(data[name]) for name in entries})
        self.variables = {
            name: Variable(entry.dims, _frozen(name, data[name]), entry.unit, entry.long_name) for name, entry in entries.items()
        }
        if not self.status.failed:
            for name, variable in self.variables.items():
                if name not in SPARSE and np.isnan(variable.data).any():
                    raise ValueError(f'{name} holds a value that is not a number, in a run that ended as "{self.status.label}"')

    def __getattr__(self, name: str) -> np.ndarray:
        variables = self.__dict__.get("variables", {})
        if name in variables:
            data: np.ndarray = variables[name].data
            return data
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self.__dict__.get("unread", {}):
            raise AttributeError(f"{name} was not read from the file; read all of it: granchain.open_result(FILE)")
        raise AttributeError(_missing(name, variables))

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.variables})

    def __repr__(self) -> str:
        lengths = ", ".join(f"{name} {len(v.data)}" for name, v in self.variables.items() if v.dims == (name,))
        return f"<Result: {self.law}, {self.status.label}, time step {self.time_step:g} s; {lengths}>"

    @property
    def case(self) -> Any:
        """The case that was run; from a file, it is validated anew when it is asked for.

        Raises
        ------
        CaseError
            Where this version can no longer validate it: a law that is not installed, say. The text stays in `provenance`.
        """
        if self._case is None and "case_resolved_json" in self.provenance:
            from granchain.case import case_from_resolved

            self._case = case_from_resolved(json.loads(self.provenance["case_resolved_json"]), self.provenance.get("case_toml", ""))
        return self._case

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """Where the result comes from, under the names of the file's group; `versions` is JSON."""
        found: dict[str, Any] = {"granchain_version": _granchain_version(), "versions": versions(), "source_hash": source_hash()}
        found["platform"] = f"{platform.system()} {platform.machine()}"
        if self._case is not None:
            found["case_toml"] = _clean(self._case.toml or "")
            # As the case hashes it, so that case_sha256 is the hash of this very text.
            found["case_resolved_json"] = json.dumps(self._case.resolved(), sort_keys=True, separators=(",", ":"), allow_nan=False)
            found["case_sha256"] = self._case.sha256
        return found | self._given | {"data_sha256": data_sha256(self.variables)}

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Write the file, whole or not at all.

        Parameters
        ----------
        path : str or path
            Name of the file, in a folder that exists.
        overwrite : bool
            Replace an output file of that name; without it, and where it is none, it is kept.

        Raises
        ------
        FileError
            With path, bytes needed and what to do; the folder is then as it was.
        """
        from granchain.output.hdf5 import image

        if self.unread or self.thinned:
            raise FileError(
                f"{os.fspath(path)}: got a result that was read from its file in part, allowed a whole one; read all of it: "
                "granchain.open_result(FILE)"
            )
        size = sum(variable.data.nbytes for variable in self.variables.values())
        if size > LARGEST_FILE:
            raise FileError(
                f"{os.fspath(path)}: got a result of {size} bytes, allowed at most {LARGEST_FILE}; record less: raise the interval "
                "under [sensors] or [snapshots], or name fewer beads and contacts"
            )
        with claim(path, overwrite):
            write_whole(path, image(self), overwrite, marks=(OUTPUT_MARK,))

    def to_xarray(self) -> Any:
        """The variables as an `xarray.Dataset`, as xarray would open the saved file.

        Raises
        ------
        GranchainError
            Where xarray is not installed.
        """
        try:
            import xarray
        except ImportError as error:
            raise GranchainError("to_xarray needs xarray, which is not installed: pip install 'granchain[xarray]'") from error
        arrays = {name: (v.dims, v.data, {"long_name": v.long_name, "units": v.unit}) for name, v in self.variables.items()}
        return xarray.Dataset(
            {name: array for name, array in arrays.items() if array[0] != (name,)},
            {name: array for name, array in arrays.items() if array[0] == (name,)},
            root_attributes(self),
        )


# ---------------------------------------------------------------------------------------------------------------------
# What a result is made of.

# A history quantity of these names could not be reached as an attribute.
_RESERVED = frozenset({"case", "law", "messages", "provenance", "save", "sealed", "status", "time_step", "title", "to_xarray", "variables"})


def _entries(data: Mapping[str, Any], history: Sequence[Quantity]) -> dict[str, Entry]:
    """Axes and meaning of each variable of `data`, in the order in which they are shown."""
    laws = {q.name: Entry(("contact",), q.unit or "1", q.meaning or q.name.replace("_", " ")) for q in history}
    for name in laws:
        if not name.isidentifier() or name.startswith("_") or name in TABLE or name in _RESERVED:
            raise ValueError(f"history: {name!r} cannot be the name of a variable")
    unknown = sorted(set(data) - set(TABLE) - set(laws))
    if unknown:
        raise ValueError(f"there is no variable {', '.join(map(repr, unknown))} in an output file")
    missing = sorted(set(laws) - set(data))
    if missing:
        raise ValueError(f"history: the values of {', '.join(missing)} are missing")
    return {name: entry for name, entry in TABLE.items() if name in data} | {name: laws[name] for name in sorted(laws)}


def check_axes(dims: Mapping[str, tuple[str, ...]], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse variables whose axes are missing or have another length."""
    for name, axes in dims.items():
        missing = [axis for axis in axes if axis not in shapes]
        if missing:
            raise ValueError(f"{name} is over {', '.join(axes)}, but there is no {missing[0]}")
    for name, axes in dims.items():
        if len(shapes[name]) != len(axes):
            raise ValueError(f"{name} has {len(shapes[name])} axes, and must have {len(axes)}: {', '.join(axes)}")
    for name, axes in dims.items():
        expected = tuple(shapes[axis][0] for axis in axes)
        if shapes[name] != expected:
            raise ValueError(f"{name} has the shape {shapes[name]}, its axes {', '.join(axes)} have {expected}")


def _frozen(name: str, values: Any) -> np.ndarray:
    """Values as the file holds them: labels whole numbers, everything else f8, in C order; read-only."""
    kind = "<i8" if name in LABELS else "<f8"
    try:
        data = np.asarray(values).astype(kind, order="C", casting="safe", copy=False).view()
    except TypeError as error:
        raise ValueError(f"{name}: {error}") from error
    data.setflags(write=False)
    return data


def _missing(name: str, variables: Mapping[str, Variable]) -> str:
    if name in TABLE:
        dims = _LEDGER if name in _LOSSES else TABLE[name].dims
        for axis, advice in _ASKED_BY.items():
            if axis in dims:
                return f"this result has no {name}; to get it, {advice} in the case, and run it again"
        return f"this result has no {name}"
    near = difflib.get_close_matches(name, [*variables, *TABLE, *_RESERVED], 1)
    return f"a result has no {name}" + (f"; did you mean {near[0]}?" if near else f"; this one has {', '.join(variables)}")


def _clean(text: str) -> str:
    """Text that HDF5 can hold: no null character, no half of a surrogate pair."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")


def data_sha256(variables: Mapping[str, Hashable]) -> str:
    """Hash over all variables in the order of their names: name, dims, dtype, shape, bytes."""
    total = hashlib.sha256()
    for name in sorted(variables):
        variable = variables[name]
        total.update(f"{name} {','.join(variable.dims)} {variable.kind} {','.join(map(str, variable.shape))}\n".encode())
        for piece in variable.pieces():
            total.update(piece)
    return total.hexdigest()


def _granchain_version() -> str:
    loaded = getattr(sys.modules.get("granchain"), "__version__", None)
    return str(loaded) if loaded else metadata.version("granchain")


@cache
def versions() -> str:
    import h5py

    found = {"numpy": np.__version__, "h5py": h5py.__version__, "hdf5": h5py.version.hdf5_version, "python": platform.python_version()}
    with contextlib.suppress(metadata.PackageNotFoundError):
        found["numba"] = metadata.version("numba")
    return json.dumps(found, sort_keys=True)


@cache
def source_hash() -> str:
    """Hash over the package's own source files: names and contents."""
    root = Path(__file__).parents[1]
    total = hashlib.sha256()
    for name, file in sorted((file.relative_to(root).as_posix(), file) for file in root.rglob("*.py")):
        total.update(f"{name}\n".encode() + hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def root_attributes(result: Result) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "Conventions": "CF-1.11",
        "title": result.title,
        "granchain_format": FORMAT,
        "granchain_version": result.provenance["granchain_version"],
        "law": result.law,
        "status": result.status.label,
        "time_step": result.time_step,
    }
    if "sensor_force" in result.variables:
        # NeXus: what a viewer plots by itself.
        attributes |= {"NX_class": "NXdata", "signal": "sensor_force", "axes": ["time", "sensor_bead"]}
    return attributes
