"""The writer of output files, of one run or of many: HDF5 that opens as netCDF-4.

A dimension scale on every axis, `units` and `long_name` on every variable, everything about how it
was made under `/provenance`.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from granchain.portable import reserve_space
from granchain.store.files import OUTPUT_MARK, SEAL, SEAL_LENGTH, new_file
from granchain.store.provenance import NUMBERS
from granchain.store.variables import FORMAT, Variable, attributes_in_file

# Values in one chunk: 256 KiB of f8, compressed well and read quickly at any number of columns.
CHUNK = 32768
# Bytes that are put into a file at once.
WRITTEN_AT_ONCE = 16 * 1024**2
# Bytes of a file beside its data: texts and attributes have fewer, and each variable.
BESIDE_DATA, BESIDE_VARIABLE = 2**18, 2**11


@contextlib.contextmanager
def new_hdf5(path: str | os.PathLike[str], overwrite: bool, needed: float) -> Iterator[Any]:
    """An HDF5 file that gets its seal and its name once it is whole; take the `claim` first.

    The disk's room is taken before: HDF5 may end the process where a disk is full.

    Parameters
    ----------
    path : str or path
    overwrite : bool
        Replace an output file of that name.
    needed : float
        Bytes that its data take at most.
    """
    import h5py

    room = int(needed) + BESIDE_DATA
    with new_file(path, overwrite, (OUTPUT_MARK,), room + SEAL_LENGTH) as part:
        # the claim is the lock; of each column of an ensemble four pieces are held
        with h5py.File(part, "w", rdcc_nbytes=4 * 8 * CHUNK, locking=False) as file:
            with part.open("r+b") as disk:
                reserve_space(disk.fileno(), room + SEAL_LENGTH)
            # first of all: by it a file is known to be one of ours
            file.attrs.create("granchain_format", FORMAT, dtype=h5py.string_dtype())
            yield file
            file.flush()
            size = file.id.get_filesize()
        with part.open("r+b") as disk:
            disk.truncate(size)
            disk.write(SEAL % hashlib.file_digest(disk, "sha256").hexdigest().encode())


def write_file(
    path: str | os.PathLike[str],
    variables: Mapping[str, Variable],
    attributes: Mapping[str, Any],
    provenance: Mapping[str, Any],
    overwrite: bool,
    *,
    packed: bool = True,
    progress: Callable[[float], Any] = float,
    state: Mapping[str, Any] | None = None,
) -> None:
    """Write a file of these variables, whole or not at all; take the `claim` first.

    Parameters
    ----------
    path : str or path
    variables, attributes, provenance
        Variables and attributes of the root, and what stands under `/provenance`.
    overwrite : bool
        Replace an output file of that name.
    packed : bool
        Packing 100 MB takes 3 s.
    progress : callable
        Called with the part that is written, 0 to 1, between pieces of some megabytes.
    state : mapping, optional
        What stands under `/state`: arrays, and the facts as text.
    """
    import h5py

    needed = sum(stored_bytes(v) + BESIDE_VARIABLE for v in variables.values()) + sum(
        len(str(text)) for text in provenance.values()
    )
    needed += sum(
        BESIDE_VARIABLE + (len(held) if isinstance(held, str) else held.nbytes)
        for held in (state or {}).values()
    )
    with new_hdf5(path, overwrite, needed) as file:
        fill_file(file, variables, attributes, provenance, packed, progress)
        for name, held in (state or {}).items():
            kind = {"dtype": h5py.string_dtype()} if isinstance(held, str) else {}
            file.create_dataset(f"state/{name}", data=held, track_times=False, **kind)


def fill_file(
    file: Any,
    variables: Mapping[str, Variable],
    attributes: Mapping[str, Any],
    provenance: Mapping[str, Any],
    packed: bool = True,
    progress: Callable[[float], Any] = float,
) -> None:
    """Write variables, attributes and provenance into a file; a variable whose data are in it
    already has only its meaning written."""
    import h5py

    text, law = h5py.string_dtype(), str(attributes.get("law", ""))
    for name, value in attributes.items():
        file.attrs.create(name, value, dtype=None if isinstance(value, (int, float)) else text)
    size, done = (
        sum(v.data.nbytes for v in variables.values() if not isinstance(v.data, h5py.Dataset)),
        0,
    )
    for name, v in variables.items():
        if isinstance(v.data, h5py.Dataset):
            continue
        if v.data.nbytes <= WRITTEN_AT_ONCE:
            storage = {"dtype": text} if v.is_text else storage_of(v.data.shape, packed)
            file.create_dataset(name, data=v.data, track_times=False, **storage)
            done += v.data.nbytes
            continue
        dataset = file.create_dataset(
            name, v.data.shape, v.data.dtype, track_times=False, **storage_of(v.data.shape, packed)
        )
        each = dataset.chunks[0]
        rows = each * max(1, WRITTEN_AT_ONCE * len(v.data) // (v.data.nbytes * each))
        for at in range(0, len(v.data), rows):
            dataset[at : at + rows] = v.data[at : at + rows]
            done += v.data[at : at + rows].nbytes
            progress(done / size)
    for name, v in variables.items():
        for attribute, value in attributes_in_file(name, v, law).items():
            file[name].attrs[attribute] = value
        if v.dims == (name,):
            file[name].make_scale(name)
    for name, v in variables.items():
        for axis, scale in enumerate(v.dims if v.dims != (name,) else ()):
            file[name].dims[axis].attach_scale(file[scale])
    group = file.create_group("provenance")
    for name in sorted(provenance):
        if name in NUMBERS:
            group[name] = float(provenance[name])
            group[name].attrs["units"], group[name].attrs["long_name"] = NUMBERS[name]
        else:
            group.create_dataset(name, data=provenance[name], dtype=text, track_times=False)


def chunks_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Lengths of a piece: whole rows, where they fit."""
    chunks: list[int] = []
    for length in reversed(shape):
        chunks.insert(0, max(1, min(length, CHUNK // math.prod(chunks))))
    return tuple(chunks)


def stored_bytes(variable: Variable) -> int:
    """What the data of a variable take in a file at most: whole pieces, or texts."""
    if variable.is_text:
        return sum(len(text.encode()) + 64 for text in variable.data.ravel())
    pieces = chunks_of(variable.shape)
    return 9 * math.prod(
        -(-length // piece) * piece for length, piece in zip(variable.shape, pieces, strict=True)
    )


def storage_of(shape: tuple[int, ...], packed: bool, growing: bool = False) -> dict[str, Any]:
    """With a checksum, and packed if asked, in whole rows where they fit; an axis without an entry
    leaves nothing to pack, unless it
    will grow."""
    if not shape or (not math.prod(shape) and not growing):
        return {}
    packing = {"compression": "gzip", "compression_opts": 4, "shuffle": True} if packed else {}
    return {"chunks": chunks_of(shape), "fletcher32": True, **packing}
