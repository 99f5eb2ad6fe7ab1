"""Files of unfinished work, from which another process resumes with bit-identical results.

FILE.chk is the checkpoint of a run: an HDF5 file like that of an answer, of which the old version
stays until the new one is complete. FILE.part contains the completed members of a study. It grows
by frames, each with its length, its bytes, and their hash. A process that is killed while it
appends leaves an incomplete frame. The frames before it are valid, and the next process removes the
incomplete frame. Damage is detected before anything is used.
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
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from granchain import portable
from granchain.contact.law import Quantity
from granchain.contact.law_record import LawRecord
from granchain.errors import FileError, GranchainError, GranchainWarning
from granchain.status import STATUS_OF_LABEL, Message
from granchain.store.answer import Result
from granchain.store.dataset import Content, open_hdf5, read_content, state_variable, write_content
from granchain.store.files import (
    CHECKPOINT_ENDING,
    end_of_links,
    new_file,
    no_progress,
    open_for_reading,
    os_errors_explained,
    refusing,
    replaceable,
)
from granchain.store.schema import CHECKPOINT, CONTENT, FORMAT, VARIABLES, source_hash, versions

# Attribute that only a checkpoint has. A file without it, such as a result, is not replaced by a
# checkpoint, and not deleted.
CHECKPOINT_MARK = b"granchain_checkpoint"
# Wall time between two checkpoints [s]: a killed run loses at most this time.
CHECKPOINT_INTERVAL = 30.0
# Smallest interval in units of the time for writing one: checkpoints cost at most 2 % of a run.
LEAST_RATIO = 50.0

_ANEW = "To start a new run, use --overwrite (in Python: omit resume)"
# Facts that must be equal for bit-identical results, with the message if they differ.
_MUST_MATCH = {
    "case_sha256": "the checkpoint belongs to a different case. Use the case and the changes of "
    "the run that wrote it.",
    "source_hash": "the checkpoint was written by another version of granchain. Resume with "
    "that version.",
    "packages": "the checkpoint was written with other versions of Python, NumPy, or Numba. "
    "Resume with those versions.",
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
    """

    arrays: Mapping[str, Any]
    started: str
    wall_time: float


class Checkpoint:
    """FILE.chk: the state of a run, from which another process resumes it; take the `claim` of FILE
    first, or let no other process write it.

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
        """Replace the checkpoint. If this fails, warn once and continue the run.

        Parameters
        ----------
        saved : Saved
            Content of the checkpoint.
        **facts : str
            case_sha256, law (its record as text), and set_up of the run.
        """
        began = time.monotonic()
        about = {**_circumstances(facts), "started": saved.started, "wall_time": saved.wall_time}
        variables = {name: state_variable(name, array) for name, array in saved.arrays.items()}
        attributes = {CHECKPOINT_MARK.decode(): FORMAT, CONTENT: CHECKPOINT}
        content = Content(variables, attributes, about)
        try:
            write_content(
                self.path, content, True, packed=False, mark=CHECKPOINT_MARK, progress=self.progress
            )
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
        """Read the checkpoint.

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
        with open_hdf5(self.path, CHECKPOINT) as opened:
            content = read_content(opened.file, opened.datasets)
            about = content.provenance
            self._check(about, facts)
            arrays = {name: variable.data for name, variable in content.variables.items()}
            return Saved(arrays, about["started"], about["wall_time"])

    def _check(self, provenance: Mapping[str, Any], facts: Mapping[str, str]) -> None:
        """Refuse a checkpoint with which the results would differ from those of this run."""
        needed = _circumstances(facts)
        # another version may set up the run differently, so that the version is checked first
        for name, reason in _MUST_MATCH.items():
            if name in needed and provenance.get(name) != needed[name]:
                raise FileError(f"{self.path}: {reason} {_ANEW}.")
        law = LawRecord.of_text(facts.get("law", ""))
        before = LawRecord.of_text(str(provenance.get("law")))
        changed = "" if law is None else law.difference(before)
        if changed:
            raise FileError(
                f"{self.path}: the checkpoint belongs to a different contact law: "
                f"{changed}. Resume with that law. {_ANEW}."
            )

    def remove(self) -> None:
        """Delete the checkpoint of a complete run. A file of another kind is not deleted."""
        with contextlib.suppress(OSError):
            if replaceable(self.path, (CHECKPOINT_MARK,)):
                os.unlink(self.path)


