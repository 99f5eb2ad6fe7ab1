"""The checkpoint of a run: what another process needs to go on with the same bits.

A journal, FILE.chk beside FILE. Each frame is a line of JSON with names, types and shapes, and the
arrays' bytes: nothing in it can name another file or cause code to run, and damage is seen before
anything is taken from it. Rows of records that will not change are in one frame only; once a
stopped run has written FILE, which holds them too, they are read from there.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import platform
import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from granchain.contact.law_record import LawRecord
from granchain.errors import FileError, GranchainWarning
from granchain.store.files import (
    BYTES_AT_ONCE,
    CHECKPOINT_ENDING,
    DAMAGED,
    StoredFile,
    end_of_links,
    quoted,
    replaceable,
)
from granchain.store.journal import FrameFile
from granchain.store.provenance import source_hash, versions
from granchain.store.reader import (
    MOST_VARIABLES,
    RefusedError,
    datasets_of,
    open_hdf5,
    provenance_of,
)

# Wall time between two checkpoints [s]: what a killed run loses at most.
CHECKPOINT_INTERVAL = 30.0
# And at least so many times what writing one takes: they cost a run 2 % at most.
LEAST_RATIO = 50.0
# Records of fewer bytes stay in the checkpoint where the output file holds them too.
RECORDS_IN_OUTPUT = 2**20

_CHECKPOINT_MARK = b"granchain checkpoint 1\n"
# The line of a frame: a name, a type and a shape for each of a dozen arrays, and some hashes.
_LARGEST_HEADER = 20_000
# No run has more: its records are in memory.
_LARGEST_CHECKPOINT = 2**40
_TYPES = ("<f8", "<i8")

# Records that an output file holds under the same names, to the same bits.
_IN_OUTPUT = ("sensor_force", "contact_force", "contact_overlap", "displacement", "velocity")

_ANEW = "begin anew with --overwrite (in Python: without resume)"
# What must be the same for the same bits, with the sentence where it is not.
_MUST_MATCH = {
    "case_sha256": "is of another case; give the case and the changes of the run that wrote it",
    "source_hash": "was written by another granchain; go on with that one",
    "packages": "was written with other versions of numpy or numba; go on with those",
    "machine": "was written on another kind of computer; go on with such a one",
    "set_up": "was set up from other numbers than this run; go on with those",
}


class Saved(NamedTuple):
    """What a checkpoint holds.

    Parameters
    ----------
    arrays : dict of str to array
        What the run had changed.
    started : str
        When the run began (UTC, ISO 8601).
    wall_time : float
        What it had taken until then [s].
    settled : mapping of str to int
        Of arrays that grow, how many of the first rows will not change any more.
    """

    arrays: Mapping[str, Any]
    started: str
    wall_time: float
    settled: Mapping[str, int] = {}


class StoredRows:
    """An array that is in files; read where it is needed, into one place.

    Parameters
    ----------
    kind : str
        As NumPy writes it.
    shape : tuple of int
    blocks : list of (int, function)
        Numbers of rows, each with a function that reads them into an array.
    """

    def __init__(
        self,
        kind: str,
        shape: tuple[int, ...],
        blocks: list[tuple[int, Callable[[np.ndarray], Any]]],
    ):
        self.dtype, self.shape, self.blocks = np.dtype(kind), shape, blocks

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = np.empty(self.shape, self.dtype)
        self.read_into(found)
        return found if dtype is None else found.astype(dtype, copy=False)

    def read_into(self, array: np.ndarray) -> None:
        """Read it into an array of its shape, in C order."""
        first = 0
        for rows, read in self.blocks:
            read(array[first : first + rows])
            first += rows


def _read_frame(file: StoredFile, start: int, rows: np.ndarray) -> None:
    """Read rows whose bytes begin there."""
    into = rows.reshape(-1).view(np.uint8)
    for at in range(0, len(into), BYTES_AT_ONCE):
        end = min(at + BYTES_AT_ONCE, len(into))
        into[at:end] = np.frombuffer(file.part(start + at, start + end), np.uint8)


def _read_output(path: Path, name: str, rows: np.ndarray) -> None:
    """Read the first rows of a variable of an output file."""
    with open_hdf5(path, trusted=True) as opened:
        if len(rows):
            opened.file[name].read_direct(rows, np.s_[: len(rows)])


def rows_in_output(path: Path, data_sha256: str, wanted: Mapping[str, StoredRows]) -> None:
    """Refuse an output file that does not hold the first rows of these arrays, which a checkpoint
    leaves to it.

    Raises
    ------
    FileError
        Where the file is missing, damaged, or another one.
    """
    with open_hdf5(path) as opened:
        if provenance_of(opened.file)["data_sha256"] != data_sha256:
            raise RefusedError(
                "got another file than the stopped run left, allowed that one, which holds its "
                "records; put it back, or begin anew with --overwrite"
            )
        datasets = datasets_of(opened.file, len(opened.content), MOST_VARIABLES, "an output file")
        for name, stored in wanted.items():
            dataset = datasets[name]
            same = dataset.shape[1:] == stored.shape[1:] and dataset.dtype == stored.dtype
            if not same or stored.blocks[0][0] > len(dataset):
                raise ValueError("its records are not what it says of them")


class Checkpoint:
    """The checkpoint of one run, and when it is next due. The right to write it comes with the
    `claim` of the output file.

    Parameters
    ----------
    path : str or path
    every : float
        Wall time between two states [s]; longer where writing one takes more than a fiftieth of it,
        so that they cost a run 2 % at most.

    Attributes
    ----------
    progress : function
        Called with the part of a state that is written.
    """

    def __init__(self, path: str | os.PathLike[str], every: float = CHECKPOINT_INTERVAL):
        self.path = end_of_links(path)
        self.every = every
        self._journal = FrameFile(self.path, _CHECKPOINT_MARK, _LARGEST_CHECKPOINT)
        self._output = Path(os.fspath(path).removesuffix(CHECKPOINT_ENDING))
        # of each record, how many rows the journal holds for good; None before this process has
        # written it
        self._rows: Mapping[str, int] | None = None
        self._last: tuple[Saved, Mapping[str, str]] | None = None
        self._next = time.monotonic() + every
        self._warned = False
        self.progress: Callable[[float], Any] = float

    @staticmethod
    def beside(output: str | os.PathLike[str], every: float = CHECKPOINT_INTERVAL) -> Checkpoint:
        """The checkpoint of a run that writes this output file."""
        target = Path(output)
        return Checkpoint(target.with_name(target.name + CHECKPOINT_ENDING), every)

    @property
    def exists(self) -> bool:
        """Whether there is one to go on from."""
        return os.path.lexists(self.path)

    @property
    def due(self) -> bool:
        """Whether it is time for the next state."""
        return time.monotonic() >= self._next

    def save(self, saved: Saved, **facts: str) -> None:
        """Write a state; where that cannot be, warn once, and let the run go on.

        Parameters
        ----------
        saved : Saved
            What to go on from.
        **facts : str
            case_sha256, law (its record as text) and set_up of the run.
        """
        began = time.monotonic()
        self._last = None
        try:
            content = _frame_of(saved, facts, self._rows or {})
            length = self._journal.length + sum(map(len, content))
            # appended as long as half of the file counts; the rest is states that newer ones have
            # replaced
            if (
                self._rows is not None
                and self._journal.goes_on
                and length < 2 * sum(a.nbytes for a in saved.arrays.values())
            ):
                self._journal.append(content, self.progress)
            else:
                self._journal.begin(_frame_of(saved, facts, {}), self.progress)
            self._last, self._rows = (saved, facts), saved.settled
        except FileError as error:
            if not self._warned:
                warnings.warn(
                    f"no checkpoint, the run goes on: {error}", GranchainWarning, stacklevel=2
                )
            self._warned = True
        ended = time.monotonic()
        self._next = ended + max(self.every, LEAST_RATIO * (ended - began))

    def rely_on(self, output: Mapping[str, Any], data_sha256: str) -> None:
        """Leave to the output file of the stopped run, which is written, the records that it holds:
        they stand once on the disk.

        Parameters
        ----------
        output : mapping of str
            Its variables.
        data_sha256 : str
            By which the file is known again.
        """
        if self._last is None:
            return
        saved, facts = self._last
        rows = {
            name: saved.settled[name]
            for name in _IN_OUTPUT
            if name in output and saved.settled.get(name)
        }
        if (
            sum(saved.arrays[name][:count].nbytes for name, count in rows.items())
            >= RECORDS_IN_OUTPUT
        ):
            # where the disk is full, both stay
            with contextlib.suppress(FileError):
                self._journal.begin(_frame_of(saved, facts, rows, output=data_sha256))

    def load(self, **facts: str) -> Saved:
        """Read the last state; where what follows it is not whole, with a warning.

        Parameters
        ----------
        **facts : str
            case_sha256, law and set_up of the run that wants to go on.

        Raises
        ------
        FileError
            Where there is none, it is damaged, or of another run.
        """
        if not self.exists:
            raise FileError(
                f"{self.path}: got no checkpoint, allowed one to go on from; run without --resume "
                "(in Python: resume=False)"
            )
        file, frames = self._journal.read("a checkpoint")
        if not self._journal.length:
            raise FileError(
                f"{self.path}: got a file that is not a checkpoint of this granchain, allowed one "
                f"to go on from; {_ANEW}"
            )
        if not frames:
            raise FileError(f"{self.path}: {DAMAGED}")
        headers = [self._header(file, *place) for place in frames]
        needed = _circumstances({name: fact for name, fact in facts.items() if name != "law"})
        # another version sets up otherwise: that is the reason to state
        for name, reason in _MUST_MATCH.items():
            if name in needed and headers[-1][0].get(name) != needed[name]:
                raise FileError(f"{self.path}: {reason}, or {_ANEW}")
        now = LawRecord.of_text(facts.get("law", ""))
        changed = (
            now.difference(LawRecord.of_text(str(headers[-1][0].get("law"))))
            if now is not None
            else ""
        )
        if changed:
            raise FileError(
                f"{self.path}: got that of another law: {changed}, allowed this one's; go on with "
                f"that law, or {_ANEW}"
            )
        try:
            saved = self._saved(file, headers)
        except (ValueError, TypeError, OverflowError, LookupError, RecursionError) as error:
            raise FileError(
                f"{self.path}: got a checkpoint that granchain did not write "
                f"({quoted(str(error))}), allowed one of its own; {_ANEW}"
            ) from None
        if self._journal.length < len(file):
            warnings.warn(
                f"{self.path}: got a last state that is not whole, as a killed run leaves it; the "
                "one before it is taken",
                GranchainWarning,
                stacklevel=2,
            )
        return saved

    def _header(self, file: StoredFile, start: int, stop: int) -> tuple[dict[str, Any], int, int]:
        """What a frame says of its arrays, and where these begin and end."""
        line, end, _ = file.part(start, min(stop, start + _LARGEST_HEADER)).partition(b"\n")
        header = None
        with contextlib.suppress(ValueError, RecursionError):
            header = json.loads(line)
        if not isinstance(header, dict) or not end:
            raise FileError(f"{self.path}: {DAMAGED}")
        return header, start + len(line) + 1, stop

    def _saved(self, file: StoredFile, headers: list[tuple[dict[str, Any], int, int]]) -> Saved:
        """The arrays as the headers describe them; a stranger may have written these."""
        started, wall_time = headers[-1][0].get("started"), headers[-1][0].get("wall_time")
        if (
            not isinstance(started, str)
            or type(wall_time) is not float
            or not 0.0 <= wall_time < math.inf
        ):
            raise ValueError("its header is incomplete")
        arrays: dict[str, StoredRows] = {}
        output = headers[0][0].get("output")
        for header, at, stop in headers:
            before, arrays = arrays, {}
            for name, kind, first, shape in header["arrays"]:
                if (
                    kind not in _TYPES
                    or not shape
                    or not all(type(length) is int and length >= 0 for length in (first, *shape))
                ):
                    raise ValueError("its header holds a type or shape that no array of a run has")
                size = 8 * math.prod(shape)
                if size > stop - at:
                    raise ValueError("its arrays are longer than the file")
                blocks, missing = [], first
                # rows of the frames before, up to the first that is here
                for rows, read in before[name].blocks if first and name in before else ():
                    blocks.append((min(rows, missing), read))
                    missing -= blocks[-1][0]
                if missing and output is not None and not before:
                    blocks, missing = [(first, partial(_read_output, self._output, name))], 0
                if missing:
                    raise ValueError("its records are not what it says of them")
                blocks.append((shape[0], partial(_read_frame, file, at)))
                arrays[str(name)] = StoredRows(kind, (first + shape[0], *shape[1:]), blocks)
                at += size
            if at < stop:
                raise ValueError("it is longer than its arrays")
        if output is not None:
            rows_in_output(
                self._output,
                output,
                {name: arrays[name] for name, _, first, _ in headers[0][0]["arrays"] if first},
            )
        grows = {
            name for header, *_ in headers for name, _, first, _ in header["arrays"] if first
        } | set(headers[-1][0].get("settled", ()))
        return Saved(
            {name: rows if name in grows else np.asarray(rows) for name, rows in arrays.items()},
            started,
            wall_time,
        )

    def remove(self) -> None:
        """Delete it: the run has come to its end. What has its name and is no checkpoint stays."""
        with contextlib.suppress(OSError):
            if replaceable(self.path, (_CHECKPOINT_MARK,)):
                os.unlink(self.path)


def _circumstances(facts: Mapping[str, str]) -> dict[str, str]:
    """What must be the same for the same bits."""
    packages = json.loads(versions())
    return {
        **facts,
        "source_hash": source_hash(),
        "packages": f"numpy {packages['numpy']}, numba {packages.get('numba')}",
        "machine": f"{platform.system()} {platform.machine()}",
    }


def _frame_of(
    saved: Saved, facts: Mapping[str, str], rows: Mapping[str, int], **more: str
) -> list[bytes | memoryview]:
    """The bytes of a state, without the first rows, which are elsewhere; the arrays are not
    copied."""
    arrays = {
        name: np.ascontiguousarray(array[rows.get(name, 0) :])
        for name, array in saved.arrays.items()
    }
    layout = [
        [name, array.dtype.str, rows.get(name, 0), list(array.shape)]
        for name, array in arrays.items()
    ]
    header = {
        **_circumstances(facts),
        "started": saved.started,
        "wall_time": saved.wall_time,
        "arrays": layout,
    }
    line = (
        json.dumps({**header, "settled": [*saved.settled], **more}, allow_nan=False).encode()
        + b"\n"
    )
    return [line, *(array.data.cast("B") for array in arrays.values() if array.size)]
