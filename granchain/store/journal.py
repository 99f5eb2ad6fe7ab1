"""Journals: files that grow by frames, each with its length, its bytes, and their hash.

A process that is killed while it appends leaves an incomplete frame. The frames before it are
valid, and the next process removes it. The checkpoint of a run and the members of an unfinished
study are journals.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from granchain import portable
from granchain.store.files import (
    BYTES_AT_ONCE,
    LARGEST_FILE,
    new_file,
    open_for_reading,
    sentences,
    write_chunks,
)

# Format of the length of a frame and of the hash after it, each with a line break.
_HEAD, _END = b"%016d\n", b"\n%s\n"
FRAME_HEAD, FRAME_END = 17, 66


def frame(content: Sequence[bytes | memoryview]) -> Iterator[bytes | memoryview]:
    """Yield the bytes of a frame, a few megabytes at a time. The hash is computed meanwhile."""
    digest = hashlib.sha256()
    yield _HEAD % sum(map(len, content))
    for piece in content:
        for at in range(0, len(piece), BYTES_AT_ONCE):
            digest.update(piece[at : at + BYTES_AT_ONCE])
            yield piece[at : at + BYTES_AT_ONCE]
    yield _END % digest.hexdigest().encode()


def frame_content(
    facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray], rows: Mapping[str, int]
) -> list[bytes | memoryview]:
    """Return the content of a frame.

    It is a line of JSON with facts and with name, type, first row, and shape of each array,
    followed by the bytes of the arrays, which are not copied. `rows` is the number of first rows
    that are stored elsewhere.
    """
    kept = {name: rows.get(name, 0) for name in arrays}
    left = {name: np.ascontiguousarray(array[kept[name] :]) for name, array in arrays.items()}
    shapes = [[name, a.dtype.str, kept[name], list(a.shape)] for name, a in left.items()]
    line = json.dumps({**facts, "arrays": shapes}).encode() + b"\n"
    return [line, *(array.data.cast("B") for array in left.values() if array.size)]


def arrays_in(
    content: bytes | memoryview,
) -> tuple[dict[str, Any], dict[str, tuple[int, np.ndarray]]]:
    """Return the facts and arrays of a frame, each array with the index of its first row.

    The rows are read when they are used.

    Raises
    ------
    Exception
        Nearly any error of json and NumPy if the frame has other content.
    """
    end = re.search(b"\n", content)
    at = len(content) if end is None else end.end()
    facts, arrays = json.loads(bytes(content[:at])), {}
    for name, kind, first, shape in facts["arrays"]:
        rows = np.frombuffer(content, kind, math.prod(shape), at).reshape(shape)
        arrays[name], at = (first, rows), at + rows.nbytes
    return facts, arrays


def frame_size(content: Sequence[bytes | memoryview]) -> int:
    """Return the size of a frame in bytes."""
    return FRAME_HEAD + sum(map(len, content)) + FRAME_END


class FrameFile:
    """A journal, and the length of its valid part.

    Parameters
    ----------
    path : Path
        Name of the file, without links.
    mark : bytes
        First line of the file.
    largest : int
        Largest size in bytes.

    Attributes
    ----------
    length : int
        Number of valid bytes; 0 before anything was written or read.
    """

    def __init__(self, path: Path, mark: bytes, largest: int = LARGEST_FILE):
        self.path, self.mark, self.length, self._largest = path, mark, 0, largest

    def read(self, what: str) -> tuple[memoryview, list[memoryview]]:
        """Return the file and its frames up to the first incomplete one.

        The content stays on the disk until it is used.

        Parameters
        ----------
        what : str
            Expected kind of file, such as "a checkpoint".

        Raises
        ------
        FileError
            If the file cannot be read.
        """
        frames = []
        with open_for_reading(self.path, what, self._largest) as file:
            content = portable.content_of(file)
        self.length = at = len(self.mark) if content[: len(self.mark)] == self.mark else 0
        while at and (digits := bytes(content[at : at + FRAME_HEAD])).strip().isdigit():
            start, stop = at + FRAME_HEAD, at + FRAME_HEAD + int(digits)
            at = stop + FRAME_END
            digest = hashlib.sha256(content[start:stop]).hexdigest()
            portable.release(content)
            if content[stop:at] != _END % digest.encode():
                break
            frames.append(content[start:stop])
            self.length = at
        return content, frames

    def begin(
        self,
        content: Sequence[bytes | memoryview],
        progress: Callable[[float], Any] = float,
    ) -> None:
        """Rewrite the file with one frame. The old file stays until the new one is complete.

        Raises
        ------
        FileError
            If the file cannot be written, or if the existing file has another kind.
        """
        size = len(self.mark) + frame_size(content)
        with new_file(self.path, True, (self.mark,), size) as part, part.open("wb") as file:
            for done in write_chunks(file, chain([self.mark], frame(content))):
                progress(done / size)
        self.length = size

    def append(
        self, content: Sequence[bytes | memoryview], progress: Callable[[float], Any] = float
    ) -> None:
        """Append a frame. If this fails, the valid part is unchanged.

        Raises
        ------
        FileError
            If the file cannot be written.
        """
        size = frame_size(content)
        with (
            sentences(self.path, size),
            os.fdopen(os.open(self.path, portable.TO_WRITE), "wb", 0) as file,
        ):
            file.truncate(self.length)
            file.seek(self.length)
            try:
                for done in write_chunks(file, frame(content)):
                    progress(done / size)
                portable.flush(file.fileno())
            except OSError:
                file.truncate(self.length)
                raise
        self.length += size
