"""Results of many runs with a dimension `run`, padded along time.

Each run has an individual time step. The results are written in batches, to memory or to a file
that grows, so that only one batch is in memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Any

import numpy as np

from granchain.case import Case
from granchain.case.document import differences
from granchain.errors import FileError
from granchain.plain_data import canonical
from granchain.status import Message, Status
from granchain.store.answer import Result
from granchain.store.dataset import (
    CHUNK,
    LARGEST_ENSEMBLE,
    Content,
    OpenedFile,
    datasets_of,
    fill,
    growing_storage,
    new_hdf5,
    read_content,
)
from granchain.store.files import OUTPUT_MARK, room_beside
from granchain.store.provenance import granchain_version, source_hash, versions
from granchain.store.schema import CONTENT, ENSEMBLE, FORMAT, LABELS, VARIABLES, Variable

# Axes along which runs have individual times or labels: the dimension that counts them, and the
# variable with their number.
COUNTED = {
    "time": ("sample", "n_samples"),
    "energy_time": ("entry", "n_entries"),
    "snapshot_time": ("shot", "n_shots"),
}
UNSHARED = {
    "sensor_bead": ("sensor", "n_sensors"), "sensor_contact": ("recorded", "n_recorded"),
    "bead": ("body", "n_bodies"), "contact": ("joint", "n_joints"),
    "resonator": ("rider", "n_riders"), "drive": ("driver", "n_drivers"),
}  # fmt: skip
# Variables of each run, in addition to the keys in which the cases differ.
OF_EACH = ("run", "status", "message", "time_step", "kind")
_RESERVED_DIMENSIONS = frozenset(
    (*OF_EACH, *(name for both in (*COUNTED.values(), *UNSHARED.values()) for name in both))
)
# Bytes of each run in addition to its data: case, messages, and hash.
TEXT_OF_RUN = 2**12


class EnsembleWriter:
    """Writer of many runs, with one row per run in each variable.

    Parameters
    ----------
    cases : sequence of Case
        Case of each run.
    file : h5py.File
    packed : bool
        Whether to compress the data.
    """

    def __init__(self, cases: Sequence[Case], file: Any, packed: bool = True):
        self.varied = differences(cases)
        self._cases, self.first = cases, cases[0].resolved()
        self._count, self._file, self._packed = len(cases), file, packed
        self._columns: dict[str, Variable] = {}
        self._kinds: dict[tuple, int] = {}
        self._kind = np.full(self._count, -1)
        self._step = np.full(self._count, np.nan)
        self._lengths: dict[str, np.ndarray] = {}
        self._labels: dict[str, list[np.ndarray | None]] = {}
        self._messages: list[list[Message]] = [[] for _ in range(self._count)]
        self._laws: dict[tuple[str, str], int] = {}
        self._law = [-1] * self._count
        self._hashes = [""] * self._count

    def add(self, first: int, results: Sequence[Result | None]) -> None:
        """Write results of the runs from `first` on; None for a run without a result."""
        columns: dict[str, list[np.ndarray | None]] = {}
        for place, result in enumerate(results):
            if result is None:
                continue
            names = {}
            for name, variable in result.variables.items():
                if variable.dims == (name,) and name in LABELS:
                    # copied, because the data may be in a mapped file
                    self._labels.setdefault(name, [None] * self._count)[first + place] = (
                        variable.data.copy()
                    )
                else:
                    column = names[name] = self._column(name, variable)
                    columns.setdefault(column, [None] * len(results))[place] = variable.data
                if variable.dims == (name,) and name in COUNTED:
                    self._lengths.setdefault(name, np.zeros(self._count, dtype=np.int64))[
                        first + place
                    ] = len(variable.data)
            meanings = [
                (name, names.get(name, name), v.unit, v.long_name)
                for name, v in result.variables.items()
            ]
            self._kind[first + place] = self._kinds.setdefault(
                (result.law, tuple(meanings)), len(self._kinds)
            )
            self._step[first + place] = result.time_step
            self._messages[first + place] = result.messages
            record = result.provenance.get("law_sha256", ""), result.provenance.get("law_json", "")
            self._law[first + place] = self._laws.setdefault(record, len(self._laws))
            self._hashes[first + place] = result.data_sha256
        for column, values in columns.items():
            self._write_rows(column, first, values)

    def _column(self, name: str, like: Variable) -> str:
        """Return the column of a variable.

        A variable of another law with the same name gets a number.
        """
        column, number = f"{name}_of_law" if name in _RESERVED_DIMENSIONS else name, 1
        meaning = like.dims, like.unit, like.long_name
        while (known := self._columns.get(column)) and (
            known.dims,
            known.unit,
            known.long_name,
        ) != meaning:
            number += 1
            column = f"{name}_{number}"
        if column not in self._columns:
            # complete runs, a power of two of them, so that batches start at chunk boundaries
            runs = 1 << max(
                0, min(self._count, CHUNK // max(1, math.prod(like.shape))).bit_length() - 1
            )
            rows = self._file.create_dataset(
                column,
                (self._count, *like.shape),
                "<f8",
                maxshape=(self._count, *repeat(None, len(like.shape))),
                fillvalue=np.nan,
                track_times=False,
                **growing_storage((runs, *like.shape), self._packed),
            )
            self._columns[column] = Variable(like.dims, rows, like.unit, like.long_name)
        return column

    def _write_rows(self, column: str, first: int, values: Sequence[np.ndarray | None]) -> None:
        """Write the values of a variable of some runs into their rows."""
        rows: Any = self._columns[column].data
        longest = tuple(
            max(lengths)
            for lengths in zip(*(one.shape for one in values if one is not None), strict=True)
        )
        if any(length > has for length, has in zip(longest, rows.shape[1:], strict=True)):
            rows.resize((self._count, *map(max, zip(longest, rows.shape[1:], strict=True))))
        if math.prod(longest):
            block = np.full((len(values), *longest), np.nan)
            for row, one in zip(block, values, strict=True):
                if one is not None:
                    row[tuple(slice(length) for length in one.shape)] = one
            rows[(slice(first, first + len(values)), *(slice(length) for length in longest))] = (
                block
            )

    def finish(
        self, status: Sequence[Status], messages: Sequence[str], started: str, wall_time: float
    ) -> None:
        """Write the axes, the status, and the provenance of all runs."""
        run = ("run",)
        labels_of_runs = column_of([one.label for one in status])
        found = {
            "run": Variable(run, np.arange(self._count), "1", "index of the run"),
            **{
                key: Variable(run, column_of(values), "", f"case parameter {key}")
                for key, values in self.varied.items()
            },
            "status": Variable(run, labels_of_runs, "", "how the run ended"),
            "message": Variable(run, column_of(messages), "", "reason why the run failed"),
            "time_step": Variable(run, self._step, "s", "time step"),
            "kind": Variable(
                run,
                self._kind,
                "1",
                "index of the kind of result, defined by law and variables, in the "
                "provenance; -1 if the run has no result",
            ),
        }
        lengths_of = dict(self._lengths)
        for axis, labels_of_axis in self._labels.items():
            meaning = VARIABLES[axis].long_name
            known = {labels.tobytes(): labels for labels in labels_of_axis if labels is not None}
            if len(known) == 1:
                found[axis] = Variable((axis,), next(iter(known.values())), "1", meaning)
                continue
            lengths = np.array([0 if labels is None else len(labels) for labels in labels_of_axis])
            lengths_of[axis], table = lengths, np.full((self._count, lengths.max()), np.nan)
            for row, labels in zip(table, labels_of_axis, strict=True):
                if labels is not None:
                    row[: len(labels)] = labels
            found[axis] = Variable(("run", UNSHARED[axis][0]), table, "1", meaning)
        dimension: dict[str, str] = {}
        for axis, lengths in lengths_of.items():
            name, count = (COUNTED | UNSHARED)[axis]
            dimension[axis] = name
            found[count] = Variable(run, lengths, "1", f"number of values of {axis}")
            found[name] = Variable((name,), np.arange(lengths.max()), "1", f"index of the {name}")
        for name, column in self._columns.items():
            dims = ("run", *(dimension.get(axis, axis) for axis in column.dims))
            # a variable of some runs may be shorter than its axis
            column.data.resize((self._count, *(len(found[axis].data) for axis in dims[1:])))
            found[name] = replace(column, dims=dims)
        laws = dict.fromkeys([self.first["contact"]["law"], *self.varied.get("contact.law", ())])
        ended = {one.label: status.count(one) for one in dict.fromkeys(status)}
        attributes = {
            "Conventions": "CF-1.11",
            "title": f"{self._count} runs",
            "granchain_format": FORMAT,
            CONTENT: ENSEMBLE,
            "granchain_version": granchain_version(),
            "law": ", ".join(laws),
            "status": ", ".join(f"{count} {label}" for label, count in ended.items()),
            # CF: variables that are coordinates along another axis
            **({"coordinates": " ".join(self.varied)} if self.varied else {}),
        }
        # the first case, all cases in parts, the variables of each kind of run, and the hash of the
        # data of each run, which is that of a file of this run
        about = {
            "versions": versions(),
            "source_hash": source_hash(),
            "platform": f"{platform.system()} {platform.machine()}",
            "data_sha256": hashlib.sha256("\n".join(self._hashes).encode()).hexdigest(),
            "case_json": canonical(self._cases[0].as_given(), ordered=True),
            "case_resolved_json": canonical(self.first),
            "cases": canonical(deduplicated_cases(self._cases), ordered=True),
            "kinds": canonical(
                [{"law": law, "variables": meanings} for law, meanings in self._kinds]
            ),
            "laws": canonical({"of_run": self._law, "records": list(self._laws)}),
            "messages": canonical(self._messages),
            "run_sha256": canonical(self._hashes),
            "started": started,
            "wall_time": wall_time,
        }
        fill(self._file, Content(found, attributes, about), self._packed)


@contextlib.contextmanager
def ensemble_file(
    path: str | os.PathLike[str], overwrite: bool, cases: Sequence[Case]
) -> Iterator[EnsembleWriter]:
    """Open a file of many runs that grows, and gets its name once it is complete.

    Take the `claim` first.

    Parameters
    ----------
    path : str or path
    overwrite : bool
        Whether to replace an output file of that name.
    cases : sequence of Case
        Case of each run.

    Raises
    ------
    FileError
        If the file cannot be created, or does not fit on the disk.
    """
    needed = room_of_ensemble(path, cases)
    with new_hdf5(path, overwrite, needed + TEXT_OF_RUN * len(cases)) as file:
        yield EnsembleWriter(cases, file)


def room_of_ensemble(path: str | os.PathLike[str], cases: Sequence[Case]) -> float:
    """Return the size of the file of many runs [bytes], at most, if the disk has room for it.

    Raises
    ------
    FileError
        If the file does not fit on the disk, or is too large.
    """
    needed = sum(case.file_size for case in cases)
    if needed > LARGEST_ENSEMBLE:
        raise FileError(
            f"{os.fspath(path)}: the ensemble can have up to {needed:.3g} bytes. The limit "
            f"is {LARGEST_ENSEMBLE} bytes. Record less, or save the ensemble in several "
            "files."
        )
    room_beside(path, needed)
    return needed


def ensemble_content(
    cases: Sequence[Case],
    results: Sequence[Result | None],
    status: Sequence[Status],
    messages: Sequence[str],
) -> Content:
    """Return the content of the file of an ensemble."""
    import h5py

    with h5py.File.in_memory() as file:
        file.attrs.create(OUTPUT_MARK.decode(), FORMAT, dtype=h5py.string_dtype())
        rows = EnsembleWriter(cases, file, packed=False)
        rows.add(0, results)
        rows.finish(status, messages, "", 0.0)
        return read_content(OpenedFile(file, datasets_of(file, LARGEST_ENSEMBLE)))


def deduplicated_cases(cases: Iterable[Case]) -> dict[str, Any]:
    """Return cases with each distinct table stored once.

    For each case, the result contains the indices of its given tables, of its other given data, and
    of its completed tables in the list of all parts.
    """
    known: dict[str, int] = {}

    def places(tables: Mapping[str, Any]) -> dict[str, int]:
        texts = {name: canonical(part, ordered=True) for name, part in tables.items()}
        return {name: known.setdefault(text, len(known)) for name, text in texts.items()}

    runs = []
    for case in cases:
        given = case.as_given()
        runs.append([places(given.pop("tables")), places(given), places(case.resolved())])
    return {"runs": runs, "parts": [json.loads(text) for text in known]}


def column_of(values: Sequence[Any]) -> np.ndarray:
    """Return numbers as an array, with nan for None, and anything else as text."""
    if all(
        value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))
        for value in values
    ):
        return np.array([np.nan if value is None else value for value in values], dtype=float)
    return np.array(
        [value if isinstance(value, str) else json.dumps(value) for value in values], dtype=object
    )
