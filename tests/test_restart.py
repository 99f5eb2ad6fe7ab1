"""A run that was stopped continues to the same bits as a run without a break. Its checkpoint is
complete, protected, and deleted at the end of the run."""

import itertools
import json
import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.kinds import distinct_laws
from support.processes import Stop
from support.rows import contacts_of, inputs_for, standing_row, steel_row

import granchain as gc
from granchain import simulation
from granchain.case import case_names
from granchain.chain import End
from granchain.cli import obey
from granchain.contact import laws
from granchain.engine import fields
from granchain.engine.recording import Recording
from granchain.engine.state import State
from granchain.engine.timestep import time_step_of
from granchain.errors import FileError, GranchainWarning
from granchain.status import Status
from granchain.store import Checkpoint, journal, open_answer
from granchain.store.journal import Saved
from granchain.store.schema import versions

WALL = End("wall")
# A displacement of a micrometre with a sine shape, similar to the overlaps in the struck chain.
PUSH_TIME = np.linspace(0.0, 1e-4, 50)
PUSH = End("displacement", None, PUSH_TIME, 2e-6 * np.sin(np.pi * PUSH_TIME / 5e-5) ** 2)

# 60 N is outside the jump of each law with a jump.
ROWS = {
    "touching": lambda: steel_row(8),
    "displaced": lambda: steel_row(
        8, displacement=np.array([0.0, 1e-6, -2e-6, 0.0, 0.0, 3e-7, 0.0, -1e-6])
    ),
    # gaps that close within one or two steps at 1.77 m/s, and within fifty
    "gaps": lambda: steel_row(8, gap=np.resize([0.0, 5e-7, 2e-5], 7)),
    "driven end, wall, precompression and gravity": lambda: standing_row(
        8, PUSH, WALL, precompression=60.0, gravity=9.81
    ),
}
# Number of steps: at about 600 m/s, the pulse crosses eight times 4.76 mm in 60 us, which are 400
# steps of about .15 us.
N_STEPS = 600
# Near the first step, while all contacts load, during the pulse, after it, and near the last step.
SPLITS = (0, 1, 2, 37, 143, 350, N_STEPS - 1, N_STEPS, N_STEPS + 1)
# A law with dents, for the rows that share a loop. test_small_plain.py tests a law with a rate and
# onsets, the built-in cases below have drives and loads, and the long run has all laws.
FAST = [pytest.param("ma-liu", tuple(ROWS)[:3])]
FAST += [pytest.param(law, tuple(ROWS), marks=pytest.mark.long) for law in distinct_laws()]


def prepared(law, chain):
    """Return a function that makes states at the start of a run with odd recording strides."""
    contacts = contacts_of(laws()[law], chain, inputs_for(law))
    step = replace(time_step_of(contacts, chain, "fast", 1e-4), n_steps=N_STEPS)
    dt, first = step.value, int(chain.contact_labels[chain.contact_exists][0])
    recording = Recording((1, 4), (first, 3), 3 * dt, 11 * dt, ledger=True, energy_interval=7 * dt)
    return lambda: State(contacts, chain, step, recording)


def bits(state):
    """Return everything that a run has changed, except for results of the last check, which depend
    on its time."""
    arrays = {name: np.array(array) for name, array in state.arrays().items()}
    clock = arrays["clock"].view(fields.CLOCK)
    clock["allowed_step"] = clock["where"] = 0
    return {name: array.tobytes() for name, array in arrays.items()}


