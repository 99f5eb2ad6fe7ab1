"""The reader of output files: a guard that takes nothing but what the writer writes.

No links, no data of other files, no sizes that the file cannot hold.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from granchain.case.document import digest_of_case
from granchain.contact.law import Quantity
from granchain.errors import FileError, GranchainError
from granchain.status import Message, Status
from granchain.store.files import (
    BYTES_WITH_MARK,
    DAMAGED,
    LARGEST_FILE,
    OUTPUT_MARK,
    StoredFile,
    check_seal,
    quoted,
)
from granchain.store.provenance import NUMBERS, TEXTS, data_sha256
from granchain.store.result import Result
from granchain.store.units import unit_of_attributes
from granchain.store.variables import (
    CONTENT,
    ENSEMBLE,
    FORMAT,
    LABELS,
    STUDY_OF_RUNS,
    Unread,
    Variable,
    check_axes,
    variable_table,
)

# Deflate packs at most 258 bytes into 2 bits (RFC 1951: longest match; one bit each for length and
# distance): 1032 times. A file has more in it than packed zeros, so its data never reach 1000 times
# its size.
LARGEST_RATIO = 1000

# No file of an ensemble has more bytes: it is read run by run.
LARGEST_ENSEMBLE = 2**40
AN_ENSEMBLE = "an ensemble"

# Chunks of more bytes are not ours: reading one takes its whole size at once.
LARGEST_CHUNK = 1024**2

# Bytes of a variable that are held at once where it is read piece by piece.
AT_ONCE = 16 * 1024**2

# Stretches of time whose smallest and largest values make a picture: twice the dots that a page
# has.
STRETCHES_OF_A_PICTURE = 2000

# Names in the root of a file: the variables below, and room for a law with a long history.
MOST_VARIABLES = 200


# Variables that are read of a file, chosen from what it states about all of them.
Choice = Callable[[Mapping[str, Unread]], Iterable[str]]


def open_result(
    path: str | os.PathLike[str],
    variables: Choice | None = None,
    most: float = math.inf,
    *,
    unsealed: bool = False,
) -> Result:
    """Read an output file; the contact law need not be installed.

    A file without its seal, the hash of all its bytes in its last line, or with another one, is
    refused unread: it was damaged, or edited by another program.

    Parameters
    ----------
    path : str or path
        The file.
    variables : function, optional
        Gets what the file states about each variable by name (dims, shape, unit, long_name) and
        returns the names of those to read; without it, all are read and compared with their hash.
        `unread` of the result holds the others.
    most : float
        For a picture: of the variables over one axis of time that together take more [bytes], no
        more instants are read than show their course, with the smallest and largest values.
        `thinned` of the result gives their number.
    unsealed : bool
        Read a file without its seal all the same, at your own risk: HDF5 may crash on what somebody
        made for that, or never end. `sealed` of the result is False then.

    Returns
    -------
    Result
        Equal to the one that was saved, where all of it was read.

    Raises
    ------
    FileError
        Where the file is missing, damaged, from a newer granchain or not one of its files.
    """
    with open_hdf5(path, unsealed=unsealed) as opened:
        result = _read_result(opened.file, len(opened.content), variables, most)
        result.sealed = opened.sealed
    # says where it is completed to another case today; one that this version does not take is read
    # all the same
    with contextlib.suppress(GranchainError):
        result.case  # noqa: B018
    return result


def verify_file(path: str | os.PathLike[str]) -> str:
    """Read every value of a file, and compare the data with their hash.

    Returns
    -------
    str
        SHA-256 of the data: equal for equal results, whatever the day, the computer or the
        compression.

    Raises
    ------
    FileError
        As `open_result`.
    """
    with open_hdf5(path) as opened:
        result = _read_result(opened.file, len(opened.content), nothing, math.inf)
        _check_hash(
            result,
            {
                name: _InFile(v.dims, opened.file[name], v.unit, v.long_name)
                for name, v in result.unread.items()
            },
        )
    return str(result.provenance["data_sha256"])


class _InFile(Variable):
    """A variable whose data are a dataset of an open file."""

    def pieces(self) -> Iterator[Any]:
        return (part.tobytes() for part in pieces_of_dataset(self.data))


def _check_hash(result: Result, variables: Mapping[str, Variable]) -> None:
    if result.provenance.get("data_sha256") != data_sha256(variables):
        raise RefusedError(f"its data differ from their hash; {DAMAGED}")


# What reads the file of a study.
OPENS_STUDY = (
    "granchain plot and granchain report read it, and in Python xarray.open_dataset(FILE, "
    'engine="h5netcdf")'
)


class RefusedError(Exception):
    """Why a file is not read, in words."""


class HoldsEnsembleError(FileError):
    """A file holds the results of many runs."""


def nothing(headers: Mapping[str, Unread]) -> Iterable[str]:
    """No variable: for a reader of the file's attributes only."""
    return ()


