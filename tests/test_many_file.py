"""The file of an ensemble, and the file that grows while batches end: contents after completion,
interruptions, kills, and refusals."""

import os
import signal
import subprocess
import sys
import time
import warnings

import h5py
import numpy as np
import pytest
from support.disks import mounting
from support.example_results import seal
from support.processes import answer, left_in
from test_many import outcasts, short, single, study

import granchain as gc
from granchain.engine import batch
from granchain.errors import FileError, GranchainWarning, RunError
from granchain.status import Status
from granchain.store import dataset as stored
from granchain.store.journal import StudyPart
from granchain.studies import measures, members


@pytest.fixture(autouse=True)
def plain_stack(monkeypatch):
    """Does not compile the loop over members, which these tests do not examine."""
    monkeypatch.setattr(batch, "COMPILED", 1000)


def in_batches(monkeypatch, count):
    """Sets the number of members that start, and are written, together."""
    for module in (measures, sys.modules["granchain.studies.evaluate"]):
        monkeypatch.setattr(module, "TOGETHER", count)


def speeds(count):
    return [short(**{"striker.speed": speed}) for speed in np.linspace(0.5, 2.0, count)]


def mixed():
    """Return members with different laws, lengths, sensors and ledgers, so that they share only the
    run axis. One cannot start, and one stops early."""
    changes = [{"chain.beads": 17, "sensors.beads": [2, 5, 11]}]
    changes += [{"sensors.beads": [], "sensors.contacts": []}]
    changes += [{"energy.ledger": False, "sensors.beads": [3], "striker": None}]
    return [*study(), *(short(**change) for change in changes), outcasts()[2]]


@pytest.mark.parametrize("lot", [3, 1024])
def test_each_result_in_the_file_is_that_of_its_own_run(lot, tmp_path, monkeypatch):
    in_batches(monkeypatch, lot)
    cases, path = mixed(), tmp_path / "study.h5"
    written = gc.run_many(cases, out=path)
    opened = gc.open(path)
    assert left_in(tmp_path) == ["study.h5"]
    assert written.status == opened.status and written.messages == opened.messages
    assert opened.cases == tuple(cases)
    with pytest.raises(FileError, match="the file already exists and was not changed"):
        gc.run_many(cases[:2], out=path)
    for place, case in enumerate(cases):
        if place == 3:
            continue
        alone = single(case)
        for ensemble in (written, opened):
            assert ensemble[place].equals(alone)
            assert ensemble[place].provenance["data_sha256"] == alone.provenance["data_sha256"]
            assert ensemble[place].title == alone.title and ensemble[place].case == case
    for ensemble in (written, opened):
        with pytest.raises(RunError, match=r"member 3: chain\.precompression"):
            ensemble[3]


@pytest.mark.parametrize("engine", ["h5netcdf", pytest.param("netcdf4", marks=pytest.mark.long)])
def test_xarray_opens_it_as_the_ensemble_in_memory_gives_it(engine, tmp_path, monkeypatch):
    xarray = pytest.importorskip("xarray")
    in_batches(monkeypatch, 2)
    path, saved = tmp_path / "study.h5", tmp_path / "saved.h5"
    in_memory = gc.run_many(mixed())
    gc.run_many(mixed(), out=path)
    in_memory.save(saved)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with xarray.open_dataset(path, engine=engine) as opened:
            xarray.testing.assert_identical(opened.load(), in_memory.to_xarray())
        xarray.testing.assert_identical(opened, gc.open(saved).to_xarray())
    assert {"contact.psi", "contact.law"} <= set(opened.coords)


@pytest.mark.promise("R9")
def test_flipped_bits_of_an_ensembles_file_are_never_read_as_other_numbers(tmp_path, figure):
    path, draw = tmp_path / "study.h5", np.random.default_rng(9)
    ensemble = gc.run_many(speeds(3), out=path)
    content, true = path.read_bytes(), [ensemble[place] for place in range(3)]
    others = refused = 0
    for _ in range(60):
        damaged = bytearray(content)
        damaged[draw.integers(len(damaged))] ^= 1 << int(draw.integers(8))
        path.write_bytes(damaged)
        try:
            opened = gc.open(path)
            others += not all(opened[place].equals(one) for place, one in enumerate(true))
        except FileError:
            refused += 1
    figure("ensembles' files with a flipped bit read as other numbers", others, at_most=0)
    figure("of 60 refused with a message", refused, at_least=57)


