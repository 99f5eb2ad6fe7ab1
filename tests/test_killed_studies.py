"""Evaluations that are killed or interrupted at any time, with part files cut at any byte, continue
to the bits of an undisturbed evaluation."""

import os
import random
import signal
import time
import traceback
import warnings

import h5py
import numpy as np
import pytest
from support.processes import LONGEST, in_a_child, left_in
from test_chained import bead
from test_many import short

import granchain as gc
from granchain.engine import batch
from granchain.store.journal import StudyPart
from granchain.studies import measures

# Ways to end a process: a signal, and whether it is sent twice.
ENDS = ((signal.SIGKILL, False), (signal.SIGINT, False), (signal.SIGINT, True))


def largest_force(result):
    """Return a number of a result."""
    return {"largest_force": float(result.contact_force.max())}


def speeds(count=40):
    return [short(**{"striker.speed": speed}) for speed in np.linspace(0.5, 2.0, count)]


def frequencies():
    base = bead(**{"time.end": 1e-3, "ends.left.ramp": 1e-4})
    return [base.replace(**{"ends.left.frequency": at}) for at in (40e3, 39e3, 38e3, 37e3)]


# Cases, measures, and whether they are chained.
STUDIES = {
    "numbers": (speeds, ("pulse", "traces", largest_force), False),
    "results": (speeds, "result", False),
    "chained": (frequencies, ("traces",), True),
}


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Many frames; child processes are forked, so that they have the compiled loops and this
    change."""
    monkeypatch.setattr(measures, "TOGETHER", 2)
    monkeypatch.setattr(batch, "COMPILED", 1000)
    yield


def evaluation(name, out, **options):
    cases, wanted, chained = STUDIES[name]
    with warnings.catch_warnings(action="ignore"):
        return gc.evaluate(
            cases(), wanted, chained=chained, out=out, **{"progress": False} | options
        )


def stop_after(frames, ready, release):
    """Stop this process after it has appended a number of frames, until another process continues
    it."""
    add, count = StudyPart.add, 0

    def stopping(part, columns):
        nonlocal count
        add(part, columns)
        count += 1
        if count == frames:
            os.write(ready, b"stops")
            os.read(release, 1)

    StudyPart.add = stopping


def resumed(name, out, threads, ready, frames=0, release=-1):
    """Resume an evaluation in a child process; its exit status is 3 if it raises a
    KeyboardInterrupt."""
    code = 1
    try:
        if frames:
            stop_after(frames, ready, release)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.write(ready, b"ready")
        evaluation(name, out, resume=True, threads=threads)
        code = 0
    except KeyboardInterrupt:
        code = 3
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)


def started(name, out, threads):
    """Start a child process that resumes an evaluation, and wait until the evaluation begins."""
    heard, ready = os.pipe()
    child = in_a_child(resumed, name, out, threads, ready)
    os.close(ready)
    assert os.read(heard, 5) == b"ready"
    os.close(heard)
    return child


def ended_after(frames, number, name, out):
    """Return the exit status of a child process that receives a signal after it has appended
    frames."""
    (heard, ready), (waits, release) = os.pipe(), os.pipe()
    child = in_a_child(resumed, name, out, 1, ready, frames, waits)
    os.close(ready)
    assert os.read(heard, 5) == b"ready" and os.read(heard, 5) == b"stops"
    os.kill(child.pid, number)
    os.write(release, b".")
    child.join(LONGEST)
    for end in (heard, waits, release):
        os.close(end)
    return child.exitcode


@pytest.mark.promise("R1")
@pytest.mark.filterwarnings("ignore:time.step:granchain.errors.GranchainWarning")
@pytest.mark.parametrize("name", STUDIES)
def test_an_evaluation_that_is_killed_and_interrupted_between_frames_resumes_to_the_same_bits(
    name, tmp_path
):
    evaluation(name, tmp_path / "whole.h5")
    out, part = tmp_path / "study.h5", tmp_path / "study.h5.part"
    # the chained study has four members, each in its own frame; the other studies have twenty
    # frames
    assert ended_after(1, signal.SIGKILL, name, out) == -signal.SIGKILL
    assert part.exists() and not out.exists()
    assert ended_after(2, signal.SIGINT, name, out) in (0, 3)
    assert part.exists() and not out.exists()
    # the last frame is incomplete
    frames = len(StudyPart(out, resume=True).columns)
    os.truncate(part, part.stat().st_size - 1)
    assert len(StudyPart(out, resume=True).columns) == frames - 1 >= 2
    evaluation(name, out, resume=True)
    assert hash_in(out) == hash_in(tmp_path / "whole.h5")
    assert left_in(tmp_path) == ["study.h5", "whole.h5"]


def hash_in(out):
    with h5py.File(out) as file:
        return str(file["provenance/data_sha256"].asstr()[()])


@pytest.mark.promise("R1")
@pytest.mark.filterwarnings("ignore:time.step:granchain.errors.GranchainWarning")
@pytest.mark.long
@pytest.mark.parametrize("trials", [100])
def test_killed_and_interrupted_evaluations_resume_to_the_same_bits(trials, tmp_path, figure):
    draw, expected, duration = random.Random(50), {}, {}
    for name in STUDIES:
        whole = tmp_path / f"{name}.h5"
        # compile and load everything once
        evaluation(name, whole)
        expected[name] = hash_in(whole)
        begin = time.monotonic()
        started(name, tmp_path / f"timed {name}.h5", 1).join(LONGEST)
        duration[name] = time.monotonic() - begin
        assert hash_in(tmp_path / f"timed {name}.h5") == expected[name]
    differ = ended = torn = members = 0
    for trial in range(trials):
        folder, name = tmp_path / str(trial), [*STUDIES][trial % len(STUDIES)]
        folder.mkdir()
        out, part = folder / "study.h5", folder / "study.h5.part"
        # one interruption, or two in a row
        for count in range(1 + trial % 2):
            number, again = ENDS[(trial // 3 + count) % len(ENDS)]
            child = started(name, out, 1 + trial % 2)
            time.sleep(draw.uniform(0.1, 0.9) * duration[name])
            os.kill(child.pid, number)
            if again:
                time.sleep(draw.uniform(0.0, 0.02))
                os.kill(child.pid, number)
            child.join(LONGEST)
            assert child.exitcode in (0, 3, -signal.SIGKILL)
            ended += not out.exists()
            if part.exists() and draw.random() < 0.6:
                # as after a system failure before all data were on the disk
                os.truncate(part, draw.randrange(part.stat().st_size + 1))
                torn += 1
        members += sum(len(columns["point"]) for columns in StudyPart(out, resume=True).columns)
        evaluation(name, out, resume=True)
        differ += hash_in(out) != expected[name]
        assert left_in(folder) == ["study.h5"]
    figure(f"of {trials} evaluations resumed, those with other bits", differ, at_most=0)
    figure("evaluations that ended before their files were written", ended, at_least=trials // 2)
    figure("journals torn at a random byte", torn, at_least=trials // 6)
    figure("members that were resumed, and not computed again", members, at_least=trials)
