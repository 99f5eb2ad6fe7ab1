"""Traces on disk: folders with `about.toml` and `trace.csv`, and import of files."""

from __future__ import annotations

import hashlib
import math
import os
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from granchain.case.document import parsed, read_text, set_values
from granchain.errors import CaseError, FileError, TraceError
from granchain.keys import Problems, shown
from granchain.measured.about import AboutTable, about_of, written
from granchain.measured.columns import Asked, Record, in_file, joined, trace_of
from granchain.measured.limit import DEFAULT_LIMIT, Limit
from granchain.measured.text import text_columns
from granchain.measured.trace import Trace
from granchain.store import write_atomically
from granchain.store.files import check_new, folder_for, open_for_reading

ABOUT, CURVES = "about.toml", "trace.csv"
# Number of rows per write.
ROWS = 10_000
# Words that show that a file was not recorded by an instrument.
COMPUTED_WORDS = ("synthetic", "simulat")


def content_of(path: str | os.PathLike[str], limit: Limit) -> bytes:
    """Return all bytes of a file."""
    with open_for_reading(path, "a file with text or numbers", sys.maxsize) as file:
        limit.check(os.fspath(path), os.fstat(file.fileno()).st_size)
        return file.read()


def read_about(folder: str | os.PathLike[str]) -> AboutTable:
    """Return the content of `about.toml` in a folder.

    Raises
    ------
    FileError, TraceError
    """
    path = Path(folder) / ABOUT
    if not Path(folder).is_dir():
        raise FileError(
            f"{folder}: folder not found. A folder with {ABOUT} and {CURVES} is required. To "
            "create one, use granchain traces import FILE."
        )
    return about_of(document_of(path), str(path), (Path(folder) / CURVES).exists())


def document_of(path: Path) -> dict[str, Any]:
    """Return the tables of an `about.toml`.

    Raises
    ------
    FileError, TraceError
    """
    try:
        return parsed(read_text(path, str(path)), path.name)
    except CaseError as error:
        raise TraceError(f"{path.parent}: {error}") from None


def read_trace(folder: str | os.PathLike[str], limit: float = DEFAULT_LIMIT) -> Trace:
    r"""Read a measured trace.

    Parameters
    ----------
    folder : str or path
        Folder with `about.toml` and `trace.csv`, as written by `granchain traces import`.
    limit : float
        Upper limit on the memory for reading [bytes].

    Returns
    -------
    Trace
        The trace.

    Raises
    ------
    FileError
        If the folder or one of its files is missing or cannot be read.
    TraceError
        If the trace is invalid. The message lists every error.

    Examples
    --------
    >>> import os, tempfile
    >>> import granchain as gc
    >>> from granchain.measured import import_trace
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "rig.csv")
    ...     with open(file, "w") as csv:
    ...         lines = ["time [s],bead 9 [N]", *(f"{k * 1e-6},{k % 7}" for k in range(20))]
    ...         print(*lines, sep=chr(10), file=csv)
    ...     _ = import_trace(file, os.path.join(folder, "rig"), "measured")
    ...     trace = gc.read_trace(os.path.join(folder, "rig"))
    >>> trace.sensor_bead.tolist()
    [9]
    """
    about = read_about(folder)
    path = Path(folder) / CURVES
    if not path.exists():
        raise FileError(
            f"{path}: file not found. A measured trace is required, but this folder contains "
            "only facts about the experiment. To add the trace, use granchain traces import "
            f"FILE --kind {about.kind} --out {folder}."
        )
    allowed = Limit(limit, "granchain.read_trace(FOLDER, limit={0:.1e})")
    # The file was written by granchain, with decimal points.
    with in_file(str(path)):
        record = text_columns(content_of(path, allowed), str(path), ".", allowed)
        _check_kind(about.kind, f"{path.name} {record.preamble.words}")
        return trace_of(record, Asked(), about, str(path), allowed)


def _check_kind(kind: str, words: str) -> None:
    """Raise an error if computed numbers are labelled as measured.

    The name of the file and the lines above the numbers are checked.
    """
    word = next((word for word in COMPUTED_WORDS if word in words.lower()), None)
    if word and kind != "synthetic":
        raise TraceError(
            f'kind "{kind}" does not match the file, which contains the word "{word}". '
            'Computed data must have the kind "synthetic". Use --kind synthetic.'
        )


