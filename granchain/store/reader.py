"""The reader of output files.

A seal that fits proves that a file is as granchain wrote it. Against one that was made to do harm
there is one look before any data are read: no link, no data of other files, no size that the file
cannot hold.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from granchain.contact.law import Quantity
from granchain.errors import FileError, GranchainError, MissingPackage
from granchain.status import STATUS_OF_LABEL, Message
from granchain.store.files import (
    BYTES_WITH_MARK,
    DAMAGED,
    LARGEST_FILE,
    OUTPUT_MARK,
    check_seal,
    open_for_reading,
    quoted,
)
from granchain.store.provenance import NUMBERS
from granchain.store.result import Result
from granchain.store.variables import (
    CONTENT,
    ENSEMBLE,
    FORMAT,
    STUDY_OF_RUNS,
    Unread,
    unit_of_attributes,
    variable_table,
)

if TYPE_CHECKING:
    import xarray

# Deflate packs at most 258 bytes into 2 bits (RFC 1951: longest match; one bit each for length and
# distance): 1032 times. A file has more in it than packed zeros, so its data never reach 1000 times
# its size.
LARGEST_RATIO = 1000
# No file of an ensemble has more bytes: it is read run by run.
LARGEST_ENSEMBLE = 2**40

# Variables that are read of a file, chosen from what it states about all of them.
Choice = Callable[[Mapping[str, Unread]], Iterable[str]]

# What reads the file of a study.
OPENS_STUDY = (
    "Use granchain plot, granchain report, or, in Python, xarray.open_dataset(FILE, "
    'engine="h5netcdf").'
)


class RefusedError(Exception):
    """Why a file is not read, in words."""


class HoldsEnsembleError(FileError):
    """A file holds the results of many runs."""


def nothing(headers: Mapping[str, Unread]) -> Iterable[str]:
    """No variable: for a reader of the file's attributes only."""
    return ()


def open_result(
    path: str | os.PathLike[str], variables: Choice | None = None, *, unsealed: bool = False
) -> Result:
    """Read the result of a run from a file.

    The contact law need not be installed. A file whose checksum is missing or invalid is not read,
    because it was damaged or changed by another program.

    Parameters
    ----------
    path : str or path
        Output file of a run.
    variables : function, optional
        Function that receives the header of each variable by name (dims, shape, unit, long_name)
        and returns the names of the variables to read. The others are listed in `unread` of the
        result. Default: all variables are read and compared with their checksum.
    unsealed : bool
        Read a file whose checksum is missing or invalid. Use at your own risk: HDF5 may crash or
        hang on a malicious file. `sealed` of the result is then False.

    Returns
    -------
    Result
        The result. If all variables are read, it is equal to the saved one.

    Raises
    ------
    FileError
        If the file is missing, damaged, not an output file, or from a newer version of granchain.

    Examples
    --------
    >>> import os, tempfile
    >>> import granchain as gc
    >>> result = gc.run(gc.load_case("steel-chain-hertz").replace(**{"time.end": 2e-5}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result.save(os.path.join(folder, "chain.h5"))
    ...     gc.open_result(os.path.join(folder, "chain.h5")).equals(result)
    True
    """
    with open_hdf5(path, unsealed=unsealed) as opened:
        file, headers = opened.file, headers_of(opened.datasets)
        chosen = set(headers) if variables is None else headers.keys() & set(variables(headers))
        chosen |= {axis for name in chosen for axis in headers[name].dims}
        table, provenance = variable_table(headers), provenance_of(file)
        result = Result(
            {name: opened.datasets[name][()] for name in headers if name in chosen},
            case=None,
            law=file.attrs["law"],
            status=STATUS_OF_LABEL[file.attrs["status"]],
            time_step=file.attrs["time_step"],
            history=[
                Quantity(name, headers[name].unit, headers[name].long_name, output=True)
                for name in chosen - table.keys()
            ],
            messages=[Message(*message) for message in json.loads(provenance.pop("messages"))],
            # what stands under /state: arrays, and the facts as text
            state={
                name.removeprefix("state/"): one.asstr()[()] if name == "state/facts" else one[()]
                for name, one in opened.datasets.items()
                if name.startswith("state/")
            }
            or None,
        )
        result.title, result.sealed = file.attrs["title"], opened.sealed
        result.provenance = provenance | {"granchain_version": file.attrs["granchain_version"]}
        result.unread = {name: header for name, header in headers.items() if name not in chosen}
        if not result.unread and result.data_sha256 != provenance["data_sha256"]:
            raise RefusedError(
                f"the data differ from their checksum. {DAMAGED[:1].upper()}{DAMAGED[1:]}"
            )
    # says where it is completed to another case today; one that this version does not take is read
    # all the same
    with contextlib.suppress(GranchainError):
        result.case  # noqa: B018
    return result


class OpenedFile(NamedTuple):
    """An output file, open: as h5py has it, all that it holds by path, and whether it has its
    seal."""

    file: Any
    datasets: dict[str, Any]
    sealed: bool


