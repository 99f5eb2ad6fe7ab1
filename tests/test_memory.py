"""No file from elsewhere takes more memory to read than was allowed: counted before."""

import functools
import io
import json
import struct
import subprocess
import sys
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io

from granchain.cli import obey
from granchain.errors import FileError, TraceError
from granchain.measured import Asked, import_trace, read_trace
from granchain.measured.limit import COPIES

pytestmark = pytest.mark.usefixtures("here")

# Of the fast tests; enough beside the 3 MB that tracemalloc sees of modules which are loaded first.
LIMIT = 8e6
SAID = ["--kind", "measured", "--time-unit", "s", "--force-unit", "N"]


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def archive(path, members, kind=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", kind) as packed:
        for name, content in members.items():
            packed.writestr(name, content)


def filled(path, fill):
    with h5py.File(path, "w") as file:
        fill(file)


def zeros(file, count, name="force", **packed):
    """A dataset of zeros, all of which stand in the file."""
    dataset = file.create_dataset(name, (count,), "u1", chunks=(min(2**20, count),), **packed)
    for at in range(0, count, 2**24):
        dataset[at : at + 2**24] = 0


def mat_packed(path, count, whole):
    """A MATLAB file whose packed element unpacks to `count` bytes, as long as it says or not."""
    shape = (count, 1) if whole else (2, 1)
    name = b"force\0\0\0"
    matrix = (
        struct.pack("<IIII", 6, 8, 9, 0)
        + struct.pack("<IIii", 5, 8, *shape)
        + struct.pack("<II", 1, 5)
        + name
    )
    head = struct.pack("<II", 14, len(matrix) + 8 + count) + matrix + struct.pack("<II", 2, count)
    squeeze = zlib.compressobj(9)
    packed = (
        squeeze.compress(head)
        + b"".join(squeeze.compress(bytes(2**20)) for _ in range(count // 2**20))
        + squeeze.flush()
    )
    path.write_bytes(
        b"MATLAB 5.0 MAT-file".ljust(124)
        + b"\x00\x01IM"
        + struct.pack("<II", 15, len(packed))
        + packed
    )


def tdms(path, count):
    """A TDMS file whose only channel claims `count` numbers (the index of its raw data: TDMS
    File Format Internal Structure, NI)."""
    nptdms = pytest.importorskip("nptdms", reason="npTDMS is an optional package")
    with nptdms.TdmsWriter(path) as writer:
        writer.write_segment([nptdms.ChannelObject("rig", "bead 3", np.arange(77.0))])
    content = path.read_bytes()
    assert content.count(struct.pack("<Q", 77)) == 1
    path.write_bytes(content.replace(struct.pack("<Q", 77), struct.pack("<Q", count)))


def lines(path, row, count, head=b"time [s],bead 3 [N]\n"):
    with path.open("wb") as file:
        file.write(head)
        for at in range(0, count, 10_000):
            file.write(b"".join(row % (i, i % 7) for i in range(at, min(at + 10_000, count))))


# Each makes a file that takes more than `limit` bytes to read: of count numbers.
TOO_LARGE = {
    "npy, one byte a number": lambda path, count: path.write_bytes(npy(np.zeros(count, "i1"))),
    "npz, one byte a number, packed": lambda path, count: archive(
        path, {"time.npy": npy(np.zeros(count, "i1"))}
    ),
    "npz whose header is as long as the limit": lambda path, count: archive(
        path, {"time.npy": b"\x93NUMPY\x02\x00" + struct.pack("<I", 32 * count) + bytes(32 * count)}
    ),
    "HDF5 never written": lambda path, count: filled(
        path,
        lambda file: (
            file.create_dataset("force", (count,), "u1", chunks=(min(2**20, count),)),
            file.create_dataset("more", data=bytes_of(count)),
        ),
    ),
    "HDF5, one byte a number, packed": lambda path, count: filled(
        path, lambda file: zeros(file, count, compression="gzip")
    ),
    "HDF5 with a piece larger than its data": lambda path, count: filled(
        path,
        lambda file: file.create_dataset(
            "time", (9,), "f8", maxshape=(None,), chunks=(4 * count + SMALL_PIECE // 8,)
        ),
    ),
    "MATLAB, packed": lambda path, count: scipy.io.savemat(
        path, {"t": np.zeros((count, 1), "u1")}, do_compression=True
    ),
    "MATLAB, of one byte a number": lambda path, count: mat_packed(
        path, count // 2**20 * 2**20 + 2**20, True
    ),
    "TDMS that claims more than it has": lambda path, count: tdms(path, 10**11),
    "text of many rows": lambda path, count: lines(path, b"%d,%d\n", count // 2),
    "text of one line": lambda path, count: path.write_bytes(
        b"time,force\n0,1\n1,1\n" + b"1," * count
    ),
    "text in UTF-16": lambda path, count: path.write_bytes(
        "\ufefftime [s],bead 3 [N]\n".encode("utf-16-le")
        + "1.5,1\n".encode("utf-16-le") * (count // 2)
    ),
    "text of many columns": lambda path, count: path.write_bytes(
        (b",".join([b"1"] * 30_000) + b"\n") * (count // 30_000 + 1)
    ),
    "about.toml": lambda path, count: path.write_bytes(b"a" * 2 * 10**6),
}
SMALL_PIECE = 2**27


def bytes_of(count):
    """So much in a file that what it claims is no more than a thousand times its size."""
    return np.random.default_rng(1).integers(0, 255, count // 900 + 100_000, "u1").reshape(-1, 1, 1)


def numbers_of(limit):
    return int(1.5 * limit / (COPIES * 8))


def just_below(kind, path, limit):
    """A file of so many doubles that it is counted as a little less than the limit."""
    held = {
        "npy": 2 * 8,
        "npz": 8 + 2 * 8,
        "h5": 2 * 8 + 8,
        "mat": 8 + 8,
        "csv": 2 * 11,
        "npz int8": 8,
    }[kind]
    count = int(0.97 * limit / (COPIES * 8 + held)) // 2
    time, force = 1e-6 * np.arange(count), np.random.default_rng(2).standard_normal(count).round(3)
    if kind == "npy":
        path.write_bytes(npy(np.column_stack([time, force])))
    elif kind == "npz":
        archive(path, {"time.npy": npy(time), "bead 3.npy": npy(force)}, zipfile.ZIP_STORED)
    elif kind == "npz int8":
        archive(
            path,
            {
                "time.npy": npy(np.arange(count, dtype="i4")),
                "bead 3.npy": npy(np.zeros(count, "i1")),
            },
        )
    elif kind == "h5":
        filled(
            path,
            lambda file: (
                file.create_dataset("time", data=time),
                file.create_dataset("bead 3", data=force),
            ),
        )
    elif kind == "mat":
        scipy.io.savemat(path, {"t": time, "bead_3": force}, do_compression=True)
    else:
        lines(path, b"%.0d.5,0.%d23\n", count)


MEASURED = """
import json, resource, sys
sys.path[:0] = [sys.argv[1]]
from granchain.cli import obey
code = obey(json.loads(sys.argv[2]))
own = int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) * 1024
# Of the processes that it started, if any.
print(json.dumps([code, own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024]))
"""


def measured(command, folder):
    """Exit code of a command in a process of its own, and the most memory that it and the
    processes it started took [bytes]."""
    import granchain

    root = str(Path(granchain.__file__).parents[1])
    code = MEASURED
    done = subprocess.run(
        [sys.executable, "-c", code, root, json.dumps(command)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr[-2000:]
    ended, own, others = json.loads(done.stdout.splitlines()[-1])
    return ended, max(own, others), done.stderr


@pytest.fixture(scope="module", autouse=True)
def loaded():
    """The modules that readers load when they are first needed."""
    import granchain.measured.binary
    import granchain.store.foreign

    assert scipy.io and granchain


def options(kind):
    said = ["--kind", "measured"] if kind == "csv" else SAID
    return [*said, "--overwrite", *(["--beads", "3"] if kind in ("npy", "mat") else [])]


@pytest.mark.promise("R9")
@pytest.mark.parametrize("name", TOO_LARGE)
def test_a_file_that_would_take_too_much_is_refused_before_it_takes_it(name, here, figure):
    limit = LIMIT
    path = here / "record"
    TOO_LARGE[name](path, numbers_of(limit))
    if name == "about.toml":
        (here / "rig").mkdir()
        path.replace(here / "rig" / name)
    read = (lambda: read_trace("rig", limit=limit)) if name == "about.toml" else None
    read = read or (
        lambda: import_trace(
            path, "rig", "measured", Asked(beads=(3,), time_unit="s", force_unit="N"), limit=limit
        )
    )
    tracemalloc.start()
    try:
        with pytest.raises((FileError, TraceError)):
            read()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    figure("memory that a refused file took, of the limit", peak / limit, at_most=1.0)


@pytest.mark.promise("R9")
def test_a_file_just_below_the_limit_is_read_within_it(here, figure):
    limit = LIMIT  # the other kinds of files in processes of their own, below
    just_below("npy", here / "record", limit)
    tracemalloc.start()
    try:
        assert (
            obey(
                [
                    "traces",
                    "import",
                    "record",
                    *options("npy"),
                    "--limit",
                    str(limit),
                    "--out",
                    "rig",
                ]
            )
            == 0
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    figure("memory that a file just below the limit took, of the limit", peak / limit, at_most=1.0)
    # What the limit counts is not far from what a read takes.
    assert peak > 0.2 * limit


def test_a_limit_is_a_number_of_bytes(here, obeyed):
    Path("record").write_bytes(
        b"time [s],bead 3 [N]\n" + b"".join(b"%d,1\n" % i for i in range(1000))
    )
    assert (
        "'--limit': Value error, -1 is not a finite number greater than 0"
        in obeyed("traces", "import", "record", "--kind", "measured", "--limit", "-1", code=2).err
    )
    assert (
        "--limit 7.7e+04 (in Python: limit=7.7e+04)"
        in obeyed("traces", "import", "record", "--kind", "measured", "--limit", "5e4", code=4).err
    )
    assert obey(["traces", "import", "record", "--kind", "measured", "--out", "rig"]) == 0
    with pytest.raises(
        FileError,
        match=r"is 0\.05 MB\. .* raise the limit: granchain\.read_trace\(FOLDER, limit=[0-9.e+]*",
    ):
        read_trace("rig", limit=5e4)


# --------------------------------------------------------------------------------------------------
# Measured in processes of their own: all that they take, not NumPy's part alone.


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """What a process takes that reads a small file of a kind."""

    @functools.cache
    def of(kind):
        folder = tmp_path_factory.mktemp("base")
        just_below(kind, folder / "small", 1e5)
        ended, took, _ = measured(
            ["traces", "import", "small", *options(kind), "--out", "small-rig"], folder
        )
        assert ended == 0
        return took

    return of


@pytest.mark.long
@pytest.mark.promise("R9")
@pytest.mark.parametrize("kind", ["npy", "npz", "npz int8", "h5", "mat", "csv"])
def test_a_process_that_reads_a_file_just_below_the_limit_stays_within_it(kind, here, base, figure):
    just_below(kind, here / "record", 1e9)
    ended, took, told = measured(
        ["traces", "import", "record", *options(kind), "--out", "rig"], here
    )
    assert ended == 0, told
    figure(
        "memory of a process that read a file just below 1 GB, of the limit",
        (took - base(kind)) / 1e9,
        at_most=1.0,
    )


@pytest.mark.long
@pytest.mark.promise("R9")
@pytest.mark.parametrize("name", [name for name in TOO_LARGE if name != "about.toml"])
def test_a_process_that_refuses_a_file_stays_within_the_limit(name, here, base, figure):
    TOO_LARGE[name](here / "record", numbers_of(1e9))
    ended, took, told = measured(
        ["traces", "import", "record", *options("npy"), "--out", "other"], here
    )
    assert ended in (2, 4) and "granchain: record: " in told, told
    figure(
        "memory of a process that refused a file of more than 1 GB, of the limit",
        (took - base("npy")) / 1e9,
        at_most=1.0,
    )