def import_trace(
    file: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    kind: str,
    asked: Asked | None = None,
    changes: Sequence[str] = (),
    overwrite: bool = False,
    limit: float = DEFAULT_LIMIT,
) -> Trace:
    """Import measured forces into a folder with `about.toml` and `trace.csv`.

    Parameters
    ----------
    file : str, path, or sequence of them
        CSV file of an oscilloscope, .npy, .npz, HDF5, MATLAB, TDMS, or Excel. Several files with
        one clock, for example one per channel, make one trace.
    folder : str or path
        Target folder, which is created if missing. An `about.toml` next to a `trace.csv` is not
        changed. In a folder that was prepared for a curve and has none yet, it is rewritten without
        its comments, with `changes` and the origin.
    kind : str
        "measured", "digitised", or "synthetic".
    asked : Asked, optional
        Information that is not in the file: beads, units, gain, interval, and time constant.
    changes : sequence of str
        Metadata of the trace, each as "KEY=VALUE" of about.toml.
    overwrite : bool
        Whether to overwrite existing `trace.csv` and `about.toml` files.
    limit : float
        Upper limit on the memory for reading [bytes].

    Returns
    -------
    Trace
        Trace as written.

    Raises
    ------
    FileError, TraceError
    """
    from granchain.measured.binary import binary_columns

    files = [file] if isinstance(file, (str, os.PathLike)) else file
    sources = [Path(one) for one in dict.fromkeys(files)]
    if not sources:
        raise TraceError("file: missing. At least one file of the instrument is required.")
    document = _document_in(Path(folder), sources, kind, changes, overwrite)
    asked, allowed = asked or Asked(), Limit(limit)
    records: dict[str, Record] = {}
    origins, numbers = [], 0
    for source in sources:
        content = content_of(source, allowed)
        with in_file(str(source)):
            record = binary_columns(source, content, asked, allowed) or text_columns(
                content, str(source), asked.decimal, allowed
            )
            _check_kind(kind, f"{source.name} {record.preamble.words}")
        numbers += sum(len(column.values) for column in record.columns)
        allowed.check(str(source), 0, numbers)
        # with several files, as many digits as fit on one line
        digest = hashlib.sha256(content).hexdigest()[: 64 if len(sources) == 1 else 16]
        origins.append(f"{shown(source.name, 200)[1:-1]}, SHA-256 {digest}")
        records[str(source)] = record
        del content, record
    record, rest = joined(records, asked)
    del records
    where = f"{sources[0]}{f' and {len(sources) - 1} more' if len(sources) > 1 else ''}"
    target, prepared = Path(folder), bool(document)
    document = {"title": common_name(sources), "kind": kind} | document
    document["origin"] = "; ".join(origins)
    problems = Problems()
    set_values(document, changes, 'who="A. Person"', problems)
    sensor = document.get("sensor", {})
    for name, (option, value) in of_instrument(asked).items():
        if isinstance(sensor, dict) and problems.check(
            sensor.setdefault(name, value) == value,
            option,
            f"{value} for sensor.{name} contradicts the value {shown(sensor[name])} set elsewhere",
            "Only one value is possible",
            "Remove one of them",
        ):
            document["sensor"] = sensor
    if problems.sentences:
        raise TraceError(problems.sentences)
    about = about_of(document, str(target / ABOUT))
    with in_file(where):
        trace = trace_of(record, rest, about, where, allowed)
    del record
    with folder_for(target):
        # write the prepared about.toml first; if interrupted here, the folder is still prepared
        if prepared:
            write_atomically(target / ABOUT, written(about).encode(), overwrite=True)
        write_atomically(target / CURVES, b"".join(csv_blocks(trace)), overwrite)
        if not prepared:
            write_atomically(target / ABOUT, written(about).encode(), overwrite)
    return trace


def _document_in(
    target: Path, sources: Sequence[Path], kind: str, changes: Sequence[str], overwrite: bool
) -> dict[str, Any]:
    """Return the tables of `about.toml` of a folder that was prepared for a curve.

    Raise an error before the curve is read if it may not be written there.
    """
    curves, about = target / CURVES, target / ABOUT
    for path in (curves, about):
        if path.exists() and any(one.exists() and one.samefile(path) for one in sources):
            raise TraceError(
                f"{path}: this is the file to import. The output folder must not contain the "
                "imported file. Choose another folder with --out."
            )
    document: dict[str, Any] = {}
    if about.exists() and not overwrite:
        document = read_about(target).model_dump(exclude_unset=True)
        refused = changes and curves.exists()
        if refused or document["kind"] != kind:
            got = "--set" if refused else f"--kind {shown(kind)[1:-1]}"
            raise TraceError(
                f"{about}: {got} contradicts the existing folder of kind "
                f'"{document["kind"]}". Options must agree with this file. Edit it, or create '
                "the folder again with --overwrite."
            )
    if os.path.lexists(curves):
        # text files have no signature
        check_new(curves, {curves.suffix: b""}, overwrite)
    return document


def of_instrument(asked: Asked) -> dict[str, tuple[str, Any]]:
    """Return the requested values under [sensor] by key, with their options."""
    found: dict[str, tuple[str, Any]] = {}
    if asked.gain is not None:
        found["gain"] = "--gain", np.asarray(asked.gain, float).tolist()
    if asked.time_constant is not None:
        # a charge amplifier acts as a resistor and a capacitor
        corners = 1.0 / (2.0 * math.pi * np.asarray(asked.time_constant, float))
        found["high_pass"] = "--time-constant", corners.tolist()
        found["filter_order"] = "--time-constant", 1
    return found


def common_name(files: Sequence[Path]) -> str:
    """Return the name of a file without its extension, or the part common to several."""
    names = [file.stem for file in files]
    alike = takewhile(lambda signs: len(set(signs)) == 1, zip(*names, strict=False))
    common = "".join(signs[0] for signs in alike)
    # T0001CH1 and T0001CH2: T0001
    common = re.sub(r"[ _-]*(?:ch(?:an(?:nel)?)?)?[ _-]*$", "", common, flags=re.IGNORECASE)
    return names[0] if len(names) == 1 or not common else common


def csv_blocks(trace: Trace) -> Iterator[bytes]:
    """Return a trace as text, with a description above the numbers.

    Each time has enough digits to be reproduced exactly, because it can be large compared with the
    step. A force has 12 digits, which is more than any instrument has.
    """
    yield f"# {trace.words}{f': {trace.about.title}' if trace.synthetic else ''}\n".encode()
    yield (
        ",".join(["time [s]", *(f"bead {bead} [N]" for bead in trace.sensor_bead.tolist())]) + "\n"
    ).encode()
    row = ",".join(["%r", *["%.12g"] * len(trace.sensor_bead)]) + "\n"
    for at in range(0, len(trace.time), ROWS):
        part = np.column_stack([trace.time[at : at + ROWS], trace.sensor_force[at : at + ROWS]])
        yield (row * len(part) % tuple(part.ravel().tolist())).encode()
