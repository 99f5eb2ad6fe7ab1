"""A damaged or hostile file is refused with a sentence: no crash, no hang, no reading of other
files, no silent wrong number."""

import copy
import hashlib
import json
import math
import os
import random
import struct
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
from support.example_results import a_result, everything, file_of
from support.rows import inputs_for, steel_row

import granchain
from granchain.contact import laws
from granchain.engine import fields
from granchain.engine.setup import contacts_of
from granchain.engine.state import Recording, State
from granchain.engine.timestep import time_step_of
from granchain.errors import FileError
from granchain.store import Checkpoint, files, open_result
from granchain.store import verify_file as verify
from granchain.store.checkpoint import Saved
from granchain.store.journal import FRAME_END, FRAME_HEAD, frame

ROOT = Path(granchain.__file__).parents[1]
SECRET = b"the secret of another file" * 100


@pytest.fixture(scope="module")
def content():
    return file_of(a_result())


def seal(path):
    """Make the hash in the last line fit, as a stranger can."""
    content = path.read_bytes()
    if content[-files.SEAL_LENGTH :].startswith(b"\ngranchain sha256"):
        content = content[: -files.SEAL_LENGTH]
    path.write_bytes(content + files.SEAL % hashlib.sha256(content).hexdigest().encode())


# --------------------------------------------------------------------------------------------------
# Made to do harm.


def replaced(file, name, **made):
    """Put another dataset in the place of a good one, so good that nothing but the harm can be
    refused."""
    texts = {
        key: file[name].attrs[key] for key in ("units", "long_name") if key in file[name].attrs
    }
    del file[name]
    file.create_dataset(name, **made).attrs.update(texts)


def put(name, **made):
    return lambda file, folder: replaced(file, name, **made)


def link(name, target):
    def edit(file, folder):
        del file[name]
        file[name] = (
            target
            if isinstance(target, h5py.SoftLink)
            else h5py.ExternalLink(folder / "other.h5", target)
        )

    return edit


def without(name):
    return lambda file, folder: file.__delitem__(name)


def attribute(place, name, value):
    return lambda file, folder: file[place].attrs.__setitem__(name, value)


def text(name, value):
    return lambda file, folder: file[f"provenance/{name}"].__setitem__((), value)


def virtual_dataset(file, folder):
    layout = h5py.VirtualLayout((13,), "<f8")
    layout[:] = h5py.VirtualSource(folder / "other.h5", "secret", (13,))
    del file["mass"]
    file.create_virtual_dataset("mass", layout)


def shapes_together(file, folder):
    for name in ("time", "sensor_force"):
        del file[name]
    for k in range(100):
        file.create_dataset(f"dent_{k}", shape=(400 * 1024,), dtype="<f8", chunks=(1000,))


def gzip_twice(file, folder):
    made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    made.set_chunk((13,))
    made.set_deflate(9)
    made.set_deflate(9)
    del file["mass"]
    h5py.h5d.create(file.id, b"mass", h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple((13,)), made)


def variable_that_would_hide_a_method(file, folder):
    file["save"] = np.zeros(12)
    file["save"].attrs["units"] = file["save"].attrs["long_name"] = "m"


def group_for_a_variable(file, folder):
    del file["mass"]
    file.create_group("mass")


def root_for_provenance(file, folder):
    del file["provenance"]
    file["provenance"] = file["/"]


def data_changed(file, folder):
    file["sensor_force"][3, 1] += 1e-9


def a_thousand_names(file, folder):
    for k in range(1000):
        file[f"x{k}"] = file["mass"]


