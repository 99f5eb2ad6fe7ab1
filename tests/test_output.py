"""The output file: its contents are complete, are read back unchanged, and are written completely
or not at all."""

import getpass
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
from support.example_results import (
    HISTORY,
    LABELS,
    LAYOUT,
    StandIn,
    a_result,
    everything,
    file_of,
    values,
)
from support.processes import LONGEST, in_a_child, left_in
from support.refused import assert_refused

from granchain.case import Case
from granchain.case.checks import PER_BODY
from granchain.case.document import digest_of_case
from granchain.contact.law import Quantity
from granchain.engine.fields import CONTACT
from granchain.errors import CaseError, FileError
from granchain.simulation import run
from granchain.status import Status
from granchain.store import Result, claim, files, open_answer, schema
from granchain.store.dataset import COMPRESSED_FROM
from granchain.store.files import LONGEST_NAME


def test_a_result_comes_back_equal_bit_for_bit(tmp_path):
    saved = a_result()
    saved.save(tmp_path / "a.h5")
    opened = open_answer(tmp_path / "a.h5")
    assert everything(opened) == everything(saved)
    assert list(opened.variables) == list(saved.variables)
    assert opened.sensor_force.tobytes() == values()["sensor_force"].tobytes()
    assert opened.provenance["wall_time"] == 0.125
    assert not any(np.isnan(v.data).any() for v in opened.variables.values())


def bare(data, history=(), **more):
    """Return a result that contains only these variables."""
    asked = {"case": None, "law": "", "status": Status.COMPLETE, "time_step": 1.0}
    return Result(data, history=history, **asked | more)


def test_results_are_compared_bit_by_bit():
    # the two zeros are equal but have different bits; nan has the same bits
    for mine, theirs, same in (
        (0.0, -0.0, False),
        (np.nan, np.nan, True),
        (1.0, np.nextafter(1.0, 2.0), False),
    ):
        one, other = (
            bare({"bead": [1], "final_velocity": [v]}, status=Status.UNSTABLE)
            for v in (mine, theirs)
        )
        assert one.equals(other) is same


def test_the_data_hash_tells_data_apart_and_nothing_else(tmp_path):
    plain = a_result().data_sha256
    more = {"messages": [], "provenance": {"wall_time": 9.0}, "time_step": 1.0, "law": "other"}
    assert a_result(**more).data_sha256 == plain
    mass = values()["mass"].copy()
    mass[4] = np.nextafter(mass[4], 1.0)
    for changes in ({"mass": mass}, {"radius": values()["mass"], "mass": values()["radius"]}):
        assert bare(values() | changes, HISTORY).data_sha256 != plain
    one, other = (
        bare({"contact": [1], name: [2.0]}, [Quantity(name, "m")]) for name in ("dent_a", "dent_b")
    )
    assert one.data_sha256 != other.data_sha256
    a_result().save(tmp_path / "a.h5")
    opened = open_answer(tmp_path / "a.h5")
    assert opened.data_sha256 == opened.provenance["data_sha256"] == plain


@pytest.mark.guard
def test_the_estimated_file_size_counts_every_variable_of_a_body_or_contact():
    dims = [label.dims for label in schema.VARIABLES.values()]
    assert dims.count(("bead",)) + dims.count(("contact",)) == PER_BODY


@pytest.mark.guard
def test_a_variable_of_a_contact_row_has_a_label():
    variables = [field.variable for field in CONTACT if field.variable]
    assert [schema.VARIABLES[name].dims for name in variables] == [("contact",)] * len(variables)
    assert "contact_peak_force" in variables


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "chain.h5"
    a_result().save(path)
    return path


@pytest.mark.guard
def test_every_variable_has_its_axes_its_unit_and_a_meaning(saved):
    with h5py.File(saved, "r") as file:
        assert set(file) == {*LAYOUT, "provenance"}
        for name, (dims, unit) in LAYOUT.items():
            dataset = file[name]
            assert dataset.attrs["units"] == unit
            assert len(dataset.attrs["long_name"]) > 3
            assert dataset.dtype == ("<i8" if name in LABELS else "<f8")
            # other readers detect flipped bits with Fletcher checksums
            large = dataset.nbytes >= COMPRESSED_FROM
            stored = (dataset.compression, dataset.shuffle, dataset.fletcher32)
            assert stored == ("gzip" if large else None, large, large), name
            if dims == name:
                assert dataset.is_scale
            else:
                assert [axis[0].name for axis in dataset.dims] == [f"/{x}" for x in dims.split()]
            # no text has a fixed length
            text = h5py.check_string_dtype(dataset.attrs.get_id("units").dtype)
            assert (text.length, text.encoding) == (None, "utf-8")
        # CF conventions 1.11, section 4
        axes = {name: file[name].attrs["axis"] for name in LAYOUT if "axis" in file[name].attrs}
        assert axes == {"time": "T", "energy_time": "T", "snapshot_time": "T", "position": "X"}


