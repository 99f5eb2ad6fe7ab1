"""Checkpoints: files from which another process resumes a run with bit-identical results.

FILE.chk next to FILE is a journal of frames of arrays. Nothing in it can refer to another file or
execute code, and damage is detected before anything is used. Rows of records that no longer change
are stored in one frame only.
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
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from granchain.contact.law_record import LawRecord
from granchain.errors import FileError, GranchainWarning
from granchain.store.files import CHECKPOINT_ENDING, DAMAGED, end_of_links, quoted, replaceable
from granchain.store.journal import FrameFile, arrays_in, frame_content
from granchain.store.provenance import source_hash, versions

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
        # for each record, the number of final rows in the journal; None if it is to be rewritten
        self._rows: Mapping[str, int] | None = None
        self._next = time.monotonic() + every
        self._warned = False
        self.progress: Callable[[float], Any] = float

    @staticmethod
    def beside(output: str | os.PathLike[str], every: float = CHECKPOINT_INTERVAL) -> Checkpoint:
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
        began, known, self._rows = time.monotonic(), self._rows, None
        try:
            content = _frame_of(saved, facts, known or {})
            # appended while at least half of the file is in use
            size = self._journal.length + sum(map(len, content))
            in_use = sum(array.nbytes for array in saved.arrays.values())
            if known is not None and size < 2 * in_use:
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
        try:
            states = [arrays_in(frame) for frame in frames]
            last, shapes = states[-1]
            self._check(last, facts)
            # the last frame has the shapes; each row is in one of the frames
            arrays = {
                name: np.empty((first + len(rows), *rows.shape[1:]), rows.dtype)
                for name, (first, rows) in shapes.items()
                if 8 * (first * math.prod(rows.shape[1:]) + rows.size) <= len(file)
            }
            for _, parts in states:
                for name, (first, rows) in parts.items():
                    arrays[name][first : first + len(rows)] = rows
            saved = Saved(arrays, str(last["started"]), float(last["wall_time"]))
        except FileError:
            raise
        except Exception as error:  # A forged checkpoint causes any error of json or NumPy.
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
        """Refuse a checkpoint with which the results would differ from those of this run."""
        needed = _circumstances(facts)
        # another version sets up the run differently, so the version is the reason to report
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
        "packages": f"numpy {packages['numpy']}, numba {packages.get('numba')}",
        "machine": f"{platform.system()} {platform.machine()}",
    }


def _frame_of(
    saved: Saved, facts: Mapping[str, str], rows: Mapping[str, int]
) -> list[bytes | memoryview]:
    """Return the bytes of a checkpoint without the first rows, which an earlier frame contains."""
    about = {"started": saved.started, "wall_time": saved.wall_time}
    return frame_content(_circumstances(facts) | about, saved.arrays, rows)
