"""Numbers in HDF5 files that others wrote, read through a guard: no links, no data of other files,
no sizes that the file cannot hold.

Packed by netCDF's conventions (Attribute Conventions, NetCDF Users Guide), they are unpacked: value
= stored scale_factor + add_offset, and what is a fill value, or outside the valid range, is no
number.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from granchain.errors import FileError
from granchain.store.files import quoted
from granchain.store.limit import Limit
from granchain.store.reader import LARGEST_RATIO

# Names that are looked at; a file with more is no record of a few sensors.
MOST_DATASETS = 1000
# Bytes that may be held beside what is counted: pieces of a dataset.
SMALL_PIECE = 64 * 1024**2
# What netCDF leaves where nothing was written (NC_FILL_SHORT, NC_FILL_INT, NC_FILL_INT64 of
# netcdf.h); any bytes are valid ones.
_NEVER_WRITTEN = {"i2": -32767, "i4": -2147483647, "i8": -9223372036854775806}
_SIGNATURE = b"\x89HDF\r\n\x1a\n"


class Foreign(NamedTuple):
    """Numbers of a file: name with the groups it is in, unit where one is given, values of one
    or two axes."""

    name: str
    unit: str | None
    values: np.ndarray


def is_hdf5(content: bytes) -> bool:
    """Whether bytes are an HDF5 file; MATLAB 7.3 puts a block of its own of 512 bytes in front."""
    return content.startswith(_SIGNATURE) or content[512:520] == _SIGNATURE


def foreign_numbers(path: str | os.PathLike[str], limit: Limit) -> list[Foreign]:
    """All numbers of one or two axes in an HDF5 file.

    Parameters
    ----------
    path : str or path
    limit : Limit
        Of the memory that may be taken.

    Raises
    ------
    FileError
        Where the file is damaged, or has what a guard must refuse.
    """
    import h5py

    content = Path(path).read_bytes()
    try:
        with h5py.File.in_memory(content) as file:
            datasets = _datasets(file, len(content))
            largest = max((_dataset_bytes(dataset) for dataset in datasets.values()), default=0)
            # HDF5 holds the file a second time; an array is held as it is stored until it is
            # converted.
            held, numbers = (
                2 * len(content) + largest,
                sum(math.prod(dataset.shape) for dataset in datasets.values()),
            )
            limit.check(os.fspath(path), held, numbers)
            netcdf = "_NCProperties" in file.attrs
            return [
                Foreign(name, _unit(dataset), _unpacked_numbers(name, dataset, netcdf))
                for name, dataset in datasets.items()
            ]
    except FileError as error:
        start = f"{os.fspath(path)}: "
        raise FileError(str(error) if str(error).startswith(start) else f"{start}{error}") from None
    except Exception as error:  # On a damaged file h5py raises nearly every built-in exception.
        reason = quoted(f"{type(error).__name__}: {error}")
        raise FileError(
            f"{os.fspath(path)}: cannot be read as HDF5 ({reason}); take another copy, or export "
            "it as CSV"
        ) from error


def _datasets(file: Any, size: int) -> dict[str, Any]:
    """All datasets of one or two axes of numbers, each of them looked at before it is read."""
    import h5py

    found: dict[str, Any] = {}
    waiting, seen, claimed = [("", file)], 0, 0
    while waiting:
        place, group = waiting.pop(0)
        for name in group:
            seen += 1
            if seen > MOST_DATASETS:
                raise FileError(
                    f"holds more than {MOST_DATASETS} names, allowed fewer; copy the record into "
                    "a file of its own"
                )
            link = group.id.links.get_info(name.encode("utf-8", "surrogateescape"))
            if link.type != h5py.h5l.TYPE_HARD:
                continue
            member, path = group[name], f"{place}{name}"
            if isinstance(member, h5py.Group):
                # Deeper than any record; a group may also be a member of itself.
                if path.count("/") < 5:
                    waiting.append((f"{path}/", member))
            elif (
                isinstance(member, h5py.Dataset)
                and member.dtype.kind in "fiu"
                and member.shape is not None
                and len(member.shape) <= 2
            ):
                claimed += _dataset_bytes(member)
                if claimed > LARGEST_RATIO * size:
                    raise FileError(
                        f"claims {claimed} bytes of data, more than its {size} bytes can hold; it "
                        "is damaged, or made to do harm"
                    )
                _check_storage(path, member)
                found[path] = member
    return found


def _dataset_bytes(dataset: Any) -> int:
    return math.prod(dataset.shape) * int(dataset.dtype.itemsize)


def _check_storage(name: str, dataset: Any) -> None:
    """Refuse data that are in another file, or unpack to more than they claim."""
    import h5py

    made = dataset.id.get_create_plist()
    if dataset.is_virtual or made.get_external_count():
        raise FileError(
            f"{name[:60]!r} keeps its data in another file, allowed data in the file itself; copy "
            "them into it"
        )
    filters = [made.get_filter(i)[0] for i in range(made.get_nfilters())]
    known = {
        h5py.h5z.FILTER_SHUFFLE,
        h5py.h5z.FILTER_FLETCHER32,
        h5py.h5z.FILTER_DEFLATE,
        h5py.h5z.FILTER_LZF,
    }
    packers = [one for one in filters if one in (h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_LZF)]
    if not set(filters) <= known or len(packers) > 1:
        raise FileError(
            f"{name[:60]!r} is packed in a way whose size is not known before, allowed gzip or "
            "lzf; write it anew: h5repack -f GZIP=4"
        )
    # Reading any of a piece takes the whole of it, at once packed and unpacked.
    piece = math.prod(dataset.chunks or (0,)) * int(dataset.dtype.itemsize)
    if piece > max(_dataset_bytes(dataset), SMALL_PIECE):
        raise FileError(
            f"{name[:60]!r} claims to be stored in pieces of {piece} bytes, more than its data "
            "have; it is damaged, or made to do harm"
        )


def _unpacked_numbers(name: str, dataset: Any, netcdf: bool) -> np.ndarray:
    """Values as netCDF's conventions unpack them, NaN where they are missing."""
    stored = np.asarray(dataset[()])
    if (
        stored.dtype.kind == "i"
        and str(_attribute_text(dataset.attrs.get("_Unsigned", ""))).lower() == "true"
    ):
        stored = stored.astype(stored.dtype.newbyteorder("=")).view(f"u{stored.dtype.itemsize}")
    missing = np.zeros(stored.shape, dtype=bool)
    for key in ("_FillValue", "missing_value"):
        for value in _attribute(name, dataset, key):
            missing |= stored == np.asarray(value).astype(stored.dtype)
    if stored.dtype.kind == "f":
        # NC_FILL_FLOAT and NC_FILL_DOUBLE (netcdf.h): what was never written.
        missing |= stored == stored.dtype.type(9.9692099683868690e36)
    elif netcdf and not missing.any() and stored.dtype.str[1:] in _NEVER_WRITTEN:
        missing |= stored == _NEVER_WRITTEN[stored.dtype.str[1:]]
    for key, outside in (("valid_min", np.less), ("valid_max", np.greater)):
        for value in _attribute(name, dataset, key)[:1]:
            missing |= outside(stored, value)
    valid = _attribute(name, dataset, "valid_range")
    if len(valid) == 2:
        missing |= (stored < valid[0]) | (stored > valid[1])
    scale, offset = (_attribute(name, dataset, key) for key in ("scale_factor", "add_offset"))
    if len(scale) > 1 or len(offset) > 1:
        raise FileError(
            f"{name[:60]!r}: got several values of scale_factor or add_offset, allowed one of "
            "each; unpack it first"
        )
    values = stored.astype(float)
    if len(scale):
        values *= float(scale[0])
    if len(offset):
        values += float(offset[0])
    values[missing] = np.nan
    return values


def _attribute(name: str, dataset: Any, key: str) -> np.ndarray:
    """The numbers of an attribute; none where it is not there."""
    value = dataset.attrs.get(key)
    found = np.zeros(0) if value is None else np.atleast_1d(np.asarray(value))
    if found.dtype.kind not in "fiu" or found.ndim != 1:
        raise FileError(
            f"{name[:60]!r}: got {quoted(str(value))!r} for {key}, allowed a number; unpack it "
            "first"
        )
    return found


def _attribute_text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes | np.bytes_) else str(value)


def _unit(dataset: Any) -> str | None:
    for name in ("units", "unit", "Unit", "Units", "unit_string"):
        value = dataset.attrs.get(name)
        if isinstance(value, str | bytes | np.bytes_):
            return _attribute_text(value)
    return None
