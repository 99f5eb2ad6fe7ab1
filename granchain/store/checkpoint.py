"""The checkpoint of a run: what another process needs to go on with the same bits.

A line that names the format, a line of JSON with names, types and shapes, the arrays' bytes, and the hash of it all: nothing in it can
name another file or cause code to run, and damage is seen before anything is taken from it. Beside FILE it is FILE.chk; the one before
stays as FILE.chk.prev. Records that will not change are in FILE.chk.records, where they are many; once a stopped run has written FILE,
which holds them too, they are read from there.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import platform
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from granchain.contact.law_record import LawRecord
from granchain.errors import FileError, GranchainWarning
from granchain.store.appended import Appended, rows_in_output
from granchain.store.provenance import source_hash, versions
from granchain.store.whole import (
    CHECKPOINT_ENDING,
    DAMAGED,
    LARGEST_FILE,
    SEAL,
    SEAL_LENGTH,
    check_seal,
    end_of_links,
    quoted,
    read_whole,
    replaceable,
    write_whole,
)

# Wall time between two checkpoints [s]: what a killed run loses at most.
CHECKPOINT_INTERVAL = 30.0
# And at least so many times what writing one takes: they cost a run 2 % at most.
LEAST_RATIO = 50.0

_CHECKPOINT_MARK = b"granchain checkpoint 1\n"
# The second line: a name, a type and a shape for each of a dozen arrays, and some hashes.
_LARGEST_HEADER = 20_000
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


class Checkpoint:
    """The checkpoint of one run, and when it is next due. The right to write it comes with the `claim` of the output file.

    Parameters
    ----------
    path : str or path
        Its name; the one before stays under the same name with .prev added.
    every : float
        Wall time between two [s]; longer where writing one takes more than a fiftieth of it, so that they cost a run 2 % at most.

    Attributes
    ----------
    progress : function or None
        Called with the part of its records that is written, where they are many.
    """

    def __init__(self, path: str | os.PathLike[str], every: float = CHECKPOINT_INTERVAL):
        self.path = end_of_links(path)
        self.previous = self.path.with_name(f"{self.path.name}.prev")
        self.every = every
        self._records = Appended(self.path.with_name(f"{self.path.name}.records"))
        self._output = Path(os.fspath(path).removesuffix(CHECKPOINT_ENDING))
        self._last: tuple[Saved, Mapping[str, str]] | None = None
        self._next = time.monotonic() + every
        self._warned = False
        self.progress: Callable[[float], Any] | None = None

    @staticmethod
    def beside(output: str | os.PathLike[str], every: float = CHECKPOINT_INTERVAL) -> Checkpoint:
        """The checkpoint of a run that writes this output file."""
        target = Path(output)
        return Checkpoint(target.with_name(target.name + CHECKPOINT_ENDING), every)

    @property
    def exists(self) -> bool:
        """Whether there is one to go on from."""
        return os.path.lexists(self.path) or os.path.lexists(self.previous)

    @property
    def due(self) -> bool:
        """Whether it is time for the next one."""
        return time.monotonic() >= self._next

    def save(self, saved: Saved, **facts: str) -> None:
        """Write one; where that cannot be, warn once, and let the run go on.

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
            self._records.append(saved.arrays, saved.settled, self.progress)
            pieces = _pieces(saved, facts, self._records.rows, self._records.facts)
            write_whole(self.path, pieces, overwrite=True, keep=self.previous, marks=(_CHECKPOINT_MARK,))
            self._last = saved, facts
        except FileError as error:
            if not self._warned:
                warnings.warn(f"no checkpoint, the run goes on: {error}", GranchainWarning, stacklevel=2)
            self._warned = True
        ended = time.monotonic()
        self._next = ended + max(self.every, LEAST_RATIO * (ended - began))

    def rely_on(self, output: Mapping[str, Any], data_sha256: str) -> None:
        """Leave to the output file of the stopped run, which is written, the records that it holds: they stand once on the disk.

        Parameters
        ----------
        output : mapping of str
            Its variables.
        data_sha256 : str
            By which the file is known again.
        """
        if self._last is None or not self._records.rows:
            return
        saved, facts = self._last
        rows = {name: saved.settled[name] for name in _IN_OUTPUT if name in output and saved.settled[name]}
        with contextlib.suppress(FileError):
            # where the disk is full, both stay
            pieces = _pieces(saved, facts, rows, {"output": data_sha256, "rows": rows})
            write_whole(self.path, pieces, overwrite=True, marks=(_CHECKPOINT_MARK,))
            with contextlib.suppress(OSError):
                os.unlink(self.previous)
            self._records.remove()

    def load(self, **facts: str) -> Saved:
        """Read the last one, and where that is damaged or missing the one before, with a warning.

        Parameters
        ----------
        **facts : str
            case_sha256, law and set_up of the run that wants to go on.

        Raises
        ------
        FileError
            Where there is none, both are damaged, or it is of another run.
        """
        if not self.exists:
            raise FileError(f"{self.path}: got no checkpoint, allowed one to go on from; run without --resume (in Python: resume=False)")
        try:
            return self._loaded(self.path, facts)
        except _OtherRunError as error:
            raise FileError(str(error)) from None
        except FileError as error:
            if not os.path.lexists(self.previous):
                raise
            saved = self._loaded(self.previous, facts)
            warnings.warn(f"{error}. The one before it is taken, {self.previous}", GranchainWarning, stacklevel=2)
            return saved

    def _loaded(self, path: Path, facts: Mapping[str, str]) -> Saved:
        header, content = _opened_checkpoint(path)
        needed = _circumstances({name: fact for name, fact in facts.items() if name != "law"})
        # another version sets up otherwise: that is the reason to state
        for name, reason in _MUST_MATCH.items():
            if name in needed and header.get(name) != needed[name]:
                raise _OtherRunError(f"{self.path}: {reason}, or {_ANEW}")
        now = LawRecord.of_text(facts.get("law", ""))
        changed = now.difference(LawRecord.of_text(str(header.get("law")))) if now is not None else ""
        if changed:
            raise _OtherRunError(f"{self.path}: {changed}; go on with that one, or {_ANEW}")
        return self._saved(header, content)

    def _saved(self, header: Mapping[str, Any], content: memoryview) -> Saved:
        """The arrays as the header describes them; a stranger may have written it."""
        arrays: dict[str, Any] = {}
        started, wall_time, layout, at = header.get("started"), header.get("wall_time"), header.get("arrays"), 0
        try:
            if (
                not isinstance(started, str)
                or type(wall_time) is not float
                or not 0.0 <= wall_time < math.inf
                or not isinstance(layout, list)
            ):
                raise ValueError("its header is incomplete")
            for name, kind, shape in layout:
                if kind not in _TYPES or not all(type(length) is int and length >= 0 for length in shape):
                    raise ValueError("its header holds a type or shape that no array of a run has")
                size = 8 * math.prod(shape)
                if size > len(content) - at:
                    raise ValueError("its arrays are longer than the file")
                arrays[str(name)] = np.frombuffer(content[at : at + size] if size else bytearray(), dtype=kind).reshape(shape)
                at += size
            if at < len(content):
                raise ValueError("it is longer than its arrays")
            records = header.get("records")
            if isinstance(records, dict) and "output" in records:
                arrays |= rows_in_output(self._output, records, arrays)
                records = None
            arrays |= self._records.take(records, arrays)
        except (ValueError, TypeError, OverflowError, LookupError, RecursionError) as error:
            raise FileError(
                f"{self.path}: got a checkpoint that granchain did not write ({quoted(str(error))}), allowed one of its own; {_ANEW}"
            ) from None
        return Saved(arrays, started, wall_time)

    def remove(self) -> None:
        """Delete it and the one before: the run has come to its end. What has their names and is no checkpoint stays."""
        for path in (self.path, self.previous):
            with contextlib.suppress(OSError):
                if replaceable(path, (_CHECKPOINT_MARK,)):
                    os.unlink(path)
        self._records.remove()


