"""The file of a study, and the part of it that grows while its members come.

`FILE.part` is a line for each member that is done, each with its own hash: what a killed process has left is read up to the line that it
was writing. When all are there, FILE is written whole, as every output file.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from granchain.errors import FileError
from granchain.store.provenance import data_sha256, source_hash, versions
from granchain.store.reader import (
    LARGEST_RATIO,
    MOST_VARIABLES,
    RefusedError,
    bytes_of,
    check_format,
    check_stored,
    check_text,
    member,
    refusing,
    stored_file,
    text_attribute,
)
from granchain.store.variables import CONTENT, FORMAT, STUDY_OF_RUNS, Variable
from granchain.store.whole import (
    LARGEST_FILE,
    NEW_FILE,
    OUTPUT_MARK,
    check_seal,
    end_of_links,
    passes,
    replaceable,
    stays,
    write_whole,
)
from granchain.store.writer import file_image

# First line of FILE.part: by it the file is known to be one of ours.
PART_HEAD = b'{"granchain_format": "%s", "granchain_content": "part of a study"}\n' % FORMAT.encode()
# Characters of a line's hash.
_CHECK = 16


def part_beside(path: str | os.PathLike[str]) -> Path | None:
    """FILE.part of a study, where there are members in it; the command line asks for it by its name, where it is loaded."""
    with contextlib.suppress(OSError, FileError):
        target = end_of_links(path)
        part = target.with_name(f"{target.name}.part")
        return part if part.stat().st_size > len(PART_HEAD) else None
    return None


class StudyPart:
    """FILE.part: the members of a study that are done; take the `claim` of FILE first.

    Parameters
    ----------
    path : str or path
        Name of the study's file once it is whole.
    go_on : bool
        Keep what is there.
    anew : bool
        Begin anew where there is one.

    Attributes
    ----------
    found : dict of str to dict
        The records that were there, by name.

    Raises
    ------
    FileError
        Where one is there and neither is asked for, where it is not one of ours, or cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str], go_on: bool = False, anew: bool = False):
        target = end_of_links(path)
        self.path = target.with_name(f"{target.name}.part")
        self.found: dict[str, dict[str, Any]] = {}
        length = 0
        if os.path.lexists(self.path):
            if not self.path.is_file() or self.path.is_symlink() or not replaceable(self.path, (OUTPUT_MARK,)):
                raise FileError(f"{self.path}: got something that granchain did not write, allowed a part of a study; take it away")
            if not go_on and not anew:
                raise FileError(
                    f"{self.path}: got an unfinished study, which is kept, allowed none; go on with --resume, begin anew with --overwrite "
                    "(in Python: resume=True, overwrite=True), or name another file"
                )
            if go_on:
                length = self._read()
        self._holds_members = bool(self.found)
        with self._disk():
            flags = (NEW_FILE & ~os.O_EXCL) | os.O_APPEND
            if not self._holds_members:
                passes(self.path)
            self._descriptor = os.open(self.path, flags, 0o666)
            os.ftruncate(self._descriptor, length)
        if not length:
            self._write(PART_HEAD)

    def _read(self) -> int:
        """Take the records up to the first line that is not whole; bytes up to there."""
        try:
            content = self.path.read_bytes()
        except OSError as error:
            raise FileError(
                f"{self.path}: got a file that cannot be read ({error.strerror}), allowed one that can; look at its permissions"
            ) from error
        if not content.startswith(PART_HEAD):
            return 0
        at = len(PART_HEAD)
        while (end := content.find(b"\n", at)) >= 0:
            check, _, line = content[at:end].partition(b" ")
            if hashlib.sha256(line).hexdigest()[:_CHECK].encode() != check:
                break
            record = json.loads(line)
            self.found[record["point"]] = record
            at = end + 1
        return at

    def add(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Append the records of members that are done."""
        lines = []
        for record in records:
            line = json.dumps(record, separators=(",", ":"), allow_nan=False).encode()
            lines.append(hashlib.sha256(line).hexdigest()[:_CHECK].encode() + b" " + line + b"\n")
        if lines:
            self._holds_members = True
            stays(self.path)
            self._write(b"".join(lines))

    def _write(self, content: bytes) -> None:
        with self._disk():
            left = memoryview(content)
            while left:
                left = left[os.write(self._descriptor, left) :]

    @contextlib.contextmanager
    def _disk(self) -> Any:
        try:
            yield
        except OSError as error:
            raise FileError(
                f"{self.path}: got {error.strerror or error}, allowed a file that can be written; what is in it stays: mend that and go on "
                "with --resume (in Python: resume=True)"
            ) from error

    def close(self, keep: bool) -> None:
        """Close it; keep the members in it, or take it away."""
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):
                os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
        if not (keep and self._holds_members):
            with contextlib.suppress(OSError):
                os.unlink(self.path)
            stays(self.path)


def packed(values: np.ndarray) -> str:
    """Numbers as text, bit for bit."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode()


def numbers_of_text(text: str, columns: int = 0) -> np.ndarray:
    """Numbers from text; in rows of so many, where that is not 0."""
    values = np.frombuffer(base64.b64decode(text), dtype="<f8").astype(float)
    return values.reshape(-1, columns) if columns else values


def save_study(variables: dict[str, Variable], attributes: dict[str, Any], path: str | os.PathLike[str], overwrite: bool) -> None:
    """Write the file of a study, whole or not at all; take the `claim` first."""
    about = {"versions": versions(), "source_hash": source_hash(), "data_sha256": data_sha256(variables)}
    write_whole(path, file_image(variables, attributes, about), overwrite, marks=(OUTPUT_MARK,))


def is_study(path: str | os.PathLike[str], unsealed: bool = False) -> bool:
    """Whether a file says that it is a study; nothing is said of one that is not there."""
    import h5py

    # the name of an attribute near the beginning; another file is not looked through
    if not os.path.isfile(path) or not replaceable(Path(path), (CONTENT.encode(),)):
        return False
    content = stored_file(path)
    check_seal(path, content, unsealed)
    with refusing(path), content.stream() as stream, h5py.File(stream, "r") as file:
        return CONTENT in file.attrs and text_attribute(file, CONTENT) == STUDY_OF_RUNS


def open_study(path: str | os.PathLike[str], unsealed: bool = False) -> Any:
    """The file of a study as an `xarray.Dataset`; `unsealed` as of `granchain.open_result`.

    Raises
    ------
    FileError
        Where it is missing, damaged, of another format or no study.
    """
    import h5py
    import xarray

    content = stored_file(path)
    check_seal(path, content, unsealed)
    with refusing(path), content.stream() as stream, h5py.File(stream, "r") as file:
        check_format(file, STUDY_OF_RUNS)
        if len(file) > MOST_VARIABLES:
            raise RefusedError(f"holds {len(file)} names, a study at most {MOST_VARIABLES}; it is not one of granchain's")
        held = {name: member(file, name) for name in file if name != "provenance"}
        for name, dataset in held.items():
            check_stored(name, dataset)
            if dataset.dtype.str not in ("<f8", "<i8"):
                check_text(dataset, name, dataset.shape)
        claimed = sum(map(bytes_of, held.values()))
        if claimed > min(LARGEST_FILE, LARGEST_RATIO * len(content)):
            raise RefusedError(
                f"claims {claimed} bytes of data, more than its {len(content)} bytes can hold; it is damaged, or made to do harm"
            )
    with refusing(path), content.stream() as stream, xarray.open_dataset(stream, engine="h5netcdf") as opened:
        return opened.load()
