"""Numbers in HDF5 files of other programs, read with the same inspection as output files.

Packed netCDF numbers are unpacked: value = stored scale_factor + add_offset (Attribute Conventions,
NetCDF Users Guide). Fill values become nan.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from granchain.store.dataset import LARGEST_RATIO, bytes_of, datasets_of, refusing

_SIGNATURE = b"\x89HDF\r\n\x1a\n"


# Fill values of netCDF by type (netcdf.h, NC_FILL_SHORT to NC_FILL_DOUBLE). Bytes have none.
NEVER_WRITTEN = {
    "i2": -32767,
    "i4": -2147483647,
    "i8": -9223372036854775806,
    "f4": 9.9692099683868690e36,
    "f8": 9.9692099683868690e36,
}


class Foreign(NamedTuple):
    """Numbers of a file: name with its groups, unit if available, and values of one or two axes."""

    name: str
    unit: str | None
    values: np.ndarray


def is_hdf5(content: bytes) -> bool:
    """Return whether bytes are an HDF5 file. MATLAB 7.3 adds a block of 512 bytes in front."""
    return content.startswith(_SIGNATURE) or content[512:520] == _SIGNATURE


def foreign_numbers(path: str | os.PathLike[str], check: Callable[..., None]) -> list[Foreign]:
    """Return all numbers of one or two axes in an HDF5 file.

    Parameters
    ----------
    path : str or path
    check : function
        Refuses what takes too much memory; it receives the path, bytes, and the count of numbers.

    Raises
    ------
    FileError
        If the file is damaged, or must be refused.
    """
    import h5py

    where, size = os.fspath(path), Path(path).stat().st_size
    advice = (
        "cannot be read as HDF5. It must be a valid HDF5 file. Use another copy, or export it "
        "as CSV."
    )
    with refusing(path, advice), h5py.File(path, "r", locking=False) as file:
        datasets = {
            name: dataset
            for name, dataset in datasets_of(file, LARGEST_RATIO * size, links=True).items()
            if dataset.dtype.kind in "fiu" and dataset.shape is not None and dataset.ndim <= 2
        }
        # an array is held as it is stored until it is converted
        largest = max(map(bytes_of, datasets.values()), default=0)
        numbers = sum(math.prod(dataset.shape) for dataset in datasets.values())
        check(where, size + largest, numbers)
        return [
            Foreign(name, _unit(dataset), _unpacked_numbers(dataset))
            for name, dataset in datasets.items()
        ]


def _unpacked_numbers(dataset: Any) -> np.ndarray:
    """Return unpacked values, with nan for values that were never written."""
    stored = np.asarray(dataset[()])
    values = stored.astype(float)
    values *= dataset.attrs.get("scale_factor", 1.0)
    values += dataset.attrs.get("add_offset", 0.0)
    for key in ("_FillValue", "missing_value"):
        values[np.isin(stored, dataset.attrs.get(key, []))] = np.nan
    if "_FillValue" not in dataset.attrs and stored.dtype.str[1:] in NEVER_WRITTEN:
        never = np.array(NEVER_WRITTEN[stored.dtype.str[1:]], stored.dtype)
        values[stored == never] = np.nan
    return values


def _unit(dataset: Any) -> str | None:
    for name in ("units", "unit", "Unit", "Units", "unit_string"):
        value = dataset.attrs.get(name)
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        if isinstance(value, str):
            return value
    return None
