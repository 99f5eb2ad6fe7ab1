"""The file of an ensemble, read run by run: each run equal to the result that was written, or
refused."""

from __future__ import annotations

import contextlib
import json
import math
import os
import threading
import weakref
from typing import Any

import numpy as np

from granchain.case.document import digest_of_case
from granchain.contact.law import Quantity
from granchain.errors import FileError
from granchain.plain_data import canonical
from granchain.status import Message, Status
from granchain.store.ensemble import COUNTED, UNSHARED, changed
from granchain.store.files import DAMAGED, LARGEST_FILE
from granchain.store.reader import (
    AN_ENSEMBLE,
    LARGEST_RATIO,
    RefusedError,
    bytes_of,
    check_text,
    dataset_in,
    datasets_of,
    open_hdf5,
    provenance_of,
    refusing,
    text_attribute,
)
from granchain.store.result import Result
from granchain.store.units import unit_of_attributes
from granchain.store.variables import ENSEMBLE, LABELS, VARIABLES, Unread

# Names in the root of a file: those of some dozen laws, and of the keys that were varied.
MOST_VARIABLES_OF_AN_ENSEMBLE = 2000
# What the provenance of an ensemble has beside that of a result.
MORE = ("changes", "given", "kinds", "laws", "run_sha256")
# A column of text is read so many runs at a time.
TEXTS_AT_ONCE = 1000


