"""Columns of numbers in files that are no text: NumPy, HDF5, MATLAB and TDMS; the kind is told by what is in them, not by their name."""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from granchain.case_schema import shown
from granchain.errors import FileError, TraceError
from granchain.traces.columns import Column

# Numbers in a file at most, after unpacking.
MOST_NUMBERS = 64 * 1024**2
_TIME_NAMES = ("time", "t")


def binary_columns(path: Path, content: bytes) -> tuple[list[Column], str] | None:
    """Columns of a file that is no text, and what it says of itself; None for a text.

    Raises
    ------
    FileError, TraceError
    """
    if content.startswith(b"\x93NUMPY"):
        return _from_table(_npy(content, str(path)), str(path)), ""
    if content.startswith(b"PK\x03\x04"):
        return _from_arrays(_npz(content, str(path)), str(path)), ""
    from granchain.output.foreign import is_hdf5

    if is_hdf5(content):
        return _hdf5(path)
    if content.startswith(b"MATLAB 5.0 MAT-file"):
        return _from_arrays(_mat(content, str(path)), str(path)), ""
    if content.startswith(b"TDSm"):
        return _tdms(content, str(path)), ""
    return None


def _npy(content: bytes, where: str) -> np.ndarray:
    """An array of numbers; the size that it claims is looked at before memory is taken, and nothing in it is executed."""
    stream = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        shape, _, kind = header(stream)
        if kind.kind not in "fiu" or kind.names:
            raise TraceError(f"{where}: got values of type {kind!s:.40}, allowed real numbers; save the numbers alone")
        if math.prod(shape) * kind.itemsize != len(content) - stream.tell():
            raise TraceError(f"{where}: got a file of another length than it claims, allowed a whole .npy file; save it again")
        return np.asarray(np.load(io.BytesIO(content), allow_pickle=False), dtype=float)
    except TraceError:
        raise
    except Exception as error:  # The header is a text of Python's: damaged, it ends in any error of its reader.
        raise TraceError(
            f"{where}: got no whole .npy file ({shown(str(error))[1:-1]}), allowed an array of numbers; save it again"
        ) from None


def _npz(content: bytes, where: str) -> dict[str, np.ndarray]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
            if sum(member.file_size for member in members) > 8 * MOST_NUMBERS:
                raise TraceError(
                    f"{where}: claims more than {8 * MOST_NUMBERS} bytes of data, allowed less; cut out the part with the pulses"
                )
            return {member.filename[:-4]: _npy(archive.read(member), f"{where}: {member.filename}") for member in members}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        raise TraceError(f"{where}: got no whole .npz file ({shown(str(error))[1:-1]}), allowed arrays of numbers; save it again") from None


def _hdf5(path: Path) -> tuple[list[Column], str]:
    from granchain.output import open_result
    from granchain.output.foreign import foreign_numbers

    found = foreign_numbers(path)
    if any(one.name == "provenance/wall_time" for one in found) or {"time", "sensor_bead", "sensor_force"} <= {one.name for one in found}:
        result = open_result(path)
        forces = zip(result.sensor_bead.tolist(), result.sensor_force.T, strict=True)
        columns = [Column("time", "s", result.time), *(Column(f"bead {bead}", "N", force) for bead, force in forces)]
        return columns, f"simulated by granchain, contact law {result.law}"
    units = {one.name: one.unit for one in found}
    return _from_arrays({one.name: one.values for one in found}, str(path), units), ""


def _mat(content: bytes, where: str) -> dict[str, np.ndarray]:
    from scipy.io import loadmat

    try:
        # Versions before 7.3; 7.3 is HDF5.
        variables = loadmat(io.BytesIO(content), struct_as_record=True)  # type: ignore[arg-type]
    except Exception as error:  # On a damaged file scipy raises many built-in exceptions.
        reason = shown(f"{type(error).__name__}: {error}")[1:-1]
        raise FileError(f"{where}: cannot be read as a MATLAB file ({reason}); save it again, or export it as CSV") from None
    return {
        name: np.asarray(values, dtype=float)
        for name, values in variables.items()
        if not name.startswith("__") and isinstance(values, np.ndarray) and values.dtype.kind in "fiu"
    }


