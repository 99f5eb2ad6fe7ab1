"""File of an ensemble, which is read run by run."""

from __future__ import annotations

import contextlib
import json
import os
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from granchain.case.document import digest_of_case
from granchain.case.start import arrays_of_state
from granchain.contact.law import Quantity
from granchain.plain_data import canonical
from granchain.status import STATUS_OF_LABEL, Message
from granchain.store.answer import Result
from granchain.store.dataset import (
    Content,
    headers_of,
    open_hdf5,
    provenance_of,
    read_content,
    refusing,
)
from granchain.store.ensemble import COUNTED, UNSHARED
from granchain.store.schema import ENSEMBLE, LABELS, VARIABLES, WORDS, Unread

if TYPE_CHECKING:
    pass

# Provenance entries of an ensemble in addition to those of a result.
MORE = ("cases", "kinds", "laws", "run_sha256")


class StoredEnsemble:
    """Open file of an ensemble.

    Parameters
    ----------
    path : str or path
        The file.
    verify : bool
        As for `granchain.open`.

    Attributes
    ----------
    status : tuple of Status
    messages : tuple of str
    provenance : dict

    Raises
    ------
    FileError
        If the file is missing, damaged, from a newer version, or not the file of an ensemble.
    """

    def __init__(self, path: str | os.PathLike[str], verify: bool = True):
        self.path, opening = os.fspath(path), contextlib.ExitStack()
        # HDF5 may crash if it closes a file while the interpreter shuts down
        weakref.finalize(self, opening.close)
        opened = opening.enter_context(open_hdf5(path, ENSEMBLE, verify=verify))
        self._opened, file, self._datasets = opened, opened.file, opened.datasets
        with refusing(self.path):
            self.provenance = provenance_of(file)
            self.provenance["granchain_version"] = file.attrs["granchain_version"]
            self.law = str(file.attrs["law"])
            self.status = tuple(
                STATUS_OF_LABEL[label] for label in self._datasets["status"].asstr()[()]
            )
            self.messages = tuple(self._datasets["message"].asstr()[()])
            self._kind, self._step = (self._datasets[name][()] for name in ("kind", "time_step"))
            self._about = {name: json.loads(self.provenance[name]) for name in (*MORE, "messages")}
            counts = {count for _, count in (*COUNTED.values(), *UNSHARED.values())}
            self._counts = {name: self._datasets[name][()] for name in counts & set(self._datasets)}

    def __len__(self) -> int:
        return len(self.status)

    def __contains__(self, place: int) -> bool:
        return bool(self._kind[place] >= 0)

    def case_of(self, place: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the case of a run as given, and its completed tables."""
        parts = self._about["cases"]["parts"]
        tables, beside, resolved = (
            {name: parts[at] for name, at in places.items()}
            for places in self._about["cases"]["runs"][place]
        )
        return {"tables": tables, **beside}, resolved

    def result(self, place: int, case: Any = None) -> Result:
        """Return the result of a run.

        Raises
        ------
        FileError
            If it is damaged.
        """
        with refusing(self.path):
            kind, data = self._about["kinds"][self._kind[place]], {}
            for name, column, *_ in kind["variables"]:
                values = self._datasets[column][self._place(place, name, column)]
                data[name] = values.astype(np.int64) if name in (*LABELS, *WORDS) else values
            result = Result(
                data,
                case=case,
                law=kind["law"],
                status=self.status[place],
                time_step=self._step[place],
                history=[
                    Quantity(name, unit, meaning, output=True)
                    for name, _, unit, meaning in kind["variables"]
                    if name not in VARIABLES
                ],
                messages=[Message(*message) for message in self._about["messages"][place]],
            )
            laws = self._about["laws"]
            law_sha256, record = laws["records"][laws["of_run"][place]]
        # without the entries that belong to all runs together
        result.provenance = {
            name: self.provenance[name]
            for name in self.provenance
            if name not in (*MORE, "messages", "wall_time")
        }
        given, document = self.case_of(place)
        if "state" in given:
            result._initial_state = arrays_of_state(given.pop("state"))
        result.provenance |= {
            "case_json": canonical(given, ordered=True),
            "case_resolved_json": canonical(document),
            "case_sha256": digest_of_case(document),
            "data_sha256": result.data_sha256,
            "law_sha256": law_sha256,
            "law_json": record,
        }
        result.title = document.get("title", "")
        return result

    def _place(self, place: int, name: str, column: str) -> tuple[Any, ...]:
        """Return the index of the variable of a run in its column."""
        shape = self._datasets[column].shape
        axes = VARIABLES[name].dims if name in VARIABLES else ("contact",)
        # labels that all runs share have no axis `run`
        where: list[Any] = [place] if len(shape) > len(axes) else []
        for axis, length in zip(axes, shape[len(where) :], strict=True):
            counts = self._counts.get((COUNTED | UNSHARED)[axis][1])
            where.append(slice(length if counts is None else int(counts[place])))
        return tuple(where)

    @property
    def headers(self) -> dict[str, Unread]:
        """Axes, shape, unit, and meaning of each variable of the file."""
        return headers_of(self._datasets)

    def content(self) -> Content:
        """Return everything that the file contains."""
        with refusing(self.path):
            return read_content(self._opened)
