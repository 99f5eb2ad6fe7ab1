"""Files of compiled loops: sealed where they are written, and not used before the seal is checked.

A loop that is loaded from a file is machine code: a bit that has changed in it ends the process, or worse. So the hash of a file is
in the file itself, behind the pickle, where Numba does not look; the file's name is part of it, so that no file passes for another.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from pathlib import Path

from granchain.errors import GranchainWarning

SEAL = b"\ngranchain loop sha256 %s\n"
SEAL_LENGTH = len(SEAL % (64 * b"0"))


class DamagedLoop(Exception):  # noqa: N818
    """What is wrong with a file, in words that follow its name."""


def sealed(name: str, content: bytes) -> bytes:
    """The bytes of a file of this name: the content, and behind it the hash of both."""
    return content + SEAL % _hash(name, content)


def _hash(name: str, content: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + content).hexdigest().encode()


def content_of(path: str) -> bytes:
    """The content of a sealed file.

    Raises
    ------
    FileNotFoundError
        Where there is none.
    DamagedLoop
        Where the file is not what was written under this name.
    """
    try:
        content = Path(path).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(path) from None
    except OSError as error:
        raise DamagedLoop(f"cannot be read: {error.strerror}") from None
    if not content.endswith(SEAL % _hash(os.path.basename(path), content[:-SEAL_LENGTH])):
        raise DamagedLoop("is cut off, or was changed after it was written")
    return content[:-SEAL_LENGTH]


def discard(path: str, what: str) -> None:
    """Warn that a file is of no use, and remove it."""
    done = "removed"
    try:
        Path(path).unlink(missing_ok=True)
    except OSError as error:
        done = f"still there ({error.strerror})"
    warn(f"the file {path} of a compiled loop {what}; it is {done}, and the loop is compiled again")


def warn(sentence: str) -> None:
    """Warn; the run goes on."""
    warnings.warn(sentence, GranchainWarning, stacklevel=2)