def _tdms(content: bytes, where: str) -> list[Column]:
    try:
        from nptdms import TdmsFile
    except ImportError:
        raise FileError(
            f'{where}: is a TDMS file, which the optional npTDMS reads: pip install "granchain[traces]"; or export it as CSV'
        ) from None
    try:
        file = TdmsFile.read(io.BytesIO(content))
        channels = [channel for group in file.groups() for channel in group.channels() if len(channel)]
        arrays = [(channel.name, dict(channel.properties), np.asarray(channel[:], dtype=float)) for channel in channels]
    except Exception as error:  # On a damaged file npTDMS raises many built-in exceptions.
        reason = shown(f"{type(error).__name__}: {error}")[1:-1]
        raise FileError(f"{where}: cannot be read as a TDMS file ({reason}); take another copy, or export it as CSV") from None
    columns = [Column(name, _word(properties.get("unit_string")), values) for name, properties, values in arrays]
    clocks = {(p.get("wf_start_offset", 0.0), p["wf_increment"], len(values)) for _, p, values in arrays if p.get("wf_increment")}
    if len(clocks) == 1 and not any(column.name.lower() in _TIME_NAMES for column in columns):
        start, increment, count = clocks.pop()
        columns.insert(0, Column("time", "s", float(start) + float(increment) * np.arange(count)))
    return columns


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _from_table(array: np.ndarray, where: str) -> list[Column]:
    """Columns of one array: the longer axis is that of the samples."""
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2:
        raise TraceError(f"{where}: got an array with {array.ndim} axes, allowed one or two: samples, and time beside forces; save it so")
    if array.shape[0] < array.shape[1]:
        array = array.T
    names = ["time", *(f"column {k}" for k in range(2, array.shape[1] + 1))] if array.shape[1] > 1 else ["column 1"]
    return [Column(name, None, values) for name, values in zip(names, array.T, strict=True)]


def _from_arrays(arrays: dict[str, np.ndarray], where: str, units: Mapping[str, str | None] = MappingProxyType({})) -> list[Column]:
    """Columns of named arrays: those that are as long as the time, or of the only table."""
    arrays = {name: np.squeeze(values) for name, values in arrays.items()}
    times = [name for name in arrays if name.rpartition("/")[2].lower() in _TIME_NAMES and arrays[name].ndim == 1]
    if not times:
        tables = {name: values for name, values in arrays.items() if values.ndim in (1, 2) and values.size > 1}
        if len(tables) == 1:
            return _from_table(next(iter(tables.values())), where)
        names = ", ".join(shown(name) for name in list(arrays)[:10]) or "none"
        raise TraceError(
            f'{where}: got the arrays {names}, allowed one named "time" with the forces beside it, or a single table; name it so'
        )
    if len(times) > 1:
        raise TraceError(f"{where}: got {len(times)} arrays of time, allowed one clock; give each record a file of its own")
    time = arrays.pop(times[0])
    columns = [Column("time", units.get(times[0]), time)]
    for name, values in arrays.items():
        columns += _columns_like(name, units.get(name), values, len(time))
    if len(columns) == 1:
        raise TraceError(f"{where}: got no array as long as its {len(time)} times, allowed one force for each time; save them together")
    return columns


def _columns_like(name: str, unit: str | None, values: np.ndarray, length: int) -> Sequence[Column]:
    if values.ndim == 1:
        return [Column(name, unit, values)] if len(values) == length else []
    if values.ndim != 2 or length not in values.shape:
        return []
    table = values if values.shape[0] == length else values.T
    return [Column(f"{name}, column {k}", unit, column) for k, column in enumerate(table.T, start=1)]