def test_the_provenance_holds_the_case_the_hashes_and_the_versions(saved):
    with h5py.File(saved, "r") as file:
        found = {name: dataset[()] for name, dataset in file["provenance"].items()}
    texts = {name: value.decode() for name, value in found.items() if isinstance(value, bytes)}
    assert found["wall_time"] == 0.125
    assert found.keys() - texts.keys() == {"wall_time"}
    names = "case_json case_resolved_json case_sha256 case_toml data_sha256 messages platform "
    assert sorted(texts) == [*names.split(), "source_hash", "started", "versions"]
    assert json.loads(texts["case_resolved_json"]) == StandIn().resolved()
    assert digest_of_case(json.loads(texts["case_resolved_json"])) == texts["case_sha256"]
    assert sorted(json.loads(texts["versions"])) == ["h5py", "hdf5", "numba", "numpy", "python"]
    messages = [["the cutoff was active 3 times", False], ["µ and \n too", True]]
    assert json.loads(texts["messages"]) == messages


def test_the_source_hash_is_over_names_and_contents_of_the_package_files():
    root = Path(files.__file__).parents[1]
    names = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.py"))
    assert {"errors.py", "store/dataset.py", "contact/law.py"} <= set(names)
    total = hashlib.sha256()
    for name in names:
        total.update(f"{name}\n".encode() + hashlib.sha256((root / name).read_bytes()).digest())
    schema.source_hash.cache_clear()
    assert a_result().provenance["source_hash"] == total.hexdigest()


def test_the_file_names_no_host_user_or_folder(saved):
    result = open_answer(saved)
    texts = " ".join(map(str, [*result.provenance.values(), result.title, *result.messages]))
    folders = [os.getcwd(), str(saved.parent), str(Path(files.__file__).parent)]
    for private in (socket.gethostname(), getpass.getuser(), str(Path.home()), *folders):
        assert private not in texts
    assert not any(folder.encode() in saved.read_bytes() for folder in folders)


def test_two_saves_give_the_same_bytes_and_so_does_a_copy_of_the_opened_one(saved, tmp_path):
    # a time stamp in the file would change every second
    time.sleep(max(0.0, saved.stat().st_mtime + 1.1 - time.time()))
    for name, result in (("b.h5", a_result()), ("c.h5", open_answer(saved))):
        result.save(tmp_path / name)
        assert (tmp_path / name).read_bytes() == saved.read_bytes()
    assert left_in(tmp_path) == ["b.h5", "c.h5"]


@pytest.mark.parametrize(("engine", "package"), [("h5netcdf", "h5netcdf"), ("netcdf4", "netCDF4")])
def test_xarray_opens_the_file_without_a_warning_as_to_xarray_gives_it(saved, engine, package):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip(package)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with xarray.open_dataset(saved, engine=engine) as opened:
            opened.load()
        # with xarray 2024.10 and later
        if hasattr(xarray, "open_datatree"):
            with xarray.open_datatree(saved, engine=engine) as tree:
                assert "provenance" in tree
        xarray.testing.assert_identical(opened, open_answer(saved).to_xarray())
    assert (opened.sensor_force.dims, opened.sensor_force.units) == (("time", "sensor_bead"), "N")
    assert opened.sensor_force.values.tobytes() == values()["sensor_force"].tobytes()


def test_a_variable_that_was_not_asked_for_says_which_key_asks():
    for name, key in (
        ("sensor_force", "[sensors]"),
        ("contact_overlap", "contacts = "),
        ("energy_plastic", "[energy]"),
        ("velocity", "[snapshots]"),
    ):
        with pytest.raises(AttributeError) as caught:
            getattr(bare({"bead": [1], "mass": [1.0]}), name)
        assert name in str(caught.value) and key in str(caught.value)


def test_values_that_do_not_fit_are_refused():
    shapes = r"mass has the shape \(12,\), but its axes bead have the shape \(13,\)"
    rows = [
        ({"mass": np.zeros(12)}, shapes),
        ({"sensor_force": np.zeros((3, 300))}, "sensor_force has the shape"),
        ({"mass": np.zeros((13, 1))}, r"mass has the shape \(13, 1\)"),
        ({"colour": np.zeros(12)}, "'colour': not a variable"),
        ({"mass": np.zeros(13, complex)}, "mass: Cannot cast"),
        ({"mass": np.array([object()] * 13)}, "mass: Cannot cast"),
        ({"bead": np.arange(13.0)}, "bead: Cannot cast"),
        ({"mass": np.r_[np.nan, np.zeros(12)]}, "mass contains NaN"),
    ]
    assert_refused(lambda change: bare(values() | change, HISTORY), rows, (ValueError, TypeError))
    # a history quantity whose name is already used
    for name in ("law", "sensor_force", "_x", "two words", "save", "equals"):
        with pytest.raises(ValueError, match="cannot be the name"):
            bare({"contact": [1], name: [1.0]}, [Quantity(name, "m")])


