"""What differs between Linux, macOS and Windows: files, signals, processors. Every other module is
the same on all three."""

import os
import signal
import sys

# In place of typing's own: until this module is loaded a signal is a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, BinaryIO

WINDOWS = sys.platform == "win32"

# What ends a process: Ctrl-C, a batch system; of Windows Ctrl-Break and a console that is closed.
ENDING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name)
)


def send_again(number: int) -> None:
    """Send a signal to the main thread once more: it ends a sleep that began when the signal had
    come and no line of Python had been run since. Windows' own sleep hears Ctrl-C."""
    if hasattr(signal, "pthread_kill"):
        import threading

        signal.pthread_kill(threading.main_thread().ident or 0, number)


def flags(*names: str) -> int:
    """Those of these flags of `os.open` that there are."""
    found = 0
    for name in names:
        found |= getattr(os, name, 0)
    return found


# No file is handed on to another program, none is translated, and no link followed when one is
# written.
_ALONE = flags("O_CLOEXEC", "O_NOINHERIT", "O_BINARY")
TO_WRITE = os.O_WRONLY | flags("O_NOFOLLOW") | _ALONE
# One that must not be there yet.
NEW_FILE = TO_WRITE | os.O_CREAT | os.O_EXCL
# Of a pipe without a writer: at once.
TO_READ = os.O_RDONLY | flags("O_NONBLOCK") | _ALONE

# Names that Windows has for devices in every folder, with any ending (Microsoft, Naming Files,
# Paths, and Namespaces).
_DEVICES = {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"} | {
    f"{port}{digit}" for port in ("COM", "LPT") for digit in "0123456789\u00b9\u00b2\u00b3"
}
# How long another program may have a file open that is to be replaced, and how often that is tried
# [s]: what looks for viruses opens each file that has been written.
PATIENCE, EACH_TRY = 5.0, 0.05
# Bytes of zeros written at once.
ZEROS = 2**20


def is_device(path: str | os.PathLike[str]) -> bool:
    """Whether Windows takes a file's name for that of a device, whatever its folder."""
    stem = os.path.basename(path).partition(".")[0].rstrip(" ").upper()
    return WINDOWS and stem in _DEVICES


def flush(descriptor: int) -> None:
    """Have a file that is open for writing on the disk; `fsync` of macOS leaves it in the disk's
    own memory."""
    if sys.platform == "darwin":
        import fcntl

        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
        except OSError:  # a disk in the network has no such thing
            pass
    os.fsync(descriptor)


def flush_folder(path: str | os.PathLike[str]) -> None:
    """Have the names in a folder on the disk; Windows has no call for that, its journal of names
    is flushed by itself.

    Raises
    ------
    OSError
        Where the file system cannot.
    """
    if WINDOWS:
        return
    folder = os.open(path, os.O_RDONLY | flags("O_DIRECTORY", "O_CLOEXEC"))
    try:
        flush(folder)
    finally:
        os.close(folder)


def replace(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Give a file its name, in the place of the one that has it. Windows refuses that as long as
    another program has one of them open; it is tried for some seconds.

    Raises
    ------
    OSError
        As `os.replace`.
    """
    import time

    end = time.monotonic() + PATIENCE
    while True:
        try:
            os.replace(source, target)
            return
        except PermissionError:
            if not WINDOWS or time.monotonic() > end:
                raise
        time.sleep(EACH_TRY)


def reserve_space(descriptor: int, size: int) -> None:
    """Reserve so many bytes of disk for a file; its content stays.

    Raises
    ------
    OSError
        Where they are not free.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
        return
    zeros, left = bytes(ZEROS), size - os.lseek(descriptor, 0, os.SEEK_END)
    while left > 0:
        left -= os.write(descriptor, zeros[: min(left, ZEROS)])


def content_of(file: "BinaryIO") -> memoryview:
    """All of a file, read as it is looked at. Windows neither cuts off nor replaces a file that is
    read so: there it is in memory."""
    import mmap

    size = os.fstat(file.fileno()).st_size
    if WINDOWS or not size:
        return memoryview(file.read())
    return memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ))


def usable_processors() -> int:
    """Processors that this process may use, where the system says that; else all there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor_name() -> str:
    """What the processor is called."""
    import platform

    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(": ")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def after_fork(function: "Callable[[], Any]") -> None:
    """Call a function in each process that is forked from this one; Windows forks none."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)
