"""Traces on disk: folders with `about.toml` and `trace.csv`, and import of files."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from granchain.case.document import parsed, read_text, set_values
from granchain.errors import CaseError, FileError, TraceError
from granchain.keys import Problems, brief
from granchain.measured.about import AboutTable, about_as_toml, about_of
from granchain.measured.columns import in_file, negative_pulses, trace_of
from granchain.measured.text import Record, table_columns, text_columns
from granchain.measured.trace import Trace
from granchain.store import write_atomically
from granchain.store.files import check_new, folder_for, open_for_reading

if TYPE_CHECKING:
    from pandas import DataFrame

ABOUT, CURVES = "about.toml", "trace.csv"
# Words that show that a file was not recorded by an instrument.
COMPUTED_WORDS = ("synthetic", "simulat")


def bytes_of(path: str | os.PathLike[str]) -> bytes:
    """Return all bytes of a file."""
    with open_for_reading(path, "a text file with columns of numbers", sys.maxsize) as file:
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
            f"{folder}: not found. A text file, or a folder with {ABOUT} and {CURVES}, is "
            "required. To create a folder, use granchain traces import FILE."
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


def read_trace(
    source: str | os.PathLike[str] | DataFrame,
    *,
    beads: int | Sequence[int | None] | None = None,
    time: str | None = None,
    time_unit: str | None = None,
    force_unit: str | None = None,
    gain: float | str | Sequence[float | str] | None = None,
    interval: float | None = None,
    decimal: str | None = None,
) -> Trace:
    r"""Read a measured trace.

    Parameters
    ----------
    source : str, path, or pandas.DataFrame
        Folder with `about.toml` and `trace.csv`, as written by `granchain traces import`, text file
        with columns of numbers, or a table with such columns. The options are for files and tables.
    beads : int, or sequence of int or None, optional
        Bead of each force column, or None to leave a column out. Default: from the headings.
    time : str, optional
        Heading of the time column.
    time_unit, force_unit : str, optional
        Units, or multiples of them, such as "10 N". Default: from the headings.
    gain : float, str, or sequence of them, optional
        Reading per newton [V/N], also as "18 mV/N", or a number by which forces are divided; one
        for all sensors or one per sensor. -1 changes the sign.
    interval : float, optional
        Sampling interval, if times are missing or rounded [s].
    decimal : {".", ","}, optional
        Decimal sign of a text file. The other one then separates thousands.

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
    >>> import granchain as gc
    >>> import pandas
    >>> table = pandas.DataFrame({"time [us]": range(20), "CH1 [mV]": [k % 7 for k in range(20)]})
    >>> trace = gc.read_trace(table, beads=[9], gain="20 mV/N")
    >>> round(float(trace.sensor_force.max()), 2)
    0.3
    """
    options: dict[str, Any] = {
        "beads": beads,
        "time": time,
        "time_unit": time_unit,
        "force_unit": force_unit,
        "gain": gain,
        "interval": interval,
    }
    try:
        if not isinstance(source, (str, os.PathLike)):
            with in_file("table"):
                record = table_columns(source)
            trace = trace_of({"table": record}, AboutTable(kind="measured"), **options)
        elif Path(source).is_file():
            record = _record_in(Path(source), decimal)
            kind = "synthetic" if _computed_word(Path(source), record) else "measured"
            about = AboutTable(kind=kind, title=Path(source).stem)
            trace = trace_of({str(source): record}, about, **options)
        elif any(value is not None for value in (decimal, *options.values())):
            raise TraceError(
                f"{source}: units, gains, and beads of a folder are known. No option is allowed. "
                "Import the file of the instrument again."
            )
        else:
            return _read_folder(Path(source))
        trace.notes += negative_pulses(trace)
        return trace
    except TraceError as error:
        # The names of the options in Python: interval instead of --interval.
        raise TraceError(
            [
                re.sub(r"--([a-z-]+)", lambda option: option[1].replace("-", "_"), problem)
                for problem in error.problems
            ]
        ) from None


def _read_folder(folder: Path) -> Trace:
    """Read a folder with `about.toml` and `trace.csv`."""
    about, path = read_about(folder), folder / CURVES
    if not path.exists():
        raise FileError(
            f"{path}: file not found. A measured trace is required, but this folder contains "
            "only facts about the experiment. To add the trace, use granchain traces import "
            f"FILE --kind {about.kind} --out {folder}."
        )
    # The file was written by granchain, with decimal points.
    record = _record_in(path, ".")
    _check_kind(about.kind, path, record)
    return trace_of({str(path): record}, about)


def _record_in(path: Path, decimal: str | None) -> Record:
    """Return the columns of a text file."""
    with in_file(str(path)):
        return text_columns(bytes_of(path), decimal)


def _computed_word(path: Path, record: Record) -> str:
    """Return the word in the name of a file, or above its numbers, that marks computed data."""
    text = f"{path.name} {record.preamble.text}".lower()
    return next((word for word in COMPUTED_WORDS if word in text), "")


def _check_kind(kind: str, path: Path, record: Record) -> None:
    """Raise an error if computed numbers are labelled as measured."""
    word = _computed_word(path, record)
    if word and kind != "synthetic":
        raise TraceError(
            f'{path}: kind "{kind}" does not match the file, which contains the word "{word}". '
            'Computed data must have the kind "synthetic". Use --kind synthetic.'
        )


def import_trace(
    file: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    kind: str,
    *,
    changes: Sequence[str] = (),
    overwrite: bool = False,
    decimal: str | None = None,
    **options: Any,
) -> Trace:
    """Import measured forces into a folder with `about.toml` and `trace.csv`.

    Parameters
    ----------
    file : str, path, or sequence of them
        Text file of an instrument. Several files with one clock, for example one per channel, make
        one trace.
    folder : str or path
        Target folder, which is created if missing. An `about.toml` next to a `trace.csv` is not
        changed. In a folder that was prepared for a curve and has none yet, it is rewritten without
        its comments, with `changes` and the origin.
    kind : str
        "measured", "digitised", or "synthetic".
    changes : sequence of str
        Metadata of the trace, each as "KEY=VALUE" of about.toml.
    overwrite : bool
        Whether to overwrite existing `trace.csv` and `about.toml` files.
    decimal : {".", ","}, optional
        Decimal sign. The other one then separates thousands.
    **options
        beads, time, time_unit, force_unit, gain, and interval, as for `read_trace`; and resample,
        the interval of an even grid on which uneven samples are interpolated linearly [s].

    Returns
    -------
    Trace
        Trace as written.

    Raises
    ------
    FileError, TraceError
    """
    files = [file] if isinstance(file, (str, os.PathLike)) else file
    sources = [Path(name) for name in dict.fromkeys(files)]
    target = Path(folder)
    document = _document_in(target, sources, kind, changes, overwrite)
    prepared = bool(document)
    records, origins = {}, []
    for source in sources:
        record = records[str(source)] = _record_in(source, decimal)
        _check_kind(kind, source, record)
        # with several files, hashes are shortened so that all fit on one line
        digest = hashlib.sha256(bytes_of(source)).hexdigest()[: 64 if len(sources) == 1 else 16]
        origins.append(f"{brief(source.name, 200)[1:-1]}, SHA-256 {digest}")
    document = {"title": common_name(sources), "kind": kind} | document
    document["origin"] = "; ".join(origins)
    problems = Problems()
    set_values(document, changes, 'who="A. Person"', problems)
    if problems.sentences:
        raise TraceError(problems.sentences)
    trace = trace_of(records, about_of(document, str(target / ABOUT)), **options)
    trace.notes += negative_pulses(trace)
    texts = [
        (ABOUT, about_as_toml(trace.about), overwrite or prepared),
        (CURVES, csv_text(trace), overwrite),
    ]
    with folder_for(target):
        # in a prepared folder about.toml is first, so that after an interruption the folder is
        # still prepared for the curve
        for name, text, replaces in texts if prepared else reversed(texts):
            write_atomically(target / name, text.encode(), replaces)
    return trace


def _document_in(
    target: Path, sources: Sequence[Path], kind: str, changes: Sequence[str], overwrite: bool
) -> dict[str, Any]:
    """Return the tables of `about.toml` of a folder that was prepared for a curve.

    Raise an error before the curve is read if it may not be written there.
    """
    curves, about = target / CURVES, target / ABOUT
    for path in (curves, about):
        if path.exists() and any(source.exists() and source.samefile(path) for source in sources):
            raise TraceError(
                f"{path}: this is the file to import. The output folder must not contain the "
                "imported file. Choose another folder with --out."
            )
    document: dict[str, Any] = {}
    if about.exists() and not overwrite:
        document = read_about(target).model_dump(exclude_unset=True)
        refused = changes and curves.exists()
        if refused or document["kind"] != kind:
            option = "--set" if refused else f"--kind {brief(kind)[1:-1]}"
            raise TraceError(
                f"{about}: {option} contradicts the existing folder of kind "
                f'"{document["kind"]}". Options must agree with this file. Edit it, or create '
                "the folder again with --overwrite."
            )
    if os.path.lexists(curves):
        # text files have no signature
        check_new(curves, {curves.suffix: b""}, overwrite)
    return document


def common_name(files: Sequence[Path]) -> str:
    """Return the name of a file without its extension, or the part common to several."""
    names = [file.stem for file in files]
    alike = takewhile(lambda signs: len(set(signs)) == 1, zip(*names, strict=False))
    common = "".join(signs[0] for signs in alike)
    # T0001CH1 and T0001CH2: T0001
    common = re.sub(r"[ _-]*(?:ch(?:an(?:nel)?)?)?[ _-]*$", "", common, flags=re.IGNORECASE)
    return names[0] if len(names) == 1 or not common else common


def csv_text(trace: Trace) -> str:
    """Return a trace as text, with a description above the numbers.

    Each time has enough digits to be reproduced exactly, because it can be large compared with the
    step. A force has 12 digits, which is more than any instrument has.
    """
    from pandas import DataFrame

    headings = [f"bead {bead} [N]" for bead in trace.sensor_bead]
    table = DataFrame(trace.sensor_force, columns=headings)
    table.insert(0, "time [s]", list(map(repr, trace.time.tolist())))
    about = trace.about
    title = f": {about.title}" if trace.synthetic else ""
    text = table.to_csv(index=False, float_format="%.12g", lineterminator="\n")
    return f"# {about.kind_text}{title}\n{text}"
