"""Files that are complete or absent, with one writer at a time and a checksum.

The bytes are written to a temporary name in the same folder, flushed to the disk, and then renamed
in one step, so the name always refers to the old file or the new one. Nothing is replaced unless it
is requested. The last line of a file is the hash of all other bytes.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import os
import shutil
import stat
import threading
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import BinaryIO

from granchain import portable
from granchain.errors import FileError, MissingPackage, printable

# Lock files of this process, with its number, because a fork inherits this table but not the claim,
# and with the thread.
_CLAIMS: dict[str, tuple[int, int]] = {}
# Unfinished files and empty folders, with the process that created them. They are deleted if the
# process ends early.
PASSING: dict[Path, int] = {}

# Largest number of bytes of a file name: 255 of common file systems, minus the additions of
# temporary names: ".NAME.chk.PID.THREAD.part", with 7 digits of a process, 15 of a thread, and a
# reserve.
LONGEST_NAME = 255 - 48

# Ending of the checkpoint, which a run writes next to its output with the same claim.
CHECKPOINT_ENDING = ".chk"

# Largest file. Larger files are refused before memory is allocated.
LARGEST_FILE = 4 * 1024**3

# Last line of a file: the hash of all bytes before it. It follows the end of the HDF5 data, where
# other programs do not read. HDF5 hangs on some damaged files (1 in 264 with a few flipped bits,
# HDF5 2.0.0), so damage must be detected before HDF5 reads the file. A program that edits the file
# removes the line, and every reader reports this.
CHECKSUM = b"\ngranchain sha256 %s\n"
# Bytes that are read or written at once.
BYTES_AT_ONCE = 16 * 1024**2
CHECKSUM_LENGTH = len(CHECKSUM % (64 * b"0"))

# Name of an attribute in the first bytes of an output file. A file without it, such as a case or a
# trace, is never replaced.
OUTPUT_MARK = b"granchain_format"
# Bytes that are searched for a mark. In an output file it is near byte 1000.
BYTES_WITH_MARK = 65_536

DAMAGED = (
    "the file was damaged or changed after it was written. It must be unchanged. Use "
    "another copy, or run the case again."
)
NO_CHECKSUM = (
    "the checksum at the end of the file is missing, so another program changed or "
    "truncated it. The file must be as granchain wrote it. Use another copy, run the case "
    "again, or read it at your own risk with --no-verify (in Python: verify=False)."
)


class RefusedError(Exception):
    """Reason why a file is not read."""


@contextlib.contextmanager
def refusing(
    path: str | os.PathLike[str],
    problem: str = f"{DAMAGED} Reason: {{}}.",
    passing: tuple[type[Exception], ...] = (FileError, MissingPackage),
) -> Iterator[None]:
    """Turn an error that the content of a file causes into a FileError.

    Parameters
    ----------
    path : str or path
    problem : str
        Message, with the place of the reason.
    passing : tuple of type
        Errors that are raised as they are.
    """
    try:
        yield
    except passing:
        raise
    except RefusedError as refused:
        raise FileError(f"{os.fspath(path)}: {refused}") from None
    # Damaged content causes nearly every built-in exception in h5py, json, and NumPy.
    except Exception as error:
        reason = quoted(f"{type(error).__name__}: {error}")
        raise FileError(f"{os.fspath(path)}: {problem.format(reason)}") from error


@contextlib.contextmanager
def claim(path: str | os.PathLike[str], overwrite: bool = False) -> Iterator[None]:
    """Reserve the right to write a file, so that an obstacle is reported before a long run.

    The claim is a lock on the file `.<name>.lock` next to it, and the lock ends with the process.
    `Result.save` inside the claim uses this lock.

    Parameters
    ----------
    path : str or path
        The file that will be written.
    overwrite : bool
        Whether an output file of that name may be replaced.

    Raises
    ------
    FileError
        If the folder is missing or read-only, the file exists or is not an output file, or another
        process is writing it.
    """
    from filelock import FileLock, Timeout

    target = end_of_links(path, overwrite)
    lock = FileLock(target.parent / f".{target.name}.lock", blocking=False)
    holder, key = (os.getpid(), threading.get_ident()), os.path.realpath(lock.lock_file)
    # the same run already has the claim
    nested = _CLAIMS.get(key) == holder
    with os_errors_explained(target):
        _check_target(target, overwrite, (OUTPUT_MARK,))
        try:
            if not nested:
                lock.acquire()
        except Timeout:
            raise FileError(
                f"{target}: another run is writing this file. Only one run at a time can "
                "write a file. Wait until that run ends, or choose another output file."
            ) from None
    if nested:
        yield
        return
    _CLAIMS[key] = holder
    try:
        for name in (target.name, target.name + CHECKPOINT_ENDING):
            # files that a killed run has left
            for leftover in target.parent.glob(f".{glob.escape(name)}.*.part"):
                leftover.unlink(missing_ok=True)
        _check_target(target, overwrite, (OUTPUT_MARK,))
        yield
    finally:
        if os.getpid() == holder[0]:
            del _CLAIMS[key]
            unlink = partial(os.unlink, lock.lock_file)
            # Windows does not delete a file that is open in any process
            for step in (lock.release, unlink) if portable.WINDOWS else (unlink, lock.release):
                with contextlib.suppress(OSError):
                    step()


def give_up() -> None:
    """Delete unfinished files and lock files of this process, which is about to end."""
    claims = [(Path(lock), process) for lock, (process, _) in list(_CLAIMS.items())]
    for path, process in [*reversed(list(PASSING.items())), *claims]:
        if process == os.getpid():
            with contextlib.suppress(OSError):
                (path.rmdir if path.is_dir() else path.unlink)()


def end_of_links(path: str | os.PathLike[str], overwrite: bool = True) -> Path:
    """Return the file that a name refers to, so that symbolic links are not replaced.

    Raises
    ------
    FileError
        If the name is not valid; without `overwrite`, for every link.
    """
    name = Path(path)
    if "\0" in str(name):
        raise FileError(
            f"{printable(str(name))}: the file name contains a null character. File names "
            "cannot contain null characters. Choose another name."
        )
    if not os.path.islink(name):
        return name
    if not overwrite:
        _check_target(name, overwrite)
    return Path(os.path.realpath(name))


@contextlib.contextmanager
def folder_for(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a folder for new files. It is created if missing, and removed if it stays empty.

    Raises
    ------
    FileError
        If the folder cannot be created.
    """
    folder = Path(path)
    try:
        made = not folder.is_dir()
        folder.mkdir(exist_ok=True)
    except (OSError, ValueError) as error:
        raise FileError(
            f"{os.fspath(path)}: cannot create a folder here "
            f"({getattr(error, 'strerror', None) or error}). The path must be a folder that "
            "exists or can be created. Choose another path."
        ) from None
    if made:
        PASSING[folder] = os.getpid()
    try:
        yield folder
    finally:
        if PASSING.pop(folder, None):
            with contextlib.suppress(OSError):
                # fails if the folder is not empty
                folder.rmdir()