@pytest.mark.promise("R1")
@pytest.mark.parametrize(("law", "rows"), FAST)
def test_a_restarted_run_has_the_bits_of_an_unbroken_one(law, rows, tmp_path, figure):
    """Compare state, forces, history, accelerations, records, peaks and ledger, after a round trip
    through the file, for several end conditions and split points."""
    compared = 0
    for name in rows:
        fresh = prepared(law, ROWS[name]())
        unbroken = fresh()
        assert unbroken.advance(N_STEPS + 1) is Status.COMPLETE
        # without these conditions, a restart that loses history, motion or records would pass
        forces = unbroken.records.sensor_force
        assert forces.max() > 0.0 and unbroken.clock.sample == forces.shape[0]
        expected = bits(unbroken)
        state, rewritten = fresh(), Checkpoint(tmp_path / "rewritten.chk")
        for split in SPLITS:
            state.advance(split - state.step)
            # by a new object, and by the one that has written the earlier states
            for kept in (Checkpoint(tmp_path / "run.chk"), rewritten):
                kept.save(Saved(state.arrays(), "", 0.0), set_up=state.set_up)
                after = fresh()
                after.restore(Checkpoint(kept.path).load(set_up=after.set_up).arrays)
                assert after.step == split
                assert after.advance(N_STEPS + 1) is Status.COMPLETE
                found = bits(after)
                differ = [one for one in expected if found[one] != expected[one]]
                assert differ == [], f"split at step {split}"
                compared += 1
        rewritten.remove()
    what = "ends and split points of a law that restart bit-identically"
    figure(what, compared, at_least=2 * len(rows) * len(SPLITS))


KEYS = ("chain.beads=20", "sensors.beads=[9, 16]", "sensors.contacts=[0]", "time.end=6e-5")
RUN = ("run", "steel-chain", *(word for key in KEYS for word in ("--set", key)), "--out", "run.h5")


class Stopping:
    """Runs with blocks of one step, which Ctrl-C stops after the fraction `at` of the run."""

    def __init__(self, monkeypatch):
        self.at = 2.0
        monkeypatch.setattr(simulation, "FIRST_BLOCK", 1)
        monkeypatch.setattr(simulation, "BLOCK_SECONDS", 1e-12)
        monkeypatch.setattr("granchain.cli.run.Progress.advance", self.advance)

    def advance(self, fraction):
        if fraction >= self.at:
            os.kill(os.getpid(), 2)
            time.sleep(1.0)  # Python calls the handler before the next line.


