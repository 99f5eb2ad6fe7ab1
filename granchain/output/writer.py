"""The writer of the output file: HDF5 that opens as netCDF-4, built in memory.

A dimension scale on every axis, `units` and `long_name` on every variable, everything about how it was made under `/provenance`.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any, Protocol

from granchain.output.provenance import NUMBERS
from granchain.output.variables import FORMAT, Variable
from granchain.output.whole import SEAL
from granchain.status import Status

# Values in one chunk: 256 KiB of f8, compressed well and read quickly at any number of columns.
CHUNK = 32768


class Held(Protocol):
    """What a file holds: of a result, or of an ensemble."""

    sealed: bool
    variables: dict[str, Variable]

    @property
    def provenance(self) -> dict[str, Any]: ...


class Written(Held, Protocol):
    """What a file holds of a result."""

    title: str
    law: str
    status: Status
    time_step: float
    messages: list[str]


def image(result: Written) -> bytes:
    """The bytes of the output file: the same for the same result.

    That of an interrupted run is not packed: packing 100 MB takes 3 s, and who has stopped a run waits. A result that was read without its
    seal gets none: a copy vouches for no more than what it was made from.
    """
    provenance = {name: value for name, value in result.provenance.items() if name != "granchain_version"}
    provenance["messages"] = json.dumps(result.messages)
    return image_of(result, root_attributes(result), provenance, packed=result.status is not Status.INTERRUPTED)


def image_of(held: Held, attributes: dict[str, Any], provenance: dict[str, Any], *, packed: bool = True) -> bytes:
    """The bytes of a file with these attributes at its root, and this under `/provenance`."""
    import h5py

    text = h5py.string_dtype()
    with h5py.File.in_memory() as file:
        for name, value in attributes.items():
            file.attrs.create(name, value, dtype=None if isinstance(value, float) else text)
        for name, v in held.variables.items():
            storage = {"dtype": text} if v.is_text else _storage(v.data.shape, packed)
            dataset = file.create_dataset(name, data=v.data, track_times=False, **storage)
            for attribute, value in v.attributes.items():
                dataset.attrs[attribute] = value
            if v.dims == (name,):
                dataset.make_scale(name)
        for name, v in held.variables.items():
            if v.dims != (name,):
                for axis, scale in enumerate(v.dims):
                    file[name].dims[axis].attach_scale(file[scale])
        group = file.create_group("provenance")
        for name in sorted(provenance):
            if name in NUMBERS:
                group[name] = float(provenance[name])
                group[name].attrs["units"], group[name].attrs["long_name"] = NUMBERS[name]
            else:
                group.create_dataset(name, data=provenance[name], dtype=text, track_times=False)
        file.flush()
        content: bytes = file.id.get_file_image()
    return content + SEAL % hashlib.sha256(content).hexdigest().encode() if held.sealed else content


def _storage(shape: tuple[int, ...], packed: bool) -> dict[str, Any]:
    """With a checksum, and packed if asked, in whole rows where they fit; an axis without an entry leaves nothing to pack."""
    if not math.prod(shape):
        return {}
    chunks: list[int] = []
    for length in reversed(shape):
        chunks.insert(0, min(length, max(1, CHUNK // math.prod(chunks))))
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