class OpenedFile(NamedTuple):
    """An output file, open: as h5py has it, its bytes, and whether it has its seal."""

    file: Any
    content: StoredFile
    sealed: bool


@contextlib.contextmanager
def open_hdf5(
    path: str | os.PathLike[str],
    wanted: str | None = "",
    *,
    unsealed: bool = False,
    trusted: bool = False,
) -> Iterator[OpenedFile]:
    """Open an output file; what is found in it, or what h5py says of it, is raised as a FileError.

    Parameters
    ----------
    path : str or path
    wanted : str or None
        What it must hold: "" for the result of one run, `ENSEMBLE`, `STUDY_OF_RUNS`; None:
        anything.
    unsealed : bool
        As of `open_result`.
    trusted : bool
        Its seal is not looked at: this process did so, or wrote it, a moment ago.
    """
    import h5py

    content = StoredFile(
        path, "an output file", LARGEST_ENSEMBLE if wanted == ENSEMBLE else LARGEST_FILE
    )
    # The signature of HDF5: HDF5 File Format Specification 3.0, II.A.
    if content.part(0, 8) != b"\x89HDF\r\n\x1a\n":
        raise FileError(
            f"{os.fspath(path)}: got a file that is not HDF5, allowed an output file of "
            "granchain; name another"
        )
    if OUTPUT_MARK not in content.part(0, BYTES_WITH_MARK):
        raise FileError(
            f"{os.fspath(path)}: got HDF5 that granchain did not write, allowed an output file of "
            "granchain; name another"
        )
    sealed = trusted or check_seal(path, content, unsealed)
    with refusing(path), content.stream() as stream, h5py.File(stream, "r") as file:
        if wanted is not None:
            check_format(file, wanted)
        yield OpenedFile(file, content, sealed)


