"""Faults while a run computes: signals, kill -9, full disks, second writers, and NaN."""

import contextlib
import multiprocessing
import os
import random
import re
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from support.disks import mounting
from support.processes import (
    COUNTED,
    LONGEST,
    begun,
    has_computed,
    in_a_child,
    left_in,
    stopped,
    wait_until,
)

import granchain as gc
from granchain import simulation
from granchain.cli import obey
from granchain.cli.interrupts import Interruption
from granchain.engine import fields
from granchain.engine.state import State
from granchain.errors import FileError
from granchain.status import Status
from granchain.store import Checkpoint, claim, journal, open_answer
from granchain.store.files import new_file

# Some seconds of the struck chain against a wall, with few records.
KEYS = ("time.end=0.5", "sensors.interval=1e-4", "snapshots.interval=1e-3", "ends.right=wall")
RUN = (
    "run",
    "steel-chain-hertz",
    *(word for key in KEYS for word in ("--set", key)),
    "--out",
    "run.h5",
)
# The same for some minutes.
LONG = (*RUN, "--set", "time.end=50.0", "--set", "sensors.interval=1e-3", "--checkpoint", "0.2")


@pytest.fixture
def disk(tmp_path):
    with mounting(tmp_path) as mount:
        yield mount


# --- kill -9
def obeys(folder, *arguments):
    """Code of a child process: run the command, and exit with its exit code."""
    os.chdir(folder)
    with open(os.devnull, "w") as nowhere, open(folder.parent / "said", "w", buffering=1) as said:
        sys.stdout, sys.stderr = nowhere, said
        os._exit(obey(arguments))


def crawls_from(first):
    """Code that slows a state down: from this step on, one step takes 10 ms."""
    advance = State.advance

    def slowly(state, steps, *more):
        if state.step >= first:
            time.sleep(0.01)
        return advance(state, min(steps, max(first - state.step, 1)), *more)

    return slowly


