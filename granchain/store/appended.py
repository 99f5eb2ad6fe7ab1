"""The records of a run that a checkpoint need not write anew: rows that will not change are appended to FILE.chk.records.

A line that names the format; then, for each time that something was appended, a line of JSON with names, numbers of rows and shapes, and
the bytes of the rows. How much of it counts, and its hash, stand in the checkpoint: what a killed run has begun to append is cut off.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from granchain.errors import FileError
from granchain.store.reader import RefusedError, check_format, check_stored, member, provenance_of, refusing, stored_file
from granchain.store.whole import DAMAGED, NEW_FILE, StoredFile, check_ours, check_seal, replaceable, sentences

RECORDS_MARK = b"granchain records 1\n"
# Fewer bytes stay in the checkpoint, and a short run has no second file.
AT_LEAST = 2**20
# Bytes that are written or read at once.
BYTES_AT_ONCE = 16 * 1024**2
# A line of JSON: a name, a number and a shape for each of a dozen arrays.
_LARGEST_LINE = 20_000
# No run has more: its records are in memory.
_LARGEST_RECORDS = 2**40


class Span(NamedTuple):
    """Some rows of an array in the file: where they begin, how many there are, and the bytes of each."""

    at: int
    rows: int
    row: int


class InFile:
    """An array whose first rows are in a file and whose last are here; read where it is needed, into one place.

    Parameters
    ----------
    fill : function of an array
        Reads the first rows into it.
    rows : int
        How many these are.
    last : array
    """

    def __init__(self, fill: Callable[[np.ndarray], Any], rows: int, last: np.ndarray):
        self._fill, self._rows, self._last = fill, rows, last
        self.dtype = last.dtype
        self.shape = (rows + len(last), *last.shape[1:])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        whole = np.empty(self.shape, self.dtype)
        self.read_into(whole)
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def read_into(self, whole: np.ndarray) -> None:
        """Put it where there is room for it: an array of its shape, in C order."""
        self._fill(whole[: self._rows])
        whole[self._rows :] = self._last


def _fill_from_spans(file: StoredFile, spans: Sequence[Span], rows: np.ndarray) -> None:
    first = 0
    for span in spans:
        into = rows[first : first + span.rows].reshape(-1).view(np.uint8)
        for at in range(0, len(into), BYTES_AT_ONCE):
            end = min(at + BYTES_AT_ONCE, len(into))
            into[at:end] = np.frombuffer(file.part(span.at + at, span.at + end), np.uint8)
        first += span.rows


def rows_in_output(path: Path, facts: Mapping[str, Any], last: Mapping[str, np.ndarray]) -> dict[str, InFile]:
    """The arrays of which a checkpoint says that their first rows are in the output file of the stopped run.

    Parameters
    ----------
    path : Path
        The output file.
    facts : dict
        Its data's hash, and how many rows of each array; a stranger may have written it.
    last : mapping of str to array
        The rows that the checkpoint holds.

    Raises
    ------
    FileError
        Where the file is missing, damaged, or another one.
    """
    import h5py

    content = stored_file(path)
    check_seal(path, content)
    found: dict[str, InFile] = {}
    with refusing(path), content.stream() as stream, h5py.File(stream, "r") as file:
        check_format(file)
        if provenance_of(file)["data_sha256"] != facts["output"]:
            raise RefusedError(
                "got another file than the stopped run left, allowed that one, which holds its records; put it back, or begin anew "
                "with --overwrite"
            )
        for name, rows in facts["rows"].items():
            dataset = member(file, name)
            check_stored(name, dataset)
            fits = dataset.shape[1:] == last[name].shape[1:] and dataset.dtype == last[name].dtype
            if type(rows) is not int or not 0 <= rows <= len(dataset) or not fits:
                raise ValueError("its records are not what it says of them")
            found[name] = InFile(partial(_fill_from_output, path, content, name), rows, last[name])
    return found


def _fill_from_output(path: Path, content: StoredFile, name: str, rows: np.ndarray) -> None:
    import h5py

    with refusing(path), content.stream() as stream, h5py.File(stream, "r") as file:
        if len(rows):
            file[name].read_direct(rows, np.s_[: len(rows)])


class Appended:
    """The file of rows that will not change, and how much of it counts.

    Parameters
    ----------
    path : Path
        Its name.

    Attributes
    ----------
    rows : dict of str to int
        How many rows of each array are in it.
    """

    def __init__(self, path: Path):
        self.path = path
        self._begin()

    def _begin(self) -> None:
        self.rows: dict[str, int] = {}
        self._length = 0
        self._digest = hashlib.sha256()

    @property
    def facts(self) -> dict[str, Any]:
        """What a checkpoint says of it."""
        return {"length": self._length, "sha256": self._digest.hexdigest(), "rows": self.rows}

    def append(self, arrays: Mapping[str, np.ndarray], settled: Mapping[str, int], progress: Callable[[float], Any] | None = None) -> None:
        """Append the rows that will not change and are not in it, where they are worth a write.

        Parameters
        ----------
        arrays : mapping of str to array
        settled : mapping of str to int
            How many rows of each of them will not change.
        progress : function, optional
            Called with the part that is done.

        Raises
        ------
        FileError
            Where it cannot be written; what counts of it is then as it was.
        """
        # before the first write whatever is there is looked at where it is opened
        there = not self._length
        with contextlib.suppress(OSError):
            there = there or (replaceable(self.path, (RECORDS_MARK,)) and self.path.stat().st_size >= self._length)
        if not there:
            self._begin()
        new = {name: arrays[name][self.rows.get(name, 0) : count] for name, count in settled.items() if count > self.rows.get(name, 0)}
        needed = sum(rows.nbytes for rows in new.values())
        if needed < AT_LEAST:
            return
        line = json.dumps([[name, len(rows), list(rows.shape[1:])] for name, rows in new.items()]).encode() + b"\n"
        digest, length = self._digest.copy(), self._length
        done = 0
        with sentences(self.path, needed), os.fdopen(self._opened(), "r+b", buffering=0) as file:
            file.truncate(length)
            file.seek(length)
            head = line if length else RECORDS_MARK + line
            for piece in (memoryview(head), *(rows.data.cast("B") for rows in new.values() if rows.size)):
                for at in range(0, len(piece), BYTES_AT_ONCE):
                    part = piece[at : at + BYTES_AT_ONCE]
                    digest.update(part)
                    while part:
                        written = file.write(part)
                        part = part[written:]
                        length += written
                    done += min(BYTES_AT_ONCE, len(piece) - at)
                    if progress is not None:
                        progress(min(1.0, done / needed))
            os.fsync(file.fileno())
        self._length, self._digest = length, digest
        self.rows = self.rows | {name: self.rows.get(name, 0) + len(rows) for name, rows in new.items()}

    def _opened(self) -> int:
        if self._length:
            return os.open(self.path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        check_ours(self.path, (RECORDS_MARK,))
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        return os.open(self.path, NEW_FILE & ~os.O_WRONLY | os.O_RDWR, 0o666)

    def take(self, facts: Any, last: Mapping[str, np.ndarray]) -> dict[str, InFile]:
        """The arrays of which a checkpoint says that their first rows are here, with the last ones that it holds; go on from there.

        Parameters
        ----------
        facts : dict
            As `facts` gave it; a stranger may have written it.
        last : mapping of str to array

        Raises
        ------
        FileError
            Where the file is missing, cut off or damaged.
        """
        self._begin()
        if facts is None:
            return {}
        length, asked, rows = facts["length"], facts["sha256"], facts["rows"]
        if type(length) is not int or not 0 <= length <= _LARGEST_RECORDS:
            raise ValueError("its records have no length")
        if not length:
            return {}
        file = StoredFile(self.path, "the records of a checkpoint", _LARGEST_RECORDS)
        if len(file) < length:
            raise FileError(f"{self.path}: got {len(file)} bytes, allowed the {length} that its checkpoint counts; {DAMAGED}")
        digest = hashlib.sha256()
        for piece in file.pieces(length):
            digest.update(piece)
        if digest.hexdigest() != asked or file.part(0, len(RECORDS_MARK)) != RECORDS_MARK:
            raise FileError(f"{self.path}: {DAMAGED}")
        spans: dict[str, list[Span]] = {}
        at = len(RECORDS_MARK)
        while at < length:
            line, end, _ = file.part(at, min(length, at + _LARGEST_LINE)).partition(b"\n")
            if not end:
                raise ValueError("its records have no line that describes them")
            at += len(line) + 1
            for name, count, shape in json.loads(line):
                if list(last[name].shape[1:]) != shape or type(count) is not int or count < 0:
                    raise ValueError("its records are of another shape")
                row = 8 * math.prod(shape)
                spans.setdefault(name, []).append(Span(at, count, row))
                at += count * row
        if at != length or {name: sum(span.rows for span in found) for name, found in spans.items()} != rows:
            raise ValueError("its records are not what it says of them")
        self.rows, self._length, self._digest = dict(rows), length, digest
        return {name: InFile(partial(_fill_from_spans, file, found), rows[name], last[name]) for name, found in spans.items()}

    def remove(self) -> None:
        """Delete it; what has its name and is none stays."""
        self._begin()
        with contextlib.suppress(OSError):
            if self.path.is_file() and replaceable(self.path, (RECORDS_MARK,)):
                os.unlink(self.path)