@contextlib.contextmanager
def refusing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what is found in a file, or what h5py says of it, into a FileError."""
    try:
        yield
    except HoldsEnsembleError:
        raise HoldsEnsembleError(
            f"{os.fspath(path)}: got an ensemble, the results of many runs, allowed that of one; "
            "open it with granchain.open_ensemble, or save one of them to a file of its own: "
            f'granchain.open_ensemble({os.fspath(path)!r})[0].save("one.h5")'
        ) from None
    except RefusedError as refused:
        raise FileError(f"{os.fspath(path)}: {refused}") from None
    except Exception as error:  # On a damaged file h5py raises nearly every built-in exception.
        reason = quoted(f"{type(error).__name__}: {error}")
        raise FileError(f"{os.fspath(path)}: {DAMAGED} (HDF5 says {reason})") from error


def dataset_in(content: StoredFile) -> Any:
    """A file that has been looked at as an `xarray.Dataset`."""
    import xarray

    with content.stream() as stream, xarray.open_dataset(stream, engine="h5netcdf") as opened:
        return opened.load()


def datasets_of(file: Any, size: int, most: int, what: str) -> dict[str, Any]:
    """All variables of a file of so many bytes, each looked at before any of its data is read."""
    if len(file) > most:
        raise RefusedError(
            f"holds {len(file)} names, {what} at most {most}; it is not one of granchain's"
        )
    datasets = {name: member(file, name) for name in file if name != "provenance"}
    for name, dataset in datasets.items():
        _check_stored(name, dataset)
    claimed = sum(map(bytes_of, datasets.values()))
    if claimed > min(LARGEST_FILE, LARGEST_RATIO * size) and what != AN_ENSEMBLE:
        raise RefusedError(
            f"claims {claimed} bytes of data, more than its {size} bytes can hold; it is damaged, "
            "or made to do harm"
        )
    return datasets


def _read_result(file: Any, size: int, variables: Choice | None, most: float) -> Result:
    """Check everything in the file before any of its data is read, then read what is wanted of
    it."""
    datasets = datasets_of(file, size, MOST_VARIABLES, "an output file")
    table = variable_table(datasets)
    for name, dataset in datasets.items():
        kinds = ("<i8",) if name in LABELS else ("<f8",)
        if dataset.dtype.str not in kinds:
            raise RefusedError(
                f"{name!r} holds values of type {dataset.dtype!s:.50}, allowed: "
                f"{', '.join(kinds)}; it is not one of granchain's"
            )
        if name not in table and dataset.ndim != 1:
            raise RefusedError(
                f"{name!r} is neither a variable of an output file nor one value per contact; it "
                "is not one of granchain's"
            )
    dims = {name: table[name].dims if name in table else ("contact",) for name in datasets}
    try:
        check_axes(dims, {name: dataset.shape for name, dataset in datasets.items()})
    except ValueError as error:
        raise RefusedError(f"{error}; {DAMAGED}") from None

    attributes: dict[str, Any] = {
        name: text_attribute(file, name) for name in ("title", "granchain_version", "law", "status")
    }
    attributes["time_step"] = _finite_number(
        file.attrs.get_id("time_step"), file.attrs["time_step"], "time_step"
    )
    meanings: dict[str, tuple[str, str]] = {}
    for name, dataset in datasets.items():
        unit = unit_of_attributes(
            dataset.attrs, partial(text_attribute, dataset)
        ) or text_attribute(dataset, "units")
        meanings[name] = unit, text_attribute(dataset, "long_name")
        if name in table and unit != table[name].unit:
            raise RefusedError(
                f"{name} is in {unit!r}, and must be in {table[name].unit!r}; it is not one of "
                "granchain's"
            )
    provenance = provenance_of(file)
    headers = {
        name: Unread(dims[name], dataset.shape, *meanings[name])
        for name, dataset in datasets.items()
    }
    chosen = set(headers) if variables is None else headers.keys() & set(variables(headers))
    chosen |= {axis for name in chosen for axis in headers[name].dims}
    rows = thinned_rows(
        {name: dataset for name, dataset in datasets.items() if name in chosen}, dims, most
    )
    data = {
        name: _rows_of_dataset(dataset, rows.get(dims[name][0]))
        for name, dataset in datasets.items()
        if name in chosen
    }
    result = _restored(attributes, data, {name: meanings[name] for name in data}, provenance)
    result.unread = {name: header for name, header in headers.items() if name not in chosen}
    result.thinned = {axis: (len(read), headers[axis].shape[0]) for axis, read in rows.items()}
    if variables is None and not rows:
        _check_hash(result, result.variables)
    return result


def pieces_of_dataset(dataset: Any) -> Iterator[np.ndarray]:
    """The rows of a dataset, some at a time, in whole pieces as they are stored."""
    if not dataset.shape or not math.prod(dataset.shape):
        return
    row = max(1, bytes_of(dataset) // dataset.shape[0])
    stored = dataset.chunks[0] if dataset.chunks else 1
    rows = max(1, AT_ONCE // (row * stored)) * stored
    for at in range(0, dataset.shape[0], rows):
        yield dataset[at : at + rows]


def thinned_rows(
    datasets: Mapping[str, Any], dims: Mapping[str, tuple[str, ...]], most: float
) -> dict[str, np.ndarray]:
    """The instants that a picture needs, of each axis of time along which more than `most`
    bytes would be read."""
    found = {}
    for axis in ("time", "energy_time", "snapshot_time"):
        along = {name: dataset for name, dataset in datasets.items() if dims[name][0] == axis}
        total = sum(bytes_of(dataset) for dataset in along.values())
        if total > most:
            columns = total // (8 * along[axis].shape[0])
            found[axis] = _instants(along, axis, columns, most)
    return found


def _instants(datasets: Mapping[str, Any], axis: str, columns: int, most: float) -> np.ndarray:
    """Evenly spaced instants; of few columns, in even stretches, those of the smallest and
    largest value, with its two neighbours."""
    count = datasets[axis].shape[0]
    # A stretch has four instants of each column, and its first.
    stretches = int(most // (8 * columns * (4 * columns + 1)))
    if stretches < STRETCHES_OF_A_PICTURE:
        return np.unique(
            np.linspace(0, count - 1, max(2, int(most // (8 * columns)))).astype(np.int64)
        )
    width = -(-count // stretches)
    parts = [np.arange(0, count, width), np.array([count - 1])]
    for name, dataset in datasets.items():
        start = 0
        for part in pieces_of_dataset(dataset) if name != axis else ():
            values = part.reshape(len(part), -1)
            full = len(values) // width * width
            for begin, stretch in (
                (0, values[:full].reshape(-1, width, values.shape[1])),
                (full, values[np.newaxis, full:]),
            ):
                if stretch.size:
                    first = start + begin + width * np.arange(len(stretch))[:, np.newaxis]
                    smallest, largest = (
                        first + place for place in (stretch.argmin(axis=1), stretch.argmax(axis=1))
                    )
                    parts += [row.ravel() for row in (smallest, largest - 1, largest, largest + 1)]
            start += len(part)
    rows = np.unique(np.concatenate(parts))
    return rows[(rows >= 0) & (rows < count)]


def _rows_of_dataset(dataset: Any, rows: np.ndarray | None) -> np.ndarray:
    """All of a dataset, or some of its rows."""
    if rows is None:
        return np.asarray(dataset[()])
    found, start = [], 0
    for part in pieces_of_dataset(dataset):
        inside = rows[(rows >= start) & (rows < start + len(part))]
        found.append(part[inside - start])
        start += len(part)
    return np.concatenate(found)


def _restored(
    attributes: dict[str, Any],
    data: dict[str, np.ndarray],
    meanings: dict[str, tuple[str, str]],
    provenance: dict[str, Any],
) -> Result:
    """The result that was saved, from what was read."""
    status = next((status for status in Status if status.label == attributes["status"]), None)
    if status is None:
        raise RefusedError(
            f"says that its run ended as {attributes['status']!r}, which this granchain does not "
            "know; update granchain"
        )
    if not is_of_case(*map(provenance.get, ("case_resolved_json", "case_sha256", "case_json"))):
        raise RefusedError(f"the case in it differs from its hash; {DAMAGED}")
    messages = json.loads(provenance.pop("messages", "[]"))
    if not isinstance(messages, list) or not all(
        isinstance(one, list) and [*map(type, one)] == [str, bool] for one in messages
    ):
        raise RefusedError(f"its messages are not a list of texts; {DAMAGED}")
    table = variable_table(data)
    try:
        result = Result(
            data,
            case=None,
            law=attributes["law"],
            status=status,
            time_step=attributes["time_step"],
            history=[
                Quantity(name, unit, meaning, output=True)
                for name, (unit, meaning) in meanings.items()
                if name not in table
            ],
            messages=[Message(*message) for message in messages],
        )
    except ValueError as error:
        raise RefusedError(f"{error}; {DAMAGED}") from None
    result.title = attributes["title"]
    result.provenance = provenance | {"granchain_version": attributes["granchain_version"]}
    return result


def is_of_case(text: str | None, digest: str | None, given: str | None = None) -> bool:
    """Whether a digest is that of a case's JSON, and that of the case as it was given is a
    table of tables; a result may be of none."""
    try:
        tables = {} if given is None else json.loads(given)["tables"]
        return (
            isinstance(tables, dict)
            and (None if text is None else digest_of_case(json.loads(text))) == digest
        )
    except (ValueError, AttributeError, TypeError, LookupError, RecursionError):
        return False


def check_format(file: Any, wanted: str = "") -> None:
    """Refuse what is no file of ours, holds something else, or is newer."""
    if "granchain_format" not in file.attrs:
        raise RefusedError("is an HDF5 file, but not one that granchain wrote")
    content = text_attribute(file, CONTENT) if CONTENT in file.attrs else ""
    if content != wanted:
        if content == ENSEMBLE:
            raise HoldsEnsembleError
        how = OPENS_STUDY if content == STUDY_OF_RUNS else "open it as such"
        raise RefusedError(
            f"holds {quoted(content) or 'the result of one run'}, allowed "
            f"{wanted or 'the result of one run'}; {how}"
        )
    written = text_attribute(file, "granchain_format")
    if written != FORMAT:
        raise RefusedError(
            f"has the format {quoted(written)[:50]!r}, allowed {FORMAT!r}; read it with the "
            "granchain that wrote it"
        )


def member(parent: Any, name: str, group: bool = False) -> Any:
    """A dataset or group that is in this very file: the link is looked at before it is followed."""
    import h5py

    if not parent.id.links.exists(name.encode("utf-8", "surrogateescape")):
        raise RefusedError(f"has no {name}; {DAMAGED}")
    if parent.id.links.get_info(name.encode("utf-8", "surrogateescape")).type != h5py.h5l.TYPE_HARD:
        raise RefusedError(
            f"{name!r} is a link to another place; an output file has none, and such a link can "
            "read your other files"
        )
    member = parent[name]
    if not isinstance(member, h5py.Group if group else h5py.Dataset):
        raise RefusedError(
            f"{name!r} is not what an output file has under this name; it is not one of granchain's"
        )
    return member


def _check_stored(name: str, dataset: Any) -> None:
    """Refuse a variable that is not stored as ours are: by its axes, its place, its filters,
    the sizes of its pieces."""
    import h5py

    if not dataset.shape:
        raise RefusedError(f"{name[:50]!r} has no axis; it is not one of granchain's")
    made = dataset.id.get_create_plist()
    if dataset.is_virtual or made.get_external_count():
        raise RefusedError(
            f"{name!r} keeps its data in another file; an output file never does, and such a name "
            "can read your other files"
        )
    filters = [made.get_filter(i)[0] for i in range(made.get_nfilters())]
    known = {h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_FLETCHER32}
    if len(set(filters)) < len(filters) or not set(filters) <= known:
        raise RefusedError(
            f"{name!r} is packed in a way that granchain does not use; it is not one of its files"
        )
    if dataset.chunks and math.prod(dataset.chunks) * dataset.dtype.itemsize > LARGEST_CHUNK:
        raise RefusedError(
            f"{name!r} is stored in pieces larger than granchain writes; it is damaged, or made "
            "to do harm"
        )


def bytes_of(dataset: Any) -> int:
    """What a dataset takes unpacked."""
    return math.prod(dataset.shape) * int(dataset.dtype.itemsize)


def provenance_of(file: Any, more: tuple[str, ...] = ()) -> dict[str, Any]:
    """What a file says about how it was made."""
    group = member(file, "provenance", group=True)
    found: dict[str, Any] = {}
    for name in group:
        if name not in (*TEXTS, *NUMBERS, "messages", *more):
            raise RefusedError(
                f"{name[:50]!r} has no place in the provenance of an output file; it is not one "
                "of granchain's"
            )
        dataset = member(group, name)
        made = dataset.id.get_create_plist()
        if dataset.shape != () or dataset.is_virtual or made.get_external_count():
            raise RefusedError(
                f"{name!r} in its provenance is not a single value of its own; it is not one of "
                "granchain's"
            )
        if name in NUMBERS:
            found[name] = _finite_number(dataset, dataset[()], name)
        else:
            check_text(dataset, name)
            found[name] = dataset.asstr()[()]
    return found


def text_attribute(item: Any, name: str) -> str:
    """An attribute that is one text."""
    if name not in item.attrs:
        raise RefusedError(f"the attribute {name} is missing; {DAMAGED}")
    check_text(item.attrs.get_id(name), name)
    return str(item.attrs[name])


def check_text(holder: Any, name: str, shape: tuple[int, ...] = ()) -> None:
    """Refuse what is not one text, or texts of this shape."""
    import h5py

    kind = h5py.check_string_dtype(holder.dtype)
    if holder.shape != shape or kind is None or kind.length is not None:
        raise RefusedError(
            f"{name} is not one text{' for each run' if shape else ''}; it is not one of "
            "granchain's"
        )


def _finite_number(holder: Any, value: Any, name: str) -> float:
    if holder.shape != () or holder.dtype.str != "<f8" or not math.isfinite(value):
        raise RefusedError(f"{name} is not one finite number; {DAMAGED}")
    return float(value)
