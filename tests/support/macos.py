"""Simulation of macOS on Linux: importing this module makes the process look like macOS,
permanently.

Modules that check the system when they are imported are imported first, so that they work as on
Linux. Then the parts of Python that exist only on Linux are removed, and so are /proc and /sys. A
flush that leaves the content in the memory of the disk is recorded in `refused`."""

import builtins
import errno
import fcntl
import io
import os
import platform
import re
import select
import signal
import socket
import sys
import tempfile
from importlib import import_module
from types import SimpleNamespace

for name in (
    *("concurrent.futures.process", "filelock", "h5netcdf", "h5py", "matplotlib.image"),
    *("numba.core.caching", "rich.console", "xarray"),
):
    import_module(name)

# Names in these modules that Python on macOS does not have ("not macOS" in its manual).
NAMES = re.compile(
    r"sched_([sg]et(affinity|scheduler|param)|rr_)|posix_(fallocate|fadvise)|fdatasync|pipe2|splice|"
    r"copy_file_range|memfd_create|eventfd|pidfd_open|getrandom|[sg]etres[ug]id|\w+xattr|unshare|"
    r"setns|O_(DIRECT|TMPFILE|PATH|LARGEFILE|NOATIME|RSYNC)$|F_(SETPIPE_SZ|ADD_SEALS|OFD)|epoll|"
    r"prlimit|SIG(STKFLT|PWR|POLL|CLD|RTM)|sigtimedwait|sigwaitinfo|SOCK_(CLOEXEC|NONBLOCK)$"
)
# from fcntl.h of macOS
F_FULLFSYNC = 51
refused = []


def not_there(function):
    def called(*given, **more):
        for path in given[:1]:
            if not isinstance(path, int) and re.match(r"/(proc|sys)\b", os.fsdecode(path)):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return function(*given, **more)

    return called


def flushed(descriptor, command, *more):
    """Return fcntl, which also flushes the memory of the disk."""
    return (
        plain_flush(descriptor)
        if command == F_FULLFSYNC
        else plain_fcntl(descriptor, command, *more)
    )


plain_fcntl, plain_flush = fcntl.fcntl, os.fsync
fcntl.fcntl, fcntl.F_FULLFSYNC = flushed, F_FULLFSYNC
os.fsync = refused.append
for module in (os, fcntl, select, signal, socket):
    for name in filter(NAMES.match, dir(module)):
        delattr(module, name)
# exists from Python 3.13 on; without an affinity, the process may use all processors
os.process_cpu_count = os.cpu_count
builtins.open = io.open = not_there(open)
for name in ("open", "stat", "lstat", "listdir", "scandir", "readlink"):
    setattr(os, name, not_there(getattr(os, name)))
# determined on Linux, and stored
platform.platform()
tempfile._O_TMPFILE_WORKS = False
os.uname = lambda: SimpleNamespace(sysname="Darwin", machine="arm64", release="24.6.0")  # type: ignore
sys.platform = "darwin"
