"""Checkpoints and large files are written in parts: kills and damaged files."""

import json
import os
import signal
from pathlib import Path

import pytest
from support.disks import mounting
from support.processes import COUNTED, Stop, begun, computing, has_computed, left_in, wait_until

import granchain as gc
from granchain.cli import obey
from granchain.cli.interrupts import Interruption
from granchain.cli.run import Progress
from granchain.errors import FileError, GranchainWarning
from granchain.status import Status
from granchain.store import Checkpoint

# Samples every nanosecond and many snapshots: records of a few megabytes.
CHANGES = {"chain.beads": 20, "sensors.beads": [9, 16], "sensors.contacts": [0], "time.end": 1e-4}
CHANGES |= {"sensors.interval": 1e-9, "snapshots.interval": 1e-6}


def small():
    return gc.load_case("steel-chain").replace(**CHANGES)


@pytest.fixture
def short_blocks(monkeypatch):
    monkeypatch.setattr("granchain.simulation.FIRST_BLOCK", 2000)
    monkeypatch.setattr("granchain.simulation.BLOCK_SECONDS", 1e-12)


class Counted(Checkpoint):
    """Is due at every fifth call, however long a busy computer takes to write."""

    looks = 0

    @property
    def due(self):
        self.looks += 1
        return self.looks % 5 == 0


@pytest.mark.usefixtures("short_blocks")
@pytest.mark.promise("R5")
def test_a_disk_that_fills_while_a_state_is_written_leaves_the_one_before(tmp_path):
    case = small()
    with mounting(tmp_path) as mount:
        # room for the first states and a later one, but not for both of the last ones
        path = mount("size=600k") / "run.chk"
        words = r"The checkpoint was not written\. .*run\.chk.* The disk is full"
        with pytest.warns(GranchainWarning, match=words) as caught:
            whole = gc.run(case, checkpoint=Counted(path))
        assert len(caught) == 1 and whole.status is Status.COMPLETE
        assert gc.run(case, checkpoint=Checkpoint(path), resume=True).equals(whole)


def test_a_file_that_is_written_piece_by_piece_says_the_same(tmp_path, monkeypatch):
    one = gc.run(small())
    one.save(tmp_path / "image.h5")
    monkeypatch.setattr("granchain.store.dataset.WRITTEN_AT_ONCE", 5000)
    parts = []
    one.save(tmp_path / "pieces.h5", progress=parts.append)
    assert parts == sorted(parts) and len(parts) >= 5 and parts[-1] <= 1.0
    read = gc.open(tmp_path / "pieces.h5")
    assert read.equals(one) and read.provenance == gc.open(tmp_path / "image.h5").provenance
    assert {file.name for file in tmp_path.iterdir()} == {"image.h5", "pieces.h5"}


KEYS = [f"--set={name}={json.dumps(value)}" for name, value in CHANGES.items()]
COMMAND = ["run", "steel-chain", *KEYS, "--out", "run.h5"]


@pytest.mark.usefixtures("short_blocks")
@pytest.mark.parametrize("during", ["checkpoint", "file"])
def test_a_second_signal_loses_nothing_that_is_on_the_disk(during, here, monkeypatch):
    """The first signal stops the run, the second one stops the writing; the run then continues to
    the same bits."""
    monkeypatch.setattr("granchain.store.files.BYTES_AT_ONCE", 4000)
    monkeypatch.setattr("granchain.store.dataset.WRITTEN_AT_ONCE", 5000)
    monkeypatch.setattr("granchain.cli.interrupts.TOGETHER_SECONDS", 0.0)
    advance, draw, answered = Progress.advance, Progress._draw, []

    def signalled(fraction):
        answered.append(fraction)
        os.kill(os.getpid(), signal.SIGTERM)

    def stop(self, fraction):
        if fraction > 0.3 and not answered:
            signalled(fraction)
        advance(self, fraction)

    def again(self, what, fraction, of_run):
        draw(self, what, fraction, of_run)
        of_checkpoint = what.startswith("writing") and what.endswith(".chk")
        of_file = what.startswith("writing") and not of_checkpoint
        if fraction > 0.4 and len(answered) == 1 and (of_file, of_checkpoint)[during != "file"]:
            signalled(fraction)

    resumed = []
    if during == "checkpoint":
        # one checkpoint is on the disk before the run is stopped
        first = gc.run(small(), checkpoint="run.h5.chk", watch=Stop(0.2))
        assert first.status is Status.INTERRUPTED
        resumed = ["--resume"]
    with monkeypatch.context() as watched:
        watched.setattr(Progress, "advance", stop)
        watched.setattr(Progress, "_draw", again)
        assert obey([*COMMAND, *resumed]) == 143 and len(answered) == 2
    assert left_in(here) == ["run.h5.chk"]
    assert obey([*COMMAND, "--resume"]) == 0
    assert gc.open("run.h5").equals(gc.run(small()))
    assert left_in(here) == ["run.h5"]


