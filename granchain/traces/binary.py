"""Columns of numbers in files that are no text: NumPy, HDF5, MATLAB and TDMS; the kind is found
from their content, not from their name.

What a file claims is counted before anything of it is unpacked.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from granchain.errors import FileError, TraceError
from granchain.keys import shown
from granchain.store.limit import Limit
from granchain.traces.columns import Column, Record
from granchain.traces.headings import factor_in, known, same, unit_in
from granchain.traces.preamble import Clock, Preamble

_TIME_NAMES = ("time", "t")
# Arrays that are left out, and named.
NAMED = 5


def binary_columns(path: Path, content: bytes, limit: Limit) -> Record | None:
    """Columns of a file that is no text, and its metadata; None for a text.

    Raises
    ------
    FileError, TraceError
    """
    from granchain.store.foreign import is_hdf5

    where = str(path)
    if content.startswith((b"\x93NUMPY", b"PK\x03\x04")):
        return _numpy(content, where, limit)
    if is_hdf5(content):
        return _hdf5(path, limit)
    if content.startswith(b"MATLAB 5.0 MAT-file"):
        return _matlab(content, where, limit)
    if content.startswith(b"TDSm"):
        return _tdms(content, where, limit)
    return None


def _numpy(content: bytes, where: str, limit: Limit) -> Record:
    """Columns of an .npy or .npz file; nothing in it is executed."""
    try:
        unpacked = len(content)
        if content.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                unpacked = sum(member.file_size for member in archive.infolist())
        limit.check(where, len(content) + unpacked)
        loaded = np.load(io.BytesIO(content), allow_pickle=False)
        arrays = (
            {"": loaded}
            if isinstance(loaded, np.ndarray)
            else {name: np.asarray(loaded[name]) for name in loaded}
        )
    except FileError:
        raise
    except (
        Exception
    ) as error:  # The header is a text of Python's: damaged, it ends in any error of its reader.
        reason = shown(str(error))[1:-1]
        raise TraceError(
            f"{where}: got no whole .npy or .npz file ({reason}), allowed arrays of numbers; save "
            "it again"
        ) from None
    for name, array in arrays.items():
        if array.dtype.kind not in "fiu":
            raise TraceError(
                f"{where}: {f'{shown(name)}: ' if name else ''}got values of type "
                f"{array.dtype!s:.40}, "
                "allowed real numbers; save the numbers alone, those of a spreadsheet as CSV"
            )
    limit.check(where, len(content) + unpacked, sum(array.size for array in arrays.values()))
    numbers = {name: np.asarray(array, dtype=float) for name, array in arrays.items()}
    return (
        Record(_table_columns(numbers[""], where))
        if "" in numbers
        else _array_columns(numbers, where)
    )


def _hdf5(path: Path, limit: Limit) -> Record:
    from granchain.store import open_result
    from granchain.store.foreign import foreign_numbers

    found = foreign_numbers(path, limit)
    names = {dataset.name for dataset in found}
    if "provenance/wall_time" in names or {"time", "sensor_bead", "sensor_force"} <= names:
        result = open_result(path)
        forces = zip(result.sensor_bead.tolist(), result.sensor_force.T, strict=True)
        columns = [
            Column("time", "s", result.time),
            *(Column(f"bead {bead}", "N", force) for bead, force in forces),
        ]
        return Record(columns, Preamble(f"simulated by granchain, contact law {result.law}"))
    return _array_columns(
        {name: values for name, _, values in found},
        str(path),
        {name: unit for name, unit, _ in found},
    )


def _matlab(content: bytes, where: str, limit: Limit) -> Record:
    """Columns of a file of MATLAB before 7.3, which is HDF5."""
    from scipy.io import loadmat, whosmat

    # scipy's types ask for a file
    stream: Any = io.BytesIO(content)
    try:
        claimed = {name: shape for name, shape, kind in whosmat(stream) if kind in _MATLAB_NUMBERS}
        limit.check(where, 2 * len(content), sum(math.prod(shape) for shape in claimed.values()))
        stream.seek(0)
        variables = loadmat(stream, variable_names=list(claimed)) if claimed else {}
        arrays = {
            name: np.asarray(variables[name], dtype=float)
            for name in claimed
            if variables[name].dtype.kind in "fiu"
        }
    except FileError:
        raise
    except Exception as error:  # On a damaged file scipy raises many built-in exceptions.
        reason = shown(f"{type(error).__name__}: {error}")[1:-1]
        raise FileError(
            f"{where}: cannot be read as a MATLAB file ({reason}); save it again, or export it as "
            "CSV"
        ) from None
    return _array_columns(arrays, where)


# Classes of MATLAB's arrays of numbers.
_MATLAB_NUMBERS = (
    "double",
    "single",
    *(f"{sign}int{size}" for sign in ("", "u") for size in (8, 16, 32, 64)),
)


def _tdms(content: bytes, where: str, limit: Limit) -> Record:
    try:
        from nptdms import TdmsFile
    except ImportError:
        raise FileError(
            f"{where}: is a TDMS file, which the optional npTDMS reads: pip install "
            '"granchain[traces]"; or export it as CSV'
        ) from None
    try:
        # Its lengths first: npTDMS takes the memory that a channel claims.
        claimed = sum(
            len(channel)
            for group in TdmsFile.read_metadata(io.BytesIO(content)).groups()
            for channel in group.channels()
        )
        limit.check(where, 2 * len(content), claimed)
        file = TdmsFile.read(io.BytesIO(content))
        channels = [
            channel for group in file.groups() for channel in group.channels() if len(channel)
        ]
        arrays = [
            (channel.name, dict(channel.properties), np.asarray(channel[:], dtype=float))
            for channel in channels
        ]
    except FileError:
        raise
    except Exception as error:  # On a damaged file npTDMS raises many built-in exceptions.
        reason = shown(f"{type(error).__name__}: {error}")[1:-1]
        raise FileError(
            f"{where}: cannot be read as a TDMS file ({reason}); take another copy, or export it "
            "as CSV"
        ) from None
    columns = [
        _named_column(name, str(properties.get("unit_string") or "") or None, values, where)
        for name, properties, values in arrays
    ]
    clocks = {
        (p.get("wf_start_offset", 0.0), p["wf_increment"])
        for _, p, _ in arrays
        if p.get("wf_increment")
    }
    if len(clocks) > 1:
        raise TraceError(
            f"{where}: got channels with {len(clocks)} clocks, allowed one; export the channels "
            "of one clock"
        )
    start, increment = map(float, clocks.pop() if clocks else (0.0, 0.0))
    if not 0.0 < increment < math.inf:
        return Record(columns)
    return Record(
        columns, Preamble(clock=Clock(increment, start, "s", f"wf_increment {increment:g}"))
    )


def _table_columns(array: np.ndarray, where: str) -> list[Column]:
    """Columns of one array: the longer axis is that of the samples."""
    if array.ndim not in (1, 2):
        raise TraceError(
            f"{where}: got an array with {array.ndim} axes, allowed one or two: samples, and time "
            "beside forces; save it so"
        )
    columns = (
        np.atleast_2d(array) if array.ndim == 1 or array.shape[0] < array.shape[1] else array.T
    )
    names = (
        ["time", *(f"column {k}" for k in range(2, len(columns) + 1))]
        if len(columns) > 1
        else ["column 1"]
    )
    return [Column(name, None, values) for name, values in zip(names, columns, strict=True)]


def _named_column(name: str, unit: str | None, values: np.ndarray, where: str) -> Column:
    """A column under its name in the file, which may hold its unit as a heading does."""
    heading = name.rpartition("/")[2]
    named = unit_in(heading)
    if unit and named and known(named) and not same(unit, named):
        raise TraceError(
            f"{where}: {shown(name)}: got the unit {shown(unit)} under a name that says {named}, "
            "allowed one; mend one of them"
        )
    return Column(name, unit or named, values, factor=factor_in(heading))


def _array_columns(
    arrays: dict[str, np.ndarray],
    where: str,
    units: Mapping[str, str | None] = MappingProxyType({}),
) -> Record:
    """Columns of named arrays: those that are as long as the time and beside it or below it, or
    of the only table."""
    arrays = {name: np.squeeze(values) for name, values in arrays.items()}
    clock = _picoscope_clock(arrays)
    times = [
        name
        for name in arrays
        if name.rpartition("/")[2].lower() in _TIME_NAMES and arrays[name].ndim == 1
    ]
    if clock is not None and not times:
        vectors = {name: values for name, values in arrays.items() if values.ndim == 1}
        return Record(
            [
                _named_column(name, units.get(name), values, where)
                for name, values in vectors.items()
            ],
            Preamble(clock=clock),
        )
    names = ", ".join(map(shown, list(arrays)[:10])) or "none"
    if not times:
        tables = [values for values in arrays.values() if values.size > 1]
        if len(tables) == 1:
            return Record(_table_columns(tables[0], where))
        raise TraceError(
            f'{where}: got the arrays {names}, allowed one named "time" with the forces beside '
            "it, or a single table; name it so"
        )
    if len(times) > 1:
        raise TraceError(
            f"{where}: got {len(times)} arrays of time among {names}, allowed one clock; give "
            "each record a file of its own"
        )
    time = arrays.pop(times[0])
    group, n = times[0].rpartition("/")[0], len(time)
    columns, out = [_named_column(times[0], units.get(times[0]), time, where)], []
    for name, values in arrays.items():
        if values.ndim not in (1, 2) or n not in values.shape:
            out += [shown(name)] if values.size > 1 else []
            continue
        if group and not name.startswith(f"{group}/"):
            raise TraceError(
                f"{where}: got {shown(name)} in another group than the only times, "
                f"{shown(times[0])}, allowed one record; copy the "
                "times and forces that belong together into a file of their own"
            )
        if values.shape == (n, n):
            raise TraceError(
                f"{where}: {shown(name)}: got as many rows as columns, allowed one axis of "
                "samples; save each sensor under its name"
            )
        column = _named_column(name, units.get(name), values, where)
        if values.ndim == 1:
            columns.append(column)
        else:
            table = enumerate(values.T if values.shape[0] == n else values, start=1)
            columns += [
                replace(column, name=f"{name}, column {k}", values=force) for k, force in table
            ]
    if len(columns) == 1:
        raise TraceError(
            f"{where}: got no array as long as its {n} times, allowed one force for each time; "
            "save them together"
        )
    more = f" and {len(out) - NAMED} more" if len(out) > NAMED else ""
    notes = (
        (f"left out, being no array of {n} numbers: {', '.join(out[:NAMED])}{more}",) if out else ()
    )
    return Record(columns, Preamble(notes=notes))


def _picoscope_clock(arrays: dict[str, np.ndarray]) -> Clock | None:
    """The clock of a file of PicoScope: Tstart and Tinterval in seconds beside the channels
    ("Importing into MATLAB", PicoScope 6)."""
    scalars = {name.lower(): name for name in arrays if arrays[name].ndim == 0}
    interval = float(arrays[scalars["tinterval"]]) if "tinterval" in scalars else 0.0
    if not 0.0 < interval < math.inf:
        return None
    start = float(arrays[scalars["tstart"]]) if "tstart" in scalars else 0.0
    return Clock(interval, start, "s", f"Tinterval {interval:g}")
