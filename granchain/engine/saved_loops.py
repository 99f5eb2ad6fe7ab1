"""Files of compiled loops: sealed where they are written, and not used before the seal is checked.

A loop that is loaded from a file is machine code: a bit that has changed in it ends the process, or worse. So the hash of a file is
in the file itself, behind the pickle, where Numba does not look; the file's name is part of it, so that no file passes for another.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import uuid
import warnings
from pathlib import Path

from granchain.errors import GranchainWarning

SEAL = b"\ngranchain loop sha256 %s\n"
SEAL_LENGTH = len(SEAL % (64 * b"0"))
# No loop takes more: the largest of the package's has some 0.5 MB.
LARGEST = 256 * 1024**2


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
    for last in (False, True):
        content = _bytes_of(path)
        if content.endswith(SEAL % _hash(os.path.basename(path), content[:-SEAL_LENGTH])):
            return content[:-SEAL_LENGTH]
        if last:
            break
        # another process may have replaced it while it was read
    raise DamagedLoop("is cut off, or was changed after it was written")


def _bytes_of(path: str) -> bytes:
    try:
        # a pipe is opened without waiting for its other end
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(file, "rb") as opened:
            facts = os.fstat(opened.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise DamagedLoop("is a folder, a pipe or a device")
            if facts.st_size > LARGEST:
                raise DamagedLoop(f"has {facts.st_size} bytes, and a loop at most {LARGEST}")
            return opened.read(LARGEST)
    except (FileNotFoundError, NotADirectoryError):
        if os.path.islink(path):
            raise DamagedLoop("is a link to nothing") from None
        raise FileNotFoundError(path) from None
    except OSError as error:
        raise DamagedLoop(f"cannot be read: {error.strerror}") from None


def discard(path: str, what: str) -> None:
    """Warn that a file is of no use, and remove it; a folder in its place is renamed, for it may hold data of the user."""
    done = "removed"
    try:
        if os.path.isdir(path) and not os.path.islink(path):
            aside = f"{path}.{uuid.uuid4().hex[:8]}"
            os.rename(path, aside)
            done = f"renamed to {Path(aside).name}"
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
    except OSError as error:
        done = f"still there ({error.strerror})"
    warn(f"the file {path} of a compiled loop {what}; it is {done}, and the loop is compiled again")


def warn(sentence: str) -> None:
    """Warn; the run goes on."""
    warnings.warn(sentence, GranchainWarning, stacklevel=2)
