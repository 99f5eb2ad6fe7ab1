"""The checkpoint of a run: what another process needs to go on with the same bits.

A journal, FILE.chk beside FILE, of frames of arrays: nothing in it can name another file or cause
code to run, and damage is seen before anything is taken from it. Rows of records that will not
change are in one frame only; once a stopped run has written FILE, which holds them too, they are
read from there, and so they stay while it is gone on with.
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
from granchain.store import open_answer
from granchain.store.files import CHECKPOINT_ENDING, DAMAGED, end_of_links, quoted, replaceable
from granchain.store.journal import FrameFile, arrays_in, frame_content
from granchain.store.provenance import source_hash, versions

# Wall time between two checkpoints [s]: what a killed run loses at most.
CHECKPOINT_INTERVAL = 30.0
# And at least so many times what writing one takes: they cost a run 2 % at most.
LEAST_RATIO = 50.0

_CHECKPOINT_MARK = b"granchain checkpoint 1\n"
# Records that an output file holds under the same names, to the same bits; of fewer bytes, they
# stay in the checkpoint too.
_IN_OUTPUT = ("sensor_force", "contact_force", "contact_overlap", "displacement", "velocity")
RECORDS_IN_OUTPUT = 2**20
# No run has more: its records are in memory.
_LARGEST_CHECKPOINT = 2**40
_ANEW = "To start a new run, use --overwrite (in Python: omit resume)"
# What must be the same for the same bits, with the sentence where it is not.
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
        self.path, self.every = end_of_links(path), every
        self._journal = FrameFile(self.path, _CHECKPOINT_MARK, _LARGEST_CHECKPOINT)
        # of each record, how many rows the journal holds for good; None where it is to begin anew
        self._rows: Mapping[str, int] | None = None
        # of each record, how many rows the output file holds in its place, and their hash
        self._left: Mapping[str, int] = {}
        self._left_sha256 = ""
        self._last: tuple[Saved, Mapping[str, str]] | None = None
        self._output = Path(os.fspath(path).removesuffix(CHECKPOINT_ENDING))
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
        began, known, self._rows, self._last = time.monotonic(), self._rows, None, None
        try:
            content = _frame_of(saved, facts, known or {})
            # appended as long as half of the file counts; the rest is states that newer ones have
            # replaced
            size = self._journal.length + sum(map(len, content))
            held = sum(a[self._left.get(name, 0) :].nbytes for name, a in saved.arrays.items())
            if known is not None and size < 2 * held:
                self._journal.append(content, self.progress)
            else:
                self._begin(saved, facts)
            self._rows, self._last = saved.settled, (saved, facts)
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

    def _begin(self, saved: Saved, facts: Mapping[str, str]) -> None:
        """Write the journal anew, but for the rows that the output file holds."""
        more = {"output": self._left_sha256} if self._left else {}
        self._journal.begin(_frame_of(saved, facts, self._left, **more), self.progress)

    def rely_on(self, output: Mapping[str, Any]) -> None:
        """Leave to the output file of the stopped run, which is written, the records that it holds:
        they stand once on the disk.

        Parameters
        ----------
        output : mapping of str
            Its variables.
        """
        if self._last is None:
            return
        saved, facts = self._last
        left = {name: saved.settled.get(name, 0) for name in _IN_OUTPUT if name in output}
        rows = {name: saved.arrays[name][:n] for name, n in left.items() if n}
        if sum(array.nbytes for array in rows.values()) >= RECORDS_IN_OUTPUT:
            self._left = {name: len(array) for name, array in rows.items()}
            self._left_sha256 = _sha256_of(rows)
            # where the disk is full, both stay
            with contextlib.suppress(FileError):
                self._begin(saved, facts)

    def _in_output(self, header: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The rows that the first frame leaves to the output file: that of the stopped run, or one
        that a later stop has put in its place, which begins with the same rows."""
        if "output" not in header:
            return {}
        left = {name: first for name, _, first, _ in header["arrays"] if first}
        known = open_answer(self._output, lambda headers: left).variables
        rows = {name: known[name].data[:first] for name, first in left.items() if name in known}
        if _sha256_of(rows) != header["output"]:
            raise FileError(
                f"{self._output}: not the file that the interrupted run wrote. The "
                "checkpoint requires that file, because it contains the records. Restore "
                f"it. {_ANEW}."
            )
        self._left, self._left_sha256 = left, header["output"]
        return rows

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
        try:
            states = [arrays_in(frame) for frame in frames]
            last, shapes = states[-1]
            self._check(last, facts)
            elsewhere = self._in_output(states[0][0])
            largest = len(file) + sum(rows.nbytes for rows in elsewhere.values())
            # the last one has the shapes; each row is in one of the frames, or in the output file
            arrays = {
                name: np.empty((first + len(rows), *rows.shape[1:]), rows.dtype)
                for name, (first, rows) in shapes.items()
                if 8 * (first * math.prod(rows.shape[1:]) + rows.size) <= largest
            }
            for name, rows in elsewhere.items():
                arrays[name][: len(rows)] = rows
            for _, parts in states:
                for name, (first, rows) in parts.items():
                    arrays[name][first : first + len(rows)] = rows
            saved = Saved(arrays, str(last["started"]), float(last["wall_time"]))
        except FileError:
            raise
        except Exception as error:  # A forged one ends in any error of json or NumPy.
            raise FileError(
                f"{self.path}: not a valid checkpoint ({quoted(str(error))}). It must be "
                f"written by granchain. {_ANEW}."
            ) from None
        if self._journal.length < len(file):
            warnings.warn(
                f"{self.path}: the last checkpoint is incomplete because the run was "
                "killed. The run resumes from the previous one.",
                GranchainWarning,
                stacklevel=2,
            )
        return saved

    def _check(self, header: Mapping[str, Any], facts: Mapping[str, str]) -> None:
        """Refuse what gives other bits than this run."""
        needed = _circumstances(facts)
        # another version sets up otherwise: that is the reason to state
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
        """Delete it: the run is complete. What has its name and is no checkpoint stays."""
        self._rows = None
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


def _sha256_of(rows: Mapping[str, np.ndarray]) -> str:
    """Hash of rows of records: names, types, shapes, bytes."""
    total = hashlib.sha256()
    for name, array in sorted(rows.items()):
        total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()


def _frame_of(
    saved: Saved, facts: Mapping[str, str], rows: Mapping[str, int], **more: str
) -> list[bytes | memoryview]:
    """The bytes of a state, without the first rows, which are elsewhere."""
    about = {"started": saved.started, "wall_time": saved.wall_time}
    return frame_content(_circumstances(facts) | more | about, saved.arrays, rows)
