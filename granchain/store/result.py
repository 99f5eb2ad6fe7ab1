"""What a run gives back: arrays with their axes, units and meaning, and where they come from."""

from __future__ import annotations

import json
import os
import platform
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from granchain.contact.law import Quantity
from granchain.errors import CaseError, FileError, GranchainError, GranchainWarning, LawError
from granchain.markup import card, folded, table
from granchain.plain_data import canonical
from granchain.status import Message, Status
from granchain.store.files import LARGEST_FILE, claim
from granchain.store.provenance import data_sha256, granchain_version, source_hash, versions
from granchain.store.variables import (
    FORMAT,
    SPARSE,
    Unread,
    Variable,
    as_stored,
    attributes_in_file,
    check_axes,
    entries_of,
    holds_nan,
    what_to_ask_for,
)
from granchain.store.writer import write_file

if TYPE_CHECKING:
    import xarray


def case_of(result: Any) -> Any:
    """The case of a result; None where this version cannot read it."""
    try:
        return result.case
    except (CaseError, LawError, AttributeError):
        return None


def check_result(result: Any, where: str) -> None:
    """Refuse what is no result, such as the path of its file."""
    # a Dataset of xarray has variables of another kind
    if not hasattr(result, "variables") or hasattr(result, "data_vars"):
        got = f'"{result[:60]}"' if isinstance(result, str) else type(result).__name__
        raise GranchainError(
            f"{where}: {got} is not a Result. It must be a Result. Open a file with "
            "granchain.open_result, or run a case with granchain.run."
        )


