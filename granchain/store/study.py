"""The file of a study, and the journal of its members while they are computed.

`FILE.part` is a journal of completed members. After a kill, it is read up to the members that were
being written. When all members are complete, FILE is written like every output file.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from granchain.contact.law import Quantity
from granchain.errors import CaseError, FileError, GranchainError
from granchain.plain_data import canonical, plain_data
from granchain.portable import release
from granchain.status import STATUS_OF_LABEL, Message
from granchain.store.answer import Result
from granchain.store.dataset import Content, dataset_in, open_hdf5, write_content
from granchain.store.files import claim, end_of_links, quoted, replaceable
from granchain.store.journal import FrameFile, arrays_in, frame_content
from granchain.store.provenance import data_sha256, granchain_version, source_hash, versions
from granchain.store.schema import (
    CONTENT,
    FORMAT,
    NO_YES,
    STUDY,
    VARIABLES,
    Variable,
    unit_of_attributes,
)
from granchain.store.tables import plain_variable

if TYPE_CHECKING:
    import xarray

# First line of FILE.part, which identifies a file of granchain.
PART_HEAD = (
    b'{"granchain_format": "%s", "granchain_content": "part of a study"}\n' % FORMAT.encode()
)


def part_beside(path: str | os.PathLike[str]) -> Path | None:
    """Return FILE.part of a study, or None if it does not exist."""
    with contextlib.suppress(OSError, FileError):
        target = end_of_links(path)
        part = target.with_name(f"{target.name}.part")
        return part if part.exists() else None
    return None


class StudyPart:
    """FILE.part: the completed members of a study; take the `claim` of FILE first.

    Parameters
    ----------
    path : str or path
        Name of the file of the complete study.
    go_on : bool
        Whether to use the members in the file.
    anew : bool
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

    def __init__(self, path: str | os.PathLike[str], go_on: bool = False, anew: bool = False):
        target = end_of_links(path)
        self.path = target.with_name(f"{target.name}.part")
        self.columns: list[dict[str, Any]] = []
        self._content = memoryview(b"")
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
            if not go_on and not anew:
                raise FileError(
                    f"{self.path}: an unfinished study exists and was not changed. To "
                    "continue it, use --resume (in Python: resume=True). To start again, "
                    "use --overwrite (overwrite=True), or choose another file."
                )
            if go_on:
                self.columns = self.read()

    def read(self) -> list[dict[str, Any]]:
        """Return the columns of the members in the file, frame by frame."""
        if not self._journal.length and not os.path.lexists(self.path):
            return []
        with self.valid():
            self._content, frames = self._journal.read("an unfinished study")
            return [columns_in(frame) for frame in frames]

    def release(self) -> None:
        """Release the memory of the members in the file. They are read again when they are used."""
        release(self._content)

    @contextlib.contextmanager
    def valid(self) -> Iterator[None]:
        """Raise a FileError if the file turns out to have other content than this study."""
        try:
            yield
        except GranchainError:
            raise
        except Exception as error:  # Forged content causes any error of json and NumPy.
            reason = quoted(f"{type(error).__name__}: {error}")
            raise FileError(
                f"{self.path}: not an unfinished study of this kind ({reason}). It must be "
                "written by granchain for the same study. To start again, use --overwrite (in "
                "Python: overwrite=True)."
            ) from None

    def add(self, columns: Mapping[str, Any]) -> None:
        """Append completed members. The first ones replace a file that is not resumed."""
        put = self._journal.append if self._journal.length else self._journal.begin
        put(content_of_columns(columns))

    def remove(self) -> None:
        """Delete the file, because the study is complete."""
        with contextlib.suppress(OSError):
            os.unlink(self.path)