class StoredEnsemble:
    """The file of an ensemble, open.

    Parameters
    ----------
    path : str or path
        The file.
    trusted : bool
        Its seal is not looked at: this process wrote it a moment ago.
    unsealed : bool
        As of `granchain.open_result`.

    Attributes
    ----------
    status : tuple of Status
    messages : tuple of str
    provenance : dict
    sealed : bool

    Raises
    ------
    FileError
        Where the file is missing, damaged, from a newer granchain or not the file of an ensemble.
    """

    def __init__(self, path: str | os.PathLike[str], trusted: bool = False, unsealed: bool = False):
        self.path = os.fspath(path)
        self._lock, opening = threading.Lock(), contextlib.ExitStack()
        # HDF5 may crash where it closes a file when the interpreter is half gone
        weakref.finalize(self, opening.close)
        with refusing(self.path):
            file, self._content, self.sealed = opening.enter_context(
                open_hdf5(path, ENSEMBLE, unsealed=unsealed, trusted=trusted)
            )
            self._datasets = datasets_of(
                file, len(self._content), MOST_VARIABLES_OF_AN_ENSEMBLE, AN_ENSEMBLE
            )
            self._count = len(self._column("run"))
            self.provenance = provenance_of(file, MORE)
            self.provenance["granchain_version"] = text_attribute(file, "granchain_version")
            self.law = text_attribute(file, "law")
            labels = {status.label: status for status in Status}
            found = self._texts("status")
            if not labels.keys() >= set(found):
                raise RefusedError(
                    f"says that a run ended as {set(found) - set(labels)!r:.50}, which this "
                    "granchain does not know"
                )
            self.status = tuple(labels[label] for label in found)
            self.messages = tuple(self._texts("message"))
            self._kind, self._step = self._column("kind"), self._column("time_step")
            self._kinds = self._table("kinds", list)
            self._changes, self._messages, self._hashes = (
                self._of_each(name) for name in ("changes", "messages", "run_sha256")
            )
            self._given, self._laws, self._first = (
                self._table(name, dict) for name in ("given", "laws", "case_resolved_json")
            )
            self._varied = {name for change in self._changes for name in change} - {"title"}
            counts = {count for _, count in (*COUNTED.values(), *UNSHARED.values())}
            self._counts = {
                name: self._column(name) for name in sorted(counts & self._datasets.keys())
            }

    def __len__(self) -> int:
        return self._count

    def __contains__(self, place: int) -> bool:
        return bool(self._kind[place] >= 0)

    def _table(self, name: str, kind: type) -> Any:
        value = json.loads(self.provenance.get(name, "null"))
        if not isinstance(value, kind):
            raise RefusedError(f"its {name} are not what an ensemble has; {DAMAGED}")
        return value

    def _of_each(self, name: str) -> list[Any]:
        values: list[Any] = self._table(name, list)
        if len(values) != self._count:
            raise RefusedError(
                f"its {name} are of {len(values)} runs, and there are {self._count}; {DAMAGED}"
            )
        return values

    def _column(self, name: str) -> np.ndarray:
        """Numbers, one for each run."""
        dataset = self._dataset(name)
        if dataset.dtype.str not in ("<i8", "<f8") or len(dataset.shape) != 1:
            raise RefusedError(f"{name!r} is not one number for each run; {DAMAGED}")
        self._afford(name, bytes_of(dataset))
        values = np.asarray(dataset[()])
        if name != "run" and len(values) != self._count:
            raise RefusedError(
                f"{name!r} is of {len(values)} runs, and there are {self._count}; {DAMAGED}"
            )
        return values

    def _texts(self, name: str) -> list[str]:
        """Texts, one for each run."""
        dataset = self._dataset(name)
        check_text(dataset, name, (self._count,))
        found: list[str] = []
        for at in range(0, self._count, TEXTS_AT_ONCE):
            found += dataset.asstr()[at : at + TEXTS_AT_ONCE].tolist()
            # many may share the bytes of one
            self._afford(name, sum(map(len, found)))
        return found

    def _dataset(self, name: str) -> Any:
        if name not in self._datasets:
            raise RefusedError(f"has no {name}; {DAMAGED}")
        return self._datasets[name]

    def _afford(self, name: str, needed: int) -> None:
        if needed > min(LARGEST_FILE, LARGEST_RATIO * len(self._content)):
            raise RefusedError(
                f"{name} takes {needed} bytes of memory, more than is read at once of a file of "
                f"{len(self._content)} bytes"
            )

    def document(self, place: int) -> dict[str, Any]:
        """The resolved case of a run."""
        return changed(self._first, self._varied, self._changes[place])

    def given(self, place: int) -> dict[str, Any]:
        """The case of a run as it was given."""
        try:
            tables, beside = self._given["runs"][place]
            parts = self._given["parts"]
            return {"tables": {name: parts[at] for name, at in tables.items()}, **parts[beside]}
        except (LookupError, TypeError, ValueError, AttributeError):
            raise FileError(
                f"{self.path}: got no case of run {place} as it was given, allowed one for each "
                f"run; {DAMAGED}"
            ) from None

    def result(self, place: int, case: Any = None) -> Result:
        """The result of a run that has one, compared with its hash.

        Raises
        ------
        FileError
            Where it is damaged.
        """
        with self._lock, refusing(self.path):
            kind = int(self._kind[place])
            if not 0 <= kind < len(self._kinds):
                raise RefusedError(f"holds nothing of run {place}")
            of_kind = self._kinds[kind]
            parts = {
                name: (column, unit, meaning)
                for name, column, unit, meaning in of_kind["variables"]
            }
            axes = {
                name: VARIABLES[name].dims if name in VARIABLES else ("contact",) for name in parts
            }
            places = {
                name: self._place(place, column, axes[name]) for name, (column, *_) in parts.items()
            }
            self._afford(
                f"run {place}",
                sum(
                    8 * math.prod(s.stop for s in where if isinstance(s, slice))
                    for where in places.values()
                ),
            )
            data = {}
            for name, (column, *_) in parts.items():
                values = np.asarray(self._dataset(column)[places[name]])
                data[name] = values.astype(np.int64) if name in LABELS else values
            result = Result(
                data,
                case=case,
                law=of_kind["law"],
                status=self.status[place],
                time_step=float(self._step[place]),
                history=[
                    Quantity(name, unit, meaning, output=True)
                    for name, (_, unit, meaning) in parts.items()
                    if name not in VARIABLES
                ],
                messages=[Message(*message) for message in self._messages[place]],
            )
            if result.data_sha256 != self._hashes[place]:
                raise RefusedError(f"the data of run {place} differ from their hash; {DAMAGED}")
            law_sha256, record = self._laws["records"][self._laws["of_run"][place]]
        # what is of all runs together is not of this one
        result.provenance = {
            name: self.provenance[name]
            for name in self.provenance
            if name not in (*MORE, "messages", "wall_time")
        }
        document = self.document(place)
        result.provenance |= {
            "case_json": canonical(self.given(place), ordered=True),
            "case_resolved_json": canonical(document),
            "case_sha256": digest_of_case(document),
            "data_sha256": self._hashes[place],
            "law_sha256": str(law_sha256),
            "law_json": str(record),
        }
        result.title = str(document.get("title", ""))
        result.sealed = self.sealed
        return result

    def _place(self, place: int, column: str, axes: tuple[str, ...]) -> tuple[Any, ...]:
        """Where in its column the variable of a run is."""
        dataset = self._dataset(column)
        where: list[Any] = (
            [] if axes == (column,) and column in LABELS and dataset.ndim == 1 else [place]
        )
        for axis, length in zip(axes, dataset.shape[len(where) :], strict=True):
            count = (COUNTED | UNSHARED)[axis][1]
            mine = int(self._counts[count][place]) if count in self._counts else length
            if not 0 <= mine <= length:
                raise RefusedError(
                    f"{count} of run {place} is {mine}, and must be 0 to {length}; {DAMAGED}"
                )
            where.append(slice(0, mine))
        if dataset.dtype.str not in ("<f8", "<i8"):
            raise RefusedError(f"{column!r} holds no numbers; {DAMAGED}")
        return tuple(where)

    def verify(self) -> str:
        """Read every run, and compare it with its hash; gives that of all of them."""
        for place, kind in enumerate(self._kind):
            if kind >= 0:
                self.result(place)
        return str(self.provenance["data_sha256"])

    @property
    def headers(self) -> dict[str, Unread]:
        """What the file states about each variable."""
        with refusing(self.path):
            return {
                name: Unread(
                    (name,)
                    if d.is_scale
                    else tuple(axis[0].name.lstrip("/") if len(axis) else "?" for axis in d.dims),
                    d.shape,
                    unit_of_attributes(d.attrs),
                    str(d.attrs.get("long_name", "")),
                )
                for name, d in self._datasets.items()
            }

    def to_xarray(self) -> Any:
        """All of it as an `xarray.Dataset`."""
        with self._lock, refusing(self.path):
            self._afford("all of it", sum(map(bytes_of, self._datasets.values())))
            return dataset_in(self._content)
