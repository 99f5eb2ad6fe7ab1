"""Columns of numbers in binary files: NumPy, HDF5, MATLAB, TDMS, and Excel.

The kind of a file is determined from its content, not from its name.

The size that a file declares is checked before anything is unpacked.
"""

from __future__ import annotations

import importlib
import io
import math
import re
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from granchain.case.document import first_few
from granchain.errors import FileError, TraceError
from granchain.keys import shown
from granchain.measured.columns import Asked, Column, Record
from granchain.measured.headings import TIME_UNITS, Clock, Preamble, factor_in, size_of, unit_in
from granchain.measured.limit import Limit
from granchain.measured.text import text_columns
from granchain.measured.trace import LEAST_SAMPLES

# Largest number of ignored arrays that a message lists.
NAMED = 5
# MATLAB classes of numeric arrays.
_MATLAB_NUMBERS = ("double", "single", *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)))
_NUMBER = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")


def binary_columns(path: Path, content: bytes, asked: Asked, limit: Limit) -> Record | None:
    """Return the columns and metadata of a binary file, or None for a text file.

    Raises
    ------
    FileError, TraceError
    """
    from granchain.store.foreign import is_hdf5

    if is_hdf5(content):
        return _hdf5(path, asked, limit)
    readers = {
        b"\x93NUMPY": (".npy", _numpy),
        b"PK\x03\x04": (".npz", _numpy),
        b"MATLAB 5.0 MAT-file": ("MATLAB", _matlab),
        b"TDSm": ("TDMS", _tdms),
    }
    found = [readers[mark] for mark in readers if content.startswith(mark)]
    if not found:
        return None
    kind, reader = found[0]
    workbook = kind == ".npz" and b"xl/workbook.xml" in content
    try:
        if workbook:
            kind = "Excel"
            sheet = _sheet_text(content, str(path), asked, limit)
            return text_columns(sheet, str(path), asked.decimal, limit)
        arrays, units, clock = reader(content, str(path), limit)
    except (FileError, TraceError):
        raise
    except Exception as error:  # A damaged file may cause any error.
        reason = shown(f"{type(error).__name__}: {error}")[1:-1]
        raise FileError(
            f"{path}: not a valid {kind} file ({reason}). It must contain arrays of numbers. "
            "Save it again, or export it as CSV."
        ) from None
    return _columns_of(arrays, units, clock, asked)


_Arrays = tuple[dict[str, np.ndarray], dict[str, str | None], Clock | None]


def _numpy(content: bytes, where: str, limit: Limit) -> _Arrays:
    """Return the arrays of an .npy or .npz file. Nothing in it is executed."""
    unpacked = _unpacked_size(content) if content.startswith(b"PK") else len(content)
    limit.check(where, len(content) + unpacked)
    loaded = np.load(io.BytesIO(content), allow_pickle=False)
    arrays = {"array": loaded} if isinstance(loaded, np.ndarray) else dict(loaded)
    for name, array in arrays.items():
        if array.dtype.kind not in "fiu":
            raise TraceError(
                f"{shown(name)}: the values have the type {array.dtype!s:.40}. They must be "
                "real numbers. Save only the numbers, or export a spreadsheet as CSV."
            )
    limit.check(where, len(content) + unpacked, sum(array.size for array in arrays.values()))
    return arrays, {}, None


def _unpacked_size(content: bytes) -> int:
    """Return the unpacked size of a zip file [bytes]."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return sum(member.file_size for member in archive.infolist())


def _optional(module: str, package: str, kind: str, where: str) -> Any:
    """Return a module of an optional package.

    Raises
    ------
    FileError
        If the package is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise FileError(
            f"{where}: {kind} requires the optional package {package}, which is not "
            'installed. Install it with pip install "granchain[traces]", or export the file '
            "as CSV."
        ) from None


