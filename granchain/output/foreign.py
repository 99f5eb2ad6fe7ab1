"""Numbers in HDF5 files that others wrote, read through a guard: no links, no data of other files, no sizes that the file cannot hold."""

from __future__ import annotations

import contextlib
import math
import os
import resource
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from granchain.errors import FileError
from granchain.output.hdf5 import LARGEST_RATIO, attempt_apart
from granchain.output.whole import printable

# Names that are looked at; a file with more is no record of a few sensors.
MOST_DATASETS = 1000
_SIGNATURE = b"\x89HDF\r\n\x1a\n"


class Foreign(NamedTuple):
    """Numbers of a file: name with the groups it is in, unit where one is said, values of one or two axes."""

    name: str
    unit: str | None
    values: np.ndarray


def is_hdf5(content: bytes) -> bool:
    """Whether bytes are an HDF5 file; MATLAB 7.3 puts a block of its own of 512 bytes in front."""
    return content.startswith(_SIGNATURE) or content[512:520] == _SIGNATURE


def foreign_numbers(path: str | os.PathLike[str]) -> list[Foreign]:
    """All numbers of one or two axes in an HDF5 file.

    A process of its own reads the file first: some damaged files make HDF5 loop for ever, or crash.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    FileError
        Where the file is damaged, or has what a guard must refuse.
    """
    content = Path(path).read_bytes()
    attempt_apart(path, len(content), __name__)
    return _parsed(path, content)


def attempt(path: str, seconds: int) -> None:
    """Read the file within a limit of processor time, and say nothing."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(FileError):
        _parsed(path, Path(path).read_bytes())


def _parsed(path: str | os.PathLike[str], content: bytes) -> list[Foreign]:
    import h5py

    try:
        with h5py.File.in_memory(content) as file:
            return _numbers(file, len(content))
    except FileError as error:
        raise FileError(f"{os.fspath(path)}: {error}") from None
    except Exception as error:  # On a damaged file h5py raises nearly every built-in exception.
        reason = printable(f"{type(error).__name__}: {error}")
        raise FileError(f"{os.fspath(path)}: cannot be read as HDF5 ({reason}); take another copy, or export it as CSV") from error


def _numbers(file: Any, size: int) -> list[Foreign]:
    import h5py

    found: list[Foreign] = []
    waiting, seen, claimed = [("", file)], 0, 0
    while waiting:
        place, group = waiting.pop(0)
        for name in group:
            seen += 1
            if seen > MOST_DATASETS:
                raise FileError(f"holds more than {MOST_DATASETS} names, allowed fewer; copy the record into a file of its own")
            link = group.id.links.get_info(name.encode("utf-8", "surrogateescape"))
            if link.type != h5py.h5l.TYPE_HARD:
                continue
            member, path = group[name], f"{place}{name}"
            if isinstance(member, h5py.Group):
                # Deeper than any record; a group may also be a member of itself.
                if path.count("/") < 5:
                    waiting.append((f"{path}/", member))
            elif isinstance(member, h5py.Dataset) and member.dtype.kind in "fiu" and member.shape and len(member.shape) <= 2:
                claimed += math.prod(member.shape) * member.dtype.itemsize
                if claimed > LARGEST_RATIO * size:
                    raise FileError(
                        f"claims {claimed} bytes of data, more than its {size} bytes can hold; it is damaged, or made to do harm"
                    )
                _check_place(path, member)
                found.append(Foreign(path, _unit(member), np.asarray(member[()], dtype=float)))
    return found


def _check_place(name: str, dataset: Any) -> None:
    made = dataset.id.get_create_plist()
    if dataset.is_virtual or made.get_external_count():
        raise FileError(f"{name[:60]!r} keeps its data in another file, allowed data in the file itself; copy them into it")


def _unit(dataset: Any) -> str | None:
    for name in ("units", "unit", "Unit", "Units", "unit_string"):
        value = dataset.attrs.get(name)
        if isinstance(value, bytes | np.bytes_):
            return value.decode("utf-8", "replace")
        if isinstance(value, str):
            return value
    return None