def _circumstances(facts: Mapping[str, str]) -> dict[str, str]:
    """Return the facts that must be equal for bit-identical results."""
    packages = json.loads(versions())
    return {
        **facts,
        "source_hash": source_hash(),
        # the bytecode, by which a law is compared, depends on the minor version of Python
        "packages": f"python {packages['python'].rpartition('.')[0]}, numpy {packages['numpy']}, "
        f"numba {packages['numba']}",
        "machine": f"{platform.system()} {platform.machine()}",
    }


# Format of the length of a frame and of the hash after it, each with a line break.
_FRAME_HEAD_FORMAT, _FRAME_END_FORMAT = b"%016d\n", b"\n%s\n"
FRAME_HEAD, FRAME_END = 17, 66


def frame(content: list[bytes | memoryview]) -> list[bytes | memoryview]:
    """Return the parts of a frame: its length, its content, and their hash."""
    digest = hashlib.sha256()
    for piece in content:
        digest.update(piece)
    head = _FRAME_HEAD_FORMAT % sum(map(len, content))
    return [head, *content, _FRAME_END_FORMAT % digest.hexdigest().encode()]


def frame_content(
    facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> list[bytes | memoryview]:
    """Return the content of a frame.

    It is a line of JSON with facts and with name, type, and shape of each array, followed by the
    bytes of the arrays, which are not copied.
    """
    rows = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    shapes = [[name, array.dtype.str, array.shape] for name, array in rows.items()]
    line = json.dumps({**facts, "arrays": shapes}).encode() + b"\n"
    return [line, *(array.data.cast("B") for array in rows.values() if array.size)]


def arrays_in(content: bytes | memoryview) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the facts and arrays of a frame. The arrays are read when they are used.

    Raises
    ------
    Exception
        Nearly any error of json and NumPy if the frame has other content.
    """
    end = re.search(b"\n", content)
    at = len(content) if end is None else end.end()
    facts, arrays = json.loads(bytes(content[:at])), {}
    for name, kind, shape in facts.pop("arrays"):
        arrays[name] = np.frombuffer(content, kind, math.prod(shape), at).reshape(shape)
        at += arrays[name].nbytes
    return facts, arrays


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
        # number of valid bytes; 0 before anything was written or read
        self._length, self._content = 0, memoryview(b"")
        self._rows_of_members: dict[str, tuple[int, int]] | None = None
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
        """Return the frames up to the first incomplete one, which stay on the disk until used."""
        frames: list[memoryview] = []
        if not self._length and not os.path.lexists(self.path):
            return frames
        with open_for_reading(self.path, "an unfinished study") as file:
            self._content = content = portable.content_of(file)
        self._length = at = len(PART_HEAD) if content[: len(PART_HEAD)] == PART_HEAD else 0
        while at and (digits := bytes(content[at : at + FRAME_HEAD])).strip().isdigit():
            start, stop = at + FRAME_HEAD, at + FRAME_HEAD + int(digits)
            at = stop + FRAME_END
            digest = hashlib.sha256(content[start:stop]).hexdigest()
            portable.release(content)
            if content[stop:at] != _FRAME_END_FORMAT % digest.encode():
                break
            frames.append(content[start:stop])
            self._length = at
        return frames

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
        parts = frame(content_of_columns(columns))
        size = sum(map(len, parts))
        if self._length:
            self._append(parts, size)
        else:
            # the old file stays until the new one is complete
            marks = (PART_HEAD,)
            with new_file(self.path, True, marks, size) as partial, partial.open("wb") as file:
                file.writelines([PART_HEAD, *parts])
        self._length = (self._length or len(PART_HEAD)) + size
        self._rows_of_members = None

    def _append(self, parts: list[bytes | memoryview], size: int) -> None:
        """Append a frame. If this fails, the valid frames are unchanged."""
        with (
            os_errors_explained(self.path, size),
            os.fdopen(os.open(self.path, portable.TO_WRITE), "wb", 0) as file,
        ):
            file.truncate(self._length)
            file.seek(self._length)
            try:
                for piece in parts:
                    while piece:
                        piece = piece[file.write(piece) :]
                portable.flush(file.fileno())
            except OSError:
                file.truncate(self._length)
                raise

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
    return frame_content(lists, arrays)


def columns_in(content: bytes | memoryview) -> dict[str, Any]:
    """Return the columns of a frame."""
    lists, arrays = arrays_in(content)
    if "result" in lists:
        of_member: list[dict[str, np.ndarray]] = [{} for _ in lists["result"]]
        for name in [name for name in arrays if name.startswith("result ")]:
            _, row, variable = name.split(" ", 2)
            of_member[int(row)][variable] = arrays.pop(name)
        lists["result"] = [
            None if facts is None else PlainResult(facts, of_member[row])
            for row, facts in enumerate(lists["result"])
        ]
    return lists | arrays
