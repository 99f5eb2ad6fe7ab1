"""Columns of numbers in files that are no text: NumPy, HDF5, MATLAB and TDMS; the kind is found from their content, not from their name.

What a file claims is counted before anything of it is unpacked.
"""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

import numpy as np

from granchain.errors import FileError, TraceError
from granchain.keys import shown
from granchain.store.limit import Limit
from granchain.traces.columns import Column, Record
from granchain.traces.headings import Heading, heading, known, same
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
    where = str(path)
    if content.startswith(b"\x93NUMPY"):
        stream = io.BytesIO(content)
        limit.check(where, 2 * len(content), _npy_size(stream, len(content), where)[0])
        return Record(_from_table(_npy(content, where), where))
    if content.startswith(b"PK\x03\x04"):
        return _from_arrays(_npz(content, where, limit), where)
    from granchain.store.foreign import is_hdf5

    if is_hdf5(content):
        return _hdf5(path, limit)
    if content.startswith(b"MATLAB 5.0 MAT-file"):
        return _from_arrays(_mat(content, where, limit), where)
    if content.startswith(b"TDSm"):
        return _tdms(content, where, limit)
    return None


def _npy_size(stream: BinaryIO, size: int, where: str) -> tuple[int, np.dtype[Any]]:
    """How many numbers an .npy file claims, and of what kind; nothing in it is executed."""
    try:
        version = np.lib.format.read_magic(stream)
        header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        shape, _, kind = header(stream)
        if kind.kind not in "fiu" or kind.names:
            raise TraceError(f"{where}: got values of type {kind!s:.40}, allowed real numbers; save the numbers alone")
        if math.prod(shape) * kind.itemsize != size - stream.tell():
            raise TraceError(f"{where}: got a file of another length than it claims, allowed a whole .npy file; save it again")
        return math.prod(shape), kind
    except TraceError:
        raise
    except Exception as error:  # The header is a text of Python's: damaged, it ends in any error of its reader.
        raise TraceError(
            f"{where}: got no whole .npy file ({shown(str(error))[1:-1]}), allowed an array of numbers; save it again"
        ) from None


def _npy(content: bytes, where: str) -> np.ndarray:
    """An array of numbers whose size was looked at."""
    try:
        return np.asarray(np.load(io.BytesIO(content), allow_pickle=False), dtype=float)
    except Exception as error:  # As above.
        raise TraceError(
            f"{where}: got no whole .npy file ({shown(str(error))[1:-1]}), allowed an array of numbers; save it again"
        ) from None


def _npz(content: bytes, where: str, limit: Limit) -> dict[str, np.ndarray]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            if not any(member.filename.endswith(".npy") for member in members):
                raise TraceError(f"{where}: got an archive without arrays, such as a spreadsheet's, allowed .npz; export it as CSV")
            for name, count in Counter(member.filename for member in members).items():
                if not name.endswith(".npy") or count > 1:
                    what = f"{count} times" if name.endswith(".npy") else "beside the arrays"
                    raise TraceError(f"{where}: got {shown(name)} {what}, allowed one array of numbers for each name; save them again")
            # Other ways of packing, which np.savez does not use, take the memory that they declare.
            if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in members):
                raise TraceError(f"{where}: got arrays packed in a way that NumPy does not use, allowed np.savez; save them again")
            held, numbers = len(content) + 2 * max((member.file_size for member in members), default=0), 0
            limit.check(where, held)
            for member in members:
                with archive.open(member) as stream:
                    numbers += _npy_size(stream, member.file_size, f"{where}: {member.filename}")[0]  # type: ignore[arg-type]
            limit.check(where, held, numbers)
            return {member.filename[:-4]: _npy(archive.read(member), f"{where}: {member.filename}") for member in members}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        raise TraceError(f"{where}: got no whole .npz file ({shown(str(error))[1:-1]}), allowed arrays of numbers; save it again") from None


