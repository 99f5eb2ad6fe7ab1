"""Windows, as far as Linux can look like it: importing this module makes the process it, for good.

What asks at its import which system this is, is imported first, so that it goes on as on Linux:
the libraries, and the lock. Then the parts of Python that are POSIX are gone, and what Windows
refuses is refused: to rename or remove a file that is open or mapped, and to flush one that is not
open for writing. `refused` lists that.
"""

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
    """Whether this process has the file open, or mapped."""
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


# the lock goes on as on Linux
linux = ModuleType("os")
vars(linux).update(vars(os))
for name in [name for name in sys.modules if name.startswith("filelock")]:
    vars(sys.modules[name]).update(os=linux)
# looked up on Linux, and kept
platform.platform()
free = shutil.disk_usage("/").free
for module in (os, signal):
    for name in filter(NAMES.match, dir(module)):
        delattr(module, name)
# from Python 3.13 on; where there is no affinity, all processors are the process's
os.process_cpu_count = os.cpu_count
sys.modules |= dict.fromkeys(MODULES)
os.replace, os.unlink = unless_held(os.replace), unless_held(os.unlink)
os.fsync = flushed(os.fsync)
shutil.disk_usage = lambda path: SimpleNamespace(free=free)
# the name in the module that Path is written in, which is not pathlib itself in every Python
vars(sys.modules[pathlib.Path.__new__.__module__])["WindowsPath"] = pathlib.PosixPath
os.O_BINARY, os.O_NOINHERIT = 0, 0
sys.platform, os.name = "win32", "nt"