@contextlib.contextmanager
def open_hdf5(
    path: str | os.PathLike[str], wanted: str | None = "", *, unsealed: bool = False
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
    """
    import h5py

    largest = LARGEST_ENSEMBLE if wanted == ENSEMBLE else LARGEST_FILE
    with open_for_reading(path, "an output file of granchain", largest) as content:
        if OUTPUT_MARK not in content.read(BYTES_WITH_MARK) or not h5py.is_hdf5(path):
            raise FileError(
                f"{os.fspath(path)}: not an output file of granchain. It must be written by "
                "granchain. Choose another file."
            )
        sealed = check_seal(path, content, unsealed)
        with refusing(path), h5py.File(content, "r") as file:
            if wanted is not None:
                check_format(os.fspath(path), file, wanted)
            # an ensemble is read run by run, and where nothing was written takes no byte
            most = largest if wanted == ENSEMBLE else LARGEST_RATIO * content.seek(0, os.SEEK_END)
            yield OpenedFile(file, datasets_of(file, min(largest, most)), sealed)


@contextlib.contextmanager
def refusing(path: str | os.PathLike[str], otherwise: str = DAMAGED) -> Iterator[None]:
    """Turn what is found in a file, or what h5py says of it, into a FileError."""
    try:
        yield
    except (FileError, MissingPackage):
        raise
    except RefusedError as refused:
        raise FileError(f"{os.fspath(path)}: {refused}") from None
    except Exception as error:  # On a damaged file h5py raises nearly every built-in exception.
        reason = quoted(f"{type(error).__name__}: {error}")
        raise FileError(f"{os.fspath(path)}: {otherwise} Reason: {reason}.") from error


def check_format(path: str, file: Any, wanted: str) -> None:
    """Refuse what holds something else, or is newer."""
    content, written = file.attrs.get(CONTENT, ""), file.attrs["granchain_format"]
    if content == ENSEMBLE != wanted:
        raise HoldsEnsembleError(
            f"{path}: the file contains an ensemble. It must contain the result of one run. "
            "Open it with granchain.open_ensemble, or save one of its runs: "
            f'granchain.open_ensemble({path!r})[0].save("one.h5").'
        )
    if content != wanted:
        raise RefusedError(
            f"the file contains {quoted(content) or 'the result of one run'}. It must "
            f"contain {wanted or 'the result of one run'}. "
            f"{OPENS_STUDY if content == STUDY_OF_RUNS else 'Open it as what it is.'}"
        )
    if written != FORMAT:
        raise RefusedError(
            f"the file format is {quoted(written)!r}. It must be {FORMAT!r}. Read the file "
            "with the version of granchain that wrote it."
        )


def datasets_of(file: Any, most: int, links: bool = False) -> dict[str, Any]:
    """All datasets of a file by their paths, looked at before any of their data is read.

    Parameters
    ----------
    file : h5py.File
    most : int
        Bytes that all of them may take unpacked.
    links : bool
        Whether links are passed over, or refused.
    """
    import h5py

    found: dict[str, Any] = {}
    named: list[tuple[str, Any]] = []
    # each link once, also where a group is a member of itself
    file.visititems_links(lambda *link: named.append(link))
    for path, link in named:
        if not isinstance(link, h5py.HardLink):
            if links:
                continue
            raise RefusedError(
                f"{quoted(path)!r} is a link to data outside the file. Such a link can read "
                "your other files, so the file must contain all its data. Use another copy."
            )
        member = file[path]
        if isinstance(member, h5py.Group):
            continue
        made = member.id.get_create_plist()
        if member.is_virtual or made.get_external_count():
            raise RefusedError(
                f"the data of {quoted(path)!r} are in another file. The file must contain "
                "all its data. Copy them into it."
            )
        found[path] = member
    # reading any of a piece takes the whole of it
    claimed = sum(max(bytes_of(one), bytes_of(one, one.chunks or (0,))) for one in found.values())
    if claimed > most:
        raise RefusedError(
            f"the file declares {claimed} bytes of data, more than it can contain. The "
            f"limit is {most} bytes. It is damaged or malicious. Use another copy."
        )
    return found


def bytes_of(dataset: Any, shape: tuple[int, ...] | None = None) -> int:
    """What a dataset, or a part of this shape, takes unpacked."""
    return math.prod(shape or dataset.shape or ()) * int(dataset.dtype.itemsize)


def headers_of(datasets: Mapping[str, Any]) -> dict[str, Unread]:
    """What a file states about each variable."""
    return {
        name: Unread(
            (name,)
            if dataset.is_scale
            else tuple(axis[0].name.lstrip("/") for axis in dataset.dims),
            dataset.shape,
            unit_of_attributes(dataset.attrs),
            dataset.attrs["long_name"],
        )
        for name, dataset in datasets.items()
        if "/" not in name
    }


def provenance_of(file: Any) -> dict[str, Any]:
    """What a file says about how it was made."""
    return {
        name: float(dataset[()]) if name in NUMBERS else dataset.asstr()[()]
        for name, dataset in file["provenance"].items()
    }


def dataset_in(path: str | os.PathLike[str]) -> xarray.Dataset:
    """A file that has been looked at as an `xarray.Dataset`."""
    import xarray

    with xarray.open_dataset(path, engine="h5netcdf") as opened:
        return opened.load()