def test_a_file_that_was_changed_is_refused_with_a_sentence(tmp_path):
    path = tmp_path / "study.h5"
    gc.run_many(speeds(2), out=path)
    content = path.read_bytes()
    outside, damaged = "is a link to data outside the file", "damaged or changed"
    edits = [
        (lambda file: file["n_samples"].__setitem__(0, 10**9), damaged),
        (lambda file: file["provenance/kinds"].__setitem__((), "{"), damaged),
        (lambda file: file.__delitem__("time_step"), damaged),
        (lambda file: file.__setitem__("elsewhere", h5py.SoftLink("/time")), outside),
    ]
    # anyone can compute the checksum
    for edit, sentence in edits:
        path.write_bytes(content)
        with h5py.File(path, "r+") as file:
            edit(file)
        seal(path)
        with pytest.raises(FileError, match=sentence):
            gc.open(path)[0]
    # the checksum was not updated
    path.write_bytes(content)
    with h5py.File(path, "r+") as file:
        file["sensor_force"][1, 5, 0] += 1.0
    with pytest.raises(FileError, match="the checksum at the end of the file is missing"):
        gc.open(path)
    assert gc.open(path, verify=False)[1].sensor_force[5, 0] > 0.5


@pytest.mark.parametrize("in_a_file", [False, True])
def test_an_interruption_keeps_what_is_done_and_says_how_much(in_a_file, tmp_path, monkeypatch):
    in_batches(monkeypatch, 3)
    # the first six are stored; three more may have been computed by then, and the last two have not
    # begun
    cases, path = speeds(11), tmp_path / "study.h5" if in_a_file else None

    def stop(done, total):
        if done >= 5:
            raise KeyboardInterrupt

    where = r" They are in .*study\.h5\.part\. Resume with --resume \(in Python: resume=True\)"
    done = rf"interrupted: [5-9] of 11 members are computed\.{where if in_a_file else '$'}"
    with pytest.warns(GranchainWarning, match=done):
        ensemble = gc.run_many(cases, out=path, threads=1, progress=stop)
    assert left_in(tmp_path) == (["study.h5.part"] if in_a_file else [])
    assert len(ensemble) == 11 and ensemble.cases == tuple(cases)
    assert set(ensemble.status[9:]) == {Status.INTERRUPTED}
    assert all(ensemble[place].equals(gc.run(cases[place])) for place in range(5))
    words = "member 10: the study was interrupted before this member was complete"
    with pytest.raises(RunError, match=words):
        ensemble[10]
    if not in_a_file:
        return
    with pytest.raises(FileError, match="an unfinished study exists and was not changed"):
        gc.run_many(cases, out=path)
    whole = gc.evaluate(cases, "result", out=path, resume=True, progress=False)
    assert left_in(tmp_path) == ["study.h5"]
    for found in (whole, gc.open(path)):
        assert found.status == (Status.COMPLETE,) * 11
        assert all(found[place].equals(gc.run(cases[place])) for place in range(11))
    undisturbed = gc.run_many(cases, out=tmp_path / "undisturbed.h5")
    assert whole.data_sha256 == undisturbed.data_sha256


def signalled(method):
    """Return a method during which two signals arrive."""

    def written(self, *arguments):
        os.kill(os.getpid(), signal.SIGINT)
        method(self, *arguments)
        os.kill(os.getpid(), signal.SIGINT)

    return written


def test_signals_that_come_while_it_is_written_are_heard_when_it_is_written(tmp_path, monkeypatch):
    """The first signal ends the study, the second has no effect: all members that are complete by
    then are in the file."""
    in_batches(monkeypatch, 2)
    cases, path = speeds(6), tmp_path / "study.h5"
    with monkeypatch.context() as patch:
        patch.setattr(StudyPart, "add", signalled(StudyPart.add))
        # the first two, and those of the next two, computed in a thread meanwhile, that are
        # complete
        with pytest.warns(GranchainWarning, match="interrupted: [2-4] of 6 members are computed"):
            ensemble = gc.run_many(cases, out=path, threads=1)
    assert left_in(tmp_path) == ["study.h5.part"]
    assert all(ensemble[place].equals(gc.run(cases[place])) for place in range(2))
    # signals while the complete file is written: the file is complete, and the signal takes effect
    # after that
    finish = stored.EnsembleWriter.finish
    monkeypatch.setattr(stored.EnsembleWriter, "finish", signalled(finish))
    with pytest.raises(KeyboardInterrupt):
        gc.evaluate(cases, "result", out=path, resume=True, threads=1, progress=False)
    assert left_in(tmp_path) == ["study.h5"]
    opened = gc.open(path)
    assert all(opened[place].equals(gc.run(cases[place])) for place in range(6))