def test_a_file_opens_whose_law_is_not_installed_and_whose_case_no_longer_validates(
    tmp_path, monkeypatch
):
    def refuse(given, toml):
        raise CaseError(f"contact.law: got {given['tables']['contact']['law']}")

    module = SimpleNamespace(case_as_given=refuse)
    monkeypatch.setitem(sys.modules, "granchain.case", module)
    a_result(law="my-own-law", case=StandIn(contact={"law": "my-own-law"})).save(tmp_path / "a.h5")
    opened = open_answer(tmp_path / "a.h5")
    assert opened.law == "my-own-law"
    assert opened.variables["my_dent"].data.tobytes() == values()["my_dent"].tobytes()
    with pytest.raises(CaseError, match="my-own-law"):
        opened.case  # noqa: B018


def test_an_existing_file_is_kept_unless_it_may_be_overwritten(tmp_path):
    path = tmp_path / "a.h5"
    path.write_bytes(b"thesis")
    for overwrite, words in (
        (False, r"the file already exists and was not changed\. .*--overwrite"),
        (True, r"granchain did not write this file and did not change it"),
    ):
        with pytest.raises(FileError, match=rf"a\.h5: {words}"):
            a_result().save(path, overwrite=overwrite)
    assert path.read_bytes() == b"thesis"
    path.write_bytes(file_of(a_result(law="my-own-law")))
    a_result().save(path, overwrite=True)
    assert open_answer(path).law == "ma-liu" and left_in(tmp_path) == ["a.h5"]


def test_what_stands_in_the_way_is_said_before_the_run(here):
    Path("notes.txt").write_text("text")
    Path("folder").mkdir()
    os.mkfifo("pipe")
    before = left_in(here)
    none = "does not exist. It must exist before the file is written"
    for name, sentence in (
        ("no/such/folder/a.h5", f"the folder .*no/such/folder {none}"),
        ("notes.txt/a.h5", f"the folder .*notes.txt {none}"),
        ("folder", "folder: this is a folder. The path must be a file"),
        ("pipe", "a pipe, a socket, or a circular link. The path must be a regular file"),
        (".", "this is a folder. The path must be a file"),
        ("x" * 300, "the file name has 300 bytes. It must have at most "),
        ("a\0b", "the file name contains a null character"),
    ):
        with pytest.raises(FileError, match=sentence) as caught, claim(name, overwrite=True):
            pytest.fail("the run began")
        assert str(caught.value).startswith(f"{name.replace(chr(0), ' ')[:30]}")
        assert left_in(here) == before


