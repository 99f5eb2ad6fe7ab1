"""The writer of the output file: HDF5 that opens as netCDF-4, built in memory, or piece by piece where it is large.

A dimension scale on every axis, `units` and `long_name` on every variable, everything about how it was made under `/provenance`.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from granchain.status import Message, Status
from granchain.store.provenance import NUMBERS
from granchain.store.variables import FORMAT, Variable, attributes_in_file
from granchain.store.whole import SEAL, Growing

# Values in one chunk: 256 KiB of f8, compressed well and read quickly at any number of columns.
CHUNK = 32768
# Bytes that are put into a file at once.
WRITTEN_AT_ONCE = 16 * 1024**2


class Written(Protocol):
    """What a file holds of a result."""

    sealed: bool
    variables: dict[str, Variable]
    title: str
    law: str
    status: Status
    time_step: float
    messages: list[Message]

    @property
    def provenance(self) -> dict[str, Any]: ...


def image(result: Written) -> bytes:
    """The bytes of the output file: the same for the same result.

    A result that was read without its seal gets none: a copy vouches for no more than what it was made from.
    """
    attributes, about = root_attributes(result), said_of(result)
    return file_image(result.variables, attributes, about, packed=is_packed(result), sealed=result.sealed)


def file_image(
    variables: Mapping[str, Variable], attributes: dict[str, Any], provenance: dict[str, Any], *, packed: bool = True, sealed: bool = True
) -> bytes:
    """The bytes of a file with these attributes at its root, and this under `/provenance`."""
    import h5py

    with h5py.File.in_memory() as file:
        fill_file(file, variables, attributes, provenance, packed=packed)
        file.flush()
        content: bytes = file.id.get_file_image()
    return content + SEAL % hashlib.sha256(content).hexdigest().encode() if sealed else content


def fill_file(
    file: Any,
    variables: Mapping[str, Variable],
    attributes: dict[str, Any],
    provenance: dict[str, Any],
    *,
    packed: bool,
    progress: Callable[[float], Any] | None = None,
) -> None:
    """Put all that is held into a file; `progress` is called with the part that is in it, between pieces of some megabytes."""
    import h5py

    text = h5py.string_dtype()
    for name, value in attributes.items():
        file.attrs.create(name, value, dtype=None if isinstance(value, (int, float)) else text)
    size, done = sum(v.data.nbytes for v in variables.values()), 0
    for name, v in variables.items():
        if progress is None or v.data.nbytes <= WRITTEN_AT_ONCE:
            storage = {"dtype": text} if v.is_text else storage_of(v.data.shape, packed)
            file.create_dataset(name, data=v.data, track_times=False, **storage)
            done += v.data.nbytes
            continue
        dataset = file.create_dataset(name, v.data.shape, v.data.dtype, track_times=False, **storage_of(v.data.shape, packed))
        each = dataset.chunks[0]
        rows = each * max(1, WRITTEN_AT_ONCE * len(v.data) // (v.data.nbytes * each))
        for at in range(0, len(v.data), rows):
            dataset[at : at + rows] = v.data[at : at + rows]
            done += v.data[at : at + rows].nbytes
            progress(done / size)
    attach_scales(file, variables)
    put_provenance(file, provenance)


def write_large(result: Written, path: str | os.PathLike[str], overwrite: bool, progress: Callable[[float], Any]) -> None:
    """Write the output file piece by piece, FILE.part until it is whole: memory holds it once; take the `claim` first.

    Parameters
    ----------
    result : Written
    path : str or path
    overwrite : bool
        Replace an output file of that name.
    progress : function
        Called with the part that is written.
    """
    import h5py

    growing = Growing(path, overwrite)

    def written(done: Callable[[float], Any]) -> None:
        with h5py.File(growing, "w") as file:
            # first of all: by it a file is known to be one of ours
            file.attrs.create("granchain_format", FORMAT, dtype=h5py.string_dtype())
            file.flush()

            def piece(part: float) -> None:
                growing.check()
                done(part)

            fill_file(file, result.variables, root_attributes(result), said_of(result), packed=is_packed(result), progress=piece)
        growing.publish(sealed=result.sealed)

    try:
        growing.aside(written, progress)
    finally:
        growing.discard()


def said_of(result: Written) -> dict[str, Any]:
    """What a file says under `/provenance`."""
    provenance = {name: value for name, value in result.provenance.items() if name != "granchain_version"}
    return provenance | {"messages": json.dumps(result.messages)}


def is_packed(result: Written) -> bool:
    """Whether a file is packed: packing 100 MB takes 3 s, and who has stopped a run waits."""
    return result.status is not Status.INTERRUPTED


def attach_scales(file: Any, variables: Mapping[str, Variable]) -> None:
    """Give the datasets of these names their meanings, and each axis its labels."""
    for name, v in variables.items():
        for attribute, value in attributes_in_file(name, v).items():
            file[name].attrs[attribute] = value
        if v.dims == (name,):
            file[name].make_scale(name)
    for name, v in variables.items():
        if v.dims != (name,):
            for axis, scale in enumerate(v.dims):
                file[name].dims[axis].attach_scale(file[scale])


def put_provenance(file: Any, provenance: Mapping[str, Any]) -> None:
    """Everything about how it was made, under `/provenance`."""
    import h5py

    group = file.create_group("provenance")
    for name in sorted(provenance):
        if name in NUMBERS:
            group[name] = float(provenance[name])
            group[name].attrs["units"], group[name].attrs["long_name"] = NUMBERS[name]
        else:
            group.create_dataset(name, data=provenance[name], dtype=h5py.string_dtype(), track_times=False)


def storage_of(shape: tuple[int, ...], packed: bool, growing: bool = False) -> dict[str, Any]:
    """With a checksum, and packed if asked, in whole rows where they fit; an axis without an entry leaves nothing to pack, unless it
    will grow."""
    if not shape or (not math.prod(shape) and not growing):
        return {}
    chunks: list[int] = []
    for length in reversed(shape):
        chunks.insert(0, max(1, min(length, CHUNK // math.prod(chunks))))
    packing = {"compression": "gzip", "compression_opts": 4, "shuffle": True} if packed else {}
    return {"chunks": tuple(chunks), "fletcher32": True, **packing}


def root_attributes(result: Written) -> dict[str, Any]:
    """Attributes of the file's root."""
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
    elif "slider_acceleration" in result.variables:
        attributes |= {"NX_class": "NXdata", "signal": "slider_acceleration", "axes": ["time"]}
    return attributes