@pytest.mark.usefixtures("short_blocks")
@pytest.mark.promise("R1")
def test_a_run_that_is_stopped_twice_resumes_without_its_output_file(here, monkeypatch):
    advance, whole = Progress.advance, gc.run(small())
    for at, more in ((0.3, []), (0.6, ["--resume"])):

        def stop(self, fraction, at=at):
            if fraction > at:
                raise KeyboardInterrupt
            advance(self, fraction)

        with monkeypatch.context() as watched:
            watched.setattr(Progress, "advance", stop)
            obey([*COMMAND, *more])
        assert gc.open("run.h5").status is Status.INTERRUPTED
        assert left_in(here) == ["run.h5", "run.h5.chk"]
    Path("run.h5").unlink()
    assert obey([*COMMAND, "--resume"]) == 0
    assert gc.open("run.h5").equals(whole) and left_in(here) == ["run.h5"]


def test_a_run_that_no_file_or_disk_holds_is_refused_before_its_first_step(here, monkeypatch):
    words = r"run\.h5: the run records 5e\+09 bytes\. The limit is"
    with (
        Interruption() as interruption,
        Progress(interruption, Path("run.h5"), show_progress=False) as progress,
        pytest.raises(FileError, match=words),
    ):
        progress.begin(5e9)
    begun = "granchain.engine.state.State.advance"
    monkeypatch.setattr(begun, lambda self, steps: pytest.fail("a step was done"))
    with mounting(here) as mount:
        folder = mount("size=64k")
        assert obey([*COMMAND[:-1], str(folder / "run.h5")]) == 4
        assert list(folder.iterdir()) == []


@COUNTED
@pytest.mark.long
@pytest.mark.promise("R6")
def test_a_long_chain_with_snapshots_is_stopped_at_once(tmp_path, figure):
    """20,000 beads: the run stops within half a second after the signal, and its file is complete,
    so that the run can continue."""
    changes = ["chain.beads=20000", "sensors.beads=[10]", "sensors.contacts=[]", "time.end=3e-2"]
    changes += ["snapshots.interval=6e-6"]
    # its loop is compiled then
    gc.run(gc.load_case("steel-chain-hertz", [*changes, "time.end=1e-6"]))
    keys = [f"--set={one}" for one in changes]
    process = begun("run", "steel-chain-hertz", *keys, "--out", "run.h5", folder=tmp_path)
    # also on a busy computer, the run has begun and recorded by then
    has_computed(process, 4.0)
    before = computing(process.pid)
    process.send_signal(signal.SIGTERM)
    wait_until(lambda: bool([*tmp_path.glob("*run.h5.chk*")]), process)
    taken = computing(process.pid) - before
    what = "20,000 beads with snapshots: "
    figure(f"{what}signal to the first byte of the checkpoint, computing [s]", taken, at_most=0.5)
    _, said = process.communicate()
    assert process.returncode == 143
    assert "interrupted; run.h5 contains the results until then" in said
    stopped = gc.open(tmp_path / "run.h5")
    assert stopped.status is Status.INTERRUPTED
    on_disk = sum(file.stat().st_size for file in tmp_path.iterdir())
    recorded = sum(variable.data.nbytes for variable in stopped.variables.values())
    figure(f"{what}file and checkpoint over what was recorded", on_disk / recorded, at_most=2.1)