def test_a_name_for_which_temporary_files_would_be_too_long_is_refused_before_the_run(here, obeyed):
    study = 'case = "steel-chain-hertz"\n[vary]\nstriker.speed = [1.0, 2.0]\n'
    Path("study.toml").write_text(study)
    longest = LONGEST_NAME
    small = ("--set", "chain.beads=5", "--set", "sensors.beads=[3]", "--set", "time.end=2e-5")
    ways = (("run", "steel-chain-hertz", *small, "--checkpoint", "1e-9"), ("sweep", "study.toml"))
    for way in ways:
        fits, too_long = ("a" * (length - 3) + ".h5" for length in (longest, longest + 1))
        obeyed(*way, "--out", fits)
        Path(fits).unlink()
        err = obeyed(*way, "--out", too_long, code=4).err
        assert f"the file name has {longest + 1} bytes" in err and "%" not in err
        # characters with two bytes
        assert "bytes" in obeyed(*way, "--out", "ä" * (longest // 2) + ".h5", code=4).err
        left_over = [name for name in left_in(here) if "study" not in name]
        assert [name for name in left_over if not name.endswith(".chk")] == []
        for name in left_over:
            Path(name).unlink()


@pytest.mark.promise("R5")
def test_a_limit_on_the_size_of_files_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.h5"
    path.write_bytes(b"old granchain_format")

    def save():
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
        try:
            a_result().save(path, overwrite=True)
        except FileError as error:
            os._exit(7 if "ulimit -f" in str(error) else 8)

    child = in_a_child(save)
    child.join()
    assert child.exitcode == 7
    assert path.read_bytes() == b"old granchain_format"
    assert left_in(tmp_path) == ["a.h5"]


@pytest.mark.promise("R4")
def test_a_writer_killed_at_any_moment_leaves_the_old_file_or_the_new_one(tmp_path, figure):
    path = tmp_path / "a.h5"
    contents = [a_result(seed=seed, samples=20) for seed in (0, 1)]
    allowed = {hashlib.sha256(file_of(result)).hexdigest() for result in contents}

    def write_on(first):
        for i in range(first, 100_000):
            contents[i % 2].save(path, overwrite=True)

    start = time.perf_counter()
    contents[0].save(path)
    # from the middle of the first write until after many writes, also on a busy computer
    longest = max(0.05, 3.0 * (time.perf_counter() - start))
    draw, seen, strays, trial = random.Random(20), set(), 0, 0
    # unless both files were written, and some processes were killed in the middle, the test shows
    # nothing
    while trial < 6 or seen != allowed or not strays:
        assert trial < 200
        child = in_a_child(write_on, trial)
        # at increasing times: next to other processes, a child may not start to write within the
        # time of one write
        time.sleep(0.01 + longest * (1.0 + trial / 20.0) * draw.random())
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        seen.add(hashlib.sha256(path.read_bytes()).hexdigest())
        strays += len(left_in(tmp_path)) > 1
        open_answer(path)
        assert seen <= allowed
        trial += 1
    figure("kills of a writer after which its file was whole", trial, at_least=6)
    contents[0].save(path, overwrite=True)
    assert left_in(tmp_path) == ["a.h5"]


@pytest.mark.promise("R7")
def test_the_claim_of_a_killed_process_is_taken_over_and_swept_up(tmp_path):
    path = tmp_path / "a.h5"

    def begin():
        held = claim(path)
        held.__enter__()
        for name in (path.name, f"{path.name}{files.CHECKPOINT_ENDING}"):
            (tmp_path / f".{name}.{os.getpid()}.part").write_bytes(b"half")
        os.kill(os.getpid(), signal.SIGKILL)

    child = in_a_child(begin)
    child.join()
    (tmp_path / ".b.h5.1.part").write_bytes(b"of another file")
    assert child.exitcode == -signal.SIGKILL and len(left_in(tmp_path)) == 4
    with claim(path):
        assert left_in(tmp_path) == [".a.h5.lock", ".b.h5.1.part"]
    assert left_in(tmp_path) == [".b.h5.1.part"]


def test_a_result_too_large_for_a_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("granchain.store.answer.LARGEST_FILE", 1000)
    words = r"a\.h5: the result has \d+ bytes\. The limit is 1000 bytes"
    with pytest.raises(FileError, match=words):
        a_result().save(tmp_path / "a.h5")
    assert left_in(tmp_path) == []


@pytest.mark.plain
def test_a_run_states_where_its_bodies_are():
    segments = [{"count": 2, "radius": 1e-3, "gap": 5e-4}, {"count": 1, "radius": 2e-3}]
    case = Case(
        chain={"material": "steel-316", "segment": segments},
        striker={"speed": 0.1, "radius": 3e-3},
        contact={"law": "hertz"},
        time={"end": 1e-7},
    )
    # the striker touches bead 1; the other distances are two radii plus the gap
    assert run(case).position == pytest.approx([0.0, 4e-3, 6.5e-3, 10e-3], rel=1e-15)


def test_a_file_that_appears_during_the_write_is_kept(tmp_path, monkeypatch):
    path = tmp_path / "a.h5"
    flush = os.fsync

    def meanwhile(descriptor):
        path.write_bytes(b"of another program")
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", meanwhile)
    with pytest.raises(FileError, match=r"a\.h5"):
        a_result().save(path)
    assert path.read_bytes() == b"of another program"
    assert left_in(tmp_path) == ["a.h5"]


def test_a_claim_is_one_writers_and_ends_with_the_run_however_it_ends(tmp_path):
    with pytest.raises(KeyboardInterrupt), claim(tmp_path / "a.h5"):
        with ThreadPoolExecutor(1) as other:
            refused = other.submit(a_result().save, tmp_path / "a.h5").exception()
        assert "is writing this file. Only one run at a time" in str(refused)
        raise KeyboardInterrupt
    with pytest.raises(FileError, match="does not exist"), claim(tmp_path / "a.h5"):
        a_result().save(tmp_path / "no" / "a.h5")
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("program", ["ncdump", "h5dump"])
def test_the_dump_programs_read_every_value_without_a_word(saved, program):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed (Debian: netcdf-bin, hdf5-tools)")
    done = subprocess.run([program, saved], capture_output=True, text=True, timeout=LONGEST)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("sensor_force") > 1
    assert "70 beads" in done.stdout
