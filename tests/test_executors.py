"""Executors that fail: an error message, and the completed members are kept."""

import os
import pickle
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from support.short_chains import elastic

import granchain as gc
from granchain.contact.user import load_law_module
from granchain.errors import GranchainWarning, RunError
from granchain.studies import executors

SPEEDS = [0.5, 0.7, 0.9, 1.1]


class After:
    """Executor that computes tasks here; from the second task on, `then` answers."""

    def __init__(self, then):
        self._then, self._count = then, 0

    def submit(self, function, *task):
        self._count += 1
        future = Future()
        if self._count == 1:
            future.set_result(function(*task))
            return future
        other = self._then(future)
        return future if other is None else other


def is_cancelled(future):
    future.cancel()
    future.set_running_or_notify_cancel()


def shut_down():
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    return pool


COUNT = "2 of 4 members are computed"
FIRST = "1 of 4 members are computed"
FAULTS = {
    "shut down": (
        shut_down, "rejected a task (RuntimeError: cannot schedule new futures after shutdown)",
        FIRST),
    "pickling": (
        lambda: After(lambda future: future.set_exception(pickle.PicklingError("no pickle"))),
        "did not compute a task (PicklingError: no pickle)", COUNT),
    "cancelled": (lambda: After(is_cancelled), "did not compute a task (CancelledError)", COUNT),
    "no records": (
        lambda: After(lambda future: future.set_result([b"nonsense"])),
        "returned something other than the members of its task (JSONDecodeError", COUNT),
    "no members": (
        lambda: After(lambda future: future.set_result([])),
        "returned something other than the members of its task (ValueError", COUNT),
}  # fmt: skip


@pytest.fixture(autouse=True)
def small_tasks(monkeypatch):
    monkeypatch.setattr(executors, "TASK_SECONDS", 1e-9)


@pytest.mark.parametrize(("executor", "words", "kept"), FAULTS.values(), ids=FAULTS)
def test_a_fault_of_an_executor_is_a_sentence_and_what_was_computed_is_kept(
    executor, words, kept, tmp_path
):
    case, vary = elastic(), {"striker.speed": SPEEDS}
    with pytest.raises(RunError) as raised:
        gc.sweep(case, vary, executor=executor())
    said = str(raised.value)
    assert f"executor: it {words}" in said
    assert "It must be a concurrent.futures.Executor" in said
    assert f"\n{kept}. They are in the result of the error. To store them in a file" in said
    study = raised.value.result
    count = int(kept[0])
    assert study.status.values.tolist() == ["complete"] * count + ["interrupted"] * (4 - count)
    # also in a file, from which the study resumes
    out = tmp_path / "study.h5"
    with pytest.raises(RunError) as raised:
        gc.sweep(case, vary, executor=executor(), out=out)
    assert (
        f"\n{kept}. They are in {out}.part. Resume with --resume (in Python: resume=True)"
        in str(raised.value)
    )
    assert np.isfinite(raised.value.result.peak.values[:count]).all()
    assert [path.name for path in tmp_path.iterdir()] == ["study.h5.part"]
    computed = []
    whole = gc.sweep(
        case, vary, out=out, resume=True, progress=lambda done, members: computed.append(done)
    )
    assert whole.drop_vars("point").identical(gc.sweep(case, vary))
    # the members of the file count as computed
    assert computed[0] > count and computed[-1] == 4
    assert [path.name for path in tmp_path.iterdir()] == ["study.h5"]


class DaskClient:
    """The relevant parts of a dask Client: it has separate futures, and its executor has those of
    Python."""

    def submit(self, *task):
        return object()

    def get_executor(self, *, pure):
        assert not pure
        return ThreadPoolExecutor(1)


def test_a_dask_client_computes_as_an_executor_does():
    here = gc.sweep(elastic(), {"striker.speed": SPEEDS})
    there = gc.sweep(elastic(), {"striker.speed": SPEEDS}, executor=DaskClient())
    assert there.identical(here)


def test_complete_results_of_an_executor_are_written_to_a_file(tmp_path):
    cases = [elastic(**{"striker.speed": speed}) for speed in SPEEDS]
    with ThreadPoolExecutor(1) as pool:
        ensemble = gc.evaluate(cases, "result", executor=pool, out=tmp_path / "runs.h5")
    assert all(result.equals(gc.run(case)) for result, case in zip(ensemble, cases, strict=True))


def test_a_pool_whose_process_dies_is_a_sentence(tmp_path):
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        pool.submit(os._exit, 1)
        with pytest.raises(RunError, match=r"executor: it .*task \(BrokenProcessPool"):
            gc.sweep(elastic(), {"striker.speed": SPEEDS}, executor=pool, out=tmp_path / "study.h5")


def test_an_interruption_of_the_first_member_ends_the_study_elsewhere(monkeypatch):
    from granchain.studies import members

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(members, "wait", interrupted)
    executor = After(lambda future: pytest.fail("a task was sent"))
    with pytest.warns(GranchainWarning, match="interrupted: 1 of 4 members are computed"):
        gc.sweep(elastic(), {"striker.speed": SPEEDS}, executor=executor)


STIFF = """
from granchain.contact.hertz import Hertz


class Stiff(Hertz):
    \"\"\"Hertz, with a factor.\"\"\"

    name = "stiff"
    inputs = ()

    @staticmethod
    def coefficients_of(pair, inputs):
        return (FACTOR * pair.hertz_stiffness,)
"""


@pytest.fixture
def edited_law(tmp_path, own_laws):
    """Return a law file that was edited after it was loaded, and the loaded law."""
    file = tmp_path / "stiff_law.py"
    file.write_text(STIFF.replace("FACTOR", "1.0"))
    (law,) = load_law_module(file).values()
    file.write_text(STIFF.replace("FACTOR", "4.0"))
    return file, law


def check_one_law(executor, file, law):
    """Check that all members of a study have the loaded law, and that a warning names the edited
    file."""
    case, vary = elastic(**{"contact": {"law": "stiff"}}), {"striker.speed": SPEEDS}
    expected = gc.sweep(case, vary)
    with pytest.warns(GranchainWarning, match=r"stiff_law\.py: the file was edited or removed"):
        found = gc.sweep(case, vary, executor=executor)
    assert np.array_equal(found.peak, expected.peak)
    assert gc.laws()["stiff"] is law
    file.unlink()
    with pytest.warns(GranchainWarning, match=r"stiff_law\.py: the file was edited or removed"):
        assert np.array_equal(gc.sweep(case, vary, executor=executor).peak, expected.peak)


def test_threads_keep_the_law_that_was_loaded_after_its_file_is_edited(edited_law, monkeypatch):
    monkeypatch.setattr(executors, "TASK_SECONDS", 1e-9)
    with ThreadPoolExecutor(2) as executor:
        check_one_law(executor, *edited_law)


@pytest.mark.long
def test_threads_of_dask_keep_the_law_that_was_loaded_after_its_file_is_edited(edited_law):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        check_one_law(client, *edited_law)