def file_ending(path: str | os.PathLike[str], supported: Iterable[str]) -> str:
    """Return the ending of a file name, which must be one of those in `supported`."""
    ending = Path(path).suffix.lower()
    if ending not in supported:
        problem = f"{ending!r} is not a supported extension" if ending else "no file extension"
        raise FileError(
            f"{os.fspath(path)}: {problem}. It must be one of {', '.join(supported)}. "
            "Rename the file."
        )
    return ending


def check_new(path: str | os.PathLike[str], marks: Mapping[str, bytes], overwrite: bool) -> str:
    """Return the ending of a file name, which must be one of those in `marks`.

    Before anything is computed, refuse a name that `new_file` would refuse.
    """
    ending = file_ending(path, marks)
    _check_target(end_of_links(path, overwrite), overwrite, (marks[ending],))
    return ending


def check_target(path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Refuse a file name, before anything is computed, that `write_atomically` would refuse.

    Raises
    ------
    FileError
        If the folder is missing, the name is too long, or the file exists and isn't replaced.
    """
    _check_target(end_of_links(path, overwrite), overwrite)


def _check_target(target: Path, overwrite: bool, marks: tuple[bytes, ...] = ()) -> None:
    """Raise an error if the file cannot be written, or must not be replaced."""
    # files next to an output file, whose name has already been checked
    name = target.name.removesuffix(".part").removesuffix(CHECKPOINT_ENDING)
    length = len(os.fsencode(name))
    if length > LONGEST_NAME:
        raise FileError(
            f"{target.with_name(target.name[:30])}...: the file name has {length} bytes. It must "
            f"have at most {LONGEST_NAME}, because temporary files next to it have longer names. "
            "Choose a shorter name."
        )
    if target.is_dir():
        raise FileError(
            f"{target}: this is a folder. The path must be a file. Choose a file in the folder."
        )
    if not target.parent.is_dir():
        raise FileError(
            f"{target}: the folder {target.parent} does not exist. It must exist before the "
            "file is written. Create it, or choose another folder."
        )
    if not os.path.lexists(target):
        return
    if not target.is_file():
        raise FileError(
            f"{target}: this is a device, a pipe, a socket, or a circular link. The path must be a "
            "regular file. Choose another path."
        )
    if not overwrite:
        raise FileError(
            f"{target}: the file already exists and was not changed. Existing files are "
            "overwritten only on request. Choose another file, or use --overwrite (in "
            "Python: overwrite=True)."
        )
    if not replaceable(target, marks):
        raise FileError(
            f"{target}: granchain did not write this file and did not change it. Only files "
            "written by granchain can be overwritten. Choose another file, or delete this "
            "one."
        )


def replaceable(path: Path, marks: tuple[bytes, ...]) -> bool:
    """Return whether a file is missing, empty, or has one of these marks in its first bytes."""
    if not marks:
        return True
    try:
        with path.open("rb") as file:
            head = file.read(BYTES_WITH_MARK)
    except FileNotFoundError:
        return True
    return not head or any(mark in head for mark in marks)


@contextlib.contextmanager
def new_file(
    path: str | os.PathLike[str],
    overwrite: bool = False,
    marks: tuple[bytes, ...] = (),
    needed: int | None = None,
) -> Iterator[Path]:
    """Yield a file that gets its name once it is complete and on the disk.

    Nothing remains of it if the body raises.

    Parameters
    ----------
    path : str or path
        Name of the file.
    overwrite : bool
        Whether to replace a file of that name.
    marks : tuple of bytes
        A file is replaced only if it has one of these in its first bytes. Default: any file.
    needed : int, optional
        Size of the file in bytes, for the message about a full disk.

    Yields
    ------
    Path
        The empty file that the body writes.

    Raises
    ------
    FileError
        With path, bytes needed, and a fix. The folder is then unchanged.
    """
    target = end_of_links(path, overwrite)
    partial = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}.part")
    with os_errors_explained(target, needed):
        _check_target(target, overwrite, marks)
        try:
            partial.unlink(missing_ok=True)
            PASSING[partial] = os.getpid()
            os.close(os.open(partial, portable.NEW_FILE, 0o666))
            yield partial
            # Windows flushes only a file that is open for writing
            with partial.open("r+b") as file:
                portable.flush(file.fileno())
            _check_target(target, overwrite, marks)
            os.replace(partial, target)
        finally:
            PASSING.pop(partial, None)
            partial.unlink(missing_ok=True)
        # the new name survives a power cut if the file system can flush a folder
        with contextlib.suppress(OSError):
            portable.flush_folder(target.parent)


def write_atomically(
    path: str | os.PathLike[str],
    content: bytes,
    overwrite: bool = False,
    marks: tuple[bytes, ...] = (),
) -> None:
    """Write a file, completely or not at all; take the `claim` first.

    Parameters
    ----------
    path : str or path
        Name of the file.
    content : bytes
        Content of the file.
    overwrite, marks
        See `new_file`.

    Raises
    ------
    FileError
        See `new_file`.
    """
    with new_file(path, overwrite, marks, len(content)) as partial:
        partial.write_bytes(content)


def no_progress(fraction: float) -> None:
    """Report nothing about the fraction of a file that is written."""


def check_free_space(path: str | os.PathLike[str], needed: float) -> None:
    """Refuse a file that needs more bytes than are free on its disk."""
    target = end_of_links(path)
    with contextlib.suppress(OSError):
        free = shutil.disk_usage(target.parent).free
        if needed > free:
            raise FileError(
                f"{target}: the file can have up to {needed:.3g} bytes, but only {free:.3g} "
                "bytes are free on the disk. The file must fit on the disk. Free disk "
                "space, choose another disk, or record less."
            )


@contextlib.contextmanager
def os_errors_explained(target: Path, needed: int | None = None) -> Iterator[None]:
    """Turn an error of the operating system into a FileError with advice."""
    try:
        yield
    except OSError as error:
        advice = _ADVICE.get(error.errno or 0, f"{error.strerror or error}. Choose another file.")
        bytes_needed = "" if needed is None else f" ({needed} bytes needed)"
        raise FileError(
            f"{target}: the file was not written{bytes_needed}. {advice.format(target.parent)}"
        ) from error


_FULL = "The disk is full. Free disk space, or choose a file on another disk."
_FORBIDDEN = "The folder {} is not writable. Choose a file in a folder that you can write to."
_ADVICE = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: "Files of this size are not allowed here (ulimit -f). Raise the limit, or "
    "record less.",
    errno.EROFS: "The folder {} is on a read-only disk. Choose a file in another folder.",
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.ENAMETOOLONG: "The file name is too long. Choose a shorter name.",
}


def open_for_reading(
    path: str | os.PathLike[str], what: str, largest: int = LARGEST_FILE
) -> BinaryIO:
    """Open a file for reading. If another file takes its name meanwhile, this one is read.

    Parameters
    ----------
    path : str or path
        The file, which may come from anywhere.
    what : str
        Expected kind of file, such as "an output file".
    largest : int
        Largest size in bytes.

    Raises
    ------
    FileError
        If it is not a regular file, is too large, or cannot be read.
    """
    name = os.fspath(path)
    try:
        file = os.fdopen(os.open(name, portable.TO_READ), "rb")
    except (OSError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError)
        reason = f"cannot be read ({getattr(error, 'strerror', None) or error})"
        raise FileError(
            f"{name}: {'file not found' if missing else reason}. It must be {what}. Check "
            "the name, the folder, and the permissions."
        ) from error
    state = os.fstat(file.fileno())
    if not stat.S_ISREG(state.st_mode) or state.st_size > largest:
        file.close()
        raise FileError(
            f"{name}: this is a device or a pipe, or it has too many bytes "
            f"({state.st_size}). It must be {what} with at most {largest} bytes. Choose "
            "another file."
        )
    return file


def check_sum(path: str | os.PathLike[str], file: BinaryIO) -> None:
    """Refuse a file whose checksum is missing or invalid."""
    digest, remaining = hashlib.sha256(), os.fstat(file.fileno()).st_size - CHECKSUM_LENGTH
    file.seek(0)
    while remaining > 0 and (block := file.read(min(remaining, BYTES_AT_ONCE))):
        digest.update(block)
        remaining -= len(block)
    last = file.read()
    if last != CHECKSUM % digest.hexdigest().encode():
        damaged = last.startswith(CHECKSUM[:-3])
        raise FileError(f"{os.fspath(path)}: {DAMAGED if damaged else NO_CHECKSUM}")


def quoted(text: str) -> str:
    """Return the first characters of a text from a file, safe to print on a terminal."""
    return printable(text[:200])
