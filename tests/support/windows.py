"""Simulation of Windows on Linux: importing this module makes the process look like Windows,
permanently.

Modules that check the system when they are imported are imported first, so that they work as on
Linux: the libraries, and the lock. Then the POSIX parts of Python are removed, and actions that
Windows refuses are refused: renaming or removing a file that is open or mapped, and flushing a file
that is not open for writing. `refused` lists them."""

import errno
import fcntl
import os
import pathlib
import platform
import re
import shutil
import signal
import sys
from importlib import import_module
from types import ModuleType, SimpleNamespace

LINUX = (
    *("concurrent.futures.process", "filelock", "h5netcdf", "h5py"),
    *("matplotlib.animation", "matplotlib.figure"),
    *("multiprocessing.pool", "numba.core.caching", "pydantic", "socket"),
    *("rich.console", "typer.rich_utils", "xarray"),
)
for name in LINUX:
    import_module(name)

# Modules, and names of os and signal, that Python on Windows does not have.
MODULES = ("fcntl", "resource", "select", "termios", "tty", "pty", "pwd", "grp", "posix")
NAMES = re.compile(
    r"sched_|register_at_fork|fork|p(read|write)v?$|f?statvfs|posix_|lockf|getloadavg|"
    r"O_(NOFOLLOW|CLOEXEC|NONBLOCK|DIRECTORY|SYNC|DSYNC)|(kill)?pg|get(e?[ug]id|pg)|set(e?[ug]id|sid)|"
    r"SIG(HUP|KILL|USR|ALRM|CHLD|PIPE|QUIT)|sysconf|uname|mkfifo|chown|setitimer|alarm|pthread_|pause"
)
refused = []


def is_held(path):
    """Return whether this process has the file open or mapped."""
    name, folder = os.path.realpath(path), "/proc/self/fd"
    with open("/proc/self/maps") as maps:
        mapped = any(line.rstrip().endswith(f" {name}") for line in maps)
    return mapped or any(os.path.realpath(f"{folder}/{fd}") == name for fd in os.listdir(folder))


def unless_held(function):
    def called(*paths, **more):
        if held := [os.path.basename(path) for path in paths if is_held(path)]:
            refused.append([function.__name__, *held])
            raise PermissionError(errno.EACCES, "the process cannot access the file")
        function(*paths, **more)

    return called


def flushed(function):
    mode = fcntl.fcntl, fcntl.F_GETFL

    def called(descriptor):
        if not mode[0](descriptor, mode[1]) & (os.O_WRONLY | os.O_RDWR):
            refused.append(["fsync", descriptor])
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        function(descriptor)

    return called


# the lock works as on Linux
linux = ModuleType("os")
vars(linux).update(vars(os))
for name in [name for name in sys.modules if name.startswith("filelock")]:
    vars(sys.modules[name]).update(os=linux)
# determined on Linux, and stored
platform.platform()
free = shutil.disk_usage("/").free
for module in (os, signal):
    for name in filter(NAMES.match, dir(module)):
        delattr(module, name)
# exists from Python 3.13 on; without an affinity, the process may use all processors
os.process_cpu_count = os.cpu_count
sys.modules |= dict.fromkeys(MODULES)
os.replace, os.unlink = unless_held(os.replace), unless_held(os.unlink)
os.fsync = flushed(os.fsync)
shutil.disk_usage = lambda path: SimpleNamespace(free=free)
# the name in the module that defines Path, which is not pathlib in every version of Python
vars(sys.modules[pathlib.Path.__new__.__module__])["WindowsPath"] = pathlib.PosixPath
os.O_BINARY, os.O_NOINHERIT = 0, 0
sys.platform, os.name = "win32", "nt"