def _sheet_text(content: bytes, where: str, asked: Asked, limit: Limit) -> bytes:
    """Return a sheet of a workbook as text.

    It is the requested sheet, or the only one with rows of numbers. The text has one line per row,
    with tabs between the cells. Numbers have full precision, and formulas are replaced by the saved
    values.
    """
    openpyxl = _optional("openpyxl", "openpyxl", "an Excel workbook", where)
    # the shortest cell, <c><v>1</v></c>, has 15 bytes; its text has 23 and is stored three times
    limit.check(where, len(content) + 5 * _unpacked_size(content))
    with warnings.catch_warnings():
        # warnings about styles, which are irrelevant here
        warnings.simplefilter("ignore")
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    if asked.sheet is not None and asked.sheet not in book.sheetnames:
        names = ", ".join(map(shown, book.sheetnames))
        raise TraceError(
            f"--sheet: {shown(asked.sheet)} is not a sheet of the workbook. It must be one of "
            f"{names}."
        )
    found = {}
    # a cell has at least 15 bytes, but a single row number makes a reader go through all rows
    # before it, and a column letter through all cells
    rows_and_cells, most = 0, len(content) + _unpacked_size(content)
    for sheet in book.worksheets if asked.sheet is None else [book[asked.sheet]]:
        lines, numbers, plain, commas = [], 0, False, ""
        for row in sheet.iter_rows(values_only=True):
            rows_and_cells += 1 + len(row)
            if rows_and_cells > most:
                raise FileError(
                    f"{where}: the sheet {shown(sheet.title)} has more rows and cells than its "
                    f"size allows. A file of {len(content)} bytes may have at most {most}. Delete "
                    "the cells far from the table, or export it as CSV."
                )
            cells = [_cell_text(value, asked.decimal) for value in row]
            numbers += any(map(_NUMBER.fullmatch, cells))
            plain |= any(isinstance(value, float) for value in row)
            texts = (one for one in row if isinstance(one, str) and "," in one)
            commas = commas or next(filter(_NUMBER.fullmatch, texts), "")
            lines.append("\t".join(cells).rstrip("\t"))
        if plain and commas and asked.decimal is None:
            raise TraceError(
                f"{shown(sheet.title)}: {shown(commas)} is text, but other cells are numbers. "
                "All cells of a record must be numbers. If the comma is a decimal comma, use "
                "--decimal comma. Otherwise, correct the workbook."
            )
        if numbers >= LEAST_SAMPLES:
            found[sheet.title] = "\n".join(lines)
    if len(found) != 1:
        names = ", ".join(map(shown, found or book.sheetnames))
        raise TraceError(
            f"{len(found)} sheets have {LEAST_SAMPLES} or more rows of numbers ({names}). "
            "Exactly one sheet must be imported. Select it with --sheet NAME. Formulas "
            "without saved values are ignored; to save their values, save the workbook in a "
            "spreadsheet program."
        )
    return found.popitem()[1].encode()