def _hdf5(path: Path, limit: Limit) -> Record:
    from granchain.store import open_result
    from granchain.store.foreign import foreign_numbers

    found = foreign_numbers(path, limit)
    if any(one.name == "provenance/wall_time" for one in found) or {"time", "sensor_bead", "sensor_force"} <= {one.name for one in found}:
        result = open_result(path)
        forces = zip(result.sensor_bead.tolist(), result.sensor_force.T, strict=True)
        columns = [Column("time", "s", result.time), *(Column(f"bead {bead}", "N", force) for bead, force in forces)]
        return Record(columns, Preamble(f"simulated by granchain, contact law {result.law}"))
    units = {one.name: one.unit for one in found}
    return _from_arrays({one.name: one.values for one in found}, str(path), units)


def _mat(content: bytes, where: str, limit: Limit) -> dict[str, np.ndarray]:
    from scipy.io import loadmat, whosmat

    stream = io.BytesIO(content)
    try:
        # Versions before 7.3; 7.3 is HDF5.
        claimed = {name: shape for name, shape, kind in whosmat(stream) if kind in _MAT_KINDS and not name.startswith("__")}  # type: ignore[arg-type]
        limit.check(where, 2 * len(content), sum(math.prod(shape) for shape in claimed.values()))
        stream.seek(0)
        variables = loadmat(stream, struct_as_record=True, variable_names=list(claimed)) if claimed else {}  # type: ignore[arg-type]
    except FileError:
        raise
    except Exception as error:  # On a damaged file scipy raises many built-in exceptions.
        reason = shown(f"{type(error).__name__}: {error}")[1:-1]
        raise FileError(f"{where}: cannot be read as a MATLAB file ({reason}); save it again, or export it as CSV") from None
    return {
        name: np.asarray(values, dtype=float)
        for name, values in variables.items()
        if not name.startswith("__") and isinstance(values, np.ndarray) and values.dtype.kind in "fiu"
    }


# Classes of MATLAB's arrays of numbers.
_MAT_KINDS = ("double", "single", *(f"{sign}int{size}" for sign in ("", "u") for size in (8, 16, 32, 64)))


def _tdms(content: bytes, where: str, limit: Limit) -> Record:
    try:
        from nptdms import TdmsFile
    except ImportError:
        raise FileError(
            f'{where}: is a TDMS file, which the optional npTDMS reads: pip install "granchain[traces]"; or export it as CSV'
        ) from None
    try:
        # Its lengths first: npTDMS takes the memory that a channel claims.
        claimed = sum(len(channel) for group in TdmsFile.read_metadata(io.BytesIO(content)).groups() for channel in group.channels())
        limit.check(where, 2 * len(content), claimed)
        file = TdmsFile.read(io.BytesIO(content))
        channels = [channel for group in file.groups() for channel in group.channels() if len(channel)]
        arrays = [(channel.name, dict(channel.properties), np.asarray(channel[:], dtype=float)) for channel in channels]
    except FileError:
        raise
    except Exception as error:  # On a damaged file npTDMS raises many built-in exceptions.
        reason = shown(f"{type(error).__name__}: {error}")[1:-1]
        raise FileError(f"{where}: cannot be read as a TDMS file ({reason}); take another copy, or export it as CSV") from None
    columns = [_column(name, _word(properties.get("unit_string")), values, where) for name, properties, values in arrays]
    clocks = {(p.get("wf_start_offset", 0.0), p["wf_increment"]) for _, p, _ in arrays if p.get("wf_increment")}
    if len(clocks) > 1:
        raise TraceError(f"{where}: got channels with {len(clocks)} clocks, allowed one; export the channels of one clock")
    if not clocks:
        return Record(columns)
    start, increment = (float(value) for value in clocks.pop())
    return Record(
        columns, Preamble(clock=Clock(increment, start, "s", f"wf_increment {increment:g}") if 0.0 < increment < math.inf else None)
    )


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


