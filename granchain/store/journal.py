"""Journals: files that grow by frames, each with its length, its bytes, and their hash.

A process that is killed while it appends leaves an incomplete frame. The frames before it are
valid, and the next process removes the incomplete frame. There are two kinds: FILE.chk, the
checkpoint from which another process resumes a run with bit-identical results, and FILE.part, the
members of an unfinished study. Damage is detected before anything is used.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import platform
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from granchain import portable
from granchain.contact.law import Quantity
from granchain.contact.law_record import LawRecord
from granchain.errors import FileError, GranchainError, GranchainWarning
from granchain.status import STATUS_OF_LABEL, Message
from granchain.store.answer import Result
from granchain.store.files import (
    BYTES_AT_ONCE,
    CHECKPOINT_ENDING,
    DAMAGED,
    LARGEST_FILE,
    end_of_links,
    new_file,
    no_progress,
    open_for_reading,
    os_errors_explained,
    refusing,
    replaceable,
    write_chunks,
)
from granchain.store.schema import FORMAT, VARIABLES, source_hash, versions

# Format of the length of a frame and of the hash after it, each with a line break.
_FRAME_HEAD_FORMAT, _FRAME_END_FORMAT = b"%016d\n", b"\n%s\n"
FRAME_HEAD, FRAME_END = 17, 66


def frame(content: Sequence[bytes | memoryview]) -> Iterator[bytes | memoryview]:
    """Yield the bytes of a frame, a few megabytes at a time. The hash is computed meanwhile."""
    digest = hashlib.sha256()
    yield _FRAME_HEAD_FORMAT % sum(map(len, content))
    for piece in content:
        for at in range(0, len(piece), BYTES_AT_ONCE):
            digest.update(piece[at : at + BYTES_AT_ONCE])
            yield piece[at : at + BYTES_AT_ONCE]
    yield _FRAME_END_FORMAT % digest.hexdigest().encode()


def frame_content(
    facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray], rows: Mapping[str, int]
) -> list[bytes | memoryview]:
    """Return the content of a frame.

    It is a line of JSON with facts and with name, type, first row, and shape of each array,
    followed by the bytes of the arrays, which are not copied. `rows` is the number of first rows
    that are stored elsewhere.
    """
    first_rows = {name: rows.get(name, 0) for name in arrays}
    new_rows = {
        name: np.ascontiguousarray(array[first_rows[name] :]) for name, array in arrays.items()
    }
    shapes = [[name, a.dtype.str, first_rows[name], list(a.shape)] for name, a in new_rows.items()]
    line = json.dumps({**facts, "arrays": shapes}).encode() + b"\n"
    return [line, *(array.data.cast("B") for array in new_rows.values() if array.size)]


def arrays_in(
    content: bytes | memoryview,
) -> tuple[dict[str, Any], dict[str, tuple[int, np.ndarray]]]:
    """Return the facts and arrays of a frame, each array with the index of its first row.

    The rows are read when they are used.

    Raises
    ------
    Exception
        Nearly any error of json and NumPy if the frame has other content.
    """
    end = re.search(b"\n", content)
    at = len(content) if end is None else end.end()
    facts, arrays = json.loads(bytes(content[:at])), {}
    for name, kind, first, shape in facts["arrays"]:
        rows = np.frombuffer(content, kind, math.prod(shape), at).reshape(shape)
        arrays[name], at = (first, rows), at + rows.nbytes
    return facts, arrays


def frame_size(content: Sequence[bytes | memoryview]) -> int:
    """Return the size of a frame in bytes."""
    return FRAME_HEAD + sum(map(len, content)) + FRAME_END


class FrameFile:
    """A journal, and the length of its valid part.

    Parameters
    ----------
    path : Path
        Name of the file, without links.
    mark : bytes
        First line of the file.
    largest : int
        Largest size in bytes.

    Attributes
    ----------
    length : int
        Number of valid bytes; 0 before anything was written or read.
    """

    def __init__(self, path: Path, mark: bytes, largest: int = LARGEST_FILE):
        self.path, self.mark, self.length, self._largest = path, mark, 0, largest

    def read(self, what: str) -> tuple[memoryview, list[memoryview]]:
        """Return the file and its frames up to the first incomplete one.

        The content stays on the disk until it is used.

        Parameters
        ----------
        what : str
            Expected kind of file, such as "a checkpoint".

        Raises
        ------
        FileError
            If the file cannot be read.
        """
        frames = []
        with open_for_reading(self.path, what, self._largest) as file:
            content = portable.content_of(file)
        self.length = at = len(self.mark) if content[: len(self.mark)] == self.mark else 0
        while at and (digits := bytes(content[at : at + FRAME_HEAD])).strip().isdigit():
            start, stop = at + FRAME_HEAD, at + FRAME_HEAD + int(digits)
            at = stop + FRAME_END
            digest = hashlib.sha256(content[start:stop]).hexdigest()
            portable.release(content)
            if content[stop:at] != _FRAME_END_FORMAT % digest.encode():
                break
            frames.append(content[start:stop])
            self.length = at
        return content, frames

    def begin(
        self,
        content: Sequence[bytes | memoryview],
        progress: Callable[[float], Any] = no_progress,
    ) -> None:
        """Rewrite the file with one frame. The old file stays until the new one is complete.

        Raises
        ------
        FileError
            If the file cannot be written, or if the existing file has another kind.
        """
        size = len(self.mark) + frame_size(content)
        with new_file(self.path, True, (self.mark,), size) as partial, partial.open("wb") as file:
            for done in write_chunks(file, chain([self.mark], frame(content))):
                progress(done / size)
        self.length = size

    def append(
        self, content: Sequence[bytes | memoryview], progress: Callable[[float], Any] = no_progress
    ) -> None:
        """Append a frame. If this fails, the valid part is unchanged.

        Raises
        ------
        FileError
            If the file cannot be written.
        """
        size = frame_size(content)
        with (
            os_errors_explained(self.path, size),
            os.fdopen(os.open(self.path, portable.TO_WRITE), "wb", 0) as file,
        ):
            file.truncate(self.length)
            file.seek(self.length)
            try:
                for done in write_chunks(file, frame(content)):
                    progress(done / size)
                portable.flush(file.fileno())
            except OSError:
                file.truncate(self.length)
                raise
        self.length += size


# Wall time between two checkpoints [s]: a killed run loses at most this time.
CHECKPOINT_INTERVAL = 30.0
# Smallest interval in units of the time for writing one: checkpoints cost at most 2 % of a run.
LEAST_RATIO = 50.0

_CHECKPOINT_MARK = b"granchain checkpoint 1\n"
# No run has more bytes, because its records are in memory.
_LARGEST_CHECKPOINT = 2**40
_ANEW = "To start a new run, use --overwrite (in Python: omit resume)"
# Facts that must be equal for bit-identical results, with the message if they differ.
_MUST_MATCH = {
    "case_sha256": "the checkpoint belongs to a different case. Use the case and the changes of "
    "the run that wrote it.",
    "source_hash": "the checkpoint was written by another version of granchain. Resume with "
    "that version.",
    "packages": "the checkpoint was written with other versions of NumPy or Numba. Resume with "
    "those versions.",
    "machine": "the checkpoint was written on a different kind of computer. Resume on a computer "
    "of that kind.",
    "set_up": "the checkpoint was set up with other parameters than this run. Resume with those "
    "parameters.",
}


class Saved(NamedTuple):
    """Content of a checkpoint.

    Parameters
    ----------
    arrays : dict of str to array
        Arrays that the run has changed.
    started : str
        Time at which the run started (UTC, ISO 8601).
    wall_time : float
        Duration of the run until then [s].
    settled : mapping of str to int
        For arrays that grow, the number of first rows that no longer change.
    """

    arrays: Mapping[str, Any]
    started: str
    wall_time: float
    settled: Mapping[str, int] = {}


class Checkpoint:
    """Checkpoint of a run, and the time at which the next one is due.

    The `claim` of the output file includes the right to write it.

    Parameters
    ----------
    path : str or path
    every : float
        Wall time between two checkpoints [s]. It is longer if writing takes more than a fiftieth of
        it, so that checkpoints cost at most 2 % of a run.

    Attributes
    ----------
    progress : function
        Called with the fraction of a checkpoint that is written.
    """

    def __init__(self, path: str | os.PathLike[str], every: float = CHECKPOINT_INTERVAL):
        self.path, self.every = end_of_links(path), every
        self._journal = FrameFile(self.path, _CHECKPOINT_MARK, _LARGEST_CHECKPOINT)
        # for each record, the number of final rows in the journal; None if the journal must be
        # rewritten
        self._rows: Mapping[str, int] | None = None
        self._next = time.monotonic() + every
        self._warned = False
        self.progress: Callable[[float], Any] = no_progress

    @staticmethod
    def of_output(output: str | os.PathLike[str], every: float = CHECKPOINT_INTERVAL) -> Checkpoint:
        """Return the checkpoint of a run that writes this output file."""
        target = Path(output)
        return Checkpoint(target.with_name(target.name + CHECKPOINT_ENDING), every)

    @property
    def exists(self) -> bool:
        """True if there is a checkpoint to resume from."""
        return os.path.lexists(self.path)

    @property
    def due(self) -> bool:
        """True if it is time for the next checkpoint."""
        return time.monotonic() >= self._next

    def save(self, saved: Saved, **facts: str) -> None:
        """Write a checkpoint. If this fails, warn once and continue the run.

        Parameters
        ----------
        saved : Saved
            Content of the checkpoint.
        **facts : str
            case_sha256, law (its record as text), and set_up of the run.
        """
        began, rows_before, self._rows = time.monotonic(), self._rows, None
        try:
            content = _frame_of(saved, facts, rows_before or {})
            # append as long as at least half of the file is in use
            size = self._journal.length + sum(map(len, content))
            in_use = sum(array.nbytes for array in saved.arrays.values())
            if rows_before is not None and size < 2 * in_use:
                self._journal.append(content, self.progress)
            else:
                self._journal.begin(_frame_of(saved, facts, {}), self.progress)
            self._rows = saved.settled
        except FileError as error:
            if not self._warned:
                warnings.warn(
                    "The checkpoint was not written. The run continues, but it cannot be "
                    f"resumed from this point. {error}",
                    GranchainWarning,
                    stacklevel=2,
                )
            self._warned = True
        ended = time.monotonic()
        self._next = ended + max(self.every, LEAST_RATIO * (ended - began))

    def load(self, **facts: str) -> Saved:
        """Read the last checkpoint, with a warning if a later one is incomplete.

        Parameters
        ----------
        **facts : str
            case_sha256, law, and set_up of the run that resumes.

        Raises
        ------
        FileError
            If there is no checkpoint, or it is damaged or belongs to another run.
        """
        if not self.exists:
            raise FileError(
                f"{self.path}: checkpoint not found. A run can be resumed only from a "
                "checkpoint. Run without --resume (in Python: resume=False)."
            )
        file, frames = self._journal.read("a checkpoint")
        if not self._journal.length:
            raise FileError(
                f"{self.path}: not a checkpoint of this version of granchain. A run can be resumed "
                f"only from its checkpoint. {_ANEW}."
            )
        if not frames:
            raise FileError(f"{self.path}: {DAMAGED}")
        states = [arrays_in(frame) for frame in frames]
        last, shapes = states[-1]
        self._check(last, facts)
        # the last frame has the shapes; each row is in one of the frames
        arrays = {
            name: np.empty((first + len(rows), *rows.shape[1:]), rows.dtype)
            for name, (first, rows) in shapes.items()
        }
        for _, parts in states:
            for name, (first, rows) in parts.items():
                arrays[name][first : first + len(rows)] = rows
        saved = Saved(arrays, str(last["started"]), float(last["wall_time"]))
        if self._journal.length < len(file):
            warnings.warn(
                f"{self.path}: the last checkpoint is incomplete because the run was "
                "killed. The run resumes from the previous one.",
                GranchainWarning,
                stacklevel=2,
            )
        return saved

    def _check(self, header: Mapping[str, Any], facts: Mapping[str, str]) -> None:
        """Refuse a checkpoint with which the results would differ from those of this run."""
        needed = _circumstances(facts)
        # another version may set up the run differently, so that the version is checked first
        for name, reason in _MUST_MATCH.items():
            if name in needed and header.get(name) != needed[name]:
                raise FileError(f"{self.path}: {reason} {_ANEW}.")
        law = LawRecord.of_text(facts.get("law", ""))
        changed = "" if law is None else law.difference(LawRecord.of_text(str(header.get("law"))))
        if changed:
            raise FileError(
                f"{self.path}: the checkpoint belongs to a different contact law: "
                f"{changed}. Resume with that law. {_ANEW}."
            )

    def remove(self) -> None:
        """Delete the checkpoint of a complete run. A file of another kind is not deleted."""
        self._rows = None
        with contextlib.suppress(OSError):
            if replaceable(self.path, (_CHECKPOINT_MARK,)):
                os.unlink(self.path)


def _circumstances(facts: Mapping[str, str]) -> dict[str, str]:
    """Return the facts that must be equal for bit-identical results."""
    packages = json.loads(versions())
    return {
        **facts,
        "source_hash": source_hash(),
        "packages": f"numpy {packages['numpy']}, numba {packages['numba']}",
        "machine": f"{platform.system()} {platform.machine()}",
    }


def _frame_of(
    saved: Saved, facts: Mapping[str, str], rows: Mapping[str, int]
) -> list[bytes | memoryview]:
    """Return the bytes of a checkpoint without the first rows, which an earlier frame contains."""
    about = {"started": saved.started, "wall_time": saved.wall_time}
    return frame_content(_circumstances(facts) | about, saved.arrays, rows)


# First line of FILE.part, which identifies a file of granchain.
PART_HEAD = (
    b'{"granchain_format": "%s", "granchain_content": "part of a study"}\n' % FORMAT.encode()
)


def unfinished_file_of(path: str | os.PathLike[str]) -> Path | None:
    """Return FILE.part of a study, or None if it does not exist."""
    with contextlib.suppress(OSError, FileError):
        target = end_of_links(path)
        partial = target.with_name(f"{target.name}.part")
        return partial if partial.exists() else None
    return None


# Frames of FILE.part that are decoded at a time; alternating laws are in alternating frames.
FRAMES_DECODED = 8


class StudyPart:
    """FILE.part: the completed members of a study; take the `claim` of FILE first.

    Parameters
    ----------
    path : str or path
        Name of the file of the complete study.
    resume : bool
        Whether to use the members in the file.
    overwrite : bool
        Whether to replace the file.

    Attributes
    ----------
    columns : list of dict
        Columns of the members that the file had at the start, frame by frame.

    Raises
    ------
    FileError
        If a file exists and neither is requested, if it is not a file of granchain, or if it cannot
        be written.
    """

    def __init__(self, path: str | os.PathLike[str], resume: bool = False, overwrite: bool = False):
        target = end_of_links(path)
        self.path = target.with_name(f"{target.name}.part")
        self.columns: list[dict[str, Any]] = []
        self._content, self._frames = memoryview(b""), list[memoryview]()
        self._rows_of_members: dict[str, tuple[int, int]] | None = None
        self._journal = FrameFile(self.path, PART_HEAD)
        if os.path.lexists(self.path):
            if (
                not self.path.is_file()
                or self.path.is_symlink()
                or not replaceable(self.path, (PART_HEAD,))
            ):
                raise FileError(
                    f"{self.path}: granchain did not write this file. It must be the "
                    "unfinished file of a study. Move it to another folder."
                )
            if not resume and not overwrite:
                raise FileError(
                    f"{self.path}: an unfinished study exists and was not changed. To "
                    "continue it, use --resume (in Python: resume=True). To start again, "
                    "use --overwrite (overwrite=True), or choose another file."
                )
            if resume:
                with self.valid():
                    self.columns = [columns_in(frame) for frame in self._read_frames()]

    def _read_frames(self) -> list[memoryview]:
        """Return the frames of the file, which is read again if it exists."""
        if self._journal.length or os.path.lexists(self.path):
            self._content, self._frames = self._journal.read("an unfinished study")
        return self._frames

    def result(self, name: str) -> PlainResult | None:
        """Return the complete result of a member by its name, or None if the file has none."""
        if self._rows_of_members is None:
            with self.valid():
                frames = self._read_frames()
                self._rows_of_members = {
                    member: (number, row)
                    for number, columns in enumerate(map(columns_in, frames))
                    for row, member in enumerate(columns["point"])
                }
            # only a few frames are decoded, so that memory does not grow with the members
            self._columns_of = lru_cache(FRAMES_DECODED)(lambda number: columns_in(frames[number]))
        if name not in self._rows_of_members:
            return None
        number, row = self._rows_of_members[name]
        return self._columns_of(number)["result"][row]

    def release(self) -> None:
        """Release the memory of the members in the file. They are read again when they are used."""
        portable.release(self._content)

    def valid(self) -> contextlib.AbstractContextManager[None]:
        """Raise a FileError if the file contains another study."""
        return refusing(
            self.path,
            "not an unfinished study of this kind ({}). It must be written by granchain for the "
            "same study. To start again, use --overwrite (in Python: overwrite=True).",
            (GranchainError,),
        )

    def add(self, columns: Mapping[str, Any]) -> None:
        """Append completed members. The first ones replace a file that is not resumed."""
        put = self._journal.append if self._journal.length else self._journal.begin
        put(content_of_columns(columns))
        self._rows_of_members = None

    def remove(self) -> None:
        """Delete the file, because the study is complete."""
        with contextlib.suppress(OSError):
            os.unlink(self.path)


class PlainResult(NamedTuple):
    """Result of a member as it is stored in FILE.part and sent by a worker.

    Parameters
    ----------
    facts : dict
        All contents of the result except its numbers, as plain data.
    arrays : dict of str to array
    """

    facts: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]

    @classmethod
    def of(cls, result: Result) -> PlainResult:
        """Return the plain form of a result."""
        labels = [
            (name, variable.unit, variable.long_name)
            for name, variable in result.variables.items()
            if name not in VARIABLES
        ]
        about = ("started", "wall_time", "law_sha256", "law_json")
        facts = {
            "law": result.law,
            "status": result.status.label,
            "time_step": result.time_step,
            "history": labels,
            "messages": result.messages,
            "provenance": {name: result.provenance[name] for name in about},
        }
        return cls(facts, {name: variable.data for name, variable in result.variables.items()})

    def result(self, case: Any) -> Result:
        """Return the result of a case."""
        facts = self.facts
        return Result(
            self.arrays,
            case=case,
            law=facts["law"],
            status=STATUS_OF_LABEL[facts["status"]],
            time_step=facts["time_step"],
            history=[
                Quantity(name, unit, meaning, output=True)
                for name, unit, meaning in facts["history"]
            ],
            messages=[Message(*message) for message in facts["messages"]],
            provenance=facts["provenance"],
        )


def content_of_columns(columns: Mapping[str, Any]) -> list[bytes | memoryview]:
    """Return columns of members as the content of a frame: arrays as bytes, lists as JSON."""
    lists = {name: values for name, values in columns.items() if isinstance(values, list)}
    arrays = {name: values for name, values in columns.items() if name not in lists}
    if "result" in lists:
        # the results of a worker are already plain
        plain = [
            PlainResult.of(each) if isinstance(each, Result) else each for each in lists["result"]
        ]
        lists["result"] = [None if each is None else each.facts for each in plain]
        for row, each in enumerate(plain):
            if each is not None:
                arrays |= {f"result {row} {name}": array for name, array in each.arrays.items()}
    return frame_content(lists, arrays, {})


def columns_in(content: bytes | memoryview) -> dict[str, Any]:
    """Return the columns of a frame."""
    lists, stored = arrays_in(content)
    arrays = {name: rows for name, (_, rows) in stored.items()}
    if "result" in lists:
        of_member: list[dict[str, np.ndarray]] = [{} for _ in lists["result"]]
        for name in [name for name in arrays if name.startswith("result ")]:
            _, row, variable = name.split(" ", 2)
            of_member[int(row)][variable] = arrays.pop(name)
        lists["result"] = [
            None if facts is None else PlainResult(facts, of_member[row])
            for row, facts in enumerate(lists["result"])
        ]
    del lists["arrays"]
    return lists | arrays