def _cell_text(value: Any, decimal: str | None) -> str:
    """Return a cell as text. Numbers are unambiguous, with the given decimal sign."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        # 17 digits reproduce a double exactly
        return f"{value:.16e}".replace(".", decimal or ".")
    return "" if value is None else " ".join(str(value).split())


def _matlab(content: bytes, where: str, limit: Limit) -> _Arrays:
    """Return the arrays of a MATLAB file of a version before 7.3, which uses HDF5."""
    from scipy.io import loadmat, whosmat

    # the type hints of scipy require a file
    stream: Any = io.BytesIO(content)
    claimed = {name: shape for name, shape, kind in whosmat(stream) if kind in _MATLAB_NUMBERS}
    limit.check(where, 2 * len(content), sum(math.prod(shape) for shape in claimed.values()))
    if not claimed:
        others = ", ".join(f"{shown(name)} ({kind})" for name, _, kind in whosmat(stream)[:NAMED])
        raise TraceError(
            f"no array of numbers found (other contents: {others or 'none'}). At least one "
            "array of numbers is required. Save the numbers as arrays; for a struct, use "
            'save("record.mat", "-struct", "NAME").'
        )
    stream.seek(0)
    variables = loadmat(stream, variable_names=list(claimed)) if claimed else {}
    arrays = {name: variables[name] for name in claimed if variables[name].dtype.kind in "fiu"}
    return arrays, {}, None


def _tdms(content: bytes, where: str, limit: Limit) -> _Arrays:
    TdmsFile = _optional("nptdms", "npTDMS", "a TDMS file", where).TdmsFile
    # Check the lengths first, because npTDMS allocates the memory that a channel declares.
    groups = TdmsFile.read_metadata(io.BytesIO(content)).groups()
    claimed = sum(len(channel) for group in groups for channel in group.channels())
    limit.check(where, 2 * len(content), claimed)
    file = TdmsFile.read(io.BytesIO(content))
    channels = [channel for group in file.groups() for channel in group.channels() if len(channel)]
    arrays = {channel.name: np.asarray(channel[:]) for channel in channels}
    units = {one.name: str(one.properties.get("unit_string") or "") or None for one in channels}
    clocks = {
        (one.properties.get("wf_start_offset", 0.0), one.properties["wf_increment"])
        for one in channels
        if one.properties.get("wf_increment")
    }
    if len(clocks) > 1 or len(arrays) < len(channels):
        raise TraceError(
            f"the file has {len(channels)} channels with {len(clocks)} clocks and "
            f"{len(arrays)} names. All channels must have one clock and different names. "
            "Export the channels of one clock."
        )
    start, interval = map(float, clocks.pop() if clocks else (0.0, 0.0))
    clock = Clock(interval, start, "s", f"wf_increment {interval:g}")
    return arrays, units, clock if 0.0 < interval < math.inf else None


def _hdf5(path: Path, asked: Asked, limit: Limit) -> Record:
    from granchain.store import open_answer
    from granchain.store.foreign import foreign_numbers

    found = foreign_numbers(path, limit.check)
    arrays = {one.name: one.values for one in found}
    if "provenance/wall_time" in arrays or {"time", "sensor_bead", "sensor_force"} <= set(arrays):
        result = open_answer(path)
        forces = zip(result.sensor_bead.tolist(), result.sensor_force.T, strict=True)
        columns = [
            Column("time", "s", result.time),
            *(Column(f"bead {bead}", "N", force) for bead, force in forces),
        ]
        return Record(columns, Preamble(f"simulated by granchain, contact law {result.law}"))
    return _columns_of(arrays, {one.name: one.unit for one in found}, None, asked)


def _columns_of(
    arrays: Mapping[str, np.ndarray],
    units: Mapping[str, str | None],
    clock: Clock | None,
    asked: Asked,
) -> Record:
    """Return the columns of named arrays.

    These are the arrays as long as the time, in its group or below it, or all arrays if a clock is
    specified. If there is only one table, they are its columns, with the samples along the longer
    axis.
    """
    arrays = {name: np.squeeze(np.asarray(values, float)) for name, values in arrays.items()}
    scalars = {name.lower(): float(one) for name, one in arrays.items() if one.ndim == 0}
    interval = scalars.get("tinterval", 0.0)
    if 0.0 < interval < math.inf:
        # variables of PicoScope, in seconds ("Importing into MATLAB", PicoScope 6)
        clock = Clock(interval, scalars.get("tstart", 0.0), "s", f"Tinterval {interval:g}")
    arrays = {name: values for name, values in arrays.items() if values.ndim}
    names = ", ".join(map(shown, list(arrays)[:10])) or "none"
    last = {name: name.rpartition("/")[2] for name in arrays}
    times = [name for name in arrays if last[name].lower() in ("time", "t")] or [
        name
        for name in arrays
        if size_of(units.get(name) or unit_in(last[name]), TIME_UNITS) is not None
    ]
    if asked.time is not None:
        times = [name for name in arrays if asked.time in (name, last[name])]
        if not times:
            raise TraceError(
                f"--time: array {shown(asked.time)} not found. It must be one of {names}. "
                "Specify the array that contains the times."
            )
    elif asked.interval is not None:
        times = []
    alone = not times and len(arrays) == 1
    if alone and arrays[next(iter(arrays))].ndim == 2:
        (table,) = arrays.values()
        samples = table if table.shape[0] < table.shape[1] else table.T
        headings = ["time", *(f"column {k}" for k in range(2, len(samples) + 1))]
        columns = [Column(name, None, one) for name, one in zip(headings, samples, strict=True)]
        return Record(columns, Preamble(clock=clock))
    if len(times) > 1 or not (times or clock or alone or asked.interval):
        raise TraceError(
            f'{len(times)} time arrays found among {names}. Exactly one array named "time" '
            "with the forces next to it, or a single table, is required. Specify the time "
            "array with --time NAME, or the sampling interval with --interval 1e-6. Put each "
            "record into a separate file."
        )
    n = len(arrays[times[0]]) if times else max(map(len, arrays.values()), default=0)
    group = times[0].rpartition("/")[0] if times else ""
    columns, out = [], []
    for name, values in arrays.items():
        if values.ndim > 2 or n not in values.shape:
            out.append(shown(name))
            continue
        if group and not name.startswith(f"{group}/"):
            raise TraceError(
                f"{shown(name)} is not in the same group as the only time array, "
                f"{shown(times[0])}. A file must contain one record. Copy the times and their "
                "forces into a separate file."
            )
        if values.shape == (n, n):
            raise TraceError(
                f"{shown(name)}: the array has as many rows as columns. The axis of the "
                "samples must be unambiguous. Save each sensor as a separate array."
            )
        heading = name.rpartition("/")[2]
        unit, factor = units.get(name) or unit_in(heading), factor_in(heading)
        table = np.atleast_2d(values if values.shape[-1] == n else values.T)
        columns += [
            Column(name if len(table) == 1 else f"{name}, column {k}", unit, one, factor=factor)
            for k, one in enumerate(table, start=1)
        ]
    left_out = f"ignored because they are not arrays of {n} numbers: {first_few(out, NAMED)}"
    notes = (left_out,) if out else ()
    return Record(columns, Preamble(clock=clock, notes=notes))