# Edits of a good file, each with words that the refusal must hold.
HOSTILE = {
    "external_link": (link("sensor_force", "/secret"), "'sensor_force'", "link"),
    "soft_link": (link("mass", h5py.SoftLink("/radius")), "'mass'", "link"),
    "external_link_in_provenance": (link("provenance/case_toml", "/text"), "'case_toml'", "link"),
    "external_storage": (
        lambda file, folder: replaced(
            file, "mass", shape=(13,), dtype="<f8", external=[(str(folder / "secret.bin"), 0, 104)]
        ),
        "'mass'",
        "another file",
    ),
    "external_storage_in_provenance": (
        lambda file, folder: replaced(
            file,
            "provenance/started",
            shape=(1,),
            dtype="<f8",
            external=[(str(folder / "secret.bin"), 0, 8)],
        ),
        "'started'",
        "single value of its own",
    ),
    "virtual_dataset": (virtual_dataset, "'mass'", "another file"),
    "640_gigabytes": (
        put("sensor_force", shape=(80_000_000_000, 1), dtype="<f8", chunks=(1000, 1)),
        "claims",
        "bytes",
    ),
    "more_bytes_than_a_number_counts": (
        put("mass", shape=(2**61,), dtype="<f8", chunks=(1000,)),
        "claims",
        "bytes",
    ),
    "shapes_together": (shapes_together, "claims", "bytes"),
    "chunk_larger_than_data": (
        put("mass", shape=(13,), maxshape=(None,), dtype="<f8", chunks=(2**26,)),
        "'mass'",
        "pieces larger",
    ),
    "gzip_twice": (gzip_twice, "'mass'", "packed"),
    "another_filter": (
        put("mass", data=np.zeros(13), chunks=(13,), compression="lzf"),
        "'mass'",
        "packed",
    ),
    "texts_for_numbers": (
        put("mass", shape=(13,), dtype=h5py.string_dtype()),
        "'mass'",
        "type object",
    ),
    "labels_with_fractions": (put("bead", data=np.zeros(13)), "'bead'", "type float64"),
    "missing_axis": (without("bead"), "is over snapshot_time, bead, but there is no bead"),
    "another_length": (
        put("mass", data=np.zeros(12)),
        "mass has the shape (12,), its axes bead have (13,)",
    ),
    "an_axis_too_many": (
        put("bead", data=np.zeros((13, 1), "<i8")),
        "bead has 2 axes, and must have 1",
    ),
    "no_space_at_all": (put("mass", data=h5py.Empty("<f8")), "'mass'", "has no axis"),
    "unknown_variable": (
        lambda file, folder: file.__setitem__("x", np.zeros((12, 2))),
        "'x'",
        "neither a variable of an output file nor one value per contact",
    ),
    "hidden_method": (variable_that_would_hide_a_method, "cannot be the name of a variable"),
    "unknown_group": (
        lambda file, folder: file.create_group("more"),
        "'more'",
        "not what an output file has",
    ),
    "group_for_a_variable": (group_for_a_variable, "'mass'", "not what an output file has"),
    "root_for_provenance": (root_for_provenance, "'bead'", "no place"),
    "unknown_provenance": (
        lambda file, folder: file.__setitem__("provenance/host", "here"),
        "'host'",
        "no place",
    ),
    "no_provenance": (without("provenance"), "has no provenance"),
    "fixed_length": (put("provenance/started", data=np.bytes_(b"now")), "started is not one text"),
    "no_number": (text("wall_time", np.nan), "wall_time is not one finite number"),
    "no_messages": (text("messages", '{"a": 1}'), "not a list of texts"),
    "nested": (text("messages", "[" * 100_000), "damaged", "HDF5 says"),
    "data_changed": (data_changed, "its data differ from their hash"),
    "no_data_hash": (without("provenance/data_sha256"), "its data differ from their hash"),
    "no_unit": (
        lambda file, folder: file["mass"].attrs.__delitem__("units"),
        "the attribute units is missing",
    ),
    "another_unit": (attribute("mass", "units", "g"), "mass is in 'g', and must be in 'kg'"),
    "law_that_is_a_number": (attribute("/", "law", 3), "law is not one text"),
    "infinite_step": (attribute("/", "time_step", np.inf), "time_step is not one finite number"),
    "unknown_status": (attribute("/", "status", "fine"), "ended as 'fine'", "does not know"),
    "another_format": (
        attribute("/", "granchain_format", "1.4"),
        "has the format '1.4', allowed '1'",
    ),
    "no_format": (
        lambda file, folder: file.attrs.__delitem__("granchain_format"),
        "got HDF5 that granchain did not write",
    ),
    "a_thousand_names": (a_thousand_names, "names, an output file at most 200"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, content):
    """A folder with every hostile file, each with a hash that fits."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "secret.bin").write_bytes(SECRET)
    with h5py.File(folder / "other.h5", "w") as other:
        other["secret"] = np.frombuffer(SECRET[:104], "<f8")
        other["text"] = SECRET.decode()
    for name, (edit, *_) in HOSTILE.items():
        path = folder / f"{name}.h5"
        path.write_bytes(content)
        with h5py.File(path, "r+") as file:
            edit(file, folder)
        seal(path)
    return folder


@pytest.mark.promise("R9")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_with_its_reason(folder, name):
    start = time.process_time()
    with pytest.raises(FileError) as caught:
        open_result(folder / f"{name}.h5")
    assert time.process_time() - start < 5.0
    assert str(caught.value).startswith(f"{folder / name}.h5: ")
    for words in HOSTILE[name][1:]:
        assert words in str(caught.value)
    # Every other refusal is our own, not an error of HDF5 that happened on the way.
    assert ("HDF5 says" in str(caught.value)) == ("HDF5 says" in HOSTILE[name][1:])
    assert SECRET[:10].decode() not in str(caught.value)


READER = """
import sys
sys.path.insert(0, sys.argv[1])
import os
from granchain.errors import FileError
from granchain.store import open_result
good = os.environ.get("GOOD", "")
for path in sys.stdin.read().split():
    try:
        result = open_result(path)
    except FileError as error:
        print("refused" if len(str(error)) > len(path) + 20 else "refused without a word")
    else:
        print("opened" if not good else "same" if repr(everything(result)) == good else "different")
# Not ru_maxrss, which starts from that of the process that started this one.
print(int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) // 1024)
"""


def read_in_a_process(paths, setup="", good="", seconds=120):
    """Read files in one process of its own; what it said of each, and the memory [MB] it took."""
    done = subprocess.run(
        [sys.executable, "-c", setup + READER, str(ROOT)],
        input="\n".join(map(str, paths)),
        env={**os.environ, "GOOD": good},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, (
        f"exit code {done.returncode} after {len(done.stdout.split())} files: {done.stderr[-500:]}"
    )
    *said, memory = done.stdout.splitlines()
    assert len(said) == len(paths)
    return said, int(memory)


@pytest.mark.promise("R9")
@pytest.mark.skipif(
    not Path("/proc/self/status").exists(),
    reason="the memory that a process took is read from /proc",
)
def test_no_hostile_file_takes_memory(folder):
    said, memory = read_in_a_process([folder / f"{name}.h5" for name in HOSTILE])
    assert set(said) == {"refused"}
    assert memory < 150  # 69 MB for good files too, 250 MB where the bomb goes off.


def hanging(content):
    """A file on which HDF5 2.0.0 loops for ever: the free space of its heap of texts says that
    it is 0 bytes long."""
    body = bytearray(content[: -files.SEAL_LENGTH])
    # Global heap: HDF5 File Format Specification 3.0, III.E. Objects of a 16-byte head and their
    # size in steps of 8, to the free space.
    at = body.index(b"GCOL") + 16
    while body[at : at + 2] != b"\0\0":
        at += 16 + (struct.unpack_from("<Q", body, at + 8)[0] + 7) // 8 * 8
    struct.pack_into("<Q", body, at + 8, 0)
    return bytes(body)


@pytest.mark.promise("R9")
def test_a_damaged_file_on_which_hdf5_would_hang_is_refused_at_once(tmp_path, content):
    path = tmp_path / "a.h5"
    path.write_bytes(hanging(content) + content[-files.SEAL_LENGTH :])
    start = time.process_time()
    with pytest.raises(FileError, match="damaged or changed"):
        open_result(path)
    assert time.process_time() - start < 1.0


# --------------------------------------------------------------------------------------------------
# Damaged.


def flipped(content, draw):
    damaged = bytearray(content)
    for _ in range(draw.choice([1, 1, 1, 2, 4, 16])):
        # Half of the flips where the structure of the file is.
        at = (
            draw.randrange(len(damaged))
            if draw.random() < 0.5
            else draw.randrange(min(16_000, len(damaged)))
        )
        damaged[at] ^= 1 << draw.randrange(8)
    return bytes(damaged)


COMPARE = f"""
import sys
sys.path[:0] = [{str(Path(__file__).parent)!r}, sys.argv[1]]
from support.example_results import everything
"""


@pytest.mark.promise("R9")
@pytest.mark.parametrize("count", [500, pytest.param(2000, marks=pytest.mark.long)])
def test_a_file_with_flipped_bits_is_never_read_as_other_numbers(tmp_path, content, count, figure):
    draw = random.Random(count)
    paths = [tmp_path / f"{k}.h5" for k in range(count)]
    for path in paths:
        path.write_bytes(flipped(content, draw))
    (tmp_path / "good.h5").write_bytes(content)
    said, _ = read_in_a_process(
        [*paths, tmp_path / "good.h5"],
        COMPARE,
        repr(everything(open_result(tmp_path / "good.h5"))),
        60 + count,
    )
    assert said[-1] == "same"
    figure("files with flipped bits read as other numbers", said.count("different"), at_most=0)
    figure(
        "files with flipped bits refused in a sentence, of all",
        said.count("refused") / count,
        at_least=0.95,
    )


def test_flipped_bits_in_the_data_are_seen_by_other_readers_too(tmp_path, content):
    path = tmp_path / "a.h5"
    path.write_bytes(content)
    with h5py.File(path, "r") as file:
        chunk = file["sensor_force"].id.get_chunk_info(0)
    damaged = bytearray(content)
    damaged[chunk.byte_offset + chunk.size // 2] ^= 4
    path.write_bytes(damaged)
    with h5py.File(path, "r") as file, pytest.raises(OSError):
        file["sensor_force"][()]


def test_a_file_cut_off_anywhere_is_refused_or_whole(tmp_path, content):
    path = tmp_path / "a.h5"
    good = everything(a_result())[:-1]
    draw = random.Random(3)
    for length in (1, 7, draw.randrange(8, len(content)), len(content) - files.SEAL_LENGTH - 1):
        path.write_bytes(content[:length])
        with pytest.raises(FileError):
            open_result(path)
    path.write_bytes(content[:-1])
    with pytest.raises(FileError, match="got a file without its seal"):
        open_result(path)
    assert everything(open_result(path, unsealed=True))[:-1] == good


# --------------------------------------------------------------------------------------------------
# Not an output file at all.


@pytest.mark.parametrize("read", [open_result, verify])
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("text.h5", "got a file that is not HDF5, allowed an output file of granchain"),
        ("empty.h5", "got an empty file, allowed an output file; granchain never leaves"),
        ("folder", "got a folder, allowed an output file; name one in it"),
        ("missing.h5", "got no file of this name, allowed an output file"),
        ("no/such/folder.h5", "got no file of this name"),
        (
            "text.h5/a.h5",
            "got a file that cannot be read (Not a directory), allowed an output file",
        ),
        ("pipe", "got a device, pipe or socket, allowed an output file; name one"),
        ("other.h5", "got HDF5 that granchain did not write"),
        ("huge.h5", "got 5000000000 bytes, allowed for an output file: at most 4294967296"),
        ("null\0character", "got a file that cannot be read"),
    ],
)
def test_what_is_no_output_file_is_refused_in_a_sentence(tmp_path, read, name, sentence):
    (tmp_path / "text.h5").write_text("time,force\n")
    (tmp_path / "empty.h5").touch()
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["x"] = np.zeros(3)
    with open(tmp_path / "huge.h5", "wb") as huge:
        huge.truncate(5_000_000_000)
    start = time.process_time()
    with pytest.raises(FileError) as caught:
        read(tmp_path / name)
    assert time.process_time() - start < 5.0
    assert f"{tmp_path / name}: " in str(caught.value)
    assert sentence in str(caught.value)


def test_a_name_from_a_file_cannot_command_the_terminal(tmp_path, content):
    path = tmp_path / "a.h5"
    path.write_bytes(content)
    with h5py.File(path, "r+") as file:
        file.create_group("\x1b[2J\u202e evil")
    with pytest.raises(FileError) as caught:
        open_result(path)
    assert all(letter.isprintable() for letter in str(caught.value))


# --------------------------------------------------------------------------------------------------
# The checkpoint.


@pytest.fixture(scope="module")
def state():
    """A state in the middle of a run that records and has a history."""
    chain = steel_row(6)
    contacts = contacts_of(laws()["ma-liu"], chain, inputs_for("ma-liu"))
    step = time_step_of(contacts, chain, "fast", 1e-5)
    made = State(contacts, chain, step, Recording((1, 3), (0,), 2 * step.value, 3 * step.value))
    made.advance(step.n_steps // 2)
    return made


@pytest.fixture(scope="module")
def checkpointed(state, tmp_path_factory):
    """The bytes of its checkpoint."""
    path = tmp_path_factory.mktemp("checkpoint") / "run.chk"
    Checkpoint(path).save(Saved(state.arrays(), "2026-01-01", 1.0), set_up=state.set_up)
    return path.read_bytes()


def resumed(path, state):
    """Read a checkpoint as a run does that goes on from it."""
    saved = Checkpoint(path).load(set_up=state.set_up)
    try:
        State.take(copy.deepcopy(state), saved.arrays)
    except ValueError as error:
        raise FileError(f"{path}: {error}") from None
    return saved


@pytest.mark.promise("R9")
@pytest.mark.parametrize("count", [100, pytest.param(2000, marks=pytest.mark.long)])
def test_a_checkpoint_with_flipped_bits_is_refused(tmp_path, state, checkpointed, count, figure):
    path, draw, refused = tmp_path / "run.chk", random.Random(count), 0
    path.write_bytes(checkpointed)
    assert resumed(path, state).started == "2026-01-01"
    for _ in range(count):
        path.write_bytes(flipped(checkpointed, draw))
        start = time.process_time()
        with pytest.raises(
            FileError,
            match=r"run\.chk: (the file was damaged|got a file that is not a checkpoint of this "
            r"granchain, allowed one)",
        ):
            resumed(path, state)
        assert time.process_time() - start < 1.0
        refused += 1
    figure(
        "checkpoints with flipped bits refused in a sentence, of all", refused / count, at_least=1.0
    )


def forged(checkpointed, edit):
    """A checkpoint as a stranger can make one: another header, other arrays, and a hash that
    fits."""
    length = len(b"granchain checkpoint 1\n") + FRAME_HEAD
    line, arrays = checkpointed[length:-FRAME_END].split(b"\n", 1)
    header, arrays = json.loads(line), bytearray(arrays)
    at = 0
    places = {}
    for name, _, _, shape in header["arrays"]:
        size = 8 * math.prod(shape)
        places[name] = slice(at, at + size)
        at += size
    edited = edit(header, arrays, places)
    line = json.dumps(header).encode() if edited is None else edited
    return b"granchain checkpoint 1\n" + b"".join(frame([line, b"\n", bytes(arrays)]))


def integers(values):
    return np.asarray(values, dtype="<i8").tobytes()


def clock_set(name, value):
    """Puts a value into the clock: an index that the compiled loop would write at."""

    def edit(header, arrays, places):
        clock = np.frombuffer(bytes(arrays[places["clock"]]), dtype="<i8").copy()
        clock.view(fields.CLOCK)[name] = value
        arrays[places["clock"]] = clock.tobytes()

    return edit


def header_set(**changes):
    def edit(header, arrays, places):
        header.update(changes)

    return edit


def shape_set(name, shape):
    def edit(header, arrays, places):
        header["arrays"] = [
            [n, kind, 0, shape if n == name else old] for n, kind, _, old in header["arrays"]
        ]

    return edit


def place_beyond_the_chain(header, arrays, places):
    arrays[places["events"]] = integers(
        np.full((places["events"].stop - places["events"].start) // 8, 10**9)
    )


FORGED = {
    "a header that is no JSON": (lambda *parts: b"{", "damaged"),
    "a header nested without end": (lambda *parts: b"[" * 15_000, "damaged"),
    "a header without end": (lambda *parts: b" " * 1_000_000, "damaged"),
    "a header that is no table": (lambda *parts: b"[1]", "damaged"),
    "no arrays": (header_set(arrays=[]), "longer than its arrays"),
    "arrays that are none": (header_set(arrays=7), "got a checkpoint that granchain did not write"),
    "a type that is code": (header_set(arrays=[["bodies", "|O", 0, [3]]]), "a type or shape"),
    "a type that is none": (header_set(arrays=[["bodies", ["<f8"], 0, [3]]]), "a type or shape"),
    "a shape beyond memory": (shape_set("bodies", [10**9, 10**9]), "longer than the file"),
    "a shape of nothing times more than there is": (
        shape_set("bodies", [0, 10**30]),
        "got a checkpoint that granchain did not write",
    ),
    "a negative shape": (shape_set("bodies", [-1, -8]), "a type or shape"),
    "a shape of fractions": (shape_set("bodies", [1.5]), "a type or shape"),
    "another shape": (shape_set("clock", [len(fields.RUN), 1]), "clock is"),
    "rows that are nowhere": (
        lambda header, *parts: header["arrays"][0].__setitem__(2, 10**12),
        "its records are not what it says of them",
    ),
    "an array that no run has": (
        lambda header, *parts: header["arrays"][0].__setitem__(0, "__dict__"),
        "holds the arrays",
    ),
    "an infinite time": (header_set(wall_time=math.inf), "incomplete"),
    "a start that is no text": (header_set(started=[1]), "incomplete"),
    "another set-up": (header_set(set_up="0" * 64), "was set up from other numbers than this run"),
    "a step beyond the end": (clock_set("step", 10**6), "step is 1000000, and must be 0 to"),
    "a negative step": (clock_set("step", -1), "step is -1"),
    "more bodies": (clock_set("n_bodies", 10**6), "n_bodies is 1000000, and must be 6"),
    "a front beyond the chain": (clock_set("front", 10**6), "front is 1000000"),
    "samples beyond the end": (clock_set("sample", 10**6), "sample is 1000000"),
    "snapshots beyond the end": (clock_set("snapshot", -(10**6)), "snapshot is -1000000"),
    "a contact beyond the chain": (place_beyond_the_chain, "a contact that is not there"),
}


@pytest.mark.promise("R9")
@pytest.mark.parametrize(("edit", "words"), FORGED.values(), ids=FORGED)
def test_a_checkpoint_made_to_do_harm_is_refused_before_anything_is_taken(
    tmp_path, state, checkpointed, edit, words
):
    path = tmp_path / "run.chk"
    path.write_bytes(forged(checkpointed, edit))
    before = {name: array.tobytes() for name, array in state.arrays().items()}
    start = time.process_time()
    with pytest.raises(FileError) as caught:
        resumed(path, state)
    assert time.process_time() - start < 1.0
    assert str(path) in str(caught.value) and words in str(caught.value)
    assert before == {name: array.tobytes() for name, array in state.arrays().items()}


def test_every_count_is_one_that_a_checkpoint_is_checked_for(state):
    for field in fields.RUN:
        clock = state.arrays()["clock"].copy()
        clock.view(fields.CLOCK)[field.name] = -1
        if field.kind is int or not field.changes:
            with pytest.raises(ValueError, match=f"{field.name} is -1"):
                copy.deepcopy(state).take({**state.arrays(), "clock": clock})


@pytest.mark.parametrize("content", [b"", b"\x89HDF\r\n\x1a\n", b"granchain checkpoint 2\n{}\n"])
def test_what_is_no_checkpoint_is_refused_in_a_sentence(tmp_path, state, content):
    (tmp_path / "run.chk").write_bytes(content)
    with pytest.raises(
        FileError, match=r"run\.chk: got (an empty file|a file that is not a checkpoint)"
    ):
        resumed(tmp_path / "run.chk", state)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="got a device, pipe or socket, allowed a checkpoint"):
        resumed(tmp_path / "pipe", state)