class PlainResult(NamedTuple):
    """Result of a member as it is stored in FILE.part and sent by a worker.

    Parameters
    ----------
    facts : dict
        Everything of the result but its numbers, as plain data.
    arrays : dict of str to array
    """

    facts: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]

    @classmethod
    def of(cls, result: Result) -> PlainResult:
        """Return the plain form of a result."""
        data = {name: variable.data for name, variable in result.variables.items()}
        lists = {name: values.tolist() for name, values in data.items() if values.dtype == object}
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
            "texts": lists,
        }
        return cls(facts, {name: data[name] for name in data if name not in lists})

    def result(self, case: Any) -> Result:
        """Return the result of a case."""
        facts = self.facts
        texts_of = {name: texts(values) for name, values in facts["texts"].items()}
        return Result(
            {**self.arrays, **texts_of},
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
        plain = [None if each is None else PlainResult.of(each) for each in lists["result"]]
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


def save_study(
    variables: Mapping[str, Variable],
    attributes: dict[str, Any],
    path: str | os.PathLike[str],
    overwrite: bool,
) -> None:
    """Write the file of a study, complete or not at all; take the `claim` first."""
    about = {
        "versions": versions(),
        "source_hash": source_hash(),
        "data_sha256": data_sha256(variables),
    }
    write_content(path, Content(variables, attributes, about), overwrite)


def study_attributes(
    study: str,
    title: str,
    laws: Iterable[str],
    messages: Iterable[str] = (),
    case: Any = None,
    **more: Any,
) -> dict[str, Any]:
    """Return the attributes of the dataset of a study.

    Parameters
    ----------
    study : str
        Function that returns the dataset: "sweep", "bands", "impacts", or "mode_study".
    title : str
    laws : iterable of str
        All contact laws.
    messages : iterable of str
        Notes.
    case : Case, optional
        Case of the study.
    **more
        Settings of the study, as numbers or texts.
    """
    about = {}
    if case is not None:
        about = {
            "case_sha256": case.sha256,
            "case_json": canonical(case.as_given()),
            "case_resolved_json": canonical(case.resolved()),
        }
    return {
        "Conventions": "CF-1.11",
        "title": title,
        "granchain_format": FORMAT,
        CONTENT: STUDY,
        "granchain_study": study,
        "granchain_version": granchain_version(),
        "law": ", ".join(dict.fromkeys(laws)),
        **more,
        "messages": json.dumps(list(messages)),
        **about,
        "versions": versions(),
        "source_hash": source_hash(),
    }


def texts(values: Sequence[str]) -> np.ndarray:
    """Return strings as an array of objects."""
    return np.array([*values, None], dtype=object)[:-1]


def messages_of_study(study: Any) -> list[str]:
    """Return the notes of a study."""
    return list(json.loads(study.attrs.get("messages", "[]")))


def variables_of(study: Any) -> dict[str, Variable]:
    """Return the variables of a dataset with their labels.

    A complex variable becomes two variables, with `_real` and `_imag` at the end of their names.
    """
    variables: dict[str, Variable] = {}
    for name, array in study.variables.items():
        unit = unit_of_attributes(array.attrs)
        meaning = str(array.attrs.get("long_name", ""))
        values = np.asarray(array.values)
        if array.attrs.get("flag_meanings") == NO_YES["flag_meanings"]:
            values = values.astype(bool)
        halves = {name: values}
        if values.dtype.kind == "c":
            halves = {f"{name}_real": values.real, f"{name}_imag": values.imag}
        for half, data in halves.items():
            kind = object if data.dtype.kind in "UO" else data.dtype
            variables[half] = Variable(tuple(array.dims), data.astype(kind), unit, meaning)
    return variables


def plain_answer(answer: Any) -> dict[str, Any]:
    """Return an answer, or the dataset of a study, as plain data for JSON."""
    if not hasattr(answer, "data_vars"):
        return dict(answer.as_dict())
    attributes = answer.attrs
    settings = ("status", "how", "n", "seed", "runs")
    return {
        "content": STUDY,
        "study": attributes["granchain_study"],
        **{name: attributes[name] for name in ("title", "law")},
        **{name: plain_data(attributes[name]) for name in settings if name in attributes},
        **{
            name: json.loads(attributes[f"{name}_json"])
            for name in ("pair", "inputs")
            if f"{name}_json" in attributes
        },
        **{name: plain_variable(v) for name, v in variables_of(answer).items()},
        "messages": messages_of_study(answer),
    }


def save(answer: Any, path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write an answer, or the dataset of a study, to a file, which `granchain.open` opens.

    Parameters
    ----------
    answer : Answer or xarray.Dataset
        Answer, or result of `sweep`, `bands`, `impacts`, or `mode_study`.
    path : str or path
        Output file in an existing folder.
    overwrite : bool
        Whether to replace an existing output file of granchain.

    Raises
    ------
    CaseError
        If the object is neither of them.
    FileError
        If the file cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> import granchain as gc
    >>> study = gc.impacts("hertz", None, {"speed": [0.5, 1.0]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gc.save(study, os.path.join(folder, "impacts.h5"))
    ...     gc.open(os.path.join(folder, "impacts.h5")).identical(study)
    True
    """
    if not hasattr(answer, "data_vars"):
        if not hasattr(answer, "save"):
            raise CaseError(
                f"save: {type(answer).__name__} is not supported. It must be an answer, "
                "or a dataset of sweep, bands, impacts, or mode_study."
            )
        answer.save(path, overwrite)
        return
    variables = variables_of(answer)
    inside = " ".join(name for name in answer.coords if name not in answer.dims)
    attributes = {
        **answer.attrs,
        "granchain_format": FORMAT,
        CONTENT: STUDY,
        **({"coordinates": inside} if inside else {}),
    }
    with claim(path, overwrite):
        save_study(variables, attributes, path, overwrite)


def open_study(path: str | os.PathLike[str]) -> xarray.Dataset:
    """Return the file of a study as an `xarray.Dataset`.

    Raises
    ------
    FileError
        If the file is missing, damaged, of another format, or not a study.
    """
    with open_hdf5(path, STUDY):
        return dataset_in(path)