class Result:
    """Result of a run.

    The variables of the output file are attributes, for example `result.sensor_force`. Units, axes,
    and descriptions are in `variables`, and metadata about the run is in `provenance`.

    Parameters
    ----------
    data : mapping of str to array
        Variables with the names of the output file.
    case : Case or None
        The case of the run.
    law : str
        Name of the contact law.
    status : Status
        Status at the end of the run.
    time_step : float
        Time step [s].
    history : sequence of Quantity
        History quantities of the law that `data` contains for each contact.
    messages : sequence of Message
        Messages and warnings of the run.
    provenance : mapping, optional
        Start time `started` (UTC, ISO 8601) and duration `wall_time` [s]. Other entries are added
        automatically.
    state : mapping or function, optional
        State from which another run can start (`case.replace(initial=result)`): arrays by name, and
        metadata as text; or a function that returns it. None if the run did not reach its end.

    Raises
    ------
    ValueError
        If names, axes, and lengths do not match, or if the run did not fail but contains NaN.

    Examples
    --------
    >>> import granchain as gc
    >>> result = gc.run(gc.load_case("steel-chain-hertz").replace(**{"time.end": 2e-5}))
    >>> result.sensor_force.shape == (len(result.time), len(result.sensor_bead))
    True
    >>> result.variables["sensor_force"].unit
    'N'
    """

    variables: dict[str, Variable]
    law: str
    status: Status
    time_step: float
    messages: list[Message]
    _state: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None
    sealed: bool = True
    """False where the file that the result was read from carries no seal: nothing vouches for
    its attributes, units and case."""

    def __init__(
        self,
        data: Mapping[str, Any],
        *,
        case: Any,
        law: str,
        status: Status,
        time_step: float,
        history: Sequence[Quantity] = (),
        messages: Sequence[Message] = (),
        provenance: Mapping[str, Any] | None = None,
        state: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None,
    ):
        self.unread: dict[str, Unread] = {}
        self.state = state
        self.law = _storable(law)
        self.status = Status(status)
        self.time_step = float(time_step)
        self.messages = [Message(_storable(text), bool(warning)) for text, warning in messages]
        self._case = case
        self._stated_provenance = {
            name: _storable(value) if isinstance(value, str) else float(value)
            for name, value in (provenance or {}).items()
        }
        entries = entries_of(data, history)
        shapes = {
            name: values.shape if isinstance(values := data[name], np.ndarray) else np.shape(values)
            for name in entries
        }
        check_axes({name: entry.dims for name, entry in entries.items()}, shapes)
        self.variables = {
            name: Variable(entry.dims, as_stored(name, data[name]), entry.unit, entry.long_name)
            for name, entry in entries.items()
        }
        sparse = list(SPARSE)
        if "contact_law" in data:
            # of the contacts whose law has such a quantity
            sparse += ["contact_radius", *(quantity.name for quantity in history)]
        if not self.status.failed:
            for name, variable in self.variables.items():
                if (
                    name not in sparse
                    and variable.data.dtype.kind == "f"
                    and holds_nan(variable.data)
                ):
                    raise ValueError(
                        f'{name} contains NaN although the run ended as "{self.status.label}"'
                    )

    if TYPE_CHECKING:
        # What a law remembers has names of its own: variables[NAME].data.
        time: np.ndarray
        sensor_bead: np.ndarray
        sensor_force: np.ndarray
        sensor_beside_force: np.ndarray
        sensor_beside_time: np.ndarray
        sensor_jump_force: np.ndarray
        sensor_jump_time: np.ndarray
        sensor_contact: np.ndarray
        contact_force: np.ndarray
        contact_overlap: np.ndarray
        bead: np.ndarray
        radius: np.ndarray
        mass: np.ndarray
        position: np.ndarray
        final_displacement: np.ndarray
        final_velocity: np.ndarray
        contact: np.ndarray
        contact_peak_force: np.ndarray
        largest_overlap: np.ndarray
        residual_overlap: np.ndarray
        phase: np.ndarray
        contact_law: np.ndarray
        contact_radius: np.ndarray
        contact_plastic: np.ndarray
        contact_viscous: np.ndarray
        contact_clamp: np.ndarray
        energy_time: np.ndarray
        energy_kinetic: np.ndarray
        energy_recoverable: np.ndarray
        energy_plastic: np.ndarray
        energy_viscous: np.ndarray
        energy_clamp: np.ndarray
        energy_drag: np.ndarray
        energy_on_site: np.ndarray
        energy_on_site_damping: np.ndarray
        energy_resonator_kinetic: np.ndarray
        energy_resonator_elastic: np.ndarray
        energy_resonator_damping: np.ndarray
        energy_external: np.ndarray
        energy_gravity: np.ndarray
        energy_precompression: np.ndarray
        energy_drives: np.ndarray
        drive: np.ndarray
        drive_bead: np.ndarray
        drive_work: np.ndarray
        energy_residual: np.ndarray
        snapshot_time: np.ndarray
        displacement: np.ndarray
        velocity: np.ndarray
        resonator: np.ndarray
        resonator_bead: np.ndarray
        resonator_mass: np.ndarray
        resonator_stiffness: np.ndarray
        final_resonator_displacement: np.ndarray
        final_resonator_velocity: np.ndarray
        resonator_displacement: np.ndarray
        resonator_velocity: np.ndarray
        snapshot_largest_overlap: np.ndarray
        snapshot_residual_overlap: np.ndarray
        snapshot_phase: np.ndarray
        crank_angle: np.ndarray
        slider_position: np.ndarray
        slider_velocity: np.ndarray
        slider_acceleration: np.ndarray
        ideal_acceleration: np.ndarray
        joint_x: np.ndarray
        joint_y: np.ndarray
        penetration: np.ndarray
        energy_friction: np.ndarray
    else:

        def __getattr__(self, name: str) -> np.ndarray:
            variables = self.__dict__.get("variables", {})
            if name in variables:
                data: np.ndarray = variables[name].data
                return data
            if name.startswith("_"):
                raise AttributeError(name)
            if name in self.__dict__.get("unread", {}):
                raise AttributeError(
                    f"{name} was not read from the file. To read all variables, use "
                    "granchain.open_result(FILE)."
                )
            raise AttributeError(what_to_ask_for(name, variables))

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.variables})

    def __repr__(self) -> str:
        lengths = ", ".join(
            f"{name} {len(v.data)}" for name, v in self.variables.items() if v.dims == (name,)
        )
        return (
            f"<Result: {self.law}, {self.status.label}, time step {self.time_step:g} s; {lengths}>"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: how the run ended, and the variables."""
        facts = [
            ("contact law", self.law),
            ("status", self.status.label),
            ("time step", f"{self.time_step:.4g} s"),
        ]
        facts += [
            ("warning" if message.warning else "message", message.text)
            for message in self.messages[:3]
        ]
        rows = [
            (name, " x ".join(map(str, v.shape)), v.unit, v.long_name)
            for name, v in self.variables.items()
        ]
        variables = folded(
            f"{len(rows)} variables", table(("name", "shape", "unit", "meaning"), rows, styled=True)
        )
        return card(self.title or "untitled run", table((), facts, styled=True), variables)

    @property
    def case(self) -> Any:
        """The case that was run; of a file, it is made of what was given when it is asked for.

        Raises
        ------
        CaseError
            Where this version can no longer validate it: a law that is not installed, say. The text
            stays in `provenance`.
        """
        if self._case is None and "case_json" in self.provenance:
            from granchain.case import case_as_given, mechanism_as_given

            stored, toml = (
                json.loads(self.provenance["case_json"]),
                self.provenance.get("case_toml", ""),
            )
            self._case = (mechanism_as_given if "mechanism" in stored["tables"] else case_as_given)(
                stored, toml
            )
            if self._case.sha256 != self.provenance["case_sha256"]:
                warnings.warn(
                    "case: this version of granchain completes the case differently "
                    f"({self._case.sha256[:12]}) than the version that ran it "
                    f"({self.provenance['case_sha256'][:12]}). A new run may give other "
                    "results. The case that was run is stored in case_resolved_json of the "
                    "provenance.",
                    GranchainWarning,
                    stacklevel=3,
                )
        return self._case

    @cached_property
    def title(self) -> str:
        """That of the case."""
        return _storable(getattr(self._case, "title", "") or "")

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """Where the result comes from, under the names of the file's group; `versions` is JSON."""
        case: dict[str, Any] = {}
        if self._case is not None:
            case = {
                "case_toml": _storable(self._case.toml or ""),
                "case_json": canonical(self._case.as_given(), ordered=True),
                # As the case hashes it, but for what changes nothing.
                "case_resolved_json": canonical(self._case.resolved()),
                "case_sha256": self._case.sha256,
            }
        return {
            "granchain_version": granchain_version(),
            "versions": versions(),
            "source_hash": source_hash(),
            "platform": f"{platform.system()} {platform.machine()}",
            **case,
            **self._stated_provenance,
            "data_sha256": self.data_sha256,
        }

    @property
    def initial_time(self) -> float:
        """When the run begins [s]: what the runs before took, of one that goes on from a state."""
        held = getattr(case_of(self), "stored_state", None)
        return 0.0 if held is None else float(held.time)

    @property
    def data_sha256(self) -> str:
        """Hash of all variables: equal for equal results."""
        return data_sha256(self.variables)

    def equals(self, other: Result) -> bool:
        """Whether another result says the same: all variables bit for bit, law, status, time step
        and messages.

        When a run began, what it took and where it ran are no part of it.

        Parameters
        ----------
        other : Result
        """
        mine, theirs = self.variables, other.variables
        return (
            (self.law, self.status, self.time_step, self.messages)
            == (other.law, other.status, other.time_step, other.messages)
            and self.unread == other.unread
            and mine.keys() == theirs.keys()
            and all(variable.equals(theirs[name]) for name, variable in mine.items())
        )

    def save(
        self,
        path: str | os.PathLike[str],
        overwrite: bool = False,
        progress: Callable[[float], Any] | None = None,
    ) -> None:
        """Write the file, whole or not at all.

        Parameters
        ----------
        path : str or path
            Name of the file, in a folder that exists.
        overwrite : bool
            Replace an output file of that name; without it, and where it is none, the file stays.
        progress : callable, optional
            Called with the part that is written, 0 to 1, of a file with variables above 16 MB.

        Raises
        ------
        FileError
            With path, bytes needed and what to do; the folder is then as it was.
        """
        if not self.sealed:
            raise FileError(
                f"{os.fspath(path)}: the result was read from a file without a valid "
                "checksum. It cannot be saved, because a new checksum would confirm "
                "unverified data. Run the case again."
            )
        if self.unread:
            raise FileError(
                f"{os.fspath(path)}: only some variables of the result were read. The "
                "result must be complete. Read it again with granchain.open_result(FILE)."
            )
        size = sum(variable.data.nbytes for variable in self.variables.values())
        if size > LARGEST_FILE:
            raise FileError(
                f"{os.fspath(path)}: the result has {size} bytes. The limit is "
                f"{LARGEST_FILE} bytes. Increase the interval under [sensors] or "
                "[snapshots], or list fewer beads and contacts."
            )
        about = {**self.provenance, "messages": json.dumps(self.messages)}
        del about["granchain_version"]
        with claim(path, overwrite):
            write_file(
                path,
                self.variables,
                self._attributes,
                about,
                overwrite,
                # who has stopped a run waits
                packed=self.status is not Status.INTERRUPTED,
                progress=progress or float,
                state=self.state,
            )

    def to_xarray(self) -> xarray.Dataset:
        """The variables as an `xarray.Dataset`, as xarray would open the saved file."""
        return dataset_of(self.variables, self._attributes)

    @property
    def state(self) -> Mapping[str, Any] | None:
        """What another run can go on from; None where the run has not come to its end."""
        if callable(self._state):
            self._state = self._state()
        return self._state

    @state.setter
    def state(self, state: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None) -> None:
        self._state = state

    @property
    def _attributes(self) -> dict[str, Any]:
        """Attributes of the file's root."""
        attributes: dict[str, Any] = {
            "Conventions": "CF-1.11",
            "title": self.title,
            "granchain_format": FORMAT,
            "granchain_version": self.provenance["granchain_version"],
            "law": self.law,
            "status": self.status.label,
            "time_step": self.time_step,
        }
        if self.initial_time:
            attributes["initial_time"] = self.initial_time
        # NeXus: what a viewer plots by itself
        for signal in ("sensor_force", "slider_acceleration"):
            if signal in self.variables:
                return attributes | {
                    "NX_class": "NXdata",
                    "signal": signal,
                    "axes": list(self.variables[signal].dims),
                }
        return attributes


def dataset_of(
    variables: Mapping[str, Variable],
    attributes: Mapping[str, Any],
    coordinates: Sequence[str] = (),
) -> xarray.Dataset:
    """Variables as an `xarray.Dataset`; labels of an axis are coordinates, and these are too."""
    import xarray

    law = str(attributes.get("law", ""))
    arrays = {
        name: (v.dims, v.data, attributes_in_file(name, v, law)) for name, v in variables.items()
    }
    inner = {name for name, v in variables.items() if v.dims == (name,) or name in coordinates}
    return xarray.Dataset(
        {name: array for name, array in arrays.items() if name not in inner},
        {name: array for name, array in arrays.items() if name in inner},
        attributes,
    )


def _storable(text: str) -> str:
    """Text that HDF5 can hold: no null character, no half of a surrogate pair."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")