STUDY = """
import sys, granchain as gc
from granchain.engine import batch
from granchain.studies import measures
measures.TOGETHER, batch.COMPILED = 4, 10**6
changes = {"chain.beads": 8, "sensors.beads": [2, 5], "sensors.contacts": [1], "snapshots": None}
case = gc.load_case("steel-chain-hertz").replace(**changes)
cases = [case.replace(**{"striker.speed": .5 + .01 * i, "time.end": 3e-5}) for i in range(400)]
print("ready", flush=True)
gc.run_many(cases, out=sys.argv[1], overwrite=True, threads=1)
"""


@pytest.mark.long
def test_a_killed_study_leaves_the_file_that_was_there_and_the_next_one_takes_over(tmp_path):
    path = tmp_path / "study.h5"
    gc.run_many(speeds(2), out=path)
    before = path.read_bytes()
    random, left = np.random.default_rng(14), 0
    for _ in range(30):
        with subprocess.Popen(
            [sys.executable, "-c", STUDY, str(path)], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            time.sleep(random.uniform(0.0, 2.0))
            process.kill()
        left += "study.h5.part" in left_in(tmp_path)
        content = path.read_bytes()
        assert content == before or len(gc.open(path)) == 400
        before = content
    assert left
    # the incomplete files that were being written when the process was killed
    hidden = [name for name in left_in(tmp_path) if name.startswith(".study.h5.")]
    assert set(left_in(tmp_path)) <= {"study.h5", "study.h5.part", *hidden}
    gc.run_many(speeds(3), out=path, overwrite=True)
    assert len(gc.open(path)) == 3
    assert left_in(tmp_path) == ["study.h5"]


def test_more_than_the_disk_holds_is_refused_before_anything_is_run(tmp_path, monkeypatch):
    monkeypatch.setattr(members, "set_up", lambda *rest: pytest.fail("a member was set up"))
    # 3.6e9 bytes for each run, as in test_many.py: 1.44e12 for 400 runs, more than 2**40
    one = short(**{"sensors.interval": 2e-13, "sensors.contacts": [], "time.step": 1e-13})
    with pytest.raises(FileError, match=r"up to 1\.44e\+12 bytes\. The limit is"):
        gc.run_many([one] * 400, out=tmp_path / "study.h5")
    assert left_in(tmp_path) == []


def test_a_disk_that_fills_is_a_sentence_and_nothing_is_left(tmp_path, monkeypatch):
    in_batches(monkeypatch, 4)
    finer = [case.replace(**{"sensors.interval": 1e-9, "time.step": 1e-9}) for case in speeds(40)]
    with mounting(tmp_path) as mount:
        folder = mount("size=1m")
        path = folder / "study.h5"
        gc.run_many(speeds(2), out=path)
        before = path.read_bytes()
        words = r"can have up to [0-9.e+]+ bytes, but only [0-9.e+]+ bytes are free on the"
        with pytest.raises(FileError, match=words):
            gc.run_many(finer, out=path, overwrite=True)
        assert left_in(folder) == ["study.h5"]
        monkeypatch.setattr(stored, "check_free_space", lambda path, needed: None)
        words = r"h5(\.part)?: the file was not written \(\d+ bytes needed\)\. The disk is full"
        with pytest.raises(FileError, match=words):
            gc.run_many(finer, out=path, overwrite=True)
        # the members that were computed before the disk was full can be used to resume
        assert path.read_bytes() == before
        assert set(left_in(folder)) <= {"study.h5", "study.h5.part"}


@pytest.mark.long
def test_memory_does_not_grow_with_the_number_of_members(tmp_path):
    """10^4 chains of 70 beads with 8 sensors and 1,000 samples: below 500 MB at the peak, in one
    process."""
    code = """
import sys, granchain as gc
changes = {"snapshots": None, "sensors.contacts": [], "time.end": 2e-4}
case = gc.load_case("steel-chain-hertz").replace(**changes)
case = case.replace(**{"sensors.interval": 2e-7})
cases = [case.replace(**{"striker.speed": .5 + 1e-4 * i}) for i in range(10_000)]
ensemble = gc.run_many(cases, out=sys.argv[1])
assert ensemble[9_999].sensor_force.shape[1] == 8
status = open("/proc/self/status")
peak = next(line.split()[1] for line in status if line.startswith("VmHWM"))
print(ensemble[9_999].sensor_force.shape[0], peak)
"""
    code = code.replace("sys.argv[1]", repr(str(tmp_path / "study.h5")))
    samples, peak = map(int, answer(code).split())
    # [kB]; 0.2 ms at the requested sampling interval of 0.2 us, rounded to steps
    assert samples > 800 and peak < 500_000
