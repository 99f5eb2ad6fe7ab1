"""Writer and reader of HDF5 files that open as netCDF-4.

Every axis has a dimension scale, every variable has `units` and `long_name`, and `/provenance`
contains the origin of the file. The reader inspects a file before it reads data: it rejects links,
data in other files, and sizes that the file cannot contain.

The file of an ensemble has a dimension `run`, padded along time, because each run has an individual
time step. It is written in batches, to memory or to a file that grows, so that only one batch is in
memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from granchain.case.document import differences
from granchain.errors import FileError
from granchain.plain_data import canonical
from granchain.portable import reserve_space
from granchain.status import Message, Status, text_of_statuses
from granchain.store.files import (
    BYTES_WITH_MARK,
    CHECKSUM,
    CHECKSUM_LENGTH,
    LARGEST_FILE,
    OUTPUT_MARK,
    RefusedError,
    check_free_space,
    check_sum,
    new_file,
    no_progress,
    open_for_reading,
    quoted,
    refusing,
)
from granchain.store.schema import (
    CHECKPOINT,
    CONTENT,
    ENSEMBLE,
    FORMAT,
    LABELS,
    NO_YES,
    PROVENANCE_NUMBERS,
    VARIABLES,
    Unread,
    Variable,
    attributes_in_file,
    granchain_version,
    source_hash,
    unit_of_attributes,
    versions,
)

if TYPE_CHECKING:
    import xarray

    from granchain.case import Case
    from granchain.store.answer import Result

# Number of values in one chunk: 256 KiB of f8. Such chunks compress well and are read quickly for
# any number of columns.
CHUNK = 32768
# Smallest array in checksummed chunks [bytes]. Smaller arrays are contiguous: chunks would take
# half of the time to save 70 beads.
CHUNKED_FROM = 2**14
# Arrays with more bytes are compressed. Compressing arrays of one chunk would take half of the time
# to save 70 beads, for 0.3 MB.
COMPRESSED_FROM = 8 * CHUNK
# Level of compression. Compared with level 4, forces of a chain of 70 beads take 1 % more space and
# half of the time.
COMPRESSION_LEVEL = 1
# Bytes that are written to a file at once.
WRITTEN_AT_ONCE = 16 * 1024**2
# Upper limits on the bytes of a file without its data: for all texts and attributes, and for each
# variable.
BESIDE_DATA, BESIDE_VARIABLE = 2**18, 2**11
# Deflate packs at most 258 bytes into 2 bits (RFC 1951: longest match; one bit each for length and
# distance): 1032 times. A file contains more than packed zeros, so its data never reach 1000 times
# its size.
LARGEST_RATIO = 1000
# Maximum number of bytes of the file of an ensemble, which is read run by run, and of a checkpoint,
# whose records were in memory.
LARGEST_ENSEMBLE = 2**40
# Groups of the final state of a run and of the state that it started from, and group of the origin.
STATES, PROVENANCE = ("state", "initial_state"), "provenance"
# Name that netCDF-4 gives to a dimension scale without values.
WITHOUT_VALUES = "This is a netCDF dimension but not a netCDF variable.%10d"

# Function that chooses the variables to read from the headers of all variables.
Choice = Callable[[Mapping[str, Unread]], Iterable[str]]


@dataclass
class Content:
    """Content of a file or of a group.

    Attributes
    ----------
    variables : dict of str to Variable
    attributes : dict
    provenance : dict
    states : dict of str to dict
        Final state of a run, and the state that it started from, each with arrays and their
        description as text.
    groups : dict of str to Content
        Answers inside an answer.
    unread : dict of str to Unread
        Headers of the variables that were not read.
    """

    variables: Mapping[str, Variable]
    attributes: Mapping[str, Any]
    provenance: Mapping[str, Any]
    states: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    groups: Mapping[str, Content] = field(default_factory=dict)
    unread: dict[str, Unread] = field(default_factory=dict)

    @property
    def stored_bytes(self) -> float:
        """Upper limit on the size of the file."""
        texts = (*self.provenance.values(), *map(str, self.attributes.values()))
        size = sum(stored_bytes(v) + BESIDE_VARIABLE for v in self.variables.values())
        size += sum(BESIDE_VARIABLE + len(str(text)) for text in texts)
        for value in (value for state in self.states.values() for value in state.values()):
            size += BESIDE_VARIABLE + (len(value) if isinstance(value, str) else value.nbytes)
        return size + sum(group.stored_bytes for group in self.groups.values())


# --------------------------------------------------------------------------------------------------
# Writing


@contextlib.contextmanager
def new_hdf5(
    path: str | os.PathLike[str], overwrite: bool, needed: float, mark: bytes = OUTPUT_MARK
) -> Iterator[Any]:
    """Open a new HDF5 file that gets its checksum and its name once it is complete.

    Take the `claim` first. Disk space is reserved before, because HDF5 may end the process if the
    disk is full.

    Parameters
    ----------
    path : str or path
    overwrite : bool
        Whether to replace an output file of that name.
    needed : float
        Upper limit on the bytes of its data.
    mark : bytes
        A file is replaced only if it has this mark.
    """
    import h5py

    space = int(needed) + BESIDE_DATA
    with new_file(path, overwrite, (mark,), space + CHECKSUM_LENGTH) as partial:
        # no locking by HDF5, because the claim is the lock; four chunks of each column of an
        # ensemble are in memory
        with h5py.File(partial, "w", rdcc_nbytes=4 * 8 * CHUNK, locking=False) as file:
            with partial.open("r+b") as disk:
                reserve_space(disk.fileno(), space + CHECKSUM_LENGTH)
            # written first, because this attribute identifies a file of granchain
            file.attrs.create(OUTPUT_MARK.decode(), FORMAT, dtype=h5py.string_dtype())
            yield file
            file.flush()
            size = file.id.get_filesize()
        with partial.open("r+b") as disk:
            disk.truncate(size)
            disk.write(CHECKSUM % hashlib.file_digest(disk, "sha256").hexdigest().encode())


def write_content(
    path: str | os.PathLike[str],
    content: Content,
    overwrite: bool,
    *,
    packed: bool = True,
    mark: bytes = OUTPUT_MARK,
    progress: Callable[[float], Any] = no_progress,
) -> None:
    """Write a file, complete or not at all; take the `claim` first.

    Parameters
    ----------
    path : str or path
    content : Content
    overwrite : bool
        Whether to replace an output file of that name.
    packed : bool
        Whether to compress large arrays. Compressing 100 MB takes 3 s.
    mark : bytes
        A file is replaced only if it has this mark.
    progress : callable
        Called with the fraction of the data that is written.
    """
    with new_hdf5(path, overwrite, content.stored_bytes, mark) as file:
        _Writer(content, packed, progress).fill(file.id, content, root=True)


class _Writer:
    """Writes with the low-level interface of h5py, which is three times as fast for many small
    arrays and attributes.

    If the data of a variable are a dataset of the file, only its attributes are written.
    """

    def __init__(
        self, content: Content, packed: bool, progress: Callable[[float], Any] = no_progress
    ):
        from h5py import h5p, h5s, h5t

        self.packed, self.progress, self.done = packed, progress, 0
        self.size = sum(v.data.nbytes for v in content.variables.values())
        self.text = h5t.C_S1.copy()
        self.text.set_size(h5t.VARIABLE)
        self.text.set_cset(h5t.CSET_UTF8)
        self.scalar = h5s.create(h5s.SCALAR)
        # a type takes 8 us to create, and there are few types and shapes
        self.type_of, self.space_of = cache(h5t.py_create), cache(h5s.create_simple)
        self.contiguous = h5p.create(h5p.DATASET_CREATE)
        self.contiguous.set_obj_track_times(False)

    def fill(self, group: Any, content: Content, root: bool = False) -> None:
        """Write content to the root of the file, or to another group."""
        from h5py import h5g

        for name, value in content.attributes.items():
            # the mark of the file has been written before
            if not root or name != OUTPUT_MARK.decode():
                self.attribute(group, name, value)
        self.variables(group, content.variables, str(content.attributes.get("law", "")))
        for name, entries in {**content.states, PROVENANCE: content.provenance}.items():
            inside = {}
            for key, value in sorted(entries.items()):
                if key in PROVENANCE_NUMBERS:
                    inside[key] = Variable((), np.asarray(float(value)), *PROVENANCE_NUMBERS[key])
                elif isinstance(value, str):
                    inside[key] = Variable((), np.array(value, dtype=object), "", "")
                else:
                    inside[key] = state_variable(key, value)
            self.variables(h5g.create(group, name.encode()), inside)
        for name, inner in content.groups.items():
            self.fill(h5g.create(group, name.encode()), inner)

    def variables(self, group: Any, variables: Mapping[str, Variable], law: str = "") -> None:
        """Write variables with their attributes, and attach the scales of their axes.

        An axis without a variable has a scale without values.
        """
        from h5py import h5d, h5ds

        written = {}
        for name, v in variables.items():
            data: Any = v.data
            written[name] = dataset = getattr(data, "id", None) or self.dataset(group, name, v)
            for attribute, value in attributes_in_file(name, v, law).items():
                if value is not None and (attribute != "long_name" or value):
                    self.attribute(dataset, attribute, value)
            if v.dims == (name,):
                h5ds.set_scale(dataset, name.encode())
        for name, v in variables.items():
            if v.dims == (name,):
                continue
            for axis, scale in enumerate(v.dims):
                if scale not in written:
                    length = v.data.shape[axis]
                    kind, space = self.type_of(np.dtype("<f4")), self.space_of((length,))
                    written[scale] = h5d.create(group, scale.encode(), kind, space, self.contiguous)
                    h5ds.set_scale(written[scale], (WITHOUT_VALUES % length).encode())
                h5ds.attach_scale(written[name], written[scale], axis)

    def dataset(self, group: Any, name: str, v: Variable) -> Any:
        """Write the data of a variable, large data block by block, and return the dataset."""
        from h5py import h5d, h5s

        data = v.data.astype(np.int8) if v.data.dtype.kind == "b" else v.data
        properties = self.contiguous
        space = self.space_of(data.shape) if data.shape else self.scalar
        is_text = data.dtype.kind == "O"
        if not is_text and data.shape and data.nbytes >= CHUNKED_FROM:
            properties = properties.copy()
            properties.set_chunk(chunks_of(data.shape))
            if self.packed and data.nbytes > COMPRESSED_FROM:
                properties.set_shuffle()
                properties.set_deflate(COMPRESSION_LEVEL)
            properties.set_fletcher32()
        kind = self.text if is_text else self.type_of(data.dtype)
        dataset = h5d.create(group, name.encode(), kind, space, dcpl=properties)
        if is_text or data.nbytes <= WRITTEN_AT_ONCE:
            if data.size:
                dataset.write(h5s.ALL, h5s.ALL, np.ascontiguousarray(data))
            self.done += data.nbytes
            return dataset
        rows_of_chunk = chunks_of(data.shape)[0]
        rows = rows_of_chunk * max(1, WRITTEN_AT_ONCE * len(data) // (data.nbytes * rows_of_chunk))
        for first in range(0, len(data), rows):
            block = np.ascontiguousarray(data[first : first + rows])
            target = space.copy()
            target.select_hyperslab((first, *(0,) * (data.ndim - 1)), block.shape)
            dataset.write(h5s.create_simple(block.shape), target, block)
            self.done += block.nbytes
            self.progress(self.done / self.size)
        return dataset

    def attribute(self, item: Any, name: str, value: Any) -> None:
        """Write an attribute of a group or a dataset: a text, numbers, or lists of them."""
        from h5py import h5a

        values = np.asarray(value)
        space = self.space_of(values.shape) if values.shape else self.scalar
        if values.dtype.kind in "UO":
            kind, values = self.text, np.array(value, dtype=object)
        else:
            kind = self.type_of(values.dtype)
        h5a.create(item, name.encode(), kind, space).write(values)


def state_variable(name: str, values: np.ndarray) -> Variable:
    """Return an array of the state of a run as a variable; its axes have no labels."""
    axes = tuple(f"{name}_{axis}" for axis in range(values.ndim))
    return Variable(axes, values, "", "state of the run")


def chunks_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the lengths of a chunk: complete rows if they fit."""
    chunks: list[int] = []
    for length in reversed(shape):
        chunks.insert(0, max(1, min(length, CHUNK // math.prod(chunks))))
    return tuple(chunks)


def stored_bytes(variable: Variable) -> int:
    """Return an upper limit on the bytes of the data of a variable in a file."""
    if hasattr(variable.data, "id"):
        # a dataset that is already in the file
        return 0
    if variable.data.dtype.kind == "O":
        return sum(len(str(text).encode()) + 64 for text in np.ravel(variable.data))
    shape = variable.data.shape
    return 9 * math.prod(
        -(-length // chunk) * chunk for length, chunk in zip(shape, chunks_of(shape), strict=True)
    )


# --------------------------------------------------------------------------------------------------
# Reading


@dataclass
class OpenedFile:
    """Open output file.

    Attributes
    ----------
    file : h5py.File
    datasets : dict of str to h5py.Dataset
        All datasets by path.
    kind : str
        Name of the class of answers, or "Study".
    """

    file: Any
    datasets: dict[str, Any]
    kind: str


@contextlib.contextmanager
def open_hdf5(
    path: str | os.PathLike[str], wanted: str | None = None, *, verify: bool = True
) -> Iterator[OpenedFile]:
    """Open an output file; every problem with it is raised as a FileError.

    Parameters
    ----------
    path : str or path
    wanted : str, optional
        Required kind of content. Default: any.
    verify : bool
        See `granchain.open`.
    """
    import h5py

    with open_for_reading(path, "an output file of granchain", LARGEST_ENSEMBLE) as content:
        if OUTPUT_MARK not in content.read(BYTES_WITH_MARK) or not h5py.is_hdf5(path):
            raise FileError(
                f"{os.fspath(path)}: not an output file of granchain. It must be written by "
                "granchain. Choose another file."
            )
        if verify:
            check_sum(path, content)
        with refusing(path), h5py.File(content, "r") as file:
            check_format(file, wanted)
            kind = file.attrs[CONTENT]
            largest = LARGEST_ENSEMBLE if kind in (ENSEMBLE, CHECKPOINT) else LARGEST_FILE
            size = content.seek(0, os.SEEK_END)
            if size > largest:
                raise RefusedError(
                    f"the file has {size} bytes. It must have at most {largest} bytes. "
                    "Choose another file."
                )
            # an ensemble is read run by run, and rows that were not written take no space
            most = largest if kind == ENSEMBLE else min(largest, LARGEST_RATIO * size)
            yield OpenedFile(file, datasets_of(file, most), kind)


def check_format(file: Any, wanted: str | None) -> None:
    """Refuse other content, and other versions of the format."""
    content, written = file.attrs.get(CONTENT), file.attrs[OUTPUT_MARK.decode()]
    if not isinstance(content, str):
        raise RefusedError(
            f"the kind of content is missing. The attribute {CONTENT} must contain it. Use "
            "another copy."
        )
    if written != FORMAT:
        raise RefusedError(
            f"the file format is {quoted(written)!r}. It must be {FORMAT!r}. Read the file "
            "with the version of granchain that wrote it."
        )
    if wanted is not None and content != wanted:
        raise RefusedError(
            f"the file contains {quoted(content)}. It must contain {wanted}. Choose another file."
        )


def datasets_of(file: Any, most: int) -> dict[str, Any]:
    """Return all datasets of a file by path, after an inspection, before data are read.

    Parameters
    ----------
    file : h5py.File
    most : int
        Largest number of bytes of all uncompressed data.
    """
    import h5py

    datasets: dict[str, Any] = {}
    members: list[tuple[str, Any]] = []
    # follow each link once, because a group may be a member of itself
    file.visititems_links(lambda *link: members.append(link))
    for path, link in members:
        if not isinstance(link, h5py.HardLink):
            raise RefusedError(
                f"{quoted(path)!r} is a link to data outside the file. Such a link can read "
                "your other files, so the file must contain all its data. Use another copy."
            )
        member = file[path]
        if isinstance(member, h5py.Group):
            continue
        properties = member.id.get_create_plist()
        if member.is_virtual or properties.get_external_count():
            raise RefusedError(
                f"the data of {quoted(path)!r} are in another file. The file must contain "
                "all its data. Copy them into it."
            )
        if member.dtype.kind == "S":
            raise RefusedError(
                f"{quoted(path)!r} contains texts of fixed length. Texts must have variable "
                "length. Use another copy."
            )
        datasets[path] = member
    # reading any value of a chunk reads the complete chunk
    claimed = sum(
        max(math.prod(dataset.shape or ()), math.prod(dataset.chunks or (0,)))
        * dataset.dtype.itemsize
        for dataset in datasets.values()
    )
    if claimed > most:
        raise RefusedError(
            f"the file declares {claimed} bytes of data, more than it can contain. The "
            f"limit is {most} bytes. It is damaged or malicious. Use another copy."
        )
    return datasets


def is_variable(dataset: Any) -> bool:
    """Return whether a dataset has values: some dimension scales have none."""
    from h5py import h5ds

    prefix = WITHOUT_VALUES[:20].encode()
    return not (dataset.is_scale and h5ds.get_scale_name(dataset.id).startswith(prefix))


def headers_of(datasets: Mapping[str, Any]) -> dict[str, Unread]:
    """Return the axes, shape, unit, and meaning of each variable of the root."""
    return {
        name: Unread(
            (name,)
            if dataset.is_scale
            else tuple(axis[0].name.rpartition("/")[2] for axis in dataset.dims),
            dataset.shape,
            unit_of_attributes(dataset.attrs),
            str(dataset.attrs.get("long_name", "")),
        )
        for name, dataset in datasets.items()
        if "/" not in name and is_variable(dataset)
    }


def read_values(dataset: Any) -> np.ndarray:
    """Return the values of a dataset, read-only."""
    if dataset.dtype.kind == "O":
        data = np.array(dataset.asstr()[()], dtype=object)
    else:
        data = np.asarray(dataset[()])
        if dataset.attrs.get("flag_meanings") == NO_YES["flag_meanings"]:
            data = data.astype(bool)
    data.flags.writeable = False
    return data


def read_content(group: Any, datasets: Mapping[str, Any], choose: Choice | None = None) -> Content:
    """Read an open file, or a group of it.

    Parameters
    ----------
    group : h5py.Group
    datasets : mapping of str to h5py.Dataset
        All datasets of the group by path.
    choose : function, optional
        As `variables` of `granchain.open`.
    """
    headers = headers_of(datasets)
    chosen = set(headers) if choose is None else headers.keys() & set(choose(headers))
    chosen |= {axis for name in chosen for axis in headers[name].dims if axis in headers}
    variables = {
        name: Variable(header.dims, read_values(datasets[name]), header.unit, header.long_name)
        for name, header in headers.items()
        if name in chosen
    }
    inside: dict[str, dict[str, Any]] = {}
    for path, dataset in datasets.items():
        name, slash, inner_path = path.partition("/")
        if slash:
            inside.setdefault(name, {})[inner_path] = dataset
    states = {name: _state_in(inside.pop(name)) for name in STATES if name in inside}
    inside.pop(PROVENANCE, None)
    return Content(
        variables,
        dict(group.attrs),
        provenance_of(group),
        states,
        {name: read_content(group[name], members) for name, members in inside.items()},
        {name: header for name, header in headers.items() if name not in chosen},
    )


def _state_in(datasets: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays of a state, and their description as text."""
    return {
        name: value if (value := read_values(dataset)).dtype.kind != "O" else str(value[()])
        for name, dataset in datasets.items()
        if is_variable(dataset)
    }


def provenance_of(group: Any) -> dict[str, Any]:
    """Return the origin of a file."""
    return {
        name: float(dataset[()]) if name in PROVENANCE_NUMBERS else str(dataset.asstr()[()])
        for name, dataset in group[PROVENANCE].items()
    }


def messages_of(provenance: Mapping[str, Any]) -> list[list[Any]]:
    """Return the messages of a file: each a text, and whether it is a warning."""
    return [[str(text), bool(warning)] for text, warning in json.loads(provenance["messages"])]


def dataset_in(path: str | os.PathLike[str]) -> xarray.Dataset:
    """Return an inspected file as an `xarray.Dataset`."""
    import xarray

    with xarray.open_dataset(path, engine="h5netcdf") as opened:
        return opened.load()


def dataset_of(variables: Mapping[str, Variable], attributes: Mapping[str, Any]) -> xarray.Dataset:
    """Return variables as an `xarray.Dataset`, as xarray would open their file.

    Its coordinates are the labels of axes, and the variables in the attribute `coordinates`.
    """
    import xarray

    about, arrays = dict(attributes), {}
    law, inner = str(about.get("law", "")), set(about.pop("coordinates", "").split())
    for name, v in variables.items():
        data = v.data.astype(np.int8) if v.data.dtype.kind == "b" else v.data
        arrays[name] = (v.dims, data, attributes_in_file(name, v, law))
        if v.dims == (name,):
            inner.add(name)
    return xarray.Dataset(
        {name: array for name, array in arrays.items() if name not in inner},
        {name: array for name, array in arrays.items() if name in inner},
        about,
    )


# Axes along which runs have individual times or labels: the dimension that counts them, and the
# variable with their number.
COUNTED = {
    "time": ("sample", "n_samples"),
    "energy_time": ("entry", "n_entries"),
    "snapshot_time": ("shot", "n_shots"),
}
UNSHARED = {
    "sensor_bead": ("sensor", "n_sensors"), "sensor_contact": ("recorded", "n_recorded"),
    "bead": ("body", "n_bodies"), "contact": ("joint", "n_joints"),
    "resonator": ("rider", "n_riders"), "drive": ("driver", "n_drivers"),
}  # fmt: skip
# Variables of each run, in addition to the keys in which the cases differ.
OF_EACH = ("run", "status", "message", "time_step", "kind")
_RESERVED_DIMENSIONS = frozenset(
    (*OF_EACH, *(name for both in (*COUNTED.values(), *UNSHARED.values()) for name in both))
)
# Bytes of each run in addition to its data: case, messages, and hash.
TEXT_OF_RUN = 2**12


class EnsembleWriter:
    """Writer of many runs, with one row per run in each variable.

    Parameters
    ----------
    cases : sequence of Case
        Case of each run.
    file : h5py.File
    packed : bool
        Whether to compress the data.
    """

    def __init__(self, cases: Sequence[Case], file: Any, packed: bool = True):
        self.varied = differences(cases)
        self._cases, self.first = cases, cases[0].resolved()
        self._count, self._file, self._packed = len(cases), file, packed
        self._columns: dict[str, Variable] = {}
        self._kinds: dict[tuple, int] = {}
        self._kind = np.full(self._count, -1)
        self._step = np.full(self._count, np.nan)
        self._lengths: dict[str, np.ndarray] = {}
        self._labels: dict[str, list[np.ndarray | None]] = {}
        self._distinct_labels: dict[tuple[str, bytes], np.ndarray] = {}
        self._messages: list[list[Message]] = [[] for _ in range(self._count)]
        self._laws: dict[tuple[str, str], int] = {}
        self._law = [-1] * self._count
        self._hashes = [""] * self._count

    def add(self, first: int, results: Sequence[Result | None]) -> None:
        """Write results of the runs from `first` on; None for a run without a result."""
        columns: dict[str, list[np.ndarray | None]] = {}
        for offset, result in enumerate(results):
            if result is None:
                continue
            names = {}
            for name, variable in result.variables.items():
                if variable.dims == (name,) and name in LABELS:
                    # copied, because the data may be in a mapped file; equal labels are stored once
                    labels = self._distinct_labels.setdefault(
                        (name, variable.data.tobytes()), variable.data.copy()
                    )
                    self._labels.setdefault(name, [None] * self._count)[first + offset] = labels
                else:
                    column = names[name] = self._column(name, variable)
                    columns.setdefault(column, [None] * len(results))[offset] = variable.data
                if variable.dims == (name,) and name in COUNTED:
                    self._lengths.setdefault(name, np.zeros(self._count, dtype=np.int64))[
                        first + offset
                    ] = len(variable.data)
            meanings = [
                (name, names.get(name, name), v.unit, v.long_name)
                for name, v in result.variables.items()
            ]
            self._kind[first + offset] = self._kinds.setdefault(
                (result.law, tuple(meanings)), len(self._kinds)
            )
            self._step[first + offset] = result.time_step
            self._messages[first + offset] = result.messages
            record = result.provenance.get("law_sha256", ""), result.provenance.get("law_json", "")
            self._law[first + offset] = self._laws.setdefault(record, len(self._laws))
            self._hashes[first + offset] = result.data_sha256
        for column, values in columns.items():
            self._write_rows(column, first, values)

    def _column(self, name: str, like: Variable) -> str:
        """Return the column of a variable.

        A variable of another law with the same name gets a number.
        """
        column, number = f"{name}_of_law" if name in _RESERVED_DIMENSIONS else name, 1
        meaning = like.dims, like.unit, like.long_name
        while (existing := self._columns.get(column)) and (
            existing.dims,
            existing.unit,
            existing.long_name,
        ) != meaning:
            number += 1
            column = f"{name}_{number}"
        if column not in self._columns:
            # a power of two of complete runs, so that batches start at chunk boundaries
            runs = 1 << max(
                0, min(self._count, CHUNK // max(1, math.prod(like.shape))).bit_length() - 1
            )
            packing = {"compression": "gzip", "compression_opts": COMPRESSION_LEVEL}
            rows = self._file.create_dataset(
                column,
                (self._count, *like.shape),
                "<f8",
                maxshape=(self._count, *repeat(None, len(like.shape))),
                chunks=chunks_of((runs, *like.shape)),
                fletcher32=True,
                fillvalue=np.nan,
                track_times=False,
                **({"shuffle": True, **packing} if self._packed else {}),
            )
            self._columns[column] = Variable(like.dims, rows, like.unit, like.long_name)
        return column

    def _write_rows(self, column: str, first: int, values: Sequence[np.ndarray | None]) -> None:
        """Write the values of a variable of some runs into their rows."""
        rows: Any = self._columns[column].data
        block = padded_rows(values, rows.ndim - 1)
        longest = block.shape[1:]
        if any(length > has for length, has in zip(longest, rows.shape[1:], strict=True)):
            rows.resize((self._count, *map(max, zip(longest, rows.shape[1:], strict=True))))
        if block.size:
            rows[(slice(first, first + len(values)), *map(slice, longest))] = block

    def finish(
        self, status: Sequence[Status], messages: Sequence[str], started: str, wall_time: float
    ) -> None:
        """Write the axes, the status, and the provenance of all runs."""
        run = ("run",)
        labels_of_runs = column_of([outcome.label for outcome in status])
        variables = {
            "run": Variable(run, np.arange(self._count), "1", "index of the run"),
            **{
                key: Variable(run, column_of(values), "", f"case parameter {key}")
                for key, values in self.varied.items()
            },
            "status": Variable(run, labels_of_runs, "", "how the run ended"),
            "message": Variable(run, column_of(messages), "", "reason why the run failed"),
            "time_step": Variable(run, self._step, "s", "time step"),
            "kind": Variable(
                run,
                self._kind,
                "1",
                "index of the kind of result, defined by law and variables, in the "
                "provenance; -1 if the run has no result",
            ),
        }
        lengths_of = dict(self._lengths)
        for axis, labels_of_axis in self._labels.items():
            meaning = VARIABLES[axis].long_name
            distinct = {labels.tobytes(): labels for labels in labels_of_axis if labels is not None}
            if len(distinct) == 1:
                variables[axis] = Variable((axis,), next(iter(distinct.values())), "1", meaning)
                continue
            lengths = np.array([0 if labels is None else len(labels) for labels in labels_of_axis])
            lengths_of[axis], table = lengths, padded_rows(labels_of_axis, 1)
            variables[axis] = Variable(("run", UNSHARED[axis][0]), table, "1", meaning)
        dimension: dict[str, str] = {}
        for axis, lengths in lengths_of.items():
            name, count = (COUNTED | UNSHARED)[axis]
            dimension[axis] = name
            variables[count] = Variable(run, lengths, "1", f"number of values of {axis}")
            variables[name] = Variable(
                (name,), np.arange(lengths.max()), "1", f"index of the {name}"
            )
        for name, column in self._columns.items():
            dims = ("run", *(dimension.get(axis, axis) for axis in column.dims))
            # a variable of some runs may be shorter than its axis
            column.data.resize((self._count, *(len(variables[axis].data) for axis in dims[1:])))
            variables[name] = replace(column, dims=dims)
        laws = dict.fromkeys([self.first["contact"]["law"], *self.varied.get("contact.law", ())])
        attributes = {
            "Conventions": "CF-1.11",
            "title": f"{self._count} runs",
            "granchain_format": FORMAT,
            CONTENT: ENSEMBLE,
            "granchain_version": granchain_version(),
            "law": ", ".join(laws),
            "status": text_of_statuses(status),
            # CF: variables that are coordinates along another axis
            **({"coordinates": " ".join(self.varied)} if self.varied else {}),
        }
        # the first case, all cases in parts, the variables of each kind of run, and the hash of the
        # data of each run, which equals the hash in a file of this run
        about = {
            "versions": versions(),
            "source_hash": source_hash(),
            "platform": f"{platform.system()} {platform.machine()}",
            "data_sha256": hashlib.sha256("\n".join(self._hashes).encode()).hexdigest(),
            "case_json": canonical(self._cases[0].as_given(), ordered=True),
            "case_resolved_json": canonical(self.first),
            "cases": canonical(deduplicated_cases(self._cases, completed=True), ordered=True),
            "kinds": canonical(
                [{"law": law, "variables": meanings} for law, meanings in self._kinds]
            ),
            "laws": canonical({"of_run": self._law, "records": list(self._laws)}),
            "messages": canonical(self._messages),
            "run_sha256": canonical(self._hashes),
            "started": started,
            "wall_time": wall_time,
        }
        content = Content(variables, attributes, about)
        _Writer(content, self._packed).fill(self._file.id, content, root=True)


@contextlib.contextmanager
def ensemble_file(
    path: str | os.PathLike[str], overwrite: bool, cases: Sequence[Case]
) -> Iterator[EnsembleWriter]:
    """Open a file of many runs that grows, and gets its name once it is complete.

    Take the `claim` first.

    Parameters
    ----------
    path : str or path
    overwrite : bool
        Whether to replace an output file of that name.
    cases : sequence of Case
        Case of each run.

    Raises
    ------
    FileError
        If the file cannot be created, or does not fit on the disk.
    """
    needed = room_of_ensemble(path, cases)
    with new_hdf5(path, overwrite, needed + TEXT_OF_RUN * len(cases)) as file:
        yield EnsembleWriter(cases, file)


def room_of_ensemble(path: str | os.PathLike[str], cases: Sequence[Case]) -> float:
    """Return an upper limit on the size of the file of many runs [bytes].

    Raises
    ------
    FileError
        If the file does not fit on the disk, or is too large.
    """
    needed = sum(case.file_size for case in cases)
    if needed > LARGEST_ENSEMBLE:
        raise FileError(
            f"{os.fspath(path)}: the ensemble can have up to {needed:.3g} bytes. The limit "
            f"is {LARGEST_ENSEMBLE} bytes. Record less, or save the ensemble in several "
            "files."
        )
    check_free_space(path, needed)
    return needed


def ensemble_content(
    cases: Sequence[Case],
    results: Sequence[Result | None],
    status: Sequence[Status],
    messages: Sequence[str],
) -> Content:
    """Return the content of the file of an ensemble."""
    import h5py

    with h5py.File.in_memory() as file:
        file.attrs.create(OUTPUT_MARK.decode(), FORMAT, dtype=h5py.string_dtype())
        rows = EnsembleWriter(cases, file, packed=False)
        rows.add(0, results)
        rows.finish(status, messages, "", 0.0)
        return read_content(file, datasets_of(file, LARGEST_ENSEMBLE))


def deduplicated_cases(cases: Iterable[Case], completed: bool = False) -> dict[str, Any]:
    """Return cases as plain data, with each distinct table stored once.

    `parts` are the distinct tables. For each case, `runs` has the indices in `parts` of its given
    tables by name, of its other given data, and, if requested, of its completed tables.
    """
    index_of: dict[str, int] = {}

    def places(tables: Mapping[str, Any]) -> dict[str, int]:
        texts = {name: canonical(table, ordered=True) for name, table in tables.items()}
        return {name: index_of.setdefault(text, len(index_of)) for name, text in texts.items()}

    runs = []
    for case in cases:
        other = case.as_given()
        groups = [other.pop("tables"), other, *([case.resolved()] if completed else [])]
        runs.append([*map(places, groups)])
    return {"runs": runs, "parts": [json.loads(text) for text in index_of]}


def padded_rows(arrays: Sequence[np.ndarray | None], dims: int) -> np.ndarray:
    """Stack arrays of `dims` dimensions, padded with nan to the longest; None gives nan."""
    present = [np.zeros((0,) * dims) if array is None else array for array in arrays]
    padded = np.full(
        (len(present), *np.max([array.shape for array in present], axis=0).astype(int)), np.nan
    )
    for row, array in enumerate(present):
        within: Any = (row, *map(slice, array.shape))
        padded[within] = array
    return padded


def column_of(values: Sequence[Any]) -> np.ndarray:
    """Return numbers as an array, with nan for None, and anything else as text."""
    if all(
        value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))
        for value in values
    ):
        return np.array([np.nan if value is None else value for value in values], dtype=float)
    return np.array(
        [value if isinstance(value, str) else json.dumps(value) for value in values], dtype=object
    )