@pytest.fixture
def stopping(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Stopping(monkeypatch)


def left():
    return sorted(os.listdir())


def unbroken():
    """Return the hash of the data of an uninterrupted run."""
    return gc.run(gc.load_case("steel-chain", KEYS)).provenance["data_sha256"]


def told(capsys, *more, code):
    """Return the error output of the run with additional command-line options."""
    assert obey([*RUN, *more]) == code
    return capsys.readouterr().err


@pytest.mark.promise("R1")
def test_a_run_stopped_twice_ends_with_the_data_of_one_that_was_not(stopping, capsys, monkeypatch):
    for at, more in ((0.3, ()), (0.8, ("--resume",))):
        stopping.at = at
        assert "To resume, repeat the command with --resume" in told(capsys, *more, code=130)
        assert left() == ["run.h5", "run.h5.chk"]
        assert open_answer("run.h5").status is Status.INTERRUPTED
    left_behind = Path("run.h5.chk").read_bytes()
    stopping.at = 2.0
    assert "resuming at 80" in told(capsys, "--resume", code=0)
    result, complete = open_answer("run.h5"), Path("run.h5").read_bytes()
    assert (result.status, result.provenance["data_sha256"]) == (Status.COMPLETE, unbroken())
    assert left() == ["run.h5"]
    # as after a kill between the writing of the file and the removal of the checkpoint, which is
    # older
    Path("run.h5.chk").write_bytes(left_behind)
    os.utime("run.h5.chk", (0.0, 0.0))
    # the checkpoint of another case is still read, and the message says that it belongs to another
    # case
    other = ("--set", "striker.speed=1.8", "--resume")
    assert "run.h5.chk: the checkpoint belongs to a different case" in told(capsys, *other, code=4)
    said = told(capsys, "--resume", code=0)
    assert "run.h5 is already complete. There is nothing to resume." in said
    assert left() == ["run.h5"] and Path("run.h5").read_bytes() == complete
    assert "contains a run of a different case and was not changed" in told(capsys, *other, code=4)
    monkeypatch.setattr("granchain.store.schema.source_hash", lambda: 64 * "0")
    said = told(capsys, "--resume", code=4)
    assert "run.h5: the run was computed by another source of granchain, version 0.1.0" in said
    assert Path("run.h5").read_bytes() == complete


@pytest.mark.promise("R1")
@pytest.mark.parametrize("name", case_names())
def test_every_built_in_case_can_be_stopped_and_goes_on_to_the_same_data(
    name, tmp_path, monkeypatch
):
    case = gc.load_case(name)
    case = case.replace(**{"time.end": 0.1 * case.time.end})
    expected = gc.run(case).provenance["data_sha256"]
    monkeypatch.setattr(simulation, "BLOCK_SECONDS", 1e-5)
    monkeypatch.setattr(simulation, "FIRST_BLOCK", 100)
    for at in (0.1, 0.7):
        part = gc.run(case, checkpoint=tmp_path / "run.chk", resume=at > 0.5, watch=Stop(at))
        assert part.status is Status.INTERRUPTED
    whole_run = gc.run(case, checkpoint=tmp_path / "run.chk", resume=True)
    assert (whole_run.status, whole_run.provenance["data_sha256"]) == (Status.COMPLETE, expected)


def test_an_unfinished_run_is_kept_from_what_does_not_go_on_with_it(stopping, monkeypatch, capsys):
    none = (
        "run.h5.chk: checkpoint not found. A run can be resumed only from a checkpoint. Run without"
    )
    assert none in told(capsys, "--resume", code=4) and left() == []
    with pytest.raises(FileError, match=r"^resume: no checkpoint"):
        gc.run(gc.load_case("steel-chain", KEYS), resume=True)
    stopping.at = 0.5
    told(capsys, code=130)
    Path("run.h5").unlink()
    before = Path("run.h5.chk").read_bytes()
    said = told(capsys, code=4)
    assert "run.h5.chk: an unfinished run exists and was not changed" in said
    assert "--resume" in said and "--overwrite" in said
    said = told(capsys, "--resume", "--overwrite", code=2)
    assert "both options are set. Only one is possible" in said
    for patched, by, changes, sentence in OTHERS:
        with monkeypatch.context() as other:
            if patched:
                other.setattr(journal, patched, lambda by=by: by)
            said = told(capsys, *changes, "--resume", code=4)
        assert "run.h5.chk: " in said and sentence in said
        assert "To start a new run, use --overwrite" in said
    assert left() == ["run.h5.chk"] and Path("run.h5.chk").read_bytes() == before
    stopping.at = 2.0
    told(capsys, "--overwrite", code=0)
    assert left() == ["run.h5"]


# Name and value of an attribute that is replaced, additional command-line options, and the message.
VERSIONS = json.loads(versions())
OTHERS = [
    ("", None, ("--set", "striker.speed=1.8"), "belongs to a different case. Use the case and the"),
    ("source_hash", "0" * 64, (), "was written by another version of granchain. Resume with that"),
    *(
        (
            "versions",
            json.dumps({**VERSIONS, package: "0.1.2"}),
            (),
            "other versions of Python, NumPy, or",
        )
        for package in ("python", "numpy", "numba")
    ),
]


@pytest.mark.promise("R4")
def test_a_damaged_checkpoint_is_refused_and_stays(stopping):
    """Files that are cut off or damaged."""
    case = gc.load_case("steel-chain", [*KEYS, "sensors.interval=1e-9"])
    gc.run(case, checkpoint="run.chk", watch=Stop(0.3))
    gc.run(case, checkpoint="run.chk", watch=Stop(0.6))
    content = Path("run.chk").read_bytes()
    assert gc.run(case, checkpoint="run.chk", resume=True).equals(gc.run(case))
    changed = content[:9999] + bytes([content[9999] ^ 1]) + content[10_000:]
    for damaged in (content[:-1], content[:20_000], changed):
        Path("run.chk").write_bytes(damaged)
        with pytest.raises(
            FileError, match=r"run\.chk: the (file was damaged|checksum at the end)"
        ):
            gc.run(case, checkpoint="run.chk", resume=True)
        assert Path("run.chk").read_bytes() == damaged


@pytest.mark.promise("R5")
def test_a_result_with_the_name_of_a_checkpoint_stays(stopping):
    case = gc.load_case("steel-chain", KEYS)
    gc.run(case).save("run.chk")
    before = Path("run.chk").read_bytes()
    with pytest.warns(GranchainWarning, match=r"The checkpoint was not written\. .*run\.chk"):
        assert gc.run(case, checkpoint="run.chk", watch=Stop(0.3)).status is Status.INTERRUPTED
    with pytest.raises(FileError, match="contains Result"):
        gc.run(case, checkpoint="run.chk", resume=True)
    Checkpoint("run.chk").remove()
    assert Path("run.chk").read_bytes() == before


@pytest.mark.promise("R5")
def test_a_checkpoint_that_cannot_be_written_is_told_once_and_stops_nothing(tmp_path, monkeypatch):
    kept = Checkpoint(tmp_path / "no" / "run.chk", 1e-9)
    Stopping(monkeypatch)
    words = r"The checkpoint was not written\. .*run\.chk.*does not exist"
    with pytest.warns(GranchainWarning, match=words) as said:
        result = gc.run(gc.load_case("steel-chain", KEYS), checkpoint=kept)
    assert len(said) == 1 and result.provenance["data_sha256"] == unbroken()
    assert list(tmp_path.iterdir()) == []


# checkpoints of 10 ms every 30 s, or of 2 s every 102 s
@pytest.mark.promise("R1")
@pytest.mark.parametrize(("writing", "every"), [(0.01, 30.0), (2.0, 102.0)])
def test_checkpoints_cost_a_fiftieth_of_a_run_at_most(
    writing, every, tmp_path, monkeypatch, figure
):
    now, spent = [100.0], [0.0]
    monkeypatch.setattr(journal.time, "monotonic", lambda: now[0])

    def slow(*arguments, **more):
        now[0] += writing
        spent[0] += writing

    monkeypatch.setattr(journal, "write_content", slow)
    kept = Checkpoint(tmp_path / "run.chk")
    # an hour of blocks of 20 ms
    while now[0] < 3700.0:
        now[0] += 0.02
        if kept.due:
            kept.save(Saved({}, "", 0.0))
    share = spent[0] / 3600.0
    assert share == pytest.approx(writing / every, rel=0.02)
    what = f"share of a run's time for its checkpoints, where one takes {writing:g} s"
    figure(what, share, at_most=0.02)


@pytest.mark.promise("R1")
def test_the_time_of_a_run_is_that_of_all_its_parts(stopping, monkeypatch):
    # a clock that does not depend on the load of the computer: each reading adds a thousandth of a
    # second
    ticks = itertools.count(1)
    monkeypatch.setattr(simulation.time, "perf_counter", lambda: 1e-3 * next(ticks))
    stopping.at = 0.5
    assert obey([*RUN]) == 130
    began = open_answer("run.h5").provenance
    # a pause of 1000 s between the two parts
    ticks = itertools.count(resumed := 1_000_000 + next(ticks))
    case = gc.load_case("steel-chain", KEYS)
    whole_run = gc.run(case, checkpoint="run.h5.chk", resume=True)
    assert whole_run.provenance["started"] == began["started"]
    # the first part until its checkpoint was written, and the second part
    parts = began["wall_time"] + 1e-3 * (next(ticks) - resumed)
    assert whole_run.provenance["wall_time"] == pytest.approx(parts, abs=5e-3)
