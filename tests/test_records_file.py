"""The states of a checkpoint are appended, and a large file is written piece by piece: bits,
kills, damage, signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.disks import mounting
from support.processes import Stop, computing
from test_restart import N_STEPS, ROWS, bits, prepared

import granchain as gc
from granchain.cli import obey
from granchain.cli.run import Progress
from granchain.cli.signals import Interruption
from granchain.errors import FileError, GranchainWarning
from granchain.status import Status
from granchain.store import Checkpoint
from granchain.store.checkpoint import Saved

# Samples at each step of some .04 us, snapshots at many of them: records of 110 kB, which are
# appended a kilobyte at a time.
CHANGES = {
    "chain.beads": 20,
    "sensors.beads": [9, 16],
    "sensors.contacts": [0],
    "sensors.interval": 1e-9,
    "snapshots.interval": 1e-6,
    "time.end": 1e-4,
}


def small() -> gc.Case:
    return gc.load_case("steel-chain").replace(**CHANGES)


@pytest.fixture
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("granchain.simulation.FIRST_BLOCK", 2000)
    monkeypatch.setattr("granchain.simulation.BLOCK_SECONDS", 1e-12)


@pytest.mark.plain
def test_a_row_is_written_once(tmp_path: Path) -> None:
    """States are appended as long as half of the file counts, and a row that will not change is
    in one of them."""
    fresh = prepared("hertz", ROWS["touching"]())
    state, after, sizes = fresh(), fresh(), []
    kept = Checkpoint(tmp_path / "run.chk")
    for steps in (60, 1):
        state.advance(steps)
        arrays = {**state.arrays(), "records": np.arange(50_000.0 + state.step)}
        kept.save(Saved(arrays, "", 0.0, {**state.settled, "records": 50_000}), set_up=state.set_up)
        sizes.append((tmp_path / "run.chk").stat().st_size)
    assert 400_000 < sizes[0] < sizes[1] < sizes[0] + 50_000
    # what the run will record: three quantities of two sensors or contacts each at every third
    # step, the ledger and the snapshots
    assert state.size > 3 * 8 * 2 * N_STEPS / 3
    loaded = dict(Checkpoint(tmp_path / "run.chk").load(set_up=after.set_up).arrays)
    records = loaded.pop("records")
    assert (
        records.shape == (50_061,)
        and np.asarray(records).tobytes() == np.arange(50_061.0).tobytes()
    )
    after.take(loaded)
    assert bits(after) == bits(state)
    for _ in range(40):
        kept.save(Saved(arrays, "", 0.0, {**state.settled, "records": 50_000}), set_up=state.set_up)
        assert (tmp_path / "run.chk").stat().st_size < 2 * sum(
            array.nbytes for array in arrays.values()
        ) + 10_000


@pytest.mark.usefixtures("short_blocks")
@pytest.mark.promise("R5")
def test_a_disk_that_fills_while_a_state_is_appended_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("granchain.store.checkpoint.LEAST_RATIO", 0.0)
    case = small()
    with mounting(tmp_path) as mount:
        folder = mount("size=96k")
        chk = Checkpoint(folder / "run.chk", 1e-9)
        with pytest.warns(
            GranchainWarning,
            match=r"no checkpoint, the run goes on: .*run\.chk.*: the disk is full",
        ) as caught:
            whole = gc.run(case, checkpoint=chk)
        assert len(caught) == 1 and whole.status is Status.COMPLETE
        assert gc.run(case, checkpoint=Checkpoint(folder / "run.chk"), resume=True).equals(whole)


# --- The output file, piece by piece


def test_a_file_that_is_written_piece_by_piece_says_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = gc.run(small())
    one.save(tmp_path / "image.h5")
    monkeypatch.setattr("granchain.store.writer.WRITTEN_AT_ONCE", 5000)
    parts: list[float] = []
    one.save(tmp_path / "pieces.h5", progress=parts.append)
    assert parts == sorted(parts) and len(parts) >= 5 and parts[-1] <= 1.0
    read = gc.open_result(tmp_path / "pieces.h5")
    assert (
        read.equals(one)
        and read.sealed
        and read.provenance == gc.open_result(tmp_path / "image.h5").provenance
    )
    assert {file.name for file in tmp_path.iterdir()} == {"image.h5", "pieces.h5"}
    xarray = pytest.importorskip("xarray")
    with xarray.open_dataset(tmp_path / "pieces.h5", engine="h5netcdf") as pieces:
        xarray.testing.assert_identical(pieces.load(), one.to_xarray())


KEYS = [f"--set={name}={json.dumps(value)}" for name, value in CHANGES.items()]


@pytest.mark.usefixtures("short_blocks")
@pytest.mark.parametrize("during", ["checkpoint", "file"])
def test_a_second_signal_loses_nothing_that_is_on_the_disk(
    during: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first stops the run, the second the writing: the run goes on from the checkpoint to
    the same bits."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("granchain.store.files.BYTES_AT_ONCE", 4000)
    monkeypatch.setattr("granchain.store.writer.WRITTEN_AT_ONCE", 5000)
    monkeypatch.setattr("granchain.cli.signals.TOGETHER_SECONDS", 0.0)
    command = ["run", "steel-chain", *KEYS, "--out", "run.h5"]
    advance, answered = Progress.advance, []

    def stop(self: Progress, fraction: float) -> None:
        if fraction > 0.3 and not answered:
            answered.append(fraction)
            os.kill(os.getpid(), signal.SIGTERM)
        advance(self, fraction)

    draw = Progress._draw

    def again(self: Progress, what: str, fraction: float, of_run: float) -> None:
        draw(self, what, fraction, of_run)
        if (
            fraction > 0.4
            and what.startswith("writing")
            and what.endswith(".chk") == (during == "checkpoint")
            and len(answered) == 1
        ):
            answered.append(fraction)
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(Progress, "advance", stop)
    monkeypatch.setattr(Progress, "_draw", again)
    if during == "checkpoint":
        # one that is on the disk before the run is stopped
        first = gc.run(small(), checkpoint="run.h5.chk", watch=Stop(0.2))
        assert first.status is Status.INTERRUPTED
        command.append("--resume")
    assert obey(command) == 143 and len(answered) == 2
    assert not Path("run.h5").exists() and [file.name for file in tmp_path.iterdir()] == [
        "run.h5.chk"
    ]
    monkeypatch.setattr(Progress, "advance", advance)
    monkeypatch.setattr(Progress, "_draw", draw)
    assert obey([*(word for word in command if word != "--resume"), "--resume"]) == 0
    assert gc.open_result("run.h5").equals(gc.run(small()))
    assert [file.name for file in tmp_path.iterdir()] == ["run.h5"]


@pytest.mark.usefixtures("short_blocks")
@pytest.mark.promise("R1")
def test_the_records_of_a_stopped_run_stand_once_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file holds them, and the checkpoint the rest; it is stopped twice and goes on from
    there to the same bits."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("granchain.store.checkpoint.RECORDS_IN_OUTPUT", 1)
    command = ["run", "steel-chain", *KEYS, "--out", "run.h5"]
    advance = Progress.advance
    for at, more in ((0.3, []), (0.6, ["--resume"])):

        def stop(self: Progress, fraction: float, at: float = at) -> None:
            if fraction > at:
                raise KeyboardInterrupt
            advance(self, fraction)

        monkeypatch.setattr(Progress, "advance", stop)
        obey([*command, *more])
        stopped = gc.open_result("run.h5")
        assert stopped.status is Status.INTERRUPTED
        assert {file.name for file in tmp_path.iterdir()} == {"run.h5", "run.h5.chk"}
        header = json.loads(Path("run.h5.chk").read_bytes().split(b"\n")[2])
        rows = {name: shape[0] for name, _, first, shape in header["arrays"] if first}
        assert rows.keys() == {
            "sensor_force",
            "contact_force",
            "contact_overlap",
            "displacement",
            "velocity",
        }
        assert max(rows.values()) <= 4
    monkeypatch.setattr(Progress, "advance", advance)
    content = Path("run.h5").read_bytes()
    gc.run(small().replace(**{"striker.speed": 1.5})).save("run.h5", overwrite=True)
    with pytest.raises(
        FileError,
        match=r"run\.h5: got another file than the stopped run left, allowed that one, which holds",
    ):
        gc.run(small(), checkpoint="run.h5.chk", resume=True)
    Path("run.h5").write_bytes(content[:9000] + bytes([content[9000] ^ 1]) + content[9001:])
    with pytest.raises(
        FileError, match=r"run\.h5: the file was damaged or changed after it was written"
    ):
        gc.run(small(), checkpoint="run.h5.chk", resume=True)
    Path("run.h5").write_bytes(content)
    assert obey([*command, "--resume"]) == 0
    assert gc.open_result("run.h5").equals(gc.run(small()))
    assert [file.name for file in tmp_path.iterdir()] == ["run.h5"]


def test_a_run_that_no_file_or_disk_holds_is_refused_before_its_first_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with (
        Interruption() as interruption,
        Progress(interruption, Path("run.h5"), shown=False) as progress,
        pytest.raises(
            FileError,
            match=r"run\.h5: got a run that records 5e\+09 bytes, allowed in a file: at most",
        ),
    ):
        progress.begin(5e9)
    with mounting(tmp_path) as mount:
        folder = mount("size=64k")
        monkeypatch.setattr(
            "granchain.engine.state.State.advance",
            lambda self, steps: pytest.fail("a step was done"),
        )
        assert obey(["run", "steel-chain", *KEYS, "--out", str(folder / "run.h5")]) == 4
        assert list(folder.iterdir()) == []


@pytest.mark.skipif(
    not Path("/proc/self/stat").exists(),
    reason="no /proc here: the time that a process computes is read from it",
)
@pytest.mark.long
@pytest.mark.promise("R6")
def test_a_long_chain_with_snapshots_is_stopped_at_once(
    tmp_path: Path, figure: Callable[..., None]
) -> None:
    """20,000 beads: half a second after the signal no more steps are done; the file is whole,
    and the run can go on."""
    command = [
        sys.executable,
        "-m",
        "granchain",
        "run",
        "steel-chain-hertz",
        "--set=chain.beads=20000",
        "--set=sensors.beads=[10]",
        "--set=sensors.contacts=[]",
        "--set=snapshots.interval=6e-6",
        "--set=time.end=3e-2",
        "--out",
        "run.h5",
    ]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        # also on a busy machine it has begun by then, and recorded
        while computing(process.pid) < 4.0:
            time.sleep(0.1)
        before = computing(process.pid)
        process.send_signal(signal.SIGTERM)
        while not [*tmp_path.glob("*run.h5.chk*")] and process.poll() is None:
            time.sleep(0.01)
        taken = computing(process.pid) - before
        figure(
            "20,000 beads with snapshots: signal to the first byte of the checkpoint, computing "
            "[s]",
            taken,
            at_most=0.5,
        )
        _, said = process.communicate()
    assert (
        process.returncode == 143
        and "interrupted; run.h5 holds what was computed until then" in said
    )
    stopped = gc.open_result(tmp_path / "run.h5")
    assert stopped.status is Status.INTERRUPTED
    on_disk = sum(file.stat().st_size for file in tmp_path.iterdir())
    recorded = sum(variable.data.nbytes for variable in stopped.variables.values())
    figure(
        "20,000 beads with snapshots: file and checkpoint over what was recorded",
        on_disk / recorded,
        at_most=1.1,
    )
