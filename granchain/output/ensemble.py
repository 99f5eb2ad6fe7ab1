"""Results of many runs side by side: a dimension `run`, padded along time, since each has its own step."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from granchain.errors import FileError
from granchain.output.provenance import data_sha256, granchain_version, source_hash, versions
from granchain.output.result import Result, dataset_of
from granchain.output.variables import CONTENT, FORMAT, LABELS, Variable
from granchain.output.whole import LARGEST_FILE, OUTPUT_MARK, claim, write_whole
from granchain.output.writer import image_of
from granchain.status import Status

# Axes along which each run has its own instants: the dimension that counts them, and the variable that says how many.
COUNTED = {"time": ("sample", "n_samples"), "energy_time": ("entry", "n_entries"), "snapshot_time": ("shot", "n_shots")}


class SideBySide:
    """Variables of many runs in one file.

    Parameters
    ----------
    results : sequence of Result or None
        None for a run that has computed nothing.
    status, messages : sequence
        Of each run.
    cases : sequence of Case
        As they were run.
    """

    sealed = True

    def __init__(self, results: Sequence[Result | None], status: Sequence[Status], messages: Sequence[str], cases: Sequence[Any]):
        documents = [case.resolved() for case in cases]
        varied = keys_that_differ(documents)
        self.varied = tuple(varied)
        self.variables, self.left_out = side_by_side(results, status, messages, varied)
        self._first = documents[0]
        self._law = ", ".join(dict.fromkeys(document["contact"]["law"] for document in documents))
        self._ends = ", ".join(f"{status.count(one)} {one.label}" for one in dict.fromkeys(status))

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes of the file's root."""
        found = {
            "Conventions": "CF-1.11",
            "title": f"{len(self.variables['run'].data)} runs",
            "granchain_format": FORMAT,
            CONTENT: "ensemble",
            "granchain_version": granchain_version(),
            "law": self._law,
            "status": self._ends,
        }
        if self.varied:
            # CF: variables that are coordinates along an axis that is not theirs alone
            found["coordinates"] = " ".join(self.varied)
        return found | ({"left_out": ", ".join(self.left_out)} if self.left_out else {})

    @property
    def provenance(self) -> dict[str, Any]:
        """Where it comes from: the first case in full, from which the others follow by the keys that were varied."""
        found = {"versions": versions(), "source_hash": source_hash(), "data_sha256": data_sha256(self.variables)}
        return found | {"case_resolved_json": json.dumps(self._first, sort_keys=True, separators=(",", ":"), allow_nan=False)}

    def save(self, path: str | os.PathLike[str], overwrite: bool) -> None:
        """Write the file, whole or not at all; see `Result.save`."""
        size = sum(variable.data.nbytes for variable in self.variables.values())
        if size > LARGEST_FILE:
            raise FileError(
                f"{os.fspath(path)}: got an ensemble of {size} bytes, allowed at most {LARGEST_FILE}; record less, or save parts of it"
            )
        with claim(path, overwrite):
            write_whole(path, image_of(self, self.attributes, self.provenance), overwrite, marks=(OUTPUT_MARK,))

    def to_xarray(self) -> Any:
        """As an `xarray.Dataset`, as xarray would open the saved file."""
        attributes = {name: value for name, value in self.attributes.items() if name != "coordinates"}
        return dataset_of(self.variables, attributes, self.varied)


def side_by_side(
    results: Sequence[Result | None], status: Sequence[Status], messages: Sequence[str], varied: Mapping[str, Sequence[Any]]
) -> tuple[dict[str, Variable], list[str]]:
    """The variables of some results, each with a first axis `run`; not a number where a run has no value.

    Parameters
    ----------
    results : sequence of Result or None
        None for a run that has computed nothing.
    status, messages : sequence
        Of each run.
    varied : mapping of str to sequence
        The keys in which the cases differ, each with a value for each run.

    Returns
    -------
    variables : dict of str to Variable
        Varied keys first.
    left_out : list of str
        Axes whose labels differ from run to run, such as `bead` in chains of different lengths: what lies along them is not there.
    """
    there = [result for result in results if result is not None]
    variables = {"run": Variable(("run",), np.arange(len(results)), "1", "index of the run")}
    variables |= {key: Variable(("run",), _values(values), "", f"of the case: {key}") for key, values in varied.items()}
    variables["status"] = Variable(("run",), _values([one.label for one in status]), "", "how the run ended")
    variables["message"] = Variable(("run",), _values(messages), "", "why it failed")
    steps = [np.nan if result is None else result.time_step for result in results]
    variables["time_step"] = Variable(("run",), np.array(steps), "s", "time step")
    labels, left_out = _labels(there)
    variables |= labels
    lengths: dict[str, np.ndarray] = {}
    for axis, (dimension, count) in COUNTED.items():
        if any(axis in result.variables for result in there):
            lengths[axis] = np.array([len(result.variables[axis].data) if result and axis in result.variables else 0 for result in results])
            variables[count] = Variable(("run",), lengths[axis], "1", f"how many values of {axis} there are")
            variables[dimension] = Variable((dimension,), np.arange(lengths[axis].max()), "1", f"index of the {dimension}")
    for name, like in {name: v for result in there for name, v in result.variables.items()}.items():
        if name in labels or left_out.intersection(like.dims):
            continue
        shape = [int(lengths[axis].max()) if axis in COUNTED else labels[axis].data.size for axis in like.dims]
        data = np.full((len(results), *shape), np.nan)
        for place, result in enumerate(results):
            if result is not None and name in result.variables:
                values = result.variables[name].data
                data[place][tuple(slice(length) for length in values.shape)] = values
        dims = tuple(COUNTED[axis][0] if axis in COUNTED else axis for axis in like.dims)
        variables[name] = Variable(("run", *dims), data, like.unit, like.long_name)
    return variables, sorted(left_out)


def _labels(results: Sequence[Result]) -> tuple[dict[str, Variable], set[str]]:
    """Label variables that all results have in common, and names of those that differ."""
    found: dict[str, Variable] = {}
    differ: set[str] = set()
    for name in LABELS:
        having = [result.variables[name] for result in results if name in result.variables]
        if having and all(np.array_equal(one.data, having[0].data) for one in having):
            found[name] = having[0]
        elif having:
            differ.add(name)
    return found, differ


def _values(values: Sequence[Any]) -> np.ndarray:
    """Numbers as they are, not a number for None; anything else as text."""
    if all(value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)) for value in values):
        return np.array([np.nan if value is None else value for value in values], dtype=float)
    return np.array([value if isinstance(value, str) else json.dumps(value) for value in values], dtype=object)


def keys_that_differ(documents: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The keys in which resolved cases differ, with dots, each with its value in every case; None where a case has it not.

    The title, which is written from them, is none.
    """
    flat = [dict(_flat(document)) for document in documents]
    names = dict.fromkeys(name for one in flat for name in one)
    columns = {name: [one.get(name) for one in flat] for name in names if name != "title"}
    return {name: values for name, values in columns.items() if any(value != values[0] for value in values[1:])}


def _flat(document: Mapping[str, Any], above: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in document.items():
        found += _flat(value, f"{above}{key}.") if isinstance(value, Mapping) else [(above + key, value)]
    return found
