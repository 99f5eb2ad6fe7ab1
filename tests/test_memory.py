"""No file from elsewhere takes more memory to read than was allowed, counted before any is
taken; of a result, only what is asked for."""

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
from support.example_results import a_result, file_of
from test_hostile_files import seal

from granchain.cli import obey
from granchain.errors import FileError, TraceError
from granchain.figures import drawn
from granchain.store import open_result, reader
from granchain.store.limit import COPIES
from granchain.traces import Asked, import_trace, read_trace

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
    """A MATLAB file with one packed element that unpacks to `count` bytes, as long as it says
    or not."""
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


# Each makes a file that would take more than `limit` bytes to read; count: as many numbers as that
# takes and a half more.
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
    "HDF5, packed by lzf": lambda path, count: filled(
        path, lambda file: zeros(file, count, compression="lzf")
    ),
    "HDF5 with a piece larger than its data": lambda path, count: filled(
        path,
        lambda file: file.create_dataset(
            "time", (9,), "f8", maxshape=(None,), chunks=(4 * count + SMALL_PIECE // 8,)
        ),
    ),
    "HDF5 packed twice": lambda path, count: filled(path, lambda file: packed_twice(file, count)),
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


def packed_twice(file, count):
    made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    made.set_chunk((100,))
    made.set_deflate(9)
    made.set_deflate(9)
    h5py.h5d.create(file.id, b"time", h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple((100,)), made)


def numbers_of(limit):
    return int(1.5 * limit / (COPIES * 8))


def just_below(kind, path, limit):
    """A file of so many numbers, as doubles, that what it takes is counted as a little less
    than the limit."""
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
    import granchain.store.foreign
    import granchain.traces.binary

    assert scipy.io and granchain


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


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
@pytest.mark.parametrize(
    "kind",
    [
        "npy",
        "h5",
        *(pytest.param(kind, marks=pytest.mark.long) for kind in ("npz", "npz int8", "mat", "csv")),
    ],
)
def test_a_file_just_below_the_limit_is_read_within_it(kind, here, figure):
    limit = LIMIT
    just_below(kind, here / "record", limit)
    tracemalloc.start()
    try:
        assert (
            obey(
                [
                    "traces",
                    "import",
                    "record",
                    *options(kind),
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


def test_a_limit_is_a_number_of_bytes(here, capsys):
    Path("record").write_bytes(
        b"time [s],bead 3 [N]\n" + b"".join(b"%d,1\n" % i for i in range(1000))
    )
    assert obey(["traces", "import", "record", "--kind", "measured", "--limit", "-1"]) == 2
    assert "--limit: got -1.0" in capsys.readouterr().err
    assert obey(["traces", "import", "record", "--kind", "measured", "--limit", "5e4"]) == 4
    assert "--limit 7.7e+04 (in Python: limit=7.7e+04)" in capsys.readouterr().err
    assert obey(["traces", "import", "record", "--kind", "measured", "--out", "rig"]) == 0
    with pytest.raises(
        FileError,
        match=r"allowed 0\.05 MB; .* allow more: granchain\.read_trace\(FOLDER, limit=[0-9.e+]*\)$",
    ):
        read_trace("rig", limit=5e4)


# --------------------------------------------------------------------------------------------------
# granchain's own files


OWN = {
    "the sensors": ("sensor_force", lambda n: (("time", n // 4), ("sensor_bead", 4))),
    "one sensor": ("sensor_force", lambda n: (("time", n), ("sensor_bead", 1))),
    "the snapshots": ("velocity", lambda n: (("snapshot_time", n // 13),)),
    "what nobody draws": ("contact_peak_force", lambda n: (("contact", n),)),
}


def own(path, which, numbers):
    """A sealed output file with a variable of so many numbers, and its axes, that were never
    written."""
    name, axes = OWN[which]
    axes = dict(axes(numbers))
    path.write_bytes(file_of(a_result()))
    with h5py.File(path, "r+") as file:
        for other, variable in a_result().variables.items():
            if set(variable.dims) & set(axes):
                texts = {key: file[other].attrs[key] for key in ("units", "long_name")}
                kind = file[other].dtype
                del file[other]
                lengths = [
                    axes.get(axis, variable.shape[k]) for k, axis in enumerate(variable.dims)
                ]
                if other == name or len(lengths) == 1:
                    chunks = tuple(
                        min(length, 4096 if k == 0 else 32) for k, length in enumerate(lengths)
                    )
                    file.create_dataset(other, lengths, kind, chunks=chunks).attrs.update(texts)
        claimed = sum(
            dataset.size * 8 for dataset in file.values() if isinstance(dataset, h5py.Dataset)
        )
        # So long a file as a thousandth of what it claims, at least.
        del file["provenance/messages"]
        file["provenance/messages"] = json.dumps([["x" * (claimed // 900), False]])
    seal(path)


@pytest.mark.promise("R9")
@pytest.mark.parametrize("which", OWN)
def test_what_was_never_written_into_a_result_takes_nothing(
    which, here, capsys, monkeypatch, figure
):
    # 24 MB a variable, of which summary and picture may take an eighth.
    numbers, share = 3 * 10**6, 3e6
    from granchain.cli import files

    monkeypatch.setattr(files, "LARGEST_SUMMARY", share)
    monkeypatch.setattr(reader, "AT_ONCE", 2**20)
    own(here / "run.h5", which, numbers)
    took = {}
    for command in ("info", "plot", "info --verify"):
        tracemalloc.start()
        try:
            if command == "plot":
                result = open_result("run.h5", drawn, share)
            else:
                assert obey([*command.split(), "run.h5"]) == (4 if "--verify" in command else 0)
            took[command] = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    told = capsys.readouterr()
    # Its data do not fit their hash, which is found piece by piece, once in a process of its own.
    assert "its data differ from their hash" in told.err and OWN[which][0] in told.out
    assert (
        "not looked into, being more than 3e+06 bytes: time, sensor_bead, sensor_force" in told.out
    ) == ("sensor" in which)
    assert (OWN[which][0] in result.unread) == (which == "what nobody draws")
    assert sum(variable.data.nbytes for variable in result.variables.values()) < 1.5 * share
    with pytest.raises(FileError, match="was read from its file in part"):
        result.save("other.h5")
    figure(
        "memory that a command took of a result, of that of its largest variable",
        max(took.values()) / (8 * numbers),
        at_most=0.5,
    )


@pytest.mark.parametrize(("columns", "chunk"), [(1, 1000), (3, 777), (40, 64)])
def test_a_long_trace_is_drawn_with_its_extremes(here, columns, chunk, monkeypatch):
    count, most = 200_000, 8 * 20_000 * columns
    values = np.random.default_rng(columns).standard_normal((count, columns)).cumsum(axis=0)
    monkeypatch.setattr(reader, "AT_ONCE", 8 * columns * 10_000)
    monkeypatch.setattr(reader, "STRETCHES_OF_A_PICTURE", 200)
    with h5py.File("long.h5", "w") as file:
        file["time"] = 1e-6 * np.arange(count)
        file.create_dataset("sensor_force", data=values, chunks=(chunk, columns))
        dims = {"time": ("time",), "sensor_force": ("time", "sensor_bead")}
        assert reader.thinned_rows(file, dims, 8 * count * (columns + 1)) == {}
        (rows,) = reader.thinned_rows(file, dims, most).values()
        kept = reader._rows_of_dataset(file["sensor_force"], rows)
    assert (
        (kept == values[rows]).all()
        and (np.diff(rows) > 0).all()
        and rows[0] == 0
        and rows[-1] == count - 1
    )
    assert len(rows) * 8 * (columns + 1) <= 1.1 * most
    if columns < 10:
        assert (kept.max(axis=0) == values.max(axis=0)).all() and (
            kept.min(axis=0) == values.min(axis=0)
        ).all()
        # A peak is found to the same value: the samples beside it are there.
        for column in range(columns):
            top = int(values[:, column].argmax())
            assert {max(top - 1, 0), min(top + 1, count - 1)} <= set(rows.tolist())
    else:
        assert np.ptp(np.diff(rows)) <= 1


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


@pytest.mark.long
@pytest.mark.promise("R9")
@pytest.mark.parametrize("which", OWN)
@pytest.mark.parametrize("command", ["info", "info --verify", "plot"])
def test_info_and_plot_of_a_result_of_gigabytes_take_little(command, which, here, figure):
    (here / "small.h5").write_bytes(file_of(a_result()))
    _, small, _ = measured([*command.split(), "small.h5"], here)
    # seven variables have the axis of contacts
    own(here / "run.h5", which, 24 * 10**7 // (7 if which == "what nobody draws" else 1))
    ended, took, told = measured([*command.split(), "run.h5"], here)
    assert ended == (4 if "--verify" in command else 0) and ("differ from their hash" in told) == (
        "--verify" in command
    ), told
    figure(
        f"memory that {command} took of a result of 2 to 4 GB [GB]",
        (took - small) / 1e9,
        at_most=1.0,
    )