class _OtherRunError(FileError):
    """A checkpoint that is whole, of another run."""


def _circumstances(facts: Mapping[str, str]) -> dict[str, str]:
    """What must be the same for the same bits."""
    packages = json.loads(versions())
    return {
        **facts,
        "source_hash": source_hash(),
        "packages": f"numpy {packages['numpy']}, numba {packages.get('numba')}",
        "machine": f"{platform.system()} {platform.machine()}",
    }


def _pieces(saved: Saved, facts: Mapping[str, str], rows: Mapping[str, int], where: Mapping[str, Any]) -> list[bytes | memoryview]:
    """A checkpoint's bytes, in pieces, without the first rows, which are elsewhere: the arrays are not copied."""
    arrays = {name: np.ascontiguousarray(array[rows.get(name, 0) :]) for name, array in saved.arrays.items()}
    layout = [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]
    header = {**_circumstances(facts), "started": saved.started, "wall_time": saved.wall_time, "arrays": layout}
    if rows:
        header["records"] = where
    line = json.dumps(header, allow_nan=False).encode() + b"\n"
    pieces: list[bytes | memoryview] = [_CHECKPOINT_MARK, line, *(array.data.cast("B") for array in arrays.values() if array.size)]
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    size = sum(len(piece) for piece in pieces) + SEAL_LENGTH
    if size > LARGEST_FILE:
        raise FileError(f"checkpoint: got {size} bytes, allowed at most {LARGEST_FILE}; record less")
    return [*pieces, SEAL % digest.hexdigest().encode()]


def _opened_checkpoint(path: Path) -> tuple[dict[str, Any], memoryview]:
    """Header and arrays of a checkpoint that is whole."""
    content = read_whole(path, "a checkpoint")
    if not content.startswith(_CHECKPOINT_MARK):
        raise FileError(f"{path}: got a file that is not a checkpoint of this granchain, allowed one to go on from; {_ANEW}")
    if not check_seal(path, content, unsealed=True):
        raise FileError(f"{path}: {DAMAGED}")
    end = content.find(b"\n", len(_CHECKPOINT_MARK), len(_CHECKPOINT_MARK) + _LARGEST_HEADER)
    try:
        header = json.loads(content[len(_CHECKPOINT_MARK) : max(end, 0)])
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise FileError(f"{path}: {DAMAGED}")
    return header, memoryview(content)[end + 1 : -SEAL_LENGTH]