@pytest.mark.promise("R4")
@pytest.mark.parametrize("kills", [3, pytest.param(100, marks=pytest.mark.long)])
def test_a_run_killed_again_and_again_goes_on_and_ends_with_the_same_data(
    kills, tmp_path, monkeypatch, figure
):
    monkeypatch.setattr(journal, "LEAST_RATIO", 0.0)
    folder = tmp_path / "run"
    folder.mkdir()
    end = f"time.end={0.03 * kills}"
    arguments, case = (*RUN, "--set", end), gc.load_case("steel-chain-hertz", [*KEYS, end])
    expected = gc.run(case).provenance["data_sha256"]
    chain, contacts, step = simulation.prepare(case)
    set_up = State(contacts, chain, step, simulation.recording_of(case)).set_up
    kept = Checkpoint.of_output(folder / "run.h5")
    draw, reached, unreadable = random.Random(4), [0], 0
    for trial in range(kills):
        resume = ["--resume"] if kept.exists else []
        before = os.stat(kept.path).st_ino if kept.path.exists() else 0
        with monkeypatch.context() as slowed:
            # However late the kill is on a busy machine, the run has not ended by then.
            slowed.setattr(State, "advance", crawls_from(step.n_steps * (trial + 1) // (kills + 1)))
            child = in_a_child(obeys, folder, *arguments, "--checkpoint", "0.005", *resume)
        # half of the kills are some moments after the start, and half after the first checkpoint
        while child.is_alive() and not (
            (folder / ".run.h5.lock").exists()
            if trial % 2
            else kept.path.exists() and os.stat(kept.path).st_ino != before
        ):
            time.sleep(0.0005)
        time.sleep(0.04 * draw.random())
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        assert child.exitcode == -signal.SIGKILL, (tmp_path / "said").read_text()
        assert not (folder / "run.h5").exists()
        if kept.exists:
            try:
                loaded = kept.load(case_sha256=case.sha256, set_up=set_up).arrays["clock"]
                reached.append(int(loaded.view(fields.CLOCK)["step"][0]))
            except FileError:
                unreadable += 1
    # a run that is killed while it writes a checkpoint resumes from the previous one; it never
    # loses more
    assert reached == sorted(reached)
    child = in_a_child(obeys, folder, *arguments, "--resume")
    child.join()
    assert child.exitcode == 0, (tmp_path / "said").read_text()
    result = open_answer(folder / "run.h5")
    assert (result.status, result.provenance["data_sha256"]) == (Status.COMPLETE, expected)
    assert left_in(folder) == ["run.h5"]
    # most were killed with data to lose; otherwise this test would show nothing
    figure("kills of a run that had a checkpoint", len(reached) - 1, at_least=0.6 * kills)
    figure("checkpoints that could not be read after a kill", unreadable, at_most=0)


# --- Ctrl-C and TERM

# However late the second of two signals is on a busy machine, it is an echo of the first one. The
# modules for it are imported before the command, which handles signals from its first line on.
TOGETHER = (
    "import signal; from granchain.__main__ import ENDING, end_at_once; "
    "[signal.signal(kind, end_at_once) for kind in ENDING]; "
    "import granchain.cli.interrupts as interrupts; interrupts.TOGETHER_SECONDS = 600.0"
)
# Processor time since the start [s], from imports to first steps; None: after the first checkpoint.
MOMENTS = (None, None, 0.12, 0.08, 0.2, 0.35)


@pytest.mark.promise("R6")
@COUNTED
@pytest.mark.parametrize("trials", [3, pytest.param(60, marks=pytest.mark.long)])
def test_a_run_stopped_at_any_moment_ends_at_once_and_its_file_is_whole(trials, tmp_path, figure):
    """Every third run gets two signals at once: they give one message and one end."""
    draw, longest, saved = random.Random(6), 0.0, 0
    for trial in range(trials):
        folder = tmp_path / str(trial)
        folder.mkdir()
        number, other = (signal.SIGINT, signal.SIGTERM)[:: (1, -1)[trial % 2]]
        if trial % 5 == 0:
            number = signal.SIGHUP  # the terminal was closed
        again = (draw.choice([0.0, 0.001, 0.01, 0.05]), other) if trial % 3 == 1 else None
        running = begun(*LONG, folder=folder, setup=TOGETHER if again else "")
        # the start of the interpreter, about 40 ms on a busy machine, does not count
        moment = MOMENTS[trial] if trial < len(MOMENTS) else 0.08 + 1.5 * draw.random()
        if moment is None:
            wait_until((folder / "run.h5.chk").exists, running)
        else:
            has_computed(running, moment)
        seconds, said = stopped(running, number, again)
        expected = {128 + number} if again is None else {128 + number, 128 + other}
        assert running.returncode in expected, said
        (line,) = [line for line in said.splitlines() if line.startswith("granchain: ")]
        assert "interrupted" in line
        if (folder / "run.h5").exists():
            assert open_answer(folder / "run.h5").status is Status.INTERRUPTED
            assert "interrupted; run.h5 contains the results until then" in line
            assert left_in(folder) == ["run.h5", "run.h5.chk"]
            saved += 1
        elif again is None:
            assert left_in(folder) == []
        assert not any(name.endswith((".part", ".lock")) for name in left_in(folder))
        longest = max(longest, seconds if again is None else 0.0)
    if trials > 3:
        # of processor time, which a busy machine hardly increases
        figure("stopped run: longest time to its end, computing [s]", longest, at_most=0.5)
    figure("stopped runs that had something to save", saved, at_least=2, at_most=trials - 1)


@pytest.mark.promise("R6")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_before_the_first_step_ends_the_process_where_exceptions_are_forgotten(
    number, tmp_path
):
    def forgets():
        with (
            open(os.devnull, "w") as nowhere,
            claim(tmp_path / "run.h5"),
            Interruption(own_process=True, as_json=True),
        ):
            sys.stdout = sys.stderr = nowhere
            # like code that a compiler calls back
            with contextlib.suppress(BaseException):
                os.kill(os.getpid(), number)
                time.sleep(1.0)
            os._exit(9)

    child = in_a_child(forgets)
    child.join()
    assert child.exitcode == 128 + number
    assert left_in(tmp_path) == []


@pytest.mark.promise("R6")
def test_a_second_signal_ends_the_process_without_what_is_half_written(tmp_path, monkeypatch):
    monkeypatch.setattr("granchain.cli.interrupts.TOGETHER_SECONDS", 0.0)

    def stopped_twice():
        with (
            open(tmp_path / "said", "wb", buffering=0) as said,
            claim(tmp_path / "run.h5"),
            Interruption(own_process=True) as interruption,
        ):
            os.dup2(said.fileno(), 2)
            interruption.note_only, interruption.abort_message = True, "aborted; go on"
            with contextlib.suppress(BaseException), new_file(tmp_path / "run.h5") as part:
                part.write_bytes(b"half")
                os.kill(os.getpid(), signal.SIGINT)
                assert interruption.number == signal.SIGINT and part.exists()
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(1.0)
            os._exit(9)

    child = in_a_child(stopped_twice)
    child.join()
    assert (
        child.exitcode == 143 and (tmp_path / "said").read_text() == "granchain: aborted; go on\n"
    )
    assert left_in(tmp_path) == ["said"]


# --- Disks and folders
@pytest.mark.promise("R5")
def test_a_run_onto_a_full_disk_exits_4_and_leaves_the_old_file(disk, capfd, monkeypatch):
    """Before the run, if its records do not fit; after it, if the disk has filled up since then."""
    folder = disk("size=1m")
    target = folder / "run.h5"
    small = ["chain.beads=20", "sensors.beads=[9]", "sensors.contacts=[0]", "time.end=1e-4"]
    run = ["run", "steel-chain-hertz", *(f"--set={key}" for key in small), "--out", str(target)]
    assert obey(run) == 0
    before = target.read_bytes()
    large = [*run, "--set=time.end=4e-2", "--set=snapshots.interval=1e-6", "--overwrite"]
    for said in (
        rf"{target}: the file can have up to \S+ bytes, but only \S+ bytes are free on the disk",
        rf"{target}: the file was not written \(\d+ bytes "
        r"needed\)\. The disk is full\. Free disk space",
    ):
        assert obey(large) == 4
        assert re.search(said, capfd.readouterr().err)
        assert target.read_bytes() == before and left_in(folder) == ["run.h5"]
        monkeypatch.setattr("granchain.store.files.check_free_space", lambda path, needed: None)


@pytest.mark.promise("R5")
def test_a_folder_that_cannot_take_the_file_is_told_before_the_run(disk, monkeypatch, capfd):
    monkeypatch.setattr("granchain.run", lambda *case, **more: pytest.fail("the run began"))
    for folder, name, sentence in (
        (
            disk("size=1m", "ro"),
            "run.h5",
            "is on a read-only disk. Choose a file in another folder",
        ),
        (disk("size=1m"), "no/run.h5", "does not exist. It must exist before the file is written"),
    ):
        for more in ((), ("--overwrite",), ("--resume",)):
            assert obey(["run", "--out", str(folder / name), *more]) == 4
            assert sentence in capfd.readouterr().err
        assert left_in(folder) == []


@pytest.mark.promise("R5")
def test_a_folder_of_somebody_else_is_told_before_the_run(monkeypatch, tmp_path):
    # everything has been loaded by then
    assert obey(["run", "--out", str(tmp_path / "run.h5"), "--set", "time.end=1.2e-5"]) == 0
    monkeypatch.setattr("granchain.run", lambda *case, **more: os._exit(9))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "old.h5").write_bytes(b"granchain_format")
        folder.chmod(0o555)

        def somebody():
            if os.geteuid() == 0:  # root may write everywhere
                os.setuid(65534)
            outs = [str(folder / file) for file in ("run.h5", "old.h5")]
            codes = {obey(["run", "--out", out, "--overwrite"]) for out in outs}
            os._exit(codes.pop() if len(codes) == 1 else 8)

        child = in_a_child(somebody)
        child.join()
        folder.chmod(0o755)
        assert child.exitcode == 4 and left_in(folder) == ["old.h5"]
        assert (folder / "old.h5").read_bytes() == b"granchain_format"


# --- A second writer
@pytest.mark.promise("R7")
def test_a_second_run_to_the_same_file_is_refused_and_the_first_unharmed(
    tmp_path, capfd, monkeypatch, figure
):
    folder = tmp_path / "run"
    folder.mkdir()
    monkeypatch.chdir(folder)
    holds, goes_on = (multiprocessing.get_context("fork").Event() for _ in range(2))
    advance = State.advance

    def waits(state, *more):
        """Compute a block after the other runs were refused."""
        holds.set()
        assert goes_on.wait(LONGEST)
        return advance(state, *more)

    with monkeypatch.context() as waiting:
        waiting.setattr(State, "advance", waits)
        first = in_a_child(obeys, folder, *RUN, "--set", "time.end=0.05", "--checkpoint", "1e-3")
    # It computes now, so it has the lock; the existence of the lock file does not show this.
    assert holds.wait(LONGEST), (tmp_path / "said").read_text()
    computed = []
    with monkeypatch.context() as watched:
        watched.setattr(State, "advance", lambda state, *more: computed.append(state))
        codes = [obey([*RUN, *more]) for more in ((), ("--overwrite",), ("--resume",))]
    words = "another run is writing this file. Only one run at a time"
    assert codes == [4] * 3 and capfd.readouterr().err.count(words) == 3 and first.is_alive()
    figure("second writers of a file that started to compute", len(computed), at_most=0)
    goes_on.set()
    first.join()
    assert first.exitcode == 0, (tmp_path / "said").read_text()
    alone = gc.run(gc.load_case("steel-chain-hertz", [*KEYS, "time.end=0.05"]))
    assert open_answer("run.h5").provenance["data_sha256"] == alone.provenance["data_sha256"]
    assert left_in(folder) == ["run.h5"]


# --- Nonfinite numbers
POISONED = {
    "displacement": ("hertz", "bead 4", lambda state: state.bodies.u.__setitem__(5, np.nan)),
    "velocity": ("hertz", "bead 4", lambda state: state.bodies.v.__setitem__(5, np.nan)),
    "infinite velocity": ("ma-liu", "bead 4", lambda state: state.bodies.v.__setitem__(5, np.inf)),
    "ahead of the wave": ("hertz", "bead 19", lambda state: state.bodies.u.__setitem__(20, np.nan)),
    # if a force is nan, the velocity of the bead on its left is nan first
    "acceleration": ("flores", "bead", lambda state: state.bodies.a.__setitem__(2, np.nan)),
    "history": ("ma-liu", "bead", lambda state: state.h.__setitem__((slice(None), 1), np.nan)),
    "coefficient": ("hertz", "bead", lambda state: state.c.__setitem__((0, 1), np.nan)),
}


@pytest.mark.promise("N10")
@pytest.mark.parametrize(("law", "place", "poison"), POISONED.values(), ids=POISONED)
def test_a_number_that_is_none_ends_the_run_within_a_block_with_bead_time_cause_and_advice(
    law, place, poison, here, monkeypatch, obeyed
):
    advance, after = State.advance, []

    def poisoned(state, steps, looks):
        """Advance blocks of 60 steps, and insert a nan after the fifth block."""
        if state.step == 300:
            poison(state)
        if state.step >= 300:
            after.append(state.step)
        return advance(state, 60)

    monkeypatch.setattr(State, "advance", poisoned)
    keys = ["chain.beads=20", "sensors.beads=[9]", "sensors.contacts=[0]", "time.end=1e-4"]
    keys += [f"contact.law={law}", *["contact.restitution=0.7"] * (law == "flores")]
    said = obeyed("run", "steel-chain", *(f"--set={key}" for key in keys), code=3).err
    assert after == [300], "the block after the poison was not the last"
    assert re.search(rf"the run stopped at t = \S+e-05 s \(step 360 of \d+\) at {place}", said)
    assert (
        "is not finite. Choose a smaller time step, or check the coefficients of the law." in said
    )
    assert "No results were saved: steel-chain.h5 was not written." in said
    assert left_in(here) == []
