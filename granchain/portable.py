"""Differences between Linux, macOS, and Windows: files, signals, and processors. All other modules
are independent of the system."""

import os
import signal
import sys

# Replaces typing.TYPE_CHECKING, because typing loads slowly, and until this module is loaded a
# signal prints a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

WINDOWS = sys.platform == "win32"

# Signals that end a process: Ctrl-C, a batch system, and a closed terminal.
ENDING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


def flags(*names: str) -> int:
    """Combine the flags of `os.open` that exist on this system."""
    combined = 0
    for name in names:
        combined |= getattr(os, name, 0)
    return combined


# Files are not inherited by other programs, line ends are not converted, and links are not followed
# when a file is written.
_OPEN_FLAGS = flags("O_CLOEXEC", "O_NOINHERIT", "O_BINARY")
TO_WRITE = os.O_WRONLY | flags("O_NOFOLLOW") | _OPEN_FLAGS
# The file must not exist yet.
NEW_FILE = TO_WRITE | os.O_CREAT | os.O_EXCL
# Opening a pipe that has no writer returns at once.
TO_READ = os.O_RDONLY | flags("O_NONBLOCK") | _OPEN_FLAGS
FOLDER = os.O_RDONLY | flags("O_DIRECTORY", "O_CLOEXEC")

# Number of zero bytes written at a time.
ZEROS = 2**20


def flush(descriptor: int) -> None:
    """Write an open file to the disk.

    On macOS, `fsync` leaves it in the memory of the disk.
    """
    if sys.platform == "darwin":
        import fcntl

        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
        except OSError:  # A network disk may not support this.
            pass
    os.fsync(descriptor)


def flush_folder(path: str | os.PathLike[str]) -> None:
    """Write the names in a folder to the disk.

    Windows has no call for this; it flushes its journal of names automatically.

    Raises
    ------
    OSError
        If the file system does not support this.
    """
    if WINDOWS:
        return
    folder = os.open(path, FOLDER)
    try:
        flush(folder)
    finally:
        os.close(folder)


def reserve_space(descriptor: int, size: int) -> None:
    """Reserve disk space for a file; its content is unchanged.

    Raises
    ------
    OSError
        If the space is not available.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
        return
    zeros, remaining = bytes(ZEROS), size - os.lseek(descriptor, 0, os.SEEK_END)
    while remaining > 0:
        remaining -= os.write(descriptor, zeros[: min(remaining, ZEROS)])


def content_of(file: "BinaryIO") -> memoryview:
    """Return the content of a file, mapped into memory.

    Windows cannot truncate or replace a mapped file, so there the content is read.
    """
    import mmap

    size = os.fstat(file.fileno()).st_size
    if WINDOWS or not size:
        return memoryview(file.read())
    return memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ))


def release(content: memoryview) -> None:
    """Release the memory of a mapped file. Its bytes are read again when they are used."""
    import mmap

    if isinstance(content.obj, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        content.obj.madvise(mmap.MADV_DONTNEED)


def usable_processors() -> int:
    """Return the number of processors that this process may use, or of all processors."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor_name() -> str:
    """Return the name of the processor."""
    import platform

    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(": ")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
