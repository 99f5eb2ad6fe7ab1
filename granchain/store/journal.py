"""A file that grows by frames: a line that names it, then for each frame its length, its bytes and
their hash.

A process that is killed while it appends leaves a frame that is not whole: the frames before it
count, and the next process cuts it off. The checkpoint of a run is such a file, and so are the
members of a study that is not finished.
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

# The digits of a frame's length, and the hash behind it, each with the end of its line.
_HEAD, _END = b"%016d\n", b"\n%s\n"
FRAME_HEAD, FRAME_END = 17, 66


def frame(content: Sequence[bytes | memoryview]) -> Iterator[bytes | memoryview]:
    """Bytes as a journal holds them, some megabytes at a time: the hash is found as they come."""
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
    """What a frame holds: a line of JSON with facts and with name, type, first row and shape of
    each array, then the arrays' bytes, which are not copied; `rows`, how many of the first rows
    are elsewhere."""
    kept = {name: rows.get(name, 0) for name in arrays}
    left = {name: np.ascontiguousarray(array[kept[name] :]) for name, array in arrays.items()}
    shapes = [[name, a.dtype.str, kept[name], list(a.shape)] for name, a in left.items()]
    line = json.dumps({**facts, "arrays": shapes}).encode() + b"\n"
    return [line, *(array.data.cast("B") for array in left.values() if array.size)]


def arrays_in(
    content: bytes | memoryview,
) -> tuple[dict[str, Any], dict[str, tuple[int, np.ndarray]]]:
    """What `frame_content` put into a frame: its facts, and of each array the place of the first
    row and the rows, which are read when they are looked at.

    Raises
    ------
    Exception
        Nearly any of json and NumPy, where something else is in it.
    """
    end = re.search(b"\n", content)
    at = len(content) if end is None else end.end()
    facts, arrays = json.loads(bytes(content[:at])), {}
    for name, kind, first, shape in facts["arrays"]:
        rows = np.frombuffer(content, kind, math.prod(shape), at).reshape(shape)
        arrays[name], at = (first, rows), at + rows.nbytes
    return facts, arrays


def frame_size(content: Sequence[bytes | memoryview]) -> int:
    """Bytes that a frame takes."""
    return FRAME_HEAD + sum(map(len, content)) + FRAME_END


class FrameFile:
    """The file, and how much of it counts.

    Parameters
    ----------
    path : Path
        Its name, where no link leads elsewhere.
    mark : bytes
        Its first line.
    largest : int
        Bytes that it has at most.

    Attributes
    ----------
    length : int
        Bytes that count; 0 before anything was written or read.
    """

    def __init__(self, path: Path, mark: bytes, largest: int = LARGEST_FILE):
        self.path, self.mark, self.length, self._largest = path, mark, 0, largest

    def read(self, what: str) -> tuple[memoryview, list[memoryview]]:
        """The file, and its frames up to the first that is not whole; all of it stays on the disk
        until it is looked at.

        Parameters
        ----------
        what : str
            What it should be: "a checkpoint".

        Raises
        ------
        FileError
            Where it cannot be read.
        """
        frames = []
        with open_for_reading(self.path, what, self._largest) as file:
            content = portable.content_of(file)
        self.length = at = len(self.mark) if content[: len(self.mark)] == self.mark else 0
        while at and (digits := bytes(content[at : at + FRAME_HEAD])).strip().isdigit():
            start, stop = at + FRAME_HEAD, at + FRAME_HEAD + int(digits)
            at = stop + FRAME_END
            digest = hashlib.sha256(content[start:stop]).hexdigest()
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
        """Write the file anew, with one frame; the one before stays until that is whole.

        Raises
        ------
        FileError
            Where it cannot be written, or what has its name is another file.
        """
        size = len(self.mark) + frame_size(content)
        with new_file(self.path, True, (self.mark,), size) as part, part.open("wb") as file:
            for done in write_chunks(file, chain([self.mark], frame(content))):
                progress(done / size)
        self.length = size

    def append(
        self, content: Sequence[bytes | memoryview], progress: Callable[[float], Any] = float
    ) -> None:
        """Append a frame; where that fails, what counted before counts.

        Raises
        ------
        FileError
            Where it cannot be written.
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