def _column(name: str, unit: str | None, values: np.ndarray, where: str) -> Column:
    """A column under its name in the file, which may hold its unit as a heading does."""
    named: Heading = heading(name.rpartition("/")[2])
    if unit and named.unit and known(named.unit) and not same(unit, named.unit):
        raise TraceError(
            f"{where}: {shown(name)}: got the unit {shown(unit)} under a name that says {named.unit}, allowed one; mend one of them"
        )
    return Column(name, unit or named.unit, values, factor=named.factor)


def _from_arrays(arrays: dict[str, np.ndarray], where: str, units: Mapping[str, str | None] = MappingProxyType({})) -> Record:
    """Columns of named arrays: those that are as long as the time and beside it or below it, or of the only table."""
    arrays = {name: np.squeeze(values) for name, values in arrays.items()}
    clock = _picoscope(arrays)
    times = [name for name in arrays if name.rpartition("/")[2].lower() in _TIME_NAMES and arrays[name].ndim == 1]
    if clock is not None and not times:
        columns = [_column(name, units.get(name), values, where) for name, values in arrays.items() if values.ndim == 1]
        return Record(columns, Preamble(clock=clock))
    if not times:
        tables = {name: values for name, values in arrays.items() if values.size > 1}
        if len(tables) == 1:
            return Record(_from_table(next(iter(tables.values())), where))
        names = ", ".join(shown(name) for name in list(arrays)[:10]) or "none"
        raise TraceError(
            f'{where}: got the arrays {names}, allowed one named "time" with the forces beside it, or a single table; name it so'
        )
    if len(times) > 1:
        names = ", ".join(shown(name) for name in times[:NAMED])
        raise TraceError(f"{where}: got {len(times)} arrays of time, {names}, allowed one clock; give each record a file of its own")
    time = arrays.pop(times[0])
    group = times[0].rpartition("/")[0]
    columns, out = [_column(times[0], units.get(times[0]), time, where)], []
    for name, values in arrays.items():
        fits = values.ndim in (1, 2) and len(time) in values.shape
        if fits and group and not name.startswith(f"{group}/"):
            raise TraceError(
                f"{where}: got {shown(name)} in another group than the only times, {shown(times[0])}, allowed one record; copy the "
                "times and forces that belong together into a file of their own"
            )
        if fits:
            columns += _columns_like(name, units.get(name), values, len(time), where)
        elif values.size > 1:
            out.append(name)
    if len(columns) == 1:
        raise TraceError(f"{where}: got no array as long as its {len(time)} times, allowed one force for each time; save them together")
    more = f" and {len(out) - NAMED} more" if len(out) > NAMED else ""
    notes = (f"left out, being no array of {len(time)} numbers: {', '.join(map(shown, out[:NAMED]))}{more}",) if out else ()
    return Record(columns, Preamble(notes=notes))


def _picoscope(arrays: dict[str, np.ndarray]) -> Clock | None:
    """The clock of a file of PicoScope: Tstart and Tinterval in seconds beside the channels ("Importing into MATLAB", PicoScope 6)."""
    clock = {name.lower(): name for name in arrays if name.lower() in ("tstart", "tinterval", "length") and arrays[name].ndim == 0}
    if "tinterval" not in clock or not 0.0 < float(arrays[clock["tinterval"]]) < math.inf:
        return None
    values = {name: float(arrays.pop(stored)) for name, stored in clock.items()}
    return Clock(values["tinterval"], values.get("tstart", 0.0), "s", f"Tinterval {values['tinterval']:g}")


def _columns_like(name: str, unit: str | None, values: np.ndarray, length: int, where: str) -> Sequence[Column]:
    if values.ndim == 1:
        return [_column(name, unit, values, where)]
    if values.shape == (length, length):
        raise TraceError(
            f"{where}: {shown(name)}: got as many rows as columns, allowed one axis of samples; save each sensor under its name"
        )
    table = values if values.shape[0] == length else values.T
    made = [_column(name, unit, column, where) for column in table.T]
    return [Column(f"{name}, column {k}", column.unit, column.values, factor=column.factor) for k, column in enumerate(made, start=1)]
